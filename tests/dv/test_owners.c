/* SPDX-License-Identifier: BSD-2-Clause */
/* A build with owner checks stops whoever uses a queue that is another thread's. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake.h"

enum role { POST, RECV, POLL, ROLES };

static struct fake *f;

static void *use(void *role)
{
	const struct bsn_sge sge = { 0x1000, 8, 1 };
	const struct bsn_remote remote = { 0x2000, 2 };
	struct bsn_completion c;

	switch (*(const enum role *)role) {
	case POST:
		bsn_write(&f->ep, &sge, &remote, 0, BSN_F_RING);
		break;
	case RECV:
		bsn_recv(f->rq, &sge, 0);
		break;
	default:
		bsn_poll(f->cq, &c, 1);
		break;
	}
	return NULL;
}

/* By this thread and then by another; between the two, perhaps, it is handed over. */
static void use_by_two(enum role role, bool is_handed_over)
{
	pthread_t other;

	use(&role);
	if (is_handed_over)
		f->sq->owner_thread = f->lane.owner_thread = f->rq->owner_thread =
			f->cq->owner_thread = 0;
	pthread_create(&other, NULL, use, &role);
	pthread_join(other, NULL);
}

/* How a process ends that does so. */
static int status_of(enum role role, bool is_handed_over)
{
	int status;
	const pid_t child = fork();

	if (!child) {
		const struct rlimit no_core = { 0, 0 };
		setrlimit(RLIMIT_CORE, &no_core);
		signal(SIGABRT, SIG_DFL); /* cmocka's is the parent's */
		close(STDERR_FILENO);
		use_by_two(role, is_handed_over);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void a_second_thread_is_stopped(void **state)
{
	(void)state;
	for (int role = POST; role < ROLES; role++) {
		const int status = status_of((enum role)role, false);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGABRT);
	}
}

static void unless_it_was_handed_over(void **state)
{
	(void)state;
	for (int role = POST; role < ROLES; role++)
		assert_int_equal(status_of((enum role)role, true), 0);
}

static int make(void **state)
{
	const struct fake_attr attr = { .transport = BSN_TRANSPORT_RC };

	(void)state;
	f = fake_create(&attr);
	f->sq->owner_thread = 0; /* a fake owns its queue at once */
	return 0;
}

static int unmake(void **state)
{
	(void)state;
	fake_destroy(f);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_second_thread_is_stopped),
		cmocka_unit_test(unless_it_was_handed_over),
	};

	return cmocka_run_group_tests(tests, make, unmake);
}
