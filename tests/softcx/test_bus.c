/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What libmlx5 asks of the bus, as a program reads it in /sys. Known sequences of posts give
 * exactly these counts, however the trap sees the stores.
 */
#include "loopback.h"

#include "shim/trap.h"

struct text {
	char bytes[4096];
};

static struct text before;

static void read_counts(struct text *text)
{
	FILE *file = made(fopen("/sys/class/infiniband/mlx5_0/softcx_bus", "r"));
	size_t len = fread(text->bytes, 1, sizeof(text->bytes) - 1, file);

	text->bytes[len] = '\0';
	assert_int_equal(fclose(file), 0);
}

/* -1: there is no such line. */
static long value_of(const struct text *text, const char *name)
{
	const size_t len = strlen(name);

	for (const char *line = text->bytes; *line; line = strchr(line, '\n') + 1)
		if (!strncmp(line, name, len) && line[len] == ' ')
			return strtol(line + len, NULL, 10);
	return -1;
}

static void begin(void)
{
	read_counts(&before);
}

#define ASSERT_COUNT(name, count, bytes)                                                           \
	do {                                                                                       \
		struct text now_;                                                                  \
                                                                                                   \
		read_counts(&now_);                                                                \
		assert_int_equal(value_of(&now_, name) - value_of(&before, name), count);          \
		assert_int_equal(                                                                  \
			value_of(&now_, name "_bytes") - value_of(&before, name "_bytes"), bytes); \
	} while (0)

static void assert_width(const char *name, long count)
{
	struct text now;

	read_counts(&now);
	assert_int_equal(value_of(&now, name) - value_of(&before, name), count);
}

/* -- the device -------------------------------------------------------------------------------- */

static int set_up(void **state)
{
	const enum trap_mode mode = (enum trap_mode)given(state);

	loopback_set_up_active(state);
	trap_set_mode(mode);
	return 0;
}

/* A chain of `count` WRITEs of `len` bytes, of which the last is signaled. */
static void post_writes(unsigned count, uint32_t len, unsigned flags)
{
	struct ibv_sge sge = { (uintptr_t)lo.memory, len, lo.mr->lkey };
	struct ibv_send_wr wr[16], *bad;

	for (unsigned i = 0; i < count; i++)
		wr[i] = (struct ibv_send_wr){
			.next = i + 1 < count ? &wr[i + 1] : NULL,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = flags | (i + 1 < count ? 0 : IBV_SEND_SIGNALED),
			.wr.rdma = { (uintptr_t)lo.memory + 2048, lo.mr->rkey },
		};
	assert_int_equal(ibv_post_send(lo.qp, wr, &bad), 0);
}

static void poll_successes(int count)
{
	struct ibv_wc wc;

	while (count--)
		assert_int_equal(loopback_poll().status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_poll_cq(lo.cq, 1, &wc), 0);
}

/* -- posting ----------------------------------------------------------------------------------- */

static void a_post_by_blueflame_is_eight_stores_and_no_fetch(void **state)
{
	begin();
	post_writes(1, 8, 0);
	poll_successes(1);
	ASSERT_COUNT("mmio", 8, 64);
	assert_width("mmio_width_8", 8);
	ASSERT_COUNT("blueflame", 8, 64);
	ASSERT_COUNT("doorbell", 0, 0);
	ASSERT_COUNT("stray", 0, 0);
	ASSERT_COUNT("wqe_fetch", 0, 0);
	ASSERT_COUNT("send_record_read", 1, 4);
	ASSERT_COUNT("payload_read", 1, 8);
	ASSERT_COUNT("payload_write", 1, 8);
	ASSERT_COUNT("cqe_write", 1, 64);
}

static void a_chain_of_three_is_one_store_and_one_fetch(void **state)
{
	begin();
	post_writes(3, 8, 0);
	poll_successes(1);
	ASSERT_COUNT("mmio", 1, 8);
	ASSERT_COUNT("doorbell", 1, 8);
	ASSERT_COUNT("blueflame", 0, 0);
	ASSERT_COUNT("wqe_fetch", 1, 3 * 64);
	ASSERT_COUNT("send_record_read", 1, 4);
	ASSERT_COUNT("payload_read", 3, 3 * 8);
	ASSERT_COUNT("cqe_write", 1, 64);
}

/* The ring has room for 64 blocks or more, and is at its start. */
static void a_long_chain_is_fetched_eight_blocks_at_a_time(void **state)
{
	begin();
	post_writes(12, 8, 0);
	poll_successes(1);
	ASSERT_COUNT("mmio", 1, 8);
	ASSERT_COUNT("wqe_fetch", 2, 12 * 64);
}

