/* SPDX-License-Identifier: BSD-2-Clause */
/* Posts one request by each of the calls that can express it. */
#ifndef TESTS_ENGINE_POSTS_H
#define TESTS_ENGINE_POSTS_H

#include <errno.h>

#include "bsn.h"

/** enum post_way - POST_CALL is the function of the operation: of one SGE, inline, or of a list */
enum post_way { POST_CALL, POST_WR, POST_PREPARED, POST_WAYS };

#define POST_HAS_NO_WAY 1 /* this way cannot express it */

/** post_request - Return: as the call does, or POST_HAS_NO_WAY */
int post_request(struct bsn_ep *ep, const struct bsn_wr *wr, enum post_way way);

#endif
