/* SPDX-License-Identifier: BSD-2-Clause */
#include "raw.h"

#include <string.h>

#define SEPARATORS " \t,;{}()[]<'\""
#define GAP_MAX    3 /* after a word, more separators than this end the bytes: ASCII follows */
#define WORD_MAX   16 /* digits of the longest word; longer ones are strings of bytes */
#define ENOUGH     16 /* at least so many bytes, if ASCII follows */

/* A word in a line. */
struct word {
	const char *begin, *end; /* of the digits */
	unsigned digits;         /* 0: not hexadecimal */
	bool has_colon;          /* a colon follows: it is an offset */
	unsigned gap;            /* blanks before it */
};

/* Characters of hex, for hex_is_likely(); about half of those of text are others. */
static bool is_of_hex(char c)
{
	if ((unsigned)c - '0' <= ':' - '0' || ((unsigned)c | 0x20) - 'a' <= 'f' - 'a')
		return true;
	return c == ' ' || c == '\t' || c == ',' || c == 'x' || c == '\\';
}

#define LIKELY_CHARS 32 /* in a line with words: WORDY_MIN_BYTES of forms_hex.c */
#define TAIL_CHARS   16 /* at the end of a line, which may begin with a logger's prefix */

static size_t count_of_hex(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && is_of_hex(text[n]))
		n++;
	return n;
}

static size_t count_of_hex_before(const char *text, size_t at)
{
	size_t n = 0;

	while (n < at && is_of_hex(text[at - 1 - n]))
		n++;
	return n;
}

/* Looks at few characters: a long run includes two that are half its length apart. */
static bool has_long_run(const char *text, size_t len)
{
	const size_t step = LIKELY_CHARS / 2;

	for (size_t i = step - 1; i + step < len; i += step)
		if (is_of_hex(text[i]) && is_of_hex(text[i + step]) &&
		    count_of_hex_before(text, i) + count_of_hex(text + i, len - i) >= LIKELY_CHARS)
			return true;
	return false;
}

/* Whether the last TAIL_CHARS characters are digits and blanks; an address is shorter than that. */
static bool ends_with_words(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && n < TAIL_CHARS &&
	       (text[len - 1 - n] == ' ' || hex_digit(text[len - 1 - n]) >= 0))
		n++;
	return n == TAIL_CHARS;
}

bool hex_is_likely(const char *text, size_t len)
{
	const size_t quote = strspn(text, "> \t"), skip = quote < len ? quote : len;

	if (count_of_hex(text + skip, len - skip) == len - skip)
		return len - skip > 1;
	return ends_with_words(text, len) || has_long_run(text, len);
}

/* Reads the word at `at`. Returns where the next one begins, or NULL at the end. */
static const char *next_word(const char *at, struct word *word)
{
	const char *start = at;

	at += strspn(at, SEPARATORS);
	if (!*at || *at == '|') /* ASCII is between bars */
		return NULL;
	*word = (struct word){ .gap = (unsigned)(at - start) };
	if ((at[0] == '0' || at[0] == '\\') && (at[1] | 0x20) == 'x')
		at += 2;
	word->begin = at;
	while (hex_digit(*at) >= 0)
		at++;
	word->end = at;
	if (*at == ':' && at - word->begin == 2 && hex_digit(at[1]) >= 0) {
		word->digits = 2; /* 00:11:22 */
		return at + 1;
	}
	word->has_colon = *at == ':';
	at += word->has_colon;
	if (word->end > word->begin && (!*at || *at == '\\' || strchr(SEPARATORS, *at)))
		word->digits = (unsigned)(word->end - word->begin);
	else
		at += strcspn(at, " \t");
	return at;
}

/* Consecutive words of one width. */
struct run {
	struct word before; /* the word before it; without digits: there is none */
	struct word first;
	const char *end;
	unsigned digits; /* of a word */
	unsigned words, bytes;
};

static bool is_data(const struct word *word)
{
	return word->digits && word->digits % 2 == 0 && !word->has_colon;
}

static bool goes_on(const struct run *run, const struct word *word)
{
	if (!run->words || !is_data(word) || word->gap > GAP_MAX)
		return false;
	return word->digits == run->digits || (run->digits > WORD_MAX && word->digits > WORD_MAX);
}

