/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bunsen's control path: devices, memory, queues, connections. The data path, which this header
 * brings along, is bsn_post.h.
 *
 * Rules of every function here:
 *
 *	Return    0 or a negative errno; the out parameter comes last and is untouched on failure.
 *	          bsn_error_text() then says, in words, what to do about it.
 *	NULL      an object that must be there and is NULL: -EINVAL. Attributes may be NULL, and
 *	          each of their fields may be 0: that is the default.
 *	Context   may allocate, block and make system calls. Objects of one device may be created and
 *	          destroyed by different threads at once; one object is used by one thread at a time.
 *	Destroy   refuses with -EBUSY, and changes nothing, while something still uses the object;
 *	          NULL is destroyed in silence. What belongs to a device that vanished can always be
 *	          destroyed; what libibverbs keeps of it (RDMAV_ALLOW_DISASSOC_DESTROY) goes with the
 *	          process.
 *	Fork      a child must not use what its parent opened; it may open the device anew.
 *
 * Threads on the data path: a send queue has one poster, a receive queue one poster, a CQ one
 * poller; these may be three threads. Creating, destroying and resetting a QP is the business of
 * its CQ's poller thread, or of a moment at which nobody polls.
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
	BSN_PATH_AUTO,  /* the best there is; or BSN_PATH=direct|verbs in the environment */
	BSN_PATH_DIRECT, /* mlx5: queues written by hand */
	BSN_PATH_VERBS, /* ibv_wr_* where the provider has it, else ibv_post_send() */
};

/**
 * bsn_error_text - why the last failed call of this thread failed, and what to do about it
 *
 * Posts and polls count, too. The text stays until another call fails.
 * Return: never NULL; "" where nothing has failed yet.
 */
BSN_API const char *bsn_error_text(void);

/* -- devices ---------------------------------------------------------------------------------- */

/**
 * struct bsn_device_attr - how a device is opened
 * @log: called with each message of note; the library prints nothing
 * @gid_index: the GID that addresses of this device have, and that its connections use by default
 */
struct bsn_device_attr {
	enum bsn_path path;
	enum bsn_store store; /* BlueFlame store; or BSN_STORE=8x8|4x16|… in the environment */
	uint8_t port;         /* 0: the first that is active */
	bool list_queues;     /* its queues can be read from outside: bsn_registry.h; or BSN_REGISTRY=1 */
	void (*log)(void *arg, const char *text);
	void *log_arg;
	int gid_index;        /* 0: RoCE v2 over IPv4, if there is any; unless has_gid_index */
	bool has_gid_index;   /* gid_index is meant, also where it is 0 */
};

/**
 * struct bsn_feature - something that not every device can do; @why_not is NULL where this one can
 */
struct bsn_feature {
	const char *name;
	const char *why_not;
};

#define BSN_FEATURES_MAX 24

/**
 * struct bsn_device_info - what was found out about a device
 * @store_name: of @store: "8x8", "4x16", …
 * @verbs: libibverbs' context of the device, for what Bunsen does not do
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
	uint8_t gid_index; /* what connections use by default */
	uint16_t lid;
	uint8_t gid[16];
	uint32_t active_mtu; /* bytes */
	uint32_t max_qp, max_cq, max_mr, max_srq;
	uint32_t max_send_wr; /* requests of the default length; longer ones take more room */
	uint32_t max_sge, max_cqe;
	uint32_t max_rd_atomic; /* READs and atomics outstanding, as initiator and as target */
	uint32_t max_dc_streams;        /* of a DC pool's initiator, 64 at most; 0: the feature "dc-streams" says why */
	uint32_t max_dc_failed_streams; /* of these, that may have failed while the others go on */
	bool atomics_are_big_endian; /* results of 8 bytes of atomics; else in the host's order */
	uint32_t feature_count;
	struct bsn_feature features[BSN_FEATURES_MAX];
};

BSN_API int bsn_device_open_layout(const char *name, const struct bsn_device_attr *attr,
				   uint32_t layout_version, struct bsn_device **device);

/**
 * bsn_device_open - opens a device
 * @name: "mlx5_0"; NULL: BSN_DEVICE of the environment, or the first mlx5 device, or the first
 *	verbs device
 * Return: 0; -ENODEV none, or none of that name; -EACCES no permission on its files; -ENOTSUP the
 * direct path was asked for and cannot be had; -EPROTO the headers are those of a
 * later library.
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

/** bsn_device_info - lives as long as the device */
BSN_API const struct bsn_device_info *bsn_device_info(const struct bsn_device *device);

