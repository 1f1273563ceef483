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
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <infiniband/mlx5dv.h>

#include "bsn_mkey.h"
#include "refuse.h"

/* What a call that was refused must not have written. */
#define UNTOUCHED ((void *)0x55)

/* Checks a refused call that would create something; its out parameter is named "out". */
#define REFUSED(error, word, type, call)                                                           \
	do {                                                                                       \
		struct type *out_ = UNTOUCHED, **out = &out_;                                      \
		fails(error, word, call);                                                          \
		assert_ptr_equal(out_, UNTOUCHED);                                                 \
	} while (0)

#endif
