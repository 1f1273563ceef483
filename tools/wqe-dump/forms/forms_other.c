/* SPDX-License-Identifier: BSD-2-Clause */
/* Errors of other NICs, so that they are not taken for errors of mlx5. */

#include <ctype.h>
#include <limits.h>
#include <string.h>

#include "../explain/explain.h"
#include "keys.h"

/*
 * Names of other NICs: X(name, mark) for drivers, whose messages have the mark; N(name) for
 * devices, which others print with a number after it. Names with one initial are next to each
 * other; a name comes after shorter ones that it begins with. Source: the kernel's
 * drivers/infiniband/hw/ and sw/, and drivers/net/ethernet/ for those with a part there;
 * rdma-core's providers/ and kernel-boot/rdma_rename.c; mcxnex is Solaris' driver of older
 * ConnectX.
 */
#define OTHER_NICS(X, N)                                                                           \
	X("bnxt_en", "bnxt_en") X("bnxt_re", "bnxt_re") X("cxgb4", "cxgb4")                        \
	X("efa", "efa 0000:") X("erdma", "erdma") X("hfi1", "hfi1") X("hns", "libhns")             \
	X("hns3", "hns3") X("hns_roce_hw_v2", "hns_roce") X("iw_cxgb4", "cxgb4")                   \
	X("i40e", "abnormal ae_id") X("i40iw", "i40iw") X("ice", "abnormal ae_id")                 \
	X("ionic", "ionic") X("irdma", "irdma") X("ib_mthca", "mthca") X("ib_qib", "ib_qib")       \
	X("mana", "mana_") X("mana_ib", "mana_ib") X("mlx4", "mlx4:") X("mlx4_core", "mlx4_")      \
	X("mlx4_en", "mlx4_") X("mlx4_ib", "mlx4_") X("mcxnex", "mcxnex") X("mthca", "mthca")      \
	X("ocrdma", "ocrdma") X("qedr", "qedr") N("rdmap") X("rdma_rxe", "rdma_rxe") N("rxe")      \
	X("siw", "siw") X("usnic", "usnic") X("vmw_pvrdma", "vmw_pvrdma")

/* Whether a name is also a word, and needs a device's address or more of a name after it. */
static bool is_english(const char *name)
{
	return !strcmp(name, "ice") || !strcmp(name, "ionic") || !strcmp(name, "mana");
}

/* From this length on a name also begins names of functions: bnxt_re_poll_cq(). */
#define FUNCTIONS_MIN 5

/* With a name, alone or with a number (bnxt_re0, rdmap16s27), or one of its functions'. */
static bool is_name(const char *text, const char *name)
{
	const size_t len = strlen(name);
	size_t digits;

	if (strncmp(text, name, len))
		return false;
	if (is_english(name) && text[len] != '_' && strncmp(text + len, " 0000:", 6))
		return false;
	if (text[len] == '_' && len >= FUNCTIONS_MIN && islower((unsigned char)text[len + 1]))
		return true;
	text += len + (text[len] == '_');
	digits = strspn(text, "0123456789");
	return digits || (text[-1] != '_' && !text_is_word(*text));
}

static const char *name_at(const char *text)
{
#define NAME(name, ...) name,
	static const char *const names[] = { OTHER_NICS(NAME, NAME) };
	static size_t ends[UCHAR_MAX + 1]; /* one past the last name with this initial */
	const size_t count = COUNT(names);

	if (!ends[(unsigned char)*names[0]])
		for (size_t i = 0; i < count; i++)
			ends[(unsigned char)*names[i]] = i + 1;
	for (size_t i = ends[(unsigned char)*text]; i && *names[i - 1] == *text; i--)
		if (is_name(text, names[i - 1]))
			return names[i - 1];
	return NULL;
}

const char *other_nic_in(const char *text)
{
	const char *name = name_at(text);

	while (*text && !name) {
		text = text_next_word(text);
		name = name_at(text);
	}
	return name;
}

/* Whether a word begins with a sign of an error; "err" must be a whole word. */
static bool has_sign(const char *text, const char *sign)
{
	const size_t len = strlen(sign);

	for (const char *at = text; (at = strcasestr(at, sign)); at++)
		if ((at == text || !isalnum((unsigned char)at[-1])) &&
		    (len > 3 || !isalnum((unsigned char)at[len])))
			return true;
	return false;
}

/* Whether a line has a word of errors, and is no source and no item of a change log. */
static bool is_error(const char *text)
{
	static const char *const signs[] = { "err",      "error", "fail",       "abnormal",
					     "syndrome", "stall", "with status" };

	if (!strncmp(text, "- ", 2) || !strncmp(text, "* ", 2) || text_is_source(text))
		return false;
	for (size_t i = 0; i < COUNT(signs); i++)
		if (has_sign(text, signs[i]))
			return true;
	return false;
}

/* The bytes of that NIC's CQE follow; they are not mlx5's. */
static bool is_dump(const char *text)
{
	struct hex_row row;

	return hex_row_read(text, &row, NULL) && row.is_pure && row.count >= 4;
}

static enum form_answer feed_other_nic(struct feed *feed, const struct line *line, void *state)
{
	bool *has_begun = state;
	const char *nic = is_error(line->text) ? other_nic_in(line->text) : NULL;
	struct number status;
	struct record record = { .kind = RECORD_NOT_MLX5, .line = line->number };

	if (!nic)
		return !*has_begun ? FORM_PASS : is_dump(line->text) ? FORM_MORE : FORM_OVER;
	*has_begun = true;
	status = status_in(line->text);
	if (status.is_known)
		status_set(&record, status.value);
	record.syndrome = (struct number){ 0 };
	record_add_text(&record, "nic", nic, strlen(nic));
	record_add_text(&record, "text", line->text, line->len);
	tell_record(feed->tell, &record);
	return FORM_MORE;
}

static const char *const other_nic_marks[] = {
#define MARK(name, mark) mark,
#define NO_MARK(name)
	OTHER_NICS(MARK, NO_MARK) NULL,
};

FORM(other_nic, "other-nic", other_nic_marks, .state_bytes = sizeof(bool), .feed = feed_other_nic);
