/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares the table of operations with words, and with itself. */
#include "../unit.h"
#include "encode.h"
#include "places.h"
#include "segments.h"

/* -- what a WQE has, in words ------------------------------------------------------------------ */

#define ON(transport, opcode, modifier, vector, words_)                                            \
	{                                                                                          \
		BSN_TRANSPORT_##transport, BSN_OPCODE_##opcode, modifier, vector, words_           \
	}
enum { COMPACT, EXTENDED };

static const struct {
	enum bsn_transport transport;
	enum bsn_wqe_opcode opcode;
	uint32_t opmod;
	bool is_extended;
	const char *words;
} expected[] = {
	ON(RC, NOP, 0, COMPACT, "ctrl"),
	ON(UD, NOP, 0, EXTENDED, "ctrl"),
	ON(RC, SEND, 0, COMPACT, "ctrl ..."),
	ON(UC, SEND_IMM, 0, EXTENDED, "ctrl ..."),
	ON(XRC, SEND_INVAL, 0, COMPACT, "ctrl xrc ..."),
	ON(RC, RDMA_WRITE, 0, COMPACT, "ctrl raddr ..."),
	ON(XRC, RDMA_WRITE_IMM, 0, COMPACT, "ctrl xrc raddr ..."),
	ON(DC, RDMA_READ, 0, COMPACT, "ctrl av_dc raddr ..."),
	ON(DC, RDMA_READ, 0, EXTENDED, "ctrl av_dc_grh raddr ..."),
	ON(UD, SEND, 0, COMPACT, "ctrl av_ud ..."),
	ON(UD, SEND, 0, EXTENDED, "ctrl av_ud_grh ..."),
	ON(ETH, SEND, 0, COMPACT, "ctrl eth ..."),
	ON(IPOIB, SEND, 0, EXTENDED, "ctrl av_ud_grh +16 eth ..."),
	ON(ETH, TSO, 1, COMPACT, "ctrl eth ..."),
	ON(IPOIB, TSO, 0, COMPACT, "ctrl av_ud +16 eth ..."),
	ON(ETH, ENHANCED_MPSW, 0, COMPACT, "ctrl eth ..."),
	ON(ETH, DUMP, 0, COMPACT, "ctrl ..."),
	ON(RC, ATOMIC_CS, 0, COMPACT, "ctrl raddr atomic_cs ..."),
	ON(DC, ATOMIC_FA, 0, EXTENDED, "ctrl av_dc_grh raddr atomic_fa ..."),
	ON(RC, ATOMIC_MASKED_CS, 9, COMPACT, "ctrl raddr masked_cs ..."),
	ON(RC, ATOMIC_MASKED_CS, 8, COMPACT, "ctrl raddr masked_cs32 ..."),
	ON(XRC, ATOMIC_MASKED_FA, 9, COMPACT, "ctrl xrc raddr masked_fa ..."),
	ON(RC, ATOMIC_MASKED_FA, 8, COMPACT, "ctrl raddr masked_fa32 ..."),
	ON(RC, ATOMIC_MASKED_FA, 0, COMPACT, ""),
	ON(RC, ATOMIC_MASKED_CS, 10, COMPACT, ""),
	ON(RC, UMR, 0, COMPACT, "ctrl umr_ctrl mkey_ctx ..."),
	ON(ETH, UMR, 2, COMPACT, "ctrl umr_ctrl mkey_ctx ..."),
	ON(UD, WAIT, 0, EXTENDED, "ctrl wait_en"),
	ON(ETH, WAIT, 1, COMPACT, "ctrl wait_mem"),
	ON(ETH, WAIT, 2, COMPACT, "ctrl wait_mem"),
	ON(ETH, WAIT, 3, COMPACT, "ctrl ..."),
	ON(RC, SET_PSV, 0, COMPACT, "ctrl set_psv"),
	ON(RC, SET_PSV, 1, COMPACT, "ctrl ..."),
	ON(RC, TAG_MATCHING, 0, COMPACT, "ctrl tm data"),
	ON(DC, MMO, 1, COMPACT, "ctrl mmo data data"),
	ON(ETH, ACCESS_ASO, 0, COMPACT, "ctrl aso +64"),
	ON(RC, FLOW_TBL_ACCESS, 7, COMPACT, "ctrl flow +64"),
	ON(RC, BIND_MW, 0, COMPACT, "ctrl ..."),
};

