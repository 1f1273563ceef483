/* SPDX-License-Identifier: BSD-2-Clause */
#include "other_nic.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "../text/text.h"

/*
 * Whether a name is also an English word. Such a name counts only if a device's address or more of
 * a name follows.
 */
static bool is_english(const char *name)
{
	return !strcmp(name, "ice") || !strcmp(name, "ionic") || !strcmp(name, "mana");
}

/* Names of this length also begin names of functions: bnxt_re_poll_cq(). */
#define FUNCTIONS_MIN 5

/*
 * Whether a text begins with a name, alone or with a number (bnxt_re0, rdmap16s27), or with the
 * name of one of the driver's functions.
 */
static bool is_name(const char *text, const char *name)
{
	const size_t len = strlen(name);
	size_t digits;

	if (strncmp(text, name, len))
		return false;
	if (is_english(name) && text[len] != '_' && strncmp(text + len, " 0000:", 6))
		return false;
	if (text[len] == '_' && len >= FUNCTIONS_MIN && islower((unsigned char)text[len + 1]))
		return true;
	text += len + (text[len] == '_');
	digits = strspn(text, "0123456789");
	return digits || (text[-1] != '_' && !text_is_word(*text));
}

static const char *name_at(const char *text)
{
#define DRIVER(name, mark) name,
#define DEVICE(name)       name,
	static const char *const names[] = { OTHER_NICS(DRIVER, DEVICE) };
#undef DRIVER
#undef DEVICE
	static size_t ends[UCHAR_MAX + 1]; /* one past the last name with this initial */
	const size_t count = sizeof(names) / sizeof(names[0]);

	if (!ends[(unsigned char)*names[0]])
		for (size_t i = 0; i < count; i++)
			ends[(unsigned char)*names[i]] = i + 1;
	for (size_t i = ends[(unsigned char)*text]; i && *names[i - 1] == *text; i--)
		if (is_name(text, names[i - 1]))
			return names[i - 1];
	return NULL;
}

const char *other_nic_in(const char *text)
{
	const char *name = name_at(text);

	while (*text && !name) {
		text = text_next_word(text);
		name = name_at(text);
	}
	return name;
}
