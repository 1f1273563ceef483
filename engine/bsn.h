/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bunsen's control path: devices, memory, queues, connections. It includes the data path,
 * bsn_post.h.
 *
 * Rules of every function here:
 *
 *	Return    0 or a negative errno; the out parameter comes last and is untouched on failure.
 *	          bsn_error_text() then says what to do.
 *	NULL      -EINVAL for a required object. Attributes may be NULL, and each of their fields
 *	          may be 0: both mean the default.
 *	Context   may allocate, block and make system calls. Different threads may create and
 *	          destroy objects of one device at once; one thread at a time uses an object.
 *	Destroy   returns -EBUSY, and changes nothing, while something uses the object; of NULL it
 *	          does nothing. Objects of a device that is gone can always be destroyed; libibverbs
 *	          may keep some memory until the process ends (RDMAV_ALLOW_DISASSOC_DESTROY).
 *	Fork      a child must not use its parent's objects; it may open the device itself.
 *
 * Threads on the data path: a send queue has one poster, a receive queue one poster, a CQ one
 * poller; these may be three threads. The CQ's poller creates, destroys and resets QPs; another
 * thread may do so while nobody polls.
 */
#ifndef BSN_H
#define BSN_H

#include "bsn_post.h"

BSN_HEADER_BEGIN

struct ibv_context;
struct ibv_cq;
struct ibv_pd;
struct ibv_qp;

struct bsn_device;
struct bsn_mem_attr;
struct bsn_pd;
struct bsn_qp;
struct bsn_channel;
struct bsn_xrcd;

/** enum bsn_path - how requests reach the device */
enum bsn_path {
	BSN_PATH_AUTO,   /* as BSN_PATH=direct|verbs of the environment; or direct if possible */
	BSN_PATH_DIRECT, /* mlx5: Bunsen writes into the queues */
	BSN_PATH_VERBS,  /* ibv_wr_* if the provider has it, or else ibv_post_send() */
};

/**
 * bsn_error_text - why the last failed call of this thread failed, and what to do about it
 *
 * Refused posts and failed polls count, too. The text stays until another call fails.
 * Return: never NULL; "" if no call has failed yet.
 */
BSN_API const char *bsn_error_text(void);

/* -- devices ---------------------------------------------------------------------------------- */

/**
 * struct bsn_device_attr - how a device is opened
 * @log: called with notes; the library prints nothing
 * @gid_index: the GID in this device's addresses, and the default of its connections
 */
struct bsn_device_attr {
	enum bsn_path path;
	enum bsn_store store; /* of BlueFlame; 0: BSN_STORE=8x8|4x16|… of the environment, or the
			       * best of this CPU */
	uint8_t port;         /* 0: the first that is active */
	bool list_queues;     /* tools can read its queues: bsn_registry.h; or BSN_REGISTRY=1 */
	void (*log)(void *arg, const char *text);
	void *log_arg;
	int gid_index;        /* 0: one of RoCE v2 over IPv4, if any; unless has_gid_index */
	bool has_gid_index;   /* gid_index is set, even if it is 0 */
};

/** struct bsn_feature - what not every device has; @why_not: NULL: this device has it */
struct bsn_feature {
	const char *name;
	const char *why_not;
};

#define BSN_FEATURES_MAX 24

/**
 * struct bsn_device_info - the properties of a device
 * @store_name: of @store: "8x8", "4x16", …
 * @verbs: libibverbs' context of the device, for calls that Bunsen lacks
 * @event_fd: readable when an event waits: bsn_device_get_event()
 */
struct bsn_device_info {
	const char *name;
	struct ibv_context *verbs;
	int event_fd;
	enum bsn_path path;
	const char *path_why; /* a sentence */
	enum bsn_store store;
	const char *store_name;
	const char *link_layer; /* "InfiniBand", "Ethernet" */
	const char *port_state;
	uint8_t port;
	uint8_t gid_index; /* the default of connections */
	uint16_t lid;
	uint8_t gid[16];
	uint32_t active_mtu; /* bytes */
	uint32_t max_qp, max_cq, max_mr, max_srq;
	uint32_t max_send_wr; /* requests of the default length; longer ones take more room */
	uint32_t max_sge, max_cqe;
	uint32_t max_rd_atomic; /* READs and atomics outstanding, as initiator and as target */
	uint32_t max_dc_streams; /* of an initiator, up to 64; 0: "dc-streams" says why */
	uint32_t max_dc_failed_streams; /* may be in error while the other streams go on */
	bool atomics_are_big_endian; /* atomics' results of 8 bytes; false: in the host's order */
	uint32_t feature_count;
	struct bsn_feature features[BSN_FEATURES_MAX];
};

