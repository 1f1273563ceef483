/* SPDX-License-Identifier: BSD-2-Clause */
/* Failed completions, hidden ones, and CQEs that cannot be read. */
#include <sched.h>

#include "../wqe/random.h"
#include "cq.h"

/* -- errors ------------------------------------------------------------------------------------ */

/* libmlx5's own table: rdma-core providers/mlx5/cq.c */
static const uint8_t statuses[256] = {
	[0x01] = IBV_WC_LOC_LEN_ERR,    [0x02] = IBV_WC_LOC_QP_OP_ERR,
	[0x04] = IBV_WC_LOC_PROT_ERR,   [0x05] = IBV_WC_WR_FLUSH_ERR,
	[0x06] = IBV_WC_MW_BIND_ERR,    [0x10] = IBV_WC_BAD_RESP_ERR,
	[0x11] = IBV_WC_LOC_ACCESS_ERR, [0x12] = IBV_WC_REM_INV_REQ_ERR,
	[0x13] = IBV_WC_REM_ACCESS_ERR, [0x14] = IBV_WC_REM_OP_ERR,
	[0x15] = IBV_WC_RETRY_EXC_ERR,  [0x16] = IBV_WC_RNR_RETRY_EXC_ERR,
	[0x22] = IBV_WC_REM_ABORT_ERR,
};

static void every_syndrome_has_its_status(void **state)
{
	struct bsn_completion first = { 0 };
	OWNED struct fake *f = fake_create(NULL);

	dv_sq(f->sq)->route.first_error = &first;
	for (unsigned syndrome = 0; syndrome < 256; syndrome++)
		for (int recv = 0; recv < 2; recv++) {
			const uint32_t pi = recv ? f->rq->head : f->sq->pi;
			if (recv)
				post_recvs(f, 1);
			else
				post_write(f, 70 + syndrome);
			fake_err(f, .opcode = recv ? BSN_CQE_RESP_ERR : BSN_CQE_REQ_ERR,
				 .syndrome = syndrome, .vendor_syndrome = 0x81, .hw_syndrome = 0x42,
				 .wqe_opcode = BSN_OPCODE_RDMA_WRITE, .wqe_counter = pi);
			assert_int_equal(bsn_poll(f->cq, out, 8), 1);
			assert_int_equal(out[0].status, statuses[syndrome] ? statuses[syndrome]
									   : IBV_WC_GENERAL_ERR);
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
}

/* -- the first failure, of two pollers --------------------------------------------------------- */

enum { FAILURES = 2000 };

static struct {
	struct dv_route route[FAILURES];
	struct bsn_completion first[FAILURES], mine[2];
	uint32_t arrived[FAILURES];
} failing;

/* The two threads meet at each failure. ThreadSanitizer reports it if they are not synchronised. */
static void *fail_again_and_again(void *mine)
{
	for (unsigned i = 0; i < FAILURES; i++) {
		__atomic_fetch_add(&failing.arrived[i], 1, __ATOMIC_ACQ_REL);
		for (unsigned n = 1; __atomic_load_n(&failing.arrived[i], __ATOMIC_ACQUIRE) < 2;
		     n++)
			if (n % 2000 == 0)
				sched_yield();
		bsn_route_keep_error(&failing.route[i].hot, mine);
	}
	return NULL;
}

/* Sends and receives of a queue may have a poller each. */
static void the_first_failure_is_one_of_them(void **state)
{
	struct bsn_completion *mine = failing.mine;
	pthread_t threads[2];

	for (unsigned i = 0; i < FAILURES; i++)
		failing.route[i].first_error = &failing.first[i];
	for (int i = 0; i < 2; i++)
		memset(&mine[i], 0x11 + i, sizeof(mine[i]));
	for (int i = 0; i < 2; i++)
		ok(pthread_create(&threads[i], NULL, fail_again_and_again, &mine[i]));
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < FAILURES; i++)
		assert_true(!memcmp(&failing.first[i], &mine[0], sizeof(mine[0])) ||
			    !memcmp(&failing.first[i], &mine[1], sizeof(mine[1])));
}

