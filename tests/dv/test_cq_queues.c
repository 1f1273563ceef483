/* SPDX-License-Identifier: BSD-2-Clause */
/* Which queue a CQE belongs to: a CQ's table of queues. */
#include <sched.h>

#include "../wqe/random.h"
#include "cq.h"

#define QPN_OTHER (FAKE_QPN + 0x10000)

/* -- the table of queues ----------------------------------------------------------------------- */

static void done_of(struct fake *f, uint32_t qpn)
{
	fake_cqe_req(f, (struct bsn_cqe_req){ .qpn = qpn, .opcode = BSN_CQE_REQ });
}

/* The next completion is of the queue with this user pointer. */
static void poll_of(struct fake *f, int at_once, const void *user)
{
	assert_int_equal(poll_by(f, at_once), 1);
	assert_ptr_equal(out[0].user, user);
}

static void unknown_queues_are_counted(void **state)
{
	OWNED struct fake *f = fake_create(NULL);
	static const uint32_t strangers[] = { 0, 1, FAKE_QPN - 1, QPN_OTHER, 0xffffff };

	for (unsigned i = 0; i < 5; i++)
		done_of(f, strangers[i]);
	fake_cqe_err(f, (struct bsn_cqe_err){ .qpn = QPN_OTHER, .opcode = BSN_CQE_REQ_ERR });
	fake_cqe_resp(f, (struct bsn_cqe_resp){ .qpn = 0, .opcode = BSN_CQE_RESP_SEND });
	done_of(f, FAKE_QPN);
	assert_int_equal(bsn_poll(f->cq, out, 8), 1);
	assert_int_equal(dv_cq(f->cq)->count_dropped, 7);
}

/* A CQ to which no queue was added, or from which all were removed. */
static void a_cq_without_queues_drops(void **state)
{
	OWNED struct fake *f = fake_create(NULL);
	struct bsn_cq_init init = {
		.ring = f->cq_ring, .record = dv_cq(f->cq)->record, .count = 64, .stride_bytes = 64
	};
	struct bsn_cq *cq = f->cq;

	bsn_cq_remove(cq, FAKE_QPN);
	done_of(f, FAKE_QPN);
	assert_int_equal(bsn_poll(cq, out, 8), 0);
	assert_int_equal(dv_cq(cq)->count_dropped, 1);
	bsn_cq_fini(cq);
	memset(cq, 0, sizeof(struct dv_cq));
	bsn_cq_init(cq, &init);
	f->cq_pi = 0;
	bsn_cq_remove(cq, FAKE_QPN);
	for (uint32_t i = 0; i < 100; i++) {
		done_of(f, i % 2 ? FAKE_QPN : 0);
		assert_int_equal(bsn_poll(cq, out, 8), 0);
		assert_int_equal(dv_cq(cq)->count_dropped, i + 1);
	}
	ok(bsn_cq_add(cq, FAKE_QPN, &dv_sq(f->sq)->route.hot));
	done_of(f, FAKE_QPN);
	assert_int_equal(bsn_poll(cq, out, 8), 1);
}

#define MANY 100

/* Returns numbers that all have the same slot in a table of 512. */
static uint32_t colliding(uint32_t i)
{
	static uint32_t numbers[MANY], found;

	for (uint32_t qpn = 1; found < MANY && qpn < 0xffffff; qpn++)
		if (qpn != FAKE_QPN && bsn_cq_hash(bsn_cq_key(qpn), 32 - 9) ==
					       bsn_cq_hash(bsn_cq_key(FAKE_QPN), 32 - 9))
			numbers[found++] = qpn;
	assert_int_equal(found, MANY);
	return numbers[i];
}

/* Each number finds its queue while others go. A queue that comes back needs no memory. */
static void colliding_numbers_find_their_queues(void **state)
{
	struct fake *f = fake_create(NULL), *many[MANY];
	char user[MANY];

	for (uint32_t i = 0; i < MANY; i++) {
		many[i] = fake_create(NULL);
		dv_sq(many[i]->sq)->route.hot.user = &user[i];
		ok(bsn_cq_add(f->cq, colliding(i), &dv_sq(many[i]->sq)->route.hot));
	}
	for (uint32_t round = 0; round < 30; round++) {
		const struct bsn_cq_entry *entries = f->cq->entries;
		for (uint32_t i = round % 10; i < MANY; i += 10)
			bsn_cq_remove(f->cq, colliding(i));
		for (uint32_t i = 0; i < MANY; i++) {
			const uint64_t dropped = dv_cq(f->cq)->count_dropped;
			const bool gone = i % 10 == round % 10;

			done_of(f, colliding(i));
			assert_int_equal(bsn_poll(f->cq, out, 8), !gone);
			assert_int_equal(dv_cq(f->cq)->count_dropped, dropped + gone);
			if (!gone)
				assert_ptr_equal(out[0].user, &user[i]);
		}
		for (uint32_t i = round % 10; i < MANY; i += 10)
			ok(bsn_cq_add(f->cq, colliding(i), &dv_sq(many[i]->sq)->route.hot));
		assert_ptr_equal(f->cq->entries, entries);
	}
	for (uint32_t i = 0; i < MANY; i++)
		fake_destroy(many[i]);
	fake_destroy(f);
}

