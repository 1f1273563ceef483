/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues. To ask for an event, Bunsen stores what libmlx5 stores, in the records and in
 * the register, over several rounds of the ring and of the number that counts events. Then the
 * event comes on both sides, or on neither.
 */
#include "compare.h"

#include <fcntl.h>

#include <infiniband/mlx5dv.h>

#include "../device/real_device.h"
#include "../wqe/random.h"

enum { ROUNDS = 3000, SIDES = 2 };

static struct {
	struct bench bench;
	struct party sender[SIDES], receiver[SIDES];
	uint32_t cqn[SIDES];
	const uint8_t *record[SIDES]; /* consumer, arm */
} t;

/* What an arm leaves behind. */
struct armed {
	uint8_t record[8];
	struct softcx_store store;
	size_t store_count;
};

static void unblock(int fd)
{
	ok(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK));
}

static void map_cqs(void)
{
	struct mlx5dv_cq map = { 0 };
	struct mlx5dv_obj obj = { .cq = { .in = t.receiver[0].cq[1], .out = &map } };

	ok(mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ));
	t.cqn[0] = map.cqn;
	t.record[0] = (const uint8_t *)map.dbrec;
	t.cqn[1] = dv_cq(t.receiver[1].bsn_cq[1])->cqn;
	t.record[1] = (const uint8_t *)dv_cq(t.receiver[1].bsn_cq[1])->record;
}

static void start(void)
{
	random_start();
	memset(&t, 0, sizeof(t));
	bench_open(&t.bench, CX_LINK_IB, BSN_QP_RC, BSN_STORE_8);
	t.bench.has_channel = true;
	for (unsigned i = 0; i < SIDES; i++)
		party_create_pair(&t.bench, &t.sender[i], &t.receiver[i],
				  &builders[i ? builder_count - 1 : 0]);
	unblock(t.receiver[0].channel->fd);
	unblock(bsn_channel_fd(t.receiver[1].bsn_channel));
	map_cqs();
}

static void stop(void)
{
	for (unsigned i = 0; i < SIDES; i++)
		party_destroy_pair(&t.sender[i], &t.receiver[i]);
	bench_close(&t.bench);
}

static void send_message(unsigned side, bool solicited)
{
	const unsigned flags = BSN_F_SIGNALED | (solicited ? BSN_F_SOLICITED : 0u);

	party_receive(&t.receiver[side], NULL, 0, 0);
	party_post(&t.sender[side], (struct bsn_wr){ .opcode = BSN_OPCODE_SEND, .flags = flags });
	party_success(&t.sender[side], 0);
}

static void reap_all(unsigned side, unsigned n)
{
	struct seen seen;

	while (n--)
		party_success(&t.receiver[side], 1);
	assert_false(party_reap(&t.receiver[side], 1, &seen));
}

static void arm(unsigned side, bool solicited, struct armed *out)
{
	ok(softcx_record_stores(STORES));
	if (side)
		ok(bsn_cq_request(t.receiver[side].bsn_cq[1], solicited));
	else
		ok(ibv_req_notify_cq(t.receiver[side].cq[1], solicited));
	out->store_count = softcx_stores(&out->store, 1);
	memcpy(out->record, t.record[side], sizeof(out->record));
}

static bool has_event(unsigned side)
{
	struct party *p = &t.receiver[side];
	struct bsn_cq *bsn_cq;
	struct ibv_cq *cq;
	void *context;

	if (side)
		return !bsn_channel_get(p->bsn_channel, &bsn_cq);
	if (ibv_get_cq_event(p->channel, &cq, &context))
		return false;
	ibv_ack_cq_events(cq, 1);
	return true;
}

/* Takes an event. Waits for it if one must come. */
static bool take_event(unsigned side, bool must_come)
{
	const long since_ms = now_ms();
	bool came, working;

	do {
		working = must_come && bench_is_working(&t.bench, since_ms);
		came = has_event(side);
	} while (!came && working);
	return came;
}

static void compare_stores(const struct armed *want, const struct armed *got)
{
	struct bsn_cq_doorbell bell;
	uint8_t mine[BSN_CQ_DOORBELL_SIZE];

	assert_int_equal(want->store_count, 1);
	assert_int_equal(got->store_count, 1);
	assert_int_equal(want->store.offset, BSN_UAR_CQ_ARM_OFFSET);
	assert_int_equal(got->store.offset, BSN_UAR_CQ_ARM_OFFSET);
	assert_int_equal(got->store.page, want->store.page);
	assert_int_equal(want->store.size, BSN_CQ_DOORBELL_SIZE);
	assert_int_equal(got->store.size, BSN_CQ_DOORBELL_SIZE);
	bsn_cq_doorbell_decode(&bell, want->store.data);
	assert_int_equal(bell.cqn, t.cqn[0]);
	bell.cqn = t.cqn[1]; /* each has its own */
	bsn_cq_doorbell_encode(mine, &bell);
	assert_memory_equal(got->store.data, mine, sizeof(mine));
}

/* A few messages are reaped, an event is asked for, one more message comes. */
static void arming(void **state)
{
	start();
	for (unsigned round = 0; round < ROUNDS; round++) {
		const uint64_t dice = random_u64();
		const unsigned before = (unsigned)(dice >> 8) % 4;
		const bool solicited_only = dice & 1, solicited = dice & 2;
		const bool comes = solicited || !solicited_only;
		struct armed armed[SIDES];

		for (unsigned side = 0; side < SIDES; side++) {
			for (unsigned i = 0; i < before; i++)
				send_message(side, false);
			reap_all(side, before);
			assert_false(take_event(side, false));
			arm(side, solicited_only, &armed[side]);
			send_message(side, solicited);
			assert_int_equal(take_event(side, comes), comes);
			assert_false(take_event(side, false));
			reap_all(side, 1);
			if (!solicited && solicited_only) { /* still armed */
				send_message(side, true);
				assert_true(take_event(side, true));
				reap_all(side, 1);
			}
		}
		assert_memory_equal(armed[1].record, armed[0].record, sizeof(armed[0].record));
		if (t.bench.is_model)
			compare_stores(&armed[0], &armed[1]);
	}
	stop();
}

UNIT_MAIN(NULL, UNIT(arming))
