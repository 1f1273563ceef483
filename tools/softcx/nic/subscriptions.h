/* SPDX-License-Identifier: BSD-2-Clause */
/* Subscriptions to events by DevX. Under the lock. */
#ifndef SOFTCX_NIC_SUBSCRIPTIONS_H
#define SOFTCX_NIC_SUBSCRIPTIONS_H

#include "bsn_cmd.h"
#include "state.h"

/*
 * Tells an object's subscribers, from `told` on, of an event; its entry of the event queue has the
 * details.
 */
void cx_tell_subscribers(struct cx_hca *hca, uint32_t told, const struct bsn_eqe *eqe);
void cx_tell_subscribers_of_port(struct cx_hca *hca, const struct bsn_eqe *eqe);

/* The object, or the channel, is destroyed. */
void cx_end_subscriptions(struct cx_hca *hca, uint32_t *told);
void cx_end_subscriptions_of_channel(struct cx_hca *hca, uint32_t channel);

#endif
