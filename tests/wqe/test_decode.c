/* SPDX-License-Identifier: BSD-2-Clause */
/* How the readers decode well-formed WQEs, and which fault they report first. */
#include "../unit.h"
#include "encode.h"

static uint8_t bytes[1024];
static struct bsn_wqe wqe;
static struct bsn_bad bad;

static void begin(uint32_t opcode, uint32_t ds)
{
	memset(bytes, 0, sizeof(bytes));
	ENCODE(ctrl, bytes, .opcode = opcode, .ds = ds, .ce = BSN_CE_ALWAYS);
}

static int decode(enum bsn_transport transport)
{
	return bsn_wqe_decode(bytes, sizeof(bytes), transport, &wqe, &bad);
}

/* What a comparison looks at, of the bytes decoded. */
static const uint8_t *mask_of(enum bsn_transport transport)
{
	static uint8_t mask[256];

	assert_int_equal(decode(transport), 0);
	bsn_wqe_mask(&wqe, mask, sizeof(mask));
	return mask;
}

/* Every opcode on every transport with every length: decoded or refused, and covered by pieces. */
static void pieces_cover_every_wqe(void **state)
{
	struct bsn_piece_iter iter;
	struct bsn_piece piece;
	unsigned decoded = 0;

	for (uint32_t opcode = 0; opcode < 256; opcode++)
		for (uint32_t ds = 0; ds <= BSN_WQE_MAX_DS; ds++)
			for (int t = BSN_TRANSPORT_RC; t <= BSN_TRANSPORT_IPOIB; t++) {
				uint16_t at = 0;
				begin(opcode, ds);
				if (decode((enum bsn_transport)t))
					continue;
				decoded++;
				assert_int_equal(wqe.size_bytes, ds * 16);
				bsn_piece_iter_init(&iter, &wqe);
				while (bsn_piece_next(&iter, &piece)) {
					assert_int_equal(piece.offset, at);
					at += piece.size_bytes;
				}
				assert_int_equal(at, wqe.size_bytes);
			}
	assert_true(decoded > 200 * BSN_WQE_MAX_DS);
}

/* The fewest DS that an operation can have, by its segments: PRM, and libmlx5's builders. */
static void the_shortest_wqe_of_each_operation(void **state)
{
	static const struct {
		enum bsn_wqe_opcode opcode;
		uint8_t opmod, ds[5]; /* on RC, UC, UD, DC, XRC */
	} shortest[] = {
		{ BSN_OPCODE_NOP, 0, { 1, 1, 1, 1, 1 } },
		{ BSN_OPCODE_SEND, 0, { 1, 1, 2, 2, 2 } },
		{ BSN_OPCODE_SEND_IMM, 0, { 1, 1, 2, 2, 2 } },
		{ BSN_OPCODE_SEND_INVAL, 0, { 1, 1, 2, 2, 2 } },
		{ BSN_OPCODE_RDMA_WRITE, 0, { 2, 2, 3, 3, 3 } },
		{ BSN_OPCODE_RDMA_WRITE_IMM, 0, { 2, 2, 3, 3, 3 } },
		{ BSN_OPCODE_RDMA_READ, 0, { 2, 2, 3, 3, 3 } },
		{ BSN_OPCODE_ATOMIC_CS, 0, { 3, 3, 4, 4, 4 } },
		{ BSN_OPCODE_ATOMIC_FA, 0, { 3, 3, 4, 4, 4 } },
		{ BSN_OPCODE_ATOMIC_MASKED_CS, 9, { 4, 4, 5, 5, 5 } },
		{ BSN_OPCODE_ATOMIC_MASKED_CS, 8, { 3, 3, 4, 4, 4 } },
		{ BSN_OPCODE_ATOMIC_MASKED_FA, 9, { 3, 3, 4, 4, 4 } },
		{ BSN_OPCODE_ATOMIC_MASKED_FA, 8, { 3, 3, 4, 4, 4 } },
	};

	for (size_t i = 0; i < sizeof(shortest) / sizeof(shortest[0]); i++)
		for (int t = BSN_TRANSPORT_RC; t <= BSN_TRANSPORT_XRC; t++) {
			begin(shortest[i].opcode, shortest[i].ds[t] - 1u);
			bytes[0] = shortest[i].opmod;
			assert_int_equal(decode((enum bsn_transport)t), -EBADMSG);
			assert_int_equal(bad.vendor_syndrome, BSN_VENDOR_DS_TOO_SHORT);
			begin(shortest[i].opcode, shortest[i].ds[t]);
			bytes[0] = shortest[i].opmod;
			assert_int_equal(decode((enum bsn_transport)t), 0);
			assert_int_equal(wqe.data_count, 0);
			assert_int_equal(wqe.total_bytes, 0);
		}
}

