/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From requester to responder. The fabric is one port: whoever is addressed by its LID or one of its
 * GIDs, and a QPN, is behind the same HCA. A message goes over whole and at once, so packets, PSNs and
 * acknowledgements are not modelled; what they can end in is.
 *
 * Which syndromes a cause has: IBTA "Error handling" (responder and requester fault behavior); the
 * vendor's, wqe/bsn_syndrome.h.
 */
#include "transport.h"

#include <errno.h>
#include <netinet/ip.h>
#include <string.h>

#include "model.h"

struct exchange {
	struct cx_hca *hca;
	struct cx_qp *qp, *peer;
	const struct bsn_wqe *wqe;
	struct cx_outcome *out;
	struct cx_completion receive; /* the responder's, where it gets one */
};

/* -- verdicts ---------------------------------------------------------------------------------- */

static void refuse_locally(struct exchange *x, uint8_t syndrome, unsigned vendor)
{
	x->out->verdict = CX_LOCAL_ERROR;
	x->out->syndrome = syndrome;
	x->out->vendor_syndrome = (uint8_t)vendor;
}

static bool is_reliable(const struct exchange *x)
{
	return x->qp->attr.type == IBV_QPT_RC;
}

/* A responder whose process was killed answers nothing; it is noticed when something goes wrong. */
static bool is_gone(const struct exchange *x)
{
	const unsigned owner = x->peer->head.owner;

	return !cx_is_local(x->hca, owner) && !cx_proc_alive(&x->hca->shared->procs[owner]);
}

/*
 * The responder refuses: a reliable one says so and is in error; an unreliable one drops the message,
 * which its requester never learns.
 */
static void refuse(struct exchange *x, uint8_t syndrome, uint8_t vendor)
{
	static const enum ibv_event_type events[] = {
		[BSN_SYNDROME_REMOTE_INVALID_REQUEST] = IBV_EVENT_QP_REQ_ERR,
		[BSN_SYNDROME_REMOTE_ACCESS] = IBV_EVENT_QP_ACCESS_ERR,
		[BSN_SYNDROME_REMOTE_OPERATION] = IBV_EVENT_QP_FATAL,
	};

	if (!is_reliable(x)) {
		x->out->verdict = CX_ACKED;
		return;
	}
	if (is_gone(x)) {
		x->out->verdict = CX_SILENCE;
		cx_sweep_dead(x->hca);
		return;
	}
	x->out->verdict = CX_NAKED;
	x->out->syndrome = syndrome;
	x->out->vendor_syndrome = vendor;
	x->out->peer_event = events[syndrome];
	x->out->fail_peer = x->peer->head.number;
}

static void refuse_request(struct exchange *x)
{
	refuse(x, BSN_SYNDROME_REMOTE_INVALID_REQUEST, BSN_VENDOR_INVALID_REQUEST_NAK);
}

static void refuse_access(struct exchange *x)
{
	refuse(x, BSN_SYNDROME_REMOTE_ACCESS, BSN_VENDOR_REMOTE_ACCESS_NAK);
}

/* The responder's memory does not answer: it is at fault. */
static void refuse_operation(struct exchange *x)
{
	refuse(x, BSN_SYNDROME_REMOTE_OPERATION, BSN_VENDOR_REMOTE_OPERATION_NAK);
}

/*
 * The responder's own receive WQE is at fault: it completes in error, and the queue pair is in error.
 * The error completion is the event (IBTA "Completion queue affiliated"), there is no async one.
 */
static void fail_receive(struct exchange *x, uint8_t syndrome, unsigned vendor)
{
	const struct cx_recv *recv = &x->hca->scratch->recv;
	const struct cx_completion c = {
		.opcode = BSN_CQE_RESP_ERR,
		.syndrome = syndrome,
		.vendor_syndrome = (uint8_t)vendor,
		.wqe_counter = recv->index,
	};

	cx_recv_take(x->hca, x->peer, recv);
	cx_complete(x->hca, x->peer, x->peer->attr.recv_cqn, &c);
	x->out->fail_peer = x->peer->head.number;
}

