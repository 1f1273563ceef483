/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory keys as libmlx5 makes, configures, uses and invalidates them. What moves through them is
 * compared with a copy by plain C, byte by byte. Each misuse has its own error.
 */
#include "fabric.h"
#include "loopback.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infiniband/mlx5dv.h>

#include "bsn_syndrome.h"
#include "bsn_umr.h"
#include "bsn_wqe.h"
#include "datasheet.h"
#include "nic/hca.h"

enum {
	LAYOUT_BYTES = 1 << 16, /* what layouts are made of */
	PLAIN_BYTES = 1 << 14,  /* what is copied from and to, after it */
	BYTES = LAYOUT_BYTES + PLAIN_BYTES,
	MOST_ENTRIES = 24,
	MOST_LENGTH = 4096,
	ROOM = 512,
	LEVELS = CX_MAX_INDIRECTION + 1,
	ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
};

struct bench {
	struct loopback *l;
	struct ibv_qp *qp;
	struct ibv_qp_ex *ex;
	struct mlx5dv_qp_ex *dv;
	struct ibv_mr *mr;
	struct mlx5dv_mkey *mkey[LEVELS];
	uint8_t *memory, *plain;
	uint8_t vendor; /* of the last failure */
};

/* -- a queue pair that does all of it ---------------------------------------------------------- */

static struct ibv_qp *create_qp(struct loopback *l)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = l->cq,
		.recv_cq = l->cq,
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = 4,
			 .max_recv_sge = 4,
			 .max_inline_data = 512 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = l->pd,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ |
				  IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_INV |
				  IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW |
				  IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
	};
	struct mlx5dv_qp_init_attr dv = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS |
			     MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
		.create_flags = MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE,
		.send_ops_flags = MLX5DV_QP_EX_WITH_MR_LIST | MLX5DV_QP_EX_WITH_MR_INTERLEAVED |
				  MLX5DV_QP_EX_WITH_MKEY_CONFIGURE | MLX5DV_QP_EX_WITH_RAW_WQE |
				  MLX5DV_QP_EX_WITH_MEMCPY,
	};
	struct ibv_qp *qp = mlx5dv_create_qp(l->ctx, &attr, &dv);

	assert_non_null(qp);
	loopback_connect(qp);
	return qp;
}

static struct mlx5dv_mkey *create_mkey(struct ibv_pd *pd, uint32_t flags)
{
	struct mlx5dv_mkey_init_attr attr = {
		.pd = pd,
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT | flags,
		.max_entries = ROOM,
	};
	struct mlx5dv_mkey *mkey = mlx5dv_create_mkey(&attr);

	assert_non_null(mkey);
	return mkey;
}

static int set_up_config(void **state, const struct cx_config *config)
{
	struct bench *b = calloc(1, sizeof(*b));
	void *l;

	assert_non_null(b);
	loopback_set_up_config(&l, config);
	b->l = l;
	b->qp = create_qp(b->l);
	b->ex = ibv_qp_to_qp_ex(b->qp);
	b->dv = mlx5dv_qp_ex_from_ibv_qp_ex(b->ex);
	b->memory = aligned_alloc(4096, BYTES);
	assert_non_null(b->memory);
	for (unsigned i = 0; i < BYTES; i++)
		b->memory[i] = (uint8_t)(i * 31 + i / 256);
	b->plain = b->memory + LAYOUT_BYTES;
	b->mr = ibv_reg_mr(b->l->pd, b->memory, BYTES, ACCESS | IBV_ACCESS_MW_BIND);
	assert_non_null(b->mr);
	for (unsigned i = 0; i < LEVELS; i++)
		b->mkey[i] = create_mkey(b->l->pd, 0);
	*state = b;
	return 0;
}

static int set_up(void **state)
{
	const struct cx_config config = loopback_config(CX_LINK_IB, true);

	return set_up_config(state, &config);
}

static int tear_down(void **state)
{
	struct bench *b = *state;
	void *l = b->l;

	for (unsigned i = 0; i < LEVELS; i++)
		assert_int_equal(mlx5dv_destroy_mkey(b->mkey[i]), 0);
	assert_int_equal(ibv_destroy_qp(b->qp), 0);
	assert_int_equal(ibv_dereg_mr(b->mr), 0);
	free(b->memory);
	free(b);
	return loopback_tear_down(&l);
}

static void revive(struct bench *b)
{
	assert_int_equal(loopback_modify(b->qp, IBV_QPS_RESET, IBV_QP_STATE), 0);
	loopback_connect(b->qp);
}

static void begin(struct bench *b, unsigned flags)
{
	ibv_wr_start(b->ex);
	b->ex->wr_id = 1;
	b->ex->wr_flags = IBV_SEND_SIGNALED | flags;
}

static enum ibv_wc_status reap(struct bench *b)
{
	struct ibv_wc wc;

	softcx_step(0);
	assert_int_equal(ibv_poll_cq(b->l->cq, 1, &wc), 1);
	b->vendor = (uint8_t)wc.vendor_err;
	return wc.status;
}

static enum ibv_wc_status finish(struct bench *b)
{
	assert_int_equal(ibv_wr_complete(b->ex), 0);
	return reap(b);
}

/* -- what is posted ---------------------------------------------------------------------------- */

static enum ibv_wc_status set_list(struct bench *b, struct mlx5dv_mkey *mkey, uint32_t access,
				   const struct ibv_sge *sges, unsigned count)
{
	begin(b, IBV_SEND_INLINE);
	mlx5dv_wr_mr_list(b->dv, mkey, access, (uint16_t)count, (struct ibv_sge *)sges);
	return finish(b);
}

static enum ibv_wc_status set_interleaved(struct bench *b, struct mlx5dv_mkey *mkey,
					  uint32_t access, uint32_t repeat,
					  struct mlx5dv_mr_interleaved *entries, unsigned count)
{
	begin(b, IBV_SEND_INLINE);
	mlx5dv_wr_mr_interleaved(b->dv, mkey, access, repeat, (uint16_t)count, entries);
	return finish(b);
}

static enum ibv_wc_status write_to(struct bench *b, uint32_t lkey, uint64_t from, uint32_t rkey,
				   uint64_t to, uint32_t length)
{
	begin(b, 0);
	ibv_wr_rdma_write(b->ex, rkey, to);
	ibv_wr_set_sge(b->ex, lkey, from, length);
	return finish(b);
}

static enum ibv_wc_status read_from(struct bench *b, uint32_t rkey, uint64_t from, uint32_t lkey,
				    uint64_t to, uint32_t length)
{
	begin(b, 0);
	ibv_wr_rdma_read(b->ex, rkey, from);
	ibv_wr_set_sge(b->ex, lkey, to, length);
	return finish(b);
}

static enum ibv_wc_status invalidate(struct bench *b, uint32_t key)
{
	begin(b, 0);
	ibv_wr_local_inv(b->ex, key);
	return finish(b);
}

