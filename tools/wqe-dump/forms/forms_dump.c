/* SPDX-License-Identifier: BSD-2-Clause */
/* Dumps of CQEs and WQEs behind a line that says so. */
#include "forms.h"

#include <string.h>

#include "collect.h"

/*
 * libmlx5 prints an error CQE as four lines of four dwords: rdma-core's providers/mlx5/cq.c
 * mlx5_parse_cqe(), dump_cqe(). Flushes, retries used up and page faults it keeps to itself.
 */
COLLECT_FORM(libmlx5, "libmlx5", collect_cqe, "got completion with error:");

/*
 * mlx5_ib, hw/mlx5/cq.c dump_cqe(): as dwords, later as bytes with an offset, and now with
 * "cqe_dump: " before each row, where the first row is the first line.
 */
static enum form_answer feed_mlx5_ib(struct scan *scan, const struct line *line, void *state)
{
	const struct collect *collect = state;

	if (!collect->has_begun && strstr(line->text, "cqe_dump: "))
		collect_cqe(scan, line, state);
	return collect_cqe(scan, line, state);
}

COLLECT_FORM(mlx5_ib, "mlx5_ib", feed_mlx5_ib, "dump error cqe", "cqe_dump: 00000000: ");

/* Only the Ethernet driver has such queues. */
static enum form_answer feed_packet_wqe(struct scan *scan, const struct line *line, void *state)
{
	struct collect *collect = state;

	collect->transport = KNOWN(BSN_TRANSPORT_ETH);
	return collect_wqe(scan, line, state);
}

/*
 * Send WQEs: the kernel's mlx5/core/wq.c mlx5_wq_cyc_wqe_dump() and hw/mlx5/wr.c dump_wqe(),
 * rdma-core's providers/mlx5/qp.c dump_wqe().
 */
COLLECT_FORM(mlx5_core_wqe, "mlx5_core-wqe", feed_packet_wqe, "WQE DUMP: WQ size ");
COLLECT_FORM(mlx5_ib_wqe, "mlx5_ib-wqe", collect_wqe, "dump WQE index ");
COLLECT_FORM(libmlx5_wqe, "libmlx5-wqe", collect_wqe, "dump wqe at ");
