/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A look at a queue whose owner moves on between any two of its reads: before each read, by any
 * number of entries, and with an entry half written. What is shown must be what the owner wrote for
 * that index.
 */
#include "look_rig.h"

/* -- send queue: WQEs of one or two blocks ----------------------------------------------------- */

static uint32_t blocks_of(uint32_t index)
{
	return index % 3 ? 1 : 2;
}

/*
 * Writes a WQE with all 32 bits of its index, so that it differs from a WQE a round or 2^16 later.
 * Its second block looks like a WQE, too, but is none.
 */
static void write_wqe(uint8_t (*to)[BYTES], uint32_t index)
{
	struct bsn_ctrl ctrl = { .opcode = BSN_OPCODE_NOP,
				 .wqe_index = index & UINT16_MAX,
				 .qpn = QPN,
				 .ds = (blocks_of(index) - 1) * BSN_BB_DS + 1,
				 .imm = index };

	for (uint32_t i = 0; i < blocks_of(index); i++)
		memset(to[i], (int)(index * 7 + i), BYTES);
	bsn_ctrl_encode(to[0], &ctrl);
	if (blocks_of(index) == 1)
		return;
	ctrl.wqe_index = (index + 1) & UINT16_MAX;
	ctrl.ds = 1;
	ctrl.imm = ~index;
	bsn_ctrl_encode(to[1], &ctrl);
}

static void put_block(uint32_t index, const uint8_t *block, size_t from, size_t bytes)
{
	memcpy(owner.ring[index % COUNT] + from, block + from, bytes);
}

static void put_wqe(uint32_t index)
{
	uint8_t wqe[2][BYTES];

	write_wqe(wqe, index);
	for (uint32_t i = 0; i < blocks_of(index); i++)
		put_block(index + i, wqe[i], 0, BYTES);
}

/* Completes the oldest WQE; the poster notices. */
static void retire(void)
{
	owner.done = owner.start;
	owner.start += blocks_of(owner.start);
}

static void retire_all(void)
{
	while (owner.start != owner.producer)
		retire();
}

/* Stores the producer as the lap, often enough. */
static void move_lap(uint32_t blocks)
{
	if (owner.producer + blocks - owner.lap >= (owner.is_lazy ? LAP : COUNT))
		owner.lap = owner.producer;
}

/* Retires as many as needed; then posts and rings one. */
static void move_send(void)
{
	const uint32_t blocks = blocks_of(owner.producer);

	while (owner.producer + blocks - owner.start > COUNT)
		retire();
	move_lap(blocks);
	put_wqe(owner.producer);
	owner.producer += blocks;
	set_record(owner.producer);
}

/* Moves by this many blocks, or one more; writes only the last of them. */
static void leap_send(void)
{
	const uint32_t end = owner.producer + plan.leap;

	while ((int32_t)(owner.producer - (end - 3 * COUNT)) < 0) {
		move_lap(blocks_of(owner.producer));
		owner.producer += blocks_of(owner.producer);
	}
	owner.start = owner.producer;
	while ((int32_t)(owner.producer - end) < 0)
		move_send();
}

static bool has_room(void)
{
	return owner.producer + blocks_of(owner.producer) - owner.start <= COUNT;
}

/* The counter is ahead of the bytes, of which the control segment comes first. */
static void write_half_wqe(bool is_second)
{
	static uint32_t index;
	static bool had_room;
	uint8_t wqe[2][BYTES];

	if (!is_second) {
		index = owner.producer;
		had_room = has_room();
		move_lap(blocks_of(index));
		owner.producer += had_room ? blocks_of(index) : 0;
	}
	if (!had_room)
		return;
	write_wqe(wqe, index);
	put_block(index, wqe[0], is_second ? BYTES / 2 : 0, BYTES / 2);
	if (blocks_of(index) == 2 && is_second)
		put_block(index + 1, wqe[1], 0, BYTES);
}

