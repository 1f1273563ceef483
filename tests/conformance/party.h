/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bench of conformance: queue pairs that only the installed libmlx5 makes and drives, or only
 * Bunsen, on one software ConnectX whose registers record every store. Both get the same request,
 * and what each left in its ring, its doorbell record and its register is compared (compare.h).
 *
 * The bench also runs on the device that BSN_TEST_DEVICE names. Stores into its registers cannot be
 * seen there: they were right if the device then does what it should.
 */
#ifndef TESTS_CONFORMANCE_PARTY_H
#define TESTS_CONFORMANCE_PARTY_H

#include <stdlib.h>
#include <string.h>

#include "whole.h"
#include "../unit.h"
#include "bsn.h"
#include "bsn_decode.h"
#include "softcx.h"
#include "shim/trap.h"

#define ok(call) assert_int_equal(call, 0)

enum {
	DEPTH = 4, /* requests of the longest kind: with the maxima below, a ring of 64 BBs */
	RING_BB = 64,
	MAX_SGE = 30,     /* all that the device takes */
	MAX_INLINE = 828, /* all that libmlx5 grants on RC */
	DC_KEY = 0x1a2b3c4d,
	RECV_DEPTH = 8,   /* an SRQ's depth is one less, its ring not */

	/* In the bench's memory. */
	SOURCE = 4096,     /* pieces that requests gather from, or scatter into */
	TARGET = 32768,    /* what the peer gives them; a GRH goes before it */
	AREA_BYTES = 8192, /* of each */
	MEMORY_BYTES = 65536,
};

/* A case that is a row of a table. */
#define UNIT_ROW(row, function)                                                                    \
	(struct CMUnitTest){ (row).name, function, NULL, NULL, (void *)(uintptr_t)&(row) }

/* The device and what all parties share. */
struct bench {
	enum bsn_qp_type type;
	bool signal_all;
	bool is_shared;        /* Bunsen's lanes have a lock */
	bool is_doorbell_only; /* nobody uses BlueFlame */
	bool is_model;         /* and not the device that BSN_TEST_DEVICE names */
	bool has_srq;          /* each party receives from one of its own */
	bool has_channel;      /* of the CQs of receives */
	bool has_mkeys;        /* libmlx5's QPs are made for UMR, windows and invalidations */
	unsigned max_recv_sge; /* 1, unless set */
	struct bsn_device *device;
	const struct bsn_device_info *info;
	struct ibv_context *verbs;
	struct ibv_pd *pd; /* the one that Bunsen uses, so that keys are the same */
	struct bsn_mr *memory;
};

/* A request, for any builder. */
struct request {
	struct bsn_wr wr; /* flags but for BSN_F_RING */
	struct bsn_sge sge[MAX_SGE];
	unsigned bytes; /* of all SGEs */
	unsigned slice; /* of SOURCE and TARGET, where its data are */
};

struct party;

/* One way of posting: @n requests, published by one doorbell. */
struct builder {
	const char *name;
	bool is_bunsen;
	bool has_send_ops;    /* the QP is made for ibv_wr_*() */
	bool has_wide_stores; /* into the register, of what is 16 B in registers already */
	int (*post)(struct party *p, const struct request *r, unsigned n);
};

extern const struct builder builders[]; /* the first is what the others are compared with */
extern const unsigned builder_count;

/* A queue pair, its completion queues, and what can be seen of its send queue. */
struct party {
	struct bench *bench;
	const struct builder *builder;

	struct ibv_qp *verbs; /* libmlx5's own; NULL on Bunsen's side */
	struct ibv_td *td;
	struct ibv_pd *domain;
	struct ibv_cq *cq[2]; /* of sends, of receives */
	uint16_t stream; /* of a DCI that has some; 0: none is named */
	struct ibv_ah *ah;
	struct ibv_srq *srq;
	struct ibv_comp_channel *channel;

