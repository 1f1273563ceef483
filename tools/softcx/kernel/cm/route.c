/* SPDX-License-Identifier: BSD-2-Clause */
/* The host's routing table, by rtnetlink(7). */
#include "cm.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "../../os/raw.h"

/* Room for a request, or for its answer. */
struct exchange {
	_Alignas(NLMSG_ALIGNTO) uint8_t bytes[2048];
};

static struct nlmsghdr *header_of(struct exchange *x)
{
	return (struct nlmsghdr *)(void *)x->bytes;
}

static struct rtmsg *message_of(struct exchange *x)
{
	return (struct rtmsg *)(void *)(x->bytes + NLMSG_HDRLEN);
}

static const void *raw_address(const union cx_cm_address *address, unsigned *size)
{
	const bool is_ip4 = address->any.sa_family == AF_INET;

	*size = is_ip4 ? 4 : 16;
	return is_ip4 ? (const void *)&address->ip4.sin_addr : &address->ip6.sin6_addr;
}

static void put(struct exchange *x, unsigned type, const void *value, unsigned size)
{
	struct rtattr *attr = (void *)(x->bytes + header_of(x)->nlmsg_len);

	attr->rta_type = (unsigned short)type;
	attr->rta_len = (unsigned short)RTA_LENGTH(size);
	memcpy(RTA_DATA(attr), value, size);
	header_of(x)->nlmsg_len += RTA_ALIGN(attr->rta_len);
}

static void put_address(struct exchange *x, unsigned type, const union cx_cm_address *address)
{
	unsigned size;
	const void *raw = raw_address(address, &size);

	put(x, type, raw, size);
}

static void ask(struct exchange *x, const union cx_cm_address *source,
		const union cx_cm_address *destination, uint32_t interface)
{
	const sa_family_t family = destination->any.sa_family;

	memset(x, 0, sizeof(*x));
	header_of(x)->nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg));
	header_of(x)->nlmsg_type = RTM_GETROUTE;
	header_of(x)->nlmsg_flags = NLM_F_REQUEST;
	message_of(x)->rtm_family = (unsigned char)family;
	message_of(x)->rtm_dst_len = family == AF_INET ? 32 : 128;
	put_address(x, RTA_DST, destination);
	if (!cm_address_is_zero(source)) {
		message_of(x)->rtm_src_len = message_of(x)->rtm_dst_len;
		put_address(x, RTA_SRC, source);
	}
	if (interface)
		put(x, RTA_OIF, &interface, sizeof(interface));
}

static int converse(struct exchange *x)
{
	const int fd = raw_socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	ssize_t size = -1;
	int err;

	if (fd < 0)
		return -errno;
	if (raw_sendto(fd, x->bytes, header_of(x)->nlmsg_len, 0, &kernel, sizeof(kernel)) >= 0)
		while ((size = raw_recv(fd, x->bytes, sizeof(x->bytes), 0)) < 0 && errno == EINTR)
			;
	err = size < 0 ? -errno : 0;
	raw_close(fd);
	if (!err && header_of(x)->nlmsg_type == NLMSG_ERROR)
		err = ((struct nlmsgerr *)(void *)(x->bytes + NLMSG_HDRLEN))->error;
	return err;
}

static void set_address(union cx_cm_address *address, const void *raw)
{
	if (address->any.sa_family == AF_INET)
		memcpy(&address->ip4.sin_addr, raw, 4);
	else
		memcpy(&address->ip6.sin6_addr, raw, 16);
}

static void read_answer(struct exchange *x, struct cm_route *route)
{
	int left = (int)(header_of(x)->nlmsg_len - NLMSG_LENGTH(sizeof(struct rtmsg)));
	const struct rtattr *attr = RTM_RTA(message_of(x));

	route->is_local = message_of(x)->rtm_type == RTN_LOCAL;
	route->is_reachable = route->is_local || message_of(x)->rtm_type == RTN_MULTICAST;
	for (; RTA_OK(attr, left); attr = RTA_NEXT(attr, left)) {
		if (attr->rta_type == RTA_PREFSRC)
			set_address(&route->source, RTA_DATA(attr));
		else if (attr->rta_type == RTA_GATEWAY)
			route->is_reachable = true;
	}
}

enum { DEFAULT_HOP_LIMIT = 64 }; /* net.ipv4.ip_default_ttl, net.ipv6.conf.*.hop_limit */

int cm_route(const union cx_cm_address *source, const union cx_cm_address *destination,
	     uint32_t interface, struct cm_route *route)
{
	struct exchange x;
	int err;

	*route = (struct cm_route){ .source = *source, .hop_limit = DEFAULT_HOP_LIMIT };
	route->source.any.sa_family = destination->any.sa_family;
	ask(&x, source, destination, interface);
	err = converse(&x);
	if (!err)
		read_answer(&x, route);
	/* A host reaches its own address from that address. */
	if (!err && route->is_local && cm_address_is_zero(&route->source)) {
		unsigned size;

		set_address(&route->source, raw_address(destination, &size));
	}
	return err;
}
