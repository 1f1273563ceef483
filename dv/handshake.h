/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ends of dynamically connected transport that connect by a full handshake, which verbs have no way to ask for:
 * they are made by commands to the firmware (DevX). A part of provider.h. Private to the library.
 *
 * @answer: of a command that was refused: its status, 0 where it did not come to the firmware
 */
#ifndef DV_HANDSHAKE_H
#define DV_HANDSHAKE_H

#include "bsn_cmd.h"
#include "provider.h"

/* What the firmware said; NULL: it was not asked, and the errno says why. */
const char *handshake_refusal(const struct bsn_cmd_out *answer);

/* What takes atomics, as the contexts have it; 0: none. */
uint8_t handshake_atomic_mode(bool has_atomics, bool has_masked);

/*
 * A target, which takes requests at once.
 * @path: of its acknowledgements: port_num, path_mtu, min_rnr_timer, ah_attr
 */
struct handshake_dct_attr {
	struct ibv_pd *pd;
	uint32_t cqn, srqn;
	uint64_t access_key;
	uint8_t atomic_mode;
	const struct ibv_qp_attr *path;
};
int handshake_dct_create(const struct handshake_dct_attr *attr, void **handle, uint32_t *number,
			 struct bsn_cmd_out *answer);
int handshake_dct_destroy(void *handle);

#endif
