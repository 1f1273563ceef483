/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes WQEs and CQEs apart. */
#include "cursor.h"

#define ON(transport) (1u << BSN_TRANSPORT_##transport)
#define RELIABLE      (ON(RC) | ON(DC) | ON(XRC))
#define CONNECTED     (RELIABLE | ON(UC))
#define PACKETS       (ON(ETH) | ON(IPOIB))
#define ANY           (CONNECTED | ON(UD) | PACKETS)

/*
 * What is legal where: rdma-core's qp.c MLX5_SUPPORTED_SEND_OPS_FLAGS_*, IBTA "Operation types"; the
 * kernel and DPDK post UMR, TLS, steering and waiting to queues of raw packets too.
 * Which segments an operation has: PRM, the chapters of the operations, and the sources named at
 * the tables of the segments.
 */
static const struct bsn_wqe_op ops[] = {
#define OP(opcode, transports, has_raddr, has_atomic, data, imm, body, max_opmod)                  \
	{                                                                                          \
#opcode, BSN_OPCODE_##opcode, transports, has_raddr, has_atomic, BSN_DATA_##data,  \
			BSN_IMM_##imm, BSN_BODY_##body, max_opmod                                  \
	}
#define MESSAGE(opcode, transports, raddr, data, imm)                                              \
	OP(opcode, transports, raddr, false, data, imm, MESSAGE, 0)
#define ATOMIC(opcode, max_opmod)                                                                  \
	OP(opcode, RELIABLE, true, true, SCATTER, NONE, MESSAGE, max_opmod)
#define OTHER(opcode, transports, imm, body, max_opmod)                                            \
	OP(opcode, transports, false, false, NONE, imm, body, max_opmod)
	MESSAGE(NOP, ANY, false, NONE, NONE),
	MESSAGE(SEND_INVAL, CONNECTED, false, GATHER, INVALIDATE),
	MESSAGE(RDMA_WRITE, CONNECTED, true, GATHER, NONE),
	MESSAGE(RDMA_WRITE_IMM, CONNECTED, true, GATHER, IMMEDIATE),
	MESSAGE(SEND, ANY, false, GATHER, NONE),
	MESSAGE(SEND_IMM, CONNECTED | ON(UD), false, GATHER, IMMEDIATE),
	MESSAGE(RDMA_READ, RELIABLE, true, SCATTER, NONE),
	ATOMIC(ATOMIC_CS, 0),
	ATOMIC(ATOMIC_FA, 0),
	ATOMIC(ATOMIC_MASKED_CS, BSN_OPMOD_MASKED(8)),
	ATOMIC(ATOMIC_MASKED_FA, BSN_OPMOD_MASKED(8)),
	OP(TSO, PACKETS, false, false, GATHER, NONE, PACKETS, 1),
	OP(ENHANCED_MPSW, ON(ETH), false, false, GATHER, NONE, PACKETS, 0),
	OP(DUMP, ON(ETH), false, false, GATHER, OBJECT, DATA, 0),
	OTHER(WAIT, ANY, NONE, WAIT, BSN_WAIT_TIME),
	OTHER(RCV_EN, ANY, NONE, WAIT_EN, 0),
	OTHER(SEND_EN, ANY, NONE, WAIT_EN, 0),
	OTHER(BIND_MW, CONNECTED, NONE, RAW, 0),
	OTHER(FMR, CONNECTED, NONE, FMR, 0),
	OTHER(LOCAL_INVAL, CONNECTED, INVALIDATE, RAW, 0),
	OTHER(CONFIG_CMD, ANY, NONE, RAW, UINT8_MAX),
	OTHER(SET_PSV, CONNECTED | ON(ETH), OBJECT, SET_PSV, 2),
	OTHER(GET_PSV, CONNECTED | ON(ETH), OBJECT, GET_PSV, 2),
	OTHER(CHECK_PSV, CONNECTED | ON(ETH), OBJECT, CHECK_PSV, 0),
	OTHER(UMR, CONNECTED | ON(ETH), MKEY, UMR, 2),
	OTHER(RGET_PSV, RELIABLE, OBJECT, RAW, 0),
	OTHER(RCHECK_PSV, RELIABLE, OBJECT, RAW, 0),
	OTHER(TAG_MATCHING, ON(RC), NONE, TM, 0),
	OTHER(FLOW_TBL_ACCESS, ON(RC) | ON(ETH), OBJECT, FLOW, UINT8_MAX),
	OTHER(ACCESS_ASO, ON(RC) | ON(ETH), OBJECT, ASO, UINT8_MAX),
	OTHER(MMO, RELIABLE | ON(ETH), OBJECT, MMO, BSN_MMO_REGEX),
#undef OTHER
#undef ATOMIC
#undef MESSAGE
#undef OP
};

