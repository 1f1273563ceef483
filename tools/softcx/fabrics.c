/* SPDX-License-Identifier: BSD-2-Clause */
/* softcx list and softcx clean: lists the fabrics, and removes unused ones. */
#include "launcher.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datasheet.h"
#include "shim/trees.h"

static void visit_all(cx_fabric_visitor *visit)
{
	int err = cx_fabric_each(visit, NULL);

	if (err)
		die(EXIT_FAILURE, "the fabrics' directory: %s", strerror(-err));
}

static void list(const struct cx_fabric *fabric, void *context)
{
	(void)context;
	if (!fabric->count)
		printf("%-16s not in use: softcx clean removes it\n", fabric->name);
	else if (!fabric->same_build)
		printf("%-16s used by another version:", fabric->name);
	else if (!fabric->same_pids)
		printf("%-16s in another PID namespace:", fabric->name);
	else
		printf("%-16s %s on %s%s%s:", fabric->name, cx_datasheet(fabric->generation)->name,
		       cx_link_name(fabric->link), *fabric->netdev ? ", " : "", fabric->netdev);
	for (unsigned k = 0; k < fabric->count; k++)
		printf("%s%d", k ? ", " : " process ", (int)fabric->pids[k]);
	if (fabric->count)
		putchar('\n');
}

void list_fabrics(void)
{
	visit_all(list);
}

static void clean(const struct cx_fabric *fabric, void *context)
{
	int err;

	(void)context;
	if (fabric->count)
		return;
	err = cx_fabric_remove(fabric->name);
	if (!err)
		printf("removed fabric %s\n", fabric->name);
	else if (err != -EBUSY && err != -ENOENT) /* it was used or removed meanwhile */
		die(EXIT_FAILURE, "fabric %s: %s", fabric->name, strerror(-err));
}

void clean_fabrics(void)
{
	visit_all(clean);
	trees_sweep();
}
