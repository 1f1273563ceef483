/* SPDX-License-Identifier: BSD-2-Clause */
/* Devices: opens one, and chooses its path. */
#include "path.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* -- which path -------------------------------------------------------------------------------- */

static int wanted_path(const struct bsn_device_attr *attr, enum bsn_path *path)
{
	const char *env = getenv("BSN_PATH");

	*path = attr->path;
	if ((unsigned)*path > BSN_PATH_VERBS)
		return fail(EINVAL, "%d is not an enum bsn_path", (int)*path);
	if (*path != BSN_PATH_AUTO || !env || !*env)
		return 0;
	if (!strcmp(env, direct_path.name))
		*path = BSN_PATH_DIRECT;
	else if (!strcmp(env, verbs_path.name))
		*path = BSN_PATH_VERBS;
	else if (strcmp(env, "auto"))
		return fail(EINVAL, "BSN_PATH=%s: use direct, verbs or auto", env);
	return 0;
}

static int resolve_path(struct bsn_device *device, bool is_mlx5)
{
	const char *name = ibv_get_device_name(device->context->device);
	enum bsn_path path;
	const int err = wanted_path(&device->attr, &path);

	if (err)
		return err;
	if (path == BSN_PATH_DIRECT && !is_mlx5)
		return fail(ENOTSUP, "%s is not driven by libmlx5: open it with path auto or verbs",
			    name);
	device->path = is_mlx5 && path != BSN_PATH_VERBS ? &direct_path : &verbs_path;
	device->info.path = device->path->path;
	snprintf(device->path_why, sizeof(device->path_why), "%s",
		 !is_mlx5                 ? "plain verbs, since libmlx5 does not drive this device"
		 : path == BSN_PATH_VERBS ? "plain verbs, as asked for"
					  : "direct, since libmlx5 drives this device");
	device->info.path_why = device->path_why;
	device->no_direct = device->path == &direct_path ? NULL : device->path_why;
	device->no_blueflame = provider_no_blueflame();
	return 0;
}

static int wanted_store(struct bsn_device *device)
{
	const char *env = getenv("BSN_STORE");
	enum bsn_store store = device->attr.store;
	uint8_t target[64] __attribute__((aligned(64)));

	if (store == BSN_STORE_AUTO && env && *env) {
		for (store = BSN_STORE_AUTO; store < BSN_STORE_COUNT; store++)
			if (!strcmp(env, bsn_store_name(store)))
				break;
#define LISTED(NAME, name) " " name
		if (store == BSN_STORE_COUNT)
			return fail(EINVAL, "BSN_STORE=%s: use one of" BSN_STORES(LISTED), env);
#undef LISTED
	}
	if ((unsigned)store >= BSN_STORE_COUNT)
		return fail(EINVAL, "%d is not an enum bsn_store", (int)store);
	if (!bsn_store_supported(store))
		return fail(ENOTSUP, "this CPU has no %s store; use auto", bsn_store_name(store));
	device->info.store = store == BSN_STORE_AUTO ? bsn_store_choose(target) : store;
	device->info.store_name = bsn_store_name(device->info.store);
	return 0;
}

/* -- opening ----------------------------------------------------------------------------------- */

static struct ibv_device *pick(struct ibv_device **list, const char *name)
{
	for (int i = 0; list[i]; i++)
		if (name ? !strcmp(ibv_get_device_name(list[i]), name) : provider_is_mlx5(list[i]))
			return list[i];
	return name ? NULL : list[0];
}

/*
 * Whether the process may not open the device's file. If libibverbs cannot open it, it tries a
 * second name (its util/open_cdev.c), so errno may not be the cause.
 */
