/* SPDX-License-Identifier: BSD-2-Clause */
/* A file, standard input or a pipe as a stream of lines, in bounded memory however long they are. */
#ifndef WQE_DUMP_INPUT_H
#define WQE_DUMP_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A line longer than this comes in pieces, which have the same number. */
#define INPUT_MAX_BYTES (4u << 20)

/** struct line - a line, valid until the next one is asked for */
struct line {
	char *text;           /* without its end; a NUL follows, and there may be others in it */
	size_t len;           /* bytes */
	unsigned long number; /* in the input, from 1 */
	uint32_t stream;      /* lines of one writer in a merged log have the same number */
};

/** struct input - where lines come from */
struct input {
	const char *name; /* for messages */
	int fd;
	char *buffer; /* and room for a NUL behind it */
	size_t begin, end;
	unsigned long number; /* of the line that begins at `begin` */
	bool is_at_end;       /* nothing more can be read */
	bool is_file;         /* reading it does not wait for anybody */
	bool is_mail;         /* lines are quoted-printable */
};

/**
 * input_open() - opens a file
 * @input: filled
 * @path: its name; "-" is standard input
 *
 * Return: 0, or -errno.
 */
int input_open(struct input *input, const char *path);

/** input_from_memory() - the same over bytes that are copied */
int input_from_memory(struct input *input, const void *bytes, size_t size);

void input_close(struct input *input);

/**
 * input_is_binary() - whether it is bytes rather than text, judged by how it begins
 *
 * Return: 1, 0, or -errno.
 */
int input_is_binary(struct input *input);

/**
 * input_next() - the next line, or piece of a line
 *
 * Soft line breaks of quoted-printable mail are undone; a carriage return at the end is dropped.
 * Return: 1, 0 at the end, or -errno.
 */
int input_next(struct input *input, struct line *line);

/**
 * input_ahead() - a copy of a line that follows, which is still to be read
 * @nth: 1 is the one that input_next() gives next
 * @text: filled, and ended with a NUL
 *
 * The line that was read last stays valid. Waits for the line where it is not there yet.
 * Return: false where there is none, or none of less than @size bytes.
 */
bool input_ahead(struct input *input, unsigned nth, char *text, size_t size);

/**
 * input_bytes() - what follows, as bytes
 * @bytes: valid until the next call
 *
 * Return: how many, at most INPUT_MAX_BYTES; 0 at the end; or -errno.
 */
long input_bytes(struct input *input, const uint8_t **bytes);

#endif
