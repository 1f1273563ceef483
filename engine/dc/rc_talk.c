/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends and receives the datagrams by which pools and targets make connections. */
#include "rc.h"

#define MAGIC   0x42524300u
#define VERSION 2u

/* Memory: slots to receive into, then as many to send from. */
enum { SLOTS = RC_TALK_SLOTS, SLOT_BYTES = 256, GRH_BYTES = 40 };

_Static_assert(SLOTS == 32, "a slot to send from is a bit of @idle");
_Static_assert(GRH_BYTES + sizeof(struct rc_message) <= SLOT_BYTES, "a slot holds a message");

static struct bsn_sge sge_of(const struct rc_talk *talk, uint64_t slot, uint32_t length)
{
	return (struct bsn_sge){ talk->mem->addr + slot * SLOT_BYTES, length, talk->mem->lkey };
}

static uint8_t *bytes_of(const struct rc_talk *talk, uint64_t slot)
{
	return (uint8_t *)(uintptr_t)talk->mem->addr + slot * SLOT_BYTES;
}

static int hear_into(const struct rc_talk *talk, uint64_t slot)
{
	const struct bsn_sge into = sge_of(talk, slot, SLOT_BYTES);

	return bsn_recv(talk->qp->rq, &into, slot);
}

int talk_open(struct rc_talk *talk, struct bsn_device *device, struct bsn_pd *pd, struct bsn_cq *cq)
{
	const struct bsn_mr_attr mem = { .pd = pd };
	const struct bsn_cq_attr sent = { .entries = 2 * SLOTS };
	struct bsn_qp_attr qp = { .type = BSN_QP_UD,
				  .recv_cq = cq,
				  .pd = pd,
				  .send_depth = SLOTS,
				  .recv_depth = SLOTS };
	int err = bsn_buf_alloc(device, 2 * SLOTS * SLOT_BYTES, &mem, &talk->mem);

	if (!err)
		err = bsn_cq_create(device, &sent, &talk->sent);
	qp.cq = talk->sent;
	if (!err)
		err = bsn_qp_create(device, &qp, &talk->qp);
	if (!err)
		err = bsn_qp_connect(talk->qp, NULL, NULL);
	for (uint64_t slot = 0; !err && slot < SLOTS; slot++)
		err = hear_into(talk, slot);
	if (err)
		talk_close(talk);
	talk->idle = UINT32_MAX;
	return err;
}

void talk_close(struct rc_talk *talk)
{
	bsn_qp_destroy(talk->qp);
	bsn_cq_destroy(talk->sent);
	bsn_buf_free(talk->mem);
	memset(talk, 0, sizeof(*talk));
}

struct rc_message talk_message(const struct rc_talk *talk, enum rc_kind kind, uint32_t serial)
{
	return (struct rc_message){ .magic = bsn_to_be32(MAGIC | VERSION),
				    .kind = (uint8_t)kind,
				    .serial = bsn_to_be32(serial),
				    .from = address_of_qp(talk->qp) };
}

bool talk_is_done(struct rc_talk *talk)
{
	struct bsn_completion c;

	while (bsn_poll(talk->sent, &c, 1) > 0)
		talk->idle |= 1u << (c.id - SLOTS);
	return talk->idle == UINT32_MAX;
}

void talk_send(struct rc_talk *talk, struct bsn_ep *ep, uint32_t qpn, const struct rc_message *m)
{
	struct bsn_sge from;
	unsigned slot;

	if (!talk_is_done(talk) && !talk->idle)
		return;
	slot = (unsigned)__builtin_ctz(talk->idle);
	from = sge_of(talk, SLOTS + slot, sizeof(*m));
	memcpy(bytes_of(talk, SLOTS + slot), m, sizeof(*m));
	((struct ep_object *)(void *)ep)->verbs.qpn = qpn;
	if (!bsn_send(ep, &from, SLOTS + slot, BSN_F_SIGNALED | BSN_F_RING))
		talk->idle &= ~(1u << slot);
}

bool talk_heard(struct rc_talk *talk, const struct bsn_completion *c, struct rc_message *m)
{
	bool is_message = !c->status && c->byte_len == GRH_BYTES + sizeof(*m);

	if (is_message) {
		memcpy(m, bytes_of(talk, c->id) + GRH_BYTES, sizeof(*m));
		is_message = bsn_from_be32(m->magic) == (MAGIC | VERSION);
	}
	if (c->status != IBV_WC_WR_FLUSH_ERR)
		hear_into(talk, c->id);
	return is_message;
}

struct wire_address rc_address(const struct bsn_qp *qp, uint32_t mtu)
{
	struct wire_address wire = address_of_qp(qp);

	while (mtu && wire.mtu > IBV_MTU_256 && 128u << wire.mtu > mtu)
		wire.mtu--;
	return wire;
}
