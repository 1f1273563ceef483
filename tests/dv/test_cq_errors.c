/* SPDX-License-Identifier: BSD-2-Clause */
/* Failed completions, hidden ones, and CQEs that cannot be read. */
#include <sched.h>

#include "../wqe/random.h"
#include "cq.h"

/* -- errors ------------------------------------------------------------------------------------ */

static uint8_t expected_status(unsigned syndrome)
{
	switch (syndrome) { /* libmlx5's own table: rdma-core providers/mlx5/cq.c */
	case 0x01:
		return IBV_WC_LOC_LEN_ERR;
	case 0x02:
		return IBV_WC_LOC_QP_OP_ERR;
	case 0x04:
		return IBV_WC_LOC_PROT_ERR;
	case 0x05:
		return IBV_WC_WR_FLUSH_ERR;
	case 0x06:
		return IBV_WC_MW_BIND_ERR;
	case 0x10:
		return IBV_WC_BAD_RESP_ERR;
	case 0x11:
		return IBV_WC_LOC_ACCESS_ERR;
	case 0x12:
		return IBV_WC_REM_INV_REQ_ERR;
	case 0x13:
		return IBV_WC_REM_ACCESS_ERR;
	case 0x14:
		return IBV_WC_REM_OP_ERR;
	case 0x15:
		return IBV_WC_RETRY_EXC_ERR;
	case 0x16:
		return IBV_WC_RNR_RETRY_EXC_ERR;
	case 0x22:
		return IBV_WC_REM_ABORT_ERR;
	default:
		return IBV_WC_GENERAL_ERR;
	}
}

static void every_syndrome_has_its_status(void **state)
{
	struct bsn_completion first = { 0 };
	struct fake *f = fake_create(NULL);

	(void)state;
	dv_sq(f->sq)->route.first_error = &first;
	for (unsigned syndrome = 0; syndrome < 256; syndrome++)
		for (int recv = 0; recv < 2; recv++) {
			const uint32_t pi = recv ? f->rq->head : f->sq->pi;

			if (recv)
				post_recvs(f, 1);
			else
				post_write(f, 70 + syndrome);
			fake_cqe_err(f, (struct bsn_cqe_err){ .qpn = FAKE_QPN,
							      .opcode = recv ? BSN_CQE_RESP_ERR
									     : BSN_CQE_REQ_ERR,
							      .syndrome = syndrome,
							      .vendor_syndrome = 0x81,
							      .hw_syndrome = 0x42,
							      .wqe_opcode = BSN_OPCODE_RDMA_WRITE,
							      .wqe_counter = pi });
			assert_int_equal(bsn_poll(f->cq, out, 8), 1);
			assert_int_equal(out[0].status, expected_status(syndrome));
			assert_int_equal(out[0].syndrome, syndrome);
			assert_int_equal(out[0].vendor_syndrome, 0x81);
			assert_int_equal(out[0].hw_syndrome, 0x42);
			assert_int_equal(out[0].id, recv ? 500 : 70 + syndrome);
			assert_int_equal(out[0].opcode, recv ? BSN_RECV : BSN_OPCODE_RDMA_WRITE);
			assert_ptr_equal(out[0].user, dv_sq(f->sq)->route.hot.user);
			assert_int_equal(out[0].qpn, FAKE_QPN);
		}
	assert_int_equal(first.id, 70);
	assert_int_equal(first.status, IBV_WC_GENERAL_ERR);
	fake_destroy(f);
}

/* -- the first failure, of two pollers --------------------------------------------------------- */

enum { FAILURES = 2000 };

struct failing {
	struct dv_route route[FAILURES];
	struct bsn_completion first[FAILURES], mine[2];
	uint32_t arrived[FAILURES];
};

struct failer {
	struct failing *f;
	unsigned which;
};

/* The two threads meet at each failure. ThreadSanitizer reports it if they are not synchronised. */
static void *fail_again_and_again(void *arg)
{
	const struct failer *me = arg;
	struct failing *f = me->f;

	for (unsigned i = 0; i < FAILURES; i++) {
		unsigned patience = 2000;

		__atomic_fetch_add(&f->arrived[i], 1, __ATOMIC_ACQ_REL);
		while (__atomic_load_n(&f->arrived[i], __ATOMIC_ACQUIRE) < 2)
			if (!--patience) {
				sched_yield();
				patience = 2000;
			}
		bsn_route_keep_error(&f->route[i].hot, &f->mine[me->which]);
	}
	return NULL;
}

