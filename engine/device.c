/* SPDX-License-Identifier: BSD-2-Clause */
/* Devices: which one, by which path and why, what it can do; protection domains; events. */
#include "engine.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* -- which path --------------------------------------------------------------------------------- */

static int wanted_path(const struct bsn_device_attr *attr, enum bsn_path *path)
{
	const char *env = getenv("BSN_PATH");

	*path = attr->path;
	if ((unsigned)*path > BSN_PATH_VERBS)
		return fail(EINVAL, "no such path: %d", (int)*path);
	if (*path != BSN_PATH_AUTO || !env || !*env)
		return 0;
	if (!strcmp(env, "direct"))
		*path = BSN_PATH_DIRECT;
	else if (!strcmp(env, "verbs"))
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
	device->direct = is_mlx5 && path != BSN_PATH_VERBS;
	device->info.path = device->direct ? BSN_PATH_DIRECT : BSN_PATH_VERBS;
	snprintf(device->path_why, sizeof(device->path_why), "%s",
		 !is_mlx5              ? "plain verbs, since libmlx5 does not drive this device" :
		 path == BSN_PATH_VERBS ? "plain verbs, as asked for" :
					  "direct, since libmlx5 drives this device");
	device->info.path_why = device->path_why;
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
		if (store == BSN_STORE_COUNT)
			return fail(EINVAL, "BSN_STORE=%s: use auto, 8x8, 4x16, avx512, movdir64b, "
					    "st64b or doorbell", env);
	}
	if ((unsigned)store >= BSN_STORE_COUNT)
		return fail(EINVAL, "no such store: %d", (int)store);
	if (!bsn_store_supported(store))
		return fail(ENOTSUP, "this CPU has no %s store; use auto", bsn_store_name(store));
	device->info.store = store == BSN_STORE_AUTO ? bsn_store_choose(target) : store;
	return 0;
}

/* -- what it can do ----------------------------------------------------------------------------- */

static bool is_ipv4(const union ibv_gid *gid)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, prefix, sizeof(prefix));
}

/* How well an entry of the GID table serves RoCE: v2 over IPv4 is what most networks route. */
static int rank_gid(const struct ibv_gid_entry *entry)
{
	union ibv_gid gid = entry->gid;

	if (entry->gid_type == IBV_GID_TYPE_ROCE_V2)
		return is_ipv4(&gid) ? 3 : 2;
	return 1;
}

static void choose_gid(struct bsn_device *device)
{
	int best = 0;

	for (int i = 0; i < device->port.gid_tbl_len; i++) {
		struct ibv_gid_entry entry;
		if (ibv_query_gid_ex(device->context, device->info.port, (uint32_t)i, &entry, 0))
			continue;
		if (device->port.link_layer == IBV_LINK_LAYER_ETHERNET ? rank_gid(&entry) <= best :
									 best > 0)
			continue;
		best = device->port.link_layer == IBV_LINK_LAYER_ETHERNET ? rank_gid(&entry) : 1;
		device->info.gid_index = (uint8_t)i;
		memcpy(device->info.gid, entry.gid.raw, sizeof(device->info.gid));
	}
}

static int query_port(struct bsn_device *device)
{
	const uint8_t wanted = device->attr.port;
	const uint8_t last = wanted ? wanted : device->limits.phys_port_cnt;

	for (uint8_t port = wanted ? wanted : 1; port <= last; port++) {
		const int err = provider_error_of_int(
			ibv_query_port(device->context, port, &device->port));
		if (err)
			return fail(-err, "%s has no port %u", device->info.name, port);
		device->info.port = port;
		if (device->port.state == IBV_PORT_ACTIVE)
			break;
	}
	device->info.link_layer = device->port.link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" :
										       "InfiniBand";
	device->info.port_state = ibv_port_state_str(device->port.state);
	device->info.lid = device->port.lid;
	device->info.active_mtu = 128u << device->port.active_mtu;
	choose_gid(device);
	return 0;
}

