/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses and ports of ids, and listeners. A port belongs to a port space, and port spaces are
 * those of the fabric.
 */
#include "cm.h"

#include <linux/capability.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../nic/netdev.h"
#include "../../os/raw.h"

enum { MAX_BACKLOG = 1024 }; /* ucma.c max_backlog */

/* -- ports ------------------------------------------------------------------------------------- */

/* The service ids of IB port spaces: rdma_cma.h RDMA_IB_IP_PS_*; the space is in bits 16 to 31. */
static int space_of(struct cx_cm_id *id, uint16_t *space)
{
	union cx_cm_address *source = &id->source;
	uint64_t mask, service;

	*space = id->port_space;
	if (source->any.sa_family != FAMILY_IB)
		return 0;
	mask = be64toh(source->ib.service_mask) & ~UINT64_C(0xffff);
	service = be64toh(source->ib.service) & mask;
	for (unsigned i = 0; i < 3; i++) {
		static const uint16_t spaces[] = { RDMA_PS_IB, RDMA_PS_TCP, RDMA_PS_UDP };
		const uint64_t wanted = (uint64_t)spaces[i] << 16;

		if ((id->port_space != RDMA_PS_IB && id->port_space != spaces[i]) ||
		    service != (wanted & mask))
			continue;
		source->ib.service = htobe64(wanted | cm_port_of(source));
		source->ib.service_mask |= htobe64(~UINT64_C(0xffff));
		*space = spaces[i];
		return 0;
	}
	return -EPROTONOSUPPORT;
}

/* The next id with this port; *@at begins at 0. */
static struct cx_cm_id *next_of_port(struct cx_cm *cm, uint16_t space, uint16_t port, uint32_t *at)
{
	while (*at < cm->ids_used) {
		struct cx_cm_id *id = &cm->ids[(*at)++];

		if (id->file && id->has_port && id->port_space == space &&
		    cm_port_of(&id->source) == port)
			return id;
	}
	return NULL;
}

static bool differ(const struct cx_config *config, const union cx_cm_address *a,
		   const union cx_cm_address *b)
{
	return !cm_address_is_any(config, a) && !cm_address_is_any(config, b) &&
	       !cm_address_is_same(a, b);
}

/* Whether an id may share this port, if it did not choose one itself: cma_port_is_unique(). */
static bool may_share(struct cx_hca *hca, const struct cx_cm_id *id, uint16_t space, uint16_t port)
{
	const struct cx_config *config = &hca->config;
	const uint16_t to = cm_port_of(&id->destination);
	uint32_t at = 0;
	const struct cx_cm_id *other;

	while ((other = next_of_port(&hca->shared->cm, space, port, &at))) {
		const uint16_t others_to = cm_port_of(&other->destination);

		if (!(to && others_to && to != others_to) &&
		    !differ(config, &id->source, &other->source) &&
		    !differ(config, &id->destination, &other->destination))
			return false;
	}
	return true;
}

/* the default of net.ipv4.ip_local_port_range */
enum { FIRST_PORT = 32768, LAST_PORT = 60999, PORTS = LAST_PORT - FIRST_PORT + 1 };

static int take_any_port(struct cx_hca *hca, struct cx_cm_id *id, uint16_t space)
{
	struct cx_cm *cm = &hca->shared->cm;
	uint16_t random = 0;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		random = (uint16_t)cx_clock_ns();
	for (unsigned i = 0; i < PORTS; i++) {
		const uint16_t port = (uint16_t)(FIRST_PORT + (random + i) % PORTS);

		if (port == cm->last_port || !may_share(hca, id, space, port))
			continue;
		cm->last_port = port;
		cm_port_set(&id->source, port);
		return 0;
	}
	return -EADDRNOTAVAIL;
}

static bool may_take_low_ports(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	return !syscall(SYS_capget, &head, data) && data[0].effective & 1u << CAP_NET_BIND_SERVICE;
}

static int check_port(struct cx_hca *hca, const struct cx_cm_id *id, uint16_t space, bool reuses)
{
	const struct cx_config *config = &hca->config;
	const struct cx_cm_id *other;
	uint32_t at = 0;

	while ((other = next_of_port(&hca->shared->cm, space, cm_port_of(&id->source), &at))) {
		if (other == id || (reuses && other->reuses) ||
		    (id->is_of_family && other->is_of_family &&
		     id->source.any.sa_family != other->source.any.sa_family))
			continue;
		if (cm_address_is_any(config, &id->source) ||
		    cm_address_is_any(config, &other->source))
			return -EADDRNOTAVAIL;
		if (cm_address_is_same(&id->source, &other->source))
			return -EADDRINUSE;
	}
	return 0;
}

static int take_port(struct cx_hca *hca, struct cx_cm_id *id)
{
	uint16_t space;
	int err = space_of(id, &space);

	if (err)
		return err;
	if (!cm_port_of(&id->source))
		err = take_any_port(hca, id, space);
	else if (cm_port_of(&id->source) < IPPORT_RESERVED && !may_take_low_ports())
		err = -EACCES;
	else
		err = check_port(hca, id, space, id->reuses);
	id->has_port = !err;
	if (!err)
		id->port_space = space;
	return err;
}

/* -- addresses --------------------------------------------------------------------------------- */

