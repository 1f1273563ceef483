/* SPDX-License-Identifier: BSD-2-Clause */
#include "keys.h"

#include <ctype.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>

#include "../explain/explain.h"
#include "../explain/status.h"
#include "../text/text.h"
#include "other_nic.h"
#include "wrapped.h"

/* A number at the end of a line may have lost digits, unless it is the last one of the shape. */
static bool is_cut(const struct key *key, const char *end)
{
	return !*end && key[1].value != KEY_NONE;
}

/* A vendor syndrome that goes with the status is whole, even at the end of a line. */
static bool is_vendor_of(const struct record *record, const struct key *key, uint64_t value)
{
	return key->number == offsetof(struct record, vendor_syndrome) &&
	       record_suits_vendor(record, value);
}

/* A status may be a number, a name or text, or both: "remote access error (10)". */
static const char *read_status(const struct key *key, const char *text, struct number *status)
{
	const char *begin = text + strspn(text, TEXT_BETWEEN "-");
	const char *end;
	uint64_t number;
	size_t len;

	*status = status_at(begin, &len);
	if (status->is_known)
		return begin + len;
	end = text_number(text, 10, &number);
	if (!end || is_cut(key, end) || number > IBV_WC_TM_RNDV_INCOMPLETE)
		return NULL;
	*status = KNOWN(number);
	return end;
}

static const char *take_status(struct record *record, const struct key *key, const char *text,
			       const char *line)
{
	const char *end = text;
	struct number status;

	if (*key->word)
		end = read_status(key, text, &status);
	else
		status = status_in(line);
	if (!end || !status.is_known)
		return NULL;
	status_set(record, status.value);
	return end;
}

static const char *take_word(struct record *record, const struct key *key, const char *text)
{
	const char *begin = text + strspn(text, TEXT_BETWEEN);
	size_t len;

	if (begin - text > 1 && !strncmp(begin - 2, "::", 2))
		begin -= 2; /* of a GID */
	len = strcspn(begin, " \t,;)]}\"'");
	if (len > 1 && begin[len - 1] == ':' && begin[len - 2] != ':')
		len--;
	if (!len)
		return NULL;
	record_add_text(record, key->field, begin, len);
	return begin + len;
}

/* The largest value of a number. Vendor errors of other NICs may be larger than a CQE's. */
static uint64_t most(const struct record *record, const struct key *key)
{
	if (!key->number)
		return UINT64_MAX;
	if (record->kind == RECORD_COMMAND || record->kind == RECORD_HEALTH ||
	    (record->kind == RECORD_STATUS &&
	     key->number == offsetof(struct record, vendor_syndrome)))
		return UINT32_MAX;
	if (key->number == offsetof(struct record, qpn))
		return BSN_QPN_MAX;
	return key->number == offsetof(struct record, wqe_index) ? UINT16_MAX : UINT8_MAX;
}

static const char *take_number(struct record *record, const struct key *key, const char *text)
{
	uint64_t value;
	const char *end = text_number(text, key->value == KEY_HEX ? 16 : 10, &value);

	if (!end || value > most(record, key) ||
	    (is_cut(key, end) && !is_vendor_of(record, key, value)))
		return NULL;
	if (key->number)
		*(struct number *)((char *)record + key->number) = KNOWN(value);
	else
		record_add_number(record, key->field, value);
	return end;
}

/* Returns what follows the value, or NULL if it cannot be read. */
static const char *take(struct record *record, const struct key *key, const char *text,
			const char *line)
{
	switch (key->value) {
	case KEY_STATUS:
		return take_status(record, key, text, line);
	case KEY_WORD:
		return take_word(record, key, text);
	case KEY_NOTHING:
		return text;
	default:
		return take_number(record, key, text);
	}
}

static void set_status(struct record *record, const char *says)
{
	const struct number status = status_in(says);

	if (status.is_known)
		status_set(record, status.value);
	else
		record_set_status(record, says, strlen(says));
}

/* Whether a record has what its kind is for. */
static bool is_complete(const struct record *record)
{
	if (record->kind == RECORD_STATUS)
		return *record->status;
	return record->kind != RECORD_ERROR_CQE || record->syndrome.is_known;
}

enum read_answer keys_read(const struct line *line, const struct shape *shape,
			   struct record *record)
{
	const char *at = strstr(line->text, shape->text);

	if (!at || (shape->says && text_is_source(line->text)))
		return READ_OTHER;
	*record = (struct record){ .kind = shape->kind, .line = line->number, .side = shape->side };
	for (const struct key *key = shape->keys; key->value; key++) {
		const char *word = text_find(at, key->word);
		const char *end =
			word ? take(record, key, word + strlen(key->word), line->text) : NULL;

		if (!end && key == shape->keys)
			return READ_CUT;
		if (end)
			at = end;
	}
	if (shape->says)
		set_status(record, shape->says);
	if (shape->finish)
		shape->finish(record, line->text);
	if (!is_complete(record))
		return READ_CUT;
	return strcmp(record->status, "success") ? READ_WELL : READ_FINE;
}

/* -- what becomes of it ------------------------------------------------------------------------ */

/* The numbers of another NIC mean something else, so they become plain fields. */
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

static bool has_shape(const struct line *line, const struct shape *shape)
{
	return strstr(line->text, shape->text);
}

static bool begins_any(const struct line *line, const struct shape *shapes)
{
	for (const struct shape *shape = shapes; shape->text; shape++)
		if (has_shape(line, shape))
			return true;
	return false;
}

