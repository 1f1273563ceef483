/* SPDX-License-Identifier: BSD-2-Clause */
/* cmocka, the headers that most tests of softcx need, and what their cases may use. */
#ifndef TESTS_SOFTCX_UNIT_H
#define TESTS_SOFTCX_UNIT_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../unit.h"

/* The rigs are static: most cases do not look at the state that cmocka hands them. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* The cases of a program, for main() to return; what all of them need is made before the first. */
#define RUN_IN(set_up, tear_down, ...)                                                             \
	cmocka_run_group_tests_name(__FILE__, ((const struct CMUnitTest[]){ __VA_ARGS__ }),        \
				    set_up, tear_down)
#define RUN(...) RUN_IN(NULL, NULL, __VA_ARGS__)

/* A case whose set-up finds a number or a text at *state, by its function's name or another one. */
/* clang-format off */
#define NAMED(name, f, value, set_up, tear_down)                                                   \
	{ name, f, set_up, tear_down, (void *)(uintptr_t)(value) }
/* clang-format on */
#define GIVEN(f, value, set_up, tear_down) NAMED(#f, f, value, set_up, tear_down)

static inline unsigned given(void **state)
{
	return (unsigned)(uintptr_t)*state;
}

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* What a call made, which must not be NULL. */
#define made(call) assert_made(call, #call, __FILE__, __LINE__)

/* It made nothing, or returned -1, and this is why. */
#define not_made(call, error)                                                                      \
	do {                                                                                       \
		errno = 0;                                                                         \
		assert_null(call);                                                                 \
		assert_int_equal(errno, error);                                                    \
	} while (0)
#define fails(call, error)                                                                         \
	do {                                                                                       \
		errno = 0;                                                                         \
		assert_int_equal(call, -1);                                                        \
		assert_int_equal(errno, error);                                                    \
	} while (0)

/* Unless it holds, a child, where cmocka's asserts do not work, ends; its status is the line. */
#define NEED(condition)                                                                            \
	do {                                                                                       \
		if (!(condition))                                                                  \
			_exit(__LINE__ % 200 + 1);                                                 \
	} while (0)

static inline void *assert_made(void *object, const char *call, const char *file, int line)
{
	_assert_true((uintptr_t)object, call, file, line);
	return object;
}

#endif
