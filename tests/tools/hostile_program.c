/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process whose list of queues means harm. usage: hostile_program QUEUES KIND SLOTS STRIDE
 * [changes]
 *
 * All rings are in the same memory, which is mapped and has no pages; without SLOTS there are no
 * rings. With "changes" the list seems to change all the time. Prints a line when it is there, and
 * waits until it is killed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <signal.h>
#include <unistd.h>

#include "bsn.h"
#include "bsn_registry.h"

enum { QPN = 0x100 };

extern struct bsn_registry hostile_registry;
struct bsn_registry hostile_registry __attribute__((used)) = {
	.magic = BSN_REGISTRY_MAGIC,
	.version = BSN_REGISTRY_VERSION,
	.layout_version = BSN_LAYOUT_VERSION,
};

__asm__(".pushsection .note.bunsen, \"a\", %note\n"
	".balign 4\n"
	".long 2f - 1f, 4f - 3f, 1\n"
	"1: .asciz \"" BSN_REGISTRY_NOTE_NAME "\"\n"
	"2: .balign 4\n"
	"3: .quad hostile_registry - 3b\n"
	"4: .popsection\n");

static uint64_t address(const void *pointer)
{
	return (uintptr_t)pointer;
}

int main(int argc, char **argv)
{
	static const uint64_t zero[1];
	const size_t count = argc > 4 ? strtoul(argv[1], NULL, 0) : 0;
	struct bsn_registry_queue *const queues = calloc(count, sizeof(*queues));
	void *const ring = mmap(NULL, 1ul << 30, PROT_READ,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (!count || !queues || ring == MAP_FAILED)
		return 2;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 0; i < count; i++) {
		queues[i] = (struct bsn_registry_queue){
			.next = i + 1 < count ? address(&queues[i + 1]) : 0,
			.kind = (uint32_t)strtoul(argv[2], NULL, 0),
			.number = QPN + (uint32_t)i,
			.count = (uint32_t)strtoul(argv[3], NULL, 0),
			.stride_bytes = (uint32_t)strtoul(argv[4], NULL, 0),
			.record = address(zero),
			.producer = address(zero),
			.consumer = address(zero),
			.start = address(zero),
			.lap = address(zero),
		};
		queues[i].used = queues[i].count;
		queues[i].ring = queues[i].count ? address(ring) : 0;
		memset(queues[i].device, 0x1b, sizeof(queues[i].device));
	}
	hostile_registry.first = address(queues);
	hostile_registry.queue_count = count;
	hostile_registry.self = address(&hostile_registry);
	puts("here");
	fflush(stdout);
	while (argc > 5) { /* more often than the list can be read */
		__atomic_fetch_add(&hostile_registry.generation, 2, __ATOMIC_RELAXED);
		usleep(20);
	}
	pause();
	return 0;
}
