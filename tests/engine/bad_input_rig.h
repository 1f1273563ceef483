/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mistakes of callers and of their environment. Each is an error of its own, whose text says what
 * to do, and afterwards everything is as it was.
 */
#ifndef TESTS_ENGINE_BAD_INPUT_RIG_H
#define TESTS_ENGINE_BAD_INPUT_RIG_H

#include "harness.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <infiniband/mlx5dv.h>

#include "bsn_mkey.h"
#include "refuse.h"

/* What a call that was refused must say, and must not have written. */
#define UNTOUCHED ((void *)0x55)

static inline void assert_says(int result, int error, const char *word, const char *call, int line)
{
	if (result != -error || !strstr(bsn_error_text(), word))
		print_error("%s: %d, \"%s\", which does not say \"%s\"\n", call, result,
			    bsn_error_text(), word);
	_assert_int_equal(result, -error, __FILE__, line);
	_assert_true(strstr(bsn_error_text(), word) != NULL, word, __FILE__, line);
}

#define refused(error, word, call) assert_says(call, error, word, #call, __LINE__)
/* Checks a refused call that would create something; its out parameter is named "out". */
#define REFUSED(error, word, type, call)                                                           \
	do {                                                                                       \
		struct type *out_ = UNTOUCHED, **out = &out_;                                      \
		assert_says(call, error, word, #call, __LINE__);                                   \
		assert_ptr_equal(out_, UNTOUCHED);                                                 \
	} while (0)

/* -- memory that may not be locked ------------------------------------------------------------- */

#endif
