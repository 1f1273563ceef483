/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A page with a picture of each ring, in one file. Records are written as they come, and shown when
 * a link leads to them. The pictures, which have the links, are written at the end and shown first.
 */
#include "print.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <wqe-dump-page.h> /* made of page.css and page.js */

#define RINGS_MAX 64

/* Hues, and the step between two. Red is for errors. */
enum { COLOUR_FIRST = 40, COLOUR_BLUE = 200, COLOURS = 280, COLOUR_STEP = 47 };

/* What is in one slot. */
struct cell {
	uint32_t record; /* number of what was found; 0: nothing */
	uint16_t index;  /* of a WQE, in a part of a queue */
	uint16_t opcode; /* of a WQE; IS_CQE and a CQE's; or IS_RECV */
	bool is_error;
	bool is_rest; /* of a WQE or CQE that begins in an earlier slot */
};

/* Longer runs of empty slots are drawn as one. */
enum { EMPTY_MAX = 16 };

enum { IS_CQE = 0x100, IS_RECV = 0x200, OPCODES = 0x201 };

/* The picture of a whole ring, or of WQEs that follow each other. */
struct picture {
	bool is_part;
	unsigned records; /* of a part */
	struct ring ring;
	const char *file;
	struct cell *cells; /* one a slot */
};

static struct {
	unsigned records; /* so far */
	unsigned kinds[RECORD_KIND_COUNT];
	unsigned pictures_count;
	struct picture pictures[RINGS_MAX];
} html;

/* -- text -------------------------------------------------------------------------------------- */

/* Puts a text between two pieces of the page. */
static void put(const char *before, const char *text, const char *after)
{
	fputs(before, stdout);
	while (*text) {
		const size_t plain = strcspn(text, "<>&\"");

		fwrite(text, 1, plain, stdout);
		text += plain;
		if (*text)
			printf("&#%d;", *text++);
	}
	fputs(after, stdout);
}

static void put_name(const char *before, const char *name)
{
	char clean[SUMMARY_BYTES];

	snprintf(clean, sizeof(clean), "%s", name);
	make_printable(clean);
	put(before, clean, "");
}

static const char *opcode_name(unsigned opcode)
{
	const struct bsn_enum_value *of_cqe = record_cqe_opcode(opcode - IS_CQE);
	const struct bsn_wqe_op *op = bsn_wqe_op_find(opcode);

	if (opcode == IS_RECV)
		return "receive";
	if (opcode & IS_CQE)
		return of_cqe ? of_cqe->name : "CQE";
	return op ? op->name : "unknown opcode";
}

/* -- fields, for the script: data-raw="00ff…" data-rows="ctrl@0 raddr@16 inline@32+5" ---------- */

/* The tables that the page needs, by names of segments. */
static struct json_object *tables;

/* Makes a list of elements; NULL ends the arguments. */
static struct json_object *new_list(struct json_object *const *elements)
{
	struct json_object *list = json_object_new_array();

	while (*elements)
		json_object_array_add(list, *elements++);
	return list;
}
#define LIST(...) new_list((struct json_object *const[]){ __VA_ARGS__, NULL })

static struct json_object *new_symbols(const struct bsn_enum *list)
{
	struct json_object *symbols = json_object_new_object();
	char key[16];

	for (size_t i = 0; list && i < list->count; i++) {
		snprintf(key, sizeof(key), "%u", list->values[i].value);
		json_object_object_add(symbols, key,
				       LIST(json_object_new_string(list->values[i].name),
					    json_object_new_string(list->values[i].doc)));
	}
	return symbols;
}

/* [name, doc, dword, lowest bit, bits, symbols] */
static struct json_object *new_row(const struct bsn_seg_desc *desc, const struct bsn_row *row)
{
	return LIST(json_object_new_string(row->name), json_object_new_string(row->doc),
		    json_object_new_int(row->dword), json_object_new_int(row->lsb),
		    json_object_new_int(row->width), new_symbols(bsn_row_enum(desc, row)));
}

static void add_table(const struct bsn_seg_desc *desc)
{
	struct json_object *rows;

	if (!tables)
		tables = json_object_new_object();
	if (json_object_object_get_ex(tables, desc->name, NULL))
		return;
	rows = json_object_new_array();
	for (unsigned i = 0; i < desc->row_count; i++)
		if (desc->rows[i].name)
			json_object_array_add(rows, new_row(desc, &desc->rows[i]));
	json_object_object_add(tables, desc->name, rows);
}

static void put_row(const struct record_row *row, void *arg)
{
	(void)arg;
	if (row->bytes)
		printf("%s@%u+%u ", row->name, row->offset, row->size_bytes);
	if (!row->is_first)
		return;
	printf("%s@%u ", row->segment->name, row->offset - bsn_row_offset(row->row));
	add_table(row->segment);
}

