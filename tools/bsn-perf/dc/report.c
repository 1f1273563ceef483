/* SPDX-License-Identifier: BSD-2-Clause */
/* What bsn-perf dc tells: a line, or an object, for each policy. */
#include "dc.h"

/* The whole ones, of one operation, are compared. */
#define FIGURE(name, head, decimals, of_all) { #name, head, decimals },
static const struct {
	const char *name, *head;
	int decimals;
} table[] = { DC_FIGURES(FIGURE) };

static void print_one(FILE *to, const char *name, const struct dc_figures *f)
{
	fprintf(to, "%-10s", name);
	for (unsigned i = 0; i < DC_FIGURE_COUNT && f->is_there; i++)
		if (table[i].head)
			fprintf(to, " %*.*f", i ? 8 : 9, table[i].decimals, f->of[i]);
	fprintf(to, f->is_there ? "\n" : " %s\n", f->why_not);
}

static void print_head(FILE *to, const struct dc_report *report, const struct dc_plan *plan)
{
	fprintf(to, "%s%s: ", report->device ? report->device->name : "a model of time",
		report->device && model_name(report->device) ? " of softcx, a model" : "");
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
			plan->connect_ns, DC_ANSWER_NS, DC_ANSWER_NS + DC_RANDOM_NS, DC_ISSUE_NS);
	fputc('\n', to);
}

static void print_result(FILE *to, const struct dc_report *report, const struct dc_result *result)
{
	print_head(to, report, &result->plan);
	fprintf(to, "%-10s", "policy");
	for (unsigned i = 0; i < DC_FIGURE_COUNT; i++)
		if (table[i].head)
			fprintf(to, " %*s", i ? 8 : 9, table[i].head);
	fputc('\n', to);
	for (unsigned p = 0; p < DC_POLICY_COUNT; p++)
		if (result->figures[p].is_wanted)
			print_one(to, dc_policy_names[p], &result->figures[p]);
	fprintf(to, "%-10s %9s %8.3f\n\n", "optimum", "", result->optimum);
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
		fputs("this device does not count connections: those are what the pool bound\n",
		      to);
}

static void add_policy(struct json_object *to, const char *name, const struct dc_figures *f)
{
	json_add_text(to, "policy", name);
	if (!f->is_there) {
		json_add_text(to, "why_not", f->why_not);
		return;
	}
	for (unsigned i = 0; i < DC_FIGURE_COUNT; i++)
		if (table[i].decimals == 3)
			json_object_object_add(to, table[i].name, json_object_new_double(f->of[i]));
		else
			json_add_figure(to, table[i].name, f->of[i]);
	json_add_bool(to, "connects_are_the_devices", f->device_counts);
	json_add_number(to, "evictions", f->counters.evictions);
	json_add_number(to, "revocations", f->counters.revocations);
	json_add_number(to, "markers", f->counters.markers);
}

static void add_result(struct json_object *to, const struct dc_report *report,
		       const struct dc_result *result)
{
	const struct dc_plan *plan = &result->plan;

	json_add_text(to, "pattern", report->pattern);
	if (report->processes)
		json_add_number(to, "processes", report->processes);
	json_add_number(to, "peers", plan->crowd.peers);
	json_add_number(to, "dcis", plan->initiators);
	json_add_number(to, "streams", plan->streams);
	if (plan->full_handshake)
		json_add_bool(to, "full_handshake", true);
	json_add_number(to, "window", plan->window);
	json_add_number(to, "operations", plan->operations);
	json_add_number(to, "bytes", plan->bytes);
	json_object_object_add(to, "optimum_per_operation",
			       json_object_new_double(result->optimum));
	for (unsigned p = 0; p < DC_POLICY_COUNT; p++)
		if (result->figures[p].is_wanted)
			add_policy(json_add_to_list(to, "policies"), dc_policy_names[p],
				   &result->figures[p]);
}

/* One number of peers is told right in the report, several as a list. */
static void print_json(FILE *to, const struct dc_report *report)
{
	struct json_object *all = json_object_new_object(), *model;

	if (report->device) {
		json_add_device(all, report->device);
	} else {
		model = json_object_new_object();
		json_add_number(model, "connect_ns", report->results[0].plan.connect_ns);
		json_add_number(model, "answer_ns", DC_ANSWER_NS);
		json_add_number(model, "random_ns", DC_RANDOM_NS);
		json_add_number(model, "issue_ns", DC_ISSUE_NS);
		json_object_object_add(all, "model", model);
	}
	for (unsigned i = 0; i < report->count; i++)
		add_result(report->count == 1 ? all : json_add_to_list(all, "runs"), report,
			   &report->results[i]);
	json_print(to, all);
}

void dc_print(FILE *to, bool as_json, const struct dc_report *report)
{
	(as_json ? print_json : print_text)(to, report);
}
