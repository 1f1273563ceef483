/* SPDX-License-Identifier: BSD-2-Clause */
/* Address handles. Checks follow hw/mlx5/ah.c. */
#include "kernel.h"

#include <errno.h>
#include <string.h>

#include <rdma/mlx5-abi.h>

static bool gid_is(const uint8_t *gid, const struct cx_gid *own)
{
	return !memcmp(gid, own->gid.raw, sizeof(own->gid.raw));
}

/* RFC 2464, or of IPv4 RFC 1112; rdma_get_mcast_mac() */
static void group_mac(const uint8_t *gid, uint8_t mac[6])
{
	static const uint8_t of_ipv4[] = { 0x01, 0x00, 0x5e };

	mac[0] = mac[1] = 0x33;
	memcpy(mac + 2, gid + 12, 4);
	if (gid[0] == 0xff)
		return;
	memcpy(mac, of_ipv4, sizeof(of_ipv4));
	mac[3] &= 0x7f;
}

/*
 * The MAC of a RoCE address. Our own port's is known, a link-local address holds it, and no other
 * port is on this wire.
 */
static int resolve_mac(const struct cx_config *config, const uint8_t *gid, uint8_t mac[6])
{
	static const uint8_t link_local[8] = { 0xfe, 0x80 };
	struct cx_gid own;

	if (cx_mcast_is_group(gid)) {
		group_mac(gid, mac);
		return 0;
	}

	for (unsigned i = 0; i < cx_gid_table_len(config); i++) {
		if (!cx_gid_get(config, i, &own) && gid_is(gid, &own)) {
			cx_port_mac(config, mac);
			return 0;
		}
	}
	if (memcmp(gid, link_local, sizeof(link_local)))
		return -EHOSTUNREACH;
	mac[0] = gid[8] ^ 2; /* RFC 4291, appendix A */
	mac[1] = gid[9];
	mac[2] = gid[10];
	mac[3] = gid[13];
	mac[4] = gid[14];
	mac[5] = gid[15];
	return 0;
}

static int check_ah(const struct cx_config *config, const struct ib_uverbs_ah_attr *attr)
{
	struct cx_gid own;

	if (attr->port_num != CX_PORTS)
		return -EINVAL;
	if (config->link == CX_LINK_ROCE && !attr->is_global)
		return -EINVAL;
	return attr->is_global ? cx_gid_get(config, attr->grh.sgid_index, &own) : 0;
}

static int create_ah(struct call *call)
{
	const struct cx_config *config = call->ctx->config;
	struct mlx5_ib_create_ah_resp driver = { .response_length = sizeof(driver) };
	struct ib_uverbs_create_ah_resp resp;
	struct ib_uverbs_create_ah req;
	struct object *pd, *ah;
	int err = call_in(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req));

	if (!err)
		err = check_ah(config, &req.attr);
	if (!err && config->link == CX_LINK_ROCE)
		err = resolve_mac(config, req.attr.grh.dgid, driver.dmac);
	if (err)
		return err;
	pd = object_find(call->ctx, OBJECT_PD, req.pd_handle);
	if (!pd)
		return -EINVAL;
	ah = object_new(call->ctx, OBJECT_AH, NULL);
	if (!ah)
		return -ENOMEM;
	object_refer(ah, pd, NULL);
	resp.ah_handle = ah->handle;
	err = call_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	if (!err)
		err = call_out(call, UVERBS_ATTR_UHW_OUT, &driver, sizeof(driver));
	if (err)
		object_destroy(call->ctx, ah);
	return err;
}

static int destroy_ah(struct call *call)
{
	return call_destroy(call, UVERBS_ATTR_DESTROY_AH_HANDLE, OBJECT_AH);
}

/* -- tables ------------------------------------------------------------------------------------ */

static const struct attr_spec destroy_ah_specs[] = {
	{ UVERBS_ATTR_DESTROY_AH_HANDLE, ATTR_OBJECT, 0, 0, 0 },
};

/* clang-format off */
const struct method ah_methods[] = {
	{ UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY, false, false, destroy_ah,
	  "ah_destroy", SPECS(destroy_ah_specs) },
	{ 0 },
};

const struct write_command ah_commands[] = {
	{ IB_USER_VERBS_CMD_CREATE_AH, sizeof(struct ib_uverbs_create_ah),
	  sizeof(struct ib_uverbs_create_ah_resp), create_ah, "create_ah" },
	{ 0 },
};
/* clang-format on */
