/* SPDX-License-Identifier: BSD-2-Clause */
/* What bsn-info can be asked for. */
#ifndef BSN_INFO_INFO_H
#define BSN_INFO_INFO_H

enum { INFO_OK = 0, INFO_FAILED = 1, INFO_USAGE = 2, INFO_WRONG = 3 };

struct info_options {
	char *device; /* NULL: all */
	char *root;   /* of a recorded host; NULL: this one */
	char *peer;   /* NULL: none */
	char *watch;  /* as it was said; NULL: every second */
	char *plot;   /* the recording; NULL: none is to be plotted */
	int json, version, check, watches, count;
	double interval; /* of watch, in seconds */
};

/* Each returns the exit status, and has said on standard error what failed. */
int info_devices(const struct info_options *options);
int info_check(const struct info_options *options);
int info_watch(const struct info_options *options);
int info_plot(const struct info_options *options);

/* As JSON on standard output: over several lines, for one object. */
struct json_object;
void info_print_json(struct json_object *object);

#endif
