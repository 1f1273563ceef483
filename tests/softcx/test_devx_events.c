/* SPDX-License-Identifier: BSD-2-Clause */
/* Event channels of DevX: what they tell, of what, until when; as Linux's hw/mlx5/devx.c has it. */
#include "dc_queues.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "nic/tables.h"

enum { CLOSED = -1 };

static struct mlx5dv_devx_event_channel *open_channel(struct queues *q, int kind)
{
	struct mlx5dv_devx_event_channel *channel = mlx5dv_devx_create_event_channel(
		q->l->ctx, (enum mlx5dv_devx_create_event_channel_flags)kind);
	int flags;

	assert_non_null(channel);
	flags = fcntl(channel->fd, F_GETFL);
	assert_int_equal(fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK), 0);
	return channel;
}

static struct mlx5dv_devx_event_channel *open_cookies(struct queues *q)
{
	return open_channel(q, MLX5DV_DEVX_CREATE_EVENT_CHANNEL_FLAGS_OMIT_EV_DATA);
}

static struct mlx5dv_devx_event_channel *open_data(struct queues *q)
{
	return open_channel(q, 0);
}

static int try_subscribe(struct mlx5dv_devx_event_channel *channel, struct mlx5dv_devx_obj *obj,
			 uint16_t number, uint64_t cookie)
{
	return mlx5dv_devx_subscribe_devx_event(channel, obj, sizeof(number), &number, cookie);
}

static void subscribe(struct mlx5dv_devx_event_channel *channel, struct mlx5dv_devx_obj *obj,
		      uint16_t number, uint64_t cookie)
{
	assert_int_equal(try_subscribe(channel, obj, number, cookie), 0);
}

static bool is_readable(struct mlx5dv_devx_event_channel *channel)
{
	struct pollfd fd = { .fd = channel->fd, .events = POLLIN };

	return poll(&fd, 1, 0) == 1;
}

/* Returns 0 if there is none. */
static uint64_t next_cookie(struct mlx5dv_devx_event_channel *channel)
{
	struct mlx5dv_devx_async_event_hdr event = { 0 };
	const bool was_readable = is_readable(channel);
	const ssize_t got = mlx5dv_devx_get_event(channel, &event, sizeof(event));

	assert_int_equal(was_readable, got >= 0);
	if (got < 0)
		assert_int_equal(errno, EAGAIN);
	else
		assert_int_equal(got, sizeof(event));
	return event.cookie;
}

struct event {
	uint64_t cookie;
	struct bsn_eqe eqe;
};

/* The next event of a channel with data, which must be there. */
static struct event next_event(struct mlx5dv_devx_event_channel *channel)
{
	uint8_t bytes[sizeof(struct mlx5dv_devx_async_event_hdr) + BSN_EQE_SIZE];
	struct event event;

	assert_true(is_readable(channel));
	assert_int_equal(mlx5dv_devx_get_event(channel, (void *)bytes, sizeof(bytes)),
			 sizeof(bytes));
	memcpy(&event.cookie, bytes, sizeof(event.cookie));
	bsn_eqe_decode(&event.eqe, bytes + sizeof(struct mlx5dv_devx_async_event_hdr));
	return event;
}

static void expect_none(struct mlx5dv_devx_event_channel *channel)
{
	uint8_t bytes[sizeof(struct mlx5dv_devx_async_event_hdr) + BSN_EQE_SIZE];

	assert_false(is_readable(channel));
	errno = 0;
	assert_int_equal(mlx5dv_devx_get_event(channel, (void *)bytes, sizeof(bytes)), -1);
	assert_int_equal(errno, EAGAIN);
}

static void expect(struct mlx5dv_devx_event_channel *channel, uint64_t cookie, unsigned type,
		   unsigned queue_type, uint32_t number)
{
	const struct event event = next_event(channel);

	assert_int_equal(event.cookie, cookie);
	assert_int_equal(event.eqe.type, type);
	assert_int_equal(event.eqe.queue_type, queue_type);
	assert_int_equal(event.eqe.number, number);
}

/* -- what makes events ------------------------------------------------------------------------- */

/* End 0 writes through a key of no region; end 1 refuses. */
static void be_refused(struct queues *q)
{
	q->l->mr->rkey += 0x100;
	post(q, 0, BSN_OPCODE_RDMA_WRITE, 64);
	q->l->mr->rkey -= 0x100;
	expect_failed(q, 0, BSN_SYNDROME_REMOTE_ACCESS);
}

