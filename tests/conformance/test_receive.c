/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receive queues: every list of SGEs at every position, over several wraps. The WQE, an SRQ's links
 * and the doorbell record equal libmlx5's, nothing is stored into a register, and messages end up
 * where the list says.
 */
#include "compare.h"
#include "srq.h"

#include "../wqe/random.h"

enum { MAX_RECV_SGE = 5, STRIDE_MAX = 256, LAPS = 4, SIDES = 3 };

struct setting {
	const char *name;
	unsigned max_sge;
	bool has_srq;
};

static struct {
	struct bench bench;
	struct party sender[SIDES], receiver[SIDES];
	uint64_t next_id;
} t;

static const char *const side_names[SIDES] = { "ibv_post_recv", "bsn_recv_sgl", "bsn_recv" };

static uint8_t *at(size_t offset)
{
	return bench_at(&t.bench, offset);
}

static void start(const struct setting *setting)
{
	memset(&t, 0, sizeof(t));
	bench_open(&t.bench, CX_LINK_IB, BSN_QP_RC, BSN_STORE_8);
	t.bench.has_srq = setting->has_srq;
	t.bench.max_recv_sge = setting->max_sge;
	for (unsigned i = 0; i < SIDES; i++) {
		party_create_pair(&t.bench, &t.sender[i], &t.receiver[i],
				  &builders[i ? builder_count - 1 : 0]);
		assert_in_range(t.receiver[i].recv_stride, BSN_DATA_SIZE, STRIDE_MAX);
	}
}

static void stop(void)
{
	for (unsigned i = 0; i < SIDES; i++)
		party_destroy_pair(&t.sender[i], &t.receiver[i]);
	bench_close(&t.bench);
}

/* -- what was posted --------------------------------------------------------------------------- */

/* All of a receive ring, and its record. */
struct ring {
	uint8_t wqe[RECV_DEPTH][STRIDE_MAX];
	uint8_t record[4];
};

static unsigned head_bytes(void)
{
	return t.bench.has_srq ? BSN_SRQ_NEXT_SIZE : 0;
}

/* Fills the ring with random bytes, except for the links. */
static void poison(struct party *p)
{
	for (unsigned i = 0; i < RECV_DEPTH; i++)
		random_bytes(p->recv_ring + (size_t)i * p->recv_stride + head_bytes(),
			     p->recv_stride - head_bytes());
}

static void take(const struct party *p, struct ring *out)
{
	for (unsigned i = 0; i < RECV_DEPTH; i++)
		memcpy(out->wqe[i], p->recv_ring + (size_t)i * p->recv_stride, p->recv_stride);
	memcpy(out->record, p->recv_record, sizeof(out->record));
}

/* The next WQE of an SRQ is the one that the last one's link names. */
static unsigned next_slot(const struct party *p, unsigned slot)
{
	struct bsn_srq_next link;

	if (!t.bench.has_srq)
		return (slot + 1) % RECV_DEPTH;
	bsn_srq_next_decode(&link, p->recv_ring + (size_t)slot * p->recv_stride);
	return link.next_wqe_index;
}

static int compare_rows(const struct bsn_seg_desc *desc, const uint8_t *want, const uint8_t *got,
			unsigned offset)
{
	int bad = 0;

	for (unsigned i = 0; i < desc->row_count; i++) {
		const struct bsn_row *row = &desc->rows[i];
		const uint64_t a = bsn_row_get(row, want + offset);
		const uint64_t b = bsn_row_get(row, got + offset);

		if (row->kind == BSN_ROW_IGNORED || a == b)
			continue;
		print_error("  byte %u, %s.%s: libmlx5 %#llx, the other one %#llx\n",
			    offset + bsn_row_offset(row), desc->name, row->name ? row->name : "-",
			    (unsigned long long)a, (unsigned long long)b);
		bad = 1;
	}
	return bad;
}

/* Compares the list as far as the device reads it: with its end, if it does not fill the stride. */
static int compare_list(const struct party *p, const uint8_t *want, const uint8_t *got)
{
	struct bsn_recv_wqe a, b;
	unsigned entries;
	int bad = 0;

	if (bsn_recv_decode(want, p->recv_stride, t.bench.has_srq, &a, NULL) ||
	    bsn_recv_decode(got, p->recv_stride, t.bench.has_srq, &b, NULL) ||
	    a.data_count != b.data_count) {
		print_error("the lists are not of one length, or cannot be read\n");
		return 1;
	}
	entries = (p->recv_stride - head_bytes()) / BSN_DATA_SIZE;
	if (entries > a.data_count + 1u)
		entries = a.data_count + 1u;
	for (unsigned i = 0; i < entries; i++)
		bad |= compare_rows(&bsn_data_desc, want, got, head_bytes() + i * BSN_DATA_SIZE);
	return bad;
}

/* The last free WQE of an SRQ has no link until another comes back; it is not posted before. */
static bool is_last_free(const uint8_t *wqe)
{
	struct bsn_srq_next link;

	bsn_srq_next_decode(&link, wqe);
	return link.next_wqe_index == BSN_SRQ_NO_SLOT;
}

