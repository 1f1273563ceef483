/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rules of dv/ORDERING.md, by what a call did (trace.h). Loads do not report themselves: for O4
 * and O5 the device changes its CQEs at the very moment of a barrier or of a store, as a machine
 * that reorders would make it seem. O1 to O3 of every request at every position: test_ring.c.
 */
#include "trace.h"

/* -- send queues: O1, O2, O3 ------------------------------------------------------------------- */

static const struct bsn_sge three[] = { { 0x1000, 64, 3 }, { 0x2000, 64, 3 }, { 0x3000, 64, 3 } };

#define ALL (BSN_F_SIGNALED | BSN_F_RING)

static void assert_published(struct fake *f, uint32_t pi, unsigned blueflame, unsigned each)
{
	trace_assert_published(f, pi, blueflame, each);
	fake_seek(f, f->sq->pi);
}

static void append_one(struct fake *f)
{
	ok(bsn_write(&f->ep, three, &remote, 1, BSN_F_SIGNALED));
}

/* What a call publishes, from the block on that was next. */
#define assert_publishes(call, blueflame)                                                          \
	do {                                                                                       \
		const uint32_t next = f->sq->pi;                                                   \
		trace_start();                                                                     \
		ok(call);                                                                          \
		assert_published(f, next, blueflame, each);                                        \
	} while (0)

/* One block, by inline code and not; a prepared body is vectors, which inline code stores. */
static void publish_single(struct fake *f, unsigned bytes, unsigned each)
{
	const struct bsn_wr wr = write_of(three, 1, 0);
	struct bsn_prepared p;

	ok(bsn_prepare(&f->ep, &wr, &p));
	assert_publishes(bsn_write(&f->ep, three, &remote, 1, ALL), bytes);
	assert_publishes(bsn_fetch_add(&f->ep, three, &remote, 1, 1, ALL), bytes);
	assert_publishes(bsn_sq_post_prepared(&f->ep, &p, 1, ALL), bytes);
	assert_publishes(bsn_post_prepared(&f->ep, &p, 1, ALL), bytes);
	trace_start();
	append_one(f);
	assert_string_equal(trace_word("W"), "W");
	ok(bsn_ring(&f->sq->ep));
	assert_published(f, f->sq->pi - 1, bytes, each);
}

/* Several blocks, of lengths that the compiler knows or not; both kinds of inline data. */
static void publish_long(struct fake *f, bool blueflame, unsigned each)
{
	static const uint8_t data[200];
	volatile unsigned count = 3;
	const struct bsn_wr two_blocks = write_of(three, 3, ALL);
	const uint32_t pi = f->sq->pi;

	assert_publishes(bsn_write_sgl(&f->ep, three, 3, &remote, 1, ALL), blueflame ? 128 : 0);
	assert_publishes(bsn_write_sgl(&f->ep, three, count, &remote, 1, ALL), blueflame ? 128 : 0);
	assert_publishes(bsn_post(&f->ep, &two_blocks), blueflame ? 128 : 0);
	assert_int_equal(f->sq->pi, pi + 3 * 2);
	assert_publishes(bsn_write_inline(&f->ep, data, 12, &remote, 1, ALL), blueflame ? 64 : 0);
	assert_publishes(bsn_send_inline(&f->ep, data, 200, 1, ALL), blueflame ? 256 : 0);
}

static void publish_several(struct fake *f)
{
	for (int rung_by_post = 0; rung_by_post < 2; rung_by_post++) {
		const uint32_t pi = f->sq->pi;
		trace_start();
		append_one(f);
		if (rung_by_post) {
			ok(bsn_write(&f->ep, three, &remote, 1, ALL));
		} else {
			append_one(f);
			ok(bsn_ring(&f->sq->ep));
		}
		assert_published(f, pi, 0, 8);
	}
	trace_start();
	ok(bsn_ring(&f->sq->ep)); /* nothing to publish: nothing is stored */
	assert_string_equal(trace_word(""), "");
}

