/* SPDX-License-Identifier: BSD-2-Clause */
/* A side: its queues and memory, what it posts, and what is done. */
#include "traffic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 4096 };

const char *const traffic_op_names[TRAFFIC_OPS] = { "write", "read", "send", "atomic" };

static int fails(const char *what, int error)
{
	return SIDE_FAILS("%s: %s", what,
			  error == -EOPNOTSUPP ? "the device or path cannot" : strerror(-error));
}

static const char *advice_on(unsigned status)
{
	switch (status) {
	case IBV_WC_RETRY_EXC_ERR:
		return "is the peer there, on the same network? compare the GIDs (bsn-info)";
	case IBV_WC_RNR_RETRY_EXC_ERR:
		return "the peer is too slow to post receives: use a smaller --depth";
	case IBV_WC_WR_FLUSH_ERR:
		return "the queue pair had failed before: what the peer says tells why";
	case IBV_WC_REM_ACCESS_ERR:
	case IBV_WC_REM_INV_REQ_ERR:
	case IBV_WC_REM_OP_ERR:
		return "the other end takes it for a mistake: run the same bsn-perf at both";
	default:
		return "the kernel's log may say more";
	}
}

/* The queue's first failure tells more than a request that was flushed after it. */
static int fails_by(const struct side *s, const struct bsn_completion *c)
{
	struct bsn_qp_error error;
	char known[24] = "";

	if (bsn_qp_error(s->qp[c->id], &error) || !error.has_failed)
		error = (struct bsn_qp_error){ .first = *c };
	c = &error.first; /* of what was flushed, too */
	if (c->syndrome)
		snprintf(known, sizeof(known), "syndrome 0x%02x, ", c->syndrome & 0xffu);
	return SIDE_FAILS("%s failed: %s (%svendor syndrome 0x%02x)%s%s; %s",
			  traffic_op_names[s->plan->op],
			  ibv_wc_status_str((enum ibv_wc_status)c->status), known,
			  c->vendor_syndrome, error.text ? ": " : "",
			  error.text ? error.text : "", advice_on(c->status));
}

/* A request's id is the index of its queue pair. */
static int post_one(const struct side *s, unsigned qp, unsigned flags)
{
	const bool is_inline = has_inline(s->plan, s->plan->size);
	const void *const data = s->memory;
	struct bsn_ep *const ep = s->ep[qp];

	switch (s->plan->op) {
	case TRAFFIC_WRITE:
		return is_inline ? bsn_write_inline(ep, data, s->out.length, &s->there, qp, flags)
				 : bsn_write(ep, &s->out, &s->there, qp, flags);
	case TRAFFIC_READ:
		return bsn_read(ep, &s->out, &s->there, qp, flags);
	case TRAFFIC_SEND:
		return is_inline ? bsn_send_inline(ep, data, s->out.length, qp, flags)
				 : bsn_send(ep, &s->out, qp, flags);
	default:
		return bsn_fetch_add(ep, &s->out, &s->there, 1, qp, flags);
	}
}

static int post_recvs(const struct side *s, unsigned qp, unsigned count)
{
	int err = 0;

	for (; count && !err; count--)
		err = bsn_recv(bsn_qp_rq(s->qp[qp]), &s->in, qp);
	return err ? fails("receive", err) : 0;
}

/* Up to TRAFFIC_BURST that are done: the queue pair of each. */
static int reap(const struct side *s, struct bsn_cq *cq, uint32_t qps[TRAFFIC_BURST])
{
	struct bsn_completion c[TRAFFIC_BURST];
	const int n = bsn_poll(cq, c, TRAFFIC_BURST);

	for (int i = 0; i < n; i++) {
		if (c[i].status)
			return fails_by(s, &c[i]);
		qps[i] = (uint32_t)c[i].id;
	}
	return n < 0 ? fails("poll", n) : n;
}

static uint32_t least(uint64_t a, uint64_t b)
{
	return (uint32_t)(a < b ? a : b);
}

int side_send(struct side *s, uint64_t count, uint32_t window)
{
	const unsigned qp = s->next;
	const unsigned burst = least(least(window - s->queued[qp], count), TRAFFIC_BURST);
	int err = 0;

	s->next = qp + 1 < s->plan->qps ? qp + 1 : 0;
	for (unsigned i = 1; i <= burst && !err; i++)
		err = post_one(s, qp, BSN_F_SIGNALED | (i == burst ? BSN_F_RING : 0));
	if (err)
		return fails(traffic_op_names[s->plan->op], err);
	s->queued[qp] += burst;
	s->outstanding += burst;
	return (int)burst;
}

