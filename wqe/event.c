/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes event-queue entries apart. Which view a type has: the kernel's users of enum mlx5_event. */
#include "report.h"

static const struct bsn_seg_desc *pick_view(uint32_t type)
{
	switch (type) {
	case BSN_EQE_COMP:
		return &bsn_eqe_comp_desc;
	case BSN_EQE_PATH_MIG:
	case BSN_EQE_COMM_EST:
	case BSN_EQE_SQ_DRAINED:
	case BSN_EQE_WQ_CATAS_ERROR:
	case BSN_EQE_PATH_MIG_FAILED:
	case BSN_EQE_WQ_INVAL_REQ_ERROR:
	case BSN_EQE_WQ_ACCESS_ERROR:
	case BSN_EQE_SRQ_CATAS_ERROR:
	case BSN_EQE_SRQ_LAST_WQE:
	case BSN_EQE_SRQ_RQ_LIMIT:
		return &bsn_eqe_qp_desc;
	case BSN_EQE_CQ_ERROR:
		return &bsn_eqe_cq_desc;
	case BSN_EQE_DCT_DRAINED:
	case BSN_EQE_DCT_KEY_VIOLATION:
		return &bsn_eqe_dct_desc;
	case BSN_EQE_PORT_CHANGE:
		return &bsn_eqe_port_desc;
	case BSN_EQE_CMD:
		return &bsn_eqe_cmd_desc;
	case BSN_EQE_PAGE_REQUEST:
		return &bsn_eqe_pages_desc;
	case BSN_EQE_OBJECT_CHANGE:
		return &bsn_eqe_object_desc;
	default:
		return &bsn_eqe_desc;
	}
}

int bsn_eqe_event_decode(const void *bytes, size_t size, struct bsn_eqe_event *event,
			 struct bsn_bad *bad)
{
	if (size != BSN_EQE_SIZE)
		return refuse(bad, &bsn_eqe_desc, NULL, 0, BSN_VENDOR_NO_ERROR,
			      "an EQE has 64 bytes");
	bsn_eqe_decode(&event->any, bytes);
	event->view = pick_view(event->any.type);
#define DECODE_VIEW(kind)                                                                          \
	if (event->view == &bsn_eqe_##kind##_desc)                                                 \
	bsn_eqe_##kind##_decode(&event->as.kind, bytes)
	DECODE_VIEW(comp);
	DECODE_VIEW(qp);
	DECODE_VIEW(cq);
	DECODE_VIEW(dct);
	DECODE_VIEW(port);
	DECODE_VIEW(cmd);
	DECODE_VIEW(pages);
	DECODE_VIEW(object);
#undef DECODE_VIEW
	return 0;
}