static void the_extension_bit_tells_the_address_vectors_length(void **state)
{
	begin(BSN_OPCODE_SEND, 3);
	ENCODE(av_ud, bytes + 16, .qkey = 7, .dqpn = 0x123, .rlid = 9);
	memset(bytes + 32, 0x11, 16); /* a data pointer, no part of the address vector */
	assert_int_equal(decode(BSN_TRANSPORT_UD), 0);
	assert_ptr_equal(wqe.parts[1].desc, &bsn_av_ud_desc);
	assert_int_equal(wqe.to.ud.dqpn, 0x123);
	assert_int_equal(wqe.to.ud.rlid, 9);
	assert_int_equal(wqe.to.ud.rgid_hi, 0);
	assert_int_equal(wqe.data_count, 1);

	begin(BSN_OPCODE_SEND, 5);
	ENCODE(av_ud_grh, bytes + 16, .qkey = 8, .ext = 1, .dqpn = 0x456, .rgid_lo = 10);
	assert_int_equal(decode(BSN_TRANSPORT_UD), 0);
	assert_ptr_equal(wqe.parts[1].desc, &bsn_av_ud_grh_desc);
	assert_int_equal(wqe.to.ud.qkey, 8);
	assert_int_equal(wqe.to.ud.rgid_lo, 10);
	assert_int_equal(wqe.data_count, 1);

	begin(BSN_OPCODE_SEND, 4);
	ENCODE(av_dc_grh, bytes + 16, .dc_key = 1ull << 63, .ext = 1, .hop_limit = 11);
	assert_int_equal(decode(BSN_TRANSPORT_DC), 0);
	assert_true(wqe.to.dc.dc_key == 1ull << 63);
	assert_int_equal(wqe.to.dc.hop_limit, 11);
}

/* libmlx5's post_send mixes inline pieces and pointers in any order. */
static void inline_pieces_and_pointers_mix(void **state)
{
	begin(BSN_OPCODE_SEND, 5);
	ENCODE(inline_hdr, bytes + 16, .is_inline = 1, .byte_count = 28);
	ENCODE(inline_hdr, bytes + 48, .is_inline = 1, .byte_count = 0);
	ENCODE(data, bytes + 64, .byte_count = 5, .lkey = 6, .addr = 7);
	assert_int_equal(decode(BSN_TRANSPORT_RC), 0);
	assert_int_equal(wqe.data_count, 3);
	assert_int_equal(wqe.total_bytes, 28 + 5);
	assert_ptr_equal(wqe.data[0].bytes, bytes + 20);
	assert_int_equal(wqe.data[0].length_bytes, 28);
	assert_int_equal(wqe.data[1].offset, 48);
	assert_int_equal(wqe.data[1].length_bytes, 0);
	assert_null(wqe.data[2].bytes);
	assert_int_equal(wqe.data[2].lkey, 6);
	assert_int_equal(wqe.data[2].addr, 7);
	assert_int_equal(bsn_wqe_check(&wqe, &bad), 0);
}

