/* SPDX-License-Identifier: BSD-2-Clause */
/* Receives: what is in the ring, and in the record. */
#include "fake.h"

static void assert_received(const struct fake *f, uint32_t slot, const struct bsn_sge *sge,
			    uint32_t count)
{
	const size_t stride = (size_t)1 << dv_rq(f->rq)->stride_log2;
	struct bsn_recv_wqe recv;
	struct bsn_bad bad;
	unsigned at = 0;

	ok(bsn_recv_decode(f->rq_ring + slot * stride, stride,
			   dv_rq(f->rq)->is_srq ? BSN_RECV_LINKED : BSN_RECV_PLAIN, &recv, &bad));
	for (uint32_t i = 0; i < count; i++) {
		if (!sge[i].length)
			continue;
		assert_int_equal(recv.data[at].addr, sge[i].addr);
		assert_int_equal(recv.data[at].lkey, sge[i].lkey);
		assert_int_equal(recv.data[at].length_bytes, sge[i].length);
		at++;
	}
	assert_int_equal(recv.data_count, at);
}

static void seek_recv(struct fake *f, uint32_t head)
{
	f->rq->head = (uint16_t)head;
	f->rq->tail = head;
	f->rq->id_at = f->rq->ids + (head & f->rq->mask);
	f->rq->slot = dv_rq(f->rq)->ring + (head & f->rq->mask) * f->rq->stride;
	f->rq->limit = f->rq->slot + f->rq->stride;
}

/* Posts by the function of one SGE, by lists that the compiler knows, and by any list. */
static int recv_by(struct fake *f, unsigned way, const struct bsn_sge *sge, uint32_t count,
		   uint64_t id)
{
	if (way == 1 && count == 1)
		return bsn_recv_sgl(f->rq, sge, 1, id);
	if (way == 1 && count == 2)
		return bsn_recv_sgl(f->rq, sge, 2, id);
	if (way == 1 && count == 3)
		return bsn_recv_sgl(f->rq, sge, 3, id);
	if (way == 1 && count == 4)
		return bsn_recv_sgl(f->rq, sge, 4, id);
	if (way == 2)
		return bsn_rq_post(f->rq, sge, count, id);
	return count == 1 ? bsn_recv(f->rq, sge, id) : bsn_recv_sgl(f->rq, sge, count, id);
}

/* Every stride, list and position, two laps: the list, its end, record, id, neighbours. */
static void receives_are_in_the_ring(void **state)
{
	static const struct bsn_sge some[][4] = {
		{ { 0x1000, 10, 1 }, { 0x2000, 0, 2 }, { 0x3000, 30, 3 }, { 0x4000, 40, 4 } },
		{ { 0x1000, 10, 1 }, { 0x2000, 20, 2 }, { 0x3000, 30, 3 }, { 0x4000, 40, 4 } },
	};

	for (uint32_t stride = 16; stride <= 128; stride *= 2) {
		OWNED struct fake *f = FAKE(.recv_stride = stride, .recv_count = 8);
		const uint32_t max = stride / 16;

		for (uint32_t at = 0; at < 3 * 17; at++)
			for (uint32_t count = 0; count <= max && count <= 4; count++) {
				const uint32_t head = at / 3, way = at % 3, slot = head % 8;
				const size_t start = slot * stride;
				const struct bsn_sge *sge = some[head % 2];

				memset(f->rq_ring, FAKE_POISON, f->rq_bytes);
				seek_recv(f, head);
				ok(recv_by(f, way, sge, count, head));
				assert_received(f, slot, sge, count);
				assert_poison(f->rq_ring, start);
				assert_poison(f->rq_ring + start + stride,
					      f->rq_bytes - start - stride);
				assert_int_equal(fake_recv_record(f), head + 1);
				assert_int_equal(f->rq->ids[slot], head);
			}
		assert_int_equal(bsn_recv_sgl(f->rq, some[1], max + 1, 0), -EMSGSIZE);
	}
}

static void a_full_receive_queue_refuses(void **state)
{
	const struct bsn_sge sge = { 0x1000, 10, 1 }, huge = { 0x1000, 0x80000000u, 1 };
	OWNED struct fake *f = FAKE(.recv_count = 8, .recv_capacity = 6);
	uint8_t before[8 * 64];

	assert_int_equal(bsn_recv(f->rq, &huge, 0), -EMSGSIZE);
	assert_poison(f->rq_ring, f->rq_bytes);
	for (uint64_t i = 0; i < 6; i++)
		ok(bsn_recv(f->rq, &sge, i));
	memcpy(before, f->rq_ring, sizeof(before));
	assert_int_equal(bsn_recv(f->rq, &sge, 6), -EAGAIN);
	assert_int_equal(bsn_recv_sgl(f->rq, &sge, 1, 6), -EAGAIN);
	assert_memory_equal(before, f->rq_ring, sizeof(before));
	assert_int_equal(fake_recv_record(f), 6);
	assert_int_equal(dv_rq(f->rq)->count_full, 2);
	ok(bsn_rq_retire(f->rq, 0));
	ok(bsn_recv(f->rq, &sge, 6));
	assert_int_equal(bsn_recv(f->rq, &sge, 7), -EAGAIN);
}