static bool is_forbidden(const struct ibv_device *found, int error)
{
	char file[64 + sizeof(found->dev_name)];
	int fd;

	if (error == EACCES || error == EPERM)
		return true;
	snprintf(file, sizeof(file), "/dev/infiniband/%s", found->dev_name);
	fd = open(file, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return errno == EACCES || errno == EPERM;
	close(fd);
	return false;
}

static int open_context(const char *name, struct bsn_device *device, bool *is_mlx5)
{
	struct ibv_device **list;
	struct ibv_device *found;
	int err;

	errno = 0;
	list = ibv_get_device_list(NULL);
	if (!list && errno == ENOMEM)
		return fail(ENOMEM, "no memory for the list of devices");
	if (!name || !*name)
		name = getenv("BSN_DEVICE");
	if (name && !*name)
		name = NULL;
	found = list ? pick(list, name) : NULL;
	if (!found) {
		if (list)
			ibv_free_device_list(list);
		return name ? fail(ENODEV, "no RDMA device %s: bsn-info lists the devices", name)
			    : fail(ENODEV, "no RDMA device: load the driver, or run under softcx");
	}
	*is_mlx5 = provider_is_mlx5(found);
	err = provider_open(found, *is_mlx5, &device->context);
	if (err && is_forbidden(found, -err))
		err = fail(EACCES,
			   "no permission to open %s: check the permissions of /dev/infiniband",
			   ibv_get_device_name(found));
	else if (err)
		err = fail(-err, "cannot open %s: %s", ibv_get_device_name(found), strerror(-err));
	device->owns_context = !err;
	ibv_free_device_list(list);
	return err;
}

/* A misspelt name would set nothing, and nobody would notice. */
static void tell_of_unknown_variables(const struct bsn_device *device)
{
	static const char *const known[] = { "BSN_CHECK", "BSN_DEVICE",   "BSN_LOG",
					     "BSN_PATH",  "BSN_REGISTRY", "BSN_STORE" };

	for (char **variable = environ; variable && *variable; variable++) {
		const size_t length = strcspn(*variable, "=");
		bool is_known = strncmp(*variable, "BSN_", 4) != 0;

		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			is_known |=
				strlen(known[i]) == length && !strncmp(*variable, known[i], length);
		if (!is_known)
			say(device, "%.*s is no variable of this library: bunsen(7) lists them",
			    (int)length, *variable);
	}
}

/* Sets the device up when its context is open. */
static int set_up(struct bsn_device *device, bool is_mlx5)
{
	bool is_logged; /* not used: say() reads BSN_LOG itself; this refuses other values */
	int err = switch_on("BSN_LOG", &is_logged);

	log_refusals();
	if (!err)
		err = resolve_path(device, is_mlx5);
	if (!err)
		err = wanted_store(device);
	if (!err)
		err = registry_open(device);
	if (!err)
		err = checks_open(device);
	if (!err)
		err = query_device(device);
	if (err)
		return err;
	list_features(device);
	errno = 0;
	device->default_pd.device = device;
	device->default_pd.verbs = ibv_alloc_pd(device->context);
	if (!device->default_pd.verbs)
		return fail(errno ? errno : ENOMEM, "no protection domain on %s",
			    device->info.name);
	list_regions(device);
	list_dc(device);
	pthread_mutex_init(&device->lock, NULL);
	pthread_mutex_init(&device->cq_lock, NULL);
	say(device, "%s: %s", device->info.name, device->path_why);
	tell_of_unknown_variables(device);
	return 0;
}

static int check_layout(uint32_t version)
{
	if (version <= BSN_LAYOUT_VERSION)
		return 0;
	return fail(EPROTO,
		    "compiled with the headers of a later libbunsen, of layout %u; this one knows "
		    "%u: install the later library, or compile with this one's headers",
		    version, BSN_LAYOUT_VERSION);
}

int bsn_device_open_layout(const char *name, const struct bsn_device_attr *attr,
			   uint32_t layout_version, struct bsn_device **out)
{
	struct bsn_device *device;
	bool is_mlx5 = false;
	int err = check_layout(layout_version);

	if (err)
		return err;
	if (!out)
		return fail(EINVAL, "no place for the device");
	device = calloc(1, sizeof(*device));
	if (!device)
		return fail(ENOMEM, "no memory");
	if (attr)
		device->attr = *attr;
	err = open_context(name, device, &is_mlx5);
	if (!err)
		err = set_up(device, is_mlx5);
	if (err) {
		if (device->owns_context)
			ibv_close_device(device->context);
		free(device);
		return err;
	}
	*out = device;
	return 0;
}

int bsn_device_attach_layout(struct ibv_context *context, const struct bsn_device_attr *attr,
			     uint32_t layout_version, struct bsn_device **out)
{
	struct bsn_device *device;
	int err = check_layout(layout_version);

	if (err)
		return err;
	if (!context || !out)
		return fail(EINVAL, "no context, or no place for the device");
	device = calloc(1, sizeof(*device));
	if (!device)
		return fail(ENOMEM, "no memory");
	if (attr)
		device->attr = *attr;
	device->context = context;
	err = set_up(device, provider_is_mlx5(context->device));
	if (err) {
		free(device);
		return err;
	}
	*out = device;
	return 0;
}

/* "mlx5_0 still has 1 CQ, 2 QPs: …" */
static int check_unused(const struct bsn_device *device)
{
	static const char *const names[DEVICE_USES] = {
		[OF_LANES] = "lane(s)",
		[OF_PDS] = "protection domain(s)",
		[OF_MEMORY] = "memory region(s)",
		[OF_MKEY_POOLS] = "mkey pool(s)",
		[OF_CHANNELS] = "channel(s)",
		[OF_CQS] = "CQ(s)",
		[OF_SRQS] = "SRQ(s)",
		[OF_QPS] = "QP(s)",
		[OF_DCTS] = "DCT(s)",
		[OF_XRCDS] = "XRC domain(s)",
	};
	char list[160] = "";
	size_t used = 0;

	for (int kind = 0; kind < DEVICE_USES; kind++) {
		const unsigned count = atomic_load(&device->uses[kind].count);
		if (count && used < sizeof(list))
			used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%u %s",
						 used ? ", " : "", count, names[kind]);
	}
	if (!used)
		return 0;
	return fail(EBUSY, "%s still has %s: destroy them first", device->info.name, list);
}

