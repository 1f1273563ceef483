/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * General objects. There is one kind: the mapping of an address to a queue pair, so that both share
 * what is known of the path (mlx5dv_map_ah_to_qp()). The model keeps no such state, so a mapping is
 * checked and stored, and has no effect.
 */
#include "firmware.h"

#include "bsn_wqe.h"
#include "datasheet.h"

static const char *check_mapping(const struct cx_config *config, const uint8_t *in)
{
	struct bsn_cmd_mapping mapping;
	struct bsn_av_ud_grh to;
	struct cx_gid own;

	bsn_cmd_mapping_decode(&mapping, in + BSN_CREATE_OBJECT_OFFSET);
	bsn_av_ud_grh_decode(&to, in + BSN_CREATE_OBJECT_OFFSET + BSN_CMD_MAPPING_SIZE);
	if (mapping.modify_field_select)
		return "what is created has no field to modify";
	if (!mapping.qpn || mapping.qpn > BSN_QPN_MAX)
		return "no such queue pair";
	return cx_gid_get(config, to.sgid_index, &own) ? "no GID is at src_addr_index" : NULL;
}

enum bsn_command_status cx_create_general_object(struct cx_hca *hca, struct cx_mailbox *box)
{
	struct cx_head *head;
	uint32_t number;

	if (box->head.op_mod != BSN_OBJECT_AV_QP_MAPPING)
		return cx_refuse_command(box, BSN_COMMAND_BAD_PARAMETER, "no such kind of object");
	box->why = check_mapping(&hca->config, box->in);
	if (box->why)
		return BSN_COMMAND_BAD_PARAMETER;
	if (cx_create(hca, CX_MAPPING, &head, &number))
		return cx_refuse_command(box, BSN_COMMAND_NO_RESOURCES, "no more mappings");
	cx_publish(hca, CX_MAPPING, head, number);
	cx_answer_made(box, number);
	return BSN_COMMAND_OK;
}

int cx_general_object_destroy(struct cx_hca *hca, uint32_t number)
{
	int err;

	cx_lock(hca);
	err = cx_remove(hca, CX_MAPPING, number);
	cx_unlock(hca);
	return err;
}
