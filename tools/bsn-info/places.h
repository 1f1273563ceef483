/* SPDX-License-Identifier: BSD-2-Clause */
/* The devices of a host and their ports, from /sys. */
#ifndef BSN_INFO_PLACES_H
#define BSN_INFO_PLACES_H

#include "root.h"

enum { NETDEV_NAME = 16 }; /* IFNAMSIZ */

/*
 * Calls @visit for each device, or only for the device @only if that is not NULL. Returns the
 * number of calls.
 */
unsigned places_devices(const char *root, const char *only,
			void (*visit)(const char *device, void *arg), void *arg);

/* Calls @visit for each port of a device, from 1 on. */
void places_ports(const char *root, const char *device, void (*visit)(unsigned port, void *arg),
		  void *arg);

/* The interface of a port: of its first GID that has one, or the device's first one, or empty. */
void places_netdev(const char *root, const char *device, unsigned port, char netdev[NETDEV_NAME]);

/* Prints on standard error that there is no device, or not @only. */
void places_complain(const char *root, const char *only);

#endif
