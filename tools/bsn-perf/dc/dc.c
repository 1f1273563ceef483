/* SPDX-License-Identifier: BSD-2-Clause */
/* bsn-perf dc: its options; a pool of each policy, on a device or on the model. */
#include "dc.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../examples/ranks.h"

enum { PEERS_DEFAULT = 200, PEERS_MAX = 1 << 20 };

enum number { DCIS, STREAMS, WINDOW, OPERATIONS, BYTES, CONNECT, SEED, LOCAL, NUMBERS };
static struct perf_number numbers[NUMBERS] = {
	[DCIS] = { "dcis", 'm', 1, 4096, 8, "initiators (default: 8)", "N" },
	[STREAMS] = { "streams", 0, 1, 1024, 1, "streams of each initiator (default: 1)", "N" },
	[WINDOW] = { "window", 'w', 1, 4096, 4,
		"requests that are outstanding or wait (default: 4)", "N" },
	[OPERATIONS] = { "operations", 'c', 1, 100000000, 100000, "requests (default: 100000)",
		"N" },
	[BYTES] = { "size", 's', 1, 1 << 20, 64, "bytes of a request (default: 64)", "BYTES" },
	[CONNECT] = { "connect-ns", 0, 0, 1000000000, DC_CONNECT_NS,
		"the model's time to connect (default: 60)", "N" },
	[SEED] = { "seed", 0, 1, UINT64_MAX >> 1, 1, "of the pattern (default: 1)", "N" },
	[LOCAL] = { "local", 0, 1, RANKS_MAX, 1,
		"so many processes, each of which is a peer of all others", "N" },
};

static struct {
	char *peers, *pattern, *policy;
	int simulate, pmix, full_handshake;
} options;

static const struct poptOption option_table[] = {
	PERF_OPTIONS,
	{ "peers", 'n', POPT_ARG_STRING, &options.peers, 0,
	  "targets (default: 200); several numbers: one run after the other", "N,..." },
	{ "full-handshake", 0, POPT_ARG_NONE, &options.full_handshake, 0,
	  "initiators wait for the answer to each connection", NULL },
	{ "pattern", 'p', POPT_ARG_STRING, &options.pattern, 0,
	  "whom they go to: uniform, zipf (the default), bursts, moving, all_to_all, incast, or a "
	  "file of peers",
	  "NAME|FILE" },
	{ "policy", 'y', POPT_ARG_STRING, &options.policy, 0,
	  "only these policies: lru, hashed; of the model also dcs, dcs_quota (UCX's)",
	  "NAME,..." },
	{ "simulate", 0, POPT_ARG_NONE, &options.simulate, 0,
	  "the same pool on a model of time, without a device", NULL },
	{ "pmix", 0, POPT_ARG_NONE, &options.pmix, 0,
	  "the same of the processes that a launcher has started, as mpirun does", NULL },
	POPT_AUTOHELP POPT_TABLEEND
};

/* -- whom requests go to ----------------------------------------------------------------------- */

/* A number a line, as many as there are operations at most. */
static int read_listed(FILE *file, const struct dc_plan *plan, uint32_t *listed, uint32_t *count)
{
	const uint32_t peers = plan->crowd.peers;
	unsigned peer;
	int got = 1;

	while (*count < plan->operations && (got = fscanf(file, "%u", &peer)) == 1 && peer < peers)
		listed[(*count)++] = peer;
	if (*count && (*count == plan->operations || got == EOF))
		return 0;
	return complain("--pattern %s, number %u: must be a peer, 0 to %u", options.pattern,
			*count + 1, peers - 1);
}

/* A file that is shorter than the run begins anew. @listed: what is then to be freed */
static int read_pattern(struct dc_plan *plan, uint32_t **listed)
{
	const int named = options.pattern ? find_name(options.pattern, dc_pattern_names,
						      DC_PATTERN_COUNT)
					  : (int)plan->crowd.pattern;
	FILE *file;
	int err;

	if (named >= 0) {
		plan->crowd.pattern = (enum dc_pattern)named;
		return 0;
	}
	file = fopen(options.pattern, "r");
	if (!file)
		return complain("--pattern %s: neither a pattern nor a file: %s", options.pattern,
				strerror(errno));
	*listed = malloc(plan->operations * sizeof(**listed));
	err = *listed ? read_listed(file, plan, *listed, &plan->crowd.listed_count)
		      : complain("no memory");
	plan->crowd.listed = *listed;
	fclose(file);
	return err;
}

