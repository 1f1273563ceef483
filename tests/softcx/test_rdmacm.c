/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rdma_cm device by its commands, as drivers/infiniband/core/ucma.c answers them: what is
 * refused, polling, signals, threads, processes. connections.py has programs of librdmacm.
 */
#include "rdmacm_calls.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

/* Connects an id to the listener of PORT, wherever that is. */
static uint32_t ask_for_connection(int fd)
{
	const uint32_t id = create(fd, 1);

	assert_int_equal(resolve(fd, id), 0);
	assert_event(fd, id, ADDR_RESOLVED);
	assert_int_equal(resolve_route(fd, id, 0), 0);
	assert_event(fd, id, ROUTE_RESOLVED);
	assert_int_equal(connect_id(fd, id), 0);
	return id;
}

/* -- what is refused --------------------------------------------------------------------------- */

static void a_command_is_a_whole_one(void **state)
{
	const int fd = open_channel(0), other = open_channel(0);
	const uint32_t id = create(fd, 1);
	struct rdma_ucm_create_id_resp resp;
	union command c = COMMAND(CREATE_ID, create_id, sizeof(resp));
	void *const unmapped = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char byte;

	c.create_id =
		(struct rdma_ucm_create_id){ .response = (uintptr_t)&resp, .ps = RDMA_PS_TCP };
	fails(write(fd, &c, sizeof(c.head) - 1), EINVAL);
	assert_int_equal(write(fd, &c, sizeof(c.head)), -1); /* shorter than it says */
	assert_int_equal(errno, EINVAL);
	fails(write(fd, unmapped, sizeof(c.head)), EFAULT);
	c.head.out--;
	assert_int_equal(tell(fd, &c), ENOSPC);
	c.head.out++;
	c.create_id.response = (uintptr_t)unmapped;
	assert_int_equal(tell(fd, &c), EFAULT);
	c.create_id.ps = 1;
	assert_int_equal(tell(fd, &c), EINVAL);
	c.head.cmd = RDMA_USER_CM_CMD_JOIN_MCAST + 1;
	assert_int_equal(tell(fd, &c), EINVAL);
	c.head.cmd = RDMA_USER_CM_CMD_GET_OPTION;
	assert_int_equal(tell(fd, &c), ENOSYS);
	fails(read(fd, &byte, 1), EINVAL);
	assert_int_equal(listen_at(fd, NO_ID), ENOENT);
	assert_int_equal(listen_at(other, id), EINVAL);
	assert_int_equal(destroy(fd, id), 0);
	assert_int_equal(listen_at(fd, id), ENOENT);
	munmap(unmapped, 4096);
	close(fd);
	close(other);
}

static void an_id_without_a_device_has_no_peer(void **state)
{
	const int fd = open_channel(0);
	const uint32_t id = create(fd, 1);
	union command connect = COMMAND(CONNECT, connect, 0);
	union command query = COMMAND(QUERY, query, sizeof(struct rdma_ucm_query_addr_resp));
	struct rdma_ucm_query_addr_resp resp;

	assert_int_equal(resolve_route(fd, id, 0), EINVAL);
	connect.connect.id = id;
	assert_int_equal(tell(fd, &connect), EINVAL);
	connect.connect.conn_param.valid = 1;
	assert_int_equal(tell(fd, &connect), EINVAL);
	connect.head.in = offsetof(struct rdma_ucm_connect, reserved);
	assert_int_equal(tell(fd, &connect), EINVAL);
	query.query = (struct rdma_ucm_query){ .response = (uintptr_t)&resp, .id = id };
	assert_int_equal(tell(fd, &query), 0);
	assert_int_equal(resp.port_num, 0);
	assert_int_equal(resp.node_guid, 0);
	query.query.option = RDMA_USER_CM_QUERY_GID + 1;
	assert_int_equal(tell(fd, &query), ENOSYS);
	assert_int_equal(destroy(fd, id), 0);
	close(fd);
}

static void the_table_of_ids_has_an_end(void **state)
{
	const int fd = open_channel(0);
	struct rdma_ucm_create_id_resp resp;
	union command c = COMMAND(CREATE_ID, create_id, sizeof(resp));
	int err = 0, again;

	c.create_id =
		(struct rdma_ucm_create_id){ .response = (uintptr_t)&resp, .ps = RDMA_PS_TCP };
	for (unsigned i = 0; i <= MANY && !err; i++)
		err = tell(fd, &c);
	assert_int_equal(err, ENOMEM);
	close(fd);
	again = open_channel(0);
	assert_int_equal(create(again, 1), 0);
	close(again);
}

