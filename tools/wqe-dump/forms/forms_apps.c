/* SPDX-License-Identifier: BSD-2-Clause */
/* What programs write of failed completions; opcode and length, undefined, are ignored. */

#include <ctype.h>
#include <infiniband/verbs.h>
#include <string.h>

#include "../explain/explain.h"
#include "keys.h"

/* -- NCCL and those with its code: src/transport/net_ib/p2p.cc; vendor errors are decimal ------ */

KEYS_FORM(nccl, "nccl", MARKS("Got completion from peer ", "Got completion with error "),
	/* The same line, as people shorten it. */
	ERROR("Got completion from peer with status", STATUS("with status"),
	      VENDOR_DECIMAL("vendor err"), VENDOR_DECIMAL("vendor_err")),
	ERROR("Got completion from peer ", FIELD_WORD("peer ", "peer"), STATUS("with status"),
	      VENDOR_DECIMAL("vendor err"), VENDOR_DECIMAL("vendor_err"),
	      FIELD_WORD("localGid", "local_gid"), FIELD_WORD("remoteGids", "remote_gid"),
	      FIELD_WORD("hca ", "device")),
	ERROR("Got completion from peer ", FIELD_WORD("peer ", "peer"), STATUS("with error "),
	      VENDOR_DECIMAL("vendor err ")),
	ERROR("Got completion with error ", STATUS("with error "), VENDOR_DECIMAL("vendor err ")));

/* -- MPI: Open MPI 4's btl_openib_component.c handle_wc(), MVAPICH2's ibv_channel_manager.c ---- */

KEYS_FORM(mpi, "mpi", MARKS(" CQ with status", "vendor code=0x"),
	ERROR(" CQ with status", STATUS("status number "), FIELD_HEX("wr_id ", "wr_id"),
	      VENDOR_DECIMAL("vendor error ")),
	ERROR("ompletion with error ", STATUS("error "), VENDOR("vendor code=")));

/*
 * -- perftest: src/perftest_resources.h NOTIFY_COMP_ERROR_SEND and _RECV; the examples of
 * rdma-core: libibverbs/examples, librdmacm/examples
 */

PAIR_FORM(perftest, "perftest", MARKS("Completion with error at ", " syndrom 0x"),
	"a completion with error, and its status is not there",
	ERROR("Failed status", STATUS("Failed status"), FIELD_DECIMAL("wr_id ", "wr_id"),
	      VENDOR("syndrom ")),
	LINE(WQE, REQUESTER, "Completion with error at client", NO_KEYS),
	LINE(WQE, RESPONDER, "Completion with error at server", NO_KEYS));

KEYS_FORM(examples, "verbs-example", MARKS(") for wr_id ", "cq completion failed status ",
		"Work completion error ", "bad completion with status"),
	ERROR("Failed status ", STATUS("Failed status "), FIELD_DECIMAL("wr_id ", "wr_id")),
	ERROR("cq completion failed status ", STATUS("status ")),
	ERROR("Work completion error ", STATUS("error ")),
	ERROR("ot bad completion with status", STATUS("status"),
	      VENDOR_DECIMAL("vendor syndrome")));

/* -- libxlio, libvma: src/core/dev/cq_mgr_tx.cpp log_cqe_error(), src/vma/dev/cq_mgr.cpp ------- */

/* One number holds the WQE's opcode and the QPN. */
static void split_opcode_qpn(struct record *record, const char *line)
{
	uint64_t both;

	if (!text_number_after(line, "wqe_opcode_qpn=", 16, &both))
		return;
	record->opcode = KNOWN(both >> 24 & 0xff);
	record->qpn = KNOWN(both & BSN_QPN_MAX);
}

static const struct shape xlio_lines[] = {
	LINE_WITH(split_opcode_qpn, ERROR_CQE, REQUESTER, "cqe: syndrome=",
		  HEX("syndrome=", syndrome), VENDOR("vendor="), HEX("hw=", hw_syndrome),
		  HEX("wqe_counter=", wqe_index)),
	ERROR("wce: wr_id=", FIELD_HEX("wr_id=", "wr_id"), STATUS("status="), VENDOR("vendor_err="),
	      HEX("qp_num=", qpn)),
	ERROR("wce error status ", STATUS("status "), FIELD_HEX("wr_id=", "wr_id"),
	      HEX("qp_num=", qpn)),
	LAST_LINE,
};

