/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Most programs write one line for an error: words, each followed by its value. A table lists the
 * words of such a line. The base of a number depends on the program: NCCL's "vendor err 81" is
 * 0x51, ipoib's "vend_err 81" is 0x81.
 */
#ifndef WQE_DUMP_KEYS_H
#define WQE_DUMP_KEYS_H

#include "form.h"

/** enum key_value - what follows a word */
enum key_value {
	KEY_NONE,    /* the end of a table */
	KEY_DECIMAL, /* decimal, unless it begins with 0x */
	KEY_HEX,     /* with 0x or without */
	KEY_STATUS,  /* a verbs status: number, name or text; of the word "": anywhere */
	KEY_WORD,    /* text up to a blank, a comma or a closing bracket */
	KEY_NOTHING, /* the word ends the line; without it, a number at the end was cut off */
};

/** struct key - a word, and what follows it */
struct key {
	const char *word;
	enum key_value value;
	unsigned short number; /* offset of a struct number in struct record; 0: a field */
	const char *field;     /* its name */
};

/* For tables: of the record's own numbers, and of fields. */
#define DECIMAL(word, name)       { word, KEY_DECIMAL, offsetof(struct record, name), NULL }
#define HEX(word, name)           { word, KEY_HEX, offsetof(struct record, name), NULL }
#define VENDOR(word)              HEX(word, vendor_syndrome)
#define VENDOR_DECIMAL(word)      DECIMAL(word, vendor_syndrome)
#define STATUS(word)              { word, KEY_STATUS, 0, NULL }
#define FIELD_DECIMAL(word, name) { word, KEY_DECIMAL, 0, name }
#define FIELD_HEX(word, name)     { word, KEY_HEX, 0, name }
#define FIELD_WORD(word, name)    { word, KEY_WORD, 0, name }
#define NO_VALUE(word)            { word, KEY_NOTHING, 0, NULL }

/** key_number() - the number of a record that a key is about; not of a field */
static inline struct number *key_number(struct record *record, const struct key *key)
{
	return (struct number *)((char *)record + key->number);
}

#define KEYS_MAX 12

/** struct shape - a line that a program writes */
struct shape {
	const char *text; /* marks the line; keys come after it. "": of any program */
	enum record_kind kind;
	enum record_side side;
	struct key keys[KEYS_MAX]; /* in the line's order; only the first must be there */
	/* Adds what the table cannot say, or NULL. */
	void (*finish)(struct record *record, const char *line);
	const char *says; /* the record's status; NULL: a key has it, or finish() does */
};

/* For tables: kind of record, side of the completion, text, keys; and finish(), or a status. */
#define LINE(kind, side, text, ...) LINE_WITH(NULL, kind, side, text, __VA_ARGS__)
#define LINE_WITH(finish, kind, side, text, ...)                                                   \
	{ text, RECORD_##kind, SIDE_##side, { __VA_ARGS__ }, finish, NULL }
#define LINE_SAYS(says, kind, side, text, ...)                                                     \
	{ text, RECORD_##kind, SIDE_##side, { __VA_ARGS__ }, NULL, says }
#define ERROR(text, ...)      LINE(STATUS, UNKNOWN, text, __VA_ARGS__)
#define SEND_ERROR(text, ...) LINE(STATUS, REQUESTER, text, __VA_ARGS__)
#define RECV_ERROR(text, ...) LINE(STATUS, RESPONDER, text, __VA_ARGS__)
#define NO_KEYS   { NULL, KEY_NONE, 0, NULL }
#define LAST_LINE { .text = NULL }

/** enum read_answer - how a line fits a shape */
enum read_answer {
	READ_OTHER, /* it does not */
	READ_FINE,  /* it reports a success */
	READ_CUT,   /* it does, but something is missing */
	READ_WELL,
};

/** keys_read() - makes a record of a line, without a number that the line's end may have cut */
enum read_answer keys_read(const struct line *line, const struct shape *shape,
			   struct record *record);

/**
 * keys_tell() - tells of a record that was read from a line
 *
 * If the line names another device, or the vendor syndrome is no byte, the record becomes one of
 * another NIC.
 */
void keys_tell(struct feed *feed, const struct line *line, struct record *record);

/** keys_begin() - reads the first of several lines into the form's state: FORM_MORE, if it is */
enum form_answer keys_begin(struct feed *feed, const struct line *line, const struct shape *shape,
			    struct record *record);

/** keys_add() - adds the numbers and fields of another line of the same message */
void keys_add(struct record *record, const struct record *other);

/** keys_close() - the close() of a form whose state is a record: tells of it as it is */
void keys_close(struct feed *feed, void *state);

/**
 * keys_feed() - looks at a line of one of these shapes; LAST_LINE ends them
 *
 * A mailer, a terminal or a person may have broken the line: if it leaves something out, it is read
 * with the next ones.
 */
enum form_answer keys_feed(struct feed *feed, const struct line *line, const struct shape *shapes);

/** form_feed() - the feed() of a form whose lines are such shapes */
enum form_answer form_feed(struct feed *feed, const struct line *line, void *state);

/** struct pair - two lines, of which people often show only the second one */
struct pair {
	const struct shape *first; /* says whose completion it is */
	const struct shape *second;
	const char *lacks; /* what is reported if the second line does not come */
};

/** pair_feed(), pair_close() - those of a form whose lines are a pair, and whose state a record */
enum form_answer pair_feed(struct feed *feed, const struct line *line, void *state);
void pair_close(struct feed *feed, void *state);

/** other_nic_in() - the driver or device of another vendor that a line names, or NULL */
const char *other_nic_in(const char *text);

/* A form that has such a pair: its variable, name, marks, @lacks, @second, and all of @first. */
#define PAIR_FORM(id, name, marks, it_lacks, its_second, ...)                                      \
	FORM(id, name, marks, .state_bytes = sizeof(struct record), .feed = pair_feed,             \
	     .close = pair_close,                                                                  \
	     .lines = &(const struct pair){ (const struct shape[]){ __VA_ARGS__, LAST_LINE },      \
					    &(const struct shape)its_second, it_lacks })

/* A form that has only such lines: its variable, its name, its marks, its shapes. */
#define KEYS_FORM(id, name, marks, ...)                                                            \
	FORM(id, name, marks, .lines = (const struct shape[]){ __VA_ARGS__, LAST_LINE },           \
	     .feed = form_feed)

#endif
