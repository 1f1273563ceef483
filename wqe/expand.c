/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Expands compressed CQEs: each is a copy of the title with the fields of a mini CQE.
 * Source: the kernel's drivers/net/ethernet/mellanox/mlx5/core/en_rx.c mlx5e_decompress_cqe() and
 * mlx5e_read_enhanced_title_slot(); UCX's ib_mlx5.c uct_ib_mlx5_iface_cqe_unzip().
 */
#include "report.h"

static void put_field(uint8_t *segment, const struct bsn_seg_desc *desc, const char *name,
		      uint32_t value)
{
	bsn_row_put(bsn_row_find(desc, name), segment, value);
}

/* By how much a receive advances the counter: one WQE, or the strides that it took. */
static uint16_t counter_step(const struct bsn_cqe_block *block, const uint8_t *cqe)
{
	struct bsn_cqe_strides strides;

	if (!block->is_striding)
		return 1;
	bsn_cqe_strides_decode(&strides, cqe + BSN_CQE_STRIDES_OFFSET);
	return (uint16_t)strides.strides;
}

int bsn_cqe_block_begin(struct bsn_cqe_block *block, const void *title, struct bsn_bad *bad)
{
	struct bsn_cqe_resp resp;
	struct bsn_cqe_tail tail;

	bsn_cqe_resp_decode(&resp, title);
	if (resp.opcode > BSN_CQE_RESP_SEND_INV)
		return refuse(bad, &bsn_cqe_resp_desc, "opcode", 0, BSN_VENDOR_NO_ERROR,
			      "a title is a CQE of a request or of a receive");
	if ((resp.format == BSN_CQE_COMPRESSED) == block->is_enhanced)
		return refuse(bad, &bsn_cqe_resp_desc, "format", 0, BSN_VENDOR_NO_ERROR,
			      block->is_enhanced
				      ? "in the enhanced layout a title is a whole CQE"
				      : "in the basic layout a title is a compressed CQE");
	memcpy(block->title, title, sizeof(block->title));
	bsn_cqe_tail_decode(&tail, block->title + BSN_CQE_TAIL_OFFSET);
	tail.format = BSN_CQE_NO_INLINE;
	bsn_cqe_tail_encode(block->title + BSN_CQE_TAIL_OFFSET, &tail);
	block->is_request = resp.opcode == BSN_CQE_REQ;
	block->next_counter = (uint16_t)resp.wqe_counter;
	block->left = block->is_enhanced ? 0 : resp.byte_count;
	if (block->is_enhanced) /* the title is a completion, too */
		block->next_counter += counter_step(block, title);
	return 0;
}

static void put_request(uint8_t *cqe, const uint8_t *mini)
{
	struct bsn_mini_req m;

	bsn_mini_req_decode(&m, mini);
	put_field(cqe, &bsn_cqe_req_desc, "byte_count", m.byte_count);
	put_field(cqe, &bsn_cqe_req_desc, "wqe_counter", m.wqe_counter);
	put_field(cqe, &bsn_cqe_req_desc, "wqe_opcode", m.wqe_opcode);
}

/* Functions for each format of receives. They return whether the mini CQE has the counter. */
static bool put_csum(uint8_t *cqe, const uint8_t *mini, bool has_index)
{
	struct bsn_mini_csum m;

	bsn_mini_csum_decode(&m, mini);
	put_field(cqe, &bsn_cqe_resp_desc, "byte_count", m.byte_count);
	put_field(cqe, &bsn_cqe_resp_desc, "checksum", m.checksum);
	put_field(cqe, &bsn_cqe_resp_desc, "rss_hash", 0);
	put_field(cqe, &bsn_cqe_resp_desc, "rss_hash_type", 0);
	if (has_index)
		put_field(cqe, &bsn_cqe_resp_desc, "wqe_counter", m.stride_index);
	return has_index;
}

