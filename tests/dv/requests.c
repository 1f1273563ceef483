/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests of every kind, the queues that they are posted to, and posting them. */
#include "../share.h"
#include "requests.h"

uint8_t payload[FAR_INLINE + 64];
struct mix mixes[MAX_MIXES];
unsigned mix_count;

static void add_pointers(uint32_t count, uint32_t zero_at)
{
	struct mix *m = &mixes[mix_count++];

	m->count = count;
	for (uint32_t i = 0; i < count; i++)
		m->sge[i] = (struct bsn_sge){ 0x7f0000001000 + 0x111 * i,
					      i == zero_at ? 0 : 100 + i, 0xabc00 + i };
}

static void add_inline(uint32_t bytes, uint32_t pieces)
{
	struct mix *m = &mixes[mix_count++];
	uint32_t at = 0;

	m->is_inline = true;
	m->count = pieces;
	for (uint32_t i = 0; i < pieces; i++) {
		const uint32_t end = bytes * (i + 1) / pieces;
		m->sge[i] = (struct bsn_sge){ (uintptr_t)payload + at, end - at, 0 };
		at = end;
	}
}

int requests_set_up(void **state)
{
	static const uint32_t pointers[] = { 0, 1, 2, 3, 4, 7, 12, 13, MAX_SGE };
	static const uint32_t lengths[] = {
		0,  1,  3,  4,  7,  8,  11, 12, 13, 15, 16,  17,
		28, 29, 44, 45, 60, 61, 76, 77, 92, 93, 188, MAX_INLINE
	};

	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 7 + 1);
	for (size_t i = 0; i < sizeof(pointers) / sizeof(*pointers); i++)
		add_pointers(pointers[i], UINT32_MAX);
	add_pointers(3, 1);
	add_pointers(1, 0);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
		add_inline(lengths[i], 1);
	add_inline(44, 3);
	add_inline(MAX_INLINE, 5);
	assert_true(mix_count <= MAX_MIXES);
	return 0;
}

bool is_atomic(uint32_t opcode)
{
	return opcode == BSN_OPCODE_ATOMIC_CS || opcode == BSN_OPCODE_ATOMIC_FA;
}

/* -- posting them ------------------------------------------------------------------------------ */

const uint32_t opcodes[OPCODES] = {
	BSN_OPCODE_SEND,       BSN_OPCODE_SEND_IMM,       BSN_OPCODE_SEND_INVAL,
	BSN_OPCODE_RDMA_WRITE, BSN_OPCODE_RDMA_WRITE_IMM, BSN_OPCODE_RDMA_READ,
	BSN_OPCODE_ATOMIC_CS,  BSN_OPCODE_ATOMIC_FA,      BSN_OPCODE_NOP,
};

bool goes_with(const struct bsn_wqe_op *op, const struct mix *m)
{
	if (op->has_atomic)
		return !m->is_inline && m->count == 1;
	if (op->data == BSN_DATA_NONE)
		return !m->is_inline && !m->count;
	return !m->is_inline || op->data == BSN_DATA_GATHER;
}

struct bsn_wr request(uint32_t opcode, const struct mix *m, unsigned flags)
{
	return (struct bsn_wr){
		.id = 0xfeed000000000000 | opcode << 16 | flags,
		.sge = m->sge,
		.sge_count = m->count,
		.flags = flags | (m->is_inline ? BSN_F_INLINE : 0),
		.remote = remote,
		.opcode = opcode,
		.imm = 0xcafe0001,
		.swap_add = 0x0102030405060708,
		.compare = 0xf1f2f3f4f5f6f7f8,
	};
}

struct bsn_wr inline_request(uint32_t opcode, uint32_t length, unsigned flags)
{
	static struct mix m;

	m = (struct mix){ true, 1, { { (uintptr_t)payload, length, 0 } } };
	return request(opcode, &m, flags);
}

bool sees_no_room;

static void assert_hidden(const struct fake *f, uint32_t pi)
{
	for (uint32_t i = 0; i <= dv_sq(f->sq)->bb_mask; i++)
		assert_int_equal(dv_sq(f->sq)->hidden[i] != 0, i == (pi & dv_sq(f->sq)->bb_mask));
	assert_int_equal(f->sq->quiet, dv_sq(f->sq)->signal_every);
}

