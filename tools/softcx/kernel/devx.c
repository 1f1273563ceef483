/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DevX: firmware commands of programs. Checks follow drivers/infiniband/hw/mlx5/devx.c: a command
 * that creates returns an object, others are queries. If the firmware refuses a command, the
 * program gets the status in the answer, and -EREMOTEIO.
 *
 * Queues of DevX are the same objects of the device as those of verbs. devx_events.c has their
 * events.
 */
#include "kernel.h"

#include <errno.h>
#include <stdlib.h>

#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "bsn_cmd.h"

enum { HEADER_BYTES = 16 }; /* general_obj_in_cmd_hdr, and _out_ */

/* -- commands ---------------------------------------------------------------------------------- */

struct mailboxes {
	uint8_t *in, *out;
	unsigned in_size, out_size;
};

static int open_mailboxes(const struct call *call, uint16_t in_id, uint16_t out_id,
			  struct mailboxes *boxes)
{
	int err = call_check_devx(call);

	if (err)
		return err;
	boxes->in_size = call_len(call, in_id);
	boxes->out_size = call_len(call, out_id);
	boxes->in = calloc(1, (size_t)boxes->in_size + boxes->out_size);
	if (!boxes->in)
		return -ENOMEM;
	boxes->out = boxes->in + boxes->in_size;
	err = call_in(call, in_id, boxes->in, boxes->in_size);
	if (err)
		free(boxes->in);
	return err;
}

static uint32_t opcode_of(const struct mailboxes *boxes)
{
	struct bsn_cmd_in head;

	bsn_cmd_in_decode(&head, boxes->in);
	return head.opcode;
}

/* Whether the page is the program's own, and its stores there are seen. */
static bool has_uar(void *context, uint32_t page)
{
	const struct uverbs_context *ctx = context;

	return object_of_number(ctx, OBJECT_UAR, page) && !ctx->host->uar_in_use(page);
}

/* The program gets the answer even if the firmware refused. */
static int run_command(struct call *call, uint16_t out_id, const struct mailboxes *boxes)
{
	const struct cx_commander by = { has_uar, call->ctx };
	int err = cx_command(call->ctx->hca, &by, boxes->in, boxes->in_size, boxes->out,
			     boxes->out_size);
	int copied = err && err != -EREMOTEIO ? err
					      : call_out(call, out_id, boxes->out, boxes->out_size);

	return copied ? copied : err;
}

static int refuse_opcode(const struct call *call, const struct mailboxes *boxes, const char *what)
{
	cx_trace(call->ctx->hca, "uverbs: command %#x is not one that %s", opcode_of(boxes), what);
	return -EINVAL;
}

/* devx_is_general_cmd() */
static bool is_general(uint32_t opcode)
{
	switch (opcode) {
	case BSN_CMD_QUERY_HCA_CAP:
	case BSN_CMD_QUERY_ADAPTER:
	case BSN_CMD_QUERY_ISSI:
	case BSN_CMD_QUERY_HCA_VPORT_CONTEXT:
	case BSN_CMD_QUERY_LAG:
	case BSN_CMD_NOP:
		return true;
	default:
		return false;
	}
}

static int general_command(struct call *call)
{
	struct mailboxes boxes;
	int err = open_mailboxes(call, MLX5_IB_ATTR_DEVX_OTHER_CMD_IN,
				 MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT, &boxes);

	if (err)
		return err;
	err = is_general(opcode_of(&boxes))
		      ? run_command(call, MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT, &boxes)
		      : refuse_opcode(call, &boxes, "names no object");
	free(boxes.in);
	return err;
}

/* -- objects ----------------------------------------------------------------------------------- */

/* devx_is_obj_create_cmd(), for commands that have names here */
static bool is_creating(uint32_t opcode)
{
	switch (opcode) {
	case BSN_CMD_CREATE_MKEY:
	case BSN_CMD_CREATE_EQ:
	case BSN_CMD_CREATE_CQ:
	case BSN_CMD_CREATE_QP:
	case BSN_CMD_CREATE_PSV:
	case BSN_CMD_CREATE_SRQ:
	case BSN_CMD_CREATE_XRC_SRQ:
	case BSN_CMD_CREATE_DCT:
	case BSN_CMD_CREATE_XRQ:
	case BSN_CMD_ALLOC_PD:
	case BSN_CMD_CREATE_TIR:
	case BSN_CMD_CREATE_SQ:
	case BSN_CMD_CREATE_RQ:
	case BSN_CMD_CREATE_RMP:
	case BSN_CMD_CREATE_TIS:
	case BSN_CMD_CREATE_FLOW_TABLE:
	case BSN_CMD_CREATE_GENERAL_OBJECT:
		return true;
	default:
		return false;
	}
}

