/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waits on a cache line. Source: Intel SDM vol. 2 UMONITOR, UMWAIT; AMD APM vol. 3 MONITORX,
 * MWAITX; Arm ARM "Wait for Event mechanism" (the exclusive monitor), Linux
 * Documentation/arm64/elf_hwcaps.
 */
#include "idle.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

/* No CQE came and the queue is alive, so the thread may rest. */
static bool is_quiet(const struct bsn_cq *cq, uint8_t own)
{
	return (own ^ cq->phase) & BSN_CQ_NOT_OURS && !__atomic_load_n(&cq->dead, __ATOMIC_RELAXED);
}

#if defined(__x86_64__)

enum {
	REST_TICKS =
		8192, /* of the time stamp counter; the kernel's own limit for UMWAIT is 100,000 */
	LEAF_FEATURES = 7,
	WAITPKG_ECX = 1 << 5,
	MWAITX_ECX = 1 << 29,
	UMWAIT_C0_1 = 1, /* the lighter of two states: it wakes faster */
	MWAITX_BY_TIMER = 2,
};

#define LEAF_AMD_FEATURES 0x80000001u

enum bsn_idle bsn_idle_choose(void)
{
	unsigned a, b, c, d;

	if (__get_cpuid_count(LEAF_FEATURES, 0, &a, &b, &c, &d) && c & WAITPKG_ECX)
		return BSN_IDLE_UMWAIT;
	if (__get_cpuid(LEAF_AMD_FEATURES, &a, &b, &c, &d) && c & MWAITX_ECX)
		return BSN_IDLE_MWAITX;
	return BSN_IDLE_PAUSE;
}

__attribute__((target("waitpkg"))) static void rest_by_umwait(const struct bsn_cq *cq)
{
	const uint8_t *const own = cq->next + BSN_CQE_OP_OWN_OFFSET;

	_umonitor((void *)(uintptr_t)own);
	if (is_quiet(cq, __atomic_load_n(own, __ATOMIC_ACQUIRE)))
		_umwait(UMWAIT_C0_1, __rdtsc() + REST_TICKS);
}

__attribute__((target("mwaitx"))) static void rest_by_mwaitx(const struct bsn_cq *cq)
{
	const uint8_t *const own = cq->next + BSN_CQE_OP_OWN_OFFSET;

	_mm_monitorx((void *)(uintptr_t)own, 0, 0);
	if (is_quiet(cq, __atomic_load_n(own, __ATOMIC_ACQUIRE)))
		_mm_mwaitx(MWAITX_BY_TIMER, 0, REST_TICKS);
}

static void rest(const struct bsn_cq *cq, enum bsn_idle how)
{
	if (how == BSN_IDLE_UMWAIT)
		rest_by_umwait(cq);
	else
		rest_by_mwaitx(cq);
}

static void take_breath(void)
{
	_mm_pause();
}

#elif defined(__aarch64__)

enum { HWCAP_EVENT_STREAM = 1 << 2 };

enum bsn_idle bsn_idle_choose(void)
{
	return getauxval(AT_HWCAP) & HWCAP_EVENT_STREAM ? BSN_IDLE_WFE : BSN_IDLE_PAUSE;
}

static void rest(const struct bsn_cq *cq, enum bsn_idle how)
{
	const uint8_t *const at = cq->next + BSN_CQE_OP_OWN_OFFSET;
	uint32_t own;

	(void)how;
	__asm__ volatile("ldaxrb %w0, [%1]" : "=r"(own) : "r"(at) : "memory");
	if (is_quiet(cq, (uint8_t)own))
		__asm__ volatile("wfe" ::: "memory");
	else
		__asm__ volatile("clrex" ::: "memory");
}

static void take_breath(void)
{
	__asm__ volatile("yield" ::: "memory");
}

#endif

void bsn_cq_idle(const struct bsn_cq *cq, enum bsn_idle how)
{
	if (how == BSN_IDLE_PAUSE || cq->path)
		take_breath();
	else
		rest(cq, how);
}
