/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The uverbs character device, answered in the kernel's stead. The file layer above opens contexts,
 * hands ioctls down and reads event files; what a context needs from that layer comes in a table.
 */
#ifndef SOFTCX_UVERBS_H
#define SOFTCX_UVERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cx_hca;
struct uverbs_context;
struct event_file;
struct rdmacm;

struct uverbs_host {
	struct cx_hca *hca;
	int memfd; /* the file of the device */
	const char *event_dir; /* where the FIFOs of event files go */
	/* Gives an event file, and its reference, a descriptor of the process; that or -errno. */
	int (*install)(struct event_file *file);
	/*
	 * The event file that a descriptor names, while the kernel's lock is held; NULL for others.
	 */
	struct event_file *(*lookup)(int fd);
	/*
	 * The file of rdma_cm that a descriptor names: 0, -ENOENT: it is not open, -EINVAL: it is
	 * something else.
	 */
	int (*lookup_rdmacm)(int fd, struct rdmacm **file);
	/* Before a queue is created that uses a page of the UAR window; 0 or -errno. */
	int (*uar_in_use)(uint32_t page);
	/*
	 * From now on a process that has mapped the clock's page reads the device's clock there; 0
	 * or -errno.
	 */
	int (*clock_in_use)(void);
};

/*
 * What the file of a device holds at which offset: the pages of its doorbell registers (UARs), in
 * one window far above the offsets by which mlx5 names its other pages (command << 8 | index, in
 * pages).
 */
enum { UVERBS_UAR_PAGES = 4096 };
#define UVERBS_UAR_PAGE_SIZE ((off_t)1 << 12)
#define UVERBS_UAR_BASE      ((off_t)1 << 32)
#define UVERBS_UAR_SIZE      (UVERBS_UAR_PAGES * UVERBS_UAR_PAGE_SIZE)

/*
 * Device memory lies where mlx5 puts it, at command 8 and its page's number; pages of VARs, which a
 * virtio device listens to, below the registers.
 */
#define UVERBS_DM_BASE	((off_t)8 << 8 << 12)
#define UVERBS_VAR_BASE ((off_t)1 << 31)

/* The device's clock, at command 5. */
#define UVERBS_CLOCK_PAGE ((off_t)5 << 8 << 12)

/* Fills what a program may map of the device besides UAR pages: the clock. 0 or -errno. */
int uverbs_init_pages(int memfd);

/* One open of the device; NULL when out of memory. Closing destroys whatever is left in it. */
struct uverbs_context *uverbs_open(const struct uverbs_host *host);
void uverbs_close(struct uverbs_context *ctx);

/* The RDMA_VERBS_IOCTL of struct ib_uverbs_ioctl_hdr at `arg`; 0 or -errno. */
int uverbs_ioctl(struct uverbs_context *ctx, unsigned long request, void *arg);

/*
 * read() of an event file through its descriptor `fd`: one event record, counted as reported;
 * the bytes or -errno. Blocks as the descriptor's flags say.
 */
ssize_t event_file_read(struct event_file *file, int fd, void *buf, size_t size);
const char *event_file_path(const struct event_file *file);
void event_file_put(struct event_file *file);

/* The process's device goes; no context is open. */
void uverbs_stop(void);

/* After fork, in the child: every context is its parent's and answers -EIO. */
void uverbs_after_fork_child(void);

#endif
