/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ranges of registered memory whose pages the program has replaced or removed; ordered, and
 * disjoint.
 * Under the lock.
 */
#ifndef SOFTCX_NIC_CHANGES_H
#define SOFTCX_NIC_CHANGES_H

#include "state.h"

/* The first change in this range of bytes; NULL: there is none. */
const struct cx_range *cx_changes_find(const struct cx_mr *mr, uint64_t va, uint64_t len);
/* Forgets all changes: the memory was registered anew. */
void cx_changes_forget(struct cx_mr *mr);

#endif
