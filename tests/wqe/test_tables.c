/* SPDX-License-Identifier: BSD-2-Clause */
/* What must hold for every table, whatever it describes. */
#include <errno.h>

#include "../unit.h"
#include "bsn_cmd.h"
#include "bsn_decode.h"
#include "random.h"

#define ROUNDS 20000

/* The typed functions of each segment behind one signature. */
struct codec {
	const struct bsn_seg_desc *desc;
	void (*encode)(void *dst, const void *host);
	void (*decode)(void *host, const void *src);
	uint64_t (*word)(const void *host, unsigned n);
};

#define WRAP(seg, SEG, doc)                                                                        \
	static void seg##_encode(void *dst, const void *host)                                      \
	{                                                                                          \
		bsn_##seg##_encode(dst, host);                                                     \
	}                                                                                          \
	static void seg##_decode(void *host, const void *src)                                      \
	{                                                                                          \
		bsn_##seg##_decode(host, src);                                                     \
	}                                                                                          \
	static uint64_t seg##_word(const void *host, unsigned n)                                   \
	{                                                                                          \
		return bsn_##seg##_word(host, n);                                                  \
	}
#define CODEC(seg, SEG, doc) { &bsn_##seg##_desc, seg##_encode, seg##_decode, seg##_word },
#define ALL_SEGMENTS(X)                                                                            \
	BSN_WQE_SEGMENTS(X)                                                                        \
	BSN_UMR_SEGMENTS(X) BSN_CQE_SEGMENTS(X) BSN_DB_SEGMENTS(X) BSN_CMD_SEGMENTS(X)

ALL_SEGMENTS(WRAP)

static const struct bsn_row *end_of(const struct bsn_seg_desc *desc)
{
	return desc->rows + desc->row_count;
}

static const struct codec codecs[] = { ALL_SEGMENTS(CODEC) };
#define CODEC_COUNT (sizeof(codecs) / sizeof(codecs[0]))

static void the_registry_has_every_segment(void **state)
{
	assert_int_equal(bsn_segment_count, CODEC_COUNT);
	for (size_t i = 0; i < CODEC_COUNT; i++)
		assert_ptr_equal(bsn_segments[i], codecs[i].desc);
}

static void rows_tile_their_segment(void **state)
{
	for (size_t s = 0; s < bsn_segment_count; s++) {
		const struct bsn_seg_desc *desc = bsn_segments[s];
		uint8_t owner[64][32] = { 0 };

		assert_int_equal(desc->size_bytes % 4, 0);
		for (const struct bsn_row *row = desc->rows; row < end_of(desc); row++) {
			assert_true(row->width >= 1 && row->lsb + row->width <= 64);
			for (unsigned b = 0; b < row->width; b++) {
				uint8_t *cell = &owner[row->dword + b / 32][row->lsb + b % 32];
				if ((*cell)++)
					fail_msg("%s: dword %u bit %u is in two rows", desc->name,
						 row->dword, row->lsb + b);
			}
		}
		for (unsigned d = 0; d < desc->size_bytes / 4u; d++)
			for (unsigned b = 0; b < 32; b++)
				if (!owner[d][b])
					fail_msg("%s: dword %u bit %u is in no row", desc->name, d,
						 b);
		for (unsigned d = desc->size_bytes / 4u; d < 64; d++)
			for (unsigned b = 0; b < 32; b++)
				assert_int_equal(owner[d][b], 0);
	}
}

static void field_names_are_unique_and_explained(void **state)
{
	for (size_t s = 0; s < bsn_segment_count; s++) {
		const struct bsn_seg_desc *desc = bsn_segments[s];
		assert_true(*desc->doc);
		for (const struct bsn_row *row = desc->rows; row < end_of(desc); row++) {
			const bool is_field =
				row->kind == BSN_ROW_FIELD || row->kind == BSN_ROW_FIELD64;

			assert_int_equal(is_field, row->name != NULL);
			assert_int_equal(is_field, row->doc != NULL);
			for (const struct bsn_row *other = desc->rows; is_field && other < row;
			     other++)
				if (other->name)
					assert_string_not_equal(other->name, row->name);
		}
	}
}

/* What the encoder must make of random bytes that were decoded: the fields, and zero elsewhere. */
static void clear_unnamed(const struct bsn_seg_desc *desc, uint8_t *bytes)
{
	for (const struct bsn_row *row = desc->rows; row < end_of(desc); row++) {
		if (!row->name)
			bsn_store_be32(bytes + 4 * row->dword,
				       bsn_load_be32(bytes + 4 * row->dword) &
					       ~(BSN_ROW_MASK(row->width) << row->lsb));
	}
}

