/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A message of COST_DATA_BYTES between two ends of this process as a row of `bsn-perf cost`: by the
 * channel of bsn_msg.h, by SEND and receive, and by those of libibverbs. An operation is one way:
 * it is sent, found, read, and the next may come. QPs take turns, there and back. Instructions are
 * the program's alone; the device's work is in the times.
 */
#include <stdlib.h>

#include "bsn_msg.h"
#include "cost_bunsen.h"
#include "cost_verbs.h"
#include "stepper.h"

enum {
	ENDS = 2,
	INTO = 2048,     /* where messages arrive */
	LONE_DEPTH = 64, /* of one QP, or of each of many: */
	MANY_DEPTH = 16,
	SIGNAL_EVERY = 8,   /* requests of a QP, of libibverbs */
	CREDITS_EVERY = 16, /* messages of a QP, of the channel */
	BLOCKS = 2,         /* of a request of so many bytes inline */
};

/* A QP of either kind. */
struct way {
	struct bsn_qp *qp;
	struct bsn_msg_line *line;
	struct plain_qp plain;
	unsigned sent;
};

struct end {
	uint8_t *memory;
	struct bsn_mr *mr;
	struct bsn_msg_inbox *inbox;
	struct bsn_cq *sends, *recvs;
	struct plain_qp common; /* of the ways, where they are libibverbs' */
	struct way *ways;
};

struct trip {
	struct bsn_device *device;
	const struct kind *kind;
	unsigned qps, at; /* messages so far */
	struct end ends[ENDS];
};

/* @send polls for what it sent where that is due; @find answers as bsn_poll(). */
struct kind {
	bool has_lines, is_verbs;
	int (*send)(struct end *end, struct way *way, const void *data);
	int (*poll_sends)(struct end *end);
	int (*find)(struct end *end, const void **data);
	int (*ready)(const struct end *end, const struct way *way); /* for what comes next */
};

/* -- one way of each kind ---------------------------------------------------------------------- */

static bool is_due(struct way *way)
{
	return way->sent++ % SIGNAL_EVERY == SIGNAL_EVERY - 1;
}

static int poll_sends(struct end *end)
{
	struct bsn_completion c;

	return bsn_poll(end->sends, &c, 1);
}

static int message_send(struct end *end, struct way *way, const void *data)
{
	const int err = bsn_msg_send(way->line, data, COST_DATA_BYTES, BSN_F_RING);

	return err || !is_due(way) ? err : poll_sends(end);
}

static int message_find(struct end *end, const void **data)
{
	struct bsn_msg msg;
	const int got = bsn_msg_poll(end->inbox, &msg);

	if (got > 0)
		*data = msg.data;
	return got;
}

static int message_ready(const struct end *end, const struct way *way)
{
	(void)end;
	(void)way;
	return 0;
}

static int send_send(struct end *end, struct way *way, const void *data)
{
	const int err = bsn_send_inline(bsn_qp_ep(way->qp), data, COST_DATA_BYTES, 0, BSN_F_RING);

	return err || !is_due(way) ? err : poll_sends(end);
}

static int send_find(struct end *end, const void **data)
{
	struct bsn_completion c;
	const int got = bsn_poll(end->recvs, &c, 1);

	*data = end->memory + INTO;
	return got > 0 && c.status ? -EIO : got;
}

static int send_ready(const struct end *end, const struct way *way)
{
	const struct bsn_sge into = { end->mr->addr + INTO, COST_DATA_BYTES, end->mr->lkey };

	return bsn_recv(bsn_qp_rq(way->qp), &into, 0);
}

static int ibv_poll_sends(struct end *end)
{
	struct ibv_wc wc;

	return ibv_poll_cq(end->common.cq, 1, &wc);
}

static int ibv_send(struct end *end, struct way *way, const void *data)
{
	const bool is_signaled = is_due(way);
	struct ibv_sge local = { (uintptr_t)data, COST_DATA_BYTES, 0 };
	struct ibv_send_wr wr = { .sg_list = &local,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags =
					  IBV_SEND_INLINE | (is_signaled ? IBV_SEND_SIGNALED : 0) };
	struct ibv_send_wr *wrong;
	const int err = -ibv_post_send(way->plain.qp, &wr, &wrong);

	return err || !is_signaled ? err : ibv_poll_sends(end);
}

static int ibv_find(struct end *end, const void **data)
{
	struct ibv_wc wc;
	const int got = ibv_poll_cq(end->common.recv_cq, 1, &wc);

	*data = end->memory + INTO;
	return got < 0 || (got && wc.status) ? -EIO : got;
}