/** enum bsn_event_object - what an event is about */
enum bsn_event_object { BSN_EVENT_DEVICE, BSN_EVENT_PORT, BSN_EVENT_CQ, BSN_EVENT_QP, BSN_EVENT_SRQ };

/**
 * struct bsn_event - an asynchronous event
 * @type: enum ibv_event_type; @name is libibverbs' name of it ("CQ error"), and lives for ever
 */
struct bsn_event {
	enum bsn_event_object object;
	int type;
	uint8_t port;
	struct bsn_cq *cq; /* NULL where the object is not one of Bunsen's */
	struct bsn_qp *qp;
	struct bsn_rq *srq;
	const char *name;
};

/**
 * bsn_device_get_event - takes one event; never blocks
 *
 * The application must call this: a dead CQ or device is found out here, and polls report it from
 * then on.
 * Return: 0; -EAGAIN none; -EIO the device is gone, and there will be no more.
 */
BSN_API int bsn_device_get_event(struct bsn_device *device, struct bsn_event *event);

/* -- lanes and protection domains ------------------------------------------------------------- */

/**
 * struct bsn_lane_attr - @is_shared: posted to by several threads: 8-byte doorbells under a lock
 */
struct bsn_lane_attr {
	bool is_shared;
};

/**
 * bsn_lane_create - a doorbell register for one thread
 *
 * Where the device has run out of such registers, it gives one without write combining, or a shared
 * one; the log says so.
 */
BSN_API int bsn_lane_create(struct bsn_device *device, const struct bsn_lane_attr *attr,
			    struct bsn_lane **lane);
BSN_API int bsn_lane_destroy(struct bsn_lane *lane);

BSN_API int bsn_pd_create(struct bsn_device *device, struct bsn_pd **pd);
BSN_API int bsn_pd_destroy(struct bsn_pd *pd);

/* -- memory ----------------------------------------------------------------------------------- */

/**
 * struct bsn_mr - registered memory
 * @data: where this process has it; NULL where it does not, as of device memory
 * @addr: its first byte in requests: that of @data, unless the region has an IOVA or is zero-based
 */
struct bsn_mr {
	void *data;
	uint64_t addr;
	uint64_t length; /* bytes */
	uint32_t lkey;
	uint32_t rkey;
};

/** bsn_sge_of - @length bytes of registered memory from byte @offset on, as local memory */
BSN_ALWAYS_INLINE struct bsn_sge bsn_sge_of(const struct bsn_mr *mr, uint64_t offset,
					    uint32_t length)
{
	return (struct bsn_sge){ mr->addr + offset, length, mr->lkey };
}

/** bsn_remote_of - registered memory from byte @offset on, as a peer names it */
BSN_ALWAYS_INLINE struct bsn_remote bsn_remote_of(const struct bsn_mr *mr, uint64_t offset)
{
	return (struct bsn_remote){ mr->addr + offset, mr->rkey };
}

/**
 * struct bsn_mr_attr - how memory is registered
 * @access: IBV_ACCESS_*; 0: everything a peer may do, local write included
 * @iova: with @has_iova, the address of the first byte in requests; 0: the region is zero-based. It
 *	has the same offset in a page as the memory
 */
struct bsn_mr_attr {
	struct bsn_pd *pd;
	int access;
	bool is_read_only; /* then access 0 means no rights but local reads */
	bool is_on_demand; /* neither pinned nor charged, and paged in as requests need it */
	bool is_relaxed;   /* writes and reads may pass each other: no polling on the last byte */
	bool is_physical;  /* by physical addresses: always refused, with the kernel's reason */
	bool has_iova;
	uint64_t iova;
	const struct bsn_mem_attr *mem; /* of bsn_buf_alloc(): where its bytes come from (bsn_mem.h) */
};

