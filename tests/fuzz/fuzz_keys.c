/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arbitrary tables of translations, made by CREATE_MKEY and by UMR, through the model's translator.
 * Whatever they are, nothing is read or written out of bounds (sanitizers tell), each walk ends,
 * and all spans are in the only region. A byte is at the same place whether it is looked up alone
 * or as part of a span.
 *
 * The input has for each key a byte with its kind and room, then its table. The rest is the WQE of
 * a UMR.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "../softcx/rig.h"
#include "bsn_cmd.h"
#include "bsn_umr.h"
#include "fuzz.h"
#include "nic/keys.h"

enum {
	KEYS = 4,
	MOST_ROOM = 32,
	UMR_BYTES = RIG_SQ_BB * BSN_BB_SIZE,
	WALK_BYTES = 512,
	SMALL = 1 << 20, /* smaller keys and addresses in the input stand for existing ones */
};

struct input {
	const uint8_t *bytes;
	size_t size;
};

static struct rig rig;
static uint32_t keys[KEYS]; /* 0: it was refused */

static void take(struct input *in, void *to, size_t size)
{
	const size_t got = size < in->size ? size : in->size;

	memset(to, 0, size);
	if (got)
		memcpy(to, in->bytes, got);
	in->bytes += got;
	in->size -= got;
}

/* -- keys -------------------------------------------------------------------------------------- */

/*
 * Replaces small keys by our keys or the region's, and small addresses by addresses in the region.
 */
static void aim(uint8_t *xlt)
{
	struct bsn_klm klm;

	bsn_klm_decode(&klm, xlt);
	if (klm.mkey == BSN_REPEAT_OP || klm.mkey >= SMALL)
		return;
	klm.mkey = klm.mkey % (KEYS + 1) < KEYS ? keys[klm.mkey % (KEYS + 1)] : rig.key;
	if (klm.mkey == rig.key && klm.va < SMALL)
		klm.va += (uintptr_t)rig.buf;
	bsn_klm_encode(xlt, &klm);
}

static void create_key(struct input *in, unsigned nth)
{
	uint8_t kind, command[BSN_CREATE_MKEY_LIST_OFFSET + MOST_ROOM * BSN_XLT_SIZE] = { 0 };
	uint8_t out[BSN_CREATED_OUT_SIZE];
	struct bsn_create_mkey_xlt xlt;
	struct bsn_cmd_object made;
	struct bsn_mkey_ctx ctx = { .umr_en = 1, .lr = 1, .qpn = BSN_MKEY_QPN_ANY, .pd = rig.pd };

	take(in, &kind, 1);
	ctx.access_mode_1_0 = kind & 1 ? BSN_MKEY_MODE_KSM : BSN_MKEY_MODE_KLM;
	ctx.lw = kind >> 1 & 1;
	ctx.rr = ctx.rw = 1;
	ctx.log_page_size = kind & 0x80 ? 31 : kind >> 4;
	ctx.len = kind & 4 ? 1u << 12 : UINT64_MAX;
	ctx.start_addr = kind & 8 ? 0x1000 : 0;
	ctx.translations_octword_size = 4u * (1 + kind % (MOST_ROOM / 4));
	xlt.octwords = ctx.translations_octword_size;
	take(in, command + BSN_CREATE_MKEY_LIST_OFFSET, xlt.octwords * BSN_XLT_SIZE);
	for (uint32_t i = 0; i < xlt.octwords; i++)
		aim(command + BSN_CREATE_MKEY_LIST_OFFSET + (size_t)i * BSN_XLT_SIZE);
	ENCODE(cmd_in, command, .opcode = BSN_CMD_CREATE_MKEY);
	bsn_mkey_ctx_encode(command + BSN_CREATE_MKEY_CTX_OFFSET, &ctx);
	bsn_create_mkey_xlt_encode(command + BSN_CREATE_MKEY_XLT_OFFSET, &xlt);
	keys[nth] = 0;
	if (cx_command(rig.hca, NULL, command, sizeof(command), out, sizeof(out)))
		return;
	bsn_cmd_object_decode(&made, out + BSN_CMD_OBJECT_OFFSET);
	keys[nth] = made.number << 8;
}

