/* SPDX-License-Identifier: BSD-2-Clause */
#include "model.h"

#include <errno.h>
#include <stdlib.h>

enum { IDLE_NS = 1000000 };

struct dc_initiator {
	uint64_t free_ns;  /* the next request begins then, at the earliest */
	uint64_t done_ns;  /* requests are reported in order */
};

struct dc_stream {
	uint32_t target;  /* 0: connected to nobody */
	uint64_t busy_ns; /* until all is answered that it has outstanding */
};

static void sift_up(struct dc_device *d, struct dc_request r)
{
	uint32_t at = d->heap_count++;

	for (; at && d->heap[(at - 1) / 2].done_ns > r.done_ns; at = (at - 1) / 2)
		d->heap[at] = d->heap[(at - 1) / 2];
	d->heap[at] = r;
}

static struct dc_request take_first(struct dc_device *d)
{
	const struct dc_request first = d->heap[0], last = d->heap[--d->heap_count];
	uint32_t at = 0;

	for (;;) {
		uint32_t child = 2 * at + 1;
		if (child >= d->heap_count)
			break;
		if (child + 1 < d->heap_count &&
		    d->heap[child + 1].done_ns < d->heap[child].done_ns)
			child++;
		if (d->heap[child].done_ns >= last.done_ns)
			break;
		d->heap[at] = d->heap[child];
		at = child;
	}
	d->heap[at] = last;
	return first;
}

void dc_device_begin(struct dc_device *d, uint16_t initiator, unsigned stream, uint32_t target,
		     uint32_t tag)
{
	struct dc_initiator *i = &d->initiators[initiator];
	struct dc_stream *s = &d->streams[initiator * d->streams_each + stream];
	uint64_t start = i->free_ns > d->now_ns ? i->free_ns : d->now_ns, done;

	if (target && s->target != target) {
		d->taken_early += s->target && s->busy_ns > d->now_ns;
		if (s->target && s->busy_ns > start)
			start = s->busy_ns;
		start += d->connect_ns;
		s->target = target;
		d->connects++;
	}
	i->free_ns = start + DC_ISSUE_NS;
	done = start + DC_ANSWER_NS + dc_roll_below(&d->random, DC_RANDOM_NS);
	s->busy_ns = s->busy_ns > done ? s->busy_ns : done;
	i->done_ns = i->done_ns >= done ? i->done_ns + 1 : done; /* one after the other */
	sift_up(d, (struct dc_request){ i->done_ns, tag, initiator });
}

bool dc_device_end(struct dc_device *d, struct dc_request *done)
{
	if (!d->heap_count) {
		d->now_ns += IDLE_NS;
		return false;
	}
	*done = take_first(d);
	d->now_ns = done->done_ns > d->now_ns ? done->done_ns : d->now_ns;
	return true;
}

int dc_device_make(struct dc_device *d, const struct dc_plan *plan, uint32_t count)
{
	d->connect_ns = plan->connect_ns;
	d->now_ns = 1;                 /* a program may take 0 for no time */
	d->random = ~plan->crowd.seed; /* not the pattern's own dice */
	d->streams_each = plan->streams;
	d->heap = calloc((size_t)plan->window + 2 * count, sizeof(*d->heap));
	d->initiators = calloc(count, sizeof(*d->initiators));
	d->streams = calloc((size_t)count * plan->streams, sizeof(*d->streams));
	return d->heap && d->initiators && d->streams ? 0 : -ENOMEM;
}

uint64_t dc_device_now(void *arg)
{
	return ((const struct dc_device *)arg)->now_ns;
}

void dc_device_counters(const struct dc_device *d, struct dc_figures *figures)
{
	figures->counters.has_connects = true;
	figures->counters.connects = d->connects;
	figures->taken_early = d->taken_early;
}

void dc_device_free(struct dc_device *d)
{
	free(d->streams);
	free(d->initiators);
	free(d->heap);
}
