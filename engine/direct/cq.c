/* SPDX-License-Identifier: BSD-2-Clause */
/* The direct path's completion queue. */
#include "direct.h"

#include "compressed.h"

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

/* What the environment says. */
static int choose_expander(struct cq_object *cq)
{
	const char *name = getenv("BSN_EXPAND");

	if (!name || !*name || !strcmp(name, "auto") || bsn_cq_expand_by(cq->ring, name))
		return 0;
	return fail(EINVAL, "BSN_EXPAND=%s: use auto or plain, or avx2 or neon where the CPU has it", name);
}

int direct_cq_make(struct cq_object *cq)
{
	static const enum bsn_mini_format formats[] = {
		[BSN_CQES_BY_HASH] = BSN_MINI_HASH,
		[BSN_CQES_BY_CHECKSUM] = BSN_MINI_CSUM,
		[BSN_CQES_BY_STRIDE_INDEX] = BSN_MINI_CSUM_STRIDX,
	};
	int err = provider_cq_map(cq->verbs, cq->spare, cq->ring);

	cq->ring->ignores_overrun = cq->ignores_overrun;
	if (err)
		return fail(-err, "cannot map the CQ: %s", strerror(-err));
	if (!cq->compression)
		return 0;
	bsn_cq_set_compression(cq->ring, formats[cq->compression]);
	err = choose_expander(cq);
	if (err)
		bsn_cq_fini(cq->ring);
	return err;
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
