/* SPDX-License-Identifier: BSD-2-Clause */
/* The trace, inside the model. Others write by cx_trace() of hca.h. */
#ifndef SOFTCX_NIC_TRACE_H
#define SOFTCX_NIC_TRACE_H

#include "state.h"
#include "text.h"

static inline bool cx_tracing(const struct cx_hca *hca)
{
	return hca->trace_fd >= 0;
}

/* A line in parts: begin, cx_text_format(), write. */
void cx_line_begin(struct cx_hca *hca, struct cx_text *text);
void cx_line_write(struct cx_hca *hca, struct cx_text *text);

void cx_lint(struct cx_hca *hca, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
