/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process destroys its queue and makes another one in the same memory. Some of the steps come
 * before any one of wqe-dump's reads, the rest any number of reads later. What is shown of a queue
 * must belong to that queue.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../unit.h"
#include "../wqe/encode.h"
#include "fake_process.h"
#include "bsn.h"
#include "bsn_registry.h"
#include "wqe-dump/command.h"

enum {
	OLD = 0x1111, /* QPNs, which each entry of their rings has as its lkey */
	NEW = 0x2222,
	SLOTS = 8,
	READS = 26,  /* more than two undisturbed looks take */
	PAUSES = 14, /* reads until the rest; a look at a queue takes fewer */
	WAITS = 5,   /* looks after the first, with --follow */
	GARBAGE = 0xbad,
};

/* What is in the process's memory. */
static struct {
	struct {
		Elf64_Ehdr head;
		Elf64_Phdr segment;
		Elf64_Nhdr note;
		char name[8];        /* of 7 bytes, aligned */
		uint8_t distance[8]; /* not aligned */
	} image;
	struct bsn_registry registry;
	struct bsn_registry_queue queue, other;
	uint8_t ring[SLOTS][BSN_DATA_SIZE];
	uint8_t record[4];
	uint16_t producer;
	uint32_t consumer;
	struct bsn_completion first_error;
} its;

static struct {
	enum bsn_registry_kind kind;
	bool follows, may_fail;
	void (*const *steps)(void); /* the steps, up to a NULL */
	unsigned at_read, burst, pause, reads;
} plan;

static unsigned shown_of_old, shown_of_new;
static bool has_failed;
static unsigned failures, looks;
static char wrong[128]; /* what was, in words */

static uint64_t address(const void *pointer)
{
	return (uintptr_t)pointer;
}

/* -- the process ------------------------------------------------------------------------------- */

static void turn_generation(void)
{
	its.registry.generation++;
}

static void write_ring(uint32_t number)
{
	for (unsigned i = 0; i < SLOTS; i++)
		bsn_data_encode(its.ring[i],
				&(struct bsn_data){ .byte_count = 64, .lkey = number, .addr = i });
	ENCODE(dbr_wq, its.record, .index = SLOTS / 2);
	its.producer = SLOTS / 2;
	its.consumer = 0;
}

static void unlist(void)
{
	its.registry.first = 0;
}

static void list(void)
{
	its.registry.first = address(&its.queue);
}

static void list_other(void)
{
	its.other.next = its.registry.first;
	its.registry.first = address(&its.other);
}

static void count_up(void)
{
	its.registry.queue_count++;
}

static void count_down(void)
{
	its.registry.queue_count--;
}

/* The memory of a QP that was freed. */
static void write_garbage(void)
{
	its.first_error = (struct bsn_completion){ .status = IBV_WC_RETRY_EXC_ERR, .id = GARBAGE };
}

static void name_new(void)
{
	its.queue.number = NEW;
}

static void write_new(void)
{
	write_ring(NEW);
	its.first_error = (struct bsn_completion){ .status = IBV_WC_SUCCESS };
}

/* The steps in the library's order: see engine/registry.c. */
static void (*const replace[])(void) = {
	turn_generation, unlist,          count_down, turn_generation, write_garbage,   name_new,
	write_new,       turn_generation, list,       count_up,        turn_generation, NULL,
};
static void (*const come_again[])(void) = {
	turn_generation, unlist,          count_down, turn_generation, turn_generation, list,
	count_up,        turn_generation, NULL,
};
static void (*const add_another[])(void) = {
	turn_generation, list_other, count_up, turn_generation, NULL,
};
static void (*const damage[])(void) = { turn_generation, count_up, turn_generation, NULL };

