/* SPDX-License-Identifier: BSD-2-Clause */
/* Queries a device and its port. */
#include "path.h"

#include <errno.h>

static bool is_ipv4(const union ibv_gid *gid)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, prefix, sizeof(prefix));
}

/* Ranks an entry of the GID table for RoCE: most networks route v2 over IPv4. */
static int rank_gid(const struct ibv_gid_entry *entry)
{
	union ibv_gid gid = entry->gid;

	if (entry->gid_type == IBV_GID_TYPE_ROCE_V2)
		return is_ipv4(&gid) ? 3 : 2;
	return 1;
}

static void take_gid(struct bsn_device *device, const struct ibv_gid_entry *entry)
{
	device->info.gid_index = (uint8_t)entry->gid_index;
	memcpy(device->info.gid, entry->gid.raw, sizeof(device->info.gid));
}

static void choose_gid(struct bsn_device *device)
{
	int best = 0;

	for (int i = 0; i < device->port.gid_tbl_len; i++) {
		struct ibv_gid_entry entry;
		if (ibv_query_gid_ex(device->context, device->info.port, (uint32_t)i, &entry, 0))
			continue;
		if (device->port.link_layer == IBV_LINK_LAYER_ETHERNET ? rank_gid(&entry) <= best
								       : best > 0)
			continue;
		best = device->port.link_layer == IBV_LINK_LAYER_ETHERNET ? rank_gid(&entry) : 1;
		take_gid(device, &entry);
	}
}

/* Finds the GID that was asked for, or the best one. */
static int find_gid(struct bsn_device *device)
{
	const int wanted = device->attr.gid_index;
	struct ibv_gid_entry entry;

	if (!wanted && !device->attr.has_gid_index) {
		choose_gid(device);
		return 0;
	}
	if (wanted < 0 || wanted >= device->port.gid_tbl_len ||
	    ibv_query_gid_ex(device->context, device->info.port, (uint32_t)wanted, &entry, 0))
		return fail(EINVAL, "port %u of %s has no GID of index %d: bsn-info lists them",
			    device->info.port, device->info.name, wanted);
	take_gid(device, &entry);
	return 0;
}

static int query_port(struct bsn_device *device)
{
	const uint8_t wanted = device->attr.port;
	const uint8_t last = wanted ? wanted : device->limits.phys_port_cnt;

	for (uint8_t port = wanted ? wanted : 1; port <= last; port++) {
		const int err =
			provider_error_of_int(ibv_query_port(device->context, port, &device->port));
		if (err)
			return fail(-err, "%s has no port %u", device->info.name, port);
		device->info.port = port;
		if (device->port.state == IBV_PORT_ACTIVE)
			break;
	}
	device->info.link_layer =
		device->port.link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand";
	device->info.port_state = ibv_port_state_str(device->port.state);
	device->info.lid = device->port.lid;
	device->info.active_mtu = 128u << device->port.active_mtu;
	return find_gid(device);
}

static void add_feature(struct bsn_device *device, const char *name, const char *why_not)
{
	device->info.features[device->info.feature_count++] =
		(struct bsn_feature){ .name = name, .why_not = why_not };
}

/* Asks the firmware, by DevX, for what nothing else tells. Returns why it cannot, or NULL. */
static const char *ask_firmware(struct bsn_device *device, const char *no_direct)
{
	if (no_direct)
		return no_direct;
	return provider_query_caps(device->context, &device->caps)
		       ? "DevX is refused: it needs the capability CAP_NET_RAW, and a driver that "
			 "has it"
		       : NULL;
}

static const char *why_not(const char *unknown, bool exists)
{
	return unknown ? unknown : exists ? NULL : "the device has none";
}

/* The kernel offers no atomics with big-endian results (Linux mlx5 main.c mlx5_query_device_ex). */
static const char *why_no_atomics(const struct bsn_device *device)
{
	if (has_atomics(device))
		return NULL;
	return device->caps.has_big_endian_results && device->caps.masked_sizes
		       ? "the kernel offers none, since results of 8 bytes are big-endian here"
		       : "the device has none";
}

