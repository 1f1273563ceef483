/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands in mailboxes: their list, and helpers. */
#ifndef SOFTCX_NIC_FIRMWARE_H
#define SOFTCX_NIC_FIRMWARE_H

#include "bsn_cmd.h"
#include "bsn_syndrome.h"
#include "bsn_umr.h"
#include "commands.h"

struct cx_mailbox {
	const uint8_t *in;
	size_t in_size;
	uint8_t *out; /* zeroed */
	size_t out_size;
	const struct cx_commander *by; /* NULL: the driver */
	struct bsn_cmd_in head;
	const char *why; /* why the status is not OK; a sentence without a full stop */
};

/* Under the lock. */
typedef enum bsn_command_status cx_firmware_command(struct cx_hca *hca, struct cx_mailbox *box);

cx_firmware_command cx_query_hca_cap;                               /* caps.c */
cx_firmware_command cx_create_mkey, cx_query_mkey, cx_destroy_mkey; /* mkey.c */
cx_firmware_command cx_create_cq, cx_create_qp;                     /* queues.c */
cx_firmware_command cx_transit_qp, cx_query_qp;                     /* qp_context.c */
cx_firmware_command cx_query_vport;                                 /* vport.c */
cx_firmware_command cx_query_cq, cx_modify_cq;                      /* queues.c */
cx_firmware_command cx_create_rmp, cx_query_rmp, cx_modify_rmp;     /* receivers.c */
cx_firmware_command cx_create_dct, cx_query_dct, cx_drain_dct;      /* receivers.c */
cx_firmware_command cx_arm_dct;                                     /* receivers.c */
cx_firmware_command cx_create_general_object;                       /* mapping.c */

enum { CX_RING_ALIGN_BYTES = 4096 };

/* A ring or record that must be in a umem. */
struct cx_place {
	uint32_t umem;
	uint64_t offset, bytes;
	unsigned align;
	bool is_written; /* by the device */
};

/* Where it is in the program's memory. */
enum bsn_command_status cx_find_place(struct cx_hca *hca, struct cx_mailbox *box,
				      const struct cx_place *place, uint64_t *va);

/* The object that a command names, and the object that a command created. */
static inline uint32_t cx_meant(const struct cx_mailbox *box)
{
	struct bsn_cmd_object meant;

	bsn_cmd_object_decode(&meant, box->in + BSN_CMD_OBJECT_OFFSET);
	return meant.number;
}

/** cx_log2 - the exponent of a size, as in contexts and capabilities; of 0: 0 */
static inline uint32_t cx_log2(uint64_t value)
{
	return value ? 63u - (uint32_t)__builtin_clzll(value) : 0;
}

static inline void cx_answer_made(struct cx_mailbox *box, uint32_t number)
{
	const struct bsn_cmd_object made = { .number = number };

	bsn_cmd_object_encode(box->out + BSN_CMD_OBJECT_OFFSET, &made);
}

static inline enum bsn_command_status
cx_refuse_command(struct cx_mailbox *box, enum bsn_command_status status, const char *why)
{
	box->why = why;
	return status;
}

#endif
