/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posts and receives with memory that was deregistered, and on a second thread, and prints what the
 * library says; without checks it accepts them. What it is compiled with knows of no checks.
 */
#include <bsn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(int err, const char *what)
{
	if (!err)
		return;
	printf("%s: %s (%s)\n", what, strerror(-err), bsn_error_text());
	exit(1);
}

static void say(const char *what, int err)
{
	printf("%s: %s\n", what, err ? bsn_error_text() : "taken");
}

static void receive(struct bsn_qp *qp, const struct bsn_sge *sge, const char *what)
{
	say(what, bsn_recv_sgl(bsn_qp_rq(qp), sge, sge ? 1 : 0, 1));
}

static void connect_to_itself(struct bsn_qp *qp)
{
	struct bsn_address mine;

	must(bsn_qp_address(qp, &mine), "bsn_qp_address");
	must(bsn_qp_connect(qp, &mine, NULL), "bsn_qp_connect");
}

static void *elsewhere(void *qp)
{
	receive((struct bsn_qp *)qp, NULL, "on a second thread");
	return NULL;
}

int main(void)
{
	static char bytes[4096];
	struct bsn_device *device;
	struct bsn_qp_attr attr;
	struct bsn_remote remote;
	struct bsn_sge gone;
	struct bsn_mr *mr;
	struct bsn_qp *qp;
	pthread_t thread;

	memset(&attr, 0, sizeof(attr));
	attr.type = BSN_QP_RC;
	must(bsn_device_open(NULL, NULL, &device), "bsn_device_open");
	must(bsn_cq_create(device, NULL, &attr.cq), "bsn_cq_create");
	must(bsn_qp_create(device, &attr, &qp), "bsn_qp_create");
	connect_to_itself(qp);
	must(bsn_mr_register(device, bytes, sizeof(bytes), NULL, &mr), "bsn_mr_register");
	gone.addr = mr->addr;
	gone.length = 8;
	gone.lkey = mr->lkey;
	remote = bsn_remote_of(mr, 0);
	must(bsn_mr_deregister(mr), "bsn_mr_deregister");
	say("a post with memory that is gone",
	    bsn_write(bsn_qp_ep(qp), &gone, &remote, 1, BSN_F_RING));
	receive(qp, &gone, "a receive with memory that is gone");
	must(pthread_create(&thread, NULL, elsewhere, qp), "pthread_create");
	must(pthread_join(thread, NULL), "pthread_join");
	return 0;
}
