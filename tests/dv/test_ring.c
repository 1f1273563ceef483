/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is in the ring, the record and the register after a post: every operation with every mix of
 * data and flags at every position of the ring, by each way that leads there.
 */
#include "fake.h"

#define RING_BB    16u
#define MAX_SGE    14u
#define MAX_INLINE 220u
#define MAX_MIXES  40

static uint8_t payload[MAX_INLINE + 64];
static const struct bsn_remote remote = { 0x1122334455667788, 0x99aabbcc };

/* One list of local memory: pointers, or inline data in pieces. */
struct mix {
	bool is_inline;
	uint32_t count;
	struct bsn_sge sge[MAX_SGE];
};

static struct mix mixes[MAX_MIXES];
static unsigned mix_count;

static void add_pointers(uint32_t count, uint32_t zero_at)
{
	struct mix *m = &mixes[mix_count++];

	m->count = count;
	for (uint32_t i = 0; i < count; i++)
		m->sge[i] = (struct bsn_sge){ 0x7f0000001000 + 0x111 * i,
					      i == zero_at ? 0 : 100 + i, 0xabc00 + i };
}

static void add_inline(uint32_t bytes, uint32_t pieces)
{
	struct mix *m = &mixes[mix_count++];
	uint32_t at = 0;

	m->is_inline = true;
	m->count = pieces;
	for (uint32_t i = 0; i < pieces; i++) {
		const uint32_t end = bytes * (i + 1) / pieces;
		m->sge[i] = (struct bsn_sge){ (uintptr_t)payload + at, end - at, 0 };
		at = end;
	}
}

static int set_up(void **state)
{
	static const uint32_t pointers[] = { 0, 1, 2, 3, 4, 7, 12, 13, MAX_SGE };
	static const uint32_t lengths[] = { 0,  1,  3,  4,  7,  8,  11, 12, 13,  15,
					    16, 17, 28, 29, 44, 45, 92, 93, 188, MAX_INLINE };

	(void)state;
	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 7 + 1);
	for (size_t i = 0; i < sizeof(pointers) / sizeof(*pointers); i++)
		add_pointers(pointers[i], UINT32_MAX);
	add_pointers(3, 1);
	add_pointers(1, 0);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
		add_inline(lengths[i], 1);
	add_inline(44, 3);
	add_inline(MAX_INLINE, 5);
	assert_true(mix_count <= MAX_MIXES);
	return 0;
}

static bool is_atomic(uint32_t opcode)
{
	return opcode == BSN_OPCODE_ATOMIC_CS || opcode == BSN_OPCODE_ATOMIC_FA;
}

/* -- the ways to post a request ------------------------------------------------------------------ */

#define NOT_THIS_WAY 1000

static int post_long(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	return bsn_post(ep, wr);
}

static int post_short_inline(struct bsn_ep *ep, const struct bsn_wr *wr, unsigned flags)
{
	const void *data = (const void *)(uintptr_t)wr->sge->addr;

	if (wr->opcode == BSN_OPCODE_RDMA_WRITE)
		return bsn_write_inline(ep, data, wr->sge->length, &wr->remote, wr->id, flags);
	if (wr->opcode == BSN_OPCODE_SEND)
		return bsn_send_inline(ep, data, wr->sge->length, wr->id, flags);
	return NOT_THIS_WAY;
}

/* The function of the operation's own name. */
static int post_short(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	const struct bsn_sge *sge = wr->sge;
	const struct bsn_remote *r = &wr->remote;
	const unsigned flags = wr->flags & ~(unsigned)BSN_F_INLINE;

	if (wr->sge_count != 1)
		return NOT_THIS_WAY;
	if (wr->flags & BSN_F_INLINE)
		return post_short_inline(ep, wr, flags);
	switch (wr->opcode) {
	case BSN_OPCODE_RDMA_WRITE:
		return bsn_write(ep, sge, r, wr->id, flags);
	case BSN_OPCODE_RDMA_WRITE_IMM:
		return bsn_write_imm(ep, sge, r, wr->imm, wr->id, flags);
	case BSN_OPCODE_RDMA_READ:
		return bsn_read(ep, sge, r, wr->id, flags);
	case BSN_OPCODE_SEND:
		return bsn_send(ep, sge, wr->id, flags);
	case BSN_OPCODE_SEND_IMM:
		return bsn_send_imm(ep, sge, wr->imm, wr->id, flags);
	case BSN_OPCODE_SEND_INVAL:
		return bsn_send_inval(ep, sge, wr->imm, wr->id, flags);
	case BSN_OPCODE_ATOMIC_FA:
		return bsn_fetch_add(ep, sge, r, wr->swap_add, wr->id, flags);
	case BSN_OPCODE_ATOMIC_CS:
		return bsn_cmp_swap(ep, sge, r, wr->compare, wr->swap_add, wr->id, flags);
	default:
		return NOT_THIS_WAY;
	}
}

