/* SPDX-License-Identifier: BSD-2-Clause */
/* The direct path's completion queue. */
#include "direct.h"


#include <stdlib.h>

int direct_cq_create(struct cq_object *cq, const struct bsn_cq_attr *attr)
{
	const struct provider_cq_attr mlx5 = {
		.entries = cq->entries,
		.cqe_size = attr->cqe_size,
		.format = attr->compression ? 1u << (attr->compression - 1) : 0,
		.is_padded = attr->is_padded,
		.ignores_overrun = cq->ignores_overrun,
		.has_stamps = attr->timestamps,
		.has_real_time = attr->timestamps == BSN_TIMESTAMPS_REAL_TIME,
		.channel = cq->channel ? cq->channel->verbs : NULL,
		.context = cq,
	};

	return provider_cq_create(cq->device->context, &mlx5, &cq->verbs);
}

int direct_cq_make(struct cq_object *cq)
{
	static const enum bsn_mini_format formats[] = {
		[BSN_CQES_BY_HASH] = BSN_MINI_HASH,
		[BSN_CQES_BY_CHECKSUM] = BSN_MINI_CSUM,
		[BSN_CQES_BY_STRIDE_INDEX] = BSN_MINI_CSUM_STRIDX,
	};
	const int err = provider_cq_map(cq->verbs, cq->spare, cq->ring);

	dv_cq(cq->ring)->ignores_overrun = cq->ignores_overrun;
	if (err)
		return fail(-err, "cannot map the CQ: %s", strerror(-err));
	if (cq->compression)
		bsn_cq_set_compression(cq->ring, formats[cq->compression]);
	return 0;
}

void direct_cq_free(struct cq_object *cq)
{
	bsn_cq_fini(cq->ring);
}

int direct_cq_request(struct cq_object *cq, bool solicited_only)
{
	bsn_cq_arm(cq->ring, solicited_only);
	return 0;
}

bool direct_cq_is_known(const struct cq_object *cq)
{
	return provider_cq_was_mapped(cq->verbs);
}

void direct_cq_set_spare(struct cq_object *cq, uint32_t spare)
{
	bsn_cq_set_spare(cq->ring, spare);
}
