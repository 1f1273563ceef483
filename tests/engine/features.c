/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a device can do on each path, found out by doing it: each feature is a case. A feature
 * works, or it is refused with a reason; anything else is a failure.
 *
 * If BSN_TEST_FEATURES names a file, the outcomes are written there as JSON. features.py makes the
 * table of the README from three such runs.
 */
#include "features_tries.h"

/* -- the list ---------------------------------------------------------------------------------- */

static const struct feature features[] = {
	{ "RC", try_send, NULL, RC },
	{ "UC", try_send, NULL, UC },
	{ "UD", try_send, NULL, UD },
	{ "XRC", try_xrc, NULL, NO_QUEUES },
	{ "dynamically connected transport (DC)", try_dc_pool, "by RC connections, made on demand",
	  NO_QUEUES },
	{ "DC initiators with streams", try_dc_streams, NULL, NO_QUEUES },
	{ "DC with a full handshake", try_full_handshake, NULL, NO_QUEUES },
	{ "UD multicast", try_multicast, NULL, UD },
	{ "shared receive queues", try_send, NULL, NEEDS(.has_srq = true) },
	{ "SEND", try_send, NULL, RC },
	{ "SEND with immediate", try_send_imm, NULL, RC },
	{ "SEND with invalidate", try_send_inval, NULL, RC },
	{ "RDMA WRITE", try_write, NULL, RC },
	{ "RDMA WRITE with immediate", try_write_imm, NULL, RC },
	{ "RDMA READ", try_read, NULL, RC },
	{ "fetch and add", try_fetch_add, NULL, RC },
	{ "compare and swap", try_cmp_swap, NULL, RC },
	{ "masked atomics", try_masked_atomics, NULL, RC },
	{ "copies by the NIC", try_copy, NULL, RC },
	{ "layouts of local memory", try_layout, "as lists of SGEs, by several requests", RC },
	{ "layouts for the peer (mkeys)", try_mkey, NULL, RC },
	{ "memory windows", try_window, NULL, RC },
	{ "several SGEs", try_sges, NULL,
	  NEEDS(.qp = { .max_send_sge = PIECES, .max_inline = LENGTH }) },
	{ "inline data", try_inline, NULL, NEEDS(.qp.max_inline = LENGTH) },
	{ "messages inside CQEs (inline receive)", try_inline_recv, NULL, RC },
	{ "several receives at once", try_recv_many, "posted one by one", RC },
	{ "prepared requests", try_prepared, "encoded anew at each post", RC },
	{ "append now, ring later", try_batch, "the library keeps them until the ring", RC },
	{ "fences", try_fence, NULL, RC },
	{ "unsignaled requests, signaled by the library when due", try_unsignaled, NULL, RC },
	{ "QPs that signal everything", try_signal_all, NULL, NEEDS(.qp.signal_all = true) },
	{ "a CQ for each direction", try_two_cqs, NULL, RC },
	{ "timestamps of completions", try_ticks, NULL, NO_QUEUES },
	{ "timestamps of the real-time clock", try_real_time, NULL, NO_QUEUES },
	{ "CQs whose device ignores overruns", try_ignored_overruns, NULL, NO_QUEUES },
	{ "compressed CQEs", try_compression, NULL, NO_QUEUES },
	{ "CQs of another size", try_resize, NULL, NO_QUEUES },
	{ "messages by RDMA WRITE (bsn_msg)", try_messages, NULL,
	  NEEDS(.qp.max_inline = BSN_MSG_RECORD) },
	{ "completion channels", try_channel, NULL, NEEDS(.has_channel = true) },
	{ "solicited events", try_solicited, NULL, NEEDS(.has_channel = true) },
	{ "events for several completions at once", try_moderation, NULL,
	  NEEDS(.has_channel = true) },
	{ "waiting awake, then asleep", try_wait, NULL, NO_QUEUES },
	{ "asynchronous events, SRQ limits", try_async_events, NULL, NEEDS(.has_srq = true) },
	{ "failures by their syndrome", try_cause, "told from the status", RC },
	{ "vendor syndromes", try_vendor_syndrome, NULL, RC },
	{ "fail and drain: everything comes back", try_drain, NULL, RC },
	{ "reset, and use again", try_reset, NULL, RC },
	{ "QPs that the application made", try_attach, NULL, RC },
	{ "a doorbell register per thread", try_lane, NULL, RC },
	{ "choice of the BlueFlame store", try_stores, NULL, RC },
};

#define FEATURES (COUNT(features))

static const char *const paths[] = { [BENCH_DIRECT] = "direct", [BENCH_VERBS] = "verbs" };

#define PATHS (COUNT(paths))

/* The outcome of each feature; NULL: it was not tried, or failed. */
static struct outcome {
	const char *is;
	char why[192];
} outcomes[PATHS][FEATURES];

static struct bench_case cases[FEATURES];

static void try_feature(struct bench *b)
{
	const size_t index = (size_t)(b->test - cases);
	const struct feature *feature = &features[index];
	struct outcome *outcome = &outcomes[b->kind][index];
	const char *why = feature->try(b);

	outcome->is = "yes";
	if (why) {
		outcome->is = "refused";
	} else if (b->kind == BENCH_VERBS && feature->by_library) {
		outcome->is = "emulated";
		why = feature->by_library;
	}
	snprintf(outcome->why, sizeof(outcome->why), "%s", why ? why : "");
}

static struct json_object *path_to_json(const struct outcome *of_path)
{
	struct json_object *object = json_object_new_object();

	for (size_t i = 0; i < FEATURES; i++) {
		struct json_object *one = json_object_new_object();
		if (of_path[i].is)
			json_object_object_add(one, "is", json_object_new_string(of_path[i].is));
		if (*of_path[i].why)
			json_object_object_add(one, "why", json_object_new_string(of_path[i].why));
		json_object_object_add(object, features[i].name, one);
	}
	return object;
}

static int write_outcomes(const char *file)
{
	struct json_object *report = json_object_new_object();

	for (size_t path = 0; path < PATHS; path++)
		json_object_object_add(report, paths[path], path_to_json(outcomes[path]));
	int err = json_object_to_file_ext(file, report, JSON_C_TO_STRING_PRETTY);
	if (err)
		fprintf(stderr, "features: %s\n", json_util_get_last_err());
	json_object_put(report);
	return err;
}

int main(void)
{
	const char *file = getenv("BSN_TEST_FEATURES");

	for (size_t i = 0; i < FEATURES; i++) {
		cases[i] = features[i].needs;
		cases[i].name = features[i].name;
		cases[i].run = try_feature;
		cases[i].is_own_only = true; /* attached queues are a feature of their own */
	}
	int failed = bench_run("features", cases, FEATURES);
	if (file && write_outcomes(file))
		return 1;
	return failed;
}
