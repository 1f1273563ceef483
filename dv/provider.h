/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The seam to rdma-core's mlx5 provider: every mlx5dv call of the library is in provider.c and
 * provider_handshake.c, and libibverbs' three ways of reporting errors (errno with NULL, positive
 * errno, -1 with errno) become one here: 0 or -errno.
 */
#ifndef DV_PROVIDER_H
#define DV_PROVIDER_H

#include <infiniband/verbs.h>

#include "bsn_cq.h"
#include "bsn_wqe.h"

/* -errno of a libibverbs call that returned a pointer, or an int. */
int provider_error_of_pointer(const void *object);
int provider_error_of_int(int result);

/* The same of a request, which bsn_error_text() then tells of. */
int provider_refused(int result);

/*
 * The same of an object or a command of DevX: without a DevX context the kernel knows none,
 * -EOPNOTSUPP.
 */
int provider_error_of_devx(int err);

/* The number by which commands name a protection domain. */
int provider_pd_number(struct ibv_pd *pd, uint32_t *number);

/* Whether libmlx5 drives the device; and opens it so that mlx5dv calls are allowed. */
bool provider_is_mlx5(struct ibv_device *device);
int provider_open(struct ibv_device *device, bool mlx5, struct ibv_context **context);

/*
 * Why libmlx5 must not use BlueFlame, or only for inline data; NULL: it may. It reads these
 * variables of the environment when it opens a device.
 */
const char *provider_no_blueflame(void);

/* Why libmlx5 asks for no data in CQEs, whatever its user wants; NULL: it may. */
const char *provider_no_scatter(void);

/*
 * A CQ that is mapped, its CQEs pre-filled so that one compare tells whose they are. @entries is
 * what may be outstanding; the ring has a chunk more, which the consumer record may lag.
 */
struct provider_cq_attr {
	uint32_t entries, cqe_size;
	uint32_t format; /* of compression, MLX5DV_CQE_RES_FORMAT_*; 0: none */
	bool is_padded;
	bool ignores_overrun;
	bool has_stamps,
		has_real_time; /* CQEs' timestamps matter; they are of the real-time clock */
	struct ibv_comp_channel *channel;
	void *context;
};
int provider_cq_create(struct ibv_context *context, const struct provider_cq_attr *attr,
		       struct ibv_cq **cq);

/*
 * Whether the device can stamp CQEs by its real-time clock. Such a stamp has seconds in its high
 * half; this makes it nanoseconds.
 */
bool provider_has_real_time(struct ibv_context *context);
static inline uint64_t provider_ns_of_real_time(uint64_t stamp)
{
	return (stamp >> 32) * 1000000000 + (uint32_t)stamp;
}

/* Whether the kernel tells how ticks of the free-running clock become nanoseconds since 1970. */
bool provider_has_clock_info(struct ibv_context *context);
/* No system call. 0: the clock cannot be read. */
uint64_t provider_ns_of_ticks(struct ibv_context *context, uint64_t ticks);

/* What CQEs the device can write: @formats of compression, MLX5DV_CQE_RES_FORMAT_*. */
struct provider_cqe_caps {
	uint32_t formats;
	bool compresses_128, pads_128;
};
void provider_query_cqes(struct ibv_context *context, struct provider_cqe_caps *caps);

/*
 * Maps a CQ that no QP has used yet; -EBUSY, and nothing of it was touched, where one has.
 * @spare: CQEs that will never be needed (0: none known).
 */
int provider_cq_map(struct ibv_cq *cq, uint32_t spare, struct bsn_cq *hot);

/* Whether provider_cq_map() was called of this CQ: libmlx5 leaves other owner bits in new CQEs. */
bool provider_cq_was_mapped(struct ibv_cq *cq);

/* What comes inside CQEs (scatter to CQE); results only together with messages. */
enum provider_inline { PROVIDER_INLINE_NONE, PROVIDER_INLINE_RECV, PROVIDER_INLINE_RECV_RESP };

/*
 * Streams of a DCI, both log2: how many work at once, and of how many failed ones the last fails
 * the DCI. As the device has them at most; false: it has none, or nobody tells.
 */
