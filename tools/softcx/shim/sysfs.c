/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of /sys about the device, written as plain files into a directory of this process, with
 * the same links between its parts as on Linux. Event files are there, too.
 */
#include "shim.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../datasheet.h"
#include "../nic/counters.h"
#include "../nic/netdev.h"
#include "../os/raw.h"
#include "trees.h"

/* A PCI domain that no machine has. */
#define PCI_ROOT   "pci5cc5:00"
#define PCI_NAME   "5cc5:00:00.0"
#define PCI_DIR    "devices/" PCI_ROOT "/" PCI_NAME
#define IB_DIR     PCI_DIR "/infiniband/" CX_DEVICE_NAME
#define UVERBS_DIR PCI_DIR "/infiniband_verbs/" CX_UVERBS_NAME
#define PORT_DIR   IB_DIR "/ports/1"
#define DRIVER_DIR "bus/pci/drivers/mlx5_core"
#define RDMACM_DIR "devices/virtual/misc/" CX_RDMACM_NAME

static char root[64]; /* empty: there is no tree */
static char event_dir[80];
static pid_t owner;
static void *life;

/* The paths that are ours, below /sys. */
static const char *const prefixes[] = {
	"class/infiniband",
	"class/infiniband_verbs",
	"class/infiniband_mad",
	"devices/" PCI_ROOT,
	"bus/pci/devices/" PCI_NAME,
	DRIVER_DIR,
	"class/misc/" CX_RDMACM_NAME,
	RDMACM_DIR,
};

static const char *const links[][2] = {
	{ "class/infiniband/" CX_DEVICE_NAME, "../../" IB_DIR },
	{ "class/infiniband_verbs/" CX_UVERBS_NAME, "../../" UVERBS_DIR },
	{ "bus/pci/devices/" PCI_NAME, "../../../" PCI_DIR },
	{ IB_DIR "/device", "../.." },
	{ "class/misc/" CX_RDMACM_NAME, "../../" RDMACM_DIR },
	{ UVERBS_DIR "/device", "../.." },
	{ PCI_DIR "/driver", "../../../" DRIVER_DIR },
	{ DRIVER_DIR "/" PCI_NAME, "../../../../" PCI_DIR },
};

/* Errors, of which it has none (core/sysfs.c port_pma_attr_table). Of data: sysfs_told.c. */
#define ERROR_COUNTERS(X)                                                                          \
	X(symbol_error)                                                                            \
	X(link_error_recovery)                                                                     \
	X(link_downed)                                                                             \
	X(port_rcv_errors)                                                                         \
	X(port_rcv_remote_physical_errors)                                                         \
	X(port_rcv_switch_relay_errors)                                                            \
	X(port_xmit_discards)                                                                      \
	X(port_xmit_constraint_errors)                                                             \
	X(port_rcv_constraint_errors)                                                              \
	X(local_link_integrity_errors)                                                             \
	X(excessive_buffer_overrun_errors)                                                         \
	X(VL15_dropped)                                                                            \
	X(port_xmit_wait)

