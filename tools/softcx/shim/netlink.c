/* SPDX-License-Identifier: BSD-2-Clause */
/* Netlink sockets, and the kernel's end of each. */
#include "netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "../kernel/nldev.h"
#include "../os/raw.h"

struct netlink {
	pthread_mutex_t lock;
	int kernel_end;
	struct nldev_dump dump;
};

/* Where answers go. */
struct reader {
	const struct netlink *netlink;
	struct sockaddr_nl address;
};

int netlink_open(int type, struct netlink **out)
{
	struct netlink *netlink = calloc(1, sizeof(*netlink));
	int fd, err;

	if (!netlink)
		return -ENOMEM;
	pthread_mutex_init(&netlink->lock, NULL);
	netlink->kernel_end = raw_socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_USERSOCK);
	fd = netlink->kernel_end < 0 ? -1 : raw_socket(AF_NETLINK, type, NETLINK_USERSOCK);
	if (fd >= 0) {
		*out = netlink;
		return fd;
	}
	err = -errno;
	netlink_close(netlink);
	return err;
}

void netlink_close(struct netlink *netlink)
{
	if (netlink->kernel_end >= 0)
		raw_close(netlink->kernel_end);
	pthread_mutex_destroy(&netlink->lock);
	free(netlink);
}

/* The port number of the program's socket, which gets one now if it was not bound. */
static int find_reader(const struct netlink *netlink, int fd, struct reader *reader)
{
	socklen_t size = sizeof(reader->address);

	*reader = (struct reader){ .netlink = netlink };
	if (getsockname(fd, (struct sockaddr *)&reader->address, &size))
		return -errno;
	if (reader->address.nl_pid)
		return 0;
	reader->address = (struct sockaddr_nl){ .nl_family = AF_NETLINK };
	if (bind(fd, (struct sockaddr *)&reader->address, sizeof(reader->address)) ||
	    getsockname(fd, (struct sockaddr *)&reader->address, &size))
		return -errno;
	return 0;
}

/* If a program does not read, messages without room are lost, as with the kernel. */
static void deliver(void *context, const void *datagram, size_t size)
{
	const struct reader *reader = context;
	const struct sockaddr_nl to = { .nl_family = AF_NETLINK, .nl_pid = reader->address.nl_pid };

	raw_sendto(reader->netlink->kernel_end, datagram, size, MSG_DONTWAIT, &to, sizeof(to));
}

ssize_t netlink_sent(struct netlink *netlink, struct cx_hca *hca, int fd, const void *datagram,
		     size_t size)
{
	struct reader reader;
	int err = find_reader(netlink, fd, &reader);

	if (err)
		return err;
	pthread_mutex_lock(&netlink->lock);
	err = nldev_request(hca, reader.address.nl_pid, datagram, size, &netlink->dump, deliver,
			    &reader);
	pthread_mutex_unlock(&netlink->lock);
	return err ? err : (ssize_t)size;
}

void netlink_was_read(struct netlink *netlink, struct cx_hca *hca, int fd)
{
	struct reader reader;

	pthread_mutex_lock(&netlink->lock);
	if (netlink->dump.is_open && !find_reader(netlink, fd, &reader))
		nldev_go_on(hca, reader.address.nl_pid, &netlink->dump, deliver, &reader);
	pthread_mutex_unlock(&netlink->lock);
}
