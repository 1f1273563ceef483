/* SPDX-License-Identifier: BSD-2-Clause */
/* How often a pool connects, beside UCX's dcs_quota on the same model and the same requests. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "play.h"

enum { OPERATIONS = 20000, PEERS = 200 };

static uint64_t connects_of(const struct dc_figures *figures)
{
	return (uint64_t)(figures->connects_per_operation * OPERATIONS + 0.5);
}

static struct dc_figures figures_of(const struct dc_plan *plan, enum dc_policy policy)
{
	struct dc_figures figures;

	memset(&figures, 0, sizeof(figures)); /* whole ones are compared */
	if (dc_simulate(plan, policy, &figures))
		fail_msg("%s", figures.why_not);
	assert_true(figures.fairness > 0 && figures.fairness <= 1.0000001);
	assert_true(connects_of(&figures) >= (plan->crowd.pattern == DC_PATTERN_incast ? 1 : 2));
	assert_int_equal(figures.taken_early, 0);
	/* The device makes no connection that the pool does not know of. */
	assert_true(connects_of(&figures) <= figures.counters.bindings);
	return figures;
}

static struct dc_plan plan_of(enum dc_pattern pattern, uint32_t initiators, uint32_t streams,
			      uint32_t window)
{
	return (struct dc_plan){ .crowd = { .pattern = pattern, .peers = PEERS, .seed = 1 },
				 .initiators = initiators,
				 .streams = streams,
				 .window = window,
				 .operations = OPERATIONS,
				 .bytes = 64,
				 .connect_ns = DC_CONNECT_NS };
}

/* A pool connects so many times as often as dcs_quota does, or less. */
static void expect_at_most(double most, enum dc_pattern pattern, uint32_t initiators,
			   uint32_t streams, uint32_t window)
{
	const struct dc_plan plan = plan_of(pattern, initiators, streams, window);
	const double is = figures_of(&plan, DC_POLICY_lru).connects_per_operation /
			  figures_of(&plan, DC_POLICY_dcs_quota).connects_per_operation;

	if (is > most)
		fail_msg("%s, %u x %u, window %u: %.3f of dcs_quota's connections, %.2f is wanted",
			 dc_pattern_names[pattern], initiators, streams, window, is, most);
}

static void a_moving_set_that_fits_stays_connected(void **state)
{
	(void)state;
	for (uint32_t window = 1; window <= 4; window *= 4) {
		expect_at_most(0.05, DC_PATTERN_moving, 8, 1, window);
		expect_at_most(0.05, DC_PATTERN_moving, 32, 1, window);
	}
}

static void zipf_and_bursts_take_half(void **state)
{
	(void)state;
	for (uint32_t window = 1; window <= 4; window++) {
		expect_at_most(0.55, DC_PATTERN_zipf, 32, 1, window);
		expect_at_most(0.55, DC_PATTERN_bursts, 32, 1, window);
	}
}

static void streams_are_worth_initiators(void **state)
{
	(void)state;
	expect_at_most(0.45, DC_PATTERN_zipf, 8, 8, 16);
	expect_at_most(0.45, DC_PATTERN_bursts, 8, 8, 16);
}

static void nowhere_is_it_worse(void **state)
{
	static const uint32_t pools[][2] = { { 8, 1 }, { 32, 1 }, { 8, 8 }, { 32, 8 } };

	(void)state;
	for (unsigned pattern = 0; pattern < DC_PATTERN_COUNT; pattern++)
		for (unsigned p = 0; p < 4; p++)
			for (uint32_t window = 1; window <= 64; window *= 4)
				expect_at_most(1.02, pattern, pools[p][0], pools[p][1], window);
}

/* No policy is better than one that knows what comes, as long as nobody is busy. */
static void nothing_beats_the_optimum(void **state)
{
	const struct dc_plan plan = plan_of(DC_PATTERN_zipf, 8, 1, 1);
	const uint64_t optimum = dc_optimum(&plan.crowd, OPERATIONS, 8);

	(void)state;
	assert_true(optimum > OPERATIONS / 4);
	for (unsigned policy = 0; policy < DC_POLICY_COUNT; policy++) {
		const struct dc_figures figures = figures_of(&plan, policy);

		assert_true(connects_of(&figures) >= optimum);
	}
}

/* Of few requests: the least that any choice of who makes room can have. */
static unsigned best_of(const uint32_t *list, unsigned count, const uint32_t held[2])
{
	unsigned best = UINT32_MAX;

	for (; count && (*list == held[0] || *list == held[1]); list++)
		count--;
	if (!count)
		return 0;
	for (unsigned slot = 0; slot < 2; slot++) {
		uint32_t next[2] = { held[0], held[1] };

		next[slot] = *list;
		unsigned some = 1 + best_of(list + 1, count - 1, next);
		best = some < best ? some : best;
	}
	return best;
}

