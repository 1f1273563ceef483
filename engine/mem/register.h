/* SPDX-License-Identifier: BSD-2-Clause */
/* What all registrations have in common. Private to engine/mem/. */
#ifndef MEM_REGISTER_H
#define MEM_REGISTER_H

#include "keys.h"

/* The domain to use: @pd, or the device's own. NULL, with a text: it is another device's. */
struct bsn_pd *register_pd(struct bsn_device *device, struct bsn_pd *pd);

/* The access flags that the attributes mean. */
int register_access(const struct bsn_device *device, const struct bsn_mr_attr *attr);

/* Refuses what no region has, and what this device does not have: 0; -EOPNOTSUPP, and why. */
int register_check(const struct bsn_device *device, const struct bsn_mr_attr *attr, int access);

/* errno of a registration that failed, in words: -errno. */
int register_explain(int error, uint64_t length);

/*
 * Makes a bsn_mr of what libibverbs registered with @access, @verbs (NULL: it did not, and errno
 * says why), which is deregistered where that fails.
 */
int register_finish(struct bsn_pd *pd, struct ibv_mr *verbs, uint64_t addr, uint64_t length,
		    int access, struct mr_object **mr);

#endif
