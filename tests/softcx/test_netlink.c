/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The netlink family of RDMA devices. libibverbs finds the device by it, and it agrees with sysfs
 * and verbs. programs.py runs iproute2's rdma, which reads the rest.
 */
#include "loopback.h"

#include <linux/netlink.h>
#include <sys/socket.h>

#include <rdma/rdma_netlink.h>

enum { PDS = 3000, PART_MAX = 4096, SEQUENCE = 77 };

struct request {
	struct nlmsghdr header;
	uint8_t attrs[64];
};

static int open_socket(void)
{
	const struct sockaddr_nl here = { .nl_family = AF_NETLINK };
	const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&here, sizeof(here)), 0);
	return fd;
}

static struct request request_of(unsigned command, unsigned flags)
{
	return (struct request){ .header = { .nlmsg_len = NLMSG_HDRLEN,
					     .nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command),
					     .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags),
					     .nlmsg_seq = SEQUENCE } };
}

static void add(struct request *r, uint16_t type, const void *value, size_t size)
{
	const struct nlattr attr = { .nla_len = (uint16_t)(NLA_HDRLEN + size), .nla_type = type };
	uint8_t *at = (uint8_t *)r + r->header.nlmsg_len;

	memcpy(at, &attr, sizeof(attr));
	memcpy(at + NLA_HDRLEN, value, size);
	r->header.nlmsg_len += NLA_HDRLEN + NLA_ALIGN((uint32_t)size);
}

static void add_u32(struct request *r, uint16_t type, uint32_t value)
{
	add(r, type, &value, sizeof(value));
}

static void ask(int fd, const struct request *r)
{
	assert_int_equal(send(fd, r, r->header.nlmsg_len, 0), r->header.nlmsg_len);
}

/* The next message; there is one. */
static const struct nlmsghdr *hear(int fd)
{
	static _Alignas(8) uint8_t bytes[PART_MAX];
	const ssize_t size = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	const struct nlmsghdr *header = (const struct nlmsghdr *)(const void *)bytes;

	assert_true(size >= (ssize_t)NLMSG_HDRLEN);
	assert_int_equal(header->nlmsg_len, size);
	assert_int_equal(header->nlmsg_seq, SEQUENCE);
	return header;
}

static void assert_silent(int fd)
{
	uint8_t byte;

	fails(recv(fd, &byte, sizeof(byte), MSG_DONTWAIT), EAGAIN);
}

static int error_of(const struct nlmsghdr *header)
{
	assert_int_equal(header->nlmsg_type, NLMSG_ERROR);
	return ((const struct nlmsgerr *)(const void *)((const uint8_t *)header + NLMSG_HDRLEN))
		->error;
}

/* Where the attributes of @type are, one after the other; NULL: no more. */
static const struct nlattr *find(const uint8_t *from, const uint8_t *end, unsigned type)
{
	while (from + NLA_HDRLEN <= end) {
		const struct nlattr *attr = (const struct nlattr *)(const void *)from;
		assert_true(attr->nla_len >= NLA_HDRLEN && from + attr->nla_len <= end);
		if ((attr->nla_type & NLA_TYPE_MASK) == type)
			return attr;
		from += NLA_ALIGN(attr->nla_len);
	}
	return NULL;
}

static const struct nlattr *attr_of(const struct nlmsghdr *header, unsigned type)
{
	const uint8_t *at = (const uint8_t *)header;
	const struct nlattr *attr = find(at + NLMSG_HDRLEN, at + header->nlmsg_len, type);

	assert_non_null(attr);
	return attr;
}

static uint64_t number_of(const struct nlattr *attr)
{
	uint64_t value = 0;

	assert_true(attr->nla_len <= NLA_HDRLEN + sizeof(value));
	memcpy(&value, (const uint8_t *)attr + NLA_HDRLEN, attr->nla_len - NLA_HDRLEN);
	return value;
}