static int prepare(struct bsn_ep *ep, const struct bsn_wr *wr, struct bsn_prepared *p)
{
	const int err = bsn_prepare(ep, wr, p);

	if (err != -EMSGSIZE)
		assert_int_equal(err, 0);
	return err;
}

static int post_prepared(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	struct bsn_prepared p;

	return prepare(ep, wr, &p) ? NOT_THIS_WAY : bsn_post_prepared(ep, &p, wr->id, wr->flags);
}

static int post_prepared_long(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	struct bsn_prepared p;

	return prepare(ep, wr, &p) ? NOT_THIS_WAY : bsn_sq_post_prepared(ep, &p, wr->id, wr->flags);
}

static const struct way {
	const char *name;
	int (*post)(struct bsn_ep *ep, const struct bsn_wr *wr);
	bool fills_block; /* writes what follows the WQE in its last block, too */
} ways[] = {
	{ "bsn_post", post_long, false },
	{ "its own function", post_short, false },
	{ "prepared", post_prepared, true },
	{ "prepared, the long way", post_prepared_long, false },
};

/* -- what must be there -------------------------------------------------------------------------- */

static void poison(struct fake *f)
{
	memset(f->sq_ring, FAKE_POISON, f->sq_bytes);
	memset(f->page, FAKE_POISON, FAKE_PAGE);
}

static void assert_poison(const uint8_t *at, size_t bytes)
{
	static uint8_t intact[FAKE_PAGE];

	memset(intact, FAKE_POISON, sizeof(intact));
	assert_true(bytes <= sizeof(intact));
	assert_memory_equal(at, intact, bytes);
}

/* The ring from block @pi on as one piece. */
static void unwrap(const struct fake *f, uint32_t pi, uint8_t *out)
{
	for (uint32_t i = 0; i <= f->sq->bb_mask; i++)
		memcpy(out + i * BSN_BB_SIZE,
		       f->sq_ring + ((pi + i) & f->sq->bb_mask) * BSN_BB_SIZE, BSN_BB_SIZE);
}

static void assert_data(const struct bsn_wqe *wqe, const struct bsn_wr *wr)
{
	const bool atomic = is_atomic(wr->opcode);
	unsigned at = 0;

	if (wr->flags & BSN_F_INLINE) {
		uint32_t total = 0;
		for (uint32_t i = 0; i < wr->sge_count; i++)
			total += wr->sge[i].length;
		assert_int_equal(wqe->data_count, total != 0);
		if (!total)
			return;
		assert_non_null(wqe->data[0].bytes);
		assert_int_equal(wqe->data[0].length_bytes, total);
		assert_memory_equal(wqe->data[0].bytes, payload, total);
		return;
	}
	for (uint32_t i = 0; i < wr->sge_count; i++) {
		const uint32_t length = atomic ? 8 : wr->sge[i].length;
		if (!length)
			continue;
		assert_null(wqe->data[at].bytes);
		assert_int_equal(wqe->data[at].addr, wr->sge[i].addr);
		assert_int_equal(wqe->data[at].lkey, wr->sge[i].lkey);
		assert_int_equal(wqe->data[at].length_bytes, length);
		at++;
	}
	assert_int_equal(wqe->data_count, at);
}

static void assert_wqe(const struct bsn_wqe *wqe, const struct bsn_wr *wr, uint32_t pi)
{
	const struct bsn_ctrl *c = &wqe->ctrl;

	assert_int_equal(c->opcode, wr->opcode);
	assert_int_equal(c->opmod, 0);
	assert_int_equal(c->wqe_index, (uint16_t)pi);
	assert_int_equal(c->qpn, FAKE_QPN);
	assert_int_equal(c->ce, wr->flags & BSN_F_SIGNALED ? BSN_CE_ALWAYS : BSN_CE_ON_ERROR);
	assert_int_equal(c->solicited, (wr->flags & BSN_F_SOLICITED) != 0);
	assert_int_equal(c->fence, wr->flags & BSN_F_FENCE ? BSN_FENCE_SMALL_AND_FENCE : 0);
	assert_int_equal(c->imm, wqe->op->imm == BSN_IMM_NONE ? 0 : wr->imm);
	if (wqe->op->has_raddr) {
		assert_int_equal(wqe->raddr.raddr, wr->remote.addr);
		assert_int_equal(wqe->raddr.rkey, wr->remote.rkey);
	}
	if (wqe->op->has_atomic)
		assert_int_equal(wqe->atomic.swap_or_add, wr->swap_add);
	if (wr->opcode == BSN_OPCODE_ATOMIC_CS)
		assert_int_equal(wqe->atomic.compare, wr->compare);
	assert_data(wqe, wr);
}

