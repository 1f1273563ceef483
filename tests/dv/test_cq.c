/* SPDX-License-Identifier: BSD-2-Clause */
/* What polling makes of CQEs: laps, chunks, the table of queues, every view, every refusal. */
#include "../wqe/random.h"
#include "fake.h"

#define QPN_OTHER (FAKE_QPN + 0x10000)

static const struct bsn_remote remote = { 0x1000, 2 };
static struct bsn_completion out[64];

static void post_write(struct fake *f, uint64_t id)
{
	const struct bsn_sge sge = { 0x2000, 8, 3 };

	assert_int_equal(bsn_write(&f->ep, &sge, &remote, id, BSN_F_SIGNALED | BSN_F_RING), 0);
}

/* -- laps and chunks -------------------------------------------------------------------------------- */

/* The device wrote @written CQEs, @polled of them were polled: what the consumer record may say. */
static void assert_record(const struct fake *f, uint32_t polled)
{
	const uint32_t ci = fake_cq_ci(f);

	assert_int_equal(ci % f->cq->chunk, 0);
	assert_int_equal(ci, (polled - polled % f->cq->chunk) & 0xffffff);
}

static void go_round(uint32_t count, uint32_t stride, uint32_t spare, uint32_t chunk, int at_once)
{
	const struct fake_attr attr = { .cqe_count = count, .cqe_stride = stride, .spare = spare };
	struct fake *f = fake_create(&attr);
	uint32_t done = 0;

	assert_int_equal(f->cq->chunk, chunk);
	assert_int_equal(bsn_poll(f->cq, out, at_once), 0);
	while (done < 9 * count + 3) {
		const uint32_t burst = done % (count - (chunk > 1 ? chunk : 0)) % 13 + 1;
		const uint32_t first = f->sq->pi;
		uint32_t got = 0;

		for (uint32_t i = 0; i < burst; i++)
			post_write(f, 1000 + first + i);
		for (uint32_t i = 0; i < burst; i++)
			fake_done(f, first + i, BSN_OPCODE_RDMA_WRITE);
		while (got < burst) {
			const int n = bsn_poll(f->cq, out, at_once);
			assert_true(n > 0);
			for (int i = 0; i < n; i++, got++) {
				assert_int_equal(out[i].id, 1000 + first + got);
				assert_int_equal(out[i].opcode, BSN_OPCODE_RDMA_WRITE);
				assert_int_equal(out[i].status, IBV_WC_SUCCESS);
				assert_int_equal(out[i].flags, 0);
				assert_ptr_equal(out[i].user, f->sq->user);
			}
			assert_record(f, done + got);
		}
		done += burst;
		assert_int_equal(bsn_poll(f->cq, out, at_once), 0);
		assert_int_equal(f->cq->next - f->cq->ring, (int)(done % count * stride));
	}
	fake_destroy(f);
}

static void laps_of_every_shape(void **state)
{
	(void)state;
	for (int at_once = 1; at_once <= 20; at_once += at_once < 3 ? 1 : 17)
		for (uint32_t stride = 64; stride <= 128; stride += 64) {
			go_round(16, stride, 0, 1, at_once);
			go_round(16, stride, 1, 1, at_once);
			go_round(64, stride, 2, 2, at_once);
			go_round(64, stride, 13, 8, at_once);
			go_round(64, stride, 16, 16, at_once);
			go_round(64, stride, 63, 16, at_once); /* a quarter of the ring at most */
			go_round(256, stride, 64, 64, at_once);
		}
}

/* CQEs of an earlier lap are not ours, whatever they say. */
static void what_a_lap_left_is_not_polled(void **state)
{
	const struct fake_attr attr = { .cqe_count = 8 };
	struct fake *f = fake_create(&attr);

	(void)state;
	for (uint32_t i = 0; i < 100; i++) {
		post_write(f, i);
		fake_done(f, i, BSN_OPCODE_RDMA_WRITE);
		assert_int_equal(bsn_poll(f->cq, out, 8), 1);
		assert_int_equal(bsn_poll(f->cq, out, 8), 0);
	}
	fake_destroy(f);
}

/* -- the table of queues ----------------------------------------------------------------------------- */

static void done_of(struct fake *f, uint32_t qpn)
{
	fake_cqe_req(f, (struct bsn_cqe_req){ .qpn = qpn, .opcode = BSN_CQE_REQ });
}

