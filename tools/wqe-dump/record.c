/* SPDX-License-Identifier: BSD-2-Clause */
#include "record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/text.h"

#define KIND_NAME(NAME, name)            #name,
#define TRANSPORT_NAME(name, value, doc) [BSN_TRANSPORT_##name] = #name,
const char *const record_kind_names[] = { RECORD_KINDS(KIND_NAME) };
const char *const record_side_names[] = { NULL, "requester", "responder" };
const char *const record_transport_names[] = { BSN_TRANSPORTS(TRANSPORT_NAME) };

struct number record_transport_find(const char *name)
{
	for (unsigned i = 0; i <= BSN_TRANSPORT_IPOIB; i++)
		if (!strcasecmp(name, record_transport_names[i]))
			return KNOWN(i);
	return (struct number){ 0 };
}

const char *record_opcode_name(const struct record *record)
{
	const struct bsn_wqe_op *op =
		record->opcode.is_known ? bsn_wqe_op_find(record->opcode.value) : NULL;

	return op ? op->name : NULL;
}

const struct bsn_enum_value *record_cqe_opcode(uint32_t opcode)
{
	const struct bsn_seg_desc *tail = &bsn_cqe_tail_desc;

	return bsn_enum_find(bsn_row_enum(tail, bsn_row_find(tail, "opcode")), opcode);
}

void *need(void *memory)
{
	if (memory)
		return memory;
	fputs("wqe-dump: out of memory\n", stderr);
	exit(2); /* WQE_DUMP_FAILED */
}

void *room_for(void *list, size_t count, size_t more, size_t element_bytes)
{
	size_t most = 1; /* the power of two that there is room for */

	while (most < count)
		most *= 2;
	if (list && count + more <= most)
		return list;
	while (most < count + more)
		most *= 2;
	return need(reallocarray(list, most, element_bytes));
}

const char *record_hex(const uint8_t *bytes, size_t size)
{
	static char text[2 * BSN_WQE_MAX_DS * BSN_DS_SIZE + 1];
	char *end = text;

	for (size_t i = 0; i < size && end < text + sizeof(text) - 1; i++) {
		*end++ = "0123456789abcdef"[bytes[i] >> 4];
		*end++ = "0123456789abcdef"[bytes[i] & 15];
	}
	*end = '\0';
	return text;
}

/* -- what the forms fill in -------------------------------------------------------------------- */

const struct record_field *record_field(const struct record *record, const char *name)
{
	for (unsigned i = 0; i < record->field_count; i++)
		if (!strcmp(record->fields[i].name, name))
			return &record->fields[i];
	return NULL;
}

/* A line may have a field twice. */
static struct record_field *add_field(struct record *record, const char *name)
{
	struct record_field *field = (struct record_field *)record_field(record, name);

	if (!field && record->field_count < RECORD_MAX_FIELDS)
		field = &record->fields[record->field_count++];
	if (field)
		*field = (struct record_field){ .name = name };
	return field;
}

void record_add_number(struct record *record, const char *name, uint64_t value)
{
	struct record_field *field = add_field(record, name);

	if (field)
		field->value = value;
}

/* Copies up to `size` bytes of the printable characters. */
static size_t copy_text(char *to, size_t size, const char *text, size_t len)
{
	size_t n = 0;

	for (; n < len && n < size - 1; n++)
		to[n] = printable(text[n]);
	to[n] = '\0';
	return n + 1;
}

void record_add_text(struct record *record, const char *name, const char *text, size_t len)
{
	const size_t left = RECORD_TEXTS_BYTES - record->texts_len;
	const size_t room = left < RECORD_TEXT_BYTES ? left : RECORD_TEXT_BYTES;
	struct record_field *field = room ? add_field(record, name) : NULL;

	if (!field)
		return;
	field->text = record->texts_len + 1;
	record->texts_len += copy_text(record->texts + record->texts_len, room, text, len);
}