/* Doorbell or BlueFlame: the register of @buffer, and nothing else of the page. */
static void assert_register(const struct fake *f, unsigned buffer, const uint8_t *wqe, uint32_t ds)
{
	const uint32_t blocks = (ds + 3) / 4;
	const bool blueflame = blocks * BSN_BB_SIZE <= f->lane.blueflame_bytes;
	const uint8_t *reg = fake_buffer(f, buffer);
	const uint8_t *end = reg + (blueflame ? blocks * BSN_BB_SIZE : 8);

	assert_memory_equal(reg, wqe, blueflame ? ds * BSN_DS_SIZE : 8);
	assert_poison(f->page, (size_t)(reg - f->page));
	assert_poison(end, (size_t)(f->page + FAKE_PAGE - end));
}

/* After one post at @pi, with all before it published. */
static void assert_posted(const struct fake *f, const struct bsn_wr *wr, uint32_t pi,
			  unsigned buffer, bool fills_block)
{
	uint8_t bytes[RING_BB * BSN_BB_SIZE];
	struct bsn_wqe wqe;
	struct bsn_bad bad;
	uint32_t blocks;

	unwrap(f, pi, bytes);
	if (bsn_wqe_decode(bytes, sizeof(bytes), f->sq->transport, &wqe, &bad) ||
	    bsn_wqe_findings(&wqe, &bad, 1))
		fail_msg("%s.%s: %s", bad.segment, bad.field ? bad.field : "-", bad.why);
	assert_wqe(&wqe, wr, pi);
	blocks = (wqe.ctrl.ds + 3) / 4;
	assert_poison(bytes + (fills_block ? blocks * 64 : wqe.size_bytes),
		      sizeof(bytes) - (fills_block ? blocks * 64 : wqe.size_bytes));
	assert_int_equal(f->sq->pi, pi + blocks);
	assert_int_equal(bsn_sq_ids(f->sq)[pi & f->sq->bb_mask], wr->id);
	if (wr->flags & BSN_F_RING) {
		assert_int_equal(fake_send_record(f), (uint16_t)(pi + blocks));
		assert_register(f, buffer, bytes, wqe.ctrl.ds);
		assert_ptr_equal(f->lane.reg, fake_buffer(f, !buffer));
	} else {
		assert_int_equal(f->sq->last, pi);
		assert_int_equal(fake_send_record(f), (uint16_t)pi);
		assert_poison(f->page, FAKE_PAGE);
		assert_ptr_equal(f->lane.reg, fake_buffer(f, buffer));
	}
}

/* -- every request at every position -------------------------------------------------------------- */

static const uint32_t opcodes[] = {
	BSN_OPCODE_SEND,       BSN_OPCODE_SEND_IMM,       BSN_OPCODE_SEND_INVAL,
	BSN_OPCODE_RDMA_WRITE, BSN_OPCODE_RDMA_WRITE_IMM, BSN_OPCODE_RDMA_READ,
	BSN_OPCODE_ATOMIC_CS,  BSN_OPCODE_ATOMIC_FA,      BSN_OPCODE_NOP,
};

static bool goes_with(const struct bsn_wqe_op *op, const struct mix *m)
{
	if (op->has_atomic)
		return !m->is_inline && m->count == 1;
	if (op->data == BSN_DATA_NONE)
		return !m->is_inline && !m->count;
	return !m->is_inline || op->data == BSN_DATA_GATHER;
}

static struct bsn_wr request(uint32_t opcode, const struct mix *m, unsigned flags)
{
	return (struct bsn_wr){
		.id = 0xfeed000000000000 | opcode << 16 | flags,
		.sge = m->sge,
		.sge_count = m->count,
		.flags = flags | (m->is_inline ? BSN_F_INLINE : 0),
		.remote = remote,
		.opcode = opcode,
		.imm = 0xcafe0001,
		.swap_add = 0x0102030405060708,
		.compare = 0xf1f2f3f4f5f6f7f8,
	};
}

