/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands that programs write, and their answers. */
#include "cm.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

#include "../../os/raw.h"

static const struct command {
	uint16_t size; /* bytes read of a command, whatever length the program says */
	cm_handler *handler;
	const char *name;
	bool meets_others; /* some of them may have died */
} commands[] = {
#define COMMAND(name, type, handler)                                                               \
	[RDMA_USER_CM_CMD_##name] = { sizeof(struct rdma_ucm_##type), handler, #name, false }
#define MEETING(name, type, handler)                                                               \
	[RDMA_USER_CM_CMD_##name] = { sizeof(struct rdma_ucm_##type), handler, #name, true }
	COMMAND(CREATE_ID, create_id, cm_create_id),
	COMMAND(DESTROY_ID, destroy_id, cm_destroy_id),
	MEETING(BIND_IP, bind_ip, cm_bind_ip),
	MEETING(RESOLVE_IP, resolve_ip, cm_resolve_ip),
	COMMAND(RESOLVE_ROUTE, resolve_route, cm_resolve_route),
	COMMAND(QUERY_ROUTE, query, cm_query_route),
	MEETING(CONNECT, connect, cm_connect),
	MEETING(LISTEN, listen, cm_listen),
	COMMAND(ACCEPT, accept, cm_accept),
	COMMAND(REJECT, reject, cm_reject),
	COMMAND(DISCONNECT, disconnect, cm_disconnect),
	COMMAND(INIT_QP_ATTR, init_qp_attr, cm_init_qp_attr),
	[RDMA_USER_CM_CMD_GET_OPTION] = { 0 }, /* Linux does not have it, either */
	COMMAND(SET_OPTION, set_option, cm_set_option),
	COMMAND(NOTIFY, notify, cm_notify),
	COMMAND(JOIN_IP_MCAST, join_ip_mcast, cm_join_ip_group),
	COMMAND(LEAVE_MCAST, destroy_id, cm_leave_group),
	COMMAND(MIGRATE_ID, migrate_id, cm_migrate_id),
	COMMAND(QUERY, query, cm_query),
	MEETING(BIND, bind, cm_bind_address),
	MEETING(RESOLVE_ADDR, resolve_addr, cm_resolve_address),
	COMMAND(JOIN_MCAST, join_mcast, cm_join_group),
#undef MEETING
#undef COMMAND
};

enum { COMMANDS = ARRAY_LEN(commands) };

union any_command {
	struct rdma_ucm_create_id create_id;
	struct rdma_ucm_resolve_addr resolve_addr;
	struct rdma_ucm_connect connect;
	struct rdma_ucm_accept accept;
	struct rdma_ucm_join_mcast join_mcast;
};

/* -- events ------------------------------------------------------------------------------------ */

/* Takes an event; if there is none, says which word to sleep on. */
static int take_event(struct cx_hca *hca, const struct rdmacm *handle, int fd,
		      struct rdma_ucm_event_resp *told, uint32_t **came, uint32_t *seen)
{
	struct cx_cm_file *file;
	int err = -EIO;

	cx_lock_to_create(hca);
	file = cm_file_find(hca, handle);
	if (file) {
		cm_file_use(hca, file, fd);
		cm_tell_removal(hca);
		*came = &file->came;
		*seen = file->came;
		err = cm_take_event(hca, file, told);
	}
	cx_unlock(hca);
	return err;
}

/* Another thread has closed the file that this one sleeps on. Linux goes on sleeping, too. */
static uint32_t closed;

/* A thread may be cancelled here, as in write(2); it holds no lock or memory. */
static int sleep_on(uint32_t *came, uint32_t seen)
{
	int type, failed, err;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	failed = raw_futex_wait(came, seen, NULL);
	err = errno;
	pthread_setcanceltype(type, NULL);
	return failed && err == EINTR ? -EINTR : 0;
}

static int get_event(const struct rdmacm *handle, struct cx_hca *hca, int fd,
		     const struct rdma_ucm_cmd_hdr *head, uint64_t command)
{
	struct rdma_ucm_event_resp told;
	struct rdma_ucm_get_event cmd;
	uint32_t *came, seen;
	bool has_slept = false;
	int err;

	if (head->out < offsetof(struct rdma_ucm_event_resp, reserved))
		return -ENOSPC;
	if (user_read(&cmd, command, sizeof(cmd)))
		return -EFAULT;
	while ((err = take_event(hca, handle, fd, &told, &came, &seen)) == -EAGAIN) {
		if (raw_fcntl(fd, F_GETFL, 0) & O_NONBLOCK)
			return -EAGAIN;
		err = sleep_on(came, seen);
		if (err)
			return err;
		has_slept = true;
	}
	while (err == -EIO && has_slept)
		if (sleep_on(&closed, 0))
			return -EINTR;
	if (err)
		return err;
	return user_write(cmd.response, &told, head->out < sizeof(told) ? head->out : sizeof(told));
}

/* -- the others -------------------------------------------------------------------------------- */

static int run(struct cm_call *call, const struct rdmacm *handle, int fd,
	       const struct command *command, const void *bytes)
{
	struct cx_hca *hca = call->hca;
	int err = -EIO;

	cx_lock_to_create(hca);
	call->file = cm_file_find(hca, handle);
	if (call->file) {
		cm_file_use(hca, call->file, fd);
		cm_tell_removal(hca);
		err = command->handler(call, bytes);
	}
	if (err)
		cx_trace(hca, "rdma_cm: %s is refused: %s", command->name, strerror(-err));
	cx_unlock(hca);
	return err;
}

static int answer(struct cm_call *call)
{
	if (!call->answer || !user_write(call->response, call->answer, call->answer_size))
		return 0;
	if (call->made) {
		cx_lock(call->hca);
		cm_id_destroy(call->hca, call->made);
		cx_unlock(call->hca);
	}
	return -EFAULT;
}

static int execute(const struct rdmacm *handle, const struct uverbs_host *host, int fd,
		   const struct rdma_ucm_cmd_hdr *head, uint64_t at)
{
	const struct command *command = &commands[head->cmd];
	struct cm_call call = { .hca = host->hca,
				.cm = &host->hca->shared->cm,
				.host = host,
				.in_size = head->in,
				.out_size = head->out };
	union any_command bytes = { 0 };
	unsigned size = command->size;
	int err;

	/* Newer versions of these two are longer. */
	if ((head->cmd == RDMA_USER_CM_CMD_CONNECT || head->cmd == RDMA_USER_CM_CMD_ACCEPT) &&
	    head->in < size)
		size = head->in;
	if (user_read(&bytes, at, size))
		return -EFAULT;
	if (command->meets_others)
		rdmacm_sweep(call.hca);
	err = run(&call, handle, fd, command, &bytes);
	return err ? err : answer(&call);
}

ssize_t rdmacm_write(struct rdmacm *file, const struct uverbs_host *host, int fd,
		     const void *command, size_t size)
{
	const uint64_t at = (uintptr_t)command;
	struct rdma_ucm_cmd_hdr head;
	int err;

	if (size < sizeof(head))
		return -EINVAL;
	if (user_read(&head, at, sizeof(head)))
		return -EFAULT;
	if (head.cmd >= COMMANDS || head.in + sizeof(head) > size)
		return -EINVAL;
	if (head.cmd == RDMA_USER_CM_CMD_GET_EVENT)
		err = get_event(file, host->hca, fd, &head, at + sizeof(head));
	else if (!commands[head.cmd].handler)
		err = -ENOSYS;
	else
		err = execute(file, host, fd, &head, at + sizeof(head));
	return err ? err : (ssize_t)size;
}
