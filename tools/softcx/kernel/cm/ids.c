/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ids: a program's end of a connection, or a listener. They are numbered from 0, the lowest free
 * number first.
 */
#include "cm.h"

#include <string.h>
#include <sys/random.h>

uint32_t cm_number(const struct cx_cm *cm, const struct cx_cm_id *id)
{
	return (uint32_t)(id - cm->ids) + 1;
}

struct cx_cm_id *cm_of_number(struct cx_cm *cm, uint32_t number)
{
	return number ? &cm->ids[number - 1] : NULL;
}

static struct cx_cm_id *find_empty(struct cx_cm *cm)
{
	for (uint32_t i = 0; i < cm->ids_used; i++)
		if (!cm->ids[i].file)
			return &cm->ids[i];
	return cm->ids_used < CX_CM_IDS ? &cm->ids[cm->ids_used++] : NULL;
}

int cm_id_new(struct cx_hca *hca, uint32_t file, uint16_t port_space, uint8_t qp_type,
	      struct cx_cm_id **out)
{
	struct cx_cm_id *id = find_empty(&hca->shared->cm);
	uint32_t psn = 0;

	if (!id)
		return -ENOMEM;
	/* Each connection begins with another number. */
	if (getrandom(&psn, sizeof(psn), GRND_NONBLOCK) != sizeof(psn))
		psn = (uint32_t)cx_clock_ns();
	memset(id, 0, sizeof(*id));
	id->file = file;
	id->port_space = port_space;
	id->qp_type = qp_type;
	id->psn = psn & 0xffffff;
	*out = id;
	return 0;
}

uint32_t cm_id_destroy(struct cx_hca *hca, struct cx_cm_id *id)
{
	const uint32_t reported = id->reported;

	cx_trace(hca, "rdma_cm: id %u is destroyed", cm_number(&hca->shared->cm, id) - 1);
	id->uid = 0; /* its program hears nothing of the end */
	cm_link_close(hca, id);
	cm_leave_groups(hca, id);
	cm_forget_events(hca, id);
	memset(id, 0, sizeof(*id));
	return reported;
}

int cm_id_find(const struct cm_call *call, uint32_t name, struct cx_cm_id **out)
{
	struct cx_cm_id *id = name < CX_CM_IDS ? &call->cm->ids[name] : NULL;

	if (!id || !id->file)
		return -ENOENT;
	if (cm_file_of(call->cm, id) != call->file)
		return -EINVAL;
	*out = id;
	return id->is_removed ? -EIO : 0;
}

int cm_id_find_with_device(const struct cm_call *call, uint32_t name, struct cx_cm_id **id)
{
	const int err = cm_id_find(call, name, id);

	if (err)
		return err;
	return (*id)->has_device ? 0 : -EINVAL;
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

/* From another file of the same program, which it names by its descriptor, to this one. */
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
