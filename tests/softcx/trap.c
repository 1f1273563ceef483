/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares trapped stores with the same stores into ordinary memory: every kind of store
 * instruction, in both modes. Also: stores that must not be absorbed, and other faults, which keep
 * their meaning.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "shim/access.h"
#include "shim/trap.h"

enum { PAGES = 4, START = 2 * TRAP_PAGE_BYTES, BLOCK = 0x800 };

static int memfd;
static uint8_t *uar; /* the program's mapping */
static uint8_t pattern[256] __attribute__((aligned(64)));
static volatile unsigned calls; /* changes under a store */
static struct softcx_store seen[64];

static void on_store(void *context, uint32_t page, uint32_t offset, const void *data, uint32_t size)
{
	assert_ptr_equal(context, seen);
	if (calls < 64) {
		seen[calls].page = page;
		seen[calls].offset = offset;
		seen[calls].size = size;
		memcpy(seen[calls].data, data, size);
	}
	calls++;
	errno = EDOM; /* the handler preserves it */
}

/* A function void f(void *to, const void *from) of one or more instructions. */
#define CODE(name, text)                                                                           \
	void name(void *to, const void *from);                                                     \
	__asm__(".pushsection .text\n.globl " #name "\n.type " #name ", @function\n" #name         \
		":\n" text "\n.size " #name ", . - " #name "\n.popsection")

#if defined(__x86_64__)
/* clang-format off */
CODE(s_mov8, "mov (%rsi), %al; mov %al, (%rdi); ret");
CODE(s_mov8_high, "mov (%rsi), %ax; mov %ah, (%rdi); ret");
CODE(s_mov8_rex, "mov (%rsi), %r10b; mov %r10b, 7(%rdi); ret");
CODE(s_mov8_sil, "mov (%rsi), %esi; mov %sil, (%rdi); ret");
CODE(s_mov16, "mov (%rsi), %r9w; mov %r9w, 2(%rdi); ret");
CODE(s_mov32, "mov (%rsi), %ecx; mov %ecx, 4(%rdi); ret");
CODE(s_mov64, "mov (%rsi), %r11; mov %r11, 8(%rdi); ret");
CODE(s_mov64_index, "mov (%rsi), %rax; mov $3, %ecx; mov %rax, 8(%rdi,%rcx,8); ret");
CODE(s_mov64_base_r13, "push %r13; mov %rdi, %r13; mov (%rsi), %rax; mov %rax, (%r13); pop %r13; ret");
CODE(s_mov64_base_r12, "push %r12; mov %rdi, %r12; mov (%rsi), %rax; mov %rax, (%r12); pop %r12; ret");
CODE(s_mov64_index_r12, "push %r12; mov $4, %r12d; mov (%rsi), %rax; mov %rax, (%rdi,%r12,2); pop %r12; ret");
CODE(s_mov64_no_base, "mov (%rsi), %rax; mov %rax, 0x10(,%rdi,1); ret");
CODE(s_mov64_negative, "mov (%rsi), %rax; add $256, %rdi; mov %rax, -256(%rdi); ret");
CODE(s_imm8, "movb $0x9a, (%rdi); ret");
CODE(s_imm16, "movw $0x9abc, (%rdi); ret");
CODE(s_imm32, "movl $0x9abcdef0, 12(%rdi); ret");
CODE(s_imm64, "movq $-2, 0x90(%rdi); ret");
CODE(s_movnti32, "mov (%rsi), %eax; movnti %eax, (%rdi); sfence; ret");
CODE(s_movnti64, "mov (%rsi), %r8; movnti %r8, 8(%rdi); sfence; ret");
CODE(s_movups, "movups 1(%rsi), %xmm0; movups %xmm0, 1(%rdi); ret");
CODE(s_movupd, "movupd (%rsi), %xmm9; movupd %xmm9, (%rdi); ret");
CODE(s_movaps, "movaps (%rsi), %xmm7; movaps %xmm7, 16(%rdi); ret");
CODE(s_movapd, "movapd (%rsi), %xmm7; movapd %xmm7, 16(%rdi); ret");
CODE(s_movdqu, "movdqu (%rsi), %xmm15; movdqu %xmm15, (%rdi); ret");
CODE(s_movdqa, "movdqa (%rsi), %xmm1; movdqa %xmm1, (%rdi); ret");
CODE(s_movntdq, "movdqa (%rsi), %xmm8; movntdq %xmm8, (%rdi); sfence; ret");
CODE(s_movntps, "movaps (%rsi), %xmm8; movntps %xmm8, (%rdi); sfence; ret");
CODE(s_movss, "movups (%rsi), %xmm3; movss %xmm3, (%rdi); ret");
CODE(s_movsd, "movups (%rsi), %xmm3; movsd %xmm3, (%rdi); ret");
CODE(s_movq, "movups (%rsi), %xmm3; movq %xmm3, (%rdi); ret");
CODE(s_movq_w, "movups (%rsi), %xmm3; .byte 0x66,0x48,0x0f,0x7e,0x1f; ret");
CODE(s_movd, "movups (%rsi), %xmm11; movd %xmm11, (%rdi); ret");
CODE(s_movlps, "movups (%rsi), %xmm3; movlps %xmm3, (%rdi); ret");
CODE(s_movhps, "movups (%rsi), %xmm3; movhps %xmm3, (%rdi); ret");
CODE(s_pextrq, "movups (%rsi), %xmm3; pextrq $1, %xmm3, (%rdi); ret");
CODE(s_pextrd, "movups (%rsi), %xmm3; pextrd $2, %xmm3, (%rdi); ret");
CODE(s_movbe, "mov (%rsi), %rax; movbe %rax, (%rdi); movbe %eax, 8(%rdi); movbe %ax, 12(%rdi); ret");
CODE(s_vmovdqu_x, "vmovdqu (%rsi), %xmm2; vmovdqu %xmm2, (%rdi); vzeroupper; ret");
CODE(s_vmovdqu_y, "vmovdqu (%rsi), %ymm2; vmovdqu %ymm2, (%rdi); vzeroupper; ret");
CODE(s_vmovdqu_y14, "vmovdqu (%rsi), %ymm14; push %r12; mov %rdi, %r12; vmovdqu %ymm14, 32(%r12); pop %r12; vzeroupper; ret");
CODE(s_vmovups_y, "vmovups (%rsi), %ymm2; vmovups %ymm2, (%rdi); vzeroupper; ret");
CODE(s_vmovntdq_y, "vmovdqa (%rsi), %ymm2; vmovntdq %ymm2, (%rdi); sfence; vzeroupper; ret");
CODE(s_vextract, "vmovdqu (%rsi), %ymm2; vextracti128 $1, %ymm2, (%rdi); vextractf128 $0, %ymm2, 16(%rdi); vzeroupper; ret");
CODE(s_vmovdqu64_z, "vmovdqu64 (%rsi), %zmm2; vmovdqu64 %zmm2, (%rdi); vzeroupper; ret");
CODE(s_vmovdqu8_z, "vmovdqu8 (%rsi), %zmm2; vmovdqu8 %zmm2, (%rdi); vzeroupper; ret");
CODE(s_vmovdqa32_z30, "vmovdqa32 (%rsi), %zmm30; vmovdqa32 %zmm30, 0x40(%rdi); vpxord %zmm30, %zmm30, %zmm30; ret");
CODE(s_vmovdqu64_y17, "vmovdqu64 (%rsi), %ymm17; vmovdqu64 %ymm17, 0x20(%rdi); vmovdqu64 %ymm17, 0x21(%rdi); ret");
CODE(s_vmovups_z, "vmovups (%rsi), %zmm31; vmovups %zmm31, (%rdi); ret");
CODE(s_vmovntdq_z, "vmovdqa64 (%rsi), %zmm5; vmovntdq %zmm5, (%rdi); sfence; vzeroupper; ret");
CODE(s_vmovntps_z, "vmovaps (%rsi), %zmm21; vmovntps %zmm21, 64(%rdi); sfence; ret");
CODE(s_movdiri, "mov (%rsi), %rax; movdiri %rax, (%rdi); movdiri %eax, 8(%rdi); ret");
CODE(s_movdir64b, "movdir64b (%rsi), %rdi; ret");

/* Copies of 64 bytes as compilers make them, with the instructions that they need in between. */
CODE(c_mov64, "mov (%rsi),%rax; mov %rax,(%rdi); mov 8(%rsi),%rax; mov %rax,8(%rdi);"
	      "mov 16(%rsi),%rax; mov %rax,16(%rdi); mov 24(%rsi),%rax; mov %rax,24(%rdi);"
	      "mov 32(%rsi),%rax; mov %rax,32(%rdi); mov 40(%rsi),%rax; mov %rax,40(%rdi);"
	      "mov 48(%rsi),%rax; mov %rax,48(%rdi); mov 56(%rsi),%rax; mov %rax,56(%rdi); ret");
CODE(c_movdqu, "movdqu (%rsi),%xmm0; movdqu %xmm0,(%rdi); movdqu 16(%rsi),%xmm1; movdqu %xmm1,16(%rdi);"
	       "movdqu 32(%rsi),%xmm8; movdqu %xmm8,32(%rdi); movdqu 48(%rsi),%xmm0; movdqu %xmm0,48(%rdi); ret");
CODE(c_descending, "vmovdqu (%rsi),%ymm0; vmovdqu 32(%rsi),%ymm1; vmovdqu %ymm1,32(%rdi); vmovdqu %ymm0,(%rdi); vzeroupper; ret");
CODE(c_ymm, "vmovdqu (%rsi),%ymm0; vmovdqu %ymm0,(%rdi); vmovdqu 32(%rsi),%ymm1; vmovdqu %ymm1,32(%rdi); vzeroupper; ret");
CODE(c_ymm_evex, "vmovdqu64 (%rsi),%ymm16; vmovdqu64 %ymm16,(%rdi); vmovdqu64 32(%rsi),%ymm17; vmovdqu64 %ymm17,32(%rdi); ret");
CODE(c_halves, "movq (%rsi),%xmm0; movq %xmm0,(%rdi); movhps 8(%rsi),%xmm0; movhps %xmm0,8(%rdi);"
	       "movbe 16(%rsi),%rax; movbe %rax,16(%rdi); mov 24(%rsi),%eax; mov %rax,24(%rdi);"
	       "mov 32(%rsi),%cl; mov 33(%rsi),%ch; mov %cx,32(%rdi); movss 36(%rsi),%xmm1; movups %xmm1,36(%rdi); ret");

static bool have(const char *feature)
{
	FILE *f = fopen("/proc/cpuinfo", "r");
	char line[8192], word[64];
	bool found = false;

	snprintf(word, sizeof(word), " %s ", feature);
	while (f && !found && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = ' ';
		found = !strncmp(line, "flags", 5) && strstr(line, word);
	}
	if (f)
		fclose(f);
	return found;
}

static const struct snippet {
	const char *name, *feature;
	void (*run)(void *to, const void *from);
	unsigned stores;
} snippets[] = {
#define S(name, feature, stores) { #name, feature, s_##name, stores }
	S(mov8, NULL, 1), S(mov8_high, NULL, 1), S(mov8_rex, NULL, 1), S(mov8_sil, NULL, 1),
	S(mov16, NULL, 1), S(mov32, NULL, 1), S(mov64, NULL, 1), S(mov64_index, NULL, 1),
	S(mov64_base_r13, NULL, 1), S(mov64_base_r12, NULL, 1), S(mov64_index_r12, NULL, 1),
	S(mov64_no_base, NULL, 1), S(mov64_negative, NULL, 1),
	S(imm8, NULL, 1), S(imm16, NULL, 1), S(imm32, NULL, 1), S(imm64, NULL, 1),
	S(movnti32, NULL, 1), S(movnti64, NULL, 1), S(movups, NULL, 1), S(movupd, NULL, 1),
	S(movaps, NULL, 1), S(movapd, NULL, 1), S(movdqu, NULL, 1), S(movdqa, NULL, 1),
	S(movntdq, NULL, 1), S(movntps, NULL, 1), S(movss, NULL, 1), S(movsd, NULL, 1),
	S(movq, NULL, 1), S(movq_w, NULL, 1), S(movd, NULL, 1), S(movlps, NULL, 1),
	S(movhps, NULL, 1), S(pextrq, "sse4_1", 1), S(pextrd, "sse4_1", 1), S(movbe, "movbe", 3),
	S(vmovdqu_x, "avx", 1), S(vmovdqu_y, "avx", 1), S(vmovdqu_y14, "avx", 1),
	S(vmovups_y, "avx", 1), S(vmovntdq_y, "avx", 1), S(vextract, "avx2", 2),
	S(vmovdqu64_z, "avx512f", 1), S(vmovdqu8_z, "avx512bw", 1), S(vmovdqa32_z30, "avx512f", 1),
	S(vmovdqu64_y17, "avx512vl", 2), S(vmovups_z, "avx512f", 1), S(vmovntdq_z, "avx512f", 1),
	S(vmovntps_z, "avx512f", 1), S(movdiri, "movdiri", 2), S(movdir64b, "movdir64b", 1),
#undef S
};

static const struct snippet copies[] = {
	{ "mov64", NULL, c_mov64, 8 }, { "movdqu", NULL, c_movdqu, 4 },
	{ "descending", "avx", c_descending, 2 }, { "ymm", "avx", c_ymm, 2 },
	{ "ymm_evex", "avx512vl", c_ymm_evex, 2 }, { "movdir64b", "movdir64b", s_movdir64b, 1 },
};
/* clang-format on */
#else
/* clang-format off */
#undef CODE
#define CODE(name, text)                                                                           \
	void name(void *to, const void *from);                                                     \
	__asm__(".pushsection .text\n.globl " #name "\n.type " #name                               \
		", %function\n" #name ":\n" text "\n.size " #name ", . - " #name "\n.popsection")
CODE(s_strb, "ldr x2, [x1]\nstrb w2, [x0]\nret");
CODE(s_strh, "ldr x2, [x1]\nstrh w2, [x0, #2]\nret");
CODE(s_str_w, "ldr x2, [x1]\nstr w2, [x0, #4]\nret");
CODE(s_str_x, "ldr x2, [x1]\nstr x2, [x0, #8]\nret");
CODE(s_str_xzr, "str xzr, [x0, #8]\nret");
CODE(s_stur, "ldr x2, [x1]\nadd x0, x0, #9\nstur x2, [x0, #-9]\nret");
CODE(s_post, "ldr x2, [x1]\nstr x2, [x0], #24\nstr x2, [x0]\nret");
CODE(s_pre, "ldr x2, [x1]\nstr x2, [x0, #16]!\nstr x2, [x0, #8]\nret");
CODE(s_index, "ldr x2, [x1]\nmov x3, #3\nstr x2, [x0, x3, lsl #3]\nret");
CODE(s_index_sxtw, "ldr x2, [x1]\nmov w3, #-1\nadd x0, x0, #8\nstr x2, [x0, w3, sxtw #3]\nret");
CODE(s_stp, "ldp x2, x3, [x1]\nstp x2, x3, [x0, #16]\nret");
CODE(s_stp_w, "ldp x2, x3, [x1]\nstp w2, w3, [x0]\nret");
CODE(s_stp_post, "ldp x2, x3, [x1]\nstp x2, x3, [x0], #16\nstp x3, x2, [x0], #16\nret");
CODE(s_stnp, "ldp x2, x3, [x1]\nstnp x2, x3, [x0]\nret");
CODE(s_stlr, "ldr x2, [x1]\nstlr x2, [x0]\nret");
CODE(s_str_q, "ldr q2, [x1]\nstr q2, [x0, #16]\nret");
CODE(s_str_d, "ldr q2, [x1]\nstr d2, [x0, #16]\nret");
CODE(s_str_s, "ldr q2, [x1]\nstr s2, [x0]\nret");
CODE(s_stp_q, "ldp q2, q31, [x1]\nstp q2, q31, [x0, #32]\nret");
CODE(s_st1_4, "ld1 {v0.16b-v3.16b}, [x1]\nst1 {v0.16b-v3.16b}, [x0]\nret");
CODE(s_st1_1, "ld1 {v0.8h}, [x1]\nst1 {v0.8h}, [x0], #16\nst1 {v0.8b}, [x0]\nret");
CODE(s_st4, "ld4 {v4.2d-v7.2d}, [x1]\nst4 {v4.2d-v7.2d}, [x0]\nret");
CODE(s_st4_b, "ld1 {v4.16b-v7.16b}, [x1]\nst4 {v4.16b-v7.16b}, [x0]\nret");
CODE(s_st3, "ld1 {v4.16b-v7.16b}, [x1]\nst3 {v4.4s-v6.4s}, [x0]\nret");
CODE(s_st2, "ld1 {v30.16b-v31.16b}, [x1]\nst2 {v30.8h-v31.8h}, [x0]\nret");
CODE(c_stp, "ldp x2, x3, [x1]\nldp x4, x5, [x1, #16]\nldp x6, x7, [x1, #32]\nldp x8, x9, [x1, #48]\n"
	    "stp x2, x3, [x0]\nstp x4, x5, [x0, #16]\nstp x6, x7, [x0, #32]\nstp x8, x9, [x0, #48]\nret");

static bool have(const char *feature)
{
	(void)feature;
	return false;
}

static const struct snippet {
	const char *name, *feature;
	void (*run)(void *to, const void *from);
	unsigned stores;
} snippets[] = {
#define S(name, stores) { #name, NULL, s_##name, stores }
	S(strb, 1), S(strh, 1), S(str_w, 1), S(str_x, 1), S(str_xzr, 1), S(stur, 1), S(post, 2),
	S(pre, 2), S(index, 1), S(index_sxtw, 1), S(stp, 1), S(stp_w, 1), S(stp_post, 2),
	S(stnp, 1), S(stlr, 1), S(str_q, 1), S(str_d, 1), S(str_s, 1), S(stp_q, 1), S(st1_4, 1),
	S(st1_1, 2), S(st4, 1), S(st4_b, 1), S(st3, 1), S(st2, 1),
#undef S
};

static const struct snippet copies[] = { { "stp", NULL, c_stp, 4 }, { "st4", NULL, s_st4, 1 } };
/* clang-format on */
#endif

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void answer(void *context, uint32_t offset, uint8_t *data, uint32_t size);

static int set_up(void **state)
{
	const struct trap_listener listener = { .report = on_store, .answer = answer, .context = seen };

	(void)state;
	for (size_t k = 0; k < sizeof(pattern); k++)
		pattern[k] = 0x11 + k * 7;
	memfd = memfd_create("uar", MFD_CLOEXEC);
	assert_true(memfd >= 0);
	assert_int_equal(ftruncate(memfd, START + PAGES * TRAP_PAGE_BYTES), 0);
	assert_int_equal(trap_cover(0), -ENXIO);
	assert_int_equal(trap_install(memfd, START, PAGES * TRAP_PAGE_BYTES, TRAP_EXACT, &listener),
			 0);
	assert_int_equal(trap_install(memfd, START, TRAP_PAGE_BYTES, TRAP_EXACT, &listener),
			 -EALREADY);
	assert_int_equal(trap_cover(1), -ENXIO); /* nobody has mapped it yet */
	uar = mmap(NULL, TRAP_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memfd,
		   START + TRAP_PAGE_BYTES);
	assert_ptr_not_equal(uar, MAP_FAILED);
	assert_int_equal(trap_cover(1), 0);
	assert_int_equal(trap_cover(2), -ENXIO);
	return 0;
}

/* Runs a snippet on the trapped page and on memory; the bytes must be the same. */
static void run_both(const struct snippet *s, uint8_t *memory)
{
	uint8_t before[256];

	memcpy(before, uar + BLOCK, sizeof(before));
	memcpy(memory, before, sizeof(before));

	calls = 0;
	errno = 0;
	s->run(uar + BLOCK, pattern);
	assert_int_equal(errno, 0);
	s->run(memory, pattern);
	if (memcmp(uar + BLOCK, memory, sizeof(before)))
		fail_msg("%s stored something else", s->name);
}

static void each_store_is_one_report(void **state)
{
	static uint8_t memory[256] __attribute__((aligned(64)));

	(void)state;
	trap_set_mode(TRAP_EXACT);
	for (size_t k = 0; k < COUNT(snippets); k++) {
		const struct snippet *s = &snippets[k];

		if (s->feature && !have(s->feature)) {
			print_message("# %s: no %s\n", s->name, s->feature);
			continue;
		}
		run_both(s, memory);
		if (calls != s->stores)
			fail_msg("%s: %u reports", s->name, calls);
		for (unsigned c = 0; c < calls; c++) {
			assert_int_equal(seen[c].page, 1);
			assert_memory_equal(&memory[seen[c].offset - BLOCK], seen[c].data,
					    s->stores == 1 ? seen[c].size : 0);
		}
	}
}

static void a_block_is_one_report_when_absorbed(void **state)
{
	static uint8_t memory[256] __attribute__((aligned(64)));

	(void)state;
	for (size_t k = 0; k < COUNT(copies); k++) {
		const struct snippet *s = &copies[k];

		if (s->feature && !have(s->feature))
			continue;
		trap_set_mode(TRAP_EXACT);
		run_both(s, memory);
		assert_int_equal(calls, s->stores);
		trap_set_mode(TRAP_ABSORB);
		run_both(s, memory);
		if (calls != 1)
			fail_msg("%s: %u reports", s->name, calls);
		assert_int_equal(seen[0].offset, BLOCK);
		assert_int_equal(seen[0].size, 64);
		assert_memory_equal(seen[0].data, pattern, 64);
	}
}

static void record_keeps_the_order(void **state)
{
	struct softcx_store stores[8];

	(void)state;
	trap_set_mode(TRAP_EXACT);
	assert_int_equal(softcx_record_stores(8), 0);
	for (unsigned k = 0; k < 10; k++)
		*(volatile uint64_t *)(uar + BLOCK + 256 * (k % 2)) = k;
	assert_int_equal(softcx_stores(stores, 8), 10);
	for (unsigned k = 0; k < 8; k++) {
		uint64_t value;

		memcpy(&value, stores[k].data, sizeof(value));
		assert_int_equal(value, k);
		assert_int_equal(stores[k].offset, BLOCK + 256 * (k % 2));
		assert_int_equal(stores[k].size, 8);
		assert_int_equal(stores[k].page, 1);
	}
	assert_int_equal(softcx_record_stores(0), 0);
}

#if defined(__x86_64__)
static void absorbed_loads_reach_their_registers(void **state)
{
	static const struct snippet mixed = { "halves", "movbe", c_halves, 7 };
	static uint8_t memory[256] __attribute__((aligned(64)));

	(void)state;
	if (!have("movbe"))
		skip();
	trap_set_mode(TRAP_ABSORB);
	run_both(&mixed, memory);
	assert_true(calls <= 3); /* bytes 34 and 35 are not written */
}
#endif

static sigjmp_buf back;
static volatile int handled;

static void on_fault(int number, siginfo_t *info, void *ucontext)
{
	(void)info;
	(void)ucontext;
	handled = number;
	siglongjmp(back, 1);
}

static void wild_store_reaches_the_programs_handler(void **state)
{
	struct sigaction mine = { .sa_flags = SA_SIGINFO }, old;
	char *readonly = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	mine.sa_sigaction = on_fault;
	sigfillset(&mine.sa_mask);
	for (volatile unsigned round = 0; round < 2; round++) {
		assert_int_equal(sigaction(SIGSEGV, &mine, &old), 0);
		handled = 0;
		if (!sigsetjmp(back, 1))
			*(volatile char *)readonly = 1;
		assert_int_equal(handled, SIGSEGV);
		calls = 0;
		*(volatile uint64_t *)(uar + BLOCK) = 1; /* doorbells still ring */
		assert_int_equal(calls, 1);
	}
	assert_ptr_equal(signal(SIGSEGV, SIG_DFL), on_fault);
	munmap(readonly, 4096);
}

/* The status of a child that runs `what`. */
static int in_child(void (*what)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		close(STDERR_FILENO);
		signal(SIGSEGV, SIG_DFL); /* the test framework has one of its own */
		what();
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static volatile char *volatile nowhere = (char *)8;

static void store_wildly(void)
{
	*nowhere = 1;
}

static void store_wildly_ignoring_it(void)
{
	signal(SIGSEGV, SIG_IGN);
	raise(SIGSEGV); /* a sent one can be ignored */
	store_wildly();
}

static void send_segv(void)
{
	raise(SIGSEGV);
}

static void add_to_doorbell(void)
{
	__atomic_fetch_add((uint64_t *)(uar + BLOCK), 1, __ATOMIC_SEQ_CST);
}

static void store_blocked(void)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	sigprocmask(SIG_BLOCK, &all, NULL);
	calls = 0;
	*(volatile uint64_t *)(uar + BLOCK) = 1;
	_exit(calls == 1 ? 0 : 1);
}

/* Its second fault: Linux blocks the signal while its handler runs. */
static void fault_again(int number)
{
	(void)number;
	if (handled++)
		_exit(1);
	store_wildly();
}

static void fault_in_the_handler(void)
{
	handled = 0;
	signal(SIGSEGV, fault_again);
	store_wildly();
}

/* The handler of this signal begins with SIGSEGV blocked, as its mask says. */
static void fault_in_another_handler(void)
{
	struct sigaction other = { .sa_handler = fault_again };

	handled = 0;
	sigfillset(&other.sa_mask);
	signal(SIGSEGV, fault_again);
	sigaction(SIGUSR1, &other, NULL);
	raise(SIGUSR1);
}

static void fault_blocked(void)
{
	sigset_t segv;

	handled = 0;
	signal(SIGSEGV, fault_again);
	sigemptyset(&segv);
	sigaddset(&segv, SIGSEGV);
	sigprocmask(SIG_BLOCK, &segv, NULL);
	store_wildly();
}

static void ring_in_the_handler(int number)
{
	(void)number;
	calls = 0;
	*(volatile uint64_t *)(uar + BLOCK) = 1;
	_exit(calls == 1 ? 0 : 1);
}

static void ring_after_a_fault(void)
{
	signal(SIGSEGV, ring_in_the_handler);
	store_wildly();
}

static void a_handler_may_ring(void **state)
{
	(void)state;
	assert_int_equal(in_child(ring_after_a_fault), 0);
}

static void leave_by_jump(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

/* Into a handler that may be left, and is entered again each time. */
static void fault_often(void)
{
	struct sigaction nodefer = { .sa_handler = fault_again, .sa_flags = SA_NODEFER };
	volatile int rounds = 0;

	signal(SIGSEGV, leave_by_jump);
	if (sigsetjmp(back, 1) < 1 || rounds < 3) {
		rounds++;
		store_wildly();
	}
	handled = 0;
	sigaction(SIGSEGV, &nodefer, NULL);
	store_wildly(); /* its handler faults, and runs once more, which is status 1 */
}

static void handlers_run_again_as_on_linux(void **state)
{
	int status = in_child(fault_often);

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
}

static void a_mask_is_read_back_as_it_was_set(void **state)
{
	struct sigaction set = { .sa_handler = leave_by_jump }, got;
	sigset_t segv, before, now;

	(void)state;
	sigemptyset(&segv);
	sigaddset(&segv, SIGSEGV);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, &segv, &before), 0);
	assert_int_equal(sigismember(&before, SIGSEGV), 0);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, &now), 0);
	assert_int_equal(sigismember(&now, SIGSEGV), 1);
	assert_int_equal(sigismember(&now, SIGSTKFLT), 0);
	set.sa_mask = segv;
	assert_int_equal(sigaction(SIGUSR2, &set, NULL), 0);
	assert_int_equal(sigaction(SIGUSR2, NULL, &got), 0);
	assert_int_equal(sigismember(&got.sa_mask, SIGSEGV), 1);
	signal(SIGUSR2, SIG_DFL);
}

