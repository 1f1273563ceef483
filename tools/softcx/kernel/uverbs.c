/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ioctl of the uverbs device: parsing, checking and dispatch as
 * drivers/infiniband/core/uverbs_ioctl.c does them, with its errnos, and the older commands that
 * arrive inside it (INVOKE_WRITE). What a method takes is a table; what it does is its handler's.
 */
#include "kernel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IOCTL_MAX_BYTES 4096 /* uverbs_ioctl.c: one page */

pthread_mutex_t kernel_lock = PTHREAD_MUTEX_INITIALIZER;
static struct uverbs_context *contexts;

/* -- a call's attributes ----------------------------------------------------------------------- */

static struct ib_uverbs_attr *find_attr(const struct call *call, uint16_t id)
{
	for (unsigned i = 0; i < call->count; i++) {
		if (call->attrs[i].attr_id == id)
			return &call->attrs[i];
	}
	return NULL;
}

bool call_has(const struct call *call, uint16_t id)
{
	return find_attr(call, id) != NULL;
}

unsigned call_len(const struct call *call, uint16_t id)
{
	const struct ib_uverbs_attr *attr = find_attr(call, id);

	return attr ? attr->len : 0;
}

int call_in(const struct call *call, uint16_t id, void *value, size_t size)
{
	const struct ib_uverbs_attr *attr = find_attr(call, id);
	size_t length = attr && attr->len < size ? attr->len : size;

	memset(value, 0, size);
	if (!attr)
		return 0;
	/* Up to 8 bytes travel in the attribute itself. */
	if (attr->len <= sizeof(attr->data)) {
		memcpy(value, &attr->data, length);
		return 0;
	}
	return user_read(value, attr->data, length);
}

uint64_t call_value(const struct call *call, uint16_t id)
{
	const struct ib_uverbs_attr *attr = find_attr(call, id);

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
	struct ib_uverbs_attr *attr = find_attr(call, id);
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
	struct ib_uverbs_attr *attr = find_attr(call, id);

	if (!attr)
		return 0;
	attr->data = handle;
	return set_user_attr(call, attr);
}

int call_object(const struct call *call, uint16_t id, enum object_kind kind, struct object **object)
{
	const struct ib_uverbs_attr *attr = find_attr(call, id);

	*object = attr ? object_find(call->ctx, kind, attr->data) : NULL;
	return *object ? 0 : -ENOENT;
}

int call_async_file(const struct call *call, uint16_t id, struct event_file **file)
{
	const struct ib_uverbs_attr *attr = find_attr(call, id);

	if (attr)
		return event_file_of_fd(call->ctx, attr->data_s64, CX_EVENT_ASYNC, file);
	*file = call->ctx->async;
	return 0;
}

/* Is what was passed beyond the first `size` bytes zero? */
static int check_zero_tail(const struct ib_uverbs_attr *attr, size_t size)
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
	const struct ib_uverbs_attr *attr = find_attr(call, UVERBS_ATTR_UHW_IN);
	int err;

	if (!attr || attr->len < min)
		return -EINVAL;
	if (attr->len > size && attr->len > sizeof(attr->data)) {
		err = check_zero_tail(attr, size);
		if (err)
			return err;
	}
	return call_in(call, UVERBS_ATTR_UHW_IN, value, size);
}

/* -- the ioctl --------------------------------------------------------------------------------- */

static const struct method *const method_tables[] = { device_methods, queue_methods, memory_methods,
						      qp_methods };
static const struct write_command *const command_tables[] = { device_commands, queue_commands,
							      memory_commands, qp_commands };

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

static int invoke_write(struct call *call)
{
	uint32_t number = (uint32_t)call_value(call, UVERBS_ATTR_WRITE_CMD);

	for (size_t t = 0; t < ARRAY_LEN(command_tables); t++) {
		for (const struct write_command *c = command_tables[t]; c->handler; c++) {
			if (c->command != number)
				continue;
			if (call_len(call, UVERBS_ATTR_CORE_IN) < c->min_in ||
			    call_len(call, UVERBS_ATTR_CORE_OUT) < c->min_out)
				return -ENOSPC;
			return call->ctx->ready ? c->handler(call) : -EINVAL;
		}
	}
	cx_trace(call->ctx->hca, "uverbs: legacy command %#x is not supported", number);
	return -EOPNOTSUPP;
}

