/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that wqe-dump looks at. It has two QPs of a passive software ConnectX, connected to
 * each other. It executes lines of standard input, and answers each with a line.
 *
 *	write N   appends N WRITEs of the first QP; all about the n-th ever is derived from n
 *	ring      publishes them
 *	step      the device executes what was published
 *	poll      until the CQ is empty
 *	recv N    posts N receives of the second QP; srecv N: of an SRQ
 *	bad       a WRITE with a wrong rkey, published
 *	loop      writes, rings, steps and polls until there is another line
 *	churn     creates and destroys a QP until there is another line
 *	damage    overwrites the WQE that was written last
 *	reset     takes the first QP to RESET, and destroys it
 *	share     creates a QP that receives from the SRQ
 *	fork      has a child, which does nothing, until the program ends
 */
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "bsn.h"
#include "softcx.h"
#include "whole.h"

enum { DEPTH = 16, SGES = 3, BYTES = 1 << 16, UNIT = 16, UNITS = 1024 };

static struct {
	struct bsn_device *device;
	struct bsn_mr *from, *to;
	struct bsn_cq *cq[2];
	struct bsn_qp *qp[2];
	struct bsn_rq *srq;
	uint64_t written;
} my;

static void must(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "live_program: %s: %d: %s\n", what, err, bsn_error_text());
	exit(1);
}

#define MUST(call) must(call, #call)

/* -- what it has ------------------------------------------------------------------------------- */

static void make_qp(int end)
{
	const struct bsn_qp_attr attr = { .cq = my.cq[end],
					  .send_depth = DEPTH,
					  .recv_depth = DEPTH,
					  .max_send_sge = SGES,
					  .signal_every = -1 };

	MUST(bsn_qp_create(my.device, &attr, &my.qp[end]));
}

static void set_up(void)
{
	const struct bsn_cq_attr cq = { .entries = 256 }; /* a ring of 512 */
	struct bsn_address address[2];

	must(softcx_start(&(struct cx_config){
		     .generation = CX_GEN_CX6, .passive = true, .private_fabric = true }),
	     "softcx");
	MUST(bsn_device_open(NULL, NULL, &my.device));
	MUST(bsn_buf_alloc(my.device, BYTES, NULL, &my.from));
	MUST(bsn_buf_alloc(my.device, BYTES, NULL, &my.to));
	MUST(bsn_srq_create(my.device, &(struct bsn_srq_attr){ .recv_depth = DEPTH }, &my.srq));
	for (int end = 0; end < 2; end++) {
		MUST(bsn_cq_create(my.device, &cq, &my.cq[end]));
		make_qp(end);
		MUST(bsn_qp_address(my.qp[end], &address[end]));
	}
	for (int end = 0; end < 2; end++)
		MUST(bsn_qp_connect(my.qp[end], &address[!end], NULL));
}

/* -- what it does ------------------------------------------------------------------------------ */

static int write_one(uint32_t rkey)
{
	const uint64_t n = my.written % UNITS;
	struct bsn_sge sge[SGES];
	const struct bsn_wr wr = { .id = my.written,
				   .opcode = BSN_OPCODE_RDMA_WRITE,
				   .sge = sge,
				   .sge_count = 1 + n % SGES,
				   .flags = BSN_F_SIGNALED,
				   .remote = { my.to->addr + n * UNIT, rkey } };
	int err;

	for (unsigned i = 0; i < SGES; i++)
		sge[i] = (struct bsn_sge){ my.from->addr + n * UNIT + i, 1 + (n + i) % UNIT,
					   my.from->lkey };
	err = bsn_post(bsn_qp_ep(my.qp[0]), &wr);
	my.written += !err;
	return err;
}

static void poll_all(struct bsn_cq *cq)
{
	struct bsn_completion done[8];
	int n;

	while ((n = bsn_poll(cq, done, 8)) > 0)
		;
	must(n, "poll");
}

static bool has_line(void)
{
	return poll(&(struct pollfd){ .fd = STDIN_FILENO, .events = POLLIN }, 1, 0) > 0;
}