static unsigned post_at(struct fake *f, const struct bsn_wr *wr, uint32_t pi)
{
	unsigned posted = 0;

	for (size_t w = 0; w < sizeof(ways) / sizeof(*ways); w++) {
		const unsigned buffer = f->lane.reg == fake_buffer(f, 1);
		int err;

		fake_seek(f, pi);
		poison(f);
		err = ways[w].post(&f->ep, wr);
		if (err == NOT_THIS_WAY)
			continue;
		assert_int_equal(err, 0);
		assert_posted(f, wr, pi, buffer, ways[w].fills_block);
		posted++;
	}
	return posted;
}

static unsigned post_everything(struct fake *f, uint32_t opcode, uint32_t first)
{
	const struct bsn_wqe_op *op = bsn_wqe_op_find(opcode);
	unsigned posted = 0;

	for (unsigned m = 0; m < mix_count; m++) {
		if (!goes_with(op, &mixes[m]))
			continue;
		for (unsigned flags = 0; flags < 16; flags++) {
			const struct bsn_wr wr = request(opcode, &mixes[m], flags);
			for (uint32_t pos = 0; pos < RING_BB; pos++)
				posted += post_at(f, &wr, first + pos);
		}
	}
	return posted;
}

static void every_request_at_every_position(void **state)
{
	struct fake *f = fake_create(NULL);
	unsigned posted = 0;

	(void)state;
	assert_int_equal(BSN_F_RING | BSN_F_SIGNALED | BSN_F_SOLICITED | BSN_F_FENCE, 15);
	for (size_t i = 0; i < sizeof(opcodes) / sizeof(*opcodes); i++)
		posted += post_everything(f, opcodes[i], 0);
	assert_true(posted > 50000);
	fake_destroy(f);
}

/* Where the device's index wraps, and where the poster's own does. */
static void indices_wrap(void **state)
{
	struct fake *f = fake_create(NULL);

	(void)state;
	post_everything(f, BSN_OPCODE_RDMA_WRITE, 0x10000 - RING_BB / 2);
	post_everything(f, BSN_OPCODE_ATOMIC_FA, 0u - RING_BB / 2);
	fake_destroy(f);
}

/* What the inline code does not do by itself: each store, each kind of lane. */
static void every_mode_publishes_the_same(void **state)
{
	(void)state;
	for (enum bsn_store s = BSN_STORE_8; s < BSN_STORE_COUNT; s++)
		for (int locked = 0; locked < 2; locked++) {
			const struct fake_attr attr = { .store = s,
							.locked = locked,
							.no_blueflame = s == BSN_STORE_DOORBELL };
			struct fake *f;

			if (!bsn_store_supported(s))
				continue;
			f = fake_create(&attr);
			post_everything(f, BSN_OPCODE_RDMA_WRITE, 0);
			post_everything(f, BSN_OPCODE_SEND_IMM, 0);
			fake_destroy(f);
		}
}

/* -- lists of WQEs -------------------------------------------------------------------------------- */

static void append(struct fake *f, const struct bsn_wr *wr)
{
	assert_int_equal(bsn_post(&f->ep, wr), 0);
}

/* Several at once: one record for all, and the doorbell of the last, whatever the lengths are. */
/* Whichever is the fastest here, it is one that this CPU can do, and BlueFlame. */
static void the_measurement_chooses_a_store(void **state)
{
	_Alignas(64) uint8_t target[64];

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		const enum bsn_store store = bsn_store_choose(target);
		assert_true(store >= BSN_STORE_8 && store < BSN_STORE_DOORBELL);
		assert_true(bsn_store_supported(store));
	}
}

static void several_are_published_by_a_doorbell(void **state)
{
	struct fake *f = fake_create(NULL);
	const struct bsn_wr two_blocks = request(BSN_OPCODE_RDMA_WRITE, &mixes[4], 0);
	const struct bsn_wr one_block = request(BSN_OPCODE_RDMA_READ, &mixes[1], 0);

	(void)state;
	for (uint32_t pos = 0; pos < 2 * RING_BB; pos++)
		for (int last_is_long = 0; last_is_long < 2; last_is_long++)
			for (int rung_by_post = 0; rung_by_post < 2; rung_by_post++) {
				const unsigned buffer = f->lane.reg == fake_buffer(f, 1);
				struct bsn_wr wr = last_is_long ? two_blocks : one_block;
				const uint32_t last = pos + 3;

				fake_seek(f, pos);
				poison(f);
				append(f, &one_block);
				append(f, &two_blocks);
				wr.flags |= rung_by_post ? BSN_F_RING : 0;
				assert_int_not_equal(wr.sge_count == 1 ? post_short(&f->ep, &wr)
								       : post_long(&f->ep, &wr),
						     NOT_THIS_WAY);
				if (!rung_by_post)
					assert_int_equal(bsn_ring(f->sq), 0);
				assert_int_equal(fake_send_record(f), (uint16_t)f->sq->pi);
				assert_memory_equal(fake_buffer(f, buffer),
						    f->sq_ring + (last & f->sq->bb_mask) * 64, 8);
				assert_poison(fake_buffer(f, buffer) + 8, FAKE_BF_BYTES - 8);
				assert_ptr_equal(f->lane.reg, fake_buffer(f, !buffer));
			}
	fake_destroy(f);
}

