/* SPDX-License-Identifier: BSD-2-Clause */
/* The peers of a pool. */
#include "rc.h"

#include <search.h>
#include <stdlib.h>

/* -- hosts ------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const struct host *x = a, *y = b;

	return memcmp(&x->av, &y->av, sizeof(x->av));
}

/* Copies the fields, and zeroes the padding, so that memcmp() can compare address vectors. */
static void copy_av(struct ibv_ah_attr *to, const struct ibv_ah_attr *from)
{
	memset(to, 0, sizeof(*to));
	to->grh.dgid = from->grh.dgid;
	to->grh.flow_label = from->grh.flow_label;
	to->grh.sgid_index = from->grh.sgid_index;
	to->grh.hop_limit = from->grh.hop_limit;
	to->grh.traffic_class = from->grh.traffic_class;
	to->dlid = from->dlid;
	to->sl = from->sl;
	to->src_path_bits = from->src_path_bits;
	to->static_rate = from->static_rate;
	to->is_global = from->is_global;
	to->port_num = from->port_num;
}

/* Reads the address vector of an address handle, which is needed for nothing else. */
static int read_vector(struct bsn_dc_pool *pool, struct host *host)
{
	struct ep_object ep = { .qp = pool->initiators[0].qp };
	int err;

	errno = 0;
	ep.ah = ibv_create_ah(pool->initiators[0].qp->pd->verbs, &host->av);
	if (!ep.ah)
		return fail(errno ? errno : EIO, "no address handle for the peer: %s%s",
			    strerror(errno), hint_of_av(&host->av, -errno));
	err = pool->device->path->ep_make(&ep, 0, 0);
	ibv_destroy_ah(ep.ah);
	if (err)
		return err;
	memcpy(host->head, &ep.hot.head, sizeof(host->head));
	memcpy(host->more, ep.more, sizeof(host->more));
	host->prefix_ds = ep.hot.prefix_ds;
	return 0;
}

static int add_host(struct bsn_dc_pool *pool, const struct ibv_ah_attr *av, struct host **out)
{
	struct host *host = bsn_hot_alloc(sizeof(*host));
	int err;

	if (!host)
		return fail(ENOMEM, "no memory");
	copy_av(&host->av, av);
	err = pool->rc ? 0 : read_vector(pool, host);
	if (!err && !tsearch(host, &pool->hosts, compare))
		err = fail(ENOMEM, "no memory");
	if (err)
		free(host);
	else
		*out = host;
	return err;
}

/* Finds the host of an address vector, or makes it; counts a peer of it. */
static int get_host(struct bsn_dc_pool *pool, const struct ibv_ah_attr *given, struct host **out)
{
	struct host wanted, *const *node;
	int err = 0;

	copy_av(&wanted.av, given);
	node = tfind(&wanted, &pool->hosts, compare);
	if (node)
		*out = *node;
	else
		err = add_host(pool, &wanted.av, out);
	if (!err)
		(*out)->peers++;
	return err;
}

static void put_host(struct bsn_dc_pool *pool, struct host *host)
{
	if (--host->peers)
		return;
	tdelete(host, &pool->hosts, compare);
	free(host);
}

/* -- memory ------------------------------------------------------------------------------------ */

static int add_chunk(struct bsn_dc_pool *pool)
{
	struct chunk **chunks = realloc(pool->chunks, (pool->chunk_count + 1) * sizeof(*chunks));
	struct chunk *chunk;

	if (!chunks)
		return -ENOMEM;
	pool->chunks = chunks;
	chunk = aligned_alloc(CHUNK_BYTES, CHUNK_BYTES);
	if (!chunk)
		return -ENOMEM;
	memset(chunk, 0, CHUNK_BYTES);
	chunk->pool = pool;
	chunk->number = pool->chunk_count;
	chunks[pool->chunk_count++] = chunk;
	for (uint32_t k = CHUNK_PEERS; k--;) {
		chunk->peers[k].next = pool->first_free;
		pool->first_free = chunk->number * CHUNK_PEERS + k;
	}
	return 0;
}

struct peer *peer_new(struct bsn_dc_pool *pool)
{
	struct peer *peer;

	if (pool->first_free == NO_PEER && add_chunk(pool))
		return NULL;
	peer = peer_at(pool, pool->first_free);
	pool->first_free = peer->next;
	memset(peer, 0, sizeof(*peer));
	peer->hot.ep.sq = &pool->unbound.hot;
	pool->peer_count++;
	return peer;
}

void peer_free(struct bsn_dc_pool *pool, struct peer *peer)
{
	memset(peer, 0, sizeof(*peer));
	peer->next = pool->first_free;
	pool->first_free = number_of(peer);
}

void peers_free(struct bsn_dc_pool *pool)
{
	for (uint32_t k = 0; k < pool->chunk_count; k++)
		free(pool->chunks[k]);
	free(pool->chunks);
}

/* -- life -------------------------------------------------------------------------------------- */

/* The first 16 bytes are the peer's own: its key and number, added to the host's. */
static void set_vector(struct peer *peer, const struct bsn_av_dc *av)
{
	uint8_t head[BSN_AV_DC_SIZE];

	bsn_av_dc_encode(head, av);
	memcpy(&peer->hot.head, head, sizeof(peer->hot.head));
}

