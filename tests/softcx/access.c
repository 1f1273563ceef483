/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The decoders alone: known encodings, cut short at each byte, refused ones, and random bytes.
 * trap.c tests what the encodings mean, by running them.
 */
#include "unit.h"
#include "shim/access.h"

static uint8_t xmm[16][16], ymm_high[16][16], zmm_high[16][32], zmm_upper[16][64], v[32][16];
static struct x86_regs x86 = {
	.xmm = xmm, .ymm_high = ymm_high, .zmm_high = zmm_high, .zmm_upper = zmm_upper
};
static struct arm64_regs arm64 = { .v = v };

static int set_up(void **state)
{
	for (unsigned k = 0; k < 16; k++)
		x86.gpr[k] = 0x1000 * (k + 1);
	x86.rip = 0x400000;
	x86.fs_base = 0x70000000;
	for (unsigned k = 0; k < 31; k++)
		arm64.x[k] = 0x1000 * (k + 1);
	arm64.sp = 0x50000;
	for (unsigned k = 0; k < 32 * 16; k++)
		v[k / 16][k % 16] = k;
	return 0;
}

/* clang-format off */
static const struct {
	const char *text;
	uint8_t code[ACCESS_MAX_INSN_BYTES];
	uint8_t bytes, size;
	uint64_t address;
} known[] = {
	{ "mov %rax,(%rdi)", { 0x48, 0x89, 0x07 }, 3, 8, 0x8000 },
	{ "mov %rdx,(%rcx,%rax,4)", { 0x48, 0x89, 0x14, 0x81 }, 4, 8, 0x2000 + 4 * 0x1000 },
	{ "mov %rax,0x10(%rip)", { 0x48, 0x89, 0x05, 0x10, 0, 0, 0 }, 7, 8, 0x400017 },
	{ "movl $1,0x10(%rip)", { 0xc7, 0x05, 0x10, 0, 0, 0, 1, 0, 0, 0 }, 10, 4, 0x40001a },
	{ "mov %rax,%fs:0x28", { 0x64, 0x48, 0x89, 0x04, 0x25, 0x28, 0, 0, 0 }, 9, 8, 0x70000028 },
	{ "mov %rax,-1(%edi)", { 0x67, 0x48, 0x89, 0x47, 0xff }, 5, 8, 0x7fff },
	{ "vmovups %ymm1,(%r8)", { 0xc4, 0xc1, 0x7c, 0x11, 0x08 }, 5, 32, 0x9000 },
	{ "vmovdqu64 %zmm2,0x40(%rdi)", { 0x62, 0xf1, 0xfe, 0x48, 0x7f, 0x57, 1 }, 7, 64, 0x8040 },
	{ "vmovdqu64 %ymm16,-0x20(%rdi)", { 0x62, 0xe1, 0xfe, 0x28, 0x7f, 0x47, 0xff }, 7, 32,
	  0x7fe0 },
	{ "movdir64b (%rsi),%rdi", { 0x66, 0x0f, 0x38, 0xf8, 0x3e }, 5, 64, 0x8000 },
};

static const struct {
	const char *text;
	uint8_t code[ACCESS_MAX_INSN_BYTES];
	uint8_t bytes;
} refused[] = {
	{ "rep movsq", { 0xf3, 0x48, 0xa5 }, 3 },
	{ "stosq", { 0x48, 0xab }, 2 },
	{ "xchg %rax,(%rdi)", { 0x48, 0x87, 0x07 }, 3 },
	{ "lock add %eax,(%rdi)", { 0xf0, 0x01, 0x07 }, 3 },
	{ "add %eax,(%rdi)", { 0x01, 0x07 }, 2 },
	{ "mov %rax,%rdi", { 0x48, 0x89, 0xc7 }, 3 },
	{ "mov %rax,%gs:(%rdi)", { 0x65, 0x48, 0x89, 0x07 }, 4 },
	{ "push %rax", { 0x50 }, 1 },
	{ "movq %mm0,(%rdi)", { 0x0f, 0x7f, 0x07 }, 3 },
	{ "vmovdqu64 %zmm2,(%rdi){%k1}", { 0x62, 0xf1, 0xfe, 0x49, 0x7f, 0x17 }, 6 },
	{ "vmovlps (%rdi),%xmm1,%xmm2", { 0xc5, 0xf0, 0x12, 0x17 }, 4 },
	{ "enqcmd (%rsi),%rdi", { 0xf2, 0x0f, 0x38, 0xf8, 0x3e }, 5 },
	{ "c7 /1", { 0xc7, 0x0f, 1, 0, 0, 0 }, 6 },
};

