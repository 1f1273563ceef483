/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a step of a passive device costs more for each queue pair, and for each CQ, that has nothing
 * to do. tests/engine/more.py counts the instructions of each function here.
 */
#include "unit.h"
#include "rig.h"

enum { MORE = 1024, TIMES = 4 }; /* more.py divides by the product */

/* Valgrind finds the functions by these names. */
#define COUNTED __attribute__((noinline, visibility("default")))
void idle_of_few(struct rig *rig), busy_of_few(struct rig *rig);
void idle_of_qps(struct rig *rig), busy_of_qps(struct rig *rig), idle_of_cqs(struct rig *rig);

static void step_idly(struct rig *rig)
{
	for (unsigned i = 0; i < TIMES; i++)
		assert_int_equal(cx_step(rig->hca, 0), 0);
}

static void step_busily(struct rig *rig)
{
	struct bsn_cqe cqe;

	for (unsigned i = 0; i < TIMES; i++) {
		rig_post_write(rig, &rig->qp[0], rig->buf + 1000, rig->buf, 8, BSN_CE_ALWAYS);
		assert_int_equal(cx_step(rig->hca, 0), 1);
		assert_true(rig_poll(&rig->cq[0], &cqe));
	}
}

COUNTED void idle_of_few(struct rig *rig)
{
	step_idly(rig);
}

COUNTED void busy_of_few(struct rig *rig)
{
	step_busily(rig);
}

COUNTED void idle_of_qps(struct rig *rig)
{
	step_idly(rig);
}

COUNTED void busy_of_qps(struct rig *rig)
{
	step_busily(rig);
}

COUNTED void idle_of_cqs(struct rig *rig)
{
	step_idly(rig);
}

int main(void)
{
	static struct rig rig;
	static struct rig_qp qps[MORE];
	static struct rig_cq cqs[MORE];

	rig_setup(&rig, IBV_QPT_RC);
	step_idly(&rig);
	idle_of_few(&rig);
	busy_of_few(&rig);
	for (unsigned i = 0; i < MORE; i++) {
		rig_qp_create(&rig, &qps[i]);
		rig_qp_connect(&rig, &qps[i], rig.qp[1].number);
	}
	step_idly(&rig);
	idle_of_qps(&rig);
	busy_of_qps(&rig);
	for (unsigned i = 0; i < MORE; i++)
		rig_qp_destroy(&rig, &qps[i]);
	for (unsigned i = 0; i < MORE; i++)
		rig_cq_create(&rig, &cqs[i], BSN_CQE_SIZE);
	step_idly(&rig);
	idle_of_cqs(&rig);
	rig_teardown(&rig);
	return 0;
}
