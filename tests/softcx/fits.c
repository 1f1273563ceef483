/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a device does where the two ends of a connection disagree: a line each. On soft-RoCE it is
 * a column of the table in softcx(1), and fits.txt has what Linux 6.1 said.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <infiniband/verbs.h>

enum { A, B, ENDS, HALF = 16384, DEPTH = 16, PSN = 7, WAIT_S = 8 };

struct told {
	enum ibv_mtu mtu;
	uint32_t rq_psn, sq_psn, wrong_peer;
	uint8_t max_dest_rd_atomic;
};

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct ibv_cq *cq[ENDS];
static struct ibv_qp *qp[ENDS];
static union ibv_gid gid;
static uint8_t gid_index;
static uint8_t memory[2 * HALF] __attribute__((aligned(4096))); /* A's, then B's */

static void need(bool holds, const char *what)
{
	if (holds)
		return;
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

#define NEED(condition) need(condition, #condition)

static void open_device(void)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_gid_entry entry;

	NEED(list && *list);
	NEED((ctx = ibv_open_device(*list)));
	ibv_free_device_list(list);
	NEED((pd = ibv_alloc_pd(ctx)));
	NEED((mr = ibv_reg_mr(pd, memory, sizeof(memory), access)));
	for (uint8_t i = 0; i < 16; i++) { /* the first of RoCE v2 and IPv4 */
		if (ibv_query_gid_ex(ctx, 1, i, &entry, 0) ||
		    entry.gid_type != IBV_GID_TYPE_ROCE_V2 || entry.gid.raw[10] != 0xff)
			continue;
		gid_index = i;
		gid = entry.gid;
		return;
	}
	NEED(!"a GID of RoCE v2 and IPv4");
}

