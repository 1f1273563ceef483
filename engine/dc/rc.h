/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Targets and pools on plain verbs: RC connections, made when a peer needs one. Private to
 * engine/dc/.
 *
 *	rc_talk.c    sends and receives the datagrams that make and end connections
 *	rc_target.c  a target: an RC QP on its SRQ for each connected initiator
 *	rc_pool.c    connects a pool's initiators
 *
 * A pool asks, and a target answers with one of its QPs that is ready to receive. No third message
 * is needed, since targets send nothing:
 *
 *	pool                                target
 *	reset, ASK {initiator's address} →  a QP to RTR
 *	RTR, RTS                         ←  YES {its address}, or NO {why}
 *	LEAVE                            →  the QP is given up
 *	                                 ←  LEFT
 *
 * Datagrams get lost, so a pool repeats ASK and LEAVE until there is an answer. Both ends know a
 * repetition by the serial number of the attempt.
 */
#ifndef DC_RC_H
#define DC_RC_H

#include "pool.h"

/* -- messages ---------------------------------------------------------------------------------- */

enum rc_kind { RC_ASK = 1, RC_YES, RC_NO, RC_LEAVE, RC_LEFT };

/* Why a peer is not connected. */
enum rc_reason {
	RC_NOBODY = 1,  /* no answer */
	RC_NO_QP,       /* the target has none left */
	RC_NO_WAY,      /* the target cannot reach the initiator */
	RC_NO_WAY_BACK, /* the initiator cannot reach the target */
};

/* Big-endian. */
struct rc_message {
	struct bsn_be32 magic; /* "BRC" and the version */
	uint8_t kind, reason;
	uint8_t reserved[2];
	struct bsn_be32 serial;
	struct bsn_be32 key_high, key_low; /* the access key, of ASK */
	struct wire_address from;          /* where to send the answer */
	struct wire_address qp;            /* of ASK and YES: the sender's RC QP, with its MTU */
};

/* Datagrams to receive at a time, and as many to send. */
enum { RC_TALK_SLOTS = 32 };

struct rc_talk {
	struct bsn_qp *qp;
	struct bsn_cq *sent; /* of its sends */
	struct bsn_mr *mem;
	uint32_t idle; /* free slots to send from, a bit each */
};

/* Opens a UD QP that listens. Its receives complete on @cq, which has entries for them. */
int talk_open(struct rc_talk *talk, struct bsn_device *device, struct bsn_pd *pd,
	      struct bsn_cq *cq);
/* Closes it; it has no endpoints any more. */
void talk_close(struct rc_talk *talk);
/* A message with only its kind and serial filled in. */
struct rc_message talk_message(const struct rc_talk *talk, enum rc_kind kind, uint32_t serial);
/*
 * Sends a message. Lost ones are repeated, so it returns no error. @qpn: the QP that @ep leads to.
 */
void talk_send(struct rc_talk *talk, struct bsn_ep *ep, uint32_t qpn, const struct rc_message *m);
/* Reads the message of a receive that completed. false: it is no message. */
bool talk_heard(struct rc_talk *talk, const struct bsn_completion *c, struct rc_message *m);
/* Whether all messages were sent. */
bool talk_is_done(struct rc_talk *talk);

/* The address of an RC QP. @mtu: bytes at most; 0: the port's. */
struct wire_address rc_address(const struct bsn_qp *qp, uint32_t mtu);

/* -- targets ----------------------------------------------------------------------------------- */

struct rc_target;

int rc_target_make(struct bsn_device *device, const struct bsn_dct_attr *attr,
		   struct rc_target **target);
void rc_target_free(struct rc_target *target);
/*
 * The send queue of one of its QPs, which are all alike; the route of the target's number needs
 * one.
 */
struct bsn_sq *rc_target_sends(const struct rc_target *target);
uint32_t rc_target_number(const struct rc_target *target);
int rc_target_accept(struct rc_target *target);

/* -- pools ------------------------------------------------------------------------------------- */

/* rc_make() makes pool->rc; rc_open() opens its talk when the pool has a CQ. */
int rc_make(struct bsn_dc_pool *pool);
int rc_open(struct bsn_dc_pool *pool);
/* Frees pool->rc, if it was made. */
void rc_close(struct bsn_dc_pool *pool);
/* Makes an initiator's RC QP. @attr: without the request that rc_mark() needs. */
int rc_make_initiator(struct bsn_dc_pool *pool, struct initiator *i,
		      const struct bsn_qp_attr *attr);
/* Posts a hidden request that marks the end, as a NOP does on mlx5. -EAGAIN: no room. */
int rc_mark(struct initiator *i);
/* Removes the completions that are not the program's. Return: how many are left. */
int rc_hear(struct bsn_dc_pool *pool, struct bsn_completion *c, int n);
/* Makes the host's endpoint, by the address handle that the peer's address describes. */
int rc_make_endpoint(struct bsn_dc_pool *pool, struct host *host, const struct wire_address *wire,
		     const struct bsn_connect_attr *attr);
bool rc_is_connected(const struct initiator *i, const struct peer *peer);
/* Begins to connect the slot's initiator to the peer, which left the line. */
void rc_connect(struct bsn_dc_pool *pool, struct peer *peer, struct slot *s, int64_t credit);
/* Forgets a peer that is destroyed. */
void rc_forget(struct bsn_dc_pool *pool, const struct peer *peer);
/* Tells of peers that are connected now, or cannot be, a completion each. */
int rc_turns(struct bsn_dc_pool *pool, struct bsn_completion *c, int n);
/* Makes an initiator that failed ready to be connected. */
int rc_repair(struct initiator *i);
/* Says why a peer was not connected. */
void rc_explain(const struct peer *peer, struct bsn_dc_error *error);

#endif
