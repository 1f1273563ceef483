/* SPDX-License-Identifier: BSD-2-Clause */
/* A segment written in one line. */
#ifndef TESTS_WQE_ENCODE_H
#define TESTS_WQE_ENCODE_H

#include "bsn_decode.h"

#define ENCODE(seg, to, ...) bsn_##seg##_encode(to, &(const struct bsn_##seg){ __VA_ARGS__ })

#endif
