/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the library publishes about its queues for other processes. The test finds it as they do: by
 * the note.
 */
#define _GNU_SOURCE /* dl_iterate_phdr() */
#include "harness.h"

#include <elf.h>
#include <link.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bsn_decode.h"
#include "bsn_registry.h"

static const struct bsn_registry *registry;

/* -- as a reader would ------------------------------------------------------------------------- */

static size_t aligned(size_t bytes)
{
	return (bytes + 3) & ~(size_t)3;
}

static void look_into_notes(const uint8_t *at, size_t bytes)
{
	while (bytes >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const void *)at;
		const uint8_t *name = at + sizeof(*note), *desc = name + aligned(note->n_namesz);
		const size_t whole = (size_t)(desc - at) + aligned(note->n_descsz);
		if (note->n_namesz == sizeof(BSN_REGISTRY_NOTE_NAME) &&
		    !memcmp(name, BSN_REGISTRY_NOTE_NAME, note->n_namesz) &&
		    note->n_type == BSN_REGISTRY_NOTE_TYPE && note->n_descsz == sizeof(int64_t)) {
			int64_t distance;
			memcpy(&distance, desc, sizeof(distance));
			assert_null(registry);
			registry = (const void *)(desc + distance);
		}
		if (whole >= bytes)
			return;
		at += whole;
		bytes -= whole;
	}
}

static int look_into_image(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_NOTE)
			look_into_notes((const uint8_t *)info->dlpi_addr +
						info->dlpi_phdr[i].p_vaddr,
					info->dlpi_phdr[i].p_memsz);
	return 0;
}

static const struct bsn_registry_queue *at(uint64_t address)
{
	return (const struct bsn_registry_queue *)(uintptr_t)address;
}

static const struct bsn_registry_queue *find(enum bsn_registry_kind kind, uint32_t number)
{
	const struct bsn_registry_queue *q;
	unsigned left = (unsigned)registry->queue_count;

	assert_int_equal(registry->generation % 2, 0);
	for (q = at(registry->first); q; q = at(q->next), left--)
		if (q->kind == kind && q->number == number)
			return q;
	assert_int_equal(left, 0);
	return NULL;
}

static uint32_t word(uint64_t address)
{
	return *(const uint32_t *)(uintptr_t)address;
}

static uint16_t half(uint64_t address)
{
	uint16_t value;

	memcpy(&value, (const void *)(uintptr_t)address, sizeof(value)); /* may be unaligned */
	return value;
}

/* Returns all 32 bits of a send queue's producer. */
static uint32_t producer_of(const struct bsn_registry_queue *q)
{
	const uint32_t lap = word(q->lap);

	return lap + (uint16_t)(half(q->producer) - (uint16_t)lap);
}

/* -- cases ------------------------------------------------------------------------------------- */

static void the_head_says_what_it_is(struct bench *b)
{
	(void)b;
	assert_int_equal(registry->magic, BSN_REGISTRY_MAGIC);
	assert_memory_equal(&registry->magic, "BSNqueue", 8);
	assert_int_equal(registry->version, BSN_REGISTRY_VERSION);
	assert_int_equal(registry->layout_version, BSN_LAYOUT_VERSION);
	assert_ptr_equal((const void *)(uintptr_t)registry->self, registry);
	assert_int_equal(registry->first, 0);
	assert_int_equal(registry->queue_count, 0);
}

static void a_send_queue(struct bench *b)
{
	const struct bsn_registry_queue *q = find(BSN_REGISTRY_SEND, bsn_qp_info(b->qp[0])->number);
	struct bsn_ctrl ctrl;

	assert_non_null(q);
	assert_string_equal(q->device, bench_info(b)->name);
	assert_int_equal(q->transport, BSN_TRANSPORT_RC);
	assert_int_equal(q->ring != 0, bench_is_direct(b));
	assert_int_equal(q->count != 0, bench_is_direct(b));
	if (!bench_is_direct(b)) {
		assert_int_equal(q->producer | q->consumer | q->start | q->lap | q->count, 0);
		return;
	}
	assert_int_equal(q->stride_bytes, BSN_BB_SIZE);
	assert_non_null(find(BSN_REGISTRY_COMPLETION, q->cqn));
	for (uint64_t id = 0; id < 3; id++)
		ok(bsn_write(b->ep[0], SGE(b, 0, 0, 8), REMOTE(b, 1, 0), id, NOW));
	assert_int_equal(half(q->producer), 3);
	assert_int_equal(half(q->start), 0);
	assert_int_equal(word(q->record), htobe32(3));
	bsn_ctrl_decode(&ctrl, (const uint8_t *)(uintptr_t)q->ring + 2 * q->stride_bytes);
	assert_int_equal(ctrl.wqe_index, 2);
	assert_int_equal(ctrl.qpn, q->number);
	for (uint64_t id = 0; id < 3; id++)
		expect_done(b, b->cq[0], id, BSN_OPCODE_RDMA_WRITE);
	assert_int_equal(half(q->consumer), 2);
}

