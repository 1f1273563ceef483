/* SPDX-License-Identifier: BSD-2-Clause */
/* Lanes: a thread domain, and the register that its first queue brings along. */
#include "engine.h"

#include <stdlib.h>

static struct lane_object *new_lane(struct bsn_device *device)
{
	struct lane_object *lane = aligned_alloc(64, (sizeof(*lane) + 63) / 64 * 64);

	if (!lane)
		return NULL;
	memset(lane, 0, sizeof(*lane));
	lane->device = device;
	return lane;
}

static void lock_doorbells(struct lane_object *lane)
{
	pthread_spin_init(&lane->lock, PTHREAD_PROCESS_PRIVATE);
	lane->hot.lock = (void *)&lane->lock;
}

int bsn_lane_create(struct bsn_device *device, const struct bsn_lane_attr *attr,
		    struct bsn_lane **out)
{
	struct ibv_td_init_attr td = { 0 };
	struct lane_object *lane;

	if (!device || !out)
		return fail(EINVAL, "no device, or no place for the lane");
	lane = new_lane(device);
	if (!lane)
		return fail(ENOMEM, "no memory");
	if (device->direct) {
		errno = 0;
		lane->td = ibv_alloc_td(device->context, &td);
		if (!lane->td)
			say(device, "no register for a thread of its own (%s): the lane posts by "
				    "8-byte doorbells through a shared one, under a lock",
			    strerror(errno));
	}
	/* Without a register of its own it is never known who else posts through it. */
	if ((attr && attr->is_shared) || !lane->td)
		lock_doorbells(lane);
	use(&device->uses);
	*out = &lane->hot;
	return 0;
}

int lane_of_register(struct bsn_device *device, bool is_shared, struct bsn_lane **out)
{
	struct lane_object *lane = new_lane(device);

	if (!lane)
		return fail(ENOMEM, "no memory");
	if (is_shared)
		lock_doorbells(lane);
	use(&device->uses);
	*out = &lane->hot;
	return 0;
}

int bsn_lane_destroy(struct bsn_lane *hot)
{
	struct lane_object *lane = lane_of(hot);
	int err = 0;

	if (!lane)
		return 0;
	if (atomic_load(&lane->uses.count))
		return fail(EBUSY, "queues still use this lane: destroy them first");
	if (lane->td)
		err = destroyed(lane->device, ibv_dealloc_td(lane->td));
	if (err)
		return fail(-err, "the lane's thread domain is still in use: %s", strerror(-err));
	if (lane->hot.lock)
		pthread_spin_destroy(&lane->lock);
	unuse(&lane->device->uses);
	free(lane);
	return 0;
}

/*
 * The register of a queue that was created on this lane. All queues of a thread domain have the
 * same; one structure cannot stand for several.
 */
int lane_adopt_register(struct lane_object *lane, uint8_t *reg, uint32_t blueflame_bytes)
{
	uint8_t *mine = (uint8_t *)((uintptr_t)lane->hot.reg & ~(uintptr_t)lane->hot.toggle);

	if (lane->hot.reg && mine != reg)
		return fail(EXDEV, "the device gave queues of one thread domain different "
				   "registers: give each queue a lane of its own");
	if (lane->hot.reg)
		return 0;
	lane->hot.reg = reg;
	lane->hot.toggle = blueflame_bytes;
	lane->hot.blueflame_bytes = lane->hot.lock ? 0 : blueflame_bytes;
	if (!blueflame_bytes)
		say(lane->device, "the lane's register does not write-combine: 8-byte doorbells");
	return 0;
}
