/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes WQEs apart, segment by segment. */
#include "cursor.h"
#include "places.h"

/* -- the head ---------------------------------------------------------------------------------- */

/* A compact vector leaves the extension 0. */
static void decode_address(struct bsn_wqe *wqe, enum bsn_place place, const uint8_t *bytes)
{
	uint8_t whole[BSN_AV_UD_GRH_SIZE] = { 0 };

	memcpy(whole, bytes, bsn_places[place].size_bytes);
	if (place == BSN_PLACE_AV_DC || place == BSN_PLACE_AV_DC_GRH)
		bsn_av_dc_grh_decode(&wqe->to.dc, whole);
	else
		bsn_av_ud_grh_decode(&wqe->to.ud, whole);
}

/* Takes the inline headers, which begin in the Ethernet segment and continue after it. */
static int take_headers(struct cursor *at, const uint8_t *eth)
{
	struct bsn_wqe *wqe = at->wqe;
	const uint32_t inside = BSN_ETH_SIZE - BSN_ETH_START_OFFSET;
	uint32_t more;

	bsn_eth_decode(&wqe->eth, eth);
	if (wqe->eth.insert_vlan || !wqe->eth.inline_size)
		return 0;
	more = wqe->eth.inline_size > inside ? wqe->eth.inline_size - inside : 0;
	if (more > bytes_left(at))
		return refuse(at->bad, &bsn_eth_desc, "inline_size", at->offset - BSN_ETH_SIZE,
			      BSN_VENDOR_INLINE_PAST_END, "inline headers pass the WQE's end");
	wqe->eth_header = eth + BSN_ETH_START_OFFSET;
	wqe->total_bytes += wqe->eth.inline_size;
	wqe->parts[wqe->part_count - 1].inline_bytes = (uint16_t)more;
	at->offset += bsn_ds_of_bytes(more) * BSN_DS_SIZE;
	return 0;
}

/* The operands of an atomic, from `seg`, its segment. */
#define DEFINE_DECODE_OPERANDS(kind, size, ...)                                                    \
	static void decode_##kind(struct bsn_wqe_atomic *atomic, const uint8_t *bytes)             \
	{                                                                                          \
		struct bsn_##kind seg;                                                             \
                                                                                                   \
		bsn_##kind##_decode(&seg, bytes);                                                  \
		*atomic = (struct bsn_wqe_atomic){ .size_bytes = (size), __VA_ARGS__ };            \
	}
#define ADDED    .swap_or_add = seg.add
#define SWAPPED  .swap_or_add = seg.swap, .compare = seg.compare
#define UNMASKED .swap_mask = UINT64_MAX, .compare_mask = UINT64_MAX
#define MASKED   .swap_mask = seg.swap_mask, .compare_mask = seg.compare_mask
#define FIELDS   .field_boundary = seg.field_boundary

DEFINE_DECODE_OPERANDS(atomic_cs, 8, SWAPPED, UNMASKED)
DEFINE_DECODE_OPERANDS(atomic_fa, 8, ADDED, UNMASKED)
DEFINE_DECODE_OPERANDS(masked_cs, 8, SWAPPED, MASKED)
DEFINE_DECODE_OPERANDS(masked_fa, 8, ADDED, UNMASKED, FIELDS)
DEFINE_DECODE_OPERANDS(masked_cs32, 4, SWAPPED, MASKED)
DEFINE_DECODE_OPERANDS(masked_fa32, 4, ADDED, UNMASKED, FIELDS)

