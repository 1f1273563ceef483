/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the error that a user means by words: "remote access", "IBV_WC_RETRY_EXC_ERR", "rnr". */
#ifndef WQE_DUMP_MATCH_H
#define WQE_DUMP_MATCH_H

#include "explain.h"

#define MATCH_MAX 6

/** struct match - what words may mean */
struct match {
	unsigned count;
	struct meaning found[MATCH_MAX];
};

/**
 * match_words() - the errors that words name best
 * @text: any text; up to half of its words may name no error
 * @space: of the errors, or SPACE_COUNT for any
 * @match: filled with those that fit best, at most MATCH_MAX
 */
void match_words(const char *text, enum error_space space, struct match *match);

#endif
