/* SPDX-License-Identifier: BSD-2-Clause */
/* What posting and opening refuse, and memory that may not be locked. */
#define BSN_CHECK_NULL /* for posts_to_nothing() */
#include "bad_input_rig.h"

/* -- the surroundings, as libibverbs sees them ------------------------------------------------- */

static int open_error; /* the error of opening any device; 0: none */

static bool has_nothing; /* libibverbs finds no device */

/* Both replace libibverbs' own functions, and call them. */
struct ibv_device **(ibv_get_device_list)(int *count)
{
	static struct ibv_device **(*real)(int *);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "ibv_get_device_list");
	if (!has_nothing)
		return real(count);
	errno = ENOSYS;
	return NULL;
}

struct ibv_context *mlx5dv_open_device(struct ibv_device *device, struct mlx5dv_context_attr *attr)
{
	static struct ibv_context *(*real)(struct ibv_device *, struct mlx5dv_context_attr *);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "mlx5dv_open_device");
	if (!open_error)
		return real(device, attr);
	errno = open_error;
	return NULL;
}

/* -- posting ----------------------------------------------------------------------------------- */

static void refused_as(int err, const char *word)
{
	assert_int_equal(err, -EINVAL);
	assert_non_null(bsn_refusal);
	assert_non_null(strstr(bsn_error_text(), word));
	bsn_refusal = NULL;
}

static const char *logged;

static void keep_logged(const char *why)
{
	logged = why;
}

/* BSN_LOG=1 also logs refused posts, and the text of an older error does not stay. */
static void a_refused_post_is_told(struct bench *b)
{
	struct bsn_ep *volatile no_ep = NULL;
	struct bsn_event event;

	REFUSED(EINVAL, "enum bsn_path", bsn_device,
		bsn_device_open(NULL, &(struct bsn_device_attr){ .path = 77 }, out));
	bsn_refusal_log = keep_logged;
	refused_as(bsn_send(no_ep, &(struct bsn_sge){ .length = 8 }, 0, BSN_F_RING), "no endpoint");
	assert_non_null(logged);
	assert_non_null(strstr(logged, "no endpoint"));
	assert_string_equal(bsn_error_text(), ""); /* refused_as() took it */
	/* What a loop meets all the time has its text, and is not logged. */
	logged = NULL;
	fails(EAGAIN, "no event waits", bsn_device_get_event(b->device, &event));
	assert_null(logged);
	bsn_refusal_log = NULL;
}

/* BSN_LOG, too, is 1 or 0. */
static void a_log_that_is_neither_on_nor_off(struct bench *b)
{
	(void)b;
	assert_int_equal(setenv("BSN_LOG", "yes", 1), 0);
	REFUSED(EINVAL, "BSN_LOG=yes: use 1 or 0", bsn_device, bsn_device_open(NULL, NULL, out));
	assert_int_equal(unsetenv("BSN_LOG"), 0);
}

static void numbers_are_told(struct bench *b)
{
	static uint8_t bytes[512];
	const struct bsn_sge sge[9] = { { 0 } };
	struct bsn_completion c;

	fails(EMSGSIZE, "512 bytes inline: the queue was made for ",
	      bsn_send_inline(b->ep[0], bytes, sizeof(bytes), 1, BSN_F_RING));
	fails(EMSGSIZE, "9 SGEs: the queue was made for ",
	      bsn_send_sgl(b->ep[0], sge, 9, 1, BSN_F_RING));
	fails(EMSGSIZE, "9 SGEs: the queue was made for ", bsn_recv_sgl(b->rq[0], sge, 9, 1));
	ok(bsn_send_inline(b->ep[0], "", 0, 1, NOW));
	ok(bsn_recv(b->rq[1], &(struct bsn_sge){ 0 }, 1));
	bench_settle(b);
	for (int n = -2; n <= 0; n++)
		assert_int_equal(bsn_poll(b->cq[0], &c, n), 0);
	assert_int_equal(bsn_poll(b->cq[0], &c, 1), 1);
}