/* Devices number queues by 1 or 16. Most are in the slot that is looked at first. */
static void numbers_of_any_stride_spread(void **state)
{
	enum { MOST = 512 };
	static const struct {
		uint32_t count, stride;
	} shapes[] = {
		{ 512, 1 }, { 256, 16 }, { 512, 16 }, { 256, 256 }, { 128, 4096 }, { 100, 3 }
	};
	static struct dv_route routes[MOST];
	static char user[MOST];

	for (unsigned k = 0; k < sizeof(shapes) / sizeof(*shapes); k++) {
		OWNED struct fake *f = fake_create(NULL);
		unsigned at_home = 0;

		for (uint32_t i = 0; i < shapes[k].count; i++) {
			routes[i] = dv_sq(f->sq)->route;
			routes[i].hot.user = &user[i];
			ok(bsn_cq_add(f->cq, 0x1000 + i * shapes[k].stride, &routes[i].hot));
		}
		for (uint32_t i = 0; i < shapes[k].count; i++) {
			const uint32_t qpn = 0x1000 + i * shapes[k].stride;
			assert_ptr_equal(bsn_cq_find(f->cq, qpn), &routes[i]);
			at_home += bsn_cq_home(f->cq, f->cq->hash_shift, bsn_cq_key(qpn))->key ==
				   bsn_cq_key(qpn);
			done_of(f, qpn);
			done_of(f, qpn);
			poll_of(f, 1, &user[i]);
			assert_int_equal(out[0].qpn, qpn);
			poll_of(f, 8, &user[i]);
		}
		assert_int_equal(dv_cq(f->cq)->count_dropped, 0);
		assert_true(at_home >= shapes[k].count * 3 / 4);
	}
}

/* A queue without a send side sends nothing. A CQE of such a send is dropped, and does no harm. */
static void a_send_of_a_queue_without_a_send_side_is_dropped(void **state)
{
	OWNED struct fake *f = fake_create(NULL);
	struct dv_route deaf = { .hot = { .rq = f->rq, .user = &deaf } };

	ok(bsn_cq_add(f->cq, QPN_OTHER, &deaf.hot));
	for (uint32_t i = 0; i < 10; i++) {
		done_of(f, QPN_OTHER);
		write_done(f, i);
		poll_one(f, i % 2 ? 1 : 8, i);
	}
}

/* What was removed leaves nothing behind: neither slots, nor memory, nor a wrong match. */
static void the_table_stays_small(void **state)
{
	OWNED struct fake *f = fake_create(NULL);

	for (uint32_t i = 1; i < 100000; i++) {
		ok(bsn_cq_add(f->cq, i * 7 & 0xffffff, &dv_sq(f->sq)->route.hot));
		if (i % 1000 == 0) {
			done_of(f, i * 7 & 0xffffff);
			done_of(f, (i - 1) * 7 & 0xffffff);
			assert_int_equal(bsn_poll(f->cq, out, 8), 1);
		}
		bsn_cq_remove(f->cq, i * 7 & 0xffffff);
	}
	assert_true(32 - f->cq->hash_shift <= 6);
	done_of(f, FAKE_QPN);
	assert_int_equal(bsn_poll(f->cq, out, 8), 1);
}

/* -- queues that come while another thread polls ----------------------------------------------- */

enum { NEWCOMERS = 5000 };

static struct {
	struct fake *f;
	struct dv_route routes[NEWCOMERS];
	uint32_t added;  /* whose CQEs may come */
	uint32_t rounds; /* of the poller */
} n;

static uint32_t newcomer(uint32_t i)
{
	return 0x2000 + 3 * i;
}

