/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is in the ring, the record and the register after a post: every operation with every mix of
 * data and flags at every position of the ring, by each way that leads there. Built with BSN_ORDER_TRACE,
 * also in which order it gets there: O1 to O3 of dv/ORDERING.md.
 */
#include <sys/mman.h>

#include "../share.h"
#ifdef BSN_ORDER_TRACE
#include "trace.h"
#else
#include "fake.h"

static void trace_start(void)
{
}
#endif

#define RING_BB    16u
#define MAX_SGE    14u
#define MAX_INLINE 220u
#define FAR_INLINE 420u /* three rounds of the loop beyond BSN_INLINE_STRAIGHT */
#define MAX_MIXES  40

static uint8_t payload[FAR_INLINE + 64];
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
					    16, 17, 28, 29, 44, 45, 60, 61, 76, 77, 92, 93, 188, MAX_INLINE };

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
	const uint32_t length = wr->sge->length;

	switch (wr->opcode) {
	case BSN_OPCODE_RDMA_WRITE:
		return bsn_write_inline(ep, data, length, &wr->remote, wr->id, flags);
	case BSN_OPCODE_RDMA_WRITE_IMM:
		return bsn_write_imm_inline(ep, data, length, &wr->remote, wr->imm, wr->id, flags);
	case BSN_OPCODE_SEND:
		return bsn_send_inline(ep, data, length, wr->id, flags);
	case BSN_OPCODE_SEND_IMM:
		return bsn_send_imm_inline(ep, data, length, wr->imm, wr->id, flags);
	default:
		return NOT_THIS_WAY;
	}
}

/* A list whose length the compiler knows, or does not. */
#define POST_LIST(count)                                                                           \
	(wr->opcode == BSN_OPCODE_RDMA_WRITE ?                                                     \
		 bsn_write_sgl(ep, wr->sge, count, &wr->remote, wr->id, wr->flags) :               \
	 wr->opcode == BSN_OPCODE_RDMA_READ ?                                                      \
		 bsn_read_sgl(ep, wr->sge, count, &wr->remote, wr->id, wr->flags) :                \
	 wr->opcode == BSN_OPCODE_SEND ? bsn_send_sgl(ep, wr->sge, count, wr->id, wr->flags) :     \
					 NOT_THIS_WAY)

static int post_list(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	switch (wr->sge_count) {
	case 0:
		return POST_LIST(0);
	case 1:
		return POST_LIST(1);
	case 2:
		return POST_LIST(2);
	case 3:
		return POST_LIST(3);
	case 4:
		return POST_LIST(4);
	default:
		return POST_LIST(5 + (wr->sge_count - 5));
	}
}

static int post_list_of_any_length(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	volatile unsigned count = wr->sge_count;

	return POST_LIST(count);
}

/* The function of the operation's own name; with BSN_F_INLINE, too. */
static int post_by_name(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	const struct bsn_sge *sge = wr->sge;
	const struct bsn_remote *r = &wr->remote;
	const unsigned flags = wr->flags;

	if (wr->sge_count != 1)
		return NOT_THIS_WAY;
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

/* As above, but inline data by the function that takes no SGE. */
static int post_short(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	if (wr->sge_count == 1 && wr->flags & BSN_F_INLINE)
		return post_short_inline(ep, wr, wr->flags & ~(unsigned)BSN_F_INLINE);
	return post_by_name(ep, wr);
}

/* A request of which the compiler knows flags, SGEs, and bytes of inline data. */
#define KNOWN_INLINE(length)                                                                       \
	case length:                                                                               \
		return wr->opcode == BSN_OPCODE_RDMA_WRITE ?                                       \
			       bsn_write_inline(ep, data, length, &wr->remote, wr->id, flags) :    \
		       wr->opcode == BSN_OPCODE_RDMA_WRITE_IMM ?                                   \
			       bsn_write_imm_inline(ep, data, length, &wr->remote, wr->imm,        \
						    wr->id, flags) :                               \
		       wr->opcode == BSN_OPCODE_SEND ?                                             \
			       bsn_send_inline(ep, data, length, wr->id, flags) :                  \
			       NOT_THIS_WAY;

BSN_ALWAYS_INLINE int post_known_inline(struct bsn_ep *ep, const struct bsn_wr *wr, unsigned flags)
{
	const void *data = (const void *)(uintptr_t)wr->sge->addr;

	if (wr->sge_count != 1)
		return NOT_THIS_WAY;
	switch (wr->sge->length) {
		KNOWN_INLINE(7) KNOWN_INLINE(8) KNOWN_INLINE(12) KNOWN_INLINE(13) KNOWN_INLINE(15)
		KNOWN_INLINE(16) KNOWN_INLINE(28) KNOWN_INLINE(29) KNOWN_INLINE(44) KNOWN_INLINE(45)
		KNOWN_INLINE(60) KNOWN_INLINE(61) KNOWN_INLINE(76) KNOWN_INLINE(77)
	}
	return NOT_THIS_WAY;
}

BSN_ALWAYS_INLINE int post_known_of(struct bsn_ep *ep, const struct bsn_wr *wr, unsigned flags)
{
	const struct bsn_remote *r = &wr->remote;

	if (wr->flags & BSN_F_INLINE)
		return post_known_inline(ep, wr, flags);
	if (wr->sge_count < 1 || wr->sge_count > 4)
		return NOT_THIS_WAY;
#define KNOWN_LIST(count)                                                                          \
	(wr->opcode == BSN_OPCODE_RDMA_WRITE ?                                                     \
		 bsn_write_sgl(ep, wr->sge, count, r, wr->id, flags) :                             \
	 wr->opcode == BSN_OPCODE_RDMA_READ ? bsn_read_sgl(ep, wr->sge, count, r, wr->id, flags) : \
	 wr->opcode == BSN_OPCODE_SEND      ? bsn_send_sgl(ep, wr->sge, count, wr->id, flags) :    \
					      NOT_THIS_WAY)
	if (wr->sge_count > 1)
		return wr->sge_count == 2 ? KNOWN_LIST(2) : wr->sge_count == 3 ? KNOWN_LIST(3) : KNOWN_LIST(4);
	switch (wr->opcode) {
	case BSN_OPCODE_RDMA_WRITE_IMM: return bsn_write_imm(ep, wr->sge, r, wr->imm, wr->id, flags);
	case BSN_OPCODE_SEND_IMM: return bsn_send_imm(ep, wr->sge, wr->imm, wr->id, flags);
	case BSN_OPCODE_SEND_INVAL: return bsn_send_inval(ep, wr->sge, wr->imm, wr->id, flags);
	case BSN_OPCODE_ATOMIC_FA: return bsn_fetch_add(ep, wr->sge, r, wr->swap_add, wr->id, flags);
	case BSN_OPCODE_ATOMIC_CS:
		return bsn_cmp_swap(ep, wr->sge, r, wr->compare, wr->swap_add, wr->id, flags);
	default: return KNOWN_LIST(1);
	}
}

static int post_known(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	switch (wr->flags & ~(unsigned)BSN_F_INLINE) {
	case 0: return post_known_of(ep, wr, 0);
	case BSN_F_SIGNALED: return post_known_of(ep, wr, BSN_F_SIGNALED);
	case BSN_F_RING: return post_known_of(ep, wr, BSN_F_RING);
	case BSN_F_RING | BSN_F_SIGNALED: return post_known_of(ep, wr, BSN_F_RING | BSN_F_SIGNALED);
	default: return NOT_THIS_WAY;
	}
}

static int prepare(struct bsn_ep *ep, const struct bsn_wr *wr, struct bsn_prepared *p)
{
	const int err = bsn_prepare(ep, wr, p);

	if (err != -EMSGSIZE)
		assert_int_equal(err, 0);
	trace_start(); /* its stores are not into the ring */
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
	uint32_t writes_bytes; /* at least so many, however short the WQE is */
} ways[] = {
	{ "bsn_post", post_long, 0 },
	{ "its own function", post_short, 0 },
	{ "its own function, BSN_F_INLINE", post_by_name, 0 },
	{ "a list", post_list, 0 },
	{ "a list of any length", post_list_of_any_length, 0 },
	{ "known to the compiler", post_known, 0 },
	{ "prepared", post_prepared, BSN_NEAR_ID_AT },
	{ "prepared, the long way", post_prepared_long, 0 },
};
#define WAYS (sizeof(ways) / sizeof(*ways))

/* -- what must be there -------------------------------------------------------------------------- */

static void poison(struct fake *f)
{
	memset(f->sq_ring, FAKE_POISON, f->sq_bytes);
	memset(f->page, FAKE_POISON, FAKE_PAGE);
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
	const bool blueflame = f->sq->store != BSN_STORE_DOORBELL &&
			       blocks * BSN_BB_SIZE <= f->lane.blueflame_bytes;
	const uint8_t *reg = fake_buffer(f, buffer);
	const uint8_t *end = reg + (blueflame ? blocks * BSN_BB_SIZE : 8);

	assert_memory_equal(reg, wqe, blueflame ? ds * BSN_DS_SIZE : 8);
	assert_poison(f->page, (size_t)(reg - f->page));
	assert_poison(end, (size_t)(f->page + FAKE_PAGE - end));
}

/*
 * Checks that the id is where the poller will look for it, and that only the WQE was written
 * besides.
 */
static void assert_kept(const struct fake *f, const struct bsn_wr *wr, const struct bsn_peer *peer,
			uint32_t pi, const uint8_t *bytes, uint32_t written)
{
	const uint32_t slot = pi & f->sq->bb_mask;
	const uint32_t ring_bytes = (f->sq->bb_mask + 1) * BSN_BB_SIZE;

	if (peer) {
		assert_int_equal(f->sq->route.ids[2 * slot], wr->id);
		assert_ptr_equal((void *)(uintptr_t)f->sq->route.ids[2 * slot + 1], peer->user);
	} else if (bytes[7] <= BSN_NEAR_DS) {
		assert_memory_equal(bytes + BSN_NEAR_ID_AT, &wr->id, 8);
		assert_poison(bytes + written, BSN_NEAR_ID_AT - written);
		written = BSN_BB_SIZE;
	} else {
		assert_int_equal(f->sq->route.ids[slot], wr->id);
	}
	assert_poison(bytes + written, ring_bytes - written);
}

/* Checks that a request to one of many peers has this peer's prefix. */
static void assert_peer(const struct bsn_peer *peer, const uint8_t *bytes)
{
	uint32_t word1;

	memcpy(&word1, bytes + 8, 4);
	assert_int_equal(word1 & 0xffffff, peer->ctrl_bits & 0xffffff);
	assert_memory_equal(bytes + 16, &peer->head, 16);
	if (peer->prefix_ds == 3)
		assert_memory_equal(bytes + 32, peer->more, 32);
}

/* Checks everything after one post at @pi, with all before it published. */
static void assert_posted(const struct fake *f, const struct bsn_wr *wr, const struct bsn_peer *peer,
			  uint32_t pi, unsigned buffer, uint32_t writes_bytes)
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
	if (peer && wr->opcode != BSN_OPCODE_NOP)
		assert_peer(peer, bytes);
	blocks = (wqe.ctrl.ds + 3) / 4;
	assert_kept(f, wr, peer, pi, bytes,
		    wqe.size_bytes > writes_bytes ? wqe.size_bytes : writes_bytes);
	assert_int_equal(f->sq->pi, (uint16_t)(pi + blocks));
	assert_int_equal((f->sq->slot - f->sq_ring) / BSN_BB_SIZE & f->sq->bb_mask,
			 (pi + blocks) & f->sq->bb_mask);
	if (wr->flags & BSN_F_RING) {
		assert_int_equal(fake_send_record(f), (uint16_t)(pi + blocks));
		assert_register(f, buffer, bytes, wqe.ctrl.ds);
		assert_ptr_equal(f->lane.reg, fake_buffer(f, !buffer));
	} else {
		assert_int_equal(f->sq->last, (uint32_t)(uintptr_t)(f->sq_ring + (pi & f->sq->bb_mask) * BSN_BB_SIZE));
		assert_int_equal(fake_send_record(f), (uint16_t)pi);
		assert_poison(f->page, FAKE_PAGE);
		assert_ptr_equal(f->lane.reg, fake_buffer(f, buffer));
	}
}

