/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A part of bsn_decode.h, which programs include.
 *
 * Segments of requests that change memory keys: user-mode registration (UMR) with its translations,
 * signatures and encryption, and the protection states (PSV) of signatures.
 *
 * A UMR is a control segment (imm: the mkey), umr_ctrl, mkey_ctx, and then:
 *
 *  - if umr_ctrl.is_inline is set, the translations, of 16 B each, padded to a multiple of 64 B: a
 *    list of klm, or a repeat block and its entries. Block signature formats (BSF) of 64 B follow.
 *  - if not, one klm, which points to the translations in memory.
 *
 * libmlx5 and the kernel use a UMR also to bind windows and to invalidate keys. One that sets free
 * and has no translations invalidates.
 *
 * Sources: wqe.h, mlx5dv.h, qp.c and mlx5_ifc.h are rdma-core's providers/mlx5/; qp.h and device.h
 * are the kernel's include/linux/mlx5/; mlx5_prm.h is DPDK's drivers/common/mlx5/.
 */
#ifndef BSN_UMR_H
#define BSN_UMR_H

#include "bsn_seg.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What the mkey must be; if it is not, the WQE fails. rdma-core's mlx5dv.h calls bit 5 of the flags
 * CHECK_FREE. The kernel's device.h calls bit 5 CHECK_NOT_FREE, and bit 6 CHECK_FREE. To bind a
 * window of type 2, which must be unbound, libmlx5 sets bit 5 (qp.c set_umr_control_seg()).
 */
#define BSN_UMR_CHECKS(X)                                                                          \
	X(NONE, 0, "anything")                                                                     \
	X(BIT_5, 1, "mlx5dv.h CHECK_FREE, device.h CHECK_NOT_FREE")                                \
	X(BIT_6, 2, "device.h CHECK_FREE")

/* Bits of mkey_mask: X(NAME, bit, doc, field of mkey_ctx). Source: device.h MLX5_MKEY_MASK_* */
#define BSN_MKEY_MASK_FIELDS(X)                                                                    \
	X(LEN, 0, "length", len)                                                                   \
	X(PAGE_SIZE, 1, "page size", log_page_size)                                                \
	X(START_ADDR, 6, "start address", start_addr)                                              \
	X(PD, 7, "protection domain", pd)                                                          \
	X(EN_RINVAL, 8, "remote invalidation", en_rinval)                                          \
	X(EN_SIGERR, 9, "count of signature errors", sigerr_count)                                 \
	X(BSF_EN, 12, "whether it has a BSF", bsf_en)                                              \
	X(KEY, 13, "variant, the low byte of the key", mkey_7_0)                                   \
	X(QPN, 14, "QP that may use it", qpn)                                                      \
	X(LR, 17, "right: local read", lr)                                                         \
	X(LW, 18, "right: local write", lw)                                                        \
	X(RR, 19, "right: remote read", rr)                                                        \
	X(RW, 20, "right: remote write", rw)                                                       \
	X(A, 21, "right: atomic", a)                                                               \
	X(SMALL_FENCE, 23, "fence on READ responses", small_fence)                                 \
	X(RELAXED_WRITE, 25, "relaxed ordering of writes", relaxed_write)                          \
	X(FREE, 29, "whether it is free", free)                                                    \
	X(RELAXED_READ, 47, "relaxed ordering of reads", relaxed_read)

/* How an mkey translates: mlx5_ifc.h MLX5_MKC_ACCESS_MODE_*; access_mode_4_2 and _1_0 together */
#define BSN_MKEY_MODES(X)                                                                          \
	X(PA, 0, "not at all")                                                                     \
	X(MTT, 1, "pages of one size")                                                             \
	X(KLM, 2, "a list of parts of other keys, or a repeat block")                              \
	X(KSM, 3, "parts of other keys, all of one size")

/* BSF: size and kind. Source: wqe.h MLX5_BSF_SIZE_*, mlx5_prm.h MLX5_BSF_P_TYPE_* */
#define BSN_BSF_SIZES(X)                                                                           \
	X(BASIC, 0, "16 bytes")                                                                    \
	X(EXTENDED, 1, "32 bytes")                                                                 \
	X(WITH_INLINE, 2, "64 bytes")                                                              \
	X(SIGNATURE_AND_CRYPTO, 3, "128 bytes: a signature's and an encryption's")
