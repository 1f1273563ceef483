/* SPDX-License-Identifier: BSD-2-Clause */
/* The model alone: reliable connections, every operation, around the ring. */
#include "pair.h"

static void execute(struct rig_wqe *wqe)
{
	rig_post(&rig.qp[0], wqe);
	assert_int_equal(cx_step(rig.hca, 0), 1);
}

static void expect_request(uint32_t opcode, uint16_t index)
{
	const struct bsn_cqe cqe = rig_next(&rig.cq[0]);

	assert_int_equal(cqe.tail.opcode, BSN_CQE_REQ);
	assert_int_equal(cqe.tail.wqe_counter, index);
	assert_int_equal(cqe.as.req.wqe_opcode, opcode);
	assert_int_equal(cqe.as.req.qpn, rig.qp[0].number);
	assert_int_equal(cqe.as.req.srqn_uidx, 0x700);
}

static void write_moves_the_bytes_when_stepped(void **state)
{
	fill(rig.buf, 100, 1);
	rig_post_write(&rig, &rig.qp[0], rig.buf + 1000, rig.buf, 100, BSN_CE_ALWAYS);
	expect_nothing(&rig.cq[0]);
	assert_int_equal(cx_step(rig.hca, 0), 1);
	assert_memory_equal(rig.buf + 1000, rig.buf, 100);
	assert_int_equal(rig.buf[1100], 0);
	expect_request(BSN_OPCODE_RDMA_WRITE, 0);
	assert_int_equal(cx_step(rig.hca, 0), 0);
}

static void a_step_executes_as_many_as_asked(void **state)
{
	for (unsigned i = 0; i < 5; i++)
		rig_post_write(&rig, &rig.qp[0], rig.buf + 1000, rig.buf, 8, BSN_CE_ALWAYS);
	assert_int_equal(cx_step(rig.hca, 2), 2);
	assert_int_equal(cx_step(rig.hca, 2), 2);
	assert_int_equal(cx_step(rig.hca, 2), 1);
	assert_int_equal(cx_step(rig.hca, 2), 0);
}

static void read_fetches(void **state)
{
	struct rig_wqe wqe;

	fill(rig.buf + 2000, 300, 2);
	rig_begin(&wqe, BSN_OPCODE_RDMA_READ, BSN_CE_ALWAYS);
	rig_raddr(&wqe, rig.buf + 2000, rig.key);
	rig_data(&wqe, rig.buf, 100, rig.key);
	rig_data(&wqe, rig.buf + 500, 200, rig.key);
	execute(&wqe);
	assert_memory_equal(rig.buf, rig.buf + 2000, 100);
	assert_memory_equal(rig.buf + 500, rig.buf + 2100, 200);
	assert_int_equal(rig_next(&rig.cq[0]).as.req.byte_count, 300);
}

static void send_fills_a_receive(void **state)
{
	static const struct {
		uint32_t opcode, imm, received;
	} cases[] = {
		{ BSN_OPCODE_SEND, 0, BSN_CQE_RESP_SEND },
		{ BSN_OPCODE_SEND_IMM, 0x11223344, BSN_CQE_RESP_SEND_IMM },
	};

	for (unsigned i = 0; i < 2; i++) {
		struct rig_wqe wqe;
		struct bsn_cqe cqe;

		fill(rig.buf, 200, i);
		memset(rig.buf + 3000, 0, 300);
		rig_post_recv(&rig, &rig.qp[1], rig.buf + 3000, 256);
		rig_begin(&wqe, cases[i].opcode, BSN_CE_ALWAYS);
		wqe.ctrl.imm = cases[i].imm;
		rig_data(&wqe, rig.buf, 150, rig.key);
		rig_data(&wqe, rig.buf + 150, 50, rig.key);
		execute(&wqe);
		assert_memory_equal(rig.buf + 3000, rig.buf, 200);
		cqe = rig_next(&rig.cq[1]);
		assert_int_equal(cqe.tail.opcode, cases[i].received);
		assert_int_equal(cqe.tail.wqe_counter, i);
		assert_int_equal(cqe.as.resp.byte_count, 200);
		assert_int_equal(cqe.as.resp.imm_inval_pkey, cases[i].imm);
		assert_int_equal(cqe.as.resp.qpn, rig.qp[1].number);
		assert_int_equal(cqe.as.resp.srqn_uidx, 0x701);
		expect_request(cases[i].opcode, (uint16_t)i);
	}
}

