/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain.h"

#include <ctype.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../text/text.h"

#define QUESTION_NUMBERS 24
#define QUESTION_BYTES   512
#define NO_SPACE         SPACE_COUNT

/** struct choice - one way to take a number */
struct choice {
	enum error_space space;
	uint32_t value;
};

/** struct digits - a number as it was written */
struct digits {
	enum error_space space; /* named by a word before it, or NO_SPACE */
	unsigned choice_count;
	struct choice choices[4];
};

/** struct question - a question, taken apart */
struct question {
	enum number_base base;
	enum error_space only; /* named by words for the whole question, or NO_SPACE */
	unsigned digits_count;
	struct digits digits[QUESTION_NUMBERS];
	char rest[QUESTION_BYTES]; /* the words */
};

/* -- words that name errors -------------------------------------------------------------------- */

#define WORDS_MAX   16 /* of a question that count */
#define WORD_BYTES  24
#define MATCHES_MAX 6

/** struct words - the words of a text in lower case, without those that say nothing */
struct words {
	unsigned count;
	char word[WORDS_MAX][WORD_BYTES];
};

static bool is_idle(const char *word)
{
	static const char *const idle[] = { "err", "error", "ibv",  "wc", "with", "the", "of",
					    "for", "and",   "what", "is", "does", "mean" };

	for (size_t i = 0; i < COUNT(idle); i++)
		if (!strcmp(word, idle[i]))
			return true;
	return strlen(word) < 2;
}

static void split(const char *text, struct words *words)
{
	words->count = 0;
	while (*text && words->count < WORDS_MAX) {
		char *word = words->word[words->count];
		size_t len = 0;

		while (isalpha((unsigned char)*text)) {
			if (len < WORD_BYTES - 1)
				word[len++] = (char)tolower((unsigned char)*text);
			text++;
		}
		word[len] = '\0';
		words->count += len && !is_idle(word);
		while (*text && !isalpha((unsigned char)*text))
			text++;
	}
}

/* Whether one letter is missing, added or wrong, or two are swapped. */
static bool is_misspelt(const char *a, const char *b)
{
	size_t of_a = strlen(a), of_b = strlen(b);

	if (of_a < 5 || of_b < 5)
		return false;
	while (*a && *a == *b)
		a++, b++, of_a--, of_b--;
	while (of_a && of_b && a[of_a - 1] == b[of_b - 1])
		of_a--, of_b--;
	return (of_a < 2 && of_b < 2) || (of_a == 2 && of_b == 2 && a[0] == b[1] && a[1] == b[0]);
}

/* "prot" matches "protection", and "flushes" matches "flush"; "ready" does not match "read". */
static bool is_same(const char *asked, const char *name)
{
	const size_t of_asked = strlen(asked), of_name = strlen(name);

	if (of_asked <= of_name)
		return !strncmp(asked, name, of_asked) ? of_asked > 2 || of_asked == of_name
						       : is_misspelt(asked, name);
	return (of_name > 4 && !strncmp(asked, name, of_name)) || is_misspelt(asked, name);
}

/* Whether one of these words is the other one; either side may be the question's. */
static bool has_word(const struct words *words, const char *other, bool is_asked)
{
	for (unsigned i = 0; i < words->count; i++)
		if (is_asked ? is_same(words->word[i], other) : is_same(other, words->word[i]))
			return true;
	return false;
}

/** struct search - the best matches so far */
struct search {
	struct words asked;
	unsigned best_hits, best_extra;
	unsigned count;
	struct choice found[MATCHES_MAX];
};

/* Offers an error that is called @name; the words of @also match, too. */
static void offer(struct search *search, enum error_space space, uint32_t value, const char *name,
		  const char *also)
{
	struct words main_words, more;
	unsigned hits = 0, extra = 0;

	split(name, &main_words);
	split(also, &more);
	for (unsigned i = 0; i < search->asked.count; i++)
		hits += has_word(&main_words, search->asked.word[i], false) ||
			has_word(&more, search->asked.word[i], false);
	for (unsigned i = 0; i < main_words.count; i++)
		extra += !has_word(&search->asked, main_words.word[i], true);
	if (!hits || hits < search->best_hits ||
	    (hits == search->best_hits && extra > search->best_extra))
		return;
	if (hits > search->best_hits || extra < search->best_extra)
		search->count = 0;
	search->best_hits = hits;
	search->best_extra = extra;
	if (search->count < MATCHES_MAX)
		search->found[search->count++] = (struct choice){ space, value };
}

static void offer_list(struct search *search, enum error_space space)
{
	const struct bsn_enum *list = space_list(space);

	for (size_t i = 0; i < list->count; i++)
		offer(search, space, list->values[i].value, list->values[i].name,
		      space == SPACE_VENDOR ? "" : list->values[i].doc);
}

