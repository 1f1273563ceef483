/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A part of bsn.h, which programs include.
 *
 * Queue pairs and shared receive queues: from creation by connections to errors and counters. The
 * rules of bsn.h hold.
 */
#ifndef BSN_QP_H
#define BSN_QP_H

#include "bsn_post.h"

BSN_HEADER_BEGIN

struct ibv_pd;
struct ibv_qp;

struct bsn_device;
struct bsn_pd;
struct bsn_qp;
struct bsn_xrcd;

/* -- queue pairs ------------------------------------------------------------------------------ */

/*
 * BSN_QP_DC: an initiator (DCI); bsn_dc.h has its targets, and pools of them. BSN_QP_XRC: an
 * initiator; bsn_xrc.h has domains and targets.
 */
enum bsn_qp_type { BSN_QP_RC, BSN_QP_UC, BSN_QP_UD, BSN_QP_DC, BSN_QP_XRC };

/**
 * struct bsn_srq_attr - a receive queue for several QPs
 * @is_on_demand: receives may use memory of IBV_ACCESS_ON_DEMAND. If a page is missing, the poll
 *	posts the receive once more; posts take a lock for that. Without @is_on_demand such a
 *	receive completes with IBV_WC_REM_ABORT_ERR (vendor syndrome 0x93), the QP goes on, and it
 *	is for the application to post the receive.
 * @xrcd: of an SRQ of XRC (bsn_xrc.h): its domain. bsn_qp_create() refuses such an SRQ
 * @cq: of an SRQ of XRC: the CQ of its receives, of which it takes @recv_depth entries. A CQ has
 *	one such SRQ, since libmlx5 does not tell the number that their CQEs have
 */
struct bsn_srq_attr {
	struct bsn_pd *pd;
	uint32_t recv_depth; /* 0: 128 */
	uint32_t max_recv_sge; /* 0: 1 */
	void *user;
	bool is_on_demand;
	struct bsn_xrcd *xrcd;
	struct bsn_cq *cq;
};
BSN_API int bsn_srq_create(struct bsn_device *device, const struct bsn_srq_attr *attr,
			   struct bsn_rq **srq);
BSN_API int bsn_srq_destroy(struct bsn_rq *srq);

/** bsn_srq_number - the SRQ's number, for XRC requests; 0 for other SRQs on plain verbs */
BSN_API uint32_t bsn_srq_number(const struct bsn_rq *srq);

/** bsn_srq_set_limit - asks for one event when fewer than @limit receives are left; 0: none */
BSN_API int bsn_srq_set_limit(struct bsn_rq *srq, uint32_t limit);

/**
 * struct bsn_qp_attr
 *
 * Inline receive: messages of up to @max_inline_recv bytes come in their CQE, and so do results of
 * READs and atomics of up to @max_inline_resp. A CQE has room in one half: 32 of its 64 bytes, or
 * 64 of 128 (cqe_size of struct bsn_cq_attr). Completions of such a QP have BSN_C_DATA:
 * bsn_completion.data points to the bytes, in the CQE (BSN_C_IN_CQE) or at the first SGE. In both
 * cases the message takes a receive, which must be long enough for it. If the address of the first
 * SGE is not an address of the program (but an IOVA, or one in a zero-based region or an mkey),
 * @data of a message in memory is not valid. Polls swap the result of an atomic that the device has
 * written into a CQE, so it has the byte order that it would have in memory.
 *
 * Inline receive needs the direct path, and RC or UC. Results in CQEs need RC; signal_all, since an
 * unsignaled request would lose its result; and max_inline_recv, since mlx5_ib has one switch for
 * both. What is not asked for here is off: the library undoes libmlx5's default, which is to let
 * data come in CQEs and to copy them to memory.
 */
