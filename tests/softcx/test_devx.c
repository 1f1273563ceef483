/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Commands of the firmware, by libmlx5's DevX calls: what is answered, what is refused, and with
 * which status.
 */
#include "loopback.h"

#include <errno.h>

#include <infiniband/mlx5dv.h>

#include "bsn_cmd.h"
#include "bsn_syndrome.h"
#include "bsn_umr.h"
#include "bsn_wqe.h"
#include "datasheet.h"

enum { MKEY_IN_BYTES = BSN_CREATE_MKEY_LIST_OFFSET + 4 * BSN_XLT_SIZE };

static uint8_t answer[BSN_CAP_OFFSET + BSN_CAP_BYTES];

static void put_head(uint8_t *in, uint32_t opcode, uint32_t op_mod)
{
	const struct bsn_cmd_in head = { .opcode = opcode, .op_mod = op_mod };

	bsn_cmd_in_encode(in, &head);
}

static uint32_t status_of(const void *out)
{
	struct bsn_cmd_out head;

	bsn_cmd_out_decode(&head, out);
	return head.status;
}

static int query_caps(struct loopback *l, enum bsn_cap group)
{
	uint8_t in[16] = { 0 };

	put_head(in, BSN_CMD_QUERY_HCA_CAP, (uint32_t)group << 1 | BSN_CAP_CURRENT);
	return mlx5dv_devx_general_cmd(l->ctx, in, sizeof(in), answer, sizeof(answer));
}

/* -- queries ----------------------------------------------------------------------------------- */

static void general_capabilities_are_the_datasheets(void **state)
{
	struct loopback *l = *state;
	struct bsn_cap_gen_0 zero;
	struct bsn_cap_gen_1 one;

	assert_int_equal(query_caps(l, BSN_CAP_GENERAL), 0);
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

	assert_int_equal(query_caps(*state, BSN_CAP_ATOMIC), 0);
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

	assert_int_equal(query_caps(*state, BSN_CAP_ODP), 0);
	bsn_cap_odp_decode(&cap, answer + BSN_CAP_OFFSET);
	assert_int_equal(cap.rc, all);
	assert_int_equal(cap.dc, all);
	assert_int_equal(cap.ud, BSN_ODP_SEND);
	assert_int_equal(cap.uc | cap.xrc, 0);
}

/* -- mappings ---------------------------------------------------------------------------------- */

static int map(struct loopback *l, uint32_t kind, const struct bsn_cmd_mapping *mapping,
	       uint32_t sgid_index)
{
	const struct bsn_av_ud_grh to = { .sgid_index = sgid_index };
	uint8_t in[BSN_CREATE_MAPPING_IN_SIZE] = { 0 }, out[BSN_CREATED_OUT_SIZE] = { 0 };
	struct mlx5dv_devx_obj *obj;

	put_head(in, BSN_CMD_CREATE_GENERAL_OBJECT, kind);
	bsn_cmd_mapping_encode(in + BSN_CREATE_OBJECT_OFFSET, mapping);
	bsn_av_ud_grh_encode(in + BSN_CREATE_OBJECT_OFFSET + BSN_CMD_MAPPING_SIZE, &to);
	obj = mlx5dv_devx_obj_create(l->ctx, in, sizeof(in), out, sizeof(out));
	if (obj)
		assert_int_equal(mlx5dv_devx_obj_destroy(obj), 0);
	return (int)status_of(out);
}

static void an_address_is_mapped_to_a_queue_pair(void **state)
{
	const struct bsn_cmd_mapping good = { .qpn = 77 }, none = { .qpn = 0 },
				     far = { .qpn = BSN_QPN_MAX + 1 };

	assert_int_equal(map(*state, BSN_OBJECT_AV_QP_MAPPING, &good, 0), BSN_COMMAND_OK);
	assert_int_equal(map(*state, BSN_OBJECT_AV_QP_MAPPING, &none, 0),
			 BSN_COMMAND_BAD_PARAMETER);
	assert_int_equal(map(*state, BSN_OBJECT_AV_QP_MAPPING, &far, 0), BSN_COMMAND_BAD_PARAMETER);
	assert_int_equal(map(*state, BSN_OBJECT_AV_QP_MAPPING, &good, 1),
			 BSN_COMMAND_BAD_PARAMETER);
	assert_int_equal(map(*state, 0x3b, &good, 0), BSN_COMMAND_BAD_PARAMETER);
}