/* -- waiting ----------------------------------------------------------------------------------- */

static void a_channel_is_readable_while_it_has_events(void **state)
{
	const int fd = open_channel(O_NONBLOCK), copy = dup(fd);
	const uint32_t id = create(fd, 1);
	struct rdma_ucm_event_resp event;

	assert_false(is_readable(fd, 0));
	assert_int_equal(get_event(fd, &event), EAGAIN);
	assert_int_equal(resolve(fd, id), 0);
	assert_true(is_readable(fd, 0));
	assert_true(is_readable(copy, 0));
	close(fd);
	assert_event(copy, id, ADDR_RESOLVED);
	assert_false(is_readable(copy, 0));
	assert_int_equal(destroy(copy, id), 1);

	/* Destruction takes along what was not read. */
	assert_int_equal(create(copy, 1), id);
	assert_int_equal(resolve(copy, id), 0);
	assert_true(is_readable(copy, 0));
	assert_int_equal(destroy(copy, id), 0);
	assert_false(is_readable(copy, 0));
	close(copy);
}

static atomic_int signals;

static void note_signal(int number)
{
	atomic_fetch_add(&signals, 1);
}

struct waiter {
	pthread_t thread;
	int fd, result;
	struct rdma_ucm_event_resp event;
	atomic_bool is_done;
};

static void *wait_for_event(void *arg)
{
	struct waiter *waiter = arg;

	waiter->result = get_event(waiter->fd, &waiter->event);
	atomic_store(&waiter->is_done, true);
	return NULL;
}

/* Signals it until the handler has run; once the thread sleeps it has been interrupted there. */
static void interrupt(struct waiter *waiter, int flags)
{
	const struct sigaction action = { .sa_handler = note_signal, .sa_flags = flags };

	sigaction(SIGUSR1, &action, NULL);
	atomic_store(&signals, 0);
	for (unsigned i = 0; i < 20 && !atomic_load(&waiter->is_done); i++) {
		pthread_kill(waiter->thread, SIGUSR1);
		usleep(2000);
	}
	assert_true(atomic_load(&signals) > 0);
}

static void start_waiter(struct waiter *waiter, int fd)
{
	*waiter = (struct waiter){ .fd = fd };
	assert_int_equal(pthread_create(&waiter->thread, NULL, wait_for_event, waiter), 0);
}

static void a_signal_ends_a_wait(void **state)
{
	struct waiter waiter;
	const int fd = open_channel(0);

	start_waiter(&waiter, fd);
	interrupt(&waiter, 0);
	pthread_join(waiter.thread, NULL);
	assert_int_equal(waiter.result, EINTR);
	close(fd);
}

#ifndef __SANITIZE_THREAD__ /* which calls handlers only when write(2) is over */
static void a_wait_is_restarted_where_the_handler_says_so(void **state)
{
	const int fd = open_channel(0);
	const uint32_t id = create(fd, 1);
	struct waiter waiter;

	start_waiter(&waiter, fd);
	interrupt(&waiter, SA_RESTART);
	assert_false(atomic_load(&waiter.is_done));
	assert_int_equal(resolve(fd, id), 0);
	pthread_join(waiter.thread, NULL);
	assert_int_equal(waiter.result, 0);
	assert_int_equal(waiter.event.event, ADDR_RESOLVED);
	close(fd);
}

#endif

#ifndef __SANITIZE_ADDRESS__ /* gcc 12's stops at the unwinding of a cancelled thread */
static void a_waiting_thread_can_be_cancelled(void **state)
{
	const int fd = open_channel(0);
	struct waiter waiter;
	void *result;

	start_waiter(&waiter, fd);
	assert_int_equal(pthread_cancel(waiter.thread), 0);
	pthread_join(waiter.thread, &result);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	assert_int_equal(create(fd, 1), 0);
	close(fd);
}

#endif

/* -- files ------------------------------------------------------------------------------------- */

static void an_id_moves_to_another_channel_with_its_events(void **state)
{
	const int from = open_channel(0), to = open_channel(0);
	const uint32_t id = create(from, 1);
	struct rdma_ucm_migrate_resp resp;
	union command c = COMMAND(MIGRATE_ID, migrate_id, sizeof(resp));

	assert_int_equal(resolve(from, id), 0);
	c.migrate_id =
		(struct rdma_ucm_migrate_id){ .response = (uintptr_t)&resp, .id = id, .fd = 9999 };
	assert_int_equal(tell(to, &c), ENOENT);
	c.migrate_id.fd = STDERR_FILENO;
	assert_int_equal(tell(to, &c), EINVAL);
	c.migrate_id.fd = (uint32_t)from;
	assert_int_equal(tell(to, &c), 0);
	assert_int_equal(resp.events_reported, 0);
	assert_false(is_readable(from, 0));
	assert_event(to, id, ADDR_RESOLVED);
	assert_int_equal(bind_to(from, id, 0), EINVAL);
	close(from);
	assert_int_equal(destroy(to, id), 1);
	close(to);
}