struct bsn_qp_attr {
	enum bsn_qp_type type;
	struct bsn_cq *cq;      /* for both directions */
	struct bsn_cq *recv_cq; /* NULL: @cq */
	struct bsn_rq *srq;
	struct bsn_pd *pd;
	struct bsn_lane *lane;  /* NULL: the lane of @cq */
	uint32_t send_depth;    /* requests; 0: 128; UD and DC: 64 */
	uint32_t recv_depth;    /* 0: 128; not with an SRQ */
	uint32_t max_send_sge;  /* 0: 1 */
	uint32_t max_recv_sge;  /* 0: 1 */
	uint32_t max_inline;    /* bytes; 0: as many as fit without making requests longer */
	uint32_t max_inline_recv; /* bytes; 0: messages come in memory */
	uint32_t max_inline_resp; /* bytes; 0: results come in memory */
	int signal_every;       /* the library signals one of so many unsignaled posts, and hides
				 * its completion; 0: a quarter of the depth; -1: none. It is
				 * lowered to 255, and to less if the queue would be full first */
	bool signal_all;        /* all requests are signaled */
	bool ce_on_first_error; /* of unsignaled requests only the first that fails has a CQE.
				 * bsn_poll() completes those flushed after it before the queue's
				 * next CQE, and bsn_qp_give_back() those after its last CQE */
	void *user;             /* of the endpoint and the receive queue */
};

/**
 * bsn_qp_create - creates a QP
 * Return: 0; -EINVAL no CQ, an object of another device, or more than the device takes: the text
 * says what; -ENOSPC the CQ has too few entries for its queues: the text says how many it needs; or
 * no doorbell register is left: name a lane that exists; -EOPNOTSUPP the device, its driver or the
 * path lacks the transport or inline receive; -EXDEV the device gave the lane's queues different
 * registers, or that of an attached QP: give each queue its own lane; -EBUSY a CQ with
 * ignores_overrun has completions of destroyed QPs: poll it; -ENOMEM no memory, RLIMIT_MEMLOCK is
 * too low, or the device has no QP left.
 */
BSN_API int bsn_qp_create(struct bsn_device *device, const struct bsn_qp_attr *attr,
			  struct bsn_qp **qp);
BSN_API int bsn_qp_destroy(struct bsn_qp *qp);

/** struct bsn_attach_attr */
struct bsn_attach_attr {
	bool register_is_ours; /* promise: nothing else posts through this QP's doorbell register */
	bool signal_all;       /* the QP has sq_sig_all; only some providers tell */
	uint32_t send_depth; /* outstanding requests; 0: as many as fit max_send_wr blocks */
	void *user;
};

/**
 * bsn_qp_attach - uses a QP, with its CQs, that the application created by verbs or rdma_cm
 * @qp: in any state, before its first post; from now on no ibv_* data verb may touch it or its CQs
 *
 * Attach all QPs of a CQ, with the same promise, before the first post to any of them. Without
 * @register_is_ours, and on providers other than mlx5, the QP uses plain verbs.
 *
 * max_send_wr is here what @qp was granted (struct ibv_qp_cap). On the direct path so many blocks
 * (64 B of WQE) may be outstanding, or those of one longest request, since the CQ may have no more
 * entries; send_depth of bsn_qp_info() says how many longest requests that is. If the CQ has an
 * entry for each block of more of them, set send_depth of @attr, up to max_send_wr.
 *
 * bsn_qp_destroy() detaches; the verbs objects stay. Take the QP to RESET before verbs use it after
 * that, so that no completion of Bunsen's requests comes. On the direct path libmlx5 does not know
 * what was polled of its CQs: destroy them after the QP, or attach other QPs to them. Bunsen's part
 * of such a CQ is freed with the device, or by bsn_cq_destroy() of the CQ of bsn_qp_info().
 *
 * Return: -EBUSY the QP was posted to or is attached, or its CQ has completions or was polled
 * (Bunsen sees posts to mlx5 QPs, and polls on the direct path); -EMLINK the CQ has a QP attached
 * with another promise; -EOPNOTSUPP the QP has an SRQ or no send queue, or is none of RC, UC, UD
 * and XRC initiator; -EINVAL it is of another context, send_depth exceeds max_send_wr, or the CQ
 * has fewer entries than so many longest requests have blocks.
 */
BSN_API int bsn_qp_attach(struct bsn_device *device, struct ibv_qp *qp,
			  const struct bsn_attach_attr *attr, struct bsn_qp **out);

/* If the QP has many peers (UD, DC, XRC), this endpoint refuses every request: bsn_ep_create(). */
BSN_API struct bsn_ep *bsn_qp_ep(struct bsn_qp *qp);
BSN_API struct bsn_rq *bsn_qp_rq(struct bsn_qp *qp);

