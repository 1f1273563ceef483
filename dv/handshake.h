/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ends of dynamically connected transport that connect by a full handshake, which verbs have no way
 * to ask for: they are made by commands to the firmware (DevX). A part of provider.h. Private to
 * the library.
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
 * The set in which the port counts what its queues of verbs do (hw_counters), and which objects of
 * DevX must name in order to be counted; 0: none is known. Makes a queue pair of verbs on @pd and
 * asks what it was given.
 */
uint8_t handshake_counter_set(struct ibv_pd *pd, uint8_t port);

/*
 * A target, which takes requests at once.
 * @path: of its acknowledgements: port_num, path_mtu, min_rnr_timer, ah_attr
 */
struct handshake_dct_attr {
	struct ibv_pd *pd;
	uint32_t cqn, srqn;
	uint64_t access_key;
	uint8_t atomic_mode, counter_set;
	const struct ibv_qp_attr *path;
};
int handshake_dct_create(const struct handshake_dct_attr *attr, void **handle, uint32_t *number,
			 struct bsn_cmd_out *answer);
int handshake_dct_destroy(void *handle);

/*
 * A register, through which initiators are rung. @is_shared: it is one of all that this process
 * has, and does not write-combine.
 */
struct handshake_uar {
	void *handle;
	uint8_t *reg;
	uint32_t blueflame_bytes;
	bool is_shared;
};
int handshake_uar_alloc(struct ibv_context *context, struct handshake_uar *uar);
void handshake_uar_free(struct handshake_uar *uar);

/*
 * An initiator, with a ring of its own.
 * @count_bb: of the ring: a power of two
 * @streams: @log_count 0: none
 */
struct handshake_dci_attr {
	struct ibv_pd *pd;
	const struct handshake_uar *uar;
	uint32_t cqn, count_bb;
	struct provider_streams streams;
	uint8_t atomic_mode, counter_set;
};
struct handshake_dci;
int handshake_dci_create(const struct handshake_dci_attr *attr, struct handshake_dci **dci,
			 struct bsn_cmd_out *answer);
/*
 * Its memory is there until it is freed, which may be done only then, or when the device is gone.
 */
int handshake_dci_destroy(struct handshake_dci *dci);
void handshake_dci_free(struct handshake_dci *dci);

uint32_t handshake_dci_number(const struct handshake_dci *dci);
void handshake_dci_map(const struct handshake_dci *dci, struct provider_qp *map);

/* To the state that @attr names, with what verbs set on the way there. */
int handshake_dci_modify(struct handshake_dci *dci, const struct ibv_qp_attr *attr,
			 struct bsn_cmd_out *answer);
int handshake_dci_state(struct handshake_dci *dci, enum ibv_qp_state *state);

/* provider_stream_reset() and provider_lag_port_set() of it. */
int handshake_dci_stream_reset(struct handshake_dci *dci, uint16_t stream);
int handshake_dci_lag_port_set(struct handshake_dci *dci, unsigned port);

#endif
