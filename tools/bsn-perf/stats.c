/* SPDX-License-Identifier: BSD-2-Clause */
/* Medians, percentiles, and the histogram. */
#include "stats.h"

#include <stdlib.h>

static int compare(const void *left, const void *right)
{
	const double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

double median_of(double *samples, size_t count)
{
	if (!count)
		return 0;
	qsort(samples, count, sizeof(*samples), compare);
	return (samples[(count - 1) / 2] + samples[count / 2]) / 2;
}

double percentile_of(double *samples, size_t count, double percent)
{
	if (!count)
		return 0;
	qsort(samples, count, sizeof(*samples), compare);
	return samples[(size_t)(percent / 100 * (double)(count - 1) + 0.5)];
}

/* The bits below the highest HISTOGRAM_STEPS_LOG2 + 1 are given up. */
static unsigned lost_bits(uint64_t value)
{
	const unsigned width = 64 - (unsigned)__builtin_clzll(value | 1);

	return width > HISTOGRAM_STEPS_LOG2 + 1 ? width - (HISTOGRAM_STEPS_LOG2 + 1) : 0;
}

static size_t bucket_of(uint64_t value)
{
	const unsigned lost = lost_bits(value);

	return lost * HISTOGRAM_STEPS + (size_t)(value >> lost);
}

/* The highest value that goes into a bucket. */
static uint64_t top_of(size_t bucket)
{
	unsigned lost;

	if (bucket < 2 * HISTOGRAM_STEPS)
		return bucket;
	lost = (unsigned)(bucket / HISTOGRAM_STEPS) - 1;
	return ((uint64_t)(bucket % HISTOGRAM_STEPS + HISTOGRAM_STEPS + 1) << lost) - 1;
}

void histogram_add(struct histogram *h, uint64_t value)
{
	if (!h->count || value < h->min)
		h->min = value;
	if (value > h->max)
		h->max = value;
	h->count++;
	h->sum += (double)value;
	h->buckets[bucket_of(value)]++;
}

uint64_t histogram_percentile(const struct histogram *h, double percent)
{
	const double wanted = percent / 100 * (double)h->count;
	uint64_t seen = 0;

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		seen += h->buckets[i];
		if (seen && (double)seen >= wanted)
			return top_of(i) < h->max ? top_of(i) : h->max;
	}
	return h->max;
}