static void put_fields(const struct record *record)
{
	if (!record->bytes)
		return;
	if (record_side_names[record->side])
		printf(" data-side=\"%s\"", record_side_names[record->side]);
	printf(" data-raw=\"%s\" data-rows=\"", record_hex(record->bytes, record->size_bytes));
	record_walk(record, put_row, NULL);
	putchar('"');
}

/* Slashes are escaped, so that no text ends the script. */
static void put_script(void)
{
	if (!tables)
		return;
	printf("<script>\nconst tables = %s;\n%s</script>\n",
	       json_object_to_json_string_ext(tables, JSON_C_TO_STRING_PLAIN), page_js);
	json_object_put(tables);
	tables = NULL;
}

/* -- what was found ---------------------------------------------------------------------------- */

/* What a log line says; the script draws the fields of bytes. */
static void put_log_fields(const struct record *record)
{
	if (!record->field_count)
		return;
	fputs("<table>", stdout);
	for (unsigned i = 0; i < record->field_count; i++) {
		const struct record_field *field = &record->fields[i];
		const char *text = record_field_text(record, field);

		put("<tr><td>", field->name, "</td><td>");
		if (text)
			put("", text, "");
		else
			printf("0x%" PRIx64, field->value);
		fputs("</td></tr>", stdout);
	}
	fputs("</table>\n", stdout);
}

/* The same text as the text printer's. */
static void put_explanation(const struct explanation *explanation)
{
	char *text = NULL;
	size_t size;
	FILE *to = need(open_memstream(&text, &size));

	print_explanation(to, explanation, 0);
	fclose(to);
	put("<pre>", text, "</pre>\n");
	free(text);
}

static void put_meaning(const struct record *record)
{
	const struct error_kind *kind = kinds_count(record);

	if (kind && kind->count > 1) {
		printf("<p>The same as <a href=\"#r%lu\">", kind->number);
		put("", kind->first, "</a>: ");
		put("", record->explanation->cause, "</p>\n");
	} else if (record->explanation->cause) {
		put_explanation(record->explanation);
	}
}

static void put_record(const struct record *record)
{
	const char *text;

	printf("<section class=\"%s%s\" id=\"r%u\"", record->ring ? "slot" : "found",
	       record->explanation->cause ? " error" : "", html.records);
	put_fields(record);
	put("><h3>", summary_place(record), "</h3>");
	put("<p>", summary_write(record), "</p>\n");
	if ((text = summary_partner(record)))
		put("<p class=\"wrong\">", text, "</p>\n");
	for (unsigned i = 0; record->wqe && (text = summary_finding(record->wqe, i)); i++)
		put("<p class=\"wrong\">", text, "</p>\n");
	put_meaning(record);
	put_log_fields(record);
	fputs("</section>\n", stdout);
}

/* -- where it is in the ring ------------------------------------------------------------------- */

/* Whether a record is in this ring, or is the next WQE of this part of a queue. */
static bool goes_on(const struct picture *picture, const struct record *record)
{
	const struct ring *ours = &picture->ring, *ring = record->ring;

	if (picture->is_part == !!ring || picture->file != record->file)
		return false;
	if (ring)
		return !strcmp(ours->name, ring->name) && ours->qpn.value == ring->qpn.value &&
		       ours->count == ring->count;
	return ours->qpn.value == record->qpn.value &&
	       (uint16_t)(picture->cells[ours->count - 1].index + 1) == record->wqe_index.value;
}

/*
 * The picture of a ring, or of WQEs that are in no whole ring and follow each other, with room for
 * more slots. A new part of a queue replaces the last part, if that has only one WQE. NULL: there
 * are too many.
 */
static struct picture *get_picture(const struct record *record, uint32_t slots)
{
	struct picture *end = html.pictures + html.pictures_count;
	const bool ends_in_part = html.pictures_count && end[-1].is_part;
	struct picture *picture = record->ring ? html.pictures : end - ends_in_part;
	struct cell *cells;

	while (picture < end && !goes_on(picture, record))
		picture++;
	if (picture < end && record->ring)
		return picture;
	if (picture == end) {
		picture -= !record->ring && ends_in_part && end[-1].records == 1;
		if (picture == html.pictures + RINGS_MAX)
			return NULL;
		*picture = (struct picture){ .is_part = !record->ring,
					     .file = record->file,
					     .ring = { .name = "part of a send queue",
						       .qpn = record->qpn,
						       .stride_bytes = BSN_BB_SIZE },
					     .cells = picture->cells };
	}
	cells = realloc(picture->cells, (picture->ring.count + slots) * sizeof(*cells));
	if (!cells)
		return NULL; /* the page goes on without it */
	html.pictures_count = (unsigned)(picture - html.pictures) + 1;
	memset(cells + picture->ring.count, 0, slots * sizeof(*cells));
	picture->cells = cells;
	picture->ring.count += slots;
	picture->records++;
	return picture;
}

