/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A target on plain verbs. It has an RC QP for each connected initiator. It keeps QPs of initiators
 * that left for later ones, and an endpoint to each pool that asked.
 */
#include "rc.h"

#include <stdlib.h>

enum { BATCH = 16 };

struct link {
	struct bsn_qp *qp;
	struct asker *of; /* NULL: unused */
	struct wire_address initiator;
	uint32_t serial;
	struct link *next;
};

/* A pool that asked. */
struct asker {
	struct wire_address address;
	struct bsn_ep *ep;
	struct asker *next;
};

struct rc_target {
	struct bsn_device *device;
	struct bsn_dct_attr attr;
	struct bsn_cq *cq; /* of its datagrams */
	struct rc_talk talk;
	struct link *links;
	struct asker *askers;
};

/* -- its QPs ----------------------------------------------------------------------------------- */

/* Gives back the CQ entries of the QP's sends: a target sends nothing. */
static void discharge_sends(struct bsn_qp *qp)
{
	pthread_mutex_lock(&qp->device->cq_lock);
	qp->cq->charged -= qp->charged_send;
	qp->charged_send = 0;
	pthread_mutex_unlock(&qp->device->cq_lock);
}

/* Makes a QP, and puts it first in the list. */
static int add_link(struct rc_target *t)
{
	const struct bsn_qp_attr attr = { .type = BSN_QP_RC,
					  .cq = t->cq,
					  .recv_cq = t->attr.cq,
					  .srq = t->attr.srq,
					  .pd = t->attr.pd,
					  .send_depth = 1,
					  .user = t->attr.user };
	struct link *link = calloc(1, sizeof(*link));
	int err;

	if (!link)
		return fail(ENOMEM, "no memory");
	err = bsn_qp_create(t->device, &attr, &link->qp);
	if (err) {
		free(link);
		return err;
	}
	discharge_sends(link->qp);
	link->next = t->links;
	t->links = link;
	return 0;
}

static struct link *get_link(struct rc_target *t)
{
	for (struct link *link = t->links; link; link = link->next)
		if (!link->of)
			return link;
	return add_link(t) ? NULL : t->links;
}

/*
 * Resets the QP for later initiators. CQEs of its messages stay in the CQ, under the target's
 * number.
 */
static int give_up(struct rc_target *t, struct link *link)
{
	int err = t->device->path->recvs_move(link->qp, rc_target_number(t));

	if (!err)
		err = bsn_qp_reset(link->qp);
	if (!err)
		link->of = NULL;
	return err;
}

/* -- who asks ---------------------------------------------------------------------------------- */

static struct asker *find_asker(const struct rc_target *t, const struct wire_address *address)
{
	struct asker *asker = t->askers;

	while (asker && memcmp(&asker->address, address, sizeof(*address)))
		asker = asker->next;
	return asker;
}

static struct asker *get_asker(struct rc_target *t, const struct wire_address *wire)
{
	const struct bsn_address address = address_from(wire);
	struct asker *asker = find_asker(t, wire);

	if (asker)
		return asker;
	asker = calloc(1, sizeof(*asker));
	if (!asker)
		return NULL;
	if (bsn_ep_create(t->talk.qp, &address, &t->attr.connect, NULL, &asker->ep)) {
		free(asker);
		return NULL;
	}
	asker->address = *wire;
	asker->next = t->askers;
	t->askers = asker;
	return asker;
}

static void answer(struct rc_target *t, const struct asker *asker, const struct rc_message *m)
{
	talk_send(&t->talk, asker->ep, bsn_from_be32(asker->address.qpn), m);
}

/* The QP that this initiator has, or had when it asked last. */
static struct link *find_link(const struct rc_target *t, const struct asker *asker,
			      struct bsn_be32 qpn)
{
	struct link *link = t->links;

	while (link && (link->of != asker || memcmp(&link->initiator.qpn, &qpn, sizeof(qpn))))
		link = link->next;
	return link;
}

/* -- ASK --------------------------------------------------------------------------------------- */

/* Connects the QP to the initiator, with the smaller MTU of the two ends. */
static int join(struct rc_target *t, struct link *link, const struct rc_message *m)
{
	const uint8_t most = rc_address(link->qp, t->attr.connect.mtu).mtu;
	struct bsn_connect_attr connect = t->attr.connect;
	struct bsn_address address;
	int err;

	link->initiator = m->qp;
	if (link->initiator.mtu > most)
		link->initiator.mtu = most;
	address = address_from(&link->initiator);
	connect.mtu = 0;
	choose_psn(link->qp);
	err = bsn_qp_ready_to_receive(link->qp, &address, &connect);
	if (err)
		bsn_qp_reset(link->qp);
	return err;
}

static void say_yes(struct rc_target *t, const struct link *link)
{
	struct rc_message m = talk_message(&t->talk, RC_YES, link->serial);

	m.qp = address_of_qp(link->qp);
	m.qp.mtu = link->initiator.mtu;
	answer(t, link->of, &m);
}

