/* SPDX-License-Identifier: BSD-2-Clause */
/* The built-in sources of memory: anonymous mappings of several kinds of pages. */
#include "../engine.h"
#include "bsn_mem.h"
#include "pages.h"

#include <linux/mman.h>
#include <sys/mman.h>

int bsn_error_set(int error, const char *text)
{
	return fail(error, "%s", text);
}

static void *map(size_t length, int flags)
{
	void *addr = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags,
			  -1, 0);

	return addr == MAP_FAILED ? NULL : addr;
}

static void unmap(void *arg, const struct bsn_mem_block *block)
{
	(void)arg;
	munmap(block->addr, block->length);
}

/* Allocates the pages, on the wanted node if it has room, and notes the node of the first one. */
static int settle(struct bsn_mem_block *block, const struct bsn_mem_request *request,
		  void (*undo)(void *arg, const struct bsn_mem_block *block))
{
	int err;

	node_prefer(block->addr, block->length, request->node);
	err = pages_populate(block->addr, block->length);
	if (err) {
		undo(NULL, block);
		return fail(-err, "no %zu bytes of memory: %s", block->length, strerror(-err));
	}
	block->node = node_of(block->addr);
	return 0;
}

/* -- pages of the machine's size --------------------------------------------------------------- */

static int plain_alloc(void *arg, const struct bsn_mem_request *request,
		       struct bsn_mem_block *block)
{
	const size_t page = page_size(), length = whole_pages(request->length, page);

	(void)arg;
	if (request->page_bytes && request->page_bytes != page)
		return fail(EINVAL, "plain pages have %zu bytes, not %zu", page,
			    request->page_bytes);
	*block = (struct bsn_mem_block){ .length = length, .page_bytes = page };
	if (length >= request->length)
		block->addr = map(length, 0);
	if (!block->addr)
		return fail(ENOMEM, "no %zu bytes of memory", request->length);
	return settle(block, request, unmap);
}

/* -- transparent huge pages -------------------------------------------------------------------- */

/* Unmaps a block: the aligned part of a mapping that is one page longer. */
static void thp_free(void *arg, const struct bsn_mem_block *block)
{
	(void)arg;
	munmap(block->handle, block->length + block->page_bytes);
}

static int thp_alloc(void *arg, const struct bsn_mem_request *request, struct bsn_mem_block *block)
{
	const size_t page = thp_size(), length = page ? whole_pages(request->length, page) : 0;

	(void)arg;
	if (!page || thp_is_off())
		return fail(EOPNOTSUPP, "this kernel makes no transparent huge pages "
					"(/sys/kernel/mm/transparent_hugepage/enabled)");
	if (request->page_bytes && request->page_bytes != page)
		return fail(EINVAL, "transparent huge pages have %zu bytes, not %zu", page,
			    request->page_bytes);
	*block = (struct bsn_mem_block){ .length = length, .page_bytes = page };
	if (length >= request->length && length + page > length)
		block->handle = map(length + page, 0);
	if (!block->handle)
		return fail(ENOMEM, "no %zu bytes of memory", request->length);
	block->addr = (void *)whole_pages((uintptr_t)block->handle, page);
	madvise(block->addr, length, MADV_HUGEPAGE);
	return settle(block, request, thp_free);
}

/* -- hugepages of the kernel's pools ----------------------------------------------------------- */

static bool has_pool(size_t page)
{
	size_t sizes[8];

	for (unsigned n = hugetlb_sizes(sizes, 8); n--;)
		if (sizes[n] == page)
			return true;
	return false;
}

static int hugetlb_alloc(void *arg, const struct bsn_mem_request *request,
			 struct bsn_mem_block *block)
{
	const size_t page = request->page_bytes ? request->page_bytes : hugetlb_default_size();
	const size_t length = page ? whole_pages(request->length, page) : 0;

	(void)arg;
	if (!page || !has_pool(page))
		return fail(EINVAL,
			    "this machine has no hugepages of %zu bytes (see "
			    "/sys/kernel/mm/hugepages)",
			    page);
	*block = (struct bsn_mem_block){ .length = length, .page_bytes = page };
	if (length >= request->length)
		block->addr = map(length, MAP_HUGETLB | __builtin_ctzll(page) << MAP_HUGE_SHIFT);
	if (!block->addr)
		return fail(ENOMEM,
			    "fewer than %zu hugepages of %zu kB are free: raise "
			    "/sys/kernel/mm/hugepages/hugepages-%zukB/nr_hugepages",
			    (request->length + page - 1) / page, page >> 10, page >> 10);
	return settle(block, request, unmap);
}

const struct bsn_mem_source *bsn_mem_source(enum bsn_mem_kind kind)
{
	static const struct bsn_mem_source sources[] = {
		[BSN_MEM_PLAIN] = { .name = "plain", .alloc = plain_alloc, .release = unmap },
		[BSN_MEM_THP] = { .name = "thp", .alloc = thp_alloc, .release = thp_free },
		[BSN_MEM_HUGETLB] = { .name = "hugetlb", .alloc = hugetlb_alloc, .release = unmap },
	};

	return (unsigned)kind < sizeof(sources) / sizeof(sources[0]) ? &sources[kind] : NULL;
}
