/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds softcx_step(), if this process runs under softcx. */
#include "perf.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { SETTLE_NS = 500 * 1000 };

static unsigned (*softcx_step)(unsigned max_wqes);

static bool is_softcx(void)
{
	/* POSIX has data pointers convert to function pointers, as ISO C does not. */
	void *symbol = dlsym(RTLD_DEFAULT, "softcx_step");

	memcpy(&softcx_step, &symbol, sizeof(symbol));
	return symbol;
}

void prefer_stepping(void)
{
	if (is_softcx())
		setenv("SOFTCX_PASSIVE", "1", 0);
}

void prefer_sessions(void)
{
	if (is_softcx())
		setenv("SOFTCX_FAULT", "compress 64", 0);
}

bool is_stepped(void)
{
	static int stepped = -1;

	if (stepped < 0) {
		const char *passive = getenv("SOFTCX_PASSIVE");
		stepped = is_softcx() && passive && *passive && strcmp(passive, "0");
	}
	return stepped;
}

bool step(void)
{
	bool any = false;

	while (is_stepped() && softcx_step(0))
		any = true;
	return any;
}

void let_device_work(void)
{
	const uint64_t start = now_ns();

	if (is_stepped()) {
		step();
		return;
	}
	while (now_ns() - start < SETTLE_NS)
		;
}
