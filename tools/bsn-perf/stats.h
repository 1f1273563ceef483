/* SPDX-License-Identifier: BSD-2-Clause */
/* The two summaries of samples: order statistics of a few, and a histogram of any number. */
#ifndef STATS_H
#define STATS_H

#include <stddef.h>
#include <stdint.h>

/* Both sort the samples in place. Of none: 0. */
double median_of(double *samples, size_t count);
double percentile_of(double *samples, size_t count, double percent); /* the nearest rank */

/*
 * A histogram that takes every 64-bit value and so drops none: exact below 256, and above with 128
 * steps for each doubling, that is to less than 0.8 %. (The idea is HdrHistogram's.)
 */
enum {
	HISTOGRAM_STEPS_LOG2 = 7,
	HISTOGRAM_STEPS = 1 << HISTOGRAM_STEPS_LOG2,
	HISTOGRAM_BUCKETS = (64 - HISTOGRAM_STEPS_LOG2 + 1) * HISTOGRAM_STEPS,
};

struct histogram {
	uint64_t count, min, max;
	double sum;
	uint64_t buckets[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *h, uint64_t value);
/* The value that @percent of the samples do not exceed: no less than the true one. Of none: 0. */
uint64_t histogram_percentile(const struct histogram *h, double percent);

#endif