/* Sends and receives of a queue may have a poller each. */
static void the_first_failure_is_one_of_them(void **state)
{
	struct failing *f = calloc(1, sizeof(*f));
	struct failer me[2] = { { f, 0 }, { f, 1 } };
	pthread_t threads[2];

	(void)state;
	assert_non_null(f);
	for (int i = 0; i < 2; i++)
		memset(&f->mine[i], 0x11 + i, sizeof(f->mine[i]));
	for (unsigned i = 0; i < FAILURES; i++)
		f->route[i].first_error = &f->first[i];
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, fail_again_and_again, &me[i]),
				 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < FAILURES; i++)
		assert_true(!memcmp(&f->first[i], &f->mine[0], sizeof(f->mine[0])) ||
			    !memcmp(&f->first[i], &f->mine[1], sizeof(f->mine[1])));
	free(f);
}

/* Unsignaled work that reports only the first error is flushed by software, in order. */
static void silent_work_is_given_back(void **state)
{
	const struct fake_attr attr = { .ce_quiet = BSN_CE_ON_FIRST_ERROR };
	const struct bsn_sge sge = { 0x2000, 8, 3 };
	struct fake *f = fake_create(&attr);
	int n;

	(void)state;
	for (uint64_t i = 0; i < 10; i++)
		assert_int_equal(bsn_write(&f->ep, &sge, &remote, i, i == 5 ? BSN_F_SIGNALED : 0),
				 0);
	assert_int_equal(bsn_ring(&f->sq->ep), 0);
	fake_cqe_err(f, (struct bsn_cqe_err){ .qpn = FAKE_QPN,
					      .opcode = BSN_CQE_REQ_ERR,
					      .syndrome = BSN_SYNDROME_REMOTE_ACCESS,
					      .wqe_counter = 2 });
	fake_cqe_err(f, (struct bsn_cqe_err){ .qpn = FAKE_QPN,
					      .opcode = BSN_CQE_REQ_ERR,
					      .syndrome = BSN_SYNDROME_FLUSHED,
					      .wqe_counter = 5 });
	for (uint64_t id = 2; id <= 5; id++) {
		assert_int_equal(bsn_poll(f->cq, out, 1), 1);
		assert_int_equal(out[0].id, id);
		assert_int_equal(out[0].status,
				 id == 2 ? IBV_WC_REM_ACCESS_ERR : IBV_WC_WR_FLUSH_ERR);
	}
	assert_int_equal(bsn_poll(f->cq, out, 8), 0);
	n = bsn_sq_give_back(f->sq, out, 8);
	assert_int_equal(n, 4);
	for (int i = 0; i < n; i++)
		assert_int_equal(out[i].id, 6 + i);
	assert_int_equal(bsn_sq_give_back(f->sq, out, 8), 0);
	assert_int_equal(bsn_sq_outstanding_bb(f->sq), 0);
	fake_destroy(f);
}

