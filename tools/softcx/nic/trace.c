/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trace: a line for each event, written at once. Our own formatter (text.c), since stdio may
 * not run in a signal handler.
 */
#include "trace.h"

#include <errno.h>

#include "../os/raw.h"

void cx_line_write(struct cx_hca *hca, struct cx_text *text)
{
	int saved = errno;

	text->buf[text->len++] = '\n';
	for (size_t done = 0; done < text->len;) {
		ssize_t n = raw_write(hca->trace_fd, text->buf + done, text->len - done);

		if (n <= 0 && errno != EINTR)
			break;
		done += n > 0 ? (size_t)n : 0;
	}
	errno = saved;
}

/* Traces of several processes may share a file: each line begins with the pid. */
void cx_line_begin(struct cx_hca *hca, struct cx_text *text)
{
	text->len = 0;
	cx_text_format(text, "softcx %d ", (int)hca->shared->procs[hca->self % CX_PROCS].pid);
}

void cx_trace(struct cx_hca *hca, const char *format, ...)
{
	struct cx_text text;
	va_list args;

	if (!cx_tracing(hca) || !hca->shared)
		return;
	cx_line_begin(hca, &text);
	va_start(args, format);
	cx_text_vformat(&text, format, args);
	va_end(args);
	cx_line_write(hca, &text);
}

void cx_lint(struct cx_hca *hca, const char *format, ...)
{
	struct cx_text text;
	va_list args;

	__atomic_fetch_add(&hca->lint_count, 1, __ATOMIC_RELAXED);
	if (!cx_tracing(hca))
		return;
	cx_line_begin(hca, &text);
	cx_text_string(&text, "lint: ");
	va_start(args, format);
	cx_text_vformat(&text, format, args);
	va_end(args);
	cx_line_write(hca, &text);
}

uint64_t cx_lint_count(const struct cx_hca *hca)
{
	return __atomic_load_n(&hca->lint_count, __ATOMIC_RELAXED);
}
