/* SPDX-License-Identifier: BSD-2-Clause */
/* The model alone: datagrams, shared receive queues, data inside CQEs. */
#include "pair.h"

/* -- datagrams --------------------------------------------------------------------------------- */

enum { GRH = 40, QKEY = 0x1234 };

static void send_datagram(uint32_t qpn, uint32_t qkey, uint32_t len)
{
	struct rig_wqe wqe;

	rig_begin(&wqe, BSN_OPCODE_SEND_IMM, BSN_CE_ALWAYS);
	wqe.ctrl.imm = 99;
	rig_ud(&wqe, qpn, qkey);
	rig_data(&wqe, rig.buf, len, rig.key);
	rig_post(&rig.qp[0], &wqe);
	rig_run(&rig);
	assert_int_equal(rig_next(&rig.cq[0]).tail.opcode, BSN_CQE_REQ);
}

static void a_datagram_lands_behind_the_grh(void **state)
{
	struct bsn_cqe cqe;

	fill(rig.buf, 100, 0);
	rig_post_recv(&rig, &rig.qp[1], rig.buf + 1000, 140);
	send_datagram(rig.qp[1].number, QKEY, 100);
	assert_true(rig_poll(&rig.cq[1], &cqe));
	assert_int_equal(cqe.tail.opcode, BSN_CQE_RESP_SEND_IMM);
	assert_int_equal(cqe.as.resp.byte_count, 140);
	assert_int_equal(cqe.as.resp.imm_inval_pkey, 99);
	assert_int_equal(cqe.as.resp.rqpn, rig.qp[0].number);
	assert_int_equal(cqe.as.resp.slid, CX_LID);
	assert_int_equal(cqe.as.resp.grh, BSN_CQE_GRH_NONE);
	assert_memory_equal(rig.buf + 1000 + GRH, rig.buf, 100);
}

static void a_datagram_nobody_takes_is_lost(void **state)
{
	send_datagram(rig.qp[1].number, QKEY, 8); /* no receive */
	rig_post_recv(&rig, &rig.qp[1], rig.buf + 1000, 140);
	send_datagram(rig.qp[1].number, QKEY + 1, 8); /* the wrong key */
	send_datagram(0x3fffff, QKEY, 8);             /* nobody */
	assert_false(rig_poll(&rig.cq[1], NULL));
	send_datagram(rig.qp[1].number, 0x80000000, 8); /* the sender's own key */
	rig_next(&rig.cq[1]);
}

static void a_datagram_has_at_most_an_mtu(void **state)
{
	struct rig_wqe wqe;

	rig_begin(&wqe, BSN_OPCODE_SEND, BSN_CE_ALWAYS);
	rig_ud(&wqe, rig.qp[1].number, QKEY);
	rig_data(&wqe, rig.buf, 4096, rig.key);
	rig_data(&wqe, rig.buf, 1, rig.key);
	rig_post(&rig.qp[0], &wqe);
	rig_run(&rig);
	rig_expect_error(&rig.cq[0], BSN_CQE_REQ_ERR, 0, BSN_SYNDROME_LOCAL_LENGTH,
			 BSN_VENDOR_LONGER_THAN_MTU);
}

static void roce_datagrams_carry_their_header(void **state)
{
	static const uint8_t ipv4[4] = { 192, 0, 2, 1 };
	struct cx_config config = rig_config();
	struct bsn_av_ud_grh av = { .qkey = QKEY, .ext = 1, .sgid_index = 3, .hop_limit = 64 };
	struct rig_wqe wqe;
	struct bsn_cqe cqe;
	struct cx_gid gid;

	rig_teardown(&rig);
	config.link = CX_LINK_ROCE;
	rig_open(&rig, &config);
	rig.attr.type = IBV_QPT_UD;
	rig_pair(&rig);
	assert_int_equal(cx_gid_get(&config, 3, &gid), 0);
	av.dqpn = rig.qp[1].number;
	av.rgid_hi = bsn_load_be64(gid.gid.raw);
	av.rgid_lo = bsn_load_be64(gid.gid.raw + 8);
	rig_post_recv(&rig, &rig.qp[1], rig.buf + 1000, 140);
	rig_begin(&wqe, BSN_OPCODE_SEND, BSN_CE_ALWAYS);
	bsn_av_ud_grh_encode(wqe.bytes + wqe.len, &av);
	wqe.len += BSN_AV_UD_GRH_SIZE;
	rig_data(&wqe, rig.buf, 20, rig.key);
	rig_post(&rig.qp[0], &wqe);
	rig_run(&rig);
	assert_true(rig_poll(&rig.cq[1], &cqe));
	assert_int_equal(cqe.as.resp.byte_count, 60);
	assert_int_equal(cqe.as.resp.grh, BSN_CQE_GRH_IN_DATA);
	assert_int_equal(cqe.as.resp.sl & 3, 2); /* IPv4 */
	assert_memory_equal(rig.buf + 1000 + 32, ipv4, 4);
	assert_memory_equal(rig.buf + 1000 + 36, ipv4, 4);
}

/* -- shared receive queues --------------------------------------------------------------------- */

static struct rig_srq srq;