const struct bsn_wqe_op *bsn_wqe_op_find(uint32_t opcode)
{
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (ops[i].opcode == opcode)
			return &ops[i];
	return NULL;
}

/* Whether the address vector at the cursor is an extended one; a short WQE is refused later. */
static bool av_is_extended(const struct cursor *at)
{
	struct bsn_av_ud av;

	if (at->offset + BSN_AV_UD_SIZE > at->wqe->size_bytes)
		return false;
	bsn_av_ud_decode(&av, at->wqe->bytes + at->offset);
	return av.ext;
}

static int take_destination(struct cursor *at)
{
	struct bsn_wqe *wqe = at->wqe;
	const struct bsn_seg_desc *desc;
	uint8_t whole[BSN_AV_UD_GRH_SIZE] = { 0 };
	const uint8_t *bytes;
	int err;

	switch (wqe->transport) {
	case BSN_TRANSPORT_UD:
	case BSN_TRANSPORT_IPOIB:
		desc = av_is_extended(at) ? &bsn_av_ud_grh_desc : &bsn_av_ud_desc;
		break;
	case BSN_TRANSPORT_DC:
		desc = av_is_extended(at) ? &bsn_av_dc_grh_desc : &bsn_av_dc_desc;
		break;
	case BSN_TRANSPORT_XRC:
		desc = &bsn_xrc_desc;
		break;
	default:
		return 0;
	}
	err = take_segment(at, desc, &bytes);
	if (err)
		return err;
	memcpy(whole, bytes, desc->size_bytes);
	if (wqe->transport == BSN_TRANSPORT_DC)
		bsn_av_dc_grh_decode(&wqe->to.dc, whole);
	else if (wqe->transport == BSN_TRANSPORT_XRC)
		bsn_xrc_decode(&wqe->to.xrc, whole);
	else
		bsn_av_ud_grh_decode(&wqe->to.ud, whole);
	return 0;
}

/* The Ethernet segment, and the headers that begin in it. */
static int take_eth(struct cursor *at)
{
	struct bsn_wqe *wqe = at->wqe;
	const size_t inside = BSN_ETH_SIZE - BSN_ETH_START_OFFSET;
	const uint8_t *bytes;
	size_t more;
	int err;

	if (wqe->transport == BSN_TRANSPORT_IPOIB && bytes_left(at) >= BSN_ETH_PAD_BYTES)
		at->offset += BSN_ETH_PAD_BYTES;
	err = take_segment(at, &bsn_eth_desc, &bytes);
	if (err)
		return err;
	bsn_eth_decode(&wqe->eth, bytes);
	if (wqe->eth.insert_vlan || !wqe->eth.inline_size)
		return 0;
	more = wqe->eth.inline_size > inside ? wqe->eth.inline_size - inside : 0;
	if (more > bytes_left(at))
		return refuse(at->bad, &bsn_eth_desc, "inline_size", at->offset - BSN_ETH_SIZE,
			      BSN_VENDOR_INLINE_PAST_END, "inline headers pass the WQE's end");
	wqe->eth_header = bytes + BSN_ETH_START_OFFSET;
	wqe->total_bytes += wqe->eth.inline_size;
	wqe->parts[wqe->part_count - 1].inline_bytes = (uint16_t)more;
	at->offset += (more + BSN_DS_SIZE - 1) / BSN_DS_SIZE * BSN_DS_SIZE;
	return 0;
}

