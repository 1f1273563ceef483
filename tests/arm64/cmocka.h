/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * As much of cmocka as the tests of wqe/ and dv/ use, in one header: for cross builds, where there
 * is no cmocka. A failed case ends by a jump; the cases are told in TAP.
 */
#ifndef TESTS_ARM64_CMOCKA_H
#define TESTS_ARM64_CMOCKA_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static jmp_buf end_of_case;

#define print_message(...) printf(__VA_ARGS__)
#define print_error(...)   printf("# " __VA_ARGS__)

#define fail_msg(...)                                                                              \
	do {                                                                                       \
		printf("# %s:%d: ", __FILE__, __LINE__);                                           \
		printf(__VA_ARGS__);                                                               \
		printf("\n");                                                                      \
		longjmp(end_of_case, 1);                                                           \
	} while (0)

#define assert_holds(holds, what)                                                                  \
	do {                                                                                       \
		if (!(holds))                                                                      \
			fail_msg("%s", what);                                                      \
	} while (0)

#define assert_true(c)                 assert_holds(c, #c)
#define assert_false(c)                assert_holds(!(c), "not: " #c)
#define assert_null(p)                 assert_holds((p) == NULL, #p " is NULL")
#define assert_non_null(p)             assert_holds((p) != NULL, #p " is not NULL")
#define assert_ptr_equal(a, b)         assert_holds((const void *)(a) == (b), #a " is " #b)
#define assert_string_equal(a, b)      assert_holds(!strcmp(a, b), #a " reads " #b)
#define assert_string_not_equal(a, b)  assert_holds(strcmp(a, b), #a " does not read " #b)
#define assert_memory_equal(a, b, n)   assert_holds(!memcmp(a, b, n), #a " holds " #b)
#define assert_int_not_equal(a, b)     assert_holds((uint64_t)(a) != (uint64_t)(b), #a " != " #b)
#define assert_int_equal(a, b)                                                                     \
	do {                                                                                       \
		const uint64_t left = (uint64_t)(a), right = (uint64_t)(b);                        \
		if (left != right)                                                                 \
			fail_msg("%s: 0x%" PRIx64 ", %s: 0x%" PRIx64, #a, left, #b, right);        \
	} while (0)

struct CMUnitTest {
	const char *name;
	void (*run)(void **state);
};

#define cmocka_unit_test(function) { #function, function }

static int run_group(const struct CMUnitTest *tests, size_t count, int (*set_up)(void **),
		     int (*tear_down)(void **))
{
	void *state = NULL;
	volatile int failed = 0;

	if (set_up && set_up(&state))
		return 1;
	for (volatile size_t i = 0; i < count; i++) {
		const int ended_early = setjmp(end_of_case);
		if (!ended_early)
			tests[i].run(&state);
		printf("%sok %zu - %s\n", ended_early ? "not " : "", i + 1, tests[i].name);
		failed += ended_early;
	}
	printf("1..%zu\n", count);
	if (tear_down)
		tear_down(&state);
	return failed;
}

#define cmocka_run_group_tests(tests, set_up, tear_down)                                           \
	run_group(tests, sizeof(tests) / sizeof((tests)[0]), set_up, tear_down)

#endif
