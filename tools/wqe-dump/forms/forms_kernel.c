/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel writes, except for dumps: of the device, commands, users of RDMA. */

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "../explain/explain.h"
#include "keys.h"

/*
 * -- firmware commands: mlx5/core/cmd.c mlx5_cmd_out_err(), cmd_status_print(), wait_func(),
 * wait_func_handle_exec_timeout(), cmd_work_handler(); libmlx5 over VFIO writes the same without
 * the name -- mlx5_vfio.c mlx5_vfio_cmd_check(). Their syndrome is not a CQE's: it names a place in
 * the firmware.
 */

/* Name and opcode are before @end: "CREATE_MKEY(0x200) op_mod(0x0) ...". */
static void read_command(struct record *record, const char *line, const char *end)
{
	const char *open = end, *begin;
	uint64_t opcode;

	while (open > line && strncmp(open, "(0x", 3))
		open--;
	if (strncmp(open, "(0x", 3))
		return;
	for (begin = open; begin > line && (isalnum((unsigned char)begin[-1]) || begin[-1] == '_');)
		begin--;
	if (begin < open)
		record_add_text(record, "command", begin, (size_t)(open - begin));
	if (text_number(open, 10, &opcode))
		record_add_number(record, "command_opcode", opcode);
}

/* "status bad parameter(0x3)": text and number. Only refused commands have an op_mod. */
static void finish_command(struct record *record, const char *line)
{
	const char *op_mod = strstr(line, " op_mod(");
	const char *status = strstr(line, "failed, status ");
	uint64_t number;
	size_t len;

	read_command(record, line, op_mod ? op_mod : line + strlen(line));
	if (text_number_after(line, " op_mod(", 10, &number))
		record_add_number(record, "op_mod", number);
	if (!status)
		return;
	status += strlen("failed, status ");
	len = strcspn(status, "(");
	record_set_status(record, status, len);
	if (text_number(status + len, 10, &number))
		record_add_number(record, "status", number);
}

/* A command that the firmware did not answer in time, or that could not be sent. */
#define SILENT(says, text)                                                                         \
	{                                                                                          \
		text, RECORD_COMMAND, SIDE_UNKNOWN, { NO_KEYS }, finish_command, says              \
	}

KEYS_FORM(mlx5_command, "mlx5-command", MARKS(" op_mod(", "Will cause a leak of a command",
		") No done completion", " out of queue timeout", " after timeout",
		"failed to allocate command entry"),
	LINE_WITH(finish_command, COMMAND, UNKNOWN, " op_mod(", HEX("syndrome (", syndrome),
		  FIELD_DECIMAL("err(-", "errno")),
	SILENT("timeout", "Will cause a leak of a command"),
	SILENT("timeout", ") No done completion"),
	SILENT("timeout", ") canceled on out of queue timeout"),
	SILENT("late", ") recovered after timeout"),
	SILENT("late", "Command completion arrived after timeout"),
	SILENT("no slot", ": failed to allocate command entry"));

/*
 * -- the health buffer: mlx5/core/health.c print_health_info() writes a line for each number; so
 * does libmlx5 over VFIO. Other messages may come in between.
 */

#define ONES "registers read as ones"

static const struct {
	const char *word;
	enum key_value value;
} health_words[] = {
	{ "assert_var[0]", KEY_HEX },   { "assert_var[1]", KEY_HEX },
	{ "assert_var[2]", KEY_HEX },   { "assert_var[3]", KEY_HEX },
	{ "assert_var[4]", KEY_HEX },   { "assert_var[5]", KEY_HEX },
	{ "assert_exit_ptr", KEY_HEX }, { "assert_callra", KEY_HEX },
	{ "fw_ver", KEY_WORD },         { "time", KEY_DECIMAL },
	{ "hw_id", KEY_HEX },           { "rfr", KEY_DECIMAL },
	{ "crr", KEY_DECIMAL },         { "severity", KEY_DECIMAL },
	{ "irisc_index", KEY_DECIMAL }, { "synd", KEY_HEX },
	{ "ext_synd", KEY_HEX },
};

