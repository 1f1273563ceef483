/* SPDX-License-Identifier: BSD-2-Clause */
/* The engine's objects, behind the opaque names of bsn.h. Private to engine/. */
#ifndef ENGINE_H
#define ENGINE_H

#include <pthread.h>
#include <stdatomic.h>

#include "bsn.h"
#include "bsn_registry.h"
#include "provider.h"

/*
 * Where nothing is asked for. A QP takes so many entries of its CQ each way, and a CQ has room for two
 * of them.
 */
enum {
	DEFAULT_SENDS_BB = 128,
	DEFAULT_RECVS = 128,
	DEFAULT_ENTRIES = 2 * (DEFAULT_SENDS_BB + DEFAULT_RECVS),
};

/*
 * Who uses what: every object counts its users, and is destroyed only by the last. A device counts
 * all that was made of it.
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

/* Remembers the text for bsn_error_text() and returns -error. */
int fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * What to add to a text where @error is ENOMEM: the device locks what it reaches, and that has a
 * limit of its own. "" where it has none.
 */
const char *memlock_hint(int error);

struct bsn_pd {
	struct bsn_device *device;
	struct ibv_pd *verbs;
	struct uses uses;
};

struct bsn_device {
	struct ibv_context *context;
	bool owns_context;
	bool direct;
	bool lists_queues; /* in the registry */
	atomic_bool is_gone;
	struct bsn_device_attr attr;
	struct bsn_device_info info;
	struct ibv_device_attr limits;
	struct ibv_port_attr port;
	struct bsn_pd default_pd;
	struct uses uses;
	pthread_mutex_t lock; /* of the lists below, and of endpoints' numbers */
	struct qp_object *qps;
	struct cq_object *cqs;
	struct srq_object *srqs;
	char path_why[160];
	char why_not[BSN_FEATURES_MAX][96];
};

