/* SPDX-License-Identifier: BSD-2-Clause */
/* What layouts are used for: requests, long tables, long parts, windows. */
#include "layouts_rig.h"

/* -- uses -------------------------------------------------------------------------------------- */

/* A receive is scattered, a prepared request gathered, as often as it is posted. */
static void receives_and_prepared_requests_take_maps(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 2, 16);
	const struct bsn_part part[2] = { column(b, 0), column(b, 1) };
	const struct bsn_layout_attr layout = layout_of(part, 2, has_mkeys(b) ? 16 : 2);
	const uint32_t bytes = 16 * layout.rounds;
	struct bsn_prepared prepared;
	const struct bsn_map *map;

	ok(try_map(b, pool, layout, has_mkeys(b) ? BSN_MAP_KEY : 0, &map));
	complete_all(b); /* receives do not wait for the send queue */
	fill_flat(b, 3);
	ok(bsn_recv_sgl(b->rq[0], map->sge, map->sge_count, 5));
	ok(bsn_send(b->ep[1], SGE(b, 1, FLAT, bytes), 6, NOW));
	expect_done(b, b->cq[1], 6, BSN_OPCODE_SEND);
	assert_int_equal(expect_done(b, b->cq[0], 5, BSN_RECV).byte_len, bytes);
	assert_columns(b, 2, layout.rounds);
	struct bsn_wr wr = { .opcode = BSN_OPCODE_RDMA_WRITE,
			     .sge = map->sge,
			     .sge_count = map->sge_count,
			     .remote = bench_remote(b, 1, FLAT) };
	ok(bsn_prepare(b->ep[0], &wr, &prepared));
	for (unsigned round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < layout.rounds; i++)
			memset(bench_at(b, 0, 256 * i), (int)(round * 16 + i), 16);
		ok(bsn_post_prepared(b->ep[0], &prepared, round, NOW));
		expect_done(b, b->cq[0], round, BSN_OPCODE_RDMA_WRITE);
		assert_columns(b, 2, layout.rounds);
	}
	drop(map);
}

enum { PAGE = 512, PAGES = 70 };

static void use_pages(struct bench *b, struct bsn_mkey_pool *pool, const struct bsn_part *part,
		      uint32_t count)
{
	const struct bsn_layout_attr layout = { .parts = part, .part_count = count };
	const struct bsn_map *map;

	memset(bench_at(b, 1, 0), 0, (size_t)PAGE * count);
	ok(try_map(b, pool, layout, BSN_MAP_KEY, &map));
	assert_int_equal(map->length, PAGE * count);
	gather_to(b, map, 0);
	for (uint32_t i = 0; i < count; i++)
		assert_memory_equal(bench_at(b, 1, PAGE * i), (void *)(uintptr_t)part[i].addr,
				    PAGE);
	fill_flat(b, count);
	write_by_peer(b, map->mkey->rkey, PAGE + 100, IBV_WC_SUCCESS);
	assert_memory_equal(bench_at(b, 1, FLAT), (void *)(uintptr_t)part[0].addr, PAGE);
	assert_memory_equal(bench_at(b, 1, FLAT + PAGE), (void *)(uintptr_t)part[1].addr, 100);
	drop(map);
}

/* Few, and more of them than one WQE holds: pages in reverse. */
static void pages_of_one_size(struct bench *b)
{
	struct bsn_mkey_pool *pool =
		new_mkey_pool(b, .count = 2, .max_translations = PAGES, .page_bytes = PAGE);
	struct bsn_part part[PAGES];

	for (uint32_t count = 3; count <= PAGES; count += PAGES - 3) {
		for (uint32_t i = 0; i < count; i++)
			part[i] = (struct bsn_part){ .addr = b->mem[0]->addr + 2 +
							     (count - 1 - i) * (PAGE + 8),
						     .bytes = PAGE,
						     .lkey = b->mem[0]->lkey };
		use_pages(b, pool, part, count);
		part[0].addr += 8;
		use_pages(b, pool, part, count);
	}
	part[1].bytes--;
	refused(b, pool, EINVAL, "page_bytes", layout_of(part, 5, 0));
	part[1].bytes++;
	part[0].stride = PAGE;
	refused(b, pool, EINVAL, "page_bytes", layout_of(part, 1, 5));
}

/* -- tables longer than one WQE can point to --------------------------------------------------- */

enum { LONG_TABLE = 65536, CHUNKS_BB = 2 * 3 };

