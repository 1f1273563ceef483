/* SPDX-License-Identifier: BSD-2-Clause */
/* The trapped pages of this process, and the handler of SIGSEGV, which executes their stores. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../nic/hca.h"
#include "../os/maps.h"
#include "../os/raw.h"
#include "frame.h"
#include "signals.h"
#include "trap.h"

enum {
	MAX_RANGES = 4096, /* one for each UAR page, at worst */
	BLOCK_BYTES = 64,
	MAX_ABSORBED =
		64, /* instructions of one fault: four BlueFlame blocks by 8 B, with their loads */
};

/* A mapping of trapped pages in the program. */
struct range {
	uintptr_t start, end;
	/* after `start`, from the first trapped page; the page that is read follows the last */
	size_t offset;
};

static struct {
	bool installed;
	_Atomic enum trap_mode mode;
	off_t start;
	size_t length;
	off_t reads; /* where the page is that cannot be read; 0: there is none */
	uint8_t *pages; /* our own, writable mapping */
	char file[64];  /* device and inode, as /proc/self/maps has them */
	struct trap_listener listener;

	/*
	 * A handler reads the ranges while trap_cover() replaces them; the version is odd while
	 * that happens. The lock only keeps writers apart.
	 */
	pthread_mutex_t lock;
	atomic_uint version;
	unsigned count;
	struct range ranges[MAX_RANGES];
} trap = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct {
	struct softcx_store *stores;
	size_t capacity;
	atomic_size_t count;
} record;

/* -- finding the mappings ---------------------------------------------------------------------- */

static bool is_own(const struct mapping *m)
{
	return m->start <= (uintptr_t)trap.pages && (uintptr_t)trap.pages < m->end;
}

/* The file's name is taken from our own mapping in maps: fstat() may be the shim's. */
static int learn_file(void)
{
	struct mapping m;
	struct maps maps;
	int err = maps_open(&maps);

	if (err)
		return err;
	err = -ENOENT;
	while (err && maps_next(&maps, &m)) {
		if (is_own(&m)) {
			memcpy(trap.file, m.file, sizeof(trap.file));
			err = 0;
		}
	}
	maps_close(&maps);
	return err;
}

/* The part of a mapping that shows those bytes, the first of which is number @at. False: none. */
static bool part_of(const struct mapping *m, uint64_t first, size_t length, size_t at,
		    struct range *range)
{
	const uint64_t end = first + length;
	uint64_t from = m->offset, to = m->offset + (m->end - m->start);

	if (strcmp(m->file, trap.file) || is_own(m) || to <= first || from >= end)
		return false;
	from = from > first ? from : first;
	to = to < end ? to : end;
	range->start = m->start + (from - m->offset);
	range->end = m->start + (to - m->offset);
	range->offset = at + (from - first);
	return true;
}

/* No mapping shows both. */
static bool trapped_part(const struct mapping *m, struct range *range)
{
	return part_of(m, (uint64_t)trap.start, trap.length, 0, range) ||
	       (trap.reads &&
		part_of(m, (uint64_t)trap.reads, TRAP_PAGE_BYTES, trap.length, range));
}

static int collect(struct maps *maps, struct range *ranges, unsigned *count)
{
	struct mapping m;

	*count = 0;
	while (maps_next(maps, &m)) {
		if (!trapped_part(&m, &ranges[*count]))
			continue;
		if (++*count == MAX_RANGES)
			return -ENOSPC;
	}
	return 0;
}

/*
 * A reader that comes in between reads again. A thread that reads a word stored here sees the odd
 * version first: by release and acquire, since ThreadSanitizer does not know fences.
 */
static void store_range(struct range *to, const struct range *from)
{
	__atomic_store_n(&to->start, from->start, __ATOMIC_RELEASE);
	__atomic_store_n(&to->end, from->end, __ATOMIC_RELEASE);
	__atomic_store_n(&to->offset, from->offset, __ATOMIC_RELEASE);
}

static struct range load_range(const struct range *from)
{
	return (struct range){
		.start = __atomic_load_n(&from->start, __ATOMIC_ACQUIRE),
		.end = __atomic_load_n(&from->end, __ATOMIC_ACQUIRE),
		.offset = __atomic_load_n(&from->offset, __ATOMIC_ACQUIRE),
	};
}