/* Appended alone and rung later, it is one WQE as well: BlueFlame. */
static void a_single_one_rung_later_takes_blueflame(void **state)
{
	struct fake *f = fake_create(NULL);
	uint8_t bytes[RING_BB * BSN_BB_SIZE];

	(void)state;
	for (unsigned m = 0; m < mix_count; m++)
		for (uint32_t pos = 0; pos < RING_BB; pos++) {
			const struct bsn_wr wr = request(BSN_OPCODE_RDMA_WRITE, &mixes[m], 0);
			const unsigned buffer = f->lane.reg == fake_buffer(f, 1);
			struct bsn_ctrl ctrl;

			fake_seek(f, pos);
			poison(f);
			append(f, &wr);
			assert_int_equal(bsn_ring(f->sq), 0);
			unwrap(f, pos, bytes);
			bsn_ctrl_decode(&ctrl, bytes);
			assert_register(f, buffer, bytes, ctrl.ds);
			memset(f->page, FAKE_POISON, FAKE_PAGE);
			assert_int_equal(bsn_ring(f->sq), 0); /* nothing new */
			assert_poison(f->page, FAKE_PAGE);
		}
	fake_destroy(f);
}

/* -- prefixes -------------------------------------------------------------------------------------- */

/* A UD endpoint's address vector comes between control segment and body, also across the end. */
static void a_prefix_precedes_the_body(void **state)
{
	const struct fake_attr attr = { .transport = BSN_TRANSPORT_UD };
	const struct bsn_av_ud_grh av = {
		.qkey = 0x11111111, .ext = 1, .dqpn = 0x77, .sgid_index = 3
	};
	uint8_t prefix[BSN_AV_UD_GRH_SIZE], bytes[RING_BB * BSN_BB_SIZE];
	struct fake *f = fake_create(&attr);
	struct bsn_ep ep = {
		.sq = &bsn_sq_detour, .bound = f->sq, .prefix = prefix, .prefix_ds = 3
	};
	const struct bsn_sge sge = { 0x1000, 64, 7 };

	(void)state;
	bsn_av_ud_grh_encode(prefix, &av);
	for (uint32_t pos = 0; pos < RING_BB; pos++) {
		struct bsn_wqe wqe;
		struct bsn_bad bad;

		fake_seek(f, pos);
		poison(f);
		assert_int_equal(bsn_send_imm(&ep, &sge, 5, 1, BSN_F_SIGNALED | BSN_F_RING), 0);
		unwrap(f, pos, bytes);
		assert_int_equal(bsn_wqe_decode(bytes, sizeof(bytes), BSN_TRANSPORT_UD, &wqe, &bad),
				 0);
		assert_int_equal(bsn_wqe_check(&wqe, &bad), 0);
		assert_int_equal(wqe.to.ud.dqpn, 0x77);
		assert_int_equal(wqe.to.ud.sgid_index, 3);
		assert_int_equal(wqe.data[0].addr, 0x1000);
		assert_int_equal(wqe.ctrl.imm, 5);
		assert_int_equal(f->sq->pi, pos + 2);
	}
	fake_destroy(f);
}

/* -- refusals --------------------------------------------------------------------------------------- */

struct shot {
	struct bsn_sq sq;
	struct bsn_lane lane;
	uint8_t ring[RING_BB * BSN_BB_SIZE], page[FAKE_PAGE];
	struct bsn_be32 record[16];
	uint64_t ids[RING_BB];
};

