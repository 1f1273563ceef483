/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The frames of the two architectures. x86-64: struct sigcontext and, at fpregs, an XSAVE area in
 * standard format (Intel SDM volume 1, chapter 13; kernel arch/x86/include/uapi/asm/sigcontext.h
 * says how to recognise it). arm64: struct sigcontext with records in its reserved space (kernel
 * arch/arm64/include/uapi/asm/sigcontext.h).
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "frame.h"

bool trap_probe(void *to, const void *from, size_t n) __attribute__((visibility("hidden")));
extern const char trap_probe_access[] __attribute__((visibility("hidden")));
extern const char trap_probe_failed[] __attribute__((visibility("hidden")));

bool frame_probe(void *to, const void *from, size_t n)
{
	return trap_probe(to, from, n);
}

/* Enough code at the PC to decode it; at the end of a mapping there may be less. */
static size_t read_code(uint64_t pc, uint8_t *code, size_t n)
{
	size_t page_bytes = sysconf(_SC_PAGESIZE), in_page = page_bytes - pc % page_bytes;

	if (frame_probe(code, (const void *)(uintptr_t)pc, n))
		return n;
	if (in_page < n && frame_probe(code, (const void *)(uintptr_t)pc, in_page))
		return in_page;
	return 0;
}

#if defined(__x86_64__)

#include <cpuid.h>

/* trap_probe(): the only instruction that may fault, and where it then goes on. */
__asm__(".pushsection .text\n"
	".hidden trap_probe, trap_probe_access, trap_probe_failed\n"
	".globl trap_probe, trap_probe_access, trap_probe_failed\n"
	".type trap_probe, @function\n"
	"trap_probe:\n"
	"	mov %rdx, %rcx\n"
	"trap_probe_access:\n"
	"	rep movsb\n"
	"	mov $1, %eax\n"
	"	ret\n"
	"trap_probe_failed:\n"
	"	xor %eax, %eax\n"
	"	ret\n"
	".size trap_probe, . - trap_probe\n"
	".popsection\n");

/* State components, by their bit in XCR0 and XSTATE_BV. */
enum { COMPONENT_SSE = 1, COMPONENT_AVX = 2, COMPONENT_ZMM_HIGH = 6, COMPONENT_ZMM_UPPER = 7 };
enum { COMPONENTS = 8 };

enum {
	FXSAVE_XMM = 160,      /* XMM0 in the legacy region */
	FXSAVE_SOFTWARE = 464, /* the kernel's struct _fpx_sw_bytes */
	XSAVE_HEADER = 512,    /* XSTATE_BV */
	FP_XSTATE_MAGIC = 0x46505853,
};

struct software_bytes {
	uint32_t magic, extended_size;
	uint64_t features;
};

static struct {
	uint32_t offset, bytes;
} components[COMPONENTS];

/* A component in its initial state. */
static uint8_t zeros[1024] __attribute__((aligned(64)));

void frame_setup(void)
{
	unsigned bytes, offset, c, d;

	components[COMPONENT_SSE].offset = FXSAVE_XMM;
	components[COMPONENT_SSE].bytes = 256;
	for (unsigned k = COMPONENT_AVX; k < COMPONENTS; k++) {
		if (!__get_cpuid_count(0xd, k, &bytes, &offset, &c, &d))
			continue;
		components[k].offset = offset;
		components[k].bytes = bytes;
	}
}

static const struct software_bytes *software_bytes(const uint8_t *area)
{
	const struct software_bytes *sw = (const void *)(area + FXSAVE_SOFTWARE);

	return sw->magic == FP_XSTATE_MAGIC ? sw : NULL;
}

static uint64_t *xstate_bv(uint8_t *area)
{
	return (uint64_t *)(area + XSAVE_HEADER);
}

/* A component in the frame: its bytes, zeroes in initial state, NULL if it was not saved. */
static void *component(uint8_t *area, unsigned k)
{
	const struct software_bytes *sw = software_bytes(area);

	if (!sw) /* FXSAVE alone */
		return k == COMPONENT_SSE ? area + FXSAVE_XMM : NULL;
	if (!(sw->features >> k & 1) ||
	    components[k].offset + components[k].bytes > sw->extended_size)
		return NULL;
	return *xstate_bv(area) >> k & 1 ? area + components[k].offset : zeros;
}

static void point_at_vectors(struct frame *f)
{
	uint8_t *area = (uint8_t *)f->uc->uc_mcontext.fpregs;

	f->regs.xmm = area ? component(area, COMPONENT_SSE) : NULL;
	f->regs.ymm_high = area ? component(area, COMPONENT_AVX) : NULL;
	f->regs.zmm_high = area ? component(area, COMPONENT_ZMM_HIGH) : NULL;
	f->regs.zmm_upper = area ? component(area, COMPONENT_ZMM_UPPER) : NULL;
}

/* The general registers of a frame, in the order of their encoding. */
static const uint8_t gregs[16] = {
	REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
	REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
};

void frame_open(struct frame *f, void *ucontext)
{
	f->uc = ucontext;
	for (unsigned k = 0; k < 16; k++)
		f->regs.gpr[k] = f->uc->uc_mcontext.gregs[gregs[k]];
	f->regs.rip = f->uc->uc_mcontext.gregs[REG_RIP];
	f->regs.fs_base = (uintptr_t)__builtin_thread_pointer();
	point_at_vectors(f);
}

uint64_t frame_pc(const struct frame *f)
{
	return f->regs.rip;
}

int frame_decode(const struct frame *f, struct access *access)
{
	uint8_t code[ACCESS_MAX_INSN_BYTES];
	size_t n = read_code(f->regs.rip, code, sizeof(code));

	return access_decode_x86(code, n, &f->regs, access);
}

