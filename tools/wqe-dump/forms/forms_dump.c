/* SPDX-License-Identifier: BSD-2-Clause */
/* CQEs and WQEs that a program prints as lines of hexadecimal digits, after a line of text. */
#include <stdlib.h>
#include <string.h>

#include "../bytes/hex.h"
#include "../bytes/raw.h"
#include "../text/text.h"
#include "keys.h"

#define COLLECT_MAX_BYTES 1024 /* the longest WQE in whole basic blocks */

/** struct collect - the bytes so far; zero at first */
struct collect {
	struct record record;    /* from the line of text; the dump adds to it */
	unsigned count;          /* bytes so far */
	bool has_begun;          /* the line of text came */
	unsigned wanted;         /* bytes */
	bool has_offset;         /* rows begin with an offset */
	struct number transport; /* of a WQE, enum bsn_transport */
	bool is_swapped;         /* and are */
	bool may_be_swapped;     /* its dwords may be printed as a little-endian host reads them */
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

	if (collect->may_be_swapped) {
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

/*
 * Takes the line of text, then the lines of the CQE. A form uses it as feed(), or calls it at the
 * end of its own; if it parses the line of text, it fills the record first.
 */
static enum form_answer collect_cqe(struct feed *feed, const struct line *line, void *state)
{
	struct collect *collect = state;

	if (!collect->has_begun) {
		collect->has_begun = true;
		collect->wanted = BSN_CQE_SIZE;
		collect->record.line = line->number;
		return FORM_MORE;
	}
	if (!add_row(collect, line))
		return FORM_PASS;
	if (collect->count < collect->wanted)
		return FORM_MORE;
	tell_cqe(feed, collect);
	return FORM_TAKEN;
}

/* The length of a WQE, from the line of text or from the WQE. */
static void begin_wqe(struct collect *collect, const struct line *line)
{
	const char *len = strstr(line->text, "len: ");
	const unsigned long wanted = len ? strtoul(len + strlen("len: "), NULL, 10) : 0;

	collect->has_begun = true;
	collect->record.line = line->number;
	collect->wanted = wanted && wanted <= COLLECT_MAX_BYTES ? (unsigned)wanted : BSN_CTRL_SIZE;
}

/* The same for a send WQE. */
static enum form_answer collect_wqe(struct feed *feed, const struct line *line, void *state)
{
	struct collect *collect = state;
	struct raw_place place = { .line = collect->record.line };
	struct bsn_ctrl ctrl;

	if (!collect->has_begun) {
		begin_wqe(collect, line);
		return FORM_MORE;
	}
	if (!add_row(collect, line))
		return FORM_PASS;
	if (collect->count == BSN_CTRL_SIZE && collect->wanted == BSN_CTRL_SIZE) {
		collect->is_swapped = collect->may_be_swapped &&
				      !judge_ctrl(collect->bytes, COLLECT_MAX_BYTES, &ctrl);
		if (collect->is_swapped)
			hex_swap(collect->bytes, collect->count, 4);
		bsn_ctrl_decode(&ctrl, collect->bytes);
		if (collect->is_swapped)
			hex_swap(collect->bytes, collect->count, 4);
		collect->wanted = ctrl.ds ? ctrl.ds * BSN_DS_SIZE : BSN_CTRL_SIZE;
	}
	if (collect->count < collect->wanted)
		return FORM_MORE;
	if (collect->is_swapped)
		hex_swap(collect->bytes, collect->count, 4);
	raw_tell(feed->tell, feed->bytes,
		 &(struct raw){ .bytes = collect->bytes,
				.size = collect->count,
				.places = &place,
				.place_count = 1,
				.kind = RAW_WQE,
				.transport = collect->transport });
	return FORM_TAKEN;
}

/* Reports the line of text alone, or that the dump is incomplete. */
static void collect_close(struct feed *feed, void *state)
{
	struct collect *collect = state;

	if (!collect->count && collect->record.syndrome.is_known)
		tell_record(feed->tell, &collect->record);
	else
		tell_unread(feed->tell, collect->record.line,
			    "a dump of %u bytes, of which only %u are there", collect->wanted,
			    collect->count);
}

/* -- forms ------------------------------------------------------------------------------------- */

/* A form whose state is a struct collect: its variable, its name, its feed(), its marks. */
#define COLLECT_FORM(id, form_name, feed_line, ...)                                                \
	const struct form form_##id = { .name = form_name,                                         \
					.marks = MARKS(__VA_ARGS__),                               \
					.state_bytes = sizeof(struct collect),                     \
					.begins_anew = true,                                       \
					.feed = feed_line,                                         \
					.close = collect_close }

/*
 * libmlx5 prints an error CQE as four lines of four dwords: rdma-core's providers/mlx5/cq.c
 * mlx5_parse_cqe(), dump_cqe(). It does not print flushes, exceeded retries and page faults.
 */
COLLECT_FORM(libmlx5, "libmlx5", collect_cqe, "got completion with error:");

/*
 * mlx5_ib, hw/mlx5/cq.c dump_cqe(), prints dwords; later versions print bytes with an offset;
 * today's put "cqe_dump: " before each row, and the first row is the first line.
 */
static enum form_answer feed_mlx5_ib(struct feed *feed, const struct line *line, void *state)
{
	const struct collect *collect = state;

