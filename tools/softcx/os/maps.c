/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads /proc/self/maps. */
#define _GNU_SOURCE 1
#include "maps.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "raw.h"

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
