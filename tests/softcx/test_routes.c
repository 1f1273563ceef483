/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where RoCE addresses lead, in a network namespace with an interface, a gateway and nobody else.
 * The oracle is Linux: what its addr.c returns, given the answers of its routing table.
 */
#include "fit.h"

#include <arpa/inet.h>
#include <time.h>

static const char network[] = "ip link add rn0 type veth peer name rn1 && ip link set lo up &&"
			      "ip link set rn1 up && ip link set rn0 up &&"
			      "ip addr add 10.9.0.1/24 dev rn0 &&"
			      "ip addr add fd09::1/64 dev rn0 nodad &&"
			      "ip route add 10.20.0.0/16 via 10.9.0.254 &&"
			      "ip route add fd20::/16 via fd09::fe dev rn0 && exec \"$0\" inside";

static int set_up(void **state)
{
	struct cx_config config = loopback_config(CX_LINK_ROCE, given(state));

	config.interface = "rn0";
	fit_open(config);
	fit_create_qps(IBV_QPT_RC);
	return 0;
}

static int tear_down(void **state)
{
	fit_destroy_qps();
	fit_close();
	return 0;
}

static union ibv_gid gid_of(const char *text)
{
	union ibv_gid gid;

	assert_int_equal(inet_pton(AF_INET6, text, gid.raw), 1);
	return gid;
}

static uint8_t find_index(const union ibv_gid *gid, uint32_t type)
{
	struct ibv_gid_entry entry;

	for (uint8_t i = 0; i < 16; i++)
		if (!ibv_query_gid_ex(f.ctx, 1, i, &entry, 0) && entry.gid_type == type &&
		    !memcmp(&entry.gid, gid, sizeof(*gid)))
			return i;
	fail_msg("no such GID");
	return 0;
}

/* What RTR answers at A. */
static int lead(const char *source, uint32_t type, const char *destination)
{
	const union ibv_gid own = gid_of(source);

	f.told[A].sgid_index = find_index(&own, type);
	f.told[A].dgid = gid_of(destination);
	assert_int_equal(loopback_modify(f.qp[A], IBV_QPS_RESET, IBV_QP_STATE), 0);
	assert_int_equal(fit_init(A), 0);
	return fit_rtr(A);
}

static void addresses_lead_where_the_routing_table_says(void **state)
{
	static const struct {
		const char *source, *destination;
		int err;
		const char *why;
	} cases[] = {
		{ "::ffff:10.9.0.1", "::ffff:10.9.0.1", 0, NULL },
		{ "fd09::1", "fd09::1", 0, NULL },
		{ "::ffff:10.9.0.1", "::ffff:10.9.0.7", ETIMEDOUT, "no neighbour" },
		{ "fd09::1", "fd09::7", ETIMEDOUT, "no neighbour" },
		{ "fd09::1", "fe80::7", ETIMEDOUT, "no neighbour" },
		{ "::ffff:10.9.0.1", "::ffff:10.20.0.1", 0, NULL },
		{ "fd09::1", "fd20::1", 0, NULL },
		{ "fd09::1", "2001:db8::1", ENETUNREACH, "no route" },
		/* Over a given interface Linux takes it to be on the link: ip_route_output_key() */
		{ "::ffff:10.9.0.1", "::ffff:192.0.2.1", ETIMEDOUT, "no neighbour" },
		{ "::ffff:10.9.0.1", "fd09::1", EINVAL, "of IPv4, the other of IPv6" },
		{ "fd09::1", "::ffff:10.9.0.1", EINVAL, "of IPv4, the other of IPv6" },
		{ "::ffff:10.9.0.1", "fe80::7", EINVAL, "of IPv4, the other of IPv6" },
		{ "::ffff:10.9.0.1", "::", EINVAL, "of IPv4, the other of IPv6" },
	};

	for (unsigned i = 0; i < COUNT_OF(cases); i++) {
		assert_int_equal(lead(cases[i].source, IBV_GID_TYPE_ROCE_V2, cases[i].destination),
				 cases[i].err);
		assert_true(cases[i].why ? fit_trace_says(cases[i].why) : !fit_trace_says("fit:"));
	}
}

/* The MAC is in the address, so that nobody is asked. */
static void version_1_asks_nobody_for_a_link_local_address(void **state)
{
	assert_int_equal(lead("::ffff:10.9.0.1", IBV_GID_TYPE_ROCE_V1, "fe80::7"), 0);
	assert_int_equal(lead("::ffff:10.9.0.1", IBV_GID_TYPE_ROCE_V1, "fd09::7"), EINVAL);
}

static void nobody_answers_behind_a_gateway(void **state)
{
	struct effect effect;

	f.told[A].dgid = gid_of("::ffff:10.20.0.1");
	fit_connect();
	effect = fit_run(IBV_WR_RDMA_WRITE, 64, 1);
	assert_int_equal(effect.status, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(effect.vendor, 0x81);
	assert_false(effect.executed);
	assert_true(fit_trace_says("the address leads nowhere"));
}

static void address_handles_are_resolved_alike(void **state)
{
	struct ibv_ah_attr attr = { .port_num = 1,
				    .is_global = 1,
				    .grh = { .sgid_index = f.told[A].sgid_index,
					     .dgid = gid_of("::ffff:10.9.0.7") } };

	not_made(ibv_create_ah(f.pd, &attr), ETIMEDOUT);
	attr.grh.dgid = gid_of("fd09::1");
	not_made(ibv_create_ah(f.pd, &attr), EINVAL);
}

static void a_neighbour_is_asked_for_during_a_second(void **state)
{
	struct timespec begin, end;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	assert_int_equal(lead("fd09::1", IBV_GID_TYPE_ROCE_V2, "fd09::7"), ETIMEDOUT);
	clock_gettime(CLOCK_MONOTONIC, &end);
	assert_true((end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000 >=
		    990);
}

#define PASSIVE(f) GIVEN(f, true, set_up, tear_down)
#define ACTIVE(f)  GIVEN(f, false, set_up, tear_down)

int main(int argc, char **argv)
{
	if (argc > 1)
		return RUN(PASSIVE(addresses_lead_where_the_routing_table_says),
			   PASSIVE(version_1_asks_nobody_for_a_link_local_address),
			   PASSIVE(nobody_answers_behind_a_gateway),
			   PASSIVE(address_handles_are_resolved_alike),
			   ACTIVE(a_neighbour_is_asked_for_during_a_second));
	if (!system("unshare -rn ip link add rn0 type veth peer name rn1 2>/dev/null"))
		execlp("unshare", "unshare", "-rn", "sh", "-c", network, argv[0], NULL);
	puts("1..0 # SKIP no network namespace with an interface can be made");
	return 0;
}
