/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A software ConnectX linked into a test. After softcx_start() the process has an mlx5_0, which it
 * uses through unmodified libibverbs and libmlx5. Nothing else of the process changes.
 */
#ifndef SOFTCX_H
#define SOFTCX_H

#include "nic/hca.h"

/**
 * softcx_start - give this process an mlx5_0
 * @config: what kind of device; copied, the strings too
 *
 * Call before the first ibv_get_device_list().
 *
 * Return: 0, -EALREADY when started, or what cx_open() answers.
 */
int softcx_start(const struct cx_config *config);

/**
 * softcx_stop - take the mlx5_0 away, after every context was closed
 *
 * Return: 0, or -EBUSY while a context is open.
 */
int softcx_stop(void);

/**
 * softcx_step - execute what the program has posted (passive mode)
 * @max_wqes: at most so many WQEs, 0 for all
 *
 * Return: how many WQEs were executed.
 */
unsigned softcx_step(unsigned max_wqes);

/**
 * softcx_hca - the device itself, NULL when there is none
 */
struct cx_hca *softcx_hca(void);

#endif