static uint16_t cell_opcode(const struct record *record)
{
	if (record->recv)
		return IS_RECV;
	if (record->cqe)
		return (uint16_t)(IS_CQE | record->cqe->tail.opcode);
	return (uint16_t)(record->opcode.value & 0xff);
}

/* Draws what is in a ring, and each WQE. */
static void draw(const struct record *record)
{
	const uint32_t stride = record->ring ? record->ring->stride_bytes : BSN_BB_SIZE;
	const uint32_t slots = (record->size_bytes + stride - 1) / stride;
	struct picture *picture =
		record->ring || record->wqe
			? get_picture(record, record->ring ? record->ring->count : slots)
			: NULL;
	const uint32_t count = picture ? picture->ring.count : 0;
	const uint32_t first = record->ring ? record->slot : count - slots;

	if (picture && record->ring)
		picture->ring = *record->ring; /* its consumer may have moved on */
	for (uint32_t i = 0; i < slots && i < count; i++)
		picture->cells[(first + i) % count] =
			(struct cell){ .record = html.records,
				       .index = (uint16_t)(record->wqe_index.value + i),
				       .opcode = cell_opcode(record),
				       .is_error =
					       record->explanation->cause || record->partner_file,
				       .is_rest = i > 0 };
}

/* Marks the WQE of an error that came later. */
static void mark_partner(const struct record *record)
{
	if (!record->cqe || !record->partner_file)
		return;
	for (unsigned i = 0; i < html.pictures_count; i++) {
		const struct picture *picture = &html.pictures[i];
		struct cell *cell;

		if (picture->is_part || picture->file != record->partner_file ||
		    picture->ring.qpn.value != record->qpn.value)
			continue;
		cell = &picture->cells[record->partner_index.value % picture->ring.count];
		cell->is_error |= !(cell->opcode & IS_CQE);
	}
}

static bool is_at(const struct number *pointer, const struct ring *ring, uint32_t slot)
{
	return pointer->is_known && pointer->value % ring->count == slot;
}

static void put_slot(const struct picture *picture, uint32_t slot)
{
	const struct ring *ring = &picture->ring;
	const struct cell *cell = &picture->cells[slot];
	const bool is_producer = is_at(&ring->producer, ring, slot);
	const bool is_consumer = is_at(&ring->consumer, ring, slot);

	if (cell->record)
		printf("<a href=\"#r%u\" class=\"o%x", cell->record, cell->opcode);
	else
		fputs("<i class=\"empty", stdout);
	printf("%s%s%s%s\" title=\"%s %u: %s%s%s\">", cell->is_rest ? " rest" : "",
	       cell->is_error ? " bad" : "", is_producer ? " producer" : "",
	       is_consumer ? " consumer" : "", picture->is_part ? "index" : "slot",
	       picture->is_part ? cell->index : slot,
	       cell->record ? opcode_name(cell->opcode) : "empty", is_producer ? ", producer" : "",
	       is_consumer ? ", consumer" : "");
	printf("%s%s</%s>", is_producer ? "P" : "", is_consumer ? "C" : "",
	       cell->record ? "a" : "i");
}

static void put_pointer(const char *name, const struct number *number, uint32_t count)
{
	if (number->is_known)
		printf(", %s at slot %u (index %u)", name, number->value % count, number->value);
}

/* Counts consecutive empty slots, up to the producer's or the consumer's slot. */
static uint32_t count_empty(const struct picture *picture, uint32_t slot)
{
	const struct ring *ring = &picture->ring;
	uint32_t end = slot;

	while (end < ring->count && !picture->cells[end].record &&
	       !is_at(&ring->producer, ring, end) && !is_at(&ring->consumer, ring, end))
		end++;
	return end - slot;
}

static void put_slots(const struct picture *picture)
{
	uint32_t empty;

	for (uint32_t slot = 0; slot < picture->ring.count; slot += empty) {
		empty = count_empty(picture, slot);
		if (empty > EMPTY_MAX) {
			printf("<i class=\"empty fold\" title=\"slots %u to %u: empty\">%u "
			       "empty</i>",
			       slot, slot + empty - 1, empty);
		} else {
			put_slot(picture, slot);
			empty = 1;
		}
	}
}

