/* SPDX-License-Identifier: BSD-2-Clause */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../bytes/raw.h"

#define READ_BYTES   (256u << 10) /* small enough to stay in the cache */
#define JUDGED_BYTES 4096         /* that input_is_binary() judges by */

/* The line length of encoders that use soft breaks: RFC 2045 6.7 (5). */
#define MAIL_LINE_MIN 70
#define MAIL_LINE_MAX 76

int input_open(struct input *input, const char *path)
{
	const bool is_stdin = !strcmp(path, "-");
	struct stat stat;

	*input = (struct input){ .name = is_stdin ? "standard input" : path, .number = 1 };
	input->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (input->fd < 0)
		return -errno;
	input->is_file = !fstat(input->fd, &stat) && S_ISREG(stat.st_mode);
	input->buffer = need(malloc(INPUT_MAX_BYTES + 1));
	return 0;
}

void input_close(struct input *input)
{
	free(input->buffer);
	if (input->fd > STDIN_FILENO)
		close(input->fd);
}

/* Makes one byte of each UTF-16 unit, in place. Returns their number. */
static size_t narrow(struct input *input, char *bytes, size_t size)
{
	size_t out = 0;

	for (size_t i = 0; i < size; i++) {
		const char byte = bytes[i];
		const bool is_little = input->units == UNITS_OF_16_LITTLE;
		const char low = is_little ? input->half : byte;
		const char high = is_little ? byte : input->half;

		if (input->has_half)
			bytes[out++] = high || low & 0x80 ? '.' : low;
		input->half = byte;
		input->has_half = !input->has_half;
	}
	return out;
}

/* Appends what can be read at once; 0: nothing came, since is_at_end is set or there is no room. */
static long read_more(struct input *input)
{
	const size_t room = INPUT_MAX_BYTES - input->end;
	ssize_t got;

	if (input->is_at_end || !room)
		return 0;
	if (!input->is_file)
		fflush(stdout); /* reading may take a while: show what was found */
	do {
		got = read(input->fd, input->buffer + input->end,
			   room < READ_BYTES ? room : READ_BYTES);
		input->is_at_end = !got;
		if (got > 0 && input->units != UNITS_OF_8)
			got = (ssize_t)narrow(input, input->buffer + input->end, (size_t)got);
	} while ((got < 0 && errno == EINTR) || (!got && !input->is_at_end));
	if (got < 0)
		return -errno;
	input->end += (size_t)got;
	return got;
}

/* The same, but makes room first: drops what was read already. */
static long refill(struct input *input)
{
	if (input->begin && !input->is_at_end) {
		memmove(input->buffer, input->buffer + input->begin, input->end - input->begin);
		input->end -= input->begin;
		input->begin = 0;
	}
	return read_more(input);
}

static bool is_text(unsigned char c)
{
	return c >= ' ' ? c != 0x7f
			: c == '\n' || c == '\t' || c == '\r' || c == '\f' || c == '\033';
}

/* Three of four characters of a log are ASCII, and one of their two bytes is zero. */
static enum input_units judge_units(const char *bytes, size_t size)
{
	size_t little = 0, big = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		little += is_text((unsigned char)bytes[i]) && !bytes[i + 1];
		big += is_text((unsigned char)bytes[i + 1]) && !bytes[i];
	}
	if (little > size / 8 * 3)
		return UNITS_OF_16_LITTLE;
	return big > size / 8 * 3 ? UNITS_OF_16_BIG : UNITS_OF_8;
}

/* Converts the rest to one byte a character, without the byte order mark. */
static void begin_narrow(struct input *input, enum input_units units)
{
	char *bytes = input->buffer + input->begin;
	const char first = *bytes;

	input->units = units;
	input->end = input->begin + narrow(input, bytes, input->end - input->begin);
	input->begin += first == '\xff' || first == '\xfe';
}

int input_is_binary(struct input *input)
{
	size_t odd = 0, judged;
	enum input_units units;
	long got = 1;

	while (input->end - input->begin < JUDGED_BYTES && got > 0)
		got = refill(input);
	if (got < 0)
		return (int)got;
	judged = input->end - input->begin;
	if (judged > JUDGED_BYTES)
		judged = JUDGED_BYTES;
	units = judge_units(input->buffer + input->begin, judged);
	if (units != UNITS_OF_8) {
		begin_narrow(input, units);
		return 0;
	}
	for (size_t i = 0; i < judged; i++)
		odd += !is_text((unsigned char)input->buffer[input->begin + i]);
	return odd * 10 > judged;
}

/* Where a line ends that `from` is in, counted from `begin`; or -errno. @more gets what follows. */
static long find_end(struct input *input, size_t from, long (*more)(struct input *input),
		     bool *has_newline)
{
	for (;;) {
		const char *start = input->buffer + input->begin;
		const size_t there = input->end - input->begin;
		const char *newline =
			there > from ? memchr(start + from, '\n', there - from) : NULL;
		long got;

		*has_newline = newline != NULL;
		if (newline)
			return newline - start;
		from = there;
		got = more(input);
		if (got < 0)
			return got;
		if (!got) /* the line fills the buffer, or is the last one and has no end */
			return (long)there;
	}
}

