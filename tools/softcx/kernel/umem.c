/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program's memory, as the kernel handles it: copies report faults instead of faulting; only
 * mapped memory is pinned, and it is counted in RLIMIT_MEMLOCK.
 */
#include "kernel.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../os/maps.h"
#include "../os/raw.h"
#include "bsn_db.h"

/* valgrind does not know that a process may write to itself by process_vm_writev(). */
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#else
#define VALGRIND_MAKE_MEM_DEFINED(addr, size) ((void)(addr), (void)(size))
#endif

static uint64_t pinned_pages; /* of this process; under the kernel's lock */

int user_read(void *to, uint64_t from, size_t size)
{
	return !size || raw_vm_read(getpid(), from, to, size) == (ssize_t)size ? 0 : -EFAULT;
}

int user_write(uint64_t to, const void *from, size_t size)
{
	if (size && raw_vm_write(getpid(), to, from, size) != (ssize_t)size)
		return -EFAULT;
	(void)VALGRIND_MAKE_MEM_DEFINED(to, size);
	return 0;
}

static bool is_usable(const struct mapping *m, bool writable)
{
	return m->readable && (m->writable || !writable);
}

static int check_every_mapping(uint64_t start, uint64_t end, bool writable)
{
	struct mapping m;
	struct maps maps;
	int err = maps_open(&maps);

	if (err)
		return -EFAULT;
	/* Addresses ascend, so one pass finds the end or the first hole. */
	while (start < end && maps_next(&maps, &m)) {
		if (m.end <= start)
			continue;
		if (m.start > start || !is_usable(&m, writable))
			break;
		start = m.end;
	}
	maps_close(&maps);
	return start < end ? -EFAULT : 0;
}

/* Whether all of [start, end) is mapped and readable, and writable if that is asked for. */
static int check_mapped(uint64_t start, uint64_t end, bool writable)
{
	struct mapping m;

	while (start < end) {
		const int err = maps_at(start, &m);

		if (err == -EOPNOTSUPP)
			return check_every_mapping(start, end, writable);
		if (err || !is_usable(&m, writable))
			return -EFAULT;
		start = m.end;
	}
	return 0;
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

	/* ib_umem_get() refuses an empty range, and one that wraps around the address space. */
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

void *device_map(int fd, off_t offset, size_t length, bool writable)
{
	void *mapped = mmap(NULL, length, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
			    fd, offset);

	return mapped == MAP_FAILED ? NULL : mapped;
}

void device_unmap(void *mapped, size_t length)
{
	if (mapped)
		munmap(mapped, length);
}

void user_unpin(struct pinned *pinned)
{
	pinned_pages -= pinned->pages;
	pinned->pages = 0;
}

int user_pin_ring(struct pinned *pinned, uint64_t buf, uint64_t bytes, uint64_t db)
{
	int err = bytes ? user_pin(pinned, buf, bytes, true) : 0;

	return err ? err : user_pin(pinned, db, BSN_DBR_SIZE, true);
}
