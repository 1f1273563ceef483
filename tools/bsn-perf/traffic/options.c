/* SPDX-License-Identifier: BSD-2-Clause */
/* Options of bsn-perf lat and bw: the table, and the plan that they make. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../../examples/connect.h"
#include "traffic.h"

const char *const traffic_connections[] = { "RC", "UC", "UD" }; /* by enum bsn_qp_type */

#define PORT_DEFAULT "18515"

enum { LAT_ITERS_DEFAULT = 10000, BW_ITERS_DEFAULT = 100000, MS_MAX = 86400 * 1000 };

struct perf_number test_numbers[PLAN_NUMBERS] = {
	[PLAN_port] = { "ib-port", 'i', 1, UINT8_MAX, 0,
		"port of the device (default: the first that is active)", "N" },
	[PLAN_gid_index] = { "gid-index", 'x', 0, UINT8_MAX, 0,
		"entry of the port's GID table (default: bsn-info tells)", "N" },
	[PLAN_timeout_ms] = { "timeout", 0, 1, MS_MAX, 30 * 1000,
		"give up after so long without progress (default: 30)", "SECONDS" },
	[PLAN_size] = { "size", 's', 1, 1 << 30, 8, "bytes of a message (default: 8)", "BYTES" },
	[PLAN_iters] = { "iters", 'n', 1, 1ull << 40, 0,
		"operations (default: 10000 for lat, 100000 for bw)", "N" },
	[PLAN_depth] = { "depth", 't', 1, 1 << 15, 128,
		"requests in flight on a queue pair (default: 128)", "N" },
	[PLAN_qps] = { "qp", 'q', 1, TRAFFIC_QPS_MAX, 1,
		"bw: queue pairs that take turns (default: 1)", "N" },
	[PLAN_duration_ms] = { "duration", 'D', 1, MS_MAX, 0,
		"instead of so many operations, for so long: 10, or 0.5", "SECONDS" },
	/* Longer ones are fetched by the device. A WQE of 1 KB has room for the most. */
	[PLAN_inline_max] = { "inline-size", 'I', 0, 1000, 64,
		"messages up to so long are copied into the request (default: 64)", "BYTES" },
	[PLAN_mtu] = { "mtu", 'm', 256, 4096, 0,
		"bytes of a packet (default: what both ports can)", "BYTES" },
	[PLAN_sl] = { "sl", 'S', 0, 15, 0, "service level (default: 0)", "N" },
	[PLAN_traffic_class] = { "tclass", 0, 0, UINT8_MAX, 0,
		"traffic class, where packets have a GRH (default: 0)", "N" },
	[PLAN_hop_limit] = { "hop-limit", 'L', 1, UINT8_MAX, 0,
		"where packets have a GRH (default: 64)", "N" },
	[PLAN_qp_timeout] = { "qp-timeout", 'u', 1, 31, 0,
		"an acknowledgement is waited for 4096 ns times 2^N (default: 14)", "N" },
	[PLAN_op] = { .max = TRAFFIC_OPS - 1, .value = TRAFFIC_WRITE },
	[PLAN_type] = { .max = BSN_QP_UD, .value = BSN_QP_RC },
	[PLAN_is_bw] = { .max = 1 },
	[PLAN_is_bidirectional] = { .max = 1 },
	[PLAN_is_sweep] = { .max = 1 },
};

static struct {
	char *op, *path, *port, *connection;
	int all, both;
} options;

/*
 * What users of perftest often type, and lat and bw do not have, as popt reads it; then, -h. The
 * text is what there is instead; without one, it is taken, and changes nothing. A value belongs to
 * its option, or it would be taken for a role.
 */
static void meet_stranger(poptContext context, enum poptCallbackReason reason,
			  const struct poptOption *stranger, const char *value, const void *unused)
{
	const char letter[] = { stranger->shortName ? '-' : '\0', stranger->shortName, '\0' };

	(void)reason;
	(void)value;
	(void)unused;
	if (stranger->shortName == 'h') {
		poptPrintHelp(context, stdout, 0);
		exit(PERF_OK);
	}
	if (stranger->descrip)
		exit(complain_usage("%s%s--%s is perftest's: %s", letter, *letter ? ", " : "",
				    stranger->longName, stranger->descrip));
}

enum { FLAG = POPT_ARG_NONE | POPT_ARGFLAG_DOC_HIDDEN,
       VALUE = POPT_ARG_STRING | POPT_ARGFLAG_DOC_HIDDEN };
