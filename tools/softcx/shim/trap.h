/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trapped doorbells: the UAR pages that the program maps are read-only to it, each store into them
 * faults, and the fault is the doorbell. The store is decoded, done through a mapping of our own,
 * and told to a callback on the poster's own thread, so that no thread has to watch the pages.
 * One more page cannot be read, and each load of it is answered by a callback: the device's clock.
 */
#ifndef SOFTCX_TRAP_H
#define SOFTCX_TRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { TRAP_PAGE_BYTES = 4096 };

enum trap_mode {
	/* One fault, one report for each store, in program order. */
	TRAP_EXACT,
	/*
	 * Loads, and stores into UAR pages, that directly follow a trapped store are done in the
	 * same fault; what they wrote of one 64-byte block is one report. A BlueFlame copy costs
	 * one fault instead of eight.
	 */
	TRAP_ABSORB,
};

/*
 * A store of `size` bytes (64 at the most) at `offset` of UAR page `page`, already visible in the
 * page. Runs in a SIGSEGV handler on the storing thread, between two of its instructions; errno is
 * preserved around it.
 */
typedef void trap_callback(void *context, uint32_t page, uint32_t offset, const void *data,
			   uint32_t size);

/* A store by itself, before it is reported, in the same place. */
typedef void trap_counter(void *context, uint32_t page, uint32_t offset, uint32_t size);

/*
 * A load of so many bytes from the page of trap_cover_reads(): puts there what it reads, all of it.
 */
typedef void trap_answer(void *context, uint32_t offset, uint8_t *data, uint32_t size);

struct trap_listener {
	trap_callback *report;
	trap_counter *count; /* NULL: nobody counts */
	trap_answer *answer; /* NULL: there is no such page */
	void *context;
};

/*
 * Traps the pages that lie at [start, start + length) of memfd: page 0 is the one at `start`.
 * Nothing is trapped before trap_cover(). Once per process; a forked child inherits it.
 * Return: 0, -EALREADY, or the -errno of mmap and sigaction.
 */
int trap_install(int memfd, off_t start, size_t length, enum trap_mode mode,
		 const struct trap_listener *listener);

/*
 * Finds every writable mapping of the pages in this process, takes the right to write away, and
 * forgets the mappings that are gone. Reads /proc/self/maps, because libraries that hook memory
 * calls (UCX) map the pages past any interposed mmap(). To be called after the program has mapped
 * `page` and before a queue can use it.
 * Return: 0 when every mapping of the page is trapped; -ENXIO when there is none, so that stores
 * would be lost; else the -errno of what failed.
 */
int trap_cover(uint32_t page);

/*
 * Takes the right to read away from the mappings of the page at `page` of the same file, which is
 * always the same one. Like trap_cover(), to be called after the program has mapped it. If no
 * mapping exists, that is no failure.
 * Return: 0, or the -errno of what failed; -ENXIO before trap_install().
 */
int trap_cover_reads(off_t page);

bool trap_installed(void);
void trap_set_mode(enum trap_mode mode);

/* What the trap reported, in order, for tests that assert the order of stores. */
struct softcx_store {
	uint64_t pc; /* of the store; of the first one of an absorbed block */
	uint32_t page, offset, size;
	uint8_t data[64];
};

/* Starts a new record with room for `capacity` stores; 0 ends recording. Return: 0 or -ENOMEM. */
int softcx_record_stores(size_t capacity);

/*
 * Copies the first n recorded stores.
 * Return: how many have happened since recording began, which may be more than fit.
 */
size_t softcx_stores(struct softcx_store *stores, size_t n);

#endif
