/* SPDX-License-Identifier: BSD-2-Clause */
/* The ways to store 64 bytes into a BlueFlame buffer, and the choice among them. */
#include "bsn_doorbell.h"

#include <stdbool.h>
#include <stddef.h>
#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

static void store_8(uint8_t *reg, bsn_v2 a, bsn_v2 b, bsn_v2 c, bsn_v2 d)
{
	const uint64_t word[8] = { a[0], a[1], b[0], b[1], c[0], c[1], d[0], d[1] };

	BSN_UNROLL
	for (unsigned i = 0; i < 8; i++)
		bsn_store_mmio(reg + 8 * i, (struct bsn_be64){ word[i] });
}

static void store_16(uint8_t *reg, bsn_v2 a, bsn_v2 b, bsn_v2 c, bsn_v2 d)
{
	bsn_store_mmio_v2(reg, a);
	bsn_store_mmio_v2(reg + 16, b);
	bsn_store_mmio_v2(reg + 32, c);
	bsn_store_mmio_v2(reg + 48, d);
}

#if defined(__x86_64__)
static int has_avx512(void)
{
	return __builtin_cpu_supports("avx512f");
}

static int has_movdir64b(void)
{
	unsigned a, b, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c & bit_MOVDIR64B);
}

__attribute__((target("avx512f"))) static void store_avx512(uint8_t *reg, bsn_v2 a, bsn_v2 b,
							    bsn_v2 c, bsn_v2 d)
{
	__m512i v = _mm512_castsi128_si512((__m128i)a);

	v = _mm512_inserti32x4(v, (__m128i)b, 1);
	v = _mm512_inserti32x4(v, (__m128i)c, 2);
	v = _mm512_inserti32x4(v, (__m128i)d, 3);
	BSN_ORDER_EVENT(BSN_ORDER_MMIO, reg, 64);
	/* In assembly: the compiler can neither split nor move it. */
	__asm__ volatile("vmovdqa64 %1, %0" : "=m"(*(uint8_t(*)[64])reg) : "v"(v) : "memory");
}

/* MOVDIR64B reads its 64 bytes from memory. */
__attribute__((target("movdir64b"))) static void store_movdir64b(uint8_t *reg, bsn_v2 a, bsn_v2 b,
								 bsn_v2 c, bsn_v2 d)
{
	const bsn_v2 block[4] __attribute__((aligned(64))) = { a, b, c, d };

	BSN_ORDER_EVENT(BSN_ORDER_MMIO, reg, 64);
	_movdir64b(reg, block);
}
#elif defined(__aarch64__)
/* Linux arch/arm64/include/uapi/asm/hwcap.h and uapi/linux/auxvec.h; absent from older headers. */
#ifndef AT_HWCAP3
#define AT_HWCAP3 29
#endif
#ifndef HWCAP3_LS64
#define HWCAP3_LS64 (1ul << 3)
#endif

static int has_st64b(void)
{
	return (getauxval(AT_HWCAP3) & HWCAP3_LS64) != 0;
}

/*
 * ST64B takes eight consecutive registers, the first of them even. Not every assembler has LS64:
 * .inst.
 */
static void store_st64b(uint8_t *reg, bsn_v2 a, bsn_v2 b, bsn_v2 c, bsn_v2 d)
{
	BSN_ORDER_EVENT(BSN_ORDER_MMIO, reg, 64); /* a call: before x0 to x8 are loaded */
	register uint64_t x0 __asm__("x0") = a[0];
	register uint64_t x1 __asm__("x1") = a[1];
	register uint64_t x2 __asm__("x2") = b[0];
	register uint64_t x3 __asm__("x3") = b[1];
	register uint64_t x4 __asm__("x4") = c[0];
	register uint64_t x5 __asm__("x5") = c[1];
	register uint64_t x6 __asm__("x6") = d[0];
	register uint64_t x7 __asm__("x7") = d[1];
	register uint8_t *x8 __asm__("x8") = reg;

	__asm__ volatile(".inst 0xf83f9100" /* st64b x0, [x8] */
			 :
			 : "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5), "r"(x6), "r"(x7),
			   "r"(x8)
			 : "memory");
}
#endif

