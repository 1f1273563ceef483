/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A part of bsn.h, which programs include.
 *
 * The lane: a register of the NIC, of one thread, or of several that take a lock; and how 64 bytes
 * reach it.
 */
#ifndef BSN_DOORBELL_H
#define BSN_DOORBELL_H

#include "bsn_hot.h"
#include "bsn_wqe.h"

BSN_HEADER_BEGIN

/** bsn_lane_toggle - turns from @reg to the register's other buffer; after bsn_wc_flush() [O3] */
static inline __attribute__((always_inline)) void bsn_lane_toggle(struct bsn_lane *lane,
								  const uint8_t *reg)
{
	lane->reg = (uint8_t *)((uintptr_t)reg ^ lane->toggle);
}

/**
 * enum bsn_store - how 64 bytes reach a BlueFlame buffer
 *
 * Which is fastest differs by CPU; bsn_store_choose() measures. All but the doorbell write whole 64
 * B blocks in ascending order.
 */
enum bsn_store {
	BSN_STORE_AUTO = 0,
	BSN_STORE_8,         /* 8 x 8 B */
	BSN_STORE_16,        /* 4 x 16 B (SSE2, NEON) */
	BSN_STORE_AVX512,    /* 1 x 64 B, x86-64 with AVX-512F */
	BSN_STORE_MOVDIR64B, /* 1 x 64 B, x86-64 with MOVDIR64B */
	BSN_STORE_ST64B,     /* 1 x 64 B, arm64 with FEAT_LS64 */
	BSN_STORE_DOORBELL,  /* no BlueFlame: 8-byte doorbells */
	BSN_STORE_COUNT,
};

/* X(NAME, as the environment's BSN_STORE names it) */
#define BSN_STORES(X)                                                                              \
	X(AUTO, "auto")                                                                            \
	X(8, "8x8")                                                                                \
	X(16, "4x16")                                                                              \
	X(AVX512, "avx512")                                                                        \
	X(MOVDIR64B, "movdir64b")                                                                  \
	X(ST64B, "st64b")                                                                          \
	X(DOORBELL, "doorbell")

/* A loop whose count the compiler knows after inlining becomes straight code. */
#ifdef __clang__
#define BSN_UNROLL _Pragma("clang loop unroll(full)")
#else
#define BSN_UNROLL _Pragma("GCC unroll 16")
#endif

/** bsn_store_name - "8x8", "4x16", …; NULL for a number that is no store */
const char *bsn_store_name(enum bsn_store store);

/** bsn_store_supported - whether this CPU can; BSN_STORE_AUTO is always supported */
int bsn_store_supported(enum bsn_store store);

/** bsn_store_bb - one block of 64 B from registers into @reg */
void bsn_store_bb(enum bsn_store store, uint8_t *reg, bsn_v2 w01, bsn_v2 w23, bsn_v2 w45,
		  bsn_v2 w67);

/**
 * bsn_store_choose - the fastest store, of those that can be measured against memory (@target)
 * @target: 64 writable bytes, aligned; memory, since a register must not be written for trial
 * Context: control path, about 20 µs; the caller keeps the result.
 */
enum bsn_store bsn_store_choose(void *target);

BSN_HEADER_END

#endif
