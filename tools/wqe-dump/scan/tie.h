/* SPDX-License-Identifier: BSD-2-Clause */
/* Ties error CQEs to the WQEs that failed, where both were found, whichever came first. */
#ifndef WQE_DUMP_TIE_H
#define WQE_DUMP_TIE_H

#include "../record.h"

struct tie;

/** tie_create() - NULL: out of memory */
struct tie *tie_create(void);

/**
 * tie_record() - fills in a record's partner, if that was seen before, and remembers the record
 *
 * A CQE names the WQE by its index. A ring may have been overwritten since, or dumped before: then
 * the partner is what its slot has, and partner_index another one than the CQE's.
 */
void tie_record(struct tie *tie, struct record *record);

void tie_destroy(struct tie *tie);

#endif
