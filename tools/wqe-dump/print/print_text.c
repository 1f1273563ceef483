/* SPDX-License-Identifier: BSD-2-Clause */
/* Output for people: every field, or a line for each record. */
#include "print.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../command.h"

#define COLUMN      20 /* of names, and of values that have one */
#define RAW_COLUMNS 24 /* of the bytes beside a field: 8 of them */
#define ROW_BYTES   16 /* of a row of bytes without fields */

bool print_raw;

/* Escape sequences (ECMA-48, SGR); empty if the output is no terminal. */
enum colour { PLAIN, BOLD, RED, YELLOW, CYAN };

static const char *colour(enum colour colour)
{
	static const char *const codes[] = { "\033[0m", "\033[1m", "\033[1;31m", "\033[33m",
					     "\033[36m" };
	static int wanted = -1;

	if (wanted < 0)
		wanted = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
	return wanted ? codes[colour] : "";
}

static enum colour colour_of(const struct record *record)
{
	if (record->kind == RECORD_CQE || record->kind == RECORD_WQE)
		return BOLD;
	return record->kind == RECORD_NOT_MLX5 ? YELLOW : RED;
}

static void put(const char *text)
{
	fputs(text, stdout);
}

static void put_coloured(enum colour wanted, const char *text)
{
	put(colour(wanted));
	put(text);
	put(colour(PLAIN));
}

/* Prints a text padded to a column; printf() is slow at that. */
static void put_column(const char *text)
{
	static const char blanks[COLUMN + 2] = "                     ";
	const size_t len = strlen(text);

	put(text);
	put(blanks + (len < COLUMN ? len : COLUMN));
}

/* -- fields ------------------------------------------------------------------------------------ */

static void print_place(const struct record *record, const struct record_row *row)
{
	char text[RAW_COLUMNS + 1] = "";

	if (!print_raw)
		return;
	for (unsigned i = 0; record->bytes && row->row && i < row->size_bytes && i < 8; i++)
		snprintf(text + 3 * i, 4, "%02x ", record->bytes[row->offset + i]);
	if (row->row)
		printf("%04x  %-*s ", row->offset, RAW_COLUMNS, text);
	else
		printf("%*s", RAW_COLUMNS + 7, "");
}

static void print_bytes(const struct record_row *row)
{
	for (unsigned i = 0; i < row->size_bytes; i++)
		printf("%s%02x",
		       i % ROW_BYTES ? " "
		       : i           ? "\n                         "
				     : "",
		       row->bytes[i]);
}

/* Prints a value in hexadecimal, and in decimal if that differs. */
static void print_value(const struct record_row *row)
{
	char text[48];

	if (row->value < 10)
		snprintf(text, sizeof(text), "%" PRIu64, row->value);
	else if (row->value > UINT32_MAX)
		snprintf(text, sizeof(text), "0x%" PRIx64, row->value);
	else
		snprintf(text, sizeof(text), "0x%" PRIx64 " (%" PRIu64 ")", row->value, row->value);
	if (!row->symbol) {
		put(text);
		return;
	}
	put_column(text);
	put_coloured(CYAN, row->symbol->name);
	put(": ");
	put(row->symbol->doc);
}

static void print_row(const struct record_row *row, void *record)
{
	if (row->is_first) {
		put("  ");
		put_coloured(BOLD, row->segment->name);
		putchar('\n');
	}
	put("    ");
	print_place(record, row);
	put_column(row->name);
	if (row->text)
		put(row->text);
	else if (row->bytes)
		print_bytes(row);
	else
		print_value(row);
	putchar('\n');
}

static void print_findings(const struct bsn_wqe *wqe)
{
	const char *text;

	for (unsigned i = 0; (text = summary_finding(wqe, i)); i++)
		printf("  %swrong%s  %s\n", colour(RED), colour(PLAIN), text);
}

/* -- what it means ----------------------------------------------------------------------------- */

static void print_meaning(const struct record *record, const struct error_kind *kind)
{
	if (kind && kind->count > 1)
		printf("  the same as at %s\n", kind->first);
	else if (record->explanation->cause)
		print_explanation(stdout, record->explanation, 2);
}

