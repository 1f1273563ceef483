/* SPDX-License-Identifier: BSD-2-Clause */
/* Event channels. */
#include "commands.h"

#include <errno.h>
#include <string.h>

#include "../subscriptions.h"

int cx_channel_create(struct cx_hca *hca, const char *path, enum cx_event kind, uint32_t *channel)
{
	struct cx_channel *entry;
	struct cx_head *head;
	uint32_t number;
	int err;

	if (strlen(path) >= CX_CHANNEL_PATH_SIZE)
		return -ENAMETOOLONG;
	cx_lock_to_create(hca);
	err = cx_create(hca, CX_CHANNEL, &head, &number);
	if (!err) {
		entry = (struct cx_channel *)head;
		strcpy(entry->path, path);
		entry->kind = kind;
		entry->serial = ++hca->shared->channel_serial;
		cx_publish(hca, CX_CHANNEL, head, number);
		*channel = number;
	}
	cx_unlock(hca);
	return err;
}

int cx_channel_destroy(struct cx_hca *hca, uint32_t channel)
{
	int err;

	cx_lock(hca);
	err = cx_remove(hca, CX_CHANNEL, channel);
	if (!err)
		cx_end_subscriptions_of_channel(hca, channel);
	cx_unlock(hca);
	return err;
}
