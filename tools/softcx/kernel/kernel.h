/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside the kernel: a context with its objects, a call with its attributes. One lock guards all
 * contexts of the process; uverbs_ioctl() holds it around every handler.
 */
#ifndef SOFTCX_KERNEL_H
#define SOFTCX_KERNEL_H

#include <pthread.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "../datasheet.h"
#include "../nic/hca.h"
#include "uverbs.h"

/* -- objects (objects.c, lifetime.c) ----------------------------------------------------------- */

/* In the order in which a closing context destroys them. */
enum object_kind {
	OBJECT_NONE,
	OBJECT_DEVX,
	OBJECT_AH,
	OBJECT_QP,
	OBJECT_SRQ,
	OBJECT_CQ,
	OBJECT_MW,
	OBJECT_UMEM,
	OBJECT_MR,
	OBJECT_DM,
	OBJECT_XRCD,
	OBJECT_PD,
	OBJECT_UAR,
	OBJECT_VAR,
	OBJECT_KINDS,
	OBJECT_ANY, /* any kind, in a search */
};

struct pinned {
	uint64_t pages; /* counted in the process's RLIMIT_MEMLOCK */
};

/* Destroys the object in the device. */
typedef int object_destroyer(struct cx_hca *hca, uint32_t number);

struct object {
	enum object_kind kind;
	uint32_t handle;
	uint32_t users;       /* other objects that refer to this one */
	/* pdn, key, cqn, srqn, qpn, UAR page, umem, index of an mkey; the same of DevX's objects */
	uint32_t number;
	uint64_t user_handle; /* what its events carry */
	struct object *pd, *xrcd; /* NULL: none */
	struct event_file *async; /* the file of its asynchronous events */
	uint32_t async_reported;  /* events that the program has read */
	struct pinned pinned;
	object_destroyer *destroyer; /* NULL: the device does not have it */
	union {
		struct {
			uint32_t opcode; /* the command that created it */
		} devx;
		struct {
			uint64_t length;
			uint64_t iova;
			uint64_t va;
			int access;
			struct object *dm; /* the device memory that it is of; NULL: none */
			void *mapped;      /* a dma-buf; else NULL */
			size_t mapped_bytes;
		} mr;
		struct {
			uint64_t length;
			uint32_t first_page, pages;
			uint8_t *mapped; /* its address for the device, in this process */
		} dm;
		struct {
			struct event_file *channel;
			uint32_t comp_reported;
			uint32_t entries;
			uint32_t cqe_size;
		} cq;
		struct {
			uint32_t max_wr, max_sge;
			struct object *cq; /* of XRC; else NULL */
		} srq;
		struct {
			struct object *send_cq, *recv_cq, *srq;
			enum ibv_qp_type type;
			enum cx_dc dc; /* of IBV_QPT_DRIVER */
			struct ib_uverbs_qp_cap cap;
			bool signal_all;
			bool blocks_own_multicast;
			unsigned groups; /* that it is attached to */
		} qp;
	};
};

struct uverbs_context {
	const struct uverbs_host *host;
	struct cx_hca *hca;
	uint32_t number; /* its name in lists of resources */
	const struct cx_config *config;
	bool ready;               /* GET_CONTEXT was answered */
	bool devx;                /* it may send commands */
	bool foreign;             /* inherited through fork */
	unsigned lag_turns;       /* how many ports of the bond its queues have taken */
	struct event_file *async; /* the first one, for objects that name none */
	struct object **objects;  /* by handle; NULL where free */
	uint32_t object_slots;
	struct uverbs_context *next;
};

/*
 * A zeroed object with a handle; NULL: out of memory. object_free() does not destroy it in the
 * device.
 */
struct object *object_new(struct uverbs_context *ctx, enum object_kind kind,
			  object_destroyer *destroyer);
void object_free(struct uverbs_context *ctx, struct object *object);
struct object *object_find(const struct uverbs_context *ctx, enum object_kind kind,
			   uint64_t handle);
struct object *object_of_number(const struct uverbs_context *ctx, enum object_kind kind,
				uint32_t number);
