/* SPDX-License-Identifier: BSD-2-Clause */
/* How fast the model is, stepped in one process: WRITEs of 8 bytes and of 64 KB. */
#include <stdio.h>
#include <time.h>

#include "unit.h"
#include "rig.h"

enum { BIG = 65536, BATCH = RIG_SQ_BB };

static uint8_t from[BIG], to[BIG];

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static uint32_t register_memory(struct rig *rig, void *at)
{
	const struct cx_mr_attr attr = { .pdn = rig->pd,
					 .va = (uintptr_t)at,
					 .iova = (uintptr_t)at,
					 .length = BIG,
					 .access = RIG_ACCESS };
	uint32_t key;

	assert_int_equal(cx_mr_create(rig->hca, &attr, &key), 0);
	return key;
}

/* Posts, executes and polls until a half second has passed; WRITEs per second. */
static double measure(struct rig *rig, uint32_t lkey, uint32_t rkey, uint32_t len)
{
	const double start = seconds();
	uint64_t count = 0;
	double now;

	do {
		for (unsigned i = 0; i < BATCH; i++) {
			struct rig_wqe wqe;
			struct bsn_cqe cqe;

			rig_begin(&wqe, BSN_OPCODE_RDMA_WRITE, BSN_CE_ALWAYS);
			rig_raddr(&wqe, to, rkey);
			rig_data(&wqe, from, len, lkey);
			rig_post(&rig->qp[0], &wqe);
			assert_int_equal(cx_step(rig->hca, 0), 1);
			assert_true(rig_poll(&rig->cq[0], &cqe));
			count++;
		}
		now = seconds();
	} while (now < start + 0.5);
	return (double)count / (now - start);
}

int main(void)
{
	static struct rig rig;
	uint32_t lkey, rkey;
	double rate;

	rig_setup(&rig, IBV_QPT_RC);
	lkey = register_memory(&rig, from);
	rkey = register_memory(&rig, to);
	rate = measure(&rig, lkey, rkey, 8);
	printf("WRITE 8 B: %.2f million a second\n", rate * 1e-6);
	rate = measure(&rig, lkey, rkey, BIG);
	printf("WRITE 64 KB: %.2f GB/s\n", rate * BIG * 1e-9);
	rig_teardown(&rig);
	return 0;
}
