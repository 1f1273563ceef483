/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests of a DCI equal, byte for byte, what libmlx5 builds by ibv_wr_*() and
 * mlx5dv_wr_set_dc_addr() or its form for streams. They have the extended address vector, since
 * libmlx5 knows no other. So do requests of an XRC initiator. Each request goes to the DCT or the
 * SRQ of the bench, whose memory shows that the device understood it.
 */
#include <infiniband/mlx5dv.h>

#include <fcntl.h>
#include <stdio.h>

#include "../wqe/encode.h"
#include "bsn_dc.h"
#include "bsn_xrc.h"
#include "compare.h"

enum { KEY = DC_KEY, SGES = 4, INLINE = 200, ROUNDS = 40, LENGTH = 24 };

static struct {
	struct bench bench;
	struct bsn_cq *into;
	struct bsn_rq *srq;
	struct bsn_dct *dct;
	FILE *file; /* whose the XRC domain is */
	struct bsn_xrcd *xrcd;
	struct bsn_xrc_target *xrc_target; /* of Bunsen's initiator */
	struct ibv_xrcd *verbs_xrcd;
	struct ibv_qp *verbs_target;          /* of libmlx5's */
	struct party libmlx5, bunsen, target; /* of the target only its number is read */
	struct bsn_cq *cq;
	bool has_streams; /* of libmlx5's DCI; to Bunsen a stream is only a number in the WQE */
} t;

/* -- both sides -------------------------------------------------------------------------------- */

static void modify(struct ibv_qp *qp, enum ibv_qp_state state, int mask, uint32_t dest_qpn)
{
	party_modify(&t.bench, qp, state, mask, dest_qpn);
}

enum {
	INIT = IBV_QP_PKEY_INDEX | IBV_QP_PORT,
	RTR = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
	      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	RTS = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
	      IBV_QP_MAX_QP_RD_ATOMIC
};

static void open_dci(struct ibv_qp *dci)
{
	modify(dci, IBV_QPS_INIT, INIT, 0);
	modify(dci, IBV_QPS_RTR, IBV_QP_PATH_MTU, 0);
	modify(dci, IBV_QPS_RTS, RTS, 0);
}

static void open_xrc(struct ibv_qp *initiator)
{
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_XRC_RECV,
					    .comp_mask = IBV_QP_INIT_ATTR_XRCD };
	struct ibv_xrcd_init_attr domain = { .comp_mask = IBV_XRCD_INIT_ATTR_FD |
							  IBV_XRCD_INIT_ATTR_OFLAGS,
					     .fd = fileno(t.file),
					     .oflags = O_CREAT };

	t.verbs_xrcd = ibv_open_xrcd(t.bench.verbs, &domain);
	assert_non_null(t.verbs_xrcd);
	init.xrcd = t.verbs_xrcd;
	t.verbs_target = ibv_create_qp_ex(t.bench.verbs, &init);
	assert_non_null(t.verbs_target);
	modify(t.verbs_target, IBV_QPS_INIT, INIT | IBV_QP_ACCESS_FLAGS, 0);
	modify(t.verbs_target, IBV_QPS_RTR, RTR, initiator->qp_num);
	modify(initiator, IBV_QPS_INIT, INIT | IBV_QP_ACCESS_FLAGS, 0);
	modify(initiator, IBV_QPS_RTR, RTR, t.verbs_target->qp_num);
	modify(initiator, IBV_QPS_RTS, RTS, 0);
}

static bool is_dc(void)
{
	return t.bench.type == BSN_QP_DC;
}

static struct party *start_party(struct party *p)
{
	p->bench = &t.bench;
	p->to = &t.target;
	return p;
}

