/* SPDX-License-Identifier: BSD-2-Clause */
/* The direct path: hot structures over queues that libmlx5 allocated. Private to engine/direct/. */
#ifndef DIRECT_H
#define DIRECT_H

#include "../path.h"
#include "init.h"

/* cq.c */
int direct_cq_make(struct cq_object *cq);
void direct_cq_free(struct cq_object *cq);
int direct_cq_create(struct cq_object *cq, const struct bsn_cq_attr *attr);
bool direct_cq_is_known(const struct cq_object *cq);
void direct_cq_set_spare(struct cq_object *cq, uint32_t spare);
int direct_cq_request(struct cq_object *cq, bool solicited_only);

/* recv.c */
int direct_rq_make(struct bsn_qp *qp, const struct provider_qp *map);
int direct_srq_make(struct srq_object *srq);
void direct_srq_free(struct srq_object *srq);
int direct_srq_leave(struct srq_object *srq);
uint32_t direct_srq_free_slots(const struct srq_object *srq, uint32_t *slots, uint32_t max);

/* mkey.c */
int direct_mkey_create(struct bsn_pd *pd, const struct provider_mkey_attr *attr, void **handle,
		       uint32_t *key);
void direct_mkey_destroy(void *handle);

/* ep.c */
int direct_ep_make(struct ep_object *ep, uint32_t number, uint64_t key);
void direct_ep_leave(const struct ep_object *ep);

#endif
