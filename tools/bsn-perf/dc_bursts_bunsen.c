/* SPDX-License-Identifier: BSD-2-Clause */
/* Bursts by a pool of ours, with its policy by default. */
#include "dc_bursts.h"

#include <stdlib.h>

enum { KEY = 0x5eed, POLLED = 16 };

static struct {
	struct bsn_dc_pool *pool;
	struct bsn_ep *peers[DC_PEERS];
	struct bsn_mr *memory;
	struct bsn_sge local;
	struct bsn_remote remote;
} side;

/* All peers are one target: to the pool each is one of its own. */
static int make_peers(struct bsn_device *device)
{
	struct bsn_dct_attr target = { .access_key = KEY };
	struct bsn_address address;
	struct bsn_dct *dct;
	int err = bsn_cq_create(device, NULL, &target.cq);

	if (!err)
		err = bsn_srq_create(device, &(struct bsn_srq_attr){ .recv_depth = 1 },
				     &target.srq);
	if (!err)
		err = bsn_dct_create(device, &target, &dct);
	if (!err)
		err = bsn_dct_address(dct, &address);
	for (int p = 0; !err && p < DC_PEERS; p++)
		err = bsn_dc_peer_create(side.pool, &address, NULL, NULL, &side.peers[p]);
	return err;
}

static const char *open_side(const char *name, const struct dc_plan *plan)
{
	const struct bsn_dc_pool_attr attr = { .initiators = plan->initiators };
	struct bsn_device *device;
	int err = bsn_device_open(name, NULL, &device);

	if (!err)
		err = bsn_buf_alloc(device, 2 * (size_t)plan->bytes, NULL, &side.memory);
	if (!err)
		err = bsn_dc_pool_create(device, &attr, &side.pool);
	if (!err)
		err = make_peers(device);
	if (err)
		return bsn_error_text();
	side.local = (struct bsn_sge){ side.memory->addr, plan->bytes, side.memory->lkey };
	side.remote = (struct bsn_remote){ side.memory->addr + plan->bytes, side.memory->rkey };
	return NULL;
}

static bool put(unsigned peer, enum dc_way way)
{
	static const uint8_t data[DC_INLINE_BYTES];
	struct bsn_ep *ep = side.peers[peer];

	if (way == DC_WAY_INLINE)
		return !bsn_write_inline(ep, data, sizeof(data), &side.remote, 1,
					 BSN_F_SIGNALED | BSN_F_RING);
	return !bsn_write(ep, &side.local, &side.remote, 1, BSN_F_SIGNALED | BSN_F_RING);
}

static unsigned poll(void)
{
	struct bsn_completion done[POLLED];
	const int got = bsn_poll(bsn_dc_pool_cq(side.pool), done, POLLED);
	unsigned ended = 0;

	for (int k = 0; k < got; k++)
		ended += !done[k].status;
	return ended;
}

const struct dc_side dc_side_bunsen = {
	"bunsen", { "bsn_write", "bsn_write_inline" }, open_side, put, poll
};