static const char *const constant_files[][2] = {
	{ "dev/infiniband/" CX_RDMACM_NAME, "" },
	{ RDMACM_DIR "/abi_version", "4" }, /* RDMA_USER_CM_ABI_VERSION */
	{ "dev/infiniband/" CX_UVERBS_NAME, "" }, /* for lists; open() knows the node */
	{ "class/infiniband_verbs/abi_version", "6" }, /* IB_USER_VERBS_ABI_VERSION */
	{ "class/infiniband_mad/abi_version", "5" },   /* IB_USER_MAD_ABI_VERSION; no umad */
	{ UVERBS_DIR "/abi_version", "1" },            /* MLX5_IB_UVERBS_ABI_VERSION */
	{ UVERBS_DIR "/ibdev", CX_DEVICE_NAME },
	{ IB_DIR "/node_type", "1: CA" },
	{ IB_DIR "/node_desc", "softcx" },
	{ IB_DIR "/hw_rev", "0" },
	{ PORT_DIR "/state", "4: ACTIVE" }, /* for readers by folder; others: sysfs_told.c */
	{ PORT_DIR "/phys_state", "5: LinkUp" },
#define COUNTER_FILE(name, doc) { PORT_DIR "/hw_counters/" #name, "0" },
	CX_COUNTERS(COUNTER_FILE)
#undef COUNTER_FILE
#define COUNTER_FILE(name) { PORT_DIR "/counters/" #name, "0" },
	ERROR_COUNTERS(COUNTER_FILE)
#undef COUNTER_FILE
#define DATA_FILE(name) { PORT_DIR "/counters/" name, "0" }
	DATA_FILE("port_xmit_data"), DATA_FILE("port_rcv_data"), DATA_FILE("port_xmit_packets"),
	DATA_FILE("port_rcv_packets"), DATA_FILE("unicast_xmit_packets"),
	DATA_FILE("unicast_rcv_packets"), DATA_FILE("multicast_xmit_packets"),
	DATA_FILE("multicast_rcv_packets"),
#undef DATA_FILE
	{ PORT_DIR "/hw_counters/lifespan", "10" }, /* RDMA_HW_STATS_DEFAULT_LIFESPAN */
	{ PORT_DIR "/lid_mask_count", "0" },
	{ PORT_DIR "/sm_sl", "0" },
	{ PCI_DIR "/vendor", "0x15b3" },
	{ PCI_DIR "/subsystem_vendor", "0x15b3" },
	{ PCI_DIR "/revision", "0x00" },
	{ PCI_DIR "/irq", "0" },
#define NO_RANGE "0x0000000000000000 0x0000000000000000 0x0000000000000000"
	{ PCI_DIR "/resource", /* the six that a device has; DPDK needs all of them */
	  NO_RANGE "\n" NO_RANGE "\n" NO_RANGE "\n" NO_RANGE "\n" NO_RANGE "\n" NO_RANGE },
#undef NO_RANGE
	{ PCI_DIR "/numa_node", "-1" },
	{ PCI_DIR "/current_link_speed", "16.0 GT/s PCIe" },
	{ PCI_DIR "/current_link_width", "16" },
	{ PCI_DIR "/max_link_speed", "16.0 GT/s PCIe" },
	{ PCI_DIR "/max_link_width", "16" },
};

/* -- writing ----------------------------------------------------------------------------------- */

/* Creates the directory above `path`; usually it exists. */
static int make_parent(char *path)
{
	char *slash = strrchr(path, '/');
	int err;

	*slash = '\0';
	err = mkdir(path, 0755) && errno != EEXIST ? -errno : 0;
	if (err == -ENOENT && strlen(path) > strlen(root)) {
		err = make_parent(path);
		if (!err && mkdir(path, 0755))
			err = -errno;
	}
	*slash = '/';
	return err;
}

/* Creates the directories above root/relative, and writes the whole name to `path`. */
static int make_path(const char *relative, char *path, size_t size)
{
	int length = snprintf(path, size, "%s/%s", root, relative);

	if (length < 0 || (size_t)length >= size)
		return -ENAMETOOLONG;
	return make_parent(path);
}

static FILE *create_file(const char *path)
{
	int fd = raw_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	return fd < 0 ? NULL : fdopen(fd, "w");
}

__attribute__((format(printf, 2, 3))) static int put(const char *relative, const char *format, ...)
{
	char path[256];
	FILE *file;
	va_list args;
	int err = make_path(relative, path, sizeof(path));

	if (err)
		return err;
	file = create_file(path);
	if (!file)
		return -errno;
	va_start(args, format);
	vfprintf(file, format, args);
	va_end(args);
	fputc('\n', file);
	return fclose(file) ? -errno : 0;
}

__attribute__((format(printf, 3, 4))) static int put_numbered(const char *dir, unsigned number,
							      const char *format, ...)
{
	char relative[160], text[64];
	va_list args;

	snprintf(relative, sizeof(relative), "%s/%u", dir, number);
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return put(relative, "%s", text);
}

static int put_links(void)
{
	char path[256];

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		int err = make_path(links[i][0], path, sizeof(path));

		if (err)
			return err;
		if (symlink(links[i][1], path))
			return -errno;
	}
	return 0;
}

