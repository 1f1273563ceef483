/* SPDX-License-Identifier: BSD-2-Clause */
#include "scan.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../explain/explain.h"
#include "../forms/forms.h"
#include "../bytes/hex.h"
#include "marks.h"
#include "markup.h"
#include "prefix.h"
#include "../bytes/raw.h"
#include "tie.h"

/* Bytes without any text: no lines are fed to it. */
static const char *const no_marks[] = { NULL };
const struct form form_binary = { .name = "binary", .marks = no_marks };

/* Forms that want more lines at once: those of as many processes whose logs are merged. */
#define OPEN_MAX 16

/* No line that goes on another one has more. */
#define REST_BYTES 512

/* A form that is in the middle of something. */
struct open_form {
	const struct form *form; /* NULL: this place is free */
	uint32_t stream;
	unsigned idle; /* lines of others since its last one */
	void *state;
};

struct scan {
	struct scan_attr attr;
	struct sink *sink;
	struct marks *marks;
	struct tie *tie;
	bool takes_hex;
	struct input *input;
	const struct form *form; /* being asked */
	size_t width;            /* of the line that is being fed, as it was written */
	unsigned taken;          /* lines behind it that belong to it */
	char rest[REST_BYTES];   /* one of them */
	unsigned long count, unread;
	unsigned open_count;
	struct open_form open[OPEN_MAX];
};

/* -- what forms call ---------------------------------------------------------------------------- */

void scan_record(struct scan *scan, struct record *record)
{
	record->file = scan->input->name;
	if (!record->source)
		record->source = scan->form->name;
	explain_record(record);
	tie_record(scan->tie, record);
	scan->count++;
	scan->sink->record(scan->sink, record);
}

void scan_unread(struct scan *scan, unsigned long line, const char *format, ...)
{
	char why[256];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	scan->unread++;
	scan->sink->unread(scan->sink, scan->input->name, line, why);
}

/* -- forms in the middle of something ----------------------------------------------------------- */

static void free_place(struct scan *scan, struct open_form *open)
{
	free(open->state);
	*open = (struct open_form){ 0 };
	scan->open_count--;
}

static void give_up(struct scan *scan, struct open_form *open)
{
	scan->form = open->form;
	if (open->form->close)
		open->form->close(scan, open->state);
	free_place(scan, open);
}

static void give_up_all(struct scan *scan)
{
	for (unsigned i = 0; i < OPEN_MAX; i++)
		if (scan->open[i].form)
			give_up(scan, &scan->open[i]);
}

/* A free place, or the one that has waited longest. */
static struct open_form *make_place(struct scan *scan)
{
	struct open_form *place = &scan->open[0];

	for (unsigned i = 0; i < OPEN_MAX; i++) {
		if (!scan->open[i].form)
			return &scan->open[i];
		if (scan->open[i].idle > place->idle)
			place = &scan->open[i];
	}
	give_up(scan, place);
	return place;
}

static bool has_mark(const struct form *form, uint64_t bits)
{
	for (; bits; bits &= bits - 1)
		if (forms[__builtin_ctzll(bits)] == form)
			return true;
	return false;
}

/* Shows a line to the forms that wait for it; true if one took it. */
static bool feed_open(struct scan *scan, uint64_t bits, const struct line *line)
{
	for (unsigned i = 0; i < OPEN_MAX; i++) {
		struct open_form *open = &scan->open[i];
		enum form_answer answer;

		if (!open->form || (line->stream && open->stream != line->stream))
			continue;
		if (open->form->begins_anew && has_mark(open->form, bits)) {
			give_up(scan, open);
			continue;
		}
		scan->form = open->form;
		answer = open->form->feed(scan, line, open->state);
		if (answer != FORM_PASS)
			open->idle = 0;
		if (answer == FORM_TAKEN || answer == FORM_OVER)
			free_place(scan, open);
		if (answer == FORM_TAKEN || answer == FORM_MORE)
			return true;
	}
	return false;
}

static void grow_impatient(struct scan *scan)
{
	for (unsigned i = 0; i < OPEN_MAX; i++)
		if (scan->open[i].form && scan->open[i].idle++ >= FORM_PATIENCE)
			give_up(scan, &scan->open[i]);
}

/* -- lines -------------------------------------------------------------------------------------- */

