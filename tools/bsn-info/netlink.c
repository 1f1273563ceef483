/* SPDX-License-Identifier: BSD-2-Clause */
/* Flow control by DCB (rtnetlink) and by ethtool (generic netlink). */
#include "netlink.h"

#include <errno.h>
#include <linux/dcbnl.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <libmnl/libmnl.h>

#include "root.h"

enum { REPLY_BYTES = 16384 };

struct reply {
	_Alignas(8) char bytes[REPLY_BYTES];
};

/* Sends a request, and passes each reply to @take. Returns 0 or -errno. */
static int ask(int family, const struct nlmsghdr *request, mnl_cb_t take, void *arg)
{
	struct mnl_socket *socket = mnl_socket_open(family);
	struct reply reply;
	ssize_t length = -1;
	int err = 0;

	if (!socket)
		return -errno;
	if (mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) ||
	    mnl_socket_sendto(socket, request, request->nlmsg_len) < 0 ||
	    (length = mnl_socket_recvfrom(socket, &reply, sizeof(reply))) < 0 ||
	    mnl_cb_run(&reply, (size_t)length, request->nlmsg_seq, mnl_socket_get_portid(socket),
		       take, arg) < 0)
		err = -errno;
	mnl_socket_close(socket);
	return err;
}

static int read_recorded(const char *root, const char *netdev, const char *kind, mnl_cb_t take,
			 void *arg)
{
	struct reply reply;
	const int length = root_bytes(root, &reply, sizeof(reply), "netlink/%s.%s", netdev, kind);

	if (length < 0)
		return length;
	return mnl_cb_run(&reply, (size_t)length, 0, 0, take, arg) < 0 ? -errno : 0;
}

static struct nlmsghdr *start(struct reply *buffer, uint16_t type)
{
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);

	request->nlmsg_type = type;
	request->nlmsg_flags = NLM_F_REQUEST;
	request->nlmsg_seq = 1;
	return request;
}

/* The attribute of a type; NULL: there is none of at least @least bytes. */
static const struct nlattr *find(const struct nlattr *first, size_t length, uint16_t type,
				 size_t least)
{
	const struct nlattr *attr;

	mnl_attr_for_each_payload(first, length) if (mnl_attr_get_type(attr) ==
						     type) return mnl_attr_get_payload_len(attr) >=
			least
		? attr
		: NULL;
	return NULL;
}

static const struct nlattr *find_nested(const struct nlattr *nest, uint16_t type, size_t least)
{
	return nest ? find(mnl_attr_get_payload(nest), mnl_attr_get_payload_len(nest), type, least)
		    : NULL;
}

static const struct nlattr *find_top(const struct nlmsghdr *header, size_t family_bytes,
				     uint16_t type, size_t least)
{
	if (mnl_nlmsg_get_payload_len(header) < MNL_ALIGN(family_bytes))
		return NULL;
	return find(mnl_nlmsg_get_payload_offset(header, family_bytes),
		    mnl_nlmsg_get_payload_len(header) - MNL_ALIGN(family_bytes), type, least);
}

static int refuse(void)
{
	errno = EBADMSG;
	return MNL_CB_ERROR;
}

/* -- DCB --------------------------------------------------------------------------------------- */

static int take_pfc(const struct nlmsghdr *header, void *arg)
{
	const struct nlattr *ieee = find_top(header, sizeof(struct dcbmsg), DCB_ATTR_IEEE, 0);
	const struct nlattr *attr = find_nested(ieee, DCB_ATTR_IEEE_PFC, sizeof(struct ieee_pfc));
	struct ieee_pfc told;
	struct pfc *pfc = arg;

	if (!attr) {
		errno = ieee ? EOPNOTSUPP : EBADMSG;
		return MNL_CB_ERROR;
	}
	memcpy(&told, mnl_attr_get_payload(attr), sizeof(told));
	for (unsigned i = 0; i < PRIORITIES; i++) {
		pfc->on[i] = told.pfc_en >> i & 1;
		pfc->sent[i] = told.requests[i];
		pfc->received[i] = told.indications[i];
	}
	return MNL_CB_OK;
}

