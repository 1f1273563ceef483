/* SPDX-License-Identifier: BSD-2-Clause */
/* What the objects beside QPs refuse: of DC, XRC, mkeys, windows, device memory, messages. */
#include "bad_input_rig.h"
#include "bsn_dc.h"
#include "bsn_extended.h"
#include "bsn_mcast.h"
#include "bsn_mem.h"
#include "bsn_mr_cache.h"
#include "bsn_msg.h"
#include "bsn_xrc.h"

/* -- NULL -------------------------------------------------------------------------------------- */

static void nothing_given(struct bench *b)
{
	struct bsn_device *d = b->device;
	const struct bsn_address address = { { 0 } };

	REFUSED(EINVAL, "no device", bsn_mkey_pool, bsn_mkey_pool_create(NULL, NULL, out));
	REFUSED(EINVAL, "no pool", bsn_mkey, bsn_mkey_take(NULL, out));
	REFUSED(EINVAL, "no device", bsn_window, bsn_window_create(NULL, NULL, out));
	REFUSED(EINVAL, "no device", bsn_dm, bsn_dm_alloc(NULL, 64, 0, out));
	REFUSED(EINVAL, "no length", bsn_dm, bsn_dm_alloc(d, 0, 0, out));
	REFUSED(EINVAL, "no memory", bsn_mr, bsn_mr_register_dm(NULL, 0, 1, NULL, out));
	REFUSED(EINVAL, "no device", bsn_mr, bsn_mr_register_null(NULL, NULL, out));
	REFUSED(EINVAL, "no device", bsn_mr, bsn_mr_register_dmabuf(NULL, 0, 0, 1, NULL, out));
	REFUSED(EINVAL, "no length", bsn_mr, bsn_mr_register_dmabuf(d, 0, 0, 0, NULL, out));
	REFUSED(EINVAL, "no device", bsn_xrcd, bsn_xrcd_open(NULL, -1, out));
	REFUSED(EINVAL, "no XRC domain", bsn_xrc_target, bsn_xrc_target_create(NULL, out));
	REFUSED(EINVAL, "no QP", bsn_ep, bsn_xrc_ep_create(NULL, 1, NULL, out));
	REFUSED(EINVAL, "no device", bsn_dct, bsn_dct_create(NULL, NULL, out));
	REFUSED(EINVAL, "no device", bsn_dc_pool, bsn_dc_pool_create(NULL, NULL, out));
	REFUSED(EINVAL, "no pool", bsn_ep, bsn_dc_peer_create(NULL, &address, NULL, NULL, out));
	REFUSED(EINVAL, "no device", bsn_msg_inbox, bsn_msg_inbox_create(NULL, NULL, out));
	REFUSED(EINVAL, "no inbox", bsn_msg_line, bsn_msg_line_create(NULL, b->qp[0], NULL, out));
	REFUSED(EINVAL, "no device", bsn_mr_cache, bsn_mr_cache_create(NULL, NULL, out));
}

static void no_place_given(struct bench *b)
{
	struct bsn_device *d = b->device;

	fails(EINVAL, "no place", bsn_mkey_pool_create(d, NULL, NULL));
	fails(EINVAL, "no place", bsn_window_create(d, NULL, NULL));
	fails(EINVAL, "no place", bsn_dm_alloc(d, 64, 0, NULL));
	fails(EINVAL, "no place", bsn_mr_register_null(d, NULL, NULL));
	fails(EINVAL, "no place", bsn_mr_register_dmabuf(d, 0, 0, 1, NULL, NULL));
	fails(EINVAL, "no place", bsn_xrcd_open(d, -1, NULL));
	fails(EINVAL, "no place", bsn_xrc_ep_create(b->qp[0], 1, NULL, NULL));
	fails(EINVAL, "no place", bsn_dct_create(d, NULL, NULL));
	fails(EINVAL, "no place", bsn_dc_pool_create(d, NULL, NULL));
	fails(EINVAL, "no place", bsn_msg_inbox_create(d, NULL, NULL));
	fails(EINVAL, "no place", bsn_mr_cache_create(d, NULL, NULL));
}