static void unknown_queues_are_counted(void **state)
{
	struct fake *f = fake_create(NULL);
	static const uint32_t strangers[] = { 0, 1, FAKE_QPN - 1, QPN_OTHER, 0xffffff };

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		done_of(f, strangers[i]);
	fake_cqe_err(f, (struct bsn_cqe_err){ .qpn = QPN_OTHER, .opcode = BSN_CQE_REQ_ERR });
	fake_cqe_resp(f, (struct bsn_cqe_resp){ .qpn = 0, .opcode = BSN_CQE_RESP_SEND });
	done_of(f, FAKE_QPN);
	assert_int_equal(bsn_poll(f->cq, out, 8), 1);
	assert_int_equal(f->cq->count_dropped, 7);
	fake_destroy(f);
}

/* A CQ that no queue was added to, or none any more. */
static void a_cq_without_queues_drops(void **state)
{
	struct fake *f = fake_create(NULL);
	struct bsn_cq_init init = {
		.ring = f->cq_ring, .record = f->cq->record, .count = 64, .stride_bytes = 64
	};
	struct bsn_cq *cq = f->cq;

	(void)state;
	bsn_cq_remove(cq, FAKE_QPN);
	done_of(f, FAKE_QPN);
	assert_int_equal(bsn_poll(cq, out, 8), 0);
	assert_int_equal(cq->count_dropped, 1);
	bsn_cq_fini(cq);
	memset(cq, 0, sizeof(*cq));
	bsn_cq_init(cq, &init);
	f->cq_pi = 0;
	bsn_cq_remove(cq, FAKE_QPN);
	for (uint32_t i = 0; i < 100; i++) {
		done_of(f, i % 2 ? FAKE_QPN : 0);
		assert_int_equal(bsn_poll(cq, out, 8), 0);
		assert_int_equal(cq->count_dropped, i + 1);
	}
	assert_int_equal(bsn_cq_add(cq, FAKE_QPN, f->sq), 0);
	done_of(f, FAKE_QPN);
	assert_int_equal(bsn_poll(cq, out, 8), 1);
	fake_destroy(f);
}

#define MANY 100

/* All want the same slot. */
static uint32_t colliding(uint32_t i)
{
	return FAKE_QPN + (i + 1) * 0x10000;
}

/* Each number finds its queue while others are gone; who comes back needs no memory. */
static void colliding_numbers_find_their_queues(void **state)
{
	struct fake *f = fake_create(NULL), *many[MANY];
	char user[MANY];

	(void)state;
	for (uint32_t i = 0; i < MANY; i++) {
		many[i] = fake_create(NULL);
		many[i]->sq->user = &user[i];
		assert_int_equal(bsn_cq_add(f->cq, colliding(i), many[i]->sq), 0);
	}
	for (uint32_t round = 0; round < 30; round++) {
		const struct bsn_cq_slot *slots = f->cq->slots;

		for (uint32_t i = round % 10; i < MANY; i += 10)
			bsn_cq_remove(f->cq, colliding(i));
		for (uint32_t i = 0; i < MANY; i++) {
			const uint64_t dropped = f->cq->count_dropped;
			const bool gone = i % 10 == round % 10;

			done_of(f, colliding(i));
			assert_int_equal(bsn_poll(f->cq, out, 8), !gone);
			assert_int_equal(f->cq->count_dropped, dropped + gone);
			if (!gone)
				assert_ptr_equal(out[0].user, &user[i]);
		}
		for (uint32_t i = round % 10; i < MANY; i += 10)
			assert_int_equal(bsn_cq_add(f->cq, colliding(i), many[i]->sq), 0);
		assert_ptr_equal(f->cq->slots, slots);
	}
	for (uint32_t i = 0; i < MANY; i++)
		fake_destroy(many[i]);
	fake_destroy(f);
}

/* What was removed leaves nothing behind: neither slots, nor memory, nor a wrong match. */
static void the_table_stays_small(void **state)
{
	struct fake *f = fake_create(NULL);

	(void)state;
	for (uint32_t i = 1; i < 100000; i++) {
		assert_int_equal(bsn_cq_add(f->cq, i * 7 & 0xffffff, f->sq), 0);
		if (i % 1000 == 0) {
			done_of(f, i * 7 & 0xffffff);
			done_of(f, (i - 1) * 7 & 0xffffff);
			assert_int_equal(bsn_poll(f->cq, out, 8), 1);
		}
		bsn_cq_remove(f->cq, i * 7 & 0xffffff);
	}
	assert_true(f->cq->slot_mask < 64);
	done_of(f, FAKE_QPN);
	assert_int_equal(bsn_poll(f->cq, out, 8), 1);
	fake_destroy(f);
}

