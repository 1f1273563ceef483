/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory keys as libmlx5 makes and configures them. What moves through them is compared with a
 * copy by plain C, byte by byte.
 */
#include "fabric.h"
#include "mkeys.h"
#include "bsn_syndrome.h"

static enum ibv_wc_status set_interleaved(struct mlx5dv_mkey *mkey, uint32_t access,
					  uint32_t repeat, struct mlx5dv_mr_interleaved *entries,
					  unsigned count)
{
	begin(IBV_SEND_INLINE);
	mlx5dv_wr_mr_interleaved(b.dv, mkey, access, repeat, (uint16_t)count, entries);
	return finish();
}

/* -- random layouts ---------------------------------------------------------------------------- */

/* A layout as plain C sees it: where each of its bytes is. */
struct layout {
	uint32_t length;
	uint32_t at[MOST_LENGTH];
};

static uint64_t seed;

static uint32_t pick(uint32_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % below;
}

/* An address and key of `length` bytes: of plain memory, or of the layout beneath. */
static uint64_t pick_place(const struct layout *beneath, uint32_t length)
{
	return beneath ? pick(beneath->length - length + 1) : at(pick(LAYOUT_BYTES - length + 1));
}

static void append(struct layout *layout, const struct layout *beneath, uint64_t addr,
		   uint32_t length)
{
	for (uint32_t i = 0; i < length; i++)
		layout->at[layout->length++] =
			beneath ? beneath->at[addr + i] : (uint32_t)(addr + i - at(0));
}

static uint32_t room_in(const struct layout *layout, const struct layout *beneath)
{
	const uint32_t left = MOST_LENGTH - layout->length;

	return beneath && beneath->length < left ? beneath->length : left;
}

static void make_list(struct mlx5dv_mkey *mkey, uint32_t lkey, const struct layout *beneath,
		      struct layout *layout)
{
	const unsigned count = 1 + pick(MOST_ENTRIES);
	struct ibv_sge sges[MOST_ENTRIES];

	for (unsigned i = 0; i < count; i++) {
		const uint32_t room = room_in(layout, beneath) / 2;
		sges[i].length = i && !pick(8) ? 0 : 1 + pick(room ? room : 1);
		sges[i].lkey = lkey;
		if (layout->length + sges[i].length > MOST_LENGTH)
			sges[i].length = 0;
		sges[i].addr = pick_place(beneath, sges[i].length);
		append(layout, beneath, sges[i].addr, sges[i].length);
	}
	assert_int_equal(set_list(mkey, ACCESS, sges, count), IBV_WC_SUCCESS);
}

static void make_interleaved(struct mlx5dv_mkey *mkey, uint32_t lkey, const struct layout *beneath,
			     struct layout *layout)
{
	const uint32_t repeat = 1 + pick(8), whole = room_in(layout, beneath);
	const unsigned count = 1 + pick(whole / repeat < 6 ? 1 : 6);
	struct mlx5dv_mr_interleaved entries[6];

	for (unsigned i = 0; i < count; i++) {
		const uint32_t most = whole / repeat / count;
		const uint32_t bytes = most ? 1 + pick(most) : 1, times = most ? repeat : 1;
		const uint32_t skip =
			whole > times * bytes ? pick((whole - times * bytes) / times + 1) : 0;

		entries[i] =
			(struct mlx5dv_mr_interleaved){ pick_place(beneath, times * (bytes + skip)),
							bytes, skip, lkey };
	}
	for (uint32_t round = 0; round < (whole / repeat / count ? repeat : 1); round++)
		for (unsigned i = 0; i < count; i++)
			append(layout, beneath,
			       entries[i].addr + (uint64_t)round * (entries[i].bytes_count +
								    entries[i].bytes_skip),
			       entries[i].bytes_count);
	assert_int_equal(
		set_interleaved(mkey, ACCESS, whole / repeat / count ? repeat : 1, entries, count),
		IBV_WC_SUCCESS);
}

/* Layouts over layouts, on mkey[0] up to mkey[levels - 1]; the last one counts. */
static void make_layout(unsigned levels, struct layout *layout)
{
	struct layout beneath;

	for (unsigned i = 0; i < levels; i++) {
		const uint32_t lkey = i ? b.mkey[i - 1]->lkey : b.mr->lkey;
		beneath = *layout;
		layout->length = 0;
		if (pick(2))
			make_list(b.mkey[i], lkey, i ? &beneath : NULL, layout);
		else
			make_interleaved(b.mkey[i], lkey, i ? &beneath : NULL, layout);
	}
}

static void copy_plainly(uint8_t *memory, const struct layout *layout, uint32_t offset,
			 uint32_t length, bool gathers)
{
	for (uint32_t i = 0; i < length; i++)
		if (gathers)
			memory[LAYOUT_BYTES + i] = memory[layout->at[offset + i]];
		else
			memory[layout->at[offset + i]] = memory[LAYOUT_BYTES + i];
}

