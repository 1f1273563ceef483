/* SPDX-License-Identifier: BSD-2-Clause */
/* Which topic of causes.h a number belongs to. */
#include "causes.h"

#include "bsn_types.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct code vendor_codes[256] = {
#define VENDOR_CODE(NAME, topic, syndrome)                                                         \
	[BSN_VENDOR_##NAME] = { true, TOPIC_##topic, BSN_SYNDROME_##syndrome },
	VENDOR_TOPICS(VENDOR_CODE)
};

static const struct tpt_base {
	uint8_t first;
	int16_t syndrome;
	uint8_t topics[3]; /* for the details PD, RIGHTS, LENGTH */
} tpt_bases[] = {
#define TPT_BASE(NAME, detected, reported, step, syndrome, pd, rights, length)                     \
	{ BSN_VENDOR_##NAME,                                                                       \
	  BSN_SYNDROME_##syndrome,                                                                 \
	  { TOPIC_##pd, TOPIC_##rights, TOPIC_##length } },
	TPT_TOPICS(TPT_BASE)
};

static const uint8_t detail_topics[8] = {
#define DETAIL_TOPIC(NAME, topic) [BSN_TPT_##NAME] = TOPIC_##topic,
	DETAIL_TOPICS(DETAIL_TOPIC)
};

#define CODE(prefix, NAME, topic)  [prefix##NAME] = { true, TOPIC_##topic, BSN_SYNDROME_ANY },
#define SYNDROME_CODE(NAME, topic) CODE(BSN_SYNDROME_, NAME, topic)
#define STATUS_CODE(NAME, topic)   CODE(BSN_STATUS_, NAME, topic)
static const struct code syndrome_codes[256] = { SYNDROME_TOPICS(SYNDROME_CODE) };
static const struct code status_codes[256] = { STATUS_TOPICS(STATUS_CODE) };

static const struct {
	enum topic topic;
	enum cause_side side;
	enum topic instead;
} side_topics[] = {
#define SIDE_TOPIC(topic, side, instead) { TOPIC_##topic, SIDE_OF_##side, TOPIC_##instead },
	SIDE_TOPICS(SIDE_TOPIC)
};

static const char *const meanings[] = {
#define MEANING(NAME, detected, reported, step, basis, meaning, attempt, source) meaning,
	TOPICS(MEANING)
};

static const struct {
	enum topic topic;
	const char *what;
} causes[] = {
#define CAUSE(topic, what, tell) { TOPIC_##topic, what },
	CAUSES(CAUSE)
};

static struct code lookup(const struct code codes[256], uint32_t number)
{
	return number < 256 ? codes[number] : (struct code){ 0 };
}

static struct code code_of_key_check(const struct tpt_base *base, uint32_t detail)
{
	const uint32_t nth = detail - BSN_TPT_PD;
	const uint8_t topic = nth < COUNT(base->topics) ? base->topics[nth] : detail_topics[detail];

	return (struct code){ true, topic, base->syndrome };
}

struct code bsn_cause_of_vendor(uint32_t vendor)
{
	for (size_t i = 0; i < COUNT(tpt_bases); i++)
		if (vendor - tpt_bases[i].first < 8)
			return code_of_key_check(&tpt_bases[i], vendor & 7);
	if (vendor >= BSN_VENDOR_RNR_FIRST && vendor <= BSN_VENDOR_RNR_LAST)
		return (struct code){ true, TOPIC_NO_RECEIVE, BSN_SYNDROME_RNR_RETRY_EXCEEDED };
	return lookup(vendor_codes, vendor);
}

struct code bsn_cause_of_syndrome(uint32_t syndrome)
{
	return lookup(syndrome_codes, syndrome);
}

struct code bsn_cause_of_status(uint32_t status)
{
	return lookup(status_codes, status);
}

enum topic bsn_cause_at(enum topic topic, enum cause_side side)
{
	for (size_t i = 0; i < COUNT(side_topics); i++)
		if (side_topics[i].topic == topic && side_topics[i].side == side)
			return side_topics[i].instead;
	return topic;
}

const char *bsn_cause_meaning(enum topic topic)
{
	return meanings[topic];
}

const char *bsn_cause_note(enum topic topic, uint64_t opcode)
{
	static const struct {
		enum topic topic;
		enum bsn_wqe_opcode opcode;
		const char *text;
	} notes[] = {
#define OPCODE_NOTE(topic, opcode, text) { TOPIC_##topic, BSN_OPCODE_##opcode, text },
		OPCODE_NOTES(OPCODE_NOTE)
	};

	for (size_t i = 0; i < COUNT(notes); i++)
		if (notes[i].topic == topic && notes[i].opcode == opcode)
			return notes[i].text;
	return NULL;
}

const char *bsn_cause_likeliest(enum topic topic)
{
	for (size_t i = 0; i < COUNT(causes); i++)
		if (causes[i].topic == topic)
			return causes[i].what;
	return NULL;
}
