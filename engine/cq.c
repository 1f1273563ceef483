/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues, and the entries that queues take of them. */
#include "path.h"

#include <stdlib.h>

#include "init.h"

struct cq_object *new_cq(struct bsn_device *device)
{
	struct cq_object *cq = bsn_hot_alloc(sizeof(*cq));

	if (!cq)
		return NULL;
	cq->ring = &cq->dv.hot;
	cq->device = device;
	return cq;
}

void cq_forget(struct cq_object *cq)
{
	unlist_cq(cq);
	cq->path->cq_free(cq);
	free(cq);
}

static int create_verbs(struct cq_object *cq, const struct bsn_cq_attr *attr)
{
	const int err = cq->path->cq_create(cq, attr);

	if (err == -EOPNOTSUPP && attr->timestamps)
		return fail(EOPNOTSUPP,
			    "%s does not stamp completions: create the CQ without timestamps",
			    cq->device->info.name);
	if (err)
		return fail(-err, "cannot create a CQ of %u entries: %s%s", cq->entries,
			    strerror(-err), memlock_hint(-err));
	cq->owns_verbs = true;
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

/* Sessions need the direct path: ibv_poll_cq() cannot read them, and other providers have none. */
static int check_sessions(const struct bsn_device *device, const struct bsn_cq_attr *attr)
{
	struct provider_cqe_caps caps;
	const bool is_128 = attr->cqe_size == BSN_CQE128_SIZE;

	if (attr->compression > BSN_CQES_BY_STRIDE_INDEX)
		return fail(EINVAL, "%d is not an enum bsn_cqe_compression",
			    (int)attr->compression);
	if (attr->is_padded && !is_128)
		return fail(EINVAL, "only CQEs of 128 bytes are padded");
	if (!attr->compression && !attr->is_padded)
		return 0;
	if (!device->path->shows_rings)
		return fail(EOPNOTSUPP, "only the direct path has compressed and padded CQEs: "
					"ibv_poll_cq() cannot read them");
	provider_query_cqes(device->context, &caps);
	if (attr->compression && !(caps.formats >> (attr->compression - 1) & 1))
		return fail(EOPNOTSUPP, "%s does not compress CQEs by this format",
			    device->info.name);
	if (attr->compression && is_128 && !caps.compresses_128)
		return fail(EOPNOTSUPP, "%s does not compress CQEs of 128 bytes",
			    device->info.name);
	if (attr->is_padded && !caps.pads_128)
		return fail(EOPNOTSUPP, "%s does not pad CQEs", device->info.name);
	return 0;
}

static int check_timestamps(const struct bsn_device *device, const struct bsn_cq_attr *attr)
{
	if ((unsigned)attr->timestamps > BSN_TIMESTAMPS_REAL_TIME)
		return fail(EINVAL, "%d is not an enum bsn_timestamps", (int)attr->timestamps);
	if (attr->timestamps == BSN_TIMESTAMPS_NS && !provider_has_clock_info(device->context))
		return fail(EOPNOTSUPP,
			    "the kernel does not say how to convert ticks of %s to nanoseconds: "
			    "ask for BSN_TIMESTAMPS_RAW",
			    device->info.name);
	if (attr->timestamps == BSN_TIMESTAMPS_REAL_TIME &&
	    !provider_has_real_time(device->context))
		return fail(EOPNOTSUPP,
			    "%s has no real-time clock, or it is not turned on "
			    "(mlxconfig REAL_TIME_CLOCK_ENABLE): ask for BSN_TIMESTAMPS_NS",
			    device->info.name);
	return 0;
}

/*
 * Ignoring overruns is safe only if the CQ never overruns, which the direct path ensures by
 * counting. On plain verbs it would spare nothing: the provider stores the record at each poll.
 */
static int check_overrun(const struct bsn_device *device, const struct bsn_cq_attr *attr)
{
	if (attr->ignores_overrun && !device->path->shows_rings)
		return fail(EOPNOTSUPP, "only the direct path can ignore overruns: libibverbs "
					"updates its record at each poll");
	return 0;
}

static void hold_lane(struct cq_object *cq, struct bsn_lane *lane)
{
	cq->lane = lane_of(lane);
	use(&cq->lane->uses);
}

static int bring_lane(struct cq_object *cq)
{
	struct bsn_lane *lane;
	int err;

	if (cq->lane)
		return 0;
	err = bsn_lane_create(cq->device, NULL, &lane);
	if (err)
		return err;
	hold_lane(cq, lane);
	cq->owns_lane = true;
	return 0;
}

int cq_bring_lane(struct cq_object *cq)
{
	int err;

	pthread_mutex_lock(&cq->device->cq_lock);
	err = bring_lane(cq);
	pthread_mutex_unlock(&cq->device->cq_lock);
	return err;
}

int bsn_cq_create(struct bsn_device *device, const struct bsn_cq_attr *given, struct bsn_cq **out)
{
	const struct bsn_cq_attr attr = given ? *given : (struct bsn_cq_attr){ 0 };
	struct cq_object *cq;
	int err;

	if (!device || !out)
		return fail(EINVAL, "no device, or no place for the CQ");
	err = check(device, &attr);
	if (!err)
		err = check_sessions(device, &attr);
	if (!err)
		err = check_timestamps(device, &attr);
	if (!err)
		err = check_overrun(device, &attr);
	if (err)
		return err;
	cq = new_cq(device);
	if (!cq)
		return fail(ENOMEM, "no memory");
	cq->entries = attr.entries ? attr.entries : DEFAULT_ENTRIES;
	cq->user = attr.user;
	cq->path = device->path;
	cq->channel = attr.channel;
	cq->compression = attr.compression;
	cq->timestamps = attr.timestamps;
	cq->ignores_overrun = attr.ignores_overrun;
	err = create_verbs(cq, &attr);
	if (err)
		goto free_cq;
	err = cq_front(cq, attr.is_shared);
	if (!err)
		err = cq->path->cq_make(cq);
	if (err)
		goto destroy_verbs;
	cq_guard(cq);
	if (cq->channel)
		use(&cq->channel->uses);
	if (attr.lane)
		hold_lane(cq, attr.lane);
	use(&device->uses[OF_CQS]);
	list_cq(cq);
	registry_add_cq(cq);
	*out = &cq->dv.hot;
	return 0;

destroy_verbs:
	cq_unfront(cq);
	ibv_destroy_cq(cq->verbs);
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
	acknowledge_events(cq, 1);
	if (cq->is_idle) {
		cq_forget(cq);
		return 0;
	}
	registry_remove_cq(cq);
	err = cq->owns_verbs ? destroyed(cq->device, ibv_destroy_cq(cq->verbs)) : 0;
	if (err) {
		registry_add_cq(cq);
		return fail(-err, "QPs outside of Bunsen still complete on this CQ");
	}
	unlist_cq(cq);
	cq->path->cq_free(cq);
	cq_unfront(cq);
	cq_wake_never(cq);
	if (cq->channel)
		unuse(&cq->channel->uses);
	if (cq->lane) {
		unuse(&cq->lane->uses);
		if (cq->owns_lane)
			bsn_lane_destroy(&cq->lane->dv.hot);
	}
	unuse(&cq->device->uses[OF_CQS]);
	free(cq);
	return 0;
}

static int check_resize(const struct cq_object *cq, uint32_t entries)
{
	if (!cq->owns_verbs)
		return fail(EOPNOTSUPP, "the application made the CQ, so only the application can "
					"resize it");
	if (!cq->path->cq_resize)
		/* It copies from its own consumer index, and reports success. */
		return fail(EOPNOTSUPP,
			    "libmlx5 would lose completions of a CQ that Bunsen polls: create "
			    "another one for new QPs");
	if (!entries || entries > cq->device->info.max_cqe)
		return fail(EINVAL, "%u CQ entries, the device takes 1 to %u", entries,
			    cq->device->info.max_cqe);
	if (entries < cq->charged)
		return fail(ENOSPC, "%u CQ entries, and its queues may need %u: destroy some first",
			    entries, cq->charged);
	return 0;
}

static int resize(struct cq_object *cq, uint32_t entries)
{
	int err;

	cq_lock(cq);
	err = cq->path->cq_resize(cq, entries);
	cq_unlock(cq);
	if (err == -ENOSYS || err == -EOPNOTSUPP)
		return fail(EOPNOTSUPP, "%s does not resize CQs", cq->device->info.name);
	if (err)
		return fail(-err, "cannot resize the CQ to %u entries: %s%s", entries,
			    strerror(-err), memlock_hint(-err));
	cq->entries = entries;
	cq->spare = (uint32_t)cq->verbs->cqe + 1 - entries;
	return 0;
}

int bsn_cq_resize(struct bsn_cq *hot, uint32_t entries)
{
	struct cq_object *cq = cq_of(hot);
	int err;

	if (!cq)
		return fail(EINVAL, "no CQ");
	pthread_mutex_lock(&cq->device->cq_lock);
	err = check_resize(cq, entries);
	if (!err)
		err = resize(cq, entries);
	pthread_mutex_unlock(&cq->device->cq_lock);
	return err;
}

void *bsn_cq_user(const struct bsn_cq *cq)
{
	return cq ? ((const struct cq_object *)cq)->user : NULL;
}

/* -- the entries that queues take ------------------------------------------------------------- */

int cq_is_clean(const struct cq_object *cq, uint32_t entries)
{
	const uint32_t stale = cq->ignores_overrun ? bsn_cq_stale(cq->ring) : 0;

	if (!stale || cq->charged + entries + stale <= cq->entries)
		return 0;
	return fail(EBUSY,
		    "the CQ, which ignores overruns, has %u completions of destroyed queues: "
		    "poll it empty",
		    stale);
}

int cq_has_room(const struct cq_object *cq, uint32_t entries)
{
	if (cq->charged + entries <= cq->entries)
		return cq_is_clean(cq, entries);
	return fail(
		ENOSPC,
		"the CQ has %u entries, %u are taken, and %u more may be needed: create it with "
		"%u",
		cq->entries, cq->charged, entries, cq->charged + entries);
}

/*
 * For a CQ that the application created. All of its QPs are ours, so the entries that these do not
 * need are spare. The number only falls, since CQEs of destroyed QPs may still be in the ring.
 */
static void count_spare(struct cq_object *cq)
{
	const uint32_t ring = (uint32_t)cq->verbs->cqe + 1;
	const uint32_t spare = ring > cq->charged ? ring - cq->charged : 0;

	if (!cq->path->cq_set_spare || (cq->was_charged && spare >= cq->spare))
		return;
	cq->spare = spare;
	cq->path->cq_set_spare(cq, spare);
}

void cq_charge(struct cq_object *cq, uint32_t entries)
{
	cq->charged += entries;
	if (!cq->owns_verbs)
		count_spare(cq);
	cq->was_charged = true;
	use(&cq->uses);
}

void cq_discharge(struct cq_object *cq, uint32_t entries)
{
	cq->charged -= entries;
	unuse(&cq->uses);
}

int cq_take(struct cq_object *cq, uint32_t needed, uint32_t now)
{
	int err;

	pthread_mutex_lock(&cq->device->cq_lock);
	err = cq_has_room(cq, needed);
	if (!err)
		cq_charge(cq, now);
	pthread_mutex_unlock(&cq->device->cq_lock);
	return err;
}

void cq_give(struct cq_object *cq, uint32_t entries)
{
	pthread_mutex_lock(&cq->device->cq_lock);
	cq_discharge(cq, entries);
	pthread_mutex_unlock(&cq->device->cq_lock);
}
