/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares trapped stores with the same stores into ordinary memory: every kind of store
 * instruction, in both modes. Also: stores that must not be absorbed, and other faults, which keep
 * their meaning.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "unit.h"
#include "shim/access.h"
#include "shim/trap.h"
#include "stores.h"

enum { PAGES = 4, START = 2 * TRAP_PAGE_BYTES, BLOCK = 0x800 };

static int memfd;
static uint8_t *uar; /* the program's mapping */
static uint8_t pattern[256] __attribute__((aligned(64)));
static volatile unsigned calls; /* changes under a store */
static struct softcx_store seen[64];

static void on_store(void *context, uint32_t page, uint32_t offset, const void *data, uint32_t size)
{
	assert_ptr_equal(context, seen);
	if (calls < 64) {
		seen[calls].page = page;
		seen[calls].offset = offset;
		seen[calls].size = size;
		memcpy(seen[calls].data, data, size);
	}
	calls++;
	errno = EDOM; /* the handler preserves it */
}

static void answer(void *context, uint32_t offset, uint8_t *data, uint32_t size);

static int set_up(void **state)
{
	const struct trap_listener listener = { .report = on_store,
						.answer = answer,
						.context = seen };

	for (size_t k = 0; k < sizeof(pattern); k++)
		pattern[k] = 0x11 + k * 7;
	memfd = memfd_create("uar", MFD_CLOEXEC);
	assert_true(memfd >= 0);
	assert_int_equal(ftruncate(memfd, START + PAGES * TRAP_PAGE_BYTES), 0);
	assert_int_equal(trap_cover(0), -ENXIO);
	assert_int_equal(trap_install(memfd, START, PAGES * TRAP_PAGE_BYTES, TRAP_EXACT, &listener),
			 0);
	assert_int_equal(trap_install(memfd, START, TRAP_PAGE_BYTES, TRAP_EXACT, &listener),
			 -EALREADY);
	assert_int_equal(trap_cover(1), -ENXIO); /* nobody has mapped it yet */
	uar = mmap(NULL, TRAP_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memfd,
		   START + TRAP_PAGE_BYTES);
	assert_ptr_not_equal(uar, MAP_FAILED);
	assert_int_equal(trap_cover(1), 0);
	assert_int_equal(trap_cover(2), -ENXIO);
	return 0;
}

/* Runs a snippet on the trapped page and on memory; the bytes must be the same. */
static void run_both(const struct snippet *s, uint8_t *memory)
{
	uint8_t before[256];

	memcpy(before, uar + BLOCK, sizeof(before));
	memcpy(memory, before, sizeof(before));

	calls = 0;
	errno = 0;
	s->run(uar + BLOCK, pattern);
	assert_int_equal(errno, 0);
	s->run(memory, pattern);
	if (memcmp(uar + BLOCK, memory, sizeof(before)))
		fail_msg("%s stored something else", s->name);
}

static void each_store_is_one_report(void **state)
{
	static uint8_t memory[256] __attribute__((aligned(64)));

	trap_set_mode(TRAP_EXACT);
	for (size_t k = 0; k < COUNT_OF(snippets); k++) {
		const struct snippet *s = &snippets[k];
		if (s->feature && !have(s->feature)) {
			print_message("# %s: no %s\n", s->name, s->feature);
			continue;
		}
		run_both(s, memory);
		if (calls != s->stores)
			fail_msg("%s: %u reports", s->name, calls);
		for (unsigned c = 0; c < calls; c++) {
			assert_int_equal(seen[c].page, 1);
			assert_memory_equal(&memory[seen[c].offset - BLOCK], seen[c].data,
					    s->stores == 1 ? seen[c].size : 0);
		}
	}
}

static void a_block_is_one_report_when_absorbed(void **state)
{
	static uint8_t memory[256] __attribute__((aligned(64)));

	for (size_t k = 0; k < COUNT_OF(copies); k++) {
		const struct snippet *s = &copies[k];
		if (s->feature && !have(s->feature))
			continue;
		trap_set_mode(TRAP_EXACT);
		run_both(s, memory);
		assert_int_equal(calls, s->stores);
		trap_set_mode(TRAP_ABSORB);
		run_both(s, memory);
		if (calls != 1)
			fail_msg("%s: %u reports", s->name, calls);
		assert_int_equal(seen[0].offset, BLOCK);
		assert_int_equal(seen[0].size, 64);
		assert_memory_equal(seen[0].data, pattern, 64);
	}
}

