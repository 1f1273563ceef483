/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory whose pages change while it is registered. An access to a changed page is a finding and an
 * error; other accesses are not. Memory that is registered anew works again.
 */
#define _GNU_SOURCE 1
#include "fabric.h"
#include "loopback.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mman.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 32, DEADLINE_S = 60 };

#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

struct region {
	char *at;
	struct ibv_mr *mr;
};

static char *map_pages(void *at, size_t count, int flags)
{
	char *memory = mmap(at, count * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0) | flags, -1, 0);

	assert_ptr_not_equal(memory, MAP_FAILED);
	memset(memory, 'x', count * PAGE);
	return memory;
}

static struct region register_at(struct loopback *l, char *memory)
{
	struct region region = { memory, ibv_reg_mr(l->pd, memory, PAGES * PAGE, ACCESS) };

	assert_non_null(region.mr);
	return region;
}

static struct region make_region(struct loopback *l)
{
	return register_at(l, map_pages(NULL, PAGES, 0));
}

static void free_region(struct region *region)
{
	assert_int_equal(ibv_dereg_mr(region->mr), 0);
	munmap(region->at, PAGES * PAGE);
}

/* Moves data from a page of the region to the loopback's memory, or, by RDMA, the other way. */
static enum ibv_wc_status transfer(struct loopback *l, const struct region *region, unsigned page,
				   bool remote)
{
	const struct ibv_sge there = { (uintptr_t)region->at + page * PAGE, 64, region->mr->lkey };
	struct ibv_sge sge =
		remote ? (struct ibv_sge){ (uintptr_t)l->memory, 64, l->mr->lkey } : there;
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { remote ? there.addr : (uintptr_t)l->memory + 2048,
			     remote ? region->mr->rkey : l->mr->rkey },
	};

	return loopback_run(l, &wr);
}

/* Expects one finding, however often the key is used, and the error of pages that are gone. */
static void expect_stale(struct loopback *l, const struct region *region, unsigned page)
{
	const uint64_t before = cx_lint_count(softcx_hca());

	assert_int_equal(transfer(l, region, page, false), IBV_WC_LOC_PROT_ERR);
	assert_int_equal(cx_lint_count(softcx_hca()), before + 1);
	assert_int_equal(transfer(l, region, page, true), IBV_WC_REM_OP_ERR);
	assert_int_equal(cx_lint_count(softcx_hca()), before + 1);
}

static void expect_good(struct loopback *l, const struct region *region, unsigned page)
{
	const uint64_t before = cx_lint_count(softcx_hca());

	assert_int_equal(transfer(l, region, page, false), IBV_WC_SUCCESS);
	assert_int_equal(transfer(l, region, page, true), IBV_WC_SUCCESS);
	assert_int_equal(cx_lint_count(softcx_hca()), before);
}

/* -- each way to lose a page ------------------------------------------------------------------- */

static void unmap_and_map(char *page)
{
	assert_int_equal(munmap(page, PAGE), 0);
	map_pages(page, 1, 0);
}

static void unmap_by_system_call(char *page)
{
	assert_int_equal(syscall(SYS_munmap, page, PAGE), 0);
	map_pages(page, 1, 0);
}

static void map_over(char *page)
{
	map_pages(page, 1, 0);
}

static void give_back(char *page)
{
	assert_int_equal(madvise(page, PAGE, MADV_DONTNEED), 0);
	memset(page, 'y', PAGE);
}

static void move_away(char *page)
{
	char *to = mremap(page, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, map_pages(NULL, 1, 0));

	assert_ptr_not_equal(to, MAP_FAILED);
	map_pages(page, 1, 0);
	munmap(to, PAGE);
}

