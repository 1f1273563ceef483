/* SPDX-License-Identifier: BSD-2-Clause */
/* What memory keys and windows open, and what is refused: each misuse has its own error. */
#include "mkeys.h"
#include "trace.h"
#include "nic/hca.h"
#include "bsn_syndrome.h"

static enum ibv_wc_status invalidate(uint32_t key)
{
	begin(0);
	ibv_wr_local_inv(b.ex, key);
	return finish();
}

/* -- what is not modelled ---------------------------------------------------------------------- */

static int set_up_traced(void **state)
{
	struct cx_config config = loopback_config(CX_LINK_IB, true);

	config.trace_path = make_trace();
	return set_up_config(state, &config);
}

static int tear_down_traced(void **state)
{
	unlink(trace_path);
	return tear_down(state);
}

static bool was_traced(const char *text)
{
	return strstr(read_trace(), text);
}

/* The vendor syndrome has one number for all these causes; the trace tells them apart. */
static void the_trace_says_why_a_key_refuses(void **state)
{
	struct ibv_pd *pd = ibv_alloc_pd(lo.ctx);
	struct ibv_mr *other = ibv_reg_mr(pd, b.memory, BYTES, ACCESS);
	struct ibv_mr *local = ibv_reg_mr(lo.pd, b.memory, BYTES, IBV_ACCESS_LOCAL_WRITE);
	const struct {
		uint32_t rkey;
		uint64_t addr;
		const char *text;
	} cases[] = {
		{ 0xabcd00, at(0), "key 0xabcd00 does not exist" },
		{ b.mkey[0]->rkey, 0, "is free: never configured, or invalidated" },
		{ other->rkey, at(0), "is of PD" },
		{ local->rkey, at(0), "has rights 0x1, of ibv_access_flags, not 0x2" },
		{ b.mr->rkey, at(BYTES - 7), "are not within key" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		assert_false(was_traced(cases[i].text));
		begin(0);
		ibv_wr_rdma_write(b.ex, cases[i].rkey, cases[i].addr);
		ibv_wr_set_sge(b.ex, b.mr->lkey, plain_at(), 8);
		assert_int_equal(finish(), IBV_WC_REM_ACCESS_ERR);
		assert_true(was_traced(cases[i].text));
		revive();
	}
	assert_int_equal(ibv_dereg_mr(local), 0);
	assert_int_equal(ibv_dereg_mr(other), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

static enum ibv_wc_status set_bsf(const struct bsn_umr_ctrl *umr, const struct bsn_mkey_ctx *ctx,
				  uint32_t type)
{
	uint8_t wqe[3 * BSN_BB_SIZE] = { 0 };

	ENCODE(ctrl, wqe, .opcode = BSN_OPCODE_UMR, .ds = umr->offset_or_bsf ? 12 : 8,
	       .ce = BSN_CE_ALWAYS, .qpn = b.qp->qp_num, .imm = b.mkey[0]->lkey);
	bsn_umr_ctrl_encode(wqe + 16, umr);
	bsn_mkey_ctx_encode(wqe + 64, ctx);
	ENCODE(bsf, wqe + 128, .type = type);
	begin(0);
	mlx5dv_wr_raw_wqe(b.dv, wqe);
	return finish();
}

/* They are not modelled, and the trace says so. */
static void signatures_and_encryption_are_refused_by_name(void **state)
{
	static const struct {
		struct bsn_umr_ctrl umr;
		struct bsn_mkey_ctx ctx;
		uint32_t type;
		const char *text;
	} cases[] = {
		{ .umr = { .is_inline = 1, .mkey_mask = BSN_MKEY_BIT(BSF_EN) },
		  .ctx = { .bsf_en = 1 },
		  .text = "signatures and encryption are not modelled" },
		{ .umr = { .is_inline = 1, .offset_or_bsf = 4 },
		  .type = BSN_BSF_TYPE_SIGNATURE,
		  .text = "BSF: block signatures are not modelled" },
		{ .umr = { .is_inline = 1, .offset_or_bsf = 4 },
		  .type = BSN_BSF_TYPE_CRYPTO,
		  .text = "BSF: encryption is not modelled" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		assert_false(was_traced(cases[i].text));
		assert_int_equal(set_bsf(&cases[i].umr, &cases[i].ctx, cases[i].type),
				 IBV_WC_MW_BIND_ERR);
		assert_int_equal(b.vendor, BSN_VENDOR_TPT_FAST_REGISTER + BSN_TPT_UNKNOWN);
		assert_true(was_traced(cases[i].text));
		revive();
	}
}

/* libmlx5 does not fence after a raw WQE. */
static void using_an_mkey_without_a_fence_is_found(void **state)
{
	const struct bsn_klm klms[4] = { { 64, b.mr->lkey, at(0) } };
	const uint64_t before = cx_lint_count(softcx_hca());

	for (unsigned i = 0; i < 4; i++)
		bsn_klm_encode(b.plain + (size_t)i * BSN_KLM_SIZE, &klms[i]);
	begin(0);
	post_pointer(b.plain, 64, 0, 4, 64, BSN_CE_ON_ERROR);
	b.ex->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE;
	ibv_wr_rdma_write(b.ex, b.mr->rkey, plain_at() + 4096);
	ibv_wr_set_sge(b.ex, b.mkey[0]->lkey, 0, 64);
	assert_int_equal(finish(), IBV_WC_SUCCESS);
	assert_int_equal(cx_lint_count(softcx_hca()), before);

	begin(0);
	post_pointer(b.plain, 64, 0, 4, 64, BSN_CE_ON_ERROR);
	ibv_wr_rdma_write(b.ex, b.mr->rkey, plain_at() + 4096);
	ibv_wr_set_sge(b.ex, b.mkey[0]->lkey, 0, 64);
	assert_int_equal(finish(), IBV_WC_SUCCESS);
	assert_int_equal(cx_lint_count(softcx_hca()), before + 1);
}

/*
 * On another queue, only a completion tells that the change is done: its own, or that of a request
 * after a fence.
 */
static void using_an_mkey_elsewhere_before_its_umr_is_done_is_found(void **state)
{
	struct ibv_qp *own = b.qp, *other = create_qp();
	const uint64_t before = cx_lint_count(softcx_hca()), to = plain_at() + 4096;

	memset(b.plain, 0, 64);
	ENCODE(klm, b.plain, 64, b.mr->lkey, at(0));

	begin(0);
	post_pointer(b.plain, 64, 0, 4, 64, BSN_CE_ON_ERROR);
	assert_int_equal(ibv_wr_complete(b.ex), 0);
	softcx_step(0);
	use(other);
	must_write(b.mkey[0]->lkey, 0, b.mr->rkey, to, 64);
	assert_int_equal(cx_lint_count(softcx_hca()), before + 1);

	use(own);
	assert_int_equal(set_by_pointer(b.plain, 64, 0, 4, 64), IBV_WC_SUCCESS);
	use(other);
	must_write(b.mkey[0]->lkey, 0, b.mr->rkey, to, 64);

	use(own);
	begin(0);
	post_pointer(b.plain, 64, 0, 4, 64, BSN_CE_ON_ERROR);
	b.ex->wr_flags = IBV_SEND_FENCE;
	ibv_wr_rdma_write(b.ex, b.mr->rkey, to);
	ibv_wr_set_sge(b.ex, b.mr->lkey, at(0), 8);
	assert_int_equal(ibv_wr_complete(b.ex), 0);
	softcx_step(0);
	use(other);
	must_write(b.mkey[0]->lkey, 0, b.mr->rkey, to, 64);
	assert_int_equal(cx_lint_count(softcx_hca()), before + 1);
	use(own);
	assert_int_equal(ibv_destroy_qp(other), 0);
}

/* -- refusals ---------------------------------------------------------------------------------- */

static void expect_local(uint32_t lkey, uint64_t from, uint32_t length, unsigned detail)
{
	assert_int_equal(write_to(lkey, from, b.mr->rkey, plain_at(), length), IBV_WC_LOC_PROT_ERR);
	assert_int_equal(b.vendor, BSN_VENDOR_TPT_GATHER + detail);
	revive();
}

static void beyond_the_mkey_there_is_nothing(void **state)
{
	must_cover(b.mkey[0], ACCESS, b.mr->lkey, at(0));
	expect_local(b.mkey[0]->lkey, 0, 65, BSN_TPT_RIGHTS);
	expect_local(b.mkey[0]->lkey, 64, 1, BSN_TPT_RIGHTS);
	expect_remote(b.mkey[0]->rkey, 60, 8);
	/* Beneath the mkey: the entry names more than its region has. */
	must_cover(b.mkey[0], ACCESS, b.mr->lkey, at(BYTES - 32));
	must_write(b.mkey[0]->lkey, 0, b.mr->rkey, plain_at(), 32);
	expect_local(b.mkey[0]->lkey, 0, 33, BSN_TPT_RIGHTS);
}

static void a_klm_has_no_more_than_the_device_takes(void **state)
{
	const struct bsn_klm klms[2] = { { 64, b.mr->lkey, at(0) },
					 { (uint32_t)BSN_KLM_MAX_BYTES, b.mr->lkey, 0 } };

	memset(b.plain, 0, 4 * BSN_KLM_SIZE);
	bsn_klm_encode(b.plain, &klms[0]);
	bsn_klm_encode(b.plain + BSN_KLM_SIZE, &klms[1]);
	assert_int_equal(set_by_pointer(b.plain, 64, 0, 4, 64), IBV_WC_SUCCESS);
	b.plain[BSN_KLM_SIZE + 3] = 1; /* one byte more */
	assert_int_equal(set_by_pointer(b.plain, 64, 0, 4, 64), IBV_WC_MW_BIND_ERR);
	assert_int_equal(b.vendor, BSN_VENDOR_TPT_FAST_REGISTER + BSN_TPT_LENGTH);
	revive();
	expect_local(b.mkey[0]->lkey, 0, 8, BSN_TPT_PD); /* the mkey is free */
}

static void each_level_has_its_rights(void **state)
{
	struct ibv_mr *read_only = made(ibv_reg_mr(lo.pd, b.memory, 4096, IBV_ACCESS_REMOTE_READ));
	const uint64_t plain = plain_at();

	must_cover(b.mkey[0], IBV_ACCESS_REMOTE_READ, b.mr->lkey, at(0));
	expect_remote(b.mkey[0]->rkey, 0, 8);
	assert_int_equal(read_from(b.mr->rkey, plain, b.mkey[0]->lkey, 0, 8), IBV_WC_LOC_PROT_ERR);
	assert_int_equal(b.vendor, BSN_VENDOR_TPT_DATA + BSN_TPT_RIGHTS);
	revive();
	/* The mkey has the right, but the memory beneath it has not. */
	must_cover(b.mkey[0], ACCESS, read_only->lkey, at(0));
	expect_remote(b.mkey[0]->rkey, 0, 8);
	assert_int_equal(read_from(b.mkey[0]->rkey, 0, b.mr->lkey, plain, 8), IBV_WC_SUCCESS);
	/* A peer's right comes from the outer key. */
	assert_int_equal(ibv_dereg_mr(read_only), 0);
	read_only = ibv_reg_mr(lo.pd, b.memory, 4096, IBV_ACCESS_LOCAL_WRITE);
	must_cover(b.mkey[0], ACCESS, read_only->lkey, at(0));
	must_write(b.mr->lkey, plain, b.mkey[0]->rkey, 0, 8);
	assert_int_equal(ibv_dereg_mr(read_only), 0);
}

static void another_domains_keys_do_not_open(void **state)
{
	struct ibv_pd *pd = ibv_alloc_pd(lo.ctx);
	struct ibv_mr *mr = ibv_reg_mr(pd, b.memory, 4096, ACCESS);
	struct mlx5dv_mkey *mkey = create_mkey(pd, 0);
	const struct ibv_sge sge = { at(0), 64, b.mr->lkey };

	must_cover(b.mkey[0], ACCESS, mr->lkey, at(0));
	expect_local(b.mkey[0]->lkey, 0, 8, BSN_TPT_PD);
	assert_int_equal(set_list(mkey, ACCESS, &sge, 1), IBV_WC_MW_BIND_ERR);
	assert_int_equal(b.vendor, BSN_VENDOR_TPT_FAST_REGISTER + BSN_TPT_PD);
	revive();
	assert_int_equal(mlx5dv_destroy_mkey(mkey), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	expect_local(b.mkey[0]->lkey, 0, 8, BSN_TPT_PD); /* beneath it nothing is left */
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

static void an_mkey_is_free_until_configured_and_after_its_invalidation(void **state)
{
	expect_local(b.mkey[0]->lkey, 0, 8, BSN_TPT_PD);
	must_cover(b.mkey[0], ACCESS, b.mr->lkey, at(0));
	must_write(b.mkey[0]->lkey, 0, b.mr->rkey, plain_at(), 8);
	assert_int_equal(invalidate(b.mkey[0]->lkey), IBV_WC_SUCCESS);
	expect_local(b.mkey[0]->lkey, 0, 8, BSN_TPT_PD);
	expect_remote(b.mkey[0]->rkey, 0, 8);
	must_cover(b.mkey[0], ACCESS, b.mr->lkey, at(0));
	must_write(b.mkey[0]->lkey, 0, b.mr->rkey, plain_at(), 8);
}

static void what_is_no_mkey_of_the_programs_is_not_changed(void **state)
{
	assert_int_equal(invalidate(b.mr->lkey), IBV_WC_MW_BIND_ERR);
	assert_int_equal(b.vendor, BSN_VENDOR_TPT_INVALIDATE + BSN_TPT_RIGHTS);
	revive();
	assert_int_equal(invalidate(0xffff00), IBV_WC_MW_BIND_ERR);
	assert_int_equal(b.vendor, BSN_VENDOR_TPT_INVALIDATE + BSN_TPT_PD);
	revive();
	must_write(b.mr->lkey, at(0), b.mr->rkey, plain_at(), 8);
}

static void keys_nest_as_deep_as_the_device_says(void **state)
{
	must_cover(b.mkey[0], ACCESS, b.mr->lkey, at(0));
	for (unsigned i = 1; i < LEVELS; i++)
		must_cover(b.mkey[i], ACCESS, b.mkey[i - 1]->lkey, 0);
	must_write(b.mkey[LEVELS - 2]->lkey, 0, b.mr->rkey, plain_at(), 64);
	assert_memory_equal(b.plain, b.memory, 64);
	expect_local(b.mkey[LEVELS - 1]->lkey, 0, 64, BSN_TPT_INTERNAL);
	/* A circle ends the same way. */
	must_cover(b.mkey[0], ACCESS, b.mkey[0]->lkey, 0);
	expect_local(b.mkey[0]->lkey, 0, 64, BSN_TPT_INTERNAL);
}

/* -- windows ----------------------------------------------------------------------------------- */

static enum ibv_wc_status bind_window(struct ibv_mw *mw, unsigned access, uint64_t addr,
				      uint64_t length)
{
	const uint32_t rkey = ibv_inc_rkey(mw->rkey);
	enum ibv_wc_status status;

	begin(0);
	ibv_wr_bind_mw(b.ex, mw, rkey, &(struct ibv_mw_bind_info){ b.mr, addr, length, access });
	status = finish();
	mw->rkey = status ? mw->rkey : rkey;
	return status;
}

static void a_window_opens_what_it_is_bound_to(void **state)
{
	struct ibv_mw *mw = made(ibv_alloc_mw(lo.pd, IBV_MW_TYPE_2));
	const uint64_t memory = at(0);
	uint32_t old;

	expect_remote(mw->rkey, memory, 8);
	assert_int_equal(bind_window(mw, IBV_ACCESS_REMOTE_WRITE, memory + 64, 64), IBV_WC_SUCCESS);
	must_write(b.mr->lkey, plain_at(), mw->rkey, memory + 64, 64);
	assert_memory_equal(b.memory + 64, b.plain, 64);
	expect_remote(mw->rkey, memory + 63, 8);
	expect_remote(mw->rkey, memory + 121, 8);
	assert_int_equal(read_from(mw->rkey, memory + 64, b.mr->lkey, plain_at(), 8),
			 IBV_WC_REM_ACCESS_ERR);
	revive();
	/* It must be unbound before it is bound again, and gets another key. */
	assert_int_equal(bind_window(mw, IBV_ACCESS_REMOTE_WRITE, memory, 8), IBV_WC_MW_BIND_ERR);
	assert_int_equal(b.vendor, BSN_VENDOR_TPT_FAST_REGISTER + BSN_TPT_RIGHTS);
	revive();
	old = mw->rkey;
	assert_int_equal(invalidate(mw->rkey), IBV_WC_SUCCESS);
	expect_remote(mw->rkey, memory + 64, 8);
	assert_int_equal(bind_window(mw, IBV_ACCESS_REMOTE_WRITE, memory, 8), IBV_WC_SUCCESS);
	expect_remote(old, memory, 8);
	must_write(b.mr->lkey, plain_at(), mw->rkey, memory, 8);
	old = mw->rkey;
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	expect_remote(old, memory, 8);
}

/* The region has to allow binding, as the specification says. */
static void a_window_is_bound_to_memory_that_allows_it(void **state)
{
	static const struct {
		int has;
		unsigned wants;
		enum ibv_wc_status status;
	} cases[] = {
		{ ACCESS, IBV_ACCESS_REMOTE_READ, IBV_WC_MW_BIND_ERR },
		{ IBV_ACCESS_MW_BIND, IBV_ACCESS_REMOTE_WRITE, IBV_WC_MW_BIND_ERR },
		{ IBV_ACCESS_MW_BIND, IBV_ACCESS_REMOTE_READ, IBV_WC_SUCCESS },
	};
	struct ibv_mr *whole = b.mr;

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct ibv_mw *mw = ibv_alloc_mw(lo.pd, IBV_MW_TYPE_2);
		b.mr = made(ibv_reg_mr(lo.pd, b.memory, 4096, cases[i].has));
		assert_int_equal(bind_window(mw, cases[i].wants, at(0), 64), cases[i].status);
		if (cases[i].status) {
			assert_int_equal(b.vendor, BSN_VENDOR_TPT_FAST_REGISTER + BSN_TPT_RIGHTS);
			revive();
		}
		assert_int_equal(ibv_dealloc_mw(mw), 0);
		assert_int_equal(ibv_dereg_mr(b.mr), 0);
	}
	b.mr = whole;
}

static void connect_pair(struct ibv_qp *other)
{
	struct ibv_qp *pair[2] = { b.qp, other };

	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(loopback_modify(pair[i], IBV_QPS_RESET, IBV_QP_STATE), 0);
		assert_int_equal(loopback_modify(pair[i], IBV_QPS_INIT, LOOPBACK_INIT_MASK), 0);
		assert_int_equal(loopback_modify_to(pair[i], pair[!i]->qp_num, IBV_QPS_RTR,
						    LOOPBACK_RTR_MASK),
				 0);
		assert_int_equal(loopback_modify(pair[i], IBV_QPS_RTS, LOOPBACK_RTS_MASK), 0);
	}
}

/*
 * A window of type 2 belongs to the queue pair on which it was bound; one of type 1 to its whole
 * domain.
 */
static void a_window_belongs_to_its_queue_pair(void **state)
{
	struct ibv_qp *other = create_qp();
	struct ibv_mw *two = ibv_alloc_mw(lo.pd, IBV_MW_TYPE_2);
	struct ibv_mw *one = ibv_alloc_mw(lo.pd, IBV_MW_TYPE_1);
	const uint64_t memory = at(0);
	struct ibv_mw_bind bind_one = {
		.wr_id = 1,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = { b.mr, memory, 64, IBV_ACCESS_REMOTE_WRITE },
	};

	assert_int_equal(bind_window(two, IBV_ACCESS_REMOTE_WRITE, memory, 64), IBV_WC_SUCCESS);
	assert_int_equal(ibv_bind_mw(b.qp, one, &bind_one), 0);
	assert_int_equal(reap(), IBV_WC_SUCCESS);
	must_write(b.mr->lkey, plain_at(), two->rkey, memory, 8);
	connect_pair(other);
	must_write(b.mr->lkey, plain_at(), one->rkey, memory, 8);
	assert_int_equal(write_to(b.mr->lkey, plain_at(), two->rkey, memory, 8),
			 IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dealloc_mw(one), 0);
	assert_int_equal(ibv_dealloc_mw(two), 0);
	assert_int_equal(ibv_destroy_qp(other), 0);
}

static void a_domain_with_windows_is_in_use(void **state)
{
	struct ibv_pd *pd = ibv_alloc_pd(lo.ctx);
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);

	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

#define TRACED(f) cmocka_unit_test_setup_teardown(f, set_up_traced, tear_down_traced)

UNIT_MAIN(NULL, TRACED(the_trace_says_why_a_key_refuses),
	  TRACED(signatures_and_encryption_are_refused_by_name),
	  TEST(using_an_mkey_without_a_fence_is_found),
	  TEST(using_an_mkey_elsewhere_before_its_umr_is_done_is_found),
	  TEST(beyond_the_mkey_there_is_nothing), TEST(a_klm_has_no_more_than_the_device_takes),
	  TEST(each_level_has_its_rights), TEST(another_domains_keys_do_not_open),
	  TEST(an_mkey_is_free_until_configured_and_after_its_invalidation),
	  TEST(what_is_no_mkey_of_the_programs_is_not_changed),
	  TEST(keys_nest_as_deep_as_the_device_says), TEST(a_window_opens_what_it_is_bound_to),
	  TEST(a_window_is_bound_to_memory_that_allows_it),
	  TEST(a_window_belongs_to_its_queue_pair), TEST(a_domain_with_windows_is_in_use))
