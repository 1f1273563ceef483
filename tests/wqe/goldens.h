/* SPDX-License-Identifier: BSD-2-Clause */
/* What the golden files say, in the words of the encoders. */
#ifndef TESTS_WQE_GOLDENS_H
#define TESTS_WQE_GOLDENS_H

#include "bsn_decode.h"

/* A buffer that segments are appended to. */
struct built {
	uint8_t bytes[1024];
	size_t size;
};

#define ADD(seg, ...)                                                                              \
	do {                                                                                       \
		const struct bsn_##seg v = { __VA_ARGS__ };                                        \
		bsn_##seg##_encode(b->bytes + b->size, &v);                                        \
		b->size += bsn_##seg##_desc.size_bytes;                                            \
	} while (0)

#define ADD_CTRL(index, op, qp, length, ...)                                                       \
	ADD(ctrl, .wqe_index = (index), .opcode = BSN_OPCODE_##op, .qpn = (qp), .ds = (length),    \
	    __VA_ARGS__)
#define SIGNALED .ce = BSN_CE_ALWAYS

static void add_inline(struct built *b, uint8_t first, uint32_t count)
{
	ADD(inline_hdr, .is_inline = 1, .byte_count = count);
	for (unsigned i = 0; i < count; i++)
		b->bytes[b->size++] = (uint8_t)(first + i);
	b->size = (b->size + 15) / 16 * 16;
}

static void add_usual_raddr(struct built *b)
{
	ADD(raddr, .raddr = 0x8008, .rkey = 0x5000);
}

static void add_usual_data(struct built *b, uint32_t count)
{
	ADD(data, .byte_count = count, .lkey = 0x6000, .addr = 0x9000);
}

static void build_rdma_write(struct built *b)
{
	ADD_CTRL(0x0123, RDMA_WRITE, 0xc7, 3, SIGNALED);
	ADD(raddr, .raddr = 0x7f1122334455, .rkey = 0x181920);
	ADD(data, .byte_count = 4096, .lkey = 0x1aff, .addr = 0x5566778899aa);
}

static void build_rdma_write_inline(struct built *b)
{
	ADD_CTRL(0xffff, RDMA_WRITE, 0xabcdef, 4, SIGNALED);
	ADD(raddr, .raddr = 0xffeeddccbbaa9988, .rkey = 0x80000001);
	add_inline(b, 0, 17);
}

static void build_rdma_write_mixed(struct built *b)
{
	ADD_CTRL(7, RDMA_WRITE, 0x100, 5, .ce = BSN_CE_ON_ERROR);
	ADD(raddr, .raddr = 0x12345678, .rkey = 0xb0c);
	add_inline(b, 0xa0, 12);
	ADD(data, .byte_count = 0x7ffffff0, .lkey = 0xd0e, .addr = 0x102030405060708);
	add_inline(b, 0xb0, 3);
}

static void build_rdma_write_imm(struct built *b)
{
	ADD_CTRL(0x10, RDMA_WRITE_IMM, 2, 2, SIGNALED, .solicited = 1, .imm = 0xcafef00d);
	ADD(raddr, .raddr = 0x1000, .rkey = 0x2000);
}

static void build_send_imm_fenced(struct built *b)
{
	ADD_CTRL(1, SEND_IMM, 0x45, 2, SIGNALED, .solicited = 1, .fence = BSN_FENCE_SMALL_AND_FENCE,
		 .imm = 0x01020304);
	ADD(data, .byte_count = 64, .lkey = 0x7700, .addr = 0x7ffffffff000);
}

static void build_send_inval(struct built *b)
{
	ADD_CTRL(0x1234, SEND_INVAL, 0x45, 3, .imm = 0xabcd12);
	ADD(data, .byte_count = 1, .lkey = 0x11, .addr = 1);
	ADD(data, .byte_count = 2, .lkey = 0x22, .addr = 2);
}

static void build_rdma_read(struct built *b)
{
	ADD_CTRL(2, RDMA_READ, 0x45, 3, SIGNALED);
	ADD(raddr, .raddr = 0x100000000, .rkey = 0x3000);
	ADD(data, .byte_count = 0, .lkey = 0x4000, .addr = 0x200000000);
}

