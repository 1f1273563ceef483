/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command interface. The kernel says which commands a program may send (kernel/devx.c); the
 * firmware refuses those that it does not have.
 */
#include "firmware.h"

#include <errno.h>
#include <string.h>

static enum bsn_command_status query_lag(struct cx_hca *hca, struct cx_mailbox *box)
{
	const bool bonded = hca->config.lag;
	const struct bsn_lag lag = { .state = bonded,
				     .tx_remap_affinity_1 = bonded ? 1 : 0,
				     .tx_remap_affinity_2 = bonded ? 2 : 0 };

	bsn_lag_encode(box->out + BSN_QUERY_LAG_OUT_OFFSET, &lag);
	return BSN_COMMAND_OK;
}

static enum bsn_command_status alloc_pd(struct cx_hca *hca, struct cx_mailbox *box)
{
	uint32_t pdn;

	if (cx_pd_make(hca, &pdn))
		return cx_refuse_command(box, BSN_COMMAND_NO_RESOURCES,
					 "no more protection domains");
	cx_answer_made(box, pdn);
	return BSN_COMMAND_OK;
}

static enum bsn_command_status do_nothing(struct cx_hca *hca, struct cx_mailbox *box)
{
	(void)hca;
	(void)box;
	return BSN_COMMAND_OK;
}

static const struct command {
	uint16_t opcode, min_in, min_out;
	cx_firmware_command *run;
} commands[] = {
	{ BSN_CMD_QUERY_HCA_CAP, BSN_CMD_IN_SIZE, BSN_CAP_OFFSET, cx_query_hca_cap },
	{ BSN_CMD_CREATE_MKEY, BSN_CREATE_MKEY_LIST_OFFSET, BSN_CREATED_OUT_SIZE,
	  cx_create_mkey },
	{ BSN_CMD_QUERY_MKEY, BSN_MEANING_IN_SIZE,
	  BSN_QUERY_MKEY_OUT_CTX_OFFSET + BSN_MKEY_CTX_SIZE, cx_query_mkey },
	{ BSN_CMD_DESTROY_MKEY, BSN_MEANING_IN_SIZE, BSN_CMD_OUT_SIZE, cx_destroy_mkey },
	{ BSN_CMD_CREATE_CQ, BSN_CREATE_CQ_IN_SIZE, BSN_CREATED_OUT_SIZE, cx_create_cq },
	{ BSN_CMD_QUERY_CQ, BSN_MEANING_IN_SIZE, BSN_QUERY_CQ_OUT_SIZE, cx_query_cq },
	{ BSN_CMD_MODIFY_CQ, BSN_CREATE_CQ_IN_SIZE, BSN_CMD_OUT_SIZE, cx_modify_cq },
	{ BSN_CMD_CREATE_RMP, BSN_CREATE_RMP_IN_SIZE, BSN_CREATED_OUT_SIZE, cx_create_rmp },
	{ BSN_CMD_MODIFY_RMP, BSN_CREATE_RMP_IN_SIZE, BSN_CMD_OUT_SIZE, cx_modify_rmp },
	{ BSN_CMD_QUERY_RMP, BSN_MEANING_IN_SIZE, BSN_QUERY_RMP_OUT_SIZE, cx_query_rmp },
	{ BSN_CMD_CREATE_DCT, BSN_CREATE_DCT_IN_SIZE, BSN_CREATED_OUT_SIZE, cx_create_dct },
	{ BSN_CMD_QUERY_DCT, BSN_MEANING_IN_SIZE, BSN_QUERY_DCT_OUT_SIZE, cx_query_dct },
	{ BSN_CMD_DRAIN_DCT, BSN_MEANING_IN_SIZE, BSN_CMD_OUT_SIZE, cx_drain_dct },
	{ BSN_CMD_ARM_DCT, BSN_MEANING_IN_SIZE, BSN_CMD_OUT_SIZE, cx_arm_dct },
	{ BSN_CMD_CREATE_QP, BSN_CREATE_QP_IN_SIZE, BSN_CREATED_OUT_SIZE, cx_create_qp },
	{ BSN_CMD_RST2INIT_QP, BSN_MODIFY_QP_IN_SIZE, BSN_MODIFY_QP_OUT_SIZE, cx_transit_qp },
	{ BSN_CMD_INIT2RTR_QP, BSN_MODIFY_QP_IN_SIZE, BSN_MODIFY_QP_OUT_SIZE, cx_transit_qp },
	{ BSN_CMD_RTR2RTS_QP, BSN_MODIFY_QP_IN_SIZE, BSN_MODIFY_QP_OUT_SIZE, cx_transit_qp },
	{ BSN_CMD_RTS2RTS_QP, BSN_MODIFY_QP_IN_SIZE, BSN_MODIFY_QP_OUT_SIZE, cx_transit_qp },
	{ BSN_CMD_2ERR_QP, BSN_MEANING_IN_SIZE, BSN_MODIFY_QP_OUT_SIZE, cx_transit_qp },
	{ BSN_CMD_2RST_QP, BSN_MEANING_IN_SIZE, BSN_MODIFY_QP_OUT_SIZE, cx_transit_qp },
	{ BSN_CMD_QUERY_QP, BSN_MEANING_IN_SIZE, BSN_QUERY_QP_OUT_SIZE, cx_query_qp },
	{ BSN_CMD_ALLOC_PD, BSN_MEANING_IN_SIZE, BSN_CREATED_OUT_SIZE, alloc_pd },
	{ BSN_CMD_CREATE_GENERAL_OBJECT, BSN_CREATE_MAPPING_IN_SIZE, BSN_CREATED_OUT_SIZE,
	  cx_create_general_object },
	{ BSN_CMD_QUERY_HCA_VPORT_CONTEXT, BSN_MEANING_IN_SIZE, BSN_QUERY_VPORT_OUT_SIZE,
	  cx_query_vport },
	{ BSN_CMD_QUERY_LAG, BSN_CMD_IN_SIZE, BSN_QUERY_LAG_OUT_OFFSET + BSN_LAG_SIZE, query_lag },
	{ BSN_CMD_NOP, BSN_CMD_IN_SIZE, BSN_CMD_OUT_SIZE, do_nothing },
};

