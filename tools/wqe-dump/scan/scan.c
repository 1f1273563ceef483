/* SPDX-License-Identifier: BSD-2-Clause */
#include "scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "marks.h"

/* Forms that may wait for lines at once: one for each process of a merged log. */
#define OPEN_MAX 16

/* A longer line does not continue another one. */
#define REST_BYTES 512

/* A form that waits for more lines. */
struct open_form {
	const struct form *form; /* NULL: this place is free */
	uint32_t stream;
	unsigned idle; /* lines since its last one */
	void *state;
};

struct scan {
	struct feed feed; /* for the form that gets the line; first, so that it leads to the scan */
	struct scan_attr attr;
	struct marks *marks;
	bool takes_hex;
	struct input *input;
	bool has_next;         /* the line goes on with another message */
	char rest[REST_BYTES]; /* a line after it */
	unsigned open_count;
	struct open_form open[OPEN_MAX];
};

/* -- all forms --------------------------------------------------------------------------------- */

/* The form of bytes without text. It has a name, but gets no lines. */
const struct form form_binary = { .name = "binary", .marks = MARKS(NULL) };

const struct form *const forms[] = {
#define POINT_TO(id) &form_##id,
	FORMS(POINT_TO) NULL
};

_Static_assert(COUNT(forms) <= FORMS_MAX + 1, "each form has a bit of a word");

const struct form *form_find(const char *name)
{
	for (const struct form *const *form = forms; *form; form++)
		if (!strcmp((*form)->name, name))
			return *form;
	return NULL;
}

/* -- forms that wait for more lines ------------------------------------------------------------ */

/* Records from now on are this form's. */
static void ask(struct scan *scan, const struct form *form)
{
	scan->feed.form = form;
	scan->feed.tell->source = form->name;
}

static void free_place(struct scan *scan, struct open_form *open)
{
	free(open->state);
	*open = (struct open_form){ 0 };
	scan->open_count--;
}

static void give_up(struct scan *scan, struct open_form *open)
{
	ask(scan, open->form);
	if (open->form->close)
		open->form->close(&scan->feed, open->state);
	free_place(scan, open);
}

/* A free place; if there is none, the form that has waited longest is given up. */
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
		ask(scan, open->form);
		answer = open->form->feed(&scan->feed, line, open->state);
		if (answer != FORM_PASS)
			open->idle = 0;
		if (answer == FORM_TAKEN || answer == FORM_OVER)
			free_place(scan, open);
		if (answer == FORM_TAKEN || answer == FORM_MORE)
			return true;
	}
	return false;
}

/* -- lines ------------------------------------------------------------------------------------- */

/* Shows a line to a form that has not seen anything yet; true if it took it. */
static bool feed_new(struct scan *scan, const struct form *form, const struct line *line)
{
	void *state = form->state_bytes ? calloc(1, form->state_bytes) : NULL;
	enum form_answer answer = FORM_PASS;
	struct open_form *open;

	ask(scan, form);
	if (state || !form->state_bytes)
		answer = form->feed(&scan->feed, line, state);
	if (answer != FORM_MORE) {
		free(state);
		return answer == FORM_TAKEN;
	}
	open = make_place(scan);
	*open = (struct open_form){ .form = form, .stream = line->stream, .state = state };
	scan->open_count++;
	return true;
}

/* See rest() of struct feed. */
static char *find_rest(struct feed *feed, unsigned nth)
{
	struct scan *scan = (struct scan *)feed;
	struct line line = { .text = scan->rest };

	if (scan->has_next || !input_ahead(scan->input, nth, scan->rest, sizeof(scan->rest)))
		return NULL;
	line.len = strlen(scan->rest);
	markup_undo(&line);
	return prefix_strip_quote(&line) ? line.text : NULL;
}

static void drop_taken(struct scan *scan)
{
	struct line line;

	while (scan->feed.taken && input_next(scan->input, &line) > 0)
		scan->feed.taken--;
	scan->feed.taken = 0;
}

