/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Regions that are not pinned memory of the program: paged on demand, of the device, of a dma-buf,
 * of nothing. What access they allow, and what the kernel refuses.
 */
#define _GNU_SOURCE 1
#include "loopback.h"

#include <sys/mman.h>

enum { PAGE = 4096, BYTES = 64, DEADLINE_S = 60 };

#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

static enum ibv_wc_status transfer(enum ibv_wr_opcode opcode, uint64_t local, uint32_t lkey,
				   uint64_t remote, uint32_t rkey)
{
	loopback_post(opcode, local, lkey, BYTES, remote, rkey);
	return loopback_outcome();
}

/* Writes from the first half of the loopback's memory to a region, by its rkey. */
static enum ibv_wc_status write_to(uint64_t addr, const struct ibv_mr *mr)
{
	return transfer(IBV_WR_RDMA_WRITE, (uintptr_t)lo.memory, lo.mr->lkey, addr, mr->rkey);
}

static enum ibv_wc_status write_from(uint64_t addr, const struct ibv_mr *mr)
{
	return transfer(IBV_WR_RDMA_WRITE, addr, mr->lkey, (uintptr_t)lo.memory + 2048,
			lo.mr->rkey);
}

static char *map_page(void *at, char fill)
{
	char *page = mmap(at, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);

	assert_ptr_not_equal(page, MAP_FAILED);
	memset(page, fill, PAGE);
	return page;
}

/* Unmaps the page, so that nothing else is mapped there. */
static void lose_page(char *page)
{
	assert_ptr_equal(
		mmap(page, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), page);
}

/* -- on demand --------------------------------------------------------------------------------- */

