/* SPDX-License-Identifier: BSD-2-Clause */
#include "ranks.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef HAVE_PMIX
#include <pmix.h>
#endif

enum { LOOK_NS = 50 * 1000 * 1000 };

/* What processes of one machine share. */
struct ranks_local {
	uint32_t here;  /* how many have reached the barrier */
	uint32_t round; /* a futex: how often all have reached it */
	uint32_t has_failed;
	pid_t pids[RANKS_MAX];
	uint8_t said[RANKS_MAX][RANKS_SAID_MAX];
};

static _Thread_local char error_text[256];

const char *ranks_error(void)
{
	return error_text;
}

static __attribute__((format(printf, 2, 3))) int fail(int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error_text, sizeof(error_text), format, args);
	va_end(args);
	return -error;
}

/* -- of one machine ---------------------------------------------------------------------------- */

static void end_all(struct ranks *ranks)
{
	struct ranks_local *local = ranks->local;

	__atomic_store_n(&local->has_failed, 1, __ATOMIC_RELEASE);
	for (unsigned r = 1; r < ranks->count; r++)
		if (local->pids[r])
			kill(local->pids[r], SIGKILL);
}

static unsigned find_rank(const struct ranks *ranks, pid_t pid)
{
	unsigned r = 1;

	while (r < ranks->count && ranks->local->pids[r] != pid)
		r++;
	return r;
}

static void forget(struct ranks *ranks, pid_t pid)
{
	const unsigned r = find_rank(ranks, pid);

	if (r < ranks->count)
		ranks->local->pids[r] = 0;
}

static void tell_end(unsigned rank, int status)
{
	if (WIFSIGNALED(status))
		fail(ECONNRESET, "process %u was ended by signal %d", rank, WTERMSIG(status));
	else
		fail(ECONNRESET, "process %u has failed", rank);
}

/* Rank 0 sees which processes ended; @options: WNOHANG, or 0: waits for all. 0: none failed */
static int reap(struct ranks *ranks, int options)
{
	int status, failed = 0;
	pid_t pid;

	while ((pid = waitpid(-1, &status, options)) > 0 || (pid < 0 && errno == EINTR)) {
		if (pid < 0)
			continue;
		if (status && !failed) {
			failed = 1;
			tell_end(find_rank(ranks, pid), status);
			end_all(ranks);
		}
		forget(ranks, pid);
	}
	return failed;
}

static int wait_local(struct ranks *ranks)
{
	static const struct timespec look = { .tv_nsec = LOOK_NS };
	struct ranks_local *local = ranks->local;
	const uint32_t round = __atomic_load_n(&local->round, __ATOMIC_ACQUIRE);

	if (__atomic_add_fetch(&local->here, 1, __ATOMIC_ACQ_REL) == ranks->count) {
		__atomic_store_n(&local->here, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&local->round, round + 1, __ATOMIC_RELEASE);
		syscall(SYS_futex, &local->round, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
		return 0;
	}
	while (__atomic_load_n(&local->round, __ATOMIC_ACQUIRE) == round) {
		syscall(SYS_futex, &local->round, FUTEX_WAIT, round, &look, NULL, 0);
		if (!ranks->rank && reap(ranks, WNOHANG))
			return -ECONNRESET;
		if (__atomic_load_n(&local->has_failed, __ATOMIC_ACQUIRE))
			return fail(ECONNRESET, "another process has failed");
	}
	return 0;
}

static int exchange_local(struct ranks *ranks, const void *mine, size_t bytes, void *all)
{
	struct ranks_local *local = ranks->local;
	int err;

	memcpy(local->said[ranks->rank], mine, bytes);
	err = wait_local(ranks);
	for (unsigned r = 0; !err && r < ranks->count; r++)
		memcpy((uint8_t *)all + r * bytes, local->said[r], bytes);
	return err ? err : wait_local(ranks); /* all have read it */
}

/* If the starter of a process is gone, the process ends, too. */
static int become(struct ranks *ranks, unsigned rank, pid_t starter)
{
	ranks->rank = rank;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != starter)
		_exit(1);
	return 0;
}

