/* SPDX-License-Identifier: BSD-2-Clause */
/* How CQEs are polled: laps, chunks, the table of queues, every view, every refusal. */
#include <sched.h>

#include "../wqe/random.h"
#include "fake.h"

#define QPN_OTHER (FAKE_QPN + 0x10000)

static const struct bsn_remote remote = { 0x1000, 2 };
static struct bsn_completion out[64];

static void post_write(struct fake *f, uint64_t id)
{
	const struct bsn_sge sge = { 0x2000, 8, 3 };

	assert_int_equal(bsn_write(&f->ep, &sge, &remote, id, BSN_F_SIGNALED | BSN_F_RING), 0);
}

/* -- laps and chunks -------------------------------------------------------------------------------- */

/* Whether polled CQEs may be kept from the device for a while; an attached CQ has none to spare. */
static bool has_spare(const struct fake *f)
{
	return f->cq->spare > 0;
}

/*
 * Checks the consumer record after @polled CQEs, of which earlier polls took @began. The record is
 * never beyond @began, since the caller still reads what the last poll gave. It is never so far
 * behind that the device, which may not write the others, runs out of room.
 */
static void assert_record(const struct fake *f, uint32_t began, uint32_t polled)
{
	const uint32_t ci = fake_cq_ci(f);

	if (!has_spare(f)) {
		assert_int_equal(ci, polled & 0xffffff);
		return;
	}
	assert_true(((began - ci) & 0xffffff) <= began);
	assert_true(((polled - ci) & 0xffffff) <= f->cq->spare);
}

static void go_round(uint32_t count, uint32_t stride, uint32_t spare, uint32_t chunk, int at_once)
{
	const struct fake_attr attr = { .cqe_count = count, .cqe_stride = stride, .spare = spare };
	struct fake *f = fake_create(&attr);
	uint32_t done = 0;

	assert_int_equal(f->cq->chunk, chunk);
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
			const int n = at_once == 1 ? bsn_poll(f->cq, out, 1)
						   : bsn_poll(f->cq, out, at_once);
			assert_true(n > 0);
			for (int i = 0; i < n; i++, got++) {
				assert_int_equal(out[i].id, 1000 + first + got);
				assert_int_equal(out[i].opcode, BSN_OPCODE_RDMA_WRITE);
				assert_int_equal(out[i].status, IBV_WC_SUCCESS);
				assert_int_equal(out[i].flags, 0);
				assert_int_equal(out[i].qpn, FAKE_QPN);
				assert_ptr_equal(out[i].user, f->sq->route.user);
			}
			assert_record(f, began, done + got);
		}
		done += burst;
		assert_int_equal(bsn_poll(f->cq, out, at_once), 0);
		assert_int_equal(f->cq->next - f->cq->ring, (int)(done % count * stride));
	}
	fake_destroy(f);
}

