/* SPDX-License-Identifier: BSD-2-Clause */
/* Sessions of compressed CQEs: polls of them give what polls of the same CQEs, whole, give. */
#include "../share.h"
#include "bed.h"

static const int formats[] = { REQUESTS, BSN_MINI_HASH, BSN_MINI_CSUM, BSN_MINI_CSUM_STRIDX };
static const int polls[] = { 64, 1, 3, 16 };

#define FORMATS (sizeof(formats) / sizeof(formats[0]))

/* A session begins at each slot. An error at each of its places ends it, and a second begins. */
static void each_error_in_each_session(int format, uint32_t stride, uint32_t spare)
{
	make_bed(format, 64, stride, spare);
	const uint32_t length = 64 - spare, share = tests_share();

	for (uint32_t start = 0; start < 64; start++) {
		for (uint32_t at = start % share; at <= length; at += share) {
			post_all();
			complete_session(at);
			if (at < length) {
				complete_error();
				complete_session(length - at - 1);
			}
			poll_all(polls[(start + at) % 4]);
			post_all(); /* so that the next begins in the same slot */
			for (; b.completed % 64 != start; post_all()) {
				complete_plain();
				poll_all(16);
			}
		}
		post_all();
		complete_plain();
		poll_all(16);
	}
	assert_true(b.sessions > 100 / share);
}

static void one_session_and_an_error_at_each_place(void **state)
{
	for (size_t i = 0; i < FORMATS; i++) {
		each_error_in_each_session(formats[i], 64, 0);
		each_error_in_each_session(formats[i], 64, 16);
		each_error_in_each_session(formats[i], 128, 16);
	}
}

/* All ways to cut 16 slots into sessions and plain CQEs: a bit of @cuts is where one ends. */
static void compose(uint32_t cuts)
{
	uint32_t length = 0;

	for (uint32_t i = 0; i < 16; i++) {
		length++;
		if (i == 15 || cuts >> i & 1) {
			complete_session(length);
			length = 0;
		}
	}
}

static void every_composition_of_16(void **state)
{
	const uint32_t rounds =
		getenv("BSN_ROUNDS") ? (uint32_t)strtoul(getenv("BSN_ROUNDS"), NULL, 0) : 1;

	for (size_t i = 0; i < FORMATS; i++)
		for (uint32_t stride = 64; stride <= 128; stride += 64) {
			make_bed(formats[i], 16, stride, 0);
			for (uint32_t round = 0; round < rounds * 0x8000; round += tests_share()) {
				post_all();
				compose(round % 0x8000);
				poll_all(polls[round / 16 % 4]);
				if (round % 5)
					continue;
				post_all(); /* the next begins one slot later */
				complete_plain();
				poll_all(16);
			}
		}
}

/* Polls of many end within sessions, and so do chunks of the ring. */
static void parts_of_sessions(int format, uint32_t stride, uint32_t imm)
{
	static const int sizes[] = { 8, 9, 16, 20, 23, 40, 64 };
	make_bed(format, 256, stride, 128);
	const uint32_t share = tests_share();

	b.imm = imm;
	for (uint32_t round = 0; round < 20000; round += share) {
		struct bsn_completion c[MOST];
		int n;

		post_all();
		complete_session(round * 7 % 62 + 2);
		if (round % 3 == 0 && b.completed < b.posted)
			complete_plain();
		memset(c, 0xee, sizeof(c)); /* what is not written shows */
		n = bsn_poll(b.f->cq, c, sizes[round % 7]);
		assert_true(n > 0);
		for (int i = 0; i < n; i++)
			check_one(&c[i]);
		poll_all(sizes[round / 7 % 7]);
	}
	assert_int_equal(bsn_cq_poll(b.f->cq, &(struct bsn_completion){ 0 }, 1), 0);
}

static void polls_end_within_sessions(void **state)
{
	for (size_t i = 0; i < FORMATS; i++)
		for (uint32_t stride = 64; stride <= 128; stride += 64) {
			parts_of_sessions(formats[i], stride, 0);
			if (formats[i] != REQUESTS)
				parts_of_sessions(formats[i], stride, 0x12345678);
		}
}