static const char *pattern_name(const struct dc_plan *plan)
{
	return plan->crowd.listed ? options.pattern : dc_pattern_names[plan->crowd.pattern];
}

/* -- options ----------------------------------------------------------------------------------- */

static bool is_of_pools(enum dc_policy policy)
{
	return policy == DC_POLICY_lru || policy == DC_POLICY_hashed;
}

static int read_policies(struct dc_figures *figures)
{
	char *rest = options.policy, *name;

	for (unsigned p = 0; p < DC_POLICY_COUNT; p++)
		figures[p].is_wanted = !rest && (options.simulate || is_of_pools(p));
	while (rest && (name = strsep(&rest, ","))) {
		const int p = find_name(name, dc_policy_names, DC_POLICY_COUNT);

		if (p < 0)
			return complain_usage("--policy %s: there is none", name);
		if (!options.simulate && !is_of_pools((enum dc_policy)p))
			return complain_usage("--policy %s: UCX's, to compare with: use --simulate",
					      name);
		figures[p].is_wanted = true;
	}
	return 0;
}

/* The plans differ in that alone. */
static unsigned peers[DC_COUNTS_MAX] = { PEERS_DEFAULT };

static int read_peers(struct dc_report *report)
{
	struct perf_number number = { .name = "peers", .min = 1, .max = PEERS_MAX };

	report->count = 1;
	return options.peers ? parse_numbers(&number, options.peers, peers, DC_COUNTS_MAX,
					     &report->count)
			     : 0;
}

/* Whether this process is one of many. */
static bool has_ranks(void)
{
	return number_given[LOCAL] || options.pmix;
}

static uint32_t number(enum number which)
{
	return (uint32_t)numbers[which].value;
}

static int check_options(const struct dc_report *report)
{
	const struct dc_plan *plan = &report->results[0].plan;

	if (number_given[LOCAL] && options.pmix)
		return complain_usage("--local starts processes, --pmix finds them: use one");
	if (has_ranks() && options.peers)
		return complain_usage("--peers: those of a process are the other ones");
	if (has_ranks() && options.simulate)
		return complain_usage("--local and --pmix are not for --simulate");
	if (number_given[CONNECT] && !options.simulate)
		return complain_usage("--connect-ns is the model's: use --simulate");
	if (options.simulate && perf_options.device)
		return complain_usage("--simulate has no device");
	if (options.simulate && options.full_handshake)
		return complain_usage(
			"--full-handshake is a device's: --simulate has --connect-ns");
	if ((uint64_t)plan->initiators * plan->streams >= UINT16_MAX)
		return complain_usage("%u initiators of %u streams: a pool has less than %u slots",
				      plan->initiators, plan->streams, UINT16_MAX);
	return 0;
}

static int read_all(struct dc_report *report)
{
	struct dc_result *first = &report->results[0];
	int err = read_peers(report);

	if (err)
		return err;
	first->plan = (struct dc_plan){
		.crowd = { .pattern = DC_PATTERN_zipf,
			   .peers = peers[0],
			   .seed = numbers[SEED].value },
		.initiators = number(DCIS),
		.streams = number(STREAMS),
		.window = number(WINDOW),
		.operations = number(OPERATIONS),
		.bytes = number(BYTES),
		.connect_ns = number(CONNECT),
		.full_handshake = options.full_handshake,
	};
	err = read_policies(first->figures);
	return err ? err : check_options(report);
}

/* From shorter rings than the model's a pool does not read which streams were used. */
enum { KEY = 0x5eed, STREAMS_DEPTH = 64 };

struct bench {
	struct bsn_device *device;
	struct bsn_cq *cq;
	struct bsn_rq *srq;
	struct bsn_mr *memory;
	struct bsn_dct **targets;
	uint32_t target_count;
	struct place *places; /* of all peers, whosever targets they are */
	const struct dc_plan *plan;
	struct ranks *ranks; /* NULL: this process is alone */
	struct bsn_dc_pool *pool; /* of the policy that is played */
	struct bsn_ep **peers;
	struct bsn_sge local;
};

