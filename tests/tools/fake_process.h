/* SPDX-License-Identifier: BSD-2-Clause */
/* A process in the place of wqe-dump's own, by the linker: what opens it, and what waits for it. */
#ifndef TESTS_TOOLS_FAKE_PROCESS_H
#define TESTS_TOOLS_FAKE_PROCESS_H

#include "wqe-dump/live/target.h"

static struct {
	int (*read)(struct target *target, uint64_t from, void *to, size_t bytes);
	uint64_t image;
	bool is_live;
	unsigned waits; /* looks after the first, with --follow; then it ends */
} fake;

int __wrap_target_open_process(struct target *target, long pid);
bool __wrap_target_wait(struct target *target, int ms);

int __wrap_target_open_process(struct target *target, long pid)
{
	(void)pid;
	*target = (struct target){
		.name = "test", .is_live = fake.is_live, .read = fake.read, .pidfd = -1
	};
	target_add_image(target, fake.image);
	return 0;
}

bool __wrap_target_wait(struct target *target, int ms)
{
	(void)ms;
	target->has_ended = !fake.waits;
	fake.waits -= !!fake.waits;
	return !target->has_ended;
}

#endif
