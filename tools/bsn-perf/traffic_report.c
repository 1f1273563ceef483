/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports of bsn-perf lat and bw: text and JSON. */
#include "traffic_test.h"

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
	const struct plan *plan = &test->plan;

	fprintf(to, "%s of %s, %s%llu bytes, ", plan->is_bw ? "bandwidth" : "latency",
		traffic_op_names[plan->op], plan->is_sweep ? "2 to " : "",
		(unsigned long long)plan->size);
	if (plan->duration_ns)
		fprintf(to, "for %llu s", (unsigned long long)(plan->duration_ns / 1000000000));
	else
		fprintf(to, "%s%llu times", plan->is_sweep ? "at most " : "",
			(unsigned long long)plan->iters);
	if (plan->qps > 1)
		fprintf(to, ", %u queue pairs", plan->qps);
	if (plan->type != BSN_QP_RC)
		fprintf(to, ", %s", traffic_connections[plan->type]);
	fprintf(to, "%s, path %s on %s\n", plan->is_bidirectional ? ", both directions" : "",
		traffic_path_names[plan->path], bsn_device_info(test->device)->name);
}

/* A column's unit is in its head: MB and Gb are 10^6 bytes and 10^9 bits. */
static void print_heads(FILE *to, const struct test *test)
{
	if (!test->plan.is_sweep)
		return;
	if (test->plan.is_bw)
		fprintf(to, "%10s %12s %12s %12s %12s\n", "bytes", "iterations", "MB/s", "Gb/s",
			"Mpps");
	else
		fprintf(to, "%10s %12s %10s %10s %10s %10s %10s   µs, %s\n", "bytes", "iterations",
			"min", "50 %", "99 %", "99.9 %", "max",
			is_half_round_trip(&test->plan) ? "half of a round trip"
							: "from post to completion");
}

static void print_row(FILE *to, const struct test *test)
{
	const struct histogram *h = &test->histogram;
	const double rate = test->throughput.rate, bytes = rate * (double)test->step.size;

	fprintf(to, "%10llu %12llu", (unsigned long long)test->step.size,
		(unsigned long long)test->step.iters);
	if (test->plan.is_bw)
		fprintf(to, " %12.3f %12.3f %12.4f\n", bytes / 1e6, 8 * bytes / 1e9, rate / 1e6);
	else
		fprintf(to, " %10.3f %10.3f %10.3f %10.3f %10.3f\n", (double)h->min / 1e3,
			(double)histogram_percentile(h, 50) / 1e3,
			(double)histogram_percentile(h, 99) / 1e3,
			(double)histogram_percentile(h, 99.9) / 1e3, (double)h->max / 1e3);
	fflush(to);
}

void print_result(FILE *to, const struct test *test)
{
	const struct plan *plan = &test->plan;
	const struct histogram *h = &test->histogram;

	if (!plan->is_sweep || test->step.size == TRAFFIC_SWEEP_FIRST) {
		print_title(to, test);
		print_heads(to, test);
	}
	if (plan->is_sweep) {
		print_row(to, test);
		return;
	}
	if (plan->is_bw) {
		const double rate = test->throughput.rate, bytes = rate * (double)plan->size;

		fprintf(to, "%.3f MB/s, %.3f Gb/s, %.4f Mpps, %.3f s\n", bytes / 1e6,
			8 * bytes / 1e9, rate / 1e6, (double)test->throughput.ns / 1e9);
		return;
	}
	fprintf(to, "µs, %s\n",
		is_half_round_trip(plan) ? "half of a round trip" : "from post to completion");
	fprintf(to, "%8s %10.3f\n", "min", (double)h->min / 1e3);
	for (size_t i = 0; i < PERCENTILES; i++)
		fprintf(to, "%8s %10.3f\n", percentiles[i].text,
			(double)histogram_percentile(h, percentiles[i].percent) / 1e3);
	fprintf(to, "%8s %10.3f\n%8s %10.3f\n", "max", (double)h->max / 1e3, "mean",
		mean_of(h) / 1e3);
}

/* -- JSON -------------------------------------------------------------------------------------- */

static void add_uint(struct json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, json_object_new_int64((int64_t)value));
}

static void add_text(struct json_object *object, const char *key, const char *value)
{
	json_object_object_add(object, key, json_object_new_string(value));
}

static void add_latencies(struct json_object *report, const struct test *test)
{
	const struct histogram *h = &test->histogram;

	add_text(report, "metric",
		 is_half_round_trip(&test->plan) ? "half_round_trip_ns" : "completion_ns");
	add_uint(report, "samples", h->count);
	add_uint(report, "min", h->min);
	json_object_object_add(report, "mean", json_figure(mean_of(h)));
	for (size_t i = 0; i < PERCENTILES; i++)
		add_uint(report, percentiles[i].key,
			 histogram_percentile(h, percentiles[i].percent));
	add_uint(report, "max", h->max);
}

static void add_rates(struct json_object *report, const struct test *test)
{
	const double rate = test->throughput.rate;

	json_object_object_add(report, "seconds",
			       json_object_new_double((double)test->throughput.ns / 1e9));
	json_object_object_add(report, "bytes_per_second",
			       json_figure(rate * (double)test->step.size));
	json_object_object_add(report, "messages_per_second", json_figure(rate));
}

/* What was measured at one size; of a sweep, an object of the array "sizes". */
void add_result(struct json_object *report, const struct test *test)
{
	struct json_object *into = report, *sizes;

	if (test->plan.is_sweep) {
		into = json_object_new_object();
		if (!json_object_object_get_ex(report, "sizes", &sizes)) {
			sizes = json_object_new_array();
			json_object_object_add(report, "sizes", sizes);
		}
		json_object_array_add(sizes, into);
	}
	add_uint(into, "size", test->step.size);
	add_uint(into, "iters", test->step.iters);
	if (test->plan.is_bw)
		add_rates(into, test);
	else
		add_latencies(into, test);
}

struct json_object *begin_json(const struct test *test)
{
	struct json_object *report = json_object_new_object();
	const struct plan *plan = &test->plan;

	add_text(report, "test", plan->is_bw ? "bw" : "lat");
	add_text(report, "device", bsn_device_info(test->device)->name);
	add_text(report, "path", traffic_path_names[plan->path]);
	add_text(report, "op", traffic_op_names[plan->op]);
	add_text(report, "connection", traffic_connections[plan->type]);
	add_uint(report, "gid_index", bsn_device_info(test->device)->gid_index);
	add_uint(report, "depth", plan->depth);
	add_uint(report, "qps", plan->qps);
	json_object_object_add(report, "bidirectional",
			       json_object_new_boolean(plan->is_bidirectional));
	return report;
}
