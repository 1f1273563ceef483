/* SPDX-License-Identifier: BSD-2-Clause */
/* Options and notices of programs. */
#include "cm.h"

#include <string.h>

enum { MOST_BYTES = 1024 }; /* bytes of an option: a few paths at most */

static int set_tos(struct cx_cm_id *id, const void *value, unsigned size)
{
	if (size != sizeof(id->tos))
		return -EINVAL;
	memcpy(&id->tos, value, size);
	id->has_tos = true;
	return 0;
}

static int read_flag(const void *value, unsigned size, bool *flag)
{
	int number;

	if (size != sizeof(number))
		return -EINVAL;
	memcpy(&number, value, size);
	*flag = number;
	return 0;
}

static int set_reuse(struct cx_cm_id *id, const void *value, unsigned size)
{
	bool flag;
	int err = read_flag(value, size, &flag);

	if (err)
		return err;
	if (!(flag && id->state != CX_CM_LISTEN) && id->state != CX_CM_IDLE)
		return -EINVAL;
	id->reuses = flag;
	return 0;
}

static int set_family_only(struct cx_cm_id *id, const void *value, unsigned size)
{
	bool flag;
	int err = read_flag(value, size, &flag);

	if (err)
		return err;
	if (id->state != CX_CM_IDLE && id->state != CX_CM_BOUND)
		return -EINVAL;
	id->family_set = true;
	id->is_of_family = flag;
	return 0;
}

static int set_ack_timeout(struct cx_cm_id *id, const void *value, unsigned size)
{
	if (size != sizeof(id->ack_timeout) || id->qp_type != IBV_QPT_RC)
		return -EINVAL;
	memcpy(&id->ack_timeout, value, size);
	id->has_ack_timeout = true;
	return 0;
}

static int set_of_id(struct cx_cm_id *id, unsigned name, const void *value, unsigned size)
{
	switch (name) {
	case RDMA_OPTION_ID_TOS:
		return set_tos(id, value, size);
	case RDMA_OPTION_ID_REUSEADDR:
		return set_reuse(id, value, size);
	case RDMA_OPTION_ID_AFONLY:
		return set_family_only(id, value, size);
	case RDMA_OPTION_ID_ACK_TIMEOUT:
		return set_ack_timeout(id, value, size);
	default:
		return -ENOSYS;
	}
}

/*
 * A path replaces the route: the first one for both directions. Beside the GIDs only the LID is
 * used, on InfiniBand; the rest comes from the port.
 */
static int set_path(struct cx_hca *hca, struct cx_cm_id *id, const uint8_t *value, unsigned size)
{
	const uint32_t wanted = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
	struct ib_path_rec_data data = { 0 };
	const struct cm_path_record *path;

	if (size % sizeof(data))
		return -EINVAL;
	for (; size && data.flags != wanted; size -= sizeof(data), value += sizeof(data))
		memcpy(&data, value, sizeof(data));
	if (data.flags != wanted || !id->has_device || id->state != CX_CM_ADDRESS_RESOLVED)
		return -EINVAL;
	if (hca->config.link == CX_LINK_ROCE && !id->has_interface)
		return -ENODEV;
	path = (const struct cm_path_record *)(const void *)data.path_rec;
	id->dlid =
		hca->config.link == CX_LINK_IB ? (uint16_t)(path->dlid[0] << 8 | path->dlid[1]) : 0;
	cm_find_route(hca, id);
	return 0;
}

int cm_set_option(struct cm_call *call, const void *command)
{
	const struct rdma_ucm_set_option *cmd = command;
	_Alignas(uint64_t) uint8_t value[MOST_BYTES];
	struct cx_cm_id *id;
	int err;

	if (cmd->optlen > sizeof(value))
		return -EINVAL;
	err = cm_id_find(call, cmd->id, &id);
	if (!err)
		err = user_read(value, cmd->optval, cmd->optlen);
	if (err)
		return err;
	if (cmd->level == RDMA_OPTION_ID)
		return set_of_id(id, cmd->optname, value, cmd->optlen);
	if (cmd->level == RDMA_OPTION_IB && cmd->optname == RDMA_OPTION_IB_PATH)
		return set_path(call->hca, id, value, cmd->optlen);
	return -ENOSYS;
}

/* The program's queue pair had a message before the peer's RTU came: cm.c ib_cm_notify() */
int cm_notify(struct cm_call *call, const void *command)
{
	const struct rdma_ucm_notify *cmd = command;
	struct cx_cm_id *id;
	int err = cm_id_find(call, cmd->id, &id);

	if (err)
		return err;
	if (cmd->event != IBV_EVENT_COMM_EST || id->link == CX_LINK_NONE)
		return -EINVAL;
	if (id->link == CX_LINK_ESTABLISHED)
		return -EISCONN;
	if (id->link != CX_LINK_REP_SENT)
		return -EINVAL;
	id->link = CX_LINK_ESTABLISHED;
	id->deadline_ns = 0;
	if (id->state == CX_CM_CONNECT)
		cm_report(call->hca, id, CM_ESTABLISHED, 0, NULL);
	return 0;
}
