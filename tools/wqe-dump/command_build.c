/* SPDX-License-Identifier: BSD-2-Clause */
/* wqe-dump build: the bytes of a WQE, from what it is to do. */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <popt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build.h"
#include "command.h"
#include "record.h"

/* Options that set one field: X(NAME, option, field, what it is) */
#define SHORTHANDS(X)                                                                              \
	X(QPN, "qpn", "ctrl.qpn", "number of the QP")                                              \
	X(INDEX, "index", "ctrl.wqe_index", "cumulative index in the ring, in units of 64 bytes")  \
	X(OPMOD, "opmod", "ctrl.opmod", "opcode modifier")                                         \
	X(IMM, "imm", "ctrl.imm", "immediate")                                                     \
	X(INVALIDATE, "invalidate", "ctrl.imm", "rkey to invalidate")                              \
	X(MKEY, "mkey", "ctrl.imm", "UMR: mkey to change")                                         \
	X(OBJECT, "object", "ctrl.imm", "PSV, ASO, flow, MMO: number or parameters of the object") \
	X(RADDR, "raddr", "raddr.raddr", "remote address")                                         \
	X(RKEY, "rkey", "raddr.rkey", "remote key")                                                \
	X(ADD, "add", "add", "atomic: what to add")                                                \
	X(SWAP, "swap", "swap", "atomic: what to write")                                           \
	X(COMPARE, "compare", "compare", "atomic: what to compare with")                           \
	X(SWAP_MASK, "swap-mask", "swap_mask", "masked atomic: bits to write")                     \
	X(COMPARE_MASK, "compare-mask", "compare_mask", "masked atomic: bits to compare")          \
	X(BOUNDARY, "boundary", "field_boundary", "masked atomic: highest bit of each field")      \
	X(DQPN, "dqpn", "dqpn", "UD, DC: destination")                                             \
	X(QKEY, "qkey", "qkey", "UD: Q_Key")                                                       \
	X(DC_KEY, "dc-key", "dc_key", "DC: access key")                                            \
	X(LID, "lid", "rlid", "UD, DC: destination LID, on RoCEv2 the UDP source port")            \
	X(SL, "sl", "sl", "UD, DC: service level")                                                 \
	X(SRQN, "srqn", "srqn", "XRC: shared receive queue of the responder")

/* Options whose order matters: X(NAME, option, argument, what it is) */
#define ACTIONS(X)                                                                                 \
	X(GID, "gid", "GID", "UD, DC: destination GID, in a vector of 48 bytes")                   \
	X(SGE, "sge", "ADDR:LEN:KEY", "data segment; of a UMR a translation")                      \
	X(INLINE, "inline", "HEX", "inline data")                                                  \
	X(HEADER, "header", "HEX", "inline headers after the Ethernet segment")                    \
	X(SEGMENT, "segment", "NAME", "another segment, which --set is about from here on")        \
	X(RAW, "raw", "HEX", "other bytes")                                                        \
	X(SET, "set", "FIELD=VALUE[,...]", "any fields; SEGMENT.FIELD where two have the name")

/* Options that set one value: X(NAME, option, field, value, what it is) */
#define FLAGS(X)                                                                                   \
	X(SIGNALED, "signaled", "ctrl.ce", BSN_CE_ALWAYS, "a CQE when done")                       \
	X(SOLICITED, "solicited", "ctrl.solicited", 1, "solicited event at the responder")         \
	X(FENCE, "fence", "ctrl.fence", BSN_FENCE_SMALL_AND_FENCE, "what IBV_SEND_FENCE becomes")

enum action {
	NO_ACTION, /* popt answers with these, never 0 */
#define ENUM_SHORTHAND(NAME, option, field, text)   ACTION_##NAME,
#define ENUM_ACTION(NAME, option, argument, text)   ACTION_##NAME,
#define ENUM_FLAG(NAME, option, field, value, text) ACTION_##NAME,
	SHORTHANDS(ENUM_SHORTHAND) ACTIONS(ENUM_ACTION) FLAGS(ENUM_FLAG) ACTION_COUNT
};

