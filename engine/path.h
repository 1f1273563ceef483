/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The two paths, direct and plain verbs: a table of functions for lanes, CQs, SRQs and QPs. The
 * rest of the control path is common to both. Private to engine/.
 *
 * @name: as BSN_PATH says it
 * @shows_rings: the hot structures name the rings; false: the rings are the provider's
 * @most_sends: the greatest depth of a send queue, for requests of the default length
 * @lane_open: takes a thread domain for the lane, if the path uses one and the device has one left
 * @cq_create, @qp_create: make the object of libibverbs; qp_create also makes its parent domain
 * @…_make: makes the hot structures (their path pointers included) of an object that libibverbs
 *	has; qp_make also makes the QP a user of its lane, until lane_leave()
 * @…_free: undoes …_make
 * @srq_leave: called before an SRQ of XRC is destroyed
 * @srq_free_slots: lists up to @max WQEs that are free, in the order in which they will be posted
 * @cq_is_known: whether the state of an idle adopted CQ is still that of its libibverbs CQ
 * @cq_request: asks for an event
 * @qp_sends: completions that a full send queue of qp->info can give: blocks, or requests
 * @qp_adopt: of an attached QP, whose limits are what it was made with: sets qp->sends_bb, and the
 *	send_depth that this allows (@wanted, if it is not 0)
 * @qp_clear: after a reset: makes the hot structures as they were after creation
 * @qp_leave: called before the QP is reset or destroyed
 * @qp_failed: called after the QP went to error: publishes what was only appended, so that it is
 *	flushed
 * @mkey_create: an mkey that spans nothing yet; NULL: the path has none
 * @ep_make: prepares the prefix of requests to an endpoint of a QP with many peers
 * @ep_leave: called before that endpoint is destroyed
 * @recvs_move: of plain verbs: takes a QP with an SRQ to error. Those of its completions that were
 *	not polled are changed to another number, of which the CQ has a route
 * @recvs_drop: of plain verbs: drops the completions of such a number, whose receives go back to
 *	the SRQ; called before its route is removed
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