BSN_API int bsn_device_open_layout(const char *name, const struct bsn_device_attr *attr,
				   uint32_t layout_version, struct bsn_device **device);

/**
 * bsn_device_open - opens a device
 * @name: "mlx5_0"; NULL: BSN_DEVICE of the environment; if not set, the first mlx5 device; if there
 *	is none, the first device of libibverbs
 * Return: 0; -ENODEV none, or none of that name; -EACCES no permission on its files; -ENOTSUP the
 * device has no direct path, and @attr asks for it; -EPROTO the headers are those of a later
 * library.
 */
BSN_POST_API int bsn_device_open(const char *name, const struct bsn_device_attr *attr,
				 struct bsn_device **device);

#ifndef BSN_NO_INLINE
BSN_POST_API int bsn_device_open(const char *name, const struct bsn_device_attr *attr,
				 struct bsn_device **device)
{
	return bsn_device_open_layout(name, attr, BSN_LAYOUT_VERSION, device);
}
#endif

BSN_API int bsn_device_close(struct bsn_device *device);

/** bsn_device_info - valid as long as the device */
BSN_API const struct bsn_device_info *bsn_device_info(const struct bsn_device *device);

/** enum bsn_event_object - what an event is about */
enum bsn_event_object {
	BSN_EVENT_DEVICE,
	BSN_EVENT_PORT,
	BSN_EVENT_CQ,
	BSN_EVENT_QP,
	BSN_EVENT_SRQ,
};

/**
 * struct bsn_event - an asynchronous event
 * @type: enum ibv_event_type; @name is libibverbs' name of it ("CQ error"), a constant
 */
struct bsn_event {
	enum bsn_event_object object;
	int type;
	uint8_t port;
	struct bsn_cq *cq; /* NULL if the object is not Bunsen's */
	struct bsn_qp *qp;
	struct bsn_rq *srq;
	const char *name;
};

/**
 * bsn_device_get_event - takes one event; never blocks
 *
 * The application must call this: the library learns here that a CQ overran or that the device is
 * gone, and polls then report it.
 * Return: 0; -EAGAIN none; -EIO the device is gone, and no more events will come.
 */
BSN_API int bsn_device_get_event(struct bsn_device *device, struct bsn_event *event);

/* -- lanes and protection domains ------------------------------------------------------------- */

/** struct bsn_lane_attr - @is_shared: several threads post by it: under a lock, no BlueFlame */
struct bsn_lane_attr {
	bool is_shared;
};

/**
 * bsn_lane_create - a doorbell register for one thread
 *
 * If the device has no such register left, it gives one without write combining, or a shared one;
 * the log says so.
 */
BSN_API int bsn_lane_create(struct bsn_device *device, const struct bsn_lane_attr *attr,
			    struct bsn_lane **lane);
BSN_API int bsn_lane_destroy(struct bsn_lane *lane);

BSN_API int bsn_pd_create(struct bsn_device *device, struct bsn_pd **pd);
BSN_API int bsn_pd_destroy(struct bsn_pd *pd);

/* -- memory ----------------------------------------------------------------------------------- */

/**
 * struct bsn_mr - registered memory
 * @data: its address in this process; NULL: it has none, such as device memory
 * @addr: its address in requests: that of @data, unless the region has an IOVA or is zero-based
 */
struct bsn_mr {
	void *data;
	uint64_t addr;
	uint64_t length; /* bytes */
	uint32_t lkey;
	uint32_t rkey;
};

/** bsn_sge_of - the SGE of @length bytes of registered memory from byte @offset on */
BSN_ALWAYS_INLINE struct bsn_sge bsn_sge_of(const struct bsn_mr *mr, uint64_t offset,
					    uint32_t length)
{
	return (struct bsn_sge){ mr->addr + offset, length, mr->lkey };
}