/* Whether this host has the address: a socket can be bound to it. */
static bool is_of_host(const union cx_cm_address *address)
{
	union cx_cm_address copy = *address;
	const int fd = raw_socket(address->any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool is_here;

	if (fd < 0)
		return false;
	cm_port_set(&copy, 0);
	is_here = !bind(fd, &copy.any, cm_address_size(&copy));
	raw_close(fd);
	return is_here;
}

/* rdma_translate_ip(), then cma_acquire_dev_by_src_ip() */
static int take_device(struct cx_hca *hca, struct cx_cm_id *id)
{
	const bool is_ib = id->source.any.sa_family == FAMILY_IB;

	if (cm_address_is_ours(&hca->config, &id->source)) {
		if (!is_ib && id->port_space == RDMA_PS_IPOIB)
			return -EINVAL;
		id->has_device = true;
		id->has_interface = !is_ib;
		return 0;
	}
	return is_ib || is_of_host(&id->source) ? -ENODEV : -EADDRNOTAVAIL;
}

static bool is_link_local(const union cx_cm_address *address)
{
	return address->any.sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&address->ip6.sin6_addr);
}

static int take(struct cx_hca *hca, struct cx_cm_id *id)
{
	int err = 0;

	if (is_link_local(&id->source) && !id->source.ip6.sin6_scope_id)
		return -EINVAL;
	if (!cm_address_is_any(&hca->config, &id->source))
		err = take_device(hca, id);
	if (err)
		return err;
	if (!id->family_set)
		id->is_of_family = id->source.any.sa_family == AF_INET;
	id->destination.any.sa_family = id->source.any.sa_family;
	return take_port(hca, id);
}

int cm_bind(struct cx_hca *hca, struct cx_cm_id *id, const union cx_cm_address *address)
{
	int err;

	if (!cm_address_size(address))
		return -EAFNOSUPPORT;
	if (id->state != CX_CM_IDLE)
		return -EINVAL;
	id->source = *address;
	err = take(hca, id);
	if (err) {
		id->has_device = id->has_interface = false;
		return err;
	}
	id->state = CX_CM_BOUND;
	return 0;
}

int cm_bind_ip(struct cm_call *call, const void *command)
{
	const struct rdma_ucm_bind_ip *cmd = command;
	union cx_cm_address address;
	struct cx_cm_id *id;
	int err = cm_address_read(&address, &cmd->addr, sizeof(cmd->addr));

	if (!err)
		err = cm_id_find(call, cmd->id, &id);
	return err ? err : cm_bind(call->hca, id, &address);
}

int cm_bind_address(struct cm_call *call, const void *command)
{
	const struct rdma_ucm_bind *cmd = command;
	union cx_cm_address address;
	struct cx_cm_id *id;
	int err = cm_address_read(&address, &cmd->addr, sizeof(cmd->addr));

	if (err || cmd->reserved || cmd->addr_size != cm_address_size(&address))
		return -EINVAL;
	err = cm_id_find(call, cmd->id, &id);
	return err ? err : cm_bind(call->hca, id, &address);
}

/* -- listeners --------------------------------------------------------------------------------- */

static int begin_to_listen(struct cx_hca *hca, struct cx_cm_id *id)
{
	int err = 0;

	if (id->state == CX_CM_IDLE) {
		const union cx_cm_address any = { .ip4 = { .sin_family = AF_INET } };

		err = cm_bind(hca, id, &any);
	} else if (id->state != CX_CM_BOUND) {
		err = -EINVAL;
	}
	if (!err && id->reuses)
		err = check_port(hca, id, id->port_space, false);
	if (err)
		return err;
	id->reuses = false;
	id->state = CX_CM_LISTEN;
	return 0;
}

int cm_listen(struct cm_call *call, const void *command)
{
	const struct rdma_ucm_listen *cmd = command;
	const int backlog = (int)cmd->backlog;
	struct cx_cm_id *id;
	int err = cm_id_find(call, cmd->id, &id);

	if (err)
		return err;
	id->backlog = backlog <= 0 || backlog > MAX_BACKLOG ? MAX_BACKLOG : (uint32_t)backlog;
	return begin_to_listen(call->hca, id);
}

/* cma_match_private_data() */
static bool takes(const struct cx_config *config, const struct cx_cm_id *listener,
		  const struct cx_cm_id *from)
{
	const union cx_cm_address *at = &listener->source;

	if (cm_address_is_any(config, at) && !listener->is_of_family)
		return true;
	return at->any.sa_family == from->destination.any.sa_family &&
	       (cm_address_is_any(config, at) || cm_address_is_same(at, &from->destination));
}

uint8_t cm_other_end(uint8_t qp_type)
{
	return qp_type == IBV_QPT_XRC_SEND ? IBV_QPT_XRC_RECV : qp_type;
}

/* cma_ib_check_req_qp_type() */
static bool is_of_type(const struct cx_cm_id *listener, const struct cx_cm_id *from)
{
	return !listener->qp_type || listener->qp_type == cm_other_end(from->qp_type);
}

struct cx_cm_id *cm_find_listener(struct cx_hca *hca, const struct cx_cm_id *from, bool *is_service)
{
	const uint16_t port = cm_port_of(&from->destination);
	struct cx_cm_id *listener;
	uint32_t at = 0;

	*is_service = false;
	while ((listener = next_of_port(&hca->shared->cm, from->port_space, port, &at))) {
		if (listener->state != CX_CM_LISTEN)
			continue;
		*is_service = true;
		if (takes(&hca->config, listener, from))
			return is_of_type(listener, from) ? listener : NULL;
	}
	return NULL;
}
