/* SPDX-License-Identifier: BSD-2-Clause */
#include "print.h"

#define KINDS_MAX 256

static struct {
	struct error_kind list[KINDS_MAX];
	unsigned count;
	unsigned long records;
} kinds;

void kinds_begin(void)
{
	kinds.count = 0;
	kinds.records = 0;
}

static struct error_kind *find(const struct error *error)
{
	for (unsigned i = 0; i < kinds.count; i++)
		if (error_is_same(&kinds.list[i].error, error))
			return &kinds.list[i];
	return NULL;
}

const struct error_kind *kinds_count(const struct record *record)
{
	struct error error = error_of_record(record);
	struct error_kind *kind;

	kinds.records++;
	if (!record->cause)
		return NULL;
	error.opcode = error.numbers[SPACE_HARDWARE] = (struct number){ 0 }; /* only for notes */
	kind = find(&error);
	if (!kind && kinds.count < KINDS_MAX) {
		kind = &kinds.list[kinds.count++];
		*kind = (struct error_kind){ .error = error, .number = kinds.records };
		summary_place(record, kind->first);
	}
	if (!kind)
		return NULL;
	kind->count++;
	summary_place(record, kind->last);
	return kind;
}

const struct error_kind *kinds_get(unsigned nth)
{
	return nth < kinds.count ? &kinds.list[nth] : NULL;
}