static const struct {
	const char *text;
	uint32_t insn;
	uint8_t size;
	uint64_t address, moved; /* the base afterwards; 0: unchanged */
	uint8_t first; /* the first byte of data */
} arm[] = {
	{ "str x2, [x0]", 0xf9000002, 8, 0x1000, 0, 0x00 },
	{ "str x2, [x0, #8]", 0xf9000402, 8, 0x1008, 0, 0x00 },
	{ "str w2, [sp, #4]", 0xb90007e2, 4, 0x50004, 0, 0x00 },
	{ "str x2, [x0], #8", 0xf8008402, 8, 0x1000, 0x1008, 0x00 },
	{ "str x2, [x0, #-8]!", 0xf81f8c02, 8, 0xff8, 0xff8, 0x00 },
	{ "stp x2, x3, [x0, #16]", 0xa9010c02, 16, 0x1010, 0, 0x00 },
	{ "stp q2, q3, [x0], #32", 0xac810c02, 32, 0x1000, 0x1020, 0x20 },
	{ "str q2, [x0]", 0x3d800002, 16, 0x1000, 0, 0x20 },
	{ "st1 {v4.16b-v7.16b}, [x0]", 0x4c002004, 64, 0x1000, 0, 0x40 },
	{ "st4 {v4.2d-v7.2d}, [x0], #64", 0x4c9f0c04, 64, 0x1000, 0x1040, 0x40 },
	{ "stlr x2, [x0]", 0xc89ffc02, 8, 0x1000, 0, 0x00 },
	{ "st64b x2, [x0]", 0xf83f9002, 64, 0x1000, 0, 0x00 },
};

static const struct {
	const char *text;
	uint32_t insn;
} arm_refused[] = {
	{ "ldr x2, [x0]", 0xf9400002 }, { "ldp x2, x3, [x0]", 0xa9400c02 },
	{ "ldadd x1, x2, [x0]", 0xf8210002 }, { "swp x1, x2, [x0]", 0xf8218002 },
	{ "stxr w1, x2, [x0]", 0xc8017c02 }, { "nop", 0xd503201f }, { "ret", 0xd65f03c0 },
	{ "prfm", 0xf9800000 }, { "st64b x3", 0xf83f9003 }, { "st64b x24", 0xf83f9018 },
	{ "ld1", 0x4c402004 }, { "sttr x2, [x0]", 0xf8000802 },
};
/* clang-format on */

static void x86_knows_the_address_and_the_size(void **state)
{
	struct access a;

	for (size_t k = 0; k < COUNT_OF(known); k++) {
		if (access_decode_x86(known[k].code, ACCESS_MAX_INSN_BYTES, &x86, &a))
			fail_msg("%s refused", known[k].text);
		if (a.insn_bytes != known[k].bytes || a.size != known[k].size ||
		    a.address != known[k].address)
			fail_msg("%s: %u bytes, %u to %#llx", known[k].text, a.insn_bytes, a.size,
				 (unsigned long long)a.address);
		for (unsigned n = 0; n < known[k].bytes; n++)
			assert_int_equal(access_decode_x86(known[k].code, n, &x86, &a), -ENODATA);
	}
}

