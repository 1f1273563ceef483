/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The commands of the driver: what creates, changes and destroys objects, a room for each kind.
 * They are declared in hca.h; here is what several of them check.
 */
#ifndef SOFTCX_NIC_COMMANDS_H
#define SOFTCX_NIC_COMMANDS_H

#include "../process.h"
#include "../tables.h"

static inline bool cx_is_power_of_two(uint32_t n)
{
	return n && !(n & (n - 1));
}

/* Whether the process has such a channel; 0 names none, which is as good. */
static inline bool cx_has_channel(struct cx_hca *hca, uint32_t channel, enum cx_event kind)
{
	const struct cx_channel *entry = cx_channel_find_own(hca, channel);

	return !channel || (entry && entry->kind == kind);
}

#endif
