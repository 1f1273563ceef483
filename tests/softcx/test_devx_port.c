/* SPDX-License-Identifier: BSD-2-Clause */
/* What a port tells of itself, and what it counts of queues made by commands. */
#include "dc_queues.h"
#include "../port_count.h"

/* -- what the port counts ---------------------------------------------------------------------- */

/* The set that the kernel gives to queues of verbs, as UCX finds it out. */
static uint32_t set_of(struct ibv_qp *qp)
{
	uint8_t in[BSN_MEANING_IN_SIZE] = { 0 }, out[BSN_QUERY_QP_OUT_SIZE];
	struct bsn_qpc_shape shape;

	put_head(in, BSN_CMD_QUERY_QP, qp->qp_num);
	assert_int_equal(mlx5dv_devx_qp_query(qp, in, sizeof(in), out, sizeof(out)), 0);
	bsn_qpc_shape_decode(&shape, out + BSN_CREATE_QP_CTX_OFFSET);
	return shape.counter_set_id;
}

static void verbs_have_their_set_from_init_on(void **state)
{
	assert_int_not_equal(set_of(lo.qp), 0);
	assert_int_equal(loopback_modify(lo.qp, IBV_QPS_RESET, IBV_QP_STATE), 0);
	assert_int_equal(set_of(lo.qp), 0);
	assert_int_equal(loopback_modify(lo.qp, IBV_QPS_INIT, LOOPBACK_INIT_MASK), 0);
	assert_int_not_equal(set_of(lo.qp), 0);
}

static void who_names_the_set_is_counted(void **state)
{
	const unsigned before = port_count("rx_write_requests");
	struct move m = move_of(1, BSN_CMD_RST2INIT_QP);

	connect_ends();
	post(0, BSN_OPCODE_RDMA_WRITE, 64);
	expect_sent(0);
	assert_int_equal(port_count("rx_write_requests"), before);
	for (unsigned i = 0; i < ENDS; i++) {
		simply_move(i, BSN_CMD_2RST_QP);
		q.ends[i].sq_index = 0;
		memset(q.ends[i].memory + QP_RECORD_AT, 0, BSN_DBR_SIZE);
	}
	m.shape.counter_set_id = set_of(lo.qp) + 1;
	must_refuse(1, &m, BSN_COMMAND_BAD_RESOURCE);
	m.shape.counter_set_id = set_of(lo.qp);
	must_move(1, &m);
	simply_move(1, BSN_CMD_INIT2RTR_QP);
	simply_move(0, BSN_CMD_RST2INIT_QP);
	simply_move(0, BSN_CMD_INIT2RTR_QP);
	simply_move(0, BSN_CMD_RTR2RTS_QP);
	for (unsigned i = 1; i < 4; i++) {
		post(0, BSN_OPCODE_RDMA_WRITE, 64);
		expect_sent(0);
		assert_int_equal(port_count("rx_write_requests"), before + i);
	}
	assert_int_equal(port_count("rx_read_requests"), 0);
	assert_int_equal(port_count("out_of_buffer"), 0);
	post(0, BSN_OPCODE_SEND_IMM, 48); /* it has no receive */
	assert_true(port_count("out_of_buffer") > 0);
}

static void a_target_that_names_the_set_counts_connections(void **state)
{
	struct bsn_dctc again = dct_request();
	uint8_t out[BSN_CREATED_OUT_SIZE];

	open_dci();
	post_to_rmp(1024);
	post_dc(KEY, STREAM);
	expect_dc_sent();
	assert_int_equal(port_count("rx_dct_connect"), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(d.dct), 0);
	again.counter_set_id = set_of(lo.qp) + 1;
	assert_null(create_dct(&again, out));
	assert_int_equal(status_of(out), BSN_COMMAND_BAD_RESOURCE);
	again.counter_set_id = set_of(lo.qp);
	d.dct = made(create_dct(&again, out));
	d.dctn = number_of(out);
	assert_int_equal(query_dct().counter_set_id, again.counter_set_id);
	for (unsigned i = 0; i < 2; i++) {
		post_to_rmp(1024);
		post_dc(KEY, STREAM);
		expect_dc_sent();
		assert_int_equal(port_count("rx_dct_connect"), 1);
	}
}

