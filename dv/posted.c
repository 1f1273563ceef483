/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the requests in a send ring. */
#include "posted.h"

#include "bsn_build.h"
#include "bsn_decode.h"
#include "init.h"

static const uint8_t *block_at(const struct bsn_sq *sq, unsigned index)
{
	return sq->ring + (size_t)(index & sq->bb_mask) * BSN_BB_SIZE;
}

struct bsn_posted bsn_sq_posted_at(const struct bsn_sq *sq, uint16_t index)
{
	struct bsn_ctrl ctrl;

	bsn_ctrl_decode(&ctrl, block_at(sq, index));
	return (struct bsn_posted){ .opcode = (uint8_t)ctrl.opcode,
				    .count_bb = (uint16_t)bsn_bb_of_ds(ctrl.ds),
				    .stream = (uint16_t)ctrl.dci_stream };
}

/* A request may go round the ring's end. */
static const uint8_t *ds_at(const struct bsn_sq *sq, uint16_t index, unsigned ds)
{
	return block_at(sq, index + ds / BSN_BB_DS) + ds % BSN_BB_DS * BSN_DS_SIZE;
}

/* Units of the address vector, where a request has one. */
static unsigned prefix_at(const struct bsn_sq *sq, uint16_t index)
{
	struct bsn_av_dc av;

	if (sq->transport != BSN_TRANSPORT_DC)
		return sq->has_peers;
	bsn_av_dc_decode(&av, ds_at(sq, index, 1));
	return (av.ext ? BSN_AV_DC_GRH_SIZE : BSN_AV_DC_SIZE) / BSN_DS_SIZE;
}

/* Where its data begin. What has an opmod ends with one data pointer: an atomic's result, a copy's target. */
static unsigned data_at(const struct bsn_sq *sq, uint16_t index, const struct bsn_ctrl *ctrl)
{
	if (ctrl->opmod || ctrl->opcode == BSN_OPCODE_ATOMIC_CS || ctrl->opcode == BSN_OPCODE_ATOMIC_FA)
		return ctrl->ds - 1;
	return 1 + prefix_at(sq, index) + is_one_of(bsn_wqe_sets.with_raddr, ctrl->opcode);
}

uint64_t bsn_sq_bytes_at(const struct bsn_sq *sq, uint16_t index)
{
	uint64_t bytes = 0;
	struct bsn_ctrl ctrl;

	bsn_ctrl_decode(&ctrl, block_at(sq, index));
	if (ctrl.opcode == BSN_OPCODE_NOP)
		return 0;
	for (unsigned ds = data_at(sq, index, &ctrl); ds < ctrl.ds; ds++) {
		struct bsn_inline_hdr hdr;
		struct bsn_data data;
		bsn_inline_hdr_decode(&hdr, ds_at(sq, index, ds));
		if (hdr.is_inline) /* one piece, to the end */
			return bytes + hdr.byte_count;
		bsn_data_decode(&data, ds_at(sq, index, ds));
		bytes += data.byte_count;
	}
	return bytes;
}
