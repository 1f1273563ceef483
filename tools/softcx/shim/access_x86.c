/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * x86-64 moves between memory and one register. Encodings: Intel SDM volume 2, chapter 2
 * (prefixes, ModRM, VEX, EVEX, the scaled disp8) and the pages of the instructions.
 */
#include <errno.h>
#include <string.h>

#include "access.h"

enum encoding { LEGACY = 1, VEX = 2, EVEX = 4 };
enum prefix { PP_NONE = 1, PP_66 = 2, PP_F3 = 4, PP_F2 = 8 };
enum file { GENERAL, VECTOR, IMMEDIATE, MEMORY };
enum width {
	W_1 = 1,
	W_4 = 4,
	W_8 = 8,
	W_16 = 16,
	W_64 = 64,
	W_OPERAND, /* 2, 4 or 8 by the operand-size prefix and W */
	W_W,       /* 4 or 8 by W */
	W_VECTOR,  /* 16, 32 or 64 by the vector length */
};

enum move_flag {
	SWAP = 1,     /* MOVBE */
	HIGH = 2,     /* the register's second quarter of 16 B: bytes 8 to 15 */
	MERGE = 4,    /* a load that leaves the rest of the register alone */
	LANE_IMM = 8, /* an immediate picks which piece of the register is stored */
	DIGIT_0 = 16, /* ModRM.reg is part of the opcode and zero */
};

struct move {
	uint8_t map; /* 0: one byte, 1: 0F, 2: 0F 38, 3: 0F 3A */
	uint8_t opcode;
	uint8_t prefixes, encodings;
	uint8_t kind, file, width, flags;
};

