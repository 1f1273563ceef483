/* SPDX-License-Identifier: BSD-2-Clause */
/* The options that all commands have, and numbers among options. */
#include "perf.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void perf_options_free(struct perf_options *options)
{
	free(options->device);
	free(options->output);
}

int parse_options(poptContext context)
{
	return complain_of_option(context, poptGetNextOpt(context));
}

int complain_of_option(poptContext context, int got)
{
	if (got < -1)
		return complain_usage("%s: %s", poptBadOption(context, POPT_BADOPTION_NOALIAS),
				      poptStrerror(got));
	return 0;
}

/* The power of two that a suffix means; -1: there is no such suffix. */
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