	struct bsn_qp *qp; /* Bunsen's own; NULL on libmlx5's side */
	struct bsn_cq *bsn_cq[2];
	struct bsn_ep *ep;
	struct bsn_lane *lane;
	struct bsn_rq *bsn_srq;
	struct bsn_channel *bsn_channel;

	struct party *to; /* where its requests go */
	uint32_t qpn;
	uint8_t *ring;
	uint32_t count_bb;
	const uint8_t *record; /* 8 bytes: receive, send */
	uint32_t reg;          /* where its register begins in its page */
	uint16_t pi;           /* where the next WQE begins, as it ought to be */

	uint8_t *recv_ring; /* of its own, or the SRQ's */
	uint32_t recv_stride;
	const uint8_t *recv_record;
};

static inline uint8_t *bench_at(const struct bench *b, size_t offset)
{
	return (uint8_t *)b->memory->data + offset;
}

static inline bool is_atomic(uint32_t opcode)
{
	return opcode == BSN_OPCODE_ATOMIC_CS || opcode == BSN_OPCODE_ATOMIC_FA;
}

/* A bit of @set for each flag that changes a WQE. */
static inline unsigned flags_of(unsigned set)
{
	return (set & 1 ? BSN_F_SIGNALED : 0u) | (set & 2 ? BSN_F_FENCE : 0u) |
	       (set & 4 ? BSN_F_SOLICITED : 0u);
}

/* What a completion said, in Bunsen's terms. */
struct seen {
	uint64_t id;
	int status;
	unsigned opcode; /* enum bsn_wqe_opcode, enum bsn_completion_opcode */
	unsigned byte_len;
	unsigned flags; /* enum bsn_completion_flags */
	uint32_t imm;
};

void bench_open(struct bench *b, enum cx_link link, enum bsn_qp_type type, enum bsn_store store);
void bench_close(struct bench *b);

/* A party, unconnected; UD parties are ready to receive at once. */
void party_create(struct bench *b, struct party *p, const struct builder *builder);
/* @p sends to @to, RC and UC also the other way; then both are ready to send. */
void party_connect(struct party *p, struct party *to);
void party_destroy(struct party *p);

/* Two parties, the first of which sends to the second. */
void party_create_pair(struct bench *b, struct party *from, struct party *to,
		       const struct builder *builder);
void party_destroy_pair(struct party *from, struct party *to);

/* -- parts of libmlx5's parties -- */

/* A thread domain, as Bunsen's queues have: a register of its own, with BlueFlame. */
void party_create_domain(struct party *p);
/* An address handle to the bench's own port. */
void party_create_ah(struct party *p);
void party_modify(const struct bench *b, struct ibv_qp *qp, enum ibv_qp_state state, int mask,
		  uint32_t dest_qpn);
/* What libmlx5 draws at random for an address handle, and Bunsen's endpoints have, too. */
void party_set_source_port(uint8_t *av);
/* Finds the send queue, and the receive queue if there is one. */
struct mlx5dv_qp party_map_send(struct party *p, struct ibv_qp *qp);

/* Fills the ring, in which nothing may be outstanding, with random bytes. */
void party_poison(struct party *p, uint64_t seed);

/* One request, of one SGE at most. */
void party_post(struct party *p, struct bsn_wr wr);
void party_receive(struct party *p, const struct bsn_sge *sge, unsigned count, uint64_t id);
/* The next completion of sends (0) or receives (1); false: there is none, or none came. */
bool party_reap(struct party *p, unsigned which, struct seen *seen);
bool party_await(struct party *p, unsigned which, struct seen *seen);
/* Awaits one, which is a success. */
struct seen party_success(struct party *p, unsigned which);

/* Whether an awaited event may still come: the model does all at once, a device takes time. */
bool bench_is_working(const struct bench *b, long since_ms);
/* How many findings the model has. */
uint64_t bench_lint_count(const struct bench *b);

#endif
