/* SPDX-License-Identifier: BSD-2-Clause */
/* Options, complaints and reports, for every command. */
#include "perf.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void print_line(const char *format, va_list args)
{
	fflush(stdout);
	fputs("bsn-perf: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

int complain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line(format, args);
	va_end(args);
	return PERF_FAILED;
}

int complain_usage(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line(format, args);
	va_end(args);
	return PERF_USAGE;
}

int complain_of(const char *what, int error)
{
	const char *text = bsn_error_text();

	if (!*text)
		text = strerror(-error);
	return what ? complain("%s: %s", what, text) : complain("%s", text);
}

void perf_options_free(struct perf_options *options)
{
	free(options->device);
	free(options->output);
}

int parse_options(poptContext context)
{
	const int got = poptGetNextOpt(context);

	if (got < -1)
		return complain_usage("%s: %s", poptBadOption(context, POPT_BADOPTION_NOALIAS),
				      poptStrerror(got));
	return 0;
}

/* The power of two that a suffix stands for; -1: there is no such suffix. */
static int shift_of(const char *suffix)
{
	static const char letters[] = "kmg";
	const char *letter;

	if (!*suffix)
		return 0;
	letter = strchr(letters, tolower((unsigned char)*suffix));
	return letter && !suffix[1] ? 10 * (int)(letter - letters + 1) : -1;
}

int parse_number(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	unsigned long long number;
	char *end;
	int shift;

	errno = 0;
	number = strtoull(text, &end, 10);
	shift = end == text ? -1 : shift_of(end);
	if (!isdigit((unsigned char)*text) || shift < 0)
		return complain_usage("--%s %s: not a number", option, text);
	if (errno || number > max >> shift || number << shift < min)
		return complain_usage("--%s %s: must be %llu to %llu", option, text,
				      (unsigned long long)min, (unsigned long long)max);
	*value = number << shift;
	return 0;
}

FILE *report_open(const struct perf_options *options)
{
	FILE *report;

	if (!options->output)
		return stdout;
	report = fopen(options->output, "w");
	if (!report)
		complain("--output %s: %s", options->output, strerror(errno));
	return report;
}

int report_close(FILE *report, const struct perf_options *options)
{
	const bool failed = fflush(report) || ferror(report);
	const int error = errno;

	if (report != stdout)
		fclose(report);
	return failed ? complain("%s: %s", options->output ? options->output : "standard output",
				 strerror(error))
		      : PERF_OK;
}

struct json_object *json_figure(double value)
{
	struct json_object *object = json_object_new_double(value);

	json_object_set_serializer(object, json_object_double_to_json_string, "%.2f", NULL);
	return object;
}

void json_print(FILE *report, struct json_object *object)
{
	fputs(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PRETTY |
							     JSON_C_TO_STRING_SPACED |
							     JSON_C_TO_STRING_NOSLASHESCAPE),
	      report);
	fputc('\n', report);
	json_object_put(object);
}

const char *path_name(const struct bsn_device_info *info)
{
	return info->path == BSN_PATH_DIRECT ? "dv" : "verbs";
}

const char *store_name(const struct bsn_device_info *info)
{
	return info->path == BSN_PATH_DIRECT ? bsn_store_name(info->store) : "none";
}

const char *cpu_name(void)
{
	static char line[256];
	FILE *cpuinfo = fopen("/proc/cpuinfo", "r");
	const char *name = NULL;

	while (cpuinfo && !name && fgets(line, sizeof(line), cpuinfo)) {
		char *colon = strchr(line, ':');
		if (!colon || (strncmp(line, "model name", 10) && strncmp(line, "CPU part", 8)))
			continue;
		line[strcspn(line, "\n")] = 0;
		name = colon + 1 + strspn(colon + 1, " \t");
	}
	if (cpuinfo)
		fclose(cpuinfo);
	return name ? name : "unknown";
}