static void decode_and_encode_are_inverse(void **state)
{
	uint8_t bytes[64], again[64];
	uint64_t host[64] = { 0 }, host_again[64] = { 0 };

	for (size_t c = 0; c < CODEC_COUNT; c++) {
		const struct codec *codec = &codecs[c];
		const size_t size = codec->desc->size_bytes;

		memset(host, 0, sizeof(host));
		memset(host_again, 0, sizeof(host_again));
		for (unsigned i = 0; i < ROUNDS; i++) {
			random_bytes(bytes, sizeof(bytes));
			memset(again, 0xa5, sizeof(again));
			codec->decode(host, bytes);
			codec->encode(again, host);
			clear_unnamed(codec->desc, bytes);
			assert_memory_equal(again, bytes, size);
			for (size_t b = size; b < sizeof(again); b++)
				assert_int_equal(again[b], 0xa5);
			codec->decode(host_again, again);
			assert_memory_equal(host_again, host, codec->desc->host_size_bytes);
			assert_int_equal(bsn_seg_fit(codec->desc, host, NULL), 0);
			for (unsigned n = 0; n < size / 8; n++)
				assert_true(codec->word(host, n) == bsn_load_be64(again + 8 * n));
		}
	}
}

/* bsn_row_get() reads what the generated decoder reads: compared through the host structure. */
static void rows_read_what_the_decoder_reads(void **state)
{
	uint8_t bytes[64];
	uint64_t host[64];

	for (unsigned i = 0; i < CODEC_COUNT * 1000; i++) {
		const struct codec *codec = &codecs[i % CODEC_COUNT];
		size_t offset = 0;

		random_bytes(bytes, sizeof(bytes));
		memset(host, 0, sizeof(host));
		codec->decode(host, bytes);
		for (const struct bsn_row *row = codec->desc->rows; row < end_of(codec->desc);
		     row++) {
			const size_t width = row->kind == BSN_ROW_FIELD64 ? 8 : 4;
			uint64_t value = 0;
			uint32_t narrow = 0;

			if (!row->name)
				continue;
			offset = (offset + width - 1) / width * width;
			if (width == 8)
				memcpy(&value, (uint8_t *)host + offset, 8);
			else
				memcpy(&narrow, (uint8_t *)host + offset, 4);
			assert_true(bsn_row_get(row, bytes) == (width == 8 ? value : narrow));
			offset += width;
		}
		assert_int_equal((offset + 7) / 8, (codec->desc->host_size_bytes + 7) / 8);
	}
}

static void reserved_bits_stay_zero_whatever_the_values(void **state)
{
	uint8_t bytes[64], expected[64];
	uint64_t host[64];

	memset(host, 0xff, sizeof(host));
	for (size_t c = 0; c < CODEC_COUNT; c++) {
		codecs[c].encode(bytes, host);
		memset(expected, 0xff, sizeof(expected));
		clear_unnamed(codecs[c].desc, expected);
		assert_memory_equal(bytes, expected, codecs[c].desc->size_bytes);
	}
}

/*
 * Which bits are reserved and which are ignored, by segment and dword. This is a second copy, by
 * hand, since no other oracle tells the two apart. A dword that is not listed has only fields.
 */
#define ALL UINT32_MAX
#define ROW(seg, ...)                                                                              \
	{                                                                                          \
		.desc = &bsn_##seg##_desc, __VA_ARGS__                                             \
	}
