/* SPDX-License-Identifier: BSD-2-Clause */
#include "wrapped.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

#define PARTS_MAX    6  /* lines after the first one that are tried */
#define TERMINAL_MIN 80 /* columns: only a terminal of this width or more breaks words */

/* How many of its numbers a record has; a status counts as one. */
static unsigned weigh(const struct record *record, enum read_answer answer)
{
	unsigned count;

	if (answer != READ_WELL)
		return 0;
	count = *record->status != '\0';
#define COUNT_NUMBER(name) count += record->name.is_known;
	RECORD_NUMBERS(COUNT_NUMBER)
#undef COUNT_NUMBER
	return count;
}

static bool start(struct wrapped *whole, const struct line *line)
{
	*whole = (struct wrapped){ .line = *line };
	if (line->len >= sizeof(whole->text))
		return false;
	memcpy(whole->text, line->text, line->len);
	whole->line.text = whole->text;
	return true;
}

/*
 * Adds a part. A terminal may have broken a word or a number, whose halves are then joined.
 * Elsewhere two numbers that meet cannot be read, and the part is refused.
 */
static bool append(struct wrapped *whole, const char *part, bool is_broken, bool is_glued)
{
	const size_t len = strlen(part);
	size_t at = whole->line.len;
	const bool is_number =
		at && isdigit((unsigned char)whole->text[at - 1]) && isdigit((unsigned char)*part);

	while (at && (isblank((unsigned char)whole->text[at - 1]) || whole->text[at - 1] == '\\'))
		at--; /* a shell and some mailers end such lines in a backslash */
	if (at + 1 + len >= sizeof(whole->text) || (is_number && !is_broken))
		return false;
	if (at < whole->line.len || !is_broken || !(is_glued || is_number))
		whole->text[at++] = ' ';
	memcpy(whole->text + at, part, len + 1);
	whole->line.len = at + len;
	return true;
}

static bool begins(const struct reader *reader, char *part)
{
	const struct line line = { .text = part, .len = strlen(part) };

	return reader->begins(&line, reader->shapes);
}

/* Likewise, with its fields. */
static unsigned weigh_all(const struct record *record, enum read_answer answer)
{
	return answer == READ_WELL ? weigh(record, answer) + record->field_count : 0;
}

/*
 * How much the line says by itself. A word is appended to it. Otherwise a number at the end of the
 * line would not be read, and would seem to come from the next line.
 */
static unsigned weigh_alone(struct wrapped *whole, const struct reader *reader)
{
	const size_t len = whole->line.len;
	struct record record;
	unsigned weight;

	if (len + 3 > sizeof(whole->text))
		return UINT_MAX;
	memcpy(whole->text + len, " .", 3);
	weight = weigh_all(&record, reader->read(&whole->line, reader->shape, &record));
	whole->text[len] = '\0';
	return weight;
}

/* Reads a line with those next lines that add something; returns how many they are. */
static unsigned read_on(struct feed *feed, const struct reader *reader, struct record *record,
			enum read_answer *answer, struct wrapped *whole, bool is_glued)
{
	const bool is_broken = feed->width >= TERMINAL_MIN;
	unsigned best = weigh_alone(whole, reader), used = 0;
	size_t used_len = whole->line.len;
	struct record more;

	for (unsigned nth = 1; nth <= PARTS_MAX && weigh(record, *answer) < reader->wanted; nth++) {
		char *part = feed->rest(feed, nth);
		enum read_answer said;

		if (!part || begins(reader, part) || !append(whole, part, is_broken, is_glued))
			break;
		said = *part ? reader->read(&whole->line, reader->shape, &more) : READ_OTHER;
		if (weigh_all(&more, said) <= best)
			continue;
		best = weigh_all(&more, said);
		*record = more;
		*answer = said;
		used = nth;
		used_len = whole->line.len;
	}
	whole->line.len = used_len;
	whole->text[used_len] = '\0';
	return used;
}

enum read_answer wrapped_read(struct feed *feed, const struct line *line,
			      const struct reader *reader, enum read_answer answer,
			      struct record *record, struct wrapped *whole)
{
	unsigned used;

	if (answer == READ_OTHER || answer == READ_FINE ||
	    weigh(record, answer) >= reader->wanted || !start(whole, line)) {
		whole->line = *line;
		return answer;
	}
	used = read_on(feed, reader, record, &answer, whole, false);
	if (!used && feed->width >= TERMINAL_MIN && start(whole, line))
		used = read_on(feed, reader, record, &answer, whole, true);
	feed->taken = used;
	return answer;
}
