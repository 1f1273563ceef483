/* SPDX-License-Identifier: BSD-2-Clause */
/* The model's working memory: one for each process, under the lock. It saves the poster's stack. */
#ifndef SOFTCX_NIC_SCRATCH_H
#define SOFTCX_NIC_SCRATCH_H

#include "rq.h"

enum {
	CX_MAX_WQE_BYTES = (BSN_WQE_MAX_DS + 1) * BSN_DS_SIZE,
	CX_MAX_RECV_STRIDE = BSN_RECV_MAX_DATA * BSN_DS_SIZE,
};

struct cx_scratch {
	uint8_t bytes[CX_MAX_WQE_BYTES];
	uint8_t recv_bytes[CX_MAX_RECV_STRIDE];
	struct bsn_wqe wqe;
	struct cx_recv recv;
};

#endif