/* A syndrome is also known by the name and the text of its verbs status. */
static void offer_statuses(struct search *search)
{
	for (uint32_t status = 0; bsn_status_name(status); status++) {
		const char *name = bsn_status_name(status);
		const char *text = ibv_wc_status_str((enum ibv_wc_status)status);
		const uint32_t syndrome = bsn_syndrome_of_status(status);
		char also[128];

		if (!syndrome) {
			offer(search, SPACE_STATUS, status, name, text);
			continue;
		}
		snprintf(also, sizeof(also), "%s %s", name, text);
		offer(search, SPACE_SYNDROME, syndrome, meaning_of(SPACE_SYNDROME, syndrome).name,
		      also);
	}
}

static void offer_nicknames(struct search *search, enum error_space only)
{
	static const struct {
		enum error_space space;
		uint8_t value;
		const char *word, *also;
	} nicknames[] = {
#define NICKNAME(SPACE, NAME, word, also) { SPACE_##SPACE, BSN_##SPACE##_##NAME, word, also },
		NICKNAMES(NICKNAME)
	};

	for (size_t i = 0; i < COUNT(nicknames); i++)
		if ((only == NO_SPACE || only == nicknames[i].space) &&
		    has_word(&search->asked, nicknames[i].word, true))
			offer(search, nicknames[i].space, nicknames[i].value, nicknames[i].word,
			      nicknames[i].also);
}

/* Finds the errors of a space, or NO_SPACE for any, that words name best. */
static void match_words(const char *text, enum error_space space, struct search *search)
{
	static const enum error_space listed[] = { SPACE_VENDOR, SPACE_HEALTH, SPACE_COMMAND };

	split(text, &search->asked);
	if (space == NO_SPACE || space == SPACE_SYNDROME || space == SPACE_STATUS)
		offer_statuses(search);
	for (unsigned i = 0; i < COUNT(listed); i++)
		if (space == NO_SPACE || space == listed[i])
			offer_list(search, listed[i]);
	offer_nicknames(search, space);
	/* Most of the question must be about the error; half of it if the space is known. */
	if (2 * search->best_hits <
	    search->asked.count + (space == NO_SPACE && search->asked.count > 1))
		search->count = 0;
}

/* -- words that say what a number is ----------------------------------------------------------- */

/* The number after one of these is no error: opcode, length, QP … */
#define NOT_AN_ERROR (SPACE_COUNT + 1)

static const struct label {
	int space;
	const char *words[9]; /* up to a NULL */
} labels[] = {
	{ SPACE_VENDOR,
	  { "vendor_err_synd", "vendor_syndrome", "vendor_err", "vend_err", "vendor", "vend", "ves",
	    "syndrom" /* perftest's word */ } },
	{ SPACE_HARDWARE, { "hw_err_synd", "hw_syndrome", "hw_synd", "hws" } },
	{ SPACE_SYNDROME, { "syndrome", "synd", "syn" } },
	{ SPACE_STATUS, { "status", "error" } },
	{ SPACE_HEALTH, { "health" } },
	{ SPACE_COMMAND, { "command", "cmd", "firmware" } },
	{ NOT_AN_ERROR, { "opcode", "len", "qp", "qpn", "wr_id" } },
};

/* Whether a word ends with a label: "wc_status" is a status, "byte_len" a length. */
static bool ends_with(const char *word, const char *label)
{
	const size_t len = strlen(label), all = strlen(word);

	return all >= len && !strcasecmp(word + all - len, label) &&
	       (all == len || word[all - len - 1] == '_');
}

/* The first label that a word ends with. */
static const struct label *find_label(const char *word)
{
	for (size_t i = 0; i < COUNT(labels); i++)
		for (const char *const *label = labels[i].words; *label; label++)
			if (ends_with(word, *label))
				return &labels[i];
	return NULL;
}

/* Whether a label only continues the one before: "vendor err", "health syndrome". */
static bool is_continued(int before, const struct label *label)
{
	return before != NO_SPACE && before != SPACE_STATUS && before != NOT_AN_ERROR &&
	       (label->space == SPACE_STATUS || label->space == SPACE_SYNDROME);
}

/* -- numbers ----------------------------------------------------------------------------------- */

static void add_choice(struct digits *digits, enum error_space space, unsigned long value)
{
	for (unsigned i = 0; i < digits->choice_count; i++)
		if (digits->choices[i].space == space && digits->choices[i].value == value)
			return;
	if (digits->choice_count < COUNT(digits->choices) && value <= UINT32_MAX)
		digits->choices[digits->choice_count++] = (struct choice){ space, (uint32_t)value };
}

static bool is_named(enum error_space space, unsigned long value)
{
	return value <= UINT32_MAX && meaning_of(space, (uint32_t)value).name;
}

