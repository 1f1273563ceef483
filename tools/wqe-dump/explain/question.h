/* SPDX-License-Identifier: BSD-2-Clause */
/* Which errors a question may be about: "explain 81", "explain local protection 0x52". */
#ifndef WQE_DUMP_QUESTION_H
#define WQE_DUMP_QUESTION_H

#include "explain.h"

#define READINGS_MAX 8

/** enum number_base - the base of digits without 0x */
enum number_base { BASE_OPEN, BASE_DECIMAL, BASE_HEX };

/** struct readings - the errors that a question may be about, the likeliest first */
struct readings {
	unsigned count;
	struct error error[READINGS_MAX];
};

/**
 * question_read() - fills in readings; none if nothing in the question names an error
 * @words: numbers and words in any order; "status", "syndrome", "vendor", "health", "command" say
 *         what the next number is
 */
void question_read(const char *const *words, unsigned count, enum number_base base,
		   struct readings *readings);

#endif
