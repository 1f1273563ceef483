/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares the tables with bytes written down by hand from the sources that each file cites: the
 * encoders give these bytes, decode and check accept them. Malformed bytes get the refusal that
 * their file names.
 *
 * usage: test_corpus GOLDEN_FOLDER BAD_FOLDER
 */
#include "../unit.h"
#include "goldens.h"
#include "hexfile.h"
#include "segments.h"

static const char *golden_folder, *bad_folder;

/* Passes the bytes to the reader of their kind, and returns its answer. */
static int judge(const struct hexfile *hex, struct bsn_bad *bad)
{
	static struct bsn_wqe wqe;
	static struct bsn_recv_wqe recv;
	struct bsn_cqe cqe;
	int err;

	memset(bad, 0, sizeof(*bad));
	switch (hex->kind) {
	case HEX_SEND:
		err = bsn_wqe_decode(hex->bytes, hex->size, hex->transport, &wqe, bad);
		return err ? err : bsn_wqe_check(&wqe, bad);
	case HEX_RECV:
	case HEX_RECV_SRQ:
	case HEX_RECV_SIGNED:
		return bsn_recv_decode(hex->bytes, hex->size,
				       (enum bsn_recv_head)(hex->kind - HEX_RECV), &recv, bad);
	default:
		return bsn_cqe_decode(hex->bytes, hex->size, &cqe, bad);
	}
}

static const struct golden *find_golden(const char *name)
{
	for (unsigned i = 0; i < GOLDEN_COUNT; i++)
		if (!strcmp(goldens[i].name, name))
			return &goldens[i];
	fail_msg("no encoder builds %s", name);
	return NULL;
}

static void assert_built(const struct hexfile *hex)
{
	const struct part *parts = find_golden(hex->name)->parts;
	uint8_t bytes[1024] = { 0 };
	size_t size = 0;

	for (const struct part *part = parts, *end = parts + PARTS; part < end; part++) {
		if (part->desc)
			part->encode(bytes + size, part->host);
		else if (part->host)
			memcpy(bytes + size, part->host, part->size);
		size += part->desc ? part->desc->size_bytes : part->size;
	}
	for (size_t at = 0; at < hex->size; at++)
		if (bytes[at] != hex->bytes[at])
			fail_msg("%s: byte %zu is %02x, should be %02x", hex->name, at, bytes[at],
				 hex->bytes[at]);
	assert_int_equal(size, hex->size);
}

static void encoders_give_the_golden_bytes(void **state)
{
	assert_int_equal(hex_visit(golden_folder, assert_built), GOLDEN_COUNT);
}

static void assert_segments(const struct hexfile *hex)
{
	char words[SEGMENTS_BYTES];

	if (hex->kind == HEX_SEND)
		assert_string_equal(segments_of(hex->bytes, hex->size, hex->transport, words),
				    find_golden(hex->name)->segments);
}

static void golden_wqes_have_these_segments(void **state)
{
	assert_int_equal(hex_visit(golden_folder, assert_segments), GOLDEN_COUNT);
}

static void assert_accepted(const struct hexfile *hex)
{
	struct bsn_bad bad;

	if (judge(hex, &bad))
		fail_msg("%s: %s.%s at %u: %s", hex->name, bad.segment, bad.field, bad.offset,
			 bad.why);
}

static void golden_bytes_are_accepted(void **state)
{
	assert_int_equal(hex_visit(golden_folder, assert_accepted), GOLDEN_COUNT);
}

static void assert_refused(const struct hexfile *hex)
{
	struct bsn_bad bad;
	struct bsn_vendor_meaning vendor;

	if (!hex->refused)
		fail_msg("%s does not say how it is refused", hex->name);
	if (judge(hex, &bad) != -EBADMSG)
		fail_msg("%s is accepted", hex->name);
	bsn_vendor_explain(bad.vendor_syndrome, &vendor);
	if (strcmp(bad.segment, hex->segment) || bad.offset != hex->offset ||
	    strcmp(bad.field ? bad.field : "-", hex->field) || strcmp(vendor.name, hex->vendor))
		fail_msg("%s: refused %s %s %u %s", hex->name, bad.segment,
			 bad.field ? bad.field : "-", bad.offset, vendor.name);
	assert_true(*bad.why);
}

static void malformed_bytes_get_the_expected_refusal(void **state)
{
	assert_true(hex_visit(bad_folder, assert_refused) > 20);
}

