/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Steps of a passive device: a queue at rest is looked into only when its record moves, and no step
 * misses what happens to it meanwhile.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "unit.h"
#include "bsn_syndrome.h"
#include "nic/process.h"
#include "nic/tables.h"
#include "rig.h"

enum { QPS = 6 };

static struct rig rig, peer;
static struct rig_qp qps[QPS]; /* each is connected to the next one or the one before */

static int setup(void **state)
{
	const struct cx_config config = rig_config();

	rig_open(&rig, &config);
	for (unsigned i = 0; i < QPS; i++)
		rig_qp_create(&rig, &qps[i]);
	for (unsigned i = 0; i < QPS; i++)
		rig_qp_connect(&rig, &qps[i], qps[i ^ 1].number);
	return 0;
}

static int teardown(void **state)
{
	assert_int_equal(cx_lint_count(rig.hca), 0);
	rig_teardown(&rig);
	return 0;
}

static void post(struct rig_qp *qp)
{
	rig_post_write(&rig, qp, rig.buf + 1000, rig.buf, 8, BSN_CE_ALWAYS);
}

static void expect(const struct rig_qp *qp, unsigned opcode)
{
	const struct bsn_cqe cqe = rig_next(&rig.cq[0]);

	assert_int_equal(cqe.tail.opcode, opcode);
	assert_int_equal(opcode == BSN_CQE_REQ ? cqe.as.req.qpn : cqe.as.err.qpn, qp->number);
}

static void post_and_expect(struct rig_qp *qp)
{
	post(qp);
	assert_int_equal(cx_step(rig.hca, 0), 1);
	expect(qp, BSN_CQE_REQ);
}

static void all_come_to_rest(void)
{
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(cx_step(rig.hca, 0), 0);
}

/* The newest one first, whichever have rested. */
static void queues_run_in_their_order(void **state)
{
	for (unsigned some = 1; some < 1u << QPS; some++) {
		for (unsigned i = 0; i < QPS; i++)
			if (some & 1u << i)
				post(&qps[i]);
		assert_int_equal(cx_step(rig.hca, 0), __builtin_popcount(some));
		for (unsigned i = QPS; i-- > 0;)
			if (some & 1u << i)
				expect(&qps[i], BSN_CQE_REQ);
		assert_int_equal(cx_step(rig.hca, 0), 0);
	}
}

/* Of each of the queues, which took their turns one WQE at a time, the rest. */
static void what_a_limit_left_is_executed_by_the_next_steps(void **state)
{
	all_come_to_rest();
	for (unsigned i = 0; i < QPS; i++)
		for (unsigned wqes = 0; wqes < 3; wqes++)
			post(&qps[i]);
	for (unsigned i = 0; i < 3 * QPS; i++) {
		assert_int_equal(cx_step(rig.hca, 1), 1);
		expect(&qps[QPS - 1 - i / 3], BSN_CQE_REQ);
	}
	assert_int_equal(cx_step(rig.hca, 1), 0);
}

static void queues_come_and_go_between_steps(void **state)
{
	static struct rig_qp late[2];
	uint32_t number;

	all_come_to_rest();
	for (unsigned i = 0; i < 2; i++) {
		rig_qp_create(&rig, &late[i]);
		assert_int_equal(cx_step(rig.hca, 0), 0);
	}
	for (unsigned i = 0; i < 2; i++) {
		rig_qp_connect(&rig, &late[i], late[!i].number);
		assert_int_equal(cx_step(rig.hca, 0), 0);
	}
	post_and_expect(&late[0]);
	number = late[0].number;
	rig_qp_destroy(&rig, &late[0]);
	late[0].number = number;
	post(&late[0]); /* to none */
	assert_int_equal(cx_step(rig.hca, 0), 0);
	post_and_expect(&qps[0]);
}

static void a_queue_starts_anew(void **state)
{
	struct rig_qp *const qp = &qps[2];

	for (unsigned i = 0; i < 3; i++)
		post_and_expect(qp);
	all_come_to_rest();
	rig_qp_move(&rig, qp, IBV_QPS_RESET);
	qp->pi = qp->rq_pi = 0;
	memset(qp->db, 0, sizeof(qp->db));
	rig_qp_connect(&rig, qp, qps[3].number);
	for (unsigned i = 0; i < 3; i++)
		post_and_expect(qp);
}

/* With what was posted meanwhile. */
static void a_queue_goes_on_that_was_stopped(void **state)
{
	all_come_to_rest();
	rig_qp_move(&rig, &qps[1], IBV_QPS_SQD);
	post(&qps[1]);
	assert_int_equal(cx_step(rig.hca, 0), 0);
	post_and_expect(&qps[0]);
	rig_qp_move(&rig, &qps[1], IBV_QPS_RTS);
	assert_int_equal(cx_step(rig.hca, 0), 1);
	expect(&qps[1], BSN_CQE_REQ);
}

static uint8_t arm_of(const struct rig_cq *cq)
{
	uint8_t arm;

	cx_lock(rig.hca);
	arm = cx_cq_find(rig.hca, cq->number)->arm;
	cx_unlock(rig.hca);
	return arm;
}

