/* SPDX-License-Identifier: BSD-2-Clause */
/* The object tables of the shared mapping. */
#include "tables.h"

#include <errno.h>
#include <string.h>

#include "translations.h"

static const struct table {
	size_t offset, stride;
	uint32_t count;
} tables[CX_KINDS] = {
	[CX_PD] = { offsetof(struct cx_shared, pds), sizeof(struct cx_pd), CX_MAX_PDS },
	[CX_UMEM] = { offsetof(struct cx_shared, umems), sizeof(struct cx_umem), CX_MAX_UMEMS },
	[CX_CHANNEL] = { offsetof(struct cx_shared, channels), sizeof(struct cx_channel),
			 CX_CHANNELS },
	[CX_CQ] = { offsetof(struct cx_shared, cqs), sizeof(struct cx_cq), CX_MAX_CQS },
	[CX_SRQ] = { offsetof(struct cx_shared, srqs), sizeof(struct cx_srq), CX_MAX_SRQS },
	[CX_QP] = { offsetof(struct cx_shared, qps), sizeof(struct cx_qp), CX_MAX_QPS },
	[CX_MR] = { offsetof(struct cx_shared, mrs), sizeof(struct cx_mr),
		    CX_FIRST_KEY + CX_MAX_MRS },
	[CX_DM] = { offsetof(struct cx_shared, dms), sizeof(struct cx_dm), CX_DM_PAGES },
	[CX_MAPPING] = { offsetof(struct cx_shared, mappings), sizeof(struct cx_mapping),
			 CX_MAX_MAPPINGS },
	[CX_CONTEXT] = { offsetof(struct cx_shared, contexts), sizeof(struct cx_context),
			 CX_MAX_CONTEXTS },
	[CX_SUBSCRIPTION] = { offsetof(struct cx_shared, subscriptions),
			      sizeof(struct cx_subscription), CX_MAX_SUBSCRIPTIONS },
	[CX_XRCD] = { offsetof(struct cx_shared, xrcds), sizeof(struct cx_xrcd), CX_MAX_XRCDS },
};

_Static_assert((int)CX_KINDS <= (int)CX_MOST_KINDS, "struct cx_proc has room");

enum {
	TAGS = 16,
	KEY_TAGS = 256, /* the low byte of an mkey is the tag (PRM "Memory Key") */
};

static struct cx_head *entry_at(struct cx_hca *hca, enum cx_kind kind, uint32_t index)
{
	const struct table *table = &tables[kind];

	if (index >= table->count)
		return NULL;
	return (struct cx_head *)((char *)hca->shared + table->offset + index * table->stride);
}

static uint32_t index_of(struct cx_hca *hca, enum cx_kind kind, const struct cx_head *head)
{
	const struct table *table = &tables[kind];
	const char *base = (const char *)hca->shared + table->offset;

	return (uint32_t)((size_t)((const char *)head - base) / table->stride);
}

struct cx_head *cx_find(struct cx_hca *hca, enum cx_kind kind, uint32_t number)
{
	uint32_t index = kind == CX_MR ? number >> 8 : number & (tables[kind].count - 1);
	struct cx_head *head = entry_at(hca, kind, index);

	return number && head && head->number == number ? head : NULL;
}

struct cx_head *cx_find_own(struct cx_hca *hca, enum cx_kind kind, uint32_t number)
{
	struct cx_head *head = cx_find(hca, kind, number);

	return head && head->owner == hca->self ? head : NULL;
}

struct cx_head *cx_first(struct cx_hca *hca, enum cx_kind kind)
{
	uint32_t first = hca->self < CX_PROCS ? hca->shared->procs[hca->self].first[kind] : 0;

	return first ? entry_at(hca, kind, first - 1) : NULL;
}

struct cx_head *cx_next(struct cx_hca *hca, enum cx_kind kind, const struct cx_head *head)
{
	return head->next ? entry_at(hca, kind, head->next - 1) : NULL;
}

struct cx_head *cx_next_of_all(struct cx_hca *hca, enum cx_kind kind, uint32_t *index)
{
	struct cx_head *head;

	while ((head = entry_at(hca, kind, (*index)++)))
		if (head->number)
			return head;
	return NULL;
}

struct cx_mr *cx_mr_find_index(struct cx_hca *hca, uint32_t index)
{
	struct cx_head *head = entry_at(hca, CX_MR, index);

