/* SPDX-License-Identifier: BSD-2-Clause */
/* Data inside CQEs, and CQEs of random bytes. */
#include "../wqe/random.h"
#include "cq.h"

/* -- data inside CQEs -------------------------------------------------------------------------- */

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
	uint8_t *cqe = cqe_at(f, f->cq_pi - 1);

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

/* Posts a receive, of pieces() without @sge; a message completes it, with data if it has any. */
static void receive(struct fake *f, const struct bsn_sge *sge, uint64_t id, struct bsn_cqe_resp cqe,
		    const uint8_t *bytes)
{
	cqe.qpn = FAKE_QPN;
	cqe.wqe_counter = next_recv(f);
	ok(sge ? bsn_recv(f->rq, sge, id) : bsn_recv_sgl(f->rq, pieces(), 3, id));
	fake_cqe_resp(f, cqe);
	if (cqe.format)
		fill_inline(f, cqe.format, cqe.byte_count, bytes);
}

#define RECEIVE(f, sge, id, bytes, ...)                                                            \
	receive(f, sge, id, (struct bsn_cqe_resp){ __VA_ARGS__ }, bytes)

static void inline_to_receive(uint32_t stride, uint32_t format, uint32_t max, bool is_srq)
{
	OWNED struct fake *f = FAKE(.cqe_stride = stride, .is_srq = is_srq);

	for (uint32_t length = 0; length <= max; length++) {
		const uint8_t *bytes = expected_bytes(length);
		RECEIVE(f, NULL, length, bytes, .opcode = BSN_CQE_RESP_SEND, .format = format,
			.byte_count = length);
		poll_one(f, 8, length);
		assert_int_equal(out[0].byte_len, length);
		assert_int_equal(out[0].flags, 0);
		assert_scattered(bytes, length);
	}
}

/* Data of every length go to one piece of memory, of which no other byte changes. */
static void inline_to_one_piece(uint32_t stride, uint32_t format, uint32_t max, bool is_srq)
{
	const struct bsn_sge sge = { (uintptr_t)sink[1], 64, 1 };
	OWNED struct fake *f =
		FAKE(.cqe_stride = stride, .is_srq = is_srq, .recv_stride = is_srq ? 32 : 16);

	for (uint32_t length = 0; length <= max; length++) {
		const uint8_t *bytes = expected_bytes(length);
		memset(sink, FAKE_POISON, sizeof(sink));
		RECEIVE(f, &sge, length, bytes, .opcode = BSN_CQE_RESP_SEND_IMM, .format = format,
			.imm_inval_pkey = length, .byte_count = length);
		poll_one(f, length % 2 ? 8 : 1, length);
		assert_int_equal(out[0].flags, BSN_C_IMM);
		assert_int_equal(out[0].imm, length);
		assert_int_equal(out[0].byte_len, length);
		assert_memory_equal(sink[1], bytes, length);
		assert_poison(sink[0], sizeof(sink[0]));
		assert_poison(sink[1] + length, sizeof(sink) - sizeof(sink[0]) - length);
	}
}

static void inline_data_go_where_the_receive_says(void **state)
{
	for (int is_srq = 0; is_srq < 2; is_srq++) {
		inline_to_one_piece(64, BSN_CQE_INLINE_32, 32, is_srq);
		inline_to_one_piece(128, BSN_CQE_INLINE_32, 32, is_srq);
		inline_to_one_piece(128, BSN_CQE_INLINE_64, 64, is_srq);
		inline_to_receive(64, BSN_CQE_INLINE_32, 32, is_srq);
		inline_to_receive(128, BSN_CQE_INLINE_32, 32, is_srq);
		inline_to_receive(128, BSN_CQE_INLINE_64, 64, is_srq);
	}
}

/* The receive queue hands out what comes in CQEs. */
static struct fake *fake_that_gives(struct fake_attr attr)
{
	struct fake *f = fake_create(&attr);

	dv_sq(f->sq)->route.gives_data = true;
	add_again(f);
	return f;
}

#define FAKE_THAT_GIVES(...) fake_that_gives((struct fake_attr){ __VA_ARGS__ })