#ifdef BSN_ORDER_TRACE
static void assert_order(const struct fake *f, const struct bsn_wr *wr, uint32_t pi)
{
	const unsigned bytes = (uint16_t)(f->sq->pi - pi) * BSN_BB_SIZE;
	const bool blueflame = f->sq->store != BSN_STORE_DOORBELL && bytes <= f->lane.blueflame_bytes;

	if (wr->flags & BSN_F_RING)
		trace_assert_published(f, pi, blueflame ? bytes : 0, trace_bytes_at_a_time(f->sq->store));
	else
		assert_string_equal(trace_word("W"), "W");
}
#else
static void assert_order(const struct fake *f, const struct bsn_wr *wr, uint32_t pi)
{
	(void)f;
	(void)wr;
	(void)pi;
}
#endif

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

static bool sees_no_room; /* the inline code sees none, though there is some */

/* Posts by each way that there is; @peer: one of many, or NULL. */
static unsigned post_at(struct fake *f, const struct bsn_peer *peer, const struct bsn_wr *wr,
			uint32_t pi)
{
	struct bsn_ep *ep = peer ? (struct bsn_ep *)(uintptr_t)&peer->ep : &f->ep;
	unsigned posted = 0;

	for (size_t w = 0; w < WAYS; w++) {
		const unsigned buffer = f->lane.reg == fake_buffer(f, 1);
		int err;

		fake_seek(f, pi);
		poison(f);
		if (sees_no_room)
			bsn_sq_set_room(f->sq, NULL);
		trace_start();
		err = ways[w].post(ep, wr);
		if (err == NOT_THIS_WAY)
			continue;
		if (err)
			fail_msg("%s: opcode %u, %u SGEs: %d, %s", ways[w].name, wr->opcode,
				 wr->sge_count, err, bsn_refusal);
		assert_order(f, wr, pi);
		assert_posted(f, wr, peer, pi, buffer, peer ? 0 : ways[w].writes_bytes);
		posted++;
	}
	return posted;
}

static const unsigned flag_of[] = { BSN_F_RING, BSN_F_SIGNALED, BSN_F_SOLICITED, BSN_F_FENCE };

/* One bit of @some for each flag. */
static unsigned flags_of(unsigned some)
{
	unsigned flags = 0;

	for (unsigned i = 0; i < 4; i++)
		flags |= some >> i & 1 ? flag_of[i] : 0;
	return flags;
}

#ifdef BSN_ORDER_TRACE
#define EVERY 15 /* the order depends on these flags: none, and all */
#else
#define EVERY 1 /* combination of flags */
#endif
#define FEW 14 /* BSN_F_RING, and all */

/*
 * Posts every mix at every position from @first on; if a share is enough (share.h), at other
 * positions for each mix.
 */
static unsigned post_everything(struct fake *f, const struct bsn_peer *peer, uint32_t opcode,
				uint32_t first, unsigned flag_step)
{
	const struct bsn_wqe_op *op = bsn_wqe_op_find(opcode);
	const unsigned share = tests_share();
	unsigned posted = 0;

	for (unsigned m = 0; m < mix_count; m++) {
		if (!goes_with(op, &mixes[m]))
			continue;
		for (unsigned some = flag_step == FEW; some < 16; some += flag_step) {
			const struct bsn_wr wr = request(opcode, &mixes[m], flags_of(some));
			for (uint32_t pos = posted % share; pos < RING_BB; pos += share)
				posted += post_at(f, peer, &wr, first + pos);
		}
	}
	return posted;
}

static void every_request_at_every_position(void **state)
{
	struct fake *f = fake_create(NULL);
	unsigned posted = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(opcodes) / sizeof(*opcodes); i++)
		posted += post_everything(f, NULL, opcodes[i], 0, EVERY);
	assert_true(posted > 100000 / EVERY / tests_share());
	fake_destroy(f);
}