static void publish_in_mode(enum bsn_store store, bool locked, bool no_blueflame)
{
	const bool blueflame = store != BSN_STORE_DOORBELL && !no_blueflame;
	const unsigned each = trace_bytes_at_a_time(store);
	OWNED struct fake *f = FAKE(.store = store, .locked = locked, .no_blueflame = no_blueflame);

	for (unsigned lap = 0; lap < 40; lap++) { /* each wraps elsewhere */
		publish_single(f, blueflame ? 64 : 0, each);
		publish_several(f);
		publish_long(f, blueflame, each);
	}
}

static void o1_o2_o3_in_every_mode(void **state)
{
	for (enum bsn_store s = BSN_STORE_8; s < BSN_STORE_COUNT; s++)
		for (unsigned kind = 0; kind < 4; kind++) {
			if (!bsn_store_supported(s)) {
				print_message("# this CPU lacks %s\n", bsn_store_name(s));
				break;
			}
			publish_in_mode(s, kind & 1, kind & 2);
		}
}

/* Two queues of one lane: the next doorbell goes to the other buffer, whichever queue rings. */
static void the_toggle_is_the_lanes(void **state)
{
	const struct fake_attr attr = { .count_bb = 64 };
	OWNED struct fake *f = fake_create(&attr), *g = fake_create(&attr);

	g->sq->lane = &f->lane.hot;
	for (unsigned i = 0; i < 50; i++) {
		struct fake *who = i * i % 3 ? f : g;
		trace_start();
		ok(bsn_write(&who->ep, three, &remote, 1, ALL));
		trace_assert_stores(fake_buffer(f, i % 2), 64, TRACE_MIXED);
	}
}

/* -- several send queues ----------------------------------------------------------------------- */

enum { QUEUES = 40 };

/* What is published of the first @count of them, of which each has its @word; they share @lanes. */
static void assert_published_together(struct fake *const f[], unsigned count, unsigned lanes,
				      const char *word)
{
	struct bsn_ep *eps[QUEUES];

	for (unsigned i = 0; i < count; i++) {
		eps[i] = &f[i]->sq->ep;
		f[i]->sq->lane = &f[i % lanes]->lane.hot;
		append_one(f[i]);
	}
	trace_start();
	ok(bsn_ring_many(eps, count));
	assert_string_equal(trace_word(""), word);
	for (unsigned i = 0; i < count; i++) {
		assert_int_equal(fake_send_record(f[i]), f[i]->sq->pi);
		fake_seek(f[i], f[i]->sq->pi);
	}
	trace_start();
	ok(bsn_ring_many(eps, count)); /* nothing to publish: nothing is stored */
	assert_int_equal(strspn(trace_word(""), "d"), trace_count);
}

/* By the doorbell alone each store is one event. Two reach a lane's buffers before its flush. */
static void several_queues_share_barriers(void **state)
{
	struct fake *f[QUEUES];

	for (unsigned i = 0; i < QUEUES; i++)
		f[i] = FAKE(.store = BSN_STORE_DOORBELL);
	assert_published_together(f, 1, 1, "dRsMx");
	assert_published_together(f, 2, 2, "dRRsMMx");
	assert_published_together(f, 2, 1, "dRRsMMx");
	assert_published_together(f, 5, 1, "dRRRRRsMMxMMxMx");
	assert_published_together(f, 5, 2, "dRRRRRsMMMMxMx");
	assert_published_together(f, 7, 7, "dRRRRRRRsMMMMMMMx");
	assert_published_together(
		f, 40, 40,
		"dRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRsMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMx"
		"dRRRRRRRRsMMMMMMMMx");
	f[0]->lane.hot.toggle = 0; /* a register with one buffer */
	assert_published_together(f, 3, 1, "dRRRsMxMxMx");
	for (unsigned i = 0; i < QUEUES; i++)
		fake_destroy(f[i]);
}

