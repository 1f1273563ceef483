/* SPDX-License-Identifier: BSD-2-Clause */
/* Completions of receives: of every kind, in any order, from shared queues, after page faults. */
#include <sched.h>

#include "../wqe/random.h"
#include "cq.h"

/* -- receives ---------------------------------------------------------------------------------- */

static void every_kind_of_receive(void **state)
{
	static const struct {
		uint32_t cqe;
		unsigned opcode, flags;
	} kinds[] = {
		{ BSN_CQE_RESP_SEND, BSN_RECV, 0 },
		{ BSN_CQE_RESP_SEND_IMM, BSN_RECV, BSN_C_IMM },
		{ BSN_CQE_RESP_SEND_INV, BSN_RECV, BSN_C_INVAL },
		{ BSN_CQE_RESP_WR_IMM, BSN_RECV_RDMA_WITH_IMM, BSN_C_IMM },
	};

	for (unsigned n = 0; n < 4; n++) {
		const bool ud = n & 1, grh = n & 2;
		OWNED struct fake *f = FAKE(.transport = ud ? BSN_TRANSPORT_UD : BSN_TRANSPORT_RC);

		post_recvs(f, 4);
		for (unsigned i = 0; i < 4; i++)
			fake_resp(f, .opcode = kinds[i].cqe, .byte_count = 10 + i,
				  .imm_inval_pkey = 0xabc0 + i, .rqpn = 0x999, .slid = 0x1234,
				  .sl = 5, .ml_path = 0xc2, .grh = grh, .wqe_counter = i);
		assert_int_equal(bsn_poll(f->cq, out, 8), 4);
		for (unsigned i = 0; i < 4; i++) {
			assert_int_equal(out[i].id, 500 + i);
			assert_ptr_equal(out[i].user, dv_sq(f->sq)->route.hot.user);
			assert_int_equal(out[i].status, IBV_WC_SUCCESS);
			assert_int_equal(out[i].opcode, kinds[i].opcode);
			assert_int_equal(out[i].flags,
					 kinds[i].flags | (ud && grh ? BSN_C_GRH : 0));
			assert_int_equal(out[i].byte_len, 10 + i);
			if (kinds[i].flags)
				assert_int_equal(out[i].imm, 0xabc0 + i);
			assert_int_equal(out[i].qpn, FAKE_QPN);
			if (!ud)
				continue;
			assert_int_equal(out[i].src_qpn, 0x999);
			assert_int_equal(out[i].slid, 0x1234);
			assert_int_equal(out[i].sl, 5);
			assert_int_equal(out[i].dlid_path_bits, 0x42);
		}
		assert_int_equal(f->rq->tail, 4);
	}
}

/* Solicited completions are polled like all others, those of requests, too. */
static void solicited_completions_are_polled_like_others(void **state)
{
	for (int at_once = 1; at_once <= 8; at_once += 7) {
		OWNED struct fake *f = fake_create(NULL);
		post_write(f, 0);
		fake_req(f, .wqe_opcode = BSN_OPCODE_RDMA_WRITE, .solicited = 1);
		assert_int_equal(poll_by(f, at_once), 1);
		assert_int_equal(out[0].opcode, BSN_OPCODE_RDMA_WRITE);
		assert_int_equal(f->rq->tail, 0);
		post_recvs(f, 1);
		fake_resp(f, .opcode = BSN_CQE_RESP_SEND, .solicited = 1);
		poll_one(f, at_once, 500);
		assert_int_equal(out[0].opcode, BSN_RECV);
		assert_int_equal(f->rq->tail, 1);
	}
}

