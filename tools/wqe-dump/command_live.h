/* SPDX-License-Identifier: BSD-2-Clause */
/* wqe-dump -p and -c, to main.c. */
#ifndef WQE_DUMP_COMMAND_LIVE_H
#define WQE_DUMP_COMMAND_LIVE_H

#include <popt.h>
#include <stdbool.h>

struct sink;

/* Its options, for POPT_ARG_INCLUDE_TABLE */
extern struct poptOption live_options[];

/** live_is_meant() - whether one of them was given */
bool live_is_meant(void);

/** command_live() - does what they say; @paths: what else was on the command line, or NULL */
int command_live(const char **paths, struct sink *sink);

#endif
