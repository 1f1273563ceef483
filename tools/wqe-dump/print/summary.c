/* SPDX-License-Identifier: BSD-2-Clause */
#include "print.h"

#include <string.h>

#define FINDINGS_MAX 16 /* of one WQE */

/* The summary so far. It is written without printf(): a log may have millions of records. */
static char summary[SUMMARY_BYTES];
static size_t summary_len;

static void add_words(const char *words)
{
	const size_t len = strnlen(words, SUMMARY_BYTES - 1 - summary_len);

	memcpy(summary + summary_len, words, len);
	summary_len += len;
	summary[summary_len] = '\0';
}

/* Begins another summary with a name. */
static void begin(const char *name)
{
	summary_len = 0;
	add_words(name);
	make_printable(summary);
}

/* Adds a number with at least `digits` digits. */
static void add_number(const char *words, uint64_t value, unsigned base, unsigned digits)
{
	char number[65], *const end = number + sizeof(number) - 1, *at = end;

	*end = '\0';
	for (; value || at > end - digits; value /= base)
		*--at = "0123456789abcdef"[value % base];
	add_words(words);
	add_words(at);
}

static void add_hex(const char *words, uint64_t value)
{
	add_number(words, value, 16, 1);
}

static void add_decimal(const char *words, uint64_t value)
{
	add_number(words, value, 10, 1);
}

/* Adds one more item of the summary. */
static void add_item(const char *words)
{
	add_words("  ");
	add_words(words);
}

static void add_queue(const struct record *record)
{
	if (record->qpn.is_known)
		add_hex("  QP 0x", record->qpn.value);
	if (record->wqe_index.is_known)
		add_decimal("  #", record->wqe_index.value);
	if (!record->opcode.is_known)
		return;
	if (record_opcode_name(record))
		add_item(record_opcode_name(record));
	else
		add_number("  opcode 0x", record->opcode.value, 16, 2);
}

static void add_code(const struct explanation *e, enum error_space space, const char *label)
{
	for (unsigned i = 0; i < e->meaning_count; i++) {
		const struct meaning *meaning = &e->meanings[i];

		if (meaning->space != space)
			continue;
		add_item(label);
		add_number(" 0x", meaning->value, 16, 2);
		if (meaning->name) {
			add_words(" ");
			add_words(meaning->name);
		}
	}
}

/* Adds a text of a line, or of a queue in use: "state" is outstanding, polled, … */
static void add_field(const struct record *record, const char *name)
{
	const struct record_field *field = record_field(record, name);

	if (field && field->text)
		add_item(record_field_text(record, field));
}

static void add_error(const struct record *record)
{
	const struct explanation *e = record->explanation;

	add_field(record, "nic");
	add_field(record, "command");
	if (*record->status)
		add_item(record->status);
	if (record->kind == RECORD_COMMAND && record->syndrome.is_known)
		add_hex("  syndrome 0x", record->syndrome.value);
	add_code(e, SPACE_SYNDROME, "syndrome");
	add_code(e, SPACE_HEALTH, "syndrome");
	add_code(e, SPACE_VENDOR, "vendor");
}

static void add_data(const struct bsn_wqe_data *data, unsigned count)
{
	for (unsigned i = 0; i < count && i < 2; i++) {
		add_decimal("  ", data[i].length_bytes);
		if (data[i].bytes) {
			add_words(" B inline");
			continue;
		}
		add_hex(" B at 0x", data[i].addr);
		add_hex(" lkey 0x", data[i].lkey);
	}
	if (count > 2) {
		add_decimal("  and ", count - 2);
		add_words(" more");
	}
}

/* The destination of a datagram, DC or XRC request, after the control segment. */
static void add_target(const struct bsn_wqe *wqe)
{
	const struct bsn_seg_desc *desc = wqe->part_count > 1 ? wqe->parts[1].desc : NULL;

	if (desc == &bsn_av_ud_desc || desc == &bsn_av_ud_grh_desc)
		add_hex("  to QP 0x", wqe->to.ud.dqpn);
	else if (desc == &bsn_av_dc_desc || desc == &bsn_av_dc_grh_desc)
		add_hex("  to DCT 0x", wqe->to.dc.dqpn);
	else if (desc == &bsn_xrc_desc)
		add_hex("  to SRQ 0x", wqe->to.xrc.srqn);
}

