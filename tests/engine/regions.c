/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Regions of every kind on both paths: what access they allow, what not, and what is refused, with
 * its text.
 */
#define _GNU_SOURCE 1
#include "harness.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bsn_mem.h"

enum { PAGE = 4096, LENGTH = 64 };

#define WRITES (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)

/* Why the device has no such region; then the case ends. NULL: it has. */
static const char *why_not(struct bench *b, const char *feature)
{
	const struct bsn_device_info *info = bench_info(b);

	for (uint32_t i = 0; i < info->feature_count; i++)
		if (!strcmp(info->features[i].name, feature))
			return info->features[i].why_not;
	fail_msg("no feature %s", feature);
	return NULL;
}

static void write_and_expect(struct bench *b, struct bsn_sge local, uint64_t addr, uint32_t rkey,
			     enum ibv_wc_status status)
{
	ok(bsn_write(b->ep[0], &local, &(struct bsn_remote){ addr, rkey }, 1, NOW));
	expect_status(b, b->cq[0], 1, BSN_OPCODE_RDMA_WRITE, status);
	if (status)
		bench_start_again(b);
}

static void read_and_expect(struct bench *b, struct bsn_sge local, uint64_t addr, uint32_t rkey,
			    enum ibv_wc_status status)
{
	ok(bsn_read(b->ep[0], &local, &(struct bsn_remote){ addr, rkey }, 2, NOW));
	expect_status(b, b->cq[0], 2, BSN_OPCODE_RDMA_READ, status);
	if (status)
		bench_start_again(b);
}

static struct bsn_sge of(const struct bsn_mr *mr, uint64_t offset)
{
	return (struct bsn_sge){ mr->addr + offset, LENGTH, mr->lkey };
}

/* Moves data from end 0's memory into the region, and from there to end 1's memory. */
static void carries_data(struct bench *b, const struct bsn_mr *mr, uint64_t offset)
{
	memset(bench_at(b, 1, 0), 0, LENGTH);
	write_and_expect(b, bench_sge(b, 0, 0, LENGTH), mr->addr + offset, mr->rkey, 0);
	write_and_expect(b, of(mr, offset), bench_remote(b, 1, 0).addr, bench_remote(b, 1, 0).rkey,
			 0);
	assert_memory_equal(bench_at(b, 1, 0), bench_at(b, 0, 0), LENGTH);
}

/* -- addresses --------------------------------------------------------------------------------- */

static void a_region_is_called_as_one_likes(struct bench *b)
{
	const uint64_t iovas[] = { 0, 0x7700000000000000, 16 * PAGE };
	uint8_t *pages = bench_pages(b, 2);

	for (size_t i = 0; i < COUNT(iovas); i++) {
		const struct bsn_mr_attr attr = { .has_iova = true, .iova = iovas[i] };
		struct bsn_mr *mr;
		ok(bsn_mr_register(b->device, pages, PAGE, &attr, &mr));
		assert_int_equal(mr->addr, iovas[i]);
		carries_data(b, mr, 0);
		carries_data(b, mr, PAGE - LENGTH);
		ok(bsn_mr_deregister(mr));
	}
	fails(EINVAL, "same byte of a page",
	      bsn_mr_register(b->device, pages + 8, PAGE,
			      &(struct bsn_mr_attr){ .has_iova = true, .iova = 4 },
			      &(struct bsn_mr *){ NULL }));
}

static void a_region_has_bounds(struct bench *b)
{
	uint8_t *pages = bench_pages(b, 3);
	struct bsn_mr *mr =
		bench_mr(b, pages + 100, PAGE, &(struct bsn_mr_attr){ .is_relaxed = true });

	carries_data(b, mr, 0);
	carries_data(b, mr, PAGE - LENGTH);
	for (int end = 0; end < 2; end++) {
		const uint64_t addr = end ? mr->addr + PAGE - LENGTH + 1 : mr->addr - 1;
		const struct bsn_sge local = { addr, LENGTH, mr->lkey };
		write_and_expect(b, local, bench_remote(b, 1, 0).addr, bench_remote(b, 1, 0).rkey,
				 IBV_WC_LOC_PROT_ERR);
		write_and_expect(b, bench_sge(b, 0, 0, LENGTH), addr, mr->rkey,
				 IBV_WC_REM_ACCESS_ERR);
	}
}

