/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Regions that are not pinned memory of the program: paged on demand, of the device, of a dma-buf,
 * of nothing. What access they allow, and what the kernel refuses.
 */
#define _GNU_SOURCE 1
#include "loopback.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, BYTES = 64, DEADLINE_S = 60 };

#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

static enum ibv_wc_status transfer(struct loopback *l, enum ibv_wr_opcode opcode, uint64_t local,
				   uint32_t lkey, uint64_t remote, uint32_t rkey)
{
	struct ibv_sge sge = { local, BYTES, lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { remote, rkey } };

	return loopback_run(l, &wr);
}

/* Writes from the first half of the loopback's memory to a region, by its rkey. */
static enum ibv_wc_status write_to(struct loopback *l, uint64_t addr, const struct ibv_mr *mr)
{
	return transfer(l, IBV_WR_RDMA_WRITE, (uintptr_t)l->memory, l->mr->lkey, addr, mr->rkey);
}

static enum ibv_wc_status write_from(struct loopback *l, uint64_t addr, const struct ibv_mr *mr)
{
	return transfer(l, IBV_WR_RDMA_WRITE, addr, mr->lkey, (uintptr_t)l->memory + 2048,
			l->mr->rkey);
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
	struct loopback *l = *state;
	char *page = map_page(NULL, 'a');
	struct ibv_mr *mr = ibv_reg_mr(l->pd, page, PAGE, ACCESS | IBV_ACCESS_ON_DEMAND);

	assert_non_null(mr);
	map_page(page, 'b');
	assert_int_equal(write_from(l, (uintptr_t)page, mr), IBV_WC_SUCCESS);
	assert_int_equal(l->memory[2048], 'b');
	assert_int_equal(cx_lint_count(softcx_hca()), 0);
	lose_page(page);
	assert_int_equal(write_from(l, (uintptr_t)page, mr), IBV_WC_LOC_PROT_ERR);
	assert_int_equal(write_to(l, (uintptr_t)page, mr), IBV_WC_REM_OP_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	munmap(page, PAGE);
}

static void an_implicit_region_is_all_memory(void **state)
{
	struct loopback *l = *state;
	struct ibv_mr *mr = ibv_reg_mr(l->pd, NULL, SIZE_MAX, ACCESS | IBV_ACCESS_ON_DEMAND);
	char *page = map_page(NULL, 'c');

	assert_non_null(mr);
	assert_int_equal(write_from(l, (uintptr_t)page, mr), IBV_WC_SUCCESS);
	assert_int_equal(l->memory[2048], 'c');
	lose_page(page);
	assert_int_equal(write_from(l, (uintptr_t)page, mr), IBV_WC_LOC_PROT_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	munmap(page, PAGE);
}

static enum ibv_wc_status read_between(struct loopback *l, const struct ibv_mr *into, char *to,
				       const struct ibv_mr *of, char *from)
{
	return transfer(l, IBV_WR_RDMA_READ, (uintptr_t)to, into->lkey, (uintptr_t)from, of->rkey);
}

/* The status blames the side whose memory is gone. */
static void a_reader_knows_whose_memory_is_gone(void **state)
{
	struct loopback *l = *state;
	char *page = map_page(NULL, 'h');
	struct ibv_mr *mr = ibv_reg_mr(l->pd, page, PAGE, ACCESS | IBV_ACCESS_ON_DEMAND);

	assert_non_null(mr);
	assert_int_equal(read_between(l, l->mr, l->memory, mr, page), IBV_WC_SUCCESS);
	lose_page(page);
	assert_int_equal(read_between(l, l->mr, l->memory, mr, page), IBV_WC_REM_OP_ERR);
	assert_int_equal(read_between(l, mr, page, l->mr, l->memory), IBV_WC_LOC_PROT_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	munmap(page, PAGE);
}

static struct ibv_wc next_completion(struct loopback *l)
{
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(l->cq, 1, &wc)))
		;
	assert_int_equal(n, 1);
	return wc;
}

static void post_receive(struct loopback *l, char *to, const struct ibv_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)to, BYTES, mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = 7, .sg_list = &sge, .num_sge = 1 };

	assert_int_equal(ibv_post_recv(l->qp, &wr, &bad), 0);
}

static void post_send(struct loopback *l, char *from, const struct ibv_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)from, BYTES, mr->lkey };
	struct ibv_send_wr *bad, wr = { .wr_id = 8,
					.sg_list = &sge,
					.num_sge = 1,
					.opcode = IBV_WR_SEND,
					.send_flags = IBV_SEND_SIGNALED };

	assert_int_equal(ibv_post_send(l->qp, &wr, &bad), 0);
}

/*
 * If the sender's memory is gone, the SEND fails before the receive has data; if the receiver's is
 * gone, the receive fails, too.
 */
