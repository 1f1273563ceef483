/* SPDX-License-Identifier: BSD-2-Clause */
/* An EAL that refuses to start is asked once; from then on the error says so. Speaks TAP. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_errno.h>

#include "bsn_eal.h"

static int count, starts;

static void verdict(bool is_right, const char *what)
{
	printf("%sok %d - %s\n", is_right ? "" : "not ", ++count, what);
}

/* Of --wrap=rte_eal_init */
int __wrap_rte_eal_init(int argc, char **argv); /* NOLINT */

int __wrap_rte_eal_init(int argc, char **argv) /* NOLINT */
{
	(void)argc;
	(void)argv;
	starts++;
	rte_errno = ENODEV;
	return -1;
}

int main(void)
{
	const struct bsn_eal_attr joins = { .joins_only = true };
	struct bsn_eal *eal = NULL;

	verdict(bsn_eal_open(NULL, &eal) == -EIO &&
			strstr(bsn_error_text(), "rte_eal_init() failed"),
		"its refusal is told");
	verdict(bsn_eal_open(NULL, &eal) == -EIO &&
			strstr(bsn_error_text(), "cannot be started again"),
		"the next one, too");
	verdict(starts == 1, "it was asked once");
	verdict(bsn_eal_open(&joins, &eal) == -ENOENT, "there is none to join");
	verdict(!eal && !bsn_eal_source(eal) && !bsn_eal_watch(eal) && !bsn_eal_store(eal) &&
			!bsn_eal_close(eal),
		"and nothing to close");
	printf("1..%d\n", count);
	return 0;
}
