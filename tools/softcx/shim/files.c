/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Our descriptors in the process: opens of the device node, event files and netlink sockets.
 * Several descriptors may name one file (dup); the file closes with the last.
 */
#include "netlink.h"
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../datasheet.h"
#include "../kernel/rdmacm.h"
#include "../os/raw.h"

enum { MAX_FDS = 65536 };

struct file {
	struct uverbs_context *ctx; /* one of the four is set */
	struct rdmacm *rdmacm;
	struct event_file *event;
	struct netlink *netlink;
	unsigned refs;
};

static _Atomic(struct file *) files[MAX_FDS];
static pthread_mutex_t files_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned open_devices;

enum node file_node(const char *path)
{
	if (!path || strncmp(path, "/dev/infiniband/", 16))
		return NODE_NONE;
	if (!strcmp(path + 16, CX_UVERBS_NAME))
		return NODE_UVERBS;
	return strcmp(path + 16, CX_RDMACM_NAME) ? NODE_NONE : NODE_RDMACM;
}

static struct file *file_of(int fd)
{
	return fd >= 0 && fd < MAX_FDS ? atomic_load_explicit(&files[fd], memory_order_acquire)
				       : NULL;
}

bool file_is_ours(int fd)
{
	return file_of(fd) != NULL;
}

enum node file_node_of(int fd)
{
	const struct file *file = file_of(fd);

	if (!file)
		return NODE_NONE;
	return file->ctx ? NODE_UVERBS : file->rdmacm ? NODE_RDMACM : NODE_NONE;
}

/* Under the lock of its call, which holds this file or another one. */
int file_lookup_rdmacm(int fd, struct rdmacm **rdmacm)
{
	const struct file *file = file_of(fd);

	if (!file)
		return raw_fcntl(fd, F_GETFD, 0) < 0 ? -ENOENT : -EINVAL;
	*rdmacm = file->rdmacm;
	return file->rdmacm ? 0 : -EINVAL;
}

/* A reference for the length of a call, since another thread may close the descriptor. */
static struct file *get(int fd)
{
	struct file *file;

	pthread_mutex_lock(&files_lock);
	file = file_of(fd);
	if (file)
		file->refs++;
	pthread_mutex_unlock(&files_lock);
	return file;
}

static void put(struct file *file)
{
	bool last;

	pthread_mutex_lock(&files_lock);
	last = !--file->refs;
	if (last && (file->ctx || file->rdmacm))
		open_devices--;
	pthread_mutex_unlock(&files_lock);
	if (!last)
		return;
	if (file->ctx)
		uverbs_close(file->ctx);
	if (file->rdmacm)
		rdmacm_free(file->rdmacm);
	if (file->event)
		event_file_put(file->event);
	if (file->netlink)
		netlink_close(file->netlink);
	free(file);
}

static int install(int fd, struct file *file)
{
	if (fd >= MAX_FDS)
		return -EMFILE;
	pthread_mutex_lock(&files_lock);
	file->refs++;
	atomic_store_explicit(&files[fd], file, memory_order_release);
	if ((file->ctx || file->rdmacm) && file->refs == 1)
		open_devices++;
	pthread_mutex_unlock(&files_lock);
	return 0;
}

int file_open_node(const struct uverbs_host *host, int memfd, int flags)
{
	struct file *file;
	int fd, err;

	if (cx_is_removed(host->hca))
		return -EIO;
	fd = raw_fcntl(memfd, flags & O_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD, 0);
	if (fd < 0)
		return -errno;
	file = calloc(1, sizeof(*file));
	err = -ENOMEM;
	if (!file)
		goto close_fd;
	file->ctx = uverbs_open(host);
	if (!file->ctx)
		goto free_file;
	err = install(fd, file);
	if (err)
		goto close_ctx;
	return fd;

close_ctx:
	uverbs_close(file->ctx);
free_file:
	free(file);
close_fd:
	raw_close(fd);
	return err;
}