static int put_constant_files(void)
{
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(constant_files) / sizeof(constant_files[0]); i++)
		err = put(constant_files[i][0], "%s", constant_files[i][1]);
	return err;
}

/* All CPUs are near: words of 32 bits, the highest first. */
static int put_local_cpus(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	char text[512];
	size_t at = 0;

	for (long word = (cpus - 1) / 32; word >= 0 && at < sizeof(text) - 10; word--) {
		long left = cpus - word * 32;
		uint32_t bits = left >= 32 ? UINT32_MAX : (UINT32_C(1) << left) - 1;

		at += (size_t)snprintf(text + at, sizeof(text) - at, "%08" PRIx32 "%s", bits,
				       word ? "," : "");
	}
	return put(PCI_DIR "/local_cpus", "%s", text);
}

/* The first 64 bytes of configuration space (PCI Local Bus 3.0, 6.1), little-endian. */
static int put_pci_config(uint16_t device_id, unsigned class)
{
	const uint16_t header[32] = {
		[0x00 / 2] = CX_PCI_VENDOR_ID,
		[0x02 / 2] = device_id,
		[0x04 / 2] = 0x0406, /* memory, bus master, no INTx */
		[0x0a / 2] = (uint16_t)(class >> 8),
		[0x2c / 2] = CX_PCI_VENDOR_ID,
		[0x2e / 2] = CX_PCI_SUBSYSTEM_ID,
	};
	char path[256];
	FILE *file;
	int err = make_path(PCI_DIR "/config", path, sizeof(path));

	if (err)
		return err;
	file = create_file(path);
	if (!file)
		return -errno;
	fwrite(header, sizeof(header), 1, file);
	return fclose(file) ? -errno : 0;
}

/* The kernel's files of the device, and its configuration space. */
static int put_pci(const struct cx_config *config)
{
	const unsigned device_id = cx_datasheet(config->generation)->pci_device_id;
	/* PCI class codes: an Ethernet controller, or one of InfiniBand */
	const unsigned class = config->link == CX_LINK_ROCE ? 0x020000 : 0x020700;
	char alias[64];
	int err;

	snprintf(alias, sizeof(alias), "pci:v%08Xd%08Xsv%08Xsd%08Xbc02sc%02xi00", CX_PCI_VENDOR_ID,
		 device_id, CX_PCI_VENDOR_ID, CX_PCI_SUBSYSTEM_ID, class >> 8 & 0xff);
	err = put(PCI_DIR "/device", "0x%04x", device_id);
	if (!err)
		err = put(PCI_DIR "/class", "0x%06x", class);
	if (!err)
		err = put(PCI_DIR "/subsystem_device", "0x%04x", CX_PCI_SUBSYSTEM_ID);
	if (!err)
		err = put(PCI_DIR "/modalias", "%s", alias);
	if (!err)
		err = put(PCI_DIR "/uevent",
			  "DRIVER=mlx5_core\nPCI_CLASS=%X\nPCI_ID=%04X:%04X\n"
			  "PCI_SUBSYS_ID=%04X:%04X\nPCI_SLOT_NAME=" PCI_NAME "\nMODALIAS=%s",
			  class, CX_PCI_VENDOR_ID, device_id, CX_PCI_VENDOR_ID,
			  CX_PCI_SUBSYSTEM_ID, alias);
	if (!err)
		err = put_pci_config((uint16_t)device_id, class);
	return err ? err : put_local_cpus();
}