static void destroy_key(unsigned nth)
{
	uint8_t in[BSN_MEANING_IN_SIZE], out[BSN_CMD_OUT_SIZE];

	ENCODE(cmd_in, in, .opcode = BSN_CMD_DESTROY_MKEY);
	ENCODE(cmd_object, in + BSN_CMD_OBJECT_OFFSET, .number = keys[nth] >> 8);
	MUST(!cx_command(rig.hca, NULL, in, sizeof(in), out, sizeof(out)));
}

/* -- UMR --------------------------------------------------------------------------------------- */

static void revive(struct rig_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	MUST(!cx_qp_modify(rig.hca, qp->number, &attr, IBV_QP_STATE));
	qp->pi = qp->rq_pi = 0;
	memset(qp->db, 0, sizeof(qp->db));
	rig_qp_connect(&rig, qp, rig.qp[1].number);
}

/* Changes the last key by a UMR with the rest of the input. */
static void change_key(struct input *in)
{
	struct rig_wqe wqe;
	struct bsn_cqe cqe;
	size_t left;

	if (!in->size || !keys[KEYS - 1])
		return;
	rig_begin(&wqe, BSN_OPCODE_UMR, BSN_CE_ALWAYS);
	wqe.ctrl.imm = keys[KEYS - 1];
	left = UMR_BYTES - wqe.len < in->size ? UMR_BYTES - wqe.len : in->size;
	left = (left + BSN_DS_SIZE - 1) / BSN_DS_SIZE * BSN_DS_SIZE;
	take(in, wqe.bytes + wqe.len, left);
	for (size_t at = BSN_CTRL_SIZE + BSN_UMR_CTRL_SIZE + BSN_MKEY_CTX_SIZE;
	     at < wqe.len + left; at += BSN_XLT_SIZE)
		aim(wqe.bytes + at);
	wqe.len += left;
	rig_post(&rig.qp[0], &wqe);
	cx_step(rig.hca, 0);
	MUST(rig_poll(&rig.cq[0], &cqe));
	rig_consume(&rig.cq[0]);
	if (cqe.tail.opcode == BSN_CQE_REQ_ERR)
		revive(&rig.qp[0]);
}

/* -- walks ------------------------------------------------------------------------------------- */

static bool is_inside(const struct cx_span *span)
{
	const uint64_t begin = (uintptr_t)rig.buf;

	return span->va >= begin && span->va - begin <= sizeof(rig.buf) &&
	       span->len <= sizeof(rig.buf) - (span->va - begin);
}

/* Returns the place of one byte, looked up alone. */
static uint64_t place_of(uint32_t key, const struct cx_claim *claim, uint64_t addr)
{
	struct cx_span span;

	return cx_key_span(rig.hca, key, claim, addr, 1, &span) ? 0 : span.va;
}

static void walk(uint32_t key, uint64_t addr, int access)
{
	const struct cx_claim claim = { rig.pd, rig.qp[0].number, access };
	struct cx_span span;

	for (uint64_t done = 0; done < WALK_BYTES; done += span.len) {
		if (cx_key_span(rig.hca, key, &claim, addr + done, WALK_BYTES - done, &span))
			return;
		MUST(span.len && span.len <= WALK_BYTES - done);
		MUST(is_inside(&span));
		MUST(place_of(key, &claim, addr + done) == span.va);
		MUST(place_of(key, &claim, addr + done + span.len / 2) == span.va + span.len / 2);
		MUST(place_of(key, &claim, addr + done + span.len - 1) == span.va + span.len - 1);
	}
}

static void walk_all(void)
{
	static const uint64_t addrs[] = { 0,	      1,	   63,	       511,
					  0x1000,     0x1001,	   0x1100,     1u << 20,
					  1ull << 31, 1ull << 40, UINT64_MAX - 600, UINT64_MAX };

	for (unsigned i = 0; i < KEYS; i++)
		for (unsigned j = 0; keys[i] && j < sizeof(addrs) / sizeof(*addrs); j++) {
			walk(keys[i], addrs[j], 0);
			walk(keys[i], addrs[j], IBV_ACCESS_REMOTE_WRITE);
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };

	if (!rig.hca)
		rig_setup(&rig, IBV_QPT_RC);
	for (unsigned i = 0; i < KEYS; i++)
		create_key(&in, i);
	walk_all();
	change_key(&in);
	walk_all();
	for (unsigned i = 0; i < KEYS; i++)
		if (keys[i])
			destroy_key(i);
	return 0;
}
