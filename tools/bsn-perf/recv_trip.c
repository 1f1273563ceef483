/* SPDX-License-Identifier: BSD-2-Clause */
/* A message there and back. */
#include "recv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bsn_msg.h"
#include "callgrind.h"
#include "perf.h"
#include "plain_qp.h"
#include "stats.h"
#include "stepper.h"

enum {
	ENDS = 2,
	BYTES = 32,
	MEMORY = 4096,
	INTO = 2048,         /* what is received */
	TRIPS_OF_ROUND = 64, /* at least; else one of each QP */
	LONE_DEPTH = 64,     /* of one QP, or of each of many: */
	MANY_DEPTH = 16,
	SIGNAL_EVERY = 8, /* requests of a QP */
	APART = 16,       /* credits come back so often */
	PATIENCE = 100 * 1000 * 1000,
};

const char *const trip_names[TRIPS] = { "message", "send", "ibv" };

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
	int by;
	unsigned qps, turn;
	bool is_counted; /* under callgrind */
	struct end ends[ENDS];
};

/* -- one way of each kind ---------------------------------------------------------------------- */

static int message_send(struct end *end, unsigned which, const void *data, bool is_signaled)
{
	(void)is_signaled; /* by the library where it is due */
	return bsn_msg_send(end->ways[which].line, data, BYTES, BSN_F_RING);
}

static int poll_sends(struct end *end)
{
	struct bsn_completion c;

	return bsn_poll(end->sends, &c, 1);
}

static int message_find(struct end *end, const void **data)
{
	struct bsn_msg msg;
	const int got = bsn_msg_poll(end->inbox, &msg);

	if (got > 0)
		*data = msg.data;
	return got;
}

static int send_send(struct end *end, unsigned which, const void *data, bool is_signaled)
{
	(void)is_signaled;
	return bsn_send_inline(bsn_qp_ep(end->ways[which].qp), data, BYTES, 0, BSN_F_RING);
}

static int send_find(struct end *end, const void **data)
{
	struct bsn_completion c;
	const int got = bsn_poll(end->recvs, &c, 1);

	*data = end->memory + INTO;
	return got > 0 && c.status ? -EIO : got;
}

static int send_ready(struct end *end, unsigned which)
{
	const struct bsn_sge into = { end->mr->addr + INTO, BYTES, end->mr->lkey };

	return bsn_recv(bsn_qp_rq(end->ways[which].qp), &into, 0);
}

static int ibv_send(struct end *end, unsigned which, const void *data, bool is_signaled)
{
	struct ibv_sge local = { (uintptr_t)data, BYTES, 0 };
	struct ibv_send_wr wr = { .sg_list = &local, .num_sge = 1, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_INLINE | (is_signaled ? IBV_SEND_SIGNALED : 0) }, *wrong;

	return -ibv_post_send(end->ways[which].plain.qp, &wr, &wrong);
}

static int ibv_poll_sends(struct end *end)
{
	struct ibv_wc wc;

	return ibv_poll_cq(end->common.cq, 1, &wc);
}

static int ibv_find(struct end *end, const void **data)
{
	struct ibv_wc wc;
	const int got = ibv_poll_cq(end->common.recv_cq, 1, &wc);

	*data = end->memory + INTO;
	return got < 0 || (got && wc.status) ? -EIO : got;
}

static int ibv_ready(struct end *end, unsigned which)
{
	struct ibv_sge into = { (uintptr_t)end->memory + INTO, BYTES, end->common.mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &into, .num_sge = 1 }, *wrong;

	return -ibv_post_recv(end->ways[which].plain.qp, &wr, &wrong);
}

static int nothing_ready(struct end *end, unsigned which)
{
	(void)end;
	(void)which;
	return 0;
}

static const struct kind {
	int (*send)(struct end *end, unsigned which, const void *data, bool is_signaled);
	int (*poll_sends)(struct end *end); /* < 0: it fails */
	int (*find)(struct end *end, const void **data); /* as bsn_poll() */
	int (*ready)(struct end *end, unsigned which);   /* for what comes next */
} kinds[TRIPS] = {
	[TRIP_BY_MESSAGE] = { message_send, poll_sends, message_find, nothing_ready },
	[TRIP_BY_SEND] = { send_send, poll_sends, send_find, send_ready },
	[TRIP_BY_IBV] = { ibv_send, ibv_poll_sends, ibv_find, ibv_ready },
};

/* -- there and back ---------------------------------------------------------------------------- */

static void mark(const struct trip *t)
{
	if (t->is_counted)
		callgrind_collect();
}

static int find(struct trip *t, struct end *end, const void **data)
{
	unsigned patience = PATIENCE;
	int got;

	do
		got = kinds[t->by].find(end, data);
	while (!got && --patience);
	return got < 0 ? got : got ? 0 : -ETIMEDOUT;
}

