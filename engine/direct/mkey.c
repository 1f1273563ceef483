/* SPDX-License-Identifier: BSD-2-Clause */
/* The direct path's mkeys. */
#include "direct.h"

int direct_mkey_create(struct bsn_pd *pd, const struct provider_mkey_attr *attr, void **handle,
		       uint32_t *key)
{
	const int err = provider_mkey_create(pd->verbs, attr, handle, key);

	return err ? fail(-err, "no mkey of %u translations: %s", attr->translations,
			  strerror(-err))
		   : 0;
}

void direct_mkey_destroy(void *handle)
{
	provider_mkey_destroy(handle);
}