static void a_send_knows_whose_memory_is_gone(void **state)
{
	struct loopback *l = *state;
	char *page = map_page(NULL, 'i');
	struct ibv_mr *mr = ibv_reg_mr(l->pd, page, PAGE, ACCESS | IBV_ACCESS_ON_DEMAND);
	struct ibv_wc wc;

	assert_non_null(mr);
	lose_page(page);
	for (int sender_lost = 0; sender_lost < 2; sender_lost++) {
		post_receive(l, sender_lost ? l->memory : page, sender_lost ? l->mr : mr);
		post_send(l, sender_lost ? page : l->memory, sender_lost ? mr : l->mr);
		for (int i = 0; i < 2; i++) {
			wc = next_completion(l);
			assert_int_equal(wc.status,
					 wc.wr_id == 8 && !sender_lost  ? IBV_WC_REM_OP_ERR
					 : wc.wr_id == 7 && sender_lost ? IBV_WC_WR_FLUSH_ERR
									: IBV_WC_LOC_PROT_ERR);
		}
		assert_int_equal(loopback_modify(l->qp, IBV_QPS_RESET, IBV_QP_STATE), 0);
		loopback_connect(l->qp);
	}
	assert_int_equal(ibv_dereg_mr(mr), 0);
	munmap(page, PAGE);
}

static int advise(struct loopback *l, enum ibv_advise_mr_advice advice, uint32_t flags, void *addr,
		  uint32_t length, uint32_t lkey)
{
	struct ibv_sge sge = { (uintptr_t)addr, length, lkey };

	return ibv_advise_mr(l->pd, advice, flags, &sge, 1);
}

static void advice_is_checked(void **state)
{
	const enum ibv_advise_mr_advice read = IBV_ADVISE_MR_ADVICE_PREFETCH;
	const enum ibv_advise_mr_advice write = IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	const uint32_t flush = IBV_ADVISE_MR_FLAG_FLUSH;
	struct loopback *l = *state;
	char *page = map_page(NULL, 'd');
	struct ibv_pd *other = ibv_alloc_pd(l->ctx);
	struct ibv_mr *read_only = ibv_reg_mr(l->pd, page, PAGE, IBV_ACCESS_ON_DEMAND);
	struct ibv_mr *foreign = ibv_reg_mr(other, page, PAGE, IBV_ACCESS_ON_DEMAND);

	assert_non_null(read_only);
	assert_non_null(foreign);
	assert_int_equal(advise(l, read, flush, page, PAGE, read_only->lkey), 0);
	assert_int_equal(advise(l, write, flush, page, PAGE, read_only->lkey), EPERM);
	assert_int_equal(advise(l, read, flush, page, PAGE, foreign->lkey), EPERM);
	assert_int_equal(advise(l, read, flush, l->memory, BYTES, l->mr->lkey), ENOENT);
	assert_int_equal(advise(l, read, flush, page + 1, PAGE, read_only->lkey), EFAULT);
	assert_int_equal(advise(l, read, flush << 1, page, PAGE, read_only->lkey), EINVAL);
	assert_int_equal(
		advise(l, (enum ibv_advise_mr_advice)77, flush, page, PAGE, read_only->lkey),
		EOPNOTSUPP);
	lose_page(page);
	assert_int_equal(advise(l, read, flush, page, PAGE, read_only->lkey), EFAULT);
	assert_int_equal(advise(l, read, 0, page, PAGE, read_only->lkey), 0);
	assert_int_equal(ibv_dereg_mr(read_only), 0);
	assert_int_equal(ibv_dereg_mr(foreign), 0);
	assert_int_equal(ibv_dealloc_pd(other), 0);
	munmap(page, PAGE);
}

/* -- of the device ----------------------------------------------------------------------------- */

static struct ibv_mr *register_dm(struct loopback *l, struct ibv_dm *dm, uint64_t offset,
				  size_t length, unsigned access)
{
	return ibv_reg_dm_mr(l->pd, dm, offset, length, access | IBV_ACCESS_ZERO_BASED);
}

static void device_memory_has_bounds(void **state)
{
	struct loopback *l = *state;
	struct ibv_dm *dm = ibv_alloc_dm(l->ctx, &(struct ibv_alloc_dm_attr){ .length = 256 });
	struct ibv_mr *mr = register_dm(l, dm, 64, 128, ACCESS);
	char bytes[256];

	assert_non_null(mr);
	memset(l->memory, 'e', BYTES);
	assert_int_equal(write_to(l, 64, mr), IBV_WC_SUCCESS);
	assert_int_equal(ibv_memcpy_from_dm(bytes, dm, 0, sizeof(bytes)), 0);
	assert_int_equal(bytes[127], 0);
	assert_int_equal(bytes[128], 'e');
	assert_int_equal(bytes[191], 'e');
	assert_int_equal(write_to(l, 65, mr), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(write_from(l, 65, mr), IBV_WC_LOC_PROT_ERR);
	assert_null(register_dm(l, dm, 200, 57, ACCESS));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_reg_dm_mr(l->pd, dm, 0, 64, ACCESS));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_free_dm(dm), EBUSY);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_free_dm(dm), 0);
}

