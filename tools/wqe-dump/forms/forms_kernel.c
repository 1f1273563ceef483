/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel writes, except for dumps: about the device, its commands, and the kernel's own
 * users of RDMA.
 */
#include "forms.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "../text/text.h"
#include "collect.h"
#include "keys.h"

/*
 * -- firmware commands: mlx5/core/cmd.c mlx5_cmd_out_err(), cmd_status_print(), wait_func();
 * libmlx5 over VFIO writes the same without the name -- mlx5_vfio.c mlx5_vfio_cmd_check(). Their
 * syndrome is not a CQE's: it names a place in the firmware.
 */

/* Name and opcode are before @end: "CREATE_MKEY(0x200) op_mod(0x0) ...". */
static void read_command(struct record *record, const char *line, const char *end)
{
	const char *open = end, *begin;
	uint64_t opcode;

	while (open > line && *open != '(')
		open--;
	for (begin = open; begin > line && (isalnum((unsigned char)begin[-1]) || begin[-1] == '_');)
		begin--;
	if (begin < open)
		record_add_text(record, "command", begin, (size_t)(open - begin));
	if (text_number(open, 10, &opcode))
		record_add_number(record, "command_opcode", opcode);
}

/* "status bad parameter(0x3)": text and number. */
static void finish_command(struct record *record, const char *line)
{
	const char *op_mod = strstr(line, "op_mod(");
	const char *status = strstr(line, "failed, status ");
	uint64_t number;
	size_t len;

	read_command(record, line, op_mod - 1);
	if (text_number(op_mod + strlen("op_mod"), 10, &number))
		record_add_number(record, "op_mod", number);
	if (!status)
		return;
	status += strlen("failed, status ");
	len = strcspn(status, "(");
	record_set_status(record, status, len);
	if (text_number(status + len, 10, &number))
		record_add_number(record, "status", number);
}

static void finish_timeout(struct record *record, const char *line)
{
	read_command(record, line, strstr(line, " timeout. Will cause"));
	record_set_status(record, "timeout", strlen("timeout"));
}

static const struct shape command_lines[] = {
	LINE_WITH(finish_command, COMMAND, UNKNOWN, " op_mod(", HEX("syndrome (", syndrome),
		  FIELD_DECIMAL("err(-", "errno")),
	LINE_WITH(finish_timeout, COMMAND, UNKNOWN, " timeout. Will cause a leak of a command",
		  NO_KEYS),
	LAST_LINE,
};

KEYS_FORM(mlx5_command, "mlx5-command", command_lines, " op_mod(",
	  "Will cause a leak of a command");

/*
 * -- the health buffer: mlx5/core/health.c print_health_info() writes a line for each number; so
 * does libmlx5 over VFIO. Other messages may come in between.
 */

static const struct {
	const char *word;
	enum key_value value;
} health_words[] = {
	{ "assert_var[0]", KEY_HEX },
	{ "assert_var[1]", KEY_HEX },
	{ "assert_var[2]", KEY_HEX },
	{ "assert_var[3]", KEY_HEX },
	{ "assert_var[4]", KEY_HEX },
	{ "assert_var[5]", KEY_HEX },
	{ "assert_exit_ptr", KEY_HEX },
	{ "assert_callra", KEY_HEX },
	{ "fw_ver", KEY_WORD },
	{ "time", KEY_DECIMAL },
	{ "hw_id", KEY_HEX },
	{ "rfr", KEY_DECIMAL },
	{ "crr", KEY_DECIMAL },
	{ "severity", KEY_DECIMAL },
	{ "irisc_index", KEY_DECIMAL },
	{ "synd", KEY_HEX },
	{ "ext_synd", KEY_HEX },
};

/*
 * Returns what follows @word, the first word of a message: at the line's beginning, or after "...:
 * ".
 */
static const char *find_message(const char *text, const char *word)
{
	const char *at = text_find(text, word);

	if (!at || (at != text && (at - text < 2 || strncmp(at - 2, ": ", 2))))
		return NULL;
	at += strlen(word);
	return *at == ' ' ? at : NULL;
}

static void add_health(struct record *record, const char *word, enum key_value value,
		       const char *text)
{
	uint64_t number;

	if (value == KEY_WORD)
		record_add_text(record, word, text + 1, strcspn(text + 1, " "));
	else if (!text_number(text, value == KEY_HEX ? 16 : 10, &number))
		return;
	else if (!strcmp(word, "synd"))
		record->syndrome = KNOWN(number);
	else
		record_add_number(record, word, number);
}

