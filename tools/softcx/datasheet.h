/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the device is: the figures of a generation's data sheet, the limits of its firmware, and the
 * identity of its port. All follows from the configuration, since all processes of a fabric see the
 * same device.
 */
#ifndef SOFTCX_DATASHEET_H
#define SOFTCX_DATASHEET_H

#include "nic/hca.h"

#define CX_DEVICE_NAME "mlx5_0"
#define CX_UVERBS_NAME "uverbs0"
#define CX_RDMACM_NAME "rdma_cm"

enum {
	CX_PORTS = 1,
	CX_LAG_PORTS = 2, /* of a bond, which verbs see as one port: MLX5_MAX_PORTS */
	CX_UVERBS_MAJOR = 231, /* Linux Documentation/admin-guide/devices.txt: InfiniBand verbs */
	CX_UVERBS_MINOR = 192,
	/* of miscellaneous devices; Linux takes any free minor, this is one of a Debian */
	CX_RDMACM_MAJOR = 10,
	CX_RDMACM_MINOR = 124,
	CX_VENDOR_ID = 0x02c9,     /* the OUI, as ibv_query_device() has it */
	CX_PCI_VENDOR_ID = 0x15b3, /* Mellanox Technologies */
	CX_PCI_SUBSYSTEM_ID = 8,

	/*
	 * Limits that ConnectX-5 and later report. libmlx5 computes its layouts from some:
	 * MLX5_CAP_GEN(max_wqe_sz_sq, max_wqe_sz_rq, log_max_qp_sz, log_max_srq_sz, log_max_cq_sz).
	 */
	CX_MAX_SQ_DESC_BYTES = 1024,
	CX_MAX_RQ_DESC_BYTES = 512,
	CX_MAX_QP_WR = 1 << 15,
	CX_MAX_SRQ_WR = (1 << 15) - 1,
	CX_MAX_CQE = (1 << 22) - 1,
	CX_MAX_SGE = 30, /* (512 - 16 - 16) / 16: mlx5_ib_query_device() */
	CX_MAX_SRQ_SGE = 31,
	CX_MAX_RD_ATOMIC = 16,
	CX_MAX_MSG_LOG2 = 30,
	/* Objects of a fabric, fewer than a ConnectX has; powers of two, except for keys. */
	CX_MAX_QPS = 1 << 16,
	CX_MAX_CQS = 1 << 14,
	CX_MAX_SRQS = 1 << 12,
	CX_MAX_MEMBERS = 1 << 10, /* of all multicast groups */
	CX_MAX_MEMBERS_OF_GROUP = 48, /* as ibv_devinfo says of a ConnectX-4 to -6 */
	CX_MAX_MRS = (1 << 16) - 2,
	CX_MAX_PDS = 1 << 12,
	CX_MAX_UMEMS = 1 << 12,
	CX_MAX_XRCDS = 1 << 12,
	CX_MAX_MAPPINGS = 1 << 14,
	CX_MAX_CONTEXTS = 1 << 12, /* of all processes */
	CX_MAX_SUBSCRIPTIONS = 1 << 18, /* a queue pair's subscriptions to each of four events */
	/* Mkeys of KLM and KSM, and their translations: of one key, of all. */
	CX_MAX_INDIRECTION = 4,
	CX_MAX_XLT_LOG2 = 16,
	CX_MAX_XLTS = 1 << 21,
	CX_MAX_MMO_LOG2 = 24, /* bytes of a copy by the device */
	/* On demand: hw/mlx5/odp.c internal_fill_odp_caps(), and the same for DC. */
	CX_ODP_CONNECTED = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE |
			   IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV,
	CX_ODP_UD = IBV_ODP_SUPPORT_SEND,
	/* Device memory: 128 KB, in pages of 4 KB, and blocks of 64 bytes. */
	CX_DM_PAGES = 32,
	CX_DM_PAGE_LOG2 = 12,
	CX_DM_BLOCK_LOG2 = 6,
	CX_ACK_DELAY = 16, /* as ibv_device_attr has it */
	CX_CLOCK_KHZ = 1000000,
	CX_COMP_VECTORS = 4,
	CX_FIRST_EQN = 4, /* event queues, one a vector; those before are the driver's */
	CX_CACHE_LINE_BYTES = 64,
	CX_PKEY = 0xffff,
	CX_LID = 1,
	CX_SUBNET_TIMEOUT = 18,
	CX_PHYS_DISABLED = 3, /* IBA, PortInfo PortPhysicalState */
	CX_PHYS_LINK_UP = 5,
};

struct cx_datasheet {
	const char *name;     /* on the command line */
	const char *hca_type; /* sysfs hca_type */
	const char *board_id; /* sysfs board_id; it tells programs that the device is a model */
	uint16_t pci_device_id;
	uint16_t fw_major, fw_minor, fw_sub;
	uint8_t active_speed; /* IBTA PortInfo LinkSpeed(Ext)Active, at 4X */
	uint16_t lane_gbps;   /* of each of the four lanes, as its name says */
	const char *speed;
};

const struct cx_datasheet *cx_datasheet(enum cx_generation generation);

/* Finds a generation by its name on the command line. Returns 0, or -EINVAL. */
int cx_generation_by_name(const char *name, enum cx_generation *generation);
int cx_link_by_name(const char *name, enum cx_link *link);
const char *cx_link_name(enum cx_link link);

static inline uint32_t cx_mtu_bytes(enum ibv_mtu mtu)
{
	return 128u << mtu;
}

/*
 * The node GUID in host order, by the fabric's name; what the port carries; and its MAC (RoCE): the
 * interface's, or without one by the fabric's name.
 */
uint64_t cx_node_guid(const struct cx_config *config);
enum ibv_mtu cx_port_mtu(const struct cx_config *config);
uint32_t cx_port_lanes(const struct cx_config *config); /* 4, unless a fault plan sets fewer */
void cx_port_mac(const struct cx_config *config, uint8_t mac[6]);

struct cx_gid {
	union ibv_gid gid;
	enum ibv_gid_type type;
};

enum { CX_PKEYS = 128, CX_GIDS = 16 };

/* The port's tables as a fault plan sets them. */
struct cx_port_tables {
	bool has_pkeys, has_gids;
	uint16_t pkeys[CX_PKEYS];
	uint32_t gids_set; /* a bit for each entry that is not empty */
	struct cx_gid gids[CX_GIDS];
	uint32_t mtu_bytes, lanes; /* of the link; 0: not set by the plan */
};

/*
 * Whether DC initiators have streams. ConnectX-6 and later claim them; no public source names the
 * first that does.
 */
bool cx_has_dci_streams(const struct cx_config *config);
/*
 * How many streams must have failed for the initiator to fail, log2. Firmware of 2026 says 0
 * (meta-pytorch/torchcomms#958).
 */
unsigned cx_dci_errored_log2(const struct cx_config *config);

unsigned cx_gid_table_len(const struct cx_config *config);
unsigned cx_pkey_table_len(const struct cx_config *config);
uint32_t
cx_port_cap_flags(const struct cx_config *config); /* enum ib_uverbs_query_port_cap_flags */

/* 0: the entry is empty. */
uint16_t cx_pkey_get(const struct cx_config *config, unsigned index);

/* Reads entry `index`. Returns 0; -EINVAL: beyond the table; -ENODATA: the entry is empty. */
int cx_gid_get(const struct cx_config *config, unsigned index, struct cx_gid *gid);

#endif