int file_open_rdmacm(const struct uverbs_host *host, int flags)
{
	struct file *file = calloc(1, sizeof(*file));
	int fd, err;

	if (!file)
		return -ENOMEM;
	fd = rdmacm_open(host->hca, flags, &file->rdmacm);
	err = fd < 0 ? fd : install(fd, file);
	if (!err)
		return fd;
	if (file->rdmacm) {
		rdmacm_free(file->rdmacm);
		raw_close(fd);
	}
	free(file);
	return err;
}

int file_install_event(struct event_file *event)
{
	struct file *file = calloc(1, sizeof(*file));
	int fd, err;

	if (!file)
		return -ENOMEM;
	file->event = event;
	fd = raw_open(event_file_path(event), O_RDWR | O_CLOEXEC, 0);
	err = fd < 0 ? -errno : install(fd, file);
	if (!err)
		return fd;
	if (fd >= 0)
		raw_close(fd);
	free(file);
	return err;
}

int file_open_netlink(int type)
{
	struct file *file = calloc(1, sizeof(*file));
	int fd, err;

	if (!file)
		return -ENOMEM;
	fd = netlink_open(type, &file->netlink);
	err = fd < 0 ? fd : install(fd, file);
	if (!err)
		return fd;
	if (file->netlink) {
		netlink_close(file->netlink);
		raw_close(fd);
	}
	free(file);
	return err;
}

bool file_is_netlink(int fd)
{
	struct file *file = file_of(fd);

	return file && file->netlink;
}

ssize_t file_send(struct cx_hca *hca, int fd, const void *datagram, size_t size)
{
	struct file *file = get(fd);
	ssize_t done;

	if (!file)
		return -EBADF;
	done = netlink_sent(file->netlink, hca, fd, datagram, size);
	put(file);
	return done;
}

void file_was_read(struct cx_hca *hca, int fd)
{
	struct file *file = get(fd);

	if (!file)
		return;
	netlink_was_read(file->netlink, hca, fd);
	put(file);
}

struct event_file *file_lookup_event(int fd)
{
	struct file *file = file_of(fd);

	return file ? file->event : NULL;
}

int file_ioctl(int fd, unsigned long request, void *arg)
{
	struct file *file = get(fd);
	int err;

	if (!file)
		return -EBADF;
	err = file->ctx ? uverbs_ioctl(file->ctx, request, arg) : -ENOTTY;
	put(file);
	return err;
}

ssize_t file_read(int fd, void *buf, size_t size)
{
	struct file *file = get(fd);
	ssize_t done;

	if (!file)
		return -EBADF;
	done = file->event ? event_file_read(file->event, fd, buf, size) : -EINVAL;
	put(file);
	return done;
}

static void put_at_cancellation(void *file)
{
	put(file);
}

/* A thread that waits for an event may be cancelled. */
ssize_t file_write(const struct uverbs_host *host, int fd, const void *buf, size_t size)
{
	struct file *file = get(fd);
	ssize_t done;

	if (!file)
		return -EBADF;
	pthread_cleanup_push(put_at_cancellation, file);
	done = file->rdmacm ? rdmacm_write(file->rdmacm, host, fd, buf, size) : -EINVAL;
	pthread_cleanup_pop(true);
	return done;
}

void file_closed(int fd)
{
	struct file *file;

	if (!file_of(fd))
		return;
	pthread_mutex_lock(&files_lock);
	file = file_of(fd);
	atomic_store_explicit(&files[fd], NULL, memory_order_release);
	pthread_mutex_unlock(&files_lock);
	if (file)
		put(file);
}

void file_duplicated(int fd, int copy)
{
	struct file *file = get(fd);

	if (!file)
		return;
	install(copy, file);
	put(file);
}

bool files_open(void)
{
	return open_devices;
}

void files_after_fork_child(void)
{
	pthread_mutex_init(&files_lock, NULL);
}
