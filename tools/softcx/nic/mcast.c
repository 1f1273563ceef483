/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast groups. A fabric has one port, so a group is a list of members. The subnet manager
 * decides who may join when the program asks it.
 */
#include "mcast.h"

#include <errno.h>
#include <string.h>

#include "datasheet.h"
#include "process.h"
#include "tables.h"
#include "trace.h"

bool cx_mcast_is_group(const uint8_t gid[16])
{
	static const uint8_t of_ipv4[12] = { [10] = 0xff, [11] = 0xff };

	return gid[0] == 0xff || (!memcmp(gid, of_ipv4, sizeof(of_ipv4)) && gid[12] >> 4 == 0xe);
}

static bool is_of(const struct cx_member *member, const uint8_t gid[16])
{
	return member->qpn && !memcmp(member->gid, gid, sizeof(member->gid));
}

/* NULL: its process was killed, and its queue pair is gone; then the member is removed, too. */
static struct cx_qp *qp_of(struct cx_hca *hca, struct cx_member *member)
{
	struct cx_qp *qp = cx_qp_find(hca, member->qpn);

	if (!qp || qp->attr.type != IBV_QPT_UD) {
		member->qpn = 0;
		return NULL;
	}
	return qp;
}

struct cx_qp *cx_mcast_next(struct cx_hca *hca, const uint8_t gid[16], unsigned *at)
{
	while (*at < CX_MAX_MEMBERS) {
		struct cx_member *member = &hca->shared->members[(*at)++];
		struct cx_qp *qp = is_of(member, gid) ? qp_of(hca, member) : NULL;

		if (qp)
			return qp;
	}
	return NULL;
}

static struct cx_member *find(struct cx_hca *hca, uint32_t qpn, const uint8_t gid[16])
{
	for (unsigned i = 0; i < CX_MAX_MEMBERS; i++) {
		struct cx_member *member = &hca->shared->members[i];

		if (member->qpn == qpn && is_of(member, gid))
			return member;
	}
	return NULL;
}

static struct cx_member *find_place(struct cx_hca *hca)
{
	for (unsigned i = 0; i < CX_MAX_MEMBERS; i++) {
		struct cx_member *member = &hca->shared->members[i];

		if (!member->qpn || !qp_of(hca, member))
			return member;
	}
	return NULL;
}

static unsigned count_members(struct cx_hca *hca, const uint8_t gid[16])
{
	unsigned count = 0, at = 0;

	while (cx_mcast_next(hca, gid, &at))
		count++;
	return count;
}

static int join(struct cx_hca *hca, uint32_t qpn, const uint8_t gid[16])
{
	struct cx_member *place;

	if (!cx_qp_find_own(hca, qpn))
		return -EINVAL;
	if (find(hca, qpn, gid))
		return -EALREADY;
	place = count_members(hca, gid) < CX_MAX_MEMBERS_OF_GROUP ? find_place(hca) : NULL;
	if (!place)
		return -ENOMEM;
	memcpy(place->gid, gid, sizeof(place->gid));
	place->qpn = qpn;
	cx_trace(hca, "multicast: qpn %#x joins", qpn);
	return 0;
}

int cx_mcast_attach(struct cx_hca *hca, uint32_t qpn, const uint8_t gid[16])
{
	int err;

	cx_lock_to_create(hca);
	err = join(hca, qpn, gid);
	cx_unlock(hca);
	return err;
}

int cx_mcast_detach(struct cx_hca *hca, uint32_t qpn, const uint8_t gid[16])
{
	struct cx_member *member;

	cx_lock(hca);
	member = cx_qp_find_own(hca, qpn) ? find(hca, qpn, gid) : NULL;
	if (member)
		member->qpn = 0;
	cx_unlock(hca);
	return member ? 0 : -EINVAL;
}

void cx_mcast_leave_all(struct cx_hca *hca, uint32_t qpn)
{
	for (unsigned i = 0; i < CX_MAX_MEMBERS; i++)
		if (hca->shared->members[i].qpn == qpn)
			hca->shared->members[i].qpn = 0;
}
