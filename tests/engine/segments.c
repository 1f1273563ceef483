/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * WQEs of the inline builders have the segments that the table of operations names (wqe/ops.c):
 * each operation of each transport, by each call that can post it.
 */
#include "harness.h"
#include "places.h"
#include "posts.h"
#include "../wqe/segments.h"

enum { MOST_SGES = 4, MOST_INLINE = 140 };

static enum bsn_transport transport_of(const struct bench *b)
{
	static const enum bsn_transport transports[] = { [BSN_QP_RC] = BSN_TRANSPORT_RC,
							 [BSN_QP_UC] = BSN_TRANSPORT_UC,
							 [BSN_QP_UD] = BSN_TRANSPORT_UD };

	return transports[b->test->qp.type];
}

/* bsn_post() takes no NOPs, and no operations with a modifier, such as masked atomics. */
static const struct bsn_wqe_op *op_of(const struct bench *b, unsigned opcode)
{
	const struct bsn_wqe_op *op = bsn_wqe_op_find(opcode);

	return op && op->is_message && !op->max_opmod && opcode != BSN_OPCODE_NOP &&
			       op->transports & 1u << transport_of(b)
		       ? op
		       : NULL;
}

/* Writes the segments before the data as words, by the table. */
static size_t put_head(const struct bench *b, const struct bsn_wqe_op *op, char *words)
{
	uint64_t head = bsn_wqe_places(op, transport_of(b), 0, true) & BSN_PLACES_IN_A_HEAD;
	enum bsn_place place;
	size_t at = 0;

	while (bsn_place_next(&head, &place))
		at += (size_t)snprintf(words + at, SEGMENTS_BYTES - at, "%s%s", at ? " " : "",
				       bsn_places[place].desc->name);
	return at;
}

/* Writes all segments as words; returns their DS. */
static unsigned expect_words(const struct bench *b, const struct bsn_wr *wr, char *words)
{
	const struct bsn_wqe_op *op = bsn_wqe_op_find(wr->opcode);
	unsigned ds = bsn_wqe_head_ds(op, transport_of(b), 0, true);
	size_t at = put_head(b, op, words);

	if (wr->flags & BSN_F_INLINE) {
		if (!wr->sge_count || !wr->sge->length)
			return ds;
		snprintf(words + at, SEGMENTS_BYTES - at, " inline_hdr +");
		return ds + (BSN_INLINE_HDR_SIZE + wr->sge->length + BSN_DS_SIZE - 1) / BSN_DS_SIZE;
	}
	for (unsigned i = 0; i < wr->sge_count; i++)
		at += (size_t)snprintf(words + at, SEGMENTS_BYTES - at, " data");
	return ds + wr->sge_count;
}

/* The WQE that begins at @slot, in one piece; returns its DS. */
static unsigned read_wqe(const struct bsn_sq *sq, const uint8_t *slot, uint8_t *wqe)
{
	const size_t ring_bytes = (size_t)(dv_sq(sq)->ring_end - dv_sq(sq)->ring);
	const size_t first = slot == dv_sq(sq)->ring_end ? 0 : (size_t)(slot - dv_sq(sq)->ring);
	struct bsn_ctrl ctrl;

	bsn_ctrl_decode(&ctrl, dv_sq(sq)->ring + first);
	for (size_t i = 0; i < ctrl.ds * BSN_DS_SIZE; i++)
		wqe[i] = dv_sq(sq)->ring[(first + i) % ring_bytes];
	return ctrl.ds;
}

static void check_wqe(struct bench *b, const struct bsn_wr *wr, const uint8_t *slot)
{
	static const char *const format = "opcode %u, flags %#x, %u SGEs: %s, %u DS\n";
	uint8_t wqe[BSN_WQE_MAX_DS * BSN_DS_SIZE];
	char wanted[SEGMENTS_BYTES], found[SEGMENTS_BYTES];
	const unsigned ds = read_wqe(b->sq[0], slot, wqe);
	const unsigned wanted_ds = expect_words(b, wr, wanted);

	segments_of(wqe, ds * BSN_DS_SIZE, transport_of(b), found);
	if (strcmp(found, wanted) || ds != wanted_ds)
		print_error(format, wr->opcode, wr->flags, wr->sge_count, found, ds);
	assert_string_equal(found, wanted);
	assert_int_equal(ds, wanted_ds);
}

/* Since nothing is executed, a full queue is reset. */
static void make_room(struct bench *b)
{
	bench_start_again(b);
}

/* Posts by each way that can express the request; bsn_post() always can. */
static void check_request(struct bench *b, const struct bsn_wr *wr)
{
	for (unsigned way = 0; way < POST_WAYS; way++) {
		const uint8_t *slot = b->sq[0]->slot;
		int err = post_request(b->ep[0], wr, way);
		if (err == -EAGAIN) {
			make_room(b);
			slot = b->sq[0]->slot;
			err = post_request(b->ep[0], wr, way);
		}
		assert_true(!err || (err == POST_HAS_NO_WAY && way != POST_WR));
		if (!err)
			check_wqe(b, wr, slot);
	}
}

static void check_flags(struct bench *b, struct bsn_wr *wr)
{
	static const unsigned flags[] = { 0, NOW, BSN_F_RING, BSN_F_FENCE | BSN_F_SOLICITED };
	const unsigned how = wr->flags;

	for (size_t i = 0; i < COUNT(flags); i++) {
		wr->flags = how | flags[i];
		wr->id = i;
		check_request(b, wr);
	}
	wr->flags = how;
}

static void check_operation(struct bench *b, const struct bsn_wqe_op *op)
{
	struct bsn_sge sge[MOST_SGES];
	struct bsn_wr wr = { .sge = sge, .remote = bench_remote(b, 1, 0), .opcode = op->opcode };

	for (unsigned i = 0; i < MOST_SGES; i++)
		sge[i] = bench_sge(b, 0, 64 * i, 8 + i);
	for (wr.sge_count = op->has_atomic; wr.sge_count <= (op->has_atomic ? 1 : MOST_SGES);
	     wr.sge_count++)
		check_flags(b, &wr);
	if (op->data != BSN_DATA_GATHER)
		return;
	wr.flags = BSN_F_INLINE;
	wr.sge_count = 1;
	for (sge[0].length = 0; sge[0].length <= MOST_INLINE; sge[0].length++)
		check_flags(b, &wr);
}

static void builders_agree_with_the_table(struct bench *b)
{
	unsigned operations = 0;

	for (unsigned opcode = 0; opcode < 64; opcode++) {
		const struct bsn_wqe_op *op = op_of(b, opcode);
		if (!op)
			continue;
		check_operation(b, op);
		operations++;
	}
	assert_int_equal(operations, b->test->qp.type == BSN_QP_RC   ? 8
				     : b->test->qp.type == BSN_QP_UC ? 5
								     : 2);
	make_room(b);
}

#define RINGS DIRECT, MODEL
#define LONG  .max_send_sge = MOST_SGES, .max_inline = MOST_INLINE

static const struct bench_case cases[] = {
	{ CASE_OF(builders_agree_with_the_table, "RC"), RINGS, .qp = { LONG } },
	{ CASE_OF(builders_agree_with_the_table, "UC"), RINGS, .qp = { .type = BSN_QP_UC, LONG } },
	{ CASE_OF(builders_agree_with_the_table, "UD"), RINGS, .qp = { .type = BSN_QP_UD, LONG } },
};

BENCH_MAIN("segments")
