/* SPDX-License-Identifier: BSD-2-Clause */
/* CQEs and WQEs that a program prints as lines of hexadecimal digits, after a line of text. */
#include <stdlib.h>
#include <string.h>

#include "keys.h"

#define COLLECT_MAX_BYTES 1024 /* the longest WQE in whole basic blocks */

/** struct dump - a dump that a form's lines of text begin; a form has several of them */
struct dump {
	const char *text;        /* in the line of text; NULL: any other line */
	enum raw_kind kind;      /* RAW_GUESS: neither a CQE nor a WQE */
	struct number transport; /* of a WQE, enum bsn_transport */
	bool may_be_swapped;     /* its dwords may be printed as a little-endian host reads them */
	bool has_row;            /* the line of text has the first bytes, too */
	const struct shape *shape; /* of the line of text, or NULL */
};

/** struct collect - the bytes so far; zero at first */
struct collect {
	struct record record;    /* from the line of text; the dump adds to it */
	const struct dump *dump; /* NULL: the line of text did not come yet */
	unsigned count;          /* bytes so far */
	unsigned wanted;         /* bytes */
	bool has_offset;         /* rows begin with an offset */
	bool is_swapped;         /* of a WQE: dwords are */
	uint8_t bytes[COLLECT_MAX_BYTES];
};

static bool is_error_cqe(const struct collect *collect)
{
	const uint8_t opcode = collect->bytes[BSN_CQE_OP_OWN_OFFSET] >> 4;

	return opcode == BSN_CQE_REQ_ERR || opcode == BSN_CQE_RESP_ERR;
}

static void tell_cqe(struct feed *feed, struct collect *collect)
{
	struct number said;
	struct bsn_bad bad;

	if (collect->dump->may_be_swapped) {
		hex_swap(collect->bytes, collect->count, 4);
		if (!is_error_cqe(collect))
			hex_swap(collect->bytes, collect->count, 4);
	}
	said = collect->record.qpn;
	if (record_decode(&collect->record, RAW_CQE, collect->bytes, collect->count, &bad)) {
		tell_unread(feed->tell, collect->record.line, "%s: %s", bad.segment, bad.why);
		return;
	}
	if (said.is_known && !collect->record.qpn.value)
		collect->record.qpn = said; /* CQEs of plain receive queues have no QPN */
	tell_record(feed->tell, &collect->record);
}

/* Whether a row is the rest of a broken one. */
static bool is_rest(const struct collect *collect, const struct hex_row *row)
{
	const unsigned there = collect->count % BSN_DS_SIZE;

	return there && !row->has_offset && row->is_pure && row->group == 1 &&
	       there + row->count <= BSN_DS_SIZE;
}

/* Adds the bytes of a line. False: they do not continue the dump. */
static bool add_row(struct collect *collect, const struct line *line)
{
	struct hex_row row;
	uint8_t bytes[HEX_ROW_MAX];

	if (!hex_row_read(line->text, &row, bytes))
		return false;
	if (!collect->count)
		collect->has_offset = row.has_offset;
	if (row.has_offset != collect->has_offset && !is_rest(collect, &row))
		return false;
	if (row.has_offset && row.offset && row.offset < collect->count)
		collect->count = (unsigned)row.offset; /* the row before was too long */
	if (row.has_offset && row.offset != collect->count)
		return false;
	if (row.count > collect->wanted - collect->count)
		row.count = collect->wanted - collect->count;
	if (row.count < 4 && !is_rest(collect, &row))
		return false;
	if (!row.is_pure && !row.has_offset && row.count < BSN_DS_SIZE)
		return false;
	memcpy(collect->bytes + collect->count, bytes, row.count);
	collect->count += row.count;
	return true;
}

/* A WQE without a length has it in its control segment. */
static void read_length(struct collect *collect)
{
	uint8_t head[BSN_CTRL_SIZE];
	struct bsn_ctrl ctrl;

	collect->is_swapped = collect->dump->may_be_swapped &&
			      !judge_ctrl(collect->bytes, COLLECT_MAX_BYTES, &ctrl);
	memcpy(head, collect->bytes, sizeof(head));
	if (collect->is_swapped)
		hex_swap(head, sizeof(head), 4);
	bsn_ctrl_decode(&ctrl, head);
	if (ctrl.ds)
		collect->wanted = ctrl.ds * BSN_DS_SIZE;
}

static void tell_wqe(struct feed *feed, struct collect *collect)
{
	if (collect->is_swapped)
		hex_swap(collect->bytes, collect->count, 4);
	raw_tell_wqe(feed->tell, feed->bytes, collect->record.line, collect->dump->transport,
		     collect->bytes, collect->count);
}

static enum form_answer take_row(struct feed *feed, const struct line *line,
				 struct collect *collect)
{
	const bool is_wqe = collect->dump->kind == RAW_WQE;
	struct hex_row row;

	if (collect->dump->kind == RAW_GUESS)
		return hex_row_read(line->text, &row, NULL) && row.count == BSN_DS_SIZE ? FORM_MORE
											: FORM_PASS;
	if (!add_row(collect, line))
		return FORM_PASS;
	if (is_wqe && collect->count == BSN_CTRL_SIZE && collect->wanted == BSN_CTRL_SIZE)
		read_length(collect);
	if (collect->count < collect->wanted)
		return FORM_MORE;
	(is_wqe ? tell_wqe : tell_cqe)(feed, collect);
	return FORM_TAKEN;
}