#define BSN_BSF_TYPES(X)                                                                           \
	X(SIGNATURE, 0, "block signature")                                                         \
	X(CRYPTO, 1, "encryption")

/* Size of a block. Source: qp.c bs_to_bs_selector(), mlx5_prm.h MLX5_BLOCK_SIZE_* */
#define BSN_BLOCK_SIZES(X)                                                                         \
	X(NONE, 0, "no blocks")                                                                    \
	X(B512, 1, "512 bytes")                                                                    \
	X(B520, 2, "520 bytes")                                                                    \
	X(B4096, 3, "4096 bytes")                                                                  \
	X(B4160, 4, "4160 bytes")                                                                  \
	X(B1M, 5, "2^20 bytes")                                                                    \
	X(B4048, 6, "4048 bytes")

/* Where data are encrypted. Source: mlx5_prm.h MLX5_ENCRYPTION_ORDER_*, qp.c get_crypto_order() */
#define BSN_CRYPTO_ORDERS(X)                                                                       \
	X(WIRE_SIGNATURE, 0, "encrypted on the wire, the wire's signature over it")                \
	X(MEMORY_SIGNATURE, 1, "encrypted in memory, the memory's signature over it")              \
	X(RAW_WIRE, 2, "encrypted on the wire, signature over the raw data")                       \
	X(RAW_MEMORY, 3, "encrypted in memory, signature over the raw data")

#define BSN_ENUM_UMR_CHECK(name, value, doc) BSN_UMR_CHECK_##name = value,
enum bsn_umr_check { BSN_UMR_CHECKS(BSN_ENUM_UMR_CHECK) };
#undef BSN_ENUM_UMR_CHECK
#define BSN_ENUM_MKEY_MASK(name, bit, doc, field) BSN_MKEY_MASK_##name = bit,
enum bsn_mkey_mask { BSN_MKEY_MASK_FIELDS(BSN_ENUM_MKEY_MASK) };
#undef BSN_ENUM_MKEY_MASK
#define BSN_ENUM_MKEY_MODE(name, value, doc) BSN_MKEY_MODE_##name = value,
enum bsn_mkey_mode { BSN_MKEY_MODES(BSN_ENUM_MKEY_MODE) };
#undef BSN_ENUM_MKEY_MODE
#define BSN_ENUM_BSF_SIZE(name, value, doc) BSN_BSF_SIZE_##name = value,
enum bsn_bsf_size { BSN_BSF_SIZES(BSN_ENUM_BSF_SIZE) };
#undef BSN_ENUM_BSF_SIZE
#define BSN_ENUM_BSF_TYPE(name, value, doc) BSN_BSF_TYPE_##name = value,
enum bsn_bsf_type { BSN_BSF_TYPES(BSN_ENUM_BSF_TYPE) };
#undef BSN_ENUM_BSF_TYPE
#define BSN_ENUM_BLOCK_SIZE(name, value, doc) BSN_BLOCK_SIZE_##name = value,
enum bsn_block_size { BSN_BLOCK_SIZES(BSN_ENUM_BLOCK_SIZE) };
#undef BSN_ENUM_BLOCK_SIZE
#define BSN_ENUM_CRYPTO_ORDER(name, value, doc) BSN_CRYPTO_ORDER_##name = value,
enum bsn_crypto_order { BSN_CRYPTO_ORDERS(BSN_ENUM_CRYPTO_ORDER) };
#undef BSN_ENUM_CRYPTO_ORDER

#define BSN_MKEY_BIT(name)    (1ull << BSN_MKEY_MASK_##name)
#define BSN_MKEY_QPN_ANY      0xffffffu /* of an mkey that every QP may use */
#define BSN_REPEAT_OP         0x400u    /* the mkey of a first translation that is a repeat block */
#define BSN_XLT_SIZE          16 /* bytes in a translation: the octoword of the counts below */
#define BSN_MKEY_ANY_QP       BSN_MKEY_QPN_ANY /* of mkey_ctx.qpn */
#define BSN_KLM_MAX_BYTES     0x80000000ull
#define BSN_REPEAT_MAX_STRIDE 0xffffu

