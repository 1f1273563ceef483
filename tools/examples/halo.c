/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The three faces of a cube of cells that a neighbour in each direction needs: each leaves in one WRITE,
 * though its cells lie apart in memory.
 */
#include <stdio.h>

#include "loop.h"

enum { NX = 5, NY = 4, NZ = 3, CELLS = NX * NY * NZ };

/* Cells of each plane, x to the right, y downwards; a dot: not of the face. */
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
	cells = (uint32_t *)(uintptr_t)loop.mem->addr;
	for (uint32_t i = 0; i < CELLS; i++)
		cells[i] = i;

	/* The last cell of each row; the last row of each plane; the last plane. */
	const struct {
		const char *title;
		struct bsn_part part;
		uint32_t rounds;
	} face[3] = {
		{ "to the right, cell after cell:",
		  { .addr = (uintptr_t)&cells[NX - 1], .bytes = cell, .stride = row },
		  NY * NZ },
		{ "downwards, row after row:",
		  { .addr = (uintptr_t)&cells[NX * (NY - 1)], .bytes = row, .stride = plane },
		  NZ },
		{ "backwards, one plane:",
		  { .addr = (uintptr_t)&cells[NX * NY * (NZ - 1)], .bytes = plane },
		  1 },
	};
	for (int i = 0; i < 3; i++) {
		struct bsn_part part = face[i].part;
		part.lkey = loop.mem->lkey;
		const struct bsn_layout layout = { .parts = &part,
						   .part_count = 1,
						   .rounds = face[i].rounds };
		const uint64_t bytes = loop_write(&loop, &layout, CELLS * cell);
		draw(face[i].title, cells + CELLS, (uint32_t)(bytes / cell));
	}
	loop_close(&loop);
	return 0;
}
