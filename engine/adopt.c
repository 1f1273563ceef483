/* SPDX-License-Identifier: BSD-2-Clause */
/* CQs that the application made, of attached QPs. */
#include "path.h"

#include <stdlib.h>

/* -- CQs whose QPs were all destroyed ---------------------------------------------------------- */

/*
 * Keeps a CQ without QPs for QPs that are attached later: libmlx5 does not know which CQEs Bunsen
 * has consumed. It is not kept if its first QP could not be attached: nothing was consumed.
 */
void cq_drop_attached(struct cq_object *cq)
{
	if (cq->owns_verbs || atomic_load(&cq->uses.count))
		return;
	registry_remove_cq(cq);
	unuse(&cq->device->uses[OF_CQS]);
	cq->is_idle = true;
	if (!cq->was_charged)
		cq_forget(cq);
}

void cq_forget_idle(struct bsn_device *device)
{
	struct cq_object *cq = device->cqs, *next;

	for (; cq; cq = next) {
		next = cq->next;
		cq_forget(cq);
	}
}

/* -- adoption ---------------------------------------------------------------------------------- */

/*
 * The adopted CQ of that address. The application may have destroyed it, and created another one
 * there.
 */
static struct cq_object *find_adopted(struct bsn_device *device, struct ibv_cq *verbs)
{
	struct cq_object *cq;

	pthread_mutex_lock(&device->lock);
	cq = listed_cq(device, verbs);
	pthread_mutex_unlock(&device->lock);
	if (!cq || !cq->is_idle || cq->path->cq_is_known(cq))
		return cq;
	cq_forget(cq);
	return NULL;
}

static void put_to_use(struct cq_object *cq)
{
	cq->is_idle = false;
	use(&cq->device->uses[OF_CQS]);
	registry_add_cq(cq);
}

/*
 * Adopts a CQ. libmlx5 rounded its size up to a power of two, and Bunsen cannot see which size the
 * application asked for, so it assumes no spare entries.
 */
static int adopt_new(struct bsn_device *device, struct ibv_cq *verbs, const struct path_ops *path,
		     struct cq_object **out)
{
	struct cq_object *cq = new_cq(device);
	int err;

	if (!cq)
		return fail(ENOMEM, "no memory");
	cq->path = path;
	cq->verbs = verbs;
	cq->entries = (uint32_t)verbs->cqe;
	err = path->cq_make(cq);
	if (err) {
		free(cq);
		return err == -EBUSY ? fail(EBUSY, "the CQ has completions or was polled: attach "
						   "all of its QPs before their first post, "
						   "or make another CQ")
				     : err;
	}
	list_cq(cq);
	put_to_use(cq);
	*out = cq;
	return 0;
}

int cq_adopt(struct bsn_device *device, struct ibv_cq *verbs, const struct path_ops *path,
	     struct cq_object **out)
{
	struct cq_object *cq = find_adopted(device, verbs);

	if (!cq)
		return adopt_new(device, verbs, path, out);
	if (cq->path != path)
		return fail(EMLINK,
			    "the CQ serves QPs of the other path: attach all of its QPs with "
			    "the same promise about their registers");
	if (cq->is_idle)
		put_to_use(cq);
	*out = cq;
	return 0;
}
