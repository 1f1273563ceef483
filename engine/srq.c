/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared receive queues. */
#include "path.h"

#include <stdlib.h>

static struct srq_object *srq_of(const struct bsn_rq *rq)
{
	return rq->owner;
}

static int create_verbs(struct srq_object *srq, uint32_t depth, uint32_t max_sge)
{
	struct ibv_srq_init_attr init = { .srq_context = srq,
					  .attr = { .max_wr = depth, .max_sge = max_sge } };

	errno = 0;
	srq->verbs = ibv_create_srq(srq->pd->verbs, &init);
	if (!srq->verbs) {
		const int error = errno ? errno : EIO;
		return fail(error, "cannot create an SRQ of %u receives with %u SGEs: %s%s", depth,
			    max_sge, strerror(error), memlock_hint(error));
	}
	/* One more than fits, since the list keeps a successor; always a power of two. */
	srq->slots = init.attr.max_wr + 1;
	srq->depth = depth;
	srq->max_sge = max_sge;
	return 0;
}

int bsn_srq_create(struct bsn_device *device, const struct bsn_srq_attr *given, struct bsn_rq **out)
{
	const struct bsn_srq_attr attr = given ? *given : (struct bsn_srq_attr){ 0 };
	struct srq_object *srq;
	int err;

	if (!device || !out)
		return fail(EINVAL, "no device, or no place for the SRQ");
	if (attr.pd && attr.pd->device != device)
		return fail(EINVAL, "the protection domain is of another device");
	if (attr.recv_depth > (uint32_t)device->limits.max_srq_wr ||
	    attr.max_recv_sge > (uint32_t)device->limits.max_srq_sge)
		return fail(EINVAL, "an SRQ of %u receives with %u SGEs: the device takes %d with %d",
			    attr.recv_depth, attr.max_recv_sge, device->limits.max_srq_wr,
			    device->limits.max_srq_sge);
	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return fail(ENOMEM, "no memory");
	srq->device = device;
	srq->path = device->path;
	srq->pd = attr.pd ? attr.pd : &device->default_pd;
	srq->user = attr.user;
	srq->is_on_demand = attr.is_on_demand;
	err = create_verbs(srq, attr.recv_depth ? attr.recv_depth : DEFAULT_RECVS,
			   attr.max_recv_sge ? attr.max_recv_sge : 1);
	if (err)
		goto free_srq;
	err = srq->path->srq_make(srq);
	if (err)
		goto destroy_verbs;
	use(&srq->pd->uses);
	use(&device->uses[OF_SRQS]);
	list_srq(srq);
	registry_add_srq(srq);
	*out = srq->rq;
	return 0;

destroy_verbs:
	ibv_destroy_srq(srq->verbs);
free_srq:
	free(srq);
	return err;
}

int bsn_srq_destroy(struct bsn_rq *rq)
{
	struct srq_object *srq;
	int err;

	if (!rq)
		return 0;
	srq = srq_of(rq);
	if (atomic_load(&srq->uses.count))
		return fail(EBUSY, "QPs still receive from this SRQ: destroy them first");
	registry_remove_srq(srq);
	err = destroyed(srq->device, ibv_destroy_srq(srq->verbs));
	if (err) {
		registry_add_srq(srq);
		return fail(-err, "QPs outside of Bunsen still use this SRQ");
	}
	unlist_srq(srq);
	srq->path->srq_free(srq);
	unuse(&srq->pd->uses);
	unuse(&srq->device->uses[OF_SRQS]);
	free(srq);
	return 0;
}

int bsn_srq_set_limit(struct bsn_rq *rq, uint32_t limit)
{
	struct ibv_srq_attr attr = { .srq_limit = limit };
	int err;

	if (!rq)
		return fail(EINVAL, "no SRQ");
	err = provider_error_of_int(ibv_modify_srq(srq_of(rq)->verbs, &attr, IBV_SRQ_LIMIT));
	return err ? fail(-err, "cannot set the limit to %u: %s", limit, strerror(-err)) : 0;
}
