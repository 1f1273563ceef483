/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What unsignaled posts cost more where the library signals each, each second, fourth or sixteenth of them than where it
 * signals none. tests/engine/more.py counts the instructions of each function here.
 */
#include "fake.h"

enum { TIMES = 64, RING = 512, INLINE = 64 };

static const uint8_t data[INLINE];
static struct bsn_prepared request;
static const struct bsn_remote to = { 0x1000, 3 };
static struct bsn_sge sge[4] = { { 0x2000, 8, 1 }, { 0x3000, 8, 1 }, { 0x4000, 8, 1 }, { 0x5000, 8, 1 } };

/* Valgrind finds the functions by these names. */
#define COUNTED __attribute__((noinline, visibility("default")))
#define EACH_TURN(X, name, ...)                                                                    \
	X(name##_none, __VA_ARGS__)                                                                \
	X(name##_1, __VA_ARGS__)                                                                   \
	X(name##_2, __VA_ARGS__)                                                                   \
	X(name##_4, __VA_ARGS__)                                                                   \
	X(name##_16, __VA_ARGS__)
static const int turns[] = { -1, 1, 2, 4, 16 };
#define TURNS (sizeof(turns) / sizeof(turns[0]))

#define POST(name, ...)                                                                            \
	int name(struct bsn_ep *ep, uint64_t id, unsigned flags);                                  \
	COUNTED int name(struct bsn_ep *ep, uint64_t id, unsigned flags)                           \
	{                                                                                          \
		(void)ep;                                                                          \
		(void)id;                                                                          \
		(void)flags;                                                                       \
		return __VA_ARGS__;                                                                \
	}
#define NAME(name, ...) name,
#define REQUESTS(X, to_whom, flags)                                                                \
	X(to_whom##write, bsn_write(ep, sge, &to, id, flags))                                      \
	X(to_whom##write_imm, bsn_write_imm(ep, sge, &to, 7, id, flags))                           \
	X(to_whom##read, bsn_read(ep, sge, &to, id, flags))                                        \
	X(to_whom##write_sge2, bsn_write_sgl(ep, sge, 2, &to, id, flags))                          \
	X(to_whom##write_sge4, bsn_write_sgl(ep, sge, 4, &to, id, flags))                          \
	X(to_whom##write_inline, bsn_write_inline(ep, data, 8, &to, id, flags))                    \
	X(to_whom##write_inline64, bsn_write_inline(ep, data, INLINE, &to, id, flags))             \
	X(to_whom##write_prepared, bsn_post_prepared(ep, &request, id, flags))                     \
	X(to_whom##send, bsn_send(ep, sge, id, flags))                                             \
	X(to_whom##send_sge2, bsn_send_sgl(ep, sge, 2, id, flags))                                 \
	X(to_whom##send_inline, bsn_send_inline(ep, data, 8, id, flags))                           \
	X(to_whom##fetch_add, bsn_fetch_add(ep, sge, &to, 7, id, flags))                           \
	X(to_whom##cmp_swap, bsn_cmp_swap(ep, sge, &to, 7, 8, id, flags))
#define MESSAGES(X, to_whom, flags)                                                                \
	X(to_whom##send, bsn_send(ep, sge, id, flags))                                             \
	X(to_whom##send_sge2, bsn_send_sgl(ep, sge, 2, id, flags))                                 \
	X(to_whom##send_inline, bsn_send_inline(ep, data, 8, id, flags))                           \
	X(to_whom##send_inline64, bsn_send_inline(ep, data, INLINE, id, flags))
#define POSTS(name, ...) EACH_TURN(POST, name, __VA_ARGS__)
REQUESTS(POSTS, one_, 0)
REQUESTS(POSTS, one_rung_, BSN_F_RING)
REQUESTS(POSTS, one_flags_, flags)
REQUESTS(POSTS, peer_, 0)
REQUESTS(POSTS, peer_rung_, BSN_F_RING)
MESSAGES(POSTS, ud_, 0)
MESSAGES(POSTS, ud_rung_, BSN_F_RING)

/* By which the functions are called that know no flags, of a compiler that knows no more of them. */
static volatile unsigned no_flags;

typedef int post(struct bsn_ep *ep, uint64_t id, unsigned flags);
POST(nothing, 0)

#define ROW(name, ...) { EACH_TURN(NAME, name, ) },
static post *const to_one[][TURNS] = { REQUESTS(ROW, one_, ) REQUESTS(ROW, one_rung_, ) REQUESTS(ROW, one_flags_, ) };
static post *const to_peer[][TURNS] = { REQUESTS(ROW, peer_, ) REQUESTS(ROW, peer_rung_, ) };
static post *const to_ud[][TURNS] = { MESSAGES(ROW, ud_, ) MESSAGES(ROW, ud_rung_, ) };

static void run(struct fake *f, struct bsn_ep *ep, post *const (*posts)[TURNS], size_t count, size_t turn)
{
	for (size_t i = 0; i < count; i++) {
		fake_seek(f, 0);
		f->sq->quiet = f->sq->signal_every;
		for (unsigned id = 0; id < TIMES; id++)
			if (posts[i][turn](ep, id, no_flags))
				abort();
	}
}

static void run_all(enum bsn_transport transport, post *const (*posts)[TURNS], size_t count)
{
	const struct bsn_wr write = { .opcode = BSN_OPCODE_RDMA_WRITE, .sge = sge, .sge_count = 1, .remote = to };
	static const uint8_t rest[2 * BSN_DS_SIZE];

	for (size_t turn = 0; turn < TURNS; turn++) {
		const struct fake_attr attr = { .transport = transport,
						.has_peers = transport != BSN_TRANSPORT_RC,
						.max_ds = 20,
						.count_bb = RING,
						.signal_every = turns[turn] };
		struct fake *f = fake_create(&attr);
		struct bsn_peer peer = { .ep = { f->sq }, .more = rest, .ctrl_bits = bsn_signaled_bits(),
					 .prefix_ds = transport == BSN_TRANSPORT_UD ? 3 : 1 };
		struct bsn_ep *ep = attr.has_peers ? &peer.ep : &f->ep;

		if (transport != BSN_TRANSPORT_UD && bsn_prepare(ep, &write, &request))
			abort();
		run(f, ep, posts, count, turn);
		fake_destroy(f);
	}
}

int main(void)
{
	post *volatile const none = nothing; /* else it would not be called */

	for (unsigned id = 0; id < TIMES; id++)
		none(NULL, id, no_flags);
	run_all(BSN_TRANSPORT_RC, to_one, sizeof(to_one) / sizeof(to_one[0]));
	run_all(BSN_TRANSPORT_DC, to_peer, sizeof(to_peer) / sizeof(to_peer[0]));
	run_all(BSN_TRANSPORT_UD, to_ud, sizeof(to_ud) / sizeof(to_ud[0]));
	return 0;
}
