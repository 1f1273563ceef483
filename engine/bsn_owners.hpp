// SPDX-License-Identifier: BSD-2-Clause
// C++17: each object of Bunsen with an owner that destroys it, and refusals as exceptions. The data
// path is that of C. bsn.h and bsn_mkey.h say what the calls do.
//
// What destroys an object says -EBUSY while something still needs it, and a destructor cannot: let
// owners be declared in the order of need, the device first; members of a class, too.
#ifndef BSN_OWNERS_HPP
#define BSN_OWNERS_HPP

#include <bsn.h>
#include <bsn_mkey.h>
#include <memory>
#include <stdexcept>

namespace bunsen {

// A call that failed: bsn_error_text(), and the errno.
struct error : std::runtime_error {
	explicit error(int err) : std::runtime_error(bsn_error_text()), code(-err) {}
	int code;
};

// Of calls that return 0 or -errno, or a count.
inline int must(int err)
{
	if (err < 0)
		throw error(err);
	return err;
}

template <auto destroy> struct destroyer {
	template <typename T> void operator()(T *object) const { destroy(object); }
};
template <typename T, auto destroy> using owned = std::unique_ptr<T, destroyer<destroy>>;

using device = owned<bsn_device, bsn_device_close>;
using domain = owned<bsn_pd, bsn_pd_destroy>;
using lane = owned<bsn_lane, bsn_lane_destroy>;
using buffer = owned<bsn_mr, bsn_buf_free>;
using region = owned<bsn_mr, bsn_mr_deregister>;
using channel = owned<bsn_channel, bsn_channel_destroy>;
using completions = owned<bsn_cq, bsn_cq_destroy>;
using receives = owned<bsn_rq, bsn_srq_destroy>;
using pair = owned<bsn_qp, bsn_qp_destroy>;
using endpoint = owned<bsn_ep, bsn_ep_destroy>;
using mkey_pool = owned<bsn_mkey_pool, bsn_mkey_pool_destroy>;
using layout = owned<bsn_layout, bsn_layout_destroy>;

// make<pair>(bsn_qp_create, dev.get(), &attr): what @create makes of @args, owned.
template <typename Owner, typename Create, typename... Args> Owner make(Create create, Args... args)
{
	typename Owner::pointer object = nullptr;

	must(create(args..., &object));
	return Owner(object);
}

// bsn_device_open() is inline, and so has no address for make().
inline device open(const char *name = nullptr, const bsn_device_attr *attr = nullptr)
{
	bsn_device *opened = nullptr;

	must(bsn_device_open(name, attr, &opened));
	return device(opened);
}

inline bsn_address address_of(const pair &qp)
{
	bsn_address address;

	must(bsn_qp_address(qp.get(), &address));
	return address;
}

} // namespace bunsen

#endif
