/* SPDX-License-Identifier: BSD-2-Clause */
/* Which question a line asks: numbers, names and places, and what is no question. */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "wqe-dump/explain/explain.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* -- questions --------------------------------------------------------------------------------- */

/*
 * The question, the base of its digits, and each reading: "st", "sy", "ve", "he", "co" and a
 * number.
 */
static const struct {
	const char *question;
	enum number_base base;
	const char *readings;
} questions[] = {
	{ "0x81", BASE_OPEN, "ve81" },
	{ "129", BASE_DECIMAL, "ve81" },
	{ "129", BASE_OPEN, "ve81" },
	{ "81", BASE_OPEN, "ve81 | ve51" },
	{ "81", BASE_DECIMAL, "ve51" },
	{ "81", BASE_HEX, "ve81" },
	{ "F9", BASE_OPEN, "vef9" },
	{ "f9", BASE_DECIMAL, "vef9" },
	{ "0x1ff", BASE_OPEN, "ve1ff" },
	{ "12", BASE_OPEN, "stc | sy12 | ve12" },
	{ "0x15", BASE_OPEN, "sy15 | ve15" },
	{ "local protection 0x52", BASE_OPEN, "sy4 ve52" },
	{ "0x52 local protection error", BASE_OPEN, "sy4 ve52" },
	{ "IBV_WC_REM_ACCESS_ERR 136", BASE_OPEN, "sy13 ve88" },
	{ "4 52", BASE_OPEN, "st4 ve52 | st4 ve34" },
	{ "12 129", BASE_OPEN, "stc ve81" },
	{ "status 4 vendor err 81", BASE_OPEN, "st4 ve51" },
	{ "status=12 vendor err 81", BASE_OPEN, "stc ve81" },
	{ "synd 0x13 vend 0x88 hw_synd 0/0", BASE_OPEN, "sy13 ve88 hw0" },
	{ "ibv_wc_status 12, vendor_err 0x81, byte_len 7", BASE_OPEN, "stc ve81" },
	{ "syndrome=0x13, vendor_err_synd=0x88, hw_err_synd=0", BASE_OPEN, "sy13 ve88 hw0" },
	{ "the local bus was late", BASE_OPEN, "" },
	{ "status 10 syndrome 0x13 vendor 0x88", BASE_OPEN, "sta sy13 ve88" },
	{ "status 12 syndrome 0x13", BASE_OPEN, "" },
	{ "syndrome 0x5, vendor syndrome 0xf9", BASE_OPEN, "sy5 vef9" },
	{ "Failed status 4: wr_id 0 syndrom 0x51", BASE_OPEN, "st4 ve51" },
	{ "peer 10.1.2.3<40000> with error 12, opcode 0, len 0, vendor err 129", BASE_OPEN,
	  "stc ve81" },
	{ "transport retry counter exceeded", BASE_OPEN, "sy15" },
	{ "Transport retry count exceeded", BASE_OPEN, "sy15" },
	{ "RNR retry counter exceeded", BASE_OPEN, "sy16" },
	{ "rnr 0x87", BASE_OPEN, "sy16 ve87" },
	{ "Work Request Flushed Error", BASE_OPEN, "sy5" },
	{ "memory management operation error", BASE_OPEN, "sy6" },
	{ "general error", BASE_OPEN, "st15" },
	{ "page fault", BASE_OPEN, "ve93" },
	{ "dc_cnak 0xf2", BASE_OPEN, "vef2" },
	{ "health 8", BASE_OPEN, "he8" },
	{ "health syndrome 0x10", BASE_OPEN, "he10" },
	{ "health temperature", BASE_OPEN, "he10" },
	{ "command status 3 syndrome 0x4bb88f", BASE_OPEN, "co3" },
	{ "limits exceeded", BASE_OPEN, "co8" },
	{ "bad parameter", BASE_OPEN, "co3" },
	{ "health temp", BASE_OPEN, "he10" },
	{ "retry exceeded", BASE_OPEN, "sy15" },
	{ "IBV_WC_RETRY_EXC_ERR", BASE_OPEN, "sy15" },
	{ "Receiver not ready", BASE_OPEN, "sy16" },
	{ "memory window", BASE_OPEN, "sy6" },
	{ "invalid rkey", BASE_OPEN, "sy13" },
	{ "bad lkey", BASE_OPEN, "sy4" },
	{ "bad wqe", BASE_OPEN, "ve68" },
	{ "wqe", BASE_OPEN, "ve68" },
	{ "cq overrun", BASE_OPEN, "ve41" },
	{ "odp", BASE_OPEN, "ve93" },
	{ "flush", BASE_OPEN, "sy5" },
	{ "what is 249", BASE_OPEN, "vef9" },
	{ "remot acess", BASE_OPEN, "sy13" },
	{ "FLSUH", BASE_OPEN, "sy5" },
	{ "local lenght", BASE_OPEN, "sy1" },
	{ "Remote access error on mlx5_2:1/RoCE (synd 0x13 vend 0x88 hw_synd 0/0)", BASE_OPEN,
	  "sy13 ve88 hw0" },
	{ "status is 12", BASE_OPEN, "stc" },
	{ "poll_cq failed with status 12 on port 1", BASE_OPEN, "stc" },
	{ "command CREATE_QP failed, status bad parameter(0x3), syndrome (0x1b8a1d)", BASE_OPEN,
	  "co3" },
	{ "error 0x81", BASE_OPEN, "ve81" },
	{ "error 129", BASE_OPEN, "ve81" },
	{ "syndrome 0x88", BASE_OPEN, "ve88" },
	{ "status 99999", BASE_OPEN, "st1869f" },
	{ "hws: 0 ves: 81, syn: 15", BASE_HEX, "sy15 ve81 hw0" },
	{ "SRQ limit", BASE_OPEN, "" },
	{ "peer dead", BASE_OPEN, "" },
	{ "qp", BASE_OPEN, "" },
	{ "zzz", BASE_OPEN, "" },
	{ "ibv_wc err", BASE_OPEN, "" },
	{ "the", BASE_OPEN, "" },
	{ "error", BASE_OPEN, "" },
	{ "", BASE_OPEN, "" },
};