	return head && head->number && head->owner == hca->self ? (struct cx_mr *)head : NULL;
}

/* The index of the next empty entry; if the table is full, its size. */
static uint32_t find_empty(struct cx_hca *hca, enum cx_kind kind)
{
	const uint32_t count = tables[kind].count, first = kind == CX_MR ? CX_FIRST_KEY : 0;

	for (uint32_t tried = 0; tried < count; tried++) {
		const uint32_t index = hca->shared->cursor[kind]++ % count;

		if (index >= first && !entry_at(hca, kind, index)->number)
			return index;
	}
	return count;
}

int cx_create(struct cx_hca *hca, enum cx_kind kind, struct cx_head **out, uint32_t *number)
{
	const struct table *table = &tables[kind];
	struct cx_head *head;
	uint32_t index;
	uint16_t tag;

	if (hca->shared->removed)
		return -EIO;
	index = hca->self < CX_PROCS ? find_empty(hca, kind) : table->count;
	head = entry_at(hca, kind, index);
	if (!head)
		return -ENOMEM;
	tag = (uint16_t)((head->tag + 1) % (kind == CX_MR ? KEY_TAGS : TAGS));
	if (!tag)
		tag = 1;
	memset(head, 0, table->stride);
	head->tag = tag;
	head->owner = (uint16_t)hca->self;
	*number = kind == CX_MR ? index << 8 | tag : tag * table->count | index;
	*out = head;
	return 0;
}

static void note_queue(struct cx_hca *hca, enum cx_kind kind, const struct cx_head *head)
{
	if (kind == CX_QP || kind == CX_CQ)
		cx_note_change(hca, head->owner);
}

/* The entry is complete: it exists from here on. */
void cx_publish(struct cx_hca *hca, enum cx_kind kind, struct cx_head *head, uint32_t number)
{
	uint32_t *first = &hca->shared->procs[hca->self].first[kind];

	note_queue(hca, kind, head);
	head->next = *first;
	head->number = number;
	*first = index_of(hca, kind, head) + 1;
}

/* From here on the entry is empty. */
static void clear(struct cx_hca *hca, enum cx_kind kind, struct cx_head *head)
{
	note_queue(hca, kind, head);
	if (kind == CX_MR)
		cx_xlt_free(hca, (struct cx_mr *)head);
	head->number = 0;
}

void cx_unpublish(struct cx_hca *hca, enum cx_kind kind, struct cx_head *head)
{
	const uint32_t link = index_of(hca, kind, head) + 1;
	uint32_t *at = &hca->shared->procs[head->owner].first[kind];

	while (*at && *at != link)
		at = &entry_at(hca, kind, *at - 1)->next;
	if (*at)
		*at = head->next;
	clear(hca, kind, head);
}

void cx_disown_all(struct cx_hca *hca)
{
	for (enum cx_kind kind = 0; kind < CX_KINDS; kind++)
		for (struct cx_head *head = cx_first(hca, kind); head;
		     head = cx_next(hca, kind, head))
			clear(hca, kind, head);
}

/* Entries from here on were never used; reading them would allocate their pages. */
static uint32_t ever_used(const struct cx_hca *hca, enum cx_kind kind)
{
	const uint32_t cursor = hca->shared->cursor[kind];

	return cursor < tables[kind].count ? cursor : tables[kind].count;
}

/* Scans the tables, since the process may have died while it changed its lists. */
void cx_sweep_process(struct cx_hca *hca, unsigned proc)
{
	memset(hca->shared->procs[proc].first, 0, sizeof(hca->shared->procs[proc].first));
	for (enum cx_kind kind = 0; kind < CX_KINDS; kind++) {
		struct cx_head *head;

		for (uint32_t i = 0; i < ever_used(hca, kind) && (head = entry_at(hca, kind, i));
		     i++)
			if (head->number && head->owner == proc)
				clear(hca, kind, head);
	}
	cx_xlt_recount(hca);
}

int cx_remove(struct cx_hca *hca, enum cx_kind kind, uint32_t number)
{
	struct cx_head *head = cx_find_own(hca, kind, number);

	if (!head)
		return -EINVAL;
	if (head->users)
		return -EBUSY;
	cx_unpublish(hca, kind, head);
	return 0;
}

void cx_refer(struct cx_hca *hca, enum cx_kind kind, uint32_t number, int change)
{
	struct cx_head *head = cx_find(hca, kind, number);

	if (head)
		head->users += (uint32_t)change;
}
