/* SPDX-License-Identifier: BSD-2-Clause */
/* A file, standard input or a pipe as lines, which may be long: memory is bounded. */
#ifndef WQE_DUMP_INPUT_H
#define WQE_DUMP_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../text/text.h"

/* A longer line comes in parts, which have one line number. */
#define INPUT_MAX_BYTES (4u << 20)

/** enum input_units - what characters are made of: Windows' shells write UTF-16 */
enum input_units { UNITS_OF_8, UNITS_OF_16_LITTLE, UNITS_OF_16_BIG };

/** struct input - where lines come from */
struct input {
	const char *name; /* for messages */
	int fd;
	char *buffer; /* one byte longer, for a NUL */
	size_t begin, end;
	unsigned long number; /* of the line that begins at `begin` */
	bool is_at_end;       /* nothing more can be read */
	bool is_file;         /* reads never wait for a writer */
	bool is_mail;         /* lines are quoted-printable */
	enum input_units units;
	bool has_half; /* UTF-16: the first byte of a character; the second did not come yet */
	char half;
};

/** input_open() - opens a file, or for "-" standard input; 0, or -errno */
int input_open(struct input *input, const char *path);

void input_close(struct input *input);

/**
 * input_is_binary() - 1 if the input begins with bytes, 0 with text; or -errno
 *
 * UTF-16 is text. From here on it is read as one byte a character, and what ASCII lacks as dots.
 */
int input_is_binary(struct input *input);

/**
 * input_next() - the next line, or piece of a line: 1, 0 at the end, or -errno
 *
 * Soft line breaks of quoted-printable mail are undone; a carriage return at the end is dropped.
 */
int input_next(struct input *input, struct line *line);

/**
 * input_ahead() - copies a line that is still to be read; the last one stays valid
 * @nth: 1 is the one that input_next() gives next
 *
 * Return: false: there is none, or it does not fit into @size bytes with a NUL.
 */
bool input_ahead(struct input *input, unsigned nth, char *text, size_t size);

/** input_bytes() - the next bytes, INPUT_MAX_BYTES at most, up to the next call; or -errno */
long input_bytes(struct input *input, const uint8_t **bytes);

/* -- what loggers, mailers, web pages and word processors make of a line ----------------------- */

/** markup_undo() - makes HTML's "&gt;", typographic quotes and the like what the program printed */
void markup_undo(struct line *line);

/**
 * prefix_strip() - takes off what loggers put before a line
 *
 * Knows the kernel, the journal, syslog, containers, mpirun, srun, NCCL, UCX and quotes of mail.
 * Who wrote the line (host, process, rank) becomes its stream; times do not count.
 */
void prefix_strip(struct line *line);

/* The prefix of a second message in a stripped line, of programs that share a terminal; or NULL */
char *prefix_next(const struct line *line);

/**
 * prefix_strip_quote() - takes off marks of mail, comments and strings, tags of a page, blanks
 *
 * Return: false: the rest is empty or has a logger's prefix, and so is a line of its own.
 */
bool prefix_strip_quote(struct line *line);

#endif
