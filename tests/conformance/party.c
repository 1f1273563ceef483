/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs of libmlx5 and of Bunsen, of the same geometry. */
#include "engine.h" /* for the PD of a device; before cmocka.h, whose fail() is a macro */

#include <infiniband/mlx5dv.h>

#include "party.h"
#include "sq.h"
#include "../device/real_device.h"
#include "../wqe/random.h"

/* The first two are what bsn_qp_connect() and bsn_ep_create() take. */
enum { QKEY = 0x11111111, HOP_LIMIT = 64, CQ_ENTRIES = 256 };

/* -- the device -------------------------------------------------------------------------------- */

static bool is_roce(const struct bench *b)
{
	return !strcmp(b->info->link_layer, "Ethernet");
}

/* Says what this device cannot test. */
static void leave_out(struct bench *b, const char *why)
{
	print_message("left out: %s\n", why);
	bsn_device_close(b->device);
	skip();
}

/* Not passive: every store into a register is trapped, recorded, and is executed at once. */
void bench_open(struct bench *b, enum cx_link link, enum bsn_qp_type type, enum bsn_store store)
{
	const struct cx_config config = { .generation = CX_GEN_CX6,
					  .link = link,
					  .private_fabric = true,
					  .trace_path = getenv("BSN_TRACE") };
	const struct bsn_device_attr attr = { .path = BSN_PATH_DIRECT, .store = store };

	if (!real_device() && softcx_hca()) {
		print_error("the test that failed before left its device\n");
		skip();
	}
	memset(b, 0, sizeof(*b));
	b->type = type;
	b->max_recv_sge = 1;
	b->is_model = !real_device();
	if (b->is_model)
		ok(softcx_start(&config));
	ok(bsn_device_open(real_device(), &attr, &b->device));
	b->info = bsn_device_info(b->device);
	if (type == BSN_QP_UD && is_roce(b) != (link == CX_LINK_ROCE))
		leave_out(b, "of the other link layer");
	b->verbs = bsn_device_info(b->device)->verbs;
	b->pd = b->device->default_pd.verbs;
	ok(bsn_buf_alloc(b->device, MEMORY_BYTES, NULL, &b->memory));
}

void bench_close(struct bench *b)
{
	assert_int_equal(bench_lint_count(b), 0);
	ok(bsn_buf_free(b->memory));
	ok(bsn_device_close(b->device));
	if (b->is_model)
		ok(softcx_stop());
}

uint64_t bench_lint_count(const struct bench *b)
{
	return b->is_model ? cx_lint_count(softcx_hca()) : 0;
}

bool bench_is_working(const struct bench *b, long since_ms)
{
	return !b->is_model && now_ms() < since_ms + PATIENCE_MS;
}

/* -- libmlx5 ----------------------------------------------------------------------------------- */

static uint64_t send_ops(enum bsn_qp_type type)
{
	const uint64_t datagram = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
	const uint64_t unreliable = datagram | IBV_QP_EX_WITH_SEND_WITH_INV |
				    IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
	const uint64_t reliable = unreliable | IBV_QP_EX_WITH_RDMA_READ |
				  IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
				  IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;

	return type == BSN_QP_UC ? unreliable : type == BSN_QP_UD ? datagram : reliable;
}

static enum ibv_qp_type verbs_type(enum bsn_qp_type type)
{
	return type == BSN_QP_RC ? IBV_QPT_RC : type == BSN_QP_UC ? IBV_QPT_UC : IBV_QPT_UD;
}

void party_create_domain(struct party *p)
{
	struct ibv_td_init_attr td = { 0 };
	struct ibv_parent_domain_init_attr domain = { .pd = p->bench->pd };

	p->td = ibv_alloc_td(p->bench->verbs, &td);
	assert_non_null(p->td);
	domain.td = p->td;
	p->domain = ibv_alloc_parent_domain(p->bench->verbs, &domain);
	assert_non_null(p->domain);
}