#define SSE   (LEGACY | VEX | EVEX)
#define PLAIN (PP_NONE | PP_66)
/* clang-format off */
static const struct move moves[] = {
	{ 0, 0x88, PLAIN,           LEGACY, ACCESS_STORE,  GENERAL,   W_1,       0 },
	{ 0, 0x89, PLAIN,           LEGACY, ACCESS_STORE,  GENERAL,   W_OPERAND, 0 },
	{ 0, 0x8a, PLAIN,           LEGACY, ACCESS_LOAD,   GENERAL,   W_1,       0 },
	{ 0, 0x8b, PLAIN,           LEGACY, ACCESS_LOAD,   GENERAL,   W_OPERAND, 0 },
	{ 0, 0xc6, PLAIN,           LEGACY, ACCESS_STORE,  IMMEDIATE, W_1,       DIGIT_0 },
	{ 0, 0xc7, PLAIN,           LEGACY, ACCESS_STORE,  IMMEDIATE, W_OPERAND, DIGIT_0 },
	{ 1, 0xc3, PP_NONE,         LEGACY, ACCESS_STORE,  GENERAL,   W_W,       0 }, /* MOVNTI */
	{ 2, 0xf0, PLAIN,           LEGACY, ACCESS_LOAD,   GENERAL,   W_OPERAND, SWAP },
	{ 2, 0xf1, PLAIN,           LEGACY, ACCESS_STORE,  GENERAL,   W_OPERAND, SWAP },
	{ 2, 0xf9, PP_NONE,         LEGACY, ACCESS_STORE,  GENERAL,   W_W,       0 }, /* MOVDIRI */
	{ 2, 0xf8, PP_66,           LEGACY, ACCESS_COPY64, MEMORY,    W_64,      0 }, /* MOVDIR64B */

	{ 1, 0x10, PLAIN,           SSE,    ACCESS_LOAD,   VECTOR,    W_VECTOR,  0 }, /* MOVUPS, MOVUPD */
	{ 1, 0x10, PP_F3,           SSE,    ACCESS_LOAD,   VECTOR,    W_4,       0 }, /* MOVSS */
	{ 1, 0x10, PP_F2,           SSE,    ACCESS_LOAD,   VECTOR,    W_8,       0 }, /* MOVSD */
	{ 1, 0x11, PLAIN,           SSE,    ACCESS_STORE,  VECTOR,    W_VECTOR,  0 },
	{ 1, 0x11, PP_F3,           SSE,    ACCESS_STORE,  VECTOR,    W_4,       0 },
	{ 1, 0x11, PP_F2,           SSE,    ACCESS_STORE,  VECTOR,    W_8,       0 },
	{ 1, 0x12, PLAIN,           LEGACY, ACCESS_LOAD,   VECTOR,    W_8,       MERGE }, /* MOVLPS */
	{ 1, 0x13, PLAIN,           SSE,    ACCESS_STORE,  VECTOR,    W_8,       0 },
	{ 1, 0x16, PLAIN,           LEGACY, ACCESS_LOAD,   VECTOR,    W_8,       MERGE | HIGH }, /* MOVHPS */
	{ 1, 0x17, PLAIN,           SSE,    ACCESS_STORE,  VECTOR,    W_8,       HIGH },
	{ 1, 0x28, PLAIN,           SSE,    ACCESS_LOAD,   VECTOR,    W_VECTOR,  0 }, /* MOVAPS, MOVAPD */
	{ 1, 0x29, PLAIN,           SSE,    ACCESS_STORE,  VECTOR,    W_VECTOR,  0 },
	{ 1, 0x2b, PLAIN,           SSE,    ACCESS_STORE,  VECTOR,    W_VECTOR,  0 }, /* MOVNTPS, MOVNTPD */
	{ 1, 0x6e, PP_66,           SSE,    ACCESS_LOAD,   VECTOR,    W_W,       0 }, /* MOVD, MOVQ */
	{ 1, 0x6f, PP_66 | PP_F3,   SSE,    ACCESS_LOAD,   VECTOR,    W_VECTOR,  0 }, /* MOVDQA, MOVDQU */
	{ 1, 0x6f, PP_F2,           EVEX,   ACCESS_LOAD,   VECTOR,    W_VECTOR,  0 }, /* VMOVDQU8, 16 */
	{ 1, 0x7e, PP_66,           SSE,    ACCESS_STORE,  VECTOR,    W_W,       0 },
	{ 1, 0x7e, PP_F3,           SSE,    ACCESS_LOAD,   VECTOR,    W_8,       0 }, /* MOVQ */
	{ 1, 0x7f, PP_66 | PP_F3,   SSE,    ACCESS_STORE,  VECTOR,    W_VECTOR,  0 },
	{ 1, 0x7f, PP_F2,           EVEX,   ACCESS_STORE,  VECTOR,    W_VECTOR,  0 },
	{ 1, 0xd6, PP_66,           SSE,    ACCESS_STORE,  VECTOR,    W_8,       0 }, /* MOVQ */
	{ 1, 0xe7, PP_66,           SSE,    ACCESS_STORE,  VECTOR,    W_VECTOR,  0 }, /* MOVNTDQ */
	{ 2, 0x2a, PP_66,           SSE,    ACCESS_LOAD,   VECTOR,    W_VECTOR,  0 }, /* MOVNTDQA */
	{ 3, 0x16, PP_66,           SSE,    ACCESS_STORE,  VECTOR,    W_W,       LANE_IMM }, /* PEXTRD, Q */
	{ 3, 0x19, PP_66,           VEX,    ACCESS_STORE,  VECTOR,    W_16,      LANE_IMM }, /* VEXTRACTF128 */
	{ 3, 0x39, PP_66,           VEX,    ACCESS_STORE,  VECTOR,    W_16,      LANE_IMM }, /* VEXTRACTI128 */
};
/* clang-format on */

/* An instruction, as far as it has been read. */
struct insn {
	const uint8_t *code;
	size_t n, at;
	bool opsize, address32, fs;
	uint8_t repeat; /* 0xf2, 0xf3 or 0 */
	bool w, has_rex;
	uint8_t r, x, b; /* extensions of ModRM.reg, SIB.index, base, in place (8, 16) */
	uint8_t encoding, map, prefix, vector_bytes, opcode;
	uint8_t modrm;
	const struct move *move;
	uint8_t size;
	uint64_t address; /* without what RIP adds */
	bool rip_relative;
};

static int next(struct insn *i, uint8_t *byte)
{
	if (i->at == i->n)
		return i->n >= ACCESS_MAX_INSN_BYTES ? -EBADMSG : -ENODATA;
	*byte = i->code[i->at++];
	return 0;
}

