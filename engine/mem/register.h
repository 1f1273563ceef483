/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts that all registrations share. Private to engine/mem/. */
#ifndef MEM_REGISTER_H
#define MEM_REGISTER_H

#include "keys.h"

/* The access flags of the attributes. */
int register_access(const struct bsn_device *device, const struct bsn_mr_attr *attr);

/*
 * Refuses attributes that no region, or no region of this device, can have: 0, or -EOPNOTSUPP with
 * the reason.
 */
int register_check(const struct bsn_device *device, const struct bsn_mr_attr *attr, int access);

/* Says why a registration failed with @error, and returns -errno. */
int register_explain(int error, uint64_t length);

/*
 * Makes a bsn_mr of the region @verbs (NULL: libibverbs refused it, and errno says why). If that
 * fails, the region is deregistered.
 */
int register_finish(struct bsn_pd *pd, struct ibv_mr *verbs, uint64_t addr, uint64_t length,
		    int access, struct mr_object **mr);

#endif
