/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sums the floats of all ranks; each rank gets all sums. Each rank writes to its right neighbour.
 *
 *	mpirun -n 4 allreduce --check
 *	mpirun -n 4 --mca pml ucx -x UCX_TLS=rc_x,self allreduce	Open MPI by the NIC, too
 *
 * With N ranks the floats are N blocks, and a sum takes 2 (N - 1) steps. In the first step rank R
 * sends block R. In each later step a rank sends the block that it received in the step before:
 *
 *	reduce-scatter	the first N - 1 steps: a rank adds its own floats before it sends a block.
 *			At the end rank R has the sum of block R + 1
 *	all-gather	the other N - 1 steps: the finished blocks go round, each to its place
 *
 * A block is cut into chunks, and each chunk is sent on as soon as it has arrived. It is a WRITE
 * with immediate, whose completion tells the receiver that it arrived. Chunks arrive in order, so
 * their count, which is the immediate, says which floats are in one.
 *
 * Credits: the right neighbour has receives and slots for --depth chunks. It writes the number of
 * chunks that it has used to the sender's memory; the sender is at most --depth chunks ahead of
 * that.
 *
 * No rank waits for all others, not even between sums: a finished block has been at each rank, so
 * no rank still reads or adds to the memory that it overwrites.
 */
#include <bsn.h>
#include <errno.h>
#include <float.h>
#include <getopt.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ranks.h"
#ifdef HAVE_MPI
#include <mpi.h>
#endif

enum { SLOTS_AT = 64, POLLED = 16, CREDITS_SENT = 16 };

/* What a rank tells the others. Its memory has a credit, then slots, then the sums. */
struct place {
	struct bsn_address left, right;
	struct bsn_remote mem;
};

struct ring {
	unsigned count, rank;
	size_t floats, block, chunk; /* numbers of floats: in all, in a block, in a chunk */
	uint64_t depth, chunks, per_sum; /* of chunks: outstanding, in a block, in a sum */
	struct bsn_device *device;
	struct bsn_mr *mem;
	const uint64_t *credit;
	float *slots, *sums, *expected;
	struct bsn_cq *cq;
	struct bsn_qp *left, *right;
	struct bsn_remote left_mem, right_mem;
	/* Chunks since the start: sent, and completed; received, used, and credited. */
	uint64_t sent, written, arrived, used, credited;
};

static struct ranks ranks;

static _Noreturn void die(const char *what, const char *why)
{
	fprintf(stderr, "allreduce: rank %u: %s: %s\n", ranks.rank, what, why);
	exit(ranks_end(&ranks, 1)); /* the launcher ends the other ranks */
}

static void must(int err, const char *what)
{
	if (err)
		die(what, bsn_error_text());
}

/* Whether a chunk belongs to the steps that add. In the others blocks are finished. */
static bool is_to_add(const struct ring *r, uint64_t chunk)
{
	return chunk % r->per_sum / r->chunks < r->count - 1;
}

static float *slot_of(const struct ring *r, uint64_t chunk)
{
	return r->slots + chunk % r->depth * r->chunk;
}

/* The floats of a chunk that @rank sends. The last chunks of a block may be short, or empty. */
static float *floats_of(const struct ring *r, uint64_t chunk, unsigned rank, size_t *count)
{
	const size_t step = chunk % r->per_sum / r->chunks;
	const size_t block = (rank + 2 * r->count - step) % r->count * r->block;
	const size_t first = block + chunk % r->chunks * r->chunk;
	size_t end = first + r->chunk;

	end = end < block + r->block ? end : block + r->block;
	end = end < r->floats ? end : r->floats;
	*count = first < end ? end - first : 0;
	return *count ? r->sums + first : r->sums;
}

/* Sends the own block, then what came from the left, while there are credits. */
static void send_on(struct ring *r, uint64_t end)
{
	const uint64_t limit = __atomic_load_n(r->credit, __ATOMIC_ACQUIRE) + r->depth;

	for (; r->sent < end && r->sent < limit && r->sent < r->used + r->chunks; r->sent++) {
		size_t count;
		const float *from = floats_of(r, r->sent, r->rank, &count);
		const float *to = is_to_add(r, r->sent) ? slot_of(r, r->sent) : from;
		const struct bsn_sge local = { (uintptr_t)from, (uint32_t)(count * sizeof(float)),
					       r->mem->lkey };
		/* All ranks have the same layout. */
		const struct bsn_remote remote = {
			r->right_mem.addr + ((uintptr_t)to - r->mem->addr), r->right_mem.rkey
		};
		const int err = bsn_write_imm(bsn_qp_ep(r->right), &local, &remote,
					      (uint32_t)r->sent, 0, BSN_F_SIGNALED | BSN_F_RING);
		if (err == -EAGAIN)
			return; /* a credit may arrive before its chunk's completion is polled */
		must(err, "sending a chunk");
	}
}