static int ibv_ready(const struct end *end, const struct way *way)
{
	struct ibv_sge into = { (uintptr_t)end->memory + INTO, COST_DATA_BYTES,
				end->common.mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &into, .num_sge = 1 }, *wrong;

	return -ibv_post_recv(way->plain.qp, &wr, &wrong);
}

static const struct kind by_message = { true,       false,        message_send,
					poll_sends, message_find, message_ready };
static const struct kind by_send = { false, false, send_send, poll_sends, send_find, send_ready };
static const struct kind by_ibv = { false, true, ibv_send, ibv_poll_sends, ibv_find, ibv_ready };

/* -- there and back ---------------------------------------------------------------------------- */

static int take_at(const struct trip *t, struct end *end, const struct way *way)
{
	unsigned patience = COST_PATIENCE;
	const void *data = NULL;
	int got;

	do
		got = t->kind->find(end, &data);
	while (!got && --patience);
	if (got <= 0)
		return got ? got : -ETIMEDOUT;
	cost_read_data(data);
	return t->kind->ready(end, way);
}

static int run(void *queue, unsigned count)
{
	struct trip *t = queue;
	int err = 0;

	for (unsigned i = 0; i < count && err >= 0; i++, t->at++) {
		struct end *from = &t->ends[t->at % ENDS], *to = &t->ends[!(t->at % ENDS)];
		const unsigned which = t->at / ENDS % t->qps;

		COST_FORGET();
		err = t->kind->send(from, &from->ways[which], from->memory);
		cost_aside();
		step_once();
		cost_aside();
		if (err >= 0)
			err = take_at(t, to, &to->ways[which]);
	}
	return err < 0 ? err : 0;
}

/* One message of each of some ways, from either end. */
static int send_ahead(struct trip *t, unsigned first)
{
	int err = 0;

	for (unsigned i = 0; i < ENDS * t->qps && err >= 0; i++)
		if (i / ENDS % CREDITS_EVERY >= first) {
			struct end *end = &t->ends[i % ENDS];
			err = t->kind->send(end, &end->ways[i / ENDS], end->memory);
		}
	step();
	for (unsigned i = 0; i < ENDS * t->qps && err >= 0; i++)
		if (i / ENDS % CREDITS_EVERY >= first) {
			struct end *end = &t->ends[i % ENDS];
			err = take_at(t, end, &end->ways[i / ENDS]);
		}
	for (unsigned i = 0; i < ENDS && err >= 0; i++)
		do
			err = t->kind->poll_sends(&t->ends[i]);
		while (err > 0);
	return err;
}

/*
 * What falls due once in so many messages of a QP, signals and credits, does so for each of many
 * QPs at another time: a few turns of theirs have their share of it.
 */
static int set_apart(struct trip *t)
{
	int err = 0;

	for (unsigned first = 1; first < CREDITS_EVERY && first < t->qps && err >= 0; first++)
		err = send_ahead(t, first);
	return err;
}

/* -- making both ends -------------------------------------------------------------------------- */

static uint32_t depth_of(const struct trip *t)
{
	return t->qps > 1 ? MANY_DEPTH : LONE_DEPTH;
}

static int make_ibv_way(const struct trip *t, struct end *end, struct way *way)
{
	struct plain_qp_attr attr = { .depth = depth_of(t),
				      .cq_entries = depth_of(t) * t->qps,
				      .max_send_sge = 1,
				      .max_recv_sge = 1,
				      .max_inline = BSN_MSG_RECORD,
				      .has_own_register = true };
	int err = 0;

	if (!end->common.qp)
		err = plain_qp_create(t->device, &attr, end->memory, COST_MEMORY, &end->common);
	attr.shared = &end->common;
	return err ? err : plain_qp_create(t->device, &attr, NULL, 0, &way->plain);
}

static int make_way(const struct trip *t, struct end *end, struct way *way)
{
	const struct bsn_qp_attr attr = { .cq = end->sends,
					  .recv_cq = end->recvs,
					  .send_depth = depth_of(t),
					  .recv_depth = depth_of(t),
					  .max_inline = BSN_MSG_RECORD };
	int err;

	if (t->kind->is_verbs)
		return make_ibv_way(t, end, way);
	err = bsn_qp_create(t->device, &attr, &way->qp);
	return err || !t->kind->has_lines
		       ? err
		       : bsn_msg_line_create(end->inbox, way->qp, NULL, &way->line);
}