/* Adds a value: in the space that was named, or in each where it means something. */
static void add_value(struct digits *digits, unsigned long value, bool is_hex)
{
	const bool is_class = digits->space == SPACE_STATUS || digits->space == SPACE_SYNDROME;

	if (digits->space != NO_SPACE) {
		add_choice(digits, digits->space, value);
		/* "error 0x81" and "syndrome 0x88" are vendor syndromes. */
		if (is_class && !is_named(digits->space, value) && is_named(SPACE_VENDOR, value))
			add_choice(digits, SPACE_VENDOR, value);
		return;
	}
	if (!is_hex && value && is_named(SPACE_STATUS, value))
		add_choice(digits, SPACE_STATUS, value);
	if (is_hex && value && is_named(SPACE_SYNDROME, value))
		add_choice(digits, SPACE_SYNDROME, value);
	if (is_named(SPACE_VENDOR, value))
		add_choice(digits, SPACE_VENDOR, value);
}

/* Reads "0x51", "81" or "8a" with all its choices; false: it is a word. */
static bool read_number(const char *word, enum number_base base, struct digits *digits)
{
	const bool says_hex = word[0] == '0' && (word[1] == 'x' || word[1] == 'X');
	const char *text = says_hex ? word + 2 : word;
	const size_t len = strlen(text);
	const bool is_decimal = !says_hex && strspn(text, "0123456789") == len;
	const unsigned long hex = strtoul(text, NULL, 16);

	if (!len || len > 8 || strspn(text, "0123456789abcdefABCDEF") != len ||
	    (!says_hex && !strpbrk(text, "0123456789")))
		return false;
	if (is_decimal && base != BASE_HEX)
		add_value(digits, strtoul(text, NULL, 10), false);
	/* If the base is open, it may also be hexadecimal, except for a verbs status. */
	if (!is_decimal || base == BASE_HEX || (base == BASE_OPEN && digits->space != SPACE_STATUS))
		add_value(digits, hex, true);
	if (!digits->choice_count)
		add_choice(digits, SPACE_VENDOR, is_decimal ? strtoul(text, NULL, 10) : hex);
	return true;
}

/* -- taking it apart --------------------------------------------------------------------------- */

/* The space of the next number. A 32-bit syndrome of a command is the firmware's own. */
static int space_after(const struct question *q, const struct label *label)
{
	if (q->only == SPACE_COMMAND && label->space == SPACE_STATUS)
		return SPACE_COMMAND;
	if (q->only == SPACE_COMMAND && label->space == SPACE_SYNDROME)
		return NOT_AN_ERROR;
	return label->space;
}

/* "status is 12" is about the 12; "error on mlx5_0:1" is not about the 1. */
static bool is_between(const struct question *q, const char *word)
{
	static const char *const words[] = { "is", "was", "of", "code", "err", "no", "number" };

	for (size_t i = 0; i < COUNT(words); i++)
		if (!strcasecmp(word, words[i]))
			return true;
	return q->only == SPACE_COMMAND; /* "status bad parameter (0x3)" */
}

static void take_word(struct question *q, const char *word, int *space)
{
	const struct label *label = find_label(word);
	struct digits digits = { .space = *space == NOT_AN_ERROR ? NO_SPACE
								 : (enum error_space) * space };

	if (read_number(word, q->base, &digits)) {
		if (*space != NOT_AN_ERROR && q->digits_count < QUESTION_NUMBERS)
			q->digits[q->digits_count++] = digits;
		*space = NO_SPACE;
		return;
	}
	if (label && (label->space == SPACE_HEALTH || label->space == SPACE_COMMAND))
		q->only = (enum error_space)label->space;
	if (label && !is_continued(*space, label))
		*space = space_after(q, label);
	if (!label && !is_between(q, word))
		*space = NO_SPACE;
	if (!label && strlen(q->rest) + strlen(word) + 2 < sizeof(q->rest)) {
		strcat(q->rest, " ");
		strcat(q->rest, word);
	}
}

static void take_apart(struct question *q, const char *const *words, unsigned count)
{
	int space = NO_SPACE;

	for (unsigned i = 0; i < count; i++) {
		for (const char *text = words[i]; *text; text = text_next_word(text)) {
			size_t len = 0;
			char word[64];

			while (text_is_word(text[len]))
				len++;
			snprintf(word, sizeof(word), "%.*s", (int)len, text);
			if (len)
				take_word(q, word, &space);
		}
	}
}

/* -- putting it together ----------------------------------------------------------------------- */

/* If a status and a syndrome do not go together, a number was misread: false. */
static bool set_number(struct error *error, enum error_space space, uint32_t value)
{
	struct number *number = &error->numbers[space];
	struct error status = { 0 };

	if (number->is_known && number->value != value)
		return false;
	*number = KNOWN(value);
	status.numbers[SPACE_STATUS] = error->numbers[SPACE_STATUS];
	return !error->numbers[SPACE_STATUS].is_known || !error->numbers[SPACE_SYNDROME].is_known ||
	       error_syndrome(&status) == error_syndrome(error);
}

