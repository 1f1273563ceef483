/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queues of the device that the shim makes. What the kernel would refuse is refused with the
 * kernel's errno.
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "loopback.h"

#include "nic/tables.h"

/* -- queues ------------------------------------------------------------------------------------ */

static void completion_queues_come_and_go(void **state)
{
	struct ibv_comp_channel *channel = made(ibv_create_comp_channel(lo.ctx));
	struct ibv_modify_cq_attr moderate = { .attr_mask = IBV_CQ_ATTR_MODERATE,
					       .moderate = { 16, 10 } };
	struct ibv_cq *cq = made(ibv_create_cq(lo.ctx, 100, NULL, channel, 0));

	assert_int_equal(cq->cqe, 127);
	assert_int_equal(ibv_modify_cq(cq, &moderate), 0);
	assert_int_equal(ibv_destroy_comp_channel(channel), EBUSY);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(channel), 0);
	not_made(ibv_create_cq(lo.ctx, 100, NULL, NULL, 4), EINVAL);
	not_made(ibv_create_cq(lo.ctx, 1 << 22, NULL, NULL, 0), EINVAL);
}

static void shared_receive_queues_come_and_go(void **state)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 100, .max_sge = 2 } };
	struct ibv_srq_attr attr = { .srq_limit = 10 };
	struct ibv_srq *srq = made(ibv_create_srq(lo.pd, &init));
	struct ibv_recv_wr *bad, wr = { 0 };

	assert_true(init.attr.max_wr >= 100);
	/* With fewer receives than the limit the event would come at once, and disarm it. */
	for (int i = 0; i < 20; i++)
		assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	assert_int_equal(ibv_query_srq(srq, &attr), 0);
	assert_int_equal(attr.srq_limit, 10);
	attr.srq_limit = 10000;
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), EINVAL);
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EINVAL);
	assert_int_equal(ibv_dealloc_pd(lo.pd), EBUSY);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	init.attr.max_sge = 32;
	assert_null(ibv_create_srq(lo.pd, &init));
}

static void reset(void)
{
	assert_int_equal(loopback_modify(lo.qp, IBV_QPS_RESET, IBV_QP_STATE), 0);
}

static void a_queue_pair_is_led_through_its_states(void **state)
{
	static const struct {
		enum ibv_qp_state to;
		int mask, error;
	} steps[] = {
		{ IBV_QPS_RTR, LOOPBACK_RTR_MASK, EINVAL },
		{ IBV_QPS_INIT, LOOPBACK_INIT_MASK & ~IBV_QP_PORT, EINVAL },
		{ IBV_QPS_INIT, LOOPBACK_INIT_MASK | IBV_QP_QKEY, EINVAL },
		{ IBV_QPS_INIT, LOOPBACK_INIT_MASK, 0 },
		{ IBV_QPS_RTR, LOOPBACK_RTR_MASK & ~IBV_QP_AV, EINVAL },
		{ IBV_QPS_RTR, LOOPBACK_RTR_MASK, 0 },
		{ IBV_QPS_RTS, LOOPBACK_RTS_MASK, 0 },
		{ IBV_QPS_SQD, IBV_QP_STATE, EINVAL },
		{ IBV_QPS_ERR, IBV_QP_STATE, 0 },
		{ IBV_QPS_RTS, IBV_QP_STATE, EINVAL },
		{ IBV_QPS_RESET, IBV_QP_STATE, 0 },
	};
	enum ibv_qp_state now = IBV_QPS_RESET;

	reset();
	for (size_t i = 0; i < COUNT_OF(steps); i++) {
		const int error = loopback_modify(lo.qp, steps[i].to, steps[i].mask);
		if (error != steps[i].error)
			fail_msg("step %zu: error %d, not %d", i, error, steps[i].error);
		now = steps[i].error ? now : steps[i].to;
		assert_int_equal(loopback_state(lo.qp), now);
		assert_int_equal(ibv_destroy_cq(lo.cq), EBUSY);
	}
}

#define BAD_ATTR(base, mask, change)                                                               \
	do {                                                                                       \
		struct ibv_qp_attr attr = base;                                                    \
		change;                                                                            \
		assert_int_equal(ibv_modify_qp(lo.qp, &attr, mask), EINVAL);                       \
	} while (0)