/* A linked list: posts follow the links, in whatever order WQEs came back; the links stay. */
static void a_shared_queue_follows_its_links(void **state)
{
	const struct bsn_sge sge[] = { { 0x1000, 10, 1 }, { 0x2000, 20, 2 }, { 0x3000, 30, 3 } };
	OWNED struct fake *f = FAKE(.is_srq = true, .recv_count = 8);
	uint16_t posted[7] = { 0 };

	assert_int_equal(f->rq->max_sge, 3);
	for (unsigned round = 0; round < 50; round++) {
		for (unsigned i = 0; i < 7; i++) {
			posted[i] = bsn_srq_of(f->rq)->next;
			ok(i % 2 ? bsn_recv(f->rq, sge, 100 + posted[i])
				 : bsn_recv_sgl(f->rq, sge, 3, 100 + posted[i]));
			assert_received(f, posted[i], sge, i % 2 ? 1 : 3);
			assert_int_equal(fake_recv_record(f), (uint16_t)(7 * round + i + 1));
		}
		assert_int_equal(bsn_recv(f->rq, sge, 0), -EAGAIN);
		for (unsigned i = 0; i < 7; i++) { /* not in the order of posting */
			const uint16_t slot = posted[(i * 3 + round) % 7];
			assert_int_equal(bsn_rq_give_back(f->rq, slot), 100 + slot);
		}
	}
}

/* -- many receives at once --------------------------------------------------------------------- */

enum { MANY_SLOTS = 16 };

/* What comes back, and in which order, is the same for both: an SRQ's in turn, or @step apart. */
static void give_back_some(struct fake *f[2], uint16_t *posted, uint32_t *held, unsigned n,
			   unsigned step)
{
	for (unsigned i = 0; i < n; i++) {
		const unsigned which = i * step % *held;
		const uint16_t slot = posted[which];

		assert_int_equal(bsn_rq_give_back(f[0]->rq, slot),
				 bsn_rq_give_back(f[1]->rq, slot));
		memmove(&posted[which], &posted[which + 1], (*held - which - 1) * sizeof(*posted));
		--*held;
	}
}

/* Many at once give the bytes, ids, record and room of one by one, wherever they begin. */
static void many_by(const struct fake_attr *attr, unsigned many, unsigned step)
{
	struct fake *f[2] = { fake_create(attr), fake_create(attr) };
	uint16_t posted[MANY_SLOTS];
	struct bsn_sge sge[MANY_SLOTS];
	uint64_t ids[MANY_SLOTS], id = 0;
	uint32_t held = 0;

	for (unsigned round = 0; round < 60; round++) {
		int one = 0, got;
		for (unsigned i = 0; i < many; i++) {
			id++;
			/* One in seven is empty; every other time all are plain: eight in a row. */
			sge[i] = (struct bsn_sge){ 0x1000 * id,
						   (uint32_t)(round % 2 ? id : id % 7 * 10),
						   (uint32_t)id };
			ids[i] = id << 32 | 5;
		}
		for (unsigned i = 0; i < many; i++) {
			const uint16_t slot =
				attr->is_srq ? bsn_srq_of(f[0]->rq)->next : f[0]->rq->head;
			const int err = bsn_rq_post(f[0]->rq, &sge[i], 1, ids[i]);

			if (err && !one)
				one = err;
			if (err)
				break;
			posted[held++] = slot & (MANY_SLOTS - 1);
			one++;
		}
		got = bsn_recv_many(f[1]->rq, sge, ids, many);
		assert_int_equal(got, one);
		assert_memory_equal(f[0]->rq_ring, f[1]->rq_ring, f[0]->rq_bytes);
		assert_memory_equal(f[0]->rq->ids, f[1]->rq->ids, MANY_SLOTS * sizeof(uint64_t));
		assert_int_equal(fake_recv_record(f[0]), fake_recv_record(f[1]));
		if (attr->is_srq)
			assert_int_equal(bsn_srq_of(f[0]->rq)->next, bsn_srq_of(f[1]->rq)->next);
		give_back_some(f, posted, &held, held * (round % 4 + 1) / 4, step);
	}
	fake_destroy(f[0]);
	fake_destroy(f[1]);
}

static void many_receives_are_as_one_by_one(void **state)
{
	for (unsigned kind = 0; kind < 3; kind++) /* own, shared, shared and posted to by pollers */
		for (uint32_t stride = 16; stride <= 64; stride *= 2)
			for (unsigned many = 1; many <= MANY_SLOTS; many++) {
				const struct fake_attr attr = { .is_srq = kind,
								.is_on_demand = kind == 2,
								.recv_count = MANY_SLOTS,
								.recv_stride = kind ? 2 * stride
										    : stride };
				many_by(&attr, many, 0);
				if (kind)
					many_by(&attr, many, 5);
			}
}

static void what_is_refused_of_many_ends_them(void **state)
{
	struct bsn_sge sge[4] = { { 0x1000, 10, 1 }, { 0x2000, 20, 2 }, { 0x3000, 1u << 31, 3 } };
	const uint64_t ids[4] = { 1, 2, 3, 4 };

	for (int is_srq = 0; is_srq < 2; is_srq++) {
		OWNED struct fake *f = FAKE(.is_srq = is_srq, .recv_stride = is_srq ? 32 : 16);
		assert_int_equal(bsn_recv_many(f->rq, sge, ids, 0), 0);
		assert_int_equal(bsn_recv_many(f->rq, sge, ids, 4), 2);
		assert_int_equal(fake_recv_record(f), 2);
		assert_int_equal(bsn_recv_many(f->rq, sge + 2, ids + 2, 2), -EMSGSIZE);
		assert_int_equal(bsn_recv_many(f->rq, sge + 3, ids + 3, 1), 1);
		assert_int_equal(fake_recv_record(f), 3);
	}
	assert_int_equal(bsn_recv_many(NULL, sge, ids, 1), -EINVAL);
}

UNIT_MAIN(NULL, UNIT(receives_are_in_the_ring), UNIT(a_full_receive_queue_refuses),
	  UNIT(a_shared_queue_follows_its_links), UNIT(many_receives_are_as_one_by_one),
	  UNIT(what_is_refused_of_many_ends_them))
