/* SPDX-License-Identifier: BSD-2-Clause */
/* bsn-perf lat and bw: options, setting up, and the reports. */
#include "traffic.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "../examples/connect.h"
#include "../examples/connect_cm.h"
#include "drawing.h"
#include "stats.h"

static const char *const path_names[TRAFFIC_PATHS] = { "direct", "verbs", "ibv" };
static const char *const connections[] = { "RC", "UC", "UD" }; /* by enum bsn_qp_type */

enum {
	SIZE_DEFAULT = 8,
	LAT_ITERS_DEFAULT = 10000,
	BW_ITERS_DEFAULT = 100000,
	DEPTH_DEFAULT = 128,
	TIMEOUT_S_DEFAULT = 30,
	WARMUP_MAX = 1000,
	SWEEP_BYTES = 1 << 30, /* at most, of each size, unless these are fewer messages than */
	SWEEP_ITERS_MIN = 16,
	MEMORY_ALIGN = 4096,
};

#define PORT_DEFAULT "18515"
#define ITERS_MAX    (1ull << 40)
#define SECONDS_MAX  86400

static struct {
	struct perf_options common;
	char *op, *size, *iters, *path, *depth, *port, *timeout, *qp, *duration, *plot;
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
	{ "plot", 0, POPT_ARG_STRING, &options.plot, 0,
	  "draw percentiles, or of --all a line, into FILE (SVG)", "FILE" },
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

/* A whole test. */
struct test {
	struct plan plan;
	struct session_attr session;
	struct bsn_device_attr device_attr;
	struct connect_cm cm;
	bool is_client;
	struct bsn_device *device;
	void *memory[2];
	struct traffic traffic;
	struct plan step;             /* what is measured at the moment */
	struct throughput throughput; /* of bw */
	struct histogram histogram;   /* of lat */
	struct drawing drawing;
	FILE *plot; /* NULL: it is not drawn */
};

/* -- options ------------------------------------------------------------------------------------ */

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

static uint64_t warmup_of(uint64_t iters)
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
	if (options.plot && plan->is_bw && !plan->is_sweep)
		return complain_usage("--plot: the bandwidth of one size is one number: use --all");
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
	err = choose("connection", options.connection, connections,
		     sizeof(connections) / sizeof(connections[0]), &type);
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
		err = choose("path", options.path, path_names, TRAFFIC_PATHS, &path);
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

static bool has_peer(const struct test *test)
{
	return test->is_client || test->session.is_server;
}

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

/* -- setting up --------------------------------------------------------------------------------- */

static enum bsn_path wanted_path(const struct plan *plan)
{
	return !options.path ? BSN_PATH_AUTO : plan->path == TRAFFIC_DV ? BSN_PATH_DIRECT : BSN_PATH_VERBS;
}

/* Where it was left open, what the device is opened for. */
static void note_path(struct test *test)
{
	const bool is_direct = bsn_device_info(test->device)->path == BSN_PATH_DIRECT;

	if (test->plan.path != TRAFFIC_IBV)
		test->plan.path = is_direct ? TRAFFIC_DV : TRAFFIC_VERBS;
}

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

	if (plan->connect.mtu > info->active_mtu)
		return complain("--mtu %u: port %u of %s has %u", plan->connect.mtu, info->port, info->name,
				info->active_mtu);
	if (plan->type == BSN_QP_UD && plan->size > info->active_mtu)
		return complain("--size %llu: a message of UD is one packet, and port %u of %s takes %u bytes",
				(unsigned long long)plan->size, info->port, info->name,
				info->active_mtu);
	return 0;
}

static int open_device(struct test *test)
{
	const int err = bsn_device_open(options.common.device, &test->device_attr, &test->device);

	if (err)
		return complain_of(NULL, err);
	note_path(test);
	if (test->plan.type == BSN_QP_UD && test->plan.is_sweep && !options.size)
		test->plan.size = bsn_device_info(test->device)->active_mtu;
	return check_port(test);
}

