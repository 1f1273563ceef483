/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Commands of the firmware, by libmlx5's DevX calls: what is answered, what is refused, and with
 * which status.
 */
#include "queues.h"

#include "bsn_umr.h"
#include "bsn_wqe.h"

enum { MKEY_IN_BYTES = BSN_CREATE_MKEY_LIST_OFFSET + 4 * BSN_XLT_SIZE };

static uint8_t answer[BSN_CAP_OFFSET + BSN_CAP_BYTES];

static void put_op(uint8_t *in, uint32_t opcode, uint32_t op_mod)
{
	ENCODE(cmd_in, in, .opcode = opcode, .op_mod = op_mod);
}

/* Returns the error of the call; the status of the firmware is in the answer. */
static int command(uint32_t opcode, uint32_t op_mod, size_t in_bytes)
{
	uint8_t in[BSN_MEANING_IN_SIZE] = { 0 };

	put_op(in, opcode, op_mod);
	return mlx5dv_devx_general_cmd(lo.ctx, in, in_bytes, answer, sizeof(answer));
}

static int query_caps(enum bsn_cap group)
{
	return command(BSN_CMD_QUERY_HCA_CAP, (uint32_t)group << 1 | BSN_CAP_CURRENT, 16);
}

/* -- queries ----------------------------------------------------------------------------------- */

static void general_capabilities_are_the_datasheets(void **state)
{
	struct bsn_cap_gen_0 zero;
	struct bsn_cap_gen_1 one;

	assert_int_equal(query_caps(BSN_CAP_GENERAL), 0);
	bsn_cap_gen_0_decode(&zero, answer + BSN_CAP_OFFSET + BSN_CAP_GEN_0_OFFSET);
	bsn_cap_gen_1_decode(&one, answer + BSN_CAP_OFFSET + BSN_CAP_GEN_1_OFFSET);
	assert_int_equal(zero.max_indirection, CX_MAX_INDIRECTION);
	assert_int_equal(zero.log_max_klm_list_size, CX_MAX_XLT_LOG2);
	assert_int_equal(zero.fixed_buffer_size, 1);
	assert_int_equal(zero.log_max_msg, CX_MAX_MSG_LOG2);
	assert_int_equal(zero.num_ports, CX_PORTS);
	assert_int_equal(1 << zero.log_max_qp_sz, CX_MAX_QP_WR);
	assert_int_equal(one.max_wqe_sz_sq, CX_MAX_SQ_DESC_BYTES);
	assert_true(one.rc && one.uc && one.ud && one.xrc && one.atomic && one.bf);
	assert_true(one.dct);
	assert_false(one.sho || one.umr_modify_atomic_disabled);
}

static void atomics_say_their_sizes_and_order(void **state)
{
	struct bsn_cap_atomics cap;

	assert_int_equal(query_caps(BSN_CAP_ATOMIC), 0);
	bsn_cap_atomics_decode(&cap, answer + BSN_CAP_OFFSET + BSN_CAP_ATOMICS_OFFSET);
	assert_int_equal(cap.operations, 0xf);
	assert_int_equal(cap.size_qp, 4 + 8);
	assert_int_equal(cap.size_dc, 4 + 8);
	assert_int_equal(cap.endianness_mode_8b, 1);
}

static void memory_on_demand_is_for_connections(void **state)
{
	const uint32_t all = BSN_ODP_SEND | BSN_ODP_RECEIVE | BSN_ODP_WRITE | BSN_ODP_READ |
			     BSN_ODP_ATOMIC | BSN_ODP_SRQ_RECEIVE;
	struct bsn_cap_odp cap;

	assert_int_equal(query_caps(BSN_CAP_ODP), 0);
	bsn_cap_odp_decode(&cap, answer + BSN_CAP_OFFSET);
	assert_int_equal(cap.rc, all);
	assert_int_equal(cap.dc, all);
	assert_int_equal(cap.ud, BSN_ODP_SEND);
	assert_int_equal(cap.uc | cap.xrc, 0);
}

