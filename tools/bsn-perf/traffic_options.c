/* SPDX-License-Identifier: BSD-2-Clause */
/* Options of bsn-perf lat and bw: the table, and the plan that they make. */
#include <string.h>
#include <strings.h>

#include "../examples/connect.h"
#include "traffic_test.h"

const char *const traffic_path_names[TRAFFIC_PATHS] = { "direct", "verbs", "ibv" };
const char *const traffic_connections[] = { "RC", "UC", "UD" }; /* by enum bsn_qp_type */

enum {
	SIZE_DEFAULT = 8,
	LAT_ITERS_DEFAULT = 10000,
	BW_ITERS_DEFAULT = 100000,
	WARMUP_MAX = 1000,
	SECONDS_MAX = 86400,
};

#define PORT_DEFAULT "18515"
#define ITERS_MAX    (1ull << 40)

enum {
	SIZE, ITERS, DEPTH, QPS, SECONDS, INLINE, MTU, SL, TCLASS, HOPS, QP_TIMEOUT, IB_PORT, GID_INDEX,
	TIMEOUT, NUMBERS
};
static struct perf_number numbers[NUMBERS] = {
	[SIZE] = { "size", 1, TRAFFIC_SIZE_MAX, SIZE_DEFAULT, false },
	[ITERS] = { "iters", 1, ITERS_MAX, 0, false },
	[DEPTH] = { "depth", 1, TRAFFIC_DEPTH_MAX, 128, false },
	[QPS] = { "qp", 1, TRAFFIC_QPS_MAX, 1, false },
	[SECONDS] = { "duration", 1, SECONDS_MAX, 0, false },
	[INLINE] = { "inline-size", 0, TRAFFIC_INLINE_MAX, TRAFFIC_INLINE_DEFAULT, false },
	[MTU] = { "mtu", 256, 4096, 0, false },
	[SL] = { "sl", 0, 15, 0, false },
	[TCLASS] = { "tclass", 0, UINT8_MAX, 0, false },
	[HOPS] = { "hop-limit", 1, UINT8_MAX, 0, false },
	[QP_TIMEOUT] = { "qp-timeout", 1, 31, 0, false },
	[IB_PORT] = { "ib-port", 1, UINT8_MAX, 0, false },
	[GID_INDEX] = { "gid-index", 0, UINT8_MAX, 0, false },
	[TIMEOUT] = { "timeout", 1, SECONDS_MAX, 30, false },
};

static struct {
	struct perf_options common;
	char *op, *path, *port, *connection;
	int cm, all, both;
} options;

/* As perftest spells it, beside our spelling. */
#define ALSO(name, kind, where, val)                                                               \
	{ name, 0, (kind) | POPT_ARGFLAG_DOC_HIDDEN, where, val, NULL, NULL }