/* Moves part of the layout in each of four ways, and compares what moved and what did not. */
static void check_layout(const struct layout *layout, struct mlx5dv_mkey *mkey)
{
	static uint8_t expected[BYTES];
	const uint64_t plain = plain_at();
	const uint32_t offset = pick(layout->length);
	const uint32_t length = 1 + pick(layout->length - offset);
	enum ibv_wc_status status;

	for (unsigned way = 0; way < 4; way++) {
		memcpy(expected, b.memory, BYTES);
		copy_plainly(expected, layout, offset, length, way < 2);
		switch (way) {
		case 0:
			status = write_to(mkey->lkey, offset, b.mr->rkey, plain, length);
			break;
		case 1:
			status = read_from(mkey->rkey, offset, b.mr->lkey, plain, length);
			break;
		case 2:
			status = write_to(b.mr->lkey, plain, mkey->rkey, offset, length);
			break;
		default:
			status = read_from(b.mr->rkey, plain, mkey->lkey, offset, length);
		}
		assert_int_equal(status, IBV_WC_SUCCESS);
		assert_memory_equal(b.memory, expected, BYTES);
		for (unsigned i = 0; i < PLAIN_BYTES; i++)
			b.plain[i] = (uint8_t)pick(256);
	}
}

static void random_layouts_move_what_plain_c_moves(void **state)
{
	enum { ROUNDS = 2000 };
	static struct layout layout;
	const char *given = getenv("BSN_SEED");

	seed = given ? strtoull(given, NULL, 0) : 20260101;
	printf("# BSN_SEED=%llu\n", (unsigned long long)seed);
	for (unsigned round = 0; round < ROUNDS; round++) {
		const unsigned levels = 1 + pick(3);
		layout.length = 0;
		make_layout(levels, &layout);
		check_layout(&layout, b.mkey[levels - 1]);
	}
}

/* -- forms of UMR ------------------------------------------------------------------------------ */

static void configuring_by_setters_is_the_same(void **state)
{
	const struct ibv_sge sges[2] = { { at(100), 10, b.mr->lkey }, { at(10), 20, b.mr->lkey } };

	begin(IBV_SEND_INLINE);
	mlx5dv_wr_mkey_configure(b.dv, b.mkey[0], 2, &(struct mlx5dv_mkey_conf_attr){ 0 });
	mlx5dv_wr_set_mkey_access_flags(b.dv, ACCESS);
	mlx5dv_wr_set_mkey_layout_list(b.dv, 2, sges);
	assert_int_equal(finish(), IBV_WC_SUCCESS);
	must_write(b.mkey[0]->lkey, 0, b.mr->rkey, plain_at(), 30);
	assert_memory_equal(b.plain, b.memory + 100, 10);
	assert_memory_equal(b.plain + 10, b.memory + 10, 20);
}

/* More translations than a WQE holds, in chunks of any size. */
static void translations_by_pointer_come_in_chunks(void **state)
{
	enum { PIECE = 7 };
	uint8_t *list = b.plain; /* registered */

	for (unsigned i = 0; i < ROOM; i++) {
		ENCODE(klm, list + (size_t)i * BSN_KLM_SIZE, PIECE, b.mr->lkey,
		       at((ROOM - 1 - i) * 16));
	}
	for (unsigned first = 0; first < ROOM; first += 128)
		assert_int_equal(set_by_pointer(list + first * BSN_KLM_SIZE, 128 * BSN_KLM_SIZE,
						first, 128, ROOM * PIECE),
				 IBV_WC_SUCCESS);
	must_write(b.mkey[0]->lkey, 0, b.mr->rkey, plain_at(), ROOM * PIECE);
	for (unsigned i = 0; i < ROOM * PIECE; i++)
		assert_int_equal(b.plain[i], b.memory[(ROOM - 1 - i / PIECE) * 16 + i % PIECE]);
}