/*
 * The range is noted before it is protected, so a fault always finds it. No signal handler of the
 * program may run here: one that posts would wait for ever for this thread.
 */
static int publish(const struct range *ranges, unsigned count)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	atomic_fetch_add(&trap.version, 1);
	for (unsigned k = 0; k < count; k++)
		store_range(&trap.ranges[k], &ranges[k]);
	__atomic_store_n(&trap.count, count, __ATOMIC_RELEASE);
	atomic_fetch_add_explicit(&trap.version, 1, memory_order_release);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	for (unsigned k = 0; k < count; k++)
		if (mprotect((void *)ranges[k].start, ranges[k].end - ranges[k].start,
			     ranges[k].offset < trap.length ? PROT_READ : PROT_NONE))
			return -errno;
	return 0;
}

static bool shows_page(const struct range *r, uint32_t page)
{
	size_t at = (size_t)page * TRAP_PAGE_BYTES;

	return r->offset <= at && at < r->offset + (r->end - r->start);
}

static struct range covered[MAX_RANGES]; /* under the lock */

/* Likewise. */
static int cover(unsigned *count)
{
	struct maps maps;
	int err = maps_open(&maps);

	if (err)
		return err;
	err = collect(&maps, covered, count);
	maps_close(&maps);
	return err ? err : publish(covered, *count);
}

int trap_cover(uint32_t page)
{
	unsigned count;
	int err;

	if (!trap.installed)
		return -ENXIO;
	pthread_mutex_lock(&trap.lock);
	err = cover(&count);
	if (!err)
		err = -ENXIO;
	for (unsigned k = 0; err == -ENXIO && k < count; k++)
		if (shows_page(&covered[k], page))
			err = 0;
	pthread_mutex_unlock(&trap.lock);
	return err;
}

int trap_cover_reads(off_t page)
{
	unsigned count;
	int err;

	if (!trap.installed)
		return -ENXIO;
	pthread_mutex_lock(&trap.lock);
	trap.reads = page;
	err = cover(&count);
	pthread_mutex_unlock(&trap.lock);
	return err;
}

/* -- in the handler ---------------------------------------------------------------------------- */

/* Where `size` bytes at an address are in the trapped pages. False: not wholly in one. */
static bool find_trapped(uint64_t address, size_t size, size_t *offset)
{
	unsigned version, count;
	bool found;

	do {
		version = atomic_load_explicit(&trap.version, memory_order_acquire);
		count = __atomic_load_n(&trap.count, __ATOMIC_ACQUIRE);
		found = false;
		for (unsigned k = 0; k < count && !found; k++) {
			const struct range r = load_range(&trap.ranges[k]);

			found = address >= r.start && address < r.end && size <= r.end - address;
			if (found)
				*offset = r.offset + (address - r.start);
		}
	} while ((version & 1) ||
		 version != atomic_load_explicit(&trap.version, memory_order_relaxed));
	return found && *offset / TRAP_PAGE_BYTES == (*offset + size - 1) / TRAP_PAGE_BYTES;
}

static void report(uint64_t pc, size_t offset, const uint8_t *data, size_t size)
{
	uint32_t page = offset / TRAP_PAGE_BYTES, at = offset % TRAP_PAGE_BYTES;

	if (record.capacity) {
		size_t k = atomic_fetch_add(&record.count, 1);

		if (k < record.capacity) {
			struct softcx_store *s = &record.stores[k];

			*s = (struct softcx_store){
				.pc = pc, .page = page, .offset = at, .size = size
			};
			memcpy(s->data, data, size);
		}
	}
	trap.listener.report(trap.listener.context, page, at, data, size);
}

/* The bytes that stores have written into one 64-byte block since the fault began. */
struct block {
	size_t offset;
	uint64_t written; /* a bit a byte */
	uint64_t pc;
	uint8_t data[BLOCK_BYTES];
};

