/* SPDX-License-Identifier: BSD-2-Clause */
/* Undoes what loggers, mailers, web pages and word processors make of a line. */
#ifndef WQE_DUMP_PREFIX_H
#define WQE_DUMP_PREFIX_H

#include "../text/text.h"

/** markup_undo() - makes HTML's "&gt;", typographic quotes and the like what the program printed */
void markup_undo(struct line *line);

/**
 * prefix_strip() - takes off what loggers put before a line
 *
 * Knows the kernel, the journal, syslog, containers, mpirun, srun, NCCL, UCX and quotes of mail.
 * Who wrote the line (host, process, rank) becomes its stream; times do not count.
 */
void prefix_strip(struct line *line);

/* The prefix of a second message in a stripped line, of programs that share a terminal; or NULL */
char *prefix_next(const struct line *line);

/**
 * prefix_strip_quote() - takes off marks of mail, comments and strings, tags of a page, blanks
 *
 * Return: false: the rest is empty or has a logger's prefix, and so is a line of its own.
 */
bool prefix_strip_quote(struct line *line);

#endif
