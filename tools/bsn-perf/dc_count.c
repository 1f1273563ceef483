/* SPDX-License-Identifier: BSD-2-Clause */
/* bsn-perf dc: the instructions of posts and polls, by runs of this program under callgrind. */
#include "dc.h"

#include <string.h>

#include "callgrind.h"

enum { COUNTED_OPERATIONS = 2000, /* at most */ ARG_BYTES = 16 };

/* Names of enum dc_counted. */
static const char *const counted_names[] = { NULL, "posts", "polls" };

static void dump_count(const char *row, unsigned count)
{
	callgrind_dump("dc", row, count);
}

static const struct dc_meter meter = { callgrind_begin, callgrind_collect, dump_count };

int dc_read_counted(const char *under_callgrind, struct dc_plan *plan)
{
	for (int what = DC_COUNT_POSTS; under_callgrind && what <= DC_COUNT_POLLS; what++)
		if (!strcmp(under_callgrind, counted_names[what]))
			plan->counted = (enum dc_counted)what;
	plan->meter = &meter;
	if (under_callgrind && (!plan->counted || !callgrind_is_there()))
		return complain("--under-callgrind: this is not callgrind");
	return 0;
}

/* What was counted, and between how many pairs of marks: nothing, and all. */
struct counts {
	double empty, total;
	unsigned empty_count, count;
};

static void take(void *arg, const struct callgrind_dump *dump)
{
	struct counts *counts = arg;
	const bool is_empty = !strcmp(dump->row, "empty");

	*(is_empty ? &counts->empty : &counts->total) = dump->total;
	*(is_empty ? &counts->empty_count : &counts->count) = dump->count;
}

/* One policy again, under callgrind. */
static int count_one(const struct dc_report *report, const struct dc_plan *plan, unsigned policy,
		     enum dc_counted what, double *each)
{
	const uint32_t operations =
		plan->operations < COUNTED_OPERATIONS ? plan->operations : COUNTED_OPERATIONS;
	char peers[ARG_BYTES], count[ARG_BYTES], said[64] = "";
	const char *const more[] = { "--under-callgrind",
				     counted_names[what],
				     "--policy",
				     dc_policy_names[policy],
				     "--peers",
				     peers,
				     "--operations",
				     count,
				     report->device ? "--device" : NULL,
				     report->device ? report->device->name : NULL,
				     "--store",
				     report->device ? store_option(report->device) : NULL,
				     NULL };
	const struct callgrind_call call = { "dc", report->args, more };
	struct counts c = { 0 };
	int err;

	snprintf(peers, sizeof(peers), "%u", plan->crowd.peers);
	snprintf(count, sizeof(count), "%u", operations);
	show_progress("counting instructions of %s, %s, under callgrind", dc_policy_names[policy],
		      counted_names[what]);
	err = callgrind_run(&call, said, sizeof(said), take, &c);
	end_progress();
	if (!err && (!c.empty_count || !c.count))
		err = complain("callgrind's output has no counts to be read");
	if (!err)
		*each = (c.total - c.empty / c.empty_count * c.count) / operations;
	return err;
}

int dc_count_policies(const struct dc_report *report, struct dc_result *result)
{
	int err = 0;

	for (unsigned p = 0; !err && p < DC_POLICY_COUNT; p++) {
		struct dc_figures *figures = &result->figures[p];

		if (!figures->is_there || !dc_is_of_pools(p))
			continue;
		err = count_one(report, &result->plan, p, DC_COUNT_POSTS,
				&figures->post_instructions);
		if (!err)
			err = count_one(report, &result->plan, p, DC_COUNT_POLLS,
					&figures->poll_instructions);
	}
	return err;
}
