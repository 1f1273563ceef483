/* SPDX-License-Identifier: BSD-2-Clause */
/* The model alone: datagrams, shared receive queues, data inside CQEs. */
#include <string.h>

#include "../unit.h"
#include "datasheet.h"
#include "rig.h"

static struct rig rig;

static int setup_rc(void **state)
{
	(void)state;
	rig_setup(&rig, IBV_QPT_RC);
	return 0;
}

static int setup_ud(void **state)
{
	(void)state;
	rig_setup(&rig, IBV_QPT_UD);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(cx_lint_count(rig.hca), 0);
	rig_teardown(&rig);
	return 0;
}

static void run(void)
{
	for (unsigned i = 0; i < 20; i++)
		cx_step(rig.hca, 0);
}

static void fill(uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)(i * 13 + 5);
}

/* -- datagrams --------------------------------------------------------------------------------- */

enum { GRH = 40, QKEY = 0x1234 };

static void send_datagram(uint32_t qpn, uint32_t qkey, uint32_t len)
{
	struct rig_wqe wqe;
	struct bsn_cqe cqe;

	rig_begin(&wqe, BSN_OPCODE_SEND_IMM, BSN_CE_ALWAYS);
	wqe.ctrl.imm = 99;
	rig_ud(&wqe, qpn, qkey);
	rig_data(&wqe, rig.buf, len, rig.key);
	rig_post(&rig.qp[0], &wqe);
	run();
	assert_true(rig_poll(&rig.cq[0], &cqe));
	assert_int_equal(cqe.tail.opcode, BSN_CQE_REQ);
}

static void a_datagram_lands_behind_the_grh(void **state)
{
	struct bsn_cqe cqe;

	(void)state;
	fill(rig.buf, 100);
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
	struct bsn_cqe cqe;

	(void)state;
	send_datagram(rig.qp[1].number, QKEY, 8); /* no receive */
	rig_post_recv(&rig, &rig.qp[1], rig.buf + 1000, 140);
	send_datagram(rig.qp[1].number, QKEY + 1, 8); /* the wrong key */
	send_datagram(0x3fffff, QKEY, 8);             /* nobody */
	assert_false(rig_poll(&rig.cq[1], &cqe));
	send_datagram(rig.qp[1].number, 0x80000000, 8); /* the sender's own key */
	assert_true(rig_poll(&rig.cq[1], &cqe));
}

static void a_datagram_has_at_most_an_mtu(void **state)
{
	struct rig_wqe wqe;
	struct bsn_cqe cqe;

	(void)state;
	rig_begin(&wqe, BSN_OPCODE_SEND, BSN_CE_ALWAYS);
	rig_ud(&wqe, rig.qp[1].number, QKEY);
	rig_data(&wqe, rig.buf, 4096, rig.key);
	rig_data(&wqe, rig.buf, 1, rig.key);
	rig_post(&rig.qp[0], &wqe);
	run();
	assert_true(rig_poll(&rig.cq[0], &cqe));
	assert_int_equal(cqe.as.err.syndrome, BSN_SYNDROME_LOCAL_LENGTH);
	assert_int_equal(cqe.as.err.vendor_syndrome, BSN_VENDOR_LONGER_THAN_MTU);
}

static void roce_datagrams_carry_their_header(void **state)
{
	static const uint8_t ipv4[4] = { 192, 0, 2, 1 };
	struct cx_config config;
	struct bsn_av_ud_grh av = { .qkey = QKEY, .ext = 1, .sgid_index = 3, .hop_limit = 64 };
	struct rig_wqe wqe;
	struct bsn_cqe cqe;
	struct cx_gid gid;

	(void)state;
	rig_teardown(&rig);
	rig_config(&config);
	config.link = CX_LINK_ROCE;
	rig_open(&rig, &config);
	rig.attr.type = IBV_QPT_UD;
	for (unsigned i = 0; i < 2; i++) {
		rig_qp_create(&rig, &rig.qp[i]);
		rig_qp_connect(&rig, &rig.qp[i], 0);
	}
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
	run();
	assert_true(rig_poll(&rig.cq[1], &cqe));
	assert_int_equal(cqe.as.resp.byte_count, 60);
	assert_int_equal(cqe.as.resp.grh, BSN_CQE_GRH_IN_DATA);
	assert_int_equal(cqe.as.resp.sl & 3, 2); /* IPv4 */
	assert_memory_equal(rig.buf + 1000 + 32, ipv4, 4);
	assert_memory_equal(rig.buf + 1000 + 36, ipv4, 4);
}