/* Where the device's index wraps, which is the poster's own. */
static void indices_wrap(void **state)
{
	struct fake *f = fake_create(NULL);

	(void)state;
	post_everything(f, NULL, BSN_OPCODE_RDMA_WRITE, 0x10000 - RING_BB / 2, EVERY);
	post_everything(f, NULL, BSN_OPCODE_ATOMIC_FA, 0x10000 - RING_BB / 2, EVERY);
	fake_destroy(f);
}

/* Kinds of registers: each store, alone or shared, with BlueFlame or without. */
#define MODES (4 * BSN_STORE_COUNT)

/* NULL where this CPU lacks the store of the mode. */
static struct fake *fake_of_mode(unsigned mode, struct fake_attr attr)
{
	attr.store = (enum bsn_store)(mode / 4);
	attr.locked = mode & 1;
	attr.no_blueflame = mode & 2;
	if (attr.store == BSN_STORE_AUTO || !bsn_store_supported(attr.store))
		return NULL;
	return fake_create(&attr);
}

static bool has_op(enum bsn_transport transport, uint32_t opcode)
{
	return bsn_wqe_op_find(opcode)->transports & 1u << transport;
}

static void every_mode_publishes_the_same(void **state)
{
	static const enum bsn_transport with[] = { BSN_TRANSPORT_RC, BSN_TRANSPORT_UC };
	unsigned modes = 0;

	(void)state;
	for (unsigned mode = 0; mode < 2 * MODES; mode++) {
		const enum bsn_transport transport = with[mode % 2];
		struct fake *f = fake_of_mode(mode / 2, (struct fake_attr){ .transport = transport,
									    .count_bb = RING_BB });

		if (!f)
			continue;
		modes++;
		for (size_t i = 0; i < sizeof(opcodes) / sizeof(*opcodes); i++)
			if (has_op(transport, opcodes[i]))
				post_everything(f, NULL, opcodes[i], 0, FEW);
		fake_destroy(f);
	}
	assert_true(modes >= 2 * 3 * 4);
}

/*
 * The library's turn: what was posted as unsignaled is in the ring and in the register as a signaled request, by each way
 * and in each mode, and its completion is hidden.
 */
static void post_in_turn_at(struct fake *f, const struct bsn_wr *wr, uint32_t pi)
{
	struct bsn_wr signaled = *wr;
	unsigned posted = 0;

	signaled.flags |= BSN_F_SIGNALED;
	for (size_t w = 0; w < WAYS; w++) {
		const unsigned buffer = f->lane.reg == fake_buffer(f, 1);
		int err;

		fake_seek(f, pi);
		poison(f);
		f->sq->quiet = 1;
		memset(f->sq->hidden, 0, f->sq->bb_mask + 1);
		trace_start();
		err = ways[w].post(&f->ep, wr);
		if (err == NOT_THIS_WAY)
			continue;
		assert_int_equal(err, 0);
		assert_order(f, wr, pi);
		assert_posted(f, &signaled, NULL, pi, buffer, ways[w].writes_bytes);
		for (uint32_t i = 0; i <= f->sq->bb_mask; i++)
			assert_int_equal(f->sq->hidden[i] != 0, i == (pi & f->sq->bb_mask));
		assert_int_equal(f->sq->quiet, f->sq->signal_every);
		posted++;
	}
	assert_true(posted > 0);
}

static void the_librarys_turn_in_every_mode(void **state)
{
	static const unsigned unsignaled[] = { 0, BSN_F_RING, BSN_F_RING | BSN_F_SOLICITED | BSN_F_FENCE };

	(void)state;
	for (unsigned mode = 0; mode < 2 * MODES; mode++) {
		struct fake *f = fake_of_mode(mode / 2, (struct fake_attr){ .count_bb = RING_BB,
									    .signal_every = 1,
									    .max_inline = FAR_INLINE,
									    .max_ds = 32,
									    .ce_quiet = mode % 2 ? BSN_CE_ON_FIRST_ERROR
												 : BSN_CE_ON_ERROR });

		for (size_t i = 0; f && i < sizeof(opcodes) / sizeof(*opcodes); i++)
			for (unsigned m = 0; m < mix_count; m++)
				for (unsigned k = 0; k < 3 && goes_with(bsn_wqe_op_find(opcodes[i]), &mixes[m]); k++) {
					const struct bsn_wr wr = request(opcodes[i], &mixes[m], unsignaled[k]);

					for (uint32_t pos = (m + k) % 3; pos < RING_BB; pos += 3)
						post_in_turn_at(f, &wr, pos);
				}
		for (uint32_t length = MAX_INLINE; f && length <= FAR_INLINE; length += 16) {
			const struct mix m = { true, 1, { { (uintptr_t)payload, length, 0 } } };
			const struct bsn_wr wr = request(BSN_OPCODE_RDMA_WRITE, &m, BSN_F_RING);

			for (uint32_t pos = length / 16 % 3; pos < RING_BB; pos += 3)
				post_in_turn_at(f, &wr, pos);
		}
		if (f)
			fake_destroy(f);
	}
}

/* Inline data of every length, by the short way and the long, wherever it stands and wraps. */
static void inline_data_of_every_length(void **state)
{
	static const uint32_t with[] = { BSN_OPCODE_SEND, BSN_OPCODE_SEND_IMM, BSN_OPCODE_RDMA_WRITE,
					 BSN_OPCODE_RDMA_WRITE_IMM };

	(void)state;
	for (unsigned mode = 0; mode < MODES; mode++) {
		struct fake *f = fake_of_mode(mode, (struct fake_attr){ .count_bb = RING_BB,
									 .max_inline = FAR_INLINE,
									 .max_ds = 32 });

		for (uint32_t length = 0; f && length <= FAR_INLINE; length++) {
			const struct mix m = { true, 1, { { (uintptr_t)payload, length, 0 } } };

			for (unsigned i = 0; i < 4; i++) {
				const struct bsn_wr wr = request(with[i], &m, BSN_F_RING);
				/* all in the first mode; at the ring's end in the others */
				for (uint32_t pos = mode == 4 * BSN_STORE_8 ? 0 : 15 - length % 4;
				     pos < RING_BB; pos += mode == 4 * BSN_STORE_8 ? 1 : 4)
					post_at(f, NULL, &wr, pos);
			}
		}
		if (f)
			fake_destroy(f);
	}
}

/* Lengths that the compiler knows, in registers and beyond them: the bytes are those of lengths that it does not know. */
#define KNOWN_LENGTHS(X) X(13) X(15) X(28) X(29) X(45) X(76) X(124) X(140) X(141) X(172) X(173) X(188) X(189) X(200) X(236)
static void lengths_that_the_compiler_knows(void **state)
{
	const struct bsn_remote there = { 0x1122334455667788, 0x99aabbcc };
	struct fake *f = fake_create(&(struct fake_attr){ .count_bb = RING_BB, .max_inline = FAR_INLINE, .max_ds = 32 });
	volatile uint32_t hidden;
	uint8_t known[512];

	(void)state;
#define POST(length)                                                                               \
	hidden = length;                                                                           \
	fake_seek(f, 0);                                                                           \
	assert_int_equal(bsn_write_inline(&f->ep, payload, length, &there, 7, BSN_F_RING), 0);    \
	memcpy(known, f->sq_ring, sizeof(known));                                                  \
	fake_seek(f, 0);                                                                           \
	assert_int_equal(bsn_write_inline(&f->ep, payload, hidden, &there, 7, BSN_F_RING), 0);    \
	assert_memory_equal(known + 8, f->sq_ring + 8, 24 + BSN_INLINE_HDR_SIZE + (length));      \
	assert_memory_equal(known + 36, payload, length);
	KNOWN_LENGTHS(POST)
#undef POST
	fake_destroy(f);
}

/* -- lists of WQEs -------------------------------------------------------------------------------- */

static void append(struct fake *f, const struct bsn_wr *wr)
{
	assert_int_equal(bsn_post(&f->ep, wr), 0);
}

/*
 * The measurement chooses a store that this CPU has, and BlueFlame, whichever store is the fastest.
 */
