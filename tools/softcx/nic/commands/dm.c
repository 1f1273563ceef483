/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Device memory (MEMIC): the owner of each page. The bytes are in the device's file, at the same
 * page for all processes, so a page has one owner in the fabric.
 */
#include "commands.h"

#include <errno.h>

_Static_assert(CX_DM_PAGES <= 64, "a bit each");

/* A bit for each page that is taken. */
static uint64_t taken_pages(const struct cx_hca *hca)
{
	uint64_t taken = 0;

	for (unsigned i = 0; i < CX_DM_PAGES; i++) {
		const struct cx_dm *dm = &hca->shared->dms[i];

		if (dm->head.number)
			taken |= (UINT64_MAX >> (64 - dm->pages)) << dm->first;
	}
	return taken;
}

/* The first of so many consecutive free pages; CX_DM_PAGES: there are none. */
static uint32_t find_pages(const struct cx_hca *hca, uint32_t count)
{
	const uint64_t taken = taken_pages(hca), mask = UINT64_MAX >> (64 - count);

	for (uint32_t first = 0; first + count <= CX_DM_PAGES; first++)
		if (!(taken & mask << first))
			return first;
	return CX_DM_PAGES;
}

int cx_dm_create(struct cx_hca *hca, uint32_t pages, uint32_t *number, uint32_t *first_page)
{
	struct cx_head *head;
	uint32_t first;
	int err = -ENOMEM;

	if (!pages || pages > CX_DM_PAGES)
		return -EINVAL;
	cx_lock_to_create(hca);
	first = find_pages(hca, pages);
	if (first < CX_DM_PAGES)
		err = cx_create(hca, CX_DM, &head, number);
	if (!err) {
		((struct cx_dm *)head)->first = first;
		((struct cx_dm *)head)->pages = pages;
		cx_publish(hca, CX_DM, head, *number);
		*first_page = first;
	}
	cx_unlock(hca);
	return err;
}

int cx_dm_destroy(struct cx_hca *hca, uint32_t number)
{
	int err;

	cx_lock(hca);
	err = cx_remove(hca, CX_DM, number);
	cx_unlock(hca);
	return err;
}
