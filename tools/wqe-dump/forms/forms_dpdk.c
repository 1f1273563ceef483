/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What DPDK's mlx5 drivers write, except for dumps: net/mlx5/mlx5_tx.c, mlx5_rx.c,
 * hws/mlx5dr_send.c; crypto/mlx5/; common/mlx5's DEVX_DRV_LOG(); hws/mlx5dr_cmd.c
 */
#include "form.h"

#include <string.h>

#include "../text/text.h"
#include "keys.h"

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