void list_features(struct bsn_device *device)
{
	const char *no_direct = device->no_direct;
	const char *unknown = device->no_commands = ask_firmware(device, no_direct);

	add_feature(device, "direct", no_direct);
	add_feature(device, "blueflame",
		    no_direct                                  ? no_direct
		    : device->info.store == BSN_STORE_DOORBELL ? "8-byte doorbells were asked for"
							       : device->no_blueflame);
	add_feature(device, "atomics", why_no_atomics(device));
	add_feature(device, "srq", device->limits.max_srq ? NULL : "the device has none");
	device->no_xrc =
		device->limits.device_cap_flags & IBV_DEVICE_XRC ? NULL : "the device has none";
	add_feature(device, "xrc", device->no_xrc);
	device->no_umr = why_not(unknown, device->caps.max_indirection);
	add_feature(device, "mkeys", device->no_umr);
	add_feature(device, "masked-atomics", why_not(unknown, device->caps.masked_sizes));
	add_feature(device, "copy", why_not(unknown, device->caps.max_copy));
	device->info.atomics_are_big_endian = device->caps.has_big_endian_results;
	add_feature(device, "real-time-clock",
		    why_not(NULL, provider_has_real_time(device->context)));
	device->no_inline_recv = no_direct ? no_direct : provider_no_scatter();
	add_feature(device, "inline-receive", device->no_inline_recv);
}

/* -- regions ----------------------------------------------------------------------------------- */

static bool is_unknown(int error)
{
	return error == EOPNOTSUPP || error == ENOTSUP || error == EPROTONOSUPPORT ||
	       error == ENOSYS || error == ENOTTY;
}

/* Tries an invalid descriptor: a kernel that has dma-bufs says EBADF. */
static const char *try_dmabuf(struct bsn_device *device)
{
	errno = 0;
	if (ibv_reg_dmabuf_mr(device->default_pd.verbs, 0, 4096, 0, -1, IBV_ACCESS_LOCAL_WRITE))
		return "the provider takes what is no descriptor";
	return is_unknown(errno) ? "the kernel or the provider has none" : NULL;
}

static const char *try_null(struct bsn_device *device)
{
	struct ibv_mr *mr = ibv_alloc_null_mr(device->default_pd.verbs);

	if (!mr)
		return "the kernel or the provider has none";
	ibv_dereg_mr(mr);
	return NULL;
}

/*
 * Why no DCI could be created. The firmware may lack DC although the driver knows it, and either
 * may have none left.
 */
static const char *why_no_dci(int error)
{
	if (is_unknown(error))
		return "the driver has none, or the device's firmware does not offer it";
	if (error == ENOMEM || error == ENOSPC || error == EAGAIN)
		return "no room for a DCI: the device or the process has reached a limit";
	return "the firmware refused a DCI";
}

static int make_dci(struct bsn_device *device, const struct provider_streams *streams)
{
	struct ibv_cq *cq = ibv_create_cq(device->context, 1, NULL, NULL, 0);
	const struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_DRIVER,
					       .send_cq = cq,
					       .recv_cq = cq,
					       .cap = { .max_send_wr = 1, .max_send_sge = 1 } };
	struct ibv_qp *dci;
	int err;

	if (!cq)
		return -ENOMEM;
	err = provider_qp_create(device->context, device->default_pd.verbs, &init,
				 IBV_QP_EX_WITH_RDMA_WRITE, PROVIDER_INLINE_NONE, streams, &dci);
	if (!err)
		ibv_destroy_qp(dci);
	ibv_destroy_cq(cq);
	return err;
}

static const char *try_dci(struct bsn_device *device)
{
	const int err = make_dci(device, NULL);

	return err ? why_no_dci(-err) : NULL;
}

/* Tries a DCI with the streams that the device claims to have. */
static const char *try_streams(struct bsn_device *device)
{
	int err;

	if (device->no_dc)
		return device->no_dc;
	if (!provider_query_streams(device->context, &device->streams))
		return "the device says that its DCIs have one stream, or the driver does not tell";
	err = make_dci(device, &device->streams);
	return err ? why_no_dci(-err) : NULL;
}

