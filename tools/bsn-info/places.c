/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks /sys/class/infiniband. */
#include "places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned places_devices(const char *root, const char *only,
			void (*visit)(const char *device, void *arg), void *arg)
{
	struct names devices;
	unsigned seen = 0;

	root_list(root, &devices, "sys/class/infiniband");
	for (unsigned i = 0; i < devices.count; i++) {
		if (only && strcmp(only, devices.list[i]))
			continue;
		seen++;
		visit(devices.list[i], arg);
	}
	names_free(&devices);
	return seen;
}

void places_ports(const char *root, const char *device, void (*visit)(unsigned port, void *arg),
		  void *arg)
{
	struct names ports;

	root_list(root, &ports, "sys/class/infiniband/%s/ports", device);
	for (unsigned i = 0; i < ports.count; i++) {
		const unsigned long port = strtoul(ports.list[i], NULL, 10);

		if (port && port <= UINT8_MAX)
			visit((unsigned)port, arg);
	}
	names_free(&ports);
}

void places_netdev(const char *root, const char *device, unsigned port, char netdev[NETDEV_NAME])
{
	struct names names;

	*netdev = '\0';
	for (unsigned i = 0; i < 16 && !*netdev; i++)
		root_read(root, netdev, NETDEV_NAME,
			  "sys/class/infiniband/%s/ports/%u/gid_attrs/ndevs/%u", device, port, i);
	if (!*netdev) {
		root_list(root, &names, "sys/class/infiniband/%s/device/net", device);
		if (names.count)
			snprintf(netdev, NETDEV_NAME, "%s", names.list[0]);
		names_free(&names);
	}
	if (*netdev == '.' || strchr(netdev, '/'))
		*netdev = '\0'; /* the kernel gives no such name */
}

void places_complain(const char *root, const char *only)
{
	fprintf(stderr, "bsn-info: no RDMA device%s%s in %s/sys/class/infiniband\n",
		only ? " " : "", only ? only : "", root);
}