/* Shows a line to a form that has not seen anything yet; true if it took it. */
static bool feed_new(struct scan *scan, const struct form *form, const struct line *line)
{
	void *state = form->state_bytes ? calloc(1, form->state_bytes) : NULL;
	enum form_answer answer = FORM_PASS;
	struct open_form *open;

	scan->form = form;
	if (state || !form->state_bytes)
		answer = form->feed(scan, line, state);
	if (answer != FORM_MORE) {
		free(state);
		return answer == FORM_TAKEN;
	}
	open = make_place(scan);
	*open = (struct open_form){ .form = form, .stream = line->stream, .state = state };
	scan->open_count++;
	return true;
}

static bool feed_marked(struct scan *scan, uint64_t bits, const struct line *line)
{
	for (; bits; bits &= bits - 1)
		if (feed_new(scan, forms[__builtin_ctzll(bits)], line))
			return true;
	return false;
}

char *scan_rest(struct scan *scan, unsigned nth)
{
	struct line line = { .text = scan->rest };

	if (!input_ahead(scan->input, nth, scan->rest, sizeof(scan->rest)))
		return NULL;
	line.len = strlen(scan->rest);
	markup_undo(&line);
	return prefix_strip_quote(&line) ? line.text : NULL;
}

void scan_take(struct scan *scan, unsigned count)
{
	scan->taken = count;
}

size_t scan_width(const struct scan *scan)
{
	return scan->width;
}

static void drop_taken(struct scan *scan)
{
	struct line line;

	while (scan->taken && input_next(scan->input, &line) > 0)
		scan->taken--;
	scan->taken = 0;
}

static void feed_line(struct scan *scan, struct line *line)
{
	const uint64_t bits = marks_find(scan->marks, line->text, line->len);
	const bool is_hex = scan->takes_hex && hex_is_likely(line->text, line->len);

	if (!bits && !is_hex && !scan->open_count)
		return;
	scan->width = line->len;
	markup_undo(line);
	prefix_strip(line);
	if (scan->open_count) {
		if (feed_open(scan, bits, line))
			return;
		grow_impatient(scan);
	}
	if (!feed_marked(scan, bits, line) && is_hex)
		feed_new(scan, &form_hex, line);
}

static int scan_binary(struct scan *scan, struct input *input)
{
	struct raw raw = { .kind = RAW_GUESS };
	long size;

	scan->form = &form_binary;
	while ((size = input_bytes(input, &raw.bytes)) > 0) {
		raw.size = (size_t)size;
		if (!raw_tell(scan, &raw) || ferror(stdout))
			return 0; /* it is nothing, or nobody listens */
	}
	return (int)size;
}

int scan_input(struct scan *scan, struct input *input)
{
	struct line line;
	int got;

	scan->input = input;
	got = scan->attr.only == &form_binary ? 1 : input_is_binary(input);
	if (got < 0)
		return got;
	if (got)
		return scan_binary(scan, input);
	while (!ferror(stdout) && (got = input_next(input, &line)) > 0) {
		feed_line(scan, &line);
		drop_taken(scan);
	}
	give_up_all(scan);
	return got < 0 ? got : 0;
}

/* -- the scanner -------------------------------------------------------------------------------- */

static struct marks *collect_marks(const struct form *only)
{
	struct mark list[FORMS_MAX * 8];
	size_t count = 0;

	for (unsigned i = 0; forms[i]; i++) {
		if (only && forms[i] != only)
			continue;
		for (const char *const *mark = forms[i]->marks; *mark; mark++)
			if (count < sizeof(list) / sizeof(list[0]))
				list[count++] = (struct mark){ *mark, UINT64_C(1) << i };
	}
	return marks_create(list, count);
}

struct scan *scan_create(const struct scan_attr *attr, struct sink *sink)
{
	struct scan *scan = calloc(1, sizeof(*scan));

	if (!scan)
		return NULL;
	scan->attr = *attr;
	if (!scan->attr.stride_bytes)
		scan->attr.stride_bytes = BSN_DATA_SIZE;
	scan->takes_hex = !attr->only || attr->only == &form_hex;
	scan->sink = sink;
	scan->marks = collect_marks(attr->only);
	scan->tie = tie_create();
	if (scan->marks && scan->tie)
		return scan;
	scan_destroy(scan);
	return NULL;
}

unsigned long scan_count(const struct scan *scan)
{
	return scan->count;
}

unsigned long scan_unread_count(const struct scan *scan)
{
	return scan->unread;
}

const struct scan_attr *scan_attr_of(const struct scan *scan)
{
	return &scan->attr;
}

void scan_destroy(struct scan *scan)
{
	marks_destroy(scan->marks);
	tie_destroy(scan->tie);
	free(scan);
}
