/* SPDX-License-Identifier: BSD-2-Clause */
/* What the sides of Bunsen and of verbs have in common. */
#include "traffic.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN = 4096 };

const char *const traffic_op_names[TRAFFIC_OPS] = { "write", "read", "send", "atomic" };

/* A message and what comes before it into the receiver's buffer. */
static uint64_t room_of(const struct plan *plan)
{
	return plan->size + (plan->type == BSN_QP_UD ? BSN_GRH_SIZE : 0);
}

int side_init(struct side *side, const struct side_ops *ops, const struct plan *plan)
{
	side->ops = ops;
	side->plan = *plan;
	side->length = 2 * ((room_of(plan) + ALIGN - 1) & ~(uint64_t)(ALIGN - 1));
	side->memory = aligned_alloc(ALIGN, side->length);
	if (!side->memory)
		return SIDE_FAILS("no memory for messages of %llu bytes",
				  (unsigned long long)plan->size);
	memset(side->memory, 0, side->length);
	return 0;
}

void side_name_memory(struct side *side, uint32_t lkey, uint32_t rkey)
{
	const uint64_t out = (uintptr_t)side->memory, in = out + side->length / 2;

	side->out = (struct bsn_sge){ out, (uint32_t)side->plan.size, lkey };
	side->in = (struct bsn_sge){ in, (uint32_t)room_of(&side->plan), lkey };
	side->here = (struct bsn_remote){ in, rkey };
}

void side_close(struct side *side)
{
	if (!side)
		return;
	side->ops->close(side);
	free(side->memory);
	free(side);
}

static uint32_t least(uint64_t a, uint64_t b)
{
	return (uint32_t)(a < b ? a : b);
}

int side_send(struct side *side, uint64_t count, uint32_t window)
{
	const unsigned qp = side->next;
	const uint32_t room = window - side->queued[qp];
	const unsigned burst = least(least(room, count), TRAFFIC_BURST);

	side->next = qp + 1 < side->plan.qps ? qp + 1 : 0;
	if (!burst)
		return 0;
	if (side->ops->post(side, qp, burst))
		return -1;
	side->queued[qp] += burst;
	side->outstanding += burst;
	return (int)burst;
}

int side_reap(struct side *side)
{
	uint32_t qps[TRAFFIC_BURST];
	const int n = side->ops->reap(side, false, qps);

	for (int i = 0; i < n; i++)
		side->queued[qps[i]]--;
	side->outstanding -= n > 0 ? (unsigned)n : 0;
	return n;
}

/* Of one queue pair, in runs, since mostly one has several. */
int side_receive(struct side *side)
{
	uint32_t qps[TRAFFIC_BURST];
	const int n = side->ops->reap(side, true, qps);

	for (int i = 0, run; i < n; i += run) {
		for (run = 1; i + run < n && qps[i + run] == qps[i]; run++)
			;
		if (side->ops->post_recv(side, qps[i], (unsigned)run))
			return -1;
	}
	return n;
}

int side_fill(struct side *side)
{
	int err = 0;

	for (unsigned qp = 0; qp < side->plan.qps && !err; qp++)
		err = side->ops->post_recv(side, qp, side->plan.depth);
	return err;
}

void side_resize(struct side *side, const struct plan *plan)
{
	side->plan = *plan;
	side->out.length = (uint32_t)plan->size;
	if (side->ops->make_requests)
		side->ops->make_requests(side);
}

static const char *advice_on(enum ibv_wc_status status)
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

int complain_of_failure(const struct side *side, enum ibv_wc_status status, unsigned syndrome,
			unsigned vendor_syndrome, const char *cause)
{
	char known[24] = "";

	if (syndrome)
		snprintf(known, sizeof(known), "syndrome 0x%02x, ", syndrome & 0xff);
	return SIDE_FAILS("%s failed: %s (%svendor syndrome 0x%02x)%s%s; %s",
			  traffic_op_names[side->plan.op], ibv_wc_status_str(status), known,
			  vendor_syndrome, cause ? ": " : "", cause ? cause : "",
			  advice_on(status));
}
