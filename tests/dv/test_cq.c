/* SPDX-License-Identifier: BSD-2-Clause */
/* How CQEs are polled: laps and chunks, while a device writes; how a CQ is armed. */
#include <sched.h>

#include "cq.h"

/* -- laps and chunks --------------------------------------------------------------------------- */

static void go_round(uint32_t count, uint32_t stride, uint32_t spare, uint32_t chunk, int at_once)
{
	OWNED struct fake *f = FAKE(.cqe_count = count, .cqe_stride = stride, .spare = spare);
	uint32_t done = 0;

	assert_int_equal(dv_cq(f->cq)->chunk, chunk);
	assert_int_equal(bsn_poll(f->cq, out, at_once), 0);
	while (done < 9 * count + 3) {
		const uint32_t burst = done % (count - (chunk > 1 ? chunk : 0)) % 13 + 1;
		const uint32_t first = f->sq->pi;
		uint32_t got = 0;

		for (uint32_t i = 0; i < burst; i++)
			post_write(f, 1000 + first + i);
		for (uint32_t i = 0; i < burst; i++)
			fake_done(f, first + i, BSN_OPCODE_RDMA_WRITE);
		while (got < burst) {
			const uint32_t began = done + got;
			const int n = poll_by(f, at_once);
			assert_true(n > 0);
			for (int i = 0; i < n; i++, got++) {
				assert_int_equal(out[i].id, 1000 + first + got);
				assert_int_equal(out[i].opcode, BSN_OPCODE_RDMA_WRITE);
				assert_int_equal(out[i].status, IBV_WC_SUCCESS);
				assert_int_equal(out[i].flags, 0);
				assert_int_equal(out[i].qpn, FAKE_QPN);
				assert_ptr_equal(out[i].user, dv_sq(f->sq)->route.hot.user);
			}
			assert_record(f, began, done + got);
		}
		done += burst;
		assert_int_equal(bsn_poll(f->cq, out, at_once), 0);
		assert_int_equal(f->cq->next - dv_cq(f->cq)->ring, (int)(done % count * stride));
	}
}

/* The CQ spares twice the chunk or more: one chunk may be polled while the next one begins. */
static void laps_of_every_shape(void **state)
{
	for (int at_once = 1; at_once <= 20; at_once += at_once < 3 ? 1 : 17)
		for (uint32_t stride = 64; stride <= 128; stride += 64) {
			go_round(16, stride, 0, 1, at_once);
			go_round(16, stride, 1, 1, at_once);
			go_round(64, stride, 2, 1, at_once);
			go_round(64, stride, 13, 4, at_once);
			go_round(64, stride, 16, 8, at_once);
			go_round(64, stride, 63, 16, at_once); /* a quarter of the ring at most */
			go_round(256, stride, 64, 32, at_once);
		}
}

/* At any place of the ring less may become spare; no more stay unpublished then. */
static void what_is_to_spare_may_shrink(void **state)
{
	static const uint32_t spares[] = { 40, 13, 2, 0 };

	for (uint32_t first = 0; first < 64; first++) {
		OWNED struct fake *f = FAKE(.cqe_count = 64, .count_bb = 64, .spare = 48);
		uint32_t done = 0;

		for (unsigned step = 0; step < 4; step++)
			for (uint32_t i = 0; i < 70 + first; i++, done++) {
				if (i == first) {
					bsn_cq_set_spare(f->cq, spares[step]);
					assert_int_equal(fake_cq_ci(f), done);
				}
				write_done(f, done);
				poll_one(f, i % 2 ? 4 : 1, done);
				if (i >= first)
					assert_in_range(done + 1 - fake_cq_ci(f), 0, spares[step]);
			}
	}
}

/* CQEs of an earlier lap are not polled, whatever they say. */
static void what_a_lap_left_is_not_polled(void **state)
{
	OWNED struct fake *f = FAKE(.cqe_count = 8);

	for (uint32_t i = 0; i < 100; i++) {
		write_done(f, i);
		assert_int_equal(bsn_poll(f->cq, out, 8), 1);
		assert_int_equal(bsn_poll(f->cq, out, 8), 0);
	}
}

/* A poll asks for more CQEs than the ring has. What one poll does not give, the next one does. */
static void a_poll_of_more_than_the_ring_loses_nothing(void **state)
{
	static struct bsn_completion many[4096];

	for (uint32_t spare = 0; spare < 16; spare++)
		for (uint32_t used = 1; used <= 16 - spare; used++) {
			OWNED struct fake *f = FAKE(.cqe_count = 16, .spare = spare);
			uint32_t pi = 0, seen = 0;

			for (uint32_t round = 0; round < 40; round++) {
				for (uint32_t i = 0; i < used; i++)
					write_done(f, pi++);
				while (seen < pi) {
					const uint32_t began = seen;
					const int n = bsn_poll(f->cq, many, 4096);
					assert_true(n > 0);
					for (int i = 0; i < n; i++)
						assert_int_equal(many[i].id, seen++);
					assert_record(f, began, seen);
				}
				assert_int_equal(bsn_poll(f->cq, many, 4096), 0);
			}
		}
}

