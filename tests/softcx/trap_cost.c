/* SPDX-License-Identifier: BSD-2-Clause */
/* What a trapped doorbell costs without a model: nanoseconds, the best of many rounds. */
#define _GNU_SOURCE 1
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "shim/trap.h"

enum { ROUNDS = 50, STORES = 1000 };

static unsigned reports;

static void on_store(void *context, uint32_t page, uint32_t offset, const void *data, uint32_t size)
{
	(void)context, (void)page, (void)offset, (void)data, (void)size;
	reports++;
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void ring(volatile uint64_t *uar, const uint64_t *from)
{
	*uar = *from;
}

static void copy_block(volatile uint64_t *uar, const uint64_t *from)
{
	/* Written out as in libmlx5, since the branch of a loop would end the absorbing. */
	uar[0] = from[0];
	uar[1] = from[1];
	uar[2] = from[2];
	uar[3] = from[3];
	uar[4] = from[4];
	uar[5] = from[5];
	uar[6] = from[6];
	uar[7] = from[7];
}

static void measure(const char *what, enum trap_mode mode,
		    void (*store)(volatile uint64_t *, const uint64_t *), volatile uint64_t *uar)
{
	static const uint64_t wqe[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	double best = 1e18;

	trap_set_mode(mode);
	reports = 0;
	for (unsigned r = 0; r < ROUNDS; r++) {
		double begin = now_ns(), each;
		for (unsigned k = 0; k < STORES; k++)
			store(uar, wqe);
		each = (now_ns() - begin) / STORES;
		best = each < best ? each : best;
	}
	printf("%-28s %8.0f ns, %.2f reports\n", what, best, (double)reports / ROUNDS / STORES);
}

int main(void)
{
	const struct trap_listener listener = { .report = on_store };
	int fd = memfd_create("uar", MFD_CLOEXEC);
	volatile uint64_t *uar;

	if (fd < 0 || ftruncate(fd, TRAP_PAGE_BYTES) ||
	    trap_install(fd, 0, TRAP_PAGE_BYTES, TRAP_EXACT, &listener))
		return 1;
	uar = mmap(NULL, TRAP_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (uar == MAP_FAILED || trap_cover(0))
		return 1;
	uar += 0x800 / sizeof(*uar);
	measure("8 B doorbell, exact", TRAP_EXACT, ring, uar);
	measure("8 B doorbell, absorb", TRAP_ABSORB, ring, uar);
	measure("64 B by 8 x 8 B, exact", TRAP_EXACT, copy_block, uar);
	measure("64 B by 8 x 8 B, absorb", TRAP_ABSORB, copy_block, uar);
	return 0;
}
