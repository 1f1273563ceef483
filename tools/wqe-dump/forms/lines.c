/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a line that fits a shape. */
#include <ctype.h>
#include <infiniband/verbs.h>
#include <limits.h>
#include <string.h>

#include "../explain/explain.h"
#include "keys.h"

/* -- records ----------------------------------------------------------------------------------- */

/* The numbers of another NIC have other meanings, so they become plain fields. */
static void disown(struct record *record, const char *nic)
{
	if (record->vendor_syndrome.is_known)
		record_add_number(record, "vendor_err", record->vendor_syndrome.value);
	if (nic)
		record_add_text(record, "nic", nic, strlen(nic));
	record->kind = RECORD_NOT_MLX5;
	record->syndrome = record->vendor_syndrome = record->hw_syndrome = record->opcode =
		(struct number){ 0 };
}

void keys_tell(struct feed *feed, const struct line *line, struct record *record)
{
	const char *nic = other_nic_in(line->text);

	if (nic || record->vendor_syndrome.value > UINT8_MAX)
		disown(record, nic);
	tell_record(feed->tell, record);
}

static enum form_answer tell_cut(struct feed *feed, const struct line *line)
{
	if (other_nic_in(line->text) || text_is_source(line->text))
		return FORM_PASS;
	tell_unread(feed->tell, line->number, "an error whose status or syndrome cannot be read");
	return FORM_TAKEN;
}

/*
 * -- lines that a mailer, a terminal or a person broke: only the shape of a line tells whether it
 * is whole. So the line is read by itself first; if numbers are missing, with the next ones, too
 */

#define PARTS_MAX    6    /* following lines that are tried */
#define TERMINAL_MIN 80   /* columns: only terminals of at least this width break words */
#define JOINED_BYTES 2048 /* of all parts; a longer line was not broken because of its length */

/* A line, joined with its parts in other lines, as one of these shapes. */
struct reading {
	const struct shape *all, *shape;
	enum read_answer answer;
	struct record record;
	struct line line; /* its text is the form's, or `text` */
	char text[JOINED_BYTES];
};

/* Whether a sentence or a bracket continues after the line. */
static bool is_unfinished(const char *text)
{
	size_t len = strlen(text);
	int open = 0;

	for (const char *c = text; *c; c++)
		open += (*c == '(') - (*c == ')');
	while (len && strchr(" \t\"'`", text[len - 1]))
		len--;
	return open > 0 || (len && strchr(",\\", text[len - 1]));
}

/* A line that may be of any program must name a status. */
static bool has_shape(const struct line *line, const struct shape *shape)
{
	return *shape->text ? strstr(line->text, shape->text) != NULL
			    : status_in(line->text).is_known;
}

static bool begins_any(const struct line *line, const struct shape *shapes)
{
	for (const struct shape *shape = shapes; shape->text; shape++)
		if (has_shape(line, shape))
			return true;
	return false;
}

/* How many of the numbers a record has; a status counts as one. */
static unsigned weigh(const struct record *record, enum read_answer answer)
{
	unsigned count;

	if (answer != READ_WELL)
		return 0;
	count = *record->status != '\0';
#define COUNT_NUMBER(name) count += record->name.is_known;
	RECORD_NUMBERS(COUNT_NUMBER)
	return count;
}

/* How many numbers a whole line has; one of any program has more, if it seems to go on. */
static unsigned count_wanted(const struct shape *shape, const struct line *line)
{
	struct record full = { 0 };

	if (!*shape->text)
		return is_unfinished(line->text) ? 3 : 0;
	for (const struct key *key = shape->keys; key->value; key++) {
		if (key->number)
			*key_number(&full, key) = KNOWN(0);
		if (key->value == KEY_STATUS)
			status_set(&full, IBV_WC_REM_ACCESS_ERR);
	}
	return weigh(&full, READ_WELL);
}

