/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code that is in no cache: each line of the program's code and of its libraries' is given back to
 * memory. Data stay where they are.
 */
#include "cost.h"

#include <inttypes.h>
#include <string.h>

#include "perf.h"

enum { LINE_BYTES = 64, SPANS_MAX = 128 };

struct span {
	uintptr_t begin, end;
};
static struct span spans[SPANS_MAX];
static unsigned span_count;

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

static bool can_evict(void)
{
	unsigned a, b, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_CLFLUSHOPT;
}

__attribute__((target("clflushopt"))) static void evict(const struct span *span)
{
	for (uintptr_t at = span->begin; at < span->end; at += LINE_BYTES)
		_mm_clflushopt((void *)at);
	_mm_mfence();
}
#else
static bool can_evict(void)
{
	return false;
}

static void evict(const struct span *span)
{
	(void)span;
}
#endif

/* A line of /proc/self/maps: "begin-end r-xp offset device inode path"; a file has a slash. */
static bool is_code(const char *line, struct span *span)
{
	char rights[5];

	return sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &span->begin, &span->end, rights) ==
		       3 &&
	       !strcmp(rights, "r-xp") && strchr(line, '/');
}

int cost_find_code(void)
{
	FILE *maps = can_evict() ? fopen("/proc/self/maps", "r") : NULL;
	char line[512];

	if (!maps)
		return complain("--cold wants /proc, and a CPU with CLFLUSHOPT, by which a program "
				"empties caches");
	span_count = 0;
	while (span_count < SPANS_MAX && fgets(line, sizeof(line), maps))
		span_count += is_code(line, &spans[span_count]);
	fclose(maps);
	return 0;
}

void watch_begin(void *arg)
{
	((struct watch *)arg)->start = now_ns();
}

void cost_cold_begin(void *watch)
{
	for (unsigned i = 0; i < span_count; i++)
		evict(&spans[i]);
	watch_begin(watch);
}