void record_set_status(struct record *record, const char *text, size_t len)
{
	copy_text(record->status, sizeof(record->status), text, len);
}

/* Takes the numbers of an error CQE. */
static void set_error(struct record *record, const struct bsn_cqe_err *err)
{
	const bool is_request = err->opcode == BSN_CQE_REQ_ERR;

	record->kind = RECORD_ERROR_CQE;
	record->side = is_request ? SIDE_REQUESTER : SIDE_RESPONDER;
	record->syndrome = KNOWN(err->syndrome);
	record->vendor_syndrome = KNOWN(err->vendor_syndrome);
	record->hw_syndrome = KNOWN(err->hw_syndrome);
	if (is_request)
		record->opcode = KNOWN(err->wqe_opcode);
}

static int set_cqe(struct record *record, struct bsn_bad *bad)
{
	static struct bsn_cqe cqe;
	const int err = bsn_cqe_decode(record->bytes, record->size_bytes, &cqe, bad);

	record->kind = RECORD_CQE;
	record->cqe = &cqe;
	if (err || !cqe.view)
		return err;
	record->qpn = KNOWN(bsn_cqe_qpn(record->bytes + record->size_bytes - BSN_CQE_SIZE));
	record->wqe_index = KNOWN(cqe.tail.wqe_counter);
	record->signature = KNOWN(cqe.tail.signature);
	if (cqe.view == &bsn_cqe_err_desc)
		set_error(record, &cqe.as.err);
	if (cqe.view == &bsn_cqe_sig_err_desc)
		record->kind = RECORD_ERROR_CQE;
	if (cqe.view == &bsn_cqe_req_desc)
		record->opcode = KNOWN(cqe.as.req.wqe_opcode);
	return 0;
}

static int set_wqe(struct record *record, struct bsn_bad *bad)
{
	static struct bsn_wqe wqe;

	if (bsn_wqe_decode(record->bytes, record->size_bytes, record->transport, &wqe, bad))
		return -EBADMSG;
	record->size_bytes = wqe.size_bytes;
	record->wqe = &wqe;
	record->qpn = KNOWN(wqe.ctrl.qpn);
	record->opcode = KNOWN(wqe.ctrl.opcode);
	record->wqe_index = KNOWN(wqe.ctrl.wqe_index);
	record->signature = KNOWN(wqe.ctrl.signature);
	return 0;
}

int record_decode(struct record *record, enum raw_kind kind, const void *bytes, size_t size,
		  struct bsn_bad *bad)
{
	static const enum bsn_recv_head heads[] = { [RAW_RECV] = BSN_RECV_PLAIN,
						    [RAW_RECV_SRQ] = BSN_RECV_LINKED,
						    [RAW_RECV_SIGNED] = BSN_RECV_SIGNED };
	static struct bsn_recv_wqe recv;

	record->bytes = bytes;
	record->size_bytes = (uint16_t)size;
	if (kind == RAW_CQE || kind == RAW_CQE128)
		return set_cqe(record, bad);
	record->kind = RECORD_WQE;
	if (kind == RAW_WQE)
		return set_wqe(record, bad);
	record->recv = &recv;
	return bsn_recv_decode(bytes, size, heads[kind], &recv, bad);
}

/* -- what the printers walk -------------------------------------------------------------------- */

struct walk {
	void (*each)(const struct record_row *row, void *arg);
	void *arg;
	const struct record *record;
	/* Segments so far, to number those with one name. */
	const struct bsn_seg_desc *seen[BSN_WQE_MAX_PARTS];
	unsigned seen_count;
};

static unsigned count_seen(struct walk *walk, const struct bsn_seg_desc *desc)
{
	unsigned n = 0;

	for (unsigned i = 0; i < walk->seen_count; i++)
		n += walk->seen[i] == desc;
	if (walk->seen_count < BSN_WQE_MAX_PARTS)
		walk->seen[walk->seen_count++] = desc;
	return n;
}

