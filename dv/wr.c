/* SPDX-License-Identifier: BSD-2-Clause */
/* Posts requests of maps and prepared requests, through post.c or request.c. */
#include "init.h"
#include "place.h"
#include "refuse.h"

/* -- maps of layouts -------------------------------------------------------------------------- */

/*
 * Plain verbs have no mkeys, so a map may have more SGEs than a request takes. A WRITE or READ of
 * it becomes several requests.
 */
static uint64_t bytes_of(const struct bsn_sge *sge, uint32_t count)
{
	uint64_t bytes = 0;

	while (count--)
		bytes += sge++->length;
	return bytes;
}

/* Only the last request is signaled and rung, and only the first has the fence. */
static uint32_t flags_of(uint32_t flags, bool is_first, bool is_last)
{
	if (!is_first)
		flags &= ~(uint32_t)BSN_F_FENCE;
	return is_last ? flags : flags & ~(uint32_t)(BSN_F_SIGNALED | BSN_F_RING);
}

/* 0 if the queue can take as many requests as the map's SGEs need, or why not. */
static int check_several(struct bsn_sq *sq, const struct bsn_wr *wr)
{
	const struct dv_sq *const whole = dv_sq(sq);
	const uint32_t requests = (wr->map->sge_count + sq->max_sge - 1) / sq->max_sge;

	if (wr->opcode != BSN_OPCODE_RDMA_WRITE && wr->opcode != BSN_OPCODE_RDMA_READ)
		return refuse_with(
			EMSGSIZE,
			"the layout needs %u SGEs, and the queue has %u: only a WRITE or READ "
			"can become several requests",
			wr->map->sge_count, sq->max_sge);
	if (has_wqes(sq))
		return refuse(EMSGSIZE, "the map was made for a queue with more SGEs: map the "
					"layout for this one");
	if (whole->closed)
		return refuse(whole->closed, whole->closed_why);
	if (requests > whole->capacity_bb)
		return refuse(EMSGSIZE, "the map needs more requests than the queue takes: create "
					"it with a greater send_depth or max_send_sge");
	if (requests > whole->path->room(sq))
		return refuse(
			EAGAIN,
			"the send queue has no room for all requests of the map: poll its CQ");
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
		err = bsn_post(ep, &one);
		one.remote.addr += bytes_of(one.sge, one.sge_count);
	}
	return err;
}

int bsn_sq_post_map(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	struct bsn_wr as_list;
	int err;

	if (!has_queue(ep))
		return bsn_sq_no_queue(ep);
	if (wr->map->sge_count > ep->sq->max_sge && !(wr->flags & BSN_F_INLINE))
		return post_several(ep, wr);
	err = bsn_list_map(wr, &as_list);
	return err ? err : bsn_post(ep, &as_list);
}

/* -- prepared requests ------------------------------------------------------------------------ */

/* Posts the request as a new one, with the data that were copied when it was prepared. */
static __attribute__((noinline, cold)) int
post_as_request(struct bsn_ep *ep, const struct bsn_prepared *p, uint64_t id, unsigned flags)
{
	const uint8_t *const data =
		(const uint8_t *)p->body + (has_remote(p->wr.opcode) ? BSN_RADDR_SIZE : 0);
	struct bsn_inline_hdr hdr;
	struct bsn_wr wr = p->wr;
	struct bsn_sge copied;

	wr.id = id;
	wr.sge = p->sge;
	wr.flags = flags & ~(unsigned)BSN_F_INLINE;
	if (p->wr.flags & BSN_F_INLINE) {
		bsn_inline_hdr_decode(&hdr, data);
		copied = (struct bsn_sge){ (uintptr_t)data + BSN_INLINE_HDR_SIZE, hdr.byte_count,
					   0 };
		wr.flags |= BSN_F_INLINE;
		wr.sge = &copied;
		wr.sge_count = 1;
	}
	return bsn_post(ep, &wr);
}

static __attribute__((noinline, cold)) int
post_prepared_refilled(struct bsn_ep *ep, const struct bsn_prepared *p, uint64_t id, unsigned flags)
{
	const unsigned ds = 1 + prefix_ds_of(peer_of(ep)) + p->body_ds;

	return bsn_sq_refill_for(ep->sq, bsn_bytes_of_ds(ds))
		       ? bsn_sq_post_prepared(ep, p, id, flags)
		       : post_as_request(ep, p, id, flags);
}

/* A path may bind the endpoint to a queue with a ring, which takes the prepared WQE as it is. */
static __attribute__((noinline, cold)) int
post_prepared_cold(struct bsn_ep *ep, const struct bsn_prepared *p, uint64_t id, unsigned flags)
{
	const struct bsn_sq_path *const path = dv_sq(ep->sq)->path;
	int err;

	if (!path || !path->bind || dv_sq(ep->sq)->closed)
		return post_as_request(ep, p, id, flags);
	err = path->bind(ep);
	return err ? err : bsn_sq_post_prepared(ep, p, id, flags);
}

int bsn_sq_post_prepared(struct bsn_ep *ep, const struct bsn_prepared *prepared, uint64_t id,
			 unsigned flags)
{
	const uint32_t what = prepared->wr.opcode | (flags & ~(unsigned)BSN_F_INLINE);
	struct place p;
	uint8_t *at;

	if (BSN_UNLIKELY(flags & ~BSN_F_ALL))
		return post_as_request(ep, prepared, id, flags);
	p = place_of(ep, peer_of(ep), what, prepared->body_ds - has_remote(what));
	if (!takes(p.sq, what, UINT64_MAX, BSN_F_PLAIN))
		return post_prepared_cold(ep, prepared, id, flags);
	if (!has_room(&p))
		return post_prepared_refilled(ep, prepared, id, flags);
	at = put_control(p.wqe, p.sq, p.peer, what, p.ds, prepared->wr.imm);
	for (unsigned i = 0; i < prepared->body_ds; i++)
		at = put_copy(at, &prepared->body[i]);
	return end_post(&p, id, what);
}
