/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libucs is not linked: it would hook signals and parse its environment in every run. Its
 * structures come from its header, its functions by name.
 */
#include "rcache.h"

#include <stddef.h>

#ifdef HAVE_UCS_RCACHE

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include <ucs/memory/rcache.h>

struct rcache {
	void *library;
	struct bsn_device *device;
	ucs_rcache_t *cache;
	__typeof__(ucs_rcache_create) *create;
	__typeof__(ucs_rcache_destroy) *destroy;
	__typeof__(ucs_rcache_get) *get;
	__typeof__(ucs_rcache_region_put) *put;
};

/* What UCX keeps of a registration. */
struct region {
	ucs_rcache_region_t super; /* first */
	struct bsn_mr *mr;
};

static ucs_status_t region_register(void *context, ucs_rcache_t *cache, void *arg,
				    ucs_rcache_region_t *super, uint16_t flags)
{
	const struct rcache *mine = context;
	struct region *region = (struct region *)(void *)super;
	const uintptr_t start = super->super.start;

	(void)cache;
	(void)arg;
	(void)flags;
	return bsn_mr_register(mine->device, (void *)start, super->super.end - start, NULL,
			       &region->mr)
		       ? UCS_ERR_NO_MEMORY
		       : UCS_OK;
}

static void region_deregister(void *context, ucs_rcache_t *cache, ucs_rcache_region_t *super)
{
	(void)context;
	(void)cache;
	bsn_mr_deregister(((struct region *)(void *)super)->mr);
}

static void region_describe(void *context, ucs_rcache_t *cache, ucs_rcache_region_t *super,
			    char *text, size_t size)
{
	(void)context;
	(void)cache;
	(void)super;
	if (size)
		*text = '\0';
}

static const ucs_rcache_ops_t ops = { .mem_reg = region_register,
				      .mem_dereg = region_deregister,
				      .dump_region = region_describe };

/* dlsym() gives an object pointer: C11 leaves it to POSIX that a function's is as long. */
static bool find(const struct rcache *mine, const char *name, void *function)
{
	void *const symbol = dlsym(mine->library, name);

	*(void **)function = symbol;
	return symbol != NULL;
}

static const char *load(struct rcache *mine)
{
	setenv("UCX_HANDLE_ERRORS", "none", 1); /* no signal handlers of its own */
	mine->library = dlopen("libucs.so.0", RTLD_NOW | RTLD_LOCAL);
	if (!mine->library)
		return "libucs is not installed";
	return find(mine, "ucs_rcache_create", &mine->create) &&
			       find(mine, "ucs_rcache_destroy", &mine->destroy) &&
			       find(mine, "ucs_rcache_get", &mine->get) &&
			       find(mine, "ucs_rcache_region_put", &mine->put)
		       ? NULL
		       : "this libucs has no such cache";
}

struct rcache *rcache_open(struct bsn_device *device, const char **why_not)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct rcache *mine = calloc(1, sizeof(*mine));
	const ucs_rcache_params_t params = { .region_struct_size = sizeof(struct region),
					     .alignment = page,
					     .max_alignment = page,
					     .ops = &ops,
					     .context = mine,
					     .max_regions = ~0ul,
					     .max_size = SIZE_MAX,
					     .max_unreleased = SIZE_MAX };

	*why_not = mine ? load(mine) : "no memory";
	if (!*why_not) {
		mine->device = device;
		if (mine->create(&params, "bsn-perf", NULL, &mine->cache) == UCS_OK)
			return mine;
		*why_not = "libucs makes none";
	}
	free(mine);
	return NULL;
}

void rcache_close(struct rcache *mine)
{
	if (!mine)
		return;
	mine->destroy(mine->cache);
	free(mine); /* the library stays: it has hooks of its own at exit */
}

uint32_t rcache_look_up_all(struct rcache *mine, void *const *addresses, unsigned count)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < count; i++) {
		ucs_rcache_region_t *region;
		if (mine->get(mine->cache, addresses[i], 64, PROT_READ | PROT_WRITE, NULL,
			      &region) != UCS_OK)
			continue;
		sum += ((struct region *)(void *)region)->mr->lkey;
		mine->put(mine->cache, region);
	}
	return sum;
}

#else

struct rcache *rcache_open(struct bsn_device *device, const char **why_not)
{
	(void)device;
	*why_not = "built without the headers of libucx-dev 1.13";
	return NULL;
}

void rcache_close(struct rcache *cache)
{
	(void)cache;
}

uint32_t rcache_look_up_all(struct rcache *cache, void *const *addresses, unsigned count)
{
	(void)cache;
	(void)addresses;
	return count ? 0 : 0;
}

#endif