static void put_picture(const struct picture *picture)
{
	const struct ring *ring = &picture->ring;

	put_name("<section class=\"ring\"><h2>", picture->file);
	put(": ", ring->name, "");
	if (ring->qpn.is_known)
		printf(" 0x%x", ring->qpn.value);
	printf("</h2>\n<p>%u slots of %u bytes", ring->count, ring->stride_bytes);
	put_pointer("producer", &ring->producer, ring->count);
	put_pointer("consumer", &ring->consumer, ring->count);
	fputs("</p>\n<div class=\"slots\">", stdout);
	put_slots(picture);
	fputs("</div></section>\n", stdout);
}

/* -- the page ---------------------------------------------------------------------------------- */

static void begin(void)
{
	memset(&html, 0, sizeof(html));
	kinds_begin();
	printf("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
	       "<title>wqe-dump</title>\n<style>%s</style></head><body>\n"
	       "<main class=\"records\">\n",
	       page_css);
}

static void print_record(const struct record *record)
{
	html.records++;
	html.kinds[record->kind]++;
	put_record(record);
	draw(record);
	mark_partner(record);
}

static void note_unread(const char *file, unsigned long line, const char *why)
{
	put_name("<p class=\"wrong\">", file);
	if (line)
		printf(":%lu", line);
	put(": not read: ", why, "</p>\n");
}

/* Writes the colours of the opcodes that are shown, and their meaning. */
static void put_legend(const bool is_used[OPCODES])
{
	fputs("<style>", stdout);
	for (unsigned opcode = 0, n = 0; opcode < OPCODES; opcode++)
		if (is_used[opcode])
			printf(".o%x{background:hsl(%u,70%%,70%%)}", opcode,
			       COLOUR_FIRST +
				       (COLOUR_BLUE - COLOUR_FIRST + n++ * COLOUR_STEP) % COLOURS);
	fputs("</style>\n<p>", stdout);
	for (unsigned opcode = 0; opcode < OPCODES; opcode++)
		if (is_used[opcode])
			printf("<span class=\"key o%x\"></span>%s%s", opcode,
			       opcode & IS_CQE ? "CQE " : "", opcode_name(opcode));
	fputs("<span class=\"key empty\"></span>empty"
	      "<span class=\"key bad\"></span>an error"
	      " &nbsp; P: producer, C: consumer. Click a slot for its fields.</p>\n",
	      stdout);
}

/* Pictures of a single WQE are not shown. */
static void put_pictures(void)
{
	const struct picture *shown[RINGS_MAX];
	bool is_used[OPCODES] = { false };
	unsigned count = 0;

	for (unsigned i = 0; i < html.pictures_count; i++)
		if (!html.pictures[i].is_part || html.pictures[i].records > 1)
			shown[count++] = &html.pictures[i];
	for (unsigned i = 0; i < count; i++)
		for (uint32_t slot = 0; slot < shown[i]->ring.count; slot++)
			is_used[shown[i]->cells[slot].opcode] |= shown[i]->cells[slot].record;
	if (count)
		put_legend(is_used);
	for (unsigned i = 0; i < count; i++)
		put_picture(shown[i]);
	for (unsigned i = 0; i < html.pictures_count; i++)
		free(html.pictures[i].cells);
}

/* Writes how many records of each kind there are. */
static void put_counts(void)
{
	const char *before = "";

	printf("<p>%u found: ", html.records);
	for (unsigned kind = 0; kind < RECORD_KIND_COUNT; kind++) {
		if (!html.kinds[kind])
			continue;
		printf("%s%u %s", before, html.kinds[kind], record_kind_names[kind]);
		before = ", ";
	}
	fputs("</p>\n", stdout);
}

/* Writes each kind of error once: how often it came, what it is, and where it came first. */
static void put_kinds(void)
{
	const struct error_kind *kind;

	if (!kinds_get(0))
		return;
	fputs("<table class=\"kinds\"><tr><th>errors</th><th>meaning and likeliest cause</th>"
	      "<th>first</th></tr>\n",
	      stdout);
	for (unsigned i = 0; (kind = kinds_get(i)); i++) {
		printf("<tr><td>%lu", kind->count);
		put("</td><td>", explanation_of(&kind->error)->cause, "");
		printf("</td><td><a href=\"#r%lu\">", kind->number);
		put("", kind->first, "</a></td></tr>\n");
	}
	fputs("</table>\n", stdout);
}

static void end(void)
{
	fputs("</main>\n<header class=\"rings\"><h1>wqe-dump</h1>\n", stdout);
	put_counts();
	put_kinds();
	fputs("<noscript><p class=\"wrong\">Without scripts there are no fields; "
	      "wqe-dump has them as text.</p></noscript>\n",
	      stdout);
	put_pictures();
	fputs("</header>\n", stdout);
	put_script();
	fputs("</body></html>\n", stdout);
}

struct sink print_html = { begin, print_record, note_unread, end };
