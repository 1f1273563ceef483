/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Faults by plan. A plan is text: one rule a line (or between semicolons), '#' begins a comment.
 *
 *	rule    = { match } action
 *	match   = "qpn=" NUMBER      only this queue pair's WQEs
 *	        | "opcode=" NAME     only this operation: SEND, RDMA_WRITE, ... as in wqe/bsn_wqe.h;
 *	                             RECV: not a WQE that sends, but a message that takes a receive;
 *	                             REQ, DREQ: rdma_cm asks for a connection, or ends one
 *	        | "dct=" NUMBER      only requests of DC initiators to this target
 *	        | "stream=" NUMBER   only those of this stream of an initiator
 *	        | "nth=" NUMBER      only the Nth time that the rest matches, counted from 1
 *	        | "every=" NUMBER    each Nth time
 *	action  = "drop"             the request is lost; a reliable one is tried again or times out
 *	        | "delay" US         executes so many microseconds later
 *	        | "delay-cqe" US     executes at once, and its CQE comes so many microseconds later
 *	        | "rnr"              the responder is not ready to receive
 *	        | "fail" SYNDROME VENDOR    an error CQE with these two numbers
 *	        | "cq-overrun"       the send CQ overflows
 *	        | "port-down" | "port-up"   before the WQE executes
 *	        | "remove-device"    nothing executes any more, IBV_EVENT_DEVICE_FATAL is given
 *	        | "lose-doorbell"    the store that rings does not arrive
 *	        | "page-fault"       on-demand memory that the request names is not there yet
 *	        | "overtake"         the message takes the receive after the next one
 *	        | "cnak"             the target of a DC initiator has no room for its connection now
 *	rule    = "dc-connections" NUMBER
 *	                             so many connections hold the targets of a process; who connects
 *	                             beyond that is told to come again (CNAK)
 *	rule    = "pkeys" NUMBER { NUMBER }
 *	                             an InfiniBand port's P_Keys by index; the others are 0
 *	rule    = "gids" GID { GID }
 *	                             the port's GIDs: addresses of IPv4 or IPv6, "-" for an empty
 *	                             entry; on RoCE with "/v1" or "/v2", which is the default
 *	rule    = "mtu" NUMBER       the port's active MTU in bytes, at the most: 256, 512, ... 4096
 *	rule    = "lanes" NUMBER     how many of its four lanes the link has: 1, 2 or 4
 *	rule    = "compress" NUMBER { NUMBER }
 *	                             what completes together comes in sessions of so many CQEs at
 *	                             the most, in turn, where the CQ allows them; 1: a CQE of its
 *	                             own
 *
 * Numbers are decimal, or hexadecimal with 0x. Each attempt at a WQE of the process that has the
 * plan is compared with the rules in their order, and the first that matches decides. A retry is an
 * attempt of its own: "nth=1 drop" costs a timeout, "drop" alone all retries.
 *
 * With opcode=RECV it is each message of that process that finds a receive, qpn= being the
 * receiver's. The receive fails with the two numbers, and both queue pairs are in error; except for
 * the two numbers of an on-demand page fault, on a shared receive queue. Then the receive is the
 * driver's to post again, and the sender is asked to come again later.
 *
 * With opcode=REQ and DREQ it is each such message of that process, qpn= being the queue pair that
 * its program has named for the connection. It can only be delayed: the peer is asked or told so
 * much later. The REQ also stands for the question for a datagram service; one that is sent again
 * since nobody answers is not delayed.
 *
 * With overtake, which is for opcode=RECV only, receives of a shared receive queue complete in
 * another order than they were posted in. The message takes the second receive, and the next
 * message of that queue takes the first: as if that one were longer, had begun earlier and ended
 * later. Where there is no second receive, nothing is overtaken.
 *
 * With page-fault only those attempts count whose WQE names a region on demand, also through mkeys
 * of KLM or KSM; with opcode=RECV, those whose receive does. Without a plan all pages of such
 * regions are resident. Where the page is the peer's, the responder asks a reliable requester to
 * come again, as if it had no receive, and the retry is an attempt of its own; an unreliable
 * message is lost. The requester itself waits for its own pages.
 *
 * With delay-cqe only requests count that are signaled. The queue's later requests wait for the
 * CQE, too, so that its CQEs stay in order; other queues do not, so that an answer of the peer may
 * be seen before the completion of what it answers. An error is not delayed.
 *
 * With lose-doorbell it is each doorbell of that process. A doorbell that merges with a later one,
 * in a write-combining buffer, is lost to the device, too. The next doorbell of the queue pair that
 * arrives brings the record, and with it the lost one's work. A passive device sees no doorbells.
 */
