/* SPDX-License-Identifier: BSD-2-Clause */
/* One batch of requests on all sides, and its results. */
#include "exchange.h"

#include "../device/real_device.h"
#include "../wqe/random.h"

enum {
	GRH = BSN_GRH_SIZE,
	SLICE_BYTES = AREA_BYTES / MAX_BATCH / 64 * 64, /* of SOURCE and TARGET, for each request */
	RESULT = 64,  /* where in its slice an atomic's result goes */
	FRESH = 0x11, /* the bytes of memory that data will overwrite */
};

#define OLD_VALUE 0x1111111111111111ull /* the same, as an atomic sees it */

struct exchange x;

static uint8_t *at(size_t offset)
{
	return bench_at(&x.bench, offset);
}

static bool is_received(uint32_t opcode)
{
	return opcode == BSN_OPCODE_SEND || opcode == BSN_OPCODE_SEND_IMM ||
	       opcode == BSN_OPCODE_SEND_INVAL || opcode == BSN_OPCODE_RDMA_WRITE_IMM;
}

/* Whether all can post it: not NOPs, masked atomics; on a NIC no invalidation of a verbs MR. */
bool exchange_can(const struct bsn_wqe_op *op)
{
	return op->opcode != BSN_OPCODE_NOP && op->opcode != BSN_OPCODE_ATOMIC_MASKED_CS &&
	       op->opcode != BSN_OPCODE_ATOMIC_MASKED_FA && op->is_message &&
	       (x.bench.is_model || op->opcode != BSN_OPCODE_SEND_INVAL) &&
	       (op->transports & 1u << x.bench.type);
}

/* -- set-up ------------------------------------------------------------------------------------ */

void exchange_start(const struct setting *setting)
{
	const bool ud = setting->type == BSN_QP_UD;

	memset(&x, 0, sizeof(x));
	x.setting = setting;
	setenv("MLX5_SHUT_UP_BF", setting->is_doorbell_only ? "1" : "0", 1);
	bench_open(&x.bench, setting->link, setting->type, setting->store);
	x.bench.signal_all = setting->signal_all;
	x.bench.is_shared = setting->is_shared;
	x.bench.is_doorbell_only = setting->is_doorbell_only;
	for (unsigned i = 0; i < MAX_BATCH && x.bench.is_model; i++)
		victim_make(&x.victim[i], x.bench.pd);
	x.count = builder_count;
	if (ud)
		party_create(&x.bench, &x.sink, &builders[builder_count - 1]);
	for (unsigned i = 0; i < x.count; i++) {
		party_create(&x.bench, &x.sender[i], &builders[i]);
		if (!ud)
			party_create(&x.bench, &x.receiver[i], &builders[i]);
		party_connect(&x.sender[i], ud ? &x.sink : &x.receiver[i]);
	}
}

void exchange_stop(void)
{
	const bool ud = x.bench.type == BSN_QP_UD;

	for (unsigned i = 0; i < x.count; i++) {
		party_destroy(&x.sender[i]);
		if (!ud)
			party_destroy(&x.receiver[i]);
	}
	if (ud)
		party_destroy(&x.sink);
	for (unsigned i = 0; i < MAX_BATCH; i++)
		victim_free(&x.victim[i]);
	bench_close(&x.bench);
}

/* -- requests ---------------------------------------------------------------------------------- */

static unsigned piece_bytes(const struct shape *shape, unsigned i, unsigned left)
{
	if (shape->has_gap && i == shape->sges / 2)
		return 0;
	if (!shape->is_inline)
		return shape->bytes ? shape->bytes : 1 + (unsigned)(random_u64() % 40);
	return i + 1 == shape->sges ? left : left / (shape->sges - i);
}

/* Pieces with gaps between them; inline data need not be registered. */
static void make_pieces(struct request *r, const struct shape *shape)
{
	const uintptr_t source = (uintptr_t)at(SOURCE) + r->slice;

	for (unsigned i = 0; i < shape->sges; i++) {
		const uintptr_t addr =
			is_atomic(r->wr.opcode) ? source + RESULT : source + r->bytes + 8 * i + 3;

		r->sge[i] = (struct bsn_sge){
			.addr = addr,
			.length = piece_bytes(shape, i, shape->bytes - r->bytes),
			.lkey = shape->is_inline ? (uint32_t)r->wr.id : x.bench.memory->lkey,
		};
		r->bytes += r->sge[i].length;
	}
}

void exchange_make(struct request *r, unsigned nth, uint32_t opcode, const struct shape *shape,
		   unsigned flags)
{
	const uint64_t dice = random_u64();

	memset(r, 0, sizeof(*r));
	r->slice = nth * SLICE_BYTES;
	r->wr = (struct bsn_wr){
		.id = ++x.next_id,
		.sge = r->sge,
		.sge_count = shape->sges,
		.flags = flags | (shape->is_inline ? BSN_F_INLINE : 0u),
		.remote = { (uintptr_t)at(TARGET) + r->slice, x.bench.memory->rkey },
		.opcode = opcode,
		.imm = opcode == BSN_OPCODE_SEND_INVAL ? x.victim[nth].rkey
						       : (uint32_t)(dice >> 32),
		.swap_add = dice * 3,
		.compare = dice % 2 ? dice * 5 : OLD_VALUE,
	};
	make_pieces(r, shape);
}