static void what_is_not_modelled_is_not_claimed(void **state)
{
	static const enum bsn_cap empty[] = { BSN_CAP_ROCE,       BSN_CAP_QOS,
					      BSN_CAP_FLOW_TABLE, BSN_CAP_CRYPTO,
					      BSN_CAP_GENERAL_2,  BSN_CAP_DEVICE_MEMORY };

	for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++) {
		assert_int_equal(query_caps(*state, empty[i]), 0);
		for (size_t at = 0; at < sizeof(answer); at++)
			assert_int_equal(answer[at], 0);
	}
}

static void unknown_capabilities_are_a_bad_parameter(void **state)
{
	assert_int_equal(query_caps(*state, (enum bsn_cap)0x40), EREMOTEIO);
	assert_int_equal(status_of(answer), BSN_COMMAND_BAD_PARAMETER);
}

static void what_names_no_object_is_asked_as_such(void **state)
{
	struct loopback *l = *state;
	uint8_t in[16] = { 0 }, out[16];

	put_head(in, BSN_CMD_QUERY_LAG, 0);
	assert_int_equal(mlx5dv_devx_general_cmd(l->ctx, in, sizeof(in), out, sizeof(out)), 0);
	put_head(in, BSN_CMD_CREATE_MKEY, 0);
	assert_int_equal(mlx5dv_devx_general_cmd(l->ctx, in, sizeof(in), out, sizeof(out)), EINVAL);
	put_head(in, BSN_CMD_QUERY_ADAPTER, 0);
	assert_int_equal(mlx5dv_devx_general_cmd(l->ctx, in, sizeof(in), out, sizeof(out)),
			 EREMOTEIO);
	assert_int_equal(status_of(out), BSN_COMMAND_BAD_OPERATION);
	put_head(in, BSN_CMD_QUERY_LAG, 0);
	assert_int_equal(mlx5dv_devx_general_cmd(l->ctx, in, 8, out, sizeof(out)), EINVAL);
}

static void each_vector_has_an_event_queue(void **state)
{
	struct loopback *l = *state;
	uint32_t eqn[2];

	assert_int_equal(mlx5dv_devx_query_eqn(l->ctx, 0, &eqn[0]), 0);
	assert_int_equal(mlx5dv_devx_query_eqn(l->ctx, CX_COMP_VECTORS - 1, &eqn[1]), 0);
	assert_int_equal(eqn[1] - eqn[0], CX_COMP_VECTORS - 1);
	assert_int_not_equal(mlx5dv_devx_query_eqn(l->ctx, CX_COMP_VECTORS, &eqn[0]), 0);
}

static void commands_complete_at_once(void **state)
{
	struct loopback *l = *state;

	errno = 0;
	assert_null(mlx5dv_devx_create_cmd_comp(l->ctx));
	assert_int_equal(errno, EOPNOTSUPP);
}

/* -- mkeys ------------------------------------------------------------------------------------- */

struct mkey_request {
	struct bsn_mkey_ctx ctx;
	struct bsn_create_mkey_flags flags;
	struct bsn_create_mkey_xlt xlt;
	struct bsn_klm klms[4];
};

static uint32_t pdn_of(struct ibv_pd *pd)
{
	struct mlx5dv_pd out = { 0 };
	struct mlx5dv_obj obj = { .pd = { .in = pd, .out = &out } };

	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD), 0);
	return out.pdn;
}

static struct mkey_request klm_request(const struct loopback *l)
{
	return (struct mkey_request){
		.ctx = { .access_mode_1_0 = BSN_MKEY_MODE_KLM,
			 .lr = 1,
			 .lw = 1,
			 .rr = 1,
			 .rw = 1,
			 .qpn = BSN_MKEY_QPN_ANY,
			 .pd = pdn_of(l->pd),
			 .len = 128,
			 .translations_octword_size = 4 },
		.xlt = { .octwords = 2 },
		.klms = { { 64, l->mr->lkey, (uintptr_t)l->memory + 512 },
			  { 64, l->mr->lkey, (uintptr_t)l->memory } },
	};
}

