/* SPDX-License-Identifier: BSD-2-Clause */
/* Pages, from sysfs and /proc/self/smaps; NUMA nodes, by the system calls that libnuma makes. */
#include "pages.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bsn_mem.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

enum { NODES_MAX = 1024, LONG_BITS = 8 * sizeof(long) };

size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* -- sizes ------------------------------------------------------------------------------------- */

static int larger_first(const void *a, const void *b)
{
	const size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return x > y ? -1 : x < y;
}

unsigned hugetlb_sizes(size_t *sizes, unsigned max)
{
	DIR *pools = opendir("/sys/kernel/mm/hugepages");
	const struct dirent *entry;
	unsigned n = 0;

	while (pools && n < max && (entry = readdir(pools))) {
		size_t kb;
		if (sscanf(entry->d_name, "hugepages-%zukB", &kb) == 1)
			sizes[n++] = kb << 10;
	}
	if (pools)
		closedir(pools);
	qsort(sizes, n, sizeof(*sizes), larger_first);
	return n;
}

/* The number in the first line of a file that matches the format. */
static size_t number_in(const char *path, const char *format)
{
	FILE *file = fopen(path, "re");
	char line[256];
	size_t number = 0;

	while (file && !number && fgets(line, sizeof(line), file))
		if (sscanf(line, format, &number) != 1)
			number = 0;
	if (file)
		fclose(file);
	return number;
}

size_t hugetlb_default_size(void)
{
	return number_in("/proc/meminfo", "Hugepagesize: %zu kB") << 10;
}

#define THP "/sys/kernel/mm/transparent_hugepage/"

size_t thp_size(void)
{
	return number_in(THP "hpage_pmd_size", "%zu");
}

bool thp_is_off(void)
{
	FILE *file = fopen(THP "enabled", "re");
	char line[128] = "[never]";
	bool is_off;

	is_off = !file || !fgets(line, sizeof(line), file) || strstr(line, "[never]");
	if (file)
		fclose(file);
	return is_off;
}

/* -- nodes ------------------------------------------------------------------------------------- */

void node_prefer(void *addr, size_t length, int node)
{
	unsigned long mask[NODES_MAX / LONG_BITS] = { 0 };

	if (node < 0 || node >= NODES_MAX)
		return;
	mask[node / LONG_BITS] = 1ul << (node % LONG_BITS);
	syscall(SYS_mbind, addr, length, MPOL_PREFERRED, mask, NODES_MAX, 0);
}

int node_of(void *addr)
{
	int node;

	if (syscall(SYS_get_mempolicy, &node, NULL, 0, addr, MPOL_F_NODE | MPOL_F_ADDR))
		return -1;
	return node;
}

int pages_populate(void *addr, size_t length)
{
	int err = 0;

	if (madvise(addr, length, MADV_POPULATE_WRITE))
		err = -errno;
	return err == -EINVAL ? 0 : err; /* an older kernel: the first touch will do */
}

/* -- smaps ------------------------------------------------------------------------------------- */

/* The fields of a mapping of /proc/self/smaps that are read. */
struct mapping {
	uint64_t start, end;
	uint64_t page_kb, huge_kb;
};

/*
 * Counts the pages of the bytes that a range shares with the mapping; huge pages count by the
 * range's share.
 */
static uint64_t pages_shared(const struct mapping *m, uint64_t start, uint64_t end)
{
	const uint64_t from = start > m->start ? start : m->start;
	const uint64_t to = end < m->end ? end : m->end;
	const uint64_t page = m->page_kb << 10, thp = thp_size();
	uint64_t huge;

	if (from >= to || !page)
		return 0;
	huge = (uint64_t)((double)(m->huge_kb << 10) * (double)(to - from) /
			  (double)(m->end - m->start));
	if (!thp || huge < thp)
		return (to - from + page - 1) / page;
	return (huge + thp - 1) / thp + (to - from - huge + page - 1) / page;
}

uint64_t mem_translations(const void *addr, size_t length)
{
	const uint64_t start = (uintptr_t)addr, end = start + length;
	FILE *smaps = fopen("/proc/self/smaps", "re");
	struct mapping m = { 0 };
	uint64_t total = 0;
	char line[4352];

	while (smaps && fgets(line, sizeof(line), smaps)) {
		struct mapping next = { 0 };
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &next.start, &next.end) == 2) {
			total += pages_shared(&m, start, end);
			m = next;
		} else if (sscanf(line, "KernelPageSize: %" SCNu64 " kB", &m.page_kb) != 1) {
			(void)sscanf(line, "AnonHugePages: %" SCNu64 " kB", &m.huge_kb);
		}
	}
	if (smaps)
		fclose(smaps);
	return total + pages_shared(&m, start, end);
}
