/* SPDX-License-Identifier: BSD-2-Clause */
/* What verbs libraries and programs print. */
#include "forms.h"

#include <string.h>

#include "collect.h"

/*
 * libmlx5 prints an error CQE as four lines of four dwords: rdma-core's providers/mlx5/cq.c
 * mlx5_parse_cqe(), dump_cqe(). Flushes, retries used up and page faults it keeps to itself.
 */
static enum form_answer feed_libmlx5(struct scan *scan, const struct line *line, void *state)
{
	return collect_cqe(scan, line, state);
}

static const char *const libmlx5_marks[] = { "got completion with error:", NULL };

const struct form form_libmlx5 = {
	.name = "libmlx5",
	.marks = libmlx5_marks,
	.state_bytes = sizeof(struct collect),
	.begins_anew = true,
	.feed = feed_libmlx5,
	.close = collect_close,
};
