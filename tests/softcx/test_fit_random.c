/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections of which one attribute is wrong, by turns, of each transport on both links, and
 * requests over them. The oracle is the table in softcx(1), written down here once more.
 */
#include "fit.h"

#include "../share.h"

enum { TURNS = 3000, REQUESTS = 4, PSN_MASK = 0xffffff };

static const char *const plans[] = {
	[CX_LINK_IB] = "pkeys 0xffff 0x8123 0x123 0x123 0x8456 0 0x8000",
	[CX_LINK_ROCE] = "gids fe80::5/v1 fe80::5/v2 192.0.2.9/v1 192.0.2.9 - fd05::9 fd05::9/v1",
};

static const uint16_t pkeys[] = { 0xffff, 0x8123, 0x123, 0x123, 0x8456, 0, 0x8000 };
/* Of the GIDs above: which are of IPv4, of version 1; of the third none is there. */
static const bool is_ipv4[] = { false, false, true, true, false, false, false };
static const bool is_v1[] = { true, false, true, false, false, false, true };
enum { KEYS = 7, GIDS = 7, EMPTY_GID = 4 };

static uint64_t seed;

static uint32_t draw(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % below;
}

/* -- what is wrong ----------------------------------------------------------------------------- */

enum wrong { NOTHING, MTU, PSN, READS, KEY, QKEY, PEER, PLACE, SOURCE, DESTINATION, WRONGS };

/* A GID of the table, or one that nobody has: IPv6, or link-local. */
enum { STRANGER = GIDS, LINK_LOCAL_STRANGER, DESTINATIONS };

static unsigned destination[ENDS];

static void set_destination(unsigned end, unsigned index)
{
	static const union ibv_gid strangers[] = { { .raw = { 0xfd, 0x77, [15] = 7 } },
						   { .raw = { 0xfe, 0x80, [15] = 7 } } };

	if (index == EMPTY_GID)
		return;
	destination[end] = index;
	if (index >= STRANGER)
		f.told[end].dgid = strangers[index - STRANGER];
	else
		assert_int_equal(ibv_query_gid(f.ctx, 1, (int)index, &f.told[end].dgid), 0);
}

static void spoil(enum wrong wrong)
{
	const unsigned end = draw(ENDS);
	struct told *t = &f.told[end];

	switch (wrong) {
	case MTU:
		t->mtu = IBV_MTU_256 + draw(5);
		break;
	case PSN:
		t->sq_psn = (t->sq_psn + draw(9) - 4) & PSN_MASK;
		f.told[!end].rq_psn = (f.told[!end].rq_psn + draw(9) - 4) & PSN_MASK;
		break;
	case READS:
		t->max_rd_atomic = (uint8_t)(1 + draw(16));
		f.told[!end].max_dest_rd_atomic = (uint8_t)draw(17);
		break;
	case KEY:
		f.told[A].pkey_index = (uint16_t)(f.is_roce ? 0 : draw(KEYS));
		f.told[B].pkey_index = (uint16_t)(f.is_roce ? 0 : draw(KEYS));
		break;
	case QKEY:
		t->qkey++;
		break;
	case PEER:
		t->dest_qpn++;
		break;
	case PLACE:
		t->dlid++;
		break;
	case SOURCE:
		t->sgid_index = (uint8_t)(f.is_roce ? draw(GIDS) : 0);
		break;
	case DESTINATION:
		set_destination(end, f.is_roce ? draw(DESTINATIONS) : 0);
		break;
	default:
		break;
	}
}

/* -- the oracle -------------------------------------------------------------------------------- */

static bool is_datagram(void)
{
	return f.qp[A]->qp_type == IBV_QPT_UD;
}

static bool is_reliable(void)
{
	return !is_datagram() && f.qp[A]->qp_type != IBV_QPT_UC;
}

/* Of datagrams, what an address handle of A answers; those of B it makes none of. */
static int expected_rtr(unsigned end)
{
	const unsigned from = f.told[end].sgid_index, to = destination[end];
	const bool to_link_local = to <= 1 || to == LINK_LOCAL_STRANGER;

	if (!f.is_roce || (is_datagram() && end == B))
		return 0;
	if (from == EMPTY_GID)
		return ENODATA;
	if (to_link_local && is_v1[from])
		return 0;
	if (is_ipv4[from] != (to < STRANGER && is_ipv4[to]))
		return EINVAL;
	return to == STRANGER ? ENETUNREACH : to == LINK_LOCAL_STRANGER ? ETIMEDOUT : 0;
}