/* What follows @word, which begins a message: at the line's beginning or after "...: ". */
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

/* Several devices may fail together; their drivers then write at once. */
static bool is_of_another(const struct health *health, const struct line *line)
{
	char device[16];

	read_device(line->text, device);
	return *device && *health->device && strcmp(device, health->device) != 0;
}

/* Takes the line's number; returns its word, or NULL. */
static const char *take_health(struct record *record, const char *line)
{
	for (size_t i = 0; i < COUNT(health_words); i++) {
		const char *word = health_words[i].word;
		const char *text = find_message(line, word);

		if (text) {
			add_health(record, word, health_words[i].value, text);
			return word;
		}
	}
	return NULL;
}

/* Whether all but small numbers is ones, as a device that is gone from PCIe returns. */
static bool reads_ones(const struct record *record)
{
	bool has_ones = record->syndrome.value == UINT8_MAX;

	if (record->syndrome.is_known && !has_ones)
		return false;
	for (unsigned i = 0; i < record->field_count; i++) {
		const char *text = record_field_text(record, &record->fields[i]);
		const uint64_t value = record->fields[i].value;
		const bool is_ones = text ? !strncmp(text, "65535.65535.65535", 17)
					  : value >= UINT8_MAX && !(value & (value + 1));

		if (!is_ones && (text || value >= UINT8_MAX))
			return false;
		has_ones |= is_ones;
	}
	return has_ones;
}

static void tell_health(struct feed *feed, void *state)
{
	struct record *record = &((struct health *)state)->record;

	if (reads_ones(record)) {
		record->syndrome = (struct number){ 0 };
		record_set_status(record, ONES, strlen(ONES));
	}
	if (*record->status || record->syndrome.is_known)
		tell_record(feed->tell, record);
	else
		tell_unread(feed->tell, record->line,
			    "a health buffer, and its syndrome is not there");
}

/* Whether a health buffer may begin here; a log may begin in the middle of one. */
static bool begins_health(const char *text)
{
	return strstr(text, "assert_var[") || strstr(text, "print_health_info:");
}

/* "Health issue observed, firmware internal error, severity(2) CRITICAL:" */
static void read_head(struct record *record, const char *text)
{
	static const struct {
		const char *text;
		enum bsn_health_syndrome syndrome;
	} words[] = {
#define HEALTH_ROW(words, NAME) { words, BSN_HEALTH_##NAME },
		HEALTH_WORDS(HEALTH_ROW)
	};
	uint64_t number;

	for (size_t i = 0; i < COUNT(words); i++)
		if (text_find(text, words[i].text))
			record->syndrome = KNOWN(words[i].syndrome);
	if (text_number_after(text, "severity", 10, &number))
		record_add_number(record, "severity", number);
}

/* Takes the number of a line that a mailer broke, together with the next line. */
static const char *take_broken(struct feed *feed, struct record *record, const struct line *line)
{
	static const char *const glues[] = { "", " " };
	const char *rest = feed->rest(feed, 1), *word = NULL;
	char text[256];

	for (unsigned i = 0; rest && !word && i < 2; i++) {
		const int len = snprintf(text, sizeof(text), "%s%s%s", line->text, glues[i], rest);

		if (len < (int)sizeof(text))
			word = take_health(record, text);
	}
	feed->taken = word != NULL;
	return word;
}

static enum form_answer feed_health(struct feed *feed, const struct line *line, void *state)
{
	struct health *health = state;
	const bool is_first = strstr(line->text, "Health issue observed") != NULL;
	const char *word;

	if (health->record.line && is_of_another(health, line))
		return FORM_PASS;
	if (is_first && health->record.line)
		tell_health(feed, health);
	if (is_first || !health->record.line) {
		if (!is_first && !begins_health(line->text))
			return FORM_PASS;
		health->record = (struct record){ .kind = RECORD_HEALTH, .line = line->number };
		read_device(line->text, health->device);
		if (is_first)
			read_head(&health->record, line->text);
	}
	word = take_health(&health->record, line->text);
	if (!word && begins_health(line->text) && !is_first)
		word = take_broken(feed, &health->record, line);
	if (!word)
		return is_first ? FORM_MORE : FORM_PASS;
	if (strcmp(word, "ext_synd"))
		return FORM_MORE;
	tell_health(feed, health);
	return FORM_TAKEN;
}

