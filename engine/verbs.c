/* SPDX-License-Identifier: BSD-2-Clause */
/* The fallback on plain verbs: not there yet, and says so. */
#include "engine.h"

static int refuse(void)
{
	return fail(EOPNOTSUPP, "this build has the direct path only");
}

static int cq_make(struct cq_object *cq)
{
	(void)cq;
	return refuse();
}

static int qp_make(struct qp_object *qp, const struct bsn_qp_attr *attr)
{
	(void)qp;
	(void)attr;
	return refuse();
}

static int srq_make(struct srq_object *srq)
{
	(void)srq;
	return refuse();
}

const struct path_ops verbs_path = {
	.cq_make = cq_make,
	.qp_make = qp_make,
	.srq_make = srq_make,
};
