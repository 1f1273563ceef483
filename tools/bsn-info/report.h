/* SPDX-License-Identifier: BSD-2-Clause */
/* The findings of bsn-info --check, in order. */
#ifndef BSN_INFO_REPORT_H
#define BSN_INFO_REPORT_H

#include "check.h"

enum { STATUS_COUNT = STATUS_SKIPPED + 1 };

struct finding {
	const char *check;
	char subject[80]; /* "host", a device, or a device and its port */
	enum status status;
	char *text;
	char *mend; /* NULL: nothing to mend */
	char *source;
};

struct report {
	unsigned count;
	struct finding *findings;
	unsigned counts[STATUS_COUNT];
};

/* Adds a finding, and owns its three texts, which are on the heap. Exits if memory is used up. */
void report_add(struct report *report, const struct finding *finding);
void report_free(struct report *report);
void report_print(const struct report *report);
struct json_object *report_json(const struct report *report);

#endif