static void tell_readings(const struct readings *readings, char *text, size_t size)
{
	static const char *const keys[] = { "st", "sy", "ve", "hw", "he", "co" };
	size_t at = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < readings->count; i++) {
		const struct error *error = &readings->error[i];
		if (i)
			at += (size_t)snprintf(text + at, size - at, " |");
		for (unsigned space = 0; space < SPACE_COUNT; space++)
			if (error->numbers[space].is_known)
				at += (size_t)snprintf(text + at, size - at, "%s%s%x",
						       at ? " " : "", keys[space],
						       error->numbers[space].value);
	}
}

static void questions_are_read(void **state)
{
	struct readings readings;
	char text[256];

	for (size_t i = 0; i < COUNT(questions); i++) {
		question_read(&questions[i].question, 1, questions[i].base, &readings);
		tell_readings(&readings, text, sizeof(text));
		if (strcmp(text, questions[i].readings))
			fail_msg("\"%s\": %s, not %s", questions[i].question, text,
				 questions[i].readings);
	}
}

/* Words, numbers and letters in any order, up to what an argument may have. */
static void no_question_does_harm(void **state)
{
	static const char *const pieces[] = { "0x",    "81",      "ff",     "vendor ", "status ",
					      "synd ", " ",       "remote", "health",  "command",
					      ",",     "=",       "_",      "1234",    "access",
					      "e",     "opcode ", "rnr" };
	static char text[4096];
	const char *words[] = { text, "0x81", text };
	struct readings readings;
	struct explanation e;
	uint32_t random = 1;

	for (unsigned turn = 0; turn < 3000; turn++) {
		const size_t limit = turn % 100 ? 64 : sizeof(text) - 16;
		size_t at = 0;
		while (at < limit) {
			random = random * 1664525 + 1013904223;
			at += (size_t)sprintf(text + at, "%s",
					      pieces[(random >> 16) % COUNT(pieces)]);
			if (random >> 28 == 0)
				break;
		}
		question_read(words, 1 + turn % 3, (enum number_base)(turn % 3), &readings);
		assert_true(readings.count <= READINGS_MAX);
		for (unsigned i = 0; i < readings.count; i++)
			explain(&readings.error[i], &e);
	}
}

UNIT_MAIN(NULL, UNIT(questions_are_read), UNIT(no_question_does_harm))
