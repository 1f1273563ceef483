/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of hexadecimal digits, grouped and broken in any way. */
#include "form.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_MAX_BYTES (2u << 20)            /* bytes of one dump: the longest send queue */
#define TEXT_MAX_BYTES  (6 * BLOCK_MAX_BYTES) /* "0x00, " */
#define WORDY_MIN_BYTES 16                    /* in a line that also has words */
#define SILENT_BYTES    48                    /* fewer are reported only if they are a queue */

struct places {
	struct raw_place *list;
	size_t count;
};

/* A dump, as far as it was read. */
struct block {
	uint8_t *bytes; /* in the order of the rows */
	size_t size;
	struct places places; /* where its rows begin in the bytes */
	char *text; /* the rows, joined; NULL: some have more than digits */
	size_t text_len;
	struct places text_places; /* where they begin in the text */
	unsigned group; /* bytes of a word */
	bool has_offset, is_octal, is_squeezed;
	bool is_torn;    /* lines are broken within words or offsets: only all text can be read */
	bool is_swapped; /* tools that print such offsets swap words */
	bool has_rows;   /* more than hashes of commits and files have */
	uint64_t offset; /* of the first row */
	unsigned offset_digits;
	uint64_t step;       /* from one offset to the next; 0: unknown */
	struct hex_row last; /* the row before, and its bytes */
	uint8_t last_bytes[32];
};

static void free_block(struct block *block)
{
	free(block->bytes);
	free(block->places.list);
	free(block->text);
	free(block->text_places.list);
	*block = (struct block){ 0 };
}

/* -- what the bytes are ------------------------------------------------------------------------ */

/* The digits of an offset at the beginning of a text, which a colon ends. 0: there is none. */
static size_t count_offset_digits(const char *text)
{
	const size_t digits = strspn(text, "0123456789abcdefABCDEF");

	return text[digits] == ':' ? digits : 0;
}

/*
 * Reads all digits of the joined lines, which may be broken within words. Replaces places in the
 * text by places in the bytes. All offsets have as many digits as the first one. Returns the number
 * of bytes.
 */
static size_t read_joined(struct block *block, uint8_t *bytes)
{
	struct raw_place *place = block->text_places.list;
	const struct raw_place *end = place + block->text_places.count;
	const char *text = block->text;
	const size_t offset_digits = count_offset_digits(text);
	size_t nibbles = 0;

	for (const char *c = text; *c; c++) {
		for (; place < end && place->offset <= (size_t)(c - text); place++)
			place->offset = nibbles / 2;
		if ((c[0] == '0' || c[0] == '\\') && (c[1] | 0x20) == 'x') {
			c++;
		} else if (*c == ':' && offset_digits && nibbles >= offset_digits) {
			nibbles -= offset_digits;
		} else if (hex_digit(*c) >= 0) {
			bytes[nibbles / 2] = (uint8_t)(bytes[nibbles / 2] << 4 | hex_digit(*c));
			nibbles++;
		}
	}
	return nibbles / 2;
}

/* Swaps the words, if they make more sense then. */
static int try_swapped(const struct raw_attr *attr, struct block *block, int score)
{
	enum raw_kind kind;
	int swapped;

	if (block->group < 2)
		return score;
	hex_swap(block->bytes, block->size, block->group);
	swapped = judge_bytes(attr, block->bytes, block->size, &kind);
	if (swapped > score || (swapped == score && block->is_swapped))
		return swapped;
	hex_swap(block->bytes, block->size, block->group);
	return score;
}

/* Takes all digits as one string, if that makes more sense. */
static void try_joined(const struct raw_attr *attr, struct block *block, int score)
{
	enum raw_kind kind;
	bool is_whole; /* it has nothing but bytes */
	uint8_t *bytes;
	size_t size;
	int joined;

	if (!block->text)
		return;
	bytes = need(malloc(block->text_len / 2 + 1));
	size = read_joined(block, bytes);
	joined = judge_bytes(attr, bytes, size, &kind);
	is_whole = !block->has_offset || count_offset_digits(block->text);
	if (joined > score || (joined > 0 && size > block->size && is_whole)) {
		free(block->bytes);
		free(block->places.list);
		block->bytes = bytes;
		block->size = size;
		block->places = block->text_places;
		block->text_places.list = NULL;
	} else {
		free(bytes);
	}
}

static void finish(struct feed *feed, void *state)
{
	struct block *block = state;
	struct raw_attr attr = *feed->bytes;
	enum raw_kind kind;
	int score = block->size ? judge_bytes(&attr, block->bytes, block->size, &kind) : 0;

	score = try_swapped(&attr, block, score);
	try_joined(&attr, block, score);
	if ((block->size >= SILENT_BYTES && block->has_rows) ||
	    judge_bytes(&attr, block->bytes, block->size, &kind) > 0)
		raw_tell(feed->tell, &attr,
			 &(struct raw){ .bytes = block->bytes,
					.size = block->size,
					.places = block->places.list,
					.place_count = block->places.count });
	free_block(block);
}

/* -- its lines --------------------------------------------------------------------------------- */

static void add_bytes(struct block *block, const uint8_t *bytes, size_t count)
{
	block->bytes = room_for(block->bytes, block->size, count, 1);
	memcpy(block->bytes + block->size, bytes, count);
	block->size += count;
}

static void add_place(struct places *places, size_t offset, unsigned long line)
{
	places->list = room_for(places->list, places->count, 1, sizeof(*places->list));
	places->list[places->count++] = (struct raw_place){ .offset = offset, .line = line };
}