/* The bytes are ahead of the counter, and the control segment comes last. */
static void write_half_wqe_early(bool is_second)
{
	static bool had_room;
	const uint32_t index = owner.producer;
	uint8_t wqe[2][BYTES];

	had_room = is_second ? had_room : has_room();
	if (!had_room)
		return;
	write_wqe(wqe, index);
	put_block(index, wqe[0], is_second ? 0 : BYTES / 2, BYTES / 2);
	if (blocks_of(index) == 2)
		put_block(index + 1, wqe[1], 0, BYTES);
	move_lap(blocks_of(index));
	owner.producer += is_second ? blocks_of(index) : 0;
}

static uint32_t first_index;
static bool is_lazy;

static void begin_send(struct look *look)
{
	begin(look, BSN_REGISTRY_SEND, BYTES);
	owner.move = plan.leap ? leap_send : move_send;
	owner.is_lazy = is_lazy;
	plan.reads = 0;
	owner.producer = owner.start = first_index;
	owner.lap = is_lazy ? first_index - (LAP - COUNT) : first_index;
	owner.done = first_index - 1;
	set_record(first_index);
	for (unsigned i = 0; i < 4; i++)
		move_send();
}

static void assert_wqes(const struct look *look)
{
	uint8_t wqe[2][BYTES];

	for (uint32_t at = look->first; at != look->end; at += blocks_of(at)) {
		write_wqe(wqe, at);
		assert_true(look->end - at <= COUNT);
		assert_memory_equal(look_at(look, at), wqe, blocks_of(at) * BYTES);
	}
}

static uint32_t behind; /* blocks that came since the last look; 0: there was none */

static void check_send(void)
{
	const unsigned at_read = plan.at_read;
	uint32_t last_end, producer;
	struct look look;
	bool had_last;

	begin_send(&look);
	if (behind) {
		plan.at_read = NEVER;
		assert_int_equal(look_take(&look, false), 0);
		while (owner.producer - look.last_end < behind)
			move_send();
		retire_all();
		plan.at_read = at_read;
		plan.reads = 0;
	}
	producer = owner.producer;
	if (!look_take(&look, behind)) {
		assert_wqes(&look);
		assert_true(look.ring.producer.value == owner.producer ||
			    look.ring.producer.value == producer || !plan.leap);
	}
	be_still();
	had_last = look.has_last;
	last_end = look.last_end;
	assert_int_equal(look_take(&look, true), 0);
	assert_wqes(&look);
	assert_int_equal(look.end, owner.producer);
	if (had_last) /* each is shown or missed */
		assert_int_equal(look.missed + look.end - look.first, owner.producer - last_end);
	look_free(&look);
}

static void disturb_send(void)
{
	plan.write_half = write_half_wqe;
	plan.delay = 2;
	each_disturbance(check_send);
	plan.write_half = write_half_wqe_early;
	plan.delay = 22;
	each_disturbance(check_send);
}

static void leap_over_send(void)
{
	each_leap(COUNT, check_send);
}

/* Begins where the counters wrap soon; the last look is now, a few, or almost a round ago. */
static void each_send_queue(void (*disturb)(void))
{
	static const uint32_t first[] = { 0, UINT16_MAX - 6, UINT32_MAX - 6 };
	static const uint32_t blocks[] = { 0, 3, COUNT - 1 };

	for (unsigned i = 0; i < 18; i++) {
		first_index = first[i % 3];
		behind = blocks[i / 3 % 3];
		is_lazy = i / 9;
		disturb();
	}
}

static void a_send_queue_that_moves(void **state)
{
	each_send_queue(disturb_send);
}

/* 16 bits of the counters are as before, but the ring has other WQEs. */
static void a_send_queue_that_goes_round_unseen(void **state)
{
	each_send_queue(leap_over_send);
}

