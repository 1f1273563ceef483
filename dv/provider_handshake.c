/* SPDX-License-Identifier: BSD-2-Clause */
/* DC with a full handshake, by DevX. */
#include "handshake.h"

#include <infiniband/mlx5dv.h>

#include "bsn_syndrome.h"

/*
 * What CQEs of version 1 carry of objects that libmlx5 does not know, so that none of its own is taken for one:
 * the kernel's mlx5_ib.h MLX5_IB_DEFAULT_UIDX
 */
enum { NO_USER_INDEX = 0xffffff };

/* UCX src/uct/ib/mlx5/ib_mlx5.h UCT_IB_MLX5_ATOMIC_MODE_COMP, UCT_IB_MLX5_ATOMIC_MODE_EXT */
enum { ATOMIC_MODE_IBA = 1, ATOMIC_MODE_MASKED = 3 };

const char *handshake_refusal(const struct bsn_cmd_out *answer)
{
#define SAY(name, value, doc) [value] = doc,
	static const char *const docs[] = { BSN_COMMAND_STATUSES(SAY) };
#undef SAY
	if (answer->status == BSN_COMMAND_OK)
		return NULL;
	if (answer->status >= sizeof(docs) / sizeof(docs[0]) || !docs[answer->status])
		return "a status of no known meaning";
	return docs[answer->status];
}

uint8_t handshake_atomic_mode(bool has_atomics, bool has_masked)
{
	return has_masked ? ATOMIC_MODE_MASKED : has_atomics ? ATOMIC_MODE_IBA : 0;
}

static int create(struct ibv_context *context, const uint8_t *in, size_t size, void **handle, uint32_t *number,
		  struct bsn_cmd_out *answer)
{
	uint8_t out[BSN_CREATED_OUT_SIZE] = { 0 };
	struct bsn_cmd_object made;

	errno = 0;
	*handle = mlx5dv_devx_obj_create(context, in, size, out, sizeof(out));
	bsn_cmd_out_decode(answer, out);
	if (!*handle)
		return provider_error_of_devx(provider_error_of_pointer(*handle));
	bsn_cmd_object_decode(&made, out + BSN_CMD_OBJECT_OFFSET);
	*number = made.number;
	return 0;
}

/* -- targets ------------------------------------------------------------------------------------ */

/* As the kernel makes them for verbs, hw/mlx5/qp.c mlx5_ib_modify_dct(), and DSCP as UCX's dc_mlx5_devx.c. */
static struct bsn_dctc context_of(const struct handshake_dct_attr *attr, uint32_t pdn)
{
	const struct ibv_qp_attr *path = attr->path;
	const struct ibv_global_route *grh = &path->ah_attr.grh;

	return (struct bsn_dctc){
		.user_index = NO_USER_INDEX,
		.cqn = attr->cqn,
		.atomic_mode = attr->atomic_mode,
		.rre = 1,
		.rwe = 1,
		.rae = attr->atomic_mode != 0,
		.force_full_handshake = 1,
		.min_rnr_nak = path->min_rnr_timer,
		.srqn_xrqn = attr->srqn,
		.pd = pdn,
		.tclass = grh->traffic_class,
		.flow_label = grh->flow_label,
		.dc_access_key = attr->access_key,
		.mtu = path->path_mtu,
		.port = path->port_num,
		.my_addr_index = grh->sgid_index,
		.hop_limit = grh->hop_limit,
		.eth_prio = path->ah_attr.sl & 7,
		.dscp = grh->traffic_class >> 2,
	};
}

int handshake_dct_create(const struct handshake_dct_attr *attr, void **handle, uint32_t *number,
			 struct bsn_cmd_out *answer)
{
	const struct bsn_cmd_in head = { .opcode = BSN_CMD_CREATE_DCT };
	uint8_t in[BSN_CREATE_DCT_IN_SIZE] = { 0 };
	struct bsn_dctc ctx;
	uint32_t pdn;
	const int err = provider_pd_number(attr->pd, &pdn);

	*answer = (struct bsn_cmd_out){ 0 };
	if (err)
		return err;
	ctx = context_of(attr, pdn);
	bsn_cmd_in_encode(in, &head);
	bsn_dctc_encode(in + BSN_CREATE_DCT_CTX_OFFSET, &ctx);
	return create(attr->pd->context, in, sizeof(in), handle, number, answer);
}

/* The kernel drains it first: hw/mlx5/qpc.c mlx5_core_destroy_dct(), which hw/mlx5/devx.c calls. */
int handshake_dct_destroy(void *handle)
{
	return provider_error_of_int(mlx5dv_devx_obj_destroy(handle));
}
