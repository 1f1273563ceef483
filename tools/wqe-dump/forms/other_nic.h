/* SPDX-License-Identifier: BSD-2-Clause */
/* The RDMA devices that are not mlx5: their numbers look alike and mean something else. */
#ifndef WQE_DUMP_OTHER_NIC_H
#define WQE_DUMP_OTHER_NIC_H

/**
 * other_nic_in() - whether a line is of another NIC
 * @text: the line
 *
 * Return: the driver or device that it names, or NULL.
 */
const char *other_nic_in(const char *text);

#endif