static void a_cq_that_was_made_between_steps_is_armed(void **state)
{
	static struct rig_cq late;

	all_come_to_rest();
	rig_cq_create(&rig, &late, BSN_CQE_SIZE);
	for (unsigned i = 0; i < 2; i++) {
		struct rig_cq *cq = i ? &rig.cq[0] : &late;
		assert_int_equal(arm_of(cq), CX_ARM_NONE);
		ENCODE(dbr_cq_arm, (uint8_t *)cq->db + BSN_DBR_CQ_ARM_OFFSET, .sn = 1);
		all_come_to_rest();
		assert_int_equal(arm_of(cq), CX_ARM_ANY);
	}
}

/* Nothing publishes receives, and their record is not the send queue's. */
static void receives_are_flushed_that_come_after_the_error(void **state)
{
	all_come_to_rest();
	rig_qp_move(&rig, &qps[4], IBV_QPS_ERR);
	all_come_to_rest();
	rig_post_recv(&rig, &qps[4], rig.buf, 8);
	assert_int_equal(cx_step(rig.hca, 0), 0);
	assert_int_equal(rig_next(&rig.cq[1]).as.err.syndrome, BSN_SYNDROME_FLUSHED);
	post(&qps[4]);
	assert_int_equal(cx_step(rig.hca, 0), 0);
	expect(&qps[4], BSN_CQE_REQ_ERR);
}

/* A record that goes away takes nothing from the other queues, and may come back. */
static void a_record_may_go_away(void **state)
{
	const size_t size = (size_t)sysconf(_SC_PAGESIZE);
	uint32_t *const page =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct cx_qp_attr attr = rig.attr;
	static struct rig_qp lost;
	struct rig_wqe wqe;

	assert_ptr_not_equal(page, MAP_FAILED);
	memset(&lost, 0, sizeof(lost));
	attr.buf = (uintptr_t)lost.ring;
	attr.db = (uintptr_t)page;
	assert_int_equal(cx_qp_create(rig.hca, &attr, &lost.number), 0);
	rig_qp_connect(&rig, &lost, lost.number);
	all_come_to_rest();
	sigaction(SIGSEGV, &(struct sigaction){ .sa_handler = rig_handle_fault }, NULL);
	assert_int_equal(mprotect(page, size, PROT_NONE), 0);
	for (unsigned i = 0; i < QPS; i++)
		post_and_expect(&qps[i]);
	all_come_to_rest();
	rig_begin_write(&rig, &wqe, rig.buf + 1000, rig.buf, 8, BSN_CE_ALWAYS);
	rig_post(&lost, &wqe);
	assert_int_equal(cx_step(rig.hca, 0), 0);
	assert_int_equal(mprotect(page, size, PROT_READ | PROT_WRITE), 0);
	ENCODE(dbr_wq, (uint8_t *)page + BSN_DBR_SEND_OFFSET, .index = 1);
	assert_int_equal(cx_step(rig.hca, 0), 1);
	munmap(page, size);
}

/* -- processes --------------------------------------------------------------------------------- */

static void open_both(void)
{
	char fabric[32];
	struct cx_config config = rig_config();

	snprintf(fabric, sizeof(fabric), "test-steps-%d", (int)getpid());
	config.private_fabric = false;
	config.fabric = fabric;
	rig_open(&rig, &config);
	rig_open(&peer, &config);
	rig_qp_create(&rig, &rig.qp[0]);
	rig_qp_create(&peer, &peer.qp[0]);
	rig_qp_connect(&rig, &rig.qp[0], peer.qp[0].number);
	rig_qp_connect(&peer, &peer.qp[0], rig.qp[0].number);
}

/* Its own process does not do it. */
static void a_peer_fails_a_queue_at_rest(void **state)
{
	open_both();
	all_come_to_rest();
	rig_post_one(&peer.qp[0], BSN_OPCODE_RDMA_WRITE, rig.buf, 0x7654321, peer.buf, 8, peer.key);
	cx_step(peer.hca, 0);
	assert_int_equal(rig_qp_state(&rig, &rig.qp[0]), IBV_QPS_ERR);
	rig_post_recv(&rig, &rig.qp[0], rig.buf, 8);
	assert_int_equal(cx_step(rig.hca, 0), 0);
	assert_int_equal(rig_next(&rig.cq[1]).as.err.syndrome, BSN_SYNDROME_FLUSHED);
	rig_teardown(&peer);
	rig_teardown(&rig);
}

static int be_child(void)
{
	uint32_t pd;

	cx_after_fork_child(rig.hca);
	if (cx_pd_create(rig.hca, &pd))
		return 1;
	return cx_step(rig.hca, 0) ? 2 : 0;
}

static void a_child_steps_none_of_its_parents_queues(void **state)
{
	pid_t pid;
	int status;

	open_both();
	all_come_to_rest();
	post(&rig.qp[0]);
	pid = fork();
	if (!pid)
		_exit(be_child());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(cx_step(rig.hca, 0), 1);
	rig_teardown(&peer);
	rig_teardown(&rig);
}

#define STEPS(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

UNIT_MAIN(NULL, STEPS(queues_run_in_their_order),
	  STEPS(what_a_limit_left_is_executed_by_the_next_steps),
	  STEPS(queues_come_and_go_between_steps), STEPS(a_queue_starts_anew),
	  STEPS(a_queue_goes_on_that_was_stopped), STEPS(a_cq_that_was_made_between_steps_is_armed),
	  STEPS(receives_are_flushed_that_come_after_the_error), STEPS(a_record_may_go_away),
	  UNIT(a_peer_fails_a_queue_at_rest), UNIT(a_child_steps_none_of_its_parents_queues))