static void srq_setup(void)
{
	rig_srq_create(&rig, &srq, (struct cx_srq_attr){ .count = 4 });
	rig_qp_destroy(&rig, &rig.qp[0]);
	rig_qp_destroy(&rig, &rig.qp[1]);
	rig.attr.srqn = srq.number;
	rig_pair(&rig);
}

static void expect_receive(uint16_t index, const struct rig_qp *qp)
{
	const struct bsn_cqe cqe = rig_next(&rig.cq[1]);

	assert_int_equal(cqe.tail.opcode, BSN_CQE_RESP_SEND);
	assert_int_equal(cqe.tail.wqe_counter, index);
	assert_int_equal(cqe.as.resp.qpn, qp->number);
}

/* The chain is followed, not the order of the indices, and both queue pairs draw from it. */
static void a_shared_queue_is_a_chain(void **state)
{
	srq_setup();
	fill(rig.buf, 8, 0);
	rig_srq_post(&rig, &srq, 0, 2, rig.buf + 1000, 8);
	rig_srq_post(&rig, &srq, 2, 1, rig.buf + 1008, 8);
	rig_srq_post(&rig, &srq, 1, 3, rig.buf + 1016, 8);
	for (unsigned i = 0; i < 3; i++) {
		static const uint16_t chain[] = { 0, 2, 1 };
		rig_post_send(&rig, &rig.qp[i & 1], rig.buf, 8, BSN_CE_ALWAYS);
		rig_run(&rig);
		expect_receive(chain[i], &rig.qp[!(i & 1)]);
	}
	for (unsigned i = 0; i < 3; i++)
		assert_memory_equal(rig.buf + 1000 + 8 * i, rig.buf, 8);
}

static void an_empty_shared_queue_is_not_ready(void **state)
{
	srq_setup();
	rig_post_send(&rig, &rig.qp[0], rig.buf, 8, BSN_CE_ALWAYS);
	rig_run(&rig);
	assert_int_equal(rig_next(&rig.cq[0]).as.err.syndrome, BSN_SYNDROME_RNR_RETRY_EXCEEDED);
}

/* -- data inside CQEs -------------------------------------------------------------------------- */

static void connect_with_scatter(uint32_t cqe_size)
{
	rig_qp_destroy(&rig, &rig.qp[0]);
	rig_qp_destroy(&rig, &rig.qp[1]);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(cx_cq_destroy(rig.hca, rig.cq[i].number), 0);
		rig_cq_create(&rig, &rig.cq[i], cqe_size);
	}
	rig.attr.send_cqn = rig.cq[0].number;
	rig.attr.recv_cqn = rig.cq[1].number;
	rig.attr.scatter_to_cqe = rig.attr.scatter_to_cqe_requester = true;
	rig_pair(&rig);
}

/* Up to 32 bytes come in a CQE of 64, up to 64 in one of 128; then they are not in memory. */
static void short_messages_come_inside_the_cqe(void **state)
{
	static const uint32_t sizes[] = { BSN_CQE_SIZE, BSN_CQE128_SIZE };

	fill(rig.buf, 100, 0);
	for (unsigned i = 0; i < 2; i++) {
		const uint32_t room = sizes[i] / 2;
		connect_with_scatter(sizes[i]);
		for (uint32_t len = 1; len <= room + 1; len++) {
			struct bsn_cqe cqe;
			memset(rig.buf + 1000, 0, 100);
			rig_post_recv(&rig, &rig.qp[1], rig.buf + 1000, 100);
			rig_post_send(&rig, &rig.qp[0], rig.buf, len, BSN_CE_ALWAYS);
			rig_run(&rig);
			rig_next(&rig.cq[0]);
			assert_true(rig_poll(&rig.cq[1], &cqe));
			assert_int_equal(cqe.as.resp.byte_count, len);
			if (len <= room) {
				assert_non_null(cqe.inline_bytes);
				assert_memory_equal(cqe.inline_bytes, rig.buf, len);
				assert_int_equal(rig.buf[1000], 0);
			} else {
				assert_null(cqe.inline_bytes);
				assert_memory_equal(rig.buf + 1000, rig.buf, len);
			}
		}
	}
}

static void short_reads_come_inside_the_cqe(void **state)
{
	struct bsn_cqe cqe;

	fill(rig.buf + 1000, 32, 0);
	connect_with_scatter(BSN_CQE_SIZE);
	rig_post_one(&rig.qp[0], BSN_OPCODE_RDMA_READ, rig.buf + 1000, rig.key, rig.buf, 32,
		     rig.key);
	rig_run(&rig);
	assert_true(rig_poll(&rig.cq[0], &cqe));
	assert_int_equal(cqe.tail.format, BSN_CQE_INLINE_32);
	assert_memory_equal(cqe.inline_bytes, rig.buf + 1000, 32);
	assert_int_equal(rig.buf[1], 0);
}

UNIT_MAIN(NULL, TEST_UD(a_datagram_lands_behind_the_grh), TEST_UD(a_datagram_nobody_takes_is_lost),
	  TEST_UD(a_datagram_has_at_most_an_mtu), TEST_UD(roce_datagrams_carry_their_header),
	  TEST(a_shared_queue_is_a_chain), TEST(an_empty_shared_queue_is_not_ready),
	  TEST(short_messages_come_inside_the_cqe), TEST(short_reads_come_inside_the_cqe))