static void record_keeps_the_order(void **state)
{
	struct softcx_store stores[8];

	trap_set_mode(TRAP_EXACT);
	assert_int_equal(softcx_record_stores(8), 0);
	for (unsigned k = 0; k < 10; k++)
		*(volatile uint64_t *)(uar + BLOCK + 256 * (k % 2)) = k;
	assert_int_equal(softcx_stores(stores, 8), 10);
	for (unsigned k = 0; k < 8; k++) {
		uint64_t value;
		memcpy(&value, stores[k].data, sizeof(value));
		assert_int_equal(value, k);
		assert_int_equal(stores[k].offset, BLOCK + 256 * (k % 2));
		assert_int_equal(stores[k].size, 8);
		assert_int_equal(stores[k].page, 1);
	}
	assert_int_equal(softcx_record_stores(0), 0);
}

#if defined(__x86_64__)
static void absorbed_loads_reach_their_registers(void **state)
{
	static const struct snippet mixed = { "halves", "movbe", c_halves, 7 };
	static uint8_t memory[256] __attribute__((aligned(64)));

	if (!have("movbe"))
		skip();
	trap_set_mode(TRAP_ABSORB);
	run_both(&mixed, memory);
	assert_true(calls <= 3); /* bytes 34 and 35 are not written */
}
#endif

static sigjmp_buf back;
static volatile int handled;

static void on_fault(int number, siginfo_t *info, void *ucontext)
{
	handled = number;
	siglongjmp(back, 1);
}

/* How many reports a store of 8 bytes makes. */
static unsigned ring_once(void)
{
	calls = 0;
	*(volatile uint64_t *)(uar + BLOCK) = 1;
	return calls;
}

static void wild_store_reaches_the_programs_handler(void **state)
{
	struct sigaction mine = { .sa_flags = SA_SIGINFO }, old;
	char *readonly = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mine.sa_sigaction = on_fault;
	sigfillset(&mine.sa_mask);
	for (volatile unsigned round = 0; round < 2; round++) {
		assert_int_equal(sigaction(SIGSEGV, &mine, &old), 0);
		handled = 0;
		if (!sigsetjmp(back, 1))
			*(volatile char *)readonly = 1;
		assert_int_equal(handled, SIGSEGV);
		assert_int_equal(ring_once(), 1); /* doorbells still ring */
	}
	assert_ptr_equal(signal(SIGSEGV, SIG_DFL), on_fault);
	munmap(readonly, 4096);
}

/* The status of a child that runs `what`. */
static int in_child(void (*what)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		close(STDERR_FILENO);
		signal(SIGSEGV, SIG_DFL); /* the test framework has one of its own */
		what();
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static volatile char *volatile nowhere = (char *)8;

static void store_wildly(void)
{
	*nowhere = 1;
}

static void store_wildly_ignoring_it(void)
{
	signal(SIGSEGV, SIG_IGN);
	raise(SIGSEGV); /* a sent one can be ignored */
	store_wildly();
}

static void send_segv(void)
{
	raise(SIGSEGV);
}

static void add_to_doorbell(void)
{
	__atomic_fetch_add((uint64_t *)(uar + BLOCK), 1, __ATOMIC_SEQ_CST);
}

static void store_blocked(void)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	sigprocmask(SIG_BLOCK, &all, NULL);
	_exit(ring_once() != 1);
}

/* Its second fault: Linux blocks the signal while its handler runs. */
static void fault_again(int number)
{
	if (handled++)
		_exit(1);
	store_wildly();
}

static void fault_in_the_handler(void)
{
	handled = 0;
	signal(SIGSEGV, fault_again);
	store_wildly();
}

/* The handler of this signal begins with SIGSEGV blocked, as its mask says. */
static void fault_in_another_handler(void)
{
	struct sigaction other = { .sa_handler = fault_again };

	handled = 0;
	sigfillset(&other.sa_mask);
	signal(SIGSEGV, fault_again);
	sigaction(SIGUSR1, &other, NULL);
	raise(SIGUSR1);
}

static void fault_blocked(void)
{
	sigset_t segv;

	handled = 0;
	signal(SIGSEGV, fault_again);
	sigemptyset(&segv);
	sigaddset(&segv, SIGSEGV);
	sigprocmask(SIG_BLOCK, &segv, NULL);
	store_wildly();
}

