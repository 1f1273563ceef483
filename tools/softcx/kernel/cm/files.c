/* SPDX-License-Identifier: BSD-2-Clause */
/* Open files of rdma_cm: their sockets, and the end of files that nobody has open any more. */
#include "cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "../../os/raw.h"

/* In the abstract namespace (unix(7)): the name is in no file system, and goes with the socket. */
static socklen_t name_of(uint64_t serial, struct sockaddr_un *name)
{
	*name = (struct sockaddr_un){ .sun_family = AF_UNIX };
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1,
					    "softcx-rdma_cm-%016llx", (unsigned long long)serial));
}

int cm_socket(int flags)
{
	return raw_socket(AF_UNIX, SOCK_DGRAM | flags, 0);
}

/* Whether somebody still has it open; if that is unknown, yes. */
bool cm_file_is_open(int fd, uint64_t serial)
{
	struct sockaddr_un name;
	const socklen_t size = name_of(serial, &name);

	return !raw_connect(fd, &name, size) || errno != ECONNREFUSED;
}

static void poke(uint64_t serial)
{
	struct sockaddr_un name;
	const socklen_t size = name_of(serial, &name);
	const int fd = cm_socket(SOCK_CLOEXEC);

	if (fd < 0)
		return;
	raw_sendto(fd, "", 1, MSG_DONTWAIT, &name, size);
	raw_close(fd);
}

/* The network namespace in which sockets have their names; 0: unknown, there is no /proc. */
uint64_t cm_net_namespace(void)
{
	struct stat st;

	return raw_stat("/proc/self/ns/net", &st) ? 0 : st.st_ino;
}

struct cx_cm_file *cm_file_find(struct cx_hca *hca, const struct rdmacm *handle)
{
	struct cx_cm_file *file = &hca->shared->cm.files[handle->index];

	/* If the fabric is full, this process has no slot, and peers cannot tell it of anything. */
	return hca->self < CX_PROCS && file->serial == handle->serial ? file : NULL;
}

/* The descriptor by which this process has last used each file. */
static int descriptors[CX_CM_FILES];

void cm_file_use(struct cx_hca *hca, struct cx_cm_file *file, int fd)
{
	struct cx_cm *cm = &hca->shared->cm;

	descriptors[file - cm->files] = fd;
	if (file->keeper == hca->self)
		return;
	file->keeper = hca->self;
	cm_look_at(hca, hca->self, 1);
}

/* Others may sleep on the futex, or poll the socket. */
void cm_file_show(struct cx_cm_file *file)
{
	__atomic_fetch_add(&file->came, 1, __ATOMIC_SEQ_CST);
	raw_futex_wake_all(&file->came);
	poke(file->serial);
}

void cm_file_quiet(struct cx_hca *hca, struct cx_cm_file *file)
{
	const int fd = descriptors[file - hca->shared->cm.files];
	char byte;

	while (raw_recv(fd, &byte, sizeof(byte), MSG_DONTWAIT) >= 0)
		;
}

static struct cx_cm_file *find_empty(struct cx_cm *cm)
{
	for (unsigned i = 0; i < CX_CM_FILES; i++)
		if (!cm->files[i].serial)
			return &cm->files[i];
	return NULL;
}

static int make(struct cx_hca *hca, uint64_t serial, struct rdmacm *handle)
{
	const uint64_t here = cm_net_namespace();
	struct cx_cm *cm = &hca->shared->cm;
	struct cx_cm_file *file;
	int err = 0;

	cx_lock_to_create(hca);
	if (!cm->net_namespace)
		cm->net_namespace = here;
	file = hca->self < CX_PROCS ? find_empty(&hca->shared->cm) : NULL;
	if (cm->net_namespace != here) {
		cx_trace(hca, "rdma_cm: programs of another network namespace use the fabric");
		err = -EXDEV;
	} else if (file) {
		*file = (struct cx_cm_file){ .serial = serial, .keeper = hca->self };
		*handle = (struct rdmacm){ .index = (uint32_t)(file - hca->shared->cm.files),
					   .serial = serial };
	} else {
		err = -ENOMEM;
	}
	cx_unlock(hca);
	return err;
}

int rdmacm_open(struct cx_hca *hca, int flags, struct rdmacm **out)
{
	const int mode =
		(flags & O_NONBLOCK ? SOCK_NONBLOCK : 0) | (flags & O_CLOEXEC ? SOCK_CLOEXEC : 0);
	struct rdmacm *handle = calloc(1, sizeof(*handle));
	struct sockaddr_un name;
	uint64_t serial = 0;
	int fd, err = -ENOMEM;

	if (!handle)
		return err;
	fd = cm_socket(mode);
	if (fd < 0) {
		err = -errno;
		goto free_handle;
	}
	/* The bind fails if a file of any fabric has the name. */
	if (getrandom(&serial, sizeof(serial), 0) != sizeof(serial) || !serial ||
	    bind(fd, (struct sockaddr *)&name, name_of(serial, &name))) {
		err = -EIO;
		goto close_fd;
	}
	err = make(hca, serial, handle);
	if (err)
		goto close_fd;
	*out = handle;
	return fd;

close_fd:
	raw_close(fd);
free_handle:
	free(handle);
	return err;
}

void rdmacm_free(struct rdmacm *file)
{
	free(file);
}
