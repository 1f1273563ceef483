/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dynamically connected transport (DC): many peers through few queues.
 *
 * A target (DCT) is what peers send to. Messages to it take receives from an SRQ. Its memory is
 * open to any peer that knows its address, which holds an access key. An initiator (DCI) is a QP of
 * type BSN_QP_DC: it receives nothing, and each of its requests goes to one endpoint. The device
 * connects it to the target of a request, and disconnects it from the one before:
 *
 *	bsn_dct_create(device, &(struct bsn_dct_attr){ .cq = cq, .srq = srq }, &dct);
 *	bsn_dct_address(dct, &mine);   exchange(&mine, peers);
 *
 *	bsn_qp_create(device, &(struct bsn_qp_attr){ .type = BSN_QP_DC, .cq = cq }, &dci);
 *	bsn_qp_connect(dci, NULL, NULL);
 *	bsn_ep_create(dci, &peers[i], NULL, user, &ep[i]);
 *	bsn_write(ep[i], &local, &remote, id, BSN_F_SIGNALED | BSN_F_RING);
 *
 * Requests of one DCI are executed in order, and each change of target costs a disconnection and a
 * connection. If one fails, the DCI is in error, and what was posted after it is flushed, to
 * whichever peer.
 *
 * Rules of parameters, results and threads are those of bsn.h. bsn_device_info() has the feature
 * "dc", and says why a device has none: then a QP of type BSN_QP_DC is -EOPNOTSUPP.
 *
 * On plain verbs targets and pools are there all the same, by RC connections that are made on
 * demand. A pool's initiators are RC QPs then, and a target makes one for each initiator that asks
 * to be connected, once its process calls bsn_dct_accept(). They find each other by datagrams (UD),
 * so both need nothing but the target's address. Both ends have to be on plain verbs.
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
 * @srq: the SRQ whose receives its messages take
 * @access_key: what initiators must know. A request with another key is not answered, and fails at
 *	its initiator once retries are used up
 * @user: comes back in its completions
 * @connect: of its acknowledgements: gid_index, hop_limit, traffic_class, sl; mtu, 0: the port's;
 *	min_rnr_timer. Its other fields are not read
 * @full_handshake: whoever connects to it does so by a full handshake, which costs a round trip
 *	more and is safer where packets are lost, whatever initiators were told. Where
 *	bsn_device_info() has the feature "dc-full-handshake"
 */
struct bsn_dct_attr {
	struct bsn_cq *cq;
	struct bsn_rq *srq;
	struct bsn_pd *pd;
	uint64_t access_key;
	void *user;
	struct bsn_connect_attr connect;
	bool full_handshake;
};

/**
 * bsn_dct_create - a target that takes requests from now on
 *
 * A target never fails: a request that it refuses fails at its initiator.
 * On plain verbs it has a UD QP and a CQ of its own, and an RC QP for each initiator that is
 * connected, whose number its completions have. With a full handshake it is made by a command to
 * the firmware (DevX), since verbs have no way to ask for that.
 * Return: -EOPNOTSUPP no DC here, or no full handshake, and why; -EINVAL no CQ or SRQ, or of
 * another device; -ENOSPC the CQ has no room for what the SRQ may receive; -EREMOTEIO the firmware
 * refused the command, and why.
 */
BSN_API int bsn_dct_create(struct bsn_device *device, const struct bsn_dct_attr *attr,
			   struct bsn_dct **dct);

/**
 * bsn_dct_destroy - ends a target; requests of its initiators are not answered any more
 *
 * Context: as bsn_qp_destroy(). Completions not yet polled are dropped, and their receives are the
 * SRQ's again.
 */
BSN_API int bsn_dct_destroy(struct bsn_dct *dct);

/** bsn_dct_address - what initiators need to know, for bsn_ep_create(): the access key is in it */
BSN_API int bsn_dct_address(const struct bsn_dct *dct, struct bsn_address *address);

BSN_API uint32_t bsn_dct_number(const struct bsn_dct *dct);

/**
 * bsn_dct_accept - on plain verbs: connects initiators that ask for it, and lets go those that
 * leave
 *
 * Who is connected needs no more of it, so a program calls it as often as newcomers shall not wait
 * longer. They ask again for a while; see bsn_dc_pool_create(). On a device that has DC there is
 * nothing to do.
 *
 * Context: the thread that polls the target's CQ; makes system calls.
 * Return: how many came or went, 0 on a device; a negative errno: -EIO the device is gone.
 */
