/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests whose local memory is a map. Where there are no mkeys (plain verbs), a map may have more
 * SGEs than a request takes: then a WRITE or READ becomes several.
 */
#include "bsn_sq.h"
#include "refuse.h"
#include "sq.h"

static uint64_t bytes_of(const struct bsn_sge *sge, uint32_t count)
{
	uint64_t bytes = 0;

	while (count--)
		bytes += sge++->length;
	return bytes;
}

/* Only the last of several completes, and only the first waits for what was before. */
static uint32_t flags_of(uint32_t flags, bool is_first, bool is_last)
{
	if (!is_first)
		flags &= ~(uint32_t)BSN_F_FENCE;
	return is_last ? flags : flags & ~(uint32_t)(BSN_F_SIGNALED | BSN_F_RING);
}

/* Whether the queue takes as many requests as the map's SGEs need. */
static int check_several(struct bsn_sq *sq, const struct bsn_wr *wr)
{
	const uint32_t requests = (wr->map->sge_count + sq->max_sge - 1) / sq->max_sge;

	if (wr->opcode != BSN_OPCODE_RDMA_WRITE && wr->opcode != BSN_OPCODE_RDMA_READ)
		return refuse(EMSGSIZE,
			      "only a WRITE or READ can become several requests: make the "
			      "queue with more SGEs (max_send_sge)");
	if (sq->ring)
		return refuse(EMSGSIZE, "the map was made for a queue with more SGEs: map the "
					"layout for this one");
	if (sq->closed)
		return refuse(sq->closed, sq->closed_why);
	if (requests > sq->capacity_bb)
		return refuse(EMSGSIZE,
			      "more requests than the queue takes: make it with a greater "
			      "send_depth, or with more SGEs");
	if (requests > sq->path->room(sq))
		return refuse(EAGAIN,
			      "the send queue has not room for all its requests: poll its CQ");
	return 0;
}

static int post_several(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	const struct bsn_map *const map = wr->map;
	const uint32_t most = ep->sq->max_sge;
	int err = check_several(ep->sq, wr);
	struct bsn_wr one = *wr;

	one.map = NULL;
	for (uint32_t at = 0; !err && at < map->sge_count; at += one.sge_count) {
		const uint32_t left = map->sge_count - at;
		one.sge = map->sge + at;
		one.sge_count = left < most ? left : most;
		one.flags = flags_of(wr->flags, !at, left <= most);
		err = bsn_sq_post_wr(ep, &one);
		one.remote.addr += bytes_of(one.sge, one.sge_count);
	}
	return err;
}

int bsn_list_map(const struct bsn_wr *wr, struct bsn_wr *as_list)
{
	if (wr->flags & BSN_F_INLINE)
		return refuse(EINVAL, "a map's data are not copied into the WQE");
	if (wr->map->length > BSN_DATA_MAX_BYTES)
		return refuse(EMSGSIZE,
			      "a message has less than 2^31 bytes: post pieces of the mkey");
	*as_list = *wr;
	as_list->map = NULL;
	as_list->sge = wr->map->sge;
	as_list->sge_count = wr->map->sge_count;
	return 0;
}

int bsn_sq_post_map(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	struct bsn_wr as_list;
	int err;

	if (!has_queue(ep))
		return bsn_sq_no_endpoint();
	if (wr->map->sge_count > ep->sq->max_sge && !(wr->flags & BSN_F_INLINE))
		return post_several(ep, wr);
	err = bsn_list_map(wr, &as_list);
	return err ? err : bsn_sq_post_wr(ep, &as_list);
}
