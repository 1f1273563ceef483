/* SPDX-License-Identifier: BSD-2-Clause */
/* What the golden files say, in the words of the encoders. */
#ifndef TESTS_WQE_GOLDENS_H
#define TESTS_WQE_GOLDENS_H

#include "bsn_decode.h"

/* A segment with its encoder; or, without one, so many bytes, which are 0 if there are none. */
struct part {
	const struct bsn_seg_desc *desc;
	void (*encode)(void *dst, const void *host);
	const void *host;
	size_t size;
};

#define WRAP(seg, SEG, doc)                                                                        \
	static inline void encode_##seg(void *dst, const void *host)                               \
	{                                                                                          \
		bsn_##seg##_encode(dst, host);                                                     \
	}
BSN_WQE_SEGMENTS(WRAP)
BSN_UMR_SEGMENTS(WRAP)
BSN_CQE_SEGMENTS(WRAP)
#undef WRAP

#define SEG(seg, ...)                                                                              \
	{                                                                                          \
		&bsn_##seg##_desc, encode_##seg, &(const struct bsn_##seg){ __VA_ARGS__ }, 0       \
	}
#define BYTES(bytes, count) { NULL, NULL, bytes, count }
#define PAD(count)          BYTES(NULL, count)
#define BACK(count)         PAD(-(size_t)count) /* what follows is written over what is there */

#define CTRL(index, op, qp, length, ...)                                                           \
	SEG(ctrl, .wqe_index = (index), .opcode = BSN_OPCODE_##op, .qpn = (qp), .ds = (length),    \
	    __VA_ARGS__)
#define SIGNALED .ce = BSN_CE_ALWAYS
#define ON_ERROR .ce = BSN_CE_ON_ERROR

#define DATA(count, key, address) SEG(data, .byte_count = count, .lkey = key, .addr = address)
#define USUAL_DATA(count)         DATA(count, 0x6000, 0x9000)
#define RADDR(address, key)       SEG(raddr, .raddr = address, .rkey = key)
#define USUAL_RADDR               RADDR(0x8008, 0x5000)
#define INLINE(bytes, count)                                                                       \
	SEG(inline_hdr, .is_inline = 1, .byte_count = count), BYTES(bytes, count),                 \
		PAD((12 - count % 16 + 16) % 16)
#define WRITE_OF_4096 RADDR(0x7f1122334455, 0x181920), DATA(4096, 0x1aff, 0x5566778899aa)

/* The head that the golden UMRs share, with the counts of what follows it. */
#define UMR(ds, klms, bsf, mask)                                                                   \
	CTRL(0x20, UMR, 0x45, ds, SIGNALED, .imm = 0x181920),                                      \
		SEG(umr_ctrl, .is_inline = klms <= 4, .klm_octowords = klms, .offset_or_bsf = bsf, \
		    .mkey_mask = BSN_MKEY_BIT(FREE) | BSN_MKEY_BIT(RW) | BSN_MKEY_BIT(RR) |        \
				 BSN_MKEY_BIT(LW) | BSN_MKEY_BIT(KEY) | BSN_MKEY_BIT(START_ADDR) | \
				 BSN_MKEY_BIT(LEN) | mask)
#define MKEY(length, ...)                                                                          \
	SEG(mkey_ctx, .umr_en = 1, .rw = 1, .rr = 1, .lw = 1, .qpn = 0xffffff, .mkey_7_0 = 0x20,   \
	    .start_addr = 0x1000, .len = length, __VA_ARGS__)
#define KLM(count, key, address) SEG(klm, .byte_count = count, .mkey = key, .va = address)
#define T10_DIF(domain, guard_checks)                                                              \
	.domain##_valid = 1, .domain##_refresh = 1, .domain##_app_tag = 0x1234,                    \
	.domain##_ref_tag = 5, .domain##_sig_type = 1, .domain##_repeat = 1, .domain##_seed = 1,   \
	.domain##_guard_check = guard_checks, .domain##_app_mask = 0xffff

#define ETH(...)  SEG(eth, .l4_csum = 1, .l3_csum = 1, __VA_ARGS__)
#define LINK_GID  .rgid_hi = 0xfe80000000000000, .rgid_lo = 0x0002c90300010203
/* Headers of a TCP packet, from the third byte on: the first two are in the Ethernet segment. */
#define HEADERS(count)                                                                             \
	BYTES("\x5e\x10\x20\x30\x02\x00\x5e\x10\x20\x31\x08\x00\x45\x00\x00\x30\x00\x00\x40\x00"   \
	      "\x40\x06\x00\x00\x0a\x00\x00\x01\x0a\x00\x00\x02\x12\x34\x56\x78\x00\x00\x00\x01"   \
	      "\x00\x00\x00\x02\x50\x10\x10\x00\x00\x00\x00\x00", count)
