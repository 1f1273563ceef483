/* SPDX-License-Identifier: BSD-2-Clause */
#include "loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(int err)
{
	if (err) {
		fprintf(stderr, "%s\n", bsn_error_text());
		exit(1);
	}
}

void loop_open(struct loop *loop, size_t bytes)
{
	struct bsn_qp_attr attr = { .type = BSN_QP_RC, .send_depth = 256 };
	struct bsn_address self;

	must(bsn_device_open(NULL, NULL, &loop->dev));
	must(bsn_buf_alloc(loop->dev, bytes, NULL, &loop->mem));
	must(bsn_mkey_pool_create(loop->dev, NULL, &loop->pool));
	must(bsn_cq_create(loop->dev, NULL, &loop->cq));
	attr.cq = loop->cq;
	must(bsn_qp_create(loop->dev, &attr, &loop->qp));
	must(bsn_qp_address(loop->qp, &self));
	must(bsn_qp_connect(loop->qp, &self, NULL));
}

void loop_close(struct loop *loop)
{
	must(bsn_qp_destroy(loop->qp));
	must(bsn_mkey_pool_destroy(loop->pool));
	must(bsn_cq_destroy(loop->cq));
	must(bsn_buf_free(loop->mem));
	must(bsn_device_close(loop->dev));
}

struct bsn_layout *loop_layout(struct loop *loop, const struct bsn_part *parts, uint32_t part_count,
			       uint32_t rounds)
{
	const struct bsn_layout_attr attr = { parts, part_count, rounds };
	struct bsn_layout *layout;

	must(bsn_layout_create(loop->pool, &attr, &layout));
	return layout;
}

uint64_t loop_write(struct loop *loop, struct bsn_layout *layout, uint64_t offset)
{
	struct bsn_wr write = {
		.opcode = BSN_OPCODE_RDMA_WRITE,
		.flags = BSN_F_SIGNALED | BSN_F_RING,
		.remote = bsn_remote_of(loop->mem, offset),
	};
	struct bsn_ep *ep = bsn_qp_ep(loop->qp);
	struct bsn_completion done;
	const struct bsn_map *map;
	uint64_t length;
	int n;

	must(bsn_layout_map(layout, ep, 0, &map));
	write.map = map;
	must(bsn_post(ep, &write));
	while (!(n = bsn_poll(loop->cq, &done, 1)))
		;
	if (n < 0 || done.status) {
		fprintf(stderr, "the write failed: %s\n",
			n < 0 ? strerror(-n) : ibv_wc_status_str((enum ibv_wc_status)done.status));
		exit(1);
	}
	length = map->length;
	bsn_layout_unmap(map);
	return length;
}
