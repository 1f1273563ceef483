/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dynamically connected transport (DC): many peers through few queues.
 *
 * A target (DCT) is where peers send: its messages take receives from an SRQ, its memory is open to
 * whoever knows its address, which holds an access key. An initiator (DCI) is a QP of type
 * BSN_QP_DC: it receives nothing, and each of its requests goes to one endpoint. The device connects
 * it to the target of a request, and disconnects it from the one before:
 *
 *	bsn_dct_create(device, &(struct bsn_dct_attr){ .cq = cq, .srq = srq, .access_key = key }, &dct);
 *	bsn_dct_address(dct, &mine);   exchange(&mine, peers);
 *
 *	bsn_qp_create(device, &(struct bsn_qp_attr){ .type = BSN_QP_DC, .cq = cq }, &dci);
 *	bsn_qp_connect(dci, NULL, NULL);
 *	bsn_ep_create(dci, &peers[i], NULL, user, &ep[i]);
 *	bsn_write(ep[i], &local, &remote, id, BSN_F_SIGNALED | BSN_F_RING);
 *
 * Requests of one DCI are executed in order, and each change of target costs a disconnection and a
 * connection. If one fails, the DCI is in error, and what was posted after it is flushed, to whichever
 * peer.
 *
 * Rules of parameters, results and threads are those of bsn.h. On plain verbs there is no DC:
 * -EOPNOTSUPP. bsn_device_info() has the feature "dc", and says why a device has none.
 */
#ifndef BSN_DC_H
#define BSN_DC_H

#include "bsn.h"

BSN_HEADER_BEGIN

/** struct bsn_dct - a target */
struct bsn_dct;

/**
 * struct bsn_dct_attr
 * @cq: where its messages complete; the SRQ's depth of its entries is this target's
 * @srq: whose receives they take
 * @access_key: what initiators must know. A request with another key is not answered, and fails at
 *	its initiator once retries are used up
 * @user: comes back in its completions
 * @connect: of its acknowledgements: gid_index, hop_limit, traffic_class, sl; mtu, 0: the port's;
 *	min_rnr_timer. Its other fields are not read
 */
struct bsn_dct_attr {
	struct bsn_cq *cq;
	struct bsn_rq *srq;
	struct bsn_pd *pd;
	uint64_t access_key;
	void *user;
	struct bsn_connect_attr connect;
};

/**
 * bsn_dct_create - a target that takes requests from now on
 *
 * A target never fails: a request that it refuses fails at its initiator.
 * Return: -EOPNOTSUPP no DC here, and why; -EINVAL no CQ or SRQ, or of another device; -ENOSPC the CQ
 * has no room for what the SRQ may receive.
 */
BSN_API int bsn_dct_create(struct bsn_device *device, const struct bsn_dct_attr *attr,
			   struct bsn_dct **dct);

/**
 * bsn_dct_destroy - initiators that use it learn of it: their requests are not answered any more
 *
 * Context: as bsn_qp_destroy(). Completions not yet polled are dropped, and their receives are the
 * SRQ's again.
 */
BSN_API int bsn_dct_destroy(struct bsn_dct *dct);

/** bsn_dct_address - what initiators need to know, for bsn_ep_create(): the access key is in it */
BSN_API int bsn_dct_address(const struct bsn_dct *dct, struct bsn_address *address);

BSN_API uint32_t bsn_dct_number(const struct bsn_dct *dct);

/* -- pools of initiators ------------------------------------------------------------------------ */

/**
 * struct bsn_dc_pool - N initiators for any number of peers, for one thread
 *
 * A peer is an endpoint, and every post works on it:
 *
 *	bsn_dc_pool_create(device, &(struct bsn_dc_pool_attr){ .initiators = 32 }, &pool);
 *	bsn_dc_peer_create(pool, &address, NULL, user, &ep);
 *	while (bsn_write(ep, &local, &remote, id, BSN_F_SIGNALED | BSN_F_RING) == -EAGAIN)
 *		handle(done, bsn_dc_poll(pool, done, 16));
 *
 * A post to a peer takes an initiator for it: the one that it had last, if it still has it, else one
 * that nobody has, else the idle one that was used least recently. It keeps that after its requests are
 * done, until another peer needs it, so whoever comes back finds its connection there. An initiator
 * with requests of one peer outstanding is never given to another one.
 *
 * Where all are busy the post is -EAGAIN, and the peer stands in line; when its turn comes
 * bsn_dc_poll() gives a completion of opcode BSN_DC_READY, with the peer's user pointer. It posts
 * before the next bsn_dc_poll(), or its turn passes. Nobody who comes later overtakes. A peer that
 * goes on posting while others wait loses its initiator after a turn, and stands in line then.
 *
 * Unsignaled requests stay unsignaled. Where somebody waits for an initiator that ends with such, the
 * pool posts a NOP of its own, which the program does not see.
 *
 * If a request fails, what was posted to that peer after it is flushed, and posts to that peer are
 * -ENOTCONN until bsn_dc_peer_reset(). A spare initiator takes the place of the failed one; no other
 * peer notices.
 */