static int read_memory(struct target *target, uint64_t from, void *to, size_t bytes)
{
	(void)target;
	if (plan.reads == plan.at_read)
		for (unsigned i = 0; i < plan.burst && *plan.steps; i++)
			(*plan.steps++)();
	if (plan.reads == plan.at_read + plan.pause)
		while (*plan.steps)
			(*plan.steps++)();
	plan.reads++;
	memcpy(to, (const void *)(uintptr_t)from, bytes);
	return 0;
}

static void begin(void (*const *happens)(void))
{
	const uint64_t distance = address(&its.registry) - address(its.image.distance);

	memset(&its, 0, sizeof(its));
	memcpy(its.image.head.e_ident, ELFMAG, SELFMAG);
	its.image.head.e_ident[EI_CLASS] = ELFCLASS64;
	its.image.head.e_phnum = 1;
	its.image.head.e_phoff = address(&its.image.segment) - address(&its.image);
	its.image.segment =
		(Elf64_Phdr){ .p_type = PT_NOTE,
			      .p_offset = address(&its.image.note) - address(&its.image),
			      .p_filesz =
				      sizeof(its.image) - sizeof(Elf64_Ehdr) - sizeof(Elf64_Phdr) };
	its.image.note = (Elf64_Nhdr){ sizeof(BSN_REGISTRY_NOTE_NAME), sizeof(uint64_t),
				       BSN_REGISTRY_NOTE_TYPE };
	strcpy(its.image.name, BSN_REGISTRY_NOTE_NAME);
	memcpy(its.image.distance, &distance, sizeof(distance));
	its.registry = (struct bsn_registry){ .magic = BSN_REGISTRY_MAGIC,
					      .version = BSN_REGISTRY_VERSION,
					      .layout_version = BSN_LAYOUT_VERSION,
					      .self = address(&its.registry),
					      .generation = 2,
					      .queue_count = 1 };
	its.other = (struct bsn_registry_queue){ .kind = BSN_REGISTRY_SEND, .number = NEW };
	its.queue = (struct bsn_registry_queue){ .kind = plan.kind,
						 .number = OLD,
						 .count = SLOTS,
						 .stride_bytes = BSN_DATA_SIZE,
						 .record = address(its.record),
						 .producer = address(&its.producer),
						 .consumer = address(&its.consumer) };
	if (plan.kind == BSN_REGISTRY_RECV)
		its.queue.ring = address(its.ring);
	else
		its.queue.first_error = address(&its.first_error);
	its.registry.first = address(&its.queue);
	write_ring(OLD);
	plan.steps = happens;
	plan.reads = 0;
	fake.read = read_memory;
	fake.image = address(&its.image);
	fake.is_live = true;
	fake.waits = WAITS;
}

/* -- what is shown ----------------------------------------------------------------------------- */

static uint64_t field(const struct record *record, const char *name)
{
	for (unsigned i = 0; i < record->field_count; i++)
		if (!strcmp(record->fields[i].name, name))
			return record->fields[i].value;
	return 0;
}

static void judge_record(const struct record *record)
{
	const uint64_t number = field(record, "ring_number");

	if (field(record, "request_id") == GARBAGE)
		snprintf(wrong, sizeof(wrong), "a failure in memory that was freed");
	if (!record->recv)
		return;
	if (record->recv->data[0].lkey != number)
		snprintf(wrong, sizeof(wrong), "a WQE of 0x%x as 0x%x's",
			 record->recv->data[0].lkey, (unsigned)number);
	shown_of_old += number == OLD;
	shown_of_new += number == NEW;
}

static void ignore(void)
{
}

static void ignore_unread(const char *file, unsigned long line, const char *why)
{
	(void)file;
	(void)line;
	(void)why;
}

