/* SPDX-License-Identifier: BSD-2-Clause */
/* How the readers decode CQEs, whole ones and compressed ones. */
#include "../unit.h"
#include "encode.h"

static uint8_t bytes[1024];
static struct bsn_bad bad;

static void the_opcode_picks_the_view_of_a_cqe(void **state)
{
	static const struct bsn_seg_desc *const views[16] = {
		[BSN_CQE_REQ] = &bsn_cqe_req_desc,
		[BSN_CQE_RESP_WR_IMM] = &bsn_cqe_resp_desc,
		[BSN_CQE_RESP_SEND] = &bsn_cqe_resp_desc,
		[BSN_CQE_RESP_SEND_IMM] = &bsn_cqe_resp_desc,
		[BSN_CQE_RESP_SEND_INV] = &bsn_cqe_resp_desc,
		[BSN_CQE_RESIZE_CQ] = &bsn_cqe_resize_desc,
		[BSN_CQE_NO_PACKET] = &bsn_cqe_no_packet_desc,
		[BSN_CQE_SIG_ERR] = &bsn_cqe_sig_err_desc,
		[BSN_CQE_REQ_ERR] = &bsn_cqe_err_desc,
		[BSN_CQE_RESP_ERR] = &bsn_cqe_err_desc,
	};
	struct bsn_cqe cqe;

	for (uint32_t opcode = 0; opcode < 16; opcode++)
		for (uint32_t format = 0; format < 4; format++) {
			const bool has_data =
				opcode <= BSN_CQE_RESP_SEND_INV &&
				(format == BSN_CQE_INLINE_32 || format == BSN_CQE_INLINE_64);
			const bool is_mini =
				opcode <= BSN_CQE_NO_PACKET && format == BSN_CQE_COMPRESSED;

			memset(bytes, 0, BSN_CQE128_SIZE);
			ENCODE(cqe_tail, bytes + 64 + BSN_CQE_TAIL_OFFSET, .opcode = opcode,
			       .format = format);
			assert_int_equal(bsn_cqe_decode(bytes, BSN_CQE128_SIZE, &cqe, &bad), 0);
			assert_int_equal(cqe.offset, 64);
			assert_int_equal(cqe.tail.opcode, opcode);
			assert_ptr_equal(cqe.view, is_mini ? NULL : views[opcode]);
			assert_int_equal(cqe.inline_bytes != NULL, has_data);
			if (has_data)
				assert_ptr_equal(cqe.inline_bytes,
						 format == BSN_CQE_INLINE_32 ? bytes + 64 : bytes);
		}
}

static void inline_data_fill_their_place_and_no_more(void **state)
{
	static const struct {
		enum bsn_cqe_format format;
		uint32_t most;
	} places[] = { { BSN_CQE_INLINE_32, 32 }, { BSN_CQE_INLINE_64, 64 } };
	struct bsn_cqe cqe;

	for (unsigned i = 0; i < 2; i++)
		for (uint32_t count = 0; count <= places[i].most + 1; count++) {
			memset(bytes, 0, BSN_CQE128_SIZE);
			ENCODE(cqe_resp, bytes + 64, .opcode = BSN_CQE_RESP_SEND,
			       .format = places[i].format, .byte_count = count);
			assert_int_equal(bsn_cqe_decode(bytes, BSN_CQE128_SIZE, &cqe, &bad),
					 count > places[i].most ? -EBADMSG : 0);
			if (count <= places[i].most)
				assert_int_equal(cqe.inline_len_bytes, count);
		}
}

/* Titles and arrays, as a CQ would have them. */
static uint8_t title[BSN_CQE_SIZE], array[BSN_CQE_SIZE];

static uint8_t whole[BSN_MINI_BASIC_MOST][BSN_CQE_SIZE];

static void set_title(struct bsn_cqe_resp v)
{
	bsn_cqe_resp_encode(title, &v);
}

#define TITLE(...) set_title((struct bsn_cqe_resp){ .opcode = BSN_CQE_RESP_SEND, __VA_ARGS__ })

static void begin(struct bsn_cqe_block *block)
{
	assert_int_equal(bsn_cqe_block_begin(block, title, &bad), 0);
}

static void expand(struct bsn_cqe_block *block, int count)
{
	assert_int_equal(bsn_cqe_expand(block, array, whole, &bad), count);
}