/* The compiler does not know that it is NULL. */
static void posts_to_nothing(struct bench *b)
{
	static const struct bsn_prepared prepared;
	const struct bsn_sge sge = { .length = 8 };
	const struct bsn_remote to = { 0 };
	struct bsn_ep *volatile no_ep = NULL;
	struct bsn_rq *volatile no_rq = NULL;
	struct bsn_ep *const no_eps[] = { NULL };
	volatile unsigned two = 2;

	(void)b;
	refused_as(bsn_write(no_ep, &sge, &to, 0, BSN_F_RING), "no endpoint");
	refused_as(bsn_send(no_ep, &sge, 0, BSN_F_RING), "bsn_ep_create");
	refused_as(bsn_write_sgl(no_ep, &sge, two, &to, 0, 0), "no endpoint");
	refused_as(bsn_send_sgl(no_ep, &sge, two, 0, 0), "no endpoint");
	refused_as(bsn_write_inline(no_ep, &sge, 8, &to, 0, 0), "no endpoint");
	refused_as(bsn_send_inline(no_ep, &sge, 16, 0, 0), "no endpoint");
	refused_as(bsn_fetch_add(no_ep, &sge, &to, 1, 0, 0), "no endpoint");
	refused_as(bsn_post(no_ep, &(struct bsn_wr){ .opcode = BSN_OPCODE_SEND }), "no endpoint");
	refused_as(bsn_post_prepared(no_ep, &prepared, 0, 0), "no endpoint");
	refused_as(bsn_recv(no_rq, &sge, 0), "no receive queue");
	refused_as(bsn_recv_sgl(no_rq, &sge, two, 0), "no receive queue");
	refused_as(bsn_ring(NULL), "no endpoint");
	refused_as(bsn_ring_many(no_eps, 1), "no endpoint");
	refused_as(bsn_cancel(NULL), "no endpoint");
}

/* -- opening ----------------------------------------------------------------------------------- */

static void try_variable(const char *name, const char *value)
{
	assert_int_equal(setenv(name, value, 1), 0);
	REFUSED(EINVAL, value, bsn_device, bsn_device_open(NULL, NULL, out));
	assert_non_null(strstr(bsn_error_text(), "use "));
	assert_int_equal(unsetenv(name), 0);
}

static void nonsense_in_the_environment(struct bench *b)
{
	(void)b;
	try_variable("BSN_PATH", "fast");
	try_variable("BSN_STORE", "17x3");
	assert_int_equal(setenv("BSN_DEVICE", "mlx5_77", 1), 0);
	REFUSED(ENODEV, "bsn-info lists", bsn_device, bsn_device_open(NULL, NULL, out));
	assert_int_equal(unsetenv("BSN_DEVICE"), 0);
}

static void devices_that_cannot_be_had(struct bench *b)
{
	REFUSED(ENODEV, "no RDMA device nonesuch", bsn_device,
		bsn_device_open("nonesuch", NULL, out));
	REFUSED(EPROTO, "headers of a later libbunsen", bsn_device,
		bsn_device_open_layout(NULL, NULL, BSN_LAYOUT_VERSION + 1, out));
	REFUSED(EPROTO, "headers of a later libbunsen", bsn_device,
		bsn_device_attach_layout(bench_info(b)->verbs, NULL, BSN_LAYOUT_VERSION + 1, out));
#define BAD(error, word, ...)                                                                      \
	REFUSED(error, word, bsn_device,                                                           \
		bsn_device_open(bench_info(b)->name, &(struct bsn_device_attr){ __VA_ARGS__ },     \
				out))
	BAD(EINVAL, "enum bsn_path", .path = 9);
	BAD(EINVAL, "enum bsn_store", .store = 99);
	BAD(EINVAL, "no port 9", .port = 9);
	BAD(EINVAL, "no GID of index 10000", .gid_index = 10000);
	BAD(EINVAL, "no GID of index -1", .gid_index = -1);
#undef BAD
	has_nothing = true;
	REFUSED(ENODEV, "load the driver", bsn_device, bsn_device_open(NULL, NULL, out));
	has_nothing = false;
}