/**
 * bsn_mr_register - lets the device reach @length bytes at @addr
 *
 * @addr NULL and @length SIZE_MAX, on demand and without an IOVA, are all addresses of the process
 *	(an implicit region): nothing is pinned, and a request that meets a page which is not mapped
 *	fails. Other kinds of regions are in bsn_mem.h.
 * Return: -ENOMEM where RLIMIT_MEMLOCK is too low; -EFAULT where they are not mapped; -EINVAL an
 * IOVA at another place in its page; -EOPNOTSUPP on demand, and the device cannot; or no implicit
 * regions.
 */
BSN_API int bsn_mr_register(struct bsn_device *device, void *addr, size_t length,
			    const struct bsn_mr_attr *attr, struct bsn_mr **mr);
BSN_API int bsn_mr_deregister(struct bsn_mr *mr);

/**
 * bsn_buf_alloc - memory, aligned to a page, zeroed and registered; a bsn_mr that owns its bytes
 *
 * On the device's NUMA node, and on huge pages where there are some: bsn_mem.h says in which order
 * sources are tried, and bsn_buf_info() what was got. Only the pages that @length needs are
 * registered.
 * Return: -ENOMEM no memory, or RLIMIT_MEMLOCK is too low; else what the source says.
 */
BSN_API int bsn_buf_alloc(struct bsn_device *device, size_t length, const struct bsn_mr_attr *attr,
			  struct bsn_mr **buf);
BSN_API int bsn_buf_free(struct bsn_mr *buf);

/* -- completion queues ------------------------------------------------------------------------ */

/** bsn_channel_create - wakes threads that wait for completions of any number of CQs */
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
 * enum bsn_cqe_compression - what each CQE of a session has of its own, beside its length
 *
 * Under load the device writes several CQEs of one queue as a session, in 8 bytes each; the poller
 * makes them whole again. All other fields, the timestamp included, are those of the first CQE.
 * Sessions of requests are the same in every format.
 */
enum bsn_cqe_compression {
	BSN_CQES_WHOLE,         /* no sessions */
	BSN_CQES_BY_HASH,       /* of receives: the RSS hash */
	BSN_CQES_BY_CHECKSUM,   /* the checksum */
	BSN_CQES_BY_STRIDE_INDEX, /* checksum and stride index, which is the WQE's counter */
};

/**
 * enum bsn_timestamps - what bsn_completion.timestamp is
 *
 * The device says it in each CQE. A completion without one, or of a failure, has 0. On plain verbs
 * a completion that waited until a QP or SRQ was destroyed has 0, too.
 */
enum bsn_timestamps {
	BSN_TIMESTAMPS_NONE,      /* nothing is written there */
	BSN_TIMESTAMPS_RAW,       /* ticks of the device's free-running clock */
	BSN_TIMESTAMPS_NS,        /* those as nanoseconds since 1970, by what the kernel knows of that clock */
	BSN_TIMESTAMPS_REAL_TIME, /* nanoseconds since 1970, by a clock of the device's that PTP sets */
};

/**
 * bsn_device_clock - the time on the device, as its CQEs have it
 * @as: BSN_TIMESTAMPS_RAW or BSN_TIMESTAMPS_NS
 *
 * Reads the device's free-running clock over the bus, which takes some hundred nanoseconds. Its two
 * halves are read again until they fit together.
 * Context: any thread. Return: 0; -EOPNOTSUPP its clock cannot be read, or ticks are not known to
 * be nanoseconds; or the real-time clock, which no program can read; -EINVAL.
 */
BSN_API int bsn_device_clock(struct bsn_device *device, enum bsn_timestamps as, uint64_t *now);

/**
 * struct bsn_cq_attr - @entries: what all queues that complete here may have outstanding
 *
 * That is each receive depth, each SRQ once, and each send depth times the basic blocks (64 B) of
 * the longest request that the QP was made for: one for one SGE, or up to 28 bytes inline (UD:
 * two).
 *
 * @ignores_overrun: the device does not check how far the poller came, so the poller publishes that
 *	only once a lap, and before it is to be woken. This is safe, since every request has an
 *	entry of its own, and gives it back when it is polled. If a QP was destroyed or reset with
 *	completions in the CQ, calls that need their entries return -EBUSY until they are polled.
 *	Only on the direct path, and not for receives of an SRQ.
 */