/*
 * UMR control: mlx5dv.h struct mlx5_wqe_umr_ctrl_seg; qp.h has its fifth dword, device.h both bits
 * of check. libmlx5 clears reserved bits.
 */
#define BSN_UMR_CTRL_SIZE 48
#define BSN_TABLE_UMR_CTRL(F, Q, Z, I)                                                             \
	F(is_inline, 0, 31, 1, "1: translations and BSF are in the WQE; 0: a pointer to them is")  \
	F(check, 0, 29, 2, "what the mkey must be")                                                \
	F(has_offset, 0, 28, 1, "1: offset_or_bsf is an offset")                                   \
	F(check_qpn, 0, 27, 1, "1: the mkey must be bound to this QP")                             \
	Z(0, 0, 27)                                                                                \
	F(klm_octowords, 1, 16, 16, "translations, in units of 16 B, a multiple of 4")             \
	F(offset_or_bsf, 1, 0, 16, "first translation to change, or bytes of the BSF / 16")        \
	Q(mkey_mask, 2, "fields of the mkey to change: bits of enum bsn_mkey_mask")                \
	F(offset_47_16, 4, 0, 32, "first translation to change, higher bits")                      \
	Z(5, 0, 32)                                                                                \
	Z(6, 0, 32)                                                                                \
	Z(7, 0, 32)                                                                                \
	Z(8, 0, 32)                                                                                \
	Z(9, 0, 32)                                                                                \
	Z(10, 0, 32)                                                                               \
	Z(11, 0, 32)

BSN_SEG_DEFINE(umr_ctrl, BSN_UMR_CTRL_SIZE, BSN_TABLE_UMR_CTRL)

/*
 * Mkey context: mlx5_ifc.h struct mlx5_ifc_mkc_bits. When it binds a window, libmlx5 leaves the old
 * value in every byte that it does not set (qp.c set_umr_mkey_seg()). So reserved bits are ignored
 * here, and so is each field that mkey_mask does not select.
 */
#define BSN_MKEY_CTX_SIZE 64
#define BSN_TABLE_MKEY_CTX(F, Q, Z, I)                                                             \
	I(0, 31, 1)                                                                                \
	F(free, 0, 30, 1, "1: not usable")                                                         \
	I(0, 29, 1)                                                                                \
	F(access_mode_4_2, 0, 26, 3, "kind of translation, high bits")                             \
	I(0, 19, 7)                                                                                \
	F(relaxed_write, 0, 18, 1, "relaxed ordering of writes")                                   \
	I(0, 17, 1)                                                                                \
	F(small_fence, 0, 16, 1, "fence on READ responses")                                        \
	F(umr_en, 0, 15, 1, "UMR may change it")                                                   \
	F(a, 0, 14, 1, "right: atomic")                                                            \
	F(rw, 0, 13, 1, "right: remote write")                                                     \
	F(rr, 0, 12, 1, "right: remote read")                                                      \
	F(lw, 0, 11, 1, "right: local write")                                                      \
	F(lr, 0, 10, 1, "right: local read")                                                       \
	F(access_mode_1_0, 0, 8, 2, "kind of translation, low bits")                               \
	I(0, 0, 8)                                                                                 \
	F(qpn, 1, 8, 24, "QP that may use it; 0xffffff: any")                                      \
	F(mkey_7_0, 1, 0, 8, "variant, the low byte of the key")                                   \
	I(2, 0, 32)                                                                                \
	F(length64, 3, 31, 1, "1: the whole address space")                                        \
	F(bsf_en, 3, 30, 1, "1: it has a BSF")                                                     \
	F(sync_umr, 3, 29, 1, "1: changes wait for earlier use")                                   \
	I(3, 27, 2)                                                                                \
	F(sigerr_count, 3, 26, 1, "count of signature errors expected, modulo 2")                  \
	I(3, 25, 1)                                                                                \
	F(en_rinval, 3, 24, 1, "1: a peer may invalidate it")                                      \
	F(pd, 3, 0, 24, "protection domain")                                                       \
	Q(start_addr, 4, "first address")                                                          \
	Q(len, 6, "bytes")                                                                         \
	F(bsf_octword_size, 8, 0, 32, "room for BSF, in units of 16 B")                            \
	I(9, 0, 32)                                                                                \
	I(10, 0, 32)                                                                               \
	I(11, 0, 32)                                                                               \
	I(12, 0, 32)                                                                               \
	F(translations_octword_size, 13, 0, 32, "room for translations, in units of 16 B")         \
	I(14, 7, 25)                                                                               \
	F(relaxed_read, 14, 6, 1, "relaxed ordering of reads")                                     \
	I(14, 5, 1)                                                                                \
	F(log_page_size, 14, 0, 5, "page size, log2")                                              \
	I(15, 29, 3)                                                                               \
	F(crypto_en, 15, 27, 2, "encryption")                                                      \
	I(15, 0, 27)