static void a_device_that_may_not_be_opened(struct bench *b)
{
	static const int errors[] = { EACCES, EPERM };

	(void)b;
	for (unsigned i = 0; i < 2; i++) {
		open_error = errors[i];
		REFUSED(EACCES, "/dev/infiniband", bsn_device,
			bsn_device_open("mlx5_0", NULL, out));
	}
	open_error = EMFILE;
	REFUSED(EMFILE, "cannot open mlx5_0", bsn_device, bsn_device_open("mlx5_0", NULL, out));
	open_error = 0;
}

/* -- memory that may not be locked ------------------------------------------------------------- */

/* CAP_IPC_LOCK overrides the limit, and root has it. */
static bool may_lock(bool *set)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	const uint32_t bit = 1u << CAP_IPC_LOCK % 32;

	assert_int_equal(syscall(SYS_capget, &header, data), 0);
	bool had = data[CAP_IPC_LOCK / 32].effective & bit;
	if (set) {
		data[CAP_IPC_LOCK / 32].effective &= ~bit;
		data[CAP_IPC_LOCK / 32].effective |= *set ? bit : 0;
		assert_int_equal(syscall(SYS_capset, &header, data), 0);
	}
	return had;
}

static void a_limit_of_locked_memory(struct bench *b)
{
	struct bsn_cq_attr large = { .entries = 4096 };
	struct bsn_qp_attr deep = { .send_depth = 1024 };
	bool could = may_lock(NULL), may_not = false;
	struct rlimit before, low;

	deep.cq = bench_cq(b, &large);
	assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &before), 0);
	low = before;
	low.rlim_cur = 4096;
	may_lock(&may_not);
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &low), 0);
	REFUSED(ENOMEM, "RLIMIT_MEMLOCK is 4096 bytes: raise it", bsn_mr,
		bsn_buf_alloc(b->device, 1 << 20, NULL, out));
	REFUSED(ENOMEM, "RLIMIT_MEMLOCK", bsn_cq, bsn_cq_create(b->device, &large, out));
	REFUSED(ENOMEM, "RLIMIT_MEMLOCK", bsn_qp, bsn_qp_create(b->device, &deep, out));
	REFUSED(ENOMEM, "RLIMIT_MEMLOCK", bsn_rq, bsn_srq_create(b->device, NULL, out));
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &before), 0);
	may_lock(&could);
}

static void memory_that_is_not_there(struct bench *b)
{
	const struct bsn_mr_attr readable = { .access = 0, .is_read_only = true };
	/* The kernel maps nothing so low unless it is told to: no allocation can take this page. */
	uint8_t *const nowhere = (uint8_t *)(uintptr_t)(1 << 20);
	uint8_t *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct bsn_mr *mr;

	assert_ptr_not_equal(page, MAP_FAILED);
	REFUSED(EFAULT, "is_read_only", bsn_mr, bsn_mr_register(b->device, page, 4096, NULL, out));
	ok(bsn_mr_register(b->device, page, 4096, &readable, &mr));
	ok(bsn_mr_deregister(mr));
	assert_int_equal(munmap(page, 4096), 0);
	REFUSED(EFAULT, "not mapped", bsn_mr, bsn_mr_register(b->device, nowhere, 4096, NULL, out));
}

static const struct bench_case cases[] = {
	{ CASE(a_refused_post_is_told), OWN },
	{ CASE(a_log_that_is_neither_on_nor_off) },
	{ CASE(numbers_are_told) },
	{ CASE(posts_to_nothing), OWN },
	{ CASE(nonsense_in_the_environment), BARE },
	{ CASE(devices_that_cannot_be_had), BARE },
	{ CASE(a_device_that_may_not_be_opened), BARE, MODEL },
	{ CASE(a_limit_of_locked_memory), BARE, MODEL },
	{ CASE(memory_that_is_not_there), BARE },
};

BENCH_MAIN("bad_input_opening")
