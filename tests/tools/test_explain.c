/* SPDX-License-Identifier: BSD-2-Clause */
/* What wqe-dump says about errors: what every number means, and which number a question means. */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "wqe-dump/explain/explain.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct error error_of(enum error_space space, uint32_t value)
{
	struct error error = { .side = SIDE_UNKNOWN };

	error.numbers[space] = KNOWN(value);
	return error;
}

static void explain_one(enum error_space space, uint32_t value, struct explanation *e)
{
	const struct error error = error_of(space, value);

	explain(&error, e);
}

static bool is_unknown(const struct explanation *e)
{
	return !strncmp(e->meaning, "Not mlx5, or not in this table", 30);
}

static void assert_whole(const struct explanation *e)
{
	assert_true(strlen(e->meaning) && strlen(e->attempt) && strlen(e->step));
	assert_true(e->cause ? strlen(e->cause) >= strlen(e->meaning) : is_unknown(e));
	assert_true(strlen(e->meaning_source) && strlen(e->cause_basis));
	assert_true(!strcmp(e->confidence, "high") || !strcmp(e->confidence, "medium") ||
		    !strcmp(e->confidence, "low"));
	assert_non_null(e->meanings[0].name);
}

static const struct bsn_enum *find_list(const char *name)
{
	for (size_t i = 0; i < bsn_enum_count; i++)
		if (!strcmp(bsn_enums[i]->name, name))
			return bsn_enums[i];
	fail_msg("no list %s", name);
	return NULL;
}

/* -- every number ------------------------------------------------------------------------------ */

static void every_vendor_syndrome_is_explained(void **state)
{
	struct bsn_vendor_meaning meaning;
	struct explanation e;

	for (uint32_t code = 0; code < 256; code++) {
		bsn_vendor_explain(code, &meaning);
		explain_one(SPACE_VENDOR, code, &e);
		if (is_unknown(&e) != !meaning.name)
			fail_msg("0x%02x: %s, but: %s", code, meaning.name, e.meaning);
		if (!meaning.name) {
			assert_string_equal(e.confidence, "low");
			continue;
		}
		assert_whole(&e);
		if (meaning.measured)
			assert_string_equal(e.confidence, "high");
	}
}

static void assert_list_is_explained(enum error_space space, const char *name)
{
	const struct bsn_enum *list = find_list(name);
	struct explanation e;

	for (size_t i = 0; i < list->count; i++) {
		explain_one(space, list->values[i].value, &e);
		assert_whole(&e);
		if (is_unknown(&e))
			fail_msg("%s %s has no topic", name, list->values[i].name);
		assert_string_equal(e.meanings[e.meaning_count - 1].name, list->values[i].name);
	}
}

static void a_syndrome_is_told_by_its_status_too(void **state)
{
	struct explanation e;

	explain_one(SPACE_SYNDROME, BSN_SYNDROME_REMOTE_ACCESS, &e);
	assert_int_equal(e.meaning_count, 2);
	assert_string_equal(e.meanings[0].name, "IBV_WC_REM_ACCESS_ERR");
	explain_one(SPACE_STATUS, IBV_WC_REM_ACCESS_ERR, &e);
	assert_int_equal(e.meaning_count, 1);
	explain_one(SPACE_SYNDROME, BSN_SYNDROME_SUCCESS, &e);
	assert_int_equal(e.meaning_count, 1);
}

static void every_syndrome_is_explained(void **state)
{
	assert_list_is_explained(SPACE_SYNDROME, "syndrome");
}

static void every_health_syndrome_is_explained(void **state)
{
	assert_list_is_explained(SPACE_HEALTH, "health_syndrome");
}

static void every_command_status_is_explained(void **state)
{
	assert_list_is_explained(SPACE_COMMAND, "command_status");
}

