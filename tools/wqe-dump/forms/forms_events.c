/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asynchronous events of verbs, in lines of any program: NCCL's net_ib, UCX's ib_device.c, the
 * kernel's nvmet, isert, srpt and rpcrdma, and whoever prints ibv_event_type_str(3).
 */

#include <string.h>

#include "../explain/explain.h"
#include "keys.h"

#define EVENT_NUMBER(NAME, words, side, topic) EVENT_##NAME,
enum event { ASYNC_EVENTS(EVENT_NUMBER) };

/* Rows with a name, by number of event; then other words for some of them. */
static const struct {
	const char *name, *words;
	enum event event;
	enum record_side side;
} events[] = {
#define EVENT_ROW(NAME, words, by, topic) { "IBV_EVENT_" #NAME, words, EVENT_##NAME, SIDE_##by },
#define WORDS_ROW(words, NAME)            { NULL, words, EVENT_##NAME, SIDE_UNKNOWN },
	ASYNC_EVENTS(EVENT_ROW) EVENT_WORDS(WORDS_ROW)
};

/* The kernel's names begin with IB instead of IBV. */
static bool has_name(const char *line, const char *name)
{
	const char *tail = name + strlen("IBV"), *at = strstr(line, tail);

	while (at && text_is_word(at[strlen(tail)]))
		at = strstr(at + 1, tail);
	return at && at > line && (at[-1] == 'V' || at[-1] == 'B');
}

static int find_event(const char *line)
{
	for (unsigned i = 0; i < COUNT(events); i++)
		if ((events[i].name && has_name(line, events[i].name)) ||
		    text_find(line, events[i].words))
			return (int)events[i].event;
	return -1;
}

/* A program may print a pointer after "QP"; that is too large for a number. */
static struct number find_qpn(const char *line)
{
	static const char *const words[] = { "QPN", "DCTN", "qp_num", "qpn", "QP", "qp" };
	uint64_t number;

	for (unsigned i = 0; i < COUNT(words); i++) {
		const char *at = text_find(line, words[i]);

		if (at && text_number(at + strlen(words[i]), 10, &number) && number <= BSN_QPN_MAX)
			return KNOWN(number);
	}
	return (struct number){ 0 };
}

static enum form_answer feed_events(struct feed *feed, const struct line *line, void *state)
{
	const int event = text_is_source(line->text) ? -1 : find_event(line->text);
	struct record record = { .kind = RECORD_EVENT, .line = line->number };

	(void)state;
	if (event < 0)
		return FORM_PASS;
	record.side = events[event].side;
	record.qpn = find_qpn(line->text);
	record_set_status(&record, events[event].words, strlen(events[event].words));
	record_add_text(&record, "event", events[event].name, strlen(events[event].name));
	keys_tell(feed, line, &record);
	return FORM_TAKEN;
}

FORM(events, "verbs-event", MARKS("IBV_EVENT_", "IB_EVENT_", "sync event", "sync fatal event",
		"IB QP event", "work queue error", "atastrophic error", "QP fatal error",
		"QP request error", "QP access error"), .feed = feed_events);
