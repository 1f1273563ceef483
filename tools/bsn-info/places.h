/* SPDX-License-Identifier: BSD-2-Clause */
/* The devices of a host, and their ports, as /sys has them. */
#ifndef BSN_INFO_PLACES_H
#define BSN_INFO_PLACES_H

#include "root.h"

enum { NETDEV_NAME = 16 }; /* IFNAMSIZ */

/*
 * Calls @visit for each device, or for @only if it is not NULL and there; returns how many there
 * were.
 */
unsigned places_devices(const char *root, const char *only,
			void (*visit)(const char *device, void *arg), void *arg);

/* For each port of a device, from 1 on. */
void places_ports(const char *root, const char *device, void (*visit)(unsigned port, void *arg),
		  void *arg);

/* The interface of a port: the first that a GID is of, else the first of the device; else empty. */
void places_netdev(const char *root, const char *device, unsigned port, char netdev[NETDEV_NAME]);

/* Says on standard error that there is none. */
void places_complain(const char *root, const char *only);

#endif