static struct ibv_qp *create_for_mkeys(const struct bench *b, struct ibv_qp_init_attr_ex *init)
{
	struct mlx5dv_qp_init_attr mlx5 = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
		.send_ops_flags = MLX5DV_QP_EX_WITH_MR_LIST | MLX5DV_QP_EX_WITH_MR_INTERLEAVED |
				  MLX5DV_QP_EX_WITH_MKEY_CONFIGURE |
				  MLX5DV_QP_EX_WITH_MEMCPY,
	};

	init->comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	init->send_ops_flags |=
		send_ops(b->type) | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW;
	return mlx5dv_create_qp(b->verbs, init, &mlx5);
}

static void create_verbs(struct party *p)
{
	struct bench *b = p->bench;
	struct ibv_qp_init_attr_ex init = {
		.qp_type = verbs_type(b->type),
		.sq_sig_all = b->signal_all,
		.cap = { .max_send_wr = DEPTH,
			 .max_recv_wr = RECV_DEPTH,
			 .max_send_sge = MAX_SGE,
			 .max_recv_sge = b->max_recv_sge,
			 .max_inline_data = MAX_INLINE },
		.comp_mask = IBV_QP_INIT_ATTR_PD,
	};

	party_create_domain(p);
	if (b->has_channel) {
		p->channel = ibv_create_comp_channel(b->verbs);
		assert_non_null(p->channel);
	}
	if (b->has_srq) {
		struct ibv_srq_init_attr srq = { .attr = { .max_wr = RECV_DEPTH - 1,
							   .max_sge = b->max_recv_sge } };

		p->srq = ibv_create_srq(b->pd, &srq);
		assert_non_null(p->srq);
		init.srq = p->srq;
	}
	for (unsigned i = 0; i < 2; i++) {
		p->cq[i] = ibv_create_cq(b->verbs, CQ_ENTRIES, NULL, i ? p->channel : NULL, 0);
		assert_non_null(p->cq[i]);
	}
	init.send_cq = p->cq[0];
	init.recv_cq = p->cq[1];
	init.pd = p->domain;
	if (p->builder->has_send_ops) {
		init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		init.send_ops_flags = send_ops(b->type);
	}
	p->verbs = b->has_mkeys ? create_for_mkeys(b, &init) : ibv_create_qp_ex(b->verbs, &init);
	assert_non_null(p->verbs);
	assert_true(init.cap.max_inline_data >= MAX_INLINE);
}

static struct ibv_ah_attr path_to(const struct bench *b)
{
	struct ibv_ah_attr ah = {
		.dlid = b->info->lid,
		.port_num = b->info->port,
		.is_global = is_roce(b),
		.grh = { .sgid_index = b->info->gid_index, .hop_limit = HOP_LIMIT },
	};

	memcpy(ah.grh.dgid.raw, b->info->gid, sizeof(ah.grh.dgid.raw));
	return ah;
}

/*
 * The UDP source port of RoCE v2 is a random number that libmlx5 draws for each address handle
 * (verbs.c mlx5_ah_set_udp_sport()). Here all address handles get the same port, so that WQEs can
 * be compared.
 */
void party_set_source_port(uint8_t *av)
{
	struct bsn_av_ud fields;

	bsn_av_ud_decode(&fields, av);
	assert_in_range(fields.rlid, 0xc000, 0xffff);
	fields.rlid = 0xd00d;
	bsn_store_be32(av + 12, bsn_av_ud_dword(&fields, 3));
}

void party_create_ah(struct party *p)
{
	struct ibv_ah_attr path = path_to(p->bench);
	struct mlx5dv_ah map;
	struct mlx5dv_obj obj = { .ah = { .out = &map } };

	p->ah = ibv_create_ah(p->bench->pd, &path);
	assert_non_null(p->ah);
	obj.ah.in = p->ah;
	ok(mlx5dv_init_obj(&obj, MLX5DV_OBJ_AH));
	if (is_roce(p->bench))
		party_set_source_port((uint8_t *)map.av);
}