BSN_API int bsn_dct_accept(struct bsn_dct *dct);

/* -- pools of initiators ----------------------------------------------------------------------- */

/**
 * struct bsn_dc_pool - N initiators for any number of peers, for one thread
 *
 * A peer is an endpoint, and every post works on it. Polls of the CQ drive the pool, and QPs may
 * complete there, too:
 *
 *	bsn_dc_pool_create(device, &(struct bsn_dc_pool_attr){ .cq = cq, .initiators = 32 }, &pool);
 *	bsn_dc_peer_create(pool, &address, NULL, user, &ep);
 *	while (bsn_write(ep, &local, &remote, id, BSN_F_SIGNALED | BSN_F_RING) == -EAGAIN)
 *		handle(done, bsn_poll(cq, done, 16));
 *
 * A post to a peer takes an initiator for it: the one that it had last, if it still has it, else
 * one that no peer has, else an idle one, which the pool's policy chooses. The peer keeps the
 * initiator after its requests are done, until another peer needs it; so a peer that comes back
 * finds its connection. An initiator with requests of one peer outstanding is never given to
 * another one.
 *
 * Where all are busy the post is -EAGAIN, and the peer waits in line. When its turn comes,
 * bsn_poll() gives a completion of opcode BSN_DC_READY, with the peer's user pointer. The peer
 * posts before the next poll of the CQ, or its turn passes. No peer that comes later overtakes it.
 *
 * The line is a deficit round robin in bytes. A peer that goes on posting while others wait loses
 * its initiator after a turn's bytes, and then waits in line. It owes the bytes that it posted
 * beyond them, and is passed until so many turns have gone by. A peer that pauses owes nothing.
 *
 * On plain verbs a peer has to be connected first: a post to one that is not is -EAGAIN, bsn_poll()
 * connects it when its turn comes, and says BSN_DC_READY when that is done. Only such polls make
 * system calls. A peer that is evicted is disconnected.
 *
 * Unsignaled requests stay unsignaled. Where a peer waits for an initiator whose last request is
 * unsignaled, the pool posts a NOP of its own, which the program does not see.
 *
 * If a request fails, what was posted to that peer after it is flushed, and posts to that peer are
 * -ENOTCONN until bsn_dc_peer_reset(). A spare initiator takes the place of the failed one; no
 * other peer notices.
 *
 * An initiator with streams has a connection for each, to as many peers, and what is said here of
 * initiators is said of streams: one of them has requests of one peer alone. Their requests share a
 * queue, so a peer may find it full of others', and what one appended is published when another one
 * rings. A stream fails alone, as long as no more of its initiator's have than
 * max_dc_failed_streams. One more, and the whole initiator fails. Then WRITEs and READs that the
 * other peers have outstanding are posted again by another initiator, and complete once, in order,
 * although the target may have executed them before. A peer with a message, an immediate, an atomic
 * or a copy among them fails, too, since nobody tells whether that was executed.
 */
struct bsn_dc_pool;

/**
 * enum bsn_dc_policy - which initiator a peer takes that has none
 * @BSN_DC_LRU: one that nobody has, else of the next three that a clock comes to the idle one that
 *	was used least since it came there last
 * @BSN_DC_HASHED: each peer has one place, by its number, where it waits even if others are idle
 */
enum bsn_dc_policy {
	BSN_DC_LRU,
	BSN_DC_HASHED,
};