static void *ring_once(void *arg)
{
	(void)arg;
	*(volatile uint64_t *)(uar + BLOCK) = 1;
	return NULL;
}

/* A thread that begins with all of them blocked. */
static void threads_ring_whatever_their_mask(void **state)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all;

	(void)state;
	sigfillset(&all);
	assert_int_equal(pthread_attr_init(&attr), 0);
	assert_int_equal(pthread_attr_setsigmask_np(&attr, &all), 0);
	calls = 0;
	assert_int_equal(pthread_create(&thread, &attr, ring_once, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(calls, 1);
	pthread_attr_destroy(&attr);
}

static void other_faults_still_kill(void **state)
{
	void (*const deadly[])(void) = {
		store_wildly,         store_wildly_ignoring_it, send_segv,    add_to_doorbell,
		fault_in_the_handler, fault_in_another_handler, fault_blocked
	};
	int status;

	(void)state;
	for (size_t k = 0; k < COUNT(deadly); k++) {
		status = in_child(deadly[k]);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGSEGV);
	}
}

static void doorbells_ring_with_every_signal_blocked(void **state)
{
	(void)state;
	assert_int_equal(in_child(store_blocked), 0);
}

static void unknown_store_is_named_with_its_bytes(void **state)
{
	int ends[2];
	char text[512] = "";
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		dup2(ends[1], STDERR_FILENO);
		add_to_doorbell();
		_exit(0);
	}
	close(ends[1]);
	assert_true(read(ends[0], text, sizeof(text) - 1) > 0);
	assert_non_null(strstr(text, "softcx: cannot emulate the store to the doorbell page"));
