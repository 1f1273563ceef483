/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares the tables of CQEs with the installed mlx5dv.h, which is independent of them: its
 * getters and structures, over random values.
 */
#include <stdbool.h>
#include <endian.h>
#include <infiniband/mlx5dv.h>

#include "../unit.h"
#include "bsn_decode.h"
#include "random.h"

#define ROUNDS 150000 /* times ten kinds of segments: more than a million */

/* A random CQE of theirs, as one of our views reads it, in each round. */
#define EACH(theirs_type, view)                                                                    \
	struct theirs_type theirs;                                                                 \
	struct bsn_##view v;                                                                       \
	for (unsigned i = 0; i < ROUNDS && (random_bytes(&theirs, sizeof(theirs)),                 \
					    bsn_##view##_decode(&v, &theirs), 1);                  \
	     i++)

/* Compares what every view says about a random CQE with the fields and getters of mlx5dv.h. */
static void assert_common(const struct bsn_cqe_tail *tail, struct mlx5_cqe64 *theirs)
{
	assert_int_equal(tail->wqe_counter, be16toh(theirs->wqe_counter));
	assert_int_equal(tail->signature, theirs->signature);
	assert_int_equal(tail->opcode, mlx5dv_get_cqe_opcode(theirs));
	assert_int_equal(tail->format, mlx5dv_get_cqe_format(theirs));
	assert_int_equal(tail->solicited, mlx5dv_get_cqe_se(theirs));
	assert_int_equal(tail->owner, mlx5dv_get_cqe_owner(theirs));
}

static void completion_of_a_request(void **state)
{
	EACH(mlx5_cqe64, cqe_req)
	{
		struct bsn_cqe_tail tail;
		bsn_cqe_tail_decode(&tail, (uint8_t *)&theirs + BSN_CQE_TAIL_OFFSET);
		assert_common(&tail, &theirs);
		assert_int_equal(v.srqn_uidx, be32toh(theirs.srqn_uidx) & 0xffffff);
		assert_int_equal(v.byte_count, be32toh(theirs.byte_cnt));
		assert_true(v.timestamp == be64toh(theirs.timestamp));
		assert_int_equal(v.wqe_opcode << 24 | v.qpn, be32toh(theirs.sop_drop_qpn));
		assert_int_equal(v.wqe_counter, tail.wqe_counter);
		assert_int_equal(v.opcode, tail.opcode);
		assert_int_equal(v.format, tail.format);
		assert_int_equal(v.owner, tail.owner);
	}
}

static void completion_of_a_receive(void **state)
{
	EACH(mlx5_cqe64, cqe_resp)
	{
		const uint32_t flags_rqpn = be32toh(theirs.flags_rqpn);
		assert_int_equal(v.wqe_id, be16toh(theirs.wqe_id));
		assert_int_equal(v.ml_path, theirs.ml_path);
		assert_int_equal(v.slid, be16toh(theirs.slid));
		assert_int_equal(v.rqpn, flags_rqpn & 0xffffff);
		assert_int_equal(v.sl, flags_rqpn >> 24 & 0xf);
		assert_int_equal(v.grh, flags_rqpn >> 28 & 3);
		assert_int_equal(v.hds_ip_ext, theirs.hds_ip_ext);
		assert_int_equal(v.l4_l3_hdr_type, theirs.l4_hdr_type_etc);
		assert_int_equal(v.vlan_info, be16toh(theirs.vlan_info));
		assert_int_equal(v.srqn_uidx, be32toh(theirs.srqn_uidx) & 0xffffff);
		assert_int_equal(v.imm_inval_pkey, be32toh(theirs.imm_inval_pkey));
		assert_int_equal(v.app, theirs.app);
		assert_int_equal(v.app_op, theirs.app_op);
		assert_int_equal(v.app_info, be16toh(theirs.app_info));
		assert_int_equal(v.byte_count, be32toh(theirs.byte_cnt));
		assert_true(v.timestamp == be64toh(theirs.timestamp));
		assert_int_equal(v.qpn, be32toh(theirs.sop_drop_qpn) & 0xffffff);
		assert_int_equal(v.wqe_counter, be16toh(theirs.wqe_counter));
	}
}

static void completion_of_a_packet(void **state)
{
	EACH(mlx5_cqe64, cqe_eth)
	{
		assert_int_equal(v.wqe_id, be16toh(theirs.wqe_id));
		assert_int_equal(v.l2_ok, !!(theirs.hds_ip_ext & MLX5_CQE_L2_OK));
		assert_int_equal(v.l3_ok, !!(theirs.hds_ip_ext & MLX5_CQE_L3_OK));
		assert_int_equal(v.l4_ok, !!(theirs.hds_ip_ext & MLX5_CQE_L4_OK));
		assert_int_equal(v.l3_type, theirs.l4_hdr_type_etc >> 2 & 3);
		assert_int_equal(v.l4_type, theirs.l4_hdr_type_etc >> 4 & 7);
		assert_int_equal(v.vlan_info, be16toh(theirs.vlan_info));
		assert_int_equal(v.srqn_uidx, be32toh(theirs.srqn_uidx) & 0xffffff);
		assert_int_equal(v.byte_count, be32toh(theirs.byte_cnt));
		assert_true(v.timestamp == be64toh(theirs.timestamp));
		assert_int_equal(v.flow_tag, be32toh(theirs.sop_drop_qpn) & 0xffffff);
	}
}

static void completion_of_a_matching_list(void **state)
{
	EACH(mlx5_cqe64, cqe_no_packet)
	{
		assert_int_equal(v.success, !!(be32toh(theirs.tm_cqe.success) & MLX5_TMC_SUCCESS));
		assert_int_equal(v.hw_phase_cnt, be16toh(theirs.tm_cqe.hw_phase_cnt));
		assert_int_equal(v.app, theirs.app);
		assert_int_equal(v.app_op, theirs.app_op);
		assert_int_equal(v.app_info, be16toh(theirs.app_info));
		assert_int_equal(v.qpn, be32toh(theirs.sop_drop_qpn) & 0xffffff);
	}
}

static void completion_with_an_error(void **state)
{
	EACH(mlx5_err_cqe, cqe_err)
	{
		assert_int_equal(v.srqn_uidx, be32toh(theirs.srqn) & 0xffffff);
		assert_int_equal(v.vendor_syndrome, theirs.vendor_err_synd);
		assert_int_equal(v.syndrome, theirs.syndrome);
		assert_int_equal(v.wqe_opcode << 24 | v.qpn, be32toh(theirs.s_wqe_opcode_qpn));
		assert_int_equal(v.wqe_counter, be16toh(theirs.wqe_counter));
		/* The kernel's mlx5_err_cqe_ex: the last two bytes that rdma-core reserves. */
		assert_int_equal(v.hw_syndrome, theirs.rsvd1[16]);
		assert_int_equal(v.hw_syndrome_type, theirs.rsvd1[17] >> 4);
	}
}

UNIT_MAIN(random_set_up, UNIT(completion_of_a_request), UNIT(completion_of_a_receive),
	  UNIT(completion_of_a_packet), UNIT(completion_of_a_matching_list),
	  UNIT(completion_with_an_error))