/**
 * struct bsn_qp_info - the properties of a QP; granted ones may exceed those asked for
 * @cq: of its requests; @recv_cq: of its receives, maybe the same. Poll these, even if the QP is
 *	attached
 * @verbs: libibverbs' QP; NULL: of an initiator of a DC pool with full_handshake
 * @number: its QPN
 * @send_depth: requests of any length that may be outstanding
 * @short_sends: the same for requests of one block (64 B)
 * @max_inline_recv: bytes of a message that come in its CQE; 0: none. @max_inline_resp: of a result
 */
struct bsn_qp_info {
	struct bsn_cq *cq, *recv_cq;
	struct ibv_qp *verbs;
	uint32_t number;
	uint32_t send_depth, recv_depth, max_send_sge, max_recv_sge, max_inline;
	uint32_t short_sends;
	uint32_t max_inline_recv, max_inline_resp;
};

/** bsn_qp_info - valid as long as the QP, and constant; NULL: no QP */
BSN_API const struct bsn_qp_info *bsn_qp_info(const struct bsn_qp *qp);

/** struct bsn_address - what a peer needs; to be sent as it is */
struct bsn_address {
	uint8_t bytes[64];
};
BSN_API int bsn_qp_address(const struct bsn_qp *qp, struct bsn_address *address);

/** struct bsn_connect_attr - attributes of a connection */
struct bsn_connect_attr {
	uint32_t mtu;            /* bytes; 0: the smaller one of both ports */
	int gid_index;           /* 0: that of struct bsn_device_info, unless has_gid_index */
	bool has_gid_index;      /* gid_index is set, even if it is 0 */
	uint8_t sl;
	uint8_t traffic_class;
	uint8_t hop_limit;       /* 0: 64 */
	uint8_t timeout;         /* 4.096 µs << timeout; 0: 14 */
	uint8_t retry_count;     /* 0: 7; BSN_NO_RETRY: none */
	uint8_t rnr_retry;       /* 0: 7, without end; BSN_NO_RETRY: none */
	uint8_t min_rnr_timer;   /* 0: 12, 640 µs */
	uint8_t max_rd_atomic;   /* outstanding READs and atomics; 0: what both can, 16 at most */
	uint8_t max_dest_rd_atomic; /* those of the peer; 0: what this end can, 16 at most */
	uint32_t qkey;           /* UD; 0: 0x11111111 */
};
#define BSN_NO_RETRY 0xff

/**
 * bsn_qp_init - RESET to INIT: receives may be posted from now on
 *
 * A QP of bsn_qp_create() is already in INIT, even after bsn_qp_reset(). The application controls
 * the state of an attached one.
 * Return: 0, even if it is in INIT; -EINVAL it is connected, or in error: bsn_qp_reset() first.
 */
BSN_API int bsn_qp_init(struct bsn_qp *qp);

/**
 * bsn_qp_ready_to_receive - INIT to RTR: the QP receives from now on; first half of
 * bsn_qp_connect()
 *
 * For programs that must know that both ends can receive before either sends.
 * Return: as bsn_qp_connect().
 */
BSN_API int bsn_qp_ready_to_receive(struct bsn_qp *qp, const struct bsn_address *peer,
				    const struct bsn_connect_attr *attr);

/** bsn_qp_ready_to_send - RTR to RTS: second half of bsn_qp_connect(), with the same attributes */
BSN_API int bsn_qp_ready_to_send(struct bsn_qp *qp, const struct bsn_connect_attr *attr);

/**
 * bsn_qp_connect - connects a QP; RC, UC and XRC: to @peer. UD and DC: @peer is NULL
 *
 * The two ends must agree on mtu, PSNs, partition and kind of GID, and neither may have more READs
 * outstanding than the other takes. They agree by default, if each has the other's current address.
 * If they do not, the first request that it affects fails: bsn_qp_connect(3) says how each
 * disagreement shows. softcx, Bunsen's software ConnectX, shows it in the same way, and softcx(1)
 * cites how that is known.
 * Return: -EPROTO the bytes are not an address, or one of another version, transport, link layer or
 * InfiniBand subnet; -ENETDOWN this port is not active, and the peer is on another port; -EINVAL an
 * attribute out of its range (the text names it), or a QP that is already connected: bsn_qp_reset()
 * first.
 */
BSN_API int bsn_qp_connect(struct bsn_qp *qp, const struct bsn_address *peer,
			   const struct bsn_connect_attr *attr);

