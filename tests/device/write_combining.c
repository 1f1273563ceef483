/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures whether stores into the BlueFlame register are combined. If they are, 64 bytes leave the
 * CPU as one write, and cost about as much as the 8 bytes of a doorbell; if not, they are eight
 * writes, one after the other. Prints JSON. usage: write_combining DEVICE
 */
#include <time.h>

#include "end.h"

enum {
	POSTS = 16, /* timed together, so that the clock does not count */
	ROUNDS = 301,
	NOT_COMBINED = 4, /* times the cost of a doorbell; all that 8 stores can cost is 8 */
};

/* A QP connected to itself that rings in one of the two ways. */
struct ringer {
	struct end end;
	double ns[ROUNDS]; /* per post */
};

static void open_ringer(struct ringer *r, const char *name, enum bsn_store store)
{
	const struct bsn_device_attr attr = { .path = BSN_PATH_DIRECT, .store = store };
	struct bsn_address self;

	open_end(&r->end, name, &attr, POSTS);
	must(bsn_qp_address(r->end.qp, &self));
	must(bsn_qp_connect(r->end.qp, &self, NULL));
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void take_round(struct ringer *r, unsigned round)
{
	const struct bsn_sge local = bsn_sge_of(r->end.buf, 0, 8);
	const struct bsn_remote remote = bsn_remote_of(r->end.buf, 64);
	struct bsn_ep *ep = bsn_qp_ep(r->end.qp);
	const double start = now_ns();

	for (unsigned i = 0; i < POSTS; i++)
		if (bsn_write(ep, &local, &remote, i, BSN_F_SIGNALED | BSN_F_RING))
			exit(1);
	r->ns[round] = (now_ns() - start) / POSTS;
	for (unsigned i = 0; i < POSTS; i++)
		if (await(&r->end).status != IBV_WC_SUCCESS)
			die("a WRITE from the device to itself failed");
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
	must(bsn_qp_counters(blueflame.end.qp, &counters));
	copy_ns = median(&blueflame);
	bell_ns = median(&doorbell);
	printf("{ \"copies\": %u, \"copy_ns\": %.1f, \"doorbell_ns\": %.1f, \"combined\": %s }\n",
	       counters.blueflame, copy_ns, bell_ns,
	       counters.blueflame && copy_ns < NOT_COMBINED * bell_ns ? "true" : "false");
	close_end(&blueflame.end);
	close_end(&doorbell.end);
	return 0;
}
