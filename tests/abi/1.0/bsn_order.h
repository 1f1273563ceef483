/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A part of bsn.h, which programs include.
 *
 * Barriers, named by purpose, and the three kinds of stores that a device will see. ORDERING.md
 * numbers the rules [O1]..[O8]; every use of a barrier cites the rule it keeps.
 *
 * Source of the instructions: rdma-core util/udma_barrier.h (the contracts in PCIe terms), Intel
 * SDM vol. 3 "Memory Ordering" (WC stores are weakly ordered), Arm ARM "Memory barriers".
 *
 * Built with BSN_ORDER_TRACE, each store and barrier also reports itself to bsn_order_event(), so
 * that a test can assert the order on a machine whose own ordering would hide a missing barrier.
 */
#ifndef BSN_ORDER_H
#define BSN_ORDER_H

#include "bsn_seg.h"

/*
 * Around the contents of headers with code: C linkage, and permission for designated initializers,
 * which C++ has only since C++20.
 */
#ifdef __cplusplus
#define BSN_LINKAGE_BEGIN _Pragma("GCC diagnostic ignored \"-Wc++20-extensions\"") extern "C" {
#define BSN_LINKAGE_END   }
#else
#define BSN_LINKAGE_BEGIN
#define BSN_LINKAGE_END
#endif
#define BSN_HEADER_BEGIN                                                                           \
	_Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wpedantic\"")            \
		_Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"") BSN_LINKAGE_BEGIN
#define BSN_HEADER_END BSN_LINKAGE_END _Pragma("GCC diagnostic pop")

BSN_HEADER_BEGIN

#define BSN_LIKELY(x)   __builtin_expect(!!(x), 1)
#define BSN_UNLIKELY(x) __builtin_expect(!!(x), 0)

/*
 * Loads a word that another thread may change. Any load of its size is whole, so the compiler may
 * make it a part of another instruction. It is an atomic load for ThreadSanitizer alone.
 */
#if defined(__SANITIZE_THREAD__)
#define BSN_THREADS_ARE_WATCHED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BSN_THREADS_ARE_WATCHED 1
#endif
#endif
#ifdef BSN_THREADS_ARE_WATCHED
#define BSN_SHARED_LOAD(x) __atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#define BSN_FROM_DEVICE_ORDER __ATOMIC_ACQUIRE /* ThreadSanitizer does not know bsn_from_device() */
#else
#define BSN_SHARED_LOAD(x) (x)
#define BSN_FROM_DEVICE_ORDER __ATOMIC_RELAXED
#endif

/** enum bsn_order_kind - what the instrumented build reports */
enum bsn_order_kind {
	BSN_ORDER_WQE,         /* a store into a send or receive ring */
	BSN_ORDER_RECORD,      /* a store into a doorbell record or consumer record */
	BSN_ORDER_MMIO,        /* a store into a UAR register */
	BSN_ORDER_TO_DEVICE,
	BSN_ORDER_FROM_DEVICE,
	BSN_ORDER_WC_START,
	BSN_ORDER_WC_FLUSH,
};

#ifdef BSN_ORDER_TRACE
void bsn_order_event(enum bsn_order_kind kind, const volatile void *addr, unsigned bytes);
#define BSN_ORDER_EVENT(kind, addr, bytes) bsn_order_event(kind, addr, bytes)
#else
#define BSN_ORDER_EVENT(kind, addr, bytes) ((void)0)
#endif

#if defined(__x86_64__)
#define BSN_ASM_TO_DEVICE   ""       /* stores to write-back memory stay in order */
#define BSN_ASM_FROM_DEVICE ""       /* so do loads */
#define BSN_ASM_WC          "sfence" /* drains the write-combining buffers */
#elif defined(__aarch64__)
#define BSN_ASM_TO_DEVICE   "dmb oshst"
#define BSN_ASM_FROM_DEVICE "dmb oshld"
#define BSN_ASM_WC          "dsb st"
#else
#error "bunsen: no memory barriers are known for this architecture"
#endif

/**
 * bsn_to_device - earlier stores to memory are seen by the device before later ones
 * Order: host memory only; for MMIO see bsn_wc_start().
 */