/** bsn_remote_of - registered memory from byte @offset on, for a peer's requests */
BSN_ALWAYS_INLINE struct bsn_remote bsn_remote_of(const struct bsn_mr *mr, uint64_t offset)
{
	return (struct bsn_remote){ mr->addr + offset, mr->rkey };
}

/**
 * struct bsn_mr_attr - how memory is registered
 * @access: IBV_ACCESS_*; 0: local writes, and all that a peer can do
 * @iova: with @has_iova, the address of the first byte in requests; 0: the region is zero-based. It
 *	must have the same offset in its page as the memory
 */
struct bsn_mr_attr {
	struct bsn_pd *pd;
	int access;
	bool is_read_only; /* access 0 then allows only local reads */
	bool is_on_demand; /* not pinned: paged in when requests need it */
	bool is_relaxed;   /* accesses may overtake each other: do not poll on the last byte */
	bool is_physical;  /* physical addresses: always refused, with the kernel's reason */
	bool has_iova;
	uint64_t iova;
	const struct bsn_mem_attr *mem; /* for bsn_buf_alloc(): which memory (bsn_mem.h) */
};

/**
 * bsn_mr_register - lets the device reach @length bytes at @addr
 *
 * @addr NULL and @length SIZE_MAX, on demand and without an IOVA, are all addresses of the process
 *	(an implicit region): nothing is pinned, and a request to a page that is not mapped fails.
 *	Other kinds of regions are in bsn_mem.h.
 * Return: -ENOMEM RLIMIT_MEMLOCK is too low; -EFAULT the bytes are not mapped, or the process may
 * not write to them: then set is_read_only; -EINVAL an IOVA with another offset in its page;
 * -EOPNOTSUPP the device has no regions on demand, or no implicit ones.
 */
BSN_API int bsn_mr_register(struct bsn_device *device, void *addr, size_t length,
			    const struct bsn_mr_attr *attr, struct bsn_mr **mr);
BSN_API int bsn_mr_deregister(struct bsn_mr *mr);

/**
 * bsn_buf_alloc - allocates and registers memory: zeroed, and aligned to a page
 *
 * By default it is on the device's NUMA node, and on huge pages if there are any: bsn_mem.h has the
 * order in which sources are tried, and bsn_buf_info() says which one was used. Only the pages that
 * @length needs are registered.
 * Return: -ENOMEM no memory, or RLIMIT_MEMLOCK is too low; the errors of the source.
 */
BSN_API int bsn_buf_alloc(struct bsn_device *device, size_t length, const struct bsn_mr_attr *attr,
			  struct bsn_mr **buf);
BSN_API int bsn_buf_free(struct bsn_mr *buf);

/* -- completion queues ------------------------------------------------------------------------ */

/** bsn_channel_create - a channel wakes threads that wait for completions of its CQs */
BSN_API int bsn_channel_create(struct bsn_device *device, struct bsn_channel **channel);
BSN_API int bsn_channel_destroy(struct bsn_channel *channel);
BSN_API int bsn_channel_fd(const struct bsn_channel *channel);

/**
 * bsn_channel_get - takes one event; blocks unless the fd is non-blocking
 *
 * To lose no event: bsn_cq_request(), then bsn_poll() until empty, then wait.
 * Return: 0 and the CQ; -EAGAIN.
 */
BSN_API int bsn_channel_get(struct bsn_channel *channel, struct bsn_cq **cq);

/**
 * enum bsn_cqe_compression - the field that each CQE of a session keeps, beside its length
 *
 * Under load the device writes several CQEs of one queue as a session: a title CQE, and 8 bytes for
 * each further one; polls expand them. All other fields, the timestamp included, are those of the
 * title. Sessions of requests are the same in every format.
 */
enum bsn_cqe_compression {
	BSN_CQES_WHOLE,           /* no sessions */
	BSN_CQES_BY_HASH,         /* receives keep the RSS hash */
	BSN_CQES_BY_CHECKSUM,     /* receives keep the checksum */
	BSN_CQES_BY_STRIDE_INDEX, /* the checksum, and the stride index: the WQE's counter */
};

