/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XRC, extended reliable connection: one connection to a host, where each process has receives of
 * its own. Each request names the shared receive queue (SRQ) that it is for.
 *
 * The receivers share a domain, which is a file; each has an SRQ in it, and a CQ for that. One of
 * them has the target of a connection:
 *
 *	bsn_xrcd_open(device, fd, &xrcd);                                   the same file
 *	bsn_srq_create(device, &(struct bsn_srq_attr){ .xrcd = xrcd, .cq = cq }, &srq);
 *	number = bsn_srq_number(srq);                                       the sender is told
 *
 *	bsn_xrc_target_create(xrcd, &target);
 *	bsn_xrc_target_address(target, &mine);   exchange(&mine, &peer);
 *	bsn_xrc_target_connect(target, &peer, NULL);
 *
 * The sender has an initiator, and an endpoint for each SRQ:
 *
 *	bsn_qp_create(device, &(struct bsn_qp_attr){ .type = BSN_QP_XRC, .cq = cq }, &qp);
 *	bsn_qp_address(qp, &mine);   exchange(&mine, &peer);
 *	bsn_qp_connect(qp, &peer, NULL);
 *	bsn_xrc_ep_create(qp, number, user, &ep);
 *	bsn_send(ep, &local, id, BSN_F_SIGNALED | BSN_F_RING);
 *
 * The protection domain of the SRQ applies to requests, RDMA and atomics included: their rkey is
 * one of the process that has the SRQ (IBTA annex A14). Requests of one initiator are executed in
 * order, whatever their SRQ. If one fails, the initiator is in error, and so is the target that
 * refused it: call bsn_qp_reset() for the initiator; destroy the target and create another.
 *
 * Rules of parameters, results and threads are those of bsn.h. bsn_device_info() has the feature
 * "xrc", and says why a device has none. Both paths have it.
 */
#ifndef BSN_XRC_H
#define BSN_XRC_H

#include "bsn.h"

BSN_HEADER_BEGIN

/** struct bsn_xrcd - a domain: what a target may reach */
struct bsn_xrcd;

/**
 * bsn_xrcd_open - the domain of a file
 * @fd: any open file; every process that opens the same file (inode) shares the domain. The
 *	descriptor is not kept. -1: a domain of this process alone
 *
 * The domain ends with its last process.
 * Return: 0; -EOPNOTSUPP the device has no XRC; -EBADF no open file.
 */
BSN_API int bsn_xrcd_open(struct bsn_device *device, int fd, struct bsn_xrcd **xrcd);

/** bsn_xrcd_close - Return: -EBUSY an SRQ or target of this process is in it */
BSN_API int bsn_xrcd_close(struct bsn_xrcd *xrcd);

/* -- targets ----------------------------------------------------------------------------------- */

/**
 * struct bsn_xrc_target - the receiver's end of a connection; it posts nothing, and has no queue
 */
struct bsn_xrc_target;

/** bsn_xrc_target_create - a target that is not connected yet */
BSN_API int bsn_xrc_target_create(struct bsn_xrcd *xrcd, struct bsn_xrc_target **target);

/** bsn_xrc_target_destroy - ends a target; requests of its initiator are not answered any more */
BSN_API int bsn_xrc_target_destroy(struct bsn_xrc_target *target);

/** bsn_xrc_target_address - what the initiator's bsn_qp_connect() needs */
BSN_API int bsn_xrc_target_address(const struct bsn_xrc_target *target,
				   struct bsn_address *address);

/**
 * bsn_xrc_target_connect - the target executes the initiator's requests from now on
 * @peer: bsn_qp_address() of an initiator
 * @attr: gid_index, sl, traffic_class, hop_limit, mtu, min_rnr_timer and max_dest_rd_atomic are
 *	read
 * Return: as bsn_qp_connect().
 */
BSN_API int bsn_xrc_target_connect(struct bsn_xrc_target *target, const struct bsn_address *peer,
				   const struct bsn_connect_attr *attr);

/** bsn_xrc_target_number - the QPN, which is bsn_completion.qpn of messages that come through it */
BSN_API uint32_t bsn_xrc_target_number(const struct bsn_xrc_target *target);

/* -- endpoints --------------------------------------------------------------------------------- */

/**
 * bsn_xrc_ep_create - an endpoint of an initiator, for an SRQ of the target's domain
 * @srqn: the receiver's bsn_srq_number()
 * @user: of completions
 *
 * bsn_ep_destroy() destroys it. Nothing is sent: if no SRQ has the number, the first request fails.
 * Return: -EINVAL the QP is not a BSN_QP_XRC, or the number is not one that an SRQ can have.
 */
BSN_API int bsn_xrc_ep_create(struct bsn_qp *qp, uint32_t srqn, void *user, struct bsn_ep **ep);

BSN_HEADER_END

#endif
