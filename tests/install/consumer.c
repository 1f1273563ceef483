/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that uses the installed library, in the part of C11 that is C++17 too: an RDMA WRITE
 * between two QPs of its own. Without a device it says so, in the library's words.
 */
#include <bsn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BYTES = 64, PATIENCE_S = 10 };

static void must(int err, const char *what)
{
	if (!err)
		return;
	printf("%s: %s (%s)\n", what, strerror(-err), bsn_error_text());
	exit(1);
}

static struct bsn_qp *make_qp(struct bsn_device *device, struct bsn_cq *cq)
{
	struct bsn_qp_attr attr;
	struct bsn_qp *qp;

	memset(&attr, 0, sizeof(attr));
	attr.type = BSN_QP_RC;
	attr.cq = cq;
	must(bsn_qp_create(device, &attr, &qp), "bsn_qp_create");
	return qp;
}

static void connect_qp(struct bsn_qp *qp, const struct bsn_qp *to)
{
	struct bsn_address peer;

	must(bsn_qp_address(to, &peer), "bsn_qp_address");
	must(bsn_qp_connect(qp, &peer, NULL), "bsn_qp_connect");
}

static void write_and_wait(struct bsn_qp *qp, struct bsn_cq *cq, const struct bsn_mr *buf)
{
	const struct bsn_sge from = { buf->addr, BYTES, buf->lkey };
	const struct bsn_remote to = { buf->addr + BYTES, buf->rkey };
	const time_t until = time(NULL) + PATIENCE_S;
	struct bsn_completion done;
	int got;

	must(bsn_write(bsn_qp_ep(qp), &from, &to, 42, BSN_F_SIGNALED | BSN_F_RING), "bsn_write");
	while ((got = bsn_poll(cq, &done, 1)) == 0)
		if (time(NULL) > until)
			must(-ETIMEDOUT, "bsn_poll");
	must(got < 0 ? got : 0, "bsn_poll");
	if (done.status || done.id != 42)
		must(-EIO, ibv_wc_status_str((enum ibv_wc_status)done.status));
}

int main(void)
{
	struct bsn_device *device;
	struct bsn_cq_attr cq_attr;
	struct bsn_mr *buf;
	struct bsn_cq *cq;
	struct bsn_qp *qp[2];
	char *bytes;
	int err = bsn_device_open(NULL, NULL, &device);

	if (err == -ENODEV || err == -ENOSYS) {
		printf("no device: %s\n", bsn_error_text());
		return 0;
	}
	must(err, "bsn_device_open");
	must(bsn_buf_alloc(device, 2 * BYTES, NULL, &buf), "bsn_buf_alloc");
	memset(&cq_attr, 0, sizeof(cq_attr));
	cq_attr.entries = 512;
	must(bsn_cq_create(device, &cq_attr, &cq), "bsn_cq_create");
	qp[0] = make_qp(device, cq);
	qp[1] = make_qp(device, cq);
	connect_qp(qp[0], qp[1]);
	connect_qp(qp[1], qp[0]);

	bytes = (char *)(uintptr_t)buf->addr;
	memset(bytes, 'x', BYTES);
	write_and_wait(qp[0], cq, buf);
	must(memcmp(bytes, bytes + BYTES, BYTES) ? -EIO : 0, "the bytes that arrived");

	must(bsn_qp_destroy(qp[0]), "bsn_qp_destroy");
	must(bsn_qp_destroy(qp[1]), "bsn_qp_destroy");
	must(bsn_cq_destroy(cq), "bsn_cq_destroy");
	must(bsn_buf_free(buf), "bsn_buf_free");
	must(bsn_device_close(device), "bsn_device_close");
	printf("written and read back\n");
	return 0;
}
