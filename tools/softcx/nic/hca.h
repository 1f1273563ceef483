/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The software ConnectX as its kernel driver sees it: the commands that create, change and destroy
 * objects, and the doorbell. kernel/ calls this, nic/ implements it; nothing else goes between the
 * two.
 *
 * One HCA serves all processes of a fabric. Its objects are in a shared mapping, and each belongs
 * to the process that created it. User memory is named by (process, virtual address); it is reached
 * by memcpy within a process, by process_vm_readv/writev between processes. One robust mutex guards
 * the HCA; every function here takes it. A lock on a byte of the file shows that a process lives
 * (os/life.h). Objects of a dead process are swept, and its peers see timeouts.
 *
 * Each command returns 0 or the -errno of the kernel's mlx5_ib. kernel/ decides what a program may
 * ask for; here only what could break the tables is refused.
 */
#ifndef SOFTCX_HCA_H
#define SOFTCX_HCA_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <infiniband/verbs.h>

enum cx_generation { CX_GEN_CX5, CX_GEN_CX6, CX_GEN_CX7 };
enum cx_link { CX_LINK_IB, CX_LINK_ROCE };

struct cx_config {
	const char *fabric;            /* NULL: "default"; one fabric per user and name */
	enum cx_generation generation; /* of the first process; others must agree (-EBUSY) */
	enum cx_link link;
	/*
	 * The interface of a RoCE port; empty: that of the default route (nic/netdev.h); NULL: none
	 */
	const char *interface;
	/* the fabric's, NULL: none; cx_open() fills it in */
	const struct cx_netdev *netdev;
	const struct cx_port_tables *tables; /* the fabric's, NULL: none; cx_open() fills it in */
	const char *fault_plan; /* text of the plan; NULL: none */
	const char *trace_path; /* NULL: no trace; "-": stderr */
	bool no_atomics;        /* the device says that it has none, as some virtual functions do */
	/*
	 * Results of 8 bytes are big-endian. Then the kernel says that there are no atomics (mlx5
	 * main.c get_atomic_caps()).
	 */
	bool big_endian_atomics;
	bool no_devx;           /* programs may not send commands */
	bool no_stride_index;   /* CQEs are not compressed by that format, as on ConnectX-4 */
	/* a DC initiator fails with the first of its streams that fails */
	bool no_errored_streams;
	bool lag;               /* two ports are bonded; RoCE only (mlx5_lag_is_roce()) */
	bool passive;           /* doorbells are only recorded; cx_step() executes */
	bool private_fabric;    /* anonymous memory, this process only (tests) */
};

struct cx_hca;

/* The kinds of event channels. */
enum cx_event { CX_EVENT_COMPLETION, CX_EVENT_ASYNC, CX_EVENT_DEVX_COOKIE, CX_EVENT_DEVX_DATA };

/* Joins the fabric, or creates it. */
int cx_open(const struct cx_config *config, struct cx_hca **hca);
void cx_close(struct cx_hca *hca);
/*
 * The process ends: its objects go, and the fabric with its last process. Nothing is freed, since
 * other threads may still ring. Waits at most a second for the lock.
 */
void cx_leave(struct cx_hca *hca);
void cx_after_fork_child(struct cx_hca *hca); /* the child owns no object of its parent */
const struct cx_config *cx_config(const struct cx_hca *hca);

/* -- fabrics, seen from outside ---------------------------------------------------------------- */

enum { CX_FABRIC_NAME_LEN = 64, CX_FABRIC_PROCS = 256 };

struct cx_fabric {
	char name[CX_FABRIC_NAME_LEN + 1];
	unsigned count; /* of living processes; 0: the fabric is stale, and may be removed */
	pid_t pids[CX_FABRIC_PROCS];
	bool is_read;    /* false: this build does not know the segment */
	bool same_build; /* false: its processes are of another version, and this one cannot join */
	bool same_pids;  /* false: they are in another PID namespace, and this one cannot join */
	enum cx_generation generation; /* if the build is the same */
	enum cx_link link;
	char netdev[16]; /* the interface of its port, if the build is the same; empty: none */
};