static void attributes_out_of_range_are_refused(void **state)
{
	const struct ibv_qp_attr rtr = { .qp_state = IBV_QPS_RTR,
					 .path_mtu = IBV_MTU_1024,
					 .ah_attr = { .port_num = 1 },
					 .max_dest_rd_atomic = 16 };
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	reset();
	BAD_ATTR(init, LOOPBACK_INIT_MASK, attr.port_num = 2);
	BAD_ATTR(init, LOOPBACK_INIT_MASK, attr.pkey_index = 128);
	assert_int_equal(ibv_modify_qp(lo.qp, &init, LOOPBACK_INIT_MASK), 0);
	BAD_ATTR(rtr, LOOPBACK_RTR_MASK, attr.max_dest_rd_atomic = 17);
	BAD_ATTR(rtr, LOOPBACK_RTR_MASK,
		 (attr.ah_attr.is_global = 1, attr.ah_attr.grh.sgid_index = 8));
	BAD_ATTR(rtr, LOOPBACK_RTR_MASK, attr.path_mtu = 6);
}

/*
 * Attributes are cut to the width of the device's fields. Otherwise a timeout of 77 would shift too
 * far.
 */
static void attributes_too_wide_are_cut(void **state)
{
	struct ibv_qp *qp = lo.qp;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .path_mtu = IBV_MTU_1024,
				    .ah_attr = { .dlid = 1, .port_num = 1 },
				    .rq_psn = 0x5123456,
				    .dest_qp_num = 0x3000000 | qp->qp_num,
				    .min_rnr_timer = 33 };
	struct ibv_qp_init_attr init;

	reset();
	assert_int_equal(loopback_modify(qp, IBV_QPS_INIT, LOOPBACK_INIT_MASK), 0);
	assert_int_equal(ibv_modify_qp(qp, &attr, LOOPBACK_RTR_MASK), 0);
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .sq_psn = 0x7654321,
				     .timeout = 77,
				     .retry_cnt = 9,
				     .rnr_retry = 10 };
	assert_int_equal(ibv_modify_qp(qp, &attr, LOOPBACK_RTS_MASK), 0);
	assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.rq_psn, 0x123456);
	assert_int_equal(attr.sq_psn, 0x654321);
	assert_int_equal(attr.dest_qp_num, qp->qp_num);
	assert_int_equal(attr.min_rnr_timer, 1);
	assert_int_equal(attr.timeout, 13);
	assert_int_equal(attr.retry_cnt, 1);
	assert_int_equal(attr.rnr_retry, 2);
}

/*
 * Which queue pairs get data inside CQEs depends on the type, and on whether every request is
 * signaled.
 */
static void data_in_cqes_follows_the_kernels_rule(void **state)
{
	static const struct {
		enum ibv_qp_type type;
		bool signal_all, responder, requester;
	} cases[] = {
		{ IBV_QPT_RC, 0, true, false },  { IBV_QPT_RC, 1, true, true },
		{ IBV_QPT_UC, 0, true, false },  { IBV_QPT_UC, 1, true, false },
		{ IBV_QPT_UD, 0, false, false }, { IBV_QPT_UD, 1, false, false },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct ibv_qp *qp = made(loopback_create_signaling_qp(
			lo.pd, lo.cq, NULL, cases[i].type, cases[i].signal_all));
		const struct cx_qp *model = made(cx_qp_find(softcx_hca(), qp->qp_num));

		assert_int_equal(model->attr.scatter_to_cqe, cases[i].responder);
		assert_int_equal(model->attr.scatter_to_cqe_requester, cases[i].requester);
		assert_int_equal(ibv_destroy_qp(qp), 0);
	}
}

static void what_is_not_modelled_is_refused(void **state)
{
	not_made(loopback_create_qp(lo.pd, lo.cq, NULL, IBV_QPT_RAW_PACKET), EOPNOTSUPP);
}

/*
 * The context is closed without the library's knowledge. So the library's memory stays allocated,
 * and the test keeps pointers to it.
 */
static void a_closed_context_takes_its_objects_along(void **state)
{
	static struct loopback left;
	struct ibv_qp_attr attr;

	left.ctx = loopback_open_device();
	left.pd = ibv_alloc_pd(left.ctx);
	left.cq = ibv_create_cq(left.ctx, 16, NULL, NULL, 0);
	left.qp = made(loopback_create_qp(left.pd, left.cq, NULL, IBV_QPT_UD));
	assert_int_equal(cx_qp_query(softcx_hca(), left.qp->qp_num, &attr), 0);
	assert_int_equal(close(left.ctx->cmd_fd), 0);
	assert_int_equal(close(left.ctx->async_fd), 0);
	assert_int_not_equal(cx_qp_query(softcx_hca(), left.qp->qp_num, &attr), 0);
}

/*
 * The objects of the other instance are named by their handles, and stay when they are unimported.
 */
