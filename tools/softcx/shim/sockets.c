/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions of libc for netlink sockets, interposed: see syscalls.c. */
/* Each name must be the plain function, not its checked form. */
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>

#include "interpose.h"
#include "shim.h"

/*
 * Without such a socket programs read sysfs, as in a container. A real socket would show the
 * machine's own devices.
 */
int socket(int domain, int type, int protocol)
{
	int fd;

	if (domain != AF_NETLINK || protocol != NETLINK_RDMA || !shim_host())
		return REAL(socket)(domain, type, protocol);
	fd = file_open_netlink(type);
	return set_errno(fd < 0 && fd != -EMFILE ? -EPROTONOSUPPORT : fd);
}

static ssize_t send_datagram(int fd, const void *datagram, size_t size)
{
	const struct uverbs_host *host = shim_host();
	const ssize_t done = host ? file_send(host->hca, fd, datagram, size) : -ENODEV;

	if (done >= 0)
		return done;
	errno = (int)-done;
	return -1;
}

/* Joins the parts of a message. */
static ssize_t send_pieces(int fd, const struct msghdr *message)
{
	_Alignas(NLMSG_ALIGNTO) uint8_t whole[4096];
	size_t size = 0;

	for (size_t i = 0; i < message->msg_iovlen; i++) {
		const struct iovec *piece = &message->msg_iov[i];

		if (piece->iov_len > sizeof(whole) - size)
			return set_errno(-EMSGSIZE);
		memcpy(whole + size, piece->iov_base, piece->iov_len);
		size += piece->iov_len;
	}
	return send_datagram(fd, whole, size);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	return file_is_netlink(fd) ? send_pieces(fd, message) : REAL(sendmsg)(fd, message, flags);
}

ssize_t send(int fd, const void *data, size_t size, int flags)
{
	return file_is_netlink(fd) ? send_datagram(fd, data, size)
				   : REAL(send)(fd, data, size, flags);
}

ssize_t sendto(int fd, const void *data, size_t size, int flags, __CONST_SOCKADDR_ARG to,
	       socklen_t to_size)
{
	return file_is_netlink(fd) ? send_datagram(fd, data, size)
				   : REAL(sendto)(fd, data, size, flags, to, to_size);
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	return interpose_read(fd, REAL(recvmsg)(fd, message, flags), flags);
}

ssize_t recv(int fd, void *buf, size_t size, int flags)
{
	return interpose_read(fd, REAL(recv)(fd, buf, size, flags), flags);
}

ssize_t recvfrom(int fd, void *restrict buf, size_t size, int flags, __SOCKADDR_ARG from,
		 socklen_t *restrict from_size)
{
	return interpose_read(fd, REAL(recvfrom)(fd, buf, size, flags, from, from_size), flags);
}

/* The checked forms that fortified programs call. */
ssize_t __recv_chk(int fd, void *buf, size_t size, size_t room, int flags);
ssize_t __recv_chk(int fd, void *buf, size_t size, size_t room, int flags)
{
	return interpose_read(fd, REAL(__recv_chk)(fd, buf, size, room, flags), flags);
}

ssize_t __recvfrom_chk(int fd, void *restrict buf, size_t size, size_t room, int flags,
		       __SOCKADDR_ARG from, socklen_t *restrict from_size);
ssize_t __recvfrom_chk(int fd, void *restrict buf, size_t size, size_t room, int flags,
		       __SOCKADDR_ARG from, socklen_t *restrict from_size)
{
	return interpose_read(fd, REAL(__recvfrom_chk)(fd, buf, size, room, flags, from, from_size),
			      flags);
}
