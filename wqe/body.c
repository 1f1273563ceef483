/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes apart the operations that are no messages: memory keys, waiting, memory to memory. */
#include "cursor.h"

/* -- UMR --------------------------------------------------------------------------------------- */

static uint32_t room_of(const struct cursor *at)
{
	return (uint32_t)(bytes_left(at) / BSN_XLT_SIZE);
}

static struct bsn_wqe_data *add_data(struct cursor *at)
{
	struct bsn_wqe_data *data = &at->wqe->data[at->wqe->data_count++];

	*data = (struct bsn_wqe_data){ .offset = (uint16_t)at->offset };
	return data;
}

static int take_klm(struct cursor *at)
{
	struct bsn_wqe_data *data = add_data(at);
	struct bsn_klm klm;
	int err = TAKE_INTO(at, klm, &klm);

	if (err)
		return err;
	data->addr = klm.va;
	data->lkey = klm.mkey;
	data->length_bytes = klm.byte_count;
	at->wqe->total_bytes += klm.byte_count;
	return 0;
}

static int take_list(struct cursor *at, uint32_t count)
{
	int err = 0;

	at->wqe->as.umr.form = BSN_UMR_LIST;
	while (count-- && !err)
		err = take_klm(at);
	return err;
}

static int take_repeat_entry(struct cursor *at)
{
	struct bsn_wqe_data *data = add_data(at);
	struct bsn_repeat_entry entry;
	int err = TAKE_INTO(at, repeat_entry, &entry);

	if (err)
		return err;
	data->addr = entry.va;
	data->lkey = entry.mkey;
	data->length_bytes = entry.byte_count;
	data->stride_bytes = (uint16_t)entry.stride;
	return 0;
}

/* A repeat block in `count` octowords, which may have more of them than entries. */
static int take_repeat(struct cursor *at, uint32_t count)
{
	struct bsn_wqe_umr *umr = &at->wqe->as.umr;
	const size_t start = at->offset, end = start + (size_t)count * BSN_XLT_SIZE;
	int err = TAKE_INTO(at, repeat, &umr->repeat);

	umr->form = BSN_UMR_REPEAT;
	if (!err && umr->repeat.num_entries > count - 1)
		return refuse(at->bad, &bsn_repeat_desc, "num_entries", start,
			      BSN_VENDOR_WQE_FORMAT, "more entries than there are translations");
	for (uint32_t i = 0; !err && i < umr->repeat.num_entries; i++)
		err = take_repeat_entry(at);
	at->offset = end;
	at->wqe->total_bytes = (uint64_t)umr->repeat.byte_count * umr->repeat.repeat_count;
	return err;
}

static int take_translations(struct cursor *at)
{
	const uint32_t count = at->wqe->as.umr.ctrl.klm_octowords;
	struct bsn_klm first;

	if (!count)
		return 0;
	if (count > room_of(at))
		return refuse(at->bad, &bsn_umr_ctrl_desc, "klm_octowords", BSN_CTRL_SIZE,
			      BSN_VENDOR_DS_TOO_SHORT,
			      "the WQE's DS ends before its translations do");
	bsn_klm_decode(&first, at->wqe->bytes + at->offset);
	return first.mkey == BSN_REPEAT_OP ? take_repeat(at, count) : take_list(at, count);
}

static int take_bsf(struct cursor *at)
{
	struct bsn_wqe_umr *umr = &at->wqe->as.umr;
	const uint32_t count = umr->ctrl.has_offset ? 0 : umr->ctrl.offset_or_bsf;
	const uint8_t *bytes;
	struct bsn_bsf bsf;
	int err = 0;

	if (count > room_of(at))
		return refuse(at->bad, &bsn_umr_ctrl_desc, "offset_or_bsf", BSN_CTRL_SIZE,
			      BSN_VENDOR_DS_TOO_SHORT, "the WQE's DS ends before its BSF does");
	if (count) {
		umr->bsf = at->wqe->bytes + at->offset;
		umr->bsf_bytes = (uint16_t)(count * BSN_XLT_SIZE);
	}
	for (uint32_t left = count * BSN_XLT_SIZE; left && !err; left -= BSN_BSF_SIZE) {
		if (left < BSN_BSF_SIZE)
			return leave_raw(at);
		bsn_bsf_decode(&bsf, at->wqe->bytes + at->offset);
		if (bsf.type > BSN_BSF_TYPE_CRYPTO)
			return leave_raw(at);
		err = take_segment(at, bsf.type ? &bsn_bsf_crypto_desc : &bsn_bsf_desc, &bytes);
	}
	return err;
}

