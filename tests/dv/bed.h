/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A queue whose completions come compressed, beside others that do not. Sessions are made of whole
 * CQEs, field by field; only the place of each byte in a mini CQE is from wqe/.
 */
#ifndef TESTS_DV_BED_H
#define TESTS_DV_BED_H

#include "fake.h"
#include "minis.h"

enum { REQUESTS = -1, MOST = 64 };

/* A queue that is always full of requests, or of receives; the device completes some of them. */
static struct bed {
	struct fake *f;
	struct bsn_mini_map map;
	enum bsn_mini_format format;
	bool is_request;
	uint32_t posted, completed, polled; /* numbers of the requests, which are also ids */
	uint32_t errors[4], error_count;    /* numbers of those that failed */
	uint32_t sessions;
	uint32_t imm;   /* of receives, if not 0 */
} b;

static inline void post_all(void)
{
	const struct bsn_sge sge = { 0x2000, 8, 3 };

	while (b.posted - b.polled < MOST) {
		if (b.is_request)
			ok(bsn_write(&b.f->ep, &sge, &remote, b.posted,
				     BSN_F_SIGNALED | BSN_F_RING));
		else
			ok(bsn_recv(b.f->rq, &sge, b.posted));
		b.posted++;
	}
}

/* Another bed, in place of the last one. */
static inline void make_bed(int format, uint32_t cqe_count, uint32_t stride, uint32_t spare)
{
	fake_end(&b.f);
	b = (struct bed){ .is_request = format == REQUESTS,
			  .format = format == REQUESTS ? BSN_MINI_HASH
						       : (enum bsn_mini_format)format };
	b.f = FAKE(.count_bb = MOST, .recv_count = 16 * MOST, .recv_stride = 16,
		   .cqe_count = cqe_count, .cqe_stride = stride, .spare = spare);
	bsn_mini_map_init(&b.map, b.format, b.is_request);
	bsn_cq_set_compression(b.f->cq, b.format);
}

/* -- what the device writes -------------------------------------------------------------------- */

static inline uint32_t bytes_of(uint32_t number)
{
	return number * 2654435761u % 0x7fffffff;
}

/* The whole CQE of a request, without its owner. */
static inline void encode(uint32_t number, uint8_t *cqe)
{
	memset(cqe, 0, BSN_CQE_SIZE);
	if (b.is_request)
		ENCODE(cqe_req, cqe, .byte_count = bytes_of(number),
		       .wqe_opcode = BSN_OPCODE_RDMA_WRITE, .qpn = FAKE_QPN,
		       .wqe_counter = (uint16_t)number, .opcode = BSN_CQE_REQ);
	else
		ENCODE(cqe_resp, cqe, .byte_count = bytes_of(number), .qpn = FAKE_QPN,
		       .rss_hash = b.format == BSN_MINI_HASH ? number * 77 : 0,
		       .checksum = b.format == BSN_MINI_HASH ? 0 : number * 31 & 0xffff,
		       .wqe_counter = (uint16_t)number, .imm_inval_pkey = b.imm,
		       .opcode = b.imm ? BSN_CQE_RESP_SEND_IMM : BSN_CQE_RESP_SEND);
}

static inline uint8_t *slot(uint32_t n)
{
	return cqe_at(b.f, b.f->cq_pi + n);
}

static inline uint8_t owner(void)
{
	return b.f->cq_pi / dv_cq(b.f->cq)->cqe_count % 2;
}

static inline void complete_plain(void)
{
	uint8_t *cqe = slot(0), bytes[BSN_CQE_SIZE];

	encode(b.completed++, bytes);
	memcpy(cqe, bytes, sizeof(bytes));
	cqe[BSN_CQE_OP_OWN_OFFSET] |= owner();
	b.f->cq_pi++;
}

static inline void complete_error(void)
{
	ENCODE(cqe_err, slot(0), .qpn = FAKE_QPN,
	       .opcode = b.is_request ? BSN_CQE_REQ_ERR : BSN_CQE_RESP_ERR,
	       .wqe_opcode = BSN_OPCODE_RDMA_WRITE, .syndrome = BSN_SYNDROME_LOCAL_PROTECTION,
	       .wqe_counter = (uint16_t)b.completed, .owner = owner());
	b.errors[b.error_count++ % 4] = b.completed++;
	b.f->cq_pi++;
}

/* Slot 0 has the title; 1, 8, 16, … have eight mini CQEs each. The others are of another lap. */
static inline void complete_session(uint32_t count)
{
	uint8_t title[BSN_CQE_SIZE], cqe[BSN_CQE_SIZE], arrays[MOST / 8][BSN_CQE_SIZE];
	struct bsn_cqe_tail tail;

	if (count < 2) {
		if (count)
			complete_plain();
		return;
	}
	memset(arrays, 0x5a, sizeof(arrays));
	encode(b.completed, title);
	for (uint32_t i = 0; i < count; i++) {
		encode(b.completed + i, cqe);
		bsn_mini_take(&b.map, cqe, arrays[i / 8] + i % 8 * BSN_MINI_SIZE);
	}
	for (uint32_t i = 0; i < (count + 7) / 8; i++)
		memcpy(slot(i ? 8 * i : 1), arrays[i], BSN_CQE_SIZE);
	bsn_row_put(bsn_row_find(&bsn_cqe_resp_desc, "byte_count"), title, count);
	bsn_cqe_tail_decode(&tail, title + BSN_CQE_TAIL_OFFSET);
	tail.format = BSN_CQE_COMPRESSED;
	tail.owner = owner();
	bsn_cqe_tail_encode(title + BSN_CQE_TAIL_OFFSET, &tail);
	memcpy(slot(0), title, BSN_CQE_SIZE);
	b.completed += count;
	b.f->cq_pi += count;
	b.sessions++;
}

/* -- what the poller makes of it --------------------------------------------------------------- */

static inline bool failed(uint32_t number)
{
	for (uint32_t i = 0; i < 4 && i < b.error_count; i++)
		if (b.errors[i] == number)
			return true;
	return false;
}

static inline void check_one(const struct bsn_completion *c)
{
	const uint32_t number = b.polled++;

	if (c->id != number || c->qpn != FAKE_QPN || c->user != dv_sq(b.f->sq)->route.hot.user ||
	    c->opcode != (b.is_request ? (int)BSN_OPCODE_RDMA_WRITE : (int)BSN_RECV) ||
	    c->status != (failed(number) ? IBV_WC_LOC_PROT_ERR : IBV_WC_SUCCESS) ||
	    (c->status == IBV_WC_SUCCESS &&
	     (c->byte_len != bytes_of(number) || c->flags != (b.imm ? BSN_C_IMM : 0) ||
	      (b.imm && c->imm != b.imm))))
		fail_msg("number %u: id %u status %u opcode %#x bytes %#x, wanted %#x", number,
			 (unsigned)c->id, c->status, c->opcode, c->byte_len, bytes_of(number));
}

static inline void poll_all(int at_once)
{
	struct bsn_completion c[MOST];
	int n;

	do {
		n = fake_poll(b.f, c, at_once);
		if (n < 0)
			fail_msg("poll: %d", n);
		for (int i = 0; i < n; i++)
			check_one(&c[i]);
	} while (n);
	assert_int_equal(b.polled, b.completed);
}


#endif
