/* SPDX-License-Identifier: BSD-2-Clause */
/* The columns of Bunsen: their queues, and what is posted and drained between measurements. */
#include "bunsen.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bsn_xrc.h"

enum {
	KEY = 0x5eed,
	SRQ_DEPTH_MAX = 16384, /* a round posts fewer, and no ConnectX has more than 32767 */
	/* Of COST_APART: numbers that are between multiples of it, from the first, are passed. */
	STRIDE = 16,
	PASSES_MAX = 32 * STRIDE,
};

/* -- what is not measured ---------------------------------------------------------------------- */

static int poll_one(void *cq, int *status)
{
	struct bsn_completion c = { 0 };
	const int n = bsn_poll(cq, &c, 1);

	*status = (int)c.status;
	return n;
}

int bunsen_drain(void *queue, bool of_recvs, unsigned count)
{
	const struct bunsen_queue *q = queue;

	return cost_drain(poll_one, of_recvs ? q->recv_cq : q->cq, count);
}

static unsigned turn_of(const struct bunsen_queue *q, unsigned *turn)
{
	return cost_turn(turn, q->ep_count * q->in_a_row) / q->in_a_row;
}

static int post_one(struct bunsen_queue *q, enum cost_what what, unsigned id)
{
	const unsigned flags = BSN_F_SIGNALED | BSN_F_RING;
	const struct bsn_sge *const local = q->target.local;
	struct bsn_ep *ep;

	if (what == COST_RECV)
		return bsn_recv(q->srq ? q->srq : q->rqs[turn_of(q, &q->recv_turn)],
				q->target.recv, id);
	ep = q->eps[turn_of(q, &q->turn)];
	return what == COST_WRITE  ? bsn_write(ep, local, &q->target.remote, id, flags)
	       : what == COST_SEND ? bsn_send(ep, local, id, flags)
				   : bsn_send_imm(ep, local, id, id, flags);
}

static int post_some(void *queue, enum cost_what what, unsigned count)
{
	int err = 0;

	for (unsigned i = 0; i < count && !err; i++)
		err = post_one(queue, what, i);
	return err;
}

static struct bsn_wr wr_of(struct bunsen_queue *q, const struct cost_shape *shape)
{
	static const uint32_t opcodes[COST_WHATS] = {
		[COST_WRITE] = BSN_OPCODE_RDMA_WRITE,
		[COST_WRITE_IMM] = BSN_OPCODE_RDMA_WRITE_IMM,
		[COST_READ] = BSN_OPCODE_RDMA_READ,
		[COST_SEND] = BSN_OPCODE_SEND,
		[COST_SEND_IMM] = BSN_OPCODE_SEND_IMM,
		[COST_FETCH_ADD] = BSN_OPCODE_ATOMIC_FA,
		[COST_CMP_SWAP] = BSN_OPCODE_ATOMIC_CS,
	};
	const bool is_inline = shape->form == COST_INLINED;

	q->data = (struct bsn_sge){ (uintptr_t)q->target.data, shape->n, 0 };
	return (struct bsn_wr){ .opcode = opcodes[shape->what],
				.sge = is_inline ? &q->data : q->target.local,
				.sge_count = is_inline ? 1 : shape->n,
				.remote = q->target.remote,
				.flags = BSN_F_SIGNALED | (shape->batch == 1 ? BSN_F_RING : 0) |
					 (is_inline ? BSN_F_INLINE : 0),
				.swap_add = 1 };
}

static unsigned blocks_of(const struct cost_shape *shape)
{
	const unsigned data =
		shape->form == COST_INLINED
			? (BSN_INLINE_HDR_SIZE + shape->n + BSN_DS_SIZE - 1) / BSN_DS_SIZE
			: shape->n;

	return bsn_bb_of_ds((BSN_CTRL_SIZE + BSN_RADDR_SIZE) / BSN_DS_SIZE + data);
}

/* Posts WRITEs of a block until so much of the ring is left to a request of this shape. */
static int seek(struct bunsen_queue *q, const struct cost_shape *shape)
{
	const uint32_t depth_bb = bsn_qp_info(q->qps[0])->short_sends;
	uint32_t ring_bb = 1, posts;
	int err;

	while (ring_bb < depth_bb)
		ring_bb *= 2;
	posts = (2 * ring_bb - cost_kinds[shape->queues].left_bb - q->posted_bb) % ring_bb;
	q->posted_bb = (q->posted_bb + posts + blocks_of(shape)) % ring_bb;
	err = post_some(q, COST_WRITE, posts);
	step();
	return err ? err : bunsen_drain(q, false, posts);
}

