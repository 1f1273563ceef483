/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XRC domains, of a file (of its inode), or of none. Checks follow
 * drivers/infiniband/core/uverbs_cmd.c, ib_uverbs_open_xrcd().
 */
#include "kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "../os/raw.h"

static int find_file(struct call *call, const struct ib_uverbs_open_xrcd *req,
		     struct cx_xrcd_attr *attr)
{
	struct stat file;
	bool exists;

	*attr = (struct cx_xrcd_attr){ .has_file = req->fd != UINT32_MAX };
	if (!attr->has_file)
		return 0;
	if (raw_fstat((int)req->fd, &file))
		return -EBADF;
	attr->device = file.st_dev;
	attr->inode = file.st_ino;
	exists = cx_xrcd_exists(call->ctx->hca, attr);
	if (exists && req->oflags & O_EXCL)
		return -EINVAL;
	return exists || req->oflags & O_CREAT ? 0 : -EAGAIN;
}

static int open_xrcd(struct call *call)
{
	struct ib_uverbs_open_xrcd_resp resp = { 0 };
	struct ib_uverbs_open_xrcd req;
	struct cx_xrcd_attr attr;
	struct object *xrcd;
	int err = call_in(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req));

	if (!err)
		err = find_file(call, &req, &attr);
	if (err)
		return err;
	xrcd = object_new(call->ctx, OBJECT_XRCD, cx_xrcd_close);
	if (!xrcd)
		return -ENOMEM;
	err = cx_xrcd_open(call->ctx->hca, &attr, &xrcd->number);
	if (err) {
		object_free(call->ctx, xrcd);
		return err;
	}
	resp.xrcd_handle = xrcd->handle;
	err = call_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	if (err)
		object_destroy(call->ctx, xrcd);
	return err;
}

static int destroy_xrcd(struct call *call)
{
	return call_destroy(call, UVERBS_ATTR_DESTROY_XRCD_HANDLE, OBJECT_XRCD);
}

/* -- tables ------------------------------------------------------------------------------------ */

static const struct attr_spec destroy_xrcd_specs[] = {
	{ UVERBS_ATTR_DESTROY_XRCD_HANDLE, ATTR_OBJECT, 0, 0, 0 },
};

/* clang-format off */
const struct method xrcd_methods[] = {
	{ UVERBS_OBJECT_XRCD, UVERBS_METHOD_XRCD_DESTROY, false, false, destroy_xrcd,
	  "xrcd_destroy", SPECS(destroy_xrcd_specs) },
	{ 0 },
};

const struct write_command xrcd_commands[] = {
	{ IB_USER_VERBS_CMD_OPEN_XRCD, sizeof(struct ib_uverbs_open_xrcd),
	  sizeof(struct ib_uverbs_open_xrcd_resp), open_xrcd, "open_xrcd" },
	{ 0 },
};
/* clang-format on */
