/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The columns of libibverbs, which alone posts to their queues and polls them (bunsen.h).
 *
 * `ibv`: ibv_post_send(), ibv_poll_cq(), ibv_post_recv(). Requests that do not change are built
 * once, and only their id is set at each post: the best that a program can do there. `ibv_wr`:
 * ibv_wr_*, and ibv_start_poll() for completions.
 */
#include "bunsen.h"

#include <fcntl.h>
#include <stdlib.h>

/* -- requests ---------------------------------------------------------------------------------- */

static struct ibv_send_wr make_wr(const struct verbs_queue *q, enum cost_what what,
				  const struct ibv_sge *sge, unsigned sges, unsigned flags)
{
	static const enum ibv_wr_opcode opcodes[] = {
		[COST_WRITE] = IBV_WR_RDMA_WRITE,
		[COST_WRITE_IMM] = IBV_WR_RDMA_WRITE_WITH_IMM,
		[COST_READ] = IBV_WR_RDMA_READ,
		[COST_SEND] = IBV_WR_SEND,
		[COST_SEND_IMM] = IBV_WR_SEND_WITH_IMM,
		[COST_FETCH_ADD] = IBV_WR_ATOMIC_FETCH_AND_ADD,
		[COST_CMP_SWAP] = IBV_WR_ATOMIC_CMP_AND_SWP,
	};
	struct ibv_send_wr wr = {
		.sg_list = (struct ibv_sge *)(uintptr_t)sge,
		.num_sge = (int)sges,
		.opcode = opcodes[what],
		.send_flags = IBV_SEND_SIGNALED | flags,
	};

	if (q->ah) {
		wr.wr.ud.ah = q->ah;
		wr.wr.ud.remote_qpn = q->qp->qp_num;
		wr.wr.ud.remote_qkey = VERBS_QKEY;
	} else if (what == COST_FETCH_ADD || what == COST_CMP_SWAP) {
		wr.wr.atomic.remote_addr = q->made.target.remote.addr;
		wr.wr.atomic.rkey = q->made.target.remote.rkey;
		wr.wr.atomic.compare_add = what == COST_FETCH_ADD;
		wr.wr.atomic.swap = 1;
	} else {
		wr.wr.rdma.remote_addr = q->made.target.remote.addr;
		wr.wr.rdma.rkey = q->made.target.remote.rkey;
	}
	if (q->xrcd)
		wr.qp_type.xrc.remote_srqn = q->srq_number;
	return wr;
}

static int set_up(void *queue, const struct cost_shape *shape)
{
	struct verbs_queue *q = queue;
	const bool is_inline = shape->form == COST_INLINED;

	q->data.length = is_inline ? shape->n : 0;
	q->local[0].length = cost_message_bytes(shape);
	for (unsigned i = 0; i < shape->batch; i++) {
		const bool goes_on = i + 1 < shape->batch;

		q->recvs[i] = (struct ibv_recv_wr){
			.next = goes_on ? &q->recvs[i + 1] : NULL,
			.sg_list = q->recv,
			.num_sge = shape->what == COST_RECV ? (int)shape->n : 1,
		};
		if (shape->what >= COST_RECV)
			continue;
		q->batch[i] = is_inline ? make_wr(q, shape->what, &q->data, 1, IBV_SEND_INLINE)
					: make_wr(q, shape->what, q->local, shape->n, 0);
		q->batch[i].next = goes_on ? &q->batch[i + 1] : NULL;
	}
	return 0;
}

/* -- what is not measured ---------------------------------------------------------------------- */

static struct ibv_qp *next_qp(const struct verbs_queue *q, unsigned *turn)
{
	return q->qps[cost_turn(turn, q->made.qp_count)];
}

static int post_recv(struct verbs_queue *q, unsigned count)
{
	struct ibv_recv_wr wr = { .sg_list = q->recv, .num_sge = 1 }, *wrong;
	int err = 0;

	for (wr.wr_id = 0; wr.wr_id < count && !err; wr.wr_id++)
		err = q->srq ? -ibv_post_srq_recv(q->srq, &wr, &wrong)
			     : -ibv_post_recv(next_qp(q, &q->recv_turn), &wr, &wrong);
	return err;
}

