/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The checks of bsn-info --check. Each is a short function that reads a few files or asks netlink,
 * and reports findings. A check does not depend on others, nor on how findings are printed.
 */
#ifndef BSN_INFO_CHECK_H
#define BSN_INFO_CHECK_H

#include "places.h"
#include "root.h"

struct bsn_device;
struct report;

enum status {
	STATUS_OK,
	STATUS_WRONG,   /* the finding says how to mend it */
	STATUS_NOTE,    /* not wrong, but it may be a cause */
	STATUS_SKIPPED, /* the finding says why */
};

struct check;

struct check_row {
	const char *name;
	void (*run)(struct check *check);
	const char *source; /* where the facts are from */
};

/* What a check is run on, and where it reports. */
struct check {
	const char *root;
	struct report *report;
	const struct check_row *row;
	const char *source; /* of the next finding: row->source, unless the check sets another */
	const char *peer;   /* the path to it is checked; NULL: none */
	const char *device; /* NULL: of the host */
	unsigned port;      /* 0: of the host or the device */
	char slot[32];      /* of the device, on the PCI bus; empty: unknown */
	char netdev[NETDEV_NAME]; /* of a port; empty: it has none */
	bool has_failed;    /* a device could not be opened; that was printed */
	struct bsn_device *live; /* NULL: a recorded host, or one whose device cannot be opened */
};

extern const struct check_row host_checks[], device_checks[], port_checks[];

/*
 * Reports a finding; @format as of printf(). @mend: how to mend it, or NULL; in it the words DEV
 * and SLOT become the interface and the slot.
 */
void found(struct check *check, enum status status, const char *mend, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Reports that a file could not be read, with the negative errno @err, or that root is needed. */
void skip_file(struct check *check, int err, const char *what);

/* The CPUs that this process may run on. */
bool allowed_cpus(struct check *check, struct cpus *cpus, char *text, size_t size);

/* The node of the device's slot; -1: unknown. */
int device_node(struct check *check);

/* Gb/s of a port, from "200 Gb/sec (4X HDR)"; 0: unknown. */
double port_rate(struct check *check, unsigned port);

void check_memlock(struct check *check);
void check_governor(struct check *check);
void check_idle_states(struct check *check);
void check_kernel(struct check *check);
void check_rdma_core(struct check *check);
void check_path_mtu(struct check *check);

void check_numa(struct check *check);
void check_hugepages(struct check *check);
void check_pcie_link(struct check *check);
void check_pcie_rate(struct check *check);
void check_read_request(struct check *check);
void check_relaxed_ordering(struct check *check);
void check_irqs(struct check *check);
void check_firmware(struct check *check);

void check_port_state(struct check *check);
void check_link_width(struct check *check);
void check_mtu(struct check *check);
void check_netdev_mtu(struct check *check);
void check_gids(struct check *check);
void check_default_gid(struct check *check);
void check_pfc(struct check *check);
void check_global_pause(struct check *check);
void check_ecn(struct check *check);
void check_dcqcn(struct check *check);

#endif