static void x86_refuses_what_is_no_plain_move(void **state)
{
	struct access a;

	for (size_t k = 0; k < COUNT_OF(refused); k++)
		if (access_decode_x86(refused[k].code, refused[k].bytes, &x86, &a) != -EBADMSG)
			fail_msg("%s accepted", refused[k].text);
}

static void absent_registers_are_refused(void **state)
{
	static const uint8_t ymm[] = { 0xc5, 0xfc, 0x11, 0x0f }, low[] = { 0x0f, 0x11, 0x0f };
	struct x86_regs fxsave = { .xmm = xmm };
	const uint8_t q[] = { 0x02, 0x00, 0x80, 0x3d };
	struct access a;

	assert_int_equal(access_decode_x86(ymm, sizeof(ymm), &fxsave, &a), -ENXIO);
	assert_int_equal(access_decode_x86(low, sizeof(low), &fxsave, &a), 0);
	assert_int_equal(access_decode_arm64(q, sizeof(q), &(struct arm64_regs){ 0 }, &a), -ENXIO);
}

static int decode_arm64(uint32_t insn, struct access *a)
{
	const uint8_t code[4] = { insn, insn >> 8, insn >> 16, insn >> 24 };

	return access_decode_arm64(code, sizeof(code), &arm64, a);
}

static void arm64_knows_the_address_and_the_size(void **state)
{
	struct access a;

	for (size_t k = 0; k < COUNT_OF(arm); k++) {
		if (decode_arm64(arm[k].insn, &a))
			fail_msg("%s refused", arm[k].text);
		if (a.size != arm[k].size || a.address != arm[k].address ||
		    a.data[0] != arm[k].first ||
		    (a.writeback.present ? a.writeback.value : 0) != arm[k].moved)
			fail_msg("%s: %u to %#llx", arm[k].text, a.size,
				 (unsigned long long)a.address);
	}
	assert_int_equal(access_decode_arm64((const uint8_t *)"\2\0\0", 3, &arm64, &a), -ENODATA);
}

static void arm64_refuses_what_is_no_plain_store(void **state)
{
	struct access a;

	for (size_t k = 0; k < COUNT_OF(arm_refused); k++)
		if (decode_arm64(arm_refused[k].insn, &a) != -EBADMSG)
			fail_msg("%s accepted", arm_refused[k].text);
}

/* Random bytes after a valid prefix; the answer must be as the header says. */
static void any_bytes_are_judged(void **state)
{
	static const uint8_t leads[] = {
		0x62, 0xc4, 0xc5, 0x0f, 0x66, 0x48, 0xf3, 0x89, 0xc7, 0x67
	};
	uint64_t random = 88172645463325252u;
	uint8_t code[ACCESS_MAX_BYTES] = { 0 }; /* serves as the loaded data, too */
	struct access a;

	for (unsigned round = 0; round < 2000000; round++) {
		for (unsigned k = 0; k < 16; k += 8) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			memcpy(code + k, &random, 8);
		}
		if (!decode_arm64(random, &a))
			assert_in_range(a.size, 1, ACCESS_MAX_BYTES);
		code[0] = round & 1 ? leads[round / 2 % sizeof(leads)] : code[0];
		if (access_decode_x86(code, round % 17, &x86, &a))
			continue;
		assert_in_range(a.size, 1, ACCESS_MAX_BYTES);
		assert_in_range(a.insn_bytes, 2, round % 17);
		if (a.kind == ACCESS_LOAD)
			assert_int_equal(access_finish_load_x86(&a, code, &x86), 0);
	}
}

int main(void)
{
	return RUN_IN(set_up, NULL, UNIT(x86_knows_the_address_and_the_size),
		      UNIT(x86_refuses_what_is_no_plain_move), UNIT(absent_registers_are_refused),
		      UNIT(arm64_knows_the_address_and_the_size),
		      UNIT(arm64_refuses_what_is_no_plain_store), UNIT(any_bytes_are_judged));
}
