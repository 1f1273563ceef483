/* SPDX-License-Identifier: BSD-2-Clause */
#include "keys.h"

#include <ctype.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>

#include "../explain/explain.h"
#include "other_nic.h"
#include "../explain/status.h"
#include "../scan/word.h"
#include "wrapped.h"

/* What may be between a word and what it stands for. */
#define BETWEEN " \t:=([{\"'"

/* Some programs put no blank between a number with 0x and the next word. */
static bool is_behind_number(const char *text, const char *at)
{
	const char *digits = at;

	if (isxdigit((unsigned char)*at))
		return false;
	while (digits > text && isxdigit((unsigned char)digits[-1]))
		digits--;
	return digits < at && digits - text >= 2 && !strncmp(digits - 2, "0x", 2);
}

const char *keys_find(const char *text, const char *word)
{
	const char *at = text;

	for (; (at = strstr(at, word)); at++)
		if (at == text || !is_word(at[-1]) || !is_word(*word) || is_behind_number(text, at))
			return at;
	return NULL;
}

const char *keys_number(const char *text, enum key_value value, uint64_t *number)
{
	const char *begin = text + strspn(text, BETWEEN);
	const bool has_0x = begin[0] == '0' && (begin[1] | 0x20) == 'x';
	const int base = has_0x || value == KEY_HEX ? 16 : 10;
	char *end;

	if (!isxdigit((unsigned char)begin[has_0x ? 2 : 0]))
		return NULL;
	errno = 0;
	*number = strtoull(begin, &end, base);
	if (end == begin || is_word(*end) || errno)
		return NULL;
	return end;
}

static bool has_format(const char *text)
{
	for (const char *c = strchr(text, '%'); c; c = strchr(c + 1, '%'))
		if (c[1] && strchr("diuxXsplz#", c[1]))
			return true;
	return false;
}

/* The character before the last blanks, or 0. */
static char last_character(const char *text)
{
	size_t len = strlen(text);

	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	return len ? text[len - 1] : '\0';
}

bool keys_is_source(const char *text)
{
	static const char *const begins[] = { "case ", "return ", "#define ",
					      "if (",  "{ ",      "if status" };
	const char last = last_character(text);

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (!strncmp(text, begins[i], strlen(begins[i])))
			return true;
	return last == ';' || last == '{' || strstr(text, "= IBV_WC_") || has_format(text);
}

/* The last number of a line may end it; any other one there has lost digits, perhaps. */
static bool is_cut(const struct key *key, const char *end)
{
	return !*end && key[1].value != KEY_NONE;
}

/* But a vendor syndrome that comes with this status has all of them. */
static bool is_vendor_of(const struct record *record, const struct key *key, uint64_t value)
{
	return key->number == offsetof(struct record, vendor_syndrome) &&
	       record_suits_vendor(record, value);
}

/* A status is written as a number, as a name or text, or as both: "remote access error (10)". */
static const char *read_status(const struct key *key, const char *text, struct number *status)
{
	const char *begin = text + strspn(text, BETWEEN "-");
	const char *end;
	uint64_t number;
	size_t len;

	*status = status_at(begin, &len);
	if (status->is_known)
		return begin + len;
	end = keys_number(text, KEY_DECIMAL, &number);
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
	const char *begin = text + strspn(text, BETWEEN);
	size_t len = strcspn(begin, " \t,;)]}\"'");

	if (len && begin[len - 1] == ':')
		len--;
	if (!len)
		return NULL;
	record_add_text(record, key->field, begin, len);
	return begin + len;
}

/* The largest value that a number of a CQE can have; another NIC's vendor error may have more. */
static uint64_t most(const struct record *record, const struct key *key)
{
	if (!key->number)
		return UINT64_MAX;
	if (record->kind == RECORD_COMMAND || record->kind == RECORD_HEALTH ||
	    (record->kind == RECORD_STATUS &&
	     key->number == offsetof(struct record, vendor_syndrome)))
		return UINT32_MAX;
	if (key->number == offsetof(struct record, qpn))
		return 0xffffff;
	return key->number == offsetof(struct record, wqe_index) ? UINT16_MAX : UINT8_MAX;
}

static const char *take_number(struct record *record, const struct key *key, const char *text)
{
	uint64_t value;
	const char *end = keys_number(text, key->value, &value);

	if (!end || value > most(record, key) ||
	    (is_cut(key, end) && !is_vendor_of(record, key, value)))
		return NULL;
	if (key->number)
		*(struct number *)((char *)record + key->number) = KNOWN(value);
	else
		record_add_number(record, key->field, value);
	return end;
}