static int put_device(const struct cx_config *config)
{
	const struct cx_datasheet *model = cx_datasheet(config->generation);
	uint64_t guid = cx_node_guid(config);
	char text[24];
	int err;

	snprintf(text, sizeof(text), "%04x:%04x:%04x:%04x", (unsigned)(guid >> 48),
		 (unsigned)(guid >> 32) & 0xffff, (unsigned)(guid >> 16) & 0xffff,
		 (unsigned)guid & 0xffff);
	err = put(IB_DIR "/node_guid", "%s", text);
	if (!err)
		err = put(IB_DIR "/sys_image_guid", "%s", text);
	if (!err)
		err = put(IB_DIR "/board_id", "%s", model->board_id);
	if (!err)
		err = put(IB_DIR "/hca_type", "%s", model->hca_type);
	if (!err)
		err = put(IB_DIR "/fw_ver", "%u.%u.%04u", model->fw_major, model->fw_minor,
			  model->fw_sub);
	if (!err)
		err = put(UVERBS_DIR "/dev", "%d:%d", CX_UVERBS_MAJOR, CX_UVERBS_MINOR);
	if (!err)
		err = put(RDMACM_DIR "/dev", "%d:%d", CX_RDMACM_MAJOR, CX_RDMACM_MINOR);
	return err ? err : put_pci(config);
}

static int put_gid(const struct cx_config *config, unsigned index)
{
	struct cx_gid gid = { 0 };
	char text[40];
	int err, empty = cx_gid_get(config, index, &gid);

	for (unsigned i = 0; i < 8; i++)
		snprintf(text + 5 * i, sizeof(text) - 5 * i, "%02x%02x%s", gid.gid.raw[2 * i],
			 gid.gid.raw[2 * i + 1], i < 7 ? ":" : "");
	err = put_numbered(PORT_DIR "/gids", index, "%s", text);
	/*
	 * An empty entry has no type: the kernel's file returns EINVAL, ours does not exist. The
	 * same is so of its interface.
	 */
	if (err || empty)
		return err;
	err = put_numbered(PORT_DIR "/gid_attrs/types", index, "%s",
			   gid.type == IBV_GID_TYPE_ROCE_V2 ? "RoCE v2" : "IB/RoCE v1");
	if (!err && config->netdev)
		err = put_numbered(PORT_DIR "/gid_attrs/ndevs", index, "%s", config->netdev->name);
	return err;
}

/* device/net/NAME: the machine's own folder of the interface. */
static int put_netdev(const struct cx_netdev *netdev)
{
	char relative[sizeof(PCI_DIR) + 32], path[256], target[64];
	int err;

	snprintf(relative, sizeof(relative), PCI_DIR "/net/%s", netdev->name);
	snprintf(target, sizeof(target), "/sys/class/net/%s", netdev->name);
	err = make_path(relative, path, sizeof(path));
	if (err)
		return err;
	return symlink(target, path) ? -errno : 0;
}

static int put_port(const struct cx_config *config)
{
	const struct cx_datasheet *model = cx_datasheet(config->generation);
	const unsigned lanes = cx_port_lanes(config);
	bool roce = config->link == CX_LINK_ROCE;
	int err = put(PORT_DIR "/link_layer", "%s", roce ? "Ethernet" : "InfiniBand");

	if (!err)
		err = put(PORT_DIR "/rate", "%u Gb/sec (%uX %s)", lanes * model->lane_gbps, lanes,
			  model->speed);
	if (!err)
		err = put(PORT_DIR "/lid", "0x%x", roce ? 0 : CX_LID);
	if (!err)
		err = put(PORT_DIR "/sm_lid", "0x%x", roce ? 0 : CX_LID);
	if (!err)
		err = put(PORT_DIR "/cap_mask", "0x%08x", cx_port_cap_flags(config));
	for (unsigned i = 0; !err && i < cx_gid_table_len(config); i++)
		err = put_gid(config, i);
	for (unsigned i = 0; !err && i < cx_pkey_table_len(config); i++)
		err = put_numbered(PORT_DIR "/pkeys", i, "0x%04x", cx_pkey_get(config, i));
	if (!err && config->netdev)
		err = put_netdev(config->netdev);
	return err;
}

/* -- what changes ------------------------------------------------------------------------------ */

static const struct sysfs_told *find_told(const char *relative)
{
	static const char *const folders[] = { IB_DIR "/", "class/infiniband/" CX_DEVICE_NAME "/" };

	for (unsigned f = 0; f < sizeof(folders) / sizeof(folders[0]); f++)
		if (!strncmp(relative, folders[f], strlen(folders[f])))
			return sysfs_find_told(relative + strlen(folders[f]));
	return NULL;
}