static int open_side(struct test *test, unsigned which, struct side **side)
{
	const struct plan *plan = &test->plan;
	const uint64_t half = (room_of(plan) + MEMORY_ALIGN - 1) & ~(uint64_t)(MEMORY_ALIGN - 1);
	struct side_memory memory = { .length = 2 * half };
	int err;

	if (posix_memalign(&test->memory[which], MEMORY_ALIGN, memory.length))
		return complain("no memory for messages of %llu bytes",
				(unsigned long long)plan->size);
	memory.base = memset(test->memory[which], 0, memory.length);
	memory.out = memory.base;
	memory.in = memory.base + half;
	if (test->session.is_cm)
		err = side_attached_open(test->device, test->cm.id, plan, &memory, side);
	else if (plan->path == TRAFFIC_IBV)
		err = side_ibv_open(test->device, plan, &memory, side);
	else
		err = side_bunsen_open(test->device, plan, &memory, side);
	return err ? PERF_FAILED : 0;
}

/* Two sides in one process. */
static int connect_both(struct side *near, struct side *far)
{
	struct bsn_address a, b;

	near->there = far->here;
	far->there = near->here;
	for (unsigned qp = 0; qp < near->plan.qps; qp++) {
		near->ops->address(near, qp, &a);
		far->ops->address(far, qp, &b);
		if (near->ops->connect(near, qp, &b) || far->ops->connect(far, qp, &a))
			return PERF_FAILED;
	}
	return 0;
}

static int complain_of_connection(void)
{
	return complain("%s", connect_error());
}

/* The server listens before the client learns that it may come. */
static int meet_by_cm(struct test *test)
{
	const struct session_attr *s = &test->session;

	if (s->is_server && connect_cm_listen(s->service, &test->cm))
		return complain_of_connection();
	if (session_open(s, &test->plan, &test->traffic.peer))
		return PERF_FAILED;
	if (s->is_server ? connect_cm_take(&test->cm, s->timeout_ms)
			 : connect_cm_resolve(s->host, s->service, s->timeout_ms, &test->cm))
		return complain_of_connection();
	return 0;
}

static int set_up_by_cm(struct test *test)
{
	const struct session_attr *s = &test->session;
	struct traffic *t = &test->traffic;
	int err = meet_by_cm(test);

	if (err)
		return err;
	err = bsn_device_attach(test->cm.id->verbs, &test->device_attr, &test->device);
	if (err)
		return complain_of(NULL, err);
	note_path(test);
	err = open_side(test, 0, &t->near);
	if (err)
		return err;
	if (s->is_server ? connect_cm_accept(&test->cm, s->timeout_ms)
			 : connect_cm_connect(&test->cm, s->timeout_ms))
		return complain_of_connection();
	return session_connect(t->peer, t->near, t->timeout_ms) ? PERF_FAILED : 0;
}

static int set_up(struct test *test)
{
	struct traffic *t = &test->traffic;
	int err;

	if (test->session.is_cm)
		return set_up_by_cm(test);
	err = open_device(test);
	if (err)
		return err;
	if (has_peer(test) && session_open(&test->session, &test->plan, &t->peer))
		return PERF_FAILED;
	if (check_packets(test))
		return PERF_FAILED;
	err = open_side(test, 0, &t->near);
	if (!err && !has_peer(test)) {
		err = open_side(test, 1, &t->far);
		return err ? err : connect_both(t->near, t->far);
	}
	if (!err && session_connect(t->peer, t->near, t->timeout_ms))
		err = PERF_FAILED;
	return err;
}

static void tear_down(struct test *test)
{
	struct traffic *t = &test->traffic;

	if (t->near)
		t->near->ops->close(t->near);
	if (t->far)
		t->far->ops->close(t->far);
	if (t->peer >= 0)
		close(t->peer);
	bsn_device_close(test->device);
	connect_cm_close(&test->cm);
	free(test->memory[0]);
	free(test->memory[1]);
}

