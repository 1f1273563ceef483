/* SPDX-License-Identifier: BSD-2-Clause */
/* The model alone: what arms a CQ, what disarms it, and which asynchronous events are given. */
#include <fcntl.h>
#include <sys/stat.h>

#include <rdma/ib_user_verbs.h>

#include "unit.h"
#include "nic/events.h"
#include "nic/process.h"
#include "nic/tables.h"
#include "rig.h"

enum { COMP, ASYNC };

static struct rig rig;
static char dir[32];
static struct {
	char path[2][64];
	int fd[2];
	uint32_t number[2];
} channels;

static void open_channel(unsigned kind)
{
	snprintf(channels.path[kind], sizeof(channels.path[kind]), "%s/%u", dir, kind);
	assert_int_equal(mkfifo(channels.path[kind], 0600), 0);
	channels.fd[kind] = open(channels.path[kind], O_RDWR | O_NONBLOCK);
	assert_true(channels.fd[kind] >= 0);
	assert_int_equal(cx_channel_create(rig.hca, channels.path[kind],
					   kind ? CX_EVENT_ASYNC : CX_EVENT_COMPLETION,
					   &channels.number[kind]),
			 0);
}

static void create_cq(struct rig_cq *cq, uint64_t cookie)
{
	const struct cx_cq_attr attr = { .buf = (uintptr_t)cq->buf,
					 .db = (uintptr_t)cq->db,
					 .entries = RIG_CQES,
					 .cqe_size = BSN_CQE_SIZE,
					 .comp_channel = channels.number[COMP],
					 .async_channel = channels.number[ASYNC],
					 .cookie = cookie };

	assert_int_equal(cx_cq_create(rig.hca, &attr, &cq->number), 0);
}

static int setup(void **state)
{
	struct cx_config config = rig_config();

	config.fault_plan = "opcode=NOP nth=1 port-down; opcode=NOP nth=1 port-up\n"
			    "opcode=NOP nth=1 remove-device";
	rig_open(&rig, &config);
	strcpy(dir, "/tmp/nic_events.XXXXXX");
	assert_non_null(mkdtemp(dir));
	open_channel(COMP);
	open_channel(ASYNC);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(cx_cq_destroy(rig.hca, rig.cq[i].number), 0);
		create_cq(&rig.cq[i], 0xc0 + i);
	}
	rig.attr.send_cqn = rig.cq[0].number;
	rig.attr.recv_cqn = rig.cq[1].number;
	rig.attr.async_channel = channels.number[ASYNC];
	for (unsigned i = 0; i < 2; i++) {
		rig.attr.cookie = 0xa0 + i;
		rig_qp_create(&rig, &rig.qp[i]);
	}
	for (unsigned i = 0; i < 2; i++)
		rig_qp_connect(&rig, &rig.qp[i], rig.qp[!i].number);
	return 0;
}

static int teardown(void **state)
{
	rig_teardown(&rig);
	for (unsigned i = 0; i < 2; i++) {
		close(channels.fd[i]);
		unlink(channels.path[i]);
	}
	rmdir(dir);
	return 0;
}

static void arm(struct rig_cq *cq, uint32_t sn, uint32_t cmd)
{
	ENCODE(dbr_cq_arm, (uint8_t *)cq->db + BSN_DBR_CQ_ARM_OFFSET, .sn = sn, .cmd = cmd,
	       .ci = cq->ci);
	cx_step(rig.hca, 0);
}

static void write_once(void)
{
	rig_post_write(&rig, &rig.qp[0], rig.buf + 64, rig.buf, 8, BSN_CE_ALWAYS);
	cx_step(rig.hca, 0);
}

static void expect_completion_event(uint64_t cookie)
{
	struct ib_uverbs_comp_event_desc event;

	assert_int_equal(read(channels.fd[COMP], &event, sizeof(event)), sizeof(event));
	assert_int_equal(event.cq_handle, cookie);
}

static void expect_no_completion_event(void)
{
	char byte;

	fails(read(channels.fd[COMP], &byte, 1), EAGAIN);
}

static void expect_async(uint64_t cookie, enum ibv_event_type type)
{
	struct ib_uverbs_async_event_desc event;

	assert_int_equal(read(channels.fd[ASYNC], &event, sizeof(event)), sizeof(event));
	assert_int_equal(event.element, cookie);
	assert_int_equal(event.event_type, type);
}

