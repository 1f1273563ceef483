/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells what is in bytes of queues. */
#ifndef WQE_DUMP_RAW_H
#define WQE_DUMP_RAW_H

#include "../tell/tell.h"
#include "bytes.h"

/**
 * raw_tell() - tells of each CQE or WQE in the bytes, or that they are neither
 * @attr: what the user says
 * @raw: its kind is set to what the bytes were, for bytes that follow
 *
 * Return: false: they are neither.
 */
bool raw_tell(struct tell *tell, const struct raw_attr *attr, struct raw *raw);

#endif