static void memory_on_demand_follows_its_mapping(void **state)
{
	char *page = map_page(NULL, 'a');
	struct ibv_mr *mr = made(ibv_reg_mr(lo.pd, page, PAGE, ACCESS | IBV_ACCESS_ON_DEMAND));

	map_page(page, 'b');
	assert_int_equal(write_from((uintptr_t)page, mr), IBV_WC_SUCCESS);
	assert_int_equal(lo.memory[2048], 'b');
	assert_int_equal(cx_lint_count(softcx_hca()), 0);
	lose_page(page);
	assert_int_equal(write_from((uintptr_t)page, mr), IBV_WC_LOC_PROT_ERR);
	assert_int_equal(write_to((uintptr_t)page, mr), IBV_WC_REM_OP_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	munmap(page, PAGE);
}

static void an_implicit_region_is_all_memory(void **state)
{
	struct ibv_mr *mr = made(ibv_reg_mr(lo.pd, NULL, SIZE_MAX, ACCESS | IBV_ACCESS_ON_DEMAND));
	char *page = map_page(NULL, 'c');

	assert_int_equal(write_from((uintptr_t)page, mr), IBV_WC_SUCCESS);
	assert_int_equal(lo.memory[2048], 'c');
	lose_page(page);
	assert_int_equal(write_from((uintptr_t)page, mr), IBV_WC_LOC_PROT_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	munmap(page, PAGE);
}

static enum ibv_wc_status read_between(const struct ibv_mr *into, char *to, const struct ibv_mr *of,
				       char *from)
{
	return transfer(IBV_WR_RDMA_READ, (uintptr_t)to, into->lkey, (uintptr_t)from, of->rkey);
}

/* The status blames the side whose memory is gone. */
static void a_reader_knows_whose_memory_is_gone(void **state)
{
	char *page = map_page(NULL, 'h');
	struct ibv_mr *mr = made(ibv_reg_mr(lo.pd, page, PAGE, ACCESS | IBV_ACCESS_ON_DEMAND));

	assert_int_equal(read_between(lo.mr, lo.memory, mr, page), IBV_WC_SUCCESS);
	lose_page(page);
	assert_int_equal(read_between(lo.mr, lo.memory, mr, page), IBV_WC_REM_OP_ERR);
	assert_int_equal(read_between(mr, page, lo.mr, lo.memory), IBV_WC_LOC_PROT_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	munmap(page, PAGE);
}

/*
 * If the sender's memory is gone, the SEND fails before the receive has data; if the receiver's is
 * gone, the receive fails, too.
 */
static void a_send_knows_whose_memory_is_gone(void **state)
{
	char *page = map_page(NULL, 'i');
	struct ibv_mr *mr = made(ibv_reg_mr(lo.pd, page, PAGE, ACCESS | IBV_ACCESS_ON_DEMAND));

	lose_page(page);
	for (int sender_lost = 0; sender_lost < 2; sender_lost++) {
		loopback_post_receive(1, sender_lost ? lo.memory : page,
				      (sender_lost ? lo.mr : mr)->lkey, BYTES);
		loopback_post(IBV_WR_SEND, (uintptr_t)(sender_lost ? page : lo.memory),
			      (sender_lost ? mr : lo.mr)->lkey, BYTES, 0, 0);
		for (int i = 0; i < 2; i++) {
			const struct ibv_wc wc = loopback_wait();
			assert_int_equal(wc.status,
					 wc.wr_id == 7 && !sender_lost  ? IBV_WC_REM_OP_ERR
					 : wc.wr_id == 1 && sender_lost ? IBV_WC_WR_FLUSH_ERR
									: IBV_WC_LOC_PROT_ERR);
		}
		loopback_reconnect();
	}
	assert_int_equal(ibv_dereg_mr(mr), 0);
	munmap(page, PAGE);
}

static int advise(enum ibv_advise_mr_advice advice, uint32_t flags, void *addr, uint32_t length,
		  uint32_t lkey)
{
	return ibv_advise_mr(lo.pd, advice, flags,
			     &(struct ibv_sge){ (uintptr_t)addr, length, lkey }, 1);
}

static void advice_is_checked(void **state)
{
	const enum ibv_advise_mr_advice read = IBV_ADVISE_MR_ADVICE_PREFETCH;
	const enum ibv_advise_mr_advice write = IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	const uint32_t flush = IBV_ADVISE_MR_FLAG_FLUSH;
	char *page = map_page(NULL, 'd');
	struct ibv_pd *other = ibv_alloc_pd(lo.ctx);
	struct ibv_mr *read_only = made(ibv_reg_mr(lo.pd, page, PAGE, IBV_ACCESS_ON_DEMAND));
	struct ibv_mr *foreign = made(ibv_reg_mr(other, page, PAGE, IBV_ACCESS_ON_DEMAND));

	assert_int_equal(advise(read, flush, page, PAGE, read_only->lkey), 0);
	assert_int_equal(advise(write, flush, page, PAGE, read_only->lkey), EPERM);
	assert_int_equal(advise(read, flush, page, PAGE, foreign->lkey), EPERM);
	assert_int_equal(advise(read, flush, lo.memory, BYTES, lo.mr->lkey), ENOENT);
	assert_int_equal(advise(read, flush, page + 1, PAGE, read_only->lkey), EFAULT);
	assert_int_equal(advise(read, flush << 1, page, PAGE, read_only->lkey), EINVAL);
	assert_int_equal(advise((enum ibv_advise_mr_advice)77, flush, page, PAGE, read_only->lkey),
			 EOPNOTSUPP);
	lose_page(page);
	assert_int_equal(advise(read, flush, page, PAGE, read_only->lkey), EFAULT);
	assert_int_equal(advise(read, 0, page, PAGE, read_only->lkey), 0);
	assert_int_equal(ibv_dereg_mr(read_only), 0);
	assert_int_equal(ibv_dereg_mr(foreign), 0);
	assert_int_equal(ibv_dealloc_pd(other), 0);
	munmap(page, PAGE);
}

/* -- of the device ----------------------------------------------------------------------------- */

static struct ibv_mr *register_dm(struct ibv_dm *dm, uint64_t offset, size_t length,
				  unsigned access)
{
	return ibv_reg_dm_mr(lo.pd, dm, offset, length, access | IBV_ACCESS_ZERO_BASED);
}

static void device_memory_has_bounds(void **state)
{
	struct ibv_dm *dm = ibv_alloc_dm(lo.ctx, &(struct ibv_alloc_dm_attr){ .length = 256 });
	struct ibv_mr *mr = made(register_dm(dm, 64, 128, ACCESS));
	char bytes[256];

	memset(lo.memory, 'e', BYTES);
	assert_int_equal(write_to(64, mr), IBV_WC_SUCCESS);
	assert_int_equal(ibv_memcpy_from_dm(bytes, dm, 0, sizeof(bytes)), 0);
	assert_int_equal(bytes[127], 0);
	assert_int_equal(bytes[128], 'e');
	assert_int_equal(bytes[191], 'e');
	assert_int_equal(write_to(65, mr), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(write_from(65, mr), IBV_WC_LOC_PROT_ERR);
	not_made(register_dm(dm, 200, 57, ACCESS), EINVAL);
	not_made(ibv_reg_dm_mr(lo.pd, dm, 0, 64, ACCESS), EINVAL);
	assert_int_equal(ibv_free_dm(dm), EBUSY);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_free_dm(dm), 0);
}

static void device_memory_ends(void **state)
{
	struct ibv_device_attr_ex attr = { 0 };
	struct ibv_alloc_dm_attr half;
	struct ibv_dm *dm[2];

	assert_int_equal(ibv_query_device_ex(lo.ctx, NULL, &attr), 0);
	assert_int_equal(attr.max_dm_size, 128 << 10);
	half = (struct ibv_alloc_dm_attr){ .length = attr.max_dm_size / 2 };
	for (int i = 0; i < 2; i++)
		assert_non_null(dm[i] = ibv_alloc_dm(lo.ctx, &half));
	assert_null(ibv_alloc_dm(lo.ctx, &(struct ibv_alloc_dm_attr){ .length = 4 }));
	assert_int_equal(ibv_free_dm(dm[0]), 0);
	assert_non_null(dm[0] = ibv_alloc_dm(lo.ctx, &half));
	for (int i = 0; i < 2; i++)
		assert_int_equal(ibv_free_dm(dm[i]), 0);
}

/* -- of a dma-buf, and of nothing -------------------------------------------------------------- */

static void a_dma_buf_needs_no_mapping(void **state)
{
	const int fd = memfd_create("buffer", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct ibv_mr *mr;
	char byte = 0;

	assert_int_equal(ftruncate(fd, 2 * PAGE), 0);
	mr = made(ibv_reg_dmabuf_mr(lo.pd, PAGE, PAGE, 0, fd, ACCESS));
	memset(lo.memory, 'f', BYTES);
	assert_int_equal(write_to(PAGE - BYTES, mr), IBV_WC_SUCCESS);
	assert_int_equal(pread(fd, &byte, 1, 2 * PAGE - 1), 1);
	assert_int_equal(byte, 'f');
	assert_int_equal(write_to(PAGE - BYTES + 1, mr), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	not_made(ibv_reg_dmabuf_mr(lo.pd, PAGE, PAGE + 1, 0, fd, ACCESS), EINVAL);
	not_made(ibv_reg_dmabuf_mr(lo.pd, 1, 64, 0, fd, ACCESS), EINVAL);
	not_made(ibv_reg_dmabuf_mr(lo.pd, 0, 64, 0, STDIN_FILENO, ACCESS), EINVAL);
	not_made(ibv_reg_dmabuf_mr(lo.pd, 0, 64, 0, 999, ACCESS), EBADF);
	close(fd);
}

static void the_null_region_is_zeroes_and_swallows(void **state)
{
	struct ibv_mr *mr = made(ibv_alloc_null_mr(lo.pd));

	memset(lo.memory, 'g', sizeof(lo.memory));
	assert_int_equal(write_from(12345, mr), IBV_WC_SUCCESS);
	assert_int_equal(lo.memory[2048], 0);
	assert_int_equal(lo.memory[2048 + BYTES], 'g');
	assert_int_equal(
		transfer(IBV_WR_RDMA_READ, 12345, mr->lkey, (uintptr_t)lo.memory, lo.mr->rkey),
		IBV_WC_SUCCESS);
	/* perftest has peers use it as an rkey, too. */
	memset(lo.memory, 'g', sizeof(lo.memory));
	assert_int_equal(
		transfer(IBV_WR_RDMA_WRITE, (uintptr_t)lo.memory, lo.mr->lkey, 0, mr->lkey),
		IBV_WC_SUCCESS);
	assert_int_equal(
		transfer(IBV_WR_RDMA_READ, (uintptr_t)lo.memory, lo.mr->lkey, 12345, mr->lkey),
		IBV_WC_SUCCESS);
	assert_int_equal(lo.memory[0], 0);
	assert_int_equal(lo.memory[BYTES], 'g');
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

int main(void)
{
	alarm(DEADLINE_S);
	return RUN(ON_ACTIVE(memory_on_demand_follows_its_mapping),
		   ON_ACTIVE(an_implicit_region_is_all_memory),
		   ON_ACTIVE(a_reader_knows_whose_memory_is_gone),
		   ON_ACTIVE(a_send_knows_whose_memory_is_gone), ON_ACTIVE(advice_is_checked),
		   ON_ACTIVE(device_memory_has_bounds), ON_ACTIVE(device_memory_ends),
		   ON_ACTIVE(a_dma_buf_needs_no_mapping),
		   ON_ACTIVE(the_null_region_is_zeroes_and_swallows));
}
