/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dynamically connected transport (DC): many peers through few queues.
 *
 * Peers send requests to a target (DCT). Messages take receives from its SRQ. Any peer that has the
 * target's address, which contains an access key, may use its memory. An initiator (DCI) is a QP of
 * type BSN_QP_DC: it receives nothing, and each of its requests goes to one endpoint. The device
 * connects it to the target of each request, and first disconnects it from the previous target:
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
 * connection. If one fails, the DCI is in error, and all later requests are flushed, whatever their
 * peer.
 *
 * Rules of parameters, results and threads are those of bsn.h. The feature "dc" of
 * bsn_device_info() says why a device has none: then a QP of type BSN_QP_DC is -EOPNOTSUPP.
 *
 * On plain verbs targets and pools use RC connections that are made on demand. A pool's initiators
 * are RC QPs, and a target creates one for each initiator that asks, when its process calls
 * bsn_dct_accept(). They ask by datagrams (UD), so the target's address is all they need. Both ends
 * must be on plain verbs.
 */
#ifndef BSN_DC_H
#define BSN_DC_H

#include "bsn.h"

BSN_HEADER_BEGIN

/** struct bsn_dct - a target */
struct bsn_dct;

/**
 * struct bsn_dct_attr
 * @cq: where its messages complete; the target takes as many entries as the SRQ's depth
 * @srq: the SRQ whose receives its messages take
 * @access_key: initiators must have the same. A request with another key is not answered, and fails
 *	at its initiator after the retries
 * @user: of its completions
 * @connect: for its acknowledgements: gid_index, hop_limit, traffic_class, sl; mtu, 0: the port's;
 *	min_rnr_timer. Its other fields are not read
 * @full_handshake: each initiator that connects to it uses a full handshake, whatever its own
 *	setting: full_handshake of struct bsn_dc_pool_attr. It needs the feature "dc-full-handshake"
 *	of bsn_device_info()
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
 * bsn_dct_create - creates a target that accepts requests from now on
 *
 * A target never fails: a request that it refuses fails at its initiator. On plain verbs it has its
 * own UD QP and CQ, and an RC QP for each connected initiator; completions have that QP's number. A
 * target with full handshake is created by a command to the firmware (DevX), since verbs cannot ask
 * for that.
 * Return: -EOPNOTSUPP no DC, or no full handshake: the text says why; -EINVAL no CQ or SRQ, or of
 * another device; -ENOSPC the CQ has fewer entries than the SRQ may receive messages; -EREMOTEIO
 * the firmware refused the command: the text says why.
 */
BSN_API int bsn_dct_create(struct bsn_device *device, const struct bsn_dct_attr *attr,
			   struct bsn_dct **dct);

/**
 * bsn_dct_destroy - destroys a target; requests to it are not answered any more
 *
 * Context: as bsn_qp_destroy(). Completions that were not polled are dropped, and their receives
 * are given back to the SRQ.
 */
BSN_API int bsn_dct_destroy(struct bsn_dct *dct);

/** bsn_dct_address - the address that initiators need; it contains the access key */
BSN_API int bsn_dct_address(const struct bsn_dct *dct, struct bsn_address *address);

BSN_API uint32_t bsn_dct_number(const struct bsn_dct *dct);

/**
 * bsn_dct_accept - on plain verbs: connects initiators that ask for it, and disconnects those that
 * leave
 *
 * Call it often: a new initiator waits until the next call. Connected ones do not need it. An
 * initiator repeats its question: @connect of struct bsn_dc_pool_attr says how often. On a device
 * with DC the call does nothing.
 *
 * Context: the thread that polls the target's CQ; makes system calls.
 * Return: how many it connected or disconnected, 0 on a device with DC; a negative errno: -EIO the
 * device is gone.
 */
BSN_API int bsn_dct_accept(struct bsn_dct *dct);

/* -- pools of initiators ----------------------------------------------------------------------- */