/* -- mappings ---------------------------------------------------------------------------------- */

static uint32_t map(uint32_t kind, uint32_t qpn, uint32_t sgid_index)
{
	uint8_t in[BSN_CREATE_MAPPING_IN_SIZE] = { 0 }, out[BSN_CREATED_OUT_SIZE] = { 0 };
	struct mlx5dv_devx_obj *obj;

	put_op(in, BSN_CMD_CREATE_GENERAL_OBJECT, kind);
	ENCODE(cmd_mapping, in + BSN_CREATE_OBJECT_OFFSET, .qpn = qpn);
	ENCODE(av_ud_grh, in + BSN_CREATE_OBJECT_OFFSET + BSN_CMD_MAPPING_SIZE,
	       .sgid_index = sgid_index);
	obj = create(in, sizeof(in), out);
	if (obj)
		assert_int_equal(mlx5dv_devx_obj_destroy(obj), 0);
	return status_of(out);
}

static void an_address_is_mapped_to_a_queue_pair(void **state)
{
	static const struct {
		uint32_t kind, qpn, sgid_index, status;
	} cases[] = {
		{ BSN_OBJECT_AV_QP_MAPPING, 77, 0, BSN_COMMAND_OK },
		{ BSN_OBJECT_AV_QP_MAPPING, 0, 0, BSN_COMMAND_BAD_PARAMETER },
		{ BSN_OBJECT_AV_QP_MAPPING, BSN_QPN_MAX + 1, 0, BSN_COMMAND_BAD_PARAMETER },
		{ BSN_OBJECT_AV_QP_MAPPING, 77, 1, BSN_COMMAND_BAD_PARAMETER },
		{ 0x3b, 77, 0, BSN_COMMAND_BAD_PARAMETER },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const uint32_t status = map(cases[i].kind, cases[i].qpn, cases[i].sgid_index);
		if (status != cases[i].status)
			fail_msg("row %zu: status %u, not %u", i, status, cases[i].status);
	}
}

static void what_is_not_modelled_is_not_claimed(void **state)
{
	static const enum bsn_cap empty[] = { BSN_CAP_ROCE,       BSN_CAP_QOS,
					      BSN_CAP_FLOW_TABLE, BSN_CAP_CRYPTO,
					      BSN_CAP_GENERAL_2,  BSN_CAP_DEVICE_MEMORY };

	for (size_t i = 0; i < COUNT_OF(empty); i++) {
		assert_int_equal(query_caps(empty[i]), 0);
		for (size_t at = 0; at < sizeof(answer); at++)
			assert_int_equal(answer[at], 0);
	}
}

static void unknown_capabilities_are_a_bad_parameter(void **state)
{
	assert_int_equal(query_caps((enum bsn_cap)0x40), EREMOTEIO);
	assert_int_equal(status_of(answer), BSN_COMMAND_BAD_PARAMETER);
}

static void what_names_no_object_is_asked_as_such(void **state)
{
	assert_int_equal(command(BSN_CMD_QUERY_LAG, 0, 16), 0);
	assert_int_equal(command(BSN_CMD_CREATE_MKEY, 0, 16), EINVAL);
	assert_int_equal(command(BSN_CMD_QUERY_ADAPTER, 0, 16), EREMOTEIO);
	assert_int_equal(status_of(answer), BSN_COMMAND_BAD_OPERATION);
	assert_int_equal(command(BSN_CMD_QUERY_LAG, 0, 8), EINVAL);
}

static void each_vector_has_an_event_queue(void **state)
{
	uint32_t eqn[2];

	assert_int_equal(mlx5dv_devx_query_eqn(lo.ctx, 0, &eqn[0]), 0);
	assert_int_equal(mlx5dv_devx_query_eqn(lo.ctx, CX_COMP_VECTORS - 1, &eqn[1]), 0);
	assert_int_equal(eqn[1] - eqn[0], CX_COMP_VECTORS - 1);
	assert_int_not_equal(mlx5dv_devx_query_eqn(lo.ctx, CX_COMP_VECTORS, &eqn[0]), 0);
}