static void add_feature(struct bsn_device *device, const char *name, const char *why_not)
{
	device->info.features[device->info.feature_count++] =
		(struct bsn_feature){ .name = name, .why_not = why_not };
}

static void list_features(struct bsn_device *device)
{
	const char *no_mlx5 = device->direct ? NULL : device->path_why;

	add_feature(device, "direct", no_mlx5);
	add_feature(device, "blueflame",
		    !device->direct                           ? no_mlx5 :
		    device->info.store == BSN_STORE_DOORBELL ? "8-byte doorbells were asked for" :
							       NULL);
	add_feature(device, "atomics",
		    device->limits.atomic_cap != IBV_ATOMIC_NONE ? NULL : "the device has none");
	add_feature(device, "srq", device->limits.max_srq ? NULL : "the device has none");
	add_feature(device, "masked-atomics", "it needs a query that verbs do not have");
	add_feature(device, "inline-receive", "not offered yet");
}

static int query_device(struct bsn_device *device)
{
	struct bsn_device_info *info = &device->info;
	const struct ibv_device_attr *limits = &device->limits;
	int err;

	info->name = ibv_get_device_name(device->context->device);
	err = provider_error_of_int(ibv_query_device(device->context, &device->limits));
	if (err)
		return fail(-err, "%s does not tell its limits: %s", info->name, strerror(-err));
	info->max_qp = (uint32_t)limits->max_qp;
	info->max_cq = (uint32_t)limits->max_cq;
	info->max_mr = (uint32_t)limits->max_mr;
	info->max_srq = (uint32_t)limits->max_srq;
	info->max_send_wr = (uint32_t)limits->max_qp_wr;
	info->max_sge = (uint32_t)limits->max_sge;
	info->max_cqe = (uint32_t)limits->max_cqe;
	info->max_rd_atomic = (uint32_t)(limits->max_qp_rd_atom < limits->max_qp_init_rd_atom ?
						 limits->max_qp_rd_atom :
						 limits->max_qp_init_rd_atom);
	return query_port(device);
}

int destroyed(struct bsn_device *device, int result)
{
	const int err = provider_error_of_int(result);

	if (err == -EIO)
		atomic_store(&device->is_gone, true);
	return atomic_load(&device->is_gone) ? 0 : err;
}

/* -- opening ------------------------------------------------------------------------------------ */

static struct ibv_device *pick(struct ibv_device **list, const char *name)
{
	for (int i = 0; list[i]; i++)
		if (name ? !strcmp(ibv_get_device_name(list[i]), name) : provider_is_mlx5(list[i]))
			return list[i];
	return name ? NULL : list[0];
}

/*
 * libibverbs looks for the device's file under a second name where the first cannot be opened (its
 * util/open_cdev.c), so that what it says last need not be the cause.
 */
static bool is_forbidden(const struct ibv_device *found, int error)
{
	char path[64 + sizeof(found->dev_name)];
	int fd;

	if (error == EACCES || error == EPERM)
		return true;
	snprintf(path, sizeof(path), "/dev/infiniband/%s", found->dev_name);
	fd = open(path, O_RDWR | O_CLOEXEC);
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
		return name ? fail(ENODEV, "no RDMA device %s: see ibv_devices", name) :
			      fail(ENODEV, "no RDMA device: load the driver, or run under softcx");
	}
	*is_mlx5 = provider_is_mlx5(found);
	err = provider_open(found, *is_mlx5, &device->context);
	if (err && is_forbidden(found, -err))
		err = fail(EACCES, "no permission to open %s: see the rights of /dev/infiniband",
			   ibv_get_device_name(found));
	else if (err)
		err = fail(-err, "cannot open %s: %s", ibv_get_device_name(found), strerror(-err));
	device->owns_context = !err;
	ibv_free_device_list(list);
	return err;
}

