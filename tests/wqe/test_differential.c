/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares the tables with the installed mlx5dv.h, which is independent of them: its setters and
 * structures, over random values. Sizes and numbers are compared too, at compile time.
 */
#include <stdbool.h>
#include <endian.h>
#include <infiniband/mlx5dv.h>

#include "../unit.h"
#include "bsn_decode.h"
#include "random.h"

#define ROUNDS 150000 /* times ten kinds of segments: more than a million */

#define SAME(ours, theirs)                                                                         \
	_Static_assert((int)(ours) == (int)(theirs), #ours " differs from " #theirs)

SAME(BSN_CTRL_SIZE, sizeof(struct mlx5_wqe_ctrl_seg));
SAME(BSN_RADDR_SIZE, sizeof(struct mlx5_wqe_raddr_seg));
SAME(BSN_DATA_SIZE, sizeof(struct mlx5_wqe_data_seg));
SAME(BSN_INLINE_HDR_SIZE, sizeof(struct mlx5_wqe_inl_data_seg));
SAME(BSN_ATOMIC_CS_SIZE, sizeof(struct mlx5_wqe_atomic_seg));
SAME(BSN_ATOMIC_FA_SIZE, sizeof(struct mlx5_wqe_atomic_seg));
SAME(BSN_AV_UD_GRH_SIZE, sizeof(struct mlx5_wqe_datagram_seg));
SAME(BSN_AV_DC_GRH_SIZE, sizeof(struct mlx5_wqe_datagram_seg));
SAME(BSN_AV_UD_SIZE, offsetof(struct mlx5_wqe_av, reserved0));
SAME(BSN_AV_DC_SIZE, offsetof(struct mlx5_wqe_av, reserved0));
SAME(BSN_SRQ_NEXT_SIZE, sizeof(struct mlx5_wqe_srq_next_seg));
SAME(BSN_CQE_SIZE, sizeof(struct mlx5_cqe64));
SAME(BSN_CQE_SIZE, sizeof(struct mlx5_err_cqe));
SAME(BSN_CQE_TAIL_OFFSET, offsetof(struct mlx5_cqe64, wqe_counter));
SAME(BSN_CQE_OP_OWN_OFFSET, offsetof(struct mlx5_cqe64, op_own));
SAME(BSN_BB_SIZE, MLX5_SEND_WQE_BB);
SAME(BSN_LKEY_TERMINATOR, MLX5_INVALID_LKEY);
SAME(BSN_DBR_RECV_OFFSET, 4 * MLX5_RCV_DBR);
SAME(BSN_DBR_SEND_OFFSET, 4 * MLX5_SND_DBR);
SAME(BSN_UAR_CQ_ARM_OFFSET, MLX5_CQ_DOORBELL);

SAME(BSN_UMR_CTRL_SIZE, sizeof(struct mlx5_wqe_umr_ctrl_seg));
SAME(BSN_MKEY_CTX_SIZE, sizeof(struct mlx5_wqe_mkey_context_seg));
SAME(BSN_KLM_SIZE, sizeof(struct mlx5_wqe_umr_klm_seg));
SAME(BSN_REPEAT_SIZE, sizeof(struct mlx5_wqe_umr_repeat_block_seg));
SAME(BSN_REPEAT_ENTRY_SIZE, sizeof(struct mlx5_wqe_umr_repeat_ent_seg));
SAME(BSN_TM_SIZE, sizeof(struct mlx5_wqe_tm_seg));
SAME(BSN_ETH_SIZE, offsetof(struct mlx5_wqe_eth_seg, inline_hdr));
SAME(BSN_ETH_START_OFFSET, offsetof(struct mlx5_wqe_eth_seg, inline_hdr_start));
SAME(1 << BSN_MKEY_MASK_LEN, MLX5_WQE_UMR_CTRL_MKEY_MASK_LEN);
SAME(1 << BSN_MKEY_MASK_START_ADDR, MLX5_WQE_UMR_CTRL_MKEY_MASK_START_ADDR);
SAME(1 << BSN_MKEY_MASK_EN_SIGERR, MLX5_WQE_UMR_CTRL_MKEY_MASK_SIG_ERR);
SAME(1 << BSN_MKEY_MASK_BSF_EN, MLX5_WQE_UMR_CTRL_MKEY_MASK_BSF_ENABLE);
SAME(1 << BSN_MKEY_MASK_KEY, MLX5_WQE_UMR_CTRL_MKEY_MASK_MKEY);
SAME(1 << BSN_MKEY_MASK_QPN, MLX5_WQE_UMR_CTRL_MKEY_MASK_QPN);
SAME(1 << BSN_MKEY_MASK_LW, MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_LOCAL_WRITE);
SAME(1 << BSN_MKEY_MASK_RR, MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_READ);
SAME(1 << BSN_MKEY_MASK_RW, MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_WRITE);
SAME(1 << BSN_MKEY_MASK_A, MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_ATOMIC);
SAME(1 << BSN_MKEY_MASK_FREE, MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE);

/*
 * Sizes of structures that no installed header has, as they add up in rdma-core's wqe.h, the
 * kernel's qp.h and aso.h, DPDK's mlx5_prm.h, mlx5dr_send.h.
 */
SAME(BSN_SET_PSV_SIZE, 4 + 2 + 2 + 8);
SAME(BSN_GET_PSV_SIZE, 19 + 1 + 4 + 8 + 4 * 4);
SAME(BSN_CHECK_PSV_SIZE, 2 + 2 + 2 + 2 + 2 + 2 + 7 + 1 + 4 + 8 + 4 * 4);
SAME(BSN_BSF_SIZE, 16 + 16 + 2 * 16);
SAME(BSN_BSF_CRYPTO_SIZE, 4 + 4 + 8 + 16 + 8 + 8 + 16);
SAME(BSN_FMR_SIZE, 4 + 4 + 8 + 8 + 8 + 4 + 4 + 2 * 4);
SAME(BSN_MMO_SIZE, 4 + 4 + 8);
SAME(BSN_WAIT_EN_SIZE, 8 + 4 + 4);
SAME(BSN_WAIT_MEM_SIZE, 4 + 4 + 8 + 8 + 8);
SAME(BSN_ASO_SIZE, 4 + 4 + 4 + 4 + 4 * 4 + 8 + 8);
SAME(BSN_FLOW_SIZE, 4 + 5 * 4 + 6 * 4);
SAME(BSN_RECV_SIG_SIZE, 4 + 1 + 11);

/* Numbers that the installed mlx5dv.h lacks, from device.h and mlx5_prm.h; RCV_EN: MLNX_OFED 4. */
enum {
	MLX5_OPCODE_WAIT = 0x0f,
	MLX5_OPCODE_RCV_EN = 0x16,
	MLX5_OPCODE_SEND_EN = 0x17,
	MLX5_OPCODE_BIND_MW = 0x18,
	MLX5_OPCODE_GET_PSV = 0x21,
	MLX5_OPCODE_CHECK_PSV = 0x22,
	MLX5_OPCODE_DUMP = 0x23,
	MLX5_OPCODE_RGET_PSV = 0x26,
	MLX5_OPCODE_RCHECK_PSV = 0x27,
	MLX5_OPCODE_ENHANCED_MPSW = 0x29,
	MLX5_OPCODE_ACCESS_ASO = 0x2d,
};

#define SAME_OPCODE(name, value, doc) SAME(BSN_OPCODE_##name, MLX5_OPCODE_##name);

BSN_WQE_OPCODES(SAME_OPCODE)

#define SAME_CQE(name, value, doc) SAME(BSN_CQE_##name, MLX5_CQE_##name);

BSN_CQE_OPCODES(SAME_CQE)

SAME(BSN_CQE_INLINE_32 << 2, MLX5_INLINE_SCATTER_32);
SAME(BSN_CQE_INLINE_64 << 2, MLX5_INLINE_SCATTER_64);

SAME(BSN_SYNDROME_LOCAL_LENGTH, MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR);
SAME(BSN_SYNDROME_LOCAL_QP_OPERATION, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
SAME(BSN_SYNDROME_LOCAL_PROTECTION, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
SAME(BSN_SYNDROME_FLUSHED, MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
SAME(BSN_SYNDROME_MW_BIND, MLX5_CQE_SYNDROME_MW_BIND_ERR);
SAME(BSN_SYNDROME_BAD_RESPONSE, MLX5_CQE_SYNDROME_BAD_RESP_ERR);
SAME(BSN_SYNDROME_LOCAL_ACCESS, MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR);
SAME(BSN_SYNDROME_REMOTE_INVALID_REQUEST, MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR);
SAME(BSN_SYNDROME_REMOTE_ACCESS, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR);
SAME(BSN_SYNDROME_REMOTE_OPERATION, MLX5_CQE_SYNDROME_REMOTE_OP_ERR);
SAME(BSN_SYNDROME_RETRY_EXCEEDED, MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR);
SAME(BSN_SYNDROME_RNR_RETRY_EXCEEDED, MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR);
SAME(BSN_SYNDROME_REMOTE_ABORTED, MLX5_CQE_SYNDROME_REMOTE_ABORTED_ERR);
SAME(BSN_VENDOR_ODP_PAGE_FAULT, MLX5_CQE_VENDOR_SYNDROME_ODP_PFAULT);

#define SAME_STATUS(name, value, doc) SAME(value, IBV_WC_##name);

BSN_STATUSES(SAME_STATUS)

/* A random value of `bits` bits. Both sides then get the same value. */
static uint32_t some(unsigned bits)
{
	return (uint32_t)(random_u64() >> 32) & BSN_ROW_MASK(bits);
}

#define FIELDS(...)                                                                                \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

#define ASSERT_ENCODED(seg, v, theirs)                                                             \
	do {                                                                                       \
		uint8_t ours[64];                                                                  \
		bsn_##seg##_encode(ours, v);                                                       \
		assert_memory_equal(ours, theirs, bsn_##seg##_desc.size_bytes);                    \
	} while (0)

static void control_segment(void **state)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		const struct bsn_ctrl v =
			FIELDS(.opmod = some(8), .wqe_index = some(16), .opcode = some(8),
			       .qpn = some(24), .ds = some(6), .signature = some(8),
			       .fence = some(3), .ce = some(2), .solicited = some(1),
			       .imm = some(32));
		const uint8_t fm_ce_se = (uint8_t)(v.fence << 5 | v.ce << 2 |
						   (v.solicited ? MLX5_WQE_CTRL_SOLICITED : 0));
		struct mlx5_wqe_ctrl_seg theirs = { 0 };

		mlx5dv_set_ctrl_seg(&theirs, (uint16_t)v.wqe_index, (uint8_t)v.opcode,
				    (uint8_t)v.opmod, v.qpn, fm_ce_se, (uint8_t)v.ds,
				    (uint8_t)v.signature, htobe32(v.imm));
		ASSERT_ENCODED(ctrl, &v, &theirs);
	}
	assert_int_equal(BSN_CE_ALWAYS << 2, MLX5_WQE_CTRL_CQ_UPDATE);
	assert_int_equal(BSN_FENCE_SMALL_AND_FENCE << 5, MLX5_WQE_CTRL_FENCE);
	assert_int_equal(BSN_FENCE_INITIATOR_SMALL << 5, MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE);
}

static void stream_channel(void **state)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct mlx5_wqe_ctrl_seg theirs;
		struct bsn_ctrl v;

		random_bytes(&theirs, sizeof(theirs));
		bsn_ctrl_decode(&v, &theirs);
		assert_int_equal(v.dci_stream, be16toh(theirs.dci_stream_channel_id));
		assert_int_equal(v.signature, theirs.signature);
		assert_int_equal(v.imm, be32toh(theirs.imm));
	}
}

static void data_pointer(void **state)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		const struct bsn_data v =
			FIELDS(.byte_count = some(31), .lkey = some(32), .addr = random_u64());
		struct mlx5_wqe_data_seg theirs;

		mlx5dv_set_data_seg(&theirs, v.byte_count, v.lkey, v.addr);
		ASSERT_ENCODED(data, &v, &theirs);
	}
}

