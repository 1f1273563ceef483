/* SPDX-License-Identifier: BSD-2-Clause */
/* Undoes what web pages and word processors make of the characters of a log. */
#ifndef WQE_DUMP_MARKUP_H
#define WQE_DUMP_MARKUP_H

#include "input.h"

/**
 * markup_undo() - writes a line with the characters that the program printed
 *
 * HTML references such as "&gt;" become the character; no-break spaces, typographic quotes and the
 * multiplication sign become what a keyboard has.
 */
void markup_undo(struct line *line);

#endif
