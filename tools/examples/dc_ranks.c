/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many processes, each of which writes to all. They exchange their targets' addresses by PMIx, if a
 * launcher starts them:
 *
 *	mpirun -n 8 dc_ranks
 *
 * "dc_ranks N" starts N processes itself. Each process has a row of numbers. Every process writes
 * one number of each row, through a pool of few initiators. At the end each checks its own row.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bsn_dc.h"
#include "ranks.h"

enum { KEY = 0x5eed, INITIATORS = 4 };

/* What a process tells the others. */
struct place {
	struct bsn_address address;
	struct bsn_remote row;
};

struct rank {
	struct ranks ranks;
	struct bsn_device *device;
	struct bsn_cq *cq;
	struct bsn_rq *srq;
	struct bsn_dct *target;
	struct bsn_mr *row; /* this process's number, then one from each process */
	struct bsn_dc_pool *pool;
	struct place *places;
	struct bsn_ep **peers;
};

static int say(const char *what, const char *why)
{
	fprintf(stderr, "dc_ranks: %s: %s\n", what, why);
	return 1;
}

static int open_all(struct rank *r)
{
	const struct bsn_dc_pool_attr pool = { .initiators = INITIATORS };
	struct bsn_dct_attr target = { .access_key = KEY };
	const unsigned count = r->ranks.count;

	if (bsn_device_open(NULL, NULL, &r->device) ||
	    bsn_cq_create(r->device, &(struct bsn_cq_attr){ .entries = 1 }, &r->cq) ||
	    bsn_srq_create(r->device, &(struct bsn_srq_attr){ .recv_depth = 1 }, &r->srq) ||
	    bsn_buf_alloc(r->device, (count + 1) * sizeof(uint64_t), NULL, &r->row))
		return 1;
	target.cq = r->cq;
	target.srq = r->srq;
	memset(r->row->data, 0, (count + 1) * sizeof(uint64_t));
	return bsn_dct_create(r->device, &target, &r->target) ||
	       bsn_dc_pool_create(r->device, &pool, &r->pool);
}

static int meet(struct rank *r)
{
	struct place mine = { .row = { r->row->addr + sizeof(uint64_t), r->row->rkey } };

	if (bsn_dct_address(r->target, &mine.address))
		return say("the target", bsn_error_text());
	if (ranks_exchange(&r->ranks, &mine, sizeof(mine), r->places))
		return say("meeting", ranks_error());
	for (unsigned p = 0; p < r->ranks.count; p++)
		if (bsn_dc_peer_create(r->pool, &r->places[p].address, NULL, NULL, &r->peers[p]))
			return say("a peer", bsn_error_text());
	return 0;
}

/* How many requests are done, or -1. */
static int poll(struct rank *r)
{
	struct bsn_completion done[16];
	const int n = bsn_poll(bsn_dc_pool_cq(r->pool), done, 16);
	int ended = 0;

	if (n < 0)
		return -1;
	for (int i = 0; i < n; i++) {
		if (done[i].opcode == BSN_DC_READY)
			continue; /* the loop below returns to it */
		if (done[i].status) {
			say("a write", ibv_wc_status_str((enum ibv_wc_status)done[i].status));
			return -1;
		}
		ended++;
	}
	return ended;
}

/* Writes this process's number into the row of each process. */
static int write_all(struct rank *r)
{
	const struct bsn_sge local = bsn_sge_of(r->row, 0, sizeof(uint64_t));
	unsigned begun = 0, ended = 0;

	*(uint64_t *)r->row->data = r->ranks.rank + 1;
	while (ended < r->ranks.count) {
		int got, err = -EAGAIN;

		if (begun < r->ranks.count) {
			struct bsn_remote row = r->places[begun].row;

			row.addr += r->ranks.rank * sizeof(uint64_t);
			err = bsn_write(r->peers[begun], &local, &row, begun,
					BSN_F_SIGNALED | BSN_F_RING);
			begun += !err;
		}
		got = err && err != -EAGAIN ? -1 : poll(r);
		if (got < 0)
			return say("writing", bsn_error_text());
		ended += (unsigned)got;
	}
	return 0;
}

static int look(const struct rank *r)
{
	const uint64_t *row = (const uint64_t *)r->row->data + 1;

	for (unsigned p = 0; p < r->ranks.count; p++)
		if (row[p] != p + 1)
			return say("a number is missing", "that of another process");
	if (!r->ranks.rank)
		printf("%u processes wrote to %u each\n", r->ranks.count, r->ranks.count);
	return 0;
}

static void close_all(struct rank *r)
{
	for (unsigned p = 0; r->peers && p < r->ranks.count; p++)
		if (r->peers[p])
			bsn_dc_peer_destroy(r->peers[p]);
	bsn_dc_pool_destroy(r->pool);
	bsn_dct_destroy(r->target);
	bsn_srq_destroy(r->srq);
	bsn_cq_destroy(r->cq);
	bsn_buf_free(r->row);
	bsn_device_close(r->device);
	free(r->peers);
	free(r->places);
}

static int run(struct rank *r)
{
	int failed;

	r->places = calloc(r->ranks.count, sizeof(*r->places));
	r->peers = calloc(r->ranks.count, sizeof(struct bsn_ep *));
	if (!r->places || !r->peers)
		return say("memory", "there is none");
	if (open_all(r))
		return say("the device", bsn_error_text());
	failed = meet(r) || write_all(r);
	if (!failed && ranks_wait(&r->ranks))
		failed = say("waiting", ranks_error());
	return failed || look(r);
}

int main(int argc, char **argv)
{
	struct rank r = { 0 };
	int status;

	if (argc > 1 ? ranks_start(&r.ranks, (unsigned)strtoul(argv[1], NULL, 0))
		     : ranks_join(&r.ranks)) {
		say("alone", ranks_error());
		fprintf(stderr, "usage: mpirun -n N dc_ranks, or dc_ranks N\n");
		return 1;
	}
	status = run(&r);
	close_all(&r);
	return ranks_end(&r.ranks, status);
}