static int rank_of(const struct error *error)
{
	struct bsn_vendor_meaning meaning = { 0 };
	int rank = 4 * error_fits(error);

	if (error->numbers[SPACE_VENDOR].is_known)
		bsn_vendor_explain(error->numbers[SPACE_VENDOR].value, &meaning);
	rank += meaning.measured != NULL;
	for (unsigned space = 0; space < SPACE_COUNT; space++)
		if (error->numbers[space].is_known && space != SPACE_HARDWARE &&
		    !is_named((enum error_space)space, error->numbers[space].value))
			rank -= 8;
	return rank;
}

/* Status 4 and syndrome 0x04 are one. */
static bool is_same_error(const struct error *a, const struct error *b)
{
	if (error_syndrome(a) != error_syndrome(b) ||
	    (error_syndrome(a) < 0 &&
	     a->numbers[SPACE_STATUS].value != b->numbers[SPACE_STATUS].value))
		return false;
	for (unsigned space = SPACE_VENDOR; space < SPACE_COUNT; space++)
		if (a->numbers[space].is_known != b->numbers[space].is_known ||
		    a->numbers[space].value != b->numbers[space].value)
			return false;
	return true;
}

/* Inserts in the order of rank; equal ones keep their order. */
static void add_reading(struct readings *readings, const struct error *error)
{
	unsigned at = readings->count;

	for (unsigned i = 0; i < readings->count; i++)
		if (is_same_error(&readings->error[i], error))
			return;
	if (at == READINGS_MAX)
		return;
	for (; at && rank_of(&readings->error[at - 1]) < rank_of(error); at--)
		readings->error[at] = readings->error[at - 1];
	readings->error[at] = *error;
	readings->count++;
}

/* Adds every combination of the remaining choices. */
static void combine(const struct question *q, unsigned nth, const struct error *error,
		    struct readings *readings)
{
	const struct digits *digits = &q->digits[nth];

	if (nth == q->digits_count) {
		add_reading(readings, error);
		return;
	}
	for (unsigned i = 0; i < digits->choice_count; i++) {
		struct error with = *error;
		if (set_number(&with, digits->choices[i].space, digits->choices[i].value))
			combine(q, nth + 1, &with, readings);
	}
}

/* Adds what words say to what numbers say. Words that contradict the numbers do not count. */
static void combine_words(const struct question *q, struct readings *readings)
{
	const struct error none = { .side = SIDE_UNKNOWN };
	struct search search = { 0 };

	if (q->digits_count && q->only == NO_SPACE)
		match_words(q->rest, SPACE_SYNDROME, &search);
	else if (!q->digits_count)
		match_words(q->rest, q->only, &search);
	for (unsigned i = 0; i < search.count; i++) {
		struct error error = none;
		error.numbers[search.found[i].space] = KNOWN(search.found[i].value);
		combine(q, 0, &error, readings);
	}
	if (!readings->count && q->digits_count)
		combine(q, 0, &none, readings);
}

static bool has_label(const struct question *q, enum error_space space)
{
	for (unsigned i = 0; i < q->digits_count; i++)
		if (q->digits[i].space != NO_SPACE &&
		    (space == NO_SPACE || space == q->digits[i].space))
			return true;
	return false;
}

/* Most numbers of a whole line are not errors: if some are labelled as errors, drops the others. */
static void drop_unlabelled(struct question *q, bool spares_named)
{
	unsigned kept = 0;

	if (!has_label(q, NO_SPACE))
		return;
	for (unsigned i = 0; i < q->digits_count; i++) {
		const struct digits *digits = &q->digits[i];
		const struct choice *first = &digits->choices[0];

		if (digits->space != NO_SPACE ||
		    (spares_named && is_named(first->space, first->value)))
			q->digits[kept++] = *digits;
	}
	q->digits_count = kept;
}

void question_read(const char *const *words, unsigned count, enum number_base base,
		   struct readings *readings)
{
	struct question q = { .base = base, .only = NO_SPACE };

	readings->count = 0;
	take_apart(&q, words, count);
	drop_unlabelled(&q, q.only == NO_SPACE && !has_label(&q, SPACE_VENDOR));
	combine_words(&q, readings);
	if (!readings->count) {
		drop_unlabelled(&q, false);
		combine_words(&q, readings);
	}
	/* Readings that do not fit, or mean nothing, count only if there is no better one. */
	while (readings->count &&
	       rank_of(&readings->error[readings->count - 1]) + 1 < rank_of(&readings->error[0]))
		readings->count--;
}
