/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A device vanishes, and the process did not ask libibverbs to destroy the objects of such devices
 * (RDMAV_ALLOW_DISASSOC_DESTROY, which libibverbs reads once). Posts and polls end, and everything
 * can be destroyed all the same. The test runs in a child, since libibverbs keeps what it refused
 * to destroy.
 */
#include "harness.h"
#include "bsn_dc.h"

#include <sys/wait.h>
#include <unistd.h>

struct set {
	struct bsn_device *device;
	struct bsn_pd *pd;
	struct bsn_lane *lane;
	struct bsn_channel *channel;
	struct bsn_cq *cq;
	struct bsn_rq *srq;
	struct bsn_qp *qp, *ud;
	struct bsn_ep *ep;
	struct bsn_mr *mr;
	struct bsn_dct *dct; /* by commands, on the direct path */
	struct bsn_dc_pool *pool;
};

/* For the child, where a failed assertion of cmocka would go on with the parent's tests. */
#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			print_error("%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition,            \
				    bsn_error_text());                                             \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

static void make_dc(struct set *s)
{
	const struct bsn_dct_attr dct = {
		.cq = s->cq, .srq = s->srq, .pd = s->pd, .full_handshake = true
	};
	const struct bsn_dc_pool_attr pool = { .initiators = 2,
					       .pd = s->pd,
					       .full_handshake = true };

	MUST(!bsn_dct_create(s->device, &dct, &s->dct));
	MUST(!bsn_dc_pool_create(s->device, &pool, &s->pool));
}

static void make_all(struct set *s, enum bsn_path path)
{
	struct bsn_cq_attr cq = { .entries = 1024 };
	struct bsn_qp_attr rc = { .type = BSN_QP_RC }, ud = { .type = BSN_QP_UD };
	struct bsn_srq_attr srq = { 0 };
	struct bsn_mr_attr mr = { 0 };
	struct bsn_address address;

	MUST(!bsn_device_open("mlx5_0", &(struct bsn_device_attr){ .path = path }, &s->device));
	MUST(!bsn_pd_create(s->device, &s->pd));
	mr.pd = srq.pd = rc.pd = ud.pd = s->pd;
	MUST(!bsn_buf_alloc(s->device, 4096, &mr, &s->mr));
	MUST(!bsn_lane_create(s->device, NULL, &s->lane));
	MUST(!bsn_channel_create(s->device, &s->channel));
	cq.lane = s->lane;
	cq.channel = s->channel;
	MUST(!bsn_cq_create(s->device, &cq, &s->cq));
	MUST(!bsn_srq_create(s->device, &srq, &s->srq));
	rc.cq = ud.cq = s->cq;
	rc.srq = s->srq;
	MUST(!bsn_qp_create(s->device, &rc, &s->qp));
	MUST(!bsn_qp_address(s->qp, &address)); /* connected to itself */
	MUST(!bsn_qp_connect(s->qp, &address, NULL));
	MUST(!bsn_qp_create(s->device, &ud, &s->ud));
	MUST(!bsn_qp_connect(s->ud, NULL, NULL));
	MUST(!bsn_qp_address(s->ud, &address));
	MUST(!bsn_ep_create(s->ud, &address, NULL, NULL, &s->ep));
	if (path == BSN_PATH_DIRECT)
		make_dc(s);
}

static int post_write(struct set *s)
{
	const struct bsn_sge local = { s->mr->addr, 8, s->mr->lkey };
	const struct bsn_remote remote = { s->mr->addr + 64, s->mr->rkey };

	return bsn_write(bsn_qp_ep(s->qp), &local, &remote, 1, NOW);
}

/* Posts go on until the queue is full, and no further; polls say what happened. */
static void vanish(struct set *s)
{
	struct bsn_completion c;
	struct bsn_event event;
	unsigned posts = 0;
	int err;

	MUST(!post_write(s));
	softcx_step(0);
	do
		err = post_write(s);
	while (!err && ++posts < 100000);
	MUST(err == -EAGAIN);
	MUST(bsn_poll(s->cq, &c, 1) == 0); /* nobody took the event yet */
	MUST(!bsn_device_get_event(s->device, &event));
	MUST(event.type == IBV_EVENT_DEVICE_FATAL && event.object == BSN_EVENT_DEVICE);
	MUST(bsn_poll(s->cq, &c, 1) == -EIO);
	MUST(post_write(s) == -EAGAIN);
	MUST(bsn_qp_fail(s->qp) == -EIO);
}

static void destroy_all(struct set *s)
{
	MUST(bsn_device_close(s->device) == -EBUSY);
	MUST(!bsn_dc_pool_destroy(s->pool));
	MUST(!bsn_dct_destroy(s->dct));
	MUST(!bsn_ep_destroy(s->ep));
	MUST(!bsn_qp_destroy(s->ud));
	MUST(!bsn_qp_destroy(s->qp));
	MUST(!bsn_srq_destroy(s->srq));
	MUST(!bsn_cq_destroy(s->cq));
	MUST(!bsn_channel_destroy(s->channel));
	MUST(!bsn_lane_destroy(s->lane));
	MUST(!bsn_buf_free(s->mr));
	MUST(!bsn_pd_destroy(s->pd));
	MUST(!bsn_device_close(s->device));
}

static void run(enum bsn_path path)
{
	const struct cx_config config = { .generation = CX_GEN_CX6,
					  .fault_plan = "nth=1 remove-device",
					  .passive = true,
					  .private_fabric = true };
	struct set s = { 0 };
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child) {
		MUST(!softcx_start(&config));
		make_all(&s, path);
		vanish(&s);
		destroy_all(&s);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void a_device_vanishes_on_the_direct_path(void **state)
{
	(void)state;
	run(BSN_PATH_DIRECT);
}

static void a_device_vanishes_on_the_verbs_path(void **state)
{
	(void)state;
	run(BSN_PATH_VERBS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_device_vanishes_on_the_direct_path),
		cmocka_unit_test(a_device_vanishes_on_the_verbs_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
