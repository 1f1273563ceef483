/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two processes. A request of one fails the queue pair of the other. The other is told, and gets
 * its work back although it only polls memory or sleeps. The peer is a child that was forked before
 * either had a device.
 */
#include "fabric.h"
#include "loopback.h"

#include <errno.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infiniband/mlx5dv.h>

#include "bsn_cmd.h"

enum { RECEIVES = 3, SENDS = 2, DEADLINE_S = 60 };

static char fabric[32];
static const char *plan; /* of the peer's faults, NULL: none */
static struct {
	pid_t pid;
	int fd;
} peer;

static struct cx_config config_of_peer(void)
{
	struct cx_config config = config_of_fabric(fabric);

	config.fault_plan = plan;
	return config;
}

/* -- the peer, where asserts do not work ------------------------------------------------------- */

static void connect_to(struct ibv_qp *qp, uint32_t qpn)
{
	NEED(!loopback_modify_to(qp, qpn, IBV_QPS_INIT, LOOPBACK_INIT_MASK));
	NEED(!loopback_modify_to(qp, qpn, IBV_QPS_RTR, LOOPBACK_RTR_MASK));
	NEED(!loopback_modify_to(qp, qpn, IBV_QPS_RTS, LOOPBACK_RTS_MASK));
}

static uint32_t exchange_qpn(int fd, uint32_t mine)
{
	uint32_t theirs;

	NEED(write(fd, &mine, sizeof(mine)) == sizeof(mine));
	NEED(read(fd, &theirs, sizeof(theirs)) == sizeof(theirs));
	return theirs;
}

static void wait_for_byte(int fd)
{
	char byte;

	NEED(read(fd, &byte, 1) == 1);
}

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
	struct cx_config config = config_of_peer();
	struct ibv_device **list;
	struct ibv_context *ctx;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_wc wc;

	NEED(!softcx_start(&config));
	NEED((list = ibv_get_device_list(NULL)) && (ctx = ibv_open_device(list[0])));
	NEED((cq = ibv_create_cq(ctx, 16, NULL, NULL, 0)));
	NEED((qp = loopback_create_qp(ibv_alloc_pd(ctx), cq, NULL, IBV_QPT_RC)));
	connect_to(qp, exchange_qpn(fd, qp->qp_num));
	wait_for_byte(fd);
	post_bad_write(qp);
	NEED(plan || (ibv_poll_cq(cq, 1, &wc) == 1 && wc.status == IBV_WC_REM_ACCESS_ERR));
	NEED(write(fd, "f", 1) == 1);
	wait_for_byte(fd);
	_exit(0);
}

/* -- this side --------------------------------------------------------------------------------- */

static int set_up(void **state)
{
	static unsigned count;
	int pair[2];
	struct loopback *l;
	struct cx_config config;

	snprintf(fabric, sizeof(fabric), "test-%d-%u", (int)getpid(), count++);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	peer.pid = fork();
	assert_true(peer.pid >= 0);
	if (!peer.pid) {
		alarm(DEADLINE_S);
		close(pair[0]);
		be_the_peer(pair[1]);
	}
	close(pair[1]);
	peer.fd = pair[0];
	config = config_of_peer();
	loopback_set_up_config(state, &config);
	l = *state;
	assert_int_equal(loopback_modify(l->qp, IBV_QPS_RESET, IBV_QP_STATE), 0);
	connect_to(l->qp, exchange_qpn(peer.fd, l->qp->qp_num));
	return 0;
}

static int set_up_plan(void **state, const char *text)
{
	plan = text;
	set_up(state);
	plan = NULL;
	return 0;
}

static int set_up_remover(void **state)
{
	return set_up_plan(state, "opcode=RDMA_WRITE remove-device");
}

static int set_up_port(void **state)
{
	return set_up_plan(state, "opcode=RDMA_WRITE nth=1 port-down");
}

static int tear_down(void **state)
{
	int status;

	assert_int_equal(write(peer.fd, "e", 1), 1);
	assert_int_equal(waitpid(peer.pid, &status, 0), peer.pid);
	assert_int_equal(status, 0);
	close(peer.fd);
	return loopback_tear_down(state);
}

static void be_failed(void)
{
	char byte;

	assert_int_equal(write(peer.fd, "g", 1), 1);
	assert_int_equal(read(peer.fd, &byte, 1), 1);
}