/* That both know each other; a receiver of datagrams knows no peer. */
static bool are_peers(void)
{
	const struct told *a = &f.told[A], *b = &f.told[B];

	if (a->dest_qpn != f.qp[B]->qp_num)
		return false;
	if (is_datagram())
		return a->qkey == b->qkey;
	return b->dest_qpn == f.qp[A]->qp_num &&
	       (!f.is_roce || is_v1[a->sgid_index] == is_v1[b->sgid_index]);
}

static bool is_delivered(void)
{
	const struct told *a = &f.told[A], *b = &f.told[B];
	const uint16_t x = pkeys[a->pkey_index], y = pkeys[b->pkey_index];

	if (!are_peers())
		return false;
	if (f.is_roce)
		return destination[A] < STRANGER;
	return a->dlid == 1 && (x & 0x7fff) == (y & 0x7fff) && x & 0x7fff && (x | y) & 0x8000;
}

static unsigned room(unsigned reads)
{
	return reads > 8 ? 16 : reads > 4 ? 8 : reads > 2 ? 4 : reads == 2 ? 2 : 1;
}

struct request {
	enum ibv_wr_opcode opcode;
	uint32_t len;
	unsigned count; /* of READs, by one doorbell */
};

static struct effect refused(enum ibv_event_type event, bool executed)
{
	return (struct effect){ IBV_WC_REM_INV_REQ_ERR, 0x8a, executed, true, event };
}

/* One request of those of a doorbell, the @nth, and the PSNs after it. */
static struct effect expect_one(const struct request *r, unsigned nth, uint32_t *sq_psn,
				uint32_t *rq_psn)
{
	const struct effect done = { IBV_WC_SUCCESS, 0, true, false, FIT_NO_EVENT };
	const struct effect silent = { IBV_WC_RETRY_EXC_ERR, 0x81, false, false, FIT_NO_EVENT };
	const struct effect lost = { IBV_WC_SUCCESS, 0, false, false, FIT_NO_EVENT };
	const uint32_t here = 128u << f.told[A].mtu, there = 128u << f.told[B].mtu;
	const uint32_t longest = r->len < here ? r->len : here;
	const uint32_t packets = r->len ? (r->len + here - 1) / here : 1;
	const int32_t ahead = (int32_t)((*sq_psn - *rq_psn) << 8) >> 8;
	const bool is_read = r->opcode == IBV_WR_RDMA_READ;
	const bool is_atomic = r->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	const unsigned may = room(f.told[A].max_rd_atomic), takes = f.told[B].max_dest_rd_atomic;
	const unsigned outstanding = nth < may ? nth : may;

	if (!is_reliable())
		return is_delivered() && (is_datagram() || longest <= there) ? done : lost;
	if (!is_delivered() || ahead > 0 || (ahead < 0 && is_atomic))
		return silent;
	if (ahead < 0 && !is_read) {
		if (ahead + (int32_t)packets > 0)
			return refused(IBV_EVENT_QP_REQ_ERR, false);
		*sq_psn = (*sq_psn + packets) & PSN_MASK;
		return (struct effect){ IBV_WC_SUCCESS, 0, false, false, FIT_NO_EVENT };
	}
	if ((is_read || is_atomic) && (!takes || outstanding > room(takes)))
		return refused(IBV_EVENT_QP_REQ_ERR, false);
	if (!is_read && longest > there)
		return refused(IBV_EVENT_QP_ACCESS_ERR, false);
	*sq_psn = (*sq_psn + packets) & PSN_MASK;
	if (!ahead)
		*rq_psn = *sq_psn;
	return done;
}

static struct effect expect(const struct request *r, uint32_t *sq_psn, uint32_t *rq_psn)
{
	struct effect effect = { 0 };
	bool executed = false;

	for (unsigned i = 1; i <= r->count && !effect.status; i++) {
		effect = expect_one(r, i, sq_psn, rq_psn);
		executed = executed || effect.executed;
	}
	effect.executed = executed;
	return effect;
}

/* -- the turns --------------------------------------------------------------------------------- */

