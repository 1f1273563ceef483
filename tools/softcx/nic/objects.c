/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The object tables: numbers, who owns what, what is in use; and the commands that make and unmake
 * everything but queue pairs. A number carries a tag that changes with each use of its entry, so
 * that a stale one finds nothing.
 */
#include "state.h"

#include <errno.h>
#include <string.h>

#include "transport.h"

/* -- tables ------------------------------------------------------------------------------------ */

static const struct table {
	size_t offset, stride;
	uint32_t count;
} tables[CX_KINDS] = {
	[CX_PD] = { offsetof(struct cx_shared, pds), sizeof(struct cx_pd), CX_PDS },
	[CX_CHANNEL] = { offsetof(struct cx_shared, channels), sizeof(struct cx_channel),
			 CX_CHANNELS },
	[CX_CQ] = { offsetof(struct cx_shared, cqs), sizeof(struct cx_cq), CX_CQS },
	[CX_SRQ] = { offsetof(struct cx_shared, srqs), sizeof(struct cx_srq), CX_SRQS },
	[CX_QP] = { offsetof(struct cx_shared, qps), sizeof(struct cx_qp), CX_QPS },
	[CX_MR] = { offsetof(struct cx_shared, mrs), sizeof(struct cx_mr), CX_MRS },
};

enum {
	TAGS = 16,
	KEY_TAGS = 256, /* the low byte of an mkey is the tag (PRM "Memory Key") */
	KEY_FIRST = 2,  /* so that no key is 0, or the list terminator 0x100 */
};

struct cx_head *cx_entry(struct cx_hca *hca, enum cx_kind kind, uint32_t index)
{
	const struct table *table = &tables[kind];

	if (index >= table->count)
		return NULL;
	return (struct cx_head *)((char *)hca->shared + table->offset + index * table->stride);
}

static uint32_t index_of(struct cx_hca *hca, enum cx_kind kind, const struct cx_head *head)
{
	const struct table *table = &tables[kind];
	const char *base = (const char *)hca->shared + table->offset;

	return (uint32_t)((size_t)((const char *)head - base) / table->stride);
}

struct cx_head *cx_find(struct cx_hca *hca, enum cx_kind kind, uint32_t number)
{
	uint32_t index = kind == CX_MR ? number >> 8 : number & (tables[kind].count - 1);
	struct cx_head *head = cx_entry(hca, kind, index);

	return number && head && head->number == number ? head : NULL;
}

/* An object of this process: others' exist, but not for its commands. */
static struct cx_head *find_own(struct cx_hca *hca, enum cx_kind kind, uint32_t number)
{
	struct cx_head *head = cx_find(hca, kind, number);

	return head && head->owner == hca->self ? head : NULL;
}

struct cx_head *cx_first(struct cx_hca *hca, enum cx_kind kind)
{
	uint32_t first = hca->self < CX_PROCS ? hca->shared->procs[hca->self].first[kind] : 0;

	return first ? cx_entry(hca, kind, first - 1) : NULL;
}

struct cx_head *cx_next(struct cx_hca *hca, enum cx_kind kind, const struct cx_head *head)
{
	return head->next ? cx_entry(hca, kind, head->next - 1) : NULL;
}

/* An empty entry, cleared, with the number that it will have; NULL when there is none. */
struct cx_head *cx_create(struct cx_hca *hca, enum cx_kind kind, uint32_t *number)
{
	const struct table *table = &tables[kind];
	const uint32_t first = kind == CX_MR ? KEY_FIRST : 0;

	if (hca->shared->removed || !cx_has_slot(hca))
		return NULL;
	for (uint32_t tried = 0; tried < table->count; tried++) {
		uint32_t index = hca->shared->cursor[kind]++ % table->count;
		struct cx_head *head = cx_entry(hca, kind, index);
		uint16_t tag;

		if (index < first || head->number)
			continue;
		tag = (uint16_t)((head->tag + 1) % (kind == CX_MR ? KEY_TAGS : TAGS));
		if (!tag)
			tag = 1;
		memset(head, 0, table->stride);
		head->tag = tag;
		head->owner = (uint16_t)hca->self;
		*number = kind == CX_MR ? index << 8 | tag : tag * table->count | index;
		return head;
	}
	return NULL;
}