static void inline_data_of_every_length(void **state)
{
	struct bsn_piece_iter iter;
	struct bsn_piece piece;

	for (uint32_t count = 0; count < 1024; count++) {
		const uint32_t ds = 1 + (4 + count + 15) / 16;
		uint32_t inside = 0, padding = 0;

		begin(BSN_OPCODE_SEND, ds > BSN_WQE_MAX_DS ? BSN_WQE_MAX_DS : ds);
		ENCODE(inline_hdr, bytes + 16, .is_inline = 1, .byte_count = count);
		assert_int_equal(decode(BSN_TRANSPORT_RC), ds > BSN_WQE_MAX_DS ? -EBADMSG : 0);
		if (ds > BSN_WQE_MAX_DS)
			continue;
		bsn_piece_iter_init(&iter, &wqe);
		while (bsn_piece_next(&iter, &piece)) {
			inside += piece.kind == BSN_PIECE_INLINE ? piece.size_bytes : 0;
			padding += piece.kind == BSN_PIECE_PADDING ? piece.size_bytes : 0;
		}
		assert_int_equal(inside, count);
		assert_int_equal(padding, (ds - 1) * 16 - 4 - count);
	}
}

static void atomics_have_one_form(void **state)
{
	begin(BSN_OPCODE_ATOMIC_MASKED_CS, 4);
	bytes[0] = BSN_OPMOD_MASKED(4);
	ENCODE(masked_cs32, bytes + 32, .swap = 1, .compare = 2, .swap_mask = 3, .compare_mask = 4);
	assert_int_equal(decode(BSN_TRANSPORT_RC), 0);
	assert_int_equal(wqe.atomic.size_bytes, 4);
	assert_int_equal(wqe.atomic.swap_or_add, 1);
	assert_int_equal(wqe.atomic.compare, 2);
	assert_int_equal(wqe.atomic.swap_mask, 3);
	assert_int_equal(wqe.atomic.compare_mask, 4);

	begin(BSN_OPCODE_ATOMIC_FA, 4);
	ENCODE(atomic_fa, bytes + 32, .add = UINT64_MAX);
	assert_int_equal(decode(BSN_TRANSPORT_RC), 0);
	assert_int_equal(wqe.atomic.size_bytes, 8);
	assert_true(wqe.atomic.swap_or_add == UINT64_MAX);
	assert_int_equal(wqe.atomic.field_boundary, 0);
}

static void an_unknown_opcode_stays_raw(void **state)
{
	struct bsn_piece_iter iter;
	struct bsn_piece piece;
	const uint8_t *mask;

	begin(0x3f, 3);
	mask = mask_of(BSN_TRANSPORT_RC);
	assert_null(wqe.op);
	assert_int_equal(wqe.raw_offset, 16);
	bsn_piece_iter_init(&iter, &wqe);
	assert_true(bsn_piece_next(&iter, &piece));
	assert_ptr_equal(piece.desc, &bsn_ctrl_desc);
	assert_true(bsn_piece_next(&iter, &piece));
	assert_int_equal(piece.kind, BSN_PIECE_RAW);
	assert_int_equal(piece.size_bytes, 32);
	assert_false(bsn_piece_next(&iter, &piece));
	assert_int_equal(mask[16], 0xff);
	assert_int_equal(mask[47], 0xff);
	assert_int_equal(mask[48], 0);
	assert_int_equal(bsn_wqe_check(&wqe, &bad), -EBADMSG);
	assert_int_equal(bad.vendor_syndrome, BSN_VENDOR_RESERVED_OPCODE);
}

/* What libmlx5 puts inline: 52 translations fill 60 DS; the device takes 55 in 63. */
static void translations_are_listed(void **state)
{
	begin(BSN_OPCODE_UMR, 60);
	ENCODE(umr_ctrl, bytes + 16, .is_inline = 1, .klm_octowords = 52);
	for (uint32_t i = 0; i < 52; i++) {
		ENCODE(klm, bytes + 128 + 16 * (size_t)i, .byte_count = 1u << 31, .mkey = i,
		       .va = i);
	}
	assert_int_equal(decode(BSN_TRANSPORT_RC), 0);
	assert_int_equal(wqe.as.umr.form, BSN_UMR_LIST);
	assert_int_equal(wqe.data_count, 52);
	assert_int_equal(wqe.data[51].lkey, 51);
	assert_int_equal(wqe.data[51].offset, 128 + 16 * 51);
	assert_int_equal(wqe.raw_offset, 60 * 16);
	assert_true(wqe.total_bytes == 52ull << 31);
	assert_int_equal(bsn_wqe_check(&wqe, &bad), 0);
}