static inline void bsn_to_device(void)
{
	BSN_ORDER_EVENT(BSN_ORDER_TO_DEVICE, 0, 0);
	__asm__ volatile(BSN_ASM_TO_DEVICE ::: "memory");
}

/**
 * bsn_from_device - earlier loads come before anything that follows
 * Order: earlier loads of memory that the device writes, against later loads and stores.
 */
static inline void bsn_from_device(void)
{
	BSN_ORDER_EVENT(BSN_ORDER_FROM_DEVICE, 0, 0);
	__asm__ volatile(BSN_ASM_FROM_DEVICE ::: "memory");
}

/** bsn_wc_start - earlier stores to memory are visible before the write-combining stores to come */
static inline void bsn_wc_start(void)
{
	BSN_ORDER_EVENT(BSN_ORDER_WC_START, 0, 0);
	__asm__ volatile(BSN_ASM_WC ::: "memory");
}

/** bsn_wc_flush - the write-combining stores leave this CPU before anything that follows */
static inline void bsn_wc_flush(void)
{
	BSN_ORDER_EVENT(BSN_ORDER_WC_FLUSH, 0, 0);
	__asm__ volatile(BSN_ASM_WC ::: "memory");
}

/** bsn_store_wqe - eight bytes of a WQE into a ring */
static inline __attribute__((always_inline)) void bsn_store_wqe(uint8_t *dst, struct bsn_be64 word)
{
	BSN_ORDER_EVENT(BSN_ORDER_WQE, dst, 8);
	memcpy(dst, &word, sizeof(word));
}

/* 16 bytes in a vector register (x86-64: SSE2, arm64: NEON), as they lie in memory. */
typedef uint64_t bsn_v2 __attribute__((vector_size(16)));
typedef bsn_v2 bsn_v2_aliased __attribute__((may_alias));
typedef uint32_t bsn_v4 __attribute__((vector_size(16)));
typedef bsn_v2 bsn_v2_unaligned __attribute__((aligned(1), may_alias));

static inline __attribute__((always_inline)) bsn_v2 bsn_v2_load(const void *src)
{
	return *(const bsn_v2_unaligned *)src;
}

/** bsn_store_wqe_v2 - sixteen bytes of a WQE into a ring */
static inline __attribute__((always_inline)) void bsn_store_wqe_v2(uint8_t *dst, bsn_v2 words)
{
	BSN_ORDER_EVENT(BSN_ORDER_WQE, dst, 16);
	*(bsn_v2_unaligned *)(void *)dst = words;
}

/** bsn_store_record - a doorbell record or consumer record, which the device reads by DMA */
static inline __attribute__((always_inline)) void bsn_store_record(struct bsn_be32 *record,
								    uint32_t value)
{
	BSN_ORDER_EVENT(BSN_ORDER_RECORD, record, 4);
	__atomic_store_n(&record->raw, bsn_to_be32(value).raw, __ATOMIC_RELAXED);
}

/**
 * bsn_store_index - a doorbell record that holds an index modulo 2^16 and nothing else
 *
 * Its high half is always zero, so that half is not stored.
 */
static inline __attribute__((always_inline)) void bsn_store_index(struct bsn_be32 *record,
								   uint16_t index)
{
	struct bsn_be16 *low = (struct bsn_be16 *)(void *)record + 1;

	BSN_ORDER_EVENT(BSN_ORDER_RECORD, low, 2);
	__atomic_store_n(&low->raw, bsn_to_be16(index).raw, __ATOMIC_RELAXED);
}

/** bsn_store_mmio - eight bytes into a UAR register, as one access */
static inline __attribute__((always_inline)) void bsn_store_mmio(uint8_t *reg, struct bsn_be64 word)
{
	BSN_ORDER_EVENT(BSN_ORDER_MMIO, reg, 8);
	*(volatile uint64_t *)(void *)reg = word.raw;
}

/** bsn_store_mmio_v2 - sixteen bytes into a BlueFlame buffer, as one access */
static inline __attribute__((always_inline)) void bsn_store_mmio_v2(uint8_t *reg, bsn_v2 words)
{
	BSN_ORDER_EVENT(BSN_ORDER_MMIO, reg, 16);
	*(volatile bsn_v2 *)(void *)reg = words;
}

BSN_HEADER_END

#endif