static void bad_changes_are_refused_and_leave_the_mkey_free(void **state)
{
	const struct ibv_sge sge = { at(0), 64, b.mr->lkey };
	static const struct {
		uint32_t bytes, first, count;
		uint8_t vendor;
	} cases[] = {
		{ 4 * BSN_KLM_SIZE, ROOM, 4, BSN_VENDOR_TPT_FAST_REGISTER + BSN_TPT_LENGTH },
		{ 4 * BSN_KLM_SIZE, ROOM - 3, 4, BSN_VENDOR_TPT_FAST_REGISTER + BSN_TPT_LENGTH },
		{ 3 * BSN_KLM_SIZE, 0, 4, BSN_VENDOR_TPT_FAST_REGISTER + BSN_TPT_LENGTH },
		{ 2 * BSN_KLM_SIZE, 0, 2, BSN_VENDOR_TPT_FAST_REGISTER + BSN_TPT_LENGTH },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		assert_int_equal(set_list(b.mkey[0], ACCESS, &sge, 1), IBV_WC_SUCCESS);
		assert_int_equal(
			set_by_pointer(b.plain, cases[i].bytes, cases[i].first, cases[i].count, 64),
			IBV_WC_MW_BIND_ERR);
		assert_int_equal(b.vendor, cases[i].vendor);
		revive();
		assert_int_equal(write_to(b.mkey[0]->lkey, 0, b.mr->rkey, plain_at(), 64),
				 IBV_WC_LOC_PROT_ERR);
		revive();
	}
	assert_int_equal(cx_lint_count(softcx_hca()), 0);
	/* The memory of the pointer is looked up like any other memory. */
	assert_int_equal(set_by_pointer(b.memory + BYTES - 32, 64, 0, 4, 64), IBV_WC_MW_BIND_ERR);
	assert_int_equal(b.vendor, BSN_VENDOR_TPT_FAST_REGISTER + BSN_TPT_RIGHTS);
	revive();
	assert_int_equal(cx_lint_count(softcx_hca()), 1); /* nor is it aligned */
}

/* -- a peer's invalidation, copies ------------------------------------------------------------- */

static enum ibv_wc_status send_inval(uint32_t rkey, struct ibv_wc *received)
{
	struct ibv_recv_wr *bad, wr = { 0 };
	struct ibv_wc wc[2];
	int count;

	assert_int_equal(ibv_post_recv(b.qp, &wr, &bad), 0);
	begin(0);
	ibv_wr_send_inv(b.ex, rkey);
	ibv_wr_set_sge_list(b.ex, 0, NULL);
	assert_int_equal(ibv_wr_complete(b.ex), 0);
	softcx_step(0);
	count = ibv_poll_cq(lo.cq, 2, wc);
	assert_int_equal(count, 2);
	*received = wc[0];
	return wc[1].status;
}

static void a_peer_frees_what_was_made_for_it(void **state)
{
	struct mlx5dv_mkey *mkey =
		create_mkey(lo.pd, MLX5DV_MKEY_INIT_ATTR_FLAGS_REMOTE_INVALIDATE);
	struct ibv_wc received;

	must_cover(mkey, ACCESS, b.mr->lkey, at(0));
	assert_int_equal(send_inval(mkey->rkey, &received), IBV_WC_SUCCESS);
	assert_int_equal(received.status, IBV_WC_SUCCESS);
	assert_true(received.wc_flags & IBV_WC_WITH_INV);
	assert_int_equal(received.invalidated_rkey, mkey->rkey);
	expect_remote(mkey->rkey, 0, 8);
	/* Others are refused. */
	must_cover(b.mkey[0], ACCESS, b.mr->lkey, at(0));
	assert_int_not_equal(send_inval(b.mkey[0]->rkey, &received), IBV_WC_SUCCESS);
	assert_int_equal(received.status, IBV_WC_MW_BIND_ERR);
	assert_int_equal(received.vendor_err, BSN_VENDOR_TPT_INVALIDATE + BSN_TPT_PD);
	revive();
	assert_int_not_equal(send_inval(b.mr->rkey, &received), IBV_WC_SUCCESS);
	assert_int_equal(received.status, IBV_WC_MW_BIND_ERR);
	revive();
	must_write(b.mr->lkey, at(0), b.mr->rkey, plain_at(), 8);
	assert_int_equal(mlx5dv_destroy_mkey(mkey), 0);
}

static enum ibv_wc_status copy(uint32_t to_key, uint64_t to, uint32_t from_key, uint64_t from,
			       size_t length)
{
	begin(0);
	mlx5dv_wr_memcpy(b.dv, to_key, to, from_key, from, length);
	return finish();
}

static void the_device_copies_memory(void **state)
{
	const struct ibv_sge sges[2] = { { at(5000), 100, b.mr->lkey },
					 { at(0), 100, b.mr->lkey } };
	const uint64_t plain = plain_at();

	assert_int_equal(copy(b.mr->lkey, plain, b.mr->lkey, at(0), 5000), IBV_WC_SUCCESS);
	assert_memory_equal(b.plain, b.memory, 5000);
	assert_int_equal(set_list(b.mkey[0], ACCESS, sges, 2), IBV_WC_SUCCESS);
	assert_int_equal(copy(b.mr->lkey, plain, b.mkey[0]->lkey, 50, 100), IBV_WC_SUCCESS);
	assert_memory_equal(b.plain, b.memory + 5050, 50);
	assert_memory_equal(b.plain + 50, b.memory, 50);
	assert_int_equal(copy(b.mr->lkey, plain, b.mkey[0]->lkey, 150, 51), IBV_WC_LOC_PROT_ERR);
	assert_int_equal(b.vendor, BSN_VENDOR_TPT_GATHER + BSN_TPT_RIGHTS);
	revive();
	assert_int_equal(copy(b.mkey[0]->lkey, 200, b.mr->lkey, plain, 1), IBV_WC_LOC_PROT_ERR);
	assert_int_equal(b.vendor, BSN_VENDOR_TPT_DATA + BSN_TPT_RIGHTS);
}