#include "plan.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	enum action action;
	unsigned numbers; /* how many follow */
} actions[] = {
	{ "drop", DROP, 0 },
	{ "delay", DELAY, 1 },
	{ "rnr", RNR, 0 },
	{ "fail", FAIL, 2 },
	{ "cq-overrun", CQ_OVERRUN, 0 },
	{ "port-down", PORT_DOWN, 0 },
	{ "port-up", PORT_UP, 0 },
	{ "remove-device", REMOVE_DEVICE, 0 },
	{ "lose-doorbell", LOSE_DOORBELL, 0 },
	{ "page-fault", PAGE_FAULT, 0 },
	{ "overtake", OVERTAKE, 0 },
	{ "cnak", CNAK, 0 },
	{ "delay-cqe", DELAY_CQE, 1 },
};

const char *cx_action_name(enum action action)
{
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (actions[i].action == action)
			return actions[i].name;
	return "no action";
}

struct parser {
	const char *at;
	unsigned line;
	char word[64];
	char *message;
	size_t size;
};

static int complain(struct parser *p, const char *why)
{
	if (p->message)
		snprintf(p->message, p->size, "fault plan, line %u: '%s': %s", p->line, p->word,
			 why);
	return -EINVAL;
}

static bool ends_rule(char c)
{
	return !c || c == '\n' || c == ';' || c == '#';
}

/* The next word of this rule. False: there is none. */
static bool next_word(struct parser *p)
{
	size_t len = 0;

	while (*p->at == ' ' || *p->at == '\t' || *p->at == '\r')
		p->at++;
	for (; !ends_rule(*p->at) && !strchr(" \t\r", *p->at); p->at++)
		if (len + 1 < sizeof(p->word))
			p->word[len++] = *p->at;
	if (len)
		p->word[len] = 0;
	return len;
}

static void end_rule(struct parser *p)
{
	if (*p->at == '#')
		p->at += strcspn(p->at, "\n");
	if (*p->at == '\n')
		p->line++;
	if (*p->at)
		p->at++;
}

static int parse_number(struct parser *p, const char *text, uint64_t max, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 0);
	if (*text < '0' || *text > '9' || *end || errno || *value > max)
		return complain(p, "not a number in range");
	return 0;
}

