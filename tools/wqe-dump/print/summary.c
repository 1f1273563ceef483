/* SPDX-License-Identifier: BSD-2-Clause */
#include "print.h"

#include <stdio.h>
#include <string.h>

#define FINDINGS_MAX 16 /* of one WQE */

/* A text that grows up to SUMMARY_BYTES. */
struct text {
	char *begin;
	size_t len;
};

/* Summaries are written without printf(): a log may have millions of records. */
static void add_words(struct text *text, const char *words)
{
	const size_t len = strnlen(words, SUMMARY_BYTES - 1 - text->len);

	memcpy(text->begin + text->len, words, len);
	text->len += len;
	text->begin[text->len] = '\0';
}

static void add_name(struct text *text, const char *name)
{
	char *const begin = text->begin + text->len;

	add_words(text, name);
	make_printable(begin);
}

/* Adds a number with at least `digits` digits. */
static void add_number(struct text *text, const char *words, uint64_t value, unsigned base,
		       unsigned digits)
{
	char number[65], *const end = number + sizeof(number) - 1, *at = end;

	*end = '\0';
	for (; value || at > end - digits; value /= base)
		*--at = "0123456789abcdef"[value % base];
	add_words(text, words);
	add_words(text, at);
}

static void add_hex(struct text *text, const char *words, uint64_t value)
{
	add_number(text, words, value, 16, 1);
}

static void add_decimal(struct text *text, const char *words, uint64_t value)
{
	add_number(text, words, value, 10, 1);
}

/* Adds one more item of the summary. */
static void add_item(struct text *text, const char *words)
{
	add_words(text, "  ");
	add_words(text, words);
}

static void add_queue(struct text *text, const struct record *record)
{
	if (record->qpn.is_known)
		add_hex(text, "  QP 0x", record->qpn.value);
	if (record->wqe_index.is_known)
		add_decimal(text, "  #", record->wqe_index.value);
	if (!record->opcode.is_known)
		return;
	if (record_opcode_name(record))
		add_item(text, record_opcode_name(record));
	else
		add_number(text, "  opcode 0x", record->opcode.value, 16, 2);
}

static void add_code(struct text *text, const struct explanation *e, enum error_space space,
		     const char *label)
{
	for (unsigned i = 0; i < e->meaning_count; i++) {
		const struct meaning *meaning = &e->meanings[i];

		if (meaning->space != space)
			continue;
		add_item(text, label);
		add_number(text, " 0x", meaning->value, 16, 2);
		if (meaning->name) {
			add_words(text, " ");
			add_words(text, meaning->name);
		}
	}
}

/* Adds a text of a line, or of a queue in use: "state" is outstanding, polled, … */
static void add_field(struct text *text, const struct record *record, const char *name)
{
	for (unsigned i = 0; i < record->field_count; i++)
		if (record_field_text(record, i) && !strcmp(record->fields[i].name, name))
			add_item(text, record_field_text(record, i));
}

static void add_error(struct text *text, const struct record *record)
{
	const struct error error = error_of_record(record);
	const struct explanation *e = explanation_of(&error);

	add_field(text, record, "nic");
	add_field(text, record, "command");
	if (*record->status)
		add_item(text, record->status);
	if (record->kind == RECORD_COMMAND && record->syndrome.is_known)
		add_hex(text, "  syndrome 0x", record->syndrome.value);
	add_code(text, e, SPACE_SYNDROME, "syndrome");
	add_code(text, e, SPACE_HEALTH, "syndrome");
	add_code(text, e, SPACE_VENDOR, "vendor");
}

static void add_data(struct text *text, const struct bsn_wqe_data *data, unsigned count)
{
	for (unsigned i = 0; i < count && i < 2; i++) {
		add_decimal(text, "  ", data[i].length_bytes);
		if (data[i].bytes) {
			add_words(text, " B inline");
			continue;
		}
		add_hex(text, " B at 0x", data[i].addr);
		add_hex(text, " lkey 0x", data[i].lkey);
	}
	if (count > 2) {
		add_decimal(text, "  and ", count - 2);
		add_words(text, " more");
	}
}

/* The destination of a datagram, DC or XRC request, after the control segment. */
static void add_target(struct text *text, const struct bsn_wqe *wqe)
{
	const struct bsn_seg_desc *desc = wqe->part_count > 1 ? wqe->parts[1].desc : NULL;

	if (desc == &bsn_av_ud_desc || desc == &bsn_av_ud_grh_desc)
		add_hex(text, "  to QP 0x", wqe->to.ud.dqpn);
	else if (desc == &bsn_av_dc_desc || desc == &bsn_av_dc_grh_desc)
		add_hex(text, "  to DCT 0x", wqe->to.dc.dqpn);
	else if (desc == &bsn_xrc_desc)
		add_hex(text, "  to SRQ 0x", wqe->to.xrc.srqn);
}

