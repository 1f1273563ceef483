/* SPDX-License-Identifier: BSD-2-Clause */
/* wqe-dump build: the bytes of a WQE, from the options that describe it. */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <popt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build.h"

/*
 * Options that describe the WQE; their order matters: X(NAME, option, its argument, which function
 * handles it or else the field that it sets, help). One without an argument sets this value.
 */
#define OPTIONS(X)                                                                                 \
	X(QPN, "qpn", "N", NULL, "ctrl.qpn", "number of the QP")                                   \
	X(INDEX, "index", "N", NULL, "ctrl.wqe_index",                                             \
	  "cumulative index in the ring, in units of 64 bytes")                                    \
	X(OPMOD, "opmod", "N", NULL, "ctrl.opmod", "opcode modifier")                              \
	X(IMM, "imm", "N", NULL, "ctrl.imm", "immediate")                                          \
	X(INVALIDATE, "invalidate", "N", NULL, "ctrl.imm", "rkey to invalidate")                   \
	X(MKEY, "mkey", "N", NULL, "ctrl.imm", "UMR: mkey to change")                              \
	X(OBJECT, "object", "N", NULL, "ctrl.imm",                                                 \
	  "PSV, ASO, flow, MMO: number or parameters of the object")                               \
	X(RADDR, "raddr", "N", NULL, "raddr.raddr", "remote address")                              \
	X(RKEY, "rkey", "N", NULL, "raddr.rkey", "remote key")                                     \
	X(ADD, "add", "N", NULL, "add", "atomic: what to add")                                     \
	X(SWAP, "swap", "N", NULL, "swap", "atomic: what to write")                                \
	X(COMPARE, "compare", "N", NULL, "compare", "atomic: what to compare with")                \
	X(SWAP_MASK, "swap-mask", "N", NULL, "swap_mask", "masked atomic: bits to write")          \
	X(COMPARE_MASK, "compare-mask", "N", NULL, "compare_mask",                                 \
	  "masked atomic: bits to compare")                                                        \
	X(BOUNDARY, "boundary", "N", NULL, "field_boundary",                                       \
	  "masked atomic: highest bit of each field")                                              \
	X(DQPN, "dqpn", "N", NULL, "dqpn", "UD, DC: destination")                                  \
	X(QKEY, "qkey", "N", NULL, "qkey", "UD: Q_Key")                                            \
	X(DC_KEY, "dc-key", "N", NULL, "dc_key", "DC: access key")                                 \
	X(LID, "lid", "N", NULL, "rlid", "UD, DC: destination LID, on RoCEv2 the UDP source port") \
	X(SL, "sl", "N", NULL, "sl", "UD, DC: service level")                                      \
	X(SRQN, "srqn", "N", NULL, "srqn", "XRC: shared receive queue of the responder")           \
	X(GID, "gid", "GID", set_gid, NULL, "UD, DC: destination GID, in a vector of 48 bytes")    \
	X(SGE, "sge", "ADDR:LEN:KEY", add_sge, NULL, "data segment; of a UMR a translation")       \
	X(INLINE, "inline", "HEX", build_inline, NULL, "inline data")                              \
	X(HEADER, "header", "HEX", build_header, NULL,                                             \
	  "inline headers after the Ethernet segment")                                             \
	X(SEGMENT, "segment", "NAME", build_segment, NULL,                                         \
	  "another segment, which --set is about from here on")                                    \
	X(RAW, "raw", "HEX", build_raw, NULL, "other bytes")                                       \
	X(SET, "set", "FIELD=VALUE[,...]", set_fields, NULL,                                       \
	  "any fields; SEGMENT.FIELD where two have the name")                                     \
	X(SIGNALED, "signaled", NULL, NULL, "ctrl.ce=ALWAYS", "a CQE when done")                   \
	X(SOLICITED, "solicited", NULL, NULL, "ctrl.solicited=1",                                  \
	  "solicited event at the responder")                                                      \
	X(FENCE, "fence", NULL, NULL, "ctrl.fence=SMALL_AND_FENCE", "what IBV_SEND_FENCE becomes")

enum option {
	NO_OPTION, /* what popt returns for these, never 0 */
#define ENUM_OPTION(NAME, ...) OPTION_##NAME,
	OPTIONS(ENUM_OPTION)
};

static struct {
	char *transport;
	int size_bytes, fields, list, binary, pad, force;
} options = { .size_bytes = 8 };

