/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes CQEs apart. */
#include "report.h"

static const struct bsn_seg_desc *pick_view(const struct bsn_cqe_tail *tail)
{
	/* The opcode of an array in the enhanced layout is a count. */
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

/* Takes the inline data of a CQE of `size` bytes. */
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
	if (byte_count > bsn_cqe_inline_room(cqe->tail.format))
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
