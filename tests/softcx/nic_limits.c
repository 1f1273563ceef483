/* SPDX-License-Identifier: BSD-2-Clause */
/* The model alone: how much it holds, what is in use, and what harms it. */
#include <endian.h>
#include <signal.h>
#include <sys/mman.h>

#include "pair.h"

/* Registered memory that the program has unmapped fails the request, not the process. */
static void unmapped_memory_fails_the_request(void **state)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct cx_mr_attr attr = { .pdn = rig.pd, .length = 4096, .access = RIG_ACCESS };
	struct sigaction action = { .sa_handler = rig_handle_fault, .sa_flags = SA_NODEFER };
	uint32_t key;

	sigaction(SIGSEGV, &action, NULL);
	assert_true(page != MAP_FAILED);
	attr.va = attr.iova = (uintptr_t)page;
	assert_int_equal(cx_mr_create(rig.hca, &attr, &key), 0);
	munmap(page, 4096);
	rig_post_write(&rig, &rig.qp[0], rig.buf, rig.buf + 8, 8, BSN_CE_ALWAYS);
	rig_post_one(&rig.qp[0], BSN_OPCODE_RDMA_WRITE, page, key, rig.buf, 8, rig.key);
	rig_run(&rig);
	expect_good(&rig.cq[0]);
	rig_expect_error(&rig.cq[0], BSN_CQE_REQ_ERR, 1, BSN_SYNDROME_REMOTE_OPERATION, 0x89);
}

/* Whatever lies in the rings and records, the model neither crashes nor hangs. */
static void random_rings_do_no_harm(void **state)
{
	uint32_t seed = 20250101;

	print_message("# seed %u\n", seed);
	for (unsigned round = 0; round < 3000; round++) {
		for (unsigned q = 0; q < 2; q++) {
			uint32_t *words = (uint32_t *)rig.qp[q].ring;
			for (size_t i = 0; i < sizeof(rig.qp[q].ring) / 4; i++) {
				seed = seed * 1664525 + 1013904223;
				words[i] = seed >> 8 & 1 ? seed : htobe32(seed >> 20);
			}
			for (unsigned bb = 0; bb < RIG_SQ_BB; bb++) /* mostly known opcodes */
				words[RIG_RQ * RIG_RQ_STRIDE / 4 + bb * 16] =
					htobe32((seed >> bb) % 24 | bb << 8);
			words = rig.qp[q].db;
			words[0] = htobe32((seed >> 16) % RIG_RQ);
			words[1] = htobe32(seed >> 24 & 15);
		}
		cx_step(rig.hca, 0);
		cx_step(rig.hca, 0);
		allowed_lint = (int)cx_lint_count(rig.hca);
		rig_teardown(&rig);
		rig_setup(&rig, round % 3 == 0   ? IBV_QPT_UD
				: round % 3 == 1 ? IBV_QPT_UC
						 : IBV_QPT_RC);
	}
	allowed_lint = 0;
}

/* 32 CQEs fit. One more ends the CQ, and the queue pairs that complete to it. */
static void an_overrun_kills_the_cq(void **state)
{
	unsigned i, count = 0;
	struct bsn_cqe cqe;

	for (i = 0; i < RIG_CQES + 1; i++) {
		post(BSN_OPCODE_RDMA_WRITE, rig.key, rig.key, 8);
		rig_run(&rig);
	}
	assert_int_equal(rig_qp_state(&rig, &rig.qp[0]), IBV_QPS_ERR);
	while (rig_poll(&rig.cq[0], &cqe))
		count++;
	assert_int_equal(count, RIG_CQES);
	post(BSN_OPCODE_RDMA_WRITE, rig.key, rig.key, 8);
	rig_run(&rig);
	expect_nothing(&rig.cq[0]);
}

#define ASSERT_FITS(count, create)                                                                 \
	do {                                                                                       \
		for (unsigned n_ = 0; n_ < (count); n_++)                                          \
			assert_int_equal(create, 0);                                               \
		assert_int_equal(create, -ENOMEM);                                                 \
	} while (0)

/* The limits of ibv_query_device(), less the objects of the bench. */
static void the_device_holds_what_its_data_sheet_says(void **state)
{
	const struct cx_mr_attr mr = { .pdn = rig.pd, .length = 8 };
	const struct cx_cq_attr cq = { .buf = (uintptr_t)rig.cq[0].buf,
				       .db = (uintptr_t)rig.cq[0].db,
				       .entries = RIG_CQES,
				       .cqe_size = BSN_CQE_SIZE };
	const struct cx_srq_attr srq = { .pdn = rig.pd,
					 .buf = (uintptr_t)rig.buf,
					 .db = (uintptr_t)rig.buf,
					 .count = 4,
					 .stride_bytes = 32 };
	struct cx_qp_attr qp = rig.attr;
	uint32_t number;

	qp.buf = (uintptr_t)rig.qp[0].ring;
	qp.db = (uintptr_t)rig.qp[0].db;
	ASSERT_FITS(CX_MAX_QPS - 2, cx_qp_create(rig.hca, &qp, &number));
	ASSERT_FITS(CX_MAX_CQS - 2, cx_cq_create(rig.hca, &cq, &number));
	ASSERT_FITS(CX_MAX_SRQS, cx_srq_create(rig.hca, &srq, &number));
	ASSERT_FITS(CX_MAX_MRS - 1, cx_mr_create(rig.hca, &mr, &number));
	ASSERT_FITS(CX_MAX_PDS - 1, cx_pd_create(rig.hca, &number));
}

static void objects_in_use_are_not_destroyed(void **state)
{
	assert_int_equal(cx_pd_destroy(rig.hca, rig.pd), -EBUSY);
	assert_int_equal(cx_cq_destroy(rig.hca, rig.cq[0].number), -EBUSY);
	rig_qp_destroy(&rig, &rig.qp[0]);
	rig_qp_destroy(&rig, &rig.qp[1]);
	assert_int_equal(cx_cq_destroy(rig.hca, rig.cq[0].number), 0);
	assert_int_equal(cx_cq_destroy(rig.hca, rig.cq[0].number), -EINVAL);
	assert_int_equal(cx_pd_destroy(rig.hca, rig.pd), -EBUSY);
	assert_int_equal(cx_mr_destroy(rig.hca, rig.key), 0);
	assert_int_equal(cx_pd_destroy(rig.hca, rig.pd), 0);
}

UNIT_MAIN(NULL, TEST(unmapped_memory_fails_the_request), TEST(random_rings_do_no_harm),
	  TEST(an_overrun_kills_the_cq), TEST(the_device_holds_what_its_data_sheet_says),
	  TEST(objects_in_use_are_not_destroyed))
