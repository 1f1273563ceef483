/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arm64 stores of general and vector registers. Encodings: Arm ARM, section C4.1 "A64 instruction
 * set encoding", Loads and Stores. Loads are not decoded: those that feed a BlueFlame copy load 64
 * B at once, so doing them in the fault saves nothing.
 */
#include <errno.h>
#include <string.h>

#include "access.h"

/* Bits high..low of the instruction. */
static uint32_t field(uint32_t insn, unsigned high, unsigned low)
{
	return insn >> low & ((1u << (high - low + 1)) - 1);
}

static int64_t signed_field(uint32_t insn, unsigned high, unsigned low)
{
	unsigned bits = high - low + 1;

	return (int64_t)((uint64_t)field(insn, high, low) << (64 - bits)) >> (64 - bits);
}

static unsigned base_of(uint32_t insn)
{
	return field(insn, 9, 5);
}

static uint64_t base_value(uint32_t insn, const struct arm64_regs *regs)
{
	unsigned n = base_of(insn);

	return n == 31 ? regs->sp : regs->x[n];
}

static void move_base(uint32_t insn, uint64_t value, struct access *a)
{
	a->writeback.present = true;
	a->writeback.reg = base_of(insn);
	a->writeback.value = value;
}

/* Appends `bytes` of a register to the data. General register 31 is zero. */
static int put_register(const struct arm64_regs *regs, bool vector, unsigned reg, unsigned bytes,
			struct access *a)
{
	if (vector && !regs->v)
		return -ENXIO;
	if (vector)
		memcpy(a->data + a->size, regs->v[reg & 31], bytes);
	else if (reg == 31)
		memset(a->data + a->size, 0, bytes);
	else
		memcpy(a->data + a->size, &regs->x[reg], bytes);
	a->size += bytes;
	return 0;
}

/* The bytes that a store of one register writes; 0: it is no store. */
static unsigned single_bytes(uint32_t insn)
{
	unsigned size = field(insn, 31, 30), opc = field(insn, 23, 22);

	if (opc == 0)
		return 1u << size;
	return field(insn, 26, 26) && opc == 2 && size == 0 ? 16 : 0;
}

static int64_t offset_register(uint32_t insn, const struct arm64_regs *regs, unsigned bytes)
{
	unsigned m = field(insn, 20, 16), option = field(insn, 15, 13);
	unsigned shift = field(insn, 12, 12) ? __builtin_ctz(bytes) : 0;
	uint64_t index = m == 31 ? 0 : regs->x[m];

	if (option == 2)
		index = (uint32_t)index;
	else if (option == 6)
		index = (uint64_t)(int64_t)(int32_t)index;
	return (int64_t)(index << shift);
}

/* STR, STUR, STRB, STRH of x, w and b to q registers, in all their address modes. */
static int decode_single(uint32_t insn, const struct arm64_regs *regs, struct access *a)
{
	unsigned bytes = single_bytes(insn);
	uint64_t base = base_value(insn, regs);

	if (!bytes)
		return -EBADMSG;
	if (field(insn, 24, 24)) {
		a->address = base + (uint64_t)field(insn, 21, 10) * bytes;
	} else if (!field(insn, 21, 21)) {
		unsigned mode =
			field(insn, 11, 10); /* unscaled, post-index, unprivileged, pre-index */
		uint64_t moved = base + signed_field(insn, 20, 12);

		if (mode == 2)
			return -EBADMSG;
		a->address = mode == 1 ? base : moved;
		if (mode & 1)
			move_base(insn, moved, a);
	} else if (field(insn, 11, 10) == 2 && field(insn, 14, 14)) {
		a->address = base + offset_register(insn, regs, bytes);
	} else {
		return -EBADMSG;
	}
	return put_register(regs, field(insn, 26, 26), field(insn, 4, 0), bytes, a);
}

