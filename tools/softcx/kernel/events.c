/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Event files: completion channels and asynchronous events. Each is a FIFO. The device writes
 * records into it, from the process that runs the model; the program reads and polls it. Records
 * that were read are counted for each object. Destroying the object returns the count, and
 * libibverbs then waits until as many were acknowledged.
 */
#include "kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../os/raw.h"

union event_record {
	struct ib_uverbs_comp_event_desc comp;
	struct ib_uverbs_async_event_desc async;
	struct cx_devx_record devx;
};

/* Under the kernel's lock. */
static struct event_file *files;
static uint32_t next_file;

static size_t record_size(const struct event_file *file)
{
	static const size_t sizes[] = {
		[CX_EVENT_COMPLETION] = sizeof(struct ib_uverbs_comp_event_desc),
		[CX_EVENT_ASYNC] = sizeof(struct ib_uverbs_async_event_desc),
		[CX_EVENT_DEVX_COOKIE] = offsetof(struct cx_devx_record, eqe),
		[CX_EVENT_DEVX_DATA] = sizeof(struct cx_devx_record),
	};

	return sizes[file->kind];
}

static bool is_of_devx(const struct event_file *file)
{
	return file->kind == CX_EVENT_DEVX_COOKIE || file->kind == CX_EVENT_DEVX_DATA;
}

static int open_fifo(struct event_file *file, const char *dir)
{
	int length = snprintf(file->path, sizeof(file->path), "%s/%u", dir, next_file++);

	if (length < 0 || (size_t)length >= sizeof(file->path))
		return -ENAMETOOLONG;
	if (mkfifo(file->path, 0600))
		return -errno;
	file->fd = raw_open(file->path, O_RDWR | O_NONBLOCK | O_CLOEXEC, 0);
	if (file->fd < 0) {
		int err = -errno;

		unlink(file->path);
		return err;
	}
	return 0;
}

static int create(struct uverbs_context *ctx, enum cx_event kind, struct event_file **out)
{
	struct event_file *file = calloc(1, sizeof(*file));
	int err;

	if (!file)
		return -ENOMEM;
	file->ctx = ctx;
	file->kind = kind;
	file->refs = 1;
	err = open_fifo(file, ctx->host->event_dir);
	if (err)
		goto free_file;
	err = cx_channel_create(ctx->hca, file->path, kind, &file->channel);
	if (err)
		goto close_fifo;
	file->next = files;
	files = file;
	*out = file;
	return 0;

close_fifo:
	raw_close(file->fd);
	unlink(file->path);
free_file:
	free(file);
	return err;
}

void event_file_get(struct event_file *file)
{
	file->refs++;
}

/* The device forgets the file; a reader gets an error instead of events. */
static void detach(struct event_file *file)
{
	int err = cx_channel_destroy(file->ctx->hca, file->channel);

	if (err)
		cx_trace(file->ctx->hca, "uverbs: event file %s: error %d", file->path, -err);
	if (file->ctx->async == file)
		file->ctx->async = NULL;
	unlink(file->path);
	file->ctx = NULL;
}

void event_files_orphan(struct uverbs_context *ctx)
{
	for (struct event_file *file = files; file; file = file->next) {
		if (file->ctx == ctx)
			detach(file);
	}
}

void event_files_disown(void)
{
	for (struct event_file *file = files; file; file = file->next)
		file->ctx = NULL;
}

int event_file_of_fd(const struct uverbs_context *ctx, int64_t fd, enum cx_event kind,
		     struct event_file **out)
{
	struct event_file *file = ctx->host->lookup((int)fd);

	if (!file || file->ctx != ctx || file->kind != kind)
		return -EBADF;
	*out = file;
	return 0;
}

int event_file_open(struct uverbs_context *ctx, enum cx_event kind)
{
	struct event_file *file;
	int fd, err = create(ctx, kind, &file);

	if (err)
		return err;
	fd = ctx->host->install(file);
	if (fd < 0)
		event_file_put_locked(file);
	else if (kind == CX_EVENT_ASYNC && !ctx->async)
		ctx->async = file;
	return fd;
}

void event_file_put_locked(struct event_file *file)
{
	if (--file->refs)
		return;
	if (file->ctx)
		detach(file);
	for (struct event_file **link = &files; *link; link = &(*link)->next) {
		if (*link == file) {
			*link = file->next;
			break;
		}
	}
	raw_close(file->fd);
	for (unsigned i = 0; i < file->eventfd_count; i++)
		raw_close(file->eventfds[i]);
	free(file->eventfds);
	free(file);
}

/* eventfd_ctx_fdget() */
static int check_eventfd(int fd)
{
	char link[32], target[32] = "";

	if (raw_fcntl(fd, F_GETFD, 0) < 0)
		return -EBADF;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (raw_readlink(link, target, sizeof(target) - 1) < 0)
		return -errno;
	return strcmp(target, "anon_inode:[eventfd]") ? -EINVAL : 0;
}

