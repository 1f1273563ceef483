/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports of bsn-perf lat and bw: text and JSON. */
#include "traffic.h"

/* -- reports ----------------------------------------------------------------------------------- */

static const struct {
	const char *key, *text;
	double percent;
} percentiles[] = {
	{ "p50", "50 %", 50 },       { "p90", "90 %", 90 },          { "p99", "99 %", 99 },
	{ "p99_9", "99.9 %", 99.9 }, { "p99_99", "99.99 %", 99.99 },
};

#define PERCENTILES (sizeof(percentiles) / sizeof(percentiles[0]))

static bool is_half_round_trip(const struct plan *plan)
{
	return plan->op == TRAFFIC_WRITE || plan->op == TRAFFIC_SEND;
}

static double mean_of(const struct histogram *h)
{
	return h->count ? h->sum / (double)h->count : 0;
}

void print_title(FILE *to, const struct test *test)
{
	const struct bsn_device_info *info = bsn_device_info(test->device);
	const struct plan *plan = &test->plan;

	fprintf(to, "%s of %s, %s%llu bytes, ", plan->is_bw ? "bandwidth" : "latency",
		traffic_op_names[plan->op], plan->is_sweep ? "2 to " : "",
		(unsigned long long)plan->size);
	if (plan->seconds)
		fprintf(to, "for %llu s", (unsigned long long)plan->seconds);
	else
		fprintf(to, "%s%llu times", plan->is_sweep ? "at most " : "",
			(unsigned long long)plan->iters);
	if (plan->qps > 1)
		fprintf(to, ", %u queue pairs", (unsigned)plan->qps);
	if (plan->type != BSN_QP_RC)
		fprintf(to, ", %s", traffic_connections[plan->type]);
	fprintf(to, "%s, path %s on %s%s, in %s", plan->is_bidirectional ? ", both directions" : "",
		path_name(info), info->name,
		model_name(info) ? " of softcx, a model: no figure of a NIC" : "",
		has_peer(test) ? "two processes" : "one process");
	if (!plan->is_sweep && test->ns)
		fprintf(to, ", sampled for %.3f s", (double)test->ns / 1e9);
	fputc('\n', to);
}

static const char *metric_of(const struct plan *plan)
{
	return is_half_round_trip(plan) ? "half of a round trip" : "from post to completion";
}

static double us_of(const struct histogram *h, double percent)
{
	return (double)histogram_percentile(h, percent) / 1e3;
}

/* MB and Gb are 10^6 bytes and 10^9 bits. */
static void print_bw(FILE *to, const struct test *test)
{
	const double rate = test->rate, bytes = rate * (double)test->step.size;

	if (test->plan.is_sweep)
		fprintf(to, "%10llu %12llu %10.3f %12.3f %12.3f %12.4f\n",
			(unsigned long long)test->step.size, (unsigned long long)test->step.iters,
			(double)test->ns / 1e9, bytes / 1e6, 8 * bytes / 1e9,
			rate / 1e6);
	else
		fprintf(to, "%.3f MB/s, %.3f Gb/s, %.4f Mpps\n", bytes / 1e6, 8 * bytes / 1e9,
			rate / 1e6);
}

static void print_lat(FILE *to, const struct test *test)
{
	const struct histogram *h = &test->histogram;
	const double min = (double)h->min / 1e3, max = (double)h->max / 1e3;

	if (test->plan.is_sweep) {
		fprintf(to, "%10llu %12llu %10.3f %10.3f %10.3f %10.3f %10.3f %10.3f\n",
			(unsigned long long)test->step.size, (unsigned long long)test->step.iters,
			(double)test->ns / 1e9, min, us_of(h, 50), us_of(h, 99),
			us_of(h, 99.9), max);
		return;
	}
	fprintf(to, "µs, %s\n%8s %10.3f\n", metric_of(&test->plan), "min", min);
	for (size_t i = 0; i < PERCENTILES; i++)
		fprintf(to, "%8s %10.3f\n", percentiles[i].text, us_of(h, percentiles[i].percent));
	fprintf(to, "%8s %10.3f\n%8s %10.3f\n", "max", max, "mean", mean_of(h) / 1e3);
}

/* A column's unit is in its head. */
void print_result(FILE *to, const struct test *test)
{
	const struct plan *plan = &test->plan;

	if (!plan->is_sweep || test->step.size == TRAFFIC_SWEEP_FIRST)
		print_title(to, test);
	if (plan->is_sweep && test->step.size == TRAFFIC_SWEEP_FIRST && plan->is_bw)
		fprintf(to, "%10s %12s %10s %12s %12s %12s\n", "bytes", "iterations", "seconds",
			"MB/s", "Gb/s", "Mpps");
	else if (plan->is_sweep && test->step.size == TRAFFIC_SWEEP_FIRST)
		fprintf(to, "%10s %12s %10s %10s %10s %10s %10s %10s   µs, %s\n", "bytes",
			"iterations", "seconds", "min", "50 %", "99 %", "99.9 %", "max",
			metric_of(plan));
	(plan->is_bw ? print_bw : print_lat)(to, test);
	fflush(to);
}

/* -- JSON -------------------------------------------------------------------------------------- */

static void add_latencies(struct json_object *report, const struct test *test)
{
	const struct histogram *h = &test->histogram;

	json_add_text(report, "metric",
		      is_half_round_trip(&test->plan) ? "half_round_trip_ns" : "completion_ns");
	json_add_number(report, "samples", h->count);
	json_add_number(report, "min", h->min);
	json_add_figure(report, "mean", mean_of(h));
	for (size_t i = 0; i < PERCENTILES; i++)
		json_add_number(report, percentiles[i].key,
				histogram_percentile(h, percentiles[i].percent));
	json_add_number(report, "max", h->max);
}

static void add_rates(struct json_object *report, const struct test *test)
{
	const double rate = test->rate;

	json_add_figure(report, "bytes_per_second", rate * (double)test->step.size);
	json_add_figure(report, "messages_per_second", rate);
}

/* What was measured at one size; of a sweep, an object of the array "sizes". */
void add_result(struct json_object *report, const struct test *test)
{
	struct json_object *const into =
		test->plan.is_sweep ? json_add_to_list(report, "sizes") : report;

	json_add_number(into, "size", test->step.size);
	json_add_number(into, "iters", test->step.iters);
	json_object_object_add(into, "seconds",
			       json_object_new_double((double)test->ns / 1e9));
	if (test->plan.is_bw)
		add_rates(into, test);
	else
		add_latencies(into, test);
}

struct json_object *begin_json(const struct test *test)
{
	struct json_object *report = json_object_new_object();
	const struct bsn_device_info *info = bsn_device_info(test->device);
	const struct plan *plan = &test->plan;

	json_add_text(report, "test", plan->is_bw ? "bw" : "lat");
	json_add_device(report, info);
	json_add_number(report, "processes", has_peer(test) ? 2 : 1);
	json_add_text(report, "op", traffic_op_names[plan->op]);
	json_add_text(report, "connection", traffic_connections[plan->type]);
	json_add_number(report, "gid_index", info->gid_index);
	json_add_number(report, "depth", plan->depth);
	json_add_number(report, "qps", plan->qps);
	json_object_object_add(report, "bidirectional",
			       json_object_new_boolean(plan->is_bidirectional));
	return report;
}