static void write_imm_consumes_a_receive(void **state)
{
	struct rig_wqe wqe;
	struct bsn_cqe cqe;

	fill(rig.buf, 64, 3);
	rig_post_recv(&rig, &rig.qp[1], rig.buf + 3000, 0x10);
	rig_begin(&wqe, BSN_OPCODE_RDMA_WRITE_IMM, BSN_CE_ALWAYS);
	wqe.ctrl.imm = 77;
	wqe.ctrl.solicited = 1;
	rig_raddr(&wqe, rig.buf + 1000, rig.key);
	rig_data(&wqe, rig.buf, 64, rig.key);
	execute(&wqe);
	assert_memory_equal(rig.buf + 1000, rig.buf, 64);
	cqe = rig_next(&rig.cq[1]);
	assert_int_equal(cqe.tail.opcode, BSN_CQE_RESP_WR_IMM);
	assert_int_equal(cqe.tail.solicited, 1);
	assert_int_equal(cqe.as.resp.imm_inval_pkey, 77);
	assert_int_equal(cqe.as.resp.byte_count, 64);
}

/* Creates an mkey over the first bytes of the buffer, which a peer may invalidate. */
static uint32_t create_closable(void)
{
	const struct bsn_mkey_ctx ctx = { .en_rinval = 1,
					  .rw = 1,
					  .lw = 1,
					  .access_mode_1_0 = BSN_MKEY_MODE_KLM,
					  .pd = rig.pd,
					  .start_addr = (uintptr_t)rig.buf,
					  .len = 64 };

	return rig_mkey_create(&rig, &ctx, &(struct bsn_klm){ 64, rig.key, (uintptr_t)rig.buf }, 1);
}

static void post_send_inval(uint32_t key)
{
	struct rig_wqe wqe;

	rig_post_recv(&rig, &rig.qp[1], rig.buf + 3000, 256);
	rig_begin(&wqe, BSN_OPCODE_SEND_INVAL, BSN_CE_ALWAYS);
	wqe.ctrl.imm = key;
	rig_data(&wqe, rig.buf, 100, rig.key);
	execute(&wqe);
}

/* The kernel makes no region that a peer may invalidate. */
static void send_inval_does_not_close_a_region(void **state)
{
	post_send_inval(rig.key);
	rig_expect_error(&rig.cq[1], BSN_CQE_RESP_ERR, 0, BSN_SYNDROME_MW_BIND,
			 BSN_VENDOR_TPT_INVALIDATE + BSN_TPT_PD);
	rig_expect_error(&rig.cq[0], BSN_CQE_REQ_ERR, 0, BSN_SYNDROME_REMOTE_ACCESS,
			 BSN_VENDOR_REMOTE_ACCESS_NAK);
}

static void send_inval_closes_the_key(void **state)
{
	const uint32_t key = create_closable();
	struct bsn_cqe cqe;

	post_send_inval(key);
	cqe = rig_next(&rig.cq[1]);
	assert_int_equal(cqe.tail.opcode, BSN_CQE_RESP_SEND_INV);
	assert_int_equal(cqe.as.resp.imm_inval_pkey, key);

	rig_post_one(&rig.qp[0], BSN_OPCODE_RDMA_WRITE, rig.buf, key, rig.buf + 100, 8, rig.key);
	assert_int_equal(cx_step(rig.hca, 0), 1);
	expect_request(BSN_OPCODE_SEND_INVAL, 0);
	assert_int_equal(rig_next(&rig.cq[0]).tail.opcode, BSN_CQE_REQ_ERR);
}

static void post_atomic(uint32_t opcode, uint64_t first, uint64_t second)
{
	struct rig_wqe wqe;

	rig_begin(&wqe, opcode, BSN_CE_ALWAYS);
	rig_raddr(&wqe, rig.buf + 1024, rig.key);
	if (opcode == BSN_OPCODE_ATOMIC_CS) {
		ENCODE(atomic_cs, wqe.bytes + wqe.len, .swap = first, .compare = second);
	} else {
		ENCODE(atomic_fa, wqe.bytes + wqe.len, .add = first);
	}
	wqe.len += BSN_ATOMIC_CS_SIZE;
	rig_data(&wqe, rig.buf, 8, rig.key);
	execute(&wqe);
	expect_request(opcode, (uint16_t)(rig.qp[0].pi - 1));
}

static void atomics_return_the_old_value(void **state)
{
	uint64_t *target = (uint64_t *)(rig.buf + 1024), *result = (uint64_t *)rig.buf;

	*target = 100;
	post_atomic(BSN_OPCODE_ATOMIC_FA, 11, 0);
	assert_int_equal(*result, 100);
	assert_int_equal(*target, 111);
	post_atomic(BSN_OPCODE_ATOMIC_CS, 5, 110);
	assert_int_equal(*result, 111);
	assert_int_equal(*target, 111);
	post_atomic(BSN_OPCODE_ATOMIC_CS, 5, 111);
	assert_int_equal(*result, 111);
	assert_int_equal(*target, 5);
}