/** struct health - a health buffer, as far as it was read */
struct health {
	struct record record;
	char device[16]; /* "0000:03:00.0", or "" */
};

static void read_device(const char *text, char device[16])
{
	const char *begin = strstr(text, "mlx5_core ");

	*device = '\0';
	if (begin)
		sscanf(begin + strlen("mlx5_core "), "%15[0-9a-f:.]", device);
}

/* Devices may fail together, and then their drivers write at once. */
static bool is_of_another(const struct health *health, const struct line *line)
{
	char device[16];

	read_device(line->text, device);
	return *device && *health->device && strcmp(device, health->device) != 0;
}

/* Takes the line's number; returns its word, or NULL. */
static const char *take_health(struct record *record, const struct line *line)
{
	for (size_t i = 0; i < sizeof(health_words) / sizeof(health_words[0]); i++) {
		const char *word = health_words[i].word;
		const char *text = find_message(line->text, word);

		if (text) {
			add_health(record, word, health_words[i].value, text);
			return word;
		}
	}
	return NULL;
}

static void tell_health(struct feed *feed, struct record *record)
{
	if (record->syndrome.is_known)
		tell_record(feed->tell, record);
	else
		tell_unread(feed->tell, record->line, "a health buffer, and its syndrome is not there");
}

/*
 * Whether a line begins a health buffer. A log may begin in the middle of one, and people may show
 * only its syndrome; then the driver's prefix tells that it is one.
 */
static bool begins_health(const char *text)
{
	return strstr(text, "assert_var[") || strstr(text, "print_health_info:");
}

/* The driver says that the device is ill, without its health buffer. */
static enum form_answer feed_compromised(struct feed *feed, const struct line *line)
{
	struct record record = { .kind = RECORD_HEALTH, .line = line->number };
	const char *fatal = strstr(line->text, "Fatal error ");
	uint64_t sensor;

	if (text_is_source(line->text))
		return FORM_PASS;
	if (strstr(line->text, "health compromised")) {
		record_set_status(&record, "health compromised", strlen("health compromised"));
	} else if (fatal && strstr(line->text, "mlx5") && strstr(line->text, " detected") &&
		   text_number(fatal + strlen("Fatal error "), 10, &sensor)) {
		record_set_status(&record, "fatal error", strlen("fatal error"));
		record_add_number(&record, "sensor", sensor);
	} else {
		return FORM_PASS;
	}
	tell_record(feed->tell, &record);
	return FORM_TAKEN;
}

static void begin_health(struct health *health, const struct line *line)
{
	health->record = (struct record){ .kind = RECORD_HEALTH, .line = line->number };
	read_device(line->text, health->device);
}

static enum form_answer feed_health(struct feed *feed, const struct line *line, void *state)
{
	struct health *health = state;
	const bool is_first = strstr(line->text, "Health issue observed") != NULL;
	const char *word;

	if (health->record.line && is_of_another(health, line))
		return FORM_PASS;
	if (is_first && health->record.line)
		tell_health(feed, &health->record);
	if (is_first || !health->record.line) {
		if (!is_first && !begins_health(line->text))
			return feed_compromised(feed, line);
		begin_health(health, line);
	}
	word = take_health(&health->record, line);
	if (!word)
		return is_first ? FORM_MORE : FORM_PASS;
	if (strcmp(word, "ext_synd"))
		return FORM_MORE;
	tell_health(feed, &health->record);
	return FORM_TAKEN;
}

static void close_health(struct feed *feed, void *state)
{
	tell_health(feed, &((struct health *)state)->record);
}

static const char *const health_marks[] = { "Health issue observed", "assert_var[",
					    "print_health_info:",    "health compromised",
					    "Fatal error ",          NULL };

const struct form form_mlx5_health = {
	.name = "mlx5-health",
	.marks = health_marks,
	.state_bytes = sizeof(struct health),
	.feed = feed_health,
	.close = close_health,
};

/*
 * -- error CQEs of the Ethernet driver: mlx5/core/en.h mlx5e_dump_error_cqe(), then the CQE itself
 */

static void finish_mlx5e(struct record *record, const char *line)
{
	const char *opcode = text_find(line, "opcode ");
	uint64_t value;

	if (!opcode || !text_number(opcode + strlen("opcode"), 16, &value))
		return;
	if (value == BSN_CQE_REQ_ERR)
		record->side = SIDE_REQUESTER;
	if (value == BSN_CQE_RESP_ERR)
		record->side = SIDE_RESPONDER;
}

