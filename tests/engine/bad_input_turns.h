/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This header comes before every source of engine/ and dv/ in the build that bad_input_memory.c
 * tests. Each call there that can run out of something is counted, and fails when it is its turn.
 * What was made and not given back is counted, too. Calls inside libibverbs, libmlx5 and the model
 * are not touched.
 */
#ifndef TESTS_ENGINE_BAD_INPUT_TURNS_H
#define TESTS_ENGINE_BAD_INPUT_TURNS_H

#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

/* Counts one call that may fail. Returns whether it must fail; then errno is ENOMEM. */
bool turns_fail(void);

/* Count what exists: one more, one less. Each returns its argument. */
void *turns_made(void *object);
void turns_unmade(const void *object);

#define TURNS_POINTER(call) (turns_fail() ? NULL : turns_made(call))
#define TURNS_NUMBER(call)  (turns_fail() ? ENOMEM : (call))
#define TURNS_UNMAKE(call, object)                                                                 \
	__extension__({                                                                            \
		const int result_ = (call);                                                        \
		if (!result_)                                                                      \
			turns_unmade(object);                                                      \
		result_;                                                                           \
	})

#define malloc(size)             TURNS_POINTER((malloc)(size))
#define calloc(count, size)      TURNS_POINTER((calloc)(count, size))
#define aligned_alloc(at, size)  TURNS_POINTER((aligned_alloc)(at, size))
#define free(memory)             (turns_unmade(memory), (free)(memory))
#define mmap(a, b, c, d, e, f)   (turns_fail() ? MAP_FAILED : turns_made((mmap)(a, b, c, d, e, f)))
#define munmap(memory, length)   TURNS_UNMAKE((munmap)(memory, length), memory)

#define ibv_get_device_list(n)   TURNS_POINTER((ibv_get_device_list)(n))
#define ibv_free_device_list(l)  (turns_unmade(l), (ibv_free_device_list)(l))
#define ibv_open_device(d)       TURNS_POINTER((ibv_open_device)(d))
#define mlx5dv_open_device(d, a) TURNS_POINTER((mlx5dv_open_device)(d, a))
#define ibv_close_device(c)      TURNS_UNMAKE((ibv_close_device)(c), c)

#define ibv_query_device(c, a)   TURNS_NUMBER((ibv_query_device)(c, a))
#define ibv_query_qp(q, a, m, i) TURNS_NUMBER((ibv_query_qp)(q, a, m, i))
#define mlx5dv_init_obj(o, t)    TURNS_NUMBER((mlx5dv_init_obj)(o, t))
#undef ibv_query_port
#define ibv_query_port(c, p, a)  TURNS_NUMBER(___ibv_query_port(c, p, a))

#define ibv_alloc_pd(c)          TURNS_POINTER((ibv_alloc_pd)(c))
#define ibv_alloc_parent_domain(c, a) TURNS_POINTER((ibv_alloc_parent_domain)(c, a))
#define ibv_dealloc_pd(p)        TURNS_UNMAKE((ibv_dealloc_pd)(p), p)
#define ibv_alloc_td(c, a)       TURNS_POINTER((ibv_alloc_td)(c, a))
#define ibv_dealloc_td(t)        TURNS_UNMAKE((ibv_dealloc_td)(t), t)
#undef ibv_reg_mr
#define ibv_reg_mr(p, a, l, r)   TURNS_POINTER((ibv_reg_mr)(p, a, l, r))
#undef ibv_reg_mr_iova
#define ibv_reg_mr_iova(p, a, l, i, r)                                                             \
	TURNS_POINTER(__ibv_reg_mr_iova(p, a, l, i, (unsigned)(r), 0))
#define ibv_reg_dm_mr(p, d, o, l, r) TURNS_POINTER((ibv_reg_dm_mr)(p, d, o, l, r))
#define ibv_alloc_null_mr(p)     TURNS_POINTER((ibv_alloc_null_mr)(p))
#define ibv_alloc_dm(c, a)       TURNS_POINTER((ibv_alloc_dm)(c, a))
#define ibv_free_dm(d)           TURNS_UNMAKE((ibv_free_dm)(d), d)
#define ibv_dereg_mr(m)          TURNS_UNMAKE((ibv_dereg_mr)(m), m)

#define ibv_alloc_mw(p, t)       TURNS_POINTER((ibv_alloc_mw)(p, t))
#define ibv_dealloc_mw(w)        TURNS_UNMAKE((ibv_dealloc_mw)(w), w)
#define mlx5dv_devx_obj_create(c, i, s, o, t) TURNS_POINTER((mlx5dv_devx_obj_create)(c, i, s, o, t))
#define mlx5dv_devx_obj_destroy(o) TURNS_UNMAKE((mlx5dv_devx_obj_destroy)(o), o)
#define mlx5dv_devx_obj_modify(o, i, s, r, t) TURNS_NUMBER((mlx5dv_devx_obj_modify)(o, i, s, r, t))
#define mlx5dv_devx_obj_query(o, i, s, r, t) TURNS_NUMBER((mlx5dv_devx_obj_query)(o, i, s, r, t))
#define mlx5dv_devx_umem_reg(c, a, s, r) TURNS_POINTER((mlx5dv_devx_umem_reg)(c, a, s, r))
#define mlx5dv_devx_umem_dereg(u) TURNS_UNMAKE((mlx5dv_devx_umem_dereg)(u), u)
#define mlx5dv_devx_alloc_uar(c, f) TURNS_POINTER((mlx5dv_devx_alloc_uar)(c, f))
#define mlx5dv_devx_free_uar(u)  (turns_unmade(u), (mlx5dv_devx_free_uar)(u))

#define ibv_create_comp_channel(c)  TURNS_POINTER((ibv_create_comp_channel)(c))
#define ibv_destroy_comp_channel(c) TURNS_UNMAKE((ibv_destroy_comp_channel)(c), c)
#define ibv_create_cq(c, n, x, h, v) TURNS_POINTER((ibv_create_cq)(c, n, x, h, v))
#define ibv_create_cq_ex(c, a)      TURNS_POINTER((ibv_create_cq_ex)(c, a))
#define mlx5dv_create_cq(c, a, m)   TURNS_POINTER((mlx5dv_create_cq)(c, a, m))
#define ibv_destroy_cq(c)           TURNS_UNMAKE((ibv_destroy_cq)(c), c)
#define ibv_create_srq(p, a)        TURNS_POINTER((ibv_create_srq)(p, a))
#define ibv_destroy_srq(s)          TURNS_UNMAKE((ibv_destroy_srq)(s), s)
#define ibv_create_qp(p, a)         TURNS_POINTER((ibv_create_qp)(p, a))
#define ibv_create_qp_ex(c, a)      TURNS_POINTER((ibv_create_qp_ex)(c, a))
#define mlx5dv_create_qp(c, a, m)   TURNS_POINTER((mlx5dv_create_qp)(c, a, m))
#define ibv_destroy_qp(q)           TURNS_UNMAKE((ibv_destroy_qp)(q), q)
#define ibv_create_ah(p, a)         TURNS_POINTER((ibv_create_ah)(p, a))
#define ibv_destroy_ah(a)           TURNS_UNMAKE((ibv_destroy_ah)(a), a)

#endif
