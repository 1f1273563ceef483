/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bsn-perf memory: the cost of registrations, and what saves them: the cache, slabs, and larger
 * pages.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bsn_mem.h"
#include "bsn_mr_cache.h"
#include "bsn_slab.h"
#include "perf.h"
#include "progress.h"
#include "rcache.h"
#include "stats.h"

enum {
	ROUNDS = 9, /* of which the median counts */
	REGIONS_DEFAULT = 10000,
	REGIONS_MAX = 60000,
	LOOK_UPS = 1 << 17,
	REGISTRATIONS = 500,
	BUFFERS = 500,
	BUFFER_BYTES = 4096,
	SOURCES = 4,
};

static struct {
	struct perf_options common;
	char *regions, *bytes;
} options;

static const struct poptOption option_table[] = {
	PERF_OPTIONS(&options.common),
	{ "regions", 'n', POPT_ARG_STRING, &options.regions, 0,
	  "regions in the cache (default: 10000)", "N" },
	{ "bytes", 'b', POPT_ARG_STRING, &options.bytes, 0,
	  "memory of which translations are counted (default: 1g)", "BYTES" },
	POPT_AUTOHELP POPT_TABLEEND
};

/* In which order addresses are looked up. */
enum order { SAME, SEQUENCE, RANDOM, ORDERS };
static const char *const order_names[ORDERS] = { "same", "sequence", "random" };

struct source_figures {
	const char *name;
	const struct bsn_mem_source *source;
	size_t page_bytes;
	bool is_there;
	struct bsn_buf_info info;
	double allocated_ms;
	char why_not[256];
};

struct memory {
	struct bsn_device *device;
	struct bsn_mr_cache *cache;
	struct bsn_mr_view view;
	size_t page;
	uint8_t *map; /* every other page is a region */
	unsigned region_count;
	size_t bytes;
	struct span *spans; /* what the binary search has */
	void **order;       /* LOOK_UPS addresses */
	struct rcache *rcache;
	const char *no_rcache;
	struct {
		double cache_ns, search_ns, rcache_ns;
	} look_ups[ORDERS];
	double registration_ns, cached_ns, slab_ns, malloc_ns;
	struct source_figures sources[SOURCES];
};

/* -- the measured loops ------------------------------------------------------------------------ */

/* A plain binary search, as programs have it. */
struct span {
	uint64_t start, end;
	uint32_t lkey;
};

static uint32_t search(const struct span *spans, unsigned count, const void *addr, uint32_t length)
{
	const uint64_t at = (uintptr_t)addr;
	unsigned low = 0, high = count;

	while (low < high) {
		const unsigned middle = low + (high - low) / 2;
		if (at < spans[middle].start)
			high = middle;
		else if (at + length > spans[middle].end)
			low = middle + 1;
		else
			return spans[middle].lkey;
	}
	return 0;
}

/* The result of each look-up is used, so that the compiler keeps it. */
static uint32_t look_up_all(struct memory *m)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < LOOK_UPS; i++)
		if (bsn_mr_view_find(&m->view, m->order[i], 64))
			sum += m->view.last.lkey;
	return sum;
}

static uint32_t search_all(struct memory *m)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < LOOK_UPS; i++)
		sum += search(m->spans, m->region_count, m->order[i], 64);
	return sum;
}

static int register_each(struct memory *m)
{
	for (unsigned i = 0; i < REGISTRATIONS; i++) {
		struct bsn_mr *mr;
		int err = bsn_mr_register(m->device, m->map, m->page, NULL, &mr);
		if (!err)
			err = bsn_mr_deregister(mr);
		if (err)
			return err;
	}
	return 0;
}

static int get_each(struct memory *m)
{
	int err = 0;

	for (unsigned i = 0; i < REGISTRATIONS && !err; i++)
		err = bsn_mr_view_get(&m->view, m->map, m->page);
	return err;
}

static int malloc_each(struct memory *m)
{
	for (unsigned i = 0; i < BUFFERS; i++) {
		void *buffer = malloc(BUFFER_BYTES);
		struct bsn_mr *mr;
		int err = bsn_mr_register(m->device, buffer, BUFFER_BYTES, NULL, &mr);
		if (!err)
			err = bsn_mr_deregister(mr);
		free(buffer);
		if (err)
			return err;
	}
	return 0;
}

