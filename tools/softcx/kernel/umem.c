/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program's memory as the kernel treats it: copied with faults reported instead of taken,
 * pinned only where it is mapped, and charged to RLIMIT_MEMLOCK.
 */
#include "kernel.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* valgrind does not see that a process may write to itself by process_vm_writev(). */
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#else
#define VALGRIND_MAKE_MEM_DEFINED(addr, size) ((void)(addr), (void)(size))
#endif

static uint64_t pinned_pages; /* of this process; under the kernel's lock */

static int move(bool read, uint64_t remote, void *local, size_t size)
{
	struct iovec here = { local, size };
	struct iovec there = { (void *)(uintptr_t)remote, size };
	ssize_t moved;

	if (!size)
		return 0;
	moved = read ? process_vm_readv(getpid(), &here, 1, &there, 1, 0)
		     : process_vm_writev(getpid(), &here, 1, &there, 1, 0);
	return moved == (ssize_t)size ? 0 : -EFAULT;
}

int user_read(void *to, uint64_t from, size_t size)
{
	return move(true, from, to, size);
}

int user_write(uint64_t to, const void *from, size_t size)
{
	const int err = move(false, to, (void *)(uintptr_t)from, size);

	if (!err)
		(void)VALGRIND_MAKE_MEM_DEFINED(to, size);
	return err;
}

/* Are all of [start, end) mapped, readable, and writable where that is asked for? */
static int check_mapped(uint64_t start, uint64_t end, bool writable)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512], read_flag, write_flag;
	uint64_t low, high;

	if (!maps)
		return -EFAULT;
	/* Lines ascend by address, so one pass finds either the end or the first hole. */
	while (start < end && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %c%c", &low, &high, &read_flag,
			   &write_flag) != 4)
			continue;
		if (high <= start)
			continue;
		if (low > start || read_flag != 'r' || (writable && write_flag != 'w'))
			break;
		start = high;
	}
	fclose(maps);
	return start < end ? -EFAULT : 0;
}

static bool may_lock_everything(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	return !syscall(SYS_capget, &header, data) &&
	       data[CAP_IPC_LOCK / 32].effective & 1u << CAP_IPC_LOCK % 32;
}

static bool fits_memlock(uint64_t pages)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return true;
	return pinned_pages + pages <= limit.rlim_cur / (uint64_t)getpagesize() ||
	       may_lock_everything();
}

int user_pin(struct pinned *pinned, uint64_t start, uint64_t length, bool writable)
{
	uint64_t page = (uint64_t)getpagesize();
	uint64_t first = start & ~(page - 1);
	uint64_t end = (start + length + page - 1) & ~(page - 1);
	uint64_t pages = (end - first) / page;
	int err;

	/* ib_umem_get(): an empty range, and one that wraps around the address space. */
	if (!length || start + length < start || end < start + length)
		return -EINVAL;
	if (!fits_memlock(pages))
		return -ENOMEM;
	err = check_mapped(first, end, writable);
	if (err)
		return err;
	pinned->pages += pages;
	pinned_pages += pages;
	return 0;
}

void user_unpin(struct pinned *pinned)
{
	pinned_pages -= pinned->pages;
	pinned->pages = 0;
}