static void inline_header(void **state)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		const struct bsn_inline_hdr v = { .is_inline = 1, .byte_count = some(10) };
		ASSERT_ENCODED(inline_hdr, &v,
			       (&(struct mlx5_wqe_inl_data_seg){
				       htobe32(v.byte_count | MLX5_INLINE_SEG) }));
	}
}

static void remote_address(void **state)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		const struct bsn_raddr v = { .raddr = random_u64(), .rkey = some(32) };
		const struct mlx5_wqe_raddr_seg theirs =
			FIELDS(.raddr = htobe64(v.raddr), .rkey = htobe32(v.rkey));

		ASSERT_ENCODED(raddr, &v, &theirs);
	}
}

static void atomics(void **state)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		const struct bsn_atomic_cs cs = { .swap = random_u64(), .compare = random_u64() };
		struct mlx5_wqe_atomic_seg theirs =
			FIELDS(.swap_add = htobe64(cs.swap), .compare = htobe64(cs.compare));

		ASSERT_ENCODED(atomic_cs, &cs, &theirs);
		theirs.compare = 0;
		ASSERT_ENCODED(atomic_fa, &(struct bsn_atomic_fa){ .add = cs.swap }, &theirs);
	}
}

/* Address vectors: the destination's fields in one order, for the UD and the DC structure. */
#define SOME_DESTINATION                                                                           \
	.ext = some(1), .dqpn = some(24), .stat_rate = some(4), .sl = some(4), .fl = some(1),      \
	.mlid = some(7), .rlid = some(16), .rmac_hi = some(32), .rmac_lo = some(16),               \
	.tclass = some(8), .hop_limit = some(8), .grh = some(1), .sgid_index = some(8),            \
	.flow_label = some(20), .rgid_hi = random_u64(), .rgid_lo = random_u64()

