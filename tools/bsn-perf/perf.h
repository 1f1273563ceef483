/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the commands of bsn-perf have in common: complaints (complain.c), the clock, options
 * (options.c), and where reports go (report.c).
 */
#ifndef PERF_H
#define PERF_H

#include <popt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <json-c/json.h>

#include "bsn.h"

/* Exit statuses. */
enum perf_exit { PERF_OK = 0, PERF_FAILED = 1, PERF_USAGE = 2 };

/* One line on stderr, with the program's name; returns PERF_FAILED, and the other PERF_USAGE. */
int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
int complain_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * complain() of a call to the library that failed: bsn_error_text(), or else -errno; @what or NULL
 */
int complain_of(const char *what, int error);

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* -- options ----------------------------------------------------------------------------------- */

/* What every command takes. */
struct perf_options {
	char *device, *store, *output;
	int json;
};

/* The popt table of them, to be included by the command's own. */
#define PERF_OPTIONS(o)                                                                            \
	{ "device",                                                                                \
	  'd',                                                                                     \
	  POPT_ARG_STRING,                                                                         \
	  &(o)->device,                                                                            \
	  0,                                                                                       \
	  "the device (default: the first mlx5 device, else the first verbs device)",              \
	  "NAME" },                                                                                \
		{ "store",                                                                         \
		  0,                                                                               \
		  POPT_ARG_STRING,                                                                 \
		  &(o)->store,                                                                     \
		  0,                                                                               \
		  "Bunsen's BlueFlame store, as BSN_STORE",                                        \
		  "STORE" },                                                                       \
		{ "json", 'j', POPT_ARG_NONE, &(o)->json, 0, "print the report as JSON", NULL },   \
	{                                                                                          \
		"output", 'o', POPT_ARG_STRING, &(o)->output, 0, "write the report to FILE",       \
			"FILE"                                                                     \
	}

/*
 * An option that is a number, which may end in k, m or g (2^10, ...): its row of a popt table is a
 * POPT_ARG_STRING whose val is 1 and more, its index here.
 */
struct perf_number {
	const char *name;
	uint64_t min, max, value; /* the one by default, until it is read */
	bool is_given;
};

/* Reads all options. 0, or PERF_USAGE after a complaint; or what popt gave for another @val. */
int read_options(poptContext context, struct perf_number *numbers, unsigned count);

/* The same, of a command that takes no arguments, and whose other options have no val. */
int parse_options(poptContext context, const char *command, struct perf_number *numbers,
		  unsigned count);

/* Such a number: 0, or PERF_USAGE. */
int parse_number(struct perf_number *number, const char *text);

/*
 * Opens the device that the options name, with their store; under callgrind, whose CPU has fewer
 * stores, with any. 0, PERF_FAILED or PERF_USAGE after a complaint.
 */
int perf_open_device(const struct perf_options *options, struct bsn_device_attr *attr,
		     struct bsn_device **device);

/* -- reports ----------------------------------------------------------------------------------- */

/* Where the report goes: opened before anything is measured. NULL after a complaint. */
FILE *report_open(const struct perf_options *options);

/* Closes it; a report that could not be written is a failure. */
int report_close(FILE *report, const struct perf_options *options);

/* A figure of so many decimals; and the whole object as text, which is then freed. */
struct json_object *json_figure(double value);
void json_print(FILE *report, struct json_object *object);

/* Adds the device, path, CPU and store of a report. */
void json_add_device(struct json_object *report, const struct bsn_device_info *info);

/* "direct" or "verbs", and the name of the store or NULL where there is none. */
const char *path_name(const struct bsn_device_info *info);
const char *store_name(const struct bsn_device_info *info);

/* What --store is to be in another run of this program. */
const char *store_option(const struct bsn_device_info *info);

/* What kind of CPU this is, of /proc/cpuinfo. */
const char *cpu_name(void);

/* -- commands ---------------------------------------------------------------------------------- */

int cost_main(int argc, const char **argv);
int dc_main(int argc, const char **argv);
int lat_main(int argc, const char **argv);
int bw_main(int argc, const char **argv);

#endif