/* Takes a component out of its initial state, so that a register in it can be written. */
static void materialise(uint8_t *area, unsigned k)
{
	const struct software_bytes *sw = software_bytes(area);

	if (!sw || !(sw->features >> k & 1) || (*xstate_bv(area) >> k & 1))
		return;
	memset(area + components[k].offset, 0, components[k].bytes);
	*xstate_bv(area) |= 1ull << k;
}

int frame_finish_load(struct frame *f, const struct access *access, const uint8_t *data)
{
	uint8_t *area = (uint8_t *)f->uc->uc_mcontext.fpregs;
	struct x86_regs regs;
	int err;

	if (access->dest.vector && area) {
		unsigned end = access->dest.offset + access->size;

		if (access->dest.reg >= 16) {
			materialise(area, COMPONENT_ZMM_UPPER);
		} else {
			materialise(area, COMPONENT_SSE);
			if (end > 16)
				materialise(area, COMPONENT_AVX);
			if (end > 32)
				materialise(area, COMPONENT_ZMM_HIGH);
		}
		point_at_vectors(f);
	}
	regs = f->regs; /* the shared zeroes must not be written, not even with zeroes */
	if (access->dest.vector && access->dest.reg < 16) {
		if ((void *)regs.ymm_high == zeros)
			regs.ymm_high = NULL;
		if ((void *)regs.zmm_high == zeros)
			regs.zmm_high = NULL;
	}
	err = access_finish_load_x86(access, data, &regs);
	if (!err)
		memcpy(f->regs.gpr, regs.gpr, sizeof(regs.gpr));
	return err;
}

void frame_advance(struct frame *f, const struct access *access)
{
	f->regs.rip += access->insn_bytes;
}

void frame_close(struct frame *f)
{
	for (unsigned k = 0; k < 16; k++)
		f->uc->uc_mcontext.gregs[gregs[k]] = f->regs.gpr[k];
	f->uc->uc_mcontext.gregs[REG_RIP] = f->regs.rip;
}

bool frame_fault_was_probe(void *ucontext)
{
	greg_t *rip = &((ucontext_t *)ucontext)->uc_mcontext.gregs[REG_RIP];

	if (*rip != (greg_t)(uintptr_t)trap_probe_access)
		return false;
	*rip = (greg_t)(uintptr_t)trap_probe_failed;
	return true;
}

#else /* __aarch64__ */

#include <asm/sigcontext.h>

/* trap_probe(): the only instruction that may fault, and where it then goes on. */
__asm__(".pushsection .text\n"
	".hidden trap_probe, trap_probe_access, trap_probe_failed\n"
	".globl trap_probe, trap_probe_access, trap_probe_failed\n"
	".type trap_probe, %function\n"
	"trap_probe:\n"
	"	cbz x2, 1f\n"
	"trap_probe_access:\n"
	"	ldrb w3, [x1], #1\n"
	"	strb w3, [x0], #1\n"
	"	sub x2, x2, #1\n"
	"	b trap_probe\n"
	"1:	mov w0, #1\n"
	"	ret\n"
	"trap_probe_failed:\n"
	"	mov w0, #0\n"
	"	ret\n"
	".size trap_probe, . - trap_probe\n"
	".popsection\n");

void frame_setup(void)
{
}

/* The vector registers are in the first record of their kind; a record of size 0 ends the list. */
static void *find_fpsimd(ucontext_t *uc)
{
	uint8_t *at = uc->uc_mcontext.__reserved;
	uint8_t *end = at + sizeof(uc->uc_mcontext.__reserved);

	while (at + sizeof(struct _aarch64_ctx) <= end) {
		struct _aarch64_ctx *head = (void *)at;

		if (head->magic == FPSIMD_MAGIC)
			return ((struct fpsimd_context *)at)->vregs;
		if (head->size < sizeof(*head))
			break;
		at += head->size;
	}
	return NULL;
}

void frame_open(struct frame *f, void *ucontext)
{
	f->uc = ucontext;
	memcpy(f->regs.x, f->uc->uc_mcontext.regs, sizeof(f->regs.x));
	f->regs.sp = f->uc->uc_mcontext.sp;
	f->regs.pc = f->uc->uc_mcontext.pc;
	f->regs.v = find_fpsimd(f->uc);
}

uint64_t frame_pc(const struct frame *f)
{
	return f->regs.pc;
}

int frame_decode(const struct frame *f, struct access *access)
{
	uint8_t code[4];
	size_t n = read_code(f->regs.pc, code, sizeof(code));

	return access_decode_arm64(code, n, &f->regs, access);
}

int frame_finish_load(struct frame *f, const struct access *access, const uint8_t *data)
{
	(void)f;
	(void)access;
	(void)data;
	return -EOPNOTSUPP; /* the arm64 decoder knows only stores: one moves 64 B there */
}

void frame_advance(struct frame *f, const struct access *access)
{
	f->regs.pc += access->insn_bytes;
	if (!access->writeback.present)
		return;
	if (access->writeback.reg == 31)
		f->regs.sp = access->writeback.value;
	else
		f->regs.x[access->writeback.reg] = access->writeback.value;
}

void frame_close(struct frame *f)
{
	memcpy(f->uc->uc_mcontext.regs, f->regs.x, sizeof(f->regs.x));
	f->uc->uc_mcontext.sp = f->regs.sp;
	f->uc->uc_mcontext.pc = f->regs.pc;
}

bool frame_fault_was_probe(void *ucontext)
{
	unsigned long long *pc = &((ucontext_t *)ucontext)->uc_mcontext.pc;

	if (*pc != (uintptr_t)trap_probe_access)
		return false;
	*pc = (uintptr_t)trap_probe_failed;
	return true;
}

#endif