/* -- shared receive queues --------------------------------------------------------------------- */

enum { SRQ = 4, SRQ_STRIDE = 32 };

static struct {
	uint32_t number;
	uint16_t posted;
	uint32_t db[1];
	uint8_t ring[SRQ * SRQ_STRIDE];
} srq;

/* Puts a receive into WQE `index`, which links to `next`. */
static void srq_post(unsigned index, unsigned next, void *to, uint32_t len)
{
	const struct bsn_srq_next link = { .next_wqe_index = next };
	const struct bsn_data data = { .byte_count = len, .lkey = rig.key, .addr = (uintptr_t)to };
	uint8_t *wqe = srq.ring + (size_t)index * SRQ_STRIDE;
	struct bsn_dbr_wq record;

	bsn_srq_next_encode(wqe, &link);
	bsn_data_encode(wqe + BSN_SRQ_NEXT_SIZE, &data);
	record.index = ++srq.posted;
	bsn_dbr_wq_encode(srq.db, &record);
}

static void srq_setup(void)
{
	struct cx_srq_attr attr = { .pdn = rig.pd,
				    .buf = (uintptr_t)srq.ring,
				    .db = (uintptr_t)srq.db,
				    .count = SRQ,
				    .stride_bytes = SRQ_STRIDE };

	memset(&srq, 0, sizeof(srq));
	assert_int_equal(cx_srq_create(rig.hca, &attr, &srq.number), 0);
	rig_qp_destroy(&rig, &rig.qp[0]);
	rig_qp_destroy(&rig, &rig.qp[1]);
	rig.attr.srqn = srq.number;
	rig_qp_create(&rig, &rig.qp[0]);
	rig_qp_create(&rig, &rig.qp[1]);
	rig_qp_connect(&rig, &rig.qp[0], rig.qp[1].number);
	rig_qp_connect(&rig, &rig.qp[1], rig.qp[0].number);
}

static void expect_receive(uint16_t index, const struct rig_qp *qp)
{
	struct bsn_cqe cqe;

	assert_true(rig_poll(&rig.cq[1], &cqe));
	assert_int_equal(cqe.tail.opcode, BSN_CQE_RESP_SEND);
	assert_int_equal(cqe.tail.wqe_counter, index);
	assert_int_equal(cqe.as.resp.qpn, qp->number);
}

/* The chain is followed, not the order of the indices, and both queue pairs draw from it. */
static void a_shared_queue_is_a_chain(void **state)
{
	(void)state;
	srq_setup();
	fill(rig.buf, 8);
	srq_post(0, 2, rig.buf + 1000, 8);
	srq_post(2, 1, rig.buf + 1008, 8);
	srq_post(1, 3, rig.buf + 1016, 8);
	rig_post_send(&rig, &rig.qp[0], rig.buf, 8, BSN_CE_ALWAYS);
	run();
	expect_receive(0, &rig.qp[1]);
	rig_post_send(&rig, &rig.qp[1], rig.buf, 8, BSN_CE_ALWAYS);
	run();
	expect_receive(2, &rig.qp[0]);
	rig_post_send(&rig, &rig.qp[0], rig.buf, 8, BSN_CE_ALWAYS);
	run();
	expect_receive(1, &rig.qp[1]);
	for (unsigned i = 0; i < 3; i++)
		assert_memory_equal(rig.buf + 1000 + 8 * i, rig.buf, 8);
}

