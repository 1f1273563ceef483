/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bursts by UCX's dc_mlx5. libuct is not linked: it would hook signals and parse its environment in
 * every run. Its structures, and what is inline, come from its headers, its functions by name.
 */
#include "dc_bursts.h"

#ifdef HAVE_UCT

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uct/api/uct.h>

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
	X(uct_md_query_tl_resources)                                                               \
	X(uct_release_tl_resource_list)                                                            \
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

static struct {
	uct_worker_h worker;
	uct_component_h component;
	uct_md_h md;
	uct_tl_resource_desc_t resource;
	uct_iface_h from, to;
	uct_ep_h eps[DC_PEERS];
	uint8_t *memory; /* what is sent, and where it goes */
	size_t bytes;    /* of each */
	uct_mem_h mem;
	uct_rkey_bundle_t rkey;
} u;

/* -- opening ----------------------------------------------------------------------------------- */

/* dlsym() gives an object pointer: C11 leaves it to POSIX that a function's is as long. */
static bool find(void *library, const char *name, void *function)
{
	void *const symbol = dlsym(library, name);

	*(void **)function = symbol;
	return symbol != NULL;
}

/* No signal handlers, and no hooks of memory, which do not work under callgrind. */
static const char *load(const struct dc_plan *plan)
{
	void *library;
	char dcis[16];

	snprintf(dcis, sizeof(dcis), "%u", plan->initiators);
	setenv("UCX_HANDLE_ERRORS", "none", 1);
	setenv("UCX_MEM_EVENTS", "n", 1);
	setenv("UCX_WARN_UNUSED_ENV_VARS", "n", 1);
	setenv("UCX_DC_MLX5_NUM_DCI", dcis, 1);
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

/* Whether this domain has DC; then it stays open. */
static bool has_dc(void)
{
	uct_tl_resource_desc_t *resources;
	bool is_there = false;
	unsigned count;

	if (f.uct_md_query_tl_resources(u.md, &resources, &count))
		return false;
	for (unsigned i = 0; i < count && !is_there; i++) {
		is_there = !strcmp(resources[i].tl_name, "dc_mlx5");
		u.resource = resources[i];
	}
	f.uct_release_tl_resource_list(resources);
	return is_there;
}

static bool open_md(const char *name)
{
	uct_md_config_t *config;
	ucs_status_t status;

	if (f.uct_md_config_read(u.component, NULL, NULL, &config))
		return false;
	status = f.uct_md_open(u.component, name, config, &u.md);
	f.uct_config_release(config);
	return !status && has_dc();
}

static bool open_component(const char *device)
{
	uct_component_attr_t attr = { .field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT };
	uct_md_resource_desc_t *resources;
	bool is_open = false;

	if (f.uct_component_query(u.component, &attr) || !attr.md_resource_count)
		return false;
	resources = calloc(attr.md_resource_count, sizeof(*resources));
	attr.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
	attr.md_resources = resources;
	if (resources && !f.uct_component_query(u.component, &attr))
		for (unsigned i = 0; i < attr.md_resource_count && !is_open; i++)
			is_open = !strcmp(resources[i].md_name, device) && open_md(device);
	free(resources);
	return is_open;
}

static bool open_device(const char *device)
{
	uct_component_h *components;
	unsigned count;

	if (f.uct_query_components(&components, &count))
		return false;
	for (unsigned i = 0; i < count; i++) {
		u.component = components[i];
		if (open_component(device))
			return true;
	}
	return false;
}

static bool open_interface(uct_iface_h *iface)
{
	const uct_iface_params_t params = {
		.field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE | UCT_IFACE_PARAM_FIELD_DEVICE,
		.open_mode = UCT_IFACE_OPEN_MODE_DEVICE,
		.mode.device = { u.resource.tl_name, u.resource.dev_name },
	};
	uct_iface_config_t *config;
	ucs_status_t status;

	if (f.uct_md_iface_config_read(u.md, u.resource.tl_name, NULL, NULL, &config))
		return false;
	status = f.uct_iface_open(u.md, u.worker, &params, config, iface);
	f.uct_config_release(config);
	if (status)
		return false;
	uct_iface_progress_enable(*iface, UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
	return true;
}

/* All peers are one target: to UCX each is one of its own. */
static bool make_peers(void)
{
	uint8_t device[ADDRESS_BYTES], iface[ADDRESS_BYTES];
	const uct_ep_params_t params = {
		.field_mask = UCT_EP_PARAM_FIELD_IFACE | UCT_EP_PARAM_FIELD_DEV_ADDR |
			      UCT_EP_PARAM_FIELD_IFACE_ADDR,
		.iface = u.from,
		.dev_addr = (const uct_device_addr_t *)device,
		.iface_addr = (const uct_iface_addr_t *)iface,
	};

	if (f.uct_iface_get_device_address(u.to, (uct_device_addr_t *)device) ||
	    f.uct_iface_get_address(u.to, (uct_iface_addr_t *)iface))
		return false;
	for (int p = 0; p < DC_PEERS; p++)
		if (f.uct_ep_create(&params, &u.eps[p]))
			return false;
	return true;
}

static bool register_memory(void)
{
	uint8_t packed[ADDRESS_BYTES];

	const size_t both = (2 * u.bytes + PAGE) / PAGE * PAGE;

	u.memory = aligned_alloc(PAGE, both);
	if (!u.memory)
		return false;
	memset(u.memory, 0, both);
	return !f.uct_md_mem_reg(u.md, u.memory, both, UCT_MD_MEM_ACCESS_ALL, &u.mem) &&
	       !f.uct_md_mkey_pack(u.md, u.mem, packed) &&
	       !f.uct_rkey_unpack(u.component, packed, &u.rkey);
}

static const char *open_all(const char *device)
{
	ucs_async_context_t *async;

	if (f.ucs_async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK, &async) ||
	    f.uct_worker_create(async, UCS_THREAD_MODE_SINGLE, &u.worker))
		return "libuct makes no worker";
	if (!open_device(device))
		return "libuct has no dc_mlx5 here";
	if (!open_interface(&u.from) || !open_interface(&u.to) || !make_peers())
		return "libuct makes no interfaces of dc_mlx5";
	return register_memory() ? NULL : "libuct registers no memory";
}

/* -- playing ----------------------------------------------------------------------------------- */

static const char *open_side(const char *device, const struct dc_plan *plan)
{
	const char *why_not = load(plan);

	u.bytes = plan->bytes;
	return why_not ? why_not : open_all(device);
}

static void note_end(uct_completion_t *completion)
{
	(void)completion;
}

static bool put(unsigned peer, enum dc_way way)
{
	static uct_completion_t completion = { .func = note_end };
	const uct_iov_t iov = { .buffer = u.memory, .length = u.bytes, .memh = u.mem, .count = 1 };
	const uint64_t to = (uintptr_t)u.memory + u.bytes;
	ucs_status_t status;

	completion.count = DC_BURST + 1; /* nobody is told of the last one */
	status = way == DC_WAY_INLINE
			 ? uct_ep_put_short(u.eps[peer], u.memory, DC_INLINE_BYTES, to, u.rkey.rkey)
			 : uct_ep_put_zcopy(u.eps[peer], &iov, 1, to, u.rkey.rkey, &completion);
	return status == UCS_OK || status == UCS_INPROGRESS;
}

static unsigned poll(void)
{
	return uct_worker_progress(u.worker);
}

#else

static const char *open_side(const char *device, const struct dc_plan *plan)
{
	(void)device;
	(void)plan;
	return "built without the headers of libucx-dev";
}

static bool put(unsigned peer, enum dc_way way)
{
	(void)peer;
	(void)way;
	return false;
}

static unsigned poll(void)
{
	return 0;
}

#endif

const struct dc_side dc_side_ucx = { "ucx", { "put_zcopy", "put_short" }, open_side, put, poll };