static int next_signed(struct insn *i, unsigned bytes, int64_t *value)
{
	uint64_t v = 0;
	uint8_t byte;
	int err;

	for (unsigned k = 0; k < bytes; k++) {
		err = next(i, &byte);
		if (err)
			return err;
		v |= (uint64_t)byte << 8 * k;
	}
	*value = bytes ? (int64_t)(v << (64 - 8 * bytes)) >> (64 - 8 * bytes) : 0;
	return 0;
}

/* Reads legacy prefixes; *byte is the first byte after them. */
static int read_prefixes(struct insn *i, uint8_t *byte)
{
	for (;;) {
		int err = next(i, byte);

		if (err)
			return err;
		switch (*byte) {
		case 0x66:
			i->opsize = true;
			break;
		case 0x67:
			i->address32 = true;
			break;
		case 0x64:
			i->fs = true;
			break;
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0x26:
			break; /* without effect in 64-bit mode */
		case 0xf2:
		case 0xf3:
			i->repeat = *byte;
			break;
		default:
			return 0;
		}
	}
}

static int read_legacy(struct insn *i, uint8_t byte)
{
	int err = 0;

	i->encoding = LEGACY;
	i->vector_bytes = 16;
	if ((byte & 0xf0) == 0x40) {
		i->has_rex = true;
		i->w = byte & 8;
		i->r = (byte & 4) << 1;
		i->x = (byte & 2) << 2;
		i->b = (byte & 1) << 3;
		err = next(i, &byte);
	}
	if (!err && byte == 0x0f) {
		i->map = 1;
		err = next(i, &byte);
		if (!err && (byte == 0x38 || byte == 0x3a)) {
			i->map = byte == 0x38 ? 2 : 3;
			err = next(i, &byte);
		}
	}
	i->opcode = byte;
	i->prefix = i->repeat == 0xf3   ? PP_F3
		    : i->repeat == 0xf2 ? PP_F2
		    : i->opsize         ? PP_66
					: PP_NONE;
	return err;
}

/* The bytes that VEX and EVEX share: W, vvvv (unused here: all ones), pp. */
static bool set_w_vvvv_pp(struct insn *i, uint8_t byte)
{
	i->w = byte & 0x80;
	i->prefix = 1 << (byte & 3);
	return (byte & 0x78) == 0x78;
}

static int read_vex(struct insn *i, uint8_t lead)
{
	uint8_t first = 0, second = 0;
	int err = next(i, &first);

	if (!err && lead == 0xc4)
		err = next(i, &second);
	if (err)
		return err;
	i->encoding = VEX;
	i->map = 1;
	if (lead == 0xc4) {
		i->x = first & 0x40 ? 0 : 8;
		i->b = first & 0x20 ? 0 : 8;
		i->map = first & 0x1f;
	} else {
		second = first & 0x7f;
	}
	i->r = first & 0x80 ? 0 : 8;
	i->vector_bytes = second & 4 ? 32 : 16;
	if (!set_w_vvvv_pp(i, second))
		return -EBADMSG;
	return next(i, &i->opcode);
}

static int read_evex(struct insn *i)
{
	uint8_t p[3];
	int err = 0;

	for (int k = 0; k < 3 && !err; k++)
		err = next(i, &p[k]);
	if (err)
		return err;
	i->encoding = EVEX;
	i->r = (p[0] & 0x80 ? 0 : 8) | (p[0] & 0x10 ? 0 : 16);
	i->x = p[0] & 0x40 ? 0 : 8;
	i->b = p[0] & 0x20 ? 0 : 8;
	i->map = p[0] & 7;
	/*
	 * Zeroing, broadcast, masks and the fifth vvvv bit are refused: moves here are whole and
	 * unmasked.
	 */
	if ((p[0] & 8) || !(p[1] & 4) || !set_w_vvvv_pp(i, p[1]) || (p[2] & 0x9f) != 0x08 ||
	    (p[2] & 0x60) == 0x60)
		return -EBADMSG;
	i->vector_bytes = 16 << (p[2] >> 5);
	return next(i, &i->opcode);
}

static int read_opcode(struct insn *i)
{
	uint8_t byte = 0;
	int err = read_prefixes(i, &byte);

	if (err)
		return err;
	if (byte != 0xc4 && byte != 0xc5 && byte != 0x62)
		return read_legacy(i, byte);
	if (i->opsize || i->repeat)
		return -EBADMSG;
	return byte == 0x62 ? read_evex(i) : read_vex(i, byte);
}

