/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory runs out at each place where it can. Every call of the control path that creates something
 * is tried with its first step failing, then its second, until it succeeds. Each time it says
 * -ENOMEM, leaves its out parameter alone, and leaves nothing half-made.
 */
#include "dc/pool.h" /* before cmocka.h, which has a macro fail() */
#include "harness.h"
#include "bsn_dc.h"
#include "bsn_mkey.h"

bool turns_fail(void);
void *turns_made(void *object);
void turns_unmade(const void *object);

static unsigned turn, failing_turn; /* counted from 1; 0: none fails */
static bool has_failed;
static long alive;

bool turns_fail(void)
{
	if (!failing_turn || ++turn != failing_turn)
		return false;
	has_failed = true;
	errno = ENOMEM;
	return true;
}

void *turns_made(void *object)
{
	alive += object != NULL;
	return object;
}

void turns_unmade(const void *object)
{
	alive -= object != NULL;
}

/* -- trying ------------------------------------------------------------------------------------ */

#define UNTOUCHED ((void *)0x55)

/* What a try works with; @result is the out parameter of the call. */
struct attempt {
	struct bench *b;
	unsigned failing_turn;
	void *result;
};

/* Only the call itself may fail, not what prepares it, nor what undoes it. */
#define TRY(a, call)                                                                               \
	__extension__({                                                                            \
		(a)->result = UNTOUCHED;                                                           \
		turn = 0;                                                                          \
		failing_turn = (a)->failing_turn;                                                  \
		const int result_ = (call);                                                        \
		failing_turn = 0;                                                                  \
		result_;                                                                           \
	})

/* Tries until no step fails any more. A call may also succeed without what it did not get. */
static void try_each_turn(struct bench *b, int (*try)(struct attempt *a), unsigned at_least)
{
	unsigned n = 0;

	do {
		struct attempt a = { .b = b, .failing_turn = ++n };
		const long before = alive;
		has_failed = false;
		const int err = try(&a);
		assert_int_equal(alive, before);
		if (err) {
			assert_int_equal(err, -ENOMEM);
			assert_true(has_failed);
			assert_ptr_equal(a.result, UNTOUCHED);
			assert_true(strlen(bsn_error_text()) > 0);
		} else {
			assert_ptr_not_equal(a.result, UNTOUCHED);
		}
	} while (has_failed);
	assert_true(n > at_least);
}

#define OUT(a, type) ((struct type **)(void *)&(a)->result)

/* -- devices ----------------------------------------------------------------------------------- */

#define DEFINE_TRY(name, type, create, destroy)                                                    \
	static int try_##name(struct attempt *a)                                                   \
	{                                                                                          \
		const int err = TRY(a, create);                                                    \
		if (!err)                                                                          \
			ok(destroy(a->result));                                                    \
		return err;                                                                        \
	}

DEFINE_TRY(open, bsn_device,
	   bsn_device_open("mlx5_0", &(struct bsn_device_attr){ .path = bench_info(a->b)->path },
			   OUT(a, bsn_device)),
	   bsn_device_close)
DEFINE_TRY(device_attach, bsn_device,
	   bsn_device_attach(bench_info(a->b)->verbs, NULL, OUT(a, bsn_device)), bsn_device_close)

static void devices(struct bench *b)
{
	try_each_turn(b, try_open, 6);
	try_each_turn(b, try_device_attach, 4);
}

#define TRY_OF(name, call)                                                                         \
	static int name(struct attempt *a)                                                         \
	{                                                                                          \
		return call;                                                                       \
	}

/* -- small objects ----------------------------------------------------------------------------- */

DEFINE_TRY(pd, bsn_pd, bsn_pd_create(a->b->device, OUT(a, bsn_pd)), bsn_pd_destroy)
DEFINE_TRY(lane, bsn_lane, bsn_lane_create(a->b->device, NULL, OUT(a, bsn_lane)), bsn_lane_destroy)
DEFINE_TRY(channel, bsn_channel, bsn_channel_create(a->b->device, OUT(a, bsn_channel)),
	   bsn_channel_destroy)