static void expect_no_async(void)
{
	char byte;

	assert_int_equal(read(channels.fd[ASYNC], &byte, 1), -1);
}

static void an_arm_gives_one_event(void **state)
{
	write_once();
	expect_no_completion_event();
	rig_next(&rig.cq[0]);
	arm(&rig.cq[0], 0, BSN_CQ_ARM_NEXT);
	expect_no_completion_event();
	write_once();
	expect_completion_event(0xc0);
	write_once();
	expect_no_completion_event();
}

/* A completion that came before the arm, and that the poller had not seen, must not be lost. */
static void an_arm_that_comes_late_gives_the_event_at_once(void **state)
{
	write_once();
	arm(&rig.cq[0], 0, BSN_CQ_ARM_NEXT);
	expect_completion_event(0xc0);
	arm(&rig.cq[0], 0, BSN_CQ_ARM_NEXT); /* its event was given already: no effect */
	write_once();
	expect_no_completion_event();
	arm(&rig.cq[0], 1, BSN_CQ_ARM_NEXT);
	expect_completion_event(0xc0);
}

static void solicited_arms_wait_for_solicited_completions(void **state)
{
	struct rig_wqe wqe;

	arm(&rig.cq[1], 0, BSN_CQ_ARM_SOLICITED);
	for (unsigned solicited = 0; solicited < 2; solicited++) {
		rig_post_recv(&rig, &rig.qp[1], rig.buf, 64);
		rig_begin(&wqe, BSN_OPCODE_SEND, BSN_CE_ALWAYS);
		wqe.ctrl.solicited = solicited;
		rig_data(&wqe, rig.buf, 8, rig.key);
		rig_post(&rig.qp[0], &wqe);
		cx_step(rig.hca, 0);
		if (!solicited)
			expect_no_completion_event();
	}
	expect_completion_event(0xc1);
}

static void errors_count_as_solicited(void **state)
{
	arm(&rig.cq[0], 0, BSN_CQ_ARM_SOLICITED);
	rig.key++;
	write_once();
	expect_completion_event(0xc0);
}

static void a_refused_request_is_an_event_of_its_responder(void **state)
{
	rig_post_one(&rig.qp[0], BSN_OPCODE_RDMA_WRITE, rig.buf, 0x7654321, rig.buf, 8, rig.key);
	cx_step(rig.hca, 0);
	expect_async(0xa1, IBV_EVENT_QP_ACCESS_ERR);
	expect_no_async();
}

static void an_overrun_is_an_event_of_the_cq(void **state)
{
	for (unsigned i = 0; i <= RIG_CQES; i++)
		write_once();
	expect_async(0xc0, IBV_EVENT_CQ_ERR);
	expect_async(0xa0, IBV_EVENT_QP_FATAL);
	expect_no_async();
}

static void draining_and_first_contact_are_told(void **state)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };

	rig_qp_modify(&rig, &rig.qp[0], attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY);
	expect_async(0xa0, IBV_EVENT_SQ_DRAINED);
	rig_qp_move(&rig, &rig.qp[0], IBV_QPS_RTS);

	/* A responder that is not yet ready to send learns that its peer is there. */
	rig_qp_destroy(&rig, &rig.qp[1]);
	rig_qp_create(&rig, &rig.qp[1]);
	attr = rig.mod;
	attr.qp_state = IBV_QPS_RTR;
	attr.dest_qp_num = rig.qp[0].number;
	rig_qp_modify(&rig, &rig.qp[1], attr,
		      IBV_QP_STATE | IBV_QP_AV | IBV_QP_DEST_QPN | IBV_QP_ACCESS_FLAGS);
	attr.dest_qp_num = rig.qp[1].number;
	rig_qp_modify(&rig, &rig.qp[0], attr, IBV_QP_DEST_QPN);
	write_once();
	write_once();
	expect_async(0xa1, IBV_EVENT_COMM_EST);
	expect_no_async();
}