static void build_atomic_cs(struct built *b)
{
	ADD_CTRL(3, ATOMIC_CS, 0x45, 4, SIGNALED);
	add_usual_raddr(b);
	ADD(atomic_cs, .swap = 0x3333333344444444, .compare = 0x1111111122222222);
	add_usual_data(b, 8);
}

static void build_atomic_fa(struct built *b)
{
	ADD_CTRL(4, ATOMIC_FA, 0x45, 4, SIGNALED);
	add_usual_raddr(b);
	ADD(atomic_fa, .add = 5);
	add_usual_data(b, 8);
}

static void build_masked_cs(struct built *b)
{
	ADD_CTRL(5, ATOMIC_MASKED_CS, 0x45, 5, SIGNALED, .opmod = BSN_OPMOD_MASKED(8));
	add_usual_raddr(b);
	ADD(masked_cs, .swap = 0x0102030405060708, .compare = 0x1112131415161718,
	    .swap_mask = 0xffff000000000000, .compare_mask = 0xffff);
	add_usual_data(b, 8);
}

static void build_masked_cs32(struct built *b)
{
	ADD_CTRL(6, ATOMIC_MASKED_CS, 0x45, 7, SIGNALED, .opmod = BSN_OPMOD_MASKED(4));
	ADD(av_dc_grh, .dc_key = 0x11223344, .ext = 1, .dqpn = 0xdc7, .rmac_hi = 0x02000000,
	    .rmac_lo = 1, .hop_limit = 0x40, .sgid_index = 6, .flow_label = 3,
	    .rgid_hi = 0xfe80000000000000, .rgid_lo = 0x020000fffe000001);
	add_usual_raddr(b);
	ADD(masked_cs32, .swap = 0x01020304, .compare = 0x11121314, .swap_mask = 0xff000000,
	    .compare_mask = 0xff);
	add_usual_data(b, 4);
}

static void build_masked_fa(struct built *b)
{
	ADD_CTRL(5, ATOMIC_MASKED_FA, 0x45, 4, SIGNALED, .opmod = BSN_OPMOD_MASKED(8));
	add_usual_raddr(b);
	ADD(masked_fa, .add = 0x100000002, .field_boundary = 0x8000000080000000);
	add_usual_data(b, 8);
}

static void build_masked_fa32(struct built *b)
{
	ADD_CTRL(5, ATOMIC_MASKED_FA, 0x45, 4, SIGNALED, .opmod = BSN_OPMOD_MASKED(4));
	add_usual_raddr(b);
	ADD(masked_fa32, .add = 3, .field_boundary = 0x80000000);
	add_usual_data(b, 4);
}

static void build_nop(struct built *b)
{
	ADD_CTRL(8, NOP, 0x45, 1, SIGNALED);
}

static void build_ud_send_compact(struct built *b)
{
	ADD_CTRL(9, SEND, 0x45, 3, SIGNALED);
	ADD(av_ud, .qkey = 0x11111111, .dqpn = 0x48, .stat_rate = 2, .sl = 5, .mlid = 3,
	    .rlid = 0x17);
	add_usual_data(b, 32);
}

static void build_ud_send_roce(struct built *b)
{
	ADD_CTRL(10, SEND_IMM, 0x45, 5, SIGNALED, .imm = 7);
	ADD(av_ud_grh, .qkey = 0x80010000, .ext = 1, .dqpn = 0x48, .sl = 3 << 1, .rlid = 0xc0de,
	    .rmac_hi = 0x02005e10, .rmac_lo = 0x2030, .tclass = 0x60, .hop_limit = 64,
	    .sgid_index = 3, .flow_label = 0x01234, .rgid_lo = 0xffffc0a80102);
	add_usual_data(b, 32);
}

static void build_dc_write(struct built *b)
{
	ADD_CTRL(11, RDMA_WRITE, 0x45, 6, SIGNALED, .dci_stream = 2);
	ADD(av_dc_grh, .dc_key = 0x64, .ext = 1, .dqpn = 0x123, .fl = 1, .rlid = 0x17,
	    .hop_limit = 64, .grh = 1, .sgid_index = 1, .rgid_hi = 0xfe80000000000000,
	    .rgid_lo = 0x0002c90300010203);
	ADD(raddr, .raddr = 0x7f1122334455, .rkey = 0x181920);
	ADD(data, .byte_count = 4096, .lkey = 0x1aff, .addr = 0x5566778899aa);
}