/* Adds what came, and gives receives and slots back, with a credit for each half of them. */
static void use(struct ring *r, uint64_t end)
{
	const unsigned left = (r->rank + r->count - 1) % r->count;
	int err;

	for (; r->used < r->arrived && r->used < end; r->used++) {
		const float *slot = slot_of(r, r->used);
		size_t count;
		float *mine = floats_of(r, r->used, left, &count);
		for (size_t i = 0; is_to_add(r, r->used) && i < count; i++)
			mine[i] += slot[i];
		must(bsn_recv_sgl(bsn_qp_rq(r->left), NULL, 0, 0), "a receive");
	}
	if (r->used == r->credited || 2 * (r->used - r->credited) < r->depth)
		return;
	err = bsn_write_inline(bsn_qp_ep(r->left), &r->used, sizeof(r->used), &r->left_mem, 0,
			       BSN_F_RING);
	if (err == -EAGAIN)
		return; /* a later credit includes this one */
	must(err, "a credit");
	r->credited = r->used;
}

static void poll(struct ring *r)
{
	struct bsn_completion c[POLLED];
	const int n = bsn_poll(r->cq, c, POLLED);

	must(n < 0, "polling");
	for (int i = 0; i < n; i++) {
		if (c[i].status)
			die("a write", ibv_wc_status_str((enum ibv_wc_status)c[i].status));
		if (c[i].opcode != BSN_RECV_RDMA_WITH_IMM)
			r->written++;
		else if (c[i].imm != (uint32_t)r->arrived++)
			die("a chunk came", "it is not the next one");
	}
}

/* Sums @mine of all ranks, into @r->sums. */
static void sum(struct ring *r, const float *mine)
{
	const uint64_t end = r->used + r->per_sum;

	memcpy(r->sums, mine, r->floats * sizeof(float));
	while (r->used < end || r->written < end) {
		const uint64_t before = r->sent + r->written + r->used;

		poll(r);
		use(r, end);
		send_on(r, end);
		if (r->sent + r->written + r->used == before)
			sched_yield(); /* if ranks share a CPU */
	}
}

static void open_ring(struct ring *r)
{
	const uint32_t depth = (uint32_t)r->depth;
	const size_t slots = (depth * r->chunk * sizeof(float) + 63) / 64 * 64;
	struct bsn_qp_attr to_right = { .send_depth = depth, .recv_depth = 1 };
	struct bsn_qp_attr to_left = { .send_depth = CREDITS_SENT, .recv_depth = depth };
	const struct bsn_cq_attr cq = { .entries = 2 * depth + CREDITS_SENT + 1 };
	const size_t bytes = SLOTS_AT + slots + r->floats * sizeof(float);

	must(bsn_device_open(NULL, NULL, &r->device), "the device");
	must(bsn_buf_alloc(r->device, bytes, NULL, &r->mem), "memory");
	r->credit = r->mem->data;
	r->slots = (float *)((char *)r->mem->data + SLOTS_AT);
	r->sums = (float *)((char *)r->mem->data + SLOTS_AT + slots);
	must(bsn_cq_create(r->device, &cq, &r->cq), "a CQ");
	to_left.type = to_right.type = BSN_QP_RC;
	to_left.cq = to_right.cq = r->cq;
	must(bsn_qp_create(r->device, &to_right, &r->right) ||
		     bsn_qp_create(r->device, &to_left, &r->left),
	     "a QP");
	for (uint32_t i = 0; i < depth; i++)
		must(bsn_recv_sgl(bsn_qp_rq(r->left), NULL, 0, 0), "a receive");
}

/* Of two ranks each is the other's left and right neighbour, by two connections. */
static void meet(struct ring *r)
{
	const unsigned left = (r->rank + r->count - 1) % r->count, right = (r->rank + 1) % r->count;
	struct place mine = { .mem = bsn_remote_of(r->mem, 0) };
	struct place *all = calloc(r->count, sizeof(*all));

	must(bsn_qp_address(r->left, &mine.left) || bsn_qp_address(r->right, &mine.right),
	     "an address");
	if (!all || ranks_exchange(&ranks, &mine, sizeof(mine), all))
		die("meeting", all ? ranks_error() : "no memory");
	must(bsn_qp_connect(r->left, &all[left].right, NULL) ||
		     bsn_qp_connect(r->right, &all[right].left, NULL),
	     "a neighbour");
	r->left_mem = all[left].mem;
	r->right_mem = all[right].mem;
	free(all);
	if (ranks_wait(&ranks)) /* all are connected, and have posted receives */
		die("meeting", ranks_error());
}

static void close_ring(struct ring *r)
{
	must(bsn_qp_destroy(r->left) || bsn_qp_destroy(r->right) || bsn_cq_destroy(r->cq) ||
		     bsn_buf_free(r->mem) || bsn_device_close(r->device),
	     "closing");
}

/* Positive, so that the sum limits the rounding error. */
static float float_of(unsigned rank, size_t i)
{
	return (float)((i * 7919 + rank * 104729) % 1000 + 1) / 1000;
}

/* The sums by other means, to compare with. */
#ifdef HAVE_MPI
static const char *const other = "MPI_Allreduce";