/* The lap is a copy of the producer, made now and then; both together give the whole producer. */
static void a_send_queue_that_goes_round(struct bench *b)
{
	const struct bsn_registry_queue *q = find(BSN_REGISTRY_SEND, bsn_qp_info(b->qp[0])->number);

	if (!bench_is_direct(b))
		return;
	for (uint32_t posted = 1; posted <= 5 * q->count; posted++) {
		ok(bsn_write(b->ep[0], SGE(b, 0, 0, 8), REMOTE(b, 1, 0), posted, NOW));
		assert_int_equal(producer_of(q), posted);
		assert_in_range(posted - word(q->lap), 0, q->count);
		expect_done(b, b->cq[0], posted, BSN_OPCODE_RDMA_WRITE);
		assert_int_equal(half(q->consumer), (uint16_t)(posted - 1));
		assert_in_range((uint16_t)(half(q->producer) - half(q->start)), 1, q->count);
	}
}

static void a_receive_queue(struct bench *b)
{
	const struct bsn_registry_queue *q = find(BSN_REGISTRY_RECV, bsn_qp_info(b->qp[1])->number);

	assert_non_null(q);
	assert_int_equal(q->ring != 0, bench_is_direct(b));
	assert_int_equal(q->count != 0, bench_is_direct(b));
	if (!bench_is_direct(b))
		return;
	assert_in_range(q->count, BENCH_DEPTH, 2 * BENCH_DEPTH);
	ok(bsn_recv(b->rq[1], SGE(b, 1, 0, 64), 1));
	ok(bsn_recv(b->rq[1], SGE(b, 1, 0, 64), 2));
	assert_int_equal(half(q->producer), 2);
	assert_int_equal(word(q->consumer), 0);
	assert_int_equal(word(q->record), htobe32(2));
}

static void a_completion_queue(struct bench *b)
{
	const uint32_t cqn = find(BSN_REGISTRY_SEND, bsn_qp_info(b->qp[0])->number)->cqn;
	const struct bsn_registry_queue *q = find(BSN_REGISTRY_COMPLETION, cqn);

	assert_non_null(q);
	assert_int_equal(q->ring != 0, bench_is_direct(b));
	assert_int_equal(q->count != 0, bench_is_direct(b));
	if (!bench_is_direct(b))
		return;
	assert_int_equal(q->stride_bytes, BSN_CQE_SIZE);
	assert_int_equal(*(const uint64_t *)(uintptr_t)q->consumer, q->ring);
	assert_int_equal(*(const uint8_t *)(uintptr_t)q->start, 0);
}

/* Each slot of the queue that was not posted is free, once: the next one, or one of the others. */
static void assert_free(const struct bsn_registry_queue *q, uint32_t first)
{
	struct bsn_srq_next link = { .next_wqe_index = word(q->consumer) };
	bool is_free[BENCH_DEPTH + 1] = { false };

	assert_int_equal(q->used, BENCH_DEPTH + 1);
	assert_true(q->used <= q->count);
	while (link.next_wqe_index != BSN_REGISTRY_NO_SLOT) {
		const uint32_t slot = link.next_wqe_index;
		assert_in_range(slot, 0, q->used - 1);
		assert_false(is_free[slot]);
		is_free[slot] = true;
		bsn_srq_next_decode(&link, (const uint8_t *)(uintptr_t)q->ring +
						   (size_t)slot * q->stride_bytes);
	}
	for (uint32_t slot = 0; slot < q->used; slot++)
		assert_int_equal(is_free[slot], slot >= first);
}

static void a_shared_receive_queue(struct bench *b)
{
	const struct bsn_registry_queue *q = at(registry->first);
	const struct bsn_registry_queue *user =
		find(BSN_REGISTRY_RECV, bsn_qp_info(b->qp[0])->number);

	while (q && q->kind != BSN_REGISTRY_SHARED_RECV)
		q = at(q->next);
	assert_non_null(q);
	assert_non_null(user);
	assert_int_equal(user->ring, 0);
	assert_non_null(find(BSN_REGISTRY_COMPLETION, user->cqn));
	assert_int_equal(user->srqn, q->number);
	assert_int_equal(q->ring != 0, bench_is_direct(b));
	assert_int_equal(q->count != 0, bench_is_direct(b));
	if (!bench_is_direct(b))
		return;
	assert_int_not_equal(q->number, 0);
	assert_free(q, 0);
	ok(bsn_recv(b->srq, SGE(b, 1, 0, 64), 1));
	assert_int_equal(half(q->producer), 1);
	assert_int_equal(word(q->consumer), 1);
	assert_free(q, 1);
	for (unsigned i = 1; i < BENCH_DEPTH; i++)
		ok(bsn_recv(b->srq, SGE(b, 1, 0, 64), i));
	assert_free(q, BENCH_DEPTH); /* one slot is left over */
}

