/* SPDX-License-Identifier: BSD-2-Clause */
/* A picture of some lines, as SVG. */
#ifndef DRAWING_H
#define DRAWING_H

#include <stdio.h>

enum { DRAWING_LINES = 8, DRAWING_POINTS = 256 };

/*
 * What is to the right: numbers; bytes; or samples, of which one is beyond y: 100 is the percentile
 * 99.
 */
enum drawing_x { DRAWING_SAMPLES, DRAWING_BYTES, DRAWING_NUMBERS };

/* Zero it. Both axes are logarithmic. */
struct drawing {
	const char *title, *y_name;
	const char *names[DRAWING_LINES];
	enum drawing_x x_is;
	struct drawing_line {
		unsigned count;
		struct drawing_point {
			double x, y;
		} points[DRAWING_POINTS];
	} lines[DRAWING_LINES];
};

/*
 * Points of a line are added from left to right, lines from the lowest on; points that have no
 * place are left out.
 */
void drawing_add(struct drawing *drawing, unsigned line, double x, double y);

/* The file of it, before anything is measured; NULL after a complaint. */
FILE *drawing_open(const char *path);

/* Writes and closes it. Return: 0, or PERF_FAILED after a complaint. */
int drawing_write(const struct drawing *drawing, FILE *to, const char *path);

#endif
