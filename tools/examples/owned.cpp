// SPDX-License-Identifier: BSD-2-Clause
// C++17: objects with owners, refusals as exceptions, and a data path that is the same as in C. One
// queue pair sends a hundred numbers to another, which adds them up.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>

#include <bsn.h>

namespace {

void must(int err)
{
	if (err)
		throw std::runtime_error(bsn_error_text());
}

// What destroys an object says -EBUSY while something still needs it: owners go in the order of
// need.
template <auto destroy> struct destroyer {
	template <typename T> void operator()(T *object) const { destroy(object); }
};
template <typename T, auto destroy> using owned = std::unique_ptr<T, destroyer<destroy>>;

using device = owned<bsn_device, bsn_device_close>;
using buffer = owned<bsn_mr, bsn_buf_free>;
using queue = owned<bsn_cq, bsn_cq_destroy>;
using pair = owned<bsn_qp, bsn_qp_destroy>;

template <typename Owner, typename Create, typename... Args> Owner make(Create create, Args... args)
{
	typename Owner::pointer object = nullptr;

	must(create(args..., &object));
	return Owner(object);
}

bsn_address address_of(const pair &qp)
{
	bsn_address address;

	must(bsn_qp_address(qp.get(), &address));
	return address;
}

// The next completion; one that failed ends the program.
bsn_completion wait_for(bsn_cq *cq)
{
	bsn_completion done;
	int n;

	while (!(n = bsn_poll(cq, &done, 1)))
		;
	if (n < 0 || done.status != IBV_WC_SUCCESS)
		throw std::runtime_error("a request failed");
	return done;
}

std::uint64_t add_up(std::uint64_t count)
{
	bsn_device *opened = nullptr;

	must(bsn_device_open(nullptr, nullptr, &opened)); // inline code, which has no address
	const device dev(opened);
	const auto memory = make<buffer>(bsn_buf_alloc, dev.get(), 4096, nullptr);
	const auto sent = make<queue>(bsn_cq_create, dev.get(), nullptr);
	const auto received = make<queue>(bsn_cq_create, dev.get(), nullptr);
	bsn_qp_attr attr{};

	attr.cq = sent.get();
	const auto from = make<pair>(bsn_qp_create, dev.get(), &attr);
	attr.cq = received.get();
	const auto to = make<pair>(bsn_qp_create, dev.get(), &attr);
	const bsn_address ends[] = { address_of(from), address_of(to) };
	must(bsn_qp_connect(from.get(), &ends[1], nullptr));
	must(bsn_qp_connect(to.get(), &ends[0], nullptr));

	const auto *number = reinterpret_cast<const std::uint64_t *>(memory->addr);
	const bsn_sge into = { memory->addr, sizeof(*number), memory->lkey };
	std::uint64_t sum = 0;

	for (std::uint64_t i = 1; i <= count; i++) {
		must(bsn_recv(bsn_qp_rq(to.get()), &into, i));
		must(bsn_send_inline(bsn_qp_ep(from.get()), &i, sizeof(i), i,
				     BSN_F_SIGNALED | BSN_F_RING));
		wait_for(received.get());
		wait_for(sent.get());
		sum += *number;
	}
	return sum;
}

} // namespace

int main()
try {
	std::printf("the sum of 1 to 100 is %llu\n", static_cast<unsigned long long>(add_up(100)));
	return 0;
} catch (const std::exception &error) {
	std::fprintf(stderr, "%s\n", error.what());
	return 1;
}