static void the_measurement_chooses_a_store(void **state)
{
	_Alignas(64) uint8_t target[64];

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		const enum bsn_store store = bsn_store_choose(target);
		assert_true(store >= BSN_STORE_8 && store < BSN_STORE_DOORBELL);
		assert_true(bsn_store_supported(store));
		assert_true(store != BSN_STORE_MOVDIR64B && store != BSN_STORE_ST64B);
	}
}

/*
 * Several WQEs at once: one doorbell record for all, and the doorbell of the last, whatever the
 * lengths are.
 */
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

/* A single WQE that is appended first and rung later also goes by BlueFlame. */
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

/* -- many peers ------------------------------------------------------------------------------------ */

#define PEERS 3

/* A compact address vector, an extended one, and another that shares its second half with that. */
static struct bsn_peer peers[PEERS];
static uint8_t peer_avs[2][BSN_AV_UD_GRH_SIZE];

static void make_peers(struct fake *f)
{
	for (uint32_t i = 0; i < PEERS; i++) {
		const struct bsn_av_ud_grh ud = { .qkey = 0x11111111 + i,
						  .ext = i > 0,
						  .dqpn = 0x77 + i,
						  .sgid_index = 3,
						  .rgid_lo = 0x4242 };
		const struct bsn_av_dc_grh dc = { .dc_key = 0x1111111122222222 + i,
						  .ext = i > 0,
						  .dqpn = 0x77 + i,
						  .sgid_index = 3,
						  .rgid_lo = 0x4242 };
		uint8_t *av = peer_avs[i > 0];

		if (f->sq->transport == BSN_TRANSPORT_UD)
			bsn_av_ud_grh_encode(av, &ud);
		else
			bsn_av_dc_grh_encode(av, &dc);
		peers[i] = (struct bsn_peer){ .ep = { f->sq },
					      .user = &peers[i],
					      .more = i ? av + BSN_DS_SIZE : NULL,
					      .ctrl_bits = 0,
					      .prefix_ds = i ? 3 : 1,
					      .head = bsn_v2_load(av) };
	}
}

/* 16 blocks; room for the longest: control segment, prefix, remote address, 224 B inline. */
static struct fake_attr many_peers(enum bsn_transport transport)
{
	return (struct fake_attr){
		.transport = transport, .has_peers = true, .max_ds = 20, .count_bb = RING_BB
	};
}

/* SENDs and, on DC, the rest, to each kind of peer, in every mode. */
static void every_request_to_one_of_many(void **state)
{
	static const enum bsn_transport with[] = { BSN_TRANSPORT_UD, BSN_TRANSPORT_DC };
	unsigned posted = 0;

	(void)state;
	for (unsigned mode = 0; mode < 2 * MODES; mode++) {
		const enum bsn_transport transport = with[mode % 2];
		struct fake *f = fake_of_mode(mode / 2, many_peers(transport));

		if (!f)
			continue;
		make_peers(f);
		for (size_t i = 0; i < sizeof(opcodes) / sizeof(*opcodes); i++) {
			if (!has_op(transport, opcodes[i]))
				continue;
			for (unsigned p = 0; p < PEERS; p++)
				posted += post_everything(f, &peers[p], opcodes[i], 0, FEW);
		}
		fake_destroy(f);
	}
	assert_true(posted > 100000 / tests_share());
}

/* Calls @each of every request of a DC queue, to each kind of peer. */
static void each_to_one_of_many(struct fake *f, void (*each)(struct fake *f, const struct bsn_peer *peer,
							     const struct bsn_wr *wr))
{
	static const unsigned common[] = { 0, BSN_F_SIGNALED, BSN_F_RING, BSN_F_RING | BSN_F_SIGNALED };

	make_peers(f);
	for (size_t i = 0; i < sizeof(opcodes) / sizeof(*opcodes); i++)
		for (unsigned m = 0; m < mix_count; m++)
			for (unsigned k = 0; k < 4 * PEERS; k++) {
				const struct bsn_wr wr = request(opcodes[i], &mixes[m], common[k % 4]);

				if (has_op(BSN_TRANSPORT_DC, opcodes[i]) && opcodes[i] != BSN_OPCODE_NOP &&
				    goes_with(bsn_wqe_op_find(opcodes[i]), &mixes[m]))
					each(f, &peers[k / 4], &wr);
			}
}

static void post_here_and_there(struct fake *f, const struct bsn_peer *peer, const struct bsn_wr *wr)
{
	for (uint32_t pos = 0; pos < RING_BB; pos += 5)
		post_at(f, peer, wr, pos);
}

static void common_flags_to_one_of_many(void **state)
{
	(void)state;
	for (unsigned mode = 0; mode < MODES; mode++) {
		struct fake *f = fake_of_mode(mode, many_peers(BSN_TRANSPORT_DC));

		if (!f)
			continue;
		each_to_one_of_many(f, post_here_and_there);
		fake_destroy(f);
	}
}

/* The library signals the one whose turn it is, and counts each other one once, whoever posts it. */
static void post_in_turn(struct fake *f, const struct bsn_peer *peer, const struct bsn_wr *wr)
{
	const bool is_signaled = wr->flags & BSN_F_SIGNALED;

	for (size_t w = 0; w < WAYS; w++)
		for (uint8_t quiet = 1; quiet < 4; quiet++) {
			struct bsn_ctrl ctrl;
			int err;

			fake_seek(f, 0);
			f->sq->quiet = quiet;
			f->sq->hidden[0] = 0;
			err = ways[w].post((struct bsn_ep *)(uintptr_t)&peer->ep, wr);
			if (err == NOT_THIS_WAY)
				continue;
			assert_int_equal(err, 0);
			bsn_ctrl_decode(&ctrl, f->sq_ring);
			if ((ctrl.ce == BSN_CE_ALWAYS) != (is_signaled || quiet == 1))
				fail_msg("%s: opcode %u, %u SGEs, first of %u, flags %x, prefix %u, %u", ways[w].name, wr->opcode,
					 wr->sge_count, wr->sge->length, wr->flags, peer->prefix_ds, quiet);
			assert_int_equal(f->sq->hidden[0] != 0, !is_signaled && quiet == 1);
			assert_int_equal(f->sq->quiet, is_signaled  ? quiet :
						       quiet == 1 ? f->sq->signal_every :
								    quiet - 1);
		}
}

static void the_librarys_turn_to_one_of_many(void **state)
{
	struct fake_attr attr = many_peers(BSN_TRANSPORT_DC);
	struct fake *f;

	(void)state;
	attr.signal_every = 1;
	f = fake_create(&attr);
	each_to_one_of_many(f, post_in_turn);
	fake_destroy(f);
}

/* Without the room, or the operation, nothing changes, and nothing is counted. */
static void post_in_vain(struct fake *f, const struct bsn_peer *peer, const struct bsn_wr *wr)
{
	const uint64_t ops = f->sq->ops;

	for (size_t w = 0; w < WAYS; w++) {
		int err;

		if (ways[w].post == post_prepared || ways[w].post == post_prepared_long)
			continue; /* refused by bsn_prepare() */
		fake_seek(f, 0);
		poison(f);
		f->sq->quiet = 3;
		f->sq->ops = 0;
		err = ways[w].post((struct bsn_ep *)(uintptr_t)&peer->ep, wr);
		f->sq->ops = ops;
		if (err == NOT_THIS_WAY || !err)
			continue; /* what any queue takes */
		assert_int_equal(err, -EOPNOTSUPP);
		assert_int_equal(f->sq->quiet, 3);
		assert_int_equal(f->sq->pi, 0);
		assert_poison(f->page, FAKE_PAGE);
	}
}

static void post_into_one_block(struct fake *f, const struct bsn_peer *peer, const struct bsn_wr *wr)
{
	f->sq->capacity_bb = 1;
	for (size_t w = 0; w < WAYS; w++) {
		int err;

		fake_seek(f, 0);
		poison(f);
		f->sq->quiet = 3;
		err = ways[w].post((struct bsn_ep *)(uintptr_t)&peer->ep, wr);
		assert_true(err == NOT_THIS_WAY || err == 0 || err == -EAGAIN || err == -EMSGSIZE);
		assert_int_equal(f->sq->pi, err == 0);
		if (err)
			assert_int_equal(f->sq->quiet, 3);
		if (err)
			assert_poison(f->page, FAKE_PAGE);
	}
}

