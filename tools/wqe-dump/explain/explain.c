/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain.h"

#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>

/* -- topics.h as data -------------------------------------------------------------------------- */

#define ENUM_STEP(NAME, text) STEP_##NAME,
enum step { STEPS(ENUM_STEP) };

#define ENUM_BASIS(NAME, text) BASIS_##NAME,
enum basis { BASES(ENUM_BASIS) };

#define NAME_OF(NAME, text) text,
const char *const party_names[] = { PARTIES(NAME_OF) };
static const char *const step_names[] = { STEPS(NAME_OF) };
static const char *const basis_names[] = { BASES(NAME_OF) };
const char *const space_names[] = { ERROR_SPACES(NAME_OF) };

static const struct topic_row {
	enum party detected_by, reported_to;
	enum step step;
	enum basis basis;
	const char *meaning, *attempt, *source;
} topics[] = {
#define TOPIC_ROW(NAME, detected, reported, step, basis, meaning, attempt, source)                 \
	{                                                                                          \
		PARTY_##detected, PARTY_##reported, STEP_##step, BASIS_##basis,                    \
		meaning,          attempt,          source                                         \
	},
	TOPICS(TOPIC_ROW)
};

static const struct {
	enum topic topic;
	struct cause cause;
} causes[] = {
#define CAUSE_ROW(topic, what, tell) { TOPIC_##topic, { what, tell } },
	CAUSES(CAUSE_ROW)
};

