/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of the headers as data, for code that walks them. */
#include <errno.h>

#include "bsn_cmd.h"
#include "bsn_cqe.h"
#include "bsn_db.h"
#include "bsn_decode.h"
#include "bsn_syndrome.h"
#include "bsn_umr.h"
#include "bsn_wqe.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define DESC_F(name, dword, lsb, width, doc) { #name, doc, BSN_ROW_FIELD, dword, lsb, width },
#define DESC_Q(name, dword, doc)             { #name, doc, BSN_ROW_FIELD64, dword, 0, 64 },
#define DESC_Z(dword, lsb, width)            { NULL, NULL, BSN_ROW_ZERO, dword, lsb, width },
#define DESC_I(dword, lsb, width)            { NULL, NULL, BSN_ROW_IGNORED, dword, lsb, width },

#define DESC(seg, SEG, text)                                                                       \
	static const struct bsn_row seg##_rows[] = { BSN_TABLE_##SEG(DESC_F, DESC_Q, DESC_Z,       \
								     DESC_I) };                    \
	const struct bsn_seg_desc bsn_##seg##_desc = { #seg,                                       \
						       text,                                       \
						       seg##_rows,                                 \
						       COUNT(seg##_rows),                          \
						       BSN_##SEG##_SIZE,                           \
						       sizeof(struct bsn_##seg) };
#define DESC_ENTRY(seg, SEG, text) &bsn_##seg##_desc,

#define BSN_ALL_SEGMENTS(X)                                                                        \
	BSN_WQE_SEGMENTS(X)                                                                        \
	BSN_UMR_SEGMENTS(X) BSN_CQE_SEGMENTS(X) BSN_DB_SEGMENTS(X) BSN_CMD_SEGMENTS(X)

BSN_ALL_SEGMENTS(DESC)

static const struct bsn_seg_desc *const all_segments[] = { BSN_ALL_SEGMENTS(DESC_ENTRY) };
const struct bsn_seg_desc *const *const bsn_segments = all_segments;
const size_t bsn_segment_count = COUNT(all_segments);

/* Enumerations: E(name, LIST), and which fields hold them: R(seg, field, enum). */
#define ALL_ENUMS(E)                                                                               \
	E(wqe_opcode, BSN_WQE_OPCODES)                                                             \
	E(fence, BSN_FENCES)                                                                       \
	E(ce, BSN_CES)                                                                             \
	E(umr_check, BSN_UMR_CHECKS)                                                               \
	E(mkey_mask, MKEY_MASKS)                                                                   \
	E(bsf_size, BSN_BSF_SIZES)                                                                 \
	E(bsf_type, BSN_BSF_TYPES)                                                                 \
	E(block_size, BSN_BLOCK_SIZES)                                                             \
	E(crypto_order, BSN_CRYPTO_ORDERS)                                                         \
	E(tm_op, BSN_TM_OPS)                                                                       \
	E(wait_condition, BSN_WAIT_CONDITIONS)                                                     \
	E(aso_condition, BSN_ASO_CONDITIONS)                                                       \
	E(cqe_opcode, BSN_CQE_OPCODES)                                                             \
	E(cqe_format, BSN_CQE_FORMATS)                                                             \
	E(cqe_grh, BSN_CQE_GRHS)                                                                   \
	E(cqe_app_op, BSN_CQE_APP_OPS)                                                             \
	E(cqe_l4, BSN_CQE_L4_TYPES)                                                                \
	E(cqe_l3, BSN_CQE_L3_TYPES)                                                                \
	E(cqe_tls, BSN_CQE_TLS)                                                                    \
	E(mini_format, BSN_MINI_FORMATS)                                                           \
	E(cq_arm, BSN_CQ_ARMS)                                                                     \
	E(syndrome, BSN_SYNDROMES)                                                                 \
	E(status, BSN_STATUSES)                                                                    \
	E(source, BSN_SOURCES)                                                                     \
	E(tpt_detail, BSN_TPT_DETAILS)                                                             \
	E(transport, BSN_TRANSPORTS)                                                               \
	E(vendor_syndrome, VENDOR_SYNDROMES)                                                       \
	E(health_syndrome, BSN_HEALTH_SYNDROMES)                                                   \
	E(command_status, BSN_COMMAND_STATUSES)                                                    \
	E(cmd_opcode, BSN_COMMANDS)                                                                \
	E(cap, BSN_CAPS)                                                                           \
	E(event_number, BSN_EVENTS)                                                                \
	E(event_queue, BSN_EVENT_QUEUES)                                                           \
	E(port_change, BSN_PORT_CHANGES)                                                           \
	E(mkey_mode, BSN_MKEY_MODES)                                                               \
	E(atomic_operation, BSN_ATOMIC_OPERATIONS)                                                 \
	E(qpc_state, BSN_QPC_STATES)

#define ENUM_FIELDS(R)                                                                             \
	R(ctrl, opcode, wqe_opcode)                                                                \
	R(eqe, type, event_number)                                                                 \
	R(eqe, queue_type, event_queue)                                                            \
	R(eqe, sub_type, port_change)                                                              \
	R(ctrl, fence, fence)                                                                      \
	R(ctrl, ce, ce)                                                                            \
	R(umr_ctrl, check, umr_check)                                                              \
	R(bsf, size, bsf_size)                                                                     \
	R(bsf, type, bsf_type)                                                                     \
	R(bsf, mem_block, block_size)                                                              \
	R(bsf_crypto, size, bsf_size)                                                              \
	R(bsf_crypto, type, bsf_type)                                                              \
	R(bsf_crypto, order, crypto_order)                                                         \
	R(bsf_crypto, block, block_size)                                                           \
	R(tm, op, tm_op)                                                                           \
	R(wait_mem, condition, wait_condition)                                                     \
	R(aso, cond_0, aso_condition)                                                              \
	R(aso, cond_1, aso_condition)                                                              \
	R(sq_doorbell, opcode, wqe_opcode)                                                         \
	R(cqe_tail, opcode, cqe_opcode)                                                            \
	R(cqe_tail, format, cqe_format)                                                            \
	R(cqe_req, opcode, cqe_opcode)                                                             \
	R(cqe_req, format, cqe_format)                                                             \
	R(cqe_req, wqe_opcode, wqe_opcode)                                                         \
	R(cqe_resp, opcode, cqe_opcode)                                                            \
	R(cqe_resp, format, cqe_format)                                                            \
	R(cqe_resp, grh, cqe_grh)                                                                  \
	R(cqe_resp, app_op, cqe_app_op)                                                            \
	R(cqe_no_packet, app_op, cqe_app_op)                                                       \
	R(cqe_no_packet, opcode, cqe_opcode)                                                       \
	R(cqe_sig_err, opcode, cqe_opcode)                                                         \
	R(cqe_resize, opcode, cqe_opcode)                                                          \
	R(cqe_eth, opcode, cqe_opcode)                                                             \
	R(cqe_eth, format, cqe_format)                                                             \
	R(cqe_eth, l4_type, cqe_l4)                                                                \
	R(cqe_eth, l3_type, cqe_l3)                                                                \
	R(cqe_eth, tls, cqe_tls)                                                                   \
	R(mini_req, wqe_opcode, wqe_opcode)                                                        \
	R(cqe_err, opcode, cqe_opcode)                                                             \
	R(cqe_err, format, cqe_format)                                                             \
	R(cqe_err, wqe_opcode, wqe_opcode)                                                         \
	R(cqe_err, syndrome, syndrome)                                                             \
	R(cqe_err, vendor_syndrome, vendor_syndrome)                                               \
	R(dbr_cq_arm, cmd, cq_arm)                                                                 \
	R(cq_doorbell, cmd, cq_arm)                                                                \
	R(cmd_in, opcode, cmd_opcode)                                                              \
	R(cmd_out, status, command_status)                                                         \
	R(mkey_ctx, access_mode_1_0, mkey_mode)                                                    \
	R(qpc_shape, state, qpc_state)

#define VENDOR_SYNDROMES(X)                    BSN_VENDOR_SYNDROMES(X, X)
#define MKEY_MASK_NAMED(name, bit, doc, field) ENUM_VALUE(name, bit, doc)
#define MKEY_MASKS(X)                          BSN_MKEY_MASK_FIELDS(MKEY_MASK_NAMED)
#define ENUM_VALUE(name, number, doc)          { number, #name, doc },
#define ENUM(name, LIST)                                                                           \
	static const struct bsn_enum_value name##_values[] = { LIST(ENUM_VALUE) };                 \
	static const struct bsn_enum name##_enum = { #name, name##_values, COUNT(name##_values) };
#define ENUM_ENTRY(name, LIST) &name##_enum,

ALL_ENUMS(ENUM)

static const struct bsn_enum *const all_enums[] = { ALL_ENUMS(ENUM_ENTRY) };
const struct bsn_enum *const *const bsn_enums = all_enums;
const size_t bsn_enum_count = COUNT(all_enums);

const struct bsn_enum_value *bsn_enum_find(const struct bsn_enum *list, uint64_t value)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->values[i].value == value)
			return &list->values[i];
	return NULL;
}

