/* SPDX-License-Identifier: BSD-2-Clause */
#include "fuzz_sink.h"

#include <string.h>

#include "fuzz.h"
#include "wqe-dump/print/print.h"

unsigned long fuzz_lines;
bool fuzz_prints;

/* Writes what the printers write, and throws it away. */
static void print_record(const struct record *record)
{
	static bool is_quiet;

	if (!is_quiet)
		MUST(freopen("/dev/null", "w", stdout));
	is_quiet = true;
	print_json.record(record);
	print_text.record(record);
}

static void check_row(const struct record_row *row, void *arg)
{
	const struct record *record = arg;

	MUST(row->name && *row->name);
	MUST(!row->text || strlen(row->text) < RECORD_TEXT_BYTES);
	if (row->segment || row->bytes)
		MUST(row->offset + row->size_bytes <= record->size_bytes);
	MUST(!row->bytes || row->bytes == record->bytes + row->offset);
}

static void check_record(const struct record *record)
{
	MUST(record->line <= fuzz_lines);
	MUST(record->file && record->source && *record->source);
	MUST(record_kind_names[record->kind]);
	MUST(!record->qpn.is_known || record->kind == RECORD_NOT_MLX5 || !record->bytes ||
	     record->qpn.value <= 0xffffff);
	MUST((record->cqe || record->wqe || record->recv) == (record->bytes != NULL));
	MUST(strlen(record->status) < sizeof(record->status));
	MUST(record->field_count <= RECORD_MAX_FIELDS);
	record_walk(record, check_row, (void *)(uintptr_t)record);
	MUST(strlen(summary_write(record)) < SUMMARY_BYTES);
	summary_place(record);
	if (fuzz_prints)
		print_record(record);
}

static void check_unread(const char *file, unsigned long line, const char *why)
{
	MUST(file && why && *why);
	MUST(line <= fuzz_lines);
}

static void ignore(void)
{
}

struct sink fuzz_sink = { ignore, check_record, check_unread, ignore };