static void add_wqe(const struct bsn_wqe *wqe)
{
	const unsigned findings = bsn_wqe_findings(wqe, NULL, 0);

	add_target(wqe);
	if (wqe->op && wqe->op->has_raddr) {
		add_hex("  to 0x", wqe->raddr.raddr);
		add_hex(" rkey 0x", wqe->raddr.rkey);
	}
	if (wqe->op && (wqe->op->imm == BSN_IMM_IMMEDIATE || wqe->op->imm == BSN_IMM_INVALIDATE ||
			wqe->op->imm == BSN_IMM_MKEY))
		add_hex(wqe->op->imm == BSN_IMM_IMMEDIATE ? "  imm 0x" : "  key 0x", wqe->ctrl.imm);
	add_data(wqe->data, wqe->data_count);
	if (wqe->ctrl.ce >= BSN_CE_ALWAYS)
		add_item("signaled");
	if (wqe->ctrl.solicited)
		add_item("solicited");
	if (wqe->ctrl.fence)
		add_decimal("  fence ", wqe->ctrl.fence);
	if (findings) {
		add_decimal("  [", findings);
		add_words(" wrong]");
	}
}

static void add_cqe(const struct bsn_cqe *cqe)
{
	const struct bsn_enum_value *opcode = record_cqe_opcode(cqe->tail.opcode);

	add_item(cqe->tail.format == BSN_CQE_COMPRESSED ? "compressed"
		 : opcode                               ? opcode->name
							: "opcode without a name");
	if (cqe->view == &bsn_cqe_resp_desc) {
		add_decimal("  ", cqe->as.resp.byte_count);
		add_words(" B");
	}
}

const char *summary_write(const struct record *record)
{
	begin(record_kind_names[record->kind]);
	add_queue(record);
	if (record->wqe) {
		add_wqe(record->wqe);
	} else if (record->recv) {
		add_item("receive");
		add_data(record->recv->data, record->recv->data_count);
	} else if (record->cqe && record->kind == RECORD_CQE) {
		add_cqe(record->cqe);
	} else {
		add_error(record);
	}
	if (record->ring)
		add_field(record, "state");
	return summary;
}

const char *summary_place(const struct record *record)
{
	begin(record->file ? record->file : "");
	if (record->line)
		add_decimal(":", record->line);
	if (record->ring)
		add_decimal(" slot ", record->slot);
	return summary;
}

const char *summary_finding(const struct bsn_wqe *wqe, unsigned nth)
{
	struct bsn_bad all[FINDINGS_MAX];
	const unsigned count = bsn_wqe_findings(wqe, all, FINDINGS_MAX);
	const struct bsn_bad *bad = &all[nth];

	if (nth >= count || nth >= FINDINGS_MAX)
		return NULL;
	begin(bad->segment);
	add_words(bad->field ? "." : "");
	add_words(bad->field ? bad->field : "");
	add_words(": ");
	add_words(bad->why);
	if (bad->vendor_syndrome) {
		add_number(" (vendor syndrome 0x", bad->vendor_syndrome, 16, 2);
		add_words(")");
	}
	return summary;
}

const char *summary_partner(const struct record *record)
{
	if (!record->partner_file)
		return NULL;
	begin(record->partner_file);
	if (record->partner_line)
		add_decimal(":", record->partner_line);
	add_words(record->wqe ? " has the error" : " has the WQE");
	if (!record->wqe && record->partner_index.value != record->wqe_index.value) {
		add_decimal(" of its slot, of another round (#", record->partner_index.value);
		add_words(")");
	}
	return summary;
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
	if (!record->explanation->cause)
		return NULL;
	error.opcode = error.numbers[SPACE_HARDWARE] = (struct number){ 0 }; /* only for notes */
	kind = find(&error);
	if (!kind && kinds.count < KINDS_MAX) {
		kind = &kinds.list[kinds.count++];
		*kind = (struct error_kind){ .error = error, .number = kinds.records };
		strcpy(kind->first, summary_place(record));
	}
	if (!kind)
		return NULL;
	kind->count++;
	strcpy(kind->last, summary_place(record));
	return kind;
}

const struct error_kind *kinds_get(unsigned nth)
{
	return nth < kinds.count ? &kinds.list[nth] : NULL;
}
