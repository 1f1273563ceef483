/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of versions with known defects: of Linux, of rdma-core, and of the firmware. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct version {
	unsigned parts[3];
};

/* A defect of the versions from `first` to the one before `mended`. */
struct defect {
	struct version first, mended;
	const char *what, *source;
};

static const struct defect kernel_defects[] = {
	{ { { 5, 13, 0 } },
	  { { 5, 14, 16 } },
	  "a table of on-demand regions (ODP) is not initialised",
	  "Linux 5f6995295f65 (RDMA/mlx5: Initialize the ODP xarray when creating an ODP MR), "
	  "which "
	  "mends a639e66703ee" },
	{ { { 5, 13, 0 } },
	  { { 5, 15, 10 } },
	  "deregistration may release memory that was never allocated",
	  "Linux e3bc4d4b50ca (RDMA/mlx5: Fix releasing unallocated memory in dereg MR flow), "
	  "which "
	  "mends f18ec4223117" },
};

static const struct defect rdma_core_defects[] = {
	{ { { 37, 0, 0 } },
	  { { 37, 3, 0 } },
	  "completions of mlx5 may have a wrong opcode",
	  "rdma-core PR 1116 (mlx5: Fix to prevent unexpected WC opcode); SPDK issue 2310" },
	{ { { 38, 0, 0 } },
	  { { 38, 2, 0 } },
	  "completions of mlx5 may have a wrong opcode",
	  "rdma-core PR 1116 (mlx5: Fix to prevent unexpected WC opcode); SPDK issue 2310" },
	{ { { 38, 0, 0 } },
	  { { 38, 4, 0 } },
	  "a UMR WQE of mlx5 may overwrite memory",
	  "rdma-core 38.4, aa33034 (mlx5: Fix memory corruption at writing UMR WQE)" },
	{ { { 39, 0, 0 } },
	  { { 39, 3, 0 } },
	  "a UMR WQE of mlx5 may overwrite memory",
	  "rdma-core 39.3, 01650cc (mlx5: Fix memory corruption at writing UMR WQE)" },
	{ { { 41, 0, 0 } },
	  { { 41, 2, 0 } },
	  "a UMR WQE of mlx5 may overwrite memory",
	  "rdma-core 41.2, 659adf9 (mlx5: Fix memory corruption at writing UMR WQE)" },
};

static bool parse_version(const char *text, struct version *version)
{
	*version = (struct version){ 0 };
	return sscanf(text, "%u.%u.%u", &version->parts[0], &version->parts[1],
		      &version->parts[2]) >= 2;
}

static int compare_versions(const struct version *one, const struct version *other)
{
	for (unsigned i = 0; i < 3; i++)
		if (one->parts[i] != other->parts[i])
			return one->parts[i] < other->parts[i] ? -1 : 1;
	return 0;
}

/* Reports each known defect of the version, or that there is none. */
static void look_up(struct check *check, const char *text, const struct defect *defects,
		    unsigned count)
{
	struct version version;
	bool any = false;
	char mend[64];

	if (!parse_version(text, &version)) {
		found(check, STATUS_SKIPPED, NULL, "'%s' is no version", text);
		return;
	}
	for (unsigned i = 0; i < count; i++) {
		const struct version *mended = &defects[i].mended;

		if (compare_versions(&version, &defects[i].first) < 0 ||
		    compare_versions(&version, mended) >= 0)
			continue;
		any = true;
		check->source = defects[i].source;
		snprintf(mend, sizeof(mend), "take %u.%u.%u or later", mended->parts[0],
			 mended->parts[1], mended->parts[2]);
		found(check, STATUS_WRONG, mend, "%s: %s", text, defects[i].what);
	}
	if (!any)
		found(check, STATUS_OK, NULL, "%s: no known defect", text);
}

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

void check_kernel(struct check *check)
{
	char release[80];
	const int length =
		root_read(check->root, release, sizeof(release), "proc/sys/kernel/osrelease");

	if (length <= 0)
		skip_file(check, length, "/proc/sys/kernel/osrelease");
	else
		look_up(check, release, kernel_defects, COUNT(kernel_defects));
}

