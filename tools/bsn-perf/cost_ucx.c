/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The column `ucx`: UCX's dc_mlx5, beside pools of DC initiators. libuct is not linked: it would
 * hook signals and parse its environment in every run. Its structures, and what is inline, come
 * from its headers, its functions by name.
 */
#include "cost.h"

#ifdef HAVE_UCT

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uct/api/uct.h>

#include "stepper.h"

enum { ADDRESS_BYTES = 256, PAGE = 4096 };

/* X(function), of libucs the first one */
#define FUNCTIONS(X)                                                                               \
	X(ucs_async_context_create)                                                                \
	X(uct_worker_create)                                                                       \
	X(uct_query_components)                                                                    \
	X(uct_component_query)                                                                     \
	X(uct_md_config_read)                                                                      \
	X(uct_md_open)                                                                             \
	X(uct_config_release)                                                                      \
	X(uct_md_iface_config_read)                                                                \
	X(uct_iface_open)                                                                          \
	X(uct_iface_get_device_address)                                                            \
	X(uct_iface_get_address)                                                                   \
	X(uct_ep_create)                                                                           \
	X(uct_md_mem_reg)                                                                          \
	X(uct_md_mkey_pack)                                                                        \
	X(uct_rkey_unpack)

#define POINTER(name) __typeof__(name) *name;
static struct {
	FUNCTIONS(POINTER)
} f;
#undef POINTER

/* It stays until the process ends. */
struct ucx {
	uct_worker_h worker;
	uct_component_h component;
	uct_md_h md;
	uct_iface_h iface;
	uct_ep_h *eps;
	unsigned peers, turn;
	uint8_t *memory;
	uct_mem_h mem;
	uct_rkey_bundle_t rkey;
};

/* -- opening ----------------------------------------------------------------------------------- */

/* dlsym() gives an object pointer: C11 leaves it to POSIX that a function's is as long. */
static bool find(void *library, const char *name, void *function)
{
	void *const symbol = dlsym(library, name);

	*(void **)function = symbol;
	return symbol != NULL;
}

