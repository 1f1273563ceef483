/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A message channel on RDMA WRITE: messages go straight into a ring in the receiver's memory, so
 * there are no receives to post and no completions to poll on its side. Both ends have
 *
 *	an inbox   memory with a ring for each sender, and one thread that reads it
 *	lines      one a peer: a connected RC QP, the peer's ring in our inbox, and our ring in its
 *
 *	bsn_msg_inbox_create(device, &(struct bsn_msg_inbox_attr){ .senders = 8 }, &inbox);
 *	bsn_msg_line_create(inbox, qp, user, &line);   each QP, of BSN_MSG_RECORD bytes inline
 *	bsn_msg_line_address(line, &mine);             exchange(&mine, &peer); bsn_qp_connect()
 *	bsn_msg_line_connect(line, &peer);
 *
 *	bsn_msg_send(line, "hello", 5, BSN_F_RING);
 *	bsn_msg_poll(inbox, &msg);                     msg.data, msg.length, msg.line
 *
 * What makes a message whole, whatever the order in which its bytes come:
 *
 *	short     up to BSN_MSG_SHORT bytes are in their record of 64 bytes, one inline WRITE. The
 *	          record's first word is a sum of the ring's key, the message's number, its length
 *	          and all of its bytes; until that is right nothing is taken
 *	longer    the bytes are a WRITE of their own, and the record is a later WRITE of the same
 *	          QP. An RC QP executes WRITEs in order (IBTA 9.5), and inboxes are never of
 *	          relaxed ordering; so the WRITEs before a record are in memory when the record is
 *	credits   the receiver tells in a word of the sender's inbox how many messages it took; that
 *	          word has a sum, too
 *
 * A peer that does not keep to this leaves a record or word wrong for @patience_ns, or gives
 * credits for messages that were never sent. Then its line fails with -EPROTO, and the other lines
 * go on.
 *
 * Threads: an inbox and all of its lines belong to one thread, which is the poster of their QPs.
 *           Nothing else is posted to those; receives, and other requests of the peer, are free.
 * Room: the application polls the CQ of the QPs, as ever: this makes room in send queues, and tells
 *           of a connection that broke. The channel's own requests are not signaled, and fail with
 *           the line's address as id.
 *
 * Rules of parameters and results are those of bsn.h. Both paths have it.
 */
#ifndef BSN_MSG_H
#define BSN_MSG_H

#include "bsn.h"

BSN_HEADER_BEGIN

#define BSN_MSG_RECORD 64 /* bytes of a record: max_inline that a QP needs */
#define BSN_MSG_SHORT  48 /* bytes of a message that one WRITE carries */

/** struct bsn_msg_inbox - where messages arrive */
struct bsn_msg_inbox;

/** struct bsn_msg_line - to and from one peer */
struct bsn_msg_line;

/**
 * struct bsn_msg_inbox_attr - sizes, of each sender's ring
 * @pd: that of the QPs; NULL: the device's default
 * @senders: lines that there may be; 0: 1
 * @depth: messages that may be unread; 4 to 65536, a power of two; 0: 64
 * @bytes: for messages longer than BSN_MSG_SHORT, the longest of which is a quarter of it; a power
 *	of two up to 2^31; 0: there are no longer ones
 * @patience_ns: how long a record may stay wrong before it is an error; 0: a second
 */
struct bsn_msg_inbox_attr {
	struct bsn_pd *pd;
	uint32_t senders;
	uint32_t depth;
	uint32_t bytes;
	uint64_t patience_ns;
};
BSN_API int bsn_msg_inbox_create(struct bsn_device *device, const struct bsn_msg_inbox_attr *attr,
				 struct bsn_msg_inbox **inbox);
/** bsn_msg_inbox_destroy - Return: -EBUSY it has lines */
BSN_API int bsn_msg_inbox_destroy(struct bsn_msg_inbox *inbox);

/**
 * bsn_msg_line_create - a ring for one peer
 * @qp: RC, of bsn_qp_create(), in the inbox's protection domain, with max_inline of BSN_MSG_RECORD;
 *	connected before the first message is sent
 * @user: comes with each message
 *
 * Return: -ENOSPC the inbox has as many lines as it was made for; -EOPNOTSUPP not RC, or attached;
 * -EINVAL another domain, or too little inline.
 */
BSN_API int bsn_msg_line_create(struct bsn_msg_inbox *inbox, struct bsn_qp *qp, void *user,
				struct bsn_msg_line **line);

/**
 * bsn_msg_line_destroy - the peer must not send any more: bsn_qp_fail() its QP before, where it
 * might
 *
 * The QP may be destroyed then.
 */
BSN_API int bsn_msg_line_destroy(struct bsn_msg_line *line);

/** struct bsn_msg_address - where the peer is to write; travels as plain bytes */
struct bsn_msg_address {
	uint8_t bytes[64];
};
BSN_API int bsn_msg_line_address(const struct bsn_msg_line *line, struct bsn_msg_address *address);

/**
 * bsn_msg_line_connect - the line sends to the peer's ring
 * @peer: bsn_msg_line_address() of the peer's line
 *
 * Return: -EPROTO no such address, or of a host of another byte order; -EISCONN it is connected
 * already.
 */
BSN_API int bsn_msg_line_connect(struct bsn_msg_line *line, const struct bsn_msg_address *peer);

/**
 * bsn_msg_send - a message, whose bytes are copied now
 * @length: up to the QP's max_inline, and no more than a quarter of the peer's @bytes; up to
 *	BSN_MSG_SHORT always
 * @flags: BSN_F_RING; or 0: a later message with it, or bsn_msg_ring(), publishes this one
 *
 * Order: the peer gets the messages of a line in the order in which they were sent
 * Context: the inbox's thread; no allocation, no lock, no system call
 * Return: 0; -EAGAIN the peer has not read enough, or the send queue is full: poll both; -EMSGSIZE
 * too long; -ENOTCONN; -EINVAL unknown flags; -EPROTO the peer's credits are wrong, and the line
 * has failed. Unless 0, nothing was sent.
 */
BSN_API int bsn_msg_send(struct bsn_msg_line *line, const void *data, uint32_t length,
			 unsigned flags);

/**
 * bsn_msg_send_from - a message longer than BSN_MSG_SHORT, from registered memory
 * @id: of the completion, where @flags have BSN_F_SIGNALED; after it the memory may change
 *
 * The rest is as of bsn_msg_send(); -EINVAL it is short.
 */
BSN_API int bsn_msg_send_from(struct bsn_msg_line *line, const struct bsn_sge *local, uint64_t id,
			      unsigned flags);

/** bsn_msg_ring - publishes what was sent without BSN_F_RING */
BSN_API int bsn_msg_ring(struct bsn_msg_line *line);

/**
 * struct bsn_msg - a message; @data is in the inbox, on a boundary of 8 bytes, until the next
 * bsn_msg_poll()
 */
struct bsn_msg {
	const void *data;
	uint32_t length;
	struct bsn_msg_line *line;
	void *user; /* of the line */
};

/**
 * bsn_msg_poll - the next message of any line; each line in turn
 *
 * Frees the message that the last call gave. The sender gets its credits a quarter of a ring at a
 * time.
 * Context: as bsn_msg_send().
 * Return: 1; 0 there is none; -EPROTO a line has failed: @msg->line and @msg->user say which. Each
 * line says so once, and is then left out.
 */
BSN_API int bsn_msg_poll(struct bsn_msg_inbox *inbox, struct bsn_msg *msg);

BSN_HEADER_END

#endif
