/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows: one of each code, and what shares the code of another one. */
#include "rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CODE(name, ...) { #name, COST_CODE_##name, COST_SHAPE(__VA_ARGS__) },
static const struct cost_row codes[] = { COST_CODES(CODE) };
#undef CODE
#define ONE(...) +1
enum { USUAL_CODES = 0 COST_USUAL_CODES(ONE) };
#undef ONE
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/*
 * The same on other queues, by names that begin, or end, with what these are, or are their own.
 * Names that end in "inline" go on with the bytes: write_inline100.
 */
#define OTHER(name, code, queues) { name, COST_CODE_##code, COST_##queues },
#define LAST(code)	  OTHER(#code "_last", code, LAST)
#define DC(code)	  OTHER("dc_" #code, code, DC)
#define LIMITED(code)	  OTHER("dc_limited_" #code, code, DC_READS)
static const struct {
	const char *name;
	enum cost_code code;
	enum cost_queues queues;
} others[] = {
	OTHER("attached_write_sge", write_sge, ATTACHED)
	LAST(write_sge) OTHER("write_sge_first", write_sge, FIRST) LAST(write_sge4)
	LAST(write_inline) OTHER("write_inline64_last", write_inline64_length, LAST)
	LAST(write_prepared)
	DC(write_sge) DC(write_sge2) DC(write_sge3) DC(write_sge4) DC(write_inline)
	DC(write_inline64_length) DC(write_prepared) DC(write_batch16_sge) DC(write_batch16_sge2)
	DC(write_imm) DC(write_sge_hidden) DC(write_sge2_hidden) DC(read) DC(read_sge2) DC(send)
	DC(send_sge2) DC(send_inline) DC(send_imm) DC(fetch_add) DC(cmp_swap)
	LIMITED(read) LIMITED(read_sge2) LIMITED(fetch_add) LIMITED(write_sge)
	OTHER("dc_miss_write_sge", write_512_qps, DC_MISS)
	OTHER("dc_miss_write_sge_hashed", write_512_qps, DC_HASHED)
	OTHER("dc_miss_write_sge_streams", write_512_qps, DC_STREAMS)
	OTHER("poll_recv_srq", poll_recv, SRQ) OTHER("poll_recv_srq_16", poll_recv_16, SRQ)
	OTHER("poll_ud_send", poll_1, UD) OTHER("poll_xrc_recv", poll_recv, XRC)
	OTHER("poll_512_qps", poll_1, MANY) OTHER("poll_256_qps_apart", poll_1, APART)
	OTHER("attached_poll_1", poll_1, ATTACHED)
	OTHER("poll_1_sessions", poll_recv, COMPRESSED)
	OTHER("poll_16_sessions", poll_recv_16, COMPRESSED)
	OTHER("poll_1_sessions_checksum", poll_recv, CHECKSUMS)
	OTHER("poll_16_sessions_checksum", poll_recv_16, CHECKSUMS)
};

/* What is no operation of a queue pair, by name or group only. */
#define SPECIAL(queues, what, form) { COST_##queues, COST_##what, COST_##form, 1, 1, 0, 0 }
static const struct special {
	const char *group, *name;
	struct cost_shape shape;
} specials[] = {
	{ "layouts", "map_known", SPECIAL(LAYOUTS, MAP_KNOWN, INTERLEAVED) },
	{ "layouts", "unmap", SPECIAL(LAYOUTS, UNMAP, INTERLEAVED) },
	{ "layouts", "matrix_new", SPECIAL(MATRIX, SEND_NEW, INTERLEAVED) },
	{ "layouts", "matrix_known", SPECIAL(MATRIX, SEND_KNOWN, INTERLEAVED) },
	{ "layouts", "matrix_packed", SPECIAL(MATRIX, SEND_PACKED, INTERLEAVED) },
	{ "layouts", "matrix_sges", SPECIAL(MATRIX_WIDE, SEND_SGES, INTERLEAVED) },
	{ "layouts", "matrix_rows", SPECIAL(MATRIX, SEND_ROWS, INTERLEAVED) },
	{ "memory", "mr_register", SPECIAL(BUFFERS, REGISTER, SGES) },
	{ "memory", "mr_get", SPECIAL(BUFFERS, GET, SGES) },
	{ "memory", "mr_find_same", SPECIAL(REGIONS, FIND_SAME, SGES) },
	{ "memory", "mr_find_next", SPECIAL(REGIONS, FIND_NEXT, SGES) },
	{ "memory", "mr_find_any", SPECIAL(REGIONS, FIND_ANY, SGES) },
	{ "memory", "buffer", SPECIAL(BUFFERS, BUFFER, SGES) },
};

/* Each of these with each of those: configure_list_32_shuffled. */
static const struct {
	const char *name;
	enum cost_what what;
} verbs[] = {
	{ "configure_", COST_CONFIGURE }, { "check_", COST_CHECK }, { "map_new_", COST_MAP_NEW }
};
#define LAYOUT(name, form, parts, order) { name, COST_##form, parts, COST_##order },
#define LIST(parts)   LAYOUT("list_" #parts, LIST, parts, ASCENDING)
#define ROUNDS(parts) LAYOUT("rounds_" #parts, INTERLEAVED, parts, ASCENDING)
static const struct {
	const char *name;
	enum cost_form form;
	unsigned parts;
	enum cost_order order;
} layouts[] = {
	LIST(1) LIST(4) LIST(5) LIST(8) LIST(16) LIST(31) LIST(32) LIST(33) LIST(48)
	LAYOUT("list_4_shuffled", LIST, 4, SHUFFLED) LAYOUT("list_32_shuffled", LIST, 32, SHUFFLED)
	LAYOUT("list_32_two_keys", LIST, 32, TWO_KEYS)
	ROUNDS(1) ROUNDS(4) ROUNDS(31) ROUNDS(32)
	LAYOUT("rounds_32_shuffled", INTERLEAVED, 32, SHUFFLED)
	LAYOUT("pages_4", PAGES, 4, ASCENDING) LAYOUT("pages_32", PAGES, 32, ASCENDING)
};

