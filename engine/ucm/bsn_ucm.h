/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A cache of registrations that follows ordinary memory, by UCX's libucm; libbunsen-ucm. The rules
 * of bsn.h hold here, too.
 *
 * libucm patches munmap(), mremap(), madvise(), brk() and their like in the whole process, for as
 * long as that lives. It does not see system calls that are made without the C library, nor what
 * free() does under AddressSanitizer. libucs, which comes with it, installs signal handlers when it
 * is loaded. A process has one such library: two that patch the same functions lose calls without a
 * word.
 */
#ifndef BSN_UCM_H
#define BSN_UCM_H

#include "bsn_mr_cache.h"

BSN_HEADER_BEGIN

/**
 * bsn_ucm_watch - for a cache of registrations: what is unmapped, moved or given back is
 * invalidated before it goes
 *
 * Any number of caches may have it. With it bsn_mr_cache_create() returns, too: -EOPNOTSUPP libucm
 * was told to install no hooks (UCX_MEM_EVENTS=n), or those that it installed are not called, as
 * under valgrind.
 *
 * Return: never NULL; it lives as long as the process.
 */
BSN_API const struct bsn_mr_watch *bsn_ucm_watch(void);

BSN_HEADER_END

#endif