static void commands_complete_at_once(void **state)
{
	not_made(mlx5dv_devx_create_cmd_comp(lo.ctx), EOPNOTSUPP);
}

/* -- mkeys ------------------------------------------------------------------------------------- */

struct mkey_request {
	struct bsn_mkey_ctx ctx;
	struct bsn_create_mkey_flags flags;
	struct bsn_create_mkey_xlt xlt;
	struct bsn_klm klms[4];
};

static struct mkey_request klm_request(void)
{
	return (struct mkey_request){
		.ctx = { .access_mode_1_0 = BSN_MKEY_MODE_KLM,
			 .lr = 1,
			 .lw = 1,
			 .rr = 1,
			 .rw = 1,
			 .qpn = BSN_MKEY_QPN_ANY,
			 .pd = pdn_of(lo.pd),
			 .len = 128,
			 .translations_octword_size = 4 },
		.xlt = { .octwords = 2 },
		.klms = { { 64, lo.mr->lkey, (uintptr_t)lo.memory + 512 },
			  { 64, lo.mr->lkey, (uintptr_t)lo.memory } },
	};
}

static struct mlx5dv_devx_obj *create_mkey(const struct mkey_request *r, uint8_t *out)
{
	uint8_t in[MKEY_IN_BYTES] = { 0 };

	bsn_create_mkey_flags_encode(in + BSN_CREATE_MKEY_FLAGS_OFFSET, &r->flags);
	put_op(in, BSN_CMD_CREATE_MKEY, 0);
	bsn_mkey_ctx_encode(in + BSN_CREATE_MKEY_CTX_OFFSET, &r->ctx);
	bsn_create_mkey_xlt_encode(in + BSN_CREATE_MKEY_XLT_OFFSET, &r->xlt);
	for (unsigned i = 0; i < 4; i++)
		bsn_klm_encode(in + BSN_CREATE_MKEY_LIST_OFFSET + (size_t)i * BSN_KLM_SIZE,
			       &r->klms[i]);
	return create(in, sizeof(in), out);
}

static struct mlx5dv_devx_obj *make_mkey(const struct mkey_request *r, uint32_t *key)
{
	uint8_t out[BSN_CREATED_OUT_SIZE] = { 0 };
	struct mlx5dv_devx_obj *obj = made(create_mkey(r, out));

	assert_int_equal(status_of(out), BSN_COMMAND_OK);
	*key = number_of(out) << 8 | r->ctx.mkey_7_0;
	return obj;
}

static void expect_refusal(const struct mkey_request *request, uint32_t wanted)
{
	uint8_t out[BSN_CREATED_OUT_SIZE];

	not_made(create_mkey(request, out), EREMOTEIO);
	assert_int_equal(status_of(out), wanted);
}

/* The memory that is written to and from, at an offset. */
static uint64_t at(size_t offset)
{
	return (uintptr_t)lo.memory + offset;
}

static void expect_written(uint64_t from, uint32_t lkey, uint64_t to, uint32_t rkey,
			   uint32_t length)
{
	loopback_post(IBV_WR_RDMA_WRITE, from, lkey, length, to, rkey);
	softcx_step(0);
	assert_int_equal(loopback_poll().status, IBV_WC_SUCCESS);
}

static void an_mkey_of_pieces_gathers_and_scatters(void **state)
{
	struct mkey_request r = klm_request();
	struct mlx5dv_devx_obj *obj;
	uint32_t key;

	r.ctx.mkey_7_0 = 0x5a;
	obj = make_mkey(&r, &key);
	for (unsigned i = 0; i < 1024; i++)
		lo.memory[i] = (char)(i * 7 + i / 64);
	expect_written(0, key, at(2048), lo.mr->rkey, 128);
	assert_memory_equal(lo.memory + 2048, lo.memory + 512, 64);
	assert_memory_equal(lo.memory + 2112, lo.memory, 64);
	memset(lo.memory, 0, 1024);
	expect_written(at(2058), lo.mr->lkey, 10, key, 100);
	assert_memory_equal(lo.memory + 522, lo.memory + 2058, 54);
	assert_memory_equal(lo.memory, lo.memory + 2112, 46);
	assert_int_equal(lo.memory[46], 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(obj), 0);
}

