/* SPDX-License-Identifier: BSD-2-Clause */
/* Undoes what loggers, mailers, web pages and word processors make of a line. */
#ifndef WQE_DUMP_PREFIX_H
#define WQE_DUMP_PREFIX_H

#include "../text/text.h"

/**
 * markup_undo() - writes a line with the characters that the program printed
 *
 * HTML references such as "&gt;" become the character; no-break spaces, typographic quotes and the
 * multiplication sign become what a keyboard has.
 */
void markup_undo(struct line *line);

/**
 * prefix_strip() - takes off what loggers put before a line
 *
 * Knows the kernel, the journal, syslog, containers, mpirun, srun, NCCL, UCX and quotes of mail.
 * Who wrote the line (host, process, rank) becomes its stream; times do not count.
 */
void prefix_strip(struct line *line);

/**
 * prefix_next() - finds a second message in a line, as programs that share a terminal write it
 * @line: without the prefix of its first message
 *
 * Return: the prefix of the second message, or NULL.
 */
char *prefix_next(const struct line *line);

/**
 * prefix_strip_quote() - takes off what quoting put before a line
 *
 * Marks of mail, of comments and strings, tags of a page, blanks.
 * Return: false if the rest is empty or has a logger's prefix, and so is a line of its own.
 */
bool prefix_strip_quote(struct line *line);

#endif
