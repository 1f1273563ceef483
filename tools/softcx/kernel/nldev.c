/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Answers of RDMA_NL_NLDEV, as of drivers/infiniband/core/nldev.c. Attributes are in host byte
 * order, GUIDs and prefixes too.
 */
#include "nldev.h"

#include <endian.h>
#include <errno.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_netlink.h>
#include <rdma/rdma_user_cm.h>

#include "../datasheet.h"
#include "../nic/counters.h"
#include "../nic/hca.h"
#include "../nic/netdev.h"
#include "nlmsg.h"

enum {
	DEVICE_INDEX = 0,
	NODE_CA = 1, /* enum rdma_node_type */
	NETNS_SHARED = 1,
	PORT_DOWN = 1,
	PORT_ACTIVE = 4,
	UVERBS_ABI = 1,
};

/* -- the device and its port ------------------------------------------------------------------- */

static void put_name(struct message *m)
{
	put_u32(m, RDMA_NLDEV_ATTR_DEV_INDEX, DEVICE_INDEX);
	put_text(m, RDMA_NLDEV_ATTR_DEV_NAME, CX_DEVICE_NAME);
}

static int put_device(struct cx_hca *hca, const struct asked *asked, struct message *m)
{
	const struct cx_config *config = cx_config(hca);
	const struct cx_datasheet *model = cx_datasheet(config->generation);
	char version[24];

	(void)asked;
	snprintf(version, sizeof(version), "%u.%u.%04u", model->fw_major, model->fw_minor,
		 model->fw_sub);
	put_name(m);
	put_u32(m, RDMA_NLDEV_ATTR_PORT_INDEX, CX_PORTS);
	put_text(m, RDMA_NLDEV_ATTR_FW_VERSION, version);
	put_u64(m, RDMA_NLDEV_ATTR_NODE_GUID, cx_node_guid(config));
	put_u64(m, RDMA_NLDEV_ATTR_SYS_IMAGE_GUID, cx_node_guid(config));
	put_u8(m, RDMA_NLDEV_ATTR_DEV_NODE_TYPE, NODE_CA);
	put_u8(m, RDMA_NLDEV_ATTR_DEV_DIM, 0);
	put_text(m, RDMA_NLDEV_ATTR_DEV_PROTOCOL, config->link == CX_LINK_ROCE ? "roce" : "ib");
	return 0;
}

static void put_subnet(struct cx_hca *hca, struct message *m)
{
	const struct cx_config *config = cx_config(hca);
	struct cx_gid gid = { 0 };

	cx_gid_get(config, 0, &gid);
	put_u64(m, RDMA_NLDEV_ATTR_CAP_FLAGS, cx_port_cap_flags(config));
	put_u64(m, RDMA_NLDEV_ATTR_SUBNET_PREFIX, be64toh(gid.gid.global.subnet_prefix));
	put_u32(m, RDMA_NLDEV_ATTR_LID, CX_LID);
	put_u32(m, RDMA_NLDEV_ATTR_SM_LID, CX_LID);
	put_u8(m, RDMA_NLDEV_ATTR_LMC, 0);
}

static int put_port(struct cx_hca *hca, const struct asked *asked, struct message *m)
{
	const struct cx_netdev *netdev = cx_config(hca)->netdev;
	const bool is_up = cx_port_is_up(hca);
	uint32_t port = 1;

	if (!(asked->header->nlmsg_flags & NLM_F_DUMP) &&
	    (!asks_u32(asked, RDMA_NLDEV_ATTR_PORT_INDEX, &port) || port != 1))
		return -EINVAL;
	put_name(m);
	put_u32(m, RDMA_NLDEV_ATTR_PORT_INDEX, port);
	if (cx_config(hca)->link == CX_LINK_IB)
		put_subnet(hca, m);
	put_u8(m, RDMA_NLDEV_ATTR_PORT_STATE, is_up ? PORT_ACTIVE : PORT_DOWN);
	put_u8(m, RDMA_NLDEV_ATTR_PORT_PHYS_STATE, is_up ? CX_PHYS_LINK_UP : CX_PHYS_DISABLED);
	if (netdev) {
		put_u32(m, RDMA_NLDEV_ATTR_NDEV_INDEX, netdev->index);
		put_text(m, RDMA_NLDEV_ATTR_NDEV_NAME, netdev->name);
	}
	return 0;
}

/* As the kernel's huge_encode_dev() */
static uint64_t encode_device(uint32_t major, uint32_t minor)
{
	return (minor & 0xff) | major << 8 | (uint64_t)(minor & ~0xffu) << 12;
}