unsigned post_at(struct fake *f, struct bsn_peer *peer, const struct bsn_wr *wr, uint32_t pi)
{
	const bool is_turn = dv_sq(f->sq)->signal_every == 1 && !(wr->flags & BSN_F_SIGNALED);
	struct bsn_wr signaled = *wr;
	unsigned posted = 0;

	signaled.flags |= BSN_F_SIGNALED;
	for (size_t w = 0; w < WAYS; w++) {
		const unsigned buffer = f->lane.hot.reg == fake_buffer(f, 1);
		int err;

		fake_seek(f, pi);
		poison(f);
		if (sees_no_room)
			bsn_sq_set_room(f->sq, NULL);
		if (is_turn)
			f->sq->quiet = 1;
		memset(dv_sq(f->sq)->hidden, 0, dv_sq(f->sq)->bb_mask + 1);
		trace_start();
		err = ways[w].post(peer ? &peer->ep : &f->ep, wr);
		if (err == NOT_THIS_WAY)
			continue;
		if (err)
			fail_msg("%s: opcode %u, %u SGEs: %d, %s", ways[w].name, wr->opcode,
				 wr->sge_count, err, bsn_refusal);
		assert_order(f, wr, pi);
		assert_posted(f, is_turn ? &signaled : wr, peer, pi, buffer,
			      peer ? 0 : ways[w].writes_bytes);
		if (is_turn)
			assert_hidden(f, pi);
		posted++;
	}
	assert_true(posted > 0);
	return posted;
}

static const unsigned flag_of[] = { BSN_F_RING, BSN_F_SIGNALED, BSN_F_SOLICITED, BSN_F_FENCE };

unsigned flags_of(unsigned some)
{
	unsigned flags = 0;

	for (unsigned i = 0; i < 4; i++)
		flags |= some >> i & 1 ? flag_of[i] : 0;
	return flags;
}

/* Posts every mix at every position from @first on, or at a share of them (share.h). */
unsigned post_everything(struct fake *f, struct bsn_peer *peer, uint32_t opcode, uint32_t first,
			 unsigned flag_step)
{
	const struct bsn_wqe_op *op = bsn_wqe_op_find(opcode);
	const unsigned share = tests_share();
	unsigned posted = 0;

	for (unsigned m = 0; m < mix_count; m++) {
		if (!goes_with(op, &mixes[m]))
			continue;
		for (unsigned some = flag_step == FEW; some < 16; some += flag_step) {
			const struct bsn_wr wr = request(opcode, &mixes[m], flags_of(some));
			for (uint32_t pos = posted % share; pos < RING_BB; pos += share)
				posted += post_at(f, peer, &wr, first + pos);
		}
	}
	return posted;
}

/* -- queues ------------------------------------------------------------------------------------ */

unsigned in_each_mode(struct fake_attr attr, void (*test)(struct fake *f, unsigned mode))
{
	unsigned modes = 0;

	for (unsigned mode = 0; mode < MODES; mode++) {
		attr.store = (enum bsn_store)(mode / 4);
		attr.locked = mode & 1;
		attr.no_blueflame = mode & 2;
		if (attr.store == BSN_STORE_AUTO || !bsn_store_supported(attr.store))
			continue;
		OWNED struct fake *f = fake_create(&attr);
		if (attr.has_peers)
			make_peers(f);
		test(f, mode);
		modes++;
	}
	return modes;
}

bool has_op(const struct fake *f, uint32_t opcode)
{
	return bsn_wqe_op_find(opcode)->transports & 1u << dv_sq(f->sq)->transport;
}

/* -- many peers -------------------------------------------------------------------------------- */

struct bsn_peer peers[PEERS];
static uint8_t peer_avs[2][BSN_AV_UD_GRH_SIZE];

void make_peers(struct fake *f)
{
	for (uint32_t i = 0; i < PEERS; i++) {
		uint8_t *av = peer_avs[i > 0];
		if (dv_sq(f->sq)->transport == BSN_TRANSPORT_UD)
			ENCODE(av_ud_grh, av, .qkey = 0x11111111 + i, .ext = i > 0,
			       .dqpn = 0x77 + i, .sgid_index = 3, .rgid_lo = 0x4242);
		else
			ENCODE(av_dc_grh, av, .dc_key = 0x1111111122222222 + i, .ext = i > 0,
			       .dqpn = 0x77 + i, .sgid_index = 3, .rgid_lo = 0x4242);
		peers[i] = (struct bsn_peer){ .ep = { f->sq },
					      .user = &peers[i],
					      .more = i ? av + BSN_DS_SIZE : NULL,
					      .ctrl_bits = 0,
					      .prefix_ds = i ? 3 : 1,
					      .head = bsn_v2_load(av) };
	}
}

struct fake_attr many_peers(enum bsn_transport transport)
{
	return (struct fake_attr){
		.transport = transport, .has_peers = true, .max_ds = 20, .count_bb = RING_BB
	};
}

void each_to_one_of_many(struct fake *f, each_request *each)
{
	static const unsigned common[] = { 0, BSN_F_SIGNALED, BSN_F_RING,
					   BSN_F_RING | BSN_F_SIGNALED };

	make_peers(f);
	for (size_t i = 0; i < OPCODES; i++)
		for (unsigned m = 0; m < mix_count; m++)
			for (unsigned k = 0; k < 4 * PEERS; k++) {
				const struct bsn_wr wr =
					request(opcodes[i], &mixes[m], common[k % 4]);

				if (has_op(f, opcodes[i]) && opcodes[i] != BSN_OPCODE_NOP &&
				    goes_with(bsn_wqe_op_find(opcodes[i]), &mixes[m]))
					each(f, &peers[k / 4], &wr);
			}
}