/* Return: what follows, or NULL where it cannot be read. */
static const char *take(struct record *record, const struct key *key, const char *text,
			const char *line)
{
	switch (key->value) {
	case KEY_STATUS:
		return take_status(record, key, text, line);
	case KEY_WORD:
		return take_word(record, key, text);
	default:
		return take_number(record, key, text);
	}
}

/* Whether it says what such a record is for. */
static bool is_complete(const struct record *record)
{
	if (record->kind == RECORD_STATUS)
		return *record->status;
	return record->kind != RECORD_ERROR_CQE || record->syndrome.is_known;
}

enum keys_answer keys_read(const struct line *line, const struct shape *shape,
			   struct record *record)
{
	const char *at = strstr(line->text, shape->text);

	if (!at)
		return KEYS_OTHER;
	*record = (struct record){ .kind = shape->kind, .line = line->number, .side = shape->side };
	for (const struct key *key = shape->keys; key->value; key++) {
		const char *word = keys_find(at, key->word);
		const char *end =
			word ? take(record, key, word + strlen(key->word), line->text) : NULL;

		if (!end && key == shape->keys)
			return KEYS_CUT;
		if (end)
			at = end;
	}
	if (shape->finish)
		shape->finish(record, line->text);
	if (!is_complete(record))
		return KEYS_CUT;
	return strcmp(record->status, "success") ? KEYS_READ : KEYS_FINE;
}

/* -- what becomes of it ------------------------------------------------------------------------- */

/* The numbers of another NIC mean something else; they stay as fields. */
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

void keys_tell(struct scan *scan, const struct line *line, struct record *record)
{
	const char *nic = other_nic_in(line->text);

	if (nic || record->vendor_syndrome.value > UINT8_MAX)
		disown(record, nic);
	scan_record(scan, record);
}

static enum form_answer tell_cut(struct scan *scan, const struct line *line)
{
	if (other_nic_in(line->text) || keys_is_source(line->text))
		return FORM_PASS;
	scan_unread(scan, line->number, "an error whose status or syndrome cannot be read");
	return FORM_TAKEN;
}

/* How to read a line: a shape, and all that its form has. */
struct how {
	const struct shape *shape, *all;
};

static enum keys_answer read_shape(const struct line *line, const void *how, struct record *record)
{
	return keys_read(line, ((const struct how *)how)->shape, record);
}

static bool has_shape(const struct line *line, const struct shape *shape)
{
	return strstr(line->text, shape->text);
}

static bool begins_any(const struct line *line, const void *how)
{
	for (const struct shape *shape = ((const struct how *)how)->all; shape->text; shape++)
		if (has_shape(line, shape))
			return true;
	return false;
}

/* How much a record has when all keys of its shape were there; a status is a syndrome, too. */
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

static enum keys_answer read_whole(struct scan *scan, const struct line *line,
				   const struct shape *shape, const struct shape *all,
				   struct record *record, struct wrapped *whole)
{
	const struct how how = { shape, all };
	const struct reader reader = { read_shape, begins_any, &how, count_wanted(shape) };

	return wrapped_read(scan, line, &reader, record, whole);
}

enum form_answer keys_begin(struct scan *scan, const struct line *line, const struct shape *shape,
			    struct record *record)
{
	const struct shape all[] = { *shape, LAST_LINE };
	struct wrapped whole;

	switch (read_whole(scan, line, shape, all, record, &whole)) {
	case KEYS_READ:
		return FORM_MORE;
	case KEYS_CUT:
		return tell_cut(scan, line);
	default:
		return FORM_PASS;
	}
}

void keys_close(struct scan *scan, void *state)
{
	scan_record(scan, state);
}

enum form_answer keys_feed(struct scan *scan, const struct line *line, const struct shape *shapes)
{
	bool is_cut = false;

	for (const struct shape *shape = shapes; shape->text; shape++) {
		struct record record;
		struct wrapped whole;
		enum keys_answer answer;

		if (!has_shape(line, shape))
			continue;
		answer = read_whole(scan, line, shape, shapes, &record, &whole);
		if (answer == KEYS_FINE)
			return FORM_PASS;
		if (answer == KEYS_READ) {
			keys_tell(scan, &whole.line, &record);
			return FORM_TAKEN;
		}
		is_cut |= answer == KEYS_CUT;
	}
	return is_cut ? tell_cut(scan, line) : FORM_PASS;
}
