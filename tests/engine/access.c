/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Access that a region or a window does not allow: a byte beyond each end, a wrong domain, each
 * missing right, an old key, a window that was taken back. Each gives its status, its vendor
 * syndrome and its text, and no byte is moved. On QPs that an application made, the application's
 * own regions and windows are tried.
 */
#include "harness.h"

#include <sys/mman.h>

#include "bsn_mkey.h"
#include "bsn_syndrome.h"

enum { PAGE = 4096, PAGES = 3, AT = 100, ATOMIC_AT = 104, LENGTH = 64, QUIET = 0xa5 };

/*
 * Which memory is bad: what a request reads, where its result goes, a receive, the peer's memory.
 */
enum place { GATHER, SCATTER, RECEIVE, REMOTE };
enum fault { BEFORE, AFTER, DOMAIN, RIGHT, OLD_KEY };

struct violation {
	enum bsn_wqe_opcode opcode;
	enum place place;
	enum fault fault;
	int access; /* that the region has; 0: every right */
};

#define ALL                                                                                        \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

/* Rows of one request and place: each of these faults is a violation. */
struct violations {
	enum bsn_wqe_opcode opcode;
	enum place place;
	unsigned faults; /* a bit each */
	int access;
};

#define BIT(fault)  (1u << (fault))
#define ENDS        (BIT(BEFORE) | BIT(AFTER))
#define KEYS        (BIT(DOMAIN) | BIT(OLD_KEY))
#define ALL_BUT(of) (ALL & ~IBV_ACCESS_REMOTE_##of)

static const struct violations of_regions[] = {
	{ BSN_OPCODE_RDMA_WRITE, GATHER, ENDS | KEYS, 0 },
	{ BSN_OPCODE_SEND, GATHER, ENDS, 0 },
	{ BSN_OPCODE_RDMA_READ, SCATTER, ENDS | KEYS, 0 },
	{ BSN_OPCODE_RDMA_READ, SCATTER, BIT(RIGHT), IBV_ACCESS_REMOTE_READ },
	{ BSN_OPCODE_SEND, RECEIVE, ENDS | KEYS, 0 },
	{ BSN_OPCODE_SEND, RECEIVE, BIT(RIGHT), IBV_ACCESS_REMOTE_READ },
	{ BSN_OPCODE_RDMA_WRITE, REMOTE, ENDS | KEYS, 0 },
	{ BSN_OPCODE_RDMA_WRITE, REMOTE, BIT(RIGHT), ALL_BUT(WRITE) },
	{ BSN_OPCODE_RDMA_READ, REMOTE, ENDS | KEYS, 0 },
	{ BSN_OPCODE_RDMA_READ, REMOTE, BIT(RIGHT), ALL_BUT(READ) },
	{ BSN_OPCODE_ATOMIC_FA, REMOTE, KEYS, 0 },
	{ BSN_OPCODE_ATOMIC_FA, REMOTE, BIT(RIGHT), ALL_BUT(ATOMIC) },
};

static void try_all(struct bench *b, const struct violations *rows, size_t count,
		    void (*try)(struct bench *b, const struct violation *v))
{
	for (const struct violations *row = rows; row < rows + count; row++)
		for (enum fault fault = BEFORE; fault <= OLD_KEY; fault++)
			if (row->faults & BIT(fault))
				try(b, &(struct violation){ row->opcode, row->place, fault,
							    row->access });
}

/* -- what is seen ------------------------------------------------------------------------------ */

struct verdict {
	enum ibv_wc_status status;
	unsigned vendor;
	const char *words[2]; /* of the text */
};

/*
 * A ConnectX has one detail for "out of bounds" and "without the right" (bsn_syndrome.h): measured
 * are 0x53 for a list longer than its region, and 0x33 for a READ into memory without LOCAL_WRITE.
 * For a peer's memory, only a NAK comes.
 */
static struct verdict verdict_of(enum place place, enum fault fault)
{
	const bool is_key = fault == DOMAIN || fault == OLD_KEY;
	const unsigned detail = is_key ? BSN_TPT_PD : BSN_TPT_RIGHTS;
	const char *why = is_key ? "protection domain" : "length of the region passed";