BSN_SEG_DEFINE(mkey_ctx, BSN_MKEY_CTX_SIZE, BSN_TABLE_MKEY_CTX)

/* A translation, or the pointer to all of them: mlx5dv.h struct mlx5_wqe_umr_klm_seg */
#define BSN_KLM_SIZE 16
#define BSN_TABLE_KLM(F, Q, Z, I)                                                                  \
	F(byte_count, 0, 0, 32, "bytes, 2^31 at most")                                             \
	F(mkey, 1, 0, 32, "key of the memory")                                                     \
	Q(va, 2, "address")

BSN_SEG_DEFINE(klm, BSN_KLM_SIZE, BSN_TABLE_KLM)

/*
 * Repeat block, instead of a list: mlx5dv.h struct mlx5_wqe_umr_repeat_block_seg, qp.h struct
 * mlx5_stride_block_ctrl_seg. The entries follow; the mkey's length is byte_count times
 * repeat_count. The kernel does not clear reserved bits, so they are ignored.
 */
#define BSN_REPEAT_SIZE 16
#define BSN_TABLE_REPEAT(F, Q, Z, I)                                                               \
	F(byte_count, 0, 0, 32, "bytes of all entries, once")                                      \
	F(op, 1, 0, 32, "BSN_REPEAT_OP")                                                           \
	F(repeat_count, 2, 0, 32, "times")                                                         \
	I(3, 16, 16)                                                                               \
	F(num_entries, 3, 0, 16, "entries that follow")

BSN_SEG_DEFINE(repeat, BSN_REPEAT_SIZE, BSN_TABLE_REPEAT)

/* mlx5dv.h struct mlx5_wqe_umr_repeat_ent_seg */
#define BSN_REPEAT_ENTRY_SIZE 16
#define BSN_TABLE_REPEAT_ENTRY(F, Q, Z, I)                                                         \
	F(stride, 0, 16, 16, "bytes from one repetition to the next")                              \
	F(byte_count, 0, 0, 16, "bytes of each repetition")                                        \
	F(mkey, 1, 0, 32, "key of the memory")                                                     \
	Q(va, 2, "address of the first repetition")

BSN_SEG_DEFINE(repeat_entry, BSN_REPEAT_ENTRY_SIZE, BSN_TABLE_REPEAT_ENTRY)

/*
 * BSF of signatures: wqe.h and qp.h struct mlx5_bsf; the bits of its inline part as qp.c
 * mlx5_umr_fill_inl_bsf_t10dif() sets them. A domain is memory or wire.
 */
