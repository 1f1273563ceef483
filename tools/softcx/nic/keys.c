/* SPDX-License-Identifier: BSD-2-Clause */
/* The translation and protection table. */
#include "keys.h"

#include <errno.h>

#include "bsn_syndrome.h"
#include "changes.h"
#include "memory.h"
#include "tables.h"
#include "trace.h"
#include "translations.h"

/*
 * Checked in the order of a ConnectX: the key, its protection domain, then range and rights, which
 * the device does not tell apart (bsn_syndrome.h, BSN_TPT_RIGHTS).
 */
static unsigned check_key(const struct cx_mr *mr, const struct cx_claim *claim, uint64_t addr,
			  uint64_t len)
{
	const struct cx_mr_attr *attr = mr ? &mr->attr : NULL;

	if (!mr || mr->free || attr->pdn != claim->pdn)
		return BSN_TPT_PD;
	if (mr->qpn != BSN_MKEY_QPN_ANY && mr->qpn != claim->qpn)
		return BSN_TPT_PD;
	if (addr < attr->iova || len > attr->length || addr - attr->iova > attr->length - len)
		return BSN_TPT_RIGHTS;
	if (len && addr + len - 1 < addr) /* past the end of the address space */
		return BSN_TPT_RIGHTS;
	return claim->access & ~attr->access ? BSN_TPT_RIGHTS : CX_TPT_OK;
}

/* Causes that have the same vendor syndrome. */
static void trace_refusal(struct cx_hca *hca, const struct cx_mr *mr, const struct cx_claim *claim,
			  const struct cx_piece *piece, uint64_t len)
{
	const struct cx_mr_attr *attr = mr ? &mr->attr : NULL;
	const uint32_t key = piece->key;

	if (!mr)
		cx_trace(hca, "key: qpn %#x: key %#x does not exist", claim->qpn, key);
	else if (mr->free)
		cx_trace(hca, "key: qpn %#x: key %#x is free: never configured, or invalidated",
			 claim->qpn, key);
	else if (attr->pdn != claim->pdn)
		cx_trace(hca, "key: qpn %#x is of PD %u, key %#x of PD %u", claim->qpn, claim->pdn,
			 key, attr->pdn);
	else if (mr->qpn != BSN_MKEY_QPN_ANY && mr->qpn != claim->qpn)
		cx_trace(hca, "key: qpn %#x: key %#x is of qpn %#x alone", claim->qpn, key,
			 mr->qpn);
	else if (claim->access & ~attr->access)
		cx_trace(hca, "key: qpn %#x: key %#x has rights %#x, of ibv_access_flags, not %#x",
			 claim->qpn, key, attr->access, claim->access);
	else
		cx_trace(hca, "key: qpn %#x: %lu bytes at %#lx are not within key %#x: %lu at %#lx",
			 claim->qpn, len, piece->addr, key, attr->length, attr->iova);
}

/*
 * A ConnectX does not wait: a request that uses an mkey before its change is known to be done may
 * find the old mkey. On the queue that changed it a fence is enough. Before another queue uses it,
 * the change must have completed, or a fenced message must have told of it.
 */
static void lint_fresh(struct cx_hca *hca, struct cx_mr *mr, const struct cx_claim *claim)
{
	const struct cx_qp *qp = cx_qp_find(hca, mr->changed_by);
	const bool same = qp && qp->head.number == claim->qpn;

	if (same && qp->run.umr_open && cx_index_before(qp->run.sq_head, qp->run.umr_tail))
		cx_lint(hca,
			"qpn %#x wqe %#x: mkey %#x is used without a small fence after its UMR",
			claim->qpn, qp->run.sq_head, mr->head.number);
	else if (qp && !same && qp->run.umr_open && qp->run.umr_silent)
		cx_lint(hca, "qpn %#x: mkey %#x is used while its UMR on qpn %#x has no completion",
			claim->qpn, mr->head.number, qp->head.number);
	mr->changed_by = 0;
}

/*
 * A ConnectX accesses the pages of registration time, which no program sees any more. The model
 * does not have them, so the access fails as if the pages were gone.
 */
static bool is_stale(struct cx_hca *hca, struct cx_mr *mr, const struct cx_claim *claim,
		     const struct cx_span *span)
{
	const struct cx_range *changed = cx_changes_find(mr, span->va, span->len);

	if (changed && !mr->change_told)
		cx_lint(hca,
			"qpn %#x: mkey %#x is stale: its memory from %#lx to %#lx was unmapped, "
			"moved or "
			"given back since it was registered, so that a device uses pages that the "
			"program "
			"no longer has",
			claim->qpn, mr->head.number, changed->start, changed->end);
	mr->change_told |= changed != NULL;
	return changed;
}

/* The rights that the keys below a key need: those of a peer are checked at the first key only. */
static int access_beneath(int access)
{
	const int writes =
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

	return access & writes ? IBV_ACCESS_LOCAL_WRITE : 0;
}

