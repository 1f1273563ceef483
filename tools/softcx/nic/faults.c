/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Faults by plan. A plan is text: one rule a line (or between semicolons), '#' begins a comment.
 *
 *	rule    = { match } action
 *	match   = "qpn=" NUMBER      only this queue pair's WQEs
 *	        | "opcode=" NAME     only this operation: SEND, RDMA_WRITE, ... as in wqe/bsn_wqe.h
 *	        | "nth=" NUMBER      only the Nth time that the rest matches, counted from 1
 *	        | "every=" NUMBER    each Nth time
 *	action  = "drop"             the request is lost; a reliable one is tried again, or times out
 *	        | "delay" US         executes so many microseconds later
 *	        | "rnr"              the responder is not ready to receive
 *	        | "fail" SYNDROME VENDOR    an error CQE with these two numbers
 *	        | "cq-overrun"       the send CQ overflows
 *	        | "port-down" | "port-up"   before the WQE executes
 *	        | "remove-device"    nothing executes any more, IBV_EVENT_DEVICE_FATAL is given
 *
 * Numbers are decimal, or hexadecimal with 0x. Each attempt at a WQE of the process that has the plan
 * is compared with the rules in their order, and the first that matches decides. A retry is an
 * attempt of its own: "nth=1 drop" costs a timeout, "drop" alone all retries.
 */
#include "faults.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum action { DROP, DELAY, RNR, FAIL, CQ_OVERRUN, PORT_DOWN, PORT_UP, REMOVE_DEVICE };

static const struct {
	const char *name;
	enum action action;
	unsigned numbers; /* that follow */
} actions[] = {
	{ "drop", DROP, 0 },
	{ "delay", DELAY, 1 },
	{ "rnr", RNR, 0 },
	{ "fail", FAIL, 2 },
	{ "cq-overrun", CQ_OVERRUN, 0 },
	{ "port-down", PORT_DOWN, 0 },
	{ "port-up", PORT_UP, 0 },
	{ "remove-device", REMOVE_DEVICE, 0 },
};

struct rule {
	uint32_t qpn;                /* 0: any */
	const struct bsn_wqe_op *op; /* NULL: any */
	uint64_t nth, every;         /* 0: not asked for */
	enum action action;
	uint64_t numbers[2];
	uint64_t seen;
};

struct cx_fault_plan {
	unsigned count;
	struct rule *rules;
};

/* -- parsing ----------------------------------------------------------------------------------- */

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

/* The next word of this rule; false at its end. */
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
	uint64_t qpn = 0;
	int err = 0;

	if (!strncmp(p->word, "qpn=", len)) {
		err = parse_number(p, value, 0xffffff, &qpn);
		rule->qpn = (uint32_t)qpn;
	} else if (!strncmp(p->word, "nth=", len)) {
		err = parse_number(p, value, UINT32_MAX, &rule->nth);
	} else if (!strncmp(p->word, "every=", len)) {
		err = parse_number(p, value, UINT32_MAX, &rule->every);
	} else if (!strncmp(p->word, "opcode=", len)) {
		rule->op = find_op(value);
		if (!rule->op)
			err = complain(p, "no such operation; SEND, RDMA_WRITE, RDMA_READ, ...");
	} else {
		err = complain(p, "matches are qpn=, opcode=, nth= and every=");
	}
	return err;
}

static int parse_action(struct parser *p, struct rule *rule)
{
	/* A delay of an hour is as good as any longer one; syndromes are bytes. */
	const uint64_t hour_us = 3600ull * 1000 * 1000;

	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		if (strcmp(p->word, actions[i].name))
			continue;
		rule->action = actions[i].action;
		for (unsigned n = 0; n < actions[i].numbers; n++) {
			if (!next_word(p))
				return complain(p, "a number is missing behind it");
			if (parse_number(p, p->word, rule->action == DELAY ? hour_us : 0xff,
					 &rule->numbers[n]))
				return -EINVAL;
		}
		return next_word(p) ? complain(p, "nothing may follow the action") : 0;
	}
	return complain(p,
			"no such action; drop, delay, rnr, fail, cq-overrun, port-down, port-up, "
			"remove-device");
}