static int take_raddr(struct cursor *at)
{
	return TAKE_INTO(at, raddr, &at->wqe->raddr);
}

/* Takes the atomic's segment and decodes it into a variable `seg` of the caller's. */
#define TAKE_ATOMIC(at, kind)                                                                      \
	struct bsn_##kind seg;                                                                     \
	int err = TAKE_INTO(at, kind, &seg);                                                       \
	if (err)                                                                                   \
	return err

static int take_plain_cs(struct cursor *at, struct bsn_wqe_atomic *atomic)
{
	TAKE_ATOMIC(at, atomic_cs);
	atomic->swap_or_add = seg.swap;
	atomic->compare = seg.compare;
	return 0;
}

static int take_plain_fa(struct cursor *at, struct bsn_wqe_atomic *atomic)
{
	TAKE_ATOMIC(at, atomic_fa);
	atomic->swap_or_add = seg.add;
	return 0;
}

#define DEFINE_TAKE_MASKED_CS(kind)                                                                \
	static int take_##kind(struct cursor *at, struct bsn_wqe_atomic *atomic)                   \
	{                                                                                          \
		TAKE_ATOMIC(at, kind);                                                             \
		atomic->swap_or_add = seg.swap;                                                    \
		atomic->compare = seg.compare;                                                     \
		atomic->swap_mask = seg.swap_mask;                                                 \
		atomic->compare_mask = seg.compare_mask;                                           \
		return 0;                                                                          \
	}
#define DEFINE_TAKE_MASKED_FA(kind)                                                                \
	static int take_##kind(struct cursor *at, struct bsn_wqe_atomic *atomic)                   \
	{                                                                                          \
		TAKE_ATOMIC(at, kind);                                                             \
		atomic->swap_or_add = seg.add;                                                     \
		atomic->field_boundary = seg.field_boundary;                                       \
		return 0;                                                                          \
	}

DEFINE_TAKE_MASKED_CS(masked_cs)
DEFINE_TAKE_MASKED_CS(masked_cs32)
DEFINE_TAKE_MASKED_FA(masked_fa)
DEFINE_TAKE_MASKED_FA(masked_fa32)

static int take_atomic(struct cursor *at)
{
	struct bsn_wqe *wqe = at->wqe;
	struct bsn_wqe_atomic *atomic = &wqe->atomic;
	const bool is_cs = wqe->op->opcode == BSN_OPCODE_ATOMIC_CS ||
			   wqe->op->opcode == BSN_OPCODE_ATOMIC_MASKED_CS;

	*atomic = (struct bsn_wqe_atomic){ .size_bytes = 8,
					   .swap_mask = UINT64_MAX,
					   .compare_mask = UINT64_MAX };
	if (wqe->op->opcode == BSN_OPCODE_ATOMIC_CS)
		return take_plain_cs(at, atomic);
	if (wqe->op->opcode == BSN_OPCODE_ATOMIC_FA)
		return take_plain_fa(at, atomic);
	if (wqe->ctrl.opmod == BSN_OPMOD_MASKED(8))
		return is_cs ? take_masked_cs(at, atomic) : take_masked_fa(at, atomic);
	if (wqe->ctrl.opmod != BSN_OPMOD_MASKED(4))
		return refuse(at->bad, &bsn_ctrl_desc, "opmod", 0, BSN_VENDOR_WQE_FORMAT,
			      "a masked atomic of neither 4 nor 8 bytes");
	atomic->size_bytes = 4;
	return is_cs ? take_masked_cs32(at, atomic) : take_masked_fa32(at, atomic);
}

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
	at->offset = (end + BSN_DS_SIZE - 1) / BSN_DS_SIZE * BSN_DS_SIZE;
	return 0;
}

