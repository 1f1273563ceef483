/* SPDX-License-Identifier: BSD-2-Clause */
/* bsn-info --check: runs the checks of the host, of each device, and of each of its ports. */
#include "check.h"

#include <err.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bsn.h"
#include "info.h"
#include "places.h"
#include "report.h"

/* Sources without a name before them are files of Linux. */
const struct check_row host_checks[] = {
	{ "memlock", check_memlock, "drivers/infiniband/core/umem.c ib_umem_get()" },
	{ "cpu-governor", check_governor, "Documentation/admin-guide/pm/cpufreq.rst" },
	{ "idle-states", check_idle_states,
	  "Documentation/admin-guide/pm/cpuidle.rst; 10 us are bsn-info's own limit" },
	{ "kernel", check_kernel, "bsn-info's own list of defects, from commits of Linux" },
	{ "rdma-core", check_rdma_core,
	  "bsn-info's own list of defects, from releases of rdma-core" },
	{ "path-mtu", check_path_mtu, "ip(7) IP_MTU; NVIDIA, MTU Considerations for RoCE" },
	{ 0 },
};

const struct check_row device_checks[] = {
	{ "numa-node", check_numa, "Documentation/ABI/testing/sysfs-bus-pci numa_node" },
	{ "hugepages", check_hugepages, "Documentation/admin-guide/mm/hugetlbpage.rst" },
	{ "pcie-link", check_pcie_link,
	  "NVIDIA, Understanding PCIe Configuration for Maximum Performance" },
	{ "pcie-rate", check_pcie_rate,
	  "NVIDIA, Understanding PCIe Configuration for Maximum Performance" },
	{ "max-read-request", check_read_request,
	  "NVIDIA's settings in DPDK's performance reports, and FD.io CSIT: 1024 B" },
	{ "relaxed-ordering", check_relaxed_ordering,
	  "PCI Express Base, Device Control register; drivers/pci/pci.c "
	  "pcie_relaxed_ordering_enabled()" },
	{ "irq-affinity", check_irqs, "Documentation/core-api/irq/irq-affinity.rst" },
	{ "firmware", check_firmware,
	  "DPDK, doc/guides/platform/mlx5.rst: minimal firmware versions" },
	{ 0 },
};

const struct check_row port_checks[] = {
	{ "port-state", check_port_state, "Documentation/ABI/stable/sysfs-class-infiniband" },
	{ "link-width", check_link_width, "Documentation/ABI/stable/sysfs-class-infiniband rate" },
	{ "mtu", check_mtu, "ibv_query_port(3); include/rdma/ib_addr.h iboe_get_mtu()" },
	{ "netdev-mtu", check_netdev_mtu,
	  "NVIDIA, MTU Considerations for RoCE: 4200 carries 4096" },
	{ "gids", check_gids, "Documentation/ABI/stable/sysfs-class-infiniband gid_attrs" },
	{ "default-gid", check_default_gid, "Bunsen, bsn_device_info(3)" },
	{ "pfc", check_pfc, "include/uapi/linux/dcbnl.h struct ieee_pfc; IEEE 802.1Qbb" },
	{ "global-pause", check_global_pause,
	  "Documentation/networking/ethtool-netlink.rst PAUSE_GET; NVIDIA MLNX_OFED, Flow "
	  "Control" },
	{ "ecn", check_ecn, "NVIDIA MLNX_OFED, Explicit Congestion Notification" },
	{ "dcqcn", check_dcqcn,
	  "drivers/infiniband/hw/mlx5/cong.c; NVIDIA Cumulus Linux, RoCE: CNPs have a class" },
	{ 0 },
};

/* -- what the checks share --------------------------------------------------------------------- */

/* A copy of @text, in which DEV and SLOT became the names, if these are known. */
static char *fill_in(const struct check *check, const char *text)
{
	const struct {
		const char *word, *name;
	} words[] = { { "DEV", check->netdev }, { "SLOT", check->slot } };
	char filled[1024];
	size_t length = 0;

	while (*text && length < sizeof(filled) - 64) {
		size_t taken = 1;
		const char *name = NULL;

		for (unsigned i = 0; i < 2 && !name; i++)
			if (*words[i].name &&
			    !strncmp(text, words[i].word, strlen(words[i].word))) {
				name = words[i].name;
				taken = strlen(words[i].word);
			}
		length += (size_t)snprintf(filled + length, sizeof(filled) - length, "%.*s",
					   name ? 32 : 1, name ? name : text);
		text += taken;
	}
	filled[length] = '\0';
	return strdup(filled);
}