/* CQEs of a queue that went are not given to the next one of its number, wherever they stand. */
static void a_recycled_number_does_not_inherit(void **state)
{
	const struct fake_attr attr = { .cqe_count = 16 };

	(void)state;
	for (uint32_t start = 0; start < 32; start++) {
		struct fake *f = fake_create(&attr), *other = fake_create(NULL);

		assert_int_equal(bsn_cq_add(f->cq, QPN_OTHER, other->sq), 0);
		for (uint32_t i = 0; i < start; i++) {
			done_of(f, QPN_OTHER);
			assert_int_equal(bsn_poll(f->cq, out, 1), 1);
		}
		for (uint32_t i = 0; i < 15; i++)
			if (i % 3 == 0)
				done_of(f, QPN_OTHER);
			else if (i % 3 == 1)
				done_of(f, FAKE_QPN);
			else
				fake_cqe_err(f, (struct bsn_cqe_err){ .qpn = FAKE_QPN,
								      .opcode = BSN_CQE_RESP_ERR });
		bsn_cq_remove(f->cq, FAKE_QPN);
		assert_int_equal(bsn_cq_add(f->cq, FAKE_QPN, f->sq), 0);
		assert_int_equal(bsn_poll(f->cq, out, 16), 5);
		for (uint32_t i = 0; i < 5; i++)
			assert_ptr_equal(out[i].user, other->sq->user);
		assert_int_equal(f->cq->count_dropped, 10);
		fake_destroy(f);
		fake_destroy(other);
	}
}

/* -- receives ----------------------------------------------------------------------------------------- */

static void post_recvs(struct fake *f, uint32_t count)
{
	const struct bsn_sge sge = { 0x1000, 64, 1 };

	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(bsn_recv(f->rq, &sge, 500 + i), 0);
}

static void every_kind_of_receive(void **state)
{
	static const struct {
		uint32_t cqe;
		unsigned opcode, flags;
	} kinds[] = {
		{ BSN_CQE_RESP_SEND, BSN_RECV, 0 },
		{ BSN_CQE_RESP_SEND_IMM, BSN_RECV, BSN_C_IMM },
		{ BSN_CQE_RESP_SEND_INV, BSN_RECV, BSN_C_INVAL },
		{ BSN_CQE_RESP_WR_IMM, BSN_RECV_RDMA_WITH_IMM, BSN_C_IMM },
	};

	(void)state;
	for (int ud = 0; ud < 2; ud++)
		for (uint32_t grh = 0; grh < 2; grh++) {
			const struct fake_attr attr = { .transport = ud ? BSN_TRANSPORT_UD
									: BSN_TRANSPORT_RC };
			struct fake *f = fake_create(&attr);

			post_recvs(f, 4);
			for (unsigned i = 0; i < 4; i++)
				fake_cqe_resp(f,
					      (struct bsn_cqe_resp){ .qpn = FAKE_QPN,
								     .opcode = kinds[i].cqe,
								     .byte_count = 10 + i,
								     .imm_inval_pkey = 0xabc0 + i,
								     .rqpn = 0x999,
								     .grh = grh,
								     .wqe_counter = i });
			assert_int_equal(bsn_poll(f->cq, out, 8), 4);
			for (unsigned i = 0; i < 4; i++) {
				assert_int_equal(out[i].id, 500 + i);
				assert_ptr_equal(out[i].user, f->rq->user);
				assert_int_equal(out[i].status, IBV_WC_SUCCESS);
				assert_int_equal(out[i].opcode, kinds[i].opcode);
				assert_int_equal(out[i].flags,
						 kinds[i].flags | (ud && grh ? BSN_C_GRH : 0));
				assert_int_equal(out[i].byte_len, 10 + i);
				assert_int_equal(out[i].imm, 0xabc0 + i);
				assert_int_equal(out[i].qpn, FAKE_QPN);
				assert_int_equal(out[i].src_qpn, 0x999);
			}
			assert_int_equal(f->rq->tail, 4);
			fake_destroy(f);
		}
}

/* An SRQ's CQEs name their WQEs, and come in any order; the user is the QP's. */
static void shared_receives_come_in_any_order(void **state)
{
	const struct fake_attr attr = { .is_srq = true, .recv_count = 8 };
	struct fake *f = fake_create(&attr);

	(void)state;
	post_recvs(f, 7);
	for (unsigned i = 0; i < 7; i++)
		fake_cqe_resp(f, (struct bsn_cqe_resp){ .qpn = FAKE_QPN,
							.opcode = BSN_CQE_RESP_SEND,
							.wqe_counter = i * 3 % 7 });
	assert_int_equal(bsn_poll(f->cq, out, 8), 7);
	for (unsigned i = 0; i < 7; i++) {
		assert_int_equal(out[i].id, 500 + i * 3 % 7);
		assert_ptr_equal(out[i].user, f->sq->user);
	}
	post_recvs(f, 7);
	fake_destroy(f);
}

/* -- data inside CQEs --------------------------------------------------------------------------------- */

static uint8_t sink[4][64];

static const uint8_t *expected_bytes(unsigned seed)
{
	static uint8_t bytes[64];

	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(seed + i * 5 + 1);
	return bytes;
}

