/* SPDX-License-Identifier: BSD-2-Clause */
/* The texts of failures: the last one of each thread, and the log. */
#include "engine.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "handshake.h"
#include "refuse.h"

enum { TEXT_BYTES = 320 };

static _Thread_local char text[TEXT_BYTES];

/* -- BSN_LOG=1, BSN_CHECK=1 -------------------------------------------------------------------- */

/* "0": off. */
static const char *setting_of(const char *variable)
{
	const char *env = getenv(variable);

	return env && *env ? env : "0";
}

static bool is_asked_for(const char *variable)
{
	return strcmp(setting_of(variable), "0");
}

/* BSN_CHECK=1 logs, too: a program that ignores errors would not notice the checks. */
static bool is_logging(void)
{
	static _Atomic int answer; /* 0: not asked yet */

	if (!answer) {
		answer = is_asked_for("BSN_LOG") || is_asked_for("BSN_CHECK") ? 1 : -1;
	}
	return answer > 0;
}

static void log_line(const char *line)
{
	fprintf(stderr, "bunsen: %s\n", line);
}

/*
 * Writes a refusal. A program may repeat a refused call in a loop, so equal ones in a row are
 * written once.
 */
static void log_refusal(const char *why)
{
	static _Thread_local char last[TEXT_BYTES];

	if (!*why || !strcmp(last, why))
		return;
	snprintf(last, sizeof(last), "%s", why);
	log_line(why);
}

void log_refusals(void)
{
	if (is_logging())
		bsn_refusal_log = log_refusal;
}

int fail(int error, const char *format, ...)
{
	char line[TEXT_BYTES]; /* an argument may be @text itself */
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	memcpy(text, line, sizeof(text));
	log_refusals(); /* no device may be open yet */
	return refuse(error, text);
}

int switch_on(const char *variable, bool *is_on)
{
	const char *setting = setting_of(variable);

	if (!strcmp(setting, "0"))
		return 0;
	if (strcmp(setting, "1"))
		return fail(EINVAL, "%s=%s: use 1 or 0", variable, setting);
	*is_on = true;
	return 0;
}

const char *memlock_hint(int error)
{
	static _Thread_local char hint[128];
	struct rlimit limit;

	if (error != ENOMEM || getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return "";
	snprintf(hint, sizeof(hint),
		 " (RLIMIT_MEMLOCK is %llu bytes: raise it by ulimit -l, or LimitMEMLOCK= of the "
		 "service)",
		 (unsigned long long)limit.rlim_cur);
	return hint;
}

int fail_command(int err, const struct bsn_cmd_out *answer, const char *what)
{
	const char *said = handshake_refusal(answer);

	if (!said)
		return fail(-err, "cannot %s: %s%s", what, strerror(-err), memlock_hint(-err));
	return fail(-err, "cannot %s: the firmware says \"%s\", syndrome %#x", what, said,
		    answer->syndrome);
}

int destroyed(struct bsn_device *device, int result)
{
	const int err = provider_error_of_int(result);

	if (err == -EIO)
		atomic_store(&device->is_gone, true);
	return atomic_load(&device->is_gone) ? 0 : err;
}

const char *bsn_error_text(void)
{
	return bsn_refusal ? bsn_refusal : "";
}

void say(const struct bsn_device *device, const char *format, ...)
{
	char line[TEXT_BYTES];
	va_list args;

	if (!device->attr.log && !is_logging())
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (device->attr.log)
		device->attr.log(device->attr.log_arg, line);
	if (is_logging())
		log_line(line);
}
