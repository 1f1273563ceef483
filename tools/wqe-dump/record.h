/* SPDX-License-Identifier: BSD-2-Clause */
/* What was found in the input, and the sink that receives it. */
#ifndef WQE_DUMP_RECORD_H
#define WQE_DUMP_RECORD_H

#include "bsn_decode.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* What a record is: X(NAME, name) */
#define RECORD_KINDS(X)                                                                            \
	X(ERROR_CQE, error_cqe) /* a completion with error, as bytes */                            \
	X(CQE, cqe)             /* another CQE, as bytes */                                        \
	X(WQE, wqe)             /* a send or receive WQE, as bytes */                              \
	X(STATUS, status)       /* a line that names the status of a failed completion */          \
	X(HEALTH, health)       /* the device's health buffer, and what the driver says of it */   \
	X(COMMAND, command)     /* a firmware command that failed */                               \
	X(EVENT, event)         /* an asynchronous event of a queue, a port or the device */       \
	X(NOT_MLX5, not_mlx5)   /* an error of another NIC, not explained */

#define RECORD_KIND(NAME, name) RECORD_##NAME,
enum record_kind { RECORD_KINDS(RECORD_KIND) RECORD_KIND_COUNT };

/* The side that detected the error. */
enum record_side { SIDE_UNKNOWN, SIDE_REQUESTER, SIDE_RESPONDER };

/** enum raw_kind - what bytes are */
enum raw_kind { RAW_GUESS, RAW_CQE, RAW_CQE128, RAW_WQE, RAW_RECV, RAW_RECV_SRQ, RAW_RECV_SIGNED };

/** struct number - a number that may be unknown */
struct number {
	bool is_known;
	uint32_t value;
};
#define KNOWN(is) ((struct number){ true, (uint32_t)(is) })

/* The numbers that a record may have: X(name). The opcode is the WQE's, of enum bsn_wqe_opcode. */
#define RECORD_NUMBERS(X)                                                                          \
	X(syndrome) X(vendor_syndrome) X(hw_syndrome) X(opcode) X(qpn) X(wqe_index) X(signature)

#define RECORD_MAX_FIELDS  32
#define RECORD_TEXT_BYTES  160 /* of one text at most */
#define RECORD_TEXTS_BYTES (5 * RECORD_TEXT_BYTES)

/** struct record_field - one more value that a log line gives */
struct record_field {
	const char *name; /* a constant */
	uint64_t value;
	uint16_t text; /* its offset in the record's texts, plus 1; 0: it is a number */
};

/** struct ring - the queue that a WQE or CQE was found in */
struct ring {
	const char *name;       /* "send queue", "completion queue" … */
	struct number qpn;      /* the QP's number, or the CQ's */
	uint32_t count;         /* slots */
	uint32_t stride_bytes;  /* of a slot */
	struct number producer; /* the slot to be written next, cumulative if that is known */
	struct number consumer; /* the slot to be completed or polled next, cumulative */
};

/** struct record - one thing that was found; zero: nothing is known */
struct record {
	enum record_kind kind;
	const char *file;   /* tell_record() sets it */
	unsigned long line; /* 0: no text */
	const char *source; /* name of the form; tell_record() sets it */
	enum record_side side;
#define RECORD_NUMBER(name) struct number name;
	RECORD_NUMBERS(RECORD_NUMBER)
	char status[RECORD_TEXT_BYTES]; /* as it was printed, or "" */
	unsigned field_count;
	struct record_field fields[RECORD_MAX_FIELDS];
	uint16_t texts_len;
	char texts[RECORD_TEXTS_BYTES]; /* of fields; relative, since a record may be copied */

	/* CQE and WQE: record_decode() */
	const uint8_t *bytes; /* NULL: only text */
	uint16_t size_bytes;
	enum bsn_transport transport; /* of a send WQE */
	bool transport_is_guess;      /* it was guessed: the one that makes most sense */
	const struct bsn_cqe *cqe;    /* decoded; one of these three */
	const struct bsn_wqe *wqe;
	const struct bsn_recv_wqe *recv;
	const struct ring *ring; /* NULL: not in a ring */
	uint32_t slot;           /* in it */

