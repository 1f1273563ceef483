/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands in mailboxes: which there are, and what they share. */
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
	struct bsn_cmd_in head;
	const char *why; /* of a status that is not OK; a sentence without a full stop */
};

/* Under the lock. */
typedef enum bsn_command_status cx_firmware_command(struct cx_hca *hca, struct cx_mailbox *box);

cx_firmware_command cx_query_hca_cap;                               /* caps.c */
cx_firmware_command cx_create_mkey, cx_query_mkey, cx_destroy_mkey; /* mkey.c */

static inline enum bsn_command_status
cx_refuse_command(struct cx_mailbox *box, enum bsn_command_status status, const char *why)
{
	box->why = why;
	return status;
}

#endif
