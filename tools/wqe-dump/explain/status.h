/* SPDX-License-Identifier: BSD-2-Clause */
/* The statuses of verbs completions, as log lines name them. */
#ifndef WQE_DUMP_STATUS_H
#define WQE_DUMP_STATUS_H

#include "../record.h"

/**
 * status_at() - enum ibv_wc_status whose name or text a text begins with, @len bytes of it:
 * IBV_WC_GENERAL_ERR, IB_WC_GENERAL_ERR, GENERAL_ERR, or the words of libibverbs or of the kernel
 */
struct number status_at(const char *text, size_t *len);

/** status_in() - the first status that is named anywhere in a text */
struct number status_in(const char *text);

/** status_anywhere() - likewise, or the number after "status" */
struct number status_anywhere(const char *text);

/** status_set() - sets a record's status, and its syndrome if only one becomes this status */
void status_set(struct record *record, uint32_t status);

#endif
