/* SPDX-License-Identifier: BSD-2-Clause */
/* Event channels of DevX: what they tell, of what, until when; as Linux's hw/mlx5/devx.c has it. */
#include "dc_queues.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "nic/tables.h"

enum { CLOSED = -1 };

/* With and without data of the events; a case that closes one makes it NULL. */
static struct mlx5dv_devx_event_channel *data, *cookies;

static struct mlx5dv_devx_event_channel *open_channel(int kind)
{
	struct mlx5dv_devx_event_channel *channel = made(mlx5dv_devx_create_event_channel(
		lo.ctx, (enum mlx5dv_devx_create_event_channel_flags)kind));

	assert_int_equal(fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK), 0);
	return channel;
}

static void open_channels(void)
{
	data = open_channel(0);
	cookies = open_channel(MLX5DV_DEVX_CREATE_EVENT_CHANNEL_FLAGS_OMIT_EV_DATA);
}

static void close_channel(struct mlx5dv_devx_event_channel **channel)
{
	if (*channel)
		mlx5dv_devx_destroy_event_channel(*channel);
	*channel = NULL;
}

static int set_up_channels(void **state)
{
	set_up_dc(state);
	open_channels();
	return 0;
}

static int tear_down_channels(void **state)
{
	close_channel(&data);
	close_channel(&cookies);
	return tear_down_dc(state);
}

static int subscribe_to(struct mlx5dv_devx_event_channel *channel, struct mlx5dv_devx_obj *obj,
			const uint16_t *numbers, size_t bytes, uint64_t cookie)
{
	return mlx5dv_devx_subscribe_devx_event(channel, obj, (uint16_t)bytes, (uint16_t *)numbers,
						cookie);
}