/*
 * Writes places as words. A place that no table describes is its size, or "..." if the size may
 * vary.
 */
static const char *in_words(uint64_t places, char *words)
{
	enum bsn_place place;
	size_t at = 0;

	words[0] = '\0';
	while (bsn_place_next(&places, &place)) {
		const struct bsn_place_info *info = &bsn_places[place];
		at += (size_t)snprintf(words + at, SEGMENTS_BYTES - at, "%s", at ? " " : "");
		if (info->desc)
			at += (size_t)snprintf(words + at, SEGMENTS_BYTES - at, "%s",
					       info->desc->name);
		else if (info->size_bytes)
			at += (size_t)snprintf(words + at, SEGMENTS_BYTES - at, "+%u",
					       info->size_bytes);
		else
			at += (size_t)snprintf(words + at, SEGMENTS_BYTES - at, "...");
	}
	return words;
}

static void operations_have_these_segments(void **state)
{
	char words[SEGMENTS_BYTES];

	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		const struct bsn_wqe_op *op = bsn_wqe_op_find(expected[i].opcode);
		assert_non_null(op);
		assert_string_equal(
			in_words(bsn_wqe_places(op, expected[i].transport, expected[i].opmod,
						expected[i].is_extended),
				 words),
			expected[i].words);
	}
}

/* -- the decoder ------------------------------------------------------------------------------- */

/* A WQE of nothing but its head. */
static void make_head(uint8_t *bytes, const struct bsn_wqe_op *op, uint32_t opmod, uint32_t ds,
		      bool is_extended)
{
	memset(bytes, 0, BSN_WQE_MAX_DS * BSN_DS_SIZE);
	ENCODE(ctrl, bytes, .opcode = op->opcode, .opmod = opmod, .ds = ds);
	if (op->is_addressed)
		ENCODE(av_ud, bytes + BSN_CTRL_SIZE, .ext = is_extended);
}

static void assert_head(const struct bsn_wqe *wqe, uint64_t places)
{
	uint64_t head = places & BSN_PLACES_IN_A_HEAD & ~BSN_PLACE(ETH_PAD);
	enum bsn_place place;
	unsigned i = 0;

	for (; bsn_place_next(&head, &place); i++) {
		assert_true(i < wqe->part_count);
		assert_ptr_equal(wqe->parts[i].desc, bsn_places[place].desc);
	}
	assert_int_equal(wqe->part_count, i);
}

static bool has_address_vector(enum bsn_transport transport)
{
	return transport == BSN_TRANSPORT_UD || transport == BSN_TRANSPORT_DC ||
	       transport == BSN_TRANSPORT_IPOIB;
}

static void assert_decoded(const struct bsn_wqe_op *op, enum bsn_transport transport,
			   uint32_t opmod, bool is_extended)
{
	const uint64_t places = bsn_wqe_places(op, transport, opmod, is_extended);
	const uint32_t ds = bsn_wqe_head_ds(op, transport, opmod, is_extended);
	const bool needs_more =
		places & (BSN_PLACE(FLOW_DATA) | BSN_PLACE(MMO_FROM)); /* the tail refuses it */
	uint8_t bytes[BSN_WQE_MAX_DS * BSN_DS_SIZE];
	static struct bsn_wqe wqe;
	struct bsn_bad bad;
	int err;

	make_head(bytes, op, opmod, ds ? ds : 1, is_extended);
	err = bsn_wqe_decode(bytes, sizeof(bytes), transport, &wqe, &bad);
	assert_int_equal(err, places && !needs_more ? 0 : -EBADMSG);
	if (!places)
		return;
	assert_head(&wqe, places);
	if (ds == 1)
		return;
	make_head(bytes, op, opmod, ds - 1, is_extended);
	assert_int_equal(bsn_wqe_decode(bytes, sizeof(bytes), transport, &wqe, &bad), -EBADMSG);
	assert_int_equal(bad.vendor_syndrome, BSN_VENDOR_DS_TOO_SHORT);
}

