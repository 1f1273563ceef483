/* SPDX-License-Identifier: BSD-2-Clause */
/* The device that tests are to run on, where it is not the software ConnectX that is linked in. */
#ifndef TESTS_DEVICE_REAL_DEVICE_H
#define TESTS_DEVICE_REAL_DEVICE_H

#include <stdlib.h>
#include <time.h>

enum { PATIENCE_MS = 3000 }; /* with such a device, for what must come */

/** real_device - the name that BSN_TEST_DEVICE gives; NULL: the model */
static inline const char *real_device(void)
{
	const char *name = getenv("BSN_TEST_DEVICE");

	return name && *name ? name : NULL;
}

static inline long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

#endif
