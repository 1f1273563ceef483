/* SPDX-License-Identifier: BSD-2-Clause */
/* What a queue refuses, and that a refusal changes nothing. */
#include "requests.h"

struct shot {
	struct dv_sq sq;
	struct dv_lane lane;
	uint8_t ring[RING_BB * BSN_BB_SIZE], page[FAKE_PAGE];
	struct bsn_be32 record[16];
	uint64_t ids[RING_BB];
	uint8_t hidden[RING_BB];
};

static void shoot_requests(const struct fake *f, struct shot *shot)
{
	const uint16_t pi = f->sq->pi;

	for (uint32_t k = bsn_sq_outstanding_bb(f->sq); k; k--) {
		const size_t at = (uint16_t)(pi - k) % RING_BB * BSN_BB_SIZE;
		memcpy(shot->ring + at, f->sq_ring + at, BSN_BB_SIZE);
	}
}

/*
 * What the poster only notes may change: where room is known to end, and which thread looked; and
 * so may slots that are free.
 */
static void shoot(const struct fake *f, struct shot *shot)
{
	memset(shot, 0, sizeof(*shot));
	shoot_requests(f, shot);
	memcpy(&shot->sq, f->sq, sizeof(shot->sq));
	shot->sq.count_full = 0;
	shot->sq.hot.slot = NULL; /* the ring's end is its beginning; pi tells */
	bsn_sq_set_room(&shot->sq.hot, NULL);
	shot->sq.seen_done = 0;
	shot->sq.wide_pi = 0;
	shot->lane = f->lane;
	shot->lane.owner_thread = 0;
	memcpy(shot->page, f->page, FAKE_PAGE);
	memcpy(shot->record, f->record, sizeof(shot->record));
	memcpy(shot->ids, dv_sq(f->sq)->route.ids, sizeof(shot->ids));
	memcpy(shot->hidden, dv_sq(f->sq)->hidden, sizeof(shot->hidden));
}

static struct shot shot_before, shot_after;

/* Posts by each way but the prepared ones, since bsn_prepare() refuses already. */
static void assert_refused_at(struct fake *f, struct bsn_ep *ep, const struct bsn_wr *wr, int error)
{
	unsigned refused = 0;

	for (size_t w = 0; w < LIST_WAYS; w++) {
		int err;
		shoot(f, &shot_before);
		bsn_refusal = NULL;
		err = ways[w].post(ep, wr);
		if (err == NOT_THIS_WAY)
			continue;
		if (err != error)
			fail_msg("%s: opcode %u, flags %#x, %u SGEs: %d in place of %d",
				 ways[w].name, wr->opcode, wr->flags, wr->sge_count, err, error);
		assert_non_null(bsn_refusal);
		shoot(f, &shot_after);
		assert_memory_equal(&shot_before, &shot_after, sizeof(shot_before));
		refused++;
	}
	assert_true(refused > 0);
}

static void assert_refused(struct fake *f, const struct bsn_wr *wr, int error)
{
	assert_refused_at(f, &f->ep, wr, error);
}

/* One request, not published; the library signals the unsignaled one after it if @quiet is 1. */
static void append_one_to(struct fake *f, struct bsn_ep *ep, uint8_t quiet, int closed)
{
	const struct bsn_wr wr = request(BSN_OPCODE_SEND, &mixes[1], 0);

	fake_seek(f, 5);
	poison(f);
	f->sq->quiet = (uint8_t)(quiet + 1);
	ok(bsn_post(ep, &wr));
	assert_int_equal(f->sq->quiet, quiet);
	if (closed)
		bsn_sq_close(f->sq, closed, "not today");
}

static unsigned known_refused;