static void assert_cuts_refused(const struct hexfile *hex)
{
	static struct bsn_wqe wqe;

	for (size_t size = 0; hex->kind == HEX_SEND && size < hex->size; size++) {
		/* A copy of exactly this length, so that ASan sees a read beyond the end. */
		uint8_t *exact = malloc(size ? size : 1);

		assert_non_null(exact);
		memcpy(exact, hex->bytes, size);
		assert_int_equal(bsn_wqe_decode(exact, size, hex->transport, &wqe, NULL), -EBADMSG);
		free(exact);
	}
}

static void every_cut_of_a_golden_wqe_is_refused(void **state)
{
	assert_int_equal(hex_visit(golden_folder, assert_cuts_refused), GOLDEN_COUNT);
}

/*
 * The mask and the check agree on every bit. An ignored bit may have any value. A bit that must be
 * zero is in the mask, and the check finds it.
 */
static void assert_bits(const struct hexfile *hex)
{
	static struct bsn_wqe wqe;
	uint8_t mask[1024], flipped_mask[1024];
	struct hexfile flipped = *hex;
	struct bsn_bad bad;

	if (hex->kind != HEX_SEND)
		return;
	assert_int_equal(bsn_wqe_decode(hex->bytes, hex->size, hex->transport, &wqe, NULL), 0);
	bsn_wqe_mask(&wqe, mask, sizeof(mask));
	for (size_t at = hex->size; at < sizeof(mask); at++)
		assert_int_equal(mask[at], 0);
	for (size_t bit = 0; bit < 8 * hex->size; bit++) {
		if (mask[bit / 8] & 1u << bit % 8)
			continue;
		flipped.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (judge(&flipped, &bad))
			fail_msg("%s: ignored bit %zu of byte %zu matters: %s", hex->name, bit % 8,
				 bit / 8, bad.why);
		bsn_wqe_decode(flipped.bytes, hex->size, hex->transport, &wqe, NULL);
		bsn_wqe_mask(&wqe, flipped_mask, sizeof(flipped_mask));
		assert_memory_equal(mask, flipped_mask, sizeof(mask));
		flipped.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}

static void ignored_bits_change_nothing(void **state)
{
	assert_int_equal(hex_visit(golden_folder, assert_bits), GOLDEN_COUNT);
}

static void assert_reserved(const struct hexfile *hex)
{
	static struct bsn_wqe wqe;
	struct bsn_piece_iter pieces;
	struct bsn_piece piece;
	uint8_t mask[1024];

	if (hex->kind != HEX_SEND)
		return;
	assert_int_equal(bsn_wqe_decode(hex->bytes, hex->size, hex->transport, &wqe, NULL), 0);
	bsn_wqe_mask(&wqe, mask, sizeof(mask));
	bsn_piece_iter_init(&pieces, &wqe);
	while (bsn_piece_next(&pieces, &piece))
		for (unsigned r = 0; piece.desc && r < piece.desc->row_count; r++) {
			const struct bsn_row *row = &piece.desc->rows[r];
			struct hexfile flipped = *hex;
			const size_t at = piece.offset + bsn_row_offset(row);
			const uint8_t bit = (uint8_t)(1u << (row->lsb + row->width - 1u) % 8);
			struct bsn_bad bad;

			if (row->kind != BSN_ROW_ZERO)
				continue;
			assert_true(mask[at] & bit);
			flipped.bytes[at] |= bit;
			assert_int_equal(judge(&flipped, &bad), -EBADMSG);
			assert_string_equal(bad.segment, piece.desc->name);
			assert_int_equal(bad.offset, at);
			assert_int_equal(bad.vendor_syndrome, BSN_VENDOR_NO_ERROR);
		}
}

static void reserved_bits_are_found(void **state)
{
	assert_int_equal(hex_visit(golden_folder, assert_reserved), GOLDEN_COUNT);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { UNIT(encoders_give_the_golden_bytes),
					    UNIT(golden_wqes_have_these_segments),
					    UNIT(golden_bytes_are_accepted),
					    UNIT(malformed_bytes_get_the_expected_refusal),
					    UNIT(every_cut_of_a_golden_wqe_is_refused),
					    UNIT(ignored_bits_change_nothing),
					    UNIT(reserved_bits_are_found) };

	if (argc != 3) {
		fprintf(stderr, "usage: test_corpus GOLDEN_FOLDER BAD_FOLDER\n");
		return 2;
	}
	golden_folder = argv[1];
	bad_folder = argv[2];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