void object_destroy_all(struct uverbs_context *ctx);
/* Refers to an XRC domain. */
void object_refer_xrcd(struct object *object, struct object *xrcd);
/* Adds or drops references to what `object` uses: its PD, and the file of its events. */
void object_refer(struct object *object, struct object *pd, struct event_file *async);
/* Destroys and frees an object: -EBUSY while it is in use, else the device's answer. */
int object_destroy(struct uverbs_context *ctx, struct object *object);
struct object *object_of_event(const struct uverbs_context *ctx, enum object_kind kind,
			       uint64_t user_handle);

/* -- event files (events.c) -------------------------------------------------------------------- */

struct event_file {
	struct uverbs_context *ctx; /* NULL after its context was closed */
	enum cx_event kind;
	uint32_t channel;
	uint32_t refs;
	int fd; /* read and written without blocking; the program's own descriptor may block */
	struct event_file *next;
	int *eventfds; /* copies of the program's eventfds, to which events of DevX go */
	unsigned eventfd_count;
	char path[108];
};

void event_file_get(struct event_file *file);
void event_file_put_locked(struct event_file *file);
/* Drops this object's events that the program has not read. */
void event_file_forget(struct event_file *file, const struct object *object);
/* The context closes, but the program still has the descriptor. */
void event_files_orphan(struct uverbs_context *ctx);
/* In a child after fork(): the FIFOs are the parent's. */
void event_files_disown(void);
/* The event file of a program's descriptor. -EBADF: it is not of that kind. */
int event_file_of_fd(const struct uverbs_context *ctx, int64_t fd, enum cx_event kind,
		     struct event_file **file);
/*
 * Copies an eventfd of the program, until the file is closed. Returns 0; -EBADF; -EINVAL: it is no
 * eventfd.
 */
int event_file_keep_eventfd(struct event_file *file, int fd, int *copy);
/* Creates an event file. Returns the program's descriptor, or -errno. */
int event_file_open(struct uverbs_context *ctx, enum cx_event kind);

extern pthread_mutex_t kernel_lock; /* lock.c */

/* -- calls (call.c) -------------------------------------------------------------------------- */

struct call {
	struct uverbs_context *ctx;
	struct ib_uverbs_attr *attrs; /* a copy of the program's attributes */
	unsigned count;
	uint64_t user_attrs; /* the program's attributes */
	unsigned answer_after_ms; /* how long the handler's answer is delayed */
};

typedef int call_handler(struct call *call);

struct ib_uverbs_attr *call_attr(const struct call *call, uint16_t id); /* NULL: absent */
bool call_has(const struct call *call, uint16_t id);
/* -EINVAL: the context was opened without DevX. */
int call_check_devx(const struct call *call);
unsigned call_len(const struct call *call, uint16_t id);
/*
 * Copies an input, padded with zeroes to `size`; all zeroes if it is absent. Returns 0 or -EFAULT.
 */
int call_in(const struct call *call, uint16_t id, void *value, size_t size);
uint64_t call_value(const struct call *call, uint16_t id); /* of up to 8 bytes; absent: 0 */
/*
 * Copies an output as far as the program has room, with zeroes after `size`; none if it is absent.
 */
int call_out(struct call *call, uint16_t id, const void *value, size_t size);
int call_out_handle(struct call *call, uint16_t id, uint64_t handle);
/* The object that an attribute names. -ENOENT: there is none. */
int call_object(const struct call *call, uint16_t id, enum object_kind kind,
		struct object **object);
/* The event file that an attribute names, else the context's own; for asynchronous events. */
int call_async_file(const struct call *call, uint16_t id, struct event_file **file);
/* The driver's part of a request: at least `min` bytes; those after `size` must be zero. */
int call_driver_in(const struct call *call, void *value, size_t min, size_t size);
/* Whether what was passed after the first `size` bytes is zero. Returns 0, -EOPNOTSUPP, -EFAULT. */
int call_check_zero_tail(const struct ib_uverbs_attr *attr, size_t size);
/* The handler of all methods that destroy, by kind of object. */
int call_destroy(struct call *call, uint16_t id, enum object_kind kind);