static void a_page_that_changed_is_stale(void **state)
{
	static void (*const ways[])(char *page) = { unmap_and_map, unmap_by_system_call, map_over,
						    give_back, move_away };
	struct loopback *l = *state;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct region region = make_region(l);

		expect_good(l, &region, 5);
		ways[i](region.at + 5 * PAGE);
		expect_stale(l, &region, 5);
		expect_good(l, &region, 4);
		expect_good(l, &region, 6);
		free_region(&region);
	}
}

/* A program cannot interpose the allocator's own calls. */
static void what_malloc_gives_back_is_stale(void **state)
{
	struct loopback *l = *state;
	struct region region;
	/* Above glibc's highest M_MMAP_THRESHOLD: mapped, and unmapped by free(). */
	const size_t bytes = 64 << 20;
	char *memory = aligned_alloc(PAGE, bytes), *again;
	bool was_unmapped;

	assert_non_null(memory);
	memset(memory, 'x', PAGES * PAGE);
	region = register_at(l, memory);
	expect_good(l, &region, 9);
	free(memory);
	/* Not every allocator unmaps it. */
	was_unmapped = msync(region.at, PAGE, MS_ASYNC) && errno == ENOMEM;
	again = aligned_alloc(PAGE, bytes);
	if (was_unmapped && again == region.at) {
		memset(again, 'y', PAGES * PAGE);
		expect_stale(l, &region, 9);
	}
	assert_int_equal(ibv_dereg_mr(region.mr), 0);
	free(again);
}

static void shared_memory_is_watched_too(void **state)
{
	struct loopback *l = *state;
	const int fd = memfd_create("shared", MFD_CLOEXEC);
	struct region region;
	char *memory;

	assert_int_equal(ftruncate(fd, PAGES * PAGE), 0);
	memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	region = register_at(l, memory);
	expect_good(l, &region, 1);
	map_pages(memory + PAGE, 1, 0);
	expect_stale(l, &region, 1);
	expect_good(l, &region, 0);
	free_region(&region);
	close(fd);
}

/* Hugepages come and go as a whole, whatever part of them is registered. */
static char *map_huge(void *at, size_t size)
{
	const int log2 = __builtin_ctzl(size);

	return mmap(at, size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | (at ? MAP_FIXED : 0) |
			    log2 << MAP_HUGE_SHIFT,
		    -1, 0);
}

static void unmap_huge(char *at, size_t size)
{
	assert_int_equal(munmap(at, size), 0);
	assert_ptr_equal(map_huge(at, size), at);
}

static void map_over_huge(char *at, size_t size)
{
	assert_ptr_equal(map_huge(at, size), at);
}

static void give_back_huge(char *at, size_t size)
{
	assert_int_equal(madvise(at, size, MADV_DONTNEED), 0);
}

static void expect_huge_is_watched(struct loopback *l, size_t size)
{
	static void (*const ways[])(char *at, size_t size) = { unmap_huge, map_over_huge,
							       give_back_huge };
	char *page = map_huge(NULL, size);

	assert_ptr_not_equal(page, MAP_FAILED);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct region region = register_at(l, page + size / 2 + PAGE);

		expect_good(l, &region, 5);
		ways[i](page, size);
		expect_stale(l, &region, 5);
		assert_int_equal(ibv_dereg_mr(region.mr), 0);
	}
	munmap(page, size);
}

static void pages_of_2_mb_are_watched_too(void **state)
{
	expect_huge_is_watched(*state, (size_t)2 << 20);
}

static void pages_of_1_gb_are_watched_too(void **state)
{
	expect_huge_is_watched(*state, (size_t)1 << 30);
}

/* -- what does not make it stale --------------------------------------------------------------- */

static void what_is_registered_anew_is_good(void **state)
{
	struct loopback *l = *state;
	struct region region = make_region(l);
	char *memory = region.at;

	map_over(memory + 3 * PAGE);
	assert_int_equal(ibv_rereg_mr(region.mr, IBV_REREG_MR_CHANGE_TRANSLATION, l->pd, memory,
				      PAGES * PAGE, 0),
			 0);
	expect_good(l, &region, 3);
	map_over(memory + 3 * PAGE);
	expect_stale(l, &region, 3);
	assert_int_equal(ibv_dereg_mr(region.mr), 0);
	region = register_at(l, memory);
	expect_good(l, &region, 3);
	free_region(&region);
}

