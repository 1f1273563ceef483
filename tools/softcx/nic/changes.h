/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ranges of registered memory whose pages are no longer the program's, in order and apart. Under
 * the lock.
 */
#ifndef SOFTCX_NIC_CHANGES_H
#define SOFTCX_NIC_CHANGES_H

#include "state.h"

/* The first change that meets any of these bytes; NULL: there is none. */
const struct cx_range *cx_changes_find(const struct cx_mr *mr, uint64_t va, uint64_t len);
/* After the memory was registered anew. */
void cx_changes_forget(struct cx_mr *mr);

#endif