static struct mlx5dv_devx_obj *create_mkey(struct loopback *l, const struct mkey_request *r,
					   uint32_t *key, uint32_t *status)
{
	uint8_t in[MKEY_IN_BYTES] = { 0 }, out[BSN_CREATED_OUT_SIZE] = { 0 };
	struct mlx5dv_devx_obj *obj;
	struct bsn_cmd_object made;

	bsn_create_mkey_flags_encode(in + BSN_CREATE_MKEY_FLAGS_OFFSET, &r->flags);
	put_head(in, BSN_CMD_CREATE_MKEY, 0);
	bsn_mkey_ctx_encode(in + BSN_CREATE_MKEY_CTX_OFFSET, &r->ctx);
	bsn_create_mkey_xlt_encode(in + BSN_CREATE_MKEY_XLT_OFFSET, &r->xlt);
	for (unsigned i = 0; i < 4; i++)
		bsn_klm_encode(in + BSN_CREATE_MKEY_LIST_OFFSET + (size_t)i * BSN_KLM_SIZE,
			       &r->klms[i]);
	obj = mlx5dv_devx_obj_create(l->ctx, in, sizeof(in), out, sizeof(out));
	bsn_cmd_object_decode(&made, out + BSN_CMD_OBJECT_OFFSET);
	*key = made.number << 8 | r->ctx.mkey_7_0;
	*status = status_of(out);
	return obj;
}

static struct mlx5dv_devx_obj *make_mkey(struct loopback *l, const struct mkey_request *r,
					 uint32_t *key)
{
	uint32_t status;
	struct mlx5dv_devx_obj *obj = create_mkey(l, r, key, &status);

	assert_non_null(obj);
	assert_int_equal(status, BSN_COMMAND_OK);
	return obj;
}

static void expect_refusal(struct loopback *l, const struct mkey_request *r, uint32_t wanted)
{
	uint32_t key, status;

	errno = 0;
	assert_null(create_mkey(l, r, &key, &status));
	assert_int_equal(errno, EREMOTEIO);
	assert_int_equal(status, wanted);
}

static enum ibv_wc_status write_by(struct loopback *l, uint64_t from, uint32_t lkey, uint64_t to,
				   uint32_t rkey, uint32_t length)
{
	struct ibv_sge sge = { from, length, lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { to, rkey },
	};
	struct ibv_wc wc;

	assert_int_equal(ibv_post_send(l->qp, &wr, &bad), 0);
	softcx_step(0);
	assert_int_equal(ibv_poll_cq(l->cq, 1, &wc), 1);
	return wc.status;
}

static void an_mkey_of_pieces_gathers_and_scatters(void **state)
{
	struct loopback *l = *state;
	struct mkey_request r = klm_request(l);
	struct mlx5dv_devx_obj *obj;
	uint32_t key;

	r.ctx.mkey_7_0 = 0x5a;
	obj = make_mkey(l, &r, &key);
	for (unsigned i = 0; i < 1024; i++)
		l->memory[i] = (char)(i * 7 + i / 64);
	assert_int_equal(write_by(l, 0, key, (uintptr_t)l->memory + 2048, l->mr->rkey, 128),
			 IBV_WC_SUCCESS);
	assert_memory_equal(l->memory + 2048, l->memory + 512, 64);
	assert_memory_equal(l->memory + 2112, l->memory, 64);
	memset(l->memory, 0, 1024);
	assert_int_equal(write_by(l, (uintptr_t)l->memory + 2058, l->mr->lkey, 10, key, 100),
			 IBV_WC_SUCCESS);
	assert_memory_equal(l->memory + 522, l->memory + 2058, 54);
	assert_memory_equal(l->memory, l->memory + 2112, 46);
	assert_int_equal(l->memory[46], 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(obj), 0);
}