static int compare(const struct party *p, const struct ring *want, const struct ring *got,
		   unsigned slot)
{
	if (compare_list(p, want->wqe[slot], got->wqe[slot]))
		return 1;
	for (unsigned i = 0; i < RECV_DEPTH && t.bench.has_srq; i++)
		if ((i == slot || !is_last_free(got->wqe[i])) &&
		    compare_rows(&bsn_srq_next_desc, want->wqe[i], got->wqe[i], 0))
			return 1;
	return compare_rows(&bsn_dbr_wq_desc, want->record, got->record, 0);
}

/* -- a message --------------------------------------------------------------------------------- */

struct list {
	struct bsn_sge sge[MAX_RECV_SGE];
	unsigned count, bytes, message;
	uint64_t id;
};

static void make_list(struct list *l, unsigned count, int empty)
{
	*l = (struct list){ .count = count, .id = ++t.next_id };
	for (unsigned i = 0; i < count; i++) {
		l->sge[i] =
			(struct bsn_sge){ (uintptr_t)at(TARGET) + l->bytes + 16 * i + 5,
					  1 + (unsigned)(random_u64() % 50), t.bench.memory->lkey };
		if ((int)i == empty)
			l->sge[i].length = 0;
		l->bytes += l->sge[i].length;
	}
	l->message = l->bytes - (random_u64() % 2 ? (unsigned)(random_u64() % (l->bytes + 1)) : 0);
}

static void post(unsigned side, const struct list *l)
{
	struct party *p = &t.receiver[side];

	ok(softcx_record_stores(1));
	if (side == 2 && l->count == 1)
		ok(bsn_recv(bsn_qp_rq(p->qp), l->sge, l->id));
	else
		party_receive(p, l->sge, l->count, l->id);
	assert_int_equal(softcx_stores(NULL, 0), 0);
}

static void send_message(unsigned side, const struct list *l)
{
	const struct bsn_sge sge = bsn_sge_of(t.bench.memory, SOURCE, l->message);

	memset(at(TARGET), 0, AREA_BYTES);
	for (unsigned i = 0; i < l->message; i++)
		at(SOURCE)[i] = (uint8_t)(l->id + i) | 1;
	party_post(&t.sender[side], (struct bsn_wr){ .sge = &sge,
						     .sge_count = 1,
						     .opcode = BSN_OPCODE_SEND,
						     .flags = BSN_F_SIGNALED });
	party_success(&t.sender[side], 0);
}

static void check_message(unsigned side, const struct list *l)
{
	const struct seen seen = party_success(&t.receiver[side], 1);
	unsigned done = 0;

	assert_int_equal(seen.id, l->id);
	assert_int_equal(seen.byte_len, l->message);
	for (unsigned i = 0; i < l->count; i++) {
		const unsigned left = l->message - done;
		const unsigned n = left < l->sge[i].length ? left : l->sge[i].length;
		const uint8_t *piece = (const uint8_t *)(uintptr_t)l->sge[i].addr;

		assert_memory_equal(piece, at(SOURCE) + done, n);
		assert_int_equal(piece[n], 0);
		done += n;
	}
	assert_int_equal(done, l->message);
}

/* -- all of it --------------------------------------------------------------------------------- */

/* Posts one receive on each side, and sends the message that consumes it. */
static void round_of(const struct setting *setting, unsigned *slot, unsigned count, int empty)
{
	struct ring want, got;
	struct list list;

	make_list(&list, count, empty);
	for (unsigned side = 0; side < SIDES; side++) {
		poison(&t.receiver[side]);
		post(side, &list);
		take(&t.receiver[side], side ? &got : &want);
		if (side && compare(&t.receiver[side], &want, &got, *slot)) {
			print_error("%s, %s: %u SGEs, position %u of %u\n", setting->name,
				    side_names[side], count, *slot, RECV_DEPTH);
			fail();
		}
	}
	*slot = next_slot(&t.receiver[0], *slot);
	for (unsigned side = 0; side < SIDES; side++) {
		send_message(side, &list);
		check_message(side, &list);
	}
}

static void every_list(void **state)
{
	const struct setting *setting = *state;
	unsigned slot = 0;

	start(setting);
	for (unsigned count = 0; count <= setting->max_sge; count++) {
		for (unsigned i = 0; i < LAPS * RECV_DEPTH; i++)
			round_of(setting, &slot, count, -1);
		/* libmlx5 skips empty SGEs in an RQ; in an SRQ they would mean 2^31 bytes. */
		for (unsigned empty = 0; empty < count && !setting->has_srq; empty++)
			round_of(setting, &slot, count, (int)empty);
	}
	stop();
}

static const struct setting settings[] = {
	{ .name = "an RQ of 1 SGE", .max_sge = 1 },
	{ .name = "an RQ of 2 SGEs", .max_sge = 2 },
	{ .name = "an RQ of 3 SGEs", .max_sge = 3 },
	{ .name = "an RQ of 5 SGEs", .max_sge = 5 },
	{ .name = "an SRQ of 1 SGE", .max_sge = 1, .has_srq = true },
	{ .name = "an SRQ of 2 SGEs", .max_sge = 2, .has_srq = true },
	{ .name = "an SRQ of 3 SGEs", .max_sge = 3, .has_srq = true },
	{ .name = "an SRQ of 5 SGEs", .max_sge = 5, .has_srq = true },
};

enum { SETTINGS = sizeof(settings) / sizeof(settings[0]) };

int main(void)
{
	struct CMUnitTest tests[SETTINGS];

	for (unsigned i = 0; i < SETTINGS; i++)
		tests[i] = UNIT_ROW(settings[i], every_list);
	random_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
