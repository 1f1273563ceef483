/* SPDX-License-Identifier: BSD-2-Clause */
/* The fabric's file. */
#ifndef SOFTCX_NIC_SEGMENT_H
#define SOFTCX_NIC_SEGMENT_H

#include "state.h"

/* Its descriptor; -1: there is none, or it is lost. Async-signal-safe. */
int cx_segment(struct cx_hca *hca);
void cx_segment_close(struct cx_hca *hca);

/* The bytes that living processes lock, one for each slot: far beyond the file's end. */
#define CX_LIFE_FIRST ((off_t)1 << 40)

#endif
