/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks and adds up the lengths and addresses of a layout. */
#include "layout.h"

static int too_far(const struct bsn_part *part, uint32_t rounds)
{
	return fail(EOVERFLOW,
		    "a part of the layout ends beyond 64 bits: from 0x%llx on, %u times %llu bytes",
		    (unsigned long long)part->addr, rounds,
		    (unsigned long long)(rounds > 1 ? part->stride : part->bytes));
}

static struct layout_memory *add_memory(struct making *m, const struct bsn_part *part)
{
	struct layout_memory *const memory = &m->memory[m->memory_count++];

	*memory = (struct layout_memory){ .first = part->addr, .lkey = part->lkey };
	return memory;
}

/* Finds the memory of a part: usually that of the part before, or of the one before that. */
BSN_ALWAYS_INLINE void find_memory(struct making *m, const struct bsn_part *part,
				   struct layout_memory **memory, struct layout_memory **other)
{
	struct layout_memory *const before = *memory;

	if (BSN_LIKELY(before->lkey == part->lkey))
		return;
	*memory = (*other)->lkey == part->lkey ? *other : layout_memory_of(m, part->lkey);
	if (!*memory)
		*memory = add_memory(m, part);
	*other = before;
}

static int blocks_overlap(const struct bsn_part *part)
{
	return fail(ENOTUNIQ,
		    "blocks of a part overlap: they have %llu bytes, and begin %llu apart",
		    (unsigned long long)part->bytes, (unsigned long long)part->stride);
}

static int too_long(void)
{
	return fail(EOVERFLOW, "the layout has more than 2^64 bytes");
}

/* Refuses a part that is empty, or whose last block ends beyond 64 bits. */
static int bad_end(const struct bsn_part *part, uint32_t rounds)
{
	if (!part->bytes)
		return fail(ENODATA, "a part of the layout is empty: leave it out");
	return too_far(part, rounds);
}

/* @has_rounds: there are several rounds */
BSN_ALWAYS_INLINE int measure_parts(struct making *m, bool has_rounds)
{
	const struct bsn_part *const last = m->parts + m->part_count;
	const uint64_t more_rounds = m->rounds - 1, first_stride = m->parts->stride;
	struct layout_memory *memory = add_memory(m, m->parts), *other = memory;
	uint64_t bytes = 0, longest = 0, strides = 0;

	for (const struct bsn_part *part = m->parts; part != last; part++) {
		const uint64_t round_end = part->addr + part->bytes;
		uint64_t end;
		if (round_end <= part->addr)
			return bad_end(part, m->rounds);
		if (part->reserved)
			return fail(EINVAL,
				    "a part's reserved field is not 0: was it initialized?");
		if (has_rounds && part->stride < part->bytes)
			return blocks_overlap(part);
		find_memory(m, part, &memory, &other);
		if (BSN_LIKELY(part->addr >= memory->round_end)) {
			memory->round_end = round_end;
		} else {
			m->ascends = false;
			if (part->addr < memory->first)
				memory->first = part->addr;
			if (round_end > memory->round_end)
				memory->round_end = round_end;
		}
		bytes += part->bytes;
		if (bytes < part->bytes)
			return too_long();
		longest |= has_rounds ? part->stride : part->bytes;
		if (!has_rounds)
			continue;
		strides |= part->stride ^ first_stride;
		if (__builtin_mul_overflow(more_rounds, part->stride, &end) ||
		    __builtin_add_overflow(end, round_end, &end))
			return too_far(part, m->rounds);
		if (end > memory->end)
			memory->end = end;
	}
	m->longest = longest;
	m->strides = strides;
	m->bytes = bytes;
	return 0;
}

uint64_t layout_blocks(const struct making *m, uint64_t most)
{
	uint64_t blocks = m->part_count;

	if (m->longest > most)
		for (uint32_t i = 0; i < m->part_count; i++)
			blocks += (m->parts[i].bytes - 1) / most;
	return blocks * m->rounds; /* fewer than its bytes */
}

int layout_measure(struct making *m)
{
	int err = m->rounds == 1 ? measure_parts(m, false) : measure_parts(m, true);

	if (err)
		return err;
	if (__builtin_mul_overflow(m->bytes, m->rounds, &m->bytes))
		return too_long();
	for (uint32_t i = 0; m->rounds == 1 && i < m->memory_count; i++)
		m->memory[i].end = m->memory[i].round_end;
	return 0;
}
