/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arbitrary bytes as the input of wqe-dump: lines, prefixes, every form, hexadecimal in any shape,
 * binary. Whatever they are, nothing is read or written out of bounds (sanitizers tell), and the
 * records are consistent (otherwise this program aborts).
 *
 * The first byte of the input chooses the user's options; 0x80 in it also runs the printers. The
 * rest is the file.
 */
#include "fuzz.h"
#include "wqe-dump/print/print.h"
#include "wqe-dump/scan/scan.h"
#include "wqe-dump/print/summary.h"

static unsigned long lines; /* of the input */
static bool is_printed;

/* Writes what the printers write, and throws it away. */
static void print_record(const struct record *record)
{
	static bool is_quiet;

	if (!is_quiet)
		MUST(freopen("/dev/null", "w", stdout));
	is_quiet = true;
	print_json.record(&print_json, record);
	print_text.record(&print_text, record);
}

static void check_row(const struct record_row *row, void *arg)
{
	const struct record *record = arg;

	MUST(row->name && *row->name);
	MUST(!row->text || strlen(row->text) < RECORD_TEXT_BYTES);
	if (row->segment || row->bytes)
		MUST(row->offset + row->size_bytes <= record->size_bytes);
	MUST(!row->bytes || row->bytes == record->bytes + row->offset);
}

static void check_record(struct sink *sink, const struct record *record)
{
	char text[SUMMARY_BYTES];

	(void)sink;
	MUST(record->line <= lines);
	MUST(record->file && record->source && *record->source);
	MUST(record_kind_name(record->kind));
	MUST(!record->qpn.is_known || record->kind == RECORD_NOT_MLX5 || !record->bytes ||
	     record->qpn.value <= 0xffffff);
	MUST((record->cqe || record->wqe || record->recv) == (record->bytes != NULL));
	MUST(strlen(record->status) < sizeof(record->status));
	MUST(record->field_count <= RECORD_MAX_FIELDS);
	record_walk(record, check_row, (void *)(uintptr_t)record);
	summary_write(record, text);
	MUST(strlen(text) < SUMMARY_BYTES);
	summary_place(record, text);
	if (is_printed)
		print_record(record);
}

static void check_unread(struct sink *sink, const char *file, unsigned long line, const char *why)
{
	(void)sink;
	MUST(file && why && *why);
	MUST(line <= lines);
}

/* Returns the scanner for a choice of options; each scanner is used for many inputs. */
static struct scan *get_scan(unsigned choice)
{
	enum { KINDS = RAW_RECV_SIGNED + 1, TRANSPORTS = BSN_TRANSPORT_IPOIB + 1 };
	enum { FORMATS = BSN_MINI_L34H_STRIDX + 1, COMPRESSIONS = 4 * FORMATS };
	static struct scan *scans[KINDS + TRANSPORTS + COMPRESSIONS];
	static struct sink sink = { .record = check_record, .unread = check_unread };
	static struct tell tell;
	struct scan_attr attr = { .bytes.stride_bytes = 64 };

	choice %= sizeof(scans) / sizeof(scans[0]);
	if (choice < KINDS)
		attr.bytes.kind = (enum raw_kind)choice;
	else if (choice < KINDS + TRANSPORTS)
		attr.bytes.transport = KNOWN(choice - KINDS);
	else
		attr.bytes.compression = (struct compression){
			.format = KNOWN((choice - KINDS - TRANSPORTS) % FORMATS),
			.is_enhanced = (choice - KINDS - TRANSPORTS) / FORMATS & 1,
			.is_striding = (choice - KINDS - TRANSPORTS) / FORMATS & 2,
		};
	if (!tell.tie)
		MUST(!tell_open(&tell, &sink));
	if (!scans[choice])
		scans[choice] = scan_create(&attr, &tell);
	MUST(scans[choice]);
	return scans[choice];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input;

	if (!size)
		return 0;
	lines = 1;
	is_printed = data[0] & 0x80;
	for (size_t i = 1; i < size; i++)
		lines += data[i] == '\n';
	MUST(!input_from_memory(&input, data + 1, size - 1));
	MUST(!scan_input(get_scan(data[0]), &input));
	input_close(&input);
	return 0;
}