/* What the compiler knows is taken, or refused with the same ring, as by the long way. */
static void assert_as_the_long_way(struct fake *f, struct bsn_peer *peer, const struct bsn_wr *wr,
				   int closed, int expected)
{
	struct bsn_ep *ep = &peer->ep;
	uint8_t ring[RING_BB * BSN_BB_SIZE];

	for (uint8_t quiet = 1; quiet < 4; quiet += 2) {
		const uint8_t *slot;
		const char *why;
		int err;

		append_one_to(f, ep, quiet, closed);
		bsn_refusal = NULL;
		assert_int_equal(bsn_post(ep, wr), expected);
		why = bsn_refusal;
		memcpy(ring, f->sq_ring, sizeof(ring));
		append_one_to(f, ep, quiet, closed);
		shoot(f, &shot_before);
		slot = f->sq->slot;
		bsn_refusal = NULL;
		err = post_known(ep, wr);
		if (err == NOT_THIS_WAY)
			return;
		if (err != expected)
			fail_msg("opcode %u, flags %#x, %u SGEs, first of %u, prefix %u: %d in "
				 "place of %d",
				 wr->opcode, wr->flags, wr->sge_count, wr->sge->length,
				 peer->prefix_ds, err, expected);
		if (!err)
			continue;
		known_refused++;
		assert_ptr_equal(bsn_refusal, why);
		assert_ptr_equal(f->sq->slot, slot);
		assert_memory_equal(f->sq_ring, ring, sizeof(ring));
		shoot(f, &shot_after);
		assert_memory_equal(&shot_before, &shot_after, sizeof(shot_before));
	}
}

static void post_too_much(struct fake *f, struct bsn_peer *peer, const struct bsn_wr *wr)
{
	const uint32_t most = wr->flags & BSN_F_INLINE ? f->sq->max_inline : f->sq->max_sge;
	const uint32_t count = wr->flags & BSN_F_INLINE ? wr->sge->length : wr->sge_count;

	if (wr->sge_count == 1 || !(wr->flags & BSN_F_INLINE))
		assert_as_the_long_way(f, peer, wr, 0, count > most ? -EMSGSIZE : 0);
}

/* No data, which any SGE may have, and a length that means inline data. */
static void post_bad_lengths(struct fake *f, struct bsn_peer *peer, const struct bsn_wr *wr)
{
	static const uint32_t lengths[] = { 0, 1u << 31, UINT32_MAX };
	struct bsn_sge sge[4];
	struct bsn_wr bad = *wr;

	if (wr->flags & BSN_F_INLINE || wr->sge_count > 4)
		return;
	bad.sge = sge;
	for (unsigned i = 0; i < 3 * wr->sge_count; i++) {
		memcpy(sge, wr->sge, wr->sge_count * sizeof(*sge));
		sge[i / 3].length = lengths[i % 3];
		assert_as_the_long_way(f, peer, &bad, 0,
				       is_atomic(wr->opcode) || !lengths[i % 3] ? 0 : -EMSGSIZE);
	}
}

static void post_to_closed(struct fake *f, struct bsn_peer *peer, const struct bsn_wr *wr)
{
	assert_as_the_long_way(f, peer, wr, ENOTCONN, -ENOTCONN);
}

static void post_what_is_not_granted(struct fake *f, struct bsn_peer *peer, const struct bsn_wr *wr)
{
	assert_as_the_long_way(f, peer, wr, 0, f->sq->ops >> wr->opcode & 1 ? 0 : -EOPNOTSUPP);
}

/* Posts each request to a queue of these attributes; some are refused. */
static void each_is_as_the_long_way(struct fake_attr attr, uint64_t without,
				    void (*each)(struct fake *f, struct bsn_peer *peer,
						 const struct bsn_wr *wr))
{
	struct fake *f;

	attr.signal_every = 5;
	f = fake_create(&attr);
	f->sq->ops &= ~without;
	known_refused = 0;
	each_to_one_of_many(f, each);
	assert_true(known_refused > 0);
	fake_destroy(f);
}

static void what_the_compiler_knows_is_refused_to_one_of_many(void **state)
{
	struct fake_attr attr = many_peers(BSN_TRANSPORT_DC);

	each_is_as_the_long_way(attr, 0, post_bad_lengths);
	each_is_as_the_long_way(attr, 0, post_to_closed);
	for (attr.max_sge = 1; attr.max_sge < 4; attr.max_sge++) {
		attr.max_inline = 12 + 32 * (attr.max_sge - 1);
		each_is_as_the_long_way(attr, 0, post_too_much);
	}
	attr = many_peers(BSN_TRANSPORT_DC);
	attr.no_atomics = true;
	each_is_as_the_long_way(attr, 1ull << BSN_OPCODE_RDMA_READ, post_what_is_not_granted);
}