struct provider_streams {
	uint8_t log_count, log_failed;
};
bool provider_query_streams(struct ibv_context *context, struct provider_streams *most);

/* A stream that failed, and of which nothing is outstanding, takes requests again. */
int provider_stream_reset(struct ibv_qp *dci, uint16_t stream);

/*
 * A QP of the direct path: with room in its send queue for the operations that @send_ops names,
 * IBV_QP_EX_WITH_*: libmlx5 allows for whatever it knows where none are named.
 * @streams: of a DCI; NULL: it has none.
 */
int provider_qp_create(struct ibv_context *context, struct ibv_pd *pd,
		       const struct ibv_qp_init_attr *attr, uint64_t send_ops,
		       enum provider_inline in_cqe, const struct provider_streams *streams,
		       struct ibv_qp **qp);

/* A DCT: receives for its messages are an SRQ's. Its number is there from RTR on, as qp_num. */
int provider_dct_create(struct ibv_context *context, const struct ibv_qp_init_attr *attr,
			struct ibv_pd *pd, uint64_t access_key, struct ibv_qp **dct);

/* What mlx5dv tells of a QP's queues. */
struct provider_qp {
	uint8_t *sq_ring, *rq_ring;
	uint32_t sq_count_bb, rq_count, rq_stride_bytes;
	struct bsn_be32 *record; /* RQ, SQ */
	uint8_t *reg;
	uint32_t blueflame_bytes; /* of one buffer; 0: none */
};
int provider_qp_map(struct ibv_qp *qp, struct provider_qp *map);

struct provider_srq {
	uint8_t *ring;
	uint32_t number;
	uint32_t stride_bytes;
	uint16_t head, tail; /* first and last of the free list */
	struct bsn_be32 *record;
};
int provider_srq_map(struct ibv_srq *srq, struct provider_srq *map);

/* What the firmware says the device can do; -EOPNOTSUPP where DevX is not to be had. */
struct provider_caps {
	uint32_t max_indirection;  /* levels of mkeys over mkeys; 0: it has none */
	uint64_t max_translations; /* of one */
	bool has_repeat;           /* repeat blocks */
	bool has_pages;            /* translations of one size */
	bool has_atomics;          /* UMR may give the right to atomics */
	enum bsn_fence fence;      /* the fence by which the next use on the same queue must wait */
	uint32_t masked_sizes;     /* of atomics under masks: 4, 8, or both together */
	bool has_big_endian_results; /* of atomics; else the host's order */
	bool has_compact_av;         /* address vectors of 16 bytes, where no GRH is wanted */
	uint32_t max_copy;           /* bytes that the NIC copies at once; 0: it does not */
};
int provider_query_caps(struct ibv_context *context, struct provider_caps *caps);

/*
 * An mkey that spans nothing yet, and that UMR may change. @translations: a multiple of 4;
 * @log_page_bytes: what each of them spans (KSM), 0: each says it (KLM). @peers_may_invalidate: by
 *	SEND_INVAL.
 */
struct provider_mkey_attr {
	uint32_t translations;
	uint8_t log_page_bytes;
	bool peers_may_invalidate;
};
int provider_mkey_create(struct ibv_pd *pd, const struct provider_mkey_attr *attr, void **handle,
			 uint32_t *key);
void provider_mkey_destroy(void *handle);

/*
 * Connections of the process's DC initiators, as the device counts them: all, and those of them to
 * a target that was only idle for too long. false: it does not tell. No public source has such a
 * counter of a ConnectX: its targets are counted, for a whole port, in hw_counters/rx_dct_connect
 * (Linux drivers/infiniband/hw/mlx5/counters.c).
 */
struct provider_dc_connects {
	uint64_t all, again;
};
bool provider_dc_connects(const struct ibv_context *context, struct provider_dc_connects *counted);

/* The address vector of an AH, BSN_AV_UD_GRH_SIZE bytes, QPN and Q_Key not yet in it. */
int provider_ah_av(struct ibv_ah *ah, void *av);

#endif
