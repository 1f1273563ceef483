/* SPDX-License-Identifier: BSD-2-Clause */
/* Protection domains. */
#include "engine.h"

#include <stdlib.h>

struct bsn_pd *pd_of(struct bsn_device *device, struct bsn_pd *pd)
{
	if (!pd)
		return &device->default_pd;
	if (pd->device == device)
		return pd;
	fail(EINVAL, "the protection domain is of another device");
	return NULL;
}

int bsn_pd_create(struct bsn_device *device, struct bsn_pd **out)
{
	struct bsn_pd *pd;

	if (!device || !out)
		return fail(EINVAL, "no device, or no place for the protection domain");
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return fail(ENOMEM, "no memory");
	errno = 0;
	pd->device = device;
	pd->verbs = ibv_alloc_pd(device->context);
	if (!pd->verbs) {
		free(pd);
		return fail(errno ? errno : ENOMEM, "no protection domain on %s",
			    device->info.name);
	}
	use(&device->uses[OF_PDS]);
	*out = pd;
	return 0;
}

int bsn_pd_destroy(struct bsn_pd *pd)
{
	int err;

	if (!pd)
		return 0;
	if (atomic_load(&pd->uses.count))
		return fail(EBUSY, "memory or queues still use this protection domain");
	err = destroyed(pd->device, ibv_dealloc_pd(pd->verbs));
	if (err)
		return fail(-err, "the protection domain is in use outside of Bunsen");
	unuse(&pd->device->uses[OF_PDS]);
	free(pd);
	return 0;
}
