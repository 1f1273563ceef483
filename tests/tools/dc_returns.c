/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process of a pool's targets is killed, and started anew. The pool stays, and so does a peer
 * in another process. usage: dc_returns
 *
 *	dc_returns         starts the processes, and posts to their targets
 *	dc_returns serve   has targets: writes their addresses to standard output, and serves them
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bsn_dc.h"

enum { TARGETS = 4, INITIATORS = 2, LIVES = 2, KEY = 5 };

struct invitation {
	struct bsn_address address[TARGETS];
	struct bsn_remote memory;
};

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "dc_returns: %s: %s\n", what, bsn_error_text());
	exit(1);
}

/* -- targets ----------------------------------------------------------------------------------- */

static int serve(void)
{
	struct bsn_dct_attr attr = { .access_key = KEY };
	struct bsn_dct *dct[TARGETS];
	struct invitation mine;
	struct bsn_device *dev;
	struct bsn_mr *mem;

	memset(&mine, 0, sizeof(mine));
	must(!bsn_device_open(NULL, NULL, &dev), "device");
	must(!bsn_buf_alloc(dev, 4096, NULL, &mem), "memory");
	must(!bsn_cq_create(dev, NULL, &attr.cq), "CQ");
	must(!bsn_srq_create(dev, &(struct bsn_srq_attr){ .recv_depth = 4 }, &attr.srq), "SRQ");
	for (int t = 0; t < TARGETS; t++) {
		must(!bsn_dct_create(dev, &attr, &dct[t]), "target");
		must(!bsn_dct_address(dct[t], &mine.address[t]), "address");
	}
	mine.memory = (struct bsn_remote){ mem->addr, mem->rkey };
	must(write(STDOUT_FILENO, &mine, sizeof(mine)) == (ssize_t)sizeof(mine), "pipe");
	while (getppid() != 1) {
		for (int t = 0; t < TARGETS; t++)
			must(bsn_dct_accept(dct[t]) >= 0, "accept");
		usleep(200);
	}
	return 0;
}

static pid_t start(const char *program, struct invitation *theirs)
{
	int ends[2];
	pid_t pid;

	must(!pipe(ends), "pipe");
	pid = fork();
	must(pid >= 0, "fork");
	if (!pid) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		execl(program, program, "serve", (char *)NULL);
		_exit(1);
	}
	close(ends[1]);
	for (size_t got = 0; got < sizeof(*theirs);) {
		const ssize_t more = read(ends[0], (char *)theirs + got, sizeof(*theirs) - got);
		must(more > 0, "no addresses came");
		got += (size_t)more;
	}
	close(ends[0]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* -- the pool ---------------------------------------------------------------------------------- */

struct peer {
	struct bsn_ep *ep;
	struct bsn_remote to;
};

static struct bsn_dc_pool *pool;
static struct bsn_mr *mem;

/* Posts one WRITE to the peer, and returns its status. */
static int write_to(struct peer *peer)
{
	const struct bsn_sge local = { mem->addr, 64, mem->lkey };
	struct bsn_completion c;
	int err, n;

	while ((err = bsn_write(peer->ep, &local, &peer->to, 1, BSN_F_SIGNALED | BSN_F_RING)) ==
	       -EAGAIN)
		must(bsn_poll(bsn_dc_pool_cq(pool), &c, 1) >= 0, "poll");
	if (err)
		return err;
	do
		n = bsn_poll(bsn_dc_pool_cq(pool), &c, 1);
	while (!n || (n == 1 && c.opcode == BSN_DC_READY));
	must(n == 1 && c.user == peer, "poll");
	return c.status;
}

static void add_peers(struct peer *peers, const struct invitation *theirs)
{
	for (int t = 0; t < TARGETS; t++) {
		peers[t].to = theirs->memory;
		must(!bsn_dc_peer_create(pool, &theirs->address[t], NULL, &peers[t], &peers[t].ep),
		     "peer");
	}
}

static void remove_peers(struct peer *peers)
{
	for (int t = 0; t < TARGETS; t++)
		must(!bsn_dc_peer_destroy(peers[t].ep), "the end of a peer");
}

/* The peers of the other process are not affected. */
static void live(const char *program, struct peer *others)
{
	struct invitation theirs;
	const pid_t pid = start(program, &theirs);
	struct bsn_dc_error error;
	struct peer peers[TARGETS];

	add_peers(peers, &theirs);
	for (int k = 0; k < 3 * TARGETS; k++) {
		must(write_to(&peers[k % TARGETS]) == IBV_WC_SUCCESS, "a WRITE");
		must(write_to(&others[k % TARGETS]) == IBV_WC_SUCCESS, "a WRITE to another");
	}
	end(pid);
	for (int t = TARGETS - 1; t >= 0;
	     t -= TARGETS - 1) { /* the request to the connected peer fails */
		const int status = write_to(&peers[t]);

		must(status == IBV_WC_RETRY_EXC_ERR || status == -ENOTCONN, "it is not noticed");
		must(!bsn_dc_peer_error(peers[t].ep, &error) && error.has_failed, "no reason");
		must(write_to(&peers[t]) == -ENOTCONN, "it is posted to");
		must(write_to(&others[t]) == IBV_WC_SUCCESS, "another one failed");
		must(bsn_dc_pool_repair(pool) == 0, "repair");
	}
	remove_peers(peers);
}

static int run(const char *program)
{
	/*
	 * To rxe, 7 retries mean retries without end (Linux 6.1,
	 * drivers/infiniband/sw/rxe/rxe_comp.c).
	 */
	const struct bsn_dc_pool_attr attr = { .initiators = INITIATORS,
					       .connect = { .timeout = 8, .retry_count = 6 } };
	struct bsn_dc_counters counters;
	struct peer others[TARGETS];
	struct invitation theirs;
	struct bsn_device *dev;
	const pid_t pid = start(program, &theirs);

	must(!bsn_device_open(NULL, NULL, &dev), "device");
	must(!bsn_buf_alloc(dev, 4096, NULL, &mem), "memory");
	must(!bsn_dc_pool_create(dev, &attr, &pool), "pool");
	add_peers(others, &theirs);
	for (int k = 0; k < LIVES; k++)
		live(program, others);
	remove_peers(others);
	must(!bsn_dc_pool_counters(pool, &counters), "counters");
	must(counters.failures >= LIVES && counters.failures == counters.repairs, "repairs");
	must(!bsn_dc_pool_destroy(pool), "the end of the pool");
	must(!bsn_buf_free(mem), "the end of memory");
	must(!bsn_device_close(dev), "the end");
	end(pid);
	printf("gone and back %d times\n", LIVES);
	return 0;
}

int main(int argc, char **argv)
{
	return argc > 1 ? serve() : run(argv[0]);
}
