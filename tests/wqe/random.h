/* SPDX-License-Identifier: BSD-2-Clause */
/* Random numbers that can be repeated: the seed is printed, and BSN_SEED sets it. */
#ifndef TESTS_WQE_RANDOM_H
#define TESTS_WQE_RANDOM_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* One for all files of a program. */
uint64_t random_state __attribute__((weak));

/* xorshift64*: fast, and good enough to hit every bit. */
static inline uint64_t random_u64(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return random_state * 0x2545f4914f6cdd1dull;
}

static inline void random_bytes(void *dst, size_t size)
{
	for (size_t i = 0; i < size; i += 8) {
		const uint64_t v = random_u64();
		memcpy((uint8_t *)dst + i, &v, size - i < 8 ? size - i : 8);
	}
}

static inline void random_start(void)
{
	const char *wanted = getenv("BSN_SEED");

	random_state = wanted ? strtoull(wanted, NULL, 0) : (uint64_t)time(NULL) << 20;
	random_state |= 1;
	fprintf(stderr, "# BSN_SEED=%#llx\n", (unsigned long long)random_state);
}

/* The same as the set-up of a program's cases. */
static inline int random_set_up(void **state)
{
	(void)state;
	random_start();
	return 0;
}

#endif