static void no_object_given(struct bench *b)
{
	const struct bsn_sge sge = { .length = 8 };
	const struct bsn_remote to = { 0 };
	struct bsn_msg_address line;
	struct bsn_address address;
	struct bsn_dc_counters counters;
	struct bsn_completion c;

	fails(EINVAL, "no QP", bsn_qp_init(NULL));
	fails(EINVAL, "no QP", bsn_qp_ready_to_receive(NULL, &address, NULL));
	fails(EINVAL, "no QP", bsn_qp_ready_to_send(NULL, NULL));
	fails(EINVAL, "no CQ", bsn_wait(NULL, &c, 1, NULL));
	fails(EINVAL, "no endpoint",
	      bsn_masked_cmp_swap(NULL, &sge, &to, &(struct bsn_masked_cs){ 0 }, 8, 1, BSN_F_RING));
	fails(EINVAL, "no endpoint", bsn_mkey_invalidate(NULL, NULL, 1, 0));
	fails(EINVAL, "no endpoint", bsn_window_bind(NULL, NULL, &sge, 0, 1, 0));
	fails(EINVAL, "no mkey", bsn_mkey_invalidate(b->ep[0], NULL, 1, 0));
	fails(EINVAL, "no window", bsn_window_bind(b->ep[0], NULL, &sge, 0, 1, 0));
	fails(EINVAL, "no device", bsn_invalidated(NULL, 1));
	fails(EINVAL, "no pool", bsn_dc_pool_counters(NULL, &counters));
	fails(EINVAL, "no pool", bsn_dc_pool_repair(NULL));
	fails(EINVAL, "no peer", bsn_dc_peer_reset(NULL));
	fails(EINVAL, "no XRC target", bsn_xrc_target_address(NULL, &address));
	fails(EINVAL, "no XRC target", bsn_xrc_target_connect(NULL, &address, NULL));
	fails(EINVAL, "no line", bsn_msg_line_address(NULL, &line));
	fails(EINVAL, "no line", bsn_msg_line_connect(NULL, &line));
}

/* -- what belongs together --------------------------------------------------------------------- */

static void objects_of_another_device(struct bench *b)
{
	struct foreign f = open_foreign(b);
	struct bsn_msg_inbox *inbox;

	REFUSED(EINVAL, "domain is of another device", bsn_mkey_pool,
		bsn_mkey_pool_create(b->device, &(struct bsn_mkey_pool_attr){ .pd = f.pd }, out));
	REFUSED(EINVAL, "domain is of another device", bsn_mr_cache,
		bsn_mr_cache_create(b->device, &(struct bsn_mr_cache_attr){ .pd = f.pd }, out));
	REFUSED(EINVAL, "domain is of another device", bsn_msg_inbox,
		bsn_msg_inbox_create(b->device, &(struct bsn_msg_inbox_attr){ .pd = f.pd }, out));
	REFUSED(EINVAL, "domain is of another device", bsn_window,
		bsn_window_create(b->device, &(struct bsn_window_attr){ .pd = f.pd }, out));
	REFUSED(EINVAL, "CQ is of another device", bsn_dc_pool,
		bsn_dc_pool_create(b->device, &(struct bsn_dc_pool_attr){ .cq = f.cq }, out));
	ok(bsn_msg_inbox_create(b->device, NULL, &inbox));
	REFUSED(EINVAL, "QP is of another device", bsn_msg_line,
		bsn_msg_line_create(inbox, f.qp, NULL, out));
	ok(bsn_msg_inbox_destroy(inbox));
}

