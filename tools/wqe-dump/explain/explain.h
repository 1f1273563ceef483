/* SPDX-License-Identifier: BSD-2-Clause */
/* What an error means, who noticed it and when, and its usual cause: topics.h, causes.h. */
#ifndef WQE_DUMP_EXPLAIN_H
#define WQE_DUMP_EXPLAIN_H

#include "causes.h"
#include "../record.h"

#define ENUM_PARTY(NAME, text) PARTY_##NAME,
enum party { PARTIES(ENUM_PARTY) };

/* The kinds of numbers that name errors, each a space of its own: X(NAME, what it is called) */
#define ERROR_SPACES(X)                                                                            \
	X(STATUS, "verbs status")                                                                  \
	X(SYNDROME, "syndrome")                                                                    \
	X(VENDOR, "vendor syndrome")                                                               \
	X(HARDWARE, "hardware syndrome")                                                           \
	X(HEALTH, "health syndrome")                                                               \
	X(COMMAND, "command status")                                                               \
	X(EVENT, "event of the driver") /* our own number, never shown */

#define ENUM_SPACE(NAME, text) SPACE_##NAME,
enum error_space { ERROR_SPACES(ENUM_SPACE) SPACE_COUNT };

/** struct error - what is known of an error */
struct error {
	struct number numbers[SPACE_COUNT]; /* by enum error_space */
	bool is_verbs; /* syndrome: that of a status, maybe of another device */
	enum record_side side;              /* whose completion it is */
	struct number opcode;               /* of the WQE, enum bsn_wqe_opcode */
};

/** struct meaning - what one of the numbers means */
struct meaning {
	enum error_space space;
	uint32_t value;
	const char *name;   /* NULL: no public source explains it */
	const char *doc;    /* or NULL */
	const char *detail; /* what a key check found, or NULL */
};

/** struct cause - one possible cause */
struct cause {
	const char *what;
	const char *tell; /* how to tell it from the others */
};

#define EXPLANATION_NOTES      4
#define EXPLANATION_NOTE_BYTES 200

/** struct explanation - all that is known of an error */
struct explanation {
	unsigned meaning_count;
	struct meaning meanings[SPACE_COUNT]; /* from coarse to precise */
	enum party detected_by, reported_to;
	const char *step;
	const char *meaning;
	const char *attempt;    /* what to try */
	const char *cause;      /* meaning and likeliest cause in one; NULL: nothing is known */
	unsigned topic;         /* for explanation_cause() */
	const char *confidence; /* "high", "medium", "low" */
	const char *meaning_source, *cause_basis;
	const char *cause_source; /* or "" */
	const char *measured;     /* how it was provoked when it was seen, or NULL */
	unsigned note_count;
	char notes[EXPLANATION_NOTES][EXPLANATION_NOTE_BYTES];
};

/* "requester" … or NULL; "vendor syndrome" … */
extern const char *const party_names[], *const space_names[];

/** space_list() - the table's list of a space's numbers; NULL: it has none */
const struct bsn_enum *space_list(enum error_space space);

/** meaning_of() - what one number means; its name is NULL if no public source explains it */
struct meaning meaning_of(enum error_space space, uint32_t value);

/** explain() - fills in all of an explanation */
void explain(const struct error *error, struct explanation *explanation);

/** explanation_of() - likewise, from a cache; valid until the next call */
const struct explanation *explanation_of(const struct error *error);

/** explanation_cause() - the nth cause, the likeliest first; false: there is none */
bool explanation_cause(const struct explanation *explanation, unsigned nth, struct cause *cause);

/** error_syndrome() - the syndrome, or that which becomes the verbs status; -1: it is unknown */
int error_syndrome(const struct error *error);

/** error_fits() - false: vendor syndrome and syndrome or status are known not to go together */
bool error_fits(const struct error *error);

/** error_is_same() - whether the same is known about both errors */
bool error_is_same(const struct error *a, const struct error *b);

/** record_suits_vendor() - whether a record would be such a pair with this vendor syndrome */
bool record_suits_vendor(const struct record *record, uint64_t vendor);

/** error_of_record() - the numbers that a record has */
struct error error_of_record(const struct record *record);

/** explain_record() - sets its explanation and, if the numbers tell it, its side */
void explain_record(struct record *record);

/* -- the statuses of verbs completions, as log lines name them --------------------------------- */

/**
 * status_at() - enum ibv_wc_status whose name or text a text begins with, @len bytes of it:
 * IBV_WC_GENERAL_ERR, IB_WC_GENERAL_ERR, GENERAL_ERR, or the words of libibverbs or of the kernel
 */
struct number status_at(const char *text, size_t *len);

/** status_in() - the first status that is named anywhere in a text */
struct number status_in(const char *text);

/** status_anywhere() - likewise, or the number after "status" */
struct number status_anywhere(const char *text);

/** status_set() - sets a record's status, and its syndrome if only one becomes this status */
void status_set(struct record *record, uint32_t status);

/* -- which errors a question may be about: "explain 81", "explain local protection 0x52" ------- */

#define READINGS_MAX 8

/** enum number_base - the base of digits without 0x */
enum number_base { BASE_OPEN, BASE_DECIMAL, BASE_HEX };

/** struct readings - the errors that a question may be about, the likeliest first */
struct readings {
	unsigned count;
	struct error error[READINGS_MAX];
};

/**
 * question_read() - fills in readings; none if nothing in the question names an error
 * @words: numbers and words in any order; "status", "syndrome", "vendor", "health", "command" say
 *         what the next number is
 */
void question_read(const char *const *words, unsigned count, enum number_base base,
		   struct readings *readings);

#endif