/* -- memory ------------------------------------------------------------------------------------ */

/* Looks up every key that the first `limit` bytes of the list need; an enum bsn_tpt_detail. */
static unsigned map_list(struct cx_hca *hca, const struct bsn_wqe_data *data, unsigned count,
			 uint32_t pdn, int access, uint64_t limit, struct cx_list *list)
{
	list->count = 0;
	for (unsigned i = 0; i < count && limit && list->count < CX_MAX_ITEMS; i++) {
		struct cx_span *at = &list->items[list->count].at;
		uint64_t len = data[i].length_bytes < limit ? data[i].length_bytes : limit;
		unsigned detail;

		if (!len)
			continue;
		if (data[i].bytes) {
			*at = (struct cx_span){ hca->self, (uintptr_t)data[i].bytes };
		} else {
			detail =
				cx_key_check(hca, data[i].lkey, pdn, data[i].addr, len, access, at);
			if (detail)
				return detail;
		}
		list->items[list->count++].len = len;
		limit -= len;
	}
	return CX_TPT_OK;
}

static int copy_span(struct cx_hca *hca, struct cx_span to, struct cx_span from, uint64_t len)
{
	if (cx_is_local(hca, from.proc))
		return cx_mem_write(hca, to.proc, to.va, (const void *)(uintptr_t)from.va, len);
	if (cx_is_local(hca, to.proc))
		return cx_mem_read(hca, from.proc, from.va, (void *)(uintptr_t)to.va, len);
	return -EFAULT; /* a queue pair runs in its owner's process, so one side is its own */
}

/* Fills `to` from `from`, as far as both reach. */
static int copy_list(struct cx_hca *hca, const struct cx_list *to, const struct cx_list *from)
{
	uint64_t to_done = 0, from_done = 0;

	for (unsigned i = 0, j = 0; i < to->count && j < from->count;) {
		struct cx_span dst = to->items[i].at, src = from->items[j].at;
		uint64_t len = to->items[i].len - to_done;

		if (len > from->items[j].len - from_done)
			len = from->items[j].len - from_done;
		dst.va += to_done;
		src.va += from_done;
		if (copy_span(hca, dst, src, len))
			return -EFAULT;
		to_done += len;
		from_done += len;
		if (to_done == to->items[i].len) {
			to_done = 0;
			i++;
		}
		if (from_done == from->items[j].len) {
			from_done = 0;
			j++;
		}
	}
	return 0;
}

static void map_single(struct cx_list *list, struct cx_span at, uint64_t len)
{
	list->count = len ? 1 : 0;
	list->items[0].at = at;
	list->items[0].len = len;
}

/* The data to be sent. */
static bool map_gather(struct exchange *x)
{
	unsigned detail = map_list(x->hca, x->wqe->data, x->wqe->data_count, x->qp->attr.pdn, 0,
				   x->wqe->total_bytes, &x->hca->scratch->from);

	if (detail)
		refuse_locally(x, BSN_SYNDROME_LOCAL_PROTECTION, BSN_VENDOR_TPT_GATHER + detail);
	return !detail;
}

/* Where the result of a READ or an atomic goes: into memory, or into the CQE. */
static bool map_scatter(struct exchange *x, uint64_t len)
{
	struct cx_list *to = &x->hca->scratch->to;
	const struct cx_cq *cq = cx_cq_find(x->hca, x->qp->attr.send_cqn);
	unsigned detail;

	if (x->qp->attr.scatter_to_cqe_requester && cq && len <= cx_cqe_inline_room(x->hca, cq)) {
		map_single(to, (struct cx_span){ x->hca->self, (uintptr_t)x->out->bytes }, len);
		x->out->in_cqe = true;
		return true;
	}
	detail = map_list(x->hca, x->wqe->data, x->wqe->data_count, x->qp->attr.pdn,
			  IBV_ACCESS_LOCAL_WRITE, len, to);
	if (detail)
		refuse_locally(x, BSN_SYNDROME_LOCAL_PROTECTION, BSN_VENDOR_TPT_DATA + detail);
	return !detail;
}

