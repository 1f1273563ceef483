/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device that the shim makes: unmodified libibverbs and libmlx5 find it, open it and register
 * memory.
 */
#define _GNU_SOURCE 1
#include <glob.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <infiniband/mlx5dv.h>
#include <linux/capability.h>

#include "loopback.h"

/* A context and a domain alone: the limits of locked memory count all regions. */
static int set_up(void **state)
{
	assert_int_equal(loopback_start((enum cx_link)given(state)), 0);
	lo.ctx = loopback_open_device();
	lo.pd = made(ibv_alloc_pd(lo.ctx));
	return 0;
}

static int tear_down(void **state)
{
	assert_int_equal(ibv_dealloc_pd(lo.pd), 0);
	assert_int_equal(ibv_close_device(lo.ctx), 0);
	assert_int_equal(softcx_stop(), 0);
	return 0;
}

/* -- the device -------------------------------------------------------------------------------- */

static void a_device_is_found_and_says_what_it_is(void **state)
{
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	union ibv_gid gid;

	assert_string_equal(ibv_get_device_name(lo.ctx->device), "mlx5_0");
	assert_int_equal(ibv_query_device(lo.ctx, &attr), 0);
	assert_int_equal(attr.vendor_part_id, 4123);
	assert_string_equal(attr.fw_ver, "20.35.2000");
	assert_int_equal(attr.node_guid, ibv_get_device_guid(lo.ctx->device));
	assert_int_equal(ibv_query_port(lo.ctx, 1, &port), 0);
	assert_int_equal(port.state, IBV_PORT_ACTIVE);
	assert_int_equal(port.link_layer, IBV_LINK_LAYER_INFINIBAND);
	assert_int_equal(port.lid, 1);
	assert_int_equal(ibv_query_gid(lo.ctx, 1, 0, &gid), 0);
	assert_int_equal(gid.global.interface_id, attr.node_guid);
	assert_int_equal(ibv_query_port(lo.ctx, 2, &port), EINVAL);
}

static void roce_has_gids_of_both_versions(void **state)
{
	struct ibv_gid_entry entries[16];
	struct ibv_port_attr port;

	assert_int_equal(ibv_query_port(lo.ctx, 1, &port), 0);
	assert_int_equal(port.link_layer, IBV_LINK_LAYER_ETHERNET);
	assert_int_equal(ibv_query_gid_table(lo.ctx, entries, 16, 0), 4);
	assert_int_equal(entries[0].gid_type, IBV_GID_TYPE_ROCE_V1);
	assert_int_equal(entries[1].gid_type, IBV_GID_TYPE_ROCE_V2);
	assert_int_equal(ibv_query_gid_table(lo.ctx, entries, 3, 0), -EINVAL);
	assert_int_equal(ibv_query_gid_ex(lo.ctx, 1, 9, &entries[0], 0), ENODATA);
	assert_int_equal(ibv_query_gid_ex(lo.ctx, 1, 99, &entries[0], 0), EINVAL);
}

static void an_address_handle_needs_a_reachable_peer(void **state)
{
	struct ibv_ah_attr attr = { .port_num = 1, .is_global = 1, .grh.sgid_index = 3 };
	struct ibv_ah *ah;

	assert_int_equal(ibv_query_gid(lo.ctx, 1, 3, &attr.grh.dgid), 0);
	ah = made(ibv_create_ah(lo.pd, &attr));
	assert_int_equal(ibv_dealloc_pd(lo.pd), EBUSY);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	attr.grh.dgid.raw[15] ^= 1;
	not_made(ibv_create_ah(lo.pd, &attr), ENETUNREACH);
	attr.is_global = 0;
	not_made(ibv_create_ah(lo.pd, &attr), EINVAL);
}

/* Each has doorbell pages of its own; before a queue is created, all of them are trapped. */
static void hundreds_of_contexts_are_open_at_once(void **state)
{
	enum { CONTEXTS = 520 };
	static struct ibv_context *open[CONTEXTS];
	const struct cx_config config = loopback_config(CX_LINK_IB, false);
	struct ibv_cq *cq;

	assert_int_equal(softcx_start(&config), 0);
	for (unsigned i = 0; i < CONTEXTS; i++)
		open[i] = loopback_open_device();
	cq = made(ibv_create_cq(open[CONTEXTS - 1], 1, NULL, NULL, 0));
	assert_int_equal(ibv_destroy_cq(cq), 0);
	for (unsigned i = 0; i < CONTEXTS; i++)
		assert_int_equal(ibv_close_device(open[i]), 0);
	assert_int_equal(softcx_stop(), 0);
}

