/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All that Bunsen knows of DPDK. Facts of DPDK 22.11: rte_eal_init() works once per process, even
 * after rte_eal_cleanup() (lib/eal/linux/eal.c); callbacks of memory events run under the write
 * lock of memory hotplug (eal_common_memory.c), so they must not take it.
 */
#include "bsn_eal.h"

#include <errno.h>
#include <glob.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_eal_memconfig.h>
#include <rte_errno.h>
#include <rte_fbarray.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_memory.h>
#include <rte_mempool.h>

/* The only one of the process. */
struct bsn_eal {
	pthread_mutex_t lock;
	unsigned opens;
	bool runs, has_failed, was_joined;
	struct bsn_mem_source source;
	struct bsn_mr_watch watch;
};

__attribute__((format(printf, 2, 3))) static int fail(int error, const char *format, ...)
{
	char text[320];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return bsn_error_set(error, text);
}

/* -- the source -------------------------------------------------------------------------------- */

static int eal_alloc(void *arg, const struct bsn_mem_request *request, struct bsn_mem_block *block)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const struct rte_memseg_list *list;
	void *addr = rte_zmalloc_socket("bunsen", request->length, (unsigned)page,
					request->node < 0 ? SOCKET_ID_ANY : request->node);

	(void)arg;
	if (!addr && request->node >= 0) /* the node is a preference */
		addr = rte_zmalloc("bunsen", request->length, (unsigned)page);
	if (!addr)
		return fail(ENOMEM,
			    "EAL does not have %zu bytes: give it more memory (-m, --socket-mem), "
			    "or the machine more hugepages",
			    request->length);
	list = rte_mem_virt2memseg_list(addr);
	if (list && request->page_bytes && list->page_sz != request->page_bytes) {
		rte_free(addr);
		return fail(EINVAL, "EAL's memory has pages of %zu bytes, not %zu",
			    (size_t)list->page_sz, request->page_bytes);
	}
	*block = (struct bsn_mem_block){ .addr = addr,
					 .length = request->length,
					 .page_bytes = list ? list->page_sz : 0,
					 .node = list ? list->socket_id : -1 };
	return 0;
}

static void eal_release(void *arg, const struct bsn_mem_block *block)
{
	(void)arg;
	rte_free(block->addr);
}

/* -- the watch --------------------------------------------------------------------------------- */

/* Runs under EAL's lock, so it calls no function of EAL. */
static void memory_changes(enum rte_mem_event event, const void *addr, size_t length, void *cache)
{
	if (event == RTE_MEM_EVENT_FREE)
		bsn_mr_cache_invalidate(cache, addr, length);
}

static const char *name_of(const struct bsn_mr_cache *cache,
			   char name[RTE_MEM_EVENT_CALLBACK_NAME_LEN])
{
	snprintf(name, RTE_MEM_EVENT_CALLBACK_NAME_LEN, "bunsen %p", (const void *)cache);
	return name;
}

static int watch_attach(void *arg, struct bsn_mr_cache *cache)
{
	char name[RTE_MEM_EVENT_CALLBACK_NAME_LEN];

	(void)arg;
	if (!rte_mem_event_callback_register(name_of(cache, name), memory_changes, cache) ||
	    rte_errno == ENOTSUP) /* --legacy-mem: EAL's memory never changes */
		return 0;
	return fail(rte_errno ? rte_errno : EIO, "EAL does not describe its memory: %s",
		    rte_strerror(rte_errno));
}

static void watch_detach(void *arg, struct bsn_mr_cache *cache)
{
	char name[RTE_MEM_EVENT_CALLBACK_NAME_LEN];

	(void)arg;
	rte_mem_event_callback_unregister(name_of(cache, name), cache);
}

/*
 * The contiguous allocated segments around the first one. The other addresses of a memseg list are
 * reserved, have no memory, and cannot be registered.
 */
static bool run_of(const struct rte_memseg_list *list, uint64_t *start, uint64_t *end)
{
	const uint64_t base = (uintptr_t)list->base_va, page = list->page_sz;
	const unsigned at = (unsigned)((*start - base) / page);
	const struct rte_fbarray *segments = &list->memseg_arr;
	const int after = rte_fbarray_find_contig_used((void *)(uintptr_t)segments, at);
	const int before = rte_fbarray_find_rev_contig_used((void *)(uintptr_t)segments, at);
	uint64_t first, last;

	if (after < 1 || before < 1)
		return false;
	first = base + (at + 1 - (unsigned)before) * page;
	last = base + (at + (unsigned)after) * page;
	if (last < *end)
		return false;
	*start = first;
	*end = last;
	return true;
}