static void a_shared_queue_has_a_low_water_mark(void **state)
{
	const struct cx_srq_attr attr = { .count = 4,
					  .async_channel = channels.number[ASYNC],
					  .cookie = 0x5 };
	static struct rig_srq srq;
	uint32_t limit;

	rig_srq_create(&rig, &srq, attr);
	for (unsigned i = 0; i < 3; i++)
		rig_srq_post(&rig, &srq, i, i + 1, rig.buf, 8);
	rig_qp_destroy(&rig, &rig.qp[1]);
	rig.attr.srqn = srq.number;
	rig_qp_create(&rig, &rig.qp[1]);
	rig_qp_connect(&rig, &rig.qp[1], rig.qp[0].number);
	rig.mod.dest_qp_num = rig.qp[1].number;
	rig_qp_modify(&rig, &rig.qp[0], rig.mod, IBV_QP_DEST_QPN);

	assert_int_equal(cx_srq_arm(rig.hca, srq.number, 2), 0);
	for (unsigned i = 0; i < 3; i++) {
		rig_post_send(&rig, &rig.qp[0], rig.buf, 8, BSN_CE_ALWAYS);
		cx_step(rig.hca, 0);
		if (i == 0)
			expect_no_async();
	}
	expect_async(0x5, IBV_EVENT_SRQ_LIMIT_REACHED);
	expect_no_async();
	assert_int_equal(cx_srq_query(rig.hca, srq.number, &limit), 0);
	assert_int_equal(limit, 0);

	rig_qp_move(&rig, &rig.qp[1], IBV_QPS_ERR);
	expect_async(0xa1, IBV_EVENT_QP_LAST_WQE_REACHED);
	expect_no_async();
}

/* Numbers of channels are used again, and then mean another FIFO. */
static void a_channels_number_may_be_used_again(void **state)
{
	const uint32_t wanted = channels.number[ASYNC];
	struct ib_uverbs_async_event_desc event;
	char other[80];
	uint32_t number;
	int fd;

	cx_lock(rig.hca);
	cx_event_async(rig.hca, wanted, 1, IBV_EVENT_PORT_ERR);
	cx_unlock(rig.hca);
	expect_async(1, IBV_EVENT_PORT_ERR);
	for (unsigned i = 0; i < 2; i++)
		rig_qp_destroy(&rig, &rig.qp[i]);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(cx_cq_destroy(rig.hca, rig.cq[i].number), 0);
	snprintf(other, sizeof(other), "%s/other", dir);
	assert_int_equal(mkfifo(other, 0600), 0);
	fd = open(other, O_RDWR | O_NONBLOCK);
	assert_true(fd >= 0);
	assert_int_equal(cx_channel_destroy(rig.hca, wanted), 0);
	for (;;) {
		assert_int_equal(cx_channel_create(rig.hca, other, CX_EVENT_ASYNC, &number), 0);
		if (number == wanted)
			break;
		assert_int_equal(cx_channel_destroy(rig.hca, number), 0);
	}
	cx_lock(rig.hca);
	cx_event_async(rig.hca, wanted, 2, IBV_EVENT_PORT_ERR);
	cx_unlock(rig.hca);
	expect_no_async();
	assert_true(read(fd, &event, sizeof(event)) == sizeof(event) && event.element == 2);
	close(fd);
	unlink(other);
}

static void ports_and_devices_fail_by_plan(void **state)
{
	struct rig_wqe wqe;

	for (unsigned i = 0; i < 3; i++) {
		rig_begin(&wqe, BSN_OPCODE_NOP, BSN_CE_ALWAYS);
		rig_post(&rig.qp[0], &wqe);
	}
	cx_step(rig.hca, 1);
	assert_false(cx_port_is_up(rig.hca));
	expect_async(1, IBV_EVENT_PORT_ERR);
	cx_step(rig.hca, 1);
	assert_true(cx_port_is_up(rig.hca));
	expect_async(1, IBV_EVENT_PORT_ACTIVE);
	rig_next(&rig.cq[0]);
	rig_next(&rig.cq[0]);
	cx_step(rig.hca, 1);
	expect_async(1, IBV_EVENT_DEVICE_FATAL);
	for (unsigned i = 0; i < 10; i++)
		write_once();
	assert_false(rig_poll(&rig.cq[0], NULL));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

UNIT_MAIN(NULL, TEST(an_arm_gives_one_event), TEST(an_arm_that_comes_late_gives_the_event_at_once),
	  TEST(solicited_arms_wait_for_solicited_completions), TEST(errors_count_as_solicited),
	  TEST(a_refused_request_is_an_event_of_its_responder),
	  TEST(an_overrun_is_an_event_of_the_cq), TEST(draining_and_first_contact_are_told),
	  TEST(a_shared_queue_has_a_low_water_mark), TEST(a_channels_number_may_be_used_again),
	  TEST(ports_and_devices_fail_by_plan))
