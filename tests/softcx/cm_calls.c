/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of librdmacm, each with its result, and the events that follow. What it prints is the same
 * on Linux, where cm_calls.txt was recorded (6.1, soft-RoCE: tests/vm), and on softcx. usage:
 * cm_calls ADDRESS, one of the device.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>

enum { PORT = 7000, NOBODYS_PORT = 7999, SOON_MS = 3000, NOT_MS = 300, REPEAT_MS = 9000 };

static const char *address;
static struct rdma_event_channel *client_channel, *server_channel;
static struct rdma_cm_id *listener;
static bool is_child;

/* What each side asks for; the numbers differ, so that none can be taken for another. */
static const struct rdma_conn_param asked = { .responder_resources = 3,
					      .initiator_depth = 2,
					      .flow_control = 1,
					      .retry_count = 9,
					      .rnr_retry_count = 5,
					      .private_data = "hello",
					      .private_data_len = 5 };
static const struct rdma_conn_param offered = { .responder_resources = 4,
						.initiator_depth = 1,
						.flow_control = 1,
						.rnr_retry_count = 6,
						.private_data = "well",
						.private_data_len = 4 };

static struct sockaddr_in at(const char *host, int port)
{
	struct sockaddr_in where = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

	inet_pton(AF_INET, host, &where.sin_addr);
	return where;
}

static void print_result(const char *call, int result)
{
	if (!is_child)
		printf("  %s: %s\n", call, result ? strerror(errno) : "0");
}

#define CALL(call) print_result(#call, (call))

static int bind_to(struct rdma_cm_id *id, const char *host, int port)
{
	struct sockaddr_in where = at(host, port);

	return rdma_bind_addr(id, (struct sockaddr *)&where);
}

static int resolve(struct rdma_cm_id *id, const char *host, int port, int timeout_ms)
{
	struct sockaddr_in where = at(host, port);

	return rdma_resolve_addr(id, NULL, (struct sockaddr *)&where, timeout_ms);
}

/* -- events ------------------------------------------------------------------------------------ */

static void print_connection(const struct rdma_conn_param *conn)
{
	printf(", responder %d initiator %d flow %d retry %d rnr %d srq %d, %d bytes: %.5s",
	       conn->responder_resources, conn->initiator_depth, conn->flow_control,
	       conn->retry_count, conn->rnr_retry_count, conn->srq, conn->private_data_len,
	       conn->private_data_len ? (const char *)conn->private_data : "");
}

static void print_event(const char *who, const struct rdma_cm_event *event)
{
	printf("  %s hears: %s, status %d", who, rdma_event_str(event->event), event->status);
	if (event->id->qp_type == IBV_QPT_UD)
		printf(", qkey %#x, %d bytes: %.5s", event->param.ud.qkey,
		       event->param.ud.private_data_len,
		       event->param.ud.private_data_len ? (const char *)event->param.ud.private_data
							: "");
	else
		print_connection(&event->param.conn);
	putchar('\n');
}

/* The next event; NULL: none came. The id of a connection request is the new one. */
static struct rdma_cm_id *hear(const char *who, struct rdma_event_channel *channel, int timeout_ms)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	if (poll(&(struct pollfd){ .fd = channel->fd, .events = POLLIN }, 1, timeout_ms) <= 0) {
		printf("  %s hears nothing\n", who);
		return NULL;
	}
	if (rdma_get_cm_event(channel, &event)) {
		print_result("rdma_get_cm_event", -1);
		return NULL;
	}
	if (!is_child)
		print_event(who, event);
	id = event->id;
	rdma_ack_cm_event(event);
	return id;
}

static struct rdma_cm_id *client_hears(int timeout_ms)
{
	return hear("client", client_channel, timeout_ms);
}

static struct rdma_cm_id *server_hears(int timeout_ms)
{
	return hear("server", server_channel, timeout_ms);
}

/* -- ids and queue pairs ----------------------------------------------------------------------- */

static struct rdma_cm_id *new_id(struct rdma_event_channel *channel, enum rdma_port_space space)
{
	struct rdma_cm_id *id;

