/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What decoding a CQE costs: less than 100 ns, since tracing decodes each one. The fastest of many
 * batches counts, since other programs run beside a test.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bsn_decode.h"

#define LIMIT_NS 100
#define BATCHES  2000
#define BATCH    256

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Keeps the compiler from leaving out what is measured. */
static void use(const void *object)
{
	__asm__ volatile("" : : "r"(object) : "memory");
}

static double cost_ns(const uint8_t *bytes)
{
	double least = 1e9;

	for (unsigned batch = 0; batch < BATCHES; batch++) {
		const double start = now_ns();
		double each;

		for (unsigned i = 0; i < BATCH; i++) {
			struct bsn_cqe cqe;
			use(bytes);
			bsn_cqe_decode(bytes, BSN_CQE_SIZE, &cqe, NULL);
			use(&cqe);
		}
		each = (now_ns() - start) / BATCH;
		if (each < least)
			least = each;
	}
	return least;
}

int main(void)
{
	static const struct {
		const char *name;
		uint8_t opcode;
	} kinds[] = { { "of a request", BSN_CQE_REQ },
		      { "of a receive", BSN_CQE_RESP_SEND },
		      { "of an error", BSN_CQE_REQ_ERR } };
	const unsigned count = sizeof(kinds) / sizeof(kinds[0]);
	uint8_t bytes[BSN_CQE_SIZE] = { 0 };
	int failed = 0;

	printf("1..%u\n", count);
	for (unsigned i = 0; i < count; i++) {
		double ns;
		bytes[BSN_CQE_OP_OWN_OFFSET] = (uint8_t)(kinds[i].opcode << 4);
		ns = cost_ns(bytes);
		printf("%sok %u - a CQE %s: %.1f ns\n", ns < LIMIT_NS ? "" : "not ", i + 1,
		       kinds[i].name, ns);
		failed |= ns >= LIMIT_NS;
	}
	return failed;
}