static void a_context_can_be_shared(void **state)
{
	static char memory[4096];
	struct ibv_mr *mr = ibv_reg_mr(lo.pd, memory, sizeof(memory), 0), *mr2;
	struct ibv_context *ctx = ibv_import_device(dup(lo.ctx->cmd_fd));
	struct ibv_pd *pd;

	assert_non_null(mr);
	assert_non_null(ctx);
	pd = made(ibv_import_pd(ctx, lo.pd->handle));
	assert_null(ibv_import_pd(ctx, 99));
	mr2 = made(ibv_import_mr(pd, mr->handle));
	assert_int_equal(mr2->lkey, mr->lkey);
	assert_int_equal(mr2->length, sizeof(memory));
	ibv_unimport_mr(mr2);
	ibv_unimport_pd(pd);
	assert_int_equal(ibv_close_device(ctx), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

/* -- the ioctl itself -------------------------------------------------------------------------- */

union request {
	struct ib_uverbs_ioctl_hdr hdr;
	uint8_t bytes[sizeof(struct ib_uverbs_ioctl_hdr) + 2 * sizeof(struct ib_uverbs_attr)];
};

static void set_attr_count(union request *request, uint16_t count)
{
	request->hdr.num_attrs = count;
	request->hdr.length = (uint16_t)(sizeof(struct ib_uverbs_ioctl_hdr) +
					 count * sizeof(struct ib_uverbs_attr));
}

static void fill_destroy(union request *request, uint16_t object, uint16_t method, uint64_t handle)
{
	memset(request, 0, sizeof(*request));
	request->hdr.object_id = object;
	request->hdr.method_id = method;
	request->hdr.driver_id = RDMA_DRIVER_MLX5;
	set_attr_count(request, 1);
	request->hdr.attrs[0].flags = UVERBS_ATTR_F_MANDATORY;
	request->hdr.attrs[0].data = handle;
}

static int send_request(int fd, const union request *request)
{
	return ioctl(fd, RDMA_VERBS_IOCTL, request) ? errno : 0;
}

#define MALFORMED(error, change)                                                                   \
	do {                                                                                       \
		union request r = good;                                                            \
		change;                                                                            \
		assert_int_equal(send_request(lo.ctx->cmd_fd, &r), error);                         \
	} while (0)

static void malformed_requests_are_refused(void **state)
{
	union request good;

	fill_destroy(&good, UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, 99);
	assert_int_equal(send_request(lo.ctx->cmd_fd, &good), ENOENT);
	MALFORMED(EINVAL, r.hdr.length--);
	MALFORMED(EINVAL, r.hdr.driver_id = RDMA_DRIVER_MLX4);
	MALFORMED(EPROTONOSUPPORT, r.hdr.object_id = 0x7ff);
	MALFORMED(EPROTONOSUPPORT, r.hdr.method_id = 77);
	MALFORMED(EINVAL, r.hdr.attrs[0].len = 4);
	MALFORMED(EINVAL, set_attr_count(&r, 0));
	set_attr_count(&good, 2);
	good.hdr.attrs[1] = good.hdr.attrs[0];
	MALFORMED(EINVAL, (void)r);
	good.hdr.attrs[1].attr_id = 50;
	MALFORMED(EPROTONOSUPPORT, (void)r);
	MALFORMED(ENOENT, r.hdr.attrs[1].flags = 0); /* one that is not mandatory is ignored */
	fails(ioctl(lo.ctx->cmd_fd, RDMA_VERBS_IOCTL, (void *)8), EFAULT);
	fails(ioctl(lo.ctx->cmd_fd, FIOCLEX + 1000, NULL), ENOTTY);
}

static void a_handle_names_one_kind_of_object(void **state)
{
	union request r;

	fill_destroy(&r, UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, lo.pd->handle);
	assert_int_equal(send_request(lo.ctx->cmd_fd, &r), ENOENT);
}

static void nothing_is_allowed_before_the_context(void **state)
{
	union request r;
	int fd = open("/dev/infiniband/uverbs0", O_RDWR | O_CLOEXEC);
	struct stat st;

	fill_destroy(&r, UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, 0);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	assert_int_equal(send_request(fd, &r), EINVAL);
	assert_int_equal(close(fd), 0);
}

UNIT_MAIN(NULL, ON_LOOPBACK(completion_queues_come_and_go),
	  ON_LOOPBACK(shared_receive_queues_come_and_go),
	  ON_LOOPBACK(a_queue_pair_is_led_through_its_states),
	  ON_LOOPBACK(attributes_out_of_range_are_refused),
	  ON_LOOPBACK(attributes_too_wide_are_cut),
	  ON_LOOPBACK(data_in_cqes_follows_the_kernels_rule),
	  ON_LOOPBACK(what_is_not_modelled_is_refused),
	  ON_LOOPBACK(a_closed_context_takes_its_objects_along),
	  ON_LOOPBACK(a_context_can_be_shared), ON_LOOPBACK(malformed_requests_are_refused),
	  ON_LOOPBACK(a_handle_names_one_kind_of_object),
	  ON_LOOPBACK(nothing_is_allowed_before_the_context))
