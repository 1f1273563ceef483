/* SPDX-License-Identifier: BSD-2-Clause */
/* XRC domains: one for each file, whichever processes open it. */
#include "commands.h"

static bool is_of_file(const struct cx_xrcd *xrcd, const struct cx_xrcd_attr *attr)
{
	return xrcd->attr.has_file && attr->has_file && xrcd->attr.device == attr->device &&
	       xrcd->attr.inode == attr->inode;
}

bool cx_xrcd_exists(struct cx_hca *hca, const struct cx_xrcd_attr *attr)
{
	const struct cx_head *head;
	uint32_t index = 0;

	cx_lock(hca);
	do {
		head = cx_next_of_all(hca, CX_XRCD, &index);
	} while (head && !is_of_file((const struct cx_xrcd *)head, attr));
	cx_unlock(hca);
	return head;
}

int cx_xrcd_open(struct cx_hca *hca, const struct cx_xrcd_attr *attr, uint32_t *xrcdn)
{
	struct cx_head *head;
	uint32_t number;
	int err;

	cx_lock_to_create(hca);
	err = cx_create(hca, CX_XRCD, &head, &number);
	if (!err) {
		((struct cx_xrcd *)head)->attr = *attr;
		cx_publish(hca, CX_XRCD, head, number);
		*xrcdn = number;
	}
	cx_unlock(hca);
	return err;
}

int cx_xrcd_close(struct cx_hca *hca, uint32_t xrcdn)
{
	int err;

	cx_lock(hca);
	err = cx_remove(hca, CX_XRCD, xrcdn);
	cx_unlock(hca);
	return err;
}
