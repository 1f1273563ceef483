/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes with an HCA each, on one fabric. */
#ifndef TESTS_SOFTCX_PROCESSES_H
#define TESTS_SOFTCX_PROCESSES_H

#include <signal.h>
#include <sys/wait.h>

#include "unit.h"
#include "nic/tables.h"
#include "rig.h"

static char fabric[32];
static struct rig rig;

/* What two processes tell each other before they talk through the HCA. */
struct blob {
	uint32_t qpn, key;
	uint64_t addr;
};

static inline struct cx_config config_of_fabric(void)
{
	struct cx_config config = rig_config();

	config.fabric = fabric;
	config.private_fabric = false;
	return config;
}

static inline int setup(void **state)
{
	static unsigned count;
	static pid_t parent;

	if (!parent)
		parent = getpid();
	if (parent != getpid())
		_exit(99); /* an assert failed in a child, which is not to run the other tests */
	snprintf(fabric, sizeof(fabric), "test-%d-%u", (int)getpid(), count++);
	return 0;
}

static inline int teardown(void **state)
{
	if (rig.hca)
		rig_teardown(&rig);
	return 0;
}

struct child {
	pid_t pid;
	int to, from;
};

static inline struct child start_child(void (*body)(int in, int out))
{
	int down[2], up[2];
	struct child child;

	assert_int_equal(pipe(down), 0);
	assert_int_equal(pipe(up), 0);
	child.pid = fork();
	if (!child.pid) {
		close(down[1]);
		close(up[0]);
		body(down[0], up[1]);
		_exit(0);
	}
	assert_true(child.pid > 0);
	close(down[0]);
	close(up[1]);
	child.to = down[1];
	child.from = up[0];
	return child;
}

static inline void end_child(const struct child *child, int expected)
{
	int status;

	close(child->to);
	close(child->from);
	assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
	assert_int_equal(status, expected);
}

static inline void kill_child(const struct child *child)
{
	kill(child->pid, SIGKILL);
	end_child(child, SIGKILL);
}

static inline void open_rig(void)
{
	const struct cx_config config = config_of_fabric();

	rig_open(&rig, &config);
	rig_qp_create(&rig, &rig.qp[0]);
}

static inline void tell(int fd)
{
	const struct blob mine = { rig.qp[0].number, rig.key, (uintptr_t)rig.buf };

	NEED(write(fd, &mine, sizeof(mine)) == sizeof(mine));
}

static inline struct blob hear(int fd)
{
	struct blob theirs;

	NEED(read(fd, &theirs, sizeof(theirs)) == sizeof(theirs));
	return theirs;
}

static inline void connect_to(const struct blob *peer)
{
	rig_qp_connect(&rig, &rig.qp[0], peer->qpn);
}

/* A child opens, and connects to its parent. */
static inline struct blob open_and_connect(int in, int out)
{
	struct blob peer;

	open_rig();
	tell(out);
	peer = hear(in);
	connect_to(&peer);
	return peer;
}

static inline void post_to(const struct blob *peer, uint32_t opcode, void *local, uint64_t offset,
			   uint32_t len)
{
	struct rig_wqe wqe;

	rig_begin(&wqe, opcode, BSN_CE_ALWAYS);
	if (opcode != BSN_OPCODE_SEND)
		rig_raddr(&wqe, (const void *)(uintptr_t)(peer->addr + offset), peer->key);
	rig_data(&wqe, local, len, rig.key);
	rig_post(&rig.qp[0], &wqe);
}

/* Opens, tells, connects, posts a receive, and waits for the parent to have done its part. */
static inline void be_a_responder(int in, int out)
{
	struct bsn_cqe cqe;
	char byte;

	open_and_connect(in, out);
	rig_post_recv(&rig, &rig.qp[0], rig.buf + 2000, 64);
	memcpy(rig.buf + 100, "readable", 8);
	NEED(write(out, "r", 1) == 1);
	NEED(read(in, &byte, 1) == 1);
	NEED(!memcmp(rig.buf, "written!", 8));
	NEED(!memcmp(rig.buf + 2000, "message", 7));
	NEED(rig_poll(&rig.cq[1], &cqe) && cqe.as.resp.byte_count == 7);
	rig_teardown(&rig);
}

static inline struct blob meet(struct child *child)
{
	struct blob peer;
	char byte;

	open_rig();
	peer = hear(child->from);
	connect_to(&peer);
	tell(child->to);
	assert_int_equal(read(child->from, &byte, 1), 1);
	return peer;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
