/* SPDX-License-Identifier: BSD-2-Clause */
#include "build.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "places.h"

/* -- bytes ------------------------------------------------------------------------------------- */

/* Appends `size` zero bytes, rounded up to whole DS; returns NULL if there is no room. */
static uint8_t *grow(struct build *b, size_t size)
{
	const size_t whole = (size_t)bsn_ds_of_bytes((uint32_t)size) * BSN_DS_SIZE;

	if (b->size + whole > BUILD_MAX_BYTES) {
		build_refuse("%s would be longer than %d units of 16 bytes: take fewer or shorter "
			     "segments",
			     b->name, BSN_WQE_MAX_DS);
		return NULL;
	}
	b->size += whole;
	return b->bytes + b->size - whole;
}

static int add_segment(struct build *b, const struct bsn_seg_desc *desc)
{
	const uint16_t offset = (uint16_t)b->size;

	if (b->set_count == BUILD_MAX_SEGMENTS)
		return build_refuse("more than %d segments with fields", BUILD_MAX_SEGMENTS);
	if (!grow(b, desc->size_bytes))
		return WQE_DUMP_FAILED;
	b->segments[b->set_count].desc = desc;
	b->segments[b->set_count++].offset = offset;
	return 0;
}

/* -- fields ------------------------------------------------------------------------------------ */

/* Finds "field" or "segment.field"; @at: filled with its segment. */
static const struct bsn_row *find_field(const struct build *b, const char *field, unsigned *at)
{
	const char *dot = strchr(field, '.');
	const size_t len = dot ? (size_t)(dot - field) : 0;

	for (*at = b->set_from; *at < b->set_count; (*at)++) {
		const struct bsn_seg_desc *desc = b->segments[*at].desc;
		const struct bsn_row *row = bsn_row_find(desc, dot ? dot + 1 : field);
		if (row && (!dot || (strlen(desc->name) == len && !memcmp(desc->name, field, len))))
			return row;
	}
	return NULL;
}

static int refuse_field(const struct build *b, const char *field)
{
	char names[256] = "";
	size_t at = 0;

	for (unsigned i = b->set_from; i < b->set_count && at < sizeof(names); i++)
		at += (size_t)snprintf(names + at, sizeof(names) - at, " %s",
				       b->segments[i].desc->name);
	return build_refuse("%s%s%s has no field %s: its segments are%s", b->name,
			    b->op ? " on " : "", b->op ? record_transport_names[b->transport] : "",
			    field, names);
}

int build_set_number(struct build *b, const char *field, uint64_t value)
{
	unsigned at;
	const struct bsn_row *row = find_field(b, field, &at);

	if (!row)
		return refuse_field(b, field);
	if (row->kind != BSN_ROW_FIELD64 && value > BSN_ROW_MASK(row->width))
		return build_refuse("%s: 0x%llx has more than its %u bits: 0x%x at most", field,
				    (unsigned long long)value, row->width,
				    BSN_ROW_MASK(row->width));
	bsn_row_put(row, b->bytes + b->segments[at].offset, value);
	b->is_counted |=
		b->segments[at].desc == &bsn_umr_ctrl_desc && !strcmp(row->name, "klm_octowords");
	return 0;
}

static const struct bsn_enum_value *find_symbol(const struct bsn_enum *list, const char *name)
{
	for (size_t i = 0; list && i < list->count; i++)
		if (!strcasecmp(list->values[i].name, name))
			return &list->values[i];
	return NULL;
}

int build_set(struct build *b, const char *field, const char *value)
{
	const struct bsn_enum_value *symbol;
	const struct bsn_row *row;
	unsigned long long number;
	unsigned at;
	char *end;

	row = find_field(b, field, &at);
	if (!row)
		return refuse_field(b, field);
	symbol = find_symbol(bsn_row_enum(b->segments[at].desc, row), value);
	if (symbol)
		return build_set_number(b, field, symbol->value);
	errno = 0;
	number = strtoull(value, &end, 0);
	if (!isdigit((unsigned char)*value) || *end || errno)
		return build_refuse("%s: %s is neither a number of 64 bits nor the name of one of "
				    "its values",
				    field, value);
	return build_set_number(b, field, number);
}

/* -- the operation ----------------------------------------------------------------------------- */

/* "rdma-write" and "write" are RDMA_WRITE. */
static const struct bsn_wqe_op *find_operation(const char *name)
{
	char text[32];

	snprintf(text, sizeof(text), "%s", name);
	for (char *dash; (dash = strchr(text, '-'));)
		*dash = '_';
	for (uint32_t opcode = 0; opcode <= UINT8_MAX; opcode++) {
		const struct bsn_wqe_op *op = bsn_wqe_op_find(opcode);

		if (op && (!strcasecmp(op->name, text) ||
			   (!strncmp(op->name, "RDMA_", 5) && !strcasecmp(op->name + 5, text))))
			return op;
	}
	return NULL;
}