static int try_subscribe(struct mlx5dv_devx_event_channel *channel, struct mlx5dv_devx_obj *obj,
			 uint16_t number, uint64_t cookie)
{
	return subscribe_to(channel, obj, &number, sizeof(number), cookie);
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
static uint64_t next_cookie(void)
{
	struct mlx5dv_devx_async_event_hdr event = { 0 };
	const bool was_readable = is_readable(cookies);
	const ssize_t got = mlx5dv_devx_get_event(cookies, &event, sizeof(event));

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

static uint8_t bytes[sizeof(struct mlx5dv_devx_async_event_hdr) + BSN_EQE_SIZE];

/* The next event of the channel with data, which must be there. */
static struct event next_event(void)
{
	struct event event;

	assert_true(is_readable(data));
	assert_int_equal(mlx5dv_devx_get_event(data, (void *)bytes, sizeof(bytes)), sizeof(bytes));
	memcpy(&event.cookie, bytes, sizeof(event.cookie));
	bsn_eqe_decode(&event.eqe, bytes + sizeof(struct mlx5dv_devx_async_event_hdr));
	return event;
}

/* The channel with data has none for `room` bytes, and says why. */
static void expect_error(size_t room, int error)
{
	fails(mlx5dv_devx_get_event(data, (void *)bytes, room), error);
}

static void expect_none(void)
{
	assert_false(is_readable(data));
	expect_error(sizeof(bytes), EAGAIN);
}

static void expect(uint64_t cookie, unsigned type, unsigned queue_type, uint32_t number)
{
	const struct event event = next_event();

	assert_int_equal(event.cookie, cookie);
	assert_int_equal(event.eqe.type, type);
	assert_int_equal(event.eqe.queue_type, queue_type);
	assert_int_equal(event.eqe.number, number);
}

/* Of the CQ of end 0. */
static void expect_completion(uint64_t cookie)
{
	expect(cookie, BSN_EVENT_COMPLETION, 0, q.ends[0].cqn);
}

/* -- what makes events ------------------------------------------------------------------------- */

/* End 0 writes through a key of no region; end 1 refuses. */
static void be_refused(void)
{
	lo.mr->rkey += 0x100;
	post(0, BSN_OPCODE_RDMA_WRITE, 64);
	lo.mr->rkey -= 0x100;
	expect_failed(0, BSN_SYNDROME_REMOTE_ACCESS);
}

/* The CQ of end 0 is armed as often as this is called. */
static void complete_armed(unsigned n)
{
	ENCODE(dbr_cq_arm, q.ends[0].memory + CQ_RECORD_AT + BSN_DBR_CQ_ARM_OFFSET, .sn = n & 3,
	       .ci = q.ends[0].cq_index);
	post(0, BSN_OPCODE_RDMA_WRITE, 64);
	expect_sent(0);
}

/* A WRITE of the initiator, through a key of no region. */
static void be_refused_by_target(uint16_t stream)
{
	const struct bsn_data from = data_of(0, 48);
	uint8_t *second = begin_dc(BSN_OPCODE_RDMA_WRITE, 6, KEY, stream);

	ENCODE(raddr, second, .raddr = (uintptr_t)lo.memory, .rkey = lo.mr->rkey + 0x100);
	bsn_data_encode(second + BSN_RADDR_SIZE, &from);
	publish_dc();
	expect_failed(0, BSN_SYNDROME_REMOTE_ACCESS);
}

/* -- of which objects -------------------------------------------------------------------------- */

static void a_target_tells_of_itself(void **state)
{
	subscribe(cookies, d.dct, BSN_EVENT_DCT_KEY_VIOLATION, 77);
	subscribe(cookies, d.dct, BSN_EVENT_DCT_DRAINED, 78);
	open_dci();
	post_dc(KEY + 1, STREAM); /* nobody asked for it yet */
	expect_failed(0, BSN_SYNDROME_RETRY_EXCEEDED);
	assert_int_equal(next_cookie(), 0);
	assert_int_equal(change_dct(BSN_CMD_ARM_DCT), 0);
	post_dc(KEY + 1, STREAM + 1);
	assert_int_equal(next_cookie(), 77);
	assert_int_equal(next_cookie(), 0); /* once */
	assert_int_equal(change_dct(BSN_CMD_DRAIN_DCT), 0);
	assert_int_equal(next_cookie(), 78);
}

/* The target serves other initiators, and tells each time; a failed request has only its CQE. */
static void a_target_tells_of_what_it_refuses(void **state)
{
	static const uint16_t all[] = { BSN_EVENT_WQ_CATAS_ERROR, BSN_EVENT_WQ_INVAL_REQ_ERROR,
					BSN_EVENT_WQ_ACCESS_ERROR, BSN_EVENT_SQ_DRAINED,
					BSN_EVENT_COMM_EST, BSN_EVENT_SRQ_LAST_WQE };

	subscribe(data, d.dct, BSN_EVENT_WQ_ACCESS_ERROR, 1);
	assert_int_equal(subscribe_to(data, d.dci, all, sizeof(all), 2), 0);
	open_dci();
	for (unsigned i = 0; i < 1u << STREAMS_LOG2; i++) {
		be_refused_by_target((uint16_t)(STREAM + i)); /* the last takes the DCI along */
		expect(1, BSN_EVENT_WQ_ACCESS_ERROR, BSN_EVENT_QUEUE_DCT, d.dctn);
		expect_none();
	}
}

static void a_queue_pair_tells_of_itself(void **state)
{
	const uint16_t numbers[] = { BSN_EVENT_WQ_ACCESS_ERROR, BSN_EVENT_WQ_CATAS_ERROR };

	assert_int_equal(subscribe_to(data, q.ends[1].qp, numbers, sizeof(numbers), UINT64_MAX), 0);
	subscribe(data, q.ends[0].qp, BSN_EVENT_WQ_ACCESS_ERROR, 6);
	connect_ends();
	be_refused();
	expect(UINT64_MAX, BSN_EVENT_WQ_ACCESS_ERROR, BSN_EVENT_QUEUE_QP, q.ends[1].qpn);
	expect_none();
}

/* Nobody takes its CQEs: the CQ fails, and takes the initiator along. */
static void a_cq_and_its_initiator_tell_of_an_overrun(void **state)
{
	struct event event;

	subscribe(data, q.ends[0].cq, BSN_EVENT_CQ_ERROR, 3);
	subscribe(data, q.ends[1].cq, BSN_EVENT_CQ_ERROR, 4);
	subscribe(data, d.dci, BSN_EVENT_WQ_CATAS_ERROR, 5);
	open_dci();
	for (unsigned n = 0; n <= 1u << CQE_LOG2; n++) {
		expect_none();
		post_to_rmp(1024);
		post_dc(KEY, STREAM);
		if (n < 1u << CQE_LOG2)
			expect_received();
	}
	event = next_event();
	assert_int_equal(event.cookie, 3);
	assert_int_equal(event.eqe.type, BSN_EVENT_CQ_ERROR);
	assert_int_equal(event.eqe.cq_err_cqn, q.ends[0].cqn);
	assert_int_equal(event.eqe.cq_err_syndrome, BSN_CQ_ERROR_OVERRUN);
	expect(5, BSN_EVENT_WQ_CATAS_ERROR, BSN_EVENT_QUEUE_QP, d.dcin);
	expect_none();
}

static void an_armed_cq_tells_of_completions(void **state)
{
	subscribe(data, q.ends[0].cq, BSN_EVENT_COMPLETION, 9);
	connect_ends();
	post(0, BSN_OPCODE_RDMA_WRITE, 64); /* it is not armed */
	expect_sent(0);
	expect_none();
	for (unsigned n = 0; n < 6; n++) {
		complete_armed(n);
		expect_completion(9);
		expect_none();
	}
}

static void a_pool_of_receives_tells_of_its_limit(void **state)
{
	subscribe(data, d.rmp, BSN_EVENT_SRQ_LIMIT, 11);
	open_dci();
	for (unsigned i = 0; i < 3; i++)
		post_to_rmp(1024);
	assert_int_equal(modify_rmp(2, 0, true), EREMOTEIO);
	assert_int_equal(modify_rmp(2, 1, false), EREMOTEIO);
	assert_int_equal(modify_rmp(1 << RMP_LOG2, 1, true), EREMOTEIO);
	assert_int_equal(limit_of(), 0);
	assert_int_equal(modify_rmp(2, 1, true), 0);
	assert_int_equal(limit_of(), 2);
	for (unsigned i = 0; i < 2; i++) {
		expect_none();
		post_dc(KEY, STREAM);
		expect_dc_sent();
		expect_received();
	}
	expect(11, BSN_EVENT_SRQ_LIMIT, 0, d.rmpn);
	assert_int_equal(limit_of(), 0); /* once */
	post_dc(KEY, STREAM);
	expect_none();
}

static void the_port_tells_who_names_no_object(void **state)
{
	struct event event;

	subscribe(data, NULL, BSN_EVENT_PORT_CHANGE, 13);
	connect_ends();
	for (unsigned i = 0; i < 2; i++) {
		begin_request(0, BSN_OPCODE_NOP, 1, 0);
		publish(0);
		event = next_event();
		assert_int_equal(event.cookie, 13);
		assert_int_equal(event.eqe.type, BSN_EVENT_PORT_CHANGE);
		assert_int_equal(event.eqe.sub_type,
				 i ? BSN_PORT_CHANGE_ACTIVE : BSN_PORT_CHANGE_DOWN);
		assert_int_equal(event.eqe.port, 1);
		expect_none();
	}
}

/* -- what is told, and how often --------------------------------------------------------------- */

static void without_data_an_event_waits_once(void **state)
{
	unsigned n = 0;

	subscribe(cookies, q.ends[0].cq, BSN_EVENT_COMPLETION, 1);
	subscribe(cookies, q.ends[0].cq, BSN_EVENT_COMPLETION, 2);
	subscribe(data, q.ends[0].cq, BSN_EVENT_COMPLETION, 3);
	connect_ends();
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 3; i++)
			complete_armed(n++);
		assert_int_equal(next_cookie(), 1);
		assert_int_equal(next_cookie(), 2);
		assert_int_equal(next_cookie(), 0);
		for (unsigned i = 0; i < 3; i++)
			expect_completion(3);
		expect_none();
	}
}