static void an_mkey_of_equal_pieces_counts_from_its_start(void **state)
{
	struct loopback *l = *state;
	struct mkey_request r = klm_request(l);
	struct mlx5dv_devx_obj *obj;
	uint32_t key;

	r.ctx.access_mode_1_0 = BSN_MKEY_MODE_KSM;
	r.ctx.log_page_size = 8;
	r.ctx.start_addr = 0x10040;
	r.ctx.len = 512;
	obj = make_mkey(l, &r, &key);
	for (unsigned i = 0; i < 1024; i++)
		l->memory[i] = (char)(i * 3);
	assert_int_equal(write_by(l, 0x10040, key, (uintptr_t)l->memory + 2048, l->mr->rkey, 512),
			 IBV_WC_SUCCESS);
	assert_memory_equal(l->memory + 2048, l->memory + 512, 256);
	assert_memory_equal(l->memory + 2048 + 256, l->memory, 256);
	assert_int_equal(mlx5dv_devx_obj_destroy(obj), 0);
}

static void an_mkey_of_pages_is_a_umems(void **state)
{
	struct loopback *l = *state;
	struct mkey_request r = klm_request(l);
	struct mlx5dv_devx_umem *umem;
	struct mlx5dv_devx_obj *obj;
	uint32_t key, status;

	umem = mlx5dv_devx_umem_reg(l->ctx, l->memory + 64, 1024, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(umem);
	r.ctx.access_mode_1_0 = BSN_MKEY_MODE_MTT;
	r.ctx.log_page_size = 12;
	r.ctx.start_addr = 0x7000000 + 64;
	r.ctx.len = 1024;
	r.xlt.octwords = 1;
	expect_refusal(l, &r, BSN_COMMAND_BAD_PARAMETER);
	r.flags.mkey_umem_valid = 1;
	r.xlt.mkey_umem_id = umem->umem_id;
	obj = make_mkey(l, &r, &key);
	memcpy(l->memory + 64, "umem", 4);
	assert_int_equal(
		write_by(l, 0x7000000 + 64, key, (uintptr_t)l->memory + 2048, l->mr->rkey, 4),
		IBV_WC_SUCCESS);
	assert_memory_equal(l->memory + 2048, "umem", 4);
	assert_int_equal(mlx5dv_devx_umem_dereg(umem), EBUSY);
	assert_int_equal(mlx5dv_devx_obj_destroy(obj), 0);
	r.ctx.len = 8192;
	expect_refusal(l, &r, BSN_COMMAND_BAD_PARAMETER);
	assert_int_equal(mlx5dv_devx_umem_dereg(umem), 0);
	assert_null(create_mkey(l, &r, &key, &status));
}

static void an_mkey_tells_what_it_is(void **state)
{
	struct loopback *l = *state;
	struct mkey_request r = klm_request(l);
	uint8_t in[16] = { 0 }, out[BSN_QUERY_MKEY_OUT_CTX_OFFSET + BSN_MKEY_CTX_SIZE];
	struct mlx5dv_devx_obj *obj;
	uint8_t found[BSN_MKEY_CTX_SIZE], wanted[BSN_MKEY_CTX_SIZE];
	struct bsn_cmd_object asked = { 0 };
	struct bsn_mkey_ctx ctx;
	uint32_t key;

	r.ctx.mkey_7_0 = 0x77;
	r.ctx.free = 1;
	obj = make_mkey(l, &r, &key);
	asked.number = key >> 8;
	put_head(in, BSN_CMD_QUERY_MKEY, 0);
	bsn_cmd_object_encode(in + BSN_CMD_OBJECT_OFFSET, &asked);
	assert_int_equal(mlx5dv_devx_obj_query(obj, in, sizeof(in), out, sizeof(out)), 0);
	bsn_mkey_ctx_decode(&ctx, out + BSN_QUERY_MKEY_OUT_CTX_OFFSET);
	bsn_mkey_ctx_encode(found, &ctx);
	bsn_mkey_ctx_encode(wanted, &r.ctx);
	assert_memory_equal(found, wanted, sizeof(found));
	asked.number++;
	bsn_cmd_object_encode(in + BSN_CMD_OBJECT_OFFSET, &asked);
	assert_int_equal(mlx5dv_devx_obj_query(obj, in, sizeof(in), out, sizeof(out)), EINVAL);
	assert_int_equal(mlx5dv_devx_obj_destroy(obj), 0);
}

static void each_bad_request_has_its_status(void **state)
{
	struct loopback *l = *state;
	struct mkey_request r = klm_request(l);

	r.ctx.bsf_en = 1;
	expect_refusal(l, &r, BSN_COMMAND_BAD_PARAMETER);
	r = klm_request(l);
	r.ctx.crypto_en = 1;
	expect_refusal(l, &r, BSN_COMMAND_BAD_PARAMETER);
	r = klm_request(l);
	r.ctx.pd ^= 1;
	expect_refusal(l, &r, BSN_COMMAND_BAD_RESOURCE);
	r = klm_request(l);
	r.ctx.access_mode_1_0 = BSN_MKEY_MODE_PA;
	expect_refusal(l, &r, BSN_COMMAND_BAD_PARAMETER);
	r = klm_request(l);
	r.klms[1].byte_count = (uint32_t)BSN_KLM_MAX_BYTES + 1;
	expect_refusal(l, &r, BSN_COMMAND_BAD_PARAMETER);
	r = klm_request(l);
	r.xlt.octwords = 5;
	expect_refusal(l, &r, BSN_COMMAND_BAD_PARAMETER);
	r.ctx.translations_octword_size = 8; /* but the mailbox has four */
	expect_refusal(l, &r, BSN_COMMAND_BAD_PARAMETER);
	r = klm_request(l);
	r.ctx.translations_octword_size = (1u << CX_MAX_XLT_LOG2) + 4;
	expect_refusal(l, &r, BSN_COMMAND_BAD_PARAMETER);
}

/* After each key is destroyed, all room for translations is free again. */
static void room_for_translations_comes_back(void **state)
{
	enum { MOST = CX_MAX_XLTS >> CX_MAX_XLT_LOG2 };
	struct loopback *l = *state;
	struct mkey_request r = klm_request(l);
	struct mlx5dv_devx_obj *objs[MOST];
	uint32_t key;

	r.ctx.translations_octword_size = 1u << CX_MAX_XLT_LOG2;
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < MOST; i++)
			objs[i] = make_mkey(l, &r, &key);
		expect_refusal(l, &r, BSN_COMMAND_NO_RESOURCES);
		for (unsigned i = 0; i < MOST; i++)
			assert_int_equal(mlx5dv_devx_obj_destroy(objs[i]), 0);
	}
}