struct bsn_cq_attr {
	uint32_t entries;  /* 0: 512, which two QPs take that have everything by default */
	uint32_t cqe_size; /* 0: 64; or 128; on the verbs path the provider chooses */
	enum bsn_cqe_compression compression; /* the direct path's only */
	bool is_padded; /* CQEs of 128 B: each is written whole, padding included; likewise */
	struct bsn_channel *channel;
	struct bsn_lane *lane; /* of QPs here that name none; NULL: its own, made with the first QP */
	void *user;
	bool is_shared; /* several threads poll, each under a lock; and any thread may destroy or reset its QPs */
	enum bsn_timestamps timestamps; /* polls of a CQ with timestamps cost more */
	bool ignores_overrun;
};
BSN_API int bsn_cq_create(struct bsn_device *device, const struct bsn_cq_attr *attr,
			  struct bsn_cq **cq);
BSN_API int bsn_cq_destroy(struct bsn_cq *cq);

/**
 * bsn_cq_resize - changes the number of entries; completions not yet polled stay
 *
 * Context: the poller's thread. Return: 0; -EINVAL no entries, or more than the device takes;
 * -ENOSPC fewer than its queues may need, or hold now; -EOPNOTSUPP the provider does not resize, or
 * this is the direct path: libmlx5 would copy CQEs from an index that only libmlx5 keeps, and
 * report success.
 */
BSN_API int bsn_cq_resize(struct bsn_cq *cq, uint32_t entries);
BSN_API void *bsn_cq_user(const struct bsn_cq *cq);

/** bsn_cq_request - an event at the next completion, or only at the next solicited or failed one */
BSN_API int bsn_cq_request(struct bsn_cq *cq, bool solicited_only);

/**
 * bsn_cq_moderate - one event for several completions
 * @count: an event once so many came after the request; 0: no count
 * @period_us: or so many microseconds after the first of them; 0: no period
 *
 * Both 0, the default: an event for the first completion. mlx5 takes periods up to 4095.
 * Context: the control path. Return: 0; -EINVAL a value of more than 16 bits, or a count without a
 * period (the last completions would never raise an event); -EOPNOTSUPP the device or its driver
 * does not moderate.
 */
BSN_API int bsn_cq_moderate(struct bsn_cq *cq, uint32_t count, uint32_t period_us);

/**
 * bsn_cq_event_taken - the application took an event of an attached CQ from its own channel
 *
 * bsn_channel_get() does this for Bunsen's channels. Without it the next bsn_cq_request() is void:
 * the device counts the events that it raised.
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
 * @is_on_demand: receives may name memory of IBV_ACCESS_ON_DEMAND. The poll posts a receive that
 *	met a page fault again; posts take a lock for that. Without it such a receive completes with
 *	IBV_WC_REM_ABORT_ERR (vendor syndrome 0x93), the QP lives, and the application posts the
 *	receive again.
 * @xrcd: its domain, of an SRQ that XRC requests name (bsn_xrc.h); no QP of bsn_qp_create() has it
 * @cq: of such an SRQ: the CQ of its receives, of which it takes @recv_depth entries. A CQ has only
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

/** bsn_srq_set_limit - an event once fewer than @limit receives are left; 0: none */
BSN_API int bsn_srq_set_limit(struct bsn_rq *srq, uint32_t limit);

/**
 * struct bsn_qp_attr
 *
 * Inline receive: messages of up to @max_inline_recv bytes come inside their CQE, and so do results
 * of READs and atomics of up to @max_inline_resp. Half a CQE has room: 32 bytes of 64, 64 of 128
 * (cqe_size of struct bsn_cq_attr). Such a QP's completions have BSN_C_DATA: bsn_completion.data
 * points to the bytes wherever they lie, in the CQE (BSN_C_IN_CQE) or where the first SGE begins.
 * The receive is used up either way, and needs as many bytes as the message has. Longer messages
 * are in memory, at the addresses of the SGEs; where those are no addresses of the program (an
 * IOVA, a zero-based region, an mkey of a layout), neither is @data. The result of an atomic has
 * the byte order that it would have in memory.
 *
 * On the direct path of RC and UC; results on RC, and only where every request completes
 * (signal_all), since one that does not would lose its result, and only with max_inline_recv
 * (mlx5_ib has one switch). Otherwise it is off, and Bunsen asks for it to be off: libmlx5 by
 * itself asks for it for every QP, and copies.
 */
