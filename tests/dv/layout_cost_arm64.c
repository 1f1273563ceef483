/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Configures an mkey so many times by a layout of 32 parts that is looked at each time, a list or a repeat block, or
 * does nothing as often: layout_cost_arm64.py counts the instructions of all three. Pool and device are made by hand,
 * since QEMU has no device.
 */
#include "fake.h"

#undef fail /* cmocka has one */
#include "mem/mkey.h"

enum { PARTS = 32, KEY = 0x1200, MEMORY_KEY = 0x345600, STEP = 4096, BLOCK = 64, MOST = 100 };

static uint8_t memory[PARTS * STEP];

static struct bsn_mkey_pool *make_pool(struct bsn_device *device)
{
	struct bsn_mkey_pool *const pool = calloc(1, sizeof(*pool));

	assert_non_null(pool);
	pool->device = device;
	pool->attr.max_translations = UMR_INLINE_MAX;
	pool->max_plain_parts = UMR_INLINE_MAX - 1;
	pool->max_quick_parts = pool->max_plain_parts - UMR_ORDERED_FROM + 1;
	pool->max_many_parts = pool->max_plain_parts - UMR_FEW;
	pool->memory[0] = pool->memory[1] = (struct umr_memory){
		(uintptr_t)memory, (uintptr_t)memory + sizeof(memory) - 1, MEMORY_KEY, false, &pool->order
	};
	pool->wanted[0] = pool->wanted[1] = umr_wanted_of(&pool->memory[0], 0);
	map_choose(pool);
	return pool;
}

static void make_slot(struct mkey_object *slot, struct bsn_mkey_pool *pool, struct bsn_sq *sq)
{
	*slot = (struct mkey_object){ .pool = pool,
				      .target = umr_target_of(KEY, IBV_ACCESS_LOCAL_WRITE, false,
							      BSN_FENCE_SMALL_AND_FENCE),
				      .quick_sq = sq,
				      .state = BSN_MKEY_READY,
				      .depth = 1 };
}

int main(int argc, char **argv)
{
	struct fake *const f = fake_create(&(struct fake_attr){ .count_bb = 2048, .max_ds = UMR_HEAD_DS + UMR_INLINE_MAX });
	struct bsn_device *const device = calloc(1, sizeof(*device));
	struct bsn_mkey_pool *const pool = make_pool(device);
	unsigned count = argc == 3 ? (unsigned)atoi(argv[2]) : 0;
	const bool does_nothing = argc != 3 || !strcmp(argv[1], "nothing");
	struct bsn_layout layout = { .part_count = PARTS, .rounds = 1 };
	struct bsn_part parts[PARTS];
	struct mkey_object slot;

	if (argc == 3 && !strcmp(argv[1], "entries"))
		layout.rounds = 16;
	layout.parts = parts;
	for (unsigned i = 0; i < PARTS; i++)
		parts[i] = (struct bsn_part){ .addr = (uintptr_t)memory + i * (layout.rounds > 1 ? BLOCK : STEP),
					      .bytes = BLOCK,
					      .stride = STEP,
					      .lkey = MEMORY_KEY };
	make_slot(&slot, pool, f->sq);
	for (unsigned i = 0; i < count && i < MOST; i++) {
		BSN_HIDE(count);
		if (!does_nothing && bsn_mkey_configure(&f->ep, &slot.pub, &layout, i, BSN_F_SIGNALED | BSN_F_RING))
			abort();
	}
	if (!does_nothing && slot.pub.length != (uint64_t)layout.rounds * PARTS * BLOCK)
		abort();
	free(pool);
	free(device);
	fake_destroy(f);
	return 0;
}