static void build_xrc_send(struct built *b)
{
	ADD_CTRL(12, SEND, 0x45, 3, SIGNALED);
	ADD(xrc, .srqn = 0x321);
	add_usual_data(b, 32);
}

static void build_recv(struct built *b)
{
	add_usual_data(b, 2048);
	ADD(data, .byte_count = 4096, .lkey = 0x6100, .addr = 0xa000);
	ADD(data, .lkey = BSN_LKEY_TERMINATOR);
	b->size += 16;
}

static void build_recv_srq(struct built *b)
{
	ADD(srq_next, .next_wqe_index = 0x102);
	add_usual_data(b, 2048);
}

/* Adds the head that the golden UMRs share, with the counts of what follows it. */
static void add_umr(struct built *b, uint32_t ds, uint32_t klms, uint32_t bsf, uint64_t mask)
{
	ADD_CTRL(0x20, UMR, 0x45, ds, SIGNALED, .imm = 0x181920);
	ADD(umr_ctrl, .is_inline = klms <= 4, .klm_octowords = klms, .offset_or_bsf = bsf,
	    .mkey_mask = BSN_MKEY_BIT(FREE) | BSN_MKEY_BIT(RW) | BSN_MKEY_BIT(RR) |
			 BSN_MKEY_BIT(LW) | BSN_MKEY_BIT(KEY) | BSN_MKEY_BIT(START_ADDR) |
			 BSN_MKEY_BIT(LEN) | mask);
}

#define USUAL_MKEY                                                                                 \
	.umr_en = 1, .rw = 1, .rr = 1, .lw = 1, .qpn = 0xffffff, .mkey_7_0 = 0x20,                 \
	.start_addr = 0x1000

static void build_umr_list(struct built *b)
{
	add_umr(b, 12, 4, 0, 0);
	ADD(mkey_ctx, USUAL_MKEY, .len = 0x3000);
	ADD(klm, .byte_count = 4096, .mkey = 0x6000, .va = 0x9000);
	ADD(klm, .byte_count = 8192, .mkey = 0x6100, .va = 0x10000);
	b->size += 32;
}

static void build_umr_repeat(struct built *b)
{
	add_umr(b, 12, 4, 0, 0);
	ADD(mkey_ctx, USUAL_MKEY, .len = 96 * 8);
	ADD(repeat, .byte_count = 96, .op = BSN_REPEAT_OP, .repeat_count = 8, .num_entries = 2);
	ADD(repeat_entry, .stride = 4096, .byte_count = 64, .mkey = 0x6000, .va = 0x9000);
	ADD(repeat_entry, .stride = 96, .byte_count = 32, .mkey = 0x6100, .va = 0x100000);
	b->size += 16;
}

static void build_umr_pointer(struct built *b)
{
	add_umr(b, 9, 64, 0, 0);
	ADD(mkey_ctx, USUAL_MKEY, .len = 0x3000);
	ADD(klm, .byte_count = 1024, .mkey = 0x6200, .va = 0x7f0000001000);
}

static void build_umr_invalidate(struct built *b)
{
	ADD_CTRL(0x20, UMR, 0x45, 8, SIGNALED, .imm = 0x181920);
	ADD(umr_ctrl, .is_inline = 1, .has_offset = 1, .check_qpn = 1,
	    .mkey_mask = BSN_MKEY_BIT(FREE) | BSN_MKEY_BIT(KEY) | BSN_MKEY_BIT(QPN));
	ADD(mkey_ctx, .free = 1, .qpn = 0xffffff, .mkey_7_0 = 0x20);
}

#define T10_DIF(domain, guard_checks)                                                              \
	.domain##_valid = 1, .domain##_refresh = 1, .domain##_app_tag = 0x1234,                    \
	.domain##_ref_tag = 5, .domain##_sig_type = 1, .domain##_repeat = 1, .domain##_seed = 1,   \
	.domain##_guard_check = guard_checks, .domain##_app_mask = 0xffff

