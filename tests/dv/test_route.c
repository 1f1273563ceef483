/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of routes as a poller sees it after each single store of the thread that adds: the
 * stores of route.c call look_up_all(). So the test needs neither a second thread nor luck.
 */
#include <stdlib.h>

#include "../unit.h"
#include "init.h"

static void look_up_all(void);
static void *count_malloc(size_t size);
static void count_free(void *table);

#define __atomic_store_n(at, value, order) (__atomic_store_n(at, value, order), look_up_all())
#define malloc(size)                       count_malloc(size)
#define free(table)                        count_free(table)
#include "../../dv/route.c"
#undef free
#undef malloc
#undef __atomic_store_n

enum { NUMBERS = 200 };

static struct dv_cq cq;
static struct dv_route routes[NUMBERS];
static uint32_t added;    /* that many are there; the next one may be on its way */
static unsigned looks;    /* 0: a poller is not in between */
static unsigned mallocs, frees;

static void *count_malloc(size_t size)
{
	mallocs++;
	return malloc(size);
}

static void count_free(void *table)
{
	frees++;
	free(table);
}

static uint32_t number(uint32_t i)
{
	return 0x1000 + 5 * i;
}

/* Looks up inline, by an earlier size: nothing outside of the table, no wrong route. */
static void look_up(uint8_t shift, uint32_t i)
{
	const uint32_t key = bsn_cq_key(number(i));
	const struct bsn_cq_entry *home = bsn_cq_home(&cq.hot, shift, key);
	struct bsn_route *route;

	assert_true(home < cq.hot.entries + (1u << (32 - table_of(cq.hot.entries)->shift)));
	if (bsn_cq_route(&cq.hot, shift, key, &route))
		assert_ptr_equal(route, &routes[i]);
}

static void look_up_all(void)
{
	const struct bsn_route *found;

	if (!looks)
		return;
	looks++;
	for (uint32_t i = 0; i <= added && i < NUMBERS; i++) {
		for (uint8_t shift = cq.hot.hash_shift; shift <= 32 - FIRST_ENTRIES_LOG2; shift++)
			look_up(shift, i);
		found = bsn_cq_find(&cq.hot, number(i));
		assert_true(found == &routes[i].hot || (i == added && !found));
	}
}

static void add_all(void)
{
	memset(&cq, 0, sizeof(cq));
	bsn_cq_init_entries(&cq.hot);
	mallocs = frees = 0;
	looks = 1;
	for (added = 0; added < NUMBERS; added++)
		assert_int_equal(bsn_cq_add_route(&cq.hot, number(added), &routes[added].hot), 0);
	assert_true(looks > 2 * NUMBERS);
	assert_true(mallocs > 3);
}

static void a_poller_between_any_two_stores_finds_each_queue(void **state)
{
	add_all();
	looks = 0;
	bsn_cq_fini(&cq.hot);
}

/* A poller may be in any of the tables, so they all stay until the CQ goes. */
static void no_table_is_freed_before_the_cq(void **state)
{
	add_all();
	looks = 0;
	assert_int_equal(frees, 0);
	for (uint32_t i = 0; i < NUMBERS; i++)
		assert_ptr_equal(bsn_cq_remove_route(&cq.hot, number(i)), &routes[i]);
	assert_int_equal(frees, 0);
	bsn_cq_fini(&cq.hot);
	assert_int_equal(frees, mallocs);
}

/* A route whose addition was given up half-way is not found, and hides no other route. */
static void an_abandoned_route_hides_no_other(void **state)
{
	memset(&cq, 0, sizeof(cq));
	bsn_cq_init_entries(&cq.hot);
	looks = 1;
	for (added = 0; added < NUMBERS; added++) {
		assert_int_equal(bsn_cq_add_route(&cq.hot, 0x800000 + added, &routes[0].hot), 0);
		bsn_cq_abandon(&cq.hot, 0x800000 + added);
		assert_null(bsn_cq_find(&cq.hot, 0x800000 + added));
		assert_int_equal(bsn_cq_add_route(&cq.hot, number(added), &routes[added].hot), 0);
	}
	looks = 0;
	bsn_cq_fini(&cq.hot);
}

UNIT_MAIN(NULL, UNIT(a_poller_between_any_two_stores_finds_each_queue),
	  UNIT(no_table_is_freed_before_the_cq), UNIT(an_abandoned_route_hides_no_other))
