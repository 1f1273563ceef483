/* SPDX-License-Identifier: BSD-2-Clause */
#include "question.h"

#include <ctype.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>

#define MATCH_WORDS      16 /* of a question that count */
#define MATCH_WORD_BYTES 24

/** struct words - the words of a text in lower case, without those that say nothing */
struct words {
	unsigned count;
	char word[MATCH_WORDS][MATCH_WORD_BYTES];
};

/* -- words ------------------------------------------------------------------------------------- */

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

static bool is_asked(const struct words *asked, const char *name)
{
	for (unsigned i = 0; i < asked->count; i++)
		if (is_same(asked->word[i], name))
			return true;
	return false;
}

static bool is_named(const struct words *names, const char *asked)
{
	for (unsigned i = 0; i < names->count; i++)
		if (is_same(asked, names->word[i]))
			return true;
	return false;
}

/* -- a name against a question ----------------------------------------------------------------- */

/** struct search - the best matches so far */
struct search {
	const struct words *asked;
	struct match *match;
	unsigned best_hits, best_extra;
};

/* Offers an error that is called @name; the words of @also match, too. */
static void offer(struct search *search, enum error_space space, uint32_t value, const char *name,
		  const char *also)
{
	struct words main_words, more;
	unsigned hits = 0, extra = 0;

	split(name, &main_words);
	split(also, &more);
	for (unsigned i = 0; i < search->asked->count; i++)
		hits += is_named(&main_words, search->asked->word[i]) ||
			is_named(&more, search->asked->word[i]);
	for (unsigned i = 0; i < main_words.count; i++)
		extra += !is_asked(search->asked, main_words.word[i]);
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

static void offer_list(struct search *search, enum error_space space, const char *name)
{
	const struct bsn_enum *list = explain_list(name);

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
		offer(search, SPACE_SYNDROME, syndrome,
		      meaning_of(SPACE_SYNDROME, syndrome).name, also);
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
		if ((only == SPACE_COUNT || only == nicknames[i].space) &&
		    is_asked(search->asked, nicknames[i].word))
			offer(search, nicknames[i].space, nicknames[i].value, nicknames[i].word,
			      nicknames[i].also);
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
	offer_nicknames(&search, space);
	/* Most of the question must be about the error; half of it if the space is known. */
	if (2 * search.best_hits < asked.count + (space == SPACE_COUNT && asked.count > 1))
		match->count = 0;
}
