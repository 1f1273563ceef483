/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posts with memory that was deregistered, and on a second thread, and prints what the library says
 * about both; without checks it accepts them. Nothing is connected, so the device has nothing to
 * do.
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

static void receive(struct bsn_qp *qp, const struct bsn_sge *sge, const char *what)
{
	const int err = bsn_recv_sgl(bsn_qp_rq(qp), sge, sge ? 1 : 0, 1);

	printf("%s: %s\n", what, err ? bsn_error_text() : "taken");
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
	struct bsn_sge gone;
	struct bsn_mr *mr;
	struct bsn_qp *qp;
	pthread_t thread;

	memset(&attr, 0, sizeof(attr));
	attr.type = BSN_QP_RC;
	must(bsn_device_open(NULL, NULL, &device), "bsn_device_open");
	must(bsn_cq_create(device, NULL, &attr.cq), "bsn_cq_create");
	must(bsn_qp_create(device, &attr, &qp), "bsn_qp_create");
	must(bsn_mr_register(device, bytes, sizeof(bytes), NULL, &mr), "bsn_mr_register");
	gone.addr = mr->addr;
	gone.length = 8;
	gone.lkey = mr->lkey;
	must(bsn_mr_deregister(mr), "bsn_mr_deregister");
	receive(qp, &gone, "with memory that is gone");
	must(pthread_create(&thread, NULL, elsewhere, qp), "pthread_create");
	must(pthread_join(thread, NULL), "pthread_join");
	return 0;
}