static void repeat_blocks_say_how_much_they_map(void **state)
{
	struct bsn_piece_iter iter;
	struct bsn_piece piece = { 0 };

	begin(BSN_OPCODE_UMR, 12);
	ENCODE(umr_ctrl, bytes + 16, .is_inline = 1, .klm_octowords = 4);
	ENCODE(repeat, bytes + 128, 96, BSN_REPEAT_OP, 8, 2);
	ENCODE(repeat_entry, bytes + 144, .stride = 4096, .byte_count = 64, .mkey = 5, .va = 6);
	assert_int_equal(decode(BSN_TRANSPORT_RC), 0);
	assert_int_equal(wqe.as.umr.form, BSN_UMR_REPEAT);
	assert_int_equal(wqe.as.umr.repeat.repeat_count, 8);
	assert_int_equal(wqe.data_count, 2);
	assert_int_equal(wqe.data[0].stride_bytes, 4096);
	assert_int_equal(wqe.data[0].length_bytes, 64);
	assert_int_equal(wqe.total_bytes, 96 * 8);
	bsn_piece_iter_init(&iter, &wqe);
	for (unsigned i = 0; i < 7; i++)
		assert_true(bsn_piece_next(&iter, &piece));
	assert_int_equal(piece.kind, BSN_PIECE_PADDING);
	assert_int_equal(piece.offset, 176);
	assert_int_equal(piece.size_bytes, 16);
	assert_false(bsn_piece_next(&iter, &piece));
}

/* The mask follows mkey_mask: two builders may differ in fields that it does not select. */
static void an_mkeys_fields_count_where_they_are_selected(void **state)
{
	const uint8_t *mask;

	begin(BSN_OPCODE_UMR, 8);
	ENCODE(umr_ctrl, bytes + 16, .is_inline = 1,
	       .mkey_mask = BSN_MKEY_BIT(LEN) | BSN_MKEY_BIT(FREE));
	mask = mask_of(BSN_TRANSPORT_RC);
	assert_int_equal(wqe.as.umr.form, BSN_UMR_NONE);
	assert_int_equal(mask[64], 0x40); /* free */
	assert_int_equal(mask[66], 0);    /* rights */
	assert_int_equal(mask[80], 0);    /* start */
	assert_int_equal(mask[88], 0xff); /* length */
	assert_int_equal(mask[15], 0xff); /* the mkey itself */
}

static void each_packet_of_a_multi_packet_wqe_is_a_data_segment(void **state)
{
	const struct bsn_data pointer = { .byte_count = 60, .lkey = 1, .addr = 2 };

	begin(BSN_OPCODE_ENHANCED_MPSW, 6);
	ENCODE(inline_hdr, bytes + 32, .is_inline = 1, .byte_count = 14);
	bsn_data_encode(bytes + 64, &pointer);
	bsn_data_encode(bytes + 80, &pointer);
	assert_int_equal(decode(BSN_TRANSPORT_ETH), 0);
	assert_null(wqe.eth_header);
	assert_int_equal(wqe.data_count, 3);
	assert_ptr_equal(wqe.data[0].bytes, bytes + 36);
	assert_int_equal(wqe.total_bytes, 14 + 60 + 60);
}

static void inline_headers_begin_in_the_ethernet_segment(void **state)
{
	for (uint32_t count = 0; count < 200; count++) {
		const uint32_t ds = 2 + (count > 2 ? (count - 2 + 15) / 16 : 0);
		begin(BSN_OPCODE_SEND, ds);
		ENCODE(eth, bytes + 16, .inline_size = count);
		assert_int_equal(decode(BSN_TRANSPORT_ETH), 0);
		assert_int_equal(wqe.raw_offset, 16 * ds);
		assert_int_equal(wqe.total_bytes, count);
		if (count)
			assert_ptr_equal(wqe.eth_header, bytes + 30);
		else
			assert_null(wqe.eth_header);
	}
}