static struct poptOption option_table[] = {
	PERF_OPTIONS(&options.common),
	{ "op", 0, POPT_ARG_STRING, &options.op, 0, "operation (default: write)",
	  "write|read|send|atomic" },
	{ "size", 's', POPT_ARG_STRING, NULL, 1 + SIZE, "bytes of a message (default: 8)",
	  "BYTES" },
	{ "all", 'a', POPT_ARG_NONE, &options.all, 0,
	  "sizes from 2 to 2^23 bytes, or to that of --size", NULL },
	{ "iters", 'n', POPT_ARG_STRING, NULL, 1 + ITERS,
	  "operations (default: 10000 for lat, 100000 for bw)", "N" },
	{ "path", 0, POPT_ARG_STRING, &options.path, 0,
	  "Bunsen on the device, Bunsen on plain verbs, or libibverbs alone (default: direct)",
	  "direct|verbs|ibv" },
	{ "duration", 'D', POPT_ARG_STRING, NULL, 1 + SECONDS,
	  "instead of so many operations, as many as so long", "SECONDS" },
	{ "depth", 't', POPT_ARG_STRING, NULL, 1 + DEPTH,
	  "requests in flight on a queue pair (default: 128)", "N" },
	{ "qp", 'q', POPT_ARG_STRING, NULL, 1 + QPS,
	  "bw: queue pairs that take turns (default: 1)", "N" },
	{ "bidirectional", 'b', POPT_ARG_NONE, &options.both, 0, "bw: both ends send", NULL },
	{ "connection", 'c', POPT_ARG_STRING, &options.connection, 0,
	  "of which kind queue pairs are (default: RC)", "RC|UC|UD" },
	{ "ib-port", 'i', POPT_ARG_STRING, NULL, 1 + IB_PORT,
	  "port of the device (default: the first that is active)", "N" },
	{ "gid-index", 'x', POPT_ARG_STRING, NULL, 1 + GID_INDEX,
	  "entry of the port's GID table (default: bsn-info tells)", "N" },
	{ "mtu", 'm', POPT_ARG_STRING, NULL, 1 + MTU,
	  "bytes of a packet (default: what both ports can)", "BYTES" },
	{ "inline-size", 'I', POPT_ARG_STRING, NULL, 1 + INLINE,
	  "messages up to so long are copied into the request (default: 64)", "BYTES" },
	{ "sl", 'S', POPT_ARG_STRING, NULL, 1 + SL, "service level (default: 0)", "N" },
	{ "tclass", 0, POPT_ARG_STRING, NULL, 1 + TCLASS,
	  "traffic class, where packets have a GRH (default: 0)", "N" },
	{ "hop-limit", 'L', POPT_ARG_STRING, NULL, 1 + HOPS,
	  "where packets have a GRH (default: 64)", "N" },
	{ "qp-timeout", 'u', POPT_ARG_STRING, NULL, 1 + QP_TIMEOUT,
	  "an acknowledgement is waited for 4096 ns times 2^N (default: 14)", "N" },
	{ "port", 'p', POPT_ARG_STRING, &options.port, 0, "TCP port (default: " PORT_DEFAULT ")",
	  "PORT" },
	{ "timeout", 0, POPT_ARG_STRING, NULL, 1 + TIMEOUT,
	  "give up after so long without progress (default: 30)", "SECONDS" },
	{ "cm", 'R', POPT_ARG_NONE, &options.cm, 0,
	  "connect the queue pairs by rdma_cm; HOST is an address of an RDMA device", NULL },
	ALSO("ib-dev", POPT_ARG_STRING, &options.common.device, 0),
	ALSO("tx-depth", POPT_ARG_STRING, NULL, 1 + DEPTH),
	ALSO("inline_size", POPT_ARG_STRING, NULL, 1 + INLINE),
	ALSO("hop_limit", POPT_ARG_STRING, NULL, 1 + HOPS),
	ALSO("rdma_cm", POPT_ARG_NONE, &options.cm, 0),
	{ NULL, 0, POPT_ARG_INCLUDE_TABLE, NULL, 0, NULL, NULL }, /* perftest_options() */
	POPT_AUTOHELP POPT_TABLEEND
};

static int choose(const char *option, const char *word, const char *const *names, unsigned count,
		  unsigned *chosen)
{
	char known[64] = "";

	for (unsigned i = 0; word && i < count; i++) {
		if (!strcasecmp(word, names[i])) {
			*chosen = i;
			return 0;
		}
		strcat(strcat(known, i ? ", " : ""), names[i]);
	}
	return word ? complain_usage("--%s %s: use one of %s", option, word, known) : 0;
}

uint64_t warmup_of(uint64_t iters)
{
	return iters / 10 < WARMUP_MAX ? iters / 10 : WARMUP_MAX;
}

/* Each kind of queue pair has its operations. */
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

/* What does not go together. */
static int check_plan(const struct plan *plan)
{
	const char *const output = options.common.output;

	if (numbers[SECONDS].is_given && numbers[ITERS].is_given)
		return complain_usage("--iters and --duration: use one of them");
	if (numbers[QPS].is_given && !plan->is_bw)
		return complain_usage("--qp: latency is that of one queue pair");
	if (options.both && !plan->is_bw)
		return complain_usage("--bidirectional is for bw");
	if (output && !output[strspn(output, "0123456789")])
		return complain_usage("--output %s: the report's file; READs in flight (perftest's "
				      "-o) are --depth",
				      output);
	if (numbers[INLINE].is_given && plan->op != TRAFFIC_WRITE && plan->op != TRAFFIC_SEND)
		return complain_usage("--inline-size: a %s sends no data",
				      traffic_op_names[plan->op]);
	if (numbers[MTU].value & (numbers[MTU].value - 1))
		return complain_usage("--mtu %llu: use 256, 512, 1024, 2048 or 4096",
				      (unsigned long long)numbers[MTU].value);
	if (check_type(plan))
		return PERF_USAGE;
	return check_size(plan);
}

