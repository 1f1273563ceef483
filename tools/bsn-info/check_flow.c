/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of what keeps a RoCE port from losing packets: PFC, pause, ECN and DCQCN. */
#include "check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "netlink.h"

/* Whether the port has an interface. False: a finding says so. */
static bool has_netdev(struct check *check)
{
	if (*check->netdev)
		return true;
	found(check, STATUS_SKIPPED, NULL, "the port has no network interface");
	return false;
}

static void skip_netlink(struct check *check, int err, const char *what)
{
	if (err == -EOPNOTSUPP)
		found(check, STATUS_SKIPPED, NULL, "the driver of %s has no %s", check->netdev,
		      what);
	else
		skip_file(check, err, what);
}

void check_pfc(struct check *check)
{
	char list[2 * PRIORITIES + 1] = "";
	unsigned count = 0;
	struct pfc pfc;
	int err;

	if (!has_netdev(check))
		return;
	err = netlink_pfc(check->root, check->netdev, &pfc);
	if (err) {
		skip_netlink(check, err, "DCB");
		return;
	}
	for (unsigned i = 0; i < PRIORITIES; i++)
		if (pfc.on[i])
			snprintf(list + strlen(list), 3, "%s%u", count++ ? "," : "", i);
	if (count == PRIORITIES)
		found(check, STATUS_WRONG,
		      "enable it for RoCE's priority alone: mlnx_qos -i DEV --pfc 0,0,0,1,0,0,0,0",
		      "%s pauses all priorities, so RoCE waits for all other traffic",
		      check->netdev);
	else if (!count)
		found(check, STATUS_NOTE,
		      "if the switches have PFC: mlnx_qos -i DEV --pfc 0,0,0,1,0,0,0,0 --trust "
		      "dscp",
		      "%s has no lossless priority: dropped packets are sent again", check->netdev);
	else
		found(check, STATUS_OK, NULL, "%s has lossless priorities: %s", check->netdev,
		      list);
}

void check_global_pause(struct check *check)
{
	struct pause pause;
	int err;

	if (!has_netdev(check))
		return;
	err = netlink_pause(check->root, check->netdev, &pause);
	if (err)
		skip_netlink(check, err, "pause by ethtool netlink");
	else if (pause.rx || pause.tx)
		found(check, STATUS_WRONG,
		      "ethtool -A DEV autoneg off rx off tx off; use PFC instead",
		      "%s pauses all its traffic at once (%s%s%s)", check->netdev,
		      pause.rx ? "rx" : "", pause.rx && pause.tx ? ", " : "", pause.tx ? "tx" : "");
	else
		found(check, STATUS_OK, NULL, "%s has no global pause", check->netdev);
}

/* -- congestion -------------------------------------------------------------------------------- */

/* Only MLNX_OFED's driver has it in sysfs. Linux's driver turns it on, and does not show it. */
void check_ecn(struct check *check)
{
	static const char *const sides[] = { "roce_np", "roce_rp" };
	char off[64] = "";
	unsigned seen = 0;
	uint64_t on;

	if (!has_netdev(check))
		return;
	for (unsigned side = 0; side < 2; side++)
		for (unsigned i = 0; i < PRIORITIES; i++) {
			if (!root_number(check->root, &on, "sys/class/net/%s/ecn/%s/enable/%u",
					 check->netdev, sides[side], i))
				continue;
			seen++;
			if (!on && strlen(off) < sizeof(off) - 16)
				sprintf(off + strlen(off), "%s%s %u", *off ? ", " : "", sides[side],
					i);
		}
	if (!seen)
		found(check, STATUS_SKIPPED, NULL, "only the driver of MLNX_OFED has it in sysfs");
	else if (*off)
		found(check, STATUS_WRONG,
		      "echo 1 >/sys/class/net/DEV/ecn/roce_np/enable/P, and roce_rp",
		      "%s has no congestion control at: %s", check->netdev, off);
	else
		found(check, STATUS_OK, NULL, "%s has congestion control at all priorities",
		      check->netdev);
}

/* Linux shows these to root, in debugfs. */
void check_dcqcn(struct check *check)
{
	static const char *const names[] = {
		"np_cnp_dscp",
		"np_min_time_between_cnps",
		"rp_min_rate",
		"rp_ai_rate",
		"rp_hai_rate",
		"rp_min_dec_fac",
		"rp_rate_reduce_monitor_period",
	};
	char value[32], told[512] = "", dscp[32] = "";
	int length = 0;

	if (!*check->slot) {
		found(check, STATUS_SKIPPED, NULL, "the slot on the bus is unknown");
		return;
	}
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		length = root_read(check->root, value, sizeof(value),
				   "sys/kernel/debug/mlx5/%s/cc_params/%s", check->slot, names[i]);
		if (length <= 0)
			break;
		if (!i)
			strcpy(dscp, value);
		snprintf(told + strlen(told), sizeof(told) - strlen(told), "%s%s %s", i ? ", " : "",
			 names[i], value);
	}
	if (!*told)
		skip_file(check, length, "cc_params in debugfs");
	else if (!strcmp(dscp, "0"))
		found(check, STATUS_WRONG,
		      "echo 48 >/sys/kernel/debug/mlx5/SLOT/cc_params/np_cnp_dscp",
		      "congestion notifications have no class of their own: %s", told);
	else
		found(check, STATUS_OK, NULL, "%s", told);
}