/* The name of the loaded library has the version: libibverbs.so.1.14.44.0 is rdma-core 44.0. */
void check_rdma_core(struct check *check)
{
	enum { MAPS_BYTES = 1 << 20 };
	static const char library[] = "/libibverbs.so.";
	char *maps = malloc(MAPS_BYTES), version[32] = "";
	const char *at;

	if (!maps)
		return;
	root_read(check->root, maps, MAPS_BYTES, "proc/self/maps");
	at = strstr(maps, library);
	if (at && sscanf(at + strlen(library), "%*u.%*u.%31[0-9.]", version) == 1)
		look_up(check, version, rdma_core_defects, COUNT(rdma_core_defects));
	else
		found(check, STATUS_SKIPPED, NULL, "the file name of libibverbs has no version");
	free(maps);
}

/* -- firmware ---------------------------------------------------------------------------------- */

/* The first number of a version is that of a family. */
static const struct {
	const char *model;
	struct version least;
} firmware[] = {
	{ "ConnectX-4", { { 12, 21, 1000 } } },  { "ConnectX-4 Lx", { { 14, 21, 1000 } } },
	{ "ConnectX-5", { { 16, 21, 1000 } } },  { "BlueField", { { 18, 25, 1010 } } },
	{ "ConnectX-6", { { 20, 27, 90 } } },    { "ConnectX-6 Dx", { { 22, 27, 90 } } },
	{ "BlueField-2", { { 24, 28, 1002 } } }, { "ConnectX-6 Lx", { { 26, 27, 90 } } },
	{ "ConnectX-7", { { 28, 33, 2028 } } },
};

/* Finds a device with the same board and other firmware. */
static bool find_other(struct check *check, const char *version, char other[80])
{
	char board[64], text[64];
	struct names devices;
	bool differs = false;

	if (root_read(check->root, board, sizeof(board), "sys/class/infiniband/%s/board_id",
		      check->device) <= 0)
		return false;
	root_list(check->root, &devices, "sys/class/infiniband");
	for (unsigned i = 0; i < devices.count && !differs; i++) {
		root_read(check->root, text, sizeof(text), "sys/class/infiniband/%s/board_id",
			  devices.list[i]);
		if (strcmp(text, board))
			continue;
		root_read(check->root, text, sizeof(text), "sys/class/infiniband/%s/fw_ver",
			  devices.list[i]);
		differs = strcmp(text, version);
		snprintf(other, 80, "%.32s of %.40s", text, devices.list[i]);
	}
	names_free(&devices);
	return differs;
}

void check_firmware(struct check *check)
{
	char text[64], other[80];
	const int length = root_read(check->root, text, sizeof(text),
				     "sys/class/infiniband/%s/fw_ver", check->device);
	struct version version;
	unsigned i = 0;

	if (length <= 0 || !parse_version(text, &version)) {
		skip_file(check, length > 0 ? 0 : length, "fw_ver");
		return;
	}
	while (i < COUNT(firmware) && firmware[i].least.parts[0] != version.parts[0])
		i++;
	if (find_other(check, text, other))
		found(check, STATUS_WRONG, "update one of them: mlxfwmanager, or flint",
		      "%s differs from %s, which has the same board", text, other);
	else if (i == COUNT(firmware))
		found(check, STATUS_NOTE, NULL, "%s, of a family that bsn-info does not know",
		      text);
	else if (compare_versions(&version, &firmware[i].least) < 0)
		found(check, STATUS_WRONG, "update it: mlxfwmanager, or flint",
		      "%s of %s is older than %u.%u.%04u", text, firmware[i].model,
		      firmware[i].least.parts[0], firmware[i].least.parts[1],
		      firmware[i].least.parts[2]);
	else
		found(check, STATUS_OK, NULL, "%s of %s", text, firmware[i].model);
}