static void the_decoder_takes_what_the_table_says(void **state)
{
	for (uint32_t opcode = 0; opcode <= UINT8_MAX; opcode++) {
		const struct bsn_wqe_op *op = bsn_wqe_op_find(opcode);
		for (unsigned t = 0; op && t <= BSN_TRANSPORT_IPOIB; t++)
			for (uint32_t opmod = 0; opmod <= UINT8_MAX; opmod++)
				for (int is_extended = 0; is_extended < 2; is_extended++)
					if (!is_extended ||
					    has_address_vector((enum bsn_transport)t))
						assert_decoded(op, (enum bsn_transport)t, opmod,
							       is_extended);
	}
}

/* -- the table --------------------------------------------------------------------------------- */

static void every_opcode_that_has_a_name_has_a_row(void **state)
{
	unsigned count = 0;

#define HAS_ROW(name_, value, doc)                                                                 \
	assert_non_null(bsn_wqe_op_find(value));                                                   \
	assert_int_equal(bsn_wqe_op_find(value)->opcode, value);                                   \
	assert_string_equal(bsn_wqe_op_find(value)->name, #name_);                                 \
	count++;
	BSN_WQE_OPCODES(HAS_ROW)
#undef HAS_ROW
	for (uint32_t opcode = 0; opcode < 0x200; opcode++)
		count -= bsn_wqe_op_find(opcode) != NULL;
	assert_int_equal(count, 0);
	assert_null(bsn_wqe_op_find(UINT32_MAX));
}

static void places_are_as_large_as_their_segments(void **state)
{
	for (unsigned place = 0; place < BSN_PLACE_COUNT; place++) {
		const struct bsn_place_info *info = &bsn_places[place];
		assert_true(!info->desc != !info->doc);
		assert_true(!info->desc || info->desc->size_bytes == info->size_bytes);
		assert_int_equal(info->size_bytes % BSN_DS_SIZE, 0);
	}
}

static void a_queue_knows_its_longest_wqe(void **state)
{
	static const struct {
		enum bsn_transport transport;
		uint32_t sge, inline_bytes, ds;
	} longest[] = {
		{ BSN_TRANSPORT_RC, 1, 0, 4 },     /* control, remote address, operands, result */
		{ BSN_TRANSPORT_RC, 2, 28, 4 },    /* control, remote address, 32 bytes */
		{ BSN_TRANSPORT_RC, 1, 29, 5 },    /* one byte more */
		{ BSN_TRANSPORT_RC, 30, 0, 32 },   /* as many pointers */
		{ BSN_TRANSPORT_UC, 1, 0, 3 },     /* no atomics */
		{ BSN_TRANSPORT_UD, 1, 0, 5 },     /* control, extended vector, a pointer */
		{ BSN_TRANSPORT_UD, 1, 28, 6 },    /* 32 bytes */
		{ BSN_TRANSPORT_XRC, 1, 12, 5 },   /* as RC, and the shared receive queue */
		{ BSN_TRANSPORT_DC, 1, 12, 7 },    /* as RC, and an extended vector */
		{ BSN_TRANSPORT_RC, 1, 1000, 65 }, /* longer than a WQE can be */
	};

	for (size_t i = 0; i < sizeof(longest) / sizeof(longest[0]); i++)
		assert_int_equal(bsn_wqe_longest_ds(longest[i].transport, longest[i].sge,
						    longest[i].inline_bytes),
				 longest[i].ds);
	for (unsigned t = 0; t <= BSN_TRANSPORT_XRC; t++) {
		const enum bsn_transport transport = (enum bsn_transport)t;
		const uint32_t head = bsn_wqe_longest_head_ds(transport);

		for (uint32_t ds = 3; ds < BSN_WQE_MAX_DS; ds++) {
			const uint32_t inline_bytes = ds * BSN_DS_SIZE - BSN_INLINE_HDR_SIZE;
			assert_int_equal(bsn_wqe_longest_ds(transport, ds, 0), head + ds);
			assert_int_equal(bsn_wqe_longest_ds(transport, 1, inline_bytes), head + ds);
			assert_int_equal(bsn_wqe_longest_ds(transport, 1, inline_bytes + 1),
					 head + ds + 1);
		}
	}
}

UNIT_MAIN(NULL, UNIT(operations_have_these_segments), UNIT(the_decoder_takes_what_the_table_says),
	  UNIT(every_opcode_that_has_a_name_has_a_row), UNIT(places_are_as_large_as_their_segments),
	  UNIT(a_queue_knows_its_longest_wqe))