static void what_a_dct_is_made_of(struct bench *b)
{
#define BAD(word, ...)                                                                             \
	REFUSED(EINVAL, word, bsn_dct,                                                             \
		bsn_dct_create(b->device, &(struct bsn_dct_attr){ __VA_ARGS__ }, out))
	struct foreign f = open_foreign(b);
	struct bsn_srq_attr of_xrc = { .cq = b->cq[1] };
	struct bsn_rq *srq = bench_srq(b, NULL), *xrc_srq;
	struct bsn_cq *cq = b->cq[0];

	ok(bsn_xrcd_open(b->device, -1, &of_xrc.xrcd));
	undo_later(b, bsn_xrcd_close, of_xrc.xrcd);
	xrc_srq = bench_srq(b, &of_xrc);
	BAD("needs a CQ", .srq = srq);
	BAD("an SRQ for its receives", .cq = cq);
	BAD("not an SRQ", .cq = cq, .srq = b->rq[0]);
	BAD("of another device", .cq = f.cq, .srq = srq);
	BAD("of another device", .cq = cq, .srq = f.srq);
	BAD("needs an SRQ without one", .cq = cq, .srq = xrc_srq);
	BAD("domain is of another device", .cq = cq, .srq = srq, .pd = f.pd);
#undef BAD
}

static void what_an_srq_of_xrc_completes_on(struct bench *b)
{
#define BAD(error, word, ...)                                                                      \
	REFUSED(error, word, bsn_rq,                                                               \
		bsn_srq_create(b->device, &(struct bsn_srq_attr){ __VA_ARGS__ }, out))
	struct foreign f = open_foreign(b);
	struct bsn_xrcd *xrcd;

	ok(bsn_xrcd_open(b->device, -1, &xrcd));
	BAD(EINVAL, "only an SRQ of XRC has a CQ", .cq = b->cq[0]);
	BAD(EINVAL, "completes on a CQ of its own", .xrcd = xrcd);
	BAD(EINVAL, "CQ is of another device", .xrcd = xrcd, .cq = f.cq);
	ok(bsn_xrcd_close(xrcd));
	ok(bsn_xrcd_open(f.device, -1, &xrcd));
	BAD(EINVAL, "XRC domain is of another device", .xrcd = xrcd, .cq = b->cq[0]);
	ok(bsn_xrcd_close(xrcd));
#undef BAD
}

/* Completions of an SRQ's receives may outlive their queue, and nobody counts them there. */
static void a_cq_that_ignores_overruns(struct bench *b)
{
	struct bsn_srq_attr attr = { 0 };

	attr.cq = new_cq(b, .ignores_overrun = true);
	ok(bsn_xrcd_open(b->device, -1, &attr.xrcd));
	REFUSED(EOPNOTSUPP, "without ignores_overrun", bsn_rq,
		bsn_srq_create(b->device, &attr, out));
	ok(bsn_xrcd_close(attr.xrcd));
}

static void endpoints_of_other_transports(struct bench *b)
{
	struct bsn_address peer;

	ok(bsn_qp_address(b->qp[1], &peer));
	REFUSED(EINVAL, "only the endpoint bsn_qp_ep()", bsn_ep,
		bsn_ep_create(b->qp[0], &peer, NULL, NULL, out));
	REFUSED(EINVAL, "the QP is RC", bsn_ep, bsn_xrc_ep_create(b->qp[0], 1, NULL, out));
}

/* -- sizes ------------------------------------------------------------------------------------- */

static void sizes_of_pools(struct bench *b)
{
#define BAD(word, ...)                                                                             \
	REFUSED(EINVAL, word, bsn_mkey_pool,                                                       \
		bsn_mkey_pool_create(b->device, &(struct bsn_mkey_pool_attr){ __VA_ARGS__ }, out))
	BAD("count is 4294967295", .count = UINT32_MAX);
	BAD("a power of two", .page_bytes = 4095);
	BAD("a power of two", .page_bytes = 1);
#undef BAD
}

/* The device has so many blocks: as many short requests, or fewer long ones. */
static void long_requests_in_a_deep_queue(struct bench *b)
{
	const struct bsn_qp_attr attr = { .cq = b->cq[0],
					  .send_depth = bench_info(b)->max_send_wr,
					  .max_inline = 512 };

	REFUSED(EINVAL, "512 bytes inline) take ", bsn_qp, bsn_qp_create(b->device, &attr, out));
}