#define COMPACT_PART_OF(v)                                                                         \
	.ext = (v).ext, .dqpn = (v).dqpn, .stat_rate = (v).stat_rate, .sl = (v).sl, .fl = (v).fl,  \
	.mlid = (v).mlid, .rlid = (v).rlid

#define SET_DGRAM(theirs, key, v)                                                                  \
	do {                                                                                       \
		uint8_t mac[8], gid[16];                                                           \
		bsn_store_be32(mac, (v)->rmac_hi);                                                 \
		bsn_store_be16(mac + 4, (uint16_t)(v)->rmac_lo);                                   \
		bsn_store_be64(gid, (v)->rgid_hi);                                                 \
		bsn_store_be64(gid + 8, (v)->rgid_lo);                                             \
		mlx5dv_set_dgram_seg(theirs, key, (v)->dqpn, (uint8_t)(v)->ext,                    \
				     (uint8_t)((v)->stat_rate << 4 | (v)->sl),                     \
				     (uint8_t)((v)->fl << 7 | (v)->mlid), (uint16_t)(v)->rlid,     \
				     mac, (uint8_t)(v)->tclass, (uint8_t)(v)->hop_limit,           \
				     (v)->grh << 30 | (v)->sgid_index << 20 | (v)->flow_label,     \
				     gid);                                                         \
	} while (0)

