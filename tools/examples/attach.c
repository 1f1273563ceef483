/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program of libibverbs that lets Bunsen post and poll on its queue pair. Device, memory and
 * connection stay those of the program. With rdma_cm it is the same, by the ->qp of a struct
 * rdma_cm_id.
 *
 * The queue pair is connected to itself here, so that one process is enough.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bsn.h"

enum { DEPTH = 64, BYTES = 64, WRITES = 1000 };

/* What the program had before. */
struct old_program {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	char memory[2 * BYTES];
};

static __attribute__((noreturn)) void die(const char *what, const char *why)
{
	fprintf(stderr, "attach: %s: %s\n", what, why);
	exit(1);
}

static void must_verbs(bool worked, const char *what)
{
	if (!worked)
		die(what, strerror(errno));
}

static void open_verbs(struct old_program *p)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = DEPTH,
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	must_verbs(list && list[0], "no RDMA device");
	p->context = ibv_open_device(list[0]);
	must_verbs(p->context, "open");
	ibv_free_device_list(list);
	p->pd = ibv_alloc_pd(p->context);
	must_verbs(p->pd, "protection domain");
	p->mr = ibv_reg_mr(p->pd, p->memory, sizeof(p->memory),
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	must_verbs(p->mr, "memory");
	/*
	 * More than DEPTH: attached queues never use the spare entries, and are polled faster with
	 * them.
	 */
	p->cq = ibv_create_cq(p->context, 4 * DEPTH, NULL, NULL, 0);
	must_verbs(p->cq, "completion queue");
	init.send_cq = init.recv_cq = p->cq;
	p->qp = ibv_create_qp(p->pd, &init);
	must_verbs(p->qp, "queue pair");
}

static void connect_verbs(struct old_program *p)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };
	struct ibv_port_attr port;
	union ibv_gid gid;

	must_verbs(!ibv_query_port(p->context, 1, &port), "port 1");
	must_verbs(!ibv_query_gid(p->context, 1, 0, &gid), "the address of port 1");
	must_verbs(!ibv_modify_qp(p->qp, &attr,
				  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					  IBV_QP_ACCESS_FLAGS),
		   "to INIT");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = port.active_mtu,
		.dest_qp_num = p->qp->qp_num,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = { .dlid = port.lid,
			     .port_num = 1,
			     .is_global = port.link_layer == IBV_LINK_LAYER_ETHERNET,
			     .grh = { .dgid = gid, .hop_limit = 64 } },
	};
	must_verbs(!ibv_modify_qp(p->qp, &attr,
				  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					  IBV_QP_MIN_RNR_TIMER),
		   "to RTR");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .timeout = 14,
				     .retry_cnt = 7,
				     .rnr_retry = 7,
				     .max_rd_atomic = 1 };
	must_verbs(!ibv_modify_qp(p->qp, &attr,
				  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					  IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					  IBV_QP_MAX_QP_RD_ATOMIC),
		   "to RTS");
}

static void close_verbs(struct old_program *p)
{
	must_verbs(!ibv_destroy_qp(p->qp), "queue pair");
	must_verbs(!ibv_destroy_cq(p->cq), "completion queue");
	must_verbs(!ibv_dereg_mr(p->mr), "memory");
	must_verbs(!ibv_dealloc_pd(p->pd), "protection domain");
	must_verbs(!ibv_close_device(p->context), "device");
}

/* What is new: the loop. */
static void write_often(struct old_program *p, struct bsn_qp *qp)
{
	const struct bsn_sge local = { (uintptr_t)p->memory, BYTES, p->mr->lkey };
	const struct bsn_remote remote = { (uintptr_t)p->memory + BYTES, p->mr->rkey };
	struct bsn_ep *ep = bsn_qp_ep(qp);
	struct bsn_completion done;
	int n;

	for (uint64_t id = 0; id < WRITES; id++) {
		if (bsn_write(ep, &local, &remote, id, BSN_F_SIGNALED | BSN_F_RING))
			die("write", "refused");
		while (!(n = bsn_poll(bsn_qp_info(qp)->cq, &done, 1)))
			;
		if (n < 0 || done.status || done.id != id)
			die("write", n < 0 ? strerror(-n)
					   : ibv_wc_status_str((enum ibv_wc_status)done.status));
	}
}

int main(void)
{
	/* Nobody else in this program posts through the queue pair's doorbell register. */
	const struct bsn_attach_attr attr = { .register_is_ours = true };
	static struct old_program program = { .memory = "written by Bunsen" };
	struct bsn_device *dev;
	struct bsn_qp *qp;

	open_verbs(&program);
	if (bsn_device_attach(program.context, NULL, &dev) ||
	    bsn_qp_attach(dev, program.qp, &attr, &qp)) /* before its first post */
		die("attach", bsn_error_text());
	connect_verbs(&program);
	write_often(&program, qp);
	printf("%s, %d times\n", program.memory + BYTES, WRITES);
	if (bsn_qp_destroy(qp) || bsn_device_close(dev)) /* the verbs objects stay */
		die("detach", bsn_error_text());
	close_verbs(&program);
	return 0;
}