/* The responder's memory that the request names. A request for no bytes names none. */
static bool map_remote(struct exchange *x, uint64_t len, unsigned right, struct cx_list *list)
{
	struct cx_span at = { 0 };

	if (!(x->peer->mod.qp_access_flags & right)) {
		refuse_request(x);
		return false;
	}
	if (len && cx_key_check(x->hca, x->wqe->raddr.rkey, x->peer->attr.pdn, x->wqe->raddr.raddr,
				len, (int)right, &at)) {
		refuse_access(x);
		return false;
	}
	map_single(list, at, len);
	return true;
}

/* -- receiving --------------------------------------------------------------------------------- */

static const uint32_t rnr_timer_10us[32] = { BSN_RNR_TIMERS_10US };

static void ask_to_wait(struct exchange *x)
{
	x->out->verdict = is_reliable(x) ? CX_RNR : CX_ACKED;
	x->out->wait_ns = rnr_timer_10us[x->peer->mod.min_rnr_timer & 31] * 10000ull;
}

/* A receive WQE for a message; false: the verdict is given. */
static bool find_receive(struct exchange *x)
{
	switch (cx_recv_peek(x->hca, x->peer, &x->hca->scratch->recv)) {
	case 0:
		return true;
	case -EAGAIN:
		ask_to_wait(x);
		return false;
	default:
		refuse_operation(x);
		return false;
	}
}

static void announce_communication(struct exchange *x)
{
	if (x->peer->mod.qp_state != IBV_QPS_RTR || x->peer->run.comm_est)
		return;
	x->peer->run.comm_est = true;
	cx_event_qp(x->hca, x->peer, IBV_EVENT_COMM_EST);
}

static void complete_receive(struct exchange *x)
{
	static const uint8_t opcodes[] = {
		[BSN_OPCODE_SEND] = BSN_CQE_RESP_SEND,
		[BSN_OPCODE_SEND_IMM] = BSN_CQE_RESP_SEND_IMM,
		[BSN_OPCODE_SEND_INVAL] = BSN_CQE_RESP_SEND_INV,
		[BSN_OPCODE_RDMA_WRITE_IMM] = BSN_CQE_RESP_WR_IMM,
	};
	const struct bsn_ctrl *ctrl = &x->wqe->ctrl;

	x->receive.opcode = opcodes[ctrl->opcode];
	x->receive.wqe_counter = x->hca->scratch->recv.index;
	x->receive.solicited = ctrl->solicited;
	x->receive.rqpn = x->qp->head.number;
	x->receive.slid = x->hca->config.link == CX_LINK_IB ? CX_LID : 0;
	if (x->wqe->op->imm != BSN_IMM_NONE)
		x->receive.imm = ctrl->imm;
	cx_recv_take(x->hca, x->peer, &x->hca->scratch->recv);
	announce_communication(x);
	cx_complete(x->hca, x->peer, x->peer->attr.recv_cqn, &x->receive);
	x->out->verdict = CX_ACKED;
}

/* Whether the message goes into the CQE instead of the buffer: configure_responder_scat_cqe(). */
static bool goes_into_cqe(const struct exchange *x, uint64_t len)
{
	const struct cx_cq *cq = cx_cq_find(x->hca, x->peer->attr.recv_cqn);

	return x->peer->attr.scatter_to_cqe && x->peer->attr.type != IBV_QPT_UD && cq && len &&
	       len <= cx_cqe_inline_room(x->hca, cq);
}