/* One message, without the prefix of its logger. */
static void feed_message(struct scan *scan, const struct line *line, uint64_t bits, bool is_hex)
{
	if (scan->open_count && feed_open(scan, bits, line))
		return;
	for (unsigned i = 0; scan->open_count && i < OPEN_MAX; i++)
		if (scan->open[i].form && scan->open[i].idle++ >= FORM_PATIENCE)
			give_up(scan, &scan->open[i]);
	for (; bits; bits &= bits - 1)
		if (feed_new(scan, forms[__builtin_ctzll(bits)], line))
			return;
	if (is_hex)
		feed_new(scan, &form_hex, line);
}

static bool may_be_hex(const struct scan *scan, const struct line *line)
{
	return scan->takes_hex && hex_is_likely(line->text, line->len);
}

/* Feeds the first message of a line, and cuts it off. */
static void feed_first(struct scan *scan, struct line *line, char *next)
{
	const char begin = *next;
	struct line first = *line;

	first.len = (size_t)(next - line->text);
	*next = '\0';
	scan->has_next = true;
	feed_message(scan, &first, marks_find(scan->marks, first.text, first.len),
		     may_be_hex(scan, &first));
	scan->has_next = false;
	*next = begin;
	line->text = next;
	line->len -= first.len;
	line->stream = 0;
}

static void feed_line(struct scan *scan, struct line *line)
{
	uint64_t bits = marks_find(scan->marks, line->text, line->len);
	bool is_hex = may_be_hex(scan, line);
	char *next;

	if (!bits && !is_hex && !scan->open_count)
		return;
	scan->feed.width = line->len;
	markup_undo(line);
	prefix_strip(line);
	while ((next = prefix_next(line))) {
		feed_first(scan, line, next);
		prefix_strip(line);
		bits = marks_find(scan->marks, line->text, line->len);
		is_hex = may_be_hex(scan, line);
	}
	feed_message(scan, line, bits, is_hex);
}

static int scan_binary(struct scan *scan, struct input *input)
{
	struct raw raw = { .kind = RAW_GUESS };
	long size;

	ask(scan, &form_binary);
	while ((size = input_bytes(input, &raw.bytes)) > 0) {
		raw.size = (size_t)size;
		if (!raw_tell(scan->feed.tell, &scan->attr.bytes, &raw) || ferror(stdout))
			return 0; /* the bytes are neither CQEs nor WQEs, or the output is closed */
	}
	return (int)size;
}

int scan_input(struct scan *scan, struct input *input)
{
	struct line line;
	int got;

	scan->input = input;
	scan->feed.tell->file = input->name;
	got = scan->attr.only == &form_binary ? 1 : input_is_binary(input);
	if (got < 0)
		return got;
	if (got)
		return scan_binary(scan, input);
	while (!ferror(stdout) && (got = input_next(input, &line)) > 0) {
		feed_line(scan, &line);
		drop_taken(scan);
	}
	for (unsigned i = 0; i < OPEN_MAX; i++)
		if (scan->open[i].form)
			give_up(scan, &scan->open[i]);
	return got < 0 ? got : 0;
}

/* -- the scanner ------------------------------------------------------------------------------- */

static struct marks *collect_marks(const struct form *only)
{
	struct mark list[FORMS_MAX * 8];
	size_t count = 0;

	for (unsigned i = 0; forms[i]; i++) {
		if (only && forms[i] != only)
			continue;
		for (const char *const *mark = forms[i]->marks; *mark; mark++)
			if (count < COUNT(list))
				list[count++] = (struct mark){ *mark, UINT64_C(1) << i };
	}
	return marks_create(list, count);
}

struct scan *scan_create(const struct scan_attr *attr, struct tell *tell)
{
	struct scan *scan = calloc(1, sizeof(*scan));

	if (!scan)
		return NULL;
	scan->attr = *attr;
	if (!attr->bytes.stride_bytes)
		scan->attr.bytes.stride_bytes = BSN_DATA_SIZE;
	scan->takes_hex = !attr->only || attr->only == &form_hex;
	scan->feed = (struct feed){ .tell = tell, .bytes = &scan->attr.bytes, .rest = find_rest };
	scan->marks = collect_marks(attr->only);
	if (scan->marks)
		return scan;
	scan_destroy(scan);
	return NULL;
}

void scan_destroy(struct scan *scan)
{
	marks_destroy(scan->marks);
	free(scan);
}