static uint32_t row_size_bytes(const struct bsn_row *row)
{
	const unsigned first = row->lsb / 8, last = (row->lsb + row->width - 1u) / 8;

	return row->kind == BSN_ROW_FIELD64 ? 8 : last - first + 1;
}

static void walk_segment(struct walk *walk, const struct bsn_seg_desc *desc, size_t offset)
{
	const unsigned nth = count_seen(walk, desc);
	struct bsn_row_iter rows;
	struct bsn_row_view view;
	bool is_first = true;

	bsn_row_iter_init(&rows, desc, walk->record->bytes, offset);
	while (bsn_row_next(&rows, &view)) {
		if (!view.row->name)
			continue;
		if (walk->record->side == SIDE_RESPONDER && !strcmp(view.row->name, "wqe_opcode"))
			view.symbol = NULL; /* receives have none */
		walk->each(&(struct record_row){ .segment = desc,
						 .nth = nth,
						 .is_first = is_first,
						 .row = view.row,
						 .offset = view.offset,
						 .size_bytes = row_size_bytes(view.row),
						 .name = view.row->name,
						 .value = view.value,
						 .symbol = view.symbol },
			   walk->arg);
		is_first = false;
	}
}

static void walk_bytes(struct walk *walk, const char *name, unsigned nth, size_t offset,
		       size_t size)
{
	walk->each(&(struct record_row){ .name = name,
					 .nth = nth,
					 .offset = (uint32_t)offset,
					 .size_bytes = (uint32_t)size,
					 .bytes = walk->record->bytes + offset },
		   walk->arg);
}

static void walk_wqe(struct walk *walk)
{
	struct bsn_piece_iter iter;
	struct bsn_piece piece;
	unsigned inlines = 0, raws = 0;

	bsn_piece_iter_init(&iter, walk->record->wqe);
	while (bsn_piece_next(&iter, &piece)) {
		if (piece.kind == BSN_PIECE_SEGMENT)
			walk_segment(walk, piece.desc, piece.offset);
		else if (piece.kind == BSN_PIECE_INLINE)
			walk_bytes(walk, "inline", inlines++, piece.offset, piece.size_bytes);
		else if (piece.kind == BSN_PIECE_RAW)
			walk_bytes(walk, "raw", raws++, piece.offset, piece.size_bytes);
	}
}

static void walk_recv(struct walk *walk)
{
	const struct bsn_recv_wqe *recv = walk->record->recv;

	if (recv->head == BSN_RECV_LINKED)
		walk_segment(walk, &bsn_srq_next_desc, 0);
	if (recv->head == BSN_RECV_SIGNED)
		walk_segment(walk, &bsn_recv_sig_desc, 0);
	for (unsigned i = 0; i < recv->data_count; i++)
		walk_segment(walk, &bsn_data_desc, recv->data[i].offset);
}

static void walk_cqe(struct walk *walk)
{
	const struct bsn_cqe *cqe = walk->record->cqe;

	if (cqe->view)
		walk_segment(walk, cqe->view, cqe->offset);
	else
		walk_segment(walk, &bsn_cqe_tail_desc, cqe->offset + BSN_CQE_TAIL_OFFSET);
	if (cqe->inline_bytes)
		walk_bytes(walk, "inline", 0, (size_t)(cqe->inline_bytes - walk->record->bytes),
			   cqe->inline_len_bytes);
}

void record_walk(const struct record *record, void (*each)(const struct record_row *row, void *arg),
		 void *arg)
{
	struct walk walk = { .each = each, .arg = arg, .record = record };

	if (record->wqe)
		walk_wqe(&walk);
	if (record->recv)
		walk_recv(&walk);
	if (record->cqe)
		walk_cqe(&walk);
	for (unsigned i = 0; i < record->field_count; i++) {
		const struct record_field *field = &record->fields[i];

		each(&(struct record_row){ .name = field->name,
					   .value = field->value,
					   .text = record_field_text(record, field) },
		     arg);
	}
}
