/* SPDX-License-Identifier: BSD-2-Clause */
/* Two processes of one fabric: a child that was forked before either had a device is the peer. */
#ifndef TESTS_SOFTCX_FABRIC_H
#define TESTS_SOFTCX_FABRIC_H

#include "loopback.h"

#include <sys/socket.h>
#include <sys/wait.h>

enum { DEADLINE_S = 60 };

/* What both tell first. */
struct hello {
	uint32_t qpn, rkey;
	uint64_t addr;
};

static struct {
	pid_t pid;
	int fd;
	char fabric[32];
} peer;

static inline struct cx_config config_of_fabric(void)
{
	struct cx_config config = loopback_config(CX_LINK_IB, false);

	config.private_fabric = false;
	config.fabric = peer.fabric;
	return config;
}

static inline void start_peer(void (*body)(int fd))
{
	static unsigned count;
	int pair[2];

	snprintf(peer.fabric, sizeof(peer.fabric), "test-%d-%u", (int)getpid(), count++);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	peer.pid = fork();
	assert_true(peer.pid >= 0);
	if (!peer.pid) {
		alarm(DEADLINE_S);
		close(pair[0]);
		body(pair[1]);
		_exit(0);
	}
	close(pair[1]);
	peer.fd = pair[0];
}

static inline void end_peer(void)
{
	int status;

	assert_int_equal(waitpid(peer.pid, &status, 0), peer.pid);
	assert_int_equal(status, 0);
	assert_int_equal(close(peer.fd), 0);
}

static inline void wait_for_byte(int fd)
{
	char byte;

	NEED(read(fd, &byte, 1) == 1);
}

static inline int connect_to(struct ibv_qp *qp, uint32_t qpn)
{
	return loopback_modify(qp, IBV_QPS_RESET, IBV_QP_STATE) ||
	       loopback_modify_to(qp, qpn, IBV_QPS_INIT, LOOPBACK_INIT_MASK) ||
	       loopback_modify_to(qp, qpn, IBV_QPS_RTR, LOOPBACK_RTR_MASK) ||
	       loopback_modify_to(qp, qpn, IBV_QPS_RTS, LOOPBACK_RTS_MASK);
}

/* The peer opens a device, and connects a queue pair as it is told. */
static inline struct ibv_qp *open_peer(int fd, const struct cx_config *config, struct ibv_cq **cq,
				       struct hello *theirs)
{
	struct hello mine = { 0 };
	struct ibv_device **list;
	struct ibv_context *ctx;
	struct ibv_qp *qp;

	NEED(!softcx_start(config));
	NEED((list = ibv_get_device_list(NULL)) && (ctx = ibv_open_device(list[0])));
	NEED((*cq = ibv_create_cq(ctx, 16, NULL, NULL, 0)));
	NEED((qp = loopback_create_qp(ibv_alloc_pd(ctx), *cq, NULL, IBV_QPT_RC)));
	mine.qpn = qp->qp_num;
	NEED(write(fd, &mine, sizeof(mine)) == sizeof(mine));
	NEED(read(fd, theirs, sizeof(*theirs)) == sizeof(*theirs));
	NEED(!connect_to(qp, theirs->qpn));
	return qp;
}

/* This side connects to the peer, and tells it what it needs to know. */
static inline struct hello meet_peer(struct ibv_qp *qp, const struct hello *mine)
{
	struct hello theirs;

	assert_int_equal(read(peer.fd, &theirs, sizeof(theirs)), sizeof(theirs));
	assert_int_equal(connect_to(qp, theirs.qpn), 0);
	assert_int_equal(write(peer.fd, mine, sizeof(*mine)), sizeof(*mine));
	return theirs;
}

#endif
