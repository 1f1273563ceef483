/* SPDX-License-Identifier: BSD-2-Clause */
/* The bench of the engine's tests. */
#include "engine.h" /* before cmocka.h, whose fail() is a macro */
#include "harness.h"

#include <sched.h>

#include "../device/real_device.h"
#include "../share.h"

enum {
	MAX_STEPS = 100000, /* of the model, in one wait: an endless retry ends there */
	QUIET_MS = 100,     /* how long to wait for what must not come, with a real device */
};

/* One case on one path. */
struct trial {
	const struct bench_case *test;
	enum bench_kind kind;
	char name[160];
};

struct bsn_sq *bench_sq(struct bsn_qp *qp)
{
	return qp->sq;
}

/* -- time -------------------------------------------------------------------------------------- */

/*
 * Lets the model do a step; returns whether it had anything to do. A real device works by itself:
 * true until the time is over.
 */
static bool works_on(struct bench *b, unsigned *steps, long until_ms)
{
	if (b->is_model)
		return ++*steps < MAX_STEPS &&
		       (softcx_step(0) || cx_next_deadline_ns(softcx_hca()));
	sched_yield();
	return now_ms() < until_ms;
}

int bench_reap(struct bench *b, struct bsn_cq *cq, struct bsn_completion *c, int n)
{
	const long until_ms = now_ms() + PATIENCE_MS;
	unsigned steps = 0;
	int got = 0;
	bool working;

	do {
		working = works_on(b, &steps, until_ms);
		const int count = bsn_poll(cq, c + got, n - got);
		if (count < 0)
			return got ? got : count;
		got += count;
	} while (got < n && working);
	return got;
}

struct bsn_completion bench_next(struct bench *b, struct bsn_cq *cq)
{
	struct bsn_completion c;

	assert_int_equal(bench_reap(b, cq, &c, 1), 1);
	return c;
}

int bench_reap_verbs(struct bench *b, struct ibv_cq *cq, struct ibv_wc *wc)
{
	const long until_ms = now_ms() + PATIENCE_MS;
	unsigned steps = 0;
	bool working;
	int got;

	do {
		working = works_on(b, &steps, until_ms);
		got = ibv_poll_cq(cq, 1, wc);
	} while (!got && working);
	return got;
}

unsigned bench_rounds(struct bench *b, unsigned n)
{
	return b->is_model ? (n + tests_share() - 1) / tests_share() : n / 20 + 1;
}

void bench_settle(struct bench *b)
{
	const long until_ms = now_ms() + QUIET_MS;
	unsigned steps = 0;

	while (works_on(b, &steps, until_ms))
		;
}

/* -- expectations ------------------------------------------------------------------------------ */

void bench_assert_ok(int result, const char *what, const char *file, int line)
{
	if (!result)
		return;
	print_error("%s: %s (%s)\n", what, strerror(-result), bsn_error_text());
	_assert_int_equal(0, result, file, line);
}

void bench_assert_fails(int result, int error, const char *word, const char *what, const char *file,
			int line)
{
	if (result == -error && strstr(bsn_error_text(), word))
		return;
	print_error("%s: %d, \"%s\", which does not say \"%s\"\n", what, result, bsn_error_text(),
		    word);
	_assert_int_equal(result, -error, file, line);
	_fail(file, line);
}

static bool says_otherwise(const struct bench *b, enum ibv_wc_status wanted,
			   enum ibv_wc_status said)
{
	for (size_t i = 0; b->is_rxe && i < 2; i++)
		if (said == b->test->rxe_says[i].said && wanted == b->test->rxe_says[i].wanted)
			return true;
	return false;
}

struct bsn_completion bench_expect(struct bench *b, struct bsn_cq *cq, uint64_t id, unsigned opcode,
				   enum ibv_wc_status status, const char *file, int line)
{
	struct bsn_completion c;

	memset(&c, 0xee, sizeof(c));
	_assert_int_equal(bench_reap(b, cq, &c, 1), 1, file, line);
	if (c.status != status && !says_otherwise(b, status, c.status)) {
		print_error("%s instead of %s\n", ibv_wc_status_str(c.status),
			    ibv_wc_status_str(status));
		_assert_int_equal(c.status, status, file, line);
	}
	_assert_int_equal(c.id, id, file, line);
	_assert_int_equal(c.opcode, opcode, file, line);
	return c;
}

void bench_expect_nothing(struct bench *b, struct bsn_cq *cq, const char *file, int line)
{
	struct bsn_completion c;

	bench_settle(b);
	_assert_int_equal(bsn_poll(cq, &c, 1), 0, file, line);
}

/* -- objects ----------------------------------------------------------------------------------- */

struct ibv_ah_attr bench_way_to_self(struct bench *b)
{
	const struct bsn_device_info *info = bench_info(b);
	struct ibv_ah_attr attr = { .port_num = info->port };