static void an_mkey_of_equal_pieces_counts_from_its_start(void **state)
{
	struct mkey_request r = klm_request();
	struct mlx5dv_devx_obj *obj;
	uint32_t key;

	r.ctx.access_mode_1_0 = BSN_MKEY_MODE_KSM;
	r.ctx.log_page_size = 8;
	r.ctx.start_addr = 0x10040;
	r.ctx.len = 512;
	obj = make_mkey(&r, &key);
	for (unsigned i = 0; i < 1024; i++)
		lo.memory[i] = (char)(i * 3);
	expect_written(0x10040, key, at(2048), lo.mr->rkey, 512);
	assert_memory_equal(lo.memory + 2048, lo.memory + 512, 256);
	assert_memory_equal(lo.memory + 2048 + 256, lo.memory, 256);
	assert_int_equal(mlx5dv_devx_obj_destroy(obj), 0);
}

static void an_mkey_of_pages_is_a_umems(void **state)
{
	struct mkey_request r = klm_request();
	struct mlx5dv_devx_umem *umem =
		made(mlx5dv_devx_umem_reg(lo.ctx, lo.memory + 64, 1024, IBV_ACCESS_LOCAL_WRITE));
	uint8_t out[BSN_CREATED_OUT_SIZE];
	struct mlx5dv_devx_obj *obj;
	uint32_t key;

	r.ctx.access_mode_1_0 = BSN_MKEY_MODE_MTT;
	r.ctx.log_page_size = 12;
	r.ctx.start_addr = 0x7000000 + 64;
	r.ctx.len = 1024;
	r.xlt.octwords = 1;
	expect_refusal(&r, BSN_COMMAND_BAD_PARAMETER);
	r.flags.mkey_umem_valid = 1;
	r.xlt.mkey_umem_id = umem->umem_id;
	obj = make_mkey(&r, &key);
	memcpy(lo.memory + 64, "umem", 4);
	expect_written(0x7000000 + 64, key, at(2048), lo.mr->rkey, 4);
	assert_memory_equal(lo.memory + 2048, "umem", 4);
	assert_int_equal(mlx5dv_devx_umem_dereg(umem), EBUSY);
	assert_int_equal(mlx5dv_devx_obj_destroy(obj), 0);
	r.ctx.len = 8192;
	expect_refusal(&r, BSN_COMMAND_BAD_PARAMETER);
	assert_int_equal(mlx5dv_devx_umem_dereg(umem), 0);
	assert_null(create_mkey(&r, out));
}

static void an_mkey_tells_what_it_is(void **state)
{
	struct mkey_request r = klm_request();
	uint8_t out[BSN_QUERY_MKEY_OUT_CTX_OFFSET + BSN_MKEY_CTX_SIZE];
	uint8_t found[BSN_MKEY_CTX_SIZE], wanted[BSN_MKEY_CTX_SIZE];
	struct mlx5dv_devx_obj *obj;
	struct bsn_mkey_ctx ctx;
	uint32_t key;

	r.ctx.mkey_7_0 = 0x77;
	r.ctx.free = 1;
	obj = make_mkey(&r, &key);
	assert_int_equal(query_object(obj, BSN_CMD_QUERY_MKEY, key >> 8, out, sizeof(out)), 0);
	bsn_mkey_ctx_decode(&ctx, out + BSN_QUERY_MKEY_OUT_CTX_OFFSET);
	bsn_mkey_ctx_encode(found, &ctx);
	bsn_mkey_ctx_encode(wanted, &r.ctx);
	assert_memory_equal(found, wanted, sizeof(found));
	assert_int_equal(query_object(obj, BSN_CMD_QUERY_MKEY, (key >> 8) + 1, out, sizeof(out)),
			 EINVAL);
	assert_int_equal(mlx5dv_devx_obj_destroy(obj), 0);
}