/* One entry over the start of the memory. */
static enum ibv_wc_status set_whole(struct bench *b, struct mlx5dv_mkey *mkey, uint32_t access,
				    uint32_t lkey, uint64_t addr, uint32_t length)
{
	const struct ibv_sge sge = { addr, length, lkey };

	return set_list(b, mkey, access, &sge, 1);
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
static uint64_t pick_place(struct bench *b, const struct layout *beneath, uint32_t length)
{
	return beneath ? pick(beneath->length - length + 1)
		       : (uintptr_t)b->memory + pick(LAYOUT_BYTES - length + 1);
}

static void append(const struct bench *b, struct layout *layout, const struct layout *beneath,
		   uint64_t addr, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++)
		layout->at[layout->length++] =
			beneath ? beneath->at[addr + i]
				: (uint32_t)(addr + i - (uintptr_t)b->memory);
}

static uint32_t room_in(const struct layout *layout, const struct layout *beneath)
{
	const uint32_t left = MOST_LENGTH - layout->length;

	return beneath && beneath->length < left ? beneath->length : left;
}

static void make_list(struct bench *b, struct mlx5dv_mkey *mkey, uint32_t lkey,
		      const struct layout *beneath, struct layout *layout)
{
	const unsigned count = 1 + pick(MOST_ENTRIES);
	struct ibv_sge sges[MOST_ENTRIES];

	for (unsigned i = 0; i < count; i++) {
		const uint32_t room = room_in(layout, beneath) / 2;

		sges[i].length = i && !pick(8) ? 0 : 1 + pick(room ? room : 1);
		sges[i].lkey = lkey;
		if (layout->length + sges[i].length > MOST_LENGTH)
			sges[i].length = 0;
		sges[i].addr = pick_place(b, beneath, sges[i].length);
		append(b, layout, beneath, sges[i].addr, sges[i].length);
	}
	assert_int_equal(set_list(b, mkey, ACCESS, sges, count), IBV_WC_SUCCESS);
}

static void make_interleaved(struct bench *b, struct mlx5dv_mkey *mkey, uint32_t lkey,
			     const struct layout *beneath, struct layout *layout)
{
	const uint32_t repeat = 1 + pick(8), whole = room_in(layout, beneath);
	const unsigned count = 1 + pick(whole / repeat < 6 ? 1 : 6);
	struct mlx5dv_mr_interleaved entries[6];

	for (unsigned i = 0; i < count; i++) {
		const uint32_t most = whole / repeat / count;
		const uint32_t bytes = most ? 1 + pick(most) : 1, times = most ? repeat : 1;
		const uint32_t skip =
			whole > times * bytes ? pick((whole - times * bytes) / times + 1) : 0;

		entries[i] = (struct mlx5dv_mr_interleaved){
			pick_place(b, beneath, times * (bytes + skip)), bytes, skip, lkey
		};
	}
	for (uint32_t round = 0; round < (whole / repeat / count ? repeat : 1); round++)
		for (unsigned i = 0; i < count; i++)
			append(b, layout, beneath,
			       entries[i].addr + (uint64_t)round * (entries[i].bytes_count +
								    entries[i].bytes_skip),
			       entries[i].bytes_count);
	assert_int_equal(set_interleaved(b, mkey, ACCESS, whole / repeat / count ? repeat : 1,
					 entries, count),
			 IBV_WC_SUCCESS);
}