static int take_head(struct cursor *at, enum bsn_place place)
{
	struct bsn_wqe *wqe = at->wqe;
	const uint8_t *bytes;
	int err = take_segment(at, bsn_places[place].desc, &bytes);

	if (err)
		return err;
#define INTO(PLACE, seg, member)                                                                   \
	case BSN_PLACE_##PLACE:                                                                    \
		bsn_##seg##_decode(&wqe->member, bytes);                                           \
		return 0;
#define OPERANDS(PLACE, seg)                                                                       \
	case BSN_PLACE_##PLACE:                                                                    \
		decode_##seg(&wqe->atomic, bytes);                                                 \
		return 0;
	switch (place) {
		INTO(XRC, xrc, to.xrc)
		INTO(RADDR, raddr, raddr)
		INTO(MKEY_CTX, mkey_ctx, as.umr.mkey)
		INTO(SET_PSV, set_psv, as.set_psv)
		INTO(GET_PSV, get_psv, as.get_psv)
		INTO(CHECK_PSV, check_psv, as.check_psv)
		INTO(FMR, fmr, as.fmr)
		INTO(TM, tm, as.tm)
		INTO(WAIT_EN, wait_en, as.wait_en)
		INTO(WAIT_MEM, wait_mem, as.wait_mem)
		INTO(MMO, mmo, as.mmo)
		INTO(ASO, aso, as.aso)
		INTO(FLOW, flow, as.flow)
		OPERANDS(ATOMIC_CS, atomic_cs)
		OPERANDS(ATOMIC_FA, atomic_fa)
		OPERANDS(MASKED_CS, masked_cs)
		OPERANDS(MASKED_FA, masked_fa)
		OPERANDS(MASKED_CS32, masked_cs32)
		OPERANDS(MASKED_FA32, masked_fa32)
	case BSN_PLACE_UMR_CTRL:
		wqe->as.umr = (struct bsn_wqe_umr){ .form = BSN_UMR_NONE };
		bsn_umr_ctrl_decode(&wqe->as.umr.ctrl, bytes);
		return 0;
	case BSN_PLACE_ETH:
		return take_headers(at, bytes);
	default:
		decode_address(wqe, place, bytes);
		return 0;
	}
#undef OPERANDS
#undef INTO
}

/* -- data -------------------------------------------------------------------------------------- */

static int take_inline(struct cursor *at, struct bsn_wqe_data *data)
{
	struct bsn_inline_hdr hdr;
	size_t end;

	bsn_inline_hdr_decode(&hdr, at->wqe->bytes + at->offset);
	end = at->offset + BSN_INLINE_HDR_SIZE + hdr.byte_count;
	if (end > at->wqe->size_bytes)
		return refuse(at->bad, &bsn_inline_hdr_desc, "byte_count", at->offset,
			      BSN_VENDOR_INLINE_PAST_END, "inline data pass the WQE's end");
	data->bytes = at->wqe->bytes + at->offset + BSN_INLINE_HDR_SIZE;
	data->length_bytes = hdr.byte_count;
	add_part(at, &bsn_inline_hdr_desc)->inline_bytes = (uint16_t)hdr.byte_count;
	at->offset = bsn_ds_of_bytes((uint32_t)end) * BSN_DS_SIZE;
	return 0;
}

/* A byte count of 0 means 2^31. */
static void set_pointer(struct bsn_wqe_data *data, const struct bsn_data *seg)
{
	data->addr = seg->addr;
	data->lkey = seg->lkey;
	data->length_bytes = seg->byte_count ? seg->byte_count : BSN_DATA_MAX_BYTES + 1;
}

/* Takes a data segment; at least one DS is left. Inline, since most WQEs have only one. */
BSN_ALWAYS_INLINE int take_one(struct cursor *at)
{
	struct bsn_wqe *wqe = at->wqe;
	struct bsn_wqe_data *data = &wqe->data[wqe->data_count++];
	struct bsn_data seg;
	int err = 0;

	*data = (struct bsn_wqe_data){ .offset = (uint16_t)at->offset };
	bsn_data_decode(&seg, wqe->bytes + at->offset);
	if (seg.is_inline) {
		err = take_inline(at, data);
	} else {
		set_pointer(data, &seg);
		add_part(at, &bsn_data_desc);
		at->offset += BSN_DATA_SIZE;
	}
	wqe->total_bytes += data->length_bytes;
	return err;
}