/**
 * struct bsn_dc_pool - N initiators for any number of peers, for one thread
 *
 * A peer is an endpoint, and takes every post. Polls of the CQ drive the pool, and QPs may complete
 * there, too:
 *
 *	bsn_dc_pool_create(device, &(struct bsn_dc_pool_attr){ .cq = cq, .initiators = 32 }, &pool);
 *	bsn_dc_peer_create(pool, &address, NULL, user, &ep);
 *	while (bsn_write(ep, &local, &remote, id, BSN_F_SIGNALED | BSN_F_RING) == -EAGAIN)
 *		handle(done, bsn_poll(cq, done, 16));
 *
 * A post to a peer needs an initiator. The pool takes the one that the peer still has; or else one
 * that no peer has; or else an idle one, which the pool's policy chooses. The peer keeps the
 * initiator after its requests are done, until another peer needs it; if it posts before that, it
 * finds its connection. While requests of a peer are outstanding its initiator is not given away.
 *
 * If all are busy, the post returns -EAGAIN, and the peer waits in line. When its turn comes,
 * bsn_poll() returns a completion of opcode BSN_DC_READY, with the peer's user pointer. The program
 * posts to the peer before the next poll of the CQ, or the turn is lost: the peer is out of the
 * line until its next post. While peers wait, a peer without an initiator joins the end of the
 * line, even if an initiator is idle. The line is served in order. A peer is passed over only while
 * its earlier requests are not done, while it owes bytes (see below), or, with BSN_DC_HASHED, while
 * its initiator is busy.
 *
 * The line is a deficit round robin in bytes. A peer that goes on posting while others wait loses
 * its initiator after the bytes of a turn, and then waits in line. If it posted more, it is skipped
 * until it has paid back the excess in turns. A peer that pauses owes nothing.
 *
 * On plain verbs a peer must be connected first: before that a post returns -EAGAIN, bsn_poll()
 * connects the peer when its turn comes, and returns BSN_DC_READY when it is connected. Only such
 * polls make system calls. A peer that loses its initiator is disconnected.
 *
 * An unsignaled request has no completion, as on any queue. If a peer waits for an initiator whose
 * last request is unsignaled, the pool posts a NOP of its own, whose completion is hidden.
 *
 * If a request fails, the later requests to that peer are flushed, and posts to it return -ENOTCONN
 * until bsn_dc_peer_reset(). A spare replaces the failed initiator; no other peer notices.
 *
 * An initiator with streams has a connection for each, so it serves that many peers at a time. All
 * that is said here of initiators then applies to streams: a stream has requests of one peer. The
 * peers share the initiator's queue, so a peer may find it full of others' requests, and a ring
 * publishes what others have appended. A stream fails alone, while at most max_dc_failed_streams of
 * its initiator are in error. With one more the whole initiator fails. Then the outstanding WRITEs
 * and READs of the other peers are posted again on another initiator, and complete once, in order,
 * although the target may have executed them before. A peer with an outstanding message, immediate,
 * atomic or copy fails, too, since nothing says whether that was executed.
 */
struct bsn_dc_pool;

/**
 * enum bsn_dc_policy - which initiator a peer gets
 * @BSN_DC_LRU: one that no peer has; if there is none, a clock hand goes round the initiators, and
 *	of the next three the pool takes the first idle one that was not used since the hand last
 *	passed it, or else the first idle one
 * @BSN_DC_HASHED: the one that the peer's number selects; it waits for that even if others are idle
 */
enum bsn_dc_policy {
	BSN_DC_LRU,
	BSN_DC_HASHED,
};