#if defined(__x86_64__)
	assert_non_null(strstr(text, "bytes f0 ")); /* the lock prefix */
#endif
	close(ends[0]);
	waitpid(pid, NULL, 0);
}

static void *ring_many(void *arg)
{
	volatile uint64_t *at = arg;

	for (unsigned k = 0; k < 2000; k++)
		*at = k;
	return NULL;
}

/* Covers the page again and again, as creating queues does, while another thread posts. */
static void covering_disturbs_no_poster(void **state)
{
	pthread_t poster;

	(void)state;
	trap_set_mode(TRAP_ABSORB);
	calls = 0;
	assert_int_equal(pthread_create(&poster, NULL, ring_many, uar + BLOCK), 0);
	for (unsigned k = 0; k < 200; k++)
		assert_int_equal(trap_cover(1), 0);
	pthread_join(poster, NULL);
	assert_int_equal(calls, 2000);
}

/* Each byte is its own offset, so that a load shows which bytes it got. */
static void answer(void *context, uint32_t offset, uint8_t *data, uint32_t size)
{
	assert_ptr_equal(context, seen);
	for (uint32_t i = 0; i < size; i++)
		data[i] = (uint8_t)(offset + i);
}

#if defined(__x86_64__)
CODE(r_mov32, "mov (%rsi), %eax; mov %eax, (%rdi); ret");
CODE(r_mov64, "mov 8(%rsi), %r9; mov %r9, (%rdi); ret");
CODE(r_mov8, "mov 3(%rsi), %cl; mov %cl, (%rdi); ret");
CODE(r_movbe32, "movbe 4(%rsi), %eax; mov %eax, (%rdi); ret");
CODE(r_movdqu, "movdqu 16(%rsi), %xmm5; movdqu %xmm5, (%rdi); ret");
#else
CODE(r_mov32, "ldr w3, [x1]; str w3, [x0]; ret");
CODE(r_mov64, "ldr x3, [x1, #8]; str x3, [x0]; ret");
CODE(r_mov8, "ldrb w3, [x1, #3]; strb w3, [x0]; ret");
CODE(r_movdqu, "ldr q5, [x1, #16]; str q5, [x0]; ret");
#endif