static unsigned entries_of(const struct nlmsghdr *header, unsigned table, unsigned entry)
{
	const struct nlattr *whole = attr_of(header, table), *one;
	const uint8_t *at = (const uint8_t *)whole + NLA_HDRLEN;
	const uint8_t *const end = (const uint8_t *)whole + whole->nla_len;
	unsigned count = 0;

	while ((one = find(at, end, entry))) {
		count++;
		at = (const uint8_t *)one + NLA_ALIGN(one->nla_len);
	}
	return count;
}

static int set_up(void **state)
{
	assert_int_equal(loopback_start(CX_LINK_IB), 0);
	lo.ctx = loopback_open_device();
	return 0;
}

static int tear_down(void **state)
{
	assert_int_equal(ibv_close_device(lo.ctx), 0);
	assert_int_equal(softcx_stop(), 0);
	return 0;
}

/* Only netlink has indices, so libibverbs found the device by netlink. */
static void libibverbs_finds_the_device_by_netlink(void **state)
{
	assert_int_equal(ibv_get_device_index(lo.ctx->device), 0);
	assert_string_equal(ibv_get_device_name(lo.ctx->device), "mlx5_0");
}

static uint64_t sysfs_guid(void)
{
	unsigned part[4];
	FILE *file = made(fopen("/sys/class/infiniband/mlx5_0/node_guid", "r"));

	assert_int_equal(fscanf(file, "%4x:%4x:%4x:%4x", &part[0], &part[1], &part[2], &part[3]),
			 4);
	fclose(file);
	return (uint64_t)part[0] << 48 | (uint64_t)part[1] << 32 | part[2] << 16 | part[3];
}