/* Inline data whose length, without some of its high bits, were of each short way. */
static void refuse_far_lengths(struct fake *f, struct bsn_wr *wr, uint32_t *length)
{
	static const uint32_t opcode[] = { BSN_OPCODE_SEND, BSN_OPCODE_RDMA_WRITE };

	for (unsigned i = 0; i < 2; i++)
		for (unsigned bit = 16; bit < 32; bit++)
			for (uint32_t low = 0; low < 32; low++) {
				wr->opcode = opcode[i];
				*length = 1u << bit | low;
				assert_refused(f, wr, -EMSGSIZE);
				*length = -(1u << bit) + low;
				assert_refused(f, wr, -EMSGSIZE);
			}
}

static void refusals_touch_nothing(void **state)
{
	/* Lengths of the first and the second SGE; the others have one byte. */
	static const struct {
		uint32_t opcode, flags, count, first, second;
		int error;
	} bad[] = {
		{ BSN_OPCODE_RDMA_WRITE, 0, MAX_SGE + 1, 1, 1, -EMSGSIZE },
		{ BSN_OPCODE_RDMA_WRITE, 0, 1, 0x80000000, 1, -EMSGSIZE },
		{ BSN_OPCODE_RDMA_WRITE, 0, 1, UINT32_MAX, 1, -EMSGSIZE },
		{ BSN_OPCODE_RDMA_WRITE, BSN_F_INLINE, 1, MAX_INLINE + 1, 1, -EMSGSIZE },
		{ BSN_OPCODE_RDMA_WRITE, BSN_F_INLINE, 2, UINT32_MAX, 2, -EMSGSIZE }, /* sum: 1 */
		{ BSN_OPCODE_RDMA_READ, BSN_F_INLINE, 2, 1, 1, -EOPNOTSUPP },
		{ BSN_OPCODE_ATOMIC_MASKED_CS, 0, 2, 1, 1, -EOPNOTSUPP },
		{ BSN_OPCODE_NOP, 0, 2, 1, 1, -EOPNOTSUPP },
		{ 0xee, 0, 2, 1, 1, -EOPNOTSUPP },
		{ BSN_OPCODE_ATOMIC_FA, 0, 2, 1, 1, -EINVAL },
	};
	OWNED struct fake *f = fake_create(NULL);
	struct bsn_sge many[MAX_SGE + 1];
	struct bsn_wr wr;

	for (uint32_t i = 0; i <= MAX_SGE; i++)
		many[i] = (struct bsn_sge){ (uintptr_t)payload, 1, 7 };
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		wr = request(bad[i].opcode, &mixes[1], BSN_F_RING | BSN_F_SIGNALED | bad[i].flags);
		wr.sge = many;
		wr.sge_count = bad[i].count;
		many[0].length = bad[i].first;
		many[1].length = bad[i].second;
		assert_refused(f, &wr, bad[i].error);
	}
	wr.flags |= BSN_F_INLINE;
	wr.sge_count = 1;
	refuse_far_lengths(f, &wr, &many[0].length);
}

/* READs of several SGEs: of more than the queue takes, and on a queue that takes none. */
static void reads_of_several_sges_are_refused(void **state)
{
	OWNED struct fake *few = FAKE(.max_sge = 2);
	OWNED struct fake *none = FAKE(.transport = BSN_TRANSPORT_UC);
	const struct bsn_sge sges[] = {
		{ 0x1000, 1, 7 }, { 0x2000, 1, 7 }, { 0x3000, 1, 7 }, { 0x4000, 1, 7 }
	};

	for (uint32_t count = 2; count <= 4; count++) {
		struct bsn_wr wr =
			request(BSN_OPCODE_RDMA_READ, &mixes[1], BSN_F_SIGNALED | BSN_F_RING);

		wr.sge = sges;
		wr.sge_count = count;
		if (count > 2)
			assert_refused(few, &wr, -EMSGSIZE);
		assert_refused(none, &wr, -EOPNOTSUPP);
	}
}