/* -- reports ------------------------------------------------------------------------------------ */

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
		fprintf(to, ", %s", connections[plan->type]);
	fprintf(to, "%s, path %s on %s\n", plan->is_bidirectional ? ", both directions" : "",
		path_names[plan->path], bsn_device_info(test->device)->name);
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

static void print_result(FILE *to, const struct test *test)
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

/* -- drawings ----------------------------------------------------------------------------------- */

/* The lines of a sweep of lat. */
static const struct {
	const char *name;
	double percent;
} drawn[] = { { "50 %", 50 }, { "99 %", 99 }, { "99.9 %", 99.9 } };

/* Every percentile that the samples tell of; "nines" go to the right. */
static void draw_percentiles(struct drawing *drawing, const struct histogram *h)
{
	enum { STEPS = 20 }; /* of each nine */

	for (unsigned i = 0; i < DRAWING_POINTS; i++) {
		const double above = pow(10, -(double)i / STEPS); /* the share of samples */
		if (above * (double)h->count < 1)
			break;
		drawing_add(drawing, 0, 1 / above,
			    (double)histogram_percentile(h, 100 * (1 - above)) / 1e3);
	}
}

static int draw(struct test *test)
{
	struct drawing *drawing = &test->drawing;
	const struct plan *plan = &test->plan;
	char title[128];
	int err;

	if (!test->plot || test->session.is_server)
		return 0;
	snprintf(title, sizeof(title), "%s of %s%s, path %s on %s",
		 plan->is_bw ? "bandwidth" : "latency", traffic_op_names[plan->op],
		 plan->is_bidirectional ? ", both directions" : "", path_names[plan->path],
		 bsn_device_info(test->device)->name);
	drawing->title = title;
	drawing->y_name = plan->is_bw ? "Gb/s" : "µs";
	drawing->x_is = plan->is_sweep ? DRAWING_BYTES : DRAWING_SAMPLES;
	drawing->names[0] = plan->is_bw ? "Gb/s" : plan->is_sweep ? drawn[0].name : "percentiles";
	for (unsigned line = 1; line < sizeof(drawn) / sizeof(drawn[0]); line++)
		drawing->names[line] = drawn[line].name;
	if (!plan->is_sweep)
		draw_percentiles(drawing, &test->histogram);
	err = drawing_write(drawing, test->plot, options.plot);
	test->plot = NULL;
	return err;
}

/* -- JSON --------------------------------------------------------------------------------------- */

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
static void add_result(struct json_object *report, const struct test *test)
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

static struct json_object *begin_json(const struct test *test)
{
	struct json_object *report = json_object_new_object();
	const struct plan *plan = &test->plan;

	add_text(report, "test", plan->is_bw ? "bw" : "lat");
	add_text(report, "device", bsn_device_info(test->device)->name);
	add_text(report, "path", path_names[plan->path]);
	add_text(report, "op", traffic_op_names[plan->op]);
	add_text(report, "connection", connections[plan->type]);
	add_uint(report, "gid_index", bsn_device_info(test->device)->gid_index);
	add_uint(report, "depth", plan->depth);
	add_uint(report, "qps", plan->qps);
	json_object_object_add(report, "bidirectional",
			       json_object_new_boolean(plan->is_bidirectional));
	return report;
}

/* -- all of it ---------------------------------------------------------------------------------- */

/* The client reports; the server says only what it did. */
struct report {
	FILE *to;
	struct json_object *json; /* NULL: as text */
};

static struct plan step_of(const struct plan *plan, uint64_t size)
{
	struct plan step = *plan;

	step.size = size;
	if (plan->is_sweep && step.iters > SWEEP_BYTES / size)
		step.iters = SWEEP_BYTES / size;
	if (step.iters < SWEEP_ITERS_MIN)
		step.iters = plan->iters < SWEEP_ITERS_MIN ? plan->iters : SWEEP_ITERS_MIN;
	step.warmup = warmup_of(step.iters);
	return step;
}

