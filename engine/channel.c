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
	pthread_mutex_init(&channel->taking, NULL);
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
	pthread_mutex_destroy(&channel->taking);
	free(channel);
	return 0;
}

int bsn_channel_fd(const struct bsn_channel *channel)
{
	return channel ? channel->verbs->fd : -EINVAL;
}

/*
 * Acknowledges events in batches, since libibverbs takes a lock each time; the rest when the CQ is
 * destroyed.
 */
void acknowledge_events(struct cq_object *cq, uint32_t at_least)
{
	if (cq->unacked < at_least || !cq->unacked)
		return;
	ibv_ack_cq_events(cq->verbs, cq->unacked);
	cq->unacked = 0;
}

/* Counts an event: the device ignores an arm whose count of events is older. */
static void count_event(struct cq_object *cq)
{
	cq_lock(cq);
	dv_cq(cq->ring)->arm_sn++;
	cq_unlock(cq);
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
	count_event(cq);
	acknowledge_events(cq, 64);
	*out = &cq->dv.hot;
	return 0;
}

int bsn_cq_event_taken(struct bsn_cq *cq)
{
	if (!cq)
		return fail(EINVAL, "no CQ");
	count_event(cq_of(cq));
	return 0;
}

int bsn_cq_moderate(struct bsn_cq *hot, uint32_t count, uint32_t period_us)
{
	struct ibv_modify_cq_attr attr = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = { .cq_count = (uint16_t)count, .cq_period = (uint16_t)period_us },
	};
	int err;

	if (!hot)
		return fail(EINVAL, "no CQ");
	if (count > UINT16_MAX || period_us > UINT16_MAX)
		return fail(EINVAL, "an event for %u completions or after %u us: both are 16 bits",
			    count, period_us);
	if (count > 1 && !period_us)
		return fail(EINVAL,
			    "without a period, fewer than %u completions would never "
			    "raise an event",
			    count);
	err = provider_error_of_int(ibv_modify_cq(cq_of(hot)->verbs, &attr));
	if (err == -ENOSYS || err == -EOPNOTSUPP)
		return fail(EOPNOTSUPP, "%s does not moderate events",
			    cq_of(hot)->device->info.name);
	return err ? fail(-err, "an event for %u completions or after %u us: %s", count, period_us,
			  strerror(-err))
		   : 0;
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