/* Bytes of the dump. The line of text may have the length of a WQE. */
static unsigned count_wanted(const struct dump *dump, const struct line *line)
{
	const char *len = strstr(line->text, "len: ");
	const unsigned long wanted = len ? strtoul(len + strlen("len: "), NULL, 10) : 0;

	if (dump->kind != RAW_WQE)
		return BSN_CQE_SIZE;
	return wanted && wanted <= COLLECT_MAX_BYTES ? (unsigned)wanted : BSN_CTRL_SIZE;
}

/* Takes the line of text, then the lines of the dump. */
static enum form_answer feed_dump(struct feed *feed, const struct line *line, void *state)
{
	const struct dump *dump = feed->form->lines;
	struct collect *collect = state;
	enum form_answer answer = FORM_MORE;

	if (collect->dump)
		return take_row(feed, line, collect);
	while (dump->text && !strstr(line->text, dump->text))
		dump++;
	if (dump->shape)
		answer = keys_begin(feed, line, dump->shape, &collect->record);
	if (answer != FORM_MORE)
		return answer;
	collect->dump = dump;
	collect->record.line = line->number;
	collect->wanted = count_wanted(dump, line);
	return dump->has_row ? take_row(feed, line, collect) : FORM_MORE;
}

/* Reports the line of text alone, or that the dump is incomplete. */
static void close_dump(struct feed *feed, void *state)
{
	struct collect *collect = state;

	if (collect->dump->kind == RAW_GUESS)
		return;
	if (!collect->count && collect->record.syndrome.is_known)
		tell_record(feed->tell, &collect->record);
	else
		tell_unread(feed->tell, collect->record.line,
			    "a dump of %u bytes, of which only %u are there", collect->wanted,
			    collect->count);
}

/* -- forms ------------------------------------------------------------------------------------- */

/* A form of dumps: its variable, its name, its marks, its dumps. */
#define DUMP_FORM(id, name, marks, ...)                                                            \
	FORM(id, name, marks, .state_bytes = sizeof(struct collect), .begins_anew = true,          \
	     .lines = (const struct dump[]){ __VA_ARGS__ }, .feed = feed_dump,                     \
	     .close = close_dump)

/*
 * libmlx5 prints an error CQE as four lines of four dwords: rdma-core's providers/mlx5/cq.c
 * mlx5_parse_cqe(), dump_cqe(). It does not print flushes, exceeded retries and page faults.
 */
DUMP_FORM(libmlx5, "libmlx5", MARKS("got completion with error:"), { .kind = RAW_CQE });

/*
 * mlx5_ib, hw/mlx5/cq.c dump_cqe(), prints dwords; later versions print bytes with an offset;
 * today's put "cqe_dump: " before each row, and the first row is the first line.
 */
DUMP_FORM(mlx5_ib, "mlx5_ib", MARKS("dump error cqe", "cqe_dump: 00000000: "),
	  { .text = "cqe_dump: ", .kind = RAW_CQE, .has_row = true }, { .kind = RAW_CQE });

/*
 * Send WQEs: the kernel's mlx5/core/wq.c mlx5_wq_cyc_wqe_dump(), of the Ethernet driver alone, and
 * hw/mlx5/wr.c dump_wqe(); rdma-core's providers/mlx5/qp.c dump_wqe().
 */
DUMP_FORM(mlx5_core_wqe, "mlx5_core-wqe", MARKS("WQE DUMP: WQ size "),
	  { .kind = RAW_WQE, .transport = { true, BSN_TRANSPORT_ETH } });
DUMP_FORM(mlx5_ib_wqe, "mlx5_ib-wqe", MARKS("dump WQE index "), { .kind = RAW_WQE });
DUMP_FORM(libmlx5_wqe, "libmlx5-wqe", MARKS("dump wqe at "), { .kind = RAW_WQE });

/* -- the Ethernet driver: mlx5/core/en.h mlx5e_dump_error_cqe(), then the CQE itself ----------- */

static void finish_mlx5e(struct record *record, const char *line)
{
	const char *opcode = text_find(line, "opcode ");
	uint64_t value;

	if (!opcode || !text_number(opcode + strlen("opcode"), 16, &value))
		return;
	if (value == BSN_CQE_REQ_ERR)
		record->side = SIDE_REQUESTER;
	if (value == BSN_CQE_RESP_ERR)
		record->side = SIDE_RESPONDER;
}

static const struct shape mlx5e_line =
	LINE_WITH(finish_mlx5e, ERROR_CQE, UNKNOWN, "Error cqe on cqn ", FIELD_HEX("cqn ", "cqn"),
		  FIELD_HEX("ci ", "ci"), HEX("sqn ", qpn), HEX("qn ", qpn),
		  HEX("syndrome ", syndrome), VENDOR("vendor syndrome "));

/* The dump may be missing: the kernel limits their rate. */
DUMP_FORM(mlx5e, "mlx5e", MARKS("Error cqe on cqn "), { .kind = RAW_CQE, .shape = &mlx5e_line });

/*
 * -- DPDK: net/mlx5/mlx5_flow_aso.c mlx5_aso_dump_err_objs(), compress/mlx5/mlx5_compress.c
 * mlx5_compress_dump_err_objs(). Dwords are printed as the host reads them, so that most are
 * byte-swapped. The last kind is opaque.
 */
DUMP_FORM(dpdk_dump, "dpdk-dump", MARKS("Error cqe:", "Error wqe:", "Error opaq:"),
	  { .text = "Error cqe:", .kind = RAW_CQE, .may_be_swapped = true },
	  { .text = "Error wqe:",
	    .kind = RAW_WQE,
	    .transport = { true, BSN_TRANSPORT_RC },
	    .may_be_swapped = true },
	  { .kind = RAW_GUESS });
