/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two processes. A request of one fails the queue pair of the other. The other is told, and gets
 * its work back although it only polls memory or sleeps. The peer is a child that was forked before
 * either had a device.
 */
#include "fabric.h"

#include <sys/eventfd.h>

#include <infiniband/mlx5dv.h>

#include "bsn_cmd.h"

enum { RECEIVES = 3, SENDS = 2 };

static const char *plan; /* of the peer's faults, NULL: none */

static struct cx_config config_of_peer(void)
{
	struct cx_config config = config_of_fabric();

	config.fault_plan = plan;
	return config;
}

/* -- the peer, where asserts do not work ------------------------------------------------------- */

/* A WRITE through a key that opens nothing. */
static void post_bad_write(struct ibv_qp *qp)
{
	struct ibv_send_wr *bad, wr = {
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
		.sg_list = &(struct ibv_sge){ .addr = (uintptr_t)&wr, .length = 8 },
		.num_sge = 1,
		.wr.rdma = { 0x1000, 0x7654321 },
	};

	NEED(!ibv_post_send(qp, &wr, &bad));
}

static void be_the_peer(int fd)
{
	const struct cx_config config = config_of_peer();
	struct hello theirs;
	struct ibv_cq *cq;
	struct ibv_qp *qp = open_peer(fd, &config, &cq, &theirs);
	struct ibv_wc wc;

	wait_for_byte(fd);
	post_bad_write(qp);
	NEED(plan || (ibv_poll_cq(cq, 1, &wc) == 1 && wc.status == IBV_WC_REM_ACCESS_ERR));
	NEED(write(fd, "f", 1) == 1);
	wait_for_byte(fd);
}

/* -- this side --------------------------------------------------------------------------------- */

static int set_up(void **state)
{
	struct cx_config config;
	struct hello mine = { 0 };

	plan = *state;
	start_peer(be_the_peer);
	config = config_of_peer();
	loopback_set_up_config(state, &config);
	mine.qpn = lo.qp->qp_num;
	meet_peer(lo.qp, &mine);
	return 0;
}

static int tear_down(void **state)
{
	assert_int_equal(write(peer.fd, "e", 1), 1);
	end_peer();
	return loopback_tear_down(state);
}

static void be_failed(void)
{
	assert_int_equal(write(peer.fd, "g", 1), 1);
	wait_for_byte(peer.fd);
}

static void post_receive(uint64_t id)
{
	loopback_post_receive(id, lo.memory, lo.mr->lkey, 64);
}

/* A SEND that waits, since its peer posts no receives. */
static void post_send(uint64_t id)
{
	struct ibv_send_wr *bad, wr = { .wr_id = id, .opcode = IBV_WR_SEND };

	assert_int_equal(ibv_post_send(lo.qp, &wr, &bad), 0);
}

static void expect_flushed(uint64_t id)
{
	const struct ibv_wc wc = loopback_wait();

	assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(wc.wr_id, id);
}

static void what_is_outstanding_is_flushed(void **state)
{
	for (unsigned i = 0; i < RECEIVES; i++)
		post_receive(i);
	for (unsigned i = 0; i < SENDS; i++)
		post_send(100 + i);
	be_failed();
	for (unsigned i = 0; i < SENDS; i++)
		expect_flushed(100 + i);
	for (unsigned i = 0; i < RECEIVES; i++)
		expect_flushed(i);
}

static void its_owner_is_told(void **state)
{
	struct ibv_async_event event;

	be_failed();
	assert_int_equal(ibv_get_async_event(lo.ctx, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
	assert_ptr_equal(event.element.qp, lo.qp);
	ibv_ack_async_event(&event);
	assert_int_equal(loopback_state(lo.qp), IBV_QPS_ERR);
}

/* Posting a receive is no doorbell, and polling no call into the device. */
static void receives_posted_afterwards_are_flushed(void **state)
{
	be_failed();
	for (unsigned i = 0; i < RECEIVES; i++) {
		post_receive(i);
		expect_flushed(i);
	}
}

static void their_flush_wakes_who_sleeps(void **state)
{
	be_failed();
	for (unsigned i = 0; i < RECEIVES; i++) {
		assert_int_equal(ibv_req_notify_cq(lo.cq, 0), 0);
		post_receive(i);
		assert_ptr_equal(loopback_wait_for_event(), lo.cq);
		expect_flushed(i);
	}
}

static void a_device_that_the_peer_removes_is_gone_here_too(void **state)
{
	struct ibv_async_event event;

	be_failed();
	not_made(loopback_wait_for_event(), EIO);
	assert_int_equal(ibv_get_async_event(lo.ctx, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_DEVICE_FATAL);
	ibv_ack_async_event(&event);
	fails(ibv_get_async_event(lo.ctx, &event), EIO);
}

/* The peer's process tells both ways: into the channel, and to an eventfd of this process. */
static void a_port_that_the_peer_takes_down_is_told_here_too(void **state)
{
	struct mlx5dv_devx_event_channel *channel = made(mlx5dv_devx_create_event_channel(
		lo.ctx, MLX5DV_DEVX_CREATE_EVENT_CHANNEL_FLAGS_OMIT_EV_DATA));
	struct mlx5dv_devx_async_event_hdr event;
	uint16_t number = BSN_EVENT_PORT_CHANGE;
	const int fd = eventfd(0, EFD_NONBLOCK);
	eventfd_t count;

	assert_int_equal(
		mlx5dv_devx_subscribe_devx_event(channel, NULL, sizeof(number), &number, 7), 0);
	assert_int_equal(mlx5dv_devx_subscribe_devx_event_fd(channel, fd, NULL, number), 0);
	be_failed();
	assert_int_equal(mlx5dv_devx_get_event(channel, &event, sizeof(event)), sizeof(event));
	assert_int_equal(event.cookie, 7);
	assert_int_equal(eventfd_read(fd, &count), 0);
	assert_int_equal(count, 1);
	mlx5dv_devx_destroy_event_channel(channel);
	close(fd);
}

#define PLANNED(f, plan) GIVEN(f, plan, set_up, tear_down)
#define TEST(f)          PLANNED(f, NULL)

int main(void)
{
	setenv("RDMAV_ALLOW_DISASSOC_DESTROY", "1", 1); /* otherwise a dead device's objects stay */
	alarm(DEADLINE_S);
	return RUN(TEST(what_is_outstanding_is_flushed), TEST(its_owner_is_told),
		   TEST(receives_posted_afterwards_are_flushed), TEST(their_flush_wakes_who_sleeps),
		   PLANNED(a_device_that_the_peer_removes_is_gone_here_too,
			   "opcode=RDMA_WRITE remove-device"),
		   PLANNED(a_port_that_the_peer_takes_down_is_told_here_too,
			   "opcode=RDMA_WRITE nth=1 port-down"));
}