static void masked_atomics_touch_their_fields(void **state)
{
	uint64_t *target = (uint64_t *)(rig.buf + 1024);
	struct rig_wqe wqe;

	*target = 0xffffffff00000002;
	rig_begin(&wqe, BSN_OPCODE_ATOMIC_MASKED_FA, BSN_CE_ALWAYS);
	wqe.ctrl.opmod = BSN_OPMOD_MASKED(8);
	rig_raddr(&wqe, target, rig.key);
	ENCODE(masked_fa, wqe.bytes + wqe.len, .add = 0x00000001000000ff,
	       .field_boundary = 0x8000000000000080);
	wqe.len += BSN_MASKED_FA_SIZE;
	rig_data(&wqe, rig.buf, 8, rig.key);
	execute(&wqe);
	assert_int_equal(*(uint64_t *)rig.buf, 0xffffffff00000002);
	/* The low field, bits 7:0, is 2 + 0xff without its carry; the high one goes round. */
	assert_int_equal(*target, 0x0000000000000001);

	*target = 0x1122334455667712;
	rig_begin(&wqe, BSN_OPCODE_ATOMIC_MASKED_CS, BSN_CE_ALWAYS);
	wqe.ctrl.opmod = BSN_OPMOD_MASKED(4);
	rig_raddr(&wqe, target, rig.key);
	ENCODE(masked_cs32, wqe.bytes + wqe.len, .swap = 0xaabbccdd, .compare = 0x00000012,
	       .swap_mask = 0xffff0000, .compare_mask = 0x000000ff);
	wqe.len += BSN_MASKED_CS32_SIZE;
	rig_data(&wqe, rig.buf, 4, rig.key);
	execute(&wqe);
	assert_int_equal(bsn_load_be32(rig.buf), 0x55667712); /* as results of 4 bytes are */
	assert_int_equal(*target, 0x11223344aabb7712);
}

/* Inline data of every length that fits, from every basic block, also across the ring's end. */
static void inline_data_wrap(void **state)
{
	uint8_t data[200];
	uint16_t index;

	for (unsigned turn = 0; turn < 3 * RIG_SQ_BB; turn++) {
		for (uint32_t len = 0; len <= sizeof(data); len += 1 + len / 8) {
			struct rig_wqe wqe;
			fill(data, len, turn + len);
			memset(rig.buf, 0xee, sizeof(data) + 1);
			index = rig.qp[0].pi;
			rig_begin(&wqe, BSN_OPCODE_RDMA_WRITE, BSN_CE_ALWAYS);
			rig_raddr(&wqe, rig.buf, rig.key);
			rig_inline(&wqe, data, len);
			execute(&wqe);
			assert_memory_equal(rig.buf, data, len);
			assert_int_equal(rig.buf[len], 0xee);
			expect_request(BSN_OPCODE_RDMA_WRITE, index);
		}
	}
}

static void unsignaled_work_makes_no_cqe(void **state)
{
	rig_post_write(&rig, &rig.qp[0], rig.buf + 1000, rig.buf, 8, BSN_CE_ON_ERROR);
	rig_post_write(&rig, &rig.qp[0], rig.buf + 1000, rig.buf, 8, BSN_CE_ON_FIRST_ERROR);
	rig_post_write(&rig, &rig.qp[0], rig.buf + 1000, rig.buf, 8, BSN_CE_ALWAYS);
	assert_int_equal(cx_step(rig.hca, 0), 3);
	expect_request(BSN_OPCODE_RDMA_WRITE, 2);
	expect_nothing(&rig.cq[0]);
}

static void nop_completes(void **state)
{
	struct rig_wqe wqe;

	rig_begin(&wqe, BSN_OPCODE_NOP, BSN_CE_ALWAYS);
	execute(&wqe);
	expect_request(BSN_OPCODE_NOP, 0);
}

/* Twice 2^16 requests: the ring, the 16-bit index and the CQ all go round. */
static void counters_wrap(void **state)
{
	uint64_t *from = (uint64_t *)rig.buf, *to = (uint64_t *)(rig.buf + 1000);

	for (uint32_t i = 0; i < 2 << 16; i++) {
		*from = i;
		rig_post_write(&rig, &rig.qp[0], to, from, 8, BSN_CE_ALWAYS);
		assert_int_equal(cx_step(rig.hca, 0), 1);
		assert_int_equal(*to, i);
		expect_request(BSN_OPCODE_RDMA_WRITE, (uint16_t)i);
	}
}

UNIT_MAIN(NULL, TEST(write_moves_the_bytes_when_stepped), TEST(a_step_executes_as_many_as_asked),
	  TEST(read_fetches), TEST(send_fills_a_receive), TEST(write_imm_consumes_a_receive),
	  TEST(send_inval_closes_the_key), TEST(send_inval_does_not_close_a_region),
	  TEST(atomics_return_the_old_value), TEST(masked_atomics_touch_their_fields),
	  TEST(inline_data_wrap), TEST(unsignaled_work_makes_no_cqe), TEST(nop_completes),
	  TEST(counters_wrap))
