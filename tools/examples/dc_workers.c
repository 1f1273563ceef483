/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many peers through few initiators, in two processes: one has 16 workers, each with a target and a
 * counter; the other raises all counters, through 4 initiators.
 *
 *	dc_workers PORT         has the workers, until the other process is done
 *	dc_workers PORT HOST    connects to it
 *
 * On plain verbs the workers' process must also accept connections. Addresses are exchanged over
 * TCP: connect.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bsn_dc.h"
#include "connect.h"

enum { WORKERS = 16, INITIATORS = 4, ROUNDS = 10, KEY = 0x5eed, TIMEOUT_MS = 30000 };

/* What the workers' process tells the other. */
struct invitation {
	struct bsn_address address[WORKERS];
	struct bsn_remote counters;
};

static void must(int err, const char *(*why)(void))
{
	if (err) {
		fprintf(stderr, "dc_workers: %s\n", why());
		exit(1);
	}
}

/* -- the workers ------------------------------------------------------------------------------- */

static void serve(int peer, struct bsn_dct **dct)
{
	while (!connect_wait(peer, 1))
		for (int w = 0; w < WORKERS; w++)
			must(bsn_dct_accept(dct[w]) < 0, bsn_error_text);
}

static void work(struct bsn_device *dev, int peer, struct bsn_mr *mem)
{
	struct bsn_dct_attr attr = { .access_key = KEY };
	struct invitation mine = { .counters = { mem->addr, mem->rkey } };
	struct bsn_dct *dct[WORKERS];
	unsigned long long sum = 0;

	must(bsn_cq_create(dev, NULL, &attr.cq), bsn_error_text);
	must(bsn_srq_create(dev, &(struct bsn_srq_attr){ .recv_depth = 16 }, &attr.srq),
	     bsn_error_text);
	for (int w = 0; w < WORKERS; w++) {
		must(bsn_dct_create(dev, &attr, &dct[w]), bsn_error_text);
		must(bsn_dct_address(dct[w], &mine.address[w]), bsn_error_text);
	}
	must(connect_swap(peer, &mine, &(struct invitation){ 0 }, sizeof(mine), TIMEOUT_MS),
	     connect_error);
	serve(peer, dct);
	for (int w = 0; w < WORKERS; w++) {
		sum += ((const volatile uint64_t *)mem->data)[w];
		must(bsn_dct_destroy(dct[w]), bsn_error_text);
	}
	must(bsn_srq_destroy(attr.srq), bsn_error_text);
	must(bsn_cq_destroy(attr.cq), bsn_error_text);
	printf("%d workers were raised %llu times\n", WORKERS, sum);
}

/* -- who raises them --------------------------------------------------------------------------- */

/* Returns how many requests are done. */
static unsigned complete(struct bsn_dc_pool *pool)
{
	struct bsn_completion done[16];
	const int n = bsn_poll(bsn_dc_pool_cq(pool), done, 16);
	unsigned requests = 0;

	for (int i = 0; i < n; i++) {
		if (done[i].status || n < 0) {
			fprintf(stderr, "dc_workers: worker %d: %s\n", *(int *)done[i].user,
				ibv_wc_status_str((enum ibv_wc_status)done[i].status));
			exit(1);
		}
		requests += done[i].opcode != BSN_DC_READY;
	}
	must(n < 0, bsn_error_text);
	return requests;
}

static void raise_all(struct bsn_dc_pool *pool, struct bsn_ep **ep,
		      const struct bsn_remote *counters, const struct bsn_mr *mem)
{
	const struct bsn_sge old = bsn_sge_of(mem, 0, sizeof(uint64_t));
	unsigned done = 0;

	for (int k = 0; k < ROUNDS * WORKERS; k++) {
		const int w = k * 7 % WORKERS;
		const struct bsn_remote counter = { counters->addr + (unsigned)w * sizeof(uint64_t),
						    counters->rkey };
		int err;

		while ((err = bsn_fetch_add(ep[w], &old, &counter, 1, (uint64_t)w,
					    BSN_F_SIGNALED | BSN_F_RING)) == -EAGAIN)
			done += complete(pool);
		must(err, bsn_error_text);
	}
	while (done < ROUNDS * WORKERS)
		done += complete(pool);
}

static void command(struct bsn_device *dev, int peer, const struct bsn_mr *mem)
{
	const struct bsn_dc_pool_attr attr = { .initiators = INITIATORS };
	struct bsn_dc_counters counters;
	struct bsn_dc_pool *pool;
	struct invitation theirs;
	struct bsn_ep *ep[WORKERS];
	int name[WORKERS];

	must(connect_swap(peer, &(struct invitation){ 0 }, &theirs, sizeof(theirs), TIMEOUT_MS),
	     connect_error);
	must(bsn_dc_pool_create(dev, &attr, &pool), bsn_error_text);
	for (int w = 0; w < WORKERS; w++) {
		name[w] = w;
		must(bsn_dc_peer_create(pool, &theirs.address[w], NULL, &name[w], &ep[w]),
		     bsn_error_text);
	}
	raise_all(pool, ep, &theirs.counters, mem);
	must(bsn_dc_pool_counters(pool, &counters), bsn_error_text);
	printf("%d requests through %d initiators, which went from worker to worker%s\n",
	       ROUNDS * WORKERS, INITIATORS, counters.evictions ? "" : " never");
	for (int w = 0; w < WORKERS; w++)
		must(bsn_dc_peer_destroy(ep[w]), bsn_error_text);
	must(bsn_dc_pool_destroy(pool), bsn_error_text);
}

int main(int argc, char **argv)
{
	struct bsn_device *dev;
	struct bsn_mr *mem;
	int peer;

	if (argc < 2 || argc > 3 || *argv[1] == '-') {
		fprintf(stderr, "usage: dc_workers PORT [HOST]\n");
		return 2;
	}
	must(bsn_device_open(NULL, NULL, &dev), bsn_error_text);
	must(bsn_buf_alloc(dev, WORKERS * sizeof(uint64_t), NULL, &mem), bsn_error_text);
	must(connect_meet(argv[2], argv[1], TIMEOUT_MS, &peer), connect_error);
	if (argc == 3)
		command(dev, peer, mem);
	else
		work(dev, peer, mem);
	close(peer);
	must(bsn_buf_free(mem), bsn_error_text);
	must(bsn_device_close(dev), bsn_error_text);
	return 0;
}
