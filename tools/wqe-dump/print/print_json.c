/* SPDX-License-Identifier: BSD-2-Clause */
#include "print.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#define STYLE (JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE)

#define UNREAD_MAX 10000 /* kept until the end, since they come after the records */

/* One record a line: a log may have millions, and none is kept. */
static struct {
	unsigned long records;
	struct json_object *unread;
} json;

/* Adds a key that stays valid, and that the object does not have yet. */
static void add(struct json_object *object, const char *key, struct json_object *value)
{
	json_object_object_add_ex(object, key, value,
				  JSON_C_OBJECT_ADD_CONSTANT_KEY | JSON_C_OBJECT_ADD_KEY_IS_NEW);
}

static void add_text(struct json_object *object, const char *key, const char *text)
{
	if (text && *text)
		add(object, key, json_object_new_string(text));
}

static void add_number(struct json_object *object, const char *key, const struct number *number)
{
	if (number->is_known)
		add(object, key, json_object_new_int64(number->value));
}

static struct json_object *new_value(const struct record_row *row)
{
	if (row->text)
		return json_object_new_string(row->text);
	if (row->bytes)
		return json_object_new_string(record_hex(row->bytes, row->size_bytes));
	return json_object_new_uint64(row->value);
}

#define KEY_BYTES 96

/* "rkey" of a log or CQE, "raddr.rkey" of a WQE, "data[1].addr" of its second, "inline[1]". */
static const char *key_of(const struct record_row *row, char *text)
{
	const bool is_alone = !row->segment || !strncmp(row->segment->name, "cqe_", 4);

	if (is_alone && !row->nth)
		return row->name;
	if (is_alone)
		snprintf(text, KEY_BYTES, "%s[%u]", row->name, row->nth);
	else if (row->nth)
		snprintf(text, KEY_BYTES, "%s[%u].%s", row->segment->name, row->nth, row->name);
	else
		snprintf(text, KEY_BYTES, "%s.%s", row->segment->name, row->name);
	return text;
}

static void add_field(const struct record_row *row, void *arg)
{
	struct json_object *fields = arg;
	char text[KEY_BYTES], name_key[KEY_BYTES + sizeof("_name")];
	const char *key = key_of(row, text);

	json_object_object_add(fields, key, new_value(row));
	if (!row->symbol)
		return;
	snprintf(name_key, sizeof(name_key), "%s_name", key);
	json_object_object_add(fields, name_key, json_object_new_string(row->symbol->name));
}

static struct json_object *new_partner(const struct record *record)
{
	struct json_object *object = json_object_new_object();

	add_text(object, "file", record->partner_file);
	add(object, "line", json_object_new_int64((int64_t)record->partner_line));
	add_number(object, "wqe_index", &record->partner_index);
	return object;
}

static struct json_object *new_findings(const struct bsn_wqe *wqe)
{
	struct json_object *list = json_object_new_array();
	const char *text;

	for (unsigned i = 0; (text = summary_finding(wqe, i)); i++)
		json_object_array_add(list, json_object_new_string(text));
	return list;
}

struct json_object *record_json(const struct record *record)
{
	struct json_object *object = json_object_new_object();
	struct json_object *fields = json_object_new_object();
	const struct explanation *e = record->explanation;

	add_text(object, "file", record->file);
	add(object, "line", json_object_new_int64((int64_t)record->line));
	add_text(object, "source", record->source);
	add_text(object, "kind", record_kind_names[record->kind]);
	add_text(object, "side", record_side_names[record->side]);
#define ADD_NUMBER(name) add_number(object, #name, &record->name);
	RECORD_NUMBERS(ADD_NUMBER)
	add_text(object, "opcode_name", record_opcode_name(record));
	if (record->partner_file)
		add(object, record->wqe ? "error" : "wqe", new_partner(record));
	if (record->wqe)
		add_text(object, "transport", record_transport_names[record->transport]);
	if (record->transport_is_guess)
		add(object, "transport_guessed", json_object_new_boolean(true));
	add_text(object, "status", record->status);
	if (record->ring) {
		add_text(object, "ring", record->ring->name);
		add(object, "slot", json_object_new_int64(record->slot));
	}
	record_walk(record, add_field, fields);
	add(object, "fields", fields);
	if (record->wqe)
		add(object, "findings", new_findings(record->wqe));
	add_text(object, "cause", e->cause);
	if (e->cause)
		add_text(object, "confidence", record->is_guess ? "low" : e->confidence);
	if (record->bytes)
		add_text(object, "raw", record_hex(record->bytes, record->size_bytes));
	return object;
}

/* -- an explanation ---------------------------------------------------------------------------- */

static struct json_object *new_meanings(const struct explanation *e)
{
	struct json_object *list = json_object_new_array();

	for (unsigned i = 0; i < e->meaning_count; i++) {
		const struct meaning *meaning = &e->meanings[i];
		struct json_object *object = json_object_new_object();
		add_text(object, "of", space_names[meaning->space]);
		add(object, "value", json_object_new_int64(meaning->value));
		add_text(object, "name", meaning->name);
		add_text(object, "text", meaning->doc);
		add_text(object, "detail", meaning->detail);
		json_object_array_add(list, object);
	}
	return list;
}

static struct json_object *new_causes(const struct explanation *e)
{
	struct json_object *list = json_object_new_array();
	struct cause cause;

	for (unsigned i = 0; explanation_cause(e, i, &cause); i++) {
		struct json_object *object = json_object_new_object();
		add_text(object, "cause", cause.what);
		add_text(object, "tell", cause.tell);
		json_object_array_add(list, object);
	}
	return list;
}

struct json_object *explanation_json(const struct explanation *e)
{
	struct json_object *object = json_object_new_object();
	struct json_object *notes = json_object_new_array();

	add_text(object, "detected_by", party_names[e->detected_by]);
	add_text(object, "step", e->step);
	add_text(object, "meaning", e->meaning);
	add(object, "numbers", new_meanings(e));
	add(object, "causes", new_causes(e));
	add_text(object, "try", e->attempt);
	add_text(object, "meaning_source", e->meaning_source);
	add_text(object, "measured", e->measured);
	add_text(object, "cause_basis", e->cause_basis);
	add_text(object, "cause_source", e->cause_source);
	for (unsigned i = 0; i < e->note_count; i++)
		json_object_array_add(notes, json_object_new_string(e->notes[i]));
	add(object, "notes", notes);
	return object;
}

/* -- the sink ---------------------------------------------------------------------------------- */

static void begin(void)
{
	json.records = 0;
	json.unread = json_object_new_array();
	fputs("{\"records\": [", stdout);
}

static void print_record(const struct record *record)
{
	struct json_object *object = record_json(record);

	fputs(json.records++ ? ",\n  " : "\n  ", stdout);
	fputs(json_object_to_json_string_ext(object, STYLE), stdout);
	json_object_put(object);
}

static void note_unread(const char *file, unsigned long line, const char *why)
{
	struct json_object *object;

	if (json_object_array_length(json.unread) == UNREAD_MAX)
		return;
	object = json_object_new_object();
	add_text(object, "file", file);
	add(object, "line", json_object_new_int64((int64_t)line));
	add_text(object, "why", why);
	json_object_array_add(json.unread, object);
}

static void end(void)
{
	printf("%s], \"unread\": %s}\n", json.records ? "\n" : "",
	       json_object_to_json_string_ext(json.unread, STYLE));
	json_object_put(json.unread);
}

struct sink print_json = { begin, print_record, note_unread, end };
