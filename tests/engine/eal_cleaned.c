/* SPDX-License-Identifier: BSD-2-Clause */
/* An application that has ended its EAL, whose memory is gone: it is not joined. Speaks TAP. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <rte_eal.h>

#include "bsn_eal.h"

static int count;

static void verdict(bool is_right, const char *what)
{
	printf("%sok %d - %s\n", is_right ? "" : "not ", ++count, what);
}

static void (*handler_of_faults(void))(int)
{
	struct sigaction now;

	sigaction(SIGSEGV, NULL, &now);
	return now.sa_handler;
}

int main(void)
{
	char *args[] = { (char[]){ "app" },
			 (char[]){ "--no-huge" },
			 (char[]){ "--no-shconf" },
			 (char[]){ "--no-pci" },
			 (char[]){ "--no-telemetry" },
			 (char[]){ "-m16" },
			 (char[]){ "--log-level=lib.eal:error" },
			 NULL };
	void (*const handler)(int) = handler_of_faults();
	struct bsn_eal *eal = NULL, *again = NULL;

	if (rte_eal_init(7, args) < 0) {
		printf("1..0 # SKIP rte_eal_init() fails here\n");
		return 0;
	}
	verdict(!bsn_eal_open(NULL, &eal) && bsn_eal_was_joined(eal), "it is joined while it runs");
	verdict(!bsn_eal_close(eal) && !rte_eal_cleanup(), "and ended");
	verdict(bsn_eal_open(NULL, &again) == -EIO && !again &&
			strstr(bsn_error_text(), "rte_eal_cleanup()"),
		"after that it is refused in words");
	verdict(handler_of_faults() == handler, "and the program's handlers are as they were");
	printf("1..%d\n", count);
	return 0;
}
