/* SPDX-License-Identifier: BSD-2-Clause */
/* The engine's objects; bsn.h shows only their names. Private to engine/. */
#ifndef ENGINE_H
#define ENGINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "bsn.h"
#include "bsn_registry.h"
#include "provider.h"
#include "transport.h"

/* Defaults. A QP takes so many entries of its CQ each way; a CQ has room for two QPs. */
enum {
	DEFAULT_SENDS_BB = 128,
	DEFAULT_RECVS = 128,
	DEFAULT_ENTRIES = 2 * (DEFAULT_SENDS_BB + DEFAULT_RECVS),
};

static inline uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The value of an attribute whose 0 means the default. */
static inline uint32_t or_else(uint32_t value, uint32_t if_zero)
{
	return value ? value : if_zero;
}

/*
 * Every object counts its users, and can be destroyed only if it has none. A device counts all
 * objects that were created on it.
 */
struct uses {
	atomic_uint count;
};

static inline void use(struct uses *u)
{
	atomic_fetch_add(&u->count, 1);
}

static inline void unuse(struct uses *u)
{
	atomic_fetch_sub(&u->count, 1);
}

enum { KEYS_REMEMBERED = 256 };

/* Streams of an initiator of a DC pool, which has a bit for each. */
enum { MOST_DC_STREAMS_LOG2 = 6, MOST_DC_STREAMS = 1 << MOST_DC_STREAMS_LOG2 };

/* The types of objects that a device counts. */
enum device_use {
	OF_LANES,
	OF_PDS,
	OF_MEMORY,
	OF_MKEY_POOLS,
	OF_CHANNELS,
	OF_CQS,
	OF_SRQS,
	OF_QPS,
	OF_DCTS,
	OF_XRCDS,
	DEVICE_USES
};

/* Makes each refusal go to stderr from now on, if BSN_LOG=1 asks for it. */
void log_refusals(void);

/* Remembers the text for bsn_error_text() and returns -error. */
int fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * The same for a command to the firmware, by which the library wanted to @what. @err: -errno;
 * @answer: the firmware's
 */
struct bsn_cmd_out;
int fail_command(int err, const struct bsn_cmd_out *answer, const char *what);

/* error.c: sets @is_on if the environment variable is 1; -EINVAL if it is neither 1 nor 0. */
int switch_on(const char *variable, bool *is_on);

/*
 * The end of a text if @error is ENOMEM: a device locks the memory that it reaches, and locked
 * memory has a limit of its own. "" if there is no limit.
 */
const char *memlock_hint(int error);

struct path_ops; /* path.h */

struct bsn_pd {
	struct bsn_device *device;
	struct ibv_pd *verbs;
	struct uses uses;
};

struct bsn_device {
	struct ibv_context *context;
	bool owns_context;
	const struct path_ops *path; /* of objects created on it */
	bool lists_queues; /* in the registry */
	bool is_checked;   /* BSN_CHECK=1 */
	atomic_bool is_gone;
	struct bsn_device_attr attr;
	struct bsn_device_info info;
	struct ibv_device_attr limits;
	struct ibv_port_attr port;
	struct bsn_pd default_pd;
	struct uses uses[DEVICE_USES];
	pthread_mutex_t cq_lock; /* guards what queues take of CQs: entries, a lane */
	pthread_mutex_t lock; /* guards the lists below, and endpoints' numbers */
	void *keys;           /* of memory: mem/keys.h */
	void *windows;        /* by rkey: mem/window.c */
	atomic_uint keys_removed;
	uint32_t removed[KEYS_REMEMBERED]; /* the last lkeys */
	struct bsn_mkey_pool *mkey_pools;
	struct provider_caps caps;
	const char *no_umr; /* why it has no mkeys that span layouts; NULL: it has */
	const char *no_inline_recv; /* why no data come inside CQEs */
	/* The same for regions. */
	const char *no_odp, *no_implicit, *no_dm, *no_dmabuf, *no_null, *no_physical;
	uint64_t max_dm_bytes;
	struct provider_streams streams; /* the most of a DCI */
	const char *no_streams; /* why it has none; NULL: it has */
	const char *no_xrc; /* the same for XRC */
	const char *no_dc; /* why it has no DC; NULL: it has */
	const char *no_commands; /* why programs may not give it commands (DevX); NULL: they may */
	atomic_int counter_set;   /* of the port, 0: not asked yet; -1: none is known */
	const char *no_handshake; /* why DC has no full handshake; NULL: it has */
	struct bsn_qp *qps;
	struct cq_object *cqs;
	struct srq_object *srqs;
	struct lane_object *lanes; /* those with a known register */
	const char *no_blueflame; /* why BlueFlame is not used; NULL: it may be */
	const char *no_direct; /* why plain verbs are used; NULL: they are not */
	char path_why[160];
};

