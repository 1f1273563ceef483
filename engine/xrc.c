/* SPDX-License-Identifier: BSD-2-Clause */
/* XRC: domains, and targets in them. An initiator is a QP of type BSN_QP_XRC. */
#include "bsn_xrc.h"

#include <fcntl.h>
#include <stdlib.h>

#include "address.h"

struct bsn_xrc_target {
	struct bsn_xrcd *xrcd;
	struct ibv_qp *verbs;
	uint32_t psn;
};

/* -- domains ----------------------------------------------------------------------------------- */

static int open_verbs(struct bsn_xrcd *xrcd, int fd)
{
	struct ibv_xrcd_init_attr init = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = fd,
		.oflags = O_CREAT,
	};

	errno = 0;
	xrcd->verbs = ibv_open_xrcd(xrcd->device->context, &init);
	if (xrcd->verbs)
		return 0;
	return fail(errno ? errno : EIO, "cannot open an XRC domain%s: %s",
		    fd < 0 ? "" : " of this file", strerror(errno));
}

int bsn_xrcd_open(struct bsn_device *device, int fd, struct bsn_xrcd **out)
{
	struct bsn_xrcd *xrcd;
	int err;

	if (!device || !out)
		return fail(EINVAL, "no device, or no place for the XRC domain");
	if (device->no_xrc)
		return fail(EOPNOTSUPP, "no XRC: %s", device->no_xrc);
	if (fd < -1 || (fd >= 0 && fcntl(fd, F_GETFD) < 0))
		return fail(EBADF,
			    "%d is not an open file: use an open file, or -1 for a domain of this "
			    "process alone",
			    fd);
	xrcd = calloc(1, sizeof(*xrcd));
	if (!xrcd)
		return fail(ENOMEM, "no memory");
	xrcd->device = device;
	err = open_verbs(xrcd, fd);
	if (err) {
		free(xrcd);
		return err;
	}
	use(&device->uses[OF_XRCDS]);
	*out = xrcd;
	return 0;
}

int bsn_xrcd_close(struct bsn_xrcd *xrcd)
{
	int err;

	if (!xrcd)
		return 0;
	if (atomic_load(&xrcd->uses.count))
		return fail(EBUSY,
			    "SRQs or targets are still in this XRC domain: destroy them first");
	err = destroyed(xrcd->device, ibv_close_xrcd(xrcd->verbs));
	if (err)
		return fail(-err, "the XRC domain is in use outside of Bunsen");
	unuse(&xrcd->device->uses[OF_XRCDS]);
	free(xrcd);
	return 0;
}

/* -- targets ----------------------------------------------------------------------------------- */

static int to_rtr(struct bsn_xrc_target *target, const struct wire_address *peer,
		  const struct bsn_connect_attr *attr)
{
	const struct bsn_device *device = target->xrcd->device;
	struct ibv_qp_attr verbs = {
		.qp_state = IBV_QPS_RTR,
		.dest_qp_num = bsn_from_be32(peer->qpn),
		.rq_psn = bsn_from_be32(peer->psn),
		.ah_attr = av_to(device, bsn_from_be16(peer->lid), peer->gid, attr),
		.max_dest_rd_atomic =
			rd_atomic(attr->max_dest_rd_atomic, device->info.max_rd_atomic, UINT8_MAX),
		.min_rnr_timer = or_default(attr->min_rnr_timer, DEFAULT_MIN_RNR_TIMER),
	};
	const int err = choose_mtu(device, peer, attr->mtu, &verbs.path_mtu);

	if (err)
		return err;
	return verbs_modify(target->verbs, "XRC target", &verbs,
			    IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
			    "RTR");
}

static int create_verbs(struct bsn_xrc_target *target)
{
	struct ibv_qp_init_attr_ex init = { .qp_context = target,
					    .qp_type = IBV_QPT_XRC_RECV,
					    .comp_mask = IBV_QP_INIT_ATTR_XRCD,
					    .xrcd = target->xrcd->verbs };

	errno = 0;
	target->verbs = ibv_create_qp_ex(target->xrcd->device->context, &init);
	return target->verbs ? 0
			     : fail(errno ? errno : EIO, "cannot create an XRC target: %s",
				    strerror(errno));
}

int bsn_xrc_target_create(struct bsn_xrcd *xrcd, struct bsn_xrc_target **out)
{
	struct bsn_xrc_target *target;
	int err;

	if (!xrcd || !out)
		return fail(EINVAL, "no XRC domain, or no place for the target");
	target = calloc(1, sizeof(*target));
	if (!target)
		return fail(ENOMEM, "no memory");
	target->xrcd = xrcd;
	target->psn = new_psn(target);
	err = create_verbs(target);
	if (err)
		goto free_target;
	err = target_to_init(xrcd->device, target->verbs, "XRC target", has_atomics(xrcd->device));
	if (err)
		goto destroy_verbs;
	use(&xrcd->uses);
	*out = target;
	return 0;

destroy_verbs:
	ibv_destroy_qp(target->verbs);
free_target:
	free(target);
	return err;
}

int bsn_xrc_target_destroy(struct bsn_xrc_target *target)
{
	int err;

	if (!target)
		return 0;
	err = destroyed(target->xrcd->device, ibv_destroy_qp(target->verbs));
	if (err)
		return fail(-err, "cannot destroy the XRC target: %s", strerror(-err));
	unuse(&target->xrcd->uses);
	free(target);
	return 0;
}

int bsn_xrc_target_connect(struct bsn_xrc_target *target, const struct bsn_address *peer,
			   const struct bsn_connect_attr *given)
{
	const struct bsn_connect_attr attr = given ? *given : (struct bsn_connect_attr){ 0 };
	const struct bsn_device *device;
	struct wire_address wire;
	int err;

	if (!target || !peer)
		return fail(EINVAL, "no XRC target, or no peer");
	device = target->xrcd->device;
	err = read_address(device, transport_of(BSN_QP_XRC), false, peer, &wire);
	if (!err)
		err = check_connect(device, &attr);
	if (!err)
		err = check_port(device, &wire);
	return err ? err : to_rtr(target, &wire, &attr);
}

int bsn_xrc_target_address(const struct bsn_xrc_target *target, struct bsn_address *address)
{
	struct wire_address wire;

	if (!target || !address)
		return fail(EINVAL, "no XRC target, or no place for its address");
	wire = address_of(target->xrcd->device, BSN_QP_XRC, target->verbs->qp_num);
	wire.psn = bsn_to_be32(target->psn);
	wire.is_xrc_target = true;
	*address = address_from(&wire);
	return 0;
}

uint32_t bsn_xrc_target_number(const struct bsn_xrc_target *target)
{
	return target ? target->verbs->qp_num : 0;
}