static const struct {
	const struct bsn_seg_desc *desc;
	uint32_t zero[16], ignored[16];
} unnamed[] = {
	ROW(ctrl, .zero = { [1] = 0xc0, [2] = 0x11 }),
	ROW(av_ud, .zero = { [2] = 0x7f000000 }, .ignored = { [1] = ALL }),
	ROW(av_dc, .zero = { [2] = 0x7f000000 }),
	ROW(av_ud_grh, .zero = { [2] = 0x7f000000, [7] = 0xb0000000 },
	    .ignored = { [1] = ALL, [4] = ALL }),
	ROW(av_dc_grh, .zero = { [2] = 0x7f000000, [7] = 0xb0000000 }, .ignored = { [4] = ALL }),
	ROW(xrc, .zero = { 0xff000000 }, .ignored = { 0, ALL, ALL, ALL }),
	ROW(raddr, .ignored = { [3] = ALL }),
	ROW(inline_hdr, .zero = { 0x7ffffc00 }),
	ROW(atomic_fa, .ignored = { [2] = ALL, ALL }),
	ROW(masked_fa32, .ignored = { [2] = ALL, ALL }),
	ROW(srq_next, .ignored = { 0xffff0000, 0x00ffffff, ALL, ALL }),
	ROW(recv_sig, .ignored = { ALL, 0x00ffffff, ALL, ALL }),
	ROW(umr_ctrl, .zero = { 0x07ffffff, [5] = ALL, ALL, ALL, ALL, ALL, ALL, ALL }),
	ROW(mkey_ctx, .ignored = { 0xa3fa00ff, [2] = ALL, 0x1a000000, [9] = ALL, ALL, ALL,
				   ALL, [14] = 0xffffffa0, 0xe7ffffff }),
	ROW(repeat, .ignored = { [3] = 0xffff0000 }),
	ROW(bsf, .zero = { 0x2c000000, [8] = 0x3fff0000, [10] = 0x0077ffff,
			   0xff000000, [12] = 0x3fff0000, [14] = 0x0077ffff, 0xff000000 }),
	ROW(bsf_crypto, .zero = { 0x3cf0fff0, [2] = 0x00ffffff, ALL, [8] = 0xff000000,
				  ALL, [12] = ALL, ALL, ALL, ALL }),
	ROW(set_psv, .zero = { 0xff000000 }),
	ROW(get_psv, .zero = { ALL, ALL, ALL, ALL, 0xffffff00 }),
	ROW(check_psv, .zero = { 0xffff0000, 0xffff0000, 0xffff0000, ALL, 0xffffff00 }),
	ROW(fmr, .ignored = { [10] = ALL, ALL }),
	ROW(eth, .zero = { [1] = 0x0ecc0000, [3] = 0x20000000 }),
	ROW(tm, .zero = { 0x0f3f0000 }, .ignored = { [1] = 0xffff0000, ALL, ALL }),
	ROW(wait_en, .zero = { ALL, ALL, [3] = 0xff000000 }),
	ROW(wait_mem, .zero = { 0xffffffe0 }),
	ROW(aso, .zero = { [3] = 0x3f000000 }),
	ROW(flow, .ignored = { [6] = ALL, ALL, ALL, ALL, ALL, ALL }),
	ROW(cqe_req, .ignored = { ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, 0xff000000, ALL, ALL }),
	ROW(cqe_resp, .ignored = { 0xffff0000, ALL, ALL, 0, 0xffff, 0, 0xc0000000, 0,
				   0xff000000, [14] = 0xff000000 }),
	ROW(cqe_err, .ignored = { ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, 0xff000000, ALL, ALL, ALL,
				  ALL, 0xf0000 }),
	ROW(cqe_eth, .ignored = { 0xe4ff0000, 0xbf000000, [4] = 0x33ffffff, 0x0000ffff, ALL,
				  0xf8000000, [10] = ALL, [14] = 0xff000000 }),
	ROW(cqe_no_packet, .ignored = { 0x7fffffff, 0x0000ffff, ALL, ALL, ALL, ALL, ALL, ALL,
					0xff000000, ALL, [11] = ALL, [14] = 0xff000000 }),
	ROW(cqe_sig_err,
	    .ignored = { ALL, ALL, ALL, ALL, [8] = 0x0000f8f8, [12] = ALL, ALL, 0xff000000 }),
	ROW(cqe_resize, .ignored = { ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL,
				     ALL, ALL, ALL }),
	ROW(mini_req, .ignored = { 0xff }),
	ROW(mini_l34h, .ignored = { 0xff000000 }),
	ROW(dbr_wq, .zero = { 0xffff0000 }),
	ROW(dbr_cq_ci, .zero = { 0xff000000 }),
	ROW(dbr_cq_arm, .zero = { 0xce000000 }),
	ROW(cq_doorbell, .zero = { 0xce000000, 0xff000000 }),
	ROW(sq_doorbell, .zero = { 0, 0xc0 }),
	ROW(cmd_in, .ignored = { 0, 0xffff0000 }),
	ROW(cmd_out, .ignored = { 0x00ffffff }),
	ROW(create_mkey_flags, .ignored = { ALL, 0x3fffffff }),
	ROW(cmd_object, .ignored = { 0x7f000000, ALL }),
	ROW(cmd_ring, .ignored = { [3] = 0x7fffffff }),
	ROW(cqc,
	    .ignored = { 0x0d0c00fc, [2] = 0xfffff03f, 0xe0000000, 0xf0000000, [6] = 0xe0ffffff,
			 ALL, 0xff000000, 0xff000000, 0xff000000, 0xff000000, ALL, ALL }),
	ROW(qpc_shape,
	    .ignored = { 0x0000e003, 0x0f000000, 0x00800720, [4] = 0xe0000000, 0xe0000000 }),
	ROW(ads, .ignored = { 0x3fff0000, 0xff000000, 0x0700f000, 0xf0000000, [8] = 0xf2000000 }),
	ROW(qpc_work, .ignored = { 0x0f18101f, ALL, 0xff000000, 0xe0000000, 0xe0000000, ALL,
				   0xff000000, 0xff000000, 0xff101038, 0xe0000000, 0xff000000,
				   0xff000000, [15] = 0xf8000000 }),
	ROW(qpc_record,
	    .ignored = { 0xff000000, [4] = ALL, 0xfffe0000, [8] = 0xefffffff, ALL, ALL, ALL, ALL }),
	ROW(cap_odp, .ignored = { ALL, ALL, 0x7fffffff, ALL, 0x03ffffff, 0x03ffffff, 0x03ffffff,
				  0x03ffffff, 0x03ffffff, ALL }),
	ROW(rmp_select, .ignored = { 0x0f000000, ALL, ALL, 0xfffffffe }),
	ROW(eqe, .ignored = { 0xff00ff00, ALL, ALL, ALL, ALL, ALL, ALL, ALL, 0xff000000, ALL,
			      0x0fffff00, ALL, ALL, 0x00ffffff, 0xff000000, 0xfffffffe }),
	ROW(rmpc, .ignored = { 0xff0fffff, 0x7fffffff }),
	ROW(cmd_wq, .ignored = { 0x00ffffff, 0xffe00000, 0xff000000, 0xff000000, [8] = 0xfff0e0e0,
				 0x3ffff0f8 }),
	ROW(dctc, .ignored = { 0xf0ffff0f, 0xff000000, 0xff000000, 0x00001fff, 0xff00e0ff,
			       0xff000000, 0xff000000, 0x00f00000, [10] = 0xf8000000,
			       0xff00ff00, [13] = 0xfffff000, ALL }),
	ROW(cmd_mapping, .ignored = { [2] = ALL }),
	ROW(qpc_ext, .ignored = { [2] = 0xdfff0000, [5] = ALL }),
	ROW(cmd_vport, .ignored = { 0x7ff00000, ALL }),
	ROW(vport_state, .ignored = { [1] = ALL, ALL, ALL, ALL, ALL, ALL, ALL, 0x0fff0000, ALL }),
	ROW(vport_address,
	    .ignored = { [4] = ALL, ALL, ALL, ALL, 0x0000f000, 0x00000fff, [11] = ALL }),
	ROW(lag, .ignored = { 0xfffffff8, 0xfffff0f0 }),
	ROW(cap_gen_0, .ignored = { ALL, 0x7fff0000, ALL, 0xdfe0ffff, 0x0000ffe0, 0xffe0ffff,
				    0xff00ffe0, 0x0040fc70, 0x0000c000, 0xdfc0ffc0, 0xfe408fc0,
				    0xffff0000, 0xffff0000, 0xffe0fc00, 0xe0ffffff, 0xffff7ff0 }),
	ROW(cap_gen_1,
	    .ignored = { 0x780ffac0, 0x1fffffe0, 0x7fc0ff00, 0x7fe0ff70, 0xffff0000, 0xffff0000,
			 0xffff0000, ALL, ALL, 0xffe0ffe0, ALL, ALL, 0x60ffffff, ALL, ALL, ALL }),
	ROW(cap_gen_2, .ignored = { 0, 0, ALL, 0xffbf0000, 0x7fff0000, ALL, 0, 0, ALL, 0, ALL,
				    0xffffffe0, 0x00e0e000, 0xfffffff0, ALL, ALL }),
	ROW(cap_gen_3, .ignored = { ALL, ALL, ALL, ALL, 0x7fffffff, ALL, ALL, ALL, ALL, ALL,
				    0xff7fffff, ALL, ALL, ALL, ALL, ALL }),
	ROW(cap_atomics,
	    .ignored = { ALL, ALL, 0x3dffffff, ALL, 0xffff0000, 0xffff0000, 0xffff0000, ALL }),
};

