/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of the host: locked memory, clocks, sleep, the path to a peer. */
#include "check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* -- memory that may be locked ----------------------------------------------------------------- */

enum { CAP_IPC_LOCK_BIT = 14 }; /* linux/capability.h */

static bool ignores_limit(struct check *check)
{
	char status[ROOT_TEXT];
	const char *at;

	root_read(check->root, status, sizeof(status), "proc/self/status");
	at = strstr(status, "\nCapEff:");
	return at && strtoull(at + strlen("\nCapEff:"), NULL, 16) >> CAP_IPC_LOCK_BIT & 1;
}

void check_memlock(struct check *check)
{
	static const char key[] = "\nMax locked memory";
	const uint64_t enough = UINT64_C(1) << 30;
	char limits[ROOT_TEXT], soft[24];
	const int length = root_read(check->root, limits, sizeof(limits), "proc/self/limits");
	const char *at = strstr(limits, key);
	uint64_t bytes;
	char *end;

	if (!at || sscanf(at + strlen(key), "%23s", soft) != 1) {
		skip_file(check, length, "/proc/self/limits");
		return;
	}
	bytes = strtoull(soft, &end, 10);
	if (!strcmp(soft, "unlimited") || ignores_limit(check))
		found(check, STATUS_OK, NULL, "memory may be locked without a limit");
	else if (*end || end == soft)
		skip_file(check, 0, "/proc/self/limits");
	else if (bytes >= enough)
		found(check, STATUS_OK, NULL, "%" PRIu64 " MiB may be locked", bytes >> 20);
	else
		found(check, STATUS_WRONG,
		      "in /etc/security/limits.conf: * - memlock unlimited; "
		      "of a service: LimitMEMLOCK=infinity",
		      "only %" PRIu64 " KiB of memory may be locked; larger registrations fail",
		      bytes >> 10);
}

/* -- clocks and sleep -------------------------------------------------------------------------- */

#define CPU_FILES "sys/devices/system/cpu/cpu%u/"

void check_governor(struct check *check)
{
	char list[256], governor[32], slow[32] = "";
	unsigned slow_count = 0, seen = 0;
	struct cpus allowed;

	if (!allowed_cpus(check, &allowed, list, sizeof(list))) {
		skip_file(check, 0, "/proc/self/status");
		return;
	}
	for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
		if (!cpus_have(&allowed, cpu) ||
		    root_read(check->root, governor, sizeof(governor),
			      CPU_FILES "cpufreq/scaling_governor", cpu) <= 0)
			continue;
		seen++;
		if (strcmp(governor, "performance")) {
			strcpy(slow, governor);
			slow_count++;
		}
	}
	if (!seen)
		found(check, STATUS_SKIPPED, NULL, "no cpufreq: Linux does not set the clock here");
	else if (slow_count)
		found(check, STATUS_WRONG, "cpupower frequency-set -g performance",
		      "%u of the %u allowed CPUs (%s) have the governor %s", slow_count, seen, list,
		      slow);
	else
		found(check, STATUS_OK, NULL, "performance, on all allowed CPUs (%s)", list);
}

enum { SLOW_EXIT_US = 10 };

/* The slowest sleep state that the CPU may enter: its exit latency in us, and its name. */
static bool slowest_state(struct check *check, unsigned cpu, uint64_t *us, char name[32])
{
	uint64_t latency, disabled;
	bool any = false;

	for (unsigned state = 0; state < 16; state++) {
		if (!root_number(check->root, &latency, CPU_FILES "cpuidle/state%u/latency", cpu,
				 state))
			continue;
		any = true;
		if (latency <= *us ||
		    (root_number(check->root, &disabled, CPU_FILES "cpuidle/state%u/disable", cpu,
				 state) &&
		     disabled))
			continue;
		*us = latency;
		root_read(check->root, name, 32, CPU_FILES "cpuidle/state%u/name", cpu, state);
	}
	return any;
}

void check_idle_states(struct check *check)
{
	struct cpus allowed;
	char list[256], name[32] = "";
	bool any = false;
	uint64_t us = 0;

	if (!allowed_cpus(check, &allowed, list, sizeof(list))) {
		skip_file(check, 0, "/proc/self/status");
		return;
	}
	for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++)
		if (cpus_have(&allowed, cpu) && slowest_state(check, cpu, &us, name))
			any = true;
	if (!any)
		found(check, STATUS_SKIPPED, NULL,
		      "no cpuidle: Linux does not choose sleep states here");
	else if (us > SLOW_EXIT_US)
		found(check, STATUS_WRONG,
		      "cpupower idle-set -D 10, or hold /dev/cpu_dma_latency open with 0 in it; "
		      "a program that never sleeps (polls) does not need it",
		      "an allowed CPU (%s) may sleep in %s, and wakes after %" PRIu64 " us", list,
		      name, us);
	else
		found(check, STATUS_OK, NULL, "all allowed CPUs (%s) wake within %" PRIu64 " us",
		      list, us);
}

/* -- the path to a peer ------------------------------------------------------------------------ */

/* The MTU by which Linux would send to an address of IPv4 or IPv6, or -errno. Sends nothing. */
static int ask_path_mtu(const char *peer)
{
	struct sockaddr_in to4 = { .sin_family = AF_INET, .sin_port = htons(4791) };
	struct sockaddr_in6 to6 = { .sin6_family = AF_INET6, .sin6_port = htons(4791) };
	const bool is_4 = inet_pton(AF_INET, peer, &to4.sin_addr) == 1;
	int mtu = 0, fd, err;
	socklen_t size = sizeof(mtu);

	if (!is_4 && inet_pton(AF_INET6, peer, &to6.sin6_addr) != 1)
		return -EINVAL;
	fd = socket(is_4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	err = is_4 ? connect(fd, (void *)&to4, sizeof(to4))
		   : connect(fd, (void *)&to6, sizeof(to6));
	if (!err)
		err = is_4 ? getsockopt(fd, IPPROTO_IP, IP_MTU, &mtu, &size)
			   : getsockopt(fd, IPPROTO_IPV6, IPV6_MTU, &mtu, &size);
	err = err ? -errno : mtu;
	close(fd);
	return err;
}

void check_path_mtu(struct check *check)
{
	int mtu;

	if (!check->peer || *check->root) {
		found(check, STATUS_SKIPPED, NULL, "%s",
		      *check->root ? "a recording has no path"
				   : "a peer is needed: --peer=ADDRESS");
		return;
	}
	mtu = ask_path_mtu(check->peer);
	if (mtu < 0)
		found(check, STATUS_WRONG, "name the address of a peer to which there is a route",
		      "%s: %s", check->peer, mtu == -EINVAL ? "not an IP address" : strerror(-mtu));
	else if (mtu < 4200)
		found(check, STATUS_WRONG,
		      "ip link set DEV mtu 4200 or more at both ends, and on the switches and "
		      "routes "
		      "between; then ping -M do -s 4172 PEER must work",
		      "the path to %s carries packets of %d B: too short for RoCE's 4096",
		      check->peer, mtu);
	else
		found(check, STATUS_OK, NULL,
		      "the path to %s carries packets of %d B, as far as this "
		      "host knows: ping -M do -s 4172 %s asks the network",
		      check->peer, mtu, check->peer);
}
