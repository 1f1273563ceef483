/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Something for `budgets` to count: an operation, so many times, on queues in plain memory. All that
 * a run does besides does not depend on how many times.
 * usage: cost OPERATION TIMES
 */
#include "fake.h"

#define RING  32768u
#define BATCH 16u

struct bench {
	struct fake *f;
	struct bsn_sge sge;
	struct bsn_remote remote;
	struct bsn_prepared prepared;
	uint8_t data[8];
	uint32_t length; /* of inline data */
};

#define SIGNALED BSN_F_SIGNALED
#define ALL      (BSN_F_SIGNALED | BSN_F_RING)

/* Operands come by pointer, so that no compiler can know them; each loop is a function. */
#define OPERATION(name, ...)                                                                       \
	static __attribute__((noinline)) void do_##name(struct bench *b, unsigned times)           \
	{                                                                                          \
		struct bsn_ep *ep = &b->f->ep;                                                     \
		struct bsn_cq *cq = b->f->cq;                                                      \
		struct bsn_rq *rq = b->f->rq;                                                      \
		struct bsn_completion c[BATCH];                                                    \
		(void)ep, (void)cq, (void)rq, (void)c;                                             \
		for (unsigned i = 0; i < times; i++) {                                             \
			__VA_ARGS__;                                                               \
			__asm__ volatile("" ::: "memory");                                         \
		}                                                                                  \
	}

OPERATION(loop, )
OPERATION(loop16, for (unsigned j = 1; j < BATCH; j++) __asm__ volatile("" : : "r"(j) : "memory"))
OPERATION(write_sge, bsn_write(ep, &b->sge, &b->remote, i, ALL))
OPERATION(write_inline, bsn_write_inline(ep, b->data, b->length, &b->remote, i, ALL))
OPERATION(write_prepared, bsn_post_prepared(ep, &b->prepared, i, ALL))
OPERATION(read, bsn_read(ep, &b->sge, &b->remote, i, ALL))
OPERATION(send, bsn_send(ep, &b->sge, i, ALL))
OPERATION(write_batch16_sge,
	  for (unsigned j = 1; j < BATCH; j++) bsn_write(ep, &b->sge, &b->remote, j, SIGNALED);
	  bsn_write(ep, &b->sge, &b->remote, i, ALL))
OPERATION(write_batch16_inline,
	  for (unsigned j = 1; j < BATCH; j++)
		  bsn_write_inline(ep, b->data, b->length, &b->remote, j, SIGNALED);
	  bsn_write_inline(ep, b->data, b->length, &b->remote, i, ALL))
OPERATION(poll_1, bsn_poll(cq, c, 1))
OPERATION(poll_16, bsn_poll(cq, c, BATCH))
OPERATION(poll_empty, bsn_poll(cq, c, 1))
OPERATION(post_recv, bsn_recv(rq, &b->sge, i))

#define OPERATIONS(X)                                                                              \
	X(loop)                                                                                    \
	X(loop16)                                                                                  \
	X(write_sge)                                                                               \
	X(write_inline)                                                                            \
	X(write_prepared)                                                                          \
	X(read)                                                                                    \
	X(send)                                                                                    \
	X(write_batch16_sge)                                                                       \
	X(write_batch16_inline)                                                                    \
	X(poll_1)                                                                                  \
	X(poll_16)                                                                                 \
	X(poll_empty)                                                                              \
	X(post_recv)

static const struct {
	const char *name;
	void (*run)(struct bench *b, unsigned times);
} operations[] = {
#define ROW(name) { #name, do_##name },
	OPERATIONS(ROW)
};

/* Large enough for nothing to come round; the CQ's consumer record is stored every 64 CQEs. */
static void set_up(struct bench *b)
{
	const struct fake_attr attr = { .count_bb = RING,
					.recv_count = RING,
					.recv_stride = 16,
					.cqe_count = RING,
					.spare = 64 };
	const struct bsn_wr wr = { .sge = &b->sge,
				   .sge_count = 1,
				   .remote = { 0x10000, 0x22 },
				   .opcode = BSN_OPCODE_RDMA_WRITE };

	memset(b, 0, sizeof(*b));
	b->f = fake_create(&attr);
	b->sge = (struct bsn_sge){ (uintptr_t)b->data, sizeof(b->data), 0x11 };
	b->length = sizeof(b->data);
	b->remote = wr.remote;
	assert_int_equal(bsn_prepare(&b->f->ep, &wr, &b->prepared), 0);
}

int main(int argc, char **argv)
{
	struct bench b;

	if (argc != 3) {
		fprintf(stderr, "usage: cost OPERATION TIMES\n");
		return 2;
	}
	set_up(&b);
	if (!strcmp(argv[1], "poll_1") || !strcmp(argv[1], "poll_16"))
		for (uint32_t i = 0; i < RING; i++)
			fake_done(b.f, i, BSN_OPCODE_RDMA_WRITE);
	for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++) {
		if (strcmp(argv[1], operations[i].name))
			continue;
		operations[i].run(&b, (unsigned)atoi(argv[2]));
		fake_destroy(b.f);
		return 0;
	}
	fprintf(stderr, "cost: no operation %s\n", argv[1]);
	return 2;
}