/* Whether a line has only digits and separators. */
static bool is_digits(const struct line *line)
{
	return strspn(line->text, "0123456789abcdefABCDEFxX\\ \t,:") == line->len &&
	       line->text[strspn(line->text, " \t")];
}

/* Whether a line may be part of a broken row: only its ends may have half a byte. */
static bool is_torn_row(const struct line *line)
{
	unsigned odd = 0;

	if (!is_digits(line))
		return false;
	for (const char *word = line->text; *word;) {
		const size_t digits = strspn(word, "0123456789abcdefABCDEFxX\\");

		odd += digits % 2;
		word += digits + strspn(word + digits, " \t,:");
	}
	return odd <= 2;
}

/* Keeps the text while it has only digits. */
static void add_text(struct block *block, const struct line *line)
{
	if (block->places.count && !block->text)
		return;
	if (!is_digits(line)) {
		free(block->text);
		block->text = NULL;
		return;
	}
	add_place(&block->text_places, block->text_len, line->number);
	block->text = room_for(block->text, block->text_len, line->len + 1, 1);
	memcpy(block->text + block->text_len, line->text, line->len);
	block->text_len += line->len;
	block->text[block->text_len] = '\0';
}

/* The offset of a row. od writes it in octal; the step from row to row shows that. */
static uint64_t offset_of(struct block *block, const struct hex_row *row)
{
	uint64_t value = 0;

	if (block->size == 16 && row->offset - block->offset == 0x20)
		block->is_octal = true;
	if (!block->is_octal)
		return row->offset;
	for (int digit = 15; digit >= 0; digit--)
		value = value << 3 | (row->offset >> 4 * digit & 7);
	return value;
}

/* Adds the rows that "*" stands for: copies of the last row, up to this size. */
static bool fill_squeezed(struct block *block, uint64_t end)
{
	block->is_squeezed = false;
	if (end > BLOCK_MAX_BYTES || !block->last.count)
		return false;
	while (block->size + block->last.count <= end)
		add_bytes(block, block->last_bytes, block->last.count);
	return true;
}

/* All rows but the last have one size; lines of a disassembly have not. */
static bool keeps_step(struct block *block, uint64_t offset)
{
	const uint64_t step = offset - (block->size - block->last.count);

	if (!block->step)
		block->step = step;
	return step == block->step;
}

/* Whether a row continues the dump. */
static bool continues(struct block *block, const struct hex_row *row)
{
	uint64_t offset;

	if (!row->has_offset || !block->has_offset)
		return row->is_pure || !block->size || row->group == block->group;
	offset = offset_of(block, row) - block->offset;
	if (block->is_torn && block->text)
		return offset;
	if (block->is_squeezed ? !fill_squeezed(block, offset) : !keeps_step(block, offset))
		return false;
	if (offset < block->size && block->size - offset < block->last.count)
		block->size = offset; /* the row before was too long, as some people copy it */
	return offset == block->size;
}

/* Whether a row has no part of a word, and no offset that was cut off. */
static bool is_whole_row(const struct block *block, const struct hex_row *row)
{
	return row->is_pure && (!block->has_offset || !row->has_offset ||
				row->offset_digits >= block->offset_digits);
}

static void add_row(struct block *block, const struct line *line, const struct hex_row *row,
		    const uint8_t *bytes)
{
	add_text(block, line);
	if (!block->places.count) {
		block->has_offset = row->has_offset;
		block->offset = row->offset;
		block->offset_digits = row->offset_digits;
	}
	block->has_rows |= row->is_pure || row->end - row->begin > 2 * (long)row->count;
	if (row->group > block->group)
		block->group = row->group;
	block->is_swapped |= row->is_swapped;
	add_place(&block->places, block->size, line->number);
	add_bytes(block, bytes, row->count);
	block->last = *row;
	if (row->count <= sizeof(block->last_bytes))
		memcpy(block->last_bytes, bytes, row->count);
	else
		block->last.count = 0;
}

/* Whether the line ends a dump with offsets: an offset alone. */
static bool is_end(const struct block *block, const struct line *line)
{
	char *end;
	const uint64_t value = strtoull(line->text, &end, block->is_octal ? 8 : 16);

	return block->has_offset && !*end && value == block->offset + block->size;
}

static enum form_answer feed_hex(struct feed *feed, const struct line *line, void *state)
{
	struct block *block = state;
	uint8_t bytes[HEX_ROW_MAX];
	struct hex_row row;
	bool has_row;

	if (block->places.count && is_end(block, line)) {
		finish(feed, block);
		return FORM_TAKEN;
	}
	if (block->has_offset && !strcmp(line->text, "*")) {
		block->is_squeezed = true;
		return FORM_MORE;
	}
	has_row = hex_row_read(line->text, &row, bytes);
	if (!(has_row && is_whole_row(block, &row)) && (block->text || !block->places.count) &&
	    is_torn_row(line)) {
		add_text(block, line);
		block->is_torn = true;
		return FORM_MORE;
	}
	if (!has_row || !(row.is_pure || row.count >= WORDY_MIN_BYTES)) {
		finish(feed, block);
		return FORM_OVER;
	}
	if (block->places.count && (!continues(block, &row) || block->size >= BLOCK_MAX_BYTES ||
				   block->text_len >= TEXT_MAX_BYTES))
		finish(feed, block); /* and this one begins another */
	add_row(block, line, &row, bytes);
	return FORM_MORE;
}

FORM(hex, "hex", MARKS(NULL), .state_bytes = sizeof(struct block), .feed = feed_hex,
     .close = finish);
