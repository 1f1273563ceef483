/* SPDX-License-Identifier: BSD-2-Clause */
#include "match.h"

#include <ctype.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define MATCH_WORDS      16 /* of a question that count */
#define MATCH_WORD_BYTES 24

/** struct words - lower-case words of a text, without those that say nothing */
struct words {
	unsigned count;
	char word[MATCH_WORDS][MATCH_WORD_BYTES];
};

/* A verbs status, and the syndrome that it is another name of. */
static const struct status_name {
	uint8_t status;
	int16_t syndrome;
	const char *name;
} status_names[] = {
#define OF_SYNDROME(syndrome, status)                                                              \
	{ IBV_WC_##status, BSN_SYNDROME_##syndrome, "IBV_WC_" #status },
#define OF_STATUS(status, topic) { IBV_WC_##status, -1, "IBV_WC_" #status },
	BSN_SYNDROME_STATUSES(OF_SYNDROME) STATUS_TOPICS(OF_STATUS)
};

const char *match_status_name(uint32_t status)
{
	for (size_t i = 0; i < COUNT(status_names); i++)
		if (status_names[i].status == status)
			return status_names[i].name;
	return NULL;
}

/* -- words -------------------------------------------------------------------------------------- */

static bool is_idle(const char *word)
{
	static const char *const idle[] = { "err", "error", "ibv", "wc", "with",
					    "the", "of",    "for", "and" };

	for (size_t i = 0; i < COUNT(idle); i++)
		if (!strcmp(word, idle[i]))
			return true;
	return strlen(word) < 2;
}

static void split(const char *text, struct words *words)
{
	words->count = 0;
	while (*text && words->count < MATCH_WORDS) {
		char *word = words->word[words->count];
		size_t len = 0;

		while (isalpha((unsigned char)*text)) {
			if (len < MATCH_WORD_BYTES - 1)
				word[len++] = (char)tolower((unsigned char)*text);
			text++;
		}
		word[len] = '\0';
		words->count += len && !is_idle(word);
		while (*text && !isalpha((unsigned char)*text))
			text++;
	}
}

/* "prot" and "protection", "counter" and "count" are one word; two letters only if they are all. */
static bool is_same(const char *a, const char *b)
{
	const size_t of_a = strlen(a), of_b = strlen(b), shorter = of_a < of_b ? of_a : of_b;

	return !strncmp(a, b, shorter) && (shorter > 2 || of_a == of_b);
}

static bool has(const struct words *words, const char *word)
{
	for (unsigned i = 0; i < words->count; i++)
		if (is_same(words->word[i], word))
			return true;
	return false;
}

/* -- a name against a question ------------------------------------------------------------------ */

/** struct search - the best so far */
struct search {
	const struct words *asked;
	struct match *match;
	unsigned best_hits, best_extra;
};

/* An error that is called @name, and elsewhere so that the words of @also are in it, too. */
static void offer(struct search *search, enum error_space space, uint32_t value, const char *name,
		  const char *also)
{
	struct words main_words, more;
	unsigned hits = 0, extra = 0;

	split(name, &main_words);
	split(also, &more);
	for (unsigned i = 0; i < search->asked->count; i++)
		hits += has(&main_words, search->asked->word[i]) ||
			has(&more, search->asked->word[i]);
	for (unsigned i = 0; i < main_words.count; i++)
		extra += !has(search->asked, main_words.word[i]);
	if (!hits || hits < search->best_hits ||
	    (hits == search->best_hits && extra > search->best_extra))
		return;
	if (hits > search->best_hits || extra < search->best_extra)
		search->match->count = 0;
	search->best_hits = hits;
	search->best_extra = extra;
	if (search->match->count < MATCH_MAX)
		search->match->found[search->match->count++] = meaning_of(space, value);
}

static void offer_list(struct search *search, enum error_space space, const char *list)
{
	for (size_t i = 0; i < bsn_enum_count; i++) {
		if (strcmp(bsn_enums[i]->name, list))
			continue;
		for (size_t k = 0; k < bsn_enums[i]->count; k++) {
			const struct bsn_enum_value *value = &bsn_enums[i]->values[k];
			offer(search, space, value->value, value->name,
			      space == SPACE_VENDOR ? "" : value->doc);
		}
	}
}

/* A syndrome is also known by the name and the text of its verbs status. */
static void offer_statuses(struct search *search)
{
	for (size_t i = 0; i < COUNT(status_names); i++) {
		const struct status_name *s = &status_names[i];
		const char *text = ibv_wc_status_str((enum ibv_wc_status)s->status);

		if (s->syndrome < 0) {
			offer(search, SPACE_STATUS, s->status, s->name, text);
			continue;
		}
		char also[128];
		snprintf(also, sizeof(also), "%s %s", s->name, text);
		offer(search, SPACE_SYNDROME, (uint32_t)s->syndrome,
		      meaning_of(SPACE_SYNDROME, (uint32_t)s->syndrome).name, also);
	}
}

void match_words(const char *text, enum error_space space, struct match *match)
{
	static const char *const lists[] = { [SPACE_VENDOR] = "vendor_syndrome",
					     [SPACE_HEALTH] = "health_syndrome",
					     [SPACE_COMMAND] = "command_status" };
	struct words asked;
	struct search search = { .asked = &asked, .match = match };

	match->count = 0;
	split(text, &asked);
	if (space == SPACE_COUNT || space == SPACE_SYNDROME || space == SPACE_STATUS)
		offer_statuses(&search);
	for (unsigned i = SPACE_VENDOR; i < COUNT(lists); i++)
		if (lists[i] && (space == SPACE_COUNT || space == i))
			offer_list(&search, (enum error_space)i, lists[i]);
	if (2 * search.best_hits < asked.count) /* most of it is about something else */
		match->count = 0;
}