static void loop(void)
{
	while (!has_line())
		for (unsigned i = 0; i < 1000; i++) {
			while (!write_one(my.to->rkey))
				if (my.written % 3 == 0)
					MUST(bsn_ring(bsn_qp_ep(my.qp[0])));
			MUST(bsn_ring(bsn_qp_ep(my.qp[0])));
			softcx_step(5);
			poll_all(my.cq[0]);
		}
}

static void churn(void)
{
	const struct bsn_qp_attr attr = { .cq = my.cq[0], .send_depth = 1, .recv_depth = 1 };
	struct bsn_qp *qp;

	while (!has_line()) {
		MUST(bsn_qp_create(my.device, &attr, &qp));
		MUST(bsn_qp_destroy(qp));
	}
}

/* Overwrites the last block of the ring that was written. */
static void damage(void)
{
	struct bsn_sq *sq = bsn_qp_ep(my.qp[0])->sq;

	memset(dv_sq(sq)->ring + (size_t)((sq->pi - 1) & dv_sq(sq)->bb_mask) * BSN_BB_SIZE, 0xa5,
	       8);
}

static void share(void)
{
	struct bsn_qp *qp;

	MUST(bsn_qp_create(my.device, &(struct bsn_qp_attr){ .cq = my.cq[0], .srq = my.srq }, &qp));
}

static void have_child(void)
{
	int ready[2];
	pid_t child;
	char byte = 0;

	must(pipe(ready), "pipe");
	child = fork();
	must(child < 0, "fork");
	if (child) {
		must(read(ready[0], &byte, 1) != 1, "read"); /* the child is running */
		return;
	}
	must(prctl(PR_SET_PDEATHSIG, SIGKILL), "prctl");
	must(write(ready[1], &byte, 1) != 1, "write");
	for (;;)
		pause();
}

static bool obey(const char *word, unsigned n)
{
	if (!strcmp(word, "write"))
		for (unsigned i = 0; i < n; i++)
			MUST(write_one(my.to->rkey));
	else if (!strcmp(word, "ring"))
		MUST(bsn_ring(bsn_qp_ep(my.qp[0])));
	else if (!strcmp(word, "step"))
		softcx_step(0);
	else if (!strcmp(word, "poll"))
		poll_all(my.cq[0]);
	else if (!strcmp(word, "recv") || !strcmp(word, "srecv"))
		for (unsigned i = 0; i < n; i++)
			MUST(bsn_recv(*word == 's' ? my.srq : bsn_qp_rq(my.qp[1]),
				      &(struct bsn_sge){ my.to->addr, 64, my.to->lkey }, i));
	else if (!strcmp(word, "bad"))
		MUST(write_one(~my.to->rkey) || bsn_ring(bsn_qp_ep(my.qp[0])));
	else if (!strcmp(word, "loop"))
		loop();
	else if (!strcmp(word, "churn"))
		churn();
	else if (!strcmp(word, "damage"))
		damage();
	else if (!strcmp(word, "reset"))
		MUST(bsn_qp_reset(my.qp[0]) || bsn_qp_destroy(my.qp[0]));
	else if (!strcmp(word, "share"))
		share();
	else if (!strcmp(word, "fork"))
		have_child();
	else
		return false;
	return true;
}

int main(void)
{
	char line[64], word[16];
	unsigned n = 1;

	setvbuf(stdout, NULL, _IOLBF, 0);
	setvbuf(stdin, NULL, _IONBF, 0); /* has_line() must see what is left */
	set_up();
	printf("%u %u %llu %llu %llu %u\n", bsn_qp_info(my.qp[0])->number,
	       bsn_qp_info(my.qp[1])->number, (unsigned long long)my.from->addr,
	       (unsigned long long)my.to->addr,
	       (unsigned long long)(uintptr_t)dv_sq(bsn_qp_ep(my.qp[0])->sq)->ring,
	       dv_sq(bsn_qp_ep(my.qp[0])->sq)->bb_mask + 1);
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "%15s %u", word, &n) < 1 || !obey(word, n)) {
			fprintf(stderr, "live_program: %s", line);
			return 1;
		}
		puts("done");
	}
	_exit(0); /* without destroying its objects */
}