/* The field that an option sets; if the value is NULL, to its argument. */
static const struct {
	const char *field;
	uint32_t value;
} settings[ACTION_COUNT] = {
#define SHORTHAND_SETTING(NAME, option, field, text)   [ACTION_##NAME] = { field, 0 },
#define FLAG_SETTING(NAME, option, field, value, text) [ACTION_##NAME] = { field, value },
	SHORTHANDS(SHORTHAND_SETTING) FLAGS(FLAG_SETTING)
};

static struct {
	char *transport;
	int size_bytes, fields, list, binary, pad, force;
} options = { .size_bytes = 8 };

static const struct poptOption option_table[] = {
#define SHORTHAND_OPTION(NAME, option, field, text)                                                \
	{ option, 0, POPT_ARG_STRING, NULL, ACTION_##NAME, text, "N" },
#define ACTION_OPTION(NAME, option, argument, text)                                                \
	{ option, 0, POPT_ARG_STRING, NULL, ACTION_##NAME, text, argument },
#define FLAG_OPTION(NAME, option, field, value, text)                                              \
	{ option, 0, POPT_ARG_NONE, NULL, ACTION_##NAME, text, NULL },
	SHORTHANDS(SHORTHAND_OPTION) ACTIONS(ACTION_OPTION) FLAGS(FLAG_OPTION){
		"transport", 't', POPT_ARG_STRING, &options.transport, 0,
		"of the queue: rc (the default), uc, ud, dc, xrc, eth, ipoib", "NAME" },
	{ "size", 0, POPT_ARG_INT, &options.size_bytes, 0, "masked atomic: 8 bytes, or 4", "N" },
	{ "pad", 'p', POPT_ARG_NONE, &options.pad, 0, "zeros up to a multiple of 64 bytes", NULL },
	{ "binary", 'b', POPT_ARG_NONE, &options.binary, 0, "print the bytes, not hex", NULL },
	{ "force", 0, POPT_ARG_NONE, &options.force, 0, "even what a ConnectX refuses", NULL },
	{ "fields", 0, POPT_ARG_NONE, &options.fields, 0, "list the fields that can be set", NULL },
	{ "list", 'l', POPT_ARG_NONE, &options.list, 0, "list operations and segments", NULL },
	POPT_AUTOHELP POPT_TABLEEND
};

/** struct step - one option, in the order in which they were given */
struct step {
	enum action action;
	char *argument;
};

#define STEPS_MAX 256
static struct step steps[STEPS_MAX];
static unsigned step_count;

static bool is_given(enum action action)
{
	for (unsigned i = 0; i < step_count; i++)
		if (steps[i].action == action)
			return true;
	return false;
}

/* -- arguments --------------------------------------------------------------------------------- */

/* Reads bytes as digits, with spaces, colons or nothing between them; the count, or -EINVAL. */
static int read_hex(const char *text, uint8_t bytes[BUILD_MAX_BYTES])
{
	const char *at = text;
	int count = 0;

	while (*at) {
		if (*at == ' ' || *at == ':') {
			at++;
			continue;
		}
		if (!isxdigit((unsigned char)at[0]) || !isxdigit((unsigned char)at[1]))
			return build_refuse("%s: bytes are pairs of hexadecimal digits", text);
		if (count == BUILD_MAX_BYTES)
			return build_refuse("more bytes than a WQE has");
		bytes[count++] = (uint8_t)strtoul((char[]){ at[0], at[1], '\0' }, NULL, 16);
		at += 2;
	}
	return count;
}

static int add_bytes(struct build *b, const struct step *step)
{
	uint8_t bytes[BUILD_MAX_BYTES];
	const int count = read_hex(step->argument, bytes);

	if (count < 0)
		return count;
	if (step->action == ACTION_INLINE)
		return build_inline(b, bytes, (size_t)count);
	if (step->action == ACTION_HEADER)
		return build_header(b, bytes, (size_t)count);
	return build_raw(b, bytes, (size_t)count);
}

static int add_sge(struct build *b, const char *text)
{
	unsigned long long numbers[3];
	const char *at = text;
	char *end;

	for (unsigned i = 0; i < COUNT(numbers); i++) {
		errno = 0;
		numbers[i] = strtoull(at, &end, 0);
		if (!isdigit((unsigned char)*at) || errno || *end != (i < 2 ? ':' : '\0'))
			return build_refuse("%s: a data segment is ADDR:LEN:KEY, as in "
					    "0x7f0000001000:4096:0x1aff",
					    text);
		at = end + 1;
	}
	return build_pointer(b, numbers[0], numbers[1], numbers[2]);
}

static int set_gid(struct build *b, const char *text)
{
	uint8_t gid[16];
	int err;

	if (inet_pton(AF_INET6, text, gid) != 1)
		return build_refuse("%s: a GID is written as an IPv6 address", text);
	err = build_set_number(b, "rgid_hi", bsn_load_be64(gid));
	return err ? err : build_set_number(b, "rgid_lo", bsn_load_be64(gid + 8));
}

/* Sets one of FIELD=VALUE[,FIELD=VALUE...] */
static int set_field(struct build *b, const char *text, size_t len)
{
	char field[96];
	char *equals;

	snprintf(field, sizeof(field), "%.*s", (int)len, text);
	equals = strchr(field, '=');
	if (!equals || len >= sizeof(field))
		return build_refuse("%s: is not FIELD=VALUE; --fields lists the fields", field);
	*equals = '\0';
	return build_set(b, field, equals + 1);
}

static int set_fields(struct build *b, const char *text)
{
	int err = 0;

	while (*text && !err) {
		const size_t len = strcspn(text, ",");
		err = set_field(b, text, len);
		text += len + (text[len] == ',');
	}
	return err;
}

static int take_step(struct build *b, const struct step *step)
{
	switch (step->action) {
	case ACTION_GID:
		return set_gid(b, step->argument);
	case ACTION_SGE:
		return add_sge(b, step->argument);
	case ACTION_INLINE:
	case ACTION_HEADER:
	case ACTION_RAW:
		return add_bytes(b, step);
	case ACTION_SEGMENT:
		return build_segment(b, step->argument);
	case ACTION_SET:
		return set_fields(b, step->argument);
	default:
		return step->argument ? build_set(b, settings[step->action].field, step->argument)
				      : build_set_number(b, settings[step->action].field,
							 settings[step->action].value);
	}
}

/* -- the WQE ----------------------------------------------------------------------------------- */

/* The last dword of the control segment means something else for each operation. */
static int check_imm(const struct build *b)
{
	static const struct {
		enum action action;
		enum bsn_imm_use use;
		const char *option;
	} uses[] = { { ACTION_IMM, BSN_IMM_IMMEDIATE, "--imm" },
		     { ACTION_INVALIDATE, BSN_IMM_INVALIDATE, "--invalidate" },
		     { ACTION_MKEY, BSN_IMM_MKEY, "--mkey" },
		     { ACTION_OBJECT, BSN_IMM_OBJECT, "--object" } };

	for (size_t i = 0; b->op && i < COUNT(uses); i++)
		if (is_given(uses[i].action) && b->op->imm != uses[i].use)
			return build_refuse("%s has no %s: see --list%s", b->name, uses[i].option,
					    uses[i].use == BSN_IMM_IMMEDIATE
						    ? ", where those with an immediate end in _IMM"
						    : "");
	if (b->op && b->op->has_raddr && !(is_given(ACTION_RADDR) && is_given(ACTION_RKEY)) &&
	    !options.force)
		return build_refuse("%s needs --raddr and --rkey", b->name);
	return 0;
}

static int begin(struct build *b, const char *operation)
{
	const struct number transport =
		record_transport_find(options.transport ? options.transport : "rc");
	struct build_attr attr = { .operation = operation,
				   .transport = (enum bsn_transport)transport.value,
				   .is_extended = is_given(ACTION_GID) };

	if (!transport.is_known)
		return build_refuse("%s: --transport is one of: rc uc ud dc xrc eth ipoib",
				    options.transport);

	for (unsigned i = 0; i < step_count; i++)
		if (steps[i].action == ACTION_OPMOD)
			attr.opmod = (uint32_t)strtoul(steps[i].argument, NULL, 0);
	if (options.size_bytes != 4 && options.size_bytes != 8)
		return build_refuse("--size is 4 or 8");
	if (strcasestr(operation, "masked"))
		attr.opmod = BSN_OPMOD_MASKED(options.size_bytes);
	return build_begin(b, &attr);
}

static int build(struct build *b, const char *operation)
{
	int err = begin(b, operation);

	if (!err)
		err = check_imm(b);
	for (unsigned i = 0; !err && i < step_count; i++)
		err = take_step(b, &steps[i]);
	return err ? err : build_end(b, options.force);
}

/* -- output ------------------------------------------------------------------------------------ */

static void print_bytes(const struct build *b)
{
	const size_t size = options.pad
				    ? bsn_bb_of_ds(bsn_ds_of_bytes((uint32_t)b->size)) * BSN_BB_SIZE
				    : b->size;
	uint8_t bytes[BUILD_MAX_BYTES + BSN_BB_SIZE] = { 0 };

	memcpy(bytes, b->bytes, b->size);
	if (options.binary)
		fwrite(bytes, 1, size, stdout);
	for (size_t i = 0; !options.binary && i < size; i += 4)
		printf("%08x%c", bsn_load_be32(bytes + i), i % BSN_DS_SIZE == 12 ? '\n' : ' ');
}

static void print_fields(const struct build *b)
{
	for (unsigned i = 0; i < b->set_count; i++) {
		const struct bsn_seg_desc *desc = b->segments[i].desc;
		for (unsigned k = 0; k < desc->row_count; k++)
			if (desc->rows[k].name)
				printf("%s.%-24s %2u bits  %s\n", desc->name, desc->rows[k].name,
				       desc->rows[k].width, desc->rows[k].doc);
	}
}

static void print_list(void)
{
	for (uint32_t opcode = 0; opcode <= UINT8_MAX; opcode++) {
		const struct bsn_wqe_op *op = bsn_wqe_op_find(opcode);
		if (!op)
			continue;
		printf("%-18s 0x%02x ", op->name, opcode);
		for (unsigned i = BSN_TRANSPORT_RC; i <= BSN_TRANSPORT_IPOIB; i++)
			if (op->transports & 1u << i)
				printf(" %s", record_transport_name((enum bsn_transport)i));
		putchar('\n');
	}
	puts("recv\nrecv-srq\nrecv-signed\n");
	for (size_t i = 0; i < bsn_segment_count; i++)
		if (bsn_segments[i]->size_bytes % BSN_DS_SIZE == 0)
			printf("%-18s %s\n", bsn_segments[i]->name, bsn_segments[i]->doc);
}

static int run(const char **words)
{
	static struct build b;

	if (options.list) {
		print_list();
		return WQE_DUMP_FOUND;
	}
	if (!words || !words[0] || words[1]) {
		build_refuse("name one operation, as in: build write --raddr 0x1000 --rkey 0x2000 "
			     "--sge 0x3000:8:0x4000; --list has them all");
		return WQE_DUMP_FAILED;
	}
	if (options.fields) {
		if (begin(&b, words[0]))
			return WQE_DUMP_FAILED;
		print_fields(&b);
		return WQE_DUMP_FOUND;
	}
	if (build(&b, words[0]))
		return WQE_DUMP_FAILED;
	print_bytes(&b);
	return WQE_DUMP_FOUND;
}

/* Keeps the options in their order. */
static int take_option(int option, char *argument)
{
	if (step_count == STEPS_MAX)
		return build_refuse("too many options");
	steps[step_count++] = (struct step){ (enum action)option, argument };
	return 0;
}

const struct command command_build = {
	.name = "wqe-dump build",
	.usage = "OPERATION [OPTION...]",
	.options = option_table,
	.take = take_option,
	.run = run,
};