#define BAD_MKEY(wanted, change) REFUSED(wanted, create_mkey, klm_request(), change)

static void each_bad_request_has_its_status(void **state)
{
	BAD_MKEY(BAD_PARAMETER, r.ctx.bsf_en = 1);
	BAD_MKEY(BAD_PARAMETER, r.ctx.crypto_en = 1);
	BAD_MKEY(BAD_RESOURCE, r.ctx.pd ^= 1);
	BAD_MKEY(BAD_PARAMETER, r.ctx.access_mode_1_0 = BSN_MKEY_MODE_PA);
	BAD_MKEY(BAD_PARAMETER, r.klms[1].byte_count = (uint32_t)BSN_KLM_MAX_BYTES + 1);
	BAD_MKEY(BAD_PARAMETER, r.xlt.octwords = 5);
	/* The mailbox has four. */
	BAD_MKEY(BAD_PARAMETER, (r.xlt.octwords = 5, r.ctx.translations_octword_size = 8));
	BAD_MKEY(BAD_PARAMETER, r.ctx.translations_octword_size = (1u << CX_MAX_XLT_LOG2) + 4);
}

/* After each key is destroyed, all room for translations is free again. */
static void room_for_translations_comes_back(void **state)
{
	enum { MOST = CX_MAX_XLTS >> CX_MAX_XLT_LOG2 };
	struct mkey_request r = klm_request();
	struct mlx5dv_devx_obj *objs[MOST];
	uint32_t key;

	r.ctx.translations_octword_size = 1u << CX_MAX_XLT_LOG2;
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < MOST; i++)
			objs[i] = make_mkey(&r, &key);
		expect_refusal(&r, BSN_COMMAND_NO_RESOURCES);
		for (unsigned i = 0; i < MOST; i++)
			assert_int_equal(mlx5dv_devx_obj_destroy(objs[i]), 0);
	}
}

/* The firmware refuses what is not modelled; the kernel refuses commands that create nothing. */
static void other_objects_are_refused(void **state)
{
	uint8_t in[16] = { 0 }, out[BSN_CREATED_OUT_SIZE] = { 0 };

	put_op(in, BSN_CMD_CREATE_XRQ, 0);
	not_made(create(in, sizeof(in), out), EREMOTEIO);
	assert_int_equal(status_of(out), BSN_COMMAND_BAD_OPERATION);
	put_op(in, BSN_CMD_QUERY_LAG, 0);
	not_made(create(in, sizeof(in), out), EINVAL);
}

UNIT_MAIN(NULL, ON_LOOPBACK(general_capabilities_are_the_datasheets),
	  ON_LOOPBACK(atomics_say_their_sizes_and_order),
	  ON_LOOPBACK(memory_on_demand_is_for_connections),
	  ON_LOOPBACK(an_address_is_mapped_to_a_queue_pair),
	  ON_LOOPBACK(what_is_not_modelled_is_not_claimed),
	  ON_LOOPBACK(unknown_capabilities_are_a_bad_parameter),
	  ON_LOOPBACK(what_names_no_object_is_asked_as_such),
	  ON_LOOPBACK(each_vector_has_an_event_queue), ON_LOOPBACK(commands_complete_at_once),
	  ON_LOOPBACK(an_mkey_of_pieces_gathers_and_scatters),
	  ON_LOOPBACK(an_mkey_of_equal_pieces_counts_from_its_start),
	  ON_LOOPBACK(an_mkey_of_pages_is_a_umems), ON_LOOPBACK(an_mkey_tells_what_it_is),
	  ON_LOOPBACK(each_bad_request_has_its_status),
	  ON_LOOPBACK(room_for_translations_comes_back), ON_LOOPBACK(other_objects_are_refused))
