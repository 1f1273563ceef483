/* SPDX-License-Identifier: BSD-2-Clause */
/* Inline data of every length. */
#include <sys/mman.h>

#include "requests.h"

static void post_every_length(struct fake *f, unsigned mode)
{
	static const uint32_t with[] = { BSN_OPCODE_SEND, BSN_OPCODE_SEND_IMM,
					 BSN_OPCODE_RDMA_WRITE, BSN_OPCODE_RDMA_WRITE_IMM };
	const bool is_first = mode == 4 * BSN_STORE_8;

	for (uint32_t length = 0; length <= FAR_INLINE; length++)
		for (unsigned i = 0; i < 4; i++) {
			const struct bsn_wr wr = inline_request(with[i], length, BSN_F_RING);
			/* all in the first mode; at the ring's end in the others */
			for (uint32_t pos = is_first ? 0 : 15 - length % 4; pos < RING_BB;
			     pos += is_first ? 1 : 4)
				post_at(f, NULL, &wr, pos);
		}
}

/* Inline data of every length, by the short way and the long, wherever it stands and wraps. */
static void inline_data_of_every_length(void **state)
{
	const struct fake_attr attr = { .count_bb = RING_BB,
					.max_inline = FAR_INLINE,
					.max_ds = 32 };

	in_each_mode(attr, post_every_length);
}

/* A length that the compiler knows, in registers or not, gives the bytes of an unknown one. */
#define KNOWN_LENGTHS(X)                                                                           \
	X(13) X(15) X(28) X(29) X(45) X(76) X(124) X(140)                                          \
	X(141) X(172) X(173) X(188) X(189) X(200) X(236)
static void lengths_that_the_compiler_knows(void **state)
{
	OWNED struct fake *f = FAKE(.count_bb = RING_BB, .max_inline = FAR_INLINE, .max_ds = 32);
	volatile uint32_t hidden;
	uint8_t known[512];

#define POST(length)                                                                               \
	hidden = length;                                                                           \
	fake_seek(f, 0);                                                                           \
	ok(bsn_write_inline(&f->ep, payload, length, &remote, 7, BSN_F_RING));                     \
	memcpy(known, f->sq_ring, sizeof(known));                                                  \
	fake_seek(f, 0);                                                                           \
	ok(bsn_write_inline(&f->ep, payload, hidden, &remote, 7, BSN_F_RING));                     \
	assert_memory_equal(known + 8, f->sq_ring + 8, 24 + BSN_INLINE_HDR_SIZE + (length));       \
	assert_memory_equal(known + 36, payload, length);
	KNOWN_LENGTHS(POST)
#undef POST
}

/* Known and unknown lengths, with the flags that have functions of their own. */
static void post_at_the_edge(struct fake *f, struct bsn_ep *ep, const uint8_t *data,
			     uint32_t length)
{
#define POST_OF(length, flags)                                                                     \
	fake_seek(f, 0);                                                                           \
	ok(bsn_write_inline(ep, data, length, &remote, 1, flags));                                 \
	ok(bsn_send_inline(ep, data, length, 1, flags));
#define POST_IF(known)                                                                             \
	if (length == (known)) {                                                                   \
		POST_OF(known, 0)                                                                  \
		POST_OF(known, BSN_F_SIGNALED | BSN_F_RING)                                        \
	}
	POST_OF(length, 0)
	POST_OF(length, BSN_F_SIGNALED | BSN_F_RING)
	POST_IF(7) POST_IF(8) POST_IF(12) POST_IF(15)
	KNOWN_LENGTHS(POST_IF)
#undef POST_IF
#undef POST_OF
}

/* The last bytes before memory that nobody may read, and the first ones after such memory. */
static void inline_data_are_not_read_beyond(void **state)
{
	uint8_t *pages = mmap(NULL, 3 * FAKE_PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct fake *one = FAKE(.max_inline = FAR_INLINE, .max_ds = 32);
	OWNED struct fake *many = FAKE(.transport = BSN_TRANSPORT_DC, .has_peers = true,
				       .max_inline = FAR_INLINE, .max_ds = 32);

	make_peers(many);
	assert_ptr_not_equal(pages, MAP_FAILED);
	ok(mprotect(pages, FAKE_PAGE, PROT_NONE));
	ok(mprotect(pages + 2 * FAKE_PAGE, FAKE_PAGE, PROT_NONE));
	for (uint32_t length = 1; length <= FAR_INLINE; length++)
		for (int at_end = 0; at_end < 2; at_end++) {
			uint8_t *data = pages + FAKE_PAGE + (at_end ? FAKE_PAGE - length : 0);
			memcpy(data, payload, length);
			post_at_the_edge(one, &one->ep, data, length);
			for (unsigned i = 0; i < PEERS; i++)
				post_at_the_edge(many, &peers[i].ep, data, length);
		}
	munmap(pages, 3 * FAKE_PAGE);
	fake_destroy(one);
}

/* Lengths whose high bit, or those of what a unit leaves, could be taken for a sign. */
static void huge_inline_data_are_refused(void **state)
{
	static const uint32_t lengths[] = { 0x7fffffff, 0x80000000, 0x8000000c, 0x8000000d,
					    0x80000010, 0xfffffff8, 0xffffffff };
	static const unsigned posted[] = { BSN_OPCODE_RDMA_WRITE, BSN_OPCODE_RDMA_WRITE_IMM,
					   BSN_OPCODE_SEND, BSN_OPCODE_SEND_IMM };
	OWNED struct fake *one = FAKE(0);
	const struct fake_attr attr = many_peers(BSN_TRANSPORT_DC);
	OWNED struct fake *many = fake_create(&attr);

	make_peers(many);
	for (size_t i = 0; i < 4 * sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct bsn_sge sge = { (uintptr_t)payload, lengths[i / 4], 0 };
		const struct bsn_wr wr = {
			.opcode = posted[i % 4], .remote = remote, .sge = &sge, .sge_count = 1
		};

		for (unsigned flags = 0; flags < 2; flags++) {
			const unsigned rung = flags ? BSN_F_SIGNALED | BSN_F_RING : 0;
			assert_int_equal(post_short_inline(&one->ep, &wr, rung), -EMSGSIZE);
			for (unsigned k = 0; k < PEERS; k++)
				assert_int_equal(post_short_inline(&peers[k].ep, &wr, rung),
						 -EMSGSIZE);
		}
	}
	assert_poison(one->page, FAKE_PAGE);
	assert_poison(many->page, FAKE_PAGE);
}

UNIT_MAIN(requests_set_up, UNIT(inline_data_of_every_length), UNIT(lengths_that_the_compiler_knows),
	  UNIT(inline_data_are_not_read_beyond), UNIT(huge_inline_data_are_refused))