static void shoot(const struct fake *f, struct shot *shot)
{
	memset(shot, 0, sizeof(*shot));
	memcpy(&shot->sq, f->sq, sizeof(shot->sq));
	shot->sq.count_full = 0;
	shot->lane = f->lane;
	memcpy(shot->ring, f->sq_ring, f->sq_bytes);
	memcpy(shot->page, f->page, FAKE_PAGE);
	memcpy(shot->record, f->record, sizeof(shot->record));
	memcpy(shot->ids, bsn_sq_ids(f->sq), sizeof(shot->ids));
}

static struct shot shot_before, shot_after;

static void assert_refused(struct fake *f, const struct bsn_wr *wr, int error)
{
	for (size_t w = 0; w < 2; w++) {
		int err;

		shoot(f, &shot_before);
		err = ways[w].post(&f->ep, wr);
		if (err == NOT_THIS_WAY)
			continue;
		assert_int_equal(err, error);
		shoot(f, &shot_after);
		assert_memory_equal(&shot_before, &shot_after, sizeof(shot_before));
	}
}

static void refusals_touch_nothing(void **state)
{
	struct fake *f = fake_create(NULL);
	const uint32_t all = BSN_F_RING | BSN_F_SIGNALED;
	struct bsn_sge many[MAX_SGE + 1] = { { 0 } };
	struct bsn_wr wr;

	(void)state;
	for (uint32_t i = 0; i <= MAX_SGE; i++)
		many[i] = (struct bsn_sge){ (uintptr_t)payload, 1, 7 };
	wr = request(BSN_OPCODE_RDMA_WRITE, &mixes[1], all);
	wr.sge = many;
	wr.sge_count = MAX_SGE + 1;
	assert_refused(f, &wr, -EMSGSIZE);
	wr.sge_count = 1;
	for (uint32_t length = 0x80000000u;; length = UINT32_MAX) {
		many[0].length = length;
		assert_refused(f, &wr, -EMSGSIZE);
		if (length == UINT32_MAX)
			break;
	}
	wr.flags |= BSN_F_INLINE;
	many[0].length = MAX_INLINE + 1;
	assert_refused(f, &wr, -EMSGSIZE);
	many[0].length = UINT32_MAX;
	many[1].length = 2; /* a sum of 32 bits would be 1 */
	wr.sge_count = 2;
	assert_refused(f, &wr, -EMSGSIZE);
	many[0].length = many[1].length = 1;
	wr.opcode = BSN_OPCODE_RDMA_READ;
	assert_refused(f, &wr, -EOPNOTSUPP);
	wr.flags &= ~(uint32_t)BSN_F_INLINE;
	wr.opcode = BSN_OPCODE_ATOMIC_MASKED_CS;
	assert_refused(f, &wr, -EOPNOTSUPP);
	wr.opcode = BSN_OPCODE_NOP;
	assert_refused(f, &wr, -EOPNOTSUPP);
	wr.opcode = 0xee;
	assert_refused(f, &wr, -EOPNOTSUPP);
	wr.opcode = BSN_OPCODE_ATOMIC_FA;
	assert_refused(f, &wr, -EINVAL);
	fake_destroy(f);
}

/* What a transport lacks, each operation on each. */
/* Where there is room for an address there is for a little data, whatever was asked for. */
static void a_little_inline_data_always_fits(void **state)
{
	const struct fake_attr attr = { .max_inline = 1, .max_sge = 1, .max_ds = 4 };
	struct fake *f = fake_create(&attr);
	static const char data[] = "more than twelve bytes";

	(void)state;
	for (uint32_t length = 0; length < sizeof(data); length++)
		assert_int_equal(bsn_write_inline(&f->ep, data, length, &remote, 0, 0),
				 length <= 12 ? 0 : -EMSGSIZE);
	assert_int_equal(f->sq->pi, 13);
	fake_destroy(f);
}

static void a_transport_refuses_what_it_lacks(void **state)
{
	unsigned refused = 0;

	(void)state;
	for (int t = BSN_TRANSPORT_RC; t <= BSN_TRANSPORT_UD; t++) {
		const struct fake_attr attr = { .transport = (enum bsn_transport)t };
		struct fake *f = fake_create(&attr);

		if (t == BSN_TRANSPORT_UD)
			f->ep.sq = &bsn_sq_detour;
		for (size_t i = 0; i < sizeof(opcodes) / sizeof(*opcodes); i++) {
			const struct bsn_wqe_op *op = bsn_wqe_op_find(opcodes[i]);
			const struct mix *m = op->data == BSN_DATA_NONE ? &mixes[0] : &mixes[1];
			const struct bsn_wr wr = request(opcodes[i], m, BSN_F_RING);

			if (op->transports & 1u << t)
				continue;
			assert_refused(f, &wr, -EOPNOTSUPP);
			refused++;
		}
		fake_destroy(f);
	}
	assert_true(refused >= 8);
}

