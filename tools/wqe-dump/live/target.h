/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory to read: that of a process, or that in a core file. */
#ifndef WQE_DUMP_TARGET_H
#define WQE_DUMP_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** struct target - filled by target_open_process() or target_open_core() */
struct target {
	char name[96];    /* "process 12 (program)" */
	uint64_t *images; /* addresses of what may be ELF images */
	size_t image_count;
	bool is_live;    /* its memory changes */
	bool has_ended;  /* the process has ended */
	bool is_cut_off; /* a core file whose end is missing */
	char why[256];   /* the last failure: a sentence without a full stop */
	int (*read)(struct target *target, uint64_t address, void *to, size_t bytes);
	void (*close)(struct target *target);
	long pid;
	int pidfd; /* of a process, or -1 */
	struct core *core;
};

/**
 * target_open_process() - a running process
 *
 * Nothing is stopped, written to or called in it.
 * Return: 0, or -errno with @why.
 */
int target_open_process(struct target *target, long pid);

/** target_open_core() - a core file; likewise */
int target_open_core(struct target *target, const char *path);

/**
 * target_read() - reads all of these bytes
 *
 * Return: 0; or, with @why: -ESRCH, the process has ended; -EFAULT, they are not there; -EPERM.
 */
int target_read(struct target *target, uint64_t address, void *to, size_t bytes);

/** target_wait() - waits; true after @ms milliseconds, false as soon as the process has ended */
bool target_wait(struct target *target, int ms);

void target_close(struct target *target);

/* For both kinds: sets @why, and returns -error. */
int target_fail(struct target *target, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int target_add_image(struct target *target, uint64_t start);

/* Makes the name out of @what, @pid and the program, whose name may have any bytes, up to a NUL. */
void target_set_name(struct target *target, const char *what, long pid, const char *program,
		     size_t len);

#endif