static void too_little_room_loses_nothing(void **state)
{
	subscribe(data, q.ends[0].cq, BSN_EVENT_COMPLETION, 1);
	connect_ends();
	complete_armed(0);
	expect_error(sizeof(bytes) - 1, EINVAL);
	expect_completion(1);
}

static void who_reads_too_slowly_hears_so(void **state)
{
	enum { MORE_THAN_IT_HOLDS = 65536 / BSN_EQE_SIZE };
	unsigned kept = 0;

	subscribe(data, q.ends[0].cq, BSN_EVENT_COMPLETION, 1);
	connect_ends();
	for (unsigned n = 0; n < MORE_THAN_IT_HOLDS; n++)
		complete_armed(n);
	expect_error(sizeof(bytes), EOVERFLOW);
	for (; is_readable(data); kept++)
		next_event();
	assert_in_range(kept, MORE_THAN_IT_HOLDS / 2, MORE_THAN_IT_HOLDS - 1);
	complete_armed(0);
	expect_completion(1);
}

/* -- eventfds ---------------------------------------------------------------------------------- */

static int subscribe_fd(int fd)
{
	return mlx5dv_devx_subscribe_devx_event_fd(data, fd, q.ends[0].cq, BSN_EVENT_COMPLETION);
}

static void an_eventfd_counts_instead(void **state)
{
	const int fd = eventfd(0, EFD_NONBLOCK), theirs = dup(fd);
	eventfd_t count;

	assert_int_equal(subscribe_fd(theirs), 0);
	assert_int_equal(close(theirs), 0); /* the subscription has its own */
	connect_ends();
	for (unsigned n = 0; n < 3; n++)
		complete_armed(n);
	assert_int_equal(eventfd_read(fd, &count), 0);
	assert_int_equal(count, 3);
	expect_none();
	close_channel(&data);
	complete_armed(3);
	assert_int_equal(eventfd_read(fd, &count), -1);
	assert_int_equal(close(fd), 0);
}