static int take_data(struct cursor *at)
{
	int err = 0;

	while (bytes_left(at) && !err)
		err = take_one(at);
	return err;
}

static int take_pointer(struct cursor *at)
{
	if (bytes_left(at))
		return take_one(at);
	return refuse(at->bad, &bsn_data_desc, NULL, at->offset, BSN_VENDOR_DS_TOO_SHORT,
		      "the WQE's DS ends before this segment does");
}

/* Takes bytes after the last segment that no table describes. */
static int take_argument(struct cursor *at, uint16_t count)
{
	struct bsn_wqe *wqe = at->wqe;
	struct bsn_wqe_part *last = &wqe->parts[wqe->part_count - 1];

	if (bytes_left(at) < count)
		return refuse(at->bad, last->desc, NULL, at->offset, BSN_VENDOR_DS_TOO_SHORT,
			      "the WQE's DS ends before the data do");
	wqe->argument = wqe->bytes + at->offset;
	last->inline_bytes = count;
	at->offset += count;
	return 0;
}

static int take_tail(struct cursor *at, enum bsn_place place)
{
	switch (place) {
	case BSN_PLACE_DATA:
		return take_data(at);
	case BSN_PLACE_TRANSLATIONS:
		return take_translations(at);
	case BSN_PLACE_ASO_DATA:
		return bytes_left(at) ? take_argument(at, BSN_ASO_DATA_BYTES) : 0;
	case BSN_PLACE_FLOW_DATA:
		return take_argument(at, BSN_FLOW_DATA_BYTES);
	case BSN_PLACE_TM_BUFFER:
		return at->wqe->as.tm.op == BSN_TM_OP_APPEND ? take_pointer(at) : 0;
	case BSN_PLACE_MMO_FROM:
	case BSN_PLACE_MMO_TO:
		return take_pointer(at);
	default:
		return leave_raw(at);
	}
}

static int take_places(struct cursor *at, uint64_t places)
{
	uint64_t head = places & BSN_PLACES_IN_A_HEAD, tail = places & ~head;
	enum bsn_place place;
	int err = 0;

	while (!err && bsn_place_next(&head, &place)) {
		if (place != BSN_PLACE_ETH_PAD)
			err = take_head(at, place);
		else if (bytes_left(at) >= BSN_ETH_PAD_BYTES) /* else its segment is refused */
			at->offset += BSN_ETH_PAD_BYTES;
	}
	while (!err && bsn_place_next(&tail, &place))
		err = take_tail(at, place);
	return err;
}

/* -- a send WQE -------------------------------------------------------------------------------- */

/* Whether an address vector after the control segment is an extended one. */
static bool av_is_extended(const struct bsn_wqe *wqe)
{
	struct bsn_av_ud av; /* DC has the bit in the same place */

	if (BSN_CTRL_SIZE + BSN_AV_UD_SIZE > wqe->size_bytes)
		return false;
	bsn_av_ud_decode(&av, wqe->bytes + BSN_CTRL_SIZE);
	return av.ext;
}

static int take_operation(struct cursor *at)
{
	struct bsn_wqe *wqe = at->wqe;
	uint64_t places;

	if (!wqe->op) {
		wqe->raw_is_read = true;
		return 0;
	}
	places = bsn_wqe_places(wqe->op, wqe->transport, wqe->ctrl.opmod, av_is_extended(wqe));
	if (!places)
		return refuse(at->bad, &bsn_ctrl_desc, "opmod", 0, BSN_VENDOR_WQE_FORMAT,
			      "the operation has no form for this opcode modifier");
	return take_places(at, places & ~BSN_PLACE(CTRL));
}

int bsn_wqe_decode(const void *bytes, size_t size, enum bsn_transport transport,
		   struct bsn_wqe *wqe, struct bsn_bad *bad)
{
	struct cursor at = { .wqe = wqe, .bad = bad };
	int err;