/* STP, STNP */
static int decode_pair(uint32_t insn, const struct arm64_regs *regs, struct access *a)
{
	bool vector = field(insn, 26, 26);
	unsigned opc = field(insn, 31, 30), mode = field(insn, 24, 23);
	unsigned bytes = vector ? 4u << opc : opc == 2 ? 8 : 4;
	uint64_t base = base_value(insn, regs), moved;
	int err;

	/* A load; a size that does not exist; STGP, which stores a tag as well. */
	if (field(insn, 22, 22) || opc == 3 || (!vector && opc == 1))
		return -EBADMSG;
	moved = base + signed_field(insn, 21, 15) * bytes;
	a->address = mode == 1 ? base : moved;
	if (mode & 1)
		move_base(insn, moved, a);
	err = put_register(regs, vector, field(insn, 4, 0), bytes, a);
	return err ? err : put_register(regs, vector, field(insn, 14, 10), bytes, a);
}

/* How many registers ST1 to ST4 store, and how many of them are interleaved. */
static unsigned structure_registers(unsigned opcode, unsigned *interleaved)
{
	*interleaved = 1;
	switch (opcode) {
	case 0x0:
		return *interleaved = 4;
	case 0x4:
		return *interleaved = 3;
	case 0x8:
		return *interleaved = 2;
	case 0x2:
		return 4;
	case 0x6:
		return 3;
	case 0xa:
		return 2;
	case 0x7:
		return 1;
	default:
		return 0;
	}
}

static int decode_structure(uint32_t insn, const struct arm64_regs *regs, struct access *a)
{
	unsigned first = field(insn, 4, 0), register_bytes = field(insn, 30, 30) ? 16 : 8;
	unsigned element = 1u << field(insn, 11, 10), m = field(insn, 20, 16), interleaved;
	unsigned count = structure_registers(field(insn, 15, 12), &interleaved);
	bool post_index = field(insn, 23, 23);

	if (!count || field(insn, 22, 22) || (!post_index && m))
		return -EBADMSG;
	if (interleaved > 1 && element == 8 && register_bytes == 8)
		return -EBADMSG;
	if (!regs->v)
		return -ENXIO;
	a->address = base_value(insn, regs);
	for (unsigned r = 0; r < count; r++) {
		for (unsigned k = 0; k < register_bytes / element; k++) {
			unsigned at = interleaved > 1 ? (k * count + r) * element
						      : r * register_bytes + k * element;

			memcpy(a->data + at, regs->v[(first + r) % 32] + k * element, element);
		}
	}
	a->size = count * register_bytes;
	if (post_index)
		move_base(insn, a->address + (m == 31 ? a->size : regs->x[m]), a);
	return 0;
}

/* ST64B of x[t] to x[t + 7] */
static int decode_st64b(uint32_t insn, const struct arm64_regs *regs, struct access *a)
{
	unsigned first = field(insn, 4, 0);
	int err = first & 1 || first > 22 ? -EBADMSG : 0;

	a->address = base_value(insn, regs);
	for (unsigned r = first; r < first + 8 && !err; r++)
		err = put_register(regs, false, r, 8, a);
	return err;
}

/* STLR and its byte and halfword forms: a store-release is a store here. */
static int decode_release(uint32_t insn, const struct arm64_regs *regs, struct access *a)
{
	a->address = base_value(insn, regs);
	return put_register(regs, false, field(insn, 4, 0), 1u << field(insn, 31, 30), a);
}

int access_decode_arm64(const uint8_t *code, size_t n, const struct arm64_regs *regs,
			struct access *access)
{
	struct access a = { .kind = ACCESS_STORE, .insn_bytes = 4 };
	uint32_t insn;
	int err;

	if (n < 4)
		return -ENODATA;
	insn = code[0] | code[1] << 8 | code[2] << 16 | (uint32_t)code[3] << 24;
	if ((insn & 0xfffffc00) == 0xf83f9000)
		err = decode_st64b(insn, regs, &a);
	else if ((insn & 0x3ffffc00) == 0x089ffc00)
		err = decode_release(insn, regs, &a);
	else if ((insn & 0xbf000000) == 0x0c000000 && !field(insn, 21, 21))
		err = decode_structure(insn, regs, &a);
	else if ((insn & 0x3a000000) == 0x28000000)
		err = decode_pair(insn, regs, &a);
	else if ((insn & 0x3a000000) == 0x38000000)
		err = decode_single(insn, regs, &a);
	else
		err = -EBADMSG;
	if (err)
		return err;
	*access = a;
	return 0;
}