static int make_end(const struct trip *t, struct end *end)
{
	const struct bsn_cq_attr cq = { .entries = BLOCKS * depth_of(t) * t->qps };
	const struct bsn_msg_inbox_attr inbox = { .senders = t->qps };
	int err;

	end->ways = calloc(t->qps, sizeof(*end->ways));
	end->memory = aligned_alloc(COST_MEMORY, COST_MEMORY);
	if (!end->ways || !end->memory)
		return -ENOMEM;
	memset(end->memory, 0, COST_MEMORY);
	err = bsn_mr_register(t->device, end->memory, COST_MEMORY, NULL, &end->mr);
	if (!err)
		err = bsn_cq_create(t->device, &cq, &end->sends);
	if (!err)
		err = bsn_cq_create(t->device, &cq, &end->recvs);
	if (!err && t->kind->has_lines)
		err = bsn_msg_inbox_create(t->device, &inbox, &end->inbox);
	for (unsigned i = 0; i < t->qps && !err; i++)
		err = make_way(t, end, &end->ways[i]);
	return err;
}

static int connect_way(const struct trip *t, struct way *way, const struct way *peer)
{
	struct bsn_address address;
	struct bsn_msg_address ring;
	int err;

	if (t->kind->is_verbs) {
		plain_qp_address(&peer->plain, &address);
		return plain_qp_connect(&way->plain, &address, NULL);
	}
	err = bsn_qp_address(peer->qp, &address);
	if (!err)
		err = bsn_qp_connect(way->qp, &address, NULL);
	if (err || !t->kind->has_lines)
		return err;
	err = bsn_msg_line_address(peer->line, &ring);
	return err ? err : bsn_msg_line_connect(way->line, &ring);
}

static int make_trip(struct trip *t, const struct cost_rig *rig, const struct kind *kind)
{
	int err = 0;

	t->device = rig->device;
	t->kind = kind;
	t->qps = rig->qps;
	for (int i = 0; i < ENDS && !err; i++)
		err = make_end(t, &t->ends[i]);
	for (unsigned i = 0; i < ENDS * t->qps && !err; i++) {
		struct end *end = &t->ends[i % ENDS], *peer = &t->ends[!(i % ENDS)];
		err = connect_way(t, &end->ways[i / ENDS], &peer->ways[i / ENDS]);
		if (!err)
			err = t->kind->ready(end, &end->ways[i / ENDS]);
	}
	if (!err)
		err = set_apart(t);
	return err < 0 ? err : 0;
}

static int make_bunsen(void *queue, const struct cost_rig *rig, enum cost_queues kind,
		       const char **why_not)
{
	(void)why_not;
	return make_trip(queue, rig, kind == COST_MESSAGES ? &by_message : &by_send);
}

static int make_ibv(void *queue, const struct cost_rig *rig, enum cost_queues kind,
		    const char **why_not)
{
	(void)kind;
	(void)why_not;
	return make_trip(queue, rig, &by_ibv);
}

static void close_end(const struct trip *t, struct end *end)
{
	for (unsigned i = 0; i < t->qps && end->ways; i++) {
		bsn_msg_line_destroy(end->ways[i].line);
		bsn_qp_destroy(end->ways[i].qp);
		if (end->ways[i].plain.qp)
			plain_qp_destroy(&end->ways[i].plain);
	}
	if (end->common.qp)
		plain_qp_destroy(&end->common);
	bsn_msg_inbox_destroy(end->inbox);
	bsn_cq_destroy(end->sends);
	bsn_cq_destroy(end->recvs);
	bsn_mr_deregister(end->mr);
	free(end->ways);
	free(end->memory);
}

static void close_trip(void *queue)
{
	struct trip *t = queue;

	for (int i = 0; i < ENDS; i++)
		close_end(t, &t->ends[i]);
}

static cost_run *run_of(const struct cost_row *row)
{
	(void)row;
	return run;
}

static cost_run *run_of_ibv(const struct cost_row *row)
{
	return row->shape.queues == COST_MESSAGES ? NULL : run;
}

const struct cost_column cost_trip_bunsen = {
	.name = "bunsen",
	.size = sizeof(struct trip),
	.make = make_bunsen,
	.close = close_trip,
	.run_of = run_of,
};
const struct cost_column cost_trip_ibv = {
	.name = "ibv",
	.size = sizeof(struct trip),
	.make = make_ibv,
	.close = close_trip,
	.run_of = run_of_ibv,
};
