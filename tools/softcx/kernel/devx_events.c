/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Event channels of DevX: events of the port, and of queue pairs, targets, CQs and RMPs that
 * commands created. Checks follow drivers/infiniband/hw/mlx5/devx.c.
 */
#include "kernel.h"

#include <errno.h>

#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "bsn_cmd.h"

static int alloc_event_channel(struct call *call)
{
	const uint64_t flags = call_value(call, MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS);
	int fd, err = call_check_devx(call);

	if (err)
		return err;
	if (flags & ~(uint64_t)MLX5_IB_UAPI_DEVX_CR_EV_CH_FLAGS_OMIT_DATA)
		return -EINVAL;
	fd = event_file_open(call->ctx, flags ? CX_EVENT_DEVX_COOKIE : CX_EVENT_DEVX_DATA);
	return fd < 0 ? fd
		      : call_out_handle(call, MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE,
					(uint64_t)fd);
}

/* is_valid_events_legacy(): for firmware without event_cap, which the device does not claim. */
static bool is_event_of_object(uint16_t event)
{
	switch (event) {
	case BSN_EVENT_COMPLETION:
	case BSN_EVENT_PATH_MIG:
	case BSN_EVENT_COMM_EST:
	case BSN_EVENT_SQ_DRAINED:
	case BSN_EVENT_CQ_ERROR:
	case BSN_EVENT_WQ_CATAS_ERROR:
	case BSN_EVENT_PATH_MIG_FAILED:
	case BSN_EVENT_WQ_INVAL_REQ_ERROR:
	case BSN_EVENT_WQ_ACCESS_ERROR:
	case BSN_EVENT_SRQ_CATAS_ERROR:
	case BSN_EVENT_SRQ_LAST_WQE:
	case BSN_EVENT_SRQ_LIMIT:
	case BSN_EVENT_XRQ_ERROR:
	case BSN_EVENT_DCT_DRAINED:
	case BSN_EVENT_DCT_KEY_VIOLATION:
		return true;
	default:
		return false;
	}
}

/* The device's table that has the object. False: the kind has no events. */
static bool find_source(const struct object *object, enum cx_event_source *source)
{
	switch (object ? object->devx.opcode : BSN_CMD_NOP) {
	case BSN_CMD_CREATE_QP:
	case BSN_CMD_CREATE_DCT:
		*source = CX_SOURCE_QP;
		return true;
	case BSN_CMD_CREATE_CQ:
		*source = CX_SOURCE_CQ;
		return true;
	case BSN_CMD_CREATE_RMP:
		*source = CX_SOURCE_SRQ;
		return true;
	default:
		*source = CX_SOURCE_PORT;
		return !object;
	}
}

struct wish {
	struct event_file *file;
	struct object *object; /* NULL: the port */
	uint16_t events[CX_MOST_EVENTS];
	unsigned count;
};

static int read_events(const struct call *call, struct wish *wish)
{
	const unsigned bytes = call_len(call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST);
	int err;

	if (!bytes || bytes % sizeof(wish->events[0]) || bytes > sizeof(wish->events))
		return -EINVAL;
	err = call_in(call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST, wish->events, bytes);
	wish->count = bytes / sizeof(wish->events[0]);
	for (unsigned i = 0; !err && i < wish->count; i++)
		if (wish->object ? !is_event_of_object(wish->events[i])
				 : wish->events[i] != BSN_EVENT_PORT_CHANGE)
			err = -EINVAL;
	return err;
}

static int read_wish(const struct call *call, struct wish *wish)
{
	const struct ib_uverbs_attr *fd =
		call_attr(call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE);
	int err = event_file_of_fd(call->ctx, fd->data_s64, CX_EVENT_DEVX_COOKIE, &wish->file);

	if (err)
		err = event_file_of_fd(call->ctx, fd->data_s64, CX_EVENT_DEVX_DATA, &wish->file);
	if (!err && call_has(call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE))
		err = call_object(call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE, OBJECT_DEVX,
				  &wish->object);
	if (err)
		return err;
	if (call_has(call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM) &&
	    call_has(call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE))
		return -EINVAL;
	return read_events(call, wish);
}

/* The kernel accepts events that an object never has, and objects without events. */
static int subscribe_event(struct call *call)
{
	struct cx_subscription_attr attr = {
		.cookie = call_value(call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE), .eventfd = -1
	};
	struct wish wish = { 0 };
	int err = call_check_devx(call);

	if (!err)
		err = read_wish(call, &wish);
	if (!err && call_has(call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM))
		err = event_file_keep_eventfd(
			wish.file, (int)call_value(call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM),
			&attr.eventfd);
	if (err || !find_source(wish.object, &attr.source))
		return err;
	attr.number = wish.object ? wish.object->number : 0;
	attr.channel = wish.file->channel;
	return cx_event_subscribe(call->ctx->hca, &attr, wish.events, wish.count);
}

static const struct attr_spec subscribe_specs[] = {
	{ MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE, ATTR_FD, 0, 0, 0 },
	{ MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE, ATTR_OBJECT, ATTR_OPTIONAL, 0, 0 },
	{ MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST, ATTR_IN, 0, 2, UINT16_MAX },
	{ MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE, ATTR_IN, ATTR_OPTIONAL, 8, 8 },
	{ MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM, ATTR_IN, ATTR_OPTIONAL, 4, 4 },
};
static const struct attr_spec event_channel_specs[] = {
	{ MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE, ATTR_NEW_FD, 0, 0, 0 },
	{ MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS, ATTR_IN, ATTR_OPTIONAL, 4, 8 },
};

/* clang-format off */
const struct method devx_event_methods[] = {
	{ MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD, MLX5_IB_METHOD_DEVX_ASYNC_EVENT_FD_ALLOC, false,
	  false, alloc_event_channel, "devx_event_channel", SPECS(event_channel_specs) },
	{ MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_SUBSCRIBE_EVENT, false, false, subscribe_event,
	  "devx_subscribe_event", SPECS(subscribe_specs) },
	{ 0 },
};
/* clang-format on */
