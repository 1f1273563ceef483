/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes to one peer by several QPs (stripes) of one thread. One unit of the NIC at a time works
 * for a QP; if one unit cannot fill the link, several QPs can. Their requests overtake each other,
 * so a ring of marks returns completions in the order of posts. That costs a mark for each request,
 * and a send and a receive queue for each stripe. It gains nothing if one QP fills the link, or
 * requests are few.
 *
 *	stripes [STRIPES [BYTES]]
 */
#include <bsn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STRIPES_MAX = 16, WINDOW = 64, REQUESTS = 20000, POLLED = 16 };

struct stripes {
	unsigned count;
	struct bsn_cq *cq; /* of all stripes: one poll finds completions of any */
	struct bsn_qp *qp[STRIPES_MAX];
	bool is_done[WINDOW];        /* by number, modulo the window */
	uint64_t posted, handed_out; /* requests so far: their numbers */
	uint64_t overtaken;          /* completions that came before an older one */
};

static void must(int err)
{
	if (err) {
		fprintf(stderr, "stripes: %s\n", bsn_error_text());
		exit(1);
	}
}

/*
 * Posts in turn: the number of a request is its id, so it tells the stripe. -EAGAIN: hand
 * completions out first.
 */
static int stripes_write(struct stripes *s, const struct bsn_sge *local,
			 const struct bsn_remote *remote)
{
	struct bsn_ep *ep = bsn_qp_ep(s->qp[s->posted % s->count]);
	int err;

	if (s->posted - s->handed_out == WINDOW)
		return -EAGAIN;
	err = bsn_write(ep, local, remote, s->posted, BSN_F_SIGNALED | BSN_F_RING);
	s->posted += !err;
	return err;
}

/*
 * Returns how many more are done, without a gap: numbers up to @s->handed_out; or a negative errno.
 */
static int stripes_hand_out(struct stripes *s)
{
	struct bsn_completion c[POLLED];
	const int n = bsn_poll(s->cq, c, POLLED);
	int more = 0;

	for (int i = 0; i < n; i++) {
		if (c[i].status != IBV_WC_SUCCESS)
			return -EIO;
		s->overtaken += c[i].id != s->handed_out + (unsigned)i;
		s->is_done[c[i].id % WINDOW] = true;
	}
	for (; s->is_done[s->handed_out % WINDOW]; s->handed_out++, more++)
		s->is_done[s->handed_out % WINDOW] = false;
	return n < 0 ? n : more;
}

static void stripes_open(struct stripes *s, struct bsn_device *dev, unsigned count)
{
	struct bsn_qp_attr attr = { .type = BSN_QP_RC, .recv_depth = 1 };

	*s = (struct stripes){ .count = count };
	must(bsn_cq_create(dev, &(struct bsn_cq_attr){ .entries = 4096 }, &s->cq));
	attr.cq = s->cq; /* so they share a lane */
	for (unsigned i = 0; i < count; i++) {
		struct bsn_address self;
		must(bsn_qp_create(dev, &attr, &s->qp[i]));
		must(bsn_qp_address(s->qp[i], &self)); /* here the peer is this process */
		must(bsn_qp_connect(s->qp[i], &self, NULL));
	}
}

static void stripes_close(struct stripes *s)
{
	for (unsigned i = 0; i < s->count; i++)
		must(bsn_qp_destroy(s->qp[i]));
	must(bsn_cq_destroy(s->cq));
}

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

/* Each request writes its number to its place. When it is handed out, the number must be there. */
static void run(struct bsn_device *dev, const struct bsn_mr *mem, unsigned count, uint32_t bytes)
{
	struct stripes s;
	double start;

	stripes_open(&s, dev, count);
	start = now_us();
	while (s.handed_out < REQUESTS) {
		const uint64_t at = s.posted % WINDOW * bytes, from = s.handed_out;
		const struct bsn_sge local = bsn_sge_of(mem, at, bytes);
		const struct bsn_remote remote = bsn_remote_of(mem, (uint64_t)WINDOW * bytes + at);
		int n;
		if (s.posted < REQUESTS && s.posted - s.handed_out < WINDOW) {
			memcpy((char *)mem->data + at, &s.posted, sizeof(s.posted));
			if (stripes_write(&s, &local, &remote) != -EAGAIN)
				continue;
		}
		n = stripes_hand_out(&s);
		if (n < 0)
			exit(fprintf(stderr, "stripes: a request failed\n") > 0);
		for (uint64_t i = from; i < from + (unsigned)n; i++)
			if (memcmp((char *)mem->data + (WINDOW + i % WINDOW) * (uint64_t)bytes, &i,
				   8))
				exit(fprintf(stderr, "stripes: %llu is not there\n",
					     (unsigned long long)i) > 0);
	}
	printf("%u stripe%s: %d writes of %u bytes in the order of posts, %.2f us each, %llu "
	       "overtaken\n",
	       count, count > 1 ? "s" : "", REQUESTS, bytes, (now_us() - start) / REQUESTS,
	       (unsigned long long)s.overtaken);
	stripes_close(&s);
}

int main(int argc, char **argv)
{
	const unsigned most = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 0) : 4;
	const uint32_t bytes = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 0) : 4096;
	struct bsn_device *dev;
	struct bsn_mr *mem;

	if (!most || most > STRIPES_MAX || bytes < 8 || bytes > 1 << 20) {
		fprintf(stderr, "usage: stripes [STRIPES, to %d [BYTES, 8 to 1048576]]\n",
			STRIPES_MAX);
		return 2;
	}
	must(bsn_device_open(NULL, NULL, &dev));
	must(bsn_buf_alloc(dev, 2ull * WINDOW * bytes, NULL, &mem));
	for (unsigned count = 1; count < most; count *= 2)
		run(dev, mem, count, bytes);
	run(dev, mem, most, bytes);
	must(bsn_buf_free(mem));
	must(bsn_device_close(dev));
	return 0;
}