void found(struct check *check, enum status status, const char *mend, const char *format, ...)
{
	struct finding finding = { .check = check->row->name, .status = status };
	va_list args;

	if (!check->device)
		strcpy(finding.subject, "host");
	else if (!check->port)
		snprintf(finding.subject, sizeof(finding.subject), "%s", check->device);
	else
		snprintf(finding.subject, sizeof(finding.subject), "%s/%u", check->device,
			 check->port);
	va_start(args, format);
	if (vasprintf(&finding.text, format, args) < 0)
		finding.text = NULL;
	va_end(args);
	finding.mend = mend ? fill_in(check, mend) : NULL;
	finding.source = strdup(check->source);
	if (!finding.text || (mend && !finding.mend) || !finding.source)
		err(INFO_FAILED, "findings");
	check->source = check->row->source;
	report_add(check->report, &finding);
}

void skip_file(struct check *check, int err, const char *what)
{
	if (err == -EACCES || err == -EPERM)
		found(check, STATUS_SKIPPED, NULL, "%s: needs root", what);
	else
		found(check, STATUS_SKIPPED, NULL, "%s: %s", what,
		      err < 0 ? strerror(-err) : "this format is unknown");
}

bool allowed_cpus(struct check *check, struct cpus *cpus, char *text, size_t size)
{
	static const char key[] = "\nCpus_allowed_list:\t";
	char status[ROOT_TEXT];
	const char *at;

	root_read(check->root, status, sizeof(status), "proc/self/status");
	at = strstr(status, key);
	if (!at)
		return false;
	at += sizeof(key) - 1;
	snprintf(text, size, "%.*s", (int)strcspn(at, "\n"), at);
	return cpus_parse(cpus, text);
}

int device_node(struct check *check)
{
	uint64_t node;

	if (!root_number(check->root, &node, "sys/class/infiniband/%s/device/numa_node",
			 check->device) ||
	    node > INT16_MAX)
		return -1;
	return (int)node;
}

/* -- the run ----------------------------------------------------------------------------------- */

static void run_checks(struct check *check, const struct check_row *rows)
{
	for (; rows->name; rows++) {
		check->row = rows;
		check->source = rows->source;
		rows->run(check);
	}
}

static void find_slot(struct check *check)
{
	char uevent[ROOT_TEXT];
	const char *at;

	*check->slot = '\0';
	root_read(check->root, uevent, sizeof(uevent), "sys/class/infiniband/%s/device/uevent",
		  check->device);
	at = strstr(uevent, "PCI_SLOT_NAME=");
	if (at)
		sscanf(at, "PCI_SLOT_NAME=%31[0-9a-f:.]", check->slot);
}

static void check_port(unsigned port, void *arg)
{
	struct check *check = arg;

	check->port = port;
	places_netdev(check->root, check->device, port, check->netdev);
	run_checks(check, port_checks);
}

static void check_device(const char *name, void *arg)
{
	struct check *check = arg;

	check->device = name;
	check->live = NULL;
	*check->netdev = '\0';
	find_slot(check);
	if (!*check->root && bsn_device_open(name, NULL, &check->live)) {
		fprintf(stderr, "bsn-info: %s\n", bsn_error_text());
		check->has_failed = true;
	}
	run_checks(check, device_checks);
	places_ports(check->root, name, check_port, check);
	check->port = 0;
	if (check->live)
		bsn_device_close(check->live);
}

int info_check(const struct info_options *options)
{
	struct report report = { 0 };
	struct check check = {
		.root = options->root ? options->root : "",
		.report = &report,
		.peer = options->peer,
	};
	int status = INFO_OK;

	run_checks(&check, host_checks);
	if (!places_devices(check.root, options->device, check_device, &check)) {
		places_complain(check.root, options->device);
		status = INFO_FAILED;
	} else if (check.has_failed) {
		status = INFO_FAILED;
	}
	if (options->json)
		info_print_json(report_json(&report));
	else
		report_print(&report);
	if (!status && report.counts[STATUS_WRONG])
		status = INFO_WRONG;
	report_free(&report);
	return status;
}
