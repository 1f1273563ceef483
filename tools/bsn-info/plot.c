/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bsn-info --plot: draws a recording of --watch --json as SVG. The first panel has the traffic of
 * all ports; each further one has a counter that rose and should not.
 */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "counters.h"
#include "info.h"

enum {
	WIDTH = 960,
	LEFT = 90,
	PLOT_WIDTH = WIDTH - LEFT - 20,
	PANEL = 150, /* height, with the title */
	PLOT_HEIGHT = 90,
	SERIES_MAX = 64, /* lines in a panel */
};

struct point {
	double time, rate;
};

/* A counter of a port or device. */
struct line {
	char place[64];
	unsigned counter, count;
	struct point *points;
	bool is_shown;
};

struct recording {
	unsigned count;
	struct line *lines;
	double first, last; /* seconds since 1970 */
	bool is_empty;
};

/* -- reading ----------------------------------------------------------------------------------- */

static void *grow(void *list, unsigned count, size_t size)
{
	/* The list doubles when the count is a power of two. */
	if (count & (count - 1))
		return list;
	list = realloc(list, (count ? 2 * (size_t)count : 1) * size);
	if (!list)
		err(INFO_FAILED, "recording");
	return list;
}

static struct line *find_line(struct recording *recording, const char *place, unsigned counter)
{
	struct line *line;

	for (unsigned i = 0; i < recording->count; i++)
		if (recording->lines[i].counter == counter &&
		    !strcmp(recording->lines[i].place, place))
			return &recording->lines[i];
	recording->lines = grow(recording->lines, recording->count, sizeof(*line));
	line = &recording->lines[recording->count++];
	*line = (struct line){ .counter = counter };
	snprintf(line->place, sizeof(line->place), "%s", place);
	return line;
}

static void add_point(struct recording *recording, const char *place, unsigned counter, double time,
		      double rate)
{
	struct line *line = find_line(recording, place, counter);

	line->points = grow(line->points, line->count, sizeof(*line->points));
	line->points[line->count++] = (struct point){ time, rate };
	if (rate > 0 && (counter_at(counter)->means || counter < 2))
		line->is_shown = true;
}

static bool get_number(struct json_object *object, const char *key, double *number)
{
	struct json_object *value;

	if (!json_object_object_get_ex(object, key, &value) ||
	    (!json_object_is_type(value, json_type_double) &&
	     !json_object_is_type(value, json_type_int)))
		return false;
	*number = json_object_get_double(value);
	return *number >= 0 && *number < 1e18;
}

/* Adds a line of the recording. Returns NULL, or what is wrong with it. */
static const char *take(struct recording *recording, struct json_object *object)
{
	struct json_object *rates, *device;
	double time, port, rate;
	char place[64];

	if (!json_object_is_type(object, json_type_object) || !get_number(object, "time", &time) ||
	    !get_number(object, "port", &port) || port > UINT8_MAX ||
	    !json_object_object_get_ex(object, "device", &device) ||
	    !json_object_is_type(device, json_type_string) ||
	    !json_object_object_get_ex(object, "rates", &rates) ||
	    !json_object_is_type(rates, json_type_object))
		return "not a line of bsn-info --watch --json";
	snprintf(place, sizeof(place), "%.56s/%u", json_object_get_string(device), (unsigned)port);
	for (unsigned i = 0; i < COUNTERS; i++)
		if (get_number(rates, counter_at(i)->name, &rate))
			add_point(recording, place, i, time, rate);
	if (recording->is_empty || time < recording->first)
		recording->first = time;
	if (recording->is_empty || time > recording->last)
		recording->last = time;
	recording->is_empty = false;
	return NULL;
}

static bool read_recording(const char *name, FILE *file, struct recording *recording)
{
	const char *why = NULL;
	unsigned number = 0;
	char *line = NULL;
	size_t size = 0;

	while (!why && getline(&line, &size, file) > 0) {
		struct json_object *object = json_tokener_parse(line);

		number++;
		why = take(recording, object);
		json_object_put(object);
	}
	free(line);
	if (!why && ferror(file))
		why = strerror(errno);
	if (!why && recording->is_empty)
		why = "the recording is empty";
	if (why)
		fprintf(stderr, "bsn-info: %s:%u: %s\n", name, number, why);
	return !why;
}

/* -- drawing ----------------------------------------------------------------------------------- */

static const char *const colors[] = { "#1f77b4", "#d62728", "#2ca02c",
				      "#9467bd", "#ff7f0e", "#17becf" };

/* Prints '?' for characters that XML would need escaped; no device name has them. */
static void print_escaped(const char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~' || strchr("<>&\"'", *text))
			putchar('?');
		else
			putchar(*text);
}

static bool is_of_panel(const struct line *line, unsigned counter)
{
	return line->is_shown && (counter < 2 ? line->counter < 2 : line->counter == counter);
}

static double highest_of(const struct recording *recording, unsigned counter)
{
	double highest = 0;

	for (unsigned i = 0; i < recording->count; i++)
		for (unsigned k = 0; k < recording->lines[i].count; k++)
			if (is_of_panel(&recording->lines[i], counter) &&
			    recording->lines[i].points[k].rate > highest)
				highest = recording->lines[i].points[k].rate;
	return highest;
}

