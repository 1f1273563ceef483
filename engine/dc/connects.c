/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections as the device counts them. softcx tells those of a process's initiators, in the file
 * that softcx(1) describes. A ConnectX tells nobody: no public source has such a counter of
 * initiators. Its targets are counted for a whole port, in hw_counters/rx_dct_connect (Linux
 * drivers/infiniband/hw/mlx5/counters.c).
 */
#include "pool.h"

#include <inttypes.h>
#include <stdio.h>

bool told_connects(const struct bsn_dc_pool *pool, struct connects *counted)
{
	char path[256];
	bool is_told;
	FILE *file;

	if (!pool->device || pool->rc)
		return false;
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/softcx_dc", pool->device->info.name);
	file = fopen(path, "r");
	if (!file)
		return false;
	is_told = fscanf(file, "connect %" SCNu64 " reconnect %" SCNu64, &counted->all,
			 &counted->again) == 2;
	fclose(file);
	return is_told;
}
