/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues and the channels that wake their waiters. */
#include "engine.h"

#include <stdlib.h>

/* -- channels ----------------------------------------------------------------------------------- */

int bsn_channel_create(struct bsn_device *device, struct bsn_channel **out)
{
	struct bsn_channel *channel;

	if (!device || !out)
		return fail(EINVAL, "no device, or no place for the channel");
	channel = calloc(1, sizeof(*channel));
	if (!channel)
		return fail(ENOMEM, "no memory");
	errno = 0;
	channel->device = device;
	channel->verbs = ibv_create_comp_channel(device->context);
	if (!channel->verbs) {
		const int error = errno ? errno : EIO;
		free(channel);
		return fail(error, "no completion channel: %s", strerror(error));
	}
	use(&device->uses);
	*out = channel;
	return 0;
}

int bsn_channel_destroy(struct bsn_channel *channel)
{
	int err;

	if (!channel)
		return 0;
	if (atomic_load(&channel->uses.count))
		return fail(EBUSY, "CQs still use this channel: destroy them first");
	err = destroyed(channel->device, ibv_destroy_comp_channel(channel->verbs));
	if (err)
		return fail(-err, "the channel is in use outside of Bunsen");
	unuse(&channel->device->uses);
	free(channel);
	return 0;
}

int bsn_channel_fd(const struct bsn_channel *channel)
{
	return channel ? channel->verbs->fd : -EINVAL;
}

/* Acknowledging takes a lock in libibverbs: by the batch, the rest when the CQ is destroyed. */
static void acknowledge(struct cq_object *cq, uint32_t at_least)
{
	if (cq->unacked < at_least || !cq->unacked)
		return;
	ibv_ack_cq_events(cq->verbs, cq->unacked);
	cq->unacked = 0;
}

int bsn_channel_get(struct bsn_channel *channel, struct bsn_cq **out)
{
	struct ibv_cq *verbs;
	void *context;
	struct cq_object *cq;

	if (!channel || !out)
		return fail(EINVAL, "no channel, or no place for the CQ");
	errno = 0;
	if (ibv_get_cq_event(channel->verbs, &verbs, &context))
		return errno == EAGAIN || errno == EINTR ? -EAGAIN : -(errno ? errno : EIO);
	cq = context;
	cq->unacked++;
	cq->hot.arm_sn++; /* the device counts the events it raised, and voids older arms */
	acknowledge(cq, 64);
	*out = &cq->hot;
	return 0;
}

int bsn_cq_event_taken(struct bsn_cq *cq)
{
	if (!cq)
		return fail(EINVAL, "no CQ");
	cq->arm_sn++;
	return 0;
}

int bsn_cq_request(struct bsn_cq *hot, bool solicited_only)
{
	struct cq_object *cq = cq_of(hot);
	int err;

	if (!cq)
		return fail(EINVAL, "no CQ");
	if (!cq->verbs->channel)
		return fail(EINVAL, "the CQ was created without a channel");
	if (!hot->path) {
		bsn_cq_arm(hot, solicited_only);
		return 0;
	}
	err = provider_error_of_int(ibv_req_notify_cq(cq->verbs, solicited_only));
	return err ? fail(-err, "cannot ask for an event: %s", strerror(-err)) : 0;
}

/* -- CQs ---------------------------------------------------------------------------------------- */

static struct cq_object *new_cq(struct bsn_device *device)
{
	struct cq_object *cq = aligned_alloc(64, (sizeof(*cq) + 63) / 64 * 64);

	if (!cq)
		return NULL;
	memset(cq, 0, sizeof(*cq));
	cq->device = device;
	return cq;
}

static int create_verbs(struct cq_object *cq, const struct bsn_cq_attr *attr)
{
	struct ibv_comp_channel *channel = attr->channel ? attr->channel->verbs : NULL;
	const struct provider_cq_attr mlx5 = { .entries = cq->entries,
					       .cqe_size = attr->cqe_size,
					       .channel = channel,
					       .context = cq };
	int err;

	if (cq->device->direct) {
		err = provider_cq_create(cq->device->context, &mlx5, &cq->verbs);
	} else {
		errno = 0;
		cq->verbs = ibv_create_cq(cq->device->context, (int)cq->entries, cq, channel, 0);
		err = provider_error_of_pointer(cq->verbs);
	}
	if (err)
		return fail(-err, "cannot create a CQ of %u entries: %s%s", cq->entries,
			    strerror(-err), memlock_hint(-err));
	cq->spare = (uint32_t)cq->verbs->cqe + 1 - cq->entries;
	return 0;
}

static int check(const struct bsn_device *device, const struct bsn_cq_attr *attr)
{
	if (attr->cqe_size && attr->cqe_size != 64 && attr->cqe_size != 128)
		return fail(EINVAL, "CQEs have 64 or 128 bytes, not %u", attr->cqe_size);
	if (attr->entries > device->info.max_cqe)
		return fail(EINVAL, "%u CQ entries, the device takes %u", attr->entries,
			    device->info.max_cqe);
	if (attr->lane && lane_of(attr->lane)->device != device)
		return fail(EINVAL, "the lane is of another device");
	if (attr->channel && attr->channel->device != device)
		return fail(EINVAL, "the channel is of another device");
	return 0;
}

