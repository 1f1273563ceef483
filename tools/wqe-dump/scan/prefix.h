/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WQE_DUMP_PREFIX_H
#define WQE_DUMP_PREFIX_H

#include "input.h"

/**
 * prefix_strip() - takes off what loggers put before a line
 *
 * Those of the kernel, the journal, syslog, containers, mpirun, srun, NCCL, UCX and of mail that
 * quotes. What says who wrote the line (host, process, rank) becomes its stream, times do not.
 */
void prefix_strip(struct line *line);

/**
 * prefix_strip_quote() - takes off what stands before each line of a text that was quoted
 *
 * Marks of mail, of comments and strings, tags of a page, blanks.
 * Return: false if a line of its own begins there: it is empty, or has a prefix of a logger.
 */
bool prefix_strip_quote(struct line *line);

#endif