/* Whole CQEs, in every byte but the owner's: as bsn_cqe_expand() makes them. */
static void in_the_ring_they_are_what_the_codec_makes_of_them(void **state)
{
	for (size_t i = 0; i < FORMATS; i++) {
		make_bed(formats[i], 64, 64, 0);
		struct bsn_cqe_block block = { .format = b.format };
		uint8_t cqes[MOST][BSN_CQE_SIZE];

		post_all();
		complete_session(64);
		ok(bsn_cqe_block_begin(&block, b.f->cq_ring, NULL));
		for (uint32_t n = 0; n < 64; n += 8)
			assert_int_equal(bsn_cqe_expand(&block, b.f->cq_ring + 64 * (n ? n : 1),
							cqes + n, NULL), 8);
		poll_all(64);
		assert_memory_equal(cqes, b.f->cq_ring, sizeof(cqes));
	}
}

/* -- what cannot be ---------------------------------------------------------------------------- */

static void title_of(uint32_t count, uint32_t opcode)
{
	uint8_t *title = slot(0);
	struct bsn_cqe_tail tail;

	encode(0, title);
	bsn_row_put(bsn_row_find(&bsn_cqe_resp_desc, "byte_count"), title, count);
	bsn_cqe_tail_decode(&tail, title + BSN_CQE_TAIL_OFFSET);
	tail.format = BSN_CQE_COMPRESSED;
	tail.opcode = opcode;
	bsn_cqe_tail_encode(title + BSN_CQE_TAIL_OFFSET, &tail);
}

static void what_is_no_session_ends_the_cq(void **state)
{
	static const struct {
		uint32_t count, opcode;
		bool is_not_compressed;
	} bad[] = { { 0, BSN_CQE_RESP_SEND, false }, { 65, BSN_CQE_RESP_SEND, false },
		    { UINT32_MAX, BSN_CQE_RESP_SEND, false }, { 8, BSN_CQE_RESP_ERR, false },
		    { 8, BSN_CQE_REQ_ERR, false }, { 8, BSN_CQE_RESP_SEND, true } };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		for (int n = 1; n < 20; n += 15) {
			make_bed(BSN_MINI_HASH, 64, 64, 0);
			struct bsn_completion c[16];
			uint8_t before[64 * 64];

			if (bad[i].is_not_compressed)
				dv_cq(b.f->cq)->mini_format = 0;
			post_all();
			title_of(bad[i].count, bad[i].opcode);
			memcpy(before, b.f->cq_ring, sizeof(before));
			assert_int_equal(fake_poll(b.f, c, n), -EPROTO);
			assert_memory_equal(before, b.f->cq_ring, sizeof(before));
		}
}

/* A queue goes whose completions lie in a session that nobody has looked at. */
static void a_queue_that_goes_leaves_nothing_in_a_session(void **state)
{
	for (uint32_t before = 0; before < 64; before++) {
		make_bed(before % 2 ? BSN_MINI_HASH : REQUESTS, 64, 64, 0);
		struct bsn_completion c[64];

		for (uint32_t i = 0; i < before; i++) {
			post_all();
			complete_plain();
			poll_all(4);
		}
		post_all();
		complete_session(20);
		complete_plain();
		complete_session(30);
		bsn_cq_drop(b.f->cq, FAKE_QPN);
		assert_int_equal(bsn_poll(b.f->cq, c, 64), 0);
		assert_int_equal(dv_cq(b.f->cq)->count_dropped, 51);
	}
}

UNIT_MAIN(NULL, UNIT(one_session_and_an_error_at_each_place), UNIT(every_composition_of_16),
	  UNIT(polls_end_within_sessions), UNIT(in_the_ring_they_are_what_the_codec_makes_of_them),
	  UNIT(what_is_no_session_ends_the_cq), UNIT(a_queue_that_goes_leaves_nothing_in_a_session))