/* Where the device puts the data: before the CQE proper, or at its start. */
static void fill_inline(struct fake *f, uint32_t format, uint32_t length, const uint8_t *bytes)
{
	const uint32_t at = (f->cq_pi - 1) % f->cq->cqe_count;
	uint8_t *cqe = (uint8_t *)(uintptr_t)f->cq->ring + at * f->cq->stride;

	memcpy(format == BSN_CQE_INLINE_64 ? cqe - 64 : cqe, bytes, length);
}

/* Three pieces of memory of 5, 20 and 39 bytes: 64 in all. */
static const struct bsn_sge *pieces(void)
{
	static struct bsn_sge sge[3];

	sge[0] = (struct bsn_sge){ (uintptr_t)sink[0], 5, 1 };
	sge[1] = (struct bsn_sge){ (uintptr_t)sink[1], 20, 1 };
	sge[2] = (struct bsn_sge){ (uintptr_t)sink[2], 39, 1 };
	memset(sink, FAKE_POISON, sizeof(sink));
	return sge;
}

static void assert_scattered(const uint8_t *bytes, uint32_t length)
{
	static const uint32_t sizes[] = { 5, 20, 39 };

	for (unsigned i = 0; i < 3; i++) {
		const uint32_t n = length < sizes[i] ? length : sizes[i];
		assert_memory_equal(sink[i], bytes, n);
		assert_int_equal(sink[i][n], FAKE_POISON);
		bytes += n;
		length -= n;
	}
}

static void inline_to_receive(uint32_t stride, uint32_t format, uint32_t max, bool is_srq)
{
	const struct fake_attr attr = { .cqe_stride = stride, .is_srq = is_srq };
	struct fake *f = fake_create(&attr);

	for (uint32_t length = 0; length <= max; length++) {
		const uint16_t slot = is_srq ? f->rq->srq_free_head : (uint16_t)f->rq->head;
		const uint8_t *bytes = expected_bytes(length);

		assert_int_equal(bsn_recv_sgl(f->rq, pieces(), 3, length), 0);
		fake_cqe_resp(f, (struct bsn_cqe_resp){ .qpn = FAKE_QPN,
							.opcode = BSN_CQE_RESP_SEND,
							.format = format,
							.wqe_counter = slot,
							.byte_count = length });
		fill_inline(f, format, length, bytes);
		assert_int_equal(bsn_poll(f->cq, out, 8), 1);
		assert_int_equal(out[0].id, length);
		assert_int_equal(out[0].byte_len, length);
		assert_int_equal(out[0].flags, 0);
		assert_scattered(bytes, length);
	}
	fake_destroy(f);
}

static void inline_data_go_where_the_receive_says(void **state)
{
	(void)state;
	for (int is_srq = 0; is_srq < 2; is_srq++) {
		inline_to_receive(64, BSN_CQE_INLINE_32, 32, is_srq);
		inline_to_receive(128, BSN_CQE_INLINE_32, 32, is_srq);
		inline_to_receive(128, BSN_CQE_INLINE_64, 64, is_srq);
	}
}

static void inline_data_are_handed_out_where_wanted(void **state)
{
	const struct fake_attr attr = { .cqe_stride = 128 };
	struct fake *f = fake_create(&attr);

	(void)state;
	f->rq->gives_inline = 1;
	for (uint32_t i = 0; i < 200; i++) {
		const uint32_t format = i % 2 ? BSN_CQE_INLINE_64 : BSN_CQE_INLINE_32;
		const uint32_t length = i % 2 ? 64 : 32;

		assert_int_equal(bsn_recv_sgl(f->rq, pieces(), 3, i), 0);
		fake_cqe_resp(f, (struct bsn_cqe_resp){ .qpn = FAKE_QPN,
							.opcode = BSN_CQE_RESP_SEND_IMM,
							.format = format,
							.byte_count = length });
		fill_inline(f, format, length, expected_bytes(i));
		assert_int_equal(bsn_poll(f->cq, out, 8), 1);
		assert_int_equal(out[0].flags, BSN_C_IMM | BSN_C_DATA);
		assert_memory_equal(out[0].data, expected_bytes(i), length);
		assert_int_equal(sink[0][0], FAKE_POISON);
	}
	fake_destroy(f);
}