static int take_umr(struct cursor *at)
{
	struct bsn_wqe_umr *umr = &at->wqe->as.umr;
	int err;

	*umr = (struct bsn_wqe_umr){ .form = BSN_UMR_NONE };
	err = TAKE_INTO(at, umr_ctrl, &umr->ctrl);
	if (!err)
		err = TAKE_INTO(at, mkey_ctx, &umr->mkey);
	if (err)
		return err;
	if (at->wqe->ctrl.opmod) /* parameters of TLS or IPsec follow */
		return leave_raw(at);
	if (umr->ctrl.is_inline) {
		err = take_translations(at);
		return err ? err : take_bsf(at);
	}
	if (!umr->ctrl.klm_octowords && !bytes_left(at))
		return 0;
	umr->form = BSN_UMR_POINTER;
	err = take_klm(at);
	return err || !bytes_left(at) ? err : leave_raw(at);
}

/* -- the others -------------------------------------------------------------------------------- */

static int take_set_psv(struct cursor *at)
{
	if (at->wqe->ctrl.opmod) /* the progress of TLS */
		return leave_raw(at);
	return TAKE_INTO(at, set_psv, &at->wqe->as.set_psv);
}

static int take_tm(struct cursor *at)
{
	int err = TAKE_INTO(at, tm, &at->wqe->as.tm);

	return err || at->wqe->as.tm.op != BSN_TM_OP_APPEND ? err : take_pointer(at);
}

static int take_wait(struct cursor *at)
{
	if (at->wqe->ctrl.opmod == BSN_WAIT_CQ)
		return TAKE_INTO(at, wait_en, &at->wqe->as.wait_en);
	if (at->wqe->ctrl.opmod <= BSN_WAIT_TIME)
		return TAKE_INTO(at, wait_mem, &at->wqe->as.wait_mem);
	return leave_raw(at);
}

static int take_mmo(struct cursor *at)
{
	int err = TAKE_INTO(at, mmo, &at->wqe->as.mmo);

	if (!err)
		err = take_pointer(at);
	return err ? err : take_pointer(at);
}

/* `count` bytes that no table describes, behind the segment just taken. */
static int take_argument(struct cursor *at, const struct bsn_seg_desc *desc, uint16_t count)
{
	struct bsn_wqe *wqe = at->wqe;

	if (bytes_left(at) < count)
		return refuse(at->bad, desc, NULL, at->offset, BSN_VENDOR_DS_TOO_SHORT,
			      "the WQE's DS ends before the data do");
	wqe->argument = wqe->bytes + at->offset;
	wqe->parts[wqe->part_count - 1].inline_bytes = count;
	at->offset += count;
	return 0;
}

static int take_aso(struct cursor *at)
{
	int err = TAKE_INTO(at, aso, &at->wqe->as.aso);

	if (err || !bytes_left(at))
		return err;
	return take_argument(at, &bsn_aso_desc, BSN_ASO_DATA_BYTES);
}

static int take_flow(struct cursor *at)
{
	int err = TAKE_INTO(at, flow, &at->wqe->as.flow);

	return err ? err : take_argument(at, &bsn_flow_desc, BSN_FLOW_DATA_BYTES);
}

int take_body(struct cursor *at)
{
	struct bsn_wqe *wqe = at->wqe;

	switch (wqe->op->body) {
	case BSN_BODY_DATA:
		return take_data(at);
	case BSN_BODY_UMR:
		return take_umr(at);
	case BSN_BODY_SET_PSV:
		return take_set_psv(at);
	case BSN_BODY_GET_PSV:
		return TAKE_INTO(at, get_psv, &wqe->as.get_psv);
	case BSN_BODY_CHECK_PSV:
		return TAKE_INTO(at, check_psv, &wqe->as.check_psv);
	case BSN_BODY_FMR:
		return TAKE_INTO(at, fmr, &wqe->as.fmr);
	case BSN_BODY_TM:
		return take_tm(at);
	case BSN_BODY_WAIT:
		return take_wait(at);
	case BSN_BODY_WAIT_EN:
		return TAKE_INTO(at, wait_en, &wqe->as.wait_en);
	case BSN_BODY_MMO:
		return take_mmo(at);
	case BSN_BODY_ASO:
		return take_aso(at);
	case BSN_BODY_FLOW:
		return take_flow(at);
	default:
		return leave_raw(at);
	}
}
