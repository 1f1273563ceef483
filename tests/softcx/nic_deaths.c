/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The model between processes, of which one dies: it leaves nothing behind that disturbs the
 * others.
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "processes.h"
#include "nic/events.h"
#include "nic/process.h"

/* A killed peer does not answer any more. Its objects are removed when another process notices. */
static void a_killed_process_times_out(void **state)
{
	struct child child = start_child(be_a_responder);
	struct blob peer = meet(&child);

	kill_child(&child);
	post_to(&peer, BSN_OPCODE_RDMA_WRITE, rig.buf, 0, 8);
	rig_run(&rig);
	rig_expect_error(&rig.cq[0], BSN_CQE_REQ_ERR, 0, BSN_SYNDROME_RETRY_EXCEEDED, 0x81);
}

static void name_fifo(char path[64], pid_t owner)
{
	snprintf(path, 64, "/tmp/nic_fabric.%d", (int)owner);
}

/* Two queue pairs, whose events go to a FIFO that only this process reads. */
static void have_events(int in, int out)
{
	const struct cx_config config = config_of_fabric();
	char path[64], byte;

	name_fifo(path, getpid());
	NEED(!mkfifo(path, 0600) && open(path, O_RDWR) >= 0);
	rig_open(&rig, &config);
	NEED(!cx_channel_create(rig.hca, path, CX_EVENT_ASYNC, &rig.attr.async_channel));
	for (unsigned i = 0; i < 2; i++) {
		struct blob theirs;
		rig_qp_create(&rig, &rig.qp[i]);
		NEED(write(out, &rig.qp[i].number, 4) == 4);
		theirs = hear(in);
		rig_qp_connect(&rig, &rig.qp[i], theirs.qpn);
	}
	NEED(write(out, "r", 1) == 1);
	(void)!read(in, &byte, 1); /* until it is killed */
}

static uint8_t fail_by_bad_key(struct rig_qp *qp)
{
	rig_post_one(qp, BSN_OPCODE_RDMA_WRITE, rig.buf, 0x7654321, rig.buf, 8, rig.key);
	rig_run(&rig);
	return rig_next(&rig.cq[0]).as.err.syndrome;
}

/*
 * Its FIFO has lost its reader. That must not end the writer; and the dead process refuses nothing.
 */
static void an_event_for_a_killed_process_hurts_nobody(void **state)
{
	struct child child = start_child(have_events);
	char path[64], byte;

	open_rig();
	rig_qp_create(&rig, &rig.qp[1]);
	for (unsigned i = 0; i < 2; i++) {
		const struct blob mine = { .qpn = rig.qp[i].number };
		uint32_t theirs;

		assert_int_equal(read(child.from, &theirs, 4), 4);
		assert_int_equal(write(child.to, &mine, sizeof(mine)), sizeof(mine));
		rig_qp_connect(&rig, &rig.qp[i], theirs);
	}
	assert_int_equal(read(child.from, &byte, 1), 1);
	assert_int_equal(fail_by_bad_key(&rig.qp[0]), BSN_SYNDROME_REMOTE_ACCESS);
	kill_child(&child);
	name_fifo(path, child.pid);
	unlink(path);
	cx_lock(rig.hca);
	cx_event_device(rig.hca, IBV_EVENT_PORT_ACTIVE);
	cx_unlock(rig.hca);
	assert_int_equal(fail_by_bad_key(&rig.qp[1]), BSN_SYNDROME_RETRY_EXCEEDED);
}

static void sweep(void)
{
	cx_lock(rig.hca);
	cx_sweep_dead(rig.hca);
	cx_unlock(rig.hca);
}

static bool has_qp(uint32_t qpn)
{
	bool has;

	cx_lock(rig.hca);
	has = cx_qp_find(rig.hca, qpn);
	cx_unlock(rig.hca);
	return has;
}

/*
 * A program may have closed all descriptors, and none is free: then nobody can find out who is
 * alive, and no process is taken for dead.
 */
static void who_cannot_be_asked_is_alive(void **state)
{
	struct child child = start_child(be_a_responder);
	struct blob peer = meet(&child);
	struct rlimit limit, none;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){ .rlim_max = limit.rlim_max };
	close(rig.hca->segment_fd);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	sweep();
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(has_qp(peer.qpn));
	assert_true(has_qp(rig.qp[0].number));
	kill_child(&child);
	sweep();
	assert_false(has_qp(peer.qpn));
}