static const struct shape mlx5e_line =
	LINE_WITH(finish_mlx5e, ERROR_CQE, UNKNOWN, "Error cqe on cqn ", FIELD_HEX("cqn ", "cqn"),
		  FIELD_HEX("ci ", "ci"), HEX("sqn ", qpn), HEX("qn ", qpn),
		  HEX("syndrome ", syndrome), HEX("vendor syndrome ", vendor_syndrome));

static enum form_answer feed_mlx5e(struct feed *feed, const struct line *line, void *state)
{
	struct collect *collect = state;
	enum form_answer answer = FORM_MORE;

	if (!collect->has_begun)
		answer = keys_begin(feed, line, &mlx5e_line, &collect->record);
	return answer == FORM_MORE ? collect_cqe(feed, line, collect) : answer;
}

/* The dump may be missing: the kernel limits their rate. */
COLLECT_FORM(mlx5e, "mlx5e", feed_mlx5e, "Error cqe on cqn ");

/*
 * -- what mlx5_ib says before it dumps a CQE: hw/mlx5/cq.c mlx5_handle_error_cqe(). The dump says
 * more; without it there is only the status.
 */

static const struct shape wc_line = LINE(STATUS, UNKNOWN, "WC error: ", STATUS("WC error: "));

static enum form_answer feed_mlx5_wc(struct feed *feed, const struct line *line, void *state)
{
	struct record *record = state;

	if (!record->line)
		return keys_begin(feed, line, &wc_line, record);
	if (strstr(line->text, "essage: ")) /* the rest of a broken line */
		return FORM_PASS;
	if (!strstr(line->text, "dump error cqe") && !strstr(line->text, "cqe_dump: "))
		tell_record(feed->tell, record);
	return FORM_OVER;
}

static const char *const mlx5_wc_marks[] = { "WC error: ", NULL };

const struct form form_mlx5_wc = {
	.name = "mlx5_ib-wc",
	.marks = mlx5_wc_marks,
	.state_bytes = sizeof(struct record),
	.feed = feed_mlx5_wc,
	.close = keys_close,
};

/*
 * -- what mlx5_ib says about an error CQE for debugging: hw/mlx5/cq.c mlx5_poll_one() writes whose
 * CQE it is, then its syndromes; people often show only the second line
 */

static const struct shape poll_line =
	LINE(ERROR_CQE, UNKNOWN, "syndrome 0x", HEX("syndrome ", syndrome),
	     HEX("vendor syndrome ", vendor_syndrome));

/* The first of the two lines. */
static enum form_answer begin_poll(const struct line *line, struct record *record)
{
	const char *cqn = strstr(line->text, "r error cqe on cqn ");
	uint64_t number;

	if (!cqn)
		return FORM_PASS;
	*record = (struct record){ .line = line->number,
				   .side = strstr(line->text, "Requestor") ? SIDE_REQUESTER
									   : SIDE_RESPONDER };
	if (text_number(cqn + strlen("r error cqe on cqn"), 16, &number))
		record_add_number(record, "cqn", number);
	return FORM_MORE;
}

static enum form_answer feed_mlx5_poll(struct feed *feed, const struct line *line, void *state)
{
	struct record *first = state;
	struct record record;

	if (!strstr(line->text, ", vendor syndrome 0x"))
		return first->line ? FORM_PASS : begin_poll(line, first);
	if (keys_read(line, &poll_line, &record) != READ_WELL)
		return FORM_PASS;
	record.side = first->side;
	for (unsigned i = 0; i < first->field_count; i++)
		record_add_number(&record, first->fields[i].name, first->fields[i].value);
	keys_tell(feed, line, &record);
	return FORM_TAKEN;
}

static void close_mlx5_poll(struct feed *feed, void *state)
{
	const struct record *first = state;

	tell_unread(feed->tell, first->line, "an error CQE, and its syndrome is not there");
}

static const char *const mlx5_poll_marks[] = { "r error cqe on cqn 0x", ", vendor syndrome 0x",
					       NULL };

const struct form form_mlx5_poll = {
	.name = "mlx5_ib-poll",
	.marks = mlx5_poll_marks,
	.state_bytes = sizeof(struct record),
	.feed = feed_mlx5_poll,
	.close = close_mlx5_poll,
};