static const struct attr_spec invoke_write_specs[] = {
	{ UVERBS_ATTR_WRITE_CMD, ATTR_IN, 0, 8, 8 },
	{ UVERBS_ATTR_CORE_IN, ATTR_IN, ATTR_OPTIONAL, 4, UINT16_MAX },
	{ UVERBS_ATTR_CORE_OUT, ATTR_OUT, ATTR_OPTIONAL, 0, UINT16_MAX },
};

static const struct method invoke_write_method = {
	UVERBS_OBJECT_DEVICE,
	UVERBS_METHOD_INVOKE_WRITE,
	true,
	true,
	invoke_write,
	"invoke_write",
	invoke_write_specs,
	ARRAY_LEN(invoke_write_specs),
};

static const struct method *find_method(uint16_t object_id, uint16_t method_id)
{
	if (object_id == UVERBS_OBJECT_DEVICE && method_id == UVERBS_METHOD_INVOKE_WRITE)
		return &invoke_write_method;
	for (size_t t = 0; t < ARRAY_LEN(method_tables); t++) {
		for (const struct method *m = method_tables[t]; m->handler; m++) {
			if (m->object_id == object_id && m->method_id == method_id)
				return m;
		}
	}
	return NULL;
}

static const struct attr_spec *find_spec(const struct method *method, uint16_t id)
{
	static const struct attr_spec driver_specs[] = {
		{ UVERBS_ATTR_UHW_IN, ATTR_IN, ATTR_OPTIONAL, 0, UINT16_MAX },
		{ UVERBS_ATTR_UHW_OUT, ATTR_OUT, ATTR_OPTIONAL, 0, UINT16_MAX },
	};

	for (unsigned i = 0; i < method->spec_count; i++) {
		if (method->specs[i].id == id)
			return &method->specs[i];
	}
	if (method->driver_data && (id == UVERBS_ATTR_UHW_IN || id == UVERBS_ATTR_UHW_OUT))
		return &driver_specs[id - UVERBS_ATTR_UHW_IN];
	return NULL;
}

/* uverbs_process_attr() */
static int check_attr(const struct ib_uverbs_attr *attr, const struct attr_spec *spec)
{
	if (attr->attr_data.reserved)
		return -EINVAL;
	if (spec->kind != ATTR_IN && spec->kind != ATTR_OUT)
		return attr->len ? -EINVAL : 0;
	if (attr->len < spec->min)
		return -EINVAL;
	if (attr->len > spec->max) {
		if (!(spec->flags & ATTR_ZERO_TRAILING))
			return -EINVAL;
		return spec->kind == ATTR_IN ? check_zero_tail(attr, spec->max) : 0;
	}
	return 0;
}

/* Drops the optional attributes that the method does not know, and checks the others. */
static int check_attrs(struct call *call, const struct method *method)
{
	for (unsigned i = 0; i < call->count; i++) {
		struct ib_uverbs_attr *attr = &call->attrs[i];
		const struct attr_spec *spec = find_spec(method, attr->attr_id);
		int err;

		if (find_attr(call, attr->attr_id) != attr)
			return -EINVAL; /* twice */
		if (!spec) {
			cx_trace(call->ctx->hca, "uverbs: %s: attribute %#x is not known",
				 method->name, attr->attr_id);
			if (attr->flags & UVERBS_ATTR_F_MANDATORY)
				return -EPROTONOSUPPORT;
			continue;
		}
		err = check_attr(attr, spec);
		if (err) {
			cx_trace(call->ctx->hca, "uverbs: %s: attribute %#x of %u bytes: error %d",
				 method->name, attr->attr_id, attr->len, -err);
			return err;
		}
	}
	for (unsigned i = 0; i < method->spec_count; i++) {
		if (!(method->specs[i].flags & ATTR_OPTIONAL) &&
		    !call_has(call, method->specs[i].id))
			return -EINVAL;
	}
	return 0;
}