/* -- the port ---------------------------------------------------------------------------------- */

static int query_port(uint32_t port, uint8_t *out)
{
	uint8_t in[BSN_MEANING_IN_SIZE] = { 0 };

	put_head(in, BSN_CMD_QUERY_HCA_VPORT_CONTEXT, 0);
	ENCODE(cmd_vport, in + BSN_CMD_OBJECT_OFFSET, .port_num = port);
	return mlx5dv_devx_general_cmd(lo.ctx, in, sizeof(in), out, BSN_QUERY_VPORT_OUT_SIZE);
}

static void the_port_tells_its_address(void **state)
{
	uint8_t out[BSN_QUERY_VPORT_OUT_SIZE];
	const uint8_t *context = out + BSN_QUERY_VPORT_CTX_OFFSET;
	struct bsn_vport_address address;
	struct bsn_vport_state port;

	assert_int_equal(query_port(0, out), 0);
	bsn_vport_state_decode(&port, context);
	bsn_vport_address_decode(&address, context + BSN_VPORT_ADDRESS_OFFSET);
	assert_int_equal(port.port_state, IBV_PORT_ACTIVE);
	assert_int_equal(port.port_guid, cx_node_guid(cx_config(softcx_hca())));
	assert_int_equal(address.lid, CX_LID);
	assert_int_equal(query_port(2, out), EREMOTEIO);
	assert_int_equal(status_of(out), BSN_COMMAND_BAD_PARAMETER);
}

/* On RoCE a program resolves the other end's address itself. */
static void a_wrong_mac_leads_nowhere(void **state)
{
	const uint64_t findings = cx_lint_count(softcx_hca());
	uint8_t mac[6], out[BSN_QUERY_VPORT_OUT_SIZE];
	union ibv_gid gid;

	assert_int_equal(query_port(0, out), EREMOTEIO); /* of InfiniBand */
	assert_int_equal(status_of(out), BSN_COMMAND_BAD_OPERATION);
	cx_port_mac(cx_config(softcx_hca()), mac);
	assert_int_equal(ibv_query_gid(lo.ctx, 1, 1, &gid), 0);
	for (unsigned end = 0; end < ENDS; end++) {
		struct move m = move_of(end, BSN_CMD_INIT2RTR_QP);
		m.path.src_addr_index = 1;
		m.path.rgid_hi = bsn_load_be64(gid.raw);
		m.path.rgid_lo = bsn_load_be64(gid.raw + 8);
		m.path.rmac_47_32 = (uint32_t)mac[0] << 8 | mac[1];
		m.path.rmac_31_0 = bsn_load_be32(mac + 2) + end; /* wrong from end 1 to end 0 */
		simply_move(end, BSN_CMD_RST2INIT_QP);
		must_move(end, &m);
	}
	for (unsigned end = 0; end < ENDS; end++)
		simply_move(end, BSN_CMD_RTR2RTS_QP);
	assert_int_equal(cx_lint_count(softcx_hca()), findings + 1);
	post(0, BSN_OPCODE_RDMA_WRITE, 64);
	expect_sent(0);
	post(1, BSN_OPCODE_RDMA_WRITE, 64);
	for (unsigned n = 0; n < 100; n++)
		softcx_step(0);
	expect_failed(1, BSN_SYNDROME_RETRY_EXCEEDED);
}

UNIT_MAIN(NULL, TEST(verbs_have_their_set_from_init_on), TEST(who_names_the_set_is_counted),
	  TEST_DC(a_target_that_names_the_set_counts_connections), TEST(the_port_tells_its_address),
	  TEST_ROCE(a_wrong_mac_leads_nowhere))
