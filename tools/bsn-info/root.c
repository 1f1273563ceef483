/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads files of the kernel, or recorded ones. */
#include "root.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int make_path(const char *root, char path[PATH_MAX], const char *format, va_list args)
{
	int length = snprintf(path, PATH_MAX, "%s/", root);

	if (length >= 0 && length < PATH_MAX)
		length += vsnprintf(path + length, (size_t)(PATH_MAX - length), format, args);
	return length < 0 || length >= PATH_MAX ? -ENAMETOOLONG : 0;
}

/* Does not wait for a writer if a recorded file is a pipe. */
static int read_path(const char *path, char *bytes, size_t size)
{
	const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	size_t length = 0;
	ssize_t n = 1;

	if (fd < 0)
		return -errno;
	while (length < size && (n = read(fd, bytes + length, size - length)) > 0)
		length += (size_t)n;
	n = n < 0 ? -errno : (ssize_t)length;
	close(fd);
	return (int)n;
}

static void clean(char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (text[i] != '\n' && text[i] != '\t' && (text[i] < ' ' || text[i] > '~'))
			text[i] = '?';
	text[length] = '\0';
	while (length && isspace((unsigned char)text[length - 1]))
		text[--length] = '\0';
}

static int read_text(const char *root, char *text, size_t size, const char *format, va_list args)
{
	char path[PATH_MAX];
	int length = make_path(root, path, format, args);

	if (!length)
		length = read_path(path, text, size - 1);
	clean(text, length > 0 ? (size_t)length : 0);
	return length < 0 ? length : (int)strlen(text);
}

int root_read(const char *root, char *text, size_t size, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = read_text(root, text, size, format, args);
	va_end(args);
	return length;
}

int root_bytes(const char *root, void *bytes, size_t size, const char *format, ...)
{
	char path[PATH_MAX];
	va_list args;
	int length;

	va_start(args, format);
	length = make_path(root, path, format, args);
	va_end(args);
	return length ? length : read_path(path, bytes, size);
}

bool root_number(const char *root, uint64_t *number, const char *format, ...)
{
	char text[64], *end;
	va_list args;
	int length;

	va_start(args, format);
	length = read_text(root, text, sizeof(text), format, args);
	va_end(args);
	if (length <= 0 || !isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*number = strtoull(text, &end, 10);
	return !*end && !errno;
}

bool root_exists(const char *root, const char *format, ...)
{
	char path[PATH_MAX];
	va_list args;
	int err;

	va_start(args, format);
	err = make_path(root, path, format, args);
	va_end(args);
	return !err && !access(path, F_OK);
}

/* -- folders ----------------------------------------------------------------------------------- */

static bool is_plain(const char *name)
{
	if (*name == '.')
		return false;
	while (isalnum((unsigned char)*name) || (*name && strchr("-_.:@", *name)))
		name++;
	return !*name;
}

static int compare(const void *one, const void *other)
{
	return strverscmp(*(char *const *)one, *(char *const *)other);
}

static int append(struct names *names, const char *name)
{
	char **list = realloc(names->list, (names->count + 1) * sizeof(*list));

	if (!list)
		return -ENOMEM;
	names->list = list;
	list[names->count] = strdup(name);
	return list[names->count] ? (int)(names->count++, 0) : -ENOMEM;
}

int root_list(const char *root, struct names *names, const char *format, ...)
{
	char path[PATH_MAX];
	struct dirent *entry;
	va_list args;
	DIR *dir;
	int err;

	*names = (struct names){ 0 };
	va_start(args, format);
	err = make_path(root, path, format, args);
	va_end(args);
	if (err)
		return err;
	dir = opendir(path);
	if (!dir)
		return -errno;
	while (!err && (entry = readdir(dir)))
		if (is_plain(entry->d_name))
			err = append(names, entry->d_name);
	closedir(dir);
	if (names->count)
		qsort(names->list, names->count, sizeof(*names->list), compare);
	return err;
}

void names_free(struct names *names)
{
	for (unsigned i = 0; i < names->count; i++)
		free(names->list[i]);
	free(names->list);
	*names = (struct names){ 0 };
}

/* -- sets of CPUs ------------------------------------------------------------------------------ */

static bool parse_cpu(const char **text, unsigned long *cpu)
{
	char *end;

	if (!isdigit((unsigned char)**text))
		return false;
	*cpu = strtoul(*text, &end, 10);
	*text = end;
	return *cpu < CPUS_MAX;
}

bool cpus_parse(struct cpus *cpus, const char *text)
{
	unsigned long first, last;

	memset(cpus, 0, sizeof(*cpus));
	if (!*text)
		return true;
	do {
		if (!parse_cpu(&text, &first))
			return false;
		last = first;
		if (*text == '-' && (text++, !parse_cpu(&text, &last)))
			return false;
		for (; first <= last; first++)
			cpus->words[first / 64] |= UINT64_C(1) << first % 64;
	} while (*text == ',' && text++);
	return !*text;
}

bool cpus_have(const struct cpus *cpus, unsigned cpu)
{
	return cpu < CPUS_MAX && cpus->words[cpu / 64] >> cpu % 64 & 1;
}

bool cpus_meet(const struct cpus *some, const struct cpus *others)
{
	for (unsigned i = 0; i < CPUS_MAX / 64; i++)
		if (some->words[i] & others->words[i])
			return true;
	return false;
}

bool cpus_are_within(const struct cpus *some, const struct cpus *others)
{
	for (unsigned i = 0; i < CPUS_MAX / 64; i++)
		if (some->words[i] & ~others->words[i])
			return false;
	return true;
}