static void every_verbs_status_is_explained(void **state)
{
	struct explanation e;

	for (uint32_t status = 0; status <= IBV_WC_TM_RNDV_INCOMPLETE; status++) {
		explain_one(SPACE_STATUS, status, &e);
		assert_whole(&e);
		if (is_unknown(&e))
			fail_msg("status %u has no topic", status);
		assert_memory_equal(e.meanings[0].name, "IBV_WC_", 7);
	}
	explain_one(SPACE_STATUS, IBV_WC_TM_RNDV_INCOMPLETE + 1, &e);
	assert_true(is_unknown(&e));
}

/* -- who, and when ----------------------------------------------------------------------------- */

static void what_was_measured_is_placed(void **state)
{
	static const struct {
		uint8_t vendor;
		enum party detected_by, reported_to;
		const char *step, *cause;
	} cases[] = {
		{ 0x33, PARTY_EITHER, PARTY_EITHER, "local scatter", "region lacks a right" },
		{ 0x52, PARTY_REQUESTER, PARTY_REQUESTER, "local gather", "lkey in the SGE" },
		{ 0x53, PARTY_REQUESTER, PARTY_REQUESTER, "local gather",
		  "longer than its region" },
		{ 0x51, PARTY_REQUESTER, PARTY_REQUESTER, "local gather", "ACS" },
		{ 0x81, PARTY_REQUESTER, PARTY_REQUESTER, "transport", "peer's process ended" },
		{ 0x87, PARTY_RESPONDER, PARTY_REQUESTER, "receive",
		  "receives are posted too late" },
		{ 0x88, PARTY_RESPONDER, PARTY_REQUESTER, "remote", "rkey is not valid" },
		{ 0x89, PARTY_RESPONDER, PARTY_REQUESTER, "remote", "receive WQE" },
		{ 0x8a, PARTY_RESPONDER, PARTY_REQUESTER, "remote",
		  "does not allow remote writes" },
		{ 0xf5, PARTY_EITHER, PARTY_EITHER, "none", "closes its connection" },
		{ 0x10, PARTY_EITHER, PARTY_EITHER, "WQE fetch", "not said" },
		{ 0x2a, PARTY_RESPONDER, PARTY_RESPONDER, "local scatter", "lkey of the receive" },
	};
	struct explanation e;

	for (size_t i = 0; i < COUNT(cases); i++) {
		explain_one(SPACE_VENDOR, cases[i].vendor, &e);
		if (e.detected_by != cases[i].detected_by || e.reported_to != cases[i].reported_to)
			fail_msg("0x%02x: %d, %d", cases[i].vendor, e.detected_by, e.reported_to);
		assert_memory_equal(e.step, cases[i].step, strlen(cases[i].step));
		if (cases[i].vendor != 0x10 && !strstr(e.cause, cases[i].cause))
			fail_msg("0x%02x: %s", cases[i].vendor, e.cause);
	}
}

static void causes_come_in_order(void **state)
{
	struct explanation e;
	struct cause cause;
	unsigned count = 0;

	explain_one(SPACE_VENDOR, BSN_VENDOR_REMOTE_ACCESS_NAK, &e);
	assert_true(explanation_cause(&e, 0, &cause));
	assert_non_null(strstr(e.cause, cause.what));
	while (explanation_cause(&e, count, &cause)) {
		assert_true(strlen(cause.what) && strlen(cause.tell));
		count++;
	}
	assert_int_equal(count, 5);
}

/* -- several numbers --------------------------------------------------------------------------- */

#define SYNDROME(value) [SPACE_SYNDROME] = { true, value }
#define VENDOR(value)   [SPACE_VENDOR] = { true, value }
#define STATUS(value)   [SPACE_STATUS] = { true, value }
#define HARDWARE(value) [SPACE_HARDWARE] = { true, value }

#define OF(...) .error = { .numbers = { __VA_ARGS__ } }