static void sum_otherwise(struct ring *r, const float *mine)
{
	MPI_Allreduce(mine, r->expected, (int)r->floats, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}
#else
static const char *const other = "a loop";

static void sum_otherwise(struct ring *r, const float *mine)
{
	for (size_t i = 0; i < r->floats; i++) {
		r->expected[i] = mine[i];
		for (unsigned p = 0; p < r->count; p++)
			r->expected[i] += p == r->rank ? 0 : float_of(p, i);
	}
}
#endif

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

/* In microseconds. The first sum is not counted: it touches memory, and MPI connects. */
static double measure(void (*by)(struct ring *, const float *), struct ring *r, const float *mine,
		      unsigned long rounds)
{
	double start;

	by(r, mine);
	start = now_us();
	for (unsigned long i = 0; i < rounds; i++)
		by(r, mine);
	return (now_us() - start) / (double)rounds;
}

static void check(const struct ring *r)
{
	for (size_t i = 0; i < r->floats; i++) {
		const float most = 2 * (float)r->count * FLT_EPSILON * r->expected[i];
		if (fabsf(r->sums[i] - r->expected[i]) <= most)
			continue;
		fprintf(stderr, "allreduce: float %zu is %g, by %s %g\n", i, (double)r->sums[i],
			other, (double)r->expected[i]);
		die("check", "the sums are not the same");
	}
}

static void compare(struct ring *r, unsigned long rounds, bool has_check)
{
	float *mine = calloc(r->floats, sizeof(float));
	double ours, theirs;

	r->expected = calloc(r->floats, sizeof(float));
	if (!mine || !r->expected)
		die("memory", "there is not enough: take fewer --floats");
	for (size_t i = 0; i < r->floats; i++)
		mine[i] = float_of(r->rank, i);
	ours = measure(sum, r, mine, rounds);
	theirs = measure(sum_otherwise, r, mine, rounds);
	if (has_check)
		check(r);
	if (ranks_wait(&ranks)) /* all have checked their sums */
		die("waiting", ranks_error());
	if (!r->rank)
		printf("%u ranks, %zu floats in chunks of %zu: %.1f us; by %s: %.1f us%s\n",
		       r->count, r->floats, r->chunk, ours, other, theirs,
		       has_check ? "; the sums are the same" : "");
	free(r->expected);
	free(mine);
}

enum { FLOATS, CHUNK, DEPTH, ROUNDS, NUMBERS, CHECK = NUMBERS, HELP };

static struct {
	unsigned long value, most;
} numbers[] = { { 1 << 20, 1 << 28 }, { 1 << 14, 1 << 24 }, { 32, 1 << 10 }, { 10, 1 << 20 } };

static const char usage[] =
	"usage: mpirun -n RANKS allreduce [OPTION...]\n"
	"  --floats N   how many each rank has (1048576)\n"
	"  --chunk N    how many go in one write (16384)\n"
	"  --depth N    writes on the way to a neighbour (32)\n"
	"  --rounds N   sums whose time is taken (10)\n"
	"  --check      compares the sums with those that MPI_Allreduce, or else a loop, finds\n";

static bool parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "floats", 1, NULL, FLOATS },
		{ "chunk", 1, NULL, CHUNK },
		{ "depth", 1, NULL, DEPTH },
		{ "rounds", 1, NULL, ROUNDS },
		{ "check", 0, NULL, CHECK },
		{ "help", 0, NULL, HELP },
		{ 0 },
	};
	bool has_check = false;
	int o;

	while ((o = getopt_long(argc, argv, "", options, NULL)) >= 0 && o <= CHECK) {
		char *end;
		if (o == CHECK) {
			has_check = true;
			continue;
		}
		numbers[o].value = strtoul(optarg, &end, 0);
		if (!*optarg || *end || numbers[o].value - 1 >= numbers[o].most) {
			fprintf(stderr, "allreduce: --%s takes 1 to %lu, and not %s\n",
				options[o].name, numbers[o].most, optarg);
			exit(2);
		}
	}
	if (o >= 0 || optind < argc) {
		fputs(usage, o == HELP ? stdout : stderr);
		exit(o == HELP ? 0 : 2);
	}
	return has_check;
}

int main(int argc, char **argv)
{
	const bool has_check = parse(argc, argv);
	struct ring r = { .floats = numbers[FLOATS].value, .depth = numbers[DEPTH].value };

	if (ranks_join(&ranks))
		die("alone", ranks_error());
#ifdef HAVE_MPI
	MPI_Init(NULL, NULL);
#endif
	r.count = ranks.count;
	r.rank = ranks.rank;
	r.block = (r.floats + r.count - 1) / r.count;
	r.chunk = numbers[CHUNK].value < r.block ? numbers[CHUNK].value : r.block;
	r.chunks = (r.block + r.chunk - 1) / r.chunk;
	r.per_sum = 2 * (r.count - 1) * r.chunks;
	open_ring(&r);
	meet(&r);
	compare(&r, numbers[ROUNDS].value, has_check);
	close_ring(&r);
#ifdef HAVE_MPI
	MPI_Finalize();
#endif
	return ranks_end(&ranks, 0);
}
