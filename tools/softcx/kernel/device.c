/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the device reports: contexts, its attributes, its port and GIDs, and event files. Figures
 * come from datasheet.h; features that are not modelled are not claimed.
 */
#include "kernel.h"

#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "../nic/dc.h"
#include "../nic/netdev.h"
#include "bsn_db.h"

/* -- the clock --------------------------------------------------------------------------------- */

/* Where libmlx5 maps the page: main.c mlx5_ib_mmap(), command and index in the page offset. */
static off_t clock_page_offset(void)
{
	return (off_t)(MLX5_IB_MMAP_CLOCK_INFO << 8 | MLX5_IB_CLOCK_INFO_V1) * getpagesize();
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The device counts nanoseconds of CLOCK_MONOTONIC, so the page never changes. */
int uverbs_init_pages(int memfd)
{
	struct mlx5_ib_clock_info info = {
		.nsec = clock_ns(CLOCK_REALTIME),
		.cycles = clock_ns(CLOCK_MONOTONIC),
		.mult = 1,
		.mask = INT64_MAX,
		.overflow_period = INT64_MAX,
	};

	if (pwrite(memfd, &info, sizeof(info), clock_page_offset()) != sizeof(info))
		return -errno;
	return 0;
}

/* -- contexts ---------------------------------------------------------------------------------- */

/* A passive device has no clock to read while the program runs: its time advances only in steps. */
static bool has_clock(const struct call *call)
{
	return !call->ctx->config->passive;
}

static void fill_context(const struct call *call, struct mlx5_ib_alloc_ucontext_resp *resp,
			 uint8_t max_cqe_version)
{
	*resp = (struct mlx5_ib_alloc_ucontext_resp){
		.qp_tab_size = CX_MAX_QPS,
		.bf_reg_size = BSN_BF_REGISTER_BYTES,
		.tot_bfregs = 0, /* the library allocates its UAR pages one at a time */
		.cache_line_size = CX_CACHE_LINE_BYTES,
		.max_sq_desc_sz = CX_MAX_SQ_DESC_BYTES,
		.max_rq_desc_sz = CX_MAX_RQ_DESC_BYTES,
		.max_send_wqebb = CX_MAX_QP_WR,
		.max_recv_wr = CX_MAX_QP_WR,
		.max_srq_recv_wr = CX_MAX_SRQ_WR + 1,
		.num_ports = CX_PORTS,
		.response_length = sizeof(*resp),
		.comp_mask = MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_MKEY_UPDATE_TAG |
			     MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_DUMP_FILL_MKEY |
			     MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_REAL_TIME_TS,
		.dump_fill_mkey = CX_NULL_KEY,
		.cqe_version = max_cqe_version ? 1 : 0,
		.cmds_supp_uhw =
			MLX5_USER_CMDS_SUPP_UHW_QUERY_DEVICE | MLX5_USER_CMDS_SUPP_UHW_CREATE_AH,
		.eth_min_inline = MLX5_USER_INLINE_MODE_NONE,
		.clock_info_versions = 1 << MLX5_IB_CLOCK_INFO_V1,
		.log_uar_size = 12,
		.num_uars_per_page = 1,
	};
	if (has_clock(call))
		resp->comp_mask |= MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_CORE_CLOCK_OFFSET;
}

/* mlx5_ib_alloc_ucontext() */
static int check_context_request(const struct call *call,
				 const struct mlx5_ib_alloc_ucontext_req_v2 *req)
{
	if (!req->total_num_bfregs || req->num_low_latency_bfregs > req->total_num_bfregs - 1)
		return -EINVAL;
	if (req->flags & ~(uint32_t)MLX5_IB_ALLOC_UCTX_DEVX || req->comp_mask || req->reserved0 ||
	    req->reserved1 || req->reserved2)
		return -EOPNOTSUPP;
	if (!(req->lib_caps & MLX5_LIB_CAP_DYN_UAR)) {
		cx_trace(call->ctx->hca, "uverbs: a libmlx5 without dynamic UAR pages");
		return -EOPNOTSUPP;
	}
	return 0;
}

static int out_context(struct call *call, uint16_t vectors_id, uint16_t core_id)
{
	uint32_t vectors = CX_COMP_VECTORS;
	uint64_t core_support = IB_UVERBS_CORE_SUPPORT_OPTIONAL_MR_ACCESS;
	int err = call_out(call, vectors_id, &vectors, sizeof(vectors));

	return err ? err : call_out(call, core_id, &core_support, sizeof(core_support));
}

static int get_context(struct call *call)
{
	struct mlx5_ib_alloc_ucontext_req_v2 req;
	struct mlx5_ib_alloc_ucontext_resp resp;
	int err;

	if (call->ctx->ready)
		return -EINVAL;
	err = call_driver_in(call, &req, sizeof(struct mlx5_ib_alloc_ucontext_req), sizeof(req));
	if (!err)
		err = check_context_request(call, &req);
	if (err)
		return err;
	if (req.flags & MLX5_IB_ALLOC_UCTX_DEVX && call->ctx->config->no_devx)
		return -EINVAL; /* mlx5_ib_devx_create() without log_max_uctx */
	call->ctx->devx = req.flags & MLX5_IB_ALLOC_UCTX_DEVX;
	fill_context(call, &resp, req.max_cqe_version);
	err = out_context(call, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS,
			  UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT);
	if (!err)
		err = call_out(call, UVERBS_ATTR_UHW_OUT, &resp, sizeof(resp));
	call->ctx->ready = !err;
	return err;
}

/* A context that another library instance opened and passed on: ibv_import_device(). */
static int query_context(struct call *call)
{
	struct mlx5_ib_alloc_ucontext_resp resp;
	int err = out_context(call, UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS,
			      UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT);

	fill_context(call, &resp, 1);
	return err ? err
		   : call_out(call, MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX, &resp, sizeof(resp));
}

static int alloc_async_file(struct call *call)
{
	int fd = event_file_open(call->ctx, CX_EVENT_ASYNC);

	return fd < 0 ? fd
		      : call_out_handle(call, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE,
					(uint64_t)fd);
}

static int create_comp_channel(struct call *call)
{
	struct ib_uverbs_create_comp_channel_resp resp;
	int fd = event_file_open(call->ctx, CX_EVENT_COMPLETION);

	if (fd < 0)
		return fd;
	resp.fd = (uint32_t)fd;
	return call_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}

/* -- the device -------------------------------------------------------------------------------- */

static void fill_device(const struct cx_config *config, struct ib_uverbs_query_device_resp *resp)
{
	const struct cx_datasheet *model = cx_datasheet(config->generation);

	*resp = (struct ib_uverbs_query_device_resp){
		.fw_ver = (uint64_t)model->fw_major << 32 | model->fw_minor << 16 | model->fw_sub,
		.node_guid = htobe64(cx_node_guid(config)),
		.sys_image_guid = htobe64(cx_node_guid(config)),
		.max_mr_size = UINT64_MAX,
		.page_size_cap = 0xfffffffffffff000u,
		.vendor_id = CX_VENDOR_ID,
		.vendor_part_id = (uint32_t)strtoul(model->hca_type + 2, NULL, 10),
		.max_qp = CX_MAX_QPS,
		.max_qp_wr = CX_MAX_QP_WR,
		.device_cap_flags =
			IB_UVERBS_DEVICE_CHANGE_PHY_PORT | IB_UVERBS_DEVICE_PORT_ACTIVE_EVENT |
			IB_UVERBS_DEVICE_SYS_IMAGE_GUID | IB_UVERBS_DEVICE_RC_RNR_NAK_GEN |
			IB_UVERBS_DEVICE_MEM_WINDOW | IB_UVERBS_DEVICE_MEM_WINDOW_TYPE_2B |
			IB_UVERBS_DEVICE_MEM_MGT_EXTENSIONS | IB_UVERBS_DEVICE_XRC,
		.max_sge = CX_MAX_SGE,
		.max_sge_rd = CX_MAX_SGE,
		.max_cq = CX_MAX_CQS,
		.max_cqe = CX_MAX_CQE,
		.max_mr = CX_MAX_MRS,
		.max_mw = CX_MAX_MRS,
		.max_pd = CX_MAX_PDS,
		.max_qp_rd_atom = CX_MAX_RD_ATOMIC,
		.max_res_rd_atom = CX_MAX_RD_ATOMIC * CX_MAX_QPS,
		.max_qp_init_rd_atom = CX_MAX_RD_ATOMIC,
		.atomic_cap = config->no_atomics || config->big_endian_atomics ? IBV_ATOMIC_NONE :
										 IBV_ATOMIC_HCA,
		.max_ah = INT_MAX,
		.max_mcast_grp = CX_MAX_MEMBERS,
		.max_mcast_qp_attach = CX_MAX_MEMBERS_OF_GROUP,
		.max_total_mcast_qp_attach = CX_MAX_MEMBERS,
		.max_srq = CX_MAX_SRQS,
		.max_srq_wr = CX_MAX_SRQ_WR,
		.max_srq_sge = CX_MAX_SRQ_SGE,
		.max_pkeys = (uint16_t)cx_pkey_table_len(config),
		.local_ca_ack_delay = CX_ACK_DELAY,
		.phys_port_cnt = CX_PORTS,
	};
}

static int query_device(struct call *call)
{
	struct ib_uverbs_query_device_resp resp;

	fill_device(call->ctx->config, &resp);
	return call_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}

/* hw/mlx5/odp.c internal_fill_odp_caps() */
static void fill_odp(struct ib_uverbs_ex_query_device_resp *resp)
{
	resp->odp_caps.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
	resp->odp_caps.per_transport_caps.rc_odp_caps = CX_ODP_CONNECTED;
	resp->odp_caps.per_transport_caps.ud_odp_caps = CX_ODP_UD;
}

static void fill_cqe_caps(const struct cx_config *config, struct mlx5_ib_query_device_resp *driver)
{
	driver->cqe_comp_caps.max_num = CX_SESSION_MAX;
	driver->cqe_comp_caps.supported_format = MLX5_IB_CQE_RES_FORMAT_HASH |
						 MLX5_IB_CQE_RES_FORMAT_CSUM;
	if (!config->no_stride_index)
		driver->cqe_comp_caps.supported_format |= MLX5_IB_CQE_RES_FORMAT_CSUM_STRIDX;
	driver->flags |= MLX5_IB_QUERY_DEV_RESP_FLAGS_CQE_128B_COMP |
			 MLX5_IB_QUERY_DEV_RESP_FLAGS_CQE_128B_PAD;
}

static void fill_streams(const struct cx_config *config, struct mlx5_ib_query_device_resp *driver)
{
	if (!cx_has_dci_streams(config))
		return;
	driver->dci_streams_caps.max_log_num_concurent = CX_DC_STREAMS_LOG2;
	driver->dci_streams_caps.max_log_num_errored = (uint8_t)cx_dci_errored_log2(config);
}

static int query_device_ex(struct call *call)
{
	struct ib_uverbs_ex_query_device req;
	struct ib_uverbs_ex_query_device_resp resp = { 0 };
	struct mlx5_ib_query_device_resp driver = { 0 };
	unsigned room = call_len(call, UVERBS_ATTR_CORE_OUT);
	int err = call_in(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req));

	if (err)
		return err;
	if (req.comp_mask || req.reserved)
		return -EINVAL;
	/* libmlx5 asks this after it has mapped the clock (mlx5_set_context()). */
	err = has_clock(call) ? call->ctx->host->clock_in_use() : 0;
	if (err)
		return err;
	fill_device(call->ctx->config, &resp.base);
	resp.response_length = room < sizeof(resp) ? room : sizeof(resp);
	resp.device_cap_flags_ex = resp.base.device_cap_flags;
	fill_odp(&resp);
	resp.max_dm_size = (uint64_t)CX_DM_PAGES << CX_DM_PAGE_LOG2;
	resp.timestamp_mask = INT64_MAX;
	resp.hca_core_clock = CX_CLOCK_KHZ;
	resp.cq_moderation_caps.max_cq_moderation_count = UINT16_MAX;
	resp.cq_moderation_caps.max_cq_moderation_period = 4095; /* MLX5_MAX_CQ_PERIOD */
	err = call_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	if (err)
		return err;
	driver.response_length = sizeof(driver);
	fill_cqe_caps(call->ctx->config, &driver);
	fill_streams(call->ctx->config, &driver);
	return call_out(call, UVERBS_ATTR_UHW_OUT, &driver, sizeof(driver));
}