#define STRANGER(name, letter, kind, instead) { name, letter, kind, NULL, 0, instead, NULL }
static const struct poptOption strangers[] = {
	{ NULL, 0, POPT_ARG_CALLBACK, (void *)(uintptr_t)meet_stranger, 0, NULL, NULL },
	STRANGER("CPU-freq", 'F', FLAG, NULL), /* a warning that is not given */
	STRANGER("noPeak", 'N', FLAG, NULL),   /* a figure that is not taken */
	STRANGER("report_gbits", 0, FLAG, NULL),
	STRANGER("events", 'e', FLAG, "completions are polled"),
	STRANGER("report-histogram", 'H', FLAG, "percentiles are printed, and --json has them"),
	STRANGER("report-unsorted", 'U', FLAG, "percentiles are printed, and --json has them"),
	STRANGER("post_list", 'l', VALUE, "up to 16 requests go with one doorbell"),
	STRANGER("outs", 0, VALUE, "READs in flight are --depth, as far as the device goes"),
	STRANGER("cq-mod", 'Q', VALUE, "every request completes"),
	STRANGER("rx-depth", 'r', VALUE, "receives are as many as --depth"),
	STRANGER("tos", 'T', VALUE, "use --tclass"),
	STRANGER("rdma_cm", 'R', FLAG, "queue pairs meet over TCP; the example attach_cm has it"),
	STRANGER("version", 'V', FLAG, "use bsn-perf --version"),
	STRANGER("run_infinitely", 0, FLAG, "use --duration"),
	STRANGER("use_hugepages", 0, FLAG, "messages lie in ordinary pages"),
	STRANGER(NULL, 'h', FLAG, NULL),
	POPT_TABLEEND
};

/* As perftest spells it, beside our spelling. */
#define ALSO(name, kind, where, val)                                                               \
	{ name, 0, (kind) | POPT_ARGFLAG_DOC_HIDDEN, where, val, NULL, NULL }

const struct poptOption test_options[] = {
	PERF_OPTIONS,
	{ "op", 0, POPT_ARG_STRING, &options.op, 0, "operation (default: write)",
	  "write|read|send|atomic" },
	{ "all", 'a', POPT_ARG_NONE, &options.all, 0,
	  "sizes from 2 to 2^23 bytes, or to that of --size", NULL },
	{ "path", 0, POPT_ARG_STRING, &options.path, 0,
	  "on the device, or on plain verbs (default: as the library chooses)", "direct|verbs" },
	{ "bidirectional", 'b', POPT_ARG_NONE, &options.both, 0, "bw: both ends send", NULL },
	{ "connection", 'c', POPT_ARG_STRING, &options.connection, 0,
	  "of which kind queue pairs are (default: RC)", "RC|UC|UD" },
	{ "port", 'p', POPT_ARG_STRING, &options.port, 0, "TCP port (default: " PORT_DEFAULT ")",
	  "PORT" },
	ALSO("ib-dev", POPT_ARG_STRING, &perf_options.device, 0),
	ALSO("tx-depth", POPT_ARG_STRING, NULL, 1 + PLAN_depth),
	ALSO("inline_size", POPT_ARG_STRING, NULL, 1 + PLAN_inline_max),
	ALSO("hop_limit", POPT_ARG_STRING, NULL, 1 + PLAN_hop_limit),
	{ NULL, 0, POPT_ARG_INCLUDE_TABLE, (void *)(uintptr_t)strangers, 0, NULL, NULL },
	POPT_AUTOHELP POPT_TABLEEND
};

static int choose(const char *option, const char *word, const char *const *names, unsigned count,
		  uint64_t *chosen)
{
	const int found = word ? find_name(word, names, count) : (int)*chosen;
	char known[64] = "";

	for (unsigned i = 0; i < count; i++)
		strcat(strcat(known, i ? ", " : ""), names[i]);
	if (found < 0)
		return complain_usage("--%s %s: use one of %s", option, word, known);
	*chosen = (uint64_t)found;
	return 0;
}

/* 0: what was not said. */
bool plan_is_sound(const struct plan *plan)
{
	bool is_sound = plan->size && plan->iters && plan->depth && plan->qps &&
			(plan->type != BSN_QP_UD || plan->op == TRAFFIC_SEND);

	for (unsigned i = 0; i < PLAN_NUMBERS; i++)
		is_sound &= !plan->of[i] || (plan->of[i] >= test_numbers[i].min &&
					     plan->of[i] <= test_numbers[i].max);
	return is_sound;
}