static void inline_data_are_handed_out_where_wanted(void **state)
{
	OWNED struct fake *f = FAKE_THAT_GIVES(.cqe_stride = 128);

	for (uint32_t i = 0; i < 200; i++) {
		const uint32_t length = i % 2 ? 64 : 32;
		RECEIVE(f, NULL, i, expected_bytes(i), .opcode = BSN_CQE_RESP_SEND_IMM,
			.format = i % 2 ? BSN_CQE_INLINE_64 : BSN_CQE_INLINE_32,
			.byte_count = length);
		assert_int_equal(bsn_poll(f->cq, out, 8), 1);
		assert_int_equal(out[0].flags, BSN_C_IMM | BSN_C_DATA | BSN_C_IN_CQE);
		assert_memory_equal(out[0].data, expected_bytes(i), length);
		assert_int_equal(sink[0][0], FAKE_POISON);
	}
}

/* Polls a receive of any kind; checks where its data are, or that it has none of its own. */
static void hand_out(struct fake *f, uint32_t stride, uint32_t opcode, uint32_t length, uint32_t i)
{
	const uint32_t format =
		length > stride / 2 ? BSN_CQE_NO_INLINE : bsn_cqe_inline_format(stride);
	const uint32_t got = opcode == BSN_CQE_RESP_WR_IMM      ? BSN_C_IMM :
			     opcode == BSN_CQE_RESP_SEND        ? BSN_C_DATA :
			     opcode == BSN_CQE_RESP_SEND_INV    ? BSN_C_DATA | BSN_C_INVAL :
								  BSN_C_DATA | BSN_C_IMM;
	const bool in_cqe = got & BSN_C_DATA && format;

	RECEIVE(f, NULL, i, expected_bytes(i), .opcode = opcode, .imm_inval_pkey = i,
		.format = in_cqe ? format : BSN_CQE_NO_INLINE, .byte_count = length);
	memset(&out[0], 0xee, sizeof(out[0]));
	poll_one(f, i % 2 ? 1 : 8, i);
	assert_int_equal(out[0].byte_len, length);
	assert_int_equal(out[0].flags, got | (in_cqe ? BSN_C_IN_CQE : 0));
	if (got & (BSN_C_IMM | BSN_C_INVAL))
		assert_int_equal(out[0].imm, i);
	if (in_cqe)
		assert_memory_equal(out[0].data, expected_bytes(i), length);
	else if (got & BSN_C_DATA)
		assert_ptr_equal(out[0].data, sink[0]);
	assert_int_equal(sink[0][0], FAKE_POISON);
}

static void one_pointer_tells_where_data_are(void **state)
{
	static const uint32_t opcodes[] = { BSN_CQE_RESP_WR_IMM, BSN_CQE_RESP_SEND,
					    BSN_CQE_RESP_SEND_IMM, BSN_CQE_RESP_SEND_INV };

	for (uint32_t stride = 64; stride <= 128; stride *= 2)
		for (int is_srq = 0; is_srq < 2; is_srq++) {
			OWNED struct fake *f =
				FAKE_THAT_GIVES(.cqe_stride = stride, .is_srq = is_srq);

			for (uint32_t i = 0; i < 600; i++)
				hand_out(f, stride, opcodes[i % 4], 1 + i / 8, i);
		}
}

/* No ConnectX writes such a CQE. Nothing is read beyond its end. */
static void data_that_a_cqe_cannot_hold_are_fatal(void **state)
{
	for (int is_srq = 0; is_srq < 2; is_srq++)
		for (uint32_t stride = 64; stride <= 128; stride *= 2) {
			OWNED struct fake *f =
				FAKE_THAT_GIVES(.cqe_stride = stride, .is_srq = is_srq);

			ok(bsn_recv_sgl(f->rq, pieces(), 3, 1));
			fake_resp(f, .opcode = BSN_CQE_RESP_SEND,
				  .format = bsn_cqe_inline_format(stride),
				  .byte_count = stride / 2 + 1);
			assert_int_equal(bsn_poll(f->cq, out, 1), -EPROTO);
		}
}

