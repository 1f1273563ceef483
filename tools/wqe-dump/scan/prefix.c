/* SPDX-License-Identifier: BSD-2-Clause */
#include "prefix.h"

#include <ctype.h>
#include <string.h>

#define BRACKET_MAX 96

/* Each function below returns the length of a prefix that `text` begins with, or 0. */

static size_t digits(const char *text)
{
	return strspn(text, "0123456789");
}

/* A word and the blanks after it; 0 if nothing follows. */
static size_t word(const char *text)
{
	const size_t len = strcspn(text, " \t");
	const size_t blanks = strspn(text + len, " \t");

	return blanks ? len + blanks : 0;
}

static size_t quote(const char *text)
{
	return *text == '>' ? 1 + (text[1] == ' ') : 0;
}

/* <4> of the kernel's levels */
static size_t level(const char *text)
{
	const size_t n = *text == '<' ? digits(text + 1) : 0;

	return n && text[1 + n] == '>' ? n + 2 : 0;
}

/* 18:58:01, with fractions and zone */
static size_t clock_time(const char *text)
{
	if (digits(text) != 2 || text[2] != ':' || digits(text + 3) != 2 || text[5] != ':' ||
	    digits(text + 6) < 2)
		return 0;
	return word(text);
}

/* 2026-11-21, with the time after a T or a blank */
static size_t iso_date(const char *text)
{
	const size_t year = digits(text);

	if (year != 4 || (text[4] != '-' && text[4] != '/') || digits(text + 5) != 2 ||
	    text[7] != text[4] || digits(text + 8) != 2)
		return 0;
	return word(text);
}

/* Nov 21 18:58:01, perhaps after a day of the week */
static size_t old_date(const char *text)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	const bool has_day = *text && strchr("MTWFS", *text) && strnlen(text, 4) == 4 &&
			     text[3] == ' ' && isalpha((unsigned char)text[4]);
	size_t used = has_day ? 4 : 0;
	char month[4] = "";

	strncpy(month, text + used, 3);
	if (strlen(month) < 3 || !strstr(months, month) || text[used + 3] != ' ')
		return 0;
	used += 3 + strspn(text + used + 3, " ");
	if (!digits(text + used))
		return 0;
	used += digits(text + used);
	used += strspn(text + used, " ");
	return clock_time(text + used) ? used + clock_time(text + used) : 0;
}

static size_t any_time(const char *text)
{
	size_t n = iso_date(text);

	if (!n)
		n = old_date(text);
	return n ? n : clock_time(text);
}

/* People often copy a log without its first bracket: host:7:8] */
static size_t half_bracket(const char *text)
{
	const size_t len = strcspn(text, " \t[](\"");

	return text[len] == ']' && memchr(text, text[0] > '9' ? ':' : '.', len) ? len + 1 : 0;
}

/* [12.345678] and the like, [rank0]: [1,0]<stderr>: */
static size_t bracket(const char *text)
{
	size_t len = *text == '[' ? strcspn(text, "]") + 1 : half_bracket(text);

	if (!len || len > BRACKET_MAX || text[len - 1] != ']')
		return 0;
	if (!strncmp(text + len, "<std", 4) && strchr(text + len, '>'))
		len += strcspn(text + len, ">") + 1;
	return len + (text[len] == ':');
}

/* "Nov21 18:58", as dmesg writes the first time of a minute where the others are relative. */
static bool is_minute(const char *text)
{
	const size_t month = strcspn(text, "0123456789 ");
	const char *day = text + month + strspn(text + month, " ");
	const size_t n = digits(day);

	return month == 3 && n && day[n] == ' ' && digits(day + n + 1) == 2 && day[n + 3] == ':';
}

/*
 * Such a bracket has a time, or a number that may count the lines: both differ from line to line. A
 * time may be relative to the line before, as dmesg has it: [  +0.000002], [<    0.000002>].
 */
static bool bracket_names_nobody(const char *text)
{
	const char *inside = text + strspn(text, "[ <+");
	const size_t n = digits(inside);

	return any_time(inside) || is_minute(inside) ||
	       (n && (inside[n] == '.' || inside[n] == ']'));
}

/* kernel: or program[123]: */
static size_t tag(const char *text)
{
	const size_t len = strcspn(text, " \t[:");
	size_t n;

	if (!strncmp(text, "kernel: ", 8))
		return 8;
	if (!len || text[len] != '[')
		return 0;
	n = digits(text + len + 1);
	return n && !strncmp(text + len + 1 + n, "]: ", 3) ? len + n + 4 : 0;
}