/* What is sent makes room once it completes: some do, and are polled. */
static int send_one(struct trip *t, struct end *end, unsigned which, const void *data)
{
	const bool is_signaled = end->ways[which].sent++ % SIGNAL_EVERY == SIGNAL_EVERY - 1;
	const struct kind *const kind = &kinds[t->by];
	int err;

	mark(t);
	err = kind->send(end, which, data, is_signaled);
	if (!err && is_signaled)
		err = kind->poll_sends(end);
	mark(t);
	return err < 0 ? err : 0;
}

static int send_from(struct trip *t, struct end *end, unsigned which, const void *data)
{
	const int err = send_one(t, end, which, data);

	step_once();
	return err;
}

/* What came is found, and the next may come. Copied, since the next one is sent from there. */
static int take_at(struct trip *t, struct end *end, unsigned which, uint8_t *copy)
{
	const void *data = NULL;
	int err;

	mark(t);
	err = find(t, end, &data);
	if (!err)
		err = kinds[t->by].ready(end, which);
	mark(t);
	if (!err)
		memcpy(copy, data, BYTES);
	return err;
}

static int go_round(struct trip *t)
{
	const unsigned which = t->turn % t->qps;
	uint8_t data[BYTES];
	int err;

	memset(data, (int)t->turn, sizeof(data));
	err = send_from(t, &t->ends[0], which, data);
	for (int at = 1; at >= 0 && !err; at--) {
		err = take_at(t, &t->ends[at], which, data);
		if (!err && at)
			err = send_from(t, &t->ends[at], which, data);
	}
	for (unsigned i = 0; i < sizeof(data) && !err; i++)
		err = data[i] == (uint8_t)t->turn ? 0 : -EIO;
	t->turn++;
	return err;
}

/* One message of each of some ways, from either end. */
static int send_ahead(struct trip *t, unsigned first)
{
	uint8_t data[BYTES] = { 0 };
	int err = 0;

	for (unsigned i = 0; i < ENDS * t->qps && !err; i++)
		if (i / ENDS % APART >= first)
			err = send_one(t, &t->ends[i % ENDS], i / ENDS, data);
	step();
	for (unsigned i = 0; i < ENDS * t->qps && !err; i++)
		if (i / ENDS % APART >= first)
			err = take_at(t, &t->ends[i % ENDS], i / ENDS, data);
	for (unsigned i = 0; i < ENDS && !err; i++)
		do
			err = kinds[t->by].poll_sends(&t->ends[i]);
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

	for (unsigned first = 1; first < APART && first < t->qps && !err; first++)
		err = send_ahead(t, first);
	return err;
}

static unsigned trips_of_round(const struct trip *t)
{
	return t->qps > TRIPS_OF_ROUND ? t->qps : TRIPS_OF_ROUND;
}

/* So that what interrupts the program is in few of them, however long a round is. */
unsigned trip_slices(unsigned qps)
{
	return qps > TRIPS_OF_ROUND ? qps / TRIPS_OF_ROUND : 1;
}

static int go(struct trip *t, unsigned trips)
{
	int err = 0;

	for (unsigned i = 0; i < trips && !err; i++)
		err = go_round(t);
	return err ? complain("a trip by %s: %s", trip_names[t->by], strerror(-err)) : 0;
}