#define BSN_BSF_SIZE 64
#define BSN_BSF_INLINE(n, domain, F, Z)                                                            \
	F(domain##_valid, n, 31, 1, "1: the T10-DIF fields of this domain hold")                   \
	F(domain##_refresh, n, 30, 1, "1: they may be refreshed")                                  \
	Z(n, 16, 14)                                                                               \
	F(domain##_app_tag, n, 0, 16, "application tag")                                           \
	F(domain##_ref_tag, n + 1, 0, 32, "reference tag")                                         \
	F(domain##_sig_type, n + 2, 24, 8, "guard: 1 CRC, 2 IP checksum")                          \
	F(domain##_repeat, n + 2, 23, 1, "1: the block repeats")                                   \
	Z(n + 2, 20, 3)                                                                            \
	F(domain##_seed, n + 2, 19, 1, "seed of the guard")                                        \
	Z(n + 2, 0, 19)                                                                            \
	Z(n + 3, 24, 8)                                                                            \
	F(domain##_guard_check, n + 3, 16, 8, "bit 6: count reference tags; 1:0: tag escapes")     \
	F(domain##_app_mask, n + 3, 0, 16, "bits of the application tag that are checked")
#define BSN_TABLE_BSF(F, Q, Z, I)                                                                  \
	F(size, 0, 30, 2, "how much follows")                                                      \
	Z(0, 29, 1)                                                                                \
	F(same_block, 0, 28, 1, "1: blocks are alike in memory and on the wire")                   \
	Z(0, 26, 2)                                                                                \
	F(type, 0, 24, 2, "0: this is a signature's")                                              \
	F(check_mask, 0, 16, 8, "bytes of the signature that are checked")                         \
	F(wire_copy_or_block, 0, 8, 8, "same_block: signature bytes to copy; else block size")     \
	F(mem_block, 0, 0, 8, "size of a block in memory")                                         \
	F(raw_data_size, 1, 0, 32, "bytes of data")                                                \
	F(wire_format, 2, 24, 8, "block format on the wire")                                       \
	F(wire_psv, 2, 0, 24, "protection state of the wire")                                      \
	F(mem_format, 3, 24, 8, "block format in memory")                                          \
	F(mem_psv, 3, 0, 24, "protection state of the memory")                                     \
	F(prologue, 4, 0, 32, "transaction: initial state, generation, bytes before the data")     \
	F(epilogue, 5, 0, 32, "transaction: bytes after the data")                                 \
	F(wire_transaction, 6, 0, 32, "format and protection state of the wire's transaction")     \
	F(mem_transaction, 7, 0, 32, "format and protection state of the memory's transaction")    \
	BSN_BSF_INLINE(8, wire, F, Z)                                                              \
	BSN_BSF_INLINE(12, mem, F, Z)

BSN_SEG_DEFINE(bsf, BSN_BSF_SIZE, BSN_TABLE_BSF)

/* BSF of encryption: wqe.h struct mlx5_crypto_bsf, mlx5_prm.h struct mlx5_wqe_umr_bsf_seg */
#define BSN_BSF_CRYPTO_SIZE 64
#define BSN_TABLE_BSF_CRYPTO(F, Q, Z, I)                                                           \
	F(size, 0, 30, 2, "how much follows")                                                      \
	Z(0, 26, 4)                                                                                \
	F(type, 0, 24, 2, "1: this is an encryption's")                                            \
	Z(0, 20, 4)                                                                                \
	F(order, 0, 16, 4, "where data are encrypted")                                             \
	Z(0, 4, 12)                                                                                \
	F(standard, 0, 0, 4, "0: AES-XTS")                                                         \
	F(raw_data_size, 1, 0, 32, "bytes of data")                                                \
	F(block, 2, 24, 8, "size of a block")                                                      \
	Z(2, 0, 24)                                                                                \
	Z(3, 0, 32)                                                                                \
	Q(tweak_hi, 4, "initial XTS tweak, first eight bytes")                                     \
	Q(tweak_lo, 6, "initial XTS tweak, last eight bytes")                                      \
	Z(8, 24, 8)                                                                                \
	F(dek, 8, 0, 24, "number of the data encryption key")                                      \
	Z(9, 0, 32)                                                                                \
	Q(keytag, 10, "tag that the key must have")                                                \
	Z(12, 0, 32)                                                                               \
	Z(13, 0, 32)                                                                               \
	Z(14, 0, 32)                                                                               \
	Z(15, 0, 32)

BSN_SEG_DEFINE(bsf_crypto, BSN_BSF_CRYPTO_SIZE, BSN_TABLE_BSF_CRYPTO)

/*
 * SET_PSV: wqe.h struct mlx5_wqe_set_psv_seg, qp.h struct mlx5_seg_set_psv, which calls the two
 * bytes status that libmlx5 clears.
 */
#define BSN_SET_PSV_SIZE 16
#define BSN_TABLE_SET_PSV(F, Q, Z, I)                                                              \
	Z(0, 24, 8)                                                                                \
	F(psv, 0, 0, 24, "number of the protection state")                                         \
	F(syndrome, 1, 16, 16, "its syndrome")                                                     \
	F(status, 1, 0, 16, "its status")                                                          \
	Q(signature, 2, "its value: guard, application tag, reference tag, or a CRC")

BSN_SEG_DEFINE(set_psv, BSN_SET_PSV_SIZE, BSN_TABLE_SET_PSV)

/* GET_PSV and CHECK_PSV: qp.h struct mlx5_seg_get_psv and mlx5_seg_check_psv */
#define BSN_GET_PSV_SIZE   48
#define BSN_CHECK_PSV_SIZE 48
#define BSN_PSV_LIST(F, Q, Z)                                                                      \
	Z(3, 0, 32)                                                                                \
	Z(4, 8, 24)                                                                                \
	F(num_psv, 4, 0, 8, "protection states that are meant")                                    \
	F(lkey, 5, 0, 32, "key of the memory they are written to")                                 \
	Q(va, 6, "its address")                                                                    \
	F(psv_0, 8, 0, 32, "number of the first")                                                  \
	F(psv_1, 9, 0, 32, "number of the second")                                                 \
	F(psv_2, 10, 0, 32, "number of the third")                                                 \
	F(psv_3, 11, 0, 32, "number of the fourth")
#define BSN_TABLE_GET_PSV(F, Q, Z, I)                                                              \
	Z(0, 0, 32)                                                                                \
	Z(1, 0, 32)                                                                                \
	Z(2, 0, 32)                                                                                \
	BSN_PSV_LIST(F, Q, Z)
#define BSN_TABLE_CHECK_PSV(F, Q, Z, I)                                                            \
	Z(0, 16, 16)                                                                               \
	F(coalescing_op, 0, 0, 16, "how errors are combined")                                      \
	Z(1, 16, 16)                                                                               \
	F(transport_op, 1, 0, 16, "what the transport does on an error")                           \
	Z(2, 16, 16)                                                                               \
	F(transport_mask, 2, 0, 16, "which errors it minds")                                       \
	BSN_PSV_LIST(F, Q, Z)

BSN_SEG_DEFINE(get_psv, BSN_GET_PSV_SIZE, BSN_TABLE_GET_PSV)
BSN_SEG_DEFINE(check_psv, BSN_CHECK_PSV_SIZE, BSN_TABLE_CHECK_PSV)

/* Fast registration, which UMR replaced: qp.h struct mlx5_wqe_fmr_seg, MLX5_WQE_FMR_PERM_* */
#define BSN_FMR_SIZE 48
#define BSN_TABLE_FMR(F, Q, Z, I)                                                                  \
	F(a, 0, 31, 1, "right: atomic")                                                            \
	F(rw, 0, 30, 1, "right: remote write")                                                     \
	F(rr, 0, 29, 1, "right: remote read")                                                      \
	F(lw, 0, 28, 1, "right: local write")                                                      \
	F(lr, 0, 27, 1, "right: local read")                                                       \
	F(flags, 0, 0, 27, "further flags")                                                        \
	F(mkey, 1, 0, 32, "key to change")                                                         \
	Q(list, 2, "address of the list of pages")                                                 \
	Q(start_addr, 4, "first address")                                                          \
	Q(len, 6, "bytes")                                                                         \
	F(offset, 8, 0, 32, "of the first byte in the first page")                                 \
	F(page_size, 9, 0, 32, "page size")                                                        \
	I(10, 0, 32)                                                                               \
	I(11, 0, 32)

BSN_SEG_DEFINE(fmr, BSN_FMR_SIZE, BSN_TABLE_FMR)

/* Every segment above: X(seg, SEG, doc) */
#define BSN_UMR_SEGMENTS(X)                                                                        \
	X(umr_ctrl, UMR_CTRL, "UMR control")                                                       \
	X(mkey_ctx, MKEY_CTX, "mkey context of a UMR")                                             \
	X(klm, KLM, "translation, or pointer to translations")                                     \
	X(repeat, REPEAT, "repeat block")                                                          \
	X(repeat_entry, REPEAT_ENTRY, "entry of a repeat block")                                   \
	X(bsf, BSF, "block signature format")                                                      \
	X(bsf_crypto, BSF_CRYPTO, "block encryption format")                                       \
	X(set_psv, SET_PSV, "new protection state")                                                \
	X(get_psv, GET_PSV, "protection states to read")                                           \
	X(check_psv, CHECK_PSV, "protection states to check")                                      \
	X(fmr, FMR, "fast registration")

#ifdef __cplusplus
}
#endif
#endif
