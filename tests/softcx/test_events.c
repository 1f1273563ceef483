/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues and event files. A completion reaches a program that waits for it. Destruction
 * neither loses nor invents events, so libibverbs never waits for an acknowledgement that cannot
 * come.
 */
#include "loopback.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>

static bool has_event(int fd)
{
	return poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 0) == 1;
}

static void complete_one(void)
{
	assert_int_equal(ibv_req_notify_cq(lo.cq, 0), 0);
	loopback_post_write();
	assert_int_equal(softcx_step(0), 1);
}

static void reap_one(void)
{
	assert_int_equal(loopback_poll().status, IBV_WC_SUCCESS);
}

static void a_completion_wakes_who_waits_for_it(void **state)
{
	struct ibv_cq *cq;
	void *context;

	assert_false(has_event(lo.channel->fd));
	complete_one();
	assert_true(has_event(lo.channel->fd));
	assert_int_equal(ibv_get_cq_event(lo.channel, &cq, &context), 0);
	assert_ptr_equal(cq, lo.cq);
	assert_false(has_event(lo.channel->fd));
	reap_one();
	ibv_ack_cq_events(cq, 1);
}

/* The device runs on the thread that rings, so the completion is there when the post returns. */
static void a_doorbell_is_all_it_takes(void **state)
{
	memset(lo.memory, 0x5a, 64);
	assert_int_equal(ibv_req_notify_cq(lo.cq, 0), 0);
	loopback_post_write();
	assert_ptr_equal(loopback_wait_for_event(), lo.cq);
	reap_one();
	assert_memory_equal(lo.memory, lo.memory + 2048, 64);
}

static void an_unarmed_queue_is_silent(void **state)
{
	loopback_post_write();
	assert_int_equal(softcx_step(0), 1);
	assert_false(has_event(lo.channel->fd));
	reap_one();
}

static void a_reader_that_may_not_wait_is_told_so(void **state)
{
	char four[4];

	assert_int_equal(fcntl(lo.channel->fd, F_SETFL, O_NONBLOCK), 0);
	not_made(loopback_wait_for_event(), EAGAIN);
	fails(read(lo.channel->fd, four, sizeof(four)), EINVAL);
}

static void *wait_for_event(void *unused)
{
	return loopback_wait_for_event();
}

static void a_thread_that_waits_is_woken(void **state)
{
	pthread_t thread;
	void *cq;

	assert_int_equal(pthread_create(&thread, NULL, wait_for_event, NULL), 0);
	complete_one();
	assert_int_equal(pthread_join(thread, &cq), 0);
	assert_ptr_equal(cq, lo.cq);
	reap_one();
}

static void unread_events_go_with_their_queue(void **state)
{
	complete_one();
	assert_true(has_event(lo.channel->fd));
	assert_int_equal(ibv_destroy_qp(lo.qp), 0);
	assert_int_equal(ibv_destroy_cq(lo.cq), 0);
	assert_false(has_event(lo.channel->fd));
	lo.qp = NULL;
	lo.cq = NULL;
}

/* One channel, two queues: what is about the other one stays readable. */
static void others_keep_their_unread_events(void **state)
{
	struct ibv_cq *other = made(ibv_create_cq(lo.ctx, 16, NULL, lo.channel, 0));

	complete_one();
	assert_int_equal(ibv_destroy_cq(other), 0);
	assert_true(has_event(lo.channel->fd));
	assert_ptr_equal(loopback_wait_for_event(), lo.cq);
	reap_one();
}

static void a_ring_is_not_made_smaller_than_what_it_holds(void **state)
{
	for (int i = 0; i < 6; i++)
		loopback_post_write();
	assert_int_equal(softcx_step(0), 6);
	assert_int_equal(ibv_resize_cq(lo.cq, 3), EINVAL);
	assert_int_equal(ibv_resize_cq(lo.cq, 7), 0);
	assert_int_equal(lo.cq->cqe, 7);
	for (int i = 0; i < 6; i++)
		reap_one();
	loopback_post_write();
	assert_int_equal(softcx_step(0), 1);
	reap_one();
	assert_int_equal(ibv_resize_cq(lo.cq, 100), 0);
	loopback_post_write();
	assert_int_equal(softcx_step(0), 1);
	reap_one();
}

/* The SRQ's limit is the one asynchronous event that a program asks for. */
static void an_asynchronous_event_names_its_object(void **state)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_srq *srq = made(ibv_create_srq(lo.pd, &init));
	struct ibv_srq_attr limit = { .srq_limit = 2 };
	struct ibv_sge sge = { (uintptr_t)lo.memory + 1024, 64, lo.mr->lkey };
	struct ibv_recv_wr *bad_recv, recv = { .sg_list = &sge, .num_sge = 1 };
	struct ibv_send_wr *bad_send, send = { .opcode = IBV_WR_SEND };
	struct ibv_async_event event;
	struct ibv_wc wc;
	struct ibv_qp *qp = made(loopback_create_qp(lo.pd, lo.cq, srq, IBV_QPT_RC));

	loopback_connect(qp);
	assert_int_equal(ibv_post_srq_recv(srq, &recv, &bad_recv), 0);
	assert_int_equal(ibv_post_srq_recv(srq, &recv, &bad_recv), 0);
	assert_int_equal(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT), 0);
	assert_false(has_event(lo.ctx->async_fd));
	assert_int_equal(ibv_post_send(qp, &send, &bad_send), 0);
	assert_int_equal(softcx_step(0), 1);
	assert_int_equal(ibv_poll_cq(lo.cq, 1, &wc), 1);
	assert_int_equal(ibv_get_async_event(lo.ctx, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
	assert_ptr_equal(event.element.srq, srq);
	ibv_ack_async_event(&event);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

static void a_child_leaves_its_parents_objects_alone(void **state)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		_exit(ibv_destroy_qp(lo.qp) == EIO && !ibv_close_device(lo.ctx) ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	complete_one();
	reap_one();
}

UNIT_MAIN(NULL, ON_LOOPBACK(a_completion_wakes_who_waits_for_it),
	  ON_ACTIVE(a_doorbell_is_all_it_takes), ON_LOOPBACK(an_unarmed_queue_is_silent),
	  ON_LOOPBACK(a_reader_that_may_not_wait_is_told_so),
	  ON_LOOPBACK(a_thread_that_waits_is_woken), ON_LOOPBACK(unread_events_go_with_their_queue),
	  ON_LOOPBACK(others_keep_their_unread_events),
	  ON_LOOPBACK(a_ring_is_not_made_smaller_than_what_it_holds),
	  ON_LOOPBACK(an_asynchronous_event_names_its_object),
	  ON_LOOPBACK(a_child_leaves_its_parents_objects_alone))
