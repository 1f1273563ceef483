/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One memory access of a program, as its instruction spells it: what the trap needs in order to do
 * the access in the program's stead. Decoding is pure: instruction bytes and a register file go in,
 * a description comes out, for any bytes whatever.
 *
 * Decoded are the moves that compilers emit for stores to device memory and for the loads that feed
 * them: full-width ones of one general or vector register (on arm64 also of a pair or a structure
 * of registers), immediates, and the 64-byte direct stores. Not decoded: read-modify-write, string
 * moves, masked moves, scatters, segment overrides other than %fs.
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
	uint8_t insn_bytes; /* how far the PC moves */
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
	struct { /* a base register that the instruction moves (arm64) */
		bool present;
		uint8_t reg;
		uint64_t value;
	} writeback;
};

/*
 * An x86-64 register file. The pieces of the vector registers lie apart, as XSAVE lays them out; a
 * piece that the frame does not hold is NULL, and an access that needs it is refused.
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
 * Return: 0; -ENODATA when the instruction goes on after code[n - 1]; -EBADMSG for an instruction
 * that is not one of those above; -ENXIO when a register piece it needs is absent.
 */
int access_decode_x86(const uint8_t *code, size_t n, const struct x86_regs *regs,
		      struct access *access);
int access_decode_arm64(const uint8_t *code, size_t n, const struct arm64_regs *regs,
			struct access *access);

/* Puts what a load of `access` found into its register. Return: 0, or -ENXIO as above. */
int access_finish_load_x86(const struct access *access, const uint8_t *data, struct x86_regs *regs);

#endif