/* Adds a segment whose fields are all zero. The caller adds what follows the head. */
static int add_place(struct build *b, enum bsn_place place)
{
	const struct bsn_place_info *info = &bsn_places[place];

	if (place == BSN_PLACE_TRANSLATIONS)
		b->translations = b->size;
	if (!(BSN_PLACES_IN_A_HEAD >> place & 1))
		return 0;
	if (info->desc)
		return add_segment(b, info->desc);
	return grow(b, info->size_bytes) ? 0 : WQE_DUMP_FAILED;
}

/* IPoIB has only extended address vectors. */
static int add_places(struct build *b)
{
	const bool is_extended = b->is_extended || b->transport == BSN_TRANSPORT_IPOIB;
	uint64_t places = bsn_wqe_places(b->op, b->transport, b->opmod, is_extended);
	enum bsn_place place;
	int err = 0;

	if (!places)
		return build_refuse("%s has no modifier 0x%x", b->name, b->opmod);
	while (!err && bsn_place_next(&places, &place))
		err = add_place(b, place);
	return err;
}

static int begin_receive(struct build *b, const char *name)
{
	static const struct {
		const char *name;
		const struct bsn_seg_desc *desc;
	} heads[] = {
		[BSN_RECV_PLAIN] = { "recv", NULL },
		[BSN_RECV_LINKED] = { "recv-srq", &bsn_srq_next_desc },
		[BSN_RECV_SIGNED] = { "recv-signed", &bsn_recv_sig_desc },
	};

	for (unsigned i = 0; i < COUNT(heads); i++) {
		if (strcasecmp(name, heads[i].name))
			continue;
		b->name = heads[i].name;
		b->head = (enum bsn_recv_head)i;
		return heads[i].desc ? add_segment(b, heads[i].desc) : 0;
	}
	return build_refuse("no operation %s: see wqe-dump build --list", name);
}

int build_begin(struct build *b, const char *operation)
{
	unsigned at;
	int err;

	b->op = find_operation(operation);
	if (!b->op)
		return begin_receive(b, operation);
	b->name = b->op->name;
	err = add_places(b);
	if (!err)
		err = build_set_number(b, "ctrl.opcode", b->op->opcode);
	if (!err)
		err = build_set_number(b, "ctrl.opmod", b->opmod);
	if (!err && find_field(b, "rgid_hi", &at)) /* the extended address vector */
		err = build_set_number(b, "ext", 1);
	return err;
}

/* -- what follows ------------------------------------------------------------------------------ */

/* Pads translations to a multiple of 64 bytes; a pointer to them needs no padding. */
static int end_translations(struct build *b)
{
	const size_t count = b->size - b->translations;

	if (!b->translations || b->translations_end)
		return 0;
	if (!b->is_counted && count % BSN_BB_SIZE && !grow(b, BSN_BB_SIZE - count % BSN_BB_SIZE))
		return WQE_DUMP_FAILED;
	b->translations_end = b->size;
	return 0;
}

int build_pointer(struct build *b, uint64_t addr, uint64_t length_bytes, uint64_t key)
{
	const bool is_umr = b->translations != 0;
	uint8_t *segment;

	if (key > UINT32_MAX)
		return build_refuse("a key has 32 bits: 0x%llx has more", (unsigned long long)key);
	if (length_bytes > (is_umr ? BSN_KLM_MAX_BYTES : BSN_DATA_MAX_BYTES))
		return build_refuse("a segment has less than 2^31 bytes: split %llu in several",
				    (unsigned long long)length_bytes);
	segment = grow(b, BSN_DATA_SIZE);
	if (!segment)
		return WQE_DUMP_FAILED;
	if (is_umr)
		bsn_klm_encode(segment, &(struct bsn_klm){ .byte_count = (uint32_t)length_bytes,
							   .mkey = (uint32_t)key,
							   .va = addr });
	else
		bsn_data_encode(segment, &(struct bsn_data){ .byte_count = (uint32_t)length_bytes,
							     .lkey = (uint32_t)key,
							     .addr = addr });
	return 0;
}

/* Reads digits with spaces, colons or nothing between them. Returns how many bytes, or -1. */
static long read_bytes(const char *text, uint8_t bytes[BUILD_MAX_BYTES])
{
	long count = 0;

	for (const char *at = text; *at;) {
		if (*at == ' ' || *at == ':') {
			at++;
			continue;
		}
		if (!isxdigit((unsigned char)at[0]) || !isxdigit((unsigned char)at[1]))
			return build_refuse("%s: bytes are pairs of hexadecimal digits", text), -1;
		if (count == BUILD_MAX_BYTES)
			return build_refuse("more bytes than a WQE has"), -1;
		bytes[count++] = (uint8_t)strtoul((char[]){ at[0], at[1], '\0' }, NULL, 16);
		at += 2;
	}
	return count;
}