/* Why cx_create() had none to give. */
static int why_none(const struct cx_hca *hca)
{
	return hca->shared->removed ? -EIO : -ENOMEM;
}

/* The entry is complete: from here on it exists. */
void cx_publish(struct cx_hca *hca, enum cx_kind kind, struct cx_head *head, uint32_t number)
{
	uint32_t *first = &hca->shared->procs[hca->self].first[kind];

	head->next = *first;
	head->number = number;
	*first = index_of(hca, kind, head) + 1;
}

void cx_unpublish(struct cx_hca *hca, enum cx_kind kind, struct cx_head *head)
{
	const uint32_t link = index_of(hca, kind, head) + 1;
	uint32_t *at = &hca->shared->procs[head->owner].first[kind];

	while (*at && *at != link)
		at = &cx_entry(hca, kind, *at - 1)->next;
	if (*at)
		*at = head->next;
	head->number = 0;
}

void cx_disown_all(struct cx_hca *hca)
{
	for (enum cx_kind kind = 0; kind < CX_KINDS; kind++)
		for (struct cx_head *head = cx_first(hca, kind); head;
		     head = cx_next(hca, kind, head))
			head->number = 0;
}

/* Scans the tables, since a process that died in the middle may have left its lists unfinished. */
void cx_sweep_process(struct cx_hca *hca, unsigned proc)
{
	memset(hca->shared->procs[proc].first, 0, sizeof(hca->shared->procs[proc].first));
	for (enum cx_kind kind = 0; kind < CX_KINDS; kind++) {
		struct cx_head *head;

		for (uint32_t i = 0; (head = cx_entry(hca, kind, i)); i++)
			if (head->number && head->owner == proc)
				head->number = 0;
	}
}

/* Removes an object of the caller's that nothing refers to. */
static int destroy(struct cx_hca *hca, enum cx_kind kind, uint32_t number)
{
	struct cx_head *head;
	int err = 0;

	cx_lock(hca);
	head = find_own(hca, kind, number);
	if (!head)
		err = -EINVAL;
	else if (head->users)
		err = -EBUSY;
	else
		cx_unpublish(hca, kind, head);
	cx_unlock(hca);
	return err;
}

/* References from one object to another; 0 names none. */
static void add_user(struct cx_hca *hca, enum cx_kind kind, uint32_t number, int change)
{
	struct cx_head *head = cx_find(hca, kind, number);

	if (head)
		head->users += (uint32_t)change;
}

/* -- protection domains, keys ------------------------------------------------------------------ */

int cx_pd_create(struct cx_hca *hca, uint32_t *pdn)
{
	struct cx_head *head;
	uint32_t number;

	cx_lock(hca);
	head = cx_create(hca, CX_PD, &number);
	if (head)
		cx_publish(hca, CX_PD, head, number);
	cx_unlock(hca);
	if (!head)
		return why_none(hca);
	*pdn = number;
	return 0;
}

int cx_pd_destroy(struct cx_hca *hca, uint32_t pdn)
{
	return destroy(hca, CX_PD, pdn);
}

int cx_mr_create(struct cx_hca *hca, const struct cx_mr_attr *attr, uint32_t *key)
{
	struct cx_mr *mr = NULL;
	uint32_t number;
	int err = 0;

	cx_lock(hca);
	if (!find_own(hca, CX_PD, attr->pdn)) {
		err = -EINVAL;
	} else if (!(mr = (struct cx_mr *)cx_create(hca, CX_MR, &number))) {
		err = why_none(hca);
	} else {
		mr->attr = *attr;
		add_user(hca, CX_PD, attr->pdn, 1);
		cx_publish(hca, CX_MR, &mr->head, number);
	}
	cx_unlock(hca);
	if (!err)
		*key = number;
	return err;
}