static int set_up(void *queue, const struct cost_shape *shape)
{
	struct bunsen_queue *q = queue;
	int err;

	q->inline_bytes = shape->n;
	q->target.local[0].length = cost_message_bytes(shape);
	q->wr = wr_of(q, shape);
	err = shape->form == COST_PREPARED ? bsn_prepare(q->ep, &q->wr, &q->prepared) : 0;
	return !err && cost_kinds[shape->queues].at_end ? seek(q, shape) : err;
}

/* -- making it --------------------------------------------------------------------------------- */

static struct bsn_qp_attr attr_of(const struct cost_rig *rig, enum cost_queues queues)
{
	const struct cost_kind *kind = &cost_kinds[queues];
	const uint32_t depth = cost_depth_of(rig, queues);
	const uint32_t most_sge = bsn_device_info(rig->device)->max_sge;

	return (struct bsn_qp_attr){
		.type = kind->type,
		.send_depth = depth,
		.recv_depth = depth,
		.max_send_sge = kind->max_sge < most_sge ? kind->max_sge : most_sge,
		.max_recv_sge = kind->max_recv_sge,
		.max_inline = kind->max_inline ? kind->max_inline : COST_INLINE_BYTES,
		.max_inline_recv = queues == COST_INLINED_RECV ? COST_DATA_BYTES : 0,
	};
}

/* Blocks of the longest request: control segment, address, and data of either form. */
static uint32_t longest_bb(const struct bsn_qp_attr *attr)
{
	const uint32_t sges = attr->max_send_sge * BSN_DATA_SIZE;
	const uint32_t copied = BSN_INLINE_HDR_SIZE + attr->max_inline;
	const uint32_t before_data =
		BSN_CTRL_SIZE + (attr->type == BSN_QP_XRC ? BSN_XRC_SIZE : 0) +
		(attr->type == BSN_QP_UD ? BSN_AV_UD_GRH_SIZE : BSN_RADDR_SIZE);

	return (before_data + (sges > copied ? sges : copied) + BSN_BB_SIZE - 1) / BSN_BB_SIZE;
}

static int make_cqs(struct bunsen_queue *q, const struct cost_rig *rig, enum cost_queues kind,
		    const struct bsn_qp_attr *attr)
{
	const unsigned qps = cost_qps_of(rig, kind);
	struct bsn_cq_attr cq = { .entries = attr->send_depth * longest_bb(attr) * qps,
				  .timestamps = kind == COST_STAMPED ? BSN_TIMESTAMPS_RAW
								     : BSN_TIMESTAMPS_NONE };
	/* A pool has its own. */
	const int err = attr->type == BSN_QP_DC ? 0 : bsn_cq_create(rig->device, &cq, &q->cq);

	if (err)
		return err;
	cq.entries = attr->recv_depth * qps;
	cq.compression = cost_kinds[kind].compression;
	return bsn_cq_create(rig->device, &cq, &q->recv_cq);
}

int bunsen_connect(struct bsn_qp *qp, enum bsn_qp_type type)
{
	struct bsn_address self;
	const int err = bsn_qp_address(qp, &self);

	return err ? err : bsn_qp_connect(qp, type == BSN_QP_UD ? NULL : &self, NULL);
}

static bool is_between(const struct bsn_qp *first, const struct bsn_qp *qp)
{
	return (bsn_qp_info(qp)->number - bsn_qp_info(first)->number) % STRIDE;
}

static int add_qp(struct bunsen_queue *q, const struct cost_rig *rig, enum cost_queues kind,
		  const struct bsn_qp_attr *attr)
{
	struct bsn_qp **const qp = &q->qps[q->qp_count];
	int err = bsn_qp_create(rig->device, attr, qp);

	for (unsigned passed = 0; !err && kind == COST_APART && is_between(q->qps[0], *qp);
	     passed++) {
		bsn_qp_destroy(*qp);
		err = passed < PASSES_MAX ? bsn_qp_create(rig->device, attr, qp) : -ENODATA;
	}
	if (err)
		return err;
	q->eps[q->qp_count] = bsn_qp_ep(*qp);
	q->rqs[q->qp_count++] = bsn_qp_rq(*qp);
	return bunsen_connect(*qp, attr->type);
}

