/* SPDX-License-Identifier: BSD-2-Clause */
/* The FIFOs of event channels, of any process. Under the lock. */
#ifndef SOFTCX_NIC_CHANNEL_H
#define SOFTCX_NIC_CHANNEL_H

#include "state.h"

/* Writes a whole record. False: it is lost. */
bool cx_channel_write(struct cx_hca *hca, const struct cx_channel *channel, const void *record,
		      size_t len);

#endif
