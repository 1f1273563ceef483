/* SPDX-License-Identifier: BSD-2-Clause */
#include "keys.h"

#include <infiniband/verbs.h>
#include <string.h>

#include "../explain/explain.h"

/* A number at the end of a line may have lost digits, unless it is the last one of the shape. */
static bool is_cut(const struct key *key, const char *end)
{
	return !*end && key[1].value != KEY_NONE;
}

/* A vendor syndrome that fits the status is whole, even at the end of a line. */
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

/* The largest value of a number. Vendor errors of other NICs may be larger than those of a CQE. */
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
		*key_number(record, key) = KNOWN(value);
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

/* Whether a record has what its kind needs. */
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

void keys_add(struct record *record, const struct record *other)
{
#define ADD_NUMBER(name)                                                                           \
	if (other->name.is_known)                                                                  \
		record->name = other->name;
	RECORD_NUMBERS(ADD_NUMBER)
	for (unsigned i = 0; i < other->field_count; i++) {
		const struct record_field *field = &other->fields[i];
		const char *text = record_field_text(other, field);

		if (text)
			record_add_text(record, field->name, text, strlen(text));
		else
			record_add_number(record, field->name, field->value);
	}
}