struct bsn_qp_attr {
	enum bsn_qp_type type;
	struct bsn_cq *cq;      /* for both directions */
	struct bsn_cq *recv_cq; /* NULL: @cq */
	struct bsn_rq *srq;
	struct bsn_pd *pd;
	struct bsn_lane *lane;  /* NULL: the lane of @cq */
	uint32_t send_depth;    /* requests; 0: 128, UD and DC 64 */
	uint32_t recv_depth;    /* 0: 128; with an SRQ none */
	uint32_t max_send_sge;  /* 0: 1 */
	uint32_t max_recv_sge;  /* 0: 1 */
	uint32_t max_inline;    /* bytes; 0: what fits the slots of other requests */
	uint32_t max_inline_recv; /* bytes; 0: messages come in memory */
	uint32_t max_inline_resp; /* bytes; 0: what READs and atomics bring comes in memory */
	int signal_every;       /* unsignaled posts until the library signals; 0: a quarter of the depth; -1: never */
	bool signal_all;        /* every request completes, signaled or not */
	bool ce_on_first_error; /* unsignaled work reports only the queue's first error; its ids come
				 * back by bsn_poll(), the last of them by bsn_qp_give_back() */
	void *user;             /* of the endpoint and the receive queue */
};
BSN_API int bsn_qp_create(struct bsn_device *device, const struct bsn_qp_attr *attr,
			  struct bsn_qp **qp);
BSN_API int bsn_qp_destroy(struct bsn_qp *qp);

/** struct bsn_attach_attr */
struct bsn_attach_attr {
	bool register_is_ours; /* the caller's word: nobody else posts through this QP's register */
	bool signal_all;       /* the QP was made with sq_sig_all, on a provider that does not tell */
	uint32_t send_depth; /* requests that may be outstanding; 0: what max_send_wr blocks take */
	void *user;
};

/**
 * bsn_qp_attach - a QP, with its CQs, that the application made by verbs or rdma_cm
 * @qp: in any state, before its first post; from here on no ibv_* data verb may touch it or its CQs
 *
 * All QPs of a CQ are attached, with the same promise, before the first of them is posted to.
 * Without @register_is_ours, and on providers other than mlx5, the QP runs on the verbs path. On
 * the direct path as many basic blocks (64 B of WQE) as max_send_wr may be outstanding, or one
 * longest request: the CQ was made for that much. bsn_qp_info() tells how many longest requests
 * that is. If the CQ has room for more, say so by @send_depth, up to max_send_wr.
 *
 * bsn_qp_destroy() detaches, and the verbs objects live on. Take the QP to RESET before it is used
 * by verbs again, so that nothing of ours comes back. On the direct path libmlx5 does not know what
 * was polled of its CQs: they can be destroyed, after the QP, or serve QPs that are attached later.
 * Bunsen frees what it keeps of them with the device, or by bsn_cq_destroy() of what bsn_qp_info()
 * says.
 *
 * Return: -EBUSY it was posted to, or is attached, or its CQ has completions or was polled (Bunsen
 * can see posts of mlx5 QPs, and polls on the direct path); -EMLINK the CQ serves a QP that was
 * attached with another promise; -EOPNOTSUPP not RC, UC, UD or an XRC initiator, with an SRQ, or
 * without a send queue; -EINVAL it is of another device's context, or @send_depth is more than
 * max_send_wr or the CQ's entries.
 */
BSN_API int bsn_qp_attach(struct bsn_device *device, struct ibv_qp *qp,
			  const struct bsn_attach_attr *attr, struct bsn_qp **out);

/**
 * bsn_device_attach - the device of a context that the application opened; see bsn_qp_attach()
 *
 * The application closes the context, after bsn_device_close(). Its asynchronous events have
 * one reader: bsn_device_get_event(), or the application by itself.
 */
BSN_API int bsn_device_attach(struct ibv_context *context, const struct bsn_device_attr *attr,
			      struct bsn_device **device);

/*
 * Of a QP with many peers (UD, DC, XRC): an endpoint that refuses every request; see
 * bsn_ep_create().
 */
BSN_API struct bsn_ep *bsn_qp_ep(struct bsn_qp *qp);
BSN_API struct bsn_rq *bsn_qp_rq(struct bsn_qp *qp);