void party_modify(const struct bench *b, struct ibv_qp *qp, enum ibv_qp_state state, int mask,
		  uint32_t dest_qpn)
{
	struct ibv_qp_attr attr = {
		.qp_state = state,
		.port_num = b->info->port,
		.qkey = QKEY,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = dest_qpn,
		.ah_attr = path_to(b),
		.max_dest_rd_atomic = 16,
		.max_rd_atomic = 16,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
	};

	if (b->type != BSN_QP_UC)
		attr.qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	ok(ibv_modify_qp(qp, &attr, IBV_QP_STATE | mask));
}

static void connect_verbs(struct party *p, uint32_t dest_qpn)
{
	const bool rc = p->bench->type == BSN_QP_RC, ud = p->bench->type == BSN_QP_UD;
	const int init = IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	const int rtr = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	const int rts =
		IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	const int reliable = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;

	party_modify(p->bench, p->verbs, IBV_QPS_INIT,
		     init | (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS), 0);
	party_modify(p->bench, p->verbs, IBV_QPS_RTR, ud ? 0 : rtr | (rc ? reliable : 0), dest_qpn);
	party_modify(p->bench, p->verbs, IBV_QPS_RTS, IBV_QP_SQ_PSN | (rc ? rts : 0), dest_qpn);
}

static void destroy_verbs(struct party *p)
{
	ok(ibv_destroy_qp(p->verbs));
	if (p->srq)
		ok(ibv_destroy_srq(p->srq));
	if (p->ah)
		ok(ibv_destroy_ah(p->ah));
	for (unsigned i = 0; i < 2; i++)
		if (p->cq[i])
			ok(ibv_destroy_cq(p->cq[i]));
	if (p->channel)
		ok(ibv_destroy_comp_channel(p->channel));
	ok(ibv_dealloc_pd(p->domain));
	ok(ibv_dealloc_td(p->td));
}

/* -- Bunsen ------------------------------------------------------------------------------------ */

static void create_bunsen(struct party *p)
{
	struct bench *b = p->bench;
	const struct bsn_lane_attr lane = { .is_shared = b->is_shared };
	struct bsn_cq_attr cq = { .entries = CQ_ENTRIES };
	const struct bsn_srq_attr srq = { .recv_depth = RECV_DEPTH - 1,
					  .max_recv_sge = b->max_recv_sge };
	struct bsn_qp_attr attr = { .type = b->type,
				    .send_depth = DEPTH,
				    .recv_depth = RECV_DEPTH,
				    .max_send_sge = MAX_SGE,
				    .max_recv_sge = b->max_recv_sge,
				    .max_inline = MAX_INLINE,
				    .signal_every = -1, /* libmlx5 adds no signals of its own */
				    .signal_all = b->signal_all };

	if (b->has_channel)
		ok(bsn_channel_create(b->device, &p->bsn_channel));
	for (unsigned i = 0; i < 2; i++) {
		cq.channel = i ? p->bsn_channel : NULL;
		ok(bsn_cq_create(b->device, &cq, &p->bsn_cq[i]));
	}
	ok(bsn_lane_create(b->device, &lane, &p->lane));
	attr.lane = p->lane;
	if (b->has_srq)
		ok(bsn_srq_create(b->device, &srq, &p->bsn_srq));
	attr.srq = p->bsn_srq;
	attr.cq = p->bsn_cq[0];
	attr.recv_cq = p->bsn_cq[1];
	ok(bsn_qp_create(b->device, &attr, &p->qp));
	if (b->type == BSN_QP_UD)
		ok(bsn_qp_connect(p->qp, NULL, NULL));
}

static void connect_bunsen(struct party *p, struct party *to)
{
	struct bsn_address address;

	ok(bsn_qp_address(to->qp, &address));
	if (p->bench->type == BSN_QP_UD) {
		ok(bsn_ep_create(p->qp, &address, NULL, NULL, &p->ep));
		if (is_roce(p->bench))
			party_set_source_port((uint8_t *)&((struct bsn_peer *)(void *)p->ep)->head);
		return;
	}
	ok(bsn_qp_connect(p->qp, &address, NULL));
	p->ep = bsn_qp_ep(p->qp);
}