static int make_qps(struct bunsen_queue *q, const struct cost_rig *rig, enum cost_queues kind,
		    const struct bsn_qp_attr *attr)
{
	int err = 0;

	while (!err && q->qp_count < cost_qps_of(rig, kind))
		err = add_qp(q, rig, kind, attr);
	q->ep_count = q->qp_count;
	return err;
}

static int make_srq(struct bunsen_queue *q, const struct cost_rig *rig, enum cost_queues kind)
{
	const uint32_t all = cost_depth_of(rig, kind) * cost_qps_of(rig, kind);
	struct bsn_srq_attr attr = { .recv_depth = all < SRQ_DEPTH_MAX ? all : SRQ_DEPTH_MAX };
	int err = 0;

	if (kind == COST_XRC) {
		q->xrc_file = memfd_create("bsn-perf", MFD_CLOEXEC);
		err = bsn_xrcd_open(rig->device, q->xrc_file, &q->xrcd);
		attr.xrcd = q->xrcd;
		attr.cq = q->recv_cq;
	}
	if (kind != COST_SRQ && kind != COST_XRC && cost_kinds[kind].type != BSN_QP_DC)
		return 0;
	return err ? err : bsn_srq_create(rig->device, &attr, &q->srq);
}

static int make_xrc(struct bunsen_queue *q, const struct cost_rig *rig,
		    const struct bsn_qp_attr *attr)
{
	const struct bsn_qp_attr initiator = { .type = BSN_QP_XRC,
					       .cq = q->cq,
					       .send_depth = attr->send_depth,
					       .max_send_sge = attr->max_send_sge,
					       .max_inline = attr->max_inline };
	struct bsn_address address;
	int err = bsn_xrc_target_create(q->xrcd, &q->target_qp);

	if (err || (err = bsn_qp_create(rig->device, &initiator, &q->qps[0])))
		return err;
	q->qp_count = q->ep_count = 1;
	if ((err = bsn_xrc_target_address(q->target_qp, &address)) ||
	    (err = bsn_qp_connect(q->qps[0], &address, NULL)) ||
	    (err = bsn_qp_address(q->qps[0], &address)))
		return err;
	return bsn_xrc_target_connect(q->target_qp, &address, NULL);
}

/*
 * Of DC: a target, and a pool. All peers are that target, but the pool sees as many. Where a post
 * shall find its initiator there is one peer, which has had it since it was made.
 */
static int make_pool(struct bunsen_queue *q, const struct cost_rig *rig, enum cost_queues kind,
		     const struct bsn_qp_attr *attr)
{
	const struct bsn_dct_attr target = { .cq = q->recv_cq, .srq = q->srq, .access_key = KEY };
	struct bsn_dc_pool_attr pool = cost_kinds[kind].pool;
	const unsigned peers = cost_kinds[kind].peers ? cost_kinds[kind].peers : 1;
	struct bsn_address address;
	int err;

	if (bsn_device_info(rig->device)->path != BSN_PATH_DIRECT)
		return -EOPNOTSUPP;
	pool.send_depth = attr->send_depth;
	pool.max_send_sge = attr->max_send_sge;
	pool.max_inline = attr->max_inline;
	if ((err = bsn_dct_create(rig->device, &target, &q->dct)) ||
	    (err = bsn_dct_address(q->dct, &address)) ||
	    (err = bsn_dc_pool_create(rig->device, &pool, &q->pool)))
		return err;
	for (; !err && q->ep_count < peers; q->ep_count += !err)
		err = bsn_dc_peer_create(q->pool, &address, NULL, NULL, &q->eps[q->ep_count]);
	q->cq = err ? NULL : bsn_dc_pool_cq(q->pool);
	return err;
}

static void destroy_pool(struct bunsen_queue *q)
{
	for (unsigned p = 0; q->pool && p < q->ep_count; p++)
		bsn_dc_peer_destroy(q->eps[p]);
	if (q->pool)
		q->cq = NULL;
	bsn_dc_pool_destroy(q->pool);
	bsn_dct_destroy(q->dct);
}

