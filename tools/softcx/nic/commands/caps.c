/* SPDX-License-Identifier: BSD-2-Clause */
/* QUERY_HCA_CAP: the data sheet as capabilities. Features that are not modelled are not claimed. */
#include "firmware.h"

#include "datasheet.h"
#include "bsn_db.h"

enum { CAP_GROUPS = 0x40 };

/* Sizes of tables are a code: 0 is the smallest, each step doubles it. */
static uint32_t code_of(unsigned entries, unsigned smallest)
{
	return entries > smallest ? cx_log2(entries / smallest) : 0;
}

static void fill_general_0(const struct cx_config *config, uint8_t *caps)
{
	const struct bsn_cap_gen_0 cap = {
		.log_dma_mmo_max_size = CX_MAX_MMO_LOG2,
		.log_max_srq_sz = cx_log2(CX_MAX_SRQ_WR + 1),
		.log_max_qp_sz = cx_log2(CX_MAX_QP_WR),
		.log_max_qp = cx_log2(CX_MAX_QPS),
		.log_max_srq = cx_log2(CX_MAX_SRQS),
		.log_max_cq_sz = cx_log2(CX_MAX_CQE + 1),
		.log_max_cq = cx_log2(CX_MAX_CQS),
		.log_max_mkey = cx_log2(CX_MAX_MRS),
		.repeated_mkey = 1,
		.max_indirection = CX_MAX_INDIRECTION,
		.fixed_buffer_size = 1,
		.log_max_mrw_sz = 64,
		.umr_extended_translation_offset = 1,
		.log_max_klm_list_size = CX_MAX_XLT_LOG2,
		.qpc_extension = 1,
		.log_max_ra_req_dc = cx_log2(CX_MAX_RD_ATOMIC),
		.log_max_ra_res_dc = cx_log2(CX_MAX_RD_ATOMIC),
		.log_max_ra_req_qp = cx_log2(CX_MAX_RD_ATOMIC),
		.rts2rts_lag_tx_port_affinity = config->lag,
		.dma_mmo_sq = 1,
		.log_max_ra_res_qp = cx_log2(CX_MAX_RD_ATOMIC),
		.gid_table_size = code_of(cx_gid_table_len(config), 8),
		.pkey_table_size = code_of(cx_pkey_table_len(config), 128),
		.local_ca_ack_delay = CX_ACK_DELAY,
		.port_type = config->link == CX_LINK_ROCE,
		.num_ports = CX_PORTS,
		.log_max_msg = CX_MAX_MSG_LOG2,
		.cqe_version = 1,
	};

	bsn_cap_gen_0_encode(caps + BSN_CAP_GEN_0_OFFSET, &cap);
}

static void fill_general_1(const struct cx_config *config, uint8_t *caps)
{
	const struct bsn_cap_gen_1 cap = {
		.compact_address_vector = config->link == CX_LINK_IB,
		.umr_fence = 1,
		.sctr_data_cqe = 1,
		.dct = 1,
		.roce = config->link == CX_LINK_ROCE,
		.atomic = 1,
		.cq_oi = 1,
		.cq_resize = 1,
		.ud = 1,
		.uc = 1,
		.rc = 1,
		.xrc = 1,
		.uar_4k = 1,
		.log_pg_sz = 12,
		.bf = 1,
		.log_bf_reg_size = cx_log2(BSN_BF_REGISTER_BYTES),
		.lag_tx_port_affinity = config->lag,
		.num_lag_ports = config->lag ? CX_LAG_PORTS : 0,
		.max_wqe_sz_sq = CX_MAX_SQ_DESC_BYTES,
		.max_wqe_sz_rq = CX_MAX_RQ_DESC_BYTES,
		.max_wqe_sz_sq_dc = CX_MAX_SQ_DESC_BYTES,
		.log_max_pd = cx_log2(CX_MAX_PDS),
		.log_max_xrcd = cx_log2(CX_MAX_XRCDS),
		.log_max_rmp = cx_log2(CX_MAX_SRQS),
	};

	bsn_cap_gen_1_encode(caps + BSN_CAP_GEN_1_OFFSET, &cap);
}