static int has_always(void)
{
	return 1;
}

/* A row for each store; one without functions is not for this architecture. */
static const struct {
	int (*supported)(void);
	void (*store)(uint8_t *reg, bsn_v2 a, bsn_v2 b, bsn_v2 c, bsn_v2 d);
} stores[BSN_STORE_COUNT] = {
	[BSN_STORE_AUTO] = { has_always, NULL },
	[BSN_STORE_8] = { has_always, store_8 },
	[BSN_STORE_16] = { has_always, store_16 }, /* SSE2 and NEON are in the baseline */
#if defined(__x86_64__)
	[BSN_STORE_AVX512] = { has_avx512, store_avx512 },
	[BSN_STORE_MOVDIR64B] = { has_movdir64b, store_movdir64b },
#else
	[BSN_STORE_ST64B] = { has_st64b, store_st64b },
#endif
	[BSN_STORE_DOORBELL] = { has_always, NULL },
};

const char *bsn_store_name(enum bsn_store store)
{
#define OF_STORE(NAME, name) [BSN_STORE_##NAME] = name,
	static const char *const names[] = { BSN_STORES(OF_STORE) };
#undef OF_STORE
	return (unsigned)store < BSN_STORE_COUNT ? names[store] : NULL;
}

int bsn_store_supported(enum bsn_store store)
{
	return (unsigned)store < BSN_STORE_COUNT && stores[store].supported &&
	       stores[store].supported();
}

void bsn_store_bb(enum bsn_store store, uint8_t *reg, bsn_v2 w01, bsn_v2 w23, bsn_v2 w45,
		  bsn_v2 w67)
{
	stores[store].store(reg, w01, w23, w45, w67);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

enum { ROUNDS = 16, COPIES = 32 };

/*
 * Times one round of copies of a block in general registers, where the inline code has it. Stores
 * of 8 x 8 B are inlined here, as there; the others include the call and the filling of vector
 * registers.
 */
static uint64_t time_round(enum bsn_store store, uint8_t *target)
{
	const uint64_t start = now_ns();

	for (uint64_t i = 0; i < COPIES; i++) {
		uint64_t word = i;
		__asm__ volatile("" : "+r"(word)); /* not a constant */
		if (store == BSN_STORE_8) {
			BSN_UNROLL
			for (unsigned n = 0; n < 8; n++)
				bsn_store_mmio(target + 8 * n, (struct bsn_be64){ word + n });
		} else {
			bsn_store_bb(store, target, (bsn_v2){ word, word + 1 },
				     (bsn_v2){ word + 2, word + 3 }, (bsn_v2){ word + 4, word + 5 },
				     (bsn_v2){ word + 6, word + 7 });
		}
		bsn_wc_flush(); /* as between two BlueFlame copies, O3 */
	}
	return now_ns() - start;
}

/* The shortest of some rounds: a disturbance only lengthens a round. */
static uint64_t measure(enum bsn_store store, uint8_t *target)
{
	uint64_t best = UINT64_MAX;

	for (int round = 0; round < ROUNDS; round++) {
		const uint64_t took = time_round(store, target);
		best = took < best ? took : best;
	}
	return best;
}

/*
 * Two stores cannot be measured on memory, so they are used only if the user names them: MOVDIR64B
 * bypasses the caches (Intel SDM vol. 2) and costs a memory access there, and ST64B may fault on
 * memory (Linux elf_hwcaps.rst, HWCAP3_LS64).
 */
static bool is_measurable(enum bsn_store store)
{
	return store != BSN_STORE_MOVDIR64B && store != BSN_STORE_ST64B &&
	       bsn_store_supported(store);
}

enum bsn_store bsn_store_choose(void *target)
{
	enum bsn_store best = BSN_STORE_8;
	uint64_t best_ns = measure(best, target);

	for (enum bsn_store s = BSN_STORE_16; s < BSN_STORE_DOORBELL; s++) {
		if (!is_measurable(s))
			continue;
		const uint64_t ns = measure(s, target);
		/* Memory is not a register, so only a clear gain outweighs the inline code. */
		if (ns < best_ns - best_ns / 4) {
			best = s;
			best_ns = ns;
		}
	}
	return best;
}
