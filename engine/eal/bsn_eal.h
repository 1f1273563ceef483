/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of DPDK's EAL, for programs that run on it; libbunsen-eal. The rules of bsn.h hold here,
 * too.
 *
 * A process has one EAL. Where the application runs one it is joined, with its memory as it is.
 * Else one is started, for its memory alone: no devices, no telemetry, no files, one lcore on all
 * CPUs. It has threads of its own, reserves addresses for all memory that there may ever be, and
 * cannot be ended and started again: it stays until the process ends.
 */
#ifndef BSN_EAL_H
#define BSN_EAL_H

#include "bsn_mem.h"
#include "bsn_mr_cache.h"
#include "bsn_slab.h"

BSN_HEADER_BEGIN

struct bsn_eal;

/**
 * struct bsn_eal_attr - of an EAL that is started; one that runs is joined as it is
 * @bytes: hugepages that it takes at once and keeps; 0: none, it takes and gives them with the
 *	demand
 * @node: of @bytes: a NUMA node; 0: any, unless @has_node
 * @has_node: @node is meant, also where it is 0
 * @joins_only: none is started
 */
struct bsn_eal_attr {
	size_t bytes;
	int node;
	bool has_node;
	bool joins_only;
};

/**
 * bsn_eal_open - joins the EAL of the process, or starts one
 *
 * Each open is paired with a bsn_eal_close().
 *
 * Return: 0; -ENOENT none runs, and @joins_only is set; -ENOMEM there are no hugepages, or too few;
 * -EIO rte_eal_init() failed, or rte_eal_cleanup() was called, and EAL cannot be started again in
 * this process.
 */
BSN_API int bsn_eal_open(const struct bsn_eal_attr *attr, struct bsn_eal **eal);
BSN_API int bsn_eal_close(struct bsn_eal *eal);

/** bsn_eal_was_joined - whether the application had started it */
BSN_API bool bsn_eal_was_joined(const struct bsn_eal *eal);

/**
 * bsn_eal_source - memory of EAL's heaps, for bsn_buf_alloc()
 *
 * A part of a hugepage where that is enough. Any thread may use it; it lives until bsn_eal_close().
 */
BSN_API const struct bsn_mem_source *bsn_eal_source(struct bsn_eal *eal);

/**
 * bsn_eal_watch - for a cache of registrations: what EAL frees is invalidated before it goes, and
 * what is registered is the run of segments around an address
 */
BSN_API const struct bsn_mr_watch *bsn_eal_watch(struct bsn_eal *eal);

/**
 * bsn_eal_store - buffers of a slab in an rte_mempool, whose ring several threads take from at once
 *
 * EAL must run. A thread that loses its CPU in the middle of a batch keeps others waiting, as at a
 * lock.
 */
BSN_API const struct bsn_slab_store *bsn_eal_store(struct bsn_eal *eal);

BSN_HEADER_END

#endif
