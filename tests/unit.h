/* SPDX-License-Identifier: BSD-2-Clause */
/* cmocka, with the headers that must come before it. */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* Few cases need the state that cmocka gives each. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* The program of a file that has nothing but its cases, and at most a set-up for all of them. */
#define UNIT(function) cmocka_unit_test(function)
#define UNIT_MAIN(set_up, ...)                                                                     \
	int main(void)                                                                             \
	{                                                                                          \
		const struct CMUnitTest cases[] = { __VA_ARGS__ };                                 \
		return cmocka_run_group_tests(cases, set_up, NULL);                                \
	}

#endif
