// SPDX-License-Identifier: BSD-2-Clause
// C++17: objects with owners, refusals as exceptions, and a data path that is the same as in C. One
// queue pair sends a hundred numbers to another, which adds them up.
#include <cstdint>
#include <cstdio>
#include <stdexcept>

#include <bsn_owners.hpp>

namespace {

using bunsen::make;
using bunsen::must;

// The next completion; one that failed ends the program.
bsn_completion wait_for(bsn_cq *cq)
{
	bsn_completion done;

	while (!must(bsn_poll(cq, &done, 1)))
		;
	if (done.status != IBV_WC_SUCCESS)
		throw std::runtime_error("a request failed");
	return done;
}

std::uint64_t add_up(std::uint64_t count)
{
	const auto dev = bunsen::open();
	const auto memory = make<bunsen::buffer>(bsn_buf_alloc, dev.get(), 4096, nullptr);
	const auto sent = make<bunsen::completions>(bsn_cq_create, dev.get(), nullptr);
	const auto received = make<bunsen::completions>(bsn_cq_create, dev.get(), nullptr);
	bsn_qp_attr attr{};

	attr.cq = sent.get();
	const auto from = make<bunsen::pair>(bsn_qp_create, dev.get(), &attr);
	attr.cq = received.get();
	const auto to = make<bunsen::pair>(bsn_qp_create, dev.get(), &attr);
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
