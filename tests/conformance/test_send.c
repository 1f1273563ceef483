/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every kind of send request at every position of the ring: all that Bunsen publishes equals what
 * libmlx5 publishes for it, the data arrive, and so do the completions.
 */
#include "compare.h"
#include "../wqe/random.h"

#include <stdio.h>

enum { MAX_PARTIES = 8, GRH = BSN_GRH_SIZE };

static struct {
	struct bench bench;
	unsigned count;
	struct party sender[MAX_PARTIES], receiver[MAX_PARTIES];
	struct party sink;     /* UD: one for all, since the WQE names it */
	struct bsn_mr *victim; /* what SEND_INVAL invalidates */
	struct published want, got;
	uint64_t next_id;
	bool any_size; /* stores of other sizes than libmlx5's */
} t;

static uint8_t *at(size_t offset)
{
	return (uint8_t *)(uintptr_t)t.bench.memory->addr + offset;
}

/* -- set-up ------------------------------------------------------------------------------------- */

static void start(enum cx_link link, enum bsn_qp_type type, enum bsn_store store, bool signal_all)
{
	memset(&t, 0, sizeof(t));
	bench_open(&t.bench, link, type, store);
	t.bench.signal_all = signal_all;
	t.any_size = store != BSN_STORE_8;
	t.count = builder_count;
	assert_int_equal(bsn_buf_alloc(t.bench.device, 4096, NULL, &t.victim), 0);
	if (type == BSN_QP_UD)
		party_create(&t.bench, &t.sink, &builders[builder_count - 1]);
	for (unsigned i = 0; i < t.count; i++) {
		party_create(&t.bench, &t.sender[i], &builders[i]);
		if (type != BSN_QP_UD)
			party_create(&t.bench, &t.receiver[i], &builders[i]);
		party_connect(&t.sender[i], type == BSN_QP_UD ? &t.sink : &t.receiver[i]);
	}
}

static void stop(void)
{
	for (unsigned i = 0; i < t.count; i++) {
		party_destroy(&t.sender[i]);
		if (t.bench.type != BSN_QP_UD)
			party_destroy(&t.receiver[i]);
	}
	if (t.bench.type == BSN_QP_UD)
		party_destroy(&t.sink);
	assert_int_equal(bsn_buf_free(t.victim), 0);
	bench_close(&t.bench);
}

/* -- requests ----------------------------------------------------------------------------------- */

/* The kinds of data that a request may have. */
struct shape {
	unsigned sges;
	unsigned bytes; /* in all; 0 with pointers: as it comes */
	bool is_inline;
	bool has_gap; /* one of several SGEs is empty */
};

/* With every flag. */
static const struct shape shapes[] = {
#define POINTERS(sges_)                                                                            \
	{                                                                                          \
		.sges = sges_                                                                      \
	}
#define INLINE(sges_, bytes_)                                                                      \
	{                                                                                          \
		.sges = sges_, .bytes = bytes_, .is_inline = true                                  \
	}
	POINTERS(0),       POINTERS(1),   POINTERS(2),   POINTERS(3),
	POINTERS(MAX_SGE), INLINE(1, 0),  INLINE(1, 1),  INLINE(1, 15),
	INLINE(1, 16),     INLINE(1, 17), INLINE(1, 44), INLINE(1, MAX_INLINE),
};

/* Lengths next to the ends of a unit, of a block and of the register's buffer; empty SGEs. */
static const struct shape edges[] = {
	{ .sges = 1, .has_gap = true },
	{ .sges = 3, .has_gap = true },
	INLINE(0, 0),
	INLINE(1, 3),
	INLINE(1, 4),
	INLINE(1, 7),
	INLINE(1, 8),
	INLINE(1, 12),
	INLINE(1, 28),
	INLINE(1, 29),
	INLINE(1, 45),
	INLINE(3, 17),
	INLINE(3, 44),
	INLINE(1, 188),
	INLINE(1, 189),
	INLINE(1, 220),
	INLINE(1, 221),
	INLINE(1, 236),
	INLINE(1, 237),
	INLINE(MAX_SGE, MAX_INLINE),
#undef INLINE
#undef POINTERS
};

static const struct shape one_place = { .sges = 1, .bytes = 8 };

static bool is_atomic(uint32_t opcode)
{
	return opcode == BSN_OPCODE_ATOMIC_CS || opcode == BSN_OPCODE_ATOMIC_FA;
}