static int read_plan(bool is_bw, struct plan *plan)
{
	unsigned op = TRAFFIC_WRITE, path = TRAFFIC_DV, type = BSN_QP_RC;
	int err = choose("op", options.op, traffic_op_names, TRAFFIC_OPS, &op);

	if (!err)
		err = choose("path", options.path, traffic_path_names, TRAFFIC_PATHS, &path);
	if (!err && options.connection && !strcasecmp(options.connection, "DC"))
		err = complain_usage("--connection DC: of DC, see bsn-perf dc");
	if (!err)
		err = choose("connection", options.connection, traffic_connections, BSN_QP_UD + 1,
			     &type);
	if (!numbers[ITERS].is_given)
		numbers[ITERS].value = is_bw ? BW_ITERS_DEFAULT : LAT_ITERS_DEFAULT;
	if (options.all && !numbers[SIZE].is_given)
		numbers[SIZE].value = TRAFFIC_SWEEP_LAST;
	*plan = (struct plan){
		.is_bw = is_bw,
		.is_bidirectional = options.both,
		.is_sweep = options.all,
		.op = op,
		.path = path,
		.size = numbers[SIZE].value,
		.iters = numbers[ITERS].value,
		.warmup = warmup_of(numbers[ITERS].value),
		.duration_ns = numbers[SECONDS].value * 1000000000,
		.depth = (uint32_t)numbers[DEPTH].value,
		.qps = (uint32_t)numbers[QPS].value,
		.type = (enum bsn_qp_type)type,
		.inline_max = (uint32_t)numbers[INLINE].value,
		.connect = { .mtu = (uint32_t)numbers[MTU].value,
			     .sl = (uint8_t)numbers[SL].value,
			     .traffic_class = (uint8_t)numbers[TCLASS].value,
			     .hop_limit = (uint8_t)numbers[HOPS].value,
			     .timeout = (uint8_t)numbers[QP_TIMEOUT].value },
	};
	return err ? err : check_plan(plan);
}

static enum bsn_path wanted_path(const struct plan *plan)
{
	return !options.path		? BSN_PATH_AUTO
	       : plan->path == TRAFFIC_DV ? BSN_PATH_DIRECT
					  : BSN_PATH_VERBS;
}

/* What rdma_cm decides. */
static const unsigned not_cms[] = { IB_PORT, GID_INDEX, MTU, SL, TCLASS, HOPS, QP_TIMEOUT };

static int read_cm(struct test *test)
{
	test->session.is_cm = options.cm;
	if (options.cm && !has_peer(test))
		return complain_usage("--cm needs two processes: server, client HOST");
	if (options.cm && test->plan.path == TRAFFIC_IBV)
		return complain_usage("--cm is for paths direct and verbs");
	if (options.cm && test->plan.qps > 1)
		return complain_usage("--cm connects one queue pair, not --qp %u", test->plan.qps);
	if (options.cm && options.common.device)
		return complain_usage("--cm and --device: the address says which device");
	if (options.cm && options.connection)
		return complain_usage("--cm and --connection: rdma_cm decides that");
	for (unsigned i = 0; options.cm && i < sizeof(not_cms) / sizeof(not_cms[0]); i++)
		if (numbers[not_cms[i]].is_given)
			return complain_usage("--cm and --%s: rdma_cm decides that",
					      numbers[not_cms[i]].name);
	return 0;
}

/* [server | client HOST] */
static int read_role(poptContext context, struct test *test)
{
	const char *role = poptGetArg(context), *host;

	test->session.is_server = role && !strcmp(role, "server");
	test->is_client = role && !strcmp(role, "client");
	if (role && !test->session.is_server && !test->is_client)
		return complain_usage("%s: use server, or client HOST, or neither", role);
	host = test->is_client ? poptGetArg(context) : NULL;
	if (test->is_client && !host)
		return complain_usage("client needs the HOST of the server");
	if (poptPeekArg(context))
		return complain_usage("one argument too many: %s", poptPeekArg(context));
	test->session.host = host;
	test->session.service = options.port ? options.port : PORT_DEFAULT;
	test->session.timeout_ms = (int)numbers[TIMEOUT].value * 1000;
	return 0;
}

static void include_perftest(void)
{
	for (struct poptOption *o = option_table;; o++) {
		if (o->argInfo != POPT_ARG_INCLUDE_TABLE || o->arg)
			continue;
		o->arg = perftest_options();
		return;
	}
}

poptContext test_options(int argc, const char **argv, bool is_bw)
{
	poptContext context;

	include_perftest();
	context = poptGetContext(is_bw ? "bsn-perf bw" : "bsn-perf lat", argc, argv, option_table, 0);
	poptSetOtherOptionHelp(context, "[OPTION...] [server | client HOST]");
	return context;
}

int test_read_options(poptContext context, bool is_bw, struct test *test)
{
	int err = read_perftest_options(context, numbers, NUMBERS);

	test->options = &options.common;
	if (!err)
		err = read_plan(is_bw, &test->plan);
	if (!err)
		err = read_role(context, test);
	if (!err)
		err = read_cm(test);
	test->device_attr = (struct bsn_device_attr){
		.path = wanted_path(&test->plan),
		.port = (uint8_t)numbers[IB_PORT].value,
		.gid_index = (int)numbers[GID_INDEX].value,
		.has_gid_index = numbers[GID_INDEX].is_given,
	};
	test->has_size = numbers[SIZE].is_given;
	return err;
}