/* A new file each time, so that a program that has the old one open keeps its snapshot. */
static void write_told(struct cx_hca *hca, const struct sysfs_told *what)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	char path[160], fresh[168];
	FILE *file;

	snprintf(path, sizeof(path), "%s/" IB_DIR "/%s", root, what->name);
	snprintf(fresh, sizeof(fresh), "%s.new", path);
	pthread_mutex_lock(&lock);
	file = create_file(fresh);
	if (file) {
		what->print(hca, file);
		if (fclose(file) || rename(fresh, path))
			unlink(fresh);
	}
	pthread_mutex_unlock(&lock);
}

/* -- PCI --------------------------------------------------------------------------------------- */

/* The list that programs walk, with the machine's devices and ours: its path below /sys. */
#define PCI_LIST "bus/pci/devices"

static bool is_pci_list(const char *relative)
{
	const size_t length = strlen(PCI_LIST);

	return !strncmp(relative, PCI_LIST, length) &&
	       !relative[length + strspn(relative + length, "/")];
}

/* Links to what the machine has, created at the first look. */
static void put_machine_devices(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int fd = raw_open("/sys/" PCI_LIST, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	pthread_mutex_lock(&lock);
	while (dir && (entry = readdir(dir))) {
		char path[400], target[300];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(target, sizeof(target), "/sys/" PCI_LIST "/%s", entry->d_name);
		snprintf(path, sizeof(path), "%s/" PCI_LIST "/%s", root, entry->d_name);
		if (symlink(target, path) && errno != EEXIST)
			break;
	}
	pthread_mutex_unlock(&lock);
	if (dir)
		closedir(dir);
}

/* -- the directory ----------------------------------------------------------------------------- */

int sysfs_create(const struct cx_config *config)
{
	int err;

	trees_sweep();
	err = trees_create(root, sizeof(root), &life);
	if (err)
		return err;
	owner = getpid();
	snprintf(event_dir, sizeof(event_dir), "%s/events", root);
	err = mkdir(event_dir, 0700) ? -errno : 0;
	if (!err)
		err = put_links();
	if (!err)
		err = put_constant_files();
	if (!err)
		err = put_device(config);
	if (!err)
		err = put_port(config);
	if (err)
		sysfs_remove();
	return err;
}

void sysfs_remove(void)
{
	if (root[0] && owner == getpid())
		trees_remove(root, life);
	root[0] = '\0';
}

void sysfs_disown(void)
{
	root[0] = '\0';
}

const char *sysfs_event_dir(void)
{
	return event_dir;
}

/* -- redirection ------------------------------------------------------------------------------- */

/* The folder of the device nodes, a name that no part of /sys has. */
#define NODES "/dev/infiniband"

static bool is_nodes(const char *path)
{
	const size_t length = strlen(NODES);

	return !strncmp(path, NODES, length) && !path[length + strspn(path + length, "/")];
}

bool sysfs_is_ours(const char *path)
{
	if (!path)
		return false;
	if (strncmp(path, "/sys/", 5))
		return is_nodes(path);
	if (is_pci_list(path + 5))
		return true;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t length = strlen(prefixes[i]);

		if (!strncmp(path + 5, prefixes[i], length) &&
		    (!path[5 + length] || path[5 + length] == '/'))
			return true;
	}
	return false;
}

const char *sysfs_redirect(struct cx_hca *hca, const char *path, char *buf, size_t size)
{
	const char *relative = path + (is_nodes(path) ? 1 : 5);
	int length = snprintf(buf, size, "%s/%s", root, relative);
	const struct sysfs_told *what = find_told(relative);

	if (what)
		write_told(hca, what);
	if (is_pci_list(relative))
		put_machine_devices();
	return length > 0 && (size_t)length < size ? buf : NULL;
}

const char *sysfs_real(const char *path, char *buf, size_t size)
{
	size_t length = strlen(root);
	int written;

	if (!length || strncmp(path, root, length) || path[length] != '/')
		return NULL;
	path += length;
	written = snprintf(buf, size, "%s%s", is_nodes(path) ? "" : "/sys", path);
	return written > 0 && (size_t)written < size ? buf : NULL;
}
