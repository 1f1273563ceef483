/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The life of the process's device: started by softcx_start(), or from the environment at the first
 * look at /sys. A child after fork() owns nothing of its parent, and starts a device of its own.
 */
#include "../softcx.h"

#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../nic/bus.h"
#include "../kernel/rdmacm.h"
#include "../nic/clock.h"
#include "../os/raw.h"
#include "shim.h"
#include "timer.h"
#include "trap.h"

static struct {
	struct uverbs_host host;
	struct cx_config config;
	struct cx_hca *hca;
	int memfd;
	enum trap_mode mode; /* exact in tests; programs choose */
	bool wanted;         /* there is a configuration */
	bool refused;        /* starting failed; that was printed once */
} device = { .memfd = -1, .mode = TRAP_EXACT };

static pthread_mutex_t device_lock = PTHREAD_MUTEX_INITIALIZER;

static int create_memfd(void)
{
	int fd = memfd_create("softcx-uar", MFD_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	err = ftruncate(fd, UVERBS_UAR_BASE + UVERBS_UAR_SIZE) ? -errno : uverbs_init_pages(fd);
	if (!err)
		return fd;
	raw_close(fd);
	return err;
}

/* It stays for the life of the process, since the trap knows it. */
static int memfd_locked(void)
{
	if (device.memfd < 0)
		device.memfd = create_memfd();
	return device.memfd;
}

int shim_uar_memfd(void)
{
	int fd;

	pthread_mutex_lock(&device_lock);
	fd = memfd_locked();
	pthread_mutex_unlock(&device_lock);
	return fd;
}

/* A trapped store, in the signal handler, on the thread that stored. */
static void ring(void *context, uint32_t page, uint32_t offset, const void *data, uint32_t size)
{
	struct cx_hca *hca = device.hca;

	(void)context;
	if (!hca)
		return;
	cx_doorbell(hca, page, offset, data, size);
	timer_look(hca); /* it may now wait for its peer */
}

static void count_store(void *context, uint32_t page, uint32_t offset, uint32_t size)
{
	struct cx_hca *hca = device.hca;

	(void)context;
	if (hca)
		cx_bus_store(hca, page, offset, size);
}

/* A command may have begun a wait: one that starts a queue pair, or fails it. */
void shim_look(void)
{
	struct cx_hca *hca = device.hca;

	if (hca && !device.config.passive)
		timer_look(hca);
}

void shim_rdmacm_closed(void)
{
	struct cx_hca *hca = device.hca;

	if (hca)
		rdmacm_sweep(hca);
}

/* A passive device looks at the doorbell records, and needs no trap. */
static int uar_in_use(uint32_t page)
{
	return device.config.passive ? 0 : trap_cover(page);
}

/* Two words, the high one first (rdma-core verbs.c mlx5_read_clock()); in the signal handler. */
static void read_clock(void *context, uint32_t offset, uint8_t *data, uint32_t size)
{
	const uint64_t now = htobe64(cx_clock_ns());
	uint8_t page[sizeof(now)];

	(void)context;
	memcpy(page, &now, sizeof(page));
	for (uint32_t i = 0; i < size; i++)
		data[i] = offset + i < sizeof(page) ? page[offset + i] : 0;
}

static int clock_in_use(void)
{
	return trap_cover_reads(UVERBS_CLOCK_PAGE);
}

/* Once a process; the next device uses it, too. */
static int install_trap(void)
{
	static const struct trap_listener listener = {
		.report = ring, .count = count_store, .answer = read_clock
	};
	int memfd;

	if (device.config.passive || trap_installed())
		return 0;
	memfd = memfd_locked();
	if (memfd < 0)
		return memfd;
	return trap_install(memfd, UVERBS_UAR_BASE, UVERBS_UAR_SIZE, device.mode, &listener);
}

/* Copies the strings, too; NULL stays NULL. */
static char *copy_string(const char *string, bool *failed)
{
	char *copy = string ? strdup(string) : NULL;

	if (string && !copy)
		*failed = true;
	return copy;
}

static void free_config(struct cx_config *config)
{
	free((char *)(uintptr_t)config->fabric);
	free((char *)(uintptr_t)config->interface);
	free((char *)(uintptr_t)config->fault_plan);
	free((char *)(uintptr_t)config->trace_path);
	memset(config, 0, sizeof(*config));
}

static int copy_config(const struct cx_config *from, struct cx_config *to)
{
	bool failed = false;

	*to = *from;
	to->fabric = copy_string(from->fabric, &failed);
	to->interface = copy_string(from->interface, &failed);
	to->fault_plan = copy_string(from->fault_plan, &failed);
	to->trace_path = copy_string(from->trace_path, &failed);
	if (failed)
		free_config(to);
	return failed ? -ENOMEM : 0;
}

static void before_fork(void)
{
	pthread_mutex_lock(&device_lock);
}

static void after_fork_parent(void)
{
	pthread_mutex_unlock(&device_lock);
}

/*
 * The child still wants a device, and gets its own when it looks. It shares the UAR pages: they are
 * never read, and the child inherits the trap with them.
 */
static void after_fork_child(void)
{
	files_after_fork_child();
	uverbs_after_fork_child();
	timer_after_fork_child();
	if (device.hca)
		cx_after_fork_child(device.hca);
	device.hca = NULL;
	sysfs_disown();
	pthread_mutex_unlock(&device_lock);
}

static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

static int start_locked(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int err = cx_open(&device.config, &device.hca);

	if (err) {
		device.hca = NULL;
		return err;
	}
	err = sysfs_create(cx_config(device.hca));
	if (err)
		goto close_hca;
	err = install_trap();
	if (err)
		goto remove_sysfs;
	device.host = (struct uverbs_host){
		.hca = device.hca,
		.memfd = memfd_locked(),
		.event_dir = sysfs_event_dir(),
		.install = file_install_event,
		.lookup = file_lookup_event,
		.lookup_rdmacm = file_lookup_rdmacm,
		.uar_in_use = uar_in_use,
		.clock_in_use = clock_in_use,
	};
	pthread_once(&once, watch_forks);
	return 0;

remove_sysfs:
	sysfs_remove();
close_hca:
	cx_close(device.hca);
	device.hca = NULL;
	return err;
}

/* softcx run has checked this, but in another environment, or earlier. */
static const char *explain(int err)
{
	switch (err) {
	case -EPROTO:
		return "its programs have another version of softcx; end them (softcx list), then "
		       "softcx "
		       "clean";
	case -EBUSY:
		return "its programs have another generation, link or interface (softcx list), or "
		       "other tables of P_Keys or GIDs";
	case -ENODEV:
		return "SOFTCX_NETDEV names no Ethernet interface";
	case -ENETDOWN:
		return "the interface of SOFTCX_NETDEV is down";
	case -ENOSPC:
		return "the file system of its file is full: enlarge it (docker run "
		       "--shm-size=1g), or name another folder in XDG_RUNTIME_DIR";
	case -EXDEV:
		return "its programs are in another PID namespace, and reach each other by number";
	case -EPERM:
	case -ELOOP:
		return "there is a file of its name which is not yours; choose another fabric";
	case -EACCES:
		return "its file is not yours, or its folder cannot be written to";
	case -EUSERS:
		return "it is full: as many processes as it has room for use it";
	default:
		return strerror(-err);
	}
}

static void start_from_environment(void)
{
	struct cx_config config;
	int err;

	if (!device.wanted) {
		if (!shim_config_from_environment)
			return;
		/* The environment is read once, and a complaint is printed once. */
		device.refused = !shim_config_from_environment(&config, &device.mode) ||
				 copy_config(&config, &device.config);
		if (device.refused)
			return;
		device.wanted = true;
	}
	err = start_locked();
	if (err) {
		fprintf(stderr, "softcx: no device: fabric %s: %s\n", device.config.fabric,
			explain(err));
		device.refused = true;
	}
}

const struct uverbs_host *shim_host(void)
{
	const struct uverbs_host *host;

	pthread_mutex_lock(&device_lock);
	if (!device.hca && !device.refused)
		start_from_environment();
	host = device.hca ? &device.host : NULL;
	pthread_mutex_unlock(&device_lock);
	return host;
}

int softcx_start(const struct cx_config *config)
{
	int err;

	pthread_mutex_lock(&device_lock);
	if (device.wanted) {
		err = -EALREADY;
		goto unlock;
	}
	err = copy_config(config, &device.config);
	if (err)
		goto unlock;
	/* It would name another tree, in place of ours. */
	unsetenv("SYSFS_PATH");
	err = start_locked();
	if (err)
		free_config(&device.config);
	device.wanted = !err;
unlock:
	pthread_mutex_unlock(&device_lock);
	return err;
}

int softcx_stop(void)
{
	int err = 0;

	pthread_mutex_lock(&device_lock);
	if (files_open()) {
		err = -EBUSY;
	} else if (device.hca) {
		timer_stop();
		uverbs_stop();
		cx_close(device.hca);
		sysfs_remove();
		device.hca = NULL;
		device.wanted = false;
		free_config(&device.config);
	}
	pthread_mutex_unlock(&device_lock);
	return err;
}

unsigned softcx_step(unsigned max_wqes)
{
	return device.hca ? cx_step(device.hca, max_wqes) : 0;
}

struct cx_hca *softcx_hca(void)
{
	return device.hca;
}

/* Other threads may still be running, so nothing is freed. */
static void leave_at_exit(int status, void *context)
{
	(void)status;
	(void)context;
	if (device.hca)
		cx_leave(device.hca);
	sysfs_remove();
}

/*
 * Runs after the destructors of all libraries, which may still use the device. What is registered
 * before the program starts runs last. A destructor of this library would run too early.
 */
__attribute__((constructor)) static void leave_last(void)
{
	on_exit(leave_at_exit, NULL);
}