static const struct command *find_command(uint32_t opcode)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (commands[i].opcode == opcode)
			return &commands[i];
	return NULL;
}

static enum bsn_command_status run(struct cx_hca *hca, struct cx_mailbox *box)
{
	const struct command *command = find_command(box->head.opcode);

	if (!command)
		return cx_refuse_command(box, BSN_COMMAND_BAD_OPERATION,
					 "the model does not have this command");
	if (box->in_size < command->min_in)
		return cx_refuse_command(box, BSN_COMMAND_BAD_INPUT_LENGTH,
					 "the mailbox is shorter than the command");
	if (box->out_size < command->min_out)
		return cx_refuse_command(box, BSN_COMMAND_BAD_OUTPUT_LENGTH,
					 "there is no room for the answer");
	return command->run(hca, box);
}

static const char *name_of(uint32_t opcode)
{
#define NAME(name, value, doc)                                                                     \
	if (opcode == (value))                                                                     \
		return #name;
	BSN_COMMANDS(NAME)
#undef NAME
	return "unknown";
}

int cx_command(struct cx_hca *hca, const struct cx_commander *by, const void *in, size_t in_size,
	       void *out, size_t out_size)
{
	struct cx_mailbox box = { in, in_size, out, out_size, by, { 0 }, NULL };
	struct bsn_cmd_out head = { 0 };

	if (in_size < BSN_CMD_IN_SIZE || out_size < BSN_CMD_OUT_SIZE)
		return -EINVAL;
	memset(out, 0, out_size);
	bsn_cmd_in_decode(&box.head, in);
	cx_lock_to_create(hca);
	/*
	 * mlx5_internal_err_ret_value(): commands that destroy succeed even if the device is gone.
	 */
	if (hca->shared->removed && box.head.opcode != BSN_CMD_DESTROY_MKEY) {
		cx_unlock(hca);
		return -EIO;
	}
	head.status = run(hca, &box);
	cx_unlock(hca);
	if (!head.status) {
		cx_trace(hca, "command: %s", name_of(box.head.opcode));
		return 0;
	}
	cx_trace(hca, "command: %s (%#x) refused, status %#x: %s", name_of(box.head.opcode),
		 box.head.opcode, head.status, box.why);
	memset(out, 0, out_size);
	bsn_cmd_out_encode(out, &head);
	return -EREMOTEIO;
}