static void build_umr_signature_crypto(struct built *b)
{
	add_umr(b, 20, 4, 8, BSN_MKEY_BIT(BSF_EN));
	ADD(mkey_ctx, USUAL_MKEY, .len = 0x3000, .bsf_en = 1);
	ADD(klm, .byte_count = 0x3000, .mkey = 0x6000, .va = 0x9000);
	b->size += 48;
	ADD(bsf, .size = BSN_BSF_SIZE_SIGNATURE_AND_CRYPTO, .same_block = 1, .check_mask = 0xff,
	    .wire_copy_or_block = 0xc0, .mem_block = BSN_BLOCK_SIZE_B512,
	    .raw_data_size = UINT32_MAX, .wire_psv = 0x11, .mem_psv = 0x12, T10_DIF(wire, 0x40),
	    T10_DIF(mem, 0x41));
	ADD(bsf_crypto, .size = BSN_BSF_SIZE_SIGNATURE_AND_CRYPTO, .type = BSN_BSF_TYPE_CRYPTO,
	    .order = BSN_CRYPTO_ORDER_MEMORY_SIGNATURE, .raw_data_size = UINT32_MAX,
	    .block = BSN_BLOCK_SIZE_B512, .tweak_hi = 0x0102030405060708,
	    .tweak_lo = 0x1112131415161718, .dek = 0x33, .keytag = 0x2122232425262728);
}

static void build_set_psv(struct built *b)
{
	ADD_CTRL(0x21, SET_PSV, 0x45, 2, SIGNALED, .fence = BSN_FENCE_INITIATOR_SMALL);
	ADD(set_psv, .psv = 0x11, .signature = 0xffff123400000005);
}

static void build_get_psv(struct built *b)
{
	ADD_CTRL(0x22, GET_PSV, 0x45, 4, SIGNALED);
	ADD(get_psv, .num_psv = 2, .lkey = 0x6000, .va = 0x9000, .psv_0 = 0x11, .psv_1 = 0x12);
}

static void build_check_psv(struct built *b)
{
	ADD_CTRL(0x22, CHECK_PSV, 0x45, 4, SIGNALED);
	ADD(check_psv, .coalescing_op = 1, .transport_op = 2, .transport_mask = 3, .num_psv = 1,
	    .lkey = 0x6000, .va = 0x9000, .psv_0 = 0x11);
}

static void build_fmr(struct built *b)
{
	ADD_CTRL(0x23, FMR, 0x45, 4, SIGNALED);
	ADD(fmr, .a = 1, .rw = 1, .rr = 1, .lw = 1, .lr = 1, .mkey = 0x181920,
	    .list = 0x7f0000001000, .start_addr = 0x9000, .len = 0x3000, .offset = 8,
	    .page_size = 12);
}

static void build_tm_append(struct built *b)
{
	ADD_CTRL(0x24, TAG_MATCHING, 0x45, 4, SIGNALED);
	ADD(tm, .op = BSN_TM_OP_APPEND, .wants_cqe = 1, .has_sw_cnt = 1, .index = 7, .sw_cnt = 3,
	    .tag = 0x123456789abcdef0, .mask = 0xffffffff00000000);
	add_usual_data(b, 2048);
}

static void build_tm_remove(struct built *b)
{
	ADD_CTRL(0x25, TAG_MATCHING, 0x45, 3, SIGNALED);
	ADD(tm, .op = BSN_TM_OP_REMOVE, .wants_cqe = 1, .index = 7);
}

/* Headers of a TCP packet, from the third byte on: the first two are in the Ethernet segment. */
static void add_headers(struct built *b, size_t count)
{
	static const uint8_t headers[52] = {
		0x5e, 0x10, 0x20, 0x30, 0x02, 0x00, 0x5e, 0x10, 0x20, 0x31, 0x08, 0x00,
		0x45, 0x00, 0x00, 0x30, 0x00, 0x00, 0x40, 0x00, 0x40, 0x06, 0x00, 0x00,
		0x0a, 0x00, 0x00, 0x01, 0x0a, 0x00, 0x00, 0x02, 0x12, 0x34, 0x56, 0x78,
		0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x02, 0x50, 0x10, 0x10, 0x00,
	};

	memcpy(b->bytes + b->size, headers, count);
	b->size += (count + 15) / 16 * 16;
}

#define CHECKSUMS .l4_csum = 1, .l3_csum = 1