/* The rest, once there is a context. */
static int set_up(struct bsn_device *device, bool is_mlx5)
{
	int err = resolve_path(device, is_mlx5);

	if (!err)
		err = wanted_store(device);
	if (!err)
		err = registry_open(device);
	if (!err)
		err = query_device(device);
	if (err)
		return err;
	list_features(device);
	errno = 0;
	device->default_pd.device = device;
	device->default_pd.verbs = ibv_alloc_pd(device->context);
	if (!device->default_pd.verbs)
		return fail(errno ? errno : ENOMEM, "no protection domain on %s", device->info.name);
	pthread_mutex_init(&device->lock, NULL);
	say(device, "%s: %s", device->info.name, device->path_why);
	return 0;
}

int bsn_device_open_layout(const char *name, const struct bsn_device_attr *attr,
			   uint32_t layout_version, struct bsn_device **out)
{
	struct bsn_device *device;
	bool is_mlx5 = false;
	int err;

	if (!out)
		return fail(EINVAL, "no place for the device");
	if (layout_version != BSN_LAYOUT_VERSION)
		return fail(EPROTO, "compiled with layout %u, this libbunsen has %u: compile anew",
			    layout_version, BSN_LAYOUT_VERSION);
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

int bsn_device_attach(struct ibv_context *context, const struct bsn_device_attr *attr,
		      struct bsn_device **out)
{
	struct bsn_device *device;
	int err;

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

int bsn_device_close(struct bsn_device *device)
{
	if (!device)
		return 0;
	if (atomic_load(&device->uses.count) || atomic_load(&device->default_pd.uses.count))
		return fail(EBUSY, "%s still has objects: destroy them first", device->info.name);
	ibv_dealloc_pd(device->default_pd.verbs);
	if (device->owns_context)
		ibv_close_device(device->context);
	pthread_mutex_destroy(&device->lock);
	free(device);
	return 0;
}

const struct bsn_device_info *bsn_device_info(const struct bsn_device *device)
{
	return device ? &device->info : NULL;
}

struct ibv_context *bsn_device_verbs(struct bsn_device *device)
{
	return device ? device->context : NULL;
}

/* -- protection domains ------------------------------------------------------------------------- */

int bsn_pd_create(struct bsn_device *device, struct bsn_pd **out)
{
	struct bsn_pd *pd;

	if (!device || !out)
		return fail(EINVAL, "no device, or no place for the protection domain");
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return fail(ENOMEM, "no memory");
	errno = 0;
	pd->device = device;
	pd->verbs = ibv_alloc_pd(device->context);
	if (!pd->verbs) {
		free(pd);
		return fail(errno ? errno : ENOMEM, "no protection domain on %s", device->info.name);
	}
	use(&device->uses);
	*out = pd;
	return 0;
}

int bsn_pd_destroy(struct bsn_pd *pd)
{
	int err;

	if (!pd)
		return 0;
	if (atomic_load(&pd->uses.count))
		return fail(EBUSY, "memory or queues still use this protection domain");
	err = destroyed(pd->device, ibv_dealloc_pd(pd->verbs));
	if (err)
		return fail(-err, "the protection domain is in use outside of Bunsen");
	unuse(&pd->device->uses);
	free(pd);
	return 0;
}

/* -- events ------------------------------------------------------------------------------------- */

int bsn_device_event_fd(const struct bsn_device *device)
{
	return device ? device->context->async_fd : -EINVAL;
}

/* The three lists differ in the type of their elements only. */
#define DEFINE_LIST(object, list)                                                                  \
	void list_##object(struct object##_object *o)                                              \
	{                                                                                          \
		pthread_mutex_lock(&o->device->lock);                                              \
		o->next = o->device->list;                                                         \
		o->device->list = o;                                                               \
		pthread_mutex_unlock(&o->device->lock);                                            \
	}                                                                                          \
	void unlist_##object(struct object##_object *o)                                            \
	{                                                                                          \
		struct object##_object **at = &o->device->list;                                    \
		pthread_mutex_lock(&o->device->lock);                                              \
		while (*at != o)                                                                   \
			at = &(*at)->next;                                                         \
		*at = o->next;                                                                     \
		pthread_mutex_unlock(&o->device->lock);                                            \
	}
DEFINE_LIST(qp, qps)
DEFINE_LIST(cq, cqs)
DEFINE_LIST(srq, srqs)

static struct bsn_cq *find_cq(struct bsn_device *device, const struct ibv_cq *verbs)
{
	for (struct cq_object *cq = device->cqs; cq; cq = cq->next)
		if (cq->verbs == verbs)
			return &cq->hot;
	return NULL;
}

static struct bsn_qp *find_qp(struct bsn_device *device, const struct ibv_qp *verbs)
{
	for (struct qp_object *qp = device->qps; qp; qp = qp->next)
		if (qp->verbs == verbs)
			return (struct bsn_qp *)(void *)qp;
	return NULL;
}

static struct bsn_rq *find_srq(struct bsn_device *device, const struct ibv_srq *verbs)
{
	for (struct srq_object *srq = device->srqs; srq; srq = srq->next)
		if (srq->verbs == verbs)
			return srq->rq;
	return NULL;
}

static void name_object(struct bsn_device *device, const struct ibv_async_event *verbs,
			struct bsn_event *event)
{
	switch (verbs->event_type) {
	case IBV_EVENT_CQ_ERR:
		event->object = BSN_EVENT_CQ;
		event->cq = find_cq(device, verbs->element.cq);
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		event->object = BSN_EVENT_QP;
		event->qp = find_qp(device, verbs->element.qp);
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		event->object = BSN_EVENT_SRQ;
		event->srq = find_srq(device, verbs->element.srq);
		break;
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_LID_CHANGE:
	case IBV_EVENT_PKEY_CHANGE:
	case IBV_EVENT_SM_CHANGE:
	case IBV_EVENT_CLIENT_REREGISTER:
	case IBV_EVENT_GID_CHANGE:
		event->object = BSN_EVENT_PORT;
		event->port = (uint8_t)verbs->element.port_num;
		break;
	default:
		event->object = BSN_EVENT_DEVICE;
		break;
	}
}

static void kill_cqs(struct bsn_device *device)
{
	atomic_store(&device->is_gone, true);
	for (struct cq_object *cq = device->cqs; cq; cq = cq->next)
		bsn_cq_kill(&cq->hot, EIO);
}

/* What an event means for polls: dead queues say so. */
static void spread(struct bsn_device *device, const struct bsn_event *event)
{
	if (event->type == IBV_EVENT_CQ_ERR && event->cq)
		bsn_cq_kill(event->cq, EOVERFLOW);
	if (event->type == IBV_EVENT_DEVICE_FATAL)
		kill_cqs(device);
}

/*
 * The file is asked first, rather than made non-blocking: where the context is the application's, so
 * is the mode of its files.
 */
static bool has_event(const struct bsn_device *device)
{
	struct pollfd file = { .fd = device->context->async_fd, .events = POLLIN };

	return poll(&file, 1, 0) == 1;
}

static int read_event(struct bsn_device *device, struct bsn_event *event)
{
	struct ibv_async_event verbs;

	errno = 0;
	if (ibv_get_async_event(device->context, &verbs)) {
		const int error = errno ? errno : EIO;
		if (error == EAGAIN || error == EINTR)
			return -EAGAIN;
		kill_cqs(device);
		return fail(error, "%s gives no more events: the device is gone: close it",
			    device->info.name);
	}
	*event = (struct bsn_event){ .type = verbs.event_type };
	name_object(device, &verbs, event);
	spread(device, event);
	ibv_ack_async_event(&verbs);
	return 0;
}

int bsn_device_get_event(struct bsn_device *device, struct bsn_event *event)
{
	int err;

	if (!device || !event)
		return fail(EINVAL, "no device, or no place for the event");
	pthread_mutex_lock(&device->lock);
	err = has_event(device) ? read_event(device, event) : -EAGAIN;
	pthread_mutex_unlock(&device->lock);
	return err;
}
