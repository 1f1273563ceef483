/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where buffers come from: sources, the order in which they are tried, and what the library says
 * about it.
 */
#include "harness.h"

#include <sys/mman.h>

#include "bsn_mem.h"
#include "mem/pages.h"

enum { PAGE = 4096, HUGE = 2 << 20 };

static struct bsn_buf_info info_of(const struct bsn_mr *buf)
{
	struct bsn_buf_info info;

	ok(bsn_buf_info(buf, &info));
	return info;
}

/* Sends data from the buffer, and receives data into it. */
static void carries_data(struct bench *b, const struct bsn_mr *buf)
{
	const struct bsn_remote to = { buf->addr + buf->length - 64, buf->rkey };
	uint8_t *bytes = buf->data;

	memset(bytes, 0x5a, 64);
	ok(bsn_write(b->ep[0], &(struct bsn_sge){ buf->addr, 64, buf->lkey }, &to, 1, NOW));
	expect_done(b, b->cq[0], 1, BSN_OPCODE_RDMA_WRITE);
	assert_memory_equal(bytes, bytes + buf->length - 64, 64);
}

/* Makes a buffer by these attributes, looks at it, uses it and frees it. */
static char why[256];

static struct bsn_buf_info try(struct bench *b, size_t length, const struct bsn_mem_attr *mem)
{
	struct bsn_mr *buf;

	ok(bsn_buf_alloc(b->device, length, &(struct bsn_mr_attr){ .mem = mem }, &buf));
	assert_int_equal(buf->length, (length + PAGE - 1) / PAGE * PAGE);
	assert_int_equal(*(char *)buf->data, 0);
	struct bsn_buf_info info = info_of(buf);
	assert_non_null(info.source);
	assert_true(info.translations > 0 && info.translations <= buf->length / PAGE);
	carries_data(b, buf);
	snprintf(why, sizeof(why), "%s", info.why);
	info.why = why;
	ok(bsn_buf_free(buf));
	return info;
}

/* -- built-in sources -------------------------------------------------------------------------- */

/* Whether THP is "always": then the kernel gives huge pages even if nobody asks for them. */
static bool kernel_chooses_pages(void)
{
	char choice[64] = "";
	FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");

	if (file) {
		if (!fgets(choice, sizeof(choice), file))
			choice[0] = 0;
		fclose(file);
	}
	return strstr(choice, "[always]");
}

static void plain_pages(struct bench *b)
{
	const struct bsn_mem_attr plain = { .source = bsn_mem_source(BSN_MEM_PLAIN),
					    .is_strict = true };
	const struct bsn_buf_info info = try(b, 4 * HUGE, &plain);

	assert_string_equal(info.source, "plain");
	assert_string_equal(info.why, "");
	assert_int_equal(info.page_bytes, PAGE);
	assert_true(info.translations == 4 * HUGE / PAGE || kernel_chooses_pages());
}

static void a_short_buffer_has_plain_pages(struct bench *b)
{
	assert_string_equal(try(b, 100, NULL).source, "plain");
}

static void transparent_huge_pages(struct bench *b)
{
	const struct bsn_mem_attr thp = { .source = bsn_mem_source(BSN_MEM_THP),
					  .is_strict = true };
	struct bsn_mr *buf;
	const int err =
		bsn_buf_alloc(b->device, 2 * HUGE, &(struct bsn_mr_attr){ .mem = &thp }, &buf);

	if (err) {
		assert_int_equal(err, -EOPNOTSUPP);
		return;
	}
	assert_int_equal(buf->addr % info_of(buf).page_bytes, 0);
	ok(bsn_buf_free(buf));
	assert_true(try(b, 2 * HUGE, &thp).translations <= 2 * HUGE / PAGE);
}

/*
 * libibverbs asks the kernel to hide pages from children one by one, which hugepages do not allow.
 * It refuses an address only the first time, so this case comes before the others.
 */