static void build_eth_send(struct built *b)
{
	ADD_CTRL(0x26, SEND, 0x45, 4, SIGNALED);
	ADD(eth, CHECKSUMS, .inline_size = 18, .start = 0x0200);
	add_headers(b, 16);
	add_usual_data(b, 32);
}

static void build_eth_send_vlan(struct built *b)
{
	ADD_CTRL(0x27, SEND, 0x45, 3, .ce = BSN_CE_ON_ERROR);
	ADD(eth, .swp_outer_l4 = 54 / 2, .swp_outer_l3 = 14 / 2, .l4_csum = 1, .swp_outer_udp = 1,
	    .swp_outer_ipv6 = 1, .metadata = 9, .insert_vlan = 1, .start = 0x2064);
	add_usual_data(b, 32);
}

static void build_tso(struct built *b)
{
	ADD_CTRL(0x28, TSO, 0x45, 7, SIGNALED);
	ADD(eth, CHECKSUMS, .mss = 1460, .inline_size = 54, .start = 0x0200);
	add_headers(b, 52);
	add_usual_data(b, 8192);
}

static void build_enhanced_mpsw(struct built *b)
{
	ADD_CTRL(0x29, ENHANCED_MPSW, 0x45, 6, SIGNALED);
	ADD(eth, CHECKSUMS);
	add_usual_data(b, 64);
	ADD(inline_hdr, .is_inline = 1, .byte_count = 14);
	memcpy(b->bytes + b->size, "\x02\x00\x5e\x10\x20\x30\x02\x00\x5e\x10\x20\x31\x08\x00", 14);
	b->size += 28;
	ADD(data, .byte_count = 1500, .lkey = 0x6000, .addr = 0xa000);
}

static void build_ipoib_send(struct built *b)
{
	ADD_CTRL(0x2a, SEND, 0x45, 8, SIGNALED);
	ADD(av_ud_grh, .qkey = 0xb1b, .ext = 1, .dqpn = 0x48, .rlid = 0x17, .hop_limit = 64,
	    .grh = 1, .rgid_hi = 0xfe80000000000000, .rgid_lo = 0x0002c90300010203);
	b->size += BSN_ETH_PAD_BYTES;
	ADD(eth, CHECKSUMS, .inline_size = 4, .start = 0x0800);
	b->size += 16;
	add_usual_data(b, 96);
}

static void build_wait_cq(struct built *b)
{
	ADD_CTRL(0x2b, WAIT, 0x45, 2, .opmod = BSN_WAIT_CQ);
	ADD(wait_en, .index = 5, .number = 0x31);
}

static void build_wait_time(struct built *b)
{
	ADD_CTRL(0x2c, WAIT, 0x45, 3, .opmod = BSN_WAIT_TIME);
	ADD(wait_mem, .condition = BSN_WAIT_IF_CYCLIC_SMALLER, .value = 0x123456789,
	    .mask = UINT64_MAX);
}

static void build_wait_data(struct built *b)
{
	ADD_CTRL(0x2c, WAIT, 0x45, 3, .opmod = BSN_WAIT_DATA);
	ADD(wait_mem, .condition = BSN_WAIT_IF_EQUAL, .lkey = 0x6000, .va = 0x9000, .value = 1,
	    .mask = UINT64_MAX);
}

static void build_send_en(struct built *b)
{
	ADD_CTRL(0x2d, SEND_EN, 0x45, 2, .ce = BSN_CE_ON_ERROR);
	ADD(wait_en, .index = 9, .number = 0x46);
}

static void build_rcv_en(struct built *b)
{
	ADD_CTRL(0x2e, RCV_EN, 0x45, 2, .ce = BSN_CE_ON_ERROR);
	ADD(wait_en, .index = 9, .number = 0x46);
}

static void build_dump(struct built *b)
{
	ADD_CTRL(0x2f, DUMP, 0x45, 2, .imm = 0x12 << 8);
	add_usual_data(b, 1024);
}

static void build_mmo_dma(struct built *b)
{
	ADD_CTRL(0x30, MMO, 0x45, 4, SIGNALED, .opmod = BSN_MMO_DMA);
	ADD(mmo, .lkey = 0x5000, .va = 0x8000);
	add_usual_data(b, 4096);
	ADD(data, .byte_count = 4096, .lkey = 0x6100, .addr = 0xa000);
}

