/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads random bytes by the kernel's structures and by ours: those that mlx5dv.h does not have.
 * kernel.py takes the structures from the installed kernel headers. A name without a prefix is the
 * kernel's field.
 */
#include <endian.h>

#include "../unit.h"
#include "bsn_decode.h"
#include "kernel_structs.h"
#include "random.h"

enum { ROUNDS = 200 };

/* Both views of the same bytes, in each round. */
#define EACH(theirs_type, view, SIZE)                                                              \
	_Static_assert(sizeof(struct theirs_type) == BSN_##SIZE##_SIZE, "size");                   \
	struct theirs_type k;                                                                      \
	struct bsn_##view v;                                                                       \
	for (unsigned i = 0;                                                                       \
	     i < ROUNDS && (random_bytes(&k, sizeof(k)), bsn_##view##_decode(&v, &k), 1); i++)

#define SAME(ours, theirs) assert_true((uint64_t)(ours) == (uint64_t)(theirs))

/* -- segments ---------------------------------------------------------------------------------- */

static void fast_registration(void **state)
{
	EACH(mlx5_wqe_fmr_seg, fmr, FMR)
	{
		SAME((uint64_t)v.a << 31 | v.rw << 30 | v.rr << 29 | v.lw << 28 | v.lr << 27 |
			     v.flags,
		     be32toh(k.flags));
		SAME(v.mkey, be32toh(k.mem_key));
		SAME(v.list, be64toh(k.buf_list));
		SAME(v.start_addr, be64toh(k.start_addr));
		SAME(v.len, be64toh(k.reg_len));
		SAME(v.offset, be32toh(k.offset));
		SAME(v.page_size, be32toh(k.page_size));
	}
}

static void shared_receive_queue_of_xrc(void **state)
{
	EACH(mlx5_wqe_xrc_seg, xrc, XRC)
	SAME(v.srqn, be32toh(k.xrc_srqn) & 0xffffff);
}

static void signature_of_a_receive(void **state)
{
	EACH(mlx5_rwqe_sig, recv_sig, RECV_SIG)
	SAME(v.signature, k.signature);
}

static void protection_state_to_set(void **state)
{
	EACH(mlx5_seg_set_psv, set_psv, SET_PSV)
	{
		SAME(v.psv, be32toh(k.psv_num) & 0xffffff);
		SAME(v.syndrome, be16toh(k.syndrome));
		SAME(v.status, be16toh(k.status));
		SAME(v.signature, (uint64_t)be32toh(k.transient_sig) << 32 | be32toh(k.ref_tag));
	}
}

static void protection_states_to_get(void **state)
{
	EACH(mlx5_seg_get_psv, get_psv, GET_PSV)
	{
		SAME(v.num_psv, k.num_psv);
		SAME(v.lkey, be32toh(k.l_key));
		SAME(v.va, be64toh(k.va));
		SAME(v.psv_0, be32toh(k.psv_index[0]));
		SAME(v.psv_3, be32toh(k.psv_index[3]));
	}
}

static void protection_states_to_check(void **state)
{
	EACH(mlx5_seg_check_psv, check_psv, CHECK_PSV)
	{
		SAME(v.coalescing_op, be16toh(k.err_coalescing_op));
		SAME(v.transport_op, be16toh(k.xport_err_op));
		SAME(v.transport_mask, be16toh(k.xport_err_mask));
		SAME(v.num_psv, k.num_psv);
		SAME(v.lkey, be32toh(k.l_key));
		SAME(v.va, be64toh(k.va));
		SAME(v.psv_1, be32toh(k.psv_index[1]));
		SAME(v.psv_2, be32toh(k.psv_index[2]));
	}
}

static void signature_format(void **state)
{
	EACH(mlx5_bsf, bsf, BSF)
	{
		SAME(v.size, k.basic.bsf_size_sbs >> 6);
		SAME(v.same_block, k.basic.bsf_size_sbs >> 4 & 1);
		SAME(v.check_mask, k.basic.check_byte_mask);
		SAME(v.wire_copy_or_block, k.basic.wire.copy_byte_mask);
		SAME(v.mem_block, k.basic.mem.bs_selector);
		SAME(v.raw_data_size, be32toh(k.basic.raw_data_size));
		SAME(v.wire_psv, be32toh(k.basic.w_bfs_psv) & 0xffffff);
		SAME(v.mem_psv, be32toh(k.basic.m_bfs_psv) & 0xffffff);
		SAME(v.prologue, be32toh(k.ext.t_init_gen_pro_size));
		SAME(v.epilogue, be32toh(k.ext.rsvd_epi_size));
		SAME(v.wire_app_tag, be16toh(k.w_inl.dif_apptag));
		SAME(v.wire_ref_tag, be32toh(k.w_inl.dif_reftag));
		SAME(v.mem_guard_check, k.m_inl.dif_inc_ref_guard_check);
		SAME(v.mem_app_mask, be16toh(k.m_inl.dif_app_bitmask_check));
	}
}

static void masked_compare_and_swap(void **state)
{
	EACH(mlx5_wqe_masked_atomic_seg, masked_cs, MASKED_CS)
	{
		SAME(v.swap, be64toh(k.swap_add));
		SAME(v.compare, be64toh(k.compare));
		SAME(v.swap_mask, be64toh(k.swap_add_mask));
		SAME(v.compare_mask, be64toh(k.compare_mask));
	}
}

/* enum { MLX5_ETH_WQE_SWP_*, MLX5_ETH_WQE_INSERT_VLAN } are the shifts. */
static void ethernet(void **state)
{
	EACH(mlx5_wqe_eth_seg, eth, ETH)
	{
		SAME(v.swp_outer_l4, k.swp_outer_l4_offset);
		SAME(v.swp_outer_l3, k.swp_outer_l3_offset);
		SAME(v.swp_inner_l4, k.swp_inner_l4_offset);
		SAME(v.swp_inner_l3, k.swp_inner_l3_offset);
		SAME(v.swp_inner_ipv6, k.swp_flags & 1);
		SAME(v.swp_inner_udp, k.swp_flags >> 1 & 1);
		SAME(v.swp_outer_ipv6, k.swp_flags >> 4 & 1);
		SAME(v.swp_outer_udp, k.swp_flags >> 5 & 1);
		SAME(v.mss, be16toh(k.mss));
		SAME(v.metadata, be32toh(k.flow_table_metadata));
		SAME(v.insert_vlan, be16toh(k.insert.type) >> 15);
		SAME(v.start, be16toh(k.insert.vlan_tci));
	}
}

/* -- CQEs -------------------------------------------------------------------------------------- */

static void packet(void **state)
{
	EACH(mlx5_cqe64, cqe_eth, CQE)
	{
		SAME(v.tunneled, k.tls_outer_l3_tunneled & 1);
		SAME(v.tls, k.tls_outer_l3_tunneled >> 3 & 3);
		SAME(v.wqe_id, be16toh(k.wqe_id));
		SAME(v.lro_push, k.lro.tcppsh_abort_dupack >> 6 & 1);
		SAME(v.lro_min_ttl, k.lro.min_ttl);
		SAME(v.lro_window, be16toh(k.lro.tcp_win));
		SAME(v.lro_ack, be32toh(k.lro.ack_seq_num));
		SAME(v.rss_hash, be32toh(k.rss_hash_result));
		SAME(v.rss_l4, k.rss_hash_type >> 6);
		SAME(v.rss_l3, k.rss_hash_type >> 2 & 3);
		SAME(v.checksum, be16toh(k.check_sum));
		SAME(v.l3_type, k.l4_l3_hdr_type >> 2 & 3);
		SAME(v.l4_type, k.l4_l3_hdr_type >> 4 & 7);
		SAME(v.vlan_stripped, k.l4_l3_hdr_type & 1);
		SAME(v.vlan_info, be16toh(k.vlan_info));
		SAME(v.lro_segments, be32toh(k.srqn) >> 24);
		SAME(v.metadata, be32toh(k.ft_metadata));
		SAME(v.byte_count, be32toh(k.byte_cnt));
	}
}

static void signature_that_did_not_match(void **state)
{
	EACH(mlx5_sig_err_cqe, cqe_sig_err, CQE)
	{
		SAME(v.expected_signature, be32toh(k.expected_trans_sig));
		SAME(v.actual_signature, be32toh(k.actual_trans_sig));
		SAME(v.expected_ref_tag, be32toh(k.expected_reftag));
		SAME(v.actual_ref_tag, be32toh(k.actual_reftag));
		SAME(v.syndrome, be16toh(k.syndrome));
		SAME(v.mkey, be32toh(k.mkey));
		SAME(v.offset, be64toh(k.err_offset));
		SAME(v.qpn, be32toh(k.qpn) & 0xffffff);
	}
}

UNIT_MAIN(random_set_up, UNIT(fast_registration), UNIT(shared_receive_queue_of_xrc),
	  UNIT(signature_of_a_receive), UNIT(protection_state_to_set),
	  UNIT(protection_states_to_get), UNIT(protection_states_to_check), UNIT(signature_format),
	  UNIT(masked_compare_and_swap), UNIT(ethernet), UNIT(packet),
	  UNIT(signature_that_did_not_match))
