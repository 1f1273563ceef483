/* SPDX-License-Identifier: BSD-2-Clause */
/* The descriptor of the fabric's file. The program may close it. */
#include "segment.h"

#include <errno.h>

#include "../os/raw.h"

static bool is_segment(const struct cx_hca *hca, int fd)
{
	struct stat st;

	return fd >= 0 && !raw_fstat(fd, &st) && st.st_dev == hca->segment_device &&
	       st.st_ino == hca->segment_inode;
}

/* The program may have closed it, and the number may be another file's. */
int cx_segment(struct cx_hca *hca)
{
	const int saved = errno;

	if (hca->segment_path && !is_segment(hca, hca->segment_fd)) {
		hca->segment_fd = raw_open(hca->segment_path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
		if (!is_segment(hca, hca->segment_fd))
			cx_segment_close(hca);
	}
	errno = saved;
	return hca->segment_fd;
}

void cx_segment_close(struct cx_hca *hca)
{
	if (is_segment(hca, hca->segment_fd))
		raw_close(hca->segment_fd);
	hca->segment_fd = -1;
}