static void extend(struct run *run, const struct word *word)
{
	run->words++;
	run->bytes += word->digits / 2;
	run->end = word->end;
}

static struct run begin_run(const struct word *before, const struct word *word)
{
	struct run run = { .before = *before, .first = *word, .digits = word->digits };

	if (is_data(word))
		extend(&run, word);
	return run;
}

/* A last word that is shorter belongs to the run before it. */
static void add_remainder(struct run *run, const struct run *last)
{
	if (last->words == 1 && last->before.end == run->end && last->digits < run->digits &&
	    last->first.gap <= GAP_MAX)
		extend(run, &last->first);
}

/* Finds the longest run, or the first that is long enough. */
static void find_run(const char *text, struct run *best)
{
	struct run run = { 0 }, last = { 0 };
	struct word word = { 0 }, before;

	*best = run;
	for (;;) {
		before = word;
		text = next_word(text, &word);
		if (text && goes_on(&run, &word)) {
			extend(&run, &word);
			continue;
		}
		if (run.words) {
			add_remainder(&last, &run);
			if (last.bytes > best->bytes)
				*best = last;
			last = run;
		}
		if (run.bytes > best->bytes)
			*best = run;
		if (!text || best->bytes >= ENOUGH)
			break;
		run = begin_run(&before, &word);
	}
}

static uint64_t word_value(const struct word *word)
{
	uint64_t value = 0;

	for (const char *c = word->begin; c < word->end; c++)
		value = value << 4 | (unsigned)hex_digit(*c);
	return value;
}

/* Whether a run begins with an offset as wide as its words, and so has one word too many. */
static bool begins_with_offset(const struct run *run)
{
	const unsigned width = run->digits / 2;

	if (width != 4 && width != 8)
		return false;
	return (run->words == 16 / width + 1 || run->words == 32 / width + 1) &&
	       word_value(&run->first) % 16 == 0;
}

static void take_offset(struct run *run, struct hex_row *row)
{
	const struct word *before = &run->before;

	if (before->has_colon || before->digits >= 6) {
		row->has_offset = before->digits != 0;
		row->offset = word_value(before);
		row->offset_digits = before->digits;
		row->is_swapped = before->digits == 7 && !before->has_colon && run->digits > 2;
	} else if (begins_with_offset(run)) {
		row->has_offset = true;
		row->offset = word_value(&run->first);
		run->before = run->first;
		run->bytes -= run->digits / 2;
		next_word(run->first.end, &run->first);
	}
}

static void read_digits(const struct hex_row *row, uint8_t *bytes)
{
	unsigned nibbles = 0;

	for (const char *c = row->begin; c < row->end && nibbles < 2 * row->count; c++) {
		if ((c[0] == '0' || c[0] == '\\') && (c[1] | 0x20) == 'x')
			c++; /* 0x, \x */
		else if (hex_digit(*c) >= 0) {
			bytes[nibbles / 2] = (uint8_t)(bytes[nibbles / 2] << 4 | hex_digit(*c));
			nibbles++;
		}
	}
}

bool hex_row_read(const char *text, struct hex_row *row, uint8_t *bytes)
{
	const char *first;
	struct run run;

	*row = (struct hex_row){ 0 };
	find_run(text, &run);
	if (!run.bytes)
		return false;
	take_offset(&run, row);
	row->count = run.bytes < HEX_ROW_MAX ? run.bytes : HEX_ROW_MAX;
	row->group = run.digits <= WORD_MAX ? run.digits / 2 : 1;
	row->begin = run.first.begin;
	row->end = run.end;
	first = row->has_offset ? run.before.begin : row->begin;
	text += strspn(text, SEPARATORS);
	row->is_pure = text == first || text + 2 == first;
	if (bytes)
		read_digits(row, bytes);
	return true;
}

void hex_swap(uint8_t *bytes, size_t size, unsigned group)
{
	for (size_t at = 0; at + group <= size; at += group)
		for (unsigned i = 0; i < group / 2; i++) {
			const uint8_t byte = bytes[at + i];

			bytes[at + i] = bytes[at + group - 1 - i];
			bytes[at + group - 1 - i] = byte;
		}
}
