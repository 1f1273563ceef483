/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory whose pages change while it is registered. An access to a changed page is a finding and an
 * error; other accesses are not. Memory that is registered anew works again.
 */
#define _GNU_SOURCE 1
#include "fabric.h"

#include <fcntl.h>
#include <linux/mman.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { PAGE = 4096, PAGES = 32 };

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

static struct region register_at(char *memory)
{
	struct region region = { memory, ibv_reg_mr(lo.pd, memory, PAGES * PAGE, ACCESS) };

	assert_non_null(region.mr);
	return region;
}

static struct region make_region(void)
{
	return register_at(map_pages(NULL, PAGES, 0));
}

static void free_region(struct region *region)
{
	assert_int_equal(ibv_dereg_mr(region->mr), 0);
	munmap(region->at, PAGES * PAGE);
}

/* Moves data from a page of the region to the loopback's memory, or, by RDMA, the other way. */
static enum ibv_wc_status transfer(const struct region *region, unsigned page, bool remote)
{
	const uint64_t there = (uintptr_t)region->at + (size_t)page * PAGE;

	if (remote)
		loopback_post(IBV_WR_RDMA_WRITE, (uintptr_t)lo.memory, lo.mr->lkey, 64, there,
			      region->mr->rkey);
	else
		loopback_post(IBV_WR_RDMA_WRITE, there, region->mr->lkey, 64,
			      (uintptr_t)lo.memory + 2048, lo.mr->rkey);
	return loopback_outcome();
}

/* Expects one finding, however often the key is used, and the error of pages that are gone. */
static void expect_stale(const struct region *region, unsigned page)
{
	const uint64_t before = cx_lint_count(softcx_hca());

	assert_int_equal(transfer(region, page, false), IBV_WC_LOC_PROT_ERR);
	assert_int_equal(cx_lint_count(softcx_hca()), before + 1);
	assert_int_equal(transfer(region, page, true), IBV_WC_REM_OP_ERR);
	assert_int_equal(cx_lint_count(softcx_hca()), before + 1);
}

static void expect_good(const struct region *region, unsigned page)
{
	const uint64_t before = cx_lint_count(softcx_hca());

	assert_int_equal(transfer(region, page, false), IBV_WC_SUCCESS);
	assert_int_equal(transfer(region, page, true), IBV_WC_SUCCESS);
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

	for (size_t i = 0; i < COUNT_OF(ways); i++) {
		struct region region = make_region();
		expect_good(&region, 5);
		ways[i](region.at + 5 * PAGE);
		expect_stale(&region, 5);
		expect_good(&region, 4);
		expect_good(&region, 6);
		free_region(&region);
	}
}

/* A program cannot interpose the allocator's own calls. */
static void what_malloc_gives_back_is_stale(void **state)
{
	struct region region;
	/* Above glibc's highest M_MMAP_THRESHOLD: mapped, and unmapped by free(). */
	const size_t bytes = 64 << 20;
	char *memory = made(aligned_alloc(PAGE, bytes)), *again;
	bool was_unmapped;

	memset(memory, 'x', PAGES * PAGE);
	region = register_at(memory);
	expect_good(&region, 9);
	free(memory);
	/* Not every allocator unmaps it. */
	was_unmapped = msync(region.at, PAGE, MS_ASYNC) && errno == ENOMEM;
	again = aligned_alloc(PAGE, bytes);
	if (was_unmapped && again == region.at) {
		memset(again, 'y', PAGES * PAGE);
		expect_stale(&region, 9);
	}
	assert_int_equal(ibv_dereg_mr(region.mr), 0);
	free(again);
}