/*
 * -- lines of mlx5 that say everything: mlx5/core/eq.c cq_err_event_notifier() ("syndrom" in the
 * driver's first years); mlx5/core/en/reporter_tx.c mlx5e_reporter_tx_timeout()
 */

/* An event, not a completion: its syndrome is one of device.h struct mlx5_eqe_cq_err. */
static void finish_cq(struct record *record, const char *line)
{
	const char *syndrom = strstr(line, ", syndrom ");
	uint64_t number;

	record_set_status(record, "CQ error", strlen("CQ error"));
	if (syndrom && text_number(syndrom + strlen(", syndrom"), 16, &number))
		record_add_number(record, "event_syndrome", number);
}

/* No completion came in time. */
static void finish_tx_timeout(struct record *record, const char *line)
{
	(void)line;
	record_set_status(record, "TX timeout", strlen("TX timeout"));
}

static const struct shape mlx5_lines[] = {
	LINE_WITH(finish_tx_timeout, STATUS, UNKNOWN, "TX timeout on queue: ",
		  FIELD_DECIMAL("queue: ", "queue"), HEX("SQ: ", qpn), FIELD_HEX("CQ: ", "cqn"),
		  FIELD_HEX("SQ Cons: ", "sq_consumer"), FIELD_HEX("SQ Prod: ", "sq_producer")),
	LINE_WITH(finish_cq, STATUS, UNKNOWN, "CQ error on CQN ", FIELD_HEX("CQN ", "cqn"),
		  FIELD_HEX("syndrome ", "event_syndrome")),
	LAST_LINE,
};

KEYS_FORM(mlx5_lines, "mlx5", mlx5_lines, "CQ error on CQN ", ", SQ: 0x");

/*
 * -- the kernel's own users: ulp/iser, ulp/isert, ulp/ipoib, ulp/srp, ulp/rtrs; nvme/host/rdma.c and
 * nvme/target/rdma.c; net/rds/ib_*.c; trace/events/rpcrdma.h; smb/client/smbdirect.c; Lustre's
 * o2iblnd_cb.c
 */

static const struct shape ulp_lines[] = {
	LINE(STATUS, REQUESTER, "send event (status=", STATUS("status="),
	     FIELD_DECIMAL("wrid=", "wr_id"), HEX("vend_err ", vendor_syndrome)),
	LINE(STATUS, RESPONDER, "(status=", STATUS("status="), FIELD_DECIMAL("wrid=", "wr_id"),
	     HEX("vend_err ", vendor_syndrome)),
	LINE(STATUS, UNKNOWN, " failure: ", STATUS("failure: "), HEX("vend_err ", vendor_syndrome)),
	LINE(STATUS, UNKNOWN, "wr id ", STATUS("status "), HEX("vend_err ", vendor_syndrome)),
	LINE(STATUS, UNKNOWN, "wr id ", STATUS(""), HEX("vend_err ", vendor_syndrome)),
	LINE(STATUS, UNKNOWN, " (wr_cqe: ", STATUS(""), HEX("vendor_err: ", vendor_syndrome)),
	LINE(STATUS, REQUESTER, "send completion on <", STATUS("status "),
	     HEX("vendor err ", vendor_syndrome)),
	LINE(STATUS, RESPONDER, "recv completion on <", STATUS("status "),
	     HEX("vendor err ", vendor_syndrome)),
	LINE(STATUS, RESPONDER, "RECV for CQE ", STATUS("failed with status ")),
	LINE(STATUS, REQUESTER, " for CQE 0x", STATUS("failed with status ")),
	LINE(STATUS, RESPONDER, "failed RECV status ", STATUS("status ")),
	LINE(STATUS, REQUESTER, "ib_srp: failed ", STATUS("status ")),
	LINE(STATUS, UNKNOWN, " status=", STATUS("status="), HEX("/", vendor_syndrome)),
	LINE(STATUS, UNKNOWN, " error. status='", STATUS("status=")),
	LINE(STATUS, REQUESTER, ": failed ", STATUS(": failed ")),
	LINE(STATUS, RESPONDER, " failed: ", STATUS("failed: ")),
	LAST_LINE,
};

KEYS_FORM(kernel_ulp, "kernel-ulp", ulp_lines, "vend_err ", " (wr_cqe: ", " completion on <",
	  " for CQE ", "ib_srp: failed ", "cq.id=", "smb_direct: ", "kiblnd_");