static void reserved_and_ignored_bits_are_these(void **state)
{
	static const uint32_t none[16];

	for (size_t s = 0; s < bsn_segment_count; s++) {
		const struct bsn_seg_desc *desc = bsn_segments[s];
		const uint32_t *want_zero = none, *want_ignored = none;
		uint32_t zero[16] = { 0 }, ignored[16] = { 0 };

		for (size_t i = 0; i < sizeof(unnamed) / sizeof(unnamed[0]); i++)
			if (unnamed[i].desc == desc) {
				want_zero = unnamed[i].zero;
				want_ignored = unnamed[i].ignored;
			}
		for (const struct bsn_row *row = desc->rows; row < end_of(desc); row++) {
			uint32_t *bits = row->kind == BSN_ROW_ZERO ? zero : ignored;
			if (!row->name)
				bits[row->dword] |= BSN_ROW_MASK(row->width) << row->lsb;
		}
		assert_memory_equal(zero, want_zero, sizeof(zero));
		assert_memory_equal(ignored, want_ignored, sizeof(ignored));
	}
}

static void a_value_wider_than_its_row_is_named(void **state)
{
	const struct bsn_row *row = NULL;
	const struct bsn_ctrl ctrl = { .opcode = 0x0a, .qpn = 1 << 24, .ds = 64 };
	const struct bsn_ctrl widest = { .qpn = 0xffffff, .ds = 63, .imm = UINT32_MAX };
	const struct bsn_av_ud_grh av = { .rgid_lo = UINT64_MAX, .flow_label = 1 << 20 };

	assert_int_equal(bsn_seg_fit(&bsn_ctrl_desc, &ctrl, &row), -ERANGE);
	assert_string_equal(row->name, "qpn");
	assert_int_equal(bsn_seg_fit(&bsn_ctrl_desc, &widest, &row), 0);
	assert_int_equal(bsn_seg_fit(&bsn_av_ud_grh_desc, &av, &row), -ERANGE);
	assert_string_equal(row->name, "flow_label");
}