/* Copies what scratch->from lists into the receive buffers, behind `offset` bytes of theirs. */
static bool scatter_message(struct exchange *x, uint64_t len)
{
	struct cx_scratch *scratch = x->hca->scratch;
	unsigned detail;

	x->receive.byte_count = (uint32_t)len;
	if (goes_into_cqe(x, len)) {
		map_single(&scratch->to, (struct cx_span){ x->hca->self, (uintptr_t)x->out->bytes },
			   len);
		x->receive.inline_bytes = x->out->bytes;
	} else {
		detail = map_list(x->hca, scratch->recv.wqe.data, scratch->recv.wqe.data_count,
				  x->peer->attr.pdn, IBV_ACCESS_LOCAL_WRITE, len, &scratch->to);
		if (detail) {
			refuse_operation(x);
			x->out->peer_event = 0;
			fail_receive(x, BSN_SYNDROME_LOCAL_PROTECTION,
				     BSN_VENDOR_TPT_RECV + detail);
			return false;
		}
	}
	if (!copy_list(x->hca, &scratch->to, &scratch->from))
		return true;
	refuse_operation(x);
	x->out->peer_event = 0;
	fail_receive(x, BSN_SYNDROME_LOCAL_PROTECTION, BSN_VENDOR_TPT_RECV + BSN_TPT_PAGE_FAULT);
	return false;
}

static bool fits_receive(struct exchange *x, uint64_t len)
{
	if (len <= x->hca->scratch->recv.wqe.total_bytes)
		return true;
	refuse_request(x);
	x->out->peer_event = 0;
	fail_receive(x, BSN_SYNDROME_LOCAL_LENGTH, BSN_VENDOR_SEND_TOO_LONG);
	return false;
}

/*
 * SEND with invalidate: the key must open the responder's memory to somebody. A window's key or a
 * fast-registered one is what hardware would invalidate; with neither modelled, any key of the
 * queue pair's domain that has remote rights stands for them.
 */
static bool invalidate_key(struct exchange *x)
{
	struct cx_mr *mr = cx_mr_find(x->hca, x->wqe->ctrl.imm);

	if (mr && !mr->invalidated && mr->attr.pdn == x->peer->attr.pdn &&
	    (mr->attr.access &
	     (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC))) {
		mr->invalidated = true;
		return true;
	}
	refuse_access(x);
	x->out->peer_event = 0;
	fail_receive(x, BSN_SYNDROME_MW_BIND, BSN_VENDOR_TPT_INVALIDATE + BSN_TPT_PD);
	return false;
}

static void do_send(struct exchange *x)
{
	const uint64_t len = x->wqe->total_bytes;

	if (!map_gather(x) || !find_receive(x) || !fits_receive(x, len) || !scatter_message(x, len))
		return;
	if (x->wqe->op->imm == BSN_IMM_INVALIDATE && !invalidate_key(x))
		return;
	complete_receive(x);
}

/* -- one-sided operations ---------------------------------------------------------------------- */

static void do_write(struct exchange *x)
{
	struct cx_scratch *scratch = x->hca->scratch;
	const uint64_t len = x->wqe->total_bytes;
	const bool receives = x->wqe->op->imm == BSN_IMM_IMMEDIATE;

	if (!map_gather(x) || (receives && !find_receive(x)) ||
	    !map_remote(x, len, IBV_ACCESS_REMOTE_WRITE, &scratch->to))
		return;
	if (copy_list(x->hca, &scratch->to, &scratch->from)) {
		refuse_operation(x);
		return;
	}
	announce_communication(x);
	x->out->verdict = CX_ACKED;
	if (!receives)
		return;
	x->receive.byte_count = (uint32_t)len;
	complete_receive(x);
}