static void inline_data_comes_with_the_wqe(void **state)
{
	begin();
	post_writes(1, 100, IBV_SEND_INLINE);
	poll_successes(1);
	ASSERT_COUNT("mmio", 24, 3 * 64);
	ASSERT_COUNT("blueflame", 24, 3 * 64);
	ASSERT_COUNT("wqe_fetch", 0, 0);
	ASSERT_COUNT("payload_read", 0, 0);
	ASSERT_COUNT("payload_write", 1, 100);
}

static void doorbells_and_copies_into_one_register_are_told_apart(void **state)
{
	begin();
	for (unsigned i = 0; i < 4; i++) { /* libmlx5 uses a register's halves in turn */
		post_writes(2, 8, 0);
		post_writes(1, 8, 0);
		post_writes(1, 8, 0);
	}
	poll_successes(12);
	ASSERT_COUNT("doorbell", 4, 4 * 8);
	ASSERT_COUNT("blueflame", 64, 512);
	ASSERT_COUNT("wqe_fetch", 4, 8 * 64);
}

static void arming_is_a_store_of_eight_bytes(void **state)
{
	begin();
	assert_int_equal(ibv_req_notify_cq(lo.cq, 0), 0);
	ASSERT_COUNT("mmio", 1, 8);
	ASSERT_COUNT("arm", 1, 8);
}

static void a_receive_stores_nothing_and_is_fetched(void **state)
{
	begin();
	for (unsigned i = 0; i < 2; i++)
		loopback_post_receive(i, lo.memory + 1024, lo.mr->lkey, 512);
	ASSERT_COUNT("mmio", 0, 0);
	loopback_post(IBV_WR_SEND, (uintptr_t)lo.memory, lo.mr->lkey, 200, 0, 0);
	poll_successes(2);
	ASSERT_COUNT("recv_record_read", 1, 4);
	ASSERT_COUNT("recv_wqe_fetch", 1, 32); /* two segments: the stride of two SGEs */
	ASSERT_COUNT("payload_read", 1, 200);
	ASSERT_COUNT("payload_write", 1, 200);
	ASSERT_COUNT("cqe_write", 2, 2 * 64);
}

/* -- without a trap ---------------------------------------------------------------------------- */

static void a_passive_device_counts_what_it_reads_itself(void **state)
{
	struct text now;

	begin();
	post_writes(3, 8, 0);
	post_writes(1, 8, 0);
	assert_int_equal(softcx_step(0), 4);
	poll_successes(2);
	ASSERT_COUNT("wqe_fetch", 1, 4 * 64);
	ASSERT_COUNT("cqe_write", 2, 2 * 64);
	read_counts(&now);
	assert_int_equal(value_of(&now, "mmio"), -1); /* not known, so it is not reported as 0 */
	assert_int_equal(value_of(&now, "blueflame"), -1);
}

static void a_snapshot_stays_what_it_was(void **state)
{
	FILE *file = made(fopen("/sys/class/infiniband/mlx5_0/softcx_bus", "r"));
	char line[64], again[64];

	post_writes(1, 8, 0);
	softcx_step(0);
	assert_non_null(fgets(line, sizeof(line), file));
	rewind(file);
	begin();
	assert_non_null(fgets(again, sizeof(again), file));
	assert_string_equal(line, again);
	fclose(file);
	poll_successes(1);
}

#define MODE(name, f, mode) NAMED(name, f, mode, set_up, loopback_tear_down)

#define EACH_MODE(f) MODE(#f " (exact)", f, TRAP_EXACT), MODE(#f " (absorbed)", f, TRAP_ABSORB)

UNIT_MAIN(NULL, EACH_MODE(a_post_by_blueflame_is_eight_stores_and_no_fetch),
	  EACH_MODE(a_chain_of_three_is_one_store_and_one_fetch),
	  EACH_MODE(a_long_chain_is_fetched_eight_blocks_at_a_time),
	  EACH_MODE(inline_data_comes_with_the_wqe),
	  EACH_MODE(doorbells_and_copies_into_one_register_are_told_apart),
	  EACH_MODE(arming_is_a_store_of_eight_bytes),
	  EACH_MODE(a_receive_stores_nothing_and_is_fetched),
	  ON_LOOPBACK(a_passive_device_counts_what_it_reads_itself),
	  ON_LOOPBACK(a_snapshot_stays_what_it_was))