	if (strcmp(info->link_layer, "Ethernet")) {
		attr.dlid = info->lid;
		return attr;
	}
	attr.is_global = 1;
	attr.grh.sgid_index = info->gid_index;
	attr.grh.hop_limit = 64;
	memcpy(attr.grh.dgid.raw, info->gid, sizeof(attr.grh.dgid.raw));
	return attr;
}

uint8_t *bench_at(struct bench *b, int end, size_t offset)
{
	return (uint8_t *)(uintptr_t)b->mem[end]->addr + offset;
}

struct bsn_sge bench_sge(struct bench *b, int end, size_t offset, uint32_t length)
{
	return (struct bsn_sge){ b->mem[end]->addr + offset, length, b->mem[end]->lkey };
}

struct bsn_remote bench_remote(struct bench *b, int end, size_t offset)
{
	return (struct bsn_remote){ b->mem[end]->addr + offset, b->mem[end]->rkey };
}

uint64_t bench_result(const struct bench *b, bool has_sig_all, uint64_t value)
{
	const bool by_libmlx5 = b->kind == BENCH_VERBS || b->kind == BENCH_ATTACHED_VERBS;

	return has_sig_all && by_libmlx5 && !b->is_rxe ? bsn_to_be64(value).raw : value;
}

static void register_memory(struct bench *b, int end)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	void *memory = aligned_alloc(4096, BENCH_BYTES);

	assert_non_null(memory);
	memset(memory, 0, BENCH_BYTES);
	b->app.mr[end] = ibv_reg_mr(b->app.pd, memory, BENCH_BYTES, access);
	assert_non_null(b->app.mr[end]);
	b->app.mem[end] = (struct bsn_mr){ .addr = (uintptr_t)memory,
					   .length = BENCH_BYTES,
					   .lkey = b->app.mr[end]->lkey,
					   .rkey = b->app.mr[end]->rkey };
	b->mem[end] = &b->app.mem[end];
}

static void make_memory(struct bench *b)
{
	for (int end = 0; end < 2; end++) {
		if (bench_is_attached(b))
			register_memory(b, end);
		else
			ok(bsn_buf_alloc(b->device, BENCH_BYTES, NULL, &b->mem[end]));
	}
	for (size_t i = 0; i < BENCH_BYTES; i++)
		*bench_at(b, 0, i) = (uint8_t)(i * 7 + (i >> 8) + 1);
}

static uint32_t or_default(uint32_t value, uint32_t if_zero)
{
	return value ? value : if_zero;
}

static enum ibv_qp_type verbs_type(enum bsn_qp_type type)
{
	return type == BSN_QP_RC ? IBV_QPT_RC : type == BSN_QP_UC ? IBV_QPT_UC : IBV_QPT_UD;
}

/* Makes the QP as an application does that then attaches it to Bunsen. */
static void attach_qp(struct bench *b, int end, const struct bsn_qp_attr *attr)
{
	struct ibv_qp_init_attr init = {
		.send_cq = b->app.cq[end],
		.recv_cq = b->app.cq[end],
		.cap = { .max_send_wr = attr->send_depth,
			 .max_recv_wr = attr->recv_depth,
			 .max_send_sge = or_default(attr->max_send_sge, 1),
			 .max_recv_sge = or_default(attr->max_recv_sge, 1),
			 .max_inline_data = or_default(attr->max_inline, 28) },
		.qp_type = verbs_type(attr->type),
		.sq_sig_all = attr->signal_all,
	};
	const struct bsn_attach_attr attach = { .register_is_ours =
							b->kind == BENCH_ATTACHED_DIRECT,
						.signal_all = attr->signal_all,
						.user = attr->user };

	b->app.qp[end] = ibv_create_qp(b->app.pd, &init);
	assert_non_null(b->app.qp[end]);
	ok(bsn_qp_attach(b->device, b->app.qp[end], &attach, &b->qp[end]));
	b->cq[end] = bsn_qp_info(b->qp[end])->cq;
}

void bench_make_qp(struct bench *b, int end)
{
	struct bsn_qp_attr attr = b->test->qp;

	attr.cq = b->cq[end];
	attr.srq = b->srq;
	attr.send_depth = or_default(attr.send_depth, BENCH_DEPTH);
	attr.recv_depth = or_default(attr.recv_depth, BENCH_DEPTH);
	attr.user = &b->qp[end];
	if (bench_is_attached(b))
		attach_qp(b, end, &attr);
	else
		ok(bsn_qp_create(b->device, &attr, &b->qp[end]));
	if (b->test->qp.type != BSN_QP_UD) /* else bench_connect() makes one */
		b->ep[end] = bsn_qp_ep(b->qp[end]);
	b->sq[end] = bench_sq(b->qp[end]);
	b->rq[end] = bsn_qp_rq(b->qp[end]);
}

