/* SPDX-License-Identifier: BSD-2-Clause */
/* A run of lat or bw, from its options to its reports: what traffic.c and its two helpers share. */
#ifndef TRAFFIC_TEST_H
#define TRAFFIC_TEST_H

#include "../examples/connect_cm.h"
#include "stats.h"
#include "traffic.h"

extern const char *const traffic_path_names[TRAFFIC_PATHS];
extern const char *const traffic_connections[]; /* by enum bsn_qp_type */

/* A whole test. */
struct test {
	const struct perf_options *options;
	bool has_size;         /* --size was given */
	struct plan plan;
	struct session_attr session;
	struct bsn_device_attr device_attr;
	struct connect_cm cm;
	bool is_client;
	struct bsn_device *device;
	void *memory[2];
	struct traffic traffic;
	struct plan step;             /* what is measured at the moment */
	struct throughput throughput; /* of bw */
	struct histogram histogram;   /* of lat */
};

/* Whether the other end is another process. */
static inline bool has_peer(const struct test *test)
{
	return test->is_client || test->session.is_server;
}

/* -- options (traffic_options.c) --------------------------------------------------------------- */

/* @test keeps strings of the context. */
poptContext test_options(int argc, const char **argv, bool is_bw);
int test_read_options(poptContext context, bool is_bw, struct test *test);

/* How many operations come before those that are measured. */
uint64_t warmup_of(uint64_t iters);

/* -- reports (traffic_report.c) ---------------------------------------------------------------- */

/* What the server says, and the client before its first result. */
void print_title(FILE *to, const struct test *test);

/* What was measured at one size: as text; in JSON, of a sweep an object of the array "sizes". */
void print_result(FILE *to, const struct test *test);
struct json_object *begin_json(const struct test *test);
void add_result(struct json_object *report, const struct test *test);

#endif
