/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures what a request costs, and how much memory QPs take, if several threads share one QP, and
 * if each thread has its own. A QP belongs to one thread at a time. So threads that share one hold
 * a lock around each post and poll, and call bsn_qp_hand_over(); they share its lane, too. A thread
 * with a QP of its own also has its own CQ and lane, and needs no lock.
 *
 * Use a QP for each thread, so that no thread waits for another. Share QPs if there are so many
 * threads and peers that the NIC's cache of QP contexts is too small (some thousands), and posts
 * are rare. A DC pool (bsn_dc.h) is the alternative.
 *
 *	shared [THREADS [REQUESTS]]
 */
#include <bsn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { THREADS_MAX = 64 };

/* A QP with all that it needs, connected to itself. */
struct queue {
	struct bsn_lane *lane;
	struct bsn_cq *cq;
	struct bsn_qp *qp;
	pthread_mutex_t lock;
	bool is_shared;
};

struct worker {
	struct queue *queue;
	const struct bsn_mr *mem;
	unsigned number, requests;
	const char *failed;
};

static void must(int err)
{
	if (err) {
		fprintf(stderr, "shared: %s\n", bsn_error_text());
		exit(1);
	}
}

static void queue_open(struct bsn_device *dev, bool is_shared, struct queue *q)
{
	const struct bsn_lane_attr lane = { .is_shared = is_shared };
	struct bsn_qp_attr attr = { .type = BSN_QP_RC, .recv_depth = 1, .send_depth = THREADS_MAX };
	struct bsn_address self;

	q->is_shared = is_shared;
	pthread_mutex_init(&q->lock, NULL);
	must(bsn_lane_create(dev, &lane, &q->lane));
	must(bsn_cq_create(dev, &(struct bsn_cq_attr){ .lane = q->lane, .entries = 128 }, &q->cq));
	attr.cq = q->cq;
	must(bsn_qp_create(dev, &attr, &q->qp));
	must(bsn_qp_address(q->qp, &self));
	must(bsn_qp_connect(q->qp, &self, NULL));
}

static void queue_close(struct queue *q)
{
	must(bsn_qp_destroy(q->qp));
	must(bsn_cq_destroy(q->cq));
	must(bsn_lane_destroy(q->lane));
	pthread_mutex_destroy(&q->lock);
}

/* Begin and end of this thread's turn; a QP of one thread needs neither. */
static void enter(struct queue *q)
{
	if (!q->is_shared)
		return;
	pthread_mutex_lock(&q->lock);
	bsn_qp_hand_over(q->qp);
	bsn_cq_hand_over(q->cq);
}

static void leave(struct queue *q)
{
	if (q->is_shared)
		pthread_mutex_unlock(&q->lock);
}

/*
 * A thread that shares could poll another's completion, so each waits for its own before it leaves.
 */
static void *work(void *arg)
{
	struct worker *w = arg;
	struct queue *const q = w->queue;
	const struct bsn_sge local = bsn_sge_of(w->mem, 64ull * w->number, 8);
	const struct bsn_remote remote = bsn_remote_of(w->mem, 64ull * (THREADS_MAX + w->number));

	for (uint64_t i = 1; i <= w->requests && !w->failed; i++) {
		struct bsn_completion c = { .status = IBV_WC_SUCCESS };
		int n = 0;

		((uint64_t *)w->mem->data)[8 * w->number] = i;
		enter(q);
		if (bsn_write(bsn_qp_ep(q->qp), &local, &remote, i, BSN_F_SIGNALED | BSN_F_RING))
			w->failed = "a post was refused";
		while (!w->failed && !(n = bsn_poll(q->cq, &c, 1)))
			;
		leave(q);
		if (n < 0 || c.status != IBV_WC_SUCCESS || (!w->failed && c.id != i))
			w->failed = "a request failed, or was another thread's";
	}
	return NULL;
}

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

/* Bytes of a QP's rings: 64 B a block, 16 B a receive, and a CQE of 64 B for each of them. */
static size_t bytes_of(const struct bsn_qp *qp)
{
	const struct bsn_qp_info *info = bsn_qp_info(qp);

	return 64 * (size_t)info->short_sends + 16 * (size_t)info->recv_depth + 64 * (size_t)128;
}

static void run(struct bsn_device *dev, const struct bsn_mr *mem, unsigned threads,
		unsigned requests, bool is_shared)
{
	struct queue queues[THREADS_MAX];
	struct worker workers[THREADS_MAX];
	pthread_t ids[THREADS_MAX];
	const unsigned count = is_shared ? 1 : threads;
	double start;

	for (unsigned i = 0; i < count; i++)
		queue_open(dev, is_shared, &queues[i]);
	start = now_us();
	for (unsigned i = 0; i < threads; i++) {
		workers[i] = (struct worker){ &queues[i % count], mem, i, requests, NULL };
		if (pthread_create(&ids[i], NULL, work, &workers[i]))
			exit(fprintf(stderr, "shared: no thread\n") > 0);
	}
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(ids[i], NULL);
		if (workers[i].failed || ((uint64_t *)mem->data)[8 * (THREADS_MAX + i)] != requests)
			exit(fprintf(stderr, "shared: %s\n",
				     workers[i].failed ? workers[i].failed : "not written") > 0);
	}
	printf("%u threads, %s: %u writes, %.2f us each, %zu bytes of rings\n", threads,
	       is_shared ? "one QP" : "a QP each", threads * requests,
	       (now_us() - start) / (threads * requests), count * bytes_of(queues[0].qp));
	for (unsigned i = 0; i < count; i++)
		queue_close(&queues[i]);
}

int main(int argc, char **argv)
{
	const unsigned threads = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 0) : 4;
	const unsigned requests = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : 2000;
	struct bsn_device *dev;
	struct bsn_mr *mem;

	if (!threads || threads > THREADS_MAX || !requests) {
		fprintf(stderr, "usage: shared [THREADS, to %d [REQUESTS]]\n", THREADS_MAX);
		return 2;
	}
	must(bsn_device_open(NULL, NULL, &dev));
	must(bsn_buf_alloc(dev, 2 * THREADS_MAX * 64, NULL, &mem));
	run(dev, mem, threads, requests, true);
	run(dev, mem, threads, requests, false);
	must(bsn_buf_free(mem));
	must(bsn_device_close(dev));
	return 0;
}
