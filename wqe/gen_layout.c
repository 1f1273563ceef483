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

static void put_layout(FILE *out)
{
	fprintf(out,
		"# Layouts\n\n"
		"Generated from the tables in `wqe/` by `ninja -C build layout`; do not edit.\n\n"
		"`byte` is where the big-endian word begins that the bits are counted in: 32 "
		"bits,\n"
		"or 64 where the field has 64. Where the device is the writer, \"ignored\" means\n"
		"that no reader looks.\n\n## Segments\n");
	for (size_t i = 0; i < bsn_segment_count; i++)
		put_segment(out, bsn_segments[i]);
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
