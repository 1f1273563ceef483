/* SPDX-License-Identifier: BSD-2-Clause */
/* Dumps of CQEs and WQEs behind a line that says so. */
#include "forms.h"

#include <string.h>

#include "collect.h"

/*
 * mlx5_ib, hw/mlx5/cq.c dump_cqe(): as dwords, later as bytes with an offset, and now with
 * "cqe_dump: " before each row, where the first row is the first line.
 */
static enum form_answer feed_mlx5_ib(struct scan *scan, const struct line *line, void *state)
{
	struct collect *collect = state;

	if (!collect->has_begun && strstr(line->text, "cqe_dump: "))
		collect_cqe(scan, line, collect);
	return collect_cqe(scan, line, collect);
}

static const char *const mlx5_ib_marks[] = { "dump error cqe", "cqe_dump: 00000000: ", NULL };

const struct form form_mlx5_ib = {
	.name = "mlx5_ib",
	.marks = mlx5_ib_marks,
	.state_bytes = sizeof(struct collect),
	.begins_anew = true,
	.feed = feed_mlx5_ib,
	.close = collect_close,
};

/*
 * Send WQEs: the kernel's mlx5/core/wq.c mlx5_wq_cyc_wqe_dump() and hw/mlx5/wr.c dump_wqe(),
 * rdma-core's providers/mlx5/qp.c dump_wqe().
 */
static enum form_answer feed_wqe(struct scan *scan, const struct line *line, void *state)
{
	return collect_wqe(scan, line, state);
}

/* Only the Ethernet driver has such queues. */
static enum form_answer feed_packet_wqe(struct scan *scan, const struct line *line, void *state)
{
	struct collect *collect = state;

	collect->transport = KNOWN(BSN_TRANSPORT_ETH);
	return collect_wqe(scan, line, collect);
}

static const char *const mlx5_core_wqe_marks[] = { "WQE DUMP: WQ size ", NULL };
static const char *const mlx5_ib_wqe_marks[] = { "dump WQE index ", NULL };
static const char *const libmlx5_wqe_marks[] = { "dump wqe at ", NULL };

#define WQE_FORM(id, form_name, feed_line)                                                         \
	const struct form form_##id = {                                                            \
		.name = form_name,                                                                 \
		.marks = id##_marks,                                                               \
		.state_bytes = sizeof(struct collect),                                             \
		.begins_anew = true,                                                               \
		.feed = feed_line,                                                                 \
		.close = collect_close,                                                            \
	}

WQE_FORM(mlx5_core_wqe, "mlx5_core-wqe", feed_packet_wqe);
WQE_FORM(mlx5_ib_wqe, "mlx5_ib-wqe", feed_wqe);
WQE_FORM(libmlx5_wqe, "libmlx5-wqe", feed_wqe);