static const struct poptOption option_table[] = {
#define POPT_OPTION(NAME, option, argument, take, field, text)                                     \
	{                                                                                          \
		option, 0,       argument ? POPT_ARG_STRING : POPT_ARG_NONE, NULL, OPTION_##NAME,  \
		text,   argument                                                                   \
	},
	OPTIONS(POPT_OPTION){ "transport", 't', POPT_ARG_STRING, &options.transport, 0,
			      "of the queue: rc (the default), uc, ud, dc, xrc, eth, ipoib",
			      "NAME" },
	{ "size", 0, POPT_ARG_INT, &options.size_bytes, 0, "masked atomic: 8 bytes, or 4", "N" },
	{ "pad", 'p', POPT_ARG_NONE, &options.pad, 0, "zeros up to a multiple of 64 bytes", NULL },
	{ "binary", 'b', POPT_ARG_NONE, &options.binary, 0, "print the bytes, not hex", NULL },
	{ "force", 0, POPT_ARG_NONE, &options.force, 0, "even what a ConnectX refuses", NULL },
	{ "fields", 0, POPT_ARG_NONE, &options.fields, 0, "list the fields that can be set", NULL },
	{ "list", 'l', POPT_ARG_NONE, &options.list, 0, "list operations and segments", NULL },
	POPT_AUTOHELP POPT_TABLEEND
};

/** struct step - an option, in the order of the command line */
struct step {
	enum option option;
	char *argument;
};

#define STEPS_MAX 256
static struct step steps[STEPS_MAX];
static unsigned step_count;

/* The last argument that was given to an option, or NULL. */
static const char *given(enum option option)
{
	for (unsigned i = step_count; i; i--)
		if (steps[i - 1].option == option)
			return steps[i - 1].argument;
	return NULL;
}

/* -- arguments --------------------------------------------------------------------------------- */

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
	static const struct {
		int (*take)(struct build *b, const char *text);
		const char *field;
	} takers[] = {
#define TAKER(NAME, option, argument, take, field, text) [OPTION_##NAME] = { take, field },
		OPTIONS(TAKER)
	};
	const char *field = takers[step->option].field;

	if (!field)
		return takers[step->option].take(b, step->argument);
	return strchr(field, '=') ? set_fields(b, field) : build_set(b, field, step->argument);
}

/* -- the WQE ----------------------------------------------------------------------------------- */

/* The last dword of the control segment has another meaning for each operation. */
static int check_imm(const struct build *b)
{
	static const struct {
		enum option option;
		enum bsn_imm_use use;
		const char *name;
	} uses[] = { { OPTION_IMM, BSN_IMM_IMMEDIATE, "--imm" },
		     { OPTION_INVALIDATE, BSN_IMM_INVALIDATE, "--invalidate" },
		     { OPTION_MKEY, BSN_IMM_MKEY, "--mkey" },
		     { OPTION_OBJECT, BSN_IMM_OBJECT, "--object" } };

	for (size_t i = 0; b->op && i < COUNT(uses); i++)
		if (given(uses[i].option) && b->op->imm != uses[i].use)
			return build_refuse("%s has no %s: see --list%s", b->name, uses[i].name,
					    uses[i].use == BSN_IMM_IMMEDIATE
						    ? ", where those with an immediate end in _IMM"
						    : "");
	if (b->op && b->op->has_raddr && !(given(OPTION_RADDR) && given(OPTION_RKEY)) &&
	    !options.force)
		return build_refuse("%s needs --raddr and --rkey", b->name);
	return 0;
}

static int begin(struct build *b, const char *operation)
{
	const struct number transport =
		record_transport_find(options.transport ? options.transport : "rc");

	if (!transport.is_known)
		return build_refuse("%s: --transport is one of: rc uc ud dc xrc eth ipoib",
				    options.transport);
	b->transport = (enum bsn_transport)transport.value;
	b->is_extended = given(OPTION_GID);
	if (given(OPTION_OPMOD))
		b->opmod = (uint32_t)strtoul(given(OPTION_OPMOD), NULL, 0);
	if (options.size_bytes != 4 && options.size_bytes != 8)
		return build_refuse("--size is 4 or 8");
	if (strcasestr(operation, "masked"))
		b->opmod = BSN_OPMOD_MASKED(options.size_bytes);
	return build_begin(b, operation);
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
				printf(" %s", record_transport_names[i]);
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
	if (!words || !words[0] || words[1])
		return build_refuse("name one operation, as in: build write --raddr 0x1000 "
				    "--rkey 0x2000 --sge 0x3000:8:0x4000; --list has them all");
	if ((options.fields ? begin : build)(&b, words[0]))
		return WQE_DUMP_FAILED;
	(options.fields ? print_fields : print_bytes)(&b);
	return WQE_DUMP_FOUND;
}

/* Keeps the options in the order in which they were given. */
static int take_option(int option, char *argument)
{
	if (step_count == STEPS_MAX)
		return build_refuse("too many options");
	steps[step_count++] = (struct step){ (enum option)option, argument };
	return 0;
}

const struct command command_build = {
	.name = "wqe-dump build",
	.usage = "OPERATION [OPTION...]",
	.options = option_table,
	.take = take_option,
	.run = run,
};
