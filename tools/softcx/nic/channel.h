/* SPDX-License-Identifier: BSD-2-Clause */
/* The FIFOs of event channels, whichever process has them. Under the lock. */
#ifndef SOFTCX_NIC_CHANNEL_H
#define SOFTCX_NIC_CHANNEL_H

#include "state.h"

/* Writes a record whole; false: it is lost. */
bool cx_channel_write(struct cx_hca *hca, const struct cx_channel *channel, const void *record,
		      size_t len);

#endif
