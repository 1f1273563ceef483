/* SPDX-License-Identifier: BSD-2-Clause */
#include "target.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "bsn.h"
#include "../record.h"

#define PATIENCE  4096  /* attempts at a list that is being changed */
#define NOTES_MAX 65536 /* bytes of an image's notes that are searched */

/* -- the note ---------------------------------------------------------------------------------- */

/* The note says how far from it the registry is. */
static int look_into_notes(struct target *target, uint64_t start, size_t bytes, uint64_t *found)
{
	char *notes = need(malloc(bytes));
	Elf_Data data = { .d_buf = notes, .d_size = bytes, .d_type = ELF_T_NHDR };
	const int err = target_read(target, start, notes, bytes);
	const char *note = NULL;
	uint64_t distance;
	size_t size;

	if (!err)
		note = target_find_note(&data, BSN_REGISTRY_NOTE_TYPE, BSN_REGISTRY_NOTE_NAME,
					&size);
	if (note && size == sizeof(distance)) {
		memcpy(&distance, note, sizeof(distance));
		*found = start + (uint64_t)(note - notes) + distance;
	}
	free(notes);
	return err;
}

/* Finds the registry of an image; 0: it has none, or is no image. */
static int look_into_image(struct target *target, uint64_t start, uint64_t *found)
{
	uint64_t bias = start;
	bool has_bias = false;
	Elf64_Phdr segment;
	Elf64_Ehdr head;
	int err = target_read(target, start, &head, sizeof(head));

	*found = 0;
	if (err || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.e_ident[EI_CLASS] != ELFCLASS64)
		return err;
	for (unsigned i = 0; i < head.e_phnum && !err && !*found; i++) {
		err = target_read(target, start + head.e_phoff + i * sizeof(segment), &segment,
				  sizeof(segment));
		if (err)
			return err;
		if (segment.p_type == PT_LOAD && !has_bias) {
			bias = start - (segment.p_vaddr - segment.p_offset);
			has_bias = true;
		}
		/* If PT_LOAD does not come first, the offset of a note gives its address. */
		if (segment.p_type == PT_NOTE && segment.p_filesz <= NOTES_MAX)
			err = look_into_notes(target,
					      has_bias ? bias + segment.p_vaddr
						       : start + segment.p_offset,
					      segment.p_filesz, found);
	}
	return err;
}

/* -- the list ---------------------------------------------------------------------------------- */

static int read_head(struct target *target, uint64_t address, struct bsn_registry *head)
{
	const int err = target_read(target, address, head, sizeof(*head));

	if (err)
		return err;
	if (head->magic != BSN_REGISTRY_MAGIC || (head->self && head->self != address))
		return target_fail(target, EPROTO,
				   "%s has Bunsen's note, which leads to no registry: is its file "
				   "a different one by now",
				   target->name);
	if (head->version != BSN_REGISTRY_VERSION || head->layout_version > BSN_LAYOUT_VERSION)
		return target_fail(target, EPROTO,
				   "%s has a libbunsen of registry version %u, layout %u; this "
				   "wqe-dump reads %u, %u: use the one that came with it",
				   target->name, head->version, head->layout_version,
				   BSN_REGISTRY_VERSION, BSN_LAYOUT_VERSION);
	return 0;
}

/* The target lists the youngest queue first. Here it comes last. */
static void turn_around(struct published_list *list, size_t first)
{
	for (size_t end = list->count; first + 1 < end; first++) {
		const struct published swapped = list->queues[first];

		list->queues[first] = list->queues[--end];
		list->queues[end] = swapped;
	}
}

/* -EAGAIN: the list changed meanwhile. */
static int try_list(struct target *target, uint64_t registry, struct published_list *list)
{
	struct bsn_registry before, after;
	struct published queue = { .registry = registry };
	const size_t first = list->count;
	int err = read_head(target, registry, &before), last;

	if (err)
		return err;
	queue.generation = before.generation;
	queue.address = before.first;
	while (queue.address && list->count - first < before.queue_count &&
	       target_has_room(target, (list->count - first) * sizeof(queue.queue))) {
		err = target_read(target, queue.address, &queue.queue, sizeof(queue.queue));
		if (err)
			break;
		list->queues = room_for(list->queues, list->count, 1, sizeof(queue));
		list->queues[list->count++] = queue;
		queue.address = queue.queue.next;
	}
	last = read_head(target, registry, &after);
	if (last)
		return last;
	if (before.generation % 2 || before.generation != after.generation)
		return target_fail(target, EAGAIN, "%s changes its list of queues all the time",
				   target->name);
	if (!err && (queue.address || list->count - first != before.queue_count))
		return target_fail(target, EPROTO, "%s has a list of queues that is damaged",
				   target->name);
	turn_around(list, first);
	return err;
}

static int read_list(struct target *target, uint64_t registry, struct published_list *list)
{
	const size_t first = list->count;
	int patience = target->is_live ? PATIENCE : 1;
	struct bsn_registry head;
	int err = read_head(target, registry, &head);

	if (err)
		return err;
	if (!head.self) {
		list->is_off = true;
		return 0;
	}
	list->registries++;
	do {
		list->count = first;
		err = try_list(target, registry, list);
	} while (err == -EAGAIN && --patience);
	return err;
}

/* Says why there are no queues, if nothing failed. */
static int say_none(struct target *target, bool is_off, unsigned lacking)
{
	if (is_off)
		return target_fail(target, ENODATA,
				   "%s uses Bunsen, but lists no queues: start it with "
				   "BSN_REGISTRY=1, or set list_queues when it opens its device; "
				   "a child of fork() has none of its parent's",
				   target->name);
	if (target->is_cut_off)
		return target_fail(target, ENODATA,
				   "%s is cut off, and what there is of it shows no Bunsen",
				   target->name);
	if (lacking && !target->is_live)
		return target_fail(
			target, ENODATA,
			"%s shows no Bunsen, but %u pieces of memory were dumped without their "
			"beginning, and their files are gone, or nothing shows that they are the "
			"same (--trust-core): see coredump_filter in core(5)",
			target->name, lacking);
	return target_fail(target, ENODATA,
			   "%s has no Bunsen in it, or one whose section .note.bunsen was removed",
			   target->name);
}

int published_read(struct target *target, struct published_list *list)
{
	unsigned lacking = 0;
	uint64_t registry;
	int err = 0;

	list->count = list->registries = 0;
	list->is_off = false;
	for (size_t i = 0; i < target->image_count && !err; i++) {
		err = look_into_image(target, target->images[i], &registry);
		if (!err && registry) {
			err = read_list(target, registry, list);
		} else if (err == -EFAULT) {
			lacking++;
			err = 0;
		}
	}
	return err || list->registries ? err : say_none(target, list->is_off, lacking);
}

bool published_is_same(const struct published *a, const struct published *b)
{
	return a->address == b->address && a->registry == b->registry &&
	       !memcmp(&a->queue.kind, &b->queue.kind,
		       sizeof(a->queue) - offsetof(struct bsn_registry_queue, kind));
}

int published_check(struct target *target, const struct published *queue)
{
	struct published_list list = { 0 };
	struct bsn_registry head;
	bool is_there = false;
	int err = read_head(target, queue->registry, &head);

	if (err || head.generation == queue->generation)
		return err;
	err = read_list(target, queue->registry, &list);
	for (size_t i = 0; i < list.count && !err && !is_there; i++)
		is_there = published_is_same(&list.queues[i], queue);
	published_free(&list);
	return err || is_there ? err : -ENOENT;
}

void published_free(struct published_list *list)
{
	free(list->queues);
	*list = (struct published_list){ 0 };
}
