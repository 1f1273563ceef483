/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files of the kernel below a root folder, which has proc/ and sys/: "" is this host, any other is
 * a recorded one. Their text is not trusted: bytes that do not print become '?'.
 */
#ifndef BSN_INFO_ROOT_H
#define BSN_INFO_ROOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ROOT_TEXT = 4096 }; /* a file of sysfs has a page at most */

/*
 * Reads a file as text, without white space at its end. @format is its name below the root, as of
 * printf(). Text that does not fit is cut off. Returns the length, or -errno with an empty @text.
 */
int root_read(const char *root, char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Reads a file as bytes, unchanged. Returns their number, or -errno. */
int root_bytes(const char *root, void *bytes, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Reads a file that has one number without a sign. False: it has not, or cannot be read. */
bool root_number(const char *root, uint64_t *number, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

bool root_exists(const char *root, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct names {
	unsigned count;
	char **list;
};

/*
 * Lists a folder, numbers in their order. Hidden files are left out, and so are names with
 * characters other than the kernel's: letters, digits, and - _ . : @. Returns 0 or -errno; call
 * names_free() in either case.
 */
int root_list(const char *root, struct names *names, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void names_free(struct names *names);

/* -- sets of CPUs ------------------------------------------------------------------------------ */

enum { CPUS_MAX = 8192 }; /* the most that Linux can be built for */

struct cpus {
	uint64_t words[CPUS_MAX / 64];
};

/* Parses a list as "0-3,8"; empty is an empty set. False: @text is no list. */
bool cpus_parse(struct cpus *cpus, const char *text);
bool cpus_have(const struct cpus *cpus, unsigned cpu);
bool cpus_meet(const struct cpus *some, const struct cpus *others);
bool cpus_are_within(const struct cpus *some, const struct cpus *others);

#endif