/**
 * enum bsn_timestamps - what bsn_completion.timestamp is
 *
 * The device writes it into each CQE. It is 0 if the request failed or has no CQE. On plain verbs
 * it is also 0 if the completion waited in the CQ while a QP with an SRQ, or an SRQ of XRC, was
 * destroyed.
 */
enum bsn_timestamps {
	BSN_TIMESTAMPS_NONE,      /* the field is not written */
	BSN_TIMESTAMPS_RAW,       /* ticks of the device's free-running clock */
	BSN_TIMESTAMPS_NS,        /* nanoseconds since 1970, converted as the kernel says */
	BSN_TIMESTAMPS_REAL_TIME, /* nanoseconds since 1970, of a device clock that PTP sets */
};

/**
 * bsn_device_clock - the device's time, in the units of its CQEs' timestamps
 * @as: BSN_TIMESTAMPS_RAW or BSN_TIMESTAMPS_NS
 *
 * Reads the device's free-running clock over the bus, which takes some hundred nanoseconds. It
 * reads both halves until they fit together.
 * Context: any thread. Return: 0; -EOPNOTSUPP the clock cannot be read, the length of a tick is not
 * known, or it is the real-time clock, which no program can read; -EINVAL.
 */
BSN_API int bsn_device_clock(struct bsn_device *device, enum bsn_timestamps as, uint64_t *now);

/**
 * struct bsn_cq_attr - @entries: what all queues that complete here may have outstanding
 *
 * That is each receive depth, each SRQ once, and each send depth times the blocks (64 B) of the
 * longest request that the QP takes: one for one SGE, or up to 28 bytes inline (UD: two).
 *
 * @ignores_overrun: the device does not check for overrun, so the poller updates the doorbell
 *	record only once a lap, and before it asks for an event. The CQ still cannot overrun: each
 *	request reserves an entry until it is polled. If a QP was destroyed or reset with
 *	completions in the CQ, calls that need their entries return -EBUSY until they are polled.
 *	Only on the direct path, and not for receives of an SRQ.
 */
struct bsn_cq_attr {
	uint32_t entries;  /* 0: 512, for two QPs of default depth */
	uint32_t cqe_size; /* 64 or 128; 0: 64; on plain verbs the provider chooses */
	enum bsn_cqe_compression compression; /* only on the direct path */
	bool is_padded; /* the device writes all 128 B of a CQE; only on the direct path */
	struct bsn_channel *channel;
	struct bsn_lane *lane; /* default of QPs; NULL: the CQ's own, made with the first QP */
	void *user;
	bool is_shared; /* any thread may poll, under a lock, and destroy or reset its QPs */
	enum bsn_timestamps timestamps; /* polls of a CQ with timestamps cost more */
	bool ignores_overrun;
};
BSN_API int bsn_cq_create(struct bsn_device *device, const struct bsn_cq_attr *attr,
			  struct bsn_cq **cq);
BSN_API int bsn_cq_destroy(struct bsn_cq *cq);

/**
 * bsn_cq_resize - changes the number of entries; completions not yet polled stay
 *
 * Context: the poller's thread. Return: 0; -EINVAL no entries, or more than the device has; -ENOSPC
 * fewer than its queues may need, or hold now; -EOPNOTSUPP the provider cannot resize, or this is
 * the direct path: libmlx5 would copy CQEs from its own index, which is stale, and report success.
 */
BSN_API int bsn_cq_resize(struct bsn_cq *cq, uint32_t entries);
BSN_API void *bsn_cq_user(const struct bsn_cq *cq);

/** bsn_cq_request - an event at the next completion, or at the next solicited or failed one */
BSN_API int bsn_cq_request(struct bsn_cq *cq, bool solicited_only);

/**
 * bsn_cq_moderate - one event for several completions
 * @count: an event after so many completions since the request; 0: no count
 * @period_us: or so many microseconds after the first of them; 0: no period
 *
 * Both 0, the default: an event for the first completion. mlx5 takes periods up to 4095.
 * Context: the control path. Return: 0; -EINVAL a value of more than 16 bits, or a count above 1
 * without a period (the last completions would never raise an event); -EOPNOTSUPP the device or its
 * driver cannot moderate.
 */
