/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A device is removed while a program uses it. The program is told once; then every call fails with
 * EIO, and none waits. The library's objects can be destroyed if the program has asked for that.
 */
#define _GNU_SOURCE 1
#include "loopback.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include <infiniband/mlx5dv.h>

#include "bsn_cmd.h"

static int set_up(void **state)
{
	struct cx_config config = loopback_config(CX_LINK_IB, given(state));

	config.fault_plan = "opcode=RDMA_WRITE nth=1 remove-device";
	return loopback_set_up_config(state, &config);
}

static void a_device_that_is_gone_says_so(void **state)
{
	struct ibv_async_event event;
	struct ibv_port_attr port;
	struct ibv_cq *cq;
	void *context;

	assert_int_equal(ibv_req_notify_cq(lo.cq, 0), 0);
	loopback_post_write();
	softcx_step(0);
	assert_int_equal(ibv_get_async_event(lo.ctx, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_DEVICE_FATAL);
	ibv_ack_async_event(&event);
	fails(ibv_get_async_event(lo.ctx, &event), EIO);
	fails(ibv_get_cq_event(lo.channel, &cq, &context), EIO);
	assert_int_equal(ibv_query_port(lo.ctx, 1, &port), EIO);
	not_made(ibv_alloc_pd(lo.ctx), EIO);
	assert_int_equal(loopback_modify(lo.qp, IBV_QPS_ERR, IBV_QP_STATE), EIO);
	fails(open("/dev/infiniband/uverbs0", O_RDWR), EIO);
}

static void expect_end(struct mlx5dv_devx_event_channel *channel)
{
	uint8_t bytes[sizeof(struct mlx5dv_devx_async_event_hdr) + BSN_EQE_SIZE];

	assert_int_equal(poll(&(struct pollfd){ .fd = channel->fd, .events = POLLIN }, 1, 0), 1);
	for (unsigned n = 0; n < 2; n++)
		fails(mlx5dv_devx_get_event(channel, (void *)bytes, sizeof(bytes)), EIO);
	mlx5dv_devx_destroy_event_channel(channel);
}

static void the_channels_of_devx_end(void **state)
{
	struct mlx5dv_devx_event_channel
		*cookies = mlx5dv_devx_create_event_channel(
			lo.ctx, MLX5DV_DEVX_CREATE_EVENT_CHANNEL_FLAGS_OMIT_EV_DATA),
		*data = mlx5dv_devx_create_event_channel(
			lo.ctx, (enum mlx5dv_devx_create_event_channel_flags)0);

	loopback_post_write();
	softcx_step(0);
	expect_end(cookies);
	expect_end(data);
}

/* -- who waits --------------------------------------------------------------------------------- */

static atomic_int waiter;

static void *read_completion_event(void *error)
{
	waiter = gettid();
	*(int *)error = loopback_wait_for_event() ? 0 : errno;
	return NULL;
}

static void *read_async_events(void *error)
{
	struct ibv_async_event event;

	waiter = gettid();
	*(int *)error = ibv_get_async_event(lo.ctx, &event);
	if (!*(int *)error && event.event_type == IBV_EVENT_DEVICE_FATAL)
		*(int *)error = ibv_get_async_event(lo.ctx, &event) ? errno : 0;
	return NULL;
}

static void *poll_channel(void *error)
{
	struct pollfd ready = { .fd = lo.channel->fd, .events = POLLIN };

	waiter = gettid();
	return poll(&ready, 1, -1) == 1 ? read_completion_event(error) : NULL;
}

static void wait_until_asleep(int tid)
{
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	while (state != 'S') {
		sched_yield();
		f = made(fopen(path, "r"));
		assert_int_equal(fscanf(f, "%*d (%*[^)]) %c", &state), 1);
		fclose(f);
	}
}

static void expect_woken(void *(*wait)(void *))
{
	pthread_t thread;
	int error = 0;

	waiter = 0;
	assert_int_equal(pthread_create(&thread, NULL, wait, &error), 0);
	while (!waiter)
		sched_yield();
	wait_until_asleep(waiter);
	loopback_post_write();
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(error, EIO);
}

static void who_waits_for_a_completion_is_woken(void **state)
{
	expect_woken(read_completion_event);
}

static void who_polls_a_channel_is_woken(void **state)
{
	expect_woken(poll_channel);
}

static void who_waits_for_an_asynchronous_event_is_told(void **state)
{
	expect_woken(read_async_events);
}

#define PASSIVE(f) GIVEN(f, true, set_up, loopback_tear_down)
#define ACTIVE(f)  GIVEN(f, false, set_up, loopback_tear_down)

int main(void)
{
	/* Otherwise libibverbs keeps the objects of a dead device, and the tear-down fails. */
	setenv("RDMAV_ALLOW_DISASSOC_DESTROY", "1", 1);
	alarm(60); /* ends a waiter that nobody wakes */
	return RUN(PASSIVE(a_device_that_is_gone_says_so), PASSIVE(the_channels_of_devx_end),
		   ACTIVE(who_waits_for_a_completion_is_woken),
		   ACTIVE(who_polls_a_channel_is_woken),
		   ACTIVE(who_waits_for_an_asynchronous_event_is_told));
}