static void only_an_eventfd_will_do(void **state)
{
	assert_int_equal(subscribe_fd(CLOSED), EBADF);
	assert_int_equal(subscribe_fd(data->fd), EINVAL);
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
	struct bsn_dctc again = dct_request();
	uint8_t out[BSN_CREATED_OUT_SIZE];

	subscribe(cookies, d.dct, BSN_EVENT_DCT_DRAINED, 5);
	assert_int_equal(change_dct(BSN_CMD_DRAIN_DCT), 0);
	assert_int_equal(count_subscriptions(), 1);
	assert_int_equal(mlx5dv_devx_obj_destroy(d.dct), 0);
	assert_int_equal(count_subscriptions(), 0);
	assert_int_equal(next_cookie(), 5);
	d.dct = made(create_dct(&again, out)); /* what comes after it told nobody */
	d.dctn = number_of(out);
	assert_int_equal(change_dct(BSN_CMD_DRAIN_DCT), 0);
	assert_int_equal(next_cookie(), 0);
}

/* A channel's subscriptions end with it; those of others on the same objects do not. */
static void a_channel_goes_before_its_objects(void **state)
{
	connect_ends();
	for (unsigned n = 0; n < 100; n++) {
		subscribe(cookies, q.ends[0].cq, BSN_EVENT_COMPLETION, 1);
		subscribe(data, q.ends[0].cq, BSN_EVENT_COMPLETION, 2);
		subscribe(cookies, NULL, BSN_EVENT_PORT_CHANGE, 3);
		complete_armed(2 * n);
		assert_int_equal(next_cookie(), 1);
		expect_completion(2);
		close_channel(&cookies);
		complete_armed(2 * n + 1);
		expect_completion(2);
		expect_none();
		close_channel(&data);
		assert_int_equal(count_subscriptions(), 0);
		open_channels();
	}
}

/* -- what is refused --------------------------------------------------------------------------- */

static void the_kernel_refuses_what_is_no_event(void **state)
{
	struct mlx5dv_devx_obj *qp = q.ends[0].qp;
	uint16_t many[CX_MOST_EVENTS + 1];

	for (unsigned i = 0; i <= CX_MOST_EVENTS; i++)
		many[i] = BSN_EVENT_COMM_EST;
	assert_int_equal(subscribe_to(data, qp, many, sizeof(many), 0), EINVAL);
	assert_int_equal(subscribe_to(data, qp, many, sizeof(many) - sizeof(many[0]), 0), 0);
	assert_int_equal(subscribe_to(data, qp, many, 3, 0), EINVAL);
	assert_int_equal(try_subscribe(data, qp, BSN_EVENT_PORT_CHANGE, 0), EINVAL);
	assert_int_equal(try_subscribe(data, qp, 0x0a, 0), EINVAL); /* a command's completion */
	assert_int_equal(try_subscribe(data, qp, 0x100, 0), EINVAL);
	assert_int_equal(try_subscribe(data, NULL, BSN_EVENT_COMM_EST, 0), EINVAL);
	assert_int_equal(try_subscribe(data, qp, BSN_EVENT_CQ_ERROR, 0), 0); /* never comes */
	not_made(mlx5dv_devx_create_event_channel(lo.ctx,
						  (enum mlx5dv_devx_create_event_channel_flags)2),
		 EINVAL);
}

/* One bad number, and nothing is subscribed. */
static void a_list_is_taken_whole_or_not_at_all(void **state)
{
	const uint16_t numbers[] = { BSN_EVENT_COMPLETION, BSN_EVENT_PORT_CHANGE };

	assert_int_equal(subscribe_to(data, q.ends[0].cq, numbers, sizeof(numbers), 1), EINVAL);
	connect_ends();
	complete_armed(0);
	expect_none();
}

/* Two NOPs take the port down and up. */
#define ON_CHANNELS(f)                                                                             \
	GIVEN(f, "opcode=NOP nth=1 port-down; opcode=NOP nth=1 port-up", set_up_channels,          \
	      tear_down_channels)

UNIT_MAIN(NULL, ON_CHANNELS(a_target_tells_of_itself),
	  ON_CHANNELS(a_target_tells_of_what_it_refuses), ON_CHANNELS(a_queue_pair_tells_of_itself),
	  ON_CHANNELS(a_cq_and_its_initiator_tell_of_an_overrun),
	  ON_CHANNELS(an_armed_cq_tells_of_completions),
	  ON_CHANNELS(a_pool_of_receives_tells_of_its_limit),
	  ON_CHANNELS(the_port_tells_who_names_no_object),
	  ON_CHANNELS(without_data_an_event_waits_once), ON_CHANNELS(too_little_room_loses_nothing),
	  ON_CHANNELS(who_reads_too_slowly_hears_so), ON_CHANNELS(an_eventfd_counts_instead),
	  ON_CHANNELS(only_an_eventfd_will_do), ON_CHANNELS(what_an_object_told_outlives_it),
	  ON_CHANNELS(a_channel_goes_before_its_objects),
	  ON_CHANNELS(the_kernel_refuses_what_is_no_event),
	  ON_CHANNELS(a_list_is_taken_whole_or_not_at_all))