/* No signal handlers, and no hooks of memory, which do not work under callgrind. */
static const char *load(unsigned initiators, uint32_t depth)
{
	void *library;
	char dcis[16], requests[16];

	snprintf(dcis, sizeof(dcis), "%u", initiators);
	snprintf(requests, sizeof(requests), "%u", 4 * depth);
	setenv("UCX_HANDLE_ERRORS", "none", 1);
	setenv("UCX_MEM_EVENTS", "n", 1);
	setenv("UCX_WARN_UNUSED_ENV_VARS", "n", 1);
	setenv("UCX_LOG_LEVEL", "error", 1);
	setenv("UCX_DC_MLX5_NUM_DCI", dcis, 1);
	setenv("UCX_DC_MLX5_TX_QUEUE_LEN", requests, 1);
	library = dlopen("libuct.so.0", RTLD_NOW | RTLD_GLOBAL);
	if (!library)
		return "libuct is not installed";
#define FIND(name)                                                                                 \
	if (!find(library, #name, &f.name))                                                        \
		return "this libuct has other functions";
	FUNCTIONS(FIND)
#undef FIND
	return NULL;
}

static bool open_md(struct ucx *u, const char *device)
{
	uct_component_attr_t attr = { .field_mask = UCT_COMPONENT_ATTR_FIELD_NAME };
	uct_component_h *components;
	uct_md_config_t *config;
	ucs_status_t status;
	unsigned count;

	if (f.uct_query_components(&components, &count))
		return false;
	for (unsigned i = 0; i < count && !u->component; i++)
		if (!f.uct_component_query(components[i], &attr) && !strcmp(attr.name, "ib"))
			u->component = components[i];
	if (!u->component || f.uct_md_config_read(u->component, NULL, NULL, &config))
		return false;
	status = f.uct_md_open(u->component, device, config, &u->md);
	f.uct_config_release(config);
	return !status;
}

static bool open_interface(struct ucx *u, const struct bsn_device_info *info)
{
	char name[80];
	const uct_iface_params_t params = {
		.field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE | UCT_IFACE_PARAM_FIELD_DEVICE,
		.open_mode = UCT_IFACE_OPEN_MODE_DEVICE,
		.mode.device = { "dc_mlx5", name },
	};
	uct_iface_config_t *config;
	ucs_status_t status;

	snprintf(name, sizeof(name), "%s:%u", info->name, info->port);
	if (f.uct_md_iface_config_read(u->md, "dc_mlx5", NULL, NULL, &config))
		return false;
	status = f.uct_iface_open(u->md, u->worker, &params, config, &u->iface);
	f.uct_config_release(config);
	if (status)
		return false;
	uct_iface_progress_enable(u->iface, UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
	return true;
}

/* All peers are this interface's own target: to UCX each is one of its own. */
static bool make_peers(struct ucx *u)
{
	uint8_t device[ADDRESS_BYTES], iface[ADDRESS_BYTES];
	const uct_ep_params_t params = {
		.field_mask = UCT_EP_PARAM_FIELD_IFACE | UCT_EP_PARAM_FIELD_DEV_ADDR |
			      UCT_EP_PARAM_FIELD_IFACE_ADDR,
		.iface = u->iface,
		.dev_addr = (const uct_device_addr_t *)device,
		.iface_addr = (const uct_iface_addr_t *)iface,
	};

	if (f.uct_iface_get_device_address(u->iface, (uct_device_addr_t *)device) ||
	    f.uct_iface_get_address(u->iface, (uct_iface_addr_t *)iface))
		return false;
	u->eps = calloc(u->peers, sizeof(*u->eps));
	for (unsigned p = 0; p < u->peers; p++)
		if (!u->eps || f.uct_ep_create(&params, &u->eps[p]))
			return false;
	return true;
}

static bool register_memory(struct ucx *u)
{
	uint8_t packed[ADDRESS_BYTES];

	u->memory = aligned_alloc(PAGE, PAGE);
	if (!u->memory)
		return false;
	memset(u->memory, 0, PAGE);
	return !f.uct_md_mem_reg(u->md, u->memory, PAGE, UCT_MD_MEM_ACCESS_ALL, &u->mem) &&
	       !f.uct_md_mkey_pack(u->md, u->mem, packed) &&
	       !f.uct_rkey_unpack(u->component, packed, &u->rkey);
}

static const char *open_all(struct ucx *u, const struct bsn_device_info *info)
{
	ucs_async_context_t *async;

	if (f.ucs_async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK, &async) ||
	    f.uct_worker_create(async, UCS_THREAD_MODE_SINGLE, &u->worker))
		return "libuct makes no worker";
	if (!open_md(u, info->name) || !open_interface(u, info))
		return "libuct has no dc_mlx5 here";
	return make_peers(u) && register_memory(u) ? NULL : "libuct makes no peers";
}

/* -- what is measured -------------------------------------------------------------------------- */

static void note_end(uct_completion_t *completion)
{
	(void)completion;
}

/* Nobody is told of the last one. */
static uct_completion_t completion = { .func = note_end };

COST_INLINE int put(struct ucx *u, bool is_short)
{
	const uct_iov_t iov = {
		.buffer = u->memory, .length = COST_SGE_BYTES, .memh = u->mem, .count = 1
	};
	const uint64_t to = (uintptr_t)u->memory + COST_REMOTE_AT;
	const uct_ep_h ep = u->eps[cost_turn(&u->turn, u->peers)];
	const ucs_status_t status =
		is_short ? uct_ep_put_short(ep, u->memory, COST_SGE_BYTES, to, u->rkey.rkey)
			 : uct_ep_put_zcopy(ep, &iov, 1, to, u->rkey.rkey, &completion);

	return status == UCS_OK || status == UCS_INPROGRESS ? 0 : -EAGAIN;
}

static int run_zcopy(void *queue, unsigned count)
{
	int bad = 0;

	COST_POSTS(count, 1, , bad |= put(queue, false), )
	return bad;
}

static int run_short(void *queue, unsigned count)
{
	int bad = 0;

	COST_POSTS(count, 1, , bad |= put(queue, true), )
	return bad;
}

static int run_polls(void *queue, unsigned count)
{
	const struct ucx *u = queue;
	unsigned patience = COST_PATIENCE;

	for (unsigned ended = 0; ended < count && patience; patience--) {
		COST_FORGET();
		ended += uct_worker_progress(u->worker);
	}
	return patience ? 0 : -ETIMEDOUT;
}

static cost_run *run_of(const struct cost_row *row)
{
	const struct cost_shape *shape = &row->shape;

	if ((shape->queues != COST_DC && shape->queues != COST_DC_MISS) ||
	    shape->known != COST_KNOWN || shape->batch != 1)
		return NULL;
	if (shape->what == COST_POLL)
		return run_polls;
	if (shape->what != COST_WRITE)
		return NULL;
	return shape->form == COST_SGES && shape->n == 1                   ? run_zcopy
	       : shape->form == COST_INLINED && shape->n == COST_SGE_BYTES ? run_short
									   : NULL;
}

/* -- before and after -------------------------------------------------------------------------- */

static int prepare(void *queue, const struct cost_shape *shape, unsigned count)
{
	int bad;

	completion.count = 1 << 30;
	if (shape->what != COST_POLL)
		return 0;
	bad = run_zcopy(queue, count);
	let_device_work();
	return bad;
}

static int settle(void *queue, const struct cost_shape *shape, unsigned count)
{
	const struct ucx *u = queue;
	unsigned patience = COST_PATIENCE;

	(void)shape;
	(void)count;
	while (uct_iface_flush(u->iface, 0, NULL) == UCS_INPROGRESS && --patience) {
		step();
		uct_worker_progress(u->worker);
	}
	return patience ? 0 : -ETIMEDOUT;
}

static int make(void *queue, const struct cost_rig *rig, enum cost_queues kind,
		const char **why_not)
{
	const unsigned initiators = cost_kinds[kind].pool.initiators;
	struct ucx *u = queue;

	u->peers = cost_kinds[kind].peers ? cost_kinds[kind].peers : 1;
	*why_not = load(initiators ? initiators : 1, rig->depth);
	if (!*why_not)
		*why_not = open_all(u, bsn_device_info(rig->device));
	return *why_not ? -EOPNOTSUPP : 0;
}

/* Nothing is closed: what it has from libuct stays until the process ends. */
const struct cost_column cost_ucx = {
	.name = "ucx",
	.size = sizeof(struct ucx),
	.make = make,
	.run_of = run_of,
	.prepare = prepare,
	.settle = settle,
};

#else

/* Says why it is not there. */
static int make(void *queue, const struct cost_rig *rig, enum cost_queues kind,
		const char **why_not)
{
	(void)queue;
	(void)rig;
	(void)kind;
	*why_not = "built without the headers of libucx-dev";
	return -EOPNOTSUPP;
}

static cost_run *run_of(const struct cost_row *row)
{
	return row->shape.queues == COST_DC ? cost_nothing.run_of(row) : NULL;
}

const struct cost_column cost_ucx = {
	.name = "ucx",
	.size = 1,
	.make = make,
	.run_of = run_of,
};

#endif