static bool is_posted(uint32_t opcode)
{
	for (size_t i = 0; i < sizeof(opcodes) / sizeof(*opcodes); i++)
		if (opcodes[i] == opcode)
			return true;
	return false;
}

/* What wqe/ can read but no call can fill: every opcode but those above, on every transport. */
static void an_operation_without_a_request_is_refused(void **state)
{
	unsigned known = 0;

	(void)state;
	for (int t = BSN_TRANSPORT_RC; t <= BSN_TRANSPORT_UD; t++) {
		const struct fake_attr attr = { .transport = (enum bsn_transport)t };
		struct fake *f = fake_create(&attr);

		if (t == BSN_TRANSPORT_UD)
			f->ep.sq = &bsn_sq_detour;
		for (uint32_t opcode = 0; opcode < 256; opcode++) {
			const struct bsn_wr wr = request(opcode, &mixes[0], BSN_F_RING);

			if (is_posted(opcode))
				continue;
			assert_refused(f, &wr, -EOPNOTSUPP);
			known += bsn_wqe_op_find(opcode) != NULL;
		}
		fake_destroy(f);
	}
	assert_true(known >= 3 * 15);
}

/* Full, by whatever is posted; and again room when less is wanted. */
static void a_full_queue_refuses_and_keeps_everything(void **state)
{
	const struct fake_attr attr = { .capacity_bb = 14 };
	struct fake *f = fake_create(&attr);

	(void)state;
	for (uint32_t pos = 0; pos < RING_BB; pos++)
		for (uint32_t used = 11; used <= 14; used++)
			for (unsigned m = 0; m < mix_count; m++) {
				const struct bsn_wr wr =
					request(BSN_OPCODE_RDMA_WRITE, &mixes[m], BSN_F_RING);
				uint32_t blocks;

				fake_seek(f, pos);
				assert_int_equal(bsn_post(&f->ep, &wr), 0);
				blocks = f->sq->pi - pos;
				fake_seek(f, pos);
				for (uint32_t i = 0; i < used; i++) {
					const struct bsn_wr nop =
						request(BSN_OPCODE_NOP, &mixes[0], 0);
					assert_int_equal(bsn_post(&f->ep, &nop), 0);
				}
				if (used + blocks > 14)
					assert_refused(f, &wr, -EAGAIN);
				else
					assert_int_equal(bsn_post(&f->ep, &wr), 0);
			}
	assert_true(f->sq->count_full > 0);
	fake_destroy(f);
}

/* -- receive queues --------------------------------------------------------------------------------- */

static void assert_received(const struct fake *f, uint32_t slot, const struct bsn_sge *sge,
			    uint32_t count)
{
	const size_t stride = (size_t)1 << f->rq->stride_log2;
	struct bsn_recv_wqe recv;
	struct bsn_bad bad;
	unsigned at = 0;

	assert_int_equal(bsn_recv_decode(f->rq_ring + slot * stride, stride,
					 f->rq->is_srq ? BSN_RECV_LINKED : BSN_RECV_PLAIN, &recv,
					 &bad),
			 0);
	for (uint32_t i = 0; i < count; i++) {
		if (!sge[i].length)
			continue;
		assert_int_equal(recv.data[at].addr, sge[i].addr);
		assert_int_equal(recv.data[at].lkey, sge[i].lkey);
		assert_int_equal(recv.data[at].length_bytes, sge[i].length);
		at++;
	}
	assert_int_equal(recv.data_count, at);
}

/* Every stride, list and position, two laps: the list, its end, record, id, neighbours. */
static void receives_are_in_the_ring(void **state)
{
	static const struct bsn_sge sge[] = {
		{ 0x1000, 10, 1 }, { 0x2000, 0, 2 }, { 0x3000, 30, 3 }, { 0x4000, 40, 4 }
	};

	(void)state;
	for (uint32_t stride = 16; stride <= 128; stride *= 2) {
		const struct fake_attr attr = { .recv_stride = stride, .recv_count = 8 };
		struct fake *f = fake_create(&attr);
		const uint32_t max = stride / 16;

		for (uint32_t head = 0; head < 17; head++)
			for (uint32_t count = 0; count <= max && count <= 4; count++) {
				const uint32_t slot = head % 8;
				const size_t start = slot * stride;

				memset(f->rq_ring, FAKE_POISON, f->rq_bytes);
				f->rq->head = f->rq->tail = head;
				f->rq->limit = head + 1;
				assert_int_equal(count == 1 ? bsn_recv(f->rq, sge, head)
							    : bsn_recv_sgl(f->rq, sge, count, head),
						 0);
				assert_received(f, slot, sge, count);
				assert_poison(f->rq_ring, start);
				assert_poison(f->rq_ring + start + stride,
					      f->rq_bytes - start - stride);
				assert_int_equal(fake_recv_record(f), head + 1);
				assert_int_equal(bsn_rq_ids(f->rq)[slot], head);
			}
		assert_int_equal(bsn_recv_sgl(f->rq, sge, max + 1, 0), -EMSGSIZE);
		fake_destroy(f);
	}
}