/* libxlio prints the WQE at the end of the line: whole basic blocks, without a gap. */
static void tell_wqe(struct feed *feed, const struct line *line)
{
	const char *digits = strstr(line->text, " wqe=");
	struct hex_row row;
	uint8_t bytes[HEX_ROW_MAX];

	if (!digits)
		return;
	if (hex_row_read(digits + strlen(" wqe="), &row, bytes))
		raw_tell_wqe(feed->tell, feed->bytes, line->number, KNOWN(BSN_TRANSPORT_ETH), bytes,
			     row.count);
	else
		tell_unread(feed->tell, line->number, "a WQE without its bytes");
}

static enum form_answer feed_xlio(struct feed *feed, const struct line *line, void *state)
{
	const enum form_answer answer = keys_feed(feed, line, xlio_lines);

	(void)state;
	if (answer == FORM_TAKEN)
		tell_wqe(feed, line);
	return answer;
}

FORM(xlio, "xlio", MARKS("cqe: syndrome=", "wce: wr_id=", "wce error status "), .feed = feed_xlio);

/*
 * -- DOCA GPUNetIO, and NIXL, which has its code: doca_gpunetio_dev_verbs_cq.cuh. It prints two
 * fields without swapping their bytes; doca_gpunetio_dev_eth_txq.cuh swaps them. Of the two ways, a
 * WQE's opcode tells the right one; where both have one, the smaller QPN does.
 */

static void finish_gpunetio(struct record *record, const char *line)
{
	uint64_t printed;
	uint32_t both;

	if (!text_number_after(line, " wqe_qpn=", 16, &printed))
		return;
	both = __builtin_bswap32((uint32_t)printed);
	if (!bsn_wqe_op_find(both >> 24) || (bsn_wqe_op_find((uint32_t)printed >> 24) &&
					     (both & BSN_QPN_MAX) > (printed & BSN_QPN_MAX)))
		both = (uint32_t)printed;
	else
		record->wqe_index.value = __builtin_bswap16((uint16_t)record->wqe_index.value);
	record->opcode = KNOWN(both >> 24);
	record->qpn = KNOWN(both & BSN_QPN_MAX);
}

KEYS_FORM(gpunetio, "gpunetio", MARKS(" wqe_qpn="),
	LINE_WITH(finish_gpunetio, ERROR_CQE, REQUESTER, "with err: syndrome=",
		  HEX("syndrome=", syndrome), VENDOR("vendor_err_synd="),
		  HEX("hw_err_synd=", hw_syndrome),
		  FIELD_DECIMAL("hw_synd_type=", "hw_syndrome_type"),
		  DECIMAL("wqe_counter=", wqe_index)));

/* -- NVSHMEM: ibgda_device.cuh over several lines; src/modules/transport/ibdevx, ibrc on one --- */

static const struct shape nvshmem_first =
	LINE(ERROR_CQE, REQUESTER, "syndrome=", HEX("syndrome=", syndrome),
	     VENDOR("vendor_err_synd="), HEX("hw_err_synd=", hw_syndrome));
static const struct shape nvshmem_second =
	LINE_WITH(split_opcode_qpn, WQE, REQUESTER, "wqe_counter=", HEX("wqe_counter=", wqe_index));

static enum form_answer feed_nvshmem(struct feed *feed, const struct line *line, void *state)
{
	struct record *record = state;
	struct record second;

	if (!record->line)
		return keys_begin(feed, line, &nvshmem_first, record);
	if (keys_read(line, &nvshmem_second, &second) != READ_WELL)
		return FORM_PASS;
	keys_add(record, &second);
	tell_record(feed->tell, record);
	return FORM_TAKEN;
}

FORM(nvshmem, "nvshmem", MARKS(" vendor_err_synd="), .state_bytes = sizeof(struct record),
     .begins_anew = true, .feed = feed_nvshmem, .close = keys_close);

KEYS_FORM(nvshmem_lines, "nvshmem-line", MARKS("ibdevx completion with error",
		"ibv_poll_cq failed, status: "),
	LINE(ERROR_CQE, REQUESTER, "ibdevx completion with error. hws: ", HEX("hws: ", hw_syndrome),
	     VENDOR("ves: "), HEX("syn: ", syndrome)),
	ERROR("ibv_poll_cq failed, status: ", STATUS("status: ")));

/*
 * -- DPDK's mlx5 drivers: net/mlx5/mlx5_tx.c, mlx5_rx.c, hws/mlx5dr_send.c; crypto/mlx5/;
 * common/mlx5's DEVX_DRV_LOG(); hws/mlx5dr_cmd.c
 */