static void set_pointer(struct bsn_wqe_data *data, const struct bsn_data *seg)
{
	data->addr = seg->addr;
	data->lkey = seg->lkey;
	data->length_bytes = seg->byte_count ? seg->byte_count : BSN_DATA_MAX_BYTES + 1;
}

/* One data segment; the WQE is not at its end. */
static int take_one(struct cursor *at)
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

int take_data(struct cursor *at)
{
	int err = 0;

	while (bytes_left(at) && !err)
		err = take_one(at);
	return err;
}

int take_pointer(struct cursor *at)
{
	if (bytes_left(at))
		return take_one(at);
	return refuse(at->bad, &bsn_data_desc, NULL, at->offset, BSN_VENDOR_DS_TOO_SHORT,
		      "the WQE's DS ends before this segment does");
}

static int take_message(struct cursor *at)
{
	const struct bsn_wqe *wqe = at->wqe;
	const struct bsn_wqe_op *op = wqe->op;
	int err;

	if (op->data == BSN_DATA_NONE)
		return 0;
	err = take_destination(at);
	if (!err && (op->body == BSN_BODY_PACKETS || wqe->transport == BSN_TRANSPORT_ETH ||
		     wqe->transport == BSN_TRANSPORT_IPOIB))
		err = take_eth(at);
	if (!err && op->has_raddr)
		err = take_raddr(at);
	if (!err && op->has_atomic)
		err = take_atomic(at);
	return err ? err : take_data(at);
}

static int take_operation(struct cursor *at)
{
	const struct bsn_wqe_op *op = at->wqe->op;

	if (!op)
		return leave_raw(at);
	if (op->body == BSN_BODY_MESSAGE || op->body == BSN_BODY_PACKETS)
		return take_message(at);
	return take_body(at);
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
			      "a WQE without length");
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

void bsn_piece_iter_init(struct bsn_piece_iter *iter, const struct bsn_wqe *wqe)
{
	*iter = (struct bsn_piece_iter){ .wqe = wqe };
}

/* The piece at the iterator's place: the next part's segment, or what lies before it. */
static void set_piece(struct bsn_piece_iter *iter, struct bsn_piece *piece)
{
	const struct bsn_wqe *wqe = iter->wqe;
	const struct bsn_wqe_part *next = &wqe->parts[iter->index];
	const uint16_t described = iter->index < wqe->part_count ? next->offset : wqe->raw_offset;
	uint16_t end;

	if (iter->offset == described && iter->index < wqe->part_count) {
		*piece = (struct bsn_piece){ .kind = BSN_PIECE_SEGMENT,
					     .desc = next->desc,
					     .size_bytes = next->desc->size_bytes };
		iter->index++;
		return;
	}
	*piece = (struct bsn_piece){ .kind = BSN_PIECE_RAW };
	end = wqe->size_bytes;
	if (iter->offset < described) { /* then there was a part before */
		const struct bsn_wqe_part *last = next - 1;
		const uint16_t data = (uint16_t)(last->offset + last->desc->size_bytes);

		end = (uint16_t)(data + last->inline_bytes);
		piece->kind = iter->offset < end ? BSN_PIECE_INLINE : BSN_PIECE_PADDING;
		if (iter->offset >= end)
			end = described;
	}
	piece->size_bytes = end - iter->offset;
}

bool bsn_piece_next(struct bsn_piece_iter *iter, struct bsn_piece *piece)
{
	if (iter->offset >= iter->wqe->size_bytes)
		return false;
	set_piece(iter, piece);
	piece->offset = iter->offset;
	iter->offset += piece->size_bytes;
	return true;
}

/* What a receive WQE begins with; the offset of what follows, or -EBADMSG. */
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