FORM(mlx5_health, "mlx5-health",
     MARKS("Health issue observed", "assert_var[", "print_health_info:"),
     .state_bytes = sizeof(struct health), .feed = feed_health, .close = tell_health);

/* -- what mlx5_ib says before a dump, which says more: cq.c mlx5_handle_error_cqe() ------------ */

static const struct shape wc_line = ERROR("WC error: ", STATUS("WC error: "));

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

FORM(mlx5_wc, "mlx5_ib-wc", MARKS("WC error: "), .state_bytes = sizeof(struct record),
     .feed = feed_mlx5_wc, .close = keys_close);

/*
 * -- what mlx5_ib says about an error CQE for debugging: hw/mlx5/cq.c mlx5_poll_one() writes whose
 * CQE it is, then its syndromes; people often show only the second line
 */

PAIR_FORM(mlx5_poll, "mlx5_ib-poll", MARKS("r error cqe on cqn 0x", ", vendor syndrome 0x"),
	"an error CQE, and its syndrome is not there",
	LINE(ERROR_CQE, UNKNOWN, "syndrome 0x", HEX("syndrome ", syndrome),
	     VENDOR("vendor syndrome ")),
	LINE(WQE, REQUESTER, "Requestor error cqe on cqn ", FIELD_HEX("cqn ", "cqn")),
	LINE(WQE, RESPONDER, "Responder error cqe on cqn ", FIELD_HEX("cqn ", "cqn")));

/*
 * -- lines of mlx5 that say everything: mlx5/core/eq.c cq_err_event_notifier() ("syndrom" in the
 * driver's first years); mlx5/core/en/reporter_tx.c mlx5e_reporter_tx_timeout(); hw/mlx5/qp.c
 * mlx5_ib_qp_err_syndrome(); mlx5/core/health.c, main.c and events.c
 */

/*
 * For a QP's fatal event the driver looks the syndrome up in the table of verbs statuses, so the
 * words are those of another error: "general error" is status 21, but syndrome 0x15.
 */
static void finish_qp(struct record *record, const char *line)
{
	const char *error = strstr(line, " error: ");
	const char *words = error ? error + strlen(" error: ") : "";
	size_t len = strcspn(words, "(");
	const struct number number = status_at(words, &len);
	uint64_t qpn;

	if (text_number_after(line, ": QP ", 10, &qpn) && qpn <= BSN_QPN_MAX)
		record->qpn = KNOWN(qpn);
	if (number.is_known)
		record_add_text(record, "printed_as", words, len);
	else
		record_set_status(record, words, len ? len - 1 : 0);
	if (!number.is_known || !meaning_of(SPACE_SYNDROME, number.value).name)
		return;
	if (number.value)
		status_set(record, bsn_status_of_syndrome(number.value));
	record->syndrome = number;
}

/* Of the device's first or second port. A line without its last bracket was cut off. */
#define QP_LINE(text)                                                                              \
	LINE_WITH(finish_qp, EVENT, RESPONDER, text, VENDOR("("),                                  \
		  FIELD_HEX(" ", "hw_syndrome_type"), HEX(" ", hw_syndrome), NO_VALUE(")"))

