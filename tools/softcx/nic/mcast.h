/* SPDX-License-Identifier: BSD-2-Clause */
/* Multicast groups: the UD queue pairs that receive a message to a group. Under the lock. */
#ifndef SOFTCX_NIC_MCAST_H
#define SOFTCX_NIC_MCAST_H

#include "state.h"

/* The next member of a group after number *@at, which begins at 0; NULL: there is none. */
struct cx_qp *cx_mcast_next(struct cx_hca *hca, const uint8_t gid[16], unsigned *at);

/* A queue pair that is destroyed leaves its groups. */
void cx_mcast_leave_all(struct cx_hca *hca, uint32_t qpn);

#endif
