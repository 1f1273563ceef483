/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The object tables: numbers, owners, references. A number has a tag that changes with each use of
 * its entry, so a stale number finds nothing. Under the lock.
 */
#ifndef SOFTCX_NIC_TABLES_H
#define SOFTCX_NIC_TABLES_H

#include "state.h"

/* Finds an object by number; NULL: there is none. */
struct cx_head *cx_find(struct cx_hca *hca, enum cx_kind kind, uint32_t number);
/* Finds an object of this process. Commands do not reach those of others. */
struct cx_head *cx_find_own(struct cx_hca *hca, enum cx_kind kind, uint32_t number);

#define CX_DEFINE_FINDERS(type, kind)                                                              \
	static inline struct cx_##type *cx_##type##_find(struct cx_hca *hca, uint32_t number)      \
	{                                                                                          \
		return (struct cx_##type *)cx_find(hca, kind, number);                             \
	}                                                                                          \
	static inline struct cx_##type *cx_##type##_find_own(struct cx_hca *hca, uint32_t number)  \
	{                                                                                          \
		return (struct cx_##type *)cx_find_own(hca, kind, number);                         \
	}
CX_DEFINE_FINDERS(pd, CX_PD)
CX_DEFINE_FINDERS(umem, CX_UMEM)
CX_DEFINE_FINDERS(mr, CX_MR)
CX_DEFINE_FINDERS(channel, CX_CHANNEL)
CX_DEFINE_FINDERS(cq, CX_CQ)
CX_DEFINE_FINDERS(srq, CX_SRQ)
CX_DEFINE_FINDERS(qp, CX_QP)
CX_DEFINE_FINDERS(xrcd, CX_XRCD)
#undef CX_DEFINE_FINDERS
/* Finds a key of this process by index, of any variant, since a WQE may change the variant. */
struct cx_mr *cx_mr_find_index(struct cx_hca *hca, uint32_t index);

/*
 * The next object of a kind, of any process, from *index on; moves *index past it. NULL: there is
 * none.
 */
struct cx_head *cx_next_of_all(struct cx_hca *hca, enum cx_kind kind, uint32_t *index);

/*
 * Finds an empty entry, cleared, with its future number. Returns 0; -EIO: the device is gone;
 * -ENOMEM: the table is full. The object exists after it is published.
 */
int cx_create(struct cx_hca *hca, enum cx_kind kind, struct cx_head **head, uint32_t *number);
void cx_publish(struct cx_hca *hca, enum cx_kind kind, struct cx_head *head, uint32_t number);
void cx_unpublish(struct cx_hca *hca, enum cx_kind kind, struct cx_head *head);
/*
 * Unpublishes an object of this process. Returns 0; -EINVAL: there is none; -EBUSY: others refer to
 * it.
 */
int cx_remove(struct cx_hca *hca, enum cx_kind kind, uint32_t number);

/*
 * A queue of that process was created, destroyed or changed its state: its next step lists them
 * anew.
 */
static inline void cx_note_change(struct cx_hca *hca, unsigned proc)
{
	hca->shared->alarms[proc].changes++;
}

/* Adds or drops a reference to an object; number 0 names none. */
void cx_refer(struct cx_hca *hca, enum cx_kind kind, uint32_t number, int change);

void cx_disown_all(struct cx_hca *hca);                   /* destroys all that this process owns */
void cx_sweep_process(struct cx_hca *hca, unsigned proc); /* the same, for a dead process */

/* Walks along the calling process's objects of a kind. */
struct cx_head *cx_first(struct cx_hca *hca, enum cx_kind kind);
struct cx_head *cx_next(struct cx_hca *hca, enum cx_kind kind, const struct cx_head *head);

#endif
