/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A watch for ordinary memory, by UCX's libucm; libbunsen-ucm. The rules of bsn.h apply.
 *
 * libucm patches munmap(), mremap(), madvise(), brk() and similar functions in the whole process,
 * until the process ends. It does not see system calls that bypass the C library, nor free() under
 * AddressSanitizer. libucs, which libucm loads, installs signal handlers. Only one library of a
 * process can patch these functions: with two, calls are lost silently.
 */
#ifndef BSN_UCM_H
#define BSN_UCM_H

#include "bsn_mr_cache.h"

BSN_HEADER_BEGIN

/**
 * bsn_ucm_watch - for a cache of registrations: invalidates memory before it is unmapped, moved or
 * given back
 *
 * Any number of caches may have it. With it bsn_mr_cache_create() also returns -EOPNOTSUPP: libucm
 * installs no hooks (UCX_MEM_EVENTS=n), or its hooks are not called, as under valgrind.
 *
 * Return: never NULL; valid as long as the process.
 */
BSN_API const struct bsn_mr_watch *bsn_ucm_watch(void);

BSN_HEADER_END

#endif
