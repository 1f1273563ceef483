/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines on two logarithmic axes, as SVG. */
#include "drawing.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "perf.h"

enum { WIDTH = 800, HEIGHT = 480, LEFT = 70, RIGHT = 90, TOP = 50, BOTTOM = 50, NAME_HEIGHT = 14 };

/* Dark enough on white, and distinct for readers who do not see red or green (Okabe and Ito). */
static const char *const colours[DRAWING_LINES] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7",
						      "#56b4e9", "#e69f00", "#6a3d9a", "#000000" };

struct axis {
	double low, high; /* decimal logarithms */
	double from, to;  /* in the picture */
};

void drawing_add(struct drawing *drawing, unsigned line, double x, double y)
{
	struct drawing_line *l = &drawing->lines[line];

	if (l->count < DRAWING_POINTS && x > 0 && y > 0)
		l->points[l->count++] = (struct drawing_point){ x, y };
}

static double place(const struct axis *axis, double value)
{
	const double share = (log10(value) - axis->low) / (axis->high - axis->low);

	return axis->from + share * (axis->to - axis->from);
}

/* From the least to the most, or from one power of ten to another. */
static void fit(const struct drawing *drawing, struct axis *x, struct axis *y)
{
	x->low = y->low = INFINITY;
	x->high = y->high = -INFINITY;
	for (unsigned i = 0; i < DRAWING_LINES; i++) {
		const struct drawing_line *line = &drawing->lines[i];
		for (unsigned p = 0; p < line->count; p++) {
			x->low = fmin(x->low, log10(line->points[p].x));
			x->high = fmax(x->high, log10(line->points[p].x));
			y->low = fmin(y->low, log10(line->points[p].y));
			y->high = fmax(y->high, log10(line->points[p].y));
		}
	}
	y->low = floor(y->low);
	y->high = fmax(ceil(y->high), y->low + 1);
	x->high = fmax(x->high, x->low + 0.1);
}

static void put_text(FILE *to, double x, double y, const char *anchor, const char *text)
{
	fprintf(to, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor,
		text);
}

static void put_grid_line(FILE *to, double x1, double y1, double x2, double y2)
{
	fprintf(to, "<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"#ddd\"/>\n", x1, y1, x2, y2);
}

/* 1, 2 and 5 of each power of ten. */
static void put_y_axis(FILE *to, const struct axis *x, const struct axis *y)
{
	static const double steps[] = { 1, 2, 5 };
	char text[32];

	for (int power = (int)y->low; power <= (int)y->high; power++) {
		for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
			const double value = steps[i] * pow(10, power), at = place(y, value);
			if (at < y->to - 0.5)
				continue;
			snprintf(text, sizeof(text), "%g", value);
			put_grid_line(to, x->from, at, x->to, at);
			put_text(to, x->from - 8, at + 4, "end", text);
		}
	}
}

static void name_bytes(double bytes, char *text, size_t size)
{
	static const char *const units[] = { " B", " KB", " MB", " GB" };
	unsigned unit = 0;

	for (; bytes >= 1024 && unit < 3; unit++)
		bytes /= 1024;
	snprintf(text, size, "%g%s", bytes, units[unit]);
}

/* Each third power of 2; or of 10: numbers, or percentiles of one more nine each. */
static void put_x_axis(FILE *to, const struct drawing *drawing, const struct axis *x,
		       const struct axis *y)
{
	const double factor = drawing->x_is == DRAWING_BYTES ? 8 : 10;
	char text[32];

	for (double value = pow(10, x->low); log10(value) < x->high + 1e-6; value *= factor) {
		const double at = place(x, value);
		if (drawing->x_is == DRAWING_BYTES)
			name_bytes(value, text, sizeof(text));
		else if (drawing->x_is == DRAWING_NUMBERS)
			snprintf(text, sizeof(text), "%.10g", value);
		else
			snprintf(text, sizeof(text), "%.10g %%", 100 - 100 / value);
		put_grid_line(to, at, y->from, at, y->to);
		put_text(to, at, y->from + 20, "middle", text);
	}
}

/* The name beside its end, above that of the line below. */
static void put_line(FILE *to, const struct drawing *drawing, unsigned which, const struct axis *x,
		     const struct axis *y, double *name_at)
{
	const struct drawing_line *line = &drawing->lines[which];

	if (!line->count)
		return;
	fprintf(to, "<g fill=\"none\" stroke=\"%s\" stroke-width=\"2\"><path d=\"", colours[which]);
	for (unsigned p = 0; p < line->count; p++)
		fprintf(to, "%s%.1f %.1f", p ? "L" : "M", place(x, line->points[p].x),
			place(y, line->points[p].y));
	*name_at = fmin(*name_at - NAME_HEIGHT, place(y, line->points[line->count - 1].y) + 4);
	fprintf(to, "\"/></g>\n<g fill=\"%s\">", colours[which]);
	put_text(to, x->to + 8, *name_at, "start", drawing->names[which]);
	fputs("</g>\n", to);
}

static void write_svg(const struct drawing *drawing, FILE *to)
{
	struct axis x = { .from = LEFT, .to = WIDTH - RIGHT };
	struct axis y = { .from = HEIGHT - BOTTOM, .to = TOP };
	double name_at = HEIGHT;

	fit(drawing, &x, &y);
	fprintf(to,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
		"height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<g font-size=\"15\">",
		WIDTH, HEIGHT, WIDTH, HEIGHT);
	put_text(to, LEFT, 24, "start", drawing->title);
	fputs("</g>\n", to);
	put_text(to, LEFT - 8, TOP - 12, "end", drawing->y_name);
	put_y_axis(to, &x, &y);
	put_x_axis(to, drawing, &x, &y);
	for (unsigned i = 0; i < DRAWING_LINES; i++)
		put_line(to, drawing, i, &x, &y, &name_at);
	fputs("</svg>\n", to);
}

FILE *drawing_open(const char *path)
{
	FILE *to = fopen(path, "w");

	if (!to)
		complain("--plot %s: %s", path, strerror(errno));
	return to;
}

int drawing_write(const struct drawing *drawing, FILE *to, const char *path)
{
	bool failed;

	write_svg(drawing, to);
	failed = ferror(to);
	if (fclose(to) || failed)
		return complain("--plot %s: %s", path, strerror(errno));
	return 0;
}