static void ring_in_the_handler(int number)
{
	_exit(ring_once() != 1);
}

static void ring_after_a_fault(void)
{
	signal(SIGSEGV, ring_in_the_handler);
	store_wildly();
}

static void a_handler_may_ring(void **state)
{
	assert_int_equal(in_child(ring_after_a_fault), 0);
}

static void leave_by_jump(int number)
{
	siglongjmp(back, 1);
}

/* Into a handler that may be left, and is entered again each time. */
static void fault_often(void)
{
	struct sigaction nodefer = { .sa_handler = fault_again, .sa_flags = SA_NODEFER };
	volatile int rounds = 0;

	signal(SIGSEGV, leave_by_jump);
	if (sigsetjmp(back, 1) < 1 || rounds < 3) {
		rounds++;
		store_wildly();
	}
	handled = 0;
	sigaction(SIGSEGV, &nodefer, NULL);
	store_wildly(); /* its handler faults, and runs once more, which is status 1 */
}

static void handlers_run_again_as_on_linux(void **state)
{
	int status = in_child(fault_often);

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
}

static void a_mask_is_read_back_as_it_was_set(void **state)
{
	struct sigaction set = { .sa_handler = leave_by_jump }, got;
	sigset_t segv, before, now;

	sigemptyset(&segv);
	sigaddset(&segv, SIGSEGV);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, &segv, &before), 0);
	assert_int_equal(sigismember(&before, SIGSEGV), 0);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, &now), 0);
	assert_int_equal(sigismember(&now, SIGSEGV), 1);
	assert_int_equal(sigismember(&now, SIGSTKFLT), 0);
	set.sa_mask = segv;
	assert_int_equal(sigaction(SIGUSR2, &set, NULL), 0);
	assert_int_equal(sigaction(SIGUSR2, NULL, &got), 0);
	assert_int_equal(sigismember(&got.sa_mask, SIGSEGV), 1);
	signal(SIGUSR2, SIG_DFL);
}

static void *ring_in_a_thread(void *arg)
{
	return ring_once() == 1 ? arg : NULL;
}

/* A thread that begins with all of them blocked. */
static void threads_ring_whatever_their_mask(void **state)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all;
	void *rang;

	sigfillset(&all);
	assert_int_equal(pthread_attr_init(&attr), 0);
	assert_int_equal(pthread_attr_setsigmask_np(&attr, &all), 0);
	assert_int_equal(pthread_create(&thread, &attr, ring_in_a_thread, uar), 0);
	assert_int_equal(pthread_join(thread, &rang), 0);
	assert_ptr_equal(rang, uar);
	pthread_attr_destroy(&attr);
}

static void other_faults_still_kill(void **state)
{
	void (*const deadly[])(void) = {
		store_wildly,         store_wildly_ignoring_it, send_segv,    add_to_doorbell,
		fault_in_the_handler, fault_in_another_handler, fault_blocked
	};
	int status;

	for (size_t k = 0; k < COUNT_OF(deadly); k++) {
		status = in_child(deadly[k]);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGSEGV);
	}
}

static void doorbells_ring_with_every_signal_blocked(void **state)
{
	assert_int_equal(in_child(store_blocked), 0);
}

static void unknown_store_is_named_with_its_bytes(void **state)
{
	int ends[2];
	char text[512] = "";
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		dup2(ends[1], STDERR_FILENO);
		add_to_doorbell();
		_exit(0);
	}
	close(ends[1]);
	assert_true(read(ends[0], text, sizeof(text) - 1) > 0);
	assert_non_null(strstr(text, "softcx: cannot emulate the store to the doorbell page"));
#if defined(__x86_64__)
	assert_non_null(strstr(text, "bytes f0 ")); /* the lock prefix */
#endif
	close(ends[0]);
	waitpid(pid, NULL, 0);
}

static void *ring_many(void *arg)
{
	volatile uint64_t *at = arg;

	for (unsigned k = 0; k < 2000; k++)
		*at = k;
	return NULL;
}

/* Covers the page again and again, as creating queues does, while another thread posts. */
static void covering_disturbs_no_poster(void **state)
{
	pthread_t poster;

	trap_set_mode(TRAP_ABSORB);
	calls = 0;
	assert_int_equal(pthread_create(&poster, NULL, ring_many, uar + BLOCK), 0);
	for (unsigned k = 0; k < 200; k++)
		assert_int_equal(trap_cover(1), 0);
	pthread_join(poster, NULL);
	assert_int_equal(calls, 2000);
}

