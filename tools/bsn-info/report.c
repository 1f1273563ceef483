/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints findings, for people and for programs. */
#include "report.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#include <json-c/json.h>

#include "info.h"

static const struct {
	const char *text, *json;
} status_names[STATUS_COUNT] = {
	[STATUS_OK] = { "OK", "ok" },
	[STATUS_WRONG] = { "WRONG", "wrong" },
	[STATUS_NOTE] = { "note", "note" },
	[STATUS_SKIPPED] = { "skipped", "skipped" },
};

void report_add(struct report *report, const struct finding *finding)
{
	struct finding *findings =
		realloc(report->findings, (report->count + 1) * sizeof(*findings));

	if (!findings)
		err(INFO_FAILED, "findings");
	report->findings = findings;
	findings[report->count++] = *finding;
	report->counts[finding->status]++;
}

void report_free(struct report *report)
{
	for (unsigned i = 0; i < report->count; i++) {
		free(report->findings[i].text);
		free(report->findings[i].mend);
		free(report->findings[i].source);
	}
	free(report->findings);
	*report = (struct report){ 0 };
}

void report_print(const struct report *report)
{
	for (unsigned i = 0; i < report->count; i++) {
		const struct finding *finding = &report->findings[i];

		printf("%-8s %-10s %-16s %s\n", status_names[finding->status].text,
		       finding->subject, finding->check, finding->text);
		if (finding->mend)
			printf("%20s mend:   %s\n", "", finding->mend);
		if (finding->status != STATUS_SKIPPED)
			printf("%20s source: %s\n", "", finding->source);
	}
	printf("%u wrong, %u OK, %u notes, %u skipped\n", report->counts[STATUS_WRONG],
	       report->counts[STATUS_OK], report->counts[STATUS_NOTE],
	       report->counts[STATUS_SKIPPED]);
}

static void add_text(struct json_object *object, const char *key, const char *text)
{
	json_object_object_add(object, key, text ? json_object_new_string(text) : NULL);
}

static struct json_object *finding_json(const struct finding *finding)
{
	struct json_object *object = json_object_new_object();

	add_text(object, "check", finding->check);
	add_text(object, "subject", finding->subject);
	add_text(object, "status", status_names[finding->status].json);
	add_text(object, "found", finding->text);
	add_text(object, "mend", finding->mend);
	add_text(object, "source", finding->source);
	return object;
}

struct json_object *report_json(const struct report *report)
{
	struct json_object *object = json_object_new_object();
	struct json_object *findings = json_object_new_array();
	struct json_object *counts = json_object_new_object();

	for (unsigned i = 0; i < report->count; i++)
		json_object_array_add(findings, finding_json(&report->findings[i]));
	for (unsigned i = 0; i < STATUS_COUNT; i++)
		json_object_object_add(counts, status_names[i].json,
				       json_object_new_int64(report->counts[i]));
	json_object_object_add(object, "findings", findings);
	json_object_object_add(object, "counts", counts);
	return object;
}
