/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a post costs more at the ring's end. tests/engine/more.py counts the instructions of each
 * function here. One of one block finds the ring's end before it; one of two has a block at each
 * end.
 */
#include "fake.h"

enum { TIMES = 16, RING = 16, INLINE = 64 };

/* Valgrind finds the functions by these names. */
#define COUNTED __attribute__((noinline, visibility("default")))
#define POSTS(name, ...)                                                                           \
	int name##_inside(struct bsn_ep *ep, uint64_t id);                                         \
	int name##_at_end(struct bsn_ep *ep, uint64_t id);                                         \
	COUNTED int name##_inside(struct bsn_ep *ep, uint64_t id)                                  \
	{                                                                                          \
		return __VA_ARGS__;                                                                \
	}                                                                                          \
	COUNTED int name##_at_end(struct bsn_ep *ep, uint64_t id)                                  \
	{                                                                                          \
		return __VA_ARGS__;                                                                \
	}

static const uint8_t data[INLINE];
static struct bsn_prepared request;
static const struct bsn_remote to = { 0x1000, 3 };
static struct bsn_sge sge[4] = { { 0x2000, 8, 1 }, { 0x3000, 8, 1 }, { 0x4000, 8, 1 }, { 0x5000, 8, 1 } };

#define FLAGS (BSN_F_SIGNALED | BSN_F_RING)
POSTS(sge, bsn_write(ep, sge, &to, id, FLAGS))
POSTS(sge4, bsn_write_sgl(ep, sge, 4, &to, id, FLAGS))
POSTS(inline8, bsn_write_inline(ep, data, 8, &to, id, FLAGS))
POSTS(inline64, bsn_write_inline(ep, data, INLINE, &to, id, FLAGS))
POSTS(prepared, bsn_post_prepared(ep, &request, id, FLAGS))
POSTS(sge4_first, bsn_write_sgl(ep, sge, 4, &to, id, FLAGS))
POSTS(inline64_first, bsn_write_inline(ep, data, INLINE, &to, id, FLAGS))

static const struct {
	int (*inside)(struct bsn_ep *ep, uint64_t id), (*at_end)(struct bsn_ep *ep, uint64_t id);
	unsigned before; /* blocks between it and the ring's end */
	unsigned after;  /* where it ends */
} posts[] = {
	{ sge_inside, sge_at_end, 0, 1 },
	{ inline8_inside, inline8_at_end, 0, 1 },
	{ prepared_inside, prepared_at_end, 0, 1 },
	{ sge4_inside, sge4_at_end, 1, 1 },
	{ inline64_inside, inline64_at_end, 1, 1 },
	{ sge4_first_inside, sge4_first_at_end, 0, 2 },
	{ inline64_first_inside, inline64_first_at_end, 0, 2 },
};

static void run(struct fake *f, unsigned i)
{
	int bad;

	for (unsigned times = 0; times < TIMES; times++) {
		fake_seek(f, 4);
		bad = posts[i].inside(&f->ep, times);
		fake_seek(f, RING - 1);
		bad |= posts[i].before ? 0 : bsn_write(&f->ep, sge, &to, 0, FLAGS);
		bad |= posts[i].at_end(&f->ep, times);
		if (bad || f->sq->slot != f->sq->ring + posts[i].after * BSN_BB_SIZE)
			abort();
	}
}

int main(void)
{
	struct fake *f = fake_create(&(struct fake_attr){ .count_bb = RING });
	const struct bsn_wr write = { .opcode = BSN_OPCODE_RDMA_WRITE, .sge = sge, .sge_count = 1, .remote = to };

	if (bsn_prepare(&f->ep, &write, &request))
		abort();
	for (unsigned i = 0; i < sizeof(posts) / sizeof(posts[0]); i++)
		run(f, i);
	fake_destroy(f);
	return 0;
}