/*
 * Commands that create, and the commands that destroy their objects. The firmware refuses all
 * others.
 */
static const struct {
	uint32_t opcode;
	object_destroyer *destroyer;
} creations[] = {
	{ BSN_CMD_CREATE_MKEY, mkey_destroy },
	{ BSN_CMD_CREATE_CQ, cx_cq_destroy },
	{ BSN_CMD_CREATE_QP, cx_qp_destroy },
	{ BSN_CMD_CREATE_RMP, cx_srq_destroy },
	{ BSN_CMD_CREATE_DCT, cx_qp_destroy },
	{ BSN_CMD_ALLOC_PD, cx_pd_destroy },
	{ BSN_CMD_CREATE_GENERAL_OBJECT, cx_general_object_destroy },
};

static object_destroyer *destroyer_of(uint32_t opcode)
{
	for (unsigned i = 0; i < ARRAY_LEN(creations); i++)
		if (creations[i].opcode == opcode)
			return creations[i].destroyer;
	return NULL;
}

static int create_object(struct call *call, const struct mailboxes *boxes, struct object *object)
{
	struct bsn_cmd_object made;
	int err = run_command(call, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, boxes);

	if (err)
		return err;
	bsn_cmd_object_decode(&made, boxes->out + BSN_CMD_OBJECT_OFFSET);
	object->number = made.number;
	object->devx.opcode = opcode_of(boxes);
	err = call_out_handle(call, MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, object->handle);
	if (err)
		object->destroyer(call->ctx->hca, object->number);
	return err;
}

static int create_devx_object(struct call *call)
{
	struct mailboxes boxes;
	struct object *object;
	int err = open_mailboxes(call, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN,
				 MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, &boxes);

	if (err)
		return err;
	object = object_new(call->ctx, OBJECT_DEVX, destroyer_of(opcode_of(&boxes)));
	if (!object)
		err = -ENOMEM;
	else if (!is_creating(opcode_of(&boxes)))
		err = refuse_opcode(call, &boxes, "creates an object");
	else
		err = create_object(call, &boxes, object);
	if (err && object)
		object_free(call->ctx, object);
	free(boxes.in);
	return err;
}

static int destroy_devx_object(struct call *call)
{
	return call_destroy(call, MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE, OBJECT_DEVX);
}

/*
 * devx_is_obj_query_cmd(), devx_is_obj_modify_cmd(), and devx_get_obj_id(): the kind of object that
 * a command names.
 */
static const struct follow_up {
	uint32_t opcode, creator;
	bool modifies;
} follow_ups[] = {
	{ BSN_CMD_QUERY_MKEY, BSN_CMD_CREATE_MKEY, false },
	{ BSN_CMD_QUERY_CQ, BSN_CMD_CREATE_CQ, false },
	{ BSN_CMD_MODIFY_CQ, BSN_CMD_CREATE_CQ, true },
	{ BSN_CMD_QUERY_RMP, BSN_CMD_CREATE_RMP, false },
	{ BSN_CMD_MODIFY_RMP, BSN_CMD_CREATE_RMP, true },
	{ BSN_CMD_QUERY_DCT, BSN_CMD_CREATE_DCT, false },
	{ BSN_CMD_DRAIN_DCT, BSN_CMD_CREATE_DCT, true },
	{ BSN_CMD_ARM_DCT, BSN_CMD_CREATE_DCT, true },
	{ BSN_CMD_QUERY_QP, BSN_CMD_CREATE_QP, false },
	{ BSN_CMD_RST2INIT_QP, BSN_CMD_CREATE_QP, true },
	{ BSN_CMD_INIT2RTR_QP, BSN_CMD_CREATE_QP, true },
	{ BSN_CMD_RTR2RTS_QP, BSN_CMD_CREATE_QP, true },
	{ BSN_CMD_RTS2RTS_QP, BSN_CMD_CREATE_QP, true },
	{ BSN_CMD_2ERR_QP, BSN_CMD_CREATE_QP, true },
	{ BSN_CMD_2RST_QP, BSN_CMD_CREATE_QP, true },
};

/*
 * The command that creates the kind of object of a handle, though verbs may have created it:
 * devx_is_valid_obj_id()
 */