int side_reap(struct side *s)
{
	uint32_t qps[TRAFFIC_BURST];
	const int n = reap(s, s->cq, qps);

	for (int i = 0; i < n; i++)
		s->queued[qps[i]]--;
	s->outstanding -= n > 0 ? (unsigned)n : 0;
	return n;
}

/* Of one queue pair, in runs, since mostly one has several. */
int side_receive(struct side *s)
{
	uint32_t qps[TRAFFIC_BURST];
	const int n = reap(s, s->recv_cq, qps);

	for (int i = 0, run; i < n; i += run) {
		for (run = 1; i + run < n && qps[i + run] == qps[i]; run++)
			;
		if (post_recvs(s, qps[i], (unsigned)run))
			return -1;
	}
	return n;
}

int side_fill(struct side *s)
{
	int err = 0;

	for (unsigned qp = 0; qp < s->plan->qps && !err; qp++)
		err = post_recvs(s, qp, (unsigned)s->plan->depth);
	return err;
}

/* A message and what comes before it into the receiver's buffer. */
static uint64_t room_of(const struct plan *plan)
{
	return plan->size + (plan->type == BSN_QP_UD ? BSN_GRH_SIZE : 0);
}

static int make_queues(struct side *s, struct bsn_device *device)
{
	/* Room for requests of two blocks, which inline data may need, twice over. */
	const uint32_t depth = (uint32_t)s->plan->depth;
	const struct bsn_cq_attr cq = { .entries = 4 * depth * (uint32_t)s->plan->qps };
	struct bsn_qp_attr attr = { .type = (enum bsn_qp_type)s->plan->type,
				    .send_depth = depth,
				    .recv_depth = depth,
				    .max_inline = longest_inline(s->plan) };
	int err = bsn_cq_create(device, &cq, &s->cq);

	if (err || (err = bsn_cq_create(device, &cq, &s->recv_cq)))
		return err;
	attr.cq = s->cq;
	attr.recv_cq = s->recv_cq;
	for (unsigned qp = 0; qp < s->plan->qps && !err; qp++)
		err = bsn_qp_create(device, &attr, &s->qp[qp]);
	return err ? err : bsn_mr_register(device, s->memory, s->length, NULL, &s->mr);
}

int side_open(struct bsn_device *device, const struct plan *plan, struct side **side)
{
	struct side *s = *side = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return SIDE_FAILS("no memory");
	s->plan = plan;
	s->length = 2 * ((room_of(plan) + ALIGN - 1) & ~(uint64_t)(ALIGN - 1));
	s->memory = aligned_alloc(ALIGN, s->length);
	if (!s->memory)
		return SIDE_FAILS("no memory for messages of %llu bytes",
				  (unsigned long long)plan->size);
	memset(s->memory, 0, s->length);
	err = make_queues(s, device);
	if (err)
		return -complain_of("queues", err);
	for (unsigned qp = 0; qp < plan->qps && plan->type != BSN_QP_UD; qp++)
		s->ep[qp] = bsn_qp_ep(s->qp[qp]);
	s->out = bsn_sge_of(s->mr, 0, (uint32_t)plan->size);
	s->in = bsn_sge_of(s->mr, s->length / 2, (uint32_t)room_of(plan));
	s->here = bsn_remote_of(s->mr, s->length / 2);
	return 0;
}

int side_connect(struct side *s, unsigned qp, const struct bsn_address *peer)
{
	const struct plan *plan = s->plan;
	const struct bsn_connect_attr attr = { .mtu = (uint32_t)plan->mtu,
					       .sl = (uint8_t)plan->sl,
					       .traffic_class = (uint8_t)plan->traffic_class,
					       .hop_limit = (uint8_t)plan->hop_limit,
					       .timeout = (uint8_t)plan->qp_timeout };
	const bool is_ud = plan->type == BSN_QP_UD;
	int err = bsn_qp_connect(s->qp[qp], is_ud ? NULL : peer, &attr);

	if (!err && is_ud)
		err = bsn_ep_create(s->qp[qp], peer, &attr, NULL, &s->ep[qp]);
	return err ? -complain_of("connect", err) : 0;
}

void side_close(struct side *s)
{
	if (!s)
		return;
	for (unsigned qp = 0; qp < s->plan->qps; qp++) {
		if (s->plan->type == BSN_QP_UD)
			bsn_ep_destroy(s->ep[qp]);
		bsn_qp_destroy(s->qp[qp]);
	}
	bsn_cq_destroy(s->cq);
	bsn_cq_destroy(s->recv_cq);
	bsn_mr_deregister(s->mr);
	free(s->memory);
	free(s);
}
