/* SPDX-License-Identifier: BSD-2-Clause */
/* The attributes of a call: input, output, and the objects that they name. */
#include "kernel.h"

#include <errno.h>
#include <string.h>

struct ib_uverbs_attr *call_attr(const struct call *call, uint16_t id)
{
	for (unsigned i = 0; i < call->count; i++) {
		if (call->attrs[i].attr_id == id)
			return &call->attrs[i];
	}
	return NULL;
}

bool call_has(const struct call *call, uint16_t id)
{
	return call_attr(call, id) != NULL;
}

int call_check_devx(const struct call *call)
{
	if (call->ctx->devx)
		return 0;
	cx_trace(call->ctx->hca, "uverbs: a command from a context without DevX");
	return -EINVAL;
}

unsigned call_len(const struct call *call, uint16_t id)
{
	const struct ib_uverbs_attr *attr = call_attr(call, id);

	return attr ? attr->len : 0;
}

int call_in(const struct call *call, uint16_t id, void *value, size_t size)
{
	const struct ib_uverbs_attr *attr = call_attr(call, id);
	size_t length = attr && attr->len < size ? attr->len : size;

	memset(value, 0, size);
	if (!attr)
		return 0;
	/* An attribute of up to 8 bytes has its data in itself. */
	if (attr->len <= sizeof(attr->data)) {
		memcpy(value, &attr->data, length);
		return 0;
	}
	return user_read(value, attr->data, length);
}

uint64_t call_value(const struct call *call, uint16_t id)
{
	const struct ib_uverbs_attr *attr = call_attr(call, id);

	if (!attr)
		return 0;
	return attr->len == sizeof(uint32_t) ? (uint32_t)attr->data : attr->data;
}

static int set_user_attr(struct call *call, const struct ib_uverbs_attr *attr)
{
	uint64_t offset = (uint64_t)(attr - call->attrs) * sizeof(*attr);

	return user_write(call->user_attrs + offset, attr, sizeof(*attr));
}

int call_out(struct call *call, uint16_t id, const void *value, size_t size)
{
	static const uint8_t zeroes[64];
	struct ib_uverbs_attr *attr = call_attr(call, id);
	size_t done;
	int err;

	if (!attr)
		return 0;
	done = attr->len < size ? attr->len : size;
	err = user_write(attr->data, value, done);
	while (!err && done < attr->len) {
		size_t chunk =
			attr->len - done < sizeof(zeroes) ? attr->len - done : sizeof(zeroes);

		err = user_write(attr->data + done, zeroes, chunk);
		done += chunk;
	}
	if (err)
		return err;
	attr->flags |= UVERBS_ATTR_F_VALID_OUTPUT;
	return set_user_attr(call, attr);
}

int call_out_handle(struct call *call, uint16_t id, uint64_t handle)
{
	struct ib_uverbs_attr *attr = call_attr(call, id);

	if (!attr)
		return 0;
	attr->data = handle;
	return set_user_attr(call, attr);
}

int call_object(const struct call *call, uint16_t id, enum object_kind kind, struct object **object)
{
	const struct ib_uverbs_attr *attr = call_attr(call, id);

	*object = attr ? object_find(call->ctx, kind, attr->data) : NULL;
	return *object ? 0 : -ENOENT;
}

int call_async_file(const struct call *call, uint16_t id, struct event_file **file)
{
	const struct ib_uverbs_attr *attr = call_attr(call, id);

	if (attr)
		return event_file_of_fd(call->ctx, attr->data_s64, CX_EVENT_ASYNC, file);
	*file = call->ctx->async;
	return 0;
}

/* Whether all that was passed after the first `size` bytes is zero. */
int call_check_zero_tail(const struct ib_uverbs_attr *attr, size_t size)
{
	uint8_t bytes[64];

	for (size_t at = size; at < attr->len; at += sizeof(bytes)) {
		size_t chunk = attr->len - at < sizeof(bytes) ? attr->len - at : sizeof(bytes);

		if (user_read(bytes, attr->data + at, chunk))
			return -EFAULT;
		for (size_t i = 0; i < chunk; i++) {
			if (bytes[i])
				return -EOPNOTSUPP;
		}
	}
	return 0;
}

int call_driver_in(const struct call *call, void *value, size_t min, size_t size)
{
	const struct ib_uverbs_attr *attr = call_attr(call, UVERBS_ATTR_UHW_IN);
	int err;

	if (!attr || attr->len < min)
		return -EINVAL;
	if (attr->len > size && attr->len > sizeof(attr->data)) {
		err = call_check_zero_tail(attr, size);
		if (err)
			return err;
	}
	return call_in(call, UVERBS_ATTR_UHW_IN, value, size);
}

int call_destroy(struct call *call, uint16_t id, enum object_kind kind)
{
	struct object *object;
	int err = call_object(call, id, kind, &object);

	return err ? err : object_destroy(call->ctx, object);
}
