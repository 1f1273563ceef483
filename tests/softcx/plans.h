/* SPDX-License-Identifier: BSD-2-Clause */
/* Two connected queue pairs, a plan of faults, and a trace. */
#ifndef TESTS_SOFTCX_PLANS_H
#define TESTS_SOFTCX_PLANS_H

#include "trace.h"
#include "rig.h"

static struct rig rig;

static inline void start_mode(const char *plan, bool passive)
{
	struct cx_config config = rig_config();

	config.passive = passive;
	config.fault_plan = plan;
	config.trace_path = make_trace();
	rig_open(&rig, &config);
	rig_pair(&rig);
}

static inline void start(const char *plan)
{
	start_mode(plan, true);
}

static inline int stop(void **state)
{
	rig_teardown(&rig);
	unlink(trace_path);
	return 0;
}

static inline void write_once(void)
{
	rig_post_write(&rig, &rig.qp[0], rig.buf + 64, rig.buf, 8, BSN_CE_ALWAYS);
	cx_step(rig.hca, 0);
}

static inline void expect_good(void)
{
	assert_int_equal(rig_next(&rig.cq[0]).tail.opcode, BSN_CQE_REQ);
}

static inline void expect_nothing(void)
{
	assert_false(rig_poll(&rig.cq[0], NULL));
}

static inline void expect_in_trace(const char *text)
{
	const char *all = read_trace();

	if (!strstr(all, text))
		fail_msg("'%s' is not in:\n%s", text, all);
}

#endif