	switch (place) {
	case GATHER:
		return (struct verdict){ IBV_WC_LOC_PROT_ERR,
					 BSN_VENDOR_TPT_GATHER + detail,
					 { "to be sent", why } };
	case SCATTER:
		return (struct verdict){ IBV_WC_LOC_PROT_ERR,
					 BSN_VENDOR_TPT_DATA + detail,
					 { "READ's result", why } };
	case RECEIVE:
		return (struct verdict){ IBV_WC_LOC_PROT_ERR,
					 BSN_VENDOR_TPT_RECV + detail,
					 { "receive buffer", why } };
	default:
		return (struct verdict){ IBV_WC_REM_ACCESS_ERR,
					 BSN_VENDOR_REMOTE_ACCESS_NAK,
					 { "the responder refused", "rights" } };
	}
}

/* Checks the first error of the QP, and the completion that told it. */
static void expect_verdict(struct bench *b, int end, uint64_t id, unsigned opcode,
			   const struct verdict *wanted)
{
	const struct bsn_completion c = expect_status(b, b->cq[end], id, opcode, wanted->status);

	if (!b->is_model)
		return;
	assert_int_equal(c.vendor_syndrome, wanted->vendor);
	const struct bsn_qp_error error = bench_error(b, end);
	for (int i = 0; i < 2; i++)
		if (!strstr(error.text, wanted->words[i]))
			fail_msg("'%s' does not say '%s'", error.text, wanted->words[i]);
}

/* -- the request ------------------------------------------------------------------------------- */

struct region {
	uint8_t *pages;
	struct bsn_pd *pd; /* NULL: the device's own */
	struct bsn_mr *mr; /* NULL: it is gone */
	struct {
		struct ibv_pd *pd; /* NULL: its QPs' */
		struct ibv_mr *mr;
	} app; /* in place of both, where the QPs are an application's */
	uint64_t addr;
	uint32_t lkey, rkey;
};

static void register_by_app(struct bench *b, const struct violation *v, struct region *r)
{
	const int access = v->access ? v->access : ALL;

	if (v->fault == DOMAIN)
		r->app.pd = ibv_alloc_pd(bench_info(b)->verbs);
	r->app.mr = ibv_reg_mr(r->app.pd ? r->app.pd : b->app.pd, r->pages + AT, PAGE, access);
	assert_non_null(r->app.mr);
	r->lkey = r->app.mr->lkey;
	r->rkey = r->app.mr->rkey;
}

static void register_by_us(struct bench *b, const struct violation *v, struct region *r)
{
	struct bsn_mr_attr attr = { .access = v->access };

	if (v->fault == DOMAIN)
		ok(bsn_pd_create(b->device, &r->pd));
	attr.pd = r->pd;
	ok(bsn_mr_register(b->device, r->pages + AT, PAGE, &attr, &r->mr));
	r->lkey = r->mr->lkey;
	r->rkey = r->mr->rkey;
}

static void deregister(struct region *r)
{
	ok(bsn_mr_deregister(r->mr));
	if (r->app.mr)
		ok(-ibv_dereg_mr(r->app.mr));
	r->mr = NULL;
	r->app.mr = NULL;
}

/* Makes a region of the bytes AT to AT + PAGE of the pages, with the fault of the violation. */
static struct region make_region(struct bench *b, const struct violation *v)
{
	struct region r = { 0 };

	r.pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);
	assert_ptr_not_equal(r.pages, MAP_FAILED);
	memset(r.pages, QUIET, PAGES * PAGE);
	if (bench_is_attached(b))
		register_by_app(b, v, &r);
	else
		register_by_us(b, v, &r);
	r.addr = (uintptr_t)r.pages + AT;
	if (v->fault == BEFORE)
		r.addr--;
	if (v->fault == AFTER)
		r.addr += PAGE - LENGTH + 1;
	if (v->opcode == BSN_OPCODE_ATOMIC_FA)
		r.addr += ATOMIC_AT - AT;
	if (v->fault == OLD_KEY)
		deregister(&r);
	return r;
}

static void destroy_region(struct region *r)
{
	deregister(r);
	if (r->pd)
		ok(bsn_pd_destroy(r->pd));
	if (r->app.pd)
		ok(-ibv_dealloc_pd(r->app.pd));
	munmap(r->pages, PAGES * PAGE);
}