/* One entry for all devices: programs ask for it without a device. */
static void put_rdmacm(struct message *m)
{
	put_text(m, RDMA_NLDEV_ATTR_CHARDEV_NAME, CX_RDMACM_NAME);
	put_u64(m, RDMA_NLDEV_ATTR_CHARDEV, encode_device(CX_RDMACM_MAJOR, CX_RDMACM_MINOR));
	put_u64(m, RDMA_NLDEV_ATTR_CHARDEV_ABI, RDMA_USER_CM_ABI_VERSION);
}

static int put_chardev(struct cx_hca *hca, const struct asked *asked, struct message *m)
{
	uint32_t index;

	(void)hca;
	if (asks_text(asked, RDMA_NLDEV_ATTR_CHARDEV_TYPE, CX_RDMACM_NAME)) {
		put_rdmacm(m);
		return 0;
	}
	if (!asks_text(asked, RDMA_NLDEV_ATTR_CHARDEV_TYPE, "uverbs"))
		return -ENOENT;
	if (!asks_u32(asked, RDMA_NLDEV_ATTR_DEV_INDEX, &index) || index != DEVICE_INDEX)
		return -EINVAL;
	put_text(m, RDMA_NLDEV_ATTR_CHARDEV_NAME, CX_UVERBS_NAME);
	put_u64(m, RDMA_NLDEV_ATTR_CHARDEV, encode_device(CX_UVERBS_MAJOR, CX_UVERBS_MINOR));
	put_u64(m, RDMA_NLDEV_ATTR_CHARDEV_ABI, UVERBS_ABI);
	put_u32(m, RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID, RDMA_DRIVER_MLX5);
	return 0;
}