/* Regions that lack one right each. */
static void rights_are_kept(struct bench *b)
{
	const struct bsn_sge mine = bench_sge(b, 0, 0, LENGTH);
	uint8_t *pages = bench_pages(b, 1);
	struct bsn_mr *mr;

	ok(bsn_mr_register(b->device, pages, PAGE,
			   &(struct bsn_mr_attr){ .access = IBV_ACCESS_REMOTE_READ }, &mr));
	write_and_expect(b, mine, mr->addr, mr->rkey, IBV_WC_REM_ACCESS_ERR);
	read_and_expect(b, mine, mr->addr, mr->rkey, IBV_WC_SUCCESS);
	read_and_expect(b, of(mr, 0), bench_remote(b, 1, 0).addr, bench_remote(b, 1, 0).rkey,
			IBV_WC_LOC_PROT_ERR);
	ok(bsn_mr_deregister(mr));
	ok(bsn_mr_register(b->device, pages, PAGE, &(struct bsn_mr_attr){ .access = WRITES }, &mr));
	read_and_expect(b, mine, mr->addr, mr->rkey, IBV_WC_REM_ACCESS_ERR);
	write_and_expect(b, mine, mr->addr, mr->rkey, IBV_WC_SUCCESS);
	uint32_t rkey = mr->rkey;
	ok(bsn_mr_deregister(mr));
	write_and_expect(b, mine, (uintptr_t)pages, rkey, IBV_WC_REM_ACCESS_ERR);
}

/* -- registering anew -------------------------------------------------------------------------- */

/* rxe cannot (drivers/infiniband/sw/rxe/rxe_verbs.c): the region stays as it was. */
static void stays_as_it_was(struct bench *b, struct bsn_mr *mr)
{
	carries_data(b, mr, 0);
	ok(bsn_mr_deregister(mr));
}

static void a_region_changes_under_its_keys(struct bench *b)
{
	const struct bsn_mr_attr less = { .access = IBV_ACCESS_LOCAL_WRITE };
	uint8_t *pages = bench_pages(b, 2);
	struct bsn_mr *mr;
	struct bsn_pd *pd;

	ok(bsn_mr_register(b->device, pages, PAGE, NULL, &mr));
	uint32_t rkey = mr->rkey;
	int err = bsn_mr_change(mr, BSN_MR_CHANGE_MEMORY, pages + PAGE, PAGE, NULL);
	if (b->is_rxe && err == -EOPNOTSUPP) {
		stays_as_it_was(b, mr);
		return;
	}
	ok(err);
	assert_int_equal(mr->addr, (uintptr_t)pages + PAGE);
	assert_int_equal(mr->rkey, rkey);
	carries_data(b, mr, 0);
	write_and_expect(b, bench_sge(b, 0, 0, LENGTH), (uintptr_t)pages, rkey,
			 IBV_WC_REM_ACCESS_ERR);
	ok(bsn_mr_change(mr, BSN_MR_CHANGE_ACCESS, NULL, 0, &less));
	write_and_expect(b, bench_sge(b, 0, 0, LENGTH), mr->addr, mr->rkey, IBV_WC_REM_ACCESS_ERR);
	ok(bsn_pd_create(b->device, &pd));
	ok(bsn_mr_change(mr, BSN_MR_CHANGE_PD | BSN_MR_CHANGE_ACCESS, NULL, 0,
			 &(struct bsn_mr_attr){ .pd = pd }));
	write_and_expect(b, of(mr, 0), bench_remote(b, 1, 0).addr, bench_remote(b, 1, 0).rkey,
			 IBV_WC_LOC_PROT_ERR);
	assert_int_equal(bsn_pd_destroy(pd), -EBUSY);
	ok(bsn_mr_change(mr, BSN_MR_CHANGE_PD, NULL, 0, NULL));
	ok(bsn_pd_destroy(pd));
	carries_data(b, mr, 0);
	fails(EINVAL, "no change", bsn_mr_change(mr, 0, NULL, 0, NULL));
	fails(EINVAL, "no memory", bsn_mr_change(mr, BSN_MR_CHANGE_MEMORY, NULL, 0, NULL));
	ok(bsn_mr_deregister(mr));
	fails(EBUSY, "its own bytes",
	      bsn_mr_change(b->mem[0], BSN_MR_CHANGE_MEMORY, pages, PAGE, NULL));
}

/* -- on demand --------------------------------------------------------------------------------- */

