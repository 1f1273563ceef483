/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program of 1.0: it is compiled with that version's headers (1.0/), and linked with the library
 * of today. Posts of each kind that inline code has, appended and rung, prepared ones, receives of
 * a queue and of an SRQ, polls, and peers of a DC pool. It says what went wrong, and fails.
 */
#include <bsn_dc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 256, ROUNDS = 300, PEERS = 3 };

static struct bsn_device *device;
static struct bsn_mr *buf;
static struct bsn_cq *cq;
static unsigned done_sends, done_recvs;

static void fail_at(const char *what, int line)
{
	fprintf(stderr, "line %d: %s: %s\n", line, what, bsn_error_text());
	exit(1);
}

#define MUST(call)                                                                                 \
	do {                                                                                       \
		if (call)                                                                          \
			fail_at(#call, __LINE__);                                                  \
	} while (0)

/* -- memory: what is sent is in the first half, and arrives in the second ---------------------- */

static char *at(uint64_t offset)
{
	return (char *)buf->data + offset;
}

static void fill(int round)
{
	memset(at(0), 1 + round % 100, BYTES);
	memset(at(BYTES), 0, BYTES);
}

static void assert_came(int round, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		MUST(at(BYTES)[i] != 1 + round % 100);
}

/* -- completions ------------------------------------------------------------------------------- */

/* Polls until so many sends and receives completed since the last call. */
static void await(unsigned sends, unsigned recvs)
{
	struct bsn_completion c[4];

	while (done_sends < sends || done_recvs < recvs) {
		const int n = bsn_poll(cq, c, 4);

		MUST(n < 0);
		for (int i = 0; i < n; i++) {
			MUST(c[i].status != IBV_WC_SUCCESS);
			done_recvs += c[i].opcode == BSN_RECV;
			done_sends += c[i].opcode < BSN_RECV_RDMA_WITH_IMM && c[i].id;
		}
	}
	MUST(done_sends != sends || done_recvs != recvs);
	done_sends = done_recvs = 0;
}

/* -- one peer ---------------------------------------------------------------------------------- */

#define NOW (BSN_F_SIGNALED | BSN_F_RING)

static void write_and_read(struct bsn_ep *ep, int round)
{
	const struct bsn_sge mine = bsn_sge_of(buf, 0, BYTES), theirs = bsn_sge_of(buf, BYTES, 64);
	const struct bsn_sge halves[2] = { bsn_sge_of(buf, 0, 16), bsn_sge_of(buf, 16, 16) };
	const struct bsn_remote to = bsn_remote_of(buf, BYTES), from = bsn_remote_of(buf, 0);
	const uint64_t id = (uint64_t)round + 1;

	fill(round);
	MUST(bsn_write(ep, &mine, &to, id, NOW));
	await(1, 0);
	assert_came(round, BYTES);
	fill(round);
	MUST(bsn_write_sgl(ep, halves, 2, &to, id, 0)); /* appended */
	MUST(bsn_write_inline(ep, at(0), 8, &to, id, BSN_F_SIGNALED));
	MUST(bsn_write_inline(ep, at(0), 40, &to, id, 0));
	MUST(bsn_ring(ep));
	MUST(bsn_read(ep, &theirs, &from, id, NOW));
	await(2, 0);
	assert_came(round, 64);
}

static void send_and_receive(struct bsn_ep *ep, struct bsn_rq *rq, int round)
{
	const struct bsn_sge mine = bsn_sge_of(buf, 0, 32), theirs = bsn_sge_of(buf, BYTES, 32);
	const struct bsn_sge more[2] = { bsn_sge_of(buf, BYTES, 8),
					 bsn_sge_of(buf, BYTES + 8, 24) };
	const uint64_t id = (uint64_t)round + 1;

	fill(round);
	MUST(bsn_recv(rq, &theirs, id));
	MUST(bsn_recv_sgl(rq, more, 2, id));
	MUST(bsn_recv(rq, &theirs, id));
	MUST(bsn_send(ep, &mine, id, NOW));
	MUST(bsn_send_imm(ep, &mine, 7, id, NOW));
	MUST(bsn_send_inline(ep, at(0), 12, id, NOW));
	await(3, 3);
	assert_came(round, 32);
}

static void post_prepared(struct bsn_ep *ep, const struct bsn_prepared *p, int round)
{
	fill(round);
	MUST(bsn_post_prepared(ep, p, (uint64_t)round + 1, NOW));
	await(1, 0);
	assert_came(round, 48);
}

static void use_one_peer(void)
{
	struct bsn_qp_attr attr = {
		.type = BSN_QP_RC, .cq = cq, .max_send_sge = 2, .max_recv_sge = 2, .max_inline = 64
	};
	const struct bsn_sge mine = bsn_sge_of(buf, 0, 48);
	const struct bsn_wr wr = { .opcode = BSN_OPCODE_RDMA_WRITE,
				   .sge = &mine,
				   .sge_count = 1,
				   .remote = bsn_remote_of(buf, BYTES) };
	struct bsn_address address;
	struct bsn_prepared prepared;
	struct bsn_qp *qp;

	MUST(bsn_qp_create(device, &attr, &qp));
	MUST(bsn_qp_address(qp, &address));
	MUST(bsn_qp_connect(qp, &address, NULL)); /* its peer is itself */
	MUST(bsn_prepare(bsn_qp_ep(qp), &wr, &prepared));
	for (int round = 0; round < ROUNDS; round++) {
		write_and_read(bsn_qp_ep(qp), round);
		send_and_receive(bsn_qp_ep(qp), bsn_qp_rq(qp), round);
		post_prepared(bsn_qp_ep(qp), &prepared, round);
	}
	MUST(bsn_qp_destroy(qp));
}

/* -- peers of a DC pool ------------------------------------------------------------------------ */

static void send_to_peer(struct bsn_ep *ep, struct bsn_rq *srq, int round)
{
	const struct bsn_sge mine = bsn_sge_of(buf, 0, 32), theirs = bsn_sge_of(buf, BYTES, 32);
	struct bsn_completion c[4];
	int err;

	fill(round);
	MUST(bsn_recv(srq, &theirs, 1));
	while ((err = bsn_send(ep, &mine, 1, NOW)) == -EAGAIN)
		MUST(bsn_poll(cq, c, 4) < 0);
	MUST(err);
	await(1, 1);
	assert_came(round, 32);
}

static void use_many_peers(void)
{
	struct bsn_dc_pool_attr pool_attr = { .cq = cq, .initiators = 2 };
	struct bsn_dct_attr dct_attr = { .cq = cq };
	struct bsn_dc_pool *pool;
	struct bsn_address address;
	struct bsn_ep *ep[PEERS];
	struct bsn_dct *dct;

	MUST(bsn_srq_create(device, NULL, &dct_attr.srq));
	MUST(bsn_dct_create(device, &dct_attr, &dct));
	MUST(bsn_dct_address(dct, &address));
	MUST(bsn_dc_pool_create(device, &pool_attr, &pool));
	for (int i = 0; i < PEERS; i++)
		MUST(bsn_dc_peer_create(pool, &address, NULL, NULL, &ep[i]));
	for (int round = 0; round < ROUNDS; round++)
		send_to_peer(ep[round % PEERS], dct_attr.srq, round);
	for (int i = 0; i < PEERS; i++)
		MUST(bsn_dc_peer_destroy(ep[i]));
	MUST(bsn_dc_pool_destroy(pool));
	MUST(bsn_dct_destroy(dct));
	MUST(bsn_srq_destroy(dct_attr.srq));
}

int main(void)
{
	struct bsn_cq_attr cq_attr = { .entries = 4096 };

	MUST(bsn_device_open(NULL, NULL, &device));
	MUST(bsn_buf_alloc(device, (size_t)2 * BYTES, NULL, &buf));
	MUST(bsn_cq_create(device, &cq_attr, &cq));
	use_one_peer();
	use_many_peers();
	MUST(bsn_cq_destroy(cq));
	MUST(bsn_buf_free(buf));
	MUST(bsn_device_close(device));
	return 0;
}
