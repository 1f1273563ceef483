/* SPDX-License-Identifier: BSD-2-Clause */
/* What the probes of a device have: a QP, its CQ, and memory. What fails ends the program. */
#ifndef TESTS_DEVICE_END_H
#define TESTS_DEVICE_END_H

#include <stdio.h>
#include <stdlib.h>

#include "bsn.h"

struct end {
	struct bsn_device *device;
	struct bsn_mr *buf;
	struct bsn_cq *cq;
	struct bsn_qp *qp;
};

static inline void die(const char *text)
{
	fprintf(stderr, "%s\n", text);
	exit(1);
}

static inline void must(int err)
{
	if (err)
		die(bsn_error_text());
}

/* @attr: NULL, or how the device is opened; @send_depth: 0, or of the QP */
static inline void open_end(struct end *e, const char *device, const struct bsn_device_attr *attr,
			    uint32_t send_depth)
{
	struct bsn_qp_attr qp = { .send_depth = send_depth, .recv_depth = 1 };

	must(bsn_device_open(device, attr, &e->device));
	must(bsn_buf_alloc(e->device, 4096, NULL, &e->buf));
	must(bsn_cq_create(e->device, NULL, &e->cq));
	qp.cq = e->cq;
	must(bsn_qp_create(e->device, &qp, &e->qp));
}

static inline void close_end(struct end *e)
{
	must(bsn_qp_destroy(e->qp));
	must(bsn_cq_destroy(e->cq));
	must(bsn_buf_free(e->buf));
	must(bsn_device_close(e->device));
}

static inline struct bsn_completion await(struct end *e)
{
	struct bsn_completion c;
	int n;

	while (!(n = bsn_poll(e->cq, &c, 1)))
		;
	if (n < 0)
		die("polling failed");
	return c;
}

#endif