struct enum_field {
	const struct bsn_seg_desc *desc;
	const char *field;
	const struct bsn_enum *list;
};

#define ENUM_FIELD_EXISTS(seg, field, list)                                                        \
	_Static_assert(sizeof(((struct bsn_##seg *)0)->field) == sizeof(uint32_t),                 \
		       "the table of " #seg " has a field " #field);
ENUM_FIELDS(ENUM_FIELD_EXISTS)

#define ENUM_FIELD(seg, field, list) { &bsn_##seg##_desc, #field, &list##_enum },
static const struct enum_field enum_fields[] = { ENUM_FIELDS(ENUM_FIELD) };

const struct bsn_enum *bsn_row_enum(const struct bsn_seg_desc *desc, const struct bsn_row *row)
{
	for (size_t i = 0; i < COUNT(enum_fields); i++)
		if (enum_fields[i].desc == desc && row->name &&
		    !strcmp(enum_fields[i].field, row->name))
			return enum_fields[i].list;
	return NULL;
}

uint64_t bsn_row_get(const struct bsn_row *row, const void *src)
{
	const uint8_t *word = (const uint8_t *)src + 4 * row->dword;

	if (row->kind == BSN_ROW_FIELD64)
		return bsn_load_be64(word);
	return (bsn_load_be32(word) >> row->lsb) & BSN_ROW_MASK(row->width);
}

void bsn_row_put(const struct bsn_row *row, void *dst, uint64_t value)
{
	uint8_t *word = (uint8_t *)dst + 4 * row->dword;
	uint32_t mask;

	if (row->kind == BSN_ROW_FIELD64) {
		bsn_store_be64(word, value);
		return;
	}
	mask = BSN_ROW_MASK(row->width) << row->lsb;
	bsn_store_be32(word, (bsn_load_be32(word) & ~mask) | ((uint32_t)value << row->lsb & mask));
}

uint32_t bsn_row_offset(const struct bsn_row *row)
{
	const unsigned above = row->kind == BSN_ROW_FIELD64 ? 0 : 32u - row->lsb - row->width;

	return 4u * row->dword + above / 8;
}

const struct bsn_row *bsn_row_find(const struct bsn_seg_desc *desc, const char *name)
{
	for (unsigned i = 0; i < desc->row_count; i++)
		if (desc->rows[i].name && !strcmp(desc->rows[i].name, name))
			return &desc->rows[i];
	return NULL;
}

/* The members of the host structure are the rows that are fields, in their order. */
int bsn_seg_fit(const struct bsn_seg_desc *desc, const void *host, const struct bsn_row **row)
{
	size_t offset = 0;
	uint32_t value;

	for (unsigned i = 0; i < desc->row_count; i++) {
		const struct bsn_row *r = &desc->rows[i];

		if (r->kind == BSN_ROW_FIELD64) { /* the whole value fits */
			offset += (0u - offset) % _Alignof(struct bsn_atomic_cs) + sizeof(uint64_t);
			continue;
		}
		if (r->kind != BSN_ROW_FIELD)
			continue;
		memcpy(&value, (const uint8_t *)host + offset, sizeof(value));
		offset += sizeof(value);
		if (value <= BSN_ROW_MASK(r->width))
			continue;
		if (row)
			*row = r;
		return -ERANGE;
	}
	return 0;
}

uint8_t bsn_status_of_syndrome(uint32_t syndrome)
{
#define STATUS_OF(syndrome, status) [BSN_SYNDROME_##syndrome] = BSN_STATUS_##status,
	static const uint8_t statuses[] = { BSN_SYNDROME_STATUSES(STATUS_OF) };
#undef STATUS_OF

	if (syndrome < COUNT(statuses) && statuses[syndrome])
		return statuses[syndrome];
	return BSN_STATUS_GENERAL_ERR;
}

uint8_t bsn_syndrome_of_status(uint32_t status)
{
#define SYNDROME_OF(syndrome, status) [BSN_STATUS_##status] = BSN_SYNDROME_##syndrome,
	static const uint8_t syndromes[] = { BSN_SYNDROME_STATUSES(SYNDROME_OF) };
#undef SYNDROME_OF

	return status < COUNT(syndromes) ? syndromes[status] : 0;
}

const char *bsn_status_name(uint32_t status)
{
#define STATUS_NAME(name, value, doc) [value] = "IBV_WC_" #name,
	static const char *const names[] = { BSN_STATUSES(STATUS_NAME) };
#undef STATUS_NAME

	return status < COUNT(names) ? names[status] : NULL;
}

#define VENDOR_NAMED(name, value, doc) { #name, doc, value, false },
#define VENDOR_TPT(name, value, doc)   { #name, doc, value, true },
static const struct {
	const char *name, *doc;
	uint8_t first;
	bool tpt;
} vendors[] = { BSN_VENDOR_SYNDROMES(VENDOR_NAMED, VENDOR_TPT) };

#define VENDOR_SEEN(value, doc) { value, doc },
static const struct {
	uint8_t value;
	const char *doc;
} seen[] = { BSN_VENDOR_MEASURED(VENDOR_SEEN) };

void bsn_vendor_explain(uint32_t code, struct bsn_vendor_meaning *meaning)
{
	struct bsn_vendor_meaning m = { 0 };

	for (size_t i = 0; i < COUNT(vendors); i++) {
		const uint32_t last = vendors[i].first + (vendors[i].tpt ? 7 : 0);

		if (code < vendors[i].first || code > last)
			continue;
		m.name = vendors[i].name;
		m.doc = vendors[i].doc;
		m.source = BSN_SOURCE_LIBDPCP;
		if (vendors[i].tpt)
			m.detail = bsn_enum_find(&tpt_detail_enum, code & 7)->doc;
	}
	if (code >= BSN_VENDOR_RNR_FIRST && code <= BSN_VENDOR_RNR_LAST) {
		m.name = "RNR_NAK";
		m.doc = "the responder had no receive posted; low 5 bits: RNR timer code";
		m.source = BSN_SOURCE_LIBDPCP;
	}
	for (size_t i = 0; i < COUNT(seen); i++) {
		if (code != seen[i].value)
			continue;
		m.measured = seen[i].doc;
		m.source = BSN_SOURCE_MEASURED;
	}
	if (code == BSN_VENDOR_ODP_PAGE_FAULT)
		m.source = BSN_SOURCE_RDMA_CORE;
	*meaning = m;
}