static const struct bsn_seg_desc *pick_view(const struct bsn_cqe_tail *tail)
{
	/* An array of the enhanced layout has its count in the opcode's place. */
	if (tail->format == BSN_CQE_COMPRESSED && tail->opcode < BSN_MINI_ENHANCED_MOST)
		return NULL;
	switch (tail->opcode) {
	case BSN_CQE_REQ_ERR:
	case BSN_CQE_RESP_ERR:
		return &bsn_cqe_err_desc;
	case BSN_CQE_SIG_ERR:
		return &bsn_cqe_sig_err_desc;
	case BSN_CQE_NO_PACKET:
		return &bsn_cqe_no_packet_desc;
	case BSN_CQE_RESIZE_CQ:
		return &bsn_cqe_resize_desc;
	case BSN_CQE_REQ:
		return &bsn_cqe_req_desc;
	case BSN_CQE_RESP_WR_IMM:
	case BSN_CQE_RESP_SEND:
	case BSN_CQE_RESP_SEND_IMM:
	case BSN_CQE_RESP_SEND_INV:
		return &bsn_cqe_resp_desc;
	default:
		return NULL;
	}
}

/* Data that came inside a CQE of `size` bytes. */
static int take_cqe_inline(const uint8_t *bytes, size_t size, struct bsn_cqe *cqe,
			   uint32_t byte_count, struct bsn_bad *bad)
{
	const bool is_64 = cqe->tail.format == BSN_CQE_INLINE_64;

	cqe->inline_bytes = NULL;
	cqe->inline_len_bytes = 0;
	if (cqe->tail.format == BSN_CQE_NO_INLINE)
		return 0;
	if (is_64 && size < BSN_CQE128_SIZE)
		return refuse(bad, cqe->view, "format", cqe->offset, BSN_VENDOR_NO_ERROR,
			      "64 bytes of inline data in a CQE of 64 bytes");
	if (byte_count > (is_64 ? 64u : 32u))
		return refuse(bad, cqe->view, "byte_count", cqe->offset, BSN_VENDOR_NO_ERROR,
			      "more inline data than the CQE has room for");
	cqe->inline_bytes = is_64 ? bytes : bytes + cqe->offset;
	cqe->inline_len_bytes = byte_count;
	return 0;
}

int bsn_cqe_decode(const void *bytes, size_t size, struct bsn_cqe *cqe, struct bsn_bad *bad)
{
	const uint8_t *proper;

	if (size != BSN_CQE_SIZE && size != BSN_CQE128_SIZE)
		return refuse(bad, &bsn_cqe_tail_desc, NULL, 0, BSN_VENDOR_NO_ERROR,
			      "a CQE has 64 or 128 bytes");
	cqe->offset = (uint16_t)(size - BSN_CQE_SIZE);
	proper = (const uint8_t *)bytes + cqe->offset;
	bsn_cqe_tail_decode(&cqe->tail, proper + BSN_CQE_TAIL_OFFSET);
	cqe->view = pick_view(&cqe->tail);
	cqe->inline_bytes = NULL;
	cqe->inline_len_bytes = 0;
	if (cqe->view == &bsn_cqe_err_desc) {
		bsn_cqe_err_decode(&cqe->as.err, proper);
	} else if (cqe->view == &bsn_cqe_sig_err_desc) {
		bsn_cqe_sig_err_decode(&cqe->as.sig_err, proper);
	} else if (cqe->view == &bsn_cqe_no_packet_desc) {
		bsn_cqe_no_packet_decode(&cqe->as.no_packet, proper);
	} else if (cqe->view == &bsn_cqe_req_desc) {
		bsn_cqe_req_decode(&cqe->as.req, proper);
		return take_cqe_inline(bytes, size, cqe, cqe->as.req.byte_count, bad);
	} else if (cqe->view == &bsn_cqe_resp_desc) {
		bsn_cqe_resp_decode(&cqe->as.resp, proper);
		return take_cqe_inline(bytes, size, cqe, cqe->as.resp.byte_count, bad);
	}
	return 0;
}
