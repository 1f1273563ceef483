/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows: one of each code, and what shares the code of another one. */
#include "cost_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CODE(name, ...) [COST_CODE_##name] = { #name, COST_CODE_##name, COST_SHAPE(__VA_ARGS__) },
static const struct cost_row codes[COST_CODE_COUNT] = { COST_CODES(CODE) };
#undef CODE
#define ONE(...) +1
enum { USUAL_CODES = 0 COST_USUAL_CODES(ONE) };
#undef ONE

/* The same on other queues. Names that end in "inline" go on with the bytes: write_inline100. */
static const struct {
	const char *name;
	enum cost_code code;
	enum cost_queues queues;
} others[] = {
	{ "attached_write_sge", COST_CODE_write_sge, COST_ATTACHED },
	{ "write_sge_last", COST_CODE_write_sge, COST_LAST },
	{ "write_sge_first", COST_CODE_write_sge, COST_FIRST },
	{ "write_sge4_last", COST_CODE_write_sge4, COST_LAST },
	{ "write_inline_last", COST_CODE_write_inline, COST_LAST },
	{ "write_inline64_last", COST_CODE_write_inline64_length, COST_LAST },
	{ "write_prepared_last", COST_CODE_write_prepared, COST_LAST },
	{ "dc_write_sge", COST_CODE_write_sge, COST_DC },
	{ "dc_write_sge2", COST_CODE_write_sge2, COST_DC },
	{ "dc_write_sge3", COST_CODE_write_sge3, COST_DC },
	{ "dc_write_sge4", COST_CODE_write_sge4, COST_DC },
	{ "dc_write_inline", COST_CODE_write_inline, COST_DC },
	{ "dc_write_inline64_length", COST_CODE_write_inline64_length, COST_DC },
	{ "dc_write_prepared", COST_CODE_write_prepared, COST_DC },
	{ "dc_write_batch16_sge", COST_CODE_write_batch16_sge, COST_DC },
	{ "dc_write_batch16_sge2", COST_CODE_write_batch16_sge2, COST_DC },
	{ "dc_write_imm", COST_CODE_write_imm, COST_DC },
	{ "dc_write_sge_hidden", COST_CODE_write_sge_hidden, COST_DC },
	{ "dc_write_sge2_hidden", COST_CODE_write_sge2_hidden, COST_DC },
	{ "dc_read", COST_CODE_read, COST_DC },
	{ "dc_read_sge2", COST_CODE_read_sge2, COST_DC },
	{ "dc_send", COST_CODE_send, COST_DC },
	{ "dc_send_sge2", COST_CODE_send_sge2, COST_DC },
	{ "dc_send_inline", COST_CODE_send_inline, COST_DC },
	{ "dc_send_imm", COST_CODE_send_imm, COST_DC },
	{ "dc_fetch_add", COST_CODE_fetch_add, COST_DC },
	{ "dc_cmp_swap", COST_CODE_cmp_swap, COST_DC },
	{ "dc_limited_read", COST_CODE_read, COST_DC_READS },
	{ "dc_limited_read_sge2", COST_CODE_read_sge2, COST_DC_READS },
	{ "dc_limited_fetch_add", COST_CODE_fetch_add, COST_DC_READS },
	{ "dc_limited_write_sge", COST_CODE_write_sge, COST_DC_READS },
	{ "dc_miss_write_sge", COST_CODE_write_512_qps, COST_DC_MISS },
	{ "dc_miss_write_sge_hashed", COST_CODE_write_512_qps, COST_DC_HASHED },
	{ "dc_miss_write_sge_streams", COST_CODE_write_512_qps, COST_DC_STREAMS },
	{ "poll_recv_srq", COST_CODE_poll_recv, COST_SRQ },
	{ "poll_recv_srq_16", COST_CODE_poll_recv_16, COST_SRQ },
	{ "poll_ud_send", COST_CODE_poll_1, COST_UD },
	{ "poll_xrc_recv", COST_CODE_poll_recv, COST_XRC },
	{ "poll_512_qps", COST_CODE_poll_1, COST_MANY },
	{ "poll_256_qps_apart", COST_CODE_poll_1, COST_APART },
	{ "attached_poll_1", COST_CODE_poll_1, COST_ATTACHED },
	{ "poll_1_sessions", COST_CODE_poll_recv, COST_COMPRESSED },
	{ "poll_16_sessions", COST_CODE_poll_recv_16, COST_COMPRESSED },
	{ "poll_1_sessions_checksum", COST_CODE_poll_recv, COST_CHECKSUMS },
	{ "poll_16_sessions_checksum", COST_CODE_poll_recv_16, COST_CHECKSUMS },
};
enum { OTHERS = sizeof(others) / sizeof(others[0]) };

