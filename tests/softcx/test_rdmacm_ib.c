/* SPDX-License-Identifier: BSD-2-Clause */
/* rdma_cm on InfiniBand, which has no addresses of IP here: by GIDs. */
#include "rdmacm_calls.h"

#include <endian.h>

#include "datasheet.h"

enum { FAMILY_IB = 27, LID = 1, SERVICE = 0x013f1234 /* of RDMA_PS_IB, port 0x1234 */ };

struct ib_address {
	uint16_t family, pkey;
	uint32_t flow;
	uint8_t gid[16];
	uint64_t service, mask, scope;
};

/* Of the port, or of all. */
static struct __kernel_sockaddr_storage ib_address_of(bool is_any)
{
	struct ib_address ib = { .family = FAMILY_IB,
				 .service = htobe64(SERVICE),
				 .mask = UINT64_MAX };
	struct __kernel_sockaddr_storage storage = { 0 };
	struct cx_gid own;

	assert_int_equal(cx_gid_get(cx_config(softcx_hca()), 0, &own), 0);
	if (!is_any)
		memcpy(ib.gid, own.gid.raw, sizeof(ib.gid));
	memcpy(&storage, &ib, sizeof(ib));
	return storage;
}

static uint32_t create_of_ib(int fd)
{
	return create_of(fd, 1, RDMA_PS_IB, IBV_QPT_RC);
}

static void listen_at_service(int fd)
{
	const uint32_t id = create_of_ib(fd);

	assert_int_equal(bind_to_address(fd, id, sizeof(struct ib_address), ib_address_of(true)),
			 0);
	assert_int_equal(listen_at(fd, id), 0);
}

static int resolve_gid(int fd, uint32_t id)
{
	return resolve_address(fd, id, sizeof(struct ib_address), ib_address_of(false));
}

/* As from a subnet manager, whom the kernel asks in vain. */
static int set_path(int fd, uint32_t id, uint8_t lid)
{
	struct ib_path_rec_data path = { .flags = IB_PATH_GMP | IB_PATH_PRIMARY |
						  IB_PATH_BIDIRECTIONAL };
	union command c = COMMAND(SET_OPTION, set_option, 0);

	((uint8_t *)path.path_rec)[41] = lid; /* the lower byte of the destination's */
	c.set_option = (struct rdma_ucm_set_option){ .optval = (uintptr_t)&path,
						     .id = id,
						     .level = RDMA_OPTION_IB,
						     .optname = RDMA_OPTION_IB_PATH,
						     .optlen = sizeof(path) };
	return tell(fd, &c);
}

static struct ib_uverbs_qp_attr attributes_of(int fd, uint32_t id)
{
	struct ib_uverbs_qp_attr attr;
	union command c = COMMAND(INIT_QP_ATTR, init_qp_attr, sizeof(attr));

	c.init_qp_attr = (struct rdma_ucm_init_qp_attr){ .response = (uintptr_t)&attr,
							 .id = id,
							 .qp_state = IBV_QPS_RTR };
	assert_int_equal(tell(fd, &c), 0);
	return attr;
}

static void infiniband_connects_by_gid_where_the_program_knows_a_path(void **state)
{
	const int server = open_channel(0), client = open_channel(0);
	const uint32_t id = create_of_ib(client);
	struct rdma_ucm_event_resp event;

	listen_at_service(server);
	assert_int_equal(set_path(client, id, LID), EINVAL);
	assert_int_equal(resolve_gid(client, id), 0);
	assert_event(client, id, ADDR_RESOLVED);
	assert_int_equal(set_path(client, id, LID), 0);
	assert_event(client, id, ROUTE_RESOLVED);
	assert_int_equal(connect_id(client, id), 0);
	assert_int_equal(get_event(server, &event), 0);
	assert_int_equal(event.event, CONNECT_REQUEST);
	assert_int_equal(event.param.conn.private_data_len, 92); /* no address takes a part */
	assert_int_equal(attributes_of(server, event.id).ah_attr.dlid, LID);
	assert_int_equal(attributes_of(server, event.id).ah_attr.is_global, 0);
	close(server);
	close(client);
}

enum { ROUTE_ERROR = 3, SOON_MS = 10 };

static void no_subnet_manager_knows_a_path(void **state)
{
	const int fd = open_channel(0);
	const uint32_t id = create_of_ib(fd);
	struct rdma_ucm_event_resp event;

	assert_int_equal(resolve_gid(fd, id), 0);
	assert_event(fd, id, ADDR_RESOLVED);
	assert_int_equal(resolve_route(fd, id, SOON_MS), 0);
	assert_int_equal(get_event(fd, &event), 0);
	assert_int_equal(event.event, ROUTE_ERROR);
	assert_int_equal((int)event.status, -ETIMEDOUT);
	close(fd);
}

static int set_up(void **state)
{
	return set_up_plan(CX_LINK_IB, NULL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

UNIT_MAIN(NULL, TEST(infiniband_connects_by_gid_where_the_program_knows_a_path),
	  TEST(no_subnet_manager_knows_a_path))
