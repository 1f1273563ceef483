/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UMR: configures and invalidates mkeys, binds windows. Sources of what the device checks:
 * wqe/bsn_umr.h and those it names. Mkeys of regions are the kernel's, and a program may not change
 * them.
 */
#include "umr.h"

#include "tables.h"
#include "trace.h"
#include "translations.h"

enum { HEAD_BYTES = BSN_CTRL_SIZE + BSN_UMR_CTRL_SIZE + BSN_MKEY_CTX_SIZE };

struct change {
	struct cx_hca *hca;
	struct cx_qp *qp;
	const struct bsn_wqe *wqe;
	const struct bsn_umr_ctrl *ctrl;
	const struct bsn_mkey_ctx *ctx;
	struct cx_outcome *out;
	struct cx_mr *mr;
};

static bool is_masked(const struct change *c, enum bsn_mkey_mask bit)
{
	return c->ctrl->mkey_mask >> bit & 1;
}

static bool is_invalidation(const struct change *c)
{
	return is_masked(c, BSN_MKEY_MASK_FREE) && c->ctx->free;
}

static bool refuse(struct change *c, unsigned detail, const char *why)
{
	const unsigned base =
		is_invalidation(c) ? BSN_VENDOR_TPT_INVALIDATE : BSN_VENDOR_TPT_FAST_REGISTER;

	cx_trace(c->hca, "umr: qpn %#x mkey %#x: %s", c->qp->head.number, c->wqe->ctrl.imm, why);
	cx_outcome_fail(c->out, BSN_SYNDROME_MW_BIND, base + detail);
	return false;
}

/* -- checks ------------------------------------------------------------------------------------ */

static uint64_t offset_of(const struct change *c)
{
	return c->ctrl->has_offset ? (uint64_t)c->ctrl->offset_47_16 << 16 | c->ctrl->offset_or_bsf
				   : 0;
}

static bool check_mkey(struct change *c)
{
	const struct cx_mr *mr = c->mr;

	if (!mr || mr->attr.pdn != c->qp->attr.pdn)
		return refuse(c, BSN_TPT_PD, "no such mkey in the protection domain");
	if (!mr->umr_en)
		return refuse(c, BSN_TPT_RIGHTS, "the mkey may not be changed by UMR");
	if (c->ctrl->check == BSN_UMR_CHECK_BIT_5 && !mr->free)
		return refuse(c, BSN_TPT_RIGHTS, "the mkey is in use, and must be free");
	if (c->ctrl->check == BSN_UMR_CHECK_BIT_6 && mr->free)
		return refuse(c, BSN_TPT_RIGHTS, "the mkey is free, and must not be");
	if (c->ctrl->check_qpn && mr->qpn != BSN_MKEY_QPN_ANY && mr->qpn != c->qp->head.number)
		return refuse(c, BSN_TPT_PD, "the mkey is bound to another queue pair");
	if (is_masked(c, BSN_MKEY_MASK_PD) && c->ctx->pd != mr->attr.pdn)
		return refuse(c, BSN_TPT_PD, "a program may not change the protection domain");
	return true;
}

/* Unlike an mkey, a window has a start address. */
static bool is_binding(const struct change *c)
{
	return is_masked(c, BSN_MKEY_MASK_START_ADDR) && !is_invalidation(c) &&
	       c->ctrl->klm_octowords && c->wqe->as.umr.form == BSN_UMR_LIST;
}

/*
 * IBTA C10-73 and C10-74, as in the kernel's rxe_mw.c: the region must allow windows, and writes if
 * the window does. No known bit of an mlx5 mkey says that it allows windows; the model follows the
 * specification.
 */