/* A few are out at a time, as of a queue. */
static void take_each(struct bsn_slab_view *view)
{
	void *held[8] = { NULL };

	for (unsigned i = 0; i < BUFFERS + 8; i++) {
		void **const one = &held[i % 8];
		if (*one)
			bsn_slab_put(view, *one);
		*one = i < BUFFERS ? bsn_slab_get(view) : NULL;
	}
}

/* -- look-ups ---------------------------------------------------------------------------------- */

static uint8_t *region(const struct memory *m, unsigned i)
{
	return m->map + 2 * i * m->page;
}

static void make_order(struct memory *m, enum order order)
{
	unsigned seed = 1;

	for (unsigned i = 0; i < LOOK_UPS; i++)
		m->order[i] =
			region(m, order == SAME       ? m->region_count / 2
				  : order == SEQUENCE ? i % m->region_count
						      : (unsigned)rand_r(&seed) % m->region_count);
}

static int make_regions(struct memory *m)
{
	int err = 0;

	m->rcache = rcache_open(m->device, &m->no_rcache);

	for (unsigned i = 0; i < m->region_count && !err; i++) {
		show_progress("region %u of %u", i + 1, m->region_count);
		err = bsn_mr_view_get(&m->view, region(m, i), 64);
		m->spans[i] =
			(struct span){ m->view.last.addr, m->view.last.addr + m->view.last.length,
				       m->view.last.lkey };
		if (m->rcache) /* registers it there, too */
			(void)rcache_look_up_all(m->rcache, &(void *){ region(m, i) }, 1);
	}
	end_progress();
	return err ? complain_of(NULL, err) : 0;
}

static int time_look_ups(struct memory *m)
{
	for (enum order order = SAME; order < ORDERS; order++) {
		double cache[ROUNDS], plain[ROUNDS], ucx[ROUNDS];
		make_order(m, order);
		for (unsigned round = 0; round < ROUNDS; round++) {
			const uint64_t start = now_ns();
			const uint32_t found = look_up_all(m);
			const uint64_t middle = now_ns();
			if (search_all(m) != found)
				return complain("the cache finds other keys than a search does");
			const uint64_t end = now_ns();
			cache[round] = (double)(middle - start) / LOOK_UPS;
			plain[round] = (double)(end - middle) / LOOK_UPS;
			if (m->rcache && !rcache_look_up_all(m->rcache, m->order, LOOK_UPS))
				return complain("UCX's cache finds nothing");
			ucx[round] = (double)(now_ns() - end) / LOOK_UPS;
		}
		m->look_ups[order].cache_ns = median_of(cache, ROUNDS);
		m->look_ups[order].search_ns = median_of(plain, ROUNDS);
		m->look_ups[order].rcache_ns = median_of(ucx, ROUNDS);
	}
	return 0;
}

/* -- registrations, buffers -------------------------------------------------------------------- */

static int time_registrations(struct memory *m)
{
	double cached[ROUNDS], each[ROUNDS], by_malloc[ROUNDS];
	int err = 0;

	for (unsigned round = 0; round < ROUNDS && !err; round++) {
		uint64_t start = now_ns();
		err = register_each(m);
		each[round] = (double)(now_ns() - start) / REGISTRATIONS;
		start = now_ns();
		err = err ? err : get_each(m);
		cached[round] = (double)(now_ns() - start) / REGISTRATIONS;
		start = now_ns();
		err = err ? err : malloc_each(m);
		by_malloc[round] = (double)(now_ns() - start) / BUFFERS;
	}
	if (err)
		return complain_of(NULL, err);
	m->registration_ns = median_of(each, ROUNDS);
	m->cached_ns = median_of(cached, ROUNDS);
	m->malloc_ns = median_of(by_malloc, ROUNDS);
	return 0;
}

static int time_slab(struct memory *m)
{
	const struct bsn_slab_attr attr = { .size_bytes = BUFFER_BYTES, .count = 256 };
	struct bsn_slab_view view;
	double ns[ROUNDS];
	struct bsn_slab *slab;
	const int err = bsn_slab_create(m->device, &attr, &slab);

	if (err)
		return complain_of(NULL, err);
	bsn_slab_view_init(&view, slab);
	for (unsigned round = 0; round < ROUNDS; round++) {
		const uint64_t start = now_ns();
		take_each(&view);
		ns[round] = (double)(now_ns() - start) / BUFFERS;
	}
	m->slab_ns = median_of(ns, ROUNDS);
	bsn_slab_view_empty(&view);
	bsn_slab_destroy(slab);
	return 0;
}