/* Some drivers print the WQE's opcode, others the CQE's. No WQE has an opcode of an error CQE. */
static void sort_opcode(struct record *record, const char *line)
{
	(void)line;
	if (record->opcode.value != BSN_CQE_REQ_ERR && record->opcode.value != BSN_CQE_RESP_ERR)
		return;
	if (record->opcode.value == BSN_CQE_RESP_ERR)
		record->side = SIDE_RESPONDER;
	record->opcode = (struct number){ 0 };
}

/* mlx5_crypto_xts_cqe_err_handle() swaps one byte as if it were four: 0x13 is 13000000. */
static void turn_syndrome(struct record *record, const char *line)
{
	uint64_t value;

	if (text_number_after(line, "CQE ERR:", 16, &value) && value <= UINT32_MAX &&
	    !(value & 0xffffff))
		record->syndrome = KNOWN(value >> 24);
}

KEYS_FORM(dpdk, "dpdk", MARKS("CQE ERR:", "Unexpected CQE error syndrome ", " failed errno=",
		"Bad DevX status ", "(syndrome: "),
	LINE_WITH(sort_opcode, ERROR_CQE, REQUESTER, "CQE ERR:", HEX("CQE ERR:", syndrome),
		  VENDOR("Vendor_ERR:"), HEX("OP:", opcode), HEX("QPN:", qpn),
		  HEX("WQE_CNT:", wqe_index)),
	LINE(ERROR_CQE, UNKNOWN, "Unexpected CQE error syndrome ", HEX("syndrome ", syndrome),
	     FIELD_DECIMAL("CQN = ", "cqn"), DECIMAL("SQN = ", qpn), DECIMAL("RQN = ", qpn),
	     DECIMAL("wqe_counter = ", wqe_index), FIELD_DECIMAL("wq_ci = ", "wq_ci"),
	     FIELD_DECIMAL("rq_ci = ", "rq_ci"), FIELD_DECIMAL("cq_ci = ", "cq_ci")),
	LINE_WITH(turn_syndrome, ERROR_CQE, REQUESTER, "CQE ERR:", NO_KEYS),
	LINE(COMMAND, UNKNOWN, "DevX ", FIELD_DECIMAL("failed errno=", "errno"),
	     FIELD_HEX("status=", "status"), HEX("syndrome=", syndrome)),
	LINE(COMMAND, UNKNOWN, "Bad DevX status ", FIELD_HEX("status ", "status"),
	     HEX("syndrome = ", syndrome)),
	LINE(COMMAND, UNKNOWN, "Failed to ", HEX("(syndrome: ", syndrome)));

/*
 * -- others: SPDK's lib/nvme/nvme_rdma.c and lib/nvmf/rdma.c; Mooncake's worker_pool.cpp; UCCL's
 * rdma.cpp; 3FS's IBSocket.cc; gloo's ibverbs/pair.cc; brpc's rdma_endpoint.cpp; libfabric's
 * cq_readerr; Ceph's RDMAStack.cc; mscclpp's connection.cc; eRPC's mlx5 patch; VPP's plugins/rdma,
 * which only counts
 */

KEYS_FORM(spdk, "spdk", MARKS("WC error, qid ", "Error on CQ "),
	ERROR("WC error, qid ", FIELD_DECIMAL("qid ", "qid"), STATUS("status: ")),
	ERROR("Error on CQ ", FIELD_HEX("CQ ", "cq"), STATUS("status: ")));

KEYS_FORM(mooncake, "mooncake", MARKS("rocess failed for slice", "error WQE for slice"),
	SEND_ERROR("for slice", FIELD_WORD("local_nic: ", "local_nic"),
		   FIELD_WORD("peer_nic: ", "peer_nic"), FIELD_DECIMAL("dest_rkey: ", "rkey"),
		   STATUS("): ")));

KEYS_FORM(uccl, "uccl", MARKS("CQE ERROR wr_id=", "CQE error, wr_id=", " CQ state error: "),
	ERROR("CQE ERROR ", FIELD_DECIMAL("wr_id=", "wr_id"), STATUS("status="),
	      VENDOR("vendor_err="), HEX("qp_num=", qpn)),
	ERROR("CQE error, ", FIELD_DECIMAL("wr_id=", "wr_id"), STATUS("status="),
	      VENDOR("vendor_err="), HEX("qp_num=", qpn)),
	SEND_ERROR("RC send CQ state error: ", STATUS("error: ")),
	RECV_ERROR("RC recv CQ state error: ", STATUS("error: ")));

static void finish_vpp(struct record *record, const char *line)
{
	uint64_t count;

	record_set_status(record, "tx completion errors", strlen("tx completion errors"));
	if (text_number(line, 10, &count))
		record_add_number(record, "count", count);
}