static void add_wqe(struct text *text, const struct bsn_wqe *wqe)
{
	const unsigned findings = bsn_wqe_findings(wqe, NULL, 0);

	add_target(text, wqe);
	if (wqe->op && wqe->op->has_raddr) {
		add_hex(text, "  to 0x", wqe->raddr.raddr);
		add_hex(text, " rkey 0x", wqe->raddr.rkey);
	}
	if (wqe->op && (wqe->op->imm == BSN_IMM_IMMEDIATE || wqe->op->imm == BSN_IMM_INVALIDATE ||
			wqe->op->imm == BSN_IMM_MKEY))
		add_hex(text, wqe->op->imm == BSN_IMM_IMMEDIATE ? "  imm 0x" : "  key 0x",
			wqe->ctrl.imm);
	add_data(text, wqe->data, wqe->data_count);
	if (wqe->ctrl.ce >= BSN_CE_ALWAYS)
		add_item(text, "signaled");
	if (wqe->ctrl.solicited)
		add_item(text, "solicited");
	if (wqe->ctrl.fence)
		add_decimal(text, "  fence ", wqe->ctrl.fence);
	if (findings) {
		add_decimal(text, "  [", findings);
		add_words(text, " wrong]");
	}
}

static void add_cqe(struct text *text, const struct bsn_cqe *cqe)
{
	const struct bsn_enum_value *opcode = record_cqe_opcode(cqe->tail.opcode);

	add_item(text, cqe->tail.format == BSN_CQE_COMPRESSED ? "compressed"
		       : opcode                               ? opcode->name
							      : "opcode without a name");
	if (cqe->view == &bsn_cqe_resp_desc) {
		add_decimal(text, "  ", cqe->as.resp.byte_count);
		add_words(text, " B");
	}
}

void summary_write(const struct record *record, char *text)
{
	struct text out = { .begin = text };

	*text = '\0';
	add_words(&out, record_kind_names[record->kind]);
	add_queue(&out, record);
	if (record->wqe) {
		add_wqe(&out, record->wqe);
	} else if (record->recv) {
		add_item(&out, "receive");
		add_data(&out, record->recv->data, record->recv->data_count);
	} else if (record->cqe && record->kind == RECORD_CQE) {
		add_cqe(&out, record->cqe);
	} else {
		add_error(&out, record);
	}
	if (record->ring)
		add_field(&out, record, "state");
}

void summary_place(const struct record *record, char *text)
{
	struct text out = { .begin = text };

	*text = '\0';
	add_name(&out, record->file ? record->file : "");
	if (record->line)
		add_decimal(&out, ":", record->line);
	if (record->ring)
		add_decimal(&out, " slot ", record->slot);
}

bool summary_finding(const struct bsn_wqe *wqe, unsigned nth, char *text)
{
	struct bsn_bad all[FINDINGS_MAX];
	const unsigned count = bsn_wqe_findings(wqe, all, FINDINGS_MAX);
	const struct bsn_bad *bad = &all[nth];
	struct text out = { .begin = text };

	if (nth >= count || nth >= FINDINGS_MAX)
		return false;
	add_words(&out, bad->segment);
	add_words(&out, bad->field ? "." : "");
	add_words(&out, bad->field ? bad->field : "");
	add_words(&out, ": ");
	add_words(&out, bad->why);
	if (bad->vendor_syndrome) {
		add_number(&out, " (vendor syndrome 0x", bad->vendor_syndrome, 16, 2);
		add_words(&out, ")");
	}
	return true;
}

bool summary_partner(const struct record *record, char *text)
{
	struct text out = { .begin = text };

	if (!record->partner_file)
		return false;
	add_name(&out, record->partner_file);
	if (record->partner_line)
		add_decimal(&out, ":", record->partner_line);
	add_words(&out, record->wqe ? " has the error" : " has the WQE");
	if (!record->wqe && record->partner_index.value != record->wqe_index.value) {
		add_decimal(&out, " of its slot, of another round (#", record->partner_index.value);
		add_words(&out, ")");
	}
	return true;
}

/* -- kinds of errors --------------------------------------------------------------------------- */

#define KINDS_MAX 256

static struct {
	struct error_kind list[KINDS_MAX];
	unsigned count;
	unsigned long records;
} kinds;

void kinds_begin(void)
{
	kinds.count = 0;
	kinds.records = 0;
}

static struct error_kind *find(const struct error *error)
{
	for (unsigned i = 0; i < kinds.count; i++)
		if (error_is_same(&kinds.list[i].error, error))
			return &kinds.list[i];
	return NULL;
}

const struct error_kind *kinds_count(const struct record *record)
{
	struct error error = error_of_record(record);
	struct error_kind *kind;

	kinds.records++;
	if (!record->cause)
		return NULL;
	error.opcode = error.numbers[SPACE_HARDWARE] = (struct number){ 0 }; /* only for notes */
	kind = find(&error);
	if (!kind && kinds.count < KINDS_MAX) {
		kind = &kinds.list[kinds.count++];
		*kind = (struct error_kind){ .error = error, .number = kinds.records };
		summary_place(record, kind->first);
	}
	if (!kind)
		return NULL;
	kind->count++;
	summary_place(record, kind->last);
	return kind;
}

const struct error_kind *kinds_get(unsigned nth)
{
	return nth < kinds.count ? &kinds.list[nth] : NULL;
}