static void a_region_beside_it_is_good(void **state)
{
	struct loopback *l = *state;
	struct region first = make_region(l), second = register_at(l, first.at);
	struct region other = make_region(l);

	map_over(first.at);
	expect_stale(l, &first, 0);
	expect_stale(l, &second, 0);
	expect_good(l, &other, 0);
	assert_int_equal(ibv_dereg_mr(first.mr), 0);
	free_region(&second);
	free_region(&other);
}

static void protection_and_advice_change_no_page(void **state)
{
	struct loopback *l = *state;
	struct region region = make_region(l);

	assert_int_equal(mprotect(region.at, PAGE, PROT_READ), 0);
	assert_int_equal(mprotect(region.at, PAGE, PROT_READ | PROT_WRITE), 0);
	assert_int_equal(madvise(region.at, PAGES * PAGE, MADV_DONTFORK), 0);
	assert_int_equal(madvise(region.at, PAGES * PAGE, MADV_WILLNEED), 0);
	assert_int_equal(madvise(region.at, PAGES * PAGE, MADV_HUGEPAGE) && errno != EINVAL, 0);
	for (unsigned page = 0; page < PAGES; page++)
		expect_good(l, &region, page);
	free_region(&region);
}

/* A child's memory is its own: its changes are no findings, and it waits for no other process. */
static void what_a_child_does_is_its_own(void **state)
{
	struct loopback *l = *state;
	struct region region = make_region(l);
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		alarm(DEADLINE_S);
		munmap(region.at, PAGES * PAGE);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	expect_good(l, &region, 7);
	free_region(&region);
}

/*
 * More changes than are kept apart: the changed pages are still found, and the pages at both ends
 * still work.
 */
static void many_changes_are_all_found(void **state)
{
	struct loopback *l = *state;
	struct region region = make_region(l);

	for (unsigned page = PAGES - 2; page >= 2; page -= 2)
		map_over(region.at + page * PAGE);
	expect_stale(l, &region, 2);
	for (unsigned page = 4; page < PAGES; page += 2)
		assert_int_equal(transfer(l, &region, page, false), IBV_WC_LOC_PROT_ERR);
	expect_good(l, &region, 0);
	expect_good(l, &region, 1);
	expect_good(l, &region, PAGES - 1);
	free_region(&region);
}

/* -- two processes ----------------------------------------------------------------------------- */

struct hello {
	uint32_t qpn, rkey;
	uint64_t addr;
};

static char fabric[32];

static void connect_to(struct ibv_qp *qp, uint32_t qpn)
{
	assert_int_equal(loopback_modify(qp, IBV_QPS_RESET, IBV_QP_STATE), 0);
	assert_int_equal(loopback_modify_to(qp, qpn, IBV_QPS_INIT, LOOPBACK_INIT_MASK), 0);
	assert_int_equal(loopback_modify_to(qp, qpn, IBV_QPS_RTR, LOOPBACK_RTR_MASK), 0);
	assert_int_equal(loopback_modify_to(qp, qpn, IBV_QPS_RTS, LOOPBACK_RTS_MASK), 0);
}

static void wait_for_byte(int fd)
{
	char byte;

	assert_int_equal(read(fd, &byte, 1), 1);
}