	if (rdma_create_id(channel, &id, NULL, space)) {
		perror("rdma_create_id");
		exit(1);
	}
	return id;
}

static void give_queue_pair(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = id->qp_type,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	attr.send_cq = attr.recv_cq = ibv_create_cq(id->verbs, 16, NULL, NULL, 0);
	CALL(rdma_create_qp(id, NULL, &attr));
}

static void print_queue_pair(const char *whose, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init;
	struct ibv_port_attr port;
	struct ibv_qp_attr attr;

	if (ibv_query_qp(id->qp, &attr, IBV_QP_STATE | IBV_QP_AV, &init) ||
	    ibv_query_port(id->verbs, id->port_num, &port))
		return;
	printf("  %s's queue pair: state %d access %#x mtu of the port: %d timeout %d retry %d rnr "
	       "%d reads %d/%d"
	       " rnr timer %d hop limit %d class %d flow label %s\n",
	       whose, attr.qp_state, attr.qp_access_flags, attr.path_mtu == port.active_mtu,
	       attr.timeout, attr.retry_cnt, attr.rnr_retry, attr.max_rd_atomic,
	       attr.max_dest_rd_atomic, attr.min_rnr_timer, attr.ah_attr.grh.hop_limit,
	       attr.ah_attr.grh.traffic_class, attr.ah_attr.grh.flow_label ? "some" : "none");
}

static void end(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	CALL(rdma_destroy_id(id));
}

/* A client that has found its way to a port. */
static struct rdma_cm_id *client_of(enum rdma_port_space space, int port)
{
	struct rdma_cm_id *id = new_id(client_channel, space);

	CALL(resolve(id, address, port, 1000));
	client_hears(SOON_MS);
	CALL(rdma_resolve_route(id, 1000));
	client_hears(SOON_MS);
	give_queue_pair(id);
	return id;
}

static struct rdma_cm_id *connecting(int port)
{
	struct rdma_conn_param conn = asked;
	struct rdma_cm_id *id = client_of(RDMA_PS_TCP, port);

	CALL(rdma_connect(id, &conn));
	return id;
}

/* Both ends of a connection. */
static struct rdma_cm_id *connected(struct rdma_cm_id **server)
{
	struct rdma_conn_param conn = offered;
	struct rdma_cm_id *id = connecting(PORT);

	*server = server_hears(SOON_MS);
	give_queue_pair(*server);
	CALL(rdma_accept(*server, &conn));
	client_hears(SOON_MS);
	server_hears(SOON_MS);
	return id;
}

static void listen_at(const char *host, enum rdma_port_space space, int backlog)
{
	listener = new_id(server_channel, space);
	CALL(bind_to(listener, host, PORT));
	CALL(rdma_listen(listener, backlog));
}

/* -- scenes ------------------------------------------------------------------------------------ */

static void addresses(void)
{
	struct rdma_cm_id *id = new_id(client_channel, RDMA_PS_TCP);

	CALL(bind_to(id, "203.0.113.9", 0)); /* RFC 5737: nobody's */
	CALL(bind_to(id, "127.0.0.1", 0));
	CALL(bind_to(id, address, PORT));
	CALL(rdma_listen(id, 1));
	CALL(rdma_listen(id, 1));
	CALL(resolve(id, address, PORT, 100));
	printf("  it has a port: %d\n", rdma_get_src_port(id) != 0);
	end(id);

	/* Loopback has no interface of the device. */
	id = new_id(client_channel, RDMA_PS_TCP);
	CALL(resolve(id, "127.0.0.1", PORT, 1000));
	client_hears(SOON_MS);
	CALL(rdma_resolve_route(id, 1000));
	end(id);
}

static void ports(void)
{
	struct rdma_cm_id *id;
	int one = 1;

	listen_at(address, RDMA_PS_TCP, 2);
	id = new_id(server_channel, RDMA_PS_TCP);
	CALL(bind_to(id, address, PORT));
	CALL(bind_to(id, "0.0.0.0", PORT));
	CALL(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &one, sizeof(one)));
	CALL(bind_to(id, address, PORT));
	CALL(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &one, sizeof(one)));
	CALL(rdma_set_option(id, RDMA_OPTION_ID, 99, &one, sizeof(one)));
	end(id);
	id = new_id(server_channel, RDMA_PS_UDP);
	CALL(bind_to(id, address, PORT));
	end(id);
	id = new_id(server_channel, RDMA_PS_IPOIB);
	CALL(bind_to(id, address, PORT));
	end(id);
}