DEFINE_TRY(buf, bsn_mr, bsn_buf_alloc(a->b->device, 100, NULL, OUT(a, bsn_mr)), bsn_buf_free)
DEFINE_TRY(mr, bsn_mr,
	   bsn_mr_register(a->b->device, bench_at(a->b, 0, 0), 64, NULL, OUT(a, bsn_mr)),
	   bsn_mr_deregister)
DEFINE_TRY(cq, bsn_cq, bsn_cq_create(a->b->device, NULL, OUT(a, bsn_cq)), bsn_cq_destroy)
DEFINE_TRY(srq, bsn_rq, bsn_srq_create(a->b->device, NULL, OUT(a, bsn_rq)), bsn_srq_destroy)

static void small_objects(struct bench *b)
{
	try_each_turn(b, try_pd, 2);
	try_each_turn(b, try_lane, 1);
	try_each_turn(b, try_channel, 2);
	try_each_turn(b, try_buf, 3);
	try_each_turn(b, try_mr, 2);
	try_each_turn(b, try_cq, 2);
	try_each_turn(b, try_srq, 3);
}

/* -- mkeys and windows ------------------------------------------------------------------------- */

DEFINE_TRY(pool, bsn_mkey_pool,
	   bsn_mkey_pool_create(a->b->device, &(struct bsn_mkey_pool_attr){ .count = 3 },
				OUT(a, bsn_mkey_pool)),
	   bsn_mkey_pool_destroy)

static int try_layout(struct attempt *a)
{
	const struct bsn_part part = { bench_sge(a->b, 0, 0, 1).addr, 1, 0, a->b->mem[0]->lkey, 0 };
	const struct bsn_layout_attr attr = { .parts = &part, .part_count = 1 };
	struct bsn_mkey_pool *pool;

	ok(bsn_mkey_pool_create(a->b->device, NULL, &pool));
	int err = TRY(a, bsn_layout_create(pool, &attr, OUT(a, bsn_layout)));
	if (!err)
		ok(bsn_layout_destroy(a->result));
	ok(bsn_mkey_pool_destroy(pool));
	return err;
}

DEFINE_TRY(window, bsn_window, bsn_window_create(a->b->device, NULL, OUT(a, bsn_window)),
	   bsn_window_destroy)

static void mkeys(struct bench *b)
{
	const bool is_direct = bench_info(b)->path == BSN_PATH_DIRECT;

	try_each_turn(b, try_pool, is_direct ? 10 : 3);
	try_each_turn(b, try_layout, 1);
	if (is_direct)
		try_each_turn(b, try_window, 2);
}

/* -- queue pairs ------------------------------------------------------------------------------- */

/* On CQs of its own, since what they know of queues grows with the first. */
static int try_qp_of(struct attempt *a, enum bsn_qp_type type, bool with_srq)
{
	struct bsn_qp_attr attr = { .type = type };

	ok(bsn_cq_create(a->b->device, NULL, &attr.cq));
	ok(bsn_cq_create(a->b->device, NULL, &attr.recv_cq));
	if (with_srq)
		ok(bsn_srq_create(a->b->device, NULL, &attr.srq));
	int err = TRY(a, bsn_qp_create(a->b->device, &attr, OUT(a, bsn_qp)));
	if (!err)
		ok(bsn_qp_destroy(a->result));
	ok(bsn_srq_destroy(attr.srq));
	ok(bsn_cq_destroy(attr.cq));
	ok(bsn_cq_destroy(attr.recv_cq));
	return err;
}

TRY_OF(try_rc, try_qp_of(a, BSN_QP_RC, false))
TRY_OF(try_rc_with_srq, try_qp_of(a, BSN_QP_RC, true))
TRY_OF(try_ud, try_qp_of(a, BSN_QP_UD, false))