static int make_own(struct bunsen_queue *q, const struct cost_rig *rig, enum cost_queues kind)
{
	struct bsn_qp_attr attr = attr_of(rig, kind);
	int err = make_cqs(q, rig, kind, &attr);

	if (err || (err = make_srq(q, rig, kind)))
		return err;
	if (attr.type == BSN_QP_DC)
		return make_pool(q, rig, kind, &attr);
	attr.cq = q->cq;
	attr.recv_cq = q->recv_cq;
	attr.srq = q->srq;
	return kind == COST_XRC ? make_xrc(q, rig, &attr) : make_qps(q, rig, kind, &attr);
}

/* A request that can do no harm: where there is one peer, it has its initiator from now on. */
static int bind_peer(struct bunsen_queue *q)
{
	static const struct bsn_remote nowhere;
	const int err = bsn_write_inline(q->ep, "", 0, &nowhere, 0, BSN_F_SIGNALED | BSN_F_RING);

	step();
	return err ? err : bunsen_drain(q, false, 1);
}

/* What a program has at hand: an endpoint, and where receives go. */
static int make_endpoint(struct bunsen_queue *q, enum cost_queues kind)
{
	struct bsn_qp *const qp = q->qps[0];
	struct bsn_address self;
	int err = 0;

	if (kind == COST_UD) {
		err = bsn_qp_address(qp, &self);
		err = err ? err : bsn_ep_create(qp, &self, NULL, NULL, &q->own_ep);
	} else if (kind == COST_XRC) {
		err = bsn_xrc_ep_create(qp, bsn_srq_number(q->srq), NULL, &q->own_ep);
	} else if (qp) {
		q->eps[0] = bsn_qp_ep(qp);
	}
	if (q->own_ep)
		q->eps[0] = q->own_ep;
	q->ep = q->eps[0];
	if (qp)
		q->rqs[0] = bsn_qp_rq(qp);
	q->rq = q->srq ? q->srq : q->rqs[0];
	return err || !q->pool ? err : bind_peer(q);
}

static struct cost_target target_of(const struct cost_rig *rig, const struct bsn_mr *mr)
{
	struct cost_target target = {
		.remote = bsn_remote_of(mr, COST_REMOTE_AT),
		.recv = { bsn_sge_of(mr, COST_RECV_AT, COST_RECV_BYTES),
			  bsn_sge_of(mr, COST_RECV_AT + COST_RECV_BYTES, COST_RECV_BYTES) },
		.data = rig->memory + COST_LOCAL_AT,
	};

	for (unsigned i = 0; i < COST_SGES_MAX; i++)
		target.local[i] = bsn_sge_of(mr, COST_LOCAL_AT + 64 * i, COST_SGE_BYTES);
	for (unsigned i = 0; i < COST_BATCH_MAX; i++)
		target.many_recvs[i] = target.recv[0];
	return target;
}

int bunsen_open(struct bunsen_queue *q, const struct cost_rig *rig, enum cost_queues kind)
{
	int err;

	/* A session is of one QP. */
	q->in_a_row = cost_kinds[kind].compression ? rig->depth : 1;
	if ((err = make_own(q, rig, kind)) || (err = make_endpoint(q, kind)) ||
	    (err = bsn_mr_register(rig->device, rig->memory, rig->memory_bytes, NULL, &q->mr)))
		return err;
	q->target = target_of(rig, q->mr);
	return 0;
}

/* To a queue pair of plain verbs, which another device of the same context has. */
static int attach(struct bunsen_queue *q, const struct cost_rig *rig)
{
	const struct bsn_attach_attr promise = { .register_is_ours = true };
	const struct bsn_device_info *info = bsn_device_info(rig->device);
	const struct bsn_device_attr plain = { .path = BSN_PATH_VERBS, .store = info->store };
	struct cost_rig own = *rig;
	int err;

	q->in_a_row = 1;
	q->attached = calloc(1, sizeof(*q->attached));
	if (!q->attached)
		return -ENOMEM;
	err = bsn_device_attach(info->verbs, &plain, &q->plain);
	own.device = q->plain;
	if (err || (err = bunsen_open(q->attached, &own, COST_ATTACHED)) ||
	    (err = bsn_qp_attach(rig->device, bsn_qp_info(q->attached->qps[0])->verbs, &promise,
				 &q->qps[0])))
		return err;
	q->qp_count = q->ep_count = 1;
	q->cq = bsn_qp_info(q->qps[0])->cq;
	q->recv_cq = bsn_qp_info(q->qps[0])->recv_cq;
	q->target = q->attached->target;
	return make_endpoint(q, COST_ATTACHED);
}

