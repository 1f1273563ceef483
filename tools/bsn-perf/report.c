/* SPDX-License-Identifier: BSD-2-Clause */
/* What the program says: complaints, how far it is, and reports. */
#include "perf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

struct perf_options perf_options;

int complain_as(enum perf_exit status, const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fputs("bsn-perf: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return (int)status;
}

const char *error_text(int error)
{
	return *bsn_error_text() ? bsn_error_text() : strerror(-error);
}

int complain_of(const char *what, int error)
{
	return complain("%s%s%s", what ? what : "", what ? ": " : "", error_text(error));
}

static bool is_shown;

bool progress_is_shown(void)
{
	static int known = -1;

	if (known < 0)
		known = isatty(STDERR_FILENO);
	return known;
}

void show_progress(const char *format, ...)
{
	va_list args;

	if (!progress_is_shown())
		return;
	fputs("\r\033[Kbsn-perf: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	is_shown = true;
}

void end_progress(void)
{
	if (is_shown)
		fputs("\r\033[K", stderr);
	is_shown = false;
}

FILE *report_open(void)
{
	FILE *report;

	if (!perf_options.output)
		return stdout;
	report = fopen(perf_options.output, "w");
	if (!report)
		complain("--output %s: %s", perf_options.output, strerror(errno));
	return report;
}

int report_close(FILE *report)
{
	const bool failed = fflush(report) || ferror(report);
	const int error = errno;

	if (report != stdout)
		fclose(report);
	if (!failed)
		return PERF_OK;
	return complain("%s: %s", perf_options.output ? perf_options.output : "standard output",
			strerror(error));
}

void json_add_text(struct json_object *to, const char *name, const char *text)
{
	json_object_object_add(to, name, json_object_new_string(text));
}

void json_add_number(struct json_object *to, const char *name, uint64_t number)
{
	json_object_object_add(to, name, json_object_new_int64((int64_t)number));
}

void json_add_bool(struct json_object *to, const char *name, bool value)
{
	json_object_object_add(to, name, json_object_new_boolean(value));
}

void json_add_figure(struct json_object *to, const char *name, double value)
{
	struct json_object *figure = json_object_new_double(value);

	json_object_set_serializer(figure, json_object_double_to_json_string, "%.2f", NULL);
	json_object_object_add(to, name, figure);
}

void json_print(FILE *report, struct json_object *object)
{
	fputs(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PRETTY |
							     JSON_C_TO_STRING_SPACED |
							     JSON_C_TO_STRING_NOSLASHESCAPE),
	      report);
	fputc('\n', report);
	json_object_put(object);
}

struct json_object *json_add_to_list(struct json_object *to, const char *list)
{
	struct json_object *items, *item = json_object_new_object();

	if (!json_object_object_get_ex(to, list, &items)) {
		items = json_object_new_array();
		json_object_object_add(to, list, items);
	}
	json_object_array_add(items, item);
	return item;
}

void json_add_device(struct json_object *report, const struct bsn_device_info *info)
{
	const char *model = model_name(info);

	json_add_text(report, "device", info->name);
	json_object_object_add(report, "model", model ? json_object_new_string(model) : NULL);
	json_add_text(report, "path", path_name(info));
	json_add_text(report, "cpu", cpu_name());
	json_add_text(report, "store", store_name(info));
}

const char *path_name(const struct bsn_device_info *info)
{
	return info->path == BSN_PATH_DIRECT ? "direct" : "verbs";
}

/* By open(2), which softcx answers. */
const char *model_name(const struct bsn_device_info *info)
{
	static const char model[] = "softcx";
	char path[sizeof(info->verbs->device->ibdev_path) + 16], board[sizeof(model) - 1];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/board_id", info->verbs->device->ibdev_path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	n = read(fd, board, sizeof(board));
	close(fd);
	return n == (ssize_t)sizeof(board) && !memcmp(board, model, sizeof(board)) ? model : NULL;
}

const char *store_name(const struct bsn_device_info *info)
{
	return info->path == BSN_PATH_DIRECT ? info->store_name : "none";
}

const char *cpu_name(void)
{
	static char line[256];
	FILE *cpuinfo = fopen("/proc/cpuinfo", "r");
	const char *name = NULL;

	while (cpuinfo && !name && fgets(line, sizeof(line), cpuinfo)) {
		char *colon = strchr(line, ':');
		if (!colon || (strncmp(line, "model name", 10) && strncmp(line, "CPU part", 8)))
			continue;
		line[strcspn(line, "\n")] = 0;
		name = colon + 1 + strspn(colon + 1, " \t");
	}
	if (cpuinfo)
		fclose(cpuinfo);
	return name ? name : "unknown";
}