static void make_libmlx5(struct party *p)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = is_dc() ? IBV_QPT_DRIVER : IBV_QPT_XRC_SEND,
		.cap = { .max_send_wr = 16, .max_send_sge = SGES, .max_inline_data = INLINE },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
				  IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
				  IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
				  IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
	};
	struct mlx5dv_qp_init_attr mlx5 = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
		.dc_init_attr = { .dc_type = MLX5DV_DCTYPE_DCI },
	};

	if (t.has_streams) {
		mlx5.comp_mask |= MLX5DV_QP_INIT_ATTR_MASK_DCI_STREAMS;
		mlx5.dc_init_attr.dci_streams = (struct mlx5dv_dci_streams){ 2, 2 };
	}
	p->builder = &builders[1];
	party_create_domain(start_party(p));
	p->cq[0] = ibv_create_cq(t.bench.verbs, 64, NULL, NULL, 0);
	assert_non_null(p->cq[0]);
	init.pd = p->domain;
	init.send_cq = init.recv_cq = p->cq[0];
	p->verbs = is_dc() ? mlx5dv_create_qp(t.bench.verbs, &init, &mlx5)
			   : ibv_create_qp_ex(t.bench.verbs, &init);
	assert_non_null(p->verbs);
	if (is_dc())
		open_dci(p->verbs);
	else
		open_xrc(p->verbs);
	party_map_send(p, p->verbs);
}

static void connect_dc(struct party *p)
{
	struct bsn_address address;

	ok(bsn_qp_connect(p->qp, NULL, NULL));
	ok(bsn_dct_address(t.dct, &address));
	ok(bsn_ep_create(p->qp, &address, NULL, NULL, &p->ep));
	party_set_source_port((uint8_t *)&((struct bsn_peer *)(void *)p->ep)->head);
}

static void connect_xrc(struct party *p)
{
	struct bsn_address address;

	ok(bsn_xrc_target_create(t.xrcd, &t.xrc_target));
	ok(bsn_xrc_target_address(t.xrc_target, &address));
	ok(bsn_qp_connect(p->qp, &address, NULL));
	ok(bsn_qp_address(p->qp, &address));
	ok(bsn_xrc_target_connect(t.xrc_target, &address, NULL));
	ok(bsn_xrc_ep_create(p->qp, bsn_srq_number(t.srq), NULL, &p->ep));
}

static void make_bunsen(struct party *p)
{
	struct bsn_qp_attr attr = { .type = t.bench.type,
				    .cq = t.cq,
				    .send_depth = 16,
				    .max_send_sge = SGES,
				    .max_inline = INLINE,
				    .signal_every = -1 };

	ok(bsn_qp_create(t.bench.device, &attr, &start_party(p)->qp));
	if (is_dc())
		connect_dc(p);
	else
		connect_xrc(p);
	p->bsn_cq[0] = t.cq;
	party_map_send(p, bsn_qp_info(p->qp)->verbs);
}

static void open_bench(enum cx_link link, enum bsn_qp_type type)
{
	memset(&t, 0, sizeof(t));
	bench_open(&t.bench, link, type, BSN_STORE_8);
	ok(bsn_cq_create(t.bench.device, &(struct bsn_cq_attr){ 0 }, &t.cq));
	ok(bsn_cq_create(t.bench.device, &(struct bsn_cq_attr){ 0 }, &t.into));
}

static int set_up_targets(bool has_streams)
{
	struct bsn_dct_attr target = { .access_key = KEY };

	open_bench(CX_LINK_ROCE, BSN_QP_DC);
	t.has_streams = has_streams;
	ok(bsn_srq_create(t.bench.device, NULL, &t.srq));
	target.cq = t.into;
	target.srq = t.srq;
	ok(bsn_dct_create(t.bench.device, &target, &t.dct));
	t.target.qpn = bsn_dct_number(t.dct);
	make_libmlx5(&t.libmlx5);
	party_create_ah(&t.libmlx5);
	make_bunsen(&t.bunsen);
	return 0;
}

static int set_up_dc(void **state)
{
	return set_up_targets(false);
}

static int set_up_streams(void **state)
{
	return set_up_targets(true);
}

