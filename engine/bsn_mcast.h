/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast groups of UD QPs, on both paths. The application joins the port to the group: on
 * InfiniBand it asks the subnet manager, which returns the group's LID (rdma_join_multicast() does
 * so), on RoCE the switches (IGMP, MLD).
 */
#ifndef BSN_MCAST_H
#define BSN_MCAST_H

#include "bsn.h"

BSN_HEADER_BEGIN

/**
 * struct bsn_mcast_group - a multicast group
 * @gid: begins with 0xff; RoCE v2 over IPv4: a multicast address after ::ffff:
 * @lid: InfiniBand: 0xc000 to 0xfffe; not read on Ethernet
 */
struct bsn_mcast_group {
	uint8_t gid[16];
	uint16_t lid;
};

/**
 * bsn_mcast_attach - this QP receives messages to the group
 *
 * Each message takes a receive of each member, and begins with a GRH (BSN_C_GRH). Members and
 * senders must have the same Q_Key: @qkey of struct bsn_connect_attr.
 * Return: 0, even if it is already attached; -EINVAL not a UD QP, or not a multicast group; -ENOMEM
 * the device takes no more members.
 */
BSN_API int bsn_mcast_attach(struct bsn_qp *qp, const struct bsn_mcast_group *group);

/**
 * bsn_mcast_detach - undoes that; required before bsn_qp_destroy(). Return: -EINVAL the QP is not
 * attached
 */
BSN_API int bsn_mcast_detach(struct bsn_qp *qp, const struct bsn_mcast_group *group);

/**
 * bsn_ep_create_mcast - an endpoint of a UD QP for all members of the group
 *
 * The sender need not be a member. A send completes when the message has left, even if no member
 * has a receive for it.
 * @attr: as of bsn_ep_create()
 * Return: -EINVAL as of bsn_mcast_attach().
 */
BSN_API int bsn_ep_create_mcast(struct bsn_qp *qp, const struct bsn_mcast_group *group,
				const struct bsn_connect_attr *attr, void *user,
				struct bsn_ep **ep);

BSN_HEADER_END

#endif