/* READs of several blocks, at every position of the ring, behind a prefix of DC as well. */
static void inline_data_go_where_the_read_says(void **state)
{
	(void)state;
	for (int dc = 0; dc < 2; dc++) {
		const struct fake_attr attr = {
			.cqe_stride = 128,
			.transport = dc ? BSN_TRANSPORT_DC : BSN_TRANSPORT_RC,
		};
		const struct bsn_av_dc_grh av = { .ext = 1, .dqpn = 5 };
		uint8_t prefix[BSN_AV_DC_GRH_SIZE];
		struct fake *f = fake_create(&attr);

		bsn_av_dc_grh_encode(prefix, &av);
		if (dc) {
			f->ep.prefix = prefix;
			f->ep.prefix_ds = BSN_AV_DC_GRH_SIZE / BSN_DS_SIZE;
		}
		for (uint32_t length = 0; length <= 64; length++) {
			const uint32_t format =
				length % 2 && length <= 32 ? BSN_CQE_INLINE_32 : BSN_CQE_INLINE_64;
			const struct bsn_wr wr = { .id = length,
						   .sge = pieces(),
						   .sge_count = 3,
						   .remote = remote,
						   .opcode = BSN_OPCODE_RDMA_READ,
						   .flags = BSN_F_SIGNALED | BSN_F_RING };
			const uint32_t pi = f->sq->pi;

			assert_int_equal(bsn_post(&f->ep, &wr), 0);
			fake_cqe_req(f, (struct bsn_cqe_req){ .qpn = FAKE_QPN,
							      .opcode = BSN_CQE_REQ,
							      .wqe_opcode = wr.opcode,
							      .format = format,
							      .wqe_counter = pi,
							      .byte_count = length });
			fill_inline(f, format, length, expected_bytes(length));
			assert_int_equal(bsn_poll(f->cq, out, 8), 1);
			assert_int_equal(out[0].id, length);
			assert_int_equal(out[0].byte_len, length);
			assert_scattered(expected_bytes(length), length);
		}
		fake_destroy(f);
	}
}

static void inline_results_of_atomics(void **state)
{
	const struct bsn_sge sge = { (uintptr_t)sink[3], 8, 1 };
	struct fake *f = fake_create(NULL);

	(void)state;
	for (uint32_t i = 0; i < 20; i++) {
		memset(sink, FAKE_POISON, sizeof(sink));
		assert_int_equal(bsn_fetch_add(&f->ep, &sge, &remote, 1, i, BSN_F_SIGNALED), 0);
		fake_cqe_req(f, (struct bsn_cqe_req){ .qpn = FAKE_QPN,
						      .wqe_opcode = BSN_OPCODE_ATOMIC_FA,
						      .format = BSN_CQE_INLINE_32,
						      .wqe_counter = i,
						      .byte_count = 8 });
		fill_inline(f, BSN_CQE_INLINE_32, 8, expected_bytes(i));
		assert_int_equal(bsn_poll(f->cq, out, 8), 1);
		assert_memory_equal(sink[3], expected_bytes(i), 8);
		assert_int_equal(sink[3][8], FAKE_POISON);
	}
	fake_destroy(f);
}

/* A WRITE has no result, so whatever its CQE holds must not go into what it sent. */
static void a_request_without_result_takes_none(void **state)
{
	const struct bsn_sge sge = { (uintptr_t)sink[0], 64, 1 };
	struct fake *f = fake_create(NULL);

	(void)state;
	memset(sink, FAKE_POISON, sizeof(sink));
	assert_int_equal(bsn_write(&f->ep, &sge, &remote, 7, BSN_F_SIGNALED), 0);
	fake_cqe_req(f, (struct bsn_cqe_req){
				.qpn = FAKE_QPN, .format = BSN_CQE_INLINE_32, .byte_count = 32 });
	assert_int_equal(bsn_poll(f->cq, out, 8), 1);
	assert_int_equal(out[0].id, 7);
	for (unsigned i = 0; i < 64; i++)
		assert_int_equal(sink[0][i], FAKE_POISON);
	fake_destroy(f);
}

/* -- errors ------------------------------------------------------------------------------------------- */

static uint8_t expected_status(unsigned syndrome)
{
	switch (syndrome) { /* libmlx5's own table: rdma-core providers/mlx5/cq.c */
	case 0x01:
		return IBV_WC_LOC_LEN_ERR;
	case 0x02:
		return IBV_WC_LOC_QP_OP_ERR;
	case 0x04:
		return IBV_WC_LOC_PROT_ERR;
	case 0x05:
		return IBV_WC_WR_FLUSH_ERR;
	case 0x06:
		return IBV_WC_MW_BIND_ERR;
	case 0x10:
		return IBV_WC_BAD_RESP_ERR;
	case 0x11:
		return IBV_WC_LOC_ACCESS_ERR;
	case 0x12:
		return IBV_WC_REM_INV_REQ_ERR;
	case 0x13:
		return IBV_WC_REM_ACCESS_ERR;
	case 0x14:
		return IBV_WC_REM_OP_ERR;
	case 0x15:
		return IBV_WC_RETRY_EXC_ERR;
	case 0x16:
		return IBV_WC_RNR_RETRY_EXC_ERR;
	case 0x22:
		return IBV_WC_REM_ABORT_ERR;
	default:
		return IBV_WC_GENERAL_ERR;
	}
}

