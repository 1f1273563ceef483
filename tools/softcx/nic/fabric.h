/* SPDX-License-Identifier: BSD-2-Clause */
/* Joining and leaving a fabric. */
#ifndef SOFTCX_NIC_FABRIC_H
#define SOFTCX_NIC_FABRIC_H

#include "state.h"

int cx_join_fabric(struct cx_hca *hca);
void cx_leave_fabric(struct cx_hca *hca); /* takes the lock itself */

#endif