static void shared_memory_is_watched_too(void **state)
{
	const int fd = memfd_create("shared", MFD_CLOEXEC);
	struct region region;
	char *memory;

	assert_int_equal(ftruncate(fd, PAGES * PAGE), 0);
	memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	region = register_at(memory);
	expect_good(&region, 1);
	map_pages(memory + PAGE, 1, 0);
	expect_stale(&region, 1);
	expect_good(&region, 0);
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

static void expect_huge_is_watched(size_t size)
{
	static void (*const ways[])(char *at, size_t size) = { unmap_huge, map_over_huge,
							       give_back_huge };
	char *page = map_huge(NULL, size);

	assert_ptr_not_equal(page, MAP_FAILED);
	for (size_t i = 0; i < COUNT_OF(ways); i++) {
		struct region region = register_at(page + size / 2 + PAGE);
		expect_good(&region, 5);
		ways[i](page, size);
		expect_stale(&region, 5);
		assert_int_equal(ibv_dereg_mr(region.mr), 0);
	}
	munmap(page, size);
}

static void pages_of_2_mb_are_watched_too(void **state)
{
	expect_huge_is_watched((size_t)2 << 20);
}

static void pages_of_1_gb_are_watched_too(void **state)
{
	expect_huge_is_watched((size_t)1 << 30);
}

/* -- what does not make it stale --------------------------------------------------------------- */

static void what_is_registered_anew_is_good(void **state)
{
	struct region region = make_region();
	char *memory = region.at;

	map_over(memory + 3 * PAGE);
	assert_int_equal(ibv_rereg_mr(region.mr, IBV_REREG_MR_CHANGE_TRANSLATION, lo.pd, memory,
				      PAGES * PAGE, 0),
			 0);
	expect_good(&region, 3);
	map_over(memory + 3 * PAGE);
	expect_stale(&region, 3);
	assert_int_equal(ibv_dereg_mr(region.mr), 0);
	region = register_at(memory);
	expect_good(&region, 3);
	free_region(&region);
}

static void a_region_beside_it_is_good(void **state)
{
	struct region first = make_region(), second = register_at(first.at);
	struct region other = make_region();

	map_over(first.at);
	expect_stale(&first, 0);
	expect_stale(&second, 0);
	expect_good(&other, 0);
	assert_int_equal(ibv_dereg_mr(first.mr), 0);
	free_region(&second);
	free_region(&other);
}

static void protection_and_advice_change_no_page(void **state)
{
	struct region region = make_region();

	assert_int_equal(mprotect(region.at, PAGE, PROT_READ), 0);
	assert_int_equal(mprotect(region.at, PAGE, PROT_READ | PROT_WRITE), 0);
	assert_int_equal(madvise(region.at, PAGES * PAGE, MADV_DONTFORK), 0);
	assert_int_equal(madvise(region.at, PAGES * PAGE, MADV_WILLNEED), 0);
	assert_int_equal(madvise(region.at, PAGES * PAGE, MADV_HUGEPAGE) && errno != EINVAL, 0);
	for (unsigned page = 0; page < PAGES; page++)
		expect_good(&region, page);
	free_region(&region);
}

/* A child's memory is its own: its changes are no findings, and it waits for no other process. */
static void what_a_child_does_is_its_own(void **state)
{
	struct region region = make_region();
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
	expect_good(&region, 7);
	free_region(&region);
}

/*
 * More changes than are kept apart: the changed pages are still found, and the pages at both ends
 * still work.
 */
static void many_changes_are_all_found(void **state)
{
	struct region region = make_region();

	for (unsigned page = PAGES - 2; page >= 2; page -= 2)
		map_over(region.at + page * PAGE);
	expect_stale(&region, 2);
	for (unsigned page = 4; page < PAGES; page += 2)
		assert_int_equal(transfer(&region, page, false), IBV_WC_LOC_PROT_ERR);
	expect_good(&region, 0);
	expect_good(&region, 1);
	expect_good(&region, PAGES - 1);
	free_region(&region);
}

/* -- two processes ----------------------------------------------------------------------------- */

/* Its memory is remapped between the first WRITE and the second. */
static void be_the_peer(int fd)
{
	const struct cx_config config = config_of_fabric();
	struct region region;
	struct hello hello;
	void *state;

	loopback_set_up_config(&state, &config);
	region = make_region();
	hello = (struct hello){ lo.qp->qp_num, region.mr->rkey, (uintptr_t)region.at };
	NEED(write(fd, &hello, sizeof(hello)) == sizeof(hello));
	NEED(read(fd, &hello, sizeof(hello)) == sizeof(hello));
	NEED(!connect_to(lo.qp, hello.qpn));
	NEED(write(fd, "c", 1) == 1);
	wait_for_byte(fd);
	map_over(region.at);
	NEED(write(fd, "m", 1) == 1);
	wait_for_byte(fd);
	NEED(region.at[0] == 'x');
}

static enum ibv_wc_status write_to(const struct hello *hello)
{
	loopback_post(IBV_WR_RDMA_WRITE, (uintptr_t)lo.memory, lo.mr->lkey, 64, hello->addr,
		      hello->rkey);
	return loopback_wait().status;
}

static void a_peers_memory_is_stale_for_others(void **state)
{
	struct hello hello, mine = { 0 };
	struct cx_config config;

	start_peer(be_the_peer);
	config = config_of_fabric();
	loopback_set_up_config(state, &config);
	mine.qpn = lo.qp->qp_num;
	hello = meet_peer(lo.qp, &mine);
	wait_for_byte(peer.fd);
	assert_int_equal(write_to(&hello), IBV_WC_SUCCESS);
	assert_int_equal(write(peer.fd, "w", 1), 1);
	wait_for_byte(peer.fd);
	assert_int_equal(write_to(&hello), IBV_WC_REM_OP_ERR);
	assert_int_equal(cx_lint_count(softcx_hca()), 1);
	assert_int_equal(write(peer.fd, "e", 1), 1);
	end_peer();
	loopback_tear_down(state);
}

/* Runs the cases of hugepages; those of 1 GB if there is one. */
static int run_huge(void)
{
	const size_t size = (size_t)1 << 30;
	char *page = map_huge(NULL, size);
	const struct CMUnitTest two[] = {
		ON_ACTIVE(pages_of_2_mb_are_watched_too),
		ON_ACTIVE(pages_of_1_gb_are_watched_too),
	};
	const struct CMUnitTest one[] = { two[0] };

	if (page == MAP_FAILED)
		return cmocka_run_group_tests(one, NULL, NULL);
	munmap(page, size);
	return cmocka_run_group_tests(two, NULL, NULL);
}

int main(int argc, char **argv)
{
	if (syscall(SYS_userfaultfd, O_CLOEXEC | 1) < 0) {
		printf("1..0 # SKIP userfaultfd(2): %s\n", strerror(errno));
		return 0;
	}
	alarm(DEADLINE_S);
	if (argc > 1 && !strcmp(argv[1], "huge"))
		return run_huge();
	return RUN(
		UNIT(a_peers_memory_is_stale_for_others), /* forks before the device */
		ON_ACTIVE(a_page_that_changed_is_stale), ON_ACTIVE(what_malloc_gives_back_is_stale),
		ON_ACTIVE(shared_memory_is_watched_too), ON_ACTIVE(what_is_registered_anew_is_good),
		ON_ACTIVE(a_region_beside_it_is_good),
		ON_ACTIVE(protection_and_advice_change_no_page),
		ON_ACTIVE(what_a_child_does_is_its_own), ON_ACTIVE(many_changes_are_all_found));
}
