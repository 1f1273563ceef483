/* SPDX-License-Identifier: BSD-2-Clause */
/* bsn-perf dc: the instructions of posts and polls, by runs of this program under callgrind. */
#include "dc.h"

#include <string.h>

#include "callgrind.h"
#include "progress.h"

enum { COUNTED_OPERATIONS = 2000 }; /* at most */

/* Names of enum dc_counted. */
static const char *const counted_names[] = { NULL, "posts", "polls" };

static void begin_counting(void)
{
	callgrind_begin(NULL);
	callgrind_collect(); /* not yet */
}

static void dump_count(const char *row, unsigned count)
{
	callgrind_dump("dc", row, count);
}

static void end_counting(void)
{
	callgrind_collect();
	callgrind_end(NULL);
}

static const struct dc_meter meter = { begin_counting, callgrind_collect, dump_count,
				       end_counting };

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

/* What was counted, and between how many pairs of marks. */
struct counts {
	double empty, total;
	unsigned empty_count, count;
};

static void take(void *arg, const struct callgrind_dump *dump)
{
	struct counts *counts = arg;

	if (strcmp(dump->column, "dc"))
		return;
	if (!strcmp(dump->row, "empty")) {
		counts->empty = dump->total;
		counts->empty_count = dump->count;
	} else if (!strcmp(dump->row, "regions")) {
		counts->total = dump->total;
		counts->count = dump->count;
	}
}

/* One policy again, under callgrind. */
static int count_one(const struct dc_report *report, const struct dc_plan *plan,
		     const char *pattern, unsigned policy, enum dc_counted what, double *each)
{
	const uint32_t operations =
		plan->operations < COUNTED_OPERATIONS ? plan->operations : COUNTED_OPERATIONS;
	const uint64_t numbers[] = { plan->crowd.peers, plan->initiators, plan->streams,
				     plan->window,      operations,       plan->bytes,
				     plan->crowd.set,   plan->crowd.seed };
	char text[8][24], said[64] = "";
	const char *const args[] = {
		"dc",
		"--under-callgrind",
		counted_names[what],
		"--pattern",
		pattern,
		"--policy",
		dc_policy_names[policy],
		"--peers",
		text[0],
		"--dcis",
		text[1],
		"--streams",
		text[2],
		"--window",
		text[3],
		"--operations",
		text[4],
		"--size",
		text[5],
		"--set",
		text[6],
		"--seed",
		text[7],
		report->device ? "--device" : "--simulate",
		report->device ? report->device->name : NULL,
		report->device ? "--store" : NULL,
		report->device ? store_option(report->device) : NULL,
		plan->full_handshake ? "--full-handshake" : NULL,
		NULL,
	};
	struct counts c = { 0 };
	int err;

	for (unsigned i = 0; i < 8; i++)
		snprintf(text[i], sizeof(text[i]), "%llu", (unsigned long long)numbers[i]);
	show_progress("counting instructions of %s, %s, under callgrind", dc_policy_names[policy],
		      counted_names[what]);
	err = callgrind_run(args, said, sizeof(said), take, &c);
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
		err = count_one(report, &result->plan, report->pattern, p, DC_COUNT_POSTS,
				&figures->post_instructions);
		if (!err)
			err = count_one(report, &result->plan, report->pattern, p, DC_COUNT_POLLS,
					&figures->poll_instructions);
	}
	return err;
}
