/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures whether stores into the BlueFlame register are combined. If they are, 64 bytes leave the
 * CPU as one write, and cost about as much as the 8 bytes of a doorbell; if not, they are eight
 * writes, one after the other. Prints JSON. usage: write_combining DEVICE
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bsn.h"

enum {
	POSTS = 16, /* timed together, so that the clock does not count */
	ROUNDS = 301,
	NOT_COMBINED = 4, /* times the cost of a doorbell; all that 8 stores can cost is 8 */
};

/* A QP connected to itself that rings in one of the two ways. */
struct ringer {
	struct bsn_device *device;
	struct bsn_mr *buf;
	struct bsn_cq *cq;
	struct bsn_qp *qp;
	double ns[ROUNDS]; /* per post */
};

static void must(int err)
{
	if (!err)
		return;
	fprintf(stderr, "write_combining: %s\n", bsn_error_text());
	exit(1);
}

static void open_ringer(struct ringer *r, const char *name, enum bsn_store store)
{
	const struct bsn_device_attr attr = { .path = BSN_PATH_DIRECT, .store = store };
	struct bsn_address self;

	must(bsn_device_open(name, &attr, &r->device));
	must(bsn_buf_alloc(r->device, 4096, NULL, &r->buf));
	must(bsn_cq_create(r->device, NULL, &r->cq));
	must(bsn_qp_create(
		r->device,
		&(struct bsn_qp_attr){ .cq = r->cq, .send_depth = POSTS, .recv_depth = 1 },
		&r->qp));
	must(bsn_qp_address(r->qp, &self));
	must(bsn_qp_connect(r->qp, &self, NULL));
}

static void close_ringer(struct ringer *r)
{
	must(bsn_qp_destroy(r->qp));
	must(bsn_cq_destroy(r->cq));
	must(bsn_buf_free(r->buf));
	must(bsn_device_close(r->device));
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void take_round(struct ringer *r, unsigned round)
{
	const struct bsn_sge local = { r->buf->addr, 8, r->buf->lkey };
	const struct bsn_remote remote = { r->buf->addr + 64, r->buf->rkey };
	const double start = now_ns();
	struct bsn_completion c;

	for (unsigned i = 0; i < POSTS; i++)
		if (bsn_write(bsn_qp_ep(r->qp), &local, &remote, i, BSN_F_SIGNALED | BSN_F_RING))
			exit(1);
	r->ns[round] = (now_ns() - start) / POSTS;
	for (unsigned left = POSTS; left;) {
		const int n = bsn_poll(r->cq, &c, 1);

		if (n < 0 || (n && c.status != IBV_WC_SUCCESS)) {
			fprintf(stderr,
				"write_combining: a WRITE from the device to itself failed\n");
			exit(1);
		}
		left -= (unsigned)n;
	}
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(struct ringer *r)
{
	qsort(r->ns, ROUNDS, sizeof(r->ns[0]), compare);
	return r->ns[ROUNDS / 2];
}

int main(int argc, char **argv)
{
	static struct ringer blueflame, doorbell;
	struct bsn_counters counters;
	double copy_ns, bell_ns;

	if (argc != 2) {
		fprintf(stderr, "usage: write_combining DEVICE\n");
		return 2;
	}
	open_ringer(&blueflame, argv[1], BSN_STORE_8);
	open_ringer(&doorbell, argv[1], BSN_STORE_DOORBELL);
	for (unsigned round = 0; round < ROUNDS; round++) {
		take_round(&blueflame, round);
		take_round(&doorbell, round);
	}
	must(bsn_qp_counters(blueflame.qp, &counters));
	copy_ns = median(&blueflame);
	bell_ns = median(&doorbell);
	printf("{ \"copies\": %u, \"copy_ns\": %.1f, \"doorbell_ns\": %.1f, \"combined\": %s }\n",
	       counters.blueflame, copy_ns, bell_ns,
	       counters.blueflame && copy_ns < NOT_COMBINED * bell_ns ? "true" : "false");
	close_ringer(&blueflame);
	close_ringer(&doorbell);
	return 0;
}