static void describe(const struct party *p, const struct request *r, uint16_t index)
{
	print_error("%s, %s: %u SGEs, %u bytes%s%s%s%s, ring position %u of %u\n", p->builder->name,
		    bsn_wqe_op_find(r->wr.opcode)->name, r->wr.sge_count, r->bytes,
		    r->wr.flags & BSN_F_INLINE ? " inline" : "",
		    r->wr.flags & BSN_F_SIGNALED ? ", signaled" : "",
		    r->wr.flags & BSN_F_FENCE ? ", fence" : "",
		    r->wr.flags & BSN_F_SOLICITED ? ", solicited" : "", index % p->count_bb,
		    p->count_bb);
}

/* -- data -------------------------------------------------------------------------------------- */

static void fill_memory(const struct request *r)
{
	const bool comes_here = r->wr.opcode == BSN_OPCODE_RDMA_READ || is_atomic(r->wr.opcode);
	uint8_t *local = at(SOURCE) + r->slice, *remote = at(TARGET) + r->slice;

	memset(comes_here ? local : remote - GRH, FRESH, SLICE_BYTES);
	for (unsigned i = 0; i < SLICE_BYTES; i++)
		(comes_here ? remote : local)[i] = (uint8_t)(r->wr.id * 7 + i + (i >> 8));
	if (is_atomic(r->wr.opcode))
		memset(remote, FRESH, sizeof(uint64_t));
}

/* Pieces of local memory against remote memory, which is in one piece and ends there. */
static bool data_moved(const struct request *r)
{
	const uint8_t *remote = at(TARGET) + r->slice;

	for (unsigned i = 0; i < r->wr.sge_count; i++) {
		if (memcmp((void *)(uintptr_t)r->sge[i].addr, remote, r->sge[i].length))
			return false;
		remote += r->sge[i].length;
	}
	return r->wr.opcode == BSN_OPCODE_RDMA_READ || *remote == FRESH;
}

static bool atomic_done(const struct request *r)
{
	uint64_t now, result;

	memcpy(&now, at(TARGET) + r->slice, sizeof(now));
	memcpy(&result, at(SOURCE) + r->slice + RESULT, sizeof(result));
	if (result != OLD_VALUE)
		return false;
	if (r->wr.opcode == BSN_OPCODE_ATOMIC_FA)
		return now == OLD_VALUE + r->wr.swap_add;
	return now == (r->wr.compare == OLD_VALUE ? r->wr.swap_add : OLD_VALUE);
}

static int check_data(const struct request *r)
{
	const long since_ms = now_ms();
	bool done, working;

	do { /* no completion tells when an unreliable or unsignaled WRITE has arrived */
		working = bench_is_working(&x.bench, since_ms);
		done = is_atomic(r->wr.opcode) ? atomic_done(r) : data_moved(r);
	} while (!done && working);
	if (done)
		return 0;
	print_error("the data are wrong\n");
	return 1;
}

/* -- completions ------------------------------------------------------------------------------- */

static int check_seen(const char *where, const struct seen *want, const struct seen *got)
{
	if (want->id == got->id && want->status == got->status && want->opcode == got->opcode &&
	    want->byte_len == got->byte_len && want->flags == got->flags && want->imm == got->imm)
		return 0;
	print_error("%s completion: id %llu status %d opcode %#x len %u flags %#x imm %#x,\n"
		    "  not: id %llu status %d opcode %#x len %u flags %#x imm %#x\n",
		    where, (unsigned long long)got->id, got->status, got->opcode, got->byte_len,
		    got->flags, got->imm, (unsigned long long)want->id, want->status, want->opcode,
		    want->byte_len, want->flags, want->imm);
	return 1;
}

/* libibverbs has one opcode for all kinds of SEND, and one for both of WRITE. */
static unsigned verbs_view(unsigned opcode)
{
	return opcode == BSN_OPCODE_RDMA_WRITE_IMM ? BSN_OPCODE_RDMA_WRITE
	       : opcode == BSN_OPCODE_SEND_IMM || opcode == BSN_OPCODE_SEND_INVAL ? BSN_OPCODE_SEND
										  : opcode;
}

static int check_sent(struct party *p, const struct request *r)
{
	const bool has_len = r->wr.opcode == BSN_OPCODE_RDMA_READ || is_atomic(r->wr.opcode);
	struct seen got, want = { .id = r->wr.id,
				  .opcode = p->qp ? r->wr.opcode : verbs_view(r->wr.opcode),
				  .byte_len = r->bytes };

	if (!p->bench->signal_all && !(r->wr.flags & BSN_F_SIGNALED))
		return 0;
	if (!party_await(p, 0, &got)) {
		print_error("request %llu has no completion\n", (unsigned long long)r->wr.id);
		return 1;
	}
	if (!has_len) /* undefined */
		got.byte_len = want.byte_len;
	if (p->verbs)
		got.flags = 0; /* of receives; libmlx5 copies what was sent */
	got.imm = 0;
	return check_seen("the send", &want, &got);
}

