/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends two of a table's four columns in one WRITE. The rows that arrive have two columns. */
#include <stddef.h>
#include <stdio.h>

#include "loop.h"

enum { ROWS = 6 };

struct order {
	uint32_t id;
	char side[4];
	uint32_t price;
	uint32_t amount;
};

struct quote {
	char side[4];
	uint32_t price;
};

int main(void)
{
	const size_t bytes = ROWS * sizeof(struct order);
	struct loop loop;
	struct order *order;
	const struct quote *quote;

	loop_open(&loop, bytes + ROWS * sizeof(*quote));
	order = loop.mem->data;
	quote = (const struct quote *)(order + ROWS);
	for (uint32_t i = 0; i < ROWS; i++)
		order[i] = (struct order){ 1000 + i, "buy", 250 + 7 * i % 10, 100 * (i + 1) };

	const struct bsn_part column[2] = {
		{ .addr = (uintptr_t)order->side,
		  .bytes = sizeof(order->side),
		  .stride = sizeof(*order),
		  .lkey = loop.mem->lkey },
		{ .addr = (uintptr_t)&order->price,
		  .bytes = sizeof(order->price),
		  .stride = sizeof(*order),
		  .lkey = loop.mem->lkey },
	};
	struct bsn_layout *quotes = loop_layout(&loop, column, 2, ROWS);
	const uint64_t sent = loop_write(&loop, quotes, bytes);

	printf("  id   side  price  amount         side  price\n");
	for (int i = 0; i < ROWS; i++)
		printf("%u  [%s]  [%u]   %5u    %s  [%s]  [%u]\n", order[i].id, order[i].side,
		       order[i].price, order[i].amount, i == ROWS / 2 ? "-->" : "   ",
		       quote[i].side, quote[i].price);
	printf("%zu bytes of %zu were sent\n", (size_t)sent, bytes);
	bsn_layout_destroy(quotes);
	loop_close(&loop);
	return 0;
}