static struct bsn_cqe_eth packet(size_t i)
{
	struct bsn_cqe_eth eth;

	bsn_cqe_eth_decode(&eth, whole[i]);
	return eth;
}

static void set_minis(uint32_t first, uint32_t byte_count)
{
	for (uint32_t i = 0; i < BSN_MINI_BASIC_MOST; i++) {
		ENCODE(mini_hash, array + BSN_MINI_SIZE * (size_t)i, .rss_hash = first + i,
		       .byte_count = byte_count + i);
	}
}

/* 19 receives: arrays of 8, 8 and 3; the first of them is the title's own. */
static void basic_blocks_expand_to_what_they_count(void **state)
{
	struct bsn_cqe_block block = { .format = BSN_MINI_HASH };
	uint32_t done = 0;

	TITLE(.format = BSN_CQE_COMPRESSED, .byte_count = 19, .wqe_counter = 0xfffa, .qpn = 0x47,
	      .slid = 0x17, .timestamp = 99, .owner = 1);
	begin(&block);
	memset(title, 0xee, sizeof(title)); /* the ring goes on */
	while (done < 19) {
		const int count = done < 16 ? 8 : 3;
		set_minis(1000 + done, 64 + done);
		expand(&block, count);
		for (int i = 0; i < count; i++, done++) {
			struct bsn_cqe cqe;
			assert_int_equal(bsn_cqe_decode(whole[i], BSN_CQE_SIZE, &cqe, &bad), 0);
			assert_ptr_equal(cqe.view, &bsn_cqe_resp_desc);
			assert_int_equal(cqe.as.resp.rss_hash, 1000 + done);
			assert_int_equal(cqe.as.resp.byte_count, 64 + done);
			assert_int_equal(cqe.as.resp.wqe_counter, (uint16_t)(0xfffa + done));
			assert_int_equal(cqe.as.resp.qpn, 0x47);
			assert_int_equal(cqe.as.resp.slid, 0x17);
			assert_int_equal(cqe.as.resp.timestamp, 99);
			assert_int_equal(cqe.as.resp.owner, 1);
			assert_int_equal(cqe.tail.format, BSN_CQE_NO_INLINE);
		}
	}
	expand(&block, -EBADMSG);
}

/* An array of the enhanced layout has its own count; its title is the completion before it. */
static void enhanced_arrays_follow_a_whole_cqe(void **state)
{
	struct bsn_cqe_block block = { .format = BSN_MINI_CSUM, .is_enhanced = true };
	uint16_t counter = 5;

	TITLE(.byte_count = 64, .rss_hash = 3, .rss_hash_type = 4, .wqe_counter = 5);
	begin(&block);
	for (uint32_t count = 1; count <= BSN_MINI_ENHANCED_MOST; count++) {
		for (uint32_t i = 0; i < count; i++)
			ENCODE(mini_csum, array + BSN_MINI_SIZE * (size_t)i, .checksum = 0xbeef,
			       .byte_count = 1500);
		ENCODE(cqe_tail, array + BSN_CQE_TAIL_OFFSET, .opcode = count - 1,
		       .format = BSN_CQE_COMPRESSED);
		expand(&block, count);
		for (uint32_t i = 0; i < count; i++) {
			struct bsn_cqe_resp resp;
			bsn_cqe_resp_decode(&resp, whole[i]);
			assert_int_equal(resp.checksum, 0xbeef);
			assert_int_equal(resp.rss_hash, 0);
			assert_int_equal(resp.rss_hash_type, 0);
			assert_int_equal(resp.byte_count, 1500);
			assert_int_equal(resp.wqe_counter, ++counter);
			assert_int_equal(resp.opcode, BSN_CQE_RESP_SEND);
		}
	}
	memset(array + BSN_CQE_TAIL_OFFSET, 0, BSN_CQE_TAIL_SIZE);
	expand(&block, -EBADMSG);
	assert_string_equal(bad.field, "format");
}

