/* SPDX-License-Identifier: BSD-2-Clause */
/* The same of receive queues, shared ones and completion queues, whose owner moves on meanwhile. */
#include "look_rig.h"

/* -- receive queue ----------------------------------------------------------------------------- */

static uint32_t life; /* from reset to reset */

static void write_recv(uint8_t *to, uint32_t index)
{
	ENCODE(data, to, .byte_count = 1, .lkey = life, .addr = index);
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
	each_disturbance(check_recv);
	each_disturbance(check_recv_reset);
	each_leap(RECVS, check_recv);
}

/* -- shared receive queue ---------------------------------------------------------------------- */

static uint8_t *slot_at(uint32_t slot)
{
	return owner.ring[0] + slot * LINK;
}

static void set_link(uint32_t slot, uint32_t next)
{
	ENCODE(srq_next, slot_at(slot), .next_wqe_index = next);
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
	const uint32_t back = (owner.next_slot + 5) % USED;

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
	each_disturbance(check_shared);
}

static void a_free_slot_that_cannot_be(void **state)
{
	struct look look;

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

/* -- completion queue -------------------------------------------------------------------------- */

static uint32_t cqes; /* written by the device */
static uint32_t polled;

static void write_cqe(uint8_t *to, uint32_t index)
{
	memset(to, (int)(index * 7), BYTES);
	ENCODE(cqe_tail, to + BSN_CQE_TAIL_OFFSET, .opcode = BSN_CQE_REQ,
	       .wqe_counter = index & UINT16_MAX, .owner = index / COUNT % 2);
}

static void publish_polled(void)
{
	ENCODE(dbr_cq_ci, owner.record, .ci = polled & 0xffffff);
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
			ENCODE(cqe_tail, owner.ring[i % COUNT] + BSN_CQE_TAIL_OFFSET,
			       .opcode = BSN_CQE_INVALID, .owner = 1);
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
	for (first_cqe = 0; first_cqe < 2 * COUNT; first_cqe += 7)
		each_disturbance(check_cq);
	first_cqe = (1u << 24) - 5; /* the record has 24 bits */
	each_disturbance(check_cq);
}

/* A process dies when its poller is between its two stores: one round is not taken for another. */
static void a_poller_that_stopped_halfway(void **state)
{
	struct look look;

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

UNIT_MAIN(NULL, UNIT(a_receive_queue_that_moves), UNIT(a_shared_receive_queue_that_moves),
	  UNIT(a_free_slot_that_cannot_be), UNIT(a_completion_queue_that_moves),
	  UNIT(a_poller_that_stopped_halfway))