/* Reports contiguous bytes together, in ascending order. */
static void flush_block(struct block *b)
{
	uint64_t left = b->written;

	b->written = 0;
	while (left) {
		unsigned from = __builtin_ctzll(left);
		uint64_t gap = ~(left >> from);
		unsigned bytes = gap ? __builtin_ctzll(gap) : BLOCK_BYTES;

		if (bytes > BLOCK_BYTES - from)
			bytes = BLOCK_BYTES - from;
		report(b->pc, b->offset + from, b->data + from, bytes);
		if (from + bytes == BLOCK_BYTES)
			break;
		left &= ~0ull << (from + bytes);
	}
}

static void add_to_block(struct block *b, uint64_t pc, size_t offset, const uint8_t *data,
			 size_t size)
{
	size_t within = offset % BLOCK_BYTES;
	uint64_t bits = (size == BLOCK_BYTES ? ~0ull : (1ull << size) - 1) << within;

	if (within + size > BLOCK_BYTES) { /* crosses two blocks: not BlueFlame */
		flush_block(b);
		report(pc, offset, data, size);
		return;
	}
	if (b->offset != offset - within || (b->written & bits))
		flush_block(b);
	if (!b->written) {
		b->offset = offset - within;
		b->pc = pc;
	}
	memcpy(b->data + within, data, size);
	b->written |= bits;
	if (b->written == ~0ull)
		flush_block(b);
}

/* Executes a decoded store or copy, if it goes to trapped pages. */
static bool do_store(struct frame *frame, struct access *a, struct block *block)
{
	uint64_t pc = frame_pc(frame);
	size_t offset;

	if (a->kind == ACCESS_LOAD || !find_trapped(a->address, a->size, &offset) ||
	    offset >= trap.length)
		return false;
	if (a->kind == ACCESS_COPY64 && !frame_probe(a->data, (void *)(uintptr_t)a->source, 64))
		return false;
	memcpy(trap.pages + offset, a->data, a->size);
	frame_advance(frame, a);
	if (trap.listener.count)
		trap.listener.count(trap.listener.context, offset / TRAP_PAGE_BYTES,
				    offset % TRAP_PAGE_BYTES, a->size);
	if (block)
		add_to_block(block, pc, offset, a->data, a->size);
	else
		report(pc, offset, a->data, a->size);
	return true;
}

/* Executes a decoded load, if it is of the page that cannot be read. */
static bool do_answer(struct frame *frame, const struct access *a)
{
	uint8_t data[ACCESS_MAX_BYTES];
	size_t offset;

	if (a->kind != ACCESS_LOAD || !find_trapped(a->address, a->size, &offset) ||
	    offset < trap.length)
		return false;
	trap.listener.answer(trap.listener.context, (uint32_t)(offset - trap.length), data,
			     a->size);
	if (frame_finish_load(frame, a, data))
		return false;
	frame_advance(frame, a);
	return true;
}

static bool do_load(struct frame *frame, const struct access *a)
{
	uint8_t data[ACCESS_MAX_BYTES];

	if (!frame_probe(data, (void *)(uintptr_t)a->address, a->size) ||
	    frame_finish_load(frame, a, data))
		return false;
	frame_advance(frame, a);
	return true;
}

/*
 * Executes what follows a trapped store, up to the last store that directly follows. The CPU
 * repeats the loads after that one, so the program sees what the device answered: general registers
 * and PC return to their values there, and the vector registers will get the same values again.
 */
static void absorb(struct frame *frame, struct block *block)
{
	struct frame done = *frame;
	struct access a;
	bool ok = true;

	for (unsigned k = 0; ok && k < MAX_ABSORBED && !frame_decode(frame, &a); k++) {
		ok = a.kind == ACCESS_LOAD ? do_load(frame, &a) : do_store(frame, &a, block);
		if (ok && a.kind != ACCESS_LOAD)
			done = *frame;
	}
	*frame = done;
}

static char *append(char *at, const char *text)
{
	while (*text)
		*at++ = *text++;
	return at;
}

static char *append_hex(char *at, uint64_t value, unsigned digits)
{
	while (digits--)
		*at++ = "0123456789abcdef"[value >> 4 * digits & 15];
	return at;
}

/*
 * No access may be lost: prints which instruction cannot be executed, and lets it fault for good.
 */
