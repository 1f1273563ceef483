/* SPDX-License-Identifier: BSD-2-Clause */
/* A line on a terminal that says how far a long run is, and is then erased. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>

/* Whether there is a terminal. */
bool progress_is_shown(void);

void show_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void end_progress(void);

#endif