/* Waits for the poller, so that the table grows while it is polled, and not before. */
static void await_the_poller(void)
{
	const uint32_t rounds = __atomic_load_n(&n.rounds, __ATOMIC_ACQUIRE);

	while (__atomic_load_n(&n.rounds, __ATOMIC_ACQUIRE) == rounds)
		sched_yield();
}

static void *add_newcomers(void *arg)
{
	for (uint32_t i = 0; i < NEWCOMERS; i++) {
		n.routes[i] = dv_sq(n.f->sq)->route;
		n.routes[i].hot.user = &n.routes[i];
		if (i % 16 == 0 && i)
			await_the_poller();
		if (i % 16 == 7) { /* one that failed half-way */
			bsn_cq_add(n.f->cq, QPN_OTHER, &n.routes[i].hot);
			bsn_cq_abandon(n.f->cq, QPN_OTHER);
		}
		if (bsn_cq_add(n.f->cq, newcomer(i), &n.routes[i].hot))
			break;
		__atomic_store_n(&n.added, i + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Each CQE finds its queue, even while the table grows. */
static void queues_come_while_another_thread_polls(void **state)
{
	uint32_t added;
	pthread_t adder;

	random_start();
	n.f = fake_create(NULL);
	ok(pthread_create(&adder, NULL, add_newcomers, NULL));
	do {
		added = __atomic_load_n(&n.added, __ATOMIC_ACQUIRE);
		__atomic_fetch_add(&n.rounds, 1, __ATOMIC_ACQ_REL);
		for (unsigned i = 0; i < 16 && added; i++) {
			const uint32_t which = (uint32_t)(random_u64() % added);
			done_of(n.f, newcomer(which));
			done_of(n.f, newcomer(added - 1));
			poll_of(n.f, 1, &n.routes[which]);
			poll_of(n.f, 8, &n.routes[added - 1]);
		}
	} while (added < NEWCOMERS);
	pthread_join(adder, NULL);
	assert_int_equal(dv_cq(n.f->cq)->count_dropped, 0);
	fake_destroy(n.f);
}

/* A poller between the two stores of a table that grows: the new slots, the old size. */
static void a_stale_table_size_hides_no_queue(void **state)
{
	OWNED struct fake *f = fake_create(NULL);

	for (uint32_t i = 0; i < 200; i++)
		ok(bsn_cq_add(f->cq, newcomer(i), &dv_sq(f->sq)->route.hot));
	f->cq->hash_shift++;
	for (uint32_t i = 0; i < 200; i++) {
		done_of(f, newcomer(i));
		assert_int_equal(bsn_poll(f->cq, out, 1), 1);
	}
	f->cq->hash_shift--;
	assert_int_equal(dv_cq(f->cq)->count_dropped, 0);
}

/* -- a device that writes meanwhile ------------------------------------------------------------ */

/* CQEs of a destroyed queue do not go to the next one of its number, wherever they are. */
static void a_reused_number_does_not_inherit_completions(void **state)
{
	for (uint32_t start = 0; start < 32; start++) {
		OWNED struct fake *f = FAKE(.cqe_count = 16), *other = fake_create(NULL);
		ok(bsn_cq_add(f->cq, QPN_OTHER, &dv_sq(other->sq)->route.hot));
		for (uint32_t i = 0; i < start; i++) {
			done_of(f, QPN_OTHER);
			assert_int_equal(bsn_poll(f->cq, out, 1), 1);
		}
		for (uint32_t i = 0; i < 15; i++)
			if (i % 3 == 0)
				done_of(f, QPN_OTHER);
			else if (i % 3 == 1)
				done_of(f, FAKE_QPN);
			else
				fake_err(f, .opcode = BSN_CQE_RESP_ERR);
		add_again(f);
		assert_int_equal(bsn_poll(f->cq, out, 16), 5);
		for (uint32_t i = 0; i < 5; i++)
			assert_ptr_equal(out[i].user, dv_sq(other->sq)->route.hot.user);
		assert_int_equal(dv_cq(f->cq)->count_dropped, 10);
	}
}

UNIT_MAIN(NULL, UNIT(unknown_queues_are_counted), UNIT(a_cq_without_queues_drops),
	  UNIT(colliding_numbers_find_their_queues), UNIT(numbers_of_any_stride_spread),
	  UNIT(a_send_of_a_queue_without_a_send_side_is_dropped), UNIT(the_table_stays_small),
	  UNIT(queues_come_while_another_thread_polls), UNIT(a_stale_table_size_hides_no_queue),
	  UNIT(a_reused_number_does_not_inherit_completions))
