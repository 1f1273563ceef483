/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the HCA remembers: the shared mapping with its object tables, and each process's own view of
 * it. Only nic/ sees this. Its rooms, from the way in to the CQE:
 *
 *	doorbell, drive -> requester -> sq, keys -> wire -> responder -> keys, rq, cq
 *	keys -> translations
 *
 * The room of rdma_cm, kernel/cm/, keeps its tables here, too, and sees it.
 *
 * Every function expects the HCA's lock to be held unless it says otherwise, and none allocates or
 * uses stdio, except where the program opens, creates or closes: they run in the trap's signal
 * handler.
 */
#ifndef SOFTCX_NIC_STATE_H
#define SOFTCX_NIC_STATE_H

#include <pthread.h>
#include <stdarg.h>

#include "bus.h"
#include "connections.h"
#include "counters.h"
#include "dc.h"
#include "datasheet.h"
#include "hca.h"
#include "netdev.h"

enum {
	CX_PROCS = CX_FABRIC_PROCS,
	CX_CHANNELS = 4096,

	CX_CHANNEL_PATH_SIZE = 128,
	CX_UAR_PAGES = 4096,
	CX_BF_PER_UAR = 8,          /* BlueFlame buffers in a UAR page */
};

/* Translations are allocated in fours (translations_octword_size); each four has a bit. */
enum { CX_XLT_GRAIN = 4, CX_XLT_WORDS = CX_MAX_XLTS / CX_XLT_GRAIN / 64 };

enum { CX_FIRST_KEY = 2 }; /* so that no key is 0, or the list terminator 0x100 */

enum cx_kind { CX_PD, CX_UMEM, CX_CHANNEL, CX_CQ, CX_SRQ, CX_QP, CX_MR, CX_DM, CX_XRCD, CX_MAPPING,
	       CX_CONTEXT, CX_SUBSCRIPTION,
	       CX_KINDS };
enum { CX_MOST_KINDS = 16 }; /* so that a build with more kinds can read the segments of others */

#define CX_NEVER UINT64_MAX /* a deadline that never comes */

/* The head of every object. Its number is (tag << index bits) | index; 0: the entry is free. */
struct cx_head {
	uint32_t number;
	uint32_t next;  /* the owner's next object, index + 1; 0: the last */
	uint32_t users; /* other objects that refer to this one */
	uint16_t owner; /* process slot */
	uint16_t tag;   /* of the last number of the entry */
};

struct cx_proc {
	pid_t pid; /* 0: free */
	uint64_t deadline_ns;          /* the earliest deadline of its queue pairs, 0: none */
	uint32_t first[CX_MOST_KINDS]; /* its first object of each kind, index + 1 */
};

/* What peers need to wake up a process. */
struct cx_alarm {
	uint32_t count;  /* a futex, which counts possible changes of its deadlines */
	bool keeps_time; /* false: passive, with a clock of its own */
	bool reachable;  /* it has a queue pair that a peer can fail */
	uint32_t changes; /* its queues or their states changed since its last step */
};

struct cx_pd {
	struct cx_head head;
};

/* Memory that commands name: mlx5_ifc.h "umem". */
struct cx_umem {
	struct cx_head head;
	uint64_t va, length;
	bool is_writable; /* by the device */
};

/* An open of an XRC domain. */
struct cx_xrcd {
	struct cx_head head;
	struct cx_xrcd_attr attr;
};

/* A mapping of an address to a queue pair (nic/commands/mapping.c). */
struct cx_mapping {
	struct cx_head head;
};

/* A program's open of the device; the device itself does not know of it. */
struct cx_context {
	struct cx_head head;
};

/* Pages of the device's own memory. */
struct cx_dm {
	struct cx_head head;
	uint32_t first, pages;
};

/* A translation, as it was given: BSN_XLT_SIZE bytes. */
struct cx_xlt {
	uint8_t bytes[16];
	uint64_t start; /* bytes before it, in the key or in a round of a repeat block */
};