/* -- the port ---------------------------------------------------------------------------------- */

static void fill_port(const struct uverbs_context *ctx, struct ib_uverbs_query_port_resp *resp)
{
	const struct cx_config *config = ctx->config;
	bool up = cx_port_is_up(ctx->hca);
	bool roce = config->link == CX_LINK_ROCE;

	*resp = (struct ib_uverbs_query_port_resp){
		.port_cap_flags = cx_port_cap_flags(config),
		.max_msg_sz = 1u << CX_MAX_MSG_LOG2,
		.gid_tbl_len = cx_gid_table_len(config),
		.pkey_tbl_len = (uint16_t)cx_pkey_table_len(config),
		.lid = roce ? 0 : CX_LID,
		.sm_lid = roce ? 0 : CX_LID,
		.state = up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN,
		.max_mtu = IBV_MTU_4096,
		.active_mtu = cx_port_mtu(ctx->config),
		.max_vl_num = roce ? 0 : 3, /* VL0-3: IBA, PortInfo */
		.subnet_timeout = roce ? 0 : CX_SUBNET_TIMEOUT,
		.active_width = (uint8_t)(cx_port_lanes(config) == 2   ? 16
					  : cx_port_lanes(config) == 1 ? 1
								       : 2), /* IBA, PortInfo */
		.active_speed = cx_datasheet(config->generation)->active_speed,
		.phys_state = up ? CX_PHYS_LINK_UP : CX_PHYS_DISABLED,
		.link_layer = roce ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND,
	};
}

