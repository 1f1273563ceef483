/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A look at a queue whose owner moves on between any two of its reads: before each read, by any
 * number of entries, and with an entry half written. What is shown must be what the owner wrote for
 * that index.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wqe-dump/live/look.h"

enum {
	COUNT = 32, /* slots: more than two of the longest WQEs */
	MOVES = 3 * COUNT,
	READS = 48, /* more than two attempts take */
	NEVER = 1 << 30,
	QPN = 0x1234,
	LAG = 2, /* CQEs between two stores of the consumer record */
	BYTES = BSN_BB_SIZE,
	LINK = 32, /* a WQE of a shared receive queue */
	SLOTS = COUNT * BYTES / LINK,
	USED = SLOTS - 7,
	RECVS = COUNT * BYTES / BSN_DATA_SIZE,
	LAP = 1 << 16, /* what 16 bits count */
};

/* The owner's side. */
static struct {
	uint8_t ring[COUNT][BYTES] __attribute__((aligned(64)));
	uint8_t record[4];
	uint32_t producer, start, done; /* as it knows them; show() publishes: */
	uint32_t lap;
	bool is_lazy; /* it stores the lap as late as it may */
	uint16_t low_producer, low_start, low_done;
	uint16_t next_slot, last_slot; /* of a shared receive queue: the first and last free ones */
	uint64_t next;
	uint8_t phase;
	bool is_posted[USED]; /* of a shared receive queue */
	void (*move)(void);
} owner;

/* When the owner moves. */
static struct {
	unsigned at_read, moves; /* before that read, by so many entries */
	bool halves; /* and writes half of one more, the rest of it @delay reads later */
	unsigned delay, reads;
	void (*write_half)(bool is_second);
	uint32_t leap; /* each move is one of so many entries; 0: of one */
} plan;

/* Publishes the counters for the reader. */
static void show(void)
{
	owner.low_producer = (uint16_t)owner.producer;
	owner.low_start = (uint16_t)owner.start;
	owner.low_done = (uint16_t)owner.done;
}

static int read_memory(struct target *target, uint64_t address, void *to, size_t bytes)
{
	target->spent = 0; /* as if each read were the first one of a look */
	if (plan.reads == plan.at_read) {
		for (unsigned i = 0; i < plan.moves; i++)
			owner.move();
		if (plan.halves && plan.write_half)
			plan.write_half(false);
	}
	if (plan.reads == plan.at_read + plan.delay && plan.halves && plan.write_half)
		plan.write_half(true);
	plan.reads++;
	show();
	memcpy(to, (const void *)(uintptr_t)address, bytes);
	return 0;
}

static struct target target = { .name = "test", .is_live = true, .read = read_memory };

static uint64_t address(const volatile void *pointer)
{
	return (uintptr_t)pointer;
}

static void begin(struct look *look, enum bsn_registry_kind kind, uint32_t stride)
{
	memset(&owner, 0, sizeof(owner));
	*look = (struct look){ .target = &target };
	look->published.queue =
		(struct bsn_registry_queue){ .kind = kind,
					     .number = QPN,
					     .ring = address(owner.ring),
					     .record = address(owner.record),
					     .count = COUNT * BYTES / stride,
					     .stride_bytes = stride,
					     .producer = address(&owner.low_producer),
					     .consumer = address(&owner.low_done),
					     .start = address(&owner.low_start),
					     .lap = address(&owner.lap) };
}

static void set_record(uint32_t index)
{
	const struct bsn_dbr_wq record = { .index = index & UINT16_MAX };

	bsn_dbr_wq_encode(owner.record, &record);
}

/* Each of the owner's moves that the tables below have. */
static void each_disturbance(void (*check)(void))
{
	for (unsigned at_read = 0; at_read < READS; at_read++)
		for (unsigned moves = 0; moves <= MOVES; moves++)
			for (unsigned halves = 0; halves < 2; halves++) {
				plan.at_read = at_read;
				plan.moves = moves;
				plan.halves = halves;
				check();
			}
}