/* The CQ of end 0 is armed as often as this is called. */
static void complete_armed(struct queues *q, unsigned n)
{
	const struct bsn_dbr_cq_arm arm = { .sn = n & 3, .ci = q->ends[0].cq_index };

	bsn_dbr_cq_arm_encode(q->ends[0].memory + CQ_RECORD_AT + BSN_DBR_CQ_ARM_OFFSET, &arm);
	post(q, 0, BSN_OPCODE_RDMA_WRITE, 64);
	expect_sent(q, 0);
}

static void post_nop(struct queues *q)
{
	struct end *end = &q->ends[0];
	const struct bsn_ctrl ctrl = { .opcode = BSN_OPCODE_NOP,
				       .wqe_index = end->sq_index & 0xffff,
				       .qpn = end->qpn,
				       .ds = 1,
				       .ce = BSN_CE_ALWAYS };
	const struct bsn_dbr_wq record = { .index = (end->sq_index + 1) & 0xffff };

	bsn_ctrl_encode(end->memory + RING_AT + (BSN_DATA_SIZE << RQ_LOG2) +
				(size_t)(end->sq_index % (1 << SQ_LOG2)) * BSN_BB_SIZE,
			&ctrl);
	bsn_dbr_wq_encode(end->memory + QP_RECORD_AT + BSN_DBR_SEND_OFFSET, &record);
	end->sq_index++;
	softcx_step(0);
}

/* A WRITE of the initiator, through a key of no region. */
static void be_refused_by_target(struct dc *d, uint16_t stream)
{
	const struct bsn_ctrl ctrl = { .opcode = BSN_OPCODE_RDMA_WRITE,
				       .wqe_index = d->posted & 0xffff,
				       .qpn = d->dcin,
				       .ds = 6,
				       .ce = BSN_CE_ALWAYS,
				       .dci_stream = stream };
	const struct bsn_av_dc_grh to = {
		.dc_key = KEY, .ext = 1, .dqpn = d->dctn, .rlid = CX_LID
	};
	const struct bsn_raddr raddr = { .raddr = (uintptr_t)d->q->l->memory,
					 .rkey = d->q->l->mr->rkey + 0x100 };
	const struct bsn_data data = data_of(d->q, 0, 48);
	const struct bsn_dbr_wq record = { .index = (d->posted + 2) & 0xffff };
	uint8_t *slot = d->memory + SQ_AT + (size_t)(d->posted % (1 << SQ_LOG2)) * BSN_BB_SIZE;

	bsn_ctrl_encode(slot, &ctrl);
	bsn_av_dc_grh_encode(slot + BSN_CTRL_SIZE, &to);
	bsn_raddr_encode(slot + BSN_BB_SIZE, &raddr);
	bsn_data_encode(slot + BSN_BB_SIZE + BSN_RADDR_SIZE, &data);
	bsn_dbr_wq_encode(d->memory + RECORDS_AT + BSN_DBR_SEND_OFFSET, &record);
	d->posted += 2;
	softcx_step(0);
	expect_failed(d->q, 0, BSN_SYNDROME_REMOTE_ACCESS);
}

/* -- of which objects -------------------------------------------------------------------------- */

static void a_target_tells_of_itself(void **state)
{
	struct queues *q = *state;
	struct dc *d = make_dc(q);
	struct mlx5dv_devx_event_channel *channel = open_cookies(q);

	subscribe(channel, d->dct, BSN_EVENT_DCT_KEY_VIOLATION, 77);
	subscribe(channel, d->dct, BSN_EVENT_DCT_DRAINED, 78);
	open_dci(d);
	post_dc(d, KEY + 1, STREAM); /* nobody asked for it yet */
	expect_failed(q, 0, BSN_SYNDROME_RETRY_EXCEEDED);
	assert_int_equal(next_cookie(channel), 0);
	assert_int_equal(change_dct(d, BSN_CMD_ARM_DCT), 0);
	post_dc(d, KEY + 1, STREAM + 1);
	assert_int_equal(next_cookie(channel), 77);
	assert_int_equal(next_cookie(channel), 0); /* once */
	assert_int_equal(change_dct(d, BSN_CMD_DRAIN_DCT), 0);
	assert_int_equal(next_cookie(channel), 78);
	free_dc(d);
	mlx5dv_devx_destroy_event_channel(channel);
}