static void print_path(const struct rdma_cm_id *id)
{
	const struct ibv_sa_path_rec *path = id->route.path_rec;

	printf("  %d path: to itself: %d, hop limit %d class %d flow label %s, reversible %d, "
	       "lifetime %d\n",
	       id->route.num_paths, !memcmp(&path->sgid, &path->dgid, sizeof(path->sgid)),
	       path->hop_limit, path->traffic_class, path->flow_label ? "some" : "none",
	       path->reversible, path->packet_life_time);
}

/* What the client sets reaches both queue pairs, its own time-out alone aside. */
static void options(void)
{
	const uint8_t tos = 0x68, ack_timeout = 20;
	struct rdma_cm_id *id = new_id(client_channel, RDMA_PS_TCP), *server;
	struct rdma_conn_param conn = asked, reply = offered;

	CALL(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, (void *)&tos, sizeof(tos)));
	CALL(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, (void *)&ack_timeout,
			     sizeof(ack_timeout)));
	CALL(resolve(id, address, PORT, 1000));
	client_hears(SOON_MS);
	CALL(rdma_resolve_route(id, 1000));
	client_hears(SOON_MS);
	print_path(id);
	give_queue_pair(id);
	CALL(rdma_connect(id, &conn));
	server = server_hears(SOON_MS);
	print_path(server);
	give_queue_pair(server);
	CALL(rdma_accept(server, &reply));
	client_hears(SOON_MS);
	server_hears(SOON_MS);
	print_queue_pair("client", id);
	print_queue_pair("server", server);
	end(id);
	server_hears(SOON_MS);
	end(server);
}

static void nobody_listens(void)
{
	struct rdma_conn_param conn = asked;
	struct rdma_cm_id *id = connecting(NOBODYS_PORT);

	client_hears(SOON_MS);
	CALL(rdma_disconnect(id));
	CALL(rdma_connect(id, &conn));
	end(id);
}

static void too_much_private_data(void)
{
	struct rdma_cm_id *id = client_of(RDMA_PS_TCP, PORT), *server;
	struct rdma_conn_param conn = asked;
	char data[UINT8_MAX] = "many";

	conn.private_data = data;
	conn.private_data_len = 57;
	CALL(rdma_connect(id, &conn));
	conn.private_data_len = 56;
	CALL(rdma_connect(id, &conn));
	server = server_hears(SOON_MS);
	give_queue_pair(server);
	conn.private_data_len = 197;
	CALL(rdma_accept(server, &conn));
	client_hears(SOON_MS);
	end(server);
	end(id);
}

static void refused(void)
{
	struct rdma_conn_param conn = offered;
	struct rdma_cm_id *id = connecting(PORT), *server = server_hears(SOON_MS);

	CALL(rdma_reject(server, "nope", 4));
	client_hears(SOON_MS);
	CALL(rdma_reject(server, "nope", 4));
	CALL(rdma_accept(server, &conn));
	end(server);
	end(id);
}

static void ended_by_the_client(void)
{
	struct rdma_cm_id *server, *id = connected(&server);

	print_queue_pair("client", id);
	print_queue_pair("server", server);
	printf("  the ports are the same: %d\n",
	       rdma_get_src_port(id) == rdma_get_dst_port(server));
	CALL(rdma_disconnect(id));
	server_hears(SOON_MS);
	client_hears(NOT_MS);
	CALL(rdma_disconnect(server));
	client_hears(SOON_MS);
	CALL(rdma_disconnect(id));
	CALL(rdma_disconnect(server));
	client_hears(SOON_MS);
	server_hears(SOON_MS);
	end(id);
	end(server);
}

static void ended_by_destruction(void)
{
	struct rdma_cm_id *server, *id = connected(&server);

	end(server);
	client_hears(SOON_MS);
	CALL(rdma_disconnect(id));
	client_hears(NOT_MS);
	end(id);
}