KEYS_FORM(apps, "program", MARKS(", vendor_error: ", " for slot ", "RDMA completion, error status(",
		"RDMA completion error(", "cq_readerr", "work request returned error",
		"a work item failed: status ", "Bad wc status ", "tx completion errors"),
	ERROR("{WR: ", STATUS("error: "), VENDOR_DECIMAL("vendor_error: ")),
	SEND_ERROR("Send for slot ", STATUS(": ")),
	RECV_ERROR("Recv for slot ", STATUS(": ")),
	ERROR("RDMA completion, error status(", STATUS("status")),
	ERROR("RDMA completion error(", STATUS("error")),
	ERROR("cq_readerr", STATUS("")),
	SEND_ERROR(" send work request returned error", STATUS("status(")),
	RECV_ERROR("work request returned error", STATUS("status(")),
	ERROR("a work item failed: status ", STATUS("status ")),
	ERROR("Bad wc status ", STATUS("status ")),
	LINE_WITH(finish_vpp, STATUS, REQUESTER, "tx completion errors", NO_KEYS));

/*
 * -- anything else that names a verbs status or a vendor error. Nothing says whether a number
 * without 0x is decimal or hexadecimal: if only one of the two goes with the status, it is that
 * one.
 */

/* Skips words that programs put between "vendor_err" and its number. */
static const char *skip_words(const char *text)
{
	static const char *const words[] = { "code", "_code", "synd",  "_synd", "syndrome", "field",
					     "byte", "with",  "value", "is",    "of",       "was" };

	for (size_t i = 0; i < COUNT(words);) {
		const char *word = text + strspn(text, " ");
		const size_t len = strlen(words[i]);
		const bool found =
			!strncmp(word, words[i], len) && !isalnum((unsigned char)word[len]);

		if (found)
			text = word + len;
		i = found ? 0 : i + 1;
	}
	return text;
}

static const char *find_vendor(const char *text)
{
	static const char *const words[] = { "vendor err",      "vendor_err",      "vend_err",
					     "vendor syndrome", "vendor_syndrome", "syndrom ",
					     "syndrom:",        "syndrom=" };

	for (size_t i = 0; i < COUNT(words); i++) {
		const char *at = strcasestr(text, words[i]);

		if (!at)
			continue;
		at += strlen(words[i]);
		at += strspn(at, "or");
		return skip_words(at);
	}
	return NULL;
}

/* Takes the base in which the number makes sense, and marks it as guessed. */
static void guess_vendor(struct record *record, const char *digits, uint64_t decimal, uint64_t hex)
{
	const bool is_decimal = record_suits_vendor(record, decimal);

	record_add_text(record, "vendor_err", digits, strspn(digits, "0123456789"));
	if (is_decimal == record_suits_vendor(record, hex))
		return;
	record->vendor_syndrome = KNOWN(is_decimal ? decimal : hex);
	record_add_text(record, "vendor_err_base", is_decimal ? "10" : "16", 2);
	record->is_guess = true;
}

static void read_vendor(struct record *record, const char *text)
{
	const char *digits = text + strspn(text, " \t:=([\"'");
	const bool has_0x = !strncasecmp(digits, "0x", 2);
	uint64_t decimal, hex;

	if (!text_number(text, 16, &hex))
		return;
	if (has_0x || !text_number(text, 10, &decimal) || decimal == hex)
		record->vendor_syndrome = KNOWN(hex);
	else if (hex > UINT8_MAX)
		record->vendor_syndrome = KNOWN(decimal);
	else
		guess_vendor(record, digits, decimal, hex);
}

static void finish_verbs(struct record *record, const char *line)
{
	const char *vendor = find_vendor(line);
	const struct number status = status_anywhere(line);

	if (!status.is_known)
		return;
	status_set(record, status.value);
	if (vendor)
		read_vendor(record, vendor);
}

/* Some marks are texts of statuses that no other program prints. "syndrom" is perftest's word. */
KEYS_FORM(verbs, "verbs", MARKS("vendor err", "vendor_err", "vend_err", "Vendor err",
		"vendor syndrome", "vendor_syndrome", "syndrom 0x", "syndrom: 0x", "syndrom=0x",
		"IBV_WC_", "IB_WC_", "retry counter exceeded", "local length error",
		"local QP operation error", "local protection error", "Work Request Flushed Error",
		"WR flushed", "WR_FLUSH_ERR", "memory management operation error",
		"bad response error", "local access error", "remote invalid request error",
		"remote access error", "remote operation error"),
	LINE_WITH(finish_verbs, STATUS, UNKNOWN, "", NO_KEYS));
