/* SPDX-License-Identifier: BSD-2-Clause */
/* What UCX writes. Source: src/uct/ib/mlx5/ib_mlx5_log.c, src/uct/ib/base/ib_log.c and ib_iface.h,
 * src/uct/ib/rc/verbs/rc_verbs_iface.c, src/uct/ib/mlx5/dv/. */

#include <string.h>

#include "keys.h"

/*
 * -- a failed completion: a line for the CQE, then one for its WQE. Up to UCX 1.5 it is one line,
 * and in SPDK's lib/mlx5, which took it from there.
 */

static const struct shape ucx_error_line =
	LINE(ERROR_CQE, UNKNOWN, "(synd ", HEX("synd ", syndrome), VENDOR("vend "),
	     FIELD_DECIMAL("hw_synd ", "hw_syndrome_type"), DECIMAL("/", hw_syndrome));

#define WQE_KEYS(index_word)                                                                       \
	HEX("QP ", qpn), DECIMAL(index_word, wqe_index), FIELD_HEX("rva ", "raddr"),               \
		FIELD_HEX("rkey ", "rkey"), FIELD_DECIMAL("inl len ", "inline_bytes"),             \
		FIELD_HEX("va ", "addr"), FIELD_DECIMAL("len ", "byte_count"),                     \
		FIELD_HEX("lkey ", "lkey")

static const struct shape ucx_wqe_line = LINE(WQE, REQUESTER, " QP 0x", WQE_KEYS("wqe["));
static const struct shape ucx_posted_line = LINE(WQE, REQUESTER, "QP 0x", WQE_KEYS(" ["));

/* The peer may come before or after the rest: "[rqpn 0x4c2 dlid=1 sl=0 dgid=::ffff:10.0.0.1]" */
static const struct shape ucx_peer =
	LINE(WQE, UNKNOWN, "[rqpn ", FIELD_HEX("rqpn ", "remote_qpn"), FIELD_WORD("dgid", "dgid"));

/* The line of a receive WQE has the words in another order. */
static const struct shape ucx_recv_line =
	LINE(WQE, RESPONDER, "SRQ QP 0x", HEX("QP ", qpn), DECIMAL("wqe[", wqe_index),
	     FIELD_DECIMAL("byte_count ", "byte_count"), FIELD_HEX("lkey ", "lkey"),
	     FIELD_HEX("addr ", "addr"));

/* UCX has its own names for some opcodes. */
static const struct {
	const char *name;
	enum bsn_wqe_opcode opcode;
} ucx_opcodes[] = {
	{ "NOP", BSN_OPCODE_NOP }, { "RDMA_WRITE", BSN_OPCODE_RDMA_WRITE },
	{ "RDMA_READ", BSN_OPCODE_RDMA_READ }, { "SEND", BSN_OPCODE_SEND },
	{ "SEND_IMM", BSN_OPCODE_SEND_IMM }, { "CSWAP", BSN_OPCODE_ATOMIC_CS },
	{ "FETCH_ADD", BSN_OPCODE_ATOMIC_FA }, { "MASKED_CSWAP", BSN_OPCODE_ATOMIC_MASKED_CS },
	{ "MASKED_FETCH_ADD", BSN_OPCODE_ATOMIC_MASKED_FA }, { "MMO", BSN_OPCODE_MMO },
};

/* The opcode that a WQE's text begins with. */
static bool read_opcode(struct record *record, const char *text)
{
	size_t len;

	text += strspn(text, " :]");
	for (len = 0; text_is_word(text[len]);)
		len++;
	for (size_t i = 0; i < COUNT(ucx_opcodes); i++)
		if (strlen(ucx_opcodes[i].name) == len &&
		    !strncmp(text, ucx_opcodes[i].name, len)) {
			record->opcode = KNOWN(ucx_opcodes[i].opcode);
			return true;
		}
	return false;
}

/* If UCX does not read the WQE, it writes "opcode SEND"; for a receive "opcode RECV". */
static void read_opcode_word(struct record *record, const char *line)
{
	const char *word = strstr(line, " opcode ");

	if (!word)
		return;
	word += strlen(" opcode ");
	if (read_opcode(record, word))
		record->side = SIDE_REQUESTER;
	else if (!strncmp(word, "RECV", strlen("RECV")))
		record->side = SIDE_RESPONDER;
}

static void add_peer(struct record *record, const struct line *line)
{
	struct record peer;

	if (keys_read(line, &ucx_peer, &peer) == READ_WELL)
		keys_add(record, &peer);
}

/* "Remote access error on mlx5_0:1/IB (synd ..." */
static void read_device(struct record *record, const struct line *line)
{
	const char *end = strstr(line->text, ucx_error_line.text);
	const char *begin = end;

	while (begin > line->text + 4 && strncmp(begin - 4, " on ", 4))
		begin--;
	if (begin > line->text + 4 && end > begin + 1)
		record_add_text(record, "device", begin, (size_t)(end - begin - 1));
}