/* The target serves other initiators, and tells each time; a failed request has only its CQE. */
static void a_target_tells_of_what_it_refuses(void **state)
{
	static const uint16_t all[] = { BSN_EVENT_WQ_CATAS_ERROR, BSN_EVENT_WQ_INVAL_REQ_ERROR,
					BSN_EVENT_WQ_ACCESS_ERROR, BSN_EVENT_SQ_DRAINED,
					BSN_EVENT_COMM_EST, BSN_EVENT_SRQ_LAST_WQE };
	struct queues *q = *state;
	struct dc *d = make_dc(q);
	struct mlx5dv_devx_event_channel *channel = open_data(q);

	subscribe(channel, d->dct, BSN_EVENT_WQ_ACCESS_ERROR, 1);
	assert_int_equal(mlx5dv_devx_subscribe_devx_event(channel, d->dci, sizeof(all),
							  (uint16_t *)(uintptr_t)all, 2),
			 0);
	open_dci(d);
	for (unsigned i = 0; i < 1u << STREAMS_LOG2; i++) {
		be_refused_by_target(d, (uint16_t)(STREAM + i)); /* the last takes the DCI along */
		expect(channel, 1, BSN_EVENT_WQ_ACCESS_ERROR, BSN_EVENT_QUEUE_DCT, d->dctn);
		expect_none(channel);
	}
	free_dc(d);
	mlx5dv_devx_destroy_event_channel(channel);
}

static void a_queue_pair_tells_of_itself(void **state)
{
	uint16_t numbers[] = { BSN_EVENT_WQ_ACCESS_ERROR, BSN_EVENT_WQ_CATAS_ERROR };
	struct queues *q = *state;
	struct mlx5dv_devx_event_channel *channel = open_data(q);

	assert_int_equal(mlx5dv_devx_subscribe_devx_event(channel, q->ends[1].qp, sizeof(numbers),
							  numbers, UINT64_MAX),
			 0);
	subscribe(channel, q->ends[0].qp, BSN_EVENT_WQ_ACCESS_ERROR, 6);
	connect_ends(q);
	be_refused(q);
	expect(channel, UINT64_MAX, BSN_EVENT_WQ_ACCESS_ERROR, BSN_EVENT_QUEUE_QP, q->ends[1].qpn);
	expect_none(channel);
	mlx5dv_devx_destroy_event_channel(channel);
}

/* Nobody takes its CQEs: the CQ fails, and takes the initiator along. */
static void a_cq_and_its_initiator_tell_of_an_overrun(void **state)
{
	struct queues *q = *state;
	struct dc *d = make_dc(q);
	struct mlx5dv_devx_event_channel *channel = open_data(q);
	struct event event;

	subscribe(channel, q->ends[0].cq, BSN_EVENT_CQ_ERROR, 3);
	subscribe(channel, q->ends[1].cq, BSN_EVENT_CQ_ERROR, 4);
	subscribe(channel, d->dci, BSN_EVENT_WQ_CATAS_ERROR, 5);
	open_dci(d);
	for (unsigned n = 0; n <= 1u << CQE_LOG2; n++) {
		expect_none(channel);
		post_to_rmp(d, 1024);
		post_dc(d, KEY, STREAM);
		if (n < 1u << CQE_LOG2)
			expect_received(d);
	}
	event = next_event(channel);
	assert_int_equal(event.cookie, 3);
	assert_int_equal(event.eqe.type, BSN_EVENT_CQ_ERROR);
	assert_int_equal(event.eqe.cq_err_cqn, q->ends[0].cqn);
	assert_int_equal(event.eqe.cq_err_syndrome, BSN_CQ_ERROR_OVERRUN);
	expect(channel, 5, BSN_EVENT_WQ_CATAS_ERROR, BSN_EVENT_QUEUE_QP, d->dcin);
	expect_none(channel);
	free_dc(d);
	mlx5dv_devx_destroy_event_channel(channel);
}

static void an_armed_cq_tells_of_completions(void **state)
{
	struct queues *q = *state;
	struct mlx5dv_devx_event_channel *channel = open_data(q);

	subscribe(channel, q->ends[0].cq, BSN_EVENT_COMPLETION, 9);
	connect_ends(q);
	post(q, 0, BSN_OPCODE_RDMA_WRITE, 64); /* it is not armed */
	expect_sent(q, 0);
	expect_none(channel);
	for (unsigned n = 0; n < 6; n++) {
		complete_armed(q, n);
		expect(channel, 9, BSN_EVENT_COMPLETION, 0, q->ends[0].cqn);
		expect_none(channel);
	}
	mlx5dv_devx_destroy_event_channel(channel);
}

