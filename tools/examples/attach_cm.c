/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that connects by rdma_cm, and posts and polls by Bunsen. It creates the queue pair on
 * the rdma_cm_id and attaches it before its first post. The client sends a greeting, the server
 * answers.
 *
 *	attach_cm PORT         the server
 *	attach_cm PORT HOST    the client; HOST is an address of the RDMA port
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bsn.h"
#include "connect.h"
#include "connect_cm.h"

enum { TIMEOUT_MS = 30000, DEPTH = 8, BYTES = 64 };

/* What the program has with or without Bunsen, and what Bunsen adds. */
struct talk {
	struct connect_cm cm;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct bsn_device *dev;
	struct bsn_qp *qp;
	unsigned said, heard;
	char in[BYTES], out[BYTES];
};

static __attribute__((noreturn)) void die(const char *why)
{
	fprintf(stderr, "attach_cm: %s\n", why);
	exit(1);
}

static void must(int err, const char *(*why)(void))
{
	if (err)
		die(why());
}

/* On the id, as in any program that uses rdma_cm. */
static void make_qp(struct talk *t)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC,
					 .cap = { .max_send_wr = DEPTH,
						  .max_recv_wr = DEPTH,
						  .max_send_sge = 1,
						  .max_recv_sge = 1 } };

	t->cq = ibv_create_cq(t->cm.id->verbs, 4 * DEPTH, NULL, NULL, 0);
	init.send_cq = init.recv_cq = t->cq;
	if (!t->cq || rdma_create_qp(t->cm.id, NULL, &init))
		die(strerror(errno));
	t->mr = ibv_reg_mr(t->cm.id->pd, t, sizeof(*t), IBV_ACCESS_LOCAL_WRITE);
	if (!t->mr)
		die(strerror(errno));
}

/* The one new step. The first receive is posted before the connection is up. */
static void adopt_qp(struct talk *t)
{
	/* Nobody else in this program posts through the queue pair's doorbell register. */
	const struct bsn_attach_attr attr = { .register_is_ours = true };
	const struct bsn_sge into = { (uintptr_t)t->in, BYTES, t->mr->lkey };

	must(bsn_device_attach(t->cm.id->verbs, NULL, &t->dev), bsn_error_text);
	must(bsn_qp_attach(t->dev, t->cm.id->qp, &attr, &t->qp), bsn_error_text);
	if (bsn_recv(bsn_qp_rq(t->qp), &into, 0))
		die("no room for a receive");
}

static void meet(struct talk *t, const char *port, const char *host)
{
	if (host) {
		must(connect_cm_resolve(host, port, TIMEOUT_MS, &t->cm), connect_error);
	} else {
		must(connect_cm_listen(port, &t->cm), connect_error);
		printf("waiting for a client on port %s\n", port);
		fflush(stdout);
		must(connect_cm_take(&t->cm, TIMEOUT_MS), connect_error);
	}
	make_qp(t);
	adopt_qp(t);
	must(host ? connect_cm_connect(&t->cm, TIMEOUT_MS) : connect_cm_accept(&t->cm, TIMEOUT_MS),
	     connect_error);
}

static void await(struct talk *t, const unsigned *counter)
{
	struct bsn_completion done;
	int n;

	while (!*counter) {
		n = bsn_poll(bsn_qp_info(t->qp)->cq, &done, 1);
		if (n < 0 || (n && done.status))
			die(n < 0 ? strerror(-n)
				  : ibv_wc_status_str((enum ibv_wc_status)done.status));
		if (n)
			++*(done.opcode == BSN_RECV ? &t->heard : &t->said);
	}
}

static void say(struct talk *t)
{
	const struct bsn_sge from = { (uintptr_t)t->out, BYTES, t->mr->lkey };

	snprintf(t->out, BYTES, "hello from process %d", (int)getpid());
	if (bsn_send(bsn_qp_ep(t->qp), &from, 1, BSN_F_SIGNALED | BSN_F_RING))
		die("the greeting was refused");
}

/* The client, which receives last, waits: its acknowledgement must still reach the server. */
static void talk(struct talk *t, bool is_client)
{
	if (is_client)
		say(t);
	await(t, &t->heard);
	printf("%s\n", t->in);
	if (!is_client)
		say(t);
	await(t, &t->said);
	must(is_client ? connect_cm_await_end(&t->cm, TIMEOUT_MS) : connect_cm_end(&t->cm),
	     connect_error);
}

static void part(struct talk *t)
{
	must(bsn_qp_destroy(t->qp), bsn_error_text); /* detaches */
	must(bsn_device_close(t->dev), bsn_error_text);
	rdma_destroy_qp(t->cm.id);
	if (ibv_dereg_mr(t->mr) || ibv_destroy_cq(t->cq))
		die(strerror(errno));
	connect_cm_close(&t->cm);
}

int main(int argc, char **argv)
{
	static struct talk t;

	if (argc < 2 || argc > 3 || *argv[1] == '-') {
		fprintf(stderr, "usage: attach_cm PORT [HOST]\n");
		return 2;
	}
	meet(&t, argv[1], argv[2]);
	talk(&t, argc == 3);
	part(&t);
	return 0;
}