/* "RC QP 0x4c1 wqe[7]: SEND s-- ..."; of a receive "SRQ QP 0x4c1 wqe[7]: next_wqe ..." */
static enum form_answer end_error(struct feed *feed, const struct line *line, struct record *record)
{
	const bool is_recv = strstr(line->text, ucx_recv_line.text);
	const char *wqe = strstr(line->text, "]: ");
	struct record more;

	if (!strstr(line->text, " wqe[") ||
	    keys_read(line, is_recv ? &ucx_recv_line : &ucx_wqe_line, &more) != READ_WELL)
		return FORM_PASS;
	keys_add(record, &more);
	if (is_recv || (wqe && read_opcode(record, wqe)))
		record->side = more.side;
	else
		read_opcode_word(record, line->text);
	add_peer(record, line);
	keys_tell(feed, line, record);
	return FORM_TAKEN;
}

/* "Error on mlx5_0:1 QP 0x4c1 wqe[7]: Remote access (synd 0x13 vend 0x88) opcode RDMA_WRITE" */
static bool is_old(const char *text)
{
	const char *synd = strstr(text, "(synd ");
	const char *wqe = strstr(text, " wqe[");
	const char *qp = strstr(text, " QP 0x");

	return qp && wqe && qp < wqe && wqe < synd;
}

static const struct shape ucx_old_lines[] = {
	LINE_WITH(read_opcode_word, ERROR_CQE, UNKNOWN, "rror on ", HEX(" QP ", qpn),
		  DECIMAL("wqe[", wqe_index), HEX("(synd ", syndrome), VENDOR("vend "),
		  FIELD_DECIMAL("hw_synd ", "hw_syndrome_type"), DECIMAL("/", hw_syndrome),
		  HEX("hw ", hw_syndrome)),
	LAST_LINE,
};

static enum form_answer feed_ucx(struct feed *feed, const struct line *line, void *state)
{
	struct record *record = state;
	enum form_answer answer;

	if (record->line)
		return end_error(feed, line, record);
	if (is_old(line->text))
		return keys_feed(feed, line, ucx_old_lines);
	answer = keys_begin(feed, line, &ucx_error_line, record);
	if (answer != FORM_MORE)
		return answer;
	read_device(record, line);
	if (strstr(line->text, " next wqe ")) /* some versions name the receive WQE on this line */
		record->side = SIDE_RESPONDER;
	return FORM_MORE;
}

FORM(ucx, "ucx", MARKS("(synd "), .state_bytes = sizeof(struct record), .begins_anew = true,
     .feed = feed_ucx, .close = keys_close);

/* -- WQEs as they are posted, with UCX_LOG_LEVEL=data ------------------------------------------ */

static enum form_answer feed_ucx_wqe(struct feed *feed, const struct line *line, void *state)
{
	const char *begin = text_find(line->text, "QP 0x");
	const char *slot = begin ? strstr(begin, " [") : NULL;
	const char *op = slot ? strstr(slot, "] ") : NULL;
	struct record record;

	(void)state;
	if (!op || keys_read(line, &ucx_posted_line, &record) != READ_WELL ||
	    !record.wqe_index.is_known || !read_opcode(&record, op))
		return FORM_PASS;
	add_peer(&record, line);
	tell_record(feed->tell, &record);
	return FORM_TAKEN;
}

FORM(ucx_wqe, "ucx-wqe", MARKS("QP 0x"), .feed = feed_ucx_wqe);

/* -- the rest: one line each ------------------------------------------------------------------- */

KEYS_FORM(ucx_lines, "ucx-line", MARKS("CQE(op_own ", "send completion with error: ",
		"completion with error on qp ", "completion[", "Send completion (wr_id=",
		", syndrome 0"),
	LINE(CQE, UNKNOWN, "CQE(op_own ", FIELD_HEX("op_own ", "op_own"), HEX("qp ", qpn),
	     FIELD_HEX("sqp ", "rqpn"), FIELD_DECIMAL("slid ", "slid"),
	     FIELD_DECIMAL("bytes ", "byte_count"), DECIMAL("wqe_idx ", wqe_index)),
	SEND_ERROR("completion with error on qp ", HEX("qp ", qpn), STATUS(": "),
		   VENDOR("syndrome ")),
	SEND_ERROR("send completion with error: ", STATUS("error: "), HEX("qpn ", qpn),
		   FIELD_HEX("wrid ", "wr_id"), VENDOR("vendor_err ")),
	ERROR(" with error on ", FIELD_WORD("on ", "device"), STATUS(": "), VENDOR("vendor_err "),
	      FIELD_HEX("wr_id ", "wr_id")),
	SEND_ERROR("Send completion (wr_id=", FIELD_HEX("wr_id=", "wr_id"), STATUS("error: ")),
	LINE(COMMAND, UNKNOWN, "mlx5dv_devx_", HEX("syndrome ", syndrome)));

/* UCX does not treat a flush as an error; up to 1.9 it traces which WQE was flushed. */
KEYS_FORM(ucx_flush, "ucx-flush", MARKS("] is flushed"),
	LINE_SAYS("WR flushed", STATUS, UNKNOWN, "QP 0x", HEX("QP ", qpn),
		  DECIMAL("wqe[", wqe_index)));