/* The port's hw_counters, of the set that all queues share: stat_get_doit_default_counter(). */
static int put_statistics(struct cx_hca *hca, const struct asked *asked, struct message *m)
{
#define NAME_COUNTER(name, doc) #name,
	static const char *const names[] = { CX_COUNTERS(NAME_COUNTER) };
#undef NAME_COUNTER
	uint32_t port;
	size_t table, entry;

	if (!asks_u32(asked, RDMA_NLDEV_ATTR_PORT_INDEX, &port) || port != CX_PORTS)
		return -EINVAL;
	put_name(m);
	put_u32(m, RDMA_NLDEV_ATTR_PORT_INDEX, port);
	table = nest(m, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
	for (unsigned i = 0; i < CX_COUNTER_COUNT; i++) {
		entry = nest(m, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY);
		put_text(m, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, names[i]);
		put_u64(m, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, cx_counter_read(hca, i));
		nest_end(m, entry);
	}
	nest_end(m, table);
	return 0;
}

/*
 * The one attribute that every kernel has. Copies on fork are not mentioned, as before Linux 5.12.
 */
static int put_system(struct cx_hca *hca, const struct asked *asked, struct message *m)
{
	(void)hca;
	(void)asked;
	put_u8(m, RDMA_NLDEV_SYS_ATTR_NETNS_MODE, NETNS_SHARED);
	return 0;
}

/* -- its objects ------------------------------------------------------------------------------- */

static void put_pd(struct message *m, const struct cx_resource *r)
{
	put_u64(m, RDMA_NLDEV_ATTR_RES_USECNT, r->users);
}

static void put_cq(struct message *m, const struct cx_resource *r)
{
	put_u32(m, RDMA_NLDEV_ATTR_RES_CQE, r->cq.entries - 1); /* as ibv_create_cq() answers */
	put_u64(m, RDMA_NLDEV_ATTR_RES_USECNT, r->users);
	put_u8(m, RDMA_NLDEV_ATTR_DEV_DIM, 0);
}

static void put_qp(struct message *m, const struct cx_resource *r)
{
	const struct ibv_qp_attr *mod = &r->qp.mod;
	const bool is_paired = r->qp.type == IBV_QPT_RC || r->qp.type == IBV_QPT_UC;

	if (mod->port_num)
		put_u32(m, RDMA_NLDEV_ATTR_PORT_INDEX, mod->port_num);
	if (is_paired) {
		put_u32(m, RDMA_NLDEV_ATTR_RES_RQPN, mod->dest_qp_num);
		put_u32(m, RDMA_NLDEV_ATTR_RES_RQ_PSN, mod->rq_psn);
	}
	put_u32(m, RDMA_NLDEV_ATTR_RES_SQ_PSN, mod->sq_psn);
	if (is_paired)
		put_u8(m, RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE, mod->path_mig_state);
	put_u8(m, RDMA_NLDEV_ATTR_RES_TYPE, r->qp.type);
	put_u8(m, RDMA_NLDEV_ATTR_RES_STATE, mod->qp_state);
}

static void put_mr(struct message *m, const struct cx_resource *r)
{
	put_u32(m, RDMA_NLDEV_ATTR_RES_RKEY, r->number);
	put_u32(m, RDMA_NLDEV_ATTR_RES_LKEY, r->number);
	put_u64(m, RDMA_NLDEV_ATTR_RES_IOVA, r->mr.iova);
	put_u64(m, RDMA_NLDEV_ATTR_RES_MRLEN, r->mr.length);
}

static void put_nothing(struct message *m, const struct cx_resource *r)
{
	(void)m;
	(void)r;
}

static void put_srq(struct message *m, const struct cx_resource *r)
{
	put_u8(m, RDMA_NLDEV_ATTR_RES_TYPE, r->srq.is_xrc ? IBV_SRQT_XRC : IBV_SRQT_BASIC);
	if (r->srq.cqn)
		put_u32(m, RDMA_NLDEV_ATTR_RES_CQN, r->srq.cqn);
}

static void put_address(struct message *m, uint16_t type, const uint8_t *address, size_t size)
{
	struct sockaddr_storage storage = { 0 };

	memcpy(&storage, address, size);
	put(m, type, &storage, sizeof(storage));
}

static void put_cm_id(struct message *m, const struct cx_resource *r)
{
	put_u32(m, RDMA_NLDEV_ATTR_PORT_INDEX, CX_PORTS);
	if (r->cm.qpn) {
		put_u32(m, RDMA_NLDEV_ATTR_RES_LQPN, r->cm.qpn);
		put_u8(m, RDMA_NLDEV_ATTR_RES_TYPE, r->cm.qp_type);
	}
	put_u32(m, RDMA_NLDEV_ATTR_RES_PS, r->cm.port_space);
	put_u8(m, RDMA_NLDEV_ATTR_RES_STATE, r->cm.state);
	put_address(m, RDMA_NLDEV_ATTR_RES_SRC_ADDR, r->cm.source, sizeof(r->cm.source));
	put_address(m, RDMA_NLDEV_ATTR_RES_DST_ADDR, r->cm.destination, sizeof(r->cm.destination));
}

/* Each kind of resource: its request, its table and entries, its number, its name in a summary. */
static const struct kind {
	uint16_t command, table, entry, number;
	enum cx_resource_kind resource;
	void (*put)(struct message *m, const struct cx_resource *r);
	const char *name;
} kinds[] = {
	{ RDMA_NLDEV_CMD_RES_PD_GET, RDMA_NLDEV_ATTR_RES_PD, RDMA_NLDEV_ATTR_RES_PD_ENTRY,
	  RDMA_NLDEV_ATTR_RES_PDN, CX_RESOURCE_PD, put_pd, "pd" },
	{ RDMA_NLDEV_CMD_RES_CQ_GET, RDMA_NLDEV_ATTR_RES_CQ, RDMA_NLDEV_ATTR_RES_CQ_ENTRY,
	  RDMA_NLDEV_ATTR_RES_CQN, CX_RESOURCE_CQ, put_cq, "cq" },
	{ RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_ATTR_RES_QP, RDMA_NLDEV_ATTR_RES_QP_ENTRY,
	  RDMA_NLDEV_ATTR_RES_LQPN, CX_RESOURCE_QP, put_qp, "qp" },
	{ RDMA_NLDEV_CMD_RES_CM_ID_GET, RDMA_NLDEV_ATTR_RES_CM_ID, RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY,
	  RDMA_NLDEV_ATTR_RES_CM_IDN, CX_RESOURCE_CM_ID, put_cm_id, "cm_id" },
	{ RDMA_NLDEV_CMD_RES_MR_GET, RDMA_NLDEV_ATTR_RES_MR, RDMA_NLDEV_ATTR_RES_MR_ENTRY,
	  RDMA_NLDEV_ATTR_RES_MRN, CX_RESOURCE_MR, put_mr, "mr" },
	{ RDMA_NLDEV_CMD_RES_CTX_GET, RDMA_NLDEV_ATTR_RES_CTX, RDMA_NLDEV_ATTR_RES_CTX_ENTRY,
	  RDMA_NLDEV_ATTR_RES_CTXN, CX_RESOURCE_CONTEXT, put_nothing, "ctx" },
	{ RDMA_NLDEV_CMD_RES_SRQ_GET, RDMA_NLDEV_ATTR_RES_SRQ, RDMA_NLDEV_ATTR_RES_SRQ_ENTRY,
	  RDMA_NLDEV_ATTR_RES_SRQN, CX_RESOURCE_SRQ, put_srq, "srq" },
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static const struct kind *kind_of(unsigned command)
{
	for (unsigned i = 0; i < KINDS; i++)
		if (kinds[i].command == command)
			return &kinds[i];
	return NULL;
}

static int put_summary(struct cx_hca *hca, const struct asked *asked, struct message *m)
{
	size_t table, entry;

	(void)asked;
	put_name(m);
	table = nest(m, RDMA_NLDEV_ATTR_RES_SUMMARY);
	for (unsigned i = 0; i < KINDS; i++) {
		entry = nest(m, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY);
		put_text(m, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME, kinds[i].name);
		put_u64(m, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR,
			kinds[i].put ? cx_resource_count(hca, kinds[i].resource) : 0);
		nest_end(m, entry);
	}
	nest_end(m, table);
	return 0;
}

static void put_object(struct message *m, const struct kind *kind, const struct cx_resource *r)
{
	put_u32(m, kind->number, r->number);
	kind->put(m, r);
	if (r->pdn)
		put_u32(m, RDMA_NLDEV_ATTR_RES_PDN, r->pdn);
	put_u32(m, RDMA_NLDEV_ATTR_RES_PID, (uint32_t)r->pid);
}

static int put_one(struct cx_hca *hca, const struct asked *asked, const struct kind *kind,
		   struct message *m)
{
	struct cx_resource r;
	uint32_t number, index = 0;

	if (!asks_u32(asked, kind->number, &number))
		return -EINVAL;
	while (kind->put && cx_resource_next(hca, kind->resource, &index, &r)) {
		if (r.number != number)
			continue;
		put_name(m);
		put_object(m, kind, &r);
		return 0;
	}
	return -ENOENT;
}

/* Adds entries while a part has room. False: there were no more. */
static bool put_some(struct cx_hca *hca, const struct kind *kind, uint32_t *index,
		     struct message *m)
{
	struct cx_resource r;
	size_t table, entry, count = 0;

	put_name(m);
	table = nest(m, kind->table);
	while (kind->put && m->size < PART_SIZE &&
	       cx_resource_next(hca, kind->resource, index, &r)) {
		entry = nest(m, kind->entry);
		put_object(m, kind, &r);
		nest_end(m, entry);
		count++;
	}
	nest_end(m, table);
	return count;
}

/* -- answers ----------------------------------------------------------------------------------- */

typedef int putter(struct cx_hca *hca, const struct asked *asked, struct message *m);

/* What writes an answer of one message, even if a list was asked for. NULL: there is no such. */
static putter *putter_of(unsigned command)
{
	switch (command) {
	case RDMA_NLDEV_CMD_GET:
		return put_device;
	case RDMA_NLDEV_CMD_PORT_GET:
		return put_port;
	case RDMA_NLDEV_CMD_GET_CHARDEV:
		return put_chardev;
	case RDMA_NLDEV_CMD_SYS_GET:
		return put_system;
	case RDMA_NLDEV_CMD_RES_GET:
		return put_summary;
	case RDMA_NLDEV_CMD_STAT_GET:
		return put_statistics;
	default:
		return NULL;
	}
}

static bool needs_device(unsigned command, bool is_list)
{
	switch (command) {
	case RDMA_NLDEV_CMD_SYS_GET:
	case RDMA_NLDEV_CMD_GET_CHARDEV: /* which checks itself */
		return false;
	case RDMA_NLDEV_CMD_GET:
	case RDMA_NLDEV_CMD_RES_GET:
		return !is_list;
	default:
		return true;
	}
}

static int check_device(const struct asked *asked, unsigned command)
{
	uint32_t index = DEVICE_INDEX;
	const bool is_told = asks_u32(asked, RDMA_NLDEV_ATTR_DEV_INDEX, &index);

	if (!needs_device(command, asked->header->nlmsg_flags & NLM_F_DUMP))
		return 0;
	return is_told && index == DEVICE_INDEX ? 0 : -EINVAL;
}

/* Answers a request that does not ask for a list. */
static int answer_one(struct cx_hca *hca, uint32_t port, const struct asked *asked,
		      nldev_sink *sink, void *context)
{
	const struct nlmsghdr *header = asked->header;
	const unsigned command = RDMA_NL_GET_OP(header->nlmsg_type);
	const struct kind *kind = kind_of(command);
	putter *const put_all = putter_of(command);
	struct message m;
	int err = check_device(asked, command);

	begin(&m, port, header->nlmsg_seq, header->nlmsg_type, 0);
	if (!err)
		err = put_all ? put_all(hca, asked, &m)
		      : kind  ? put_one(hca, asked, kind, &m)
			      : -EOPNOTSUPP;
	if (!err)
		send_message(&m, sink, context);
	return err;
}

static void send_done(uint32_t port, uint32_t seq, int err, nldev_sink *sink, void *context)
{
	struct message m;

	begin(&m, port, seq, NLMSG_DONE, NLM_F_MULTI);
	memcpy(m.bytes + m.size, &err, sizeof(err));
	m.size += sizeof(err);
	send_message(&m, sink, context);
}

static void send_error(uint32_t port, const struct nlmsghdr *header, int err, nldev_sink *sink,
		       void *context)
{
	const struct nlmsgerr error = { .error = err, .msg = *header };
	struct message m;

	begin(&m, port, header->nlmsg_seq, NLMSG_ERROR, NLM_F_CAPPED);
	memcpy(m.bytes + m.size, &error, sizeof(error));
	m.size += sizeof(error);
	send_message(&m, sink, context);
}

void nldev_go_on(struct cx_hca *hca, uint32_t port, struct nldev_dump *dump, nldev_sink *sink,
		 void *context)
{
	const struct kind *kind;
	struct message m;

	if (!dump->is_open)
		return;
	kind = kind_of(RDMA_NL_GET_OP(dump->type));
	begin(&m, port, dump->seq, dump->type, NLM_F_MULTI);
	if (kind && put_some(hca, kind, &dump->index, &m)) {
		send_message(&m, sink, context);
		return;
	}
	dump->is_open = false;
	send_done(port, dump->seq, 0, sink, context);
}

/* Answers with a list of one message, or the first part of a longer one. */
static void answer_list(struct cx_hca *hca, uint32_t port, const struct asked *asked,
			struct nldev_dump *dump, nldev_sink *sink, void *context)
{
	const struct nlmsghdr *header = asked->header;
	const unsigned command = RDMA_NL_GET_OP(header->nlmsg_type);
	putter *const put_all = putter_of(command);
	struct message m;
	int err = check_device(asked, command);

	if (!err && !put_all) {
		*dump = (struct nldev_dump){ .is_open = true,
					     .type = header->nlmsg_type,
					     .seq = header->nlmsg_seq };
		nldev_go_on(hca, port, dump, sink, context);
		return;
	}
	begin(&m, port, header->nlmsg_seq, header->nlmsg_type, NLM_F_MULTI);
	if (!err)
		err = put_all(hca, asked, &m);
	if (!err)
		send_message(&m, sink, context);
	send_done(port, header->nlmsg_seq, err, sink, context);
}

static bool may_be_listed(unsigned command)
{
	return kind_of(command) || command == RDMA_NLDEV_CMD_GET ||
	       command == RDMA_NLDEV_CMD_PORT_GET || command == RDMA_NLDEV_CMD_RES_GET;
}

static void answer(struct cx_hca *hca, uint32_t port, const struct nlmsghdr *header,
		   struct nldev_dump *dump, nldev_sink *sink, void *context)
{
	const unsigned command = RDMA_NL_GET_OP(header->nlmsg_type);
	const bool is_list = (header->nlmsg_flags & NLM_F_DUMP) && may_be_listed(command);
	const struct asked asked = parse(header);
	int err;

	if (is_list && !dump->is_open) {
		answer_list(hca, port, &asked, dump, sink, context);
		return;
	}
	if (is_list)
		err = -EBUSY;
	else if (RDMA_NL_GET_CLIENT(header->nlmsg_type) != RDMA_NL_NLDEV)
		err = -EINVAL;
	else
		err = answer_one(hca, port, &asked, sink, context);
	if (err)
		cx_trace(hca, "netlink: command %u is refused: %s", command, strerror(-err));
	if (err || header->nlmsg_flags & NLM_F_ACK)
		send_error(port, header, err, sink, context);
}

int nldev_request(struct cx_hca *hca, uint32_t port, const void *datagram, size_t size,
		  struct nldev_dump *dump, nldev_sink *sink, void *context)
{
	const struct nlmsghdr *header = datagram;

	if (size < NLMSG_HDRLEN || header->nlmsg_len < NLMSG_HDRLEN || header->nlmsg_len > size)
		return -EINVAL;
	if (header->nlmsg_flags & NLM_F_REQUEST)
		answer(hca, port, header, dump, sink, context);
	return 0;
}
