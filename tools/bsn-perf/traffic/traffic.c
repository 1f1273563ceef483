/* SPDX-License-Identifier: BSD-2-Clause */
/* bsn-perf lat and bw: setting up, and running what the options say. */
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

/* Two sides in one process. */
static int connect_both(struct side *near, struct side *far)
{
	struct bsn_address a, b;

	near->there = far->here;
	far->there = near->here;
	for (unsigned qp = 0; qp < near->plan.qps; qp++) {
		bsn_qp_address(near->qp[qp], &a);
		bsn_qp_address(far->qp[qp], &b);
		if (side_connect(near, qp, &b) || side_connect(far, qp, &a))
			return PERF_FAILED;
	}
	return 0;
}

static int set_up(struct test *test)
{
	int err = open_device(test);

	if (err)
		return err;
	if (has_peer(test) && session_open(test))
		return PERF_FAILED;
	err = check_packets(test);
	if (err)
		return err;
	if (side_open(test->device, &test->plan, &test->near))
		return PERF_FAILED;
	if (has_peer(test))
		return session_connect(test) ? PERF_FAILED : 0;
	if (side_open(test->device, &test->plan, &test->far))
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
	side_resize(test->near, &test->step);
	if (test->far)
		side_resize(test->far, &test->step);
	histogram_clear(&test->histogram);
	if (is_bw ? run_bw(test) : run_lat(test))
		return PERF_FAILED;
	if (test->plan.seconds)
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