static void hugepages_and_children(struct bench *b)
{
	const struct bsn_mem_attr wish = { .source = bsn_mem_source(BSN_MEM_HUGETLB),
					   .is_strict = true };
	struct bsn_mr *buf;
	const int err = bsn_buf_alloc(b->device, HUGE, &(struct bsn_mr_attr){ .mem = &wish }, &buf);

	if (!err)
		ok(bsn_buf_free(buf));
	else if (err == -EINVAL)
		assert_non_null(strstr(bsn_error_text(), "RDMAV_HUGEPAGES_SAFE"));
	else
		assert_int_equal(err, -ENOMEM);
}

/* If no hugepage is free, the buffer comes from the next source, and remembers why. */
static void hugepages_or_the_next_best(struct bench *b)
{
	const struct bsn_mem_attr wish = { .source = bsn_mem_source(BSN_MEM_HUGETLB),
					   .page_bytes = HUGE };
	const struct bsn_buf_info info = try(b, 2 * HUGE, &wish);

	if (strcmp(info.source, "hugetlb")) {
		assert_true(strstr(info.why, "HUGEPAGES") || strstr(info.why, "nr_hugepages"));
	} else {
		assert_int_equal(info.page_bytes, HUGE);
		assert_int_equal(info.translations, 2);
	}
}

static void refused(struct bench *b, size_t length, struct bsn_mem_attr wish, int err,
		    const char *words)
{
	const struct bsn_mr_attr attr = { .mem = &wish };
	struct bsn_mr *buf = (void *)0x55;

	wish.is_strict = true;
	assert_int_equal(bsn_buf_alloc(b->device, length, &attr, &buf), -err);
	assert_ptr_equal(buf, (void *)0x55);
	assert_non_null(strstr(bsn_error_text(), words));
}

static void a_strict_wish_is_refused_in_words(struct bench *b)
{
	refused(b, PAGE,
		(struct bsn_mem_attr){ .source = bsn_mem_source(BSN_MEM_PLAIN),
				       .page_bytes = HUGE },
		EINVAL, "plain pages");
	refused(b, PAGE, (struct bsn_mem_attr){ .page_bytes = 12345 }, EINVAL,
		"no hugepages of 12345");
	refused(b, (size_t)1 << 46, (struct bsn_mem_attr){ .page_bytes = HUGE }, ENOMEM,
		"nr_hugepages");
	refused(b, (size_t)1 << 60,
		(struct bsn_mem_attr){ .source = bsn_mem_source(BSN_MEM_PLAIN) }, ENOMEM, "no ");
	refused(b, SIZE_MAX - 2 * PAGE,
		(struct bsn_mem_attr){ .source = bsn_mem_source(BSN_MEM_PLAIN) }, ENOMEM, "no ");
}

/* -- an application's own ---------------------------------------------------------------------- */

/* One block of static memory. */
struct arena {
	struct bsn_mem_source source;
	struct bsn_mem_request asked;
	unsigned given, taken;
	int err;
	size_t short_of;
};

static uint8_t bytes[4 * PAGE] __attribute__((aligned(4096)));

static int arena_alloc(void *arg, const struct bsn_mem_request *request,
		       struct bsn_mem_block *block)
{
	struct arena *arena = arg;

	arena->asked = *request;
	if (arena->err)
		return bsn_error_set(arena->err, "the arena is empty");
	arena->given++;
	memset(bytes, 0, sizeof(bytes));
	*block = (struct bsn_mem_block){ .addr = bytes,
					 .length = sizeof(bytes) - arena->short_of,
					 .node = -1,
					 .handle = arena };
	return 0;
}

static void arena_free(void *arg, const struct bsn_mem_block *block)
{
	struct arena *arena = arg;

	assert_ptr_equal(block->addr, bytes);
	assert_ptr_equal(block->handle, arena);
	arena->taken++;
}

static void init_arena(struct arena *arena)
{
	*arena = (struct arena){ .source = { "arena", arena, arena_alloc, arena_free } };
}