/* The device has written over each CQE that the consumer record gave back. */
static void use_again(struct fake *f, uint32_t *given_back)
{
	const uint32_t ci = fake_cq_ci(f);

	for (; (*given_back & 0xffffff) != ci; ++*given_back) {
		uint8_t *cqe = cqe_at(f, *given_back);
		memset(cqe + 64 - f->cq->stride, 0xee, f->cq->stride - 64 + BSN_CQE_TAIL_OFFSET);
	}
}

static void hold_pointers(uint32_t stride, uint32_t spare, int at_once)
{
	const uint32_t format = stride == 64 ? BSN_CQE_INLINE_32 : BSN_CQE_INLINE_64;
	OWNED struct fake *f = FAKE_THAT_GIVES(.cqe_count = 64, .cqe_stride = stride,
					       .spare = spare, .recv_count = 64);
	uint32_t seen = 0, posted = 0, given_back = 0;

	while (seen < 500) {
		const uint32_t began = seen;
		int n;

		for (; posted - seen < 64 - spare; posted++)
			RECEIVE(f, NULL, posted, expected_bytes(posted),
				.opcode = BSN_CQE_RESP_SEND, .format = format, .byte_count = 32);
		n = bsn_poll(f->cq, out, at_once);
		assert_true(n > 0);
		use_again(f, &given_back);
		for (int i = 0; i < n; i++, seen++) {
			assert_int_equal(out[i].id, seen);
			assert_int_equal(out[i].flags, BSN_C_DATA | BSN_C_IN_CQE);
			assert_memory_equal(out[i].data, expected_bytes(seen), 32);
		}
		assert_record(f, began, seen);
	}
}

/* At any poll, of any chunk, the device gets back only what earlier polls gave. */
static void pointers_hold_until_the_next_poll(void **state)
{
	for (uint32_t stride = 64; stride <= 128; stride += 64)
		for (uint32_t spare = 2; spare < 63; spare++)
			for (int at_once = 1; at_once <= 64; at_once += 3)
				hold_pointers(stride, spare, at_once);
}

/* READs of several blocks, at every position of the ring, also after a DC prefix. */
static void inline_data_go_where_the_read_says(void **state)
{
	for (int dc = 0; dc < 2; dc++) {
		uint8_t prefix[BSN_AV_DC_GRH_SIZE];
		OWNED struct fake *f = FAKE(.cqe_stride = 128,
					    .transport = dc ? BSN_TRANSPORT_DC : BSN_TRANSPORT_RC,
					    .has_peers = dc);
		struct bsn_peer peer = {
			.ep = { f->sq }, .user = prefix, .ctrl_bits = 0, .prefix_ds = 3
		};

		ENCODE(av_dc_grh, prefix, .ext = 1, .dqpn = 5);
		peer.head = bsn_v2_load(prefix);
		peer.more = prefix + BSN_DS_SIZE;
		for (uint32_t length = 0; length <= 64; length++) {
			const uint32_t format =
				length % 2 && length <= 32 ? BSN_CQE_INLINE_32 : BSN_CQE_INLINE_64;
			struct bsn_wr wr = write_of(pieces(), 3, BSN_F_SIGNALED | BSN_F_RING);
			const uint32_t pi = f->sq->pi;

			wr.id = length;
			wr.opcode = BSN_OPCODE_RDMA_READ;
			ok(bsn_post(dc ? &peer.ep : &f->ep, &wr));
			fake_req(f, .opcode = BSN_CQE_REQ, .wqe_opcode = wr.opcode,
				 .format = format, .wqe_counter = pi, .byte_count = length);
			fill_inline(f, format, length, expected_bytes(length));
			poll_one(f, 8, length);
			assert_int_equal(out[0].byte_len, length);
			assert_ptr_equal(out[0].user,
					 dc ? (void *)prefix : dv_sq(f->sq)->route.hot.user);
			assert_scattered(expected_bytes(length), length);
		}
	}
}

