/* SPDX-License-Identifier: BSD-2-Clause */
/* The model between processes: they meet on a fabric by name, and reach each other's memory. */
#define _GNU_SOURCE 1
#include "processes.h"
#include "nic/process.h"

static void expect_good(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(rig_next(&rig.cq[0]).tail.opcode, BSN_CQE_REQ);
}

static void processes_reach_each_others_memory(void **state)
{
	struct child child = start_child(be_a_responder);
	struct blob peer = meet(&child);

	memcpy(rig.buf, "written!", 8);
	post_to(&peer, BSN_OPCODE_RDMA_WRITE, rig.buf, 0, 8);
	post_to(&peer, BSN_OPCODE_RDMA_READ, rig.buf + 50, 100, 8);
	memcpy(rig.buf + 20, "message", 7);
	post_to(&peer, BSN_OPCODE_SEND, rig.buf + 20, 0, 7);
	assert_int_equal(cx_step(rig.hca, 0), 3);
	expect_good(3);
	assert_memory_equal(rig.buf + 50, "readable", 8);
	assert_int_equal(write(child.to, "d", 1), 1);
	end_child(&child, 0);
}

/* -- the lock ---------------------------------------------------------------------------------- */

static void a_fabric_is_of_one_kind(void **state)
{
	struct cx_config config = config_of_fabric();
	struct cx_hca *other;

	open_rig();
	config.generation = CX_GEN_CX7;
	assert_int_equal(cx_open(&config, &other), -EBUSY);
	config = config_of_fabric();
	config.link = CX_LINK_ROCE;
	assert_int_equal(cx_open(&config, &other), -EBUSY);
	strcat(fabric, "-b"); /* another name, another fabric */
	assert_int_equal(cx_open(&config, &other), 0);
	cx_close(other);
}

static void a_fabric_has_one_table_of_keys(void **state)
{
	struct cx_config config = config_of_fabric();
	struct cx_hca *first, *second, *third;

	config.fault_plan = "pkeys 0xffff 0x8001";
	assert_int_equal(cx_open(&config, &first), 0);
	config.fault_plan = NULL; /* takes what is there */
	assert_int_equal(cx_open(&config, &second), 0);
	assert_int_equal(cx_pkey_get(cx_config(second), 1), 0x8001);
	config.fault_plan = "pkeys 0xffff 0x8001; drop";
	assert_int_equal(cx_open(&config, &third), 0);
	cx_close(third);
	config.fault_plan = "pkeys 0xffff 0x8002";
	assert_int_equal(cx_open(&config, &third), -EBUSY);
	config.fault_plan = "gids fe80::1";
	assert_int_equal(cx_open(&config, &third), -EBUSY);
	cx_close(second);
	cx_close(first);
}

static void the_last_one_removes_the_segment(void **state)
{
	const struct cx_config config = config_of_fabric();
	struct cx_hca *first, *second;
	char path[256];

	assert_int_equal(cx_open(&config, &first), 0);
	assert_int_equal(cx_open(&config, &second), 0);
	snprintf(path, sizeof(path), "%s", first->segment_path);
	cx_close(first);
	assert_int_equal(access(path, F_OK), 0);
	cx_close(second);
	assert_int_equal(access(path, F_OK), -1);
}

static void bad_names_are_refused(void **state)
{
	static const char *const names[] = { "", "a/b", "../x" };
	struct cx_config config = config_of_fabric();
	struct cx_hca *hca;

	for (unsigned i = 0; i < 3; i++) {
		config.fabric = names[i];
		assert_int_equal(cx_open(&config, &hca), -EINVAL);
	}
}

static void use_what_the_parent_made(int in, int out)
{
	uint32_t pd;

	cx_after_fork_child(rig.hca);
	NEED(cx_qp_destroy(rig.hca, rig.qp[0].number) == -EINVAL);
	NEED(cx_step(rig.hca, 0) == 0);
	NEED(cx_pd_create(rig.hca, &pd) == 0);
	NEED(cx_pd_destroy(rig.hca, pd) == 0);
	cx_close(rig.hca);
}

static void a_forked_child_owns_nothing_of_its_parents(void **state)
{
	struct child child;

	open_rig();
	child = start_child(use_what_the_parent_made);
	end_child(&child, 0);
	assert_int_equal(rig_qp_state(&rig, &rig.qp[0]), IBV_QPS_RESET);
}

/* Both sides write into each other at once, each executing its own queue. */
static void hammer(int in, int out)
{
	struct bsn_cqe cqe;
	const struct blob peer = open_and_connect(in, out);
	char byte;

	NEED(write(out, "r", 1) == 1);
	NEED(read(in, &byte, 1) == 1);
	for (unsigned i = 0; i < 5000; i++) {
		post_to(&peer, BSN_OPCODE_RDMA_WRITE, rig.buf, 64, 32);
		cx_step(rig.hca, 0);
		NEED(rig_poll(&rig.cq[0], &cqe) && cqe.tail.opcode == BSN_CQE_REQ);
	}
	NEED(write(out, "d", 1) == 1);
	NEED(read(in, &byte, 1) == 1);
	rig_teardown(&rig);
}

static void both_sides_may_write_at_once(void **state)
{
	struct child child = start_child(hammer);
	struct blob peer = meet(&child);
	char byte;

	assert_int_equal(write(child.to, "g", 1), 1);
	for (unsigned i = 0; i < 5000; i++) {
		post_to(&peer, BSN_OPCODE_RDMA_WRITE, rig.buf, 64, 32);
		cx_step(rig.hca, 0);
		expect_good(1);
	}
	assert_int_equal(read(child.from, &byte, 1), 1);
	assert_int_equal(write(child.to, "e", 1), 1);
	end_child(&child, 0);
}

UNIT_MAIN(NULL, TEST(processes_reach_each_others_memory), TEST(a_fabric_is_of_one_kind),
	  TEST(a_fabric_has_one_table_of_keys), TEST(the_last_one_removes_the_segment),
	  TEST(bad_names_are_refused), TEST(a_forked_child_owns_nothing_of_its_parents),
	  TEST(both_sides_may_write_at_once))
