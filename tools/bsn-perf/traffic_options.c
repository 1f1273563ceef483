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
	DEPTH_DEFAULT = 128,
	TIMEOUT_S_DEFAULT = 30,
	WARMUP_MAX = 1000,
};

#define PORT_DEFAULT "18515"
#define ITERS_MAX    (1ull << 40)
#define SECONDS_MAX  86400

static struct {
	struct perf_options common;
	char *op, *size, *iters, *path, *depth, *port, *timeout, *qp, *duration;
	char *connection, *ib_port, *gid_index, *mtu, *inline_size, *sl, *tclass, *hop_limit, *qp_timeout;
	int cm, all, both;
} options;

/* As perftest spells it, beside our spelling. */
#define ALSO(name, kind, value)                                                                    \
	{ name, 0, (kind) | POPT_ARGFLAG_DOC_HIDDEN, &options.value, 0, NULL, NULL }

static struct poptOption option_table[] = {
	PERF_OPTIONS(&options.common),
	{ "op", 0, POPT_ARG_STRING, &options.op, 0, "operation (default: write)",
	  "write|read|send|atomic" },
	{ "size", 's', POPT_ARG_STRING, &options.size, 0, "bytes of a message (default: 8)",
	  "BYTES" },
	{ "all", 'a', POPT_ARG_NONE, &options.all, 0,
	  "sizes from 2 to 2^23 bytes, or to that of --size", NULL },
	{ "iters", 'n', POPT_ARG_STRING, &options.iters, 0,
	  "operations (default: 10000 for lat, 100000 for bw)", "N" },
	{ "path", 0, POPT_ARG_STRING, &options.path, 0,
	  "Bunsen on the device, Bunsen on plain verbs, or libibverbs alone (default: direct)",
	  "direct|verbs|ibv" },
	{ "duration", 'D', POPT_ARG_STRING, &options.duration, 0,
	  "instead of so many operations, as many as so long", "SECONDS" },
	{ "depth", 't', POPT_ARG_STRING, &options.depth, 0,
	  "requests in flight on a queue pair (default: 128)", "N" },
	{ "qp", 'q', POPT_ARG_STRING, &options.qp, 0,
	  "bw: queue pairs that take turns (default: 1)", "N" },
	{ "bidirectional", 'b', POPT_ARG_NONE, &options.both, 0, "bw: both ends send", NULL },
	{ "connection", 'c', POPT_ARG_STRING, &options.connection, 0,
	  "of which kind queue pairs are (default: RC)", "RC|UC|UD" },
	{ "ib-port", 'i', POPT_ARG_STRING, &options.ib_port, 0,
	  "port of the device (default: the first that is active)", "N" },
	{ "gid-index", 'x', POPT_ARG_STRING, &options.gid_index, 0,
	  "entry of the port's GID table (default: bsn-info tells)", "N" },
	{ "mtu", 'm', POPT_ARG_STRING, &options.mtu, 0,
	  "bytes of a packet (default: what both ports can)", "BYTES" },
	{ "inline-size", 'I', POPT_ARG_STRING, &options.inline_size, 0,
	  "messages up to so long are copied into the request (default: 64)", "BYTES" },
	{ "sl", 'S', POPT_ARG_STRING, &options.sl, 0, "service level (default: 0)", "N" },
	{ "tclass", 0, POPT_ARG_STRING, &options.tclass, 0,
	  "traffic class, where packets have a GRH (default: 0)", "N" },
	{ "hop-limit", 'L', POPT_ARG_STRING, &options.hop_limit, 0,
	  "where packets have a GRH (default: 64)", "N" },
	{ "qp-timeout", 'u', POPT_ARG_STRING, &options.qp_timeout, 0,
	  "an acknowledgement is waited for 4096 ns times 2^N (default: 14)", "N" },
	{ "port", 'p', POPT_ARG_STRING, &options.port, 0, "TCP port (default: " PORT_DEFAULT ")",
	  "PORT" },
	{ "timeout", 0, POPT_ARG_STRING, &options.timeout, 0,
	  "give up after so long without progress (default: 30)", "SECONDS" },
	{ "cm", 'R', POPT_ARG_NONE, &options.cm, 0,
	  "connect the queue pairs by rdma_cm; HOST is an address of an RDMA device", NULL },
	ALSO("ib-dev", POPT_ARG_STRING, common.device),
	ALSO("tx-depth", POPT_ARG_STRING, depth),
	ALSO("inline_size", POPT_ARG_STRING, inline_size),
	ALSO("hop_limit", POPT_ARG_STRING, hop_limit),
	ALSO("rdma_cm", POPT_ARG_NONE, cm),
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

static int read_number(const char *option, const char *text, uint64_t min, uint64_t max,
		       uint64_t *value)
{
	return text ? parse_number(option, text, min, max, value) : 0;
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
	if (options.duration && options.iters)
		return complain_usage("--iters and --duration: use one of them");
	if (options.qp && !plan->is_bw)
		return complain_usage("--qp: latency is that of one queue pair");
	if (options.both && !plan->is_bw)
		return complain_usage("--bidirectional is for bw");
	if (options.common.output && !options.common.output[strspn(options.common.output, "0123456789")])
		return complain_usage("--output %s: the report's file; READs in flight (perftest's -o) are "
				      "--depth", options.common.output);
	if (options.inline_size && plan->op != TRAFFIC_WRITE && plan->op != TRAFFIC_SEND)
		return complain_usage("--inline-size: a %s sends no data", traffic_op_names[plan->op]);
	if (check_type(plan))
		return PERF_USAGE;
	return check_size(plan);
}

static int read_type(struct plan *plan)
{
	unsigned type = BSN_QP_RC;
	int err;

	if (options.connection && !strcasecmp(options.connection, "DC"))
		return complain_usage("--connection DC: of DC, see bsn-perf dc");
	err = choose("connection", options.connection, traffic_connections,
		     sizeof(traffic_connections) / sizeof(traffic_connections[0]), &type);
	plan->type = (enum bsn_qp_type)type;
	return err;
}

static int read_mtu(uint32_t *mtu)
{
	uint64_t bytes = 0;

	if (!options.mtu)
		return 0;
	if (read_number("mtu", options.mtu, 256, 4096, &bytes))
		return PERF_USAGE;
	*mtu = (uint32_t)bytes;
	return bytes & (bytes - 1) ? complain_usage("--mtu %s: use 256, 512, 1024, 2048 or 4096", options.mtu) :
				     0;
}

/* How queue pairs are connected. */
static int read_way(struct plan *plan)
{
	uint64_t sl = 0, tclass = 0, hops = 0, timeout = 0;
	int err = read_mtu(&plan->connect.mtu);

	if (!err)
		err = read_number("sl", options.sl, 0, 15, &sl);
	if (!err)
		err = read_number("tclass", options.tclass, 0, UINT8_MAX, &tclass);
	if (!err)
		err = read_number("hop-limit", options.hop_limit, 1, UINT8_MAX, &hops);
	if (!err)
		err = read_number("qp-timeout", options.qp_timeout, 1, 31, &timeout);
	plan->connect.sl = (uint8_t)sl;
	plan->connect.traffic_class = (uint8_t)tclass;
	plan->connect.hop_limit = (uint8_t)hops;
	plan->connect.timeout = (uint8_t)timeout;
	return err;
}

/* Of this end's device. */
static int read_port(struct bsn_device_attr *attr)
{
	uint64_t port = 0, index = 0;
	int err = read_number("ib-port", options.ib_port, 1, UINT8_MAX, &port);

	if (!err)
		err = read_number("gid-index", options.gid_index, 0, UINT8_MAX, &index);
	attr->port = (uint8_t)port;
	attr->gid_index = (int)index;
	attr->has_gid_index = options.gid_index;
	return err;
}

static int read_plan(struct plan *plan)
{
	unsigned op = TRAFFIC_WRITE, path = TRAFFIC_DV;
	uint64_t depth = DEPTH_DEFAULT, qps = 1, seconds = 0, inline_max = TRAFFIC_INLINE_DEFAULT;
	int err = choose("op", options.op, traffic_op_names, TRAFFIC_OPS, &op);

	plan->is_sweep = options.all;
	if (plan->is_sweep)
		plan->size = TRAFFIC_SWEEP_LAST;
	if (!err)
		err = choose("path", options.path, traffic_path_names, TRAFFIC_PATHS, &path);
	if (!err)
		err = read_number("size", options.size, 1, TRAFFIC_SIZE_MAX, &plan->size);
	if (!err)
		err = read_number("iters", options.iters, 1, ITERS_MAX, &plan->iters);
	if (!err)
		err = read_number("depth", options.depth, 1, TRAFFIC_DEPTH_MAX, &depth);
	if (!err)
		err = read_number("qp", options.qp, 1, TRAFFIC_QPS_MAX, &qps);
	if (!err)
		err = read_number("duration", options.duration, 1, SECONDS_MAX, &seconds);
	if (!err)
		err = read_number("inline-size", options.inline_size, 0, TRAFFIC_INLINE_MAX, &inline_max);
	if (!err)
		err = read_type(plan);
	if (!err)
		err = read_way(plan);
	plan->op = op;
	plan->path = path;
	plan->depth = (uint32_t)depth;
	plan->qps = (uint32_t)qps;
	plan->inline_max = (uint32_t)inline_max;
	plan->duration_ns = seconds * 1000000000;
	plan->is_bidirectional = options.both;
	plan->warmup = warmup_of(plan->iters);
	return err ? err : check_plan(plan);
}

static enum bsn_path wanted_path(const struct plan *plan)
{
	return !options.path ? BSN_PATH_AUTO : plan->path == TRAFFIC_DV ? BSN_PATH_DIRECT : BSN_PATH_VERBS;
}

/* Where it was left open, what the device is opened for. */
static const struct {
	const char *name;
	char **value;
} not_cms[] = {
	{ "connection", &options.connection }, { "ib-port", &options.ib_port },
	{ "gid-index", &options.gid_index },   { "mtu", &options.mtu },
	{ "sl", &options.sl },                 { "tclass", &options.tclass },
	{ "hop-limit", &options.hop_limit },   { "qp-timeout", &options.qp_timeout },
};

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
	for (unsigned i = 0; options.cm && i < sizeof(not_cms) / sizeof(not_cms[0]); i++)
		if (*not_cms[i].value)
			return complain_usage("--cm and --%s: rdma_cm decides that", not_cms[i].name);
	return 0;
}

/* [server | client HOST] */
static int read_role(poptContext context, struct test *test)
{
	const char *role = poptGetArg(context), *host;
	uint64_t seconds = TIMEOUT_S_DEFAULT;

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
	if (read_number("timeout", options.timeout, 1, SECONDS_MAX, &seconds))
		return PERF_USAGE;
	test->session.timeout_ms = (int)seconds * 1000;
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
	int err = parse_perftest_options(context);

	test->options = &options.common;
	test->plan = (struct plan){ .is_bw = is_bw,
				    .size = SIZE_DEFAULT,
				    .iters = is_bw ? BW_ITERS_DEFAULT : LAT_ITERS_DEFAULT };
	if (!err)
		err = read_plan(&test->plan);
	if (!err)
		err = read_port(&test->device_attr);
	if (!err)
		err = read_role(context, test);
	if (!err)
		err = read_cm(test);
	test->device_attr.path = wanted_path(&test->plan);
	test->has_size = options.size;
	return err;
}
