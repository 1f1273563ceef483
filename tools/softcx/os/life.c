/* SPDX-License-Identifier: BSD-2-Clause */
/* Locks that show which processes live. */
#define _GNU_SOURCE 1
#include "life.h"

#include <errno.h>
#include <sys/mman.h>

#include "raw.h"

enum { HOLD_BYTES = 4096 };

static struct flock lock_of(off_t first, off_t count)
{
	return (struct flock){
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = first, .l_len = count
	};
}

static int lock(int fd, off_t byte)
{
	const struct flock byte_lock = lock_of(byte, 1);
	struct stat st;

	if (raw_fcntl(fd, F_OFD_SETLK, (long)&byte_lock) || raw_fstat(fd, &st))
		return -errno;
	return st.st_nlink ? 0 : -EAGAIN;
}

/* Never read or written: the file may be empty. */
static int hand_to_mapping(int fd, void **hold)
{
	void *map = mmap(NULL, HOLD_BYTES, PROT_NONE, MAP_SHARED, fd, 0);
	int err;

	if (map == MAP_FAILED)
		return -errno;
	if (!madvise(map, HOLD_BYTES, MADV_DONTFORK)) {
		*hold = map;
		return 0;
	}
	err = -errno;
	munmap(map, HOLD_BYTES);
	return err;
}

int life_hold(const char *path, int flags, off_t byte, void **hold)
{
	const int fd = raw_open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
	int err;

	if (fd < 0)
		return -errno;
	err = lock(fd, byte);
	if (!err)
		err = hand_to_mapping(fd, hold);
	raw_close(fd);
	return err;
}

void life_let_go(void *hold)
{
	if (hold)
		munmap(hold, HOLD_BYTES);
}

enum life life_at(int fd, off_t first, off_t count)
{
	struct flock found = lock_of(first, count);

	if (raw_fcntl(fd, F_OFD_GETLK, (long)&found))
		return LIFE_UNKNOWN;
	return found.l_type == F_UNLCK ? LIFE_GONE : LIFE_HELD;
}

bool life_is_over(int fd, off_t byte)
{
	const struct flock byte_lock = lock_of(byte, 1);

	return !raw_fcntl(fd, F_OFD_SETLK, (long)&byte_lock);
}
