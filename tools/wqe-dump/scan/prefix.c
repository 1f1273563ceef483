/* SPDX-License-Identifier: BSD-2-Clause */
#include "input.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* -- characters -------------------------------------------------------------------------------- */

/* How pages write a character; 0: it is dropped */
static const struct {
	const char *text;
	char is;
} stand_ins[] = {
	{ "&gt;", '>' },    { "&lt;", '<' },    { "&amp;", '&' },
	{ "&quot;", '"' },  { "&apos;", '\'' }, { "&nbsp;", ' ' },
	{ "\u00a0", ' ' }, /* no-break space */
	{ "\u00d7", 'x' }, /* multiplication sign */
	{ "\u2018", '\'' }, { "\u2019", '\'' }, /* single quotation marks */
	{ "\u201c", '"' },  { "\u201d", '"' },  /* double quotation marks */
	{ "\u202f", ' ' }, /* narrow no-break space */
	{ "\u200b", 0 },   /* zero width space */
	{ "\ufeff", 0 },   /* byte order mark */
};

/* The length of "&#62;" or "&#x3e;", and its ASCII character; 0: it is none. */
static size_t numbered(const char *text, char *is)
{
	const bool is_hex = !strncmp(text, "&#x", 3);
	unsigned long code;
	char *end;

	if (strncmp(text, "&#", 2))
		return 0;
	code = strtoul(text + 2 + is_hex, &end, is_hex ? 16 : 10);
	if (*end != ';' || code < ' ' || code > '~')
		return 0;
	*is = (char)code;
	return (size_t)(end + 1 - text);
}

/* The length of the code of another character; 0: the text is literal. */
static size_t find_stand_in(const char *text, char *is)
{
	for (size_t i = 0; i < sizeof(stand_ins) / sizeof(stand_ins[0]); i++) {
		const size_t len = strlen(stand_ins[i].text);

		*is = stand_ins[i].is;
		if (!strncmp(text, stand_ins[i].text, len))
			return len;
	}
	return numbered(text, is);
}

void markup_undo(struct line *line)
{
	char *text = line->text;
	size_t out = 0;

	for (size_t in = 0; in < line->len;) {
		const bool is_special = text[in] == '&' || (unsigned char)text[in] >= 0x80;
		char is = 0;
		const size_t len = is_special ? find_stand_in(text + in, &is) : 0;

		if (!len)
			text[out++] = text[in++];
		else if (is)
			text[out++] = is;
		in += len;
	}
	line->len = out;
	text[out] = '\0';
}

/* -- patterns ---------------------------------------------------------------------------------- */

#define BLANKS " \t"
#define DIGITS "0123456789"

/* The length of the text that a character of a pattern matches; -1: it does not match. */
static long span(const char *text, char c)
{
	switch (c) {
	case '9': /* a digit */
		return isdigit((unsigned char)*text) ? 1 : -1;
	case 'a': /* a letter */
		return isalpha((unsigned char)*text) ? 1 : -1;
	case '#': /* a number */
		return isdigit((unsigned char)*text) ? (long)strspn(text, DIGITS) : -1;
	case '_': /* blanks */
		return strchr(BLANKS, *text) && *text ? (long)strspn(text, BLANKS) : -1;
	case '*': /* blanks, or none */
		return (long)strspn(text, BLANKS);
	case '~': /* the rest of a word, or nothing */
		return (long)strcspn(text, BLANKS);
	case '$': /* a name, without a bracket */
		return strchr(BLANKS "[:", *text) ? -1 : (long)strcspn(text, BLANKS "[:");
	default:
		return *text == c ? 1 : -1;
	}
}

/* The length of the text that the first matching pattern matches; 0: none matches. */
static size_t match_any(const char *text, const char *const *patterns)
{
	for (; *patterns; patterns++) {
		const char *at = text, *c = *patterns;
		long n = 0;

		for (; *c && n >= 0; c++)
			if ((n = span(at, *c)) > 0)
				at += n;
		if (n >= 0)
			return (size_t)(at - text);
	}
	return 0;
}
#define MATCH(text, ...) match_any(text, (const char *const[]){ __VA_ARGS__, NULL })

#define TIMES                                                                                      \
	"9999-99-99~_", "9999/99/99~_", /* with the time after a T or a blank */                   \
		"aaa_#_99:99:99~_", "aaa aaa_#_99:99:99~_", "99:99:99~_"

/* What says when a line was written, or who quotes it: of mail, the kernel's levels, containers */
static const char *const of_nobody[] = { "> ",        ">",         "<#>",       TIMES, "stderr F ",
					 "stderr P ", "stdout F ", "stdout P ", NULL };

/* What says who wrote a line: program[123]: after a host or not; NCCL's host:pid:thread */
static const char *const of_writer[] = { "kernel:_", "$[#]:_", "~_kernel:_",
					 "~_$[#]:_", "$:#:# ", NULL };

/*
 * What is in a bracket that differs from line to line: a time, or a number that may count the
 * lines. dmesg writes "[Nov21 18:58]" for the first line of a minute, and "[  +0.000002]" or
 * "[<    0.000002>]" for the others.
 */
static const char *const in_brackets[] = { TIMES, "aaa*# 99:", "#.", "#]", NULL };

#define BRACKET_MAX 96

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
	const char *text = line->text;
	size_t n = match_any(text, of_nobody);

	if (!n)
		n = page_tag(text);
	if (n)
		return n;
	n = bracket(text);
	if (n && match_any(text + strspn(text, "[ <+"), in_brackets))
		return n;
	if (!n)
		n = match_any(text, of_writer);
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

/* Whether "[1700000001.300002] " or "[node-7:683:0:683] file.c:177" begins a message of UCX. */
static bool begins_message(const char *text)
{
	const size_t process = strcspn(text, "] ");

	if (MATCH(text + 1 + strspn(text + 1, " +"), "#.999"))
		return !strncmp(text + strcspn(text, "]"), "] ", 2);
	return memchr(text, ':', process) && MATCH(text + process, "] $:#") &&
	       !strncmp(text + process + strcspn(text + process, ":") - 2, ".c", 2);
}

char *prefix_next(const struct line *line)
{
	char *at = strchr(line->text, '[');

	while (at && (at == line->text || !begins_message(at)))
		at = strchr(at + 1, '[');
	return at;
}