static void draw_line(const struct recording *recording, const struct line *line, double top,
		      double highest, const char *color)
{
	const double span =
		recording->last > recording->first ? recording->last - recording->first : 1;

	/* rx is dashed, so that tx shows through where both are equal. */
	printf("<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\"%s points=\"", color,
	       line->counter == 1 ? " stroke-dasharray=\"6 4\"" : "");
	for (unsigned k = 0; k < line->count; k++)
		printf("%.1f,%.1f ",
		       LEFT + PLOT_WIDTH * (line->points[k].time - recording->first) / span,
		       top + PLOT_HEIGHT * (1 - line->points[k].rate / highest));
	printf("\"/>\n");
}

static void draw_frame(const struct recording *recording, unsigned counter, double top,
		       double highest)
{
	const struct counter *what = counter_at(counter);

	printf("<text x=\"%d\" y=\"%.0f\" font-weight=\"bold\">%s</text>\n", LEFT, top - 22,
	       counter < 2 ? "traffic, Gb/s" : what->name);
	if (what->means)
		printf("<text x=\"%d\" y=\"%.0f\">%s (should be: %s)</text>\n", LEFT, top - 7,
		       what->means, what->expected);
	printf("<rect x=\"%d\" y=\"%.0f\" width=\"%d\" height=\"%d\" fill=\"none\" "
	       "stroke=\"#999\"/>\n",
	       LEFT, top, PLOT_WIDTH, PLOT_HEIGHT);
	printf("<text x=\"%d\" y=\"%.0f\" text-anchor=\"end\">%.4g%s</text>\n", LEFT - 6, top + 10,
	       counter < 2 ? highest * 8e-9 : highest, counter < 2 ? "" : "/s");
	printf("<text x=\"%d\" y=\"%.0f\" text-anchor=\"end\">0</text>\n", LEFT - 6,
	       top + PLOT_HEIGHT);
	printf("<text x=\"%d\" y=\"%.0f\" text-anchor=\"end\">%.4g s</text>\n", WIDTH - 20,
	       top + PLOT_HEIGHT + 14, recording->last - recording->first);
}

static void draw_panel(const struct recording *recording, unsigned counter, double top)
{
	const double highest = highest_of(recording, counter);
	unsigned drawn = 0;

	draw_frame(recording, counter, top, highest);
	for (unsigned i = 0; i < recording->count && drawn < SERIES_MAX; i++) {
		const struct line *line = &recording->lines[i];
		const char *color = colors[drawn % (sizeof(colors) / sizeof(colors[0]))];

		if (!is_of_panel(line, counter))
			continue;
		draw_line(recording, line, top, highest, color);
		printf("<text x=\"%d\" y=\"%.0f\" fill=\"%s\">",
		       LEFT + 4 + 150 * (int)(drawn++ % 5), top + PLOT_HEIGHT + 14, color);
		print_escaped(line->place);
		printf("%s</text>\n", counter > 1 ? "" : line->counter ? " rx" : " tx");
	}
}

/* The first counter of each panel. The two counters of traffic share one. */
static unsigned panels_of(const struct recording *recording, unsigned panels[COUNTERS])
{
	unsigned count = 0;

	for (unsigned c = 0; c < COUNTERS; c += c ? 1 : 2)
		for (unsigned i = 0; i < recording->count; i++)
			if (is_of_panel(&recording->lines[i], c)) {
				panels[count++] = c;
				break;
			}
	return count;
}

static void draw(const struct recording *recording)
{
	unsigned panels[COUNTERS];
	const unsigned count = panels_of(recording, panels);

	printf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
	       "font-family=\"sans-serif\" font-size=\"11\">\n"
	       "<title>bsn-info --watch</title>\n<rect width=\"100%%\" height=\"100%%\" "
	       "fill=\"white\"/>\n",
	       WIDTH, count ? PANEL * count : PANEL);
	if (!count)
		printf("<text x=\"%d\" y=\"40\">no traffic, and no counter rose</text>\n", LEFT);
	for (unsigned i = 0; i < count; i++)
		draw_panel(recording, panels[i], PANEL * i + 40);
	printf("</svg>\n");
}

int info_plot(const struct info_options *options)
{
	const bool is_stdin = !strcmp(options->plot, "-");
	FILE *file = is_stdin ? stdin : fopen(options->plot, "re");
	struct recording recording = { .is_empty = true };
	bool is_read;

	if (!file) {
		fprintf(stderr, "bsn-info: %s: %s\n", options->plot, strerror(errno));
		return INFO_FAILED;
	}
	is_read = read_recording(options->plot, file, &recording);
	if (is_read)
		draw(&recording);
	for (unsigned i = 0; i < recording.count; i++)
		free(recording.lines[i].points);
	free(recording.lines);
	if (!is_stdin)
		fclose(file);
	return is_read ? INFO_OK : INFO_FAILED;
}
