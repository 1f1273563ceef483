/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lists the verbs devices of this machine, and which path Bunsen takes on each and why. Creates and
 * maps no queue.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "bsn.h"
#include "info.h"

/* The limits, by the names under which they are printed. */
static const struct limit {
	const char *name;
	size_t offset;
} limits[] = {
	{ "max_qp", offsetof(struct bsn_device_info, max_qp) },
	{ "max_cq", offsetof(struct bsn_device_info, max_cq) },
	{ "max_mr", offsetof(struct bsn_device_info, max_mr) },
	{ "max_srq", offsetof(struct bsn_device_info, max_srq) },
	{ "max_send_wr", offsetof(struct bsn_device_info, max_send_wr) },
	{ "max_sge", offsetof(struct bsn_device_info, max_sge) },
	{ "max_cqe", offsetof(struct bsn_device_info, max_cqe) },
	{ "max_rd_atomic", offsetof(struct bsn_device_info, max_rd_atomic) },
	{ "max_dc_streams", offsetof(struct bsn_device_info, max_dc_streams) },
	{ "max_dc_failed_streams", offsetof(struct bsn_device_info, max_dc_failed_streams) },
};

#define LIMITS (sizeof(limits) / sizeof(limits[0]))

static uint32_t limit_of(const struct bsn_device_info *info, const struct limit *limit)
{
	return *(const uint32_t *)((const char *)info + limit->offset);
}

/* -- GIDs -------------------------------------------------------------------------------------- */

static const char *gid_type_name(uint32_t type)
{
	switch (type) {
	case IBV_GID_TYPE_IB:
		return "IB";
	case IBV_GID_TYPE_ROCE_V1:
		return "RoCE v1";
	case IBV_GID_TYPE_ROCE_V2:
		return "RoCE v2";
	default:
		return "unknown";
	}
}

/* Calls @each for every GID that is set, of every port. */
static void walk_gids(struct bsn_device *device,
		      void (*each)(const struct ibv_gid_entry *entry, const char *gid, void *arg),
		      void *arg)
{
	struct ibv_context *context = bsn_device_info(device)->verbs;
	struct ibv_device_attr attr;

	if (ibv_query_device(context, &attr))
		return;
	for (uint8_t port = 1; port <= attr.phys_port_cnt; port++) {
		struct ibv_port_attr port_attr;
		if (ibv_query_port(context, port, &port_attr))
			continue;
		for (int i = 0; i < port_attr.gid_tbl_len; i++) {
			static const uint8_t none[16];
			struct ibv_gid_entry entry;
			char text[INET6_ADDRSTRLEN];
			if (ibv_query_gid_ex(context, port, (uint32_t)i, &entry, 0) ||
			    !memcmp(entry.gid.raw, none, sizeof(none)))
				continue;
			each(&entry, inet_ntop(AF_INET6, entry.gid.raw, text, sizeof(text)), arg);
		}
	}
}

/* -- for people -------------------------------------------------------------------------------- */

static void print_gid(const struct ibv_gid_entry *entry, const char *gid, void *arg)
{
	const struct bsn_device_info *info = arg;
	const bool is_default =
		entry->port_num == info->port && entry->gid_index == info->gid_index;

	printf("  GID %-8u %s, %s, port %u%s\n", entry->gid_index, gid,
	       gid_type_name(entry->gid_type), entry->port_num,
	       is_default ? " (used by default)" : "");
}

static void print_text(struct bsn_device *device)
{
	const struct bsn_device_info *info = bsn_device_info(device);

	printf("%s\n  path         %s\n", info->name, info->path_why);
	if (info->path == BSN_PATH_DIRECT)
		printf("  store        %s\n", info->store_name);
	printf("  port         %u: %s, %s, LID %u, MTU %u\n", info->port, info->link_layer,
	       info->port_state, info->lid, info->active_mtu);
	for (size_t i = 0; i < LIMITS; i++)
		printf("  %-12s %u\n", limits[i].name, limit_of(info, &limits[i]));
	if (info->atomics_are_big_endian)
		printf("  atomics      results of 8 bytes are big-endian\n");
	for (uint32_t i = 0; i < info->feature_count; i++)
		printf("  feature      %s: %s%s\n", info->features[i].name,
		       info->features[i].why_not ? "no, " : "yes",
		       info->features[i].why_not ? info->features[i].why_not : "");
	walk_gids(device, print_gid, (void *)(uintptr_t)info);
}

/* -- for programs ------------------------------------------------------------------------------ */

