/* SPDX-License-Identifier: BSD-2-Clause */
/* A context and a domain of the device that the shim makes. */
#ifndef TESTS_SOFTCX_SHIM_H
#define TESTS_SOFTCX_SHIM_H

#include "loopback.h"

#include <errno.h>

#include "nic/tables.h"

struct device {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
};

static inline int set_up_link(void **state, enum cx_link link)
{
	struct device *device = calloc(1, sizeof(*device));

	assert_non_null(device);
	assert_int_equal(loopback_start(link), 0);
	device->ctx = loopback_open_device();
	device->pd = ibv_alloc_pd(device->ctx);
	assert_non_null(device->pd);
	*state = device;
	return 0;
}

static inline int set_up(void **state)
{
	return set_up_link(state, CX_LINK_IB);
}

static inline int tear_down(void **state)
{
	struct device *device = *state;

	assert_int_equal(ibv_dealloc_pd(device->pd), 0);
	assert_int_equal(softcx_stop(), -EBUSY);
	assert_int_equal(ibv_close_device(device->ctx), 0);
	assert_int_equal(softcx_stop(), 0);
	free(device);
	return 0;
}

#define ON_IB(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

#endif