void bunsen_close(void *queue)
{
	struct bunsen_queue *q = queue;

	bsn_ep_destroy(q->own_ep);
	while (q->qp_count)
		bsn_qp_destroy(q->qps[--q->qp_count]);
	destroy_pool(q);
	bsn_xrc_target_destroy(q->target_qp);
	bsn_srq_destroy(q->srq);
	if (q->attached) {
		bunsen_close(q->attached);
	} else {
		bsn_cq_destroy(q->cq);
		bsn_cq_destroy(q->recv_cq);
	}
	bsn_device_close(q->plain);
	bsn_xrcd_close(q->xrcd);
	if (q->xrc_file > 0)
		close(q->xrc_file);
	bsn_mr_deregister(q->mr);
	free(q->attached);
}

/* Beside what the library says of -EOPNOTSUPP (cost.c). */
static const char *reason_of(const struct cost_rig *rig, enum cost_queues kind, int err)
{
	if (err == -ENODATA)
		return BUNSEN_NOT_APART;
	if (bsn_device_info(rig->device)->path != BSN_PATH_VERBS)
		return NULL;
	if (cost_kinds[kind].type == BSN_QP_DC)
		return "on plain verbs a peer of a pool has to be connected first";
	return kind == COST_ATTACHED ? "it has no thread domains, by which a register is one's own"
				     : NULL;
}

static int make(void *queue, struct cost_rig *rig, enum cost_queues kind)
{
	int err;

	if (rig->is_other)
		rig->device = rig->verbs;
	if (!rig->device) {
		rig->why_not = "bunsen itself takes plain verbs here";
		return -EOPNOTSUPP;
	}
	err = kind == COST_ATTACHED ? attach(queue, rig) : bunsen_open(queue, rig, kind);
	if (err)
		rig->why_not = reason_of(rig, kind, err);
	return err;
}

/* -- the same requests by the one call that takes any ------------------------------------------ */

COST_INLINE int run(struct bunsen_queue *q, unsigned count, unsigned batch, bool takes_turns)
{
	const struct bunsen_hot h = bunsen_hot_of(q);
	struct bsn_ep *ep = h.ep;
	int bad = 0;

	COST_POSTS(count, batch, ep = takes_turns ? h.eps[cost_turn(&q->turn, h.ep_count)] : ep,
		   q->wr.id = i;
		   bad |= bsn_post(ep, &q->wr), bad |= batch == 1 ? 0 : bsn_ring(ep))
	return bad;
}

static int run_alone(void *queue, unsigned count)
{
	return run(queue, count, 1, false);
}

static int run_batches(void *queue, unsigned count)
{
	return run(queue, count, COST_BATCH_MAX, false);
}

static int run_in_turn(void *queue, unsigned count)
{
	return run(queue, count, 1, true);
}

/* What the compiler knows is all the same here: of rows that differ in that, one. */
static cost_run *run_of_bsn_post(const struct cost_row *row)
{
	const struct cost_shape *shape = &row->shape;

	if (shape->what >= COST_RECV || shape->form == COST_PREPARED || shape->known != COST_KNOWN)
		return NULL;
	if (cost_has_turns(shape->queues))
		return run_in_turn;
	return shape->batch == 1 ? run_alone : run_batches;
}

/* -- the columns ------------------------------------------------------------------------------- */

static cost_run *run_of(const struct cost_row *row)
{
	return bunsen_runs[row->code];
}

static cost_run *run_of_symbol(const struct cost_row *row)
{
	return row->shape.known == COST_KNOWN ? bunsen_runs_symbol[row->code] : NULL;
}

#define BUNSEN_COLUMN                                                                              \
	.size = sizeof(struct bunsen_queue), .close = bunsen_close, .set_up = set_up,              \
	.post = post_some, .drain = bunsen_drain

const struct cost_column cost_bunsen = { BUNSEN_COLUMN, .make = make, .run_of = run_of };
const struct cost_column cost_symbol = { BUNSEN_COLUMN, .run_of = run_of_symbol };
const struct cost_column cost_bsn_post = { BUNSEN_COLUMN, .run_of = run_of_bsn_post };
const struct cost_column cost_verbs = { BUNSEN_COLUMN, .make = make, .is_other = true,
					.run_of = run_of };