/* Sends and receives of one QP, and sends of several operations, in one poll. */
static void one_poll_gives_all_kinds_of_completions(void **state)
{
	static const uint8_t opcodes[] = { BSN_OPCODE_RDMA_WRITE, BSN_OPCODE_SEND,
					   BSN_OPCODE_SEND, BSN_OPCODE_RDMA_WRITE };
	OWNED struct fake *f = fake_create(NULL);

	for (unsigned round = 0; round < 20; round++) {
		post_recvs(f, 4);
		for (unsigned i = 0; i < 4; i++) {
			const struct bsn_sge sge = { 0x1000, 8, 1 };
			ok(opcodes[i] == BSN_OPCODE_SEND
				   ? bsn_send(&f->ep, &sge, i, BSN_F_SIGNALED)
				   : bsn_write(&f->ep, &sge, &remote, i, BSN_F_SIGNALED));
			fake_done(f, 4 * round + i, opcodes[i]);
			fake_resp(f, .opcode = BSN_CQE_RESP_SEND, .wqe_counter = 4 * round + i);
		}
		assert_int_equal(bsn_poll(f->cq, out, 16), 8);
		for (unsigned i = 0; i < 4; i++) {
			assert_int_equal(out[2 * i].opcode, opcodes[i]);
			assert_int_equal(out[2 * i].id, i);
			assert_int_equal(out[2 * i + 1].opcode, BSN_RECV);
			assert_int_equal(out[2 * i + 1].id, 500 + i);
		}
	}
}

/* The CQE names its WQE, also on a QP's own receive queue. */
static void receives_come_in_any_order(void **state)
{
	OWNED struct fake *f = fake_create(NULL);

	for (unsigned round = 0; round < 100; round++) {
		const struct bsn_sge sge = { 0x1000, 64, 1 };
		const uint16_t first = f->rq->head;

		for (unsigned i = 0; i < 16; i++)
			ok(bsn_recv(f->rq, &sge, 1000 + (uint16_t)(first + i)));
		assert_int_equal(bsn_recv(f->rq, &sge, 0), -EAGAIN);
		for (unsigned i = 0; i < 16; i++)
			if (i % 5 == 4)
				fake_err(f, .opcode = BSN_CQE_RESP_ERR,
					 .syndrome = BSN_SYNDROME_LOCAL_LENGTH,
					 .wqe_counter = (uint16_t)(first + i * 7 % 16));
			else
				fake_resp(f, .opcode = BSN_CQE_RESP_SEND,
					  .wqe_counter = (uint16_t)(first + i * 7 % 16));
		for (unsigned i = 0; i < 16; i++) {
			assert_int_equal(
				i % 2 ? bsn_poll(f->cq, out, 1) : bsn_poll(f->cq, out + 1, 1), 1);
			assert_int_equal(out[!(i % 2)].id, 1000 + (uint16_t)(first + i * 7 % 16));
		}
	}
}

/* An SRQ's CQEs name their WQEs, and come in any order; the user is the QP's. */
static void shared_receives_come_in_any_order(void **state)
{
	OWNED struct fake *f = FAKE(.is_srq = true, .recv_count = 8);

	post_recvs(f, 7);
	for (unsigned i = 0; i < 7; i++)
		fake_resp(f, .opcode = BSN_CQE_RESP_SEND, .wqe_counter = i * 3 % 7);
	assert_int_equal(bsn_poll(f->cq, out, 8), 7);
	for (unsigned i = 0; i < 7; i++) {
		assert_int_equal(out[i].id, 500 + i * 3 % 7);
		assert_ptr_equal(out[i].user, dv_sq(f->sq)->route.hot.user);
	}
	post_recvs(f, 7);
}

/* -- an SRQ of several threads ----------------------------------------------------------------- */

enum { POLLERS = 2, SRQ_WQES = 16, MESSAGES = 30000 };

/*
 * One thread posts. Each message goes to one of two pollers, as a device would deliver it; each
 * poller has a CQ of its own. A WQE whose number does not come back is lost.
 */
static struct poller {
	struct fake *f;
	uint16_t sent[MESSAGES]; /* the WQE of each message to it */
	uint32_t sent_count;     /* atomic */
	uint32_t got;
	uint64_t sum;
	bool is_wrong;
} pollers[POLLERS];
static uint32_t over; /* atomic: no more comes */

