/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The steps of engine/doc/tutorial.md, from verbs to Bunsen: all of them, or the one that is named.
 * Each writes MESSAGES words and waits for them, in two functions, step_post_* and step_poll_*,
 * whose instructions callgrind counts.
 */
#include "tutorial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP __attribute__((noinline))
enum { BATCH = 16 };

static __attribute__((noreturn)) void die(const char *what)
{
	fprintf(stderr, "tutorial: %s: %s\n", what, bsn_error_text());
	exit(1);
}

/* -- 1: verbs ---------------------------------------------------------------------------------- */

static STEP int step_post_verbs(struct old *p)
{
	struct ibv_sge sge = { (uintptr_t)&p->from, BYTES, p->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)&p->to, p->mr->rkey },
	};
	int err = 0;

	for (wr.wr_id = 0; !err && wr.wr_id < MESSAGES; wr.wr_id++)
		err = ibv_post_send(p->qp, &wr, &bad);
	return err;
}

static STEP int step_poll_verbs(struct old *p)
{
	struct ibv_wc wc;
	int n = 0, done = 0;

	while (n >= 0 && done < MESSAGES) {
		n = ibv_poll_cq(p->cq, 1, &wc);
		if (n > 0 && wc.status)
			return -1;
		done += n;
	}
	return n < 0 ? n : 0;
}

/* -- 2: the same queue pair, attached; 3: one of Bunsen's own ---------------------------------- */

static STEP int step_post_each(struct new_one *p)
{
	int err = 0;

	for (uint64_t id = 0; !err && id < MESSAGES; id++)
		err = bsn_write(p->ep, &p->local, &p->remote, id, BSN_F_SIGNALED | BSN_F_RING);
	return err;
}

static STEP int step_poll_each(struct new_one *p)
{
	struct bsn_completion c;
	int n = 0, done = 0;

	while (n >= 0 && done < MESSAGES) {
		n = bsn_poll(p->cq, &c, 1);
		if (n > 0 && c.status)
			return -1;
		done += n;
	}
	return n < 0 ? n : 0;
}

static void attach(struct new_one *p, struct old *old)
{
	/* Nobody else in this program posts through the queue pair's doorbell register. */
	const struct bsn_attach_attr attr = { .register_is_ours = true };

	if (bsn_device_attach(old->context, NULL, &p->dev) ||
	    bsn_qp_attach(p->dev, old->qp, &attr, &p->qp))
		die("attach");
	p->cq = bsn_qp_info(p->qp)->cq;
	p->ep = bsn_qp_ep(p->qp);
	p->local = (struct bsn_sge){ (uintptr_t)&old->from, BYTES, old->mr->lkey };
	p->remote = (struct bsn_remote){ (uintptr_t)&old->to, old->mr->rkey };
}

static void open_own(struct new_one *p)
{
	struct bsn_qp_attr attr = { .type = BSN_QP_RC, .send_depth = DEPTH };
	struct bsn_address self;

	if (bsn_device_open(NULL, NULL, &p->dev) || bsn_buf_alloc(p->dev, 4096, NULL, &p->mr) ||
	    bsn_cq_create(p->dev, NULL, &p->cq))
		die("open");
	attr.cq = p->cq;
	if (bsn_qp_create(p->dev, &attr, &p->qp) || bsn_qp_address(p->qp, &self) ||
	    bsn_qp_connect(p->qp, &self, NULL))
		die("queue pair");
	p->ep = bsn_qp_ep(p->qp);
	p->local = bsn_sge_of(p->mr, 0, BYTES);
	p->remote = bsn_remote_of(p->mr, 64);
}

static void close_own(struct new_one *p)
{
	if (bsn_qp_destroy(p->qp) || bsn_cq_destroy(p->cq) || bsn_buf_free(p->mr) ||
	    bsn_device_close(p->dev))
		die("close");
}

/* -- 4: one completion and one doorbell for 16 ------------------------------------------------- */

static STEP int step_post_batch(struct new_one *p)
{
	int err = 0;

	for (uint64_t id = 0; !err && id < MESSAGES; id += BATCH) {
		for (unsigned i = 0; !err && i < BATCH - 1; i++)
			err = bsn_write(p->ep, &p->local, &p->remote, id, 0);
		if (!err)
			err = bsn_write(p->ep, &p->local, &p->remote, id,
					BSN_F_SIGNALED | BSN_F_RING);
	}
	return err;
}

static STEP int step_poll_batch(struct new_one *p)
{
	struct bsn_completion c;
	int n = 0, done = 0;

	while (n >= 0 && done < MESSAGES / BATCH) {
		n = bsn_poll(p->cq, &c, 1);
		if (n > 0 && c.status)
			return -1;
		done += n;
	}
	return n < 0 ? n : 0;
}

