/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sends three faces of a cube of cells to the neighbours in three directions: each face in one
 * WRITE, though its cells are apart in memory.
 */
#include <stdio.h>

#include "loop.h"

enum { NX = 5, NY = 4, NZ = 3, CELLS = NX * NY * NZ, FACES = 3, STEPS = 2 };

/* Prints the cells of each plane, x to the right, y downwards; a dot: not in the face. */
static void draw(const char *title, const uint32_t *face, uint32_t count)
{
	printf("%s\n", title);
	for (int y = 0; y < NY; y++) {
		for (int z = 0; z < NZ; z++) {
			printf("%s", z ? "   " : "");
			for (int x = 0; x < NX; x++) {
				const uint32_t cell = (uint32_t)(x + NX * (y + NY * z));
				uint32_t at = 0;
				while (at < count && face[at] != cell)
					at++;
				printf(at < count ? "%3u" : "  .", cell);
			}
		}
		printf("\n");
	}
}

int main(void)
{
	const size_t cell = sizeof(uint32_t), row = NX * cell, plane = NY * row;
	struct loop loop;
	uint32_t *cells;

	loop_open(&loop, 2 * CELLS * cell);
	cells = loop.mem->data;
	for (uint32_t i = 0; i < CELLS; i++)
		cells[i] = i;

	/* The last cell of each row; the last row of each plane; the last plane. */
	const uint32_t lkey = loop.mem->lkey;
	const struct bsn_part part[FACES] = {
		{ (uintptr_t)&cells[NX - 1], cell, row, lkey, 0 },
		{ (uintptr_t)&cells[NX * (NY - 1)], row, plane, lkey, 0 },
		{ (uintptr_t)&cells[NX * NY * (NZ - 1)], plane, 0, lkey, 0 },
	};
	static const char *const titles[FACES] = { "to the right, cell after cell:",
						   "downwards, row after row:",
						   "backwards, one plane:" };
	static const uint32_t rounds[FACES] = { NY * NZ, NZ, 1 };
	struct bsn_layout *face[FACES];

	for (int i = 0; i < FACES; i++)
		face[i] = loop_layout(&loop, &part[i], 1, rounds[i]);
	/* Each step sends the same faces: from the second step on their mkeys exist. */
	uint64_t count[FACES];
	for (int step = 0; step < STEPS; step++) {
		uint64_t to = CELLS * cell;
		for (int i = 0; i < FACES; i++) {
			count[i] = loop_write(&loop, face[i], to) / cell;
			to += count[i] * cell;
		}
	}
	const uint32_t *got = cells + CELLS;
	for (int i = 0; i < FACES; got += count[i++])
		draw(titles[i], got, (uint32_t)count[i]);
	for (int i = 0; i < FACES; i++)
		bsn_layout_destroy(face[i]);
	loop_close(&loop);
	return 0;
}