/* What the device does not know of has not failed. It may be cancelled. */
static void what_is_only_appended_is_not_given_back(void **state)
{
	const struct fake_attr attr = { .ce_quiet = BSN_CE_ON_FIRST_ERROR };
	const struct bsn_sge one = { 0x2000, 8, 3 }, sge[4] = { one, one, one, one };
	struct fake *f = fake_create(&attr);

	(void)state;
	assert_int_equal(bsn_write(&f->ep, sge, &remote, 0, BSN_F_RING), 0);
	fake_cqe_err(f, (struct bsn_cqe_err){ .qpn = FAKE_QPN,
					      .opcode = BSN_CQE_REQ_ERR,
					      .syndrome = BSN_SYNDROME_REMOTE_ACCESS });
	assert_int_equal(bsn_poll(f->cq, out, 8), 1);
	assert_int_equal(bsn_write_sgl(&f->ep, sge, 4, &remote, 1, 0), 0);
	assert_int_equal(bsn_sq_give_back(f->sq, out, 8), 0);
	assert_int_equal(bsn_cancel(&f->sq->ep), 0);
	assert_int_equal(bsn_sq_outstanding_bb(f->sq), 0);
	assert_int_equal(bsn_write(&f->ep, sge, &remote, 2, BSN_F_RING), 0);
	assert_int_equal(bsn_sq_give_back(f->sq, out, 8), 1);
	assert_int_equal(out[0].id, 2);
	assert_int_equal(out[0].status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(bsn_sq_outstanding_bb(f->sq), 0);
	fake_destroy(f);
}

/*
 * The library posts a marker to learn that all requests before it are done. The marker is never
 * shown, whether it succeeds or is flushed. Completions around it are shown.
 */
static void a_marker_is_never_shown(void **state)
{
	(void)state;
	for (int many = 0; many < 2; many++)
		for (int fails = 0; fails < 2; fails++)
			for (int one = 0; one < 2; one++) {
				const struct fake_attr attr = {
					.has_peers = many,
					.transport = many ? BSN_TRANSPORT_DC : BSN_TRANSPORT_RC
				};
				struct bsn_completion first = { 0 };
				struct fake *f = fake_create(&attr);
				struct bsn_ctrl ctrl;

				dv_sq(f->sq)->route.first_error = &first;
				for (uint32_t i = 0; i < 50; i++) {
					assert_int_equal(bsn_sq_post_marker(f->sq), 0);
					assert_int_equal(fake_send_record(f), i + 1);
					bsn_ctrl_decode(&ctrl, f->sq_ring + i % 16 * BSN_BB_SIZE);
					assert_int_equal(ctrl.opcode, BSN_OPCODE_NOP);
					assert_int_equal(ctrl.ce, BSN_CE_ALWAYS);
					assert_int_equal(bsn_sq_outstanding_bb(f->sq), 1);
					if (fails)
						fake_cqe_err(
							f, (struct bsn_cqe_err){
								   .qpn = FAKE_QPN,
								   .opcode = BSN_CQE_REQ_ERR,
								   .syndrome = BSN_SYNDROME_FLUSHED,
								   .wqe_counter = i });
					else
						fake_done(f, i, BSN_OPCODE_NOP);
					assert_int_equal(one ? bsn_poll(f->cq, out, 1)
							     : bsn_poll(f->cq, out, 8),
							 0);
					assert_int_equal(bsn_sq_outstanding_bb(f->sq), 0);
				}
				assert_int_equal(first.status, 0);
				fake_destroy(f);
			}
}

static void what_surrounds_a_marker_is_shown(void **state)
{
	struct fake *f = fake_create(NULL);
	struct bsn_sq *sq = f->sq;

	(void)state;
	for (uint32_t round = 0; round < 100; round++)
		for (int one = 0; one < 2; one++) {
			const uint16_t pi = sq->pi;
			int n = 0;

			post_write(f, 5);
			assert_int_equal(bsn_sq_post_marker(sq), 0);
			post_write(f, 6);
			for (uint16_t i = 0; i < 3; i++)
				fake_done(f, (uint16_t)(pi + i), BSN_OPCODE_RDMA_WRITE);
			if (one)
				n = bsn_poll(f->cq, out, 1) + bsn_poll(f->cq, out + 1, 1);
			else
				n = bsn_poll(f->cq, out, 8);
			assert_int_equal(n, 2);
			assert_int_equal(out[0].id, 5);
			assert_int_equal(out[1].id, 6);
			assert_int_equal(bsn_sq_outstanding_bb(sq), 0);
		}
	fake_destroy(f);
}

/* If there is no room for a marker, the first completion makes room. */
static void a_marker_finds_no_room_in_a_full_queue(void **state)
{
	struct fake *f = fake_create(NULL);

	(void)state;
	for (uint32_t i = 0; i < 16; i++)
		post_write(f, i);
	assert_int_equal(bsn_sq_post_marker(f->sq), -EAGAIN);
	fake_done(f, 0, BSN_OPCODE_RDMA_WRITE);
	assert_int_equal(bsn_poll(f->cq, out, 8), 1);
	bsn_sq_close(f->sq, ENOTCONN, "the library posts it all the same");
	assert_int_equal(bsn_sq_post_marker(f->sq), 0);
	assert_int_equal(fake_send_record(f), 17);
	fake_destroy(f);
}

/* -- what cannot be read ----------------------------------------------------------------------- */

/* Two good CQEs before the bad one are polled first. Then every poll fails. */
static void assert_refused(struct fake_attr attr, struct bsn_cqe_tail tail, uint32_t byte_count)
{
	struct fake *f = fake_create(&attr);

	post_write(f, 1);
	post_write(f, 2);
	fake_done(f, 0, BSN_OPCODE_RDMA_WRITE);
	fake_done(f, 1, BSN_OPCODE_RDMA_WRITE);
	fake_cqe_req(f, (struct bsn_cqe_req){ .qpn = FAKE_QPN,
					      .opcode = tail.opcode,
					      .format = tail.format,
					      .byte_count = byte_count });
	fake_done(f, 2, BSN_OPCODE_RDMA_WRITE);
	assert_int_equal(bsn_poll(f->cq, out, 8), 2);
	for (int i = 0; i < 10; i++)
		assert_int_equal(bsn_poll(f->cq, out, 8), -EPROTO);
	bsn_cq_kill(f->cq, EIO);
	assert_int_equal(bsn_poll(f->cq, out, 8), -EPROTO);
	fake_destroy(f);
}

static void what_cannot_be_read_is_refused_for_good(void **state)
{
	const struct fake_attr plain = { 0 }, wide = { .cqe_stride = 128 },
			       deaf = { .no_recv = true };
	const uint32_t foreign[] = { 5, 6, 7, 8, 9, 10, 11, 12 };

	(void)state;
	for (uint32_t opcode = 0; opcode < 5; opcode++) {
		const struct bsn_cqe_tail compressed = { .opcode = opcode,
							 .format = BSN_CQE_COMPRESSED };
		const struct bsn_cqe_tail of_32 = { .opcode = opcode, .format = BSN_CQE_INLINE_32 };
		const struct bsn_cqe_tail of_64 = { .opcode = opcode, .format = BSN_CQE_INLINE_64 };

		assert_refused(plain, compressed, 0);
		assert_refused(plain, of_32, 33);
		assert_refused(plain, of_32, UINT32_MAX);
		assert_refused(plain, of_64, 1);
		assert_refused(wide, of_32, 33);
		assert_refused(wide, of_64, 65);
	}
	for (unsigned i = 0; i < sizeof(foreign) / sizeof(*foreign); i++)
		assert_refused(plain, (struct bsn_cqe_tail){ .opcode = foreign[i] }, 0);
	assert_refused(deaf, (struct bsn_cqe_tail){ .opcode = BSN_CQE_RESP_SEND }, 0);
	assert_refused(deaf, (struct bsn_cqe_tail){ .opcode = BSN_CQE_RESP_ERR }, 0);
}

static void a_dead_queue_gives_what_came_first(void **state)
{
	(void)state;
	for (int at_once = 1; at_once < 8; at_once++) {
		const struct fake_attr attr = { .cqe_count = 8 };
		struct fake *f = fake_create(&attr);
		int got = 0;

		for (uint32_t i = 0; i < 3; i++) { /* the ring's end is among what is left */
			post_write(f, i);
			fake_done(f, i, BSN_OPCODE_RDMA_WRITE);
			assert_int_equal(bsn_poll(f->cq, out, 8), 1);
		}
		for (uint32_t i = 3; i < 10; i++) {
			post_write(f, i);
			fake_done(f, i, BSN_OPCODE_RDMA_WRITE);
		}
		bsn_cq_kill(f->cq, EIO);
		bsn_cq_kill(f->cq, EOVERFLOW); /* the first cause stays */
		while (got < 7) {
			const int n = bsn_poll(f->cq, out, at_once);
			assert_true(n > 0);
			for (int i = 0; i < n; i++)
				assert_int_equal(out[i].id, 3 + got++);
		}
		assert_int_equal(bsn_poll(f->cq, out, at_once), -EIO);
		assert_int_equal(bsn_poll(f->cq, out, at_once), -EIO);
		fake_done(f, 10, BSN_OPCODE_RDMA_WRITE); /* late, but whole */
		assert_int_equal(bsn_poll(f->cq, out, at_once), 1);
		assert_int_equal(bsn_poll(f->cq, out, at_once), -EIO);
		fake_destroy(f);
	}
}

/* CQEs of an earlier lap are not polled, of whatever kind they are. */
static void a_dead_queue_gives_nothing_of_an_earlier_lap(void **state)
{
	static const uint32_t kinds[] = { BSN_CQE_REQ,           BSN_CQE_RESP_SEND,
					  BSN_CQE_RESP_SEND_IMM, BSN_CQE_RESP_SEND_INV,
					  BSN_CQE_RESP_WR_IMM,   BSN_CQE_REQ_ERR,
					  BSN_CQE_RESP_ERR };

	(void)state;
	for (unsigned k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
		for (uint32_t laps = 1; laps <= 2; laps++) {
			const struct fake_attr attr = { .cqe_count = 8 };
			struct fake *f = fake_create(&attr);

			for (uint32_t i = 0; i < 8 * laps; i++) {
				post_write(f, i);
				post_recvs(f, 1);
				fake_cqe_resp(f, (struct bsn_cqe_resp){ .qpn = FAKE_QPN,
									.opcode = kinds[k],
									.wqe_counter = i });
				assert_int_equal(bsn_poll(f->cq, out, 8), 1);
			}
			bsn_cq_kill(f->cq, EIO);
			assert_int_equal(bsn_poll(f->cq, out, 1), -EIO);
			assert_int_equal(bsn_poll(f->cq, out, 8), -EIO);
			fake_destroy(f);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_syndrome_has_its_status),
		cmocka_unit_test(the_first_failure_is_one_of_them),
		cmocka_unit_test(silent_work_is_given_back),
		cmocka_unit_test(what_is_only_appended_is_not_given_back),
		cmocka_unit_test(a_marker_is_never_shown),
		cmocka_unit_test(what_surrounds_a_marker_is_shown),
		cmocka_unit_test(a_marker_finds_no_room_in_a_full_queue),
		cmocka_unit_test(what_cannot_be_read_is_refused_for_good),
		cmocka_unit_test(a_dead_queue_gives_what_came_first),
		cmocka_unit_test(a_dead_queue_gives_nothing_of_an_earlier_lap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
