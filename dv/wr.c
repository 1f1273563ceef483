/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests that are one struct: bsn_post() takes struct bsn_wr, the library's paths take struct
 * bsn_request, and bsn_post_prepared() takes what bsn_prepare() made. They end in the functions of
 * post.c, or of request.c.
 */
#include "init.h"
#include "place.h"
#include "refuse.h"

/* -- maps of layouts -------------------------------------------------------------------------- */

/*
 * Where there are no mkeys (plain verbs), a map may have more SGEs than a request takes: then a
 * WRITE or READ becomes several.
 */
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
	if (has_wqes(sq))
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
		err = bsn_post(ep, &one);
		one.remote.addr += bytes_of(one.sge, one.sge_count);
	}
	return err;
}

static int post_map(struct bsn_ep *ep, const struct bsn_wr *wr)
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

/* -- any request ------------------------------------------------------------------------------ */

/* Whether inline data are so few that @what can say their length in place of the count of SGEs. */
static bool is_short(const struct bsn_sge *sge)
{
	return sge && sge->length < BSN_WHAT_COUNT_MAX;
}

static uint32_t with_count(uint32_t rest, uint32_t count)
{
	return rest | count << BSN_WHAT_COUNT_SHIFT;
}

static const void *to_data(const struct bsn_sge *sge)
{
	return (const void *)(uintptr_t)sge->addr;
}

static __attribute__((noinline)) int post_atomic_wr(struct bsn_ep *ep, uint32_t what,
						    const struct bsn_wr *wr)
{
	const uint64_t operand[2] = { wr->swap_add, wr->compare };

	return bsn_sq_post_atomic(ep, what, wr->sge, &wr->remote, operand, wr->id);
}

/* Maps, inline data in pieces, and what is refused. */
static __attribute__((noinline)) int post_other(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	const uint64_t operand[2] = { wr->swap_add, wr->compare };
	const struct bsn_request r = bsn_request_of(wr, operand);

	if (wr->map)
		return post_map(ep, wr);
	return wr->opcode > UINT8_MAX ? bsn_sq_refuse_opcode(ep) : bsn_sq_post_request(ep, &r);
}

int bsn_post(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	if (BSN_UNLIKELY(!ep))
		return bsn_sq_no_endpoint();
	if (BSN_UNLIKELY(wr->opcode > 63 || wr->map))
		return post_other(ep, wr);
	if (!(wr->flags & ~BSN_F_PLAIN) && wr->sge_count <= UINT8_MAX) {
		if (is_one_of(BSN_OPS_OF_ATOMICS, wr->opcode))
			return post_atomic_wr(ep, with_count(wr->opcode | wr->flags, wr->sge_count),
					      wr);
		return bsn_sq_post_sgl(ep, with_count(wr->opcode | wr->flags, wr->sge_count),
				       wr->sge, &wr->remote, imm_of(wr), wr->id);
	}
	if (!(wr->flags & ~BSN_F_ALL) && wr->sge_count == 1 && is_short(wr->sge))
		return bsn_sq_post_inline(ep, with_count(wr->opcode | wr->flags, wr->sge->length),
					  to_data(wr->sge), &wr->remote, imm_of(wr), wr->id);
	return post_other(ep, wr);
}

int bsn_ep_post(struct bsn_ep *ep, const struct bsn_request *r)
{
	const uint32_t what = r->what, rest = what & BSN_WHAT_REST;

	if (!is_one_of(ep->sq->ops, opcode_of(what)) || r->body)
		return bsn_sq_post_request(ep, r);
	if (r->operand)
		return bsn_sq_post_atomic(ep, what, r->sge, r->remote, r->operand, r->id);
	if (!(what & BSN_F_INLINE))
		return bsn_sq_post_sgl(ep, what, r->sge, r->remote, r->imm, r->id);
	if (count_of(what) != 1 || !is_short(r->sge))
		return bsn_sq_post_request(ep, r);
	return bsn_sq_post_inline(ep, with_count(rest, r->sge->length), to_data(r->sge), r->remote,
				  r->imm, r->id);
}

/* -- prepared requests ------------------------------------------------------------------------ */

/* The request once more, with the data that were copied when it was prepared. */
static __attribute__((noinline, cold)) int
post_anew(struct bsn_ep *ep, const struct bsn_prepared *p, uint64_t id, unsigned flags)
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
		       : post_anew(ep, p, id, flags);
}

/*
 * A queue without a ring may bring the endpoint to another one, which takes the request as it is.
 */
static __attribute__((noinline, cold)) int
post_prepared_cold(struct bsn_ep *ep, const struct bsn_prepared *p, uint64_t id, unsigned flags)
{
	const struct bsn_sq_path *const path = ep->sq->path;
	int err;

	if (!path || !path->bind || ep->sq->closed)
		return post_anew(ep, p, id, flags);
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
		return post_anew(ep, prepared, id, flags);
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
