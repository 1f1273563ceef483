/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes what wqe-dump finds; aborts if a record is not consistent. */
#ifndef FUZZ_SINK_H
#define FUZZ_SINK_H

#include <stdbool.h>

#include "wqe-dump/record.h"

extern struct sink fuzz_sink;
extern unsigned long fuzz_lines; /* of the input */
extern bool fuzz_prints;         /* runs the printers, too */

#endif