/* Of lengths that the compiler does not know, and of some that it does, with the flags that have functions of their own. */
static void post_at_the_edge(struct fake *f, struct bsn_ep *ep, const uint8_t *data, uint32_t length)
{
#define POST_OF(length, flags)                                                                     \
	fake_seek(f, 0);                                                                           \
	assert_int_equal(bsn_write_inline(ep, data, length, &remote, 1, flags), 0);               \
	assert_int_equal(bsn_send_inline(ep, data, length, 1, flags), 0);
#define POST_IF(known)                                                                             \
	if (length == (known)) {                                                                   \
		POST_OF(known, 0)                                                                  \
		POST_OF(known, BSN_F_SIGNALED | BSN_F_RING)                                        \
	}
	POST_OF(length, 0)
	POST_OF(length, BSN_F_SIGNALED | BSN_F_RING)
	POST_IF(7) POST_IF(8) POST_IF(12) POST_IF(15)
	KNOWN_LENGTHS(POST_IF)
#undef POST_IF
#undef POST_OF
}

/* The last bytes before memory that nobody may read, and the first ones after such memory. */
static void inline_data_are_not_read_beyond(void **state)
{
	uint8_t *pages = mmap(NULL, 3 * FAKE_PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct fake *one = fake_create(&(struct fake_attr){ .max_inline = FAR_INLINE, .max_ds = 32 });
	struct fake *many = fake_create(&(struct fake_attr){
		.transport = BSN_TRANSPORT_DC, .has_peers = true, .max_inline = FAR_INLINE, .max_ds = 32 });

	(void)state;
	make_peers(many);
	assert_ptr_not_equal(pages, MAP_FAILED);
	assert_int_equal(mprotect(pages, FAKE_PAGE, PROT_NONE), 0);
	assert_int_equal(mprotect(pages + 2 * FAKE_PAGE, FAKE_PAGE, PROT_NONE), 0);
	for (uint32_t length = 1; length <= FAR_INLINE; length++)
		for (int at_end = 0; at_end < 2; at_end++) {
			uint8_t *data = pages + FAKE_PAGE + (at_end ? FAKE_PAGE - length : 0);

			memcpy(data, payload, length);
			post_at_the_edge(one, &one->ep, data, length);
			for (unsigned i = 0; i < PEERS; i++)
				post_at_the_edge(many, (struct bsn_ep *)(uintptr_t)&peers[i].ep, data, length);
		}
	munmap(pages, 3 * FAKE_PAGE);
	fake_destroy(many);
	fake_destroy(one);
}

/* Lengths whose high bit, or those of what a unit leaves, could be taken for a sign. */
static void huge_inline_data_are_refused(void **state)
{
	static const uint32_t lengths[] = { 0x7fffffff, 0x80000000, 0x8000000c, 0x8000000d, 0x80000010, 0xfffffff8, 0xffffffff };
	static const unsigned posted[] = { BSN_OPCODE_RDMA_WRITE, BSN_OPCODE_RDMA_WRITE_IMM, BSN_OPCODE_SEND,
					    BSN_OPCODE_SEND_IMM };
	struct fake *one = fake_create(&(struct fake_attr){ 0 });
	const struct fake_attr attr = many_peers(BSN_TRANSPORT_DC);
	struct fake *many = fake_create(&attr);

	(void)state;
	make_peers(many);
	for (size_t i = 0; i < 4 * sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct bsn_sge sge = { (uintptr_t)payload, lengths[i / 4], 0 };
		const struct bsn_wr wr = { .opcode = posted[i % 4], .remote = remote, .sge = &sge, .sge_count = 1 };

		for (unsigned flags = 0; flags < 2; flags++) {
			const unsigned rung = flags ? BSN_F_SIGNALED | BSN_F_RING : 0;

			assert_int_equal(post_short_inline(&one->ep, &wr, rung), -EMSGSIZE);
			for (unsigned k = 0; k < PEERS; k++)
				assert_int_equal(post_short_inline(&peers[k].ep, &wr, rung), -EMSGSIZE);
		}
	}
	assert_poison(one->page, FAKE_PAGE);
	assert_poison(many->page, FAKE_PAGE);
	fake_destroy(many);
	fake_destroy(one);
}

static void nothing_for_nothing_to_one_of_many(void **state)
{
	struct fake_attr attr = many_peers(BSN_TRANSPORT_DC);
	struct fake *f;

	(void)state;
	attr.signal_every = 5;
	f = fake_create(&attr);
	each_to_one_of_many(f, post_in_vain);
	each_to_one_of_many(f, post_into_one_block);
	fake_destroy(f);
}

static void inline_data_of_every_length_to_one_of_many(void **state)
{
	(void)state;
	for (unsigned mode = 0; mode < MODES; mode++) {
		struct fake_attr attr = many_peers(BSN_TRANSPORT_UD);

		attr.max_inline = FAR_INLINE;
		attr.max_ds = 32;
		struct fake *f = fake_of_mode(mode, attr);

		if (!f)
			continue;
		make_peers(f);
		for (uint32_t length = 0; length <= FAR_INLINE; length++) {
			const struct mix m = { true, 1, { { (uintptr_t)payload, length, 0 } } };
			const struct bsn_wr wr = request(BSN_OPCODE_SEND, &m, BSN_F_RING);

			for (uint32_t pos = length % tests_share(); pos < RING_BB; pos += tests_share())
				post_at(f, &peers[(pos + length) / RING_BB % 2], &wr, pos);
		}
		fake_destroy(f);
	}
}

/* Then one of the rows of the queue's functions looks, and builds it. */
static void what_saw_no_room_is_as_any_other(void **state)
{
	struct fake *f = fake_create(&(struct fake_attr){
		.transport = BSN_TRANSPORT_DC, .has_peers = true, .max_ds = 20, .count_bb = RING_BB });

	(void)state;
	make_peers(f);
	sees_no_room = true;
	for (size_t i = 0; i < sizeof(opcodes) / sizeof(*opcodes); i++)
		for (unsigned p = 0; p < PEERS && has_op(BSN_TRANSPORT_DC, opcodes[i]); p++)
			post_everything(f, &peers[p], opcodes[i], 0, 3); /* no flags, BSN_F_SIGNALED | BSN_F_RING, and others */
	sees_no_room = false;
	fake_destroy(f);
}

/* Each control segment of a DCI has the stream, whatever call posts it. */
static void a_peers_stream_is_in_the_control_segment(void **state)
{
	struct fake *f = fake_create(&(struct fake_attr){
		.transport = BSN_TRANSPORT_DC, .has_peers = true, .max_ds = 20 });
	const struct bsn_ctrl stream = { .dci_stream = 0x1234 };

	(void)state;
	make_peers(f);
	peers[1].ctrl_bits |= (uint32_t)bsn_to_be64(bsn_ctrl_word(&stream, 1)).raw;
	peers[0].ctrl_bits = peers[1].ctrl_bits;
	assert_int_not_equal(peers[0].ctrl_bits, 0);
	post_everything(f, &peers[1], BSN_OPCODE_SEND, 0, FEW);
	post_everything(f, &peers[0], BSN_OPCODE_RDMA_WRITE, 0, FEW);
	post_everything(f, &peers[1], BSN_OPCODE_ATOMIC_CS, 0, FEW);
	fake_destroy(f);
}

/* -- refusals --------------------------------------------------------------------------------------- */

struct shot {
	struct bsn_sq sq;
	struct bsn_lane lane;
	uint8_t ring[RING_BB * BSN_BB_SIZE], page[FAKE_PAGE];
	struct bsn_be32 record[16];
	uint64_t ids[RING_BB];
	uint8_t hidden[RING_BB];
};

/*
 * Two things may change: what the poster only caches (where room is known to end), and free blocks,
 * since a long list may have been begun there.
 */
static void shoot(const struct fake *f, struct shot *shot)
{
	const uint32_t used = (uint16_t)(f->sq->pi - f->sq->retired);

	memset(shot, 0, sizeof(*shot));
	memcpy(&shot->sq, f->sq, sizeof(shot->sq));
	shot->sq.count_full = 0;
	shot->sq.slot = NULL; /* the ring's end is its beginning; pi tells */
	bsn_sq_set_room(&shot->sq, NULL);
	shot->sq.seen_done = 0;
	shot->sq.wide_pi = 0;
	shot->lane = f->lane;
	for (uint32_t i = 0; i < used; i++) {
		const uint32_t at = ((f->sq->retired + i) & f->sq->bb_mask) * BSN_BB_SIZE;
		memcpy(shot->ring + at, f->sq_ring + at, BSN_BB_SIZE);
	}
	memcpy(shot->page, f->page, FAKE_PAGE);
	memcpy(shot->record, f->record, sizeof(shot->record));
	memcpy(shot->ids, f->sq->route.ids, sizeof(shot->ids));
	memcpy(shot->hidden, f->sq->hidden, sizeof(shot->hidden));
}

static struct shot shot_before, shot_after;

/* Posts by each way but the prepared ones, since bsn_prepare() refuses already. */
static void assert_refused_at(struct fake *f, struct bsn_ep *ep, const struct bsn_wr *wr, int error)
{
	unsigned refused = 0;

	for (size_t w = 0; w < 5; w++) {
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
	assert_int_equal(bsn_post(ep, &wr), 0);
	assert_int_equal(f->sq->quiet, quiet);
	if (closed)
		bsn_sq_close(f->sq, closed, "not today");
}

static unsigned known_refused;

/*
 * A request that the compiler knows is taken or refused as by the long way. Where it is refused, the
 * ring is as the long way leaves it, and nothing else changes.
 */
static void assert_as_the_long_way(struct fake *f, const struct bsn_peer *peer,
				   const struct bsn_wr *wr, int closed, int expected)
{
	struct bsn_ep *ep = (struct bsn_ep *)(uintptr_t)&peer->ep;
	uint8_t ring[RING_BB * BSN_BB_SIZE];

	for (uint8_t quiet = 1; quiet < 4; quiet += 2) {
		const uint8_t *slot;
		const char *why;
		int err;

		append_one_to(f, ep, quiet, closed);
		bsn_refusal = NULL;
		assert_int_equal(bsn_sq_post_wr(ep, wr), expected);
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
			fail_msg("opcode %u, flags %#x, %u SGEs, first of %u, prefix %u: %d in place of %d",
				 wr->opcode, wr->flags, wr->sge_count, wr->sge->length, peer->prefix_ds,
				 err, expected);
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

static void post_too_much(struct fake *f, const struct bsn_peer *peer, const struct bsn_wr *wr)
{
	const uint32_t most = wr->flags & BSN_F_INLINE ? f->sq->max_inline : f->sq->max_sge;
	const uint32_t count = wr->flags & BSN_F_INLINE ? wr->sge->length : wr->sge_count;

	if (wr->sge_count == 1 || !(wr->flags & BSN_F_INLINE))
		assert_as_the_long_way(f, peer, wr, 0, count > most ? -EMSGSIZE : 0);
}

/* No data, which any SGE may have, and a length that means inline data. */
static void post_bad_lengths(struct fake *f, const struct bsn_peer *peer, const struct bsn_wr *wr)
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

static void post_to_closed(struct fake *f, const struct bsn_peer *peer, const struct bsn_wr *wr)
{
	assert_as_the_long_way(f, peer, wr, ENOTCONN, -ENOTCONN);
}

static void post_what_is_not_granted(struct fake *f, const struct bsn_peer *peer,
				     const struct bsn_wr *wr)
{
	assert_as_the_long_way(f, peer, wr, 0, f->sq->ops >> wr->opcode & 1 ? 0 : -EOPNOTSUPP);
}

/* Posts each request to a queue of these attributes; some are refused. */
static void each_is_as_the_long_way(struct fake_attr attr, uint64_t without,
				    void (*each)(struct fake *f, const struct bsn_peer *peer,
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

	(void)state;
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
	refuse_far_lengths(f, &wr, &many[0].length);
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

/* READs of several SGEs: of more than the queue takes, and on a queue that takes none. */
static void reads_of_several_sges_are_refused(void **state)
{
	struct fake *few = fake_create(&(struct fake_attr){ .max_sge = 2 });
	struct fake *none = fake_create(&(struct fake_attr){ .transport = BSN_TRANSPORT_UC });
	const struct bsn_sge sges[] = { { 0x1000, 1, 7 }, { 0x2000, 1, 7 }, { 0x3000, 1, 7 }, { 0x4000, 1, 7 } };

	(void)state;
	for (uint32_t count = 2; count <= 4; count++) {
		struct bsn_wr wr = request(BSN_OPCODE_RDMA_READ, &mixes[1], BSN_F_SIGNALED | BSN_F_RING);

		wr.sge = sges;
		wr.sge_count = count;
		if (count > 2)
			assert_refused(few, &wr, -EMSGSIZE);
		assert_refused(none, &wr, -EOPNOTSUPP);
	}
	fake_destroy(few);
	fake_destroy(none);
}

/* BSN_F_INLINE is refused for requests that bring data here, and for atomics. */
static void only_what_sends_data_is_inline(void **state)
{
	struct fake *f = fake_create(NULL);
	static const uint32_t with[] = { BSN_OPCODE_RDMA_READ, BSN_OPCODE_ATOMIC_FA,
					 BSN_OPCODE_ATOMIC_CS };

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		for (uint32_t pos = 0; pos < RING_BB; pos++) {
			const struct bsn_wr wr =
				request(with[i], &mixes[1], BSN_F_INLINE | BSN_F_RING);
			struct bsn_prepared p;

			fake_seek(f, pos);
			assert_refused(f, &wr, -EOPNOTSUPP);
			assert_int_equal(bsn_prepare(&f->ep, &wr, &p), -EOPNOTSUPP);
		}
	fake_destroy(f);
}

/* Flags of libibverbs, and all others that are not ours, never become part of a request. */
static void unknown_flags_are_refused(void **state)
{
	const struct fake_attr attr = many_peers(BSN_TRANSPORT_UD);
	struct fake *f = fake_create(NULL), *g = fake_create(&attr);
	const unsigned known =
		BSN_F_SOLICITED | BSN_F_SIGNALED | BSN_F_FENCE | BSN_F_RING | BSN_F_INLINE;

	(void)state;
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
	fake_destroy(f);
	fake_destroy(g);
}

/* Where an address fits, a little inline data fits, too, whatever was asked for. */
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

/* Each operation on each transport that lacks it. */
static void a_transport_refuses_what_it_lacks(void **state)
{
	unsigned refused = 0;

	(void)state;
	for (int t = BSN_TRANSPORT_RC; t <= BSN_TRANSPORT_UD; t++) {
		const struct fake_attr attr = { .transport = (enum bsn_transport)t,
						.has_peers = t == BSN_TRANSPORT_UD };
		struct fake *f = fake_create(&attr);
		struct bsn_ep *ep = t == BSN_TRANSPORT_UD ? &peers[1].ep : &f->ep;

		make_peers(f);
		for (size_t i = 0; i < sizeof(opcodes) / sizeof(*opcodes); i++) {
			const struct bsn_wqe_op *op = bsn_wqe_op_find(opcodes[i]);
			const struct mix *m = op->data == BSN_DATA_NONE ? &mixes[0] : &mixes[1];
			const struct bsn_wr wr = request(opcodes[i], m, BSN_F_RING);

			if (op->transports & 1u << t)
				continue;
			assert_refused_at(f, ep, &wr, -EOPNOTSUPP);
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

/*
 * Operations that wqe/ can read but no call can post: every opcode but those above, on every
 * transport.
 */
static void an_operation_without_a_request_is_refused(void **state)
{
	unsigned known = 0;

	(void)state;
	for (int t = BSN_TRANSPORT_RC; t <= BSN_TRANSPORT_UD; t++) {
		const struct fake_attr attr = { .transport = (enum bsn_transport)t,
						.has_peers = t == BSN_TRANSPORT_UD };
		struct fake *f = fake_create(&attr);
		struct bsn_ep *ep = t == BSN_TRANSPORT_UD ? &peers[1].ep : &f->ep;

		make_peers(f);
		for (uint32_t opcode = 0; opcode < 256; opcode++) {
			const struct bsn_wr wr = request(opcode, &mixes[0], BSN_F_RING);

			if (is_posted(opcode))
				continue;
			assert_refused_at(f, ep, &wr, -EOPNOTSUPP);
			known += bsn_wqe_op_find(opcode) != NULL;
		}
		fake_destroy(f);
	}
	assert_true(known >= 3 * 15);
}

/* A request is refused exactly if its blocks do not fit into the queue's capacity. */
static void a_full_queue_refuses_and_keeps_everything(void **state)
{
	const struct fake_attr attr = { .capacity_bb = 14 };
	struct fake *f = fake_create(&attr);

	(void)state;
	for (uint32_t pos = 0; pos < RING_BB; pos++)
		for (uint32_t used = 11; used <= 14; used++)
			for (unsigned m = 0; m < mix_count; m++) {
				const struct bsn_wr wr = request(BSN_OPCODE_RDMA_WRITE, &mixes[m], 0);
				uint32_t blocks;

				fake_seek(f, pos);
				assert_int_equal(bsn_post(&f->ep, &wr), 0);
				blocks = (uint16_t)(f->sq->pi - pos);
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

/*
 * A refused post that asks to ring publishes what was appended. Otherwise nothing would ever make
 * room.
 */
static void a_full_queue_asked_to_ring_rings(void **state)
{
	const struct fake_attr ud = many_peers(BSN_TRANSPORT_UD);

	(void)state;
	for (size_t w = 0; w < WAYS; w++)
		for (uint32_t pos = 0; pos < RING_BB; pos++)
			for (int many = 0; many < 2; many++) {
				struct fake *f = fake_create(many ? &ud : NULL);
				const struct bsn_wr wr = request(BSN_OPCODE_SEND, &mixes[1], BSN_F_RING);
				struct bsn_wr nop = request(BSN_OPCODE_NOP, &mixes[0], 0);
				struct bsn_ep *ep = many ? &peers[0].ep : &f->ep;

				make_peers(f);
				fake_seek(f, pos);
				for (uint32_t i = 0; i < RING_BB; i++)
					assert_int_equal(bsn_post(ep, &nop), 0);
				assert_int_equal(fake_send_record(f), pos);
				nop.flags = 0;
				assert_int_equal(bsn_post(ep, &nop), -EAGAIN);
				assert_int_equal(fake_send_record(f), pos);
				assert_int_equal(ways[w].post(ep, &wr), -EAGAIN);
				assert_int_equal(fake_send_record(f), pos + RING_BB);
				assert_int_equal(f->sq->count_full, 2);
				assert_int_equal(f->sq->pi, pos + RING_BB);
				fake_destroy(f);
			}
}

/*
 * A closed queue refuses every request by every way, however much room there is. Opened again, it
 * goes on where it was.
 */
static void a_closed_queue_says_why(void **state)
{
	static const char why[] = "not today";
	const struct fake_attr ud = many_peers(BSN_TRANSPORT_UD);

	(void)state;
	for (int many = 0; many < 2; many++) {
		struct fake *f = fake_create(many ? &ud : NULL);
		struct bsn_ep *ep = many ? &peers[1].ep : &f->ep;

		make_peers(f);
		for (uint32_t pos = 0; pos < RING_BB; pos++)
			for (unsigned m = 0; m < mix_count; m++) {
				const struct bsn_wr wr =
					request(BSN_OPCODE_SEND, &mixes[m], BSN_F_RING);

				fake_seek(f, pos);
				bsn_sq_close(f->sq, ENOTCONN, why);
				assert_int_equal(bsn_sq_room(f->sq), 0);
				assert_refused_at(f, ep, &wr, -ENOTCONN);
				assert_ptr_equal(bsn_refusal, why);
				assert_int_equal(post_prepared(ep, &wr) == NOT_THIS_WAY ?
							 -ENOTCONN :
							 post_prepared(ep, &wr),
						 -ENOTCONN);
				bsn_sq_close(f->sq, EINVAL, "another reason");
				assert_refused_at(f, ep, &wr, -EINVAL);
				bsn_sq_open(f->sq);
				assert_int_equal(bsn_post(ep, &wr), 0);
			}
		fake_destroy(f);
	}
}

/* A closed queue stays closed across a reset, and one that is open stays open. */
static void a_reset_leaves_a_queue_closed(void **state)
{
	struct fake *f = fake_create(NULL);
	const struct bsn_wr wr = request(BSN_OPCODE_SEND, &mixes[1], BSN_F_RING);

	(void)state;
	bsn_sq_close(f->sq, ENOTCONN, "in reset");
	bsn_sq_clear(f->sq);
	assert_refused(f, &wr, -ENOTCONN);
	bsn_sq_open(f->sq);
	bsn_sq_clear(f->sq);
	assert_int_equal(bsn_post(&f->ep, &wr), 0);
	fake_destroy(f);
}

/* The functions that are exported by name, which a binding may call. */
/* The compiler sees the NULL, so the inline code looks; symbols of the library always do. */
static void no_endpoint_is_refused(void **state)
{
	const struct bsn_sge sge = { (uintptr_t)payload, 8, 7 };
	const struct bsn_wr wr = request(BSN_OPCODE_RDMA_WRITE, &mixes[1], BSN_F_RING);
	struct fake *f = fake_create(NULL);
	struct bsn_prepared p;

	(void)state;
	assert_int_equal(bsn_prepare(&f->ep, &wr, &p), 0);
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

static void seek_recv(struct fake *f, uint32_t head)
{
	f->rq->head = (uint16_t)head;
	f->rq->tail = head;
	f->rq->id_at = f->rq->ids + (head & f->rq->mask);
	f->rq->slot = f->rq->ring + (head & f->rq->mask) * f->rq->stride;
	f->rq->limit = f->rq->slot + f->rq->stride;
}

/* Posts by the function of one SGE, by lists that the compiler knows, and by any list. */
static int recv_by(struct fake *f, unsigned way, const struct bsn_sge *sge, uint32_t count,
		   uint64_t id)
{
	if (way == 1 && count == 1)
		return bsn_recv_sgl(f->rq, sge, 1, id);
	if (way == 1 && count == 2)
		return bsn_recv_sgl(f->rq, sge, 2, id);
	if (way == 1 && count == 3)
		return bsn_recv_sgl(f->rq, sge, 3, id);
	if (way == 1 && count == 4)
		return bsn_recv_sgl(f->rq, sge, 4, id);
	if (way == 2)
		return bsn_rq_post(f->rq, sge, count, id);
	return count == 1 ? bsn_recv(f->rq, sge, id) : bsn_recv_sgl(f->rq, sge, count, id);
}

/* Every stride, list and position, two laps: the list, its end, record, id, neighbours. */
static void receives_are_in_the_ring(void **state)
{
	static const struct bsn_sge some[][4] = {
		{ { 0x1000, 10, 1 }, { 0x2000, 0, 2 }, { 0x3000, 30, 3 }, { 0x4000, 40, 4 } },
		{ { 0x1000, 10, 1 }, { 0x2000, 20, 2 }, { 0x3000, 30, 3 }, { 0x4000, 40, 4 } },
	};

	(void)state;
	for (uint32_t stride = 16; stride <= 128; stride *= 2) {
		const struct fake_attr attr = { .recv_stride = stride, .recv_count = 8 };
		struct fake *f = fake_create(&attr);
		const uint32_t max = stride / 16;

		for (uint32_t at = 0; at < 3 * 17; at++)
			for (uint32_t count = 0; count <= max && count <= 4; count++) {
				const uint32_t head = at / 3, way = at % 3, slot = head % 8;
				const size_t start = slot * stride;
				const struct bsn_sge *sge = some[head % 2];

				memset(f->rq_ring, FAKE_POISON, f->rq_bytes);
				seek_recv(f, head);
				assert_int_equal(recv_by(f, way, sge, count, head), 0);
				assert_received(f, slot, sge, count);
				assert_poison(f->rq_ring, start);
				assert_poison(f->rq_ring + start + stride,
					      f->rq_bytes - start - stride);
				assert_int_equal(fake_recv_record(f), head + 1);
				assert_int_equal(f->rq->ids[slot], head);
			}
		assert_int_equal(bsn_recv_sgl(f->rq, some[1], max + 1, 0), -EMSGSIZE);
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
			posted[i] = bsn_srq_of(f->rq)->next;
			assert_int_equal(i % 2 ? bsn_recv(f->rq, sge, 100 + posted[i])
					       : bsn_recv_sgl(f->rq, sge, 3, 100 + posted[i]),
					 0);
			assert_received(f, posted[i], sge, i % 2 ? 1 : 3);
			assert_int_equal(fake_recv_record(f), (uint16_t)(7 * round + i + 1));
		}
		assert_int_equal(bsn_recv(f->rq, sge, 0), -EAGAIN);
		for (unsigned i = 0; i < 7; i++) { /* not in the order of posting */
			const uint16_t slot = posted[(i * 3 + round) % 7];
			assert_int_equal(bsn_rq_give_back(f->rq, slot), 100 + slot);
		}
	}
	fake_destroy(f);
}

/* -- many receives at once ------------------------------------------------------------------------ */

enum { MANY_SLOTS = 16 };

/* What comes back, and in which order, is the same for both: an SRQ's in turn, or @step apart. */
static void give_back_some(struct fake *f[2], uint16_t *posted, uint32_t *held, unsigned n,
			   unsigned step)
{
	for (unsigned i = 0; i < n; i++) {
		const unsigned which = i * step % *held;
		const uint16_t slot = posted[which];

		assert_int_equal(bsn_rq_give_back(f[0]->rq, slot), bsn_rq_give_back(f[1]->rq, slot));
		memmove(&posted[which], &posted[which + 1], (*held - which - 1) * sizeof(*posted));
		--*held;
	}
}

/*
 * Many receives at once give the same bytes, ids, record and room as one by one, wherever in the
 * ring they begin.
 */
static void many_by(const struct fake_attr *attr, unsigned many, unsigned step)
{
	struct fake *f[2] = { fake_create(attr), fake_create(attr) };
	uint16_t posted[MANY_SLOTS];
	struct bsn_sge sge[MANY_SLOTS];
	uint64_t ids[MANY_SLOTS], id = 0;
	uint32_t held = 0;

	for (unsigned round = 0; round < 60; round++) {
		int one = 0, got;

		for (unsigned i = 0; i < many; i++) {
			id++;
			/* One in seven is empty; every other time all are plain, so that eight in a row are, too. */
			sge[i] = (struct bsn_sge){ 0x1000 * id, (uint32_t)(round % 2 ? id : id % 7 * 10), (uint32_t)id };
			ids[i] = id << 32 | 5;
		}
		for (unsigned i = 0; i < many; i++) {
			const uint16_t slot = attr->is_srq ? bsn_srq_of(f[0]->rq)->next : f[0]->rq->head;
			const int err = bsn_rq_post(f[0]->rq, &sge[i], 1, ids[i]);

			if (err && !one)
				one = err;
			if (err)
				break;
			posted[held++] = slot & (MANY_SLOTS - 1);
			one++;
		}
		got = bsn_recv_many(f[1]->rq, sge, ids, many);
		assert_int_equal(got, one);
		assert_memory_equal(f[0]->rq_ring, f[1]->rq_ring, f[0]->rq_bytes);
		assert_memory_equal(f[0]->rq->ids, f[1]->rq->ids, MANY_SLOTS * sizeof(uint64_t));
		assert_int_equal(fake_recv_record(f[0]), fake_recv_record(f[1]));
		if (attr->is_srq)
			assert_int_equal(bsn_srq_of(f[0]->rq)->next, bsn_srq_of(f[1]->rq)->next);
		give_back_some(f, posted, &held, held * (round % 4 + 1) / 4, step);
	}
	fake_destroy(f[0]);
	fake_destroy(f[1]);
}

static void many_receives_are_as_one_by_one(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < 3; kind++) /* own, shared, shared and posted to by pollers */
		for (uint32_t stride = 16; stride <= 64; stride *= 2)
			for (unsigned many = 1; many <= MANY_SLOTS; many++) {
				const struct fake_attr attr = { .is_srq = kind,
								.is_on_demand = kind == 2,
								.recv_count = MANY_SLOTS,
								.recv_stride = kind ? 2 * stride : stride };
				many_by(&attr, many, 0);
				if (kind)
					many_by(&attr, many, 5);
			}
}

static void what_is_refused_of_many_ends_them(void **state)
{
	struct bsn_sge sge[4] = { { 0x1000, 10, 1 }, { 0x2000, 20, 2 }, { 0x3000, 1u << 31, 3 } };
	const uint64_t ids[4] = { 1, 2, 3, 4 };

	(void)state;
	for (int is_srq = 0; is_srq < 2; is_srq++) {
		const struct fake_attr attr = { .is_srq = is_srq, .recv_stride = is_srq ? 32 : 16 };
		struct fake *f = fake_create(&attr);

		assert_int_equal(bsn_recv_many(f->rq, sge, ids, 0), 0);
		assert_int_equal(bsn_recv_many(f->rq, sge, ids, 4), 2);
		assert_int_equal(fake_recv_record(f), 2);
		assert_int_equal(bsn_recv_many(f->rq, sge + 2, ids + 2, 2), -EMSGSIZE);
		assert_int_equal(bsn_recv_many(f->rq, sge + 3, ids + 3, 1), 1);
		assert_int_equal(fake_recv_record(f), 3);
		fake_destroy(f);
	}
	assert_int_equal(bsn_rq_post_many(NULL, sge, ids, 1), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_request_at_every_position),
		cmocka_unit_test(indices_wrap),
		cmocka_unit_test(every_mode_publishes_the_same),
		cmocka_unit_test(the_librarys_turn_in_every_mode),
		cmocka_unit_test(inline_data_of_every_length),
		cmocka_unit_test(lengths_that_the_compiler_knows),
		cmocka_unit_test(inline_data_are_not_read_beyond),
		cmocka_unit_test(huge_inline_data_are_refused),
		cmocka_unit_test(the_measurement_chooses_a_store),
		cmocka_unit_test(several_are_published_by_a_doorbell),
		cmocka_unit_test(a_single_one_rung_later_takes_blueflame),
		cmocka_unit_test(every_request_to_one_of_many),
		cmocka_unit_test(common_flags_to_one_of_many),
		cmocka_unit_test(the_librarys_turn_to_one_of_many),
		cmocka_unit_test(nothing_for_nothing_to_one_of_many),
		cmocka_unit_test(inline_data_of_every_length_to_one_of_many),
		cmocka_unit_test(what_saw_no_room_is_as_any_other),
		cmocka_unit_test(a_peers_stream_is_in_the_control_segment),
		cmocka_unit_test(refusals_touch_nothing),
		cmocka_unit_test(what_the_compiler_knows_is_refused_to_one_of_many),
		cmocka_unit_test(reads_of_several_sges_are_refused),
		cmocka_unit_test(only_what_sends_data_is_inline),
		cmocka_unit_test(unknown_flags_are_refused),
		cmocka_unit_test(a_little_inline_data_always_fits),
		cmocka_unit_test(a_transport_refuses_what_it_lacks),
		cmocka_unit_test(an_operation_without_a_request_is_refused),
		cmocka_unit_test(a_full_queue_refuses_and_keeps_everything),
		cmocka_unit_test(a_full_queue_asked_to_ring_rings),
		cmocka_unit_test(a_closed_queue_says_why),
		cmocka_unit_test(a_reset_leaves_a_queue_closed),
		cmocka_unit_test(no_endpoint_is_refused),
		cmocka_unit_test(receives_are_in_the_ring),
		cmocka_unit_test(a_full_receive_queue_refuses),
		cmocka_unit_test(a_shared_queue_follows_its_links),
		cmocka_unit_test(many_receives_are_as_one_by_one),
		cmocka_unit_test(what_is_refused_of_many_ends_them),
	};

#ifdef BSN_ORDER_TRACE
	cmocka_set_test_filter("every_*");
#endif
	return cmocka_run_group_tests(tests, set_up, NULL);
}