int bsn_cq_create(struct bsn_device *device, const struct bsn_cq_attr *given, struct bsn_cq **out)
{
	const struct bsn_cq_attr attr = given ? *given : (struct bsn_cq_attr){ 0 };
	struct bsn_lane *lane = attr.lane;
	struct cq_object *cq;
	int err;

	if (!device || !out)
		return fail(EINVAL, "no device, or no place for the CQ");
	err = check(device, &attr);
	if (err)
		return err;
	cq = new_cq(device);
	if (!cq)
		return fail(ENOMEM, "no memory");
	cq->entries = attr.entries ? attr.entries : DEFAULT_ENTRIES;
	cq->user = attr.user;
	err = lane ? 0 : bsn_lane_create(device, NULL, &lane);
	if (err)
		goto free_cq;
	cq->lane = lane_of(lane);
	cq->owns_lane = !attr.lane;
	err = create_verbs(cq, &attr);
	if (err)
		goto destroy_lane;
	cq->owns_verbs = true;
	err = path_of(device->direct)->cq_make(cq);
	if (err)
		goto destroy_verbs;
	cq->channel = attr.channel;
	if (cq->channel)
		use(&cq->channel->uses);
	use(&cq->lane->uses);
	use(&device->uses);
	list_cq(cq);
	registry_add_cq(cq);
	*out = &cq->hot;
	return 0;

destroy_verbs:
	ibv_destroy_cq(cq->verbs);
destroy_lane:
	if (cq->owns_lane)
		bsn_lane_destroy(lane);
free_cq:
	free(cq);
	return err;
}

int bsn_cq_destroy(struct bsn_cq *hot)
{
	struct cq_object *cq = cq_of(hot);
	int err;

	if (!cq)
		return 0;
	if (atomic_load(&cq->uses.count))
		return fail(EBUSY, "QPs still complete on this CQ: destroy them first");
	acknowledge(cq, 1);
	registry_remove_cq(cq);
	err = cq->owns_verbs ? destroyed(cq->device, ibv_destroy_cq(cq->verbs)) : 0;
	if (err) {
		registry_add_cq(cq);
		return fail(-err, "QPs outside of Bunsen still complete on this CQ");
	}
	unlist_cq(cq);
	path_of(!cq->hot.path)->cq_free(cq);
	if (cq->channel)
		unuse(&cq->channel->uses);
	if (cq->lane) {
		unuse(&cq->lane->uses);
		if (cq->owns_lane)
			bsn_lane_destroy(&cq->lane->hot);
	}
	unuse(&cq->device->uses);
	free(cq);
	return 0;
}

void *bsn_cq_user(const struct bsn_cq *cq)
{
	return cq ? ((const struct cq_object *)cq)->user : NULL;
}

/* -- CQs that the application made, of attached QPs ---------------------------------------------- */

static struct cq_object *find_cq(struct bsn_device *device, const struct ibv_cq *verbs)
{
	struct cq_object *cq;

	pthread_mutex_lock(&device->lock);
	for (cq = device->cqs; cq; cq = cq->next)
		if (cq->verbs == verbs)
			break;
	pthread_mutex_unlock(&device->lock);
	return cq;
}

/*
 * The application sized the CQ: its entries are what its queues may need, and libmlx5 rounds up to
 * a power of two, of which nothing can be counted on.
 */
int cq_adopt(struct bsn_device *device, struct ibv_cq *verbs, bool direct, struct cq_object **out)
{
	struct cq_object *cq = find_cq(device, verbs);
	int err;

	if (cq && !cq->hot.path != direct)
		return fail(EMLINK,
			    "the CQ serves a QP of the other path: attach all of its QPs with "
			    "the same promise about their registers");
	if (cq) {
		*out = cq;
		return 0;
	}
	cq = new_cq(device);
	if (!cq)
		return fail(ENOMEM, "no memory");
	cq->verbs = verbs;
	cq->entries = (uint32_t)verbs->cqe;
	err = path_of(direct)->cq_make(cq);
	if (err) {
		free(cq);
		return err == -EBUSY
			       ? fail(EBUSY, "the CQ has completions, was polled, or served an "
					     "attached QP already: attach all of its QPs before "
					     "their first post, or make another CQ")
			       : err;
	}
	use(&device->uses);
	list_cq(cq);
	registry_add_cq(cq);
	*out = cq;
	return 0;
}

/* An attached CQ goes with the last of its QPs. */
void cq_drop_attached(struct cq_object *cq)
{
	if (cq->owns_verbs || atomic_load(&cq->uses.count))
		return;
	registry_remove_cq(cq);
	unlist_cq(cq);
	path_of(!cq->hot.path)->cq_free(cq);
	unuse(&cq->device->uses);
	free(cq);
}

/* -- what queues take of a CQ -------------------------------------------------------------------- */

/* A queue's share of a CQ: refused where it could overrun. */
int cq_charge(struct cq_object *cq, uint32_t entries)
{
	if (cq->charged + entries > cq->entries)
		return fail(ENOSPC,
			    "the CQ has %u entries, %u are spoken for, and this queue may need "
			    "%u: create it with %u",
			    cq->entries, cq->charged, entries, cq->charged + entries);
	cq->charged += entries;
	use(&cq->uses);
	return 0;
}

void cq_discharge(struct cq_object *cq, uint32_t entries)
{
	cq->charged -= entries;
	unuse(&cq->uses);
}
