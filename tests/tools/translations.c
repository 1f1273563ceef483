/* SPDX-License-Identifier: BSD-2-Clause */
/* What 1 GB of memory takes of the device's translations, by source, as JSON. */
#include <stdio.h>

#include "bsn.h"
#include "bsn_mem.h"

static void tell(struct bsn_device *device, const char *name, enum bsn_mem_kind kind,
		 size_t page_bytes, const char *end)
{
	const struct bsn_mem_attr mem = { .source = bsn_mem_source(kind),
					  .page_bytes = page_bytes,
					  .is_strict = true };
	const struct bsn_mr_attr attr = { .mem = &mem };
	struct bsn_buf_info info;
	struct bsn_mr *buf;

	if (bsn_buf_alloc(device, (size_t)1 << 30, &attr, &buf)) {
		printf("\"%s\": {\"why_not\": \"%s\"}%s\n", name, bsn_error_text(), end);
		return;
	}
	bsn_buf_info(buf, &info);
	printf("\"%s\": {\"translations\": %llu}%s\n", name,
	       (unsigned long long)info.translations, end);
	bsn_buf_free(buf);
}

int main(void)
{
	struct bsn_device *device;

	if (bsn_device_open(NULL, NULL, &device))
		return 1;
	printf("{");
	tell(device, "plain", BSN_MEM_PLAIN, 0, ",");
	tell(device, "hugetlb_2m", BSN_MEM_HUGETLB, 2 << 20, ",");
	tell(device, "hugetlb_1g", BSN_MEM_HUGETLB, 1 << 30, "}");
	return bsn_device_close(device) != 0;
}