/**
 * bsn_ep_create - an endpoint of a UD QP for the QP of @peer, or of a DCI for the DCT of @peer;
 * XRC: bsn_xrc_ep_create()
 */
BSN_API int bsn_ep_create(struct bsn_qp *qp, const struct bsn_address *peer,
			  const struct bsn_connect_attr *attr, void *user, struct bsn_ep **ep);

/**
 * bsn_ep_create_reply - an endpoint for the sender of a UD message
 * @c: the message's completion
 * @grh: the first BSN_GRH_SIZE bytes of its buffer; read if BSN_C_GRH is set
 */
BSN_API int bsn_ep_create_reply(struct bsn_qp *qp, const struct bsn_completion *c, const void *grh,
				const struct bsn_connect_attr *attr, void *user,
				struct bsn_ep **ep);
/** bsn_ep_destroy - call it after all requests to the endpoint have completed */
BSN_API int bsn_ep_destroy(struct bsn_ep *ep);
#define BSN_GRH_SIZE 40 /* before every UD message */

/* -- errors, draining, reset ------------------------------------------------------------------ */

/** struct bsn_qp_error - why a QP is in error */
struct bsn_qp_error {
	enum ibv_qp_state state;
	bool has_failed;               /* a request failed; @first is its completion */
	struct bsn_completion first;
	const char *text;              /* what its two syndromes mean; valid until the thread's
					* next bsn_qp_error() or bsn_dc_peer_error() */
};
BSN_API int bsn_qp_error(struct bsn_qp *qp, struct bsn_qp_error *error);

/**
 * bsn_qp_fail - takes a QP to the error state: outstanding requests will be flushed
 *
 * Requests that were only appended are flushed, too. engine/doc/drain-and-flush.md says what comes
 * back when.
 */
BSN_API int bsn_qp_fail(struct bsn_qp *qp);

/**
 * bsn_qp_reset - takes a QP back to its state before bsn_qp_connect()
 *
 * Outstanding requests, and CQEs that were not polled, are dropped without completions, on both
 * paths. To get all completions, call bsn_qp_fail() first, and poll until bsn_qp_outstanding() is
 * 0.
 */
BSN_API int bsn_qp_reset(struct bsn_qp *qp);

/** struct bsn_outstanding - requests, published or only appended, that are not known to be done */
struct bsn_outstanding {
	uint32_t sends;
	uint32_t recvs;
};
BSN_API int bsn_qp_outstanding(struct bsn_qp *qp, struct bsn_outstanding *outstanding);

/**
 * bsn_qp_give_back - returns the requests that will never have a CQE: unsignaled ones after the
 * last signaled one, on a failed QP with ce_on_first_error
 *
 * Requests that are only appended stay until they are published.
 * Context: the thread that polls its CQ, while nobody posts.
 * Return: how many completions it stored, at most @n; on plain verbs 0. -EINVAL no QP.
 */
BSN_API int bsn_qp_give_back(struct bsn_qp *qp, struct bsn_completion *c, int n);

/**
 * bsn_qp_hand_over - from now on another thread posts to this QP's queues, and through its lane
 *
 * The caller orders the two threads, by a lock or a join. Without this call
 * bsn_counters.lane_posters counts the change of threads, and with BSN_CHECK=1 posts of the new
 * thread return -EPERM. bsn_cq_hand_over() does the same for a CQ's poller, whose change only
 * BSN_CHECK=1 notices: polls then return -EPERM.
 */
BSN_API int bsn_qp_hand_over(struct bsn_qp *qp);
BSN_API int bsn_cq_hand_over(struct bsn_cq *cq);

/** struct bsn_counters - of a QP; modulo 2^32 */
struct bsn_counters {
	uint32_t blueflame;  /* blocks of 64 B published by BlueFlame */
	uint32_t doorbells;  /* 8-byte doorbells */
	uint32_t send_full;  /* posts refused: the queue was full */
	uint32_t recv_full;
	uint64_t dropped_cqes; /* on its CQs: CQEs of queues already destroyed */
	/*
	 * Direct path: how often the lane's posting thread changed without a hand-over. If this
	 * grows, two threads post through a lane without a lock, and their BlueFlame copies may
	 * mix: bsn_lane_create().
	 */
	uint32_t lane_posters;
};
BSN_API int bsn_qp_counters(const struct bsn_qp *qp, struct bsn_counters *counters);

BSN_HEADER_END

#endif