static void a_first_failure(struct bench *b)
{
	const struct bsn_registry_queue *q = find(BSN_REGISTRY_SEND, bsn_qp_info(b->qp[0])->number);
	const struct bsn_completion *first = (const void *)(uintptr_t)q->first_error;
	struct bsn_remote remote = bench_remote(b, 1, 0);

	assert_int_equal(first->status, IBV_WC_SUCCESS);
	remote.rkey ^= 0xff00;
	ok(bsn_write(b->ep[0], SGE(b, 0, 0, 8), &remote, 7, NOW));
	expect_status(b, b->cq[0], 7, BSN_OPCODE_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(first->status, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(first->id, 7);
}

static void what_is_destroyed_is_gone(struct bench *b)
{
	const uint64_t generation = registry->generation, count = registry->queue_count;
	const uint32_t qpn = bsn_qp_info(b->qp[0])->number;
	struct bsn_qp *another;

	ok(bsn_qp_create(b->device,
			 &(struct bsn_qp_attr){ .cq = b->cq[0], .send_depth = 8, .recv_depth = 8 },
			 &another));
	assert_int_equal(registry->queue_count, count + 2);
	assert_int_equal(registry->generation, generation + 4);
	ok(bsn_qp_destroy(another));
	assert_int_equal(registry->queue_count, count);
	assert_int_equal(registry->generation, generation + 8);
	assert_non_null(find(BSN_REGISTRY_SEND, qpn));
}

static void what_cannot_be_destroyed_stays(struct bench *b)
{
	const uint64_t count = registry->queue_count;
	struct ibv_qp_init_attr init = { .send_cq = bsn_qp_info(b->qp[0])->verbs->send_cq,
					 .recv_cq = bsn_qp_info(b->qp[0])->verbs->send_cq,
					 .cap = { 1, 1, 1, 1, 0 },
					 .qp_type = IBV_QPT_RC };
	struct ibv_pd *pd = ibv_alloc_pd(bench_info(b)->verbs);
	struct ibv_qp *foreign = ibv_create_qp(pd, &init);

	assert_non_null(foreign);
	ok(bsn_qp_destroy(b->qp[0]));
	b->qp[0] = NULL;
	assert_int_equal(bsn_cq_destroy(b->cq[0]), -EBUSY);
	assert_int_equal(registry->queue_count, count - 2);
	assert_int_equal(ibv_destroy_qp(foreign), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	ok(bsn_cq_destroy(b->cq[0]));
	b->cq[0] = NULL;
	assert_int_equal(registry->queue_count, count - 3);
}

/* Whether another device of the process lists its CQ, by its attribute and the environment. */
static uint64_t lists(struct bench *b, bool wanted, const char *env)
{
	const struct bsn_device_attr attr = { .path = bench_info(b)->path, .list_queues = wanted };
	struct bsn_device *device;
	struct bsn_cq *cq;

	setenv("BSN_REGISTRY", env, 1);
	ok(bsn_device_open(bench_info(b)->name, &attr, &device));
	setenv("BSN_REGISTRY", "1", 1);
	ok(bsn_cq_create(device, NULL, &cq));
	uint64_t count = registry->queue_count;
	ok(bsn_cq_destroy(cq));
	ok(bsn_device_close(device));
	return count;
}

static void a_device_lists_where_it_is_asked_to(struct bench *b)
{
	struct bsn_device *device = NULL;

	assert_int_equal(lists(b, false, ""), 0);
	assert_int_equal(lists(b, false, "0"), 0);
	assert_int_equal(lists(b, false, "1"), 1);
	assert_int_equal(lists(b, true, ""), 1);
	setenv("BSN_REGISTRY", "yes", 1);
	assert_int_equal(bsn_device_open(bench_info(b)->name, NULL, &device), -EINVAL);
	assert_string_equal(bsn_error_text(), "BSN_REGISTRY=yes: use 1 or 0");
	setenv("BSN_REGISTRY", "1", 1);
}

/* A child of fork() has copies of the rings, but these are no queues. */
static void a_child_lists_nothing(struct bench *b)
{
	const uint64_t count = registry->queue_count;
	int status;
	pid_t child;

	(void)b;
	assert_int_not_equal(count, 0);
	child = fork();
	if (!child)
		_exit(registry->self || registry->first || registry->queue_count ||
		      registry->generation % 2);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(registry->queue_count, count);
	assert_int_not_equal(registry->self, 0);
}

static const struct bench_case cases[] = {
	{ CASE(the_head_says_what_it_is), BARE },
	{ CASE(a_send_queue) },
	{ CASE(a_send_queue_that_goes_round) },
	{ CASE(a_receive_queue) },
	{ CASE(a_completion_queue) },
	{ CASE(a_shared_receive_queue), .has_srq = true },
	{ CASE(a_first_failure) },
	{ CASE(a_child_lists_nothing) },
	{ CASE(what_is_destroyed_is_gone), OWN, .cq_entries = 256 },
	{ CASE(what_cannot_be_destroyed_stays), OWN },
	{ CASE(a_device_lists_where_it_is_asked_to), BARE },
};

int main(void)
{
	setenv("BSN_REGISTRY", "1", 1);
	dl_iterate_phdr(look_into_image, NULL);
	if (!registry)
		return 1;
	return bench_run("registry", cases, COUNT(cases));
}
