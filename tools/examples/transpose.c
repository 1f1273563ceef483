/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transposes a matrix in one WRITE: in each round, one element of every row.
 */
#include <stdio.h>

#include "loop.h"

enum { ROWS = 4, COLUMNS = 6 };

static void draw(const char *title, const uint32_t *matrix, int rows, int columns)
{
	printf("%s\n", title);
	for (int i = 0; i < rows; i++) {
		for (int j = 0; j < columns; j++)
			printf(" %3u", matrix[i * columns + j]);
		printf("\n");
	}
}

int main(void)
{
	const size_t bytes = ROWS * COLUMNS * sizeof(uint32_t);
	struct bsn_part row[ROWS];
	struct bsn_layout *by_column;
	struct loop loop;
	uint32_t *matrix;

	loop_open(&loop, 2 * bytes);
	matrix = loop.mem->data;
	for (uint32_t i = 0; i < ROWS * COLUMNS; i++)
		matrix[i] = 100 * (i / COLUMNS + 1) + i % COLUMNS + 1;
	for (int i = 0; i < ROWS; i++)
		row[i] = (struct bsn_part){
			.addr = (uintptr_t)&matrix[i * COLUMNS],
			.bytes = sizeof(uint32_t),
			.stride = sizeof(uint32_t),
			.lkey = loop.mem->lkey,
		};
	by_column = loop_layout(&loop, row, ROWS, COLUMNS);
	loop_write(&loop, by_column, bytes);
	draw("by row:", matrix, ROWS, COLUMNS);
	draw("by column:", matrix + ROWS * COLUMNS, COLUMNS, ROWS);
	bsn_layout_destroy(by_column);
	loop_close(&loop);
	return 0;
}