/* -- addresses (path.c) ------------------------------------------------------------------------ */

/*
 * The MAC of a RoCE address. Returns 0; -EINVAL: its family is not that of the GID at @sgid_index;
 * -ENETUNREACH: there is no route; -ETIMEDOUT, after a second: no neighbour has it; or the errors
 * of cx_gid_get().
 */
int path_resolve(struct call *call, const uint8_t dgid[16], unsigned sgid_index, uint8_t mac[6]);

/* -- the commands, by subject ------------------------------------------------------------------ */

enum attr_kind { ATTR_IN, ATTR_OUT, ATTR_OBJECT, ATTR_NEW_OBJECT, ATTR_FD, ATTR_NEW_FD };
enum { ATTR_OPTIONAL = 1, ATTR_ZERO_TRAILING = 2 };

struct attr_spec {
	uint16_t id;
	uint8_t kind;  /* enum attr_kind */
	uint8_t flags; /* ATTR_* */
	uint16_t min, max;
};

struct method {
	uint16_t object_id, method_id;
	bool before_context; /* allowed before GET_CONTEXT */
	bool driver_data;    /* it takes UVERBS_ATTR_UHW_IN and _OUT */
	call_handler *handler;
	const char *name;
	const struct attr_spec *specs;
	unsigned spec_count;
};

struct write_command {
	uint32_t command; /* with IB_USER_VERBS_CMD_FLAG_EXTENDED if it is extended */
	uint16_t min_in, min_out;
	call_handler *handler;
	const char *name;
};

/* Tables of methods; an entry without a handler ends each. */
extern const struct method device_methods[], pd_methods[], mr_methods[], ah_methods[],
	uar_methods[], dm_methods[], cq_methods[], srq_methods[], qp_methods[], devx_methods[],
	devx_event_methods[], mw_methods[], xrcd_methods[];
extern const struct write_command device_commands[], pd_commands[], mr_commands[], ah_commands[],
	cq_commands[], srq_commands[], qp_state_commands[], mw_commands[], mcast_commands[],
	xrcd_commands[];

/* Mkeys by index: those of DevX, and of windows (mw.c). */
struct bsn_mkey_ctx;
int mkey_create(struct cx_hca *hca, const struct bsn_mkey_ctx *ctx, uint32_t *index);
int mkey_destroy(struct cx_hca *hca, uint32_t index);

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define SPECS(specs) specs, ARRAY_LEN(specs)

static inline uint32_t roundup_pow2(uint32_t value)
{
	uint32_t power = 1;

	while (power < value)
		power <<= 1;
	return power;
}

/* -- the program's memory (umem.c) ------------------------------------------------------------- */

int user_read(void *to, uint64_t from, size_t size);
int user_write(uint64_t to, const void *from, size_t size);

/*
 * What ib_umem_get() does: the range must be mapped, writable if `writable`, and fit into
 * RLIMIT_MEMLOCK. Returns 0, -EINVAL, -EFAULT, -ENOMEM.
 */
int user_pin(struct pinned *pinned, uint64_t start, uint64_t length, bool writable);
/* A queue, and its doorbell record. */
int user_pin_ring(struct pinned *pinned, uint64_t buf, uint64_t bytes, uint64_t db);
void user_unpin(struct pinned *pinned);

/* Maps a file for the device; NULL: it cannot be mapped. */
void *device_map(int fd, off_t offset, size_t length, bool writable);
void device_unmap(void *mapped, size_t length);

/* -- its mappings (watch.c) -------------------------------------------------------------------- */

/* From now on the device is told when other pages are mapped at these addresses. */
void watch_memory(struct cx_hca *hca, uint64_t start, uint64_t length);
/*
 * Call it before memory is registered: after it the device knows of each change that began earlier.
 * The kernel reports munmap() of another thread after it is done, when the address may already
 * belong to this thread.
 */
void watch_catch_up(struct cx_hca *hca);
void watch_after_fork_child(void);

#endif