/**
 * struct bsn_qp_info - what a QP is made of, and what was granted: more than was asked for, maybe
 * @cq: of its requests, and of its receives unless @recv_cq is another one; also of an attached QP,
 *	to be polled
 * @verbs: libibverbs' QP; NULL: a command of the driver made it (DC with a full handshake)
 * @number: its QPN
 * @send_depth: requests that may be outstanding, however long
 * @short_sends: the same of requests of one basic block (64 B)
 * @max_inline_recv: bytes of a message that may come in its CQE; 0: none do. @max_inline_resp: of a
 *	result
 */
struct bsn_qp_info {
	struct bsn_cq *cq, *recv_cq;
	struct ibv_qp *verbs;
	uint32_t number;
	uint32_t send_depth, recv_depth, max_send_sge, max_recv_sge, max_inline;
	uint32_t short_sends;
	uint32_t max_inline_recv, max_inline_resp;
};

/** bsn_qp_info - lives as long as the QP, and stays as it is; NULL: no QP */
BSN_API const struct bsn_qp_info *bsn_qp_info(const struct bsn_qp *qp);

/** struct bsn_address - what a peer needs to know; travels as plain bytes */
struct bsn_address {
	uint8_t bytes[64];
};
BSN_API int bsn_qp_address(const struct bsn_qp *qp, struct bsn_address *address);

/** struct bsn_connect_attr - each with a default that suits most */
struct bsn_connect_attr {
	uint32_t mtu;            /* bytes; 0: the smaller one of both ports */
	int gid_index;           /* 0: that of struct bsn_device_info, unless has_gid_index */
	bool has_gid_index;      /* gid_index is meant, also where it is 0 */
	uint8_t sl;
	uint8_t traffic_class;
	uint8_t hop_limit;       /* 0: 64 */
	uint8_t timeout;         /* 4.096 µs << timeout; 0: 14 */
	uint8_t retry_count;     /* 0: 7; BSN_NO_RETRY: none */
	uint8_t rnr_retry;       /* 0: 7, for ever; BSN_NO_RETRY: none */
	uint8_t min_rnr_timer;   /* 0: 12, 640 µs */
	uint8_t max_rd_atomic;      /* READs and atomics outstanding as initiator; 0: what both can, to 16 */
	uint8_t max_dest_rd_atomic; /* as target; 0: likewise */
	uint32_t qkey;           /* UD; 0: 0x11111111 */
};
#define BSN_NO_RETRY 0xff

/**
 * bsn_qp_init - RESET to INIT: receives may be posted from here on
 *
 * A QP of bsn_qp_create() is in INIT already, also after bsn_qp_reset(). An attached one is in
 * whichever state the application took it to.
 * Return: 0, also where it is in INIT; -EINVAL it is connected, or in error: bsn_qp_reset() first.
 */
BSN_API int bsn_qp_init(struct bsn_qp *qp);

/**
 * bsn_qp_ready_to_receive - INIT to RTR, where the QP takes what the peer sends; half of
 * bsn_qp_connect()
 *
 * For programs that must know that both ends can receive before either sends.
 * Return: as bsn_qp_connect().
 */
BSN_API int bsn_qp_ready_to_receive(struct bsn_qp *qp, const struct bsn_address *peer,
				    const struct bsn_connect_attr *attr);

/** bsn_qp_ready_to_send - RTR to RTS, the other half; with the same attributes */
BSN_API int bsn_qp_ready_to_send(struct bsn_qp *qp, const struct bsn_connect_attr *attr);

/**
 * bsn_qp_connect - brings a QP up; RC, UC and XRC: to @peer. UD and DC: @peer is NULL
 *
 * The two ends have to agree on mtu, PSNs, partition and kind of GID, and neither may have more
 * READs outstanding than the other takes. By default, and with addresses of this connection, they
 * do. If not, nothing tells before the first request that it concerns: bsn_qp_connect(3) has what
 * each disagreement looks like, softcx(1) the sources, and softcx does the same.
 * Return: -EPROTO an address of another version, transport, link layer or InfiniBand subnet, or no
 * address at all; -ENETDOWN this port is not active, and the peer's is another; -EINVAL an
 * attribute that is out of range (the text names it), or a QP that is connected already:
 * bsn_qp_reset() first.
 */
BSN_API int bsn_qp_connect(struct bsn_qp *qp, const struct bsn_address *peer,
			   const struct bsn_connect_attr *attr);