static void an_application_brings_its_own(struct bench *b)
{
	struct arena arena;
	const struct bsn_mem_attr wish = { .source = &arena.source, .has_node = true };

	init_arena(&arena);
	struct bsn_buf_info info = try(b, 3 * PAGE + 1, &wish);
	assert_string_equal(info.source, "arena");
	assert_int_equal(info.page_bytes, 0);
	assert_int_equal(arena.asked.length, 4 * PAGE);
	assert_int_equal(arena.asked.node, 0);
	assert_int_equal(arena.given, 1);
	assert_int_equal(arena.taken, 1);
}

static void what_a_source_refuses_comes_from_another(struct bench *b)
{
	struct arena arena;
	const struct bsn_mem_attr wish = { .source = &arena.source, .node = BSN_NODE_ANY };

	init_arena(&arena);
	arena.err = ENOSPC;
	struct bsn_buf_info info = try(b, PAGE, &wish);
	assert_string_equal(info.source, "plain");
	assert_int_equal(arena.asked.node, -1);
	refused(b, PAGE, wish, ENOSPC, "the arena is empty");
	arena.err = 0;
	arena.short_of = 1;
	refused(b, 4 * PAGE, wish, EPROTO, "were asked for");
	assert_int_equal(arena.given, arena.taken);
}

/* -- what is said ------------------------------------------------------------------------------ */

static void keep_line(void *arg, const char *text)
{
	snprintf(arg, 320, "%s", text);
}

static void the_log_tells_what_was_got(struct bench *b)
{
	char line[320] = "";
	const struct bsn_device_attr attr = { .path = bench_info(b)->path,
					      .log = keep_line,
					      .log_arg = line };
	struct bsn_device *device;
	struct bsn_mr *buf;

	ok(bsn_device_open("mlx5_0", &attr, &device));
	ok(bsn_buf_alloc(device, 100, NULL, &buf));
	assert_non_null(strstr(line, "source plain, pages of 4 kB, NUMA node"));
	ok(bsn_buf_free(buf));
	ok(bsn_device_close(device));
}

static void a_buffer_has_no_other_address(struct bench *b)
{
	const struct bsn_mr_attr zero_based = { .has_iova = true };
	struct bsn_mr *buf = NULL;

	fails(EINVAL, "bsn_mr_register", bsn_buf_alloc(b->device, 4096, &zero_based, &buf));
	assert_null(buf);
}

static void other_memory_has_no_info(struct bench *b)
{
	struct bsn_buf_info info;
	struct bsn_mr *mr = bench_mr(b, bytes, PAGE, NULL);

	assert_int_equal(bsn_buf_info(mr, &info), -EINVAL);
	assert_int_equal(bsn_buf_info(NULL, &info), -EINVAL);
}

/* Counts translations of mapped pages; memory that is not mapped has none. */
static void translations_are_counted(struct bench *b)
{
	uint8_t *map =
		mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)b;
	assert_ptr_not_equal(map, MAP_FAILED);
	assert_int_equal(mem_translations(map, 8 * PAGE), 8);
	assert_int_equal(mem_translations(map + PAGE, PAGE + 1), 2);
	assert_int_equal(mem_translations(map, 0), 0);
	munmap(map, 8 * PAGE); /* another thread may map something there at once */
	assert_int_equal(mem_translations((void *)(uintptr_t)PAGE, 8 * PAGE), 0);
}

static const struct bench_case cases[] = {
	{ CASE(hugepages_and_children), BARE },
	{ CASE(plain_pages), OWN },
	{ CASE(a_short_buffer_has_plain_pages), OWN },
	{ CASE(transparent_huge_pages), OWN },
	{ CASE(hugepages_or_the_next_best), OWN },
	{ CASE(a_strict_wish_is_refused_in_words), BARE },
	{ CASE(an_application_brings_its_own), OWN },
	{ CASE(what_a_source_refuses_comes_from_another), OWN },
	{ CASE(the_log_tells_what_was_got), BARE, MODEL },
	{ CASE(a_buffer_has_no_other_address), BARE },
	{ CASE(other_memory_has_no_info), BARE },
	{ CASE(translations_are_counted), BARE },
};

BENCH_MAIN("memory")