static void destroy_bunsen(struct party *p)
{
	if (p->ep && p->bench->type != BSN_QP_RC && p->bench->type != BSN_QP_UC)
		ok(bsn_ep_destroy(p->ep));
	ok(bsn_qp_destroy(p->qp));
	ok(bsn_srq_destroy(p->bsn_srq));
	ok(bsn_lane_destroy(p->lane));
	for (unsigned i = 0; i < 2; i++)
		ok(bsn_cq_destroy(p->bsn_cq[i]));
	ok(bsn_channel_destroy(p->bsn_channel));
}

/* -- both -------------------------------------------------------------------------------------- */

static void map_srq(struct party *p, struct ibv_srq *srq)
{
	struct mlx5dv_srq map = { 0 };
	struct mlx5dv_obj obj = { .srq = { .in = srq, .out = &map } };

	ok(mlx5dv_init_obj(&obj, MLX5DV_OBJ_SRQ));
	assert_int_equal(map.head, 0);
	assert_int_equal(map.tail, RECV_DEPTH - 1);
	p->recv_ring = map.buf;
	p->recv_stride = map.stride;
	p->recv_record = (const uint8_t *)map.dbrec;
}

struct mlx5dv_qp party_map_send(struct party *p, struct ibv_qp *qp)
{
	struct mlx5dv_qp map = { 0 };
	struct mlx5dv_obj obj = { .qp = { .in = qp, .out = &map } };

	ok(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP));
	assert_int_equal(map.sq.stride, BSN_BB_SIZE);
	p->qpn = qp->qp_num;
	p->ring = map.sq.buf;
	p->count_bb = map.sq.wqe_cnt;
	p->record = (const uint8_t *)map.dbrec;
	p->reg = (uint32_t)((uintptr_t)map.bf.reg % TRAP_PAGE_BYTES);
	return map;
}

static void map_queues(struct party *p)
{
	struct ibv_qp *qp = p->verbs ? p->verbs : bsn_qp_info(p->qp)->verbs;
	const struct mlx5dv_qp map = party_map_send(p, qp);

	assert_int_equal(p->count_bb, RING_BB);
	p->recv_ring = map.rq.buf;
	p->recv_stride = map.rq.stride;
	p->recv_record = p->record + BSN_DBR_RECV_OFFSET;
	if (p->bench->has_srq)
		map_srq(p, qp->srq);
	else
		assert_int_equal(map.rq.wqe_cnt, RECV_DEPTH);
}

void party_create(struct bench *b, struct party *p, const struct builder *builder)
{
	memset(p, 0, sizeof(*p));
	p->bench = b;
	p->builder = builder;
	if (builder->is_bunsen)
		create_bunsen(p);
	else
		create_verbs(p);
	map_queues(p);
}

void party_connect(struct party *p, struct party *to)
{
	const bool both_ways = p->bench->type != BSN_QP_UD;

	p->to = to;
	if (p->qp) {
		connect_bunsen(p, to);
		if (both_ways)
			connect_bunsen(to, p);
		return;
	}
	connect_verbs(p, to->qpn);
	if (both_ways)
		connect_verbs(to, p->qpn);
	else
		party_create_ah(p);
}

void party_destroy(struct party *p)
{
	if (p->qp)
		destroy_bunsen(p);
	else
		destroy_verbs(p);
}

void party_create_pair(struct bench *b, struct party *from, struct party *to,
		       const struct builder *builder)
{
	party_create(b, from, builder);
	party_create(b, to, builder);
	party_connect(from, to);
}

void party_destroy_pair(struct party *from, struct party *to)
{
	party_destroy(from);
	party_destroy(to);
}