static bool check_binding(struct change *c)
{
	const struct cx_mr *memory;

	if (!is_binding(c))
		return true;
	memory = cx_mr_find(c->hca, c->wqe->data[0].lkey);
	if (!memory || memory->attr.pdn != c->qp->attr.pdn)
		return refuse(c, BSN_TPT_PD, "no such memory in the protection domain");
	if (!(memory->attr.access & IBV_ACCESS_MW_BIND))
		return refuse(c, BSN_TPT_RIGHTS,
			      "the memory was registered without IBV_ACCESS_MW_BIND");
	if ((c->ctx->rw || c->ctx->a) && !(memory->attr.access & IBV_ACCESS_LOCAL_WRITE))
		return refuse(c, BSN_TPT_RIGHTS, "the window may be written, but not its memory");
	return true;
}

static bool check_bsf(struct change *c)
{
	struct bsn_bsf bsf = { 0 };

	if (c->wqe->as.umr.bsf) {
		if (c->wqe->as.umr.bsf_bytes >= BSN_BSF_SIZE)
			bsn_bsf_decode(&bsf, c->wqe->as.umr.bsf);
		return refuse(c, BSN_TPT_UNKNOWN,
			      bsf.type == BSN_BSF_TYPE_CRYPTO
				      ? "BSF: encryption is not modelled"
				      : "BSF: block signatures are not modelled");
	}
	if (is_masked(c, BSN_MKEY_MASK_BSF_EN) && c->ctx->bsf_en)
		return refuse(c, BSN_TPT_UNKNOWN, "signatures and encryption are not modelled");
	if (!c->ctrl->has_offset && c->ctrl->offset_or_bsf)
		return refuse(c, BSN_TPT_UNKNOWN, "BSF are not modelled");
	return true;
}

static bool check_translations(struct change *c)
{
	const uint32_t count = c->ctrl->klm_octowords;

	if (count % CX_XLT_GRAIN)
		return refuse(c, BSN_TPT_LENGTH, "klm_octowords is no multiple of 4");
	if (count > c->mr->room || offset_of(c) > c->mr->room - count)
		return refuse(c, BSN_TPT_LENGTH, "more translations than the mkey has room for");
	if (c->wqe->as.umr.form == BSN_UMR_POINTER &&
	    c->wqe->data[0].length_bytes < count * BSN_XLT_SIZE)
		return refuse(c, BSN_TPT_LENGTH, "the pointer is shorter than klm_octowords");
	return true;
}

/* -- changes ----------------------------------------------------------------------------------- */

/* Reads them from the memory that the WQE points to, by lkey, some at a time. */
static bool read_translations(struct change *c)
{
	const struct bsn_wqe_data *from = &c->wqe->data[0];
	const uint32_t total = c->ctrl->klm_octowords;
	struct cx_walk walk =
		cx_walk_key(from->lkey, from->addr, c->qp, 0, (uint64_t)total * BSN_XLT_SIZE);
	const unsigned detail = cx_walk_check(c->hca, &walk);
	uint8_t some[16 * BSN_XLT_SIZE];

	if (detail)
		return refuse(c, detail, "the translations' memory is not there");
	for (uint32_t done = 0; done < total;) {
		const uint32_t left = total - done, count = left < 16 ? left : 16;
		struct cx_walk to = cx_walk_bytes(some, count * BSN_XLT_SIZE);

		if (cx_walk_copy(c->hca, &to, &walk))
			return refuse(c, BSN_TPT_PAGE_FAULT, "the translations' memory is gone");
		cx_xlt_put(c->hca, c->mr, (uint32_t)offset_of(c) + done, some, count);
		done += count;
	}
	return true;
}

/* The kernel's mlx5.h MLX5_UMR_FLEX_ALIGNMENT */
static void lint_pointer(const struct change *c)
{
	enum { POINTER_ALIGN = 64 };

	if (c->wqe->data[0].addr % POINTER_ALIGN)
		cx_lint(c->hca, "qpn %#x wqe %#x: translations at %#lx, which is no multiple of 64",
			c->qp->head.number, c->qp->run.sq_head, c->wqe->data[0].addr);
}

