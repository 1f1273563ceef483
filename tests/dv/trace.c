/* SPDX-License-Identifier: BSD-2-Clause */
#include "trace.h"

enum letter {
	LOCK = BSN_ORDER_WC_FLUSH + 1,
	UNLOCK,
	LETTERS,
};

static const char letter_of[LETTERS] = {
	[BSN_ORDER_WQE] = 'W',
	[BSN_ORDER_RECORD] = 'R',
	[BSN_ORDER_MMIO] = 'M',
	[BSN_ORDER_TO_DEVICE] = 'd',
	[BSN_ORDER_FROM_DEVICE] = 'f',
	[BSN_ORDER_WC_START] = 's',
	[BSN_ORDER_WC_FLUSH] = 'x',
	[LOCK] = '(',
	[UNLOCK] = ')',
};

struct trace_event trace_events[TRACE_EVENTS];
unsigned trace_count;
void (*trace_on_event)(unsigned kind);
static char word[TRACE_EVENTS];

static void note(unsigned kind, const volatile void *addr, unsigned bytes)
{
	const uint8_t *at = (const uint8_t *)(uintptr_t)addr;

	if (trace_count < sizeof(trace_events) / sizeof(*trace_events))
		trace_events[trace_count++] = (struct trace_event){ kind, at, bytes };
	if (trace_on_event)
		trace_on_event(kind);
}

void bsn_order_event(enum bsn_order_kind kind, const volatile void *addr, unsigned bytes)
{
	note(kind, addr, bytes);
}

/* Replaces libc's: a test of one thread never waits. */
int pthread_spin_lock(pthread_spinlock_t *lock)
{
	note(LOCK, lock, 0);
	return 0;
}

int pthread_spin_unlock(pthread_spinlock_t *lock)
{
	note(UNLOCK, lock, 0);
	return 0;
}

void trace_start(void)
{
	trace_count = 0;
}

const char *trace_word(const char *folded)
{
	unsigned n = 0;

	for (unsigned i = 0; i < trace_count; i++) {
		const char letter = letter_of[trace_events[i].kind];
		if (!n || word[n - 1] != letter || !strchr(folded, letter))
			word[n++] = letter;
	}
	word[n] = 0;
	return word;
}

static bool is_whole(unsigned bytes, unsigned each)
{
	return each == TRACE_MIXED ? bytes == 8 || bytes == 16 : bytes == each;
}

void trace_assert_stores(const uint8_t *reg, unsigned total, unsigned each)
{
	unsigned done = 0;

	for (unsigned i = 0; i < trace_count; i++) {
		if (trace_events[i].kind != BSN_ORDER_MMIO)
			continue;
		assert_ptr_equal(trace_events[i].addr, reg + done);
		assert_true(is_whole(trace_events[i].bytes, each));
		assert_int_equal((uintptr_t)trace_events[i].addr % trace_events[i].bytes, 0);
		done += trace_events[i].bytes;
	}
	assert_int_equal(done, total);
}

/* An index alone: the low half of the word, in big endian the last two bytes. */
void trace_assert_index(const struct trace_event *event, const struct bsn_be32 *record)
{
	assert_ptr_equal(event->addr, (const uint8_t *)record + 2);
	assert_int_equal(event->bytes, 2);
}

static bool is_in_ring(const struct fake *f, const uint8_t *at)
{
	return at >= f->sq_ring && at < f->sq_ring + f->sq_bytes;
}

/*
 * Every store into the ring lies in the blocks from @pi to @end, and the record is the SQ's. Near
 * the ring's end a WQE may be built elsewhere: it is copied, or turns out to be shorter, as a list
 * with empty pieces is.
 */
static void assert_targets(const struct fake *f, uint32_t pi, uint32_t end)
{
	const bool may_wrap = (pi & dv_sq(f->sq)->bb_mask) + bsn_bb_of_ds(dv_sq(f->sq)->max_ds) >
			      dv_sq(f->sq)->bb_mask + 1;

	for (unsigned i = 0; i < trace_count; i++) {
		if (trace_events[i].kind == BSN_ORDER_RECORD)
			trace_assert_index(&trace_events[i], f->sq->record);
		if (trace_events[i].kind != BSN_ORDER_WQE || !trace_events[i].bytes)
			continue;
		if (may_wrap && !is_in_ring(f, trace_events[i].addr))
			continue;
		assert_true(is_in_ring(f, trace_events[i].addr));
		const uint32_t block = (uint32_t)(trace_events[i].addr - f->sq_ring) / BSN_BB_SIZE;
		assert_true(((block - pi) & dv_sq(f->sq)->bb_mask) < (uint16_t)(end - pi));
	}
}

void trace_assert_published(const struct fake *f, uint32_t pi, unsigned blueflame, unsigned each)
{
	const uint8_t *was =
		f->lane.hot.reg == fake_buffer(f, 0) ? fake_buffer(f, 1) : fake_buffer(f, 0);

	assert_string_equal(trace_word("WM"), f->lane.lock ? "W(dRsMx)" : "WdRsMx");
	assert_targets(f, pi, f->sq->pi);
	if (blueflame)
		trace_assert_stores(was, blueflame, each);
	else
		trace_assert_stores(was, 8, 8);
}

unsigned trace_bytes_at_a_time(enum bsn_store store)
{
	return store == BSN_STORE_8	     ? TRACE_MIXED
	       : store == BSN_STORE_DOORBELL ? 8
	       : store == BSN_STORE_16	     ? 16
					     : 64;
}