/* More ranges are joined, with the bytes between them. */
enum { CX_MR_CHANGES = 8 };

/* An mkey: of a region, of a window, or created by a program. */
struct cx_mr {
	struct cx_head head;
	struct cx_mr_attr attr;
	bool is_region;      /* of ibv_reg_mr() and the like */
	bool free;           /* allocated, but opens nothing */
	bool umr_en;         /* a WQE may change it */
	bool en_rinval;      /* a peer may free it */
	bool is_repeat;      /* its translations are a repeat block */
	uint8_t mode;        /* enum bsn_mkey_mode; a region is MTT, and has no translations */
	uint8_t page_log2;   /* KSM: the size of each part */
	uint32_t qpn;        /* the QP that may use it, or BSN_MKEY_QPN_ANY */
	uint32_t umem;       /* 0: none */
	uint32_t changed_by; /* the QP that changed it last; 0: that is known to be done */
	uint32_t first_xlt;  /* it has `room` translations of the table, from this one on */
	uint32_t room;
	uint32_t filled; /* those after it were never written, and are empty */
	uint8_t changes; /* since it was registered */
	bool change_told;
	struct cx_range changed[CX_MR_CHANGES + 1]; /* other pages are there, or none */
};

struct cx_channel {
	struct cx_head head;
	enum cx_event kind;
	uint64_t serial; /* unlike its number, never used again */
	bool overflowed; /* DevX: an event was lost, and the reader will be told */
	char path[CX_CHANNEL_PATH_SIZE];
};

/* A subscription to an event (nic/subscriptions.c). */
struct cx_subscription {
	struct cx_head head;
	uint32_t channel, number;   /* the channel, and the object */
	uint32_t next_of_object;    /* index + 1; 0: the last */
	enum cx_event_source source; /* the table of the object */
	uint16_t event;             /* enum bsn_event_number */
	bool is_pending;            /* in a channel without data: told, and not read yet */
	/* the program's eventfd that is told; -1: the channel is */
	int eventfd;
	uint64_t cookie;
};

/* CQEs held back, to be written as one session; none while the lock is free. */
struct cx_session {
	uint8_t count, limit;
	uint8_t title[64];     /* the first one, whole */
	uint8_t minis[CX_SESSION_MAX][8];
};

enum cx_arm { CX_ARM_NONE, CX_ARM_SOLICITED, CX_ARM_ANY };

struct cx_cq {
	struct cx_head head;
	struct cx_cq_attr attr;
	uint32_t producer;
	uint32_t arm_record;    /* the record as last seen (passive mode) */
	uint32_t solicited_end; /* producer index after the last solicited CQE */
	bool any_solicited;
	uint8_t arm;     /* enum cx_arm */
	uint8_t arm_sn;  /* its sequence number */
	uint32_t told;   /* its first subscription, index + 1; 0: none */
	int8_t fired_sn; /* sequence number of the arm that fired last, -1: none */
	uint32_t armed_ci;       /* the consumer index with which it was armed */
	uint16_t moderate_count; /* an event after so many CQEs; 0: any number */
	uint16_t moderate_us;    /* or so long after the first of them; 0: never */
	uint64_t deadline_ns;    /* when that is; 0: no event waits */
	bool failed;     /* it overran: nothing is written any more */
	struct cx_session session;
};

struct cx_srq_place {
	uint16_t next;      /* index of the next WQE to take */
	uint16_t taken;     /* how many were taken, modulo 2^16, as the record counts */
	bool was_overtaken; /* a WQE before @next that is taken first */
	uint16_t overtaken; /* its index */
};

struct cx_srq {
	struct cx_head head;
	struct cx_srq_attr attr;
	uint32_t limit; /* 0: not armed */
	uint32_t told;  /* its first subscription, index + 1; 0: none */
	struct cx_srq_place at;
};

