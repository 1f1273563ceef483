/* SPDX-License-Identifier: BSD-2-Clause */
/* The forms, by the file that has them. */
#ifndef WQE_DUMP_FORMS_H
#define WQE_DUMP_FORMS_H

#include "form.h"

/* forms_verbs.c */
extern const struct form form_libmlx5;

#endif