static uint32_t creator_of(const struct object *object)
{
	switch (object->kind) {
	case OBJECT_DEVX:
		return object->devx.opcode;
	case OBJECT_CQ:
		return BSN_CMD_CREATE_CQ;
	case OBJECT_QP:
		return object->qp.dc == CX_DC_TARGET ? BSN_CMD_CREATE_DCT : BSN_CMD_CREATE_QP;
	case OBJECT_SRQ:
		return object->xrcd ? BSN_CMD_CREATE_XRC_SRQ : BSN_CMD_CREATE_RMP;
	default:
		return BSN_CMD_NOP; /* it creates nothing */
	}
}

/* devx_is_valid_obj_id(): the command must name the object of the handle. */
static bool means_object(const struct mailboxes *boxes, const struct object *object, bool modifies)
{
	struct bsn_cmd_object meant;

	bsn_cmd_object_decode(&meant, boxes->in + BSN_CMD_OBJECT_OFFSET);
	for (unsigned i = 0; i < ARRAY_LEN(follow_ups); i++)
		if (follow_ups[i].opcode == opcode_of(boxes))
			return follow_ups[i].modifies == modifies &&
			       follow_ups[i].creator == creator_of(object) &&
			       meant.number == object->number;
	return false;
}

/* A query or modification. `ids` are those of the handle and of the mailboxes. */
static int ask_object(struct call *call, const uint16_t ids[3], bool modifies)
{
	struct mailboxes boxes;
	struct object *object;
	int err = call_object(call, ids[0], OBJECT_ANY, &object);

	if (!err)
		err = open_mailboxes(call, ids[1], ids[2], &boxes);
	if (err)
		return err;
	if (means_object(&boxes, object, modifies))
		err = run_command(call, ids[2], &boxes);
	else
		err = refuse_opcode(call, &boxes,
				    modifies ? "modifies this object" : "asks for this object");
	free(boxes.in);
	return err;
}

static int query_devx_object(struct call *call)
{
	static const uint16_t ids[] = { MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE,
					MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN,
					MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT };

	return ask_object(call, ids, false);
}

static int modify_devx_object(struct call *call)
{
	static const uint16_t ids[] = { MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE,
					MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN,
					MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT };

	return ask_object(call, ids, true);
}

/* -- memory that commands name ----------------------------------------------------------------- */

static int out_umem(struct call *call, const struct object *umem)
{
	int err = call_out(call, MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, &umem->number,
			   sizeof(umem->number));

	return err ? err : call_out_handle(call, MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, umem->handle);
}

/* devx_umem_get() */
static int make_umem(struct call *call, struct object *umem)
{
	const uint64_t start = call_value(call, MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR);
	const uint64_t length = call_value(call, MLX5_IB_ATTR_DEVX_UMEM_REG_LEN);
	const uint64_t access = call_value(call, MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS);
	const uint64_t known =
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	int err;

	if (!length || access & ~known)
		return -EINVAL;
	err = user_pin(&umem->pinned, start, length, access & IBV_ACCESS_LOCAL_WRITE);
	if (err)
		return err;
	watch_catch_up(call->ctx->hca);
	err = cx_umem_create(call->ctx->hca, start, length, access & IBV_ACCESS_LOCAL_WRITE,
			     &umem->number);
	if (!err)
		watch_memory(call->ctx->hca, start, length);
	return err;
}

static int reg_umem(struct call *call)
{
	struct object *umem;
	int err = call_check_devx(call);

	if (err)
		return err;
	if (call_has(call, MLX5_IB_ATTR_DEVX_UMEM_REG_DMABUF_FD)) {
		cx_trace(call->ctx->hca, "uverbs: dma-bufs are not modelled");
		return -EOPNOTSUPP;
	}
	umem = object_new(call->ctx, OBJECT_UMEM, cx_umem_destroy);
	if (!umem)
		return -ENOMEM;
	err = make_umem(call, umem);
	if (err) {
		object_free(call->ctx, umem);
		return err;
	}
	err = out_umem(call, umem);
	if (err)
		object_destroy(call->ctx, umem);
	return err;
}

static int dereg_umem(struct call *call)
{
	return call_destroy(call, MLX5_IB_ATTR_DEVX_UMEM_DEREG_HANDLE, OBJECT_UMEM);
}

/* -- queries ----------------------------------------------------------------------------------- */

/* Only pages that came with a context are numbered; here libraries ask for each page. */
static int query_uar(struct call *call)
{
	cx_trace(call->ctx->hca, "uverbs: UAR page %u is not the context's own",
		 (uint32_t)call_value(call, MLX5_IB_ATTR_DEVX_QUERY_UAR_USER_IDX));
	return -EINVAL;
}

