/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the first port of the first device has counted, as its file in /sys tells. After cmocka.h.
 */
#ifndef TESTS_PORT_COUNT_H
#define TESTS_PORT_COUNT_H

#include <stdio.h>

static inline unsigned port_count(const char *name)
{
	char path[96];
	unsigned count;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/%s", name);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%u", &count), 1);
	assert_int_equal(fclose(file), 0);
	return count;
}

#endif
