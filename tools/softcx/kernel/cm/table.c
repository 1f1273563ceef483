/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of ids: a program's ends of connections, and listeners. Each has the lowest free
 * number. Also when a process must look at its ids.
 */
#include "cm.h"

#include <string.h>
#include <sys/random.h>

#include "../../os/raw.h"

uint32_t cm_number(const struct cx_cm *cm, const struct cx_cm_id *id)
{
	return (uint32_t)(id - cm->ids) + 1;
}

struct cx_cm_id *cm_of_number(struct cx_cm *cm, uint32_t number)
{
	return number ? &cm->ids[number - 1] : NULL;
}

uint32_t cm_file_number(const struct cx_cm *cm, const struct cx_cm_file *file)
{
	return (uint32_t)(file - cm->files) + 1;
}

struct cx_cm_file *cm_file_of(struct cx_cm *cm, const struct cx_cm_id *id)
{
	return &cm->files[id->file - 1];
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

void cm_look_at(struct cx_hca *hca, uint32_t keeper, uint64_t deadline_ns)
{
	uint64_t *at = &hca->shared->cm.deadlines_ns[keeper];
	uint32_t *alarm = &hca->shared->alarms[keeper].count;

	if (*at && *at <= deadline_ns)
		return;
	__atomic_store_n(at, deadline_ns, __ATOMIC_RELEASE);
	if (keeper == hca->self)
		return;
	__atomic_fetch_add(alarm, 1, __ATOMIC_SEQ_CST);
	raw_futex_wake(alarm);
}