static int read_clock(struct bsn_device *device, uint64_t *ticks)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	const int err = provider_error_of_int(ibv_query_rt_values_ex(device->context, &values));

	if (err == -ENOSYS || err == -EOPNOTSUPP || (!err && !values.comp_mask))
		return fail(EOPNOTSUPP, "the clock of %s cannot be read: its driver shows none",
			    device->info.name);
	if (err)
		return fail(-err, "cannot read the clock of %s: %s", device->info.name,
			    strerror(-err));
	*ticks = (uint64_t)values.raw_clock.tv_nsec; /* libmlx5 puts the ticks there */
	return 0;
}

int bsn_device_clock(struct bsn_device *device, enum bsn_timestamps as, uint64_t *now)
{
	uint64_t ticks = 0;
	int err;

	if (!device || !now)
		return fail(EINVAL, "no device, or no place for the time");
	if (as == BSN_TIMESTAMPS_REAL_TIME)
		return fail(EOPNOTSUPP, "no program can read the real-time clock, only CQEs have "
					"it: ask for BSN_TIMESTAMPS_NS, which is close");
	if (as != BSN_TIMESTAMPS_RAW && as != BSN_TIMESTAMPS_NS)
		return fail(EINVAL, "a clock is read as BSN_TIMESTAMPS_RAW or _NS, not as %d",
			    (int)as);
	if (as == BSN_TIMESTAMPS_NS && !provider_has_clock_info(device->context))
		return fail(EOPNOTSUPP,
			    "the kernel does not say how to convert ticks of %s to nanoseconds: "
			    "ask for BSN_TIMESTAMPS_RAW",
			    device->info.name);
	err = read_clock(device, &ticks);
	if (!err)
		*now = as == BSN_TIMESTAMPS_RAW ? ticks
						: provider_ns_of_ticks(device->context, ticks);
	return err;
}

int bsn_device_close(struct bsn_device *device)
{
	int err;

	if (!device)
		return 0;
	err = check_unused(device);
	if (err)
		return err;
	cq_forget_idle(device);
	ibv_dealloc_pd(device->default_pd.verbs);
	if (device->owns_context)
		ibv_close_device(device->context);
	pthread_mutex_destroy(&device->cq_lock);
	pthread_mutex_destroy(&device->lock);
	free(device);
	return 0;
}

const struct bsn_device_info *bsn_device_info(const struct bsn_device *device)
{
	return device ? &device->info : NULL;
}
