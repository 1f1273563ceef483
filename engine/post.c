/* SPDX-License-Identifier: BSD-2-Clause */
/* The linkable copies of what the public headers have inline: the same source, compiled once. */

#define BSN_CHECK_NULL /* a call costs more than the check, and a binding may pass any pointer */
#define BSN_POST_API __attribute__((visibility("default")))
#include "bsn.h"
#include "bsn_mkey.h"