static void the_device_leaves_nothing_behind(void **state)
{
	char pattern[64], real[4096];
	glob_t found;

	assert_int_equal(loopback_start(CX_LINK_IB), 0);
	assert_int_equal(loopback_start(CX_LINK_IB), -EALREADY);
	assert_non_null(realpath("/sys/class/infiniband/mlx5_0/device", real));
	assert_string_equal(real, "/sys/devices/pci5cc5:00/5cc5:00:00.0");
	assert_int_equal(softcx_stop(), 0);
	assert_int_equal(access("/dev/infiniband/uverbs0", F_OK), -1);
	snprintf(pattern, sizeof(pattern), "/dev/shm/softcx-tree-%u-%d-*", getuid(), getpid());
	assert_int_equal(glob(pattern, 0, NULL, &found), GLOB_NOMATCH);
}

/* A killed process cannot remove its files; the next process does. */
static void leftovers_of_the_dead_are_removed(void **state)
{
	char dir[64], file[80];

	/* Whatever number its process had: this one's has a process. */
	snprintf(dir, sizeof(dir), "/dev/shm/softcx-tree-%u-%d-dead", getuid(), getpid());
	snprintf(file, sizeof(file), "%s/class", dir);
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(symlink("/", file), 0);
	assert_int_equal(loopback_start(CX_LINK_IB), 0);
	assert_int_equal(access(dir, F_OK), -1);
	assert_int_equal(softcx_stop(), 0);
}

static void make_dead_tree(const char *dir)
{
	char file[96];

	snprintf(file, sizeof(file), "%s/class", dir);
	if (mkdir(dir, 0700) || mkdir(file, 0755))
		_exit(2);
	snprintf(file, sizeof(file), "%s/class/file", dir);
	if (mknod(file, S_IFREG | 0644, 0))
		_exit(2);
}

/* Makes a tree that looks left over by this user, as another one; true if there can be one. */
static bool let_another_user_make(const char *dir)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
			_exit(1);
		make_dead_tree(dir);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(status == 0 || status == 1 << 8);
	return !status;
}

/* Else that user may put a link where a directory was, and have this one's files removed. */
static void what_another_user_made_is_not_swept(void **state)
{
	char dir[64], file[80];

	snprintf(dir, sizeof(dir), "/dev/shm/softcx-tree-%u-2000000000-%d", getuid(), getpid());
	snprintf(file, sizeof(file), "%s/class/file", dir);
	if (!let_another_user_make(dir)) {
		print_message("# only root can be another user\n");
		skip();
	}
	assert_int_equal(loopback_start(CX_LINK_IB), 0);
	assert_int_equal(softcx_stop(), 0);
	assert_int_equal(access(file, F_OK), 0);
	assert_int_equal(unlink(file), 0);
	snprintf(file, sizeof(file), "%s/class", dir);
	assert_int_equal(rmdir(file), 0);
	assert_int_equal(rmdir(dir), 0);
}

/* In a directory where others may write, they may put a link. */
static void what_others_may_write_to_is_not_swept(void **state)
{
	char dir[64];

	snprintf(dir, sizeof(dir), "/dev/shm/softcx-tree-%u-2000000000-%d", getuid(), getpid());
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(chmod(dir, 0777), 0);
	assert_int_equal(loopback_start(CX_LINK_IB), 0);
	assert_int_equal(softcx_stop(), 0);
	assert_int_equal(rmdir(dir), 0);
}

/* -- memory ------------------------------------------------------------------------------------ */

static void assert_refused(struct ibv_pd *pd, void *addr, size_t length, int access, int err)
{
	not_made(ibv_reg_mr(pd, addr, length, access), err);
}

/* mlx5 cq.c mini_cqe_res_format_to_hw(). */
static void a_cq_has_one_format_of_compressed_cqes(void **state)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 16, .wc_flags = IBV_WC_STANDARD_FLAGS };
	struct mlx5dv_cq_init_attr of_mlx5 = { .comp_mask =
						       MLX5DV_CQ_INIT_ATTR_MASK_COMPRESSED_CQE };
	struct ibv_cq_ex *cq;

	of_mlx5.cqe_comp_res_format = MLX5DV_CQE_RES_FORMAT_HASH | MLX5DV_CQE_RES_FORMAT_CSUM;
	not_made(mlx5dv_create_cq(lo.ctx, &attr, &of_mlx5), EINVAL);
	of_mlx5.cqe_comp_res_format = MLX5DV_CQE_RES_FORMAT_CSUM;
	cq = made(mlx5dv_create_cq(lo.ctx, &attr, &of_mlx5));
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

