/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The queues of a process, for a reader of its memory: a debugger, wqe-dump, a reader of a core
 * file. A reader calls nothing and writes nothing; a program that uses Bunsen needs none of this.
 *
 * The registry is found from outside, in a stripped or static program too, by an ELF note of the
 * name "Bunsen" in the image that holds the library: the note is loaded with the image's first
 * pages, and its eight bytes are the distance from themselves to the struct bsn_registry.
 *
 * A reader reads @generation before and after the list; if it was odd, or has changed, the reader
 * begins from the start. @generation does not count changes of a queue's counters, which its
 * threads make at any time: struct bsn_registry_queue says what a reader may conclude from them.
 *
 * A child of fork() lists nothing, since the queues stay its parent's.
 *
 * Addresses are the process's. Numbers are in its byte order, which is little-endian.
 */
#ifndef BSN_REGISTRY_H
#define BSN_REGISTRY_H

#include <stdint.h>

#define BSN_REGISTRY_NOTE_NAME "Bunsen"
#define BSN_REGISTRY_NOTE_TYPE 1
#define BSN_REGISTRY_MAGIC     UINT64_C(0x65756575714e5342) /* "BSNqueue" as it lies in memory */
#define BSN_REGISTRY_VERSION   3                            /* of both structures */

#define BSN_REGISTRY_NO_SLOT 0xffff

/** enum bsn_registry_kind - what a queue is for */
enum bsn_registry_kind {
	BSN_REGISTRY_SEND,
	BSN_REGISTRY_RECV,        /* of one QP; it is there also where the QP has an SRQ */
	BSN_REGISTRY_SHARED_RECV, /* a linked list: see wqe/bsn_wqe.h, srq_next */
	BSN_REGISTRY_COMPLETION,
};

/**
 * struct bsn_registry_queue - one queue
 * @next: address of the next queue; 0: this is the last
 * @kind: enum bsn_registry_kind
 * @number: QPN, SRQN or CQN; 0 where libibverbs does not tell
 * @transport: of a send queue: enum bsn_transport
 * @cqn: where it completes; 0 where that is not known, and for a CQ
 * @ring: address of the first slot; 0 on the verbs path, whose rings are the provider's, and for a
 *	QP without a receive queue of its own: then the fields from here to @start mean nothing, but
 *	for @srqn
 * @record: address of its dword of the doorbell record
 * @count: slots, a power of two
 * @stride_bytes: of a slot
 * @srqn: of a RECV without a ring: the number of the SRQ that the QP receives from; 0: not known
 * @used: of a SHARED_RECV: only so many slots, the first ones of the ring, are ever used
 * @producer: address of what is posted, by kind; it may be an odd address
 * @consumer: address of what is known to be done, by kind
 * @start: address of where the slots begin that must not be overwritten, by kind
 * @lap: SEND: address of a 32-bit counter, which was the producer's value less than 2^16 slots ago:
 *	it and @producer give the 32-bit producer. Else 0
 * @first_error: SEND: address of the struct bsn_completion of the QP's first failure, all zero
 *	where there was none; on the verbs path too
 * @device: its name
 *
 *	kind         @producer                @consumer                  @start
 *	SEND         16 bits: the slot that   16 bits: where the last    16 bits: a WQE begins
 *	             is posted to next        WQE that is done begins    there
 *	RECV         16 bits: the slot that   32 bits: the slot that     0
 *	             is posted to next        completes next
 *	SHARED_RECV  16 bits: the posts so    32 bits: the first of the  0
 *	             far                      free slots
 *	COMPLETION   0                        64 bits: the address of    8 bits: the owner bit of
 *	                                      the CQE polled next        a CQE that is there
 *
 * Counters run on at the end of the ring: a slot's place is the counter modulo @count. The poster
 * of a SEND overwrites nothing from @start up to @producer. Each free slot of a SHARED_RECV names
 * the next one in its link, and the last one BSN_REGISTRY_NO_SLOT. In a slot of 128 bytes the CQE
 * is the last 64.
 *
 * A counter may run ahead of the bytes of its slots: a reader may find old bytes in a slot that
 * @producer has passed. Only the slots before the index in @record were written before that index.
 * A control segment has its own index and QPN, so a reader can tell.
 */
struct bsn_registry_queue {
	uint64_t next;
	uint32_t kind;
	uint32_t number;
	uint32_t transport;
	uint32_t cqn;
	uint64_t ring;
	uint64_t record;
	uint32_t count;
	uint32_t stride_bytes;
	uint32_t used;
	uint32_t srqn;
	uint64_t producer;
	uint64_t consumer;
	uint64_t start;
	uint64_t lap;
	uint64_t first_error;
	char device[64];
};

/**
 * struct bsn_registry - the head, one in each copy of the library
 * @magic: BSN_REGISTRY_MAGIC
 * @version: BSN_REGISTRY_VERSION; of another one only the fields up to @self may be read
 * @layout_version: BSN_LAYOUT_VERSION of bsn_hot.h
 * @self: its own address; 0 until a device is opened that lists its queues
 * @generation: odd while the list is being changed
 * @first: address of the first queue, the one made last; 0: there is none
 * @queue_count: how many there are
 */
struct bsn_registry {
	uint64_t magic;
	uint32_t version;
	uint32_t layout_version;
	uint64_t self;
	uint64_t generation;
	uint64_t first;
	uint64_t queue_count;
};

#endif
