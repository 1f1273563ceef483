/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The two paths, direct and plain verbs: a table of functions for lanes, CQs, SRQs and QPs. The
 * rest of the control path is common to both. Private to engine/.
 *
 * @name: as BSN_PATH says it
 * @shows_rings: the hot structures name the rings; else they are the provider's
 * @most_sends: the greatest depth of a send queue, for requests of the default length
 * @lane_open: takes a thread domain for the lane, where the path has use for one and the device has
 * one
 * @cq_create, @qp_create: make the object of libibverbs; qp_create also makes its parent domain
 * @qp_make: also makes the QP a user of its lane, until lane_leave() @…_make: the hot structures
 * (their path pointers included) of an object whose libibverbs object is there @…_free: undoes
 * …_make
 * @srq_leave: before an SRQ of XRC is destroyed
 * @srq_free_slots: lists up to @max WQEs that are free, the next one to be posted first
 * @cq_is_known: whether the state of an idle adopted CQ is still that of its libibverbs CQ
 * @cq_request: asks for an event
 * @qp_sends: completions that a full send queue of qp->info can give: blocks, or requests
 * @qp_adopt: of an attached QP, whose limits are what it was made with: sets qp->sends_bb, the
 * send_depth that this allows (@wanted, where it is not 0)
 * @qp_clear: after a reset: the hot structures are as after creation
 * @qp_leave: before the QP is reset or destroyed
 * @qp_failed: after the QP went to error: what was appended and never rung is handed in, to be
 * flushed
 * @mkey_create: an mkey that spans nothing yet; NULL: the path has none
 * @ep_make: prepares what precedes the messages to an endpoint of a datagram QP
 * @ep_leave: before it is destroyed
 * @recvs_move: of plain verbs: a QP with an SRQ goes to error, and what it received and nobody
 * polled is that of another number, of which the CQ has a route
 * @recvs_drop: and that goes, before its route does; its receives are the SRQ's again
 */
#ifndef PATH_H
#define PATH_H

#include "engine.h"

struct path_ops {
	const char *name;
	enum bsn_path path;
	bool shows_rings;
	uint32_t (*most_sends)(const struct bsn_device *device);
	int (*lane_open)(struct lane_object *lane);
	int (*cq_create)(struct cq_object *cq, const struct bsn_cq_attr *attr);
	int (*cq_make)(struct cq_object *cq);
	void (*cq_free)(struct cq_object *cq);
	bool (*cq_is_known)(const struct cq_object *cq);
	/* Tells how many entries of the ring are spare; NULL: the path has no use for that. */
	void (*cq_set_spare)(struct cq_object *cq, uint32_t spare);
	int (*cq_resize)(struct cq_object *cq, uint32_t entries); /* NULL: it cannot */
	int (*cq_request)(struct cq_object *cq, bool solicited_only);
	int (*srq_make)(struct srq_object *srq);
	void (*srq_free)(struct srq_object *srq);
	int (*srq_leave)(struct srq_object *srq);
	uint32_t (*srq_free_slots)(const struct srq_object *srq, uint32_t *slots, uint32_t max);
	uint32_t (*qp_sends)(const struct bsn_qp *qp);
	int (*qp_create)(struct bsn_qp *qp, const struct ibv_qp_init_attr *init);
	int (*qp_adopt)(struct bsn_qp *qp, uint32_t wanted);
	int (*qp_make)(struct bsn_qp *qp, const struct bsn_qp_attr *attr);
	void (*qp_free)(struct bsn_qp *qp);
	void (*qp_clear)(struct bsn_qp *qp);
	int (*qp_leave)(struct bsn_qp *qp);
	int (*qp_failed)(struct bsn_qp *qp);
	void (*qp_outstanding)(struct bsn_qp *qp, struct bsn_outstanding *outstanding);
	int (*mkey_create)(struct bsn_pd *pd, const struct provider_mkey_attr *attr, void **handle,
			   uint32_t *key);
	void (*mkey_destroy)(void *handle);
	/* @number: QPN or SRQN; @key: Q_Key or access key */
	int (*ep_make)(struct ep_object *ep, uint32_t number, uint64_t key);
	void (*ep_leave)(const struct ep_object *ep);
	int (*recvs_move)(struct bsn_qp *qp, uint32_t number);
	void (*recvs_drop)(struct cq_object *cq, uint32_t number);
};

extern const struct path_ops direct_path; /* direct/ */
extern const struct path_ops verbs_path;  /* verbs/ */

/*
 * route.c: adds the QP's queues to both CQs. Pollers see that, so it is the last step that may
 * fail.
 */
int route_qp(struct bsn_qp *qp);
void unroute_qp(struct bsn_qp *qp);

/* route.c: drops the QP's completions from its CQs. */
void drop_cqes(struct bsn_qp *qp);

#endif