/* TLS parameters and undocumented opcodes are kept as raw bytes, and a comparison counts them. */
static void what_is_not_described_is_raw_and_counts(void **state)
{
	static const struct {
		uint8_t opcode, opmod, ds;
		uint16_t raw;
	} kept[] = {
		{ BSN_OPCODE_UMR, 1, 12, 128 },       { BSN_OPCODE_SET_PSV, 1, 2, 16 },
		{ BSN_OPCODE_CONFIG_CMD, 0, 4, 16 },  { BSN_OPCODE_BIND_MW, 0, 3, 16 },
		{ BSN_OPCODE_LOCAL_INVAL, 0, 2, 16 }, { BSN_OPCODE_RGET_PSV, 0, 2, 16 },
	};
	const uint8_t *mask;

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		begin(kept[i].opcode, kept[i].ds);
		bytes[0] = kept[i].opmod;
		mask = mask_of(BSN_TRANSPORT_RC);
		assert_int_equal(wqe.raw_offset, kept[i].raw);
		assert_int_equal(bsn_wqe_check(&wqe, &bad), 0);
		assert_int_equal(mask[kept[i].raw], 0xff);
		assert_int_equal(mask[16 * kept[i].ds - 1], 0xff);
		assert_int_equal(mask[16 * kept[i].ds], 0);
	}
}

/* What a comparison of two builders must not look at. */
static void the_mask_clears_what_the_operation_does_not_use(void **state)
{
	const uint8_t *mask;

	begin(BSN_OPCODE_ATOMIC_FA, 4);
	mask = mask_of(BSN_TRANSPORT_RC);
	assert_int_equal(mask[8], 0);     /* signature */
	assert_int_equal(mask[9], 0);     /* stream */
	assert_int_equal(mask[11], 0xff); /* fence, completion, solicited, and zero between */
	assert_int_equal(mask[12], 0);    /* no immediate */
	assert_int_equal(mask[28], 0);    /* reserved in the remote address */
	assert_int_equal(mask[39], 0xff); /* add */
	assert_int_equal(mask[40], 0);    /* compare */
	assert_int_equal(mask[63], 0xff); /* data pointer */
	assert_int_equal(mask[64], 0);    /* after the WQE */

	begin(BSN_OPCODE_ATOMIC_CS, 4);
	assert_int_equal(mask_of(BSN_TRANSPORT_RC)[40], 0xff);

	begin(BSN_OPCODE_SEND_IMM, 3);
	ENCODE(inline_hdr, bytes + 32, .is_inline = 1, .byte_count = 3);
	mask = mask_of(BSN_TRANSPORT_DC);
	assert_int_equal(mask[9], 0xff);
	assert_int_equal(mask[12], 0xff);
	assert_int_equal(mask[38], 0xff); /* the last inline byte */
	assert_int_equal(mask[39], 0);    /* padding */
}

static void the_gravest_finding_comes_first(void **state)
{
	struct bsn_bad all[8];

	begin(BSN_OPCODE_RDMA_READ, 4);
	bytes[0] = 1;      /* opmod */
	bytes[11] |= 0xf0; /* fence 7, and the bit below it */
	bytes[48] = 0x80;  /* inline */
	bytes[49] = 0xff;  /* and reserved bits */
	assert_int_equal(decode(BSN_TRANSPORT_UC), 0);
	assert_int_equal(bsn_wqe_findings(&wqe, all, 8), 6);
	assert_int_equal(all[0].vendor_syndrome, BSN_VENDOR_OPCODE_TRANSPORT);
	assert_int_equal(all[1].vendor_syndrome, BSN_VENDOR_INLINE_IN_SCATTER);
	assert_string_equal(all[2].field, "fence");
	assert_string_equal(all[3].field, "opmod");
	assert_int_equal(all[4].offset, 11);
	assert_string_equal(all[5].segment, "inline_hdr");
	assert_int_equal(bsn_wqe_findings(&wqe, NULL, 0), 6);
	assert_int_equal(bsn_wqe_check(&wqe, &bad), -EBADMSG);
	assert_int_equal(bad.vendor_syndrome, BSN_VENDOR_OPCODE_TRANSPORT);
}