/* Adds 64 bytes that no table describes: the first four dwords and the last one are not 0. */
static void add_argument(struct built *b)
{
	static const uint8_t first[16] = { 0x80, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4 };

	memcpy(b->bytes + b->size, first, sizeof(first));
	b->size += 64;
	b->bytes[b->size - 1] = 5;
}

static void build_aso(struct built *b)
{
	ADD_CTRL(0x31, ACCESS_ASO, 0x45, 8, SIGNALED, .opmod = 2, .imm = 0x44);
	ADD(aso, .va_h = 0x7f00, .va_l = 0x1000 >> 1, .read = 1, .lkey = 0x6000, .mask_mode = 2,
	    .cond_0 = BSN_ASO_IF_ALWAYS, .cond_1 = BSN_ASO_IF_ALWAYS, .cond_or = 1,
	    .data_mask = 0x80ffffff00000000);
	add_argument(b);
}

static void build_flow(struct built *b)
{
	ADD_CTRL(0x32, FLOW_TBL_ACCESS, 0x45, 8, SIGNALED, .opmod = 1, .imm = 7);
	ADD(flow, .index = 3, .stc_0 = 9);
	add_argument(b);
}

static void build_recv_signed(struct built *b)
{
	ADD(recv_sig, .signature = 0x5a);
	add_usual_data(b, 2048);
}

static void build_cqe_req(struct built *b)
{
	ADD(cqe_req, .srqn_uidx = 7, .byte_count = 64, .timestamp = 0x123456789,
	    .wqe_opcode = BSN_OPCODE_RDMA_READ, .qpn = 0xc7, .wqe_counter = 0x123,
	    .opcode = BSN_CQE_REQ, .owner = 1);
}

static void build_cqe_resp_send_imm(struct built *b)
{
	ADD(cqe_resp, .ml_path = 3, .slid = 0x17, .grh = BSN_CQE_GRH_IN_DATA, .sl = 5, .rqpn = 0x48,
	    .srqn_uidx = 9, .imm_inval_pkey = 0x01020304, .byte_count = 88, .timestamp = 0x1000,
	    .qpn = 0xc8, .wqe_counter = 5, .opcode = BSN_CQE_RESP_SEND_IMM);
}

static void build_cqe_resp_inline32(struct built *b)
{
	ADD(cqe_resp, .srqn_uidx = 9, .byte_count = 5, .timestamp = 0x1000, .qpn = 0xc8,
	    .wqe_counter = 6, .opcode = BSN_CQE_RESP_SEND, .format = BSN_CQE_INLINE_32, .owner = 1);
	memcpy(b->bytes, "hello", 5);
}

static void build_cqe128_resp_inline64(struct built *b)
{
	for (b->size = 0; b->size < 40; b->size++)
		b->bytes[b->size] = (uint8_t)b->size;
	b->size = BSN_CQE128_SIZE - BSN_CQE_SIZE;
	ADD(cqe_resp, .srqn_uidx = 9, .byte_count = 40, .timestamp = 0x1000, .qpn = 0xc8,
	    .wqe_counter = 7, .opcode = BSN_CQE_RESP_SEND, .format = BSN_CQE_INLINE_64, .owner = 1);
}

static void build_cqe_err_remote_access(struct built *b)
{
	ADD(cqe_err, .srqn_uidx = 7, .vendor_syndrome = BSN_VENDOR_REMOTE_ACCESS_NAK,
	    .syndrome = BSN_SYNDROME_REMOTE_ACCESS, .wqe_opcode = BSN_OPCODE_RDMA_WRITE,
	    .qpn = 0xc7, .wqe_counter = 0x124, .opcode = BSN_CQE_REQ_ERR, .owner = 1);
}

static void build_cqe_err_flush(struct built *b)
{
	ADD(cqe_err, .srqn_uidx = 7, .hw_syndrome = 0x12, .hw_syndrome_type = 3,
	    .vendor_syndrome = BSN_VENDOR_TO_ERROR, .syndrome = BSN_SYNDROME_FLUSHED, .qpn = 0xc7,
	    .wqe_counter = 8, .opcode = BSN_CQE_RESP_ERR);
}