/* Undoes =XX in place. */
static size_t decode_mail(char *text, size_t len)
{
	size_t out = 0;

	for (size_t i = 0; i < len; i++) {
		const int high = i + 2 < len && text[i] == '=' ? hex_digit(text[i + 1]) : -1;
		const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;

		if (low >= 0) {
			text[out++] = (char)(high << 4 | low);
			i += 2;
		} else {
			text[out++] = text[i];
		}
	}
	return out;
}

/* The length of the soft break after `len` bytes, `last` of them after the break before. */
static size_t soft_break_bytes(const char *text, size_t len, size_t last)
{
	const size_t cr = len && text[len - 1] == '\r';

	if (last < MAIL_LINE_MIN + cr || last > MAIL_LINE_MAX + cr || text[len - cr - 1] != '=')
		return 0;
	/* After an encoded end of line a new line begins; "==" ends base64. */
	return text[len - cr - 2] == '=' || !memcmp(text + len - cr - 4, "=0A", 3) ? 0 : 1 + cr;
}

/* Joins quoted-printable lines that end in "=": moves text up to that after the soft break. */
static long join_mail(struct input *input, long len, bool *has_newline)
{
	size_t last = (size_t)len, soft;

	while (*has_newline &&
	       (soft = soft_break_bytes(input->buffer + input->begin, (size_t)len, last))) {
		const size_t kept = (size_t)len - soft, gone = soft + 1;
		char *start = input->buffer + input->begin;

		memmove(start + gone, start, kept);
		input->begin += gone;
		len = find_end(input, kept, refill, has_newline);
		if (len < 0)
			return len;
		last = (size_t)len - kept;
		input->is_mail = true;
		input->number++;
	}
	return len;
}

/* Ends the text of a line with a NUL, without its carriage return. */
static void close_line(struct line *line)
{
	if (line->len && line->text[line->len - 1] == '\r')
		line->len--;
	line->text[line->len] = '\0';
}

/* Some mailers also encode the end of a line, and then break it softly. */
static bool strip_encoded_end(struct line *line)
{
	static const char *const ends[] = { "=0D=0A=", "=0A=", "=0D" };
	const char last = line->len ? line->text[line->len - 1] : '\0';

	if (last != '=' && last != 'D')
		return false;
	for (unsigned i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		const size_t n = strlen(ends[i]);

		if (line->len < n || memcmp(line->text + line->len - n, ends[i], n))
			continue;
		line->len -= n;
		line->text[line->len] = '\0';
		return true;
	}
	return false;
}

/* A header of the mail says how it is encoded. Without it, soft line breaks show that. */
static void note_encoding(struct input *input, const struct line *line)
{
	static const char header[] = "Content-Transfer-Encoding: ";
	const size_t len = sizeof(header) - 1;

	if (line->len > len && !strncasecmp(line->text, header, len))
		input->is_mail = !strncasecmp(line->text + len, "quoted-printable", 16);
}

int input_next(struct input *input, struct line *line)
{
	const unsigned long number = input->number;
	bool has_newline;
	long len = find_end(input, 0, refill, &has_newline);

	if (len > 0)
		len = join_mail(input, len, &has_newline);
	if (len < 0)
		return (int)len;
	if (!len && !has_newline)
		return 0;
	*line = (struct line){ .text = input->buffer + input->begin,
			       .len = (size_t)len,
			       .number = number };
	input->begin += (size_t)len + has_newline;
	input->number += has_newline;
	close_line(line);
	if (strip_encoded_end(line))
		input->is_mail = true;
	if (input->is_mail)
		line->len = decode_mail(line->text, line->len);
	line->text[line->len] = '\0';
	note_encoding(input, line);
	return 1;
}

bool input_ahead(struct input *input, unsigned nth, char *text, size_t size)
{
	struct line line = { .text = text };
	bool has_newline = true;
	size_t from = 0;
	long end = -1;

	for (; nth && has_newline; nth--) {
		from = (size_t)(end + 1);
		end = find_end(input, from, read_more, &has_newline);
		if (end < 0)
			return false;
	}
	line.len = (size_t)end - from;
	if (nth || (!has_newline && !(input->is_at_end && line.len)) || line.len >= size)
		return false;
	memcpy(text, input->buffer + input->begin + from, line.len);
	close_line(&line);
	if (input->is_mail) {
		strip_encoded_end(&line);
		if (line.len && text[line.len - 1] == '=')
			return false; /* the line ends in a soft break, too */
		line.len = decode_mail(text, line.len);
		text[line.len] = '\0';
	}
	return true;
}

long input_bytes(struct input *input, const uint8_t **bytes)
{
	long got = 1;
	size_t size;

	while (input->end - input->begin < INPUT_MAX_BYTES && got > 0)
		got = refill(input);
	if (got < 0)
		return got;
	size = input->end - input->begin;
	*bytes = (const uint8_t *)input->buffer + input->begin;
	input->begin = input->end;
	return (long)size;
}