static int query_port(struct call *call)
{
	struct ib_uverbs_query_port_resp_ex resp = { 0 };

	if (call_value(call, UVERBS_ATTR_QUERY_PORT_PORT_NUM) != CX_PORTS)
		return -EINVAL;
	fill_port(call->ctx, &resp.legacy_resp);
	return call_out(call, UVERBS_ATTR_QUERY_PORT_RESP, &resp, sizeof(resp));
}

static int fill_gid_entry(const struct cx_config *config, unsigned index,
			  struct ib_uverbs_gid_entry *entry)
{
	struct cx_gid gid;
	int err = cx_gid_get(config, index, &gid);

	if (err)
		return err;
	*entry = (struct ib_uverbs_gid_entry){
		.gid_index = index,
		.port_num = CX_PORTS,
		.gid_type = gid.type,
		.netdev_ifindex = config->netdev ? config->netdev->index : 0,
	};
	memcpy(entry->gid, gid.gid.raw, sizeof(entry->gid));
	return 0;
}

static int query_gid_entry(struct call *call)
{
	uint64_t index = call_value(call, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX);
	struct ib_uverbs_gid_entry entry;
	int err;

	if (call_value(call, UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS))
		return -EOPNOTSUPP;
	if (call_value(call, UVERBS_ATTR_QUERY_GID_ENTRY_PORT) != CX_PORTS || index > UINT_MAX)
		return -EINVAL;
	err = fill_gid_entry(call->ctx->config, (unsigned)index, &entry);
	if (err)
		return err;
	return call_out(call, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, &entry, sizeof(entry));
}