static int dispatch(struct call *call, const struct ib_uverbs_ioctl_hdr *hdr)
{
	const struct method *method = find_method(hdr->object_id, hdr->method_id);
	int err;

	if (!method) {
		cx_trace(call->ctx->hca, "uverbs: object %#x has no method %#x", hdr->object_id,
			 hdr->method_id);
		return -EPROTONOSUPPORT;
	}
	err = check_attrs(call, method);
	if (!err && !method->before_context && !call->ctx->ready)
		err = -EINVAL;
	if (!err)
		err = method->handler(call);
	if (err)
		cx_trace(call->ctx->hca, "uverbs: %s: error %d", method->name, -err);
	return err;
}

/* The header is checked as ib_uverbs_ioctl() checks it. */
static int check_header(const struct ib_uverbs_ioctl_hdr *hdr)
{
	if (hdr->length > IOCTL_MAX_BYTES ||
	    hdr->length != sizeof(*hdr) + hdr->num_attrs * sizeof(struct ib_uverbs_attr))
		return -EINVAL;
	if (hdr->reserved1 || hdr->reserved2)
		return -EPROTONOSUPPORT;
	if (hdr->driver_id != RDMA_DRIVER_MLX5)
		return -EINVAL;
	return 0;
}

int uverbs_ioctl(struct uverbs_context *ctx, unsigned long request, void *arg)
{
	struct ib_uverbs_attr attrs[IOCTL_MAX_BYTES / sizeof(struct ib_uverbs_attr)];
	struct ib_uverbs_ioctl_hdr hdr;
	struct call call = { ctx, attrs, 0, (uintptr_t)arg + sizeof(hdr) };
	int err;

	if (request != RDMA_VERBS_IOCTL)
		return -ENOTTY;
	if (user_read(&hdr, (uintptr_t)arg, sizeof(hdr)))
		return -EFAULT;
	err = check_header(&hdr);
	if (err)
		return err;
	call.count = hdr.num_attrs;
	if (user_read(attrs, call.user_attrs, call.count * sizeof(attrs[0])))
		return -EFAULT;

	pthread_mutex_lock(&kernel_lock);
	/* Of a device that is gone nothing can be asked: ib_uverbs_ioctl(), disassociated. */
	err = ctx->foreign || cx_is_removed(ctx->hca) ? -EIO : dispatch(&call, &hdr);
	pthread_mutex_unlock(&kernel_lock);
	return err;
}

/* -- contexts ---------------------------------------------------------------------------------- */

struct uverbs_context *uverbs_open(const struct uverbs_host *host)
{
	struct uverbs_context *ctx = calloc(1, sizeof(*ctx));

	if (!ctx)
		return NULL;
	ctx->host = host;
	ctx->hca = host->hca;
	ctx->config = cx_config(host->hca);
	pthread_mutex_lock(&kernel_lock);
	ctx->next = contexts;
	contexts = ctx;
	pthread_mutex_unlock(&kernel_lock);
	return ctx;
}

void uverbs_close(struct uverbs_context *ctx)
{
	pthread_mutex_lock(&kernel_lock);
	if (!ctx->foreign) {
		object_destroy_all(ctx);
		event_files_orphan(ctx);
	}
	for (struct uverbs_context **link = &contexts; *link; link = &(*link)->next) {
		if (*link == ctx) {
			*link = ctx->next;
			break;
		}
	}
	pthread_mutex_unlock(&kernel_lock);
	free(ctx);
}

void uverbs_after_fork_child(void)
{
	pthread_mutex_init(&kernel_lock, NULL);
	for (struct uverbs_context *ctx = contexts; ctx; ctx = ctx->next)
		ctx->foreign = true;
	event_files_disown();
}
