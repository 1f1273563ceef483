/* SPDX-License-Identifier: BSD-2-Clause */
/* The trace, from inside the model; what others may say is cx_trace() of hca.h. */
#ifndef SOFTCX_NIC_TRACE_H
#define SOFTCX_NIC_TRACE_H

#include "state.h"
#include "text.h"

static inline bool cx_tracing(const struct cx_hca *hca)
{
	return hca->trace_fd >= 0;
}

/* A line in pieces: begin, cx_text_format(), write. */
void cx_line_begin(struct cx_hca *hca, struct cx_text *text);
void cx_line_write(struct cx_hca *hca, struct cx_text *text);

void cx_lint(struct cx_hca *hca, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