/* What is not in a row is not looked at. */
static const struct {
	const char *name;
	struct error error;
	bool does_not_fit;
	enum party reported_to;
	const char *confidence, *meaning, *note;
} combinations[] = {
	{ "the side decides: of a receive", OF(SYNDROME(BSN_SYNDROME_LOCAL_LENGTH)),
	  .error.side = SIDE_RESPONDER, .reported_to = PARTY_RESPONDER,
	  .meaning = "longer than the receive WQE" },
	{ "the side decides: of a request", OF(SYNDROME(BSN_SYNDROME_LOCAL_LENGTH)),
	  .error.side = SIDE_REQUESTER, .reported_to = PARTY_REQUESTER,
	  .meaning = "longer than may be sent" },
	{ "a vendor syndrome has its syndrome: which is not said", OF(VENDOR(0x88)) },
	{ "a vendor syndrome has its syndrome: the right one",
	  OF(VENDOR(0x88), STATUS(IBV_WC_REM_ACCESS_ERR)), .confidence = "high" },
	{ "a vendor syndrome has its syndrome: another one",
	  OF(VENDOR(0x88), STATUS(IBV_WC_RETRY_EXC_ERR)), .does_not_fit = true, .confidence = "low",
	  .note = "comes with syndrome 0x13, not 0x15" },
	{ "a page fault is sure with its syndrome only: without",
	  OF(VENDOR(BSN_VENDOR_ODP_PAGE_FAULT)), .confidence = "medium" },
	{ "a page fault is sure with its syndrome only: with",
	  OF(VENDOR(BSN_VENDOR_ODP_PAGE_FAULT), SYNDROME(BSN_SYNDROME_REMOTE_ABORTED)),
	  .confidence = "high" },
	{ "an unknown vendor syndrome leaves the class",
	  OF(VENDOR(0x01), SYNDROME(BSN_SYNDROME_RNR_RETRY_EXCEEDED)), .confidence = "medium",
	  .meaning = "no receive WQE" },
	{ "the hardware syndrome tells who found it: the peer", OF(VENDOR(0x88), HARDWARE(0)),
	  .note = "an answer or a timer" },
	{ "the hardware syndrome tells who found it: an engine", OF(VENDOR(0x88), HARDWARE(0x93)),
	  .note = "an engine of this device" },
	{ "rnr timers are told: 0", OF(VENDOR(BSN_VENDOR_RNR_FIRST)), .note = "655.36 ms" },
	{ "rnr timers are told: 1", OF(VENDOR(BSN_VENDOR_RNR_FIRST + 1)), .note = "0.01 ms" },
	{ "rnr timers are told: 12", OF(VENDOR(BSN_VENDOR_RNR_FIRST + 12)), .note = "0.64 ms" },
	{ "rnr timers are told: 31", OF(VENDOR(BSN_VENDOR_RNR_FIRST + 31)), .note = "491.52 ms" },
};

static void numbers_that_come_together(void **state)
{
	struct explanation e;

	for (size_t i = 0; i < COUNT(combinations); i++) {
		const char *confidence = combinations[i].confidence;
		const char *meaning = combinations[i].meaning, *note = combinations[i].note;
		const enum party reported_to = combinations[i].reported_to;

		explain(&combinations[i].error, &e);
		if (error_fits(&combinations[i].error) == combinations[i].does_not_fit ||
		    (confidence && strcmp(e.confidence, confidence)) ||
		    (meaning && !strstr(e.meaning, meaning)) ||
		    (note && (!e.note_count || !strstr(e.notes[0], note))) ||
		    (reported_to && e.reported_to != reported_to))
			fail_msg("%s: %s; %s; %s; reported to %d", combinations[i].name,
				 e.confidence, e.meaning, e.note_count ? e.notes[0] : "no note",
				 e.reported_to);
	}
}

static void the_operation_says_which_right(void **state)
{
	struct record cqe = { .kind = RECORD_ERROR_CQE,
			      .vendor_syndrome = KNOWN(0x88),
			      .opcode = KNOWN(BSN_OPCODE_RDMA_READ) };
	struct error error = error_of_record(&cqe);
	struct explanation e;

	explain(&error, &e);
	assert_int_equal(e.note_count, 1);
	assert_non_null(strstr(e.notes[0], "IBV_ACCESS_REMOTE_READ"));
	cqe.kind = RECORD_STATUS; /* verbs does not give it for a failure */
	error = error_of_record(&cqe);
	explain(&error, &e);
	assert_int_equal(e.note_count, 0);
}