static void *poll_shared(void *arg)
{
	struct poller *me = arg;

	while (true) {
		const uint32_t last = __atomic_load_n(&over, __ATOMIC_ACQUIRE);
		const uint32_t sent = __atomic_load_n(&me->sent_count, __ATOMIC_ACQUIRE);
		struct bsn_completion c[4];

		if (me->got == sent && last)
			return NULL;
		if (me->got == sent)
			sched_yield();
		for (; me->got < sent; me->got++) {
			fake_resp(me->f, .opcode = BSN_CQE_RESP_SEND,
				  .wqe_counter = me->sent[me->got]);
			me->is_wrong |= bsn_poll(me->f->cq, c, 4) != 1;
			me->sum += c[0].id;
		}
	}
}

/* Returns whether there was room at last. */
static bool recv_patiently(struct bsn_rq *rq, uint64_t id)
{
	const struct bsn_sge sge = { 0x1000 + id, 64, 7 };

	for (unsigned patience = 1000000; patience; patience--) {
		if (bsn_recv(rq, &sge, id) != -EAGAIN)
			return true;
		sched_yield();
	}
	return false;
}

/* Returns whether all messages went out; a queue that lost its WQEs stays full. */
static bool post_shared(struct bsn_rq *rq)
{
	for (uint32_t i = 0; i < MESSAGES; i++) {
		const uint16_t wqe = bsn_srq_of(rq)->next;
		struct poller *to = &pollers[random_u64() % POLLERS];

		if (!recv_patiently(rq, i))
			return false;
		to->sent[to->sent_count] = wqe;
		__atomic_store_n(&to->sent_count, to->sent_count + 1, __ATOMIC_RELEASE);
	}
	return true;
}

static void a_shared_queue_of_two_pollers_loses_nothing(void **state)
{
	OWNED struct fake *owner = FAKE(.is_srq = true, .recv_count = SRQ_WQES);
	const struct bsn_sge sge = { 0x1000, 8, 1 };
	pthread_t threads[POLLERS];
	bool all_sent;

	random_start();
	bsn_srq_share(owner->rq);
	for (unsigned i = 0; i < POLLERS; i++) {
		struct fake *f = pollers[i].f = FAKE(.no_recv = true);
		dv_sq(f->sq)->route.hot.rq = owner->rq;
		add_again(f);
		ok(pthread_create(&threads[i], NULL, poll_shared, &pollers[i]));
	}
	all_sent = post_shared(owner->rq);
	__atomic_store_n(&over, 1, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < POLLERS; i++) {
		pthread_join(threads[i], NULL);
		fake_destroy(pollers[i].f);
	}
	assert_true(all_sent);
	assert_false(pollers[0].is_wrong || pollers[1].is_wrong);
	assert_int_equal(pollers[0].got + pollers[1].got, MESSAGES);
	assert_int_equal(pollers[0].sum + pollers[1].sum, (uint64_t)MESSAGES * (MESSAGES - 1) / 2);
	for (unsigned i = 0; i < SRQ_WQES - 1; i++) /* all are there again */
		ok(bsn_recv(owner->rq, &sge, 0));
	assert_int_equal(bsn_recv(owner->rq, &sge, 0), -EAGAIN);
}

/* -- on-demand page faults of a shared queue --------------------------------------------------- */

/* A ConnectX follows the links of a shared receive queue as far as the record says. */
struct chain {
	struct fake *f;
	uint16_t at;
	uint32_t taken;
};

static uint8_t *chain_wqe(const struct chain *chain)
{
	return chain->f->rq_ring + (size_t)chain->at * chain->f->rq->stride;
}

static uint16_t chain_take(struct chain *chain)
{
	const uint16_t taken = chain->at;
	struct bsn_srq_next link;

	bsn_srq_next_decode(&link, chain_wqe(chain));
	chain->at = (uint16_t)link.next_wqe_index;
	chain->taken++;
	return taken;
}

