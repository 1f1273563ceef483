/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ioctl of the uverbs device. It checks and dispatches as
 * drivers/infiniband/core/uverbs_ioctl.c does, with its errnos, also for the older commands that
 * arrive in it (INVOKE_WRITE). A table says which attributes a method takes; its handler does the
 * work.
 */
#include "kernel.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define IOCTL_MAX_BYTES 4096 /* uverbs_ioctl.c: one page */

static const struct method *const method_tables[] = {
	device_methods,     pd_methods, mr_methods,   ah_methods, uar_methods,
	dm_methods,         cq_methods, srq_methods,  qp_methods, devx_methods,
	devx_event_methods, mw_methods, xrcd_methods,
};
static const struct write_command *const command_tables[] = {
	device_commands, pd_commands,       mr_commands, ah_commands,    cq_commands,
	srq_commands,    qp_state_commands, mw_commands, mcast_commands, xrcd_commands,
};

static bool is_question(uint32_t command)
{
	return (command & ~(uint32_t)IB_USER_VERBS_CMD_FLAG_EXTENDED) ==
	       IB_USER_VERBS_CMD_QUERY_DEVICE;
}

static int invoke_write(struct call *call)
{
	uint32_t number = (uint32_t)call_value(call, UVERBS_ATTR_WRITE_CMD);

	if (call->ctx->foreign && !is_question(number))
		return -EIO;

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
		return spec->kind == ATTR_IN ? call_check_zero_tail(attr, spec->max) : 0;
	}
	return 0;
}

/* Drops optional attributes that the method does not know, and checks the others. */
static int check_attrs(struct call *call, const struct method *method)
{
	for (unsigned i = 0; i < call->count; i++) {
		struct ib_uverbs_attr *attr = &call->attrs[i];
		const struct attr_spec *spec = find_spec(method, attr->attr_id);
		int err;

		if (call_attr(call, attr->attr_id) != attr)
			return -EINVAL; /* given twice */
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

/*
 * Requests by which libraries probe: the size of an answer, empty entries of the GID table,
 * dma-bufs. Their failures are not traced.
 */
static bool is_probe(const struct method *method, int err)
{
	static const struct {
		const char *method;
		int err;
	} probes[] = { { "invoke_write", -ENOSPC },
		       { "query_gid_entry", -ENODATA },
		       { "reg_dmabuf_mr", -EBADF } };

	for (size_t i = 0; i < ARRAY_LEN(probes); i++)
		if (!strcmp(method->name, probes[i].method) && err == probes[i].err)
			return true;
	return false;
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
	if (err && !is_probe(method, err))
		cx_trace(call->ctx->hca, "uverbs: %s: error %d, %s", method->name, -err,
			 strerror(-err));
	return err;
}

/* Checks the header as ib_uverbs_ioctl() does. */
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

/*
 * A child of fork() may use what its parent opened. In the model queues and keys belong to one
 * process; device memory and answers to queries do not (invoke_write() has those that the child
 * does not get).
 */
static bool is_closed_to(const struct uverbs_context *ctx, const struct ib_uverbs_ioctl_hdr *hdr)
{
	return cx_is_removed(ctx->hca) || (ctx->foreign && hdr->object_id != UVERBS_OBJECT_DM &&
					   hdr->object_id != UVERBS_OBJECT_DEVICE);
}

/* Others use the device meanwhile. As in the kernel, signals do not shorten the delay. */
static void sleep_ms(unsigned ms)
{
	struct timespec left = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

int uverbs_ioctl(struct uverbs_context *ctx, unsigned long request, void *arg)
{
	struct ib_uverbs_attr attrs[IOCTL_MAX_BYTES / sizeof(struct ib_uverbs_attr)];
	struct ib_uverbs_ioctl_hdr hdr;
	struct call call = { ctx, attrs, 0, (uintptr_t)arg + sizeof(hdr), 0 };
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
	/* A device that is gone does not answer: ib_uverbs_ioctl(), disassociated. */
	err = is_closed_to(ctx, &hdr) ? -EIO : dispatch(&call, &hdr);
	pthread_mutex_unlock(&kernel_lock);
	if (call.answer_after_ms && !ctx->config->passive)
		sleep_ms(call.answer_after_ms);
	return err;
}
