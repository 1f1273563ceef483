/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ports of a bonded device (LAG) by which RC, UC and UD QPs and DCIs send:
 * mlx5dv_modify_qp_lag_port(3). A part of provider.c. Private to the library.
 */
#ifndef DV_LAG_H
#define DV_LAG_H

#include <infiniband/verbs.h>

/* The number of ports that a QP can choose from; 0: the device or its driver does not tell. */
unsigned provider_lag_ports(struct ibv_context *context);

/*
 * Sets the port (1, 2, …) by which a QP in RTS sends, until the QP's state changes. Return: 0 or
 * -errno: -EOPNOTSUPP the device is not bonded now.
 */
int provider_lag_port_set(struct ibv_qp *qp, unsigned port);

#endif