static bool is_received(uint32_t opcode)
{
	return opcode == BSN_OPCODE_SEND || opcode == BSN_OPCODE_SEND_IMM ||
	       opcode == BSN_OPCODE_SEND_INVAL || opcode == BSN_OPCODE_RDMA_WRITE_IMM;
}

static unsigned piece_bytes(const struct shape *shape, unsigned i, unsigned left)
{
	if (shape->has_gap && i == shape->sges / 2)
		return 0;
	if (!shape->is_inline)
		return shape->bytes ? shape->bytes : 1 + (unsigned)(random_u64() % 40);
	return i + 1 == shape->sges ? left : left / (shape->sges - i);
}

static void make(struct request *r, uint32_t opcode, const struct shape *shape, unsigned flags)
{
	const uint64_t dice = random_u64();

	memset(r, 0, sizeof(*r));
	for (unsigned i = 0; i < shape->sges; i++) {
		const unsigned n = piece_bytes(shape, i, shape->bytes - r->bytes);

		/* Inline data need not be registered. */
		r->sge[i] = (struct bsn_sge){
			.addr = (uintptr_t)at(SOURCE) + r->bytes + 8 * i +
				(is_atomic(opcode) ? 0 : 3),
			.length = n,
			.lkey = shape->is_inline ? (uint32_t)dice : t.bench.memory->lkey,
		};
		if (is_atomic(opcode))
			r->sge[i].addr = (uintptr_t)at(SOURCE) + 64;
		r->bytes += n;
	}
	r->wr = (struct bsn_wr){ .id = ++t.next_id,
				 .sge = r->sge,
				 .sge_count = shape->sges,
				 .flags = flags | (shape->is_inline ? BSN_F_INLINE : 0u),
				 .remote = { (uintptr_t)at(TARGET), t.bench.memory->rkey },
				 .opcode = opcode,
				 .imm = opcode == BSN_OPCODE_SEND_INVAL ? t.victim->rkey
									: (uint32_t)(dice >> 32),
				 .swap_add = dice * 3,
				 .compare = dice % 2 ? dice * 5 : 0x1111111111111111 };
}

static void describe(const struct request *r, const struct party *p)
{
	const struct bsn_wqe_op *op = bsn_wqe_op_find(r->wr.opcode);

	print_error("%s, %s: %u SGEs, %u bytes%s%s%s%s, ring position %u of %u\n", p->builder->name,
		    op->name, r->wr.sge_count, r->bytes,
		    r->wr.flags & BSN_F_INLINE ? " inline" : "",
		    r->wr.flags & BSN_F_SIGNALED ? ", signaled" : "",
		    r->wr.flags & BSN_F_FENCE ? ", fence" : "",
		    r->wr.flags & BSN_F_SOLICITED ? ", solicited" : "", p->pi % p->count_bb,
		    p->count_bb);
}

/* -- data and completions ----------------------------------------------------------------------- */

enum { FRESH = 0x11 }; /* what stands where data are to come */

static void fill_memory(const struct request *r)
{
	const bool is_read = r->wr.opcode == BSN_OPCODE_RDMA_READ;

	memset(at(is_read || is_atomic(r->wr.opcode) ? SOURCE : TARGET - GRH), FRESH, AREA_BYTES);
	for (unsigned i = 0; i < AREA_BYTES && !is_atomic(r->wr.opcode); i++)
		at(is_read ? TARGET : SOURCE)[i] = (uint8_t)(r->wr.id * 7 + i + (i >> 8));
	if (is_atomic(r->wr.opcode))
		memset(at(TARGET), FRESH, 16);
}

/* Pieces of local memory against remote memory, which is in one piece and ends there. */
static bool data_moved(const struct request *r)
{
	const uint8_t *remote = at(TARGET);

	for (unsigned i = 0; i < r->wr.sge_count; i++) {
		if (memcmp((void *)(uintptr_t)r->sge[i].addr, remote, r->sge[i].length))
			return false;
		remote += r->sge[i].length;
	}
	return r->wr.opcode == BSN_OPCODE_RDMA_READ || *remote == FRESH;
}

static bool atomic_done(const struct request *r)
{
	const uint64_t old = 0x1111111111111111;
	uint64_t now, result;

	memcpy(&now, at(TARGET), 8);
	memcpy(&result, at(SOURCE) + 64, 8);
	if (result != old)
		return false;
	if (r->wr.opcode == BSN_OPCODE_ATOMIC_FA)
		return now == old + r->wr.swap_add;
	return now == (r->wr.compare == old ? r->wr.swap_add : old);
}