static void say_no(struct rc_target *t, const struct asker *asker, const struct rc_message *to,
		   enum rc_reason reason)
{
	struct rc_message m = talk_message(&t->talk, RC_NO, bsn_from_be32(to->serial));

	m.reason = (uint8_t)reason;
	answer(t, asker, &m);
}

static bool has_key(const struct rc_target *t, const struct rc_message *m)
{
	return bsn_from_be32(m->key_high) == (uint32_t)(t->attr.access_key >> 32) &&
	       bsn_from_be32(m->key_low) == (uint32_t)t->attr.access_key;
}

/* Answers an ASK. Return: how many initiators came or left. */
static int welcome(struct rc_target *t, struct asker *asker, const struct rc_message *m)
{
	struct link *link = find_link(t, asker, m->qp.qpn);
	int changes = 0;

	if (link && link->serial == bsn_from_be32(m->serial)) {
		say_yes(t, link); /* the first answer was lost, or is slow */
		return 0;
	}
	if (link) { /* its LEAVE was lost */
		give_up(t, link);
		changes++;
	}
	link = get_link(t);
	if (!link) {
		say_no(t, asker, m, RC_NO_QP);
		return changes;
	}
	if (join(t, link, m)) {
		say_no(t, asker, m, RC_NO_WAY);
		return changes;
	}
	link->of = asker;
	link->serial = bsn_from_be32(m->serial);
	say_yes(t, link);
	return changes + 1;
}

/* -- receiving -------------------------------------------------------------------------------- */

/* An initiator with another key gets no answer, as on a device. */
static int hear_ask(struct rc_target *t, const struct rc_message *m)
{
	struct asker *asker = has_key(t, m) ? get_asker(t, &m->from) : NULL;

	return asker ? welcome(t, asker, m) : 0;
}

static int hear_leave(struct rc_target *t, const struct rc_message *m)
{
	const struct rc_message left = talk_message(&t->talk, RC_LEFT, bsn_from_be32(m->serial));
	const struct asker *asker = find_asker(t, &m->from);
	int changes = 0;

	if (!asker)
		return 0;
	for (struct link *link = t->links; link; link = link->next)
		if (link->of == asker && link->serial == bsn_from_be32(m->serial))
			changes += !give_up(t, link);
	answer(t, asker, &left);
	return changes;
}

int rc_target_accept(struct rc_target *t)
{
	struct bsn_completion c[BATCH];
	struct rc_message m;
	int changes = 0, n;

	do {
		n = bsn_poll(t->cq, c, BATCH);
		for (int k = 0; k < n; k++) {
			if (!talk_heard(&t->talk, &c[k], &m))
				continue;
			if (m.kind == RC_ASK)
				changes += hear_ask(t, &m);
			else if (m.kind == RC_LEAVE)
				changes += hear_leave(t, &m);
		}
	} while (n == BATCH);
	return n < 0 ? n : changes;
}

/* -- life -------------------------------------------------------------------------------------- */

uint32_t rc_target_number(const struct rc_target *t)
{
	return t->talk.qp->info.number;
}

struct bsn_sq *rc_target_sends(const struct rc_target *t)
{
	return t->links->qp->sq;
}

static void free_links(struct rc_target *t)
{
	for (struct link *link = t->links, *next; link; link = next) {
		next = link->next;
		bsn_qp_destroy(link->qp);
		free(link);
	}
	for (struct asker *asker = t->askers, *next; asker; asker = next) {
		next = asker->next;
		bsn_ep_destroy(asker->ep);
		free(asker);
	}
}

void rc_target_free(struct rc_target *t)
{
	if (t->talk.qp) {
		t->device->path->recvs_drop(cq_of(t->attr.cq), rc_target_number(t));
		bsn_qp_reset(t->talk.qp); /* messages on their way need no endpoint after that */
	}
	free_links(t);
	talk_close(&t->talk);
	bsn_cq_destroy(t->cq);
	free(t);
}

/*
 * Makes the first QP when the target is created: it takes CQ entries for all receives of the SRQ.
 */
static int fill(struct rc_target *t)
{
	const struct bsn_cq_attr cq = { .entries = 2 * RC_TALK_SLOTS };
	int err = bsn_cq_create(t->device, &cq, &t->cq);

	if (!err)
		err = talk_open(&t->talk, t->device, t->attr.pd, t->cq);
	return err ? err : add_link(t);
}

int rc_target_make(struct bsn_device *device, const struct bsn_dct_attr *attr,
		   struct rc_target **out)
{
	struct rc_target *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return fail(ENOMEM, "no memory");
	t->device = device;
	t->attr = *attr;
	err = fill(t);
	if (err)
		rc_target_free(t);
	else
		*out = t;
	return err;
}