/* The kernel's struct mlx5_ksm (include/linux/mlx5/device.h) */
static void lint_pages(const struct change *c)
{
	if (c->mr->mode == BSN_MKEY_MODE_KSM && cx_xlt_has_lengths(c->hca, c->mr))
		cx_lint(c->hca, "qpn %#x wqe %#x: a KSM has a length, though that is reserved",
			c->qp->head.number, c->qp->run.sq_head);
}

static bool change_translations(struct change *c)
{
	bool done = true;

	if (!c->ctrl->klm_octowords)
		return true;
	if (c->wqe->as.umr.form == BSN_UMR_POINTER) {
		lint_pointer(c);
		done = read_translations(c);
	} else {
		cx_xlt_put(c->hca, c->mr, (uint32_t)offset_of(c), c->wqe->bytes + HEAD_BYTES,
			   c->ctrl->klm_octowords);
	}
	if (!cx_xlt_settle(c->hca, c->mr) && done)
		return refuse(c, BSN_TPT_LENGTH, "a KLM has more than 2^31 bytes");
	if (done)
		lint_pages(c);
	return done;
}

static void change_right(const struct change *c, enum bsn_mkey_mask bit, bool given, int right)
{
	int *access = &c->mr->attr.access;

	if (is_masked(c, bit))
		*access = given ? *access | right : *access & ~right;
}

static void change_context(const struct change *c)
{
	struct cx_mr *mr = c->mr;

	change_right(c, BSN_MKEY_MASK_LW, c->ctx->lw, IBV_ACCESS_LOCAL_WRITE);
	change_right(c, BSN_MKEY_MASK_RR, c->ctx->rr, IBV_ACCESS_REMOTE_READ);
	change_right(c, BSN_MKEY_MASK_RW, c->ctx->rw, IBV_ACCESS_REMOTE_WRITE);
	change_right(c, BSN_MKEY_MASK_A, c->ctx->a, IBV_ACCESS_REMOTE_ATOMIC);
	if (is_masked(c, BSN_MKEY_MASK_LEN))
		mr->attr.length = c->ctx->length64 ? UINT64_MAX : c->ctx->len;
	if (is_masked(c, BSN_MKEY_MASK_START_ADDR))
		mr->attr.iova = c->ctx->start_addr;
	if (is_masked(c, BSN_MKEY_MASK_PAGE_SIZE))
		mr->page_log2 = (uint8_t)c->ctx->log_page_size;
	if (is_masked(c, BSN_MKEY_MASK_EN_RINVAL))
		mr->en_rinval = c->ctx->en_rinval;
	if (is_masked(c, BSN_MKEY_MASK_QPN))
		mr->qpn = c->ctx->qpn;
	if (is_masked(c, BSN_MKEY_MASK_FREE))
		mr->free = c->ctx->free;
	if (is_masked(c, BSN_MKEY_MASK_KEY))
		mr->head.number = (mr->head.number & ~(uint32_t)UINT8_MAX) | c->ctx->mkey_7_0;
}

/* Until a fence or a completion the next WQE may find the old mkey (keys.c). */
static void open_change(struct change *c)
{
	struct cx_qp_run *run = &c->qp->run;

	run->umr_open = true;
	run->umr_silent = c->wqe->ctrl.ce < BSN_CE_ALWAYS;
	run->umr_tail = run->sq_tail;
	c->mr->changed_by = c->qp->head.number;
}

void cx_umr_run(struct cx_hca *hca, struct cx_qp *qp, const struct bsn_wqe *wqe,
		struct cx_outcome *out)
{
	struct change c = { .hca = hca,
			    .qp = qp,
			    .wqe = wqe,
			    .ctrl = &wqe->as.umr.ctrl,
			    .ctx = &wqe->as.umr.mkey,
			    .out = out,
			    .mr = cx_mr_find_index(hca, wqe->ctrl.imm >> 8) };

	if (!check_mkey(&c))
		return;
	if (!check_bsf(&c) || !check_translations(&c) || !check_binding(&c) ||
	    !change_translations(&c)) {
		c.mr->free = true;
		return;
	}
	change_context(&c);
	open_change(&c);
	out->verdict = CX_ACKED;
}
