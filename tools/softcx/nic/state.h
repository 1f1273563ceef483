/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the HCA remembers: the shared mapping with its object tables, and each process's own view
 * of it. Only nic/ sees this. Every function here expects the HCA's lock to be held unless it says
 * otherwise, and none allocates or uses stdio: they run in the trap's signal handler.
 */
#ifndef SOFTCX_NIC_STATE_H
#define SOFTCX_NIC_STATE_H

#include <pthread.h>
#include <stdarg.h>

#include "hca.h"

enum {
	CX_PROCS = CX_FABRIC_PROCS,
	CX_PDS = 4096,
	CX_MRS = 65536,
	CX_CHANNELS = 1024,
	CX_CQS = 4096,
	CX_SRQS = 2048,
	CX_QPS = 4096,

	CX_CHANNEL_PATH_SIZE = 128,
	CX_UAR_PAGES = 4096,
	CX_BF_PER_UAR = 8,          /* BlueFlame buffers in a UAR page */
	CX_MAX_MSG_BYTES = 1 << 30, /* MLX5_CAP_GEN(log_max_msg) is 30 */
};

enum cx_kind { CX_PD, CX_CHANNEL, CX_CQ, CX_SRQ, CX_QP, CX_MR, CX_KINDS };

#define CX_NEVER UINT64_MAX /* a deadline that does not come */

/* Begins every object. Its number is (tag << index bits) | index; a free entry's number is 0. */
struct cx_head {
	uint32_t number;
	uint32_t next;  /* the next of its owner's, index + 1; 0 ends the list */
	uint32_t users; /* objects that refer to this one */
	uint16_t owner; /* process slot */
	uint16_t tag;   /* of the number last given out */
};

struct cx_proc {
	pid_t pid; /* 0: free */
	uint64_t start_time;
	uint64_t deadline_ns;     /* the earliest of its queue pairs, 0: none */
	uint32_t first[CX_KINDS]; /* of its objects of each kind, index + 1 */
};

/* What a process's peers need to know in order to wake it. */
struct cx_alarm {
	uint32_t count;  /* a futex: of the times that its deadlines may have moved */
	bool keeps_time; /* not in passive mode, which has a clock of its own */
	bool reachable;  /* it has a queue pair that a peer can fail */
};

struct cx_pd {
	struct cx_head head;
};

struct cx_mr {
	struct cx_head head;
	struct cx_mr_attr attr;
	bool invalidated; /* by SEND_INVAL: the key is allocated, but opens nothing */
};

struct cx_channel {
	struct cx_head head;
	enum cx_event kind;
	uint64_t serial; /* unlike its number it is never used again */
	char path[CX_CHANNEL_PATH_SIZE];
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
	int8_t fired_sn; /* sequence number of the arm that last fired, -1: none */
	bool failed;     /* overrun: nothing is written any more */
};

struct cx_srq {
	struct cx_head head;
	struct cx_srq_attr attr;
	uint32_t limit; /* 0: not armed */
	uint16_t next;  /* index of the next WQE to take */
	uint16_t taken; /* how many were taken, modulo 2^16, as the record counts */
};

enum cx_wait { CX_WAIT_NONE, CX_WAIT_ACK, CX_WAIT_RNR, CX_WAIT_DELAY };

struct cx_qp {
	struct cx_head head;
	struct cx_qp_attr attr;
	struct ibv_qp_attr mod; /* what cx_qp_modify() set, qp_state included */
	struct cx_qp_run {
		uint16_t sq_head; /* the next WQE's basic block */
		uint16_t sq_tail; /* the producer index last read from the record */
		uint16_t sq_rung; /* the same, when the last doorbell came */
		uint16_t rq_head;
		bool error_reported; /* a WQE has failed before: CE 1 has had its CQE */
		bool comm_est;       /* the event was given */
		bool last_wqe_reached;
		bool path_known, path_here; /* whether the address leads to this port */
		uint8_t flush_vendor;       /* vendor syndrome of flushed work, by what led to it */

		uint8_t wait;                 /* enum cx_wait: why the WQE at the head waits */
		uint8_t retries, rnr_retries; /* that it has used up */
		uint8_t looks;                /* in vain, for receives posted in the error state */
		bool delayed;                 /* its fault's delay was served */
		uint64_t deadline_ns;         /* when it tries again; CX_NEVER; 0: does not wait */
	} run;                                /* what RESET clears */
};

struct cx_shared {
	uint64_t magic;
	uint32_t layout; /* CX_LAYOUT; processes of another build do not join */
	uint32_t generation, link;
	bool port_down, removed; /* by a fault */
	struct cx_proc procs[CX_PROCS];
	/* Up to here the layout is the same in every build with this magic. */
	pthread_mutex_t lock;
	unsigned holder; /* process slot of the lock's last holder; CX_PROCS: one without */
	uint32_t cursor[CX_KINDS]; /* where the search for a free entry begins */
	struct cx_alarm alarms[CX_PROCS];
	uint64_t channel_serial; /* of the last one */
	struct cx_pd pds[CX_PDS];
	struct cx_channel channels[CX_CHANNELS];
	struct cx_cq cqs[CX_CQS];
	struct cx_srq srqs[CX_SRQS];
	struct cx_qp qps[CX_QPS];
	struct cx_mr mrs[CX_MRS];
};

