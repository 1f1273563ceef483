/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The queues of DC of Bunsen's columns. All peers are one target, but
 * the pool sees as many. Where a post shall find its initiator there is one peer, which has had it
 * since it was made.
 */
#include "cost_bunsen.h"

#include <stdlib.h>

enum { KEY = 0x5eed };

static int make_target(struct bunsen_queue *q, const struct cost_rig *rig,
		       struct bsn_address *address)
{
	const struct bsn_dct_attr attr = { .cq = q->recv_cq, .srq = q->srq, .access_key = KEY };
	int err = bsn_dct_create(rig->device, &attr, &q->dct);

	return err ? err : bsn_dct_address(q->dct, address);
}

static int make_peers(struct bunsen_queue *q, unsigned count, const struct bsn_address *address)
{
	int err = 0;

	q->in_a_row = 1;
	q->eps = calloc(count, sizeof(struct bsn_ep *));
	if (!q->eps)
		return -ENOMEM;
	for (; q->ep_count < count && !err; q->ep_count += !err)
		err = bsn_dc_peer_create(q->pool, address, NULL, NULL, &q->eps[q->ep_count]);
	return err;
}

int bunsen_make_pool(struct bunsen_queue *q, const struct cost_rig *rig, enum cost_queues kind,
		     const struct bsn_qp_attr *attr)
{
	const unsigned peers = cost_kinds[kind].peers ? cost_kinds[kind].peers : 1;
	struct bsn_dc_pool_attr pool = cost_kinds[kind].pool;
	struct bsn_address address;
	int err = bsn_device_info(rig->device)->path == BSN_PATH_DIRECT ? 0 : -EOPNOTSUPP;

	pool.send_depth = attr->send_depth;
	pool.max_send_sge = attr->max_send_sge;
	pool.max_inline = attr->max_inline;
	if (!err)
		err = make_target(q, rig, &address);
	if (!err)
		err = bsn_dc_pool_create(rig->device, &pool, &q->pool);
	if (!err)
		err = make_peers(q, peers, &address);
	if (err)
		return err;
	q->cq = bsn_dc_pool_cq(q->pool);
	q->rq = q->srq;
	q->ep = q->eps[0];
	return 0;
}

void bunsen_destroy_pool(struct bunsen_queue *q)
{
	for (unsigned p = 0; q->pool && p < q->ep_count; p++)
		bsn_dc_peer_destroy(q->eps[p]);
	if (q->pool)
		q->cq = NULL;
	bsn_dc_pool_destroy(q->pool);
	bsn_dct_destroy(q->dct);
}