static int check_data(const struct request *r)
{
	if (is_atomic(r->wr.opcode) ? atomic_done(r) : data_moved(r))
		return 0;
	print_error("the data are wrong\n");
	return 1;
}

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
	if (opcode == BSN_OPCODE_RDMA_WRITE_IMM)
		return BSN_OPCODE_RDMA_WRITE;
	return opcode == BSN_OPCODE_SEND_IMM || opcode == BSN_OPCODE_SEND_INVAL ? BSN_OPCODE_SEND
										: opcode;
}

static int check_sent(struct party *p, const struct request *r)
{
	const bool reports = t.bench.signal_all || (r->wr.flags & BSN_F_SIGNALED);
	const bool has_len = r->wr.opcode == BSN_OPCODE_RDMA_READ || is_atomic(r->wr.opcode);
	struct seen got, want = { .id = r->wr.id,
				  .opcode = p->qp ? r->wr.opcode : verbs_view(r->wr.opcode),
				  .byte_len = r->bytes };

	if (reports) {
		if (!party_reap(p, 0, &got)) {
			print_error("no completion came\n");
			return 1;
		}
		if (!has_len) /* undefined */
			got.byte_len = want.byte_len;
		if (p->verbs)
			got.flags = 0; /* of receives; libmlx5 copies what was sent */
		got.imm = 0;
		if (check_seen("the send", &want, &got))
			return 1;
	}
	if (!party_reap(p, 0, &got))
		return 0;
	print_error("a completion too many came, of id %llu\n", (unsigned long long)got.id);
	return 1;
}

static int check_received(struct party *p, const struct request *r)
{
	const bool ud = t.bench.type == BSN_QP_UD;
	const bool is_write = r->wr.opcode == BSN_OPCODE_RDMA_WRITE_IMM;
	struct seen got, want = { .id = ~r->wr.id,
				  .opcode = is_write ? BSN_RECV_RDMA_WITH_IMM : BSN_RECV,
				  .byte_len = r->bytes + (ud ? GRH : 0) };

	if (r->wr.opcode == BSN_OPCODE_SEND_INVAL)
		want.flags = BSN_C_INVAL;
	else if (r->wr.opcode != BSN_OPCODE_SEND)
		want.flags = BSN_C_IMM;
	if (want.flags)
		want.imm = r->wr.imm;
	if (ud && !strcmp(t.bench.info->link_layer, "Ethernet"))
		want.flags |= BSN_C_GRH;
	if (!party_reap(p->to, 1, &got)) {
		print_error("no message came\n");
		return 1;
	}
	if (!(want.flags & (BSN_C_IMM | BSN_C_INVAL)))
		got.imm = 0;
	return check_seen("the receive", &want, &got);
}

/* -- one request, on all sides ------------------------------------------------------------------ */

static void post_receive(struct party *p, const struct request *r)
{
	const bool ud = t.bench.type == BSN_QP_UD;
	const struct bsn_sge sge = { (uintptr_t)at(TARGET) - (ud ? GRH : 0), 4096,
				     t.bench.memory->lkey };

	if (is_received(r->wr.opcode))
		party_receive(p->to, &sge, 1, ~r->wr.id);
	if (r->wr.opcode == BSN_OPCODE_SEND_INVAL) /* the key is valid again */
		assert_int_equal(cx_mr_modify(softcx_hca(), t.victim->rkey, 0, NULL), 0);
}

static int post(struct party *p, const struct request *r, struct published *out)
{
	int err;

	fill_memory(r);
	post_receive(p, r);
	published_start();
	err = p->builder->post(p, r, 1);
	if (err) {
		print_error("the post was refused: %d\n", err);
		return 1;
	}
	published_take(p, 1, out);
	/* The data last: short messages come inside the CQE to QPs that libmlx5 made by itself. */
	return published_check(out) || check_sent(p, r) ||
	       (is_received(r->wr.opcode) && check_received(p, r)) || check_data(r);
}

/* libmlx5 stores by 8 B, of which wider ones are made of the same bytes in the same order. */
static bool takes_any_size(const struct party *p)
{
	return p->builder->has_wide_stores || (t.any_size && p->qp);
}

