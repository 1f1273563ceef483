/* SPDX-License-Identifier: BSD-2-Clause */
/* Channels, which wake a thread that waits for completions, and their events. */
#include "path.h"

#include <stdlib.h>

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
	use(&device->uses[OF_CHANNELS]);
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
	unuse(&channel->device->uses[OF_CHANNELS]);
	free(channel);
	return 0;
}

int bsn_channel_fd(const struct bsn_channel *channel)
{
	return channel ? channel->verbs->fd : -EINVAL;
}

/* Acknowledging takes a lock in libibverbs: by the batch, the rest when the CQ is destroyed. */
void acknowledge_events(struct cq_object *cq, uint32_t at_least)
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
	cq->ring->arm_sn++; /* the device counts the events it raised, and voids older arms */
	acknowledge_events(cq, 64);
	*out = &cq->hot;
	return 0;
}

int bsn_cq_event_taken(struct bsn_cq *cq)
{
	if (!cq)
		return fail(EINVAL, "no CQ");
	cq_of(cq)->ring->arm_sn++;
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
	cq_lock(cq);
	err = cq->path->cq_request(cq, solicited_only);
	cq_unlock(cq);
	return err ? fail(-err, "cannot ask for an event: %s", strerror(-err)) : 0;
}