/* What is drawn of a size: of bw its bits a second, of lat some percentiles. */
static void note_step(struct test *test)
{
	const struct histogram *h = &test->histogram;
	const double size = (double)test->step.size;

	if (!test->plan.is_sweep)
		return;
	if (test->plan.is_bw) {
		drawing_add(&test->drawing, 0, size, 8 * size * test->throughput.rate / 1e9);
		return;
	}
	for (unsigned line = 0; line < sizeof(drawn) / sizeof(drawn[0]); line++)
		drawing_add(&test->drawing, line, size,
			    (double)histogram_percentile(h, drawn[line].percent) / 1e3);
}

static int measure_step(struct test *test, const struct report *report, uint64_t size)
{
	struct traffic *t = &test->traffic;
	int err;

	test->step = step_of(&test->plan, size);
	side_resize(t->near, &test->step);
	if (t->far)
		side_resize(t->far, &test->step);
	histogram_clear(&test->histogram);
	err = test->plan.is_bw ? run_bw(t, &test->throughput) : run_lat(t, &test->histogram);
	if (test->plan.duration_ns)
		test->step.iters =
			test->plan.is_bw ? test->throughput.operations : test->histogram.count;
	if (!err && !test->session.is_server)
		note_step(test);
	if (!err && report->json)
		add_result(report->json, test);
	else if (!err && !test->session.is_server)
		print_result(report->to, test);
	return err;
}

static int measure(struct test *test, const struct report *report)
{
	const struct plan *plan = &test->plan;
	int err = 0;

	if (!plan->is_sweep)
		return measure_step(test, report, plan->size);
	for (uint64_t size = TRAFFIC_SWEEP_FIRST; !err && size <= plan->size; size *= 2)
		err = measure_step(test, report, size);
	return err;
}

static int run(struct test *test)
{
	struct report report = { .to = report_open(&options.common) };
	int err;

	if (!report.to)
		return PERF_FAILED;
	if (options.plot && !(test->plot = drawing_open(options.plot)))
		return report_close(report.to, &options.common) | PERF_FAILED;
	err = set_up(test);
	if (!err && options.common.json && !test->session.is_server)
		report.json = begin_json(test);
	if (!err)
		test->traffic.device = test->device;
	if (!err && measure(test, &report))
		err = PERF_FAILED;
	if (!err)
		err = draw(test);
	if (!err && test->session.is_server && !options.common.json)
		print_title(report.to, test);
	if (!err && report.json)
		json_print(report.to, report.json);
	else
		json_object_put(report.json);
	if (test->plot)
		fclose(test->plot);
	tear_down(test);
	const int unwritten = report_close(report.to, &options.common);
	return err ? err : unwritten;
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

static int traffic_main(int argc, const char **argv, bool is_bw)
{
	struct test *test = calloc(1, sizeof(*test));
	poptContext context;
	int err;

	if (!test)
		return complain("no memory");
	include_perftest();
	context = poptGetContext(is_bw ? "bsn-perf bw" : "bsn-perf lat", argc, argv, option_table, 0);
	poptSetOtherOptionHelp(context, "[OPTION...] [server | client HOST]");
	test->plan = (struct plan){ .is_bw = is_bw,
				    .size = SIZE_DEFAULT,
				    .iters = is_bw ? BW_ITERS_DEFAULT : LAT_ITERS_DEFAULT };
	err = parse_perftest_options(context);
	if (!err)
		err = read_plan(&test->plan);
	if (!err)
		err = read_port(&test->device_attr);
	test->device_attr.path = wanted_path(&test->plan);
	if (!err)
		err = read_role(context, test);
	if (!err)
		err = read_cm(test);
	test->traffic = (struct traffic){ .peer = -1,
					  .timeout_ms = test->session.timeout_ms,
					  .is_server = test->session.is_server };
	if (!err)
		err = run(test);
	free(test);
	poptFreeContext(context);
	return err;
}

int lat_main(int argc, const char **argv)
{
	return traffic_main(argc, argv, false);
}

int bw_main(int argc, const char **argv)
{
	return traffic_main(argc, argv, true);
}