/* Looks, without output on standard error. */
static void look(void (*const *happens)(void))
{
	static struct sink judge = { ignore, judge_record, ignore_unread, ignore };
	struct tell tell = { .sink = &judge };
	const int standard_error = dup(STDERR_FILENO);
	const int nowhere = open("/dev/null", O_WRONLY);
	int status;

	assert_true(standard_error >= 0 && nowhere >= 0);
	shown_of_old = shown_of_new = 0;
	begin(happens);
	dup2(nowhere, STDERR_FILENO);
	status = live_run(&(struct live_attr){ .pid = 1, .follows = plan.follows }, &tell);
	dup2(standard_error, STDERR_FILENO);
	close(standard_error);
	close(nowhere);
	has_failed = status == WQE_DUMP_FAILED;
	if (has_failed && !plan.may_fail)
		strcpy(wrong, "it fails");
	if (*wrong)
		fail_msg("%u steps at read %u, the rest %u later: %s", plan.burst, plan.at_read,
			 plan.pause, wrong);
}

static void look_at_each_moment(void (*const *happens)(void), void (*check)(void))
{
	for (plan.at_read = 0; plan.at_read < READS; plan.at_read++)
		for (plan.burst = 0; !plan.burst || happens[plan.burst - 1]; plan.burst++)
			for (plan.pause = 0; plan.pause < PAUSES;
			     plan.pause += 1 + plan.pause / 2) {
				look(happens);
				check();
			}
}

/* -- cases ------------------------------------------------------------------------------------- */

static void one_of_them_is_shown(void)
{
	/* Nothing is shown if the old queue was destroyed after the list was read. */
	assert_true(shown_of_old + shown_of_new <= SLOTS / 2);
}

static void a_queue_in_the_place_of_another(void **state)
{
	plan.kind = BSN_REGISTRY_RECV;
	plan.follows = false;
	look_at_each_moment(replace, one_of_them_is_shown);
}

static void the_new_one_is_shown(void)
{
	assert_int_equal(shown_of_new, SLOTS / 2);
}

static void the_same_when_it_is_followed(void **state)
{
	plan.kind = BSN_REGISTRY_RECV;
	plan.follows = true;
	look_at_each_moment(replace, the_new_one_is_shown);
}

static void nothing_wrong_is_shown(void)
{
}

static void a_first_failure_in_memory_that_was_freed(void **state)
{
	plan.kind = BSN_REGISTRY_SEND;
	for (unsigned follows = 0; follows < 2; follows++) {
		plan.follows = follows;
		look_at_each_moment(replace, nothing_wrong_is_shown);
	}
}

static void the_old_one_is_shown(void)
{
	assert_int_equal(shown_of_old, SLOTS / 2);
}

static void another_queue_comes_meanwhile(void **state)
{
	plan.kind = BSN_REGISTRY_RECV;
	plan.follows = false;
	look_at_each_moment(add_another, the_old_one_is_shown);
}

static void it_fails_or_shows_the_old_one(void)
{
	assert_true(has_failed || shown_of_old == SLOTS / 2);
	failures += has_failed;
	looks++;
}

static void a_list_that_is_damaged_meanwhile(void **state)
{
	plan.kind = BSN_REGISTRY_RECV;
	plan.follows = false;
	plan.may_fail = true;
	look_at_each_moment(damage, it_fails_or_shows_the_old_one);
	plan.may_fail = false;
	assert_in_range(failures, 1, looks - 1);
}

/* A queue of the same number comes after wqe-dump has seen that the old one is gone. */
static void a_queue_that_comes_again_is_another(void **state)
{
	plan.kind = BSN_REGISTRY_RECV;
	plan.follows = true;
	plan.at_read = 20; /* in the second look */
	plan.burst = 4;
	plan.pause = 20;
	look(come_again);
	assert_int_equal(shown_of_old, SLOTS);
}

UNIT_MAIN(NULL, UNIT(a_queue_in_the_place_of_another), UNIT(the_same_when_it_is_followed),
	  UNIT(a_first_failure_in_memory_that_was_freed), UNIT(another_queue_comes_meanwhile),
	  UNIT(a_list_that_is_damaged_meanwhile), UNIT(a_queue_that_comes_again_is_another))