static void address_vector_of_ud(void **state)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		const struct bsn_av_ud_grh v = { .qkey = some(32), SOME_DESTINATION };
		const struct bsn_av_ud compact = { .qkey = v.qkey, COMPACT_PART_OF(v) };
		struct mlx5_wqe_datagram_seg theirs = { 0 };

		SET_DGRAM(&theirs, (uint64_t)v.qkey << 32, &v);
		ASSERT_ENCODED(av_ud_grh, &v, &theirs);
		assert_int_equal(htobe32(v.qkey), theirs.av.key.qkey.qkey);
		ASSERT_ENCODED(av_ud, &compact, &theirs);
	}
}

static void address_vector_of_dc(void **state)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		const struct bsn_av_dc_grh v = { .dc_key = random_u64(), SOME_DESTINATION };
		const struct bsn_av_dc compact = { .dc_key = v.dc_key, COMPACT_PART_OF(v) };
		struct mlx5_wqe_datagram_seg theirs = { 0 };

		SET_DGRAM(&theirs, v.dc_key, &v);
		ASSERT_ENCODED(av_dc_grh, &v, &theirs);
		ASSERT_ENCODED(av_dc, &compact, &theirs);
	}
}

static void link_of_a_shared_receive_queue(void **state)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		const struct bsn_srq_next v = { .next_wqe_index = some(16), .signature = some(8) };
		const struct mlx5_wqe_srq_next_seg theirs =
			FIELDS(.next_wqe_index = htobe16((uint16_t)v.next_wqe_index),
			       .signature = (uint8_t)v.signature);

		ASSERT_ENCODED(srq_next, &v, &theirs);
	}
}