static void a_device_its_port_and_its_node_are_those_of_sysfs(void **state)
{
	struct request r = request_of(RDMA_NLDEV_CMD_GET, NLM_F_DUMP);
	const int fd = open_socket();
	const struct nlmsghdr *header;

	ask(fd, &r);
	header = hear(fd);
	assert_int_equal(number_of(attr_of(header, RDMA_NLDEV_ATTR_NODE_GUID)), sysfs_guid());
	assert_int_equal(number_of(attr_of(header, RDMA_NLDEV_ATTR_PORT_INDEX)), 1);
	assert_int_equal(hear(fd)->nlmsg_type, NLMSG_DONE);

	r = request_of(RDMA_NLDEV_CMD_PORT_GET, 0);
	add_u32(&r, RDMA_NLDEV_ATTR_DEV_INDEX, 0);
	add_u32(&r, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	ask(fd, &r);
	header = hear(fd);
	assert_int_equal(number_of(attr_of(header, RDMA_NLDEV_ATTR_PORT_STATE)), IBV_PORT_ACTIVE);
	assert_int_equal(number_of(attr_of(header, RDMA_NLDEV_ATTR_LID)), 1);

	r = request_of(RDMA_NLDEV_CMD_GET_CHARDEV, NLM_F_ACK);
	add_u32(&r, RDMA_NLDEV_ATTR_DEV_INDEX, 0);
	add(&r, RDMA_NLDEV_ATTR_CHARDEV_TYPE, "uverbs", sizeof("uverbs"));
	ask(fd, &r);
	assert_int_equal(number_of(attr_of(hear(fd), RDMA_NLDEV_ATTR_CHARDEV)), 231 << 8 | 192);
	assert_int_equal(error_of(hear(fd)), 0); /* as asked for */
	assert_silent(fd);
	close(fd);
}

/* Each part is sent when the part before was read, so that no list is too long for the socket. */
static void a_list_of_thousands_comes_whole(void **state)
{
	static struct ibv_pd *pds[PDS];
	struct request r = request_of(RDMA_NLDEV_CMD_RES_PD_GET, NLM_F_DUMP);
	const int fd = open_socket();
	const struct nlmsghdr *header;
	unsigned count = 0, parts = 0, refused = 0;

	for (unsigned i = 0; i < PDS; i++)
		assert_non_null(pds[i] = ibv_alloc_pd(lo.ctx));
	add_u32(&r, RDMA_NLDEV_ATTR_DEV_INDEX, 0);
	ask(fd, &r);
	while ((header = hear(fd))->nlmsg_type != NLMSG_DONE) {
		if (header->nlmsg_type == NLMSG_ERROR) {
			assert_int_equal(error_of(header), -EBUSY);
			refused++;
			continue;
		}
		count += entries_of(header, RDMA_NLDEV_ATTR_RES_PD, RDMA_NLDEV_ATTR_RES_PD_ENTRY);
		if (!parts++)
			ask(fd, &r); /* one list at a time */
	}
	for (unsigned i = 0; i < PDS; i++)
		assert_int_equal(ibv_dealloc_pd(pds[i]), 0);
	assert_int_equal(count, PDS);
	assert_int_equal(refused, 1);
	assert_silent(fd);
	close(fd);
}

/* Bad requests, and the error of each. */
static void what_is_not_there_is_refused_as_the_kernel_does(void **state)
{
	static const struct {
		unsigned command, flags, index, port;
		const char *type;
		int error;
	} cases[] = {
		{ RDMA_NLDEV_CMD_GET, 0, 1, 0, NULL, -EINVAL },
		{ RDMA_NLDEV_CMD_PORT_GET, 0, 0, 2, NULL, -EINVAL },
		{ RDMA_NLDEV_CMD_PORT_GET, 0, 0, 0, NULL, -EINVAL },
		{ RDMA_NLDEV_CMD_GET_CHARDEV, 0, 0, 0, "umad", -ENOENT },
		{ RDMA_NLDEV_CMD_GET_CHARDEV, 0, 1, 0, "uverbs", -EINVAL },
		{ RDMA_NLDEV_CMD_RES_QP_GET, 0, 0, 0, NULL, -EINVAL },
		{ RDMA_NLDEV_CMD_STAT_GET, NLM_F_DUMP, 0, 0, NULL, -EINVAL },
		{ RDMA_NLDEV_CMD_STAT_GET, 0, 0, 2, NULL, -EINVAL },
		{ RDMA_NLDEV_CMD_SET, 0, 0, 0, NULL, -EOPNOTSUPP },
	};
	const int fd = open_socket();

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct request r = request_of(cases[i].command, cases[i].flags);
		add_u32(&r, RDMA_NLDEV_ATTR_DEV_INDEX, cases[i].index);
		if (cases[i].port)
			add_u32(&r, RDMA_NLDEV_ATTR_PORT_INDEX, cases[i].port);
		if (cases[i].type)
			add(&r, RDMA_NLDEV_ATTR_CHARDEV_TYPE, cases[i].type,
			    strlen(cases[i].type) + 1);
		ask(fd, &r);
		assert_int_equal(error_of(hear(fd)), cases[i].error);
		assert_silent(fd);
	}
	close(fd);
}

static void a_message_that_is_none_is_refused(void **state)
{
	struct request r = request_of(RDMA_NLDEV_CMD_GET, NLM_F_DUMP);
	const int fd = open_socket();

	fails(send(fd, &r, NLMSG_HDRLEN - 1, 0), EINVAL);
	r.header.nlmsg_len = sizeof(r) + 1;
	assert_int_equal(send(fd, &r, sizeof(r), 0), -1);
	/* An attribute ends beyond the message. */
	r = request_of(RDMA_NLDEV_CMD_GET_CHARDEV, 0);
	add(&r, RDMA_NLDEV_ATTR_CHARDEV_TYPE, "uverbs", sizeof("uverbs"));
	r.header.nlmsg_len -= 4;
	ask(fd, &r);
	assert_int_equal(error_of(hear(fd)), -ENOENT);
	close(fd);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

UNIT_MAIN(NULL, TEST(libibverbs_finds_the_device_by_netlink),
	  TEST(a_device_its_port_and_its_node_are_those_of_sysfs),
	  TEST(a_list_of_thousands_comes_whole),
	  TEST(what_is_not_there_is_refused_as_the_kernel_does),
	  TEST(a_message_that_is_none_is_refused))
