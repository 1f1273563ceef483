/* SPDX-License-Identifier: BSD-2-Clause */
/* wqe-dump -p and -c. */
#ifndef WQE_DUMP_COMMAND_LIVE_H
#define WQE_DUMP_COMMAND_LIVE_H

#include <popt.h>
#include <stdbool.h>

struct tell;

/* Its options, for POPT_ARG_INCLUDE_TABLE */
extern struct poptOption live_options[];

/** live_is_meant() - whether one of them was given */
bool live_is_meant(void);

/** command_live() - runs them; @paths: other arguments of the command line, or NULL */
int command_live(const char **paths, struct tell *tell);

#endif