static void request(struct bench *b, const struct violation *v, const struct region *r)
{
	const uint32_t length = v->opcode == BSN_OPCODE_ATOMIC_FA ? 8 : LENGTH;
	const struct bsn_sge spoiled = { r->addr, length, r->lkey };
	const struct bsn_wr wr = {
		.id = 1,
		.opcode = v->opcode,
		.sge = v->place == GATHER || v->place == SCATTER ? &spoiled : SGE(b, 0, 0, length),
		.sge_count = 1,
		.remote = v->place == REMOTE ? (struct bsn_remote){ r->addr, r->rkey }
					     : bench_remote(b, 1, 0),
		.swap_add = 1,
		.flags = NOW
	};

	if (v->place == RECEIVE)
		ok(bsn_recv(b->rq[1], &spoiled, 2));
	ok(bsn_post(b->ep[0], &wr));
}

/* -- what must not happen ---------------------------------------------------------------------- */

/* Both ends' memory, and all around the region. */
struct snapshot {
	uint8_t *ends[2], *pages;
};

static struct snapshot look_at(struct bench *b, const struct region *r)
{
	struct snapshot seen;

	for (int end = 0; end < 2; end++) {
		seen.ends[end] = malloc(BENCH_BYTES);
		assert_non_null(seen.ends[end]);
		memcpy(seen.ends[end], bench_at(b, end, 0), BENCH_BYTES);
	}
	seen.pages = malloc(PAGES * PAGE);
	assert_non_null(seen.pages);
	memcpy(seen.pages, r->pages, PAGES * PAGE);
	return seen;
}

static void nothing_has_moved(struct bench *b, const struct region *r, struct snapshot *seen)
{
	for (int end = 0; end < 2; end++) {
		assert_memory_equal(bench_at(b, end, 0), seen->ends[end], BENCH_BYTES);
		free(seen->ends[end]);
	}
	assert_memory_equal(r->pages, seen->pages, PAGES * PAGE);
	free(seen->pages);
}

static void start_again(struct bench *b)
{
	for (int end = 0; end < 2; end++)
		assert_int_equal(bench_outstanding(b, end).sends, 0);
	bench_start_again(b);
}

/* -- regions ----------------------------------------------------------------------------------- */

static void try_violation(struct bench *b, const struct violation *v)
{
	static const struct verdict sender = { IBV_WC_REM_OP_ERR,
					       BSN_VENDOR_REMOTE_OPERATION_NAK,
					       { "the responder", "failed by itself" } };
	const struct verdict wanted = verdict_of(v->place, v->fault);
	struct region r = make_region(b, v);
	struct snapshot seen = look_at(b, &r);

	request(b, v, &r);
	expect_verdict(b, 0, 1, v->opcode, v->place == RECEIVE ? &sender : &wanted);
	if (v->place == RECEIVE)
		expect_verdict(b, 1, 2, BSN_RECV, &wanted);
	nothing_has_moved(b, &r, &seen);
	start_again(b);
	destroy_region(&r);
}

static void a_region_gives_what_it_allows(struct bench *b)
{
	try_all(b, of_regions, COUNT(of_regions), try_violation);
}

/* -- windows ----------------------------------------------------------------------------------- */

static const struct violations of_windows[] = {
	{ BSN_OPCODE_RDMA_WRITE, REMOTE, ENDS | BIT(OLD_KEY), IBV_ACCESS_REMOTE_WRITE },
	{ BSN_OPCODE_RDMA_WRITE, REMOTE, BIT(RIGHT), IBV_ACCESS_REMOTE_READ },
	{ BSN_OPCODE_RDMA_READ, REMOTE, ENDS | BIT(OLD_KEY), IBV_ACCESS_REMOTE_READ },
	{ BSN_OPCODE_RDMA_READ, REMOTE, BIT(RIGHT), IBV_ACCESS_REMOTE_WRITE },
};

enum { PART_AT = 1024, PART_BYTES = 1024 };

/* A window over a part of a region; as regions, it is ours or the application's. */
struct window {
	struct bsn_window *ours;
	struct {
		struct ibv_cq *cq;
		struct ibv_qp *qp; /* to bind the window on: Bunsen has the other two QPs */
		struct ibv_mw *mw;
	} app;
	uint32_t rkey;
};

static void bind_by_us(struct bench *b, const struct violation *v, const struct region *r,
		       struct window *w)
{
	const struct bsn_sge part = { r->addr + PART_AT, PART_BYTES, r->lkey };

	ok(bsn_window_create(b->device, NULL, &w->ours));
	ok(bsn_window_bind(b->ep[1], w->ours, &part, v->access, 3, NOW));
	expect_done(b, b->cq[1], 3, BSN_OPCODE_UMR);
	w->rkey = w->ours->rkey;
	if (v->fault == OLD_KEY) {
		ok(bsn_window_invalidate(b->ep[1], w->ours, 4, NOW));
		expect_done(b, b->cq[1], 4, BSN_OPCODE_UMR);
	}
}