/* The weight of a record with its fields. */
static unsigned weigh_all(const struct record *record, enum read_answer answer)
{
	return answer == READ_WELL ? weigh(record, answer) + record->field_count : 0;
}

static bool start(struct reading *r, const struct line *line)
{
	r->line = *line;
	if (line->len >= sizeof(r->text))
		return false;
	memcpy(r->text, line->text, line->len);
	r->line.text = r->text;
	return true;
}

/* Adds a part. Numbers that meet are halves of one if a terminal broke it, else unreadable. */
static bool append(struct reading *r, const char *part, bool is_broken, bool is_glued)
{
	const size_t len = strlen(part);
	size_t at = r->line.len;
	const bool is_number =
		at && isdigit((unsigned char)r->text[at - 1]) && isdigit((unsigned char)*part);

	while (at && (isblank((unsigned char)r->text[at - 1]) || r->text[at - 1] == '\\'))
		at--; /* a shell and some mailers end such lines in a backslash */
	if (at + 1 + len >= sizeof(r->text) || (is_number && !is_broken))
		return false;
	if (at < r->line.len || !is_broken || !(is_glued || is_number))
		r->text[at++] = ' ';
	memcpy(r->text + at, part, len + 1);
	r->line.len = at + len;
	return true;
}

/* How much the line says by itself: with a word behind it, a number at its end counts. */
static unsigned weigh_alone(struct reading *r)
{
	const size_t len = r->line.len;
	struct record record;
	unsigned weight;

	if (len + 3 > sizeof(r->text))
		return UINT_MAX;
	memcpy(r->text + len, " .", 3);
	weight = weigh_all(&record, keys_read(&r->line, r->shape, &record));
	r->text[len] = '\0';
	return weight;
}

/* Reads a line together with following lines that add something. Returns their number. */
static unsigned read_on(struct feed *feed, struct reading *r, unsigned wanted, bool is_glued)
{
	const bool is_broken = feed->width >= TERMINAL_MIN;
	unsigned best = weigh_alone(r), used = 0;
	size_t used_len = r->line.len;
	struct record more;

	for (unsigned nth = 1; nth <= PARTS_MAX && weigh(&r->record, r->answer) < wanted; nth++) {
		char *part = feed->rest(feed, nth);
		enum read_answer said;

		if (!part || begins_any(&(struct line){ .text = part }, r->all) ||
		    !append(r, part, is_broken, is_glued))
			break;
		said = *part ? keys_read(&r->line, r->shape, &more) : READ_OTHER;
		if (weigh_all(&more, said) <= best)
			continue;
		best = weigh_all(&more, said);
		r->record = more;
		r->answer = said;
		used = nth;
		used_len = r->line.len;
	}
	r->line.len = used_len;
	r->text[used_len] = '\0';
	return used;
}

/* If something is missing in a line, reads it with those that seem to continue it. */
static void read_whole(struct feed *feed, const struct line *line, struct reading *r)
{
	const unsigned wanted = count_wanted(r->shape, line);

	r->line = *line;
	if (r->answer == READ_OTHER || r->answer == READ_FINE ||
	    weigh(&r->record, r->answer) >= wanted || !start(r, line))
		return;
	feed->taken = read_on(feed, r, wanted, false);
	if (!feed->taken && feed->width >= TERMINAL_MIN && start(r, line))
		feed->taken = read_on(feed, r, wanted, true);
}

/* -- forms of one line ------------------------------------------------------------------------- */

/* Finds the shape that a line fits by itself, whether it reports an error or a success. */
static bool read_any(const struct line *line, struct reading *r)
{
	for (r->shape = r->all; r->shape->text; r->shape++) {
		r->answer = keys_read(line, r->shape, &r->record);
		if (r->answer == READ_WELL || r->answer == READ_FINE)
			return true;
	}
	return false;
}

/*
 * Finds a second message in a line, as programs that share a terminal write it; NULL: there is
 * none. The second message must be complete by itself, since the text of a shape may come twice in
 * one message.
 */