/* host before such a tag */
static size_t host(const char *text)
{
	const size_t len = word(text);

	return len && tag(text + len) ? len + tag(text + len) : 0;
}

/* NCCL: host:pid:thread */
static size_t process(const char *text)
{
	const size_t len = strcspn(text, " \t:");
	size_t used, n;

	if (!len || text[len] != ':')
		return 0;
	used = len + 1;
	n = digits(text + used);
	if (!n || text[used + n] != ':')
		return 0;
	used += n + 1;
	n = digits(text + used);
	return n && text[used + n] == ' ' ? used + n + 1 : 0;
}

/* Containers: stderr F */
static size_t container(const char *text)
{
	if (strncmp(text, "stderr ", 7) && strncmp(text, "stdout ", 7))
		return 0;
	return (text[7] == 'F' || text[7] == 'P') && text[8] == ' ' ? 9 : 0;
}

/* Of a web page: <br>, </span> ... */
static size_t page_tag(const char *text)
{
	static const char *const names[] = { "br", "p",    "pre", "span", "div", "code",
					     "li", "font", "tt",  "td",   "tr",  "blockquote" };
	const char *name = text, *end;
	size_t len;

	if (*name++ != '<')
		return 0;
	name += *name == '/';
	len = strspn(name, "abcdefghijklmnopqrstuvwxyz");
	end = name + len + strcspn(name + len, "<>");
	if (*end != '>' || (end > name + len && name[len] != ' ' && name[len] != '/'))
		return 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == len && !strncmp(name, names[i], len))
			return (size_t)(end + 1 - text);
	return 0;
}

/* Jenkins' one-at-a-time hash, without its last steps. */
static uint32_t mix(uint32_t hash, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		hash += (unsigned char)text[i];
		hash += hash << 10;
		hash ^= hash >> 6;
	}
	return hash;
}

/* The length of one more prefix, or 0. */
static size_t strip_one(struct line *line)
{
	size_t (*const names[])(const char *) = { tag, host, process };
	const char *text = line->text;
	size_t n = quote(text);

	if (!n)
		n = level(text);
	if (!n)
		n = any_time(text);
	if (!n)
		n = container(text);
	if (!n)
		n = page_tag(text);
	if (n)
		return n;
	n = bracket(text);
	if (n && bracket_names_nobody(text))
		return n;
	for (size_t i = 0; !n && i < sizeof(names) / sizeof(names[0]); i++)
		n = names[i](text);
	line->stream = mix(line->stream, text + (*text == '['), n - (n && *text == '['));
	return n;
}

static void drop(struct line *line, size_t n)
{
	line->text += n;
	line->len -= n;
}

void prefix_strip(struct line *line)
{
	size_t n;

	do {
		drop(line, strspn(line->text, " \t"));
		n = strip_one(line);
		drop(line, n);
	} while (n);
}

bool prefix_strip_quote(struct line *line)
{
	bool has_tag = false;
	size_t n;

	do {
		drop(line, strspn(line->text, " \t>#\"'"));
		n = page_tag(line->text);
		has_tag |= n;
		drop(line, n);
	} while (n);
	return *line->text ? !strip_one(line) : has_tag;
}

/* "[1700000001.300002] " */
static bool is_stamp(const char *text)
{
	const char *inside = text + 1 + strspn(text + 1, " +");
	const size_t whole = digits(inside);
	size_t fraction;

	if (!whole || inside[whole] != '.')
		return false;
	fraction = digits(inside + whole + 1);
	return fraction > 2 && !strncmp(inside + whole + 1 + fraction, "] ", 2);
}

/* "[node-7:683:0:683] ib_mlx5_log.c:177", where UCX writes no time */
static bool is_ucx_process(const char *text)
{
	const size_t len = strcspn(text, "] ");
	const char *colon;

	if (strncmp(text + len, "] ", 2) || !memchr(text, ':', len))
		return false;
	colon = text + len + 2;
	colon += strcspn(colon, " :");
	return *colon == ':' && !strncmp(colon - 2, ".c", 2) && digits(colon + 1);
}

char *prefix_next(const struct line *line)
{
	char *at = strchr(line->text, '[');

	while (at && (at == line->text || !(is_stamp(at) || is_ucx_process(at))))
		at = strchr(at + 1, '[');
	return at;
}