static void address_peer(struct peer *peer, const struct host *host,
			 const struct wire_address *wire)
{
	struct bsn_av_dc av;

	bsn_av_dc_decode(&av, host->head);
	av.dc_key = dc_key_of(wire);
	av.dqpn = bsn_from_be32(wire->qpn);
	set_vector(peer, &av);
	peer->hot.more = host->more;
	peer->hot.prefix_ds = host->prefix_ds;
}

int bsn_dc_peer_create(struct bsn_dc_pool *pool, const struct bsn_address *address,
		       const struct bsn_connect_attr *given, void *user, struct bsn_ep **out)
{
	const struct bsn_connect_attr attr = given ? *given : (struct bsn_connect_attr){ 0 };
	struct wire_address wire;
	struct ibv_ah_attr av;
	struct peer *peer;
	struct host *host = NULL;
	int err;

	if (!pool || !address || !out)
		return fail(EINVAL, "no pool, no address, or no place for the endpoint");
	err = read_address(pool->device, transport_of(BSN_QP_DC), false, address, &wire);
	if (!err)
		err = check_connect(pool->device, &attr);
	if (err)
		return err;
	av = av_to(pool->device, bsn_from_be16(wire.lid), wire.gid, &attr);
	err = get_host(pool, &av, &host);
	if (err)
		return err;
	if (pool->rc)
		err = rc_make_endpoint(pool, host, &wire, &attr);
	peer = err ? NULL : peer_new(pool);
	if (!peer) {
		put_host(pool, host);
		return err ? err : fail(ENOMEM, "no memory");
	}
	peer->hot.user = user;
	address_peer(peer, host, &wire);
	*out = &peer->hot.ep;
	return 0;
}

/* -- a peer's UDP source port ------------------------------------------------------------------ */

/* RoCE v2, rdma-core util/util.h IB_ROCE_UDP_ENCAP_VALID_PORT_MIN */
enum { LEAST_UDP_PORT = 0xc000 };

static int check_udp(const struct bsn_dc_pool *pool, const struct host *host)
{
	struct ibv_gid_entry entry;

	if (pool->rc)
		return fail(EOPNOTSUPP,
			    "no UDP source port on plain verbs, where the provider chooses it");
	if (pool->device->port.link_layer != IBV_LINK_LAYER_ETHERNET)
		return fail(EOPNOTSUPP, "no UDP source port on InfiniBand, which has no UDP");
	if (ibv_query_gid_ex(pool->device->context, host->av.port_num, host->av.grh.sgid_index,
			     &entry, 0) ||
	    entry.gid_type != IBV_GID_TYPE_ROCE_V2)
		return fail(EOPNOTSUPP,
			    "no UDP source port: GID %u is of RoCE v1, take one of RoCE v2",
			    host->av.grh.sgid_index);
	return 0;
}

int bsn_dc_peer_udp_port(struct bsn_ep *ep, uint16_t port)
{
	struct peer *peer;
	struct bsn_av_dc av;
	int err;

	if (!ep)
		return fail(EINVAL, "no peer");
	peer = peer_of(ep);
	err = check_udp(pool_of(peer), host_of(peer));
	if (err)
		return err;
	if (port < LEAST_UDP_PORT)
		return fail(EINVAL, "the UDP source port is %u: %u at least", port, LEAST_UDP_PORT);
	bsn_av_dc_decode(&av, (const uint8_t *)&peer->hot.head);
	av.rlid = port;
	set_vector(peer, &av);
	return 0;
}

/* -- the end ----------------------------------------------------------------------------------- */

/* Frees the peer's slot. Nothing of the peer may be outstanding. */
static int release_slot(struct bsn_dc_pool *pool, const struct peer *peer)
{
	struct slot *s = peer->slot;

	if (!s)
		return 0;
	if (holds(pool, s) || !is_done(pool, s))
		return fail(EBUSY,
			    "requests to this peer are outstanding: poll until they are done; "
			    "signal the last one, or its completion stays unknown");
	if (s->state == SLOT_OUT)
		forget_slot(s);
	else
		unbind_slot(pool, s);
	return 0;
}

int bsn_dc_peer_destroy(struct bsn_ep *ep)
{
	struct bsn_dc_pool *pool;
	struct peer *peer;
	int err;

	if (!ep)
		return 0;
	peer = peer_of(ep);
	pool = pool_of(peer);
	err = release_slot(pool, peer);
	if (err)
		return err;
	if (pool->rc)
		rc_forget(pool, peer);
	put_host(pool, host_of(peer));
	pool->peer_count--;
	stop_waiting(pool, peer);
	peer_free(pool, peer);
	return 0;
}

int bsn_dc_peer_reset(struct bsn_ep *ep)
{
	struct bsn_dc_pool *pool;
	struct peer *peer;
	int err;

	if (!ep)
		return fail(EINVAL, "no peer");
	peer = peer_of(ep);
	pool = pool_of(peer);
	if (peer->state != PEER_FAILED)
		return 0;
	err = release_slot(pool, peer);
	if (err)
		return err;
	peer->state = PEER_FINE;
	peer->refusal = 0;
	ep->sq = &pool->unbound.hot;
	return 0;
}