struct place {
	struct bsn_address address;
	struct bsn_remote memory;
};

static bool is_on_verbs(const struct bench *b)
{
	return bsn_device_info(b->device)->path == BSN_PATH_VERBS;
}

/* -- on a device ------------------------------------------------------------------------------ */

static int make_targets(struct bench *b, uint32_t count)
{
	struct bsn_dct_attr target = { .access_key = KEY };
	int err = bsn_cq_create(b->device, &(struct bsn_cq_attr){ .entries = count }, &b->cq);

	if (err ||
	    (err = bsn_srq_create(b->device, &(struct bsn_srq_attr){ .recv_depth = 1 }, &b->srq)) ||
	    (err = bsn_buf_alloc(b->device, 2 * (size_t)b->plan->bytes, NULL, &b->memory)))
		return err;
	target.cq = b->cq;
	target.srq = b->srq;
	for (; !err && b->target_count < count; b->target_count += !err)
		err = bsn_dct_create(b->device, &target, &b->targets[b->target_count]);
	return err;
}

static int tell_place(const struct bench *b, uint32_t number, struct place *place)
{
	memset(place, 0, sizeof(*place));
	place->memory = bsn_remote_of(b->memory, b->plan->bytes);
	return bsn_dct_address(b->targets[number], &place->address);
}

/* Of many processes each has one target; the peers of one are the others, its neighbour first. */
static int find_places(struct bench *b)
{
	const unsigned count = b->ranks ? b->ranks->count : 1;
	struct place mine, *all = calloc(count, sizeof(*all));
	int err = all ? 0 : -ENOMEM;

	for (uint32_t p = 0; !err && !b->ranks && p < b->plan->crowd.peers; p++)
		err = tell_place(b, p, &b->places[p]);
	if (!err && b->ranks)
		err = tell_place(b, 0, &mine);
	if (err)
		err = complain_of(NULL, err);
	else if (b->ranks && ranks_exchange(b->ranks, &mine, sizeof(mine), all))
		err = complain("%s", ranks_error());
	for (uint32_t p = 0; !err && b->ranks && p < b->plan->crowd.peers; p++)
		b->places[p] = all[(b->ranks->rank + 1 + p) % count];
	free(all);
	return err;
}

static int open_bench(const struct dc_plan *plan, struct ranks *ranks, struct bench **bench)
{
	const uint32_t targets = ranks ? 1 : plan->crowd.peers;
	const struct bsn_device_info *info;
	struct bench *b = calloc(1, sizeof(*b));
	int err;

	if (!b)
		return complain("no memory");
	*bench = b;
	b->plan = plan;
	b->ranks = ranks;
	b->targets = calloc(targets, sizeof(struct bsn_dct *));
	b->places = calloc(plan->crowd.peers, sizeof(*b->places));
	b->peers = calloc(plan->crowd.peers, sizeof(struct bsn_ep *));
	if (!b->targets || !b->places || !b->peers)
		return complain("no memory");
	err = perf_open_device(NULL, &b->device);
	if (err)
		return err;
	info = bsn_device_info(b->device);
	if ((uint64_t)targets + plan->initiators > info->max_qp)
		return complain("--peers and --dcis: %u targets and %u initiators, and %s has %u "
				"queue pairs and targets in all",
				targets, plan->initiators, info->name, info->max_qp);
	if (ranks && is_on_verbs(b))
		return complain("--local and --pmix need a device with DC: on plain verbs a target "
				"that waits connects nobody");
	err = make_targets(b, targets);
	if (err)
		return complain_of(NULL, err);
	return find_places(b);
}

static void close_bench(struct bench *b)
{
	if (!b)
		return;
	while (b->target_count)
		bsn_dct_destroy(b->targets[--b->target_count]);
	bsn_srq_destroy(b->srq);
	bsn_cq_destroy(b->cq);
	bsn_buf_free(b->memory);
	bsn_device_close(b->device);
	free(b->targets);
	free(b->places);
	free(b->peers);
	free(b);
}