/* The firmware refuses what is not modelled; the kernel refuses commands that create nothing. */
static void other_objects_are_refused(void **state)
{
	struct loopback *l = *state;
	uint8_t in[16] = { 0 }, out[16] = { 0 };

	put_head(in, BSN_CMD_CREATE_XRQ, 0);
	errno = 0;
	assert_null(mlx5dv_devx_obj_create(l->ctx, in, sizeof(in), out, sizeof(out)));
	assert_int_equal(errno, EREMOTEIO);
	assert_int_equal(status_of(out), BSN_COMMAND_BAD_OPERATION);
	put_head(in, BSN_CMD_QUERY_LAG, 0);
	errno = 0;
	assert_null(mlx5dv_devx_obj_create(l->ctx, in, sizeof(in), out, sizeof(out)));
	assert_int_equal(errno, EINVAL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, loopback_set_up, loopback_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(general_capabilities_are_the_datasheets),
		TEST(atomics_say_their_sizes_and_order),
		TEST(memory_on_demand_is_for_connections),
		TEST(an_address_is_mapped_to_a_queue_pair),
		TEST(what_is_not_modelled_is_not_claimed),
		TEST(unknown_capabilities_are_a_bad_parameter),
		TEST(what_names_no_object_is_asked_as_such),
		TEST(each_vector_has_an_event_queue),
		TEST(commands_complete_at_once),
		TEST(an_mkey_of_pieces_gathers_and_scatters),
		TEST(an_mkey_of_equal_pieces_counts_from_its_start),
		TEST(an_mkey_of_pages_is_a_umems),
		TEST(an_mkey_tells_what_it_is),
		TEST(each_bad_request_has_its_status),
		TEST(room_for_translations_comes_back),
		TEST(other_objects_are_refused),
	};

	return cmocka_run_group_tests_name("softcx DevX", tests, NULL, NULL);
}