/* The CQ spares twice the chunk or more: one chunk may be polled while the next one begins. */
static void laps_of_every_shape(void **state)
{
	(void)state;
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

/*
 * The CQEs to spare may become fewer at any place of the ring. Then no more than these stay
 * unpublished.
 */
static void what_is_to_spare_may_shrink(void **state)
{
	static const uint32_t spares[] = { 40, 13, 2, 0 };

	(void)state;
	for (uint32_t first = 0; first < 64; first++) {
		const struct fake_attr attr = { .cqe_count = 64, .count_bb = 64, .spare = 48 };
		struct fake *f = fake_create(&attr);
		uint32_t done = 0;

		for (unsigned step = 0; step < 4; step++)
			for (uint32_t i = 0; i < 70 + first; i++, done++) {
				if (i == first) {
					bsn_cq_set_spare(f->cq, spares[step]);
					assert_int_equal(fake_cq_ci(f), done);
				}
				post_write(f, done);
				fake_done(f, done, BSN_OPCODE_RDMA_WRITE);
				assert_int_equal(i % 2 ? bsn_poll(f->cq, out, 4)
						       : bsn_poll(f->cq, out, 1),
						 1);
				assert_int_equal(out[0].id, done);
				if (i >= first)
					assert_in_range(done + 1 - fake_cq_ci(f), 0, spares[step]);
			}
		fake_destroy(f);
	}
}

/* CQEs of an earlier lap are not polled, whatever they say. */
static void what_a_lap_left_is_not_polled(void **state)
{
	const struct fake_attr attr = { .cqe_count = 8 };
	struct fake *f = fake_create(&attr);

	(void)state;
	for (uint32_t i = 0; i < 100; i++) {
		post_write(f, i);
		fake_done(f, i, BSN_OPCODE_RDMA_WRITE);
		assert_int_equal(bsn_poll(f->cq, out, 8), 1);
		assert_int_equal(bsn_poll(f->cq, out, 8), 0);
	}
	fake_destroy(f);
}

/* A poll asks for more CQEs than the ring has. What one poll does not give, the next one does. */
static void a_poll_of_more_than_the_ring_loses_nothing(void **state)
{
	static struct bsn_completion many[4096];

	(void)state;
	for (uint32_t spare = 0; spare < 16; spare++)
		for (uint32_t used = 1; used <= 16 - spare; used++) {
			const struct fake_attr attr = { .cqe_count = 16, .spare = spare };
			struct fake *f = fake_create(&attr);
			uint32_t pi = 0, seen = 0;

			for (uint32_t round = 0; round < 40; round++) {
				for (uint32_t i = 0; i < used; i++, pi++) {
					post_write(f, pi);
					fake_done(f, pi, BSN_OPCODE_RDMA_WRITE);
				}
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
			fake_destroy(f);
		}
}

/* -- the table of queues ----------------------------------------------------------------------------- */

static void done_of(struct fake *f, uint32_t qpn)
{
	fake_cqe_req(f, (struct bsn_cqe_req){ .qpn = qpn, .opcode = BSN_CQE_REQ });
}

static void unknown_queues_are_counted(void **state)
{
	struct fake *f = fake_create(NULL);
	static const uint32_t strangers[] = { 0, 1, FAKE_QPN - 1, QPN_OTHER, 0xffffff };

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		done_of(f, strangers[i]);
	fake_cqe_err(f, (struct bsn_cqe_err){ .qpn = QPN_OTHER, .opcode = BSN_CQE_REQ_ERR });
	fake_cqe_resp(f, (struct bsn_cqe_resp){ .qpn = 0, .opcode = BSN_CQE_RESP_SEND });
	done_of(f, FAKE_QPN);
	assert_int_equal(bsn_poll(f->cq, out, 8), 1);
	assert_int_equal(f->cq->count_dropped, 7);
	fake_destroy(f);
}

/* A CQ to which no queue was added, or from which all were removed. */
static void a_cq_without_queues_drops(void **state)
{
	struct fake *f = fake_create(NULL);
	struct bsn_cq_init init = {
		.ring = f->cq_ring, .record = f->cq->record, .count = 64, .stride_bytes = 64
	};
	struct bsn_cq *cq = f->cq;

	(void)state;
	bsn_cq_remove(cq, FAKE_QPN);
	done_of(f, FAKE_QPN);
	assert_int_equal(bsn_poll(cq, out, 8), 0);
	assert_int_equal(cq->count_dropped, 1);
	bsn_cq_fini(cq);
	memset(cq, 0, sizeof(*cq));
	bsn_cq_init(cq, &init);
	f->cq_pi = 0;
	bsn_cq_remove(cq, FAKE_QPN);
	for (uint32_t i = 0; i < 100; i++) {
		done_of(f, i % 2 ? FAKE_QPN : 0);
		assert_int_equal(bsn_poll(cq, out, 8), 0);
		assert_int_equal(cq->count_dropped, i + 1);
	}
	assert_int_equal(bsn_cq_add(cq, FAKE_QPN, &f->sq->route), 0);
	done_of(f, FAKE_QPN);
	assert_int_equal(bsn_poll(cq, out, 8), 1);
	fake_destroy(f);
}

#define MANY 100

/* Returns numbers that all have the same slot in a table of 512. */
static uint32_t colliding(uint32_t i)
{
	static uint32_t numbers[MANY], found;

	for (uint32_t qpn = 1; found < MANY && qpn < 0xffffff; qpn++)
		if (qpn != FAKE_QPN &&
		    bsn_cq_hash(bsn_cq_key(qpn), 32 - 9) == bsn_cq_hash(bsn_cq_key(FAKE_QPN), 32 - 9))
			numbers[found++] = qpn;
	assert_int_equal(found, MANY);
	return numbers[i];
}

/*
 * Each number finds its queue while others are removed. A queue that is added again needs no
 * memory.
 */
static void colliding_numbers_find_their_queues(void **state)
{
	struct fake *f = fake_create(NULL), *many[MANY];
	char user[MANY];

	(void)state;
	for (uint32_t i = 0; i < MANY; i++) {
		many[i] = fake_create(NULL);
		many[i]->sq->route.user = &user[i];
		assert_int_equal(bsn_cq_add(f->cq, colliding(i), &many[i]->sq->route), 0);
	}
	for (uint32_t round = 0; round < 30; round++) {
		const struct bsn_cq_slot *slots = f->cq->slots;

		for (uint32_t i = round % 10; i < MANY; i += 10)
			bsn_cq_remove(f->cq, colliding(i));
		for (uint32_t i = 0; i < MANY; i++) {
			const uint64_t dropped = f->cq->count_dropped;
			const bool gone = i % 10 == round % 10;

			done_of(f, colliding(i));
			assert_int_equal(bsn_poll(f->cq, out, 8), !gone);
			assert_int_equal(f->cq->count_dropped, dropped + gone);
			if (!gone)
				assert_ptr_equal(out[0].user, &user[i]);
		}
		for (uint32_t i = round % 10; i < MANY; i += 10)
			assert_int_equal(bsn_cq_add(f->cq, colliding(i), &many[i]->sq->route), 0);
		assert_ptr_equal(f->cq->slots, slots);
	}
	for (uint32_t i = 0; i < MANY; i++)
		fake_destroy(many[i]);
	fake_destroy(f);
}

/*
 * Devices give numbers one after the other, or every 16th. Most are in the slot that is looked at
 * first.
 */
static void numbers_of_any_stride_spread(void **state)
{
	enum { MOST = 512 };
	static const struct {
		uint32_t count, stride;
	} shapes[] = { { 512, 1 }, { 256, 16 }, { 512, 16 }, { 256, 256 }, { 128, 4096 }, { 100, 3 } };
	static struct bsn_route routes[MOST];
	static char user[MOST];

	(void)state;
	for (unsigned k = 0; k < sizeof(shapes) / sizeof(*shapes); k++) {
		struct fake *f = fake_create(NULL);
		unsigned at_home = 0;

		for (uint32_t i = 0; i < shapes[k].count; i++) {
			routes[i] = f->sq->route;
			routes[i].user = &user[i];
			assert_int_equal(bsn_cq_add(f->cq, 0x1000 + i * shapes[k].stride, &routes[i]), 0);
		}
		for (uint32_t i = 0; i < shapes[k].count; i++) {
			const uint32_t qpn = 0x1000 + i * shapes[k].stride;

			assert_ptr_equal(bsn_cq_find(f->cq, qpn), &routes[i]);
			at_home += bsn_cq_home(f->cq, f->cq->hash_shift, bsn_cq_key(qpn))->key ==
				   bsn_cq_key(qpn);
			done_of(f, qpn);
			done_of(f, qpn);
			assert_int_equal(bsn_poll(f->cq, out, 1), 1);
			assert_ptr_equal(out[0].user, &user[i]);
			assert_int_equal(out[0].qpn, qpn);
			assert_int_equal(bsn_poll(f->cq, out, 8), 1);
			assert_ptr_equal(out[0].user, &user[i]);
		}
		assert_int_equal(f->cq->count_dropped, 0);
		assert_true(at_home >= shapes[k].count * 3 / 4);
		fake_destroy(f);
	}
}

/* A queue without a send side sends nothing. A CQE of such a send is dropped, and does no harm. */
static void a_send_of_a_queue_without_a_send_side_is_dropped(void **state)
{
	struct fake *f = fake_create(NULL);
	struct bsn_route deaf = { .rq = f->rq, .user = &deaf };

	(void)state;
	assert_int_equal(bsn_cq_add(f->cq, QPN_OTHER, &deaf), 0);
	for (uint32_t i = 0; i < 10; i++) {
		done_of(f, QPN_OTHER);
		post_write(f, i);
		fake_done(f, i, BSN_OPCODE_RDMA_WRITE);
		assert_int_equal(i % 2 ? bsn_poll(f->cq, out, 1) : bsn_poll(f->cq, out, 8), 1);
		assert_int_equal(out[0].id, i);
	}
	fake_destroy(f);
}

/* What was removed leaves nothing behind: neither slots, nor memory, nor a wrong match. */
static void the_table_stays_small(void **state)
{
	struct fake *f = fake_create(NULL);

	(void)state;
	for (uint32_t i = 1; i < 100000; i++) {
		assert_int_equal(bsn_cq_add(f->cq, i * 7 & 0xffffff, &f->sq->route), 0);
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
	fake_destroy(f);
}

/* -- queues that come while another thread polls --------------------------------------------------- */

enum { NEWCOMERS = 5000 };

struct newcomers {
	struct fake *f;
	struct bsn_route *routes;
	uint32_t added;  /* whose CQEs may come */
	uint32_t rounds; /* of the poller */
};

static uint32_t newcomer(uint32_t i)
{
	return 0x2000 + 3 * i;
}

/* Waits for the poller, so that the table grows while it is polled, and not before. */
static void await_the_poller(const struct newcomers *n)
{
	const uint32_t rounds = __atomic_load_n(&n->rounds, __ATOMIC_ACQUIRE);

	while (__atomic_load_n(&n->rounds, __ATOMIC_ACQUIRE) == rounds)
		sched_yield();
}

static void *add_newcomers(void *arg)
{
	struct newcomers *n = arg;

	for (uint32_t i = 0; i < NEWCOMERS; i++) {
		n->routes[i] = n->f->sq->route;
		n->routes[i].user = &n->routes[i];
		if (i % 16 == 0 && i)
			await_the_poller(n);
		if (i % 16 == 7) { /* one that failed half-way */
			bsn_cq_add(n->f->cq, QPN_OTHER, &n->routes[i]);
			bsn_cq_abandon(n->f->cq, QPN_OTHER);
		}
		if (bsn_cq_add(n->f->cq, newcomer(i), &n->routes[i]))
			break;
		__atomic_store_n(&n->added, i + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Each CQE finds its queue, even while the table grows. */
static void queues_come_while_another_thread_polls(void **state)
{
	struct newcomers n = { .f = fake_create(NULL) };
	uint32_t added;
	pthread_t adder;

	(void)state;
	random_start();
	n.routes = calloc(NEWCOMERS, sizeof(*n.routes));
	assert_non_null(n.routes);
	assert_int_equal(pthread_create(&adder, NULL, add_newcomers, &n), 0);
	do {
		added = __atomic_load_n(&n.added, __ATOMIC_ACQUIRE);
		__atomic_fetch_add(&n.rounds, 1, __ATOMIC_ACQ_REL);
		for (unsigned i = 0; i < 16 && added; i++) {
			const uint32_t which = (uint32_t)(random_u64() % added);

			done_of(n.f, newcomer(which));
			done_of(n.f, newcomer(added - 1));
			assert_int_equal(bsn_poll(n.f->cq, out, 1), 1);
			assert_ptr_equal(out[0].user, &n.routes[which]);
			assert_int_equal(bsn_poll(n.f->cq, out, 8), 1);
			assert_ptr_equal(out[0].user, &n.routes[added - 1]);
		}
	} while (added < NEWCOMERS);
	pthread_join(adder, NULL);
	assert_int_equal(n.f->cq->count_dropped, 0);
	fake_destroy(n.f);
	free(n.routes);
}

/* A poller between the two stores of a table that grows: the new slots, the old size. */
static void a_stale_table_size_hides_no_queue(void **state)
{
	struct fake *f = fake_create(NULL);

	(void)state;
	for (uint32_t i = 0; i < 200; i++)
		assert_int_equal(bsn_cq_add(f->cq, newcomer(i), &f->sq->route), 0);
	f->cq->hash_shift++;
	for (uint32_t i = 0; i < 200; i++) {
		done_of(f, newcomer(i));
		assert_int_equal(bsn_poll(f->cq, out, 1), 1);
	}
	f->cq->hash_shift--;
	assert_int_equal(f->cq->count_dropped, 0);
	fake_destroy(f);
}

/* -- a device that writes meanwhile --------------------------------------------------------------- */

enum { WRITTEN = 20000, AHEAD = 8 };

struct writer {
	struct fake *f;
	uint32_t polled;
};

/* Writes CQEs as a device does: the byte with the owner bit comes last. */
static void *write_cqes(void *arg)
{
	struct writer *w = arg;
	const struct bsn_cq *cq = w->f->cq;
	const uint32_t count = cq->cqe_count;

	for (uint32_t i = 0; i < WRITTEN; i++) {
		uint8_t *const cqe = (uint8_t *)(uintptr_t)cq->ring + i % count * cq->stride;
		uint8_t bytes[BSN_CQE_SIZE];

		bsn_cqe_req_encode(bytes, &(struct bsn_cqe_req){ .qpn = w->f->sq->qpn,
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

/* Each CQE is whole when its owner bit is seen; ThreadSanitizer asserts that this byte is loaded as one. */
static void a_device_writes_while_it_is_polled(void **state)
{
	struct writer w = { .f = fake_create(NULL) };
	pthread_t device;

	(void)state;
	assert_int_equal(pthread_create(&device, NULL, write_cqes, &w), 0);
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

/*
 * CQEs of a destroyed queue are not given to the next queue with its number, wherever in the ring
 * they are.
 */
static void a_reused_number_does_not_inherit_completions(void **state)
{
	const struct fake_attr attr = { .cqe_count = 16 };

	(void)state;
	for (uint32_t start = 0; start < 32; start++) {
		struct fake *f = fake_create(&attr), *other = fake_create(NULL);

		assert_int_equal(bsn_cq_add(f->cq, QPN_OTHER, &other->sq->route), 0);
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
				fake_cqe_err(f, (struct bsn_cqe_err){ .qpn = FAKE_QPN,
								      .opcode = BSN_CQE_RESP_ERR });
		bsn_cq_remove(f->cq, FAKE_QPN);
		assert_int_equal(bsn_cq_add(f->cq, FAKE_QPN, &f->sq->route), 0);
		assert_int_equal(bsn_poll(f->cq, out, 16), 5);
		for (uint32_t i = 0; i < 5; i++)
			assert_ptr_equal(out[i].user, other->sq->route.user);
		assert_int_equal(f->cq->count_dropped, 10);
		fake_destroy(f);
		fake_destroy(other);
	}
}

/* -- receives ----------------------------------------------------------------------------------------- */

static void post_recvs(struct fake *f, uint32_t count)
{
	const struct bsn_sge sge = { 0x1000, 64, 1 };

	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(bsn_recv(f->rq, &sge, 500 + i), 0);
}

static void every_kind_of_receive(void **state)
{
	static const struct {
		uint32_t cqe;
		unsigned opcode, flags;
	} kinds[] = {
		{ BSN_CQE_RESP_SEND, BSN_RECV, 0 },
		{ BSN_CQE_RESP_SEND_IMM, BSN_RECV, BSN_C_IMM },
		{ BSN_CQE_RESP_SEND_INV, BSN_RECV, BSN_C_INVAL },
		{ BSN_CQE_RESP_WR_IMM, BSN_RECV_RDMA_WITH_IMM, BSN_C_IMM },
	};

	(void)state;
	for (int ud = 0; ud < 2; ud++)
		for (uint32_t grh = 0; grh < 2; grh++) {
			const struct fake_attr attr = { .transport = ud ? BSN_TRANSPORT_UD
									: BSN_TRANSPORT_RC };
			struct fake *f = fake_create(&attr);

			post_recvs(f, 4);
			for (unsigned i = 0; i < 4; i++)
				fake_cqe_resp(f,
					      (struct bsn_cqe_resp){ .qpn = FAKE_QPN,
								     .opcode = kinds[i].cqe,
								     .byte_count = 10 + i,
								     .imm_inval_pkey = 0xabc0 + i,
								     .rqpn = 0x999,
								     .slid = 0x1234,
								     .sl = 5,
								     .ml_path = 0xc2,
								     .grh = grh,
								     .wqe_counter = i });
			assert_int_equal(bsn_poll(f->cq, out, 8), 4);
			for (unsigned i = 0; i < 4; i++) {
				assert_int_equal(out[i].id, 500 + i);
				assert_ptr_equal(out[i].user, f->sq->route.user);
				assert_int_equal(out[i].status, IBV_WC_SUCCESS);
				assert_int_equal(out[i].opcode, kinds[i].opcode);
				assert_int_equal(out[i].flags,
						 kinds[i].flags | (ud && grh ? BSN_C_GRH : 0));
				assert_int_equal(out[i].byte_len, 10 + i);
				if (kinds[i].flags)
					assert_int_equal(out[i].imm, 0xabc0 + i);
				assert_int_equal(out[i].qpn, FAKE_QPN);
				if (!ud)
					continue;
				assert_int_equal(out[i].src_qpn, 0x999);
				assert_int_equal(out[i].slid, 0x1234);
				assert_int_equal(out[i].sl, 5);
				assert_int_equal(out[i].dlid_path_bits, 0x42);
			}
			assert_int_equal(f->rq->tail, 4);
			fake_destroy(f);
		}
}

/* Solicited completions are polled like all others, those of requests, too. */
static void solicited_completions_are_polled_like_others(void **state)
{
	(void)state;
	for (int at_once = 1; at_once <= 8; at_once += 7) {
		struct fake *f = fake_create(NULL);

		post_write(f, 0);
		fake_cqe_req(f, (struct bsn_cqe_req){ .qpn = FAKE_QPN,
						      .wqe_opcode = BSN_OPCODE_RDMA_WRITE,
						      .solicited = 1 });
		assert_int_equal(at_once == 1 ? bsn_poll(f->cq, out, 1)
					      : bsn_poll(f->cq, out, at_once),
				 1);
		assert_int_equal(out[0].opcode, BSN_OPCODE_RDMA_WRITE);
		assert_int_equal(f->rq->tail, 0);
		post_recvs(f, 1);
		fake_cqe_resp(f, (struct bsn_cqe_resp){ .qpn = FAKE_QPN,
							.opcode = BSN_CQE_RESP_SEND,
							.solicited = 1 });
		assert_int_equal(at_once == 1 ? bsn_poll(f->cq, out, 1)
					      : bsn_poll(f->cq, out, at_once),
				 1);
		assert_int_equal(out[0].opcode, BSN_RECV);
		assert_int_equal(out[0].id, 500);
		assert_int_equal(f->rq->tail, 1);
		fake_destroy(f);
	}
}

/*
 * One poll gives sends and receives of one QP, and sends of several operations: each is told as
 * what it is.
 */
static void one_poll_gives_all_kinds_of_completions(void **state)
{
	static const uint8_t opcodes[] = { BSN_OPCODE_RDMA_WRITE, BSN_OPCODE_SEND,
					   BSN_OPCODE_SEND, BSN_OPCODE_RDMA_WRITE };
	struct fake *f = fake_create(NULL);

	(void)state;
	for (unsigned round = 0; round < 20; round++) {
		post_recvs(f, 4);
		for (unsigned i = 0; i < 4; i++) {
			const struct bsn_sge sge = { 0x1000, 8, 1 };

			assert_int_equal(opcodes[i] == BSN_OPCODE_SEND
						 ? bsn_send(&f->ep, &sge, i, BSN_F_SIGNALED)
						 : bsn_write(&f->ep, &sge, &remote, i, BSN_F_SIGNALED),
					 0);
			fake_done(f, 4 * round + i, opcodes[i]);
			fake_cqe_resp(f, (struct bsn_cqe_resp){ .qpn = FAKE_QPN,
								.opcode = BSN_CQE_RESP_SEND,
								.wqe_counter = 4 * round + i });
		}
		assert_int_equal(bsn_poll(f->cq, out, 16), 8);
		for (unsigned i = 0; i < 4; i++) {
			assert_int_equal(out[2 * i].opcode, opcodes[i]);
			assert_int_equal(out[2 * i].id, i);
			assert_int_equal(out[2 * i + 1].opcode, BSN_RECV);
			assert_int_equal(out[2 * i + 1].id, 500 + i);
		}
	}
	fake_destroy(f);
}

/* The CQE names its WQE, also on a QP's own receive queue. */
static void receives_come_in_any_order(void **state)
{
	struct fake *f = fake_create(NULL);

	(void)state;
	for (unsigned round = 0; round < 100; round++) {
		const struct bsn_sge sge = { 0x1000, 64, 1 };
		const uint16_t first = f->rq->head;

		for (unsigned i = 0; i < 16; i++)
			assert_int_equal(bsn_recv(f->rq, &sge, 1000 + (uint16_t)(first + i)), 0);
		assert_int_equal(bsn_recv(f->rq, &sge, 0), -EAGAIN);
		for (unsigned i = 0; i < 16; i++)
			if (i % 5 == 4)
				fake_cqe_err(f, (struct bsn_cqe_err){
							.qpn = FAKE_QPN,
							.opcode = BSN_CQE_RESP_ERR,
							.syndrome = BSN_SYNDROME_LOCAL_LENGTH,
							.wqe_counter = (uint16_t)(first + i * 7 % 16) });
			else
				fake_cqe_resp(f, (struct bsn_cqe_resp){
							 .qpn = FAKE_QPN,
							 .opcode = BSN_CQE_RESP_SEND,
							 .wqe_counter = (uint16_t)(first + i * 7 % 16) });
		for (unsigned i = 0; i < 16; i++) {
			assert_int_equal(i % 2 ? bsn_poll(f->cq, out, 1) : bsn_poll(f->cq, out + 1, 1),
					 1);
			assert_int_equal(out[!(i % 2)].id, 1000 + (uint16_t)(first + i * 7 % 16));
		}
	}
	fake_destroy(f);
}

/* An SRQ's CQEs name their WQEs, and come in any order; the user is the QP's. */
static void shared_receives_come_in_any_order(void **state)
{
	const struct fake_attr attr = { .is_srq = true, .recv_count = 8 };
	struct fake *f = fake_create(&attr);

	(void)state;
	post_recvs(f, 7);
	for (unsigned i = 0; i < 7; i++)
		fake_cqe_resp(f, (struct bsn_cqe_resp){ .qpn = FAKE_QPN,
							.opcode = BSN_CQE_RESP_SEND,
							.wqe_counter = i * 3 % 7 });
	assert_int_equal(bsn_poll(f->cq, out, 8), 7);
	for (unsigned i = 0; i < 7; i++) {
		assert_int_equal(out[i].id, 500 + i * 3 % 7);
		assert_ptr_equal(out[i].user, f->sq->route.user);
	}
	post_recvs(f, 7);
	fake_destroy(f);
}

/* -- data inside CQEs --------------------------------------------------------------------------------- */

static uint8_t sink[4][64];

static const uint8_t *expected_bytes(unsigned seed)
{
	static uint8_t bytes[64];

	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(seed + i * 5 + 1);
	return bytes;
}

/* Where the device puts the data: before the CQE proper, or at its start. */
static void fill_inline(struct fake *f, uint32_t format, uint32_t length, const uint8_t *bytes)
{
	const uint32_t at = (f->cq_pi - 1) % f->cq->cqe_count;
	uint8_t *cqe = (uint8_t *)(uintptr_t)f->cq->ring + at * f->cq->stride;

	memcpy(format == BSN_CQE_INLINE_64 ? cqe - 64 : cqe, bytes, length);
}

/* Three pieces of memory of 5, 20 and 39 bytes: 64 in all. */
static const struct bsn_sge *pieces(void)
{
	static struct bsn_sge sge[3];

	sge[0] = (struct bsn_sge){ (uintptr_t)sink[0], 5, 1 };
	sge[1] = (struct bsn_sge){ (uintptr_t)sink[1], 20, 1 };
	sge[2] = (struct bsn_sge){ (uintptr_t)sink[2], 39, 1 };
	memset(sink, FAKE_POISON, sizeof(sink));
	return sge;
}

static void assert_scattered(const uint8_t *bytes, uint32_t length)
{
	static const uint32_t sizes[] = { 5, 20, 39 };

	for (unsigned i = 0; i < 3; i++) {
		const uint32_t n = length < sizes[i] ? length : sizes[i];
		assert_memory_equal(sink[i], bytes, n);
		assert_int_equal(sink[i][n], FAKE_POISON);
		bytes += n;
		length -= n;
	}
}

static void inline_to_receive(uint32_t stride, uint32_t format, uint32_t max, bool is_srq)
{
	const struct fake_attr attr = { .cqe_stride = stride, .is_srq = is_srq };
	struct fake *f = fake_create(&attr);

	for (uint32_t length = 0; length <= max; length++) {
		const uint16_t slot = is_srq ? bsn_srq_of(f->rq)->next : f->rq->head;
		const uint8_t *bytes = expected_bytes(length);

		assert_int_equal(bsn_recv_sgl(f->rq, pieces(), 3, length), 0);
		fake_cqe_resp(f, (struct bsn_cqe_resp){ .qpn = FAKE_QPN,
							.opcode = BSN_CQE_RESP_SEND,
							.format = format,
							.wqe_counter = slot,
							.byte_count = length });
		fill_inline(f, format, length, bytes);
		assert_int_equal(bsn_poll(f->cq, out, 8), 1);
		assert_int_equal(out[0].id, length);
		assert_int_equal(out[0].byte_len, length);
		assert_int_equal(out[0].flags, 0);
		assert_scattered(bytes, length);
	}
	fake_destroy(f);
}

/* Data of every length go to one piece of memory, of which no other byte changes. */
static void inline_to_one_piece(uint32_t stride, uint32_t format, uint32_t max, bool is_srq)
{
	const struct fake_attr attr = { .cqe_stride = stride,
					.is_srq = is_srq,
					.recv_stride = is_srq ? 32 : 16 };
	const struct bsn_sge sge = { (uintptr_t)sink[1], 64, 1 };
	struct fake *f = fake_create(&attr);

	for (uint32_t length = 0; length <= max; length++) {
		const uint16_t slot = is_srq ? bsn_srq_of(f->rq)->next : f->rq->head;

		memset(sink, FAKE_POISON, sizeof(sink));
		assert_int_equal(bsn_recv(f->rq, &sge, length), 0);
		fake_cqe_resp(f, (struct bsn_cqe_resp){ .qpn = FAKE_QPN,
							.opcode = BSN_CQE_RESP_SEND_IMM,
							.format = format,
							.wqe_counter = slot,
							.imm_inval_pkey = length,
							.byte_count = length });
		fill_inline(f, format, length, expected_bytes(length));
		assert_int_equal(length % 2 ? bsn_poll(f->cq, out, 8) : bsn_poll(f->cq, out, 1), 1);
		assert_int_equal(out[0].id, length);
		assert_int_equal(out[0].flags, BSN_C_IMM);
		assert_int_equal(out[0].imm, length);
		assert_int_equal(out[0].byte_len, length);
		assert_memory_equal(sink[1], expected_bytes(length), length);
		assert_poison(sink[0], sizeof(sink[0]));
		assert_poison(sink[1] + length, sizeof(sink) - sizeof(sink[0]) - length);
	}
	fake_destroy(f);
}

static void inline_data_go_where_the_receive_says(void **state)
{
	(void)state;
	for (int is_srq = 0; is_srq < 2; is_srq++) {
		inline_to_one_piece(64, BSN_CQE_INLINE_32, 32, is_srq);
		inline_to_one_piece(128, BSN_CQE_INLINE_32, 32, is_srq);
		inline_to_one_piece(128, BSN_CQE_INLINE_64, 64, is_srq);
	}
	for (int is_srq = 0; is_srq < 2; is_srq++) {
		inline_to_receive(64, BSN_CQE_INLINE_32, 32, is_srq);
		inline_to_receive(128, BSN_CQE_INLINE_32, 32, is_srq);
		inline_to_receive(128, BSN_CQE_INLINE_64, 64, is_srq);
	}
}

/* The receive queue hands out what comes in CQEs. */
static void give_inline(struct fake *f)
{
	f->sq->route.gives_data = true;
	bsn_cq_remove(f->cq, FAKE_QPN);
	assert_int_equal(bsn_cq_add(f->cq, FAKE_QPN, &f->sq->route), 0);
}

static void inline_data_are_handed_out_where_wanted(void **state)
{
	const struct fake_attr attr = { .cqe_stride = 128 };
	struct fake *f = fake_create(&attr);

	(void)state;
	give_inline(f);
	for (uint32_t i = 0; i < 200; i++) {
		const uint32_t format = i % 2 ? BSN_CQE_INLINE_64 : BSN_CQE_INLINE_32;
		const uint32_t length = i % 2 ? 64 : 32;

		assert_int_equal(bsn_recv_sgl(f->rq, pieces(), 3, i), 0);
		fake_cqe_resp(f, (struct bsn_cqe_resp){ .qpn = FAKE_QPN,
							.opcode = BSN_CQE_RESP_SEND_IMM,
							.format = format,
							.byte_count = length });
		fill_inline(f, format, length, expected_bytes(i));
		assert_int_equal(bsn_poll(f->cq, out, 8), 1);
		assert_int_equal(out[0].flags, BSN_C_IMM | BSN_C_DATA | BSN_C_IN_CQE);
		assert_memory_equal(out[0].data, expected_bytes(i), length);
		assert_int_equal(sink[0][0], FAKE_POISON);
	}
	fake_destroy(f);
}

/*
 * Polls a receive of any kind, alone or together with others, and checks where its data are; or
 * that it has no data of its own.
 */
static void hand_out(struct fake *f, uint32_t stride, uint32_t opcode, uint32_t length, uint32_t i)
{
	const uint32_t format = length > stride / 2 ? BSN_CQE_NO_INLINE : bsn_cqe_inline_format(stride);
	const uint32_t got = opcode == BSN_CQE_RESP_WR_IMM      ? BSN_C_IMM :
			     opcode == BSN_CQE_RESP_SEND        ? BSN_C_DATA :
			     opcode == BSN_CQE_RESP_SEND_INV    ? BSN_C_DATA | BSN_C_INVAL :
								  BSN_C_DATA | BSN_C_IMM;
	const bool in_cqe = got & BSN_C_DATA && format;
	const uint16_t slot = f->rq->is_srq ? bsn_srq_of(f->rq)->next : f->rq->head;

	assert_int_equal(bsn_recv_sgl(f->rq, pieces(), 3, i), 0);
	fake_cqe_resp(f, (struct bsn_cqe_resp){ .qpn = FAKE_QPN,
						.opcode = opcode,
						.format = in_cqe ? format : BSN_CQE_NO_INLINE,
						.wqe_counter = slot,
						.imm_inval_pkey = i,
						.byte_count = length });
	if (in_cqe)
		fill_inline(f, format, length, expected_bytes(i));
	memset(&out[0], 0xee, sizeof(out[0]));
	assert_int_equal(i % 2 ? bsn_poll(f->cq, out, 1) : bsn_poll(f->cq, out, 8), 1);
	assert_int_equal(out[0].id, i);
	assert_int_equal(out[0].byte_len, length);
	assert_int_equal(out[0].flags, got | (in_cqe ? BSN_C_IN_CQE : 0));
	if (got & (BSN_C_IMM | BSN_C_INVAL))
		assert_int_equal(out[0].imm, i);
	if (in_cqe)
		assert_memory_equal(out[0].data, expected_bytes(i), length);
	else if (got & BSN_C_DATA)
		assert_ptr_equal(out[0].data, sink[0]);
	assert_int_equal(sink[0][0], FAKE_POISON);
}

static void one_pointer_tells_where_data_are(void **state)
{
	static const uint32_t opcodes[] = { BSN_CQE_RESP_WR_IMM, BSN_CQE_RESP_SEND,
					    BSN_CQE_RESP_SEND_IMM, BSN_CQE_RESP_SEND_INV };

	(void)state;
	for (uint32_t stride = 64; stride <= 128; stride *= 2) {
		for (int is_srq = 0; is_srq < 2; is_srq++) {
			const struct fake_attr attr = { .cqe_stride = stride, .is_srq = is_srq };
			struct fake *f = fake_create(&attr);

			give_inline(f);
			for (uint32_t i = 0; i < 600; i++)
				hand_out(f, stride, opcodes[i % 4], 1 + i / 8, i);
			fake_destroy(f);
		}
	}
}

/* No ConnectX writes such a CQE. Nothing is read beyond its end. */
static void data_that_a_cqe_cannot_hold_are_fatal(void **state)
{
	(void)state;
	for (int is_srq = 0; is_srq < 2; is_srq++) {
		for (uint32_t stride = 64; stride <= 128; stride *= 2) {
			const struct fake_attr attr = { .cqe_stride = stride, .is_srq = is_srq };
			struct fake *f = fake_create(&attr);

			give_inline(f);
			assert_int_equal(bsn_recv_sgl(f->rq, pieces(), 3, 1), 0);
			fake_cqe_resp(f, (struct bsn_cqe_resp){ .qpn = FAKE_QPN,
								.opcode = BSN_CQE_RESP_SEND,
								.format = bsn_cqe_inline_format(stride),
								.byte_count = stride / 2 + 1 });
			assert_int_equal(bsn_poll(f->cq, out, 1), -EPROTO);
			fake_destroy(f);
		}
	}
}

/* The device has written over each CQE that the consumer record gave back. */
static void use_again(struct fake *f, uint32_t *given_back)
{
	const uint32_t ci = fake_cq_ci(f);

	for (; (*given_back & 0xffffff) != ci; ++*given_back) {
		const uint32_t at = *given_back % f->cq->cqe_count;
		uint8_t *cqe = (uint8_t *)(uintptr_t)f->cq->ring + at * f->cq->stride;

		memset(cqe + 64 - f->cq->stride, 0xee, f->cq->stride - 64 + BSN_CQE_TAIL_OFFSET);
	}
}

static void hold_pointers(uint32_t stride, uint32_t spare, int at_once)
{
	const struct fake_attr attr = {
		.cqe_count = 64, .cqe_stride = stride, .spare = spare, .recv_count = 64
	};
	const uint32_t format = stride == 64 ? BSN_CQE_INLINE_32 : BSN_CQE_INLINE_64;
	struct fake *f = fake_create(&attr);
	uint32_t seen = 0, posted = 0, given_back = 0;

	give_inline(f);
	while (seen < 500) {
		const uint32_t began = seen;
		int n;

		for (; posted - seen < 64 - spare; posted++) {
			assert_int_equal(bsn_recv_sgl(f->rq, pieces(), 3, posted), 0);
			fake_cqe_resp(f, (struct bsn_cqe_resp){ .qpn = FAKE_QPN,
								.opcode = BSN_CQE_RESP_SEND,
								.format = format,
								.wqe_counter = posted,
								.byte_count = 32 });
			fill_inline(f, format, 32, expected_bytes(posted));
		}
		n = bsn_poll(f->cq, out, at_once);
		assert_true(n > 0);
		use_again(f, &given_back);
		for (int i = 0; i < n; i++, seen++) {
			assert_int_equal(out[i].id, seen);
			assert_int_equal(out[i].flags, BSN_C_DATA | BSN_C_IN_CQE);
			assert_memory_equal(out[i].data, expected_bytes(seen), 32);
		}
		assert_record(f, began, seen);
	}
	fake_destroy(f);
}

/*
 * Wherever a poll begins and ends, and whatever the chunk is, the device gets back only what
 * earlier polls gave.
 */
static void pointers_hold_until_the_next_poll(void **state)
{
	(void)state;
	for (uint32_t stride = 64; stride <= 128; stride += 64)
		for (uint32_t spare = 2; spare < 63; spare++)
			for (int at_once = 1; at_once <= 64; at_once += 3)
				hold_pointers(stride, spare, at_once);
}

/* READs of several blocks, at every position of the ring, also after a DC prefix. */
static void inline_data_go_where_the_read_says(void **state)
{
	(void)state;
	for (int dc = 0; dc < 2; dc++) {
		const struct fake_attr attr = {
			.cqe_stride = 128,
			.transport = dc ? BSN_TRANSPORT_DC : BSN_TRANSPORT_RC,
			.has_peers = dc,
		};
		const struct bsn_av_dc_grh av = { .ext = 1, .dqpn = 5 };
		uint8_t prefix[BSN_AV_DC_GRH_SIZE];
		struct fake *f = fake_create(&attr);
		struct bsn_peer peer = { .ep = { f->sq }, .user = prefix, .ctrl_bits = 0, .prefix_ds = 3 };

		bsn_av_dc_grh_encode(prefix, &av);
		peer.head = bsn_v2_load(prefix);
		peer.more = prefix + BSN_DS_SIZE;
		for (uint32_t length = 0; length <= 64; length++) {
			const uint32_t format =
				length % 2 && length <= 32 ? BSN_CQE_INLINE_32 : BSN_CQE_INLINE_64;
			const struct bsn_wr wr = { .id = length,
						   .sge = pieces(),
						   .sge_count = 3,
						   .remote = remote,
						   .opcode = BSN_OPCODE_RDMA_READ,
						   .flags = BSN_F_SIGNALED | BSN_F_RING };
			const uint32_t pi = f->sq->pi;

			assert_int_equal(bsn_post(dc ? &peer.ep : &f->ep, &wr), 0);
			fake_cqe_req(f, (struct bsn_cqe_req){ .qpn = FAKE_QPN,
							      .opcode = BSN_CQE_REQ,
							      .wqe_opcode = wr.opcode,
							      .format = format,
							      .wqe_counter = pi,
							      .byte_count = length });
			fill_inline(f, format, length, expected_bytes(length));
			assert_int_equal(bsn_poll(f->cq, out, 8), 1);
			assert_int_equal(out[0].id, length);
			assert_int_equal(out[0].byte_len, length);
			assert_ptr_equal(out[0].user, dc ? (void *)prefix : f->sq->route.user);
			assert_scattered(expected_bytes(length), length);
		}
		fake_destroy(f);
	}
}

static void inline_atomics(bool is_big_endian)
{
	const struct bsn_sge sge = { (uintptr_t)sink[3], 8, 1 };
	struct fake *f = fake_create(NULL);
	uint64_t value;

	f->sq->has_big_endian_results = is_big_endian;
	for (uint32_t i = 0; i < 20; i++) {
		memset(sink, FAKE_POISON, sizeof(sink));
		assert_int_equal(bsn_fetch_add(&f->ep, &sge, &remote, 1, i, BSN_F_SIGNALED), 0);
		fake_cqe_req(f, (struct bsn_cqe_req){ .qpn = FAKE_QPN,
						      .wqe_opcode = BSN_OPCODE_ATOMIC_FA,
						      .format = BSN_CQE_INLINE_32,
						      .wqe_counter = i,
						      .byte_count = 8 });
		fill_inline(f, BSN_CQE_INLINE_32, 8, expected_bytes(i));
		assert_int_equal(bsn_poll(f->cq, out, 8), 1);
		value = bsn_load_be64(expected_bytes(i));
		assert_memory_equal(sink[3], is_big_endian ? expected_bytes(i) : (uint8_t *)&value, 8);
		assert_int_equal(sink[3][8], FAKE_POISON);
	}
	fake_destroy(f);
}

/* Results are big-endian in a CQE; in memory they are as the device has them there. */
static void inline_results_of_atomics(void **state)
{
	(void)state;
	inline_atomics(false);
	inline_atomics(true);
}

/* A WRITE has no result, so whatever its CQE holds must not go into what it sent. */
static void a_request_without_result_takes_none(void **state)
{
	const struct bsn_sge sge = { (uintptr_t)sink[0], 64, 1 };
	struct fake *f = fake_create(NULL);

	(void)state;
	memset(sink, FAKE_POISON, sizeof(sink));
	assert_int_equal(bsn_write(&f->ep, &sge, &remote, 7, BSN_F_SIGNALED), 0);
	fake_cqe_req(f, (struct bsn_cqe_req){
				.qpn = FAKE_QPN, .format = BSN_CQE_INLINE_32, .byte_count = 32 });
	assert_int_equal(bsn_poll(f->cq, out, 8), 1);
	assert_int_equal(out[0].id, 7);
	for (unsigned i = 0; i < 64; i++)
		assert_int_equal(sink[0][i], FAKE_POISON);
	fake_destroy(f);
}

/* -- errors ------------------------------------------------------------------------------------------- */

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
	f->sq->route.first_error = &first;
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
			assert_ptr_equal(out[0].user, f->sq->route.user);
			assert_int_equal(out[0].qpn, FAKE_QPN);
		}
	assert_int_equal(first.id, 70);
	assert_int_equal(first.status, IBV_WC_GENERAL_ERR);
	fake_destroy(f);
}

/* -- the first failure, of two pollers ------------------------------------------------------------- */

enum { FAILURES = 2000 };

struct failing {
	struct bsn_route route[FAILURES];
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
		bsn_route_keep_error(&f->route[i], &f->mine[me->which]);
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
		assert_int_equal(pthread_create(&threads[i], NULL, fail_again_and_again, &me[i]), 0);
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
				const struct fake_attr attr = { .has_peers = many,
								.transport = many ? BSN_TRANSPORT_DC
										  : BSN_TRANSPORT_RC };
				struct bsn_completion first = { 0 };
				struct fake *f = fake_create(&attr);
				struct bsn_ctrl ctrl;

				f->sq->route.first_error = &first;
				for (uint32_t i = 0; i < 50; i++) {
					assert_int_equal(bsn_sq_post_marker(f->sq), 0);
					assert_int_equal(fake_send_record(f), i + 1);
					bsn_ctrl_decode(&ctrl, f->sq_ring + i % 16 * BSN_BB_SIZE);
					assert_int_equal(ctrl.opcode, BSN_OPCODE_NOP);
					assert_int_equal(ctrl.ce, BSN_CE_ALWAYS);
					assert_int_equal(bsn_sq_outstanding_bb(f->sq), 1);
					if (fails)
						fake_cqe_err(f, (struct bsn_cqe_err){
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

/* -- what cannot be read -------------------------------------------------------------------------------- */

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
	static const uint32_t kinds[] = { BSN_CQE_REQ, BSN_CQE_RESP_SEND, BSN_CQE_RESP_SEND_IMM,
					  BSN_CQE_RESP_SEND_INV, BSN_CQE_RESP_WR_IMM, BSN_CQE_REQ_ERR,
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

/* -- arming ------------------------------------------------------------------------------------------- */

static void arming_says_what_was_polled(void **state)
{
	const struct fake_attr attr = { .spare = 16 };
	struct fake *f = fake_create(&attr);

	(void)state;
	for (uint32_t ci = 0; ci < 200; ci++) {
		const bool solicited = ci % 3 == 0;
		struct bsn_cq_doorbell bell;
		struct bsn_dbr_cq_arm arm;

		f->cq->arm_sn = (uint8_t)(ci / 2);
		memset(f->page, FAKE_POISON, FAKE_PAGE);
		bsn_cq_arm(f->cq, solicited);
		bsn_cq_doorbell_decode(&bell, f->page + BSN_UAR_CQ_ARM_OFFSET);
		bsn_dbr_cq_arm_decode(&arm, f->cq->record + BSN_DBR_CQ_ARM_OFFSET / 4);
		assert_int_equal(bell.sn, ci / 2 % 4);
		assert_int_equal(bell.cmd, solicited ? BSN_CQ_ARM_SOLICITED : BSN_CQ_ARM_NEXT);
		assert_int_equal(bell.ci, ci);
		assert_int_equal(bell.cqn, FAKE_CQN);
		assert_int_equal(arm.sn, bell.sn);
		assert_int_equal(arm.cmd, bell.cmd);
		assert_int_equal(arm.ci, bell.ci);
		assert_int_equal(fake_cq_ci(f), ci); /* in the middle of a chunk, too */
		for (unsigned i = 0; i < FAKE_PAGE; i++)
			if (i / 8 != BSN_UAR_CQ_ARM_OFFSET / 8)
				assert_int_equal(f->page[i], FAKE_POISON);
		post_write(f, ci);
		fake_done(f, ci, BSN_OPCODE_RDMA_WRITE);
		assert_int_equal(bsn_poll(f->cq, out, 8), 1);
	}
	fake_destroy(f);
}

/* -- an SRQ of several threads -------------------------------------------------------------------- */

enum { POLLERS = 2, SRQ_WQES = 16, MESSAGES = 30000 };

/*
 * One thread posts. Each message goes to one of two pollers, as a device would deliver it; each
 * poller has a CQ of its own. A WQE whose number does not come back is lost.
 */
struct shared_queue {
	struct fake *owner;             /* of the SRQ */
	struct fake *poller[POLLERS];
	uint16_t sent[POLLERS][MESSAGES]; /* the WQE of each message to a poller */
	uint32_t sent_count[POLLERS];     /* atomic */
	uint32_t over;                    /* atomic: no more comes */
	uint32_t got[POLLERS];
	uint64_t sum[POLLERS];
	bool is_wrong[POLLERS];
};

struct poller {
	struct shared_queue *q;
	unsigned which;
};

static void *poll_shared(void *arg)
{
	const struct poller *me = arg;
	struct shared_queue *q = me->q;
	struct fake *f = q->poller[me->which];
	uint32_t seen = 0;

	while (true) {
		const uint32_t over = __atomic_load_n(&q->over, __ATOMIC_ACQUIRE);
		const uint32_t sent = __atomic_load_n(&q->sent_count[me->which], __ATOMIC_ACQUIRE);
		struct bsn_completion c[4];

		if (seen == sent && over)
			break;
		if (seen == sent)
			sched_yield();
		for (; seen < sent; seen++) {
			fake_cqe_resp(f, (struct bsn_cqe_resp){ .qpn = FAKE_QPN,
								.opcode = BSN_CQE_RESP_SEND,
								.wqe_counter =
									q->sent[me->which][seen] });
			q->is_wrong[me->which] |= bsn_poll(f->cq, c, 4) != 1;
			q->sum[me->which] += c[0].id;
			q->got[me->which]++;
		}
	}
	return NULL;
}

/* Returns whether all messages went out; a queue that lost its WQEs stays full. */
static bool post_shared(struct shared_queue *q)
{
	const struct bsn_sge sge = { 0x1000, 64, 1 };
	struct bsn_rq *rq = q->owner->rq;

	for (uint32_t i = 0; i < MESSAGES; i++) {
		const uint16_t wqe = bsn_srq_of(rq)->next;
		const unsigned to = (unsigned)(random_u64() % POLLERS);
		const uint32_t n = q->sent_count[to];
		unsigned patience = 1000000;

		while (bsn_recv(rq, &sge, i) == -EAGAIN) {
			if (!--patience)
				return false;
			sched_yield();
		}
		q->sent[to][n] = wqe;
		__atomic_store_n(&q->sent_count[to], n + 1, __ATOMIC_RELEASE);
	}
	return true;
}

static void a_shared_queue_of_two_pollers_loses_nothing(void **state)
{
	const struct fake_attr attr = { .is_srq = true, .recv_count = SRQ_WQES };
	struct shared_queue *q = calloc(1, sizeof(*q));
	struct poller me[POLLERS];
	pthread_t threads[POLLERS];
	bool all_sent;

	(void)state;
	random_start();
	assert_non_null(q);
	q->owner = fake_create(&attr);
	bsn_srq_share(q->owner->rq);
	for (unsigned i = 0; i < POLLERS; i++) {
		q->poller[i] = fake_create(&(struct fake_attr){ .no_recv = true });
		q->poller[i]->sq->route.rq = q->owner->rq;
		bsn_cq_remove(q->poller[i]->cq, FAKE_QPN);
		assert_int_equal(
			bsn_cq_add(q->poller[i]->cq, FAKE_QPN, &q->poller[i]->sq->route), 0);
		me[i] = (struct poller){ q, i };
		assert_int_equal(pthread_create(&threads[i], NULL, poll_shared, &me[i]), 0);
	}
	all_sent = post_shared(q);
	__atomic_store_n(&q->over, 1, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < POLLERS; i++)
		pthread_join(threads[i], NULL);
	assert_true(all_sent);
	assert_false(q->is_wrong[0] || q->is_wrong[1]);
	assert_int_equal(q->got[0] + q->got[1], MESSAGES);
	assert_int_equal(q->sum[0] + q->sum[1], (uint64_t)MESSAGES * (MESSAGES - 1) / 2);
	for (unsigned i = 0; i < SRQ_WQES - 1; i++) /* all are there again */
		assert_int_equal(bsn_recv(q->owner->rq, &(struct bsn_sge){ 0x1000, 8, 1 }, 0), 0);
	assert_int_equal(bsn_recv(q->owner->rq, &(struct bsn_sge){ 0x1000, 8, 1 }, 0), -EAGAIN);
	for (unsigned i = 0; i < POLLERS; i++)
		fake_destroy(q->poller[i]);
	fake_destroy(q->owner);
	free(q);
}

/* -- on-demand page faults of a shared queue ------------------------------------------------------ */

/* What a ConnectX does with a shared receive queue: it follows the links, as far as the record says. */
struct chain {
	struct fake *f;
	uint16_t at;
	uint32_t taken;
};

static uint8_t *chain_wqe(const struct chain *chain)
{
	return chain->f->rq_ring + (size_t)chain->at * chain->f->rq->stride;
}

static uint16_t chain_take(struct chain *chain)
{
	const uint16_t taken = chain->at;
	struct bsn_srq_next link;

	bsn_srq_next_decode(&link, chain_wqe(chain));
	chain->at = (uint16_t)link.next_wqe_index;
	chain->taken++;
	return taken;
}

static void fault(struct chain *chain)
{
	fake_cqe_err(chain->f, (struct bsn_cqe_err){ .qpn = FAKE_QPN,
						     .opcode = BSN_CQE_RESP_ERR,
						     .wqe_counter = chain_take(chain),
						     .syndrome = BSN_SYNDROME_REMOTE_ABORTED,
						     .vendor_syndrome =
							     BSN_VENDOR_ODP_PAGE_FAULT });
}

static void receive(struct chain *chain)
{
	fake_cqe_resp(chain->f, (struct bsn_cqe_resp){ .qpn = FAKE_QPN,
						       .opcode = BSN_CQE_RESP_SEND,
						       .wqe_counter = chain_take(chain) });
}

/* The receive that the device would take next is the one of this id, with all its pieces. */
static void assert_next(const struct chain *chain, uint64_t id)
{
	const uint8_t *list = chain_wqe(chain) + BSN_SRQ_NEXT_SIZE;
	struct bsn_data data;

	for (unsigned i = 0; i < 2; i++) {
		bsn_data_decode(&data, list + i * BSN_DATA_SIZE);
		assert_int_equal(data.addr, 0x1000 * (i + 1) + id);
		assert_int_equal(data.byte_count, 64 + id);
		assert_int_equal(data.lkey, 7);
	}
	bsn_data_decode(&data, list + 2 * BSN_DATA_SIZE);
	assert_int_equal(data.lkey, BSN_LKEY_TERMINATOR);
}

static int post_two_pieces(struct bsn_rq *rq, uint64_t id)
{
	const struct bsn_sge sge[] = { { 0x1000 + id, (uint32_t)(64 + id), 7 },
				       { 0x2000 + id, (uint32_t)(64 + id), 7 } };

	return bsn_recv_sgl(rq, sge, 2, id);
}

enum { ON_DEMAND_DEPTH = 5 };

static struct fake_attr on_demand(uint32_t count, uint32_t depth)
{
	return (struct fake_attr){ .is_srq = true,
				   .is_on_demand = true,
				   .recv_count = count,
				   .recv_capacity = depth };
}

/*
 * Each faulted receive is posted again after the others, whole. No WQE is used again before the
 * others were used.
 */
static void check_reposts(uint32_t count)
{
	const struct fake_attr attr = on_demand(count, ON_DEMAND_DEPTH);
	struct fake *f = fake_create(&attr);
	struct chain chain = { .f = f };
	struct bsn_completion c;
	uint64_t next = 0;

	for (uint64_t id = 0; id < ON_DEMAND_DEPTH; id++)
		assert_int_equal(post_two_pieces(f->rq, id), 0);
	assert_int_equal(post_two_pieces(f->rq, 99), -EAGAIN);
	for (unsigned i = 0; i < 40 * count; i++, next = (next + 1) % ON_DEMAND_DEPTH) {
		const uint16_t faulted = chain.at;
		assert_next(&chain, next);
		fault(&chain);
		assert_int_equal(bsn_poll(f->cq, &c, 1), 0);
		assert_int_equal(fake_recv_record(f),
				 (uint16_t)(ON_DEMAND_DEPTH + chain.taken));
		assert_true(count == ON_DEMAND_DEPTH + 1 || bsn_srq_of(f->rq)->next != faulted);
		assert_int_equal(post_two_pieces(f->rq, 99), -EAGAIN);
	}
	for (unsigned i = 0; i < ON_DEMAND_DEPTH; i++, next = (next + 1) % ON_DEMAND_DEPTH) {
		assert_next(&chain, next);
		receive(&chain);
		assert_int_equal(bsn_poll(f->cq, &c, 1), 1);
		assert_int_equal(c.id, next);
	}
	assert_int_equal(f->sq->route.has_error, 0);
	fake_destroy(f);
}

static void a_page_fault_is_posted_again(void **state)
{
	(void)state;
	check_reposts(8);
	check_reposts(32);
}

/* If the queue was not made for page faults, or is a QP's own, the fault is shown to the user. */
static void a_page_fault_is_shown_otherwise(void **state)
{
	(void)state;
	for (int is_srq = 0; is_srq < 2; is_srq++) {
		struct fake *f = fake_create(&(struct fake_attr){ .is_srq = is_srq });
		struct chain chain = { .f = f };
		struct bsn_completion c;

		assert_int_equal(bsn_recv(f->rq, &(struct bsn_sge){ 0x1000, 8, 1 }, 42), 0);
		fault(&chain);
		assert_int_equal(bsn_poll(f->cq, &c, 1), 1);
		assert_int_equal(c.id, 42);
		assert_int_equal(c.status, IBV_WC_REM_ABORT_ERR);
		assert_int_equal(c.vendor_syndrome, BSN_VENDOR_ODP_PAGE_FAULT);
		fake_destroy(f);
	}
}

/* Only a page fault leaves the QP alive; any other failure of a receive ends the QP. */
static void other_failures_are_not_posted_again(void **state)
{
	static const struct {
		unsigned syndrome, vendor;
	} others[] = {
		{ BSN_SYNDROME_REMOTE_ABORTED, BSN_VENDOR_ODP_PAGE_FAULT + 1 },
		{ BSN_SYNDROME_LOCAL_PROTECTION, BSN_VENDOR_ODP_PAGE_FAULT },
	};
	struct fake *f = fake_create(&(struct fake_attr){ .is_srq = true, .is_on_demand = true });
	struct bsn_completion c;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		const uint16_t wqe = bsn_srq_of(f->rq)->next;

		assert_int_equal(bsn_recv(f->rq, &(struct bsn_sge){ 0x1000, 8, 1 }, 42 + i), 0);
		fake_cqe_err(f, (struct bsn_cqe_err){ .qpn = FAKE_QPN,
						      .opcode = BSN_CQE_RESP_ERR,
						      .syndrome = others[i].syndrome,
						      .vendor_syndrome = others[i].vendor,
						      .wqe_counter = wqe });
		assert_int_equal(bsn_poll(f->cq, &c, 1), 1);
		assert_int_equal(c.id, 42 + i);
		assert_int_equal(c.vendor_syndrome, others[i].vendor);
	}
	fake_destroy(f);
}

struct faulting {
	struct fake *f;
	uint32_t posted;
	bool has_failed;
};

enum { FAULTING_POSTS = 20000 };

static void *post_to_faulting(void *arg)
{
	struct faulting *q = arg;

	for (uint64_t id = 0; id < FAULTING_POSTS; id++) {
		unsigned patience = 1000000;
		while (bsn_recv(q->f->rq, &(struct bsn_sge){ 0x1000 + id, 64, 7 }, id) == -EAGAIN &&
		       --patience)
			sched_yield();
		if (!patience) {
			q->has_failed = true;
			return NULL;
		}
		__atomic_store_n(&q->posted, (uint32_t)id + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* The poller posts again while another thread posts: nothing is lost, nothing comes twice. */
static void page_faults_beside_a_poster(void **state)
{
	const struct fake_attr attr = on_demand(32, 20);
	struct faulting q = { .f = fake_create(&attr) };
	struct chain chain = { .f = q.f };
	uint8_t *seen = calloc(FAULTING_POSTS, 1);
	uint32_t faults = 0, received = 0;
	unsigned patience = 10000000;
	pthread_t poster;

	(void)state;
	random_start();
	assert_non_null(seen);
	assert_int_equal(pthread_create(&poster, NULL, post_to_faulting, &q), 0);
	while (received < FAULTING_POSTS && --patience) {
		const uint32_t posted = __atomic_load_n(&q.posted, __ATOMIC_ACQUIRE);
		struct bsn_completion c;
		if (posted + faults == chain.taken) {
			sched_yield();
		} else if (random_u64() % 4) {
			fault(&chain);
			faults++;
			assert_int_equal(bsn_poll(q.f->cq, &c, 1), 0);
		} else {
			receive(&chain);
			assert_int_equal(bsn_poll(q.f->cq, &c, 1), 1);
			assert_true(c.id < FAULTING_POSTS && !seen[c.id]++);
			received++;
		}
	}
	pthread_join(poster, NULL);
	assert_false(q.has_failed);
	assert_int_equal(received, FAULTING_POSTS);
	free(seen);
	fake_destroy(q.f);
}

/* -- anything ------------------------------------------------------------------------------------------ */

static void fill_rings(struct fake *f)
{
	const struct bsn_sge sge[] = { { (uintptr_t)sink[0], 5, 1 },
				       { (uintptr_t)sink[1], 64, 1 } };

	for (uint32_t i = 0; i < 16; i++)
		assert_int_equal(i % 2 ? bsn_read(&f->ep, &sge[1], &remote, i, BSN_F_SIGNALED)
				       : bsn_write(&f->ep, sge, &remote, i, 0),
				 0);
	while (!bsn_recv_sgl(f->rq, sge, 2, 0))
		;
}

/* Makes a random CQE, mostly one that leaves something to do. */
static void random_cqe(struct fake *f)
{
	static const uint8_t known[] = { 0, 0, 1, 2, 3, 4, 13, 14 };
	const uint32_t r = (uint32_t)random_u64();
	const struct bsn_cqe_req view = { .qpn = FAKE_QPN, .byte_count = r % 67 };
	const struct bsn_cqe_tail tail = {
		.wqe_counter = (uint16_t)random_u64(),
		.opcode = r % 32 ? known[r / 32 % 8] : r / 32 % 16,
		.format = r / 512 % 4 ? 0 : r / 2048 % 4,
	};
	const uint32_t length = bsn_row_offset(bsn_row_find(&bsn_cqe_req_desc, "byte_count"));
	uint8_t *cqe = fake_next_cqe(f), bytes[BSN_CQE_SIZE];

	bsn_cqe_req_encode(bytes, &view);
	random_bytes(cqe, BSN_CQE_TAIL_OFFSET);
	if (r / 8192 % 16)
		memcpy(cqe + BSN_CQE_QPN_OFFSET, bytes + BSN_CQE_QPN_OFFSET, 4);
	if (r / 131072 % 16)
		memcpy(cqe + length, bytes + length, 4);
	fake_produce(f, &tail);
}

/* Whatever a device writes: a number of completions, or an error, and no byte out of place. */
static void random_cqes_never_crash(void **state)
{
	unsigned long reaped = 0;

	(void)state;
	random_start();
	for (unsigned round = 0; round < 20000; round++) {
		const struct fake_attr attr = { .cqe_stride = round % 2 ? 64 : 128,
						.is_srq = round % 3 == 0,
						.cqe_count = 16,
						.spare = 4,
						.ce_quiet = (enum bsn_ce)(round / 4 % 2) };
		struct fake *f = fake_create(&attr);
		int n = 0;

		fill_rings(f);
		for (unsigned i = 0; i < 40 && n >= 0; i++) {
			random_cqe(f);
			n = bsn_poll(f->cq, out, 20);
			reaped += n > 0 ? (unsigned)n : 0;
		}
		fake_destroy(f);
	}
	assert_true(reaped > 100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(laps_of_every_shape),
		cmocka_unit_test(what_is_to_spare_may_shrink),
		cmocka_unit_test(what_a_lap_left_is_not_polled),
		cmocka_unit_test(a_poll_of_more_than_the_ring_loses_nothing),
		cmocka_unit_test(unknown_queues_are_counted),
		cmocka_unit_test(a_cq_without_queues_drops),
		cmocka_unit_test(colliding_numbers_find_their_queues),
		cmocka_unit_test(numbers_of_any_stride_spread),
		cmocka_unit_test(a_send_of_a_queue_without_a_send_side_is_dropped),
		cmocka_unit_test(the_table_stays_small),
		cmocka_unit_test(queues_come_while_another_thread_polls),
		cmocka_unit_test(a_device_writes_while_it_is_polled),
		cmocka_unit_test(a_stale_table_size_hides_no_queue),
		cmocka_unit_test(a_reused_number_does_not_inherit_completions),
		cmocka_unit_test(every_kind_of_receive),
		cmocka_unit_test(solicited_completions_are_polled_like_others),
		cmocka_unit_test(one_poll_gives_all_kinds_of_completions),
		cmocka_unit_test(receives_come_in_any_order),
		cmocka_unit_test(shared_receives_come_in_any_order),
		cmocka_unit_test(inline_data_go_where_the_receive_says),
		cmocka_unit_test(inline_data_are_handed_out_where_wanted),
		cmocka_unit_test(one_pointer_tells_where_data_are),
		cmocka_unit_test(data_that_a_cqe_cannot_hold_are_fatal),
		cmocka_unit_test(pointers_hold_until_the_next_poll),
		cmocka_unit_test(inline_data_go_where_the_read_says),
		cmocka_unit_test(inline_results_of_atomics),
		cmocka_unit_test(a_request_without_result_takes_none),
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
		cmocka_unit_test(arming_says_what_was_polled),
		cmocka_unit_test(a_shared_queue_of_two_pollers_loses_nothing),
		cmocka_unit_test(a_page_fault_is_posted_again),
		cmocka_unit_test(a_page_fault_is_shown_otherwise),
		cmocka_unit_test(other_failures_are_not_posted_again),
		cmocka_unit_test(page_faults_beside_a_poster),
		cmocka_unit_test(random_cqes_never_crash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