static void print_partner(const struct record *record)
{
	const char *text = summary_partner(record);

	if (text)
		printf("  %s%s%s %s\n", colour(YELLOW), record->wqe ? "failed" : "its WQE",
		       colour(PLAIN), text);
}

/* Prints how often each kind came, and its first and last place: the first is often the cause. */
static void print_kind(const struct error_kind *kind)
{
	const struct explanation *e = explanation_of(&kind->error);
	const char *side = record_side_names[kind->error.side];

	printf("%8lu  %s", kind->count, kind->first);
	if (kind->count > 1)
		printf(" to %s", kind->last);
	for (unsigned i = 0; i < e->meaning_count; i++) {
		const struct meaning *meaning = &e->meanings[i];

		if (meaning->space == SPACE_STATUS && e->meaning_count > 1)
			continue; /* the syndrome says the same */
		printf("  %s 0x%02x%s%s", space_names[meaning->space], meaning->value,
		       meaning->name ? " " : "", meaning->name ? meaning->name : "");
	}
	printf("%s%s\n", side ? "  at the " : "", side ? side : "");
}

/* -- sinks ------------------------------------------------------------------------------------- */

static bool is_in_list; /* the last record was one line; others are set apart */

static void begin(void)
{
	kinds_begin();
	is_in_list = false;
}

static void end_list(void)
{
	if (is_in_list)
		putchar('\n');
	is_in_list = false;
}

static void end_text(void)
{
	unsigned long errors = 0;
	unsigned count = 0;

	for (; kinds_get(count); count++)
		errors += kinds_get(count)->count;
	if (errors == count)
		return; /* each one is shown above */
	end_list();
	printf("%lu errors of %u kind%s:\n", errors, count, count == 1 ? "" : "s");
	for (unsigned i = 0; i < count; i++)
		print_kind(kinds_get(i));
}

static void end_brief(void)
{
}

static void print_head(const struct record *record)
{
	put(summary_place(record));
	put(": ");
	put_coloured(colour_of(record), summary_write(record));
}

/* Prints an error that was explained before: only what differs from the first one. */
static void print_repeat(const struct record *record, const struct error_kind *kind)
{
	print_head(record);
	for (unsigned i = 0; i < record->field_count && !record->ring; i++) {
		const struct record_field *field = &record->fields[i];
		const char *text = record_field_text(record, field);

		if (text)
			printf("  %s %s", field->name, text);
		else
			printf("  %s 0x%" PRIx64, field->name, field->value);
	}
	print_meaning(record, kind);
	print_partner(record);
	is_in_list = true;
}

/* Prints what the record means, then its fields. */
static void print_full(const struct record *record, const struct error_kind *kind)
{
	end_list();
	print_head(record);
	printf("\n  read as %s%s%s%s", record->source, record->wqe ? ", transport " : "",
	       record->wqe ? record_transport_names[record->transport] : "",
	       record->transport_is_guess ? " (guessed; --transport says it)" : "");
	if (record->ring)
		printf(", of a %s of %u slots", record->ring->name, record->ring->count);
	putchar('\n');
	print_partner(record);
	if (record->wqe)
		print_findings(record->wqe);
	print_meaning(record, kind);
	record_walk(record, print_row, (void *)(uintptr_t)record);
	putchar('\n');
}

static void print_all(const struct record *record)
{
	const struct error_kind *kind = kinds_count(record);
	const bool is_known = kind && kind->count > 1;

	if (is_known && !print_raw && record->kind != RECORD_HEALTH)
		print_repeat(record, kind);
	else
		print_full(record, kind);
}

static void print_line(const struct record *record)
{
	print_head(record);
	if (record->explanation->cause) {
		put("  ");
		put(record->explanation->cause);
	}
	putchar('\n');
}

static void print_unread(const char *file, unsigned long line, const char *why)
{
	fflush(stdout); /* keeps the order if both outputs are shown */
	if (line)
		complain("wqe-dump: %s:%lu: not read: %s", file, line, why);
	else
		complain("wqe-dump: %s: not read: %s", file, why);
}

struct sink print_text = { begin, print_all, print_unread, end_text };
struct sink print_brief = { begin, print_line, print_unread, end_brief };