static void build_cqe_sig_err(struct built *b)
{
	ADD(cqe_sig_err, .expected_signature = 0xffff1234, .actual_signature = 0xfffe1234,
	    .expected_ref_tag = 5, .actual_ref_tag = 5, .syndrome = 1 << 13, .domain = 1,
	    .mkey = 0x181920, .offset = 0x200, .qpn = 0xc7, .opcode = BSN_CQE_SIG_ERR, .owner = 1);
}

static void build_cqe_no_packet(struct built *b)
{
	ADD(cqe_no_packet, .success = 1, .hw_phase_cnt = 3, .srqn_uidx = 9,
	    .app = BSN_CQE_APP_TAG_MATCHING, .app_op = BSN_CQE_APP_REMOVE, .app_info = 7,
	    .timestamp = 0x1000, .qpn = 0xc8, .wqe_counter = 8, .opcode = BSN_CQE_NO_PACKET,
	    .owner = 1);
}

static void build_cqe_resize(struct built *b)
{
	ADD(cqe_resize, .opcode = BSN_CQE_RESIZE_CQ, .owner = 1);
}

static void build_cqe_eth(struct built *b)
{
	ADD(cqe_eth, .rss_hash = 0xdeadbeef, .rss_l4 = 1, .rss_l3 = 1, .checksum = 0xbeef,
	    .l4_ok = 1, .l3_ok = 1, .l2_ok = 1, .l4_type = BSN_CQE_L4_TCP_ACK,
	    .l3_type = BSN_CQE_L3_IPV4, .vlan_stripped = 1, .vlan_info = 0x64, .srqn_uidx = 9,
	    .metadata = 9, .byte_count = 1500, .timestamp = 0x1000, .flow_tag = 0x123456,
	    .wqe_counter = 8, .opcode = BSN_CQE_RESP_SEND, .owner = 1);
}

static const struct {
	const char *name;
	void (*build)(struct built *);
} goldens[] = {
#define GOLDEN(name)                                                                               \
	{                                                                                          \
#name, build_##name                                                                \
	}
	GOLDEN(rdma_write),
	GOLDEN(rdma_write_inline),
	GOLDEN(rdma_write_mixed),
	GOLDEN(rdma_write_imm),
	GOLDEN(send_imm_fenced),
	GOLDEN(send_inval),
	GOLDEN(rdma_read),
	GOLDEN(atomic_cs),
	GOLDEN(atomic_fa),
	GOLDEN(masked_cs),
	GOLDEN(masked_cs32),
	GOLDEN(masked_fa),
	GOLDEN(masked_fa32),
	GOLDEN(nop),
	GOLDEN(ud_send_compact),
	GOLDEN(ud_send_roce),
	GOLDEN(dc_write),
	GOLDEN(xrc_send),
	GOLDEN(recv),
	GOLDEN(recv_srq),
	GOLDEN(umr_list),
	GOLDEN(umr_repeat),
	GOLDEN(umr_pointer),
	GOLDEN(umr_invalidate),
	GOLDEN(umr_signature_crypto),
	GOLDEN(set_psv),
	GOLDEN(get_psv),
	GOLDEN(check_psv),
	GOLDEN(fmr),
	GOLDEN(tm_append),
	GOLDEN(tm_remove),
	GOLDEN(eth_send),
	GOLDEN(eth_send_vlan),
	GOLDEN(tso),
	GOLDEN(enhanced_mpsw),
	GOLDEN(ipoib_send),
	GOLDEN(wait_cq),
	GOLDEN(wait_time),
	GOLDEN(wait_data),
	GOLDEN(send_en),
	GOLDEN(rcv_en),
	GOLDEN(dump),
	GOLDEN(mmo_dma),
	GOLDEN(aso),
	GOLDEN(flow),
	GOLDEN(recv_signed),
	GOLDEN(cqe_req),
	GOLDEN(cqe_resp_send_imm),
	GOLDEN(cqe_resp_inline32),
	GOLDEN(cqe128_resp_inline64),
	GOLDEN(cqe_err_remote_access),
	GOLDEN(cqe_err_flush),
	GOLDEN(cqe_sig_err),
	GOLDEN(cqe_no_packet),
	GOLDEN(cqe_resize),
	GOLDEN(cqe_eth),
#undef GOLDEN
};
#define GOLDEN_COUNT (sizeof(goldens) / sizeof(goldens[0]))

#endif