static int post(void *queue, enum cost_what what, unsigned count)
{
	struct verbs_queue *q = queue;
	struct ibv_send_wr wr, *wrong;
	int err = 0;

	if (what == COST_RECV)
		return post_recv(q, count);
	wr = make_wr(q, what, q->local, 1, 0);
	for (wr.wr_id = 0; wr.wr_id < count && !err; wr.wr_id++)
		err = -ibv_post_send(next_qp(q, &q->turn), &wr, &wrong);
	return err;
}

static int poll_one(void *cq, int *status)
{
	struct ibv_wc wc = { .status = IBV_WC_SUCCESS };
	const int n = ibv_poll_cq(ibv_cq_ex_to_cq(cq), 1, &wc);

	*status = (int)wc.status;
	return n < 0 ? -EIO : n;
}

int verbs_drain(void *queue, bool of_recvs, unsigned count)
{
	const struct verbs_queue *q = queue;

	return cost_drain(poll_one, of_recvs ? q->recv_cq : q->cq, count);
}

/* -- ibv_post_send() and ibv_post_recv() ------------------------------------------------------- */

COST_INLINE struct ibv_qp *qp_of(const struct verbs_queue *q, struct ibv_qp *qp, unsigned *turn,
				 struct cost_shape shape)
{
	return cost_has_turns(shape.queues) ? q->qps[cost_turn(turn, q->made.qp_count)] : qp;
}

COST_INLINE int run_posts(struct verbs_queue *q, unsigned count, struct cost_shape shape)
{
	struct ibv_qp *const qp = q->qp;
	struct ibv_send_wr *wrong;
	int bad = 0;

	COST_POSTS(count, shape.batch, , q->batch[i - first].wr_id = i,
		   bad |= ibv_post_send(qp_of(q, qp, &q->turn, shape), q->batch, &wrong))
	return -bad;
}

COST_INLINE int run_recvs(struct verbs_queue *q, unsigned count, struct cost_shape shape)
{
	struct ibv_qp *const qp = q->qp;
	struct ibv_srq *const srq = q->srq;
	struct ibv_recv_wr *wrong;
	int bad = 0;

	COST_POSTS(count, shape.batch, , q->recvs[i - first].wr_id = i,
		   bad |=
		   shape.queues == COST_SRQ
			   ? ibv_post_srq_recv(srq, q->recvs, &wrong)
			   : ibv_post_recv(qp_of(q, qp, &q->recv_turn, shape), q->recvs, &wrong))
	return -bad;
}

/* -- ibv_wr_* ---------------------------------------------------------------------------------- */

COST_INLINE void name_operation(struct ibv_qp_ex *qp, const struct bsn_remote *remote,
				enum cost_what what, unsigned id)
{
	switch (what) {
	case COST_WRITE:
		ibv_wr_rdma_write(qp, remote->rkey, remote->addr);
		break;
	case COST_WRITE_IMM:
		ibv_wr_rdma_write_imm(qp, remote->rkey, remote->addr, id);
		break;
	case COST_READ:
		ibv_wr_rdma_read(qp, remote->rkey, remote->addr);
		break;
	case COST_SEND:
		ibv_wr_send(qp);
		break;
	case COST_SEND_IMM:
		ibv_wr_send_imm(qp, id);
		break;
	case COST_FETCH_ADD:
		ibv_wr_atomic_fetch_add(qp, remote->rkey, remote->addr, 1);
		break;
	default:
		ibv_wr_atomic_cmp_swp(qp, remote->rkey, remote->addr, 0, 1);
	}
}

COST_INLINE void build(const struct verbs_queue *q, struct ibv_qp_ex *qp, struct cost_shape shape,
		       unsigned id, unsigned flags, unsigned sges)
{
	qp->wr_id = id;
	qp->wr_flags = flags;
	name_operation(qp, &q->made.target.remote, shape.what, id);
	if (shape.queues == COST_UD)
		ibv_wr_set_ud_addr(qp, q->ah, q->qp->qp_num, VERBS_QKEY);
	if (shape.queues == COST_XRC)
		ibv_wr_set_xrc_srqn(qp, q->srq_number);
	if (shape.form == COST_INLINED)
		ibv_wr_set_inline_data(qp, (void *)(uintptr_t)q->data.addr,
				       shape.known == COST_LENGTH ? shape.n : q->data.length);
	else if (shape.n == 1)
		ibv_wr_set_sge(qp, q->local[0].lkey, q->local[0].addr, q->local[0].length);
	else
		ibv_wr_set_sge_list(qp, sges, q->local);
}