static void mini_cqes_of_requests_name_their_wqe(void **state)
{
	struct bsn_cqe_block block = { .format = BSN_MINI_HASH };
	const struct bsn_mini_req minis[2] = { { 7, BSN_OPCODE_RDMA_READ, 32 },
					       { 9, BSN_OPCODE_RDMA_WRITE, 0 } };

	ENCODE(cqe_req, title, .opcode = BSN_CQE_REQ, .format = BSN_CQE_COMPRESSED, .byte_count = 2,
	       .qpn = 0x48, .wqe_opcode = BSN_OPCODE_SEND);
	begin(&block);
	for (size_t i = 0; i < 2; i++)
		bsn_mini_req_encode(array + BSN_MINI_SIZE * i, &minis[i]);
	expand(&block, 2);
	for (size_t i = 0; i < 2; i++) {
		struct bsn_cqe_req req;
		bsn_cqe_req_decode(&req, whole[i]);
		assert_int_equal(req.wqe_counter, minis[i].wqe_counter);
		assert_int_equal(req.wqe_opcode, minis[i].wqe_opcode);
		assert_int_equal(req.byte_count, minis[i].byte_count);
		assert_int_equal(req.qpn, 0x48);
		assert_int_equal(req.opcode, BSN_CQE_REQ);
	}
}

/* Strides: counted by software from the lengths, or by the device in the mini CQE. */
static void strides_move_the_counter(void **state)
{
	struct bsn_cqe_block block = { .format = BSN_MINI_CSUM, .is_striding = true };
	const struct bsn_cqe_strides strides = { .strides = 3, .byte_count = 100 };

	TITLE(.format = BSN_CQE_COMPRESSED, .byte_count = 2, .wqe_counter = 10);
	for (size_t i = 0; i < 2; i++)
		ENCODE(mini_csum, array + BSN_MINI_SIZE * i, .stride_index = 77,
		       .byte_count = bsn_cqe_strides_dword(&strides, 0));
	begin(&block);
	expand(&block, 2);
	assert_int_equal(packet(1).wqe_counter, 13);
	block.format = BSN_MINI_CSUM_STRIDX;
	begin(&block);
	expand(&block, 2);
	assert_int_equal(packet(1).wqe_counter, 77);
}

/* The formats of raw packets; 0x123456 as DPDK's rxq_cq_to_mbuf() joins the tag's parts. */
static void packets_keep_tag_and_headers(void **state)
{
	struct bsn_cqe_block block = { .format = BSN_MINI_FTAG_STRIDX };
	struct bsn_cqe_eth eth;

	TITLE(.format = BSN_CQE_COMPRESSED, .byte_count = 1);
	ENCODE(mini_ftag, array, 0x3456, 8, 0x12, 1500);
	begin(&block);
	expand(&block, 1);
	eth = packet(0);
	assert_int_equal(eth.flow_tag, 0x123456);
	assert_int_equal(eth.byte_count, 1500);
	assert_int_equal(eth.wqe_counter, 8);
	block.format = BSN_MINI_L34H_STRIDX;
	ENCODE(mini_l34h, array, .header_types = 0x28, .stride_index = 9, .byte_count = 60);
	begin(&block);
	expand(&block, 1);
	eth = packet(0);
	assert_int_equal(eth.l4_type, BSN_CQE_L4_UDP);
	assert_int_equal(eth.l3_type, BSN_CQE_L3_IPV4);
	assert_int_equal(eth.wqe_counter, 9);
}

static void what_is_no_title_is_refused(void **state)
{
	for (uint32_t opcode = 0; opcode < 16; opcode++)
		for (uint32_t format = 0; format < 4; format++)
			for (int enhanced = 0; enhanced < 2; enhanced++) {
				struct bsn_cqe_block block = { .is_enhanced = enhanced };
				const bool good = opcode <= BSN_CQE_RESP_SEND_INV &&
						  (format == BSN_CQE_COMPRESSED) != enhanced;

				set_title((struct bsn_cqe_resp){
					.opcode = opcode, .format = format, .byte_count = 1 });
				assert_int_equal(bsn_cqe_block_begin(&block, title, &bad),
						 good ? 0 : -EBADMSG);
			}
}

UNIT_MAIN(NULL, UNIT(the_opcode_picks_the_view_of_a_cqe),
	  UNIT(inline_data_fill_their_place_and_no_more),
	  UNIT(basic_blocks_expand_to_what_they_count), UNIT(enhanced_arrays_follow_a_whole_cqe),
	  UNIT(mini_cqes_of_requests_name_their_wqe), UNIT(strides_move_the_counter),
	  UNIT(packets_keep_tag_and_headers), UNIT(what_is_no_title_is_refused))
