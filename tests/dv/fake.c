/* SPDX-License-Identifier: BSD-2-Clause */
/* Queues in plain memory. */
#include "fake.h"

#define RECORD_CQ 8

const struct bsn_remote remote = { 0x1122334455667788, 0x99aabbcc };

static uint32_t value_or(uint32_t value, uint32_t otherwise)
{
	return value ? value : otherwise;
}

static uint8_t *poisoned(size_t bytes)
{
	uint8_t *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);

	assert_non_null(memory);
	memset(memory, FAKE_POISON, bytes);
	return memory;
}

static void make_lane(struct fake *f, const struct fake_attr *attr)
{
	f->page = poisoned(FAKE_PAGE);
	f->lane.hot.reg = f->page + BSN_UAR_BF_OFFSET;
	f->lane.hot.toggle = FAKE_BF_BYTES;
	f->lane.blueflame_bytes = attr->no_blueflame ? 0 : FAKE_BF_BYTES;
	if (!attr->locked)
		return;
	pthread_spin_init(&f->lock, PTHREAD_PROCESS_PRIVATE);
	f->lane.lock = (void *)&f->lock;
}

static void make_sq(struct fake *f, const struct fake_attr *attr)
{
	struct bsn_sq_init init = {
		.record = &f->record[BSN_DBR_SEND_OFFSET / 4],
		.lane = &f->lane.hot,
		.count_bb = value_or(attr->count_bb, 16),
		.max_inline = value_or(attr->max_inline, 220),
		.max_sge = value_or(attr->max_sge, 14),
		.max_ds = value_or(attr->max_ds, 16),
		.qpn = FAKE_QPN,
		.transport = attr->transport,
		.store = attr->store ? attr->store : BSN_STORE_8,
		.ce_quiet = attr->ce_quiet,
		.signal_every = attr->signal_every ? attr->signal_every : -1,
		.has_peers = attr->has_peers,
		.has_atomics = !attr->no_atomics,
	};

	f->sq_bytes = (size_t)init.count_bb * BSN_BB_SIZE;
	f->sq_ring = poisoned(f->sq_bytes);
	init.ring = f->sq_ring;
	init.capacity_bb = value_or(attr->capacity_bb, init.count_bb);
	f->sq = bsn_sq_alloc(&init);
	assert_non_null(f->sq);
	dv_sq(f->sq)->route.hot.user = f;
	f->ep.sq = f->sq;
}

static void link_srq(struct fake *f, uint32_t count, uint32_t stride)
{
	for (uint32_t i = 0; i < count; i++) {
		ENCODE(srq_next, f->rq_ring + (size_t)i * stride,
		       .next_wqe_index = (i + 1) % count);
	}
}

static void make_rq(struct fake *f, const struct fake_attr *attr)
{
	struct bsn_rq_init init = {
		.record = &f->record[BSN_DBR_RECV_OFFSET / 4],
		.count = value_or(attr->recv_count, 16),
		.stride_bytes = value_or(attr->recv_stride, 64),
		.is_on_demand = attr->is_on_demand,
	};

	f->rq_bytes = (size_t)init.count * init.stride_bytes;
	f->rq_ring = poisoned(f->rq_bytes);
	init.ring = f->rq_ring;
	init.capacity = value_or(attr->recv_capacity, init.count);
	init.last_free = (uint16_t)value_or(attr->recv_capacity, init.count - 1);
	if (attr->is_srq)
		link_srq(f, init.count, init.stride_bytes);
	f->rq = attr->is_srq ? bsn_srq_alloc(&init) : bsn_rq_alloc(&init);
	assert_non_null(f->rq);
	dv_sq(f->sq)->route.hot.rq = f->rq;
}

static void make_cq(struct fake *f, const struct fake_attr *attr)
{
	struct bsn_cq_init init = {
		.record = &f->record[RECORD_CQ],
		.arm_reg = f->page + BSN_UAR_CQ_ARM_OFFSET,
		.count = value_or(attr->cqe_count, 64),
		.stride_bytes = value_or(attr->cqe_stride, BSN_CQE_SIZE),
		.spare = attr->spare,
		.cqn = FAKE_CQN,
	};

	f->cq_bytes = (size_t)init.count * init.stride_bytes;
	f->cq_ring = poisoned(f->cq_bytes);
	init.ring = f->cq_ring;
	f->cq = aligned_alloc(64, sizeof(struct dv_cq));
	assert_non_null(f->cq);
	memset(f->cq, 0, sizeof(struct dv_cq));
	bsn_cq_init(f->cq, &init);
	ok(bsn_cq_add(f->cq, FAKE_QPN, &dv_sq(f->sq)->route.hot));
}