static bool put_ftag(uint8_t *cqe, const uint8_t *mini)
{
	struct bsn_mini_ftag m;

	bsn_mini_ftag_decode(&m, mini);
	put_field(cqe, &bsn_cqe_eth_desc, "byte_count", m.byte_count);
	put_field(cqe, &bsn_cqe_eth_desc, "flow_tag", m.flow_tag_23_16 << 16 | m.flow_tag_15_0);
	put_field(cqe, &bsn_cqe_eth_desc, "wqe_counter", m.stride_index);
	return true;
}

static bool put_l34h(uint8_t *cqe, const uint8_t *mini)
{
	struct bsn_mini_l34h m;

	bsn_mini_l34h_decode(&m, mini);
	put_field(cqe, &bsn_cqe_resp_desc, "byte_count", m.byte_count);
	put_field(cqe, &bsn_cqe_resp_desc, "l4_l3_hdr_type", m.header_types);
	put_field(cqe, &bsn_cqe_resp_desc, "wqe_counter", m.stride_index);
	return true;
}

static bool put_hash(uint8_t *cqe, const uint8_t *mini)
{
	struct bsn_mini_hash m;

	bsn_mini_hash_decode(&m, mini);
	put_field(cqe, &bsn_cqe_resp_desc, "byte_count", m.byte_count);
	put_field(cqe, &bsn_cqe_resp_desc, "rss_hash", m.rss_hash);
	return false;
}

static bool put_receive(const struct bsn_cqe_block *block, uint8_t *cqe, const uint8_t *mini)
{
	switch (block->format) {
	case BSN_MINI_CSUM:
		return put_csum(cqe, mini, false);
	case BSN_MINI_CSUM_STRIDX:
		return put_csum(cqe, mini, true);
	case BSN_MINI_FTAG_STRIDX:
		return put_ftag(cqe, mini);
	case BSN_MINI_L34H_STRIDX:
		return put_l34h(cqe, mini);
	default:
		return put_hash(cqe, mini);
	}
}

/* Returns how many mini CQEs an array has, or -EBADMSG. */
static int count_minis(const struct bsn_cqe_block *block, const uint8_t *array, struct bsn_bad *bad)
{
	struct bsn_cqe_tail tail;

	if (!block->is_enhanced) {
		if (block->left)
			return block->left < BSN_MINI_BASIC_MOST ? (int)block->left
								 : BSN_MINI_BASIC_MOST;
		return refuse(bad, &bsn_cqe_resp_desc, "byte_count", 0, BSN_VENDOR_NO_ERROR,
			      "the session has no more mini CQEs");
	}
	bsn_cqe_tail_decode(&tail, array + BSN_CQE_TAIL_OFFSET);
	if (tail.format == BSN_CQE_COMPRESSED && tail.opcode < BSN_MINI_ENHANCED_MOST)
		return (int)tail.opcode + 1;
	return refuse(bad, &bsn_cqe_tail_desc,
		      tail.format == BSN_CQE_COMPRESSED ? "opcode" : "format", BSN_CQE_TAIL_OFFSET,
		      BSN_VENDOR_NO_ERROR, "this is no array of mini CQEs");
}

int bsn_cqe_expand(struct bsn_cqe_block *block, const void *array, uint8_t (*cqes)[BSN_CQE_SIZE],
		   struct bsn_bad *bad)
{
	uint8_t minis[BSN_CQE_SIZE];
	int count = count_minis(block, array, bad);

	if (count < 0)
		return count;
	memcpy(minis, array, sizeof(minis));
	for (int i = 0; i < count; i++) {
		const uint8_t *mini = minis + BSN_MINI_SIZE * (size_t)i;

		memcpy(cqes[i], block->title, BSN_CQE_SIZE);
		if (block->is_request) {
			put_request(cqes[i], mini);
			continue;
		}
		if (!put_receive(block, cqes[i], mini))
			put_field(cqes[i], &bsn_cqe_resp_desc, "wqe_counter", block->next_counter);
		block->next_counter += counter_step(block, cqes[i]);
	}
	if (!block->is_enhanced)
		block->left -= (uint32_t)count;
	return count;
}