/**
 * struct bsn_dc_pool_attr
 * @cq: where its requests complete, maybe beside those of other queues; only the pool's thread
 *	polls it. Each initiator and spare takes as many entries as a QP of its depth, and one more;
 *	on plain verbs two more each, and 32. NULL: the pool creates one with just that many:
 *	bsn_dc_pool_cq()
 * @initiators: used at once; 0: 8
 * @spares: ready to replace initiators that fail; 0: 1
 * @streams: of each initiator, each for one peer; 0: 1; max_dc_streams of bsn_device_info() at most
 * @send_depth: outstanding requests of a peer; 0: 64. The queue of an initiator has as many for
 *	each of its streams, which its peers share, and at least 16
 * @max_send_sge, @max_inline, @signal_every: as in struct bsn_qp_attr
 * @turn_bytes: bytes of data that a peer may post while others wait; 0: 64 KiB
 * @max_reads: READs and atomics of an initiator that were not polled; 0: no limit. The post of one
 *	more returns -EAGAIN: poll, then post it; the peer keeps its initiator, which takes its
 *	other requests. Without a limit the device holds up the initiator, and all later requests,
 *	while max_rd_atomic (of @connect) are being executed. READs and atomics cost more with a
 *	limit
 * @lag_port: of a bonded device: the port, from 1 on, by which all initiators send; to use all
 *	ports, create a pool for each; 0: the driver chooses
 * @no_repeats: of streams: requests that were flushed because another peer failed the initiator are
 *	not posted again
 * @policy: which initiator a peer gets
 * @connect: of the initiators: mtu, timeout, retry_count, rnr_retry, max_rd_atomic. On plain verbs
 *	the pool repeats a question that is not answered within 8 timeouts (a millisecond at least),
 *	waits twice as long after each repetition, up to a second, and gives up after retry_count
 *	repetitions
 * @lane: NULL: that of the CQ
 * @full_handshake: initiators wait for the target's answer before they send data. A connection
 *	then costs a round trip more. It is for networks that lose or reorder packets: without it
 *	the data follow the connect packet at once. It needs the feature "dc-full-handshake" of
 *	bsn_device_info(), and @lane must be NULL, since the initiators have a register of their own
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
 * bsn_dc_pool_create - creates a pool without peers
 * On plain verbs each initiator is an RC QP, and the pool also has a UD QP.
 * Initiators with full handshake are created by commands to the firmware (DevX), since verbs cannot
 * ask for that.
 * Return: -EOPNOTSUPP no DC: the text says why; streams, lag_port or full_handshake on plain verbs;
 * streams or full_handshake on a device without them; lag_port on a device that is not bonded;
 * -EINVAL more than the device has (QPs, ports), an attribute out of its range, or a CQ with
 * is_shared; -ENOSPC the CQ has too few entries; -EREMOTEIO the firmware refused a command: the
 * text says why; the errors of bsn_qp_create() and bsn_cq_create().
 */
BSN_API int bsn_dc_pool_create(struct bsn_device *device, const struct bsn_dc_pool_attr *attr,
			       struct bsn_dc_pool **pool);

/** bsn_dc_pool_destroy - Return: -EBUSY it has peers */
BSN_API int bsn_dc_pool_destroy(struct bsn_dc_pool *pool);

/**
 * bsn_dc_peer_create - an endpoint for a DCT
 * @address: bsn_dct_address(); on plain verbs of a target on plain verbs
 * @attr: gid_index, sl, traffic_class and hop_limit are read; NULL: defaults
 * @user: of completions
 *
 * Destroy it by bsn_dc_peer_destroy(), not bsn_ep_destroy(). Nothing is sent. A peer takes 64 bytes
 * of memory, and one address vector for all peers that have the same.
 * Return: -EPROTO not the address of a DCT, or of another version, link layer or InfiniBand subnet;
 * -EINVAL, -ENOMEM.
 */
BSN_API int bsn_dc_peer_create(struct bsn_dc_pool *pool, const struct bsn_address *address,
			       const struct bsn_connect_attr *attr, void *user, struct bsn_ep **ep);

/**
 * bsn_dc_peer_udp_port - sets the UDP source port of a peer's packets, by which RoCE v2 networks
 * choose a route
 * @port: 0xc000 at least
 *
 * Each request posted from now on has it. By default the provider chooses a random one, the same
 * for all peers of a host.
 * Context: the pool's thread.
 * Return: -EINVAL a lower port; -EOPNOTSUPP plain verbs, InfiniBand, or RoCE v1, as
 * bsn_device_info() says of "dc-udp-port".
 */
BSN_API int bsn_dc_peer_udp_port(struct bsn_ep *ep, uint16_t port);

/** bsn_dc_peer_destroy - Return: -EBUSY requests to it may be outstanding */
BSN_API int bsn_dc_peer_destroy(struct bsn_ep *ep);