int netlink_pfc(const char *root, const char *netdev, struct pfc *pfc)
{
	struct reply buffer;
	struct nlmsghdr *request = start(&buffer, RTM_GETDCB);
	struct dcbmsg *dcb = mnl_nlmsg_put_extra_header(request, sizeof(*dcb));

	*pfc = (struct pfc){ 0 };
	if (*root)
		return read_recorded(root, netdev, "dcb", take_pfc, pfc);
	dcb->dcb_family = AF_UNSPEC;
	dcb->cmd = DCB_CMD_IEEE_GET;
	mnl_attr_put_strz(request, DCB_ATTR_IFNAME, netdev);
	return ask(NETLINK_ROUTE, request, take_pfc, pfc);
}

/* -- ethtool ----------------------------------------------------------------------------------- */

static int take_family(const struct nlmsghdr *header, void *arg)
{
	const struct nlattr *attr =
		find_top(header, sizeof(struct genlmsghdr), CTRL_ATTR_FAMILY_ID, sizeof(uint16_t));

	if (!attr)
		return refuse();
	*(uint16_t *)arg = mnl_attr_get_u16(attr);
	return MNL_CB_OK;
}

static struct nlmsghdr *start_generic(struct reply *buffer, uint16_t family, uint8_t command)
{
	struct nlmsghdr *request = start(buffer, family);
	struct genlmsghdr *generic = mnl_nlmsg_put_extra_header(request, sizeof(*generic));

	generic->cmd = command;
	generic->version = 1;
	return request;
}

static int find_ethtool(uint16_t *family)
{
	struct reply buffer;
	struct nlmsghdr *request = start_generic(&buffer, GENL_ID_CTRL, CTRL_CMD_GETFAMILY);

	mnl_attr_put_strz(request, CTRL_ATTR_FAMILY_NAME, ETHTOOL_GENL_NAME);
	return ask(NETLINK_GENERIC, request, take_family, family);
}

static bool is_set(const struct nlmsghdr *header, uint16_t type)
{
	const struct nlattr *attr = find_top(header, sizeof(struct genlmsghdr), type, 1);

	return attr && mnl_attr_get_u8(attr);
}

static int take_pause(const struct nlmsghdr *header, void *arg)
{
	const size_t generic = sizeof(struct genlmsghdr);
	const struct nlattr *stats = find_top(header, generic, ETHTOOL_A_PAUSE_STATS, 0);
	const struct nlattr *rx =
		find_nested(stats, ETHTOOL_A_PAUSE_STAT_RX_FRAMES, sizeof(uint64_t));
	const struct nlattr *tx =
		find_nested(stats, ETHTOOL_A_PAUSE_STAT_TX_FRAMES, sizeof(uint64_t));
	struct pause *pause = arg;

	if (!find_top(header, generic, ETHTOOL_A_PAUSE_HEADER, 0))
		return refuse();
	pause->rx = is_set(header, ETHTOOL_A_PAUSE_RX);
	pause->tx = is_set(header, ETHTOOL_A_PAUSE_TX);
	pause->has_frames = rx && tx;
	pause->rx_frames = rx ? mnl_attr_get_u64(rx) : 0;
	pause->tx_frames = tx ? mnl_attr_get_u64(tx) : 0;
	return MNL_CB_OK;
}

int netlink_pause(const char *root, const char *netdev, struct pause *pause)
{
	struct reply buffer;
	struct nlmsghdr *request;
	struct nlattr *nest;
	uint16_t family = 0;
	int err;

	*pause = (struct pause){ 0 };
	if (*root)
		return read_recorded(root, netdev, "pause", take_pause, pause);
	err = find_ethtool(&family);
	if (err)
		return err;
	request = start_generic(&buffer, family, ETHTOOL_MSG_PAUSE_GET);
	nest = mnl_attr_nest_start(request, ETHTOOL_A_PAUSE_HEADER);
	mnl_attr_put_strz(request, ETHTOOL_A_HEADER_DEV_NAME, netdev);
	mnl_attr_put_u32(request, ETHTOOL_A_HEADER_FLAGS, ETHTOOL_FLAG_STATS);
	mnl_attr_nest_end(request, nest);
	return ask(NETLINK_GENERIC, request, take_pause, pause);
}