/* -- pages ------------------------------------------------------------------------------------- */

static void try_source(struct memory *m, struct source_figures *f)
{
	const struct bsn_mem_attr mem = { .source = f->source,
					  .page_bytes = f->page_bytes,
					  .is_strict = true };
	const uint64_t start = now_ns();
	struct bsn_mr *buf;

	if (bsn_buf_alloc(m->device, m->bytes, &(struct bsn_mr_attr){ .mem = &mem }, &buf)) {
		snprintf(f->why_not, sizeof(f->why_not), "%s", bsn_error_text());
		return;
	}
	f->allocated_ms = (double)(now_ns() - start) / 1e6;
	f->is_there = !bsn_buf_info(buf, &f->info);
	bsn_buf_free(buf);
}

static void try_sources(struct memory *m)
{
	const struct source_figures all[SOURCES] = {
		{ .name = "plain", .source = bsn_mem_source(BSN_MEM_PLAIN) },
		{ .name = "thp", .source = bsn_mem_source(BSN_MEM_THP) },
		{ .name = "hugetlb_2m", .source = bsn_mem_source(BSN_MEM_HUGETLB), .page_bytes = 2 << 20 },
		{ .name = "hugetlb_1g", .source = bsn_mem_source(BSN_MEM_HUGETLB), .page_bytes = 1 << 30 },
	};

	memcpy(m->sources, all, sizeof(all));
	for (unsigned i = 0; i < SOURCES; i++) {
		show_progress("memory of %s", all[i].name);
		try_source(m, &m->sources[i]);
	}
	end_progress();
}

/* -- reports ----------------------------------------------------------------------------------- */

static void print_text(FILE *to, const struct memory *m)
{
	const struct bsn_device_info *info = bsn_device_info(m->device);

	fprintf(to, "device %s: %s\n\nns per look-up, %u regions\n%-12s %10s %14s %14s\n",
		info->name, info->path_why, m->region_count, "", "cache", "binary search",
		m->rcache ? "UCX's rcache" : "");
	for (unsigned i = 0; i < ORDERS; i++) {
		fprintf(to, "%-12s %10.1f %14.1f", order_names[i], m->look_ups[i].cache_ns,
			m->look_ups[i].search_ns);
		if (m->rcache)
			fprintf(to, " %14.1f", m->look_ups[i].rcache_ns);
		fprintf(to, "\n");
	}
	if (!m->rcache)
		fprintf(to, "UCX's rcache: %s\n", m->no_rcache);
	fprintf(to, "\nregistrations per second, one page\n%-12s %10.0f\n%-12s %10.0f\n",
		"registered", 1e9 / m->registration_ns, "cached", 1e9 / m->cached_ns);
	fprintf(to, "\nns per buffer of %d bytes\n%-18s %10.1f\n%-18s %10.1f\n", BUFFER_BYTES,
		"slab", m->slab_ns, "malloc + register", m->malloc_ns);
	fprintf(to, "\ntranslations of %zu bytes\n", m->bytes);
	for (unsigned i = 0; i < SOURCES; i++) {
		const struct source_figures *f = &m->sources[i];
		if (f->is_there)
			fprintf(to, "%-12s %10llu   allocated and registered in %.1f ms\n", f->name,
				(unsigned long long)f->info.translations, f->allocated_ms);
		else
			fprintf(to, "%-12s %10s   %s\n", f->name, "-", f->why_not);
	}
}

static struct json_object *pair(const char *a, double x, const char *b, double y)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, a, json_figure(x));
	json_object_object_add(object, b, json_figure(y));
	return object;
}

static struct json_object *source_to_json(const struct source_figures *f)
{
	struct json_object *object = json_object_new_object();

	if (!f->is_there) {
		json_object_object_add(object, "why_not", json_object_new_string(f->why_not));
		return object;
	}
	json_object_object_add(object, "translations",
			       json_object_new_int64((int64_t)f->info.translations));
	json_object_object_add(object, "page_bytes",
			       json_object_new_int64((int64_t)f->info.page_bytes));
	json_object_object_add(object, "node", json_object_new_int(f->info.node));
	json_object_object_add(object, "allocated_ms", json_figure(f->allocated_ms));
	return object;
}

