/* SPDX-License-Identifier: BSD-2-Clause */
#include "print.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "json_write.h"
#include "summary.h"

#define STYLE (JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE)

#define UNREAD_MAX 10000 /* are kept, for they come last */

/* One record a line; none is kept. */
static struct {
	unsigned long records;
	struct json_object *unread;
} json;

static void put_text(const char *key, const char *text)
{
	if (text && *text)
		json_string(key, text);
}

static void put_number(const char *key, const struct number *number)
{
	if (number->is_known)
		json_number(key, number->value);
}

/* -- a record ----------------------------------------------------------------------------------- */

#define KEY_BYTES 96

/* "rkey" of a log or CQE, "raddr.rkey" of a WQE, "data[1].addr" of its second, "inline[1]". */
static const char *key_of(const struct record_row *row, char *text)
{
	const bool is_alone = !row->segment || !strncmp(row->segment, "cqe_", 4);

	if (is_alone && !row->nth)
		return row->name;
	if (is_alone)
		snprintf(text, KEY_BYTES, "%s[%u]", row->name, row->nth);
	else if (row->nth)
		snprintf(text, KEY_BYTES, "%s[%u].%s", row->segment, row->nth, row->name);
	else
		snprintf(text, KEY_BYTES, "%s.%s", row->segment, row->name);
	return text;
}

static void put_field(const struct record_row *row, void *arg)
{
	char text[KEY_BYTES], name_key[KEY_BYTES + sizeof("_name")];
	const char *key = key_of(row, text);

	(void)arg;
	if (row->text)
		json_string(key, row->text);
	else if (row->bytes)
		json_hex(key, row->bytes, row->size_bytes);
	else
		json_number(key, row->value);
	if (!row->symbol)
		return;
	snprintf(name_key, sizeof(name_key), "%s_name", key);
	json_string(name_key, row->symbol->name);
}

static void put_partner(const struct record *record)
{
	if (!record->partner_file)
		return;
	json_open_object(record->wqe ? "error" : "wqe");
	put_text("file", record->partner_file);
	json_number("line", record->partner_line);
	put_number("wqe_index", &record->partner_index);
	json_close_object();
}

static void put_findings(const struct bsn_wqe *wqe)
{
	char text[SUMMARY_BYTES];

	json_open_list("findings");
	for (unsigned i = 0; summary_finding(wqe, i, text); i++)
		json_string(NULL, text);
	json_close_list();
}

static void put_head(const struct record *record)
{
	put_text("file", record->file);
	json_number("line", record->line);
	put_text("source", record->source);
	put_text("kind", record_kind_name(record->kind));
	put_text("side", record_side_name(record->side));
#define PUT_NUMBER(name) put_number(#name, &record->name);
	RECORD_NUMBERS(PUT_NUMBER)
#undef PUT_NUMBER
	put_text("opcode_name", record_opcode_name(record));
	put_partner(record);
	if (record->wqe)
		put_text("transport", record_transport_name(record->transport));
	put_text("status", record->status);
	if (record->ring) {
		put_text("ring", record->ring->name);
		json_number("slot", record->slot);
	}
}

void print_record_json(const struct record *record, struct json_object *explanation)
{
	json_begin();
	put_head(record);
	json_open_object("fields");
	record_walk(record, put_field, NULL);
	json_close_object();
	if (record->wqe)
		put_findings(record->wqe);
	put_text("cause", record->cause);
	put_text("confidence", record->confidence);
	if (record->bytes)
		json_hex("raw", record->bytes, record->size_bytes);
	if (explanation)
		json_raw("explanation", json_object_to_json_string_ext(explanation, STYLE));
	json_close_object();
}

/* -- the sink ----------------------------------------------------------------------------------- */

static void begin(struct sink *sink)
{
	(void)sink;
	json.records = 0;
	json.unread = json_object_new_array();
	fputs("{\"records\": [", stdout);
}

static void print_record(struct sink *sink, const struct record *record)
{
	(void)sink;
	fputs(json.records++ ? ",\n  " : "\n  ", stdout);
	print_record_json(record, NULL);
}

static void note_unread(struct sink *sink, const char *file, unsigned long line, const char *why)
{
	struct json_object *object;

	(void)sink;
	if (json_object_array_length(json.unread) == UNREAD_MAX)
		return;
	object = json_object_new_object();
	json_object_object_add(object, "file", json_object_new_string(file));
	json_object_object_add(object, "line", json_object_new_int64((int64_t)line));
	json_object_object_add(object, "why", json_object_new_string(why));
	json_object_array_add(json.unread, object);
}

static void end(struct sink *sink)
{
	(void)sink;
	printf("%s], \"unread\": %s}\n", json.records ? "\n" : "",
	       json_object_to_json_string_ext(json.unread, STYLE));
	json_object_put(json.unread);
}

struct sink print_json = { begin, print_record, note_unread, end };
