/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Most programs write one line for an error: words, and behind each of them what it stands for. A
 * table has the words of such a line. How a number is written is a fact of the program, not of the
 * number: NCCL's "vendor err 81" is 0x51, ipoib's "vend_err 81" is 0x81.
 */
#ifndef WQE_DUMP_KEYS_H
#define WQE_DUMP_KEYS_H

#include "../scan/form.h"

/** enum key_value - what stands behind a word */
enum key_value {
	KEY_NONE,    /* the end of a table */
	KEY_DECIMAL, /* 0x in front says hexadecimal in spite of it */
	KEY_HEX,     /* with 0x or without */
	KEY_STATUS,  /* of verbs: its number, its name, its text; behind "" anywhere in the line */
	KEY_WORD,    /* text up to a blank, a comma or what closes a bracket */
};

/** struct key - a word, and what is behind it */
struct key {
	const char *word;
	enum key_value value;
	unsigned short number; /* offset of a struct number in struct record; 0: it is a field */
	const char *field;     /* its name */
};

/* For tables: of the record's own numbers, and of fields. */
#define DECIMAL(word, name)       { word, KEY_DECIMAL, offsetof(struct record, name), NULL }
#define HEX(word, name)           { word, KEY_HEX, offsetof(struct record, name), NULL }
#define STATUS(word)              { word, KEY_STATUS, 0, NULL }
#define FIELD_DECIMAL(word, name) { word, KEY_DECIMAL, 0, name }
#define FIELD_HEX(word, name)     { word, KEY_HEX, 0, name }
#define FIELD_WORD(word, name)    { word, KEY_WORD, 0, name }

#define KEYS_MAX 12

/** struct shape - one line that a program writes */
struct shape {
	const char *text; /* what tells it from other lines; its keys begin here */
	enum record_kind kind;
	enum record_side side;
	struct key keys[KEYS_MAX]; /* in the order of the line; only the first one must be there */
	/* What the table cannot say; may be NULL. */
	void (*finish)(struct record *record, const char *line);
};

/*
 * For tables: what kind of record it is, whose completion, the text, its keys; the second one has a
 * finish().
 */
#define LINE(kind, side, text, ...) { text, RECORD_##kind, SIDE_##side, { __VA_ARGS__ }, NULL }
#define LINE_WITH(finish, kind, side, text, ...)                                                   \
	{ text, RECORD_##kind, SIDE_##side, { __VA_ARGS__ }, finish }
#define NO_KEYS   { NULL, KEY_NONE, 0, NULL }
#define LAST_LINE { .text = NULL }

/** enum keys_answer - what a line was */
enum keys_answer {
	KEYS_OTHER, /* none of the shape */
	KEYS_FINE,  /* it tells of a success */
	KEYS_CUT,   /* its first key is not there, or no status or syndrome at all */
	KEYS_READ,
};

/**
 * keys_read() - reads a line of a shape
 * @record: filled, from zero
 *
 * A number that the end of the line may have cut is not taken.
 */
enum keys_answer keys_read(const struct line *line, const struct shape *shape,
			   struct record *record);

/** keys_find() - `word` where it is not within another one; NULL where it is not there */
const char *keys_find(const char *text, const char *word);

/**
 * keys_is_source() - whether a line is of a program, not of what it prints
 *
 * Sources name the same statuses, and have the same words with "%d" behind them.
 */
bool keys_is_source(const char *text);

/**
 * keys_number() - reads a number behind blanks, brackets and the like
 * @value: KEY_DECIMAL or KEY_HEX
 *
 * Return: what follows it, or NULL where there is none.
 */
const char *keys_number(const char *text, enum key_value value, uint64_t *number);

/**
 * keys_tell() - tells of a record that a line without bytes gave
 *
 * What cannot be of an mlx5 device (another one is named, the vendor's number is no byte) is told of
 * as of another NIC.
 */
void keys_tell(struct scan *scan, const struct line *line, struct record *record);

/**
 * keys_begin() - reads the first of several lines
 * @record: the form's state; its line is 0 until now
 *
 * Return: FORM_MORE where it is of the shape.
 */
enum form_answer keys_begin(struct scan *scan, const struct line *line, const struct shape *shape,
			    struct record *record);

/** keys_close() - the close() of a form whose state is the record, complete enough */
void keys_close(struct scan *scan, void *state);

/** keys_feed() - the feed() of a form that has only such lines; its shapes end with an empty one */
enum form_answer keys_feed(struct scan *scan, const struct line *line, const struct shape *shapes);

/* A form that has only such lines: its variable, its name, its shapes, its marks. */
#define KEYS_FORM(id, form_name, shapes, ...)                                                      \
	static const char *const id##_marks[] = { __VA_ARGS__, NULL };                             \
	static enum form_answer feed_##id(struct scan *scan, const struct line *line, void *state) \
	{                                                                                          \
		(void)state;                                                                       \
		return keys_feed(scan, line, shapes);                                              \
	}                                                                                          \
	const struct form form_##id = { .name = form_name, .marks = id##_marks, .feed = feed_##id }

#endif
