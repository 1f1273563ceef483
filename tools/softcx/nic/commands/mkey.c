/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory keys that programs create. Sources of the checked fields: mlx5_ifc.h and PRM "MKEY". */
#include "firmware.h"

#include "datasheet.h"
#include "../translations.h"

enum { PAGE_LOG2 = 12 };

struct request {
	struct bsn_create_mkey_flags flags;
	struct bsn_mkey_ctx ctx;
	struct bsn_create_mkey_xlt xlt;
	uint32_t mode;
	const struct cx_umem *umem;
};

static int access_of(const struct bsn_mkey_ctx *ctx)
{
	return (ctx->lw ? IBV_ACCESS_LOCAL_WRITE : 0) | (ctx->rw ? IBV_ACCESS_REMOTE_WRITE : 0) |
	       (ctx->rr ? IBV_ACCESS_REMOTE_READ : 0) | (ctx->a ? IBV_ACCESS_REMOTE_ATOMIC : 0);
}

static bool is_indirect(uint32_t mode)
{
	return mode == BSN_MKEY_MODE_KLM || mode == BSN_MKEY_MODE_KSM;
}

/* Where the first byte is: the umem has the pages, the address has the offset in the first page. */
static uint64_t va_of(const struct request *r)
{
	const uint64_t mask = (1u << PAGE_LOG2) - 1;

	return ((r->umem->va + r->xlt.mkey_umem_offset) & ~mask) + (r->ctx.start_addr & mask);
}

static const char *check_umem(const struct request *r)
{
	const uint64_t mask = (1u << PAGE_LOG2) - 1;
	const uint64_t end = r->umem ? (r->umem->va + r->umem->length + mask) & ~mask : 0;

	if (!r->flags.mkey_umem_valid || !r->umem)
		return "an mkey of pages needs a umem";
	if (r->xlt.mkey_umem_offset >= r->umem->length || va_of(r) > end ||
	    r->ctx.len > end - va_of(r))
		return "the umem is shorter than the mkey";
	return NULL;
}

static const char *check_list(const struct request *r, size_t in_size)
{
	const uint64_t given = (in_size - BSN_CREATE_MKEY_LIST_OFFSET) / BSN_XLT_SIZE;

	if (r->flags.mkey_umem_valid)
		return "translations of a list come in the mailbox, not in a umem";
	if (!r->ctx.translations_octword_size ||
	    r->ctx.translations_octword_size > 1u << CX_MAX_XLT_LOG2)
		return "no room for translations, or more than log_max_klm_list_size";
	if (r->xlt.octwords > r->ctx.translations_octword_size || r->xlt.octwords > given)
		return "more translations than there is room for, or than were given";
	return NULL;
}

/* In the form that cx_xlt_settle() needs. */
static const char *check_klms(const struct request *r, const uint8_t *list)
{
	struct bsn_klm klm;

	for (uint32_t i = 0; r->mode == BSN_MKEY_MODE_KLM && i < r->xlt.octwords; i++) {
		bsn_klm_decode(&klm, list + (size_t)i * BSN_XLT_SIZE);
		if (!i && klm.mkey == BSN_REPEAT_OP)
			return NULL;
		if (klm.byte_count > BSN_KLM_MAX_BYTES)
			return "a KLM has more than 2^31 bytes";
	}
	return NULL;
}

static const char *check_request(const struct request *r, size_t in_size)
{
	if (r->ctx.bsf_en || r->ctx.bsf_octword_size)
		return "signatures are not modelled";
	if (r->ctx.crypto_en)
		return "encryption is not modelled";
	if (r->mode != BSN_MKEY_MODE_MTT && !is_indirect(r->mode))
		return "the model has keys of pages, KLM and KSM";
	return is_indirect(r->mode) ? check_list(r, in_size) : check_umem(r);
}

static void fill_mkey(struct cx_mr *mr, const struct request *r)
{
	const struct bsn_mkey_ctx *ctx = &r->ctx;

	mr->attr = (struct cx_mr_attr){
		.pdn = ctx->pd,
		.iova = ctx->start_addr,
		.length = ctx->length64 ? UINT64_MAX : ctx->len,
		.access = access_of(ctx),
		.va = r->umem ? va_of(r) : 0,
	};
	mr->free = ctx->free;
	mr->umr_en = ctx->umr_en;
	mr->en_rinval = ctx->en_rinval;
	mr->mode = (uint8_t)r->mode;
	mr->page_log2 = (uint8_t)ctx->log_page_size;
	mr->qpn = ctx->qpn;
	mr->umem = r->umem ? r->umem->head.number : 0;
}