static struct bsn_layout *long_list(struct bsn_mkey_pool *pool, const struct bsn_mr *mr)
{
	struct bsn_part *part = calloc(LONG_TABLE, sizeof(*part));

	assert_non_null(part);
	for (uint32_t i = 0; i < LONG_TABLE; i++)
		part[i] =
			(struct bsn_part){ .addr = mr->addr + 2 * i, .bytes = 1, .lkey = mr->lkey };
	struct bsn_layout *layout = make_layout(pool, part, LONG_TABLE, 1);
	free(part);
	return layout;
}

/* All but @room blocks of the queue are taken. */
static void fill_queue(struct bench *b, uint32_t room)
{
	while (bsn_sq_outstanding_bb(b->sq[0]) < dv_sq(b->sq[0])->capacity_bb - room)
		ok(bsn_write(b->ep[0], SGE(b, 0, 0, 8), REMOTE(b, 1, 0), 1, 0));
}

static void empty_queue(struct bench *b)
{
	ok(bsn_ring(b->ep[0]));
	bench_settle(b);
	assert_int_equal(bsn_poll(b->cq[0], &(struct bsn_completion){ 0 }, 1), 0);
}

/* It comes in several UMRs, all or none; one completion is that of all, flushed or not. */
static void a_long_table_comes_in_parts(struct bench *b)
{
	struct bsn_mkey_pool *pool = new_mkey_pool(b, .count = 2, .max_translations = LONG_TABLE);
	const struct bsn_sge whole = bench_sge(b, 1, 0, LONG_TABLE), local = bench_sge(b, 0, 0, 8);
	struct bsn_mr *mr = bench_buf(b, 2 * LONG_TABLE, NULL);
	struct bsn_layout *layout = long_list(pool, mr);

	for (uint32_t i = 0; i < 2 * LONG_TABLE; i++)
		((uint8_t *)mr->data)[i] = (uint8_t)(i * 3 + i / 512);
	struct bsn_mkey *mkey = take_mkey(b, pool);
	fill_queue(b, CHUNKS_BB - 1);
	assert_int_equal(bsn_mkey_configure(b->ep[0], mkey, layout, 7, NOW), -EAGAIN);
	assert_int_equal(bsn_sq_outstanding_bb(b->sq[0]),
			 dv_sq(b->sq[0])->capacity_bb - CHUNKS_BB + 1);
	assert_int_equal(bsn_mkey_state(mkey), BSN_MKEY_FREE);
	empty_queue(b);
	span(b, mkey, layout);
	assert_int_equal(mkey->length, LONG_TABLE);
	ok(bsn_read(b->ep[1], &whole, &(struct bsn_remote){ 0, mkey->rkey }, 4, NOW));
	expect_done(b, b->cq[1], 4, BSN_OPCODE_RDMA_READ);
	for (uint32_t i = 0; i < LONG_TABLE; i++)
		assert_int_equal(*bench_at(b, 1, i), ((uint8_t *)mr->data)[2 * i]);
	ok(bsn_write(b->ep[0], &local, &(struct bsn_remote){ 0, 0 }, 5, 0));
	ok(bsn_mkey_configure(b->ep[0], mkey, layout, 6, NOW));
	expect_status(b, b->cq[0], 5, BSN_OPCODE_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
	expect_status(b, b->cq[0], 6, BSN_OPCODE_UMR, IBV_WC_WR_FLUSH_ERR);
	expect_nothing(b, b->cq[0]);
	ok(bsn_layout_destroy(layout));
}

static void a_queue_too_short_for_all_parts_takes_none(struct bench *b)
{
	struct bsn_mkey_pool *pool = new_mkey_pool(b, .count = 1, .max_translations = LONG_TABLE);
	const struct bsn_map *map;

	assert_true(dv_sq(b->sq[0])->capacity_bb < CHUNKS_BB);
	struct bsn_mr *mr = bench_buf(b, 2 * LONG_TABLE, NULL);
	struct bsn_layout *layout = long_list(pool, mr);
	fails(EMSGSIZE, "send_depth", bsn_layout_map(layout, b->ep[0], 0, &map));
	assert_int_equal(bsn_sq_outstanding_bb(b->sq[0]), 0);
	ok(bsn_layout_destroy(layout));
}

/* -- parts of more than 2^31 bytes ------------------------------------------------------------- */

#define HUGE_BYTES ((5ull << 29) + 4096)

/* The peer writes a byte each side of where a translation ends. */
static void write_around(struct bench *b, const struct bsn_mkey *mkey, uint64_t at)
{
	ok(bsn_write(b->ep[1], SGE(b, 1, FLAT, 2), &(struct bsn_remote){ at - 1, mkey->rkey }, 3,
		     NOW));
	expect_done(b, b->cq[1], 3, BSN_OPCODE_RDMA_WRITE);
}

/* No message is so long, and none is cut off. */
static void refuse_whole(struct bench *b, struct bsn_mkey_pool *pool, struct bsn_layout_attr layout)
{
	const struct bsn_wr wr = { .opcode = BSN_OPCODE_RDMA_WRITE,
				   .flags = NOW,
				   .remote = bench_remote(b, 1, 0) };
	const struct bsn_map *map;

	ok(try_map(b, pool, layout, BSN_MAP_KEY, &map));
	assert_int_equal(post_map(b->ep[0], wr, map), -EMSGSIZE);
	complete_all(b);
	drop(map);
}

/* One takes several of them: 2^31 bytes and the rest. */
static void parts_of_more_than_a_translation_carries(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 1, 4);
	uint8_t *const memory = mmap(NULL, HUGE_BYTES, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct bsn_part part[2];
	struct bsn_mkey *mkey;

	assert_ptr_not_equal(memory, MAP_FAILED);
	struct bsn_mr *mr = bench_mr(b, memory, HUGE_BYTES, NULL);
	part[0] = (struct bsn_part){ mr->addr + 4096, HUGE_BYTES - 4096, 0, mr->lkey, 0 };
	part[1] = (struct bsn_part){ mr->addr, 8, 0, mr->lkey, 0 };
	ok(bsn_mkey_take(pool, &mkey));
	configure(b, mkey, pool, layout_of(part, 2, 1));
	assert_true(mkey->length == HUGE_BYTES - 4096 + 8);
	fill_flat(b, 9);
	write_around(b, mkey, 1ull << 31);
	assert_memory_equal(memory + 4096 + (1ull << 31) - 1, bench_at(b, 1, FLAT), 2);
	write_around(b, mkey, HUGE_BYTES - 4096);
	assert_int_equal(memory[HUGE_BYTES - 1], *bench_at(b, 1, FLAT));
	assert_int_equal(memory[0], *bench_at(b, 1, FLAT + 1));
	ok(bsn_mkey_give(mkey));
	refuse_whole(b, pool, layout_of(part, 2, 1));
	assert_int_equal(munmap(memory, HUGE_BYTES), 0);
}

/* A list whose bytes need 33 bits, of two keys in turn: it is no list of pages. */
static void a_list_of_4_gib(struct bench *b)
{
	const uint64_t part_bytes = 1ull << 30, bytes = 4 * part_bytes;
	struct bsn_mkey_pool *pool = make_pool(b, 1, 16);
	uint8_t *const memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct bsn_part part[4];
	struct bsn_mr *mr[2];

	assert_ptr_not_equal(memory, MAP_FAILED);
	for (unsigned i = 0; i < 2; i++)
		mr[i] = bench_mr(b, memory, bytes, NULL);
	for (unsigned i = 0; i < 4; i++) /* the last one first */
		part[i] = (struct bsn_part){ mr[0]->addr + (3 - i) * part_bytes, part_bytes, 0,
					     mr[i % 2]->lkey, 0 };
	struct bsn_layout *layout = keep_layout(b, pool, part, 4, 1);
	struct bsn_mkey *mkey = take_mkey(b, pool);
	fill_flat(b, 9);
	for (unsigned turn = 0; turn < 2; turn++) {
		span(b, mkey, layout);
		assert_true(mkey->length == bytes);
		for (unsigned i = 1; i < 4; i++) {
			memory[(5 - i) * part_bytes - 1] = memory[(3 - i) * part_bytes] = 0;
			write_around(b, mkey, i * part_bytes);
			assert_int_equal(memory[(5 - i) * part_bytes - 1], *bench_at(b, 1, FLAT));
			assert_int_equal(memory[(3 - i) * part_bytes], *bench_at(b, 1, FLAT + 1));
		}
	}
	assert_int_equal(munmap(memory, bytes), 0);
}

/*
 * Rounds of several keys, whose parts are not of one length: the bytes of a round are those of all
 * parts.
 */
static void rounds_of_several_keys(struct bench *b)
{
	enum { PARTS = 6, ROUNDS = 5 };
	struct bsn_mkey_pool *pool = make_pool(b, 1, 16);
	struct bsn_part part[PARTS];
	struct bsn_remote remote = { 0 };
	uint32_t at, length = 0;
	struct bsn_sge sge;
	struct bsn_mr *twin = bench_mr(b, bench_at(b, 0, 0), 20000, NULL);

	for (uint32_t i = 0; i < PARTS; i++) {
		part[i] = column(b, 8 * i);
		part[i].stride = 1024;
		part[i].bytes = 8 + 7 * i;
		part[i].lkey = i % 2 ? twin->lkey : b->mem[0]->lkey;
		length += (uint32_t)part[i].bytes * ROUNDS;
	}
	for (uint32_t i = 0; i < 20000; i++)
		*bench_at(b, 0, i) = (uint8_t)(i * 167 / 13);
	struct bsn_layout *layout = keep_layout(b, pool, part, PARTS, ROUNDS);
	struct bsn_mkey *mkey = take_mkey(b, pool);
	remote = bench_remote(b, 1, FLAT);
	for (unsigned turn = 0; turn < 2; turn++) {
		span(b, mkey, layout);
		assert_int_equal(mkey->length, length);
		memset(bench_at(b, 1, FLAT), 0, length);
		sge = (struct bsn_sge){ 0, length, mkey->lkey };
		ok(bsn_write(b->ep[0], &sge, &remote, 9, NOW));
		expect_done(b, b->cq[0], 9, BSN_OPCODE_RDMA_WRITE);
		at = FLAT;
		for (uint32_t i = 0; i < PARTS * ROUNDS; at += (uint32_t)part[i++ % PARTS].bytes)
			assert_memory_equal(bench_at(b, 1, at),
					    (uint8_t *)(uintptr_t)part[i % PARTS].addr +
						    i / PARTS * 1024,
					    part[i % PARTS].bytes);
	}
}

/* -- windows ----------------------------------------------------------------------------------- */

static void write_through(struct bench *b, const struct bsn_window *window,
			  enum ibv_wc_status status)
{
	ok(bsn_write(b->ep[1], SGE(b, 1, FLAT, 64),
		     &(struct bsn_remote){ window->addr, window->rkey }, 3, NOW));
	expect_status(b, b->cq[1], 3, BSN_OPCODE_RDMA_WRITE, status);
}

static void refuse_binding(struct bench *b, struct bsn_window *window, struct bsn_sge memory,
			   int access, int error, const char *text)
{
	assert_int_equal(bsn_window_bind(b->ep[0], window, &memory, access, 5, 0), -error);
	assert_non_null(strstr(bsn_error_text(), text));
}

/* Peers may not write through a window what is only read, nor reach another domain's. */
static void refuse_read_only(struct bench *b, struct bsn_window *window)
{
	struct bsn_mr_attr attr = { .access = IBV_ACCESS_MW_BIND, .is_read_only = true };
	struct bsn_pd *pd;
	struct bsn_mr *mr;

	ok(bsn_buf_alloc(b->device, 4096, &attr, &mr));
	refuse_binding(b, window, bsn_sge_of(mr, 0, 8), IBV_ACCESS_REMOTE_WRITE, EACCES,
		       "LOCAL_WRITE");
	ok(bsn_buf_free(mr));
	ok(bsn_pd_create(b->device, &pd));
	attr.pd = pd;
	ok(bsn_buf_alloc(b->device, 4096, &attr, &mr));
	refuse_binding(b, window, bsn_sge_of(mr, 0, 8), IBV_ACCESS_REMOTE_READ, EACCES, "domain");
	ok(bsn_buf_free(mr));
	ok(bsn_pd_destroy(pd));
}

static void windows_open_and_close(struct bench *b)
{
	const struct bsn_mr_attr attr = { .access = IBV_ACCESS_MW_BIND | IBV_ACCESS_LOCAL_WRITE |
						    IBV_ACCESS_REMOTE_WRITE };
	struct bsn_window *window;
	uint32_t old;

	if (!has_mkeys(b)) {
		assert_int_equal(bsn_window_create(b->device, NULL, &window), -EOPNOTSUPP);
		return;
	}
	struct bsn_mr *mr = bench_buf(b, 4096, &attr);
	ok(bsn_window_create(b->device, NULL, &window));
	struct bsn_sge sge = bsn_sge_of(mr, 128, 64);
	assert_int_equal(bsn_window_bind(b->ep[0], window, &sge, IBV_ACCESS_LOCAL_WRITE, 5, 0),
			 -EINVAL);
	assert_int_equal(bsn_window_invalidate(b->ep[0], window, 5, 0), -EINVAL);
	assert_int_equal(bsn_window_bind(b->ep[0], window,
					 &(struct bsn_sge){ mr->addr, (1u << 31) + 1, mr->lkey },
					 IBV_ACCESS_REMOTE_WRITE, 5, 0),
			 -EMSGSIZE);
	refuse_binding(b, window, bench_sge(b, 0, 0, 8), IBV_ACCESS_REMOTE_READ, EACCES, "MW_BIND");
	refuse_binding(b, window, bsn_sge_of(mr, 4090, 7), IBV_ACCESS_REMOTE_READ, EFAULT,
		       "outside");
	refuse_read_only(b, window);
	assert_int_equal(bsn_sq_outstanding_bb(b->sq[0]), 0);
	for (int round = 0; round < 3; round++) {
		old = window->rkey;
		ok(bsn_window_bind(b->ep[0], window, &sge,
				   IBV_ACCESS_REMOTE_WRITE |
					   (round == 2 ? IBV_ACCESS_ZERO_BASED : 0),
				   5, NOW));
		expect_done(b, b->cq[0], 5, BSN_OPCODE_UMR);
		assert_int_not_equal(window->rkey, old);
		assert_int_equal(
			bsn_window_bind(b->ep[0], window, &sge, IBV_ACCESS_REMOTE_WRITE, 5, 0),
			-EBUSY);
		fails(EBUSY, "1 memory window", bsn_buf_free(mr));
		memset(bench_at(b, 1, FLAT), 0x40 + round, 64);
		write_through(b, window, IBV_WC_SUCCESS);
		assert_memory_equal((void *)(uintptr_t)sge.addr, bench_at(b, 1, FLAT), 64);
		if (round == 1) {
			send_inval(b, window->rkey, IBV_WC_SUCCESS);
			assert_int_equal(bsn_invalidated(b->device, window->rkey + 1), -ENOENT);
			ok(bsn_invalidated(b->device, window->rkey));
			continue;
		}
		ok(bsn_window_invalidate(b->ep[0], window, 6, NOW));
		expect_done(b, b->cq[0], 6, BSN_OPCODE_UMR);
	}
	write_through(b, window, IBV_WC_REM_ACCESS_ERR);
	ok(bsn_window_destroy(window));
}

/* Without an invalidation, and for every queue. */
static void windows_of_type_1_are_bound_anew(struct bench *b)
{
	const struct bsn_mr_attr attr = { .access = IBV_ACCESS_MW_BIND | IBV_ACCESS_LOCAL_WRITE };
	struct bsn_window *window;
	struct bsn_mr *mr = bench_buf(b, 4096, &attr);

	ok(bsn_window_create(b->device, &(struct bsn_window_attr){ .is_type_1 = true }, &window));
	for (unsigned round = 0; round < 3; round++) {
		const struct bsn_sge sge = { mr->addr + 64 * round, 64, mr->lkey };
		ok(bsn_window_bind(b->ep[round % 2], window, &sge, IBV_ACCESS_REMOTE_WRITE, 5,
				   NOW));
		expect_done(b, b->cq[round % 2], 5, BSN_OPCODE_UMR);
		fill_flat(b, round);
		write_through(b, window, IBV_WC_SUCCESS);
		assert_memory_equal((void *)(uintptr_t)sge.addr, bench_at(b, 1, FLAT), 64);
	}
	assert_int_equal(bsn_window_invalidate(b->ep[0], window, 5, NOW), -EOPNOTSUPP);
	ok(bsn_window_destroy(window));
}

static const struct bench_case cases[] = {
	{ CASE(receives_and_prepared_requests_take_maps),
	  .qp = { .max_send_sge = 4, .max_recv_sge = 4, .send_depth = BENCH_DEPTH }, OWN },
	{ CASE(pages_of_one_size), QUEUES, DIRECT },
	{ CASE(a_long_table_comes_in_parts), QUEUES, DIRECT },
	{ CASE(a_queue_too_short_for_all_parts_takes_none),
	  .qp = { .max_send_sge = 1, .send_depth = 4 }, OWN, DIRECT, MODEL },
	{ CASE(parts_of_more_than_a_translation_carries), QUEUES, DIRECT, MODEL },
	{ CASE(a_list_of_4_gib), QUEUES, DIRECT, MODEL },
	{ CASE(rounds_of_several_keys), QUEUES, DIRECT },
	{ CASE(windows_open_and_close), QUEUES },
	{ CASE(windows_of_type_1_are_bound_anew), QUEUES, DIRECT },
};

BENCH_MAIN("layouts_uses")
