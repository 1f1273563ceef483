/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What inline data of a length that the compiler knows cost, beside the same of a length that it does not know: never
 * more. tests/engine/more.py counts the instructions of each function here.
 */
#include "fake.h"

enum { TIMES = 16, RING = 16 };

/* Valgrind finds the functions by these names. */
#define COUNTED __attribute__((noinline, visibility("default")))
#define FLAGS   (BSN_F_SIGNALED | BSN_F_RING)
#define LENGTHS(X) X(8) X(12) X(16) X(28) X(32) X(44) X(48) X(60) X(64) X(76) X(96) X(128) X(172) X(192)

static const uint8_t data[256];
static const struct bsn_remote to = { 0x1000, 3 };
static struct fake *f;

#define KNOWN(n)                                                                                   \
	int write_known_##n(uint64_t id);                                                          \
	int send_known_##n(uint64_t id);                                                           \
	int write_unknown_##n(uint32_t length, uint64_t id);                                       \
	int send_unknown_##n(uint32_t length, uint64_t id);                                        \
	COUNTED int write_known_##n(uint64_t id)                                                   \
	{                                                                                          \
		return bsn_write_inline(&f->ep, data, n, &to, id, FLAGS);                          \
	}                                                                                          \
	COUNTED int send_known_##n(uint64_t id)                                                    \
	{                                                                                          \
		return bsn_send_inline(&f->ep, data, n, id, FLAGS);                                \
	}                                                                                          \
	COUNTED int write_unknown_##n(uint32_t length, uint64_t id)                                \
	{                                                                                          \
		return bsn_write_inline(&f->ep, data, length, &to, id, FLAGS);                     \
	}                                                                                          \
	COUNTED int send_unknown_##n(uint32_t length, uint64_t id)                                 \
	{                                                                                          \
		return bsn_send_inline(&f->ep, data, length, id, FLAGS);                           \
	}
LENGTHS(KNOWN)

int main(void)
{
	volatile uint32_t length;

	f = fake_create(&(struct fake_attr){ .count_bb = RING });
	for (unsigned times = 0; times < TIMES; times++) {
#define POST(n)                                                                                    \
	length = n;                                                                                \
	fake_seek(f, 0);                                                                           \
	if (write_known_##n(times) || send_known_##n(times))                                       \
		abort();                                                                           \
	fake_seek(f, 0);                                                                           \
	if (write_unknown_##n(length, times) || send_unknown_##n(length, times))                   \
		abort();
		LENGTHS(POST)
	}
	fake_destroy(f);
	return 0;
}
