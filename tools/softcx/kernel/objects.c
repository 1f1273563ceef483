/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The objects of a context, by handle. As in drivers/infiniband/core/rdma_core.c, handles count
 * from 0 within a context.
 */
#include "kernel.h"

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

struct object *object_new(struct uverbs_context *ctx, enum object_kind kind,
			  object_destroyer *destroyer)
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
	object->destroyer = destroyer;
	*slot = object;
	return object;
}

struct object *object_find(const struct uverbs_context *ctx, enum object_kind kind, uint64_t handle)
{
	struct object *object = handle < ctx->object_slots ? ctx->objects[handle] : NULL;

	return object && (kind == OBJECT_ANY || object->kind == kind) ? object : NULL;
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