/* A queue that is named twice, one that has nothing to publish, and one whose lane has a lock. */
static void several_queues_of_any_kind(void **state)
{
	struct fake *f[] = { fake_create(NULL), fake_create(NULL), FAKE(.locked = true) };
	struct bsn_ep *const eps[] = { &f[2]->sq->ep, &f[0]->sq->ep, &f[1]->sq->ep,
				       &f[0]->sq->ep };
	struct bsn_ep *const none[] = { &f[0]->sq->ep, NULL };

	append_one(f[0]);
	append_one(f[0]);
	append_one(f[2]);
	trace_start();
	assert_int_equal(bsn_ring_many(none, 2), -EINVAL);
	assert_string_equal(trace_word(""), "");
	ok(bsn_ring_many(eps, 4));
	assert_string_equal(trace_word("RM"), "dRsMx(dRsMx)");
	assert_int_equal(dv_sq(f[0]->sq)->count_doorbells, 1);
	assert_int_equal(dv_sq(f[0]->sq)->count_rung, 2 * BSN_BB_SIZE);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(fake_send_record(f[i]), f[i]->sq->pi);
		fake_destroy(f[i]);
	}
}

/* -- completion queues: O4, O5, O8 ------------------------------------------------------------- */

static struct fake *device;
static bool wrote_rest;

/* The other bytes of the CQE appear only when the CPU executes a barrier. */
static void write_rest(unsigned kind)
{
	uint8_t *cqe = (uint8_t *)(uintptr_t)device->cq->next;
	uint8_t bytes[BSN_CQE_SIZE];

	if (kind != BSN_ORDER_FROM_DEVICE || wrote_rest)
		return;
	ENCODE(cqe_req, bytes, .qpn = FAKE_QPN, .wqe_opcode = BSN_OPCODE_RDMA_READ,
	       .byte_count = 4711);
	memcpy(cqe, bytes, BSN_CQE_TAIL_OFFSET);
	wrote_rest = true;
}

/* The owner bit is the device's already, nothing else is. */
static void begin_cqe(struct fake *f, uint32_t opcode)
{
	const struct bsn_cqe_tail tail = { .opcode = opcode };
	const uint32_t stale_qpn = opcode == BSN_CQE_REQ ? FAKE_QPN : 0x777;
	uint8_t bytes[BSN_CQE_SIZE];

	ENCODE(cqe_req, bytes, .qpn = stale_qpn, .byte_count = 1);
	memcpy(fake_next_cqe(f), bytes, BSN_CQE_TAIL_OFFSET);
	fake_produce(f, &tail);
	device = f;
	wrote_rest = false;
	trace_on_event = write_rest;
}

static void o4_plain_completions(void **state)
{
	OWNED struct fake *f = fake_create(NULL);
	struct bsn_completion c;

	for (unsigned i = 0; i < 200; i++) {
		begin_cqe(f, BSN_CQE_REQ);
		assert_int_equal(bsn_poll(f->cq, &c, 1), 1);
		trace_on_event = NULL;
		assert_int_equal(c.byte_len, 4711);
		assert_int_equal(c.opcode, BSN_OPCODE_RDMA_READ);
	}
}

static void o4_all_others(void **state)
{
	OWNED struct fake *f = fake_create(NULL);
	struct bsn_completion c;

	memset(f->sq_ring, 0, f->sq_bytes); /* an error is looked up there */
	for (unsigned i = 0; i < 200; i++) {
		begin_cqe(f, i % 2 ? BSN_CQE_RESP_SEND : BSN_CQE_REQ_ERR);
		assert_int_equal(bsn_poll(f->cq, &c, 1), 1);
		trace_on_event = NULL;
		assert_int_equal(c.qpn, FAKE_QPN);
		if (i % 2)
			assert_int_equal(c.byte_len, 4711);
	}
}

