/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files of the kernel below a root folder: "" is this host, else a recorded one, with proc/ and
 * sys/ in it. Whatever is in them is taken for text of a stranger: bytes that do not print become
 * '?'.
 */
#ifndef BSN_INFO_ROOT_H
#define BSN_INFO_ROOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ROOT_TEXT = 4096 }; /* what a file of sysfs holds at the most: a page */

/*
 * The file as text, without what is white at its end; the name is printf-like, below the root.
 * Returns its length, or -errno; @text is a string in any case. What does not fit is left out.
 */
int root_read(const char *root, char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The same of bytes, as they are. */
int root_bytes(const char *root, void *bytes, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* A file that is one number without a sign, and nothing else. */
bool root_number(const char *root, uint64_t *number, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

bool root_exists(const char *root, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct names {
	unsigned count;
	char **list;
};

/*
 * What a folder has, numbers in their order; no hidden files, and no names that the kernel does not
 * give (letters, digits, and - _ . : @). Returns 0 or -errno; names_free() in any case.
 */
int root_list(const char *root, struct names *names, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void names_free(struct names *names);

/* -- sets of CPUs ------------------------------------------------------------------------------ */

enum { CPUS_MAX = 8192 }; /* what Linux can be built for */

struct cpus {
	uint64_t words[CPUS_MAX / 64];
};

/* "0-3,8": false if that is not what @text says. An empty one is an empty set. */
bool cpus_parse(struct cpus *cpus, const char *text);
bool cpus_have(const struct cpus *cpus, unsigned cpu);
bool cpus_meet(const struct cpus *some, const struct cpus *others);
bool cpus_are_within(const struct cpus *some, const struct cpus *others);

#endif
