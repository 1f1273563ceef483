/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ports of a bonded device (LAG), by which RC, UC, UD QPs and DCIs send:
 * mlx5dv_modify_qp_lag_port(3). A part of provider.c. Private to the library.
 */
#ifndef DV_LAG_H
#define DV_LAG_H

#include <infiniband/verbs.h>

/* Ports that a QP can be told to send by; 0: the device or its driver does not tell. */
unsigned provider_lag_ports(struct ibv_context *context);

/*
 * The port, from 1 on, by which a QP in RTS sends. It holds until the QP's next change of state. 0
 * or a negative errno: -EOPNOTSUPP the device is not bonded now.
 */
int provider_lag_port_set(struct ibv_qp *qp, unsigned port);

#endif