static void a_pool_of_receives_tells_of_its_limit(void **state)
{
	struct queues *q = *state;
	struct dc *d = make_dc(q);
	struct mlx5dv_devx_event_channel *channel = open_data(q);

	subscribe(channel, d->rmp, BSN_EVENT_SRQ_LIMIT, 11);
	open_dci(d);
	for (unsigned i = 0; i < 3; i++)
		post_to_rmp(d, 1024);
	assert_int_equal(modify_rmp(d, 2, 0, true), EREMOTEIO);
	assert_int_equal(modify_rmp(d, 2, 1, false), EREMOTEIO);
	assert_int_equal(modify_rmp(d, 1 << RMP_LOG2, 1, true), EREMOTEIO);
	assert_int_equal(limit_of(d), 0);
	assert_int_equal(modify_rmp(d, 2, 1, true), 0);
	assert_int_equal(limit_of(d), 2);
	for (unsigned i = 0; i < 2; i++) {
		expect_none(channel);
		post_dc(d, KEY, STREAM);
		expect_dc_sent(d);
		expect_received(d);
	}
	expect(channel, 11, BSN_EVENT_SRQ_LIMIT, 0, d->rmpn);
	assert_int_equal(limit_of(d), 0); /* once */
	post_dc(d, KEY, STREAM);
	expect_none(channel);
	free_dc(d);
	mlx5dv_devx_destroy_event_channel(channel);
}

static void the_port_tells_who_names_no_object(void **state)
{
	struct queues *q = *state;
	struct mlx5dv_devx_event_channel *channel = open_data(q);
	struct event event;

	subscribe(channel, NULL, BSN_EVENT_PORT_CHANGE, 13);
	connect_ends(q);
	for (unsigned i = 0; i < 2; i++) {
		post_nop(q);
		event = next_event(channel);
		assert_int_equal(event.cookie, 13);
		assert_int_equal(event.eqe.type, BSN_EVENT_PORT_CHANGE);
		assert_int_equal(event.eqe.sub_type,
				 i ? BSN_PORT_CHANGE_ACTIVE : BSN_PORT_CHANGE_DOWN);
		assert_int_equal(event.eqe.port, 1);
		expect_none(channel);
	}
	mlx5dv_devx_destroy_event_channel(channel);
}

static int set_up_port(void **state)
{
	return set_up_on(state, CX_LINK_IB, "opcode=NOP nth=1 port-down; opcode=NOP nth=1 port-up");
}

/* -- what is told, and how often --------------------------------------------------------------- */

static void without_data_an_event_waits_once(void **state)
{
	struct queues *q = *state;
	struct mlx5dv_devx_event_channel *cookies = open_cookies(q), *data = open_data(q);
	unsigned n = 0;

	subscribe(cookies, q->ends[0].cq, BSN_EVENT_COMPLETION, 1);
	subscribe(cookies, q->ends[0].cq, BSN_EVENT_COMPLETION, 2);
	subscribe(data, q->ends[0].cq, BSN_EVENT_COMPLETION, 3);
	connect_ends(q);
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 3; i++)
			complete_armed(q, n++);
		assert_int_equal(next_cookie(cookies), 1);
		assert_int_equal(next_cookie(cookies), 2);
		assert_int_equal(next_cookie(cookies), 0);
		for (unsigned i = 0; i < 3; i++)
			expect(data, 3, BSN_EVENT_COMPLETION, 0, q->ends[0].cqn);
		expect_none(data);
	}
	mlx5dv_devx_destroy_event_channel(cookies);
	mlx5dv_devx_destroy_event_channel(data);
}

static void too_little_room_loses_nothing(void **state)
{
	struct queues *q = *state;
	struct mlx5dv_devx_event_channel *channel = open_data(q);
	uint8_t bytes[sizeof(struct mlx5dv_devx_async_event_hdr) + BSN_EQE_SIZE - 1];

	subscribe(channel, q->ends[0].cq, BSN_EVENT_COMPLETION, 1);
	connect_ends(q);
	complete_armed(q, 0);
	errno = 0;
	assert_int_equal(mlx5dv_devx_get_event(channel, (void *)bytes, sizeof(bytes)), -1);
	assert_int_equal(errno, EINVAL);
	expect(channel, 1, BSN_EVENT_COMPLETION, 0, q->ends[0].cqn);
	mlx5dv_devx_destroy_event_channel(channel);
}