/* The parts that the flags name; the key stays. */
static int merge_mr(struct cx_hca *hca, struct cx_mr *mr, int flags, const struct cx_mr_attr *attr,
		    struct cx_mr_attr *merged)
{
	*merged = mr->attr;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		merged->va = attr->va;
		merged->iova = attr->iova;
		merged->length = attr->length;
	}
	if (flags & IBV_REREG_MR_CHANGE_ACCESS)
		merged->access = attr->access;
	if (flags & IBV_REREG_MR_CHANGE_PD)
		merged->pdn = attr->pdn;
	if (!find_own(hca, CX_PD, merged->pdn))
		return -EINVAL;
	return 0;
}

int cx_mr_modify(struct cx_hca *hca, uint32_t key, int flags, const struct cx_mr_attr *attr)
{
	struct cx_mr_attr merged;
	struct cx_mr *mr;
	int err;

	cx_lock(hca);
	mr = (struct cx_mr *)find_own(hca, CX_MR, key);
	err = mr ? merge_mr(hca, mr, flags, attr, &merged) : -EINVAL;
	if (!err) {
		add_user(hca, CX_PD, mr->attr.pdn, -1);
		add_user(hca, CX_PD, merged.pdn, 1);
		mr->attr = merged;
		mr->invalidated = false;
	}
	cx_unlock(hca);
	return err;
}

int cx_mr_destroy(struct cx_hca *hca, uint32_t key)
{
	struct cx_mr *mr;
	int err = 0;

	cx_lock(hca);
	mr = (struct cx_mr *)find_own(hca, CX_MR, key);
	if (mr) {
		add_user(hca, CX_PD, mr->attr.pdn, -1);
		cx_unpublish(hca, CX_MR, &mr->head);
	} else {
		err = -EINVAL;
	}
	cx_unlock(hca);
	return err;
}

/* -- event channels ---------------------------------------------------------------------------- */

int cx_channel_create(struct cx_hca *hca, const char *path, enum cx_event kind, uint32_t *channel)
{
	struct cx_channel *entry;
	uint32_t number;

	if (strlen(path) >= CX_CHANNEL_PATH_SIZE)
		return -ENAMETOOLONG;
	cx_lock(hca);
	entry = (struct cx_channel *)cx_create(hca, CX_CHANNEL, &number);
	if (entry) {
		strcpy(entry->path, path);
		entry->kind = kind;
		entry->serial = ++hca->shared->channel_serial;
		cx_publish(hca, CX_CHANNEL, &entry->head, number);
	}
	cx_unlock(hca);
	if (!entry)
		return why_none(hca);
	*channel = number;
	return 0;
}

int cx_channel_destroy(struct cx_hca *hca, uint32_t channel)
{
	return destroy(hca, CX_CHANNEL, channel);
}

static bool has_channel(struct cx_hca *hca, uint32_t channel, enum cx_event kind)
{
	struct cx_channel *entry = (struct cx_channel *)find_own(hca, CX_CHANNEL, channel);

	return !channel || (entry && entry->kind == kind);
}

/* -- completion queues ------------------------------------------------------------------------- */

static bool is_power_of_two(uint32_t n)
{
	return n && !(n & (n - 1));
}

static int check_cq(struct cx_hca *hca, const struct cx_cq_attr *attr)
{
	if (!is_power_of_two(attr->entries) || attr->entries > 1u << 22 ||
	    (attr->cqe_size != 64 && attr->cqe_size != 128) || !attr->buf || !attr->db)
		return -EINVAL;
	if (!has_channel(hca, attr->comp_channel, CX_EVENT_COMPLETION) ||
	    !has_channel(hca, attr->async_channel, CX_EVENT_ASYNC))
		return -EINVAL;
	return 0;
}