COST_INLINE struct ibv_qp_ex *start(struct verbs_queue *q, struct ibv_qp_ex *qp,
				    struct cost_shape shape)
{
	if (cost_has_turns(shape.queues))
		qp = ibv_qp_to_qp_ex(q->qps[cost_turn(&q->turn, q->made.qp_count)]);
	ibv_wr_start(qp);
	return qp;
}

COST_INLINE int run_extended_posts(struct verbs_queue *q, unsigned count, struct cost_shape shape)
{
	struct ibv_qp_ex *qp = q->qp_ex;
	unsigned flags = IBV_SEND_SIGNALED | (shape.form == COST_INLINED ? IBV_SEND_INLINE : 0);
	unsigned sges = shape.n;
	int bad = 0;

	if (shape.known == COST_HIDDEN) {
		COST_HIDE(flags);
		COST_HIDE(sges);
	}
	COST_POSTS(count, shape.batch, qp = start(q, qp, shape),
		   build(q, qp, shape, i, flags, sges), bad |= ibv_wr_complete(qp))
	return -bad;
}

/* What ibv_poll_cq() tells, too; the barriers keep the loads. */
COST_INLINE void read_rest(struct ibv_cq_ex *cq, enum cost_what what, enum cost_queues queues)
{
	const uint64_t id = cq->wr_id;
	const enum ibv_wc_opcode opcode = ibv_wc_read_opcode(cq);
	const uint32_t byte_len = ibv_wc_read_byte_len(cq);

	__asm__ volatile("" ::"r"(id), "r"(opcode), "r"(byte_len));
	if (what == COST_POLL_RECV_IMM) {
		const uint32_t imm = ibv_wc_read_imm_data(cq);
		__asm__ volatile("" ::"r"(imm));
	}
	if (queues == COST_STAMPED) {
		const uint64_t stamp = ibv_wc_read_completion_ts(cq);
		__asm__ volatile("" ::"r"(stamp));
	}
	if (queues == COST_UD && what == COST_POLL_RECV) {
		const uint32_t src_qp = ibv_wc_read_src_qp(cq), slid = ibv_wc_read_slid(cq);
		const unsigned wc_flags = ibv_wc_read_wc_flags(cq), sl = ibv_wc_read_sl(cq);
		__asm__ volatile("" ::"r"(src_qp), "r"(slid), "r"(wc_flags), "r"(sl));
	}
}

/* Up to @batch completions, their statuses into @wc. How many, or -EIO. */
COST_INLINE int start_poll(struct ibv_cq_ex *cq, int batch, struct ibv_wc *wc, enum cost_what what,
			   enum cost_queues queues)
{
	struct ibv_poll_cq_attr attr = { .comp_mask = 0 };
	int n = 0, err = ibv_start_poll(cq, &attr);

	if (err)
		return err == ENOENT ? 0 : -EIO;
	do {
		read_rest(cq, what, queues);
		wc[n++].status = cq->status;
	} while (n < batch && !(err = ibv_next_poll(cq)));
	ibv_end_poll(cq);
	return err && err != ENOENT ? -EIO : n;
}

/* The provider has copied what came in a CQE. */
COST_INLINE void read_data(const struct verbs_queue *q, struct cost_shape shape)
{
	if (shape.what == COST_POLL_RECV_DATA)
		cost_read_data((const void *)(uintptr_t)q->recv[0].addr);
}

COST_INLINE int run_polls(void *queue, unsigned count, struct cost_shape shape, bool is_extended)
{
	const struct verbs_queue *const q = queue;
	const bool of_requests = shape.what == COST_POLL || shape.what == COST_POLL_NONE;
	struct ibv_cq_ex *const cq = of_requests ? q->cq : q->recv_cq;
	struct ibv_wc c[COST_BATCH_MAX] = { { 0 } };
	int bad = 0;

#define POLL(most)                                                                                 \
	(is_extended ? start_poll(cq, most, c, shape.what, shape.queues)                           \
		     : ibv_poll_cq(ibv_cq_ex_to_cq(cq), most, c))
	if (shape.what == COST_POLL_NONE) {
		COST_POLLS_NONE(count, POLL(1))
	} else {
		COST_POLLS(count, shape.batch, c, POLL((int)shape.batch), read_data(q, shape),
			   verbs_drain, !of_requests)
	}
	return bad;
}

