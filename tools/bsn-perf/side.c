/* SPDX-License-Identifier: BSD-2-Clause */
/* What the sides of Bunsen and of verbs have in common. */
#include "traffic.h"

const char *const traffic_op_names[TRAFFIC_OPS] = { "write", "read", "send", "atomic" };

void side_init(struct side *side, const struct side_ops *ops, const struct plan *plan,
	       const struct side_memory *memory)
{
	const bool is_small = plan->size <= plan->inline_max;

	*side = (struct side){
		.ops = ops,
		.plan = *plan,
		.memory = *memory,
		.has_inline = (is_small || plan->is_sweep) &&
			      (plan->op == TRAFFIC_WRITE || plan->op == TRAFFIC_SEND),
	};
	side->is_inline = side->has_inline && is_small;
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
	const int n = side->ops->reap(side, qps);

	for (int i = 0; i < n; i++)
		side->queued[qps[i]]--;
	side->outstanding -= n > 0 ? (unsigned)n : 0;
	return n;
}

/* Of one queue pair, in runs, since mostly one has several. */
int side_receive(struct side *side)
{
	uint32_t qps[TRAFFIC_BURST];
	const int n = side->ops->reap_recv(side, qps);

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
	side->is_inline = side->has_inline && plan->size <= plan->inline_max;
	side->ops->resize(side);
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
	complain("%s failed: %s (%svendor syndrome 0x%02x)%s%s; %s",
		 traffic_op_names[side->plan.op], ibv_wc_status_str(status), known, vendor_syndrome,
		 cause ? ": " : "", cause ? cause : "", advice_on(status));
	return -1;
}
