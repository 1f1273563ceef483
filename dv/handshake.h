/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DC targets and initiators that connect by a full handshake. Verbs cannot ask for it, so these are
 * made by commands to the firmware (DevX). A part of provider.h, which says what an @answer is.
 * Private to the library.
 */
#ifndef DV_HANDSHAKE_H
#define DV_HANDSHAKE_H

#include "provider.h"

/* The firmware's answer in words; NULL: it was not asked, and the errno says why. */
const char *handshake_refusal(const struct bsn_cmd_out *answer);

/* The atomic mode as the contexts encode it; 0: no atomics. */
uint8_t handshake_atomic_mode(bool has_atomics, bool has_masked);

/*
 * The counter set in which the port counts its verbs queues (hw_counters). Objects of DevX are
 * counted only if they name it. 0: none is known. Creates a verbs QP on @pd and asks which set it
 * got.
 */
uint8_t handshake_counter_set(struct ibv_pd *pd, uint8_t port);

/*
 * A target, which takes requests as soon as it is created.
 * @path: how its acknowledgements travel: port_num, path_mtu, min_rnr_timer, ah_attr
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
 * The register through which initiators are rung. @is_shared: all users of the context share it,
 * and it does not write-combine.
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
 * @count_bb: blocks of the ring, a power of two
 * @streams: none if @log_count is 0
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
 * Destroys the initiator. Its memory stays until handshake_dci_free(), which may be called only
 * after that, or when the device is gone.
 */
int handshake_dci_destroy(struct handshake_dci *dci);
void handshake_dci_free(struct handshake_dci *dci);

uint32_t handshake_dci_number(const struct handshake_dci *dci);
void handshake_dci_map(const struct handshake_dci *dci, struct provider_qp *map);

/* Brings it to the state that @attr names, and sets what verbs set in that transition. */
int handshake_dci_modify(struct handshake_dci *dci, const struct ibv_qp_attr *attr,
			 struct bsn_cmd_out *answer);
int handshake_dci_state(struct handshake_dci *dci, enum ibv_qp_state *state);

/* Do what provider_stream_reset() and provider_lag_port_set() do for a QP. */
int handshake_dci_stream_reset(struct handshake_dci *dci, uint16_t stream);
int handshake_dci_lag_port_set(struct handshake_dci *dci, unsigned port);

#endif
