/* SPDX-License-Identifier: BSD-2-Clause */
/* What every target has: an entry point for libFuzzer or our generator, and a check that aborts. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			dprintf(STDERR_FILENO, "%s:%d: %s\n", __FILE__, __LINE__, #condition);     \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

#endif