static void post_by_all(const struct request *r)
{
	for (unsigned i = 0; i < t.count; i++) {
		struct published *out = i ? &t.got : &t.want;
		const uint64_t lint = cx_lint_count(softcx_hca());

		if (post(&t.sender[i], r, out) ||
		    (i && published_compare(&t.want, &t.got, takes_any_size(&t.sender[i]))) ||
		    lint != cx_lint_count(softcx_hca())) {
			t.sender[i].pi = t.want.index[0];
			describe(r, &t.sender[i]);
			fail();
		}
	}
}

static void poison_all(void)
{
	for (unsigned i = 0; i < t.count; i++)
		party_poison(&t.sender[i], random_u64());
}

/* One block, signaled: retires what is outstanding. */
static void post_filler(void)
{
	static const struct shape nothing = { .sges = 0 };
	struct request r;

	make(&r, t.bench.type == BSN_QP_UD ? BSN_OPCODE_SEND : BSN_OPCODE_RDMA_WRITE,
	     t.bench.type == BSN_QP_UD ? &nothing : &one_place, BSN_F_SIGNALED);
	post_by_all(&r);
}

/*
 * The same request at each position: each round moves on by an odd number of blocks, so that as
 * many rounds as the ring has blocks begin once at each.
 */
static void at_every_position(uint32_t opcode, const struct shape *shape, unsigned flags)
{
	bool seen[RING_BB] = { false };

	for (unsigned round = 0; round < RING_BB; round++) {
		const uint16_t first = t.sender[0].pi;
		struct request r;

		assert_false(seen[first % RING_BB]);
		seen[first % RING_BB] = true;
		poison_all();
		make(&r, opcode, shape, flags);
		post_by_all(&r);
		if (!(flags & BSN_F_SIGNALED))
			post_filler();
		if (!((uint16_t)(t.sender[0].pi - first) % 2))
			post_filler();
	}
}

static void with_every_flag(uint32_t opcode, const struct shape *shape)
{
	static const unsigned bits[] = { BSN_F_SIGNALED, BSN_F_FENCE, BSN_F_SOLICITED };

	for (unsigned set = 0; set < 8; set++) {
		unsigned flags = 0;

		for (unsigned i = 0; i < 3; i++)
			flags |= set & 1u << i ? bits[i] : 0;
		at_every_position(opcode, shape, flags);
	}
}

static bool can_have(const struct bsn_wqe_op *op, const struct shape *shape)
{
	return shape->is_inline ? op->data == BSN_DATA_GATHER : !op->has_atomic;
}

static void every_shape(const struct bsn_wqe_op *op)
{
	if (op->has_atomic)
		with_every_flag(op->opcode, &one_place);
	for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		if (can_have(op, &shapes[i]))
			with_every_flag(op->opcode, &shapes[i]);
	for (unsigned i = 0; i < sizeof(edges) / sizeof(edges[0]); i++)
		if (can_have(op, &edges[i]))
			at_every_position(op->opcode, &edges[i], BSN_F_SIGNALED);
}

/* libmlx5 builds neither NOPs nor masked atomics. */
static bool has_model(const struct bsn_wqe_op *op)
{
	return op->opcode != BSN_OPCODE_NOP && op->opcode != BSN_OPCODE_ATOMIC_MASKED_CS &&
	       op->opcode != BSN_OPCODE_ATOMIC_MASKED_FA;
}

static void every_request(void)
{
#define OPCODE(name, value, doc) value,
	static const uint32_t opcodes[] = { BSN_WQE_OPCODES(OPCODE) };
#undef OPCODE

	for (unsigned i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
		const struct bsn_wqe_op *op = bsn_wqe_op_find(opcodes[i]);

		if (has_model(op) && op->transports & 1u << t.bench.type)
			every_shape(op);
	}
}

static void reliable(void **state)
{
	(void)state;
	start(CX_LINK_IB, BSN_QP_RC, BSN_STORE_8, false);
	every_request();
	stop();
}

static void unreliable(void **state)
{
	(void)state;
	start(CX_LINK_ROCE, BSN_QP_UC, BSN_STORE_8, false);
	every_request();
	stop();
}

static void datagrams_on_infiniband(void **state)
{
	(void)state;
	start(CX_LINK_IB, BSN_QP_UD, BSN_STORE_8, false);
	every_request();
	stop();
}

static void datagrams_on_ethernet(void **state)
{
	(void)state;
	start(CX_LINK_ROCE, BSN_QP_UD, BSN_STORE_8, false);
	every_request();
	stop();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reliable),
		cmocka_unit_test(unreliable),
		cmocka_unit_test(datagrams_on_infiniband),
		cmocka_unit_test(datagrams_on_ethernet),
	};

	random_start();
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