/* BSN_F_INLINE is refused for requests that bring data here, and for atomics. */
static void only_what_sends_data_is_inline(void **state)
{
	OWNED struct fake *f = fake_create(NULL);
	static const uint32_t with[] = { BSN_OPCODE_RDMA_READ, BSN_OPCODE_ATOMIC_FA,
					 BSN_OPCODE_ATOMIC_CS };

	for (unsigned i = 0; i < 3; i++)
		for (uint32_t pos = 0; pos < RING_BB; pos++) {
			const struct bsn_wr wr =
				request(with[i], &mixes[1], BSN_F_INLINE | BSN_F_RING);
			struct bsn_prepared p;

			fake_seek(f, pos);
			assert_refused(f, &wr, -EOPNOTSUPP);
			assert_int_equal(bsn_prepare(&f->ep, &wr, &p), -EOPNOTSUPP);
		}
}

/* Flags of libibverbs, and all others that are not ours, never become part of a request. */
static void unknown_flags_are_refused(void **state)
{
	const struct fake_attr attr = many_peers(BSN_TRANSPORT_UD);
	OWNED struct fake *f = fake_create(NULL), *g = fake_create(&attr);
	const unsigned known =
		BSN_F_SOLICITED | BSN_F_SIGNALED | BSN_F_FENCE | BSN_F_RING | BSN_F_INLINE;

	make_peers(g);
	for (unsigned bit = 0; bit < 32; bit++)
		for (unsigned m = 0; m < mix_count; m++) {
			struct bsn_wr wr = request(BSN_OPCODE_SEND, &mixes[m], 1u << bit);
			struct bsn_prepared p;

			if (known >> bit & 1)
				continue;
			assert_refused(f, &wr, -EINVAL);
			assert_refused_at(g, &peers[0].ep, &wr, -EINVAL);
			assert_refused_at(g, &peers[1].ep, &wr, -EINVAL);
			assert_int_equal(bsn_prepare(&f->ep, &wr, &p), -EINVAL);
		}
}

/* Where an address fits, a little inline data fits, too, whatever was asked for. */
static void a_little_inline_data_always_fits(void **state)
{
	OWNED struct fake *f = FAKE(.max_inline = 1, .max_sge = 1, .max_ds = 4);
	static const char data[] = "more than twelve bytes";

	for (uint32_t length = 0; length < sizeof(data); length++)
		assert_int_equal(bsn_write_inline(&f->ep, data, length, &remote, 0, 0),
				 length <= 12 ? 0 : -EMSGSIZE);
	assert_int_equal(f->sq->pi, 13);
}

static bool is_posted(uint32_t opcode)
{
	for (size_t i = 0; i < OPCODES; i++)
		if (opcodes[i] == opcode)
			return true;
	return false;
}

/* Refuses what a transport lacks, or what no call can post; returns how many of it wqe/ knows. */
static unsigned refuse_on(enum bsn_transport transport, bool posted)
{
	const bool has_peers = transport == BSN_TRANSPORT_UD;
	OWNED struct fake *f = FAKE(.transport = transport, .has_peers = has_peers);
	unsigned known = 0;

	make_peers(f);
	for (uint32_t opcode = 0; opcode < 256; opcode++) {
		const struct bsn_wqe_op *op = bsn_wqe_op_find(opcode);
		struct bsn_wr wr;

		if (is_posted(opcode) != posted || (posted && has_op(f, opcode)))
			continue;
		wr = request(opcode, &mixes[posted && op->data != BSN_DATA_NONE], BSN_F_RING);
		assert_refused_at(f, has_peers ? &peers[1].ep : &f->ep, &wr, -EOPNOTSUPP);
		known += op != NULL;
	}
	return known;
}

static void a_transport_refuses_what_it_lacks(void **state)
{
	assert_true(refuse_on(BSN_TRANSPORT_RC, true) + refuse_on(BSN_TRANSPORT_UC, true) +
			    refuse_on(BSN_TRANSPORT_UD, true) >=
		    8);
}

