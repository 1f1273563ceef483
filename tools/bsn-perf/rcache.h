/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UCX's cache of registrations (libucs), beside ours. It is loaded when it is measured, and not
 * before.
 */
#ifndef RCACHE_H
#define RCACHE_H

#include "bsn.h"

struct rcache;

/* NULL: *@why_not says why there is none. Nothing is hooked: memory stays while it is measured. */
struct rcache *rcache_open(struct bsn_device *device, const char **why_not);
void rcache_close(struct rcache *cache);

/* The sum of the lkeys of 64 B at each address; what is not known is registered, by the page. */
uint32_t rcache_look_up_all(struct rcache *cache, void *const *addresses, unsigned count);

#endif
