/* SPDX-License-Identifier: BSD-2-Clause */
/* The interface of a RoCE port, and its addresses. */
#include "netdev.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netpacket/packet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "../os/raw.h"

enum { ROUTE_UP = 1 }; /* linux/route.h RTF_UP */

/* The text of a file, cut if there is no room; empty: it cannot be read. */
static void read_file(const char *path, char *text, size_t size)
{
	const int fd = raw_open(path, O_RDONLY | O_CLOEXEC, 0);
	size_t length = 0;
	ssize_t n;

	while (fd >= 0 && length < size - 1 &&
	       (n = raw_read(fd, text + length, size - 1 - length)) > 0)
		length += (size_t)n;
	text[length] = '\0';
	if (fd >= 0)
		raw_close(fd);
}

/* The interface of the default route with the lowest metric. False: there is none. */
static bool find_default_route(char name[IFNAMSIZ])
{
	unsigned destination, flags, metric, mask, best = UINT32_MAX;
	char routes[8192], interface[IFNAMSIZ];
	const char *line = routes;

	*name = '\0';
	read_file("/proc/net/route", routes, sizeof(routes));
	while ((line = strchr(line, '\n')))
		if (sscanf(++line, "%15s %x %*x %x %*d %*d %u %x", interface, &destination, &flags,
			   &metric, &mask) == 5 &&
		    !destination && !mask && flags & ROUTE_UP && metric < best) {
			strcpy(name, interface);
			best = metric;
		}
	return *name;
}

static const struct sockaddr_ll *hardware_address(const struct ifaddrs *entry)
{
	const struct sockaddr_ll *address = (const void *)entry->ifa_addr;

	return address && address->sll_family == AF_PACKET ? address : NULL;
}

/* An interface with Ethernet frames, or the loopback. */
static const struct ifaddrs *find_link(const struct ifaddrs *all, const char *name)
{
	for (; all; all = all->ifa_next) {
		const struct sockaddr_ll *address = hardware_address(all);

		if (address && !strcmp(all->ifa_name, name) &&
		    (address->sll_hatype == ARPHRD_ETHER || address->sll_hatype == ARPHRD_LOOPBACK))
			return all;
	}
	return NULL;
}

static bool has_ipv4(const struct ifaddrs *all, const char *name)
{
	for (; all; all = all->ifa_next)
		if (all->ifa_addr && all->ifa_addr->sa_family == AF_INET &&
		    !strcmp(all->ifa_name, name))
			return true;
	return false;
}

static bool is_suitable(const struct ifaddrs *all, const char *name)
{
	const struct ifaddrs *link = find_link(all, name);

	return link && link->ifa_flags & IFF_UP && !(link->ifa_flags & IFF_LOOPBACK) &&
	       has_ipv4(all, name);
}

static const struct ifaddrs *choose(const struct ifaddrs *all)
{
	char name[IFNAMSIZ];

	if (find_default_route(name) && is_suitable(all, name))
		return find_link(all, name);
	for (const struct ifaddrs *entry = all; entry; entry = entry->ifa_next)
		if (hardware_address(entry) && is_suitable(all, entry->ifa_name))
			return find_link(all, entry->ifa_name);
	return NULL;
}

static void add_ipv4(struct cx_netdev *netdev, const struct sockaddr *address)
{
	union ibv_gid *gid = &netdev->addresses[netdev->count++];

	gid->raw[10] = gid->raw[11] = 0xff;
	memcpy(gid->raw + 12, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
}

static void add_ipv6(struct cx_netdev *netdev, const struct sockaddr *address)
{
	memcpy(netdev->addresses[netdev->count++].raw,
	       &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
}

/* The addresses that roce_gid_mgmt.c _add_netdev_ips() takes. */
static void add_addresses(struct cx_netdev *netdev, const struct ifaddrs *all, sa_family_t family)
{
	for (; all && netdev->count < CX_NETDEV_ADDRESSES; all = all->ifa_next) {
		if (!all->ifa_addr || all->ifa_addr->sa_family != family ||
		    strcmp(all->ifa_name, netdev->name))
			continue;
		if (family == AF_INET)
			add_ipv4(netdev, all->ifa_addr);
		else
			add_ipv6(netdev, all->ifa_addr);
	}
}

static int read_mtu(struct cx_netdev *netdev)
{
	struct ifreq request = { 0 };
	int fd = raw_socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return -errno;
	strcpy(request.ifr_name, netdev->name);
	err = raw_ioctl(fd, SIOCGIFMTU, &request) ? -errno : 0;
	netdev->mtu = (uint32_t)request.ifr_mtu;
	raw_close(fd);
	return err;
}

static int read_link(const struct ifaddrs *all, const struct ifaddrs *link,
		     struct cx_netdev *netdev)
{
	const struct sockaddr_ll *address = hardware_address(link);

	if (!(link->ifa_flags & IFF_UP))
		return -ENETDOWN;
	strncpy(netdev->name, link->ifa_name, IFNAMSIZ - 1);
	netdev->index = (uint32_t)address->sll_ifindex;
	netdev->is_loopback = link->ifa_flags & IFF_LOOPBACK;
	memcpy(netdev->mac, address->sll_addr, sizeof(netdev->mac));
	add_addresses(netdev, all, AF_INET);
	add_addresses(netdev, all, AF_INET6);
	return read_mtu(netdev);
}

int cx_netdev_read(const char *name, struct cx_netdev *netdev)
{
	const struct ifaddrs *link;
	struct ifaddrs *all;
	int err;

	memset(netdev, 0, sizeof(*netdev));
	if (getifaddrs(&all))
		return *name ? -errno : 0;
	link = *name ? find_link(all, name) : choose(all);
	if (link)
		err = read_link(all, link, netdev);
	else
		err = *name ? -ENODEV : 0;
	freeifaddrs(all);
	return err;
}