static void fault(struct chain *chain)
{
	fake_err(chain->f, .opcode = BSN_CQE_RESP_ERR, .wqe_counter = chain_take(chain),
		 .syndrome = BSN_SYNDROME_REMOTE_ABORTED,
		 .vendor_syndrome = BSN_VENDOR_ODP_PAGE_FAULT);
}

static void receive(struct chain *chain)
{
	fake_resp(chain->f, .opcode = BSN_CQE_RESP_SEND, .wqe_counter = chain_take(chain));
}

/* The receive that the device would take next is the one of this id, with all its pieces. */
static void assert_next(const struct chain *chain, uint64_t id)
{
	const uint8_t *list = chain_wqe(chain) + BSN_SRQ_NEXT_SIZE;
	struct bsn_data data;

	for (unsigned i = 0; i < 2; i++) {
		bsn_data_decode(&data, list + i * BSN_DATA_SIZE);
		assert_int_equal(data.addr, 0x1000 * (i + 1) + id);
		assert_int_equal(data.byte_count, 64 + id);
		assert_int_equal(data.lkey, 7);
	}
	bsn_data_decode(&data, list + 2 * BSN_DATA_SIZE);
	assert_int_equal(data.lkey, BSN_LKEY_TERMINATOR);
}

static int post_two_pieces(struct bsn_rq *rq, uint64_t id)
{
	const struct bsn_sge sge[] = { { 0x1000 + id, (uint32_t)(64 + id), 7 },
				       { 0x2000 + id, (uint32_t)(64 + id), 7 } };

	return bsn_recv_sgl(rq, sge, 2, id);
}

enum { ON_DEMAND_DEPTH = 5 };

/* A faulted receive is posted again, whole, after the others; its WQE is used after theirs. */
static void check_reposts(uint32_t count)
{
	OWNED struct fake *f = FAKE(.is_srq = true, .is_on_demand = true, .recv_count = count,
				    .recv_capacity = ON_DEMAND_DEPTH);
	struct chain chain = { .f = f };
	uint64_t next = 0;

	for (uint64_t id = 0; id < ON_DEMAND_DEPTH; id++)
		ok(post_two_pieces(f->rq, id));
	assert_int_equal(post_two_pieces(f->rq, 99), -EAGAIN);
	for (unsigned i = 0; i < 40 * count; i++, next = (next + 1) % ON_DEMAND_DEPTH) {
		const uint16_t faulted = chain.at;
		assert_next(&chain, next);
		fault(&chain);
		assert_int_equal(bsn_poll(f->cq, out, 1), 0);
		assert_int_equal(fake_recv_record(f),
				 (uint16_t)(ON_DEMAND_DEPTH + chain.taken));
		assert_true(count == ON_DEMAND_DEPTH + 1 || bsn_srq_of(f->rq)->next != faulted);
		assert_int_equal(post_two_pieces(f->rq, 99), -EAGAIN);
	}
	for (unsigned i = 0; i < ON_DEMAND_DEPTH; i++, next = (next + 1) % ON_DEMAND_DEPTH) {
		assert_next(&chain, next);
		receive(&chain);
		poll_one(f, 1, next);
	}
	assert_int_equal(dv_sq(f->sq)->route.has_error, 0);
}

static void a_page_fault_is_posted_again(void **state)
{
	check_reposts(8);
	check_reposts(32);
}

/* If the queue was not made for page faults, or is a QP's own, the fault is shown to the user. */
static void a_page_fault_is_shown_otherwise(void **state)
{
	for (int is_srq = 0; is_srq < 2; is_srq++) {
		OWNED struct fake *f = FAKE(.is_srq = is_srq);
		struct chain chain = { .f = f };

		ok(bsn_recv(f->rq, &(struct bsn_sge){ 0x1000, 8, 1 }, 42));
		fault(&chain);
		poll_one(f, 1, 42);
		assert_int_equal(out[0].status, IBV_WC_REM_ABORT_ERR);
		assert_int_equal(out[0].vendor_syndrome, BSN_VENDOR_ODP_PAGE_FAULT);
	}
}

