/* SPDX-License-Identifier: BSD-2-Clause */
#include "form.h"

#include <string.h>

/* The form of bytes without text. It has a name, but gets no lines. */
const struct form form_binary = { .name = "binary", .marks = MARKS(NULL) };

const struct form *const forms[] = {
#define POINT_TO(id) &form_##id,
	FORMS(POINT_TO) NULL
#undef POINT_TO
};

_Static_assert(COUNT(forms) <= FORMS_MAX + 1, "each form has a bit of a word");

const struct form *form_find(const char *name)
{
	for (const struct form *const *form = forms; *form; form++)
		if (!strcmp((*form)->name, name))
			return *form;
	return NULL;
}