	if (!collect->has_begun && strstr(line->text, "cqe_dump: "))
		collect_cqe(feed, line, state);
	return collect_cqe(feed, line, state);
}

COLLECT_FORM(mlx5_ib, "mlx5_ib", feed_mlx5_ib, "dump error cqe", "cqe_dump: 00000000: ");

/* Only the Ethernet driver dumps these. */
static enum form_answer feed_packet_wqe(struct feed *feed, const struct line *line, void *state)
{
	struct collect *collect = state;

	collect->transport = KNOWN(BSN_TRANSPORT_ETH);
	return collect_wqe(feed, line, state);
}

/*
 * Send WQEs: the kernel's mlx5/core/wq.c mlx5_wq_cyc_wqe_dump() and hw/mlx5/wr.c dump_wqe(),
 * rdma-core's providers/mlx5/qp.c dump_wqe().
 */
COLLECT_FORM(mlx5_core_wqe, "mlx5_core-wqe", feed_packet_wqe, "WQE DUMP: WQ size ");
COLLECT_FORM(mlx5_ib_wqe, "mlx5_ib-wqe", collect_wqe, "dump WQE index ");
COLLECT_FORM(libmlx5_wqe, "libmlx5-wqe", collect_wqe, "dump wqe at ");

/*
 * -- error CQEs of the Ethernet driver: mlx5/core/en.h mlx5e_dump_error_cqe(), then the CQE itself
 */

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
		  HEX("syndrome ", syndrome), HEX("vendor syndrome ", vendor_syndrome));

static enum form_answer feed_mlx5e(struct feed *feed, const struct line *line, void *state)
{
	struct collect *collect = state;
	enum form_answer answer = FORM_MORE;

	if (!collect->has_begun)
		answer = keys_begin(feed, line, &mlx5e_line, &collect->record);
	return answer == FORM_MORE ? collect_cqe(feed, line, collect) : answer;
}

/* The dump may be missing: the kernel limits their rate. */
COLLECT_FORM(mlx5e, "mlx5e", feed_mlx5e, "Error cqe on cqn ");

/*
 * -- DPDK: net/mlx5/mlx5_flow_aso.c mlx5_aso_dump_err_objs(), compress/mlx5/mlx5_compress.c
 * mlx5_compress_dump_err_objs(). Dwords are printed as the host reads them, so that most are
 * byte-swapped.
 */

struct dump {
	struct collect collect;
	bool is_cqe, is_wqe; /* or opaque */
};

static enum form_answer feed_dpdk_dump(struct feed *feed, const struct line *line, void *state)
{
	struct dump *dump = state;
	struct hex_row row;

	if (!dump->collect.may_be_swapped) {
		dump->is_cqe = strstr(line->text, "Error cqe:");
		dump->is_wqe = !dump->is_cqe && strstr(line->text, "Error wqe:");
		dump->collect.transport = KNOWN(BSN_TRANSPORT_RC);
		dump->collect.may_be_swapped = true;
		if (!dump->is_cqe && !dump->is_wqe)
			return FORM_MORE;
	}
	if (dump->is_cqe || dump->is_wqe)
		return (dump->is_cqe ? collect_cqe : collect_wqe)(feed, line, &dump->collect);
	return hex_row_read(line->text, &row, NULL) && row.count == BSN_DS_SIZE ? FORM_MORE
										: FORM_PASS;
}

static void close_dpdk_dump(struct feed *feed, void *state)
{
	const struct dump *dump = state;

	if (dump->is_cqe || dump->is_wqe)
		collect_close(feed, state);
}

const struct form form_dpdk_dump = {
	.name = "dpdk-dump",
	.marks = MARKS("Error cqe:", "Error wqe:", "Error opaq:"),
	.state_bytes = sizeof(struct dump),
	.begins_anew = true,
	.feed = feed_dpdk_dump,
	.close = close_dpdk_dump,
};