static int find_move(struct insn *i)
{
	for (size_t k = 0; k < sizeof(moves) / sizeof(moves[0]); k++) {
		const struct move *m = &moves[k];

		if (m->opcode != i->opcode || m->map != i->map || !(m->prefixes & i->prefix) ||
		    !(m->encodings & i->encoding))
			continue;
		i->move = m;
		i->size = m->width == W_VECTOR    ? i->vector_bytes
			  : m->width == W_W       ? (i->w ? 8 : 4)
			  : m->width == W_OPERAND ? (i->w        ? 8
						     : i->opsize ? 2
								 : 4)
						  : m->width;
		return 0;
	}
	return -EBADMSG;
}

static int read_displacement(struct insn *i, unsigned bytes)
{
	int64_t value;
	int err = next_signed(i, bytes, &value);

	if (err)
		return err;
	if (bytes == 1 && i->encoding == EVEX)
		value *= i->size; /* disp8 counts in units of what is moved */
	i->address += value;
	return 0;
}

static int read_address(struct insn *i, const struct x86_regs *regs)
{
	unsigned mod, rm;
	uint8_t sib;
	int err = next(i, &i->modrm);

	if (err)
		return err;
	mod = i->modrm >> 6;
	rm = i->modrm & 7;
	if (mod == 3 || ((i->move->flags & DIGIT_0) && (i->modrm & 0x38)))
		return -EBADMSG;
	if (rm == 4) {
		err = next(i, &sib);
		if (err)
			return err;
		rm = sib & 7;
		if ((sib >> 3 & 7) != 4 || i->x)
			i->address += regs->gpr[(sib >> 3 & 7) | i->x] << (sib >> 6);
		if (rm == 5 && mod == 0)
			return read_displacement(i, 4);
	} else if (rm == 5 && mod == 0) {
		i->rip_relative = true;
		return read_displacement(i, 4);
	}
	i->address += regs->gpr[rm | i->b];
	return read_displacement(i, mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

/* Where byte `at` of a vector register is; NULL: the frame does not have that part. */
static uint8_t *vector_byte(const struct x86_regs *regs, unsigned reg, unsigned at)
{
	if (reg >= 16)
		return regs->zmm_upper ? &regs->zmm_upper[reg - 16][at] : NULL;
	if (at < 16)
		return regs->xmm ? &regs->xmm[reg][at] : NULL;
	if (at < 32)
		return regs->ymm_high ? &regs->ymm_high[reg][at - 16] : NULL;
	return regs->zmm_high ? &regs->zmm_high[reg][at - 32] : NULL;
}

static int read_vector(const struct x86_regs *regs, unsigned reg, unsigned offset, struct access *a)
{
	/* Parts are multiples of 16 B, and nothing smaller crosses them. */
	for (unsigned done = 0; done < a->size;) {
		unsigned part = a->size - done < 16u ? a->size - done : 16u;
		const uint8_t *from = vector_byte(regs, reg, offset + done);

		if (!from)
			return -ENXIO;
		memcpy(a->data + done, from, part);
		done += part;
	}
	return 0;
}

static void reverse(uint8_t *bytes, unsigned n)
{
	for (unsigned k = 0; k < n / 2; k++) {
		uint8_t other = bytes[n - 1 - k];

		bytes[n - 1 - k] = bytes[k];
		bytes[k] = other;
	}
}

/* The register that ModRM.reg names; without REX, byte registers 4 to 7 are AH, CH, DH, BH. */
static unsigned register_of(const struct insn *i, unsigned *offset)
{
	unsigned reg = (i->modrm >> 3 & 7) | i->r;

	*offset = i->move->flags & HIGH ? 8 : 0;
	if (i->move->file == GENERAL && i->move->width == W_1 && !i->has_rex && reg >= 4) {
		reg -= 4;
		*offset = 1;
	}
	return reg;
}

static void describe_load(const struct insn *i, struct access *a)
{
	const struct move *m = i->move;
	unsigned offset;

	a->dest.reg = register_of(i, &offset);
	a->dest.offset = offset;
	a->dest.vector = m->file == VECTOR;
	a->dest.byte_swap = m->flags & SWAP;
	if (m->file == GENERAL)
		a->dest.zero_to = i->size == 4 ? 8 : 0;
	else if (!(m->flags & MERGE))
		a->dest.zero_to = i->encoding == LEGACY ? 16 : 64;
}

static int fetch_store(struct insn *i, const struct x86_regs *regs, struct access *a)
{
	const struct move *m = i->move;
	unsigned offset, reg = register_of(i, &offset);
	int64_t imm = 0;
	int err = 0;

	if (m->file == IMMEDIATE || (m->flags & LANE_IMM))
		err = next_signed(i, m->flags & LANE_IMM ? 1 : i->size == 8 ? 4 : i->size, &imm);
	if (err)
		return err;
	if (m->file == IMMEDIATE) {
		memcpy(a->data, &imm, i->size);
	} else if (m->file == GENERAL) {
		memcpy(a->data, (const uint8_t *)&regs->gpr[reg] + offset, i->size);
		if (m->flags & SWAP)
			reverse(a->data, i->size);
	} else {
		if (m->flags &
		    LANE_IMM) /* the lanes are those of 16 B, or of 32 B for 16 B pieces */
			offset = (imm & (i->size == 16 ? 1 : 16 / i->size - 1)) * i->size;
		err = read_vector(regs, reg, offset, a);
	}
	return err;
}

static uint64_t effective_address(const struct insn *i, const struct x86_regs *regs)
{
	uint64_t address = i->address + (i->rip_relative ? regs->rip + i->at : 0);

	if (i->address32)
		address = (uint32_t)address;
	return address + (i->fs ? regs->fs_base : 0);
}

int access_decode_x86(const uint8_t *code, size_t n, const struct x86_regs *regs,
		      struct access *access)
{
	struct insn i = { .code = code,
			  .n = n < ACCESS_MAX_INSN_BYTES ? n : ACCESS_MAX_INSN_BYTES };
	struct access a = { 0 };
	unsigned offset;
	int err = read_opcode(&i);

	if (!err)
		err = find_move(&i);
	if (!err)
		err = read_address(&i, regs);
	if (err)
		return err;
	a.kind = i.move->kind;
	a.size = i.size;
	if (a.kind == ACCESS_STORE)
		err = fetch_store(&i, regs, &a);
	else if (a.kind == ACCESS_LOAD)
		describe_load(&i, &a);
	if (err)
		return err;
	a.address = effective_address(&i, regs);
	if (a.kind == ACCESS_COPY64) { /* the register holds the destination, memory the source */
		a.source = a.address;
		a.address = regs->gpr[register_of(&i, &offset)];
		if (i.address32)
			a.address = (uint32_t)a.address;
	}
	a.insn_bytes = i.at;
	*access = a;
	return 0;
}

static int finish_vector(const struct access *a, const uint8_t *data, struct x86_regs *regs)
{
	unsigned end = a->dest.offset + a->size;

	for (unsigned done = 0; done < a->size; done += 16)
		if (!vector_byte(regs, a->dest.reg, a->dest.offset + done))
			return -ENXIO;
	for (unsigned k = 0; k < a->size; k++)
		*vector_byte(regs, a->dest.reg, a->dest.offset + k) = data[k];
	for (unsigned k = end; k < a->dest.zero_to; k++) {
		uint8_t *byte = vector_byte(regs, a->dest.reg, k);

		if (byte) /* a missing part does not exist in the CPU, or is zero */
			*byte = 0;
	}
	return 0;
}

int access_finish_load_x86(const struct access *access, const uint8_t *data, struct x86_regs *regs)
{
	uint8_t value[ACCESS_MAX_BYTES];
	uint8_t *gpr = (uint8_t *)&regs->gpr[access->dest.reg & 15];

	if (access->dest.vector)
		return finish_vector(access, data, regs);
	memcpy(value, data, access->size);
	if (access->dest.byte_swap)
		reverse(value, access->size);
	if (access->dest.zero_to)
		memset(gpr, 0, access->dest.zero_to);
	memcpy(gpr + access->dest.offset, value, access->size);
	return 0;
}