static void memory_is_registered_where_it_is_mapped(void **state)
{
	char *page =
		mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;

	assert_ptr_not_equal(page, MAP_FAILED);
	assert_int_equal(mprotect(page + 4096, 4096, PROT_READ), 0);
	assert_int_equal(munmap(page + 8192, 4096), 0);
	mr = made(ibv_reg_mr(lo.pd, page + 100, 200, IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(ibv_dealloc_pd(lo.pd), EBUSY);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	mr = made(ibv_reg_mr(lo.pd, page, 8192, IBV_ACCESS_REMOTE_READ));
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_refused(lo.pd, page, 8192, IBV_ACCESS_LOCAL_WRITE, EFAULT);
	assert_refused(lo.pd, page + 4096, 4097, 0, EFAULT);
	assert_refused(lo.pd, page, 0, 0, EINVAL);
	assert_refused(lo.pd, page, 10, IBV_ACCESS_REMOTE_WRITE, EINVAL);
	assert_refused(lo.pd, page, 10, IBV_ACCESS_REMOTE_ATOMIC, EINVAL);
	assert_refused(lo.pd, page, 10, 1 << 15, EINVAL);
	munmap(page, 8192);
}

static void a_region_can_be_registered_anew(void **state)
{
	static char memory[2][4096];
	struct ibv_pd *other = made(ibv_alloc_pd(lo.ctx));
	struct ibv_mr *mr = made(ibv_reg_mr(lo.pd, memory[0], 4096, 0));

	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS,
				      other, NULL, 0, IBV_ACCESS_LOCAL_WRITE),
			 0);
	assert_int_equal(ibv_dealloc_pd(other), EBUSY);
	assert_int_equal(
		ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, memory[1], 4096, 0), 0);
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				      IBV_ACCESS_REMOTE_WRITE),
			 IBV_REREG_MR_ERR_CMD);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(other), 0);
}

/* Root may lock any amount of memory, so the test drops the capability for a while. */
static void set_may_lock(bool may, struct __user_cap_data_struct saved[2])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (!may)
		assert_int_equal(syscall(SYS_capget, &header, saved), 0);
	memcpy(data, saved, sizeof(data));
	if (!may)
		data[0].effective &= ~(1u << CAP_IPC_LOCK);
	assert_int_equal(syscall(SYS_capset, &header, data), 0);
}

static void locked_memory_is_limited(void **state)
{
	static char memory[4][4096] __attribute__((aligned(4096)));
	struct __user_cap_data_struct saved[2];
	struct rlimit old, limit;
	struct ibv_mr *mr;

	assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &old), 0);
	limit = (struct rlimit){ .rlim_cur = 2 * 4096, .rlim_max = old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	set_may_lock(false, saved);
	assert_refused(lo.pd, memory, sizeof(memory), 0, ENOMEM);
	mr = made(ibv_reg_mr(lo.pd, memory, 2 * 4096, 0));
	assert_refused(lo.pd, memory, 4096, 0, ENOMEM);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	set_may_lock(true, saved);
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &old), 0);
}

#define ON_IB(f)   GIVEN(f, CX_LINK_IB, set_up, tear_down)
#define ON_ROCE(f) GIVEN(f, CX_LINK_ROCE, set_up, tear_down)

UNIT_MAIN(NULL, ON_IB(a_device_is_found_and_says_what_it_is),
	  ON_ROCE(roce_has_gids_of_both_versions),
	  ON_ROCE(an_address_handle_needs_a_reachable_peer),
	  UNIT(hundreds_of_contexts_are_open_at_once), UNIT(the_device_leaves_nothing_behind),
	  UNIT(leftovers_of_the_dead_are_removed), UNIT(what_another_user_made_is_not_swept),
	  UNIT(what_others_may_write_to_is_not_swept),
	  ON_IB(a_cq_has_one_format_of_compressed_cqes),
	  ON_IB(memory_is_registered_where_it_is_mapped), ON_IB(a_region_can_be_registered_anew),
	  ON_IB(locked_memory_is_limited))
