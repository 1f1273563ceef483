/* SPDX-License-Identifier: BSD-2-Clause */
/* What DPDK's mlx5 drivers write. */
#include "form.h"

#include <string.h>

#include "../bytes/hex.h"
#include "../text/text.h"
#include "collect.h"
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
	uint64_t value;

	if (text_number_after(line, "CQE ERR:", 16, &value) && value <= UINT32_MAX &&
	    !(value & 0xffffff))
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
	struct collect collect;
};

static enum dump_what read_title(const char *text)
{
	if (strstr(text, "Error cqe:"))
		return DUMP_CQE;
	if (strstr(text, "Error wqe:"))
		return DUMP_WQE;
	return strstr(text, "Error opaq:") ? DUMP_OPAQUE : DUMP_NOTHING;
}

static enum form_answer feed_dpdk_dump(struct feed *feed, const struct line *line, void *state)
{
	struct dump *dump = state;
	struct hex_row row;

	if (dump->what == DUMP_NOTHING) {
		dump->what = read_title(line->text);
		dump->collect.transport = KNOWN(BSN_TRANSPORT_RC);
		dump->collect.may_be_swapped = true;
		if (dump->what == DUMP_OPAQUE)
			return FORM_MORE;
	}
	if (dump->what == DUMP_CQE)
		return collect_cqe(feed, line, &dump->collect);
	if (dump->what == DUMP_WQE)
		return collect_wqe(feed, line, &dump->collect);
	return hex_row_read(line->text, &row, NULL) && row.count == BSN_DS_SIZE ? FORM_MORE
										: FORM_PASS;
}

static void close_dpdk_dump(struct feed *feed, void *state)
{
	struct dump *dump = state;

	if (dump->what != DUMP_OPAQUE)
		collect_close(feed, &dump->collect);
}

const struct form form_dpdk_dump = {
	.name = "dpdk-dump",
	.marks = MARKS("Error cqe:", "Error wqe:", "Error opaq:"),
	.state_bytes = sizeof(struct dump),
	.begins_anew = true,
	.feed = feed_dpdk_dump,
	.close = close_dpdk_dump,
};
