/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues and event files. A completion reaches a program that waits for it. Destruction
 * neither loses nor invents events, so libibverbs never waits for an acknowledgement that cannot
 * come.
 */
#include "loopback.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static bool has_event(int fd)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	return poll(&ready, 1, 0) == 1;
}

static void complete_one(struct loopback *l)
{
	assert_int_equal(ibv_req_notify_cq(l->cq, 0), 0);
	loopback_post_write(l);
	assert_int_equal(softcx_step(0), 1);
}

static void reap_one(struct loopback *l)
{
	struct ibv_wc wc;

	assert_int_equal(ibv_poll_cq(l->cq, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
}

static void a_completion_wakes_who_waits_for_it(void **state)
{
	struct loopback *l = *state;
	struct ibv_cq *cq;
	void *context;

	assert_false(has_event(l->channel->fd));
	complete_one(l);
	assert_true(has_event(l->channel->fd));
	assert_int_equal(ibv_get_cq_event(l->channel, &cq, &context), 0);
	assert_ptr_equal(cq, l->cq);
	assert_false(has_event(l->channel->fd));
	reap_one(l);
	ibv_ack_cq_events(cq, 1);
}

/* The device runs on the thread that rings, so the completion is there when the post returns. */
static void a_doorbell_is_all_it_takes(void **state)
{
	struct loopback *l = *state;
	struct ibv_cq *cq;
	void *context;

	memset(l->memory, 0x5a, 64);
	assert_int_equal(ibv_req_notify_cq(l->cq, 0), 0);
	loopback_post_write(l);
	assert_int_equal(ibv_get_cq_event(l->channel, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
	reap_one(l);
	assert_memory_equal(l->memory, l->memory + 2048, 64);
}

static void an_unarmed_queue_is_silent(void **state)
{
	struct loopback *l = *state;

	loopback_post_write(l);
	assert_int_equal(softcx_step(0), 1);
	assert_false(has_event(l->channel->fd));
	reap_one(l);
}

static void a_reader_that_may_not_wait_is_told_so(void **state)
{
	struct loopback *l = *state;
	struct ibv_cq *cq;
	void *context;

	assert_int_equal(fcntl(l->channel->fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(ibv_get_cq_event(l->channel, &cq, &context), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(read(l->channel->fd, &cq, 4), -1);
	assert_int_equal(errno, EINVAL);
}

static void *wait_for_event(void *arg)
{
	struct loopback *l = arg;
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(l->channel, &cq, &context))
		return NULL;
	ibv_ack_cq_events(cq, 1);
	return cq;
}

static void a_thread_that_waits_is_woken(void **state)
{
	struct loopback *l = *state;
	pthread_t thread;
	void *cq;

	assert_int_equal(pthread_create(&thread, NULL, wait_for_event, l), 0);
	complete_one(l);
	assert_int_equal(pthread_join(thread, &cq), 0);
	assert_ptr_equal(cq, l->cq);
	reap_one(l);
}

static void unread_events_go_with_their_queue(void **state)
{
	struct loopback *l = *state;

	complete_one(l);
	assert_true(has_event(l->channel->fd));
	assert_int_equal(ibv_destroy_qp(l->qp), 0);
	assert_int_equal(ibv_destroy_cq(l->cq), 0);
	assert_false(has_event(l->channel->fd));
	l->qp = NULL;
	l->cq = NULL;
}

/* One channel, two queues: what is about the other one stays readable. */
static void others_keep_their_unread_events(void **state)
{
	struct loopback *l = *state;
	struct ibv_cq *other = ibv_create_cq(l->ctx, 16, NULL, l->channel, 0);
	struct ibv_cq *cq;
	void *context;

	assert_non_null(other);
	complete_one(l);
	assert_int_equal(ibv_destroy_cq(other), 0);
	assert_true(has_event(l->channel->fd));
	assert_int_equal(ibv_get_cq_event(l->channel, &cq, &context), 0);
	assert_ptr_equal(cq, l->cq);
	ibv_ack_cq_events(cq, 1);
	reap_one(l);
}

static void a_ring_is_not_made_smaller_than_what_it_holds(void **state)
{
	struct loopback *l = *state;

	for (int i = 0; i < 6; i++)
		loopback_post_write(l);
	assert_int_equal(softcx_step(0), 6);
	assert_int_equal(ibv_resize_cq(l->cq, 3), EINVAL);
	assert_int_equal(ibv_resize_cq(l->cq, 7), 0);
	assert_int_equal(l->cq->cqe, 7);
	for (int i = 0; i < 6; i++)
		reap_one(l);
	loopback_post_write(l);
	assert_int_equal(softcx_step(0), 1);
	reap_one(l);
	assert_int_equal(ibv_resize_cq(l->cq, 100), 0);
	loopback_post_write(l);
	assert_int_equal(softcx_step(0), 1);
	reap_one(l);
}

/* The SRQ's limit is the one asynchronous event that a program asks for. */
static void an_asynchronous_event_names_its_object(void **state)
{
	struct loopback *l = *state;
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(l->pd, &init);
	struct ibv_srq_attr limit = { .srq_limit = 2 };
	struct ibv_sge sge = { (uintptr_t)l->memory + 1024, 64, l->mr->lkey };
	struct ibv_recv_wr *bad_recv, recv = { .sg_list = &sge, .num_sge = 1 };
	struct ibv_send_wr *bad_send, send = { .opcode = IBV_WR_SEND };
	struct ibv_async_event event;
	struct ibv_wc wc;
	struct ibv_qp *qp;

	assert_non_null(srq);
	qp = loopback_create_qp(l->pd, l->cq, srq, IBV_QPT_RC);
	assert_non_null(qp);
	loopback_connect(qp);
	assert_int_equal(ibv_post_srq_recv(srq, &recv, &bad_recv), 0);
	assert_int_equal(ibv_post_srq_recv(srq, &recv, &bad_recv), 0);
	assert_int_equal(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT), 0);
	assert_false(has_event(l->ctx->async_fd));
	assert_int_equal(ibv_post_send(qp, &send, &bad_send), 0);
	assert_int_equal(softcx_step(0), 1);
	assert_int_equal(ibv_poll_cq(l->cq, 1, &wc), 1);
	assert_int_equal(ibv_get_async_event(l->ctx, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
	assert_ptr_equal(event.element.srq, srq);
	ibv_ack_async_event(&event);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

static void a_child_leaves_its_parents_objects_alone(void **state)
{
	struct loopback *l = *state;
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		_exit(ibv_destroy_qp(l->qp) == EIO && !ibv_close_device(l->ctx) ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	complete_one(l);
	reap_one(l);
}

#define ON_LOOPBACK(test) cmocka_unit_test_setup_teardown(test, loopback_set_up, loopback_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_LOOPBACK(a_completion_wakes_who_waits_for_it),
		cmocka_unit_test_setup_teardown(a_doorbell_is_all_it_takes, loopback_set_up_active,
						loopback_tear_down),
		ON_LOOPBACK(an_unarmed_queue_is_silent),
		ON_LOOPBACK(a_reader_that_may_not_wait_is_told_so),
		ON_LOOPBACK(a_thread_that_waits_is_woken),
		ON_LOOPBACK(unread_events_go_with_their_queue),
		ON_LOOPBACK(others_keep_their_unread_events),
		ON_LOOPBACK(a_ring_is_not_made_smaller_than_what_it_holds),
		ON_LOOPBACK(an_asynchronous_event_names_its_object),
		ON_LOOPBACK(a_child_leaves_its_parents_objects_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