static void numbers_have_one_name_each(void **state)
{
	for (size_t e = 0; e < bsn_enum_count; e++) {
		const struct bsn_enum *list = bsn_enums[e];
		for (size_t i = 0; i < list->count; i++) {
			assert_ptr_equal(bsn_enum_find(list, list->values[i].value),
					 &list->values[i]);
			for (size_t other = 0; other < i; other++)
				assert_string_not_equal(list->values[other].name,
							list->values[i].name);
		}
	}
	assert_null(bsn_enum_find(bsn_enums[0], 0xffffffffull));
}

static void every_number_of_a_field_fits_it(void **state)
{
	unsigned fields = 0;

	for (size_t s = 0; s < bsn_segment_count; s++) {
		const struct bsn_seg_desc *desc = bsn_segments[s];
		for (const struct bsn_row *row = desc->rows; row < end_of(desc); row++) {
			const struct bsn_enum *list = bsn_row_enum(desc, row);
			fields += list != NULL;
			for (size_t i = 0; list && i < list->count; i++)
				assert_true(list->values[i].value <= BSN_ROW_MASK(row->width));
		}
	}
	assert_true(fields > 10);
}

static void vendor_syndromes_say_what_is_known(void **state)
{
	struct bsn_vendor_meaning m;
	unsigned unknown = 0;

	bsn_vendor_explain(0x52, &m);
	assert_string_equal(m.name, "TPT_GATHER");
	assert_string_equal(m.detail, "wrong protection domain");
	assert_non_null(m.measured);
	assert_int_equal(m.source, BSN_SOURCE_MEASURED);
	bsn_vendor_explain(BSN_VENDOR_MESSAGE_TOO_LONG, &m);
	assert_string_equal(m.name, "MESSAGE_TOO_LONG");
	assert_null(m.detail);
	assert_int_equal(m.source, BSN_SOURCE_LIBDPCP);
	bsn_vendor_explain(0xb3, &m);
	assert_string_equal(m.name, "RNR_NAK");
	bsn_vendor_explain(0x93, &m);
	assert_int_equal(m.source, BSN_SOURCE_RDMA_CORE);
	for (unsigned code = 0; code < 0x200; code++) {
		bsn_vendor_explain(code, &m);
		assert_int_equal(m.name == NULL, m.source == BSN_SOURCE_UNKNOWN);
		unknown += code < 0x100 && !m.name;
	}
	assert_null(m.name);
	assert_true(unknown > 0 && unknown < 0x100 / 4);
}