/* For the GID that connections use by default; a peer may be reached by another. */
static const char *why_no_udp_port(const struct bsn_device *device)
{
	struct ibv_gid_entry entry;

	if (device->no_dc)
		return device->no_dc;
	if (device->port.link_layer != IBV_LINK_LAYER_ETHERNET)
		return "the port is InfiniBand, which has no UDP";
	if (ibv_query_gid_ex(device->context, device->info.port, device->info.gid_index, &entry,
			     0) ||
	    entry.gid_type != IBV_GID_TYPE_ROCE_V2)
		return "the GID is of RoCE v1, which has no UDP: open the device with one of RoCE "
		       "v2";
	return NULL;
}

static const char *why_no_lag_port(const struct bsn_device *device)
{
	if (device->no_dc)
		return device->no_dc;
	return provider_lag_ports(device->context) > 1
		       ? NULL
		       : "the device has no ports to bond, or its driver does not tell";
}

void list_dc(struct bsn_device *device)
{
	device->no_dc = device->no_direct ? device->no_direct : try_dci(device);
	add_feature(device, "dc", device->no_dc);
	add_feature(device, "dc-udp-port", why_no_udp_port(device));
	add_feature(device, "dc-lag-port", why_no_lag_port(device));
	device->no_streams = try_streams(device);
	if (!device->no_streams) {
		if (device->streams.log_count > MOST_DC_STREAMS_LOG2)
			device->streams.log_count = MOST_DC_STREAMS_LOG2;
		device->info.max_dc_streams = 1u << device->streams.log_count;
		device->info.max_dc_failed_streams = (1u << device->streams.log_failed) - 1;
	}
	add_feature(device, "dc-streams", device->no_streams);
	device->no_handshake = device->no_dc ? device->no_dc : device->no_commands;
	add_feature(device, "dc-full-handshake", device->no_handshake);
}

void list_regions(struct bsn_device *device)
{
	struct ibv_device_attr_ex attr = { 0 };
	const char *unknown = ibv_query_device_ex(device->context, NULL, &attr)
				      ? "the kernel does not tell"
				      : NULL;

	device->no_odp = why_not(unknown, attr.odp_caps.general_caps & IBV_ODP_SUPPORT);
	device->no_implicit =
		why_not(unknown, attr.odp_caps.general_caps & IBV_ODP_SUPPORT_IMPLICIT);
	device->no_dm = why_not(unknown, attr.max_dm_size);
	device->max_dm_bytes = attr.max_dm_size;
	device->no_dmabuf = try_dmabuf(device);
	device->no_null = try_null(device);
	device->no_physical =
		"the kernel makes none for programs: it wants a umem of every mkey but KLM and KSM";
	add_feature(device, "on-demand", device->no_odp);
	add_feature(device, "implicit", device->no_implicit);
	add_feature(device, "device-memory", device->no_dm);
	add_feature(device, "dma-buf", device->no_dmabuf);
	add_feature(device, "null-region", device->no_null);
	add_feature(device, "physical-address", device->no_physical);
}

int query_device(struct bsn_device *device)
{
	struct bsn_device_info *info = &device->info;
	const struct ibv_device_attr *limits = &device->limits;
	int err;

	info->name = ibv_get_device_name(device->context->device);
	info->verbs = device->context;
	info->event_fd = device->context->async_fd;
	err = provider_error_of_int(ibv_query_device(device->context, &device->limits));
	if (err)
		return fail(-err, "%s does not tell its limits: %s", info->name, strerror(-err));
	info->max_qp = (uint32_t)limits->max_qp;
	info->max_cq = (uint32_t)limits->max_cq;
	info->max_mr = (uint32_t)limits->max_mr;
	info->max_srq = (uint32_t)limits->max_srq;
	info->max_send_wr = device->path->most_sends(device);
	info->max_sge = (uint32_t)limits->max_sge;
	info->max_cqe = (uint32_t)limits->max_cqe;
	info->max_rd_atomic = (uint32_t)(limits->max_qp_rd_atom < limits->max_qp_init_rd_atom
						 ? limits->max_qp_rd_atom
						 : limits->max_qp_init_rd_atom);
	return query_port(device);
}