/* Another file may have the number that the fabric's had: who asks it gets the fabric's answer. */
static void another_file_is_not_asked(void **state)
{
	struct child child = start_child(be_a_responder);
	struct blob peer = meet(&child);
	int fd = rig.hca->segment_fd, null = open("/dev/null", O_RDWR | O_CLOEXEC);

	assert_int_equal(dup2(null, fd), fd);
	sweep();
	assert_true(has_qp(peer.qpn));
	kill_child(&child);
	assert_int_equal(fcntl(fd, F_GETFD), 0); /* it was not closed */
	close(fd);
	close(null);
}

/* All of its descriptors are gone but those of the test; and it has a child that lives on. */
static void close_all_and_fork(int in, int out)
{
	char byte;
	pid_t pid;

	open_rig();
	for (int fd = 3; fd < 1024; fd++)
		if (fd != in && fd != out)
			close(fd);
	pid = fork();
	if (!pid) {
		pause();
		_exit(0);
	}
	NEED(write(out, &pid, sizeof(pid)) == sizeof(pid));
	tell(out);
	NEED(read(in, &byte, 1) == 1);
}

static void a_process_lives_as_long_as_its_memory(void **state)
{
	struct child child;
	struct blob peer;
	pid_t grandchild;

	open_rig();
	child = start_child(close_all_and_fork);
	assert_int_equal(read(child.from, &grandchild, sizeof(grandchild)), sizeof(grandchild));
	peer = hear(child.from);
	sweep();
	assert_true(has_qp(peer.qpn));
	kill_child(&child);
	sweep();
	assert_false(has_qp(peer.qpn));
	kill(grandchild, SIGKILL);
}

static char jail[] = "/tmp/softcx-test-XXXXXX";

/* Looks, from where no /proc is, who of the fabric lives. */
static void sweep_in_a_chroot(int in, int out)
{
	struct blob peer;
	bool can;

	open_rig();
	peer = hear(in);
	can = !chroot(jail);
	sweep();
	NEED(!can || has_qp(peer.qpn));
	NEED(write(out, &can, sizeof(can)) == sizeof(can));
}

static void a_chroot_sweeps_nobody(void **state)
{
	struct child child;
	bool can;

	open_rig();
	assert_non_null(mkdtemp(jail));
	child = start_child(sweep_in_a_chroot);
	tell(child.to);
	assert_int_equal(read(child.from, &can, sizeof(can)), sizeof(can));
	end_child(&child, 0);
	assert_int_equal(rmdir(jail), 0);
	if (!can)
		skip();
}

/* -- numbers of processes ---------------------------------------------------------------------- */

static void keep_what_it_has(int in, int out)
{
	char byte;

	memset(rig.buf, 'v', sizeof(rig.buf));
	NEED(write(out, "r", 1) == 1);
	NEED(read(in, &byte, 1) == 1);
	NEED(rig.buf[0] == 'v');
}

static unsigned slot_of(pid_t pid)
{
	unsigned slot = 0;

	while (slot < CX_PROCS && rig.hca->shared->procs[slot].pid != pid)
		slot++;
	assert_in_range(slot, 0, CX_PROCS - 1);
	return slot;
}

/* It has memory at the same address, too. */
static void who_gets_the_number_of_a_dead_peer_is_not_written_to(void **state)
{
	struct child victim = start_child(keep_what_it_has), child = start_child(be_a_responder);
	struct blob peer = meet(&child);
	unsigned slot = slot_of(child.pid);
	struct bsn_cqe cqe;
	char byte;

	assert_int_equal(read(victim.from, &byte, 1), 1);
	kill_child(&child);
	rig.hca->shared->procs[slot].pid = victim.pid;
	memcpy(rig.buf, "written!", 8);
	post_to(&peer, BSN_OPCODE_RDMA_WRITE, rig.buf, 0, 8);
	while (!rig_poll(&rig.cq[0], &cqe))
		cx_step(rig.hca, 0);
	assert_int_equal(cqe.as.err.syndrome, BSN_SYNDROME_RETRY_EXCEEDED);
	assert_int_equal(write(victim.to, "d", 1), 1);
	end_child(&victim, 0);
}

/* Puts children into a PID namespace, by root's right or in a user namespace; false: it cannot. */
static bool leave_the_pid_namespace(void)
{
	char map[64];
	int fd, length = snprintf(map, sizeof(map), "%u %u 1", getuid(), getuid());

	if (!unshare(CLONE_NEWPID))
		return true;
	if (unshare(CLONE_NEWUSER | CLONE_NEWPID))
		return false;
	fd = open("/proc/self/uid_map", O_WRONLY);
	return fd >= 0 && write(fd, map, length) == length;
}