static int set_up_xrc(void **state)
{
	struct bsn_srq_attr srq = { 0 };

	open_bench(CX_LINK_IB, BSN_QP_XRC);
	t.file = tmpfile();
	assert_non_null(t.file);
	ok(bsn_xrcd_open(t.bench.device, fileno(t.file), &t.xrcd));
	srq.xrcd = t.xrcd;
	srq.cq = t.into;
	srq.pd = NULL;
	ok(bsn_srq_create(t.bench.device, &srq, &t.srq));
	t.target.qpn = bsn_srq_number(t.srq);
	make_libmlx5(&t.libmlx5);
	make_bunsen(&t.bunsen);
	return 0;
}

static int tear_down(void **state)
{
	party_destroy(&t.libmlx5);
	party_destroy(&t.bunsen);
	ok(bsn_dct_destroy(t.dct));
	if (t.xrcd) {
		ok(ibv_destroy_qp(t.verbs_target));
		ok(ibv_close_xrcd(t.verbs_xrcd));
		ok(bsn_xrc_target_destroy(t.xrc_target));
	}
	ok(bsn_srq_destroy(t.srq));
	ok(bsn_xrcd_close(t.xrcd));
	if (t.file)
		fclose(t.file);
	ok(bsn_cq_destroy(t.into));
	bench_close(&t.bench);
	return 0;
}

/* -- requests ---------------------------------------------------------------------------------- */

static uint8_t *at(size_t offset)
{
	return bench_at(&t.bench, offset);
}

static bool has_imm(uint32_t opcode)
{
	return opcode == BSN_OPCODE_SEND_IMM || opcode == BSN_OPCODE_RDMA_WRITE_IMM;
}

static void make_request(struct request *r, uint32_t opcode, unsigned sges, unsigned inline_bytes,
			 unsigned flags, uint64_t id)
{
	const unsigned length = inline_bytes ? inline_bytes : is_atomic(opcode) ? 8 : LENGTH;

	memset(r, 0, sizeof(*r));
	for (unsigned i = 0; i < sges; i++)
		r->sge[i] = bsn_sge_of(t.bench.memory, SOURCE + 64 * i, length);
	r->bytes = sges * length;
	r->wr = (struct bsn_wr){ .id = id,
				 .sge = r->sge,
				 .sge_count = sges,
				 .flags = flags | (inline_bytes ? BSN_F_INLINE : 0u),
				 .remote = bsn_remote_of(t.bench.memory, TARGET),
				 .opcode = opcode,
				 .imm = has_imm(opcode) ? 0xcafe0000 + (uint32_t)id : 0,
				 .swap_add = id,
				 .compare = 3 };
}

static void drain_target(void)
{
	struct bsn_completion c;

	while (bsn_poll(t.into, &c, 1) == 1)
		assert_int_equal(c.status, IBV_WC_SUCCESS);
}

static void post(struct party *p, const struct request *r, struct published *out)
{
	const struct bsn_sge into = bsn_sge_of(t.bench.memory, TARGET, 1024);

	drain_target();
	if (r->wr.opcode == BSN_OPCODE_SEND || has_imm(r->wr.opcode))
		ok(bsn_recv(t.srq, &into, 1));
	published_start();
	assert_int_equal(p->builder->post(p, r, 1), 0);
	published_take(p, 1, out);
	ok(published_check(out));
	if (r->wr.flags & BSN_F_SIGNALED)
		assert_int_equal(party_success(p, 0).id, r->wr.id);
}

