/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the commands of bsn-perf have in common: options (options.c), the clock, and what they say
 * (report.c).
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

enum perf_exit { PERF_OK = 0, PERF_FAILED = 1, PERF_USAGE = 2 };

/* One line on stderr, with the program's name. Returns the status. */
int complain_as(enum perf_exit status, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
#define complain(...)       complain_as(PERF_FAILED, __VA_ARGS__)
#define complain_usage(...) complain_as(PERF_USAGE, __VA_ARGS__)

/* What a call to the library that failed with -errno says. */
const char *error_text(int error);
/* complain() of it; @what or NULL */
int complain_of(const char *what, int error);

/* A line on a terminal, if there is one, that says how far a long run is, and is then erased. */
bool progress_is_shown(void);
void show_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void end_progress(void);

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* -- options ----------------------------------------------------------------------------------- */

/* What every command takes. @args: all that follows the command's name, to run it once more */
struct perf_options {
	char *device, *store, *output;
	int json;
	const char *const *args;
};
extern struct perf_options perf_options;

/* The popt tables of them, and of the command's numbers, to be included by the command's own. */
/* clang-format off */
#define PERF_OPTIONS                                                                               \
	{ NULL, 0, POPT_ARG_INCLUDE_TABLE, (void *)(uintptr_t)perf_option_table, 0, NULL, NULL },  \
	{ NULL, 0, POPT_ARG_INCLUDE_TABLE, perf_number_table, 0, NULL, NULL }
/* clang-format on */
extern const struct poptOption perf_option_table[];

/*
 * An option that is a number, which may end in k, m or g (2^10, ...).
 * @value: the one by default, until it is read
 * @unit: "SECONDS" may have a fraction; @min, @max and @value are then in milliseconds
 */
struct perf_number {
	const char *name;
	char letter;
	uint64_t min, max, value;
	const char *doc, *unit;
};

/*
 * They as options, for PERF_OPTIONS. In a command's table an option whose val is 1 and more is a
 * number of that index, plus 1.
 */
enum { PERF_NUMBERS_MAX = 32 };
extern struct poptOption perf_number_table[];
extern bool number_given[PERF_NUMBERS_MAX];

/* The index of a name, whatever its case; -1: it is none of them. */
int find_name(const char *name, const char *const *names, unsigned count);
/* Reads one, or a list of up to @most: 0, or PERF_USAGE. */
int parse_number(struct perf_number *number, const char *text);
int parse_numbers(struct perf_number *number, char *list, unsigned *numbers, unsigned most,
		  unsigned *count);
/* Whether this is the run beside, of cost/count.c. */
bool is_under_callgrind(void);
/*
 * Opens the device that the options name, with their store; under callgrind, whose CPU has fewer
 * stores, with 8x8. @attr: as bsn_device_open(). 0, PERF_FAILED or PERF_USAGE after a complaint.
 */
int perf_open_device(const struct bsn_device_attr *attr, struct bsn_device **device);

/* -- reports ----------------------------------------------------------------------------------- */

/* Where the report goes: opened before anything is measured. NULL after a complaint. */
FILE *report_open(void);
int report_close(FILE *report);

/* A figure has two decimals. The whole object as text is then freed. */
void json_add_text(struct json_object *to, const char *name, const char *text);
void json_add_number(struct json_object *to, const char *name, uint64_t number);
void json_add_bool(struct json_object *to, const char *name, bool value);
void json_add_figure(struct json_object *to, const char *name, double value);
void json_print(FILE *report, struct json_object *object);

void json_add_device(struct json_object *report, const struct bsn_device_info *info);
/* One more object at the end of a list, which is made when it is not there yet. */
struct json_object *json_add_to_list(struct json_object *to, const char *list);

const char *path_name(const struct bsn_device_info *info);
/* "softcx" if the device is one, as the name of its board says; else NULL. */
const char *model_name(const struct bsn_device_info *info);
/* "none" on plain verbs. */
const char *store_name(const struct bsn_device_info *info);
/* Of /proc/cpuinfo. */
const char *cpu_name(void);

/* -- a device that has to be told to work (stepper.c) ------------------------------------------ */

/*
 * Under softcx in its passive mode nothing happens to what was posted until the program calls
 * softcx_step(), which the preloaded (or linked-in) library exports; so posts cost what their
 * stores cost, and the model runs between the measurements. Every other device works by itself, and
 * the functions here do nothing. prefer_stepping() asks for that mode, and prefer_sessions() for
 * compressed CQEs where a CQ allows them, before any device is opened, unless the environment says
 * something else.
 */
void prefer_stepping(void);
void prefer_sessions(void);
bool is_stepped(void);

/* Executes all that was posted; returns whether there was anything. */
bool step(void);
/* Gives the device time for what was posted: steps it, or waits for one that has no steps. */
void let_device_work(void);

/* -- commands ---------------------------------------------------------------------------------- */

/*
 * @arguments: what its help says of them; NULL: it takes none
 * @read: checks its options, once they are read, and its arguments
 * @run: does it all, and reports
 */
struct perf_command {
	const char *name, *summary, *arguments;
	const struct poptOption *options;
	struct perf_number *numbers;
	unsigned number_count;
	int (*read)(poptContext context);
	int (*run)(FILE *report);
};

/* Before its context is made; then: reads and checks all options. 0, or an exit status */
void number_options(const struct perf_command *command);
int read_options(poptContext context, const struct perf_command *command);

extern const struct perf_command cost_command, dc_command, lat_command, bw_command;

#endif