static void every_syndrome_has_its_status(void **state)
{
	struct bsn_completion first = { 0 };
	struct fake *f = fake_create(NULL);

	(void)state;
	f->sq->first_error = &first;
	for (unsigned syndrome = 0; syndrome < 256; syndrome++)
		for (int recv = 0; recv < 2; recv++) {
			const uint32_t pi = f->sq->pi;

			if (recv)
				post_recvs(f, 1);
			else
				post_write(f, 70 + syndrome);
			fake_cqe_err(f, (struct bsn_cqe_err){ .qpn = FAKE_QPN,
							      .opcode = recv ? BSN_CQE_RESP_ERR
									     : BSN_CQE_REQ_ERR,
							      .syndrome = syndrome,
							      .vendor_syndrome = 0x81,
							      .hw_syndrome = 0x42,
							      .wqe_opcode = BSN_OPCODE_RDMA_WRITE,
							      .wqe_counter = pi });
			assert_int_equal(bsn_poll(f->cq, out, 8), 1);
			assert_int_equal(out[0].status, expected_status(syndrome));
			assert_int_equal(out[0].syndrome, syndrome);
			assert_int_equal(out[0].vendor_syndrome, 0x81);
			assert_int_equal(out[0].hw_syndrome, 0x42);
			assert_int_equal(out[0].id, recv ? 500 : 70 + syndrome);
			assert_int_equal(out[0].opcode, recv ? BSN_RECV : BSN_OPCODE_RDMA_WRITE);
			assert_ptr_equal(out[0].user, recv ? f->rq->user : f->sq->user);
			assert_int_equal(out[0].qpn, FAKE_QPN);
		}
	assert_int_equal(first.id, 70);
	assert_int_equal(first.status, IBV_WC_GENERAL_ERR);
	fake_destroy(f);
}

/* Unsignaled work that reports only the first error is flushed by software, in order. */
static void silent_work_is_given_back(void **state)
{
	const struct fake_attr attr = { .ce_quiet = BSN_CE_ON_FIRST_ERROR };
	const struct bsn_sge sge = { 0x2000, 8, 3 };
	struct fake *f = fake_create(&attr);
	int n;

	(void)state;
	for (uint64_t i = 0; i < 10; i++)
		assert_int_equal(bsn_write(&f->ep, &sge, &remote, i, i == 5 ? BSN_F_SIGNALED : 0),
				 0);
	fake_cqe_err(f, (struct bsn_cqe_err){ .qpn = FAKE_QPN,
					      .opcode = BSN_CQE_REQ_ERR,
					      .syndrome = BSN_SYNDROME_REMOTE_ACCESS,
					      .wqe_counter = 2 });
	fake_cqe_err(f, (struct bsn_cqe_err){ .qpn = FAKE_QPN,
					      .opcode = BSN_CQE_REQ_ERR,
					      .syndrome = BSN_SYNDROME_FLUSHED,
					      .wqe_counter = 5 });
	for (uint64_t id = 2; id <= 5; id++) {
		assert_int_equal(bsn_poll(f->cq, out, 1), 1);
		assert_int_equal(out[0].id, id);
		assert_int_equal(out[0].status,
				 id == 2 ? IBV_WC_REM_ACCESS_ERR : IBV_WC_WR_FLUSH_ERR);
	}
	assert_int_equal(bsn_poll(f->cq, out, 8), 0);
	n = bsn_sq_give_back(f->sq, out, 8);
	assert_int_equal(n, 4);
	for (int i = 0; i < n; i++)
		assert_int_equal(out[i].id, 6 + i);
	assert_int_equal(bsn_sq_give_back(f->sq, out, 8), 0);
	assert_int_equal(bsn_sq_outstanding_bb(f->sq), 0);
	fake_destroy(f);
}

/* -- what cannot be read -------------------------------------------------------------------------------- */

/* Two good ones before it come first; then the CQ stays refused. */
static void assert_refused(struct fake_attr attr, struct bsn_cqe_tail tail, uint32_t byte_count)
{
	struct fake *f = fake_create(&attr);

	post_write(f, 1);
	post_write(f, 2);
	fake_done(f, 0, BSN_OPCODE_RDMA_WRITE);
	fake_done(f, 1, BSN_OPCODE_RDMA_WRITE);
	fake_cqe_req(f, (struct bsn_cqe_req){ .qpn = FAKE_QPN,
					      .opcode = tail.opcode,
					      .format = tail.format,
					      .byte_count = byte_count });
	fake_done(f, 2, BSN_OPCODE_RDMA_WRITE);
	assert_int_equal(bsn_poll(f->cq, out, 8), 2);
	for (int i = 0; i < 10; i++)
		assert_int_equal(bsn_poll(f->cq, out, 8), -EPROTO);
	bsn_cq_kill(f->cq, EIO);
	assert_int_equal(bsn_poll(f->cq, out, 8), -EPROTO);
	fake_destroy(f);
}