/* Layouts over layouts, on mkey[0] up to mkey[levels - 1]; the last one counts. */
static void make_layout(struct bench *b, unsigned levels, struct layout *layout)
{
	struct layout beneath;

	for (unsigned i = 0; i < levels; i++) {
		const uint32_t lkey = i ? b->mkey[i - 1]->lkey : b->mr->lkey;

		beneath = *layout;
		layout->length = 0;
		if (pick(2))
			make_list(b, b->mkey[i], lkey, i ? &beneath : NULL, layout);
		else
			make_interleaved(b, b->mkey[i], lkey, i ? &beneath : NULL, layout);
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
static void check_layout(struct bench *b, const struct layout *layout, struct mlx5dv_mkey *mkey)
{
	static uint8_t expected[BYTES];
	const uint64_t plain = (uintptr_t)b->plain;
	const uint32_t offset = pick(layout->length);
	const uint32_t length = 1 + pick(layout->length - offset);
	enum ibv_wc_status status;

	for (unsigned way = 0; way < 4; way++) {
		memcpy(expected, b->memory, BYTES);
		copy_plainly(expected, layout, offset, length, way < 2);
		switch (way) {
		case 0:
			status = write_to(b, mkey->lkey, offset, b->mr->rkey, plain, length);
			break;
		case 1:
			status = read_from(b, mkey->rkey, offset, b->mr->lkey, plain, length);
			break;
		case 2:
			status = write_to(b, b->mr->lkey, plain, mkey->rkey, offset, length);
			break;
		default:
			status = read_from(b, b->mr->rkey, plain, mkey->lkey, offset, length);
		}
		assert_int_equal(status, IBV_WC_SUCCESS);
		assert_memory_equal(b->memory, expected, BYTES);
		for (unsigned i = 0; i < PLAIN_BYTES; i++)
			b->plain[i] = (uint8_t)pick(256);
	}
}

static void random_layouts_move_what_plain_c_moves(void **state)
{
	enum { ROUNDS = 2000 };
	struct bench *b = *state;
	static struct layout layout;
	const char *given = getenv("BSN_SEED");

	seed = given ? strtoull(given, NULL, 0) : 20260101;
	printf("# BSN_SEED=%llu\n", (unsigned long long)seed);
	for (unsigned round = 0; round < ROUNDS; round++) {
		const unsigned levels = 1 + pick(3);

		layout.length = 0;
		make_layout(b, levels, &layout);
		check_layout(b, &layout, b->mkey[levels - 1]);
	}
}

/* -- forms of UMR ------------------------------------------------------------------------------ */

static void configuring_by_setters_is_the_same(void **state)
{
	struct bench *b = *state;
	const struct ibv_sge sges[2] = { { (uintptr_t)b->memory + 100, 10, b->mr->lkey },
					 { (uintptr_t)b->memory + 10, 20, b->mr->lkey } };
	struct mlx5dv_mkey_conf_attr attr = { 0 };

	begin(b, IBV_SEND_INLINE);
	mlx5dv_wr_mkey_configure(b->dv, b->mkey[0], 2, &attr);
	mlx5dv_wr_set_mkey_access_flags(b->dv, ACCESS);
	mlx5dv_wr_set_mkey_layout_list(b->dv, 2, sges);
	assert_int_equal(finish(b), IBV_WC_SUCCESS);
	assert_int_equal(write_to(b, b->mkey[0]->lkey, 0, b->mr->rkey, (uintptr_t)b->plain, 30),
			 IBV_WC_SUCCESS);
	assert_memory_equal(b->plain, b->memory + 100, 10);
	assert_memory_equal(b->plain + 10, b->memory + 10, 20);
}

/* A UMR by hand, whose translations are elsewhere: `count` from number `first` on. */
static void post_pointer(struct bench *b, const void *translations, uint32_t bytes, uint32_t first,
			 uint32_t count, uint64_t length, uint32_t ce)
{
	uint8_t wqe[3 * BSN_BB_SIZE] = { 0 };
	const struct bsn_ctrl ctrl = { .opcode = BSN_OPCODE_UMR,
				       .ds = 9,
				       .ce = ce,
				       .qpn = b->qp->qp_num,
				       .imm = b->mkey[0]->lkey };
	const struct bsn_umr_ctrl umr = {
		.klm_octowords = count,
		.has_offset = 1,
		.offset_or_bsf = first,
		.mkey_mask = BSN_MKEY_BIT(LEN) | BSN_MKEY_BIT(FREE) | BSN_MKEY_BIT(LW) |
			     BSN_MKEY_BIT(RR) | BSN_MKEY_BIT(RW),
	};
	const struct bsn_mkey_ctx ctx = { .lw = 1, .rr = 1, .rw = 1, .len = length };
	const struct bsn_klm pointer = { bytes, b->mr->lkey, (uintptr_t)translations };

	bsn_ctrl_encode(wqe, &ctrl);
	bsn_umr_ctrl_encode(wqe + 16, &umr);
	bsn_mkey_ctx_encode(wqe + 64, &ctx);
	bsn_klm_encode(wqe + 128, &pointer);
	mlx5dv_wr_raw_wqe(b->dv, wqe);
}

static enum ibv_wc_status set_by_pointer(struct bench *b, const void *translations, uint32_t bytes,
					 uint32_t first, uint32_t count, uint64_t length)
{
	begin(b, 0);
	post_pointer(b, translations, bytes, first, count, length, BSN_CE_ALWAYS);
	return finish(b);
}

/* More translations than a WQE holds, in chunks of any size. */
static void translations_by_pointer_come_in_chunks(void **state)
{
	enum { PIECE = 7 };
	struct bench *b = *state;
	uint8_t *list = b->plain; /* registered */

	for (unsigned i = 0; i < ROOM; i++) {
		const struct bsn_klm klm = { PIECE, b->mr->lkey,
					     (uintptr_t)b->memory + (ROOM - 1 - i) * 16 };

		bsn_klm_encode(list + (size_t)i * BSN_KLM_SIZE, &klm);
	}
	for (unsigned first = 0; first < ROOM; first += 128)
		assert_int_equal(set_by_pointer(b, list + first * BSN_KLM_SIZE, 128 * BSN_KLM_SIZE,
						first, 128, ROOM * PIECE),
				 IBV_WC_SUCCESS);
	assert_int_equal(
		write_to(b, b->mkey[0]->lkey, 0, b->mr->rkey, (uintptr_t)b->plain, ROOM * PIECE),
		IBV_WC_SUCCESS);
	for (unsigned i = 0; i < ROOM * PIECE; i++)
		assert_int_equal(b->plain[i], b->memory[(ROOM - 1 - i / PIECE) * 16 + i % PIECE]);
}

static void bad_changes_are_refused_and_leave_the_mkey_free(void **state)
{
	struct bench *b = *state;
	const struct ibv_sge sge = { (uintptr_t)b->memory, 64, b->mr->lkey };
	static const struct {
		uint32_t bytes, first, count;
		uint8_t vendor;
	} cases[] = {
		{ 4 * BSN_KLM_SIZE, ROOM, 4, BSN_VENDOR_TPT_FAST_REGISTER + BSN_TPT_LENGTH },
		{ 4 * BSN_KLM_SIZE, ROOM - 3, 4, BSN_VENDOR_TPT_FAST_REGISTER + BSN_TPT_LENGTH },
		{ 3 * BSN_KLM_SIZE, 0, 4, BSN_VENDOR_TPT_FAST_REGISTER + BSN_TPT_LENGTH },
		{ 2 * BSN_KLM_SIZE, 0, 2, BSN_VENDOR_TPT_FAST_REGISTER + BSN_TPT_LENGTH },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(set_list(b, b->mkey[0], ACCESS, &sge, 1), IBV_WC_SUCCESS);
		assert_int_equal(set_by_pointer(b, b->plain, cases[i].bytes, cases[i].first,
						cases[i].count, 64),
				 IBV_WC_MW_BIND_ERR);
		assert_int_equal(b->vendor, cases[i].vendor);
		revive(b);
		assert_int_equal(
			write_to(b, b->mkey[0]->lkey, 0, b->mr->rkey, (uintptr_t)b->plain, 64),
			IBV_WC_LOC_PROT_ERR);
		revive(b);
	}
	assert_int_equal(cx_lint_count(softcx_hca()), 0);
	/* The memory of the pointer is looked up like any other memory. */
	assert_int_equal(set_by_pointer(b, b->memory + BYTES - 32, 64, 0, 4, 64),
			 IBV_WC_MW_BIND_ERR);
	assert_int_equal(b->vendor, BSN_VENDOR_TPT_FAST_REGISTER + BSN_TPT_RIGHTS);
	revive(b);
	assert_int_equal(cx_lint_count(softcx_hca()), 1); /* nor is it aligned */
}

/* -- what is not modelled ---------------------------------------------------------------------- */

static char trace_path[] = "/tmp/test_mkeys.XXXXXX";

static int set_up_traced(void **state)
{
	struct cx_config config = loopback_config(CX_LINK_IB, true);
	int fd;

	strcpy(trace_path + strlen(trace_path) - 6, "XXXXXX");
	fd = mkstemp(trace_path);
	assert_true(fd >= 0);
	close(fd);
	config.trace_path = trace_path;
	return set_up_config(state, &config);
}

static int tear_down_traced(void **state)
{
	unlink(trace_path);
	return tear_down(state);
}

static bool was_traced(const char *text)
{
	static char trace[1 << 16];
	FILE *file = fopen(trace_path, "r");
	size_t size;

	assert_non_null(file);
	size = fread(trace, 1, sizeof(trace) - 1, file);
	trace[size] = 0;
	fclose(file);
	return strstr(trace, text);
}

/* The vendor syndrome has one number for all these causes; the trace tells them apart. */
static void the_trace_says_why_a_key_refuses(void **state)
{
	struct bench *b = *state;
	struct ibv_pd *pd = ibv_alloc_pd(b->l->ctx);
	struct ibv_mr *other = ibv_reg_mr(pd, b->memory, BYTES, ACCESS);
	struct ibv_mr *local = ibv_reg_mr(b->l->pd, b->memory, BYTES, IBV_ACCESS_LOCAL_WRITE);
	const struct {
		uint32_t rkey;
		uint64_t addr;
		const char *text;
	} cases[] = {
		{ 0xabcd00, (uintptr_t)b->memory, "key 0xabcd00 does not exist" },
		{ b->mkey[0]->rkey, 0, "is free: never configured, or invalidated" },
		{ other->rkey, (uintptr_t)b->memory, "is of PD" },
		{ local->rkey, (uintptr_t)b->memory, "has rights 0x1, of ibv_access_flags, not 0x2" },
		{ b->mr->rkey, (uintptr_t)b->memory + BYTES - 7, "are not within key" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_false(was_traced(cases[i].text));
		begin(b, 0);
		ibv_wr_rdma_write(b->ex, cases[i].rkey, cases[i].addr);
		ibv_wr_set_sge(b->ex, b->mr->lkey, (uintptr_t)b->plain, 8);
		assert_int_equal(finish(b), IBV_WC_REM_ACCESS_ERR);
		assert_true(was_traced(cases[i].text));
		revive(b);
	}
	assert_int_equal(ibv_dereg_mr(local), 0);
	assert_int_equal(ibv_dereg_mr(other), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

static enum ibv_wc_status set_bsf(struct bench *b, const struct bsn_umr_ctrl *umr,
				  const struct bsn_mkey_ctx *ctx, uint32_t type)
{
	uint8_t wqe[3 * BSN_BB_SIZE] = { 0 };
	const struct bsn_bsf bsf = { .type = type };
	const struct bsn_ctrl ctrl = { .opcode = BSN_OPCODE_UMR,
				       .ds = umr->offset_or_bsf ? 12 : 8,
				       .ce = BSN_CE_ALWAYS,
				       .qpn = b->qp->qp_num,
				       .imm = b->mkey[0]->lkey };

	bsn_ctrl_encode(wqe, &ctrl);
	bsn_umr_ctrl_encode(wqe + 16, umr);
	bsn_mkey_ctx_encode(wqe + 64, ctx);
	bsn_bsf_encode(wqe + 128, &bsf);
	begin(b, 0);
	mlx5dv_wr_raw_wqe(b->dv, wqe);
	return finish(b);
}

/* They are not modelled, and the trace says so. */
static void signatures_and_encryption_are_refused_by_name(void **state)
{
	static const struct {
		struct bsn_umr_ctrl umr;
		struct bsn_mkey_ctx ctx;
		uint32_t type;
		const char *text;
	} cases[] = {
		{ .umr = { .is_inline = 1, .mkey_mask = BSN_MKEY_BIT(BSF_EN) },
		  .ctx = { .bsf_en = 1 },
		  .text = "signatures and encryption are not modelled" },
		{ .umr = { .is_inline = 1, .offset_or_bsf = 4 },
		  .type = BSN_BSF_TYPE_SIGNATURE,
		  .text = "BSF: block signatures are not modelled" },
		{ .umr = { .is_inline = 1, .offset_or_bsf = 4 },
		  .type = BSN_BSF_TYPE_CRYPTO,
		  .text = "BSF: encryption is not modelled" },
	};
	struct bench *b = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_false(was_traced(cases[i].text));
		assert_int_equal(set_bsf(b, &cases[i].umr, &cases[i].ctx, cases[i].type),
				 IBV_WC_MW_BIND_ERR);
		assert_int_equal(b->vendor, BSN_VENDOR_TPT_FAST_REGISTER + BSN_TPT_UNKNOWN);
		assert_true(was_traced(cases[i].text));
		revive(b);
	}
}

/* libmlx5 does not fence after a raw WQE. */
static void using_an_mkey_without_a_fence_is_found(void **state)
{
	struct bench *b = *state;
	const struct bsn_klm klms[4] = { { 64, b->mr->lkey, (uintptr_t)b->memory } };
	const uint64_t before = cx_lint_count(softcx_hca());

	for (unsigned i = 0; i < 4; i++)
		bsn_klm_encode(b->plain + (size_t)i * BSN_KLM_SIZE, &klms[i]);
	begin(b, 0);
	post_pointer(b, b->plain, 64, 0, 4, 64, BSN_CE_ON_ERROR);
	b->ex->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE;
	ibv_wr_rdma_write(b->ex, b->mr->rkey, (uintptr_t)b->plain + 4096);
	ibv_wr_set_sge(b->ex, b->mkey[0]->lkey, 0, 64);
	assert_int_equal(finish(b), IBV_WC_SUCCESS);
	assert_int_equal(cx_lint_count(softcx_hca()), before);

	begin(b, 0);
	post_pointer(b, b->plain, 64, 0, 4, 64, BSN_CE_ON_ERROR);
	ibv_wr_rdma_write(b->ex, b->mr->rkey, (uintptr_t)b->plain + 4096);
	ibv_wr_set_sge(b->ex, b->mkey[0]->lkey, 0, 64);
	assert_int_equal(finish(b), IBV_WC_SUCCESS);
	assert_int_equal(cx_lint_count(softcx_hca()), before + 1);
}

/*
 * On another queue, only a completion tells that the change is done: its own, or that of a request
 * after a fence.
 */
static void using_an_mkey_elsewhere_before_its_umr_is_done_is_found(void **state)
{
	struct bench *b = *state, other = *b;
	const struct bsn_klm klm = { 64, b->mr->lkey, (uintptr_t)b->memory };
	const uint64_t before = cx_lint_count(softcx_hca()), to = (uintptr_t)b->plain + 4096;

	other.qp = create_qp(b->l);
	other.ex = ibv_qp_to_qp_ex(other.qp);
	memset(b->plain, 0, 64);
	bsn_klm_encode(b->plain, &klm);

	begin(b, 0);
	post_pointer(b, b->plain, 64, 0, 4, 64, BSN_CE_ON_ERROR);
	assert_int_equal(ibv_wr_complete(b->ex), 0);
	softcx_step(0);
	assert_int_equal(write_to(&other, b->mkey[0]->lkey, 0, b->mr->rkey, to, 64),
			 IBV_WC_SUCCESS);
	assert_int_equal(cx_lint_count(softcx_hca()), before + 1);

	assert_int_equal(set_by_pointer(b, b->plain, 64, 0, 4, 64), IBV_WC_SUCCESS);
	assert_int_equal(write_to(&other, b->mkey[0]->lkey, 0, b->mr->rkey, to, 64),
			 IBV_WC_SUCCESS);

	begin(b, 0);
	post_pointer(b, b->plain, 64, 0, 4, 64, BSN_CE_ON_ERROR);
	b->ex->wr_flags = IBV_SEND_FENCE;
	ibv_wr_rdma_write(b->ex, b->mr->rkey, to);
	ibv_wr_set_sge(b->ex, b->mr->lkey, (uintptr_t)b->memory, 8);
	assert_int_equal(ibv_wr_complete(b->ex), 0);
	softcx_step(0);
	assert_int_equal(write_to(&other, b->mkey[0]->lkey, 0, b->mr->rkey, to, 64),
			 IBV_WC_SUCCESS);
	assert_int_equal(cx_lint_count(softcx_hca()), before + 1);
	assert_int_equal(ibv_destroy_qp(other.qp), 0);
}

/* -- refusals ---------------------------------------------------------------------------------- */

static void expect_local(struct bench *b, uint32_t lkey, uint64_t from, uint32_t length,
			 unsigned detail)
{
	assert_int_equal(write_to(b, lkey, from, b->mr->rkey, (uintptr_t)b->plain, length),
			 IBV_WC_LOC_PROT_ERR);
	assert_int_equal(b->vendor, BSN_VENDOR_TPT_GATHER + detail);
	revive(b);
}

static void expect_remote(struct bench *b, uint32_t rkey, uint64_t to, uint32_t length)
{
	assert_int_equal(write_to(b, b->mr->lkey, (uintptr_t)b->plain, rkey, to, length),
			 IBV_WC_REM_ACCESS_ERR);
	revive(b);
}

static void beyond_the_mkey_there_is_nothing(void **state)
{
	struct bench *b = *state;

	assert_int_equal(set_whole(b, b->mkey[0], ACCESS, b->mr->lkey, (uintptr_t)b->memory, 64),
			 IBV_WC_SUCCESS);
	expect_local(b, b->mkey[0]->lkey, 0, 65, BSN_TPT_RIGHTS);
	expect_local(b, b->mkey[0]->lkey, 64, 1, BSN_TPT_RIGHTS);
	expect_remote(b, b->mkey[0]->rkey, 60, 8);
	/* Beneath the mkey: the entry names more than its region has. */
	assert_int_equal(set_whole(b, b->mkey[0], ACCESS, b->mr->lkey,
				   (uintptr_t)b->memory + BYTES - 32, 64),
			 IBV_WC_SUCCESS);
	assert_int_equal(write_to(b, b->mkey[0]->lkey, 0, b->mr->rkey, (uintptr_t)b->plain, 32),
			 IBV_WC_SUCCESS);
	expect_local(b, b->mkey[0]->lkey, 0, 33, BSN_TPT_RIGHTS);
}

static void a_klm_has_no_more_than_the_device_takes(void **state)
{
	struct bench *b = *state;
	const struct bsn_klm klms[2] = { { 64, b->mr->lkey, (uintptr_t)b->memory },
					 { (uint32_t)BSN_KLM_MAX_BYTES, b->mr->lkey, 0 } };

	memset(b->plain, 0, 4 * BSN_KLM_SIZE);
	bsn_klm_encode(b->plain, &klms[0]);
	bsn_klm_encode(b->plain + BSN_KLM_SIZE, &klms[1]);
	assert_int_equal(set_by_pointer(b, b->plain, 64, 0, 4, 64), IBV_WC_SUCCESS);
	b->plain[BSN_KLM_SIZE + 3] = 1; /* one byte more */
	assert_int_equal(set_by_pointer(b, b->plain, 64, 0, 4, 64), IBV_WC_MW_BIND_ERR);
	assert_int_equal(b->vendor, BSN_VENDOR_TPT_FAST_REGISTER + BSN_TPT_LENGTH);
	revive(b);
	expect_local(b, b->mkey[0]->lkey, 0, 8, BSN_TPT_PD); /* the mkey is free */
}

static void each_level_has_its_rights(void **state)
{
	struct bench *b = *state;
	struct ibv_mr *read_only = ibv_reg_mr(b->l->pd, b->memory, 4096, IBV_ACCESS_REMOTE_READ);
	const uint64_t plain = (uintptr_t)b->plain;

	assert_non_null(read_only);
	assert_int_equal(set_whole(b, b->mkey[0], IBV_ACCESS_REMOTE_READ, b->mr->lkey,
				   (uintptr_t)b->memory, 64),
			 IBV_WC_SUCCESS);
	expect_remote(b, b->mkey[0]->rkey, 0, 8);
	assert_int_equal(read_from(b, b->mr->rkey, plain, b->mkey[0]->lkey, 0, 8),
			 IBV_WC_LOC_PROT_ERR);
	assert_int_equal(b->vendor, BSN_VENDOR_TPT_DATA + BSN_TPT_RIGHTS);
	revive(b);
	/* The mkey has the right, but the memory beneath it has not. */
	assert_int_equal(
		set_whole(b, b->mkey[0], ACCESS, read_only->lkey, (uintptr_t)b->memory, 64),
		IBV_WC_SUCCESS);
	expect_remote(b, b->mkey[0]->rkey, 0, 8);
	assert_int_equal(read_from(b, b->mkey[0]->rkey, 0, b->mr->lkey, plain, 8), IBV_WC_SUCCESS);
	/* A peer's right comes from the outer key. */
	assert_int_equal(ibv_dereg_mr(read_only), 0);
	read_only = ibv_reg_mr(b->l->pd, b->memory, 4096, IBV_ACCESS_LOCAL_WRITE);
	assert_int_equal(
		set_whole(b, b->mkey[0], ACCESS, read_only->lkey, (uintptr_t)b->memory, 64),
		IBV_WC_SUCCESS);
	assert_int_equal(write_to(b, b->mr->lkey, plain, b->mkey[0]->rkey, 0, 8), IBV_WC_SUCCESS);
	assert_int_equal(ibv_dereg_mr(read_only), 0);
}

static void another_domains_keys_do_not_open(void **state)
{
	struct bench *b = *state;
	struct ibv_pd *pd = ibv_alloc_pd(b->l->ctx);
	struct ibv_mr *mr = ibv_reg_mr(pd, b->memory, 4096, ACCESS);
	struct mlx5dv_mkey *mkey = create_mkey(pd, 0);
	const struct ibv_sge sge = { (uintptr_t)b->memory, 64, b->mr->lkey };

	assert_int_equal(set_whole(b, b->mkey[0], ACCESS, mr->lkey, (uintptr_t)b->memory, 64),
			 IBV_WC_SUCCESS);
	expect_local(b, b->mkey[0]->lkey, 0, 8, BSN_TPT_PD);
	assert_int_equal(set_list(b, mkey, ACCESS, &sge, 1), IBV_WC_MW_BIND_ERR);
	assert_int_equal(b->vendor, BSN_VENDOR_TPT_FAST_REGISTER + BSN_TPT_PD);
	revive(b);
	assert_int_equal(mlx5dv_destroy_mkey(mkey), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	expect_local(b, b->mkey[0]->lkey, 0, 8, BSN_TPT_PD); /* beneath it nothing is left */
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

static void an_mkey_is_free_until_configured_and_after_its_invalidation(void **state)
{
	struct bench *b = *state;

	expect_local(b, b->mkey[0]->lkey, 0, 8, BSN_TPT_PD);
	assert_int_equal(set_whole(b, b->mkey[0], ACCESS, b->mr->lkey, (uintptr_t)b->memory, 64),
			 IBV_WC_SUCCESS);
	assert_int_equal(write_to(b, b->mkey[0]->lkey, 0, b->mr->rkey, (uintptr_t)b->plain, 8),
			 IBV_WC_SUCCESS);
	assert_int_equal(invalidate(b, b->mkey[0]->lkey), IBV_WC_SUCCESS);
	expect_local(b, b->mkey[0]->lkey, 0, 8, BSN_TPT_PD);
	expect_remote(b, b->mkey[0]->rkey, 0, 8);
	assert_int_equal(set_whole(b, b->mkey[0], ACCESS, b->mr->lkey, (uintptr_t)b->memory, 64),
			 IBV_WC_SUCCESS);
	assert_int_equal(write_to(b, b->mkey[0]->lkey, 0, b->mr->rkey, (uintptr_t)b->plain, 8),
			 IBV_WC_SUCCESS);
}

static void what_is_no_mkey_of_the_programs_is_not_changed(void **state)
{
	struct bench *b = *state;

	assert_int_equal(invalidate(b, b->mr->lkey), IBV_WC_MW_BIND_ERR);
	assert_int_equal(b->vendor, BSN_VENDOR_TPT_INVALIDATE + BSN_TPT_RIGHTS);
	revive(b);
	assert_int_equal(invalidate(b, 0xffff00), IBV_WC_MW_BIND_ERR);
	assert_int_equal(b->vendor, BSN_VENDOR_TPT_INVALIDATE + BSN_TPT_PD);
	revive(b);
	assert_int_equal(
		write_to(b, b->mr->lkey, (uintptr_t)b->memory, b->mr->rkey, (uintptr_t)b->plain, 8),
		IBV_WC_SUCCESS);
}

static void keys_nest_as_deep_as_the_device_says(void **state)
{
	struct bench *b = *state;

	assert_int_equal(set_whole(b, b->mkey[0], ACCESS, b->mr->lkey, (uintptr_t)b->memory, 64),
			 IBV_WC_SUCCESS);
	for (unsigned i = 1; i < LEVELS; i++)
		assert_int_equal(set_whole(b, b->mkey[i], ACCESS, b->mkey[i - 1]->lkey, 0, 64),
				 IBV_WC_SUCCESS);
	assert_int_equal(
		write_to(b, b->mkey[LEVELS - 2]->lkey, 0, b->mr->rkey, (uintptr_t)b->plain, 64),
		IBV_WC_SUCCESS);
	assert_memory_equal(b->plain, b->memory, 64);
	expect_local(b, b->mkey[LEVELS - 1]->lkey, 0, 64, BSN_TPT_INTERNAL);
	/* A circle ends the same way. */
	assert_int_equal(set_whole(b, b->mkey[0], ACCESS, b->mkey[0]->lkey, 0, 64), IBV_WC_SUCCESS);
	expect_local(b, b->mkey[0]->lkey, 0, 64, BSN_TPT_INTERNAL);
}

/* -- a peer's invalidation, copies ------------------------------------------------------------- */

static enum ibv_wc_status send_inval(struct bench *b, uint32_t rkey, struct ibv_wc *received)
{
	struct ibv_recv_wr *bad, wr = { 0 };
	struct ibv_wc wc[2];
	int count;

	assert_int_equal(ibv_post_recv(b->qp, &wr, &bad), 0);
	begin(b, 0);
	ibv_wr_send_inv(b->ex, rkey);
	ibv_wr_set_sge_list(b->ex, 0, NULL);
	assert_int_equal(ibv_wr_complete(b->ex), 0);
	softcx_step(0);
	count = ibv_poll_cq(b->l->cq, 2, wc);
	assert_int_equal(count, 2);
	*received = wc[0];
	return wc[1].status;
}

static void a_peer_frees_what_was_made_for_it(void **state)
{
	struct bench *b = *state;
	struct mlx5dv_mkey *mkey =
		create_mkey(b->l->pd, MLX5DV_MKEY_INIT_ATTR_FLAGS_REMOTE_INVALIDATE);
	struct ibv_wc received;

	assert_int_equal(set_whole(b, mkey, ACCESS, b->mr->lkey, (uintptr_t)b->memory, 64),
			 IBV_WC_SUCCESS);
	assert_int_equal(send_inval(b, mkey->rkey, &received), IBV_WC_SUCCESS);
	assert_int_equal(received.status, IBV_WC_SUCCESS);
	assert_true(received.wc_flags & IBV_WC_WITH_INV);
	assert_int_equal(received.invalidated_rkey, mkey->rkey);
	expect_remote(b, mkey->rkey, 0, 8);
	/* Others are refused. */
	assert_int_equal(set_whole(b, b->mkey[0], ACCESS, b->mr->lkey, (uintptr_t)b->memory, 64),
			 IBV_WC_SUCCESS);
	assert_int_not_equal(send_inval(b, b->mkey[0]->rkey, &received), IBV_WC_SUCCESS);
	assert_int_equal(received.status, IBV_WC_MW_BIND_ERR);
	assert_int_equal(received.vendor_err, BSN_VENDOR_TPT_INVALIDATE + BSN_TPT_PD);
	revive(b);
	assert_int_not_equal(send_inval(b, b->mr->rkey, &received), IBV_WC_SUCCESS);
	assert_int_equal(received.status, IBV_WC_MW_BIND_ERR);
	revive(b);
	assert_int_equal(
		write_to(b, b->mr->lkey, (uintptr_t)b->memory, b->mr->rkey, (uintptr_t)b->plain, 8),
		IBV_WC_SUCCESS);
	assert_int_equal(mlx5dv_destroy_mkey(mkey), 0);
}

static enum ibv_wc_status copy(struct bench *b, uint32_t to_key, uint64_t to, uint32_t from_key,
			       uint64_t from, size_t length)
{
	begin(b, 0);
	mlx5dv_wr_memcpy(b->dv, to_key, to, from_key, from, length);
	return finish(b);
}

static void the_device_copies_memory(void **state)
{
	struct bench *b = *state;
	const struct ibv_sge sges[2] = { { (uintptr_t)b->memory + 5000, 100, b->mr->lkey },
					 { (uintptr_t)b->memory, 100, b->mr->lkey } };
	const uint64_t plain = (uintptr_t)b->plain;

	assert_int_equal(copy(b, b->mr->lkey, plain, b->mr->lkey, (uintptr_t)b->memory, 5000),
			 IBV_WC_SUCCESS);
	assert_memory_equal(b->plain, b->memory, 5000);
	assert_int_equal(set_list(b, b->mkey[0], ACCESS, sges, 2), IBV_WC_SUCCESS);
	assert_int_equal(copy(b, b->mr->lkey, plain, b->mkey[0]->lkey, 50, 100), IBV_WC_SUCCESS);
	assert_memory_equal(b->plain, b->memory + 5050, 50);
	assert_memory_equal(b->plain + 50, b->memory, 50);
	assert_int_equal(copy(b, b->mr->lkey, plain, b->mkey[0]->lkey, 150, 51),
			 IBV_WC_LOC_PROT_ERR);
	assert_int_equal(b->vendor, BSN_VENDOR_TPT_GATHER + BSN_TPT_RIGHTS);
	revive(b);
	assert_int_equal(copy(b, b->mkey[0]->lkey, 200, b->mr->lkey, plain, 1),
			 IBV_WC_LOC_PROT_ERR);
	assert_int_equal(b->vendor, BSN_VENDOR_TPT_DATA + BSN_TPT_RIGHTS);
}

/* -- windows ----------------------------------------------------------------------------------- */

static enum ibv_wc_status bind_window(struct bench *b, struct ibv_mw *mw, unsigned access,
				      uint64_t addr, uint64_t length)
{
	const struct ibv_mw_bind_info info = { b->mr, addr, length, access };
	const uint32_t rkey = ibv_inc_rkey(mw->rkey);
	enum ibv_wc_status status;

	begin(b, 0);
	ibv_wr_bind_mw(b->ex, mw, rkey, &info);
	status = finish(b);
	mw->rkey = status ? mw->rkey : rkey;
	return status;
}

static void a_window_opens_what_it_is_bound_to(void **state)
{
	struct bench *b = *state;
	struct ibv_mw *mw = ibv_alloc_mw(b->l->pd, IBV_MW_TYPE_2);
	const uint64_t memory = (uintptr_t)b->memory;
	uint32_t old;

	assert_non_null(mw);
	expect_remote(b, mw->rkey, memory, 8);
	assert_int_equal(bind_window(b, mw, IBV_ACCESS_REMOTE_WRITE, memory + 64, 64),
			 IBV_WC_SUCCESS);
	assert_int_equal(write_to(b, b->mr->lkey, (uintptr_t)b->plain, mw->rkey, memory + 64, 64),
			 IBV_WC_SUCCESS);
	assert_memory_equal(b->memory + 64, b->plain, 64);
	expect_remote(b, mw->rkey, memory + 63, 8);
	expect_remote(b, mw->rkey, memory + 121, 8);
	assert_int_equal(read_from(b, mw->rkey, memory + 64, b->mr->lkey, (uintptr_t)b->plain, 8),
			 IBV_WC_REM_ACCESS_ERR);
	revive(b);
	/* It must be unbound before it is bound again, and gets another key. */
	assert_int_equal(bind_window(b, mw, IBV_ACCESS_REMOTE_WRITE, memory, 8),
			 IBV_WC_MW_BIND_ERR);
	assert_int_equal(b->vendor, BSN_VENDOR_TPT_FAST_REGISTER + BSN_TPT_RIGHTS);
	revive(b);
	old = mw->rkey;
	assert_int_equal(invalidate(b, mw->rkey), IBV_WC_SUCCESS);
	expect_remote(b, mw->rkey, memory + 64, 8);
	assert_int_equal(bind_window(b, mw, IBV_ACCESS_REMOTE_WRITE, memory, 8), IBV_WC_SUCCESS);
	expect_remote(b, old, memory, 8);
	assert_int_equal(write_to(b, b->mr->lkey, (uintptr_t)b->plain, mw->rkey, memory, 8),
			 IBV_WC_SUCCESS);
	old = mw->rkey;
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	expect_remote(b, old, memory, 8);
}

/* The region has to allow binding, as the specification says. */
static void a_window_is_bound_to_memory_that_allows_it(void **state)
{
	static const struct {
		int has;
		unsigned wants;
		enum ibv_wc_status status;
	} cases[] = {
		{ ACCESS, IBV_ACCESS_REMOTE_READ, IBV_WC_MW_BIND_ERR },
		{ IBV_ACCESS_MW_BIND, IBV_ACCESS_REMOTE_WRITE, IBV_WC_MW_BIND_ERR },
		{ IBV_ACCESS_MW_BIND, IBV_ACCESS_REMOTE_READ, IBV_WC_SUCCESS },
	};
	struct bench *b = *state, other = *b;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ibv_mw *mw = ibv_alloc_mw(b->l->pd, IBV_MW_TYPE_2);

		other.mr = ibv_reg_mr(b->l->pd, b->memory, 4096, cases[i].has);
		assert_non_null(other.mr);
		assert_int_equal(bind_window(&other, mw, cases[i].wants, (uintptr_t)b->memory, 64),
				 cases[i].status);
		if (cases[i].status) {
			assert_int_equal(other.vendor, BSN_VENDOR_TPT_FAST_REGISTER + BSN_TPT_RIGHTS);
			revive(b);
		}
		assert_int_equal(ibv_dealloc_mw(mw), 0);
		assert_int_equal(ibv_dereg_mr(other.mr), 0);
	}
}

static void connect_pair(struct bench *b, struct ibv_qp *other)
{
	struct ibv_qp *pair[2] = { b->qp, other };

	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(loopback_modify(pair[i], IBV_QPS_RESET, IBV_QP_STATE), 0);
		assert_int_equal(loopback_modify(pair[i], IBV_QPS_INIT, LOOPBACK_INIT_MASK), 0);
		assert_int_equal(loopback_modify_to(pair[i], pair[!i]->qp_num, IBV_QPS_RTR,
						    LOOPBACK_RTR_MASK),
				 0);
		assert_int_equal(loopback_modify(pair[i], IBV_QPS_RTS, LOOPBACK_RTS_MASK), 0);
	}
}

/*
 * A window of type 2 belongs to the queue pair on which it was bound; one of type 1 to its whole
 * domain.
 */
static void a_window_belongs_to_its_queue_pair(void **state)
{
	struct bench *b = *state;
	struct ibv_qp *other = create_qp(b->l);
	struct ibv_mw *two = ibv_alloc_mw(b->l->pd, IBV_MW_TYPE_2);
	struct ibv_mw *one = ibv_alloc_mw(b->l->pd, IBV_MW_TYPE_1);
	const uint64_t memory = (uintptr_t)b->memory;
	struct ibv_mw_bind bind_one = {
		.wr_id = 1,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = { b->mr, memory, 64, IBV_ACCESS_REMOTE_WRITE },
	};

	assert_int_equal(bind_window(b, two, IBV_ACCESS_REMOTE_WRITE, memory, 64), IBV_WC_SUCCESS);
	assert_int_equal(ibv_bind_mw(b->qp, one, &bind_one), 0);
	assert_int_equal(reap(b), IBV_WC_SUCCESS);
	assert_int_equal(write_to(b, b->mr->lkey, (uintptr_t)b->plain, two->rkey, memory, 8),
			 IBV_WC_SUCCESS);
	connect_pair(b, other);
	assert_int_equal(write_to(b, b->mr->lkey, (uintptr_t)b->plain, one->rkey, memory, 8),
			 IBV_WC_SUCCESS);
	assert_int_equal(write_to(b, b->mr->lkey, (uintptr_t)b->plain, two->rkey, memory, 8),
			 IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dealloc_mw(one), 0);
	assert_int_equal(ibv_dealloc_mw(two), 0);
	assert_int_equal(ibv_destroy_qp(other), 0);
}

static void a_domain_with_windows_is_in_use(void **state)
{
	struct bench *b = *state;
	struct ibv_pd *pd = ibv_alloc_pd(b->l->ctx);
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);

	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

/* -- another process --------------------------------------------------------------------------- */

enum { PEER_BYTES = 100, DEADLINE_S = 60 };

static struct {
	pid_t pid;
	int fd;
	char fabric[32];
} peer;

struct greeting {
	uint32_t qpn, rkey;
};

/* Writes bytes that count up, to the address that it is told. */
static void be_the_peer(int fd)
{
	struct cx_config config = config_of_fabric(peer.fabric);
	struct greeting mine = { 0 }, theirs;
	uint8_t bytes[PEER_BYTES];
	struct ibv_sge sge = { (uintptr_t)bytes, sizeof(bytes), 0 };
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_RDMA_WRITE,
					.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
					.sg_list = &sge,
					.num_sge = 1 };
	struct ibv_device **list;
	struct ibv_context *ctx;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_wc wc;

	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i + 1);
	NEED(!softcx_start(&config));
	NEED((list = ibv_get_device_list(NULL)) && (ctx = ibv_open_device(list[0])));
	NEED((cq = ibv_create_cq(ctx, 16, NULL, NULL, 0)));
	NEED((qp = loopback_create_qp(ibv_alloc_pd(ctx), cq, NULL, IBV_QPT_RC)));
	mine.qpn = qp->qp_num;
	NEED(write(fd, &mine, sizeof(mine)) == sizeof(mine));
	NEED(read(fd, &theirs, sizeof(theirs)) == sizeof(theirs));
	NEED(!loopback_modify_to(qp, theirs.qpn, IBV_QPS_INIT, LOOPBACK_INIT_MASK));
	NEED(!loopback_modify_to(qp, theirs.qpn, IBV_QPS_RTR, LOOPBACK_RTR_MASK));
	NEED(!loopback_modify_to(qp, theirs.qpn, IBV_QPS_RTS, LOOPBACK_RTS_MASK));
	wr.wr.rdma.rkey = theirs.rkey;
	NEED(!ibv_post_send(qp, &wr, &bad));
	NEED(ibv_poll_cq(cq, 1, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	_exit(0);
}

static int set_up_with_peer(void **state)
{
	struct cx_config config;
	int pair[2];

	snprintf(peer.fabric, sizeof(peer.fabric), "test-%d", (int)getpid());
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	peer.pid = fork();
	assert_true(peer.pid >= 0);
	if (!peer.pid) {
		alarm(DEADLINE_S);
		be_the_peer(pair[1]);
	}
	close(pair[1]);
	peer.fd = pair[0];
	config = config_of_fabric(peer.fabric);
	return set_up_config(state, &config);
}

/* Through lists over an interleaved mkey, all in this process's memory. */
static void a_peer_scatters_through_our_keys(void **state)
{
	struct bench *b = *state;
	struct mlx5dv_mr_interleaved columns = { (uintptr_t)b->memory, 3, 13, b->mr->lkey };
	const struct ibv_sge halves[2] = { { 60, 60, b->mkey[0]->lkey },
					   { 0, 60, b->mkey[0]->lkey } };
	struct greeting mine = { b->qp->qp_num, b->mkey[1]->rkey }, theirs;
	int status;

	assert_int_equal(set_interleaved(b, b->mkey[0], ACCESS, 40, &columns, 1), IBV_WC_SUCCESS);
	assert_int_equal(set_list(b, b->mkey[1], ACCESS, halves, 2), IBV_WC_SUCCESS);
	assert_int_equal(read(peer.fd, &theirs, sizeof(theirs)), sizeof(theirs));
	assert_int_equal(loopback_modify(b->qp, IBV_QPS_RESET, IBV_QP_STATE), 0);
	assert_int_equal(loopback_modify(b->qp, IBV_QPS_INIT, LOOPBACK_INIT_MASK), 0);
	assert_int_equal(loopback_modify_to(b->qp, theirs.qpn, IBV_QPS_RTR, LOOPBACK_RTR_MASK), 0);
	assert_int_equal(write(peer.fd, &mine, sizeof(mine)), sizeof(mine));
	assert_int_equal(waitpid(peer.pid, &status, 0), peer.pid);
	assert_int_equal(status, 0);
	for (unsigned i = 0; i < PEER_BYTES; i++) {
		const unsigned at = (i + 60) % 120; /* in the columns */

		assert_int_equal(b->memory[at / 3 * 16 + at % 3], i + 1);
	}
	assert_int_equal(close(peer.fd), 0);
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
	struct bench *b = *state;
	uint64_t *counter = (uint64_t *)(b->memory + 4096);
	struct ibv_qp_attr attr = { .qp_access_flags = ACCESS | IBV_ACCESS_REMOTE_ATOMIC };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint64_t addr = (uintptr_t)counter + cases[i].shift;
		const struct ibv_sge sges[2] = {
			{ addr, cases[i].first, b->mr->lkey },
			{ addr + cases[i].first, 64, b->mr->lkey },
		};

		assert_int_equal(ibv_modify_qp(b->qp, &attr, IBV_QP_ACCESS_FLAGS), 0);
		*counter = 7;
		assert_int_equal(
			set_list(b, b->mkey[0], ACCESS | IBV_ACCESS_REMOTE_ATOMIC, sges, 2),
			IBV_WC_SUCCESS);
		begin(b, 0);
		ibv_wr_atomic_fetch_add(b->ex, b->mkey[0]->rkey, 0, 5);
		ibv_wr_set_sge(b->ex, b->mr->lkey, (uintptr_t)b->plain, 8);
		assert_int_equal(finish(b), cases[i].status);
		assert_int_equal(*counter, cases[i].status ? 7 : 12);
		if (cases[i].status)
			revive(b);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(random_layouts_move_what_plain_c_moves),
		TEST(configuring_by_setters_is_the_same),
		TEST(translations_by_pointer_come_in_chunks),
		TEST(bad_changes_are_refused_and_leave_the_mkey_free),
		cmocka_unit_test_setup_teardown(the_trace_says_why_a_key_refuses, set_up_traced,
						tear_down_traced),
		cmocka_unit_test_setup_teardown(signatures_and_encryption_are_refused_by_name,
						set_up_traced, tear_down_traced),
		TEST(using_an_mkey_without_a_fence_is_found),
		TEST(using_an_mkey_elsewhere_before_its_umr_is_done_is_found),
		TEST(beyond_the_mkey_there_is_nothing),
		TEST(a_klm_has_no_more_than_the_device_takes),
		TEST(each_level_has_its_rights),
		TEST(another_domains_keys_do_not_open),
		TEST(an_mkey_is_free_until_configured_and_after_its_invalidation),
		TEST(what_is_no_mkey_of_the_programs_is_not_changed),
		TEST(keys_nest_as_deep_as_the_device_says),
		TEST(a_peer_frees_what_was_made_for_it),
		TEST(the_device_copies_memory),
		TEST(a_window_opens_what_it_is_bound_to),
		TEST(a_window_is_bound_to_memory_that_allows_it),
		TEST(a_window_belongs_to_its_queue_pair),
		TEST(a_domain_with_windows_is_in_use),
		TEST(an_atomic_wants_one_aligned_place),
		cmocka_unit_test_setup_teardown(a_peer_scatters_through_our_keys, set_up_with_peer,
						tear_down),
	};

	return cmocka_run_group_tests_name("softcx mkeys", tests, NULL, NULL);
}
