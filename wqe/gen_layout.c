/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes LAYOUT.md from the tables.
 *
 * usage: gen_layout FILE           writes it
 *        gen_layout --check FILE   tells by its exit status whether the file is current
 */
#include <stdio.h>
#include <stdlib.h>

#include "bsn_decode.h"
#include "places.h"

static void put_row(FILE *out, const struct bsn_seg_desc *desc, const struct bsn_row *row)
{
	const struct bsn_enum *list = row->name ? bsn_row_enum(desc, row) : NULL;
	const unsigned msb = row->kind == BSN_ROW_FIELD64 ? 63u : row->lsb + row->width - 1u;

	if (row->width == 1)
		fprintf(out, "| %d | %u | ", 4 * row->dword, msb);
	else
		fprintf(out, "| %d | %u:%u | ", 4 * row->dword, msb, row->lsb);
	switch (row->kind) {
	case BSN_ROW_ZERO:
		fprintf(out, "| must be zero |\n");
		return;
	case BSN_ROW_IGNORED:
		fprintf(out, "| ignored |\n");
		return;
	default:
		fprintf(out, "`%s` | %s", row->name, row->doc);
		if (list)
			fprintf(out, ": [%s](#enum-bsn_%s)", list->name, list->name);
		fprintf(out, " |\n");
	}
}

static void put_segment(FILE *out, const struct bsn_seg_desc *desc)
{
	fprintf(out, "\n### struct bsn_%s\n\n%s, %u bytes\n\n", desc->name, desc->doc,
		desc->size_bytes);
	fprintf(out, "| byte | bits | field | meaning |\n|---:|---:|---|---|\n");
	for (unsigned i = 0; i < desc->row_count; i++)
		put_row(out, desc, &desc->rows[i]);
}

static void put_enum(FILE *out, const struct bsn_enum *list)
{
	fprintf(out, "\n### enum bsn_%s\n\n| value | name | meaning |\n|---:|---|---|\n",
		list->name);
	for (size_t i = 0; i < list->count; i++)
		fprintf(out, "| 0x%02x | `%s` | %s |\n", list->values[i].value,
			list->values[i].name, list->values[i].doc);
}

static void put_places(FILE *out, uint64_t places)
{
	enum bsn_place place;
	const char *between = "";

	while (bsn_place_next(&places, &place)) {
		const struct bsn_place_info *info = &bsn_places[place];

		fprintf(out, info->desc ? "%s`%s`" : "%s%s", between,
			info->desc ? info->desc->name : info->doc);
		between = ", ";
	}
}

static void put_op(FILE *out, const struct bsn_wqe_op *op)
{
	for (unsigned i = 0; i < BSN_WQE_MAX_FORMS && op->forms[i].places; i++) {
		const struct bsn_wqe_form *form = &op->forms[i];

		fprintf(out, "| `%s` | ", op->name);
		if (form->first_opmod == form->last_opmod)
			fprintf(out, "%u", form->first_opmod);
		else if (form->first_opmod || form->last_opmod < UINT8_MAX)
			fprintf(out, "%u to %u", form->first_opmod, form->last_opmod);
		else
			fprintf(out, "any");
		fprintf(out, " | %s | ", op->is_addressed ? "yes" : "");
		put_places(out, form->places);
		fprintf(out, " |\n");
	}
}

/* The transport's segments, those of a SEND. */
static void put_transport(FILE *out, const struct bsn_enum_value *transport)
{
	const struct bsn_wqe_op *send = bsn_wqe_op_find(BSN_OPCODE_SEND);
	const uint64_t own = BSN_PLACE(CTRL) | BSN_PLACE(DATA);

	fprintf(out, "| `%s` | ", transport->name);
	for (int is_extended = 0; is_extended < 2; is_extended++) {
		put_places(out, bsn_wqe_places(send, (enum bsn_transport)transport->value, 0,
					       is_extended) &
					~own);
		fprintf(out, is_extended ? " |\n" : " | ");
	}
}

static void put_operations(FILE *out)
{
	fprintf(out, "\n## Operations\n\n"
		     "The segments of each operation in their order, by opcode modifier.\n"
		     "\"Addressed\": the transport's segments come after the control segment.\n\n"
		     "| operation | modifier | addressed | segments |\n|---|---|---|---|\n");
	for (uint32_t opcode = 0; opcode <= UINT8_MAX; opcode++)
		if (bsn_wqe_op_find(opcode))
			put_op(out, bsn_wqe_op_find(opcode));
	fprintf(out, "\n| transport | its segments | with an extended address vector |\n"
		     "|---|---|---|\n");
	for (size_t i = 0; i < bsn_enum_count; i++)
		for (size_t k = 0; k < bsn_enums[i]->count; k++)
			if (!strcmp(bsn_enums[i]->name, "transport"))
				put_transport(out, &bsn_enums[i]->values[k]);
}

static void put_layout(FILE *out)
{
	fprintf(out,
		"# Layouts\n\n"
		"Generated from the tables in `wqe/` by `ninja -C build layout`; do not edit.\n\n"
		"`byte` is the offset of a big-endian word of 32 bits, or of 64 if the field\n"
		"has 64; `bits` are counted in that word. The device does not read \"ignored\"\n"
		"bits; in a segment that it writes, no reader does.\n\n## Segments\n");
	for (size_t i = 0; i < bsn_segment_count; i++)
		put_segment(out, bsn_segments[i]);
	put_operations(out);
	fprintf(out, "\n## Numbers\n");
	for (size_t i = 0; i < bsn_enum_count; i++)
		put_enum(out, bsn_enums[i]);
}

/* Compares what would be written, in `text`, with the file. */
static int check_layout(const char *text, size_t size, FILE *file)
{
	size_t at = 0;
	unsigned line = 1;
	int c;

	while ((c = getc(file)) != EOF && at < size && (char)c == text[at])
		line += text[at++] == '\n';
	if (c == EOF && at == size)
		return EXIT_SUCCESS;
	fprintf(stderr, "not current from line %u on: run the target `layout`\n", line);
	return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	const int check = argc == 3 && !strcmp(argv[1], "--check");
	char *text = NULL;
	size_t size = 0;
	FILE *file, *memory;
	int status = EXIT_SUCCESS;

	if (argc != 2 + check) {
		fprintf(stderr, "usage: gen_layout [--check] FILE\n");
		return 2;
	}
	memory = open_memstream(&text, &size);
	if (!memory) {
		perror("gen_layout");
		return 2;
	}
	put_layout(memory);
	file = fclose(memory) ? NULL : fopen(argv[argc - 1], check ? "r" : "w");
	if (!file) {
		perror(argv[argc - 1]);
		free(text);
		return 2;
	}
	if (check)
		status = check_layout(text, size, file);
	else if (fwrite(text, 1, size, file) != size)
		status = EXIT_FAILURE;
	if (fclose(file)) {
		perror(argv[argc - 1]);
		status = EXIT_FAILURE;
	}
	free(text);
	return status;
}