BSN_API int bsn_cq_moderate(struct bsn_cq *cq, uint32_t count, uint32_t period_us);

/**
 * bsn_cq_event_taken - the application took an event of an attached CQ from its own channel
 *
 * bsn_channel_get() does this for Bunsen's channels. Without it the next bsn_cq_request() has no
 * effect, since the device counts the events that it raised.
 */
BSN_API int bsn_cq_event_taken(struct bsn_cq *cq);

/* -- queue pairs ------------------------------------------------------------------------------ */

/*
 * BSN_QP_DC: an initiator (DCI); bsn_dc.h has its targets, and pools of them. BSN_QP_XRC: an
 * initiator; bsn_xrc.h has domains and targets.
 */
enum bsn_qp_type { BSN_QP_RC, BSN_QP_UC, BSN_QP_UD, BSN_QP_DC, BSN_QP_XRC };

/**
 * struct bsn_srq_attr - a receive queue for several QPs
 * @is_on_demand: receives may use memory of IBV_ACCESS_ON_DEMAND. If a page is missing, the poll
 *	posts the receive once more; posts take a lock for that. Without @is_on_demand such a
 *	receive completes with IBV_WC_REM_ABORT_ERR (vendor syndrome 0x93), the QP goes on, and it
 *	is for the application to post the receive.
 * @xrcd: of an SRQ of XRC (bsn_xrc.h): its domain; no QP of bsn_qp_create() uses it
 * @cq: of an SRQ of XRC: the CQ of its receives, of which it takes @recv_depth entries. A CQ has
 *	one such SRQ, since libmlx5 does not tell the number that their CQEs have
 */
struct bsn_srq_attr {
	struct bsn_pd *pd;
	uint32_t recv_depth; /* 0: 128 */
	uint32_t max_recv_sge; /* 0: 1 */
	void *user;
	bool is_on_demand;
	struct bsn_xrcd *xrcd;
	struct bsn_cq *cq;
};
BSN_API int bsn_srq_create(struct bsn_device *device, const struct bsn_srq_attr *attr,
			   struct bsn_rq **srq);
BSN_API int bsn_srq_destroy(struct bsn_rq *srq);

/** bsn_srq_number - the SRQ's number, for XRC requests; 0 for other SRQs on plain verbs */
BSN_API uint32_t bsn_srq_number(const struct bsn_rq *srq);

/** bsn_srq_set_limit - asks for one event when fewer than @limit receives are left; 0: none */
BSN_API int bsn_srq_set_limit(struct bsn_rq *srq, uint32_t limit);

/**
 * struct bsn_qp_attr
 *
 * Inline receive: messages of up to @max_inline_recv bytes come in their CQE, and so do results of
 * READs and atomics of up to @max_inline_resp. A CQE has room in one half: 32 of its 64 bytes, or
 * 64 of 128 (cqe_size of struct bsn_cq_attr). Completions of such a QP have BSN_C_DATA:
 * bsn_completion.data points to the bytes, in the CQE (BSN_C_IN_CQE) or at the first SGE. In both
 * cases the message takes a receive, which must be long enough for it. If the address of the first
 * SGE is not an address of the program (but an IOVA, or one in a zero-based region or an mkey),
 * @data of a message in memory is not valid. The result of an atomic has the same byte order as in
 * memory.
 *
 * Inline receive needs the direct path, and RC or UC. Results in CQEs need RC; signal_all, since an
 * unsignaled request would lose its result; and max_inline_recv, since mlx5_ib has one switch for
 * both. What is not asked for here is off, although libmlx5 turns it on for every QP, and copies.
 */
