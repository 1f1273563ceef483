/* SPDX-License-Identifier: BSD-2-Clause */
#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Some programs write no blank between a number with 0x and the next word. */
static bool is_after_number(const char *text, const char *at)
{
	const char *digits = at;

	if (isxdigit((unsigned char)*at))
		return false;
	while (digits > text && isxdigit((unsigned char)digits[-1]))
		digits--;
	return digits < at && digits - text >= 2 && !strncmp(digits - 2, "0x", 2);
}

const char *text_find(const char *text, const char *word)
{
	const char *at = text;

	for (; (at = strstr(at, word)); at++)
		if (at == text || !text_is_word(at[-1]) || !text_is_word(*word) ||
		    is_after_number(text, at))
			return at;
	return NULL;
}

const char *text_number(const char *text, int base, uint64_t *number)
{
	const char *begin = text + strspn(text, TEXT_BETWEEN);
	const bool has_0x = begin[0] == '0' && (begin[1] | 0x20) == 'x';
	char *end;

	if (!isxdigit((unsigned char)begin[has_0x ? 2 : 0]))
		return NULL;
	errno = 0;
	*number = strtoull(begin, &end, has_0x ? 16 : base);
	if (end == begin || text_is_word(*end) || errno)
		return NULL;
	return end;
}

bool text_number_after(const char *text, const char *word, int base, uint64_t *number)
{
	const char *at = strstr(text, word);

	return at && text_number(at + strlen(word), base, number);
}

static bool has_format(const char *text)
{
	for (const char *c = strchr(text, '%'); c; c = strchr(c + 1, '%'))
		if (c[1] && strchr("diuxXsplz#", c[1]))
			return true;
	return false;
}

/* The character before the last blanks, or 0. */
static char last_character(const char *text)
{
	size_t len = strlen(text);

	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	return len ? text[len - 1] : '\0';
}

bool text_is_source(const char *text)
{
	static const char *const begins[] = { "case ", "return ",   "#define ", "if (",
					      "{ ",    "if status", "= \"" };
	const char last = last_character(text);

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (!strncmp(text, begins[i], strlen(begins[i])))
			return true;
	return last == ';' || last == '{' || (last == ',' && !strchr(text, ' ')) ||
	       strstr(text, "= IBV_WC_") || has_format(text);
}