/* The poller says what is done, even if the poster has not noticed. */
static void what_is_done(void **state)
{
	struct look look;

	first_index = 0;
	begin_send(&look); /* WQEs at 0, 2, 3, 5 */
	be_still();
	assert_int_equal(look_take(&look, false), 0);
	assert_int_equal(look.done_end, 0); /* none is: 65535 is before the first */
	owner.done = 2;
	assert_int_equal(look_take(&look, false), 0);
	assert_int_equal(look.first, 0);
	assert_int_equal(look.done_end, 3);
	assert_int_equal(look.rung_end, 6);
	set_record(5);
	assert_int_equal(look_take(&look, false), 0);
	assert_int_equal(look.rung_end, 5);
	look_free(&look);
}

/* A QPN of another queue, an index of another round, a length of 0: the rest is not shown. */
static void what_is_no_wqe_ends_it(void **state)
{
	static const struct bsn_ctrl wrong[] = {
		{ .opcode = BSN_OPCODE_NOP, .wqe_index = 3, .qpn = QPN + 1, .ds = 1 },
		{ .opcode = BSN_OPCODE_NOP, .wqe_index = 3 + COUNT, .qpn = QPN, .ds = 1 },
		{ .opcode = BSN_OPCODE_NOP, .wqe_index = 3, .qpn = QPN, .ds = 0 },
		{ .opcode = BSN_OPCODE_NOP, .wqe_index = 3, .qpn = QPN, .ds = 4 * BSN_BB_DS },
	};
	struct look look;

	first_index = 0;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		begin_send(&look);
		be_still();
		bsn_ctrl_encode(owner.ring[3], &wrong[i]);
		assert_int_equal(look_take(&look, false), 0);
		assert_int_equal(look.end, 3);
		assert_string_equal(look.why, "send queue 0x1234: slot 3 has no WQE of the index "
					      "3: it is being written, or was damaged");
		look_free(&look);
	}
}

/* -- what a registry may say ------------------------------------------------------------------- */

static void a_queue_that_cannot_be(void **state)
{
	struct bsn_registry_queue *q;
	struct look look;

	first_index = 0;
	for (unsigned wrong = 0; wrong < 8; wrong++) {
		begin_send(&look);
		be_still();
		q = &look.published.queue;
		q->kind = wrong == 0 ? 4 : q->kind;
		q->count = wrong == 1 ? 0 : wrong == 2 ? 7 : wrong == 3 ? 1u << 31 : q->count;
		q->count = wrong == 7 ? LAP : q->count; /* more slots than its counters count */
		q->stride_bytes = wrong == 4 ? 16 : wrong == 5 ? UINT32_MAX : q->stride_bytes;
		q->transport = wrong == 6 ? BSN_TRANSPORT_IPOIB + 1 : q->transport;
		assert_int_equal(look_take(&look, false), -EPROTO);
		look_free(&look);
	}
}

/* -- a process that cannot be read ------------------------------------------------------------- */

static int refusal;

static int refuse(struct target *t, uint64_t from, void *to, size_t bytes)
{
	(void)from;
	(void)to;
	(void)bytes;
	return target_fail(t, -refusal, "refused");
}

/* A process that may not be read, or has ended, is not taken for a process without Bunsen. */
static void a_refusal_is_no_answer(void **state)
{
	uint64_t image = 0;
	struct target closed = {
		.name = "test", .images = &image, .image_count = 1, .read = refuse
	};
	struct published_list list = { 0 };

	refusal = -EPERM;
	assert_int_equal(published_read(&closed, &list), -EPERM);
	assert_string_equal(closed.why, "refused");
	refusal = -ESRCH;
	assert_int_equal(published_read(&closed, &list), -ESRCH);
	refusal = -EFAULT;
	assert_int_equal(published_read(&closed, &list), -ENODATA);
	published_free(&list);
}

UNIT_MAIN(NULL, UNIT(a_send_queue_that_moves), UNIT(a_send_queue_that_goes_round_unseen),
	  UNIT(what_is_done), UNIT(what_is_no_wqe_ends_it), UNIT(a_queue_that_cannot_be),
	  UNIT(a_refusal_is_no_answer))
