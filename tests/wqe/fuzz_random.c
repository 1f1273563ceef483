/* SPDX-License-Identifier: BSD-2-Clause */
/* Feeds the fuzz target without libFuzzer: bytes that are almost a WQE, so that they get far. */
#include "../fuzz/fuzz.h"
#include "encode.h"
#include "random.h"

#define ROUNDS 300000

static const uint8_t opcodes[] = {
#define OPCODE(name, value, doc) value,
	BSN_WQE_OPCODES(OPCODE)
};

/* Makes a UMR whose counts mostly fit into the WQE; now and then it has a repeat block. */
static void make_plausible_umr(uint8_t *wqe, size_t size, uint32_t ds)
{
	const uint64_t dice = random_u64();

	if (size < 2 * BSN_BB_SIZE + BSN_REPEAT_SIZE)
		return;
	ENCODE(umr_ctrl, wqe + BSN_CTRL_SIZE, .is_inline = dice % 8 != 0,
	       .klm_octowords = (uint32_t)(dice >> 8) % (ds + 1),
	       .offset_or_bsf = (uint32_t)(dice >> 16) % (ds + 1));
	if (dice >> 32 & 1)
		ENCODE(repeat, wqe + 2 * BSN_BB_SIZE, .op = BSN_REPEAT_OP,
		       .num_entries = (uint32_t)(dice >> 24) % 16);
}

/*
 * Makes a control segment that is mostly right, and data segments that mostly end within the WQE.
 */
static void make_plausible(uint8_t *wqe, size_t size)
{
	const uint64_t dice = random_u64();
	struct bsn_ctrl ctrl;

	if (size < BSN_CTRL_SIZE)
		return;
	bsn_ctrl_decode(&ctrl, wqe);
	ctrl.ds = (uint32_t)(dice % (size / BSN_DS_SIZE + (dice >> 8) % 2 + 1));
	if ((dice >> 16) % 8)
		ctrl.opcode = opcodes[(dice >> 24) % sizeof(opcodes)];
	if ((dice >> 32) % 8)
		ctrl.opmod = (dice >> 40) & 2 ? (dice >> 42) % 4
					      : BSN_OPMOD_MASKED((dice >> 40) & 1 ? 8 : 4);
	bsn_ctrl_encode(wqe, &ctrl);
	if (ctrl.opcode == BSN_OPCODE_UMR)
		make_plausible_umr(wqe, size, ctrl.ds);
	for (size_t at = 16; at + BSN_DS_SIZE <= size; at += BSN_DS_SIZE) {
		if (random_u64() % 3 == 0)
			ENCODE(inline_hdr, wqe + at, .is_inline = 1,
			       .byte_count = (uint32_t)random_u64() % 48);
	}
}

int main(void)
{
	uint8_t input[1 + BSN_WQE_MAX_DS * BSN_DS_SIZE];

	random_start();
	for (unsigned i = 0; i < ROUNDS; i++) {
		const uint64_t dice = random_u64();
		const size_t most = dice & 1 ? sizeof(input) : 160;
		const size_t cqe = dice >> 8 & 1 ? BSN_CQE_SIZE : BSN_CQE128_SIZE;
		const size_t size = (dice >> 1) % 3 ? 1 + (dice >> 8) % most : 1 + cqe;

		random_bytes(input, size);
		if ((dice >> 48) % 4)
			make_plausible(input + 1, size - 1);
		LLVMFuzzerTestOneInput(input, size);
	}
	return 0;
}
