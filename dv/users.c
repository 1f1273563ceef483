/* SPDX-License-Identifier: BSD-2-Clause */
/* The user pointers of a send queue's endpoints, by number. */
#include "users.h"

#include <stdlib.h>

#define FIRST_COUNT 8
#define NONE        UINT32_MAX

/* The poller may be looking at a table while a larger one takes its place: they go with the queue. */
struct bsn_sq_users {
	struct bsn_sq_users *older;
	uint32_t count;
	uint32_t free; /* first of the list of those that are nobody's */
	struct {
		void *user;
		uint32_t next_free;
	} entry[];
};

/* Twice as large as before. */
static int grow(struct bsn_sq *sq)
{
	struct bsn_sq_users *old = sq->users, *users;
	const uint32_t had = old ? old->count : 0, count = old ? 2 * had : FIRST_COUNT;

	if (count > BSN_MARK_HIDDEN)
		return -ENOMEM;
	users = calloc(1, sizeof(*users) + count * sizeof(users->entry[0]));
	if (!users)
		return -ENOMEM;
	if (old)
		memcpy(users->entry, old->entry, had * sizeof(users->entry[0]));
	for (uint32_t i = had; i < count; i++)
		users->entry[i].next_free = i + 1 < count ? i + 1 : NONE;
	users->older = old;
	users->count = count;
	users->free = had;
	__atomic_store_n(&sq->users, users, __ATOMIC_RELEASE);
	return 0;
}

int bsn_sq_make_users(struct bsn_sq *sq)
{
	return grow(sq);
}

void bsn_sq_free_users(struct bsn_sq *sq)
{
	struct bsn_sq_users *users = sq->users;

	while (users) {
		struct bsn_sq_users *older = users->older;
		free(users);
		users = older;
	}
	sq->users = NULL;
}

int bsn_sq_add_user(struct bsn_sq *sq, void *user, uint32_t *number)
{
	struct bsn_sq_users *users;

	if (sq->users->free == NONE && grow(sq))
		return -ENOMEM;
	users = sq->users;
	*number = users->free;
	users->free = users->entry[*number].next_free;
	users->entry[*number].user = user;
	return 0;
}

void bsn_sq_drop_user(struct bsn_sq *sq, uint32_t number)
{
	sq->users->entry[number].next_free = sq->users->free;
	sq->users->free = number;
}

void *bsn_sq_find_user(const struct bsn_sq *sq, uint32_t slot)
{
	const struct bsn_sq_users *users = __atomic_load_n(&sq->users, __ATOMIC_ACQUIRE);

	return users->entry[sq->marks[slot] & ~(uint32_t)BSN_MARK_HIDDEN].user;
}
