/* SPDX-License-Identifier: BSD-2-Clause */
/* What DPDK's mlx5 drivers write. */
#include "forms.h"

#include <string.h>

#include "../bytes/hex.h"
#include "../text/text.h"
#include "keys.h"

/*
 * -- lines: net/mlx5/mlx5_tx.c, mlx5_rx.c, hws/mlx5dr_send.c; crypto/mlx5/; common/mlx5's
 * DEVX_DRV_LOG(); hws/mlx5dr_cmd.c
 */

/* Some drivers print the WQE's opcode, others the CQE's. No WQE has an opcode of an error CQE. */
static void sort_opcode(struct record *record, const char *line)
{
	(void)line;
	if (record->opcode.value != BSN_CQE_REQ_ERR && record->opcode.value != BSN_CQE_RESP_ERR)
		return;
	if (record->opcode.value == BSN_CQE_RESP_ERR)
		record->side = SIDE_RESPONDER;
	record->opcode = (struct number){ 0 };
}

/*
 * The crypto driver swaps a single byte as if it were four, and so prints 0x13 as 13000000
 * (mlx5_crypto_xts.c mlx5_crypto_xts_cqe_err_handle()).
 */
static void turn_syndrome(struct record *record, const char *line)
{
	const char *at = strstr(line, "CQE ERR:") + strlen("CQE ERR");
	uint64_t value;

	if (text_number(at, 16, &value) && value <= UINT32_MAX && !(value & 0xffffff))
		record->syndrome = KNOWN(value >> 24);
}

static const struct shape dpdk_lines[] = {
	LINE_WITH(sort_opcode, ERROR_CQE, REQUESTER, "CQE ERR:", HEX("CQE ERR:", syndrome),
		  HEX("Vendor_ERR:", vendor_syndrome), HEX("OP:", opcode), HEX("QPN:", qpn),
		  HEX("WQE_CNT:", wqe_index)),
	LINE(ERROR_CQE, UNKNOWN, "Unexpected CQE error syndrome ", HEX("syndrome ", syndrome),
	     FIELD_DECIMAL("CQN = ", "cqn"), DECIMAL("SQN = ", qpn), DECIMAL("RQN = ", qpn),
	     DECIMAL("wqe_counter = ", wqe_index), FIELD_DECIMAL("wq_ci = ", "wq_ci"),
	     FIELD_DECIMAL("rq_ci = ", "rq_ci"), FIELD_DECIMAL("cq_ci = ", "cq_ci")),
	LINE_WITH(turn_syndrome, ERROR_CQE, REQUESTER, "CQE ERR:", NO_KEYS),
	LINE(COMMAND, UNKNOWN, "DevX ", FIELD_DECIMAL("failed errno=", "errno"),
	     FIELD_HEX("status=", "status"), HEX("syndrome=", syndrome)),
	LINE(COMMAND, UNKNOWN, "Bad DevX status ", FIELD_HEX("status ", "status"),
	     HEX("syndrome = ", syndrome)),
	LINE(COMMAND, UNKNOWN, "Failed to ", HEX("(syndrome: ", syndrome)),
	LAST_LINE,
};

KEYS_FORM(dpdk, "dpdk", dpdk_lines, "CQE ERR:", "Unexpected CQE error syndrome ",
	  " failed errno=", "Bad DevX status ", "(syndrome: ");

/*
 * -- dumps: net/mlx5/mlx5_flow_aso.c mlx5_aso_dump_err_objs(), compress/mlx5/mlx5_compress.c
 * mlx5_compress_dump_err_objs(). Dwords are printed as the host reads them, so that most are
 * byte-swapped.
 */

enum dump_what { DUMP_NOTHING, DUMP_CQE, DUMP_WQE, DUMP_OPAQUE };

struct dump {
	enum dump_what what;
	unsigned long line;
	bool is_swapped; /* the CQE was, and so is the WQE after it */
	unsigned count;  /* bytes */
	uint8_t bytes[BSN_WQE_MAX_DS * BSN_DS_SIZE];
};

