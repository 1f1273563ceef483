/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * References between objects, and the order of destruction. -EBUSY follows
 * drivers/infiniband/core/rdma_core.c.
 */
#include "kernel.h"

#include <errno.h>
#include <stdlib.h>

void object_refer(struct object *object, struct object *pd, struct event_file *async)
{
	if (pd) {
		object->pd = pd;
		pd->users++;
	}
	if (async) {
		object->async = async;
		event_file_get(async);
	}
}

void object_refer_xrcd(struct object *object, struct object *xrcd)
{
	object->xrcd = xrcd;
	xrcd->users++;
}

static void drop_user(struct object *object)
{
	if (object)
		object->users--;
}

static void drop_references(struct object *object)
{
	drop_user(object->pd);
	drop_user(object->xrcd);
	if (object->async)
		event_file_put_locked(object->async);
	if (object->kind == OBJECT_MR) {
		drop_user(object->mr.dm);
		device_unmap(object->mr.mapped, object->mr.mapped_bytes);
	}
	if (object->kind == OBJECT_DM)
		device_unmap(object->dm.mapped, (size_t)object->dm.pages << CX_DM_PAGE_LOG2);
	if (object->kind == OBJECT_QP) {
		drop_user(object->qp.send_cq);
		drop_user(object->qp.recv_cq);
		drop_user(object->qp.srq);
	}
	if (object->kind == OBJECT_SRQ)
		drop_user(object->srq.cq);
	if (object->kind == OBJECT_CQ && object->cq.channel)
		event_file_put_locked(object->cq.channel);
}

void object_free(struct uverbs_context *ctx, struct object *object)
{
	drop_references(object);
	user_unpin(&object->pinned);
	ctx->objects[object->handle] = NULL;
	free(object);
}

int object_destroy(struct uverbs_context *ctx, struct object *object)
{
	int err;

	if (object->users)
		return -EBUSY;
	err = object->destroyer ? object->destroyer(ctx->hca, object->number) : 0;
	if (err)
		return err;
	/*
	 * The device sends no more events. The program never acknowledges those that it has not
	 * read.
	 */
	if (object->async)
		event_file_forget(object->async, object);
	if (object->kind == OBJECT_CQ && object->cq.channel)
		event_file_forget(object->cq.channel, object);
	object_free(ctx, object);
	return 0;
}

/* Destroys what nothing refers to. Returns how many objects went; if @is_last, frees the others. */
static unsigned destroy_kind(struct uverbs_context *ctx, enum object_kind kind, bool is_last)
{
	unsigned gone = 0;

	for (uint32_t i = 0; i < ctx->object_slots; i++) {
		struct object *object = ctx->objects[i];
		int err;

		if (!object || object->kind != kind)
			continue;
		err = object_destroy(ctx, object);
		gone += !err;
		if (!err || !is_last)
			continue;
		cx_trace(ctx->hca, "uverbs: close: object %u of kind %d: error %d", i, kind, -err);
		object_free(ctx, object);
	}
	return gone;
}

/* Objects of DevX refer to each other: like uverbs_destroy_ufile_hw(), repeats while some go. */
void object_destroy_all(struct uverbs_context *ctx)
{
	for (int kind = OBJECT_NONE + 1; kind < OBJECT_KINDS; kind++) {
		while (destroy_kind(ctx, (enum object_kind)kind, false))
			;
		destroy_kind(ctx, (enum object_kind)kind, true);
	}
	free(ctx->objects);
	ctx->objects = NULL;
	ctx->object_slots = 0;
}