static int make_peer(void *arg, uint32_t number, void *user)
{
	struct bench *b = arg;

	return bsn_dc_peer_create(b->pool, &b->places[number].address, NULL, user,
				  &b->peers[number]);
}

static int post_write(void *arg, uint32_t number, uint64_t id)
{
	const struct bench *b = arg;

	return bsn_write(b->peers[number], &b->local, &b->places[number].memory, id,
			 BSN_F_SIGNALED | BSN_F_RING);
}

/* On plain verbs targets connect initiators that ask for it. */
static int poll_pool(void *arg, struct bsn_completion *c, int n)
{
	const struct bench *b = arg;

	step();
	for (uint32_t t = 0; is_on_verbs(b) && t < b->target_count; t++)
		bsn_dct_accept(b->targets[t]);
	return bsn_poll(bsn_dc_pool_cq(b->pool), c, n);
}

static uint64_t read_clock(void *unused)
{
	(void)unused;
	return now_ns();
}

static void read_counters(void *arg, struct dc_figures *figures)
{
	bsn_dc_pool_counters(((const struct bench *)arg)->pool, &figures->counters);
}

/*
 * Of all processes: their operations until the last one is done, what each needs for one, and the
 * longest waits.
 */
static void add_rank(struct dc_figures *to, const struct dc_figures *f)
{
#define OF_ALL(name, head, decimals, of_all) of_all,
	static const enum { SUM, MOST, LEAST } of_all[] = { DC_FIGURES(OF_ALL) };

	for (unsigned i = 0; i < DC_FIGURE_COUNT; i++)
		to->of[i] = of_all[i] == SUM    ? to->of[i] + f->of[i]
			    : of_all[i] == MOST ? fmax(to->of[i], f->of[i])
						: fmin(to->of[i], f->of[i]);
	to->counters.evictions += f->counters.evictions;
	to->counters.revocations += f->counters.revocations;
	to->counters.markers += f->counters.markers;
}

static int gather(struct ranks *ranks, struct dc_figures *figures)
{
	struct dc_figures *all = calloc(ranks->count, sizeof(*all));
	int err = !all || ranks_exchange(ranks, figures, sizeof(*figures), all);

	for (unsigned r = 0; !err && r < ranks->count; r++)
		if (r != ranks->rank)
			add_rank(figures, &all[r]);
	figures->operations_per_s *= ranks->count;
	figures->connects_per_operation /= ranks->count;
	figures->waits_per_operation /= ranks->count;
	free(all);
	return err ? complain("%s", all ? ranks_error() : "no memory") : 0;
}

static int play_on(struct bench *b, struct dc_figures *figures)
{
	static const struct dc_stage stage = { make_peer, post_write, poll_pool, read_clock,
					       read_counters };

	if (b->ranks && ranks_wait(b->ranks))
		return complain("%s", ranks_error());
	if (dc_play(b->plan, &stage, b, figures))
		return complain("%s", figures->why_not);
	return b->ranks ? gather(b->ranks, figures) : 0;
}

static int run_on_bench(struct bench *b, enum dc_policy policy, struct dc_figures *figures)
{
	const struct dc_plan *plan = b->plan;
	const bool is_short = plan->streams > 1 && plan->window < STREAMS_DEPTH;
	const struct bsn_dc_pool_attr attr = {
		.initiators = plan->initiators,
		.streams = plan->streams,
		.full_handshake = plan->full_handshake,
		.policy = dc_policy_of_pool(policy),
		.send_depth = is_short ? STREAMS_DEPTH : plan->window
	};
	int err = bsn_dc_pool_create(b->device, &attr, &b->pool);

	if (err) {
		snprintf(figures->why_not, sizeof(figures->why_not), "%s", error_text(err));
		return 0;
	}
	b->local = bsn_sge_of(b->memory, 0, plan->bytes);
	err = play_on(b, figures);
	for (uint32_t i = 0; i < plan->crowd.peers; i++) {
		if (b->peers[i])
			bsn_dc_peer_destroy(b->peers[i]);
		b->peers[i] = NULL;
	}
	bsn_dc_pool_destroy(b->pool);
	return err;
}

