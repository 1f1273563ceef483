/* SPDX-License-Identifier: BSD-2-Clause */
/* The list of queues for tools that read them from outside. bsn_registry.h describes it. */
#include "path.h"

#include <stdio.h>

#include "sq.h"
#include "srq.h"

/* Not static, since the note below names it. */
extern struct bsn_registry registry_head;
struct bsn_registry registry_head __attribute__((used)) = {
	.magic = BSN_REGISTRY_MAGIC,
	.version = BSN_REGISTRY_VERSION,
	.layout_version = BSN_LAYOUT_VERSION,
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define STRING(x)  #x
#define DECIMAL(x) STRING(x)
#define NOTE_TYPE  DECIMAL(BSN_REGISTRY_NOTE_TYPE)

/*
 * An ELF note: the sizes of name and description, the type, then both. It is in assembly since C
 * has no constant for a distance.
 */
__asm__(".pushsection .note.bunsen, \"a\", %note\n"
	".balign 4\n"
	".long 2f - 1f, 4f - 3f, " NOTE_TYPE "\n"
	"1: .asciz \"" BSN_REGISTRY_NOTE_NAME "\"\n"
	"2: .balign 4\n"
	"3: .quad registry_head - 3b\n"
	"4: .popsection\n");

/* Empties the list in a child of fork(): it has copies of the list and the rings, but no queues. */
static void forget_in_child(void)
{
	pthread_mutex_init(&lock, NULL); /* another thread of the parent may have held it */
	registry_head.self = registry_head.first = registry_head.queue_count = 0;
	registry_head.generation += registry_head.generation % 2;
}

static int begin(void)
{
	static bool watches_forks;
	int err = 0;

	pthread_mutex_lock(&lock);
	if (!watches_forks)
		err = pthread_atfork(NULL, NULL, forget_in_child);
	if (!err) {
		watches_forks = true;
		registry_head.self = (uintptr_t)&registry_head;
	}
	pthread_mutex_unlock(&lock);
	return err ? fail(err, "cannot watch for fork(), to list queues") : 0;
}

int registry_open(struct bsn_device *device)
{
	int err;

	device->lists_queues = device->attr.list_queues;
	err = switch_on("BSN_REGISTRY", &device->lists_queues);
	if (err)
		return err;
	return device->lists_queues ? begin() : 0;
}

/* -- the list ---------------------------------------------------------------------------------- */

/* Each store of a change is a release, so a reader sees the stores in their order. */
static void store_word(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* Called before and after a change: a reader then sees an odd generation, or two different ones. */
static void turn_generation(void)
{
	store_word(&registry_head.generation, registry_head.generation + 1);
}

static void add(const struct bsn_device *device, struct bsn_registry_queue *queue)
{
	if (!device->lists_queues)
		return;
	snprintf(queue->device, sizeof(queue->device), "%s", device->info.name);
	pthread_mutex_lock(&lock);
	queue->next = registry_head.first; /* no reader sees it yet */
	turn_generation();
	store_word(&registry_head.first, (uintptr_t)queue);
	store_word(&registry_head.queue_count, registry_head.queue_count + 1);
	turn_generation();
	pthread_mutex_unlock(&lock);
}

static struct bsn_registry_queue *queue_at(uint64_t address)
{
	return (struct bsn_registry_queue *)(uintptr_t)address;
}

static void take_away(const struct bsn_registry_queue *queue)
{
	uint64_t *at = &registry_head.first;

	pthread_mutex_lock(&lock);
	while (*at && queue_at(*at) != queue)
		at = &queue_at(*at)->next;
	if (*at) {
		turn_generation();
		store_word(at, queue->next);
		store_word(&registry_head.queue_count, registry_head.queue_count - 1);
		turn_generation();
	}
	pthread_mutex_unlock(&lock);
}

/* -- its queues -------------------------------------------------------------------------------- */

static uint64_t address(const volatile void *pointer)
{
	return (uintptr_t)pointer;
}

static void list_sq(struct bsn_qp *qp)
{
	const struct bsn_sq *sq = qp->sq;
	struct bsn_registry_queue *q = &qp->listed_sends;

	*q = (struct bsn_registry_queue){ .kind = BSN_REGISTRY_SEND,
					  .number = qp->info.number,
					  .transport = (uint32_t)qp->transport->wqe,
					  .cqn = dv_cq(qp->cq->ring)->cqn,
					  .first_error = address(&qp->first_error) };
	if (has_wqes(sq)) {
		q->ring = address(dv_sq(sq)->ring);
		q->record = address(sq->record);
		q->count = dv_sq(sq)->bb_mask + 1;
		q->stride_bytes = BSN_BB_SIZE;
		q->producer = address(sq) + offsetof(struct bsn_sq, pi);
		q->consumer = address(&dv_sq(sq)->route.hot.done);
		q->start = address(&dv_sq(sq)->retired);
		q->lap = address(&dv_sq(sq)->wide_pi);
	}
	add(qp->device, q);
}

static void describe_rq(struct bsn_registry_queue *q, struct bsn_rq *rq)
{
	const struct dv_rq *const whole = dv_rq(rq);
	const struct bsn_srq *const srq = bsn_srq_of(rq);

	if (!whole->ring)
		return;
	q->ring = address(whole->ring);
	q->record = address(rq->record);
	q->count = rq->mask + 1;
	q->stride_bytes = 1u << whole->stride_log2;
	q->producer = address(&rq->head);
	q->consumer = whole->is_srq ? address(&srq->next) : address(&rq->tail);
}

static void list_rq(struct bsn_qp *qp)
{
	struct bsn_registry_queue *q = &qp->listed_recvs;

	*q = (struct bsn_registry_queue){ .kind = BSN_REGISTRY_RECV,
					  .number = qp->info.number,
					  .transport = (uint32_t)qp->transport->wqe,
					  .cqn = dv_cq(qp->recv_cq->ring)->cqn };
	if (qp->srq)
		q->srqn = qp->srq->number;
	else
		describe_rq(q, qp->rq);
	add(qp->device, q);
}

void registry_add_qp(struct bsn_qp *qp)
{
	list_sq(qp);
	list_rq(qp);
}

void registry_remove_qp(struct bsn_qp *qp)
{
	take_away(&qp->listed_sends);
	take_away(&qp->listed_recvs);
}

void registry_add_srq(struct srq_object *srq)
{
	srq->listed = (struct bsn_registry_queue){ .kind = BSN_REGISTRY_SHARED_RECV,
						   .number = srq->number };
	describe_rq(&srq->listed, srq->rq);
	if (srq->listed.ring)
		srq->listed.used = srq->depth + 1; /* one stays free: see struct bsn_srq */
	add(srq->device, &srq->listed);
}

void registry_remove_srq(struct srq_object *srq)
{
	take_away(&srq->listed);
}

void registry_add_cq(struct cq_object *cq)
{
	const struct bsn_cq *hot = cq->ring;
	struct bsn_registry_queue *q = &cq->listed;

	*q = (struct bsn_registry_queue){ .kind = BSN_REGISTRY_COMPLETION,
					  .number = dv_cq(hot)->cqn };
	if (dv_cq(hot)->ring) {
		q->ring = address(dv_cq(hot)->ring + BSN_CQE_SIZE - hot->stride);
		q->record = address(dv_cq(hot)->record);
		q->count = dv_cq(hot)->cqe_count;
		q->stride_bytes = (uint32_t)hot->stride;
		q->consumer = address(&hot->next);
		q->start = address(&hot->phase);
	}
	add(cq->device, q);
}

void registry_remove_cq(struct cq_object *cq)
{
	take_away(&cq->listed);
}