/* -- a device that writes meanwhile ------------------------------------------------------------ */

enum { WRITTEN = 20000, AHEAD = 8 };

struct writer {
	struct fake *f;
	uint32_t polled;
};

/* Writes CQEs as a device does: the byte with the owner bit comes last. */
static void *write_cqes(void *arg)
{
	struct writer *w = arg;
	const uint32_t count = dv_cq(w->f->cq)->cqe_count;

	for (uint32_t i = 0; i < WRITTEN; i++) {
		uint8_t *const cqe = cqe_at(w->f, i);
		uint8_t bytes[BSN_CQE_SIZE];

		bsn_cqe_req_encode(bytes, &(struct bsn_cqe_req){ .qpn = dv_sq(w->f->sq)->qpn,
								 .wqe_counter = i & 0xffff,
								 .byte_count = i,
								 .owner = i / count % 2 });
		while (i - __atomic_load_n(&w->polled, __ATOMIC_ACQUIRE) >= AHEAD)
			sched_yield();
		memcpy(cqe, bytes, BSN_CQE_OP_OWN_OFFSET);
		__atomic_store_n(cqe + BSN_CQE_OP_OWN_OFFSET, bytes[BSN_CQE_OP_OWN_OFFSET],
				 __ATOMIC_RELEASE);
	}
	return NULL;
}

/* A CQE whose owner bit is seen is whole; ThreadSanitizer asserts that it is loaded as one byte. */
static void a_device_writes_while_it_is_polled(void **state)
{
	struct writer w = { .f = fake_create(NULL) };
	pthread_t device;

	ok(pthread_create(&device, NULL, write_cqes, &w));
	while (w.polled < WRITTEN) {
		const uint32_t at = w.polled;
		const int got = bsn_poll(w.f->cq, out, at % 2 ? 4 : 1);

		assert_true(got >= 0);
		for (int i = 0; i < got; i++)
			assert_int_equal(out[i].byte_len, at + (uint32_t)i);
		if (got)
			__atomic_store_n(&w.polled, at + (uint32_t)got, __ATOMIC_RELEASE);
		else
			sched_yield();
	}
	pthread_join(device, NULL);
	fake_destroy(w.f);
}

/* -- arming ------------------------------------------------------------------------------------ */

static void arming_says_what_was_polled(void **state)
{
	OWNED struct fake *f = FAKE(.spare = 16);

	for (uint32_t ci = 0; ci < 200; ci++) {
		const bool solicited = ci % 3 == 0;
		struct bsn_cq_doorbell bell;
		struct bsn_dbr_cq_arm arm;

		dv_cq(f->cq)->arm_sn = (uint8_t)(ci / 2);
		memset(f->page, FAKE_POISON, FAKE_PAGE);
		bsn_cq_arm(f->cq, solicited);
		bsn_cq_doorbell_decode(&bell, f->page + BSN_UAR_CQ_ARM_OFFSET);
		bsn_dbr_cq_arm_decode(&arm, dv_cq(f->cq)->record + BSN_DBR_CQ_ARM_OFFSET / 4);
		assert_int_equal(bell.sn, ci / 2 % 4);
		assert_int_equal(bell.cmd, solicited ? BSN_CQ_ARM_SOLICITED : BSN_CQ_ARM_NEXT);
		assert_int_equal(bell.ci, ci);
		assert_int_equal(bell.cqn, FAKE_CQN);
		assert_true(arm.sn == bell.sn && arm.cmd == bell.cmd && arm.ci == bell.ci);
		assert_int_equal(fake_cq_ci(f), ci); /* in the middle of a chunk, too */
		assert_poison(f->page, BSN_UAR_CQ_ARM_OFFSET);
		assert_poison(f->page + BSN_UAR_CQ_ARM_OFFSET + 8,
			      FAKE_PAGE - BSN_UAR_CQ_ARM_OFFSET - 8);
		write_done(f, ci);
		assert_int_equal(bsn_poll(f->cq, out, 8), 1);
	}
}

UNIT_MAIN(NULL, UNIT(laps_of_every_shape), UNIT(what_is_to_spare_may_shrink),
	  UNIT(what_a_lap_left_is_not_polled), UNIT(a_poll_of_more_than_the_ring_loses_nothing),
	  UNIT(a_device_writes_while_it_is_polled), UNIT(arming_says_what_was_polled))