static int append(struct build *b, const uint8_t *data, size_t size)
{
	uint8_t *bytes = grow(b, size);

	if (!bytes)
		return WQE_DUMP_FAILED;
	memcpy(bytes, data, size);
	return 0;
}

int build_raw(struct build *b, const char *hex)
{
	uint8_t data[BUILD_MAX_BYTES];
	const long size = read_bytes(hex, data);

	return size < 0 ? WQE_DUMP_FAILED : append(b, data, (size_t)size);
}

int build_inline(struct build *b, const char *hex)
{
	uint8_t data[BSN_INLINE_HDR_SIZE + BUILD_MAX_BYTES];
	const long size = read_bytes(hex, data + BSN_INLINE_HDR_SIZE);

	if (size < 0)
		return WQE_DUMP_FAILED;
	if (!b->op || b->op->data != BSN_DATA_GATHER)
		return build_refuse("%s takes no inline data: give --sge", b->name);
	bsn_inline_hdr_encode(
		data, &(struct bsn_inline_hdr){ .is_inline = 1, .byte_count = (uint32_t)size });
	return append(b, data, BSN_INLINE_HDR_SIZE + (size_t)size);
}

int build_header(struct build *b, const char *hex)
{
	const long inside = BSN_ETH_SIZE - BSN_ETH_START_OFFSET;
	uint8_t data[BUILD_MAX_BYTES];
	const long size = read_bytes(hex, data);
	unsigned at;
	int err;

	if (size < 0)
		return WQE_DUMP_FAILED;
	if (size < inside)
		return build_refuse("a header has %ld bytes at least", inside);
	if (!find_field(b, "eth.start", &at))
		return refuse_field(b, "eth.start");
	if ((size_t)b->segments[at].offset + BSN_ETH_SIZE != b->size)
		return build_refuse("give --header before --sge, --inline and --segment");
	err = build_set_number(b, "eth.inline_size", (uint64_t)size);
	if (!err)
		err = build_set_number(b, "eth.start", bsn_load_be16(data));
	return err ? err : append(b, data + inside, (size_t)(size - inside));
}

int build_segment(struct build *b, const char *name)
{
	for (size_t i = 0; i < bsn_segment_count; i++) {
		const struct bsn_seg_desc *desc = bsn_segments[i];
		int err;
		if (strcmp(desc->name, name) || desc->size_bytes % BSN_DS_SIZE)
			continue;
		err = desc == &bsn_bsf_desc || desc == &bsn_bsf_crypto_desc ? end_translations(b)
									    : 0;
		b->set_from = b->set_count;
		return err ? err : add_segment(b, desc);
	}
	return build_refuse("no segment %s: see wqe-dump build --list", name);
}

/* -- the end ----------------------------------------------------------------------------------- */

static int count_umr(struct build *b)
{
	const size_t count = (b->translations_end - b->translations) / BSN_XLT_SIZE;
	const size_t bsf = (b->size - b->translations_end) / BSN_XLT_SIZE;
	int err = 0;

	if (b->is_counted || !(count + bsf))
		return 0;
	err = build_set_number(b, "umr_ctrl.is_inline", 1);
	if (!err)
		err = build_set_number(b, "umr_ctrl.klm_octowords", count);
	if (!err && bsf)
		err = build_set_number(b, "umr_ctrl.offset_or_bsf", bsf);
	return err;
}

static int refuse_bad(const struct bsn_bad *bad, const char *advice)
{
	return build_refuse("%s.%s at byte %u: %s%s", bad->segment, bad->field ? bad->field : "*",
			    bad->offset, bad->why, advice);
}

/* Checks the WQE by the decoder, so that build and decoder agree on what is wrong. */
static int judge(struct build *b, bool is_forced)
{
	static struct bsn_wqe wqe; /* too large for a stack */
	struct bsn_recv_wqe recv;
	struct bsn_bad bad;

	if (is_forced)
		return 0;
	if (!b->op)
		return bsn_recv_decode(b->bytes, b->size, b->head, &recv, &bad)
			       ? refuse_bad(&bad, "")
			       : 0;
	if (bsn_wqe_decode(b->bytes, b->size, b->transport, &wqe, &bad) ||
	    bsn_wqe_check(&wqe, &bad))
		return refuse_bad(&bad, "; --force builds it anyway");
	if (wqe.raw_offset != wqe.size_bytes && !wqe.raw_is_read)
		return build_refuse(
			"%s does not use what follows byte %u: leave it out, or --force", b->name,
			wqe.raw_offset);
	return 0;
}

int build_end(struct build *b, bool is_forced)
{
	int err = end_translations(b);

	b->set_from = 0;
	if (!err && b->translations)
		err = count_umr(b);
	if (!err && b->op)
		err = build_set_number(b, "ctrl.ds", b->size / BSN_DS_SIZE);
	return err ? err : judge(b, is_forced);
}
