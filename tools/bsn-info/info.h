/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of bsn-info, and its four modes. */
#ifndef BSN_INFO_INFO_H
#define BSN_INFO_INFO_H

enum { INFO_OK = 0, INFO_FAILED = 1, INFO_USAGE = 2, INFO_WRONG = 3 };

struct info_options {
	char *device; /* NULL: all */
	char *root;   /* of a recorded host; NULL: this one */
	char *peer;   /* NULL: none */
	char *watch;  /* the interval as text; NULL: every second */
	char *plot;   /* the recording to plot; NULL: none */
	int json, version, check, watches, count;
	double interval; /* of --watch, in seconds */
};

/* Each returns the exit status. What failed is printed on standard error. */
int info_devices(const struct info_options *options);
int info_check(const struct info_options *options);
int info_watch(const struct info_options *options);
int info_plot(const struct info_options *options);

/* Prints an object as JSON of several lines, and puts it. */
struct json_object;
void info_print_json(struct json_object *object);

#endif