static void memory_on_demand(struct bench *b)
{
	const char *why = why_not(b, "on-demand");
	const struct bsn_mr_attr attr = { .is_on_demand = true };
	uint8_t *pages = bench_pages(b, 2);
	struct bsn_sge piece;
	struct bsn_mr *mr;
	int err = bsn_mr_register(b->device, pages, 2 * PAGE, &attr, &mr);

	assert_int_equal(err, why ? -EOPNOTSUPP : 0);
	if (!why) {
		piece = (struct bsn_sge){ mr->addr, 2 * PAGE, mr->lkey };
		ok(bsn_mr_prefetch(b->device, NULL, &piece, 1, BSN_PREFETCH_WAIT));
		ok(bsn_mr_prefetch(b->device, NULL, &piece, 1, BSN_PREFETCH_WRITE));
		ok(bsn_mr_prefetch(b->device, NULL, &piece, 1, BSN_PREFETCH_NO_FAULT));
		piece.addr += PAGE + 1;
		fails(EFAULT, "beyond its region",
		      bsn_mr_prefetch(b->device, NULL, &piece, 1, BSN_PREFETCH_WAIT));
		piece.lkey = b->mem[0]->lkey;
		fails(ENOENT, "on-demand", bsn_mr_prefetch(b->device, NULL, &piece, 1, 0));
		carries_data(b, mr, 0);
		carries_data(b, mr, 2 * PAGE - LENGTH);
		ok(bsn_mr_deregister(mr));
	}
	fails(EINVAL, "flags", bsn_mr_prefetch(b->device, NULL, &piece, 1, 64));
}

static void all_memory(struct bench *b)
{
	const char *why = why_not(b, "implicit");
	uint8_t *pages = bench_pages(b, 1);
	struct bsn_mr *mr;
	const struct bsn_mr_attr on_demand = { .is_on_demand = true };
	int err = bsn_mr_register(b->device, NULL, SIZE_MAX, &on_demand, &mr);

	assert_int_equal(err, why ? -EOPNOTSUPP : 0);
	if (!why) {
		carries_data(b, mr, (uintptr_t)pages);
		fails(EOPNOTSUPP, "has an IOVA",
		      bsn_mr_change(mr, BSN_MR_CHANGE_MEMORY, pages, PAGE, NULL));
		ok(bsn_mr_deregister(mr));
	}
}

/* -- of the device ----------------------------------------------------------------------------- */

static void memory_of_the_device(struct bench *b)
{
	const char *why = why_not(b, "device-memory");
	uint8_t bytes[256];
	struct bsn_dm *dm;
	struct bsn_mr *mr;
	int err = bsn_dm_alloc(b->device, sizeof(bytes), 6, &dm);

	assert_int_equal(err, why ? -EOPNOTSUPP : 0);
	if (why)
		return;
	memset(bytes, 0x3c, sizeof(bytes));
	ok(bsn_dm_write(dm, 0, bytes, sizeof(bytes)));
	ok(bsn_mr_register_dm(dm, LENGTH, sizeof(bytes) - LENGTH, NULL, &mr));
	assert_int_equal(mr->addr, 0);
	carries_data(b, mr, 0);
	ok(bsn_dm_read(dm, 0, bytes, sizeof(bytes)));
	assert_int_equal(bytes[LENGTH - 1], 0x3c);
	assert_memory_equal(bytes + LENGTH, bench_at(b, 0, 0), LENGTH);
	assert_int_equal(bytes[2 * LENGTH], 0x3c);
	write_and_expect(b, bench_sge(b, 0, 0, LENGTH), sizeof(bytes) - 2 * LENGTH + 1, mr->rkey,
			 IBV_WC_REM_ACCESS_ERR);
	fails(EINVAL, "multiples of 4", bsn_dm_write(dm, 2, bytes, 4));
	fails(EINVAL, "multiples of 4", bsn_dm_read(dm, 0, bytes, 3));
	fails(EFAULT, "has 256", bsn_dm_read(dm, 4, bytes, sizeof(bytes)));
	fails(EINVAL, "has 256", bsn_mr_register_dm(dm, 4, sizeof(bytes), NULL, &mr));
	fails(EBUSY, "registered", bsn_dm_free(dm));
	fails(EINVAL, "bytes of memory", bsn_dm_alloc(b->device, 1 << 30, 0, &dm));
	ok(bsn_mr_deregister(mr));
	ok(bsn_dm_free(dm));
}

/* -- of a dma-buf, and of nothing -------------------------------------------------------------- */

/*
 * On the model a memfd serves as a dma-buf. Elsewhere an exporter is needed, such as a GPU's
 * driver.
 */