static int check_received(struct party *p, const struct request *r)
{
	const bool ud = p->bench->type == BSN_QP_UD;
	const bool is_write = r->wr.opcode == BSN_OPCODE_RDMA_WRITE_IMM;
	struct seen got, want = { .id = ~r->wr.id,
				  .opcode = is_write ? BSN_RECV_RDMA_WITH_IMM : BSN_RECV,
				  .byte_len = r->bytes + (ud ? GRH : 0) };

	if (!is_received(r->wr.opcode))
		return 0;
	if (r->wr.opcode == BSN_OPCODE_SEND_INVAL)
		want.flags = BSN_C_INVAL;
	else if (r->wr.opcode != BSN_OPCODE_SEND)
		want.flags = BSN_C_IMM;
	if (want.flags)
		want.imm = r->wr.imm;
	if (ud && !strcmp(p->bench->info->link_layer, "Ethernet"))
		want.flags |= BSN_C_GRH;
	if (!party_await(p->to, 1, &got)) {
		print_error("no message of request %llu arrived\n", (unsigned long long)r->wr.id);
		return 1;
	}
	if (!(want.flags & (BSN_C_IMM | BSN_C_INVAL)))
		got.imm = 0;
	return check_seen("the receive", &want, &got);
}

static int check_no_more(struct party *p)
{
	struct seen got;

	if (!party_reap(p, 0, &got) && !party_reap(p->to, 1, &got))
		return 0;
	print_error("one completion too many came: id %llu\n", (unsigned long long)got.id);
	return 1;
}

/* The data come last, since a QP that libmlx5 made by itself gets short messages inside the CQE. */
static int check_outcome(struct party *p, const struct request *r, unsigned n)
{
	int bad = 0;

	for (unsigned i = 0; i < n && !bad; i++)
		bad = check_sent(p, &r[i]) || check_received(p, &r[i]);
	for (unsigned i = 0; i < n && !bad; i++)
		bad = check_data(&r[i]);
	return bad || check_no_more(p);
}

/* -- a batch on all sides ---------------------------------------------------------------------- */

static void prepare(struct party *p, const struct request *r)
{
	const struct bsn_sge sge = { (uintptr_t)at(TARGET) + r->slice -
					     (p->bench->type == BSN_QP_UD ? GRH : 0),
				     SLICE_BYTES, x.bench.memory->lkey };

	fill_memory(r);
	if (is_received(r->wr.opcode))
		party_receive(p->to, &sge, 1, ~r->wr.id);
	if (r->wr.opcode == BSN_OPCODE_SEND_INVAL) /* the key is valid again */
		ok(cx_mr_modify(softcx_hca(), r->wr.imm, 0, NULL));
}

static int post(struct party *p, const struct request *r, unsigned n, struct published *out)
{
	int err;

	for (unsigned i = 0; i < n; i++)
		prepare(p, &r[i]);
	published_start();
	err = p->builder->post(p, r, n);
	if (err) {
		print_error("the post was refused: %d\n", err);
		return 1;
	}
	published_take(p, n, out);
	return published_check(out) || check_outcome(p, r, n);
}

/* libmlx5 stores 8 B at a time; wider stores have the same bytes in the same order. */
static bool takes_any_size(const struct party *p)
{
	return p->builder->has_wide_stores || (p->qp && x.setting->store != BSN_STORE_8);
}

void exchange_post(const struct request *r, unsigned n)
{
	const uint16_t first = x.sender[0].pi;

	for (unsigned i = 0; i < x.count; i++) {
		struct party *p = &x.sender[i];
		struct published *out = i ? &x.got : &x.want;
		const uint64_t lint = bench_lint_count(&x.bench);

		if (!post(p, r, n, out) &&
		    (!i || !published_compare(&x.want, &x.got, takes_any_size(p))) &&
		    lint == bench_lint_count(&x.bench))
			continue;
		for (unsigned k = 0; k < n; k++)
			describe(p, &r[k], k ? out->index[k] : first);
		if (lint != bench_lint_count(&x.bench))
			print_error("the device finds this odd: BSN_TRACE=FILE says why\n");
		fail();
	}
}

void exchange_post_filler(void)
{
	static const struct shape nothing = { .sges = 0 }, word = { .sges = 1, .bytes = 8 };
	const bool ud = x.bench.type == BSN_QP_UD;
	struct request r;

	exchange_make(&r, 0, ud ? BSN_OPCODE_SEND : BSN_OPCODE_RDMA_WRITE, ud ? &nothing : &word,
		      BSN_F_SIGNALED);
	exchange_post(&r, 1);
}

void exchange_poison(void)
{
	for (unsigned i = 0; i < x.count; i++)
		party_poison(&x.sender[i], random_u64());
}