static void inline_atomics(bool is_big_endian)
{
	const struct bsn_sge sge = { (uintptr_t)sink[3], 8, 1 };
	OWNED struct fake *f = fake_create(NULL);
	uint64_t value;

	dv_sq(f->sq)->has_big_endian_results = is_big_endian;
	for (uint32_t i = 0; i < 20; i++) {
		memset(sink, FAKE_POISON, sizeof(sink));
		ok(bsn_fetch_add(&f->ep, &sge, &remote, 1, i, BSN_F_SIGNALED));
		fake_req(f, .wqe_opcode = BSN_OPCODE_ATOMIC_FA, .format = BSN_CQE_INLINE_32,
			 .wqe_counter = i, .byte_count = 8);
		fill_inline(f, BSN_CQE_INLINE_32, 8, expected_bytes(i));
		assert_int_equal(bsn_poll(f->cq, out, 8), 1);
		value = bsn_load_be64(expected_bytes(i));
		assert_memory_equal(sink[3], is_big_endian ? expected_bytes(i) : (uint8_t *)&value,
				    8);
		assert_int_equal(sink[3][8], FAKE_POISON);
	}
}

/* Results are big-endian in a CQE; in memory they are as the device has them there. */
static void inline_results_of_atomics(void **state)
{
	inline_atomics(false);
	inline_atomics(true);
}

/* A WRITE has no result, so whatever its CQE holds must not go into what it sent. */
static void a_request_without_result_takes_none(void **state)
{
	const struct bsn_sge sge = { (uintptr_t)sink[0], 64, 1 };
	OWNED struct fake *f = fake_create(NULL);

	memset(sink, FAKE_POISON, sizeof(sink));
	ok(bsn_write(&f->ep, &sge, &remote, 7, BSN_F_SIGNALED));
	fake_req(f, .format = BSN_CQE_INLINE_32, .byte_count = 32);
	poll_one(f, 8, 7);
	for (unsigned i = 0; i < 64; i++)
		assert_int_equal(sink[0][i], FAKE_POISON);
}

/* -- anything ---------------------------------------------------------------------------------- */

static void fill_rings(struct fake *f)
{
	const struct bsn_sge sge[] = { { (uintptr_t)sink[0], 5, 1 },
				       { (uintptr_t)sink[1], 64, 1 } };

	for (uint32_t i = 0; i < 16; i++)
		ok(i % 2 ? bsn_read(&f->ep, &sge[1], &remote, i, BSN_F_SIGNALED)
			 : bsn_write(&f->ep, sge, &remote, i, 0));
	while (!bsn_recv_sgl(f->rq, sge, 2, 0))
		;
}

/* Makes a random CQE, mostly one that leaves something to do. */
static void random_cqe(struct fake *f)
{
	static const uint8_t known[] = { 0, 0, 1, 2, 3, 4, 13, 14 };
	const uint32_t r = (uint32_t)random_u64();
	const struct bsn_cqe_tail tail = {
		.wqe_counter = (uint16_t)random_u64(),
		.opcode = r % 32 ? known[r / 32 % 8] : r / 32 % 16,
		.format = r / 512 % 4 ? 0 : r / 2048 % 4,
	};
	const uint32_t length = bsn_row_offset(bsn_row_find(&bsn_cqe_req_desc, "byte_count"));
	uint8_t *cqe = fake_next_cqe(f), bytes[BSN_CQE_SIZE];

	ENCODE(cqe_req, bytes, .qpn = FAKE_QPN, .byte_count = r % 67);
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

	random_start();
	for (unsigned round = 0; round < 20000; round++) {
		OWNED struct fake *f =
			FAKE(.cqe_stride = round % 2 ? 64 : 128, .is_srq = round % 3 == 0,
			     .cqe_count = 16, .spare = 4, .ce_quiet = (enum bsn_ce)(round / 4 % 2));
		int n = 0;

		fill_rings(f);
		for (unsigned i = 0; i < 40 && n >= 0; i++) {
			random_cqe(f);
			n = bsn_poll(f->cq, out, 20);
			reaped += n > 0 ? (unsigned)n : 0;
		}
	}
	assert_true(reaped > 100000);
}

UNIT_MAIN(NULL, UNIT(inline_data_go_where_the_receive_says),
	  UNIT(inline_data_are_handed_out_where_wanted), UNIT(one_pointer_tells_where_data_are),
	  UNIT(data_that_a_cqe_cannot_hold_are_fatal), UNIT(pointers_hold_until_the_next_poll),
	  UNIT(inline_data_go_where_the_read_says), UNIT(inline_results_of_atomics),
	  UNIT(a_request_without_result_takes_none), UNIT(random_cqes_never_crash))
