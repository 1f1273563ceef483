/* SPDX-License-Identifier: BSD-2-Clause */
/* The options that all commands have, and numbers among options. */
#include "perf.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const struct poptOption perf_option_table[] = {
	{ "device", 'd', POPT_ARG_STRING, &perf_options.device, 0,
	  "the device (default: the first mlx5 device, else the first verbs device)", "NAME" },
	{ "store", 0, POPT_ARG_STRING, &perf_options.store, 0,
	  "Bunsen's BlueFlame store, as in BSN_STORE", "STORE" },
	{ "json", 'j', POPT_ARG_NONE, &perf_options.json, 0, "print the report as JSON", NULL },
	{ "output", 'o', POPT_ARG_STRING, &perf_options.output, 0, "write the report to FILE",
	  "FILE" },
	POPT_TABLEEND
};

int find_name(const char *name, const char *const *names, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (!strcasecmp(name, names[i]))
			return (int)i;
	return -1;
}

/* What --store says; -1 after a complaint. */
static int wanted_store(void)
{
#define OF_STORE(NAME, name) [BSN_STORE_##NAME] = name,
	static const char *const names[] = { BSN_STORES(OF_STORE) };
#undef OF_STORE
	const int store = perf_options.store
				  ? find_name(perf_options.store, names, BSN_STORE_COUNT)
				  : BSN_STORE_AUTO;

#define LISTED(NAME, name) " " name
	if (store < 0)
		complain_usage("--store %s: use one of" BSN_STORES(LISTED), perf_options.store);
#undef LISTED
	return store;
}

int perf_open_device(const struct bsn_device_attr *attr, struct bsn_device **device)
{
	struct bsn_device_attr with = attr ? *attr : (struct bsn_device_attr){ 0 };
	const int store = wanted_store();
	int err;

	if (store < 0)
		return PERF_USAGE;
	with.store = (enum bsn_store)store;
	err = bsn_device_open(perf_options.device, &with, device);
	if (err == -ENOTSUP && is_under_callgrind()) {
		with.store = BSN_STORE_8;
		err = bsn_device_open(perf_options.device, &with, device);
	}
	return err ? complain_of(NULL, err) : 0;
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

/* Seconds in milliseconds. Too large a number becomes UINT64_MAX, which is refused. */
static uint64_t parse_ms(const char *text, char **end)
{
	const double seconds = strtod(text, end);

	return seconds < UINT32_MAX ? (uint64_t)(seconds * 1e3 + 0.5) : UINT64_MAX;
}

static bool is_in_ms(const struct perf_number *n)
{
	return n->unit && !strcmp(n->unit, "SECONDS");
}

static int complain_of_range(const struct perf_number *n, const char *text)
{
	if (is_in_ms(n))
		return complain_usage("--%s %s: must be %g to %g", n->name, text,
				      (double)n->min / 1e3, (double)n->max / 1e3);
	return complain_usage("--%s %s: must be %llu to %llu", n->name, text,
			      (unsigned long long)n->min, (unsigned long long)n->max);
}

int parse_number(struct perf_number *n, const char *text)
{
	uint64_t number = 0;
	char *end = NULL;
	int shift;

	errno = 0;
	if (isdigit((unsigned char)*text))
		number = is_in_ms(n) ? parse_ms(text, &end) : strtoull(text, &end, 10);
	shift = end ? shift_of(end) : -1;
	if (shift < 0)
		return complain_usage("--%s %s: not a number", n->name, text);
	if (errno || number > n->max >> shift || number << shift < n->min)
		return complain_of_range(n, text);
	n->value = number << shift;
	return 0;
}

int parse_numbers(struct perf_number *n, char *list, unsigned *numbers, unsigned most,
		  unsigned *count)
{
	const char *text;
	int err = 0;

	*count = 0;
	while (!err && (text = strsep(&list, ","))) {
		if (*count == most)
			return complain_usage("--%s: %u numbers at most", n->name, most);
		err = parse_number(n, text);
		numbers[(*count)++] = (unsigned)n->value;
	}
	return err;
}

struct poptOption perf_number_table[PERF_NUMBERS_MAX + 1];
bool number_given[PERF_NUMBERS_MAX];

void number_options(const struct perf_command *command)
{
	for (unsigned i = 0; i < command->number_count; i++) {
		const struct perf_number *n = &command->numbers[i];

		perf_number_table[i] = (struct poptOption){ n->name, n->letter, POPT_ARG_STRING,
							    NULL, 1 + (int)i, n->doc, n->unit };
	}
}

int read_options(poptContext context, const struct perf_command *command)
{
	int got, err;

	while ((got = poptGetNextOpt(context)) > 0) {
		char *text = poptGetOptArg(context);

		err = parse_number(&command->numbers[got - 1], text);
		number_given[got - 1] = true;
		free(text);
		if (err)
			return err;
	}
	if (got < -1)
		return complain_usage("%s: %s", poptBadOption(context, POPT_BADOPTION_NOALIAS),
				      poptStrerror(got));
	if (!command->arguments && poptPeekArg(context))
		return complain_usage("%s takes no argument %s", command->name,
				      poptPeekArg(context));
	return command->read(context);
}