/* Attaches an application's QP. The application gets it back, whether or not attaching succeeds. */
static int try_attach(struct attempt *a)
{
	struct ibv_context *context = bsn_device_info(a->b->device)->verbs;
	const struct bsn_attach_attr attr = { .register_is_ours = true };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 8, 8, 1, 1, 0 } };
	struct ibv_pd *pd = ibv_alloc_pd(context);

	init.send_cq = ibv_create_cq(context, 15, NULL, NULL, 0);
	init.recv_cq = ibv_create_cq(context, 15, NULL, NULL, 0);
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	assert_non_null(qp);
	int err = TRY(a, bsn_qp_attach(a->b->device, qp, &attr, OUT(a, bsn_qp)));
	if (!err) {
		struct bsn_cq *send_cq = bsn_qp_info(a->result)->cq,
			      *recv_cq = bsn_qp_info(a->result)->recv_cq;
		ok(bsn_qp_destroy(a->result));
		ok(bsn_cq_destroy(send_cq)); /* what is kept for QPs that come later */
		ok(bsn_cq_destroy(recv_cq));
	}
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(init.send_cq), 0);
	assert_int_equal(ibv_destroy_cq(init.recv_cq), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	return err;
}

static void queue_pairs(struct bench *b)
{
	try_each_turn(b, try_rc, 5);
	try_each_turn(b, try_rc_with_srq, 4);
	try_each_turn(b, try_ud, 5);
	try_each_turn(b, try_attach, 7);
}

/* -- endpoints --------------------------------------------------------------------------------- */

static int try_ep(struct attempt *a)
{
	struct bsn_address peer;

	ok(bsn_qp_address(a->b->qp[1], &peer));
	int err = TRY(a, bsn_ep_create(a->b->qp[0], &peer, NULL, NULL, OUT(a, bsn_ep)));
	if (!err)
		ok(bsn_ep_destroy(a->result));
	return err;
}

static void endpoints(struct bench *b)
{
	try_each_turn(b, try_ep, 2);
}

/* -- dynamically connected transport ----------------------------------------------------------- */

static int try_dct_of(struct attempt *a, bool has_full_handshake)
{
	struct bsn_dct_attr attr = { .full_handshake = has_full_handshake };
	struct bsn_cq *cq;
	struct bsn_rq *srq;

	ok(bsn_cq_create(a->b->device, NULL, &cq));
	ok(bsn_srq_create(a->b->device, &(struct bsn_srq_attr){ .recv_depth = 4 }, &srq));
	attr.cq = cq;
	attr.srq = srq;
	int err = TRY(a, bsn_dct_create(a->b->device, &attr, OUT(a, bsn_dct)));
	if (!err)
		ok(bsn_dct_destroy(a->result));
	ok(bsn_srq_destroy(srq));
	ok(bsn_cq_destroy(cq));
	return err;
}

TRY_OF(try_dct, try_dct_of(a, false))
TRY_OF(try_full_dct, try_dct_of(a, true))

static int make_dc_pool(struct attempt *a, bool has_full_handshake)
{
	return bsn_dc_pool_create(
		a->b->device,
		&(struct bsn_dc_pool_attr){
			.initiators = 2, .max_reads = 1, .full_handshake = has_full_handshake },
		OUT(a, bsn_dc_pool));
}

DEFINE_TRY(dc_pool, bsn_dc_pool, make_dc_pool(a, false), bsn_dc_pool_destroy)
DEFINE_TRY(full_dc_pool, bsn_dc_pool, make_dc_pool(a, true), bsn_dc_pool_destroy)

static void dynamically_connected_transport(struct bench *b)
{
	const bool is_direct = bench_info(b)->path == BSN_PATH_DIRECT;

	try_each_turn(b, try_dct, 2);
	try_each_turn(b, try_dc_pool, 10);
	if (!is_direct)
		return;
	try_each_turn(b, try_full_dct, 3);
	try_each_turn(b, try_full_dc_pool, 30);
}

