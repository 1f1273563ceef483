/* SPDX-License-Identifier: BSD-2-Clause */
/* Buffers: registered memory of a source. */
#include "../engine.h"
#include "bsn_mem.h"
#include "pages.h"

#include <stdio.h>
#include <stdlib.h>

/* Choices: the program's, hugetlb pages of each size, transparent huge pages, plain pages. */
enum { SIZES_MAX = 8, CHOICES_MAX = SIZES_MAX + 3 };

/* A source that a buffer may come from, and its page size; 0: the source chooses. */
struct choice {
	const struct bsn_mem_source *source;
	size_t page_bytes;
};

/* What a buffer has besides its registration. */
struct buf {
	const struct bsn_mem_source *source;
	struct bsn_mem_block block;
	char why[256];
};

/* -- choices ----------------------------------------------------------------------------------- */

/* The order that bsn_mem.h documents. */
static unsigned list_choices(const struct bsn_mem_attr *wish, size_t length,
			     struct choice choices[CHOICES_MAX])
{
	const size_t longest =
		wish->page_bytes && wish->page_bytes < length ? wish->page_bytes : length;
	const size_t thp = thp_size();
	size_t sizes[SIZES_MAX];
	unsigned n = 0, count;

	if (wish->source || wish->is_strict)
		choices[n++] = (struct choice){ wish->source ? wish->source
						: wish->page_bytes > page_size()
							? bsn_mem_source(BSN_MEM_HUGETLB)
							: bsn_mem_source(BSN_MEM_PLAIN),
						wish->page_bytes };
	if (wish->is_strict)
		return n;
	count = hugetlb_sizes(sizes, SIZES_MAX);
	for (unsigned i = 0; i < count; i++)
		if (sizes[i] <= longest)
			choices[n++] = (struct choice){ bsn_mem_source(BSN_MEM_HUGETLB), sizes[i] };
	if (thp && thp <= longest)
		choices[n++] = (struct choice){ bsn_mem_source(BSN_MEM_THP), 0 };
	choices[n++] = (struct choice){ bsn_mem_source(BSN_MEM_PLAIN), 0 };
	return n;
}

static int device_node(const struct bsn_device *device)
{
	char name[sizeof(device->context->device->ibdev_path) + 32];
	FILE *file;
	int node = -1;

	snprintf(name, sizeof(name), "%s/device/numa_node", device->context->device->ibdev_path);
	file = fopen(name, "re");
	if (file && fscanf(file, "%d", &node) != 1)
		node = -1;
	if (file)
		fclose(file);
	return node;
}

static int node_wanted(const struct bsn_device *device, const struct bsn_mem_attr *wish)
{
	return wish->node || wish->has_node ? wish->node : device_node(device);
}

/* -- making ------------------------------------------------------------------------------------ */

static void release(struct mr_object *mr)
{
	struct buf *buf = mr->buf;

	buf->source->release(buf->source->arg, &buf->block);
	free(buf);
}

/* After ibv_fork_init() libibverbs cannot protect huge pages from children, and says EINVAL. */
static int explain(int err, const struct bsn_mem_block *block)
{
	if (err == -EINVAL && block->page_bytes > page_size() &&
	    ibv_is_fork_initialized() == IBV_FORK_ENABLED)
		return fail(EINVAL,
			    "ibv_fork_init() was called, and protects pages of the machine's "
			    "size, not hugepages: set RDMAV_HUGEPAGES_SAFE=1 in the environment");
	return err;
}

/* Tries one choice: its memory is registered, or given back. */
static int make(struct bsn_device *device, struct buf *buf, const struct choice *choice,
		const struct bsn_mem_request *request, const struct bsn_mr_attr *attr,
		struct bsn_mr **mr)
{
	const struct bsn_mem_source *source = choice->source;
	int err;

