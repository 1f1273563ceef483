/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All that Bunsen knows of UCX. Facts of UCX 1.13 (ucm/api/ucm.h, src/ucm/event/event.c): handlers
 * of UCM_EVENT_VM_UNMAPPED are called before the memory is unmapped, in the thread that unmaps it,
 * under a read lock; setting or unsetting a handler takes the write lock. A handler may not
 * allocate.
 */
#include "bsn_ucm.h"

#include <errno.h>
#include <stdio.h>

#include "bsn_mem.h"

#include <ucm/api/ucm.h>

/* The order among handlers does not matter here; UCX's own caches have this priority. */
enum { PRIORITY = 1000 };

static void memory_goes(ucm_event_type_t type, ucm_event_t *event, void *cache)
{
	(void)type;
	bsn_mr_cache_invalidate(cache, event->vm_unmapped.address, event->vm_unmapped.size);
}

static void watch_detach(void *arg, struct bsn_mr_cache *cache)
{
	(void)arg;
	ucm_unset_event_handler(UCM_EVENT_VM_UNMAPPED, memory_goes, cache);
}

/* Attaches the watch, and tests it: hooks that were installed may never be called. */
static int watch_attach(void *arg, struct bsn_mr_cache *cache)
{
	ucs_status_t status =
		ucm_set_event_handler(UCM_EVENT_VM_UNMAPPED, PRIORITY, memory_goes, cache);
	char text[200];

	if (status == UCS_OK) {
		status = ucm_test_events(UCM_EVENT_VM_UNMAPPED);
		if (status == UCS_OK)
			return 0;
		watch_detach(arg, cache);
	}
	snprintf(text, sizeof(text),
		 "libucm does not see memory go: %s (UCX_MEM_EVENTS=n, valgrind, or another "
		 "library that "
		 "patches munmap()): invalidate by hand",
		 ucs_status_string(status));
	return bsn_error_set(status == UCS_ERR_NO_MEMORY ? ENOMEM : EOPNOTSUPP, text);
}

const struct bsn_mr_watch *bsn_ucm_watch(void)
{
	static const struct bsn_mr_watch watch = { .attach = watch_attach, .detach = watch_detach };

	return &watch;
}
