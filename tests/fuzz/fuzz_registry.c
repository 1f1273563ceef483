/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arbitrary bytes as the memory of a process, which changes while it is read. Whatever they are,
 * nothing is read or written out of bounds (sanitizers tell), and the records are consistent
 * (otherwise this program aborts).
 *
 * The input is the memory, from an address on that is always the same, then the changes, then a
 * byte that chooses the user's options. A byte before the memory is skipped.
 */
#include <errno.h>
#include <string.h>

#include "../tools/fake_process.h"
#include "fuzz_live.h"

enum {
	BASE = 0x400000, /* as in tests/tools/crafted.py */
	CHANGES = 8,
	WAITS = 2,    /* looks after the first, with --follow */
	READS = 2000, /* then the process ends */
};

/* One byte of the memory gets another value before that read, of which the first is 1. */
struct change {
	uint8_t read, value;
	uint8_t at[2];
};

static struct {
	uint8_t *bytes;
	size_t size;
	struct change changes[CHANGES];
	unsigned reads;
} memory;

static int read_memory(struct target *target, uint64_t address, void *to, size_t bytes)
{
	target->has_ended = ++memory.reads > READS;
	if (target->has_ended)
		return target_fail(target, ESRCH, "it has ended");
	for (unsigned i = 0; i < CHANGES; i++) {
		const struct change *change = &memory.changes[i];
		const size_t at = change->at[0] | (size_t)change->at[1] << 8;

		if (change->read == memory.reads && at < memory.size)
			memory.bytes[at] = change->value;
	}
	if (address < BASE || address - BASE > memory.size ||
	    bytes > memory.size - (address - BASE))
		return target_fail(target, EFAULT, "not there");
	memcpy(to, memory.bytes + (address - BASE), bytes);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t rest = sizeof(memory.changes) + 1;
	struct live_attr attr = { .pid = 1 };

	if (size && *data != ELFMAG0) {
		data++;
		size--;
	}
	if (size <= rest)
		return 0;
	attr.follows = data[size - 1] & 1;
	fake.is_live = attr.follows || data[size - 1] & 2;
	fake.read = read_memory;
	fake.image = BASE;
	fake.waits = WAITS;
	if (data[size - 1] & 4)
		attr.qp = KNOWN(FUZZ_QPN);
	memory.size = size - rest;
	memory.reads = 0;
	memory.bytes = malloc(memory.size);
	MUST(memory.bytes);
	memcpy(memory.bytes, data, memory.size);
	memcpy(memory.changes, data + memory.size, sizeof(memory.changes));
	fuzz_live(&attr);
	free(memory.bytes);
	return 0;
}