/* The CQEs of a destroyed queue are found by their QPN, which must be read after the owner bit. */
static void o4_disowning(void **state)
{
	OWNED struct fake *f = fake_create(NULL);
	struct bsn_completion c;

	begin_cqe(f, BSN_CQE_REQ_ERR);
	bsn_cq_remove(f->cq, FAKE_QPN);
	trace_on_event = NULL;
	assert_true(wrote_rest);
	ok(bsn_cq_add(f->cq, FAKE_QPN, &dv_sq(f->sq)->route.hot));
	assert_int_equal(bsn_poll(f->cq, &c, 1), 0);
	assert_int_equal(dv_cq(f->cq)->count_dropped, 1);
}

/* As soon as the record is stored, the device uses the CQEs before it again. */
static void write_over(unsigned kind)
{
	const struct bsn_cq *cq = device->cq;
	const uint8_t *cqe = cq->next;

	if (kind != BSN_ORDER_RECORD)
		return;
	while (cqe > dv_cq(cq)->ring) {
		cqe -= cq->stride;
		memset((uint8_t *)(uintptr_t)cqe, 0xee, BSN_CQE_TAIL_OFFSET);
	}
}

static void o5_the_record_follows_the_last_load(void **state)
{
	for (uint32_t spare = 0; spare <= 16; spare += 8) {
		OWNED struct fake *f = FAKE(.spare = spare);
		struct bsn_completion c[16];

		device = f;
		for (unsigned i = 0; i < 40; i++) {
			unsigned records = 0;
			for (unsigned j = 0; j < 8; j++)
				fake_req(f, .byte_count = j);
			trace_start();
			trace_on_event = write_over;
			assert_int_equal(bsn_poll(f->cq, c, 16), 8);
			trace_on_event = NULL;
			for (unsigned j = 0; j < 8; j++)
				assert_int_equal(c[j].byte_len, j);
			for (unsigned e = 0; e < trace_count; e++) {
				if (trace_events[e].kind != BSN_ORDER_RECORD)
					continue;
				assert_ptr_equal(trace_events[e].addr, dv_cq(f->cq)->record);
				assert_int_equal(trace_events[e - 1].kind, BSN_ORDER_FROM_DEVICE);
				/* an O4 of its own does not count */
				assert_int_equal(trace_events[e - 2].kind, BSN_ORDER_FROM_DEVICE);
				records++;
			}
			assert_true(spare == 16 ? records <= 1 : records >= 1);
		}
	}
}

static void o8_arming(void **state)
{
	OWNED struct fake *f = fake_create(NULL);

	for (int solicited = 0; solicited < 2; solicited++) {
		trace_start();
		bsn_cq_arm(f->cq, solicited);
		assert_string_equal(trace_word(""), "fRRsMx");
		assert_ptr_equal(trace_events[1].addr, dv_cq(f->cq)->record);
		assert_ptr_equal(trace_events[2].addr, dv_cq(f->cq)->record + 1);
		trace_assert_stores(f->page + BSN_UAR_CQ_ARM_OFFSET, 8, 8);
	}
}

/* -- receive queues: O7 ------------------------------------------------------------------------ */

static void o7_receives(void **state)
{
	for (int srq = 0; srq < 2; srq++) {
		OWNED struct fake *f = FAKE(.is_srq = srq);
		for (unsigned i = 0; i < 15; i++) {
			trace_start();
			ok(i % 2 ? bsn_recv(f->rq, three, i) : bsn_recv_sgl(f->rq, three, 3, i));
			assert_string_equal(trace_word("W"), "WdR");
			trace_assert_index(&trace_events[trace_count - 1], f->rq->record);
		}
	}
}

UNIT_MAIN(NULL, UNIT(o1_o2_o3_in_every_mode), UNIT(the_toggle_is_the_lanes),
	  UNIT(several_queues_share_barriers), UNIT(several_queues_of_any_kind),
	  UNIT(o4_plain_completions), UNIT(o4_all_others), UNIT(o4_disowning),
	  UNIT(o5_the_record_follows_the_last_load), UNIT(o7_receives), UNIT(o8_arming))