static void control_of_a_umr(void **state)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		const struct bsn_umr_ctrl v =
			FIELDS(.is_inline = some(1), .check = some(1), .has_offset = some(1),
			       .check_qpn = some(1), .klm_octowords = some(16),
			       .offset_or_bsf = some(16), .mkey_mask = random_u64());
		const struct mlx5_wqe_umr_ctrl_seg theirs = {
			.flags = (uint8_t)(v.is_inline * MLX5_WQE_UMR_CTRL_FLAG_INLINE |
					   v.check * MLX5_WQE_UMR_CTRL_FLAG_CHECK_FREE |
					   v.has_offset * MLX5_WQE_UMR_CTRL_FLAG_TRNSLATION_OFFSET |
					   v.check_qpn * MLX5_WQE_UMR_CTRL_FLAG_CHECK_QPN),
			.klm_octowords = htobe16((uint16_t)v.klm_octowords),
			.bsf_octowords = htobe16((uint16_t)v.offset_or_bsf),
			.mkey_mask = htobe64(v.mkey_mask),
		};

		ASSERT_ENCODED(umr_ctrl, &v, &theirs);
	}
}

static void context_of_an_mkey(void **state)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct mlx5_wqe_mkey_context_seg theirs;
		struct bsn_mkey_ctx v;
		uint32_t flags_pd;

		random_bytes(&theirs, sizeof(theirs));
		bsn_mkey_ctx_decode(&v, &theirs);
		flags_pd = be32toh(theirs.flags_pd);
		assert_int_equal(v.free, !!(theirs.free & MLX5_WQE_MKEY_CONTEXT_FREE));
		assert_int_equal(v.a << 6 | v.rw << 5 | v.rr << 4 | v.lw << 3 | v.lr << 2,
				 theirs.access_flags &
					 (MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_ATOMIC |
					  MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_WRITE |
					  MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_READ |
					  MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_LOCAL_WRITE |
					  MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_LOCAL_READ));
		assert_int_equal(v.qpn << 8 | v.mkey_7_0, be32toh(theirs.qpn_mkey));
		assert_int_equal(v.pd, flags_pd & 0xffffff);
		/* wqe.h MLX5_WQE_MKEY_CONTEXT_FLAGS_BSF_ENABLE, _SIG_ERR_CNT_SHIFT */
		assert_int_equal(v.bsf_en, flags_pd >> 30 & 1);
		assert_int_equal(v.sigerr_count, flags_pd >> 26 & 1);
		assert_true(v.start_addr == be64toh(theirs.start_addr));
		assert_true(v.len == be64toh(theirs.len));
		assert_int_equal(v.bsf_octword_size, be32toh(theirs.bsf_octword_size));
		assert_int_equal(v.translations_octword_size,
				 be32toh(theirs.translations_octword_size));
		assert_int_equal(v.log_page_size, theirs.log_page_size & 0x1f);
	}
}

static void translations(void **state)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		const struct bsn_klm klm = { some(32), some(32), random_u64() };
		const struct bsn_repeat repeat = { klm.byte_count, BSN_REPEAT_OP, klm.mkey,
						   some(16) };
		const struct bsn_repeat_entry entry = { some(16), some(16), klm.mkey, klm.va };
		const struct mlx5_wqe_umr_klm_seg a = { htobe32(klm.byte_count), htobe32(klm.mkey),
							htobe64(klm.va) };
		const struct mlx5_wqe_umr_repeat_block_seg b =
			FIELDS(.byte_count = htobe32(repeat.byte_count),
			       .op = htobe32(0x400), /* qp.h MLX5_STRIDE_BLOCK_OP */
			       .repeat_count = htobe32(repeat.repeat_count),
			       .num_ent = htobe16((uint16_t)repeat.num_entries));
		const struct mlx5_wqe_umr_repeat_ent_seg c =
			FIELDS(.stride = htobe16((uint16_t)entry.stride),
			       .byte_count = htobe16((uint16_t)entry.byte_count),
			       .memkey = htobe32(entry.mkey), .va = htobe64(entry.va));

		ASSERT_ENCODED(klm, &klm, &a);
		ASSERT_ENCODED(repeat, &repeat, &b);
		ASSERT_ENCODED(repeat_entry, &entry, &c);
	}
}