/* -- records ----------------------------------------------------------------------------------- */

static void records_get_cause_confidence_and_side(void **state)
{
	struct record cqe = { .kind = RECORD_ERROR_CQE,
			      .syndrome = KNOWN(0x13),
			      .vendor_syndrome = KNOWN(0x88) };
	struct record status = { .kind = RECORD_STATUS, .status = "remote access error" };
	struct record general = { .kind = RECORD_STATUS, .status = "general error" };
	struct record health = { .kind = RECORD_HEALTH, .syndrome = KNOWN(1) };
	struct record command = { .kind = RECORD_COMMAND };
	struct record wqe = { .kind = RECORD_WQE };
	struct record odd = { .kind = RECORD_STATUS, .vendor_syndrome = KNOWN(0x01) };
	const char *cause;

	record_add_number(&command, "status", BSN_COMMAND_BAD_PARAMETER);
	explain_record(&cqe);
	cause = cqe.explanation->cause;
	assert_non_null(strstr(cause, "rkey"));
	assert_string_equal(cqe.explanation->confidence, "high");
	assert_int_equal(cqe.side, SIDE_REQUESTER);
	explain_record(&status);
	assert_ptr_equal(status.explanation->cause, cause);
	assert_string_equal(status.explanation->confidence, "medium");
	explain_record(&general);
	assert_non_null(strstr(general.explanation->cause, "no verbs status of its own"));
	explain_record(&health);
	assert_non_null(strstr(health.explanation->cause, "firmware"));
	assert_int_equal(health.side, SIDE_UNKNOWN);
	explain_record(&command);
	assert_non_null(strstr(command.explanation->cause, "refused a command"));
	explain_record(&wqe);
	assert_null(wqe.explanation->cause);
	explain_record(&odd);
	assert_non_null(strstr(odd.explanation->cause, "Not mlx5, or not in this table"));
	assert_string_equal(odd.explanation->confidence, "low");
}

static struct record say(enum record_kind kind, const char *status, const char *field, uint64_t n)
{
	struct record record = { .kind = kind };

	record_set_status(&record, status, strlen(status));
	if (field)
		record_add_number(&record, field, n);
	explain_record(&record);
	return record;
}

/* Lines of the driver without a number of a completion, a health buffer or a command. */
static void what_the_driver_says_in_words_has_causes(void **state)
{
	static const struct {
		enum record_kind kind;
		const char *status, *field;
		uint64_t number;
		const char *cause; /* part of it, or NULL */
	} cases[] = {
		{ RECORD_EVENT, "CQ error", "event_syndrome", 1, "CQ was full" },
		{ RECORD_EVENT, "CQ error", "event_syndrome", 2, "own buffer" },
		{ RECORD_EVENT, "CQ error", "event_syndrome", 3, "overran" },
		{ RECORD_EVENT, "CQ error", "cqn", 7, "overran" },
		{ RECORD_STATUS, "TX timeout", "queue", 1, "no completion came" },
		{ RECORD_HEALTH, "health compromised", NULL, 0, "counter has stopped" },
		{ RECORD_HEALTH, "fatal error", "sensor", 1, "over PCIe" },
		{ RECORD_HEALTH, "fatal error", "sensor", 2, "over PCIe" },
		{ RECORD_HEALTH, "fatal error", "sensor", 3, "disabled" },
		{ RECORD_HEALTH, "fatal error", "sensor", 4, "reset by software" },
		{ RECORD_HEALTH, "fatal error", "sensor", 5, "firmware failed" },
		{ RECORD_HEALTH, "fatal error", "sensor", 6, NULL },
		{ RECORD_HEALTH, "registers read as ones", NULL, 0, "over PCIe" },
		{ RECORD_COMMAND, "timeout", NULL, 0, "does not answer" },
		{ RECORD_NOT_MLX5, "CQ error", NULL, 0, NULL },
		{ RECORD_STATUS, "anything", NULL, 0, NULL },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct record record =
			say(cases[i].kind, cases[i].status, cases[i].field, cases[i].number);
		const struct explanation *e = record.explanation;

		if (!cases[i].cause != !e->cause)
			fail_msg("%s %u: %s", cases[i].status, (unsigned)cases[i].number,
				 e->cause ? e->cause : "no cause");
		if (!e->cause)
			continue;
		if (!strstr(e->cause, cases[i].cause))
			fail_msg("%s: %s, not %s", cases[i].status, e->cause, cases[i].cause);
		assert_non_null(strstr(e->cause, "Likeliest:"));
		assert_non_null(e->confidence);
	}
}