/* Makes a QP that is connected to itself. */
static void make_qp_by_app(struct bench *b, struct window *w)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = bench_info(b)->port };
	struct ibv_qp_init_attr init = { .cap = { .max_send_wr = 4, .max_send_sge = 1 },
					 .qp_type = IBV_QPT_RC };

	w->app.cq = ibv_create_cq(bench_info(b)->verbs, 4, NULL, NULL, 0);
	assert_non_null(w->app.cq);
	init.send_cq = init.recv_cq = w->app.cq;
	w->app.qp = ibv_create_qp(b->app.pd, &init);
	assert_non_null(w->app.qp);
	ok(-ibv_modify_qp(w->app.qp, &attr,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR,
				     .path_mtu = IBV_MTU_1024,
				     .dest_qp_num = w->app.qp->qp_num,
				     .min_rnr_timer = 12,
				     .ah_attr = bench_way_to_self(b) };
	ok(-ibv_modify_qp(w->app.qp, &attr,
			  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				  IBV_QP_MIN_RNR_TIMER));
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7 };
	ok(-ibv_modify_qp(w->app.qp, &attr,
			  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

/* Binds a window; if it has no bytes, the window is taken back. */
static void bind_once(struct bench *b, const struct region *r, struct window *w, int access,
		      uint64_t length)
{
	struct ibv_mw_bind bind = { .wr_id = 3,
				    .send_flags = IBV_SEND_SIGNALED,
				    .bind_info = { .mr = r->app.mr,
						   .addr = r->addr + PART_AT,
						   .length = length,
						   .mw_access_flags = (unsigned)access } };
	struct ibv_wc wc;

	ok(-ibv_bind_mw(w->app.qp, w->app.mw, &bind));
	assert_int_equal(bench_reap_verbs(b, w->app.cq, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
}

static void bind_by_app(struct bench *b, const struct violation *v, const struct region *r,
			struct window *w)
{
	make_qp_by_app(b, w);
	w->app.mw = ibv_alloc_mw(b->app.pd, IBV_MW_TYPE_1);
	assert_non_null(w->app.mw);
	bind_once(b, r, w, v->access, PART_BYTES);
	w->rkey = w->app.mw->rkey;
	if (v->fault == OLD_KEY)
		bind_once(b, r, w, v->access, 0);
}

static void destroy_window(struct window *w)
{
	ok(bsn_window_destroy(w->ours));
	if (!w->app.mw)
		return;
	ok(-ibv_dealloc_mw(w->app.mw));
	ok(-ibv_destroy_qp(w->app.qp));
	ok(-ibv_destroy_cq(w->app.cq));
}

/* A window of end 1 over a part of the region, which itself gives every right. */
static void try_window(struct bench *b, const struct violation *v)
{
	static const struct violation sound = { BSN_OPCODE_RDMA_WRITE, REMOTE, RIGHT,
						IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND };
	const struct verdict wanted = verdict_of(REMOTE, v->fault);
	struct region r = make_region(b, &sound);
	struct window window = { 0 };

	(bench_is_attached(b) ? bind_by_app : bind_by_us)(b, v, &r, &window);
	r.rkey = window.rkey;
	r.addr += PART_AT;
	if (v->fault == BEFORE)
		r.addr--;
	if (v->fault == AFTER)
		r.addr += PART_BYTES - LENGTH + 1;
	struct snapshot seen = look_at(b, &r);
	request(b, v, &r);
	expect_verdict(b, 0, 1, v->opcode, &wanted);
	nothing_has_moved(b, &r, &seen);
	destroy_window(&window);
	start_again(b);
	destroy_region(&r);
}

static void a_window_gives_what_it_allows(struct bench *b)
{
	struct bsn_window *window;

	if (b->kind == BENCH_VERBS) {
		assert_int_equal(bsn_window_create(b->device, NULL, &window), -EOPNOTSUPP);
		return;
	}
	try_all(b, of_windows, COUNT(of_windows), try_window);
}

#define OTHER_ERRORS "soft-RoCE has errors of its own, which errors.c lists"

static const struct bench_case cases[] = {
	{ CASE(a_region_gives_what_it_allows), .rxe_lacks = OTHER_ERRORS },
	{ CASE(a_window_gives_what_it_allows), .rxe_lacks = OTHER_ERRORS },
};

BENCH_MAIN("access")
