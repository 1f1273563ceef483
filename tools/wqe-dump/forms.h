/* SPDX-License-Identifier: BSD-2-Clause */
/* The forms, by the file that has them. */
#ifndef WQE_DUMP_FORMS_H
#define WQE_DUMP_FORMS_H

#include "form.h"

/* forms_dump.c */
extern const struct form form_mlx5_ib;
extern const struct form form_mlx5_core_wqe;
extern const struct form form_mlx5_ib_wqe;
extern const struct form form_libmlx5_wqe;

/* forms_hex.c: what is left once the others have looked; it is offered lines of digits */
extern const struct form form_hex;

/* scan.c: the whole input is bytes */
extern const struct form form_binary;

/* forms_verbs.c */
extern const struct form form_libmlx5;

#endif
