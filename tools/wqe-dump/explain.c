/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain.h"

void explain_record(struct record *record)
{
	struct bsn_vendor_meaning meaning;

	if (!record->vendor_syndrome.is_known)
		return;
	bsn_vendor_explain(record->vendor_syndrome.value, &meaning);
	record->cause = meaning.measured ? meaning.measured : meaning.doc;
}
