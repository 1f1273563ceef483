/* SPDX-License-Identifier: BSD-2-Clause */
/* For people: every field, or one line. */
#include "print.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "explain.h"
#include "print_explain.h"
#include "summary.h"

#define RAW_COLUMNS 24  /* of the bytes beside a field: 8 of them */
#define ROW_BYTES   16  /* of a row of bytes without fields */
#define EXPLAINED   256 /* errors of which is remembered that they were explained */

struct print_options print_options;

/* Escape sequences (ECMA-48, SGR), or nothing where the output is no terminal. */
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
	switch (record->kind) {
	case RECORD_CQE:
	case RECORD_WQE:
		return BOLD;
	case RECORD_NOT_MLX5:
		return YELLOW;
	default:
		return RED;
	}
}

/* -- fields ------------------------------------------------------------------------------------- */

static void print_raw(const struct record *record, const struct record_row *row)
{
	char text[RAW_COLUMNS + 1] = "";

	if (!print_options.raw)
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

/* In hexadecimal, and in decimal where that is something else. */
static void print_value(const struct record_row *row)
{
	char text[48];

	if (row->value < 10)
		snprintf(text, sizeof(text), "%" PRIu64, row->value);
	else if (row->value > UINT32_MAX)
		snprintf(text, sizeof(text), "0x%" PRIx64, row->value);
	else
		snprintf(text, sizeof(text), "0x%" PRIx64 " (%" PRIu64 ")", row->value, row->value);
	if (!row->symbol)
		printf("%s", text);
	else
		printf("%-20s %s%s%s: %s", text, colour(CYAN), row->symbol->name, colour(PLAIN),
		       row->symbol->doc);
}

/* What the printer is at: a segment's name is printed once. */
struct at {
	const struct record *record;
	const char *segment;
	unsigned nth;
};

static void print_row(const struct record_row *row, void *arg)
{
	struct at *at = arg;

	if (row->segment && (row->segment != at->segment || row->nth != at->nth)) {
		printf("  %s%s%s\n", colour(BOLD), row->segment, colour(PLAIN));
		at->segment = row->segment;
		at->nth = row->nth;
	}
	fputs("    ", stdout);
	print_raw(at->record, row);
	printf("%-20s ", row->name);
	if (row->text)
		fputs(row->text, stdout);
	else if (row->bytes)
		print_bytes(row);
	else
		print_value(row);
	putchar('\n');
}

static void print_findings(const struct bsn_wqe *wqe)
{
	char text[SUMMARY_BYTES];

	for (unsigned i = 0; summary_finding(wqe, i, text); i++)
		printf("  %swrong%s  %s\n", colour(RED), colour(PLAIN), text);
}

/* -- what it means ------------------------------------------------------------------------------ */

/* Which errors were explained, and where. */
static struct {
	struct error error;
	const char *file;
	unsigned long line;
} explained[EXPLAINED];
static unsigned explained_count;

static bool is_same(const struct error *a, const struct error *b)
{
	for (unsigned i = 0; i < SPACE_COUNT; i++)
		if (a->numbers[i].is_known != b->numbers[i].is_known ||
		    a->numbers[i].value != b->numbers[i].value)
			return false;
	return a->side == b->side;
}

static bool was_explained(const struct record *record, const struct error *error)
{
	for (unsigned i = 0; i < explained_count; i++)
		if (is_same(&explained[i].error, error)) {
			printf("  the same as at %s:%lu: %s\n", explained[i].file,
			       explained[i].line, record->cause ? record->cause : "");
			return true;
		}
	if (explained_count == EXPLAINED)
		return false;
	explained[explained_count].error = *error;
	explained[explained_count].file = record->file;
	explained[explained_count++].line = record->line;
	return false;
}

static void print_meaning(const struct record *record)
{
	const struct error error = error_of_record(record);
	struct explanation explanation;

	if (!record->cause || was_explained(record, &error))
		return;
	explain(&error, &explanation);
	print_explanation(stdout, &explanation, 2);
}

static void print_partner(const struct record *record)
{
	if (!record->partner_file)
		return;
	printf("  %s%s%s %s", colour(YELLOW), record->wqe ? "failed" : "its WQE", colour(PLAIN),
	       record->partner_file);
	if (record->partner_line)
		printf(":%lu", record->partner_line);
	printf(" has the %s", record->wqe ? "error" : "WQE");
	if (!record->wqe && record->partner_index.value != record->wqe_index.value)
		printf(" of its slot, of another round (#%u)", record->partner_index.value);
	putchar('\n');
}

/* -- sinks -------------------------------------------------------------------------------------- */

static void begin(struct sink *sink)
{
	(void)sink;
	explained_count = 0;
}

static void end(struct sink *sink)
{
	(void)sink;
}

static void print_head(const struct record *record)
{
	char place[SUMMARY_BYTES], text[SUMMARY_BYTES];

	summary_place(record, place);
	summary_write(record, text);
	printf("%s: %s%s%s", place, colour(colour_of(record)), text, colour(PLAIN));
}

static void print_all(struct sink *sink, const struct record *record)
{
	struct at at = { .record = record };

	(void)sink;
	print_head(record);
	printf("\n  read as %s%s%s", record->source, record->wqe ? ", transport " : "",
	       record->wqe ? record_transport_name(record->transport) : "");
	if (record->ring)
		printf(", of a %s of %u slots", record->ring->name, record->ring->count);
	putchar('\n');
	print_partner(record);
	record_walk(record, print_row, &at);
	if (record->wqe)
		print_findings(record->wqe);
	print_meaning(record);
	putchar('\n');
}

static void print_line(struct sink *sink, const struct record *record)
{
	(void)sink;
	print_head(record);
	if (record->cause)
		printf("  %s", record->cause);
	putchar('\n');
}

static void print_unread(struct sink *sink, const char *file, unsigned long line, const char *why)
{
	(void)sink;
	fflush(stdout); /* in the order of the input, where both are seen */
	fprintf(stderr, "wqe-dump: %s", file);
	if (line)
		fprintf(stderr, ":%lu", line);
	fprintf(stderr, ": not read: %s\n", why);
}

struct sink print_text = { begin, print_all, print_unread, end };
struct sink print_brief = { begin, print_line, print_unread, end };