/* -- all of it --------------------------------------------------------------------------------- */

static int simulate(const struct dc_plan *plan, enum dc_policy policy, struct dc_figures *figures)
{
	const int err = dc_simulate(plan, policy, figures);

	return err ? complain("%s", *figures->why_not ? figures->why_not : strerror(-err)) : 0;
}

/* @bench: NULL: on a model */
static int run_policies(struct bench *bench, struct dc_result *result)
{
	const struct dc_plan *plan = &result->plan;
	uint64_t connects;
	int err = 0;

	for (unsigned p = 0; !err && p < DC_POLICY_COUNT; p++) {
		if (!result->figures[p].is_wanted)
			continue;
		show_progress("%u peers, %s", plan->crowd.peers, dc_policy_names[p]);
		err = bench ? run_on_bench(bench, p, &result->figures[p])
			    : simulate(plan, p, &result->figures[p]);
		end_progress();
	}
	if (err)
		return err;
	connects = dc_optimum(&plan->crowd, plan->operations, plan->initiators * plan->streams);
	result->optimum = (double)connects / plan->operations;
	return connects == UINT64_MAX ? complain("no memory") : 0;
}

/* The device of the last bench stays open until its name is told. */
static int measure(struct dc_report *report, struct ranks *ranks, struct bench **bench)
{
	int err = 0;

	for (unsigned i = 0; !err && i < report->count; i++) {
		struct dc_result *result = &report->results[i];

		close_bench(*bench);
		*bench = NULL;
		if (!options.simulate && (err = open_bench(&result->plan, ranks, bench)))
			return err;
		if (*bench)
			report->device = bsn_device_info((*bench)->device);
		err = run_policies(*bench, result);
	}
	return err;
}

static int measure_and_report(struct dc_report *report, struct ranks *ranks, FILE *to)
{
	struct bench *bench = NULL;
	int err;

	if (!ranks)
		prefer_stepping();
	err = measure(report, ranks, &bench);
	if (!err && (!ranks || !ranks->rank))
		dc_print(to, perf_options.json, report);
	if (!err && ranks && ranks_wait(ranks)) /* nobody writes to this one's target any more */
		err = complain("%s", ranks_error());
	close_bench(bench);
	return err;
}

/* -- many processes ---------------------------------------------------------------------------- */

/* This process, and its peers, which are all others; the output is that of the first one. */
static int be_one_of(struct ranks *ranks, struct dc_report *report)
{
	struct dc_plan *plan = &report->results[0].plan;
	const bool is_local = number_given[LOCAL];

	if (is_local ? ranks_start(ranks, number(LOCAL)) : ranks_join(ranks))
		return complain("--%s: %s", is_local ? "local" : "pmix", ranks_error());
	if (ranks->rank) {
		free(perf_options.output);
		perf_options.output = NULL;
	}
	report->processes = ranks->count;
	plan->crowd.peers = ranks->count > 1 ? ranks->count - 1 : 1;
	plan->crowd.seed += ranks->rank;
	if (!options.pattern)
		plan->crowd.pattern = DC_PATTERN_all_to_all;
	return 0;
}

static struct dc_report report;
static struct ranks ranks;

static int read_options_of_dc(poptContext context)
{
	const int err = read_all(&report);

	(void)context;
	return err || !has_ranks() ? err : be_one_of(&ranks, &report);
}

static int run(FILE *to)
{
	struct dc_plan *plan = &report.results[0].plan;
	uint32_t *listed = NULL;
	int err = read_pattern(plan, &listed);

	report.pattern = pattern_name(plan);
	for (unsigned i = 1; i < report.count; i++) {
		report.results[i] = report.results[0];
		report.results[i].plan.crowd.peers = peers[i];
	}
	if (!err)
		err = measure_and_report(&report, has_ranks() ? &ranks : NULL, to);
	free(listed);
	return has_ranks() ? ranks_end(&ranks, err) : err;
}

const struct perf_command dc_command = {
	"dc",
	"many peers through few DC initiators: connections and waits, by each policy",
	NULL, option_table, numbers, NUMBERS, read_options_of_dc, run,
};