static bool watch_extent(void *arg, uint64_t *start, uint64_t *end)
{
	const struct rte_memseg_list *list;
	bool is_known;

	(void)arg;
	rte_mcfg_mem_read_lock();
	list = rte_mem_virt2memseg_list((void *)(uintptr_t)*start);
	is_known = list && run_of(list, start, end);
	rte_mcfg_mem_read_unlock();
	return is_known;
}

/* -- the store --------------------------------------------------------------------------------- */

/*
 * Makes a store of a mempool, of which only the ring is used, for the slab's buffers. A mempool
 * cannot be made without objects; these are taken out for good.
 */
static int store_make(uint32_t count, void **store)
{
	static unsigned made;
	char name[RTE_MEMPOOL_NAMESIZE];
	struct rte_mempool *pool;
	void *object;

	snprintf(name, sizeof(name), "bsn %d %u", (int)getpid(),
		 __atomic_add_fetch(&made, 1, __ATOMIC_RELAXED));
	pool = rte_mempool_create(name, count, sizeof(void *), 0, 0, NULL, NULL, NULL, NULL,
				  SOCKET_ID_ANY, 0);
	if (!pool)
		return fail(ENOMEM, "EAL has no memory for a pool of %u buffers: %s", count,
			    rte_strerror(rte_errno));
	while (!rte_mempool_ops_dequeue_bulk(pool, &object, 1))
		;
	*store = pool;
	return 0;
}

static void store_unmake(void *store)
{
	rte_mempool_free(store);
}

static bool store_take(void *store, void **buffers, uint32_t n)
{
	return !rte_mempool_ops_dequeue_bulk(store, buffers, n);
}

static void store_give(void *store, void *const *buffers, uint32_t n)
{
	rte_mempool_ops_enqueue_bulk(store, buffers, n);
}

static uint32_t store_count(void *store)
{
	return rte_mempool_avail_count(store);
}

static const struct bsn_slab_store mempool_store = { .make = store_make,
						     .unmake = store_unmake,
						     .take = store_take,
						     .give = store_give,
						     .count = store_count };

const struct bsn_slab_store *bsn_eal_store(struct bsn_eal *eal)
{
	return eal ? &mempool_store : NULL;
}

/* -- starting ---------------------------------------------------------------------------------- */

static struct bsn_eal the_eal = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.source = { .name = "eal", .alloc = eal_alloc, .release = eal_release },
	.watch = { .attach = watch_attach, .detach = watch_detach, .extent = watch_extent },
};

/* The bytes of free hugepages of all sizes. */
static size_t free_hugepage_bytes(void)
{
	glob_t pools = { 0 };
	size_t bytes = 0;

	glob("/sys/kernel/mm/hugepages/hugepages-*kB", 0, NULL, &pools);
	for (size_t i = 0; i < pools.gl_pathc; i++) {
		char path[256];
		size_t kb = 0, count = 0;
		FILE *file;
		snprintf(path, sizeof(path), "%s/free_hugepages", pools.gl_pathv[i]);
		file = fopen(path, "re");
		if (file && fscanf(file, "%zu", &count) == 1 &&
		    sscanf(strrchr(pools.gl_pathv[i], '/'), "/hugepages-%zukB", &kb) == 1)
			bytes += (kb << 10) * count;
		if (file)
			fclose(file);
	}
	globfree(&pools);
	return bytes;
}

/* Checks before EAL starts: after a failed start EAL cannot be started again in the process. */
static int check_hugepages(const struct bsn_eal_attr *attr)
{
	const size_t bytes = free_hugepage_bytes();

	if (bytes && bytes >= attr->bytes)
		return 0;
	return fail(ENOMEM,
		    "EAL has too few hugepages: %zu bytes are free, it needs %zu: raise "
		    "/proc/sys/vm/nr_hugepages",
		    bytes, attr->bytes ? attr->bytes : 1);
}

/* Calls rte_eal_init() with copies of the arguments, which it changes. */
static int init(const struct bsn_eal_attr *attr)
{
	char lcores[32], memory[512] = "--socket-mem=";
	char *args[] = { (char[]){ "bunsen" },
			 (char[]){ "--in-memory" },
			 (char[]){ "--no-pci" },
			 (char[]){ "--no-telemetry" },
			 (char[]){ "--iova-mode=va" },
			 (char[]){ "--log-level=lib.eal:error" },
			 (char[]){ "--lcores" },
			 lcores,
			 memory,
			 NULL };
	const size_t mb = (attr->bytes + (1 << 20) - 1) >> 20;
	int count = 8;
	size_t at = strlen(memory);

	snprintf(lcores, sizeof(lcores), "0@(0-%ld)", sysconf(_SC_NPROCESSORS_ONLN) - 1);
	if (mb && !attr->node && !attr->has_node) {
		snprintf(memory, sizeof(memory), "-m%zu", mb);
		count++;
	} else if (mb) {
		for (int node = 0; node < attr->node && at < sizeof(memory) - 32; node++)
			at += (size_t)snprintf(memory + at, sizeof(memory) - at, "0,");
		snprintf(memory + at, sizeof(memory) - at, "%zu", mb);
		count++;
	}
	return rte_eal_init(count, args);
}