static void the_client_gives_up(void)
{
	struct rdma_conn_param conn = offered;
	struct rdma_cm_id *id = connecting(PORT), *server = server_hears(SOON_MS);

	give_queue_pair(server);
	end(id);
	server_hears(NOT_MS);
	CALL(rdma_accept(server, &conn));
	end(server);
}

static void the_server_gives_up(void)
{
	struct rdma_cm_id *id = connecting(PORT);

	end(server_hears(SOON_MS));
	client_hears(SOON_MS);
	end(id);

	/* And once more, before its program has read of the request. */
	id = connecting(PORT);
	client_hears(NOT_MS);
	end(listener);
	client_hears(SOON_MS);
	end(id);
}

/* A second request finds no room, and comes again. */
static void a_full_backlog(void)
{
	struct rdma_cm_id *first, *second, *server;

	listen_at("0.0.0.0", RDMA_PS_TCP, 1);
	first = connecting(PORT);
	second = connecting(PORT);
	client_hears(NOT_MS);
	end(server_hears(SOON_MS));
	server_hears(NOT_MS);
	client_hears(SOON_MS);
	server = server_hears(REPEAT_MS);
	if (server)
		end(server);
	client_hears(SOON_MS);
	end(first);
	end(second);
	end(listener);
}

static struct rdma_cm_id *asking(int port)
{
	struct rdma_conn_param conn = asked;
	struct rdma_cm_id *id = client_of(RDMA_PS_UDP, port);

	CALL(rdma_connect(id, &conn));
	return id;
}

static void datagrams(void)
{
	struct rdma_conn_param conn = offered;
	struct rdma_cm_id *id, *server;

	listen_at("0.0.0.0", RDMA_PS_UDP, 4);
	id = asking(NOBODYS_PORT);
	client_hears(SOON_MS);
	end(id);

	id = asking(PORT);
	server = server_hears(SOON_MS);
	CALL(rdma_reject(server, "no", 2));
	client_hears(SOON_MS);
	end(server);
	end(id);

	id = asking(PORT);
	server = server_hears(SOON_MS);
	give_queue_pair(server);
	CALL(rdma_accept(server, &conn));
	client_hears(SOON_MS);
	server_hears(NOT_MS);
	CALL(rdma_disconnect(id));
	end(server);
	end(id);
	end(listener);
}

/* The killed process is another program, with a device of its own. */
static void a_killed_peer(const char *program)
{
	struct rdma_conn_param conn = offered;
	struct rdma_cm_id *server;
	pid_t child;

	listen_at("0.0.0.0", RDMA_PS_TCP, 4);
	fflush(stdout);
	child = fork();
	if (!child) {
		execl(program, program, address, "child", NULL);
		_exit(1);
	}
	server = server_hears(SOON_MS);
	give_queue_pair(server);
	CALL(rdma_accept(server, &conn));
	server_hears(SOON_MS);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	server_hears(SOON_MS);
	CALL(rdma_disconnect(server));
	server_hears(SOON_MS);
	end(server);
	end(listener);
}

static const struct {
	const char *name;
	void (*play)(void);
} scenes[] = {
	{ "addresses", addresses },
	{ "ports", ports },
	{ "options", options },
	{ "nobody listens", nobody_listens },
	{ "too much private data", too_much_private_data },
	{ "refused", refused },
	{ "ended by the client", ended_by_the_client },
	{ "ended by destruction", ended_by_destruction },
	{ "the client gives up", the_client_gives_up },
	{ "the server gives up", the_server_gives_up },
	{ "a full backlog", a_full_backlog },
	{ "datagrams", datagrams },
};

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	address = argv[1];
	is_child = argc > 2;
	client_channel = rdma_create_event_channel();
	server_channel = rdma_create_event_channel();
	if (is_child) {
		connecting(PORT);
		client_hears(SOON_MS);
		pause();
	}
	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
		printf("%s\n", scenes[i].name);
		scenes[i].play();
	}
	printf("a killed peer\n");
	a_killed_peer("/proc/self/exe");
	return 0;
}
