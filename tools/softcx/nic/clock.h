/* SPDX-License-Identifier: BSD-2-Clause */
/* The device's clocks. */
#ifndef SOFTCX_NIC_CLOCK_H
#define SOFTCX_NIC_CLOCK_H

#include <time.h>

#include "state.h"

/* CLOCK_MONOTONIC, whatever the mode. */
static inline uint64_t cx_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/*
 * The real-time clock in a CQE: seconds in the high half (kernel mlx5 lib/clock.h
 * REAL_TIME_TO_NS()).
 */
static inline uint64_t cx_real_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec << 32 | (uint64_t)now.tv_nsec;
}

/* Passive mode has a clock of its own. */
static inline uint64_t cx_now_ns(const struct cx_hca *hca)
{
	return hca->config.passive ? hca->virtual_ns : cx_clock_ns();
}

#endif
