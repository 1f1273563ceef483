/* SPDX-License-Identifier: BSD-2-Clause */
/* QUERY_HCA_CAP: the data sheet in the firmware's words. What is not modelled is not claimed. */
#include "firmware.h"

#include "datasheet.h"
#include "bsn_db.h"

enum { CAP_GROUPS = 0x40 };

static uint32_t log2_of(uint64_t value)
{
	return 63u - (uint32_t)__builtin_clzll(value);
}

/* Tables are counted by a code: 0 is the smallest, and each more doubles it. */
static uint32_t code_of(unsigned entries, unsigned smallest)
{
	return entries > smallest ? log2_of(entries / smallest) : 0;
}

static void fill_general_0(const struct cx_config *config, uint8_t *caps)
{
	const struct bsn_cap_gen_0 cap = {
		.log_dma_mmo_max_size = CX_MAX_MMO_LOG2,
		.log_max_srq_sz = log2_of(CX_MAX_SRQ_WR + 1),
		.log_max_qp_sz = log2_of(CX_MAX_QP_WR),
		.log_max_qp = log2_of(CX_MAX_QPS),
		.log_max_srq = log2_of(CX_MAX_SRQS),
		.log_max_cq_sz = log2_of(CX_MAX_CQE + 1),
		.log_max_cq = log2_of(CX_MAX_CQS),
		.log_max_mkey = log2_of(CX_MAX_MRS),
		.repeated_mkey = 1,
		.max_indirection = CX_MAX_INDIRECTION,
		.fixed_buffer_size = 1,
		.log_max_mrw_sz = 64,
		.umr_extended_translation_offset = 1,
		.log_max_klm_list_size = CX_MAX_XLT_LOG2,
		.log_max_ra_req_qp = log2_of(CX_MAX_RD_ATOMIC),
		.dma_mmo_sq = 1,
		.log_max_ra_res_qp = log2_of(CX_MAX_RD_ATOMIC),
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
		.roce = config->link == CX_LINK_ROCE,
		.atomic = 1,
		.cq_oi = 1,
		.cq_resize = 1,
		.ud = 1,
		.uc = 1,
		.rc = 1,
		.uar_4k = 1,
		.log_pg_sz = 12,
		.bf = 1,
		.log_bf_reg_size = log2_of(BSN_BF_REGISTER_BYTES),
		.max_wqe_sz_sq = CX_MAX_SQ_DESC_BYTES,
		.max_wqe_sz_rq = CX_MAX_RQ_DESC_BYTES,
		.log_max_pd = log2_of(CX_MAX_PDS),
	};

	bsn_cap_gen_1_encode(caps + BSN_CAP_GEN_1_OFFSET, &cap);
}

static void fill_general_2(uint8_t *caps)
{
	const struct bsn_cap_gen_2 cap = {
		.device_frequency_mhz = CX_CLOCK_KHZ / 1000,
		.device_frequency_khz = CX_CLOCK_KHZ,
		.num_of_uars_per_page = 1,
		.log_max_atomic_size_qp = 3,
		.cqe_128_always = 1,
	};

	bsn_cap_gen_2_encode(caps + BSN_CAP_GEN_2_OFFSET, &cap);
}

static void fill_atomics(uint8_t *caps)
{
	const struct bsn_cap_atomics cap = {
		.endianness_mode_8b = 1,
		.endianness_mode_1_8b = 1,
		.operations = 1 << BSN_ATOMIC_CAN_COMPARE_SWAP | 1 << BSN_ATOMIC_CAN_FETCH_ADD |
			      1 << BSN_ATOMIC_CAN_MASKED_COMPARE_SWAP |
			      1 << BSN_ATOMIC_CAN_MASKED_FETCH_ADD,
		.size_qp = 4 + 8,
	};

	bsn_cap_atomics_encode(caps + BSN_CAP_ATOMICS_OFFSET, &cap);
}

enum bsn_command_status cx_query_hca_cap(struct cx_hca *hca, struct cx_mailbox *box)
{
	uint8_t caps[BSN_CAP_BYTES] = { 0 };
	size_t room = box->out_size - BSN_CAP_OFFSET;

	switch (box->head.op_mod >> 1) {
	case BSN_CAP_GENERAL:
		fill_general_0(&hca->config, caps);
		fill_general_1(&hca->config, caps);
		fill_general_2(caps);
		break;
	case BSN_CAP_ATOMIC:
		fill_atomics(caps);
		break;
	default: /* the others are there, and empty */
		if (box->head.op_mod >> 1 < CAP_GROUPS)
			break;
		return cx_refuse_command(box, BSN_COMMAND_BAD_PARAMETER,
					 "there is no such group of capabilities");
	}
	memcpy(box->out + BSN_CAP_OFFSET, caps, room < sizeof(caps) ? room : sizeof(caps));
	return BSN_COMMAND_OK;
}