static void create(unsigned end)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC,
					 .cap = { DEPTH, DEPTH, 1, 1, 0 } };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
						       IBV_ACCESS_REMOTE_READ |
						       IBV_ACCESS_REMOTE_ATOMIC };

	NEED((cq[end] = ibv_create_cq(ctx, 2 * DEPTH, NULL, NULL, 0)));
	init.send_cq = init.recv_cq = cq[end];
	NEED((qp[end] = ibv_create_qp(pd, &init)));
	NEED(!ibv_modify_qp(qp[end], &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
}

/* What RTR answers, or RTS. */
static int connect_end(unsigned end, const struct told *t, const union ibv_gid *to)
{
	struct ibv_qp_attr rtr = { .qp_state = IBV_QPS_RTR,
				   .path_mtu = t->mtu,
				   .dest_qp_num = qp[!end]->qp_num + t->wrong_peer,
				   .rq_psn = t->rq_psn,
				   .max_dest_rd_atomic = t->max_dest_rd_atomic,
				   .min_rnr_timer = 1,
				   .ah_attr = { .port_num = 1,
						.is_global = 1,
						.grh = { .dgid = *to,
							 .sgid_index = gid_index,
							 .hop_limit = 64 } } };
	struct ibv_qp_attr rts = { .qp_state = IBV_QPS_RTS,
				   .sq_psn = t->sq_psn,
				   .timeout = 14,
				   .retry_cnt = 2,
				   .rnr_retry = 7,
				   .max_rd_atomic = 8 };
	const int err = ibv_modify_qp(qp[end], &rtr,
				      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
					      IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);

	return err ? err
		   : ibv_modify_qp(qp[end], &rts,
				   IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
					   IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					   IBV_QP_MAX_QP_RD_ATOMIC);
}

static void destroy_ends(void)
{
	for (unsigned end = 0; end < ENDS; end++) {
		NEED(!ibv_destroy_qp(qp[end]));
		NEED(!ibv_destroy_cq(cq[end]));
	}
}

/* -- a request --------------------------------------------------------------------------------- */

struct request {
	const char *name;
	struct told a, b;
	enum ibv_wr_opcode opcode;
	uint32_t len;
	unsigned count; /* by one doorbell */
};

static bool brings(const struct request *r)
{
	return r->opcode == IBV_WR_RDMA_READ || r->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static void post(const struct request *r)
{
	struct ibv_sge from = { (uintptr_t)memory, r->len, mr->lkey };
	struct ibv_sge into = { (uintptr_t)memory + HALF, HALF, mr->lkey };
	struct ibv_recv_wr *bad_recv, recv = { .sg_list = &into, .num_sge = 1 };
	struct ibv_send_wr wrs[DEPTH], *bad;

	memset(memory, brings(r) ? 0 : 0x5a, HALF);
	memset(memory + HALF, brings(r) ? 0x5a : 0, HALF);
	if (r->opcode == IBV_WR_SEND)
		NEED(!ibv_post_recv(qp[B], &recv, &bad_recv));
	for (unsigned i = 0; i < r->count; i++) {
		wrs[i] = (struct ibv_send_wr){ .next = i + 1 == r->count ? NULL : &wrs[i + 1],
					       .sg_list = &from,
					       .num_sge = 1,
					       .opcode = r->opcode,
					       .send_flags = IBV_SEND_SIGNALED };
		wrs[i].wr.rdma.remote_addr = (uintptr_t)memory + HALF;
		wrs[i].wr.rdma.rkey = mr->rkey;
		if (r->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
			wrs[i].wr.atomic.remote_addr = (uintptr_t)memory + HALF;
			wrs[i].wr.atomic.compare_add = 1;
			wrs[i].wr.atomic.rkey = mr->rkey;
		}
	}
	NEED(!ibv_post_send(qp[A], wrs, &bad));
}

/* The status of the first that fails, or of the last; -1: it does not come. */
static int wait_for(const struct request *r)
{
	const time_t end = time(NULL) + WAIT_S;
	unsigned done = 0;
	struct ibv_wc wc;

	while (done < r->count && time(NULL) < end) {
		if (ibv_poll_cq(cq[A], 1, &wc) != 1)
			continue;
		done++;
		if (wc.status)
			return (int)wc.status;
	}
	return done == r->count ? 0 : -1;
}

static bool is_executed(const struct request *r)
{
	if (r->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		return memory[HALF] == 0x5b;
	return !memcmp(memory, memory + HALF, r->len);
}

static bool fails(unsigned end)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	NEED(!ibv_query_qp(qp[end], &attr, IBV_QP_STATE, &init));
	return attr.qp_state == IBV_QPS_ERR;
}

static void try(const struct request *r)
{
	int status;

	create(A);
	create(B);
	NEED(!connect_end(A, &r->a, &gid));
	NEED(!connect_end(B, &r->b, &gid));
	post(r);
	status = wait_for(r);
	printf("%s: status %d, %s, responder %s\n", r->name, status,
	       is_executed(r) ? "executed" : "not executed", fails(B) ? "fails" : "stays");
	destroy_ends();
}

static void try_family(void)
{
	const struct told usual = { IBV_MTU_1024, PSN, PSN, 0, 8 };
	const union ibv_gid link_local = { .raw = { 0xfe, 0x80, [15] = 7 } };

	create(A);
	create(B);
	printf("an IPv4 GID to an IPv6 one: RTR %s\n",
	       strerror(connect_end(A, &usual, &link_local)));
	destroy_ends();
}

int main(void)
{
	/* mtu, rq_psn, sq_psn, wrong peer, max_dest_rd_atomic */
#define USUAL  { IBV_MTU_1024, PSN, PSN, 0, 8 }
#define LONG   { IBV_MTU_4096, PSN, PSN, 0, 8 }
#define AHEAD  { IBV_MTU_1024, PSN, PSN + 1, 0, 8 }
#define BEHIND { IBV_MTU_1024, PSN, PSN - 1, 0, 8 }
	static const struct request requests[] = {
		{ "all agree", USUAL, USUAL, IBV_WR_RDMA_WRITE, 5000, 1 },
		{ "longer packets, one that fits", LONG, USUAL, IBV_WR_RDMA_WRITE, 1024, 1 },
		{ "longer packets, WRITE", LONG, USUAL, IBV_WR_RDMA_WRITE, 5000, 1 },
		{ "longer packets, SEND", LONG, USUAL, IBV_WR_SEND, 5000, 1 },
		{ "longer packets, READ", LONG, USUAL, IBV_WR_RDMA_READ, 5000, 1 },
		{ "shorter packets, WRITE", USUAL, LONG, IBV_WR_RDMA_WRITE, 5000, 1 },
		{ "shorter packets, SEND", USUAL, LONG, IBV_WR_SEND, 5000, 1 },
		{ "shorter packets, READ", USUAL, LONG, IBV_WR_RDMA_READ, 5000, 1 },
		{ "PSN ahead", AHEAD, USUAL, IBV_WR_RDMA_WRITE, 64, 1 },
		{ "PSN behind, WRITE", BEHIND, USUAL, IBV_WR_RDMA_WRITE, 64, 1 },
		{ "PSN behind, SEND", BEHIND, USUAL, IBV_WR_SEND, 64, 1 },
		{ "PSN behind, READ", BEHIND, USUAL, IBV_WR_RDMA_READ, 64, 1 },
		{ "PSN behind, atomic", BEHIND, USUAL, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 1 },
		{ "PSN behind, not to the end", BEHIND, USUAL, IBV_WR_RDMA_WRITE, 2000, 1 },
		{ "8 READs, room for 1", USUAL, { IBV_MTU_1024, PSN, PSN, 0, 1 },
		  IBV_WR_RDMA_READ, 64, 8 },
		{ "a READ, room for none", USUAL, { IBV_MTU_1024, PSN, PSN, 0, 0 },
		  IBV_WR_RDMA_READ, 64, 1 },
		{ "connected to another one", USUAL, { IBV_MTU_1024, PSN, PSN, 1, 8 },
		  IBV_WR_RDMA_WRITE, 64, 1 },
	};

	open_device();
	for (unsigned i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
		try(&requests[i]);
	try_family();
	return 0;
}