/* What is no operation of a queue pair, by name or group only. */
#define SPECIAL(queues, what, form) { COST_##queues, COST_##what, COST_##form, 1, 1, 0, 0 }
static const struct special {
	const char *group, *name;
	struct cost_shape shape;
} specials[] = {
	{ "layouts", "map_known", SPECIAL(LAYOUTS, MAP_KNOWN, INTERLEAVED) },
	{ "layouts", "map_handle", SPECIAL(LAYOUTS, MAP_HANDLE, INTERLEAVED) },
	{ "layouts", "unmap", SPECIAL(LAYOUTS, UNMAP, INTERLEAVED) },
	{ "layouts", "matrix_new", SPECIAL(MATRIX, SEND_NEW, INTERLEAVED) },
	{ "layouts", "matrix_known", SPECIAL(MATRIX, SEND_KNOWN, INTERLEAVED) },
	{ "layouts", "matrix_packed", SPECIAL(MATRIX, SEND_PACKED, INTERLEAVED) },
	{ "layouts", "matrix_sges", SPECIAL(MATRIX, SEND_SGES, INTERLEAVED) },
	{ "layouts", "matrix_rows", SPECIAL(MATRIX, SEND_ROWS, INTERLEAVED) },
	{ "memory", "mr_register", SPECIAL(BUFFERS, REGISTER, SGES) },
	{ "memory", "mr_get", SPECIAL(BUFFERS, GET, SGES) },
	{ "memory", "mr_find_same", SPECIAL(REGIONS, FIND_SAME, SGES) },
	{ "memory", "mr_find_next", SPECIAL(REGIONS, FIND_NEXT, SGES) },
	{ "memory", "mr_find_any", SPECIAL(REGIONS, FIND_ANY, SGES) },
	{ "memory", "buffer", SPECIAL(BUFFERS, BUFFER, SGES) },
};
enum { SPECIALS = sizeof(specials) / sizeof(specials[0]) };

/* Each of these with each of those: configure_list_32_shuffled. */
static const struct {
	const char *name;
	enum cost_what what;
} verbs[] = {
	{ "configure", COST_CONFIGURE }, { "check", COST_CHECK }, { "map_new", COST_MAP_NEW }
};
static const struct {
	const char *name;
	enum cost_form form;
	unsigned parts;
	enum cost_order order;
} layouts[] = {
	{ "list_1", COST_LIST, 1, COST_ASCENDING },
	{ "list_4", COST_LIST, 4, COST_ASCENDING },
	{ "list_5", COST_LIST, 5, COST_ASCENDING },
	{ "list_8", COST_LIST, 8, COST_ASCENDING },
	{ "list_16", COST_LIST, 16, COST_ASCENDING },
	{ "list_31", COST_LIST, 31, COST_ASCENDING },
	{ "list_32", COST_LIST, 32, COST_ASCENDING },
	{ "list_33", COST_LIST, 33, COST_ASCENDING },
	{ "list_48", COST_LIST, 48, COST_ASCENDING },
	{ "list_4_shuffled", COST_LIST, 4, COST_SHUFFLED },
	{ "list_32_shuffled", COST_LIST, 32, COST_SHUFFLED },
	{ "list_32_two_keys", COST_LIST, 32, COST_TWO_KEYS },
	{ "rounds_1", COST_INTERLEAVED, 1, COST_ASCENDING },
	{ "rounds_4", COST_INTERLEAVED, 4, COST_ASCENDING },
	{ "rounds_31", COST_INTERLEAVED, 31, COST_ASCENDING },
	{ "rounds_32", COST_INTERLEAVED, 32, COST_ASCENDING },
	{ "rounds_32_shuffled", COST_INTERLEAVED, 32, COST_SHUFFLED },
	{ "pages_4", COST_PAGES, 4, COST_ASCENDING },
	{ "pages_32", COST_PAGES, 32, COST_ASCENDING },
};
enum {
	VERBS = sizeof(verbs) / sizeof(verbs[0]),
	LAYOUTS = sizeof(layouts) / sizeof(layouts[0]),
};

/* Rows of `receives`, of queue pairs. */
static const char *const receives[] = {
	"post_recv_16",	 "post_recv_16_qps", "post_recv_srq_16", "poll_recv",	   "poll_recv_16",
	"poll_1",	 "poll_1_hidden",    "wait_1",		 "wait_1_hidden", "poll_recv_data",
	"poll_recv_inline", "poll_1_sessions", "poll_16_sessions",
};

/* Lengths of inline data among the usual rows, besides 8. */
static const unsigned usual[] = { 12, 16, 28, 32, 44, 64, 128, 192, 256, 512 };

