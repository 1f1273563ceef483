/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bunsen's control path: devices, memory, completion queues. It includes queue pairs, bsn_qp.h, and
 * the data path, bsn_post.h.
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
 * poller; these may be three threads. The CQ's poller creates, destroys and resets QPs, while
 * nobody polls the QP's other CQ; another thread may do so while nobody polls either.
 */
#ifndef BSN_H
#define BSN_H

#include "bsn_qp.h"

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
BSN_API int bsn_device_attach_layout(struct ibv_context *context,
				     const struct bsn_device_attr *attr, uint32_t layout_version,
				     struct bsn_device **device);

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

/**
 * bsn_device_attach - the device of a context that the application opened; see bsn_qp_attach()
 *
 * The application closes the context, after bsn_device_close(). Its asynchronous events have one
 * reader: bsn_device_get_event(), or the application.
 * Return: 0; -EINVAL no context; -ENOTSUP and -EPROTO as of bsn_device_open().
 */
BSN_POST_API int bsn_device_attach(struct ibv_context *context, const struct bsn_device_attr *attr,
				   struct bsn_device **device);

#ifndef BSN_NO_INLINE
BSN_POST_API int bsn_device_open(const char *name, const struct bsn_device_attr *attr,
				 struct bsn_device **device)
{
	return bsn_device_open_layout(name, attr, BSN_LAYOUT_VERSION, device);
}

BSN_POST_API int bsn_device_attach(struct ibv_context *context, const struct bsn_device_attr *attr,
				   struct bsn_device **device)
{
	return bsn_device_attach_layout(context, attr, BSN_LAYOUT_VERSION, device);
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
 * To miss no completion: bsn_cq_request(), then bsn_poll() until it returns 0, then this call.
 * Return: 0 and the CQ; -EAGAIN there is none and the fd is non-blocking, or a signal came: call
 * again; -EIO the device is gone.
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

/**
 * bsn_cq_create - creates a CQ
 * Return: 0; -EINVAL more entries than the device has, another cqe_size, is_padded with 64 bytes,
 * or a lane or channel of another device; -EOPNOTSUPP the device or path lacks an attribute: the
 * text says which; -ENOMEM no memory, or RLIMIT_MEMLOCK is too low.
 */
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

/**
 * bsn_cq_request - an event at the next completion, or at the next solicited or failed one
 *
 * As a poll does, it ends the validity of pointers into CQEs.
 */
BSN_API int bsn_cq_request(struct bsn_cq *cq, bool solicited_only);

/**
 * bsn_cq_moderate - one event for several completions
 * @count: an event after so many completions since bsn_cq_request(); 0: no count
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

BSN_HEADER_END

#endif