/* The step that fails, and without which it is made all the same. */
static struct bsn_dc_pool *make_without_a_register(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .initiators = 2, .full_handshake = true };
	struct bsn_dc_pool *pool;
	int err;

	for (unsigned n = 1;; n++) {
		struct attempt a = { .b = b, .failing_turn = n };
		has_failed = false;
		err = TRY(&a, bsn_dc_pool_create(b->device, &attr, &pool));
		assert_true(has_failed);
		if (!err && pool->uar.is_shared)
			return pool;
		if (!err)
			ok(bsn_dc_pool_destroy(pool));
	}
}

static void write_by(struct bench *b, struct bsn_dc_pool *pool, const struct bsn_address *address)
{
	struct bsn_completion c;
	struct bsn_ep *ep;

	ok(bsn_dc_peer_create(pool, address, NULL, NULL, &ep));
	ok(bsn_write(ep, SGE(b, 0, 0, 64), REMOTE(b, 1, 0), 1, NOW));
	bench_settle(b);
	assert_int_equal(bsn_poll(bsn_dc_pool_cq(pool), &c, 1), 1);
	assert_int_equal(c.status, IBV_WC_SUCCESS);
	ok(bsn_dc_peer_destroy(ep));
}

/* Such pools have one register, and so one lane, whose lock each of their threads takes. */
static void pools_do_without_a_register(struct bench *b)
{
	struct bsn_dc_pool *pools[2] = { make_without_a_register(b), make_without_a_register(b) };
	const struct lane_object *lane = pools[0]->initiators[0].qp->lane;
	struct bsn_dct_attr attr = { .full_handshake = true };
	struct bsn_address address;
	struct bsn_dct *dct;

	assert_non_null(lane->dv.lock);
	assert_int_equal(lane->dv.blueflame_bytes, 0);
	assert_ptr_equal(pools[1]->initiators[1].qp->lane, lane);
	attr.cq = bench_cq(b, NULL);
	attr.srq = new_srq(b, .recv_depth = 4);
	ok(bsn_dct_create(b->device, &attr, &dct));
	ok(bsn_dct_address(dct, &address));
	write_by(b, pools[0], &address);
	write_by(b, pools[1], &address);
	ok(bsn_dc_pool_destroy(pools[0]));
	write_by(b, pools[1], &address);
	ok(bsn_dc_pool_destroy(pools[1]));
	ok(bsn_dct_destroy(dct));
}

/* -- lanes without a register of their own ----------------------------------------------------- */

static void count_message(void *count, const char *text)
{
	assert_true(strlen(text) > 0);
	(*(unsigned *)count)++;
}

/* Not a failure: the lane shares one, under a lock, and says so. */
static void a_lane_does_without_a_register(struct bench *b)
{
	unsigned messages = 0;
	const struct bsn_device_attr attr = { .log = count_message,
					      .log_arg = &messages,
					      .path = BSN_PATH_DIRECT };
	struct attempt a = { .b = b, .failing_turn = 2 };
	struct bsn_device *device;
	struct bsn_lane *lane;

	ok(bsn_device_open("mlx5_0", &attr, &device));
	messages = 0;
	ok(TRY(&a, bsn_lane_create(device, NULL, &lane)));
	assert_int_equal(messages, 1);
	assert_non_null(dv_lane(lane)->lock);
	ok(bsn_lane_destroy(lane));
	ok(bsn_device_close(device));
}

static const struct bench_case cases[] = {
	{ CASE(devices), BARE, MODEL },
	{ CASE(small_objects), BARE },
	{ CASE(mkeys), BARE, MODEL },
	{ CASE(queue_pairs), BARE },
	{ CASE(endpoints), .qp.type = BSN_QP_UD, OWN },
	{ CASE(dynamically_connected_transport), BARE, OWN, MODEL },
	{ CASE(pools_do_without_a_register), BARE, OWN, DIRECT, MODEL },
	{ CASE(a_lane_does_without_a_register), BARE, MODEL },
};

BENCH_MAIN("bad_input_memory")