/* One that the transport has; a datagram is of one packet. */
static struct request draw_request(enum ibv_qp_type type)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE,
						      IBV_WR_RDMA_READ,
						      IBV_WR_ATOMIC_FETCH_AND_ADD };
	const uint32_t have = type == IBV_QPT_UD ? 1 : type == IBV_QPT_UC ? 2 : 4;
	struct request r = { .opcode = opcodes[draw(have)], .len = 8, .count = 1 };

	if (r.opcode != IBV_WR_ATOMIC_FETCH_AND_ADD)
		r.len = draw(2) || type == IBV_QPT_UD ? 1 + draw(300) : 1 + draw(FIT_MOST);
	if (r.opcode == IBV_WR_RDMA_READ)
		r.count = 1 + draw(8);
	return r;
}

static bool is_same(const struct effect *a, const struct effect *b)
{
	return a->status == b->status && a->vendor == b->vendor && a->executed == b->executed &&
	       a->responder_fails == b->responder_fails && a->event == b->event;
}

static void run_requests(unsigned turn, enum wrong wrong)
{
	uint32_t sq_psn = f.told[A].sq_psn, rq_psn = f.told[B].rq_psn;
	struct effect wanted = { 0 }, found;

	for (unsigned i = 0; i < REQUESTS && !wanted.status; i++) {
		const struct request r = draw_request(f.qp[A]->qp_type);
		wanted = expect(&r, &sq_psn, &rq_psn);
		found = fit_run(r.opcode, r.len, r.count);
		if (!is_same(&wanted, &found))
			fail_msg("turn %u, wrong %d: opcode %d, %u bytes: status %d, not %d; "
				 "vendor %#x, not %#x; executed %d, not %d; event %d, not %d",
				 turn, wrong, r.opcode, r.len, found.status, wanted.status,
				 found.vendor, wanted.vendor, found.executed, wanted.executed,
				 found.event, wanted.event);
	}
}

/* False: an address was refused, as it should be. */
static bool connect_ends(unsigned turn)
{
	bool connected = true;

	fit_begin_anew();
	for (unsigned end = 0; end < ENDS; end++) {
		const int wanted = expected_rtr(end), found = fit_rtr(end);
		if (wanted != found)
			fail_msg("turn %u, end %u: RTR answers %d, not %d", turn, end, found,
				 wanted);
		connected = connected && !wanted;
	}
	for (unsigned end = 0; end < ENDS && connected; end++)
		assert_int_equal(fit_rts(end), 0);
	return connected;
}

static void play(enum cx_link link, enum ibv_qp_type type)
{
	struct cx_config config = loopback_config(link, true);

	config.fault_plan = plans[link];
	fit_open(config);
	fit_create_qps(type);
	for (unsigned turn = 0; turn < TURNS / tests_share(); turn++) {
		const enum wrong wrong = turn % WRONGS;
		fit_reset_told();
		destination[A] = destination[B] = f.told[A].sgid_index;
		spoil(wrong);
		if (connect_ends(turn))
			run_requests(turn, wrong);
	}
	fit_destroy_qps();
	fit_close();
}

static void each_attribute_is_wrong_by_turns(void **state)
{
	play((enum cx_link)(given(state) >> 8), (enum ibv_qp_type)(given(state) & 0xff));
}

#define TURNS_OF(link, type, transport)                                                            \
	NAMED("each attribute is wrong by turns: " transport, each_attribute_is_wrong_by_turns,    \
	      (link) << 8 | (type), NULL, NULL)
#define ON_BOTH(type, transport)                                                                   \
	TURNS_OF(CX_LINK_IB, type, transport " on InfiniBand"),                                    \
		TURNS_OF(CX_LINK_ROCE, type, transport " on RoCE")

int main(void)
{
	const char *given_seed = getenv("BSN_SEED");

	seed = given_seed ? strtoull(given_seed, NULL, 0) : 20261128;
	printf("# BSN_SEED=%llu\n", (unsigned long long)seed);
	fflush(stdout);
	return RUN(ON_BOTH(IBV_QPT_RC, "RC"), ON_BOTH(IBV_QPT_UC, "UC"),
		   ON_BOTH(IBV_QPT_XRC_SEND, "XRC"), ON_BOTH(IBV_QPT_UD, "UD"));
}
