/* SPDX-License-Identifier: BSD-2-Clause */
#include "scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Forms that may wait for lines at once: one for each process of a merged log. */
#define OPEN_MAX 16

/* A longer line does not continue another one. */
#define REST_BYTES 512

/* More than all marks have characters. */
#define STATES_MAX 4096

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

/* -- marks ------------------------------------------------------------------------------------- */

/*
 * Finds all marks in one step a byte (Aho and Corasick, CACM 18:6, 1975). A state is the beginning
 * of a mark that was just read. State 0: nothing of a mark was read.
 */
struct marks {
	uint16_t (*next)[256]; /* by the byte that follows */
	uint64_t *bits;        /* of the forms whose marks end here */
	uint16_t count;
};

/* Adds the states for a mark's bytes. */
static void add_mark(struct marks *marks, const char *mark, uint64_t bit)
{
	uint16_t at = 0;

	for (; *mark; mark++) {
		uint16_t *next = &marks->next[at][(unsigned char)*mark];

		if (marks->count == STATES_MAX)
			abort(); /* whoever adds a mark sees it */
		if (!*next)
			*next = marks->count++;
		at = *next;
	}
	marks->bits[at] |= bit;
}

/*
 * If a byte does not continue a mark, the next state is that of the longest proper suffix which is
 * also a state. That one is shorter, so in breadth-first order it is complete already.
 */
static void complete_marks(struct marks *marks)
{
	uint16_t *queue = need(calloc(marks->count, sizeof(*queue)));
	uint16_t *shorter = need(calloc(marks->count, sizeof(*shorter)));
	size_t head = 0, tail = 1;

	while (head < tail) {
		const uint16_t at = queue[head++];

		marks->bits[at] |= marks->bits[shorter[at]];
		for (unsigned c = 0; c < 256; c++) {
			uint16_t *next = &marks->next[at][c];
			const uint16_t other = at ? marks->next[shorter[at]][c] : 0;

			if (*next) {
				shorter[*next] = other;
				queue[tail++] = *next;
			} else {
				*next = other;
			}
		}
	}
	free(queue);
	free(shorter);
}

/* Prepares the search for the marks of all forms, or of one. */
static struct marks prepare_marks(const struct form *only)
{
	struct marks marks = { .next = need(calloc(STATES_MAX, sizeof(*marks.next))),
			       .bits = need(calloc(STATES_MAX, sizeof(*marks.bits))),
			       .count = 1 };

	for (unsigned i = 0; forms[i]; i++)
		for (const char *const *mark = forms[i]->marks; *mark; mark++)
			if (!only || forms[i] == only)
				add_mark(&marks, *mark, UINT64_C(1) << i);
	complete_marks(&marks);
	return marks;
}

static uint64_t find_marks(const struct marks *marks, const struct line *line)
{
	uint64_t found = 0;
	uint16_t at = 0;

	for (size_t i = 0; i < line->len; i++) {
		at = marks->next[at][(unsigned char)line->text[i]];
		found |= marks->bits[at];
	}
	return found;
}

/* A form that waits for more lines. */
struct open_form {
	const struct form *form; /* NULL: this place is free */
	uint64_t bit;            /* of its marks */
	uint32_t stream;
	unsigned idle; /* lines since its last one */
	void *state;
};

struct scan {
	struct feed feed; /* for the form that gets the line; first, so that it leads to the scan */
	struct scan_attr attr;
	struct marks marks;
	bool takes_hex;
	struct input *input;
	bool has_next;         /* the line goes on with another message */
	char rest[REST_BYTES]; /* a line after it */
	unsigned open_count;
	struct open_form open[OPEN_MAX];
};

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

/* Shows a line to the forms that wait for it; true if one took it. */
static bool feed_open(struct scan *scan, uint64_t bits, const struct line *line)
{
	for (unsigned i = 0; i < OPEN_MAX; i++) {
		struct open_form *open = &scan->open[i];
		enum form_answer answer;

		if (!open->form || (line->stream && open->stream != line->stream))
			continue;
		if (open->form->begins_anew && open->bit & bits) {
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

/* Shows a line to a form that has not seen anything yet; true if it took it. @bit: of its marks */
static bool feed_new(struct scan *scan, const struct form *form, uint64_t bit,
		     const struct line *line)
{
	void *state = form->state_bytes ? need(calloc(1, form->state_bytes)) : NULL;
	enum form_answer answer;
	struct open_form *open;

	ask(scan, form);
	answer = form->feed(&scan->feed, line, state);
	if (answer != FORM_MORE) {
		free(state);
		return answer == FORM_TAKEN;
	}
	open = make_place(scan);
	*open = (struct open_form){ form, bit, line->stream, .state = state };
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
		if (feed_new(scan, forms[__builtin_ctzll(bits)], bits & -bits, line))
			return;
	if (is_hex)
		feed_new(scan, &form_hex, 0, line);
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
	feed_message(scan, &first, find_marks(&scan->marks, &first), may_be_hex(scan, &first));
	scan->has_next = false;
	*next = begin;
	line->text = next;
	line->len -= first.len;
	line->stream = 0;
}

static void feed_line(struct scan *scan, struct line *line)
{
	uint64_t bits = find_marks(&scan->marks, line);
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
		bits = find_marks(&scan->marks, line);
		is_hex = may_be_hex(scan, line);
	}
	feed_message(scan, line, bits, is_hex);
}

static int scan_binary(struct scan *scan, struct input *input)
{
	struct raw_attr attr = scan->attr.bytes;
	struct raw raw = { 0 };
	long size;

	ask(scan, &form_binary);
	while ((size = input_bytes(input, &raw.bytes)) > 0) {
		raw.size = (size_t)size;
		if (!raw_tell(scan->feed.tell, &attr, &raw) || ferror(stdout))
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

struct scan *scan_create(const struct scan_attr *attr, struct tell *tell)
{
	struct scan *scan = need(calloc(1, sizeof(*scan)));

	scan->attr = *attr;
	if (!attr->bytes.stride_bytes)
		scan->attr.bytes.stride_bytes = BSN_DATA_SIZE;
	scan->takes_hex = !attr->only || attr->only == &form_hex;
	scan->feed = (struct feed){ .tell = tell, .bytes = &scan->attr.bytes, .rest = find_rest };
	scan->marks = prepare_marks(attr->only);
	return scan;
}

void scan_destroy(struct scan *scan)
{
	free(scan->marks.next);
	free(scan->marks.bits);
	free(scan);
}
