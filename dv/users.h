/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The user pointers of a send queue's endpoints. A slot has room for the number of one, not for the
 * pointer (struct bsn_sq); here stands what the number means. Private to the library.
 */
#ifndef DV_USERS_H
#define DV_USERS_H

#include "bsn_sq.h"

/* 0 or -ENOMEM. */
int bsn_sq_make_users(struct bsn_sq *sq);
void bsn_sq_free_users(struct bsn_sq *sq);

/* One thread at a time, but beside the poller and the poster. 0 or -ENOMEM. */
int bsn_sq_add_user(struct bsn_sq *sq, void *user, uint32_t *number);

/* Once no request of that number is outstanding. */
void bsn_sq_drop_user(struct bsn_sq *sq, uint32_t number);

/* Of the request in a slot that is not given back yet. */
void *bsn_sq_find_user(const struct bsn_sq *sq, uint32_t slot);

#endif
