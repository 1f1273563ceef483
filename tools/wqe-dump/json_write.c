/* SPDX-License-Identifier: BSD-2-Clause */
#include "json_write.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define NUMBER_BYTES 24 /* 20 digits at most */

static bool follows; /* something before it in the object or list */

static void put(const char *text)
{
	fputs(text, stdout);
}

static void put_escaped(unsigned char c)
{
	if (c == '"' || c == '\\')
		printf("\\%c", c);
	else
		printf("\\u%04x", c);
}

static bool is_plain(unsigned char c)
{
	return c >= ' ' && c != '"' && c != '\\';
}

static void put_string(const char *text)
{
	putchar('"');
	while (*text) {
		size_t len = 0;

		while (is_plain((unsigned char)text[len]))
			len++;
		fwrite(text, 1, len, stdout);
		text += len;
		if (*text)
			put_escaped((unsigned char)*text++);
	}
	putchar('"');
}

static void put_key(const char *key)
{
	put(follows ? ", " : " ");
	follows = true;
	if (!key)
		return;
	put_string(key);
	put(": ");
}

void json_begin(void)
{
	putchar('{');
	follows = false;
}

static void open_level(const char *key, const char *bracket)
{
	put_key(key);
	put(bracket);
	follows = false;
}

static void close_level(const char *bracket)
{
	put(bracket);
	follows = true;
}

void json_open_object(const char *key)
{
	open_level(key, "{");
}

void json_close_object(void)
{
	close_level(" }");
}

void json_open_list(const char *key)
{
	open_level(key, "[");
}

void json_close_list(void)
{
	close_level(" ]");
}

void json_string(const char *key, const char *text)
{
	put_key(key);
	put_string(text);
}

void json_number(const char *key, uint64_t value)
{
	char text[NUMBER_BYTES], *digit = text + sizeof(text) - 1;

	*digit = '\0';
	do
		*--digit = (char)('0' + value % 10);
	while (value /= 10);
	put_key(key);
	put(digit);
}

void json_hex(const char *key, const uint8_t *bytes, size_t size)
{
	static const char digits[] = "0123456789abcdef";

	put_key(key);
	putchar('"');
	for (size_t i = 0; i < size; i++) {
		putchar(digits[bytes[i] >> 4]);
		putchar(digits[bytes[i] & 15]);
	}
	putchar('"');
}

void json_raw(const char *key, const char *text)
{
	put_key(key);
	put(text);
}