static void make_cq(struct bench *b, int end)
{
	const struct bsn_cq_attr attr = { .entries = b->test->cq_entries, .channel = b->channel };

	if (!bench_is_attached(b)) {
		ok(bsn_cq_create(b->device, &attr, &b->cq[end]));
		return;
	}
	b->app.cq[end] = ibv_create_cq(bench_info(b)->verbs, 1023, NULL, NULL, 0);
	assert_non_null(b->app.cq[end]);
}

static void make_queues(struct bench *b)
{
	const struct bsn_srq_attr srq = { .recv_depth = BENCH_DEPTH,
					  .max_recv_sge = b->test->qp.max_recv_sge,
					  .user = &b->srq };

	if (b->test->has_srq)
		ok(bsn_srq_create(b->device, &srq, &b->srq));
	for (int end = 0; end < 2; end++) {
		make_cq(b, end);
		bench_make_qp(b, end);
	}
}

void bench_connect(struct bench *b)
{
	const bool ud = b->test->qp.type == BSN_QP_UD;
	struct bsn_address address[2];

	for (int end = 0; end < 2; end++)
		ok(bsn_qp_address(b->qp[end], &address[end]));
	for (int end = 0; end < 2; end++)
		ok(bsn_qp_connect(b->qp[end], ud ? NULL : &address[!end], &b->test->connect));
	for (int end = 0; ud && end < 2; end++)
		if (!b->ep[end])
			ok(bsn_ep_create(b->qp[end], &address[!end], &b->test->connect, &b->ep[end],
					 &b->ep[end]));
}

void bench_reset(struct bench *b)
{
	for (int end = 0; end < 2; end++)
		ok(bsn_qp_reset(b->qp[end]));
}

void bench_start_again(struct bench *b)
{
	bench_reset(b);
	bench_connect(b);
}

void bench_join(struct bsn_qp *one, struct bsn_qp *other)
{
	struct bsn_address address[2];

	ok(bsn_qp_address(one, &address[0]));
	ok(bsn_qp_address(other, &address[1]));
	ok(bsn_qp_connect(one, &address[1], NULL));
	if (other != one)
		ok(bsn_qp_connect(other, &address[0], NULL));
}

struct bsn_outstanding bench_outstanding(struct bench *b, int end)
{
	struct bsn_outstanding outstanding;

	ok(bsn_qp_outstanding(b->qp[end], &outstanding));
	return outstanding;
}

struct bsn_qp_error bench_error(struct bench *b, int end)
{
	struct bsn_qp_error error;

	ok(bsn_qp_error(b->qp[end], &error));
	return error;
}

/* -- one trial --------------------------------------------------------------------------------- */

static void start_model(const struct bench_case *test)
{
	struct cx_config config = {
		.generation = CX_GEN_CX6,
		.link = test->link,
		.fault_plan = test->fault_plan,
		.no_atomics = test->no_atomics,
		.big_endian_atomics = test->big_endian_atomics,
		.no_stride_index = test->no_stride_index,
		.no_errored_streams = test->no_errored_streams,
		.lag = test->lag,
		.no_devx = test->no_devx,
		.trace_path = getenv("BSN_TEST_TRACE"),
		.passive = !test->is_active,
		.private_fabric = true,
	};

	assert_int_equal(softcx_start(&config), 0);
}

static enum bsn_path path_of(enum bench_kind kind)
{
	return kind == BENCH_VERBS ? BSN_PATH_VERBS : BSN_PATH_DIRECT;
}

static bool is_rxe(struct bsn_device *device)
{
	enum { RXE_VENDOR_ID = 0xffffff }; /* drivers/infiniband/sw/rxe/rxe_param.h */
	struct ibv_device_attr attr;

	assert_int_equal(ibv_query_device(bsn_device_info(device)->verbs, &attr), 0);
	return attr.vendor_id == RXE_VENDOR_ID;
}

static void open_device(struct bench *b)
{
	const struct bsn_device_attr attr = { .path = path_of(b->kind), .store = BSN_STORE_8 };
	const char *name = b->is_model ? "mlx5_0" : real_device();

	if (b->is_model)
		start_model(b->test);
	ok(bsn_device_open(name, &attr, &b->device));
	b->is_rxe = is_rxe(b->device);
	assert_int_equal(bench_info(b)->path, attr.path);
	if (!bench_is_attached(b))
		return;
	b->app.pd = ibv_alloc_pd(bench_info(b)->verbs);
	assert_non_null(b->app.pd);
}