COST_INLINE int run_shape(void *queue, unsigned count, struct cost_shape shape)
{
	return cost_polls(shape.what)    ? run_polls(queue, count, shape, false)
	       : shape.what == COST_RECV ? run_recvs(queue, count, shape)
					 : run_posts(queue, count, shape);
}

COST_INLINE int run_extended(void *queue, unsigned count, struct cost_shape shape)
{
	return cost_polls(shape.what) ? run_polls(queue, count, shape, true)
				      : run_extended_posts(queue, count, shape);
}

#define RUN_EXTENDED(name, ...)                                                                    \
	static int run_extended_##name(void *queue, unsigned count)                                \
	{                                                                                          \
		return run_extended(queue, count, (struct cost_shape)COST_SHAPE(__VA_ARGS__));     \
	}
#define RUN_EXTENDED_ENTRY(name, ...) [COST_CODE_##name] = run_extended_##name,
COST_CODES(COST_RUN)
COST_CODES(RUN_EXTENDED)
static cost_run *const runs[COST_CODE_COUNT] = { COST_CODES(COST_RUN_ENTRY) };
static cost_run *const extended_runs[COST_CODE_COUNT] = { COST_CODES(RUN_EXTENDED_ENTRY) };

/* It knows nothing of a request at compile time: rows that differ in that are one. */
static cost_run *run_of(const struct cost_row *row)
{
	const struct cost_shape *shape = &row->shape;

	return shape->form == COST_PREPARED || shape->what == COST_WAIT ? NULL : runs[row->code];
}

static cost_run *extended_run_of(const struct cost_row *row)
{
	return row->shape.what != COST_RECV && run_of(row) ? extended_runs[row->code] : NULL;
}

/* -- life -------------------------------------------------------------------------------------- */

static int made(const void *object)
{
	return object ? 0 : errno ? -errno : -ENOMEM;
}

/* What ibv_cq_ex_to_cq() was given: on libmlx5 Bunsen makes extended CQs for plain verbs. */
static struct ibv_cq_ex *extended(struct ibv_cq *cq)
{
	return (struct ibv_cq_ex *)(void *)cq;
}

/*
 * An SRQ of XRC, in the domain of Bunsen's QPs. Bunsen does not tell what it has made, so it has
 * memory and a CQ of its own.
 */