static void a_row_is_written_alone(void **state)
{
	for (size_t s = 0; s < bsn_segment_count; s++) {
		const struct bsn_seg_desc *desc = bsn_segments[s];
		for (const struct bsn_row *row = desc->rows; row < end_of(desc); row++) {
			uint8_t bytes[256], others[256];
			const uint64_t mask = row->kind == BSN_ROW_FIELD64
						      ? UINT64_MAX
						      : BSN_ROW_MASK(row->width);
			const uint64_t value = random_u64();

			random_bytes(bytes, sizeof(bytes));
			memcpy(others, bytes, sizeof(bytes));
			bsn_row_put(row, bytes, value);
			assert_int_equal(bsn_row_get(row, bytes), value & mask);
			bsn_row_put(row, bytes, bsn_row_get(row, others));
			assert_memory_equal(bytes, others, sizeof(bytes));
		}
	}
}

static void every_view_with_a_qpn_has_it_in_one_place(void **state)
{
	for (size_t s = 0; s < bsn_segment_count; s++) {
		const struct bsn_seg_desc *desc = bsn_segments[s];
		const struct bsn_row *row = bsn_row_find(desc, "qpn");
		uint8_t bytes[BSN_CQE_SIZE];

		if (strncmp(desc->name, "cqe_", 4) || !row)
			continue;
		random_bytes(bytes, sizeof(bytes));
		assert_int_equal(bsn_cqe_qpn(bytes), bsn_row_get(row, bytes));
		assert_int_equal(bsn_row_offset(row) & ~3u, BSN_CQE_QPN_OFFSET);
	}
}

static void statuses_and_syndromes_lead_to_each_other(void **state)
{
	unsigned pairs = 0;

	for (uint32_t syndrome = 0; syndrome < 0x200; syndrome++) {
		const uint8_t status = bsn_status_of_syndrome(syndrome);
		assert_non_null(bsn_status_name(status));
		if (status == BSN_STATUS_GENERAL_ERR)
			continue;
		assert_int_equal(bsn_syndrome_of_status(status), syndrome);
		pairs++;
	}
#define ONE(syndrome, status) +1
	assert_int_equal(pairs, 0 BSN_SYNDROME_STATUSES(ONE));
#undef ONE
	for (uint32_t status = 0; status < 0x200; status++) {
		const uint8_t syndrome = bsn_syndrome_of_status(status);
		assert_true(!syndrome || bsn_status_of_syndrome(syndrome) == status);
		assert_int_equal(!bsn_status_name(status), status > BSN_STATUS_TM_RNDV_INCOMPLETE);
	}
	assert_int_equal(bsn_status_of_syndrome(0), BSN_STATUS_GENERAL_ERR);
	assert_string_equal(bsn_status_name(BSN_STATUS_RETRY_EXC_ERR), "IBV_WC_RETRY_EXC_ERR");
}

static void lengths_are_rounded_up_to_whole_units(void **state)
{
	for (uint32_t bytes = 0; bytes <= BSN_WQE_MAX_DS * BSN_DS_SIZE; bytes++) {
		const uint32_t ds = bsn_ds_of_bytes(bytes), bb = bsn_bb_of_ds(ds);
		assert_true(ds * 16 >= bytes && ds * 16 < bytes + 16);
		assert_true(bb * 4 >= ds && bb * 4 < ds + 4);
	}
	assert_int_equal(bsn_bb_of_ds(BSN_WQE_MAX_DS), BSN_WQE_MAX_BB);
}

UNIT_MAIN(random_set_up, UNIT(the_registry_has_every_segment), UNIT(rows_tile_their_segment),
	  UNIT(field_names_are_unique_and_explained), UNIT(decode_and_encode_are_inverse),
	  UNIT(rows_read_what_the_decoder_reads), UNIT(reserved_bits_stay_zero_whatever_the_values),
	  UNIT(reserved_and_ignored_bits_are_these), UNIT(a_value_wider_than_its_row_is_named),
	  UNIT(numbers_have_one_name_each), UNIT(every_number_of_a_field_fits_it),
	  UNIT(vendor_syndromes_say_what_is_known), UNIT(a_row_is_written_alone),
	  UNIT(every_view_with_a_qpn_has_it_in_one_place),
	  UNIT(statuses_and_syndromes_lead_to_each_other),
	  UNIT(lengths_are_rounded_up_to_whole_units))
