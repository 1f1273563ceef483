/* SPDX-License-Identifier: BSD-2-Clause */
/* The beginning of the tutorial: what a program of verbs does before it can post. */
#include "tutorial.h"

#include <stdio.h>
#include <stdlib.h>

static void must(bool worked, const char *what)
{
	if (worked)
		return;
	perror(what);
	exit(1);
}

void old_open(struct old *p)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = DEPTH,
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	must(list && list[0], "no RDMA device");
	p->context = ibv_open_device(list[0]);
	must(p->context, "open");
	ibv_free_device_list(list);
	p->pd = ibv_alloc_pd(p->context);
	must(p->pd, "protection domain");
	p->mr = ibv_reg_mr(p->pd, p, sizeof(*p), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	must(p->mr, "memory");
	p->cq = ibv_create_cq(p->context, 4 * DEPTH, NULL, NULL, 0);
	must(p->cq, "completion queue");
	init.send_cq = init.recv_cq = p->cq;
	p->qp = ibv_create_qp(p->pd, &init);
	must(p->qp, "queue pair");
}

void old_connect(struct old *p)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };
	struct ibv_port_attr port;
	union ibv_gid gid;

	must(!ibv_query_port(p->context, 1, &port), "port 1");
	must(!ibv_query_gid(p->context, 1, 0, &gid), "the address of port 1");
	must(!ibv_modify_qp(p->qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
	     "to INIT");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = port.active_mtu,
		.dest_qp_num = p->qp->qp_num, /* itself */
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = { .dlid = port.lid,
			     .port_num = 1,
			     .is_global = port.link_layer == IBV_LINK_LAYER_ETHERNET,
			     .grh = { .dgid = gid, .hop_limit = 64 } },
	};
	must(!ibv_modify_qp(p->qp, &attr,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER),
	     "to RTR");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .timeout = 14,
				     .retry_cnt = 7,
				     .rnr_retry = 7,
				     .max_rd_atomic = 1 };
	must(!ibv_modify_qp(p->qp, &attr,
			    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
	     "to RTS");
}

void old_close(struct old *p)
{
	must(!ibv_destroy_qp(p->qp), "queue pair");
	must(!ibv_destroy_cq(p->cq), "completion queue");
	must(!ibv_dereg_mr(p->mr), "memory");
	must(!ibv_dealloc_pd(p->pd), "protection domain");
	must(!ibv_close_device(p->context), "device");
}
