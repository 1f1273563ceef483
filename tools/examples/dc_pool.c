/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many peers through few initiators: a pool of 8 initiators raises the counters of 64 workers. One
 * worker is gone when its turn comes; that does not concern the others. All is in one process,
 * which has the workers' targets, too. On plain verbs a worker must also accept connections.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bsn_dc.h"

enum { WORKERS = 64, INITIATORS = 8, ROUNDS = 10, KEY = 0x5eed, GONE = 13 };

struct worker {
	struct bsn_dct *dct;
	struct bsn_ep *ep;
	unsigned raised; /* how often it was raised, of ROUNDS */
	bool has_failed;
};

static void must(int err)
{
	if (err) {
		fprintf(stderr, "%s\n", bsn_error_text());
		exit(1);
	}
}

/* What each worker's process would do from time to time. */
static void accept_all(struct worker *workers)
{
	for (unsigned w = 0; w < WORKERS; w++)
		if (workers[w].dct && bsn_dct_accept(workers[w].dct) < 0)
			must(-1);
}

static void complete(struct bsn_dc_pool *pool, struct worker *workers, unsigned *outstanding)
{
	struct bsn_completion done[16];
	const int n = bsn_poll(bsn_dc_pool_cq(pool), done, 16);

	accept_all(workers);
	if (n < 0) {
		fprintf(stderr, "the pool: %s\n", strerror(-n));
		exit(1);
	}
	for (int i = 0; i < n; i++) {
		struct worker *worker = done[i].user;

		worker->has_failed |= done[i].status != IBV_WC_SUCCESS;
		if (done[i].opcode == BSN_DC_READY)
			continue; /* the loop below returns to it */
		*outstanding -= 1;
		worker->raised += !done[i].status;
	}
}

/* Raises every worker's counter, in every round. */
static void raise_all(struct bsn_dc_pool *pool, struct worker *workers, const struct bsn_mr *mem)
{
	const struct bsn_sge old = bsn_sge_of(mem, 0, sizeof(uint64_t));
	unsigned outstanding = 0;

	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned w = 0; w < WORKERS; w++) {
			const struct bsn_remote counter = { mem->addr + (w + 1) * sizeof(uint64_t),
							    mem->rkey };
			int err;

			while ((err = bsn_fetch_add(workers[w].ep, &old, &counter, 1, w,
						    BSN_F_SIGNALED | BSN_F_RING)) == -EAGAIN)
				complete(pool, workers, &outstanding);
			outstanding += !err; /* -ENOTCONN: a request to it failed before */
		}
	}
	while (outstanding)
		complete(pool, workers, &outstanding);
}

static void tell(const struct bsn_dc_pool *pool, const struct worker *workers)
{
	struct bsn_dc_counters counters;
	unsigned whole = 0, failed = 0;

	for (unsigned w = 0; w < WORKERS; w++) {
		whole += workers[w].raised == ROUNDS;
		failed += workers[w].has_failed;
	}
	must(bsn_dc_pool_counters(pool, &counters));
	printf("%u workers through %d initiators: %u raised, %u failed\n", counters.peers,
	       INITIATORS, whole, failed);
}

int main(void)
{
	static struct worker workers[WORKERS];
	struct bsn_dc_pool_attr attr = { .initiators = INITIATORS,
					 .connect = { .timeout = 8, .retry_count = 3 } };
	struct bsn_dct_attr target = { .access_key = KEY };
	struct bsn_device *device;
	struct bsn_dc_pool *pool;
	struct bsn_address address;
	struct bsn_mr *mem;

	must(bsn_device_open(NULL, NULL, &device));
	must(bsn_buf_alloc(device, (WORKERS + 1) * sizeof(uint64_t), NULL, &mem));
	must(bsn_cq_create(device, &(struct bsn_cq_attr){ .entries = 2 * WORKERS }, &target.cq));
	must(bsn_srq_create(device, &(struct bsn_srq_attr){ .recv_depth = 1 }, &target.srq));
	must(bsn_dc_pool_create(device, &attr, &pool));
	for (unsigned w = 0; w < WORKERS; w++) {
		must(bsn_dct_create(device, &target, &workers[w].dct));
		must(bsn_dct_address(workers[w].dct, &address));
		must(bsn_dc_peer_create(pool, &address, NULL, &workers[w], &workers[w].ep));
	}
	must(bsn_dct_destroy(workers[GONE].dct));
	workers[GONE].dct = NULL;
	raise_all(pool, workers, mem);
	tell(pool, workers);

	for (unsigned w = 0; w < WORKERS; w++) {
		must(bsn_dc_peer_destroy(workers[w].ep));
		must(bsn_dct_destroy(workers[w].dct));
	}
	must(bsn_dc_pool_destroy(pool));
	must(bsn_srq_destroy(target.srq));
	must(bsn_cq_destroy(target.cq));
	must(bsn_buf_free(mem));
	must(bsn_device_close(device));
	return 0;
}
