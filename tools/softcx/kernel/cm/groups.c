/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast groups that ids join. When the program has the event, it attaches its queue pair to the
 * group itself.
 */
#include "cm.h"

#include <string.h>

#ifndef ENOTSUPP
#define ENOTSUPP 524 /* an errno of the kernel's own, which programs also see */
#endif

static struct cx_cm_group *find_empty(struct cx_cm *cm)
{
	for (unsigned i = 0; i < CX_CM_GROUPS; i++)
		if (!cm->groups[i].id)
			return &cm->groups[i];
	return NULL;
}

static void tell(struct cx_hca *hca, struct cx_cm_group *group)
{
	struct cx_cm_id *id = cm_of_number(&hca->shared->cm, group->id);
	struct rdma_ucm_ud_param told = { .qp_num = CM_MULTICAST_QPN };
	const bool has_key = id->port_space == RDMA_PS_UDP;
	uint8_t gid[16];

	if (!id->qkey && has_key)
		id->qkey = CM_UDP_QKEY;
	told.qkey = has_key ? CM_UDP_QKEY : 0;
	cm_address_handle(hca, id, &told.ah_attr);
	told.ah_attr.grh.flow_label = 0;
	told.ah_attr.grh.traffic_class = 0;
	told.ah_attr.grh.hop_limit = 64;
	cm_address_gid(&group->address, gid);
	memcpy(told.ah_attr.grh.dgid, gid, sizeof(gid));
	cm_report_group(hca, group, CM_MULTICAST_JOIN, 0, &told);
}

/*
 * RoCE v2 has groups of IPv4: cma_iboe_join_multicast(). On InfiniBand the subnet manager creates
 * groups.
 */
static int check(const struct cx_config *config, const struct cx_cm_id *id,
		 const union cx_cm_address *address)
{
	if (id->state != CX_CM_BOUND && id->state != CX_CM_ADDRESS_RESOLVED)
		return -EINVAL;
	if (config->link == CX_LINK_IB)
		return -EADDRNOTAVAIL;
	if (cm_address_is_zero(address))
		return -EINVAL;
	if (!id->has_interface)
		return -ENODEV;
	return address->any.sa_family == AF_INET ? 0 : -ENOTSUPP;
}

static int join(struct cm_call *call, uint32_t name, uint64_t uid, uint64_t response,
		const union cx_cm_address *address)
{
	struct cx_cm_group *group;
	struct cx_cm_id *id;
	int err;

	if (call->out_size < sizeof(call->room.create))
		return -ENOSPC;
	err = cm_id_find_with_device(call, name, &id);
	if (!err)
		err = check(&call->hca->config, id, address);
	if (err)
		return err;
	group = find_empty(call->cm);
	if (!group)
		return -ENOMEM;
	*group = (struct cx_cm_group){ .id = cm_number(call->cm, id),
				       .uid = uid,
				       .address = *address };
	tell(call->hca, group);
	call->room.create.id = (uint32_t)(group - call->cm->groups);
	cm_answer(call, response, &call->room.create, sizeof(call->room.create));
	return 0;
}

int cm_join_ip_group(struct cm_call *call, const void *command)
{
	const struct rdma_ucm_join_ip_mcast *cmd = command;
	union cx_cm_address address;
	int err = cm_address_read(&address, &cmd->addr, sizeof(cmd->addr));

	return err ? err : join(call, cmd->id, cmd->uid, cmd->response, &address);
}

int cm_join_group(struct cm_call *call, const void *command)
{
	const struct rdma_ucm_join_mcast *cmd = command;
	union cx_cm_address address;
	int err = cm_address_read(&address, &cmd->addr, sizeof(cmd->addr));

	if (err || cmd->addr_size != cm_address_size(&address) ||
	    cmd->join_flags > RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER)
		return -EINVAL;
	return join(call, cmd->id, cmd->uid, cmd->response, &address);
}

int cm_leave_group(struct cm_call *call, const void *command)
{
	const struct rdma_ucm_destroy_id *cmd = command;
	struct cx_cm_group *group = cmd->id < CX_CM_GROUPS ? &call->cm->groups[cmd->id] : NULL;

	if (call->out_size < sizeof(call->room.destroy))
		return -ENOSPC;
	if (!group || !group->id)
		return -ENOENT;
	if (cm_file_of(call->cm, cm_of_number(call->cm, group->id)) != call->file)
		return -EINVAL;
	cm_forget_group_events(call->hca, group);
	call->room.destroy.events_reported = group->reported;
	memset(group, 0, sizeof(*group));
	cm_answer(call, cmd->response, &call->room.destroy, sizeof(call->room.destroy));
	return 0;
}

void cm_leave_groups(struct cx_hca *hca, const struct cx_cm_id *id)
{
	struct cx_cm *cm = &hca->shared->cm;
	const uint32_t number = cm_number(cm, id);

	for (unsigned i = 0; i < CX_CM_GROUPS; i++)
		if (cm->groups[i].id == number)
			memset(&cm->groups[i], 0, sizeof(cm->groups[i]));
}