static void assert_read(void (*run)(void *to, const void *from), const void *page, const char *wanted, size_t size)
{
	uint8_t to[16];

	run(to, page);
	assert_memory_equal(to, wanted, size);
}

/* A page that is mapped later is answered once it is covered; until then it reads as the file. */
static void what_cannot_be_read_is_answered(void **state)
{
	const off_t page = TRAP_PAGE_BYTES;
	void *first, *second;

	(void)state;
	assert_int_equal(trap_cover_reads(page), 0); /* nobody has mapped it yet */
	first = mmap(NULL, TRAP_PAGE_BYTES, PROT_READ, MAP_SHARED, memfd, page);
	assert_ptr_not_equal(first, MAP_FAILED);
	assert_read(r_mov32, first, "\0\0\0\0", 4);
	assert_int_equal(trap_cover_reads(page), 0);
	second = mmap(NULL, TRAP_PAGE_BYTES, PROT_READ, MAP_SHARED, memfd, page);
	assert_ptr_not_equal(second, MAP_FAILED);
	assert_int_equal(trap_cover(1), 0); /* covers both */
	for (unsigned mode = TRAP_EXACT; mode <= TRAP_ABSORB; mode++) {
		trap_set_mode((enum trap_mode)mode);
		for (unsigned which = 0; which < 2; which++) {
			const void *at = which ? second : first;

			assert_read(r_mov32, at, "\0\1\2\3", 4);
			assert_read(r_mov64, at, "\10\11\12\13\14\15\16\17", 8);
			assert_read(r_mov8, at, "\3", 1);
			assert_read(r_movdqu, at, "\20\21\22\23\24\25\26\27\30\31\32\33\34\35\36\37", 16);
#if defined(__x86_64__)
			if (have("movbe"))
				assert_read(r_movbe32, at, "\7\6\5\4", 4);
#endif
		}
	}
	calls = 0;
	trap_set_mode(TRAP_EXACT);
	*(volatile uint64_t *)(void *)(uar + BLOCK) = 1;
	assert_int_equal(calls, 1); /* doorbells ring as before */
	munmap(first, TRAP_PAGE_BYTES);
	munmap(second, TRAP_PAGE_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_store_is_one_report),
		cmocka_unit_test(a_block_is_one_report_when_absorbed),
		cmocka_unit_test(record_keeps_the_order),
#if defined(__x86_64__)
		cmocka_unit_test(absorbed_loads_reach_their_registers),
#endif
		cmocka_unit_test(wild_store_reaches_the_programs_handler),
		cmocka_unit_test(other_faults_still_kill),
		cmocka_unit_test(doorbells_ring_with_every_signal_blocked),
		cmocka_unit_test(threads_ring_whatever_their_mask),
		cmocka_unit_test(a_handler_may_ring),
		cmocka_unit_test(handlers_run_again_as_on_linux),
		cmocka_unit_test(a_mask_is_read_back_as_it_was_set),
		cmocka_unit_test(unknown_store_is_named_with_its_bytes),
		cmocka_unit_test(covering_disturbs_no_poster),
		cmocka_unit_test(what_cannot_be_read_is_answered),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
