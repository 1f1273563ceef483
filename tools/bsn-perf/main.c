/* SPDX-License-Identifier: BSD-2-Clause */
/* bsn-perf: which command is meant. */
#include "perf.h"

#include <string.h>

static const struct perf_command *const commands[] = { &cost_command, &dc_command, &lat_command,
						       &bw_command };

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_help(FILE *to)
{
	fputs("usage: bsn-perf COMMAND [OPTION...]\n\n", to);
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(to, "  %-7s %s\n", commands[i]->name, commands[i]->summary);
	fputs("\n  --help     print this; after a command, its options\n"
	      "  --version  print the version\n\nSee bsn-perf(1).\n",
	      to);
}

/* @argv: with the command's name first */
static int run(const struct perf_command *command, int argc, const char **argv)
{
	char title[32]; /* what a command's --help calls the program */
	FILE *report = NULL;
	poptContext context;
	int err, unwritten = 0;

	snprintf(title, sizeof(title), "bsn-perf %s", command->name);
	argv[0] = title;
	perf_options.args = argv + 1;
	number_options(command);
	context = poptGetContext(title, argc, argv, command->options, 0);
	if (command->arguments)
		poptSetOtherOptionHelp(context, command->arguments);
	err = read_options(context, command);
	if (!err)
		report = report_open();
	if (report) {
		err = command->run(report);
		unwritten = report_close(report);
	}
	poptFreeContext(context);
	return err ? err : report ? unwritten : PERF_FAILED;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	if (!name || !strcmp(name, "--help") || !strcmp(name, "-?") || !strcmp(name, "help")) {
		print_help(name ? stdout : stderr);
		return name ? PERF_OK : PERF_USAGE;
	}
	if (!strcmp(name, "--version")) {
		puts("bsn-perf " BSN_VERSION);
		return PERF_OK;
	}
	for (size_t i = 0; i < COMMANDS; i++)
		if (!strcmp(name, commands[i]->name))
			return run(commands[i], argc - 1, (const char **)argv + 1);
	return complain_usage("no command %s: see bsn-perf --help", name);
}
