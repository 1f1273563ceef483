/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The uverbs character device, answered instead of the kernel. The file layer above opens contexts,
 * passes ioctls on and reads event files. A table has what a context needs from that layer.
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
	const char *event_dir; /* the folder of the event files' FIFOs */
	/*
	 * Gives the process a descriptor of an event file, with its reference. Returns it, or
	 * -errno.
	 */
	int (*install)(struct event_file *file);
	/*
	 * The event file of a descriptor, while the kernel's lock is held; NULL: it is another
	 * file.
	 */
	struct event_file *(*lookup)(int fd);
	/*
	 * The rdma_cm file of a descriptor. Returns 0; -ENOENT: it is not open; -EINVAL: it is
	 * another file.
	 */
	int (*lookup_rdmacm)(int fd, struct rdmacm **file);
	/*
	 * Called before a queue is created that uses a page of the UAR window. Returns 0 or -errno.
	 */
	int (*uar_in_use)(uint32_t page);
	/*
	 * A process that has mapped the clock's page reads the device's clock there from now on.
	 * Returns 0 or -errno.
	 */
	int (*clock_in_use)(void);
};

/*
 * The offsets of a device file, in pages: the pages of doorbell registers (UARs) are in one window,
 * far above the offsets of mlx5's other pages (command << 8 | index).
 */
enum { UVERBS_UAR_PAGES = 4096 };
#define UVERBS_UAR_PAGE_SIZE ((off_t)1 << 12)
#define UVERBS_UAR_BASE      ((off_t)1 << 32)
#define UVERBS_UAR_SIZE      (UVERBS_UAR_PAGES * UVERBS_UAR_PAGE_SIZE)

/*
 * Device memory is where mlx5 has it: command 8, and the page's number. Pages of VARs, doorbells of
 * virtio devices, are below the registers.
 */
#define UVERBS_DM_BASE	((off_t)8 << 8 << 12)
#define UVERBS_VAR_BASE ((off_t)1 << 31)

/* The device's clock, at command 5. */
#define UVERBS_CLOCK_PAGE ((off_t)5 << 8 << 12)

/* Fills the page that a program may map besides UAR pages: the clock. Returns 0 or -errno. */
int uverbs_init_pages(int memfd);

/* Opens the device; NULL: out of memory. Closing destroys all that is left. */
struct uverbs_context *uverbs_open(const struct uverbs_host *host);
void uverbs_close(struct uverbs_context *ctx);

/* Handles RDMA_VERBS_IOCTL of the struct ib_uverbs_ioctl_hdr at `arg`. Returns 0 or -errno. */
int uverbs_ioctl(struct uverbs_context *ctx, unsigned long request, void *arg);

/*
 * read() of an event file through its descriptor `fd`: one event record, counted as reported.
 * Returns its bytes or -errno. Blocks if the descriptor's flags say so.
 */
ssize_t event_file_read(struct event_file *file, int fd, void *buf, size_t size);
const char *event_file_path(const struct event_file *file);
void event_file_put(struct event_file *file);

/* The process's device goes; no context is open. */
void uverbs_stop(void);

/* In a child after fork(): every context is the parent's, and answers -EIO. */
void uverbs_after_fork_child(void);

#endif