static int query_eqn(struct call *call)
{
	const uint64_t vector = call_value(call, MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC);
	const uint32_t eqn = CX_FIRST_EQN + (uint32_t)vector;
	int err = call_check_devx(call);

	if (err)
		return err;
	if (vector >= CX_COMP_VECTORS)
		return -ENOENT;
	return call_out(call, MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN, &eqn, sizeof(eqn));
}

static int refuse_channel(struct call *call)
{
	cx_trace(call->ctx->hca, "uverbs: commands that complete later are not modelled");
	return -EOPNOTSUPP;
}

/* -- tables ------------------------------------------------------------------------------------ */

#define MAILBOX_SPECS(in, out)                                                                     \
	{ in, ATTR_IN, 0, HEADER_BYTES, UINT16_MAX },                                              \
	{                                                                                          \
		out, ATTR_OUT, 0, HEADER_BYTES, UINT16_MAX                                         \
	}

static const struct attr_spec general_specs[] = {
	MAILBOX_SPECS(MLX5_IB_ATTR_DEVX_OTHER_CMD_IN, MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT),
};
static const struct attr_spec query_uar_specs[] = {
	{ MLX5_IB_ATTR_DEVX_QUERY_UAR_USER_IDX, ATTR_IN, 0, 4, 4 },
	{ MLX5_IB_ATTR_DEVX_QUERY_UAR_DEV_IDX, ATTR_OUT, 0, 4, 4 },
};
static const struct attr_spec query_eqn_specs[] = {
	{ MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC, ATTR_IN, 0, 4, 4 },
	{ MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN, ATTR_OUT, 0, 4, 4 },
};
static const struct attr_spec create_specs[] = {
	{ MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, ATTR_NEW_OBJECT, 0, 0, 0 },
	MAILBOX_SPECS(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT),
};
static const struct attr_spec destroy_specs[] = {
	{ MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE, ATTR_OBJECT, 0, 0, 0 },
};
static const struct attr_spec modify_specs[] = {
	{ MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE, ATTR_OBJECT, 0, 0, 0 },
	MAILBOX_SPECS(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT),
};
static const struct attr_spec query_specs[] = {
	{ MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE, ATTR_OBJECT, 0, 0, 0 },
	MAILBOX_SPECS(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT),
};
static const struct attr_spec reg_umem_specs[] = {
	{ MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, ATTR_NEW_OBJECT, 0, 0, 0 },
	{ MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, ATTR_IN, 0, 8, 8 },
	{ MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, ATTR_IN, 0, 8, 8 },
	{ MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS, ATTR_IN, ATTR_OPTIONAL, 4, 8 },
	{ MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, ATTR_OUT, 0, 4, 4 },
	{ MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP, ATTR_IN, ATTR_OPTIONAL, 8, 8 },
	{ MLX5_IB_ATTR_DEVX_UMEM_REG_DMABUF_FD, ATTR_FD, ATTR_OPTIONAL, 0, 0 },
};
static const struct attr_spec dereg_umem_specs[] = {
	{ MLX5_IB_ATTR_DEVX_UMEM_DEREG_HANDLE, ATTR_OBJECT, 0, 0, 0 },
};
static const struct attr_spec cmd_channel_specs[] = {
	{ MLX5_IB_ATTR_DEVX_ASYNC_CMD_FD_ALLOC_HANDLE, ATTR_NEW_FD, 0, 0, 0 },
};

/* clang-format off */
const struct method devx_methods[] = {
	{ MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_OTHER, false, false, general_command,
	  "devx_other", SPECS(general_specs) },
	{ MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_UAR, false, false, query_uar,
	  "devx_query_uar", SPECS(query_uar_specs) },
	{ MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_EQN, false, false, query_eqn,
	  "devx_query_eqn", SPECS(query_eqn_specs) },
	{ MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_CREATE, false, false,
	  create_devx_object, "devx_obj_create", SPECS(create_specs) },
	{ MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_DESTROY, false, false,
	  destroy_devx_object, "devx_obj_destroy", SPECS(destroy_specs) },
	{ MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_MODIFY, false, false,
	  modify_devx_object, "devx_obj_modify", SPECS(modify_specs) },
	{ MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_QUERY, false, false,
	  query_devx_object, "devx_obj_query", SPECS(query_specs) },
	{ MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_REG, false, false, reg_umem,
	  "devx_umem_reg", SPECS(reg_umem_specs) },
	{ MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_DEREG, false, false, dereg_umem,
	  "devx_umem_dereg", SPECS(dereg_umem_specs) },
	{ MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD, MLX5_IB_METHOD_DEVX_ASYNC_CMD_FD_ALLOC, false, false,
	  refuse_channel, "devx_cmd_channel", SPECS(cmd_channel_specs) },
	{ 0 },
};
/* clang-format on */
