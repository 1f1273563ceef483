/* SPDX-License-Identifier: BSD-2-Clause */
#include "prefix.h"

#include <stdlib.h>
#include <string.h>

/* How pages write a character: X(as it is written, the character); 0: it is dropped */
#define STAND_INS(X)                                                                               \
	X("&gt;", '>')                                                                             \
	X("&lt;", '<')                                                                             \
	X("&amp;", '&')                                                                            \
	X("&quot;", '"')                                                                           \
	X("&apos;", '\'')                                                                          \
	X("&nbsp;", ' ')                                                                           \
	X("\u00a0", ' ')  /* no-break space */                                                     \
	X("\u00d7", 'x')  /* multiplication sign */                                                \
	X("\u2018", '\'') /* single quotation marks */                                             \
	X("\u2019", '\'')                                                                          \
	X("\u201c", '"') /* double quotation marks */                                              \
	X("\u201d", '"')                                                                           \
	X("\u202f", ' ') /* narrow no-break space */                                               \
	X("\u200b", 0)   /* zero width space */                                                    \
	X("\ufeff", 0)   /* byte order mark */

static const struct stand_in {
	const char *text;
	unsigned char len;
	char is;
} stand_ins[] = {
#define STAND_IN(text, is) { text, sizeof(text) - 1, is },
	STAND_INS(STAND_IN)
};

/* The length of "&#62;" or "&#x3e;", and the ASCII character that it names; 0: it is none. */
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
		if (strncmp(text, stand_ins[i].text, stand_ins[i].len))
			continue;
		*is = stand_ins[i].is;
		return stand_ins[i].len;
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
