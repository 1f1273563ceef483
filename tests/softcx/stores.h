/* SPDX-License-Identifier: BSD-2-Clause */
/* Each kind of store instruction, and copies of 64 bytes as compilers make them. */
#ifndef TESTS_SOFTCX_STORES_H
#define TESTS_SOFTCX_STORES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct snippet {
	const char *name, *feature;
	void (*run)(void *to, const void *from);
	unsigned stores;
};

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

static const struct snippet snippets[] = {
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

static const struct snippet snippets[] = {
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

#endif