/* A ConnectX names no cause of its own for it. */
static void an_atomic_that_is_not_aligned_is_among_the_causes(void **state)
{
	static const uint8_t opcodes[] = { BSN_OPCODE_ATOMIC_CS, BSN_OPCODE_ATOMIC_FA };

	for (size_t i = 0; i < COUNT(opcodes); i++) {
		struct error error = error_of(SPACE_VENDOR, BSN_VENDOR_INVALID_REQUEST_NAK);
		bool is_cause = false;
		struct explanation e;
		struct cause cause;

		error.opcode = KNOWN(opcodes[i]);
		explain(&error, &e);
		for (unsigned nth = 0; explanation_cause(&e, nth, &cause); nth++)
			is_cause |= strstr(cause.what, "no multiple of 8") != NULL;
		assert_true(is_cause);
		assert_int_equal(e.note_count, 1);
		assert_non_null(strstr(e.notes[0], "multiple of 8"));
	}
}

/* A vendor error that no ConnectX gives may be another device's, whose status has other causes. */
static void an_unknown_vendor_error_of_verbs_is_not_explained(void **state)
{
	struct record record = { .kind = RECORD_STATUS, .vendor_syndrome = KNOWN(0x5c) };
	struct record cqe = { .kind = RECORD_ERROR_CQE,
			      .syndrome = KNOWN(BSN_SYNDROME_RETRY_EXCEEDED),
			      .vendor_syndrome = KNOWN(0x5c) };

	status_set(&record, IBV_WC_RETRY_EXC_ERR);
	explain_record(&record);
	assert_non_null(strstr(record.explanation->cause, "Not mlx5, or not in this table"));
	assert_string_equal(record.explanation->confidence, "low");
	assert_int_equal(record.side, SIDE_UNKNOWN);
	explain_record(&cqe);
	assert_non_null(strstr(cqe.explanation->cause, "No acknowledgement"));
}

static void every_asynchronous_event_has_a_meaning(void **state)
{
	static const char *const words[] = {
#define WORDS(NAME, words, side, topic) [IBV_EVENT_##NAME] = words,
		ASYNC_EVENTS(WORDS)
	};

	assert_int_equal(COUNT(words), IBV_EVENT_WQ_FATAL + 1);
	for (int event = 0; event <= IBV_EVENT_WQ_FATAL; event++) {
		const struct record record = say(RECORD_EVENT, words[event], NULL, 0);
		assert_string_equal(words[event], ibv_event_type_str((enum ibv_event_type)event));
		if (!record.explanation->cause)
			fail_msg("%s has no meaning", words[event]);
	}
}

UNIT_MAIN(NULL, UNIT(every_vendor_syndrome_is_explained), UNIT(every_syndrome_is_explained),
	  UNIT(a_syndrome_is_told_by_its_status_too), UNIT(every_health_syndrome_is_explained),
	  UNIT(every_command_status_is_explained), UNIT(every_verbs_status_is_explained),
	  UNIT(what_was_measured_is_placed), UNIT(causes_come_in_order),
	  UNIT(numbers_that_come_together), UNIT(the_operation_says_which_right),
	  UNIT(records_get_cause_confidence_and_side),
	  UNIT(what_the_driver_says_in_words_has_causes),
	  UNIT(an_atomic_that_is_not_aligned_is_among_the_causes),
	  UNIT(an_unknown_vendor_error_of_verbs_is_not_explained),
	  UNIT(every_asynchronous_event_has_a_meaning))