static int check_type(const struct plan *plan)
{
	if (plan->type == BSN_QP_UC && (plan->op == TRAFFIC_READ || plan->op == TRAFFIC_ATOMIC))
		return complain_usage("--connection UC has no --op %s: use write or send",
				      traffic_op_names[plan->op]);
	if (plan->type == BSN_QP_UD && plan->op != TRAFFIC_SEND)
		return complain_usage("--connection UD has no --op %s: use send",
				      traffic_op_names[plan->op]);
	return 0;
}

static int check_size(const struct plan *plan)
{
	if (plan->op == TRAFFIC_ATOMIC && plan->is_sweep)
		return complain_usage("--all: atomics have 8 bytes");
	if (plan->op == TRAFFIC_ATOMIC && plan->size != 8)
		return complain_usage("--size %llu: atomics have 8 bytes",
				      (unsigned long long)plan->size);
	if (plan->is_sweep && plan->size < TRAFFIC_SWEEP_FIRST)
		return complain_usage("--all begins at 2 bytes, --size is less");
	return 0;
}

static int check_plan(const struct plan *plan)
{
	const char *const output = perf_options.output;

	if (plan->duration_ms && number_given[PLAN_iters])
		return complain_usage("--iters and --duration: use one of them");
	if (number_given[PLAN_qps] && !plan->is_bw)
		return complain_usage("--qp: latency is that of one queue pair");
	if (plan->is_bidirectional && !plan->is_bw)
		return complain_usage("--bidirectional is for bw");
	if (output && !output[strspn(output, "0123456789")])
		return complain_usage("--output %s: the report's file; READs in flight (perftest's "
				      "-o) are --depth",
				      output);
	if (number_given[PLAN_inline_max] && plan->op != TRAFFIC_WRITE && plan->op != TRAFFIC_SEND)
		return complain_usage("--inline-size: a %s sends no data",
				      traffic_op_names[plan->op]);
	if (plan->mtu & (plan->mtu - 1))
		return complain_usage("--mtu %u: use 256, 512, 1024, 2048 or 4096",
				      (unsigned)plan->mtu);
	return check_type(plan) || check_size(plan) ? PERF_USAGE : 0;
}

static int read_plan(bool is_bw, struct plan *plan)
{
	for (unsigned i = 0; i < PLAN_NUMBERS; i++)
		plan->of[i] = test_numbers[i].value;
	plan->is_bw = is_bw;
	plan->is_bidirectional = options.both;
	plan->is_sweep = options.all;
	if (!plan->iters)
		plan->iters = is_bw ? BW_ITERS_DEFAULT : LAT_ITERS_DEFAULT;
	if (plan->is_sweep && !number_given[PLAN_size])
		plan->size = TRAFFIC_SWEEP_LAST;
	if (options.connection && !strcasecmp(options.connection, "DC"))
		return complain_usage("--connection DC: of DC, see bsn-perf dc");
	if (choose("op", options.op, traffic_op_names, TRAFFIC_OPS, &plan->op) ||
	    choose("connection", options.connection, traffic_connections, BSN_QP_UD + 1,
		   &plan->type))
		return PERF_USAGE;
	return check_plan(plan);
}

static int read_role(poptContext context, struct test *test)
{
	const char *role = poptGetArg(context), *host;

	test->is_server = role && !strcmp(role, "server");
	test->is_client = role && !strcmp(role, "client");
	if (role && !test->is_server && !test->is_client)
		return complain_usage("%s: use server, or client HOST, or neither", role);
	host = test->is_client ? poptGetArg(context) : NULL;
	if (test->is_client && !host)
		return complain_usage("client needs the HOST of the server");
	if (poptPeekArg(context))
		return complain_usage("one argument too many: %s", poptPeekArg(context));
	test->host = host;
	test->service = options.port ? options.port : PORT_DEFAULT;
	return 0;
}

int test_read_options(poptContext context, bool is_bw, struct test *test)
{
	static const char *const paths[] = { "auto", "direct", "verbs" };
	uint64_t path = BSN_PATH_AUTO;

	if (choose("path", options.path, paths, 3, &path) || read_plan(is_bw, &test->plan) ||
	    read_role(context, test))
		return PERF_USAGE;
	test->device_attr = (struct bsn_device_attr){
		.path = (enum bsn_path)path,
		.port = (uint8_t)test->plan.port,
		.gid_index = (int)test->plan.gid_index,
		.has_gid_index = number_given[PLAN_gid_index],
	};
	return 0;
}