int cx_cq_create(struct cx_hca *hca, const struct cx_cq_attr *attr, uint32_t *cqn)
{
	struct cx_cq *cq = NULL;
	uint32_t number;
	int err;

	cx_lock(hca);
	err = check_cq(hca, attr);
	if (!err && !(cq = (struct cx_cq *)cx_create(hca, CX_CQ, &number)))
		err = why_none(hca);
	if (!err) {
		cq->attr = *attr;
		cq->fired_sn = -1;
		err = cx_cq_reset_arm(hca, cq);
	}
	if (!err) {
		add_user(hca, CX_CHANNEL, attr->comp_channel, 1);
		add_user(hca, CX_CHANNEL, attr->async_channel, 1);
		cx_publish(hca, CX_CQ, &cq->head, number);
		*cqn = number;
	}
	cx_unlock(hca);
	return err;
}

int cx_cq_resize(struct cx_hca *hca, uint32_t cqn, uint64_t buf, uint32_t entries,
		 uint32_t cqe_size)
{
	struct cx_cq_attr attr;
	struct cx_cq *cq;
	int err = -EINVAL;

	cx_lock(hca);
	cq = (struct cx_cq *)find_own(hca, CX_CQ, cqn);
	if (cq) {
		attr = cq->attr;
		attr.buf = buf;
		attr.entries = entries;
		attr.cqe_size = cqe_size;
		err = check_cq(hca, &attr);
	}
	if (!err)
		err = cx_cq_move(hca, cq, &attr);
	cx_unlock(hca);
	return err;
}

int cx_cq_destroy(struct cx_hca *hca, uint32_t cqn)
{
	struct cx_cq *cq;
	uint32_t comp, async;
	int err;

	cx_lock(hca);
	cq = (struct cx_cq *)find_own(hca, CX_CQ, cqn);
	comp = cq ? cq->attr.comp_channel : 0;
	async = cq ? cq->attr.async_channel : 0;
	err = !cq ? -EINVAL : cq->head.users ? -EBUSY : 0;
	if (!err) {
		add_user(hca, CX_CHANNEL, comp, -1);
		add_user(hca, CX_CHANNEL, async, -1);
		cx_unpublish(hca, CX_CQ, &cq->head);
	}
	cx_unlock(hca);
	return err;
}

/* -- shared receive queues --------------------------------------------------------------------- */

static int check_srq(struct cx_hca *hca, const struct cx_srq_attr *attr)
{
	if (!find_own(hca, CX_PD, attr->pdn) || !is_power_of_two(attr->count) ||
	    !is_power_of_two(attr->stride_bytes) || attr->stride_bytes < 32 ||
	    attr->stride_bytes > CX_MAX_RECV_STRIDE || attr->count > 1u << 16 || !attr->buf ||
	    !attr->db)
		return -EINVAL;
	return has_channel(hca, attr->async_channel, CX_EVENT_ASYNC) ? 0 : -EINVAL;
}

int cx_srq_create(struct cx_hca *hca, const struct cx_srq_attr *attr, uint32_t *srqn)
{
	struct cx_srq *srq = NULL;
	uint32_t number;
	int err;

	cx_lock(hca);
	err = check_srq(hca, attr);
	if (!err && !(srq = (struct cx_srq *)cx_create(hca, CX_SRQ, &number)))
		err = why_none(hca);
	if (!err) {
		srq->attr = *attr;
		add_user(hca, CX_PD, attr->pdn, 1);
		add_user(hca, CX_CHANNEL, attr->async_channel, 1);
		cx_publish(hca, CX_SRQ, &srq->head, number);
		*srqn = number;
	}
	cx_unlock(hca);
	return err;
}

int cx_srq_arm(struct cx_hca *hca, uint32_t srqn, uint32_t limit)
{
	struct cx_srq *srq;

	cx_lock(hca);
	srq = (struct cx_srq *)find_own(hca, CX_SRQ, srqn);
	if (srq) {
		srq->limit = limit;
		cx_srq_check_limit(hca, srq);
	}
	cx_unlock(hca);
	return srq ? 0 : -EINVAL;
}

