/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XRC between processes. The target belongs to the sender, the SRQ that requests name to its child,
 * and they share only a file. On each path of the software ConnectX that is linked in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "bsn_xrc.h"
#include "softcx.h"

enum { MESSAGES = 40, RECVS = 8, LENGTH = 200, DEADLINE_S = 20 };

/* What the receiver tells the sender. */
struct told {
	uint32_t srqn, rkey;
	uint64_t addr;
};

static char fabric[32];
static FILE *file;

static int open_device(enum bsn_path path, struct bsn_device **device)
{
	const struct cx_config config = { .generation = CX_GEN_CX6,
					  .link = CX_LINK_IB,
					  .fabric = fabric };

	return softcx_start(&config)
		       ? -1
		       : bsn_device_open(NULL, &(struct bsn_device_attr){ .path = path }, device);
}

static void fill(uint8_t *bytes, uint64_t id)
{
	for (unsigned i = 0; i < LENGTH; i++)
		bytes[i] = (uint8_t)(id + i);
}

/* -- the receiver, where asserts do not work --------------------------------------------------- */

#define NEED(condition)                                                                            \
	do {                                                                                       \
		if (!(condition))                                                                  \
			_exit(__LINE__ % 200 + 1);                                                 \
	} while (0)

static void take(struct bsn_cq *cq, uint64_t id)
{
	struct bsn_completion c;
	int got;

	while (!(got = bsn_poll(cq, &c, 1)))
		;
	NEED(got == 1 && !c.status && c.id == id && c.byte_len == LENGTH);
}

static void post(struct bsn_rq *srq, const struct bsn_mr *mr, uint64_t id)
{
	NEED(!bsn_recv(srq, &(struct bsn_sge){ mr->addr + id % RECVS * LENGTH, LENGTH, mr->lkey },
		       id));
}

static void receive_all(struct bsn_cq *cq, struct bsn_rq *srq, const struct bsn_mr *mr)
{
	uint8_t wanted[LENGTH];

	for (uint64_t id = 0; id < MESSAGES; id++) {
		take(cq, id);
		fill(wanted, id);
		NEED(!memcmp((void *)(uintptr_t)(mr->addr + id % RECVS * LENGTH), wanted, LENGTH));
		post(srq, mr, id + RECVS);
	}
}

static void be_the_receiver(int fd, enum bsn_path path)
{
	struct bsn_srq_attr attr = { .recv_depth = RECVS };
	struct bsn_device *device;
	struct bsn_xrcd *xrcd;
	struct bsn_rq *srq;
	struct bsn_mr *mr;
	struct told told;
	uint8_t wanted[LENGTH];
	char byte;

	NEED(!open_device(path, &device));
	NEED(!bsn_xrcd_open(device, fileno(file), &xrcd));
	NEED(!bsn_cq_create(device, NULL, &attr.cq));
	NEED(!bsn_buf_alloc(device, (RECVS + 1) * LENGTH, NULL, &mr));
	attr.xrcd = xrcd;
	NEED(!bsn_srq_create(device, &attr, &srq));
	for (uint64_t id = 0; id < RECVS; id++)
		post(srq, mr, id);
	told = (struct told){ bsn_srq_number(srq), mr->rkey, mr->addr + RECVS * LENGTH };
	NEED(write(fd, &told, sizeof(told)) == sizeof(told));
	receive_all(attr.cq, srq, mr);
	NEED(read(fd, &byte, 1) == 1); /* the sender wrote, too */
	fill(wanted, MESSAGES);
	NEED(!memcmp((void *)(uintptr_t)told.addr, wanted, LENGTH));
	NEED(!bsn_srq_destroy(srq) && !bsn_cq_destroy(attr.cq) && !bsn_buf_free(mr));
	NEED(!bsn_xrcd_close(xrcd) && !bsn_device_close(device));
	_exit(0);
}

/* -- the sender -------------------------------------------------------------------------------- */

