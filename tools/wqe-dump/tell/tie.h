/* SPDX-License-Identifier: BSD-2-Clause */
/* Ties an error CQE to the WQE that failed, in whichever order the two are found. */
#ifndef WQE_DUMP_TIE_H
#define WQE_DUMP_TIE_H

#include "../record.h"

struct tie;

/** tie_create() - NULL: out of memory */
struct tie *tie_create(void);

/**
 * tie_record() - fills in a record's partner if the partner was found before, and remembers the
 * record
 *
 * A CQE names the WQE by its index. If the ring was overwritten since, or dumped before, the
 * partner is the WQE in that slot, and partner_index differs from the CQE's.
 */
void tie_record(struct tie *tie, struct record *record);

void tie_destroy(struct tie *tie);

#endif
