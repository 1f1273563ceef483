/* SPDX-License-Identifier: BSD-2-Clause */
/* An application that runs EAL by itself: it is joined, and not started. Speaks TAP. */
#include <sched.h>
#include <stdio.h>

#include <rte_eal.h>
#include <rte_malloc.h>

#include "bsn_eal.h"

static int count;

static void verdict(bool is_right, const char *what)
{
	printf("%sok %d - %s\n", is_right ? "" : "not ", ++count, what);
}

int main(void)
{
	char *args[] = { (char[]){ "app" },
			 (char[]){ "--in-memory" },
			 (char[]){ "--no-pci" },
			 (char[]){ "--no-telemetry" },
			 (char[]){ "--log-level=lib.eal:error" },
			 NULL };
	const struct bsn_mem_request request = { .length = 1 << 20, .node = -1 };
	struct bsn_mem_block block;
	struct bsn_eal *eal = NULL, *again = NULL;

	if (rte_eal_init(5, args) < 0) {
		printf("1..0 # SKIP rte_eal_init() fails here\n");
		return 0;
	}
	verdict(!bsn_eal_open(&(struct bsn_eal_attr){ .joins_only = true }, &eal) && eal,
		"it is joined");
	verdict(bsn_eal_was_joined(eal), "and known as the application's");
	verdict(!bsn_eal_open(NULL, &again) && again == eal, "a second time, too");
	const struct bsn_mem_source *source = bsn_eal_source(eal);
	verdict(!source->alloc(source->arg, &request, &block), "its heap gives memory");
	verdict(rte_malloc_virt2iova(block.addr) != RTE_BAD_IOVA, "which is EAL's");
	source->release(source->arg, &block);
	verdict(!bsn_eal_close(eal) && !bsn_eal_close(again) && bsn_eal_close(eal) == -EINVAL,
		"it is closed as often as it was opened");
	printf("1..%d\n", count);
	return 0;
}
