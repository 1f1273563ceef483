/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is frozen (bsn_hot.h): where each field is that inline code or a program knows, and each
 * value. A program keeps what it was compiled with, so no line here changes while the SONAME does
 * not. New fields take bytes that are reserved, and add lines.
 */
#include <stddef.h>

#include "bsn.h"
#include "bsn_mkey.h"
#include "whole.h"

#define AT(type, field, offset, bytes)                                                             \
	_Static_assert(offsetof(struct type, field) == (offset) &&                                 \
			       sizeof(((struct type *)NULL)->field) == (bytes),                    \
		       #type "." #field " is frozen: see bsn_hot.h");
#define SIZE(type, bytes)                                                                          \
	_Static_assert(sizeof(struct type) == (bytes), #type " is frozen: see bsn_hot.h");
#define VALUE(name, value) _Static_assert((name) == (value), #name " is frozen: see bsn_hot.h");

/* clang-format off */

SIZE(bsn_ep, 8)
AT(bsn_ep, sq, 0, 8)

SIZE(bsn_lane, 32)
AT(bsn_lane, reg, 0, 8)
AT(bsn_lane, toggle, 8, 8)
AT(bsn_lane, reserved, 16, 16)

SIZE(bsn_sq, 96)
AT(bsn_sq, ep, 0, 8)
AT(bsn_sq, slot, 8, 8)
AT(bsn_sq, limit, 16, 8)
AT(bsn_sq, room, 24, 8)
AT(bsn_sq, record, 32, 8)
AT(bsn_sq, lane, 40, 8)
AT(bsn_sq, ctrl_next, 48, 8)
AT(bsn_sq, ctrl_low, 48, 5)
AT(bsn_sq, pi, 53, 2)
AT(bsn_sq, ctrl_carry, 55, 1)
AT(bsn_sq, last, 56, 4)
AT(bsn_sq, quiet, 60, 1)
AT(bsn_sq, ce_quiet, 61, 1)
AT(bsn_sq, can, 62, 1)
AT(bsn_sq, publish, 63, 1)
AT(bsn_sq, ops, 64, 8)
AT(bsn_sq, ids, 72, 8)
AT(bsn_sq, max_inline, 80, 4)
AT(bsn_sq, max_sge, 84, 1)
AT(bsn_sq, reserved_small, 85, 3)
AT(bsn_sq, reserved, 88, 8)

SIZE(bsn_prepared, 192)
AT(bsn_prepared, ctrl, 0, 16)
AT(bsn_prepared, body, 16, 48)
AT(bsn_prepared, body_ds, 64, 4)
AT(bsn_prepared, reserved, 68, 4)
AT(bsn_prepared, wr, 72, 72)
AT(bsn_prepared, sge, 144, 48)

SIZE(bsn_rq, 88)
AT(bsn_rq, slot, 0, 8)
AT(bsn_rq, limit, 8, 8)
AT(bsn_rq, id_at, 16, 8)
AT(bsn_rq, record, 24, 8)
AT(bsn_rq, stride, 32, 4)
AT(bsn_rq, head, 36, 2)
AT(bsn_rq, max_sge, 38, 1)
AT(bsn_rq, reserved_small, 39, 1)
AT(bsn_rq, reserved_of_posts, 40, 24)
AT(bsn_rq, ids, 64, 8)
AT(bsn_rq, mask, 72, 4)
AT(bsn_rq, tail, 76, 4)
AT(bsn_rq, reserved_of_polls, 80, 8)

SIZE(bsn_route, 40)
AT(bsn_route, ring, 0, 8)
AT(bsn_route, user, 8, 8)
AT(bsn_route, rq, 16, 8)
AT(bsn_route, mask, 24, 4)
AT(bsn_route, done, 28, 2)
AT(bsn_route, near_ds, 30, 1)
AT(bsn_route, recvs, 31, 1)
AT(bsn_route, reserved, 32, 8)

SIZE(bsn_cq_entry, 16)
AT(bsn_cq_entry, key, 0, 4)
AT(bsn_cq_entry, reserved, 4, 4)
AT(bsn_cq_entry, route, 8, 8)

SIZE(bsn_cq, 64)
AT(bsn_cq, next, 0, 8)
AT(bsn_cq, chunk_end, 8, 8)
AT(bsn_cq, entries, 16, 8)
AT(bsn_cq, stride, 24, 8)
AT(bsn_cq, hash_shift, 32, 1)
AT(bsn_cq, phase, 33, 1)
AT(bsn_cq, dead, 34, 2)
AT(bsn_cq, reserved_small, 36, 4)
AT(bsn_cq, path, 40, 8)
AT(bsn_cq, reserved, 48, 16)

SIZE(bsn_completion, 64)
AT(bsn_completion, id, 0, 8)
AT(bsn_completion, user, 8, 8)
AT(bsn_completion, byte_len, 16, 4)
AT(bsn_completion, status, 20, 1)
AT(bsn_completion, flags, 21, 1)
AT(bsn_completion, syndrome, 22, 1)
AT(bsn_completion, vendor_syndrome, 23, 1)
AT(bsn_completion, who, 24, 4)
AT(bsn_completion, imm, 28, 4)
AT(bsn_completion, src_qpn, 32, 4)
AT(bsn_completion, wqe_index, 36, 2)
AT(bsn_completion, hw_syndrome, 38, 1)
AT(bsn_completion, sl, 39, 1)
AT(bsn_completion, data, 40, 8)
AT(bsn_completion, slid, 48, 2)
AT(bsn_completion, dlid_path_bits, 50, 1)
AT(bsn_completion, reserved, 51, 5)
AT(bsn_completion, timestamp, 56, 8)

SIZE(bsn_sge, 16)
AT(bsn_sge, addr, 0, 8)
AT(bsn_sge, length, 8, 4)
AT(bsn_sge, lkey, 12, 4)

SIZE(bsn_remote, 16)
AT(bsn_remote, addr, 0, 8)
AT(bsn_remote, rkey, 8, 4)

SIZE(bsn_wr, 72)
AT(bsn_wr, id, 0, 8)
AT(bsn_wr, sge, 8, 8)
AT(bsn_wr, sge_count, 16, 4)
AT(bsn_wr, flags, 20, 4)
AT(bsn_wr, remote, 24, 16)
AT(bsn_wr, opcode, 40, 4)
AT(bsn_wr, imm, 44, 4)
AT(bsn_wr, swap_add, 48, 8)
AT(bsn_wr, compare, 56, 8)
AT(bsn_wr, map, 64, 8)

SIZE(bsn_part, 32)
AT(bsn_part, addr, 0, 8)
AT(bsn_part, bytes, 8, 8)
AT(bsn_part, stride, 16, 8)
AT(bsn_part, lkey, 24, 4)

SIZE(bsn_layout_attr, 16)
AT(bsn_layout_attr, parts, 0, 8)
AT(bsn_layout_attr, part_count, 8, 4)
AT(bsn_layout_attr, rounds, 12, 4)

SIZE(bsn_map, 40)
AT(bsn_map, sge, 0, 8)
AT(bsn_map, sge_count, 8, 4)
AT(bsn_map, length, 16, 8)
AT(bsn_map, mkey, 24, 8)
AT(bsn_map, layout, 32, 8)

VALUE(BSN_F_SOLICITED, 0x200)
VALUE(BSN_F_SIGNALED, 0x800)
VALUE(BSN_F_FENCE, 0x8000)
VALUE(BSN_F_RING, 0x10000)
VALUE(BSN_F_INLINE, 0x20000)
VALUE(BSN_WHAT_COUNT_SHIFT, 0x12)
VALUE(BSN_WHAT_COUNT_MAX, 0x3fff)
VALUE(BSN_WHAT_FLAGS, 0x3ff00)
VALUE(BSN_WHAT_BAD_FLAG, 0x100)
VALUE(BSN_PUBLISH_8, 0)
VALUE(BSN_PUBLISH_16, 0x1)
VALUE(BSN_PUBLISH_DOORBELL, 0x2)
VALUE(BSN_PUBLISH_CALL, 0x3)
VALUE(BSN_PUBLISH_APPENDED, 0x8)
VALUE(BSN_NEAR_DS, 0x3)
VALUE(BSN_NEAR_ID_AT, 0x38)
VALUE(BSN_IDS_SHIFT, 0x3)
VALUE(BSN_PREPARED_DS, 0x3)
VALUE(BSN_RECVS_ANY, 0)
VALUE(BSN_RECVS_COUNTED, 0x1)
VALUE(BSN_RECVS_LINKED, 0x2)
VALUE(BSN_RECVS_IN_PLACE, 0x3)
VALUE(BSN_CQ_HASH, 0x9e3779)
VALUE(BSN_C_IMM, 0x1)
VALUE(BSN_C_INVAL, 0x2)
VALUE(BSN_C_GRH, 0x4)
VALUE(BSN_C_DATA, 0x8)
VALUE(BSN_C_IN_CQE, 0x10)
VALUE(BSN_RECV, 0x82)
VALUE(BSN_RECV_RDMA_WITH_IMM, 0x80)
/* clang-format on */

/* -- lines: what may change, and would cost time ----------------------------------------------- */

#define SAME_LINE(type, field, line)                                                               \
	_Static_assert(offsetof(struct type, field) / 64 == (line), #type "." #field);

SAME_LINE(dv_sq, bb_mask, 1)
SAME_LINE(dv_sq, has_peers, 1)
SAME_LINE(dv_sq, hidden, 1)
SAME_LINE(dv_rq, lists, 1)
SAME_LINE(dv_rq, has_many_pollers, 1)
SAME_LINE(dv_rq, path, 2)
SAME_LINE(dv_cq, ring, 1)
SAME_LINE(dv_route, has_error, 0)
_Static_assert(offsetof(struct dv_sq, route) % 64 == 0, "a line of the poller's");
_Static_assert(offsetof(struct dv_sq, seen_done) >= offsetof(struct dv_sq, route) + 64,
	       "and of nobody else's");
_Static_assert(_Alignof(struct dv_sq) == 64 && _Alignof(struct dv_rq) == 64 &&
		       _Alignof(struct dv_cq) == 64,
	       "on cache lines");
_Static_assert(offsetof(struct bsn_peer, ep) == 0 && offsetof(struct dv_sq, hot) == 0 &&
		       offsetof(struct dv_rq, hot) == 0 && offsetof(struct dv_cq, hot) == 0 &&
		       offsetof(struct dv_route, hot) == 0 && offsetof(struct dv_lane, hot) == 0,
	       "what inline code sees comes first");

/* Bit fields have no address. */
int main(void)
{
	const struct bsn_completion c = { .qpn = 0x123456, .opcode = 0x78 };

	return c.who != 0x78123456;
}
