/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lanes. A lane with a thread domain has the register of its first queue. A queue without one has
 * the register that libmlx5 chose. All queues of a register are on one lane, which has the
 * register's toggle and lock.
 */
#include "path.h"

#include <stdlib.h>

#include "init.h"

static struct lane_object *new_lane(struct bsn_device *device)
{
	struct lane_object *lane = bsn_hot_alloc(sizeof(*lane));

	if (!lane)
		return NULL;
	lane->device = device;
	use(&device->uses[OF_LANES]);
	return lane;
}

static void free_lane(struct lane_object *lane)
{
	if (lane->dv.lock)
		pthread_spin_destroy(&lane->lock);
	unuse(&lane->device->uses[OF_LANES]);
	free(lane);
}

static void lock_doorbells(struct lane_object *lane)
{
	pthread_spin_init(&lane->lock, PTHREAD_PROCESS_PRIVATE);
	lane->dv.lock = (void *)&lane->lock;
}

int bsn_lane_create(struct bsn_device *device, const struct bsn_lane_attr *attr,
		    struct bsn_lane **out)
{
	struct lane_object *lane;
	int err;

	if (!device || !out)
		return fail(EINVAL, "no device, or no place for the lane");
	lane = new_lane(device);
	if (!lane)
		return fail(ENOMEM, "no memory");
	err = device->path->lane_open(lane);
	if (err) {
		free_lane(lane);
		return err;
	}
	/*
	 * Without a thread domain any of our queues may post through the register, so it needs a
	 * lock.
	 */
	if ((attr && attr->is_shared) || !lane->td)
		lock_doorbells(lane);
	*out = &lane->dv.hot;
	return 0;
}

int lane_make_domain(struct bsn_qp *qp)
{
	struct ibv_parent_domain_init_attr attr = { .pd = qp->pd->verbs, .td = qp->lane->td };

	if (!attr.td)
		return 0;
	errno = 0;
	qp->parent_domain = ibv_alloc_parent_domain(qp->device->context, &attr);
	return provider_error_of_pointer(qp->parent_domain);
}

/* -- registers; the caller holds the device's lock -------------------------------------------- */

static struct lane_object *find_lane(const struct bsn_device *device, const uint8_t *reg)
{
	struct lane_object *lane = device->lanes;

	while (lane && lane->reg != reg)
		lane = lane->next;
	return lane;
}

static void link_lane(struct lane_object *lane, const struct lane_register *got)
{
	const char *why_not = lane->device->no_blueflame;

	lane->reg = lane->dv.hot.reg = got->reg;
	lane->dv.hot.toggle = got->blueflame_bytes;
	lane->dv.blueflame_bytes = lane->dv.lock || why_not ? 0 : got->blueflame_bytes;
	lane->next = lane->device->lanes;
	lane->device->lanes = lane;
	if (!got->blueflame_bytes)
		say(lane->device, "the lane's register does not write-combine: 8-byte doorbells");
	else if (why_not)
		say(lane->device, "the lane rings by 8-byte doorbells: %s", why_not);
}

static void unlink_lane(struct lane_object *lane)
{
	struct lane_object **at = &lane->device->lanes;

	while (*at && *at != lane)
		at = &(*at)->next;
	if (*at)
		*at = lane->next;
}

/*
 * Finds the lane of a queue that got this register: the one that has the register, or a new one.
 * @asked: the lane that the queue was created on; NULL: an attached queue, of whose register the
 * caller promised that nothing else posts through it, or a DCI of a pool that has its own register
 */
static int choose_lane(struct bsn_device *device, struct lane_object *asked,
		       const struct lane_register *got, struct lane_object **out)
{
	struct lane_object *lane = find_lane(device, got->reg);

	if (asked && asked->td && (lane ? lane != asked : asked->reg != NULL))
		return fail(EXDEV, "the device gave queues of one thread domain different "
				   "registers: give each queue a lane of its own");
	if (lane && asked && !asked->td && !lane->dv.lock)
		return fail(EXDEV, "the device has no register left but that of an attached QP, "
				   "which nothing else may use (register_is_ours)");
	if (!lane && asked && !asked->reg) {
		lane = asked;
		link_lane(lane, got);
	} else if (!lane) {
		lane = new_lane(device);
		if (!lane)
			return fail(ENOMEM, "no memory");
		lane->is_of_register = true;
		if (asked || got->is_shared)
			lock_doorbells(lane);
		link_lane(lane, got);
	}
	*out = lane;
	return 0;
}

int lane_enter(struct bsn_device *device, struct lane_object *asked,
	       const struct lane_register *got, struct lane_object **lane)
{
	int err;

	pthread_mutex_lock(&device->lock);
	err = choose_lane(device, asked, got, lane);
	if (!err)
		use(&(*lane)->uses);
	pthread_mutex_unlock(&device->lock);
	return err;
}

void lane_leave(struct lane_object *lane)
{
	struct bsn_device *device = lane->device;
	bool is_last;

	pthread_mutex_lock(&device->lock);
	unuse(&lane->uses);
	is_last = lane->is_of_register && !atomic_load(&lane->uses.count);
	if (is_last)
		unlink_lane(lane);
	pthread_mutex_unlock(&device->lock);
	if (is_last)
		free_lane(lane);
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
	pthread_mutex_lock(&lane->device->lock);
	unlink_lane(lane);
	pthread_mutex_unlock(&lane->device->lock);
	free_lane(lane);
	return 0;
}