static void fill_general_2(const struct cx_config *config, uint8_t *caps)
{
	const bool streams = cx_has_dci_streams(config);
	const struct bsn_cap_gen_2 cap = {
		.general_obj_types = UINT64_C(1) << BSN_OBJECT_AV_QP_MAPPING,
		.device_frequency_mhz = CX_CLOCK_KHZ / 1000,
		.device_frequency_khz = CX_CLOCK_KHZ,
		.num_of_uars_per_page = 1,
		.log_max_atomic_size_qp = 3,
		.log_max_atomic_size_dc = 3,
		.log_max_dci_stream_channels = streams ? CX_DC_STREAMS_LOG2 : 0,
		.log_max_dci_errored_streams = cx_dci_errored_log2(config),
		.cqe_128_always = 1,
	};

	bsn_cap_gen_2_encode(caps + BSN_CAP_GEN_2_OFFSET, &cap);
}

static void fill_atomics(const struct cx_config *config, uint8_t *caps)
{
	const struct bsn_cap_atomics cap = {
		.endianness_mode_8b = !config->big_endian_atomics,
		.endianness_mode_1_8b = !config->big_endian_atomics,
		.operations = 1 << BSN_ATOMIC_CAN_COMPARE_SWAP | 1 << BSN_ATOMIC_CAN_FETCH_ADD |
			      1 << BSN_ATOMIC_CAN_MASKED_COMPARE_SWAP |
			      1 << BSN_ATOMIC_CAN_MASKED_FETCH_ADD,
		.size_qp = 4 + 8,
		.size_dc = 4 + 8,
	};

	bsn_cap_atomics_encode(caps + BSN_CAP_ATOMICS_OFFSET, &cap);
}

/* Verbs and the firmware number the operations from opposite ends. */
static uint32_t odp_of(unsigned verbs)
{
	return (verbs & IBV_ODP_SUPPORT_SEND ? BSN_ODP_SEND : 0) |
	       (verbs & IBV_ODP_SUPPORT_RECV ? BSN_ODP_RECEIVE : 0) |
	       (verbs & IBV_ODP_SUPPORT_WRITE ? BSN_ODP_WRITE : 0) |
	       (verbs & IBV_ODP_SUPPORT_READ ? BSN_ODP_READ : 0) |
	       (verbs & IBV_ODP_SUPPORT_ATOMIC ? BSN_ODP_ATOMIC : 0) |
	       (verbs & IBV_ODP_SUPPORT_SRQ_RECV ? BSN_ODP_SRQ_RECEIVE : 0);
}

static void fill_odp(uint8_t *caps)
{
	const struct bsn_cap_odp cap = {
		.rc = odp_of(CX_ODP_CONNECTED),
		.ud = odp_of(CX_ODP_UD),
		.dc = odp_of(CX_ODP_CONNECTED),
	};

	bsn_cap_odp_encode(caps, &cap);
}

enum bsn_command_status cx_query_hca_cap(struct cx_hca *hca, struct cx_mailbox *box)
{
	uint8_t caps[BSN_CAP_BYTES] = { 0 };
	size_t room = box->out_size - BSN_CAP_OFFSET;

	switch (box->head.op_mod >> 1) {
	case BSN_CAP_GENERAL:
		fill_general_0(&hca->config, caps);
		fill_general_1(&hca->config, caps);
		fill_general_2(&hca->config, caps);
		break;
	case BSN_CAP_ATOMIC:
		fill_atomics(&hca->config, caps);
		break;
	case BSN_CAP_ODP:
		fill_odp(caps);
		break;
	default: /* the other groups exist, and are empty */
		if (box->head.op_mod >> 1 < CAP_GROUPS)
			break;
		return cx_refuse_command(box, BSN_COMMAND_BAD_PARAMETER,
					 "there is no such group of capabilities");
	}
	memcpy(box->out + BSN_CAP_OFFSET, caps, room < sizeof(caps) ? room : sizeof(caps));
	return BSN_COMMAND_OK;
}