/* Unsignaled work that reports only the first error is flushed by software, in order. */
static void silent_work_is_given_back(void **state)
{
	const struct bsn_sge sge = { 0x2000, 8, 3 };
	OWNED struct fake *f = FAKE(.ce_quiet = BSN_CE_ON_FIRST_ERROR);
	int n;

	for (uint64_t i = 0; i < 10; i++)
		ok(bsn_write(&f->ep, &sge, &remote, i, i == 5 ? BSN_F_SIGNALED : 0));
	ok(bsn_ring(&f->sq->ep));
	fake_err(f, .opcode = BSN_CQE_REQ_ERR, .syndrome = BSN_SYNDROME_REMOTE_ACCESS,
		 .wqe_counter = 2);
	fake_err(f, .opcode = BSN_CQE_REQ_ERR, .syndrome = BSN_SYNDROME_FLUSHED, .wqe_counter = 5);
	for (uint64_t id = 2; id <= 5; id++) {
		poll_one(f, 1, id);
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
}

/* What the device does not know of has not failed. It may be cancelled. */
static void what_is_only_appended_is_not_given_back(void **state)
{
	const struct bsn_sge one = { 0x2000, 8, 3 }, sge[4] = { one, one, one, one };
	OWNED struct fake *f = FAKE(.ce_quiet = BSN_CE_ON_FIRST_ERROR);

	ok(bsn_write(&f->ep, sge, &remote, 0, BSN_F_RING));
	fake_err(f, .opcode = BSN_CQE_REQ_ERR, .syndrome = BSN_SYNDROME_REMOTE_ACCESS);
	assert_int_equal(bsn_poll(f->cq, out, 8), 1);
	ok(bsn_write_sgl(&f->ep, sge, 4, &remote, 1, 0));
	assert_int_equal(bsn_sq_give_back(f->sq, out, 8), 0);
	ok(bsn_cancel(&f->sq->ep));
	assert_int_equal(bsn_sq_outstanding_bb(f->sq), 0);
	ok(bsn_write(&f->ep, sge, &remote, 2, BSN_F_RING));
	assert_int_equal(bsn_sq_give_back(f->sq, out, 8), 1);
	assert_int_equal(out[0].id, 2);
	assert_int_equal(out[0].status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(bsn_sq_outstanding_bb(f->sq), 0);
}

/* The library learns by a marker that all before it are done: by success or flush, unseen. */
static void a_marker_is_never_shown(void **state)
{
	for (unsigned kind = 0; kind < 8; kind++) {
		const bool many = kind & 1, fails = kind & 2, one = kind & 4;
		OWNED struct fake *f =
			FAKE(.has_peers = many,
			     .transport = many ? BSN_TRANSPORT_DC : BSN_TRANSPORT_RC);
		struct bsn_completion first = { 0 };

		dv_sq(f->sq)->route.first_error = &first;
		for (uint32_t i = 0; i < 50; i++) {
			ok(bsn_sq_post_marker(f->sq));
			assert_int_equal(fake_send_record(f), i + 1);
			assert_int_equal(ctrl_at(f, i).opcode, BSN_OPCODE_NOP);
			assert_int_equal(ctrl_at(f, i).ce, BSN_CE_ALWAYS);
			assert_int_equal(bsn_sq_outstanding_bb(f->sq), 1);
			if (fails)
				fake_err(f, .opcode = BSN_CQE_REQ_ERR,
					 .syndrome = BSN_SYNDROME_FLUSHED, .wqe_counter = i);
			else
				fake_done(f, i, BSN_OPCODE_NOP);
			assert_int_equal(poll_by(f, one ? 1 : 8), 0);
			assert_int_equal(bsn_sq_outstanding_bb(f->sq), 0);
		}
		assert_int_equal(first.status, 0);
	}
}

static void what_surrounds_a_marker_is_shown(void **state)
{
	OWNED struct fake *f = fake_create(NULL);

	for (uint32_t round = 0; round < 200; round++) {
		const uint16_t pi = f->sq->pi;
		post_write(f, 5);
		ok(bsn_sq_post_marker(f->sq));
		post_write(f, 6);
		for (uint16_t i = 0; i < 3; i++)
			fake_done(f, (uint16_t)(pi + i), BSN_OPCODE_RDMA_WRITE);
		assert_int_equal(round % 2 ? bsn_poll(f->cq, out, 1) + bsn_poll(f->cq, out + 1, 1)
					   : bsn_poll(f->cq, out, 8),
				 2);
		assert_int_equal(out[0].id, 5);
		assert_int_equal(out[1].id, 6);
		assert_int_equal(bsn_sq_outstanding_bb(f->sq), 0);
	}
}

/* If there is no room for a marker, the first completion makes room. */
static void a_marker_finds_no_room_in_a_full_queue(void **state)
{
	OWNED struct fake *f = fake_create(NULL);

	for (uint32_t i = 0; i < 16; i++)
		post_write(f, i);
	assert_int_equal(bsn_sq_post_marker(f->sq), -EAGAIN);
	fake_done(f, 0, BSN_OPCODE_RDMA_WRITE);
	assert_int_equal(bsn_poll(f->cq, out, 8), 1);
	bsn_sq_close(f->sq, ENOTCONN, "the library posts it all the same");
	ok(bsn_sq_post_marker(f->sq));
	assert_int_equal(fake_send_record(f), 17);
}

/* -- what cannot be read ----------------------------------------------------------------------- */

/* Two good CQEs before the bad one are polled first. Then every poll fails. */
static void assert_refused(struct fake_attr attr, uint32_t opcode, uint32_t format,
			   uint32_t byte_count)
{
	OWNED struct fake *f = fake_create(&attr);

	write_done(f, 1);
	write_done(f, 2);
	fake_req(f, .opcode = opcode, .format = format, .byte_count = byte_count);
	fake_done(f, 2, BSN_OPCODE_RDMA_WRITE);
	assert_int_equal(bsn_poll(f->cq, out, 8), 2);
	for (int i = 0; i < 10; i++)
		assert_int_equal(bsn_poll(f->cq, out, 8), -EPROTO);
	bsn_cq_kill(f->cq, EIO);
	assert_int_equal(bsn_poll(f->cq, out, 8), -EPROTO);
}

static void what_cannot_be_read_is_refused_for_good(void **state)
{
	const struct fake_attr plain = { 0 }, wide = { .cqe_stride = 128 },
			       deaf = { .no_recv = true };

	for (uint32_t opcode = 0; opcode < 5; opcode++) {
		assert_refused(plain, opcode, BSN_CQE_COMPRESSED, 0);
		assert_refused(plain, opcode, BSN_CQE_INLINE_32, 33);
		assert_refused(plain, opcode, BSN_CQE_INLINE_32, UINT32_MAX);
		assert_refused(plain, opcode, BSN_CQE_INLINE_64, 1);
		assert_refused(wide, opcode, BSN_CQE_INLINE_32, 33);
		assert_refused(wide, opcode, BSN_CQE_INLINE_64, 65);
	}
	for (uint32_t foreign = 5; foreign <= 12; foreign++)
		assert_refused(plain, foreign, 0, 0);
	assert_refused(deaf, BSN_CQE_RESP_SEND, 0, 0);
	assert_refused(deaf, BSN_CQE_RESP_ERR, 0, 0);
}

static void a_dead_queue_gives_what_came_first(void **state)
{
	for (int at_once = 1; at_once < 8; at_once++) {
		OWNED struct fake *f = FAKE(.cqe_count = 8);
		for (uint32_t i = 0; i < 3; i++) { /* the ring's end is among what is left */
			write_done(f, i);
			assert_int_equal(bsn_poll(f->cq, out, 8), 1);
		}
		for (uint32_t i = 3; i < 10; i++)
			write_done(f, i);
		bsn_cq_kill(f->cq, EIO);
		bsn_cq_kill(f->cq, EOVERFLOW); /* the first cause stays */
		poll_several(f, at_once, 3, 7);
		assert_int_equal(bsn_poll(f->cq, out, at_once), -EIO);
		assert_int_equal(bsn_poll(f->cq, out, at_once), -EIO);
		fake_done(f, 10, BSN_OPCODE_RDMA_WRITE); /* late, but whole */
		assert_int_equal(bsn_poll(f->cq, out, at_once), 1);
		assert_int_equal(bsn_poll(f->cq, out, at_once), -EIO);
	}
}

/* CQEs of an earlier lap are not polled, of whatever kind they are. */
static void a_dead_queue_gives_nothing_of_an_earlier_lap(void **state)
{
	static const uint32_t kinds[] = { BSN_CQE_REQ,           BSN_CQE_RESP_SEND,
					  BSN_CQE_RESP_SEND_IMM, BSN_CQE_RESP_SEND_INV,
					  BSN_CQE_RESP_WR_IMM,   BSN_CQE_REQ_ERR,
					  BSN_CQE_RESP_ERR };

	for (unsigned k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
		for (uint32_t laps = 1; laps <= 2; laps++) {
			OWNED struct fake *f = FAKE(.cqe_count = 8);
			for (uint32_t i = 0; i < 8 * laps; i++) {
				post_write(f, i);
				post_recvs(f, 1);
				fake_resp(f, .opcode = kinds[k], .wqe_counter = i);
				assert_int_equal(bsn_poll(f->cq, out, 8), 1);
			}
			bsn_cq_kill(f->cq, EIO);
			assert_int_equal(bsn_poll(f->cq, out, 1), -EIO);
			assert_int_equal(bsn_poll(f->cq, out, 8), -EIO);
		}
}

UNIT_MAIN(NULL, UNIT(every_syndrome_has_its_status), UNIT(the_first_failure_is_one_of_them),
	  UNIT(silent_work_is_given_back), UNIT(what_is_only_appended_is_not_given_back),
	  UNIT(a_marker_is_never_shown), UNIT(what_surrounds_a_marker_is_shown),
	  UNIT(a_marker_finds_no_room_in_a_full_queue),
	  UNIT(what_cannot_be_read_is_refused_for_good), UNIT(a_dead_queue_gives_what_came_first),
	  UNIT(a_dead_queue_gives_nothing_of_an_earlier_lap))
