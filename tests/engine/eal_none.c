/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A machine without free hugepages: EAL is not started, and the error says what to do. Speaks TAP.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bsn_eal.h"

int main(void)
{
	struct bsn_eal *eal = NULL;
	FILE *file =
		popen("cat /sys/kernel/mm/hugepages/*/free_hugepages | sort -rn | head -1", "r");
	int count = 1, err;

	if (!file || fscanf(file, "%d", &count) != 1 || count) {
		printf("1..0 # SKIP this machine has free hugepages\n");
		return 0;
	}
	pclose(file);
	err = bsn_eal_open(NULL, &eal);
	printf("1..1\n%sok 1 - without hugepages EAL is refused in words\n",
	       err == -ENOMEM && !eal && strstr(bsn_error_text(), "nr_hugepages") ? "" : "not ");
	return 0;
}
