/* SPDX-License-Identifier: BSD-2-Clause */
/* bsn-perf lat and bw: setting up, running what the options say, and reporting. */
#include "traffic.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	SWEEP_BYTES = 1 << 30, /* at most, of each size, unless these are fewer messages than */
	SWEEP_ITERS_MIN = 16,
};

/* -- setting up -------------------------------------------------------------------------------- */

/* Between two processes there is a wire; in one, the queues meet inside of the port. */
static int check_port(const struct test *test)
{
	const struct bsn_device_info *info = bsn_device_info(test->device);

	if (!has_peer(test) || !strcmp(info->port_state, ibv_port_state_str(IBV_PORT_ACTIVE)))
		return 0;
	return complain("port %u of %s is %s, not active: see to its cable, its interface "
			"(ip link) or subnet manager",
			info->port, info->name, info->port_state);
}

/* What the port can, of what was asked for here or by the client. */
static int check_packets(const struct test *test)
{
	const struct bsn_device_info *info = bsn_device_info(test->device);
	const struct plan *plan = &test->plan;

	if (plan->mtu > info->active_mtu)
		return complain("--mtu %u: port %u of %s has %u", (unsigned)plan->mtu, info->port,
				info->name, info->active_mtu);
	if (plan->type == BSN_QP_UD && plan->size > info->active_mtu)
		return complain("--size %llu: a message of UD is one packet, and port %u of %s "
				"takes %u bytes",
				(unsigned long long)plan->size, info->port, info->name,
				info->active_mtu);
	return 0;
}

static int open_device(struct test *test)
{
	const int err = perf_open_device(&test->device_attr, &test->device);

	if (err)
		return err;
	if (test->plan.type == BSN_QP_UD && test->plan.is_sweep && !number_given[PLAN_size])
		test->plan.size = bsn_device_info(test->device)->active_mtu;
	return check_port(test);
}

static int connect_both(struct side *near, struct side *far)
{
	struct bsn_address a, b;

	near->there = far->here;
	far->there = near->here;
	for (unsigned qp = 0; qp < near->plan->qps; qp++) {
		bsn_qp_address(near->qp[qp], &a);
		bsn_qp_address(far->qp[qp], &b);
		if (side_connect(near, qp, &b) || side_connect(far, qp, &a))
			return PERF_FAILED;
	}
	return 0;
}

static int set_up(struct test *test)
{
	const int err = open_device(test);

	if (err)
		return err;
	if ((has_peer(test) && session_open(test)) || check_packets(test))
		return PERF_FAILED;
	test->step = test->plan;
	if (side_open(test->device, &test->step, &test->near))
		return PERF_FAILED;
	if (has_peer(test))
		return session_connect(test) ? PERF_FAILED : 0;
	if (side_open(test->device, &test->step, &test->far))
		return PERF_FAILED;
	return connect_both(test->near, test->far);
}

static void tear_down(struct test *test)
{
	side_close(test->near);
	side_close(test->far);
	if (test->peer >= 0)
		close(test->peer);
	bsn_device_close(test->device);
}

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

static void print_title(FILE *to, const struct test *test)
{
	const struct bsn_device_info *info = bsn_device_info(test->device);
	const struct plan *plan = &test->plan;

	fprintf(to, "%s of %s, %s%llu bytes, ", plan->is_bw ? "bandwidth" : "latency",
		traffic_op_names[plan->op], plan->is_sweep ? "2 to " : "",
		(unsigned long long)plan->size);
	if (plan->duration_ms)
		fprintf(to, "for %g s", (double)plan->duration_ms / 1e3);
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
			(double)test->ns / 1e9, bytes / 1e6, 8 * bytes / 1e9, rate / 1e6);
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
			(double)test->ns / 1e9, min, us_of(h, 50), us_of(h, 99), us_of(h, 99.9),
			max);
		return;
	}
	fprintf(to, "µs, %s\n%8s %10.3f\n", metric_of(&test->plan), "min", min);
	for (size_t i = 0; i < PERCENTILES; i++)
		fprintf(to, "%8s %10.3f\n", percentiles[i].text, us_of(h, percentiles[i].percent));
	fprintf(to, "%8s %10.3f\n%8s %10.3f\n", "max", max, "mean", mean_of(h) / 1e3);
}

