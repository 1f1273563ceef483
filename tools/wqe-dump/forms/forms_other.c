/* SPDX-License-Identifier: BSD-2-Clause */
/* Errors of other NICs, so that they are not taken for those of an mlx5 device. */
#include "form.h"

#include <ctype.h>
#include <string.h>

#include "../bytes/hex.h"
#include "../explain/status.h"
#include "../text/text.h"
#include "other_nic.h"

/* Whether a word begins with a sign; "err" must be a whole word. */
static bool has_sign(const char *text, const char *sign)
{
	const size_t len = strlen(sign);

	for (const char *at = text; (at = strcasestr(at, sign)); at++)
		if ((at == text || !isalnum((unsigned char)at[-1])) &&
		    (len > 3 || !isalnum((unsigned char)at[len])))
			return true;
	return false;
}

/* Drivers print much else: without these words it is no error; nor are items of a change log. */
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

/* The bytes of that NIC's CQE follow at once; they are not an mlx5 device's. */
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

static void close_other_nic(struct feed *feed, void *state)
{
	(void)feed;
	(void)state;
}

static const char *const other_nic_marks[] = {
#define DRIVER(name, mark) mark,
#define DEVICE(name)
	OTHER_NICS(DRIVER, DEVICE)
#undef DRIVER
#undef DEVICE
		NULL,
};

const struct form form_other_nic = {
	.name = "other-nic",
	.marks = other_nic_marks,
	.state_bytes = sizeof(bool),
	.feed = feed_other_nic,
	.close = close_other_nic,
};