/* Its memory is remapped between the first WRITE and the second. */
static void be_the_peer(int fd)
{
	const struct cx_config config = config_of_fabric(fabric);
	struct loopback *l;
	struct region region;
	struct hello hello;
	void *state;

	loopback_set_up_config(&state, &config);
	l = state;
	region = make_region(l);
	hello = (struct hello){ l->qp->qp_num, region.mr->rkey, (uintptr_t)region.at };
	assert_int_equal(write(fd, &hello, sizeof(hello)), sizeof(hello));
	assert_int_equal(read(fd, &hello, sizeof(hello)), sizeof(hello));
	connect_to(l->qp, hello.qpn);
	assert_int_equal(write(fd, "c", 1), 1);
	wait_for_byte(fd);
	map_over(region.at);
	assert_int_equal(write(fd, "m", 1), 1);
	wait_for_byte(fd);
	_exit(region.at[0] == 'x' ? 0 : 1);
}

static enum ibv_wc_status write_to(struct loopback *l, const struct hello *peer)
{
	struct ibv_sge sge = { (uintptr_t)l->memory, 64, l->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { peer->addr, peer->rkey },
	};
	struct ibv_wc wc;
	int n;

	assert_int_equal(ibv_post_send(l->qp, &wr, &bad), 0);
	while (!(n = ibv_poll_cq(l->cq, 1, &wc)))
		;
	assert_int_equal(n, 1);
	return wc.status;
}

static void a_peers_memory_is_stale_for_others(void **unused)
{
	struct cx_config config;
	struct hello hello, mine;
	struct loopback *l;
	int pair[2], status;
	void *state;
	pid_t pid;

	(void)unused;
	snprintf(fabric, sizeof(fabric), "test-stale-%d", (int)getpid());
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		alarm(DEADLINE_S);
		close(pair[0]);
		be_the_peer(pair[1]);
	}
	close(pair[1]);
	config = config_of_fabric(fabric);
	loopback_set_up_config(&state, &config);
	l = state;
	assert_int_equal(read(pair[0], &hello, sizeof(hello)), sizeof(hello));
	mine = (struct hello){ .qpn = l->qp->qp_num };
	assert_int_equal(write(pair[0], &mine, sizeof(mine)), sizeof(mine));
	connect_to(l->qp, hello.qpn);
	wait_for_byte(pair[0]);
	assert_int_equal(write_to(l, &hello), IBV_WC_SUCCESS);
	assert_int_equal(write(pair[0], "w", 1), 1);
	wait_for_byte(pair[0]);
	assert_int_equal(write_to(l, &hello), IBV_WC_REM_OP_ERR);
	assert_int_equal(cx_lint_count(softcx_hca()), 1);
	assert_int_equal(write(pair[0], "e", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(pair[0]);
	loopback_tear_down(&state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, loopback_set_up_active, loopback_tear_down)

/* Runs the cases of hugepages; those of 1 GB if there is one. */
static int run_huge(void)
{
	const size_t size = (size_t)1 << 30;
	char *page = map_huge(NULL, size);
	const struct CMUnitTest two[] = {
		TEST(pages_of_2_mb_are_watched_too),
		TEST(pages_of_1_gb_are_watched_too),
	};
	const struct CMUnitTest one[] = { two[0] };

	if (page == MAP_FAILED)
		return cmocka_run_group_tests(one, NULL, NULL);
	munmap(page, size);
	return cmocka_run_group_tests(two, NULL, NULL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_peers_memory_is_stale_for_others), /* forks before the device */
		TEST(a_page_that_changed_is_stale),
		TEST(what_malloc_gives_back_is_stale),
		TEST(shared_memory_is_watched_too),
		TEST(what_is_registered_anew_is_good),
		TEST(a_region_beside_it_is_good),
		TEST(protection_and_advice_change_no_page),
		TEST(what_a_child_does_is_its_own),
		TEST(many_changes_are_all_found),
	};

	if (syscall(SYS_userfaultfd, O_CLOEXEC | 1) < 0) {
		printf("1..0 # SKIP userfaultfd(2): %s\n", strerror(errno));
		return 0;
	}
	alarm(DEADLINE_S);
	if (argc > 1 && !strcmp(argv[1], "huge"))
		return run_huge();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
