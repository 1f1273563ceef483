/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside the shim: the device of this process, its fake files, and its table of descriptors. */
#ifndef SOFTCX_SHIM_H
#define SOFTCX_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "../kernel/uverbs.h"
#include "../nic/hca.h"
#include "trap.h"

/*
 * The process's device. If preloaded, it is started from the environment, if that asks for one;
 * else only by softcx_start(). NULL: there is none. It comes with what kernel/ needs of the
 * process.
 */
const struct uverbs_host *shim_host(void);

/*
 * The memfd of this process's UAR pages, created when first asked for; or -errno. Each uverbs file
 * that the program opens is a duplicate of it, so that mmap() needs no interposing.
 */
int shim_uar_memfd(void);

/* After a command: the model may now wait for something. */
void shim_look(void);

/* After the real close() of a descriptor of rdma_cm; creates no device. */
void shim_rdmacm_closed(void);

/*
 * preload.c, which is absent if linked in: reads the configuration and how doorbells are trapped
 * from the environment. False: there is none.
 */
bool shim_config_from_environment(struct cx_config *config, enum trap_mode *mode)
	__attribute__((weak));

/* -- sysfs.c ----------------------------------------------------------------------------------- */

/* Writes the tree into a directory of its own. Returns 0 or -errno. */
int sysfs_create(const struct cx_config *config);
void sysfs_remove(void);
void sysfs_disown(void); /* in a child after fork(): the parent removes it */
const char *sysfs_event_dir(void);
/*
 * Writes the name of the fake of a path of /sys into `buf`, if the path is about the device; NULL:
 * it does not fit. sysfs_real() turns a name in the tree into the name that the program expects.
 */
bool sysfs_is_ours(const char *path);
const char *sysfs_redirect(struct cx_hca *hca, const char *path, char *buf, size_t size);
const char *sysfs_real(const char *path, char *buf, size_t size);

/* -- sysfs_told.c ------------------------------------------------------------------------------ */

/* A file whose text changes: its name below the device's folder, and what prints it. */
struct sysfs_told {
	const char *name;
	void (*print)(struct cx_hca *hca, FILE *file);
};

const struct sysfs_told *sysfs_find_told(const char *name); /* NULL: no such file */

/* -- files.c ----------------------------------------------------------------------------------- */

/* The device nodes. */
enum node { NODE_NONE, NODE_UVERBS, NODE_RDMACM };
enum node file_node(const char *path);
/* Opens the device: a duplicate of the memfd, or -errno. */
int file_open_node(const struct uverbs_host *host, int memfd, int flags);
int file_open_rdmacm(const struct uverbs_host *host, int flags);
/* Whether a descriptor is one of ours. Cheap, for the fast path of the interposed functions. */
bool file_is_ours(int fd);
enum node file_node_of(int fd);
int file_lookup_rdmacm(int fd, struct rdmacm **file);
int file_ioctl(int fd, unsigned long request, void *arg); /* 0 or -errno */
ssize_t file_read(int fd, void *buf, size_t size);        /* bytes or -errno */
ssize_t file_write(const struct uverbs_host *host, int fd, const void *buf, size_t size);
void file_closed(int fd);                                 /* before the real close() */
void file_duplicated(int fd, int copy);                   /* after the real dup() */
/*
 * Creates a netlink socket of the RDMA subsystem: its descriptor, or -errno. The next functions are
 * for such.
 */
int file_open_netlink(int type);
bool file_is_netlink(int fd);
ssize_t file_send(struct cx_hca *hca, int fd, const void *datagram, size_t size);
void file_was_read(struct cx_hca *hca, int fd); /* after the real recv() */
int file_install_event(struct event_file *file);
struct event_file *file_lookup_event(int fd);
bool files_open(void);
void files_after_fork_child(void);

#endif