static void do_read(struct exchange *x)
{
	struct cx_scratch *scratch = x->hca->scratch;
	const uint64_t len = x->wqe->total_bytes;

	if (!x->peer->mod.max_dest_rd_atomic) {
		refuse_request(x);
		return;
	}
	if (!map_remote(x, len, IBV_ACCESS_REMOTE_READ, &scratch->from) || !map_scatter(x, len))
		return;
	if (copy_list(x->hca, &scratch->to, &scratch->from)) {
		refuse_operation(x);
		return;
	}
	x->out->byte_count = (uint32_t)len;
	x->out->verdict = CX_ACKED;
}

/* Adds field by field: a set bit of `boundary` is the top of a field, and its carry is lost. */
static uint64_t add_fields(uint64_t a, uint64_t b, uint64_t boundary)
{
	/* Sum without the top bits, then the top bits by themselves: no carry passes them. */
	return ((a & ~boundary) + (b & ~boundary)) ^ ((a ^ b) & boundary);
}

static uint64_t compute_atomic(const struct bsn_wqe *wqe, uint64_t old)
{
	const struct bsn_wqe_atomic *op = &wqe->atomic;

	if (wqe->op->opcode == BSN_OPCODE_ATOMIC_FA ||
	    wqe->op->opcode == BSN_OPCODE_ATOMIC_MASKED_FA)
		return add_fields(old, op->swap_or_add, op->field_boundary);
	if ((old ^ op->compare) & op->compare_mask)
		return old;
	return (old & ~op->swap_mask) | (op->swap_or_add & op->swap_mask);
}

/* Host order in memory and in the result: MLX5_ATOMIC_REQ_MODE_HOST_ENDIANNESS. */
static uint64_t load_operand(const uint8_t *bytes, unsigned size)
{
	uint32_t four;
	uint64_t eight;

	memcpy(&four, bytes, sizeof(four));
	memcpy(&eight, bytes, sizeof(eight));
	return size == sizeof(four) ? four : eight;
}

static void store_operand(uint8_t *bytes, unsigned size, uint64_t value)
{
	uint32_t four = (uint32_t)value;

	memcpy(bytes, &value, sizeof(value));
	if (size == sizeof(four))
		memcpy(bytes, &four, sizeof(four));
}

static void do_atomic(struct exchange *x)
{
	struct cx_scratch *scratch = x->hca->scratch;
	const unsigned size = x->wqe->atomic.size_bytes;
	uint8_t old[8] = { 0 }, new[8];
	struct cx_span at;

	if (!x->peer->mod.max_dest_rd_atomic || x->wqe->raddr.raddr % size) {
		refuse_request(x);
		return;
	}
	if (!map_remote(x, size, IBV_ACCESS_REMOTE_ATOMIC, &scratch->from) || !map_scatter(x, size))
		return;
	at = scratch->from.items[0].at;
	if (cx_mem_read(x->hca, at.proc, at.va, old, size)) {
		refuse_operation(x);
		return;
	}
	store_operand(new, size, compute_atomic(x->wqe, load_operand(old, size)));
	map_single(&scratch->from, (struct cx_span){ x->hca->self, (uintptr_t)old }, size);
	if (cx_mem_write(x->hca, at.proc, at.va, new, size) ||
	    copy_list(x->hca, &scratch->to, &scratch->from)) {
		refuse_operation(x);
		return;
	}
	x->out->byte_count = size;
	x->out->verdict = CX_ACKED;
}

/* -- who is addressed -------------------------------------------------------------------------- */

static bool is_own_gid(struct cx_hca *hca, const uint8_t raw[16])
{
	struct cx_gid own;

	for (unsigned i = 0; i < cx_gid_table_len(&hca->config); i++)
		if (!cx_gid_get(&hca->config, i, &own) && !memcmp(own.gid.raw, raw, 16))
			return true;
	return false;
}

static bool leads_here(struct cx_hca *hca, const struct ibv_ah_attr *path)
{
	if (hca->shared->port_down)
		return false;
	if (hca->config.link == CX_LINK_ROCE)
		return is_own_gid(hca, path->grh.dgid.raw);
	return path->dlid == CX_LID;
}

