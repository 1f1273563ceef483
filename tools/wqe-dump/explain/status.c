/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain.h"

#include <infiniband/verbs.h>
#include <string.h>
#include <strings.h>

#include "../text/text.h"

/* The kernel's words where they differ: drivers/infiniband/core/verbs.c wc_statuses. */
static const struct {
	const char *text;
	enum ibv_wc_status status;
} kernel_texts[] = {
	{ "WR flushed", IBV_WC_WR_FLUSH_ERR },
	{ "memory bind operation error", IBV_WC_MW_BIND_ERR },
	{ "invalid request error", IBV_WC_REM_INV_REQ_ERR },
	{ "operation aborted", IBV_WC_REM_ABORT_ERR },
};

#define LETTERS 32 /* by the lower bits of their codes, so that capitals are the same */

struct spelling {
	const char *text;
	uint32_t status;
	bool is_name; /* of the C enumerations, without IBV_WC_ */
	const struct spelling *next;
};

static const struct spelling *by_letter[LETTERS];

static void add_spelling(const char *text, uint32_t status, bool is_name)
{
	static struct spelling list[3 * (IBV_WC_TM_RNDV_INCOMPLETE + 1)];
	static unsigned count;
	const struct spelling **first = &by_letter[(unsigned char)*text % LETTERS];

	list[count] = (struct spelling){ text, status, is_name, *first };
	*first = &list[count++];
}

static void collect_spellings(void)
{
	for (uint32_t status = 0; status <= IBV_WC_TM_RNDV_INCOMPLETE; status++) {
		const char *name = bsn_status_name(status);

		if (name)
			add_spelling(name + strlen("IBV_WC_"), status, true);
		add_spelling(ibv_wc_status_str((enum ibv_wc_status)status), status, false);
	}
	for (unsigned i = 0; i < COUNT(kernel_texts); i++)
		add_spelling(kernel_texts[i].text, kernel_texts[i].status, false);
}

/* The length of IBV_WC_ or IB_WC_, which the names of libibverbs and of the kernel begin with. */
static size_t prefix_len(const char *text)
{
	if (!strncmp(text, "IBV_WC_", strlen("IBV_WC_")))
		return strlen("IBV_WC_");
	return !strncmp(text, "IB_WC_", strlen("IB_WC_")) ? strlen("IB_WC_") : 0;
}

struct number status_at(const char *text, size_t *len)
{
	const bool is_capital = *text >= 'A' && *text <= 'Z';
	const size_t prefix = is_capital ? prefix_len(text) : 0;
	const struct spelling *at;

	if (!by_letter['s' % LETTERS]) /* of success */
		collect_spellings();
	for (at = by_letter[(unsigned char)text[prefix] % LETTERS]; at; at = at->next) {
		const size_t n = strlen(at->text);

		if (at->is_name ? !is_capital : prefix != 0)
			continue;
		if (strncasecmp(text + prefix, at->text, n) || text_is_word(text[prefix + n]))
			continue;
		*len = prefix + n;
		return KNOWN(at->status);
	}
	return (struct number){ 0 };
}

struct number status_in(const char *text)
{
	size_t len;
	struct number status = status_at(text, &len);

	while (*text && !status.is_known) {
		text = text_next_word(text);
		status = status_at(text, &len);
	}
	return status;
}

struct number status_anywhere(const char *text)
{
	const struct number named = status_in(text);
	const char *at = text_find(text, "status");
	uint64_t number;

	if (named.is_known || !at || !text_number(at + strlen("status"), 10, &number) ||
	    number > IBV_WC_TM_RNDV_INCOMPLETE)
		return named;
	return KNOWN(number);
}

void status_set(struct record *record, uint32_t status)
{
	const char *text = ibv_wc_status_str((enum ibv_wc_status)status);
	const uint32_t syndrome = bsn_syndrome_of_status(status);

	record_set_status(record, text, strlen(text));
	record->syndrome = syndrome ? KNOWN(syndrome) : (struct number){ 0 };
}