/* The program says the size of an entry; newer versions of libibverbs may have longer ones. */
static int query_gid_table(struct call *call)
{
	uint64_t size = call_value(call, UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE);
	unsigned room = call_len(call, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES);
	struct ib_uverbs_gid_entry entry;
	uint8_t table[4096];
	uint64_t count = 0;
	int err;

	if (call_value(call, UVERBS_ATTR_QUERY_GID_TABLE_FLAGS))
		return -EOPNOTSUPP;
	if (size < sizeof(entry) || size > sizeof(table) / 16)
		return -EINVAL;
	memset(table, 0, sizeof(table));
	for (unsigned i = 0; i < cx_gid_table_len(call->ctx->config); i++) {
		if (fill_gid_entry(call->ctx->config, i, &entry))
			continue;
		if ((count + 1) * size > room)
			return -EINVAL;
		memcpy(table + count++ * size, &entry, sizeof(entry));
	}
	err = call_out(call, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, table, count * size);
	return err ? err
		   : call_out(call, UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, &count,
			      sizeof(count));
}

/* -- tables ------------------------------------------------------------------------------------ */

static const struct attr_spec get_context_specs[] = {
	{ UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, ATTR_OUT, ATTR_OPTIONAL, 4, 4 },
	{ UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, ATTR_OUT, ATTR_OPTIONAL, 8, 8 },
};
static const struct attr_spec query_context_specs[] = {
	{ UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, ATTR_OUT, ATTR_OPTIONAL, 4, 4 },
	{ UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, ATTR_OUT, ATTR_OPTIONAL, 8, 8 },
	{ MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX, ATTR_OUT, 0,
	  offsetof(struct mlx5_ib_alloc_ucontext_resp, dump_fill_mkey), UINT16_MAX },
};
static const struct attr_spec async_alloc_specs[] = {
	{ UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, ATTR_NEW_FD, 0, 0, 0 },
};
static const struct attr_spec query_port_specs[] = {
	{ UVERBS_ATTR_QUERY_PORT_PORT_NUM, ATTR_IN, 0, 8, 8 },
	{ UVERBS_ATTR_QUERY_PORT_RESP, ATTR_OUT, ATTR_ZERO_TRAILING,
	  sizeof(struct ib_uverbs_query_port_resp_ex),
	  sizeof(struct ib_uverbs_query_port_resp_ex) },
};
static const struct attr_spec query_gid_entry_specs[] = {
	{ UVERBS_ATTR_QUERY_GID_ENTRY_PORT, ATTR_IN, 0, 4, 8 },
	{ UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, ATTR_IN, 0, 4, 8 },
	{ UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, ATTR_IN, 0, 4, 8 },
	{ UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, ATTR_OUT, ATTR_ZERO_TRAILING,
	  sizeof(struct ib_uverbs_gid_entry), sizeof(struct ib_uverbs_gid_entry) },
};
static const struct attr_spec query_gid_table_specs[] = {
	{ UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, ATTR_IN, 0, 8, 8 },
	{ UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, ATTR_IN, ATTR_OPTIONAL, 4, 8 },
	{ UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, ATTR_OUT, 0, 0, UINT16_MAX },
	{ UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, ATTR_OUT, 0, 8, 8 },
};

