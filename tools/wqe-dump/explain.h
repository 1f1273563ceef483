/* SPDX-License-Identifier: BSD-2-Clause */
/* What an error means. */
#ifndef WQE_DUMP_EXPLAIN_H
#define WQE_DUMP_EXPLAIN_H

#include "record.h"

/** explain_record() - fills cause, confidence and, where the numbers tell it, side */
void explain_record(struct record *record);

#endif
