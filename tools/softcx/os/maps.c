/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads /proc/self/maps. */
#define _GNU_SOURCE 1
#include "maps.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "raw.h"

/* -- one mapping ------------------------------------------------------------------------------- */

/* linux/fs.h of 6.11, PROCMAP_QUERY, which Debian 12's headers lack. */
struct query {
	uint64_t size, flags, addr;
	uint64_t start, end, vma_flags, page_size, offset, inode;
	uint32_t dev_major, dev_minor;
	uint32_t name_size, build_id_size;
	uint64_t name, build_id;
};
enum { IS_READABLE = 1, IS_WRITABLE = 2 };
#define QUERY _IOWR('f', 17, struct query)

int maps_at(uintptr_t addr, struct mapping *m)
{
	const int fd = raw_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	struct query query = { .size = sizeof(query), .addr = addr };
	int err;

	if (fd < 0)
		return -EOPNOTSUPP;
	err = raw_ioctl(fd, QUERY, &query) ? -errno : 0;
	raw_close(fd);
	if (err)
		return err == -ENOENT ? err : -EOPNOTSUPP;
	*m = (struct mapping){ .start = query.start,
			       .end = query.end,
			       .offset = query.offset,
			       .readable = query.vma_flags & IS_READABLE,
			       .writable = query.vma_flags & IS_WRITABLE };
	snprintf(m->file, sizeof(m->file), "%02x:%02x %llu", query.dev_major, query.dev_minor,
		 (unsigned long long)query.inode);
	return 0;
}

/* -- all of them ------------------------------------------------------------------------------- */

/* As one text, ended by a NUL. */
int maps_open(struct maps *maps)
{
	int fd = raw_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	size_t room = 1 << 20, used = 0;
	ssize_t n;
	char *buf;

	if (fd < 0)
		return -errno;
	buf = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	while (buf != MAP_FAILED) {
		n = raw_read(fd, buf + used, room - 1 - used);
		if (n <= 0)
			break;
		used += (size_t)n;
		if (used == room - 1) {
			buf = mremap(buf, room, 2 * room, MREMAP_MAYMOVE);
			room *= 2;
		}
	}
	raw_close(fd);
	if (buf == MAP_FAILED)
		return -ENOMEM;
	*maps = (struct maps){ .text = buf, .at = buf, .bytes = room };
	return 0;
}

void maps_close(struct maps *maps)
{
	munmap(maps->text, maps->bytes);
}

/* "address perms offset dev inode path" */
bool maps_next(struct maps *maps, struct mapping *m)
{
	char *line = maps->at, *end = strchr(line, '\n'), dev[16], inode[32], perms[8];
	unsigned long start, stop, offset;

	if (!end)
		return false;
	*end = '\0';
	maps->at = end + 1;
	if (sscanf(line, "%lx-%lx %7s %lx %15s %31s", &start, &stop, perms, &offset, dev, inode) !=
	    6)
		return false;
	m->start = start;
	m->end = stop;
	m->offset = offset;
	m->readable = perms[0] == 'r';
	m->writable = perms[1] == 'w';
	snprintf(m->file, sizeof(m->file), "%s %s", dev, inode);
	return true;
}
