/* SPDX-License-Identifier: BSD-2-Clause */
/* Dumps of CQEs and WQEs after a line that announces them. */
#include "form.h"

#include <string.h>

#include "collect.h"

/*
 * libmlx5 prints an error CQE as four lines of four dwords: rdma-core's providers/mlx5/cq.c
 * mlx5_parse_cqe(), dump_cqe(). It does not print flushes, exceeded retries and page faults.
 */
COLLECT_FORM(libmlx5, "libmlx5", collect_cqe, "got completion with error:");

/*
 * mlx5_ib, hw/mlx5/cq.c dump_cqe(), prints dwords; later versions print bytes with an offset;
 * today's put "cqe_dump: " before each row, and the first row is the first line.
 */
static enum form_answer feed_mlx5_ib(struct feed *feed, const struct line *line, void *state)
{
	const struct collect *collect = state;

	if (!collect->has_begun && strstr(line->text, "cqe_dump: "))
		collect_cqe(feed, line, state);
	return collect_cqe(feed, line, state);
}

COLLECT_FORM(mlx5_ib, "mlx5_ib", feed_mlx5_ib, "dump error cqe", "cqe_dump: 00000000: ");

/* Only the Ethernet driver dumps these. */
static enum form_answer feed_packet_wqe(struct feed *feed, const struct line *line, void *state)
{
	struct collect *collect = state;

	collect->transport = KNOWN(BSN_TRANSPORT_ETH);
	return collect_wqe(feed, line, state);
}

/*
 * Send WQEs: the kernel's mlx5/core/wq.c mlx5_wq_cyc_wqe_dump() and hw/mlx5/wr.c dump_wqe(),
 * rdma-core's providers/mlx5/qp.c dump_wqe().
 */
COLLECT_FORM(mlx5_core_wqe, "mlx5_core-wqe", feed_packet_wqe, "WQE DUMP: WQ size ");
COLLECT_FORM(mlx5_ib_wqe, "mlx5_ib-wqe", collect_wqe, "dump WQE index ");
COLLECT_FORM(libmlx5_wqe, "libmlx5-wqe", collect_wqe, "dump wqe at ");
