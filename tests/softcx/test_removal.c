/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A device that is pulled out from under a program: told once, then every call fails with EIO, none
 * waits, and what the library holds can be given back where the program has asked for that.
 */
#include "loopback.h"

#include <errno.h>
#include <fcntl.h>

static int set_up_removable(void **state)
{
	struct cx_config config = loopback_config(CX_LINK_IB, true);

	config.fault_plan = "opcode=RDMA_WRITE nth=1 remove-device";
	return loopback_set_up_config(state, &config);
}

static void a_device_that_is_gone_says_so(void **state)
{
	struct loopback *l = *state;
	struct ibv_async_event event;
	struct ibv_port_attr port;
	struct ibv_cq *cq;
	void *context;

	assert_int_equal(ibv_req_notify_cq(l->cq, 0), 0);
	loopback_post_write(l);
	softcx_step(0);
	assert_int_equal(ibv_get_async_event(l->ctx, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_DEVICE_FATAL);
	ibv_ack_async_event(&event);
	assert_int_equal(ibv_get_async_event(l->ctx, &event), -1);
	assert_int_equal(errno, EIO);
	assert_int_equal(ibv_get_cq_event(l->channel, &cq, &context), -1);
	assert_int_equal(errno, EIO);
	assert_int_equal(ibv_query_port(l->ctx, 1, &port), EIO);
	assert_null(ibv_alloc_pd(l->ctx));
	assert_int_equal(errno, EIO);
	assert_int_equal(loopback_modify(l->qp, IBV_QPS_ERR, IBV_QP_STATE), EIO);
	assert_int_equal(open("/dev/infiniband/uverbs0", O_RDWR), -1);
	assert_int_equal(errno, EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_device_that_is_gone_says_so, set_up_removable,
						loopback_tear_down),
	};

	/* Else libibverbs keeps the objects of a dead device, and the tear-down fails. */
	setenv("RDMAV_ALLOW_DISASSOC_DESTROY", "1", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