int cx_srq_query(struct cx_hca *hca, uint32_t srqn, uint32_t *limit)
{
	struct cx_srq *srq;

	cx_lock(hca);
	srq = (struct cx_srq *)find_own(hca, CX_SRQ, srqn);
	if (srq)
		*limit = srq->limit;
	cx_unlock(hca);
	return srq ? 0 : -EINVAL;
}

int cx_srq_destroy(struct cx_hca *hca, uint32_t srqn)
{
	struct cx_srq *srq;
	int err;

	cx_lock(hca);
	srq = (struct cx_srq *)find_own(hca, CX_SRQ, srqn);
	err = !srq ? -EINVAL : srq->head.users ? -EBUSY : 0;
	if (!err) {
		add_user(hca, CX_PD, srq->attr.pdn, -1);
		add_user(hca, CX_CHANNEL, srq->attr.async_channel, -1);
		cx_unpublish(hca, CX_SRQ, &srq->head);
	}
	cx_unlock(hca);
	return err;
}

/* -- queue pairs (their states are qp.c's) ----------------------------------------------------- */

static int check_qp(struct cx_hca *hca, const struct cx_qp_attr *attr)
{
	if (attr->type != IBV_QPT_RC && attr->type != IBV_QPT_UC && attr->type != IBV_QPT_UD)
		return -EOPNOTSUPP;
	if (!find_own(hca, CX_PD, attr->pdn) || !find_own(hca, CX_CQ, attr->send_cqn) ||
	    !find_own(hca, CX_CQ, attr->recv_cqn) ||
	    (attr->srqn && !find_own(hca, CX_SRQ, attr->srqn)) ||
	    !has_channel(hca, attr->async_channel, CX_EVENT_ASYNC))
		return -EINVAL;
	if (attr->sq_count_bb &&
	    (!is_power_of_two(attr->sq_count_bb) || attr->sq_count_bb > 1u << 16))
		return -EINVAL;
	if (attr->rq_count &&
	    (!is_power_of_two(attr->rq_count) || attr->rq_count > 1u << 16 ||
	     !is_power_of_two(attr->rq_stride_bytes) || attr->rq_stride_bytes < 16 ||
	     attr->rq_stride_bytes > CX_MAX_RECV_STRIDE))
		return -EINVAL;
	if (((attr->sq_count_bb || attr->rq_count) && (!attr->buf || !attr->db)) ||
	    attr->uar_page >= CX_UAR_PAGES)
		return -EINVAL;
	return 0;
}

static void count_qp(struct cx_hca *hca, const struct cx_qp_attr *attr, int change)
{
	add_user(hca, CX_PD, attr->pdn, change);
	add_user(hca, CX_CQ, attr->send_cqn, change);
	add_user(hca, CX_CQ, attr->recv_cqn, change);
	add_user(hca, CX_SRQ, attr->srqn, change);
	add_user(hca, CX_CHANNEL, attr->async_channel, change);
}

int cx_qp_create(struct cx_hca *hca, const struct cx_qp_attr *attr, uint32_t *qpn)
{
	struct cx_qp *qp = NULL;
	uint32_t number;
	int err;

	cx_lock(hca);
	err = check_qp(hca, attr);
	if (!err && !(qp = (struct cx_qp *)cx_create(hca, CX_QP, &number)))
		err = why_none(hca);
	if (!err) {
		qp->attr = *attr;
		qp->mod.qp_state = IBV_QPS_RESET;
		count_qp(hca, attr, 1);
		cx_publish(hca, CX_QP, &qp->head, number);
		*qpn = number;
	}
	cx_unlock(hca);
	return err;
}

int cx_qp_destroy(struct cx_hca *hca, uint32_t qpn)
{
	struct cx_qp *qp;

	cx_lock(hca);
	qp = (struct cx_qp *)find_own(hca, CX_QP, qpn);
	if (qp) {
		count_qp(hca, &qp->attr, -1);
		cx_unpublish(hca, CX_QP, &qp->head);
	}
	cx_unlock(hca);
	return qp ? 0 : -EINVAL;
}
