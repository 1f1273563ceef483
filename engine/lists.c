/* SPDX-License-Identifier: BSD-2-Clause */
/* The objects of a device, found by their libibverbs objects. */
#include "engine.h"

/* The three lists differ only in the type of their elements. */
#define DEFINE_LIST(object, type, list)                                                            \
	void list_##object(struct type *o)                                                         \
	{                                                                                          \
		pthread_mutex_lock(&o->device->lock);                                              \
		o->next = o->device->list;                                                         \
		o->device->list = o;                                                               \
		pthread_mutex_unlock(&o->device->lock);                                            \
	}                                                                                          \
	void unlist_##object(struct type *o)                                                       \
	{                                                                                          \
		struct type **at = &o->device->list;                                               \
		pthread_mutex_lock(&o->device->lock);                                              \
		while (*at != o)                                                                   \
			at = &(*at)->next;                                                         \
		*at = o->next;                                                                     \
		pthread_mutex_unlock(&o->device->lock);                                            \
	}
DEFINE_LIST(qp, bsn_qp, qps)
DEFINE_LIST(cq, cq_object, cqs)
DEFINE_LIST(srq, srq_object, srqs)

struct cq_object *listed_cq(struct bsn_device *device, const struct ibv_cq *verbs)
{
	struct cq_object *cq = device->cqs;

	while (cq && cq->verbs != verbs)
		cq = cq->next;
	return cq;
}

struct bsn_qp *listed_qp(struct bsn_device *device, const struct ibv_qp *verbs)
{
	struct bsn_qp *qp = device->qps;

	while (qp && qp->verbs != verbs)
		qp = qp->next;
	return qp;
}

struct srq_object *listed_srq(struct bsn_device *device, const struct ibv_srq *verbs)
{
	struct srq_object *srq = device->srqs;

	while (srq && srq->verbs != verbs)
		srq = srq->next;
	return srq;
}