static const struct {
	uint8_t first;
	enum party detected_by, reported_to;
	enum step step;
} tpt_bases[] = {
#define TPT_BASE(NAME, detected, reported, step, syndrome, pd, rights, length)                     \
	{ BSN_VENDOR_##NAME, PARTY_##detected, PARTY_##reported, STEP_##step },
	TPT_TOPICS(TPT_BASE)
};

#define CODE(prefix, NAME, topic) [prefix##NAME] = { true, TOPIC_##topic, BSN_SYNDROME_ANY },
#define HEALTH_CODE(NAME, topic)  CODE(BSN_HEALTH_, NAME, topic)
#define COMMAND_CODE(NAME, topic) CODE(BSN_COMMAND_, NAME, topic)
static const struct code health_codes[256] = { HEALTH_TOPICS(HEALTH_CODE) };
static const struct code command_codes[256] = { COMMAND_TOPICS(COMMAND_CODE) };

/* The value of SPACE_EVENT is an index. */
static const struct driver_event {
	const char *status, *field;
	uint64_t number;
	uint8_t topic;
	const char *source;
} driver_events[] = {
#define DRIVER_EVENT(status, field, number, topic, source)                                         \
	{ status, field, number, TOPIC_##topic, source },
#define ASYNC_EVENT(NAME, words, side, topic)                                                      \
	{ words, NULL, 0, TOPIC_##topic, "ibv_get_async_event(3)" },
	DRIVER_EVENTS(DRIVER_EVENT) ASYNC_EVENTS(ASYNC_EVENT)
};

/* -- what one number means --------------------------------------------------------------------- */

static const struct bsn_enum *find_list(const char *name)
{
	size_t i = 0;

	while (strcmp(bsn_enums[i]->name, name))
		i++;
	return bsn_enums[i];
}

static const struct bsn_enum_value *find_value(const char *list, uint32_t value)
{
	return bsn_enum_find(find_list(list), value);
}

const struct bsn_enum *space_list(enum error_space space)
{
	static const char *const lists[SPACE_COUNT] = { [SPACE_SYNDROME] = "syndrome",
							[SPACE_VENDOR] = "vendor_syndrome",
							[SPACE_HEALTH] = "health_syndrome",
							[SPACE_COMMAND] = "command_status" };

	return lists[space] ? find_list(lists[space]) : NULL;
}

struct meaning meaning_of(enum error_space space, uint32_t value)
{
	struct meaning meaning = { .space = space, .value = value };

	if (space == SPACE_VENDOR) {
		struct bsn_vendor_meaning known;
		bsn_vendor_explain(value, &known);
		meaning.name = known.name;
		meaning.doc = known.doc;
		meaning.detail = known.detail;
	} else if (space == SPACE_STATUS) {
		meaning.name = bsn_status_name(value);
		if (meaning.name)
			meaning.doc = ibv_wc_status_str((enum ibv_wc_status)value);
	} else if (space_list(space)) {
		const struct bsn_enum_value *found = bsn_enum_find(space_list(space), value);
		meaning.name = found ? found->name : NULL;
		meaning.doc = found ? found->doc : NULL;
	}
	return meaning;
}

/* -- which topic it is ------------------------------------------------------------------------- */

static const struct number *known(const struct error *error, enum error_space space)
{
	return error->numbers[space].is_known ? &error->numbers[space] : NULL;
}

int error_syndrome(const struct error *error)
{
	const struct number *status = known(error, SPACE_STATUS);

	if (known(error, SPACE_SYNDROME))
		return (int)error->numbers[SPACE_SYNDROME].value;
	if (status && bsn_syndrome_of_status(status->value))
		return bsn_syndrome_of_status(status->value);
	return -1;
}

static struct code lookup(const struct code codes[256], const struct number *number)
{
	return number && number->value < 256 ? codes[number->value] : (struct code){ 0 };
}

/* Whether mlx5 has no such vendor syndrome, and nothing else shows that it is mlx5. */
static bool is_foreign(const struct error *error)
{
	const struct number *vendor = known(error, SPACE_VENDOR);

	return vendor && !bsn_cause_of_vendor(vendor->value).is_known &&
	       (error->is_verbs || !known(error, SPACE_SYNDROME));
}

/* The code of the most precise number whose meaning is known. */
static struct code code_of(const struct error *error)
{
	const int syndrome = error_syndrome(error);
	const struct number *status = known(error, SPACE_STATUS);
	struct code code = { 0 };

	if (known(error, SPACE_VENDOR))
		code = bsn_cause_of_vendor(error->numbers[SPACE_VENDOR].value);
	if (is_foreign(error))
		return (struct code){ .topic = TOPIC_UNKNOWN };
	if ((!code.is_known || code.topic == TOPIC_NOTHING) && syndrome >= 0)
		code = bsn_cause_of_syndrome((uint32_t)syndrome);
	if (!code.is_known && status)
		code = bsn_cause_of_status(status->value);
	if (!code.is_known)
		code = lookup(health_codes, known(error, SPACE_HEALTH));
	if (!code.is_known)
		code = lookup(command_codes, known(error, SPACE_COMMAND));
	if (!code.is_known && known(error, SPACE_EVENT))
		code.topic = driver_events[error->numbers[SPACE_EVENT].value].topic;
	else if (!code.is_known)
		code.topic = TOPIC_UNKNOWN;
	code.topic = (uint8_t)bsn_cause_at(code.topic, (enum cause_side)error->side);
	return code;
}

/* The syndrome that the vendor syndrome is known to come with. */
static int syndrome_of_vendor(const struct error *error)
{
	const struct number *vendor = known(error, SPACE_VENDOR);
	const struct code code = bsn_cause_of_vendor(vendor ? vendor->value : 0);

	return vendor && code.is_known ? code.syndrome : BSN_SYNDROME_ANY;
}

bool error_fits(const struct error *error)
{
	const int known = syndrome_of_vendor(error), syndrome = error_syndrome(error);

	return known < 0 || syndrome < 0 || known == syndrome;
}

/* -- how sure it is ---------------------------------------------------------------------------- */

static const char *confidence_of(const struct error *error, const struct topic_row *topic,
				 enum bsn_source source)
{
	if (!error_fits(error) || topic == &topics[TOPIC_UNKNOWN])
		return "low";
	if (source == BSN_SOURCE_MEASURED)
		return "high";
	if (source == BSN_SOURCE_RDMA_CORE)
		return error_syndrome(error) == BSN_SYNDROME_REMOTE_ABORTED ? "high" : "medium";
	if (topic->basis == BASIS_INFERRED)
		return "low";
	return source == BSN_SOURCE_LIBDPCP && topic->basis == BASIS_FOUND ? "high" : "medium";
}

static const char *source_of_syndrome(int syndrome)
{
	if (bsn_status_of_syndrome((uint32_t)syndrome) != BSN_STATUS_GENERAL_ERR)
		return "rdma-core mlx5dv.h MLX5_CQE_SYNDROME_*";
	return find_value("source", BSN_SOURCE_LIBDPCP)->doc;
}

static void add_sources(struct explanation *e, const struct error *error,
			const struct topic_row *topic)
{
	struct bsn_vendor_meaning vendor = { 0 };

	if (known(error, SPACE_VENDOR))
		bsn_vendor_explain(error->numbers[SPACE_VENDOR].value, &vendor);
	e->measured = vendor.measured;
	if (vendor.source != BSN_SOURCE_UNKNOWN)
		e->meaning_source = find_value("source", vendor.source)->doc;
	else if (error_syndrome(error) >= 0)
		e->meaning_source = source_of_syndrome(error_syndrome(error));
	else if (known(error, SPACE_HEALTH))
		e->meaning_source = "Linux mlx5_ifc.h MLX5_INITIAL_SEG_HEALTH_SYNDROME_*";
	else if (known(error, SPACE_COMMAND))
		e->meaning_source = "Linux device.h MLX5_CMD_STAT_*";
	else if (known(error, SPACE_EVENT))
		e->meaning_source = driver_events[error->numbers[SPACE_EVENT].value].source;
	else
		e->meaning_source = known(error, SPACE_STATUS)
					    ? "ibv_wc_status_str(3)"
					    : find_value("source", BSN_SOURCE_UNKNOWN)->doc;
	e->cause_basis = basis_names[topic->basis];
	e->cause_source = topic->source;
	e->confidence = confidence_of(error, topic, vendor.source);
}

/* -- what else the numbers tell ---------------------------------------------------------------- */

#define NOTE(e, ...)                                                                               \
	do {                                                                                       \
		if ((e)->note_count < EXPLANATION_NOTES)                                           \
			snprintf((e)->notes[(e)->note_count++], EXPLANATION_NOTE_BYTES,            \
				 __VA_ARGS__);                                                     \
	} while (0)

static void note_vendor(struct explanation *e, const struct error *error)
{
	static const uint32_t rnr_timers_10us[] = { BSN_RNR_TIMERS_10US };
	const uint32_t vendor = error->numbers[SPACE_VENDOR].value;
	const struct code code = bsn_cause_of_vendor(vendor);

	if (vendor >= BSN_VENDOR_RNR_FIRST && vendor <= BSN_VENDOR_RNR_LAST)
		NOTE(e, "the RNR timer code is %u: the requester was to wait %.2f ms", vendor & 31,
		     rnr_timers_10us[vendor & 31] / 100.0);
	if (!error_fits(error))
		NOTE(e,
		     "vendor syndrome 0x%02x comes with syndrome 0x%02x, not 0x%02x: was a number "
		     "printed in another base, or taken from another line?",
		     vendor, (unsigned)code.syndrome, (unsigned)error_syndrome(error));
	if (!code.is_known && vendor > UINT8_MAX)
		NOTE(e,
		     "a vendor syndrome has 8 bits; this is another device's, or another number");
}

static void add_notes(struct explanation *e, const struct error *error)
{
	const struct number *command = known(error, SPACE_COMMAND);
	const struct number *hardware = known(error, SPACE_HARDWARE);
	const char *note =
		error->opcode.is_known ? bsn_cause_note(e->topic, error->opcode.value) : NULL;

	if (known(error, SPACE_VENDOR))
		note_vendor(e, error);
	if (note)
		NOTE(e, "%s", note);
	if (hardware && !hardware->value)
		NOTE(e, "hardware syndrome 0, usual when an answer or a timer tells of the error");
	if (hardware && hardware->value) /* no public source says which engine has which number */
		NOTE(e, "hardware syndrome 0x%02x: an engine of this device found it",
		     hardware->value);
	if (known(error, SPACE_STATUS))
		NOTE(e, "opcode and byte_len of a failed ibv_wc are undefined: do not trust them");
	if (command && command->value > UINT8_MAX)
		NOTE(e, "a 32-bit syndrome of a command is the firmware's own, and not public");
}

/* -- all of it --------------------------------------------------------------------------------- */

bool explanation_cause(const struct explanation *explanation, unsigned nth, struct cause *cause)
{
	for (size_t i = 0; i < COUNT(causes); i++)
		if (causes[i].topic == explanation->topic && !nth--) {
			*cause = causes[i].cause;
			return true;
		}
	return false;
}

/* Returns the text of a topic. It is made once, since records point to it. */
static const char *cause_text(struct explanation *e)
{
	static char texts[TOPIC_COUNT][512];
	char *text = texts[e->topic];
	const char *likeliest = bsn_cause_likeliest(e->topic);

	if (!*text && likeliest)
		snprintf(text, sizeof(texts[0]), "%s Likeliest: %s.", e->meaning, likeliest);
	return *text ? text : e->meaning;
}

/* If either side may detect it, the side of the completion did. */
static void add_place(struct explanation *e, const struct error *error, enum step step)
{
	const struct number *vendor = known(error, SPACE_VENDOR);

	for (size_t i = 0; vendor && i < COUNT(tpt_bases); i++)
		if (vendor->value - tpt_bases[i].first < 8) {
			e->detected_by = tpt_bases[i].detected_by;
			e->reported_to = tpt_bases[i].reported_to;
			step = tpt_bases[i].step;
		}
	if (error->side != SIDE_UNKNOWN) {
		const enum party side =
			error->side == SIDE_REQUESTER ? PARTY_REQUESTER : PARTY_RESPONDER;
		if (e->detected_by == PARTY_EITHER || e->detected_by == e->reported_to)
			e->detected_by = side;
		e->reported_to = side;
	}
	e->step = step_names[step];
}

/* A syndrome is also shown as its verbs status, which people know. */
static void add_meanings(struct explanation *e, const struct error *error)
{
	const struct number *syndrome = known(error, SPACE_SYNDROME);

	if (syndrome && bsn_status_of_syndrome(syndrome->value) != BSN_STATUS_GENERAL_ERR)
		e->meanings[e->meaning_count++] =
			meaning_of(SPACE_STATUS, bsn_status_of_syndrome(syndrome->value));
	for (unsigned space = e->meaning_count ? SPACE_SYNDROME : SPACE_STATUS; space < SPACE_COUNT;
	     space++)
		if (error->numbers[space].is_known && space != SPACE_HARDWARE &&
		    space != SPACE_EVENT)
			e->meanings[e->meaning_count++] =
				meaning_of((enum error_space)space, error->numbers[space].value);
}

void explain(const struct error *error, struct explanation *explanation)
{
	const struct code code = code_of(error);
	const struct topic_row *topic = &topics[code.topic];
	struct explanation *e = explanation;

	*e = (struct explanation){ .topic = code.topic,
				   .detected_by = topic->detected_by,
				   .reported_to = topic->reported_to,
				   .meaning = topic->meaning,
				   .attempt = topic->attempt };
	add_meanings(e, error);
	if (code.topic != TOPIC_UNKNOWN || is_foreign(error))
		e->cause = cause_text(e);
	add_place(e, error, topic->step);
	add_sources(e, error, topic);
	add_notes(e, error);
}

/* -- the last ones ----------------------------------------------------------------------------- */

#define KEPT 64

bool error_is_same(const struct error *a, const struct error *b)
{
	for (unsigned i = 0; i < SPACE_COUNT; i++)
		if (a->numbers[i].is_known != b->numbers[i].is_known ||
		    a->numbers[i].value != b->numbers[i].value)
			return false;
	return a->side == b->side && a->is_verbs == b->is_verbs &&
	       a->opcode.is_known == b->opcode.is_known && a->opcode.value == b->opcode.value;
}

static unsigned place_of(const struct error *error)
{
	unsigned hash = 3 * error->side + error->opcode.value;

	for (unsigned i = 0; i < SPACE_COUNT; i++)
		hash = 31 * hash + error->numbers[i].value;
	return hash % KEPT;
}

const struct explanation *explanation_of(const struct error *error)
{
	static struct {
		struct error error;
		struct explanation explanation; /* without a meaning: not filled yet */
	} kept[KEPT], *place;

	place = &kept[place_of(error)];
	if (!place->explanation.meaning || !error_is_same(&place->error, error)) {
		place->error = *error;
		explain(error, &place->explanation);
	}
	return &place->explanation;
}

/* -- records ----------------------------------------------------------------------------------- */

static bool is_event(const struct record *record, const struct driver_event *event)
{
	const struct record_field *field;

	if (strcmp(record->status, event->status) != 0)
		return false;
	field = event->field ? record_field(record, event->field) : NULL;
	return field ? field->value == event->number : !event->field;
}

static struct number event_of(const struct record *record)
{
	for (size_t i = 0; i < COUNT(driver_events); i++)
		if (is_event(record, &driver_events[i]))
			return KNOWN(i);
	return (struct number){ 0 };
}

struct error error_of_record(const struct record *record)
{
	const struct record_field *status = record_field(record, "status");
	struct error error = { .side = record->side };

	if (!record->syndrome.is_known && *record->status && record->kind != RECORD_NOT_MLX5)
		error.numbers[SPACE_EVENT] = event_of(record);
	if (record->kind == RECORD_HEALTH) {
		error.numbers[SPACE_HEALTH] = record->syndrome;
	} else if (record->kind == RECORD_COMMAND && status) {
		error.numbers[SPACE_COMMAND] = KNOWN(status->value);
	} else if (record->kind == RECORD_ERROR_CQE || record->kind == RECORD_STATUS ||
		   record->kind == RECORD_EVENT) {
		error.is_verbs = record->kind == RECORD_STATUS && *record->status;
		error.numbers[SPACE_SYNDROME] = record->syndrome;
		error.numbers[SPACE_VENDOR] = record->vendor_syndrome;
		error.numbers[SPACE_HARDWARE] = record->hw_syndrome;
		if (!record->syndrome.is_known && record->kind != RECORD_EVENT)
			error.numbers[SPACE_STATUS] = status_in(record->status);
	}
	if (record->kind == RECORD_ERROR_CQE) /* in a failed ibv_wc it is undefined */
		error.opcode = record->opcode;
	return error;
}

bool record_suits_vendor(const struct record *record, uint64_t vendor)
{
	struct error error = error_of_record(record);

	error.numbers[SPACE_VENDOR] = KNOWN(vendor);
	return vendor <= UINT8_MAX && syndrome_of_vendor(&error) >= 0 &&
	       syndrome_of_vendor(&error) == error_syndrome(&error);
}

void explain_record(struct record *record)
{
	struct error error = error_of_record(record);
	const struct explanation *e = explanation_of(&error);

	if (e->cause && error.side == SIDE_UNKNOWN && e->reported_to == PARTY_REQUESTER)
		error.side = SIDE_REQUESTER;
	if (e->cause && error.side == SIDE_UNKNOWN && e->reported_to == PARTY_RESPONDER)
		error.side = SIDE_RESPONDER;
	record->side = error.side;
	record->explanation = explanation_of(&error);
}