static enum bsn_command_status make_mkey(struct cx_hca *hca, struct cx_mailbox *box,
					 const struct request *r)
{
	struct cx_head *head;
	struct cx_mr *mr;
	uint32_t key;

	if (cx_create(hca, CX_MR, &head, &key))
		return cx_refuse_command(box, BSN_COMMAND_NO_RESOURCES, "no more keys");
	mr = (struct cx_mr *)head;
	fill_mkey(mr, r);
	if (is_indirect(r->mode)) {
		if (cx_xlt_alloc(hca, mr, r->ctx.translations_octword_size))
			return cx_refuse_command(box, BSN_COMMAND_NO_RESOURCES,
						 "no more room for translations");
		cx_xlt_put(hca, mr, 0, box->in + BSN_CREATE_MKEY_LIST_OFFSET, r->xlt.octwords);
		cx_xlt_settle(hca, mr);
	}
	cx_refer(hca, CX_PD, mr->attr.pdn, 1);
	cx_refer(hca, CX_UMEM, mr->umem, 1);
	/* The program chooses the variant. */
	cx_publish(hca, CX_MR, head, (key & ~0xffu) | r->ctx.mkey_7_0);
	cx_answer_made(box, key >> 8);
	return BSN_COMMAND_OK;
}

enum bsn_command_status cx_create_mkey(struct cx_hca *hca, struct cx_mailbox *box)
{
	struct request r;

	bsn_create_mkey_flags_decode(&r.flags, box->in + BSN_CREATE_MKEY_FLAGS_OFFSET);
	bsn_mkey_ctx_decode(&r.ctx, box->in + BSN_CREATE_MKEY_CTX_OFFSET);
	bsn_create_mkey_xlt_decode(&r.xlt, box->in + BSN_CREATE_MKEY_XLT_OFFSET);
	r.mode = r.ctx.access_mode_4_2 << 2 | r.ctx.access_mode_1_0;
	r.umem = r.flags.mkey_umem_valid ? cx_umem_find_own(hca, r.xlt.mkey_umem_id) : NULL;
	box->why = check_request(&r, box->in_size);
	if (!box->why && is_indirect(r.mode))
		box->why = check_klms(&r, (const uint8_t *)box->in + BSN_CREATE_MKEY_LIST_OFFSET);
	if (box->why)
		return BSN_COMMAND_BAD_PARAMETER;
	if (!cx_pd_find_own(hca, r.ctx.pd))
		return cx_refuse_command(box, BSN_COMMAND_BAD_RESOURCE,
					 "no such protection domain");
	return make_mkey(hca, box, &r);
}

static struct cx_mr *find_mkey(struct cx_hca *hca, struct cx_mailbox *box)
{
	box->why = "no such mkey";
	return cx_mr_find_index(hca, cx_meant(box));
}

enum bsn_command_status cx_query_mkey(struct cx_hca *hca, struct cx_mailbox *box)
{
	const struct cx_mr *mr = find_mkey(hca, box);
	struct bsn_mkey_ctx ctx;

	if (!mr)
		return BSN_COMMAND_BAD_RESOURCE;
	ctx = (struct bsn_mkey_ctx){
		.free = mr->free,
		.umr_en = mr->umr_en,
		.a = !!(mr->attr.access & IBV_ACCESS_REMOTE_ATOMIC),
		.rw = !!(mr->attr.access & IBV_ACCESS_REMOTE_WRITE),
		.rr = !!(mr->attr.access & IBV_ACCESS_REMOTE_READ),
		.lw = !!(mr->attr.access & IBV_ACCESS_LOCAL_WRITE),
		.lr = 1,
		.access_mode_1_0 = mr->mode,
		.qpn = mr->qpn,
		.mkey_7_0 = mr->head.number & UINT8_MAX,
		.en_rinval = mr->en_rinval,
		.pd = mr->attr.pdn,
		.start_addr = mr->attr.iova,
		.len = mr->attr.length,
		.translations_octword_size = mr->room,
		.log_page_size = mr->page_log2,
	};
	bsn_mkey_ctx_encode(box->out + BSN_QUERY_MKEY_OUT_CTX_OFFSET, &ctx);
	return BSN_COMMAND_OK;
}

enum bsn_command_status cx_destroy_mkey(struct cx_hca *hca, struct cx_mailbox *box)
{
	struct cx_mr *mr = find_mkey(hca, box);

	if (!mr)
		return BSN_COMMAND_BAD_RESOURCE;
	cx_refer(hca, CX_PD, mr->attr.pdn, -1);
	cx_refer(hca, CX_UMEM, mr->umem, -1);
	cx_unpublish(hca, CX_MR, &mr->head);
	return BSN_COMMAND_OK;
}