	if (size < BSN_CTRL_SIZE)
		return refuse(bad, &bsn_ctrl_desc, NULL, 0, BSN_VENDOR_WQE_FORMAT,
			      "fewer bytes than a control segment has");
	bsn_ctrl_decode(&wqe->ctrl, bytes);
	if (!wqe->ctrl.ds)
		return refuse(bad, &bsn_ctrl_desc, "ds", 0, BSN_VENDOR_DS_TOO_SHORT,
			      "the length is 0");
	if (wqe->ctrl.ds * BSN_DS_SIZE > size)
		return refuse(bad, &bsn_ctrl_desc, "ds", 0, BSN_VENDOR_WQE_FORMAT,
			      "the WQE is longer than the bytes given");

	wqe->bytes = bytes;
	wqe->size_bytes = (uint16_t)(wqe->ctrl.ds * BSN_DS_SIZE);
	wqe->transport = transport;
	wqe->op = bsn_wqe_op_find(wqe->ctrl.opcode);
	wqe->eth_header = NULL;
	wqe->argument = NULL;
	wqe->total_bytes = 0;
	wqe->raw_is_read = false;
	wqe->part_count = 0;
	wqe->data_count = 0;
	add_part(&at, &bsn_ctrl_desc);
	at.offset = BSN_CTRL_SIZE;
	err = take_operation(&at);
	wqe->raw_offset = (uint16_t)at.offset;
	return err;
}

/* -- a receive WQE ----------------------------------------------------------------------------- */

/* Takes the head of a receive WQE. Returns its size, or -EBADMSG. */
static int take_recv_head(const uint8_t *src, size_t size, struct bsn_recv_wqe *recv,
			  struct bsn_bad *bad)
{
	if (recv->head == BSN_RECV_PLAIN)
		return 0;
	if (recv->head == BSN_RECV_LINKED) {
		if (size < BSN_SRQ_NEXT_SIZE)
			return refuse(bad, &bsn_srq_next_desc, NULL, 0, BSN_VENDOR_WQE_FORMAT,
				      "fewer bytes than a link has");
		bsn_srq_next_decode(&recv->next, src);
		return BSN_SRQ_NEXT_SIZE;
	}
	if (size < BSN_RECV_SIG_SIZE)
		return refuse(bad, &bsn_recv_sig_desc, NULL, 0, BSN_VENDOR_WQE_FORMAT,
			      "fewer bytes than a signature has");
	bsn_recv_sig_decode(&recv->signed_by, src);
	return BSN_RECV_SIG_SIZE;
}

int bsn_recv_decode(const void *bytes, size_t size, enum bsn_recv_head head,
		    struct bsn_recv_wqe *recv, struct bsn_bad *bad)
{
	const uint8_t *src = bytes;
	size_t offset;
	int begin;

	*recv = (struct bsn_recv_wqe){ .head = head };
	begin = take_recv_head(src, size, recv, bad);
	if (begin < 0)
		return begin;
	offset = (size_t)begin;
	for (; offset + BSN_DATA_SIZE <= size; offset += BSN_DATA_SIZE) {
		struct bsn_wqe_data *data = &recv->data[recv->data_count];
		struct bsn_data seg;

		bsn_data_decode(&seg, src + offset);
		if (!seg.byte_count && seg.lkey == BSN_LKEY_TERMINATOR)
			break;
		if (seg.is_inline)
			return refuse(bad, &bsn_data_desc, "is_inline", offset,
				      BSN_VENDOR_INLINE_IN_SCATTER, "inline data in a receive WQE");
		if (recv->data_count == BSN_RECV_MAX_DATA)
			return refuse(bad, &bsn_data_desc, NULL, offset, BSN_VENDOR_WQE_FORMAT,
				      "more data pointers than a receive WQE can have");
		*data = (struct bsn_wqe_data){ .offset = (uint16_t)offset };
		set_pointer(data, &seg);
		recv->total_bytes += data->length_bytes;
		recv->data_count++;
	}
	return 0;
}