/* Only a page fault leaves the QP alive; any other failure of a receive ends the QP. */
static void other_failures_are_not_posted_again(void **state)
{
	static const struct {
		unsigned syndrome, vendor;
	} others[] = {
		{ BSN_SYNDROME_REMOTE_ABORTED, BSN_VENDOR_ODP_PAGE_FAULT + 1 },
		{ BSN_SYNDROME_LOCAL_PROTECTION, BSN_VENDOR_ODP_PAGE_FAULT },
	};
	OWNED struct fake *f = FAKE(.is_srq = true, .is_on_demand = true);

	for (unsigned i = 0; i < 2; i++) {
		const uint16_t wqe = next_recv(f);
		ok(bsn_recv(f->rq, &(struct bsn_sge){ 0x1000, 8, 1 }, 42 + i));
		fake_err(f, .opcode = BSN_CQE_RESP_ERR, .syndrome = others[i].syndrome,
			 .vendor_syndrome = others[i].vendor, .wqe_counter = wqe);
		poll_one(f, 1, 42 + i);
		assert_int_equal(out[0].vendor_syndrome, others[i].vendor);
	}
}

struct faulting {
	struct fake *f;
	uint32_t posted;
	bool has_failed;
};

enum { FAULTING_POSTS = 20000 };

static void *post_to_faulting(void *arg)
{
	struct faulting *q = arg;

	for (uint64_t id = 0; id < FAULTING_POSTS; id++) {
		if (!recv_patiently(q->f->rq, id)) {
			q->has_failed = true;
			return NULL;
		}
		__atomic_store_n(&q->posted, (uint32_t)id + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* The poller posts again while another thread posts: nothing is lost, nothing comes twice. */
static void page_faults_beside_a_poster(void **state)
{
	struct faulting q = { .f = FAKE(.is_srq = true, .is_on_demand = true, .recv_count = 32,
					.recv_capacity = 20) };
	struct chain chain = { .f = q.f };
	uint8_t *seen = calloc(FAULTING_POSTS, 1);
	uint32_t faults = 0, received = 0;
	unsigned patience = 10000000;
	pthread_t poster;

	random_start();
	assert_non_null(seen);
	ok(pthread_create(&poster, NULL, post_to_faulting, &q));
	while (received < FAULTING_POSTS && --patience) {
		const uint32_t posted = __atomic_load_n(&q.posted, __ATOMIC_ACQUIRE);
		if (posted + faults == chain.taken) {
			sched_yield();
		} else if (random_u64() % 4) {
			fault(&chain);
			faults++;
			assert_int_equal(bsn_poll(q.f->cq, out, 1), 0);
		} else {
			receive(&chain);
			assert_int_equal(bsn_poll(q.f->cq, out, 1), 1);
			assert_true(out[0].id < FAULTING_POSTS && !seen[out[0].id]++);
			received++;
		}
	}
	pthread_join(poster, NULL);
	assert_false(q.has_failed);
	assert_int_equal(received, FAULTING_POSTS);
	free(seen);
	fake_destroy(q.f);
}

UNIT_MAIN(NULL, UNIT(every_kind_of_receive), UNIT(solicited_completions_are_polled_like_others),
	  UNIT(one_poll_gives_all_kinds_of_completions), UNIT(receives_come_in_any_order),
	  UNIT(shared_receives_come_in_any_order),
	  UNIT(a_shared_queue_of_two_pollers_loses_nothing), UNIT(a_page_fault_is_posted_again),
	  UNIT(a_page_fault_is_shown_otherwise), UNIT(other_failures_are_not_posted_again),
	  UNIT(page_faults_beside_a_poster))