/* -- 5: the data are in the request ------------------------------------------------------------ */

static STEP int step_post_inline(struct new_one *p)
{
	int err = 0;

	for (uint64_t id = 0; !err && id < MESSAGES; id += BATCH) {
		for (unsigned i = 0; !err && i < BATCH - 1; i++)
			err = bsn_write_inline(p->ep, &id, BYTES, &p->remote, id, 0);
		if (!err)
			err = bsn_write_inline(p->ep, &id, BYTES, &p->remote, id,
					       BSN_F_SIGNALED | BSN_F_RING);
	}
	return err;
}

/* -- 6: the request is encoded once ------------------------------------------------------------ */

static void prepare(struct new_one *p)
{
	const struct bsn_wr wr = {
		.opcode = BSN_OPCODE_RDMA_WRITE,
		.sge = &p->local,
		.sge_count = 1,
		.remote = p->remote,
	};

	if (bsn_prepare(p->ep, &wr, &p->prepared))
		die("prepare");
}

static STEP int step_post_prepared(struct new_one *p)
{
	int err = 0;

	for (uint64_t id = 0; !err && id < MESSAGES; id += BATCH) {
		for (unsigned i = 0; !err && i < BATCH - 1; i++)
			err = bsn_post_prepared(p->ep, &p->prepared, id, 0);
		if (!err)
			err = bsn_post_prepared(p->ep, &p->prepared, id,
						BSN_F_SIGNALED | BSN_F_RING);
	}
	return err;
}

/* -- 7: what came is taken at once ------------------------------------------------------------- */

static STEP int step_poll_many(struct new_one *p)
{
	struct bsn_completion c[BATCH];
	int n = 0, done = 0;

	while (n >= 0 && done < MESSAGES / BATCH) {
		n = bsn_poll(p->cq, c, BATCH);
		for (int i = 0; i < n; i++)
			if (c[i].status)
				return -1;
		done += n;
	}
	return n < 0 ? n : 0;
}

/* -- all of them ------------------------------------------------------------------------------- */

/* Under `softcx run --passive` the device works only when it is stepped, which is not counted. */
unsigned softcx_step(unsigned max_wqes) __attribute__((weak));

static void let_device_work(void)
{
	while (softcx_step && getenv("SOFTCX_PASSIVE") && softcx_step(0))
		;
}

static void run_verbs(struct old *old)
{
	int err;

	old_connect(old);
	err = step_post_verbs(old);
	let_device_work();
	if (err || step_poll_verbs(old))
		die("verbs");
}

static void run_new(struct new_one *p, int (*post)(struct new_one *), int (*poll)(struct new_one *))
{
	int err = post(p);

	let_device_work();
	if (err || poll(p))
		die("a request failed");
}

static void run_attached(struct old *old)
{
	static struct new_one p;

	attach(&p, old); /* before its first post */
	old_connect(old);
	run_new(&p, step_post_each, step_poll_each);
	if (bsn_qp_destroy(p.qp) || bsn_device_close(p.dev)) /* the verbs objects stay */
		die("detach");
}

static const struct step {
	const char *name;
	void (*old)(struct old *);
	int (*post)(struct new_one *);
	int (*poll)(struct new_one *);
} steps[] = {
	{ .name = "verbs", .old = run_verbs },
	{ .name = "attached", .old = run_attached },
	{ .name = "own", .post = step_post_each, .poll = step_poll_each },
	{ .name = "batch", .post = step_post_batch, .poll = step_poll_batch },
	{ .name = "inline", .post = step_post_inline, .poll = step_poll_batch },
	{ .name = "prepared", .post = step_post_prepared, .poll = step_poll_batch },
	{ .name = "many", .post = step_post_prepared, .poll = step_poll_many },
};

static void run(const struct step *step)
{
	static struct new_one own;
	static struct old old;

	if (step->old) {
		old_open(&old);
		step->old(&old);
		old_close(&old);
	} else {
		open_own(&own);
		prepare(&own);
		run_new(&own, step->post, step->poll);
		close_own(&own);
	}
	printf("%s: %d messages\n", step->name, MESSAGES);
}

int main(int argc, char **argv)
{
	bool any = false;

	for (const struct step *s = steps; s < steps + sizeof(steps) / sizeof(*steps); s++) {
		if (argc > 1 && strcmp(argv[1], s->name))
			continue;
		run(s);
		any = true;
	}
	if (!any)
		fprintf(stderr, "tutorial: no step %s\n", argv[1]);
	return !any;
}
