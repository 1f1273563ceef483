/* SPDX-License-Identifier: BSD-2-Clause */
#include "status.h"

#include <ctype.h>
#include <infiniband/verbs.h>
#include <string.h>
#include <strings.h>

#include "match.h"

/* Where the kernel's words are others: drivers/infiniband/core/verbs.c wc_statuses. */
static const char *kernel_text(uint32_t status)
{
	switch (status) {
	case IBV_WC_WR_FLUSH_ERR:
		return "WR flushed";
	case IBV_WC_MW_BIND_ERR:
		return "memory bind operation error";
	case IBV_WC_REM_INV_REQ_ERR:
		return "invalid request error";
	case IBV_WC_REM_ABORT_ERR:
		return "operation aborted";
	default:
		return ibv_wc_status_str((enum ibv_wc_status)status);
	}
}

/* How many bytes a text begins with that are these words and no longer ones; 0: it does not. */
static size_t match_text(const char *text, const char *words)
{
	size_t len;

	if ((*text | 0x20) != (*words | 0x20))
		return 0;
	len = strlen(words);
	if (strncasecmp(text, words, len) || isalnum((unsigned char)text[len]) || text[len] == '_')
		return 0;
	return len;
}

/* Bytes before the name: none, or what begins all of libibverbs' or of the kernel's names. */
static size_t prefix_len(const char *text)
{
	if (!strncmp(text, "IBV_WC_", strlen("IBV_WC_")))
		return strlen("IBV_WC_");
	return !strncmp(text, "IB_WC_", strlen("IB_WC_")) ? strlen("IB_WC_") : 0;
}

static size_t match_name(const char *text, size_t prefix, uint32_t status)
{
	const char *name = match_status_name(status);
	const size_t len = name ? match_text(text + prefix, name + strlen("IBV_WC_")) : 0;

	return len ? prefix + len : 0;
}

struct number status_at(const char *text, size_t *len)
{
	const size_t prefix = prefix_len(text);

	for (uint32_t status = 0; status <= IBV_WC_TM_RNDV_INCOMPLETE; status++) {
		*len = isupper((unsigned char)*text) ? match_name(text, prefix, status) : 0;
		if (!*len)
			*len = match_text(text, ibv_wc_status_str((enum ibv_wc_status)status));
		if (!*len)
			*len = match_text(text, kernel_text(status));
		if (*len)
			return KNOWN(status);
	}
	return (struct number){ 0 };
}

struct number status_in(const char *text)
{
	struct number status = { 0 };
	bool is_begin = true; /* of a word */
	size_t len;

	for (; *text && !status.is_known; text++) {
		if (is_begin)
			status = status_at(text, &len);
		is_begin = !isalnum((unsigned char)*text) && *text != '_';
	}
	return status;
}

static struct number syndrome_of(uint32_t status)
{
	switch (status) {
#define SYNDROME_OF(syndrome, status)                                                              \
	case IBV_WC_##status:                                                                      \
		return KNOWN(BSN_SYNDROME_##syndrome);
		BSN_SYNDROME_STATUSES(SYNDROME_OF)
#undef SYNDROME_OF
	default:
		return (struct number){ 0 };
	}
}

void status_set(struct record *record, uint32_t status)
{
	const char *text = ibv_wc_status_str((enum ibv_wc_status)status);

	record_set_status(record, text, strlen(text));
	record->syndrome = syndrome_of(status);
}