static bool can_receive(const struct cx_qp *peer)
{
	return peer->mod.qp_state >= IBV_QPS_RTR && peer->mod.qp_state <= IBV_QPS_SQE;
}

/* The other end of a connection, if it is one: it must mean this queue pair, too. */
static struct cx_qp *find_connected(struct cx_hca *hca, struct cx_qp *qp)
{
	struct cx_qp *peer = cx_qp_find(hca, qp->mod.dest_qp_num);

	if (!peer || peer->attr.type != qp->attr.type || !can_receive(peer) ||
	    peer->mod.dest_qp_num != qp->head.number)
		return NULL;
	if (!qp->run.path_known) {
		qp->run.path_known = true;
		qp->run.path_here = leads_here(hca, &qp->mod.ah_attr);
	}
	return qp->run.path_here && !hca->shared->port_down ? peer : NULL;
}

/* -- datagrams --------------------------------------------------------------------------------- */

enum { GRH_BYTES = sizeof(struct ibv_grh) };

static void put_gid(union ibv_gid *gid, uint64_t hi, uint64_t lo)
{
	bsn_store_be64(gid->raw, hi);
	bsn_store_be64(gid->raw + 8, lo);
}

/* RoCEv2 over IPv4: the header is in the last 20 of the 40 bytes (IBTA annex 17). */
static void build_ipv4(uint8_t grh[GRH_BYTES], const struct bsn_av_ud_grh *av, uint64_t len,
		       const union ibv_gid *sgid, const union ibv_gid *dgid)
{
	struct iphdr ip = {
		.version = 4,
		.ihl = 5,
		.tos = (uint8_t)av->tclass,
		.tot_len = htons((uint16_t)(len + sizeof(struct iphdr))),
		.ttl = (uint8_t)av->hop_limit,
		.protocol = IPPROTO_UDP,
	};

	memcpy(&ip.saddr, sgid->raw + 12, sizeof(ip.saddr));
	memcpy(&ip.daddr, dgid->raw + 12, sizeof(ip.daddr));
	memset(grh, 0, GRH_BYTES);
	memcpy(grh + GRH_BYTES - sizeof(ip), &ip, sizeof(ip));
}

static bool is_ipv4_mapped(const union ibv_gid *gid)
{
	static const uint8_t prefix[12] = { [10] = 0xff, 0xff };

	return !memcmp(gid->raw, prefix, sizeof(prefix));
}

/* What the receiver finds in front of the data, and what its CQE says of it. */
static void build_grh(struct exchange *x, uint8_t bytes[GRH_BYTES])
{
	const struct bsn_av_ud_grh *av = &x->wqe->to.ud;
	const bool roce = x->hca->config.link == CX_LINK_ROCE;
	struct ibv_grh grh = { 0 };
	struct cx_gid sgid = { 0 };

	memset(bytes, 0, GRH_BYTES);
	if (!roce && !(av->ext && av->grh))
		return;
	cx_gid_get(&x->hca->config, av->sgid_index, &sgid);
	put_gid(&grh.dgid, av->rgid_hi, av->rgid_lo);
	grh.sgid = sgid.gid;
	grh.version_tclass_flow = htonl(6u << 28 | av->tclass << 20 | av->flow_label);
	grh.paylen = htons((uint16_t)x->wqe->total_bytes);
	grh.next_hdr = roce && sgid.type == IBV_GID_TYPE_ROCE_V2 ? IPPROTO_UDP : 0x1b;
	grh.hop_limit = (uint8_t)av->hop_limit;
	memcpy(bytes, &grh, GRH_BYTES);
	x->receive.grh = BSN_CQE_GRH_IN_DATA;
	x->receive.sl = roce ? (sgid.type == IBV_GID_TYPE_ROCE_V2 ? 1 : 0) : (uint8_t)av->sl;
	if (roce && sgid.type == IBV_GID_TYPE_ROCE_V2 && is_ipv4_mapped(&sgid.gid)) {
		build_ipv4(bytes, av, x->wqe->total_bytes, &sgid.gid, &grh.dgid);
		x->receive.sl = 2;
	}
}

