/* SPDX-License-Identifier: BSD-2-Clause */
/* What a connection is tuned with gets to the QP, and where nothing is said, a sensible default. */
#include "harness.h"

static struct ibv_qp_attr query(struct bench *b, int end)
{
	const int mask = IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_AV | IBV_QP_TIMEOUT |
			 IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MIN_RNR_TIMER |
			 IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_QKEY;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(ibv_query_qp(bsn_qp_verbs(b->qp[end]), &attr, mask, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	return attr;
}

static bool is_ethernet(struct bench *b)
{
	return !strcmp(bsn_device_info(b->device)->link_layer, "Ethernet");
}

static void everything_by_default(struct bench *b)
{
	const struct bsn_device_info *info = bsn_device_info(b->device);
	const unsigned rd_atomic = info->max_rd_atomic < 16 ? info->max_rd_atomic : 16;

	for (int end = 0; end < 2; end++) {
		const struct ibv_qp_attr attr = query(b, end);
		assert_int_equal(128u << attr.path_mtu, info->active_mtu);
		assert_int_equal(attr.timeout, 14);
		assert_int_equal(attr.retry_cnt, 7);
		assert_int_equal(attr.rnr_retry, 7);
		assert_int_equal(attr.min_rnr_timer, 12);
		assert_int_equal(attr.max_rd_atomic, rd_atomic);
		assert_int_equal(attr.max_dest_rd_atomic, rd_atomic);
		if (!is_ethernet(b))
			continue;
		assert_int_equal(attr.ah_attr.is_global, 1);
		assert_int_equal(attr.ah_attr.grh.sgid_index, info->gid_index);
		assert_int_equal(attr.ah_attr.grh.hop_limit, 64);
		assert_memory_equal(attr.ah_attr.grh.dgid.raw, info->gid, sizeof(info->gid));
	}
}

static void everything_as_asked(struct bench *b)
{
	for (int end = 0; end < 2; end++) {
		const struct ibv_qp_attr attr = query(b, end);
		assert_int_equal(attr.path_mtu, IBV_MTU_512);
		assert_int_equal(attr.timeout, 9);
		assert_int_equal(attr.retry_cnt, 3);
		assert_int_equal(attr.rnr_retry, 0);
		assert_int_equal(attr.min_rnr_timer, 20);
		assert_int_equal(attr.max_rd_atomic, 2);
		assert_int_equal(attr.max_dest_rd_atomic, 4);
		if (!b->is_rxe) /* which keeps none: Linux 6.1, rxe_av.c, rxe_av_to_attr() */
			assert_int_equal(attr.ah_attr.sl, 3);
		if (!is_ethernet(b))
			continue;
		assert_int_equal(attr.ah_attr.grh.traffic_class, 0x68);
		/* The kernel takes the route's: Linux 6.1, core/verbs.c, ib_resolve_unicast_gid_dmac(). */
		if (!b->is_rxe)
			assert_int_equal(attr.ah_attr.grh.hop_limit, 5);
	}
}

#define ASKED                                                                                      \
	.connect = { .mtu = 512,                                                                   \
		     .sl = 3,                                                                      \
		     .traffic_class = 0x68,                                                        \
		     .hop_limit = 5,                                                               \
		     .timeout = 9,                                                                 \
		     .retry_count = 3,                                                             \
		     .rnr_retry = BSN_NO_RETRY,                                                    \
		     .min_rnr_timer = 20,                                                          \
		     .max_rd_atomic = 2,                                                           \
		     .max_dest_rd_atomic = 4 }
#define ROCE .link = CX_LINK_ROCE, .is_model_only = true

static const struct bench_case cases[] = {
	{ CASE("everything by default", everything_by_default) },
	{ CASE("everything by default, RoCE", everything_by_default), ROCE },
	{ CASE("everything as asked", everything_as_asked), ASKED },
	{ CASE("everything as asked, RoCE", everything_as_asked), ASKED, ROCE },
};

int main(void)
{
	return bench_run("connections", cases, sizeof(cases) / sizeof(cases[0]));
}