static void what_cannot_be_read_is_refused_for_good(void **state)
{
	const struct fake_attr plain = { 0 }, wide = { .cqe_stride = 128 },
			       deaf = { .no_recv = true };
	const uint32_t foreign[] = { 5, 6, 7, 8, 9, 10, 11, 12 };

	(void)state;
	for (uint32_t opcode = 0; opcode < 5; opcode++) {
		const struct bsn_cqe_tail compressed = { .opcode = opcode,
							 .format = BSN_CQE_COMPRESSED };
		const struct bsn_cqe_tail of_32 = { .opcode = opcode, .format = BSN_CQE_INLINE_32 };
		const struct bsn_cqe_tail of_64 = { .opcode = opcode, .format = BSN_CQE_INLINE_64 };

		assert_refused(plain, compressed, 0);
		assert_refused(plain, of_32, 33);
		assert_refused(plain, of_32, UINT32_MAX);
		assert_refused(plain, of_64, 1);
		assert_refused(wide, of_32, 33);
		assert_refused(wide, of_64, 65);
	}
	for (unsigned i = 0; i < sizeof(foreign) / sizeof(*foreign); i++)
		assert_refused(plain, (struct bsn_cqe_tail){ .opcode = foreign[i] }, 0);
	assert_refused(deaf, (struct bsn_cqe_tail){ .opcode = BSN_CQE_RESP_SEND }, 0);
	assert_refused(deaf, (struct bsn_cqe_tail){ .opcode = BSN_CQE_RESP_ERR }, 0);
}

static void a_dead_queue_gives_what_came_first(void **state)
{
	(void)state;
	for (int at_once = 1; at_once < 8; at_once++) {
		const struct fake_attr attr = { .cqe_count = 8 };
		struct fake *f = fake_create(&attr);
		int got = 0;

		for (uint32_t i = 0; i < 3; i++) { /* the ring's end is among what is left */
			post_write(f, i);
			fake_done(f, i, BSN_OPCODE_RDMA_WRITE);
			assert_int_equal(bsn_poll(f->cq, out, 8), 1);
		}
		for (uint32_t i = 3; i < 10; i++) {
			post_write(f, i);
			fake_done(f, i, BSN_OPCODE_RDMA_WRITE);
		}
		bsn_cq_kill(f->cq, EIO);
		bsn_cq_kill(f->cq, EOVERFLOW); /* the first cause stays */
		while (got < 7) {
			const int n = bsn_poll(f->cq, out, at_once);
			assert_true(n > 0);
			for (int i = 0; i < n; i++)
				assert_int_equal(out[i].id, 3 + got++);
		}
		assert_int_equal(bsn_poll(f->cq, out, at_once), -EIO);
		assert_int_equal(bsn_poll(f->cq, out, at_once), -EIO);
		fake_done(f, 10, BSN_OPCODE_RDMA_WRITE); /* late, but whole */
		assert_int_equal(bsn_poll(f->cq, out, at_once), 1);
		assert_int_equal(bsn_poll(f->cq, out, at_once), -EIO);
		fake_destroy(f);
	}
}

/* -- arming ------------------------------------------------------------------------------------------- */

static void arming_says_what_was_polled(void **state)
{
	const struct fake_attr attr = { .spare = 16 };
	struct fake *f = fake_create(&attr);

	(void)state;
	for (uint32_t ci = 0; ci < 200; ci++) {
		const bool solicited = ci % 3 == 0;
		struct bsn_cq_doorbell bell;
		struct bsn_dbr_cq_arm arm;

		f->cq->arm_sn = (uint8_t)(ci / 2);
		memset(f->page, FAKE_POISON, FAKE_PAGE);
		bsn_cq_arm(f->cq, solicited);
		bsn_cq_doorbell_decode(&bell, f->page + BSN_UAR_CQ_ARM_OFFSET);
		bsn_dbr_cq_arm_decode(&arm, f->cq->record + BSN_DBR_CQ_ARM_OFFSET / 4);
		assert_int_equal(bell.sn, ci / 2 % 4);
		assert_int_equal(bell.cmd, solicited ? BSN_CQ_ARM_SOLICITED : BSN_CQ_ARM_NEXT);
		assert_int_equal(bell.ci, ci);
		assert_int_equal(bell.cqn, FAKE_CQN);
		assert_int_equal(arm.sn, bell.sn);
		assert_int_equal(arm.cmd, bell.cmd);
		assert_int_equal(arm.ci, bell.ci);
		assert_int_equal(fake_cq_ci(f), ci); /* in the middle of a chunk, too */
		for (unsigned i = 0; i < FAKE_PAGE; i++)
			if (i / 8 != BSN_UAR_CQ_ARM_OFFSET / 8)
				assert_int_equal(f->page[i], FAKE_POISON);
		post_write(f, ci);
		fake_done(f, ci, BSN_OPCODE_RDMA_WRITE);
		assert_int_equal(bsn_poll(f->cq, out, 8), 1);
	}
	fake_destroy(f);
}

