/* SPDX-License-Identifier: BSD-2-Clause */
/* What tests of layouts and mkeys share. */
#ifndef TESTS_ENGINE_MKEYS_H
#define TESTS_ENGINE_MKEYS_H

#include "harness.h"
#include "bsn_mkey.h"

static inline bool has_mkeys(const struct bench *b)
{
	return bench_info(b)->path == BSN_PATH_DIRECT;
}

/* A pool, or the test is skipped: a device may have no UMR. */
static inline struct bsn_mkey_pool *make_pool_of(struct bench *b,
						 const struct bsn_mkey_pool_attr *attr)
{
	struct bsn_mkey_pool *pool;
	const int err = bsn_mkey_pool_create(b->device, attr, &pool);

	if (err == -EOPNOTSUPP || err == -EPERM) {
		print_message("# %s\n", bsn_error_text());
		skip();
	}
	ok(err);
	undo_later(b, bsn_mkey_pool_destroy, pool);
	return pool;
}

#define new_mkey_pool(b, ...) make_pool_of(b, &(struct bsn_mkey_pool_attr){ __VA_ARGS__ })

static inline struct bsn_mkey_pool *make_pool(struct bench *b, uint32_t count,
					      uint32_t translations)
{
	return make_pool_of(b, &(struct bsn_mkey_pool_attr){ .count = count,
							     .max_translations = translations });
}

static inline struct bsn_mkey *take_mkey(struct bench *b, struct bsn_mkey_pool *pool)
{
	struct bsn_mkey *mkey;

	ok(bsn_mkey_take(pool, &mkey));
	undo_later(b, bsn_mkey_give, mkey);
	return mkey;
}

static inline struct bsn_layout_attr layout_of(const struct bsn_part *parts, uint32_t count,
					       uint32_t rounds)
{
	return (struct bsn_layout_attr){ .parts = parts, .part_count = count, .rounds = rounds };
}

/* Every 256 bytes 8 of end 0's memory, from the nth 8 on. */
static inline struct bsn_part column(struct bench *b, uint32_t n)
{
	return (struct bsn_part){
		.addr = b->mem[0]->addr + 8 * n, .bytes = 8, .stride = 256, .lkey = b->mem[0]->lkey
	};
}

/* All that was posted by end 0. */
static inline void complete_all(struct bench *b)
{
	ok(bsn_write(b->ep[0], SGE(b, 0, 0, 8), REMOTE(b, 1, 0), 9, NOW));
	expect_done(b, b->cq[0], 9, BSN_OPCODE_RDMA_WRITE);
}

/* Both ends anew, after one failed. */
static inline void connect_anew(struct bench *b)
{
	struct bsn_completion c[8];

	if (b->is_model)
		bench_settle(b);
	for (int end = 0; end < 2; end++) {
		while (bsn_poll(b->cq[end], c, 8) > 0)
			;
		ok(bsn_qp_reset(b->qp[end]));
	}
	bench_connect(b);
}

static inline struct bsn_layout *make_layout(struct bsn_mkey_pool *pool,
					     const struct bsn_part *parts, uint32_t count,
					     uint32_t rounds)
{
	const struct bsn_layout_attr attr = layout_of(parts, count, rounds);
	struct bsn_layout *layout;

	ok(bsn_layout_create(pool, &attr, &layout));
	return layout;
}

/* One that the bench destroys. */
static inline struct bsn_layout *keep_layout(struct bench *b, struct bsn_mkey_pool *pool,
					     const struct bsn_part *parts, uint32_t count,
					     uint32_t rounds)
{
	struct bsn_layout *layout = make_layout(pool, parts, count, rounds);

	undo_later(b, bsn_layout_destroy, layout);
	return layout;
}

/* A layout is made, and mapped; drop() undoes both. Neither is there after an error. */
static inline int try_map(struct bench *b, struct bsn_mkey_pool *pool, struct bsn_layout_attr attr,
			  unsigned flags, const struct bsn_map **map)
{
	struct bsn_layout *layout;
	int err = bsn_layout_create(pool, &attr, &layout);

	if (err)
		return err;
	err = bsn_layout_map(layout, b->ep[0], flags, map);
	if (err)
		ok(bsn_layout_destroy(layout));
	return err;
}

static inline void drop(const struct bsn_map *map)
{
	struct bsn_layout *const layout = map->layout;

	bsn_layout_unmap(map);
	ok(bsn_layout_destroy(layout));
}

/* Posts the UMR by which an mkey spans a layout that is not kept. */
static inline int configure_by(struct bench *b, struct bsn_mkey *mkey, struct bsn_mkey_pool *pool,
			       struct bsn_layout_attr attr, unsigned flags)
{
	struct bsn_layout *layout;
	int err = bsn_layout_create(pool, &attr, &layout);

	if (err)
		return err;
	err = bsn_mkey_configure(b->ep[0], mkey, layout, 7, flags);
	ok(bsn_layout_destroy(layout));
	return err;
}

/* It is refused so, by a text that has these words. */
static inline void refused(struct bench *b, struct bsn_mkey_pool *pool, int error, const char *text,
			   struct bsn_layout_attr layout)
{
	const struct bsn_map *map = NULL;

	assert_int_equal(try_map(b, pool, layout, 0, &map), -error);
	if (!strstr(bsn_error_text(), text))
		fail_msg("\"%s\" is not in: %s", text, bsn_error_text());
	assert_null(map);
}

#endif
