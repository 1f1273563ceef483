/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The boundary to rdma-core's mlx5 provider. All mlx5dv calls of the library are in provider.c and
 * provider_handshake.c. They translate libibverbs' three ways of reporting errors (errno with NULL,
 * positive errno, -1 with errno) into one: 0 or -errno. What was not made is NULL.
 */
#ifndef DV_PROVIDER_H
#define DV_PROVIDER_H

#include <infiniband/verbs.h>

#include "bsn_cmd.h"
#include "bsn_wqe.h"
#include "whole.h"

/* 0 or -errno of a libibverbs call that returned a pointer, or an int. */
int provider_error_of_pointer(const void *object);
int provider_error_of_int(int result);

/* The same for a request; bsn_error_text() then says who refused it. */
int provider_refused(int result);

/* The same for an object or a command of DevX: -EOPNOTSUPP if the context has no DevX. */
int provider_error_of_devx(int err);

/* The number by which commands name a protection domain. */
int provider_pd_number(struct ibv_pd *pd, uint32_t *number);

/*
 * Makes an object by the command @in (DevX). @answer: of a refused command: its status, or 0 if the
 * command did not reach the firmware.
 */
int provider_object_create(struct ibv_context *context, const uint8_t *in, size_t bytes,
			   void **handle, uint32_t *number, struct bsn_cmd_out *answer);

/*
 * The first tells whether libmlx5 drives the device; the second opens it, with @mlx5 so that mlx5dv
 * calls are allowed.
 */
bool provider_is_mlx5(struct ibv_device *device);
int provider_open(struct ibv_device *device, bool mlx5, struct ibv_context **context);

/*
 * Why BlueFlame must not be used, or only for inline data; NULL: it may. libmlx5 reads these
 * environment variables when it opens a device.
 */
const char *provider_no_blueflame(void);

/* Why libmlx5 never asks for data in CQEs; NULL: it does if its user wants them. */
const char *provider_no_scatter(void);

/*
 * A CQ that provider_cq_map() is to map. @entries may be outstanding; the ring has spare CQEs
 * beside them, so that the consumer record may lag.
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
 * The first tells whether the device can stamp CQEs by its real-time clock. Such a stamp has
 * seconds in its high half; the second converts it to nanoseconds.
 */
bool provider_has_real_time(struct ibv_context *context);
static inline uint64_t provider_ns_of_real_time(uint64_t stamp)
{
	return (stamp >> 32) * 1000000000 + (uint32_t)stamp;
}

/*
 * Whether the kernel tells how to convert ticks of the free-running clock to nanoseconds since
 * 1970.
 */
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
 * Maps a CQ that no QP has used yet, and fills its ring so that one compare tells whether a CQE is
 * ours. -EBUSY: a QP has used it, and the CQ is untouched.
 * @spare: CQEs beyond those that may be outstanding (0: none known).
 */
int provider_cq_map(struct ibv_cq *cq, uint32_t spare, struct bsn_cq *hot);

/* Whether provider_cq_map() was called for this CQ: libmlx5 leaves other owner bits in new CQEs. */
bool provider_cq_was_mapped(struct ibv_cq *cq);

/* What comes inside CQEs (scatter to CQE); results only together with messages. */
enum provider_inline { PROVIDER_INLINE_NONE, PROVIDER_INLINE_RECV, PROVIDER_INLINE_RECV_RESP };

/*
 * Streams of a DCI, both log2: how many there are, and how many may fail until the DCI fails. The
 * function returns the device's limits; false: it has none, or does not tell.
 */
struct provider_streams {
	uint8_t log_count, log_failed;
};
bool provider_query_streams(struct ibv_context *context, struct provider_streams *most);

/* Makes a failed stream, of which nothing is outstanding, take requests again. */
int provider_stream_reset(struct ibv_qp *dci, uint16_t stream);

/*
 * A QP of the direct path. Its send queue has room for the operations of @send_ops,
 * IBV_QP_EX_WITH_*. If there are none, libmlx5 makes room for all that it knows.
 * @streams: of a DCI; NULL: none.
 */
int provider_qp_create(struct ibv_context *context, struct ibv_pd *pd,
		       const struct ibv_qp_init_attr *attr, uint64_t send_ops,
		       enum provider_inline in_cqe, const struct provider_streams *streams,
		       struct ibv_qp **qp);

/* A DCT, whose messages take receives of an SRQ. It has its number, qp_num, from RTR on. */
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

/* What the device can do, as the firmware says; -EOPNOTSUPP without DevX. */
struct provider_caps {
	uint32_t max_indirection;  /* levels of mkeys over mkeys; 0: none */
	uint64_t max_translations; /* of one */
	bool has_repeat;           /* repeat blocks */
	bool has_pages;            /* translations of one size */
	bool has_atomics;          /* UMR may give the right to atomics */
	enum bsn_fence fence;      /* which the queue's next request needs that uses the mkey */
	uint32_t masked_sizes;     /* of atomics under masks: 4, 8, or both together */
	bool has_big_endian_results; /* of atomics; else the host's order */
	bool has_compact_av;         /* 16-byte address vectors, for peers without a GRH */
	uint32_t max_copy;           /* bytes of one copy by the NIC; 0: it has none */
};
int provider_query_caps(struct ibv_context *context, struct provider_caps *caps);

/*
 * A new mkey, which spans nothing and which UMR may change. @translations: a multiple of 4;
 * @log_page_bytes: what each translation spans (KSM), or 0: each has a length (KLM).
 * @peers_may_invalidate: by SEND_INVAL.
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
 * Connects of the process's DC initiators, as the device counts them: all, and those that only
 * followed a disconnect for idleness. false: it does not tell. No public source has such a counter
 * of a ConnectX; it counts the connects that targets accept, for a whole port, in
 * hw_counters/rx_dct_connect (Linux drivers/infiniband/hw/mlx5/counters.c).
 */
struct provider_dc_connects {
	uint64_t all, again;
};
bool provider_dc_connects(const struct ibv_context *context, struct provider_dc_connects *counted);

/*
 * The ports of a bonded device (LAG) by which RC, UC and UD QPs and DCIs send
 * (mlx5dv_modify_qp_lag_port(3)). The first function returns how many a QP can choose from; 0: the
 * device or its driver does not tell. The second sets the port (1, 2, …) of a QP in RTS until its
 * state changes; -EOPNOTSUPP: the device is not bonded now.
 */
unsigned provider_lag_ports(struct ibv_context *context);
int provider_lag_port_set(struct ibv_qp *qp, unsigned port);

/* Writes the address vector of an AH, BSN_AV_UD_GRH_SIZE bytes, without QPN and Q_Key. */
int provider_ah_av(struct ibv_ah *ah, void *av);

#endif