/* -- anything ------------------------------------------------------------------------------------------ */

static void fill_rings(struct fake *f)
{
	const struct bsn_sge sge[] = { { (uintptr_t)sink[0], 5, 1 },
				       { (uintptr_t)sink[1], 64, 1 } };

	for (uint32_t i = 0; i < 16; i++)
		assert_int_equal(i % 2 ? bsn_read(&f->ep, &sge[1], &remote, i, BSN_F_SIGNALED)
				       : bsn_write(&f->ep, sge, &remote, i, 0),
				 0);
	while (!bsn_recv_sgl(f->rq, sge, 2, 0))
		;
}

/* Random, but mostly such that there is something to do. */
static void random_cqe(struct fake *f)
{
	static const uint8_t known[] = { 0, 0, 1, 2, 3, 4, 13, 14 };
	const uint32_t r = (uint32_t)random_u64();
	const struct bsn_cqe_req view = { .qpn = FAKE_QPN, .byte_count = r % 67 };
	const struct bsn_cqe_tail tail = {
		.wqe_counter = (uint16_t)random_u64(),
		.opcode = r % 32 ? known[r / 32 % 8] : r / 32 % 16,
		.format = r / 512 % 4 ? 0 : r / 2048 % 4,
	};
	const uint32_t length = bsn_row_offset(bsn_row_find(&bsn_cqe_req_desc, "byte_count"));
	uint8_t *cqe = fake_next_cqe(f), bytes[BSN_CQE_SIZE];

	bsn_cqe_req_encode(bytes, &view);
	random_bytes(cqe, BSN_CQE_TAIL_OFFSET);
	if (r / 8192 % 16)
		memcpy(cqe + BSN_CQE_QPN_OFFSET, bytes + BSN_CQE_QPN_OFFSET, 4);
	if (r / 131072 % 16)
		memcpy(cqe + length, bytes + length, 4);
	fake_produce(f, &tail);
}

/* Whatever a device writes: a number of completions, or an error, and no byte out of place. */
static void random_cqes_never_crash(void **state)
{
	unsigned long reaped = 0;

	(void)state;
	random_start();
	for (unsigned round = 0; round < 20000; round++) {
		const struct fake_attr attr = { .cqe_stride = round % 2 ? 64 : 128,
						.is_srq = round % 3 == 0,
						.cqe_count = 16,
						.spare = 4,
						.ce_quiet = (enum bsn_ce)(round / 4 % 2) };
		struct fake *f = fake_create(&attr);
		int n = 0;

		fill_rings(f);
		for (unsigned i = 0; i < 40 && n >= 0; i++) {
			random_cqe(f);
			n = bsn_poll(f->cq, out, 20);
			reaped += n > 0 ? (unsigned)n : 0;
		}
		fake_destroy(f);
	}
	assert_true(reaped > 100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(laps_of_every_shape),
		cmocka_unit_test(what_a_lap_left_is_not_polled),
		cmocka_unit_test(unknown_queues_are_counted),
		cmocka_unit_test(a_cq_without_queues_drops),
		cmocka_unit_test(colliding_numbers_find_their_queues),
		cmocka_unit_test(the_table_stays_small),
		cmocka_unit_test(a_recycled_number_does_not_inherit),
		cmocka_unit_test(every_kind_of_receive),
		cmocka_unit_test(shared_receives_come_in_any_order),
		cmocka_unit_test(inline_data_go_where_the_receive_says),
		cmocka_unit_test(inline_data_are_handed_out_where_wanted),
		cmocka_unit_test(inline_data_go_where_the_read_says),
		cmocka_unit_test(inline_results_of_atomics),
		cmocka_unit_test(a_request_without_result_takes_none),
		cmocka_unit_test(every_syndrome_has_its_status),
		cmocka_unit_test(silent_work_is_given_back),
		cmocka_unit_test(what_cannot_be_read_is_refused_for_good),
		cmocka_unit_test(a_dead_queue_gives_what_came_first),
		cmocka_unit_test(arming_says_what_was_polled),
		cmocka_unit_test(random_cqes_never_crash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
