/* SPDX-License-Identifier: BSD-2-Clause */
#include "print.h"

#include <json-c/json.h>
#include <stdio.h>

/* -- of a record: data-raw="00ff…" data-rows="ctrl@0 raddr@16 inline@32+5" --------------------- */

/* The tables that the page needs, by the names of their segments. */
static struct json_object *tables;

/* How far a walk through a record's fields is. */
struct at {
	const char *segment;
	unsigned nth;
};

/* Makes a list of elements, of which a NULL comes last. */
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

static void add_table(const char *name)
{
	const struct bsn_seg_desc *const *desc = bsn_segments;
	struct json_object *rows;

	if (!tables)
		tables = json_object_new_object();
	if (json_object_object_get_ex(tables, name, NULL))
		return;
	while ((*desc)->name != name)
		desc++;
	rows = json_object_new_array();
	for (unsigned i = 0; i < (*desc)->row_count; i++)
		if ((*desc)->rows[i].name)
			json_object_array_add(rows, new_row(*desc, &(*desc)->rows[i]));
	json_object_object_add(tables, name, rows);
}

static void put_row(const struct record_row *row, void *arg)
{
	struct at *at = arg;

	if (row->bytes)
		printf("%s@%u+%u ", row->name, row->offset, row->size_bytes);
	if (!row->row || (row->segment == at->segment && row->nth == at->nth))
		return;
	*at = (struct at){ row->segment, row->nth };
	printf("%s@%u ", row->segment, row->offset - bsn_row_offset(row->row));
	add_table(row->segment);
}

void html_fields_put(const struct record *record)
{
	struct at at = { 0 };

	if (!record->bytes)
		return;
	if (record_side_name(record->side))
		printf(" data-side=\"%s\"", record_side_name(record->side));
	printf(" data-raw=\"%s\" data-rows=\"", record_hex(record->bytes, record->size_bytes));
	record_walk(record, put_row, &at);
	putchar('"');
}

/* -- of the page ------------------------------------------------------------------------------- */

/*
 * Draws the fields of a slot when its link is followed, and those of a log's records when they come
 * into sight. A responder's error names no operation: its opcode field is the requester's.
 */
static const char script[] =
	"function line(table, tag, texts) {\n"
	"  const row = table.insertRow();\n"
	"  for (const text of texts)\n"
	"    row.appendChild(document.createElement(tag)).textContent = text;\n"
	"}\n"
	"function spaced(hex) { return hex.replace(/..(?=.)/g, '$& '); }\n"
	"function segment(table, section, name, label, at) {\n"
	"  for (const [field, doc, dword, lsb, bits, symbols] of tables[name]) {\n"
	"    const word = bits == 64 ? 64 : 32, begin = at + 4 * dword;\n"
	"    const hex = section.dataset.raw.substr(2 * begin, word / 4);\n"
	"    const value = BigInt.asUintN(bits, BigInt('0x' + hex) >> BigInt(lsb));\n"
	"    const first = word - lsb - bits >> 3, last = word - lsb - 1 >> 3;\n"
	"    const is_none = field == 'wqe_opcode' && section.dataset.side == 'responder';\n"
	"    const symbol = is_none ? null : symbols[value];\n"
	"    line(table, 'td', [label, field, '0x' + value.toString(16),\n"
	"      symbol ? symbol.join(': ') : doc, spaced(hex.slice(2 * first, 2 * last + 2))]);\n"
	"  }\n"
	"}\n"
	"function draw(section) {\n"
	"  const table = document.createElement('table'), seen = {};\n"
	"  line(table, 'th', ['segment', 'field', 'value', 'meaning', 'bytes']);\n"
	"  for (const part of section.dataset.rows.trim().split(' ')) {\n"
	"    const [, name, at, size] = part.match(/(\\w+)@(\\d+)\\+?(\\d*)/);\n"
	"    const nth = seen[name] = seen[name] + 1 || 0;\n"
	"    const label = nth ? `${name}[${nth}]` : name;\n"
	"    const bytes = section.dataset.raw.substr(2 * at, 2 * size);\n"
	"    if (size)\n"
	"      line(table, 'td', ['', label, spaced(bytes)]);\n"
	"    else\n"
	"      segment(table, section, name, label, +at);\n"
	"  }\n"
	"  section.appendChild(table);\n"
	"  section.removeAttribute('data-rows');\n"
	"}\n"
	"function mark(link) {\n"
	"  if (link.hash == location.hash) link.setAttribute('aria-current', 'true');\n"
	"  else link.removeAttribute('aria-current');\n"
	"}\n"
	"function draw_target() {\n"
	"  const section = document.getElementById(location.hash.slice(1));\n"
	"  if (section && section.dataset.rows) draw(section);\n"
	"  document.querySelectorAll('.slots a').forEach(mark);\n"
	"}\n"
	"const eye = new IntersectionObserver(seen => seen.forEach(\n"
	"  one => one.isIntersecting && one.target.dataset.rows && draw(one.target)));\n"
	"document.querySelectorAll('.found[data-rows]').forEach(section => eye.observe(section));\n"
	"addEventListener('hashchange', draw_target);\n"
	"draw_target();\n";

/* Slashes are escaped, so that no text ends the script. */
void html_fields_end(void)
{
	if (!tables)
		return;
	printf("<script>\nconst tables = %s;\n%s</script>\n",
	       json_object_to_json_string_ext(tables, JSON_C_TO_STRING_PLAIN), script);
	json_object_put(tables);
	tables = NULL;
}