static struct json_object *string_or_null(const char *text)
{
	return text ? json_object_new_string(text) : NULL;
}

static void add_uint(struct json_object *object, const char *key, uint32_t value)
{
	json_object_object_add(object, key, json_object_new_int64(value));
}

static void add_gid(const struct ibv_gid_entry *entry, const char *gid, void *arg)
{
	struct json_object *object = json_object_new_object();

	add_uint(object, "port", entry->port_num);
	add_uint(object, "index", entry->gid_index);
	json_object_object_add(object, "gid", json_object_new_string(gid));
	json_object_object_add(object, "type",
			       json_object_new_string(gid_type_name(entry->gid_type)));
	json_object_array_add(arg, object);
}

static void add_port(struct json_object *object, const struct bsn_device_info *info)
{
	add_uint(object, "port", info->port);
	json_object_object_add(object, "link_layer", json_object_new_string(info->link_layer));
	json_object_object_add(object, "port_state", json_object_new_string(info->port_state));
	add_uint(object, "lid", info->lid);
	add_uint(object, "active_mtu", info->active_mtu);
	add_uint(object, "gid_index", info->gid_index);
}

static struct json_object *to_json(struct bsn_device *device)
{
	const struct bsn_device_info *info = bsn_device_info(device);
	struct json_object *object = json_object_new_object();
	struct json_object *all_limits = json_object_new_object();
	struct json_object *features = json_object_new_array(), *gids = json_object_new_array();
	const bool direct = info->path == BSN_PATH_DIRECT;

	json_object_object_add(object, "name", json_object_new_string(info->name));
	json_object_object_add(object, "direct", json_object_new_boolean(direct));
	json_object_object_add(object, "why", json_object_new_string(info->path_why));
	json_object_object_add(object, "store", string_or_null(direct ? info->store_name : NULL));
	add_port(object, info);
	for (size_t i = 0; i < LIMITS; i++)
		add_uint(all_limits, limits[i].name, limit_of(info, &limits[i]));
	json_object_object_add(object, "limits", all_limits);
	json_object_object_add(object, "atomics_are_big_endian",
			       json_object_new_boolean(info->atomics_are_big_endian));
	for (uint32_t i = 0; i < info->feature_count; i++) {
		const struct bsn_feature *feature = &info->features[i];
		struct json_object *one = json_object_new_object();
		json_object_object_add(one, "name", json_object_new_string(feature->name));
		json_object_object_add(one, "available",
				       json_object_new_boolean(!feature->why_not));
		json_object_object_add(one, "why_not", string_or_null(feature->why_not));
		json_object_array_add(features, one);
	}
	json_object_object_add(object, "features", features);
	walk_gids(device, add_gid, gids);
	json_object_object_add(object, "gids", gids);
	return object;
}

/* -- all of them ------------------------------------------------------------------------------- */

/* Prints the library's lines about variables of the environment. */
static void print_unknown_variable(void *arg, const char *line)
{
	(void)arg;
	if (!strncmp(line, "BSN_", 4))
		fprintf(stderr, "bsn-info: %s\n", line);
}

/* Prints a device, or why it cannot be opened. Returns the exit status. */
static int print_device(const char *name, struct json_object *devices)
{
	const struct bsn_device_attr attr = { .log = print_unknown_variable };
	struct bsn_device *device;

	if (bsn_device_open(name, &attr, &device)) {
		fflush(stdout);
		fprintf(stderr, "bsn-info: %s\n", bsn_error_text());
		return INFO_FAILED;
	}
	if (devices)
		json_object_array_add(devices, to_json(device));
	else
		print_text(device);
	bsn_device_close(device);
	return INFO_OK;
}

static int print_all(struct json_object *devices)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int status = INFO_OK;

	if (!list || !list[0]) {
		fprintf(stderr,
			"bsn-info: no RDMA device on this machine: load the driver of yours "
			"(modprobe mlx5_ib), or try a software one: softcx run -- bsn-info\n");
		status = INFO_FAILED;
	}
	for (int i = 0; list && list[i]; i++)
		if (print_device(ibv_get_device_name(list[i]), devices))
			status = INFO_FAILED;
	if (list)
		ibv_free_device_list(list);
	return status;
}

int info_devices(const struct info_options *options)
{
	struct json_object *devices = options->json ? json_object_new_array() : NULL;
	struct json_object *report;
	int status = options->device ? print_device(options->device, devices) : print_all(devices);

	if (devices) {
		report = json_object_new_object();
		json_object_object_add(report, "devices", devices);
		info_print_json(report);
	}
	return status;
}
