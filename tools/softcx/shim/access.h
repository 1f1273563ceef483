/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A memory access of a program, decoded from its instruction: what the trap needs to do it in the
 * program's stead. Decoding has no side effect: it takes any instruction bytes and a register file,
 * and returns a description.
 *
 * It decodes moves that compilers emit for stores to device memory and for the loads that feed
 * them: full-width ones of one general or vector register (on arm64 also of a pair or a structure
 * of registers), immediates, and 64-byte direct stores. It does not decode read-modify-write,
 * string moves, masked moves, scatters, or segment overrides other than %fs.
 */
#ifndef SOFTCX_ACCESS_H
#define SOFTCX_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum access_kind {
	ACCESS_STORE,  /* data[0..size) goes to address */
	ACCESS_LOAD,   /* size bytes at address go to the register `dest` */
	ACCESS_COPY64, /* the 64 bytes at source go to address (MOVDIR64B) */
};

enum { ACCESS_MAX_BYTES = 64, ACCESS_MAX_INSN_BYTES = 15 };

struct access {
	enum access_kind kind;
	uint8_t insn_bytes; /* by how much the PC moves */
	uint8_t size;       /* bytes */
	uint64_t address;
	uint64_t source;
	uint8_t data[ACCESS_MAX_BYTES];
	struct {
		bool vector;
		bool byte_swap;
		uint8_t reg;
		uint8_t offset;  /* first byte of the register that is written */
		uint8_t zero_to; /* the rest of the register up to here becomes zero */
	} dest;
	struct { /* a base register that the instruction changes (arm64) */
		bool present;
		uint8_t reg;
		uint64_t value;
	} writeback;
};

/*
 * An x86-64 register file. The parts of vector registers are apart, as XSAVE has them. A part that
 * the frame does not have is NULL, and an access that needs it is refused.
 */
struct x86_regs {
	uint64_t gpr
		[16]; /* in the order of their encoding: rax rcx rdx rbx rsp rbp rsi rdi r8-r15 */
	uint64_t rip;
	uint64_t fs_base;
	uint8_t (*xmm)[16];       /* 0-15, bits 127:0 */
	uint8_t (*ymm_high)[16];  /* 0-15, bits 255:128 */
	uint8_t (*zmm_high)[32];  /* 0-15, bits 511:256 */
	uint8_t (*zmm_upper)[64]; /* 16-31, whole */
};

struct arm64_regs {
	uint64_t x[31];
	uint64_t sp;
	uint64_t pc;
	uint8_t (*v)[16]; /* 0-31 */
};

/*
 * Returns 0; -ENODATA: the instruction goes on after code[n - 1]; -EBADMSG: it is not one of those
 * above; -ENXIO: a part of a register that it needs is missing.
 */
int access_decode_x86(const uint8_t *code, size_t n, const struct x86_regs *regs,
		      struct access *access);
int access_decode_arm64(const uint8_t *code, size_t n, const struct arm64_regs *regs,
			struct access *access);

/* Writes what a load of `access` found into its register. Returns 0, or -ENXIO as above. */
int access_finish_load_x86(const struct access *access, const uint8_t *data, struct x86_regs *regs);

#endif