/*
 * ibv_alloc_null_mr(3) returns only an lkey, yet peers may access it: NVIDIA's perftest sends it to
 * them as an rkey (ib_write_bw --use-null-mr, set_up_connection(), since its commit f961e40 of
 * 2025). No public source says what an atomic does; here it is refused.
 */
static bool is_null(const struct cx_claim *claim, uint32_t key)
{
	return key == CX_NULL_KEY && !(claim->access & IBV_ACCESS_REMOTE_ATOMIC);
}

/*
 * Goes down to a key of memory itself, with fewer bytes at each level. Keys in a circle end as keys
 * that nest too deep.
 */
unsigned cx_key_span(struct cx_hca *hca, uint32_t key, const struct cx_claim *claim, uint64_t addr,
		     uint64_t len, struct cx_span *span)
{
	struct cx_claim at = *claim;
	struct cx_piece piece = { key, addr, len };

	for (unsigned depth = 0;; depth++) {
		struct cx_mr *mr = cx_mr_find(hca, piece.key);
		unsigned detail = check_key(mr, &at, piece.addr, len);
		uint64_t offset;

		if (is_null(&at, piece.key)) {
			*span = (struct cx_span){ CX_NOBODY, piece.addr, len };
			return CX_TPT_OK;
		}
		if (detail) {
			trace_refusal(hca, mr, &at, &piece, len);
			return detail;
		}
		if (mr->changed_by)
			lint_fresh(hca, mr, claim);
		offset = piece.addr - mr->attr.iova;
		if (mr->mode == BSN_MKEY_MODE_MTT) {
			*span = (struct cx_span){ mr->head.owner, mr->attr.va + offset, len };
			return mr->changes && is_stale(hca, mr, claim, span) ? BSN_TPT_PAGE_FAULT
									     : CX_TPT_OK;
		}
		if (depth == CX_MAX_INDIRECTION)
			return BSN_TPT_INTERNAL;
		if (!cx_xlt_find(hca, mr, offset, &piece))
			return BSN_TPT_LENGTH;
		len = piece.len < len ? piece.len : len;
		at.access = access_beneath(at.access);
	}
}

/* The key of memory that has a byte, and in `piece` how far it reaches. NULL: no key has it. */
static const struct cx_mr *find_memory(struct cx_hca *hca, struct cx_piece *piece)
{
	for (unsigned depth = 0; depth <= CX_MAX_INDIRECTION; depth++) {
		const struct cx_mr *mr = cx_mr_find(hca, piece->key);
		const uint64_t left = piece->len;

		if (!mr || piece->addr - mr->attr.iova >= mr->attr.length)
			return NULL;
		if (mr->mode == BSN_MKEY_MODE_MTT)
			return mr;
		if (!cx_xlt_find(hca, mr, piece->addr - mr->attr.iova, piece))
			return NULL;
		piece->len = piece->len < left ? piece->len : left;
	}
	return NULL;
}

bool cx_key_is_on_demand(struct cx_hca *hca, uint32_t key, uint64_t addr, uint64_t len)
{
	for (uint64_t done = 0; done < len;) {
		struct cx_piece piece = { key, addr + done, len - done };
		const struct cx_mr *mr = find_memory(hca, &piece);

		if (!mr || mr->attr.access & IBV_ACCESS_ON_DEMAND)
			return mr;
		done += piece.len;
	}
	return false;
}

/*
 * A peer may invalidate only keys that were made for it: windows of type 2, for which the kernel
 * sets en_rinval (hw/mlx5/mr.c mlx5_ib_alloc_mw()), and mkeys for which a program does
 * (mlx5dv_create_mkey()); no regions.
 */
bool cx_key_invalidate(struct cx_hca *hca, uint32_t key, const struct cx_claim *claim)
{
	struct cx_mr *mr = cx_mr_find(hca, key);

	if (!mr || mr->free || mr->attr.pdn != claim->pdn ||
	    (mr->qpn != BSN_MKEY_QPN_ANY && mr->qpn != claim->qpn) || !mr->en_rinval)
		return false;
	mr->free = true;
	return true;
}

/* -- walks ------------------------------------------------------------------------------------- */

struct cx_walk cx_walk_list(const struct bsn_wqe_data *segments, unsigned count,
			    const struct cx_qp *qp, int access, uint64_t len)
{
	return (struct cx_walk){
		.segments = segments,
		.count = count,
		.claim = { qp->attr.pdn, qp->head.number, access },
		.left = len,
	};
}

struct cx_walk cx_walk_key(uint32_t key, uint64_t addr, const struct cx_qp *qp, int access,
			   uint64_t len)
{
	return (struct cx_walk){
		.only = { .lkey = key, .addr = addr, .length_bytes = (uint32_t)len },
		.count = 1,
		.claim = { qp->attr.pdn, qp->head.number, access },
		.left = len,
	};
}

struct cx_walk cx_walk_bytes(const void *bytes, uint64_t len)
{
	return (struct cx_walk){
		.only = { .bytes = bytes, .length_bytes = (uint32_t)len },
		.count = 1,
		.left = len,
	};
}