static void swap_dwords(uint8_t *bytes, unsigned count)
{
	for (unsigned i = 0; i + 4 <= count; i += 4)
		bsn_store_be32(bytes + i, __builtin_bswap32(bsn_load_be32(bytes + i)));
}

static bool is_error_cqe(const uint8_t *bytes)
{
	const uint8_t opcode = bytes[BSN_CQE_OP_OWN_OFFSET] >> 4;

	return opcode == BSN_CQE_REQ_ERR || opcode == BSN_CQE_RESP_ERR;
}

static void tell_cqe(struct feed *feed, struct dump *dump)
{
	struct record record = { .line = dump->line };
	struct bsn_cqe cqe;

	swap_dwords(dump->bytes, dump->count);
	dump->is_swapped = is_error_cqe(dump->bytes);
	if (!dump->is_swapped)
		swap_dwords(dump->bytes, dump->count);
	if (dump->count != BSN_CQE_SIZE || !is_error_cqe(dump->bytes) ||
	    bsn_cqe_decode(dump->bytes, dump->count, &cqe, NULL)) {
		tell_unread(feed->tell, dump->line, "\"Error cqe\", but its %u bytes are no CQE",
			    dump->count);
		return;
	}
	record_set_cqe(&record, dump->bytes, dump->count, &cqe);
	tell_record(feed->tell, &record);
}

static void tell_wqe(struct feed *feed, struct dump *dump)
{
	struct record record = { .line = dump->line };
	struct bsn_bad bad;
	struct bsn_wqe wqe;

	if (dump->is_swapped)
		swap_dwords(dump->bytes, dump->count);
	if (bsn_wqe_decode(dump->bytes, dump->count, BSN_TRANSPORT_RC, &wqe, &bad)) {
		tell_unread(feed->tell, dump->line,
			    "\"Error wqe\", but its %u bytes are no WQE: %s", dump->count, bad.why);
		return;
	}
	record_set_wqe(&record, &wqe);
	tell_record(feed->tell, &record);
}

/* Tells of the dump that was begun. */
static void end_dump(struct feed *feed, struct dump *dump)
{
	if (dump->what == DUMP_CQE)
		tell_cqe(feed, dump);
	if (dump->what == DUMP_WQE)
		tell_wqe(feed, dump);
	dump->what = DUMP_NOTHING;
}

static enum dump_what read_title(const char *text)
{
	if (strstr(text, "Error cqe:"))
		return DUMP_CQE;
	if (strstr(text, "Error wqe:"))
		return DUMP_WQE;
	return strstr(text, "Error opaq:") ? DUMP_OPAQUE : DUMP_NOTHING;
}

static bool add_row(struct dump *dump, const struct line *line)
{
	struct hex_row row;
	uint8_t bytes[HEX_ROW_MAX];

	if (dump->what == DUMP_NOTHING || !hex_row_read(line->text, &row, bytes) ||
	    row.count != BSN_DS_SIZE || dump->count + row.count > sizeof(dump->bytes))
		return false;
	memcpy(dump->bytes + dump->count, bytes, row.count);
	dump->count += row.count;
	return true;
}

static enum form_answer feed_dpdk_dump(struct feed *feed, const struct line *line, void *state)
{
	struct dump *dump = state;
	const enum dump_what what = read_title(line->text);

	if (what == DUMP_NOTHING)
		return add_row(dump, line) ? FORM_MORE : FORM_PASS;
	end_dump(feed, dump);
	dump->what = what;
	dump->line = line->number;
	dump->count = 0;
	return FORM_MORE;
}

static void close_dpdk_dump(struct feed *feed, void *state)
{
	end_dump(feed, state);
}

static const char *const dpdk_dump_marks[] = { "Error cqe:", "Error wqe:", "Error opaq:", NULL };

const struct form form_dpdk_dump = {
	.name = "dpdk-dump",
	.marks = dpdk_dump_marks,
	.state_bytes = sizeof(struct dump),
	.feed = feed_dpdk_dump,
	.close = close_dpdk_dump,
};