/**
 * bsn_ep_create - an endpoint of a UD QP or DCI: the QP, or DCT, of @peer; XRC: bsn_xrc_ep_create()
 */
BSN_API int bsn_ep_create(struct bsn_qp *qp, const struct bsn_address *peer,
			  const struct bsn_connect_attr *attr, void *user, struct bsn_ep **ep);

/**
 * bsn_ep_create_reply - an endpoint of the sender of a UD message
 * @c: its completion
 * @grh: the first BSN_GRH_SIZE bytes of the buffer it came into; read where BSN_C_GRH is set
 */
BSN_API int bsn_ep_create_reply(struct bsn_qp *qp, const struct bsn_completion *c, const void *grh,
				const struct bsn_connect_attr *attr, void *user, struct bsn_ep **ep);
/** bsn_ep_destroy - after everything that was posted through it has come back */
BSN_API int bsn_ep_destroy(struct bsn_ep *ep);
#define BSN_GRH_SIZE 40 /* before every UD message */

/* -- errors, draining, reset ------------------------------------------------------------------ */

/** struct bsn_qp_error - why a QP is in error */
struct bsn_qp_error {
	enum ibv_qp_state state;
	bool has_failed;               /* a request failed; @first is its completion */
	struct bsn_completion first;
	const char *text;              /* of the syndrome pair; until the thread asks again */
};
BSN_API int bsn_qp_error(struct bsn_qp *qp, struct bsn_qp_error *error);

/**
 * bsn_qp_fail - takes a QP to the error state: what is outstanding will be flushed
 *
 * Appended requests that were never rung are flushed, too. engine/doc/drain-and-flush.md says what
 * comes back when.
 */
BSN_API int bsn_qp_fail(struct bsn_qp *qp);

/**
 * bsn_qp_reset - back to before bsn_qp_connect()
 *
 * Outstanding requests are gone without completions, on both paths; CQEs not yet polled are
 * dropped. To have everything reported, call bsn_qp_fail() first, and poll until
 * bsn_qp_outstanding() is 0.
 */
BSN_API int bsn_qp_reset(struct bsn_qp *qp);

/** struct bsn_outstanding - requests, rung or only appended, whose fate is not known yet */
struct bsn_outstanding {
	uint32_t sends;
	uint32_t recvs;
};
BSN_API int bsn_qp_outstanding(struct bsn_qp *qp, struct bsn_outstanding *outstanding);

/**
 * bsn_qp_give_back - flushes what will never have a CQE: unsignaled requests after the last
 * signaled one, on a failed QP that reports only its first error (ce_on_first_error)
 *
 * What is only appended stays until it is rung.
 * Context: the thread that polls its CQ, while nobody posts.
 * Return: how many completions were stored, at most @n; on plain verbs 0. -EINVAL no QP.
 */
BSN_API int bsn_qp_give_back(struct bsn_qp *qp, struct bsn_completion *c, int n);

/**
 * bsn_qp_hand_over - from here on another thread posts to this QP's queues, and to its lane
 *
 * Ordering between the two threads is the caller's (a lock, a join). Without this call
 * bsn_counters.lane_posters counts the change of threads, and BSN_CHECK=1 refuses it.
 * bsn_cq_hand_over() does the same for a CQ's poller, which only BSN_CHECK=1 looks at.
 */
BSN_API int bsn_qp_hand_over(struct bsn_qp *qp);
BSN_API int bsn_cq_hand_over(struct bsn_cq *cq);

/** struct bsn_counters - of a QP; modulo 2^32 */
struct bsn_counters {
	uint32_t blueflame;  /* blocks of 64 B published by BlueFlame */
	uint32_t doorbells;  /* 8-byte doorbells */
	uint32_t send_full;  /* posts refused for want of room */
	uint32_t recv_full;
	uint64_t dropped_cqes; /* on its CQs: CQEs of queues that are gone */
	/*
	 * Direct path: how often the lane's poster was another thread than before, though no queue
	 * was handed over. If this grows, two threads post through a lane without a lock, and tear
	 * each other's copies: bsn_lane_create().
	 */
	uint32_t lane_posters;
};
BSN_API int bsn_qp_counters(const struct bsn_qp *qp, struct bsn_counters *counters);

BSN_HEADER_END

#endif