	const struct explanation *explanation; /* of explain_record(); valid until its next call */
	bool is_guess; /* a number was printed without its base: this lowers the confidence */

	/* The WQE that failed, or the CQE of the failure, if it was found: tie.h. */
	const char *partner_file; /* NULL: it was not */
	unsigned long partner_line;
	struct number partner_index; /* the WQE's; not the CQE's if it is of another round */
};

/** struct sink - receives the records in their order */
struct sink {
	void (*begin)(void);
	void (*record)(const struct record *record);
	/* Reports something that looked like a dump and could not be read. */
	void (*unread)(const char *file, unsigned long line, const char *why);
	void (*end)(void);
};

/* Names: of the kind in the JSON; "requester", "responder" or NULL; "RC" …; of the WQE's opcode */
extern const char *const record_kind_names[], *const record_side_names[];
extern const char *const record_transport_names[];
const char *record_opcode_name(const struct record *record); /* or NULL */

/** record_transport_find() - enum bsn_transport by its name, in capitals or not */
struct number record_transport_find(const char *name);

/** record_cqe_opcode() - what the opcode of a CQE means, or NULL */
const struct bsn_enum_value *record_cqe_opcode(uint32_t opcode);

/** record_field_text() - the text of a field; NULL: it is a number */
static inline const char *record_field_text(const struct record *record,
					    const struct record_field *field)
{
	return field->text ? record->texts + field->text - 1 : NULL;
}

/** record_field() - the field of this name, or NULL */
const struct record_field *record_field(const struct record *record, const char *name);

/* Add a field, or change that of this name, which is a constant; nothing is done if it is full. */
void record_add_number(struct record *record, const char *name, uint64_t value);
/* A text that is too long is cut. */
void record_add_text(struct record *record, const char *name, const char *text, size_t len);
void record_set_status(struct record *record, const char *text, size_t len);

/**
 * record_decode() - makes it the record of a CQE or WQE; what is not in the bytes stays as it is
 * @record: has the transport of a send WQE; valid as long as @bytes, and until the next call
 *
 * Return: 0, or -EBADMSG with @bad.
 */
int record_decode(struct record *record, enum raw_kind kind, const void *bytes, size_t size,
		  struct bsn_bad *bad);

/** struct record_row - one field, of a table or of a log line */
struct record_row {
	const struct bsn_seg_desc *segment; /* or NULL */
	unsigned nth;                /* of the segments, or bytes, of this name, from 0 */
	bool is_first;               /* of the segment */
	const struct bsn_row *row;   /* of the table, or NULL */
	uint32_t offset, size_bytes; /* of its bytes */
	const char *name;
	uint64_t value;
	const char *text;     /* instead of a value, or NULL */
	const uint8_t *bytes; /* likewise: inline data, and what no table describes */
	const struct bsn_enum_value *symbol;
};

/** record_hex() - bytes of a record as digits, valid until the next call */
const char *record_hex(const uint8_t *bytes, size_t size);

/** record_walk() - calls `each` for every field of a record */
void record_walk(const struct record *record, void (*each)(const struct record_row *row, void *arg),
		 void *arg);

/** need() - memory that was asked for; if there is none, says so and ends the program */
void *need(void *memory);

/** room_for() - a list with room for more elements behind so many; it doubles as it grows */
void *room_for(void *list, size_t count, size_t more, size_t element_bytes);

/** printable() - the character; a dot if terminals or JSON do not take it */
static inline char printable(char c)
{
	return c >= ' ' && c < 0x7f ? c : '.';
}

/** make_printable() - of a text, in place: the name of a file may have any bytes */
static inline void make_printable(char *text)
{
	for (; *text; text++)
		*text = printable(*text);
}

#endif
