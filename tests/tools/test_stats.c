/* SPDX-License-Identifier: BSD-2-Clause */
/* Medians, and a histogram that drops nothing and is true to a percent. */
#include <string.h>

#include "../unit.h"
#include "bsn-perf/stats.h"

static struct histogram h;

static void median_of_none_one_and_two(void **state)
{
	double samples[] = { 3, 1, 2, 10 };

	assert_true(median_of(samples, 0) == 0);
	assert_true(median_of(samples, 1) == 3);
	assert_true(median_of(samples, 3) == 2);
	assert_true(median_of(samples, 4) == 2.5);
}

static void percentile_is_the_nearest_sample(void **state)
{
	double samples[] = { 5, 1, 4, 2, 3 };

	assert_true(percentile_of(samples, 0, 10) == 0);
	assert_true(percentile_of(samples, 1, 10) == 5);
	assert_true(percentile_of(samples, 5, 0) == 1);
	assert_true(percentile_of(samples, 5, 10) == 1);
	assert_true(percentile_of(samples, 5, 50) == 3);
	assert_true(percentile_of(samples, 5, 90) == 5);
	assert_true(percentile_of(samples, 5, 100) == 5);
}

static void small_values_are_exact(void **state)
{
	for (uint64_t value = 0; value < 2 * HISTOGRAM_STEPS; value++) {
		memset(&h, 0, sizeof(h));
		histogram_add(&h, 0);
		histogram_add(&h, value);
		histogram_add(&h, UINT64_MAX);
		assert_int_equal(histogram_percentile(&h, 66), value);
	}
}

/* Around every power of two, up to the largest value there is. */
static void every_value_has_a_bucket(void **state)
{
	for (unsigned bit = 0; bit < 64; bit++) {
		for (int step = -2; step <= 2; step++) {
			const uint64_t value = (1ull << bit) + (uint64_t)(int64_t)step;
			uint64_t found;
			memset(&h, 0, sizeof(h));
			histogram_add(&h, value);
			histogram_add(&h, UINT64_MAX);
			found = histogram_percentile(&h, 50);
			assert_true(found >= value);
			assert_true(found - value <= value / HISTOGRAM_STEPS);
			assert_int_equal(h.count, 2);
		}
	}
}

static void percentiles_are_ordered_and_within(void **state)
{
	uint64_t before = 0;

	memset(&h, 0, sizeof(h));
	for (uint64_t i = 1; i <= 10000; i++)
		histogram_add(&h, i);
	assert_int_equal(h.count, 10000);
	assert_int_equal(h.min, 1);
	assert_int_equal(h.max, 10000);
	for (double percent = 1; percent <= 100; percent++) {
		const uint64_t found = histogram_percentile(&h, percent);
		const uint64_t truth = (uint64_t)(percent * 100);
		assert_true(found >= before);
		assert_true(found >= truth && found - truth <= truth / HISTOGRAM_STEPS + 1);
		before = found;
	}
	assert_int_equal(histogram_percentile(&h, 100), 10000);
}

static void none_is_zero(void **state)
{
	memset(&h, 0, sizeof(h));
	assert_int_equal(histogram_percentile(&h, 50), 0);
}

UNIT_MAIN(NULL, UNIT(median_of_none_one_and_two), UNIT(percentile_is_the_nearest_sample),
	  UNIT(small_values_are_exact), UNIT(every_value_has_a_bucket),
	  UNIT(percentiles_are_ordered_and_within), UNIT(none_is_zero))