void party_poison(struct party *p, uint64_t seed)
{
	/* Bunsen reads back the WQE that completed last, before it gives its blocks away. */
	if (p->qp)
		assert_int_equal(bsn_sq_outstanding_bb(p->ep->sq), 0);
	random_state = seed | 1;
	random_bytes(p->ring, (size_t)p->count_bb * BSN_BB_SIZE);
}

void party_post(struct party *p, struct bsn_wr wr)
{
	struct request r = { .wr = wr };

	if (wr.sge_count) {
		r.sge[0] = *wr.sge;
		r.bytes = wr.sge->length;
	}
	r.wr.sge = r.sge;
	assert_int_equal(p->builder->post(p, &r, 1), 0);
}

void party_receive(struct party *p, const struct bsn_sge *sge, unsigned count, uint64_t id)
{
	struct ibv_recv_wr *bad, wr = { .wr_id = id, .num_sge = (int)count };

	if (p->qp) {
		ok(bsn_recv_sgl(bsn_qp_rq(p->qp), sge, count, id));
		return;
	}
	wr.sg_list = (struct ibv_sge *)(uintptr_t)sge;
	if (p->srq)
		ok(ibv_post_srq_recv(p->srq, &wr, &bad));
	else
		ok(ibv_post_recv(p->verbs, &wr, &bad));
}

static const uint8_t opcode_of[] = {
	[IBV_WC_SEND] = BSN_OPCODE_SEND,
	[IBV_WC_RDMA_WRITE] = BSN_OPCODE_RDMA_WRITE,
	[IBV_WC_RDMA_READ] = BSN_OPCODE_RDMA_READ,
	[IBV_WC_COMP_SWAP] = BSN_OPCODE_ATOMIC_CS,
	[IBV_WC_FETCH_ADD] = BSN_OPCODE_ATOMIC_FA,
	[IBV_WC_RECV] = BSN_RECV,
	[IBV_WC_RECV_RDMA_WITH_IMM] = BSN_RECV_RDMA_WITH_IMM,
};

static bool reap_verbs(struct party *p, unsigned which, struct seen *seen)
{
	struct ibv_wc wc;
	const int n = ibv_poll_cq(p->cq[which], 1, &wc);

	assert_in_range(n, 0, 1);
	if (!n)
		return false;
	*seen = (struct seen){ .id = wc.wr_id,
			       .status = (int)wc.status,
			       .opcode = opcode_of[wc.opcode],
			       .byte_len = wc.byte_len,
			       .imm = wc.wc_flags & IBV_WC_WITH_IMM ? be32toh(wc.imm_data)
								    : wc.invalidated_rkey };
	seen->flags = (wc.wc_flags & IBV_WC_WITH_IMM ? BSN_C_IMM : 0u) |
		      (wc.wc_flags & IBV_WC_WITH_INV ? BSN_C_INVAL : 0u) |
		      /* Elsewhere, data may be inside the CQE where it says so. */
		      (p->ah && (wc.wc_flags & IBV_WC_GRH) ? BSN_C_GRH : 0u);
	return true;
}

static bool reap_bunsen(struct party *p, unsigned which, struct seen *seen)
{
	struct bsn_completion c;
	const int n = bsn_poll(p->bsn_cq[which], &c, 1);

	assert_in_range(n, 0, 1);
	if (!n)
		return false;
	*seen = (struct seen){ c.id, c.status, c.opcode, c.byte_len, c.flags, c.flags ? c.imm : 0 };
	return true;
}

bool party_reap(struct party *p, unsigned which, struct seen *seen)
{
	return p->qp ? reap_bunsen(p, which, seen) : reap_verbs(p, which, seen);
}

bool party_await(struct party *p, unsigned which, struct seen *seen)
{
	const long since_ms = now_ms();
	bool came, working;

	do {
		working = bench_is_working(p->bench, since_ms);
		came = party_reap(p, which, seen);
	} while (!came && working);
	return came;
}

struct seen party_success(struct party *p, unsigned which)
{
	struct seen seen;

	assert_true(party_await(p, which, &seen));
	assert_int_equal(seen.status, IBV_WC_SUCCESS);
	return seen;
}