struct sender {
	struct bsn_device *device;
	struct bsn_xrcd *xrcd;
	struct bsn_xrc_target *target;
	struct bsn_cq *cq;
	struct bsn_qp *qp;
	struct bsn_ep *ep;
	struct bsn_mr *mr;
};

#define ok(call) assert_int_equal(call, 0)

static void make_sender(struct sender *s, enum bsn_path path, uint32_t srqn)
{
	struct bsn_qp_attr attr = { .type = BSN_QP_XRC };
	struct bsn_address address;

	ok(open_device(path, &s->device));
	ok(bsn_xrcd_open(s->device, fileno(file), &s->xrcd));
	ok(bsn_xrc_target_create(s->xrcd, &s->target));
	ok(bsn_cq_create(s->device, NULL, &s->cq));
	ok(bsn_buf_alloc(s->device, LENGTH, NULL, &s->mr));
	attr.cq = s->cq;
	ok(bsn_qp_create(s->device, &attr, &s->qp));
	ok(bsn_xrc_target_address(s->target, &address));
	ok(bsn_qp_connect(s->qp, &address, NULL));
	ok(bsn_qp_address(s->qp, &address));
	ok(bsn_xrc_target_connect(s->target, &address, NULL));
	ok(bsn_xrc_ep_create(s->qp, srqn, NULL, &s->ep));
}

static void unmake_sender(struct sender *s)
{
	ok(bsn_ep_destroy(s->ep));
	ok(bsn_qp_destroy(s->qp));
	ok(bsn_xrc_target_destroy(s->target));
	ok(bsn_cq_destroy(s->cq));
	ok(bsn_buf_free(s->mr));
	ok(bsn_xrcd_close(s->xrcd));
	ok(bsn_device_close(s->device));
	ok(softcx_stop());
}

static void expect_done(struct sender *s, uint64_t id)
{
	struct bsn_completion c;
	int got;

	while (!(got = bsn_poll(s->cq, &c, 1)))
		;
	assert_int_equal(got, 1);
	assert_int_equal(c.status, IBV_WC_SUCCESS);
	assert_int_equal(c.id, id);
}

static void send_all(struct sender *s, const struct told *told)
{
	const struct bsn_sge local = { s->mr->addr, LENGTH, s->mr->lkey };
	const struct bsn_remote to = { told->addr, told->rkey };

	for (uint64_t id = 0; id <= MESSAGES; id++) {
		fill(s->mr->data, id);
		ok(id < MESSAGES ? bsn_send(s->ep, &local, id, BSN_F_SIGNALED | BSN_F_RING)
				 : bsn_write(s->ep, &local, &to, id, BSN_F_SIGNALED | BSN_F_RING));
		expect_done(s, id);
	}
}

static void reach_an_srq_of_another_process(enum bsn_path path)
{
	static unsigned count;
	struct sender s;
	struct told told;
	int pair[2], status;
	pid_t pid;

	snprintf(fabric, sizeof(fabric), "xrc-%d-%u", (int)getpid(), count++);
	file = tmpfile();
	assert_non_null(file);
	ok(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		alarm(DEADLINE_S);
		be_the_receiver(pair[1], path);
	}
	close(pair[1]);
	assert_int_equal(read(pair[0], &told, sizeof(told)), sizeof(told));
	make_sender(&s, path, told.srqn);
	send_all(&s, &told);
	assert_int_equal(write(pair[0], "w", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	unmake_sender(&s);
	close(pair[0]);
	fclose(file);
}

static void directly(void **state)
{
	(void)state;
	reach_an_srq_of_another_process(BSN_PATH_DIRECT);
}

static void by_plain_verbs(void **state)
{
	(void)state;
	reach_an_srq_of_another_process(BSN_PATH_VERBS);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(directly),
					    cmocka_unit_test(by_plain_verbs) };

	alarm(2 * DEADLINE_S);
	return cmocka_run_group_tests_name("xrc_peers", tests, NULL, NULL);
}