/**
 * struct bsn_dc_pool_attr
 * @cq: where its requests complete, by themselves or among those of others, and which one thread
 *	polls, the pool's. Of its entries each initiator takes what a QP of its depth takes, and one
 *	more, spares too; on plain verbs two more each, and 32. NULL: one of its own that has just
 *	that: bsn_dc_pool_cq()
 * @initiators: that are used at once; 0: 8
 * @spares: that are ready to take the place of one that failed; 0: 1
 * @streams: of each initiator, each of them for a peer of its own; 0: 1; max_dc_streams of
 *	bsn_device_info() at most
 * @send_depth: requests of a peer that may be outstanding; 0: 64. The queue of an initiator has as
 *	many for each of its streams, which its peers share, and 16 at the least; from it the pool
 *	reads who was used, so it knows less with a short one
 * @max_send_sge, @max_inline, @signal_every: as in struct bsn_qp_attr
 * @turn_bytes: of data, that a peer may post before others that wait get its initiator; 0: 64 KiB
 * @max_reads: READs and atomics that an initiator may have outstanding, as far as is known; 0: no
 *	limit. One more is -EAGAIN: poll, and post it again; the peer keeps its initiator, and other
 *	requests are taken meanwhile. Without a limit the device holds the initiator up, and all
 *	that was posted after, while it has as many on their way as max_rd_atomic of @connect says.
 *	READs and atomics cost more with a limit
 * @lag_port: of a bonded device: the port, from 1 on, by which all initiators send, so that a pool
 *	for each port spreads the load; 0: as the driver spreads them
 * @no_repeats: of streams: what was flushed since other peers failed the initiator is not posted
 *	again
 * @policy: which initiator a peer takes that has none
 * @connect: of the initiators: mtu, timeout, retry_count, rnr_retry, max_rd_atomic. On plain verbs
 *	a target that does not answer is asked again after 8 timeouts, a millisecond at least, then
 *	after twice as long each time, but a second at most; retry_count times in all
 * @lane: NULL: that of the CQ
 * @full_handshake: initiators wait for a target's answer to their connection before they send data:
 *	a round trip more for each connection, and safer where packets are lost. Where
 *	bsn_device_info() has the feature "dc-full-handshake". They have a register of their own, so
 *	@lane is NULL
 */
struct bsn_dc_pool_attr {
	struct bsn_cq *cq;
	struct bsn_pd *pd;
	struct bsn_lane *lane;
	uint32_t initiators, spares, streams;
	uint32_t send_depth, max_send_sge, max_inline;
	int signal_every;
	uint64_t turn_bytes;
	uint32_t max_reads;
	uint8_t lag_port;
	bool no_repeats;
	enum bsn_dc_policy policy;
	struct bsn_connect_attr connect;
	bool full_handshake;
};

/**
 * bsn_dc_pool_create - a pool without peers
 * On plain verbs each initiator is an RC QP, and the pool has a UD QP besides.
 * With a full handshake initiators are made by commands to the firmware (DevX), since verbs have no
 * way to ask for that.
 * Return: -EOPNOTSUPP no DC here, and why; streams, lag_port or full_handshake on plain verbs;
 * streams or full_handshake of a device that has none; lag_port of one that is not bonded; -EINVAL
 * more than the device has (QPs, ports to bond), an attribute out of its range, or a CQ that
 * several threads poll; -ENOSPC the CQ has not as many entries; -EREMOTEIO the firmware refused a
 * command, and why; what bsn_qp_create() and bsn_cq_create() say.
 */
BSN_API int bsn_dc_pool_create(struct bsn_device *device, const struct bsn_dc_pool_attr *attr,
			       struct bsn_dc_pool **pool);

/** bsn_dc_pool_destroy - Return: -EBUSY it has peers */
BSN_API int bsn_dc_pool_destroy(struct bsn_dc_pool *pool);

/**
 * bsn_dc_peer_create - an endpoint to a DCT: 64 bytes; peers of one host share the rest
 * @address: bsn_dct_address(); on plain verbs of a target on plain verbs
 * @attr: of the way: gid_index, sl, traffic_class, hop_limit; NULL: all by default
 * @user: comes back in completions
 *
 * It is not for bsn_ep_destroy(). Nothing is sent.
 * Return: -EPROTO not the address of a DCT, or of another version, link layer or InfiniBand subnet;
 * -EINVAL, -ENOMEM.
 */
BSN_API int bsn_dc_peer_create(struct bsn_dc_pool *pool, const struct bsn_address *address,
			       const struct bsn_connect_attr *attr, void *user, struct bsn_ep **ep);

/**
 * bsn_dc_peer_udp_port - the UDP source port of a peer's packets, by which RoCE v2 networks choose
 * their way
 * @port: 0xc000 at least
 *
 * It is in each request that is posted from now on. Before, the provider chooses it at random, the
 * same for all peers of a host.
 * Context: the pool's thread.
 * Return: -EINVAL a lower port; -EOPNOTSUPP plain verbs, InfiniBand, or RoCE v1, as
 * bsn_device_info() says of "dc-udp-port".
 */
BSN_API int bsn_dc_peer_udp_port(struct bsn_ep *ep, uint16_t port);

/** bsn_dc_peer_destroy - Return: -EBUSY requests to it may be outstanding */
BSN_API int bsn_dc_peer_destroy(struct bsn_ep *ep);