struct bsn_qp_attr {
	enum bsn_qp_type type;
	struct bsn_cq *cq;      /* for both directions */
	struct bsn_cq *recv_cq; /* NULL: @cq */
	struct bsn_rq *srq;
	struct bsn_pd *pd;
	struct bsn_lane *lane;  /* NULL: the lane of @cq */
	uint32_t send_depth;    /* requests; 0: 128; UD and DC: 64 */
	uint32_t recv_depth;    /* 0: 128; not with an SRQ */
	uint32_t max_send_sge;  /* 0: 1 */
	uint32_t max_recv_sge;  /* 0: 1 */
	uint32_t max_inline;    /* bytes; 0: as many as fit without making requests longer */
	uint32_t max_inline_recv; /* bytes; 0: messages come in memory */
	uint32_t max_inline_resp; /* bytes; 0: results come in memory */
	int signal_every;       /* the library signals one of so many unsignaled posts, and hides
				 * its completion; 0: a quarter of the depth; -1: none */
	bool signal_all;        /* all requests are signaled */
	bool ce_on_first_error; /* of unsignaled requests only the first that fails has a CQE; the
				 * ids of others come by bsn_poll(), the last ones by
				 * bsn_qp_give_back() */
	void *user;             /* of the endpoint and the receive queue */
};
BSN_API int bsn_qp_create(struct bsn_device *device, const struct bsn_qp_attr *attr,
			  struct bsn_qp **qp);
BSN_API int bsn_qp_destroy(struct bsn_qp *qp);

/** struct bsn_attach_attr */
struct bsn_attach_attr {
	bool register_is_ours; /* promise: nothing else posts through this QP's doorbell register */
	bool signal_all;       /* the QP has sq_sig_all; only some providers tell */
	uint32_t send_depth; /* outstanding requests; 0: as many as fit max_send_wr blocks */
	void *user;
};

/**
 * bsn_qp_attach - uses a QP, with its CQs, that the application created by verbs or rdma_cm
 * @qp: in any state, before its first post; from now on no ibv_* data verb may touch it or its CQs
 *
 * Attach all QPs of a CQ, with the same promise, before the first post to any of them. Without
 * @register_is_ours, and on providers other than mlx5, the QP uses plain verbs. On the direct path
 * up to max_send_wr blocks (64 B of WQE), or one longest request, may be outstanding, since the CQ
 * was created for that many. bsn_qp_info() says how many longest requests that is. If the CQ has
 * more entries, set @send_depth, up to max_send_wr.
 *
 * bsn_qp_destroy() detaches; the verbs objects stay. Take the QP to RESET before verbs use it after
 * that, so that no completion of Bunsen's requests comes. On the direct path libmlx5 does not know
 * what was polled of its CQs: destroy them after the QP, or attach other QPs to them. Bunsen's part
 * of such a CQ is freed with the device, or by bsn_cq_destroy() of the CQ of bsn_qp_info().
 *
 * Return: -EBUSY the QP was posted to or is attached, or its CQ has completions or was polled
 * (Bunsen sees posts to mlx5 QPs, and polls on the direct path); -EMLINK the CQ has a QP attached
 * with another promise; -EOPNOTSUPP not RC, UC, UD or an XRC initiator, with an SRQ, or without a
 * send queue; -EINVAL it is of another context, or @send_depth exceeds max_send_wr or the CQ's
 * entries.
 */
BSN_API int bsn_qp_attach(struct bsn_device *device, struct ibv_qp *qp,
			  const struct bsn_attach_attr *attr, struct bsn_qp **out);

/**
 * bsn_device_attach - the device of a context that the application opened; see bsn_qp_attach()
 *
 * The application closes the context, after bsn_device_close(). Its asynchronous events have one
 * reader: bsn_device_get_event(), or the application.
 */
BSN_API int bsn_device_attach(struct ibv_context *context, const struct bsn_device_attr *attr,
			      struct bsn_device **device);

/* If the QP has many peers (UD, DC, XRC), this endpoint refuses every request: bsn_ep_create(). */
BSN_API struct bsn_ep *bsn_qp_ep(struct bsn_qp *qp);
BSN_API struct bsn_rq *bsn_qp_rq(struct bsn_qp *qp);

/**
 * struct bsn_qp_info - the properties of a QP; granted ones may exceed those asked for
 * @cq: of its requests; @recv_cq: of its receives, maybe the same. Poll these, even if the QP is
 *	attached
 * @verbs: libibverbs' QP; NULL: created by a firmware command (DC with full handshake)
 * @number: its QPN
 * @send_depth: requests of any length that may be outstanding
 * @short_sends: the same for requests of one block (64 B)
 * @max_inline_recv: bytes of a message that come in its CQE; 0: none. @max_inline_resp: of a result
 */
