/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads what `softcx run` asks of the preloaded library, from the environment. */
#include "shim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../datasheet.h"

/*
 * An unknown word is refused by name: another device than the one meant would be a worse surprise.
 */
static bool complain(const char *variable, const char *value)
{
	fprintf(stderr, "softcx: %s=%s is not known; no device\n", variable, value);
	return false;
}

static bool is_understood(const char *plan)
{
	char message[256];

	if (!plan || !cx_fault_plan_check(plan, message, sizeof(message)))
		return true;
	fprintf(stderr, "softcx: SOFTCX_FAULT: %s; no device\n", message);
	return false;
}

/* An empty variable has no value. */
static const char *value_of(const char *variable)
{
	const char *value = getenv(variable);

	return value && *value ? value : NULL;
}

static bool is_set(const char *variable)
{
	const char *value = value_of(variable);

	return value && strcmp(value, "0");
}

static const char *interface_of(const char *value)
{
	if (!value)
		return ""; /* that of the default route */
	return strcmp(value, "none") ? value : NULL;
}

bool shim_config_from_environment(struct cx_config *config, enum trap_mode *mode)
{
	const char *generation = value_of("SOFTCX_GENERATION");
	const char *link = value_of("SOFTCX_LINK");

	memset(config, 0, sizeof(*config));
	config->fabric = value_of("SOFTCX_FABRIC");
	if (!config->fabric)
		return false;
	config->generation = CX_GEN_CX6;
	config->link = CX_LINK_IB;
	config->interface = interface_of(value_of("SOFTCX_NETDEV"));
	config->fault_plan = value_of("SOFTCX_FAULT");
	config->trace_path = value_of("SOFTCX_TRACE");
	config->passive = is_set("SOFTCX_PASSIVE");
	config->big_endian_atomics = is_set("SOFTCX_BIG_ENDIAN_ATOMICS");
	config->no_devx = is_set("SOFTCX_NO_DEVX");
	config->no_stride_index = is_set("SOFTCX_NO_STRIDE_INDEX");
	config->no_errored_streams = is_set("SOFTCX_NO_ERRORED_STREAMS");
	config->lag = is_set("SOFTCX_LAG");
	*mode = is_set("SOFTCX_EXACT") ? TRAP_EXACT : TRAP_ABSORB;
	if (generation && cx_generation_by_name(generation, &config->generation))
		return complain("SOFTCX_GENERATION", generation);
	if (link && cx_link_by_name(link, &config->link))
		return complain("SOFTCX_LINK", link);
	if (!is_understood(config->fault_plan))
		return false;
	/* It would name another tree, in place of ours. */
	unsetenv("SYSFS_PATH");
	return true;
}