/* Rows of `receives`, of queue pairs. */
static const char *const receives[] = {
	"post_recv_16",	 "post_recv_16_qps", "post_recv_srq_16", "poll_recv",	   "poll_recv_16",
	"poll_1",	 "poll_1_hidden",    "wait_1",		 "wait_1_hidden", "poll_recv_data",
	"poll_recv_inline", "poll_1_sessions", "poll_16_sessions",
};

/* Lengths of inline data among the usual rows, besides 8. */
static const unsigned usual[] = { 12, 16, 28, 32, 44, 64, 128, 192, 256, 512 };

static struct {
	const char *group;
	struct cost_row row;
} table[COST_ROWS_MAX];
static unsigned row_count;

/* Whether its bytes are not known to the compiler, and their number not in its name. */
static bool has_lengths(const struct cost_row *row)
{
	const size_t length = strlen(row->name);

	return row->shape.form == COST_INLINED && !strcmp(row->name + length - 6, "inline");
}

static unsigned most_inline(enum cost_queues kind)
{
	return cost_kinds[kind].max_inline ? cost_kinds[kind].max_inline : COST_INLINE_BYTES;
}

/* The row of so many bytes; on queues that take more, if need be. False: there are none. */
static bool with_length(const struct cost_row *base, unsigned long bytes, struct cost_row *row)
{
	*row = *base;
	if (row->shape.queues == COST_RC && bytes > most_inline(COST_RC))
		row->shape.queues = COST_LONG;
	if (!bytes || bytes > most_inline(row->shape.queues))
		return false;
	row->shape.n = (unsigned)bytes;
	snprintf(row->name, sizeof(row->name), "%.40s%u", base->name, row->shape.n);
	return true;
}

static void add(const char *group, struct cost_row row, const char *name, const char *more)
{
	snprintf(row.name, sizeof(row.name), "%.16s%.31s", name, more);
	table[row_count].group = group;
	table[row_count++].row = row;
}

/* Only the most common ones have more lengths. */
static void add_usual(struct cost_row row, const char *name)
{
	const enum cost_what what = row.shape.what;
	struct cost_row longer;

	add("usual", row, "", name);
	row = table[row_count - 1].row;
	if (!has_lengths(&row) || row.shape.batch > 1 || row.shape.queues != COST_RC ||
	    (what != COST_WRITE && what != COST_SEND))
		return;
	for (unsigned i = 0; i < COUNT(usual); i++)
		if (with_length(&row, usual[i], &longer))
			add("usual", longer, "", longer.name);
}

static void fill(void)
{
	for (unsigned i = 0; i < USUAL_CODES; i++)
		add_usual(codes[i], codes[i].name);
	for (unsigned i = USUAL_CODES; i < COUNT(codes); i++)
		add(NULL, codes[i], "", codes[i].name);
	for (unsigned i = 0; i < COUNT(others); i++) {
		struct cost_row row = codes[others[i].code];

		row.shape.queues = others[i].queues;
		add_usual(row, others[i].name);
	}
	for (unsigned i = 0; i < COUNT(specials); i++)
		add(specials[i].group, (struct cost_row){ .shape = specials[i].shape },
		    "", specials[i].name);
	for (unsigned i = 0; i < COUNT(verbs) * COUNT(layouts); i++) {
		const unsigned verb = i / COUNT(layouts), of = i % COUNT(layouts);
		const struct cost_row row = { .shape = {
			.queues = layouts[of].form == COST_PAGES ? COST_PAGED : COST_LAYOUTS,
			.what = verbs[verb].what,
			.form = layouts[of].form,
			.n = layouts[of].parts,
			.batch = 1,
			.order = layouts[of].order,
		} };

		add("layouts", row, verbs[verb].name, layouts[of].name);
	}
}

unsigned cost_group_rows(const char *group, struct cost_row rows[COST_ROWS_MAX])
{
	unsigned count = 0;

	if (!row_count)
		fill();
	for (unsigned i = 0; i < row_count; i++)
		if (table[i].group && !strcmp(group, table[i].group))
			rows[count++] = table[i].row;
	for (unsigned i = 0; i < COUNT(receives); i++)
		count += !strcmp(group, "receives") && cost_find_row(receives[i], &rows[count]);
	return count;
}

static const struct cost_row *find_named(const char *name, size_t length)
{
	for (unsigned i = 0; i < row_count; i++)
		if (!strncmp(name, table[i].row.name, length) && !table[i].row.name[length])
			return &table[i].row;
	return NULL;
}

bool cost_find_row(const char *name, struct cost_row *row)
{
	const size_t length = strlen(name);
	const struct cost_row *found = find_named(name, length);
	size_t stem = length;

	if (found) {
		*row = *found;
		return true;
	}
	while (stem && strchr("0123456789", name[stem - 1]))
		stem--;
	found = find_named(name, stem);
	return found && has_lengths(found) &&
	       with_length(found, strtoul(name + stem, NULL, 10), row);
}