static void an_empty_shared_queue_is_not_ready(void **state)
{
	struct bsn_cqe cqe;

	(void)state;
	srq_setup();
	rig_post_send(&rig, &rig.qp[0], rig.buf, 8, BSN_CE_ALWAYS);
	run();
	assert_true(rig_poll(&rig.cq[0], &cqe));
	assert_int_equal(cqe.as.err.syndrome, BSN_SYNDROME_RNR_RETRY_EXCEEDED);
}

/* -- data inside CQEs -------------------------------------------------------------------------- */

static void connect_with_scatter(uint32_t cqe_size)
{
	for (unsigned i = 0; i < 2; i++)
		rig_qp_destroy(&rig, &rig.qp[i]);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(cx_cq_destroy(rig.hca, rig.cq[i].number), 0);
		rig_cq_create(&rig, &rig.cq[i], cqe_size);
	}
	rig.attr.send_cqn = rig.cq[0].number;
	rig.attr.recv_cqn = rig.cq[1].number;
	rig.attr.scatter_to_cqe = rig.attr.scatter_to_cqe_requester = true;
	for (unsigned i = 0; i < 2; i++)
		rig_qp_create(&rig, &rig.qp[i]);
	for (unsigned i = 0; i < 2; i++)
		rig_qp_connect(&rig, &rig.qp[i], rig.qp[!i].number);
}

/* Up to 32 bytes come in a CQE of 64, up to 64 in one of 128; then they are not in memory. */
static void short_messages_come_inside_the_cqe(void **state)
{
	static const uint32_t sizes[] = { BSN_CQE_SIZE, BSN_CQE128_SIZE };

	(void)state;
	fill(rig.buf, 100);
	for (unsigned i = 0; i < 2; i++) {
		const uint32_t room = sizes[i] / 2;

		connect_with_scatter(sizes[i]);
		for (uint32_t len = 1; len <= room + 1; len++) {
			struct bsn_cqe cqe;

			memset(rig.buf + 1000, 0, 100);
			rig_post_recv(&rig, &rig.qp[1], rig.buf + 1000, 100);
			rig_post_send(&rig, &rig.qp[0], rig.buf, len, BSN_CE_ALWAYS);
			run();
			assert_true(rig_poll(&rig.cq[0], &cqe));
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
	struct rig_wqe wqe;
	struct bsn_cqe cqe;

	(void)state;
	fill(rig.buf + 1000, 32);
	connect_with_scatter(BSN_CQE_SIZE);
	rig_begin(&wqe, BSN_OPCODE_RDMA_READ, BSN_CE_ALWAYS);
	rig_raddr(&wqe, rig.buf + 1000, rig.key);
	rig_data(&wqe, rig.buf, 32, rig.key);
	rig_post(&rig.qp[0], &wqe);
	run();
	assert_true(rig_poll(&rig.cq[0], &cqe));
	assert_int_equal(cqe.tail.format, BSN_CQE_INLINE_32);
	assert_memory_equal(cqe.inline_bytes, rig.buf + 1000, 32);
	assert_int_equal(rig.buf[1], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST_RC(name) cmocka_unit_test_setup_teardown(name, setup_rc, teardown)
#define TEST_UD(name) cmocka_unit_test_setup_teardown(name, setup_ud, teardown)
		TEST_UD(a_datagram_lands_behind_the_grh),
		TEST_UD(a_datagram_nobody_takes_is_lost),
		TEST_UD(a_datagram_has_at_most_an_mtu),
		TEST_UD(roce_datagrams_carry_their_header),
		TEST_RC(a_shared_queue_is_a_chain),
		TEST_RC(an_empty_shared_queue_is_not_ready),
		TEST_RC(short_messages_come_inside_the_cqe),
		TEST_RC(short_reads_come_inside_the_cqe),
#undef TEST_RC
#undef TEST_UD
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