/*
 * Finds a fabric. Returns 0; -EINVAL: no name of a fabric; -ENOENT: there is none; -EPERM: the file
 * is another user's.
 */
int cx_fabric_find(const char *name, struct cx_fabric *fabric);
/* Removes a fabric. Returns 0; -EBUSY: a living process uses it; or as above. */
int cx_fabric_remove(const char *name);
/* Visits all fabrics of the user by name. The visitor may remove the fabric that it visits. */
typedef void cx_fabric_visitor(const struct cx_fabric *fabric, void *context);
int cx_fabric_each(cx_fabric_visitor *visit, void *context);

/* -- configuration ----------------------------------------------------------------------------- */

/*
 * Whether a fault plan is valid (nic/plan.c has the grammar). Returns 0; or -EINVAL with the line,
 * the word, and what is wrong in `message`. cx_open() returns only -EINVAL.
 */
int cx_fault_plan_check(const char *text, char *message, size_t size);

bool cx_port_is_up(const struct cx_hca *hca); /* a fault plan may take it down */
bool cx_is_removed(const struct cx_hca *hca); /* a fault plan may remove the device */

/* Writes a line of the trace, if there is one; as printf(). The shim uses it, too. */
void cx_trace(struct cx_hca *hca, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Findings: mistakes of programs that a ConnectX would not notice. Each is also a line "lint: ..."
 * of the trace.
 */
uint64_t cx_lint_count(const struct cx_hca *hca);

/*
 * A handler of SIGSEGV or SIGBUS calls this first. It does not return if the model itself faulted,
 * while it copied memory that the program took away. The model has installed a handler that calls
 * this. One that replaces it must have SA_NODEFER, since the model may run in it.
 */
void cx_memory_fault(const siginfo_t *info);

/* -- objects ----------------------------------------------------------------------------------- */

int cx_pd_create(struct cx_hca *hca, uint32_t *pdn);
int cx_pd_destroy(struct cx_hca *hca, uint32_t pdn); /* -EBUSY while in use */

struct cx_mr_attr {
	uint32_t pdn;
	uint64_t va;     /* where the memory is */
	uint64_t iova;   /* its address in requests */
	uint64_t length; /* bytes */
	int access;      /* IBV_ACCESS_* */
};
int cx_mr_create(struct cx_hca *hca, const struct cx_mr_attr *attr, uint32_t *key);
int cx_mr_modify(struct cx_hca *hca, uint32_t key, int flags, const struct cx_mr_attr *attr);
int cx_mr_destroy(struct cx_hca *hca, uint32_t key);

/* Addresses of this process, from `start` to before `end`. */
struct cx_range {
	uint64_t start, end;
};

/*
 * The program has replaced or removed pages that it had registered. `next` returns one range after
 * the other. It is called under the lock, so that nothing executes before the change is known.
 */
typedef bool cx_change_reader(void *context, struct cx_range *changed);
void cx_memory_changed(struct cx_hca *hca, cx_change_reader *next, void *context);

/*
 * An XRC domain. All opens of a file share one domain, whichever process opened it; each open
 * without a file creates one. kernel/xrcd.c says which files may be opened.
 */
struct cx_xrcd_attr {
	bool has_file;
	uint64_t device, inode;
};
bool cx_xrcd_exists(struct cx_hca *hca, const struct cx_xrcd_attr *attr);
int cx_xrcd_open(struct cx_hca *hca, const struct cx_xrcd_attr *attr, uint32_t *xrcdn);
int cx_xrcd_close(struct cx_hca *hca, uint32_t xrcdn); /* -EBUSY while in use */

/* Memory that commands name by a number. -EBUSY while an mkey or a queue uses it. */
int cx_umem_create(struct cx_hca *hca, uint64_t va, uint64_t length, bool is_writable,
		   uint32_t *number);
int cx_umem_destroy(struct cx_hca *hca, uint32_t number);

/* The sender of a command; its queues' doorbells are in a UAR page of its own. */
struct cx_commander {
	bool (*has_uar)(void *context, uint32_t page);
	void *context;
};

/*
 * A firmware command in mailboxes, as of DevX (wqe/bsn_cmd.h). Returns 0; -EREMOTEIO: the answer's
 * status is not OK, as in mlx5_cmd_do(), and the trace says why; -EIO: the device is gone. `by` is
 * NULL for the driver's own commands, which create no queues.
 */
int cx_command(struct cx_hca *hca, const struct cx_commander *by, const void *in, size_t in_size,
	       void *out, size_t out_size);

/* General objects, which only commands create. */
int cx_general_object_destroy(struct cx_hca *hca, uint32_t number);

/* Device memory; a fabric has one. -ENOMEM: there are not so many free consecutive pages. */
int cx_dm_create(struct cx_hca *hca, uint32_t pages, uint32_t *number, uint32_t *first_page);
int cx_dm_destroy(struct cx_hca *hca, uint32_t number);

/*
 * The key of the null region: reads return zeroes, writes are dropped. Local requests of any
 * protection domain may use it, and so may mkeys.
 */
#define CX_NULL_KEY 0xffu

#define CX_CHANNEL_END UINT64_MAX

/*
 * An event channel. Events of a CQ or of the device are records with the `cookie`, written to a
 * FIFO at `path`, which the owner has open; a peer opens it by path. A record is the kernel's
 * struct ib_uverbs_comp_event_desc or ib_uverbs_async_event_desc, so libibverbs reads the FIFO
 * itself. Events of the port and of the device go to all channels of kind CX_EVENT_ASYNC. When the
 * device is removed, each channel gets a record CX_CHANNEL_END, which wakes up a program that
 * waits.
 */
int cx_channel_create(struct cx_hca *hca, const char *path, enum cx_event kind, uint32_t *channel);
int cx_channel_destroy(struct cx_hca *hca, uint32_t channel);

/*
 * A subscription to events of an object or of the port, by the firmware's number (enum
 * bsn_event_number): to a channel of kind CX_EVENT_DEVX_COOKIE or _DATA, or to an eventfd of the
 * program.
 */
enum cx_event_source { CX_SOURCE_QP, CX_SOURCE_CQ, CX_SOURCE_SRQ, CX_SOURCE_PORT };
enum { CX_MOST_EVENTS = 16 }; /* in one call: devx.c MAX_NUM_EVENTS */
struct cx_subscription_attr {
	enum cx_event_source source;
	uint32_t number; /* of the object */
	uint32_t channel;
	uint64_t cookie;
	int eventfd; /* -1: to the channel */
};
/* Subscribes to all of `events`, or to none. -EINVAL: no such object or channel; -ENOMEM. */
int cx_event_subscribe(struct cx_hca *hca, const struct cx_subscription_attr *attr,
		       const uint16_t *events, unsigned count);

/* A record of such a channel; without data it ends before `eqe`. */
struct cx_devx_record {
	uint64_t cookie;
	uint32_t subscription; /* 0: the channel has ended */
	uint32_t reserved;
	uint8_t eqe[64]; /* struct bsn_eqe */
};
/* The program has read a record: that subscription's next event makes a new one. */
void cx_event_was_read(struct cx_hca *hca, const struct cx_devx_record *record);
/* Whether an event was lost since the last call, because the program reads too slowly. */
bool cx_channel_overflowed(struct cx_hca *hca, uint32_t channel);

/* The most CQEs in one session of a CQ that compresses. */
enum { CX_SESSION_MAX = 64 };

struct cx_cq_attr {
	uint64_t buf;                         /* VA of the ring */
	uint64_t db;                          /* VA of its doorbell record: consumer, arm */
	uint32_t entries;                     /* a power of two */
	uint32_t cqe_size;                    /* 64 or 128 */
	uint32_t comp_channel, async_channel; /* 0: none */
	uint64_t cookie; /* in its completion events (the user handle of uverbs) */
	bool ignore_overrun;
	bool has_real_time;  /* timestamps are of the real-time clock */
	bool compresses;     /* CQEs may come in sessions, if a fault plan says so */
	uint8_t mini_format; /* enum bsn_mini_format */
	uint32_t ring_umem, db_umem; /* of `buf` and `db`; 0: none */
};
int cx_cq_create(struct cx_hca *hca, const struct cx_cq_attr *attr, uint32_t *cqn);
int cx_cq_resize(struct cx_hca *hca, uint32_t cqn, uint64_t buf, uint32_t entries,
		 uint32_t cqe_size);
int cx_cq_moderate(struct cx_hca *hca, uint32_t cqn, uint16_t count, uint16_t period_us);
int cx_cq_destroy(struct cx_hca *hca, uint32_t cqn);

struct cx_srq_attr {
	uint32_t pdn;
	uint64_t buf, db;
	uint32_t count, stride_bytes;
	uint32_t max_sge;
	uint32_t async_channel;
	uint64_t cookie;
	/* Of XRC: its domain, its CQ, and its index in CQEs of version 1. */
	uint32_t xrcdn, cqn, uidx; /* xrcdn 0: none */
	bool is_cyclic; /* the receive after one is the next slot; links are not read */
	uint32_t ring_umem, db_umem; /* of `buf` and `db`; 0: none */
};
int cx_srq_create(struct cx_hca *hca, const struct cx_srq_attr *attr, uint32_t *srqn);
int cx_srq_arm(struct cx_hca *hca, uint32_t srqn, uint32_t limit);
int cx_srq_query(struct cx_hca *hca, uint32_t srqn, uint32_t *limit);
int cx_srq_destroy(struct cx_hca *hca, uint32_t srqn);

/* Which end of a dynamic connection a queue pair of type IBV_QPT_DRIVER is. */
enum cx_dc { CX_DC_NONE, CX_DC_TARGET, CX_DC_INITIATOR };

struct cx_qp_attr {
	enum ibv_qp_type type; /* RC, UC, UD, XRC_SEND, XRC_RECV, DRIVER (others: -EOPNOTSUPP) */
	enum cx_dc dc;
	uint64_t dc_key; /* of a target (DCT) */
	bool full_handshake; /* it connects by one, or requires one of its initiators */
	bool has_streams; /* of an initiator (DCI) */
	uint8_t log_streams, log_errored_streams;
	/* XRC: a target has no CQs, an initiator no recv_cqn */
	uint32_t pdn, send_cqn, recv_cqn;
	uint32_t xrcdn;   /* of an XRC target */
	uint32_t srqn;    /* 0: none */
	uint64_t buf, db; /* RQ first, then SQ; record: dword 0 RQ, dword 1 SQ */
	uint32_t rq_count, rq_stride_bytes;
	uint32_t sq_count_bb;
	uint32_t uidx;       /* its index in CQEs of version 1 */
	uint32_t uar_page;   /* the page that has this QP's doorbells */
	bool scatter_to_cqe; /* the responder may write up to 32 or 64 B into the CQE */
	bool scatter_to_cqe_requester;
	bool signal_all;
	bool blocks_own_multicast; /* it does not receive what it sends to its own group */
	uint32_t async_channel;
	uint64_t cookie;
	uint32_t ring_umem, db_umem; /* of `buf` and `db`; 0: none */
};
int cx_qp_create(struct cx_hca *hca, const struct cx_qp_attr *attr, uint32_t *qpn);
int cx_qp_modify(struct cx_hca *hca, uint32_t qpn, const struct ibv_qp_attr *attr, int mask);
int cx_qp_query(struct cx_hca *hca, uint32_t qpn, struct ibv_qp_attr *attr);
/* The port of a bond by which it sends, from 1 on; 0: none was chosen. */
void cx_qp_set_lag_port(struct cx_hca *hca, uint32_t qpn, uint8_t port);
int cx_qp_destroy(struct cx_hca *hca, uint32_t qpn);

/*
 * A UD queue pair joins or leaves a multicast group (nic/mcast.c). -EALREADY: it is a member;
 * -ENOMEM: the group, or the port, has no room.
 */
bool cx_mcast_is_group(const uint8_t gid[16]); /* rdma_is_multicast_addr() */
int cx_mcast_attach(struct cx_hca *hca, uint32_t qpn, const uint8_t gid[16]);
/* -EINVAL: it is no member */
int cx_mcast_detach(struct cx_hca *hca, uint32_t qpn, const uint8_t gid[16]);

/* -- what there is ----------------------------------------------------------------------------- */

/* Notes an open of the device, for lists of resources. Returns 0, -ENOMEM, -EIO. */
int cx_context_create(struct cx_hca *hca, uint32_t *number);
void cx_context_destroy(struct cx_hca *hca, uint32_t number);

enum cx_resource_kind {
	CX_RESOURCE_PD,
	CX_RESOURCE_CQ,
	CX_RESOURCE_QP,
	CX_RESOURCE_MR,
	CX_RESOURCE_CONTEXT,
	CX_RESOURCE_SRQ,
	CX_RESOURCE_CM_ID,
	CX_RESOURCES,
};

/* An object of any process of the fabric. */
struct cx_resource {
	uint32_t number;
	pid_t pid;
	uint32_t users;
	uint32_t pdn; /* 0: it has none */
	union {
		struct {
			uint32_t entries;
		} cq;
		struct {
			enum ibv_qp_type type;
			struct ibv_qp_attr mod; /* as cx_qp_query() returns it */
		} qp;
		struct {
			uint64_t iova, length;
		} mr;
		struct {
			bool is_xrc;
			uint32_t cqn; /* 0: none */
		} srq;
		struct {
			uint16_t port_space;
			uint8_t state; /* enum rdma_cm_state of the kernel's rdma/rdma_cm.h */
			uint8_t qp_type;
			uint32_t qpn; /* 0: none yet */
			uint8_t source[48], destination[48]; /* struct sockaddr_in, _in6 or _ib */
		} cm;
	};
};

/* The next object from *index on; moves *index past it. False: there is none. */
bool cx_resource_next(struct cx_hca *hca, enum cx_resource_kind kind, uint32_t *index,
		      struct cx_resource *resource);
uint64_t cx_resource_count(struct cx_hca *hca, enum cx_resource_kind kind);

/* -- doorbells --------------------------------------------------------------------------------- */

/*
 * One store of `size` bytes by the program into UAR page `uar_page` at `offset`: a send doorbell, a
 * BlueFlame chunk (offset 0x800 and up), or a CQ arm (0x20). Runs the model on the caller's thread,
 * unless it is passive. A BlueFlame block may come as one call of 64 B or as several.
 * Async-signal-safe: the trap's signal handler calls it.
 */
void cx_doorbell(struct cx_hca *hca, uint32_t uar_page, uint32_t offset, const void *data,
		 uint32_t size);

/*
 * For a passive device, or a UAR that is not trapped: looks at the doorbell records of this
 * process's QPs (if passive, also at the arm records of its CQs), and executes what they publish,
 * at most `max_wqes` WQEs (0: no limit). Returns how many ran.
 *
 * A passive device has a clock of its own. Each step moves it by a nanosecond. If a step finds
 * nothing to execute, but something that waits (a retry, an RNR timer, a delay), the clock moves to
 * the first time that is due, and the step executes that. So retries take steps instead of time,
 * and each run is the same.
 */
unsigned cx_step(struct cx_hca *hca, unsigned max_wqes);

/*
 * When this process's next retry, RNR wait, delay or moderated event is due, CLOCK_MONOTONIC ns; 0:
 * never
 */
uint64_t cx_next_deadline_ns(struct cx_hca *hca);
void cx_run_timers(struct cx_hca *hca);

/*
 * A peer that fails a queue pair of this process gives it a deadline, while this process may only
 * poll memory. So the peer raises this process's alarm: it changes the word of a futex that
 * processes share. cx_is_reachable(): whether that can happen at all.
 */
uint32_t *cx_alarm(struct cx_hca *hca);
bool cx_is_reachable(const struct cx_hca *hca);

#endif