struct fake *fake_create(const struct fake_attr *attr)
{
	static const struct fake_attr plain;
	struct fake *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	attr = attr ? attr : &plain;
	make_lane(f, attr);
	make_sq(f, attr);
	if (!attr->no_recv)
		make_rq(f, attr);
	make_cq(f, attr);
	return f;
}

void fake_destroy(struct fake *f)
{
	bsn_cq_fini(f->cq);
	free(f->cq);
	bsn_rq_free(f->rq);
	bsn_sq_free(f->sq);
	free(f->sq_ring);
	free(f->rq_ring);
	free(f->cq_ring);
	free(f->page);
	free(f);
}

void fake_end(struct fake **f)
{
	if (*f)
		fake_destroy(*f);
}

uint8_t *fake_buffer(const struct fake *f, unsigned which)
{
	return f->page + BSN_UAR_BF_OFFSET + which * FAKE_BF_BYTES;
}

static uint32_t record_of(const struct fake *f, unsigned word)
{
	return bsn_load_be32(&f->record[word]);
}

uint32_t fake_send_record(const struct fake *f)
{
	return record_of(f, BSN_DBR_SEND_OFFSET / 4);
}

uint32_t fake_recv_record(const struct fake *f)
{
	return record_of(f, BSN_DBR_RECV_OFFSET / 4);
}

uint32_t fake_cq_ci(const struct fake *f)
{
	return record_of(f, RECORD_CQ + BSN_DBR_CQ_CI_OFFSET / 4);
}

void fake_seek(struct fake *f, uint32_t pi)
{
	ENCODE(dbr_wq, &f->record[BSN_DBR_SEND_OFFSET / 4], .index = pi);
	f->sq->pi = dv_sq(f->sq)->retired = (uint16_t)pi;
	f->sq->slot = dv_sq(f->sq)->ring + (size_t)(pi & dv_sq(f->sq)->bb_mask) * BSN_BB_SIZE;
	dv_sq(f->sq)->route.hot.done = dv_sq(f->sq)->seen_done = (uint16_t)(pi - 1);
	f->sq->publish &= (uint8_t)~BSN_PUBLISH_APPENDED;
	bsn_sq_open(f->sq);
}

uint8_t *fake_next_cqe(const struct fake *f)
{
	return cqe_at(f, f->cq_pi);
}

void fake_produce(struct fake *f, const struct bsn_cqe_tail *tail)
{
	struct bsn_cqe_tail own = *tail;

	own.owner = f->cq_pi / dv_cq(f->cq)->cqe_count % 2;
	bsn_cqe_tail_encode(fake_next_cqe(f) + BSN_CQE_TAIL_OFFSET, &own);
	f->cq_pi++;
}

/* The tail comes last, as it does from a device. */
#define PRODUCE(f, view, cqe)                                                                      \
	do {                                                                                       \
		const struct bsn_cqe_tail tail = {                                                 \
			(cqe).wqe_counter, (cqe).signature, (cqe).opcode,                          \
			(cqe).format,      (cqe).solicited, 0                                      \
		};                                                                                 \
		uint8_t bytes[BSN_CQE_SIZE];                                                       \
		bsn_##view##_encode(bytes, &(cqe));                                                \
		memcpy(fake_next_cqe(f), bytes, BSN_CQE_TAIL_OFFSET);                              \
		fake_produce(f, &tail);                                                            \
	} while (0)

void fake_cqe_req(struct fake *f, struct bsn_cqe_req cqe)
{
	PRODUCE(f, cqe_req, cqe);
}

void fake_cqe_resp(struct fake *f, struct bsn_cqe_resp cqe)
{
	PRODUCE(f, cqe_resp, cqe);
}

void fake_cqe_err(struct fake *f, struct bsn_cqe_err cqe)
{
	PRODUCE(f, cqe_err, cqe);
}

void fake_done(struct fake *f, uint32_t wqe_index, uint32_t wqe_opcode)
{
	fake_req(f, .wqe_counter = wqe_index, .wqe_opcode = wqe_opcode, .opcode = BSN_CQE_REQ);
}