/* libmlx5 neither creates a QP for operations that the device lacks, nor posts them. */
static inline bool has_atomics(const struct bsn_device *device)
{
	return device->limits.atomic_cap != IBV_ATOMIC_NONE;
}

/*
 * Whether a peer can have the right to atomics: a device for which libmlx5 has no atomics may have
 * masked ones.
 */
static inline bool grants_atomics(const struct bsn_device *device)
{
	return has_atomics(device) || device->caps.masked_sizes;
}

/* mem/register.c: the IBV_ACCESS_* that are asked for; 0: all that the device has */
int mem_access_of(const struct bsn_device *device, int access);

/*
 * mem/pool.c: called before a queue is reset or destroyed: after that nothing tells whether its
 * outstanding UMRs were done.
 */
void mkeys_forget_queue(struct bsn_device *device, const struct bsn_sq *sq);

void say(const struct bsn_device *device, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

struct lane_object {
	struct dv_lane dv; /* first: a bsn_lane is its lane_object */
	struct bsn_device *device;
	struct ibv_td *td; /* NULL: none; the provider chooses registers */
	uint8_t *reg; /* its register, without the toggle; NULL: no queue has brought one yet */
	bool is_of_register; /* made for a queue's register; freed with its last queue */
	pthread_spinlock_t lock;
	struct uses uses;
	struct lane_object *next;
};

/* The memory of an lkey: the bytes from @addr on. */
struct known_key {
	uint32_t lkey;
	uint64_t addr, length;
	const struct bsn_pd *pd;
	struct mkey_object *mkey; /* NULL: memory */
	int access;               /* to memory: IBV_ACCESS_* */
	struct uses *windows;     /* bound to the memory; NULL: they are not counted */
};

struct mr_object {
	struct bsn_mr pub; /* first */
	struct known_key key;
	struct uses windows;
	struct bsn_device *device;
	struct bsn_pd *pd;
	struct ibv_mr *verbs;
	struct buf *buf; /* of bsn_buf_alloc(), else NULL: mem/buf.c */
	struct bsn_dm *dm; /* of bsn_mr_register_dm(), else NULL */
	bool is_special;   /* not the program's memory: bsn_mem.h */
	void (*release)(struct mr_object *mr); /* frees its memory; NULL: the caller does */
};

struct bsn_channel {
	struct bsn_device *device;
	struct ibv_comp_channel *verbs;
	struct uses uses;
	pthread_mutex_t taking; /* one thread that waits takes the event */
};

/**
 * struct cq_guest - takes part in the polls of a CQ, as a DC pool does
 * @hear: @n completions came, if any. Takes out those that are not the program's. Return: how many
 *	are left
 * @add: up to @n completions of its own. @may_sleep: none came, so the program may sleep after this
 *	poll
 * @wants_polls: whether it takes part in the next one: else that goes straight to the ring
 */
struct cq_guest {
	int (*hear)(struct cq_guest *guest, struct bsn_completion *c, int n);
	int (*add)(struct cq_guest *guest, struct bsn_completion *c, int n, bool may_sleep);
	bool (*wants_polls)(const struct cq_guest *guest);
	struct cq_guest *next;
};

struct cq_object {
	struct dv_cq dv;     /* first */
	struct bsn_cq *ring; /* what is polled: @dv, or another one if it has a front */
	const struct bsn_cq_path *ring_path;      /* with a front or guests: it polls @ring */
	const struct bsn_cq_path *without_guests; /* with guests: @dv's while none takes part */
	struct cq_guest *guests;
	bool is_asking;  /* this poll asks its guests */
	bool asks_first; /* the last poll had no room for guests' completions */
	pthread_spinlock_t lock;
	bool is_shared;
	bool has_front;
	struct bsn_device *device;
	const struct path_ops *path;
	struct ibv_cq *verbs;
	bool owns_verbs;
	bool was_charged;
	enum bsn_cqe_compression compression;
	enum bsn_timestamps timestamps;
	bool ignores_overrun;
	bool is_idle; /* adopted, without QPs: kept for QPs that are attached later */
	struct bsn_channel *channel;
	struct lane_object *lane;
	bool owns_lane;
	uint32_t entries;  /* what queues may take */
	uint32_t spare;    /* entries of the ring beyond that */
	uint32_t charged;  /* what they took */
	uint32_t unacked;  /* events taken and not yet acknowledged */
	void *user;
	struct uses uses;
	uintptr_t poller;      /* checked: its thread */
	uint32_t silent_polls; /* checked: empty ones in a row */
	atomic_uint sleepers;  /* in bsn_wait() */
	atomic_int wake_file;  /* wakes one of them while it is readable; plus 1; 0: none yet */
	struct cq_object *next;
	struct bsn_registry_queue listed;
	void *path_state; /* of the verbs path */
};

struct bsn_xrcd {
	struct bsn_device *device;
	struct ibv_xrcd *verbs;
	struct uses uses;
};

struct srq_object {
	struct bsn_device *device;
	struct ibv_srq *verbs;
	const struct path_ops *path;
	struct bsn_rq *rq;
	struct bsn_pd *pd;
	uint32_t number;  /* SRQN; on plain verbs only of XRC, else 0 */
	uint32_t slots;   /* WQEs in the ring */
	uint32_t depth;   /* WQEs that may be outstanding, as asked for */
	uint32_t max_sge; /* as asked for */
	bool is_on_demand;
	struct bsn_xrcd *xrcd; /* of an SRQ of XRC; else NULL, as are these: */
	struct cq_object *cq;
	struct dv_route route;
	const struct cq_object *recv_cq; /* of its first QP; it may be gone, so only compare it */
	void *user;
	struct uses uses;
	struct srq_object *next;
	struct bsn_registry_queue listed;
	struct checked_rq *checked; /* NULL: not checked */
};

struct bsn_qp {
	struct bsn_device *device;
	struct ibv_qp *verbs;
	struct handshake_dci *dci; /* with a full handshake, in place of @verbs */
	bool owns_verbs;
	const struct path_ops *path;
	enum bsn_qp_type type;
	const struct transport *transport; /* of @type */
	struct bsn_sq *sq;
	struct bsn_rq *rq;     /* own, or the SRQ's */
	struct srq_object *srq; /* NULL: own RQ */
	struct cq_object *cq, *recv_cq;
	uint32_t sends_bb; /* blocks that may be outstanding; verbs: requests */
	uint32_t charged_send, charged_recv;
	struct bsn_pd *pd;
	struct ibv_pd *parent_domain; /* NULL: none */
	struct lane_object *lane; /* as asked for; on the direct path later its register's */
	struct bsn_qp_info info;
	bool wants_marker; /* failed; nothing tells yet that earlier requests are done */
	struct provider_streams streams; /* of a DCI; none if @log_count is 0 */
	uint32_t psn;
	uint32_t qkey;
	uint8_t peer_rd_atomic; /* the peer's limit, since RTR */
	struct bsn_completion first_error;
	struct uses uses; /* endpoints */
	void *user;
	struct checked_sq *checked_sends; /* NULL: they are not */
	struct checked_rq *checked_recvs; /* NULL: not checked, or an SRQ's */
	struct bsn_qp *next;
	struct bsn_registry_queue listed_sends, listed_recvs;
};

/* An endpoint of a QP with many peers. */
struct ep_object {
	struct bsn_peer hot; /* first: a bsn_ep of such a QP is its ep_object */
	struct bsn_qp *qp;
	struct ibv_ah *ah; /* NULL: it is an SRQ of the QP's peer (XRC) */
	union {
		uint8_t more[BSN_AV_UD_GRH_SIZE - BSN_DS_SIZE]; /* direct: of the address vector */
		struct {
			uint32_t qpn, qkey;
		} verbs;
	};
};

static inline struct cq_object *cq_of(struct bsn_cq *cq)
{
	return (struct cq_object *)cq;
}

static inline struct lane_object *lane_of(struct bsn_lane *lane)
{
	return (struct lane_object *)lane;
}

/*
 * qp.c: notes a CQ on which receives of the SRQ complete. A second CQ may have a second poller, and
 * both then give WQEs back.
 */
void srq_note_cq(struct srq_object *srq, const struct cq_object *recv_cq);

/*
 * qp.c: the set in which the port counts verbs queues; objects made by commands have to name it. 0:
 * none is known.
 */
uint8_t device_counter_set(struct bsn_device *device, struct ibv_pd *pd);

/*
 * qp.c: bsn_qp_create() for a DCI with more attributes than @attr has.
 * @streams: none if @log_count is 0
 * @uar: NULL: without a full handshake; else the register of one with it, and @attr names no lane
 */
struct handshake_uar;
struct dci_attr {
	struct provider_streams streams;
	const struct handshake_uar *uar;
};
int qp_create_dci(struct bsn_device *device, const struct bsn_qp_attr *attr,
		  const struct dci_attr *more, struct bsn_qp **out);

/* qp.c: takes entries of the QP's CQs for so many completions. */
void charge_qp(struct bsn_qp *qp, uint32_t sends, uint32_t recvs);

/*
 * qp.c: the last step of creation: counts the QP as a user of its objects, and makes its endpoint.
 */
void hold_qp(struct bsn_qp *qp);

/* state.c: why an address was refused, if the error tells, else "" */
const char *hint_of_av(const struct ibv_ah_attr *av, int err);
/* @mask: attributes beside the state; @what, @to: the QP and the state, for a failure's text */
int qp_modify(struct bsn_qp *qp, struct ibv_qp_attr *attr, int mask, const char *to);
int verbs_modify(struct ibv_qp *verbs, const char *what, struct ibv_qp_attr *attr, int mask,
		 const char *to);
/* For a DCT or an XRC target, to which peers send requests. */
int target_to_init(const struct bsn_device *device, struct ibv_qp *verbs, const char *what,
		   bool grants_atomics);
int qp_state(struct bsn_qp *qp, enum ibv_qp_state *state);
const char *failure_text(const struct bsn_completion *failure); /* until the thread's next call */
int qp_make_ready(struct bsn_qp *qp); /* not attached: receives may be posted, sends must wait */

/* connect.c: chooses the first packet number, and sets the default Q_Key. */
void choose_psn(struct bsn_qp *qp);

/*
 * pd.c: the domain to use: @pd, or the device's own. NULL, with a text: @pd is another device's.
 */
struct bsn_pd *pd_of(struct bsn_device *device, struct bsn_pd *pd);

/*
 * error.c: the result of a destroying call of libibverbs, as 0 or -errno. Objects of a device that
 * is gone count as destroyed, although libibverbs refuses to destroy them (EIO, and EBUSY for what
 * they used; RDMAV_ALLOW_DISASSOC_DESTROY): it keeps their memory until the process ends.
 */
int destroyed(struct bsn_device *device, int result);

/*
 * info.c: fills in the device's info except its path, and lists its features when they are known.
 */
int query_device(struct bsn_device *device);
void list_features(struct bsn_device *device);
void list_regions(struct bsn_device *device); /* needs the default domain */
void list_dc(struct bsn_device *device);      /* likewise */

/* lists.c: the caller of a look-up holds the device's lock. */
void list_qp(struct bsn_qp *qp);
void unlist_qp(struct bsn_qp *qp);
void list_srq(struct srq_object *srq);
void unlist_srq(struct srq_object *srq);
void list_cq(struct cq_object *cq);
void unlist_cq(struct cq_object *cq);
struct cq_object *listed_cq(struct bsn_device *device, const struct ibv_cq *verbs);
struct bsn_qp *listed_qp(struct bsn_device *device, const struct ibv_qp *verbs);
struct srq_object *listed_srq(struct bsn_device *device, const struct ibv_srq *verbs);

/*
 * registry.c: lists the queues of a device that asks for it. A queue is removed before its ring is
 * freed, so that no reader finds other memory there. Removing an unlisted queue does nothing.
 */
int registry_open(struct bsn_device *device);
void registry_add_qp(struct bsn_qp *qp);
void registry_remove_qp(struct bsn_qp *qp);
void registry_add_srq(struct srq_object *srq);
void registry_remove_srq(struct srq_object *srq);
void registry_add_cq(struct cq_object *cq);
void registry_remove_cq(struct cq_object *cq);

/*
 * checks.c: for a device opened with BSN_CHECK=1; for others these do nothing. A queue is added
 * after path->qp_make() or srq_make(), and removed before …_free(). checks_polled() is told what a
 * poll found.
 */
int checks_open(struct bsn_device *device);
int checks_add_qp(struct bsn_qp *qp);
void checks_remove_qp(struct bsn_qp *qp);
int checks_add_srq(struct srq_object *srq);
void checks_remove_srq(struct srq_object *srq);
void checks_hand_over(struct bsn_qp *qp);
int checks_free(struct bsn_device *device, uint32_t lkey); /* -EBUSY: receives may write to it */
int checks_poller(struct cq_object *cq);
void checks_polled(struct cq_object *cq, int got);

/*
 * channel.c: acknowledges events if at least so many are not yet, since libibverbs takes a lock
 * each time.
 */
void acknowledge_events(struct cq_object *cq, uint32_t at_least);

/* wait.c: wakes a thread that sleeps on the CQ; the second one frees what waiting needs. */
void cq_wake(struct cq_object *cq);
void cq_wake_never(struct cq_object *cq);

/*
 * cq.c: makes the lane of QPs that name none, when the first such QP comes, so that a CQ without
 * senders takes no register.
 */
int cq_bring_lane(struct cq_object *cq);

/*
 * pollers.c: a CQ with a lock or timestamps, or one that is checked, has a front: polls of the
 * user's CQ come to a path, which polls the real queue. cq_front() prepares that, before
 * path->cq_make(), and cq_guard() sets the path, after it. A poller's work is between
 * cq_lock() and cq_unlock(), which do nothing if one thread polls.
 */
int cq_front(struct cq_object *cq, bool is_shared);
void cq_guard(struct cq_object *cq);
void cq_unfront(struct cq_object *cq);
void cq_lock(struct cq_object *cq);
void cq_unlock(struct cq_object *cq);

/*
 * pollers.c: guests of a CQ; called by the poller's thread. The next poll after cq_request_guests()
 * asks them for completions.
 */
void cq_add_guest(struct cq_object *cq, struct cq_guest *guest);
void cq_remove_guest(struct cq_object *cq, struct cq_guest *guest);
void cq_request_guests(struct cq_object *cq);

/* cq.c: zero, on cache lines of its own; NULL: no memory. */
struct cq_object *new_cq(struct bsn_device *device);
/* Frees a CQ that the application created, and that no QP uses. */
void cq_forget(struct cq_object *cq);

/*
 * adopt.c: adopts the CQ of an attached QP; cq_drop_attached() is called when its last QP is
 * destroyed.
 */
int cq_adopt(struct bsn_device *device, struct ibv_cq *verbs, const struct path_ops *path,
	     struct cq_object **cq);
void cq_drop_attached(struct cq_object *cq);
void cq_forget_idle(struct bsn_device *device); /* when the device is closed */

/*
 * cq.c: takes and gives back the entries that queues may need. -ENOSPC: so many more could overrun
 * the CQ; a CQ that an application sized is never refused.
 */
int cq_has_room(const struct cq_object *cq, uint32_t entries);

/* cq.c: -EBUSY: the CQ ignores overruns, and CQEs of destroyed queues could make it overrun. */
int cq_is_clean(const struct cq_object *cq, uint32_t entries);
void cq_charge(struct cq_object *cq, uint32_t entries);
void cq_discharge(struct cq_object *cq, uint32_t entries);

/* cq.c: the same under the lock: takes @now entries if the CQ has @needed, and gives them back. */
int cq_take(struct cq_object *cq, uint32_t needed, uint32_t now);
void cq_give(struct cq_object *cq, uint32_t entries);

/*
 * lane.c: makes a queue, which got this register, a user of the register's lane; lane_leave()
 * undoes that. @asked: the lane that it was created on; NULL: it is attached, or has its own
 * register.
 * @is_shared: queues of several threads may have got it.
 */
struct lane_register {
	uint8_t *reg;
	uint32_t blueflame_bytes;
	bool is_shared;
};
int lane_enter(struct bsn_device *device, struct lane_object *asked,
	       const struct lane_register *got, struct lane_object **lane);
void lane_leave(struct lane_object *lane);

/*
 * lane.c: makes the parent domain of a QP, by which it gets its lane's register, if the lane has a
 * thread domain.
 */
int lane_make_domain(struct bsn_qp *qp);

#endif