/* clang-format off */
const struct method device_methods[] = {
	{ UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT, true, true, get_context,
	  "get_context", SPECS(get_context_specs) },
	{ UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT, false, false, query_context,
	  "query_context", SPECS(query_context_specs) },
	{ UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT, false, false, query_port,
	  "query_port", SPECS(query_port_specs) },
	{ UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY, false, false, query_gid_entry,
	  "query_gid_entry", SPECS(query_gid_entry_specs) },
	{ UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE, false, false, query_gid_table,
	  "query_gid_table", SPECS(query_gid_table_specs) },
	{ UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC, false, false,
	  alloc_async_file, "async_event_alloc", SPECS(async_alloc_specs) },
	{ 0 },
};

#define EXTENDED(command) (IB_USER_VERBS_CMD_FLAG_EXTENDED | (command))

const struct write_command device_commands[] = {
	{ IB_USER_VERBS_CMD_QUERY_DEVICE, 0, sizeof(struct ib_uverbs_query_device_resp),
	  query_device, "query_device" },
	{ EXTENDED(IB_USER_VERBS_EX_CMD_QUERY_DEVICE), sizeof(struct ib_uverbs_ex_query_device),
	  sizeof(struct ib_uverbs_query_device_resp) + 8, query_device_ex, "query_device_ex" },
	{ IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, 0,
	  sizeof(struct ib_uverbs_create_comp_channel_resp), create_comp_channel,
	  "create_comp_channel" },
	{ 0 },
};
/* clang-format on */
