/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WQE_DUMP_PREFIX_H
#define WQE_DUMP_PREFIX_H

#include "input.h"

/**
 * prefix_strip() - takes off what loggers put before a line
 *
 * Those of the kernel, the journal, syslog, containers, mpirun, srun, NCCL, UCX and of mail that
 * quotes. What says who wrote the line (host, process, rank) becomes its stream, times do not.
 */
void prefix_strip(struct line *line);

#endif