/**
 * struct bsn_dc_error - why posts to a peer are -ENOTCONN
 * @has_failed: a request to it, its connection, or its initiator failed; false: all else is zero,
 *	and the text says so
 * @generation: how often its initiator had been repaired before
 * @first: the completion of the request
 * @text: what its two syndromes mean; valid until the thread's next call
 * @wqe, @wqe_bytes: the request's WQE, for bsn_wqe_decode() or wqe-dump; none on plain verbs, where
 *	the provider has it
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
 * The error is kept until the peer is reset, or bsn_dc_pool_repair() repairs its initiator.
 * Return: 0; -EINVAL no peer, or no place for the error.
 */
BSN_API int bsn_dc_peer_error(struct bsn_ep *ep, struct bsn_dc_error *error);

/**
 * bsn_dc_peer_reset - lets a failed peer take posts again
 * Return: 0, even if it has not failed; -EBUSY earlier requests have not come back yet: poll.
 */
BSN_API int bsn_dc_peer_reset(struct bsn_ep *ep);

/**
 * BSN_DC_READY - opcode of a completion: the turn of the peer that it names; id and length are 0
 *
 * Its status is IBV_WC_SUCCESS. If a peer on plain verbs cannot be connected, it is
 * IBV_WC_RETRY_EXC_ERR, and posts to the peer return -ENOTCONN: bsn_dc_peer_error() says why.
 */
#define BSN_DC_READY 0x90

/**
 * bsn_dc_pool_repair - makes failed initiators and failed streams ready again
 *
 * Without it the pool goes on with the initiators that are left. Call it after bsn_poll() returned
 * a failure, and all outstanding requests to that peer have come back.
 * Context: the pool's thread; makes system calls, so it is not for the data path.
 * Return: how many are not ready yet, because they have requests outstanding; a negative errno.
 */
BSN_API int bsn_dc_pool_repair(struct bsn_dc_pool *pool);

/**
 * bsn_dc_pool_cq - where its requests complete
 *
 * Completions of one peer come in order. If a request failed, src_qpn is its initiator's
 * generation: how often that had been repaired.
 *
 * Polls do work for the pool only while peers wait or have a turn, while flushed requests are to be
 * posted again, and from a post that found eight initiators in a row busy until more than half of
 * all may be idle. At other times they cost what they cost on a CQ without pools. On plain verbs
 * each poll does work.
 */
BSN_API struct bsn_cq *bsn_dc_pool_cq(struct bsn_dc_pool *pool);

/**
 * struct bsn_dc_counters - counts since the pool was created
 * @bindings: how often a peer got another initiator. No more connections were made, but for those
 *	that the device closed because they were idle, and made once more
 * @evictions: of these, how often an idle peer lost the initiator by it
 * @revocations: how often a peer lost its initiator because others waited
 * @waits: how often a peer had to wait in line
 * @turns: BSN_DC_READY completions
 * @passed: of these, turns in which the peer posted nothing
 * @markers: NOPs that the pool posted
 * @reads_held: READs and atomics refused for max_reads
 * @repeats: requests posted again, after another peer failed their initiator
 * @failures, @repairs: of initiators and streams
 * @connects, @reconnects: if @has_connects, the device's counts for all pools of this process:
 *	connections, and of these the ones that replaced an idle one which it had closed.
 *	softcx, the software ConnectX, has these counts. A ConnectX has none for initiators, and
 *	plain verbs have none: both are 0. A target's port has the counter rx_dct_connect, in sysfs
 * @peers, @waiting, @broken: now: peers, those in line, and initiators or streams to be repaired
 */
struct bsn_dc_counters {
	uint64_t bindings, evictions, revocations, waits, turns, passed, markers, reads_held,
		repeats, failures, repairs, connects, reconnects;
	uint32_t peers, waiting, broken;
	bool has_connects;
};

/**
 * bsn_dc_pool_counters - Context: the pool's thread; reads a file if the device counts connections
 */
BSN_API int bsn_dc_pool_counters(const struct bsn_dc_pool *pool, struct bsn_dc_counters *counters);

BSN_HEADER_END

#endif
