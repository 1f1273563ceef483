/* SPDX-License-Identifier: BSD-2-Clause */
#include "wrapped.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

#define PARTS_MAX    6  /* lines behind the first one that are tried */
#define TERMINAL_MIN 80 /* columns: what breaks a line within a word is as wide, or wider */

/* How much a record says of what must not be missing. */
static unsigned weigh(const struct record *record, enum keys_answer answer)
{
	unsigned count;

	if (answer != KEYS_READ)
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
 * Adds a part; to the word before it, or to the number, where a terminal may have broken that. Two
 * numbers that meet elsewhere are nobody knows what.
 */
static bool append(struct wrapped *whole, const char *part, bool is_broken, bool is_glued)
{
	const size_t len = strlen(part);
	size_t at = whole->line.len;
	const bool is_number =
		at && isdigit((unsigned char)whole->text[at - 1]) && isdigit((unsigned char)*part);

	while (at && isblank((unsigned char)whole->text[at - 1]))
		at--;
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

	return reader->begins(&line, reader->how);
}

/* Of all. */
static unsigned weigh_all(const struct record *record, enum keys_answer answer)
{
	return answer == KEYS_READ ? weigh(record, answer) + record->field_count : 0;
}

/*
 * What the line itself says: with something behind it, for a number at its end is not read, and to
 * make it one that is read is not to add something.
 */
static unsigned weigh_alone(struct wrapped *whole, const struct reader *reader)
{
	const size_t len = whole->line.len;
	struct record record;
	unsigned weight;

	if (len + 3 > sizeof(whole->text))
		return UINT_MAX;
	memcpy(whole->text + len, " .", 3);
	weight = weigh_all(&record, reader->read(&whole->line, reader->how, &record));
	whole->text[len] = '\0';
	return weight;
}

/* Reads it with the lines behind it that add something; returns how many these are. */
static unsigned read_on(struct scan *scan, const struct reader *reader, struct record *record,
			enum keys_answer *answer, struct wrapped *whole, bool is_glued)
{
	const bool is_broken = scan_width(scan) >= TERMINAL_MIN;
	unsigned best = weigh_alone(whole, reader), used = 0;
	size_t used_len = whole->line.len;
	struct record more;

	for (unsigned nth = 1; nth <= PARTS_MAX && weigh(record, *answer) < reader->wanted; nth++) {
		char *part = scan_rest(scan, nth);
		enum keys_answer said;

		if (!part || begins(reader, part) || !append(whole, part, is_broken, is_glued))
			break;
		said = *part ? reader->read(&whole->line, reader->how, &more) : KEYS_OTHER;
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

enum keys_answer wrapped_read(struct scan *scan, const struct line *line,
			      const struct reader *reader, struct record *record,
			      struct wrapped *whole)
{
	enum keys_answer answer = reader->read(line, reader->how, record);
	unsigned used;

	if (answer == KEYS_OTHER || answer == KEYS_FINE ||
	    weigh(record, answer) >= reader->wanted || !start(whole, line)) {
		whole->line = *line;
		return answer;
	}
	used = read_on(scan, reader, record, &answer, whole, false);
	if (!used && scan_width(scan) >= TERMINAL_MIN && start(whole, line))
		used = read_on(scan, reader, record, &answer, whole, true);
	scan_take(scan, used);
	return answer;
}
