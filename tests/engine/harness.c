/* SPDX-License-Identifier: BSD-2-Clause */
/* The bench of the engine's tests. */
#include "harness.h"

#include <sched.h>
#include <stdio.h>
#include <time.h>

enum {
	MAX_STEPS = 100000, /* of the model, in one wait: a retry for ever ends there */
	PATIENCE_MS = 3000, /* with a real device, for what must come */
	QUIET_MS = 100,     /* and for what must not */
};

/* One case on one path. */
struct trial {
	const struct bench_case *test;
	enum bsn_path path;
	char name[160];
};

static const char *real_device(void)
{
	const char *name = getenv("BSN_TEST_DEVICE");

	return name && *name ? name : NULL;
}

/* -- time --------------------------------------------------------------------------------------- */

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Whether the model had anything to do; a real device works by itself, for as long as we care. */
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

void bench_settle(struct bench *b)
{
	const long until_ms = now_ms() + QUIET_MS;
	unsigned steps = 0;

	while (works_on(b, &steps, until_ms))
		;
}

/* -- expectations ------------------------------------------------------------------------------- */

void bench_assert_ok(int result, const char *what, const char *file, int line)
{
	if (!result)
		return;
	print_error("%s: %s (%s)\n", what, strerror(-result), bsn_error_text());
	_assert_int_equal(0, result, file, line);
}

struct bsn_completion bench_expect(struct bench *b, struct bsn_cq *cq, uint64_t id, unsigned opcode,
				   enum ibv_wc_status status, const char *file, int line)
{
	struct bsn_completion c;

	memset(&c, 0xee, sizeof(c));
	_assert_int_equal(bench_reap(b, cq, &c, 1), 1, file, line);
	if (c.status != status)
		print_error("%s instead of %s\n", ibv_wc_status_str(c.status),
			    ibv_wc_status_str(status));
	_assert_int_equal(c.status, status, file, line);
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

/* -- objects ------------------------------------------------------------------------------------ */

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

static void make_memory(struct bench *b)
{
	for (int end = 0; end < 2; end++)
		ok(bsn_buf_alloc(b->device, BENCH_BYTES, NULL, &b->mem[end]));
	for (size_t i = 0; i < BENCH_BYTES; i++)
		*bench_at(b, 0, i) = (uint8_t)(i * 7 + (i >> 8) + 1);
}

void bench_make_qp(struct bench *b, int end)
{
	struct bsn_qp_attr attr = b->test->qp;

	attr.cq = b->cq[end];
	attr.srq = b->srq;
	attr.send_depth = attr.send_depth ? attr.send_depth : BENCH_DEPTH;
	attr.recv_depth = attr.recv_depth ? attr.recv_depth : BENCH_DEPTH;
	if (!attr.user)
		attr.user = &b->qp[end];
	ok(bsn_qp_create(b->device, &attr, &b->qp[end]));
	b->ep[end] = bsn_qp_ep(b->qp[end]);
	b->sq[end] = bsn_qp_sq(b->qp[end]);
	b->rq[end] = bsn_qp_rq(b->qp[end]);
}

static void make_queues(struct bench *b)
{
	const struct bsn_cq_attr attr = { .entries = b->test->cq_entries, .channel = b->channel };
	const struct bsn_srq_attr srq = { .recv_depth = BENCH_DEPTH,
					  .max_recv_sge = b->test->qp.max_recv_sge,
					  .user = &b->srq };

	if (b->test->has_srq)
		ok(bsn_srq_create(b->device, &srq, &b->srq));
	for (int end = 0; end < 2; end++) {
		ok(bsn_cq_create(b->device, &attr, &b->cq[end]));
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

/* -- one trial ---------------------------------------------------------------------------------- */

static void start_model(const struct bench_case *test)
{
	struct cx_config config = {
		.generation = CX_GEN_CX6,
		.link = test->link,
		.fault_plan = test->fault_plan,
		.trace_path = getenv("BSN_TEST_TRACE"),
		.passive = true,
		.private_fabric = true,
	};

	assert_int_equal(softcx_start(&config), 0);
}

static int set_up(void **state)
{
	const struct trial *trial = *state;
	const struct bsn_device_attr attr = { .path = trial->path };
	struct bench *b = calloc(1, sizeof(*b));
	const struct bench_case *test = trial->test;

	assert_non_null(b);
	b->test = test;
	b->path = trial->path;
	b->is_model = !real_device();
	if (b->is_model)
		start_model(test);
	ok(bsn_device_open(real_device() ? real_device() : "mlx5_0", &attr, &b->device));
	assert_int_equal(bsn_device_info(b->device)->path, trial->path);
	make_memory(b);
	if (test->has_channel)
		ok(bsn_channel_create(b->device, &b->channel));
	if (!test->is_bare)
		make_queues(b);
	if (!test->is_bare && !test->stays_idle)
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
		ok(bsn_cq_destroy(b->cq[end]));
	}
	ok(bsn_srq_destroy(b->srq));
}

/* Everything goes, so nothing that the case made may be left; and the model found no fault with us. */
static int tear_down(void **state)
{
	struct bench *b = *state;

	free_queues(b);
	ok(bsn_channel_destroy(b->channel));
	for (int end = 0; end < 2; end++)
		ok(bsn_buf_free(b->mem[end]));
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

int bench_run(const char *subject, const struct bench_case *cases, size_t count)
{
	struct trial *trials = calloc(2 * count, sizeof(*trials));
	struct CMUnitTest *tests = calloc(2 * count, sizeof(*tests));
	const bool direct = device_has_direct_path();
	size_t used = 0;
	int failed;

	for (size_t i = 0; trials && tests && i < 2 * count; i++) {
		struct trial *trial = &trials[used];
		const bool verbs = i % 2;
		trial->test = &cases[i / 2];
		trial->path = verbs ? BSN_PATH_VERBS : BSN_PATH_DIRECT;
		if ((!verbs && !direct) || (trial->test->is_model_only && real_device()))
			continue;
		snprintf(trial->name, sizeof(trial->name), "%s, %s", trial->test->name,
			 verbs ? "verbs" : "direct");
		tests[used++] = (struct CMUnitTest){ .name = trial->name,
						     .test_func = run_trial,
						     .setup_func = set_up,
						     .teardown_func = tear_down,
						     .initial_state = trial };
	}
	failed = _cmocka_run_group_tests(subject, tests, used, NULL, NULL);
	free(tests);
	free(trials);
	return failed;
}