static void print_result(FILE *to, const struct test *test)
{
	const struct plan *plan = &test->plan;
	const bool begins = plan->is_sweep && test->step.size == TRAFFIC_SWEEP_FIRST;

	if (!plan->is_sweep || begins)
		print_title(to, test);
	if (begins && plan->is_bw)
		fprintf(to, "%10s %12s %10s %12s %12s %12s\n", "bytes", "iterations", "seconds",
			"MB/s", "Gb/s", "Mpps");
	else if (begins)
		fprintf(to, "%10s %12s %10s %10s %10s %10s %10s %10s   µs, %s\n", "bytes",
			"iterations", "seconds", "min", "50 %", "99 %", "99.9 %", "max",
			metric_of(plan));
	(plan->is_bw ? print_bw : print_lat)(to, test);
	fflush(to);
}

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

/* What was measured at one size; of a sweep, an object of the array "sizes". */
static void add_result(struct json_object *report, const struct test *test)
{
	struct json_object *into = test->plan.is_sweep ? json_add_to_list(report, "sizes") : report;

	json_add_number(into, "size", test->step.size);
	json_add_number(into, "iters", test->step.iters);
	json_object_object_add(into, "seconds", json_object_new_double((double)test->ns / 1e9));
	if (!test->plan.is_bw) {
		add_latencies(into, test);
		return;
	}
	json_add_figure(into, "bytes_per_second", test->rate * (double)test->step.size);
	json_add_figure(into, "messages_per_second", test->rate);
}

static struct json_object *begin_json(const struct test *test)
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
	json_add_bool(report, "bidirectional", plan->is_bidirectional);
	return report;
}

/* -- all of it --------------------------------------------------------------------------------- */

static struct plan step_of(const struct plan *plan, uint64_t size)
{
	struct plan step = *plan;

	step.size = size;
	if (plan->is_sweep && step.iters > SWEEP_BYTES / size)
		step.iters = SWEEP_BYTES / size;
	if (step.iters < SWEEP_ITERS_MIN)
		step.iters = plan->iters < SWEEP_ITERS_MIN ? plan->iters : SWEEP_ITERS_MIN;
	return step;
}

/* The client reports; the server says only what it did. @json NULL: as text */
static int measure_step(struct test *test, FILE *to, struct json_object *json, uint64_t size)
{
	const bool is_bw = test->plan.is_bw;

	test->step = step_of(&test->plan, size);
	test->near->out.length = (uint32_t)size;
	if (test->far)
		test->far->out.length = (uint32_t)size;
	memset(&test->histogram, 0, sizeof(test->histogram));
	if (is_bw ? run_bw(test) : run_lat(test))
		return PERF_FAILED;
	if (test->plan.duration_ms)
		test->step.iters = is_bw ? test->operations : test->histogram.count;
	if (json)
		add_result(json, test);
	else if (!test->is_server)
		print_result(to, test);
	return 0;
}

static int measure(struct test *test, FILE *to, struct json_object *json)
{
	const struct plan *plan = &test->plan;
	int err = 0;

	if (!plan->is_sweep)
		return measure_step(test, to, json, plan->size);
	for (uint64_t size = TRAFFIC_SWEEP_FIRST; !err && size <= plan->size; size *= 2)
		err = measure_step(test, to, json, size);
	return err;
}

static struct test test;

static int read_lat(poptContext context)
{
	return test_read_options(context, false, &test);
}

static int read_bw(poptContext context)
{
	return test_read_options(context, true, &test);
}

static int run(FILE *report)
{
	struct json_object *json = NULL;
	int err;

	test.peer = -1;
	err = set_up(&test);
	if (!err && perf_options.json && !test.is_server)
		json = begin_json(&test);
	if (!err)
		err = measure(&test, report, json);
	if (!err && test.is_server && !perf_options.json)
		print_title(report, &test);
	if (!err && json)
		json_print(report, json);
	else
		json_object_put(json);
	tear_down(&test);
	return err;
}

#define ARGUMENTS "[OPTION...] [server | client HOST]"

const struct perf_command lat_command = {
	"lat", "latency of an operation", ARGUMENTS, test_options, test_numbers, PLAN_NUMBERS,
	read_lat, run,
};
const struct perf_command bw_command = {
	"bw", "bandwidth and rate of an operation", ARGUMENTS, test_options, test_numbers,
	PLAN_NUMBERS, read_bw, run,
};