static bool is_for_us(struct exchange *x)
{
	const struct bsn_av_ud_grh *av = &x->wqe->to.ud;
	struct ibv_ah_attr path = { .dlid = (uint16_t)av->rlid };

	put_gid(&path.grh.dgid, av->rgid_hi, av->rgid_lo);
	return leads_here(x->hca, &path);
}

/* A Q_Key with the top bit set stands for the sender's own (IBTA "Q_Key"). */
static bool opens(const struct exchange *x)
{
	uint32_t qkey = x->wqe->to.ud.qkey;

	if (qkey & 1u << 31)
		qkey = x->qp->mod.qkey;
	return qkey == x->peer->mod.qkey;
}

/* The 40 bytes in front of the data are a piece of the message. */
static bool prepend_grh(struct cx_hca *hca, const uint8_t *grh)
{
	struct cx_list *from = &hca->scratch->from;

	if (from->count == CX_MAX_ITEMS)
		return false;
	memmove(&from->items[1], &from->items[0], from->count * sizeof(from->items[0]));
	from->items[0].at = (struct cx_span){ hca->self, (uintptr_t)grh };
	from->items[0].len = GRH_BYTES;
	from->count++;
	return true;
}

enum { PORT_MTU_BYTES = 4096 }; /* kernel/device.c reports it as active */

static void send_datagram(struct exchange *x)
{
	const uint64_t len = x->wqe->total_bytes + GRH_BYTES;
	uint8_t grh[GRH_BYTES];

	if (x->wqe->total_bytes > PORT_MTU_BYTES) {
		refuse_locally(x, BSN_SYNDROME_LOCAL_LENGTH, BSN_VENDOR_LONGER_THAN_MTU);
		return;
	}
	if (!map_gather(x))
		return;
	x->out->verdict = CX_ACKED;
	x->peer = is_for_us(x) ? cx_qp_find(x->hca, x->wqe->to.ud.dqpn) : NULL;
	if (!x->peer || x->peer->attr.type != IBV_QPT_UD || !can_receive(x->peer) || !opens(x))
		return;
	build_grh(x, grh);
	if (!prepend_grh(x->hca, grh) || !find_receive(x) || !fits_receive(x, len) ||
	    !scatter_message(x, len))
		return;
	complete_receive(x);
}

/* -- the way in -------------------------------------------------------------------------------- */

static void send_connected(struct exchange *x)
{
	if (x->wqe->total_bytes > CX_MAX_MSG_BYTES) {
		refuse_locally(x, BSN_SYNDROME_LOCAL_LENGTH, BSN_VENDOR_MESSAGE_TOO_LONG);
		return;
	}
	x->peer = find_connected(x->hca, x->qp);
	if (!x->peer) {
		/* The requester's own memory is looked at before anything is sent. */
		if (x->wqe->op->data == BSN_DATA_GATHER && !map_gather(x))
			return;
		x->out->verdict = is_reliable(x) ? CX_SILENCE : CX_ACKED;
		return;
	}
	if (x->wqe->op->has_atomic)
		do_atomic(x);
	else if (x->wqe->op->data == BSN_DATA_SCATTER)
		do_read(x);
	else if (x->wqe->op->has_raddr)
		do_write(x);
	else
		do_send(x);
}

void cx_transport_send(struct cx_hca *hca, struct cx_qp *qp, const struct bsn_wqe *wqe,
		       struct cx_outcome *outcome)
{
	struct exchange x = { .hca = hca, .qp = qp, .wqe = wqe, .out = outcome };

	if (qp->attr.type == IBV_QPT_UD)
		send_datagram(&x);
	else
		send_connected(&x);
}