static void device_memory_ends(void **state)
{
	struct loopback *l = *state;
	struct ibv_device_attr_ex attr = { 0 };
	struct ibv_alloc_dm_attr half;
	struct ibv_dm *dm[2];

	assert_int_equal(ibv_query_device_ex(l->ctx, NULL, &attr), 0);
	assert_int_equal(attr.max_dm_size, 128 << 10);
	half = (struct ibv_alloc_dm_attr){ .length = attr.max_dm_size / 2 };
	for (int i = 0; i < 2; i++)
		assert_non_null(dm[i] = ibv_alloc_dm(l->ctx, &half));
	assert_null(ibv_alloc_dm(l->ctx, &(struct ibv_alloc_dm_attr){ .length = 4 }));
	assert_int_equal(ibv_free_dm(dm[0]), 0);
	assert_non_null(dm[0] = ibv_alloc_dm(l->ctx, &half));
	for (int i = 0; i < 2; i++)
		assert_int_equal(ibv_free_dm(dm[i]), 0);
}

/* -- of a dma-buf, and of nothing -------------------------------------------------------------- */

static void a_dma_buf_needs_no_mapping(void **state)
{
	struct loopback *l = *state;
	const int fd = memfd_create("buffer", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct ibv_mr *mr;
	char byte = 0;

	assert_int_equal(ftruncate(fd, 2 * PAGE), 0);
	mr = ibv_reg_dmabuf_mr(l->pd, PAGE, PAGE, 0, fd, ACCESS);
	assert_non_null(mr);
	memset(l->memory, 'f', BYTES);
	assert_int_equal(write_to(l, PAGE - BYTES, mr), IBV_WC_SUCCESS);
	assert_int_equal(pread(fd, &byte, 1, 2 * PAGE - 1), 1);
	assert_int_equal(byte, 'f');
	assert_int_equal(write_to(l, PAGE - BYTES + 1, mr), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_null(ibv_reg_dmabuf_mr(l->pd, PAGE, PAGE + 1, 0, fd, ACCESS));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_reg_dmabuf_mr(l->pd, 1, 64, 0, fd, ACCESS));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_reg_dmabuf_mr(l->pd, 0, 64, 0, STDIN_FILENO, ACCESS));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_reg_dmabuf_mr(l->pd, 0, 64, 0, 999, ACCESS));
	assert_int_equal(errno, EBADF);
	close(fd);
}

static void the_null_region_is_zeroes_and_swallows(void **state)
{
	struct loopback *l = *state;
	struct ibv_mr *mr = ibv_alloc_null_mr(l->pd);

	assert_non_null(mr);
	memset(l->memory, 'g', sizeof(l->memory));
	assert_int_equal(write_from(l, 12345, mr), IBV_WC_SUCCESS);
	assert_int_equal(l->memory[2048], 0);
	assert_int_equal(l->memory[2048 + BYTES], 'g');
	assert_int_equal(
		transfer(l, IBV_WR_RDMA_READ, 12345, mr->lkey, (uintptr_t)l->memory, l->mr->rkey),
		IBV_WC_SUCCESS);
	/* perftest has peers use it as an rkey, too. */
	memset(l->memory, 'g', sizeof(l->memory));
	assert_int_equal(
		transfer(l, IBV_WR_RDMA_WRITE, (uintptr_t)l->memory, l->mr->lkey, 0, mr->lkey),
		IBV_WC_SUCCESS);
	assert_int_equal(
		transfer(l, IBV_WR_RDMA_READ, (uintptr_t)l->memory, l->mr->lkey, 12345, mr->lkey),
		IBV_WC_SUCCESS);
	assert_int_equal(l->memory[0], 0);
	assert_int_equal(l->memory[BYTES], 'g');
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, loopback_set_up_active, loopback_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(memory_on_demand_follows_its_mapping),
		TEST(an_implicit_region_is_all_memory),
		TEST(a_reader_knows_whose_memory_is_gone),
		TEST(a_send_knows_whose_memory_is_gone),
		TEST(advice_is_checked),
		TEST(device_memory_has_bounds),
		TEST(device_memory_ends),
		TEST(a_dma_buf_needs_no_mapping),
		TEST(the_null_region_is_zeroes_and_swallows),
	};

	alarm(DEADLINE_S);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