static void an_operation_without_a_request_is_refused(void **state)
{
	for (int t = BSN_TRANSPORT_RC; t <= BSN_TRANSPORT_UD; t++)
		assert_true(refuse_on((enum bsn_transport)t, false) >= 15);
}

/* A request is refused exactly if its blocks do not fit into the queue's capacity. */
static void a_full_queue_refuses_and_keeps_everything(void **state)
{
	OWNED struct fake *f = FAKE(.capacity_bb = 14);
	const struct bsn_wr nop = request(BSN_OPCODE_NOP, &mixes[0], 0);

	for (uint32_t pos = 0; pos < RING_BB; pos++)
		for (uint32_t used = 11; used <= 14; used++)
			for (unsigned m = 0; m < mix_count; m++) {
				const struct bsn_wr wr =
					request(BSN_OPCODE_RDMA_WRITE, &mixes[m], 0);
				uint32_t blocks;

				fake_seek(f, pos);
				ok(bsn_post(&f->ep, &wr));
				blocks = (uint16_t)(f->sq->pi - pos);
				fake_seek(f, pos);
				for (uint32_t i = 0; i < used; i++)
					ok(bsn_post(&f->ep, &nop));
				if (used + blocks > 14)
					assert_refused(f, &wr, -EAGAIN);
				else
					ok(bsn_post(&f->ep, &wr));
			}
	assert_true(dv_sq(f->sq)->count_full > 0);
}

/* What was appended is published, else nothing would ever make room. */
static void a_full_queue_asked_to_ring_rings(void **state)
{
	const struct fake_attr ud = many_peers(BSN_TRANSPORT_UD);

	for (size_t w = 0; w < WAYS; w++)
		for (uint32_t pos = 0; pos < RING_BB; pos++)
			for (int many = 0; many < 2; many++) {
				OWNED struct fake *f = fake_create(many ? &ud : NULL);
				const struct bsn_wr wr =
					request(BSN_OPCODE_SEND, &mixes[1], BSN_F_RING);
				struct bsn_wr nop = request(BSN_OPCODE_NOP, &mixes[0], 0);
				struct bsn_ep *ep = many ? &peers[0].ep : &f->ep;

				make_peers(f);
				fake_seek(f, pos);
				for (uint32_t i = 0; i < RING_BB; i++)
					ok(bsn_post(ep, &nop));
				assert_int_equal(fake_send_record(f), pos);
				nop.flags = 0;
				assert_int_equal(bsn_post(ep, &nop), -EAGAIN);
				assert_int_equal(fake_send_record(f), pos);
				assert_int_equal(ways[w].post(ep, &wr), -EAGAIN);
				assert_int_equal(fake_send_record(f), pos + RING_BB);
				assert_int_equal(dv_sq(f->sq)->count_full, 2);
				assert_int_equal(f->sq->pi, pos + RING_BB);
			}
}

/* Every request, every way, however much room there is. Opened, it goes on where it was. */
static void a_closed_queue_says_why(void **state)
{
	static const char why[] = "not today";
	const struct fake_attr ud = many_peers(BSN_TRANSPORT_UD);

	for (int many = 0; many < 2; many++) {
		OWNED struct fake *f = fake_create(many ? &ud : NULL);
		struct bsn_ep *ep = many ? &peers[1].ep : &f->ep;

		make_peers(f);
		for (uint32_t pos = 0; pos < RING_BB; pos++)
			for (unsigned m = 0; m < mix_count; m++) {
				const struct bsn_wr wr =
					request(BSN_OPCODE_SEND, &mixes[m], BSN_F_RING);
				int err;

				fake_seek(f, pos);
				bsn_sq_close(f->sq, ENOTCONN, why);
				assert_int_equal(visible_bb(f->sq), 0);
				assert_refused_at(f, ep, &wr, -ENOTCONN);
				assert_ptr_equal(bsn_refusal, why);
				err = post_prepared(ep, &wr);
				assert_true(err == NOT_THIS_WAY || err == -ENOTCONN);
				bsn_sq_close(f->sq, EINVAL, "another reason");
				assert_refused_at(f, ep, &wr, -EINVAL);
				bsn_sq_open(f->sq);
				ok(bsn_post(ep, &wr));
			}
	}
}