/* One move by about as many entries as 16 bits count. */
static void each_leap(uint32_t round, void (*check)(void))
{
	plan.moves = 1;
	plan.halves = false;
	for (plan.leap = LAP - round; plan.leap <= LAP + round; plan.leap++)
		for (unsigned at_read = 0; at_read < READS; at_read++) {
			plan.at_read = at_read;
			check();
		}
	plan.leap = 0;
}

/* Ends the disturbance; nothing is left half written. */
static void be_still(void)
{
	if (plan.halves && plan.write_half && plan.reads > plan.at_read &&
	    plan.reads <= plan.at_read + plan.delay)
		plan.write_half(true);
	plan.halves = false;
	plan.at_read = NEVER;
	plan.reads = 0;
}

/* -- send queue: WQEs of one or two blocks ------------------------------------------------------ */

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
	(void)state;
	each_send_queue(disturb_send);
}

/* 16 bits of the counters are as before, but the ring has other WQEs. */
static void a_send_queue_that_goes_round_unseen(void **state)
{
	(void)state;
	each_send_queue(leap_over_send);
}

/* The poller says what is done, even if the poster has not noticed. */
static void what_is_done(void **state)
{
	struct look look;

	(void)state;
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

	(void)state;
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

/* -- receive queue ------------------------------------------------------------------------------ */

static uint32_t life; /* from reset to reset */

static void write_recv(uint8_t *to, uint32_t index)
{
	const struct bsn_data data = { .byte_count = 1, .lkey = life, .addr = index };

	bsn_data_encode(to, &data);
}

static void move_recv(void)
{
	if (owner.producer - owner.done == RECVS)
		owner.done++;
	write_recv(owner.ring[0] + owner.producer % RECVS * BSN_DATA_SIZE, owner.producer);
	set_record(++owner.producer);
}

static void leap_recv(void)
{
	owner.done = owner.producer += plan.leap - 2 * RECVS;
	for (unsigned i = 0; i < 2 * RECVS; i++)
		move_recv();
}

/* The counter is ahead of the bytes, and the record is not. */
static void write_half_recv(bool is_second)
{
	static uint32_t index;
	if (!is_second)
		index = owner.producer - owner.done < RECVS ? owner.producer++ : UINT32_MAX;
	else if (index != UINT32_MAX)
		write_recv(owner.ring[0] + index % RECVS * BSN_DATA_SIZE, index);
	if (is_second && index != UINT32_MAX)
		set_record(owner.producer);
}

static void assert_recvs(const struct look *look)
{
	uint8_t recv[BSN_DATA_SIZE];

	for (uint32_t at = look->first; at != look->end; at++) {
		write_recv(recv, at);
		assert_memory_equal(look_at(look, at), recv, sizeof(recv));
	}
}

static void begin_recv(struct look *look)
{
	begin(look, BSN_REGISTRY_RECV, BSN_DATA_SIZE);
	look->published.queue.consumer = address(&owner.done); /* all of its 32 bits */
	look->published.queue.start = look->published.queue.lap = 0;
	owner.move = plan.leap ? leap_recv : move_recv;
	plan.write_half = write_half_recv;
	plan.delay = 5;
	life = 0;
}

static void check_recv(void)
{
	uint32_t producer;
	struct look look;

	begin_recv(&look);
	for (unsigned i = 0; i < RECVS - 2; i++)
		move_recv();
	plan.reads = 0;
	producer = owner.producer;
	if (!look_take(&look, false)) {
		assert_recvs(&look);
		assert_true(look.ring.producer.value == owner.producer ||
			    look.ring.producer.value == producer || !plan.leap);
	}
	be_still();
	assert_int_equal(look_take(&look, false), 0);
	assert_recvs(&look);
	assert_int_equal(look.first, owner.done);
	look_free(&look);
}

/* A new life, at the first of several moves. */
static void move_recv_after_reset(void)
{
	if (!life++) {
		owner.producer = owner.done = 0;
		set_record(0);
	}
	life = 1;
	move_recv();
}

static void check_recv_reset(void)
{
	struct bsn_data data;
	struct look look;

	begin_recv(&look);
	for (unsigned i = 0; i < RECVS - 2; i++)
		move_recv();
	owner.done = 3;
	owner.move = move_recv_after_reset;
	plan.halves = false;
	plan.reads = 0;
	if (!look_take(&look, false) && look.first != look.end) {
		bsn_data_decode(&data, look_at(&look, look.first));
		life = data.lkey;
		assert_int_equal(look.first, life ? 0 : 3);
		assert_recvs(&look);
	}
	look_free(&look);
}

static void a_receive_queue_that_moves(void **state)
{
	(void)state;
	each_disturbance(check_recv);
	each_disturbance(check_recv_reset);
	each_leap(RECVS, check_recv);
}

/* -- shared receive queue ----------------------------------------------------------------------- */

static uint8_t *slot_at(uint32_t slot)
{
	return owner.ring[0] + slot * LINK;
}

static void set_link(uint32_t slot, uint32_t next)
{
	const struct bsn_srq_next link = { .next_wqe_index = next };

	bsn_srq_next_encode(slot_at(slot), &link);
}

static void give_back(uint32_t slot)
{
	owner.is_posted[slot] = false;
	set_link(slot, BSN_REGISTRY_NO_SLOT);
	set_link(owner.last_slot, slot);
	owner.last_slot = (uint16_t)slot;
}

static uint16_t next_free(void)
{
	struct bsn_srq_next link;

	bsn_srq_next_decode(&link, slot_at(owner.next_slot));
	return (uint16_t)link.next_wqe_index;
}

static void write_shared(uint32_t slot)
{
	write_recv(slot_at(slot) + BSN_SRQ_NEXT_SIZE, owner.producer);
}

static void count_shared(void)
{
	owner.is_posted[owner.next_slot] = true;
	owner.next_slot = next_free();
	owner.producer++;
}

/*
 * Gives back a receive that was posted before others; or posts one if another free slot can be
 * next.
 */
static void move_shared(void)
{
	const uint32_t back = (owner.next_slot + 5u) % USED;

	if (owner.is_posted[back] && owner.producer % 3 == 0) {
		give_back(back);
	} else if (next_free() != BSN_REGISTRY_NO_SLOT) {
		write_shared(owner.next_slot);
		count_shared();
	}
}

/* The state at a moment between two moves. */
static struct moment {
	bool is_posted[USED];
	uint8_t ring[sizeof(owner.ring)];
} moments[3];
static unsigned moment_count;

static void remember(void)
{
	struct moment *moment = &moments[moment_count++];

	memcpy(moment->is_posted, owner.is_posted, sizeof(moment->is_posted));
	memcpy(moment->ring, owner.ring, sizeof(moment->ring));
}

/* The owner writes the next slot before it names another one as next. */
static void write_half_shared(bool is_second)
{
	static bool had_room;
	uint8_t before[LINK];

	if (!is_second) {
		remember();
		had_room = next_free() != BSN_REGISTRY_NO_SLOT;
	}
	if (!had_room)
		return;
	memcpy(before, slot_at(owner.next_slot), LINK);
	write_shared(owner.next_slot);
	if (is_second)
		count_shared();
	else
		memcpy(slot_at(owner.next_slot) + LINK / 2, before + LINK / 2, LINK / 2);
}

/* Whether the look agrees with the state of this moment, in every slot. */
static bool is_seen(const struct look *look, const struct moment *moment)
{
	for (uint32_t slot = 0; slot < USED; slot++) {
		if (look->is_free[slot] == moment->is_posted[slot])
			return false;
		if (moment->is_posted[slot] &&
		    memcmp(look_at(look, slot), moment->ring + slot * LINK, LINK) != 0)
			return false;
	}
	return true;
}

static void begin_shared(struct look *look)
{
	begin(look, BSN_REGISTRY_SHARED_RECV, LINK);
	look->published.queue.used = USED;
	look->published.queue.consumer = address(&owner.next_slot);
	look->published.queue.lap = 0;
	owner.move = move_shared;
	plan.write_half = write_half_shared;
	plan.delay = 6;
	set_link(0, BSN_REGISTRY_NO_SLOT);
	for (uint32_t slot = 1; slot < USED; slot++)
		give_back(slot);
	for (unsigned i = 0; i < USED / 2; i++)
		move_shared();
	plan.reads = moment_count = 0;
}

static void check_shared(void)
{
	bool was_seen = false;
	struct look look;

	begin_shared(&look);
	remember();
	if (!look_take(&look, false)) {
		remember();
		for (unsigned i = 0; i < moment_count; i++)
			was_seen |= is_seen(&look, &moments[i]);
		assert_true(was_seen);
	}
	be_still();
	assert_int_equal(look_take(&look, false), 0);
	moment_count = 0;
	remember();
	assert_true(is_seen(&look, &moments[0]));
	look_free(&look);
}

static void a_shared_receive_queue_that_moves(void **state)
{
	(void)state;
	each_disturbance(check_shared);
}

static void a_free_slot_that_cannot_be(void **state)
{
	struct look look;

	(void)state;
	for (unsigned wrong = 0; wrong < 4; wrong++) {
		begin_shared(&look);
		be_still();
		if (wrong == 0)
			set_link(owner.next_slot, USED);
		else if (wrong == 1)
			set_link(owner.last_slot, owner.next_slot);
		else
			owner.next_slot = wrong == 2 ? USED : BSN_REGISTRY_NO_SLOT;
		assert_int_equal(look_take(&look, false), -EAGAIN);
		assert_string_equal(look.why, "shared receive queue 0x1234: its list of free WQEs "
					      "was damaged");
		assert_int_equal(look.first, look.end);
		look_free(&look);
	}
}

/* -- completion queue --------------------------------------------------------------------------- */

static uint32_t cqes; /* written by the device */
static uint32_t polled;

static void write_cqe(uint8_t *to, uint32_t index)
{
	const struct bsn_cqe_tail tail = { .opcode = BSN_CQE_REQ,
					   .wqe_counter = index & UINT16_MAX,
					   .owner = index / COUNT % 2 };

	memset(to, (int)(index * 7), BYTES);
	bsn_cqe_tail_encode(to + BSN_CQE_TAIL_OFFSET, &tail);
}

static void publish_polled(void)
{
	const struct bsn_dbr_cq_ci record = { .ci = polled & 0xffffff };

	bsn_dbr_cq_ci_encode(owner.record, &record);
}

static void poll_one(void)
{
	polled++;
	owner.next += BYTES;
	if (polled % LAG == 0)
		publish_polled();
	if (polled % COUNT == 0) {
		owner.next = address(owner.ring);
		owner.phase ^= 1;
	}
}

/* The device writes no CQE that the record does not allow. */
static void move_cq(void)
{
	if (cqes - polled >= COUNT - LAG)
		poll_one();
	write_cqe(owner.ring[cqes % COUNT], cqes);
	cqes++;
}

/* As a reader sees it that copied the beginning before the CQE came, and its end after. */
static void write_half_cqe(bool is_second)
{
	uint8_t cqe[BYTES];

	if (cqes - polled >= COUNT - LAG)
		return;
	write_cqe(cqe, cqes);
	if (is_second)
		memcpy(owner.ring[cqes % COUNT], cqe, BYTES);
	else
		memcpy(owner.ring[cqes % COUNT] + BYTES / 2, cqe + BYTES / 2, BYTES / 2);
	cqes += is_second;
}

static uint32_t first_cqe;

static void begin_cq(struct look *look)
{
	begin(look, BSN_REGISTRY_COMPLETION, BYTES);
	look->published.queue.consumer = address(&owner.next);
	look->published.queue.start = address(&owner.phase);
	owner.move = move_cq;
	plan.write_half = write_half_cqe;
	plan.delay = 1;
	plan.reads = 0;
	cqes = polled = first_cqe;
	owner.next = address(owner.ring[first_cqe % COUNT]);
	owner.phase = first_cqe / COUNT % 2;
	publish_polled();
	for (uint32_t i = first_cqe; i < first_cqe + COUNT; i++) {
		write_cqe(owner.ring[i % COUNT], i - COUNT); /* of the round before */
		if (i < COUNT) {
			const struct bsn_cqe_tail none = { .opcode = BSN_CQE_INVALID, .owner = 1 };
			bsn_cqe_tail_encode(owner.ring[i % COUNT] + BSN_CQE_TAIL_OFFSET, &none);
		}
	}
	for (unsigned i = 0; i < 3; i++)
		move_cq();
}

static void assert_cqes(const struct look *look)
{
	uint8_t cqe[BYTES];

	assert_true(look->end - look->first <= COUNT);
	for (uint32_t at = look->first; at != look->end; at++) {
		write_cqe(cqe, at);
		assert_memory_equal(look_at(look, at), cqe, BYTES);
	}
}

static void check_cq(void)
{
	struct look look;
	uint32_t last_end;
	bool had_last;

	begin_cq(&look);
	if (!look_take(&look, false))
		assert_cqes(&look);
	be_still();
	had_last = look.has_last;
	last_end = look.last_end;
	assert_int_equal(look_take(&look, true), 0);
	assert_cqes(&look);
	assert_int_equal(look.end & 0xffffff, cqes & 0xffffff);
	assert_int_equal(look.done_end & 0xffffff, polled & 0xffffff);
	assert_true(!had_last || look.end - last_end <= MOVES + 1); /* it runs on beyond 24 bits */
	look_free(&look);
}

static void a_completion_queue_that_moves(void **state)
{
	(void)state;
	for (first_cqe = 0; first_cqe < 2 * COUNT; first_cqe += 7)
		each_disturbance(check_cq);
	first_cqe = (1u << 24) - 5; /* the record has 24 bits */
	each_disturbance(check_cq);
}

/* A process dies when its poller is between its two stores: one round is not taken for another. */
static void a_poller_that_stopped_halfway(void **state)
{
	struct look look;

	(void)state;
	first_cqe = COUNT - 1;
	begin_cq(&look);
	be_still();
	poll_one();
	owner.phase ^= 1; /* not yet */
	assert_int_equal(look_take(&look, false), -EAGAIN);
	assert_int_equal(look.first, look.end);
	assert_string_equal(look.why, "completion queue 0x1234: it is being polled");
	owner.phase ^= 1;
	assert_int_equal(look_take(&look, false), 0);
	owner.phase ^= 1; /* already of the round to which its poll will come */
	assert_int_equal(look_take(&look, false), -EAGAIN);
	assert_string_equal(look.why, "completion queue 0x1234: it is being polled");
	owner.phase ^= 1;
	owner.next += 1;
	assert_int_equal(look_take(&look, false), -EAGAIN);
	owner.next = address(owner.ring) + sizeof(owner.ring) - BYTES;
	poll_one(); /* at the end of the ring, before it goes round */
	owner.next = address(owner.ring) + sizeof(owner.ring);
	look_free(&look);
}

/* -- what a registry may say -------------------------------------------------------------------- */

static void a_queue_that_cannot_be(void **state)
{
	struct bsn_registry_queue *q;
	struct look look;

	(void)state;
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

/* -- a process that cannot be read -------------------------------------------------------------- */

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

	(void)state;
	refusal = -EPERM;
	assert_int_equal(published_read(&closed, &list), -EPERM);
	assert_string_equal(closed.why, "refused");
	refusal = -ESRCH;
	assert_int_equal(published_read(&closed, &list), -ESRCH);
	refusal = -EFAULT;
	assert_int_equal(published_read(&closed, &list), -ENODATA);
	published_free(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_send_queue_that_moves),
		cmocka_unit_test(a_send_queue_that_goes_round_unseen),
		cmocka_unit_test(what_is_done),
		cmocka_unit_test(what_is_no_wqe_ends_it),
		cmocka_unit_test(a_receive_queue_that_moves),
		cmocka_unit_test(a_shared_receive_queue_that_moves),
		cmocka_unit_test(a_free_slot_that_cannot_be),
		cmocka_unit_test(a_completion_queue_that_moves),
		cmocka_unit_test(a_poller_that_stopped_halfway),
		cmocka_unit_test(a_queue_that_cannot_be),
		cmocka_unit_test(a_refusal_is_no_answer),
	};

	return cmocka_run_group_tests_name("look", tests, NULL, NULL);
}