static const struct bsn_wqe_op *find_op(const char *name)
{
#define FIND_OP(op, value, doc)                                                                    \
	if (!strcmp(name, #op))                                                                    \
		return bsn_wqe_op_find(value);
	BSN_WQE_OPCODES(FIND_OP)
#undef FIND_OP
	return NULL;
}

static int parse_match(struct parser *p, struct rule *rule)
{
	char *value = strchr(p->word, '=') + 1;
	const size_t len = (size_t)(value - p->word);
	uint64_t number = 0;
	int err = 0;

	if (!strncmp(p->word, "qpn=", len)) {
		err = parse_number(p, value, BSN_QPN_MAX, &number);
		rule->qpn = (uint32_t)number;
	} else if (!strncmp(p->word, "dct=", len)) {
		err = parse_number(p, value, BSN_QPN_MAX, &number);
		rule->dctn = (uint32_t)number;
	} else if (!strncmp(p->word, "stream=", len)) {
		err = parse_number(p, value, UINT16_MAX, &number);
		rule->has_stream = true;
		rule->stream = (uint16_t)number;
	} else if (!strncmp(p->word, "nth=", len)) {
		err = parse_number(p, value, UINT32_MAX, &rule->nth);
	} else if (!strncmp(p->word, "every=", len)) {
		err = parse_number(p, value, UINT32_MAX, &rule->every);
	} else if (!strcmp(p->word, "opcode=RECV")) {
		rule->place = AT_RECEIVE;
	} else if (!strcmp(p->word, "opcode=REQ")) {
		rule->place = AT_REQUEST;
	} else if (!strcmp(p->word, "opcode=DREQ")) {
		rule->place = AT_DISCONNECT;
	} else if (!strncmp(p->word, "opcode=", len)) {
		rule->op = find_op(value);
		if (!rule->op)
			err = complain(p, "no such operation; SEND, RDMA_WRITE, RDMA_READ, ...");
	} else {
		err = complain(p, "matches are qpn=, opcode=, dct=, stream=, nth= and every=");
	}
	return err;
}

/* NULL, or why the action does not go with these matches. */
static const char *refuse_action(const struct rule *rule)
{
	if (rule->place == AT_RECEIVE && rule->action != FAIL && rule->action != PAGE_FAULT &&
	    rule->action != OVERTAKE)
		return "a receive can only fail, miss a page, or overtake";
	if (rule->place != AT_RECEIVE && rule->action == OVERTAKE)
		return "only a receive can overtake: opcode=RECV";
	if (rule->place >= AT_REQUEST && rule->action != DELAY)
		return "a message of rdma_cm can only be delayed";
	if (rule->place != AT_SEND && (rule->dctn || rule->has_stream))
		return "dct= and stream= need a request of a DC initiator";
	return NULL;
}

static int parse_action(struct parser *p, struct rule *rule)
{
	/* Refuses delays of more than an hour; syndromes are bytes. */
	const uint64_t hour_us = 3600ull * 1000 * 1000;
	const char *why;
	uint64_t most;

	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		if (strcmp(p->word, actions[i].name))
			continue;
		rule->action = actions[i].action;
		if (rule->action == LOSE_DOORBELL && rule->place == AT_SEND)
			rule->place = AT_DOORBELL;
		why = refuse_action(rule);
		if (why)
			return complain(p, why);
		most = rule->action == DELAY || rule->action == DELAY_CQE ? hour_us : 0xff;
		for (unsigned n = 0; n < actions[i].numbers; n++) {
			if (!next_word(p))
				return complain(p, "a number is missing after it");
			if (parse_number(p, p->word, most, &rule->numbers[n]))
				return -EINVAL;
		}
		return next_word(p) ? complain(p, "nothing may follow the action") : 0;
	}
	return complain(p,
			"no such action; drop, delay, rnr, fail, cq-overrun, port-down, port-up, "
			"remove-device, lose-doorbell, page-fault, overtake, cnak, delay-cqe");
}

static int parse_lengths(struct parser *p, struct cx_fault_plan *plan)
{
	uint64_t length;

	while (next_word(p)) {
		if (parse_number(p, p->word, CX_SESSION_MAX, &length))
			return -EINVAL;
		if (!length || plan->length_count == sizeof(plan->lengths))
			return complain(p, "up to 64 lengths, from 1 to 64");
		plan->lengths[plan->length_count++] = (uint8_t)length;
	}
	return plan->length_count ? 0 : complain(p, "a number is missing after it");
}

static int parse_pkeys(struct parser *p, struct cx_port_tables *tables)
{
	unsigned count = 0;
	uint64_t key;

	for (; next_word(p); count++) {
		if (parse_number(p, p->word, UINT16_MAX, &key))
			return -EINVAL;
		if (count == CX_PKEYS)
			return complain(p, "the table has 128 keys");
		tables->pkeys[count] = (uint16_t)key;
	}
	tables->has_pkeys = true;
	return count ? 0 : complain(p, "a number is missing after it");
}

static int parse_gid(struct parser *p, struct cx_gid *gid)
{
	char *version = strchr(p->word, '/');
	uint8_t *raw = gid->gid.raw;

	gid->type = IBV_GID_TYPE_ROCE_V2;
	if (version && !strcmp(version, "/v1"))
		gid->type = IBV_GID_TYPE_ROCE_V1;
	else if (version && strcmp(version, "/v2"))
		return complain(p, "the versions of RoCE are /v1 and /v2");
	if (version)
		*version = '\0';
	if (inet_pton(AF_INET6, p->word, raw) == 1)
		return 0;
	raw[10] = raw[11] = 0xff;
	return inet_pton(AF_INET, p->word, raw + 12) == 1 ? 0 : complain(p, "not an address, or -");
}

static int parse_gids(struct parser *p, struct cx_port_tables *tables)
{
	unsigned count = 0;

	memset(tables->gids, 0, sizeof(tables->gids));
	tables->gids_set = 0;
	for (; next_word(p); count++) {
		if (count == CX_GIDS)
			return complain(p, "the table has 16 GIDs");
		if (!strcmp(p->word, "-"))
			continue;
		if (parse_gid(p, &tables->gids[count]))
			return -EINVAL;
		tables->gids_set |= 1u << count;
	}
	tables->has_gids = true;
	return count ? 0 : complain(p, "an address is missing after it");
}

/* Parses a number that must be one of some powers of two. */
static int parse_power(struct parser *p, uint64_t least, uint64_t most, uint32_t *power)
{
	uint64_t number;

	if (!next_word(p))
		return complain(p, "a number is missing after it");
	if (parse_number(p, p->word, most, &number))
		return -EINVAL;
	if (number < least || number & (number - 1))
		return complain(p, "a power of two in range is needed");
	*power = (uint32_t)number;
	return next_word(p) ? complain(p, "nothing may follow the number") : 0;
}

static int parse_connections(struct parser *p, struct cx_fault_plan *plan)
{
	uint64_t number;

	if (!next_word(p))
		return complain(p, "a number is missing after it");
	if (parse_number(p, p->word, UINT32_MAX, &number))
		return -EINVAL;
	if (!number)
		return complain(p, "at least 1 is needed");
	plan->dc_connections = (uint32_t)number;
	return next_word(p) ? complain(p, "nothing may follow the number") : 0;
}

/* 1: a rule, 0: none, or -EINVAL. */
static int parse_rule(struct parser *p, struct cx_fault_plan *plan, struct rule *rule)
{
	int err;

	memset(rule, 0, sizeof(*rule));
	if (!next_word(p))
		return 0;
	if (!strcmp(p->word, "compress"))
		return parse_lengths(p, plan);
	if (!strcmp(p->word, "pkeys"))
		return parse_pkeys(p, &plan->tables);
	if (!strcmp(p->word, "gids"))
		return parse_gids(p, &plan->tables);
	if (!strcmp(p->word, "mtu"))
		return parse_power(p, 256, 4096, &plan->tables.mtu_bytes);
	if (!strcmp(p->word, "lanes"))
		return parse_power(p, 1, 4, &plan->tables.lanes);
	if (!strcmp(p->word, "dc-connections"))
		return parse_connections(p, plan);
	while (strchr(p->word, '=')) {
		err = parse_match(p, rule);
		if (err)
			return err;
		if (!next_word(p))
			return complain(p, "an action is missing after it");
	}
	err = parse_action(p, rule);
	return err ? err : 1;
}

static int append(struct cx_fault_plan *plan, const struct rule *rule)
{
	struct rule *rules = realloc(plan->rules, (plan->count + 1) * sizeof(*rules));

	if (!rules)
		return -ENOMEM;
	plan->rules = rules;
	rules[plan->count++] = *rule;
	return 0;
}

static int parse(const char *text, struct cx_fault_plan *plan, char *message, size_t size)
{
	struct parser p = { .at = text, .line = 1, .message = message, .size = size };
	struct rule rule;

	while (*p.at) {
		int got = parse_rule(&p, plan, &rule);

		if (got > 0)
			got = append(plan, &rule);
		if (got < 0)
			return got;
		end_rule(&p);
	}
	return 0;
}

int cx_plan_parse(const char *text, struct cx_fault_plan **out)
{
	struct cx_fault_plan *plan = calloc(1, sizeof(*plan));
	int err;

	if (!plan)
		return -ENOMEM;
	err = parse(text, plan, NULL, 0);
	if (err) {
		cx_plan_free(plan);
		return err;
	}
	*out = plan;
	return 0;
}

void cx_plan_free(struct cx_fault_plan *plan)
{
	if (plan)
		free(plan->rules);
	free(plan);
}

int cx_fault_plan_check(const char *text, char *message, size_t size)
{
	struct cx_fault_plan plan = { 0 };
	int err = parse(text, &plan, message, size);

	free(plan.rules);
	return err;
}