static void refuse(const struct frame *frame, uintptr_t address, bool is_read)
{
	uint8_t code[ACCESS_MAX_INSN_BYTES];
	char text[256], *at = text;

	at = append(at, is_read ? "softcx: cannot emulate the access to the clock page at 0x" :
				  "softcx: cannot emulate the store to the doorbell page at 0x");
	at = append_hex(at, address, 16);
	at = append(at, ": unknown instruction at 0x");
	at = append_hex(at, frame_pc(frame), 16);
	at = append(at, ", bytes");
	for (unsigned k = 0; k < sizeof(code); k++) {
		if (!frame_probe(&code[k], (void *)(uintptr_t)(frame_pc(frame) + k), 1))
			break;
		at = append(at, " ");
		at = append_hex(at, code[k], 2);
	}
	at = append(at, "\n");
	if (raw_write(STDERR_FILENO, text, at - text) < 0)
		errno = 0; /* there is nothing else to try */
	signals_die_of(SIGSEGV);
}

static void emulate(void *ucontext, uintptr_t address, bool is_read)
{
	struct block block = { 0 };
	struct frame frame;
	struct access a;
	bool exact = atomic_load_explicit(&trap.mode, memory_order_relaxed) == TRAP_EXACT;

	frame_open(&frame, ucontext);
	if (frame_decode(&frame, &a) ||
	    !(is_read ? do_answer(&frame, &a) : do_store(&frame, &a, exact ? NULL : &block))) {
		refuse(&frame, address, is_read);
		return;
	}
	if (!exact && !is_read) {
		absorb(&frame, &block);
		flush_block(&block);
	}
	frame_close(&frame);
}

static void on_segv(int number, siginfo_t *info, void *ucontext)
{
	int saved = errno;
	size_t offset;

	signals_open_faults(ucontext);
	if (frame_fault_was_probe(ucontext))
		return;
	if (info->si_code == SEGV_ACCERR && find_trapped((uintptr_t)info->si_addr, 1, &offset)) {
		emulate(ucontext, (uintptr_t)info->si_addr, offset >= trap.length);
	} else {
		cx_memory_fault(info); /* does not return if the model faulted */
		signals_pass_on(number, info, ucontext);
	}
	errno = saved;
}

static void on_bus(int number, siginfo_t *info, void *ucontext)
{
	int saved = errno;

	signals_open_faults(ucontext);
	cx_memory_fault(info);
	signals_pass_on(number, info, ucontext);
	errno = saved;
}

/* -- control ----------------------------------------------------------------------------------- */

int trap_install(int memfd, off_t start, size_t length, enum trap_mode mode,
		 const struct trap_listener *listener)
{
	void *pages;
	int err;

	if (trap.installed)
		return -EALREADY;
	pages = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, start);
	if (pages == MAP_FAILED)
		return -errno;
	trap.pages = pages;
	trap.start = start;
	trap.length = length;
	trap.listener = *listener;
	atomic_store(&trap.mode, mode);
	err = learn_file();
	if (!err) {
		frame_setup();
		err = signals_take(SIGSEGV, on_segv);
	}
	if (!err)
		err = signals_take(SIGBUS, on_bus);
	if (err) {
		munmap(pages, length);
		return err;
	}
	trap.installed = true;
	return 0;
}

bool trap_installed(void)
{
	return trap.installed;
}

void trap_set_mode(enum trap_mode mode)
{
	atomic_store(&trap.mode, mode);
}

int softcx_record_stores(size_t capacity)
{
	struct softcx_store *stores = NULL;

	if (capacity) {
		stores = calloc(capacity, sizeof(*stores));
		if (!stores)
			return -ENOMEM;
	}
	record.capacity = 0;
	free(record.stores);
	record.stores = stores;
	atomic_store(&record.count, 0);
	record.capacity = capacity;
	return 0;
}

size_t softcx_stores(struct softcx_store *stores, size_t n)
{
	size_t count = atomic_load(&record.count);
	size_t have = count < record.capacity ? count : record.capacity;

	if (have && n)
		memcpy(stores, record.stores, (n < have ? n : have) * sizeof(*stores));
	return count;
}
