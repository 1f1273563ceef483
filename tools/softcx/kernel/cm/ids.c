/* SPDX-License-Identifier: BSD-2-Clause */
/* Creates and destroys ids. */
#include "cm.h"

#include <string.h>

uint32_t cm_id_destroy(struct cx_hca *hca, struct cx_cm_id *id)
{
	const uint32_t reported = id->reported;
	struct cx_cm_id *made;

	cx_trace(hca, "rdma_cm: id %u is destroyed", cm_number(&hca->shared->cm, id) - 1);
	id->uid = 0; /* its program gets no event of the end */
	cm_link_close(hca, id);
	cm_leave_groups(hca, id);
	/* Also destroys connections that were asked for and not read. */
	while (cm_forget_event(hca, id, &made))
		if (made)
			cm_id_destroy(hca, made);
	memset(id, 0, sizeof(*id));
	return reported;
}

static int type_of(const struct rdma_ucm_create_id *cmd, uint8_t *type)
{
	switch (cmd->ps) {
	case RDMA_PS_TCP:
		*type = IBV_QPT_RC;
		return 0;
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
		*type = IBV_QPT_UD;
		return 0;
	case RDMA_PS_IB:
		*type = cmd->qp_type;
		return 0;
	default:
		return -EINVAL;
	}
}

int cm_create_id(struct cm_call *call, const void *command)
{
	const struct rdma_ucm_create_id *cmd = command;
	uint8_t type;
	int err;

	if (call->out_size < sizeof(call->room.create))
		return -ENOSPC;
	err = type_of(cmd, &type);
	if (!err)
		err = cm_id_new(call->hca, cm_file_number(call->cm, call->file), cmd->ps, type,
				&call->made);
	if (err)
		return err;
	call->made->uid = cmd->uid;
	call->room.create.id = cm_number(call->cm, call->made) - 1;
	cm_answer(call, cmd->response, &call->room.create, sizeof(call->room.create));
	return 0;
}

int cm_destroy_id(struct cm_call *call, const void *command)
{
	const struct rdma_ucm_destroy_id *cmd = command;
	struct cx_cm_id *id;
	int err;

	if (call->out_size < sizeof(call->room.destroy))
		return -ENOSPC;
	err = cm_id_find(call, cmd->id, &id);
	if (err && err != -EIO)
		return err;
	call->room.destroy.events_reported = cm_id_destroy(call->hca, id);
	cm_answer(call, cmd->response, &call->room.destroy, sizeof(call->room.destroy));
	return 0;
}

/* Moves an id from another file of the same program, which names that by its descriptor. */
int cm_migrate_id(struct cm_call *call, const void *command)
{
	const struct rdma_ucm_migrate_id *cmd = command;
	struct cx_cm_file *const to = call->file;
	struct rdmacm *handle;
	struct cx_cm_id *id;
	int err = call->host->lookup_rdmacm((int)cmd->fd, &handle);

	if (err)
		return err;
	call->file = cm_file_find(call->hca, handle);
	if (!call->file)
		return -EIO;
	cm_file_use(call->hca, call->file, (int)cmd->fd);
	err = cm_id_find(call, cmd->id, &id);
	if (err)
		return err;
	cm_move_events(call->hca, id, call->file, to);
	id->file = cm_file_number(call->cm, to);
	call->room.migrate.events_reported = id->reported;
	cm_answer(call, cmd->response, &call->room.migrate, sizeof(call->room.migrate));
	return 0;
}