/* Starts EAL. rte_eal_init() pins its thread, so the thread's CPUs are restored after it. */
static int start(struct bsn_eal *eal, const struct bsn_eal_attr *attr)
{
	cpu_set_t cpus;
	const bool knows_cpus = !sched_getaffinity(0, sizeof(cpus), &cpus);
	int err = check_hugepages(attr);

	if (err)
		return err;
	if (eal->has_failed)
		return fail(
			EIO,
			"EAL failed to start in this process before, and cannot be started again");
	err = init(attr);
	if (knows_cpus)
		sched_setaffinity(0, sizeof(cpus), &cpus);
	if (err >= 0)
		return 0;
	eal->has_failed = true;
	return fail(EIO, "rte_eal_init() failed: %s", rte_strerror(rte_errno));
}

/*
 * The kernel's struct sigaction: sigaction() may be another library's, and keep state that is the
 * parent's, too.
 */
struct kernel_action {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(int);
	uint64_t mask;
};

enum { RESTORER = 0x04000000 }; /* SA_RESTORER of the kernel's asm/signal.h */

static void leave(int signal)
{
	_exit(signal);
}

/* Runs in a child on the parent's memory: loads a word that rte_eal_cleanup() unmaps. */
static int look_at_memory(void *unused)
{
	const struct kernel_action action = { leave, RESTORER, leave, 0 };
	const uint64_t fault = 1ull << (SIGSEGV - 1);

	(void)unused;
	syscall(SYS_rt_sigaction, SIGSEGV, &action, NULL, sizeof(fault));
	syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &fault, NULL, sizeof(fault));
	rte_mcfg_get_single_file_segments();
	return 0;
}

/*
 * Whether EAL's memory is still mapped. After rte_eal_cleanup() EAL does not say so, and a thread
 * that reads its memory dies (except with --in-memory, which keeps the memory). So a child reads,
 * and dies instead of its parent, which waits for it (vfork(2)).
 */
static bool has_memory(void)
{
	static char stack[1 << 16] __attribute__((aligned(16))); /* under the lock */
	const int child =
		clone(look_at_memory, stack + sizeof(stack), CLONE_VM | CLONE_VFORK, NULL);
	int status = 0;

	if (child < 0)
		return true; /* not known */
	while (waitpid(child, &status, __WALL) < 0 && errno == EINTR)
		;
	return status == 0;
}

static int join_or_start(struct bsn_eal *eal, const struct bsn_eal_attr *attr)
{
	int err;

	if (!eal->has_failed && rte_lcore_count() > 0 && !has_memory())
		return fail(EIO, "rte_eal_cleanup() has taken EAL's memory away, and EAL cannot be "
				 "started again in this process");
	if (eal->runs)
		return 0;
	eal->was_joined = !eal->has_failed && rte_lcore_count() > 0;
	if (!eal->was_joined) {
		if (attr->joins_only)
			return fail(ENOENT,
				    "no EAL runs in this process: call rte_eal_init() before");
		err = start(eal, attr);
		if (err)
			return err;
	}
	eal->runs = true;
	return 0;
}

int bsn_eal_open(const struct bsn_eal_attr *attr, struct bsn_eal **out)
{
	static const struct bsn_eal_attr any;
	struct bsn_eal *eal = &the_eal;
	int err;

	if (!out)
		return fail(EINVAL, "no place for the result");
	pthread_mutex_lock(&eal->lock);
	err = join_or_start(eal, attr ? attr : &any);
	eal->opens += !err;
	pthread_mutex_unlock(&eal->lock);
	if (!err)
		*out = eal;
	return err;
}

int bsn_eal_close(struct bsn_eal *eal)
{
	int err = 0;

	if (!eal)
		return 0;
	pthread_mutex_lock(&eal->lock);
	if (eal->opens)
		eal->opens--;
	else
		err = fail(EINVAL, "it was already closed as often as it was opened");
	pthread_mutex_unlock(&eal->lock);
	return err;
}

bool bsn_eal_was_joined(const struct bsn_eal *eal)
{
	return eal && eal->was_joined;
}

const struct bsn_mem_source *bsn_eal_source(struct bsn_eal *eal)
{
	return eal ? &eal->source : NULL;
}

const struct bsn_mr_watch *bsn_eal_watch(struct bsn_eal *eal)
{
	return eal ? &eal->watch : NULL;
}