static void who_reads_too_slowly_hears_so(void **state)
{
	enum { MORE_THAN_IT_HOLDS = 65536 / BSN_EQE_SIZE };
	struct queues *q = *state;
	struct mlx5dv_devx_event_channel *channel = open_data(q);
	uint8_t bytes[sizeof(struct mlx5dv_devx_async_event_hdr) + BSN_EQE_SIZE];
	unsigned kept = 0;

	subscribe(channel, q->ends[0].cq, BSN_EVENT_COMPLETION, 1);
	connect_ends(q);
	for (unsigned n = 0; n < MORE_THAN_IT_HOLDS; n++)
		complete_armed(q, n);
	errno = 0;
	assert_int_equal(mlx5dv_devx_get_event(channel, (void *)bytes, sizeof(bytes)), -1);
	assert_int_equal(errno, EOVERFLOW);
	for (; is_readable(channel); kept++)
		next_event(channel);
	assert_in_range(kept, MORE_THAN_IT_HOLDS / 2, MORE_THAN_IT_HOLDS - 1);
	complete_armed(q, 0);
	expect(channel, 1, BSN_EVENT_COMPLETION, 0, q->ends[0].cqn);
	mlx5dv_devx_destroy_event_channel(channel);
}

/* -- eventfds ---------------------------------------------------------------------------------- */

static void an_eventfd_counts_instead(void **state)
{
	struct queues *q = *state;
	struct mlx5dv_devx_event_channel *channel = open_data(q);
	const int fd = eventfd(0, EFD_NONBLOCK), theirs = dup(fd);
	eventfd_t count;

	assert_int_equal(mlx5dv_devx_subscribe_devx_event_fd(channel, theirs, q->ends[0].cq,
							     BSN_EVENT_COMPLETION),
			 0);
	assert_int_equal(close(theirs), 0); /* the subscription has its own */
	connect_ends(q);
	for (unsigned n = 0; n < 3; n++)
		complete_armed(q, n);
	assert_int_equal(eventfd_read(fd, &count), 0);
	assert_int_equal(count, 3);
	expect_none(channel);
	mlx5dv_devx_destroy_event_channel(channel);
	complete_armed(q, 3);
	assert_int_equal(eventfd_read(fd, &count), -1);
	assert_int_equal(close(fd), 0);
}

static void only_an_eventfd_will_do(void **state)
{
	struct queues *q = *state;
	struct mlx5dv_devx_event_channel *channel = open_data(q);

	assert_int_equal(mlx5dv_devx_subscribe_devx_event_fd(channel, CLOSED, q->ends[0].cq,
							     BSN_EVENT_COMPLETION),
			 EBADF);
	assert_int_equal(mlx5dv_devx_subscribe_devx_event_fd(channel, channel->fd, q->ends[0].cq,
							     BSN_EVENT_COMPLETION),
			 EINVAL);
	mlx5dv_devx_destroy_event_channel(channel);
}

/* -- until when -------------------------------------------------------------------------------- */

static unsigned count_subscriptions(void)
{
	uint32_t index = 0;
	unsigned count = 0;

	while (cx_next_of_all(softcx_hca(), CX_SUBSCRIPTION, &index))
		count++;
	return count;
}

static void what_an_object_told_outlives_it(void **state)
{
	struct queues *q = *state;
	struct mlx5dv_devx_event_channel *channel = open_cookies(q);
	struct dc *d = make_dc(q);
	struct bsn_dctc again = dct_request(d);
	uint8_t out[BSN_CREATED_OUT_SIZE];

	subscribe(channel, d->dct, BSN_EVENT_DCT_DRAINED, 5);
	assert_int_equal(change_dct(d, BSN_CMD_DRAIN_DCT), 0);
	assert_int_equal(count_subscriptions(), 1);
	assert_int_equal(mlx5dv_devx_obj_destroy(d->dct), 0);
	assert_int_equal(count_subscriptions(), 0);
	assert_int_equal(next_cookie(channel), 5);
	d->dct = create_dct(d, &again, out); /* what comes after it told nobody */
	assert_non_null(d->dct);
	d->dctn = number_of(out);
	assert_int_equal(change_dct(d, BSN_CMD_DRAIN_DCT), 0);
	assert_int_equal(next_cookie(channel), 0);
	free_dc(d);
	mlx5dv_devx_destroy_event_channel(channel);
}