/* 1: a rule, 0: an empty line, or -EINVAL. */
static int parse_rule(struct parser *p, struct rule *rule)
{
	int err;

	memset(rule, 0, sizeof(*rule));
	if (!next_word(p))
		return 0;
	while (strchr(p->word, '=')) {
		err = parse_match(p, rule);
		if (err)
			return err;
		if (!next_word(p))
			return complain(p, "an action is missing behind it");
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
		int got = parse_rule(&p, &rule);

		if (got > 0)
			got = append(plan, &rule);
		if (got < 0)
			return got;
		end_rule(&p);
	}
	return 0;
}

int cx_faults_parse(const char *text, struct cx_fault_plan **out)
{
	struct cx_fault_plan *plan = calloc(1, sizeof(*plan));
	int err;

	if (!plan)
		return -ENOMEM;
	err = parse(text, plan, NULL, 0);
	if (err) {
		cx_faults_free(plan);
		return err;
	}
	*out = plan;
	return 0;
}

void cx_faults_free(struct cx_fault_plan *plan)
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

/* -- applying ---------------------------------------------------------------------------------- */

static struct rule *find_rule(struct cx_fault_plan *plan, const struct cx_qp *qp,
			      const struct bsn_wqe *wqe)
{
	for (unsigned i = 0; i < plan->count; i++) {
		struct rule *rule = &plan->rules[i];

		if ((rule->qpn && rule->qpn != qp->head.number) ||
		    (rule->op && rule->op != wqe->op) || (rule->action == DELAY && qp->run.delayed))
			continue;
		rule->seen++;
		if ((!rule->nth || rule->seen == rule->nth) &&
		    (!rule->every || rule->seen % rule->every == 0))
			return rule;
	}
	return NULL;
}

static void set_port(struct cx_hca *hca, bool down)
{
	if (hca->shared->port_down == down)
		return;
	__atomic_store_n(&hca->shared->port_down, down,
			 __ATOMIC_RELAXED); /* read without the lock */
	cx_event_device(hca, down ? IBV_EVENT_PORT_ERR : IBV_EVENT_PORT_ACTIVE);
}

static void remove_device(struct cx_hca *hca)
{
	if (hca->shared->removed)
		return;
	__atomic_store_n(&hca->shared->removed, true, __ATOMIC_RELAXED);
	cx_event_device(hca, IBV_EVENT_DEVICE_FATAL);
	cx_event_end(hca);
}

static void overrun(struct cx_hca *hca, const struct cx_qp *qp)
{
	struct cx_cq *cq = cx_cq_find(hca, qp->attr.send_cqn);

	if (cq)
		cx_cq_fail(hca, cq);
}

bool cx_faults_apply(struct cx_hca *hca, struct cx_qp *qp, const struct bsn_wqe *wqe,
		     struct cx_outcome *outcome)
{
	struct rule *rule = find_rule(hca->faults, qp, wqe);

	if (!rule)
		return false;
	cx_trace(hca, "fault: rule %u at qpn %#x wqe %#x",
		 (unsigned)(rule - hca->faults->rules) + 1, qp->head.number, qp->run.sq_head);
	switch (rule->action) {
	case DROP:
		outcome->verdict = qp->attr.type == IBV_QPT_RC ? CX_SILENCE : CX_ACKED;
		return true;
	case DELAY:
		outcome->verdict = CX_DELAYED;
		outcome->wait_ns = rule->numbers[0] * 1000;
		return true;
	case RNR:
		outcome->verdict = CX_RNR;
		outcome->wait_ns = 10000; /* timer code 1, the shortest */
		return qp->attr.type == IBV_QPT_RC;
	case FAIL:
		outcome->verdict = CX_NAKED;
		outcome->syndrome = (uint8_t)rule->numbers[0];
		outcome->vendor_syndrome = (uint8_t)rule->numbers[1];
		return true;
	case CQ_OVERRUN:
		overrun(hca, qp);
		return false;
	case PORT_DOWN:
	case PORT_UP:
		set_port(hca, rule->action == PORT_DOWN);
		return false;
	case REMOVE_DEVICE:
		remove_device(hca);
		outcome->verdict = CX_DELAYED;
		outcome->wait_ns = CX_NEVER;
		return true;
	}
	return false;
}
