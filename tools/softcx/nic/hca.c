/* SPDX-License-Identifier: BSD-2-Clause */
/* A process's view of the HCA: open, close, configuration. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../os/raw.h"
#include "fabric.h"
#include "memory.h"
#include "plan.h"
#include "rq.h"
#include "scratch.h"
#include "segment.h"

static void free_hca(struct cx_hca *hca)
{
	for (unsigned i = 0; i < CX_CHANNELS; i++)
		if (hca->fifos[i].serial)
			raw_close(hca->fifos[i].fd);
	if (hca->trace_fd > STDERR_FILENO)
		raw_close(hca->trace_fd);
	cx_mem_name_tables(NULL, 0, NULL);
	if (hca->shared)
		munmap(hca->shared, sizeof(struct cx_shared));
	cx_segment_close(hca);
	cx_plan_free(hca->faults);
	free(hca->scratch);
	free(hca->segment_path);
	free((char *)hca->config.fabric);
	free((char *)hca->config.interface);
	free((char *)hca->config.fault_plan);
	free((char *)hca->config.trace_path);
	free(hca);
}

static int copy_string(const char **dst, const char *src)
{
	*dst = src ? strdup(src) : NULL;
	return src && !*dst ? -ENOMEM : 0;
}

static int copy_config(struct cx_config *dst, const struct cx_config *src)
{
	*dst = *src;
	dst->fabric = dst->interface = dst->fault_plan = dst->trace_path = NULL;
	dst->netdev = NULL;
	dst->tables = NULL;
	if (copy_string(&dst->fabric, src->fabric) ||
	    copy_string(&dst->interface, src->interface) ||
	    copy_string(&dst->fault_plan, src->fault_plan) ||
	    copy_string(&dst->trace_path, src->trace_path))
		return -ENOMEM;
	return 0;
}

static int open_trace(struct cx_hca *hca)
{
	const char *path = hca->config.trace_path;

	if (!path)
		return 0;
	if (!strcmp(path, "-")) {
		hca->trace_fd = STDERR_FILENO;
		return 0;
	}
	hca->trace_fd = raw_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	return hca->trace_fd < 0 ? -errno : 0;
}

int cx_open(const struct cx_config *config, struct cx_hca **out)
{
	struct cx_hca *hca = calloc(1, sizeof(*hca));
	int err;

	if (!hca)
		return -ENOMEM;
	hca->segment_fd = hca->trace_fd = -1;
	hca->self = hca->asked = CX_PROCS;
	hca->virtual_ns = 1;
	hca->after_death = cx_recv_recover;
	hca->scratch = calloc(1, sizeof(*hca->scratch));
	err = hca->scratch ? copy_config(&hca->config, config) : -ENOMEM;
	if (!err)
		err = open_trace(hca);
	if (!err && config->fault_plan)
		err = cx_plan_parse(config->fault_plan, &hca->faults);
	if (!err)
		err = cx_mem_guard();
	if (!err)
		err = cx_join_fabric(hca);
	if (err) {
		free_hca(hca);
		return err;
	}
	/* Under Yama's ptrace restriction, peers need permission to reach this process's memory. */
	if (!config->private_fabric)
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	*out = hca;
	return 0;
}

void cx_close(struct cx_hca *hca)
{
	if (!hca)
		return;
	cx_leave_fabric(hca);
	free_hca(hca);
}

void cx_after_fork_child(struct cx_hca *hca)
{
	/*
	 * The child shares the open file, and with it the parent's flock(): it must not unlock or
	 * lock through it. It opens the file anew, as any later process does.
	 */
	cx_segment_close(hca);
	hca->life = NULL; /* it is not inherited */
	for (unsigned i = 0; i < CX_CHANNELS; i++) {
		if (hca->fifos[i].serial)
			raw_close(hca->fifos[i].fd);
		hca->fifos[i].serial = 0;
	}
	hca->self = CX_PROCS;
	if (!hca->config.private_fabric)
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

bool cx_port_is_up(const struct cx_hca *hca)
{
	return !__atomic_load_n(&hca->shared->port_down, __ATOMIC_RELAXED) && !cx_is_removed(hca);
}

bool cx_is_removed(const struct cx_hca *hca)
{
	return __atomic_load_n(&hca->shared->removed, __ATOMIC_RELAXED);
}

const struct cx_config *cx_config(const struct cx_hca *hca)
{
	return &hca->config;
}