/* The current segment; NULL after the last. */
static const struct bsn_wqe_data *find_segment(struct cx_walk *walk)
{
	while (walk->count && walk->left) {
		const struct bsn_wqe_data *segment = walk->segments ? walk->segments : &walk->only;

		if (walk->done < segment->length_bytes)
			return segment;
		walk->done = 0;
		walk->count--;
		if (walk->segments)
			walk->segments++;
	}
	return NULL;
}

/*
 * Moves on to the next span, which is empty at the end. Returns CX_TPT_OK, or an enum
 * bsn_tpt_detail.
 */
static unsigned next_span(struct cx_hca *hca, struct cx_walk *walk)
{
	const struct bsn_wqe_data *segment = find_segment(walk);
	unsigned detail = CX_TPT_OK;
	uint64_t len;

	walk->here.len = 0;
	if (!segment)
		return CX_TPT_OK;
	len = segment->length_bytes - walk->done;
	len = len < walk->left ? len : walk->left;
	if (segment->bytes)
		walk->here = (struct cx_span){ .proc = hca->self,
					       .va = (uintptr_t)segment->bytes + walk->done,
					       .len = len };
	else
		detail = cx_key_span(hca, segment->lkey, &walk->claim, segment->addr + walk->done,
				     len, &walk->here);
	if (detail)
		return detail;
	walk->done += walk->here.len;
	walk->left -= walk->here.len;
	walk->is_new = true;
	return CX_TPT_OK;
}

unsigned cx_walk_check(struct cx_hca *hca, struct cx_walk *walk)
{
	unsigned detail = next_span(hca, walk);
	struct cx_walk probe;

	if (detail || !walk->left)
		return detail;
	probe = *walk;
	do
		detail = next_span(hca, &probe);
	while (!detail && probe.here.len);
	return detail;
}

static bool is_registered(const struct cx_walk *walk)
{
	return !(walk->segments ? walk->segments : &walk->only)->bytes;
}

/* Makes a span current. Returns 1, 0 at the end, or -EFAULT. */
static int reach(struct cx_hca *hca, struct cx_walk *walk, enum cx_bus_kind kind)
{
	if (!walk->here.len && next_span(hca, walk))
		return -EFAULT;
	if (!walk->here.len)
		return 0;
	if (walk->is_new && is_registered(walk) && walk->here.proc != CX_NOBODY)
		cx_bus_count(hca, walk->here.proc, kind, walk->here.len);
	walk->is_new = false;
	return 1;
}

static int copy_zeroes(struct cx_hca *hca, const struct cx_span *to, uint64_t len)
{
	static const uint8_t zeroes[4096];
	int err = 0;

	for (uint64_t done = 0; !err && done < len; done += sizeof(zeroes))
		err = cx_mem_write(hca, to->proc, to->va + done, zeroes,
				   len - done < sizeof(zeroes) ? len - done : sizeof(zeroes));
	return err;
}

static int copy_span(struct cx_hca *hca, const struct cx_span *to, const struct cx_span *from,
		     uint64_t len)
{
	if (to->proc == CX_NOBODY)
		return 0;
	if (from->proc == CX_NOBODY)
		return copy_zeroes(hca, to, len);
	if (cx_is_local(hca, from->proc))
		return cx_mem_write(hca, to->proc, to->va, (const void *)(uintptr_t)from->va, len);
	if (cx_is_local(hca, to->proc))
		return cx_mem_read(hca, from->proc, from->va, (void *)(uintptr_t)to->va, len);
	return -EFAULT; /* a queue pair runs in its owner's process, so one side is local */
}

/* After a copy failed: if the source cannot be read again, it was the source. */
static enum cx_copied find_fault(struct cx_hca *hca, const struct cx_span *from, uint64_t len)
{
	enum { PAGE = 4096 }; /* at least */
	const uint64_t end = from->va + len;
	uint8_t byte;

	if (from->proc == CX_NOBODY)
		return CX_FAULT_TO;
	for (uint64_t va = from->va; va < end; va = (va | (PAGE - 1)) + 1)
		if (cx_mem_read(hca, from->proc, va, &byte, 1))
			return CX_FAULT_FROM;
	return CX_FAULT_TO;
}

static void consume(struct cx_span *span, uint64_t len)
{
	span->va += len;
	span->len -= len;
}

enum cx_copied cx_walk_copy(struct cx_hca *hca, struct cx_walk *to, struct cx_walk *from)
{
	for (;;) {
		const int to_got = reach(hca, to, CX_BUS_payload_write);
		const int from_got = to_got > 0 ? reach(hca, from, CX_BUS_payload_read) : 0;
		uint64_t len;

		if (to_got < 0 || from_got < 0)
			return to_got < 0 ? CX_FAULT_TO : CX_FAULT_FROM;
		if (!from_got)
			return CX_COPIED;
		len = to->here.len < from->here.len ? to->here.len : from->here.len;
		if (copy_span(hca, &to->here, &from->here, len))
			return find_fault(hca, &from->here, len);
		consume(&to->here, len);
		consume(&from->here, len);
	}
}
