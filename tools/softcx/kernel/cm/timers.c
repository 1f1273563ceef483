/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What happens without a command: deadlines of ids, and deaths of peers, for which each process
 * with connections looks from time to time.
 */
#include "cm.h"

#include <sys/socket.h>

#include "../../os/raw.h"

enum { LOOK_MS = 50 };

uint64_t rdmacm_next_deadline_ns(struct cx_hca *hca)
{
	const unsigned self = __atomic_load_n(&hca->self, __ATOMIC_RELAXED);

	return self < CX_PROCS
		       ? __atomic_load_n(&hca->shared->cm.deadlines_ns[self], __ATOMIC_ACQUIRE)
		       : 0;
}

/* When a file ends, so do its ids. */
static void close_file(struct cx_hca *hca, struct cx_cm_file *file)
{
	struct cx_cm *cm = &hca->shared->cm;
	const uint32_t number = cm_file_number(cm, file);

	cx_trace(hca, "rdma_cm: file %u is closed", number);
	for (uint32_t i = 0; i < cm->ids_used; i++)
		if (cm->ids[i].file == number)
			cm_id_destroy(hca, &cm->ids[i]);
	file->serial = 0;
	__atomic_fetch_add(&file->came, 1, __ATOMIC_SEQ_CST);
	raw_futex_wake_all(&file->came);
}

static void sweep(struct cx_hca *hca, int fd)
{
	struct cx_cm *cm = &hca->shared->cm;

	for (unsigned i = 0; i < CX_CM_FILES; i++)
		if (cm->files[i].serial && !cm_file_is_open(fd, cm->files[i].serial))
			close_file(hca, &cm->files[i]);
}

void rdmacm_sweep(struct cx_hca *hca)
{
	const int saved = errno, fd = cm_socket(SOCK_CLOEXEC);

	if (fd < 0)
		return;
	cx_lock(hca);
	if (hca->shared->cm.net_namespace == cm_net_namespace())
		sweep(hca, fd);
	cx_unlock(hca);
	raw_close(fd);
	errno = saved;
}

static void expire(struct cx_hca *hca, struct cx_cm_id *id)
{
	id->deadline_ns = 0;
	if (id->state == CX_CM_ADDRESS_QUERY) {
		id->state = CX_CM_BOUND;
		cm_report(hca, id, CM_ADDR_ERROR, -ETIMEDOUT, NULL);
	} else if (id->state == CX_CM_ROUTE_QUERY) {
		id->state = CX_CM_ADDRESS_RESOLVED;
		cm_report(hca, id, CM_ROUTE_ERROR, -ETIMEDOUT, NULL);
	} else {
		cm_link_expire(hca, id);
	}
}

void cm_tell_removal(struct cx_hca *hca)
{
	struct cx_cm *cm = &hca->shared->cm;

	if (!cx_is_removed(hca))
		return;
	for (uint32_t i = 0; i < cm->ids_used; i++) {
		struct cx_cm_id *id = &cm->ids[i];

		if (!id->file || !id->has_device || id->is_removed ||
		    cm_file_of(cm, id)->keeper != hca->self)
			continue;
		id->is_removed = true;
		id->link = CX_LINK_NONE;
		id->deadline_ns = 0;
		cm_part(cm, id);
		cm_report(hca, id, CM_DEVICE_REMOVAL, 0, NULL);
	}
}

/* The next deadline of this process's ids, and whether one of them has a peer. */
static uint64_t run(struct cx_hca *hca, uint64_t now)
{
	struct cx_cm *cm = &hca->shared->cm;
	uint64_t next = CX_NEVER;

	for (uint32_t i = 0; i < cm->ids_used; i++) {
		struct cx_cm_id *id = &cm->ids[i];

		if (!id->file || cm_file_of(cm, id)->keeper != hca->self)
			continue;
		if (id->deadline_ns && id->deadline_ns <= now)
			expire(hca, id);
		if (id->deadline_ns && id->deadline_ns < next)
			next = id->deadline_ns;
		if (id->peer && now + LOOK_MS * NS_PER_MS < next)
			next = now + LOOK_MS * NS_PER_MS;
	}
	return next == CX_NEVER ? 0 : next;
}

void rdmacm_run_timers(struct cx_hca *hca)
{
	uint64_t next;

	rdmacm_sweep(hca);
	cx_lock(hca);
	if (hca->self < CX_PROCS) {
		__atomic_store_n(&hca->shared->cm.deadlines_ns[hca->self], 0, __ATOMIC_RELEASE);
		cm_tell_removal(hca);
		next = run(hca, cx_clock_ns());
		if (next)
			cm_look_at(hca, hca->self, next);
	}
	cx_unlock(hca);
}
