/* SPDX-License-Identifier: BSD-2-Clause */
/* What web pages and word processors make of the characters of a log. */
#ifndef WQE_DUMP_MARKUP_H
#define WQE_DUMP_MARKUP_H

#include "input.h"

/**
 * markup_undo() - writes a line with the characters that the program printed
 *
 * "&gt;" and other references of HTML become what they stand for; blanks that do not break, quotes
 * of printers and the sign of multiplication become those that a keyboard has.
 */
void markup_undo(struct line *line);

#endif