static void a_full_receive_queue_refuses(void **state)
{
	const struct fake_attr attr = { .recv_count = 8, .recv_capacity = 6 };
	const struct bsn_sge sge = { 0x1000, 10, 1 }, huge = { 0x1000, 0x80000000u, 1 };
	struct fake *f = fake_create(&attr);
	uint8_t before[8 * 64];

	(void)state;
	assert_int_equal(bsn_recv(f->rq, &huge, 0), -EMSGSIZE);
	assert_poison(f->rq_ring, f->rq_bytes);
	for (uint64_t i = 0; i < 6; i++)
		assert_int_equal(bsn_recv(f->rq, &sge, i), 0);
	memcpy(before, f->rq_ring, sizeof(before));
	assert_int_equal(bsn_recv(f->rq, &sge, 6), -EAGAIN);
	assert_int_equal(bsn_recv_sgl(f->rq, &sge, 1, 6), -EAGAIN);
	assert_memory_equal(before, f->rq_ring, sizeof(before));
	assert_int_equal(fake_recv_record(f), 6);
	assert_int_equal(f->rq->count_full, 2);
	assert_int_equal(bsn_rq_retire(f->rq, 0), 0);
	assert_int_equal(bsn_recv(f->rq, &sge, 6), 0);
	assert_int_equal(bsn_recv(f->rq, &sge, 7), -EAGAIN);
	fake_destroy(f);
}

/* A linked list: posts follow the links, in whatever order WQEs came back; the links stay. */
static void a_shared_queue_follows_its_links(void **state)
{
	const struct fake_attr attr = { .is_srq = true, .recv_count = 8 };
	const struct bsn_sge sge[] = { { 0x1000, 10, 1 }, { 0x2000, 20, 2 }, { 0x3000, 30, 3 } };
	struct fake *f = fake_create(&attr);
	uint16_t posted[7] = { 0 };

	(void)state;
	assert_int_equal(f->rq->max_sge, 3);
	for (unsigned round = 0; round < 50; round++) {
		for (unsigned i = 0; i < 7; i++) {
			posted[i] = f->rq->srq_free_head;
			assert_int_equal(i % 2 ? bsn_recv(f->rq, sge, 100 + posted[i])
					       : bsn_recv_sgl(f->rq, sge, 3, 100 + posted[i]),
					 0);
			assert_received(f, posted[i], sge, i % 2 ? 1 : 3);
			assert_int_equal(fake_recv_record(f), (uint16_t)(7 * round + i + 1));
		}
		assert_int_equal(bsn_recv(f->rq, sge, 0), -EAGAIN);
		for (unsigned i = 0; i < 7; i++) { /* not in the order of posting */
			const uint16_t slot = posted[(i * 3 + round) % 7];
			assert_int_equal(bsn_rq_retire(f->rq, slot), 100 + slot);
		}
	}
	fake_destroy(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_request_at_every_position),
		cmocka_unit_test(indices_wrap),
		cmocka_unit_test(every_mode_publishes_the_same),
		cmocka_unit_test(the_measurement_chooses_a_store),
		cmocka_unit_test(several_are_published_by_a_doorbell),
		cmocka_unit_test(a_single_one_rung_later_takes_blueflame),
		cmocka_unit_test(a_prefix_precedes_the_body),
		cmocka_unit_test(refusals_touch_nothing),
		cmocka_unit_test(a_little_inline_data_always_fits),
		cmocka_unit_test(a_transport_refuses_what_it_lacks),
		cmocka_unit_test(an_operation_without_a_request_is_refused),
		cmocka_unit_test(a_full_queue_refuses_and_keeps_everything),
		cmocka_unit_test(receives_are_in_the_ring),
		cmocka_unit_test(a_full_receive_queue_refuses),
		cmocka_unit_test(a_shared_queue_follows_its_links),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