/* As rdma-core's qp.c set_tm_seg() fills it. */
static void tag_matching(void **state)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		const struct bsn_tm v =
			FIELDS(.op = some(2), .wants_cqe = some(1), .has_sw_cnt = some(1),
			       .index = some(16), .sw_cnt = some(16), .tag = random_u64(),
			       .mask = random_u64());
		const struct mlx5_wqe_tm_seg theirs =
			FIELDS(.opcode = (uint8_t)(v.op << 4),
			       .flags = (uint8_t)(v.wants_cqe << 7 | v.has_sw_cnt << 6),
			       .index = htobe16((uint16_t)v.index),
			       .sw_cnt = htobe16((uint16_t)v.sw_cnt), .append_tag = htobe64(v.tag),
			       .append_mask = htobe64(v.mask));

		ASSERT_ENCODED(tm, &v, &theirs);
	}
}

static void ethernet(void **state)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		uint8_t header[18]; /* as much as mlx5dv.h has room for */
		const struct bsn_eth v =
			FIELDS(.l4_csum = some(1), .l3_csum = some(1), .mss = some(16),
			       .inline_size = 2 + some(4), .start = some(16));
		const uint8_t csum = (uint8_t)(v.l3_csum * MLX5_ETH_WQE_L3_CSUM |
					       v.l4_csum * MLX5_ETH_WQE_L4_CSUM);
		struct mlx5_wqe_eth_seg theirs = { 0 };

		random_bytes(header, sizeof(header));
		bsn_store_be16(header, (uint16_t)v.start);
		mlx5dv_set_eth_seg(&theirs, csum, (uint16_t)v.mss, (uint16_t)v.inline_size, header);
		ASSERT_ENCODED(eth, &v, &theirs);
	}
}

/* As rdma-core's cq.c mlx5_arm_cq() puts the words together. */
static void arming_a_completion_queue(void **state)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		const struct bsn_cq_doorbell v =
			FIELDS(.sn = some(2), .cmd = some(1), .ci = some(24), .cqn = some(24));
		const struct bsn_dbr_cq_arm record = { .sn = v.sn, .cmd = v.cmd, .ci = v.ci };
		const uint32_t word = v.sn << 28 | v.ci |
				      (v.cmd == BSN_CQ_ARM_SOLICITED ? MLX5_CQ_DB_REQ_NOT_SOL
								     : MLX5_CQ_DB_REQ_NOT);

		assert_true(bsn_cq_doorbell_word(&v, 0) == ((uint64_t)word << 32 | v.cqn));
		assert_int_equal(bsn_dbr_cq_arm_dword(&record, 0), word);
	}
}

/* As rdma-core's qp.c, srq.c and cq.c write the records, and post_send_db() rings. */
static void doorbells_of_queues(void **state)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		const uint32_t counter = some(32), qpn = some(24);
		const struct bsn_dbr_wq wq = { .index = counter };
		const struct bsn_dbr_cq_ci cq = { .ci = counter };
		const struct bsn_sq_doorbell sq = { .wqe_index = counter, .qpn = qpn, .ds = 4 };
		const struct bsn_ctrl ctrl =
			FIELDS(.wqe_index = counter, .qpn = qpn, .ds = 4, .ce = 2);

		assert_int_equal(bsn_dbr_wq_dword(&wq, 0), counter & 0xffff);
		assert_int_equal(bsn_dbr_cq_ci_dword(&cq, 0), counter & 0xffffff);
		assert_true(bsn_sq_doorbell_word(&sq, 0) == bsn_ctrl_word(&ctrl, 0));
	}
}

UNIT_MAIN(random_set_up, UNIT(control_segment), UNIT(stream_channel), UNIT(data_pointer),
	  UNIT(inline_header), UNIT(remote_address), UNIT(atomics), UNIT(address_vector_of_ud),
	  UNIT(address_vector_of_dc), UNIT(link_of_a_shared_receive_queue), UNIT(control_of_a_umr),
	  UNIT(context_of_an_mkey), UNIT(translations), UNIT(tag_matching), UNIT(ethernet),
	  UNIT(doorbells_of_queues), UNIT(arming_a_completion_queue))