static void post_receive(struct loopback *l, uint64_t id)
{
	struct ibv_sge sge = { (uintptr_t)l->memory, 64, l->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };

	assert_int_equal(ibv_post_recv(l->qp, &wr, &bad), 0);
}

/* A SEND that waits, since its peer posts no receives. */
static void post_send(struct loopback *l, uint64_t id)
{
	struct ibv_send_wr *bad, wr = { .wr_id = id, .opcode = IBV_WR_SEND };

	assert_int_equal(ibv_post_send(l->qp, &wr, &bad), 0);
}

/* By looking at memory alone, as a busy poller does. */
static void expect_flushed(struct loopback *l, uint64_t id)
{
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(l->cq, 1, &wc)))
		;
	assert_int_equal(n, 1);
	assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(wc.wr_id, id);
}

static void what_is_outstanding_is_flushed(void **state)
{
	struct loopback *l = *state;

	for (unsigned i = 0; i < RECEIVES; i++)
		post_receive(l, i);
	for (unsigned i = 0; i < SENDS; i++)
		post_send(l, 100 + i);
	be_failed();
	for (unsigned i = 0; i < SENDS; i++)
		expect_flushed(l, 100 + i);
	for (unsigned i = 0; i < RECEIVES; i++)
		expect_flushed(l, i);
}

static void its_owner_is_told(void **state)
{
	struct loopback *l = *state;
	struct ibv_async_event event;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	be_failed();
	assert_int_equal(ibv_get_async_event(l->ctx, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
	assert_ptr_equal(event.element.qp, l->qp);
	ibv_ack_async_event(&event);
	assert_int_equal(ibv_query_qp(l->qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_ERR);
}

/* Posting a receive is no doorbell, and polling no call into the device. */
static void receives_posted_afterwards_are_flushed(void **state)
{
	struct loopback *l = *state;

	be_failed();
	for (unsigned i = 0; i < RECEIVES; i++) {
		post_receive(l, i);
		expect_flushed(l, i);
	}
}

static void their_flush_wakes_who_sleeps(void **state)
{
	struct loopback *l = *state;
	struct ibv_cq *cq;
	void *context;

	be_failed();
	for (unsigned i = 0; i < RECEIVES; i++) {
		assert_int_equal(ibv_req_notify_cq(l->cq, 0), 0);
		post_receive(l, i);
		assert_int_equal(ibv_get_cq_event(l->channel, &cq, &context), 0);
		ibv_ack_cq_events(cq, 1);
		expect_flushed(l, i);
	}
}

static void a_device_that_the_peer_removes_is_gone_here_too(void **state)
{
	struct loopback *l = *state;
	struct ibv_async_event event;
	struct ibv_cq *cq;
	void *context;

	be_failed();
	assert_int_equal(ibv_get_cq_event(l->channel, &cq, &context), -1);
	assert_int_equal(errno, EIO);
	assert_int_equal(ibv_get_async_event(l->ctx, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_DEVICE_FATAL);
	ibv_ack_async_event(&event);
	assert_int_equal(ibv_get_async_event(l->ctx, &event), -1);
	assert_int_equal(errno, EIO);
}

/* The peer's process tells both ways: into the channel, and to an eventfd of this process. */
static void a_port_that_the_peer_takes_down_is_told_here_too(void **state)
{
	struct loopback *l = *state;
	struct mlx5dv_devx_event_channel *channel = mlx5dv_devx_create_event_channel(
		l->ctx, MLX5DV_DEVX_CREATE_EVENT_CHANNEL_FLAGS_OMIT_EV_DATA);
	struct mlx5dv_devx_async_event_hdr event;
	uint16_t number = BSN_EVENT_PORT_CHANGE;
	const int fd = eventfd(0, EFD_NONBLOCK);
	eventfd_t count;

	assert_non_null(channel);
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_outstanding_is_flushed),
		TEST(its_owner_is_told),
		TEST(receives_posted_afterwards_are_flushed),
		TEST(their_flush_wakes_who_sleeps),
		cmocka_unit_test_setup_teardown(a_device_that_the_peer_removes_is_gone_here_too,
						set_up_remover, tear_down),
		cmocka_unit_test_setup_teardown(a_port_that_the_peer_takes_down_is_told_here_too,
						set_up_port, tear_down),
	};

	setenv("RDMAV_ALLOW_DISASSOC_DESTROY", "1", 1); /* otherwise a dead device's objects stay */
	alarm(DEADLINE_S);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