static void sizes_of_streams(struct bench *b)
{
	const struct bsn_dc_pool_attr attr = { .streams = 2,
					       .send_depth = bench_info(b)->max_send_wr };

	REFUSED(EINVAL, "of 2 streams together", bsn_dc_pool,
		bsn_dc_pool_create(b->device, &attr, out));
}

static void windows_of_no_bytes(struct bench *b)
{
	const struct bsn_sge none = { .addr = b->mem[0]->addr, .lkey = b->mem[0]->lkey };
	struct bsn_window *window;

	ok(bsn_window_create(b->device, NULL, &window));
	fails(EINVAL, "one byte at least", bsn_window_bind(b->ep[0], window, &none, 0, 1, 0));
	fails(EINVAL, "one byte at least", bsn_window_bind(b->ep[0], window, NULL, 0, 1, 0));
	ok(bsn_window_destroy(window));
}

static void more_than_a_prefetch_takes(struct bench *b)
{
	static const struct bsn_sge sges[65];

	fails(EINVAL, "takes 64 at most", bsn_mr_prefetch(b->device, NULL, sges, 65, 0));
}

/* What libibverbs takes for all memory of the process. */
static void implicit_regions(struct bench *b)
{
	REFUSED(EINVAL, "must be on demand", bsn_mr,
		bsn_mr_register(b->device, NULL, SIZE_MAX, NULL, out));
	REFUSED(EINVAL, "has no IOVA", bsn_mr,
		bsn_mr_register(b->device, NULL, SIZE_MAX,
				&(struct bsn_mr_attr){ .is_on_demand = true, .has_iova = true },
				out));
}

static void changes_to_an_iova(struct bench *b)
{
	const struct bsn_mr_attr attr = { .has_iova = true };
	struct bsn_mr *mr = bench_mr(b, bench_at(b, 0, 0), 4096, NULL);

	fails(EOPNOTSUPP, "cannot change a region with an IOVA",
	      bsn_mr_change(mr, BSN_MR_CHANGE_MEMORY, bench_at(b, 0, 4096), 4096, &attr));
}

/* The data of a layout lie where it says, not in the WQE. */
static void inline_data_of_a_map(struct bench *b)
{
	const struct bsn_part part = { .addr = b->mem[0]->addr,
				       .bytes = 8,
				       .lkey = b->mem[0]->lkey };
	struct bsn_wr wr = { .opcode = BSN_OPCODE_RDMA_WRITE, .flags = BSN_F_INLINE };
	struct bsn_mkey_pool *pool;
	struct bsn_layout *layout;

	ok(bsn_mkey_pool_create(b->device, NULL, &pool));
	ok(bsn_layout_create(pool, &(struct bsn_layout_attr){ &part, 1, 1 }, &layout));
	ok(bsn_layout_map(layout, b->ep[0], 0, &wr.map));
	fails(EINVAL, "map cannot be inline", bsn_post(b->ep[0], &wr));
	bsn_layout_unmap(wr.map);
	ok(bsn_layout_destroy(layout));
	ok(bsn_mkey_pool_destroy(pool));
}

static const struct bench_case cases[] = {
	{ CASE(nothing_given), OWN },
	{ CASE(no_place_given), OWN },
	{ CASE(no_object_given), OWN },
	{ CASE(objects_of_another_device), OWN },
	{ CASE(what_a_dct_is_made_of), OWN, MODEL },
	{ CASE(what_an_srq_of_xrc_completes_on), OWN, MODEL },
	{ CASE(a_cq_that_ignores_overruns), OWN, DIRECT, MODEL },
	{ CASE(endpoints_of_other_transports), OWN },
	{ CASE(sizes_of_pools), OWN },
	{ CASE(long_requests_in_a_deep_queue), OWN, DIRECT },
	{ CASE(sizes_of_streams), OWN, DIRECT, MODEL },
	{ CASE(windows_of_no_bytes), OWN, DIRECT },
	{ CASE(more_than_a_prefetch_takes), OWN },
	{ CASE(implicit_regions), OWN, MODEL },
	{ CASE(changes_to_an_iova), OWN },
	{ CASE(inline_data_of_a_map), OWN },
};

BENCH_MAIN("bad_input_objects")