/* Those that the device makes. */
static double sum_of(const struct bus *bus)
{
	static const char *const requests[] = { "wqe_fetch",	    "send_record_read", "recv_wqe_fetch",
						"recv_record_read", "payload_read",	"payload_write",
						"cqe_write" };
	double sum = 0;

	for (unsigned i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
		sum += bus_value(bus, requests[i]) > 0 ? bus_value(bus, requests[i]) : 0;
	return bus->count ? sum : -1;
}

int trip_time(struct trip *t, unsigned rounds, double *ns, struct trip_figures *figures)
{
	const char *const device = bsn_device_info(t->device)->name;
	const unsigned trips = trips_of_round(t), slices = trip_slices(t->qps);
	struct bus before = { .count = 0 };
	int err = go(t, trips);

	bus_read(device, &before);
	for (unsigned i = 0; i < rounds * slices && !err; i++) {
		const unsigned at = i % slices, some = (at + 1) * trips / slices - at * trips / slices;
		const uint64_t start = now_ns();
		err = go(t, some);
		ns[i] = (double)(now_ns() - start) / (ENDS * some);
	}
	if (err)
		return err;
	bus_read(device, &figures->bus);
	bus_take_off(&figures->bus, &before, rounds * ENDS * trips);
	figures->bus_requests = sum_of(&figures->bus);
	return 0;
}

int trip_count(struct trip *t)
{
	const unsigned marks = 4; /* pairs of them, of a trip */
	int err;

	if (!callgrind_is_there())
		return complain("--under-callgrind: this is not callgrind");
	err = go(t, trips_of_round(t));
	if (err)
		return err;
	callgrind_begin(NULL);
	callgrind_collect(); /* not yet */
	t->is_counted = true;
	for (unsigned i = 0; i < marks * trips_of_round(t); i++) {
		mark(t);
		mark(t);
	}
	callgrind_dump(trip_names[t->by], TRIP_EMPTY, ENDS * trips_of_round(t));
	err = go(t, trips_of_round(t));
	callgrind_dump(trip_names[t->by], TRIP_COUNTED, ENDS * trips_of_round(t));
	t->is_counted = false;
	callgrind_collect();
	callgrind_end(NULL);
	return err;
}

/* -- making both ends -------------------------------------------------------------------------- */

static uint32_t depth_of(const struct trip *t)
{
	return t->qps > 1 ? MANY_DEPTH : LONE_DEPTH;
}

static int open_ibv_way(struct trip *t, struct end *end, unsigned which)
{
	struct plain_qp_attr attr = { .depth = depth_of(t),
				      .cq_entries = depth_of(t) * t->qps,
				      .max_send_sge = 1,
				      .max_recv_sge = 1,
				      .max_inline = BSN_MSG_RECORD,
				      .has_own_register = true };
	int err = 0;

	if (!which)
		err = plain_qp_create(t->device, &attr, end->memory, MEMORY, &end->common);
	if (err)
		return err;
	attr.shared = &end->common;
	return plain_qp_create(t->device, &attr, NULL, 0, &end->ways[which].plain);
}

static int open_way(struct trip *t, struct end *end, unsigned which)
{
	const struct bsn_qp_attr attr = { .cq = end->sends,
					  .recv_cq = end->recvs,
					  .send_depth = depth_of(t),
					  .recv_depth = depth_of(t),
					  .max_inline = BSN_MSG_RECORD };
	struct way *way = &end->ways[which];
	int err;

	if (t->by == TRIP_BY_IBV)
		return open_ibv_way(t, end, which);
	err = bsn_qp_create(t->device, &attr, &way->qp);
	if (!err && t->by == TRIP_BY_MESSAGE)
		err = bsn_msg_line_create(end->inbox, way->qp, NULL, &way->line);
	return err;
}

/* Of every request of so many bytes inline, in blocks. */
enum { BLOCKS = 2 };

static int open_end(struct trip *t, struct end *end)
{
	struct bsn_cq_attr cq = { .entries = BLOCKS * depth_of(t) * t->qps };
	int err;

	end->ways = calloc(t->qps, sizeof(*end->ways));
	if (!end->ways || posix_memalign((void **)&end->memory, MEMORY, MEMORY))
		return -ENOMEM;
	memset(end->memory, 0, MEMORY);
	err = bsn_mr_register(t->device, end->memory, MEMORY, NULL, &end->mr);
	if (!err)
		err = bsn_cq_create(t->device, &cq, &end->sends);
	if (!err)
		err = bsn_cq_create(t->device, &cq, &end->recvs);
	if (!err && t->by == TRIP_BY_MESSAGE)
		err = bsn_msg_inbox_create(t->device, &(struct bsn_msg_inbox_attr){ .senders = t->qps }, &end->inbox);
	for (unsigned i = 0; i < t->qps && !err; i++)
		err = open_way(t, end, i);
	return err;
}

static int connect_way(struct trip *t, struct way *way, const struct way *peer)
{
	struct bsn_address address;
	struct bsn_msg_address ring;
	int err;

	if (t->by == TRIP_BY_IBV) {
		plain_qp_address(&peer->plain, &address);
		return plain_qp_connect(&way->plain, &address, NULL);
	}
	err = bsn_qp_address(peer->qp, &address);
	if (!err)
		err = bsn_qp_connect(way->qp, &address, NULL);
	if (err || t->by != TRIP_BY_MESSAGE)
		return err;
	err = bsn_msg_line_address(peer->line, &ring);
	return err ? err : bsn_msg_line_connect(way->line, &ring);
}

int trip_open(struct bsn_device *device, int by, unsigned qps, struct trip **out)
{
	struct trip *t = calloc(1, sizeof(*t));
	int err = t ? 0 : -ENOMEM;

	if (err)
		return err;
	*t = (struct trip){ .device = device, .by = by, .qps = qps };
	for (int i = 0; i < ENDS && !err; i++)
		err = open_end(t, &t->ends[i]);
	for (unsigned i = 0; i < ENDS * qps && !err; i++) {
		struct way *way = &t->ends[i % ENDS].ways[i / ENDS];
		err = connect_way(t, way, &t->ends[!(i % ENDS)].ways[i / ENDS]);
		if (!err)
			err = kinds[by].ready(&t->ends[i % ENDS], i / ENDS);
	}
	if (!err)
		err = set_apart(t);
	if (err)
		trip_close(t);
	else
		*out = t;
	return err;
}

static void close_end(struct trip *t, struct end *end)
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

void trip_close(struct trip *t)
{
	for (int i = 0; i < ENDS; i++)
		close_end(t, &t->ends[i]);
	free(t);
}
