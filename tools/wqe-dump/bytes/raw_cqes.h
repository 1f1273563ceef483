/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues: the CQEs in them, and those that compressed ones expand to. */
#ifndef WQE_DUMP_RAW_CQES_H
#define WQE_DUMP_RAW_CQES_H

#include "teller.h"

/** raw_cqes_tell() - tells of a completion queue's CQEs, `size` bytes each */
void raw_cqes_tell(struct teller *teller, size_t size);

#endif
