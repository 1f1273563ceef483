/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dynamically connected transport (DC): many peers through few queues.
 *
 * A target (DCT) is where peers send: its messages take receives from an SRQ, its memory is open to
 * whoever knows its address, which holds an access key. An initiator (DCI) is a QP of type
 * BSN_QP_DC: it receives nothing, and each of its requests goes to one endpoint. The device connects
 * it to the target of a request, and disconnects it from the one before:
 *
 *	bsn_dct_create(device, &(struct bsn_dct_attr){ .cq = cq, .srq = srq, .access_key = key }, &dct);
 *	bsn_dct_address(dct, &mine);   exchange(&mine, peers);
 *
 *	bsn_qp_create(device, &(struct bsn_qp_attr){ .type = BSN_QP_DC, .cq = cq }, &dci);
 *	bsn_qp_connect(dci, NULL, NULL);
 *	bsn_ep_create(dci, &peers[i], NULL, user, &ep[i]);
 *	bsn_write(ep[i], &local, &remote, id, BSN_F_SIGNALED | BSN_F_RING);
 *
 * Requests of one DCI are executed in order, and each change of target costs a disconnection and a
 * connection. If one fails, the DCI is in error, and what was posted after it is flushed, to whichever
 * peer.
 *
 * Rules of parameters, results and threads are those of bsn.h. On plain verbs there is no DC:
 * -EOPNOTSUPP. bsn_device_info() has the feature "dc", and says why a device has none.
 */
#ifndef BSN_DC_H
#define BSN_DC_H

#include "bsn.h"

BSN_HEADER_BEGIN

/** struct bsn_dct - a target */
struct bsn_dct;

/**
 * struct bsn_dct_attr
 * @cq: where its messages complete; the SRQ's depth of its entries is this target's
 * @srq: whose receives they take
 * @access_key: what initiators must know. A request with another key is not answered, and fails at
 *	its initiator once retries are used up
 * @user: comes back in its completions
 * @connect: of its acknowledgements: gid_index, hop_limit, traffic_class, sl; mtu, 0: the port's;
 *	min_rnr_timer. Its other fields are not read
 */
struct bsn_dct_attr {
	struct bsn_cq *cq;
	struct bsn_rq *srq;
	struct bsn_pd *pd;
	uint64_t access_key;
	void *user;
	struct bsn_connect_attr connect;
};

/**
 * bsn_dct_create - a target that takes requests from now on
 *
 * A target never fails: a request that it refuses fails at its initiator.
 * Return: -EOPNOTSUPP no DC here, and why; -EINVAL no CQ or SRQ, or of another device; -ENOSPC the CQ
 * has no room for what the SRQ may receive.
 */
BSN_API int bsn_dct_create(struct bsn_device *device, const struct bsn_dct_attr *attr,
			   struct bsn_dct **dct);

/**
 * bsn_dct_destroy - initiators that use it learn of it: their requests are not answered any more
 *
 * Context: as bsn_qp_destroy(). Completions not yet polled are dropped, and their receives are the
 * SRQ's again.
 */
BSN_API int bsn_dct_destroy(struct bsn_dct *dct);

/** bsn_dct_address - what initiators need to know, for bsn_ep_create(): the access key is in it */
BSN_API int bsn_dct_address(const struct bsn_dct *dct, struct bsn_address *address);

BSN_API uint32_t bsn_dct_number(const struct bsn_dct *dct);

BSN_HEADER_END

#endif
