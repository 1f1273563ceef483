/* SPDX-License-Identifier: BSD-2-Clause */
/* The FIFOs of event channels. */
#include "channel.h"

#include <errno.h>

#include "../os/raw.h"

/*
 * Opens the FIFO for reading, too: its owner may be killed, and then a write would end this process
 * by SIGPIPE; the name may be another user's by then.
 */
static int open_own(const char *path)
{
	const int fd = raw_open(path, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, 0);
	struct stat st;

	if (fd < 0 || (!raw_fstat(fd, &st) && S_ISFIFO(st.st_mode) && st.st_uid == geteuid()))
		return fd;
	raw_close(fd);
	return -1;
}

/* Once for each channel that the entry holds. */
static int open_fifo(struct cx_hca *hca, const struct cx_channel *channel)
{
	struct cx_fifo *fifo = &hca->fifos[channel - hca->shared->channels];

	if (fifo->serial == channel->serial)
		return fifo->fd;
	if (fifo->serial)
		raw_close(fifo->fd);
	fifo->serial = 0;
	fifo->fd = open_own(channel->path);
	if (fifo->fd < 0)
		return -1;
	fifo->serial = channel->serial;
	return fifo->fd;
}

/* A record is written whole or not at all, since it is far shorter than PIPE_BUF. */
bool cx_channel_write(struct cx_hca *hca, const struct cx_channel *channel, const void *record,
		      size_t len)
{
	const int saved = errno;
	const int fd = open_fifo(hca, channel);
	const bool is_taken = fd >= 0 && raw_write(fd, record, len) == (ssize_t)len;

	if (!is_taken)
		cx_trace(hca, "event: lost, channel %#x at %s does not take it",
			 channel->head.number, channel->path);
	errno = saved;
	return is_taken;
}