/* A channel's subscriptions end with it; those of others on the same objects do not. */
static void a_channel_goes_before_its_objects(void **state)
{
	struct queues *q = *state;
	struct mlx5dv_devx_event_channel *first, *second;

	connect_ends(q);
	for (unsigned n = 0; n < 100; n++) {
		first = open_cookies(q);
		second = open_data(q);
		subscribe(first, q->ends[0].cq, BSN_EVENT_COMPLETION, 1);
		subscribe(second, q->ends[0].cq, BSN_EVENT_COMPLETION, 2);
		subscribe(first, NULL, BSN_EVENT_PORT_CHANGE, 3);
		complete_armed(q, 2 * n);
		assert_int_equal(next_cookie(first), 1);
		expect(second, 2, BSN_EVENT_COMPLETION, 0, q->ends[0].cqn);
		mlx5dv_devx_destroy_event_channel(first);
		complete_armed(q, 2 * n + 1);
		expect(second, 2, BSN_EVENT_COMPLETION, 0, q->ends[0].cqn);
		expect_none(second);
		mlx5dv_devx_destroy_event_channel(second);
		assert_int_equal(count_subscriptions(), 0);
	}
}

/* -- what is refused --------------------------------------------------------------------------- */

static void the_kernel_refuses_what_is_no_event(void **state)
{
	struct queues *q = *state;
	struct mlx5dv_devx_event_channel *channel = open_data(q);
	struct mlx5dv_devx_obj *qp = q->ends[0].qp;
	uint16_t many[CX_MOST_EVENTS + 1];

	for (unsigned i = 0; i <= CX_MOST_EVENTS; i++)
		many[i] = BSN_EVENT_COMM_EST;
	assert_int_equal(mlx5dv_devx_subscribe_devx_event(channel, qp, sizeof(many), many, 0),
			 EINVAL);
	assert_int_equal(mlx5dv_devx_subscribe_devx_event(channel, qp,
							  sizeof(many) - sizeof(many[0]), many, 0),
			 0);
	assert_int_equal(mlx5dv_devx_subscribe_devx_event(channel, qp, 3, many, 0), EINVAL);
	assert_int_equal(try_subscribe(channel, qp, BSN_EVENT_PORT_CHANGE, 0), EINVAL);
	assert_int_equal(try_subscribe(channel, qp, 0x0a, 0), EINVAL); /* a command's completion */
	assert_int_equal(try_subscribe(channel, qp, 0x100, 0), EINVAL);
	assert_int_equal(try_subscribe(channel, NULL, BSN_EVENT_COMM_EST, 0), EINVAL);
	assert_int_equal(try_subscribe(channel, qp, BSN_EVENT_CQ_ERROR, 0), 0); /* never comes */
	errno = 0;
	assert_null(mlx5dv_devx_create_event_channel(
		q->l->ctx, (enum mlx5dv_devx_create_event_channel_flags)2));
	assert_int_equal(errno, EINVAL);
	mlx5dv_devx_destroy_event_channel(channel);
}

/* One bad number, and nothing is subscribed. */
static void a_list_is_taken_whole_or_not_at_all(void **state)
{
	uint16_t numbers[] = { BSN_EVENT_COMPLETION, BSN_EVENT_PORT_CHANGE };
	struct queues *q = *state;
	struct mlx5dv_devx_event_channel *channel = open_data(q);

	assert_int_equal(mlx5dv_devx_subscribe_devx_event(channel, q->ends[0].cq, sizeof(numbers),
							  numbers, 1),
			 EINVAL);
	connect_ends(q);
	complete_armed(q, 0);
	expect_none(channel);
	mlx5dv_devx_destroy_event_channel(channel);
}

#define TEST_PORT(f) cmocka_unit_test_setup_teardown(f, set_up_port, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_target_tells_of_itself),
		TEST(a_target_tells_of_what_it_refuses),
		TEST(a_queue_pair_tells_of_itself),
		TEST(a_cq_and_its_initiator_tell_of_an_overrun),
		TEST(an_armed_cq_tells_of_completions),
		TEST(a_pool_of_receives_tells_of_its_limit),
		TEST_PORT(the_port_tells_who_names_no_object),
		TEST(without_data_an_event_waits_once),
		TEST(too_little_room_loses_nothing),
		TEST(who_reads_too_slowly_hears_so),
		TEST(an_eventfd_counts_instead),
		TEST(only_an_eventfd_will_do),
		TEST(what_an_object_told_outlives_it),
		TEST(a_channel_goes_before_its_objects),
		TEST(the_kernel_refuses_what_is_no_event),
		TEST(a_list_is_taken_whole_or_not_at_all),
	};

	return cmocka_run_group_tests_name("softcx DevX events", tests, NULL, NULL);
}
