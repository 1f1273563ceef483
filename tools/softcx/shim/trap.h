/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trapped doorbells: the program's UAR pages are read-only, so each store into them faults. The
 * store is decoded, executed through a mapping of our own, and passed to a callback on the poster's
 * own thread; no thread has to watch the pages. One more page cannot be read, and a callback
 * answers each load from it: the device's clock.
 */
#ifndef SOFTCX_TRAP_H
#define SOFTCX_TRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { TRAP_PAGE_BYTES = 4096 };

enum trap_mode {
	/* A fault and a report for each store, in program order. */
	TRAP_EXACT,
	/*
	 * Loads, and stores into UAR pages, that directly follow a trapped store are executed in
	 * the same fault. What they wrote into one 64-byte block is one report. A BlueFlame copy
	 * costs one fault instead of eight.
	 */
	TRAP_ABSORB,
};

/*
 * A store of `size` bytes (64 at most) at `offset` of UAR page `page`; the page has it already.
 * Runs in a SIGSEGV handler on the storing thread, between two of its instructions. errno is
 * preserved.
 */
typedef void trap_callback(void *context, uint32_t page, uint32_t offset, const void *data,
			   uint32_t size);

/* A single store, before it is reported, in the same place. */
typedef void trap_counter(void *context, uint32_t page, uint32_t offset, uint32_t size);

/* A load of so many bytes from the page of trap_cover_reads(): writes them there. */
typedef void trap_answer(void *context, uint32_t offset, uint8_t *data, uint32_t size);

struct trap_listener {
	trap_callback *report;
	trap_counter *count; /* NULL: nobody counts */
	trap_answer *answer; /* NULL: there is no such page */
	void *context;
};

/*
 * Traps the pages at [start, start + length) of memfd; page 0 is the one at `start`. Nothing is
 * trapped before trap_cover(). Once a process; a forked child inherits it. Returns 0, -EALREADY, or
 * the -errno of mmap and sigaction.
 */
int trap_install(int memfd, off_t start, size_t length, enum trap_mode mode,
		 const struct trap_listener *listener);

/*
 * Finds all writable mappings of the pages in this process, makes them read-only, and forgets
 * mappings that are gone. It reads /proc/self/maps, because libraries that hook memory calls (UCX)
 * map the pages without any interposed mmap(). Call it after the program has mapped `page`, before
 * a queue can use it.
 *
 * Returns 0: every mapping of the page is trapped; -ENXIO: there is none, so stores would be lost;
 * or the -errno of what failed.
 */
int trap_cover(uint32_t page);

/*
 * Makes mappings of the page at `page` of the same file unreadable; it is always the same page.
 * Like trap_cover(), call it after the program has mapped it. It is no failure if there is no
 * mapping.
 *
 * Returns 0; -ENXIO: before trap_install(); or the -errno of what failed.
 */
int trap_cover_reads(off_t page);

bool trap_installed(void);
void trap_set_mode(enum trap_mode mode);

/* What the trap reported, in order, for tests of the order of stores. */
struct softcx_store {
	uint64_t pc; /* of the store; of the first one of a joined block */
	uint32_t page, offset, size;
	uint8_t data[64];
};

/* Starts a new record with room for `capacity` stores; 0: ends it. Returns 0 or -ENOMEM. */
int softcx_record_stores(size_t capacity);

/*
 * Copies the first n recorded stores. Returns how many have happened since recording began, which
 * may be more than fit.
 */
size_t softcx_stores(struct softcx_store *stores, size_t n);

#endif
