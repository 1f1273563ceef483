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

#endif