static void the_optimum_is_the_least_of_all(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 200; seed++) {
		const struct dc_crowd crowd = { .pattern = DC_PATTERN_uniform,
						.peers = 4,
						.seed = seed };
		const uint32_t nobody[2] = { UINT32_MAX, UINT32_MAX };
		struct dc_draws *draws = dc_draws_begin(&crowd);
		uint32_t list[14];

		assert_non_null(draws);
		for (unsigned i = 0; i < 14; i++)
			list[i] = dc_draw(draws);
		dc_draws_end(draws);
		assert_int_equal(dc_optimum(&crowd, 14, 2), best_of(list, 14, nobody));
	}
}

/* The same seed is the same run, to the nanosecond; another one is not. */
static void a_run_can_be_had_again(void **state)
{
	struct dc_plan plan = plan_of(DC_PATTERN_zipf, 8, 2, 16);
	const struct dc_figures first = figures_of(&plan, DC_POLICY_lru),
				again = figures_of(&plan, DC_POLICY_lru);

	(void)state;
	assert_memory_equal(&first, &again, sizeof(first));
	plan.crowd.seed = 2;
	assert_true(figures_of(&plan, DC_POLICY_lru).operations_per_s != first.operations_per_s);
}

static void *play_once(void *arg)
{
	const struct dc_plan plan = plan_of(DC_PATTERN_bursts, 4, 1, 16);
	const struct dc_figures figures = figures_of(&plan, DC_POLICY_lru);

	memcpy(arg, &figures, sizeof(figures));
	return NULL;
}

/* Two threads with a pool each have nothing in common. */
static void threads_do_not_meet(void **state)
{
	struct dc_figures figures[3];
	pthread_t threads[2];

	(void)state;
	for (int t = 0; t < 2; t++)
		assert_int_equal(pthread_create(&threads[t], NULL, play_once, &figures[t]), 0);
	play_once(&figures[2]);
	for (int t = 0; t < 2; t++) {
		assert_int_equal(pthread_join(threads[t], NULL), 0);
		assert_memory_equal(&figures[t], &figures[2], sizeof(figures[t]));
	}
}

/* Each poll gives all that is idle to those that wait, as dcs does, which keeps a list of it. */
static void nothing_is_idle_where_one_waits(void **state)
{
	static const uint32_t pools[][2] = { { 8, 1 }, { 12, 1 }, { 64, 1 }, { 16, 4 }, { 32, 8 } };

	(void)state;
	for (unsigned k = 0; k < 5; k++) {
		const uint32_t initiators = pools[k][0], streams = pools[k][1];
		struct dc_plan plan =
			plan_of(DC_PATTERN_uniform, initiators, streams, 2 * initiators * streams);
		double most, is;

		plan.crowd.peers = 100000;
		most = figures_of(&plan, DC_POLICY_dcs).operations_per_s;
		is = figures_of(&plan, DC_POLICY_lru).operations_per_s;
		if (is < 0.99 * most)
			fail_msg("%u x %u: %.3f of dcs's rate", initiators, streams, is / most);
	}
}

/* A million peers, of whom hardly one comes twice. */
static void a_million_peers(void **state)
{
	struct dc_plan plan = plan_of(DC_PATTERN_uniform, 32, 1, 16);

	(void)state;
	plan.crowd.peers = 1000000;
	assert_true(figures_of(&plan, DC_POLICY_lru).connects_per_operation > 0.99);
}

/* Fewer slots than a miss looks at. */
static void few_slots(void **state)
{
	(void)state;
	for (uint32_t initiators = 1; initiators <= 4; initiators++) {
		const struct dc_plan plan = plan_of(DC_PATTERN_zipf, initiators, 1, 1);
		const uint64_t optimum = dc_optimum(&plan.crowd, OPERATIONS, initiators);
		const struct dc_plan streams = plan_of(DC_PATTERN_zipf, initiators, 8, 1);
		const struct dc_figures figures = figures_of(&plan, DC_POLICY_lru);

		assert_true(connects_of(&figures) >= optimum);
		figures_of(&streams, DC_POLICY_lru);
	}
}

static void what_cannot_be_is_refused(void **state)
{
	const struct dc_plan no_window = plan_of(DC_PATTERN_uniform, 8, 1, 0);
	const struct dc_plan nobody = plan_of(DC_PATTERN_uniform, 0, 1, 1);
	struct dc_figures figures;

	(void)state;
	assert_int_equal(dc_simulate(&no_window, DC_POLICY_lru, &figures), -22);
	assert_int_equal(dc_simulate(&nobody, DC_POLICY_lru, &figures), -22);
}

/* An argument: only tests of such names. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_moving_set_that_fits_stays_connected),
		cmocka_unit_test(zipf_and_bursts_take_half),
		cmocka_unit_test(streams_are_worth_initiators),
		cmocka_unit_test(nowhere_is_it_worse),
		cmocka_unit_test(nothing_beats_the_optimum),
		cmocka_unit_test(the_optimum_is_the_least_of_all),
		cmocka_unit_test(a_run_can_be_had_again),
		cmocka_unit_test(threads_do_not_meet),
		cmocka_unit_test(nothing_is_idle_where_one_waits),
		cmocka_unit_test(a_million_peers),
		cmocka_unit_test(few_slots),
		cmocka_unit_test(what_cannot_be_is_refused),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
