/* SPDX-License-Identifier: BSD-2-Clause */
/* Atomics, and requests with an opcode modifier: masked atomics and copies. */
#include "bsn_extended.h"

#include "bsn_umr.h"
#include "segments.h"
#include "refuse.h"
#include "sq.h"

/* -- atomics of 8 bytes ------------------------------------------------------------------------ */

static int post_atomic(struct bsn_ep *ep, unsigned opcode, const struct bsn_sge *local,
		       const struct bsn_remote *remote, const uint64_t operand[2], uint64_t id,
		       unsigned flags)
{
	if (BSN_UNLIKELY(!ep))
		return bsn_sq_no_endpoint();
	return bsn_sq_post_atomic(ep, BSN_WHAT(opcode, flags, 1u), local, remote, operand, id);
}

int bsn_fetch_add(struct bsn_ep *ep, const struct bsn_sge *local, const struct bsn_remote *remote,
		  uint64_t add, uint64_t id, unsigned flags)
{
	const uint64_t operand[2] = { add, 0 };

	return post_atomic(ep, BSN_OPCODE_ATOMIC_FA, local, remote, operand, id, flags);
}

int bsn_cmp_swap(struct bsn_ep *ep, const struct bsn_sge *local, const struct bsn_remote *remote,
		 uint64_t compare, uint64_t swap, uint64_t id, unsigned flags)
{
	const uint64_t operand[2] = { swap, compare };

	return post_atomic(ep, BSN_OPCODE_ATOMIC_CS, local, remote, operand, id, flags);
}

/* 0 if the endpoint's queue has the ability @needs, or why not. */
static int check(const struct bsn_ep *ep, unsigned needs, const char *why_not)
{
	if (!is_open(ep))
		return bsn_sq_no_queue(ep);
	if ((ep->sq->can & needs) != needs)
		return refuse(EOPNOTSUPP, why_not);
	return 0;
}

/* 2^31 bytes are written as 0. */
static uint8_t *put_data(uint8_t *at, const struct bsn_sge *sge, uint32_t bytes)
{
	const struct bsn_sge data = { sge->addr, bytes & (uint32_t)BSN_DATA_MAX_BYTES, sge->lkey };

	return bsn_put_sge(at, &data);
}

/* -- masked atomics --------------------------------------------------------------------------- */

enum { MOST_OPERAND_BYTES = BSN_MASKED_CS_SIZE };

struct masked {
	const struct bsn_sge *result;
	const struct bsn_remote *remote;
	unsigned bytes, operand_bytes;
	uint8_t operand[MOST_OPERAND_BYTES]; /* in the WQE's layout */
};

static uint8_t *put_masked(uint8_t *at, const void *arg)
{
	const struct masked *m = arg;

	at = put_word(put_word(at, bsn_remote_word(m->remote, 0)), bsn_remote_word(m->remote, 1));
	for (unsigned i = 0; i < m->operand_bytes; i += BSN_DS_SIZE)
		at = put_copy(at, m->operand + i);
	return put_data(at, m->result, m->bytes);
}

static int check_masked(const struct bsn_ep *ep, const struct bsn_remote *remote, unsigned bytes)
{
	int err;

	if (bytes != 4 && bytes != 8)
		return refuse(EINVAL, "masked atomics have 4 or 8 bytes");
	err = check(ep, bytes == 4 ? BSN_CAN_MASKED_4 : BSN_CAN_MASKED_8,
		    "the device, transport or path has no masked atomics of that size");
	if (!err && remote->addr % bytes)
		return refuse(EINVAL, "an atomic's address must be a multiple of its size");
	return err;
}

static int post_masked(struct bsn_ep *ep, const struct masked *m, unsigned opcode, uint64_t id,
		       unsigned flags)
{
	const struct bsn_sq_body body = { .opmod = BSN_OPMOD_MASKED(m->bytes),
					  .ds = 3 + m->operand_bytes / BSN_DS_SIZE,
					  .put = put_masked,
					  .arg = m };

	return bsn_ep_post_body(ep, BSN_WHAT(opcode, flags, 0), 0, &body, id);
}

int bsn_masked_cmp_swap(struct bsn_ep *ep, const struct bsn_sge *result,
			const struct bsn_remote *remote, const struct bsn_masked_cs *operands,
			unsigned bytes, uint64_t id, unsigned flags)
{
	const struct bsn_masked_cs32 short_ones = {
		.swap = (uint32_t)operands->swap,
		.compare = (uint32_t)operands->compare,
		.swap_mask = (uint32_t)operands->swap_mask,
		.compare_mask = (uint32_t)operands->compare_mask,
	};
	struct masked m = { .result = result, .remote = remote, .bytes = bytes };
	const int err = check_masked(ep, remote, bytes);

	if (err)
		return err;
	if (bytes == 4) {
		bsn_masked_cs32_encode(m.operand, &short_ones);
		m.operand_bytes = BSN_MASKED_CS32_SIZE;
	} else {
		bsn_masked_cs_encode(m.operand, operands);
		m.operand_bytes = BSN_MASKED_CS_SIZE;
	}
	return post_masked(ep, &m, BSN_OPCODE_ATOMIC_MASKED_CS, id, flags);
}

int bsn_masked_fetch_add(struct bsn_ep *ep, const struct bsn_sge *result,
			 const struct bsn_remote *remote, const struct bsn_masked_fa *operands,
			 unsigned bytes, uint64_t id, unsigned flags)
{
	const struct bsn_masked_fa32 short_ones = {
		.add = (uint32_t)operands->add,
		.field_boundary = (uint32_t)operands->field_boundary,
	};
	struct masked m = { .result = result, .remote = remote, .bytes = bytes };
	const int err = check_masked(ep, remote, bytes);

	if (err)
		return err;
	if (bytes == 4)
		bsn_masked_fa32_encode(m.operand, &short_ones);
	else
		bsn_masked_fa_encode(m.operand, operands);
	m.operand_bytes = BSN_MASKED_FA_SIZE;
	return post_masked(ep, &m, BSN_OPCODE_ATOMIC_MASKED_FA, id, flags);
}

/* -- copies ------------------------------------------------------------------------------------ */

struct copy {
	const struct bsn_sge *to, *from, *status;
};

static uint8_t *put_copying(uint8_t *at, const void *arg)
{
	const struct copy *copy = arg;
	const struct bsn_mmo mmo = { .lkey = copy->status->lkey, .va = copy->status->addr };

	at = put_word(at, bsn_to_be64(bsn_mmo_word(&mmo, 0)));
	at = put_word(at, bsn_to_be64(bsn_mmo_word(&mmo, 1)));
	at = put_data(at, copy->from, copy->to->length);
	return put_data(at, copy->to, copy->to->length);
}

int bsn_memcpy(struct bsn_ep *ep, const struct bsn_sge *to, const struct bsn_sge *from,
	       const struct bsn_sge *status, uint64_t id, unsigned flags)
{
	const struct copy copy = { to, from, status };
	const struct bsn_sq_body body = {
		.opmod = BSN_MMO_DMA, .is_local = true, .ds = 4, .put = put_copying, .arg = &copy
	};
	const int err =
		check(ep, BSN_CAN_COPY, "the device, transport or path cannot copy memory (MMO)");

	if (err)
		return err;
	if (!to->length || to->length != from->length || to->length > dv_sq(ep->sq)->max_copy)
		return refuse(EMSGSIZE, "a copy has at least one byte, the same length on both "
					"sides, and at most what the device takes");
	return bsn_ep_post_body(ep, BSN_WHAT(BSN_OPCODE_MMO, flags, 0), 0, &body, id);
}
