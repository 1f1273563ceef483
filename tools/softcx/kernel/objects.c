/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The objects of a context: handles, who refers to whom, and the order of destruction. Numbering
 * and -EBUSY follow drivers/infiniband/core/rdma_core.c: handles count from 0 within a context.
 */
#include "kernel.h"

#include <errno.h>
#include <stdlib.h>

static struct object **find_slot(struct uverbs_context *ctx, uint32_t *handle)
{
	struct object **objects;
	uint32_t slots;

	for (*handle = 0; *handle < ctx->object_slots; (*handle)++) {
		if (!ctx->objects[*handle])
			return &ctx->objects[*handle];
	}
	slots = ctx->object_slots ? ctx->object_slots * 2 : 64;
	objects = realloc(ctx->objects, slots * sizeof(*objects));
	if (!objects)
		return NULL;
	for (uint32_t i = ctx->object_slots; i < slots; i++)
		objects[i] = NULL;
	ctx->objects = objects;
	ctx->object_slots = slots;
	return &objects[*handle];
}

struct object *object_new(struct uverbs_context *ctx, enum object_kind kind)
{
	struct object *object = calloc(1, sizeof(*object));
	struct object **slot;

	if (!object)
		return NULL;
	slot = find_slot(ctx, &object->handle);
	if (!slot) {
		free(object);
		return NULL;
	}
	object->kind = kind;
	*slot = object;
	return object;
}

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

static void drop_user(struct object *object)
{
	if (object)
		object->users--;
}

static void drop_references(struct object *object)
{
	drop_user(object->pd);
	if (object->async)
		event_file_put_locked(object->async);
	if (object->kind == OBJECT_QP) {
		drop_user(object->qp.send_cq);
		drop_user(object->qp.recv_cq);
		drop_user(object->qp.srq);
	}
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

struct object *object_find(const struct uverbs_context *ctx, enum object_kind kind, uint64_t handle)
{
	struct object *object = handle < ctx->object_slots ? ctx->objects[handle] : NULL;

	return object && object->kind == kind ? object : NULL;
}

struct object *object_of_event(const struct uverbs_context *ctx, enum object_kind kind,
			       uint64_t user_handle)
{
	for (uint32_t i = 0; i < ctx->object_slots; i++) {
		struct object *object = ctx->objects[i];

		if (object && object->kind == kind && object->user_handle == user_handle)
			return object;
	}
	return NULL;
}

struct object *object_of_number(const struct uverbs_context *ctx, enum object_kind kind,
				uint32_t number)
{
	for (uint32_t i = 0; i < ctx->object_slots; i++) {
		struct object *object = ctx->objects[i];

		if (object && object->kind == kind && object->number == number)
			return object;
	}
	return NULL;
}

/* The device's own destruction; AHs and UAR pages are the kernel's alone. */
static int destroy_in_device(struct cx_hca *hca, const struct object *object)
{
	switch (object->kind) {
	case OBJECT_QP:
		return cx_qp_destroy(hca, object->number);
	case OBJECT_SRQ:
		return cx_srq_destroy(hca, object->number);
	case OBJECT_CQ:
		return cx_cq_destroy(hca, object->number);
	case OBJECT_MR:
		return cx_mr_destroy(hca, object->number);
	case OBJECT_PD:
		return cx_pd_destroy(hca, object->number);
	case OBJECT_UAR:
		uar_page_put(object->number);
		return 0;
	default:
		return 0;
	}
}

int object_destroy(struct uverbs_context *ctx, struct object *object)
{
	int err;

	if (object->users)
		return -EBUSY;
	err = destroy_in_device(ctx->hca, object);
	if (err)
		return err;
	/* The device sends no more; what the program has not read, it will never acknowledge. */
	if (object->async)
		event_file_forget(object->async, object);
	if (object->kind == OBJECT_CQ && object->cq.channel)
		event_file_forget(object->cq.channel, object);
	object_free(ctx, object);
	return 0;
}

void object_destroy_all(struct uverbs_context *ctx)
{
	for (int kind = OBJECT_NONE + 1; kind < OBJECT_KINDS; kind++) {
		for (uint32_t i = 0; i < ctx->object_slots; i++) {
			struct object *object = ctx->objects[i];
			int err;

			if (!object || object->kind != (enum object_kind)kind)
				continue;
			err = object_destroy(ctx, object);
			if (!err)
				continue;
			cx_trace(ctx->hca, "uverbs: close: object %u of kind %d: error %d", i, kind,
				 -err);
			object_free(ctx, object);
		}
	}
	free(ctx->objects);
	ctx->objects = NULL;
	ctx->object_slots = 0;
}