/* Each answer: 0, an errno, or -1 where there can be no namespace. */
static void join_elsewhere(int in, int out)
{
	struct cx_config config = config_of_fabric();
	struct cx_hca *hca;
	int answer = -1;
	pid_t pid;

	if (!leave_the_pid_namespace()) {
		NEED(write(out, &answer, sizeof(answer)) == sizeof(answer));
		return;
	}
	pid = fork();
	if (!pid) {
		answer = -cx_open(&config, &hca);
		NEED(write(out, &answer, sizeof(answer)) == sizeof(answer));
		strcat(fabric, "-b");
		config.fabric = fabric;
		NEED(!cx_open(&config, &hca)); /* and one of its own */
		cx_close(hca);
		_exit(0);
	}
	NEED(waitpid(pid, &answer, 0) == pid && !answer);
}

static void another_pid_namespace_is_refused(void **state)
{
	struct child child;
	int answer;

	open_rig();
	child = start_child(join_elsewhere);
	assert_int_equal(read(child.from, &answer, sizeof(answer)), sizeof(answer));
	end_child(&child, 0);
	assert_true(has_qp(rig.qp[0].number));
	if (answer < 0)
		skip();
	assert_int_equal(answer, EXDEV);
}

/* -- the lock ---------------------------------------------------------------------------------- */

static void die_with_the_lock(int in, int out)
{
	open_rig();
	tell(out);
	cx_lock(rig.hca);
	raise(SIGKILL);
}

static void a_lock_holder_that_dies_blocks_nobody(void **state)
{
	struct child child;
	struct blob peer;

	open_rig();
	child = start_child(die_with_the_lock);
	peer = hear(child.from);
	end_child(&child, SIGKILL);
	post_to(&peer, BSN_OPCODE_RDMA_WRITE, rig.buf, 0, 8);
	cx_step(rig.hca, 0);
	cx_lock(rig.hca);
	assert_null(cx_qp_find(rig.hca, peer.qpn));
	assert_null(cx_mr_find(rig.hca, peer.key));
	cx_unlock(rig.hca);
}

static void *take_the_lock(void *arg)
{
	cx_lock(rig.hca);
	return NULL;
}

/* As if the process were still exiting: the lock is lost, but the process exists. */
static void lose_the_lock(int in, int out)
{
	pthread_t thread;
	char byte;

	open_rig();
	NEED(!pthread_create(&thread, NULL, take_the_lock, NULL));
	pthread_join(thread, NULL);
	tell(out);
	NEED(read(in, &byte, 1) == 1);
}

static void who_lost_the_lock_is_taken_for_dead(void **state)
{
	struct child child;
	struct blob peer;

	open_rig();
	child = start_child(lose_the_lock);
	peer = hear(child.from);
	cx_lock(rig.hca);
	assert_null(cx_qp_find(rig.hca, peer.qpn));
	assert_null(cx_mr_find(rig.hca, peer.key));
	cx_unlock(rig.hca);
	assert_int_equal(write(child.to, "d", 1), 1);
	end_child(&child, 0);
}

static void just_die(int in, int out)
{
	open_rig();
	tell(out);
	raise(SIGKILL);
}

/* Dead processes may have left a segment of another generation. */
static void a_stale_segment_is_taken_over(void **state)
{
	struct child child = start_child(just_die);
	struct cx_config config = config_of_fabric();

	hear(child.from);
	end_child(&child, SIGKILL);
	config.generation = CX_GEN_CX7;
	rig_open(&rig, &config);
}

UNIT_MAIN(NULL, TEST(a_killed_process_times_out), TEST(an_event_for_a_killed_process_hurts_nobody),
	  TEST(who_cannot_be_asked_is_alive), TEST(another_file_is_not_asked),
	  TEST(a_process_lives_as_long_as_its_memory), TEST(a_chroot_sweeps_nobody),
	  TEST(who_gets_the_number_of_a_dead_peer_is_not_written_to),
	  TEST(another_pid_namespace_is_refused), TEST(a_lock_holder_that_dies_blocks_nobody),
	  TEST(who_lost_the_lock_is_taken_for_dead), TEST(a_stale_segment_is_taken_over))