/* 64 bytes that no table describes. */
#define ARGUMENT BYTES("\x80\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4", 16), PAD(47), BYTES("\5", 1)

enum { PARTS = 9 };

static const struct golden {
	const char *name, *segments; /* of a send WQE: see segments.h */
	struct part parts[PARTS];
} goldens[] = {
	{ "rdma_write", "ctrl raddr data",
	  { CTRL(0x0123, RDMA_WRITE, 0xc7, 3, SIGNALED), WRITE_OF_4096 } },
	{ "rdma_write_inline", "ctrl raddr inline_hdr +",
	  { CTRL(0xffff, RDMA_WRITE, 0xabcdef, 4, SIGNALED), RADDR(0xffeeddccbbaa9988, 0x80000001),
	    INLINE("\0\1\2\3\4\5\6\7\x8\x9\xa\xb\xc\xd\xe\xf\x10", 17) } },
	{ "rdma_write_mixed", "ctrl raddr inline_hdr + data inline_hdr +",
	  { CTRL(7, RDMA_WRITE, 0x100, 5, ON_ERROR), RADDR(0x12345678, 0xb0c),
	    INLINE("\xa0\xa1\xa2\xa3\xa4\xa5\xa6\xa7\xa8\xa9\xaa\xab", 12),
	    DATA(0x7ffffff0, 0xd0e, 0x102030405060708), INLINE("\xb0\xb1\xb2", 3) } },
	{ "rdma_write_imm", "ctrl raddr",
	  { CTRL(0x10, RDMA_WRITE_IMM, 2, 2, SIGNALED, .solicited = 1, .imm = 0xcafef00d),
	    RADDR(0x1000, 0x2000) } },
	{ "send_imm_fenced", "ctrl data",
	  { CTRL(1, SEND_IMM, 0x45, 2, SIGNALED, .solicited = 1, .fence = BSN_FENCE_SMALL_AND_FENCE,
		 .imm = 0x01020304),
	    DATA(64, 0x7700, 0x7ffffffff000) } },
	{ "send_inval", "ctrl data data",
	  { CTRL(0x1234, SEND_INVAL, 0x45, 3, .imm = 0xabcd12), DATA(1, 0x11, 1),
	    DATA(2, 0x22, 2) } },
	{ "rdma_read", "ctrl raddr data",
	  { CTRL(2, RDMA_READ, 0x45, 3, SIGNALED), RADDR(0x100000000, 0x3000),
	    DATA(0, 0x4000, 0x200000000) } },
	{ "atomic_cs", "ctrl raddr atomic_cs data",
	  { CTRL(3, ATOMIC_CS, 0x45, 4, SIGNALED), USUAL_RADDR,
	    SEG(atomic_cs, .swap = 0x3333333344444444, .compare = 0x1111111122222222),
	    USUAL_DATA(8) } },
	{ "atomic_fa", "ctrl raddr atomic_fa data",
	  { CTRL(4, ATOMIC_FA, 0x45, 4, SIGNALED), USUAL_RADDR, SEG(atomic_fa, .add = 5),
	    USUAL_DATA(8) } },
	{ "masked_cs", "ctrl raddr masked_cs data",
	  { CTRL(5, ATOMIC_MASKED_CS, 0x45, 5, SIGNALED, .opmod = BSN_OPMOD_MASKED(8)), USUAL_RADDR,
	    SEG(masked_cs, .swap = 0x0102030405060708, .compare = 0x1112131415161718,
		.swap_mask = 0xffff000000000000, .compare_mask = 0xffff),
	    USUAL_DATA(8) } },
	{ "masked_cs32", "ctrl av_dc_grh raddr masked_cs32 data",
	  { CTRL(6, ATOMIC_MASKED_CS, 0x45, 7, SIGNALED, .opmod = BSN_OPMOD_MASKED(4)),
	    SEG(av_dc_grh, .dc_key = 0x11223344, .ext = 1, .dqpn = 0xdc7, .rmac_hi = 0x02000000,
		.rmac_lo = 1, .hop_limit = 0x40, .sgid_index = 6, .flow_label = 3,
		.rgid_hi = 0xfe80000000000000, .rgid_lo = 0x020000fffe000001),
	    USUAL_RADDR,
	    SEG(masked_cs32, .swap = 0x01020304, .compare = 0x11121314, .swap_mask = 0xff000000,
		.compare_mask = 0xff),
	    USUAL_DATA(4) } },
	{ "masked_fa", "ctrl raddr masked_fa data",
	  { CTRL(5, ATOMIC_MASKED_FA, 0x45, 4, SIGNALED, .opmod = BSN_OPMOD_MASKED(8)), USUAL_RADDR,
	    SEG(masked_fa, .add = 0x100000002, .field_boundary = 0x8000000080000000),
	    USUAL_DATA(8) } },
	{ "masked_fa32", "ctrl raddr masked_fa32 data",
	  { CTRL(5, ATOMIC_MASKED_FA, 0x45, 4, SIGNALED, .opmod = BSN_OPMOD_MASKED(4)), USUAL_RADDR,
	    SEG(masked_fa32, .add = 3, .field_boundary = 0x80000000), USUAL_DATA(4) } },
	{ "nop", "ctrl", { CTRL(8, NOP, 0x45, 1, SIGNALED) } },
	{ "ud_send_compact", "ctrl av_ud data",
	  { CTRL(9, SEND, 0x45, 3, SIGNALED),
	    SEG(av_ud, .qkey = 0x11111111, .dqpn = 0x48, .stat_rate = 2, .sl = 5, .mlid = 3,
		.rlid = 0x17),
	    USUAL_DATA(32) } },
	{ "ud_send_roce", "ctrl av_ud_grh data",
	  { CTRL(10, SEND_IMM, 0x45, 5, SIGNALED, .imm = 7),
	    SEG(av_ud_grh, .qkey = 0x80010000, .ext = 1, .dqpn = 0x48, .sl = 3 << 1, .rlid = 0xc0de,
		.rmac_hi = 0x02005e10, .rmac_lo = 0x2030, .tclass = 0x60, .hop_limit = 64,
		.sgid_index = 3, .flow_label = 0x01234, .rgid_lo = 0xffffc0a80102),
	    USUAL_DATA(32) } },
	{ "dc_write", "ctrl av_dc_grh raddr data",
	  { CTRL(11, RDMA_WRITE, 0x45, 6, SIGNALED, .dci_stream = 2),
	    SEG(av_dc_grh, .dc_key = 0x64, .ext = 1, .dqpn = 0x123, .fl = 1, .rlid = 0x17,
		.hop_limit = 64, .grh = 1, .sgid_index = 1, LINK_GID),
	    WRITE_OF_4096 } },
	{ "xrc_send", "ctrl xrc data",
	  { CTRL(12, SEND, 0x45, 3, SIGNALED), SEG(xrc, .srqn = 0x321), USUAL_DATA(32) } },
	{ "recv", NULL,
	  { USUAL_DATA(2048), DATA(4096, 0x6100, 0xa000), DATA(0, BSN_LKEY_TERMINATOR, 0),
	    PAD(16) } },
	{ "recv_srq", NULL, { SEG(srq_next, .next_wqe_index = 0x102), USUAL_DATA(2048) } },
	{ "recv_signed", NULL, { SEG(recv_sig, .signature = 0x5a), USUAL_DATA(2048) } },
	{ "umr_list", "ctrl umr_ctrl mkey_ctx klm klm klm klm",
	  { UMR(12, 4, 0, 0), MKEY(0x3000, ), KLM(4096, 0x6000, 0x9000), KLM(8192, 0x6100, 0x10000),
	    PAD(32) } },
	{ "umr_repeat", "ctrl umr_ctrl mkey_ctx repeat repeat_entry repeat_entry",
	  { UMR(12, 4, 0, 0), MKEY(96 * 8, ),
	    SEG(repeat, .byte_count = 96, .op = BSN_REPEAT_OP, .repeat_count = 8, .num_entries = 2),
	    SEG(repeat_entry, .stride = 4096, .byte_count = 64, .mkey = 0x6000, .va = 0x9000),
	    SEG(repeat_entry, .stride = 96, .byte_count = 32, .mkey = 0x6100, .va = 0x100000),
	    PAD(16) } },
	{ "umr_pointer", "ctrl umr_ctrl mkey_ctx klm",
	  { UMR(9, 64, 0, 0), MKEY(0x3000, ), KLM(1024, 0x6200, 0x7f0000001000) } },
	{ "umr_invalidate", "ctrl umr_ctrl mkey_ctx",
	  { CTRL(0x20, UMR, 0x45, 8, SIGNALED, .imm = 0x181920),
	    SEG(umr_ctrl, .is_inline = 1, .has_offset = 1, .check_qpn = 1,
		.mkey_mask = BSN_MKEY_BIT(FREE) | BSN_MKEY_BIT(KEY) | BSN_MKEY_BIT(QPN)),
	    SEG(mkey_ctx, .free = 1, .qpn = 0xffffff, .mkey_7_0 = 0x20) } },
	{ "umr_signature_crypto", "ctrl umr_ctrl mkey_ctx klm klm klm klm bsf bsf_crypto",
	  { UMR(20, 4, 8, BSN_MKEY_BIT(BSF_EN)), MKEY(0x3000, .bsf_en = 1),
	    KLM(0x3000, 0x6000, 0x9000), PAD(48),
	    SEG(bsf, .size = BSN_BSF_SIZE_SIGNATURE_AND_CRYPTO, .same_block = 1, .check_mask = 0xff,
		.wire_copy_or_block = 0xc0, .mem_block = BSN_BLOCK_SIZE_B512,
		.raw_data_size = UINT32_MAX, .wire_psv = 0x11, .mem_psv = 0x12, T10_DIF(wire, 0x40),
		T10_DIF(mem, 0x41)),
	    SEG(bsf_crypto, .size = BSN_BSF_SIZE_SIGNATURE_AND_CRYPTO, .type = BSN_BSF_TYPE_CRYPTO,
		.order = BSN_CRYPTO_ORDER_MEMORY_SIGNATURE, .raw_data_size = UINT32_MAX,
		.block = BSN_BLOCK_SIZE_B512, .tweak_hi = 0x0102030405060708,
		.tweak_lo = 0x1112131415161718, .dek = 0x33, .keytag = 0x2122232425262728) } },
	{ "set_psv", "ctrl set_psv",
	  { CTRL(0x21, SET_PSV, 0x45, 2, SIGNALED, .fence = BSN_FENCE_INITIATOR_SMALL),
	    SEG(set_psv, .psv = 0x11, .signature = 0xffff123400000005) } },
	{ "get_psv", "ctrl get_psv",
	  { CTRL(0x22, GET_PSV, 0x45, 4, SIGNALED),
	    SEG(get_psv, .num_psv = 2, .lkey = 0x6000, .va = 0x9000, .psv_0 = 0x11,
		.psv_1 = 0x12) } },
	{ "check_psv", "ctrl check_psv",
	  { CTRL(0x22, CHECK_PSV, 0x45, 4, SIGNALED),
	    SEG(check_psv, .coalescing_op = 1, .transport_op = 2, .transport_mask = 3, .num_psv = 1,
		.lkey = 0x6000, .va = 0x9000, .psv_0 = 0x11) } },
	{ "fmr", "ctrl fmr",
	  { CTRL(0x23, FMR, 0x45, 4, SIGNALED),
	    SEG(fmr, .a = 1, .rw = 1, .rr = 1, .lw = 1, .lr = 1, .mkey = 0x181920,
		.list = 0x7f0000001000, .start_addr = 0x9000, .len = 0x3000, .offset = 8,
		.page_size = 12) } },
	{ "tm_append", "ctrl tm data",
	  { CTRL(0x24, TAG_MATCHING, 0x45, 4, SIGNALED),
	    SEG(tm, .op = BSN_TM_OP_APPEND, .wants_cqe = 1, .has_sw_cnt = 1, .index = 7,
		.sw_cnt = 3, .tag = 0x123456789abcdef0, .mask = 0xffffffff00000000),
	    USUAL_DATA(2048) } },
	{ "tm_remove", "ctrl tm",
	  { CTRL(0x25, TAG_MATCHING, 0x45, 3, SIGNALED),
	    SEG(tm, .op = BSN_TM_OP_REMOVE, .wants_cqe = 1, .index = 7) } },
	{ "eth_send", "ctrl eth + data",
	  { CTRL(0x26, SEND, 0x45, 4, SIGNALED), ETH(.inline_size = 18, .start = 0x0200),
	    HEADERS(16), USUAL_DATA(32) } },
	{ "eth_send_vlan", "ctrl eth data",
	  { CTRL(0x27, SEND, 0x45, 3, ON_ERROR),
	    SEG(eth, .swp_outer_l4 = 54 / 2, .swp_outer_l3 = 14 / 2, .l4_csum = 1,
		.swp_outer_udp = 1, .swp_outer_ipv6 = 1, .metadata = 9, .insert_vlan = 1,
		.start = 0x2064),
	    USUAL_DATA(32) } },
	{ "tso", "ctrl eth + data",
	  { CTRL(0x28, TSO, 0x45, 7, SIGNALED),
	    ETH(.mss = 1460, .inline_size = 54, .start = 0x0200), HEADERS(52), PAD(12),
	    USUAL_DATA(8192) } },
	{ "enhanced_mpsw", "ctrl eth data inline_hdr + data",
	  { CTRL(0x29, ENHANCED_MPSW, 0x45, 6, SIGNALED), ETH(), USUAL_DATA(64),
	    INLINE("\x02\x00\x5e\x10\x20\x30\x02\x00\x5e\x10\x20\x31\x08\x00", 14),
	    DATA(1500, 0x6000, 0xa000) } },
	{ "ipoib_send", "ctrl av_ud_grh eth + data",
	  { CTRL(0x2a, SEND, 0x45, 8, SIGNALED),
	    SEG(av_ud_grh, .qkey = 0xb1b, .ext = 1, .dqpn = 0x48, .rlid = 0x17, .hop_limit = 64,
		.grh = 1, LINK_GID),
	    PAD(BSN_ETH_PAD_BYTES), ETH(.inline_size = 4, .start = 0x0800), PAD(16),
	    USUAL_DATA(96) } },
	{ "wait_cq", "ctrl wait_en",
	  { CTRL(0x2b, WAIT, 0x45, 2, .opmod = BSN_WAIT_CQ),
	    SEG(wait_en, .index = 5, .number = 0x31) } },
	{ "wait_time", "ctrl wait_mem",
	  { CTRL(0x2c, WAIT, 0x45, 3, .opmod = BSN_WAIT_TIME),
	    SEG(wait_mem, .condition = BSN_WAIT_IF_CYCLIC_SMALLER, .value = 0x123456789,
		.mask = UINT64_MAX) } },
	{ "wait_data", "ctrl wait_mem",
	  { CTRL(0x2c, WAIT, 0x45, 3, .opmod = BSN_WAIT_DATA),
	    SEG(wait_mem, .condition = BSN_WAIT_IF_EQUAL, .lkey = 0x6000, .va = 0x9000, .value = 1,
		.mask = UINT64_MAX) } },
	{ "send_en", "ctrl wait_en",
	  { CTRL(0x2d, SEND_EN, 0x45, 2, ON_ERROR), SEG(wait_en, .index = 9, .number = 0x46) } },
	{ "rcv_en", "ctrl wait_en",
	  { CTRL(0x2e, RCV_EN, 0x45, 2, ON_ERROR), SEG(wait_en, .index = 9, .number = 0x46) } },
	{ "dump", "ctrl data", { CTRL(0x2f, DUMP, 0x45, 2, .imm = 0x12 << 8), USUAL_DATA(1024) } },
	{ "mmo_dma", "ctrl mmo data data",
	  { CTRL(0x30, MMO, 0x45, 4, SIGNALED, .opmod = BSN_MMO_DMA),
	    SEG(mmo, .lkey = 0x5000, .va = 0x8000), USUAL_DATA(4096),
	    DATA(4096, 0x6100, 0xa000) } },
	{ "aso", "ctrl aso +",
	  { CTRL(0x31, ACCESS_ASO, 0x45, 8, SIGNALED, .opmod = 2, .imm = 0x44),
	    SEG(aso, .va_h = 0x7f00, .va_l = 0x1000 >> 1, .read = 1, .lkey = 0x6000, .mask_mode = 2,
		.cond_0 = BSN_ASO_IF_ALWAYS, .cond_1 = BSN_ASO_IF_ALWAYS, .cond_or = 1,
		.data_mask = 0x80ffffff00000000),
	    ARGUMENT } },
	{ "flow", "ctrl flow +",
	  { CTRL(0x32, FLOW_TBL_ACCESS, 0x45, 8, SIGNALED, .opmod = 1, .imm = 7),
	    SEG(flow, .index = 3, .stc_0 = 9), ARGUMENT } },
	{ "cqe_req", NULL,
	  { SEG(cqe_req, .srqn_uidx = 7, .byte_count = 64, .timestamp = 0x123456789,
		.wqe_opcode = BSN_OPCODE_RDMA_READ, .qpn = 0xc7, .wqe_counter = 0x123,
		.opcode = BSN_CQE_REQ, .owner = 1) } },
	{ "cqe_resp_send_imm", NULL,
	  { SEG(cqe_resp, .ml_path = 3, .slid = 0x17, .grh = BSN_CQE_GRH_IN_DATA, .sl = 5,
		.rqpn = 0x48, .srqn_uidx = 9, .imm_inval_pkey = 0x01020304, .byte_count = 88,
		.timestamp = 0x1000, .qpn = 0xc8, .wqe_counter = 5,
		.opcode = BSN_CQE_RESP_SEND_IMM) } },
	{ "cqe_resp_inline32", NULL,
	  { SEG(cqe_resp, .srqn_uidx = 9, .byte_count = 5, .timestamp = 0x1000, .qpn = 0xc8,
		.wqe_counter = 6, .opcode = BSN_CQE_RESP_SEND, .format = BSN_CQE_INLINE_32,
		.owner = 1),
	    BACK(64), BYTES("hello", 5), PAD(59) } },
	{ "cqe128_resp_inline64", NULL,
	  { BYTES("\0\1\2\3\4\5\6\7\x8\x9\xa\xb\xc\xd\xe\xf\x10\x11\x12\x13\x14\x15\x16\x17"
		  "\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f !\"#$%&'", 40), PAD(24),
	    SEG(cqe_resp, .srqn_uidx = 9, .byte_count = 40, .timestamp = 0x1000, .qpn = 0xc8,
		.wqe_counter = 7, .opcode = BSN_CQE_RESP_SEND, .format = BSN_CQE_INLINE_64,
		.owner = 1) } },
	{ "cqe_err_remote_access", NULL,
	  { SEG(cqe_err, .srqn_uidx = 7, .vendor_syndrome = BSN_VENDOR_REMOTE_ACCESS_NAK,
		.syndrome = BSN_SYNDROME_REMOTE_ACCESS, .wqe_opcode = BSN_OPCODE_RDMA_WRITE,
		.qpn = 0xc7, .wqe_counter = 0x124, .opcode = BSN_CQE_REQ_ERR, .owner = 1) } },
	{ "cqe_err_flush", NULL,
	  { SEG(cqe_err, .srqn_uidx = 7, .hw_syndrome = 0x12, .hw_syndrome_type = 3,
		.vendor_syndrome = BSN_VENDOR_TO_ERROR, .syndrome = BSN_SYNDROME_FLUSHED,
		.qpn = 0xc7, .wqe_counter = 8, .opcode = BSN_CQE_RESP_ERR) } },
	{ "cqe_sig_err", NULL,
	  { SEG(cqe_sig_err, .expected_signature = 0xffff1234, .actual_signature = 0xfffe1234,
		.expected_ref_tag = 5, .actual_ref_tag = 5, .syndrome = 1 << 13, .domain = 1,
		.mkey = 0x181920, .offset = 0x200, .qpn = 0xc7, .opcode = BSN_CQE_SIG_ERR,
		.owner = 1) } },
	{ "cqe_no_packet", NULL,
	  { SEG(cqe_no_packet, .success = 1, .hw_phase_cnt = 3, .srqn_uidx = 9,
		.app = BSN_CQE_APP_TAG_MATCHING, .app_op = BSN_CQE_APP_REMOVE, .app_info = 7,
		.timestamp = 0x1000, .qpn = 0xc8, .wqe_counter = 8, .opcode = BSN_CQE_NO_PACKET,
		.owner = 1) } },
	{ "cqe_resize", NULL, { SEG(cqe_resize, .opcode = BSN_CQE_RESIZE_CQ, .owner = 1) } },
	{ "cqe_eth", NULL,
	  { SEG(cqe_eth, .rss_hash = 0xdeadbeef, .rss_l4 = 1, .rss_l3 = 1, .checksum = 0xbeef,
		.l4_ok = 1, .l3_ok = 1, .l2_ok = 1, .l4_type = BSN_CQE_L4_TCP_ACK,
		.l3_type = BSN_CQE_L3_IPV4, .vlan_stripped = 1, .vlan_info = 0x64, .srqn_uidx = 9,
		.metadata = 9, .byte_count = 1500, .timestamp = 0x1000, .flow_tag = 0x123456,
		.wqe_counter = 8, .opcode = BSN_CQE_RESP_SEND, .owner = 1) } },
};
#define GOLDEN_COUNT (sizeof(goldens) / sizeof(goldens[0]))

#endif