/* delivery.h */
struct cx_delivery {
	uint32_t qpn;     /* the QP whose receive is taken; 0: nothing is being delivered */
	uint32_t srqn;    /* the SRQ that it is from; 0: the QP's own queue */
	uint16_t rq_head; /* the indices before it was taken */
	struct cx_srq_place at;
	uint32_t cqn, index; /* the CQ and index of its CQE; 0: not known yet */
};

/* The result of a READ or an atomic. */
struct cx_result {
	uint32_t byte_count;
	bool in_cqe;       /* it is in `bytes`, and goes into the CQE */
	uint8_t bytes[64]; /* BSN_CQE_SIZE */
};

enum cx_wait { CX_WAIT_NONE, CX_WAIT_ACK, CX_WAIT_RNR, CX_WAIT_DELAY, CX_WAIT_CQE };

struct cx_qp {
	struct cx_head head;
	struct cx_qp_attr attr;
	struct ibv_qp_attr mod; /* as of cx_qp_modify(), qp_state included */
	uint8_t log_msg_max;    /* longer messages are not sent */
	uint8_t lag_port;       /* the port of a bond that sends; 0: none was chosen */
	uint32_t told;          /* its first subscription, index + 1; 0: none */
	bool key_armed; /* a DCT: the next wrong access key is an event */
	struct cx_qp_run {
		uint16_t sq_head;    /* the next WQE's basic block */
		uint16_t sq_tail;    /* the producer index last read from the record */
		uint16_t sq_rung;    /* the same, at the last doorbell */
		uint16_t sq_fetched; /* the device has read the ring up to here */
		uint16_t rq_head;
		uint32_t doorbells_lost; /* lost by faults, since the last doorbell that arrived */
		bool sq_unheard;         /* rung too early; waits for another doorbell */
		bool error_reported;     /* a WQE has failed before: CE 1 has had its CQE */
		bool comm_est;           /* the event was raised */
		bool last_wqe_reached;
		bool path_known, path_here; /* whether the address leads to this port */
		bool umr_open;              /* an mkey has changed, and no fence came since */
		bool umr_silent;            /* and no completion */
		uint16_t umr_tail;          /* the end of what was published with it */
		uint8_t flush_vendor;       /* vendor syndrome of flushed work, by its cause */

		uint8_t wait;                 /* enum cx_wait: why the WQE at the head waits */
		uint8_t retries, rnr_retries; /* retries that it has used */
		uint16_t reads;               /* READs and atomics that may be outstanding */
		uint8_t looks;                /* looks for receives in error that found none */
		struct cx_result held;        /* CX_WAIT_CQE: the CQE to come */
		bool delayed;                 /* its fault's delay is over */
		uint64_t deadline_ns;         /* when it tries again; CX_NEVER; 0: does not wait */
		uint8_t counter_set;          /* CX_NO_COUNTERS, CX_PORT_COUNTERS */
		bool is_drained;              /* a DCT that does not answer any more */
		uint32_t key_violations;      /* of a DCT */
		struct cx_dc_link dc;         /* of a DCI */
	} run;                                /* state that RESET clears */
};

/* A member of a multicast group; 0: a free place. */
struct cx_member {
	uint32_t qpn;
	uint8_t gid[16];
};

