/* SPDX-License-Identifier: BSD-2-Clause */
/* Two processes of one fabric: starting each, and checks in a peer, where asserts do not work. */
#ifndef TESTS_SOFTCX_FABRIC_H
#define TESTS_SOFTCX_FABRIC_H

#include "loopback.h"

#include <unistd.h>

static inline struct cx_config config_of_fabric(const char *fabric)
{
	struct cx_config config = loopback_config(CX_LINK_IB, false);

	config.private_fabric = false;
	config.fabric = fabric;
	return config;
}

/* The peer ends here, with the line as its status, unless it holds. */
#define NEED(condition)                                                                            \
	do {                                                                                       \
		if (!(condition))                                                                  \
			_exit(__LINE__ % 200 + 1);                                                 \
	} while (0)

#endif