/* -- another process --------------------------------------------------------------------------- */

enum { PEER_BYTES = 100 };

/* Writes bytes that count up, to the address that it is told. */
static void be_the_peer(int fd)
{
	const struct cx_config config = config_of_fabric();
	uint8_t bytes[PEER_BYTES];
	struct ibv_sge sge = { (uintptr_t)bytes, sizeof(bytes), 0 };
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_RDMA_WRITE,
					.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
					.sg_list = &sge,
					.num_sge = 1 };
	struct hello theirs;
	struct ibv_cq *cq;
	struct ibv_qp *qp = open_peer(fd, &config, &cq, &theirs);
	struct ibv_wc wc;

	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i + 1);
	wr.wr.rdma.rkey = theirs.rkey;
	NEED(!ibv_post_send(qp, &wr, &bad));
	NEED(ibv_poll_cq(cq, 1, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
}

static int set_up_with_peer(void **state)
{
	struct cx_config config;

	start_peer(be_the_peer);
	config = config_of_fabric();
	return set_up_config(state, &config);
}

/* Through lists over an interleaved mkey, all in this process's memory. */
static void a_peer_scatters_through_our_keys(void **state)
{
	struct mlx5dv_mr_interleaved columns = { at(0), 3, 13, b.mr->lkey };
	const struct ibv_sge halves[2] = { { 60, 60, b.mkey[0]->lkey },
					   { 0, 60, b.mkey[0]->lkey } };

	assert_int_equal(set_interleaved(b.mkey[0], ACCESS, 40, &columns, 1), IBV_WC_SUCCESS);
	assert_int_equal(set_list(b.mkey[1], ACCESS, halves, 2), IBV_WC_SUCCESS);
	meet_peer(b.qp, &(struct hello){ .qpn = b.qp->qp_num, .rkey = b.mkey[1]->rkey });
	end_peer();
	for (unsigned i = 0; i < PEER_BYTES; i++) {
		const unsigned at = (i + 60) % 120; /* in the columns */

		assert_int_equal(b.memory[at / 3 * 16 + at % 3], i + 1);
	}
}

/* An mkey may cut an atomic's operand in two, or move it. */
static void an_atomic_wants_one_aligned_place(void **state)
{
	static const struct {
		uint32_t first; /* bytes in the first piece */
		uint32_t shift;
		enum ibv_wc_status status;
	} cases[] = { { 64, 0, IBV_WC_SUCCESS },
		      { 4, 0, IBV_WC_REM_INV_REQ_ERR },
		      { 64, 4, IBV_WC_REM_INV_REQ_ERR } };
	uint64_t *counter = (uint64_t *)(b.memory + 4096);
	struct ibv_qp_attr attr = { .qp_access_flags = ACCESS | IBV_ACCESS_REMOTE_ATOMIC };

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const uint64_t addr = (uintptr_t)counter + cases[i].shift;
		const struct ibv_sge sges[2] = {
			{ addr, cases[i].first, b.mr->lkey },
			{ addr + cases[i].first, 64, b.mr->lkey },
		};

		assert_int_equal(ibv_modify_qp(b.qp, &attr, IBV_QP_ACCESS_FLAGS), 0);
		*counter = 7;
		assert_int_equal(set_list(b.mkey[0], ACCESS | IBV_ACCESS_REMOTE_ATOMIC, sges, 2),
				 IBV_WC_SUCCESS);
		begin(0);
		ibv_wr_atomic_fetch_add(b.ex, b.mkey[0]->rkey, 0, 5);
		ibv_wr_set_sge(b.ex, b.mr->lkey, plain_at(), 8);
		assert_int_equal(finish(), cases[i].status);
		assert_int_equal(*counter, cases[i].status ? 7 : 12);
		if (cases[i].status)
			revive();
	}
}

UNIT_MAIN(NULL, TEST(random_layouts_move_what_plain_c_moves),
	  TEST(configuring_by_setters_is_the_same), TEST(translations_by_pointer_come_in_chunks),
	  TEST(bad_changes_are_refused_and_leave_the_mkey_free),
	  TEST(a_peer_frees_what_was_made_for_it), TEST(the_device_copies_memory),
	  TEST(an_atomic_wants_one_aligned_place),
	  cmocka_unit_test_setup_teardown(a_peer_scatters_through_our_keys, set_up_with_peer,
					  tear_down))
