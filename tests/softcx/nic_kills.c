/* SPDX-License-Identifier: BSD-2-Clause */
/* The model between processes, of which one is killed at each system call that it makes. */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>

#include "bsn_db.h"
#include "processes.h"
#include "nic/process.h"

enum { RECEIVES = 2, FIRST_CQE = 5 };

static char path[64];
static int fifo;

static struct rig_srq srq;

/* The queue pair takes from a shared queue instead of its own. */
static void share_receives(void)
{
	rig_srq_create(&rig, &srq, (struct cx_srq_attr){ .count = RIG_SRQ });
	for (unsigned i = 0; i < RECEIVES; i++)
		rig_srq_post(&rig, &srq, i, i + 1, rig.buf + 2000, 64);
	cx_lock(rig.hca);
	cx_qp_find(rig.hca, rig.qp[0].number)->attr.srqn = srq.number;
	cx_unlock(rig.hca);
}

/* Is a receiver: it has receives, and the CQ of their completions has a channel and is armed. */
static void await_messages(bool is_shared)
{
	struct cx_cq *cq;
	uint32_t channel;

	assert_int_equal(mkfifo(path, 0600), 0);
	fifo = open(path, O_RDWR | O_NONBLOCK);
	assert_true(fifo >= 0);
	assert_int_equal(cx_channel_create(rig.hca, path, CX_EVENT_COMPLETION, &channel), 0);
	cx_lock(rig.hca);
	cq = cx_cq_find(rig.hca, rig.cq[1].number);
	cq->attr.comp_channel = channel;
	cq->producer = rig.cq[1].ci = FIRST_CQE;
	cx_unlock(rig.hca);
	for (unsigned i = 0; i < RECEIVES && !is_shared; i++)
		rig_post_recv(&rig, &rig.qp[0], rig.buf + 2000, 64);
	if (is_shared)
		share_receives();
	rig_consume(&rig.cq[1]);
	ENCODE(dbr_cq_arm, (uint8_t *)rig.cq[1].db + BSN_DBR_CQ_ARM_OFFSET, .cmd = BSN_CQ_ARM_NEXT,
	       .ci = FIRST_CQE);
	cx_step(rig.hca, 0);
}

static bool has_event(void)
{
	struct ib_uverbs_comp_event_desc event;

	return read(fifo, &event, sizeof(event)) == sizeof(event);
}

static void send_under_trace(int in, int out)
{
	const struct blob peer = open_and_connect(in, out);
	char byte;

	NEED(write(out, "r", 1) == 1 && read(in, &byte, 1) == 1);
	memcpy(rig.buf, "message", 7);
	post_to(&peer, BSN_OPCODE_SEND, rig.buf, 0, 7);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(1);
	raise(SIGSTOP);
	cx_step(rig.hca, 0);
	_exit(0);
}

/* Kills it at the n-th time that it begins or ends a system call; false: it had ended before. */
static bool kill_at_call(pid_t pid, unsigned n)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status));
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(ptrace(PTRACE_SYSCALL, pid, NULL, NULL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (WIFEXITED(status))
			return false;
	}
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return true;
}

/* How many receives are left: of its own, those that are flushed. */
static unsigned count_left(bool is_shared)
{
	unsigned left = 0;
	struct bsn_cqe cqe;

	if (is_shared) {
		const struct cx_srq_place at = cx_srq_find(rig.hca, srq.number)->at;
		assert_int_equal(at.next, at.taken);
		return RECEIVES - at.taken;
	}
	rig_qp_move(&rig, &rig.qp[0], IBV_QPS_ERR);
	for (; rig_poll(&rig.cq[1], &cqe); left++)
		assert_int_equal(cqe.tail.opcode, BSN_CQE_RESP_ERR);
	return left;
}

/* The message is there with its event and has taken a receive, or nothing of this. */
static void check_receives(bool is_shared, bool must_have)
{
	unsigned messages = 0;
	struct bsn_cqe cqe;

	cx_step(rig.hca, 0);
	while (rig_poll(&rig.cq[1], &cqe))
		messages += cqe.tail.opcode == BSN_CQE_RESP_SEND;
	assert_true(messages == 1 || (!messages && !must_have));
	assert_int_equal(has_event(), messages);
	assert_int_equal(count_left(is_shared), RECEIVES - messages);
}

/* Whether it got so far that it was killed. */
static bool send_until(unsigned n, bool is_shared)
{
	struct child child = start_child(send_under_trace);
	bool was_killed;

	meet(&child);
	await_messages(is_shared);
	assert_int_equal(write(child.to, "g", 1), 1);
	was_killed = kill_at_call(child.pid, n);
	check_receives(is_shared, !was_killed);
	close(child.to);
	close(child.from);
	rig_teardown(&rig);
	close(fifo);
	unlink(path);
	return was_killed;
}

static void a_sender_that_is_killed_leaves_a_whole_message_or_none(void **state)
{
	snprintf(path, sizeof(path), "/tmp/nic_kills.%d", (int)getpid());
	for (unsigned n = 0; send_until(n, false); n++)
		;
	for (unsigned n = 0; send_until(n, true); n++)
		;
}

UNIT_MAIN(NULL, TEST(a_sender_that_is_killed_leaves_a_whole_message_or_none))