	buf->block = (struct bsn_mem_block){ .node = -1 };
	bsn_error_set(ENOMEM, "");
	err = source->alloc(
		source->arg,
		&(struct bsn_mem_request){ request->length, choice->page_bytes, request->node },
		&buf->block);
	if (err && !*bsn_error_text())
		fail(ENOMEM, "the source gives no memory, and does not say why");
	if (err)
		return err < 0 ? err : -EIO;
	err = !buf->block.addr || buf->block.length < request->length
		      ? fail(EPROTO, "the source gave %zu bytes, %zu were asked for",
			     buf->block.addr ? buf->block.length : 0, request->length)
		      : bsn_mr_register(device, buf->block.addr, request->length, attr, mr);
	if (!err) {
		buf->source = source;
		return 0;
	}
	err = explain(err, &buf->block);
	source->release(source->arg, &buf->block);
	return err;
}

/* Keeps the first reason: it says why the best choice failed. */
static void remember_why(struct buf *buf, const struct choice *choice)
{
	if (!buf->why[0])
		snprintf(buf->why, sizeof(buf->why), "%s: %s", choice->source->name,
			 bsn_error_text());
}

static int make_any(struct bsn_device *device, struct buf *buf, const struct bsn_mem_attr *wish,
		    const struct bsn_mr_attr *attr, size_t length, struct bsn_mr **mr)
{
	const struct bsn_mem_request request = { length, 0, node_wanted(device, wish) };
	struct choice choices[CHOICES_MAX];
	const unsigned n = list_choices(wish, length, choices);
	int err = -ENOMEM;

	for (unsigned i = 0; i < n; i++) {
		err = make(device, buf, &choices[i], &request, attr, mr);
		if (!err)
			return 0;
		remember_why(buf, &choices[i]);
	}
	return err;
}

/* -- the calls --------------------------------------------------------------------------------- */

static void tell(const struct bsn_device *device, const struct buf *buf, size_t length)
{
	const struct bsn_mem_block *b = &buf->block;

	say(device, "%zu bytes of memory: source %s, pages of %zu kB, NUMA node %d%s%s", length,
	    buf->source->name, b->page_bytes >> 10, b->node, buf->why[0] ? "; not " : "", buf->why);
}

int bsn_buf_alloc(struct bsn_device *device, size_t length, const struct bsn_mr_attr *attr,
		  struct bsn_mr **out)
{
	static const struct bsn_mem_attr any;
	const struct bsn_mem_attr *wish = attr && attr->mem ? attr->mem : &any;
	const size_t whole = whole_pages(length, page_size());
	struct mr_object *mr;
	struct bsn_mr *pub;
	struct buf *buf;
	int err;

	if (!device || !length || whole < length || !out)
		return fail(EINVAL, "no device, no length, or no place for the result");
	if (attr && attr->has_iova)
		return fail(EINVAL, "a buffer has no IOVA; bsn_mr_register() takes memory and an "
				    "IOVA for it");
	buf = calloc(1, sizeof(*buf));
	if (!buf)
		return fail(ENOMEM, "no memory");
	err = make_any(device, buf, wish, attr, whole, &pub);
	if (err) {
		free(buf);
		return err;
	}
	mr = (struct mr_object *)(void *)pub;
	mr->buf = buf;
	mr->release = release;
	tell(device, buf, whole);
	*out = pub;
	return 0;
}

int bsn_buf_free(struct bsn_mr *buf)
{
	return bsn_mr_deregister(buf);
}

int bsn_buf_info(const struct bsn_mr *pub, struct bsn_buf_info *info)
{
	const struct mr_object *mr = (const struct mr_object *)(const void *)pub;

	if (!mr || !mr->buf || !info)
		return fail(EINVAL, "not a buffer of bsn_buf_alloc(), or no place for the result");
	*info = (struct bsn_buf_info){
		.source = mr->buf->source->name,
		.page_bytes = mr->buf->block.page_bytes,
		.node = mr->buf->block.node,
		.translations = mem_translations((void *)(uintptr_t)pub->addr, pub->length),
		.why = mr->buf->why,
	};
	return 0;
}
