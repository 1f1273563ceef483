/* SPDX-License-Identifier: BSD-2-Clause */
/* An explanation, for people and for programs. */
#ifndef WQE_DUMP_PRINT_EXPLAIN_H
#define WQE_DUMP_PRINT_EXPLAIN_H

#include <stdio.h>

#include "../explain/explain.h"

struct json_object;

/** print_explanation() - a paragraph of short lines, each @indent columns from the left */
void print_explanation(FILE *to, const struct explanation *explanation, unsigned indent);

/** explanation_json() - what a record has as "explanation" */
struct json_object *explanation_json(const struct explanation *explanation);

#endif
