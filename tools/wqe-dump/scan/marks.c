/* SPDX-License-Identifier: BSD-2-Clause */
#include "marks.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A state is the beginning of a mark that was just read. State 0: nothing of a mark was read. */
struct marks {
	uint16_t (*next)[256]; /* by the byte that follows */
	uint64_t *bits;        /* of the marks that end here */
	uint16_t count;
};

static int set_up(struct marks *marks, const struct mark *list, size_t count)
{
	size_t most = 1;

	for (size_t i = 0; i < count; i++)
		most += strlen(list[i].text);
	marks->next = calloc(most, sizeof(*marks->next));
	marks->bits = calloc(most, sizeof(*marks->bits));
	marks->count = 1;
	return most <= UINT16_MAX && marks->next && marks->bits ? 0 : -1;
}

/* Adds the states for a mark's bytes. */
static void add_mark(struct marks *marks, const struct mark *mark)
{
	uint16_t at = 0;

	for (const char *c = mark->text; *c; c++) {
		uint16_t *next = &marks->next[at][(unsigned char)*c];

		if (!*next)
			*next = marks->count++;
		at = *next;
	}
	marks->bits[at] |= mark->bits;
}

/*
 * If a byte does not continue a mark, the next state is that of the longest proper suffix which is
 * also a state. That one is shorter, so in breadth-first order it is complete already.
 */
static int complete(struct marks *marks)
{
	uint16_t *queue = calloc(marks->count, sizeof(*queue));
	uint16_t *shorter = calloc(marks->count, sizeof(*shorter));
	const bool has_memory = queue && shorter;
	size_t head = 0, tail = 1;

	while (has_memory && head < tail) {
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
	return has_memory ? 0 : -1;
}

struct marks *marks_create(const struct mark *list, size_t count)
{
	struct marks *marks = calloc(1, sizeof(*marks));

	if (!marks)
		return NULL;
	if (set_up(marks, list, count))
		goto failed;
	for (size_t i = 0; i < count; i++)
		add_mark(marks, &list[i]);
	if (complete(marks))
		goto failed;
	return marks;

failed:
	marks_destroy(marks);
	return NULL;
}

uint64_t marks_find(const struct marks *marks, const char *text, size_t len)
{
	uint64_t found = 0;
	uint16_t at = 0;

	for (size_t i = 0; i < len; i++) {
		at = marks->next[at][(unsigned char)text[i]];
		found |= marks->bits[at];
	}
	return found;
}

void marks_destroy(struct marks *marks)
{
	if (!marks)
		return;
	free(marks->next);
	free(marks->bits);
	free(marks);
}
