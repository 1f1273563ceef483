/* SPDX-License-Identifier: BSD-2-Clause */
/* What bsn-perf dc tells: a line, or an object, for each policy. */
#include "dc.h"

#include <stddef.h>
#include <string.h>

static void print_one(FILE *to, const char *name, const struct dc_figures *f)
{
	if (!f->is_there) {
		fprintf(to, "%-10s %s\n", name, f->why_not);
		return;
	}
	fprintf(to, "%-10s %9.0f %8.3f %8.3f %8.1f %8.1f %8.1f %8.3f\n", name, f->operations_per_s,
		f->connects, f->waits, f->wait_p50_us, f->wait_p99_us, f->wait_max_us, f->fairness);
}

static void print_head(FILE *to, const struct dc_report *report, const struct dc_plan *plan)
{
	const struct dc_times *t = &report->times;

	fprintf(to, "%s: ", report->device ? report->device->name : "a model of time");
	if (report->processes)
		fprintf(to, "%u processes, each with ", report->processes);
	fprintf(to, "%u peers, %u initiators", plan->crowd.peers, plan->initiators);
	if (plan->streams > 1)
		fprintf(to, " of %u streams", plan->streams);
	if (plan->full_handshake)
		fprintf(to, ", by a full handshake");
	fprintf(to, ", window %u, %s, %u writes of %u bytes\n", plan->window, report->pattern,
		plan->operations, plan->bytes);
	if (!report->device)
		fprintf(to, "to connect %u ns, to answer %u to %u, between two requests %u\n",
			t->connect_ns, t->answer_ns, t->answer_ns + t->random_ns, t->issue_ns);
	fputc('\n', to);
}

static void print_result(FILE *to, const struct dc_report *report, const struct dc_result *result)
{
	const struct dc_figures *figures = result->figures;

	print_head(to, report, &result->plan);
	fprintf(to, "%-10s %9s %8s %8s %8s %8s %8s %8s\n", "policy", "op/s", "connects", "waits",
		"p50 us", "p99 us", "max us", "fairness");
	for (unsigned p = 0; p < DC_POLICY_COUNT; p++)
		if (figures[p].is_wanted)
			print_one(to, dc_policy_names[p], &figures[p]);
	fprintf(to, "%-10s %9s %8.3f\n", "optimum", "", result->optimum);
	fputc('\n', to);
}

static void print_text(FILE *to, const struct dc_report *report)
{
	bool by_pool = false;

	for (unsigned i = 0; i < report->count; i++) {
		for (unsigned p = 0; p < DC_POLICY_COUNT; p++) {
			const struct dc_figures *f = &report->results[i].figures[p];

			by_pool |= f->is_there && !f->device_counts;
		}
		print_result(to, report, &report->results[i]);
	}
	fputs("connects and waits: of each operation; p50, p99, max: of standing in line; "
	      "fairness: Jain's, of how\n"
	      "long the peers' operations took, in operations; the optimum knows all beforehand, "
	      "with nobody busy\n",
	      to);
	if (by_pool)
		fprintf(to,
			"this device does not count connections: those are what the pool bound\n");
}

/* Whole ones, to be compared, or with two decimals. */
static const struct {
	const char *name;
	size_t at;
	bool is_whole;
} json_figures[] = {
#define FIGURE(name, field, is_whole) { name, offsetof(struct dc_figures, field), is_whole }
	FIGURE("operations_per_s", operations_per_s, false),
	FIGURE("connects_per_operation", connects, true),
	FIGURE("waits_per_operation", waits, true),
	FIGURE("wait_p50_us", wait_p50_us, false),
	FIGURE("wait_p99_us", wait_p99_us, false),
	FIGURE("wait_max_us", wait_max_us, false),
	FIGURE("wait_p99_operations", wait_p99_operations, false),
	FIGURE("wait_max_operations", wait_max_operations, false),
	FIGURE("request_p50_us", request_p50_us, false),
	FIGURE("request_p99_us", request_p99_us, false),
	FIGURE("fairness", fairness, true),
};

static struct json_object *to_json(const char *name, const struct dc_figures *f)
{
	struct json_object *o = json_object_new_object();

	json_add_text(o, "policy", name);
	if (!f->is_there) {
		json_add_text(o, "why_not", f->why_not);
		return o;
	}
	for (unsigned i = 0; i < sizeof(json_figures) / sizeof(json_figures[0]); i++) {
		double value;

		memcpy(&value, (const char *)f + json_figures[i].at, sizeof(value));
		if (json_figures[i].is_whole)
			json_object_object_add(o, json_figures[i].name,
					       json_object_new_double(value));
		else
			json_add_figure(o, json_figures[i].name, value);
	}
	json_object_object_add(o, "connects_are_the_devices",
			       json_object_new_boolean(f->device_counts));
	json_add_number(o, "evictions", f->counters.evictions);
	json_add_number(o, "revocations", f->counters.revocations);
	json_add_number(o, "markers", f->counters.markers);
	return o;
}

static void add_result(struct json_object *to, const struct dc_report *report,
		       const struct dc_result *result)
{
	const struct dc_plan *plan = &result->plan;
	struct json_object *policies = json_object_new_array();

	json_add_text(to, "pattern", report->pattern);
	if (report->processes)
		json_add_number(to, "processes", report->processes);
	json_add_number(to, "peers", plan->crowd.peers);
	json_add_number(to, "dcis", plan->initiators);
	json_add_number(to, "streams", plan->streams);
	if (plan->full_handshake)
		json_object_object_add(to, "full_handshake", json_object_new_boolean(true));
	json_add_number(to, "window", plan->window);
	json_add_number(to, "operations", plan->operations);
	json_add_number(to, "bytes", plan->bytes);
	json_object_object_add(to, "optimum_per_operation",
			       json_object_new_double(result->optimum));
	for (unsigned p = 0; p < DC_POLICY_COUNT; p++)
		if (result->figures[p].is_wanted)
			json_object_array_add(policies,
					      to_json(dc_policy_names[p], &result->figures[p]));
	json_object_object_add(to, "policies", policies);
}

static struct json_object *times_to_json(const struct dc_times *times)
{
	struct json_object *o = json_object_new_object();

	json_add_number(o, "connect_ns", times->connect_ns);
	json_add_number(o, "answer_ns", times->answer_ns);
	json_add_number(o, "random_ns", times->random_ns);
	json_add_number(o, "issue_ns", times->issue_ns);
	return o;
}

/* One number of peers is told right in the report, several as a list. */
static void print_json(FILE *to, const struct dc_report *report)
{
	struct json_object *all = json_object_new_object(), *runs = json_object_new_array();

	if (report->device)
		json_add_device(all, report->device);
	else
		json_object_object_add(all, "model", times_to_json(&report->times));
	for (unsigned i = 0; i < report->count && report->count > 1; i++) {
		struct json_object *run = json_object_new_object();

		add_result(run, report, &report->results[i]);
		json_object_array_add(runs, run);
	}
	if (report->count > 1) {
		json_object_object_add(all, "runs", runs);
	} else {
		json_object_put(runs);
		add_result(all, report, &report->results[0]);
	}
	json_print(to, all);
}

void dc_print(FILE *to, bool as_json, const struct dc_report *report)
{
	(as_json ? print_json : print_text)(to, report);
}