int ranks_start(struct ranks *ranks, unsigned count)
{
	const pid_t starter = getpid();

	if (!count || count > RANKS_MAX)
		return fail(EINVAL, "%u processes: from 1 to %u can be started", count, RANKS_MAX);
	*ranks = (struct ranks){ .count = count };
	ranks->local = mmap(NULL, sizeof(*ranks->local), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (ranks->local == MAP_FAILED)
		return fail(errno, "no memory for processes to share: %s", strerror(errno));
	fflush(NULL);
	for (unsigned r = 1; r < count; r++) {
		const pid_t pid = fork();

		if (!pid)
			return become(ranks, r, starter);
		if (pid < 0) {
			const int err =
				fail(errno, "process %u cannot be started: %s", r, strerror(errno));

			end_all(ranks);
			return err;
		}
		ranks->local->pids[r] = pid;
	}
	return 0;
}

static int end_local(struct ranks *ranks, int status)
{
	if (ranks->rank) {
		fflush(NULL);
		return status;
	}
	if (status)
		end_all(ranks);
	if (reap(ranks, 0) && !status)
		status = 1;
	munmap(ranks->local, sizeof(*ranks->local));
	return status;
}

/* -- of a launcher ----------------------------------------------------------------------------- */

#ifdef HAVE_PMIX

static pmix_proc_t self;

static int fail_pmix(const char *what, pmix_status_t status)
{
	return fail(EIO, "PMIx: %s: %s", what, PMIx_Error_string(status));
}

static int join(struct ranks *ranks)
{
	pmix_value_t *value = NULL;
	pmix_proc_t job;
	pmix_status_t status;

	/* Without a server PMIx_Init() searches for one for a while, then fails. */
	if (!getenv("PMIX_RANK") || !getenv("PMIX_NAMESPACE"))
		return fail(
			ENOTCONN,
			"no launcher started this: use mpirun, or another one that speaks PMIx");
	status = PMIx_Init(&self, NULL, 0);
	if (status != PMIX_SUCCESS)
		return fail_pmix("the launcher does not answer", status);
	PMIX_PROC_CONSTRUCT(&job);
	PMIX_LOAD_PROCID(&job, self.nspace, PMIX_RANK_WILDCARD);
	status = PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &value);
	if (status != PMIX_SUCCESS)
		return fail_pmix("how many processes there are", status);
	*ranks = (struct ranks){ .rank = self.rank, .count = value->data.uint32 };
	PMIX_VALUE_RELEASE(value);
	if (ranks->count > RANKS_MAX)
		return fail(EINVAL, "%u processes: %u can be", ranks->count, RANKS_MAX);
	return 0;
}

static int wait_launched(bool with_data)
{
	pmix_proc_t all;
	pmix_info_t info;
	pmix_status_t status;

	PMIX_PROC_CONSTRUCT(&all);
	PMIX_LOAD_PROCID(&all, self.nspace, PMIX_RANK_WILDCARD);
	PMIX_INFO_CONSTRUCT(&info);
	PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &with_data, PMIX_BOOL);
	status = PMIx_Fence(&all, 1, &info, 1);
	PMIX_INFO_DESTRUCT(&info);
	return status == PMIX_SUCCESS ? 0 : fail_pmix("waiting for the others", status);
}

static int get(const char *key, unsigned rank, size_t bytes, uint8_t *to)
{
	pmix_value_t *value = NULL;
	pmix_proc_t peer;
	pmix_status_t status;
	bool fits;

	PMIX_PROC_CONSTRUCT(&peer);
	PMIX_LOAD_PROCID(&peer, self.nspace, rank);
	status = PMIx_Get(&peer, key, NULL, 0, &value);
	if (status != PMIX_SUCCESS)
		return fail_pmix("what another process says", status);
	fits = value->type == PMIX_BYTE_OBJECT && value->data.bo.size == bytes;
	if (fits)
		memcpy(to, value->data.bo.bytes, bytes);
	PMIX_VALUE_RELEASE(value);
	return fits ? 0 : fail(EPROTO, "process %u is of another build", rank);
}

/* A key is published once, so each exchange has its own. */
static int exchange_launched(struct ranks *ranks, const void *mine, size_t bytes, void *all)
{
	pmix_value_t value = { .type = PMIX_BYTE_OBJECT,
			       .data.bo = { .bytes = (char *)(uintptr_t)mine, .size = bytes } };
	pmix_status_t status;
	char key[32];
	int err;

	snprintf(key, sizeof(key), "bsn.%u", ranks->exchanges++);
	status = PMIx_Put(PMIX_GLOBAL, key, &value);
	if (status == PMIX_SUCCESS)
		status = PMIx_Commit();
	if (status != PMIX_SUCCESS)
		return fail_pmix("telling the others", status);
	err = wait_launched(true);
	for (unsigned r = 0; !err && r < ranks->count; r++)
		err = get(key, r, bytes, (uint8_t *)all + r * bytes);
	return err;
}

static int end_launched(int status)
{
	if (status)
		PMIx_Abort(status, "a process has failed", NULL, 0);
	PMIx_Finalize(NULL, 0);
	return status;
}

#else

static int join(struct ranks *ranks)
{
	(void)ranks;
	return fail(EOPNOTSUPP, "built without PMIx: install libpmix-dev, then build anew");
}

static int wait_launched(bool with_data)
{
	(void)with_data;
	return -EOPNOTSUPP;
}

static int exchange_launched(struct ranks *ranks, const void *mine, size_t bytes, void *all)
{
	(void)ranks;
	(void)mine;
	(void)bytes;
	(void)all;
	return -EOPNOTSUPP;
}

static int end_launched(int status)
{
	return status;
}

#endif

/* -- either ------------------------------------------------------------------------------------ */

int ranks_join(struct ranks *ranks)
{
	return join(ranks);
}

int ranks_exchange(struct ranks *ranks, const void *mine, size_t bytes, void *all)
{
	if (bytes > RANKS_SAID_MAX)
		return fail(EMSGSIZE, "%zu bytes: %d can be said at once", bytes, RANKS_SAID_MAX);
	return ranks->local ? exchange_local(ranks, mine, bytes, all)
			    : exchange_launched(ranks, mine, bytes, all);
}

int ranks_wait(struct ranks *ranks)
{
	return ranks->local ? wait_local(ranks) : wait_launched(false);
}

int ranks_end(struct ranks *ranks, int status)
{
	return ranks->local ? end_local(ranks, status) : end_launched(status);
}
