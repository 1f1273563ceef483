/* SPDX-License-Identifier: BSD-2-Clause */
/* Local operations, and copies by the device (MMO). */
#include "local.h"

#include "datasheet.h"
#include "umr.h"

enum { MMO_RESULT_BYTES = 64 }; /* rdma-core verbs.c MLX5_OPAQUE_BUF_LEN */

/* False: the keys do not open the walk's memory, and the outcome says so. */
static bool open_memory(struct cx_hca *hca, struct cx_walk *walk, unsigned base,
			struct cx_outcome *out)
{
	const unsigned detail = cx_walk_check(hca, walk);

	if (detail)
		cx_outcome_fail(out, BSN_SYNDROME_LOCAL_PROTECTION, base + detail);
	return !detail;
}

static void copy_memory(struct cx_hca *hca, struct cx_qp *qp, const struct bsn_wqe *wqe,
			struct cx_outcome *out)
{
	const uint64_t len = wqe->data[0].length_bytes;
	struct cx_walk from = cx_walk_list(&wqe->data[0], 1, qp, 0, len);
	struct cx_walk to = cx_walk_list(&wqe->data[1], 1, qp, IBV_ACCESS_LOCAL_WRITE, len);
	struct cx_walk result = cx_walk_key(wqe->as.mmo.lkey, wqe->as.mmo.va, qp,
					    IBV_ACCESS_LOCAL_WRITE, MMO_RESULT_BYTES);

	if (len > 1ull << CX_MAX_MMO_LOG2 || wqe->data[1].length_bytes != len) {
		cx_outcome_fail(out, BSN_SYNDROME_LOCAL_LENGTH, BSN_VENDOR_MESSAGE_TOO_LONG);
		return;
	}
	if (!open_memory(hca, &from, BSN_VENDOR_TPT_GATHER, out) ||
	    !open_memory(hca, &to, BSN_VENDOR_TPT_DATA, out) ||
	    !open_memory(hca, &result, BSN_VENDOR_TPT_DATA, out))
		return;
	const enum cx_copied copied = cx_walk_copy(hca, &to, &from);
	if (copied)
		cx_outcome_fail(out, BSN_SYNDROME_LOCAL_PROTECTION,
				(copied == CX_FAULT_FROM ? BSN_VENDOR_TPT_GATHER
							 : BSN_VENDOR_TPT_DATA) +
					BSN_TPT_PAGE_FAULT);
}

bool cx_local_can(const struct bsn_wqe *wqe)
{
	return (wqe->ctrl.opcode == BSN_OPCODE_UMR && !wqe->ctrl.opmod) ||
	       (wqe->ctrl.opcode == BSN_OPCODE_MMO && wqe->ctrl.opmod == BSN_MMO_DMA);
}

void cx_local_run(struct cx_hca *hca, struct cx_qp *qp, const struct bsn_wqe *wqe,
		  struct cx_outcome *out)
{
	if (wqe->ctrl.opcode == BSN_OPCODE_UMR)
		cx_umr_run(hca, qp, wqe, out);
	else
		copy_memory(hca, qp, wqe, out);
}
