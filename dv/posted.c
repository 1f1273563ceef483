/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the requests in a send ring. */
#include "posted.h"

#include "bsn_decode.h"
#include "init.h"
#include "segments.h"

const uint8_t *bsn_sq_ds_at(const struct bsn_sq *sq, uint16_t index, unsigned ds)
{
	return bsn_sq_slot_of(sq, index + ds / BSN_BB_DS) + ds % BSN_BB_DS * BSN_DS_SIZE;
}

/* DS of the prefix of a request of RC, UC, XRC or DC, or 0. */
static unsigned prefix_at(const struct bsn_sq *sq, uint16_t index)
{
	struct bsn_av_dc av;

	if (dv_sq(sq)->transport != BSN_TRANSPORT_DC)
		return dv_sq(sq)->has_peers;
	bsn_av_dc_decode(&av, bsn_sq_ds_at(sq, index, 1));
	return (av.ext ? BSN_AV_DC_GRH_SIZE : BSN_AV_DC_SIZE) / BSN_DS_SIZE;
}

/* What follows the address vector of a request in @from's ring. */
struct rest {
	const struct bsn_sq *from;
	uint16_t index;
	unsigned first_ds, end_ds;
};

static uint8_t *put_rest(uint8_t *at, const void *arg)
{
	const struct rest *r = arg;

	for (unsigned ds = r->first_ds; ds < r->end_ds; ds++)
		at = put_copy(at, bsn_sq_ds_at(r->from, r->index, ds));
	return at;
}

/* The flags that the request was posted with. */
static uint32_t flags_of(const struct bsn_sq *sq, uint16_t index, const struct bsn_ctrl *ctrl)
{
	const bool is_hidden = dv_sq(sq)->hidden[index & dv_sq(sq)->bb_mask] == BSN_HIDDEN_FAILED;

	return (ctrl->ce == BSN_CE_ALWAYS && !is_hidden ? (uint32_t)BSN_F_SIGNALED : 0) |
	       (ctrl->solicited ? (uint32_t)BSN_F_SOLICITED : 0) |
	       (ctrl->fence ? (uint32_t)BSN_F_FENCE : 0);
}

int bsn_sq_post_again(const struct bsn_sq *from, uint16_t index, struct bsn_peer *peer)
{
	const uint64_t *kept = bsn_peer_ids(from, bsn_sq_slot_of(from, index));
	struct rest rest = { .from = from, .index = index };
	struct bsn_sq_body body = { .put = put_rest, .arg = &rest };
	struct bsn_ctrl ctrl;

	bsn_ctrl_decode(&ctrl, bsn_sq_slot_of(from, index));
	rest.first_ds = 1 + prefix_at(from, index);
	rest.end_ds = ctrl.ds;
	body.opmod = (uint8_t)ctrl.opmod;
	body.ds = ctrl.ds - prefix_at(from, index);
	memcpy(&peer->user, &kept[1], sizeof(peer->user));
	return bsn_ep_post_body(&peer->ep, BSN_WHAT(ctrl.opcode, flags_of(from, index, &ctrl), 0),
				ctrl.imm, &body, kept[0]);
}

unsigned bsn_sq_data_at(const struct bsn_sq *sq, uint16_t index, const struct bsn_ctrl *ctrl)
{
	if (ctrl->opmod || ctrl->opcode == BSN_OPCODE_ATOMIC_CS ||
	    ctrl->opcode == BSN_OPCODE_ATOMIC_FA)
		return ctrl->ds - 1;
	return 1 + prefix_at(sq, index) + is_one_of(BSN_OPS_WITH_RADDR, ctrl->opcode);
}

uint64_t bsn_sq_bytes_at(const struct bsn_sq *sq, uint16_t index)
{
	uint64_t bytes = 0;
	struct bsn_ctrl ctrl;

	bsn_ctrl_decode(&ctrl, bsn_sq_slot_of(sq, index));
	if (ctrl.opcode == BSN_OPCODE_NOP)
		return 0;
	for (unsigned ds = bsn_sq_data_at(sq, index, &ctrl); ds < ctrl.ds; ds++) {
		struct bsn_inline_hdr hdr;
		struct bsn_data data;
		bsn_inline_hdr_decode(&hdr, bsn_sq_ds_at(sq, index, ds));
		if (hdr.is_inline) /* inline data fill the rest */
			return bytes + hdr.byte_count;
		bsn_data_decode(&data, bsn_sq_ds_at(sq, index, ds));
		bytes += data.byte_count;
	}
	return bytes;
}
