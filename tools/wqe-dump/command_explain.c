/* SPDX-License-Identifier: BSD-2-Clause */
/* wqe-dump explain: what an error means, without a dump. */
#include <json-c/json.h>
#include <popt.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "print/print.h"

static struct {
	char *side;
	int decimal, hex, json;
} options;

static const struct poptOption option_table[] = {
	{ "decimal", 'd', POPT_ARG_NONE, &options.decimal, 0, "numbers without 0x are decimal",
	  NULL },
	{ "hex", 'x', POPT_ARG_NONE, &options.hex, 0, "numbers without 0x are hexadecimal", NULL },
	{ "side", 's', POPT_ARG_STRING, &options.side, 0, "whose completion it is",
	  "requester|responder" },
	{ "json", 'j', POPT_ARG_NONE, &options.json, 0, "print JSON", NULL },
	POPT_AUTOHELP POPT_TABLEEND
};

static int read_side(enum record_side *side)
{
	*side = SIDE_UNKNOWN;
	if (!options.side)
		return 0;
	for (*side = SIDE_REQUESTER; *side <= SIDE_RESPONDER; (*side)++)
		if (!strcmp(options.side, record_side_names[*side]))
			return 0;
	return complain("wqe-dump explain: --side %s is neither requester nor responder",
			options.side);
}

static void tell_text(const struct readings *readings)
{
	if (readings->count > 1)
		printf("This can be read in %u ways; 0x, --decimal, or words such as \"vendor\" "
		       "and \"status\" say which.\n\n",
		       readings->count);
	for (unsigned i = 0; i < readings->count; i++) {
		if (i)
			putchar('\n');
		print_explanation(stdout, explanation_of(&readings->error[i]), 0);
	}
}

static struct number byte_of(const struct error *error, enum error_space space)
{
	const struct number *number = &error->numbers[space];

	return number->value <= UINT8_MAX ? *number : (struct number){ 0 };
}

/* Makes the record that a line of a log would have given. */
static void make_record(const struct error *error, struct record *record)
{
	const struct number *health = &error->numbers[SPACE_HEALTH];
	const struct number *command = &error->numbers[SPACE_COMMAND];
	const struct number *status = &error->numbers[SPACE_STATUS];
	const int syndrome = error_syndrome(error);

	*record = (struct record){ .kind = health->is_known    ? RECORD_HEALTH
					   : command->is_known ? RECORD_COMMAND
							       : RECORD_STATUS,
				   .file = "arguments",
				   .source = "explain",
				   .side = error->side,
				   .syndrome = *health,
				   .vendor_syndrome = byte_of(error, SPACE_VENDOR),
				   .hw_syndrome = byte_of(error, SPACE_HARDWARE) };
	if (syndrome >= 0)
		record->syndrome = KNOWN(syndrome);
	if (command->is_known)
		record_add_number(record, "status", command->value);
	if (status->is_known) {
		const char *text = meaning_of(SPACE_STATUS, status->value).doc;
		record_set_status(record, text ? text : "", text ? strlen(text) : 0);
	}
	explain_record(record);
}

static void tell_json(const struct readings *readings)
{
	static struct record record; /* too large for a stack */
	struct json_object *report = json_object_new_object();
	struct json_object *records = json_object_new_array();

	for (unsigned i = 0; i < readings->count; i++) {
		struct json_object *object;
		make_record(&readings->error[i], &record);
		object = record_json(&record);
		json_object_object_add(object, "explanation",
				       explanation_json(explanation_of(&readings->error[i])));
		json_object_array_add(records, object);
	}
	json_object_object_add(report, "records", records);
	json_object_object_add(report, "unread", json_object_new_array());
	puts(json_object_to_json_string_ext(report, JSON_C_TO_STRING_PRETTY |
							    JSON_C_TO_STRING_SPACED |
							    JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(report);
}

static int print_readings(struct readings *readings, enum record_side side)
{
	if (!readings->count) {
		complain("wqe-dump explain: no error has this name, or its numbers contradict each "
			 "other; give numbers, or names of syndromes and of verbs statuses; "
			 "wqe-dump itself reads the lines of a log");
		return WQE_DUMP_NOTHING;
	}
	for (unsigned i = 0; i < readings->count; i++)
		readings->error[i].side = side;
	(options.json ? tell_json : tell_text)(readings);
	return WQE_DUMP_FOUND;
}

static int answer(const char **words)
{
	const enum number_base base = options.hex       ? BASE_HEX
				      : options.decimal ? BASE_DECIMAL
							: BASE_OPEN;
	struct readings readings;
	enum record_side side;
	unsigned count = 0;

	while (words && words[count])
		count++;
	if (!count)
		return complain("wqe-dump explain: say what: a number, words, or both, as in: "
				"explain 0x81");
	if (options.decimal && options.hex)
		return complain("wqe-dump explain: --decimal and --hex exclude each other");
	if (read_side(&side))
		return WQE_DUMP_FAILED;
	question_read(words, count, base, &readings);
	return print_readings(&readings, side);
}

const struct command command_explain = {
	.name = "wqe-dump explain",
	.usage = "[OPTION...] NUMBER|WORD...",
	.options = option_table,
	.run = answer,
};