void say(const struct bsn_device *device, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

struct lane_object {
	struct bsn_lane hot; /* first: a bsn_lane is its lane_object */
	struct bsn_device *device;
	struct ibv_td *td; /* NULL: the device gave none; registers are the provider's choice */
	pthread_spinlock_t lock;
	struct uses uses;
};

struct mr_object {
	struct bsn_mr pub; /* first */
	struct bsn_device *device;
	struct bsn_pd *pd;
	struct ibv_mr *verbs;
	void *memory; /* of bsn_buf_alloc(), else NULL */
};

struct bsn_channel {
	struct bsn_device *device;
	struct ibv_comp_channel *verbs;
	struct uses uses;
};

struct cq_object {
	struct bsn_cq hot; /* first */
	struct bsn_device *device;
	struct ibv_cq *verbs;
	bool owns_verbs;
	struct bsn_channel *channel;
	struct lane_object *lane;
	bool owns_lane;
	uint32_t entries;  /* what queues may charge */
	uint32_t spare;    /* entries of the ring beyond that */
	uint32_t charged;  /* what they did */
	uint32_t unacked;  /* events taken and not yet acknowledged */
	void *user;
	struct uses uses;
	struct cq_object *next;
	struct bsn_registry_queue listed;
	void *path_state; /* of the verbs path */
};

struct srq_object {
	struct bsn_device *device;
	struct ibv_srq *verbs;
	struct bsn_rq *rq;
	struct bsn_pd *pd;
	uint32_t number;  /* SRQN; 0 on the verbs path */
	uint32_t slots;   /* WQEs in the ring */
	uint32_t depth;   /* of those, what may be outstanding: what was asked for */
	uint32_t max_sge; /* as asked for */
	void *user;
	struct uses uses;
	struct srq_object *next;
	struct bsn_registry_queue listed;
	void *path_state; /* of the verbs path */
};

struct qp_object {
	struct bsn_device *device;
	struct ibv_qp *verbs;
	bool owns_verbs;
	bool direct;
	enum bsn_qp_type type;
	struct bsn_sq *sq;
	struct bsn_rq *rq;     /* own, or the SRQ's */
	struct srq_object *srq; /* NULL: own RQ */
	struct bsn_ep ep;      /* RC and UC */
	struct cq_object *cq, *recv_cq;
	uint32_t sends_bb; /* direct: blocks that may be outstanding */
	uint32_t charged_send, charged_recv;
	struct bsn_pd *pd;
	struct ibv_pd *parent_domain; /* NULL: none */
	struct lane_object *lane;
	bool owns_lane;
	struct bsn_qp_limits limits;
	uint32_t psn;
	uint32_t qkey;
	uint8_t gid_index;
	struct bsn_completion first_error;
	struct uses uses; /* endpoints */
	void *user;
	void *path_state; /* of the verbs path */
	struct qp_object *next;
	struct bsn_registry_queue listed_sends, listed_recvs;
};

static inline struct cq_object *cq_of(struct bsn_cq *cq)
{
	return (struct cq_object *)cq;
}

static inline struct lane_object *lane_of(struct bsn_lane *lane)
{
	return (struct lane_object *)lane;
}

static inline struct qp_object *qp_of(struct bsn_qp *qp)
{
	return (struct qp_object *)(void *)qp;
}

/*
 * The two paths of a QP, a CQ and an SRQ. Each `make` fills in the hot structures (path pointers
 * included) of an object whose verbs object exists; `clear` brings them back to empty, after a
 * reset; `free` undoes `make`. Everything else of the control path is common to both.
 */
struct path_ops {
	int (*cq_make)(struct cq_object *cq);
	void (*cq_free)(struct cq_object *cq);
	int (*qp_make)(struct qp_object *qp, const struct bsn_qp_attr *attr);
	void (*qp_clear)(struct qp_object *qp);
	void (*qp_free)(struct qp_object *qp);
	int (*srq_make)(struct srq_object *srq);
	void (*srq_free)(struct srq_object *srq);
	int (*qp_outstanding)(struct qp_object *qp, struct bsn_outstanding *outstanding);
	/* Before the QP is reset or destroyed; NULL: nothing to do. */
	int (*qp_leave)(struct qp_object *qp);
	/* After the QP went to error: what was appended and never rung is handed in, to be flushed. */
	int (*qp_failed)(struct qp_object *qp);
	/* An endpoint of a UD QP: what must precede its messages. */
	int (*ep_make)(struct bsn_ep *ep, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey);
	void (*ep_free)(struct bsn_ep *ep);
};
extern const struct path_ops direct_path; /* direct.c */
extern const struct path_ops verbs_path;  /* verbs.c */

static inline const struct path_ops *path_of(bool direct)
{
	return direct ? &direct_path : &verbs_path;
}

/*
 * lane.c: a lane of one queue, for whatever register that has; where it is not known to be nobody
 * else's, @is_shared.
 */
int lane_of_register(struct bsn_device *device, bool is_shared, struct bsn_lane **lane);

/* qp.c: the last step of creation: counts it as a user, and makes its endpoint. */
void hold_qp(struct qp_object *qp);

/* path.c: what both paths need. */
uint8_t transport_of(enum bsn_qp_type type); /* enum bsn_transport */
int route_qp(struct qp_object *qp); /* both CQs know the QP's queues from here on */
void unroute_qp(struct qp_object *qp);

/* verbs.c: a QP that posts by ibv_wr_* where the provider has it. */
int verbs_qp_create(struct ibv_pd *pd, struct ibv_qp_init_attr *init, struct ibv_qp **qp);

/* direct.c: blocks of the longest request, and of a full queue, for the limits that were asked for. */
uint32_t direct_longest_bb(const struct qp_object *qp);
uint32_t direct_sends_bb(const struct qp_object *qp);

/* connect.c */
void choose_psn(struct qp_object *qp);

/*
 * device.c: what a destroying call of libibverbs returned, as 0 or -errno. A device that is gone takes
 * its objects along, though libibverbs refuses to destroy them (EIO, and EBUSY for what they used;
 * RDMAV_ALLOW_DISASSOC_DESTROY): what it keeps of them goes with the process.
 */
int destroyed(struct bsn_device *device, int result);

/* device.c: the lists that events are looked up in. */
void list_qp(struct qp_object *qp);
void unlist_qp(struct qp_object *qp);
void list_srq(struct srq_object *srq);
void unlist_srq(struct srq_object *srq);
void list_cq(struct cq_object *cq);
void unlist_cq(struct cq_object *cq);

/*
 * registry.c: the queues of a device that lists them. They are taken away before their rings are freed,
 * so that nobody finds a ring that is something else by now; what is not listed is left alone.
 */
int registry_open(struct bsn_device *device);
void registry_add_qp(struct qp_object *qp);
void registry_remove_qp(struct qp_object *qp);
void registry_add_srq(struct srq_object *srq);
void registry_remove_srq(struct srq_object *srq);
void registry_add_cq(struct cq_object *cq);
void registry_remove_cq(struct cq_object *cq);

/* cq.c: the CQ of a QP that is attached; it goes with the last of its QPs, any other one stays. */
int cq_adopt(struct bsn_device *device, struct ibv_cq *verbs, bool direct, struct cq_object **cq);
void cq_drop_attached(struct cq_object *cq);

/* cq.c: a queue's share of a CQ. -ENOSPC where the sum of depths would exceed its entries. */
int cq_charge(struct cq_object *cq, uint32_t entries);
void cq_discharge(struct cq_object *cq, uint32_t entries);

/* lane.c: -EXDEV where the lane has another one already. */
int lane_adopt_register(struct lane_object *lane, uint8_t *reg, uint32_t blueflame_bytes);

#endif