/* The child has the channel alone once its parent has closed it; and it ends with the child. */
static void a_channel_is_there_until_its_last_process_closes_it(void **state)
{
	const int fd = open_channel(0), client = open_channel(0);
	const uint32_t listener = create(fd, 1);
	int turn[2], listens[2], status;
	pid_t child;
	char byte = 0;

	assert_int_equal(pipe(turn), 0);
	assert_int_equal(pipe(listens), 0);
	assert_int_equal(bind_to(fd, listener, PORT), 0);
	child = fork();
	if (!child) {
		struct rdma_ucm_event_resp event;
		const bool is_mine = read(turn[0], &byte, 1) == 1 && !listen_at(fd, listener) &&
				     write(listens[1], &byte, 1) == 1;

		_exit(!is_mine || get_event(fd, &event) || event.event != CONNECT_REQUEST);
	}
	close(fd);
	assert_int_equal(write(turn[1], &byte, 1), 1);
	assert_int_equal(read(listens[0], &byte, 1), 1);
	ask_for_connection(client);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(is_readable(client, LONG_MS)); /* it is refused, by the end of the child */
	assert_int_equal(bind_to(client, create(client, 1), PORT), 0);
	close(client);
	for (unsigned i = 0; i < 2; i++) {
		close(turn[i]);
		close(listens[i]);
	}
}

/* -- plans ------------------------------------------------------------------------------------- */

enum { HELD_MS = 100 };

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* The id of the event; it came at least so long after @since. */
static uint32_t assert_held(int fd, unsigned wanted, uint64_t since)
{
	struct rdma_ucm_event_resp event;

	assert_int_equal(get_event(fd, &event), 0);
	assert_int_equal(event.event, wanted);
	assert_true(now_ms() - since >= HELD_MS);
	return event.id;
}

static int accept_it(int fd, uint32_t id, bool has_parameters)
{
	union command c = COMMAND(ACCEPT, accept, 0);

	c.accept = (struct rdma_ucm_accept){
		.uid = 1, .conn_param.valid = has_parameters, .id = id
	};
	return tell(fd, &c);
}

/* Also where the end that leaves has gone meanwhile. */
static void a_plan_holds_messages_back(void **state)
{
	const int server = open_channel(0), client = open_channel(0);
	const uint32_t listener = create(server, 1);
	union command c = COMMAND(DISCONNECT, disconnect, 0);
	const uint64_t begin = now_ms();
	uint32_t asking, asked;
	uint64_t left;

	assert_int_equal(bind_to(server, listener, PORT), 0);
	asking = ask_for_connection(client); /* nobody listens yet */
	assert_int_equal(listen_at(server, listener), 0);
	asked = assert_held(server, CONNECT_REQUEST, begin);
	assert_int_equal(accept_it(server, asked, true), 0);
	assert_event(client, asking, CONNECT_RESPONSE);
	assert_int_equal(accept_it(client, asking, false), 0);
	assert_event(server, asked, ESTABLISHED);
	left = now_ms();
	c.disconnect.id = asking;
	assert_int_equal(tell(client, &c), 0);
	close(client);
	assert_int_equal(assert_held(server, DISCONNECTED, left), asked);
	close(server);
}

static int set_up(void **state)
{
	return set_up_plan(CX_LINK_ROCE, *state);
}

#define TEST(f) GIVEN(f, NULL, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_command_is_a_whole_one),
		TEST(an_id_without_a_device_has_no_peer),
		TEST(the_table_of_ids_has_an_end),
		TEST(a_channel_is_readable_while_it_has_events),
		TEST(a_signal_ends_a_wait),
#ifndef __SANITIZE_THREAD__
		TEST(a_wait_is_restarted_where_the_handler_says_so),
#endif
#ifndef __SANITIZE_ADDRESS__
		TEST(a_waiting_thread_can_be_cancelled),
#endif
		TEST(an_id_moves_to_another_channel_with_its_events),
		TEST(a_channel_is_there_until_its_last_process_closes_it),
		GIVEN(a_plan_holds_messages_back,
		      "opcode=REQ delay 100000; opcode=DREQ delay 100000", set_up, tear_down)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