/* Each way of posting of Bunsen's in turn, so that each comes to each position of the ring. */
static void compare_both(const struct request *r, unsigned way)
{
	static struct published want, got;
	uint8_t arrived[LENGTH];

	t.bunsen.builder = &builders[2 + way % (builder_count - 2)];
	post(&t.libmlx5, r, &want);
	memcpy(arrived, at(TARGET), sizeof(arrived));
	if (!is_atomic(r->wr.opcode))
		memset(at(TARGET), 0, sizeof(arrived));
	post(&t.bunsen, r, &got);
	if (published_compare(&want, &got, true))
		fail_msg("%s: opcode %#x, %u SGEs, flags %#x, round %u", t.bunsen.builder->name,
			 r->wr.opcode, r->wr.sge_count, r->wr.flags, way);
	if (!is_atomic(r->wr.opcode) && r->wr.opcode != BSN_OPCODE_RDMA_READ)
		assert_memory_equal(arrived, at(TARGET), sizeof(arrived));
}

static const uint32_t opcodes[] = { BSN_OPCODE_SEND,       BSN_OPCODE_SEND_IMM,
				    BSN_OPCODE_RDMA_WRITE, BSN_OPCODE_RDMA_WRITE_IMM,
				    BSN_OPCODE_RDMA_READ,  BSN_OPCODE_ATOMIC_CS,
				    BSN_OPCODE_ATOMIC_FA };

static void of_each_opcode(unsigned sges, unsigned inline_bytes, unsigned flags)
{
	struct request r;

	for (size_t k = 0; k < sizeof(opcodes) / sizeof(opcodes[0]); k++) {
		const bool gathers = !is_atomic(opcodes[k]) && opcodes[k] != BSN_OPCODE_RDMA_READ;
		if ((inline_bytes && !gathers) || (is_atomic(opcodes[k]) && sges != 1))
			continue;
		for (unsigned round = 0; round < ROUNDS; round++) {
			/* An unsignaled request is followed by a signaled one of another length. */
			make_request(&r, opcodes[k], sges, inline_bytes, flags, round + 1);
			compare_both(&r, round);
			make_request(&r, BSN_OPCODE_RDMA_WRITE, 1 + round % SGES, 0, BSN_F_SIGNALED,
				     round);
			compare_both(&r, round);
		}
	}
}

static void lists_of_pieces(void **state)
{
	for (unsigned sges = 1; sges <= SGES; sges++)
		of_each_opcode(sges, 0, BSN_F_SIGNALED);
}

static void inline_data(void **state)
{
	static const unsigned lengths[] = {
		1, 7, 8, 12, 13, 28, 29, 44, 45, 60, 108, 172, 199, 200
	};

	for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++)
		of_each_opcode(1, lengths[k], BSN_F_SIGNALED);
}

static void every_flag(void **state)
{
	for (unsigned set = 0; set < 8; set++)
		of_each_opcode(1, 0, flags_of(set));
}

/* Sets the stream as a pool of initiators does: engine/dc. */
static void name_stream(uint16_t stream)
{
	struct bsn_peer *peer = (struct bsn_peer *)(void *)t.bunsen.ep;
	uint8_t bytes[BSN_CTRL_SIZE];

	ENCODE(ctrl, bytes, .dci_stream = stream);
	memcpy(&peer->ctrl_bits, bytes + BSN_CTRL_SIZE / 2, sizeof(peer->ctrl_bits));
	t.libmlx5.stream = stream;
}

static void every_stream(void **state)
{
	static const uint16_t names[] = { 1, 2, 0xff, 0x100, 0x8001, UINT16_MAX };

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		name_stream(names[i]);
		for (unsigned set = 0; set < 4; set++)
			of_each_opcode(1, 0, flags_of(set));
	}
}

#define DC(function)      cmocka_unit_test_setup_teardown(function, set_up_dc, tear_down)
#define STREAMS(function) cmocka_unit_test_setup_teardown(function, set_up_streams, tear_down)
#define XRC(function)     cmocka_unit_test_setup_teardown(function, set_up_xrc, tear_down)

UNIT_MAIN(NULL, DC(lists_of_pieces), DC(inline_data), DC(every_flag), STREAMS(every_stream),
	  XRC(lists_of_pieces), XRC(inline_data), XRC(every_flag))