/* A closed queue stays closed across a reset, and one that is open stays open. */
static void a_reset_leaves_a_queue_closed(void **state)
{
	OWNED struct fake *f = fake_create(NULL);
	const struct bsn_wr wr = request(BSN_OPCODE_SEND, &mixes[1], BSN_F_RING);

	bsn_sq_close(f->sq, ENOTCONN, "in reset");
	bsn_sq_clear(f->sq);
	assert_refused(f, &wr, -ENOTCONN);
	bsn_sq_open(f->sq);
	bsn_sq_clear(f->sq);
	ok(bsn_post(&f->ep, &wr));
}

/* The compiler sees the NULL, so the inline code looks; symbols of the library always do. */
static void no_endpoint_is_refused(void **state)
{
	const struct bsn_sge sge = { (uintptr_t)payload, 8, 7 };
	const struct bsn_wr wr = request(BSN_OPCODE_RDMA_WRITE, &mixes[1], BSN_F_RING);
	OWNED struct fake *f = fake_create(NULL);
	struct bsn_prepared p;

	ok(bsn_prepare(&f->ep, &wr, &p));
	assert_int_equal(bsn_send(NULL, &sge, 1, BSN_F_RING), -EINVAL);
	assert_non_null(bsn_refusal);
	assert_int_equal(bsn_send_sgl(NULL, &sge, wr.sge_count, 1, BSN_F_RING), -EINVAL);
	assert_int_equal(bsn_send_inline(NULL, payload, 8, 1, BSN_F_RING), -EINVAL);
	assert_int_equal(bsn_send_inline(NULL, payload, wr.sge_count, 1, BSN_F_RING), -EINVAL);
	assert_int_equal(bsn_fetch_add(NULL, &sge, &remote, 1, 1, 0), -EINVAL);
	assert_int_equal(bsn_post(NULL, &wr), -EINVAL);
	assert_int_equal(bsn_post_prepared(NULL, &p, 1, 0), -EINVAL);
	assert_int_equal(bsn_prepare(NULL, &wr, &p), -EINVAL);
	assert_int_equal(bsn_ring(NULL), -EINVAL);
	assert_int_equal(bsn_recv(NULL, &sge, 1), -EINVAL);
}

/* A request that asked for a fence paid a stronger one, too, and was taken back. */
static void a_strong_fence_is_owed_again(void **state)
{
	OWNED struct fake *f = fake_create(NULL);
	const struct bsn_sge sge = { 4096, 8, 1 };

	bsn_sq_owe_fence(f->sq, BSN_FENCE_STRONG_ORDERING);
	ok(bsn_write(&f->sq->ep, &sge, &remote, 1, BSN_F_FENCE));
	ok(bsn_cancel(&f->sq->ep));
	ok(bsn_write(&f->sq->ep, &sge, &remote, 1, 0));
	assert_int_equal(ctrl_at(f, 0).fence, BSN_FENCE_STRONG_ORDERING);
}

UNIT_MAIN(requests_set_up, UNIT(what_the_compiler_knows_is_refused_to_one_of_many),
	  UNIT(refusals_touch_nothing), UNIT(reads_of_several_sges_are_refused),
	  UNIT(only_what_sends_data_is_inline), UNIT(unknown_flags_are_refused),
	  UNIT(a_little_inline_data_always_fits), UNIT(a_transport_refuses_what_it_lacks),
	  UNIT(an_operation_without_a_request_is_refused),
	  UNIT(a_full_queue_refuses_and_keeps_everything), UNIT(a_full_queue_asked_to_ring_rings),
	  UNIT(a_closed_queue_says_why), UNIT(a_reset_leaves_a_queue_closed),
	  UNIT(no_endpoint_is_refused), UNIT(a_strong_fence_is_owed_again))
