/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Targets and pools on plain verbs: RC connections, made when a peer needs one. Private to
 * engine/dc/.
 *
 *	rc_talk.c    sends and receives the datagrams by which they are made and given up
 *	rc_target.c  a target: an RC QP on its SRQ for each initiator that is connected
 *	rc_pool.c    to whom a pool's initiators are connected
 *
 * A pool asks, and a target answers with a QP of its own that is ready to receive. That is all,
 * since targets send nothing:
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
	struct wire_address from;          /* where to answer */
	struct wire_address qp;            /* of ASK and YES: the RC QP, with the MTU of its end */
};

/* Datagrams to receive, and to send, at a time. */
enum { RC_TALK_SLOTS = 32 };

struct rc_talk {
	struct bsn_qp *qp;
	struct bsn_cq *sent; /* where sends complete */
	struct bsn_mr *mem;
	uint32_t idle; /* slots to send from, a bit each */
};

/* A UD QP that listens; its receives complete on @cq, which has entries for them. */
int talk_open(struct rc_talk *talk, struct bsn_device *device, struct bsn_pd *pd,
	      struct bsn_cq *cq);
/* No endpoint of it is left. */
void talk_close(struct rc_talk *talk);
/* A message of this kind, with nothing else in it. */
struct rc_message talk_message(const struct rc_talk *talk, enum rc_kind kind, uint32_t serial);
/* What is lost is repeated, so no error is told. @qpn: of whom @ep leads to. */
void talk_send(struct rc_talk *talk, struct bsn_ep *ep, uint32_t qpn, const struct rc_message *m);
/* A receive of its QP completed. false: it brought no message. */
bool talk_heard(struct rc_talk *talk, const struct bsn_completion *c, struct rc_message *m);
/* Everything that was sent has left. */
bool talk_is_done(struct rc_talk *talk);

/* The address of an RC QP, with an MTU of so many bytes at most; 0: the port's. */
struct wire_address rc_address(const struct bsn_qp *qp, uint32_t mtu);

/* -- targets ----------------------------------------------------------------------------------- */

struct rc_target;

int rc_target_make(struct bsn_device *device, const struct bsn_dct_attr *attr,
		   struct rc_target **target);
void rc_target_free(struct rc_target *target);
/* Of one of its QPs, which are all alike: the route of its number wants one. */
struct bsn_sq *rc_target_sends(const struct rc_target *target);
uint32_t rc_target_number(const struct rc_target *target);
int rc_target_accept(struct rc_target *target);

/* -- pools ------------------------------------------------------------------------------------- */

/* Makes pool->rc; rc_open() lets it talk, once the pool has a CQ. */
int rc_make(struct bsn_dc_pool *pool);
int rc_open(struct bsn_dc_pool *pool);
/* Ends what was made, if anything was. */
void rc_close(struct bsn_dc_pool *pool);
/* @attr: of a queue of the depth that was asked for. */
int rc_make_initiator(struct bsn_dc_pool *pool, struct initiator *i,
		      const struct bsn_qp_attr *attr);
/* Posts what tells the end, where a device would take a NOP; -EAGAIN there is no room. */
int rc_mark(struct initiator *i);
/* Takes what is not the program's out of these completions. Return: how many are left. */
int rc_hear(struct bsn_dc_pool *pool, struct bsn_completion *c, int n);
/* Makes the host's address handle, as the peer says the way. */
int rc_meet(struct bsn_dc_pool *pool, struct host *host, const struct wire_address *wire,
	    const struct bsn_connect_attr *attr);
bool rc_is_connected(const struct initiator *i, const struct peer *peer);
/* Begins to connect the slot's initiator to the peer, which is not in line any more. */
void rc_connect(struct bsn_dc_pool *pool, struct peer *peer, struct slot *s, int64_t credit);
/* The peer is destroyed. */
void rc_forget(struct bsn_dc_pool *pool, const struct peer *peer);
/* Tells of peers that were connected meanwhile, or cannot be, a completion each. */
int rc_turns(struct bsn_dc_pool *pool, struct bsn_completion *c, int n);
/* Makes an initiator that failed ready to be connected. */
int rc_repair(struct initiator *i);
/* Says why a peer was not connected. */
void rc_explain(const struct peer *peer, struct bsn_dc_error *error);

#endif