static void print_json(FILE *to, const struct memory *m)
{
	struct json_object *report = json_object_new_object(), *look_ups = json_object_new_object(),
			   *sources = json_object_new_object();

	json_add_device(report, bsn_device_info(m->device));
	json_object_object_add(report, "regions", json_object_new_int((int)m->region_count));
	for (unsigned i = 0; i < ORDERS; i++) {
		struct json_object *figures =
			pair("cache_ns", m->look_ups[i].cache_ns, "binary_search_ns",
			     m->look_ups[i].search_ns);
		if (m->rcache)
			json_object_object_add(figures, "ucx_rcache_ns",
					       json_figure(m->look_ups[i].rcache_ns));
		json_object_object_add(look_ups, order_names[i], figures);
	}
	json_object_object_add(report, "look_ups", look_ups);
	if (!m->rcache)
		json_object_object_add(report, "no_ucx_rcache",
				       json_object_new_string(m->no_rcache));
	json_object_object_add(
		report, "registrations_per_s",
		pair("registered", 1e9 / m->registration_ns, "cached", 1e9 / m->cached_ns));
	json_object_object_add(report, "buffer",
			       pair("slab_ns", m->slab_ns, "malloc_register_ns", m->malloc_ns));
	json_object_object_add(report, "bytes", json_object_new_int64((int64_t)m->bytes));
	for (unsigned i = 0; i < SOURCES; i++)
		json_object_object_add(sources, m->sources[i].name, source_to_json(&m->sources[i]));
	json_object_object_add(report, "sources", sources);
	json_print(to, report);
}

/* -- all of it --------------------------------------------------------------------------------- */

static int open_all(struct memory *m)
{
	const size_t length = 2 * m->region_count * m->page;
	int err = bsn_device_open(options.common.device, NULL, &m->device);

	if (!err)
		err = bsn_mr_cache_create(m->device, NULL, &m->cache);
	if (err)
		return complain_of(NULL, err);
	bsn_mr_view_init(&m->view, m->cache);
	m->spans = calloc(m->region_count, sizeof(*m->spans));
	m->order = calloc(LOOK_UPS, sizeof(*m->order));
	m->map = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m->map == MAP_FAILED)
		m->map = NULL;
	return m->spans && m->order && m->map ? 0 : complain("no memory");
}

static void close_all(struct memory *m)
{
	rcache_close(m->rcache);
	bsn_mr_cache_destroy(m->cache);
	bsn_device_close(m->device);
	if (m->map)
		munmap(m->map, 2 * m->region_count * m->page);
	free(m->spans);
	free(m->order);
}

static int measure_and_report(struct memory *m)
{
	FILE *report = report_open(&options.common);
	int err = report ? open_all(m) : PERF_FAILED;

	if (!report)
		return err;
	if (!err)
		err = time_registrations(m);
	if (!err)
		err = time_slab(m);
	if (!err)
		err = make_regions(m);
	if (!err)
		err = time_look_ups(m);
	if (!err) {
		try_sources(m);
		(options.common.json ? print_json : print_text)(report, m);
	}
	close_all(m);
	const int unwritten = report_close(report, &options.common);
	return err ? err : unwritten;
}

static int read_options(poptContext context, struct memory *m)
{
	uint64_t regions = REGIONS_DEFAULT, bytes = 1 << 30;
	int err = parse_options(context);

	if (!err && poptPeekArg(context))
		err = complain_usage("memory takes no argument %s", poptPeekArg(context));
	if (!err && options.regions)
		err = parse_number("regions", options.regions, 1, REGIONS_MAX, &regions);
	if (!err && options.bytes)
		err = parse_number("bytes", options.bytes, 1, 1ull << 40, &bytes);
	m->page = (size_t)sysconf(_SC_PAGESIZE);
	m->region_count = (unsigned)regions;
	m->bytes = bytes;
	return err;
}

int memory_main(int argc, const char **argv)
{
	poptContext context = poptGetContext("bsn-perf memory", argc, argv, option_table, 0);
	struct memory m = { 0 };
	int err = read_options(context, &m);

	if (!err)
		err = measure_and_report(&m);
	free(options.regions);
	free(options.bytes);
	perf_options_free(&options.common);
	poptFreeContext(context);
	return err;
}