static void memory_of_a_dma_buf(struct bench *b)
{
	const char *why = why_not(b, "dma-buf");
	const int fd = memfd_create("dma-buf", MFD_CLOEXEC);
	struct bsn_mr *mr;
	char byte;

	assert_int_equal(ftruncate(fd, 2 * PAGE), 0);
	if (why) {
		fails(EOPNOTSUPP, "dma-buf",
		      bsn_mr_register_dmabuf(b->device, fd, 0, PAGE, NULL, &mr));
	} else if (b->is_model) {
		ok(bsn_mr_register_dmabuf(b->device, fd, PAGE, PAGE, NULL, &mr));
		assert_int_equal(mr->addr, PAGE);
		carries_data(b, mr, PAGE - LENGTH);
		assert_int_equal(pread(fd, &byte, 1, 2 * PAGE - LENGTH), 1);
		assert_int_equal(byte, (char)*bench_at(b, 0, 0));
		ok(bsn_mr_deregister(mr));
		fails(EINVAL, "ends before",
		      bsn_mr_register_dmabuf(b->device, fd, PAGE, PAGE + 1, NULL, &mr));
		fails(EBADF, "not an open descriptor",
		      bsn_mr_register_dmabuf(b->device, -1, 0, PAGE, NULL, &mr));
	}
	close(fd);
}

static void memory_of_nothing(struct bench *b)
{
	const char *why = why_not(b, "null-region");
	const struct bsn_remote there = bench_remote(b, 1, 0);
	struct bsn_mr *mr;
	int err = bsn_mr_register_null(b->device, NULL, &mr);

	assert_int_equal(err, why ? -EOPNOTSUPP : 0);
	if (why)
		return;
	memset(bench_at(b, 1, 0), 0x77, LENGTH + 1);
	write_and_expect(b, of(mr, 12345), there.addr, there.rkey, IBV_WC_SUCCESS);
	assert_int_equal(*bench_at(b, 1, LENGTH - 1), 0);
	assert_int_equal(*bench_at(b, 1, LENGTH), 0x77);
	read_and_expect(b, of(mr, 12345), there.addr, there.rkey, IBV_WC_SUCCESS);
	ok(bsn_mr_deregister(mr));
}

static void memory_by_its_physical_address(struct bench *b)
{
	const struct bsn_mr_attr attr = { .is_physical = true };
	const struct bsn_mr_attr all = { .is_physical = true, .is_on_demand = true };
	const char *why = why_not(b, "physical-address");
	uint8_t *pages = bench_pages(b, 1);
	struct bsn_mr *mr = NULL;
	struct bsn_dm *dm;

	assert_non_null(strstr(why, "the kernel"));
	fails(EOPNOTSUPP, why, bsn_mr_register(b->device, pages, PAGE, &attr, &mr));
	fails(EOPNOTSUPP, why, bsn_buf_alloc(b->device, PAGE, &attr, &mr));
	if (!why_not(b, "implicit"))
		fails(EOPNOTSUPP, why, bsn_mr_register(b->device, NULL, SIZE_MAX, &all, &mr));
	if (!why_not(b, "dma-buf"))
		fails(EOPNOTSUPP, why, bsn_mr_register_dmabuf(b->device, 0, 0, PAGE, &attr, &mr));
	if (!why_not(b, "device-memory")) {
		ok(bsn_dm_alloc(b->device, 64, 0, &dm));
		fails(EOPNOTSUPP, why, bsn_mr_register_dm(dm, 0, 64, &attr, &mr));
		ok(bsn_dm_free(dm));
	}
	fails(EOPNOTSUPP, why, bsn_mr_change(b->mem[0], BSN_MR_CHANGE_ACCESS, NULL, 0, &attr));
	assert_null(mr);
}

static const struct bench_case cases[] = {
	{ CASE(a_region_is_called_as_one_likes), OWN },
	{ CASE(a_region_has_bounds), OWN },
	{ CASE(rights_are_kept), OWN },
	{ CASE(a_region_changes_under_its_keys), OWN },
	{ CASE(memory_on_demand), OWN },
	{ CASE(all_memory), OWN },
	{ CASE(memory_of_the_device), OWN },
	{ CASE(memory_of_a_dma_buf), OWN },
	{ CASE(memory_of_nothing), OWN },
	{ CASE(memory_by_its_physical_address), OWN },
};

BENCH_MAIN("regions")