/* Each byte is its own offset, so that a load shows which bytes it got. */
static void answer(void *context, uint32_t offset, uint8_t *data, uint32_t size)
{
	assert_ptr_equal(context, seen);
	for (uint32_t i = 0; i < size; i++)
		data[i] = (uint8_t)(offset + i);
}

#if defined(__x86_64__)
CODE(r_mov32, "mov (%rsi), %eax; mov %eax, (%rdi); ret");
CODE(r_mov64, "mov 8(%rsi), %r9; mov %r9, (%rdi); ret");
CODE(r_mov8, "mov 3(%rsi), %cl; mov %cl, (%rdi); ret");
CODE(r_movbe32, "movbe 4(%rsi), %eax; mov %eax, (%rdi); ret");
CODE(r_movdqu, "movdqu 16(%rsi), %xmm5; movdqu %xmm5, (%rdi); ret");
#else
CODE(r_mov32, "ldr w3, [x1]; str w3, [x0]; ret");
CODE(r_mov64, "ldr x3, [x1, #8]; str x3, [x0]; ret");
CODE(r_mov8, "ldrb w3, [x1, #3]; strb w3, [x0]; ret");
CODE(r_movdqu, "ldr q5, [x1, #16]; str q5, [x0]; ret");
#endif

static void assert_read(void (*run)(void *to, const void *from), const void *page,
			const char *wanted, size_t size)
{
	uint8_t to[16];

	run(to, page);
	assert_memory_equal(to, wanted, size);
}

/* A page that is mapped later is answered once it is covered; until then it reads as the file. */
static void what_cannot_be_read_is_answered(void **state)
{
	const off_t page = TRAP_PAGE_BYTES;
	void *first, *second;

	assert_int_equal(trap_cover_reads(page), 0); /* nobody has mapped it yet */
	first = mmap(NULL, TRAP_PAGE_BYTES, PROT_READ, MAP_SHARED, memfd, page);
	assert_ptr_not_equal(first, MAP_FAILED);
	assert_read(r_mov32, first, "\0\0\0\0", 4);
	assert_int_equal(trap_cover_reads(page), 0);
	second = mmap(NULL, TRAP_PAGE_BYTES, PROT_READ, MAP_SHARED, memfd, page);
	assert_ptr_not_equal(second, MAP_FAILED);
	assert_int_equal(trap_cover(1), 0); /* covers both */
	for (unsigned mode = TRAP_EXACT; mode <= TRAP_ABSORB; mode++) {
		trap_set_mode((enum trap_mode)mode);
		for (unsigned which = 0; which < 2; which++) {
			const void *at = which ? second : first;
			assert_read(r_mov32, at, "\0\1\2\3", 4);
			assert_read(r_mov64, at, "\10\11\12\13\14\15\16\17", 8);
			assert_read(r_mov8, at, "\3", 1);
			assert_read(r_movdqu, at,
				    "\20\21\22\23\24\25\26\27\30\31\32\33\34\35\36\37", 16);
#if defined(__x86_64__)
			if (have("movbe"))
				assert_read(r_movbe32, at, "\7\6\5\4", 4);
#endif
		}
	}
	trap_set_mode(TRAP_EXACT);
	assert_int_equal(ring_once(), 1); /* doorbells ring as before */
	munmap(first, TRAP_PAGE_BYTES);
	munmap(second, TRAP_PAGE_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT(each_store_is_one_report),
		UNIT(a_block_is_one_report_when_absorbed),
		UNIT(record_keeps_the_order),
#if defined(__x86_64__)
		UNIT(absorbed_loads_reach_their_registers),
#endif
		UNIT(wild_store_reaches_the_programs_handler),
		UNIT(other_faults_still_kill),
		UNIT(doorbells_ring_with_every_signal_blocked),
		UNIT(threads_ring_whatever_their_mask),
		UNIT(a_handler_may_ring),
		UNIT(handlers_run_again_as_on_linux),
		UNIT(a_mask_is_read_back_as_it_was_set),
		UNIT(unknown_store_is_named_with_its_bytes),
		UNIT(covering_disturbs_no_poster),
		UNIT(what_cannot_be_read_is_answered)
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