struct cx_fifo {
	uint64_t serial; /* of its channel; 0: none */
	int fd;
};

struct cx_fault_plan;
struct cx_scratch;

/* One process's view. */
struct cx_hca {
	struct cx_shared *shared;
	unsigned self; /* process slot; CX_PROCS: none yet */
	struct cx_config config;
	int segment_fd; /* -1: private fabric */
	char *segment_path;
	int trace_fd; /* -1: none */
	uint64_t lint_count;
	uint64_t virtual_ns; /* passive mode's clock */
	struct cx_fault_plan *faults;
	struct cx_scratch *scratch;
	struct cx_fifo fifos[CX_CHANNELS];
	/* Whose WQE is being copied into each BlueFlame buffer: QPN, and the WQE's index and length. */
	struct {
		uint32_t qpn;
		uint16_t index;
		uint8_t ds;
	} blueflame[CX_UAR_PAGES][CX_BF_PER_UAR];
};

/* -- hca.c -- */
uint64_t cx_now_ns(const struct cx_hca *hca);
uint64_t cx_clock_ns(void); /* CLOCK_MONOTONIC, whatever the mode */

/* -- fabric.c -- */
int cx_join_fabric(struct cx_hca *hca);
void cx_leave_fabric(struct cx_hca *hca); /* takes the lock itself */
void cx_lock(struct cx_hca *hca);
void cx_unlock(struct cx_hca *hca);
bool cx_has_slot(struct cx_hca *hca);   /* a forked child takes one when it needs it */
void cx_sweep_dead(struct cx_hca *hca); /* and all they owned */
bool cx_proc_alive(const struct cx_proc *proc);

static inline bool cx_is_local(const struct cx_hca *hca, unsigned proc)
{
	return proc == hca->self;
}

/* -- objects.c: by number, NULL if there is none -- */
struct cx_head *cx_find(struct cx_hca *hca, enum cx_kind kind, uint32_t number);

static inline struct cx_mr *cx_mr_find(struct cx_hca *hca, uint32_t key)
{
	return (struct cx_mr *)cx_find(hca, CX_MR, key);
}

static inline struct cx_channel *cx_channel_find(struct cx_hca *hca, uint32_t channel)
{
	return (struct cx_channel *)cx_find(hca, CX_CHANNEL, channel);
}

static inline struct cx_cq *cx_cq_find(struct cx_hca *hca, uint32_t cqn)
{
	return (struct cx_cq *)cx_find(hca, CX_CQ, cqn);
}

static inline struct cx_srq *cx_srq_find(struct cx_hca *hca, uint32_t srqn)
{
	return (struct cx_srq *)cx_find(hca, CX_SRQ, srqn);
}

static inline struct cx_qp *cx_qp_find(struct cx_hca *hca, uint32_t qpn)
{
	return (struct cx_qp *)cx_find(hca, CX_QP, qpn);
}

struct cx_head *cx_create(struct cx_hca *hca, enum cx_kind kind, uint32_t *number);
void cx_publish(struct cx_hca *hca, enum cx_kind kind, struct cx_head *head, uint32_t number);
void cx_unpublish(struct cx_hca *hca, enum cx_kind kind, struct cx_head *head);
void cx_disown_all(struct cx_hca *hca);                   /* destroys all that this process owns */
void cx_sweep_process(struct cx_hca *hca, unsigned proc); /* the same, for a dead one */

/* Walks the calling process's objects of a kind, and a whole table (empty entries too). */
struct cx_head *cx_first(struct cx_hca *hca, enum cx_kind kind);
struct cx_head *cx_next(struct cx_hca *hca, enum cx_kind kind, const struct cx_head *head);
struct cx_head *cx_entry(struct cx_hca *hca, enum cx_kind kind,
			 uint32_t index); /* NULL at the end */

/* -- memory.c -- */

/*
 * Copies between this process's memory and that of process `proc`, either of which may be unmapped:
 * 0 or -EFAULT. No lock needed.
 */
int cx_mem_read(struct cx_hca *hca, unsigned proc, uint64_t va, void *dst, size_t len);
int cx_mem_write(struct cx_hca *hca, unsigned proc, uint64_t va, const void *src, size_t len);
/* Writes the last byte after all others, for whom it publishes them. */
int cx_mem_publish(struct cx_hca *hca, unsigned proc, uint64_t va, const void *src, size_t len);
int cx_mem_guard(void); /* installs the fault handler, once a process */

struct cx_span {
	unsigned proc;
	uint64_t va;
};

#define CX_TPT_OK 0

/* Asks the translation and protection table: CX_TPT_OK, or an enum bsn_tpt_detail. */

unsigned cx_key_check(struct cx_hca *hca, uint32_t key, uint32_t pdn, uint64_t addr, uint64_t len,
		      int access, struct cx_span *span);

/* -- trace.c -- */
static inline bool cx_tracing(const struct cx_hca *hca)
{
	return hca->trace_fd >= 0;
}

void cx_lint(struct cx_hca *hca, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
