/* SPDX-License-Identifier: BSD-2-Clause */
/* What cases make on the bench, and what they post there. */
#include "harness.h"
#include "loop.h"

#include <pthread.h>
#include <sys/mman.h>

enum { PAGE_BYTES = 4096 };

struct bench_undo {
	int (*undo)(void *object); /* NULL: it is pages */
	void *object;
	size_t pages;
};

static void keep(struct bench *b, struct bench_undo undo)
{
	b->undo = realloc(b->undo, (b->undo_count + 1) * sizeof(*b->undo));
	assert_non_null(b->undo);
	b->undo[b->undo_count++] = undo;
}

void bench_undo(struct bench *b, int (*undo)(void *object), void *object)
{
	keep(b, (struct bench_undo){ undo, object, 0 });
}

void bench_undo_all(struct bench *b)
{
	while (b->undo_count) {
		const struct bench_undo *last = &b->undo[--b->undo_count];
		ok(last->undo ? last->undo(last->object)
			      : munmap(last->object, last->pages * PAGE_BYTES));
	}
	free(b->undo);
	b->undo = NULL;
}

struct bsn_pd *bench_pd(struct bench *b)
{
	struct bsn_pd *pd;

	ok(bsn_pd_create(b->device, &pd));
	undo_later(b, bsn_pd_destroy, pd);
	return pd;
}

struct bsn_channel *bench_channel(struct bench *b)
{
	struct bsn_channel *channel;

	ok(bsn_channel_create(b->device, &channel));
	undo_later(b, bsn_channel_destroy, channel);
	return channel;
}

struct bsn_cq *bench_cq(struct bench *b, const struct bsn_cq_attr *attr)
{
	struct bsn_cq *cq;

	ok(bsn_cq_create(b->device, attr, &cq));
	undo_later(b, bsn_cq_destroy, cq);
	return cq;
}

struct bsn_rq *bench_srq(struct bench *b, const struct bsn_srq_attr *attr)
{
	struct bsn_rq *srq;

	ok(bsn_srq_create(b->device, attr, &srq));
	undo_later(b, bsn_srq_destroy, srq);
	return srq;
}

struct bsn_qp *bench_qp(struct bench *b, const struct bsn_qp_attr *attr)
{
	struct bsn_qp *qp;

	ok(bsn_qp_create(b->device, attr, &qp));
	undo_later(b, bsn_qp_destroy, qp);
	return qp;
}

struct bsn_mr *bench_mr(struct bench *b, void *memory, size_t length,
			const struct bsn_mr_attr *attr)
{
	struct bsn_mr *mr;

	ok(bsn_mr_register(b->device, memory, length, attr, &mr));
	undo_later(b, bsn_mr_deregister, mr);
	return mr;
}

struct bsn_mr *bench_buf(struct bench *b, size_t length, const struct bsn_mr_attr *attr)
{
	struct bsn_mr *buf;

	ok(bsn_buf_alloc(b->device, length, attr, &buf));
	undo_later(b, bsn_buf_free, buf);
	return buf;
}

struct bsn_device *bench_device(struct bench *b)
{
	const struct bsn_device_attr same = { .path = bench_info(b)->path };
	struct bsn_device *device;

	ok(bsn_device_open(bench_info(b)->name, &same, &device));
	undo_later(b, bsn_device_close, device);
	return device;
}

struct loop bench_loop(struct bench *b, struct bsn_cq_attr attr)
{
	struct loop l = { 0 };

	ok(loop_make(&l, b->device, attr));
	undo_later(b, bsn_buf_free, l.mem);
	undo_later(b, bsn_channel_destroy, l.channel);
	undo_later(b, bsn_cq_destroy, l.cq);
	undo_later(b, bsn_qp_destroy, l.qp);
	return l;
}

uint8_t *bench_pages(struct bench *b, size_t count)
{
	uint8_t *pages = mmap(NULL, count * PAGE_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	assert_ptr_not_equal(pages, MAP_FAILED);
	keep(b, (struct bench_undo){ NULL, pages, count });
	return pages;
}

/* -- requests ---------------------------------------------------------------------------------- */

int bench_write(struct bench *b, size_t offset, uint32_t length, uint64_t id, unsigned flags)
{
	return bsn_write(b->ep[0], SGE(b, 0, offset, length), REMOTE(b, 1, offset), id, flags);
}

int bench_recv(struct bench *b, int end, size_t offset, uint32_t length, uint64_t id)
{
	return bsn_recv(b->rq[end], SGE(b, end, offset, length), id);
}

/* -- threads ----------------------------------------------------------------------------------- */

void bench_threads(void *(*work)(void *), void *args, size_t count, size_t bytes)
{
	pthread_t threads[16];

	assert_in_range(count, 1, COUNT(threads));
	for (size_t i = 0; i < count; i++)
		ok(-pthread_create(&threads[i], NULL, work, (uint8_t *)args + i * bytes));
	for (size_t i = 0; i < count; i++)
		ok(-pthread_join(threads[i], NULL));
}
