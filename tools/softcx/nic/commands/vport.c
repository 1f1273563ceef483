/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * QUERY_HCA_VPORT_CONTEXT: what the subnet knows of the port. An Ethernet port has no such context.
 */
#include "firmware.h"

#include "datasheet.h"

static void fill_state(const struct cx_hca *hca, uint8_t *context)
{
	const bool up = !hca->shared->port_down;
	const uint64_t guid = cx_node_guid(&hca->config);
	const struct bsn_vport_state state = {
		.port_physical_state = up ? CX_PHYS_LINK_UP : CX_PHYS_DISABLED,
		.port_state = up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN,
		.vport_state = up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN,
		.system_image_guid = guid,
		.port_guid = guid,
		.node_guid = guid,
	};

	bsn_vport_state_encode(context, &state);
}

static void fill_address(const struct cx_hca *hca, uint8_t *context)
{
	const struct bsn_vport_address address = {
		.cap_mask1 = cx_port_cap_flags(&hca->config),
		.lid = CX_LID,
		.subnet_timeout = CX_SUBNET_TIMEOUT,
		.sm_lid = CX_LID,
	};

	bsn_vport_address_encode(context + BSN_VPORT_ADDRESS_OFFSET, &address);
}

enum bsn_command_status cx_query_vport(struct cx_hca *hca, struct cx_mailbox *box)
{
	struct bsn_cmd_vport asked;

	bsn_cmd_vport_decode(&asked, box->in + BSN_CMD_OBJECT_OFFSET);
	if (hca->config.link != CX_LINK_IB)
		return cx_refuse_command(box, BSN_COMMAND_BAD_OPERATION, "the port is Ethernet's");
	if (asked.port_num > CX_PORTS)
		return cx_refuse_command(box, BSN_COMMAND_BAD_PARAMETER, "no such port");
	if (asked.other_vport || asked.vport_number)
		return cx_refuse_command(box, BSN_COMMAND_BAD_RESOURCE,
					 "no other function is modelled");
	fill_state(hca, box->out + BSN_QUERY_VPORT_CTX_OFFSET);
	fill_address(hca, box->out + BSN_QUERY_VPORT_CTX_OFFSET);
	return BSN_COMMAND_OK;
}