struct bsn_qp_info {
	struct bsn_cq *cq, *recv_cq;
	struct ibv_qp *verbs;
	uint32_t number;
	uint32_t send_depth, recv_depth, max_send_sge, max_recv_sge, max_inline;
	uint32_t short_sends;
	uint32_t max_inline_recv, max_inline_resp;
};

/** bsn_qp_info - valid as long as the QP, and constant; NULL: no QP */
BSN_API const struct bsn_qp_info *bsn_qp_info(const struct bsn_qp *qp);

/** struct bsn_address - what a peer needs; to be sent as it is */
struct bsn_address {
	uint8_t bytes[64];
};
BSN_API int bsn_qp_address(const struct bsn_qp *qp, struct bsn_address *address);

/** struct bsn_connect_attr - attributes of a connection */
struct bsn_connect_attr {
	uint32_t mtu;            /* bytes; 0: the smaller one of both ports */
	int gid_index;           /* 0: that of struct bsn_device_info, unless has_gid_index */
	bool has_gid_index;      /* gid_index is set, even if it is 0 */
	uint8_t sl;
	uint8_t traffic_class;
	uint8_t hop_limit;       /* 0: 64 */
	uint8_t timeout;         /* 4.096 µs << timeout; 0: 14 */
	uint8_t retry_count;     /* 0: 7; BSN_NO_RETRY: none */
	uint8_t rnr_retry;       /* 0: 7, without end; BSN_NO_RETRY: none */
	uint8_t min_rnr_timer;   /* 0: 12, 640 µs */
	uint8_t max_rd_atomic;   /* outstanding READs and atomics; 0: what both can, 16 at most */
	uint8_t max_dest_rd_atomic; /* those of the peer; 0: what this end can, 16 at most */
	uint32_t qkey;           /* UD; 0: 0x11111111 */
};
#define BSN_NO_RETRY 0xff

/**
 * bsn_qp_init - RESET to INIT: receives may be posted from now on
 *
 * A QP of bsn_qp_create() is already in INIT, even after bsn_qp_reset(). The application controls
 * the state of an attached one.
 * Return: 0, even if it is in INIT; -EINVAL it is connected, or in error: bsn_qp_reset() first.
 */
BSN_API int bsn_qp_init(struct bsn_qp *qp);

/**
 * bsn_qp_ready_to_receive - INIT to RTR: the QP receives from now on; first half of
 * bsn_qp_connect()
 *
 * For programs that must know that both ends can receive before either sends.
 * Return: as bsn_qp_connect().
 */
BSN_API int bsn_qp_ready_to_receive(struct bsn_qp *qp, const struct bsn_address *peer,
				    const struct bsn_connect_attr *attr);

/** bsn_qp_ready_to_send - RTR to RTS: second half of bsn_qp_connect(), with the same attributes */
BSN_API int bsn_qp_ready_to_send(struct bsn_qp *qp, const struct bsn_connect_attr *attr);

/**
 * bsn_qp_connect - connects a QP; RC, UC and XRC: to @peer. UD and DC: @peer is NULL
 *
 * The two ends must agree on mtu, PSNs, partition and kind of GID, and neither may have more READs
 * outstanding than the other takes. They agree by default, if each has the other's current address.
 * If they do not, the first request that it affects fails: bsn_qp_connect(3) says how each
 * disagreement shows; softcx behaves alike, and softcx(1) has the sources.
 * Return: -EPROTO the bytes are not an address, or one of another version, transport, link layer or
 * InfiniBand subnet; -ENETDOWN this port is not active, and the peer is on another port; -EINVAL an
 * attribute out of its range (the text names it), or a QP that is already connected: bsn_qp_reset()
 * first.
 */
BSN_API int bsn_qp_connect(struct bsn_qp *qp, const struct bsn_address *peer,
			   const struct bsn_connect_attr *attr);

/**
 * bsn_ep_create - an endpoint of a UD QP for the QP of @peer, or of a DCI for the DCT of @peer;
 * XRC: bsn_xrc_ep_create()
 */