struct bsn_dc_pool;

/**
 * struct bsn_dc_pool_attr
 * @initiators: that are used at once; 0: 8
 * @spares: that are ready to take the place of one that failed; 0: 1
 * @send_depth: requests of a peer that may be outstanding; 0: 64
 * @max_send_sge, @max_inline, @signal_every: as in struct bsn_qp_attr
 * @turn_bb: blocks of 64 B that a peer may post before others that wait get its initiator; 0: 64. A
 *	request has two to four of them, with inline data more
 * @connect: of the initiators: mtu, timeout, retry_count, rnr_retry, max_rd_atomic
 * @lane: NULL: one of its own
 * @channel: as in struct bsn_cq_attr, of bsn_dc_pool_cq()
 * @user: of bsn_dc_pool_cq()
 */
struct bsn_dc_pool_attr {
	struct bsn_pd *pd;
	struct bsn_lane *lane;
	struct bsn_channel *channel;
	uint32_t initiators, spares;
	uint32_t send_depth, max_send_sge, max_inline;
	int signal_every;
	uint32_t turn_bb;
	struct bsn_connect_attr connect;
	void *user;
};

/**
 * bsn_dc_pool_create - a pool without peers
 * Return: -EOPNOTSUPP no DC here, and why; -EINVAL more than the device has, or an attribute out of
 * its range; what bsn_qp_create() and bsn_cq_create() say.
 */
BSN_API int bsn_dc_pool_create(struct bsn_device *device, const struct bsn_dc_pool_attr *attr,
			       struct bsn_dc_pool **pool);

/** bsn_dc_pool_destroy - Return: -EBUSY it has peers */
BSN_API int bsn_dc_pool_destroy(struct bsn_dc_pool *pool);

/**
 * bsn_dc_peer_create - an endpoint to a DCT: 48 bytes; peers of one host share the rest
 * @address: bsn_dct_address()
 * @attr: of the way: gid_index, sl, traffic_class, hop_limit; NULL: all by default
 * @user: comes back in completions
 *
 * It is not for bsn_ep_destroy(). Nothing is sent.
 * Return: -EPROTO not the address of a DCT, or of another version or link layer; -EINVAL, -ENOMEM.
 */
BSN_API int bsn_dc_peer_create(struct bsn_dc_pool *pool, const struct bsn_address *address,
			       const struct bsn_connect_attr *attr, void *user, struct bsn_ep **ep);

/** bsn_dc_peer_destroy - Return: -EBUSY requests to it are outstanding, for all that is known */
BSN_API int bsn_dc_peer_destroy(struct bsn_ep *ep);

/**
 * bsn_dc_peer_reset - a peer that failed may be posted to again
 * Return: 0, also where it has not failed; -EBUSY requests from before have not come back yet: poll.
 */
BSN_API int bsn_dc_peer_reset(struct bsn_ep *ep);

/** BSN_DC_READY - opcode of a completion: the peer that it names may post; id and lengths are 0 */
#define BSN_DC_READY 0x90

/**
 * bsn_dc_poll - up to @n completions of the pool, and turns
 *
 * In the place of bsn_poll(). Order and results are its, and those of one peer come in order.
 * Context: the pool's thread. Does not allocate, block or make system calls.
 */
BSN_API int bsn_dc_poll(struct bsn_dc_pool *pool, struct bsn_completion *c, int n);

/**
 * bsn_dc_pool_repair - makes initiators that failed ready again, off the data path
 *
 * Without it the pool goes on with what is left. Call it when bsn_dc_poll() gave a failure, and all that was
 * outstanding to that peer has come back.
 * Context: the pool's thread; makes system calls.
 * Return: how many are still not ready, since something of theirs is outstanding; a negative errno.
 */
BSN_API int bsn_dc_pool_repair(struct bsn_dc_pool *pool);

/** bsn_dc_pool_cq - for bsn_cq_request() and waiting; only bsn_dc_poll() may poll it */
BSN_API struct bsn_cq *bsn_dc_pool_cq(struct bsn_dc_pool *pool);

/**
 * struct bsn_dc_counters - what happened so far
 * @bindings: peers that were given an initiator other than they had; at most so many connections
 * @evictions: of these, from an idle peer
 * @revocations: initiators that a peer lost because others waited
 * @waits: peers that stood in line
 * @turns: BSN_DC_READY completions
 * @passed: of these, turns of which no use was made
 * @markers: NOPs of the pool's own
 * @failures, @repairs: of initiators
 * @peers, @waiting, @broken: peers, those in line, and initiators to be repaired, now
 */
struct bsn_dc_counters {
	uint64_t bindings, evictions, revocations, waits, turns, passed, markers, failures, repairs;
	uint32_t peers, waiting, broken;
};
BSN_API int bsn_dc_pool_counters(const struct bsn_dc_pool *pool, struct bsn_dc_counters *counters);

BSN_HEADER_END

#endif