/* The syndrome of a CQ's error is that of device.h struct mlx5_eqe_cq_err, not a completion's. */
KEYS_FORM(mlx5_lines, "mlx5", MARKS("CQ error on CQN ", ", SQ: 0x", "/1: QP ", "/2: QP ",
		"health compromised", "Fatal error ", "health recovery f", "65535.65535.65535",
		"initializing state, aborting", "Waiting for FW ", "High temperature on sensors",
		"insufficient power on", "Port module event[error]"),
	LINE_SAYS("TX timeout", STATUS, UNKNOWN, "TX timeout on queue: ",
		  FIELD_DECIMAL("queue: ", "queue"), HEX("SQ: ", qpn), FIELD_HEX("CQ: ", "cqn"),
		  FIELD_HEX("SQ Cons: ", "sq_consumer"), FIELD_HEX("SQ Prod: ", "sq_producer")),
	LINE_SAYS("CQ error", EVENT, UNKNOWN, ", syndrom ",
		  FIELD_HEX("syndrom ", "event_syndrome")),
	LINE_SAYS("CQ error", EVENT, UNKNOWN, "CQ error on CQN ", FIELD_HEX("CQN ", "cqn"),
		  FIELD_HEX("syndrome ", "event_syndrome")),
	QP_LINE("/1: QP "),
	QP_LINE("/2: QP "),
	LINE_SAYS("health compromised", HEALTH, UNKNOWN, "health compromised", NO_KEYS),
	LINE_SAYS("fatal error", HEALTH, UNKNOWN,
		  "poll_health:", FIELD_DECIMAL("Fatal error ", "sensor")),
	LINE_SAYS("recovery aborted", HEALTH, UNKNOWN, "health recovery flow aborted", NO_KEYS),
	LINE_SAYS("recovery failed", HEALTH, UNKNOWN, "health recovery failed", NO_KEYS),
	LINE_SAYS("registers read as ones", HEALTH, UNKNOWN, "firmware version: 65535.65535.65535",
		  NO_KEYS),
	LINE_SAYS("firmware does not start", HEALTH, UNKNOWN, "initializing state, aborting",
		  NO_KEYS),
	LINE_SAYS("firmware does not start", HEALTH, UNKNOWN, "Waiting for FW ", NO_KEYS),
	LINE_SAYS("high temperature", HEALTH, UNKNOWN, "High temperature on sensors with bit set",
		  FIELD_HEX("bit set ", "sensors_high"), FIELD_HEX(" ", "sensors_low")),
	LINE_SAYS("insufficient power", HEALTH, UNKNOWN, "insufficient power on the PCIe slot",
		  FIELD_WORD("slot ", "power")),
	LINE_SAYS("module error", HEALTH, UNKNOWN, "Port module event[error]",
		  FIELD_DECIMAL(": module ", "module")));

/*
 * -- the kernel's own users: ulp/iser, ulp/isert, ulp/ipoib, ulp/srp, ulp/rtrs; nvme/host/rdma.c
 * and nvme/target/rdma.c; net/rds/ib_*.c; trace/events/rpcrdma.h; smb/client/smbdirect.c; Lustre's
 * o2iblnd_cb.c
 */

KEYS_FORM(kernel_ulp, "kernel-ulp", MARKS("vend_err ", " (wr_cqe: ", " completion on <",
		" for CQE ", "ib_srp: failed ", "cq.id=", "smb_direct: ", "kiblnd_"),
	SEND_ERROR("send event (status=", STATUS("status="), FIELD_DECIMAL("wrid=", "wr_id"),
		   VENDOR("vend_err ")),
	RECV_ERROR("(status=", STATUS("status="), FIELD_DECIMAL("wrid=", "wr_id"),
		   VENDOR("vend_err ")),
	ERROR(" failure: ", STATUS("failure: "), VENDOR("vend_err ")),
	ERROR("wr id ", STATUS("status "), VENDOR("vend_err ")),
	ERROR("wr id ", STATUS(""), VENDOR("vend_err ")),
	ERROR(" (wr_cqe: ", STATUS(""), VENDOR("vendor_err: ")),
	SEND_ERROR("send completion on <", STATUS("status "), VENDOR("vendor err ")),
	RECV_ERROR("recv completion on <", STATUS("status "), VENDOR("vendor err ")),
	RECV_ERROR("RECV for CQE ", STATUS("failed with status ")),
	SEND_ERROR(" for CQE 0x", STATUS("failed with status ")),
	RECV_ERROR("failed RECV status ", STATUS("status ")),
	SEND_ERROR("ib_srp: failed ", STATUS("status ")),
	ERROR(" status=", STATUS("status="), VENDOR("/")),
	ERROR(" error. status='", STATUS("status=")),
	SEND_ERROR(": failed ", STATUS(": failed ")),
	RECV_ERROR(" failed: ", STATUS("failed: ")));