int event_file_keep_eventfd(struct event_file *file, int fd, int *copy)
{
	int *grown, err = check_eventfd(fd);

	if (err)
		return err;
	grown = realloc(file->eventfds, (file->eventfd_count + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	file->eventfds = grown;
	*copy = raw_fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (*copy < 0)
		return -errno;
	file->eventfds[file->eventfd_count++] = *copy;
	return 0;
}

void event_file_put(struct event_file *file)
{
	pthread_mutex_lock(&kernel_lock);
	event_file_put_locked(file);
	pthread_mutex_unlock(&kernel_lock);
}

const char *event_file_path(const struct event_file *file)
{
	return file->path;
}

/* The kind of object that an asynchronous event is of; of the port and the device: none. */
static enum object_kind kind_of_async(uint32_t event_type)
{
	switch ((enum ibv_event_type)event_type) {
	case IBV_EVENT_CQ_ERR:
		return OBJECT_CQ;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return OBJECT_QP;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return OBJECT_SRQ;
	default:
		return OBJECT_NONE;
	}
}

/* The object that a record names. */
static struct object *object_of_record(const struct event_file *file,
				       const union event_record *record)
{
	if (is_of_devx(file))
		return NULL;
	if (file->kind == CX_EVENT_COMPLETION)
		return object_of_event(file->ctx, OBJECT_CQ, record->comp.cq_handle);
	return object_of_event(file->ctx, kind_of_async(record->async.event_type),
			       record->async.element);
}

static bool ends_channel(const struct event_file *file, const union event_record *record)
{
	if (is_of_devx(file))
		return !record->devx.subscription;
	return CX_CHANNEL_END ==
	       (file->kind == CX_EVENT_COMPLETION ? record->comp.cq_handle : record->async.element);
}

/*
 * As ib_uverbs_event_read() and ib_uverbs_event_poll() do on a closed queue, except that pollers
 * see POLLIN: a FIFO cannot show POLLERR. The mark stays for the next reader.
 */
static int report_end(struct event_file *file, const union event_record *record)
{
	if (raw_write(file->fd, record, record_size(file)) < 0)
		cx_trace(file->ctx->hca, "uverbs: event file %s: its end is lost", file->path);
	return -EIO;
}

static void count_reported(struct event_file *file, const union event_record *record)
{
	struct object *object = object_of_record(file, record);

	if (is_of_devx(file))
		cx_event_was_read(file->ctx->hca, &record->devx);
	if (object && file->kind == CX_EVENT_COMPLETION)
		object->cq.comp_reported++;
	else if (object)
		object->async_reported++;
}

/* Reads one record. Returns 0; -EAGAIN: there is none; -EIO: the context or the device is gone. */
static int take_record(struct event_file *file, union event_record *record)
{
	int err = -EAGAIN;

	pthread_mutex_lock(&kernel_lock);
	if (!file->ctx) {
		err = -EIO;
	} else if (file->kind == CX_EVENT_DEVX_DATA &&
		   cx_channel_overflowed(file->ctx->hca, file->channel)) {
		err = -EOVERFLOW;
	} else if (raw_read(file->fd, record, record_size(file)) == (ssize_t)record_size(file)) {
		err = ends_channel(file, record) ? report_end(file, record) : 0;
		if (!err)
			count_reported(file, record);
	} else if (cx_is_removed(file->ctx->hca)) {
		err = -EIO;
	}
	pthread_mutex_unlock(&kernel_lock);
	return err;
}

/* What the program gets of DevX: struct mlx5_ib_uapi_devx_async_event_hdr, or only its cookie. */
static size_t told_size(const struct event_file *file)
{
	switch (file->kind) {
	case CX_EVENT_DEVX_COOKIE:
		return sizeof(uint64_t);
	case CX_EVENT_DEVX_DATA:
		return sizeof(uint64_t) + sizeof(((struct cx_devx_record *)0)->eqe);
	default:
		return record_size(file);
	}
}

static ssize_t tell(const struct event_file *file, union event_record *record, void *buf)
{
	struct {
		uint64_t cookie;
		uint8_t eqe[sizeof(record->devx.eqe)];
	} event = { .cookie = record->devx.cookie };
	const void *told = is_of_devx(file) ? (const void *)&event : record;

	if (file->kind == CX_EVENT_DEVX_DATA)
		memcpy(event.eqe, record->devx.eqe, sizeof(event.eqe));
	if (user_write((uintptr_t)buf, told, told_size(file)))
		return -EFAULT;
	return (ssize_t)told_size(file);
}

/*
 * A record is taken and counted in one step under the lock, and waits are outside of it. So another
 * thread that destroys the object finds each event counted or still unread.
 */
ssize_t event_file_read(struct event_file *file, int fd, void *buf, size_t size)
{
	union event_record record;

	if (size < told_size(file))
		return -EINVAL;
	for (;;) {
		struct pollfd ready = { .fd = fd, .events = POLLIN };
		int err = take_record(file, &record);

		if (!err)
			break;
		if (err != -EAGAIN || raw_fcntl(fd, F_GETFL, 0) & O_NONBLOCK)
			return err;
		if (poll(&ready, 1, -1) < 0)
			return -errno;
	}
	return tell(file, &record, buf);
}

/* Empties the FIFO, and writes the records of other objects back. */
void event_file_forget(struct event_file *file, const struct object *object)
{
	union event_record kept[PIPE_BUF / sizeof(struct ib_uverbs_comp_event_desc)];
	size_t count = 0, size = record_size(file);

	if (!file->ctx)
		return;
	while (count < sizeof(kept) / sizeof(kept[0]) &&
	       raw_read(file->fd, &kept[count], size) == (ssize_t)size) {
		if (object_of_record(file, &kept[count]) != object)
			count++;
	}
	for (size_t i = 0; i < count; i++) {
		if (raw_write(file->fd, &kept[i], size) != (ssize_t)size)
			cx_trace(file->ctx->hca, "uverbs: event file %s: an event is lost",
				 file->path);
	}
}