BSN_API int bsn_ep_create(struct bsn_qp *qp, const struct bsn_address *peer,
			  const struct bsn_connect_attr *attr, void *user, struct bsn_ep **ep);

/**
 * bsn_ep_create_reply - an endpoint for the sender of a UD message
 * @c: the message's completion
 * @grh: the first BSN_GRH_SIZE bytes of its buffer; read if BSN_C_GRH is set
 */
BSN_API int bsn_ep_create_reply(struct bsn_qp *qp, const struct bsn_completion *c, const void *grh,
				const struct bsn_connect_attr *attr, void *user,
				struct bsn_ep **ep);
/** bsn_ep_destroy - call it after all requests to the endpoint have completed */
BSN_API int bsn_ep_destroy(struct bsn_ep *ep);
#define BSN_GRH_SIZE 40 /* before every UD message */

/* -- errors, draining, reset ------------------------------------------------------------------ */

/** struct bsn_qp_error - why a QP is in error */
struct bsn_qp_error {
	enum ibv_qp_state state;
	bool has_failed;               /* a request failed; @first is its completion */
	struct bsn_completion first;
	const char *text;              /* what its two syndromes mean; valid until the next call */
};
BSN_API int bsn_qp_error(struct bsn_qp *qp, struct bsn_qp_error *error);

/**
 * bsn_qp_fail - takes a QP to the error state: outstanding requests will be flushed
 *
 * Requests that were only appended are flushed, too. engine/doc/drain-and-flush.md says what comes
 * back when.
 */
BSN_API int bsn_qp_fail(struct bsn_qp *qp);

/**
 * bsn_qp_reset - takes a QP back to its state before bsn_qp_connect()
 *
 * Outstanding requests, and CQEs that were not polled, are dropped without completions, on both
 * paths. To get all completions, call bsn_qp_fail() first, and poll until bsn_qp_outstanding() is
 * 0.
 */
BSN_API int bsn_qp_reset(struct bsn_qp *qp);

/** struct bsn_outstanding - requests, published or only appended, that are not known to be done */
struct bsn_outstanding {
	uint32_t sends;
	uint32_t recvs;
};
BSN_API int bsn_qp_outstanding(struct bsn_qp *qp, struct bsn_outstanding *outstanding);

/**
 * bsn_qp_give_back - returns the requests that will never have a CQE: unsignaled ones after the
 * last signaled one, on a failed QP with ce_on_first_error
 *
 * Requests that are only appended stay until they are published.
 * Context: the thread that polls its CQ, while nobody posts.
 * Return: how many completions it stored, at most @n; on plain verbs 0. -EINVAL no QP.
 */
BSN_API int bsn_qp_give_back(struct bsn_qp *qp, struct bsn_completion *c, int n);

/**
 * bsn_qp_hand_over - from now on another thread posts to this QP's queues, and through its lane
 *
 * The caller orders the two threads, by a lock or a join. Without this call
 * bsn_counters.lane_posters counts the change of threads, and BSN_CHECK=1 refuses it.
 * bsn_cq_hand_over() does the same for a CQ's poller, which only BSN_CHECK=1 checks.
 */
BSN_API int bsn_qp_hand_over(struct bsn_qp *qp);
BSN_API int bsn_cq_hand_over(struct bsn_cq *cq);

/** struct bsn_counters - of a QP; modulo 2^32 */
struct bsn_counters {
	uint32_t blueflame;  /* blocks of 64 B published by BlueFlame */
	uint32_t doorbells;  /* 8-byte doorbells */
	uint32_t send_full;  /* posts refused: the queue was full */
	uint32_t recv_full;
	uint64_t dropped_cqes; /* on its CQs: CQEs of queues already destroyed */
	/*
	 * Direct path: how often the lane's posting thread changed without a hand-over. If this
	 * grows, two threads post through a lane without a lock, and their BlueFlame copies may
	 * mix: bsn_lane_create().
	 */
	uint32_t lane_posters;
};
BSN_API int bsn_qp_counters(const struct bsn_qp *qp, struct bsn_counters *counters);

BSN_HEADER_END

#endif
