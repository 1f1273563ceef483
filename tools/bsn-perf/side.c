/* SPDX-License-Identifier: BSD-2-Clause */
/* What the sides of Bunsen and of verbs have in common. */
#include "traffic.h"

const char *const traffic_op_names[TRAFFIC_OPS] = { "write", "read", "send", "atomic" };

void side_init(struct side *side, const struct side_ops *ops, const struct plan *plan,
	       const struct side_memory *memory)
{
	const bool is_small = plan->size <= TRAFFIC_INLINE_MAX;

	*side = (struct side){
		.ops = ops,
		.plan = *plan,
		.memory = *memory,
		.has_inline = (is_small || plan->is_sweep) &&
			      (plan->op == TRAFFIC_WRITE || plan->op == TRAFFIC_SEND),
	};
	side->is_inline = side->has_inline && is_small;
}

void side_resize(struct side *side, const struct plan *plan)
{
	side->plan = *plan;
	side->is_inline = side->has_inline && plan->size <= TRAFFIC_INLINE_MAX;
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
