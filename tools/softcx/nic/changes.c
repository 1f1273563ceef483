/* SPDX-License-Identifier: BSD-2-Clause */
/* The pages of a region that changed after it was registered. */
#include "changes.h"

#include <string.h>

#include "bsn_umr.h"
#include "process.h"
#include "tables.h"

static void remove_at(struct cx_mr *mr, unsigned at)
{
	mr->changes--;
	memmove(&mr->changed[at], &mr->changed[at + 1],
		(mr->changes - at) * sizeof(mr->changed[0]));
}

/* Joins the two ranges that are closest to each other. */
static void join_closest(struct cx_mr *mr)
{
	unsigned best = 0;

	for (unsigned i = 1; i + 1u < mr->changes; i++)
		if (mr->changed[i + 1].start - mr->changed[i].end <
		    mr->changed[best + 1].start - mr->changed[best].end)
			best = i;
	mr->changed[best].end = mr->changed[best + 1].end;
	remove_at(mr, best + 1);
}

/* Adds a range, joined with those that it touches. */
static void add(struct cx_mr *mr, struct cx_range range)
{
	unsigned at = 0;

	while (at < mr->changes && mr->changed[at].end < range.start)
		at++;
	while (at < mr->changes && mr->changed[at].start <= range.end) {
		if (mr->changed[at].start < range.start)
			range.start = mr->changed[at].start;
		if (mr->changed[at].end > range.end)
			range.end = mr->changed[at].end;
		remove_at(mr, at);
	}
	memmove(&mr->changed[at + 1], &mr->changed[at],
		(mr->changes - at) * sizeof(mr->changed[0]));
	mr->changed[at] = range;
	if (++mr->changes > CX_MR_CHANGES)
		join_closest(mr);
}

/* Memory that is paged on demand follows its mapping. */
static bool is_pinned(const struct cx_mr *mr)
{
	return mr->mode == BSN_MKEY_MODE_MTT && !(mr->attr.access & IBV_ACCESS_ON_DEMAND);
}

static void apply(struct cx_mr *mr, struct cx_range range)
{
	const uint64_t end = mr->attr.va + mr->attr.length;

	if (range.start < mr->attr.va)
		range.start = mr->attr.va;
	if (range.end > end)
		range.end = end;
	if (range.start < range.end)
		add(mr, range);
}

void cx_memory_changed(struct cx_hca *hca, cx_change_reader *next, void *context)
{
	struct cx_range range;

	cx_lock(hca);
	while (next(context, &range)) {
		for (struct cx_head *head = cx_first(hca, CX_MR); head;
		     head = cx_next(hca, CX_MR, head))
			if (is_pinned((struct cx_mr *)head))
				apply((struct cx_mr *)head, range);
	}
	cx_unlock(hca);
}

const struct cx_range *cx_changes_find(const struct cx_mr *mr, uint64_t va, uint64_t len)
{
	for (unsigned i = 0; i < mr->changes; i++)
		if (va < mr->changed[i].end && mr->changed[i].start < va + len)
			return &mr->changed[i];
	return NULL;
}

void cx_changes_forget(struct cx_mr *mr)
{
	mr->changes = 0;
	mr->change_told = false;
}