static char *find_second(const struct line *line, const struct reading *r)
{
	char *first = *r->shape->text ? strstr(line->text, r->shape->text) : NULL;
	char *second = first ? strstr(first + strlen(r->shape->text), r->shape->text) : NULL;
	struct reading other;

	other.all = r->all;
	return second && read_any(&(struct line){ .text = second }, &other) ? second : NULL;
}

/* Reports the message before the second one, and feeds the second. */
static enum form_answer feed_two(struct feed *feed, const struct line *line, struct reading *r,
				 char *second)
{
	struct line first = *line, rest = *line;
	const char begin = *second;

	first.len = (size_t)(second - line->text);
	*second = '\0';
	if (read_any(&first, r) && r->answer == READ_WELL)
		keys_tell(feed, &first, &r->record);
	*second = begin;
	rest.text = second;
	rest.len -= first.len;
	return keys_feed(feed, &rest, r->all);
}

/* If no shape fits the line by itself, tries it together with following lines. */
static enum form_answer feed_cut(struct feed *feed, const struct line *line, struct reading *r)
{
	bool is_cut = false;

	for (r->shape = r->all; r->shape->text; r->shape++) {
		if (!has_shape(line, r->shape))
			continue;
		r->answer = READ_CUT;
		read_whole(feed, line, r);
		if (r->answer == READ_WELL) {
			keys_tell(feed, &r->line, &r->record);
			return FORM_TAKEN;
		}
		is_cut = true;
	}
	return is_cut ? tell_cut(feed, line) : FORM_PASS;
}

enum form_answer keys_feed(struct feed *feed, const struct line *line, const struct shape *shapes)
{
	struct reading r;
	char *second;

	r.all = shapes;
	if (!read_any(line, &r))
		return feed_cut(feed, line, &r);
	if (r.answer == READ_FINE)
		return FORM_PASS;
	second = find_second(line, &r);
	if (second)
		return feed_two(feed, line, &r, second);
	read_whole(feed, line, &r);
	keys_tell(feed, &r.line, &r.record);
	return FORM_TAKEN;
}

enum form_answer form_feed(struct feed *feed, const struct line *line, void *state)
{
	const struct shape *shapes = feed->form->lines;

	(void)state;
	if (!*shapes->text && text_is_source(line->text))
		return FORM_PASS;
	return keys_feed(feed, line, shapes);
}

/* -- forms of several lines -------------------------------------------------------------------- */

enum form_answer keys_begin(struct feed *feed, const struct line *line, const struct shape *shape,
			    struct record *record)
{
	const struct shape all[] = { *shape, LAST_LINE };
	struct reading r;

	r.all = r.shape = all;
	r.answer = keys_read(line, shape, &r.record);
	read_whole(feed, line, &r);
	if (r.answer == READ_CUT)
		return tell_cut(feed, line);
	if (r.answer == READ_WELL)
		*record = r.record;
	return r.answer == READ_WELL ? FORM_MORE : FORM_PASS;
}

enum form_answer pair_feed(struct feed *feed, const struct line *line, void *state)
{
	const struct pair *pair = feed->form->lines;
	struct record *first = state, record;
	const enum read_answer answer = keys_read(line, pair->second, &record);

	if (answer == READ_CUT)
		return tell_cut(feed, line);
	if (answer == READ_WELL) {
		record.side = first->side;
		keys_add(&record, first);
		keys_tell(feed, line, &record);
		return FORM_TAKEN;
	}
	for (const struct shape *shape = pair->first; shape->text && !first->line; shape++)
		if (keys_read(line, shape, first) == READ_WELL)
			return FORM_MORE;
	return FORM_PASS;
}

void pair_close(struct feed *feed, void *state)
{
	const struct pair *pair = feed->form->lines;

	tell_unread(feed->tell, ((struct record *)state)->line, "%s", pair->lacks);
}

void keys_close(struct feed *feed, void *state)
{
	tell_record(feed->tell, state);
}