struct cx_shared {
	uint64_t magic;
	uint32_t layout; /* CX_LAYOUT; processes of another build do not join */
	uint32_t generation, link;
	uint64_t pid_namespace; /* the PID namespace of its processes */
	bool port_down, removed; /* by a fault */
	struct cx_proc procs[CX_PROCS];
	/*
	 * Up to here the layout is the same in every build with this magic. Some builds have room
	 * for 64 processes only.
	 */
	pthread_mutex_t lock;
	struct cx_netdev netdev;
	struct cx_port_tables tables;
	unsigned holder; /* slot of the lock's last holder; CX_PROCS: one without a slot */
	uint32_t cursor[CX_KINDS]; /* where the search for a free entry begins */
	struct cx_alarm alarms[CX_PROCS];
	struct cx_bus bus[CX_PROCS];
	struct cx_dc_counts dc[CX_PROCS];
	uint32_t counters[CX_COUNTER_COUNT];
	struct cx_traffic traffic;
	struct cx_delivery delivery;
	uint64_t channel_serial; /* that of the last channel */
	struct cx_pd pds[CX_MAX_PDS];
	struct cx_umem umems[CX_MAX_UMEMS];
	struct cx_channel channels[CX_CHANNELS];
	struct cx_cq cqs[CX_MAX_CQS];
	struct cx_srq srqs[CX_MAX_SRQS];
	struct cx_qp qps[CX_MAX_QPS];
	struct cx_mr mrs[CX_FIRST_KEY + CX_MAX_MRS];
	struct cx_dm dms[CX_DM_PAGES];
	struct cx_xrcd xrcds[CX_MAX_XRCDS];
	struct cx_mapping mappings[CX_MAX_MAPPINGS];
	struct cx_context contexts[CX_MAX_CONTEXTS];
	struct cx_subscription subscriptions[CX_MAX_SUBSCRIPTIONS];
	struct cx_member members[CX_MAX_MEMBERS];
	struct cx_cm cm;
	uint32_t xlt_cursor; /* where the search for room begins */
	uint64_t xlt_used[CX_XLT_WORDS];
	struct cx_xlt xlts[CX_MAX_XLTS];
};

struct cx_fifo {
	uint64_t serial; /* its channel's; 0: none */
	int fd;
};

/* The WQE that is being copied into a BlueFlame buffer. */
struct cx_blueflame {
	uint32_t qpn;
	uint16_t index;
	uint8_t ds;
	bool alone;          /* nothing was in the queue before it */
	uint16_t copied;     /* bytes that came */
	bool may_begin_copy; /* the last store may (bus.c) */
};

/* A word of the program's memory. While it does not change, a step finds no work in its queue. */
struct cx_word {
	const void *at;
	uint32_t was;
	uint32_t index; /* of the queue in its table */
};

struct cx_words {
	uint32_t qps, cqs; /* how many */
	struct cx_word of_qps[CX_MAX_QPS]; /* the send queues' records */
	struct cx_word of_cqs[CX_MAX_CQS]; /* the records that arm CQs */
};

struct cx_fault_plan;
struct cx_scratch;

/* One process's view. */
struct cx_hca {
	struct cx_shared *shared;
	unsigned self; /* process slot; CX_PROCS: none yet */
	struct cx_config config;
	int segment_fd; /* the program may close it: cx_segment(); -1: none */
	char *segment_path; /* NULL: private fabric */
	dev_t segment_device;
	ino_t segment_inode;
	void *life; /* shows that this process lives (os/life.h) */
	unsigned asked; /* the peer that was found alive for the current message; CX_PROCS: none */
	int trace_fd; /* -1: none */
	uint64_t lint_count;
	uint64_t virtual_ns; /* passive mode's clock */
	struct cx_fault_plan *faults;
	struct cx_scratch *scratch;
	struct cx_fifo fifos[CX_CHANNELS];
	void (*before_unlock)(struct cx_hca *hca); /* NULL: nothing is to be done then */
	void (*after_death)(struct cx_hca *hca);   /* of the lock's holder */
	uint32_t open_sessions[8]; /* CQs with a session; 0: none */
	struct cx_blueflame blueflame[CX_UAR_PAGES][CX_BF_PER_UAR];
	struct cx_words words; /* that a step looks at (drive.c) */
};

/* Indices of queues count modulo 2^16. */
static inline bool cx_index_before(uint16_t a, uint16_t b)
{
	return (int16_t)(a - b) < 0;
}

/* Whether its peers acknowledge requests, or say why not. */
static inline bool cx_is_reliable(const struct cx_qp *qp)
{
	return qp->attr.type == IBV_QPT_RC || qp->attr.dc || qp->attr.type == IBV_QPT_XRC_SEND ||
	       qp->attr.type == IBV_QPT_XRC_RECV;
}

static inline bool cx_is_local(const struct cx_hca *hca, unsigned proc)
{
	return proc == hca->self;
}

#endif