/* How many numbers a record has if all keys were read; a status also gives a syndrome. */
static unsigned count_wanted(const struct shape *shape)
{
	unsigned short seen[KEYS_MAX];
	unsigned count = 0;
	bool has_status = false;

	for (const struct key *key = shape->keys; key->value; key++) {
		unsigned i = 0;

		has_status |= key->value == KEY_STATUS;
		while (i < count && seen[i] != key->number)
			i++;
		if (key->number && i == count)
			seen[count++] = key->number;
	}
	return count + 2 * has_status;
}

/* Reads a line with the next ones if it leaves something out. */
static enum read_answer read_whole(struct feed *feed, const struct line *line,
				   const struct shape *shape, const struct shape *all,
				   enum read_answer answer, struct record *record,
				   struct wrapped *whole)
{
	const struct reader reader = { keys_read, shape, begins_any, all, count_wanted(shape) };

	return wrapped_read(feed, line, &reader, answer, record, whole);
}

enum form_answer keys_begin(struct feed *feed, const struct line *line, const struct shape *shape,
			    struct record *record)
{
	const struct shape all[] = { *shape, LAST_LINE };
	const enum read_answer answer = keys_read(line, shape, record);
	struct wrapped whole;

	switch (read_whole(feed, line, shape, all, answer, record, &whole)) {
	case READ_WELL:
		return FORM_MORE;
	case READ_CUT:
		return tell_cut(feed, line);
	default:
		return FORM_PASS;
	}
}

void keys_add(struct record *record, const struct record *other)
{
#define ADD_NUMBER(name)                                                                           \
	if (other->name.is_known)                                                                  \
		record->name = other->name;
	RECORD_NUMBERS(ADD_NUMBER)
#undef ADD_NUMBER
	for (unsigned i = 0; i < other->field_count; i++) {
		const char *text = record_field_text(other, i);

		if (text)
			record_add_text(record, other->fields[i].name, text, strlen(text));
		else
			record_add_number(record, other->fields[i].name, other->fields[i].value);
	}
}

enum form_answer pair_feed(struct feed *feed, const struct line *line, void *state)
{
	const struct pair *pair = feed->form->lines;
	struct record *first = state, record;

	switch (keys_read(line, pair->second, &record)) {
	case READ_WELL:
		record.side = first->side;
		keys_add(&record, first);
		keys_tell(feed, line, &record);
		return FORM_TAKEN;
	case READ_CUT:
		return tell_cut(feed, line);
	default:
		break;
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

/*
 * Returns the shape that a line has by itself, whether it tells of an error or a success, or NULL.
 */
static const struct shape *find_shape(const struct line *line, const struct shape *shapes,
				      struct record *record, enum read_answer *answer)
{
	for (const struct shape *shape = shapes; shape->text; shape++) {
		*answer = keys_read(line, shape, record);
		if (*answer == READ_WELL || *answer == READ_FINE)
			return shape;
	}
	return NULL;
}

/*
 * Finds a second message in a line, as programs that share a terminal write it; NULL: there is
 * none. The second message must read by itself, since the text of a shape may come twice in one
 * message.
 */
static char *find_second(const struct line *line, const struct shape *shape,
			 const struct shape *shapes)
{
	char *first = strstr(line->text, shape->text);
	char *second = first ? strstr(first + strlen(shape->text), shape->text) : NULL;
	const struct line rest = { .text = second };
	struct record record;
	enum read_answer answer;

	return second && find_shape(&rest, shapes, &record, &answer) ? second : NULL;
}

/* Tells of the message before the second one. */
static void feed_first(struct feed *feed, const struct line *line, const struct shape *shapes,
		       char *second)
{
	const struct line first = { .text = line->text,
				    .len = (size_t)(second - line->text),
				    .number = line->number };
	const char begin = *second;
	struct record record;
	enum read_answer answer;

	*second = '\0';
	if (find_shape(&first, shapes, &record, &answer) && answer == READ_WELL)
		keys_tell(feed, &first, &record);
	*second = begin;
}

static enum form_answer feed_two(struct feed *feed, const struct line *line,
				 const struct shape *shapes, char *second)
{
	struct line rest = *line;

	feed_first(feed, line, shapes, second);
	rest.text = second;
	rest.len = line->len - (size_t)(second - line->text);
	return keys_feed(feed, &rest, shapes);
}

/* If no shape reads the line by itself, tries it together with the next lines. */
static enum form_answer feed_cut(struct feed *feed, const struct line *line,
				 const struct shape *shapes)
{
	bool is_cut = false;

	for (const struct shape *shape = shapes; shape->text; shape++) {
		enum read_answer answer = READ_CUT;
		struct record record;
		struct wrapped whole;

		if (!has_shape(line, shape))
			continue;
		answer = read_whole(feed, line, shape, shapes, answer, &record, &whole);
		if (answer == READ_WELL) {
			keys_tell(feed, &whole.line, &record);
			return FORM_TAKEN;
		}
		is_cut |= answer == READ_CUT;
	}
	return is_cut ? tell_cut(feed, line) : FORM_PASS;
}

enum form_answer keys_feed(struct feed *feed, const struct line *line, const struct shape *shapes)
{
	struct record record;
	enum read_answer answer;
	const struct shape *shape = find_shape(line, shapes, &record, &answer);
	struct wrapped whole;
	char *second;

	if (!shape)
		return feed_cut(feed, line, shapes);
	if (answer == READ_FINE)
		return FORM_PASS;
	second = find_second(line, shape, shapes);
	if (second)
		return feed_two(feed, line, shapes, second);
	read_whole(feed, line, shape, shapes, answer, &record, &whole);
	keys_tell(feed, &whole.line, &record);
	return FORM_TAKEN;
}

enum form_answer form_feed(struct feed *feed, const struct line *line, void *state)
{
	(void)state;
	return keys_feed(feed, line, feed->form->lines);
}
