/* SPDX-License-Identifier: BSD-2-Clause */
#include "forms.h"

#include <string.h>

/* Where lines of several look alike the first one has it. */
const struct form *const forms[] = {
	&form_libmlx5,       &form_libmlx5_wqe, &form_mlx5_ib, &form_mlx5_ib_wqe,
	&form_mlx5_core_wqe, &form_hex,         &form_binary,  NULL,
};

_Static_assert(sizeof(forms) / sizeof(forms[0]) <= FORMS_MAX + 1, "each form has a bit of a word");

const struct form *form_find(const char *name)
{
	for (const struct form *const *form = forms; *form; form++)
		if (!strcmp((*form)->name, name))
			return *form;
	return NULL;
}