static int set_up(void **state)
{
	const struct trial *trial = *state;
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	b->test = trial->test;
	b->kind = trial->kind;
	b->is_model = !real_device();
	open_device(b);
	make_memory(b);
	if (b->test->has_channel)
		ok(bsn_channel_create(b->device, &b->channel));
	if (!b->test->is_bare)
		make_queues(b);
	if (!b->test->is_bare && !b->test->stays_idle)
		bench_connect(b);
	*state = b;
	return 0;
}

static void free_queues(struct bench *b)
{
	for (int end = 0; end < 2; end++) {
		if (b->test->qp.type == BSN_QP_UD)
			ok(bsn_ep_destroy(b->ep[end]));
		ok(bsn_qp_destroy(b->qp[end]));
		if (!bench_is_attached(b))
			ok(bsn_cq_destroy(b->cq[end]));
		if (b->app.qp[end])
			ok(-ibv_destroy_qp(b->app.qp[end]));
		if (b->app.cq[end])
			ok(-ibv_destroy_cq(b->app.cq[end]));
	}
	ok(bsn_srq_destroy(b->srq));
}

static void free_memory(struct bench *b)
{
	for (int end = 0; end < 2; end++) {
		if (!bench_is_attached(b)) {
			ok(bsn_buf_free(b->mem[end]));
			continue;
		}
		ok(-ibv_dereg_mr(b->app.mr[end]));
		free((void *)(uintptr_t)b->mem[end]->addr);
	}
	if (b->app.pd)
		ok(-ibv_dealloc_pd(b->app.pd));
}

/*
 * Destroys everything. Nothing that the case made may be left, and the model must have no findings.
 */
static int tear_down(void **state)
{
	struct bench *b = *state;

	bench_undo_all(b);
	free_queues(b);
	ok(bsn_channel_destroy(b->channel));
	free_memory(b);
	ok(bsn_device_close(b->device));
	if (b->is_model) {
		assert_int_equal(cx_lint_count(softcx_hca()), 0);
		assert_int_equal(softcx_stop(), 0);
	}
	free(b);
	return 0;
}

static void run_trial(void **state)
{
	struct bench *b = *state;

	if (b->is_rxe && b->test->rxe_lacks) {
		print_message("left out: %s\n", b->test->rxe_lacks);
		skip();
	}
	b->test->run(b);
}

/* Cases that only the model can serve are left out on a real device, as is a path that it lacks. */
static bool device_has_direct_path(void)
{
	const struct bsn_device_attr attr = { .path = BSN_PATH_DIRECT };
	struct bsn_device *device;

	if (!real_device())
		return true;
	if (bsn_device_open(real_device(), &attr, &device))
		return false;
	bsn_device_close(device);
	return true;
}

static bool can_run(const struct bench_case *test, enum bench_kind kind, bool has_direct_path)
{
	const bool attached = kind == BENCH_ATTACHED_DIRECT || kind == BENCH_ATTACHED_VERBS;

	if (path_of(kind) == BSN_PATH_DIRECT && !has_direct_path)
		return false;
	if (test->is_model_only && real_device())
		return false;
	if (test->is_direct_only && (kind == BENCH_VERBS || kind == BENCH_ATTACHED_VERBS))
		return false;
	if (test->is_verbs_only && kind != BENCH_VERBS && kind != BENCH_ATTACHED_VERBS)
		return false;
	/* With attached QPs, a channel or an SRQ would be the application's, too. */
	return !attached ||
	       !(test->is_own_only || test->is_bare || test->has_channel || test->has_srq);
}

int bench_run(const char *subject, const struct bench_case *cases, size_t count)
{
	static const char *const kinds[BENCH_KINDS] = { "direct", "verbs", "attached, direct",
							"attached, verbs" };
	struct trial *trials = calloc(BENCH_KINDS * count, sizeof(*trials));
	struct CMUnitTest *tests = calloc(BENCH_KINDS * count, sizeof(*tests));
	const bool has_direct_path = device_has_direct_path();
	size_t used = 0;

	/* Otherwise libibverbs keeps the objects of a dead device. */
	setenv("RDMAV_ALLOW_DISASSOC_DESTROY", "1", 1);
	for (size_t i = 0; trials && tests && i < BENCH_KINDS * count; i++) {
		struct trial *trial = &trials[used];
		*trial = (struct trial){ .test = &cases[i / BENCH_KINDS], .kind = i % BENCH_KINDS };
		if (!can_run(trial->test, trial->kind, has_direct_path))
			continue;
		snprintf(trial->name, sizeof(trial->name), "%s, %s", trial->test->name,
			 kinds[trial->kind]);
		tests[used++] = (struct CMUnitTest){ .name = trial->name,
						     .test_func = run_trial,
						     .setup_func = set_up,
						     .teardown_func = tear_down,
						     .initial_state = trial };
	}
	int failed = _cmocka_run_group_tests(subject, tests, used, NULL, NULL);
	free(tests);
	free(trials);
	return failed;
}
