/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages there and back. A process sleeps while it waits for one, on a completion channel.
 *
 *	pingpong PORT         answers
 *	pingpong PORT HOST    begins
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bsn.h"
#include "connect.h"

enum { TIMEOUT_MS = 30000, ROUNDS = 1000, BYTES = 64 };

struct end {
	struct bsn_device *dev;
	struct bsn_channel *channel;
	struct bsn_mr *buf; /* the message that goes out, then the one that comes in */
	struct bsn_cq *cq;
	struct bsn_qp *qp;
	unsigned sent, received; /* completions seen */
};

static void die(const char *why)
{
	fprintf(stderr, "pingpong: %s\n", why);
	exit(1);
}

static void must(int err, const char *(*why)(void))
{
	if (err)
		die(why());
}

static void open_end(struct end *e)
{
	must(bsn_device_open(NULL, NULL, &e->dev), bsn_error_text);
	must(bsn_channel_create(e->dev, &e->channel), bsn_error_text);
	must(bsn_buf_alloc(e->dev, 2 * BYTES, NULL, &e->buf), bsn_error_text);
	must(bsn_cq_create(e->dev, &(struct bsn_cq_attr){ .entries = 256, .channel = e->channel },
			   &e->cq),
	     bsn_error_text);
	must(bsn_qp_create(e->dev, &(struct bsn_qp_attr){ .type = BSN_QP_RC, .cq = e->cq }, &e->qp),
	     bsn_error_text);
}

static void close_end(struct end *e)
{
	must(bsn_qp_destroy(e->qp), bsn_error_text);
	must(bsn_cq_destroy(e->cq), bsn_error_text);
	must(bsn_buf_free(e->buf), bsn_error_text);
	must(bsn_channel_destroy(e->channel), bsn_error_text);
	must(bsn_device_close(e->dev), bsn_error_text);
}

static void post_recv(struct end *e)
{
	const struct bsn_sge in = bsn_sge_of(e->buf, BYTES, BYTES);

	if (bsn_recv(bsn_qp_rq(e->qp), &in, 0))
		die("the receive queue is full");
}

static void send_message(struct end *e, const void *message)
{
	const struct bsn_sge out = bsn_sge_of(e->buf, 0, BYTES);

	memcpy(e->buf->data, message, BYTES);
	if (bsn_send(bsn_qp_ep(e->qp), &out, 0, BSN_F_SIGNALED | BSN_F_RING))
		die("the send queue is full");
}

/* Polls once. Returns whether there were completions. */
static bool reap(struct end *e)
{
	struct bsn_completion c[8];
	const int n = bsn_poll(e->cq, c, 8);

	if (n < 0)
		die("the completion queue is dead");
	for (int i = 0; i < n; i++) {
		if (c[i].status)
			die(ibv_wc_status_str((enum ibv_wc_status)c[i].status));
		*(c[i].opcode == BSN_RECV ? &e->received : &e->sent) += 1;
	}
	return n > 0;
}

/*
 * Waits until so many were sent and received. It asks for an event before the last poll, so a
 * completion in between is either polled or wakes it up.
 */
static void await(struct end *e, unsigned sent, unsigned received)
{
	struct bsn_cq *cq;

	while (e->sent < sent || e->received < received) {
		if (reap(e))
			continue;
		must(bsn_cq_request(e->cq, false), bsn_error_text);
		if (!reap(e))
			must(bsn_channel_get(e->channel, &cq), bsn_error_text);
	}
}

static void connect_ends(struct end *e, int peer)
{
	struct bsn_address mine, theirs;
	char ready;

	must(bsn_qp_address(e->qp, &mine), bsn_error_text);
	must(connect_swap(peer, &mine, &theirs, sizeof(mine), TIMEOUT_MS), connect_error);
	must(bsn_qp_connect(e->qp, &theirs, NULL), bsn_error_text);
	post_recv(e); /* before the peer can send */
	must(connect_swap(peer, "", &ready, 1, TIMEOUT_MS), connect_error);
}

int main(int argc, char **argv)
{
	const bool begins = argc > 2;
	char message[BYTES] = "0";
	struct end e = { 0 };
	char ready;
	int peer;

	if (argc < 2 || argc > 3 || *argv[1] == '-') {
		fprintf(stderr, "usage: pingpong PORT [HOST]\n");
		return 2;
	}
	open_end(&e);
	must(connect_meet(argv[2], argv[1], TIMEOUT_MS, &peer), connect_error);
	connect_ends(&e, peer);
	const char *const in = (const char *)e.buf->data + BYTES;
	for (unsigned round = 1; round <= ROUNDS; round++) {
		if (begins)
			send_message(&e, message);
		await(&e, round - !begins, round);
		snprintf(message, sizeof(message), "%u", (unsigned)atoi(in) + 1);
		post_recv(&e); /* before the answer is asked for */
		if (!begins)
			send_message(&e, message);
	}
	await(&e, ROUNDS, ROUNDS);
	printf("%u messages there and back; the last one said %s\n", ROUNDS, in);
	must(connect_swap(peer, "", &ready, 1, TIMEOUT_MS), connect_error); /* before a QP goes */
	close(peer);
	close_end(&e);
	return 0;
}
