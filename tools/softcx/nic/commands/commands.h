/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The driver's commands, which create, change and destroy objects; a file for each kind. hca.h
 * declares them. Here are checks that several of them share.
 */
#ifndef SOFTCX_NIC_COMMANDS_H
#define SOFTCX_NIC_COMMANDS_H

#include "../process.h"
#include "../tables.h"

static inline bool cx_is_power_of_two(uint32_t n)
{
	return n && !(n & (n - 1));
}

/* Whether the process has such a channel; 0 means none, and is accepted. */
static inline bool cx_has_channel(struct cx_hca *hca, uint32_t channel, enum cx_event kind)
{
	const struct cx_channel *entry = cx_channel_find_own(hca, channel);

	return !channel || (entry && entry->kind == kind);
}

/* The same under the lock, for commands in mailboxes. */
int cx_pd_make(struct cx_hca *hca, uint32_t *pdn);
int cx_cq_make(struct cx_hca *hca, const struct cx_cq_attr *attr, uint32_t *cqn);
int cx_srq_make(struct cx_hca *hca, const struct cx_srq_attr *attr, uint32_t *srqn);
int cx_qp_make(struct cx_hca *hca, const struct cx_qp_attr *attr, uint32_t *qpn);
/* Executes a transition that is legal, and whose attributes are. */
int cx_qp_change(struct cx_hca *hca, struct cx_qp *qp, const struct ibv_qp_attr *attr, int mask);

#endif
