/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Twenty posts, polls and receives as programs have them: sites.py looks at what the compiler makes
 * of them. Their names begin with what they are: of one block; of two, or with something unknown; a
 * poll; any other.
 */
#include <bsn.h>

#define RUNG (BSN_F_SIGNALED | BSN_F_RING)
#define TO   struct bsn_ep *ep, const struct bsn_sge *from, const struct bsn_remote *to, uint64_t id
#define DATA struct bsn_ep *ep, const void *data, const struct bsn_remote *to, uint64_t id

int one_write(TO);
int one_read(TO);
int one_send(struct bsn_ep *ep, const struct bsn_sge *from, uint64_t id);
int one_write_list(TO);
int one_write_word(DATA);
int one_send_words(struct bsn_ep *ep, const void *data, uint64_t id);
int one_write_imm(TO);
int one_prepared(struct bsn_ep *ep, const struct bsn_prepared *request, uint64_t id);
int two_write_list(TO);
int two_write_data(DATA);
int two_read_flags(TO, unsigned flags);
int two_write_length(DATA, uint32_t length);
int two_send_length_flags(struct bsn_ep *ep, const void *data, uint32_t length, uint64_t id,
			  unsigned flags);
int two_receive(struct bsn_rq *rq, const struct bsn_sge *into, uint64_t id);
int poll_one(struct bsn_cq *cq, struct bsn_completion *done);
int poll_many(struct bsn_cq *cq, struct bsn_completion *done, int most);
int any_send_list(struct bsn_ep *ep, const struct bsn_sge *from, unsigned count, uint64_t id,
		  unsigned flags);
int any_swap(TO, uint64_t old, uint64_t new);
int any_post(struct bsn_ep *ep, const struct bsn_wr *request);
int any_receives(struct bsn_rq *rq, const struct bsn_sge *into, const uint64_t *ids,
		 unsigned count);

int one_write(TO)
{
	return bsn_write(ep, from, to, id, RUNG);
}

int one_read(TO)
{
	return bsn_read(ep, from, to, id, BSN_F_SIGNALED);
}

int one_send(struct bsn_ep *ep, const struct bsn_sge *from, uint64_t id)
{
	return bsn_send(ep, from, id, BSN_F_RING);
}

int one_write_list(TO)
{
	return bsn_write_sgl(ep, from, 2, to, id, RUNG);
}

int one_write_word(DATA)
{
	return bsn_write_inline(ep, data, 8, to, id, RUNG);
}

int one_send_words(struct bsn_ep *ep, const void *data, uint64_t id)
{
	return bsn_send_inline(ep, data, 24, id, RUNG);
}

int one_write_imm(TO)
{
	return bsn_write_imm(ep, from, to, 1, id, RUNG);
}

int one_prepared(struct bsn_ep *ep, const struct bsn_prepared *request, uint64_t id)
{
	return bsn_post_prepared(ep, request, id, RUNG);
}

int two_write_list(TO)
{
	return bsn_write_sgl(ep, from, 4, to, id, BSN_F_SIGNALED);
}

int two_write_data(DATA)
{
	return bsn_write_inline(ep, data, 64, to, id, RUNG);
}

int two_read_flags(TO, unsigned flags)
{
	return bsn_read(ep, from, to, id, flags);
}

int two_write_length(DATA, uint32_t length)
{
	return bsn_write_inline(ep, data, length, to, id, RUNG);
}

int two_send_length_flags(struct bsn_ep *ep, const void *data, uint32_t length, uint64_t id,
			  unsigned flags)
{
	return bsn_send_inline(ep, data, length, id, flags);
}

int two_receive(struct bsn_rq *rq, const struct bsn_sge *into, uint64_t id)
{
	return bsn_recv(rq, into, id);
}

int poll_one(struct bsn_cq *cq, struct bsn_completion *done)
{
	return bsn_poll(cq, done, 1);
}

int poll_many(struct bsn_cq *cq, struct bsn_completion *done, int most)
{
	return bsn_poll(cq, done, most);
}

int any_send_list(struct bsn_ep *ep, const struct bsn_sge *from, unsigned count, uint64_t id,
		  unsigned flags)
{
	return bsn_send_sgl(ep, from, count, id, flags);
}

int any_swap(TO, uint64_t old, uint64_t new)
{
	return bsn_cmp_swap(ep, from, to, old, new, id, RUNG);
}

int any_post(struct bsn_ep *ep, const struct bsn_wr *request)
{
	return bsn_post(ep, request);
}

int any_receives(struct bsn_rq *rq, const struct bsn_sge *into, const uint64_t *ids, unsigned count)
{
	return bsn_recv_many(rq, into, ids, count);
}
