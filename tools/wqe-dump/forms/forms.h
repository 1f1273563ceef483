/* SPDX-License-Identifier: BSD-2-Clause */
/* All forms. */
#ifndef WQE_DUMP_FORMS_H
#define WQE_DUMP_FORMS_H

#include "form.h"

/*
 * X(variable without form_), in the order in which they are asked. Of forms whose lines look alike,
 * the first one gets the line; those that take lines of any program come last.
 */
#define FORMS(X)                                                                                   \
	X(libmlx5) X(libmlx5_wqe) X(mlx5_ib) X(mlx5_ib_wqe) X(mlx5_core_wqe)                       \
	X(mlx5_command) X(mlx5_health) X(mlx5_wc) X(mlx5e) X(mlx5_poll) X(mlx5_lines)              \
	X(ucx) X(ucx_wqe) X(ucx_lines) X(ucx_flush)                                                \
	X(dpdk) X(dpdk_dump)                                                                       \
	X(mpi) X(nccl) X(perftest) X(examples) X(xlio) X(gpunetio) X(nvshmem) X(nvshmem_lines)     \
	X(spdk) X(mooncake) X(uccl)                                                                \
	X(kernel_ulp) X(apps) X(events)                                                            \
	X(other_nic) X(verbs) X(hex) X(binary)

#define DECLARE_FORM(id) extern const struct form form_##id;
FORMS(DECLARE_FORM)
#undef DECLARE_FORM

#endif
