/* SPDX-License-Identifier: BSD-2-Clause */
/* The device has as many objects as it says; a process has as many contexts as it wants. */
#include "loopback.h"

#include <sys/resource.h>

enum { CONTEXTS = 1000 };

struct device {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
};

static void *make_cq(const struct device *d)
{
	return ibv_create_cq(d->context, 1, NULL, NULL, 0);
}

static void *make_srq(const struct device *d)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 1, .max_sge = 1 } };

	return ibv_create_srq(d->pd, &init);
}

static void *make_qp(const struct device *d)
{
	struct ibv_qp_init_attr init = {
		.send_cq = d->cq, .recv_cq = d->cq, .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 }
	};

	return ibv_create_qp(d->pd, &init);
}

static int end_cq(void *cq)
{
	return ibv_destroy_cq(cq);
}

static int end_srq(void *srq)
{
	return ibv_destroy_srq(srq);
}

static int end_qp(void *qp)
{
	return ibv_destroy_qp(qp);
}

/* @there: objects of this kind that existed before */
static void assert_has(const struct device *d, int most, int there,
		       void *(*make)(const struct device *d), int (*end)(void *object))
{
	void **objects = made(calloc((size_t)most + 1, sizeof(*objects)));
	int count = 0;

	while (count <= most && (objects[count] = make(d)))
		count++;
	assert_int_equal(count + there, most);
	assert_int_equal(errno, ENOMEM);
	while (count--)
		assert_int_equal(end(objects[count]), 0);
	free(objects);
}

static void as_many_as_it_says(void **state)
{
	struct device d = { .context = loopback_open_device() };
	struct ibv_device_attr attr;

	assert_non_null(d.context);
	assert_int_equal(ibv_query_device(d.context, &attr), 0);
	d.pd = ibv_alloc_pd(d.context);
	d.cq = made(make_cq(&d));
	assert_has(&d, attr.max_cq, 1, make_cq, end_cq);
	assert_has(&d, attr.max_srq, 0, make_srq, end_srq);
	assert_has(&d, attr.max_qp, 0, make_qp, end_qp);
	assert_int_equal(ibv_destroy_cq(d.cq), 0);
	assert_int_equal(ibv_dealloc_pd(d.pd), 0);
	assert_int_equal(ibv_close_device(d.context), 0);
}

static void as_many_contexts_as_files(void **state)
{
	static struct ibv_context *contexts[CONTEXTS];
	struct rlimit files;
	unsigned count;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = files.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	count = files.rlim_max / 8 < CONTEXTS ? (unsigned)(files.rlim_max / 8) : CONTEXTS;
	for (unsigned i = 0; i < count; i++)
		contexts[i] = loopback_open_device();
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(ibv_close_device(contexts[i]), 0);
}

int main(void)
{
	if (loopback_start(CX_LINK_IB))
		return 1;
	return RUN(UNIT(as_many_as_it_says), UNIT(as_many_contexts_as_files));
}
