/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds out where each byte of a mini CQE goes, by calls of bsn_cqe_expand(). */
#include "minis.h"

/* Expands one CQE. All bytes of the title are @fill; its counter is @counter, unless that is 0. */
static void expand_probe(enum bsn_mini_format format, bool is_request, uint8_t fill,
			 uint16_t counter, const uint8_t *mini, uint8_t *cqe)
{
	struct bsn_cqe_block block = { .format = format };
	uint8_t title[BSN_CQE_SIZE], array[BSN_CQE_SIZE] = { 0 }, out[1][BSN_CQE_SIZE];
	const struct bsn_cqe_tail tail = {
		.wqe_counter = counter,
		.opcode = is_request ? BSN_CQE_REQ : BSN_CQE_RESP_SEND,
		.format = BSN_CQE_COMPRESSED,
	};
	uint8_t tail_bytes[BSN_CQE_TAIL_SIZE];

	memset(title, fill, sizeof(title));
	bsn_cqe_tail_encode(tail_bytes, &tail);
	title[BSN_CQE_OP_OWN_OFFSET] = tail_bytes[BSN_CQE_OP_OWN_OFFSET - BSN_CQE_TAIL_OFFSET];
	if (counter)
		memcpy(title + BSN_CQE_TAIL_OFFSET, tail_bytes, sizeof(tail_bytes));
	bsn_row_put(bsn_row_find(&bsn_cqe_resp_desc, "byte_count"), title, 1);
	memcpy(array, mini, BSN_MINI_SIZE);
	if (bsn_cqe_block_begin(&block, title, NULL) ||
	    bsn_cqe_expand(&block, array, out, NULL) != 1)
		memset(out, 0, sizeof(out));
	memcpy(cqe, out, BSN_CQE_SIZE);
}

static void find_mini_bytes(struct bsn_mini_map *map, enum bsn_mini_format format, bool is_request)
{
	uint8_t cqe[BSN_CQE_SIZE];

	for (unsigned b = 0; b < BSN_MINI_SIZE; b++) {
		uint8_t mini[BSN_MINI_SIZE] = { 0 };

		mini[b] = 0xff;
		expand_probe(format, is_request, 0, 0, mini, cqe);
		for (unsigned at = 0; at < BSN_CQE_OP_OWN_OFFSET; at++)
			if (cqe[at] == 0xff)
				map->from[at] = (uint8_t)b;
	}
}

/* Marks the bytes that come from the title. op_own is one of them, though its format is cleared. */
static void find_kept(struct bsn_mini_map *map, enum bsn_mini_format format, bool is_request)
{
	static const uint8_t zero[BSN_MINI_SIZE];
	uint8_t cqe[BSN_CQE_SIZE];

	expand_probe(format, is_request, 0xff, 0, zero, cqe);
	for (unsigned at = 0; at < BSN_CQE_OP_OWN_OFFSET; at++)
		map->keep[at] = map->from[at] == BSN_MINI_NO_BYTE ? cqe[at] : 0;
	map->keep[BSN_CQE_OP_OWN_OFFSET] = 0xff;
}

static void find_counter(struct bsn_mini_map *map, enum bsn_mini_format format, bool is_request)
{
	static const struct {
		uint16_t counter;
		uint8_t byte, from;
	} probes[] = { { 0x00ff, 0xff, BSN_MINI_COUNTER_LOW },
		       { 0xff00, 0xff, BSN_MINI_COUNTER_HIGH } };
	static const uint8_t zero[BSN_MINI_SIZE];
	uint8_t cqe[BSN_CQE_SIZE];

	for (unsigned i = 0; i < 2; i++) {
		expand_probe(format, is_request, 0, probes[i].counter, zero, cqe);
		for (unsigned at = 0; at < BSN_CQE_OP_OWN_OFFSET; at++)
			if (cqe[at] == probes[i].byte) {
				map->from[at] = probes[i].from;
				map->counts = true;
			}
	}
}

void bsn_mini_map_init(struct bsn_mini_map *map, enum bsn_mini_format format, bool is_request)
{
	memset(map->from, BSN_MINI_NO_BYTE, sizeof(map->from));
	map->counts = false;
	find_mini_bytes(map, format, is_request);
	find_counter(map, format, is_request);
	find_kept(map, format, is_request);
}

void bsn_mini_take(const struct bsn_mini_map *map, const uint8_t *cqe, uint8_t *mini)
{
	memset(mini, 0, BSN_MINI_SIZE);
	for (unsigned at = 0; at < BSN_CQE_SIZE; at++)
		if (map->from[at] < BSN_MINI_SIZE)
			mini[map->from[at]] = cqe[at];
}

void bsn_mini_put(const struct bsn_mini_map *map, const uint8_t *title, const uint8_t *mini,
		  uint16_t counter, uint8_t *cqe)
{
	uint8_t bytes[BSN_MINI_COUNTER_HIGH + 1];

	memcpy(bytes, mini, BSN_MINI_SIZE);
	bytes[BSN_MINI_COUNTER_LOW] = (uint8_t)counter;
	bytes[BSN_MINI_COUNTER_HIGH] = (uint8_t)(counter >> 8);
	for (unsigned at = 0; at < BSN_CQE_SIZE; at++)
		cqe[at] = map->from[at] == BSN_MINI_NO_BYTE ? title[at] & map->keep[at]
							    : bytes[map->from[at]];
}
