/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes what follows the head of a UMR: translations and BSFs. */
#include "cursor.h"

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

/* Takes a repeat block of `count` octowords; it may have fewer entries than octowords. */
static int take_repeat(struct cursor *at, uint32_t count)
{
	struct bsn_wqe_umr *umr = &at->wqe->as.umr;
	const size_t start = at->offset, end = start + (size_t)count * BSN_XLT_SIZE;
	int err = TAKE_INTO(at, repeat, &umr->repeat);

	umr->form = BSN_UMR_REPEAT;
	if (!err && umr->repeat.num_entries > count - 1)
		return refuse(at->bad, &bsn_repeat_desc, "num_entries", start,
			      BSN_VENDOR_WQE_FORMAT, "more entries than klm_octowords counts");
	for (uint32_t i = 0; !err && i < umr->repeat.num_entries; i++)
		err = take_repeat_entry(at);
	at->offset = end;
	at->wqe->total_bytes = (uint64_t)umr->repeat.byte_count * umr->repeat.repeat_count;
	return err;
}

static int take_inline_translations(struct cursor *at)
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

int take_translations(struct cursor *at)
{
	struct bsn_wqe_umr *umr = &at->wqe->as.umr;
	int err;

	if (umr->ctrl.is_inline) {
		err = take_inline_translations(at);
		return err ? err : take_bsf(at);
	}
	if (!umr->ctrl.klm_octowords && !bytes_left(at))
		return 0;
	umr->form = BSN_UMR_POINTER;
	err = take_klm(at);
	return err || !bytes_left(at) ? err : leave_raw(at);
}