/* Whether its bytes are not known to the compiler, and their number not in its name. */
static bool has_lengths(const struct cost_row *row)
{
	const size_t length = strlen(row->name);

	return row->shape.form == COST_INLINED && !strcmp(row->name + length - 6, "inline");
}

/* Of the usual rows only the most common have them all. */
static bool shows_lengths(const struct cost_row *row)
{
	const enum cost_what what = row->shape.what;

	return has_lengths(row) && row->shape.batch == 1 && row->shape.queues == COST_RC &&
	       (what == COST_WRITE || what == COST_SEND);
}

static struct cost_row other_row(unsigned i)
{
	struct cost_row row = codes[others[i].code];

	snprintf(row.name, sizeof(row.name), "%s", others[i].name);
	row.shape.queues = others[i].queues;
	return row;
}

/* The group of the i-th of them; NULL: there are no more. */
static const char *special_row(unsigned i, struct cost_row *row)
{
	const unsigned verb = (i - SPECIALS) / LAYOUTS, layout = (i - SPECIALS) % LAYOUTS;

	*row = (struct cost_row){ .code = COST_CODE_write_sge };
	if (i < SPECIALS) {
		snprintf(row->name, sizeof(row->name), "%s", specials[i].name);
		row->shape = specials[i].shape;
		return specials[i].group;
	}
	if (verb >= VERBS)
		return NULL;
	snprintf(row->name, sizeof(row->name), "%s_%s", verbs[verb].name, layouts[layout].name);
	row->shape = (struct cost_shape){
		.queues = layouts[layout].form == COST_PAGES ? COST_PAGED : COST_LAYOUTS,
		.what = verbs[verb].what,
		.form = layouts[layout].form,
		.n = layouts[layout].parts,
		.batch = 1,
		.order = layouts[layout].order,
	};
	return "layouts";
}

unsigned cost_group_rows(const char *group, struct cost_row rows[COST_ROWS_MAX])
{
	unsigned count = 0;
	const char *of;

	for (unsigned i = 0; (of = special_row(i, &rows[count])); i++)
		count += !strcmp(group, of);
	for (unsigned i = 0; i < sizeof(receives) / sizeof(receives[0]); i++)
		count += !strcmp(group, "receives") && cost_find_row(receives[i], &rows[count]);
	return count;
}

static unsigned most_inline(enum cost_queues kind)
{
	return cost_kinds[kind].max_inline ? cost_kinds[kind].max_inline : COST_INLINE_BYTES;
}

/* Of so many bytes; on queues that take more, if need be. False: there are none. */
static bool set_length(struct cost_row *row, unsigned bytes)
{
	row->shape.n = bytes;
	if (row->shape.queues == COST_RC && bytes > most_inline(COST_RC))
		row->shape.queues = COST_LONG;
	return bytes && bytes <= most_inline(row->shape.queues);
}

static bool find_named(const char *name, struct cost_row *row)
{
	for (unsigned i = 0; i < COST_CODE_COUNT + OTHERS; i++) {
		*row = i < COST_CODE_COUNT ? codes[i] : other_row(i - COST_CODE_COUNT);
		if (!strcmp(name, row->name))
			return true;
	}
	for (unsigned i = 0; special_row(i, row); i++)
		if (!strcmp(name, row->name))
			return true;
	return false;
}

bool cost_find_row(const char *name, struct cost_row *row)
{
	const size_t length = strlen(name);
	char base[COST_NAME_BYTES];
	size_t stem = length;

	if (length >= sizeof(base))
		return false;
	if (find_named(name, row))
		return true;
	while (stem && strchr("0123456789", name[stem - 1]))
		stem--;
	snprintf(base, sizeof(base), "%.*s", (int)stem, name);
	if (stem == length || length - stem > 4 || !find_named(base, row) || !has_lengths(row))
		return false;
	memcpy(row->name, name, length + 1);
	return set_length(row, (unsigned)atoi(name + stem));
}

/* A row, and after it those of more lengths. */
static unsigned add(struct cost_row *rows, unsigned count, const struct cost_row *row)
{
	rows[count++] = *row;
	if (!shows_lengths(row))
		return count;
	for (unsigned i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
		char name[COST_NAME_BYTES + 12];

		snprintf(name, sizeof(name), "%s%u", row->name, usual[i]);
		count += cost_find_row(name, &rows[count]);
	}
	return count;
}

unsigned cost_usual_rows(struct cost_row rows[COST_ROWS_MAX])
{
	unsigned count = 0;

	for (unsigned i = 0; i < USUAL_CODES; i++)
		count = add(rows, count, &codes[i]);
	for (unsigned i = 0; i < OTHERS; i++) {
		const struct cost_row row = other_row(i);
		count = add(rows, count, &row);
	}
	return count;
}