static void a_receive_list_ends_at_its_terminator_or_its_stride(void **state)
{
	static struct bsn_recv_wqe recv;

	for (unsigned stride = 1; stride <= BSN_RECV_MAX_DATA; stride++)
		for (unsigned used = 0; used <= stride; used++) {
			memset(bytes, 0, sizeof(bytes));
			for (unsigned i = 0; i < used; i++)
				ENCODE(data, bytes + 16 * i, .byte_count = 100, .lkey = 1,
				       .addr = 2);
			if (used < stride)
				ENCODE(data, bytes + 16 * used, .lkey = BSN_LKEY_TERMINATOR);
			assert_int_equal(
				bsn_recv_decode(bytes, 16 * stride, BSN_RECV_PLAIN, &recv, &bad),
				0);
			assert_int_equal(recv.data_count, used);
			assert_int_equal(recv.total_bytes, 100 * used);
		}
}

static void a_shared_receive_wqe_begins_with_its_link(void **state)
{
	static struct bsn_recv_wqe recv;

	memset(bytes, 0xee, 16);
	ENCODE(srq_next, bytes, .next_wqe_index = 0xfedc);
	ENCODE(data, bytes + 16, .byte_count = 100, .lkey = 1, .addr = 2);
	assert_int_equal(bsn_recv_decode(bytes, 32, BSN_RECV_LINKED, &recv, &bad), 0);
	assert_int_equal(recv.next.next_wqe_index, 0xfedc);
	assert_int_equal(recv.data_count, 1);
	assert_int_equal(recv.data[0].offset, 16);
}

static void rows_are_described_with_their_symbols(void **state)
{
	struct bsn_row_iter rows;
	struct bsn_row_view view;
	unsigned symbols = 0;

	memset(bytes, 0, BSN_CQE128_SIZE);
	ENCODE(cqe_err, bytes + 64, .syndrome = BSN_SYNDROME_REMOTE_ACCESS,
	       .vendor_syndrome = BSN_VENDOR_REMOTE_ACCESS_NAK, .opcode = BSN_CQE_REQ_ERR,
	       .wqe_opcode = BSN_OPCODE_RDMA_WRITE);
	bsn_row_iter_init(&rows, &bsn_cqe_err_desc, bytes, 64);
	while (bsn_row_next(&rows, &view)) {
		if (!view.symbol || !view.value)
			continue;
		symbols++;
		if (!strcmp(view.row->name, "syndrome")) {
			assert_string_equal(view.symbol->name, "REMOTE_ACCESS");
			assert_int_equal(view.offset, 64 + 55);
		} else if (!strcmp(view.row->name, "vendor_syndrome")) {
			assert_string_equal(view.symbol->name, "REMOTE_ACCESS_NAK");
			assert_int_equal(view.offset, 64 + 54);
		} else if (!strcmp(view.row->name, "opcode")) {
			assert_string_equal(view.symbol->name, "REQ_ERR");
			assert_int_equal(view.offset, 64 + 63);
		} else {
			assert_string_equal(view.symbol->name, "RDMA_WRITE");
		}
	}
	assert_int_equal(symbols, 4);
}

UNIT_MAIN(NULL, UNIT(pieces_cover_every_wqe), UNIT(the_shortest_wqe_of_each_operation),
	  UNIT(the_extension_bit_tells_the_address_vectors_length),
	  UNIT(inline_pieces_and_pointers_mix), UNIT(inline_data_of_every_length),
	  UNIT(atomics_have_one_form), UNIT(an_unknown_opcode_stays_raw),
	  UNIT(translations_are_listed), UNIT(repeat_blocks_say_how_much_they_map),
	  UNIT(an_mkeys_fields_count_where_they_are_selected),
	  UNIT(each_packet_of_a_multi_packet_wqe_is_a_data_segment),
	  UNIT(inline_headers_begin_in_the_ethernet_segment),
	  UNIT(what_is_not_described_is_raw_and_counts),
	  UNIT(the_mask_clears_what_the_operation_does_not_use),
	  UNIT(the_gravest_finding_comes_first),
	  UNIT(a_receive_list_ends_at_its_terminator_or_its_stride),
	  UNIT(a_shared_receive_wqe_begins_with_its_link),
	  UNIT(rows_are_described_with_their_symbols))