/**
 * struct bsn_dc_error - why posts to a peer are -ENOTCONN
 * @has_failed: a request to it did, or to connect it, or on its initiator; else the rest is zeros,
 *	and the text says so
 * @generation: how often its initiator had been repaired when that happened
 * @first: the completion of the request
 * @text: of its syndrome pair; until the thread asks again
 * @wqe, @wqe_bytes: the request as the device was given it, for bsn_wqe_decode() or wqe-dump; none
 *	on plain verbs, where the provider has it
 */
struct bsn_dc_error {
	bool has_failed;
	uint32_t generation;
	struct bsn_completion first;
	const char *text;
	uint32_t wqe_bytes;
	uint8_t wqe[BSN_SEND_MAX_DS * BSN_DS_SIZE];
};

/**
 * bsn_dc_peer_error - why a peer failed
 *
 * It is kept until the peer is reset, or bsn_dc_pool_repair() makes its initiator ready again.
 * Return: 0; -EINVAL no peer, or no place for the error.
 */
BSN_API int bsn_dc_peer_error(struct bsn_ep *ep, struct bsn_dc_error *error);

/**
 * bsn_dc_peer_reset - a peer that failed may be posted to again
 * Return: 0, also where it has not failed; -EBUSY requests from before have not come back yet:
 * poll.
 */
BSN_API int bsn_dc_peer_reset(struct bsn_ep *ep);

/**
 * BSN_DC_READY - opcode of a completion: the peer that it names may post; id and lengths are 0
 *
 * Its status is IBV_WC_SUCCESS, but for a peer of plain verbs that cannot be connected:
 * IBV_WC_RETRY_EXC_ERR, and posts to it are -ENOTCONN. bsn_dc_peer_error() says why.
 */
#define BSN_DC_READY 0x90

/**
 * bsn_dc_pool_repair - makes initiators that failed ready again, or single streams of them, off the
 * data path
 *
 * Without it the pool goes on with what is left. Call it when bsn_poll() gave a failure, and all
 * that was outstanding to that peer has come back.
 * Context: the pool's thread; makes system calls.
 * Return: how many are still not ready, since requests of theirs are outstanding; a negative errno.
 */
BSN_API int bsn_dc_pool_repair(struct bsn_dc_pool *pool);

/**
 * bsn_dc_pool_cq - where its requests complete
 *
 * Completions of one peer come in order. Where a request failed, src_qpn is its initiator's
 * generation: how often that had been repaired. The poll looks after the pool only while peers
 * wait, few initiators are idle or flushed requests are to be posted again; else a CQ with pools
 * costs what others do. On plain verbs each poll does.
 */
BSN_API struct bsn_cq *bsn_dc_pool_cq(struct bsn_dc_pool *pool);

/**
 * struct bsn_dc_counters - what happened so far
 * @bindings: how often a peer was given another initiator than it had; there were at most so many
 *	connections, but for those that the device made anew since they had been idle for too long
 * @evictions: of these, from an idle peer
 * @revocations: initiators that a peer lost because others waited
 * @waits: peers that waited in line
 * @turns: BSN_DC_READY completions
 * @passed: of these, turns that were not used
 * @markers: NOPs of the pool's own
 * @reads_held: READs and atomics that were refused for max_reads
 * @repeats: requests that were posted again, since other peers failed their initiator
 * @failures, @repairs: of initiators, and of single streams
 * @connects, @reconnects: where @has_connects, what the device counted since the pool was made, of
 *	all pools of this process: connections, and those of them to a target whose connection the
 *	device had given up, since it was idle. softcx counts them. A ConnectX tells nobody of its
 *	initiators, and neither do plain verbs: both are 0. A target's port has the counter
 *	rx_dct_connect there, in sysfs
 * @peers, @waiting, @broken: peers, those in line, and initiators or streams to be repaired, now
 */
struct bsn_dc_counters {
	uint64_t bindings, evictions, revocations, waits, turns, passed, markers, reads_held,
		repeats, failures, repairs, connects, reconnects;
	uint32_t peers, waiting, broken;
	bool has_connects;
};

/**
 * bsn_dc_pool_counters - Context: the pool's thread; reads a file of the device, where it counts
 * connections
 */
BSN_API int bsn_dc_pool_counters(const struct bsn_dc_pool *pool, struct bsn_dc_counters *counters);

BSN_HEADER_END

#endif