static int create_xrc_srq(struct verbs_queue *q, const struct cost_rig *rig)
{
	struct ibv_context *const context = q->qp->context;
	struct ibv_xrcd_init_attr domain = { .comp_mask = IBV_XRCD_INIT_ATTR_FD |
							  IBV_XRCD_INIT_ATTR_OFLAGS,
					     .fd = q->made.xrc_file,
					     .oflags = O_CREAT };
	struct ibv_cq_init_attr_ex cq = { .cqe = rig->depth,
					  .wc_flags = IBV_WC_STANDARD_FLAGS,
					  .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
					  .flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED };
	struct ibv_srq_init_attr_ex srq = {
		.attr = { .max_wr = rig->depth, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
	};

	q->pd = srq.pd = ibv_alloc_pd(context);
	q->mr = q->pd ? ibv_reg_mr(q->pd, rig->memory, rig->memory_bytes, IBV_ACCESS_LOCAL_WRITE)
		      : NULL;
	q->xrcd = srq.xrcd = q->mr ? ibv_open_xrcd(context, &domain) : NULL;
	q->recv_cq = q->xrcd ? ibv_create_cq_ex(context, &cq) : NULL;
	if (!q->recv_cq)
		return made(NULL);
	srq.cq = ibv_cq_ex_to_cq(q->recv_cq);
	q->srq = ibv_create_srq_ex(context, &srq);
	if (!q->srq)
		return made(NULL);
	q->recv[0].lkey = q->recv[1].lkey = q->mr->lkey;
	return ibv_get_srq_num(q->srq, &q->srq_number);
}

static int create_ah(struct verbs_queue *q, const struct bsn_device_info *info)
{
	struct ibv_ah_attr ah = { .dlid = info->lid, .port_num = info->port };

	if (!strcmp(info->link_layer, "Ethernet")) {
		ah.is_global = 1;
		ah.grh.hop_limit = 64;
		ah.grh.sgid_index = info->gid_index;
		memcpy(ah.grh.dgid.raw, info->gid, sizeof(ah.grh.dgid.raw));
	}
	q->ah = ibv_create_ah(q->qp->pd, &ah);
	return made(q->ah);
}

/* NULL: it may be that the provider has it. */
static const char *why_not_at_all(enum cost_queues kind, bool is_extended)
{
	if (cost_kinds[kind].type == BSN_QP_DC)
		return "libibverbs has no pools of initiators";
	if (cost_kinds[kind].compression)
		return "libmlx5's polls cannot read sessions";
	if (kind == COST_STAMPED && !is_extended)
		return "ibv_poll_cq() gives no times";
	return NULL;
}

static int find_queues(struct verbs_queue *q)
{
	q->qps = calloc(q->made.qp_count, sizeof(struct ibv_qp *));
	if (!q->qps)
		return -ENOMEM;
	for (unsigned i = 0; i < q->made.qp_count; i++)
		q->qps[i] = bsn_qp_info(q->made.qps[i])->verbs;
	q->qp = q->qps[0];
	q->qp_ex = ibv_qp_to_qp_ex(q->qp);
	q->cq = extended(q->qp->send_cq);
	q->recv_cq = extended(q->qp->recv_cq);
	q->srq = q->qp->srq;
	return 0;
}

int verbs_open(struct verbs_queue *q, struct cost_rig *rig, enum cost_queues kind)
{
	/* Short messages come inside CQEs where libmlx5 finds that they fit. */
	const enum cost_queues likewise = kind == COST_INLINED_RECV ? COST_RC : kind;
	int err;

	if (rig->verbs)
		rig->device = rig->verbs;
	err = bunsen_open(&q->made, rig, likewise);
	return err ? err : find_queues(q);
}

/* The other column is the extended one, ibv_wr. */
static int make(void *queue, struct cost_rig *rig, enum cost_queues kind)
{
	struct verbs_queue *q = queue;
	int err;

	rig->why_not = why_not_at_all(kind, rig->is_other);
	if (rig->why_not)
		return -EOPNOTSUPP;
	err = verbs_open(q, rig, kind);
	if (err == -ENODATA)
		rig->why_not = BUNSEN_NOT_APART;
	if (err)
		return err;
	if (rig->is_other && !q->qp_ex) {
		rig->why_not = "the provider has no ibv_wr_*";
		return -EOPNOTSUPP;
	}
	_Static_assert(sizeof(q->local) == sizeof(q->made.target.local), "one layout");
	memcpy(q->local, q->made.target.local, sizeof(q->local));
	memcpy(q->recv, q->made.target.recv, sizeof(q->recv));
	q->data = (struct ibv_sge){ (uintptr_t)q->made.target.data, 0, 0 };
	return kind == COST_UD    ? create_ah(q, bsn_device_info(rig->device))
	       : kind == COST_XRC ? create_xrc_srq(q, rig)
				  : 0;
}

void verbs_close(void *queue)
{
	struct verbs_queue *q = queue;

	if (q->ah)
		ibv_destroy_ah(q->ah);
	if (q->xrcd) {
		if (q->srq)
			ibv_destroy_srq(q->srq);
		if (q->recv_cq)
			ibv_destroy_cq(ibv_cq_ex_to_cq(q->recv_cq));
		ibv_close_xrcd(q->xrcd);
	}
	if (q->mr)
		ibv_dereg_mr(q->mr);
	if (q->pd)
		ibv_dealloc_pd(q->pd);
	free(q->qps);
	bunsen_close(&q->made);
}

#define VERBS_COLUMN                                                                               \
	.size = sizeof(struct verbs_queue), .make = make, .close = verbs_close,                    \
	.set_up = set_up, .post = post, .drain = verbs_drain

const struct cost_column cost_ibv = { VERBS_COLUMN, .run_of = run_of };
const struct cost_column cost_ibv_wr = { VERBS_COLUMN, .is_other = true,
					 .run_of = extended_run_of };
