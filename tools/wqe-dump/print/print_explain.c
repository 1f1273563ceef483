/* SPDX-License-Identifier: BSD-2-Clause */
#include "print.h"

#include <string.h>

#define WIDTH       96
#define LABEL_WIDTH 13

/** struct column - a column of text */
struct column {
	FILE *to;
	unsigned indent;
};

/* Puts a text after a label, broken between words. */
static void put(const struct column *column, const char *label, const char *text)
{
	const unsigned left = column->indent + LABEL_WIDTH;
	unsigned at = left;

	fprintf(column->to, "%*s%-*s", (int)column->indent, "", LABEL_WIDTH, label);
	while (*text) {
		const unsigned word = (unsigned)strcspn(text, " ");
		if (at > left && at + 1 + word > WIDTH) {
			fprintf(column->to, "\n%*s", (int)left, "");
			at = left;
		} else if (at > left) {
			at += (unsigned)fprintf(column->to, " ");
		}
		fwrite(text, 1, word, column->to);
		at += word;
		text += word + (text[word] == ' ');
	}
	fputc('\n', column->to);
}

static void put_meaning(const struct column *column, const struct meaning *meaning)
{
	fprintf(column->to, "%*s%s 0x%02x (%u): ", (int)column->indent, "",
		space_names[meaning->space], meaning->value, meaning->value);
	if (!meaning->name)
		fprintf(column->to, "not mlx5, or not in this table\n");
	else
		fprintf(column->to, "%s, %s%s%s\n", meaning->name, meaning->doc,
			meaning->detail ? ": " : "", meaning->detail ? meaning->detail : "");
}

static void put_place(const struct column *column, const struct explanation *e)
{
	const char *detected = party_names[e->detected_by], *reported = party_names[e->reported_to];
	char text[128];

	if (detected) {
		snprintf(text, sizeof(text), "%s, %s%s", detected,
			 e->detected_by == e->reported_to ? "whose completion this is"
							  : "the completion is at the ",
			 e->detected_by == e->reported_to ? "" : reported);
		put(column, "detected by", text);
	}
	put(column, "step", e->step);
}

static void put_causes(const struct column *column, const struct explanation *e)
{
	struct cause cause;
	char label[LABEL_WIDTH + 1], text[512];

	for (unsigned i = 0; explanation_cause(e, i, &cause); i++) {
		snprintf(label, sizeof(label), i ? "%11u. " : "causes %4u. ", i + 1);
		snprintf(text, sizeof(text), "%s [tell: %s]", cause.what, cause.tell);
		put(column, label, text);
	}
}

static void put_sources(const struct column *column, const struct explanation *e)
{
	char text[768];

	snprintf(text, sizeof(text), "%s. Meaning: %s%s%s. %c%s%s%s.", e->confidence,
		 e->meaning_source, e->measured ? ", after: " : "", e->measured ? e->measured : "",
		 e->cause_basis[0] - 'a' + 'A', e->cause_basis + 1, *e->cause_source ? ": " : "",
		 e->cause_source);
	put(column, "sure", text);
}

void print_explanation(FILE *to, const struct explanation *explanation, unsigned indent)
{
	const struct column column = { to, indent };

	for (unsigned i = 0; i < explanation->meaning_count; i++)
		put_meaning(&column, &explanation->meanings[i]);
	put_place(&column, explanation);
	put(&column, "meaning", explanation->meaning);
	put_causes(&column, explanation);
	put(&column, "try", explanation->attempt);
	put_sources(&column, explanation);
	for (unsigned i = 0; i < explanation->note_count; i++)
		put(&column, "note", explanation->notes[i]);
}
