/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of DPDK's EAL, for programs that run on it; libbunsen-eal. The rules of bsn.h hold here,
 * too.
 *
 * A process has one EAL. If the application runs it, Bunsen joins it and leaves its memory as it
 * is. Otherwise Bunsen starts it, for its memory alone: no devices, no telemetry, no files, one
 * lcore on all CPUs. It has its own threads, reserves addresses for all memory that it may ever
 * use, and stays until the process ends, since EAL cannot be started twice.
 */
#ifndef BSN_EAL_H
#define BSN_EAL_H

#include "bsn_mem.h"
#include "bsn_mr_cache.h"
#include "bsn_slab.h"

BSN_HEADER_BEGIN

struct bsn_eal;

/**
 * struct bsn_eal_attr - for an EAL that Bunsen starts; not used if one runs
 * @bytes: huge pages, taken at once and kept; 0: taken when needed, and given back
 * @node: of @bytes: a NUMA node; 0: any, unless @has_node
 * @has_node: @node is set, even if it is 0
 * @joins_only: starts none
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
 * Call bsn_eal_close() once for each bsn_eal_open().
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
 * Buffers need not fill a huge page. Any thread may use the source; it is valid until
 * bsn_eal_close().
 */
BSN_API const struct bsn_mem_source *bsn_eal_source(struct bsn_eal *eal);

/**
 * bsn_eal_watch - for a cache of registrations: invalidates what EAL is about to free, and
 * registers the run of memory segments around an address
 */
BSN_API const struct bsn_mr_watch *bsn_eal_watch(struct bsn_eal *eal);

/**
 * bsn_eal_store - for a slab: the ring of an rte_mempool, which several threads can use at once
 *
 * EAL must run. If a thread loses its CPU in the middle of a batch, others wait, as at a lock.
 */
BSN_API const struct bsn_slab_store *bsn_eal_store(struct bsn_eal *eal);

BSN_HEADER_END

#endif
