/* SPDX-License-Identifier: BSD-2-Clause */
/* Two connected queue pairs of the model, and what their CQEs must say. */
#ifndef TESTS_SOFTCX_PAIR_H
#define TESTS_SOFTCX_PAIR_H

#include "unit.h"
#include "datasheet.h"
#include "rig.h"

static struct rig rig;
static int allowed_lint;

static inline int setup(void **state)
{
	allowed_lint = 0;
	rig_setup(&rig, (enum ibv_qp_type)given(state));
	return 0;
}

static inline int teardown(void **state)
{
	assert_int_equal(cx_lint_count(rig.hca), allowed_lint);
	rig_teardown(&rig);
	return 0;
}

static inline void expect_nothing(struct rig_cq *cq)
{
	assert_false(rig_poll(cq, NULL));
}

static inline void expect_good(struct rig_cq *cq)
{
	assert_true(rig_next(cq).tail.opcode <= BSN_CQE_RESP_SEND_INV);
}

static inline void post(uint32_t opcode, uint32_t rkey, uint32_t lkey, uint32_t len)
{
	rig_post_one(&rig.qp[0], opcode, rig.buf, rkey, rig.buf, len, lkey);
}

/* Bytes that differ from each other, and by `seed`. */
static inline void fill(uint8_t *bytes, size_t len, unsigned seed)
{
	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)(i * 7 + seed * 31 + 1);
}

#define TEST(f)    GIVEN(f, IBV_QPT_RC, setup, teardown)
#define TEST_UC(f) GIVEN(f, IBV_QPT_UC, setup, teardown)
#define TEST_UD(f) GIVEN(f, IBV_QPT_UD, setup, teardown)

#endif
