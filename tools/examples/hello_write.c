/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A whole program: two processes write a greeting into each other's memory.
 *
 *	hello_write PORT         waits for the other process
 *	hello_write PORT HOST    connects to it
 *
 * Each program exchanges addresses in its own way; here connect.c does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bsn.h"
#include "connect.h"

enum { TIMEOUT_MS = 30000, HALF = 4096 };

/* What each end tells the other. */
struct invitation {
	struct bsn_address address;
	struct bsn_remote memory;
};

static void must(int err, const char *(*why)(void))
{
	if (err) {
		fprintf(stderr, "hello_write: %s\n", why());
		exit(1);
	}
}

int main(int argc, char **argv)
{
	struct bsn_device *dev;
	struct bsn_mr *buf;
	struct bsn_cq *cq;
	struct bsn_qp *qp;
	struct bsn_completion done;
	struct invitation mine = { 0 }, theirs;
	char ready;
	int peer, n;

	if (argc < 2 || argc > 3 || *argv[1] == '-') {
		fprintf(stderr, "usage: hello_write PORT [HOST]\n");
		return 2;
	}
	must(bsn_device_open(NULL, NULL, &dev), bsn_error_text);
	must(bsn_buf_alloc(dev, 2 * HALF, NULL, &buf), bsn_error_text);
	must(bsn_cq_create(dev, &(struct bsn_cq_attr){ .entries = 256 }, &cq), bsn_error_text);
	must(bsn_qp_create(dev, &(struct bsn_qp_attr){ .type = BSN_QP_RC, .cq = cq }, &qp),
	     bsn_error_text);

	/* We write from the first half; the peer writes to the second. */
	must(bsn_qp_address(qp, &mine.address), bsn_error_text);
	mine.memory = bsn_remote_of(buf, HALF);
	must(connect_meet(argv[2], argv[1], TIMEOUT_MS, &peer), connect_error);
	must(connect_swap(peer, &mine, &theirs, sizeof(mine), TIMEOUT_MS), connect_error);
	must(bsn_qp_connect(qp, &theirs.address, NULL), bsn_error_text);
	must(connect_swap(peer, "", &ready, 1, TIMEOUT_MS), connect_error); /* both are connected */

	char *const out = buf->data;
	const char *const in = out + HALF;
	const struct bsn_sge from = bsn_sge_of(buf, 0, HALF);
	snprintf(out, HALF, "hello from process %d", (int)getpid());
	must(bsn_write(bsn_qp_ep(qp), &from, &theirs.memory, 42, BSN_F_SIGNALED | BSN_F_RING),
	     bsn_error_text);
	while (!(n = bsn_poll(cq, &done, 1)))
		;
	if (n < 0 || done.status) {
		fprintf(stderr, "hello_write: the write failed: %s\n",
			n < 0 ? strerror(-n) : ibv_wc_status_str((enum ibv_wc_status)done.status));
		return 1;
	}
	must(connect_swap(peer, "", &ready, 1, TIMEOUT_MS), connect_error); /* both have written */
	printf("%s\n", in);

	close(peer);
	must(bsn_qp_destroy(qp), bsn_error_text);
	must(bsn_cq_destroy(cq), bsn_error_text);
	must(bsn_buf_free(buf), bsn_error_text);
	must(bsn_device_close(dev), bsn_error_text);
	return 0;
}
